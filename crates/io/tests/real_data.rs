//! Real data sets, read as a user would name them. Each test says so and passes when the data is not there.

use crate::common;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use common::documents;
use countgrid_io::{Document, Format, ReadOptions, Table, read};

fn data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    // The harness captures what the print macros write, but not this.
    let _ = writeln!(std::io::stderr(), "SKIPPED: no {}", path.display());
    None
}

fn labels(documents: &[Document]) -> BTreeMap<&str, usize> {
    let mut labels = BTreeMap::new();
    for label in documents.iter().filter_map(|document| document.label.as_deref()) {
        *labels.entry(label).or_default() += 1;
    }
    labels
}

#[test]
fn a_folder_with_one_table_is_that_table() {
    let Some(path) = data("news-20-same") else { return };
    let (documents, summary) = documents(&path);
    assert_eq!(documents.len(), 2016);
    let groups = [("comp.graphics", 676), ("comp.os.ms-windows.misc", 676), ("comp.windows.x", 664)];
    assert_eq!(labels(&documents), groups.into());
    assert_eq!(documents[0].id, "37913");
    assert_eq!(documents[0].title, "graphical representation of vector-valued functions");
    assert_eq!(documents[2015].line, 2017);
    assert_eq!((summary.format, summary.gzip), (Format::Table(Table::Tab), true));
    let columns = [("text", "text"), ("title", "subject"), ("label", "class"), ("id", "id")];
    assert_eq!(summary.columns, columns.map(|(role, name)| (role, name.to_owned())));
    // Unpaired quotes are as they were written.
    assert!(documents.iter().any(|document| document.text.matches('"').count() % 2 == 1));
}

#[test]
fn empty_titles_are_filled_from_the_text() {
    let Some(path) = data("classic3/classic3.tsv.gz") else { return };
    let (documents, _) = documents(&path);
    assert_eq!(labels(&documents), [("CISI", 1023), ("CRAN", 979), ("MED", 723)].into());
    assert!(documents.iter().all(|document| !document.title.is_empty()));
}

#[test]
fn short_bags_without_titles() {
    let Some(path) = data("dblp/dblp.tsv.gz") else { return };
    let (documents, _) = documents(&path);
    assert_eq!(labels(&documents), [("0", 8389), ("1", 14616), ("2", 11880), ("3", 3336)].into());
}

#[test]
fn a_dictionary_has_words_for_titles_and_no_labels() {
    let Some(path) = data("dictionary/dictionarySample.tsv") else { return };
    let (documents, summary) = documents(&path);
    assert_eq!((documents.len(), summary.labels), (5371, 0));
    assert_eq!(documents[0].title, "a");
    assert_eq!(documents[0].text, "the first letter of the modern english alphabet .");
    assert_eq!(documents[0].id, "https://en.wikipedia.org/wiki/a");
}

#[test]
fn several_tables_are_a_question() {
    let Some(path) = data("dictionary") else { return };
    let message = read(path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        message.ends_with(
            "2 data files and no text files: `dictionarySample.tsv`, `dictionaryVerySmallSample.tsv`\n\
             remedy: name one of them"
        ),
        "{message}"
    );
}
