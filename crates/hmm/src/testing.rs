//! Random models and sequences, and the model written down naively, as sums over all paths: for property tests of hidden
//! Markov models and of what is built on them.
//!
//! ```
//! use countgrid_hmm::testing::{close, problem};
//! use proptest::prelude::*;
//!
//! proptest!(ProptestConfig::with_cases(32), |(problem in problem(3, 5))| {
//!     let (found, p) = (problem.log_likelihood(), problem.enumerate().p);
//!     prop_assert!((found.exp() - p).abs() <= close::<f64>() * p);
//! });
//! ```
#![allow(
    clippy::missing_panics_doc,
    reason = "for tests, which fail by panicking: a problem that is no model is refused so"
)]

use std::vec;
use std::vec::Vec;

use countgrid_counts::Sequence;
use countgrid_math::Real;
use proptest::prelude::*;

use crate::{Hmm, Shape};

/// A model, as tables of the mathematics, and a sequence that it makes possible.
///
/// Example: [`testing`](crate::testing).
#[derive(Clone, Debug)]
pub struct Problem {
    /// `[state]`.
    pub start: Vec<f64>,
    /// `[from][to]`.
    pub trans: Vec<Vec<f64>>,
    /// `[state][symbol]`, unlike in the library.
    pub emit: Vec<Vec<f64>>,
    /// The sequence, of symbols.
    pub x: Vec<u8>,
}

/// Up to `states` states, 4 symbols and `longest` positions. Some entries of a model are zero.
///
/// Example: [`testing`](crate::testing).
pub fn problem(states: usize, longest: usize) -> impl Strategy<Value = Problem> {
    (1..=states, 1usize..=4, 1..=longest).prop_flat_map(|(states, symbols, length)| {
        let row = |n| {
            prop::collection::vec(prop_oneof![1 => Just(0.0), 6 => 0.05f64..1.0], n).prop_map(distribution)
        };
        (
            row(states),
            prop::collection::vec(row(states), states),
            prop::collection::vec(row(symbols), states),
            prop::collection::vec(0..symbols as u8, length),
        )
            .prop_map(|(start, trans, emit, x)| Problem { start, trans, emit, x })
    })
}

/// As [`problem`], without zeros.
///
/// Example: [`testing`](crate::testing).
pub fn positive(states: usize, longest: usize) -> impl Strategy<Value = Problem> {
    (problem(states, longest), 0.02f64..0.5).prop_map(|(mut p, least)| {
        let lift = |row: &mut Vec<f64>| *row = distribution(row.iter().map(|x| x + least).collect());
        lift(&mut p.start);
        p.trans.iter_mut().for_each(lift);
        p.emit.iter_mut().for_each(lift);
        p
    })
}

/// Divided by the sum; all mass on the first if there is none.
///
/// Example: [`testing`](crate::testing).
#[must_use]
pub fn distribution(mut row: Vec<f64>) -> Vec<f64> {
    if row.iter().sum::<f64>() == 0.0 {
        row[0] = 1.0;
    }
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|x| *x /= sum);
    row
}

/// What sums over all paths give.
///
/// Example: [`testing`](crate::testing).
#[derive(Clone, Debug)]
pub struct Enumerated {
    /// `p(x)`.
    pub p: f64,
    /// Posterior of states, `[position][state]`.
    pub gamma: Vec<f64>,
    /// Posterior of pairs, `[position][from][to]`, one position less.
    pub xi: Vec<f64>,
    /// The joint probability of the sequence and its most probable path.
    pub best: f64,
    /// Terms of the free energy, by position.
    pub terms: Vec<f64>,
}

impl Problem {
    /// Number of states.
    #[must_use]
    pub fn states(&self) -> usize {
        self.start.len()
    }

    /// Number of symbols.
    #[must_use]
    pub fn symbols(&self) -> usize {
        self.emit[0].len()
    }

    /// The shape of the model.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape::new(self.states(), self.symbols()).unwrap()
    }

    /// All tables as the library has them.
    pub fn tables<T: Real>(&self) -> Vec<T> {
        let emit = (0..self.symbols()).flat_map(|v| self.emit.iter().map(move |row| row[v]));
        let trans = self.trans.iter().flatten().copied();
        self.start.iter().copied().chain(trans).chain(emit).map(T::from_f64).collect()
    }

    /// The model.
    #[must_use]
    pub fn hmm<T: Real>(&self) -> Hmm<T, Vec<T>> {
        Hmm::new(self.shape(), self.tables()).unwrap()
    }

    /// The sequence.
    #[must_use]
    pub fn sequence(&self) -> Sequence<'_, u8> {
        Sequence::new(self.symbols(), &self.x).unwrap()
    }

    /// Scratch for the sequence, not a number in it.
    #[must_use]
    pub fn scratch<T: Real>(&self) -> Vec<T> {
        // Whatever scratch holds at first must not matter.
        vec![T::nan(); self.shape().scratch_len::<T>(self.x.len())]
    }

    /// `log p(x)`, as the library computes it.
    #[must_use]
    pub fn log_likelihood(&self) -> f64 {
        self.hmm::<f64>().log_likelihood(&self.sequence(), &mut self.scratch()).unwrap()
    }

    /// All paths with their joint probability with the sequence.
    fn paths(&self) -> impl Iterator<Item = (Vec<usize>, f64)> {
        let (states, n) = (self.states(), self.x.len());
        (0..states.pow(n as u32)).map(move |code| {
            let path: Vec<usize> = (0..n).map(|k| code / states.pow(k as u32) % states).collect();
            let mut p = self.start[path[0]];
            for (k, (&s, &x)) in path.iter().zip(&self.x).enumerate() {
                p *= self.emit[s][usize::from(x)];
                if k > 0 {
                    p *= self.trans[path[k - 1]][s];
                }
            }
            (path, p)
        })
    }

    /// By the definition. `terms` are those of the exact posterior, by position.
    #[must_use]
    pub fn enumerate(&self) -> Enumerated {
        let (states, n) = (self.states(), self.x.len());
        let (mut p, mut best) = (0.0, 0.0f64);
        let (mut gamma, mut xi) = (vec![0.0; n * states], vec![0.0; (n - 1) * states * states]);
        for (path, joint) in self.paths() {
            p += joint;
            best = best.max(joint);
            path.iter().enumerate().for_each(|(k, s)| gamma[k * states + s] += joint);
            path.windows(2).enumerate().for_each(|(k, s)| xi[(k * states + s[0]) * states + s[1]] += joint);
        }
        if p > 0.0 {
            gamma.iter_mut().chain(&mut xi).for_each(|x| *x /= p);
        }
        let xlogy = |x: f64, y: f64| if x > 0.0 { x * y.ln() } else { 0.0 };
        let mut terms: Vec<f64> = gamma[..states].iter().map(|&g| xlogy(g, g)).collect();
        terms.extend(xi.iter().enumerate().map(|(at, &x)| xlogy(x, x / gamma[at / states])));
        terms.extend(gamma.iter().zip(&self.start).map(|(&g, &p)| -xlogy(g, p)));
        let trans: Vec<f64> = self.trans.concat();
        terms.extend(xi.iter().enumerate().map(|(at, &x)| -xlogy(x, trans[at % (states * states)])));
        terms.extend(
            gamma
                .iter()
                .enumerate()
                .map(|(at, &g)| -xlogy(g, self.emit[at % states][usize::from(self.x[at / states])])),
        );
        Enumerated { p, gamma, xi, best, terms }
    }
}

/// The largest difference of two tables.
///
/// Example: [`testing`](crate::testing).
#[must_use]
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() })
        .fold(0.0, |most, d| if d > most || d.is_nan() { d } else { most })
}

/// As `f64`.
///
/// Example: [`testing`](crate::testing).
pub fn doubles<T: Real>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| Real::to_f64(*x)).collect()
}

/// What a probability, or a term, of a short sequence may be off by in units of `u`, the unit roundoff.
///
/// A product along a path of at most 12 positions meets 3 roundings a position for the products and at most 12 more for
/// the sums over up to 9 states, scale and division: below 12 · 15 = 180 of forward, as many of backward. Entries are
/// zero or at least 0.05 / 8.05, so a term `x log y` weighs them with at most 6: 6 · 360 u, and the reference is no
/// better. 4096 u in all.
///
/// Example: [`testing`](crate::testing).
pub fn close<T: Real>() -> f64 {
    4096.0 * T::UNIT_ROUNDOFF.to_f64()
}
