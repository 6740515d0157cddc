//! Random problems, and the bound of Blei et al. 2003 written down plainly: for property tests of models with topics and of what
//! is built on them.
//!
//! ```
//! use countgrid_lda::{Inference, testing::problem};
//! use proptest::prelude::*;
//!
//! proptest!(ProptestConfig::with_cases(16), |(problem in problem())| {
//!     let (lda, bags) = (problem.lda::<f64>(), problem.bags());
//!     let mut scratch = vec![0.0; problem.shape().posterior_scratch_len()];
//!     let posterior = lda.posterior(&bags, 0, Inference::default(), &mut scratch).unwrap();
//!     let phi = problem.phi(posterior.gamma());
//!     let bound = problem.elbo(0, posterior.gamma(), &phi);
//!     prop_assert!(posterior.bound() <= bound + 1e-9 * bound.abs().max(1.0)); // the best phi for this gamma
//! });
//! ```
#![allow(
    clippy::missing_panics_doc,
    clippy::needless_range_loop,
    reason = "for tests, which fail by panicking; indices are those of the mathematics"
)]

use std::vec;
use std::vec::Vec;

use countgrid_counts::CsrBuf;
use countgrid_math::{Real, digamma, ln_gamma};
use proptest::prelude::*;

use crate::{Lda, Shape};

/// A model and documents; tables in f64, `beta` `[topic][feature]`.
///
/// Example: [`testing`](crate::testing).
#[derive(Clone, Debug)]
pub struct Problem {
    /// `[topic]`, positive.
    pub alpha: Vec<f64>,
    /// `[topic][feature]`, each topic a distribution.
    pub beta: Vec<Vec<f64>>,
    /// `[document][feature]`, the last document empty.
    pub counts: Vec<Vec<u32>>,
}

impl Problem {
    /// How many topics there are.
    #[must_use]
    pub fn topics(&self) -> usize {
        self.alpha.len()
    }

    /// How many features there are.
    #[must_use]
    pub fn features(&self) -> usize {
        self.beta[0].len()
    }

    /// The sizes of the model.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape::new(self.topics(), self.features()).unwrap()
    }

    /// The model.
    #[must_use]
    pub fn lda<T: Real>(&self) -> Lda<T, Vec<T>> {
        let mut tables = Vec::new();
        for w in 0..self.features() {
            tables.extend(self.beta.iter().map(|topic| T::from_f64(topic[w])));
        }
        tables.extend(self.alpha.iter().map(|&alpha| T::from_f64(alpha)));
        Lda::new(self.shape(), tables).unwrap()
    }

    /// The documents.
    #[must_use]
    pub fn bags(&self) -> CsrBuf<u32> {
        CsrBuf::from_dense(self.features(), &self.counts.concat()).unwrap()
    }

    /// Tokens of document `d`.
    #[must_use]
    pub fn tokens(&self, d: usize) -> f64 {
        self.counts[d].iter().map(|&c| f64::from(c)).sum()
    }

    /// The bound of document `d` at any `gamma` and any `phi` `[feature][topic]`: Blei et al. 2003, Eq. 15, term by term.
    #[must_use]
    pub fn elbo(&self, d: usize, gamma: &[f64], phi: &[Vec<f64>]) -> f64 {
        let total: f64 = gamma.iter().sum();
        let mut bound = ln_gamma(self.alpha.iter().sum::<f64>()) - ln_gamma(total);
        for k in 0..self.topics() {
            let e = digamma(gamma[k]) - digamma(total);
            bound += (self.alpha[k] - 1.0) * e - ln_gamma(self.alpha[k]);
            bound += ln_gamma(gamma[k]) - (gamma[k] - 1.0) * e;
            for w in 0..self.features() {
                let tokens = f64::from(self.counts[d][w]) * phi[w][k];
                if tokens > 0.0 {
                    bound += tokens * (e + self.beta[k][w].ln() - phi[w][k].ln());
                }
            }
        }
        bound
    }

    /// `phi` `[feature][topic]` of a `gamma`, by Eq. 6.
    #[must_use]
    pub fn phi(&self, gamma: &[f64]) -> Vec<Vec<f64>> {
        (0..self.features())
            .map(|w| {
                let row: Vec<f64> =
                    (0..self.topics()).map(|k| self.beta[k][w] * digamma(gamma[k]).exp()).collect();
                let sum: f64 = row.iter().sum();
                row.iter().map(|x| x / sum).collect()
            })
            .collect()
    }

    /// The next `gamma`, by Eq. 7.
    #[must_use]
    pub fn gamma(&self, d: usize, phi: &[Vec<f64>]) -> Vec<f64> {
        (0..self.topics())
            .map(|k| {
                self.alpha[k]
                    + (0..self.features()).map(|w| f64::from(self.counts[d][w]) * phi[w][k]).sum::<f64>()
            })
            .collect()
    }

    /// `gamma = alpha + N / K`, then so many sweeps: `gamma` and the `phi` it came from.
    #[must_use]
    pub fn infer(&self, d: usize, sweeps: usize) -> (Vec<f64>, Vec<Vec<f64>>) {
        let even = self.tokens(d) / self.topics() as f64;
        let mut gamma: Vec<f64> = self.alpha.iter().map(|alpha| alpha + even).collect();
        let mut phi = Vec::new();
        for _ in 0..sweeps {
            phi = self.phi(&gamma);
            gamma = self.gamma(d, &phi);
        }
        (gamma, phi)
    }
}

/// Up to five topics over up to seven features, documents of up to some thirty tokens, one of them empty.
///
/// Example: [`testing`](crate::testing).
pub fn problem() -> impl Strategy<Value = Problem> {
    (1..=5_usize, 1..=7_usize, 1..=5_usize).prop_flat_map(|(topics, features, bags)| {
        let alpha = prop::collection::vec(0.05..3.0_f64, topics);
        let beta = prop::collection::vec(prop::collection::vec(0.01..1.0_f64, features), topics);
        let counts =
            prop::collection::vec(prop::collection::vec(prop_oneof![Just(0_u32), 0..8_u32], features), bags);
        (alpha, beta, counts).prop_map(|(alpha, mut beta, mut counts)| {
            for topic in &mut beta {
                let sum: f64 = topic.iter().sum();
                topic.iter_mut().for_each(|p| *p /= sum);
            }
            let features = counts[0].len();
            counts.push(vec![0; features]);
            Problem { alpha, beta, counts }
        })
    })
}
