//! An evaluation that is asked to end has the predictions of the parts before, and begins no other.

use std::ops::ControlFlow;

use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
use countgrid_evaluation::{
    Candidate, EvaluationEvent, EvaluationOptions, LabelledData, ModelKind, Protocol, Stop, cross_validate,
    regress,
};
use countgrid_io::{Columns, read_json_lines};

fn data(labels: [&str; 2]) -> LabelledData<f32> {
    let line = |label: &str, text: &str| format!("{{\"label\": \"{label}\", \"text\": \"{text}\"}}\n");
    let lines = line(labels[0], "salt oven bread flour") + &line(labels[1], "keel mast sail rope");
    let documents = read_json_lines(lines.repeat(6).as_bytes(), "made.jsonl", &Columns::default()).unwrap();
    let options = CorpusOptions { words: WordOptions::default().keep_all(), ..CorpusOptions::default() };
    let corpus = Corpus::<f32>::from_documents("made", documents, &options).unwrap();
    LabelledData::new(corpus, None).unwrap()
}

fn candidate(model: ModelKind, extent: usize) -> Candidate {
    let mut options = EvaluationOptions { model, topics: 2, ..EvaluationOptions::default() };
    options.grid.extents = Some(vec![extent; 2]);
    options.grid.window = Some(vec![2; 2]);
    Candidate { name: format!("{extent}"), options }
}

#[test]
fn parts_before_a_stop_are_kept() {
    let data = data(["bread", "boats"]);
    let protocol = Protocol { folds: 3, inner_folds: 2, ..Protocol::default() };
    for model in [ModelKind::Grid, ModelKind::Mixture, ModelKind::Lda] {
        for candidates in [vec![candidate(model, 3)], vec![candidate(model, 3), candidate(model, 4)]] {
            let whole =
                cross_validate(&data, &candidates, &protocol, |_| ControlFlow::Continue(()), &Stop::new());
            let whole = whole.unwrap();
            assert!(!whole.interrupted && whole.predictions.len() == 12);
            for parts in 0..3 {
                let (stop, mut seen) = (Stop::new(), 0);
                if parts == 0 {
                    stop.request();
                }
                let observer = |event: &EvaluationEvent<'_>| {
                    if matches!(event, EvaluationEvent::Fold { .. }) {
                        seen += 1;
                        if seen == parts {
                            stop.request();
                        }
                    }
                    ControlFlow::Continue(())
                };
                let stopped = cross_validate(&data, &candidates, &protocol, observer, &stop).unwrap();
                assert!(stopped.interrupted);
                assert_eq!(seen, parts);
                assert_eq!(stopped.predictions, whole.predictions[..4 * parts]);
                assert_eq!(stopped.confusion.items(), 4 * parts as u64);
            }
        }
    }
}

#[test]
fn an_observer_ends_an_evaluation_after_any_event() {
    let data = data(["bread", "boats"]);
    let candidates = [candidate(ModelKind::Mixture, 3)];
    let protocol = Protocol { folds: 3, repeats: 2, ..Protocol::default() };
    // Two repetitions of three parts, each followed by what is said of all of it.
    let events = 2 * (3 + 1);
    let run = |most: usize| {
        let mut told = Vec::new();
        let observer = |event: &EvaluationEvent<'_>| {
            told.push(match event {
                EvaluationEvent::Fold { repetition, fold, folds: 3, candidate: 0 } => {
                    (*repetition, Some(*fold), 0.0, 0)
                }
                EvaluationEvent::Repetition { repetition, accuracy, confusion } => {
                    (*repetition, None, *accuracy, confusion.items())
                }
                other => panic!("{other:?}"),
            });
            if told.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let found = cross_validate(&data, &candidates, &protocol, observer, &Stop::new()).unwrap();
        (found, told)
    };
    let (whole, told) = run(usize::MAX);
    assert!(!whole.interrupted);
    assert_eq!((whole.predictions.len(), told.len()), (24, events));
    for (n, &(repetition, fold, accuracy, items)) in told.iter().enumerate() {
        assert_eq!((repetition, fold), (n / 4, Some(n % 4).filter(|fold| *fold < 3)));
        if fold.is_none() {
            let own = whole.predictions.iter().filter(|one| one.repetition == repetition);
            let right = own.filter(|one| one.predicted == one.label).count();
            assert_eq!((accuracy, items), (right as f64 / 12.0, 12));
        }
    }
    for most in 1..=events {
        let (found, begun) = run(most);
        assert_eq!(begun, told[..most]);
        let parts = most - most / 4;
        assert_eq!(found.predictions, whole.predictions[..4 * parts]);
        assert_eq!(found.confusion.items(), 4 * parts as u64);
        let accuracies: Vec<f64> = begun
            .iter()
            .filter(|(_, fold, ..)| fold.is_none())
            .map(|(_, _, accuracy, _)| *accuracy)
            .collect();
        let sum: f64 = accuracies.iter().sum();
        match found.accuracies.mean() {
            None => assert!(accuracies.is_empty()),
            // A mean of two numbers up to 1, rounded in another order.
            Some(mean) => assert!((mean * accuracies.len() as f64 - sum).abs() < 1e-15),
        }
        // After the last event nothing is left to interrupt.
        assert_eq!(found.interrupted, most < events, "{most}");
    }
}

#[test]
fn estimates_before_a_stop_are_kept() {
    let (data, protocol) = (data(["1.5", "2.5"]), Protocol { folds: 3, ..Protocol::default() });
    let options = candidate(ModelKind::Grid, 3).options;
    let (stop, mut seen) = (Stop::new(), 0);
    let observer = |_: &_| {
        seen += 1;
        if seen == 4 {
            stop.request();
        }
        ControlFlow::Continue(())
    };
    let stopped = regress(&data, &options, &protocol, observer, &stop).unwrap();
    assert!(stopped.interrupted && stopped.estimates.len() == 4);
}

#[test]
fn a_label_that_is_a_text_is_not_repeated_whole() {
    let label = "y".repeat(100_000);
    let data = data([&label, "2.5"]);
    let options = candidate(ModelKind::Grid, 3).options;
    let observer = |_: &_| ControlFlow::Continue(());
    let error = regress(&data, &options, &Protocol::default(), observer, &Stop::new()).unwrap_err();
    assert!(error.to_string().starts_with("label `yyyy") && error.to_string().len() < 100, "{error}");
    let protocol = Protocol { folds: 9, ..Protocol::default() };
    let observer = |_: &EvaluationEvent<'_>| ControlFlow::Continue(());
    let candidates = [candidate(ModelKind::Grid, 3)];
    let error = cross_validate(&data, &candidates, &protocol, observer, &Stop::new()).unwrap_err();
    assert!(error.to_string().starts_with("label `") && error.to_string().len() < 100, "{error}");
}
