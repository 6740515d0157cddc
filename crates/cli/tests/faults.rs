//! Each system call of a run fails once, and disks are full at every size: a message that names the file, the files of
//! last time byte for byte, and none half written.
//!
//! `CAMPAIGN_FULL=1` has every call with both errors, and every size:
//!
//!     CAMPAIGN_FULL=1 cargo test -p countgrid-cli --test all faults:: -- --include-ignored --nocapture

use crate::common;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use common::{contents, countgrid, made, setting, stdout};
use serde_json::Value;

/// A command with what it writes; of `before` the files of last time, of `again` those of a run that nothing stops.
struct Case {
    name: &'static str,
    before: Vec<&'static str>,
    again: Vec<&'static str>,
    outputs: &'static [&'static str],
}

const GRID: [&str; 8] = ["--window", "2x2", "--iterations", "3", "--threads", "1", "--quiet", "--grid"];

fn cases() -> Vec<Case> {
    let case = |name, common: &[&'static str], before: &[&'static str], again: &[&'static str], outputs| {
        let [before, again] = [before, again].map(|own| [common, own].concat());
        Case { name, before, again, outputs }
    };
    let fit = [&["fit", "a.csv", "-o", "out/model"], &GRID[..]].concat();
    let map = [&["map", "a.csv", "-o", "out"], &GRID[..]].concat();
    let points = [
        "map",
        "a.csv",
        "-o",
        "out",
        "--model",
        "zip-gtm",
        "--points",
        "4x4",
        "--basis-functions",
        "2x2",
        "--threads",
        "1",
        "--quiet",
        "--iterations",
    ];
    let harmonium = [
        "fit",
        "a.csv",
        "-o",
        "out/model",
        "--model",
        "harmonium",
        "--topics",
        "2",
        "--trace",
        "out/trace.csv",
        "--quiet",
        "--epochs",
    ];
    let crossval = [&["crossval", "a.csv", "-o", "out/table.csv", "--folds", "2"], &GRID[..]].concat();
    let sweep =
        [&["sweep", "a.csv", "-o", "out", "--folds", "2"], &GRID[..6], &["--quiet", "--try"]].concat();
    let embed = ["embed", "grid.st", "-o", "out/table.csv", "--quiet"];
    let evaluate = ["evaluate", "grid.st", "-o", "out/measures.json", "--threads", "1", "--quiet"];
    let compare = ["compare", "-o", "out", "--threads", "1", "--quiet", "grid.st", "grid.st"];
    let firmware = ["firmware", "grid.st", "-o", "out", "--quiet"];
    vec![
        case("fit", &fit, &["3x3"], &["4x4"], &["model"]),
        case("fit, streamed", &fit, &["3x3"], &["4x4", "--stream", "--block-entries", "16"], &["model"]),
        case("fit, checkpoints", &fit, &["3x3"], &["4x4", "--checkpoint", "0"], &["model"]),
        case("fit, harmonium", &harmonium, &["2"], &["3"], &["model", "trace.csv"]),
        case(
            "map",
            &map,
            &["3x3"],
            &["4x4"],
            &["map.html", "model.safetensors", "places.csv", "map.svg", "map.png", "run.toml"],
        ),
        case(
            "map, points",
            &points,
            &["2"],
            &["3"],
            &["map.html", "model.safetensors", "points.csv", "map.svg", "map.png", "run.toml"],
        ),
        case("embed", &embed, &["b.csv"], &["a.csv"], &["table.csv"]),
        case("crossval", &crossval, &["3x3"], &["4x4", "--repeats", "2"], &["table.csv"]),
        case(
            "sweep",
            &sweep,
            &["grid=3x3"],
            &["grid=3x3,4x4"],
            &["results.json", "results.csv", "accuracy.svg", "accuracy.png", "run.toml"],
        ),
        case("evaluate", &evaluate, &["b.csv"], &["a.csv"], &["measures.json"]),
        case(
            "compare",
            &compare,
            &["b.csv"],
            &["a.csv"],
            &["comparison.json", "comparison.csv", "comparison.svg", "comparison.png"],
        ),
        case("firmware", &firmware, &["--table", "8"], &["--table", "16"], &["model.rs", "model.bin"]),
    ]
}

/// The outputs of a case, without what differs from run to run: seconds.
type Outputs = BTreeMap<&'static str, Option<Vec<u8>>>;

fn outputs(folder: &Path, case: &Case) -> Outputs {
    let read = |&name: &&'static str| {
        let bytes = fs::read(folder.join("out").join(name)).ok();
        (name, bytes.map(|bytes| if case.name == "sweep" { without_seconds(name, bytes) } else { bytes }))
    };
    case.outputs.iter().map(read).collect()
}

fn without_seconds(name: &str, bytes: Vec<u8>) -> Vec<u8> {
    match name {
        "results.json" => {
            let mut value: Value = serde_json::from_slice(&bytes).expect("results are JSON as a whole");
            for row in value["results"].as_array_mut().unwrap() {
                row["seconds"] = Value::Null;
            }
            value.to_string().into_bytes()
        }
        "results.csv" => {
            let rows = common::table(&String::from_utf8(bytes).unwrap());
            let rows: Vec<_> = rows.into_iter().map(|mut row| (row.remove("seconds"), row).1).collect();
            format!("{rows:?}").into_bytes()
        }
        _ => bytes,
    }
}

/// A folder with inputs, the files of last time, and what a whole run makes of them.
struct Stage {
    folder: tempfile::TempDir,
    start: BTreeMap<PathBuf, Vec<u8>>,
    old: Outputs,
    new: Outputs,
}

impl Stage {
    fn new(case: &Case) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for (name, step) in [("a.csv", 6), ("b.csv", 9)] {
            let rows: Vec<String> =
                made().iter().step_by(step).map(|m| format!("{},{},{}\n", m.id, m.label, m.text)).collect();
            fs::write(path.join(name), format!("id,label,text\n{}", rows.concat())).unwrap();
        }
        stdout(path, &[&["fit", "a.csv", "-o", "grid.st"], &GRID[..], &["3x3"]].concat());
        for name in ["out", "tmp"] {
            fs::create_dir(path.join(name)).unwrap();
        }
        stdout(path, &case.before);
        let (start, old) = (contents(path), outputs(path, case));
        let whole = countgrid(path, &case.again).env("TMPDIR", path.join("tmp")).output().unwrap();
        assert!(whole.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&whole.stderr));
        let new = outputs(path, case);
        assert!(case.outputs.iter().all(|name| old[name].is_some() && new[name].is_some()), "{}", case.name);
        assert!(old != new, "{}: the two runs are to differ", case.name);
        let stage = Self { folder, start, old, new };
        stage.reset();
        stage
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// As it was before the run.
    fn reset(&self) {
        for name in ["out", "tmp"] {
            fs::remove_dir_all(self.path().join(name)).unwrap();
            fs::create_dir(self.path().join(name)).unwrap();
        }
        for (path, bytes) in self.start.iter().filter(|(path, _)| !path.is_dir()) {
            fs::write(path, bytes).unwrap();
        }
    }

    /// Goes on from what a killed run has left, in a copy, and checks that the same files come out as of a run that nothing
    /// stopped.
    fn run_again(&self, case: &Case, what: &str) {
        let copy = tempfile::tempdir().unwrap();
        let done = Command::new("cp").arg("-r").arg(self.path().join(".")).arg(copy.path()).status().unwrap();
        assert!(done.success());
        let resume = copy.path().join("out/model.checkpoint").exists() && case.name == "fit, checkpoints";
        let args = [&case.again[..], if resume { &["--resume"] } else { &[] }].concat();
        let output = countgrid(copy.path(), &args).env("TMPDIR", copy.path().join("tmp")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}, {what}, and run again: {said}", case.name);
        assert!(outputs(copy.path(), case) == self.new, "{}, {what}, and run again: other files", case.name);
        let left = self.left_over(case, copy.path());
        assert!(left.is_empty(), "{}, {what}, and run again: {left:?} are left", case.name);
    }

    /// Files that are neither inputs nor outputs, by name. A checkpoint of before the fault is to stay, and is whole.
    fn left_over(&self, case: &Case, folder: &Path) -> Vec<String> {
        let all = contents(folder).into_keys();
        let known = |path: &PathBuf| {
            path.strip_prefix(folder).is_ok_and(|own| self.start.contains_key(&self.path().join(own)))
                || case.outputs.iter().any(|name| path.ends_with(Path::new("out").join(name)))
                || path.ends_with("out/model.checkpoint") && countgrid_io::load(path).is_ok()
        };
        all.filter(|path| !known(path)).map(|path| path.display().to_string()).collect()
    }
}

/// What the runs came to.
#[derive(Default)]
struct Tally {
    runs: usize,
    /// The fault did not matter: the files are those of a whole run.
    done: usize,
    refused: usize,
    /// Refused with some of several files new, each of them whole.
    mixed: BTreeMap<String, usize>,
    killed: usize,
    left: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Tally {
    /// Checks what a run has left. `remains` says whether files may remain, where removing fails or the run is killed.
    fn check(&mut self, case: &Case, stage: &Stage, what: &str, output: &Output, remains: bool) {
        self.runs += 1;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let found = outputs(stage.path(), case);
        let wrong = |problem: &str| Some(format!("{}, {what}: {problem}: {said}", case.name));
        let torn =
            found.iter().find(|(name, bytes)| **bytes != stage.old[**name] && **bytes != stage.new[**name]);
        let left = stage.left_over(case, stage.path());
        let signal = output.status.signal();
        let problem = match (torn, output.status.code()) {
            (Some((name, _)), _) => wrong(&format!("{name} is neither of last time nor whole")),
            (None, Some(0)) => {
                self.done += 1;
                if found != stage.new { wrong("ended well with other files") } else { None }
            }
            (None, Some(2)) => {
                self.refused += 1;
                let named = ["out", "tmp", "a.csv", "grid.st"].iter().any(|name| said.contains(name));
                if found != stage.old {
                    *self
                        .mixed
                        .entry(format!("{}, {}", case.name, what.split(' ').next().unwrap()))
                        .or_default() += 1;
                }
                match () {
                    _ if !said.starts_with("error: ") || !said.contains("remedy: ") => wrong("no message"),
                    _ if !named => wrong("the file is not named"),
                    _ if case.outputs.len() == 1 && found != stage.old => {
                        wrong("refused, and the file is new")
                    }
                    _ if !left.is_empty() && !remains => wrong(&format!("{left:?} are left")),
                    _ => None,
                }
            }
            (None, Some(137)) if remains => {
                self.killed += 1; // before a call; `run_again` has gone on from what was there
                None
            }
            (None, None) if signal == Some(25) && remains => {
                self.killed += 1; // SIGXFSZ, which was not ignored
                None
            }
            (None, code) => wrong(&format!("exit status {code:?}, signal {signal:?}")),
        };
        if !left.is_empty() {
            *self.left.entry(what.split(' ').next().unwrap().to_owned()).or_default() += left.len();
        }
        self.wrong.extend(problem);
        stage.reset();
    }

    fn end(self, name: &str) {
        println!(
            "{name}: {} runs, {} refused, {} as if nothing were, {} killed by the signal, {} wrong; files left over {:?}; \
             old and new files together {:?}",
            self.runs,
            self.refused,
            self.done,
            self.killed,
            self.wrong.len(),
            self.left,
            self.mixed,
        );
        assert!(self.wrong.is_empty(), "{}:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}

fn full() -> bool {
    setting("CAMPAIGN_FULL", 0) > 0
}

/// Compiles the program that makes system calls fail; `None`, said aloud, where that or tracing is not possible.
fn injector(folder: &Path) -> Option<PathBuf> {
    let (source, program) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/inject.c"), folder.join("inject"));
    let compiled = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).output();
    match compiled {
        Ok(output) if output.status.success() => {}
        other => {
            println!("SKIPPED: no C compiler that works: {other:?}");
            return None;
        }
    }
    let tried = Command::new(&program)
        .args(["write", "0", "0", "/nowhere", "/nowhere", "/bin/true"])
        .status()
        .unwrap();
    if tried.success() {
        return Some(program);
    }
    println!("SKIPPED: processes cannot be traced here: {tried}");
    None
}

#[test]
fn every_call_of_a_fit_fails_once() {
    calls_fail("a fit", |name| name == "fit, checkpoints");
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn every_call_of_every_command_fails_once() {
    calls_fail("every command", |_| true);
}

fn calls_fail(what: &str, of: impl Fn(&str) -> bool) {
    const ENOSPC: &str = "28";
    const EIO: &str = "5";
    const KILLED: &str = "0";
    // Of the errors the first alone in the short form; killed before each call in both.
    const KINDS: [(&str, &[&str]); 9] = [
        ("write", &[KILLED, ENOSPC, EIO]),
        ("sync", &[KILLED, ENOSPC, EIO]),
        ("rename", &[KILLED, ENOSPC, EIO]),
        ("create", &[ENOSPC, EIO, KILLED]),
        ("resize", &[ENOSPC, EIO]),
        ("chmod", &[EIO]),
        ("mkdir", &[ENOSPC, EIO]),
        ("read", &[EIO]),
        ("remove", &[KILLED, EIO]),
    ];
    let tools = tempfile::tempdir().unwrap();
    let Some(injector) = injector(tools.path()) else { return };
    let mut tally = Tally::default();
    let fired = tools.path().join("fired");
    for case in cases().into_iter().filter(|case| of(case.name)) {
        let stage = Stage::new(&case);
        for (kind, errors) in KINDS {
            let killed = full() || ["fit, checkpoints", "map", "sweep"].contains(&case.name);
            let errors = errors.iter().filter(|&&error| killed || error != KILLED);
            for error in errors.take(if full() { 3 } else { 1 + usize::from(killed) }) {
                let mut call = 1;
                loop {
                    let _not_yet = fs::remove_file(&fired);
                    let output = Command::new(&injector)
                        .args([kind, &call.to_string(), error])
                        .args([stage.path(), &fired])
                        .arg(env!("CARGO_BIN_EXE_countgrid"))
                        .args(&case.again)
                        .current_dir(stage.path())
                        .env("TMPDIR", stage.path().join("tmp"))
                        .output()
                        .unwrap();
                    if !fired.exists() {
                        assert!(output.status.success(), "{} {kind} {call}", case.name);
                        stage.reset();
                        break;
                    }
                    let what = format!("{kind} {call} fails with {error}");
                    if *error == KILLED {
                        stage.run_again(&case, &what);
                    }
                    tally.check(&case, &stage, &what, &output, kind == "remove" || *error == KILLED);
                    // Of very many calls, each of the first and some of the others.
                    call += if full() || call < 12 { 1 } else { call / 3 };
                }
            }
        }
    }
    let refused = tally.refused;
    tally.end(&format!("calls that fail, {what}"));
    assert!(refused > 40, "{refused} faults were seen");
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn files_have_a_largest_size() {
    let mut tally = Tally::default();
    for case in cases() {
        let stage = Stage::new(&case);
        let largest = stage.new.values().flatten().map(Vec::len).max().unwrap() / 1024 + 2;
        let mut size = 0;
        while size <= largest {
            // As a signal that ends the program, and as an error.
            for (ignored, trap) in [(false, ""), (true, "trap '' XFSZ; ")] {
                let command = format!("ulimit -c 0; {trap}ulimit -f {size}; exec \"$@\"");
                let output = Command::new("bash")
                    .args(["-c", &command, "bash", env!("CARGO_BIN_EXE_countgrid")])
                    .args(&case.again)
                    .current_dir(stage.path())
                    .env("TMPDIR", stage.path().join("tmp"))
                    .output()
                    .unwrap();
                tally.check(&case, &stage, &format!("largest-size of {size} KiB"), &output, !ignored);
            }
            size += if full() { 1 } else { size / 2 + 1 };
        }
    }
    tally.end("a largest size of files");
}

/// In a namespace of its own, so that nothing stays mounted.
#[test]
fn disks_are_full() {
    let mount = |options: &str, inner: &str| {
        Command::new("unshare")
            .args([
                "--mount",
                "--map-root-user",
                "bash",
                "-c",
                &format!("mount -t tmpfs -o {options} && {inner}"),
            ])
            .output()
    };
    match mount("size=16k none /mnt", "true") {
        Ok(output) if output.status.success() => {}
        other => {
            println!("SKIPPED: no file system can be mounted: {other:?}");
            return;
        }
    }
    let mut tally = Tally::default();
    for case in cases() {
        let stage = Stage::new(&case);
        let (outer, out) = (stage.path().display(), stage.path().join("out"));
        let sum = |files: &Outputs| files.values().flatten().map(|file| file.len() / 4096 + 1).sum::<usize>();
        // From the files of last time alone to both and some more.
        let (least, most) = (sum(&stage.old) + 2, sum(&stage.old) + sum(&stage.new) + 8);
        let mut pages = least;
        while pages <= most {
            // What is on the small disk is copied from and to the ordinary folder, and temporary files are on it.
            let command = format!(
                "cp -r {out}/. /mnt && mkdir /mnt/.tmp && mount --bind /mnt {out} && cd {outer} || exit 99
                 TMPDIR={out}/.tmp {} {}
                 code=$?
                 umount {out} && rm -r {out}/* && cp -r /mnt/. {out} && rm -r {out}/.tmp || exit 99
                 exit $code",
                env!("CARGO_BIN_EXE_countgrid"),
                case.again.join(" "),
                out = out.display(),
            );
            let output = mount(&format!("size={} none /mnt", pages * 4096), &command).unwrap();
            tally.check(&case, &stage, &format!("full-disk of {pages} pages"), &output, false);
            pages += if full() { 1 } else { (most - least) / 4 + 1 };
        }
    }
    tally.end("full disks");
}
