//! An option that the model, the classifier or the method does not use is refused, as it would be without effect.

use crate::common;

use std::{fs, path::Path};

use common::{csv, run, stdout};

/// The error of a command that is refused before it writes anything.
fn refused(folder: &Path, line: &str) -> String {
    let args: Vec<&str> = line.split_whitespace().collect();
    let output = run(folder, &args);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(!folder.join("out").exists(), "{line}");
    String::from_utf8(output.stderr).unwrap()
}

/// Options that say which model is meant, or name a file, and all of a map.
#[test]
fn options_of_other_models_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    for (line, message) in [
        ("fit made.csv -o out --trace out.csv", "--trace is of harmoniums, and --model grid is none"),
        ("fit made.csv -o out --features-from made.csv", "--features-from is of dual wings"),
        ("fit made.csv -o out --model rap --feature-columns x", "--feature-columns is of dual wings"),
        ("fit made.csv -o out --model rap --learn-concentration", "--learn-concentration is of componential"),
        ("start made.csv -o out --parts 2 --concentration 3", "--concentration is of componential grids"),
        ("map made.csv -o out --model zip-gtm --batch 9", "--batch is of counting grids and harmoniums"),
        ("map made.csv -o out --neighbours 3", "--neighbours is of topographic maps"),
    ] {
        let error = refused(folder, line);
        assert!(error.contains(message), "{line}: {error}");
    }
    let error = refused(folder, "fit made.csv -o out --trace out.csv");
    assert!(
        error.contains("leave --trace out, or take --model harmonium or rap or dual-wing\n"),
        "only models of the command are named: {error}"
    );
    // Of a file of options, too, unless they are what is the default.
    let quick = ["--grid", "4x4", "--window", "2x2", "--iterations", "2", "--save-config", "grid.toml"];
    let own = ["--model", "componential", "--concentration", "3", "--componential-iterations", "2"];
    stdout(folder, &[&["fit", "made.csv", "-o", "grid"][..], &quick, &own].concat());
    stdout(folder, &["fit", "--config", "grid.toml", "-o", "again"]);
    let error = refused(folder, "fit --config grid.toml -o out --model grid");
    assert!(error.contains("grid.toml: --concentration is of componential grids"), "{error}");
}

/// The notes of a command that does what is asked.
fn notes(folder: &Path, line: &str) -> Vec<String> {
    let told = stdout(folder, &line.split_whitespace().collect::<Vec<_>>());
    let notes = told.lines().filter_map(|line| line.strip_prefix("note").map(str::trim));
    notes.filter_map(|note| note.strip_suffix(": it has no effect").map(str::to_owned)).collect()
}

#[test]
fn options_of_other_models_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let small = "--grid 4x4 --window 2x2 --iterations 2";
    for (line, expected) in [
        (format!("fit made.csv {small}"), &[][..]),
        (
            format!("fit made.csv {small} --epochs 3 --topics 8"),
            &[
                "--topics is of models with topics, and --model grid is none",
                "--epochs is of harmoniums, and --model grid is none",
            ],
        ),
        (
            "fit made.csv --model rap --epochs 2 --draws 9 --restarts 2 --iterations 2 --stream --feature-variance 2".into(),
            &[
                "--stream is of counting grids, and --model rap is none",
                "--restarts is of models that may be fitted from several starts, and --model rap is none",
                "--iterations is of models that are fitted by EM, and --model rap is none",
                "--feature-variance is of dual wings, and --model rap is none",
                "--draws is of Langevin sampling, and --method cd is none",
            ],
        ),
        (
            format!("crossval made.csv --folds 2 {small} --penalty 2 --features fess"),
            &[
                "--features is of nearest neighbours and support vector machines, and --classifier generative is none",
                "--penalty is of support vector machines, and --classifier generative is none",
            ],
        ),
        (
            "crossval made.csv --folds 2 --model lda --topics 2 --iterations 2 --states 3 --window 3x3 --gamma 2".into(),
            &[
                "--window is of counting grids, and --model lda is none",
                "--states is of hidden Markov models, and --model lda is none",
                "--gamma is of support vector machines with a Gaussian kernel, and --classifier generative is none",
            ],
        ),
    ] {
        assert_eq!(notes(folder, &line), expected, "{line}");
    }
}

/// What is given and what is tried should be used by a candidate, and need not be by all.
#[test]
fn an_option_is_of_some_candidate() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let quick = "made.csv --folds 2 --inner-folds 2 --iterations 2";
    for (line, expected) in [
        (
            format!(
                "crossval {quick} --grid 4x4 --window 2x2 --try classifier=nearest,svm-rbf --features posterior \
                 --neighbours 3 --gamma 2"
            ),
            &[][..],
        ),
        (
            format!("sweep {quick} --grid 4x4 --window 2x2 --try topics=2,8"),
            &["--topics is of models with topics, and --model grid is none"],
        ),
        (
            format!("crossval {quick} --try model=lda,mixture --topics 2 --window 2x2"),
            &["--window is of counting grids, and --model lda is none"],
        ),
    ] {
        assert_eq!(notes(folder, &line), expected, "{line}");
    }
}

/// What documents are decides about others.
#[test]
fn options_for_other_documents_are_refused_or_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (docword, vocabulary) = common::docword();
    for (name, text) in [("made.csv", csv(',')), ("docword.a.txt", docword), ("vocab.a.txt", vocabulary)] {
        fs::write(folder.join(name), text).unwrap();
    }
    for (line, parts) in [
        (
            "fit made.csv -o out --scale log=2",
            ["made.csv: texts, and `scaling.scale` is for numbers", "--scale out"],
        ),
        (
            "fit made.csv -o out --vocabulary vocab.a.txt",
            ["`vocabulary` is for files of counts", "--vocabulary out"],
        ),
        ("fit docword.a.txt -o out --phrases auto", ["docword.a.txt: counts", "--phrases out"]),
        (
            "fit docword.a.txt -o out --text-column text",
            ["`columns.text` is for tables", "--text-column out"],
        ),
        ("fit docword.a.txt -o out --title-column text", ["docword counts", "--title-column out"]),
        ("fit docword.a.txt -o out --id-column text", ["docword counts", "--id-column out"]),
        ("fit docword.a.txt -o out --label-column text", ["docword counts", "--label-column out"]),
        ("crossval made.csv -o out --leave-one-out --folds 3", ["--leave-one-out", "cannot be used with"]),
    ] {
        let error = refused(folder, line);
        assert!(parts.iter().all(|part| error.contains(part)), "{line}: {error}");
    }
    fs::write(folder.join("s.txt"), "sail").unwrap();
    let fit = ["fit", "docword.a.txt", "-o", "model", "--iterations", "2", "--stop-words", "s.txt"];
    let told = |args: &[&str]| stdout(folder, args);
    let stay = "words of counts stay as they are; --stop-words is for texts that are placed on the model";
    assert!(told(&fit).contains(stay));
    let more = "--language, --stop-words, --stem are for texts";
    assert!(told(&[&fit[..], &["--stem", "--language", "de"]].concat()).contains(more));
    assert!(!told(&fit[..6]).contains("words of counts"));
}
