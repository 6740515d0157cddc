use core::marker::PhantomData;

use countgrid_counts::Bags;
use countgrid_em::{Table, Tables, TablesMut};
use countgrid_math::Real;

use crate::{
    Harmonium, HarmoniumError, Noise, Prior, Shape,
    block::Block,
    error::{same_length, take},
};

/// Sums, or expectations, of `x` (table `alpha`), `x hᵀ` (`w`), `z` or rate adapting `h` (`beta`) and `z hᵀ` (`u`):
/// data minus model is the gradient of the log-likelihood.
///
/// The storage is the caller's, of [`Shape::gradient_len`] elements. It adds up over batches in any split.
///
/// Example: [`Harmonium::contrastive_divergence`](crate::Harmonium::contrastive_divergence).
#[derive(Clone, Copy, Debug)]
pub struct Gradient<T, S> {
    shape: Shape,
    layout: [Table; 4],
    storage: S, // of length `shape.gradient_len()`
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>> Gradient<T, S> {
    /// Tables over a storage, which keeps what it holds.
    ///
    /// # Errors
    /// [`HarmoniumError::Length`].
    pub fn new(shape: Shape, storage: S) -> Result<Self, HarmoniumError> {
        same_length("gradient", shape.gradient_len(), storage.as_ref().len())?;
        Ok(Self { shape, layout: shape.gradient_layout(), storage, scalar: PhantomData })
    }

    /// The shape of the model.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// `alpha`, `w`, `beta` and `u`; what a model does not have is empty.
    pub fn parts(&self) -> [&[T]; 4] {
        let mut rest = self.storage.as_ref();
        self.lengths().map(|len| {
            let (table, after) = rest.split_at(len.min(rest.len()));
            rest = after;
            table
        })
    }

    fn lengths(&self) -> [usize; 4] {
        let (words, topics) = (self.shape.word_count(), self.shape.topics());
        [words, words * topics, self.shape.beta_len(), self.shape.features() * topics]
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Gradient<T, S> {
    /// The tables of [`Gradient::parts`], to be written.
    pub fn parts_mut(&mut self) -> [&mut [T]; 4] {
        let lengths = self.lengths();
        let mut rest = self.storage.as_mut();
        lengths.map(|len| {
            let table = core::mem::take(&mut rest);
            let (table, after) = table.split_at_mut(len.min(table.len()));
            rest = after;
            table
        })
    }
}

#[cfg(feature = "alloc")]
impl<T: Real> Gradient<T, alloc::vec::Vec<T>> {
    /// Zeros, in memory that it allocates.
    ///
    /// # Errors
    /// [`HarmoniumError::TooLarge`] if the allocator refuses.
    pub fn allocate(shape: Shape) -> Result<Self, HarmoniumError> {
        Self::new(shape, crate::allocate(&shape, shape.gradient_len())?)
    }
}

impl<T: Real, S: AsRef<[T]>> Tables for Gradient<T, S> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        let tables = self.shape.gradient_tables();
        self.layout.get(..tables).unwrap_or_default()
    }
    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for Gradient<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.storage.as_mut()
    }
}

impl<T: Real, S: AsRef<[T]>> Harmonium<T, S> {
    /// Adds the data's part of the gradient, `weight` times: `Σ x`, `Σ x E[h|x,z]ᵀ`, `Σ z`, `Σ z E[h|x,z]ᵀ`.
    ///
    /// `features` `[document][C]`, empty for a single wing; `scratch`: at least [`Shape::gibbs_scratch_len`].
    ///
    /// # Errors
    /// [`HarmoniumError::ShapeMismatch`], [`HarmoniumError::Words`], [`HarmoniumError::Length`],
    /// [`HarmoniumError::NotFinite`], [`HarmoniumError::Count`], [`HarmoniumError::Scratch`].
    pub fn add_data<B: Bags, G: AsRef<[T]> + AsMut<[T]>>(
        &self,
        bags: &B,
        features: &[T],
        weight: T,
        gradient: &mut Gradient<T, G>,
        scratch: &mut [T],
    ) -> Result<(), HarmoniumError> {
        self.same_shape(gradient.shape())?;
        self.check_batch(bags, features)?;
        let mut block = Block::new(self.shape(), scratch)?;
        for first in (0..bags.len()).step_by(T::LANES) {
            block.load(self, bags, first, features);
            block.add_documents(self, bags, first, features, weight, gradient.parts_mut());
        }
        Ok(())
    }

    pub(crate) fn same_shape(&self, other: &Shape) -> Result<(), HarmoniumError> {
        if self.shape() == other { Ok(()) } else { Err(HarmoniumError::ShapeMismatch) }
    }
}

/// How far parameters follow a gradient.
///
/// Example: [`Harmonium::contrastive_divergence`](crate::Harmonium::contrastive_divergence).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Of `alpha` and `beta`.
    pub biases: f64,
    /// Of `w` and `u`.
    pub couplings: f64,
}

/// What became of a step.
///
/// Example: [`Harmonium::contrastive_divergence`](crate::Harmonium::contrastive_divergence).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The parameters have moved.
    Taken,
    /// The move led out of the models that have a normaliser (a dual wing that is not positive definite); nothing has
    /// changed.
    Refused,
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Harmonium<T, S> {
    /// Gradient ascent: every parameter moves by its rate times the gradient. `scratch`: at least
    /// [`Shape::step_scratch_len`].
    ///
    /// # Errors
    /// [`HarmoniumError::Setting`], [`HarmoniumError::ShapeMismatch`], [`HarmoniumError::Scratch`];
    /// [`HarmoniumError::Diverged`] if a parameter would not be finite, and nothing has then changed.
    pub fn ascend<G: AsRef<[T]>>(
        &mut self,
        gradient: &Gradient<T, G>,
        rates: Rates,
        scratch: &mut [T],
    ) -> Result<Step, HarmoniumError> {
        for (name, rate) in [("biases", rates.biases), ("couplings", rates.couplings)] {
            if !rate.is_finite() {
                return Err(HarmoniumError::Setting { name });
            }
        }
        self.same_shape(gradient.shape())?;
        let (biases, couplings) = (T::from_f64(rates.biases), T::from_f64(rates.couplings));
        let step = if rates.couplings.abs() > rates.biases.abs() { rates.couplings } else { rates.biases };
        let rates = [biases, couplings, biases, couplings];
        self.step_to(step, scratch, |at, x| {
            let slope = gradient.parts()[at.table].get(at.index).copied().unwrap_or(T::zero());
            x + rates[at.table] * slope
        })
    }

    /// One Langevin step of the couplings, `W ← W + (ε²/2) (gradient - (W - μ)/σ²) + ε n`; biases stay.
    ///
    /// `gradient` is that of the log-likelihood, exact or from brief sampling. `scratch`: at least
    /// [`Shape::step_scratch_len`]. [`crate::step_bound`] is the bound of stable steps.
    ///
    /// # Errors
    /// [`HarmoniumError::Setting`] for a step that is negative or not finite, [`HarmoniumError::ShapeMismatch`],
    /// [`HarmoniumError::Length`], [`HarmoniumError::Scratch`]; [`HarmoniumError::Diverged`] if a coupling would not
    /// be finite, and nothing has then changed.
    /// # Source
    /// Eqs. 13 to 15 of the Bayesian exponential family harmonium paper (BEFH).
    pub fn langevin<G: AsRef<[T]>, P: AsRef<[T]>>(
        &mut self,
        gradient: &Gradient<T, G>,
        prior: &Prior<T, P>,
        epsilon: f64,
        noise: &mut impl Noise<T>,
        scratch: &mut [T],
    ) -> Result<Step, HarmoniumError> {
        if !(epsilon >= 0.0 && epsilon.is_finite()) {
            return Err(HarmoniumError::Setting { name: "epsilon" });
        }
        self.same_shape(gradient.shape())?;
        prior.check_rows(self.shape())?;
        let (topics, words) = (self.shape().topics(), self.shape().word_count());
        let (step, half) = (T::from_f64(epsilon), T::from_f64(0.5 * epsilon * epsilon));
        self.step_to(epsilon, scratch, |at, x| {
            let first = match at.table {
                1 => 0,
                3 => words,
                _ => return x,
            };
            let slope = gradient.parts()[at.table].get(at.index).copied().unwrap_or(T::zero());
            let pull = prior.pull(first + at.index / topics, x);
            x + half * (slope + pull) + step * noise.normal()
        })
    }

    /// Moves every parameter to its `target`, or none.
    fn step_to(
        &mut self,
        step: f64,
        scratch: &mut [T],
        mut target: impl FnMut(Place, T) -> T,
    ) -> Result<Step, HarmoniumError> {
        let (proposal, scratch) = take(scratch, self.shape().gradient_len())?;
        take(scratch, self.shape().precision_len())?;
        let mut rest = &mut *proposal;
        for (table, own) in self.learned_mut().into_iter().enumerate() {
            let len = own.len().min(rest.len());
            let (part, after) = core::mem::take(&mut rest).split_at_mut(len);
            rest = after;
            for (index, (new, &mut old)) in part.iter_mut().zip(own).enumerate() {
                *new = target(Place { table, index }, old);
                if !new.is_finite() {
                    return Err(HarmoniumError::Diverged { table: TABLES[table], step });
                }
            }
        }
        let couplings = self.shape().features() * self.shape().topics();
        let u = proposal.get(proposal.len() - couplings..).unwrap_or_default();
        if self.precision(u, scratch).is_err() {
            return Ok(Step::Refused);
        }
        let mut rest = &*proposal;
        for own in self.learned_mut() {
            let (part, after) = rest.split_at(own.len().min(rest.len()));
            rest = after;
            own.iter_mut().zip(part).for_each(|(own, &new)| *own = new);
        }
        Ok(Step::Taken)
    }
}

const TABLES: [&str; 4] = ["alpha", "w", "beta", "u"];

/// Where a learned parameter is.
struct Place {
    table: usize, // of `TABLES`
    index: usize,
}
