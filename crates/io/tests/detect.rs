//! What a file is taken for, by its name and its first bytes.

use crate::common;

use common::{counts, documents, folder, refusal};
use countgrid_io::{Format, ReadOptions};

const WORDS: &[u8] = b"ant\nbee\ncow\n";

/// What is said to these bytes under a name.
fn says(name: &str, bytes: &[u8]) -> String {
    refusal(folder(&[(name, bytes), ("vocab.txt", WORDS)]).path(), name, &ReadOptions::default())
}

fn is_unknown(bytes: &[u8]) -> bool {
    says("a", bytes).contains("give a table a header line")
}

#[test]
fn a_name_says_what_a_file_should_be() {
    let said = says("a.mtx", b"Red ants walk.\n");
    assert!(said.starts_with("~/a.mtx, line 1: ") && said.contains("%%MatrixMarket"), "{said}");
    for (name, kind, feature) in [
        ("a.parquet", "Parquet", cfg!(feature = "parquet")),
        ("a.pq", "Parquet", cfg!(feature = "parquet")),
        ("a.arrow", "Arrow", cfg!(feature = "arrow")),
        ("a.feather", "Arrow", cfg!(feature = "arrow")),
    ] {
        let said = says(name, b"id,text\n1,Red ants walk.\n");
        let expected =
            if feature { format!("damaged {kind}: ") } else { format!("{kind}, for which the feature") };
        assert!(said.contains(&expected), "{name}: {said}");
    }
}

#[test]
fn counts_are_told_by_three_numbers() {
    let folder = folder(&[("a", b"1\n3\n1\n1 3 7\n"), ("vocab.txt", WORDS)]);
    assert_eq!(counts(&folder.path().join("a")).1.format, Format::Docword);
    for text in ["1\nants\n3\n1 3 7\n", "ants\n3\n1\n1 3 7\n", "1\n3\nants\n1 3 7\n", "1\n3\n", "1\n"] {
        assert!(is_unknown(text.as_bytes()), "{text}");
    }
}

#[test]
fn objects_are_told_by_their_bracket() {
    let lines = b" {\"text\": \"Red ants walk.\"}\n";
    let array = b"\n[{\"text\": \"Red ants walk.\"}]\n";
    let folder = folder(&[("a", lines), ("b", array)]);
    for name in ["a", "b"] {
        let (found, summary) = documents(&folder.path().join(name));
        assert_eq!((found[0].text.as_str(), summary.format), ("Red ants walk.", Format::JsonLines));
    }
    // A document of RTF that a mark hides begins so, too.
    assert!(is_unknown("\u{feff}{\\rtf1 Red ants walk.}".as_bytes()));
}

/// Of a longer file the first bytes end anywhere in a line.
#[test]
fn lines_of_counts_are_told_however_long_the_file_is() {
    let line = b"1 1:2 3:4\n";
    for first in 0..line.len() {
        let mut bytes = [b"1 1:1 #".as_slice(), &b"-".repeat(first), b"\n"].concat();
        (0..2000).for_each(|_| bytes.extend_from_slice(line));
        let folder = folder(&[("a", &bytes), ("vocab.txt", WORDS)]);
        let (found, summary) = counts(&folder.path().join("a"));
        assert_eq!((summary.format, found.names.len()), (Format::SvmLight, 2001), "{first}");
    }
    // Of a short one the last line counts, also without its end.
    let folder = folder(&[("a", b"1 3:4"), ("vocab.txt", WORDS)]);
    assert_eq!(counts(&folder.path().join("a")).1.format, Format::SvmLight);
    assert!(is_unknown(b"1 3:4\n1 ant"));
}

/// Of a stream the length of the first metadata is more than zero and a multiple of eight.
#[test]
fn streams_of_columns_are_told_by_the_length_behind_their_mark() {
    let begin = |length: i32| [[0xff; 4], length.to_le_bytes()].concat();
    for (length, is_stream) in [(0, false), (8, true), (12, false), (-8, false)] {
        let folder = folder(&[("a", &begin(length)), ("b.txt", b"Red ants walk.")]);
        let (_, summary) = documents(folder.path());
        assert_eq!(summary.skipped.tables, usize::from(is_stream), "{length}");
    }
}

#[test]
fn the_separator_is_what_the_first_line_has_more_of() {
    for (text, table) in [
        ("id;no,text\n1;2,Red ants walk.\n", "CSV"),
        ("id;no;text\n1;2;Red ants walk.\n", "CSV with semicolons"),
        ("id,no,text\n1,2,Red ants walk.\n", "CSV"),
    ] {
        let folder = folder(&[("a.csv", text.as_bytes())]);
        let (found, summary) = documents(&folder.path().join("a.csv"));
        assert_eq!((found[0].text.as_str(), summary.format.to_string().as_str()), ("Red ants walk.", table));
    }
}

#[test]
fn formats_have_names() {
    let told = [Format::Folder, Format::Docword, Format::SvmLight, Format::Other("a book")];
    assert_eq!(
        told.map(|format| format.to_string()),
        ["folder of text files", "docword counts", "SVMlight counts", "a book"]
    );
}

/// A name of up to three words that ends in that of a column of text is one.
#[test]
fn columns_of_text_are_told_by_the_end_of_their_name() {
    for (name, is_text) in [
        ("text", true),
        ("review_text", true),
        ("a_review_text", true),
        ("of_a_review_text", false),
        ("texts", false),
    ] {
        let said = format!("{name},x\nRed ants walk.,y\n");
        let folder = folder(&[("a.csv", said.as_bytes())]);
        let read = countgrid_io::read(folder.path().join("a.csv"), &ReadOptions::default());
        assert_eq!(read.is_ok(), is_text, "{name}");
    }
}

#[test]
fn a_column_called_text_that_holds_numbers_is_one_of_counts() {
    let folder = folder(&[("a.csv", b"id,text,body\nx,1,2\ny,0,3\n"), ("b.csv", b"id,text,body\nx,1,two\n")]);
    let (found, _) = counts(&folder.path().join("a.csv"));
    assert_eq!(
        (found.vocabulary, found.names),
        (vec!["text".to_owned(), "body".to_owned()], vec!["x".to_owned(), "y".to_owned()])
    );
    assert_eq!((found.bags.offsets(), found.bags.counts()), (&[0, 2, 3][..], &[1.0, 2.0, 3.0][..]));
    // Beside another column that is no number it is text.
    assert_eq!(documents(&folder.path().join("b.csv")).0[0].text, "1");
}
