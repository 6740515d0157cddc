//! Small models drawn from seeds, and yardsticks.
#![allow(dead_code, reason = "each test file uses its part")]

use countgrid_harmonium::{Draws, Gradient, Harmonium, HarmoniumError, Noise, Shape};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

pub(crate) type Model = Harmonium<f64, Vec<f64>>;

pub(crate) fn draws(seed: u64) -> Draws<ChaCha8Rng> {
    Draws::new(ChaCha8Rng::seed_from_u64(seed))
}

pub(crate) fn normal(draws: &mut Draws<ChaCha8Rng>) -> f64 {
    draws.normal()
}

/// A model with normal biases and couplings of these spreads, and binomial sizes 1 to `size` in turn.
pub(crate) fn random(shape: Shape, biases: f64, couplings: f64, size: u32, seed: u64) -> Model {
    let mut draws = draws(seed);
    let mut buffer: Vec<f64> = (0..shape.model_len()).map(|_| couplings * normal(&mut draws)).collect();
    let (words, topics) = (shape.word_count(), shape.topics());
    let (alpha, rest) = buffer.split_at_mut(words);
    alpha.iter_mut().for_each(|a| *a = biases * normal(&mut draws));
    let rest = &mut rest[words * topics..];
    let (sizes, rest) = rest.split_at_mut(if is_rate(&shape) { topics } else { words });
    sizes.iter_mut().enumerate().for_each(|(i, n)| *n = 1.0 + (i as u32 % size) as f64);
    let features = shape.features();
    let (beta, rest) = rest.split_at_mut(if is_rate(&shape) { topics } else { features });
    beta.iter_mut().for_each(|b| *b = biases * normal(&mut draws));
    let (variances, u) = rest.split_at_mut(features);
    variances.iter_mut().enumerate().for_each(|(c, s)| *s = 0.5 + 0.5 * c as f64);
    // The largest eigenvalue of Uᵀ diag(s) U is at most the sum of its squares: well within one that exists.
    let size = variances.iter().fold(0.0, |most, &s| s.max(most)) * u.iter().map(|u| u * u).sum::<f64>();
    u.iter_mut().for_each(|u| *u *= (0.8 / size.max(0.8)).sqrt());
    Harmonium::new(shape, buffer, &mut vec![0.0; shape.precision_len()]).expect("a model")
}

pub(crate) fn is_rate(shape: &Shape) -> bool {
    shape.wings() == countgrid_harmonium::Wings::RateAdapting
}

/// One of each kind, small enough to enumerate.
pub(crate) fn kinds(words: usize, topics: usize) -> [Shape; 3] {
    [Shape::words(words, topics), Shape::dual_wing(words, 2, topics), Shape::rate_adapting(words, topics)]
        .map(|shape| shape.expect("some words and topics"))
}

pub(crate) fn log_partition(model: &Model) -> f64 {
    model.log_partition(&mut vec![0.0; model.shape().exact_scratch_len()]).expect("few states")
}

pub(crate) fn expectations(model: &Model) -> Gradient<f64, Vec<f64>> {
    let mut expected = Gradient::allocate(*model.shape()).expect("memory");
    let mut scratch = vec![0.0; model.shape().exact_scratch_len()];
    model.expectations(&mut expected, &mut scratch).expect("few states");
    expected
}

/// The model with one learned parameter changed: `table` of `alpha`, `w`, `beta`, `u`.
pub(crate) fn nudged(model: &Model, table: usize, index: usize, by: f64) -> Result<Model, HarmoniumError> {
    let mut scratch = vec![0.0; model.shape().precision_len()];
    model.clone().update(&mut scratch, |tables| tables[table][index] += by)
}

pub(crate) fn scratch(shape: &Shape) -> Vec<f64> {
    vec![0.0; shape.gibbs_scratch_len::<f64>().max(shape.step_scratch_len())]
}

/// Within `4.5` standard errors, which chance exceeds 7 times in a million.
#[track_caller]
pub(crate) fn close(what: &str, found: f64, expected: f64, standard_error: f64) {
    let deviation = (found - expected).abs() / standard_error;
    assert!(deviation < 4.5, "{what}: {found}, expected {expected}: {deviation:.1} standard errors off");
}
