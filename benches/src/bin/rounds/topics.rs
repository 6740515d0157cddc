//! Latent Dirichlet allocation on the present bags.

use std::{error::Error, path::Path};

use countgrid_benches::{Seconds, arrays::save, timed};
use countgrid_counts::{Bags, BagsWithColumns};
use countgrid_em::{Fit, Learn, TablesMut, TablesMutExt};
use countgrid_lda::{Lda, Learner, Options, Shape, Statistics};
use countgrid_math::AlignedVec;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Documents that are inferred before their counts are added up.
const CHUNK: usize = 64;

/// A fit that goes on from command to command.
pub(crate) struct Topics {
    learner: Learner<f32, AlignedVec<f32>>,
    sums: Statistics<f32, AlignedVec<f32>>,
}

impl Topics {
    /// With `alpha` and smoothing of `1 / K`.
    pub(crate) fn start(
        bags: &BagsWithColumns<f32>,
        seed: u64,
        topics: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let shape = Shape::new(topics, bags.features())?;
        let mut lda = Lda::uniform(shape, 1.0 / topics as f64)?;
        lda.randomize(&mut ChaCha8Rng::seed_from_u64(seed));
        let learner = Learner::new(lda, Options { smoothing: 1.0 / topics as f64, ..Options::default() })?;
        Ok(Self { learner, sums: Statistics::allocate(shape, CHUNK)? })
    }

    /// One iteration; the bound, in nats, of the parameters before it.
    pub(crate) fn iterate(&mut self, bags: &BagsWithColumns<f32>) -> Result<(f64, Seconds), Box<dyn Error>> {
        let (free_energy, seconds) = timed(|| {
            self.sums.clear();
            let free_energy = self.learner.expectation(bags, &mut self.sums)?;
            self.learner.maximization(&mut self.sums)?;
            Ok::<f64, Box<dyn Error>>(free_energy)
        });
        Ok((-free_energy?, seconds))
    }

    /// One iteration, taken back.
    pub(crate) fn time(&mut self, bags: &BagsWithColumns<f32>) -> Result<(f64, Seconds), Box<dyn Error>> {
        let before = AlignedVec::from_slice(countgrid_em::Tables::buffer(&self.learner))?;
        let result = self.iterate(bags);
        self.learner.buffer_mut().copy_from_slice(&before);
        result
    }

    /// The topics that the last iteration used up, as what is added to the prior: `counts.npy` `[topic][feature]`.
    pub(crate) fn save(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        let (shape, counts) = (*self.sums.shape(), self.sums.counts());
        let (topics, features) = (shape.topics(), shape.features());
        let by_topic = (0..topics).flat_map(|k| counts.iter().skip(k).step_by(topics).copied());
        Ok(save(&folder.join("topics.npy"), &[topics, features], by_topic)?)
    }
}
