//! `--model componential`: every command that knows grids knows it.

use crate::common;

use std::fs;

use common::{csv, run, stdout};
use serde_json::Value;

#[test]
fn a_componential_grid_goes_through_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let options = ["--model", "componential", "--iterations", "20", "--componential-iterations", "10"];
    stdout(folder, &[&["map", "made.csv", "-o", "map", "--quiet"][..], &options].concat());
    stdout(folder, &[&["fit", "made.csv", "-o", "one", "--threads", "1", "--quiet"][..], &options].concat());
    stdout(
        folder,
        &[&["fit", "made.csv", "-o", "two", "--threads", "2", "--stream", "--quiet"][..], &options].concat(),
    );
    assert!(fs::read(folder.join("one")).unwrap() == fs::read(folder.join("two")).unwrap());
    let page = fs::read_to_string(folder.join("map/map.html")).unwrap();
    assert!(page.contains("<title>") && page.len() > 10_000);

    let about: Value = serde_json::from_str(&stdout(folder, &["info", "one", "--json"])).unwrap();
    assert_eq!(about["fit"]["concentration"], 5.0);
    let map: Value =
        serde_json::from_str(&stdout(folder, &["info", "map/model.safetensors", "--json"])).unwrap();
    assert_eq!(map["fit"], about["fit"]);
    let iterations = about["fit"]["iterations"].as_u64().unwrap();
    assert!((1..=10).contains(&iterations), "{iterations}");

    // Documents of a topic lie where documents of their label do.
    let table = stdout(folder, &["embed", "one", "made.csv"]);
    let mut rows = table.lines();
    let columns: Vec<&str> = rows.next().unwrap().split(',').collect();
    let column = |name: &str| columns.iter().position(|&own| own == name).unwrap();
    let (label, found) = (column("label"), column("expected_label"));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split(',').collect()).collect();
    let right = rows.iter().filter(|row| row[label] == row[found]).count();
    assert!(10 * right >= 9 * rows.len(), "{right} of {}", rows.len());

    assert!(stdout(folder, &["words", "one", "--at", "0,0"]).contains("by probability"));
    stdout(folder, &["evaluate", "one", "made.csv", "--quiet", "-o", "m.json"]);
    let found: Value = serde_json::from_str(&fs::read_to_string(folder.join("m.json")).unwrap()).unwrap();
    // 36 words, and 12 of one topic are nine tenths of a document.
    let perplexity = found["measures"]["perplexity"]["value"].as_f64().unwrap();
    assert!((10.0..36.0).contains(&perplexity), "{perplexity}");
    assert!(found["measures"]["trustworthiness"]["value"].is_f64());
}

#[test]
fn options_of_other_models_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let refused = |args: &[&str]| {
        let output = run(folder, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let error = refused(&["fit", "made.csv", "--concentration", "3"]);
    assert!(error.contains("--concentration is of componential grids"), "{error}");
    let error = refused(&["map", "made.csv", "--model", "zip-gtm", "--componential-iterations", "3"]);
    assert!(error.contains("--componential-iterations is of"), "{error}");
    let error = refused(&["map", "made.csv", "--model", "componential", "--points", "3x3"]);
    assert!(error.contains("--points is of topographic maps"), "{error}");
    for concentration in ["0", "-1", "nan", "inf", "1e300", "1e-300"] {
        let option = format!("--concentration={concentration}");
        let error = refused(&["fit", "made.csv", "--model", "componential", &option]);
        assert!(error.contains("take a --concentration above 0"), "{error}");
    }
    let short = ["--iterations", "3", "--componential-iterations", "2", "--quiet"];
    stdout(folder, &[&["fit", "made.csv", "--model", "componential"][..], &short].concat());
    let error = refused(&["firmware", "model.safetensors"]);
    assert!(error.contains("is a componential counting grid, not a counting grid"), "{error}");
}
