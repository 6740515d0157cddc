//! Values of held-out documents: what is reported of them, against its definition, and labels that are no numbers.

use std::ops::ControlFlow;

use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
use countgrid_evaluation::{
    EvaluationError, EvaluationOptions, LabelledData, Protocol, Regression, Stop, regress,
};
use countgrid_io::{Columns, read_json_lines};

/// Four documents of each label, the first of other words than the last.
fn estimated(labels: [&str; 3]) -> Result<Regression, EvaluationError> {
    let texts = ["dull slow weak", "slow quick plain", "bright quick strong"];
    let line = |(label, text): (&str, &str)| format!("{{\"label\": \"{label}\", \"text\": \"{text}\"}}\n");
    let lines: String = labels.into_iter().zip(texts).map(line).collect();
    let documents = read_json_lines(lines.repeat(4).as_bytes(), "made.jsonl", &Columns::default()).unwrap();
    let words = CorpusOptions { words: WordOptions::default().keep_all(), ..CorpusOptions::default() };
    let data =
        LabelledData::new(Corpus::<f64>::from_documents("made", documents, &words).unwrap(), None).unwrap();
    let mut options = EvaluationOptions::default();
    (options.grid.extents, options.grid.window) = (Some(vec![4, 4]), Some(vec![2, 2]));
    let protocol = Protocol { folds: 3, ..Protocol::default() };
    regress(&data, &options, &protocol, |_| ControlFlow::Continue(()), &Stop::new())
}

#[test]
fn estimates_have_the_values_of_their_labels() {
    let found = estimated(["-1.5", "2", " 4e1 "]).unwrap();
    assert_eq!(found.estimates.len(), 12);
    let (mut squares, mut squares_of_mean) = (0.0, 0.0);
    for one in &found.estimates {
        assert_eq!(one.value, [-1.5, 2.0, 40.0][one.item % 3]);
        assert!((-1.5..=40.0).contains(&one.estimated), "{one:?}"); // a mean of others
        squares += (one.value - one.estimated).powi(2);
        squares_of_mean += (one.value - 13.5).powi(2);
    }
    // Twelve terms of at most 1722, added up in another order.
    assert!((found.rms_error - (squares / 12.0).sqrt()).abs() < 1e-12);
    assert!((found.rms_error_of_mean - (squares_of_mean / 12.0).sqrt()).abs() < 1e-12);
    assert!(!found.interrupted);
}

#[test]
fn labels_that_are_no_numbers_are_refused() {
    for label in ["good", "1,5", "inf", "NaN"] {
        let refused = estimated(["1", "2", label]).unwrap_err();
        assert!(matches!(refused, EvaluationError::NotANumber { .. }), "{refused:?}");
    }
}
