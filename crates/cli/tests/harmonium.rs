//! Harmoniums on the command line.

use crate::common;

use std::{fs, path::Path};

use common::{csv, made, run, stdout, table};
use serde_json::Value;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    folder
}

fn fit(folder: &Path, args: &[&str]) -> String {
    stdout(folder, &[&["fit", "made.csv", "--epochs", "60"], args].concat())
}

/// How many documents have a document of their own label next to them, in topic space.
fn neighbours(folder: &Path) -> f64 {
    let rows = table(&stdout(folder, &["embed", "model.safetensors", "made.csv", "--quiet"]));
    assert_eq!(rows.len(), made().len());
    let place = |row: &std::collections::BTreeMap<String, String>| -> Vec<f64> {
        (0..4).map(|j| row[&format!("h{j}")].parse().unwrap()).collect()
    };
    let places: Vec<_> = rows.iter().map(place).collect();
    let far = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let right = (0..rows.len()).filter(|&own| {
        let others = (0..rows.len()).filter(|&other| other != own);
        let nearest =
            others.min_by(|&a, &b| far(&places[own], &places[a]).total_cmp(&far(&places[own], &places[b])));
        nearest.is_some_and(|other| rows[other]["label"] == rows[own]["label"])
    });
    right.count() as f64 / rows.len() as f64
}

#[test]
fn every_method_brings_documents_of_a_label_together() {
    let folder = folder();
    let folder = folder.path();
    for options in [
        vec!["--model", "harmonium"],
        vec!["--model", "harmonium", "--trials", "3"],
        vec!["--model", "harmonium", "--method", "persistent", "--steps", "2"],
        vec!["--model", "harmonium", "--method", "langevin", "--draws", "200", "--precision", "f64"],
        vec!["--model", "rap", "--epochs", "300"],
    ] {
        fit_with(folder, &options);
        // One in three by chance; words of the next topic are one in ten.
        let right = neighbours(folder);
        assert!(right > 0.8, "{options:?}: {right}");
    }
}

fn fit_with(folder: &Path, options: &[&str]) {
    let epochs = if options.contains(&"--epochs") { vec![] } else { vec!["--epochs", "100"] };
    stdout(
        folder,
        &[&["fit", "made.csv", "--topics", "4", "--batch", "10"], epochs.as_slice(), options].concat(),
    );
}

#[test]
fn a_fit_is_the_same_on_any_number_of_threads_and_differs_between_seeds() {
    let folder = folder();
    let folder = folder.path();
    let options = ["--model", "harmonium", "--method", "langevin", "--draws", "40", "--chains", "3"];
    let bytes = |more: &[&str]| {
        fit(folder, &[options.as_slice(), more].concat());
        fs::read(folder.join("model.safetensors")).unwrap()
    };
    let one = bytes(&["--threads", "1"]);
    assert_eq!(one, bytes(&["--threads", "3"]));
    assert_ne!(one, bytes(&["--seed", "2"]));
}

#[test]
fn sampling_leaves_a_trace_and_says_how_it_mixed() {
    let folder = folder();
    let folder = folder.path();
    let printed = fit(
        folder,
        &[
            "--model",
            "rap",
            "--topics",
            "3",
            "--method",
            "langevin",
            "--draws",
            "80",
            "--chains",
            "2",
            "--prior",
            "empirical-pooled",
            "--trace",
            "trace.csv",
        ],
    );
    for words in ["effective samples of 80", "R-hat", "posterior samples of 2 chains"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let rows = table(&fs::read_to_string(folder.join("trace.csv")).unwrap());
    assert_eq!(rows.len(), 2 * (60 + 80));
    for row in &rows {
        let number = |name: &str| row[name].parse::<f64>().unwrap();
        assert!(number("trace_v") > 0.0 && number("mean_v") >= 0.0 && number("accepted") == 1.0);
        // Three binary topics are few enough to be summed over.
        assert!(number("log_posterior").is_finite());
        assert_eq!(row["phase"] == "langevin", !row["log_prior"].is_empty());
    }
    let first = |phase: &str| rows.iter().find(|row| row["phase"] == phase).unwrap();
    let likelihood =
        |row: &std::collections::BTreeMap<String, String>| row["log_posterior"].parse::<f64>().unwrap();
    // What contrastive divergence climbs is not quite the likelihood, but it does climb.
    assert!(likelihood(&rows[59]) > likelihood(first("climb")), "{:?} {:?}", rows[59], first("climb"));
}

#[test]
fn what_is_in_a_file_is_told() {
    let folder = folder();
    let folder = folder.path();
    fit(folder, &["--model", "harmonium", "--topics", "2"]);
    let object: Value =
        serde_json::from_str(&stdout(folder, &["info", "model.safetensors", "--json"])).unwrap();
    assert_eq!((object["model"].as_str(), object["vocabulary"].as_u64()), (Some("harmonium"), Some(36)));
    assert_eq!(object["topics"].as_array().unwrap().len(), 2);
    assert_eq!(object["fit"]["method"], "cd");
    let text = stdout(folder, &["info", "model.safetensors"]);
    assert!(text.contains("h1 ") && text.contains("step size"), "{text}");
    // It is no grid.
    let refused = run(folder, &["words", "model.safetensors", "--at", "0,0"]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("is a harmonium"), "{error}");
    // A file that was cut short is refused, not believed.
    let bytes = fs::read(folder.join("model.safetensors")).unwrap();
    fs::write(folder.join("cut.safetensors"), &bytes[..bytes.len() - 8]).unwrap();
    assert!(!run(folder, &["embed", "cut.safetensors", "made.csv"]).status.success());
}

/// Two numbers beside each document: one is high for bread and one for boats, in units of their own.
fn coloured(documents: usize) -> String {
    let mut text = "colour,key,size,remark\n".to_owned();
    for (place, one) in made().iter().enumerate().take(documents) {
        let wobble = (place * 7 % 11) as f64 / 11.0;
        let of = |label: &str| if one.label == label { 3.0 } else { 0.0 };
        text +=
            &format!("{},{},{},none\n", 100.0 + 10.0 * (of("bread") + wobble), one.id, of("boats") - wobble);
    }
    text
}

#[test]
fn a_dual_wing_places_documents_by_words_and_features() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("colours.csv"), coloured(usize::MAX)).unwrap();
    let features = ["--features-from", "colours.csv", "--id-column", "key"];
    // The texts have their ids in another column.
    let texts = csv(',').replacen("id,", "key,", 1);
    fs::write(folder.join("made.csv"), texts).unwrap();
    let options = [
        ["--model", "dual-wing", "--topics", "4", "--batch", "10", "--epochs", "100"].as_slice(),
        &features,
        &["--feature-columns", "colour,size"],
    ]
    .concat();
    stdout(folder, &[["fit", "made.csv"].as_slice(), &options].concat());
    let object: Value =
        serde_json::from_str(&stdout(folder, &["info", "model.safetensors", "--json"])).unwrap();
    assert_eq!(object["features"], serde_json::json!(["colour", "size"]));
    let embed = |more: &[&str]| {
        table(&stdout(
            folder,
            &[["embed", "model.safetensors", "made.csv", "--quiet"].as_slice(), more].concat(),
        ))
    };
    let (with, without) = (embed(&features), embed(&["--id-column", "key"]));
    assert_eq!((with.len(), without.len()), (90, 90));
    assert_ne!(with[0]["h0"], without[0]["h0"]);
    // A scale of its own is no matter: features are standardised.
    let before = coloured(usize::MAX);
    let shifted = before.lines().enumerate().map(|(line, text)| match text.split_once(',') {
        Some((colour, rest)) if line > 0 => format!("{},{rest}\n", 2.0 * colour.parse::<f64>().unwrap()),
        _ => format!("{text}\n"),
    });
    fs::write(folder.join("colours.csv"), shifted.collect::<String>()).unwrap();
    fs::copy(folder.join("model.safetensors"), folder.join("first.safetensors")).unwrap();
    stdout(folder, &[["fit", "made.csv"].as_slice(), &options].concat());
    // Twice a number is exact, and so are means and deviations of twice the numbers.
    for (own, other) in embed(&features).iter().zip(&with) {
        assert_eq!(own["h0"], other["h0"]);
    }
}

#[test]
fn crossval_tells_labels_in_topic_space() {
    let folder = folder();
    for options in [
        ["--model", "harmonium", "--features", "posterior", "--metric", "cosine"].as_slice(),
        &["--model", "harmonium", "--features", "samples", "--method", "langevin", "--draws", "60"],
        &["--model", "rap", "--features", "posterior", "--epochs", "300"],
        &["--model", "lsi", "--features", "posterior", "--metric", "cosine"],
        &["--model", "lda", "--features", "posterior"],
    ] {
        let mut args = vec!["crossval", "made.csv", "--classifier", "nearest", "--json"];
        args.extend("--topics 4 --folds 3 --batch 10".split(' '));
        args.extend(options);
        let printed = stdout(folder.path(), &args);
        let reported = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let accuracy = reported
            .filter(|event| event["event"] == "accuracy")
            .find_map(|event| event["accuracy"].as_f64());
        assert!(accuracy.is_some_and(|share| share > 0.8), "{options:?}: {accuracy:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_remedy() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("short.csv"), coloured(80).replacen("key", "id", 1)).unwrap();
    fs::write(folder.join("rows.csv"), "a\n1\n2\n").unwrap();
    fs::write(folder.join("twice.csv"), "id,a\nx,1\nx,2\n").unwrap();
    fs::write(
        folder.join("same.csv"),
        made().iter().fold("id,a\n".to_owned(), |all, one| all + &one.id + ",1\n"),
    )
    .unwrap();
    let dual = |more: &'static str| {
        [vec!["fit", "made.csv", "--model", "dual-wing"], more.split(' ').collect()].concat()
    };
    for (args, words) in [
        (vec!["fit", "made.csv", "--model", "dual-wing"], "no features were named"),
        (dual("--features-from missing.csv"), "missing.csv"),
        (dual("--features-from short.csv"), "line 2, column `remark`: `none` is no number"),
        (dual("--features-from short.csv --feature-columns colour"), "no row for the document"),
        (dual("--features-from short.csv --feature-columns weight"), "no column `weight`"),
        (dual("--features-from rows.csv"), "2 rows for 90 documents"),
        (dual("--features-from twice.csv"), "line 3: the id `x` is there twice"),
        (dual("--features-from same.csv"), "standard deviation 0"),
        (
            vec!["fit", "made.csv", "--model", "rap", "--features-from", "short.csv"],
            "--features-from is of dual wings",
        ),
        (vec!["fit", "made.csv", "--model", "harmonium", "--topics", "0"], "topics"),
        (
            vec!["fit", "made.csv", "--model", "harmonium", "--prior", "0.1"],
            "a prior is for posterior sampling",
        ),
        (
            vec!["fit", "made.csv", "--model", "harmonium", "--prior", "wide"],
            "a prior is a standard deviation",
        ),
        (vec!["fit", "made.csv", "--model", "harmonium", "--step-size", "nan"], "--step-size"),
        (vec!["fit", "made.csv", "--model", "harmonium", "--steps", "0"], "take --steps of at least 1"),
        (
            vec!["fit", "made.csv", "--model", "harmonium", "--step-size", "1e30"],
            "take a smaller --step-size",
        ),
        (vec!["fit", "made.csv", "--model", "rap", "--step-size", "100"], "take a smaller --step-size"),
        (vec!["crossval", "made.csv", "--model", "harmonium"], "has no features"),
        (
            vec![
                "crossval",
                "made.csv",
                "--model",
                "harmonium",
                "--classifier",
                "nearest",
                "--features",
                "samples",
            ],
            "has no features",
        ),
        (
            vec![
                "crossval",
                "made.csv",
                "--model",
                "lsi",
                "--classifier",
                "nearest",
                "--features",
                "posterior",
                "--metric",
                "divergence",
            ],
            "divergence",
        ),
        (vec!["crossval", "made.csv", "--metric", "cosine"], "is for nearest neighbours"),
    ] {
        let refused = run(folder, &args);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && error.contains(words), "{args:?}: {error}");
        assert!(!folder.join("model.safetensors").exists(), "{args:?}");
    }
}

#[test]
fn progress_is_a_line_every_ten_epochs_or_steps() {
    let folder = folder();
    let args = ["fit", "made.csv", "--model", "harmonium", "--topics", "4", "--epochs", "25"];
    let lines = |args: &[&str]| -> Vec<String> {
        let printed = String::from_utf8(run(folder.path(), args).stderr).unwrap();
        let said = |line: &str| line.rsplit_once(',').map_or(line, |(said, _left)| said).to_owned();
        printed.lines().map(said).collect()
    };
    let epochs = [10, 20, 25].map(|n| format!("fit       4 topics, epoch {n}"));
    assert_eq!(lines(&args), epochs);
    let sampling = lines(&[&args[..], &["--method", "langevin", "--draws", "20"]].concat());
    assert_eq!(sampling[..3], epochs);
    assert_eq!(sampling[3..], [10, 20].map(|n| format!("fit       4 topics, Langevin step {n}")));
}
