//! Sequences forward and backward, and what they add to the sums.

use countgrid_counts::{Sequences, Symbol};
use countgrid_em::parallel::{Rows, Split, for_each, in_pool, threads};
use countgrid_math::{Real, dispatch};

use crate::{
    HmmError, Shape,
    error::long_enough,
    hmm::{Parts, parts_mut},
    posterior::Counts,
    recursions::{BLOCK, Blocks, Packed, Smooth, Step, Visit, Work, take_prefix},
};

/// Numbers that hold the log-likelihood of a sequence.
pub(crate) const RESULTS: usize = 3;

/// An E-step over some sequences.
pub(crate) struct EStep<'a, T, X> {
    pub(crate) shape: Shape,
    pub(crate) parts: Parts<'a, T>,
    pub(crate) packed: Packed<'a, T>,
    pub(crate) sequences: Sequences<'a, X>,
    pub(crate) found: usize, // elements of scratch, with those that are packed
}

impl<T: Real, X: Symbol> EStep<'_, T, X> {
    /// Adds all sequences and returns their free energy; at an error, those before.
    pub(crate) fn add_all(&self, sums: &mut [T], scratch: &mut [T]) -> Result<f64, HmmError> {
        if threads() > 1 && self.sequences.len() > 1 {
            return in_pool(|| self.add_in_chunks(sums, scratch));
        }
        Work::new(self.packed, scratch, 0).clear();
        (0..self.sequences.len()).try_fold(0.0, |sum, t| Ok(sum - self.add(t, sums, scratch)?))
    }

    /// Adds one sequence and returns its log-likelihood. The padding of scratch is clear.
    fn add(&self, t: usize, sums: &mut [T], scratch: &mut [T]) -> Result<f64, HmmError> {
        let x = self.symbols(t);
        long_enough("scratch", self.shape.scratch_len::<T>(x.len()), self.found)?;
        let mut work = Work::new(self.packed, scratch, x.len());
        let mut visitor = Counts::new(&self.shape, x, sums);
        dispatch(Smooth { parts: self.parts, x, work: &mut work, visitor: &mut visitor })
            .map_err(|position| HmmError::Impossible { sequence: t, position })
    }

    fn symbols(&self, t: usize) -> &[X] {
        self.sequences.get(t).map_or(&[], |sequence| sequence.entries())
    }

    /// As many sequences as scratch holds are worked on together; then each sum is added up by one thread, in the order of
    /// sequences and in each of them of positions.
    fn add_in_chunks(&self, sums: &mut [T], scratch: &mut [T]) -> Result<f64, HmmError> {
        let (states, symbols, count) = (self.shape.states(), self.shape.symbols(), self.sequences.len());
        let len = |t| self.shape.sequence_len::<T>(self.symbols(t).len());
        let (mut first, mut free_energy) = (0, 0.0);
        while first < count {
            let mut room = scratch.len();
            let fits = |&t: &usize| {
                let rest = room.checked_sub(len(t));
                room = rest.unwrap_or(room);
                rest.is_some()
            };
            let chunk = (first..count).take_while(fits).count();
            if chunk < 2 {
                Work::new(self.packed, scratch, 0).clear();
                free_energy -= self.add(first, sums, scratch)?;
                first += 1;
                continue;
            }
            let slots = Slots { elements: &mut *scratch, first, len: &len };
            for_each(chunk, slots, |place, slot| self.smooth(self.symbols(first + place), slot.elements));
            let placed = || {
                let mut rest = &*scratch;
                (first..first + chunk).map_while(move |t| {
                    let (slot, after) = rest.split_at_checked(len(t))?;
                    rest = after;
                    Added::read(&self.shape, self.symbols(t), slot)
                })
            };
            let (start, trans, emit) = parts_mut(&self.shape, &mut *sums);
            // Each part costs a look at all symbols of the chunk.
            let parts = 4 * threads();
            let (from, rows) = (states.div_ceil(parts), symbols.div_ceil(parts));
            let tables = (Rows::new(trans, from * states), Rows::new(emit, rows * states));
            for_each(states.div_ceil(from).max(symbols.div_ceil(rows)), tables, |part, (trans, emit)| {
                for added in placed() {
                    added.add_pairs(part * from, trans.elements);
                    added.add_emitted(part * rows, emit.elements);
                }
            });
            let mut next = first;
            for added in placed() {
                start.iter_mut().zip(added.gammas).for_each(|(sum, &gamma)| *sum += gamma);
                free_energy -= added.log_likelihood;
                next += 1;
            }
            if next < first + chunk {
                Work::new(self.packed, scratch, 0).clear();
                free_energy -= self.add(next, sums, scratch)?; // says what is wrong
                next += 1;
            }
            first = next;
        }
        Ok(free_energy)
    }

    /// Forward and backward; keeps what the sequence adds, in a slot of [`Shape::sequence_len`].
    fn smooth(&self, x: &[X], slot: &mut [T]) {
        let (states, mut rest) = (self.shape.states(), slot);
        let results = take_prefix(&mut rest, RESULTS);
        let gammas = take_prefix(&mut rest, x.len() * states);
        let pairs = take_prefix(&mut rest, x.len().saturating_sub(1).div_ceil(BLOCK) * states * states);
        pairs.fill(T::zero());
        let mut work = Work::new(self.packed, rest, x.len());
        work.clear();
        let mut visitor = Keep { states, gammas, pairs };
        let smooth = Smooth { parts: self.parts, x, work: &mut work, visitor: &mut visitor };
        // Three numbers of either type hold an f64 of this size.
        let mut log_likelihood = dispatch(smooth).unwrap_or(f64::NAN);
        for result in results {
            *result = T::from_f64(log_likelihood);
            log_likelihood -= result.to_f64();
        }
    }
}

/// Scratch of consecutive sequences; of each as much as it needs.
struct Slots<'a, T, L> {
    elements: &'a mut [T],
    first: usize,
    len: &'a L, // of the slot of a sequence
}

impl<T: Send, L: Fn(usize) -> usize + Sync> Split for Slots<'_, T, L> {
    fn split(self, items: usize) -> (Self, Self) {
        let Self { elements, first, len } = self;
        let end = (first..first + items).fold(0_usize, |sum, t| sum.saturating_add(len(t)));
        let middle = end.min(elements.len());
        let (elements, rest) = elements.split_at_mut(middle);
        (Self { elements, first, len }, Self { elements: rest, first: first + items, len })
    }
}

/// Keeps posteriors, and sums of pairs block by block.
struct Keep<'a, T> {
    states: usize,
    gammas: &'a mut [T], // [position][state]
    pairs: &'a mut [T],  // [block][from][to], zeros
}

impl<T: Real> Visit<T> for Keep<'_, T> {
    #[inline(always)]
    fn visit(&mut self, step: Step<'_, T>, blocks: Blocks<'_, T>) {
        let (n, states) = (step.n, self.states);
        let gammas = self.gammas.get_mut(n * states..(n + 1) * states).unwrap_or_default();
        gammas.iter_mut().zip(step.gamma).for_each(|(kept, &gamma)| *kept = gamma);
        let size = states * states;
        let pairs = self.pairs.get_mut(n / BLOCK * size..(n / BLOCK + 1) * size).unwrap_or_default();
        blocks.add_pairs(n, pairs, states);
    }
}

/// What a sequence adds to the sums.
struct Added<'a, X, T> {
    x: &'a [X],
    states: usize,
    log_likelihood: f64,
    gammas: &'a [T], // [position][state]
    pairs: &'a [T],  // [block][from][to]
}

impl<'a, X: Symbol, T: Real> Added<'a, X, T> {
    /// `None` of a sequence that is impossible.
    fn read(shape: &Shape, x: &'a [X], slot: &'a [T]) -> Option<Self> {
        let states = shape.states();
        let (results, rest) = slot.split_at_checked(RESULTS)?;
        let (gammas, rest) = rest.split_at_checked(x.len() * states)?;
        let blocks = x.len().saturating_sub(1).div_ceil(BLOCK);
        let pairs = rest.get(..blocks * states * states)?;
        let log_likelihood = results.iter().rev().fold(0.0, |sum, &x| sum + x.to_f64());
        if log_likelihood.is_finite() {
            Some(Self { x, states, log_likelihood, gammas, pairs })
        } else {
            None
        }
    }

    /// Adds pairs to the rows of `trans` from state `first` on.
    fn add_pairs(&self, first: usize, rows: &mut [T]) {
        let size = (self.states * self.states).max(1);
        for pairs in self.pairs.rchunks_exact(size) {
            let pairs = pairs.get(first * self.states..).unwrap_or_default();
            rows.iter_mut().zip(pairs).for_each(|(sum, &pair)| *sum += pair);
        }
    }

    /// Adds posteriors to the rows of `emit` from symbol `first` on.
    fn add_emitted(&self, first: usize, rows: &mut [T]) {
        let states = self.states.max(1);
        for (x, gamma) in self.x.iter().rev().zip(self.gammas.rchunks_exact(states)) {
            if let Some(row) = x.index().checked_sub(first)
                && let Some(row) = rows.get_mut(row * states..(row + 1) * states)
            {
                row.iter_mut().zip(gamma).for_each(|(sum, &gamma)| *sum += gamma);
            }
        }
    }
}
