//! The text of documents that are ZIP files: of word processors (DOCX, ODT) and electronic books (EPUB).

use std::collections::HashMap;
use std::io::{Cursor, Read};

use html5gum::{DefaultEmitter, Token, Tokenizer};
use zip::ZipArchive;

use crate::encoding::{declared, decode};
use crate::error::Problem;
use crate::page::page;
use crate::zipped::refused;

/// What a ZIP file is that is no such document.
pub(crate) const OTHER: &str = "a ZIP archive, but no DOCX, ODT or EPUB";

/// A document's title, if it says one, and its text, of `limit` bytes at most, as is each file in it.
///
/// Paragraphs, headings and cells end a line. Of a text document footnotes follow; what was deleted while changes were tracked is
/// left out. The chapters of a book are in its reading order.
pub(crate) fn office(bytes: &[u8], limit: usize) -> Result<(Option<String>, String), Problem> {
    let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged("ZIP", &error))?;
    let mut files = Files { archive, limit };
    if files.has("word/document.xml") {
        return files.docx();
    }
    let mimetype = if files.has("mimetype") { files.text("mimetype", "ZIP")? } else { String::new() };
    match mimetype.trim() {
        "application/vnd.oasis.opendocument.text" => files.odt(),
        "application/epub+zip" => files.epub(),
        _ if files.has("xl/workbook.xml") => Err(Problem::Unsupported { kind: "a workbook among texts" }),
        _ => Err(Problem::Unsupported { kind: OTHER }),
    }
}

fn damaged(kind: &'static str, error: &dyn std::fmt::Display) -> Problem {
    Problem::Damaged { kind, what: error.to_string() }
}

/// The files in a document.
struct Files<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    limit: usize,
}

impl Files<'_> {
    fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// The text of a file, whatever size its header claims.
    fn text(&mut self, name: &str, kind: &'static str) -> Result<String, Problem> {
        let file = self.archive.by_name(name).map_err(|error| {
            let damaged = |error| damaged(kind, &format_args!("{name}: {error}"));
            refused(error, "an encrypted document", damaged)
        })?;
        let mut bytes = Vec::new();
        let read = file.take((self.limit as u64).saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| damaged(kind, &format_args!("{name}: {error}")))?;
        if bytes.len() > self.limit {
            return Err(Problem::TooLong { limit: self.limit });
        }
        let encoding = declared(&bytes[..bytes.len().min(200)]);
        decode(bytes, encoding).map(|(text, _)| text).map_err(|(problem, _)| problem)
    }

    fn text_if_there(&mut self, name: &str, kind: &'static str) -> Result<String, Problem> {
        if self.has(name) { self.text(name, kind) } else { Ok(String::new()) }
    }

    fn docx(&mut self) -> Result<(Option<String>, String), Problem> {
        let mut text = String::new();
        for name in ["word/document.xml", "word/footnotes.xml", "word/endnotes.xml"] {
            word(&self.text_if_there(name, "DOCX")?, &mut text);
        }
        let about = self.text_if_there("docProps/core.xml", "DOCX")?;
        self.within_limit(text, &about)
    }

    fn odt(&mut self) -> Result<(Option<String>, String), Problem> {
        let mut text = String::new();
        open_document(&self.text("content.xml", "ODT")?, &mut text);
        let about = self.text_if_there("meta.xml", "ODT")?;
        self.within_limit(text, &about)
    }

    fn epub(&mut self) -> Result<(Option<String>, String), Problem> {
        let container = self.text("META-INF/container.xml", "EPUB")?;
        let package =
            attributes(&container, "rootfile", &["full-path"]).into_iter().flatten().flatten().next();
        let package = package.ok_or_else(|| damaged("EPUB", &"META-INF/container.xml names no package"))?;
        let opf = self.text(&package, "EPUB")?;
        // Each file is read once, however often it is named.
        let mut files: HashMap<_, _> =
            attributes(&opf, "item", &["id", "href"]).into_iter().map(|[id, href]| (id, href)).collect();
        let mut text = String::new();
        for [chapter] in attributes(&opf, "itemref", &["idref"]) {
            let Some(href) = files.remove(&chapter).flatten().filter(|_| chapter.is_some()) else { continue };
            let name = beside(&package, &href);
            let chapter = page(&self.text(&name, "EPUB")?).1;
            if text.len().saturating_add(chapter.len()) >= self.limit {
                return Err(Problem::TooLong { limit: self.limit });
            }
            text.push_str(&chapter);
            text.push('\n');
        }
        self.within_limit(text, &opf)
    }

    fn within_limit(&self, text: String, about: &str) -> Result<(Option<String>, String), Problem> {
        if text.len() > self.limit {
            return Err(Problem::TooLong { limit: self.limit });
        }
        Ok((title(about), text.trim().to_owned()))
    }
}

/// Calls `visit` with every token of an XML file, taken as HTML, whose tokens are those of XML but for sections of CDATA.
fn tokens(xml: &str, mut visit: impl FnMut(Token)) {
    for token in Tokenizer::new_with_emitter(xml, DefaultEmitter::default()) {
        let Ok(token) = token; // a text in memory is always read
        visit(token);
    }
}

/// The text of a part of a DOCX: runs `w:t`, in paragraphs `w:p`.
fn word(xml: &str, text: &mut String) {
    let mut in_run = false;
    tokens(xml, |token| match token {
        Token::StartTag(tag) => match &tag.name[..] {
            b"w:t" => in_run = !tag.self_closing,
            b"w:tab" => text.push('\t'),
            b"w:br" | b"w:cr" => text.push('\n'),
            _ => {}
        },
        Token::EndTag(tag) => match &tag.name[..] {
            b"w:t" => in_run = false,
            b"w:p" => text.push('\n'),
            _ => {}
        },
        Token::String(run) if in_run => text.push_str(&String::from_utf8_lossy(&run)),
        _ => {}
    });
}

/// The text of an ODT: paragraphs `text:p` and headings `text:h` of the body.
fn open_document(xml: &str, text: &mut String) {
    let (mut paragraphs, mut left_out) = (0_usize, 0_usize);
    tokens(xml, |token| match token {
        Token::StartTag(tag) => match &tag.name[..] {
            b"text:p" | b"text:h" if !tag.self_closing => paragraphs += 1,
            b"text:tracked-changes" | b"office:annotation" if !tag.self_closing => left_out += 1,
            b"text:s" | b"text:tab" if left_out == 0 => text.push(' '),
            b"text:line-break" if left_out == 0 => text.push('\n'),
            _ => {}
        },
        Token::EndTag(tag) => match &tag.name[..] {
            b"text:p" | b"text:h" => {
                paragraphs = paragraphs.saturating_sub(1);
                text.push('\n');
            }
            b"text:tracked-changes" | b"office:annotation" => left_out = left_out.saturating_sub(1),
            _ => {}
        },
        Token::String(found) if paragraphs > 0 && left_out == 0 => {
            text.push_str(&String::from_utf8_lossy(&found));
        }
        _ => {}
    });
}

/// What stands in the first element `dc:title`.
fn title(xml: &str) -> Option<String> {
    let (mut title, mut in_title, mut seen) = (String::new(), false, false);
    tokens(xml, |token| match token {
        Token::StartTag(tag) => in_title = !seen && !tag.self_closing && &tag.name[..] == b"dc:title",
        Token::EndTag(tag) => {
            seen |= &tag.name[..] == b"dc:title";
            in_title = false;
        }
        Token::String(text) if in_title => title.push_str(&String::from_utf8_lossy(&text)),
        _ => {}
    });
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(title).filter(|title| !title.is_empty())
}

/// Attributes of every element of a name, with or without a prefix, in their order.
fn attributes<const N: usize>(xml: &str, element: &str, names: &[&str; N]) -> Vec<[Option<String>; N]> {
    let mut found = Vec::new();
    tokens(xml, |token| {
        if let Token::StartTag(tag) = token {
            let name = String::from_utf8_lossy(&tag.name);
            if name.rsplit(':').next() == Some(element) {
                let value = |name: &str| {
                    let value = tag.attributes.get(name.as_bytes())?;
                    Some(String::from_utf8_lossy(value).into_owned())
                };
                found.push(names.map(value));
            }
        }
    });
    found
}

/// The file that a reference in another file means: from its folder on, without what follows `#`, `%20` as a blank.
fn beside(file: &str, reference: &str) -> String {
    let reference = reference.split('#').next().unwrap_or_default();
    let mut path: Vec<&str> =
        file.rsplit_once('/').map_or(Vec::new(), |(folder, _)| folder.split('/').collect());
    for part in reference.split('/') {
        match part {
            ".." => _ = path.pop(),
            "." | "" => {}
            part => path.push(part),
        }
    }
    let (joined, mut bytes) = (path.join("/"), Vec::new());
    let mut rest = joined.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_word() {
        let mut text = String::new();
        let xml = "<w:p><w:r><w:t>A &amp; </w:t><w:instrText>PAGE</w:instrText><w:t xml:space=\"preserve\">B</w:t></w:r>\
                   <w:r><w:tab/><w:t/></w:r></w:p>stray<w:p><w:del><w:delText>gone</w:delText></w:del><w:r><w:t>C</w:t></w:r></w:p>";
        word(xml, &mut text);
        assert_eq!(text, "A & B\t\nC\n");
    }

    #[test]
    fn paragraphs_of_open_document() {
        let mut text = String::new();
        let xml = "<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>no\
                   <text:h>Head</text:h><text:p>a<text:s/>b<text:span>c</text:span><office:annotation><text:p>note</text:p>\
                   </office:annotation></text:p></office:text>";
        open_document(xml, &mut text);
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["Head", "a", "bc"]);
    }

    #[test]
    fn marks_in_paragraphs_are_characters() {
        let mut text = String::new();
        word("<w:p><w:r><w:t>a</w:t><w:br/><w:t>b</w:t><w:cr/><w:t>c</w:t></w:r></w:p>", &mut text);
        assert_eq!(text, "a\nb\nc\n");
        text.clear();
        // An empty paragraph, and changes and notes without content, end where they begin.
        let xml = "<text:p/>no<text:tracked-changes/><office:annotation/><text:p>a<text:tab/>b<text:line-break/>c\
                   <office:annotation>no<text:s/><text:tab/><text:line-break/></office:annotation>d</text:p>";
        open_document(xml, &mut text);
        assert_eq!(text, "a b\ncd\n");
    }

    fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
        use std::io::Write;
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(content.as_bytes()).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn files_and_texts_may_be_as_long_as_the_limit() {
        let xml = "<w:p><w:t>Red ants walk.</w:t></w:p>";
        let document = zipped(&[("word/document.xml", xml)]);
        assert_eq!(office(&document, xml.len()).unwrap(), (None, "Red ants walk.".to_owned()));
        assert!(matches!(office(&document, xml.len() - 1), Err(Problem::TooLong { .. })));
        let files = |limit| Files { archive: ZipArchive::new(Cursor::new(&document[..])).unwrap(), limit };
        let within = |limit| files(limit).within_limit("ants".to_owned(), "");
        assert_eq!(within(4).unwrap(), (None, "ants".to_owned()));
        for limit in [3, 2, 0] {
            assert!(matches!(within(limit), Err(Problem::TooLong { .. })), "{limit}");
        }
    }

    #[test]
    fn other_files_say_what_they_are() {
        let said = |name| office(&zipped(&[(name, "<x/>")]), 100).unwrap_err().to_string();
        assert_eq!(said("xl/workbook.xml"), "a workbook among texts, which is not read");
        assert_eq!(said("a.xml"), "a ZIP archive, but no DOCX, ODT or EPUB, which is not read");
    }

    #[test]
    fn references_are_beside_their_file() {
        assert_eq!(beside("OEBPS/content.opf", "text/ch%201.xhtml#part"), "OEBPS/text/ch 1.xhtml");
        assert_eq!(beside("content.opf", "../../a.xhtml"), "a.xhtml");
        assert_eq!(beside("a/b.opf", "%zz%"), "a/%zz%");
        assert_eq!(
            title("<dc:title> A\n <b/>title</dc:title><dc:title>other</dc:title>"),
            Some("A".to_owned())
        );
    }
}
