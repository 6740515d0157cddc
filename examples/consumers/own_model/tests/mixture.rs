//! Against the definition of an iteration, and what every way to fit must find.

use std::f64::consts::TAU;

use countgrid_em::testing::{Tolerance, check_additivity, check_objective_falls, check_tables};
use countgrid_em::{Fit, Learn, Tables, TablesMutExt, noise};
use own_model::{Mixture, annealed, best_of, in_batches, on_threads};

/// 3000 numbers: two thirds about -2, with variance 1/4; the others about 3, with variance 1.
fn data() -> Vec<f64> {
    // The sum of twelve numbers of `-1..1` has variance 4.
    let normal = |at: usize| (0..12).map(|i| noise(9, 12 * at + i)).sum::<f64>() / 2.0;
    (0..3000).map(|at| if at % 3 < 2 { -2.0 + normal(at) / 2.0 } else { 3.0 + normal(at) }).collect()
}

/// Components of a fit in the order of their means: weight, mean, variance.
fn sorted(model: &Mixture) -> Vec<[f64; 3]> {
    let [weights, means, variances] = model.parts();
    let mut found: Vec<_> = (0..weights.len()).map(|k| [weights[k], means[k], variances[k]]).collect();
    found.sort_by(|a, b| a[1].total_cmp(&b[1]));
    found
}

/// Weight, mean and variance of the two parts of the data; they overlap so little that no fit is farther from them than 0.02.
fn is_found(model: &Mixture, within: f64) {
    let data = data();
    for (part, found) in sorted(model).iter().enumerate() {
        let own: Vec<f64> =
            data.iter().enumerate().filter(|(at, _)| (at % 3 < 2) == (part == 0)).map(|(_, &x)| x).collect();
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        let variance = own.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / own.len() as f64;
        let expected = [own.len() as f64 / data.len() as f64, mean, variance];
        let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < within);
        assert!(near, "part {part}: {found:?}, not {expected:?}");
    }
}

#[test]
fn an_iteration_is_that_of_the_definition() {
    let (mut model, data) = (Mixture::new(3).unwrap(), data());
    model.draw(4.0, 5);
    let [weights, means, variances] = model.parts().map(<[f64]>::to_vec);
    let mut statistics = model.statistics().unwrap();
    let free_energy = model.expectation(&data, &mut statistics).unwrap();
    model.maximization(&mut statistics).unwrap();

    let joint = |x: f64, k: usize| {
        weights[k] * (-(x - means[k]).powi(2) / (2.0 * variances[k])).exp() / (TAU * variances[k]).sqrt()
    };
    let p = |x: f64| (0..3).map(|k| joint(x, k)).sum::<f64>();
    // Sums of 3000 terms, each within some roundings: 3000 · 10 · 2^-53 is 3e-12, of variances (up to 100 from squares) more.
    let close = |found: f64, expected: f64| {
        assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{found}, not {expected}");
    };
    close(free_energy, -data.iter().map(|&x| p(x).ln()).sum::<f64>());
    for k in 0..3 {
        let q: Vec<f64> = data.iter().map(|&x| joint(x, k) / p(x)).collect();
        let total: f64 = q.iter().sum();
        let mean = q.iter().zip(&data).map(|(q, x)| q * x).sum::<f64>() / total;
        let variance = q.iter().zip(&data).map(|(q, x)| q * (x - mean).powi(2)).sum::<f64>() / total;
        let [weights, means, variances] = model.parts();
        close(weights[k], total / data.len() as f64);
        close(means[k], mean);
        close(variances[k], variance);
    }
}

#[test]
fn the_contracts_hold() {
    let (mut model, data) = (Mixture::new(2).unwrap(), data());
    model.draw(4.0, 1);
    let mut statistics = model.statistics().unwrap();
    let rounding = Tolerance::relative(1e-11); // sums of 3000 terms
    check_tables(&model).unwrap();
    check_additivity(&model, &data[..], data.chunks(700), &mut statistics, rounding).unwrap();
    check_objective_falls(&mut model, &data[..], &mut statistics, 10, rounding).unwrap();
}

#[test]
fn every_way_to_fit_finds_the_two_parts() {
    let data = data();
    let (model, best) = best_of(3, 2, &data).unwrap();
    is_found(&model, 0.02);
    let (model, outcome) = annealed(2, &data, 0.05).unwrap();
    is_found(&model, 0.02);
    assert!((outcome.objective - best.objective).abs() < 1e-6 * best.objective, "the same optimum");
    assert_eq!((best.coinciding, outcome.coinciding), (Some(0), Some(0)));

    let mut start = Mixture::new(2).unwrap();
    start.draw(5.0, 2);
    let (model, _) = in_batches(start, &data, 300).unwrap();
    is_found(&model, 0.1); // the last batches count for more than the others
}

#[test]
fn components_that_nothing_parts_are_reported() {
    let (_, outcome) = annealed(2, &data(), 0.0).unwrap();
    assert_eq!(outcome.coinciding, Some(1));
}

#[test]
fn threads_change_no_bit() {
    let (mut start, data) = (Mixture::new(2).unwrap(), data());
    start.draw(5.0, 2);
    let fit = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| on_threads(start.clone(), &data).unwrap().0.buffer().to_vec())
    };
    let (one, three) = (fit(1), fit(3));
    assert!(one.iter().zip(&three).all(|(one, three)| one.to_bits() == three.to_bits()));

    // Statistics are added to, not written.
    let mut statistics = start.statistics().unwrap();
    start.expectation(&data, &mut statistics).unwrap();
    let once = statistics.buffer().to_vec();
    start.expectation(&data, &mut statistics).unwrap();
    assert_ne!(once, statistics.buffer());
    statistics.clear();
    assert!(statistics.buffer().iter().all(|&x| x == 0.0));
}
