//! Random problems, a learner for them, and the model written down naively, straight from the definitions: for property
//! tests of counting grids and of what is built on them.
//!
//! ```
//! use countgrid_grid::Options;
//! use countgrid_grid::testing::{CLOSE, distance, problem, rows};
//! use proptest::prelude::*;
//!
//! proptest!(ProptestConfig::with_cases(16), |(problem in problem::<2>(4))| {
//!     let (learner, objectives) = problem.fit::<f64>(Options { pseudocount: 0.5, ..Options::default() }, 1);
//!     let (pi, _) = problem.naive_iteration(0.5);
//!     prop_assert!(distance(&rows(&learner), &pi) <= CLOSE);
//!     prop_assert!(objectives[1] >= objectives[0] - CLOSE * objectives[0].abs().max(1.0));
//! });
//! ```
#![allow(
    clippy::missing_panics_doc,
    reason = "for tests, which fail by panicking: a problem that is no model is refused so"
)]

use std::vec;
use std::vec::Vec;

use countgrid_counts::Dense;
use countgrid_em::{Fit, Learn};
use countgrid_math::Real;
use countgrid_torus::{Torus, Windows};
use proptest::prelude::*;

use crate::{Grid, GridError, Learner, Options, Shape, Statistics};

/// Bags, and a grid to begin with. Tables are `[cell][feature]` here, as in the mathematics.
///
/// Example: [`testing`](crate::testing).
#[derive(Clone, Debug)]
pub struct Problem<const D: usize> {
    /// Cells along each axis.
    pub extents: [usize; D],
    /// Cells of a window along each axis.
    pub sides: [usize; D],
    /// Number of features.
    pub features: usize,
    /// `[bag][feature]`, whole numbers.
    pub counts: Vec<Vec<f64>>,
    /// `[cell][feature]`, each cell a distribution.
    pub pi: Vec<Vec<f64>>,
    /// `[cell]`, a distribution.
    pub prior: Vec<f64>,
}

/// A learner that owns its tables.
pub type Model<T, const D: usize> = Learner<T, Vec<T>, D>;
/// Statistics that own their tables.
pub type Sums<T, const D: usize> = Statistics<T, Vec<T>, D>;

/// Problems of at most `most` cells an axis. Entries of `pi` and `prior` are positive.
///
/// Example: [`testing`](crate::testing).
pub fn problem<const D: usize>(most: usize) -> impl Strategy<Value = Problem<D>> {
    let axes = proptest::array::uniform::<_, D>((1..=most, any::<prop::sample::Index>()));
    (axes, 2usize..6, 1usize..6).prop_flat_map(|(axes, features, bags)| {
        let extents = axes.map(|(extent, _)| extent);
        let sides = axes.map(|(extent, index)| 1 + index.index(extent));
        let cells: usize = extents.iter().product();
        let row = prop::collection::vec(0.05f64..1.0, features);
        (
            prop::collection::vec(prop::collection::vec((0u8..9).prop_map(f64::from), features), bags),
            prop::collection::vec(row.prop_map(normalised), cells),
            prop::collection::vec(0.05f64..1.0, cells).prop_map(normalised),
        )
            .prop_map(move |(counts, pi, prior)| Problem {
                extents,
                sides,
                features,
                counts,
                pi,
                prior,
            })
    })
}

/// Divided by the sum.
///
/// Example: [`testing`](crate::testing).
#[must_use]
pub fn normalised(mut row: Vec<f64>) -> Vec<f64> {
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|x| *x /= sum);
    row
}

impl<const D: usize> Problem<D> {
    /// The shape of the grid.
    #[must_use]
    pub fn shape(&self) -> Shape<D> {
        let windows = Windows::new(Torus::new(self.extents).unwrap(), self.sides).unwrap();
        Shape::new(windows, self.features).unwrap()
    }

    /// Its windows.
    #[must_use]
    pub fn windows(&self) -> Windows<D> {
        *self.shape().windows()
    }

    /// Number of cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.prior.len()
    }

    /// Tokens of all bags.
    #[must_use]
    pub fn tokens(&self) -> f64 {
        self.counts.iter().flatten().sum()
    }

    /// The counts, bag by bag.
    #[must_use]
    pub fn flat(&self) -> Vec<f64> {
        self.counts.concat()
    }

    /// `pi` and prior as the library has them, `[feature][cell]` and `[cell]`.
    pub fn tables<T: Real>(&self) -> Vec<T> {
        let pi = (0..self.features).flat_map(|z| self.pi.iter().map(move |row| row[z]));
        pi.chain(self.prior.iter().copied()).map(T::from_f64).collect()
    }

    /// A learner at the problem's grid.
    #[must_use]
    pub fn learner<T: Real>(&self, options: Options) -> Model<T, D> {
        let shape = self.shape();
        let mut scratch = vec![T::zero(); shape.plane_scratch_len()];
        let packed = vec![T::zero(); shape.histograms_len::<T>()];
        Learner::new(Grid::new(shape, self.tables()).unwrap(), packed, &mut scratch, options).unwrap()
    }

    /// Statistics with scratch for so many bags at once; all zero.
    #[must_use]
    pub fn statistics<T: Real>(&self, chunk: usize) -> Sums<T, D> {
        let shape = self.shape();
        let sums = vec![T::zero(); shape.sums_len::<T>()];
        Statistics::new(shape, sums, vec![T::zero(); shape.scratch_len::<T>(chunk)]).unwrap()
    }

    /// A learner after `iterations`, with the objective `J` after every E-step and every M-step in turn.
    #[must_use]
    pub fn fit<T: Real>(&self, options: Options, iterations: usize) -> (Model<T, D>, Vec<f64>) {
        let (mut learner, mut statistics) = (self.learner(options), self.statistics(2));
        let mut chain = Vec::new();
        for _ in 0..iterations {
            chain.push(self.e_step(&learner, &mut statistics).unwrap() - learner.penalty());
            learner.maximization(&mut statistics).unwrap();
            chain.push(learner.bound(&statistics).unwrap() - learner.penalty());
        }
        (learner, chain)
    }

    /// Clears the statistics, adds all bags and returns the bound.
    ///
    /// # Errors
    /// Those of the E-step.
    pub fn e_step<T: Real>(
        &self,
        learner: &Model<T, D>,
        statistics: &mut Sums<T, D>,
    ) -> Result<f64, GridError> {
        let flat = self.flat();
        statistics.clear();
        learner
            .expectation(&Dense::new(self.features, &flat).unwrap(), statistics)
            .map(|free_energy| -free_energy)
    }

    /// Posteriors `[bag][cell]` and log evidence, as the library computes them.
    pub fn place<T: Real>(&self, learner: &Model<T, D>) -> (Vec<Vec<f64>>, Vec<f64>) {
        let flat = self.flat();
        let bags = Dense::new(self.features, &flat).unwrap();
        let mut scratch = vec![T::zero(); self.shape().posterior_scratch_len::<T>(1)];
        let mut q = vec![T::zero(); self.cells()];
        let place = |t| {
            let evidence = learner.histograms().posterior(&bags, t, &mut q, &mut scratch).unwrap();
            (q.iter().map(|q| Real::to_f64(*q)).collect(), evidence.to_f64())
        };
        (0..self.counts.len()).map(place).unzip()
    }

    /// `h` `[cell][feature]`, by the definition.
    #[must_use]
    pub fn naive_h(&self) -> Vec<Vec<f64>> {
        let windows = self.windows();
        let mean = |k: usize, z: usize| {
            windows.cells_of(k).map(|i| self.pi[i][z]).sum::<f64>() / windows.volume() as f64
        };
        (0..self.cells()).map(|k| (0..self.features).map(|z| mean(k, z)).collect()).collect()
    }

    /// `s_tk = log p_k + Σ_z c_tz log h_kz`, by the definition.
    #[must_use]
    pub fn naive_scores(&self) -> Vec<Vec<f64>> {
        let h = self.naive_h();
        let words = |bag: &[f64], k: usize| {
            bag.iter().zip(&h[k]).map(|(c, h)| if *c > 0.0 { c * h.ln() } else { 0.0 }).sum::<f64>()
        };
        let score = |bag: &Vec<f64>| (0..self.cells()).map(|k| self.prior[k].ln() + words(bag, k)).collect();
        self.counts.iter().map(score).collect()
    }

    /// One exact iteration, by the definition: `pi`, `prior` learned.
    #[must_use]
    pub fn naive_iteration(&self, pseudocount: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
        let (windows, h, volume) = (self.windows(), self.naive_h(), self.windows().volume() as f64);
        let q: Vec<Vec<f64>> = self.naive_scores().iter().map(|s| softmax(s)).collect();
        let f = |k: usize, z: usize| -> f64 { self.counts.iter().zip(&q).map(|(c, q)| q[k] * c[z]).sum() };
        let row = |i: usize| {
            let n = |z: usize| {
                let spread: f64 = windows.starts_over(i).map(|k| f(k, z) / h[k][z]).sum();
                self.pi[i][z] / volume * spread + pseudocount
            };
            let n: Vec<f64> = (0..self.features).map(n).collect();
            if n.iter().sum::<f64>() > 0.0 { normalised(n) } else { self.pi[i].clone() }
        };
        let pi = (0..self.cells()).map(row).collect();
        let prior = (0..self.cells()).map(|k| q.iter().map(|q| q[k]).sum::<f64>() / q.len() as f64).collect();
        (pi, prior)
    }
}

/// The learner's `pi` as `[cell][feature]`.
///
/// Example: [`testing`](crate::testing).
pub fn rows<T: Real, const D: usize>(learner: &Model<T, D>) -> Vec<Vec<f64>> {
    let grid = learner.grid();
    let (cells, features) = (grid.shape().cells(), grid.shape().features());
    (0..cells).map(|i| (0..features).map(|z| grid.plane(z)[i].to_f64()).collect()).collect()
}

/// The learner's location prior.
///
/// Example: [`testing`](crate::testing).
pub fn prior<T: Real, const D: usize>(learner: &Model<T, D>) -> Vec<f64> {
    learner.grid().prior().iter().map(|p| Real::to_f64(*p)).collect()
}

/// `log Σ exp s`.
///
/// Example: [`testing`](crate::testing).
pub fn log_sum_exp(s: &[f64]) -> f64 {
    let most = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + s.iter().map(|s| (s - most).exp()).sum::<f64>().ln()
}

/// `exp s / Σ exp s`.
///
/// Example: [`testing`](crate::testing).
#[must_use]
pub fn softmax(s: &[f64]) -> Vec<f64> {
    let total = log_sum_exp(s);
    s.iter().map(|s| (s - total).exp()).collect()
}

/// The largest difference of two tables.
///
/// Example: [`testing`](crate::testing).
pub fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| row_distance(a, b)).fold(0.0, f64::max)
}

/// The largest difference of two rows.
///
/// Example: [`testing`](crate::testing).
pub fn row_distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// What two ways to compute a probability, or a bound relative to itself, may differ by in f64.
///
/// Scores stay below 400 nats (at most 45 tokens of probability at least 1e-3 each) and meet at most 8
/// roundings, so they are off by at most 400 · 8 · 1.1e-16 = 4e-13, and posteriors and whatever is linear in
/// them by twice that. The rest is room for the naive reference, which is no better.
pub const CLOSE: f64 = 1e-11;
