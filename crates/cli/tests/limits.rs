//! Numbers on the command line and files that have no end: a message that states the bound, before memory is asked for.

use crate::common;

use std::{fs, path::Path};

use common::{contents, csv, run, stdout};

/// Checks that a run is refused by exit code 2 with a message that has all these parts, and that no file has changed.
fn refused(folder: &Path, args: &[&str], parts: &[&str]) {
    let before = contents(folder);
    let output = run(folder, args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert!(message.starts_with("error: ") && !message.contains("panicked"), "{args:?}: {message}");
    assert!(message.len() < 2000, "{args:?}: a message of {} bytes", message.len());
    for part in parts {
        assert!(message.contains(part), "{args:?}: `{part}` is not in: {message}");
    }
    assert!(contents(folder) == before, "{args:?}: files have changed");
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), csv(',')).unwrap();
    folder
}

#[test]
fn counts_have_bounds() {
    let folder = folder();
    let crossval = ["crossval", "a.csv", "--folds", "2", "--iterations", "2", "--classifier", "nearest"];
    // Not those of `--batch`: documents themselves are its bound.
    for count in ["1000000000000", "18446744073709551615", "18446744073709551616"] {
        for option in [
            "--neighbours",
            "--topics",
            "--states",
            "--repeats",
            "--folds",
            "--inner-folds",
            "--restarts",
            "--inner-passes",
            "--threads",
            "--max-words",
            "--passes",
            "--draws",
            "--chains",
            "--steps",
            "--epochs",
        ] {
            refused(folder.path(), &[&crossval[..], &[option, count]].concat(), &[option, "at most"]);
        }
    }
    refused(
        folder.path(),
        &["fit", "a.csv", "-o", "m", "--threads", "20000"],
        &["--threads", "at most 1024"],
    );
    refused(folder.path(), &["map", "a.csv", "--sample", "99999999999999999999"], &["--sample", "at most"]);
    // More than there are documents, within the bound: all of them vote.
    stdout(
        folder.path(),
        &[
            "crossval",
            "a.csv",
            "--folds",
            "2",
            "--iterations",
            "2",
            "--grid",
            "4x4",
            "--window",
            "2x2",
            "--classifier",
            "nearest",
            "--neighbours",
            "100000",
        ],
    );
}

#[cfg(unix)]
#[test]
fn special_files_are_refused() {
    let folder = folder();
    let path = folder.path();
    let fifo = path.join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let before = fs::read_dir(path).unwrap().count();
    // Nothing ever writes to the pipe: a run that opened it would wait for ever.
    for special in ["/dev/zero", "fifo"] {
        for args in [
            &["fit", special, "-o", "m"][..],
            &["fit", "a.csv", "-o", "m", "--stop-words", special],
            &["fit", "a.csv", "-o", "m", "--model", "dual-wing", "--features-from", special],
        ] {
            let output = run(path, args);
            let message = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
            assert!(message.contains(special) && message.contains("no regular file"), "{args:?}: {message}");
            assert!(message.contains("remedy: "), "{args:?}: {message}");
        }
    }
    assert_eq!(fs::read_dir(path).unwrap().count(), before);
}

#[test]
fn a_long_field_is_cut_in_a_message() {
    let folder = folder();
    fs::write(folder.path().join("f.csv"), format!("id,x\n1,{}\n", "y".repeat(1 << 20))).unwrap();
    refused(
        folder.path(),
        &["fit", "a.csv", "-o", "m", "--model", "dual-wing", "--features-from", "f.csv"],
        &["f.csv, line 2", "column `x`"],
    );
    let dual = ["fit", "a.csv", "-o", "m", "--model", "dual-wing", "--features-from", "f.csv"];
    fs::write(folder.path().join("f.csv"), format!("id,{}\n1,none\n", "y".repeat(1 << 20))).unwrap();
    refused(folder.path(), &dual, &["f.csv, line 2", "column `yyyy", "…"]);
    fs::write(folder.path().join("f.csv"), "z".repeat(1 << 10) + &",y".repeat(1 << 10) + "\n").unwrap();
    refused(
        folder.path(),
        &[&dual[..], &["--feature-columns", "none"]].concat(),
        &["f.csv: no column `none`", "zzz"],
    );
    fs::write(folder.path().join("f.csv"), format!("id,x\n{0},1\n{0},2\n", "i".repeat(1 << 10))).unwrap();
    refused(folder.path(), &dual, &["f.csv, line 3", "is there twice"]);
}

#[cfg(unix)]
#[test]
fn stop_words_from_a_pipe_are_read_once() {
    let folder = folder();
    let words = "flour yeast oven butter sugar";
    fs::write(folder.path().join("s.txt"), words).unwrap();
    let fit = |stop_words: &str, to: &str| {
        let program = env!("CARGO_BIN_EXE_countgrid");
        let command = format!(
            "{program} fit a.csv -o {to} --grid 4x4 --window 2x2 --iterations 2 --model harmonium --topics 2 --epochs 2 \
             --quiet --stop-words {stop_words}"
        );
        let done = std::process::Command::new("bash")
            .args(["-c", &command])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        fs::read(folder.path().join(to)).unwrap()
    };
    assert!(fit("s.txt", "a.st") == fit("<(cat s.txt)", "b.st"));
    let crossval = |stop_words: &str| {
        let program = env!("CARGO_BIN_EXE_countgrid");
        let command = format!(
            "{program} crossval a.csv --folds 2 --grid 4x4 --window 2x2 --iterations 2 --stop-words {stop_words} -o o.csv \
             --json | grep '\"text\"'"
        );
        let done = std::process::Command::new("bash")
            .args(["-c", &command])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(crossval("s.txt"), crossval("<(cat s.txt)"));
}

#[test]
fn an_unknown_level_of_vectors_is_refused() {
    let folder = folder();
    let fit = ["fit", "a.csv", "-o", "m", "--grid", "4x4", "--window", "2x2", "--iterations", "1"];
    let output = common::countgrid(folder.path(), &fit).env("COUNTGRID_SIMD", "sse9").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    for part in ["COUNTGRID_SIMD", "`sse9`", "baseline", "avx2", "avx512", "remedy: "] {
        assert!(message.contains(part), "{message}");
    }
    for known in ["baseline", "avx2", "avx512"] {
        let output = common::countgrid(folder.path(), &fit).env("COUNTGRID_SIMD", known).output().unwrap();
        assert!(output.status.success());
    }
}

#[test]
fn a_column_of_numbers_called_text_is_a_count() {
    let folder = folder();
    let rows = |header: &str| {
        let mut table = format!("{header}\n");
        for row in 0..20 {
            table += &format!("{},{},{}\n", row % 3 + 1, row % 5, row % 7 + 1);
        }
        table
    };
    fs::write(folder.path().join("n.csv"), rows("text,image,audio")).unwrap();
    let fit = ["fit", "n.csv", "-o", "m", "--grid", "4x4", "--window", "2x2", "--iterations", "1"];
    let report = stdout(folder.path(), &fit);
    assert!(report.contains("counts `3 of numbers`"), "{report}");
    // Unless it is named as the text.
    let named = run(folder.path(), &[&fit[..], &["--text-column", "text"]].concat());
    let named = String::from_utf8(named.stderr).unwrap();
    assert!(named.contains("no word is left"), "{named}"); // of texts that are digits
}
