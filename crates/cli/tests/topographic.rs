//! Topographic maps: documents as points of a plane.

use crate::common;

use std::{fs, path::Path};

use common::{contents, csv, docword, run, stdout, table};
use serde_json::Value;

const FILES: [&str; 6] = ["map.html", "map.png", "map.svg", "model.safetensors", "points.csv", "run.toml"];
const EMISSION_MODELS: [&str; 6] =
    ["zip-gtm", "zip-latent-gtm", "poisson-gtm", "bernoulli-gtm", "multinomial-gtm", "gaussian-gtm"];

/// A map of the made documents, in `out`; returns what was said.
fn map(folder: &Path, args: &[&str]) -> String {
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let fast = ["map", "made.csv", "-o", "out", "--iterations", "8", "--points", "9x8"];
    stdout(folder, &[&fast[..], args].concat())
}

#[test]
fn documents_become_points_a_picture_and_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let printed = map(folder.path(), &["--model", "zip-gtm"]);
    for part in ["zero-inflated Poisson", "9x8 points on a regular grid", "8 iterations", "1-NN accuracy"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let out = folder.path().join("out");
    let written: Vec<_> = contents(&out).into_keys().collect();
    assert_eq!(written, FILES.map(|name| out.join(name)));
    let rows = table(&fs::read_to_string(out.join("points.csv")).unwrap());
    assert_eq!(rows.len(), 90);
    for row in &rows {
        let number = |name: &str| row[name].parse::<f64>().unwrap();
        let places = ["mean0", "mean1", "mode0", "mode1"];
        assert!(places.iter().all(|x| (-1.0..=1.0).contains(&number(x))), "{row:?}");
        assert!((0.0..=1.0).contains(&number("probability")) && number("log_likelihood") < 0.0);
    }
    let page = fs::read_to_string(out.join("map.html")).unwrap();
    for part in ["\"space\":\"plane\"", "\"places\":[[", "\"relief\":[", "\"extents\":[8,9]", "telescope"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(fs::read_to_string(out.join("map.svg")).unwrap().contains("bread (30)"));
    assert!(fs::read(out.join("map.png")).unwrap().starts_with(b"\x89PNG"));

    let info = stdout(folder.path(), &["info", "out/model.safetensors"]);
    assert!(
        info.contains("topographic map") && info.contains("9x8") && info.contains("silhouette"),
        "{info}"
    );
    let info = stdout(folder.path(), &["info", "out/model.safetensors", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&info).unwrap()["law"], "zip");
}

#[test]
fn every_law_and_space_tells_topics_apart_and_places_documents_again() {
    let spaces: [&[&str]; 4] =
        [&[], &["--basis", "sinh"], &["--latent", "random"], &["--latent", "torus", "--precision", "f64"]];
    let cases = EMISSION_MODELS
        .into_iter()
        .map(|emission_model| (emission_model, spaces[0]))
        .chain(spaces.map(|space| (EMISSION_MODELS[0], space)));
    let exposed: [(&str, &[&str]); 2] =
        [("poisson-gtm", &["--exposure", "length"]), ("zip-gtm", &["--exposure", "length"])];
    for (emission_model, space) in cases.chain(exposed) {
        let folder = tempfile::tempdir().unwrap();
        let printed = map(folder.path(), &[&["--model", emission_model, "--json"], space].concat());
        let events: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let apart = events.iter().find(|event| event["event"] == "apart").unwrap();
        // Topics share one word in ten: a map that does not separate them is wrong.
        assert!(apart["accuracy"].as_f64().unwrap() > 0.9, "{emission_model} {space:?}: {apart}");
        assert!(apart["silhouette"].as_f64().unwrap() > 0.2, "{emission_model} {space:?}: {apart}");
        assert_eq!(events.last().unwrap()["event"], "summary");
        let again = stdout(folder.path(), &["embed", "out/model.safetensors", "made.csv"]);
        assert_eq!(
            again,
            fs::read_to_string(folder.path().join("out/points.csv")).unwrap(),
            "{emission_model} {space:?}"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_files_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let files = |args: &[&str]| {
        map(folder.path(), &[&["--model", "zip-gtm", "--latent", "random"], args].concat());
        contents(&folder.path().join("out"))
    };
    let first = files(&["--threads", "1"]);
    assert!(files(&["--threads", "3"]) == first);
    assert!(files(&["--seed", "2"]) != first);
}

#[test]
fn a_sample_is_so_many_of_each_label() {
    let folder = tempfile::tempdir().unwrap();
    let ids = |args: &[&str]| -> Vec<(String, String)> {
        map(folder.path(), &[&["--model", "poisson-gtm", "--sample", "7"], args].concat());
        let rows = table(&fs::read_to_string(folder.path().join("out/points.csv")).unwrap());
        rows.into_iter().map(|row| (row["label"].clone(), row["id"].clone())).collect()
    };
    let drawn = ids(&[]);
    for label in ["bread", "boats", "stars"] {
        assert_eq!(drawn.iter().filter(|(own, _)| own == label).count(), 7);
        assert!(drawn.iter().filter(|(own, _)| own == label).all(|(_, id)| id.starts_with(label)));
    }
    assert_eq!((drawn.len(), &ids(&[])), (21, &drawn));
    assert_ne!(ids(&["--seed", "2"]), drawn);

    // Without labels of all; more than there are is all.
    let (counts, vocabulary) = docword();
    fs::write(folder.path().join("docword.made.txt"), counts).unwrap();
    fs::write(folder.path().join("vocab.made.txt"), vocabulary).unwrap();
    for (sample, expected) in [("7", "7 documents, at most 7"), ("500", "90 documents, at most 500")] {
        let printed =
            stdout(folder.path(), &["map", "docword.made.txt", "--iterations", "2", "--sample", sample]);
        assert!(printed.contains(expected), "{printed}");
    }
}

#[test]
fn awkward_documents_have_a_stated_place() {
    let folder = tempfile::tempdir().unwrap();
    // Fewer documents than points, some of them equal, one empty, a word that all others have.
    let text =
        "id,label,text\n1,a,always sail\n2,a,always sail\n3,b,always yeast\n4,b,always yeast yeast\n5,b,\n";
    fs::write(folder.path().join("few.csv"), text).unwrap();
    for emission_model in EMISSION_MODELS {
        let args = ["map", "few.csv", "--model", emission_model, "--max-share", "1", "--iterations", "30"];
        stdout(folder.path(), &args);
        let rows = table(&fs::read_to_string(folder.path().join("points.csv")).unwrap());
        assert_eq!(
            (&rows[0]["mean0"], &rows[0]["mean1"]),
            (&rows[1]["mean0"], &rows[1]["mean1"]),
            "{emission_model}"
        );
        assert!(rows[4]["mean0"].is_empty() && rows[4]["known_tokens"] == "0", "{emission_model}");
        assert!(
            rows[..4].iter().all(|row| row["mean0"].parse::<f64>().unwrap().is_finite()),
            "{emission_model}"
        );
    }
}

#[test]
fn options_that_mean_nothing_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let cases: [(&[&str], &str); 15] = [
        (&["--model", "zip-gtm", "--grid", "8x8"], "--grid is of counting grids"),
        (&["--model", "zip-gtm", "--window", "2"], "--window is of counting grids"),
        (&["--model", "poisson-gtm", "--anneal", "0.1"], "--anneal is of counting grids"),
        (&["--model", "poisson-gtm", "--stream"], "--stream is of counting grids"),
        (&["--points", "8x8"], "--points is of topographic maps"),
        (&["--magnification"], "--magnification is of topographic maps"),
        (&["--model", "zip-gtm", "--points", "8"], "a plane has two"),
        (&["--model", "zip-gtm", "--points", "9999999x9999999"], "are more than"),
        (&["--model", "zip-gtm", "--width", "0"], "`width` is out of range"),
        (&["--model", "zip-gtm", "--latent", "torus", "--width", "2"], "`width` is out of range"),
        (&["--model", "zip-gtm", "--latent", "torus", "--basis", "sinh"], "do not go around a torus"),
        (&["--model", "zip-gtm", "--basis", "sinh", "--width", "1"], "a width is of RBFs"),
        (&["--model", "multinomial-gtm", "--exposure", "length"], "exposure by length scales rates"),
        (&["--model", "zip-gtm", "--neighbours", "0"], "--neighbours 0 leaves no neighbour"),
        (&["--sample", "0"], "--sample 0 leaves no document"),
    ];
    for (args, expected) in cases {
        let output = run(folder.path(), &[&["map", "made.csv"], args].concat());
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {printed}");
        assert!(printed.contains(expected) && printed.contains("remedy: "), "{args:?}: {printed}");
        assert_eq!(contents(folder.path()).len(), 1, "{args:?}");
    }
}

#[test]
fn what_takes_grids_says_so_of_a_map_and_a_broken_map_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    map(folder.path(), &["--model", "multinomial-gtm"]);
    for args in
        [&["words", "out/model.safetensors", "--at", "1,1"][..], &["firmware", "out/model.safetensors"]]
    {
        let output = run(folder.path(), args);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains("is a topographic map, not a counting grid"), "{printed}");
    }
    let path = folder.path().join("out/model.safetensors");
    for broken in ["weights", "basis", "centres", "mixing"] {
        let mut model = countgrid_io::load(&path).unwrap();
        model.tables.retain(|table| table.name != broken);
        countgrid_io::save(folder.path().join("broken.safetensors"), &model).unwrap();
        let output = run(folder.path(), &["embed", "broken.safetensors", "made.csv"]);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{broken}: {printed}");
        assert!(printed.contains("no whole topographic map"), "{broken}: {printed}");
    }
}
