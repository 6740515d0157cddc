use countgrid_counts::{Sequence, Symbol};
use countgrid_math::{Kernel, Real, dispatch, ln};

use crate::{
    Hmm, HmmError,
    error::{long_enough, same_length},
    hmm::Parts,
    recursions::{emission, take_prefix},
};

impl<T: Real, S: AsRef<[T]>> Hmm<T, S> {
    /// The most probable states: writes `path` `[position]` and returns `log p(x, path)` in nats. Of equals the one
    /// with the lower last state, then with the lower state before it, and so on.
    ///
    /// `scratch`: at least [`Shape::scratch_len`](crate::Shape::scratch_len) of the sequence's length.
    ///
    /// ```
    /// use countgrid_counts::Sequence;
    /// use countgrid_hmm::{Hmm, Shape};
    /// let hmm = Hmm::new(Shape::new(2, 2)?, [0.5, 0.5, 0.9, 0.1, 0.1, 0.9, 0.8, 0.2, 0.2, 0.8])?;
    /// let sequence = Sequence::new(2, &[0u8, 0, 1, 0, 0, 1, 1, 1])?;
    /// let (mut path, mut scratch) = ([0; 8], vec![0.0; hmm.shape().scratch_len::<f64>(8)]);
    /// hmm.viterbi(&sequence, &mut path, &mut scratch)?;
    /// assert_eq!(path, [0, 0, 0, 0, 0, 1, 1, 1]); // one symbol alone is not worth two changes
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`HmmError::Symbols`], [`HmmError::Length`], [`HmmError::Impossible`].
    /// # Source
    /// Rabiner 1989, Eqs. 32 to 35, in logarithms, each position less its
    /// largest so that single precision serves long sequences.
    pub fn viterbi<X: Symbol>(
        &self,
        sequence: &Sequence<'_, X>,
        path: &mut [usize],
        scratch: &mut [T],
    ) -> Result<f64, HmmError> {
        self.same_symbols(sequence.symbols())?;
        let (shape, positions) = (self.shape(), sequence.len());
        same_length("path", positions, path.len())?;
        long_enough("scratch", shape.scratch_len::<T>(positions), scratch.len())?;
        let states = shape.states();
        let mut rest = scratch;
        let (logs, delta) =
            (take_prefix(&mut rest, states * states), take_prefix(&mut rest, positions * states));
        let parts = self.tables();
        for (log, &p) in logs.iter_mut().zip(parts.1) {
            *log = if p < T::FLOOR { T::neg_infinity() } else { ln(p) };
        }
        dispatch(Best { parts, x: sequence.entries(), logs, delta, path })
            .map_err(|position| HmmError::Impossible { sequence: 0, position })
    }
}

struct Best<'a, T, X> {
    parts: Parts<'a, T>,
    x: &'a [X],
    logs: &'a [T],      // [from][to]
    delta: &'a mut [T], // [position][state]
    path: &'a mut [usize],
}

impl<T: Real, X: Symbol> Kernel for Best<'_, T, X> {
    type Output = Result<f64, usize>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let (start, _, emit) = self.parts;
        let states = start.len().max(1);
        let mut best = 0.0;
        let mut before: Option<&[T]> = None;
        for (n, (&x, delta)) in self.x.iter().zip(self.delta.chunks_exact_mut(states)).enumerate() {
            match before {
                None => delta.iter_mut().zip(start).for_each(|(delta, &p)| *delta = ln(p)),
                Some(before) => {
                    delta.fill(T::neg_infinity());
                    for (&from, logs) in before.iter().zip(self.logs.chunks_exact(states)) {
                        for (delta, &log) in delta.iter_mut().zip(logs) {
                            let to = from + log;
                            *delta = if to > *delta { to } else { *delta };
                        }
                    }
                }
            }
            let mut largest = T::neg_infinity();
            for (delta, &b) in delta.iter_mut().zip(emission(emit, states, x)) {
                *delta += ln(b);
                largest = if *delta > largest { *delta } else { largest };
            }
            if largest == T::neg_infinity() {
                return Err(n);
            }
            delta.iter_mut().for_each(|delta| *delta -= largest);
            best += largest.to_f64();
            before = Some(delta);
        }
        let mut next: Option<usize> = None;
        for (state, delta) in self.path.iter_mut().zip(self.delta.chunks_exact(states)).rev() {
            let mut largest = T::neg_infinity();
            for (i, (&delta, logs)) in delta.iter().zip(self.logs.chunks_exact(states)).enumerate() {
                let log = next.map_or(Some(T::zero()), |j| logs.get(j).copied());
                let to = delta + log.unwrap_or(T::neg_infinity());
                if to > largest {
                    (largest, *state) = (to, i);
                }
            }
            next = Some(*state);
        }
        Ok(best)
    }
}
