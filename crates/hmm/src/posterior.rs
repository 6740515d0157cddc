//! Likelihood and posterior of one sequence.

use countgrid_counts::{Sequence, Symbol};
use countgrid_em::{Distributions, ExpectedCounts, Tables};
use countgrid_math::{Real, dispatch};

use crate::{
    Hmm, HmmError, Shape,
    error::{long_enough, same_length},
    hmm::{PartsMut, parts_mut},
    recursions::{Blocks, Likelihood, Packed, Smooth, Step, Visit, Work, pack_rows, take_prefix},
};

impl<T: Real, S: AsRef<[T]>> Hmm<T, S> {
    /// `log p(x)` in nats; `-∞` if the sequence is impossible. Summed in f64.
    ///
    /// `scratch`: at least [`Shape::likelihood_scratch_len`], however long the sequence is.
    ///
    /// ```
    /// use countgrid_counts::Sequence;
    /// use countgrid_hmm::{Hmm, Shape};
    /// // Starts in state 0, which only emits symbol 0; state 1 is never left.
    /// let hmm = Hmm::new(Shape::new(2, 2)?, [1.0, 0.0, 0.5, 0.5, 0.0, 1.0, 1.0, 0.2, 0.0, 0.8])?;
    /// let mut scratch = vec![0.0; hmm.shape().likelihood_scratch_len::<f64>()];
    /// let mut log_p = |x: &[u8]| hmm.log_likelihood(&Sequence::new(2, x)?, &mut scratch).map_err(Box::<dyn core::error::Error>::from);
    /// assert!((log_p(&[0, 1])? - (0.5_f64 * 0.8).ln()).abs() < 1e-15);
    /// assert_eq!(log_p(&[1, 1])?, f64::NEG_INFINITY);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`HmmError::Symbols`], [`HmmError::Length`].
    pub fn log_likelihood<X: Symbol>(
        &self,
        sequence: &Sequence<'_, X>,
        scratch: &mut [T],
    ) -> Result<f64, HmmError> {
        self.same_symbols(sequence.symbols())?;
        let shape = self.shape();
        let width = shape.width::<T>();
        long_enough("scratch", shape.likelihood_scratch_len::<T>(), scratch.len())?;
        let mut rest = scratch;
        let rows = take_prefix(&mut rest, shape.packed_len::<T>());
        let (row, next) = (take_prefix(&mut rest, width), take_prefix(&mut rest, width));
        row.fill(T::zero());
        pack_rows(shape.states(), self.tables().1, rows, width);
        let kernel = Likelihood { parts: self.tables(), x: sequence.entries(), rows, row, next };
        Ok(dispatch(kernel).unwrap_or(f64::NEG_INFINITY))
    }

    /// Writes `gamma` `[position][state]`, `gamma_n(i) = p(s_n = i | x)`, and returns `log p(x)` in nats.
    ///
    /// `scratch`: at least [`Shape::scratch_len`] of the sequence's length.
    ///
    /// # Errors
    /// [`HmmError::Symbols`], [`HmmError::Length`], [`HmmError::Impossible`].
    pub fn posterior<X: Symbol>(
        &self,
        sequence: &Sequence<'_, X>,
        gamma: &mut [T],
        scratch: &mut [T],
    ) -> Result<f64, HmmError> {
        let states = self.shape().states();
        same_length("gamma", sequence.len().saturating_mul(states), gamma.len())?;
        self.smooth(sequence, &mut Posteriors { states, gamma, xi: &mut [] }, scratch)
    }

    /// [`Hmm::posterior`], and `xi` `[position - 1][from][to]`: `xi_n(i, j) = p(s_n = i, s_{n+1} = j | x)`.
    ///
    /// # Errors
    /// As [`Hmm::posterior`].
    pub fn posterior_pairs<X: Symbol>(
        &self,
        sequence: &Sequence<'_, X>,
        gamma: &mut [T],
        xi: &mut [T],
        scratch: &mut [T],
    ) -> Result<f64, HmmError> {
        let states = self.shape().states();
        let singles = sequence.len().saturating_mul(states);
        same_length("gamma", singles, gamma.len())?;
        same_length("xi", (singles - states).saturating_mul(states), xi.len())?;
        xi.fill(T::zero());
        self.smooth(sequence, &mut Posteriors { states, gamma, xi }, scratch)
    }

    /// Forward and backward of one sequence.
    pub(crate) fn smooth<X: Symbol>(
        &self,
        sequence: &Sequence<'_, X>,
        visitor: &mut impl Visit<T>,
        scratch: &mut [T],
    ) -> Result<f64, HmmError> {
        self.same_symbols(sequence.symbols())?;
        let (shape, positions) = (self.shape(), sequence.len());
        long_enough("scratch", shape.scratch_len::<T>(positions), scratch.len())?;
        let (parts, mut rest) = (self.tables(), scratch);
        let packed = Packed::new(shape, parts.1, &mut rest);
        let mut work = Work::new(packed, rest, positions);
        work.clear();
        dispatch(Smooth { parts, x: sequence.entries(), work: &mut work, visitor })
            .map_err(|position| HmmError::Impossible { sequence: 0, position })
    }
}

/// Copies posteriors out.
struct Posteriors<'a, T> {
    states: usize,
    gamma: &'a mut [T],
    xi: &'a mut [T], // nothing if it is not wanted
}

impl<T: Real> Visit<T> for Posteriors<'_, T> {
    #[inline(always)]
    fn visit(&mut self, step: Step<'_, T>, _: Blocks<'_, T>) {
        let (n, states) = (step.n, self.states);
        for (gamma, &x) in self.gamma.iter_mut().skip(n * states).take(states).zip(step.gamma) {
            *gamma = x;
        }
        if let Some(xi) = self.xi.get_mut(n * states * states..(n + 1) * states * states) {
            step.pairs(|pair| {
                if let Some(xi) = xi.get_mut(pair.i * states + pair.j) {
                    *xi = pair.xi;
                }
            });
        }
    }
}

/// Adds a sequence's expected counts to sums in the model's layout.
pub(crate) struct Counts<'a, X, T> {
    x: &'a [X],
    states: usize,
    sums: PartsMut<'a, T>,
}

impl<'a, X, T> Counts<'a, X, T> {
    pub(crate) fn new(shape: &Shape, x: &'a [X], sums: &'a mut [T]) -> Self {
        Self { x, states: shape.states(), sums: parts_mut(shape, sums) }
    }
}

impl<X: Symbol, T: Real> Visit<T> for Counts<'_, X, T> {
    #[inline(always)]
    fn visit(&mut self, step: Step<'_, T>, blocks: Blocks<'_, T>) {
        let (start, trans, emit) = &mut self.sums;
        let Some(x) = self.x.get(step.n) else { return };
        let first = x.index() * self.states;
        let emitted = emit.get_mut(first..first + self.states).unwrap_or_default();
        emitted.iter_mut().zip(step.gamma).for_each(|(sum, &gamma)| *sum += gamma);
        blocks.add_pairs(step.n, trans, self.states);
        if step.n == 0 {
            start.iter_mut().zip(step.gamma).for_each(|(sum, &gamma)| *sum += gamma);
        }
    }
}

/// `start`: `gamma_1`; `trans`: `Σ_n xi_n`; `emit`: `Σ_n [x_n = v] gamma_n`.
impl<T: Real, S: AsRef<[T]>, X: Symbol> ExpectedCounts<Sequence<'_, X>> for Hmm<T, S> {
    type Error = HmmError;
    const DISTRIBUTIONS: &'static [Distributions] =
        &[Distributions::Rows, Distributions::Rows, Distributions::Columns];

    fn counts_scratch_len(&self, sequence: &Sequence<'_, X>) -> usize {
        self.shape().scratch_len::<T>(sequence.len())
    }

    fn expected_counts(
        &self,
        sequence: &Sequence<'_, X>,
        counts: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, HmmError> {
        same_length("counts", self.buffer().len(), counts.len())?;
        counts.fill(T::zero());
        let mut visitor = Counts::new(self.shape(), sequence.entries(), counts);
        self.smooth(sequence, &mut visitor, scratch).map(T::from_f64)
    }
}
