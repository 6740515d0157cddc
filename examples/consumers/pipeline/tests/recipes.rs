//! On a file of three kinds of documents, and on the same file with labels that say nothing.

use std::{fs, path::PathBuf};

const KINDS: [(&str, &str); 3] = [
    ("bread", "flour oven dough salt yeast crust bake knead"),
    ("boats", "sail mast harbour keel rope tide anchor deck"),
    ("stars", "galaxy light orbit planet telescope comet moon dust"),
];

/// A file of 36 documents of five words of their kind, one word of the next kind each, labelled by `label(document)`.
fn file(name: &str, label: impl Fn(usize) -> usize) -> PathBuf {
    let mut csv = String::from("id,label,text\n");
    for document in 0..36 {
        let words = |kind: usize| KINDS[kind % 3].1.split(' ').cycle().skip(document / 3);
        let (own, other) = (words(document), words(document + 1));
        let text: Vec<_> = own.take(5).chain(other.take(1)).collect();
        csv += &format!("{document},{},\"{}\"\n", KINDS[label(document)].0, text.join(" "));
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, csv).unwrap();
    path
}

#[test]
fn kinds_of_documents_are_told_apart() {
    let report = pipeline::run(&file("kinds.csv", |document| document % 3), 4).unwrap();
    assert_eq!(report.labels, ["boats", "bread", "stars"]);
    // Each document has five words of its kind and one of another.
    let order = [1, 0, 2]; // the labels sorted
    assert_eq!(report.predicted, (0..36).map(|document| order[document % 3]).collect::<Vec<_>>());
    assert_eq!((report.accuracy, report.confusion), (1.0, vec![12, 0, 0, 0, 12, 0, 0, 0, 12]));
}

#[test]
fn labels_that_say_nothing_are_not_predicted() {
    // Of documents of one kind as many have each label.
    let label = |document: usize| document / 3 % 3;
    let report = pipeline::run(&file("none.csv", label), 4).unwrap();
    let right = (0..36).filter(|&at| report.predicted[at] == [1, 0, 2][label(at)]).count();
    assert_eq!(report.accuracy, right as f64 / 36.0, "the accuracy is that of the predictions");
    assert_eq!(report.confusion.iter().sum::<u64>(), 36);
    assert!(report.accuracy < 0.7, "{report:?}"); // by chance 1/3: 24 of 36 are more than four standard errors above
}

#[test]
fn a_broken_line_is_named() {
    let path = file("broken.csv", |document| document % 3);
    let broken = fs::read_to_string(&path).unwrap() + "36,bread\n";
    fs::write(&path, broken).unwrap();
    let error = pipeline::run(&path, 4).unwrap_err().to_string();
    assert!(error.contains("broken.csv") && error.contains("line 38"), "{error}");
}
