//! Ctrl-C: once to keep what there is, twice to leave at once.
#![cfg(unix)]

mod common;

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    time::Duration,
};

use common::{contents, countgrid, csv, stdout};

/// Begins a map and waits until its fit is under way.
fn begin(folder: &std::path::Path, args: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let endless = ["map", "made.csv", "--iterations", "100000000", "--tolerance", "0"];
    let mut child = countgrid(folder, &[&endless[..], args].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    assert!(line.contains("iteration 0"), "{line}");
    (child, printed)
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

/// Ends a fit by one signal; what it then says on standard output.
fn ended((child, mut printed): (Child, BufReader<std::process::ChildStderr>)) -> String {
    interrupt(&child);
    let mut rest = String::new();
    printed.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{rest}");
    assert!(rest.contains("ending after this iteration"), "{rest}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn once_writes_what_there_is() {
    for schedule in ["single", "coarse-to-fine"] {
        let folder = tempfile::tempdir().unwrap();
        let report = ended(begin(folder.path(), &["--grid", "20x20", "--schedule", schedule]));
        assert!(report.contains("(stopped)") && report.contains("map.html"), "{report}");
        let info = stdout(folder.path(), &["info", "model.safetensors"]);
        assert!(info.contains("20x20") && info.contains("stopped"), "{info}");
        assert_eq!(contents(folder.path()).len(), 3); // the data, the page, the model
    }
}

#[test]
fn once_writes_a_topographic_map_too() {
    let folder = tempfile::tempdir().unwrap();
    let report = ended(begin(folder.path(), &["--model", "poisson-gtm"]));
    assert!(report.contains("(stopped)") && report.contains("points.csv"), "{report}");
    assert_eq!(contents(folder.path()).len(), 6); // the data and what is written
}

#[test]
fn twice_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // One iteration must take longer than the second signal needs.
    let (child, mut printed) = begin(folder.path(), &["--grid", "1000x1000", "--schedule", "single"]);
    interrupt(&child);
    let mut line = String::new();
    while !line.contains("ending after") {
        line.clear();
        assert!(printed.read_line(&mut line).unwrap() > 0, "the signal was not heard");
    }
    interrupt(&child);
    let mut child = child;
    for _ in 0..300 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(contents(folder.path()).len(), 1); // the data
}
