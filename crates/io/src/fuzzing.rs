//! Bodies of the fuzz targets, kept here so that a test on stable can replay their inputs.
//!
//! Each returns whether the input was accepted. What is accepted keeps the promises of its type and survives
//! being written and read again; what is refused is refused with a line and a remedy.

use std::cell::Cell;
use std::io::{BufReader, Cursor, Read, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use encoding_rs::{ISO_2022_JP, UTF_8};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::alphabet::Alphabet;
use crate::columns::TEXT;
use crate::document::{Document, collected};
use crate::docword::{self, Counts};
use crate::encoding::{Transcoder, decode};
#[cfg(feature = "html")]
use crate::encoding::{declared, is_page};
use crate::error::{Problem, ReadError};
use crate::format::Table;
use crate::item::Item;
use crate::options::ReadOptions;
use crate::sequences::{self, SequenceFormat, SequenceOptions, SequenceSet};
use crate::source::{Budget, HEAD, Limits, Source};
use crate::{ModelFile, jsonl, matrix_market, svmlight, table as tables};

#[cfg(feature = "files")]
mod blocks;
#[cfg(feature = "files")]
pub use blocks::blocks;

const FILE: &str = "input";
const LIMITS: Limits = Limits { record_bytes: 1 << 10, total_bytes: 1 << 16 };

/// Everything that is read, within small limits.
fn options() -> ReadOptions {
    ReadOptions { other_columns: true, limits: LIMITS, ..ReadOptions::default() }
}

/// Any bytes as a table; the first says how its fields are told apart.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn table(data: &[u8]) -> bool {
    let Some((&kind, bytes)) = data.split_first() else { return false };
    let table = [Table::Comma, Table::Semicolon, Table::Tab][usize::from(kind) % 3];
    let file = Arc::from(Path::new(FILE));
    let read = |bytes: &[u8]| {
        let (mut features, mut bags, mut about, mut others) = (0, 0, 0, 0);
        let documents = collected(|visit| {
            tables::each(bytes, &file, table, TEXT, &options(), &mut |item| match item {
                Item::Document(document) => visit(document),
                Item::Vocabulary(columns) => {
                    features = columns.len();
                    Ok(())
                }
                Item::Bag(bag) => {
                    assert!(bag.is_sorted_by(|a, b| a.0 < b.0));
                    assert!(bag.iter().all(|&(feature, x)| (feature as usize) < features && x.is_finite()));
                    bags += 1;
                    Ok(())
                }
                Item::OtherColumns(names) => {
                    others = names.len();
                    Ok(())
                }
                Item::OtherFields(fields) => {
                    assert!(fields.len() == others && others > 0);
                    Ok(())
                }
                _ => {
                    about += 1;
                    Ok(())
                }
            })
        })?;
        assert!(documents.is_empty() == (features > 0) && bags == about && (features == 0) == (bags == 0));
        assert!(bags <= bytes.len() && features <= bytes.len());
        Ok(documents)
    };
    let documents = match read(bytes) {
        Ok(documents) if documents.is_empty() => return true, // a table of numbers
        Ok(documents) => documents,
        Err(error) => return refused(&error, bytes),
    };
    check(&documents, bytes);
    let mut again = b"text\n".to_vec();
    for document in &documents {
        match table {
            // A line of white space would be an empty line; the second field makes it a record.
            Table::Tab => writeln!(again, "{}", document.text.trim_end_matches('\r')),
            _ => writeln!(again, "\"{}\"", document.text.replace('"', "\"\"")),
        }
        .unwrap_or_default();
    }
    // A carriage return at the end of a line belongs to the line end, when it is read again.
    let texts = |documents: &[Document]| -> Vec<String> {
        let texts = documents.iter().map(|document| document.text.replace('\r', ""));
        texts.filter(|text| table != Table::Tab || !text.trim().is_empty()).collect()
    };
    if texts(&documents).is_empty() || again.len() > 1 << 15 {
        return true;
    }
    match read(&again) {
        Ok(found) => assert_eq!(texts(&found), texts(&documents)),
        // Quotes are twice as long as they were.
        Err(error) => assert!(matches!(error.problem(), Problem::TooLong { .. }), "{error}"),
    }
    true
}

/// Any bytes as text, whole and as a stream in pieces; the first says how long these are.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn encoding(data: &[u8]) -> bool {
    let Some((&length, bytes)) = data.split_first() else { return false };
    let found = Rc::new(Cell::new(UTF_8));
    let inner = BufReader::with_capacity(usize::from(length) + 1, bytes);
    let mut stream = Transcoder::new(inner, &bytes[..bytes.len().min(HEAD)], Rc::clone(&found));
    let (mut read, mut piece) = (Vec::new(), [0; 3]);
    let ended = loop {
        match stream.read(&mut piece) {
            Ok(0) => break Ok(()),
            Ok(length) => read.extend_from_slice(&piece[..length]),
            Err(error) => break Err(error),
        }
    };
    match decode(bytes.to_vec(), None) {
        Ok((text, encoding)) => {
            assert!(text.len() <= 3 * bytes.len());
            if encoding != ISO_2022_JP {
                ended.unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(found.get(), encoding);
                // The mark of UTF-8 is left to the reader of lines; that of UTF-16 is taken once, and a second is a character.
                let marked = read.strip_prefix(b"\xef\xbb\xbf").filter(|_| encoding == UTF_8);
                assert_eq!(marked.unwrap_or(&read), text.as_bytes());
            }
            true
        }
        Err((problem, line)) => {
            assert_eq!(line.is_some(), matches!(problem, Problem::NotUtf8 { .. }));
            refused(&ReadError::new(Path::new(FILE), line, problem), bytes)
        }
    }
}

/// Any bytes as a web page.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "html")]
#[must_use]
pub fn page(data: &[u8]) -> bool {
    let Ok((text, _)) = decode(data.to_vec(), declared(data)) else { return false };
    let (title, found) = crate::page::page(&text);
    assert!(title.is_none_or(|title| !title.is_empty() && title.len() <= 3 * text.len()));
    assert!(found.len() <= 4 * text.len()); // a reference such as `&nGt;` is shorter than its characters; a tag ends a line
    is_page(data)
}

/// Any bytes as a message, and as a mailbox of which each message is read.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "mail")]
#[must_use]
pub fn mail(data: &[u8]) -> bool {
    let mut mailbox = crate::mail::Mailbox::new(data, LIMITS.record_bytes);
    let (mut last, mut bytes) = (0, 0);
    while let Ok(Some(message)) = mailbox.next() {
        assert!(message.line > last && message.line <= lines(data).max(1));
        last = message.line;
        if let Some(message) = message.bytes {
            assert!(message.len() <= LIMITS.record_bytes);
            bytes += message.len();
            _ = crate::mail::mail(&message);
        }
    }
    assert!(bytes <= data.len());
    let found = crate::mail::mail(data).is_ok_and(|mail| {
        assert!(mail.title.is_none_or(|title| !title.is_empty() && !title.contains(char::is_control)));
        !mail.text.trim().is_empty()
    });
    found && crate::mail::is_mail(data)
}

/// Any bytes as a ZIP or TAR file; the files of a TAR file are parts of it, whatever its headers claim.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "archives")]
#[must_use]
pub fn archive(data: &[u8]) -> bool {
    use crate::archive::{Member, each_in_tar, each_in_zip, is_tar};
    let (size, mut bytes) = (data.len() as u64, 0);
    let mut each = |member: Member| {
        let read = member.bytes.map_or(0, |bytes| bytes.len());
        assert!(read <= LIMITS.record_bytes);
        bytes += read;
        Ok(())
    };
    if !data.starts_with(crate::source::ZIP) {
        let read: Result<(), Problem> = each_in_tar(data, size, LIMITS.record_bytes, &mut each);
        assert!(bytes <= data.len());
        return is_tar(data) && read.is_ok();
    }
    let read: Result<(), Problem> = each_in_zip(Cursor::new(data), size, LIMITS.record_bytes, &mut each);
    assert!(bytes as u64 <= size * 100 + 2 * LIMITS.record_bytes as u64 + 1);
    read.is_ok()
}

/// Any bytes as a document of a word processor or an electronic book; also as each of its files, since few bytes are a ZIP archive.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "office")]
#[must_use]
pub fn office(data: &[u8]) -> bool {
    const LIMIT: usize = 1 << 20;
    let parts = [
        "word/document.xml",
        "docProps/core.xml",
        "content.xml",
        "mimetype",
        "META-INF/container.xml",
        "a.opf",
    ];
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    // The first byte says which files there are, and all are of the same bytes: of a package, too, whose chapters are itself.
    let (kinds, content) = data.split_first().map_or((0, data), |(&kinds, content)| (kinds, content));
    for (n, part) in parts.iter().enumerate().filter(|(n, _)| kinds >> n & 1 == 1) {
        let content = match (n, kinds >> 6) {
            (3, 1) => b"application/epub+zip",
            (3, 2) => &b"application/vnd.oasis.opendocument.text"[..],
            (4, 3) => b"<rootfile full-path=a.opf>",
            _ => content,
        };
        let written = archive.start_file(*part, zip::write::SimpleFileOptions::default());
        if written.is_ok() {
            _ = std::io::Write::write_all(&mut archive, content);
        }
    }
    let archive = archive.finish().map(std::io::Cursor::into_inner).unwrap_or_default();
    let mut read = false;
    for bytes in [data, &archive] {
        if let Ok((title, text)) = crate::office::office(bytes, LIMIT) {
            assert!(title.is_none_or(|title| !title.is_empty() && title.len() <= 3 * LIMIT));
            assert!(text.len() <= LIMIT);
            read = true;
        }
    }
    read
}

#[cfg(any(feature = "arrow", feature = "mail", feature = "parquet"))]
thread_local! {
    static CONTAINED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Where a panic of a library becomes an error: a fuzzer's hook, which ends the program, is not to mind it.
#[cfg(any(feature = "arrow", feature = "mail", feature = "parquet"))]
#[derive(Debug)]
pub(crate) struct Contained(bool);

#[cfg(any(feature = "arrow", feature = "mail", feature = "parquet"))]
impl Contained {
    pub(crate) fn begin() -> Self {
        Self(CONTAINED.replace(true))
    }
}

#[cfg(any(feature = "arrow", feature = "mail", feature = "parquet"))]
impl Drop for Contained {
    fn drop(&mut self) {
        CONTAINED.set(self.0);
    }
}

/// Has the hook of panics, by which a fuzzer ends the program, mind those alone that do not become an error.
#[cfg(any(feature = "arrow", feature = "mail", feature = "parquet"))]
pub fn ignore_contained_panics() {
    let ends = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !CONTAINED.get() {
            ends(panic);
        }
    }));
}

/// Any bytes as a workbook; or as the file of cells of one, which chance would not compress. The first byte says of which kind.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "office")]
#[must_use]
pub fn workbook(data: &[u8]) -> bool {
    let (kind, content) = data.split_first().map_or((0, data), |(&kind, content)| (kind, content));
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    // Of one of Excel the parts are divided by zero bytes: the sheet, its strings, its styles.
    let mut parts = content.split(|byte| *byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    let files: &[(&str, &[u8])] = match kind % 2 {
        0 => &[("content.xml", content)],
        _ => &[
            ("xl/workbook.xml", b"<sheet name=\"a\" r:id=\"0\"/><sheet name=\"b\" state=\"hidden\" r:id=\"0\"/>"),
            (
                "xl/_rels/workbook.xml.rels",
                b"<r id=\"0\" type=\"/worksheet\" target=\"0\"/><r type=\"/sharedStrings\" target=\"1\"/><r type=\"/styles\" target=\"2\"/>",
            ),
            ("xl/0", part()),
            ("xl/1", part()),
            ("xl/2", part()),
        ],
    };
    for (name, content) in files {
        if archive.start_file(*name, zip::write::SimpleFileOptions::default()).is_ok() {
            _ = archive.write_all(content);
        }
    }
    let archive = archive.finish().map(Cursor::into_inner).unwrap_or_default();
    let mut accepted = false;
    for bytes in [data, &archive] {
        let budget = Budget::new(LIMITS.total_bytes);
        let (mut last, mut characters, mut rows) = (0, 0, 0u64);
        let read = crate::workbook::read(
            Cursor::new(bytes),
            Path::new(FILE),
            LIMITS.record_bytes,
            &budget,
            |table| {
                while table.next()? {
                    assert!(table.line() > last && table.len() <= 1 << 14, "rows are in order");
                    last = table.line();
                    rows += 1;
                    characters +=
                        (0..table.len()).map(|column| table.field(column).len() as u64).sum::<u64>();
                    assert!(table.field(table.len()).is_empty());
                }
                Ok::<_, ReadError>(())
            },
        );
        match read {
            Ok(_) => {
                assert!(rows > 0 && characters >= rows && budget.used() >= characters);
                accepted = true;
            }
            Err(error) => {
                let message = error.to_string();
                assert!(message.contains("\nremedy: ") && message.lines().count() == 2, "{message}");
            }
        }
        assert!(characters <= LIMITS.total_bytes);
    }
    accepted
}

/// Any bytes as a file of code; the first says in which language.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "files")]
#[must_use]
pub fn code(data: &[u8]) -> bool {
    let Some((&kind, content)) = data.split_first() else { return false };
    let names = ["a.c", "a.java", "a.js", "a.go", "a.rs", "a.py", "a.sh", "a.sql", "a.txt"];
    let text = String::from_utf8_lossy(content);
    let Some(read) = crate::code::code(Path::new(names[usize::from(kind) % names.len()]), &text) else {
        return false;
    };
    // A blank or a line end for each name, whose words may be of two letters.
    assert!(read.len() <= 2 * text.len() + 1);
    assert!(read.split(|c: char| !c.is_alphabetic()).all(|word| text.contains(word)));
    !read.is_empty()
}

/// Any bytes as an RTF document.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "files")]
#[must_use]
pub fn rtf(data: &[u8]) -> bool {
    let read = crate::rtf::rtf(data);
    if let Ok((title, text)) = &read {
        assert!(title.as_ref().is_none_or(|title| !title.is_empty()));
        // No character takes fewer bytes than a third of what stands for it in UTF-8.
        assert!(text.len() + title.as_ref().map_or(0, String::len) <= 3 * data.len());
    }
    read.is_ok()
}

/// Any bytes as a PDF document; also as the contents of its page, the table of its font and the font, since few bytes are a document.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "pdf")]
#[must_use]
pub fn pdf(data: &[u8]) -> bool {
    const LIMIT: usize = 1 << 16;
    let read = |bytes: &[u8]| {
        let read = crate::pdf::pdf(bytes, LIMIT);
        if let Ok((title, text)) = &read {
            assert!(
                title.as_ref().is_none_or(|title| !title.is_empty() && !title.contains(char::is_control))
            );
            assert!(text.len() <= LIMIT && !text.contains('\0'));
        }
        read.is_ok()
    };
    let objects = [
        "<</Pages 2 0 R>>",
        "<</Kids[3 0 R]>>",
        "<</Contents[4 0 R 5 0 R]/Resources<</Font<</F 6 0 R/G 7 0 R>>/XObject<</X 5 0 R>>>>>>",
        "<</Length 11>>stream\n/F 9 Tf BT \nendstream",
    ];
    let fonts = [
        "<</Subtype/Type1/ToUnicode 5 0 R/FontDescriptor<</FontFile 5 0 R>>>>",
        "<</Subtype/Type0/Encoding 5 0 R/ToUnicode 5 0 R/DescendantFonts[<</W 5 0 R>>]>>",
    ];
    let mut objects = objects.map(|object| object.as_bytes().to_vec()).to_vec();
    let about = format!("<</Subtype/Form/Length {}>>stream\n", data.len());
    objects.push([about.as_bytes(), data, b"\nendstream"].concat());
    objects.extend(fonts.map(|font| font.as_bytes().to_vec()));
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut table = String::from("xref 1 7\n");
    for (n, object) in objects.iter().enumerate() {
        table += &format!("{} 0 n\n", file.len());
        file.extend([format!("{} 0 obj\n", n + 1).as_bytes(), object, b"\nendobj\n"].concat());
    }
    let end = format!("{table}trailer<</Root 1 0 R/Info 5 0 R>>startxref {}", file.len());
    file.extend(end.bytes());
    read(&file);
    read(data)
}

/// Any bytes as JSON lines or an array.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn jsonl(data: &[u8]) -> bool {
    let file = Arc::from(Path::new(FILE));
    let read = |bytes: &[u8]| {
        collected(|visit| {
            jsonl::each(bytes, &file, &options(), &mut |item| match item {
                Item::Document(document) => visit(document),
                _ => Ok(()),
            })
        })
    };
    let documents = match read(data) {
        Ok(documents) => documents,
        Err(error) => return refused(&error, data),
    };
    check(&documents, data);
    let line = |document: &Document| {
        let Document { id, title, label, text, .. } = document;
        serde_json::json!({ "id": id, "title": title, "label": label, "text": text }).to_string()
    };
    let again = documents.iter().map(line).collect::<Vec<_>>().join("\n");
    match read(again.as_bytes()) {
        Ok(found) => {
            let plain = |documents: &[Document]| -> Vec<_> {
                let fields = |d: &Document| (d.id.clone(), d.label.clone(), d.text.clone());
                documents.iter().map(fields).collect()
            };
            assert_eq!(plain(&found), plain(&documents));
        }
        Err(error) => assert!(matches!(error.problem(), Problem::TooLong { .. }), "{error}"),
    }
    true
}

/// Any bytes as sequences; the first says in which format, whether the alphabet is stated and whether case matters.
///
/// # Panics
/// If a promise is broken.
pub fn sequences(data: &[u8]) -> bool {
    let Some((&kind, bytes)) = data.split_first() else { return false };
    let formats = [
        SequenceFormat::Fasta,
        SequenceFormat::Lines,
        SequenceFormat::Table(Table::Comma),
        SequenceFormat::Table(Table::Tab),
    ];
    let stated = if kind & 4 == 0 { Ok(None) } else { Alphabet::new("ACGT").map(Some) };
    let Ok(alphabet) = stated else { panic!("these are four") };
    let distinguish_case = kind & 8 != 0;
    let options =
        SequenceOptions { alphabet, distinguish_case, limits: LIMITS, ..SequenceOptions::default() };
    let read = |bytes, format, options: &SequenceOptions| {
        sequences::collect(bytes, Path::new(FILE), format, options)
    };
    let set = match read(bytes, formats[usize::from(kind) % 4], &options) {
        Ok(set) => set,
        Err(error) => return refused(&error, bytes),
    };
    let SequenceSet { alphabet, sequences, ids, labels, lines: starts } = &set;
    let (_, offsets, entries) = sequences.clone().into_parts();
    assert!(entries.len() <= bytes.len(), "memory is bounded by what was read");
    assert_eq!((offsets.first(), offsets.last()), (Some(&0), Some(&entries.len())));
    assert!(offsets.is_sorted_by(|a, b| a < b) && offsets.len() > 1);
    assert_eq!([ids.len(), labels.len(), starts.len()], [offsets.len() - 1; 3]);
    assert!(entries.iter().all(|&entry| usize::from(entry) < alphabet.len()));
    assert!(starts.is_sorted_by(|a, b| a < b) && starts.iter().all(|line| (1..=lines(bytes)).contains(line)));
    // A line for each sequence; the mark keeps one that begins the first of them.
    let line = |ends: &[usize]| -> String {
        let own = entries[ends[0]..ends[1]].iter();
        own.map(|&entry| alphabet.symbols()[usize::from(entry)]).chain(['\n']).collect()
    };
    let again = "\u{feff}".to_owned() + &offsets.windows(2).map(line).collect::<String>();
    let options = SequenceOptions { alphabet: Some(alphabet.clone()), ..SequenceOptions::default() };
    let found = read(again.as_bytes(), SequenceFormat::Lines, &options);
    assert!(found.is_ok_and(|found| found.sequences == *sequences));
    true
}

/// A vocabulary, a zero byte, and docword counts; without the zero byte the vocabulary has three words.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn docword(data: &[u8]) -> bool {
    let (words, bytes) = words_and_counts(data);
    let read = |bytes: &[u8]| docword::read(bytes, Path::new(FILE), words, Path::new("words"), &LIMITS);
    let counts = match read(bytes) {
        Ok(counts) => counts,
        Err(error) => {
            let at_fault = if error.file() == Path::new(FILE) { bytes } else { words };
            return refused(&error, at_fault);
        }
    };
    check_counts(&counts, bytes.len());
    let (documents, entries) = (counts.names.len(), counts.bags.indices().len());
    let mut again = format!("{documents}\n{}\n{entries}\n", counts.vocabulary.len());
    for_each_count(&counts, |bag, word, count| again += &format!("{bag} {word} {count}\n"));
    // Documents without entries are believed up to the number of bytes, which may be fewer now.
    again += &"\n".repeat(bytes.len());
    assert_eq!(read(again.as_bytes()).ok().as_ref(), Some(&counts));
    true
}

/// A vocabulary, a zero byte, and a Matrix Market file, as `docword` takes them; read with a document for each row and, with
/// as many names, for each column.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn matrix_market(data: &[u8]) -> bool {
    let (words, bytes) = words_and_counts(data);
    let vocabulary = match docword::read_vocabulary(words, Path::new("words"), &LIMITS) {
        Ok(vocabulary) => vocabulary,
        Err(error) => return refused(&error, words),
    };
    // As the features of Cell Ranger, too: a name for each line.
    let features = matrix_market::read_features(words, Path::new("words"), &LIMITS);
    assert!(features.is_ok_and(|features| features.len() == vocabulary.len()));
    let read = |bytes: &[u8], names: Option<Vec<String>>| {
        let cells = names.map(|names| (names, Path::new("names")));
        let words = (vocabulary.clone(), Path::new("words"));
        docword::collected(Path::new(FILE), |visit| {
            matrix_market::each(bytes, Path::new(FILE), words, cells, &LIMITS, docword::RUN, visit)
        })
    };
    let counts = match read(bytes, None) {
        Ok(counts) => counts,
        Err(error) => {
            let at_fault = if error.file() == Path::new(FILE) { bytes } else { words };
            return refused(&error, at_fault);
        }
    };
    check_counts(&counts, bytes.len());
    let (documents, words, entries) =
        (counts.names.len(), counts.vocabulary.len(), counts.bags.indices().len());
    let mut rows = format!("%%MatrixMarket matrix coordinate real general\n{documents} {words} {entries}\n");
    let mut columns =
        format!("%%MatrixMarket matrix coordinate real general\n{words} {documents} {entries}\n");
    for_each_count(&counts, |bag, word, count| {
        rows += &format!("{bag} {word} {count}\n");
        columns += &format!("{word} {bag} {count}\n");
    });
    rows += &"\n".repeat(bytes.len());
    assert_eq!(read(rows.as_bytes(), None).ok().as_ref(), Some(&counts));
    let names: Vec<String> = counts.names.iter().map(|name| format!("bag {name}")).collect();
    let named = Counts { names: names.clone(), ..counts };
    assert_eq!(read(columns.as_bytes(), Some(names)).ok(), Some(named));
    true
}

/// A vocabulary, a zero byte, and a file of arrays; or, where that is none, what such a file holds, uncompressed and without
/// check sums, which no chance finds: of each array a byte that says which it is, two that say how long, and its bytes.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "npz")]
#[must_use]
pub fn npz(data: &[u8]) -> bool {
    let (words, bytes) = words_and_counts(data);
    let vocabulary = match docword::read_vocabulary(words, Path::new("words"), &LIMITS) {
        Ok(vocabulary) => vocabulary,
        Err(error) => return refused(&error, words),
    };
    let read = |bytes: &[u8]| {
        let (words, budget) = ((vocabulary.clone(), Path::new("words")), Budget::new(LIMITS.total_bytes));
        docword::collected(Path::new(FILE), |visit| {
            crate::npz::each(Cursor::new(bytes), Path::new(FILE), words, &budget, 4, visit)
        })
    };
    let mut packed = Vec::new();
    let mut rest = bytes;
    while let [which, low, high, after @ ..] = rest {
        let (array, after) = after.split_at(after.len().min(usize::from(u16::from_le_bytes([*low, *high]))));
        let names = ["format", "shape", "indptr", "indices", "data", "row", "col", "arr_0"];
        packed.push((names[usize::from(*which) % names.len()], array.to_vec()));
        rest = after;
    }
    let mut accepted = false;
    for bytes in [bytes, &archive_of(&packed)] {
        let counts = match read(bytes) {
            Ok(counts) => counts,
            Err(error) => {
                let message = error.to_string(); // arrays have no lines
                assert!(
                    error.line().is_none() && message.contains("\nremedy: ") && message.lines().count() == 2
                );
                continue;
            }
        };
        check_counts(&counts, LIMITS.total_bytes as usize);
        // Written as coordinates it is read as the same.
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for_each_count(&counts, |bag, word, count| {
            rows.extend(((bag - 1) as u32).to_le_bytes());
            columns.extend((word - 1).to_le_bytes());
            values.extend(count.to_le_bytes());
        });
        let shape =
            [counts.names.len() as u32, counts.vocabulary.len() as u32].map(u32::to_le_bytes).concat();
        let array = |kind: &str, extents: String, elements: &[u8]| {
            let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({extents})}}");
            let length = (header.len() as u16).to_le_bytes();
            [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), elements].concat()
        };
        let entries = format!("{},", values.len() / 8);
        let again = archive_of(&[
            ("format", array("|S3", String::new(), b"coo")),
            ("shape", array("<u4", "2,".to_owned(), &shape)),
            ("row", array("<u4", entries.clone(), &rows)),
            ("col", array("<u4", entries.clone(), &columns)),
            ("data", array("<f8", entries, &values)),
        ]);
        match read(&again) {
            Ok(again) => assert_eq!(again, counts),
            Err(error) => assert!(matches!(error.problem(), Problem::TooMuch { .. }), "{error}"),
        }
        accepted = true;
    }
    accepted
}

/// Limits of files of columns, whose metadata is longer than their rows.
#[cfg(any(feature = "arrow", feature = "parquet"))]
const COLUMNS: Limits = Limits { record_bytes: 1 << 16, total_bytes: 1 << 20 };

/// Any bytes as a Parquet file.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "parquet")]
#[must_use]
pub fn parquet(data: &[u8]) -> bool {
    let source = Cursor::new(std::sync::Arc::<[u8]>::from(data));
    let opened = crate::parquet::Reader::new(source, COLUMNS.record_bytes, COLUMNS.total_bytes);
    opened.is_ok_and(|mut rows| columns(&mut rows))
}

/// Any bytes as an Arrow file or stream.
///
/// # Panics
/// If a promise is broken.
#[cfg(feature = "arrow")]
#[must_use]
pub fn arrow(data: &[u8]) -> bool {
    let opened = crate::arrow::Reader::new(Cursor::new(data), COLUMNS.record_bytes, COLUMNS.total_bytes);
    opened.is_ok_and(|mut rows| columns(&mut rows))
}

/// All rows of a file of columns: each has a cell for each column, and they end within the limits. The second half is read of one column.
#[cfg(any(feature = "arrow", feature = "parquet"))]
fn columns(rows: &mut dyn crate::columnar::Columnar) -> bool {
    let budget = Budget::new(COLUMNS.total_bytes);
    let names = rows.names().len();
    let read = crate::columnar::read(rows, Path::new(FILE), COLUMNS.record_bytes, &budget, |table| {
        let mut read = 0_u64;
        while table.next()? {
            assert_eq!(table.len(), names);
            let bytes: usize = (0..names).map(|column| table.field(column).len()).sum();
            assert!(read == 0 || bytes <= COLUMNS.record_bytes, "a row is within the limit");
            read += 1;
            if read == 3 && names > 0 {
                table.only(&[0], &[])?;
            }
            // Of a file without columns that are read nothing counts.
            if names == 0 && read > 1 << 10 {
                break;
            }
        }
        Ok::<_, ReadError>(read)
    });
    match read {
        Ok(_) => true,
        Err(error) => {
            assert!(error.to_string().contains("\nremedy: "), "{error}");
            false
        }
    }
}

/// A ZIP file of arrays.
#[cfg(feature = "npz")]
fn archive_of(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in arrays {
        if archive.start_file(format!("{name}.npy"), options).is_ok() {
            _ = archive.write_all(bytes);
        }
    }
    archive.finish().map(Cursor::into_inner).unwrap_or_default()
}

/// A vocabulary, a zero byte, and an SVMlight file, as `docword` takes them.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn svmlight(data: &[u8]) -> bool {
    let (words, bytes) = words_and_counts(data);
    let vocabulary = match docword::read_vocabulary(words, Path::new("words"), &LIMITS) {
        Ok(vocabulary) => vocabulary,
        Err(error) => return refused(&error, words),
    };
    let read = |bytes: &[u8]| {
        docword::collected(Path::new(FILE), |visit| {
            svmlight::each(bytes, Path::new(FILE), vocabulary.clone(), &LIMITS, visit)
        })
    };
    let counts = match read(bytes) {
        Ok(counts) => counts,
        Err(error) => return refused(&error, bytes),
    };
    check_counts(&counts, bytes.len());
    let mut lines: Vec<String> =
        counts.labels.iter().map(|label| label.clone().unwrap_or_else(|| "qid:1".to_owned())).collect();
    for_each_count(&counts, |bag, word, count| lines[bag - 1] += &format!(" {word}:{count}"));
    // The mark keeps one that begins the first label.
    match read(("\u{feff}".to_owned() + &lines.join("\n")).as_bytes()) {
        Ok(found) => assert_eq!(found, counts),
        // A count may be written longer than it was.
        Err(error) => assert!(matches!(error.problem(), Problem::TooLong { .. }), "{error}"),
    }
    svmlight::are_lines(std::str::from_utf8(bytes).unwrap_or_default().lines())
}

fn words_and_counts(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|&byte| byte == 0) {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (b"ant\nbee\ncow\n", data),
    }
}

/// Counts keep their promises.
fn check_counts(counts: &Counts, bytes: usize) {
    let Counts { vocabulary, bags, names, labels } = counts;
    let (offsets, features, values) = (bags.offsets(), bags.indices(), bags.counts());
    assert!(offsets.len() <= bytes.max(docword::ROOM as usize) + 1, "memory is bounded by what was read");
    assert_eq!((offsets.first(), offsets.last()), (Some(&0), Some(&features.len())));
    assert!(offsets.is_sorted() && offsets.len() > 1);
    assert_eq!([names.len(), labels.len()], [offsets.len() - 1; 2]);
    assert_eq!(features.len(), values.len());
    assert!(features.iter().all(|&feature| (feature as usize) < vocabulary.len()));
    assert!(values.iter().all(|&count| count > 0.0 && count.is_finite()));
    assert!(offsets.windows(2).all(|ends| features[ends[0]..ends[1]].is_sorted_by(|a, b| a < b)));
}

/// Each document, word and count, the first two from 1.
fn for_each_count(counts: &Counts, mut each: impl FnMut(usize, u32, f64)) {
    let (offsets, features, values) = (counts.bags.offsets(), counts.bags.indices(), counts.bags.counts());
    for (bag, ends) in offsets.windows(2).enumerate() {
        (ends[0]..ends[1]).for_each(|i| each(bag + 1, features[i] + 1, values[i]));
    }
}

/// Any bytes as a file that may be compressed: never more than the limit, and what was compressed comes back.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn gzip(data: &[u8]) -> bool {
    let read = |bytes: &[u8]| -> Result<(bool, Vec<u8>), Problem> {
        let budget = Budget::new(LIMITS.total_bytes);
        let mut found = Vec::new();
        let source = Source::from_reader(Cursor::new(bytes.to_vec()), &budget)?;
        let gzip = source.gzip;
        source.reader().read_to_end(&mut found).map_err(crate::source::problem_of)?;
        assert_eq!(budget.used(), found.len() as u64);
        assert!(found.len() as u64 <= LIMITS.total_bytes);
        Ok((gzip, found))
    };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(data).and_then(|()| encoder.finish()).unwrap_or_default();
    if data.len() as u64 <= LIMITS.total_bytes {
        assert!(read(&packed).is_ok_and(|(gzip, found)| gzip && found == data));
    }
    // Cut short anywhere, here at a place that the input chooses, it is an error of its own kind.
    let cut = 2 + data.first().map_or(0, |&byte| usize::from(byte)) % (packed.len() - 2);
    assert!(matches!(read(&packed[..cut]), Err(Problem::TruncatedGzip | Problem::TooMuch { .. })));
    match read(data) {
        Ok((gzip, found)) => {
            assert!(gzip || found == data);
            true
        }
        Err(Problem::TruncatedGzip | Problem::DamagedGzip { .. } | Problem::TooMuch { .. }) => false,
        Err(problem) => panic!("{problem}"),
    }
}

/// Any bytes as a model file.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn model(data: &[u8]) -> bool {
    let model = match ModelFile::from_bytes(data) {
        Ok(model) => model,
        Err(problem) => {
            assert!(!problem.to_string().is_empty());
            return false;
        }
    };
    let bytes: usize = model.tables.iter().map(|table| table.data.len()).sum();
    assert!(bytes <= data.len(), "memory is bounded by the file");
    for table in &model.tables {
        assert_eq!(table.shape.iter().product::<usize>(), table.data.len());
    }
    let again = model.to_bytes().ok().map(|bytes| (ModelFile::from_bytes(&bytes).ok(), bytes));
    let Some((Some(found), bytes)) = again else { panic!("what was read can be written and read again") };
    assert_eq!(found.metadata, model.metadata);
    assert!(model.tables.iter().all(|table| found.table(&table.name) == Some(table)));
    assert!(found.to_bytes().is_ok_and(|twice| twice == bytes), "equal models give equal bytes");
    true
}

/// Documents keep their promises.
fn check(documents: &[Document], bytes: &[u8]) {
    assert!(!documents.is_empty());
    let lines = lines(bytes);
    assert!(documents.iter().all(|document| (1..=lines).contains(&document.line)));
    // Elements of an array may share a line.
    let array = bytes.iter().find(|byte| !byte.is_ascii_whitespace() && byte.is_ascii()) == Some(&b'[');
    assert!(documents.is_sorted_by(|a, b| a.line < b.line || array && a.line == b.line));
    assert!(documents.iter().all(|document| document.text.len() <= LIMITS.record_bytes));
    assert!(documents.iter().all(|document| !document.id.is_empty()));
}

/// Errors name the file, a line of it, and the remedy. Always false.
fn refused(error: &ReadError, bytes: &[u8]) -> bool {
    let message = error.to_string();
    assert!(
        message.starts_with(&error.file().display().to_string()) && message.contains("\nremedy: "),
        "{message}"
    );
    assert_eq!(message.lines().count(), 2, "{message}");
    match error.line() {
        Some(line) => assert!((1..=lines(bytes)).contains(&line), "{message}"),
        None => assert!(
            matches!(
                error.problem(),
                Problem::Empty
                    | Problem::Binary
                    | Problem::Undecodable { .. }
                    | Problem::NoDocuments { .. }
                    | Problem::VocabularyLength { .. }
            ),
            "{message}"
        ),
    }
    false
}

fn lines(bytes: &[u8]) -> u64 {
    let ends = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    ends + u64::from(bytes.last().is_some_and(|&byte| byte != b'\n'))
}
