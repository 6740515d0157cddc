//! The program opens models that other programs have written: with the estimators, or table by table.

use crate::common;
#[path = "../../estimators/examples/own_grid.rs"]
#[allow(dead_code, reason = "its `main`")]
mod own_grid;

use std::{fs, path::Path};

use common::{run, stdout, table};
use countgrid_io::{ModelFile, NamedTable, TableData, save};

const DOCUMENTS: &str = "id,text\na,bread and flour and bread\nb,the mast and the sail\n";

fn cells(folder: &Path) -> Vec<String> {
    fs::write(folder.join("new.csv"), DOCUMENTS).unwrap();
    let rows = table(&stdout(folder, &["embed", "model.safetensors", "new.csv"]));
    // `the` is a word of the vocabulary, and counts.
    assert_eq!((rows[0]["known_tokens"].as_str(), rows[1]["known_tokens"].as_str()), ("3", "4"));
    rows.iter().map(|row| format!("{},{}", row["x0"], row["x1"])).collect()
}

#[test]
fn a_grid_of_a_library() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    own_grid::save(folder).unwrap();

    let cells = cells(folder);
    assert_ne!(cells[0], cells[1]);
    let top = stdout(folder, &["words", "model.safetensors", "--at", &cells[0], "--top", "2"]);
    assert!(top.contains("flour") && top.contains("bread") && !top.contains("sail"), "{top}");
    let info = stdout(folder, &["info", "model.safetensors"]);
    assert!(info.starts_with("untitled\n") && info.contains("4x5") && info.contains("6 words"), "{info}");
    // The library's tables are the program's.
    let output = run(folder, &["firmware", "model.safetensors", "-o", "out", "--vocabulary"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read(folder.join("out/model.rs")).unwrap(), fs::read(folder.join("model.rs")).unwrap());
}

/// Only the tables and the vocabulary, as the README documents them.
fn plain() -> ModelFile {
    let table =
        |name: &str, shape: &[usize], data| NamedTable { name: name.into(), shape: shape.into(), data };
    let pi = TableData::F64(vec![0.8, 0.1, 0.1, 0.1, 0.1, 0.8, 0.1, 0.1, 0.1, 0.1, 0.8, 0.8]);
    let prior = TableData::F64(vec![0.25; 4]);
    let tables = vec![
        table("pi", &[3, 4], pi),
        table("prior", &[4], prior),
        table("window", &[1], TableData::U32(vec![2])),
    ];
    let mut file = ModelFile { tables, ..ModelFile::default() };
    file.set_strings("vocabulary", ["bread", "the", "sail"]);
    file
}

#[test]
fn tables_and_words_are_enough() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    save(folder.join("model.safetensors"), &plain()).unwrap();
    fs::write(folder.join("new.csv"), "id,text\na,bread bread\nb,sail the sail sail\n").unwrap();
    let rows = table(&stdout(folder, &["embed", "model.safetensors", "new.csv"]));
    assert_eq!((rows[1]["x0"].as_str(), rows[1]["known_tokens"].as_str()), ("2", "4"));
    stdout(folder, &["info", "model.safetensors"]);
    stdout(folder, &["words", "model.safetensors", "--at", "2"]);
    assert!(run(folder, &["firmware", "model.safetensors", "-o", "out"]).status.success());
}

#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let refusal = |file: &ModelFile| {
        save(folder.join("model.safetensors"), file).unwrap();
        let output = run(folder, &["info", "model.safetensors"]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let mut file = plain();
    file.metadata.remove("vocabulary");
    assert!(refusal(&file).contains("it has no text `vocabulary`"), "{}", refusal(&file));
    file.set_strings("vocabulary", ["bread", "the"]);
    assert!(
        refusal(&file).contains("it has 2 words in its `vocabulary` and tables for 3"),
        "{}",
        refusal(&file)
    );
    let mut file = plain();
    file.tables.pop();
    assert!(refusal(&file).contains("it has no text `kind`"), "{}", refusal(&file));
    file.metadata.insert("kind".into(), "counting grid".into());
    assert!(refusal(&file).contains("it has no table `window`"), "{}", refusal(&file));
}
