//! The doc comments of Cargo's crates: which of them, in which order, from which version.

use std::fs;
use std::path::Path;

use countgrid_corpus::{CorpusError, cargo_docs, cargo_docs_in};

/// A comment of thirty words that no other has.
fn comment(mark: &str, topic: &str) -> String {
    let words: Vec<_> = (0..30).map(|i| format!("{topic}{i}")).collect();
    format!("{mark} {}\n", words.join(" "))
}

fn put(home: &Path, path: &str, source: &str) {
    let path = home.join("registry/src/index").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, source).unwrap();
}

#[test]
fn the_newest_version_of_each_crate() {
    let home = tempfile::tempdir().unwrap();
    put(home.path(), "ants-0.9.0/src/lib.rs", &comment("//!", "old"));
    put(home.path(), "ants-0.10.0/src/lib.rs", &comment("//!", "new"));
    put(home.path(), "ants-0.10.0/tests/a.rs", &comment("//!", "test"));
    put(home.path(), "ants-0.10.0/README.md", &comment("///", "readme"));
    put(home.path(), "bees-1.0.0/src/a.rs", "/// Too short.\nfn a() {}\n");
    put(home.path(), "bees-1.0.0/src/b.rs", &format!("fn a() {{}}\n{}", comment("///", "bee")).repeat(2));
    let (documents, summary) = cargo_docs_in(home.path(), 100).unwrap();
    let ids: Vec<_> = documents.iter().map(|document| document.id.as_str()).collect();
    assert_eq!(ids, ["ants-0.10.0/src/lib.rs:1", "bees-1.0.0/src/b.rs:2"]);
    assert_eq!((summary.files, summary.documents, summary.labels), (3, 2, 2));
    assert_eq!(documents[1].label.as_deref(), Some("bees"));
    assert!(documents[1].title.starts_with("bees: bee0 bee1"), "{}", documents[1].title);
}

#[test]
fn of_equal_versions_the_first_counts() {
    let home = tempfile::tempdir().unwrap();
    put(home.path(), "ants-1.1.0/src/lib.rs", &comment("//!", "first"));
    put(home.path(), "ants-1.0.9/src/lib.rs", &comment("//!", "old"));
    put(home.path(), "../mirror/ants-1.1.0/src/lib.rs", &comment("//!", "second"));
    let (documents, _) = cargo_docs_in(home.path(), 100).unwrap();
    assert_eq!(documents.len(), 1);
    assert!(documents[0].text.starts_with("first0 first1"), "{}", documents[0].text);
}

#[test]
fn files_are_counted_and_those_without_text_passed_over() {
    let home = tempfile::tempdir().unwrap();
    let (long, short) = (comment("//!", "ant"), "fn a() {}\n");
    put(home.path(), "ants-1.0.0/src/lib.rs", &long);
    put(home.path(), "bees-1.0.0/src/lib.rs", short);
    for name in ["a.rs", "b.rs"] {
        fs::write(home.path().join("registry/src/index/bees-1.0.0/src").join(name), [0xff, 0xfe]).unwrap();
    }
    let (_, summary) = cargo_docs_in(home.path(), 100).unwrap();
    assert_eq!((summary.files, summary.bytes), (2, (long.len() + short.len()) as u64));
    assert_eq!(summary.skipped.binary, 2);
}

#[test]
fn a_fair_sample_where_there_are_too_many() {
    let home = tempfile::tempdir().unwrap();
    for crate_number in 0..20 {
        // One crate is large, the others have ten comments each.
        let n = if crate_number == 7 { 1000 } else { 10 };
        let one = |i| comment("///", &format!("c{crate_number}n{i}x")) + "fn a() {}\n";
        let source: String = (0..n).map(one).collect();
        put(home.path(), &format!("c{crate_number:02}-1.0.0/src/lib.rs"), &source);
    }
    let (all, _) = cargo_docs_in(home.path(), 10_000).unwrap();
    assert_eq!(all.len(), 1190);
    let (documents, summary) = cargo_docs_in(home.path(), 80).unwrap();
    assert_eq!((documents.len(), summary.labels), (80, 8));
    // An eighth at most, though it has five sixths of all.
    let large = documents.iter().filter(|document| document.id.starts_with("c07")).count();
    assert!((1..=10).contains(&large), "{large}");
    let order: Vec<_> = documents.iter().map(|document| (&document.file, document.line)).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert!(documents.iter().all(|document| all.iter().any(|other| other.id == document.id)));
    assert_eq!(documents, cargo_docs_in(home.path(), 80).unwrap().0);
}

#[test]
fn without_crates_or_comments_there_is_no_sample() {
    let home = tempfile::tempdir().unwrap();
    let error = cargo_docs_in(home.path(), 10).unwrap_err();
    assert!(matches!(error, CorpusError::NoDocComments { crates: 0, .. }), "{error}");
    assert!(error.to_string().ends_with("src: no crates that Cargo has unpacked"), "{error}");
    put(home.path(), "ants-0.9.0/src/lib.rs", "fn a() {}");
    let error = cargo_docs_in(home.path(), 10).unwrap_err();
    assert!(matches!(error, CorpusError::NoDocComments { crates: 1, .. }), "{error}");
    assert!(
        error.to_string().ends_with("src: no doc comment of 20 words in the crates that Cargo has unpacked"),
        "{error}"
    );
}

#[test]
fn this_machine_has_some() {
    // Whoever runs this test has built it with Cargo; but sources may come from elsewhere than its registry.
    let Ok((documents, summary)) = cargo_docs(500) else { return };
    assert!((1..=500).contains(&documents.len()), "{summary}");
    assert!(documents.iter().all(|document| document.text.split_whitespace().count() >= 20));
    assert!(documents.iter().all(|document| !document.text.contains("```")));
    assert!(summary.labels <= 8);
}
