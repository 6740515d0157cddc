//! Each format becomes the documents of its plain-text twin, word by word; cut or changed, it ends in a reason.
//!
//! `formats/make.py` writes the files with the programs that are there: Python's own modules and, where they are installed, pandoc,
//! LibreOffice, Ghostscript with groff, Chromium, SciPy, ReportLab, openpyxl, XlsxWriter, odfpy, nbformat, PyArrow and polars. The variable PYTHON names the
//! interpreter; FORMATS a folder that `make.py` has filled.

use crate::common;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use common::{documents, gzip, refusal};
use countgrid_counts::Bags;
use countgrid_io::{DataSet, Format, Limits, ReadOptions, read};
use serde_json::Value;

/// What was made, and of which documents.
struct Made {
    path: PathBuf,
    documents: Vec<usize>,
    counts: bool,
}

fn say(line: &str) {
    // The harness captures what the print macros write, but not this.
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn json(path: &Path) -> Vec<Value> {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// What a document of the twin says.
struct Twin {
    title: Vec<String>,
    paragraphs: Vec<String>,
}

fn collection(folder: &Path) -> (Vec<Made>, Vec<Twin>) {
    let formats = json(&folder.join("formats.json")).into_iter().map(|format| Made {
        path: folder.join(format["path"].as_str().unwrap()),
        documents: serde_json::from_value(format["documents"].clone()).unwrap(),
        counts: format["counts"].as_bool().unwrap(),
    });
    let twin = json(&folder.join("twin.json")).into_iter().map(|document| {
        let paragraphs = document["paragraphs"].as_array().unwrap().iter();
        Twin {
            title: words(document["title"].as_str().unwrap()),
            paragraphs: paragraphs.flat_map(|text| words(text.as_str().unwrap())).collect(),
        }
    });
    (formats.collect(), twin.collect())
}

/// What stands between blanks and has a letter or a digit: marks of a list or a heading are no words.
fn words(text: &str) -> Vec<String> {
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
    words.map(str::to_owned).collect()
}

/// Where the words of a text first differ from its twin's. A title that stands by itself is not in the text, too.
fn difference(title: &str, text: &str, twin: &Twin) -> Option<String> {
    let found = words(text);
    let whole = [&twin.title[..], &twin.paragraphs].concat();
    let alone = words(title) == twin.title && !found.starts_with(&twin.title);
    let expected = if alone { &twin.paragraphs } else { &whole };
    first_difference(&found, expected)
}

fn first_difference(found: &[String], expected: &[String]) -> Option<String> {
    let at = (0..found.len().max(expected.len())).find(|&at| found.get(at) != expected.get(at))?;
    let near =
        |words: &[String]| words.iter().skip(at.saturating_sub(2)).take(6).cloned().collect::<Vec<_>>();
    Some(format!("word {at}: {:?}, expected {:?}", near(found), near(expected)))
}

/// Whether this build reads files with such an ending.
fn is_built(path: &Path) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("parquet") => cfg!(feature = "parquet"),
        Some("arrow" | "feather") => cfg!(feature = "arrow"),
        _ => true,
    }
}

/// What differs first.
fn compare(made: &Made, twin: &[Twin]) -> Result<(), String> {
    let (data, summary) = read(&made.path, &ReadOptions::default()).map_err(|error| error.to_string())?;
    let twins = made.documents.iter().map(|&number| &twin[number]);
    let (found, differences): (_, Vec<_>) = match data {
        DataSet::Documents(documents) if !made.counts => {
            let pairs = documents.iter().zip(twins);
            (
                documents.len(),
                pairs.map(|(found, twin)| difference(&found.title, &found.text, twin)).collect(),
            )
        }
        DataSet::Counts(counts) if made.counts => {
            let repeated =
                |(word, count): (usize, f64)| vec![counts.vocabulary[word].clone(); count as usize];
            let pairs = (0..counts.bags.len()).zip(twins).map(|(bag, twin)| {
                let found: Vec<String> = counts.bags.entries(bag).flat_map(repeated).collect();
                let mut expected = [&twin.title[..], &twin.paragraphs].concat();
                expected.sort();
                first_difference(&found, &expected)
            });
            (counts.bags.len(), pairs.collect())
        }
        _ => return Err("documents for counts, or the reverse".into()),
    };
    if found != made.documents.len() {
        return Err(format!("{found} documents of {}: {summary}", made.documents.len()));
    }
    let first = differences.into_iter().enumerate().find_map(|(at, difference)| Some((at, difference?)));
    first.map_or(Ok(()), |(at, difference)| Err(format!("document {}, {difference}", made.documents[at])))
}

/// The collection, made by the programs that are there.
fn made(folder: &Path) -> Option<(Vec<Made>, Vec<Twin>)> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let folder = std::env::var_os("FORMATS").map_or_else(|| folder.join("formats"), PathBuf::from);
    if !folder.join("formats.json").is_file() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/make.py");
        match Command::new(&python).arg(script).arg(&folder).output() {
            Err(error) => {
                say(&format!("SKIPPED: {python}: {error}"));
                return None;
            }
            Ok(ran) => {
                assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
                say(String::from_utf8_lossy(&ran.stdout).trim());
            }
        }
    }
    Some(collection(&folder))
}

/// What is whole only with its end: a container of parts, a stream under a checksum.
fn needs_its_end(path: &Path) -> bool {
    let endings = ["docx", "epub", "gz", "npz", "ods", "odt", "parquet", "pdf", "xlsx", "zip"];
    path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known))
}

/// Reads a damaged file, among others where a folder held it: whether something was lost, and why.
fn read_damaged(name: &Path, bytes: &[u8], in_folder: bool) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    if in_folder {
        fs::write(folder.path().join("another.txt"), "Another text.").unwrap();
    }
    let limits = Limits { record_bytes: 4 << 20, total_bytes: 16 << 20 };
    match read(
        if in_folder { folder.path() } else { &path },
        &ReadOptions { limits, ..ReadOptions::default() },
    ) {
        Err(error) => Some(error.to_string()),
        Ok((_, summary)) => {
            assert!(summary.bytes <= limits.total_bytes);
            summary.left_out.first().map(|left| left.why.clone())
        }
    }
}

fn cut_or_changed(formats: &[Made]) -> usize {
    let mut tried = 0;
    let mut state = 1_u64;
    // Knuth's generator, of which the upper bits are taken.
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for made in formats.iter().filter(|made| !made.counts) {
        let in_folder = made.path.is_dir();
        let file = if in_folder {
            let files = fs::read_dir(&made.path).unwrap().map(|entry| entry.unwrap().path());
            files.min().unwrap()
        } else {
            made.path.clone()
        };
        let (name, whole) = (file.file_name().unwrap().as_ref(), fs::read(&file).unwrap());
        for cut in [whole.len() / 4, whole.len() / 2, whole.len() / 4 * 3, whole.len() - 9] {
            let why = read_damaged(name, &whole[..cut], in_folder);
            // The last bytes of a PDF are a mark that the rest does not need.
            let is_enough =
                !needs_its_end(&file) || file.extension() == Some("pdf".as_ref()) && cut + 9 == whole.len();
            assert!(why.is_some() || is_enough, "{}: {cut} of {} bytes", file.display(), whole.len());
            tried += 1;
        }
        for _ in 0..16 {
            let mut changed = whole.clone();
            for _ in 0..=random(8) {
                changed[random(whole.len())] = random(256) as u8;
            }
            read_damaged(name, &changed, in_folder);
            tried += 1;
        }
    }
    tried
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn every_format_reads_as_its_twin() {
    let folder = tempfile::tempdir().unwrap();
    let Some((mut formats, twin)) = made(folder.path()) else { return };
    formats.retain(|made| is_built(&made.path));
    let failed: Vec<String> = formats
        .iter()
        .filter_map(|made| compare(made, &twin).err().map(|why| format!("{}: {why}", made.path.display())))
        .collect();
    assert!(failed.is_empty(), "{} of {} formats:\n{}", failed.len(), formats.len(), failed.join("\n"));
    assert!(formats.len() >= 25, "{} formats", formats.len());
    say(&format!("{} formats read, {} damaged files", formats.len(), cut_or_changed(&formats)));
}

/// A file of a kind that is a document and no rows is one by itself, as it is in a folder.
#[test]
fn a_document_by_itself_is_one() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let bytes = |name: &str| fs::read(fixtures.join(name)).unwrap();
    let page =
        b"<!DOCTYPE html><title>Ants</title><p>Red ants walk over the hill, and black ants run.".to_vec();
    let files = [
        ("a.rtf", bytes("ants.rtf")),
        ("a.html", page.clone()),
        ("no ending", page.clone()),
        ("a.html.gz", gzip(&page)),
        ("a.eml", bytes("1.eml")),
        ("a.pdf", bytes("pdf/cairo.pdf")),
        ("a.docx", crate::office::docx()),
    ];
    for (name, bytes) in files {
        let folder = common::folder(&[(name, &bytes)]);
        let (in_folder, _) = documents(folder.path());
        let (alone, summary) = documents(&folder.path().join(name));
        assert_eq!(alone, in_folder, "{name}");
        assert_eq!((alone.len(), alone[0].id.as_str()), (1, name));
        assert_eq!((summary.format, summary.files, summary.documents), (Format::Document, 1, 1), "{name}");
    }
    // What cannot be read says so, a table is what it is called, and the lines of a text may be meant.
    let folder =
        common::folder(&[("a.csv", b"<html>,text\nx,Red ants walk.\n"), ("a.txt", b"Red ants walk.\n")]);
    assert_eq!(documents(&folder.path().join("a.csv")).0[0].text, "Red ants walk.");
    let said = refusal(folder.path(), "a.txt", &ReadOptions::default());
    assert!(said.contains("put text files into a folder"), "{said}");
    let said = refusal(&fixtures.join("pdf"), "encrypted.pdf", &ReadOptions::default());
    assert!(said.contains("an encrypted PDF, which is not read"), "{said}");
}
