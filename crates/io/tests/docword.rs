//! UCI counts: what is read, and every way in which a header can lie.

use crate::common;

use common::{counts, folder, gzip, refusal};
use countgrid_counts::{Bags, CsrBuf};
use countgrid_io::{Counts, Item, ReadError, ReadOptions, read_docword};
use proptest::prelude::*;

const WORDS: &[u8] = b"ant\nbee\ncow\n";

/// What is said to these counts, with a vocabulary of three words beside them.
fn says(docword: &str) -> String {
    let folder = folder(&[("docword.a.txt", docword.as_bytes()), ("vocab.a.txt", WORDS)]);
    refusal(folder.path(), "docword.a.txt", &ReadOptions::default())
}

#[test]
fn counts_with_the_vocabulary_beside_them() {
    // Unordered, blanks at will, an explicit zero, a fraction, empty documents in the middle and at the end.
    let docword = "4\n3\n5\n3 1 2\n1 3 1\n 1  1 4 \n1 2 0\n3 2 0.5\n\n";
    let expected = Counts {
        vocabulary: ["ant", "bee", "cow"].map(str::to_owned).into(),
        bags: CsrBuf::from_parts(3, vec![0, 2, 2, 4, 4], vec![0, 2, 0, 1], vec![4.0, 1.0, 2.0, 0.5]).unwrap(),
        names: ["1", "2", "3", "4"].map(str::to_owned).into(),
        labels: vec![None; 4],
    };
    let (bytes, packed) = (docword.as_bytes(), gzip(docword.as_bytes()));
    let words = gzip(WORDS);
    for files in [
        [("docword.a.txt", bytes), ("vocab.a.txt", WORDS)],
        [("docword.a.txt.gz", &packed), ("vocab.a.txt", WORDS)],
        [("docword.a.txt.gz", &packed), ("vocab.a.txt.gz", &words)],
        [("docword.txt", bytes), ("vocab.txt", WORDS)],
        [("counts", bytes), ("vocab.txt", WORDS)], // told by its first lines
    ] {
        let folder = folder(&files);
        let (found, summary) = counts(&folder.path().join(files[0].0));
        assert_eq!(found, expected);
        assert_eq!((summary.files, summary.documents), (2, 4));
        assert_eq!(summary.gzip, files[0].0.ends_with(".gz"));
    }
}

#[test]
fn a_folder_with_counts_and_vocabulary() {
    let folder =
        folder(&[("docword.a.txt", b"1\n3\n1\n1 3 7\n"), ("vocab.a.txt", WORDS), ("README.txt", b"Counts.")]);
    let (found, _) = counts(folder.path());
    assert!(found.bags.entries(0).eq([(2, 7.0)]));
}

#[test]
fn a_vocabulary_that_is_named() {
    let folder = folder(&[("docword.a.txt", b"1\n3\n1\n1 3 7\n"), ("b/words", WORDS)]);
    let options = ReadOptions { vocabulary: Some(folder.path().join("b/words")), ..ReadOptions::default() };
    assert!(countgrid_io::read(folder.path().join("docword.a.txt"), &options).is_ok());
    assert_eq!(
        refusal(folder.path(), "docword.a.txt", &ReadOptions::default()),
        "~/docword.a.txt: no vocabulary; `vocab.a.txt` is expected beside the counts\n\
         remedy: put it there, or name the file; one word per line"
    );
}

#[test]
fn a_header_that_is_none() {
    let remedy =
        "remedy: a docword file begins with three lines: the numbers of documents, of words and of entries";
    for (docword, line, what, found) in [
        ("a\n3\n1\n", 1, "the number of documents", "a"),
        ("1 3 1\n", 1, "the number of documents", "1 3 1"),
        ("1\n-3\n1\n", 2, "the number of words", "-3"),
        ("1\n3\n1e3\n", 3, "the number of entries", "1e3"),
        ("1\n3\n99999999999999999999\n", 3, "the number of entries", "99999999999999999999"),
        ("1\n3\n", 2, "the number of entries", "end of file"),
    ] {
        assert_eq!(
            says(docword),
            format!(
                "~/docword.a.txt, line {line}: {what} is expected alone on this line, found `{found}`\n{remedy}"
            )
        );
    }
}

#[test]
fn a_header_that_lies_about_the_entries() {
    let remedy = "remedy: the file is cut short or its header is wrong: fetch it again, or mend the header";
    assert_eq!(
        says("2\n3\n3\n1 1 1\n2 2 1\n"),
        format!("~/docword.a.txt, line 5: the header says 3 entries, the file ends after 2\n{remedy}")
    );
    assert_eq!(
        says("2\n3\n1\n1 1 1\n2 2 1\n"),
        format!("~/docword.a.txt, line 5: the header says 1 entries, here is one more\n{remedy}")
    );
    assert!(
        says("2\n3\n1000000000000000\n1 1 1\n").contains("line 4: the header says 1000000000000000 entries")
    );
}

#[test]
fn a_header_that_lies_about_documents_and_words() {
    let remedy = "remedy: numbers begin with 1; mend the line or the header";
    for (entry, wrong) in [
        ("3 1 1", "document 3 is not in 1..=2"),
        ("0 1 1", "document 0 is not in 1..=2"),
        ("1 4 1", "word 4 is not in 1..=3"),
        ("1 0 1", "word 0 is not in 1..=3"),
    ] {
        assert_eq!(
            says(&format!("2\n3\n1\n{entry}\n")),
            format!("~/docword.a.txt, line 4: {wrong}, the range the header gives\n{remedy}")
        );
    }
    assert_eq!(
        says("1000000000000000\n3\n1\n2 1 1\n"),
        "~/docword.a.txt, line 1: the header claims 1000000000000000 documents, more than the file has bytes; the entries end at document 2\n\
         remedy: mend the line: the number of documents"
    );
    let folder = folder(&[("docword.a.txt", b"1\n1000000000000000\n1\n1 1 1\n"), ("vocab.a.txt", WORDS)]);
    assert_eq!(
        refusal(folder.path(), "docword.a.txt", &ReadOptions::default()),
        "~/vocab.a.txt: 3 words, but the header of ~/docword.a.txt says 1000000000000000\n\
         remedy: name the vocabulary that belongs to the counts; one word per line"
    );
}

#[test]
fn counts_that_are_none() {
    let remedy = "remedy: mend the line; a count is how often the word occurs in the document";
    for count in ["-1", "nan", "NaN", "inf", "-inf", "1e999", "many", "0x10"] {
        assert_eq!(
            says(&format!("2\n3\n1\n1 1 {count}\n")),
            format!(
                "~/docword.a.txt, line 4: count `{count}` is not a finite number, zero or above\n{remedy}"
            )
        );
    }
}

#[test]
fn lines_that_are_no_entries() {
    let remedy = "remedy: mend the line: indices are numbered from 1, and blanks separate the fields";
    for entry in ["1 1", "1 1 1 1", "one 1 1", "1,1,1", "1.5 1 1", "-1 1 1"] {
        assert_eq!(
            says(&format!("2\n3\n1\n{entry}\n")),
            format!("~/docword.a.txt, line 4: `document word count` is expected, found `{entry}`\n{remedy}")
        );
    }
    let message = says("2\n3\n2\n1 1 1\n\n2 1 1\n");
    assert!(message.starts_with("~/docword.a.txt, line 6: `document word count` is expected"), "{message}");
}

#[test]
fn an_entry_that_comes_twice() {
    assert_eq!(
        says("2\n3\n3\n2 1 1\n1 1 5\n2 1 3\n"),
        "~/docword.a.txt, line 6: document 2 has word 1 a second time, first on line 4\n\
         remedy: add the counts up on one line"
    );
}

#[test]
fn vocabularies_that_are_none() {
    let says = |words: &[u8]| {
        let folder = folder(&[("docword.a.txt", b"1\n3\n1\n1 1 1\n"), ("vocab.a.txt", words)]);
        refusal(folder.path(), "docword.a.txt", &ReadOptions::default())
    };
    assert!(says(b"").starts_with("~/vocab.a.txt: empty, there is nothing to read\n"));
    assert_eq!(
        says(b"ant\n\ncow\n"),
        "~/vocab.a.txt, line 2: an empty line where a word is expected\n\
         remedy: one word per line, in the order of the word numbers"
    );
    let damaged = says(b"\xc3\xa4nt\nb\xc3\xa9\xe9e\ncow\n");
    assert!(damaged.starts_with("~/vocab.a.txt, line 2: not UTF-8 at byte 8\n"), "{damaged}");
}

proptest! {
    /// Whatever the order of the entries, the bags are the same.
    #[test]
    fn any_bags_come_back(
        bags in prop::collection::vec(prop::collection::btree_map(0u32..3, 1u32..1000, 0..=3), 1..20),
        seed in any::<u64>(),
    ) {
        let mut entries = Vec::new();
        for (bag, counts) in bags.iter().enumerate() {
            entries.extend(counts.iter().map(|(word, count)| (bag, *word, *count)));
        }
        let mut shuffled = entries.clone();
        shuffled.sort_by_key(|(bag, word, _)| (*bag as u64 * 3 + u64::from(*word) + 1).wrapping_mul(seed | 1));
        let mut docword = format!("{}\n3\n{}\n", bags.len(), entries.len());
        for (bag, word, count) in shuffled {
            docword += &format!("{} {} {count}\n", bag + 1, word + 1);
        }
        let counts = read_docword(docword.as_bytes(), "docword.txt", WORDS, "vocab.txt").unwrap();
        prop_assert_eq!(counts.names.len(), bags.len());
        let mut found = Vec::new();
        for bag in 0..counts.bags.len() {
            found.extend(counts.bags.entries(bag).map(|(word, count)| (bag, word as u32, count as u32)));
        }
        prop_assert_eq!(found, entries);
    }
}

/// So many documents are believed however few bytes the file has.
#[test]
fn a_thousand_documents_may_be_empty() {
    let with = |documents: usize| format!("{documents}\n3\n1\n1 3 7\n");
    let counts = read_docword(with(1024).as_bytes(), "docword.txt", WORDS, "vocab.txt").unwrap();
    assert_eq!((counts.bags.len(), counts.bags.entries(0).collect::<Vec<_>>()), (1024, vec![(2, 7.0)]));
    assert!(says(&with(1025)).starts_with("~/docword.a.txt, line 1: "), "{}", says(&with(1025)));
}

/// Bags are handed over without zeros, and what they are called with where that stands.
#[test]
fn bags_are_handed_over_one_by_one() {
    let mtx = b"%%MatrixMarket matrix coordinate integer general\n3 2 4\n1 1 4\n2 1 0\n3 2 1\n1 2 0\n";
    let folder = folder(&[
        ("docword.a.txt", b"2\n3\n4\n1 1 4\n1 2 0\n2 3 0\n2 1 1\n"),
        ("vocab.a.txt", WORDS),
        ("matrix.mtx", mtx),
        ("features.tsv", b"a\tant\nb\tbee\nc\tcow\n"),
        ("barcodes.tsv", b"one\ntwo\n"),
    ]);
    let (mut bags, mut names) = (Vec::new(), Vec::new());
    for name in ["docword.a.txt", "matrix.mtx"] {
        let visited = countgrid_io::visit(folder.path().join(name), &ReadOptions::default(), |item| {
            match item {
                Item::Bag(bag) => bags.push(bag.to_vec()),
                Item::About { id, line, file, .. } => {
                    assert!(file.ends_with("barcodes.tsv"));
                    names.push((id, line));
                }
                _ => {}
            }
            Ok::<_, ReadError>(())
        });
        visited.unwrap();
    }
    assert_eq!(bags, [vec![(0, 4.0)], vec![(0, 1.0)], vec![(0, 4.0)], vec![(2, 1.0)]]);
    assert_eq!(names, [("one".to_owned(), 1), ("two".to_owned(), 2)]);
}
