//! The candidate that a fold takes, against candidates that are evaluated one by one.

use std::ops::ControlFlow;

use countgrid_classify::{folds, stratified_folds};
use countgrid_evaluation::{
    Candidate, Classifier, ErrorUnit, EvaluationOptions, Features, LabelledData, Metric, ModelKind,
    Prediction, Protocol, Stop, cross_validate, predict,
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::made::{Document, drawn, labelled, options};

/// Candidates of two models, and several classifiers on the features of one.
fn candidates() -> Vec<Candidate> {
    let nearest = |features, neighbours, metric| EvaluationOptions {
        classifier: Classifier::Nearest,
        features,
        neighbours,
        metric,
        ..options(ModelKind::Grid)
    };
    let other = EvaluationOptions { classifier: Classifier::Nearest, ..options(ModelKind::Mixture) };
    [
        nearest(None, 30, None),
        nearest(Some(Features::Posterior), 30, Some(Metric::Euclidean)),
        other,
        nearest(Some(Features::Fess), 3, None),
        nearest(Some(Features::Spread), 3, None),
        nearest(Some(Features::Spread), 1, None),
    ]
    .into_iter()
    .enumerate()
    .map(|(n, options)| Candidate { name: n.to_string(), options })
    .collect()
}

/// Of a training part: how many labels each candidate predicts in inner folds.
fn right(
    data: &LabelledData<f64>,
    candidates: &[Candidate],
    protocol: &Protocol,
    training: &[usize],
) -> Vec<usize> {
    let all = data.labels();
    let labels: Vec<usize> = training.iter().map(|&item| all[item]).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(protocol.seed);
    let mut fold_of = vec![0; training.len()];
    let mut scratch = fold_of.clone();
    if stratified_folds(&labels, protocol.inner_folds, &mut rng, &mut fold_of, &mut scratch).is_err() {
        folds(protocol.inner_folds, &mut rng, &mut fold_of).unwrap();
    }
    let of = |candidate: &Candidate| {
        (0..protocol.inner_folds)
            .map(|held_out| {
                let part = |inside: bool| -> Vec<usize> {
                    let own =
                        training.iter().zip(&fold_of).filter(|&(_, &fold)| (fold == held_out) == inside);
                    own.map(|(&item, _)| item).collect()
                };
                let (rest, test) = (part(false), part(true));
                let fold = data.fold(&rest, &test, &candidate.options).unwrap();
                let found = predict(&fold, &candidate.options, &Stop::new()).unwrap();
                test.iter().zip(found).filter(|&(&item, found)| all[item] == found).count()
            })
            .sum()
    };
    candidates.iter().map(of).collect()
}

/// Every prediction of a protocol is that of the candidate with the most right in the training part, of equals the first.
fn check(documents: &[Document], protocol: &Protocol) -> Vec<usize> {
    let (data, candidates) = (labelled(documents), candidates());
    let found = cross_validate(&data, &candidates, protocol, |_| ControlFlow::Continue(()), &Stop::new());
    let found = found.unwrap();
    let (labels, mut expected, mut chosen) = (data.labels(), Vec::new(), Vec::new());
    for repetition in 0..protocol.repeats {
        let mut rng = ChaCha8Rng::seed_from_u64(protocol.seed);
        rng.set_stream(repetition as u64 + 1);
        let (mut fold_of, mut scratch) = (vec![0; labels.len()], vec![0; labels.len()]);
        stratified_folds(&labels, protocol.folds, &mut rng, &mut fold_of, &mut scratch).unwrap();
        for held_out in 0..protocol.folds {
            let (test, training): (Vec<usize>, Vec<usize>) =
                (0..labels.len()).partition(|&item| fold_of[item] == held_out);
            let right = right(&data, &candidates, protocol, &training);
            let most = right.iter().max().unwrap();
            let candidate = right.iter().position(|right| right == most).unwrap();
            let own = &candidates[candidate].options;
            let fold = data.fold(&training, &test, own).unwrap();
            for (&item, predicted) in test.iter().zip(predict(&fold, own, &Stop::new()).unwrap()) {
                let label = labels[item];
                expected.push(Prediction { repetition, fold: held_out, item, label, predicted, candidate });
            }
            chosen.push(candidate);
        }
    }
    assert_eq!(found.predictions, expected);
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

#[test]
fn a_fold_takes_the_candidate_that_is_right_most_often_in_its_training_part() {
    let documents = drawn(&[("ants", 15), ("bees", 24), ("cats", 18)], 3, 8);
    let protocol = Protocol { folds: 3, repeats: 2, inner_folds: 3, seed: 6, ..Protocol::default() };
    let chosen = check(&documents, &protocol);
    assert!(chosen.len() > 1 && chosen.iter().any(|&candidate| candidate > 0), "{chosen:?}");
}

/// A label of fewer documents in a training part than inner folds.
#[test]
fn a_rare_label_is_spread_over_inner_folds() {
    let documents = drawn(&[("ants", 3), ("bees", 24), ("cats", 13)], 3, 1);
    let protocol = Protocol { folds: 3, repeats: 1, inner_folds: 4, seed: 2, ..Protocol::default() };
    check(&documents, &protocol);
}

#[test]
fn the_unit_of_an_error_has_a_name() {
    assert_eq!(
        [ErrorUnit::Repetitions, ErrorUnit::Documents].map(ErrorUnit::name),
        ["repetitions", "documents"]
    );
    let documents = drawn(&[("ants", 9), ("bees", 9)], 3, 1);
    let run = |repeats| {
        let protocol = Protocol { folds: 3, repeats, ..Protocol::default() };
        let data = labelled(&documents);
        let options = candidates().swap_remove(5).options;
        let candidate = [Candidate { name: String::new(), options }];
        cross_validate(&data, &candidate, &protocol, |_| ControlFlow::Continue(()), &Stop::new()).unwrap()
    };
    assert_eq!(run(1).standard_error(), (run(1).confusion.standard_error(), ErrorUnit::Documents));
    let twice = run(2);
    assert_eq!(twice.standard_error(), (twice.accuracies.standard_error(), ErrorUnit::Repetitions));
    assert!(twice.standard_error().0.is_some());
}
