//! A model as constant tables: the module and the file hold the same, and both what the model says.

use crate::common;

use std::{fs, path::Path};

use common::{csv, run, stdout, table};
use countgrid_counts::Bag;
use countgrid_grid::{Blob, Kind};

/// The elements of a static of the module, as they are written.
fn elements(module: &str, name: &str) -> Vec<String> {
    let (_, rest) = module.split_once(&format!("pub static {name}: [")).unwrap();
    let (kind, rest) = rest.split_once("] = [").unwrap();
    let (body, _) = rest.split_once("];").unwrap();
    let all: Vec<String> = body.split(',').map(|x| x.trim().to_owned()).filter(|x| !x.is_empty()).collect();
    assert!(kind.ends_with(&format!("; {}", all.len())), "{kind} {}", all.len());
    all
}

fn numbers(module: &str, name: &str) -> Vec<f32> {
    let number = |text: &String| {
        text.strip_prefix("f32::NEG_INFINITY").map_or_else(|| text.parse().unwrap(), |_| f32::NEG_INFINITY)
    };
    elements(module, name).iter().map(number).collect()
}

fn export(folder: &Path, args: &[&str]) -> (String, Vec<u8>) {
    let output = run(folder, &[&["firmware", "model.safetensors", "-o", "out/deep"], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = |name: &str| fs::read(folder.join("out/deep").join(name)).unwrap();
    (String::from_utf8(read("model.rs")).unwrap(), read("model.bin"))
}

#[test]
fn every_table_says_where_documents_lie() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    for precision in ["f32", "f64"] {
        let args = ["--iterations", "20", "--grid", "5x6", "--window", "2x3", "--precision", precision];
        stdout(folder, &[&["fit", "made.csv"], &args[..]].concat());
        fs::write(folder.join("new.csv"), "id,text\n1,sail mast harbour sail\n2,oven flour\n").unwrap();
        let rows = table(&stdout(folder, &["embed", "model.safetensors", "new.csv"]));
        let cell = |row: &std::collections::BTreeMap<String, String>| {
            6 * row["x0"].parse::<usize>().unwrap() + row["x1"].parse::<usize>().unwrap()
        };
        let evidence = |row: &std::collections::BTreeMap<String, String>| {
            row["log_evidence_per_token"].parse::<f32>().unwrap()
                * row["known_tokens"].parse::<f32>().unwrap()
        };
        for (name, kind) in [("f32", Kind::F32), ("16", Kind::U16), ("8", Kind::U8)] {
            let (module, bytes) = export(folder, &["--table", name, "--vocabulary"]);
            let words = elements(&module, "VOCABULARY");
            assert!(
                module.contains("EXTENTS: [usize; 2] = [5, 6]")
                    && module.contains("WINDOW: [usize; 2] = [2, 3]")
            );
            assert!(module.contains(&format!("FEATURES: usize = {};", words.len())));
            assert_eq!(elements(&module, "LABELS"), ["\"boats\"", "\"bread\"", "\"stars\""]);

            let blob = Blob::<2>::new(&bytes).unwrap();
            let shape = *blob.shape();
            assert_eq!((blob.kind(), blob.labels(), shape.features()), (kind, 3, words.len()));
            let mut copy = vec![0.0; shape.histograms_len::<f32>()];
            // The module's table is the blob's.
            if kind == Kind::F32 {
                let table = blob.log_histograms(&mut copy).unwrap();
                assert_eq!(numbers(&module, "TABLE"), countgrid_em::Tables::buffer(&table));
            } else {
                let codes: Vec<u8> = elements(&module, "TABLE").iter().map(|x| x.parse().unwrap()).collect();
                let found = match kind {
                    Kind::U8 => blob.quantised::<u8>().unwrap().bytes().to_vec(),
                    _ => blob.quantised::<u16>().unwrap().bytes().to_vec(),
                };
                assert_eq!(codes, found);
            }
            // Both say what `embed` says.
            let shares = numbers(&module, "LABEL_TABLE");
            for (row, bag) in rows
                .iter()
                .zip([&[("harbour", 1u16), ("mast", 1), ("sail", 2)][..], &[("flour", 1), ("oven", 1)]])
            {
                let mut entries: Vec<(u32, u16)> = Vec::new();
                for &(word, count) in bag {
                    let feature = words.iter().position(|w| *w == format!("{word:?}")).unwrap();
                    entries.push((feature as u32, count));
                }
                entries.sort_unstable();
                let (features, counts): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
                let bag = Bag::new(words.len(), &features, &counts).unwrap();
                let mut q = vec![0.0; shape.cells()];
                // What rounding to codes allows; of the numbers, the six digits that `embed` writes.
                let (found, allowed) = match kind {
                    Kind::F32 => {
                        let mut scratch = vec![0.0; shape.posterior_scratch_len::<f32>(1)];
                        let table = blob.log_histograms(&mut copy).unwrap();
                        (table.posterior(&bag, 0, &mut q, &mut scratch).unwrap(), 0.0)
                    }
                    Kind::U16 => {
                        let table = blob.quantised::<u16>().unwrap();
                        let mut scratch = vec![0; shape.quantised_scratch_len()];
                        let bound = table.error_bound(&bag, 0).unwrap();
                        (table.posterior(&bag, 0, &mut q, &mut scratch).unwrap(), bound.log_evidence as f32)
                    }
                    _ => {
                        let table = blob.quantised::<u8>().unwrap();
                        let mut scratch = vec![0; shape.quantised_scratch_len()];
                        let bound = table.error_bound(&bag, 0).unwrap();
                        (table.posterior(&bag, 0, &mut q, &mut scratch).unwrap(), bound.log_evidence as f32)
                    }
                };
                assert!(
                    (found - evidence(row)).abs() <= allowed + 1e-5 * (1.0 + found.abs()),
                    "{name} {found} {row:?}"
                );
                let best = (0..q.len()).fold(0, |best, k| if q[k] > q[best] { k } else { best });
                if kind != Kind::U8 {
                    assert_eq!(best, cell(row), "{name}");
                }
                let mut read = [0.0; 3];
                blob.read_labels(&q, &mut read).unwrap();
                for (label, read) in read.iter().enumerate() {
                    let share: f32 =
                        q.iter().zip(&shares[label * q.len()..]).map(|(q, share)| q * share).sum();
                    assert!((share - read).abs() <= 1e-6 * 30.0);
                }
            }
        }
    }
}

#[test]
fn other_axes_and_no_labels_are_exported_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("plain.csv"), "id,text\n1,sail mast harbour\n2,mast sail sail\n3,oven flour\n")
        .unwrap();
    stdout(
        folder,
        &["fit", "plain.csv", "--grid", "7", "--window", "3", "--iterations", "3", "-o", "model.safetensors"],
    );
    let (module, bytes) = export(folder, &[]);
    assert!(!module.contains("LABEL") && !module.contains("VOCABULARY"));
    assert_eq!(Blob::<1>::new(&bytes).unwrap().labels(), 0);
    let missing = run(folder, &["firmware", "nothing.safetensors", "-o", "out"]);
    let message = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(missing.status.code() == Some(2) && message.contains("nothing.safetensors"), "{message}");
    fs::write(folder.join("file"), "").unwrap();
    let blocked = run(folder, &["firmware", "model.safetensors", "-o", "file"]);
    let message = String::from_utf8_lossy(&blocked.stderr).into_owned();
    assert!(blocked.status.code() == Some(2) && message.contains("remedy: "), "{message}");
}
