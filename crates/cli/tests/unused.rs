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

#[test]
fn options_of_other_models_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    for (line, message) in [
        ("fit made.csv -o out --trace out.csv", "--trace is of harmoniums, and --model grid is none"),
        ("fit made.csv -o out --epochs 3", "--epochs is of harmoniums"),
        ("fit made.csv -o out --topics 8", "--topics is of models with topics"),
        ("fit made.csv -o out --features-from made.csv", "--features-from is of dual wings"),
        ("fit made.csv -o out --model componential --prior 1", "--prior is of harmoniums"),
        ("fit made.csv -o out --model rap --feature-variance 2", "--feature-variance is of dual wings"),
        ("fit made.csv -o out --model harmonium --grid 4x4", "--grid is of counting grids"),
        ("fit made.csv -o out --model rap --restarts 3", "--restarts is of models that may be fitted from"),
        ("fit made.csv -o out --model rap --iterations 3", "--iterations is of models that are fitted by EM"),
        ("fit made.csv -o out --model rap --stream", "--stream is of counting grids"),
        (
            "fit made.csv -o out --model rap --draws 3",
            "--draws is of Langevin sampling, and --method cd is none",
        ),
        ("start made.csv -o out --parts 2 --concentration 3", "--concentration is of componential grids"),
        ("map made.csv -o out --model zip-gtm --batch 9", "--batch is of counting grids and harmoniums"),
        ("map made.csv -o out --neighbours 3", "--neighbours is of topographic maps"),
        ("crossval made.csv -o out --penalty 2", "--penalty is of support vector machines"),
        ("crossval made.csv -o out --classifier svm --gamma 2", "--gamma is of support vector machines with"),
        ("crossval made.csv -o out --classifier svm --neighbours 2", "--neighbours is of nearest neighbours"),
        ("crossval made.csv -o out --features fess", "--features is of nearest neighbours and support"),
        ("crossval made.csv -o out --model lda --states 3", "--states is of hidden Markov models"),
        ("crossval made.csv -o out --model lda --window 3x3", "--window is of counting grids"),
        ("crossval made.csv -o out --model lsi --classifier svm-rbf --restarts 2", "--restarts is of"),
        ("crossval made.csv -o out --model lda --method cd", "--method is of harmoniums"),
    ] {
        let error = refused(folder, line);
        assert!(error.contains(message), "{line}: {error}");
    }
    let error = refused(folder, "fit made.csv -o out --steps 3");
    assert!(
        error.contains("leave --steps out, or take --model harmonium or rap or dual-wing\n"),
        "only models of the command are named: {error}"
    );
}

/// Of a file of options, too, unless they are what is the default.
#[test]
fn options_of_a_file_are_refused_like_those_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    stdout(folder, &["fit", "made.csv", "-o", "grid", "--iterations", "3", "--save-config", "grid.toml"]);
    stdout(folder, &["fit", "--config", "grid.toml", "-o", "again"]);
    let error = refused(folder, "fit --config grid.toml -o out --model rap");
    assert!(error.contains("grid.toml: --grid is of counting grids, and --model rap is none"), "{error}");
}

/// What is given and what is tried has to be used by a candidate, and need not be by all.
#[test]
fn an_option_is_of_some_candidate() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let quick = "--folds 2 --inner-folds 2 --iterations 2 --grid 4x4 --window 2x2";
    let line = format!(
        "crossval made.csv -o some.csv {quick} --try classifier=nearest,svm-rbf --features posterior --neighbours 3 --gamma 2"
    );
    stdout(folder, &line.split_whitespace().collect::<Vec<_>>());
    for (line, message) in [
        ("crossval made.csv -o out --try topics=2,8", "--topics is of models with topics"),
        (
            "crossval made.csv -o out --model lda --try grid=4x4,6x6",
            "--grid is of counting grids, and --model lda is none",
        ),
        ("sweep made.csv -o out --try grid=4x4,6x6 --states 3", "--states is of hidden Markov models"),
        ("sweep made.csv -o out --try model=lda,mixture --topics 2 --window 2x2", "--window is of"),
    ] {
        let error = refused(folder, line);
        assert!(error.contains(message), "{line}: {error}");
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
        (
            "crossval made.csv -o out --model hmm --max-words 9",
            ["--max-words is of bags of words", "--max-words out"],
        ),
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
