//! Parquet and Arrow files, as several programs write them (`fixtures/columns/make.py`) and as nobody should.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{documents, folder, gzip, refusal, with_columns};
use countgrid_io::{Document, Format, Limits, ReadOptions};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/columns").join(name)
}

/// Files of a format that this build reads.
fn fixtures(ending: &[&str]) -> Vec<PathBuf> {
    let folder = fs::read_dir(fixture("")).unwrap().map(|entry| entry.unwrap().path());
    let has_ending =
        |path: &PathBuf| ending.iter().any(|ending| path.extension().is_some_and(|own| own == *ending));
    let mut paths: Vec<_> = folder.filter(has_ending).collect();
    paths.sort();
    paths
}

fn readable() -> Vec<(PathBuf, Format)> {
    let parquet = fixtures(if cfg!(feature = "parquet") { &["parquet"] } else { &[] });
    let arrow = fixtures(if cfg!(feature = "arrow") { &["arrow", "feather"] } else { &[] });
    let parquet = parquet.into_iter().filter(|path| !path.ends_with("brotli.parquet"));
    parquet
        .map(|path| (path, Format::Parquet))
        .chain(arrow.into_iter().map(|path| (path, Format::Arrow)))
        .collect()
}

fn parts(documents: &[Document]) -> Vec<(&str, &str, Option<&str>, &str)> {
    let parts = documents.iter().map(|Document { id, title, label, text, .. }| {
        (id.as_str(), title.as_str(), label.as_deref(), text.as_str())
    });
    parts.collect()
}

#[test]
fn files_of_every_program_are_their_twin() {
    let (twin, twin_fields) = with_columns(&fixture("twin.csv"));
    assert_eq!((twin.len(), twin_fields.len()), (5, 6));
    let files = readable();
    for (path, format) in &files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let (found, fields) = with_columns(path);
        assert_eq!(parts(&found), parts(&twin), "{name}");
        assert_eq!(fields, twin_fields, "{name}");
        assert_eq!(found.iter().map(|document| document.line).collect::<Vec<_>>(), [1, 2, 3, 4, 5], "{name}");
        // Also where the other columns are passed over.
        let (found, summary) = documents(path);
        assert_eq!(parts(&found), parts(&twin), "{name}");
        assert_eq!((summary.format, summary.files, summary.documents, summary.labels), (*format, 1, 5, 3));
        assert_eq!(summary.skipped.total(), 0);
        let left_out: Vec<_> =
            summary.left_out.iter().map(|left| left.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(left_out, if name.starts_with("nested") { &["tokens", "pair"][..] } else { &[] });
    }
    let formats = usize::from(cfg!(feature = "parquet")) * 10 + usize::from(cfg!(feature = "arrow")) * 8;
    assert_eq!(files.len(), formats);
}

#[test]
fn they_are_told_by_their_content() {
    for (path, format) in readable() {
        let bytes = fs::read(&path).unwrap();
        let packed = gzip(&bytes);
        let files: [(&str, &[u8]); 3] = [("a", &bytes), ("b", &packed), ("c/d.csv", &bytes)];
        let folder = folder(&files);
        for (name, _) in files {
            let (found, summary) = documents(&folder.path().join(name));
            assert_eq!(
                (found.len(), summary.format, summary.gzip),
                (5, format, name == "b"),
                "{path:?} as {name}"
            );
        }
        // Alone in a folder it is the data, among texts a table; of several paths its rows are documents.
        let alone = common::folder(&[
            ("README.md", b"rows".as_slice()),
            (if format == Format::Parquet { "a.parquet" } else { "a.arrow" }, &bytes),
        ]);
        assert_eq!(documents(alone.path()).0.len(), 5);
        let among =
            common::folder(&[("d/a.txt", b"Red ants walk.".as_slice()), ("d/b", &bytes), ("c", &bytes)]);
        let (found, summary) = documents(&among.path().join("d"));
        assert_eq!((found.len(), summary.skipped.tables), (1, 1));
        let paths = ["d", "c"].map(|name| among.path().join(name));
        let (_, summary) = countgrid_io::read_all(&paths, &ReadOptions::default()).unwrap();
        assert_eq!(summary.documents, 6);
    }
}

#[test]
fn what_a_build_lacks_says_so() {
    let options = ReadOptions::default();
    let says = |name: &str| refusal(&fixture(""), name, &options);
    if cfg!(not(feature = "parquet")) {
        assert!(says("none.parquet").contains("the feature `parquet` is needed"));
        assert!(says("none.parquet").contains("--features parquet"));
    } else {
        assert!(says("brotli.parquet").contains("Parquet compressed by Brotli, which is not read"));
    }
    if cfg!(not(feature = "arrow")) {
        assert!(says("file.arrow").contains("the feature `arrow` is needed"));
        assert!(says("stream.arrow").contains("--features arrow"));
    }
}

/// A file that ends anywhere is refused, or is a stream that ends with a message; a limit ends what is longer.
#[test]
fn what_is_cut_or_too_long_is_refused() {
    let limits = Limits { total_bytes: 300, ..Limits::default() };
    let limited = ReadOptions { limits, ..ReadOptions::default() };
    for (path, format) in readable() {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_stream = format == Format::Arrow && !bytes.starts_with(b"ARROW1");
        for length in (8..bytes.len()).step_by(61) {
            let cut = folder(&[("a", &bytes[..length])]);
            match countgrid_io::read(cut.path().join("a"), &ReadOptions::default()) {
                Ok(_) => assert!(is_stream, "{name} of {length} bytes"),
                Err(error) => assert!(error.to_string().contains("\nremedy: "), "{error}"),
            }
        }
        let said = refusal(&fixture(""), name, &limited);
        assert!(said.contains("more than 300 bytes"), "{name}: {said}");
    }
    if cfg!(feature = "parquet") {
        let mut bytes = fs::read(fixture("none.parquet")).unwrap();
        let tail = bytes.len() - 8;
        let says = |bytes: &[u8]| refusal(folder(&[("a", bytes)]).path(), "a", &ReadOptions::default());
        bytes[tail..tail + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(says(&bytes).contains("damaged Parquet: its metadata is longer than it"));
        bytes[tail + 4..].copy_from_slice(b"PARE");
        assert!(says(&bytes).contains("encrypted Parquet, which is not read"));
    }
}
