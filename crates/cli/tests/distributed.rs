//! A fit in parts gives the bytes of one on one machine, and what does not go together is refused by name.

use crate::common;

use std::{fs, path::Path};

use common::{csv, run, stdout};

/// Documents of five leaves of the tree, a few words each.
fn write_many(path: &Path, seed: u64) {
    let mut state = seed;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let words: Vec<&str> = common::TOPICS.iter().flat_map(|(_, words)| words.split(' ')).collect();
    let mut table = String::from("label,text\n");
    for _ in 0..4 * 16_384 + 2_000 {
        let topic = next(3);
        table += common::TOPICS[topic].0;
        table.push(',');
        (0..3).for_each(|_| table += &format!("{} ", words[topic * 12 + next(12)]));
        table.push('\n');
    }
    fs::write(path, table).unwrap();
}

const GRID: [&str; 8] = ["--grid", "6x6", "--window", "2x2", "--iterations", "6", "--max-share", "1"];

/// Trains in parts, with sums put together in orders that change, and compares the model with that of `fit`.
fn same_as_fit(folder: &Path, data: &str, parts: usize, options: &[&str]) {
    stdout(folder, &[&["fit", data, "-o", "whole"], options].concat());
    let number = parts.to_string();
    stdout(folder, &[&["start", data, "-o", "run", "--parts", &number], options].concat());
    let documents: Vec<String> =
        (1..=parts).map(|part| format!("run/documents-{part:04}.safetensors")).collect();
    let mut steps = 0;
    let state = loop {
        let state =
            format!("run/{}", if steps == 0 { "state.safetensors".into() } else { format!("s{steps}") });
        let mut sums = Vec::new();
        for (part, own) in documents.iter().enumerate() {
            let threads = (1 + (part + steps) % 2).to_string();
            sums.push(format!("run/p{part}"));
            stdout(folder, &["partial", &state, own, "-o", &sums[part], "--threads", &threads]);
        }
        // Another order each time; the first two by themselves, then with the others.
        sums.rotate_left(steps % parts);
        if steps % 2 == 1 {
            sums.reverse();
        }
        if parts > 2 {
            let pair: Vec<&str> = sums.drain(..2).map(|sum| &*sum.leak()).collect();
            stdout(folder, &["merge", pair[0], pair[1], "-o", "run/pair"]);
            sums.push("run/pair".to_owned());
        }
        let all: Vec<&str> = sums.iter().map(String::as_str).collect();
        stdout(folder, &[&["merge"], &all[..], &["-o", "run/sum"]].concat());
        steps += 1;
        let next = format!("run/s{steps}");
        let told = stdout(folder, &["step", &state, "run/sum", "-o", &next, "--json"]);
        if told.contains("\"done\":true") {
            break next;
        }
        assert!(steps < 200, "{told}");
    };
    let all: Vec<&str> = documents.iter().map(String::as_str).collect();
    stdout(folder, &[&["finish", &state], &all[..], &["-o", "model"]].concat());
    let [whole, model] = ["whole", "model"].map(|name| fs::read(folder.join(name)).unwrap());
    assert!(whole == model, "{options:?}: the model differs from that of `fit`");
    fs::remove_dir_all(folder.join("run")).unwrap();
}

#[test]
fn a_fit_in_parts_has_the_bytes_of_one_on_one_machine() {
    let folder = tempfile::tempdir().unwrap();
    write_many(&folder.path().join("many.csv"), 1);
    // Leaves 0 and 1, 2 and 3, 4; each leaf by itself.
    let single = [&GRID[..], &["--schedule", "single"]].concat();
    same_as_fit(folder.path(), "many.csv", 3, &single);
    let other = [&single[..], &["--precision", "f64", "--anneal", "1", "--tolerance", "0.01"]].concat();
    same_as_fit(folder.path(), "many.csv", 5, &other);
}

#[test]
fn every_schedule_goes_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let fit = ["--grid", "12x12", "--iterations", "5"];
    for more in [
        &[][..],
        &["--schedule", "single", "--learn-prior", "--pseudocount", "0.1"],
        &["--anneal", "0.2", "--anneal-iterations", "4", "--tolerance", "0.01"],
        &["--precision", "f64", "--restarts", "2"],
        &["--model", "componential", "--componential-iterations", "3"],
    ] {
        same_as_fit(folder.path(), "made.csv", 1, &[&fit[..], more].concat());
    }
}

/// A command that is refused, with these parts of a message.
fn refused(folder: &Path, args: &[&str], parts: &[&str]) {
    let output = run(folder, args);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    for part in parts.iter().chain(&["remedy: "]) {
        assert!(message.contains(part), "{args:?}: `{part}` is not in: {message}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let state = "a/state.safetensors";
    for (name, seed) in [("a", 1), ("b", 2)] {
        write_many(&folder.join("many.csv"), seed);
        stdout(folder, &[&["start", "many.csv", "-o", name, "--parts", "3"], &GRID[..]].concat());
    }
    let documents = |of: &str, part| format!("{of}/documents-000{part}.safetensors");
    for part in 1..4 {
        stdout(folder, &["partial", state, &documents("a", part), "-o", &format!("p{part}")]);
    }
    stdout(folder, &["partial", "b/state.safetensors", &documents("b", 2), "-o", "other"]);

    let output = ["-o", "out"];
    let with = |args: &[&'static str]| [args, &output].concat();
    // Documents of another training; a state as documents, and the other way round.
    let other = documents("b", 1);
    refused(folder, &["partial", state, &other, "-o", "out"], &[&other, "leaf 0 are not those"]);
    refused(folder, &with(&["partial", state, state]), &[state, "documents of leaves"]);
    refused(folder, &with(&["partial", "p1", "p1"]), &["p1: ", "sums of leaves"]);
    // Sums of another training, twice, or missing.
    refused(folder, &with(&["merge", "p1", "other"]), &["other: ", "checksum"]);
    refused(folder, &with(&["merge", "p1", "p2", "p1"]), &["p1: leaf 0 is there twice"]);
    stdout(folder, &["merge", "p3", "p1", "-o", "some"]);
    refused(folder, &with(&["merge", "some", "p3"]), &["p3: leaf 4 is there twice"]);
    refused(folder, &with(&["step", state, "some"]), &["some: leaf 2 of 5 is missing"]);
    refused(folder, &with(&["step", state, "other"]), &["other: ", "checksum"]);
    // A training that goes on is not finished, and sums are of one state.
    refused(folder, &with(&["finish", state]), &["a/state.safetensors: the training has not ended"]);
    stdout(folder, &["merge", "some", "p2", "-o", "total"]);
    stdout(folder, &["step", state, "total", "-o", "next"]);
    refused(folder, &with(&["step", "next", "total"]), &["total: ", "checksum"]);
    // No output is an input, and mini-batches are no sums.
    refused(folder, &["step", state, "total", "-o", "total"], &["total"]);
    let batches = ["start", "many.csv", "-o", "c", "--batch", "100", "--max-share", "1"];
    refused(folder, &batches, &["mini-batches", "--batch"]);

    // Files that are cut short or changed.
    for (name, args) in [
        ("p1", ["merge", "p1", "-o", "out"]),
        ("total", ["merge", "total", "-o", "out"]),
        ("next", ["finish", "next", "-o", "out"]),
    ] {
        let bytes = fs::read(folder.join(name)).unwrap();
        fs::write(folder.join(name), &bytes[..bytes.len() - 5]).unwrap();
        refused(folder, &args, &[name]);
        let mut changed = bytes.clone();
        let middle = changed.len() - 9;
        changed[middle] ^= 1;
        fs::write(folder.join(name), &changed).unwrap();
        refused(folder, &args, &[name]);
    }
    assert!(!folder.join("out").exists());
}
