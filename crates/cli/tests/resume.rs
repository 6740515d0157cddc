//! A run that was killed goes on from its checkpoint, to the same bytes.

use crate::common;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{countgrid, csv, run, stdout};

/// Runs a command until it has written checkpoints for a moment, kills it, resumes it, and compares the model, and what
/// is written beside it, with those of a run that nothing cut off.
fn resumed(args: &[&str], output: &str, files: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let whole = [args, &["-o", "whole"]].concat();
    stdout(folder, &whole);

    let cut = [args, &["-o", "cut", "--checkpoint", "0"]].concat();
    let checkpoint = folder.join(format!("{}.checkpoint", output.replace("OUT", "cut")));
    let mut child = countgrid(folder, &cut).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while !checkpoint.exists() {
        assert!(child.try_wait().unwrap().is_none(), "{args:?}: it ended before it was killed");
        assert!(started.elapsed() < Duration::from_secs(120), "{args:?}: no checkpoint");
        sleep(Duration::from_millis(2));
    }
    sleep(Duration::from_millis(30)); // so that it is not always the first
    assert!(Command::new("kill").args(["-KILL", &child.id().to_string()]).status().unwrap().success());
    assert!(!child.wait().unwrap().success(), "{args:?}: it ended before it was killed");
    let model = |name: &str| folder.join(output.replace("OUT", name));
    assert!(!model("cut").exists() && checkpoint.exists(), "{args:?}");

    let other = [&cut[..], &["--resume", "--seed", "77"]].concat();
    refused(folder, &other, &[&format!("{}: ", output.replace("OUT", "cut") + ".checkpoint"), "seed"]);
    stdout(folder, &[&cut[..], &["--resume"]].concat());
    assert!(!checkpoint.exists(), "{args:?}: the checkpoint of a run that is over is gone");
    for file in files {
        let of = |name: &str| fs::read(folder.join(file.replace("OUT", name))).unwrap();
        assert!(of("whole") == of("cut"), "{args:?}: {file} differs");
    }
}

#[test]
fn a_grid_that_was_killed_is_resumed() {
    let fit =
        ["fit", "made.csv", "--grid", "40x40", "--iterations", "150", "--tolerance", "0", "--restarts", "2"];
    resumed(&fit, "OUT", &["OUT"]);
    let annealed = [&fit[..7], &["0", "--anneal", "0.1", "--anneal-iterations", "120"]].concat();
    resumed(&annealed, "OUT", &["OUT"]);
    let stepwise = [&fit[..7], &["0", "--batch", "7", "--passes", "40", "--stream"]].concat();
    resumed(&stepwise, "OUT", &["OUT"]);
    let componential =
        [&fit[..7], &["0", "--model", "componential", "--componential-iterations", "60"]].concat();
    resumed(&componential, "OUT", &["OUT"]);
}

#[test]
fn a_map_that_was_killed_is_resumed() {
    let map = ["map", "made.csv", "--grid", "40x40", "--iterations", "150", "--tolerance", "0"];
    resumed(&map, "OUT/model.safetensors", &["OUT/model.safetensors", "OUT/map.html"]);
    let points = [
        "map",
        "made.csv",
        "--model",
        "zip-gtm",
        "--iterations",
        "200",
        "--tolerance",
        "0",
        "--points",
        "9x8",
    ];
    resumed(&points, "OUT/model.safetensors", &["OUT/model.safetensors", "OUT/map.html", "OUT/points.csv"]);
}

#[test]
fn a_harmonium_that_was_killed_is_resumed() {
    let fit = ["fit", "made.csv", "--model", "harmonium", "--topics", "4", "--epochs", "300"];
    resumed(&fit, "OUT", &["OUT"]);
    let langevin =
        [&fit[..6], &["--epochs", "5", "--method", "langevin", "--chains", "2", "--draws", "400"]].concat();
    resumed(&langevin, "OUT", &["OUT"]);
}

fn refused(folder: &Path, args: &[&str], parts: &[&str]) {
    let output = run(folder, args);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    for part in parts.iter().chain(&["remedy: "]) {
        assert!(message.contains(part), "{args:?}: `{part}` is not in: {message}");
    }
}

#[test]
fn what_is_no_checkpoint_of_the_same_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let fit = ["fit", "made.csv", "--grid", "8x8", "--iterations", "3", "-o", "model", "--resume"];
    refused(folder, &fit, &["model.checkpoint: there is no checkpoint"]);
    stdout(folder, &fit[..8]);
    fs::copy(folder.join("model"), folder.join("model.checkpoint")).unwrap();
    refused(folder, &fit, &["not a checkpoint"]);
    fs::write(folder.join("model.checkpoint"), "from last time").unwrap();
    refused(folder, &fit, &["model.checkpoint"]);
}
