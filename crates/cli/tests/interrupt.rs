//! Ctrl-C: once to keep what there is, twice to leave at once.

use crate::common;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::Duration,
};

use common::{contents, countgrid, csv, results, stdout};

/// A run that answers to signals, whether or not the tests do: what begins in the background of a shell ignores Ctrl-C.
fn signalled(folder: &std::path::Path, args: &[&str]) -> Command {
    if !cfg!(target_os = "linux") {
        return countgrid(folder, args);
    }
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_countgrid")]);
    command.current_dir(folder).args(args);
    command
}

/// Begins a map and waits until its fit is under way.
fn begin(folder: &std::path::Path, args: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    let endless = ["map", "made.csv", "--iterations", "100000000", "--tolerance", "0"];
    let mut child = signalled(folder, &[&endless[..], args].concat())
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
    assert_eq!(output.status.code(), Some(130), "{rest}");
    assert!(rest.contains("ending at the next block of documents"), "{rest}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn once_writes_what_there_is() {
    for schedule in ["single", "coarse-to-fine"] {
        let folder = tempfile::tempdir().unwrap();
        let report = ended(begin(folder.path(), &["--grid", "40x40", "--schedule", schedule]));
        assert!(report.contains("(stopped)") && report.contains("map.html"), "{report}");
        let info = stdout(folder.path(), &["info", "model.safetensors"]);
        assert!(info.contains("40x40") && info.contains("stopped"), "{info}");
        assert_eq!(contents(folder.path()).len(), 8); // the data, the page, two pictures, places, the model, options, the checkpoint
        assert!(report.contains("--resume goes on from model.safetensors.checkpoint"), "{report}");

        // It goes on from the iteration after, and is interrupted again.
        let told = |report: &str| -> usize {
            let line = report.lines().find(|line| line.contains("stopped after ")).unwrap();
            line.split("stopped after ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
        };
        let endless = ["--iterations", "100000000", "--tolerance", "0", "--json", "--resume"];
        let mut child = signalled(
            folder.path(),
            &[&["map", "made.csv", "--grid", "40x40", "--schedule", schedule][..], &endless].concat(),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        let mut events = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("\"event\":\"iteration\"") {
            line.clear();
            assert!(events.read_line(&mut line).unwrap() > 0);
        }
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        // Iteration 10 is the last on each coarse grid; the next begins at 0.
        let follows = event["iteration"] == told(&report) + 1;
        let refines = schedule == "coarse-to-fine" && told(&report) == 10 && event["grid"] != "10x10";
        assert!(follows || refines && event["iteration"] == 0, "{report}{line}");
        interrupt(&child);
        let mut rest = String::new();
        events.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(rest.contains("map.html"), "{rest}");
    }
}

#[test]
fn an_interrupted_fit_goes_on_to_the_files_of_one_that_was_not() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    // The signal comes after the first of them.
    let args = ["map", "made.csv", "--grid", "60x60", "--iterations", "500", "--tolerance", "0"];
    let mut child = signalled(folder.path(), &[&args[..], &["-o", "x"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(child.stderr.take().unwrap());
    printed.read_line(&mut String::new()).unwrap();
    interrupt(&child);
    let mut rest = String::new();
    printed.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    // The same options, as the run that was interrupted has written them.
    fs::rename(folder.path().join("x/run.toml"), folder.path().join("o.toml")).unwrap();
    stdout(folder.path(), &["map", "--config", "o.toml", "--resume", "--quiet"]);
    stdout(folder.path(), &[&args[..], &["-o", "y", "--quiet"]].concat());
    let [x, y] = ["x", "y"].map(|name| results(&folder.path().join(name)));
    assert!(x.into_values().eq(y.into_values()));
}

/// Begins a run that reads a table from a pipe, which stays open, and ends it once it has read some of it.
fn ended_while_reading(folder: &std::path::Path, args: &[&str], signal: &str) -> String {
    let mut child = signalled(folder, args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut table = child.stdin.take().unwrap();
    use std::fmt::Write as _;
    let mut rows = String::from("id,label,text\n");
    for row in 0..8000 {
        writeln!(rows, "{row},{},red ants and blue bees number {row}", ["a", "b"][row % 2]).unwrap();
    }
    table.write_all(rows.as_bytes()).unwrap(); // several times what a pipe holds: the run is reading
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{args:?}: {said}");
    drop(table);
    said
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_reads_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), csv(',')).unwrap();
    let small = ["--grid", "4x4", "--window", "2x2", "--iterations", "2", "--quiet"];
    stdout(folder.path(), &[&["fit", "a.csv", "-o", "g.st"][..], &small].concat());
    let before = contents(folder.path());
    for args in [
        &["fit", "/dev/stdin", "-o", "m.st"][..],
        &["fit", "/dev/stdin", "-o", "m.st", "--stream"],
        &["fit", "/dev/stdin", "-o", "m.st", "--model", "harmonium"],
        &["map", "/dev/stdin", "-o", "m"],
        &["map", "/dev/stdin", "-o", "m", "--model", "zip-gtm"],
        &["crossval", "/dev/stdin", "-o", "m.csv"],
        &["crossval", "/dev/stdin", "-o", "m.csv", "--model", "hmm", "--text-column", "text"],
        &["sweep", "/dev/stdin", "--try", "topics=2,3", "-o", "m"],
        &["embed", "g.st", "/dev/stdin", "-o", "m.csv"],
    ] {
        for signal in ["-INT", "-TERM"] {
            let said = ended_while_reading(folder.path(), args, signal);
            assert!(said.contains("interrupted"), "{args:?}: {said}");
        }
        assert!(contents(folder.path()) == before, "{args:?}");
    }
}

#[test]
fn once_writes_a_topographic_map_too() {
    let folder = tempfile::tempdir().unwrap();
    let report = ended(begin(folder.path(), &["--model", "poisson-gtm"]));
    assert!(report.contains("(stopped)") && report.contains("points.csv"), "{report}");
    assert_eq!(contents(folder.path()).len(), 8); // the data, what is written, the checkpoint
}

#[test]
fn twice_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // One iteration must take longer than the second signal needs.
    let (child, mut printed) = begin(folder.path(), &["--grid", "400x400", "--schedule", "single"]);
    interrupt(&child);
    let mut line = String::new();
    while !line.contains("ending at") {
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
    let left = contents(folder.path());
    let results = left.keys().filter(|path| !path.to_string_lossy().contains(".checkpoint"));
    assert_eq!(results.count(), 1, "{:?}", left.keys()); // the data
}

/// Begins an evaluation whose fits do not end by themselves, ends it by one signal, and returns what it said.
fn evaluation_ended(folder: &std::path::Path, args: &[&str]) -> String {
    // On a small grid the bound soon is a fixed point, at which a fit ends whatever its tolerance.
    let endless =
        ["--folds", "2", "--grid", "200x200", "--iterations", "100000000", "--tolerance", "0", "--json"];
    let mut child = signalled(folder, &[args, &endless[..]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("\"event\":\"words\"") {
        assert!(events.read_line(&mut said).unwrap() > 0, "{said}");
    }
    // The first fit begins; a signal before it does ends the run as well.
    std::thread::sleep(Duration::from_millis(500));
    interrupt(&child);
    events.read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    said
}

#[test]
fn evaluations_keep_earlier_results() {
    for model in ["grid", "lda", "mixture"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
        fs::write(folder.path().join("found.csv"), "from last time").unwrap();
        evaluation_ended(folder.path(), &["crossval", "made.csv", "-o", "found.csv", "--model", model]);
        assert_eq!(fs::read_to_string(folder.path().join("found.csv")).unwrap(), "from last time");
        evaluation_ended(folder.path(), &["crossval", "made.csv", "-o", "new.csv", "--model", model]);
        assert!(!folder.path().join("new.csv").exists()); // of no prediction
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    evaluation_ended(folder.path(), &["sweep", "made.csv", "--try", "topics=2,3"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let program = env!("CARGO_BIN_EXE_countgrid");
    let command = format!(
        "trap '' HUP; exec {program} map made.csv --grid 60x60 --schedule single --iterations 100000000 --tolerance 0"
    );
    let mut child = Command::new("env")
        .args(["--default-signal=INT,TERM,HUP", "bash", "-c", &command])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
    // It goes on: it still says how far it is, and nothing of an end.
    for _ in 0..3 {
        line.clear();
        assert!(printed.read_line(&mut line).unwrap() > 0);
        assert!(line.trim().is_empty() || line.contains("iteration "), "{line}");
        assert!(!line.contains("ending"), "{line}");
    }
    ended((child, printed));
}
