//! Replays every seed, and what fuzzing has found here, on stable Rust.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

type Body = fn(&[u8]);

/// What each target runs. Some bodies also tell whether they accepted the input; only a panic counts here.
const BODIES: [(&str, Body); 27] = [
    ("any_model", |data| _ = countgrid_estimators::fuzzing::any_model(data)),
    ("archive", |data| _ = countgrid_io::fuzzing::archive(data)),
    ("arrow", |data| _ = countgrid_io::fuzzing::arrow(data)),
    ("blob", |data| _ = countgrid_grid::fuzzing::blob(data)),
    ("blocks", |data| _ = countgrid_io::fuzzing::blocks(data)),
    ("code", |data| _ = countgrid_io::fuzzing::code(data)),
    ("csr", |data| _ = countgrid_counts::fuzzing::csr(data)),
    ("docword", |data| _ = countgrid_io::fuzzing::docword(data)),
    ("encoding", |data| _ = countgrid_io::fuzzing::encoding(data)),
    ("gzip", |data| _ = countgrid_io::fuzzing::gzip(data)),
    ("jsonl", |data| _ = countgrid_io::fuzzing::jsonl(data)),
    ("mail", |data| _ = countgrid_io::fuzzing::mail(data)),
    ("matrix_market", |data| _ = countgrid_io::fuzzing::matrix_market(data)),
    ("model", |data| _ = countgrid_io::fuzzing::model(data)),
    ("npz", |data| _ = countgrid_io::fuzzing::npz(data)),
    ("office", |data| _ = countgrid_io::fuzzing::office(data)),
    ("page", |data| _ = countgrid_io::fuzzing::page(data)),
    ("parquet", |data| _ = countgrid_io::fuzzing::parquet(data)),
    ("pdf", |data| _ = countgrid_io::fuzzing::pdf(data)),
    ("rtf", |data| _ = countgrid_io::fuzzing::rtf(data)),
    ("sequences", |data| _ = countgrid_io::fuzzing::sequences(data)),
    ("svmlight", |data| _ = countgrid_io::fuzzing::svmlight(data)),
    ("table", |data| _ = countgrid_io::fuzzing::table(data)),
    ("tokens", countgrid_text::fuzzing::tokens),
    ("torus", countgrid_torus::fuzzing::torus),
    ("window_sums", countgrid_prefix::fuzzing::window_sums),
    ("workbook", |data| _ = countgrid_io::fuzzing::workbook(data)),
];

fn here(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn every_target_is_replayed() {
    let targets = files(&here("fuzz_targets"));
    let targets: BTreeSet<_> =
        targets.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    assert_eq!(targets, BODIES.map(|(name, _)| name).into());
}

#[test]
fn seeds_and_findings() {
    for (name, body) in BODIES {
        // The seeds of the parsers lie beside the parsers.
        let seeds = [here("seeds"), here("../crates/io/tests/seeds")].map(|folder| files(&folder.join(name)));
        assert_ne!(seeds.concat().len(), 0, "{name} has no seeds");
        let found = files(&here("corpus").join(name));
        for input in seeds.iter().flatten().chain(&found) {
            // The harness shows what the print macros write only when a test fails: then this is the culprit.
            eprintln!("{}", input.display());
            body(&fs::read(input).unwrap());
        }
        let (seeds, found) = (seeds.concat().len(), found.len());
        writeln!(std::io::stderr(), "{name}: {seeds} seeds and {found} findings replayed").unwrap();
    }
}
