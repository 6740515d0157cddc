//! Text from elsewhere is printed as text: a terminal sees no control character of a file's name, a label or a word.

use std::fs;

use crate::common::run;

const ESCAPE: char = '\u{1b}';

#[test]
fn control_characters_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("a{ESCAPE}[2J.csv");
    let table =
        format!("text,label\nred green,a{ESCAPE}[31m\nred green,b\nblue green,a{ESCAPE}[31m\nblue red,b\n");
    fs::write(folder.path().join(&name), table).unwrap();
    let printed = |args: &[&str]| {
        let output = run(folder.path(), args);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{args:?}\n{text:?}");
        text
    };
    let small =
        ["--grid", "4x4", "--window", "2x2", "--iterations", "2", "--min-count", "1", "--max-share", "1"];
    let read = printed(&[&["fit", &name, "-o", "m.st"], &small[..]].concat());
    assert!(read.contains("a\\u{1b}[2J.csv"), "{read}");
    let labels = printed(&["info", "m.st"]);
    assert!(labels.contains("a\\u{1b}[31m, b"), "{labels}");
    let table = printed(&[&["crossval", &name, "--folds", "2"], &small[..]].concat());
    assert!(table.contains("a\\u{1b}[31m"), "{table}");
    let missing = printed(&["info", "no\u{9b}.st"]);
    assert!(missing.contains("no\\u{9b}.st"), "{missing}");
}
