//! Counts in Matrix Market and SVMlight files, and that all formats of counts agree.

use crate::common;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use common::{counts, folder, gzip, refusal};
use countgrid_counts::{Bags, CsrBuf};
use countgrid_io::{Counts, DataSet, Format, ReadOptions, check_outputs, read};
use proptest::prelude::*;

const WORDS: &[u8] = b"ant\nbee\ncow\n";
const MATRIX: &str = "%%MatrixMarket matrix coordinate integer general\n";

/// What is said to this file, with a vocabulary of three words beside it.
fn says(name: &str, bytes: &str) -> String {
    let folder = folder(&[(name, bytes.as_bytes()), ("vocab.txt", WORDS)]);
    refusal(folder.path(), name, &ReadOptions::default())
}

fn expected(labels: Vec<Option<String>>) -> Counts {
    Counts {
        vocabulary: ["ant", "bee", "cow"].map(str::to_owned).into(),
        bags: CsrBuf::from_parts(3, vec![0, 2, 2, 4, 4], vec![0, 2, 0, 1], vec![4.0, 1.0, 2.0, 0.5]).unwrap(),
        names: ["1", "2", "3", "4"].map(str::to_owned).into(),
        labels,
    }
}

#[test]
fn a_matrix_with_the_vocabulary_beside_it() {
    let matrix = "%%MatrixMarket matrix coordinate real general\n% by hand\n4 3 5\n3 1 2\n1 3 1\n 1  1 4 \n1 2 0\n3 2 0.5\n\n";
    let packed = gzip(matrix.as_bytes());
    for files in [
        [("a.mtx", matrix.as_bytes()), ("vocab.a.txt", WORDS)],
        [("a.mtx.gz", &packed), ("vocab.a.txt", WORDS)],
        [("a.mtx", matrix.as_bytes()), ("vocab.txt", WORDS)],
        [("counts", matrix.as_bytes()), ("vocab.txt", WORDS)], // told by its first line
    ] {
        let folder = folder(&files);
        let (found, summary) = counts(&folder.path().join(files[0].0));
        assert_eq!(found, expected(vec![None; 4]));
        assert_eq!((summary.format, summary.files, summary.documents), (Format::MatrixMarket, 2, 4));
    }
    let pattern = "%%MatrixMarket matrix coordinate pattern general\n1 3 2\n1 3\n1 1\n";
    let folder = folder(&[("a.mtx", pattern.as_bytes()), ("vocab.a.txt", WORDS)]);
    let (found, _) = counts(folder.path()); // the one data file
    assert!(found.bags.entries(0).eq([(0, 1.0), (2, 1.0)]));
}

#[test]
fn a_matrix_of_cells_has_a_column_for_each() {
    let matrix = format!("{MATRIX}%metadata_json: {{}}\n3 2 3\n1 1 5\n3 1 1\n3 2 7\n");
    let features =
        b"ENSG1\tAnt1\tGene Expression\nENSG2\tBee\tGene Expression\nENSG3\tBee\tGene Expression\n";
    let (packed, features_packed) = (gzip(matrix.as_bytes()), gzip(features));
    let barcodes = gzip(b"AAAC-1\nAAAG-1\n");
    let cells = [
        ("c/matrix.mtx.gz", packed.as_slice()),
        ("c/features.tsv.gz", features_packed.as_slice()),
        ("c/barcodes.tsv.gz", &barcodes),
    ];
    let older = [
        ("c/one_matrix.mtx", matrix.as_bytes()),
        ("c/one_genes.tsv", features.as_slice()),
        ("c/one_barcodes.tsv", b"AAAC-1\nAAAG-1\n"),
    ];
    for files in [cells, older] {
        let folder = folder(&files);
        for path in [files[0].0, "c"] {
            let (found, summary) = counts(&folder.path().join(path));
            assert_eq!(found.vocabulary, ["Ant1", "Bee (ENSG2)", "Bee (ENSG3)"]);
            assert_eq!(found.names, ["AAAC-1", "AAAG-1"]);
            assert_eq!(found.bags.offsets(), [0, 2, 3]);
            assert_eq!((found.bags.indices(), found.bags.counts()), (&[0, 2, 2][..], &[5.0, 1.0, 7.0][..]));
            assert_eq!((summary.files, summary.documents), (3, 2));
        }
        let [matrix, names] = [files[0].0, files[2].0].map(|name| folder.path().join(name));
        assert!(check_outputs([matrix], [names]).is_err());
        fs::write(folder.path().join(files[2].0), "A\nB\nC\n").unwrap();
        assert_eq!(
            refusal(folder.path(), files[0].0, &ReadOptions::default()),
            format!(
                "~/{}: 3 names, but the header of ~/{} says 2\nremedy: take the names that belong to the counts; one per line",
                files[2].0, files[0].0
            )
        );
        fs::write(folder.path().join(files[1].0), "A\n").unwrap();
        let message = refusal(folder.path(), "c", &ReadOptions::default());
        assert!(message.contains(": 1 words, but the header of ~/c/"), "{message}");
    }
}

#[test]
fn lines_of_svmlight() {
    let lines = "# by hand\n+1 3:1 1:4 2:0 # a comment\n-1 qid:7\n\nx 1:2 2:0.5\n 1:0\n";
    let labels = ["+1", "-1", "x"].map(|label| Some(label.to_owned()));
    let expected = expected(labels.into_iter().chain([None]).collect());
    let packed = gzip(lines.as_bytes());
    for files in [
        [("a.svmlight", lines.as_bytes()), ("vocab.a.txt", WORDS)],
        [("a.svm.gz", &packed), ("vocab.txt", WORDS)],
        [("a.libsvm", lines.as_bytes()), ("vocab.txt", WORDS)],
        [("counts", lines.as_bytes()), ("vocab.txt", WORDS)], // told by its lines
    ] {
        let folder = folder(&files);
        let (found, summary) = counts(&folder.path().join(files[0].0));
        assert_eq!(found, expected);
        assert_eq!(
            (summary.format, summary.files, summary.documents, summary.labels),
            (Format::SvmLight, 2, 4, 3)
        );
    }
}

#[test]
fn a_vocabulary_is_needed() {
    for (name, bytes) in [("a.svm", "1 1:1\n".to_owned()), ("a.mtx", format!("{MATRIX}1 3 0\n"))] {
        let folder = folder(&[(name, bytes.as_bytes()), ("words", WORDS)]);
        assert_eq!(
            refusal(folder.path(), name, &ReadOptions::default()),
            format!(
                "~/{name}: no vocabulary; `vocab.a.txt` is expected beside the counts\n\
                 remedy: put it there, or name the file; one word per line"
            )
        );
        let named = ReadOptions { vocabulary: Some(folder.path().join("words")), ..ReadOptions::default() };
        assert!(read(folder.path().join(name), &named).is_ok());
    }
}

#[test]
fn matrices_that_are_none() {
    for (matrix, said) in [
        (
            "%%MatrixMarket matrix array real general\n1 3\n",
            "line 1: `%%MatrixMarket matrix coordinate integer general` is expected, or `real` or `pattern`, found `%%MatrixMarket matrix array real general`",
        ),
        ("%%MatrixMarket matrix coordinate complex general\n", "line 1: `%%MatrixMarket matrix coordinate"),
        (
            "%%MatrixMarket matrix coordinate integer symmetric\n3 3 0\n",
            "line 1: `%%MatrixMarket matrix coordinate",
        ),
    ] {
        let message = says("a.mtx", matrix);
        assert!(message.starts_with(&format!("~/a.mtx, {said}")), "{message}");
    }
    for (rest, said) in [
        ("% cut\n", ", line 2: `rows columns entries` is expected, found `end of file`"),
        ("2 3\n", ", line 2: `rows columns entries` is expected, found `2 3`"),
        ("2 3 99999999999999999999\n", ", line 2: `rows columns entries` is expected"),
        ("2 3 2\n1 1 1\n", ", line 3: the header says 2 entries, the file ends after 1"),
        ("2 3 1\n1 1 1\n1 2 1\n", ", line 4: the header says 1 entries, here is one more"),
        ("2 3 1\n3 1 1\n", ", line 3: row 3 is not in 1..=2"),
        ("2 3 1\n1 0 1\n", ", line 3: column 0 is not in 1..=3"),
        ("2 3 1\n1 1\n", ", line 3: `row column count` is expected, found `1 1`"),
        ("2 3 1\n1 1 -1\n", ", line 3: count `-1` is not a finite number"),
        ("2 3 1\n1 1 nan\n", ", line 3: count `nan` is not a finite number"),
        ("2 3 2\n1 1 1\n1 1 2\n", ", line 4: document 1 has word 1 a second time, first on line 3"),
        (
            "% a\n1000000000000000 3 1\n1 1 1\n",
            ", line 3: the header claims 1000000000000000 documents, more than the file has bytes",
        ),
        ("0 3 0\n", ": no documents"),
    ] {
        let message = says("a.mtx", &format!("{MATRIX}{rest}"));
        assert!(message.starts_with(&format!("~/a.mtx{said}")), "{message}");
    }
    assert_eq!(
        says("a.mtx", &format!("{MATRIX}1 1000000000000000 1\n1 1 1\n")),
        "~/vocab.txt: 3 words, but the header of ~/a.mtx says 1000000000000000\n\
         remedy: name the vocabulary that belongs to the counts; one word per line"
    );
}

#[test]
fn lines_that_are_none_of_svmlight() {
    let field = "`label index:count index:count ...` is expected, found";
    for (lines, said) in [
        ("1 1:1\n1 2\n", format!(", line 2: {field} `2`")),
        ("1 x:2\n", format!(", line 1: {field} `x:2`")),
        ("1 -1:2\n", format!(", line 1: {field} `-1:2`")),
        ("1 0:2\n", ", line 1: index 0 is not in 1..=3, the words of the vocabulary".to_owned()),
        ("# a\n1 4:2\n", ", line 2: index 4 is not in 1..=3, the words of the vocabulary".to_owned()),
        ("1 18446744073709551615:2\n", ", line 1: index 18446744073709551615 is not in 1..=3".to_owned()),
        ("1 1:-2\n", ", line 1: count `-2` is not a finite number, zero or above".to_owned()),
        ("1 1:\n", ", line 1: count `` is not a finite number".to_owned()),
        ("1 1:1e999\n", ", line 1: count `1e999` is not a finite number".to_owned()),
        ("1\n1 2:1 2:1\n", ", line 2: document 2 has word 2 a second time, first on line 2".to_owned()),
        ("# nothing\n", ": no documents".to_owned()),
        ("", ": empty, there is nothing to read".to_owned()),
    ] {
        let message = says("a.svm", lines);
        assert!(message.starts_with(&format!("~/a.svm{said}")), "{message}");
        assert!(message.contains("\nremedy: "), "{message}");
    }
}

/// The same counts in every format, and the file to name.
fn write_all(folder: &Path, words: usize, bags: &[(Vec<String>, bool)]) -> Vec<&'static str> {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    let names: Vec<String> = (0..words).map(|word| format!("w{word}")).collect();
    for name in ["vocab.txt", "features.tsv"] {
        write(name, &(names.join("\n") + "\n"));
    }
    write("barcodes.tsv", &(1..=bags.len()).map(|bag| format!("{bag}\n")).collect::<String>());
    let mut csv = format!("label,{}\n", names.join(","));
    let (mut svm, mut rows, mut columns, mut entries) =
        ("# the labels are x and y\n".to_owned(), String::new(), String::new(), 0);
    for (bag, (counts, label)) in (1..).zip(bags) {
        let label = if *label { "x" } else { "y" };
        writeln!(csv, "{label},{}", counts.join(",")).unwrap();
        svm += label;
        for (word, count) in (1..).zip(counts).filter(|(_, count)| *count != "0") {
            write!(svm, " {word}:{count}").unwrap();
            writeln!(rows, "{bag} {word} {count}").unwrap();
            writeln!(columns, "{word} {bag} {count}").unwrap();
            entries += 1;
        }
        svm += "\n";
    }
    write("counts.csv", &csv);
    write("counts.svmlight", &svm);
    let documents = bags.len();
    write("docword.txt", &format!("{documents}\n{words}\n{entries}\n{rows}"));
    let banner = "%%MatrixMarket matrix coordinate real general";
    write("counts.mtx", &format!("{banner}\n{documents} {words} {entries}\n{rows}"));
    write("matrix.mtx", &format!("{banner}\n{words} {documents} {entries}\n{columns}"));
    #[cfg_attr(not(feature = "npz"), allow(unused_mut, reason = "further formats"))]
    let mut files = vec!["counts.csv", "counts.svmlight", "docword.txt", "counts.mtx", "matrix.mtx"];
    #[cfg(feature = "npz")]
    files.extend(write_arrays(folder, words, bags));
    files
}

/// The same as arrays of NumPy.
#[cfg(feature = "npz")]
fn write_arrays(folder: &Path, words: usize, bags: &[(Vec<String>, bool)]) -> [&'static str; 4] {
    use crate::npz::{array, floats, format_of, integers, npz};
    let write = |name: &str, arrays: &[(&str, Vec<u8>)]| fs::write(folder.join(name), npz(arrays)).unwrap();
    let dense: Vec<f64> =
        bags.iter().flat_map(|(counts, _)| counts).map(|count| count.parse().unwrap()).collect();
    let present = |&(bag, word): &(usize, usize)| dense[bag * words + word] != 0.0;
    let by_row: Vec<_> =
        (0..bags.len()).flat_map(|bag| (0..words).map(move |word| (bag, word))).filter(present).collect();
    let by_column: Vec<_> =
        (0..words).flat_map(|word| (0..bags.len()).map(move |bag| (bag, word))).filter(present).collect();
    let shape = || ("shape", integers(&[bags.len(), words]));
    let data = |order: &[(usize, usize)]| {
        ("data", floats(&order.iter().map(|&(bag, word)| dense[bag * words + word]).collect::<Vec<_>>()))
    };
    let [bag_of, word_of] = [|at: &(usize, usize)| at.0, |at: &(usize, usize)| at.1];
    let column = |order: &[(usize, usize)], of: fn(&(usize, usize)) -> usize| {
        integers(&order.iter().map(of).collect::<Vec<_>>())
    };
    let ends = |order: &[(usize, usize)], of: fn(&(usize, usize)) -> usize, outer: usize| {
        integers(&(0..=outer).map(|end| order.iter().filter(|at| of(at) < end).count()).collect::<Vec<_>>())
    };
    write(
        "csr.npz",
        &[
            ("indices", column(&by_row, word_of)),
            ("indptr", ends(&by_row, bag_of, bags.len())),
            ("format", format_of("csr")),
            shape(),
            data(&by_row),
        ],
    );
    write(
        "csc.npz",
        &[
            ("indices", column(&by_column, bag_of)),
            ("indptr", ends(&by_column, word_of, words)),
            ("format", format_of("csc")),
            shape(),
            data(&by_column),
        ],
    );
    write(
        "coo.npz",
        &[
            ("row", column(&by_column, bag_of)),
            ("col", column(&by_column, word_of)),
            ("format", format_of("coo")),
            shape(),
            data(&by_column),
        ],
    );
    let elements: Vec<u8> = dense.iter().flat_map(|count| count.to_be_bytes()).collect();
    write("dense.npz", &[("arr_0", array(">f8", false, &[bags.len(), words], &elements))]);
    ["csr.npz", "csc.npz", "coo.npz", "dense.npz"]
}

proptest! {
    /// Whatever the counts, the formats hold the same or are all refused: no documents, none with a count, words that
    /// nothing has, negative numbers.
    #[test]
    fn formats_of_counts_agree(
        words in 2usize..6,
        bags in prop::collection::vec(
            (prop::collection::vec(prop::sample::select(vec!["0", "0", "0", "1", "2", "0.5", "1e3"]), 5), any::<bool>()),
            0..9,
        ),
        wrong in prop::option::weighted(0.2, (0usize..9, 0usize..5)),
    ) {
        thread_local! { static FOLDER: tempfile::TempDir = folder(&[]); }
        let mut bags: Vec<(Vec<String>, bool)> = bags
            .into_iter()
            .map(|(counts, label)| (counts[..words].iter().map(|&count| count.to_owned()).collect(), label))
            .collect();
        let wrong = wrong.and_then(|(bag, word)| bags.get_mut(bag)?.0.get_mut(word)).map(|count| *count = "-1".to_owned());
        FOLDER.with(|folder| {
            let refused = bags.is_empty() || wrong.is_some();
            let files = write_all(folder.path(), words, &bags);
            let found: Vec<_> = files.iter().map(|file| read(folder.path().join(file), &ReadOptions::default())).collect();
            for (file, found) in files.iter().zip(&found) {
                prop_assert_eq!(found.is_err(), refused, "{}: {:?}", file, found);
            }
            let counts = found.into_iter().filter_map(Result::ok).map(|(data, summary)| match data {
                DataSet::Counts(counts) => (counts, summary.documents),
                DataSet::Documents(_) => panic!("documents, not counts"),
            });
            let counts: Vec<_> = counts.collect();
            for (file, (found, documents)) in files.iter().zip(&counts) {
                let (first, _) = &counts[0];
                prop_assert_eq!(*documents, bags.len());
                prop_assert_eq!(&found.vocabulary, &first.vocabulary, "{}", file);
                prop_assert_eq!(&found.bags, &first.bags, "{}", file);
                prop_assert_eq!(&found.names, &first.names, "{}", file);
                let labels = if *file == "counts.svmlight" { first.labels.clone() } else { vec![None; bags.len()] };
                prop_assert_eq!(&found.labels, if *file == "counts.csv" { &first.labels } else { &labels });
            }
            Ok(())
        })?;
    }
}
