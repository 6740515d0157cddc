use core::marker::PhantomData;

use countgrid_em::{Table, Tables, TablesMut};
use countgrid_math::Real;
use rand_core::Rng;

use crate::{
    HmmError, Shape,
    check::{non_negative, normalise, sums_to_one, unit},
    error::same_length,
};

/// The parameters of a hidden Markov model: tables `start` `[state]`, `trans` `[from][to]` and `emit`
/// `[symbol][state]`, one buffer.
///
/// `start` is a distribution, every row of `trans` is one, and so is every column of `emit`: one state, all symbols.
/// A probability below [`Real::FLOOR`] in `trans` counts as zero.
///
/// The storage is the caller's: an array, a `&'static` table, a borrowed buffer, a `Vec`.
///
/// ```
/// use countgrid_counts::Sequence;
/// use countgrid_hmm::{Hmm, Shape};
///
/// let shape = Shape::new(2, 2)?;
/// static TABLES: [f32; 10] = [1.0, 0.0, 0.5, 0.5, 0.0, 1.0, 0.0, 0.9, 1.0, 0.1];
/// let hmm = Hmm::new(shape, TABLES.as_slice())?;
/// let sequence = Sequence::new(2, &[1u8, 0])?; // from state 0, then, with 0.5, from state 1 with 0.9
/// let mut scratch = vec![0.0; shape.likelihood_scratch_len::<f32>()];
/// let log_p = hmm.log_likelihood(&sequence, &mut scratch)?;
/// assert!((log_p - 0.45_f64.ln()).abs() < 1e-6);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hmm<T, S> {
    shape: Shape,
    layout: [Table; 3],
    storage: S, // of length `shape.hmm_len()`
    scalar: PhantomData<T>,
}

/// The three tables of a buffer: `start`, `trans`, `emit`.
pub(crate) type Parts<'a, T> = (&'a [T], &'a [T], &'a [T]);
pub(crate) type PartsMut<'a, T> = (&'a mut [T], &'a mut [T], &'a mut [T]);

/// The tables of a buffer of length [`Shape::hmm_len`].
pub(crate) fn parts<'a, T>(shape: &Shape, buffer: &'a [T]) -> Parts<'a, T> {
    let states = shape.states();
    let (start, rest) = buffer.split_at_checked(states).unwrap_or_default();
    let (trans, emit) = rest.split_at_checked(states * states).unwrap_or_default();
    (start, trans, emit)
}

pub(crate) fn parts_mut<'a, T>(shape: &Shape, buffer: &'a mut [T]) -> PartsMut<'a, T> {
    let states = shape.states();
    let (start, rest) = buffer.split_at_mut_checked(states).unwrap_or_default();
    let (trans, emit) = rest.split_at_mut_checked(states * states).unwrap_or_default();
    (start, trans, emit)
}

impl<T: Real, S: AsRef<[T]>> Hmm<T, S> {
    /// A model from its tables, `start`, `trans` and `emit`.
    ///
    /// # Errors
    /// [`HmmError::Length`]; [`HmmError::Probability`] for an entry that is negative or not finite;
    /// [`HmmError::NotNormalised`] for a sum further from one than a rounding of each entry explains, but at least
    /// 1e-3, which allows for tables printed with few digits.
    pub fn new(shape: Shape, storage: S) -> Result<Self, HmmError> {
        let hmm = Self::unchecked(shape, storage)?;
        hmm.check()?;
        Ok(hmm)
    }

    fn unchecked(shape: Shape, storage: S) -> Result<Self, HmmError> {
        same_length("hmm", shape.hmm_len(), storage.as_ref().len())?;
        Ok(Self { shape, layout: shape.layout(), storage, scalar: PhantomData })
    }

    fn check(&self) -> Result<(), HmmError> {
        let ((start, trans, emit), states) = (self.tables(), self.shape.states());
        for (table, entries) in [("start", start), ("trans", trans), ("emit", emit)] {
            non_negative(table, states, entries)?;
        }
        sums_to_one("start", 0, start.iter())?;
        for (row, entries) in trans.chunks_exact(states).enumerate() {
            sums_to_one("trans", row, entries.iter())?;
        }
        for state in 0..states {
            sums_to_one("emit", state, emit.iter().skip(state).step_by(states))?;
        }
        Ok(())
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// `start` `[state]`, `trans` `[from][to]` and `emit` `[symbol][state]`.
    pub fn tables(&self) -> (&[T], &[T], &[T]) {
        parts(&self.shape, self.storage.as_ref())
    }

    /// The storage, given back.
    pub fn into_inner(self) -> S {
        self.storage
    }

    /// Checks that sequences are over this model's alphabet.
    pub(crate) fn same_symbols(&self, found: usize) -> Result<(), HmmError> {
        let expected = self.shape.symbols();
        if expected == found { Ok(()) } else { Err(HmmError::Symbols { expected, found }) }
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Hmm<T, S> {
    /// The uniform model in the given storage, which is overwritten: from every state to every state. A start for
    /// [`Hmm::randomize`]; being symmetric, it is a fixed point of the fit.
    ///
    /// # Errors
    /// [`HmmError::Length`].
    pub fn uniform_in(shape: Shape, storage: S) -> Result<Self, HmmError> {
        Self::with_structure_in(shape, storage, |_| true, |_, _| true)
    }

    /// The left-to-right model in the given storage: it starts in state 0 and from each state stays or goes on to the
    /// next; the last one stays.
    ///
    /// ```
    /// use countgrid_hmm::{Hmm, Shape};
    /// let hmm = Hmm::left_to_right_in(Shape::new(3, 1)?, [0.0; 15])?;
    /// let (start, trans, _) = hmm.tables();
    /// assert_eq!(start, [1.0, 0.0, 0.0]);
    /// assert_eq!(trans, [0.5, 0.5, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 1.0]);
    /// # Ok::<(), countgrid_hmm::HmmError>(())
    /// ```
    ///
    /// # Errors
    /// [`HmmError::Length`].
    pub fn left_to_right_in(shape: Shape, storage: S) -> Result<Self, HmmError> {
        Self::with_structure_in(shape, storage, |state| state == 0, |from, to| to == from || to == from + 1)
    }

    /// A model in the given storage that may start where `starts` is true and move where `moves(from, to)` is true,
    /// each with the same probability, and emits every symbol alike. What is zero stays zero, in [`Hmm::randomize`] and
    /// in a fit.
    ///
    /// # Errors
    /// [`HmmError::Length`]; [`HmmError::NotNormalised`] if there is nowhere to start, or nowhere to go from a state.
    pub fn with_structure_in(
        shape: Shape,
        storage: S,
        starts: impl Fn(usize) -> bool,
        moves: impl Fn(usize, usize) -> bool,
    ) -> Result<Self, HmmError> {
        let mut hmm = Self::unchecked(shape, storage)?;
        let states = shape.states();
        let (start, trans, emit) = hmm.tables_mut();
        let indicator = |may| if may { T::one() } else { T::zero() };
        start.iter_mut().enumerate().for_each(|(state, p)| *p = indicator(starts(state)));
        normalise("start", 0, start)?;
        for (from, row) in trans.chunks_exact_mut(states).enumerate() {
            row.iter_mut().enumerate().for_each(|(to, p)| *p = indicator(moves(from, to)));
            normalise("trans", from, row)?;
        }
        emit.fill(T::one() / T::from_f64(shape.symbols() as f64));
        Ok(hmm)
    }

    /// Draws every distribution anew over the entries that are not zero, bounded away from zero: `1 + uniform(0, 1)`,
    /// normalised. One 64-bit word an entry is drawn.
    pub fn randomize(&mut self, rng: &mut impl Rng) {
        let states = self.shape.states();
        let (start, trans, emit) = self.tables_mut();
        for p in start.iter_mut().chain(&mut *trans).chain(&mut *emit) {
            let draw = T::from_f64(1.0 + unit(rng));
            *p = if *p > T::zero() { draw } else { T::zero() };
        }
        // No distribution is all zero, so none is refused.
        let _ = normalise("start", 0, start);
        for row in trans.chunks_exact_mut(states) {
            let _ = normalise("trans", 0, row);
        }
        for state in 0..states {
            let column = || emit.iter().skip(state).step_by(states);
            let total = column().fold(T::zero(), |sum, &p| sum + p);
            emit.iter_mut().skip(state).step_by(states).for_each(|p| *p /= total);
        }
    }

    pub(crate) fn tables_mut(&mut self) -> PartsMut<'_, T> {
        parts_mut(&self.shape, self.storage.as_mut())
    }
}

#[cfg(feature = "alloc")]
impl<T: Real> Hmm<T, countgrid_math::AlignedVec<T>> {
    /// [`Hmm::uniform_in`] in memory that it allocates.
    ///
    /// # Errors
    /// [`HmmError::TooLarge`] if the allocator refuses.
    pub fn uniform(shape: Shape) -> Result<Self, HmmError> {
        Self::uniform_in(shape, allocate(shape.hmm_len())?)
    }

    /// [`Hmm::left_to_right_in`] in memory that it allocates.
    ///
    /// # Errors
    /// [`HmmError::TooLarge`] if the allocator refuses.
    pub fn left_to_right(shape: Shape) -> Result<Self, HmmError> {
        Self::left_to_right_in(shape, allocate(shape.hmm_len())?)
    }
}

/// Zeros, or the error that they do not fit into memory.
#[cfg(feature = "alloc")]
pub(crate) fn allocate<T: Real>(len: usize) -> Result<countgrid_math::AlignedVec<T>, HmmError> {
    countgrid_math::AlignedVec::zeroed(len).map_err(|_| HmmError::TooLarge)
}

impl<T: Real, S: AsRef<[T]>> Tables for Hmm<T, S> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for Hmm<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.storage.as_mut()
    }
}
