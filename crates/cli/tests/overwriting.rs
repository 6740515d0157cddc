//! No output is an input or another output, for any command: the run ends with a message, and every file is as it was.

mod common;

use std::{fs, path::Path};

use crate::common::{contents, csv, docword, run, stdout};

/// What a command that would overwrite a file says.
fn refused(folder: &Path, args: &[&str]) -> String {
    let before = contents(folder);
    let output = run(folder, args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}\n{message}");
    assert!(message.contains("remedy: "), "{args:?}\n{message}");
    assert!(contents(folder) == before, "{args:?}: files have changed\n{message}");
    message
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), csv(',')).unwrap();
    folder
}

const SMALL: [&str; 6] = ["--grid", "4x4", "--window", "2x2", "--iterations", "2"];

#[test]
fn inputs_stay() {
    let folder = folder();
    let path = folder.path();
    stdout(path, &[&["fit", "a.csv", "-o", "g.st", "--quiet"], &SMALL[..]].concat());
    fs::write(path.join("s.txt"), "the\nof\n").unwrap();
    fs::write(path.join("f.csv"), "id,x\n1,0.5\n").unwrap();
    let (counts, words) = docword();
    fs::write(path.join("docword.a.txt"), counts).unwrap();
    fs::write(path.join("vocab.a.txt"), words).unwrap();
    fs::create_dir(path.join("s")).unwrap();
    for name in ["results.csv", "results.json", "accuracy.svg", "map.html", "points.csv", "model.rs"] {
        fs::copy(path.join("a.csv"), path.join("s").join(name)).unwrap();
    }
    fs::copy(path.join("a.csv"), path.join("g.checkpoint")).unwrap();
    fs::copy(path.join("g.st"), path.join("model.rs")).unwrap();
    fs::copy(path.join("a.csv"), path.join("points.csv")).unwrap();

    for args in [
        "embed g.st a.csv -o g.st",
        "embed g.st a.csv -o a.csv",
        "embed g.st a.csv -o ./s/../a.csv",
        "fit a.csv -o a.csv",
        "fit g.checkpoint -o g",
        "fit docword.a.txt -o vocab.a.txt",
        "fit a.csv --stop-words s.txt -o s.txt",
        "fit a.csv --model dual-wing --features-from f.csv --feature-columns x -o f.csv",
        "fit a.csv --model dual-wing --features-from f.csv --feature-columns x -o o.st --trace f.csv",
        "fit a.csv --model harmonium -o o.st --trace a.csv",
        "crossval a.csv --folds 2 --output a.csv",
        "sweep s/results.csv --folds 2 --try grid=4x4,5x5 -o s",
        "map s/map.html -o s",
        "map points.csv --model zip-gtm -o .",
        "firmware model.rs -o .",
    ] {
        let args: Vec<_> = args.split(' ').collect();
        let message = refused(path, &args);
        assert!(message.contains(", which is read\n"), "{args:?}\n{message}");
    }
}

#[test]
fn outputs_are_different_files() {
    let folder = folder();
    for trace in ["o.st", "./o.st", "o.st.checkpoint"] {
        let args = ["fit", "a.csv", "--model", "harmonium", "-o", "o.st", "--trace", trace];
        assert!(refused(folder.path(), &args).contains(", which is written too\n"));
    }
}

/// A file with two names is one file.
#[cfg(unix)]
#[test]
fn links_are_seen_through() {
    let folder = folder();
    let path = folder.path();
    fs::hard_link(path.join("a.csv"), path.join("hard.csv")).unwrap();
    std::os::unix::fs::symlink("a.csv", path.join("soft.csv")).unwrap();
    fs::create_dir(path.join("there")).unwrap();
    std::os::unix::fs::symlink("there", path.join("here")).unwrap();
    fs::hard_link(path.join("a.csv"), path.join("there/a.csv")).unwrap();
    for output in ["hard.csv", "soft.csv", "here/a.csv"] {
        refused(path, &["fit", "a.csv", "-o", output]);
    }
    // Two names of a file that is not there yet.
    let args = ["fit", "a.csv", "--model", "harmonium", "-o", "here/o.st", "--trace", "there/o.st"];
    assert!(refused(path, &args).contains("which is written too"));
}

/// What cannot be overwritten may be named as often as one likes, and a folder may get its own map.
#[test]
fn devices_and_folders_are_no_matter() {
    let folder = folder();
    let args =
        ["fit", "a.csv", "--model", "harmonium", "--epochs", "2", "-o", "/dev/null", "--trace", "/dev/null"];
    stdout(folder.path(), &args);
    let texts = folder.path().join("texts");
    common::write_folder(&texts);
    for _ in 0..2 {
        stdout(folder.path(), &[&["map", "texts", "-o", "texts", "--quiet"], &SMALL[..]].concat());
    }
}
