//! How well labels of held-out documents are predicted.

use crate::common;

use std::{fs, path::Path};

use common::{csv, run, stdout, table, write_folder};
use serde_json::Value;

const SMALL: [&str; 4] = ["--iterations", "15", "--grid", "6x6"];

fn last(folder: &Path, args: &[&str]) -> Value {
    let printed = stdout(folder, &[&["crossval", "made.csv", "--json"], &SMALL[..], args].concat());
    let accuracy = printed.lines().rfind(|line| line.contains("\"event\":\"accuracy\"")).unwrap();
    serde_json::from_str(accuracy).unwrap()
}

#[test]
fn every_classifier_tells_topics_apart() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    for classifier in ["generative", "labels", "nearest", "svm"] {
        let args = ["--classifier", classifier, "--folds", "5", "--repeats", "2", "-o", "found.csv"];
        let printed = last(folder.path(), &args);
        // Topics share one word in ten, and 90 documents are told twice: chance is a third.
        let accuracy = printed["accuracy"].as_f64().unwrap();
        assert!(accuracy > 0.9, "{classifier} {accuracy}");
        assert_eq!(
            (printed["predictions"].as_u64(), printed["classifier"].as_str()),
            (Some(180), Some(classifier))
        );
        // The table says the same.
        let rows = table(&fs::read_to_string(folder.path().join("found.csv")).unwrap());
        let right = rows.iter().filter(|row| row["label"] == row["found"]).count();
        assert_eq!((rows.len(), right as f64 / 180.0), (180, accuracy));
        let confusion: Vec<Vec<u64>> = serde_json::from_value(printed["confusion"].clone()).unwrap();
        assert_eq!(confusion.iter().map(|row| row.iter().sum()).collect::<Vec<u64>>(), [60, 60, 60]);
        // Each document is held out once in each repetition, and folds have their share of each label.
        for repeat in ["1", "2"] {
            for fold in 1..=5 {
                let held_out =
                    rows.iter().filter(|row| row["repeat"] == repeat && row["fold"] == fold.to_string());
                assert_eq!(held_out.count(), 18);
            }
        }
    }
}

#[test]
fn the_same_seed_tells_the_same_and_labels_at_random_are_not_told() {
    let folder = tempfile::tempdir().unwrap();
    // Labels that have nothing to do with the words.
    let text = csv(',');
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (number, line) in lines.iter_mut().enumerate().skip(1) {
        let (id, rest) = line.split_once(',').unwrap();
        let (_, rest) = rest.split_once(',').unwrap();
        *line = format!("{id},{},{rest}", ["odd", "even"][number % 2]);
    }
    fs::write(folder.path().join("made.csv"), lines.join("\n") + "\n").unwrap();
    let args = ["--classifier", "nearest", "--neighbours", "3", "--folds", "3", "-o"];
    let first = last(folder.path(), &[&args[..], &["one.csv"]].concat());
    last(folder.path(), &[&args[..], &["two.csv", "--threads", "1"]].concat());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("one.csv"), read("two.csv"));
    // Ninety throws of a coin: five standard deviations are 0.26.
    let accuracy = first["accuracy"].as_f64().unwrap();
    assert!((accuracy - 0.5).abs() < 0.27, "{accuracy}");
}

#[test]
fn one_document_at_a_time_is_held_out_also_the_only_one_of_its_label() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..6).map(|n| format!("{n},a,sail mast harbour sail rope{n}\n")).collect();
    let others: String = (0..6).map(|n| format!("b{n},b,oven flour yeast oven butter\n")).collect();
    let text = format!("id,label,text\n{rows}{others}single,c,comet comet nebula\nempty,b,\n");
    fs::write(folder.path().join("made.csv"), text).unwrap();
    for classifier in ["generative", "labels", "nearest", "svm"] {
        let args = ["--classifier", classifier, "--leave-one-out", "--max-share", "1", "-o", "found.csv"];
        let printed = last(folder.path(), &args);
        assert_eq!(printed["predictions"], 14);
        let rows = table(&fs::read_to_string(folder.path().join("found.csv")).unwrap());
        let found = |id: &str| rows.iter().find(|row| row["id"] == id).unwrap()["found"].clone();
        assert_ne!(found("single"), "c", "{classifier}"); // no other document has its label
        assert_eq!(found("empty"), "a", "{classifier}"); // six of each are left: the first
    }
}

#[test]
fn with_tokens_documents_weigh_the_same_whatever_their_length() {
    let folder = tempfile::tempdir().unwrap();
    let (text, mut longer) = (csv(','), String::new());
    for (number, line) in text.lines().enumerate() {
        // Four times as long, so that shares are the same to the bit; words are in as many documents.
        let (rest, words) = line.rsplit_once(',').unwrap();
        let words = if number % 2 == 1 { format!("{words} ").repeat(4) } else { words.to_owned() };
        longer += &format!("{rest},{words}\n");
    }
    let read = |text: &str, args: &[&str]| {
        fs::write(folder.path().join("made.csv"), text).unwrap();
        last(folder.path(), &[args, &["--folds", "3", "-o", "found.csv"]].concat());
        let found = fs::read_to_string(folder.path().join("found.csv")).unwrap();
        let printed = stdout(folder.path(), &[&["fit", "made.csv", "--json"], &SMALL[..], args].concat());
        let fitted: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
        (found, fitted["bound_per_token"].as_f64().unwrap())
    };
    // Pseudo-tokens are few beside 20 tokens a document, and many beside one in twenty.
    let tokens = ["--tokens", "20"];
    assert_eq!(read(&text, &tokens), read(&longer, &tokens));
    assert_ne!(read(&text, &[]).1, read(&longer, &[]).1);
    // They may be chosen, and what is chosen is what is used: beside pseudo-tokens few others leave grids flat.
    let run = |args: &[&str]| {
        last(folder.path(), &[args, &["--pseudocount", "1", "--folds", "3", "-o", "found.csv"]].concat());
        let rows = table(&fs::read_to_string(folder.path().join("found.csv")).unwrap());
        rows.into_iter().map(|row| row["found"].clone()).collect::<Vec<_>>()
    };
    let chosen = run(&["--try", "tokens=1e-9,20", "--inner-folds", "2"]);
    assert_ne!(run(&["--tokens", "1e-9"]), run(&tokens));
    assert!([run(&["--tokens", "1e-9"]), run(&tokens)].contains(&chosen));
}

#[test]
fn mistakes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    fs::write(folder.path().join("plain.csv"), "id,text\n1,sail mast\n2,oven flour\n").unwrap();
    fs::write(folder.path().join("one.csv"), "id,label,text\n1,a,sail mast\n2,a,oven flour\n").unwrap();
    write_folder(&folder.path().join("texts"));
    for (args, parts) in [
        (&["made.csv", "--folds", "31"][..], ["boats", "30 documents"]),
        (&["made.csv", "--folds", "1"], ["1 folds", "take --folds of at least 2"]),
        (&["made.csv", "--repeats", "0"], ["no repetition", "take --repeats of at least 1"]),
        (&["made.csv", "--neighbours", "0"], ["without neighbours", "take --neighbours of at least 1"]),
        (&["made.csv", "--tokens", "0"], ["--tokens 0", "above 0"]),
        (&["made.csv", "--tokens", "1e31"], ["--tokens 1", "1e30"]),
        (&["made.csv", "--try", "tokens=5,0"], ["--tokens 0", "above 0"]),
        (&["made.csv", "--model", "hmm", "--tokens", "5"], ["an hmm takes sequences", "leave --tokens out"]),
        (&["made.csv", "--penalty", "nan"], ["NaN is no penalty", "take a --penalty above 0"]),
        (&["made.csv", "--min-count", "1000"], ["no word is left", "--min-count"]),
        (&["plain.csv"], ["0 labels", "--label-column"]),
        (&["one.csv"], ["1 labels", "--label-column"]),
        (&["made.csv", "-o", "made.csv"], ["made.csv", "overwritten"]),
    ] {
        let output = run(folder.path(), &[&["crossval"], args].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?} {message}");
        assert!(parts.iter().all(|part| message.contains(part)), "{args:?} {message}");
        assert!(message.contains("remedy: "), "{message}");
    }
}

#[test]
fn features_and_selections_tell_topics_apart() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    for args in [
        ["--classifier", "svm-linear", "--features", "fess"],
        ["--classifier", "svm-linear", "--features", "nfess"],
        ["--classifier", "svm-rbf", "--features", "spread"],
        ["--classifier", "nearest", "--features", "posterior"],
        ["--classifier", "svm-linear", "--one-model", "--learn-prior"],
        ["--classifier", "svm-linear", "--features", "fess-words"],
        ["--max-words", "12", "--select", "mrmr"],
        ["--max-words", "12", "--select", "information"],
        ["--max-words", "12", "--select", "variance"],
    ] {
        // Chance is a third. One fit of so few documents is a draw: ten seeds of `fess` have 0.84 to 0.94.
        let of_seed = |seed| {
            let printed = last(folder.path(), &[&args[..], &["--folds", "3", "--seed", seed]].concat());
            printed["accuracy"].as_f64().unwrap()
        };
        let accuracy = ["1", "2", "3"].map(of_seed).iter().sum::<f64>() / 3.0;
        assert!(accuracy > 0.85, "{args:?} {accuracy}");
    }
}

#[test]
fn options_are_chosen_inside_of_each_fold() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    // One cell cannot tell places apart; the labels around are then those of all.
    let args = ["--classifier", "labels", "--folds", "3", "--inner-folds", "2", "--iterations", "5"];
    let tries = ["--try", "grid=1x1,6x6", "--window", "1x1", "-o", "found.csv"];
    let printed = stdout(folder.path(), &[&["crossval", "made.csv", "--json"], &args[..], &tries].concat());
    let chosen: Vec<&str> = printed.lines().filter(|line| line.contains("\"event\":\"fold\"")).collect();
    assert_eq!(chosen.len(), 3);
    assert!(chosen.iter().all(|line| line.contains("\"chosen\":\"grid=6x6\"")), "{chosen:?}");
    let rows = table(&fs::read_to_string(folder.path().join("found.csv")).unwrap());
    assert!(rows.iter().all(|row| row["chosen"] == "grid=6x6"));
}

#[test]
fn a_sweep_is_a_table_and_a_picture_and_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let sweep = |tries: &str| {
        let args = ["sweep", "made.csv", "--json", "--folds", "3", "--iterations", "5", "--window", "2x2"];
        stdout(folder.path(), &[&args[..], &["--try", tries, "-o", "out"]].concat())
    };
    let sweep_with = |args: &[&str]| {
        let all = [
            "sweep",
            "made.csv",
            "--folds",
            "3",
            "--iterations",
            "5",
            "--window",
            "2x2",
            "--try",
            "grid=2x2",
        ];
        stdout(folder.path(), &[&all[..], &["-o", "out"], args].concat())
    };
    let read = |name: &str| fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    sweep("grid=2x2");
    let first: Value = serde_json::from_str(&read("results.json")).unwrap();
    let printed = sweep("grid=2x2,4x4");
    assert_eq!(printed.lines().filter(|line| line.contains("\"event\":\"result\"")).count(), 2);
    let both: Value = serde_json::from_str(&read("results.json")).unwrap();
    assert_eq!(both["results"][0], first["results"][0]); // to the time it took: not computed again
    assert_eq!(both["results"].as_array().unwrap().len(), 2);
    let rows = table(&read("results.csv"));
    assert_eq!(rows.iter().map(|row| row["capacity"].as_str()).collect::<Vec<_>>(), ["1.0", "4.0"]);
    assert!(read("accuracy.svg").contains("2 axes"));
    // Grids of another number of axes have windows of their own.
    sweep("grid=4x4,6/3,4x4x4/2x2x1");
    let rows = table(&read("results.csv"));
    let reported: Vec<_> = rows.iter().map(|row| (row["axes"].as_str(), row["capacity"].as_str())).collect();
    assert_eq!(reported, [("2", "4.0"), ("1", "2.0"), ("3", "16.0")]);
    assert!(read("accuracy.svg").contains("1 axis") && read("accuracy.svg").contains("3 axes"));
    assert!(fs::read(folder.path().join("out/accuracy.png")).unwrap().starts_with(b"\x89PNG"));
    // Another protocol is not mixed in.
    let protocol = &both["protocol"];
    assert_eq!((&protocol["folds"], &protocol["tolerance"]), (&3.into(), &1e-5.into()));
    assert_eq!((&protocol["window"], &protocol["path"]), (&"2x2".into(), &"made.csv".into()));
    assert_eq!((&protocol["stem"], protocol.get("try"), protocol.get("grid")), (&false.into(), None, None));
    let refused = |args: &[&str], parts: &[&str]| {
        let other =
            ["sweep", "made.csv", "--folds", "3", "--try", "grid=2x2", "--window", "2x2", "-o", "out"];
        let refused = run(folder.path(), &[&other, args].concat());
        assert!(!refused.status.success());
        let printed = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(parts.iter().all(|part| printed.contains(part)), "{printed}");
    };
    let options = ": folds is 3 there and 4 here, iterations is 5 there and 6 here, tokens is not given there and 9 here\n";
    let args = ["--folds", "4", "--iterations", "6", "--tokens", "9"];
    refused(&args, &["results of another sweep, with other options", options]);
    fs::write(folder.path().join("more.csv"), csv(',')).unwrap();
    refused(
        &["more.csv", "--iterations", "5"],
        &[": path is made.csv there and [\"made.csv\",\"more.csv\"] here\n"],
    );
    // Threads and reporting are no part of it, and a number is the same however it is written.
    sweep_with(&["--threads", "1", "--quiet", "--tolerance", "0.00001"]);
    // Results that no sweep has are named, and not drawn.
    let whole: Value = serde_json::from_str(&read("results.json")).unwrap();
    for (key, value) in [
        ("capacity", Value::from(0)),
        ("capacity", (-4).into()),
        ("capacity", "4".into()),
        ("axes", 0.into()),
        ("accuracy", 1.5.into()),
        ("standard_error", (-0.1).into()),
        ("options", Value::Null),
    ] {
        let mut damaged = whole.clone();
        damaged["results"][0][key] = value;
        fs::write(folder.path().join("out/results.json"), damaged.to_string()).unwrap();
        let named = format!("results.json: `{key}` of result 1 ");
        refused(&["--iterations", "5"], &[&named, "remedy: "]);
    }
    fs::write(folder.path().join("out/results.json"), whole.to_string()).unwrap();
    // Before it was an object it was a text.
    let mut old: Value = serde_json::from_str(&read("results.json")).unwrap();
    old["protocol"] = "EvaluationArgs { path: \"made.csv\" }".into();
    fs::write(folder.path().join("out/results.json"), old.to_string()).unwrap();
    refused(
        &["--iterations", "5"],
        &["results.json: its `protocol` is not an object of options", "remedy: "],
    );
}

#[test]
fn tries_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    for (tried, problem) in [
        ("grid", "--try grid has no values"),
        ("seed=1,2", "`seed` cannot be tried"),
        ("grid=2x2,oval", "--try: invalid value 'oval'"),
    ] {
        let refused = run(folder.path(), &["crossval", "made.csv", "--try", tried]);
        assert_eq!(refused.status.code(), Some(2));
        let printed = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(printed.contains(problem), "{printed}");
    }
}

/// Numbers instead of text, and sequences instead of words.
#[test]
fn tables_of_numbers_and_sequences_are_bags_too() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..20)
        .map(|n| format!("a,a{n},{},{},-1\nb,b{n},{},{},-2\n", 50 + n, 3, 4 + n % 3, 60 - n))
        .collect();
    fs::write(folder.path().join("numbers.csv"), format!("class,id,g1,g2,g3\n{rows}")).unwrap();
    let small = ["--grid", "2x2", "--window", "1x1", "--folds", "4", "--json"];
    let refused = run(folder.path(), &[&["crossval", "numbers.csv"], &small[..]].concat());
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("numbers.csv, line 2: the number under `g3` is -1")
    );
    for scale in ["shift", "floor=1", "log=1"] {
        let args = [&["crossval", "numbers.csv", "--scale", scale, "-o", "found.csv"], &small[..]].concat();
        assert!(stdout(folder.path(), &args).contains("\"accuracy\":1.0"), "{scale}");
    }
    let found = table(&fs::read_to_string(folder.path().join("found.csv")).unwrap());
    assert!(found.iter().all(|row| row["id"].starts_with(row["label"].as_str())));

    let sequences: String = (0..20)
        .map(|n| format!("{}\n", if n % 2 == 0 { "x,acgacgacgacgacg" } else { "y,ttgttgttgttgttg" }))
        .collect();
    fs::write(folder.path().join("sequences.csv"), format!("class,sequence\n{sequences}")).unwrap();
    let args = [&["crossval", "sequences.csv", "--ngrams", "3"], &small[..]].concat();
    assert!(stdout(folder.path(), &args).contains("\"accuracy\":1.0"));
}

#[test]
fn every_model_tells_topics_apart() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    for args in [
        &["--model", "lda", "--topics", "3", "--classifier", "generative"][..],
        &["--model", "lda", "--topics", "3", "--classifier", "svm-linear"],
        &["--model", "lda", "--topics", "3", "--features", "fess-words", "--classifier", "svm-linear"],
        &["--model", "mixture", "--topics", "3", "--classifier", "generative"],
        &["--model", "mixture", "--topics", "2", "--classifier", "svm-linear"],
        &["--model", "mixture", "--topics", "2", "--classifier", "svm-linear", "--features", "fess-sources"],
        &["--grid", "6x6", "--window", "2x2", "--classifier", "svm-linear", "--features", "fisher"],
        &[
            "--grid",
            "6x6",
            "--window",
            "2x2",
            "--try",
            "features=fess-words,fess-sources",
            "--classifier",
            "svm-linear",
        ],
    ] {
        let printed = last(folder.path(), &[args, &["--folds", "3"]].concat());
        let accuracy = printed["accuracy"].as_f64().unwrap();
        assert!(accuracy > 0.85, "{args:?} {accuracy}"); // chance is a third
    }
    for [classifier, features] in [["nearest", "posterior"], ["svm-linear", "fisher"]] {
        let args = ["--model", "lda", "--topics", "3", "--classifier", classifier, "--features", features];
        let printed = last(folder.path(), &[&args[..], &["--folds", "3", "--restarts", "5"]].concat());
        assert!(printed["accuracy"].as_f64().unwrap() > 0.85, "{printed}");
    }
}

#[test]
fn the_order_of_letters_is_told_by_paths() {
    let folder = tempfile::tempdir().unwrap();
    // The same letters as often; only their order differs.
    let rows: String =
        (0..30)
            .map(|n| {
                if n % 2 == 0 {
                    format!("x,{}\n", "ab".repeat(6))
                } else {
                    format!("y,{}\n", "aabb".repeat(3))
                }
            })
            .collect();
    fs::write(folder.path().join("sequences.csv"), format!("class,sequence\n{rows}")).unwrap();
    for args in [
        &["--classifier", "generative"][..],
        &["--classifier", "svm-rbf", "--features", "fess"],
        &["--classifier", "svm-linear", "--features", "nfess"],
        &["--classifier", "svm-linear", "--features", "fisher"],
        &["--classifier", "svm-linear", "--features", "top"],
        &["--classifier", "nearest", "--features", "nfess"],
    ] {
        let command = ["crossval", "sequences.csv", "--model", "hmm", "--states", "2", "--restarts", "3"];
        let printed = stdout(folder.path(), &[&command[..], &["--json", "--folds", "3"], args].concat());
        assert!(printed.contains("\"accuracy\":1.0"), "{args:?} {printed}");
    }
}

#[test]
fn models_without_the_features_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    for args in [
        &["--model", "lda", "--classifier", "labels"][..],
        &["--model", "lda", "--classifier", "nearest"],
        &["--model", "lda", "--classifier", "svm"],
        &["--model", "hmm", "--classifier", "svm-rbf", "--features", "posterior"],
        &["--model", "lda", "--classifier", "svm-rbf", "--features", "fess-sources"],
        &["--classifier", "svm-rbf", "--features", "top"], // three labels
        &["--model", "lda", "--classifier", "svm-rbf", "--features", "top"],
        &["--model", "lda", "--classifier", "svm-rbf", "--features", "top", "--one-model"],
        &["--classifier", "svm", "--features", "fess"],
        &["--model", "lda", "--topics", "0"],
        &["--model", "hmm", "--states", "0"],
        &["--gamma", "0"],
        &["--inner-folds", "1"],
    ] {
        let refused = run(folder.path(), &[&["crossval", "made.csv"], args].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn labels_that_are_numbers_are_told_by_those_around() {
    let folder = tempfile::tempdir().unwrap();
    // Three topics whose documents have values around 1, 2 and 3.
    let text = csv(',');
    let mut topics: Vec<String> = Vec::new();
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(number, line)| {
            let (id, rest) = line.split_once(',').unwrap();
            let (topic, rest) = rest.split_once(',').unwrap();
            if number == 0 {
                return line.to_owned();
            }
            let place = topics.iter().position(|known| known == topic).unwrap_or_else(|| {
                topics.push(topic.to_owned());
                topics.len() - 1
            });
            format!("{id},{},{rest}", place as f64 + 1.0 + (number % 3) as f64 / 10.0)
        })
        .collect();
    fs::write(folder.path().join("made.csv"), lines.join("\n") + "\n").unwrap();
    let args = [
        "crossval",
        "made.csv",
        "--json",
        "--numeric",
        "--classifier",
        "labels",
        "--folds",
        "5",
        "-o",
        "f.csv",
    ];
    let printed = stdout(folder.path(), &[&args[..], &SMALL].concat());
    let line = printed.lines().rfind(|line| line.contains("\"event\":\"correlation\"")).unwrap();
    let printed: Value = serde_json::from_str(line).unwrap();
    let correlation = printed["correlation"].as_f64().unwrap();
    assert!(correlation > 0.9 && correlation <= 1.0, "{correlation}");
    assert!(printed["rms_error"].as_f64().unwrap() < 0.5 * printed["rms_error_of_mean"].as_f64().unwrap());
    let rows = table(&fs::read_to_string(folder.path().join("f.csv")).unwrap());
    assert_eq!(rows.len(), 90);
    // What is told lies within what was seen.
    assert!(rows.iter().all(|row| (1.0..=3.2).contains(&row["found"].parse::<f64>().unwrap())));

    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let refused = run(folder.path(), &[&args[..], &SMALL].concat());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is no number"));
}
