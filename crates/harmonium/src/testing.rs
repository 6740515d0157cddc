//! Small random models, whose states can be enumerated: for property tests of harmoniums and of what is built on them. The exact
//! references are [`Harmonium::log_partition`] and [`Harmonium::expectations`].
//!
//! ```
//! use countgrid_harmonium::{Draws, testing::{model, shapes}};
//! use proptest::prelude::*;
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//!
//! proptest!(ProptestConfig::with_cases(16), |(shape in shapes(3, 2), seed: u64)| {
//!     let model = model(shape, 0.5, 0.5, 3, &mut Draws::new(ChaCha8Rng::seed_from_u64(seed)));
//!     let log_partition = model.log_partition(&mut vec![0.0; shape.exact_scratch_len()]);
//!     prop_assert!(log_partition.unwrap().is_finite());
//! });
//! ```
#![allow(clippy::missing_panics_doc, reason = "for tests, which fail by panicking")]

use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use rand_core::Rng;

use crate::{Draws, Harmonium, Noise, Shape, Wings};

/// One of each kind of wings, with so many words and topics; a dual wing has two features.
///
/// Example: [`testing`](crate::testing).
#[must_use]
pub fn kinds(words: usize, topics: usize) -> [Shape; 3] {
    [Shape::words(words, topics), Shape::dual_wing(words, 2, topics), Shape::rate_adapting(words, topics)]
        .map(|shape| shape.expect("some words and topics"))
}

/// Any of [`kinds`].
///
/// Example: [`testing`](crate::testing).
pub fn shapes(words: usize, topics: usize) -> impl Strategy<Value = Shape> {
    prop::sample::select(kinds(words, topics).to_vec())
}

/// A model with normal biases and couplings of these standard deviations, and binomial sizes 1 to `size` in turn.
///
/// Example: [`testing`](crate::testing).
#[must_use]
pub fn model(
    shape: Shape,
    biases: f64,
    couplings: f64,
    size: u32,
    draws: &mut Draws<impl Rng>,
) -> Harmonium<f64, Vec<f64>> {
    let mut normal = |deviation: f64| -> f64 { deviation * Noise::<f64>::normal(draws) };
    let mut buffer: Vec<f64> = (0..shape.model_len()).map(|_| normal(couplings)).collect();
    let (words, topics) = (shape.word_count(), shape.topics());
    let is_rate = shape.wings() == Wings::RateAdapting;
    let (alpha, rest) = buffer.split_at_mut(words);
    alpha.iter_mut().for_each(|a| *a = normal(biases));
    let rest = &mut rest[words * topics..];
    let (sizes, rest) = rest.split_at_mut(if is_rate { topics } else { words });
    sizes.iter_mut().enumerate().for_each(|(i, n)| *n = 1.0 + (i as u32 % size) as f64);
    let features = shape.features();
    let (beta, rest) = rest.split_at_mut(if is_rate { topics } else { features });
    beta.iter_mut().for_each(|b| *b = normal(biases));
    let (variances, u) = rest.split_at_mut(features);
    variances.iter_mut().enumerate().for_each(|(c, s)| *s = 0.5 + 0.5 * c as f64);
    // The largest eigenvalue of Uᵀ diag(s) U is at most the sum of its squares: well within one that exists.
    let size = variances.iter().fold(0.0, |most, &s| s.max(most)) * u.iter().map(|u| u * u).sum::<f64>();
    u.iter_mut().for_each(|u| *u *= (0.8 / size.max(0.8)).sqrt());
    Harmonium::new(shape, buffer, &mut vec![0.0; shape.precision_len()]).expect("a model")
}
