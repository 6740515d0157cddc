//! Runs that are killed at any moment and begun again: files are those of last time or whole, a run that is resumed ends with
//! the bytes of one that nothing stopped, and what killed runs left is gone.
//!
//! `CAMPAIGN_CASES` sets how many kills of each command, `CAMPAIGN_SEED` their moments:
//!
//!     CAMPAIGN_CASES=200 CAMPAIGN_SEED=7 cargo test -p countgrid-cli --test all kills:: -- --nocapture

use crate::common;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{contents, countgrid, csv, setting, stdout};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use serde_json::Value;

/// A command, its options for last time and for this one, what it writes, and its checkpoint.
struct Case {
    name: &'static str,
    args: Vec<&'static str>,
    before: &'static [&'static str],
    again: &'static [&'static str],
    outputs: &'static [&'static str],
    checkpoint: Option<&'static str>,
}

const LONG: [&str; 6] = ["--window", "2x2", "--tolerance", "0", "--quiet", "--iterations"];

fn cases() -> Vec<Case> {
    let with = |own: &[&'static str], common: &[&'static str]| [own, common].concat();
    vec![
        Case {
            name: "fit",
            args: with(&["fit", "a.csv", "-o", "out/model", "--grid", "10x10"], &LONG),
            before: &["2"],
            again: &["150", "--checkpoint", "0"],
            outputs: &["model"],
            checkpoint: Some("model.checkpoint"),
        },
        Case {
            name: "fit, streamed",
            args: with(
                &["fit", "a.csv", "-o", "out/model", "--grid", "10x10", "--stream", "--block-entries", "64"],
                &LONG,
            ),
            before: &["2"],
            again: &["60", "--checkpoint", "0", "--batch", "20"],
            outputs: &["model"],
            checkpoint: Some("model.checkpoint"),
        },
        Case {
            name: "fit, harmonium",
            args: vec![
                "fit",
                "a.csv",
                "-o",
                "out/model",
                "--model",
                "harmonium",
                "--topics",
                "3",
                "--quiet",
                "--epochs",
            ],
            before: &["2"],
            again: &["80", "--checkpoint", "0"],
            outputs: &["model"],
            checkpoint: Some("model.checkpoint"),
        },
        Case {
            name: "map",
            args: with(&["map", "a.csv", "-o", "out", "--grid", "10x10"], &LONG),
            before: &["2"],
            again: &["100", "--checkpoint", "0"],
            outputs: &["map.html", "model.safetensors", "places.csv", "map.svg", "map.png", "run.toml"],
            checkpoint: Some("model.safetensors.checkpoint"),
        },
        Case {
            name: "map, points",
            args: vec![
                "map",
                "a.csv",
                "-o",
                "out",
                "--model",
                "zip-gtm",
                "--points",
                "6x6",
                "--tolerance",
                "0",
                "--quiet",
                "--iterations",
            ],
            before: &["2"],
            again: &["40", "--checkpoint", "0"],
            outputs: &["map.html", "model.safetensors", "points.csv", "map.svg", "map.png", "run.toml"],
            checkpoint: Some("model.safetensors.checkpoint"),
        },
        Case {
            name: "sweep",
            args: vec![
                "sweep",
                "a.csv",
                "-o",
                "out",
                "--folds",
                "2",
                "--window",
                "2x2",
                "--iterations",
                "10",
                "--quiet",
                "--try",
            ],
            before: &["grid=3x3"],
            again: &["grid=3x3,4x4,5x5,6x6,7x7"],
            outputs: &["results.json", "results.csv", "accuracy.svg", "accuracy.png", "run.toml"],
            checkpoint: None,
        },
    ]
}

fn start(folder: &Path, args: &[&str]) -> Child {
    countgrid(folder, args)
        .env("TMPDIR", folder.join("tmp"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A file without its seconds.
fn read(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let bytes = fs::read(folder.join("out").join(name)).ok()?;
    if name == "results.json" {
        let mut value: Value = serde_json::from_slice(&bytes).expect("results are JSON as a whole");
        value["results"].as_array_mut().unwrap().iter_mut().for_each(|row| row["seconds"] = Value::Null);
        return Some(value.to_string().into_bytes());
    }
    if name == "results.csv" {
        let rows = common::table(&String::from_utf8(bytes).unwrap());
        let rows: Vec<_> = rows.into_iter().map(|mut row| (row.remove("seconds"), row).1).collect();
        return Some(format!("{rows:?}").into_bytes());
    }
    Some(bytes)
}

/// Files that are neither inputs, outputs nor a checkpoint.
fn left_over(folder: &Path, case: &Case) -> Vec<PathBuf> {
    let known = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy();
        path.is_dir() || name == "a.csv" || case.outputs.contains(&&*name) || case.checkpoint == Some(&*name)
    };
    contents(folder).into_keys().filter(|path| !known(path)).collect()
}

#[test]
fn killed_runs_leave_whole_files_and_are_resumed() {
    let (cycles, seed) = (setting("CAMPAIGN_CASES", 3), setting("CAMPAIGN_SEED", 1));
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for name in ["out", "tmp"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        fs::write(folder.join("a.csv"), csv(',')).unwrap();
        stdout(folder, &[&case.args[..], case.before].concat());
        let start_files: BTreeMap<_, _> =
            contents(folder).into_iter().filter(|(path, _)| !path.is_dir()).collect();
        let old: Vec<_> = case.outputs.iter().map(|name| read(folder, name)).collect();
        let again = [&case.args[..], case.again].concat();
        let began = Instant::now();
        stdout(folder, &again);
        let takes = began.elapsed();
        let new: Vec<_> = case.outputs.iter().map(|name| read(folder, name)).collect();
        assert!(old.iter().all(Option::is_some) && old != new, "{}", case.name);

        let (mut killed, mut ended, mut resumed, mut mixed, mut left) = (0, 0, 0, 0, 0);
        for cycle in 0..cycles {
            fs::remove_dir_all(folder.join("out")).unwrap();
            fs::create_dir(folder.join("out")).unwrap();
            start_files.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
            // Killed as often as it takes until it ends by itself before its moment; each a part of a whole run.
            for attempt in 0.. {
                let what = format!("{}, cycle {cycle} of seed {seed}, attempt {attempt}", case.name);
                let checkpoint = case.checkpoint.is_some_and(|name| folder.join("out").join(name).exists());
                let resume: &[&str] = if checkpoint { &["--resume"] } else { &[] };
                resumed += usize::from(checkpoint);
                let mut child = start(folder, &[&again, resume].concat());
                let share = if attempt < 3 { (rng.next_u64() % 1100) as f64 / 1000.0 } else { 1e3 };
                let until = Instant::now() + takes.mul_f64(share);
                let status = loop {
                    if let Some(status) = child.try_wait().unwrap() {
                        break Some(status);
                    }
                    if Instant::now() >= until {
                        child.kill().unwrap();
                        child.wait().unwrap();
                        break None;
                    }
                    sleep(Duration::from_micros(200));
                };
                let found: Vec<_> = case.outputs.iter().map(|name| read(folder, name)).collect();
                if let Some(status) = status {
                    let mut said = String::new();
                    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
                    assert!(status.success(), "{what}: {said}");
                    for ((name, found), new) in case.outputs.iter().zip(&found).zip(&new) {
                        assert!(found == new, "{what}: {name} is not that of a run that nothing stopped");
                    }
                    let left = left_over(folder, &case);
                    assert!(left.is_empty(), "{what}: {left:?} of killed runs are left");
                    ended += 1;
                    break;
                }
                killed += 1;
                // Files of a sweep are replaced after each result: they are whole, and `read` has understood them.
                let steps = case.name == "sweep";
                for (at, name) in case.outputs.iter().enumerate() {
                    let whole =
                        found[at] == old[at] || found[at] == new[at] || (steps && found[at].is_some());
                    assert!(whole, "{what}: {name} is neither of last time nor whole");
                }
                mixed += usize::from(!steps && found != old && found != new);
                left += left_over(folder, &case).len(); // for the next run to remove
            }
        }
        println!(
            "{}, seed {seed}: {killed} killed, {ended} ended with the same bytes, {resumed} resumed from a checkpoint; \
             {left} temporary files left, {mixed} times old and new files together",
            case.name
        );
        assert!(cycles < 5 || killed > 0, "{}: none was killed", case.name);
    }
}
