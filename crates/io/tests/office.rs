//! Documents of word processors, books, notebooks and Markdown in a folder.

use crate::common;

use std::io::{Cursor, Write};

use common::{documents, documents_with, folder};
use countgrid_io::{Limits, ReadOptions};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        let method =
            if *name == "mimetype" { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        archive.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

const DOCX: &[u8] = b"<?xml version=\"1.0\"?><w:document><w:body><w:p><w:r><w:t>Red</w:t></w:r><w:r><w:t> ants</w:t></w:r></w:p>\
    <w:p><w:r><w:t>walk &amp; work.</w:t></w:r></w:p></w:body></w:document>";

pub(crate) fn docx() -> Vec<u8> {
    let about = b"<cp:coreProperties><dc:title>On ants</dc:title></cp:coreProperties>";
    let notes = b"<w:footnotes><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnotes>";
    zip(&[("word/document.xml", DOCX), ("docProps/core.xml", about), ("word/footnotes.xml", notes)])
}

fn odt() -> Vec<u8> {
    let content = b"<office:body><office:text><text:h>Ants</text:h><text:p>Red<text:s/>ants.</text:p></office:text></office:body>";
    zip(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", content)])
}

fn epub(spine: &str) -> Vec<u8> {
    let container = b"<container><rootfiles><rootfile full-path=\"OEBPS/a.opf\"/></rootfiles></container>";
    let opf = format!(
        "<package><metadata><dc:title>A book</dc:title></metadata><manifest><item id=\"one\" href=\"1%20.xhtml\"/>\
         <item id=\"two\" href=\"2.xhtml\"/></manifest><spine>{spine}</spine></package>"
    );
    zip(&[
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", container),
        ("OEBPS/a.opf", opf.as_bytes()),
        ("OEBPS/1 .xhtml", b"<html><head><title>x</title></head><body><p>First.</p></body></html>"),
        ("OEBPS/2.xhtml", b"<html><body><p>Second.</p><script>no</script></body></html>"),
    ])
}

const SPINE: &str =
    "<itemref idref=\"two\"/><itemref idref=\"one\"/><itemref idref=\"two\"/><itemref idref=\"none\"/>";

#[test]
fn documents_are_told_by_their_content() {
    let notebook = br##"{"cells": [{"source": ["# Ants\n", "walk"]}, {"source": "x = 1", "outputs": ["no"]}], "nbformat": 4}"##;
    let folder = folder(&[
        ("a.docx", &docx()),
        ("b", &odt()),
        ("c.epub", &epub(SPINE)),
        ("d.ipynb", notebook),
        ("e.md", b"---\ntitle: Of ants\ndate: 2020-01-01\n---\n\n# Head\ntext\n"),
    ]);
    let (found, _) = documents(folder.path());
    let words: Vec<_> =
        found.iter().map(|document| document.text.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "Red ants walk & work. A note.",
        "Ants Red ants.",
        "Second. First.",
        "# Ants walk x = 1",
        "# Head text",
    ];
    assert_eq!(words, expected);
    let titles: Vec<_> = found.iter().map(|document| document.title.as_str()).collect();
    assert_eq!(titles, ["On ants", "Ants", "A book", "Ants", "Of ants"]);
}

#[test]
fn what_is_damaged_or_no_document_is_passed_over() {
    let whole = docx();
    let files: Vec<(String, Vec<u8>)> =
        (4..whole.len()).step_by(37).map(|end| (format!("cut-{end}"), whole[..end].to_vec())).collect();
    let mut files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let (book, sheet) = (zip(&[("xl/workbook.xml", b"<x/>")]), zip(&[("a.txt", b"A text.")]));
    let lost = zip(&[("mimetype", b"application/epub+zip"), ("META-INF/container.xml", b"<container/>")]);
    files.extend([("book", &book[..]), ("texts.zip", &sheet), ("lost.epub", &lost), ("whole.docx", &whole)]);
    let folder = folder(&files);
    let (found, summary) = documents(folder.path());
    let ids: Vec<_> = found.iter().map(|document| document.id.as_str()).collect();
    let archived = if cfg!(feature = "archives") { &["texts.zip/a.txt"][..] } else { &[] };
    assert_eq!(ids, [archived, &["whole.docx"]].concat());
    let why = |name: &str| {
        let left = summary.left_out.iter().find(|left| left.path.ends_with(name)).unwrap();
        left.why.clone()
    };
    assert_eq!(why("book"), "a table among texts");
    if cfg!(not(feature = "archives")) {
        assert!(why("texts.zip").contains("the feature `archives`"), "{}", why("texts.zip"));
    }
    assert!(why("lost.epub").contains("names no package"), "{}", why("lost.epub"));
}

#[cfg(feature = "archives")]
#[test]
fn one_file_that_is_no_document_says_why() {
    let folder = folder(&[("lost.zip", &zip(&[("mimetype", b"application/epub+zip")]))]);
    let said = common::refusal(folder.path(), "lost.zip", &ReadOptions::default());
    assert!(said.starts_with("~/lost.zip: no documents: "), "{said}");
}

#[test]
fn what_grows_beyond_the_limit_is_passed_over() {
    // 64 MiB of blanks take 64 KiB.
    let mut xml = DOCX.to_vec();
    xml.resize(64 << 20, b' ');
    let bomb = zip(&[("word/document.xml", &xml)]);
    assert!(bomb.len() < 1 << 20);
    let many = "<itemref idref=\"one\"/>".repeat(10_000);
    let folder = folder(&[("bomb.docx", &bomb), ("many.epub", &epub(&many)), ("whole.docx", &docx())]);
    let limits = Limits { record_bytes: 1 << 20, ..Limits::default() };
    let (found, summary) = documents_with(folder.path(), &ReadOptions { limits, ..ReadOptions::default() });
    assert_eq!(
        found.iter().map(|document| document.text.lines().next().unwrap()).collect::<Vec<_>>(),
        ["First.", "Red ants"]
    );
    assert_eq!(summary.skipped.unreadable, 1);
    assert!(summary.left_out[0].why.contains("longer than"), "{}", summary.left_out[0].why);
}
