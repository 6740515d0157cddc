//! Mails that were sent again with small edits weigh once.

use crate::common;

use std::{fs, path::Path};

use common::{TOPICS, results, run, stdout, table, words_and_cells};
use serde_json::Value;

const SMALL: [&str; 7] = ["--grid", "6x6", "--window", "2x2", "--iterations", "5", "--max-share=1"];

/// A mail of sixty words; a few edits of words, and lines that are no words.
fn mail(number: usize, edits: usize, again: bool) -> String {
    let mut state = 1 + number as u64;
    let mut words = Vec::new();
    for _ in 0..60 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let topic: Vec<&str> = TOPICS[number % 3].1.split(' ').collect();
        words.push(topic[(state >> 33) as usize % 12]);
    }
    for edit in 0..edits {
        words[7 + 11 * edit] = "again";
    }
    let day = if again { 9 } else { 2 };
    format!(
        "From: someone@example.org\r\nSubject: Mail {number}\r\nDate: {day} Mar 2021 10:00:00 +0000\r\n\
         Message-ID: <{number}.{day}@example.org>\r\n\r\n{}\r\n",
        words.join(" ")
    )
}

/// Thirty mails in `first`, and the same with four that were sent again in `all`: as it was; with two words that are not the same,
/// twice; and one with so many edits that it is another mail.
fn write_mails(folder: &Path) {
    for pile in ["first", "all"] {
        fs::create_dir_all(folder.join(pile)).unwrap();
        for number in 0..30 {
            let name = format!("{pile}/{number:02}.eml");
            fs::write(folder.join(name), mail(number, 0, false)).unwrap();
        }
        fs::write(folder.join(pile).join("33.eml"), mail(5, 5, true)).unwrap();
    }
    fs::write(folder.join("all/30.eml"), mail(4, 0, true)).unwrap();
    fs::write(folder.join("all/31.eml"), mail(8, 2, true)).unwrap();
    fs::write(folder.join("all/32.eml"), mail(8, 2, true)).unwrap();
}

#[test]
fn mails_that_were_sent_again_weigh_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_mails(folder);
    let map = |data: &str, output: &str, args: &[&str]| {
        stdout(folder, &[&["map", data, "--output", output, "--title", "T"], &SMALL[..], args].concat())
    };
    let printed = map("all", "out", &[]);
    for part in
        ["34 documents", "3 near-duplicates of other documents left out; --keep-duplicates keeps them"]
    {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(!map("first", "alone", &[]).contains("near-duplicate"));
    assert!(
        words_and_cells(&folder.join("out/model.safetensors"))
            == words_and_cells(&folder.join("alone/model.safetensors"))
    );
    assert_eq!(
        fs::read_to_string(folder.join("out/skipped.csv")).unwrap(),
        "path,why\n30.eml,\"near-duplicate of 04.eml, Mail 4\"\n31.eml,\"near-duplicate of 08.eml, Mail 8\"\n\
         32.eml,\"near-duplicate of 08.eml, Mail 8\"\n"
    );
    let of = |output: &str, file: &str| fs::read_to_string(folder.join(output).join(file)).unwrap();
    assert_eq!(table(&of("out", "places.csv")).len(), 31);
    assert!(of("out", "map.html").contains("near-duplicates"));
    assert!(
        !of("alone", "map.html").contains("near-duplicates") && !folder.join("alone/skipped.csv").exists()
    );

    // With any number of threads, and from a file.
    let expected: Vec<_> = results(&folder.join("out")).into_values().collect();
    for args in [&["--threads", "1"][..], &["--threads", "3", "--stream"]] {
        map("all", "other", args);
        assert!(results(&folder.join("other")).into_values().eq(expected.iter().cloned()), "{args:?}");
        fs::remove_dir_all(folder.join("other")).unwrap();
    }

    // The list is replaced once it is no longer true.
    let printed = map("all", "out", &["--keep-duplicates"]);
    assert!(!printed.contains("near-duplicate"), "{printed}");
    assert_eq!(table(&of("out", "places.csv")).len(), 34);
    assert_eq!(of("out", "skipped.csv"), "path,why\n");
    assert!(!of("out", "map.html").contains("near-duplicates"));
    assert!(
        words_and_cells(&folder.join("out/model.safetensors"))
            != words_and_cells(&folder.join("alone/model.safetensors"))
    );
    // Columns that were not asked for are not there.
    map("all", "none", &["--columns", "none"]);
    assert!(!of("none", "map.html").contains("near-duplicates"));
}

#[test]
fn each_command_says_whether_it_leaves_them_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_mails(folder);
    let documents = |command: &[&str], args: &[&str]| {
        let printed = stdout(folder, &[command, &["all", "--json"], args].concat());
        let events: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |name: &str| events.iter().find(|event| event["event"] == name).cloned();
        let left_out = of("repeats").map_or(0, |event| event["near_duplicates"].as_u64().unwrap());
        (of("words").unwrap()["documents"].as_u64().unwrap(), left_out)
    };
    for command in [
        &["fit", "-o", "m"][..],
        &["start", "-o", "s"],
        &["map", "-o", "g"],
        &["map", "-o", "t", "--model", "poisson-gtm", "--iterations", "3"],
        &["fit", "-o", "h", "--model", "rap"],
    ] {
        let small = if command.contains(&"--model") { &[][..] } else { &SMALL };
        assert_eq!(documents(command, small), (31, 3), "{command:?}");
        assert_eq!(documents(command, &[small, &["--keep-duplicates"]].concat()), (34, 0), "{command:?}");
    }
    // Of those that were drawn.
    let (drawn, left_out) = documents(&["map", "-o", "d"], &[&SMALL[..], &["--sample", "34"]].concat());
    assert_eq!((drawn, left_out), (31, 3));
    // The models of both are the same, and those of all mails are others.
    stdout(folder, &[&["fit", "first", "-o", "first.model"], &SMALL[..]].concat());
    stdout(folder, &[&["fit", "all", "-o", "all.model"], &SMALL[..]].concat());
    assert!(words_and_cells(&folder.join("first.model")) == words_and_cells(&folder.join("all.model")));

    let refused =
        run(folder, &["map", "g/model.safetensors", "--add", "first", "--keep-duplicates", "-o", "x"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--keep-duplicates"));
}
