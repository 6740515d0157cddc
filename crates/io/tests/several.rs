//! Several paths as one data set.

use std::fs;
use std::path::{Path, PathBuf};

use countgrid_io::{DataSet, Document, Problem, ReadOptions, read, read_all};
use proptest::prelude::*;

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn documents(paths: &[PathBuf]) -> Vec<Document> {
    match read_all(paths, &ReadOptions::default()).unwrap().0 {
        DataSet::Documents(documents) => documents,
        DataSet::Counts(_) => panic!("texts are expected"),
    }
}

#[test]
fn folders_are_as_one_folder_that_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a/1.txt", "a/2.txt", "b/1.txt", "c/1.txt"] {
        write(folder.path(), name, &format!("The text of {name}."));
    }
    let (whole, _) = read(folder.path(), &ReadOptions::default()).unwrap();
    let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
    let (joined, summary) = read_all(&paths, &ReadOptions::default()).unwrap();
    assert_eq!(joined, whole);
    assert_eq!((summary.documents, summary.labels, summary.files), (4, 3, 4));
    let turned = documents(&[paths[2].clone(), paths[0].clone()]);
    assert_eq!(turned.iter().map(|d| d.id.as_str()).collect::<Vec<_>>(), ["c/1.txt", "a/1.txt", "a/2.txt"]);
}

#[test]
fn subfolders_are_labels_and_single_files_documents() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a/x/1.txt", "a/y/1.txt", "b/y/1.txt", "b/z/1.txt"] {
        write(folder.path(), name, "A text.");
    }
    let single = write(folder.path(), "[1].txt", "[1] A text with a bracket.");
    let binary = write(folder.path(), "picture.jpg", "\u{0}\u{1}\u{2}\u{3}");
    let paths = [folder.path().join("a"), single, binary.clone(), folder.path().join("b")];
    let found = documents(&paths);
    let found: Vec<_> = found.iter().map(|d| (d.id.as_str(), d.label.as_deref())).collect();
    let expected = [
        ("a/x/1.txt", Some("x")),
        ("a/y/1.txt", Some("y")),
        ("[1].txt", None),
        ("b/y/1.txt", Some("y")),
        ("b/z/1.txt", Some("z")),
    ];
    assert_eq!(found, expected);
    let (_, summary) = read_all(&paths, &ReadOptions::default()).unwrap();
    assert_eq!(summary.left_out[0].path, binary);
}

#[test]
fn names_tell_paths_apart() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["2023/x.csv", "2024/x.csv"].map(|name| write(folder.path(), name, "text\nOne.\n"));
    let found = documents(&paths);
    assert_eq!(found[1].id, "2024/x.csv/1");
    assert_eq!(found[1].label.as_deref(), Some("2024/x.csv"));
}

#[test]
fn counts_have_the_same_words_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let one = write(folder.path(), "one.csv", "ant,bee\n1,2\n0,3\n");
    let two = write(folder.path(), "two.csv", "bee,ant\n5,4\n");
    let (DataSet::Counts(counts), _) = read_all(&[&one, &two], &ReadOptions::default()).unwrap() else {
        panic!("counts are expected")
    };
    assert_eq!(counts.vocabulary, ["ant", "bee"]);
    use countgrid_counts::Bags;
    assert!(counts.bags.entries(2).eq([(0, 4.0), (1, 5.0)]));
    assert_eq!(counts.names, ["one.csv/1", "one.csv/2", "two.csv/1"]);

    let other = write(folder.path(), "other.csv", "bee,cow\n5,4\n");
    let refused = read_all(&[&one, &other], &ReadOptions::default()).unwrap_err();
    assert!(matches!(refused.problem(), Problem::OtherWords { missing: true, word, .. } if word == "ant"));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let counts = write(folder.path(), "counts.csv", "ant,bee\n1,2\n");
    let texts = write(folder.path(), "texts.csv", "text\nOne.\n");
    let refused = |paths: &[&PathBuf]| read_all(paths, &ReadOptions::default()).unwrap_err();
    for (paths, counts_last) in [([&texts, &counts], true), ([&counts, &texts], false)] {
        let error = refused(&paths);
        assert!(matches!(error.problem(), Problem::NotTogether { counts, .. } if *counts == counts_last));
        assert!(error.to_string().contains("do not go together"), "{error}");
    }
    assert!(matches!(refused(&[&texts, &texts]).problem(), Problem::PathTwice));
    assert!(matches!(refused(&[]).problem(), Problem::NoPath));
}

/// What a path is.
#[derive(Clone, Debug)]
enum Kind {
    Text,
    Folder(Vec<u8>),        // files of these subfolders
    Table(Vec<Option<u8>>), // rows of these labels; a table without any has no such column
}

fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    let label = prop::option::of(0..3u8);
    let kind = prop_oneof![
        Just(Kind::Text),
        prop::collection::vec(0..3u8, 1..4).prop_map(Kind::Folder),
        prop::collection::vec(label, 1..4).prop_map(Kind::Table),
    ];
    prop::collection::vec(kind, 2..5)
}

fn laid_out(folder: &Path, place: usize, kind: &Kind) -> PathBuf {
    match kind {
        Kind::Text => write(folder, &format!("{place}.txt"), &format!("The text of {place}.")),
        Kind::Folder(files) => {
            for (n, part) in files.iter().enumerate() {
                write(folder, &format!("{place}/part {part}/{n}.txt"), &format!("The text of {place}, {n}."));
            }
            folder.join(place.to_string())
        }
        Kind::Table(rows) => {
            let labelled = rows.iter().any(Option::is_some);
            let label = |row: &Option<u8>| row.map(|label| format!("kind {label}")).unwrap_or_default();
            let mut table = String::from(if labelled { "text,label\n" } else { "text\n" });
            for (n, row) in rows.iter().enumerate() {
                let end = if labelled { format!(",{}", label(row)) } else { String::new() };
                table += &format!("Row {n} of {place}.{end}\n");
            }
            write(folder, &format!("{place}.csv"), &table)
        }
    }
}

proptest! {
    /// By the definition: each path read by itself, with its name before the ids.
    #[test]
    fn paths_are_read_one_after_the_other(kinds in kinds()) {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> =
            kinds.iter().enumerate().map(|(place, kind)| laid_out(folder.path(), place, kind)).collect();
        let mut expected = Vec::new();
        for (path, kind) in paths.iter().zip(&kinds) {
            let name = path.file_name().unwrap().to_str().unwrap();
            if let Kind::Text = kind {
                expected.push((name.to_owned(), None, None, fs::read_to_string(path).unwrap()));
                continue;
            }
            let DataSet::Documents(own) = read(path, &ReadOptions::default()).unwrap().0 else {
                panic!("texts are expected")
            };
            expected.extend(own.into_iter().map(|document| {
                (format!("{name}/{}", document.id), document.label, Some(name.to_owned()), document.text)
            }));
        }
        let without = expected.iter().all(|(_, own, ..)| own.is_none());
        let mut of_paths: Vec<_> = expected.iter().filter_map(|(_, _, path, _)| path.clone()).collect();
        of_paths.dedup();
        let by_path = without && of_paths.len() > 1;
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(id, own, path, text)| (id, if by_path { path } else { own }, text))
            .collect();
        let found: Vec<_> = documents(&paths).into_iter().map(|d| (d.id, d.label, d.text)).collect();
        prop_assert_eq!(found, expected);
    }
}
