//! Annealed importance sampling by its definition: without couplings, and with the same random number for every draw.

use crate::common;

use common::*;
use countgrid_harmonium::{Harmonium, HarmoniumError as E, Shape};
use countgrid_math::Real;

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn uncoupled(model: &Model) -> Model {
    let scratch = &mut vec![0.0; model.shape().precision_len()];
    model
        .clone()
        .update(scratch, |[_, w, _, u]| {
            w.fill(0.0);
            u.fill(0.0);
        })
        .unwrap()
}

#[test]
fn without_couplings_every_weight_is_one() {
    for shape in kinds(3, 2) {
        let model = uncoupled(&random(shape, 0.7, 0.3, 3, 1));
        let mut weights = [f64::NAN; 20];
        let found =
            model.annealed_log_partition(5, &mut weights, &mut draws(1), &mut scratch(&shape)).unwrap();
        assert_eq!(weights, [0.0; 20]);
        let exact = log_partition(&model);
        assert!((found.log_partition - exact).abs() < 1e-12 * (1.0 + exact.abs()), "{found:?} {exact}");
        assert!((found.effective_chains - 20.0).abs() < 1e-12 * 20.0, "{found:?}");
        // The root of a rounding error.
        assert!(found.standard_error < 1e-7, "{found:?}");
    }
}

#[test]
fn the_error_is_the_spread_of_the_weights_over_their_mean() {
    for shape in kinds(3, 2) {
        let model = random(shape, 0.7, 0.5, 2, 2);
        let mut logs = [0.0; 5];
        let found = model.annealed_log_partition(3, &mut logs, &mut draws(2), &mut scratch(&shape)).unwrap();
        let weights = logs.map(f64::exp);
        let mean = weights.iter().sum::<f64>() / 5.0;
        let variance = weights.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / 4.0;
        let error = (variance / 5.0).sqrt() / mean;
        assert!(error > 1e-3 && (found.standard_error - error).abs() < 1e-10, "{found:?} {error}");
        let effective = 25.0 * mean * mean / weights.iter().map(|w| w * w).sum::<f64>();
        assert!((found.effective_chains - effective).abs() < 1e-12 * effective, "{found:?} {effective}");
        let log_z = log_partition(&uncoupled(&model)) + mean.ln();
        assert!((found.log_partition - log_z).abs() < 1e-12 * (1.0 + log_z.abs()), "{found:?} {log_z}");
    }
}

/// `log` of the weight of a chain of two temperatures, of sizes 1 in both layers.
fn weight_of_two_steps(model: &Model, uniform: f64, normal: f64) -> f64 {
    let topics = model.shape().topics();
    let is_rate = is_rate(model.shape());
    let words = |h: &[f64]| -> Vec<f64> {
        let fields = model.w().chunks_exact(topics).zip(model.alpha());
        let fields = fields.map(|(row, a)| a + row.iter().zip(h).map(|(w, h)| w * h).sum::<f64>());
        let draw = |field: f64| match is_rate {
            true => poisson_quantile(field.exp(), uniform),
            false => f64::from(u8::from(uniform < sigmoid(field))),
        };
        fields.map(draw).collect()
    };
    let activations = |x: &[f64]| -> Vec<f64> {
        (0..topics).map(|j| x.iter().enumerate().map(|(i, x)| x * model.w()[i * topics + j]).sum()).collect()
    };
    let energy = |a: &[f64], beta: f64| match is_rate {
        true => a.iter().zip(model.beta()).map(|(a, b)| softplus(b + beta * a)).sum::<f64>(),
        false => 0.5 * beta * a.iter().map(|a| a * a).sum::<f64>(),
    };
    let first = activations(&words(&vec![0.0; topics]));
    let h: Vec<f64> = match is_rate {
        true => first
            .iter()
            .zip(model.beta())
            .map(|(a, b)| 0.5 * f64::from(u8::from(uniform < sigmoid(b + 0.5 * a))))
            .collect(),
        // Half of V is couplings of √½ the size.
        false => first.iter().map(|a| 0.5_f64.sqrt() * (0.5_f64.sqrt() * a + normal)).collect(),
    };
    let second = activations(&words(&h));
    energy(&first, 0.5) - energy(&first, 0.0) + energy(&second, 1.0) - energy(&second, 0.5)
}

#[test]
fn a_weight_is_what_couplings_add_at_every_temperature() {
    let mut different = 0;
    for shape in [Shape::words(4, 2).unwrap(), Shape::rate_adapting(4, 2).unwrap()] {
        for seed in 0..20 {
            let model = random(shape, 0.5, 0.8, 1, seed);
            let uniform = 0.05 + 0.045 * seed as f64;
            let expected = weight_of_two_steps(&model, uniform, 0.3);
            let mut weights = [0.0; 2];
            let mut noise = Same::new(uniform, 0.3);
            model.annealed_log_partition(2, &mut weights, &mut noise, &mut scratch(&shape)).unwrap();
            assert!(weights.iter().all(|w| (w - expected).abs() < 1e-12), "{weights:?} {expected}");
            different += usize::from(expected.abs() > 0.01);
        }
    }
    assert!(different > 20, "{different} weights that say anything");
}

/// Words and features begin without couplings; between two temperatures there is a full step, after the last none.
#[test]
fn a_chain_draws_no_more_than_its_weights_need() {
    let chains = 2 * f64::LANES + 1;
    for temperatures in [1, 3] {
        for shape in kinds(3, 2) {
            let (words, topics, features) =
                (3 * temperatures, 2 * (temperatures - 1), shape.features() * temperatures);
            let (uniform, normal) =
                if is_rate(&shape) { (words + topics, 0) } else { (words, topics + features) };
            let model = random(shape, 0.5, 0.3, 1, 3);
            let mut noise = Same::new(0.6, 0.1);
            let mut weights = vec![0.0; chains];
            model
                .annealed_log_partition(temperatures, &mut weights, &mut noise, &mut scratch(&shape))
                .unwrap();
            assert_eq!(noise.asked, (chains * uniform, chains * normal), "{shape:?}");
        }
    }
}

#[test]
fn an_estimate_needs_a_temperature_and_two_chains() {
    let shape = Shape::words(2, 1).unwrap();
    let model = Harmonium::new(shape, [0.0, 0.5, 0.8, -0.3, 1.0, 1.0], &mut []).unwrap();
    let estimate = |temperatures: usize, chains: usize| {
        let mut weights = vec![0.0; chains];
        model
            .annealed_log_partition(temperatures, &mut weights, &mut draws(1), &mut scratch(&shape))
            .map(|_| ())
    };
    assert_eq!(estimate(0, 2), Err(E::Setting { name: "temperatures" }));
    assert_eq!(estimate(1, 0), Err(E::Nothing { what: "pairs of chains" }));
    assert_eq!(estimate(1, 1), Err(E::Nothing { what: "pairs of chains" }));
    assert_eq!(estimate(1, 2), Ok(()));
}
