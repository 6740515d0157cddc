//! `evaluate` and `compare`: measures of fitted models.

use crate::common;

use std::{fs, path::Path};

use common::{contents, csv, docword, run, stdout};
use serde_json::Value;

fn fit(folder: &Path, args: &[&str]) {
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    stdout(folder, &[&["fit", "made.csv", "--iterations", "20", "--quiet"], args].concat());
}

fn evaluate(folder: &Path, args: &[&str]) -> Value {
    stdout(folder, &[&["evaluate"], args, &["--quiet", "-o", "m.json"]].concat());
    serde_json::from_str(&fs::read_to_string(folder.join("m.json")).unwrap()).unwrap()
}

fn value(object: &Value, name: &str) -> Option<f64> {
    object["measures"][name]["value"].as_f64()
}

fn reason<'a>(object: &'a Value, name: &str) -> &'a str {
    object["measures"][name]["reason"].as_str().unwrap_or_default()
}

const OF_MAPS: [&str; 4] = ["neighbour_labels", "neighbour_vote", "trustworthiness", "continuity"];

#[test]
fn a_grid_has_all_measures_and_the_same_whatever_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &[]);
    let found = evaluate(folder.path(), &["model.safetensors", "made.csv"]);
    for (name, measure) in found["measures"].as_object().unwrap() {
        assert!(measure["value"].is_f64(), "{name}: {measure}");
    }
    // Topics share one word in ten: neighbours of another topic are rare.
    assert!(value(&found, "neighbour_labels").unwrap() > 0.85, "{found}");
    assert!(value(&found, "neighbour_vote").unwrap() > 0.95, "{found}");
    assert!(OF_MAPS.iter().all(|name| (0.5..=1.0).contains(&value(&found, name).unwrap())), "{found}");
    // 36 words, and 12 of one topic are nine tenths of a document.
    let perplexity = value(&found, "perplexity").unwrap();
    assert!((10.0..36.0).contains(&perplexity), "{perplexity}");
    let log = value(&found, "completion_log_likelihood").unwrap();
    assert!((perplexity.ln() + log).abs() < 1e-12);
    assert_eq!((&found["documents"], &found["topics"]), (&90.into(), &16.into())); // 8x8, windows of 2x2

    let again = evaluate(folder.path(), &["model.safetensors", "made.csv", "--threads", "1"]);
    assert_eq!(again, found);
    let printed = stdout(folder.path(), &["evaluate", "model.safetensors", "made.csv"]);
    assert!(printed.contains(&format!(" {perplexity:.4} ± ")), "{printed}");
    let json = stdout(folder.path(), &["evaluate", "model.safetensors", "made.csv", "--json"]);
    let event: Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!(event["measures"], found["measures"]);
    // Fewer documents, drawn by the seed.
    let few = |seed: &str| {
        let args = ["model.safetensors", "made.csv", "--max-documents", "40", "--seed", seed];
        let found = evaluate(folder.path(), &args);
        assert_eq!(found["documents"], 40);
        value(&found, "trustworthiness").unwrap()
    };
    assert!(few("1") != few("2") && few("1") == few("1"));
}

#[test]
fn counts_have_no_order_of_words_and_the_same_document_coherence() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &[]);
    let (counts, vocabulary) = docword();
    fs::write(folder.path().join("docword.made.txt"), counts).unwrap();
    fs::write(folder.path().join("vocab.made.txt"), vocabulary).unwrap();
    let [texts, counted] =
        ["made.csv", "docword.made.txt"].map(|data| evaluate(folder.path(), &["model.safetensors", data]));
    for name in ["u_mass", "diversity", "exclusivity", "trustworthiness", "perplexity", "bound_per_token"] {
        assert_eq!(counted["measures"][name], texts["measures"][name], "{name}");
    }
    assert!(reason(&counted, "c_v").contains("order of words"), "{counted}");
    assert!(reason(&counted, "neighbour_vote").contains("fewer than two labels"), "{counted}");
}

#[test]
fn models_of_every_kind_say_what_they_do_not_have() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &["--grid", "6", "--window", "1", "-o", "mixture"]);
    let mixture = evaluate(folder.path(), &["mixture", "made.csv"]);
    assert!(OF_MAPS.iter().all(|name| reason(&mixture, name).contains("mixture")), "{mixture}");
    assert!(value(&mixture, "perplexity").unwrap() < 36.0 && mixture["topics"] == 6);

    fit(folder.path(), &["--model", "harmonium", "--topics", "3", "--epochs", "5", "-o", "harmonium"]);
    let harmonium = evaluate(folder.path(), &["harmonium", "made.csv"]);
    assert!(OF_MAPS.iter().all(|name| reason(&harmonium, name).contains("no map")), "{harmonium}");
    for name in ["exclusivity", "completion_log_likelihood", "perplexity", "bound_per_token"] {
        assert!(reason(&harmonium, name).contains("harmonium"), "{name}: {harmonium}");
    }
    assert!(value(&harmonium, "c_v").is_some() && value(&harmonium, "diversity").is_some());

    for latent in ["grid", "torus"] {
        let args = [
            "map",
            "made.csv",
            "--model",
            "zip-gtm",
            "--iterations",
            "8",
            "--points",
            "9x8",
            "-q",
            "-o",
            "map",
        ];
        stdout(folder.path(), &[&args[..], &["--latent", latent]].concat());
        let map = evaluate(folder.path(), &["map/model.safetensors", "made.csv"]);
        assert!(value(&map, "neighbour_vote").unwrap() > 0.85, "{map}");
        assert!(reason(&map, "perplexity").contains("topographic") && value(&map, "c_npmi").is_some());
    }
}

#[test]
fn models_of_other_seeds_are_a_group() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, pseudocount, name) in [("1", "0.01", "a"), ("2", "0.01", "b"), ("1", "0.1", "c")] {
        fit(folder.path(), &["--seed", seed, "--pseudocount", pseudocount, "-o", name]);
    }
    fs::copy(folder.path().join("c"), folder.path().join("d")).unwrap();
    let printed = stdout(folder.path(), &["compare", "a", "c", "b", "d", "made.csv", "-o", "out"]);
    assert!(printed.contains("A of model 1, 3; B of model 2, 4"), "{printed}");
    let out = folder.path().join("out");
    let files = contents(&out);
    let names = ["comparison.csv", "comparison.json", "comparison.png", "comparison.svg"];
    assert!(files.keys().eq(names.map(|name| out.join(name)).iter()));
    let found: Value = serde_json::from_slice(&files[&out.join("comparison.json")]).unwrap();
    let [first, second] = [&found["groups"][0], &found["groups"][1]];
    // By hand, from the models themselves.
    let [a, b] = [0, 2].map(|model| value(&found["models"][model], "trustworthiness").unwrap());
    let mean = &first["measures"]["trustworthiness"];
    assert!((mean["value"].as_f64().unwrap() - f64::midpoint(a, b)).abs() < 1e-15, "{mean}");
    assert!((mean["standard_error"].as_f64().unwrap() - (a - b).abs() / 2.0).abs() < 1e-15, "{mean}");
    // A model and its copy.
    assert_eq!(second["measures"]["trustworthiness"]["standard_error"], 0.0);
    assert_eq!(second["stability"]["neighbours"], 1.0);
    assert!((second["stability"]["topics"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    let stable = first["stability"]["neighbours"].as_f64().unwrap();
    assert!(stable > 0.0 && stable < 1.0, "{stable}");
    let rows = common::table(std::str::from_utf8(&files[&out.join("comparison.csv")]).unwrap());
    assert_eq!(rows.len(), 4 * 12);
    assert!(String::from_utf8_lossy(&files[&out.join("comparison.svg")]).contains("trustworthiness"));
    // The same files again.
    stdout(
        folder.path(),
        &["compare", "a", "c", "b", "d", "made.csv", "-o", "out", "--quiet", "--threads", "1"],
    );
    assert!(contents(&out) == files);
}

#[test]
fn what_cannot_be_measured_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    fit(folder.path(), &[]);
    let before = contents(folder.path());
    for (args, part) in [
        (&["evaluate", "made.csv", "made.csv"][..], "made.csv"),
        (&["evaluate", "model.safetensors", "none.csv"], "none.csv"),
        (&["evaluate", "model.safetensors", "made.csv", "-o", "made.csv"], "made.csv"),
        (&["evaluate", "model.safetensors", "made.csv", "--neighbours", "0"], "--neighbours"),
        (&["evaluate", "model.safetensors", "made.csv", "--top", "1"], "--top"),
        (&["evaluate", "model.safetensors", "made.csv", "--max-topics", "0"], "--max-topics"),
        (&["compare", "model.safetensors", "made.csv"], "<MODEL>"),
        (&["compare", "model.safetensors", "made.csv", "made.csv"], "made.csv"),
    ] {
        let output = run(folder.path(), args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(part), "{args:?}: {said}");
        assert!(said.contains("remedy") || said.contains("Usage"), "{args:?}: {said}");
        if args[0] == "evaluate" {
            assert!(contents(folder.path()) == before, "{args:?}");
        }
    }
    // With too few documents for so many neighbours the other measures are there.
    let found = evaluate(folder.path(), &["model.safetensors", "made.csv", "--neighbours", "45"]);
    assert!(reason(&found, "continuity").contains("too few documents") && value(&found, "c_v").is_some());
    // Documents without a known word.
    fs::write(folder.path().join("new.csv"), "label,text\na,zeppelins\nb,airships\n").unwrap();
    let found = evaluate(folder.path(), &["model.safetensors", "new.csv"]);
    assert!(found["measures"].as_object().unwrap().iter().all(|(name, measure)| {
        measure["value"].is_null() || ["diversity", "exclusivity"].contains(&name.as_str())
    }));
}
