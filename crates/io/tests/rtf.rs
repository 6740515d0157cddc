//! RTF documents of a folder.

use crate::common;

use common::{documents, documents_with, folder};
use countgrid_io::{Limits, ReadOptions};

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn a_document_of_pandoc_has_the_words_of_its_twin() {
    let (rtf, twin) = (include_bytes!("fixtures/ants.rtf"), include_str!("fixtures/ants.txt"));
    let folder = folder(&[("ants/a.rtf", rtf), ("b.txt", b"Another document.")]);
    let (found, summary) = documents(folder.path());
    assert_eq!((summary.files, summary.skipped.total()), (2, 0));
    assert_eq!(words(&found[0].text), words(twin));
    assert_eq!(found[0].title, "Die Größe der Fläche"); // its first line
}

#[test]
fn damaged_and_long_documents_are_passed_over_with_a_reason() {
    let limits = Limits { record_bytes: 60, ..Limits::default() };
    let long = format!("{{\\rtf1 {}}}", "word ".repeat(20));
    let folder = folder(&[
        ("a.rtf", b"{\\rtf1 Red ants.\\par}"),
        ("b.rtf", b"{\\rtf1 {\\b Red ants."),
        ("c.rtf", long.as_bytes()),
        ("d.rtf", b"{\\rtf1{\\pict\\bin999999999 }"),
        ("e.rtf", b"{\\rtf1 }"),
    ]);
    let (found, summary) = documents_with(folder.path(), &ReadOptions { limits, ..ReadOptions::default() });
    assert_eq!(found.iter().map(|document| document.text.as_str()).collect::<Vec<_>>(), ["Red ants."]);
    let left_out: Vec<_> = summary.left_out.iter().map(|left| left.why.as_str()).collect();
    assert_eq!(left_out[0], "damaged RTF: it ends within a group");
    assert!(left_out[1].contains("60 bytes"), "{left_out:?}");
    assert_eq!(left_out[2..], ["damaged RTF: it ends within a group", "empty"]);
}
