//! No output is an input or another output, for any command: the run ends with a message, and every file is as it was.

use crate::common;

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

/// A table that cannot be written is found before the model of the same run has its name.
#[cfg(target_os = "linux")]
#[test]
fn a_model_is_not_written_without_its_trace() {
    let folder = folder();
    let before = contents(folder.path());
    let args =
        ["fit", "a.csv", "--model", "harmonium", "--epochs", "2", "-o", "o.st", "--trace", "/dev/full"];
    let output = run(folder.path(), &args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("/dev/full: cannot be written: ") && message.contains("remedy: "), "{message}");
    assert!(contents(folder.path()) == before);
}

/// A page says of which model it is, and `info` what a model is called: by the checksum of its bytes.
#[test]
fn a_page_is_told_from_that_of_another_model() {
    let folder = folder();
    let path = folder.path();
    let maps = [
        &["map", "a.csv", "-o", "x", "--seed", "1", "--quiet"][..],
        &["map", "a.csv", "-o", "y", "--seed", "2", "--quiet"],
        &["map", "a.csv", "-o", "z", "--seed", "1", "--quiet"],
    ];
    let checksums = maps.map(|args| {
        stdout(path, &[args, &SMALL[..]].concat());
        let model = format!("{}/model.safetensors", args[3]);
        let info: serde_json::Value =
            serde_json::from_str(&stdout(path, &["info", &model, "--json"])).unwrap();
        let checksum = info["checksum"].as_str().unwrap().to_owned();
        assert!(stdout(path, &["info", &model]).contains(&format!("checksum         {checksum}\n")));
        let page = fs::read_to_string(path.join(args[3]).join("map.html")).unwrap();
        assert!(page.contains(&format!("[\"Model\",\"{checksum}\"]")), "{checksum}");
        checksum
    });
    assert_ne!(checksums[0], checksums[1]);
    assert_eq!(checksums[0], checksums[2]); // the same options, the same bytes
    stdout(path, &["map", "a.csv", "-o", "t", "--model", "poisson-gtm", "--iterations", "2", "--quiet"]);
    let info = stdout(path, &["info", "t/model.safetensors"]);
    let checksum = info.lines().find_map(|line| line.strip_prefix("checksum")).unwrap().trim();
    let page = fs::read_to_string(path.join("t/map.html")).unwrap();
    assert!(page.contains(&format!("[\"Model\",\"{checksum}\"]")), "{info}");
}

/// What a run that was killed has left is removed by the next; a limit on the size of files is an error like a full disk.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_behind() {
    let folder = folder();
    let path = folder.path();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let dead = child.id();
    child.wait().unwrap();
    let before = contents(path);
    let left = path.join(format!(".o.st.countgrid-{dead}-aB3xY9.tmp"));
    fs::write(&left, "half of a model").unwrap();
    let program = env!("CARGO_BIN_EXE_countgrid");
    // A kilobyte: less than any model.
    let command = format!("ulimit -f 1; exec {program} fit a.csv -o o.st {}", SMALL.join(" "));
    let output =
        std::process::Command::new("bash").args(["-c", &command]).current_dir(path).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("o.st: cannot be written: "), "{message}");
    assert!(contents(path) == before, "{:?}", contents(path).keys());
}
