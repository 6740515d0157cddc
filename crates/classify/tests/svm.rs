//! Support vector machines against scikit-learn's, and against the conditions of an optimum.

use countgrid_classify::{ClassifyError, SupportVectors, SvmOptions};
use proptest::prelude::*;
use serde_json::Value;

type Machine = SupportVectors<f64, Vec<f64>>;

fn train(
    gram: &[f64],
    labels: &[usize],
    classes: usize,
    options: &SvmOptions,
) -> Result<Machine, ClassifyError> {
    let storage = vec![f64::NAN; Machine::len(classes, labels.len()).unwrap()];
    Machine::train(gram, labels, classes, options, storage, &mut vec![f64::NAN; labels.len()])
}

fn gaussian(gamma: f64, a: &[f64], b: &[f64]) -> f64 {
    (-gamma * a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>()).exp()
}

#[test]
fn decisions_are_those_of_scikit_learn() {
    let cases: Value = serde_json::from_str(include_str!("vectors/svm.json")).unwrap();
    for case in cases.as_array().unwrap() {
        let rows = |name: &str| -> Vec<Vec<f64>> { serde_json::from_value(case[name].clone()).unwrap() };
        let numbers = |name: &str| -> Vec<usize> { serde_json::from_value(case[name].clone()).unwrap() };
        let (train_rows, new, decision) = (rows("rows"), rows("new"), rows("decision"));
        let (labels, gamma) = (numbers("labels"), case["gamma"].as_f64().unwrap());
        let classes = case["classes"].as_u64().unwrap() as usize;
        let penalty = case["penalty"].as_f64().unwrap();
        let similar = |x: &[f64]| train_rows.iter().map(|y| gaussian(gamma, x, y)).collect::<Vec<_>>();
        let gram: Vec<f64> = train_rows.iter().flat_map(|x| similar(x)).collect();
        let options = SvmOptions { penalty, tolerance: 1e-11, ..SvmOptions::default() };
        let machine = train(&gram, &labels, classes, &options).unwrap();
        assert!(machine.converged());
        // Conditions that hold within t leave the dual within t Σα of its minimum, so either weight vector is within
        // sqrt(2 t n C) of the best, and so is its decision on a point of length 1; twice, for the bias.
        let allowed = 4.0 * (2e-11 * labels.len() as f64 * penalty).sqrt();
        for (x, (expected, class)) in new.iter().zip(decision.iter().zip(numbers("predicted"))) {
            let similarities = similar(x);
            for ((_, coefficients, bias), expected) in machine.machines().zip(expected) {
                let sum: f64 = coefficients.iter().zip(&similarities).map(|(c, k)| c * k).sum();
                assert!((sum + bias - expected).abs() <= allowed, "{} {expected} {allowed}", sum + bias);
            }
            assert_eq!(machine.predict(&similarities, &mut vec![0; classes]), Ok(class));
        }
    }
}

/// The dual that is minimised.
fn dual(gram: &[f64], coefficients: &[f64]) -> f64 {
    let n = coefficients.len();
    let form: f64 = (0..n * n).map(|at| coefficients[at / n] * gram[at] * coefficients[at % n]).sum();
    form / 2.0 - coefficients.iter().map(|c| c.abs()).sum::<f64>()
}

proptest! {
    #[test]
    fn no_feasible_point_is_better(
        rows in prop::collection::vec(prop::collection::vec(-2.0f64..2.0, 3), 4..12),
        signs in prop::collection::vec(any::<bool>(), 12), penalty in 0.05f64..20.0,
        others in prop::collection::vec(prop::collection::vec(0.0f64..1.0, 12), 20),
    ) {
        let n = rows.len();
        let mut labels: Vec<usize> = signs[..n].iter().map(|&s| usize::from(s)).collect();
        (labels[0], labels[1]) = (0, 1);
        let gram: Vec<f64> =
            rows.iter().flat_map(|a| rows.iter().map(move |b| gaussian(0.4, a, b))).collect();
        let options = SvmOptions { penalty, tolerance: 1e-8, ..SvmOptions::default() };
        let machine = train(&gram, &labels, 2, &options).unwrap();
        prop_assert!(machine.converged());
        let (_, coefficients, _) = machine.machines().next().unwrap();
        let sign = |item: usize| if labels[item] == 0 { 1.0 } else { -1.0 };
        for (item, c) in coefficients.iter().enumerate() {
            prop_assert!((0.0..=penalty).contains(&(c * sign(item))));
        }
        // Steps move two coefficients by as much, each rounded once.
        let sum: f64 = coefficients.iter().sum();
        prop_assert!(sum.abs() <= 1e4 * penalty * f64::EPSILON, "{sum}");
        let best = dual(&gram, coefficients);
        for other in others {
            // A feasible point: the larger of the two sides is scaled to the smaller.
            let of = |class: usize| (0..n).filter(|&i| labels[i] == class).map(|i| other[i]).sum::<f64>();
            let sides = [of(0), of(1)];
            let least = sides[0].min(sides[1]);
            let point: Vec<f64> =
                (0..n).map(|i| sign(i) * penalty * other[i] * least / sides[labels[i]].max(1e-300)).collect();
            prop_assert!(dual(&gram, &point) >= best - 1e-8 * n as f64 * penalty);
        }
    }
}

#[test]
fn classes_apart_are_told_apart_and_identical_items_do_no_harm() {
    let rows = [0.0, 0.0, 0.0, 9.0, 9.0, 9.0];
    let labels = [0, 0, 1, 1, 1, 0]; // twice a contradiction
    let gram: Vec<f64> =
        rows.iter().flat_map(|a| rows.iter().map(move |b| gaussian(1.0, &[*a], &[*b]))).collect();
    let machine = train(&gram, &labels, 2, &SvmOptions::default()).unwrap();
    assert!(machine.converged());
    assert_eq!(machine.predict(&gram[..6], &mut [0; 2]), Ok(0));
    assert_eq!(machine.predict(&gram[30..], &mut [0; 2]), Ok(1));
}

#[test]
fn bad_input_is_refused() {
    let gram = [1.0, 0.0, 0.0, 1.0];
    let options = SvmOptions::default();
    let with = |gram: &[f64], labels: &[usize], classes, options: &SvmOptions| {
        train(gram, labels, classes, options).err().unwrap()
    };
    assert_eq!(with(&gram, &[0, 1], 1, &options), ClassifyError::TooFew { what: "classes", found: 1 });
    let length = ClassifyError::Length { table: "gram", expected: 4, found: 3 };
    assert_eq!(with(&gram[..3], &[0, 1], 2, &options), length);
    assert_eq!(with(&gram, &[0, 2], 2, &options), ClassifyError::NoSuchClass { class: 2, classes: 2 });
    assert_eq!(
        with(&gram, &[0, 0], 2, &options),
        ClassifyError::FewMembers { class: 1, members: 0, folds: 1 }
    );
    let entry = ClassifyError::Entry { table: "gram", index: 1 };
    assert_eq!(with(&[1.0, f64::NAN, 0.0, 1.0], &[0, 1], 2, &options), entry);
    for penalty in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = with(&gram, &[0, 1], 2, &SvmOptions { penalty, ..options });
        assert_eq!(refused, ClassifyError::Option { what: "a penalty" });
    }
    let refused = with(&gram, &[0, 1], 2, &SvmOptions { steps: 0, ..options });
    assert_eq!(refused, ClassifyError::Option { what: "a number of steps" });
    let machine = train(&gram, &[0, 1], 2, &options).unwrap();
    let length = ClassifyError::Length { table: "similarities", expected: 2, found: 1 };
    assert_eq!(machine.predict(&[1.0], &mut [0; 2]), Err(length));
    let entry = ClassifyError::Entry { table: "similarities", index: 1 };
    assert_eq!(machine.predict(&[1.0, f64::NAN], &mut [0; 2]), Err(entry));
    assert_eq!(Machine::len(usize::MAX, 2), None);
}

#[test]
fn a_machine_without_the_steps_it_needs_says_so() {
    // Two pairs of the three meet their conditions in one step an item, the first does not.
    let rows: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.3 + f64::from(i % 2)).collect();
    let labels: Vec<usize> = (0..12).map(|i| if i < 8 { i % 2 } else { 2 }).collect();
    let gram: Vec<f64> =
        rows.iter().flat_map(|a| rows.iter().map(move |b| gaussian(0.01, &[*a], &[*b]))).collect();
    let with = |steps| train(&gram, &labels, 3, &SvmOptions { penalty: 1e6, tolerance: 1e-9, steps });
    assert!(!with(1).unwrap().converged());
    assert!(with(10_000).unwrap().converged());
    assert_eq!(Machine::len(3, 12), Some(39));
}

proptest! {
    /// Of equal votes the first class; a decision value of zero is for the second of the pair.
    #[test]
    fn predictions_are_votes_of_the_machines(
        gram in prop::collection::vec(-2i32..3, 36),
        similarities in prop::collection::vec(-2i32..3, 6),
    ) {
        let gram: Vec<f64> = gram.into_iter().map(f64::from).collect();
        let similarities: Vec<f64> = similarities.into_iter().map(f64::from).collect();
        let options = SvmOptions { steps: 3, ..SvmOptions::default() };
        let machine = train(&gram, &[0, 1, 2, 0, 1, 2], 3, &options).unwrap();
        let mut votes = [0; 3];
        for ((first, second), coefficients, bias) in machine.machines() {
            let value: f64 = coefficients.iter().zip(&similarities).map(|(c, s)| c * s).sum();
            prop_assume!((value + bias).abs() > 1e-9 || (value == 0.0 && bias == 0.0)); // sums of another order
            votes[if value + bias > 0.0 { first } else { second }] += 1;
        }
        let most = votes.iter().max().unwrap();
        prop_assert_eq!(machine.predict(&similarities, &mut [0; 3]).ok(), votes.iter().position(|v| v == most));
    }
}
