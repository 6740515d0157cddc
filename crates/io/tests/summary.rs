//! What is said about what was read, of one path and of several.

use crate::common;

use common::{folder, gzip};
use countgrid_io::{DataSet, Problem, ReadOptions, read_all};

fn all(folder: &tempfile::TempDir, names: &[&str]) -> (DataSet, countgrid_io::Summary) {
    let paths: Vec<_> = names.iter().map(|name| folder.path().join(name)).collect();
    read_all(&paths, &ReadOptions::default()).unwrap()
}

#[cfg(feature = "html")]
#[test]
fn paths_are_added_up() {
    let utf16 = |text: &str| -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let (page, other) =
        (b"<!DOCTYPE html><html><body><p>Red ants.</body></html>", utf16("Größe der Bienen."));
    let folder = folder(&[
        ("a/1.html", page),
        ("a/2.txt", &other),
        ("b/1.html", page),
        ("b/2.html", page),
        ("b/3.txt", &other),
        ("b/4.txt", b"Bees."),
        ("c/1.txt", b"Wasps."),
    ]);
    let (_, summary) = all(&folder, &["a", "b"]);
    assert_eq!((summary.files, summary.documents, summary.pages), (6, 6, 3));
    assert_eq!(summary.encodings.iter().collect::<Vec<_>>(), [(&"UTF-16LE", &2)]);
    let [a, b, c] = ["a", "b", "c"].map(|name| folder.path().join(name).display().to_string());
    let said = summary.to_string();
    assert!(said.starts_with(&format!("{a}, {b} (")), "{said}");
    let end = "): 6 documents, 2 labels, 0.0 MB in 6 files, 3 of them HTML, 2 of them in UTF-16LE";
    assert!(said.ends_with(end), "{said}");
    let (_, summary) = common::documents(&folder.path().join("c"));
    let said = summary.to_string();
    assert!(
        said.starts_with(&format!("{c} (")) && said.ends_with("): 1 documents, 0.0 MB in 1 file"),
        "{said}"
    );
}

#[test]
fn tables_have_their_columns_once() {
    let table = b"text,label\nRed ants.,x\n";
    let folder = folder(&[("a.csv", table), ("b.csv.gz", &gzip(table)), ("c.csv", b"id,text\n7,Bees.\n")]);
    let (_, summary) = all(&folder, &["a.csv", "b.csv.gz", "c.csv"]);
    assert!(summary.gzip);
    let columns =
        [("text", "text"), ("label", "label"), ("id", "id")].map(|(role, name)| (role, name.to_owned()));
    let mut found = summary.columns;
    assert_eq!(found.len(), 3);
    found.sort_by_key(|column| columns.iter().position(|known| known == column));
    assert_eq!(found, columns);
    assert!(!all(&folder, &["a.csv", "c.csv"]).1.gzip);
}

fn ids(data: &DataSet) -> Vec<(&str, Option<&str>)> {
    match data {
        DataSet::Documents(found) => {
            found.iter().map(|document| (document.id.as_str(), document.label.as_deref())).collect()
        }
        DataSet::Counts(_) => panic!("texts are expected"),
    }
}

#[test]
fn lines_of_objects_are_told_from_texts_by_their_content() {
    let folder = folder(&[("a", b"{\"text\": \"Red ants.\"}\n{\"text\": \"Bees.\"}\n"), ("b", b"Wasps.")]);
    let (data, _) = all(&folder, &["a", "b"]);
    assert_eq!(ids(&data).iter().map(|(id, _)| *id).collect::<Vec<_>>(), ["a/1", "a/2", "b"]);
}

/// Each archive has its own subfolders, wherever in it they lie.
#[cfg(feature = "archives")]
#[test]
fn subfolders_of_archives_are_labels() {
    use std::io::{Cursor, Write};
    let zip = |names: &[&str]| {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(b"Red ants.").unwrap();
        }
        archive.finish().unwrap().into_inner()
    };
    let folder =
        folder(&[("a.zip", &zip(&["x/1.txt", "y/2.txt"])), ("b.zip", &zip(&["p/x/1.txt", "p/z/2.txt"]))]);
    let (data, summary) = all(&folder, &["a.zip", "b.zip"]);
    let expected = [
        ("a.zip/x/1.txt", Some("x")),
        ("a.zip/y/2.txt", Some("y")),
        ("b.zip/p/x/1.txt", Some("x")),
        ("b.zip/p/z/2.txt", Some("z")),
    ];
    assert_eq!(ids(&data), expected);
    assert_eq!(summary.labels, 3);
}

#[test]
fn bags_of_several_files_are_numbered_in_each() {
    let (docword, words): (&[u8], &[u8]) = (b"2\n2\n2\n1 1 3\n2 2 4\n", b"ant\nbee\n");
    let folder = folder(&[
        ("a/docword.txt", docword),
        ("a/vocab.txt", words),
        ("b/docword.txt", docword),
        ("b/vocab.txt", words),
        ("c/docword.txt", b"1\n3\n1\n1 1 3\n"),
        ("c/vocab.txt", b"ant\nbee\ncow\n"),
    ]);
    let (DataSet::Counts(counts), summary) = all(&folder, &["a/docword.txt", "b/docword.txt"]) else {
        panic!("counts are expected")
    };
    let names = ["a/docword.txt/1", "a/docword.txt/2", "b/docword.txt/1", "b/docword.txt/2"];
    assert_eq!(counts.names, names);
    let label = |name: &str| Some(format!("{name}/docword.txt"));
    assert_eq!(counts.labels, [label("a"), label("a"), label("b"), label("b")]);
    assert_eq!((summary.documents, summary.labels), (4, 2));
    // A word more than the first path has.
    let paths = ["a/docword.txt", "c/docword.txt"].map(|name| folder.path().join(name));
    let refused = read_all(&paths, &ReadOptions::default()).unwrap_err();
    assert!(matches!(refused.problem(), Problem::OtherWords { missing: false, word, .. } if word == "cow"));
}

/// As with the vocabularies of some collections, in which a word is there in two spellings that became one.
#[test]
fn words_that_come_twice_are_the_same_in_the_same_order() {
    let (docword, words): (&[u8], &[u8]) = (b"1\n3\n2\n1 1 3\n1 2 4\n", b"ant\nant\nbee\n");
    let folder = folder(&[
        ("a/docword.txt", docword),
        ("a/vocab.txt", words),
        ("b/docword.txt", docword),
        ("b/vocab.txt", words),
    ]);
    let (DataSet::Counts(counts), _) = all(&folder, &["a/docword.txt", "b/docword.txt"]) else {
        panic!("counts are expected")
    };
    assert_eq!(counts.vocabulary, ["ant", "ant", "bee"]);
    assert_eq!((counts.bags.indices(), counts.bags.counts()), (&[0, 1, 0, 1][..], &[3.0, 4.0, 3.0, 4.0][..]));
}
