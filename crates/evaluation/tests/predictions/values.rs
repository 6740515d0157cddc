//! Estimated values against the mean value of the documents around, cell by cell.

use std::ops::ControlFlow;

use countgrid_classify::folds;
use countgrid_counts::Bags;
use countgrid_evaluation::{FittedModel, ModelKind, Part, Protocol, Stop, regress};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::made::{alone, drawn, labelled, options};

/// More documents than are looked at together, among those to learn from and those that are held out. Four have no word that another
/// has: no position.
#[test]
fn estimates_are_means_of_the_documents_around() {
    let values = [("-1.5", 180), ("2", 240), ("40", 116)];
    let mut documents = drawn(&values, 3, 9);
    for (word, place) in [2, 300, 310, 500].into_iter().enumerate() {
        documents.insert(place, alone(["40", "2", "-1.5", "40"][word], word));
    }
    let data = labelled(&documents);
    let labels: Vec<f64> = documents.iter().map(|one| one.label.as_ref().unwrap().parse().unwrap()).collect();
    let options = options(ModelKind::Grid);
    let protocol = Protocol { folds: 2, repeats: 2, seed: 4, ..Protocol::default() };
    let found = regress(&data, &options, &protocol, |_| ControlFlow::Continue(()), &Stop::new()).unwrap();
    assert_eq!(found.estimates.len(), 2 * 540);
    let mut estimates = found.estimates.iter();
    let mut correlations = Vec::new();
    for repetition in 0..2 {
        let mut fold_of = vec![0; 540];
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        rng.set_stream(repetition as u64 + 1);
        folds(2, &mut rng, &mut fold_of).unwrap();
        let mut all = vec![0.0; 540];
        for held_out in 0..2 {
            let (test, training): (Vec<usize>, Vec<usize>) =
                (0..540).partition(|&item| fold_of[item] == held_out);
            let fold = data.fold(&training, &test, &options).unwrap();
            let FittedModel::Grid(grid) = FittedModel::fit(&fold.training, &options, &Stop::new()).unwrap()
            else {
                panic!()
            };
            let windows: Vec<[usize; 4]> = (0..12)
                .map(|cell| {
                    let (x, y) = (cell / 4, cell % 4);
                    [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| (x + a) % 3 * 4 + (y + b) % 4)
                })
                .collect();
            let tokens = |part: &Part<f64>| -> Vec<f64> {
                let bags = part.bags.gather(|count| count).unwrap();
                (0..bags.len()).map(|bag| bags.total(bag)).collect()
            };
            let (mut weights, mut sums) = ([0.0; 12], [0.0; 12]);
            let posteriors = grid.transform(&fold.training.bags).unwrap();
            for (bag, tokens) in tokens(&fold.training).into_iter().enumerate().filter(|x| x.1 > 0.0) {
                assert!(tokens <= 3.0);
                for (window, &q) in posteriors.row(bag).iter().enumerate() {
                    for &cell in &windows[window] {
                        weights[cell] += q;
                        sums[cell] += q * labels[training[bag]];
                    }
                }
            }
            let mean = training.iter().map(|&item| labels[item]).sum::<f64>() / training.len() as f64;
            let posteriors = grid.transform(&fold.test.bags).unwrap();
            for (bag, (&item, tokens)) in test.iter().zip(tokens(&fold.test)).enumerate() {
                let of = |window: usize| {
                    windows[window].iter().map(|&cell| sums[cell] / weights[cell]).sum::<f64>() / 4.0
                };
                let read = posteriors.row(bag).iter().enumerate().map(|(window, q)| q * of(window)).sum();
                let expected: f64 = if tokens > 0.0 { read } else { mean };
                let one = estimates.next().unwrap();
                assert_eq!((one.repetition, one.fold, one.item), (repetition, held_out, item));
                assert_eq!(one.value, labels[item]);
                // Means of numbers up to 40, weighted by hundreds of probabilities.
                assert!((one.estimated - expected).abs() < 1e-10, "{one:?} {expected}");
                all[item] = one.estimated;
            }
        }
        let mean = |x: &[f64]| x.iter().sum::<f64>() / 540.0;
        let covariance = |x: &[f64], y: &[f64]| {
            let (a, b) = (mean(x), mean(y));
            x.iter().zip(y).map(|(x, y)| (x - a) * (y - b)).sum::<f64>()
        };
        let variances = covariance(&labels, &labels) * covariance(&all, &all);
        correlations.push(covariance(&labels, &all) / variances.sqrt());
    }
    let mean = f64::midpoint(correlations[0], correlations[1]);
    assert!((found.correlations.mean().unwrap() - mean).abs() < 1e-12 && mean > 0.5, "{mean}");
}
