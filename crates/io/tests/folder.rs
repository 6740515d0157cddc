//! Folders of text files: which files, in which order, under which labels.

use crate::common;

use common::{documents, documents_with, folder, gzip};
use countgrid_io::{Format, ReadOptions, Skipped};

#[test]
fn text_files_in_the_order_of_their_paths() {
    let folder = folder(&[
        ("b.txt", b"# Second\n\nText of b."),
        ("a/2.md", b"Two."),
        ("a/10.txt.gz", &gzip(b"Ten.")),
        ("c", b"No ending."),
        ("d.tex", b"Another ending."),
    ]);
    let (found, summary) = documents(folder.path());
    let ids: Vec<_> = found.iter().map(|document| document.id.as_str()).collect();
    assert_eq!(ids, ["a/10.txt.gz", "a/2.md", "b.txt", "c", "d.tex"]);
    assert_eq!(found[0].text, "Ten.");
    assert_eq!(found[2].title, "Second");
    assert_eq!(found[2].text, "# Second\n\nText of b.");
    assert_eq!((summary.format, summary.files, summary.bytes), (Format::Folder, 5, 53));
}

#[test]
fn what_is_no_text_is_counted() {
    let folder = folder(&[
        ("a.txt", b"Text."),
        (".hidden", b"Text."),
        (".git/config", b"Text."),
        (".git/head", b"Text."),
        ("empty.txt", b" \n"),
        ("picture.png", b"\x89PNG\0\0\0"),
        ("archive.gz", &gzip(b"tar\0\0")),
        ("latin.xyz", b"na\xefve"),
        ("table.csv", b"text\none\n"),
    ]);
    let (found, summary) = documents(folder.path());
    assert_eq!(found.len(), 1);
    assert_eq!(summary.skipped, Skipped { hidden: 2, binary: 3, empty: 1, tables: 1, special: 0 });
    assert!(summary.to_string().ends_with("; skipped 2 hidden, 3 binary, 1 empty, 1 tables"), "{summary}");
}

fn labels(files: &[&str]) -> Vec<Option<String>> {
    let files: Vec<_> = files.iter().map(|name| (*name, b"Text.".as_slice())).collect();
    let folder = folder(&files);
    documents(folder.path()).0.into_iter().map(|document| document.label).collect()
}

#[test]
fn the_first_subfolder_is_the_label() {
    let some = |label: &str| Some(label.to_owned());
    assert_eq!(labels(&["a.txt", "b.txt"]), [None, None]);
    assert_eq!(
        labels(&["x/a.txt", "x/deep/b.txt", "y/a.txt", "z.txt"]),
        [some("x"), some("x"), some("y"), None]
    );
    // One label for all would tell nothing: the labels begin where the paths part.
    assert_eq!(labels(&["train/x/a.txt", "train/y/b.txt"]), [some("x"), some("y")]);
    assert_eq!(labels(&["train/a.txt", "train/b.txt"]), [None, None]);
}

#[test]
fn a_title_is_the_first_line_or_the_name() {
    let long = "word ".repeat(40);
    let folder = folder(&[
        ("a.txt", b"\n====\n  A   title  \nText."),
        ("b.txt", long.as_bytes()),
        ("c.txt", b"***\n---\n"),
    ]);
    let titles: Vec<_> = documents(folder.path()).0.into_iter().map(|document| document.title).collect();
    assert_eq!(titles, ["A title", "b.txt", "c.txt"]);
}

#[test]
fn a_folder_that_holds_a_table_is_the_table() {
    let folder = folder(&[
        ("data/a.tsv.gz", &gzip(b"id\ttext\n1\tone\n")),
        ("README.md", b"About."),
        ("LICENSE", b"MIT"),
    ]);
    let (found, summary) = documents(folder.path());
    assert_eq!((found.len(), found[0].text.as_str()), (1, "one"));
    assert_eq!(summary.path, folder.path().join("data/a.tsv.gz"));
    // Unless its texts are what is asked for.
    let options = ReadOptions { format: Some(Format::Folder), ..ReadOptions::default() };
    let (found, summary) = documents_with(folder.path(), &options);
    let ids: Vec<_> = found.iter().map(|document| document.id.as_str()).collect();
    assert_eq!((ids, summary.skipped.tables), (vec!["LICENSE", "README.md"], 1));
}

#[test]
fn what_an_earlier_run_left_is_no_data() {
    let folder = folder(&[("a.csv", b"id,text\n1,one\n"), ("map.html", b"<html>"), ("m.txt", b"A model.")]);
    let ignore = ["map.html", "m.txt", "none"].map(|name| folder.path().join(name)).to_vec();
    let options = ReadOptions { ignore, ..ReadOptions::default() };
    let (found, summary) = documents_with(folder.path(), &options);
    assert_eq!((found.len(), found[0].text.as_str()), (1, "one"));
    assert_eq!(summary.path, folder.path().join("a.csv"));
}

#[cfg(unix)]
#[test]
fn links_to_files_are_read_and_links_to_folders_are_not() {
    use std::os::unix::fs::symlink;
    let outside = folder(&[("a.txt", b"Linked."), ("b/c.txt", b"Far.")]);
    let folder = folder(&[("z.txt", b"Here.")]);
    symlink(outside.path().join("a.txt"), folder.path().join("link.txt")).unwrap();
    symlink(outside.path(), folder.path().join("loop")).unwrap();
    symlink("nowhere", folder.path().join("dangling")).unwrap();
    let (found, summary) = documents(folder.path());
    let texts: Vec<_> = found.iter().map(|document| document.text.as_str()).collect();
    assert_eq!(texts, ["Linked.", "Here."]);
    assert_eq!(summary.skipped.special, 2);
}
