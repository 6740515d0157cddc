//! The variational free energy of a sequence, term by term.

use countgrid_counts::{Sequence, Symbol};
use countgrid_em::FreeEnergy;
use countgrid_math::{Real, ln};

use crate::{
    Hmm, HmmError,
    error::{long_enough, same_length},
    mean_field::floored_ln,
    recursions::{Blocks, Pair, Step, Visit, emission, take_prefix},
};

/// The posterior over states that free energies are of.
///
/// Example: [`Terms`](crate::Terms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Posterior {
    /// The exact one, a Markov chain: `F = -log p(x)`.
    #[default]
    Exact,
    /// Independent positions, [`Hmm::mean_field`]: `F ≥ -log p(x)`.
    MeanField {
        /// Passes over the positions.
        sweeps: usize,
    },
}

/// How terms are summed into groups. In both they sum to `F`.
///
/// Example: [`Terms`](crate::Terms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Grouping {
    /// By position: more terms the longer the sequence is.
    #[default]
    Position,
    /// Summed over positions, so that sequences of all lengths have the same terms. Divided by the number of positions
    /// these are the features nFESS: `nfess` of `countgrid-scores`.
    Summed,
}

/// The free energy of a sequence in groups of terms. [`Hmm`] itself is [`FreeEnergy`] too: exact, by position.
///
/// Blocks in order, with `0 log 0 = 0`. Of the exact posterior, with `q(j | i) = xi_n(i, j) / gamma_n(i)`:
///
/// | block | by position | summed | term |
/// |---|---|---|---|
/// | `ent_start` | `[S]` | `[S]` | `gamma_1(i) log gamma_1(i)` |
/// | `ent_trans` | `[N-1][S][S]` | `[S][S]` | `xi_n(i, j) log q(j given i)` |
/// | `ce_start` | `[S]` | `[S]` | `-gamma_1(i) log π_i` |
/// | `ce_trans` | `[N-1][S][S]` | `[S][S]` | `-xi_n(i, j) log A_ij` |
/// | `ce_emit` | `[N][S]` | `[S]` | `-gamma_n(i) log B_i,x_n` |
///
/// Of the mean field:
///
/// | block | by position | summed | term |
/// |---|---|---|---|
/// | `ent` | `[N][S]` | `[S]` | `q_n(i) log q_n(i)` |
/// | `ce_start` | `[S]` | `[S]` | `-q_1(i) log π_i` |
/// | `ce_trans` | `[N-1][S][S]` | `[S][S]` | `-q_n(i) q_{n+1}(j) log A_ij` |
/// | `ce_emit` | `[N][S]` | `[S]` | `-q_n(i) log B_i,x_n` |
///
/// ```
/// use countgrid_counts::Sequence;
/// use countgrid_em::FreeEnergy;
/// use countgrid_hmm::{Grouping, Hmm, Posterior, Shape, Terms};
///
/// let hmm = Hmm::new(Shape::new(2, 2)?, [0.5, 0.5, 0.9, 0.1, 0.1, 0.9, 0.8, 0.2, 0.2, 0.8])?;
/// let sequence = Sequence::new(2, &[0u8, 0, 1, 1])?;
/// let terms = Terms::new(&hmm, Posterior::Exact, Grouping::Summed);
/// let mut features = vec![0.0; terms.term_count(&sequence)];
/// let mut scratch = vec![0.0; terms.scratch_len(&sequence)];
/// let free_energy = terms.free_energy_terms(&sequence, &mut features, &mut scratch)?;
/// let log_p = hmm.log_likelihood(&sequence, &mut scratch)?;
/// assert!((free_energy + log_p).abs() < 1e-14);
/// assert_eq!(features.len(), 3 * 2 + 2 * 4);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Source
/// A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 2009, Eqs. 10 to 13, with
/// the conditional where Eq. 12 prints the joint probability: with that the terms would not sum to `-log p(x)`, as its
/// section 4 states.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a, T, S> {
    hmm: &'a Hmm<T, S>,
    posterior: Posterior,
    grouping: Grouping,
}

impl<'a, T: Real, S: AsRef<[T]>> Terms<'a, T, S> {
    /// Terms of this posterior in this grouping.
    pub fn new(hmm: &'a Hmm<T, S>, posterior: Posterior, grouping: Grouping) -> Self {
        Self { hmm, posterior, grouping }
    }

    /// Tables of pairs and rows of states that a block has.
    fn rows(&self, positions: usize) -> (usize, usize) {
        match self.grouping {
            Grouping::Position => (positions.saturating_sub(1), positions),
            Grouping::Summed => (1, 1),
        }
    }

    fn exact<'b, X>(&self, x: &'b [X], terms: &'b mut [T]) -> ExactTerms<'b, X, T>
    where
        'a: 'b,
    {
        let states = self.hmm.shape().states();
        let (pairs, _) = self.rows(x.len());
        let (start, _, emit) = self.hmm.tables();
        let (pairs, mut rest) = (pairs * states * states, terms);
        ExactTerms {
            x,
            start,
            emit,
            by_position: self.grouping == Grouping::Position,
            ent_start: take_prefix(&mut rest, states),
            ent_trans: take_prefix(&mut rest, pairs),
            ce_start: take_prefix(&mut rest, states),
            ce_trans: take_prefix(&mut rest, pairs),
            ce_emit: rest,
        }
    }

    fn mean_field<X: Symbol>(&self, x: &[X], q: &[T], terms: &mut [T]) {
        let (start, trans, emit) = self.hmm.tables();
        let states = start.len().max(1);
        let (pairs, singles) = self.rows(x.len());
        let mut rest = terms;
        let (ent, ce_start) = (take_prefix(&mut rest, singles * states), take_prefix(&mut rest, states));
        let (ce_trans, ce_emit) = (take_prefix(&mut rest, pairs * states * states), rest);
        let place = |n| if self.grouping == Grouping::Position { n } else { 0 };
        for (n, (q, &x)) in q.chunks_exact(states).zip(x).enumerate() {
            let rows = ent.iter_mut().zip(ce_emit.iter_mut()).skip(place(n) * states);
            for (((ent, ce), &q), &b) in rows.zip(q).zip(emission(emit, states, x)) {
                *ent += if q > T::zero() { q * ln(q) } else { T::zero() };
                *ce += -(q * floored_ln(b));
            }
        }
        for ((ce, &q), &p) in ce_start.iter_mut().zip(q).zip(start) {
            *ce = -(q * floored_ln(p));
        }
        let neighbours = q.chunks_exact(states).zip(q.chunks_exact(states).skip(1));
        for (n, (q, next)) in neighbours.enumerate() {
            let table = ce_trans.chunks_exact_mut(states).skip(place(n) * states);
            for ((row, trans), &q) in table.zip(trans.chunks_exact(states)).zip(q) {
                for ((ce, &p), &next) in row.iter_mut().zip(trans).zip(next) {
                    *ce += -(q * next * floored_ln(p));
                }
            }
        }
    }
}

/// Blocks of terms of the exact posterior.
struct ExactTerms<'a, X, T> {
    x: &'a [X],
    start: &'a [T],
    emit: &'a [T],
    by_position: bool,
    ent_start: &'a mut [T],
    ent_trans: &'a mut [T],
    ce_start: &'a mut [T],
    ce_trans: &'a mut [T],
    ce_emit: &'a mut [T],
}

impl<X: Symbol, T: Real> Visit<T> for ExactTerms<'_, X, T> {
    #[inline(always)]
    fn visit(&mut self, step: Step<'_, T>, _: Blocks<'_, T>) {
        let states = self.start.len();
        let place = if self.by_position { step.n } else { 0 };
        let Some(&x) = self.x.get(step.n) else { return };
        let emitted = emission(self.emit, states, x);
        let own = self.ce_emit.iter_mut().skip(place * states);
        for ((ce, &gamma), &b) in own.zip(step.gamma).zip(emitted) {
            if gamma > T::zero() {
                *ce += -(gamma * ln(b));
            }
        }
        let first = place * states * states;
        step.pairs(|Pair { i, j, p, weight, xi, beta }| {
            let at = first + i * states + j;
            if let (true, Some(ent), Some(ce)) =
                (xi > T::zero(), self.ent_trans.get_mut(at), self.ce_trans.get_mut(at))
            {
                *ent += xi * ln(weight / beta);
                *ce += -(xi * ln(p));
            }
        });
        if step.n == 0 {
            let starts = self.ent_start.iter_mut().zip(self.ce_start.iter_mut());
            for (((ent, ce), &gamma), &p) in starts.zip(step.gamma).zip(self.start) {
                if gamma > T::zero() {
                    *ent = gamma * ln(gamma);
                    *ce = -(gamma * ln(p));
                }
            }
        }
    }
}

impl<T: Real, S: AsRef<[T]>, X: Symbol> FreeEnergy<Sequence<'_, X>> for Terms<'_, T, S> {
    type Scalar = T;
    type Error = HmmError;

    /// `usize::MAX` if they cannot be counted.
    fn term_count(&self, sequence: &Sequence<'_, X>) -> usize {
        let states = self.hmm.shape().states();
        let (pairs, singles) = self.rows(sequence.len());
        let (of_pairs, of_singles, starts) = match self.posterior {
            Posterior::Exact => (2, 1, 2),
            Posterior::MeanField { .. } => (1, 2, 1),
        };
        let rows = (of_singles * singles as u128) + starts + of_pairs * pairs as u128 * states as u128;
        usize::try_from(rows.saturating_mul(states as u128)).unwrap_or(usize::MAX)
    }

    fn scratch_len(&self, sequence: &Sequence<'_, X>) -> usize {
        self.hmm.shape().scratch_len::<T>(sequence.len())
    }

    /// # Errors
    /// [`HmmError::Symbols`], [`HmmError::Length`], [`HmmError::Impossible`].
    fn free_energy_terms(
        &self,
        sequence: &Sequence<'_, X>,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, HmmError> {
        same_length("terms", self.term_count(sequence), terms.len())?;
        long_enough("scratch", self.scratch_len(sequence), scratch.len())?;
        terms.fill(T::zero());
        let free_energy = match self.posterior {
            Posterior::Exact => {
                let mut visitor = self.exact(sequence.entries(), terms);
                -self.hmm.smooth(sequence, &mut visitor, scratch)?
            }
            Posterior::MeanField { sweeps } => {
                let states = self.hmm.shape().states();
                let mut rest = scratch;
                let q = take_prefix(&mut rest, sequence.len() * states);
                self.hmm.mean_field(sequence, sweeps, q, rest)?;
                self.mean_field(sequence.entries(), q, terms);
                terms.iter().fold(0.0, |sum, &term| sum + term.to_f64())
            }
        };
        Ok(T::from_f64(free_energy))
    }
}

/// Exact, by position.
impl<T: Real, S: AsRef<[T]>, X: Symbol> FreeEnergy<Sequence<'_, X>> for Hmm<T, S> {
    type Scalar = T;
    type Error = HmmError;

    fn term_count(&self, sequence: &Sequence<'_, X>) -> usize {
        Terms::new(self, Posterior::Exact, Grouping::Position).term_count(sequence)
    }

    fn scratch_len(&self, sequence: &Sequence<'_, X>) -> usize {
        self.shape().scratch_len::<T>(sequence.len())
    }

    fn free_energy_terms(
        &self,
        sequence: &Sequence<'_, X>,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, HmmError> {
        Terms::new(self, Posterior::Exact, Grouping::Position).free_energy_terms(sequence, terms, scratch)
    }
}
