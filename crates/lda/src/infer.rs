//! The posterior of one document: `q(theta) = Dirichlet(gamma)`, and of the tokens of a feature `q(z) = phi`.
//!
//! `phi_wk = beta_wk x_k / m_w` with `x_k = exp(ψ(gamma_k) - max ψ)` and `m_w = Σ_k beta_wk x_k`, so that a sweep
//!
//! ```text
//! gamma_k <- alpha_k + x_k Σ_w c_w beta_wk / m_w
//! ```
//!
//! never forms `phi`: it takes a dot product and an `axpy` of every row of `beta` that the document has (Blei et al.
//! 2003, Eqs. 6 and 7; the form of Lee & Seung 2001 that Hoffman et al. 2010 use). Where `m_w` is so small that
//! its terms may have been lost, the feature goes by logarithms.

use countgrid_counts::{Bags, Count};
use countgrid_math::{Kernel, Real, digamma_slice, dispatch, dot_lanes, exp, ln, ln_gamma};

use crate::{
    Inference, LdaError, Shape,
    lda::{row, span},
};

/// One document's scratch.
pub(crate) struct Document<'a, T> {
    pub(crate) gamma: &'a mut [T],   // [topic]
    pub(crate) logs: &'a mut [T],    // [topic], ln x
    pub(crate) shares: &'a mut [T],  // [topic], x; zero where it is too small to count
    pub(crate) sums: &'a mut [T],    // [topic]
    pub(crate) results: &'a mut [T], // RESULTS
}

/// Numbers kept of a document: each a sum of two, so that f32 holds them to twice its precision.
pub(crate) const RESULTS: usize = 6;

impl<'a, T: Real> Document<'a, T> {
    /// A document in scratch of [`Shape::posterior_scratch_len`] elements at least.
    pub(crate) fn new(shape: &Shape, mut scratch: &'a mut [T]) -> Self {
        let mut take = |stride: usize, len: usize| {
            let (row, rest) = core::mem::take(&mut scratch).split_at_mut_checked(stride).unwrap_or_default();
            scratch = rest;
            row.get_mut(..len).unwrap_or_default()
        };
        let (stride, topics) = (shape.row_len(), shape.topics());
        Self {
            gamma: take(stride, topics),
            logs: take(stride, topics),
            shares: take(stride, topics),
            sums: take(stride, topics),
            results: take(RESULTS, RESULTS),
        }
    }
}

/// How inference ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Inferred {
    pub(crate) bound: f64,     // evidence lower bound; not finite if the counts are too large
    pub(crate) log_theta: f64, // Σ_k E[ln theta_k]
    pub(crate) sweeps: usize,
    pub(crate) converged: bool,
}

impl Inferred {
    /// Keeps what an E-step needs of it.
    pub(crate) fn write<T: Real>(&self, results: &mut [T]) {
        let numbers = [self.bound, self.log_theta, self.sweeps as f64];
        for (pair, number) in results.chunks_exact_mut(2).zip(numbers) {
            let high = T::from_f64(number);
            pair.copy_from_slice(&[high, T::from_f64(number - high.to_f64())]);
        }
    }

    /// Bound, `Σ_k E[ln theta_k]` and sweeps. What is not finite stays so.
    pub(crate) fn read<T: Real>(results: &[T]) -> [f64; 3] {
        let mut numbers = [f64::NAN; 3];
        for (number, pair) in numbers.iter_mut().zip(results.chunks_exact(2)) {
            *number = pair.iter().fold(0.0, |sum, &x| sum + x.to_f64());
        }
        numbers
    }
}

/// A document of a data set under a model.
#[derive(Debug)]
pub(crate) struct Source<'a, T, B> {
    pub(crate) beta: &'a [T],  // [feature][topic]
    pub(crate) alpha: &'a [T], // [topic]
    pub(crate) bags: &'a B,
    pub(crate) bag: usize,
}

impl<T, B> Clone for Source<'_, T, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, B> Copy for Source<'_, T, B> {}

impl<'a, T: Real, B: Bags> Source<'a, T, B> {
    /// The document's features, each with its row of `beta` and its count.
    #[inline(always)]
    pub(crate) fn rows(self) -> impl Iterator<Item = (usize, &'a [T], T)> {
        let (beta, topics) = (self.beta, self.alpha.len());
        self.bags.entries(self.bag).map(move |(w, count)| (w, row(beta, topics, w), count.to_real()))
    }

    /// `gamma_k = alpha_k + N / K`.
    pub(crate) fn start(self, gamma: &mut [T]) {
        let even = T::from_f64(self.bags.total(self.bag) / self.alpha.len() as f64);
        gamma.iter_mut().zip(self.alpha).for_each(|(gamma, &alpha)| *gamma = alpha + even);
    }

    /// Sweeps until `gamma` stands still. `ln_normaliser` is [`crate::Lda::ln_normaliser`].
    pub(crate) fn infer(
        self,
        inference: Inference,
        ln_normaliser: f64,
        document: &mut Document<'_, T>,
    ) -> Inferred {
        let Document { gamma, logs, shares, sums, .. } = document;
        let tolerance = inference.tolerance * self.alpha.len() as f64;
        let mut found = Inferred::default();
        while !found.converged && found.sweeps < inference.sweeps {
            logs.copy_from_slice(gamma);
            digamma_slice(logs);
            let change = dispatch(Sweep { source: self, gamma, logs, shares, sums });
            found.converged = change.to_f64() <= tolerance;
            found.sweeps += 1;
        }
        sums.copy_from_slice(gamma);
        digamma_slice(sums);
        let mut total = 0.0;
        let mut bound = ln_normaliser + dispatch(Expected { source: self, logs, shares });
        for (((&gamma, &alpha), &log), &psi) in gamma.iter().zip(self.alpha).zip(&**logs).zip(&**sums) {
            let (gamma, tokens) = (gamma.to_f64(), gamma.to_f64() - alpha.to_f64());
            total += gamma;
            bound += ln_gamma(gamma) - tokens * log.to_f64();
            found.log_theta += psi.to_f64();
        }
        found.bound = bound - ln_gamma(total);
        found.log_theta -= self.alpha.len() as f64 * countgrid_math::digamma(total);
        found
    }

    /// Bags that there are not are refused.
    pub(crate) fn check(self) -> Result<Self, LdaError> {
        let (bag, bags) = (self.bag, self.bags.len());
        if bag < bags { Ok(self) } else { Err(LdaError::NoSuchBag { bag, bags }) }
    }
}

/// Below it, `x_k` counts as zero.
#[inline(always)]
fn least_share<T: Real>() -> T {
    T::FLOOR / T::UNIT_ROUNDOFF
}

/// Below it, `m_w` may have lost more than a rounding to the zeros among the shares.
#[inline(always)]
fn least_mass<T: Real>() -> T {
    T::FLOOR / T::UNIT_ROUNDOFF / T::UNIT_ROUNDOFF
}

/// `m_w`; `None` if the feature has to go by logarithms.
#[inline(always)]
pub(crate) fn mass<T: Real>(row: &[T], shares: &[T]) -> Option<T> {
    let mass = dot_lanes(row, shares);
    if mass >= least_mass() { Some(mass) } else { None }
}

/// Gives `phi_wk` of every topic to `take`, by logarithms; returns `ln m_w`. A feature that no topic has counts as one
/// that all have with a probability of the floor.
pub(crate) fn by_logarithms<T: Real>(row: &[T], logs: &[T], mut take: impl FnMut(usize, T)) -> T {
    let unknown = row.iter().all(|&p| p < T::FLOOR);
    let joint = |(&p, &log): (&T, &T)| match p < T::FLOOR {
        true if unknown => log + ln(T::FLOOR),
        true => T::neg_infinity(),
        false => log + ln(p),
    };
    let joints = || row.iter().zip(logs).map(joint);
    let best = joints().fold(T::neg_infinity(), |best, x| if x > best { x } else { best });
    let mass = joints().fold(T::zero(), |mass, x| mass + exp(x - best));
    joints().enumerate().for_each(|(k, x)| take(k, exp(x - best) / mass));
    best + ln(mass)
}

/// From `ψ(gamma)` in `logs` to the next `gamma`. Returns `Σ_k |change of gamma_k|`.
struct Sweep<'a, T, B> {
    source: Source<'a, T, B>,
    gamma: &'a mut [T],
    logs: &'a mut [T],
    shares: &'a mut [T],
    sums: &'a mut [T],
}

impl<T: Real, B: Bags> Kernel for Sweep<'_, T, B> {
    type Output = T;

    #[inline(always)]
    fn run(self) -> T {
        let Self { source, gamma, logs, shares, sums } = self;
        let best = logs.iter().fold(T::neg_infinity(), |best, &x| if x > best { x } else { best });
        for (share, log) in shares.iter_mut().zip(logs.iter_mut()) {
            *log -= best;
            let power = exp(*log);
            *share = if power < least_share() { T::zero() } else { power };
        }
        sums.fill(T::zero());
        let mut left = false;
        for (_, row, count) in source.rows() {
            let Some(mass) = mass(row, shares) else {
                left = true;
                continue;
            };
            let weight = count / mass;
            sums.iter_mut().zip(row).for_each(|(sum, &p)| *sum += weight * p);
        }
        for ((sum, &share), &alpha) in sums.iter_mut().zip(&*shares).zip(source.alpha) {
            *sum = alpha + share * *sum;
        }
        if left {
            add_left(source, logs, shares, sums);
        }
        for (gamma, sum) in gamma.iter_mut().zip(sums.iter_mut()) {
            let change = *sum - *gamma;
            (*gamma, *sum) = (*sum, change.abs());
        }
        sums.iter().fold(T::zero(), |total, &change| total + change)
    }
}

/// Adds the features that have to go by logarithms.
#[cold]
fn add_left<T: Real, B: Bags>(source: Source<'_, T, B>, logs: &[T], shares: &[T], gamma: &mut [T]) {
    for (_, row, count) in source.rows() {
        if mass(row, shares).is_none() {
            by_logarithms(row, logs, |k, phi| {
                if let Some(gamma) = gamma.get_mut(k) {
                    *gamma += count * phi;
                }
            });
        }
    }
}

/// `Σ_w c_w ln m_w`, in f64.
struct Expected<'a, T, B> {
    source: Source<'a, T, B>,
    logs: &'a [T],
    shares: &'a [T],
}

impl<T: Real, B: Bags> Kernel for Expected<'_, T, B> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut sum = 0.0;
        for (_, row, count) in self.source.rows() {
            let ln_mass = match mass(row, self.shares) {
                Some(mass) => ln(mass),
                None => by_logarithms(row, self.logs, |_, _| {}),
            };
            sum += count.to_f64() * ln_mass.to_f64();
        }
        sum
    }
}

/// Adds a document's expected counts `c_w phi_wk` to rows `first` and on of a table `[feature][topic]`.
pub(crate) struct AddCounts<'a, T, B> {
    pub(crate) source: Source<'a, T, B>,
    pub(crate) logs: &'a [T],
    pub(crate) shares: &'a [T],
    pub(crate) first: usize,
    pub(crate) table: &'a mut [T],
}

impl<T: Real, B: Bags> Kernel for AddCounts<'_, T, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { source, logs, shares, first, table } = self;
        let topics = shares.len();
        for (feature, row, count) in source.rows() {
            let Some(place) = feature.checked_sub(first) else { continue };
            let Some(sums) = table.get_mut(span(topics, place)) else { return };
            match mass(row, shares) {
                Some(mass) => {
                    let weight = count / mass;
                    for ((sum, &p), &share) in sums.iter_mut().zip(row).zip(shares) {
                        *sum += weight * (p * share);
                    }
                }
                None => {
                    by_logarithms(row, logs, |k, phi| {
                        if let Some(sum) = sums.get_mut(k) {
                            *sum += count * phi;
                        }
                    });
                }
            }
        }
    }
}
