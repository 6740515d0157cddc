//! What can be done with a fitted model.

use crate::common;

use std::{fs, path::Path, process::Stdio};

use common::{csv, docword, run, separation, stdout, table};
use serde_json::Value;

fn fit(folder: &Path, args: &[&str]) {
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    stdout(folder, &[&["fit", "made.csv", "--iterations", "20"], args].concat());
}

#[test]
fn documents_of_a_topic_lie_together() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &[]);
    let rows = table(&stdout(folder.path(), &["embed", "model.safetensors", "made.csv"]));
    assert_eq!(rows.len(), 90);
    let (first, titled) = (&rows[0], "Of bread, \"the first\"");
    assert_eq!(
        (first["id"].as_str(), first["title"].as_str(), first["label"].as_str()),
        ("bread-00", titled, "bread")
    );
    assert_eq!((first["tokens"].as_str(), first["known_tokens"].as_str()), ("20", "20"));
    for row in &rows {
        let number = |name: &str| row[name].parse::<f64>().unwrap();
        assert!(["x0", "x1", "mean0", "mean1"].iter().all(|x| (0.0..8.0).contains(&number(x))), "{row:?}");
        assert!((0.0..=1.0).contains(&number("probability")) && number("log_evidence_per_token") < 0.0);
    }
    // Topics share one word in ten: a map that does not separate them is wrong.
    let right = separation(&rows, [8, 8]);
    assert!(right > 0.95, "{right}");
}

#[test]
fn an_embedding_is_the_same_from_a_file_and_for_counts() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &["--precision", "f64"]);
    let printed = stdout(folder.path(), &["embed", "model.safetensors", "made.csv"]);
    stdout(folder.path(), &["embed", "model.safetensors", "made.csv", "-o", "places.csv", "--quiet"]);
    assert_eq!(fs::read_to_string(folder.path().join("places.csv")).unwrap(), printed);

    let (counts, vocabulary) = docword();
    fs::write(folder.path().join("docword.made.txt"), counts).unwrap();
    fs::write(folder.path().join("vocab.made.txt"), vocabulary).unwrap();
    let counted = table(&stdout(folder.path(), &["embed", "model.safetensors", "docword.made.txt"]));
    for (row, other) in table(&printed).iter().zip(&counted) {
        for name in ["x0", "x1", "mean0", "probability", "log_evidence_per_token"] {
            assert_eq!(row[name], other[name], "{} {name}", row["id"]);
        }
    }
}

#[test]
fn unknown_words_have_no_place() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &[]);
    let new = "id,text\nknown,Sail and mast and harbour and zeppelins\nunknown,Zeppelins over Lakehurst\n";
    fs::write(folder.path().join("new.csv"), new).unwrap();
    let rows = table(&stdout(folder.path(), &["embed", "model.safetensors", "new.csv"]));
    assert_eq!((rows[0]["tokens"].as_str(), rows[0]["known_tokens"].as_str()), ("4", "3"));
    assert_eq!(rows[1]["known_tokens"], "0");
    assert!(["x0", "mean1", "probability", "log_evidence_per_token"].iter().all(|x| rows[1][*x].is_empty()));
}

#[test]
fn grids_of_any_number_of_axes_are_fitted() {
    for (grid, window, axes) in [("12", "3", 1), ("4x4x4", "2x2x2", 3), ("2x2x2x2x2x2x2x2", "1", 8)] {
        let folder = tempfile::tempdir().unwrap();
        fit(folder.path(), &["--grid", grid, "--window", window]);
        let rows = table(&stdout(folder.path(), &["embed", "model.safetensors", "made.csv"]));
        let last = format!("x{}", axes - 1);
        assert!(rows.iter().all(|row| row[&last].parse::<usize>().is_ok()), "{grid}");
        assert!(!rows[0].contains_key(&format!("x{axes}")));
        let at = vec!["1"; axes].join(",");
        stdout(folder.path(), &["words", "model.safetensors", "--at", &at]);
        stdout(folder.path(), &["info", "model.safetensors"]);
    }
}

#[test]
fn axes_of_one_cell_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let bound = |args: &[&str]| {
        fit(folder.path(), args);
        let printed = stdout(folder.path(), &["info", "model.safetensors", "--json"]);
        serde_json::from_str::<Value>(&printed).unwrap()["fit"]["bound_per_token"].as_f64().unwrap()
    };
    let ring = bound(&["--grid", "12", "--window", "3"]);
    assert_eq!(ring.to_bits(), bound(&["--grid", "1x12", "--window", "1x3"]).to_bits());
}

#[test]
fn words_of_a_place() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &[]);
    let json = |at: &str| -> Value {
        let args = ["words", "model.safetensors", "--at", at, "--top", "5", "--json"];
        serde_json::from_str(&stdout(folder.path(), &args)).unwrap()
    };
    // Where a document about boats lies, words about boats are most probable.
    let rows = table(&stdout(folder.path(), &["embed", "model.safetensors", "made.csv"]));
    let boat = rows.iter().find(|row| row["label"] == "boats").unwrap();
    let words = json(&format!("{},{}", boat["x0"], boat["x1"]));
    let list = words["by_probability"].as_array().unwrap();
    assert_eq!(list.len(), 5);
    assert!(list.windows(2).all(|two| two[0]["probability"].as_f64() >= two[1]["probability"].as_f64()));
    let boats = |word: &&Value| common::TOPICS[1].1.contains(word["word"].as_str().unwrap());
    assert!(list.iter().filter(boats).count() >= 4, "{words}"); // one word in ten is about stars
    assert!(list[0]["lift"].as_f64().unwrap() > 1.0);

    assert_eq!(json("-1,3"), json("7,11")); // coordinates wrap
    let text = stdout(folder.path(), &["words", "model.safetensors", "--at", "0,0"]);
    assert!(text.contains("by probability") && text.contains("by lift"), "{text}");
}

#[test]
fn info_tells_how_a_model_was_fitted() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &["--stem", "--seed", "3", "-o", "m"]);
    let text = stdout(folder.path(), &["info", "m"]);
    for part in ["8x8", "2x2", "36 words", "f32", "bound per token", "20"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: Value = serde_json::from_str(&stdout(folder.path(), &["info", "m", "--json"])).unwrap();
    assert_eq!((&json["grid"], &json["fit"]["seed"]), (&serde_json::json!([8, 8]), &3.into()));
}

#[test]
fn a_closed_standard_output_is_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &[]);
    let made = csv(',');
    let (head, rows) = made.split_once('\n').unwrap();
    fs::write(folder.path().join("many.csv"), format!("{head}\n{}", rows.repeat(20))).unwrap();
    for args in [
        &["embed", "model.safetensors", "made.csv", "--quiet"][..],
        &["embed", "model.safetensors", "many.csv"], // more than a writer holds back
        &["words", "model.safetensors", "--at", "1,1"],
        &["info", "model.safetensors"],
    ] {
        let mut child = common::countgrid(folder.path(), args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}");
    }
    let help = run(folder.path(), &["--help"]);
    assert!(help.status.success());
}

#[test]
fn labels_are_kept_with_the_grid_and_expected_of_new_documents() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &[]);
    // Without labels of their own, and with words of one topic.
    let new = "id,text\nsea,Sail and mast and harbour\nnone,Zeppelins\n";
    fs::write(folder.path().join("new.csv"), new).unwrap();
    let rows = table(&stdout(folder.path(), &["embed", "model.safetensors", "new.csv"]));
    assert_eq!(rows[0]["expected_label"], "boats");
    assert!((0.5..=1.0).contains(&rows[0]["label_share"].parse::<f64>().unwrap()));
    assert!(rows[1]["expected_label"].is_empty() && rows[1]["label_share"].is_empty());
    // The documents of the fit: a label that does not tell topics apart is wrong.
    let rows = table(&stdout(folder.path(), &["embed", "model.safetensors", "made.csv"]));
    let right = rows.iter().filter(|row| row["label"] == row["expected_label"]).count();
    assert!(right >= 86, "{right} of {}", rows.len());

    let info: Value =
        serde_json::from_str(&stdout(folder.path(), &["info", "model.safetensors", "--json"])).unwrap();
    assert_eq!(info["labels"], serde_json::json!(["boats", "bread", "stars"]));

    // A folder's labels are known last, and order makes no difference to their names.
    common::write_folder(&folder.path().join("texts"));
    stdout(folder.path(), &["fit", "texts", "--iterations", "5", "-o", "folder.safetensors"]);
    let info = stdout(folder.path(), &["info", "folder.safetensors"]);
    assert!(info.contains("labels           boats, bread, stars\n"), "{info}");

    // Without labels there are no columns of them.
    let plain = "id,text\n1,sail mast harbour sail\n2,mast sail harbour mast\n3,sail mast mast harbour\n";
    fs::write(folder.path().join("plain.csv"), plain).unwrap();
    stdout(folder.path(), &["fit", "plain.csv", "--max-share", "1", "-o", "plain.safetensors"]);
    let rows = table(&stdout(folder.path(), &["embed", "plain.safetensors", "plain.csv"]));
    assert!(!rows[0].contains_key("expected_label"));
}
