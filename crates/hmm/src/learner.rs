use core::marker::PhantomData;

use countgrid_counts::{Sequences, Symbol};
use countgrid_em::{Fit, Learn, Table, Tables, TablesExt, TablesMut, TablesMutExt, coinciding};
use countgrid_math::{Real, ln};

use crate::{
    Hmm, HmmError, Shape,
    error::{long_enough, same_length},
    estep::EStep,
    hmm::parts,
    recursions::Packed,
};

/// Expected counts of a hidden Markov model, in its layout: `start` `[state]`, `trans` `[from][to]` and `emit`
/// `[symbol][state]`; with the scratch of both steps. All are sums over sequences.
///
/// Example: [`Learner`](crate::Learner).
#[derive(Clone, Copy, Debug)]
pub struct Statistics<T, S> {
    shape: Shape,
    layout: [Table; 3],
    sums: S,    // of length `shape.hmm_len()`
    scratch: S, // at least `shape.scratch_len(1)`
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Statistics<T, S> {
    /// Empty statistics in the caller's storage: `sums` of [`Shape::hmm_len`] elements, `scratch` of at least
    /// [`Shape::scratch_len`] of the longest sequence, and of [`Shape::chunk_scratch_len`] for threads to share sequences.
    ///
    /// # Errors
    /// [`HmmError::Length`] also for scratch that does not serve a sequence of one symbol.
    pub fn new(shape: Shape, sums: S, scratch: S) -> Result<Self, HmmError> {
        same_length("sums", shape.hmm_len(), sums.as_ref().len())?;
        long_enough("scratch", shape.scratch_len::<T>(1), scratch.as_ref().len())?;
        let mut statistics = Self { shape, layout: shape.layout(), sums, scratch, scalar: PhantomData };
        statistics.clear();
        Ok(statistics)
    }

    /// The shape of the model that these statistics serve.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}

#[cfg(feature = "alloc")]
impl<T: Real> Statistics<T, countgrid_math::AlignedVec<T>> {
    /// Empty statistics in memory that is allocated, for sequences of up to `longest` symbols.
    ///
    /// # Errors
    /// [`HmmError::TooLarge`] if the allocator refuses.
    pub fn allocate(shape: Shape, longest: usize) -> Result<Self, HmmError> {
        Self::with_chunk(shape, longest, 1)
    }

    /// Empty statistics in memory of their own, for sequences of up to `longest` symbols, with scratch to look at `chunk` of
    /// them together (some ten for each thread serve well).
    ///
    /// # Errors
    /// [`HmmError::TooLarge`] if the allocator refuses.
    pub fn with_chunk(shape: Shape, longest: usize, chunk: usize) -> Result<Self, HmmError> {
        let sums = crate::hmm::allocate(shape.hmm_len())?;
        let scratch = crate::hmm::allocate(shape.chunk_scratch_len::<T>(longest.max(1), chunk))?;
        Self::new(shape, sums, scratch)
    }
}

impl<T: Real, S: AsRef<[T]>> Tables for Statistics<T, S> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.sums.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for Statistics<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.sums.as_mut()
    }
}

/// A model that is fitted: an [`Hmm`] or a [`crate::Chain`], with its pseudocount.
///
/// A pseudocount is added to the expected count of every entry but those that are zero: these are structure, and stay
/// zero. It is the maximum a posteriori estimate, with `a Σ log θ` over all other entries as the log prior.
///
/// ```
/// use countgrid_counts::Sequences;
/// use countgrid_em::{EmOptions, Restarts, no_observer};
/// use countgrid_hmm::{Hmm, Learner, Shape, Statistics};
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let sequences = Sequences::new(2, &[0, 6, 10], &[0u8, 0, 0, 1, 1, 1, 0, 0, 1, 1])?;
/// let shape = Shape::new(2, 2)?;
/// let mut learner = Learner::new(Hmm::<f64, _>::uniform(shape)?, 0.01)?;
/// let mut statistics = Statistics::allocate(shape, sequences.longest())?;
///
/// let plan = EmOptions::default().check()?;
/// let best = Restarts::new(5, 42)?.run(&mut learner, &mut vec![0.0; shape.hmm_len()], |learner, restart| {
///     learner.model_mut().randomize(&mut ChaCha8Rng::seed_from_u64(restart.seed));
///     plan.fit(learner, &sequences, &mut statistics, no_observer)
/// })?;
/// assert!(best.outcome.free_energy < 10.0 * 2_f64.ln()); // better than coins
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Learner<M> {
    model: M,
    pseudocount: f64, // finite, at least 0
}

impl<M> Learner<M> {
    /// Starts from a model.
    ///
    /// # Errors
    /// [`HmmError::Pseudocount`] unless it is finite and at least 0, and far from the range of single precision.
    pub fn new(model: M, pseudocount: f64) -> Result<Self, HmmError> {
        if !(0.0..=1e30).contains(&pseudocount) {
            return Err(HmmError::Pseudocount);
        }
        Ok(Self { model, pseudocount })
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The model, to be changed, such as for a restart.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }

    /// Ends the fit.
    pub fn into_model(self) -> M {
        self.model
    }

    pub(crate) fn pseudocount(&self) -> f64 {
        self.pseudocount
    }
}

countgrid_em::tables_of_field!(impl[M] for Learner<M>, model: M);

/// `-a Σ log θ` over the entries that are not zero.
pub(crate) fn penalty<T: Real>(pseudocount: f64, table: &[T]) -> f64 {
    if !(pseudocount > 0.0) {
        return 0.0;
    }
    let logs = table.iter().filter(|&&p| p > T::zero()).map(|&p| ln(Real::to_f64(p)));
    -pseudocount * logs.fold(0.0, |sum, log| sum + log)
}

/// Sequences of one batch, forward and backward each (Rabiner 1989, Eqs. 18 to 38, scaled).
impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, X: Symbol> Fit<Sequences<'_, X>> for Learner<Hmm<T, S>> {
    /// # Errors
    /// [`HmmError::Symbols`], [`HmmError::ShapeMismatch`]; [`HmmError::Length`] if the scratch is too short for a
    /// sequence; [`HmmError::Impossible`]. The sums are then those of the sequences before.
    fn expectation(
        &self,
        sequences: &Sequences<'_, X>,
        statistics: &mut Self::Statistics,
    ) -> Result<f64, HmmError> {
        let hmm = &self.model;
        let shape = *hmm.shape();
        if shape != statistics.shape {
            return Err(HmmError::ShapeMismatch);
        }
        hmm.same_symbols(sequences.symbols())?;
        let (sums, mut scratch) = (statistics.sums.as_mut(), statistics.scratch.as_mut());
        let found = scratch.len();
        let packed = Packed::new(&shape, hmm.tables().1, &mut scratch);
        EStep { shape, parts: hmm.tables(), packed, sequences: *sequences, found }.add_all(sums, scratch)
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Learn for Learner<Hmm<T, S>> {
    type Statistics = Statistics<T, S>;
    type Error = HmmError;

    /// Expected counts, with the pseudocount, normalised. A distribution without any stays as it was: a state that is
    /// never visited keeps its rows.
    ///
    /// # Errors
    /// [`HmmError::ShapeMismatch`].
    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), HmmError> {
        let hmm = &mut self.model;
        hmm.check_shape(statistics).map_err(|_| HmmError::ShapeMismatch)?;
        let (a, shape) = (T::from_f64(self.pseudocount), *hmm.shape());
        let states = shape.states();
        let (sums, totals) = (statistics.sums.as_mut(), statistics.scratch.as_mut());
        // From here on the sums are only read; scratch is at least as long as the states are many.
        let (sums, totals) = (&*sums, &mut totals[..states]);
        let (start, trans, emit) = hmm.tables_mut();
        let (start_sums, trans_sums, emit_sums) = parts(&shape, sums);
        estimate(start, start_sums, a);
        for (row, sums) in trans.chunks_exact_mut(states).zip(trans_sums.chunks_exact(states)) {
            estimate(row, sums, a);
        }
        totals.fill(T::zero());
        for (row, sums) in emit.chunks_exact(states).zip(emit_sums.chunks_exact(states)) {
            for ((total, &p), &sum) in totals.iter_mut().zip(row).zip(sums) {
                *total += with_pseudocount(p, sum, a);
            }
        }
        for (row, sums) in emit.chunks_exact_mut(states).zip(emit_sums.chunks_exact(states)) {
            for ((&total, p), &sum) in totals.iter().zip(row).zip(sums) {
                if total > T::zero() && total.is_finite() {
                    *p = with_pseudocount(*p, sum, a) / total;
                }
            }
        }
        Ok(())
    }

    fn penalty(&self) -> f64 {
        penalty(self.pseudocount(), self.model.buffer())
    }

    /// States that coincide in what they emit and in where they go. Where they are reached from is as the weights of a mixture:
    /// copies may differ in it.
    fn coinciding_components(&self) -> Option<usize> {
        let (states, (_, trans, emit)) = (self.model.shape().states(), self.model.tables());
        Some(coinciding(states, |state| {
            let emitted = emit.get(state..).unwrap_or_default().iter().step_by(states);
            emitted.chain(trans.chunks_exact(states).nth(state).unwrap_or_default()).copied()
        }))
    }
}

#[inline]
fn with_pseudocount<T: Real>(p: T, sum: T, pseudocount: T) -> T {
    if p > T::zero() { sum + pseudocount } else { T::zero() }
}

/// `θ_j ∝ m_j + a` where `θ_j` is not zero.
fn estimate<T: Real>(row: &mut [T], sums: &[T], pseudocount: T) {
    let entries = || row.iter().zip(sums).map(|(&p, &sum)| with_pseudocount(p, sum, pseudocount));
    let total = entries().fold(T::zero(), |total, x| total + x);
    if total > T::zero() && total.is_finite() {
        for (p, &sum) in row.iter_mut().zip(sums) {
            *p = with_pseudocount(*p, sum, pseudocount) / total;
        }
    }
}
