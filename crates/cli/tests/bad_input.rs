//! Whatever is wrong with the input: one message with file, line and remedy, exit code 2, nothing left behind.

use crate::common;

use std::{fs, path::Path};

use common::{contents, csv, docword, gzip, run, stdout};

/// Checks that a run is refused with a message that has all these parts, and that no file has changed.
fn refused(folder: &Path, args: &[&str], parts: &[&str]) {
    let before = contents(folder);
    let output = run(folder, args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert!(message.starts_with("error: ") && !message.contains("panicked"), "{args:?}: {message}");
    for part in parts {
        assert!(message.contains(part), "{args:?}: `{part}` is not in: {message}");
    }
    assert!(contents(folder) == before, "{args:?}: files have changed");
}

/// A folder with results of an earlier run, which must stay as they are.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["map.html", "model.safetensors"] {
        fs::write(folder.path().join(name), "from last time").unwrap();
    }
    folder
}

/// Puts one file there and maps it.
fn refused_file(name: &str, bytes: &[u8], parts: &[&str]) {
    let folder = folder();
    fs::write(folder.path().join(name), bytes).unwrap();
    refused(folder.path(), &["map", name], &[&[name, "remedy: "], parts].concat());
}

#[test]
fn no_documents() {
    let folder = folder();
    fs::create_dir(folder.path().join("nothing")).unwrap();
    refused(folder.path(), &["map", "nothing"], &["nothing: no documents", "remedy: "]);
    refused(folder.path(), &["map", "missing"], &["missing: cannot be read", "remedy: check the spelling"]);
    refused_file("a.csv", b"id,text\n", &["no documents"]);
    // The results of last time are no documents either.
    refused(folder.path(), &["map", "."], &["no documents", "remedy: "]);
}

#[test]
fn not_utf8() {
    // Damaged UTF-8, not another encoding.
    let damaged = "id,text\n1,größer und schöner\n2,b".bytes().chain(*b"\xe4d\n").collect::<Vec<u8>>();
    refused_file("a.csv", &damaged, &["line 3", "not UTF-8", "remedy: mend the text"]);
    let folder = folder();
    fs::create_dir(folder.path().join("texts")).unwrap();
    fs::write(folder.path().join("texts/one.txt"), &damaged).unwrap();
    refused(
        folder.path(),
        &["map", "texts"],
        &["no documents; 1 file skipped, such as one.txt: not UTF-8 at byte 35"],
    );
    fs::write(folder.path().join("texts/two.txt"), "Fine.").unwrap();
    refused(folder.path(), &["map", "texts", "--strict"], &["one.txt", "line 3", "not UTF-8", "remedy: "]);
}

#[test]
fn empty_files() {
    refused_file("a.csv", b"", &["empty"]);
    refused_file("a.jsonl", b"\n\n", &["empty"]);
    refused_file("a.csv.gz", &gzip(b""), &["empty"]);
}

#[test]
fn malformed_lines() {
    refused_file("a.csv", b"id,text\n1,fine\n2,one,too many\n", &["line 3", "3 fields"]);
    refused_file("a.csv", b"id,text\n1,\"never closed\n", &["line 2", "quote"]);
    refused_file("a.csv", b"x,y\n1,b\n", &["`x`, `y`", "--text-column"]);
    refused_file("a.jsonl", b"{\"text\":\"fine\"}\n{\"text\":\n", &["line 2", "not JSON"]);
    refused_file("a.jsonl", b"{\"text\":\"fine\"}\n{\"text\":7}\n", &["line 2", "a number", "--text-column"]);
    refused_file("a.csv.gz", &gzip(csv(',').as_bytes())[..900], &["gzip stream ends too early"]);
}

#[test]
fn docword_files_that_lie() {
    let (counts, vocabulary) = docword();
    let lying = |change: &dyn Fn(&mut Vec<String>), parts: &[&str]| {
        let folder = folder();
        let mut lines: Vec<String> = counts.lines().map(str::to_owned).collect();
        change(&mut lines);
        fs::write(folder.path().join("docword.made.txt"), lines.join("\n")).unwrap();
        fs::write(folder.path().join("vocab.made.txt"), &vocabulary).unwrap();
        let parts = [&["docword.made.txt", "remedy: "], parts].concat();
        refused(folder.path(), &["map", "docword.made.txt"], &parts);
    };
    lying(&|lines| lines[0] = "1000000000000".into(), &["line 1", "claims 1000000000000 documents"]);
    lying(&|lines| lines[0] = "3".into(), &["not in 1..=3"]);
    lying(&|lines| lines[1] = "1000000000000".into(), &["36 words", "1000000000000", "--vocabulary"]);
    lying(&|lines| lines[2] = "1000000000000".into(), &["header says 1000000000000 entries"]);
    lying(&|lines| lines[2] = "7".into(), &["line 11", "one more"]);
    lying(&|lines| lines[2] = "many".into(), &["line 3", "`many`"]);
    lying(&|lines| lines[3] = "1 2 -1".into(), &["line 4", "count `-1`"]);
    for count in ["nan", "inf", "1e999"] {
        lying(&|lines| lines[4] = format!("1 3 {count}"), &["line 5", "not a finite number"]);
    }
    // Finite by themselves, but not their sum, nor their logarithms times them.
    lying(&|lines| lines.iter_mut().skip(3).for_each(|line| line.push_str("e308")), &[]);
}

#[test]
fn counts_beyond_the_float_type() {
    let folder = folder();
    let (counts, vocabulary) = docword();
    let lines: Vec<String> = counts.lines().map(str::to_owned).collect();
    let huge =
        lines.iter().enumerate().map(|(n, line)| if n < 3 { line.clone() } else { format!("{line}e36") });
    fs::write(folder.path().join("docword.made.txt"), huge.collect::<Vec<_>>().join("\n")).unwrap();
    fs::write(folder.path().join("vocab.made.txt"), &vocabulary).unwrap();
    refused(
        folder.path(),
        &["map", "docword.made.txt"],
        &["too large", "remedy: ", "f64", "docword.made.txt"],
    );
    refused(
        folder.path(),
        &["map", "docword.made.txt", "--model", "zip-gtm", "--points", "3x3"],
        &["docword.made.txt", "too large"],
    );
}

#[test]
fn what_documents_lack_is_said_with_their_file() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("one.csv"), "label,text\np,ant bee\np,ant cow\np,bee cow\n").unwrap();
    refused(path, &["crossval", "one.csv", "--folds", "2"], &["one.csv", "1 labels", "remedy: "]);
    fs::write(path.join("few.csv"), "label,text\np,ant bee\np,ant cow\nq,bee cow\n").unwrap();
    refused(path, &["crossval", "few.csv", "--folds", "2"], &["few.csv", "`q` has 1 documents", "remedy: "]);
    let features = |value: &str| {
        let rows = common::made().into_iter().enumerate().map(|(n, m)| format!("{},{}\n", m.id, n % 4));
        let table = format!("id,x\n{}", rows.collect::<String>()).replacen(",1\n", &format!(",{value}\n"), 1);
        fs::write(path.join("f.csv"), table).unwrap();
    };
    fs::write(path.join("a.csv"), csv(',')).unwrap();
    features("1");
    let fit =
        ["fit", "a.csv", "-o", "m", "--model", "dual-wing", "--epochs", "2", "--features-from", "f.csv"];
    stdout(path, &fit);
    features("1e308");
    let embed = ["embed", "m", "a.csv", "--features-from", "f.csv"];
    refused(path, &embed, &["f.csv, id `bread-01`: the feature `x` of document 1 is 1e308", "remedy: "]);
    refused(path, &fit, &["f.csv: the feature `x` has", "remedy: "]);
}

#[test]
fn no_word_is_left() {
    refused_file("a.csv", b"text\nof the\nand then\n", &[]);
    let folder = folder();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    for args in [["--min-count", "91"], ["--max-words", "0"]] {
        refused(folder.path(), &[&["map", "made.csv"], &args[..]].concat(), &["no word is left", "remedy: "]);
    }
}

#[test]
fn grids_that_are_none() {
    let folder = folder();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let map = |args: &[&str], parts: &[&str]| {
        refused(folder.path(), &[&["map", "made.csv"], args].concat(), parts);
    };
    map(&["--grid", "8x8", "--window", "9x3"], &["window 9x3", "grid 8x8", "9 cells on axis 0", "remedy: "]);
    map(&["--window", "70"], &["larger than the grid", "remedy: "]);
    map(&["--grid", "8x8", "--window", "2x2x2"], &["3 axes", "remedy: "]);
    map(&["--grid", "8x8x8"], &["one or two axes", "countgrid fit", "remedy: "]);
    map(&["--grid", "10x4x4", "--window", "1x2x2"], &["9 layers", "10x4x4", "remedy: "]);
    map(&["--grid", "1000000x1000000"], &["at most 1,048,576 cells", "remedy: "]);
    for garbage in ["0x5", "-3", "3.5", "eight", "8x", "1x1x1x1x1x1x1x1x1", "99999999999999999999"] {
        map(&[&format!("--grid={garbage}")], &["--grid"]);
        map(&[&format!("--window={garbage}")], &["--window"]);
    }
}

#[test]
fn grids_beyond_all_memory() {
    let folder = folder();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    let most = usize::MAX.to_string();
    for grid in ["1000000x1000000", "10000x10000x10000", &most, &format!("{most}x{most}")] {
        let args = ["fit", "made.csv", "--grid", grid, "--window", "1"];
        refused(folder.path(), &args, &[grid, "of memory", "remedy: take a smaller --grid"]);
    }
}

#[test]
fn settings_that_make_no_sense() {
    let folder = folder();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    for (args, part) in [
        ("--pseudocount=-1", "pseudocount"),
        ("--pseudocount=inf", "pseudocount"),
        ("--tolerance=nan", "tolerance"),
        ("--restarts=0", "run"),
        ("--inner-passes=0", "pass"),
        ("--max-share=2", "share"),
        ("--stop-words=missing.txt", "missing.txt"),
        ("--label-column=colour", "colour"),
        ("--threads=0", "--threads 0"),
        ("--anneal=0", "--anneal 0 is no inverse temperature"),
        ("--anneal=1.5", "above 0 and at most 1"),
        ("--anneal=nan", "no inverse temperature"),
        ("--anneal-iterations=5", "add --anneal"),
        ("--passes=5", "add --batch"),
        ("--batch=0", "take --batch of at least 1"),
    ] {
        refused(folder.path(), &["map", "made.csv", args], &[part, "remedy: "]);
    }
    for (args, parts) in [
        (["--batch", "10", "--anneal", "0.1"], ["do not go together", "take one of them"]),
        (["--batch", "10", "--passes", "0"], ["--passes 0", "leave --batch out"]),
        (["--batch", "10", "--anneal-iterations", "3"], ["--anneal-iterations", "add --anneal"]),
        (["--anneal", "0.5", "--passes", "3"], ["--passes", "add --batch"]),
    ] {
        refused(
            folder.path(),
            &[&["map", "made.csv"], &args[..]].concat(),
            &[parts[0], parts[1], "remedy: "],
        );
    }
    for args in [&["map", "--seed", "x"][..], &["draw"], &[], &["words", "m"]] {
        let output = run(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = folder();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    for out in ["made.csv", "no/such/folder", "/dev/null/folder"] {
        refused(folder.path(), &["map", "made.csv", "-o", out], &[out, "remedy: "]);
    }
    for out in [".", "no/such/model", "made.csv"] {
        refused(folder.path(), &["fit", "made.csv", "-o", out], &["remedy: "]);
    }
    let mut command = common::countgrid(folder.path(), &["info", "model"]);
    stdout(folder.path(), &["fit", "made.csv", "--iterations", "1", "-o", "model"]);
    refused(folder.path(), &["embed", "model", "made.csv", "-o", "no/such/file"], &["remedy: "]);
    refused(folder.path(), &["embed", "model", "made.csv", "-o", "made.csv"], &["made.csv", "remedy: "]);
    // A full disk.
    if let Ok(full) = fs::File::options().write(true).open("/dev/full") {
        let output = command.stdout(full).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("standard output") && message.contains("remedy: "), "{message}");
    }
}

#[test]
fn models_that_are_none() {
    let folder = folder();
    fs::write(folder.path().join("made.csv"), csv(',')).unwrap();
    stdout(folder.path(), &["fit", "made.csv", "--iterations", "1", "-o", "good"]);
    let good = fs::read(folder.path().join("good")).unwrap();
    let mut nan = good.clone();
    let end = nan.len() - 12; // before the window's two sides, the last of the prior
    nan[end..end + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let negative = {
        let mut file = countgrid_io::load(folder.path().join("good")).unwrap();
        let prior = file.tables.iter_mut().find(|table| table.name == "prior").unwrap();
        let countgrid_io::TableData::F32(prior) = &mut prior.data else { panic!("a prior of f32") };
        prior[0] = -1.0;
        file.to_bytes().unwrap()
    };
    let mut longer = good.clone();
    longer.push(0);
    let foreign = {
        let mut file = countgrid_io::ModelFile::default();
        file.metadata.insert("kind".into(), "a teapot".into());
        countgrid_io::save(folder.path().join("foreign"), &file).unwrap();
        fs::read(folder.path().join("foreign")).unwrap()
    };
    let mislabelled = {
        let mut file = countgrid_io::load(folder.path().join("good")).unwrap();
        file.set_strings("labels", ["two", "names for three labels"]);
        countgrid_io::save(folder.path().join("mislabelled"), &file).unwrap();
        fs::read(folder.path().join("mislabelled")).unwrap()
    };
    let text = String::from_utf8_lossy(&good).into_owned();
    let kind = text.find("counting grid").unwrap();
    let mut renamed = good.clone();
    renamed[kind] = b'C';
    for (bytes, part) in [
        (&good[..good.len() / 2], "cut short"),
        (&good[..good.len() - 1], "cut short"),
        (&good[..20], "cut short"),
        (&good[..4], "too few"),
        (b"", "too few"),
        (&nan, "damaged: its `checksum`"),
        (&negative, "`prior`"),
        (&longer, "bytes"),
        (&mislabelled, "`labels`"),
        (&foreign, "no model of a counting grid"),
        (&renamed, "damaged: its `checksum`"),
        (b"From a pile of documents to a map of what is in it.", "no model file"),
    ] {
        fs::write(folder.path().join("bad"), bytes).unwrap();
        for args in [&["embed", "bad", "made.csv"][..], &["words", "bad", "--at", "1,1"], &["info", "bad"]] {
            refused(folder.path(), args, &["bad: ", part, "remedy: "]);
        }
    }
    refused(folder.path(), &["info", "missing"], &["missing: cannot be read", "remedy: "]);
    refused(folder.path(), &["info", "."], &["remedy: "]);
    for at in ["1", "1,2,3"] {
        refused(folder.path(), &["words", "good", "--at", at], &["coordinates", "2 axes", "remedy: "]);
    }
}

#[test]
fn seconds_between_checkpoints_are_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), csv(',')).unwrap();
    for seconds in ["nan", "-1", "-inf", "soon"] {
        let option = format!("--checkpoint={seconds}");
        refused(folder, &["fit", "made.csv", &option], &[seconds, "a number of at least 0"]);
    }
    for seconds in ["0", "0.5", "inf"] {
        let quick = ["--grid", "4x4", "--window", "2x2", "--iterations", "2", "--checkpoint", seconds];
        stdout(folder, &[&["fit", "made.csv"], &quick[..]].concat());
    }
}

/// The folder of results is made with the first of them.
#[test]
fn a_run_that_is_refused_makes_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("made.csv"), common::csv(',')).unwrap();
    let grid = ["--grid", "4x4", "--window", "2x2", "--iterations", "2"];
    common::stdout(folder, &[&["fit", "made.csv", "-o", "model"][..], &grid].concat());
    let before = common::contents(folder);
    for args in [
        &["sweep", "missing.csv", "--try", "tokens=3,4"][..],
        &["map", "missing.csv"],
        &["start", "missing.csv", "--parts", "2"],
        &["compare", "model", "model", "missing.csv"],
        &["firmware", "missing"],
    ] {
        let output = common::run(folder, &[args, &["-o", "a/b"]].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!folder.join("a").exists(), "{args:?}");
    }
    assert!(common::contents(folder) == before);
    let tried = ["sweep", "made.csv", "--folds", "2", "--try", "tokens=3,4", "-o", "a/b"];
    common::stdout(folder, &[&tried[..], &grid].concat());
    common::stdout(folder, &[&["map", "made.csv", "-o", "c"][..], &grid].concat());
    common::stdout(folder, &["firmware", "model", "-o", "e/f"]);
    common::stdout(folder, &["compare", "model", "model", "made.csv", "-o", "g/h"]);
    for file in ["a/b/results.csv", "c/map.html", "e/f/model.rs", "g/h/comparison.csv"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    // What cannot be made is said before anything is read.
    let output = common::run(folder, &["sweep", "missing.csv", "--try", "tokens=3,4", "-o", "made.csv/a"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("made.csv/a") && !error.contains("missing.csv"), "{error}");
}
