use core::marker::PhantomData;

use countgrid_counts::{Bags, Count};
use countgrid_math::Real;

use crate::{Gradient, Harmonium, HarmoniumError, Noise, Shape, block::Block, error::same_length};

/// Gibbs chains that live on: the states of words and features, `[chain][M + C]`.
///
/// For persistent contrastive divergence, for samples of the model, for tests.
#[derive(Clone, Copy, Debug)]
pub struct Chains<T, S> {
    shape: Shape,
    states: S, // a whole number of states, at least one; states that the model can produce
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Chains<T, S> {
    /// As many chains as `storage` has room for, all at zero.
    ///
    /// # Errors
    /// [`HarmoniumError::Length`] unless it is a multiple of [`Shape::state_len`]; [`HarmoniumError::Nothing`].
    pub fn zeroed(shape: Shape, storage: S) -> Result<Self, HarmoniumError> {
        let mut states = storage;
        let (len, found) = (shape.state_len(), states.as_ref().len());
        same_length("chains", found / len * len, found)?;
        if found == 0 {
            return Err(HarmoniumError::Nothing { what: "chains" });
        }
        states.as_mut().fill(T::zero());
        Ok(Self { shape, states, scalar: PhantomData })
    }

    /// One chain at every document of a batch.
    ///
    /// # Errors
    /// As [`Chains::zeroed`], and as [`Harmonium::add_data`] for the batch.
    pub fn at_documents<M: AsRef<[T]>, B: Bags>(
        model: &Harmonium<T, M>,
        bags: &B,
        features: &[T],
        storage: S,
    ) -> Result<Self, HarmoniumError> {
        model.check_batch(bags, features)?;
        let mut chains = Self::zeroed(*model.shape(), storage)?;
        same_length("chains", bags.len().saturating_mul(chains.shape.state_len()), chains.states().len())?;
        let (words, len) = (chains.shape.word_count(), chains.shape.state_len());
        for (document, state) in chains.states.as_mut().chunks_exact_mut(len).enumerate() {
            let (x, z) = state.split_at_mut(words);
            for (word, count) in bags.entries(document) {
                if let Some(x) = x.get_mut(word) {
                    *x = count.to_real();
                }
            }
            z.iter_mut().zip(model.features_of(features, document)).for_each(|(own, &z)| *own = z);
        }
        Ok(chains)
    }

    /// Chains at states that others had ([`Chains::states`]), of a model of the same kind.
    ///
    /// ```
    /// use countgrid_harmonium::{Chains, Draws, Harmonium, HarmoniumError, Shape};
    /// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
    /// let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(1));
    /// let model = Harmonium::<f64, _>::allocate(Shape::words(3, 2)?, 1, 0.1, &mut draws)?;
    /// let chains = Chains::at_states(&model, vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0])?;
    /// assert_eq!((chains.count(), chains.state(1).0), (2, &[0.0, 0.0, 1.0][..]));
    /// let twice = Chains::at_states(&model, vec![1.0, 2.0, 0.0]).map(|_| ());
    /// assert_eq!(twice, Err(HarmoniumError::Count { document: 0, word: 1 }));
    /// # Ok::<(), HarmoniumError>(())
    /// ```
    ///
    /// # Errors
    /// [`HarmoniumError::Length`] unless there is a whole number of them, [`HarmoniumError::Nothing`] for none;
    /// [`HarmoniumError::Count`] for words that the model cannot produce, of chain `document`;
    /// [`HarmoniumError::NotFinite`] for features.
    pub fn at_states<M: AsRef<[T]>>(model: &Harmonium<T, M>, states: S) -> Result<Self, HarmoniumError> {
        let shape = *model.shape();
        let (len, found) = (shape.state_len(), states.as_ref().len());
        same_length("chains", found / len * len, found)?;
        if found == 0 {
            return Err(HarmoniumError::Nothing { what: "chains" });
        }
        let can_be = model.possible_counts();
        for (document, state) in states.as_ref().chunks_exact(len).enumerate() {
            let (x, z) = state.split_at(shape.word_count());
            if let Some(word) = x.iter().enumerate().position(|(word, &x)| !can_be(word, x)) {
                return Err(HarmoniumError::Count { document, word });
            }
            if let Some(at) = z.iter().position(|z| !z.is_finite()) {
                return Err(HarmoniumError::NotFinite { table: "features", index: document * z.len() + at });
            }
        }
        Ok(Self { shape, states, scalar: PhantomData })
    }

    /// Moves every chain by `steps` full Gibbs steps, topics and then words and features.
    ///
    /// For groups of [`Real::LANES`] chains at a time numbers are drawn in this order: topics chain by chain; then
    /// words, then features, one after the other for all chains of the group. `scratch`: at least
    /// [`Shape::gibbs_scratch_len`].
    ///
    /// # Errors
    /// [`HarmoniumError::ShapeMismatch`], [`HarmoniumError::Scratch`]; [`HarmoniumError::Rate`] if a rate adapting
    /// chain runs away.
    /// # Source
    /// Eqs. 4 and 5 of the Bayesian exponential family harmonium paper (BEFH).
    pub fn sweep<M: AsRef<[T]>>(
        &mut self,
        model: &Harmonium<T, M>,
        steps: usize,
        noise: &mut impl Noise<T>,
        scratch: &mut [T],
    ) -> Result<(), HarmoniumError> {
        self.each_block(model, scratch, |block| (0..steps).try_for_each(|_| block.step(model, noise)))
    }

    /// Adds `weight` times the chains' sums of `x`, `x E[h|x,z]ᵀ`, `z`, `z E[h|x,z]ᵀ`: with `-N/S` for `S` chains, the
    /// model's part of the gradient of `N` documents.
    ///
    /// # Errors
    /// [`HarmoniumError::ShapeMismatch`], [`HarmoniumError::Scratch`].
    pub fn add_to<M: AsRef<[T]>, G: AsRef<[T]> + AsMut<[T]>>(
        &mut self,
        model: &Harmonium<T, M>,
        weight: T,
        gradient: &mut Gradient<T, G>,
        scratch: &mut [T],
    ) -> Result<(), HarmoniumError> {
        model.same_shape(gradient.shape())?;
        self.each_block(model, scratch, |block| {
            block.add_states(model, weight, gradient.parts_mut());
            Ok(())
        })
    }

    fn each_block<M: AsRef<[T]>>(
        &mut self,
        model: &Harmonium<T, M>,
        scratch: &mut [T],
        mut run: impl FnMut(&mut Block<'_, T>) -> Result<(), HarmoniumError>,
    ) -> Result<(), HarmoniumError> {
        model.same_shape(&self.shape)?;
        let mut block = Block::new(&self.shape, scratch)?;
        for states in self.states.as_mut().chunks_mut(T::LANES * self.shape.state_len()) {
            block.read(model, states);
            run(&mut block)?;
            block.write(states);
        }
        Ok(())
    }

    /// The states, `[chain][M + C]`: words, then features.
    pub fn states(&self) -> &[T] {
        self.states.as_ref()
    }
    /// How many chains there are.
    pub fn count(&self) -> usize {
        self.states().len() / self.shape.state_len()
    }
    /// Words and features of one chain; empty out of range.
    pub fn state(&self, chain: usize) -> (&[T], &[T]) {
        let state = self.states().chunks_exact(self.shape.state_len()).nth(chain).unwrap_or_default();
        state.split_at(self.shape.word_count().min(state.len()))
    }
}
