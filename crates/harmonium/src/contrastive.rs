use countgrid_counts::Bags;
use countgrid_math::Real;

use crate::{Gradient, Harmonium, HarmoniumError, Noise, block::Block};

impl<T: Real, S: AsRef<[T]>> Harmonium<T, S> {
    /// Adds the gradient of contrastive divergence: data minus Gibbs chains that start at every document and take
    /// `steps` full steps (CD-l), with the mean of topics in place of their draw.
    ///
    /// It is the brief sampling of the Bayesian form, with as many samples as documents, too. `features`
    /// `[document][C]`, empty for a single wing; `scratch`: at least [`crate::Shape::gibbs_scratch_len`]. Random numbers are
    /// taken as by [`crate::Chains::sweep`]. For persistent chains: [`Harmonium::add_data`], [`crate::Chains::sweep`]
    /// and [`crate::Chains::add_to`].
    ///
    /// ```
    /// use countgrid_counts::Dense;
    /// use countgrid_em::TablesMutExt;
    /// use countgrid_harmonium::{Draws, Gradient, Harmonium, Rates, Shape};
    /// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
    ///
    /// let shape = Shape::words(4, 2)?;
    /// let bags = Dense::new(4, &[1_u8, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0])?;
    /// let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(1));
    /// let mut model = Harmonium::<f32, _>::allocate(shape, 1, 0.1, &mut draws)?;
    /// let mut gradient = Gradient::allocate(shape)?;
    /// let mut scratch = vec![0.0; shape.gibbs_scratch_len::<f32>()];
    /// let mut step = vec![0.0; shape.step_scratch_len()];
    /// for _ in 0..100 {
    ///     gradient.clear();
    ///     model.contrastive_divergence(&bags, &[], 1, &mut gradient, &mut draws, &mut scratch)?;
    ///     model.ascend(&gradient, Rates { biases: 0.05, couplings: 0.05 }, &mut step)?;
    /// }
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Harmonium::add_data`]; [`HarmoniumError::Setting`] for no step at all; [`HarmoniumError::Rate`] if a rate
    /// adapting chain runs away. The gradient is then of no use.
    /// # Source
    /// Hinton, Training products of experts by minimizing contrastive divergence, Neural Computation 2002.
    pub fn contrastive_divergence<B: Bags, G: AsRef<[T]> + AsMut<[T]>>(
        &self,
        bags: &B,
        features: &[T],
        steps: usize,
        gradient: &mut Gradient<T, G>,
        noise: &mut impl Noise<T>,
        scratch: &mut [T],
    ) -> Result<(), HarmoniumError> {
        if steps == 0 {
            return Err(HarmoniumError::Setting { name: "steps" });
        }
        self.same_shape(gradient.shape())?;
        self.check_batch(bags, features)?;
        let mut block = Block::new(self.shape(), scratch)?;
        for first in (0..bags.len()).step_by(T::LANES) {
            block.load(self, bags, first, features);
            block.add_documents(self, bags, first, features, T::one(), gradient.parts_mut());
            for _ in 0..steps {
                block.step(self, noise)?;
            }
            block.add_states(self, -T::one(), gradient.parts_mut());
        }
        Ok(())
    }
}
