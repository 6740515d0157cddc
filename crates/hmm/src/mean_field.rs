use countgrid_counts::{Sequence, Symbol};
use countgrid_math::{Real, dispatch, ln, softmax};

use crate::{
    Hmm, HmmError,
    error::{long_enough, same_length},
    recursions::{Likelihood, emission, pack, product, take_prefix},
};

impl<T: Real, S: AsRef<[T]>> Hmm<T, S> {
    /// The mean-field posterior `q(s) = Π_n q_n(s_n)`: writes `q` `[position][state]`.
    ///
    /// Starts at `q_n ∝ B[·, x_n]` and makes `sweeps` passes over the positions in increasing order, each update the
    /// best for the others given: the free energy never rises. Probabilities of zero count as [`Real::FLOOR`] in its
    /// logarithms.
    ///
    /// `scratch`: at least [`Shape::scratch_len`](crate::Shape::scratch_len) of the sequence's length.
    ///
    /// # Errors
    /// [`HmmError::Symbols`], [`HmmError::Length`], [`HmmError::Impossible`].
    /// # Source
    /// `log q_n(i) = log B_i,x_n + [n = 1] log π_i + Σ_j q_{n-1}(j) log A_ji + Σ_j q_{n+1}(j) log A_ij + const`;
    /// A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 2009.
    pub fn mean_field<X: Symbol>(
        &self,
        sequence: &Sequence<'_, X>,
        sweeps: usize,
        q: &mut [T],
        scratch: &mut [T],
    ) -> Result<(), HmmError> {
        self.same_symbols(sequence.symbols())?;
        let (shape, positions) = (self.shape(), sequence.len());
        same_length("q", positions.saturating_mul(shape.states()), q.len())?;
        // None of the alphas are kept.
        long_enough("scratch", shape.scratch_len::<T>(0), scratch.len())?;
        let (states, x) = (shape.states().max(1), sequence.entries());
        let (start, trans, emit) = self.tables();
        let mut rest = scratch;
        let (rows, columns) = pack(shape, trans, &mut rest);
        let mut take = || take_prefix(&mut rest, shape.width::<T>());
        let (beta, gamma) = (take(), take());
        beta.fill(T::zero());
        gamma.fill(T::zero());
        let kernel = Likelihood { parts: self.tables(), x, rows, row: beta, next: gamma };
        dispatch(kernel).map_err(|position| HmmError::Impossible { sequence: 0, position })?;

        for p in rows.iter_mut().chain(columns.iter_mut()) {
            *p = floored_ln(*p); // the padding too, which no state has a part in
        }
        for (q, &x) in q.chunks_exact_mut(states).zip(x) {
            q.iter_mut().zip(emission(emit, states, x)).for_each(|(q, &b)| *q = floored_ln(b));
            softmax(q);
        }
        for (n, &x) in (0..sweeps).flat_map(|_| x.iter().enumerate()) {
            let (before, rest) = q.split_at_mut_checked(n * states).unwrap_or_default();
            let (own, after) = rest.split_at_mut_checked(states).unwrap_or_default();
            for ((log, &b), &p) in own.iter_mut().zip(emission(emit, states, x)).zip(start) {
                *log = floored_ln(b) + if n == 0 { floored_ln(p) } else { T::zero() };
            }
            // Neighbours in padded rows, one after the other, and what they give.
            let neighbours = [
                (before.rchunks_exact(states).next(), &*rows),
                (after.chunks_exact(states).next(), &*columns),
            ];
            for (neighbour, logs) in neighbours {
                let Some(neighbour) = neighbour else { continue };
                beta.fill(T::zero());
                beta.iter_mut().zip(neighbour).for_each(|(beta, &q)| *beta = q);
                product(beta, logs, gamma);
                own.iter_mut().zip(gamma.iter()).for_each(|(log, &x)| *log += x);
            }
            softmax(own);
        }
        Ok(())
    }
}

#[inline]
pub(crate) fn floored_ln<T: Real>(p: T) -> T {
    ln(if p > T::FLOOR { p } else { T::FLOOR })
}
