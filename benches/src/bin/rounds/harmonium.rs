//! A harmonium of Bernoulli words on the bags, without their multiplicities.

use std::error::Error;

use countgrid_benches::{Seconds, timed};
use countgrid_counts::{Bags, CsrBuf};
use countgrid_em::TablesMutExt;
use countgrid_harmonium::{Draws, Gradient, Harmonium, HarmoniumError, Rates, Shape};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Documents whose gradient makes one step.
const BATCH: usize = 100;

pub(crate) struct Learning {
    bags: CsrBuf<f32>,
    model: Harmonium<f32, Vec<f32>>,
    gradient: Gradient<f32, Vec<f32>>,
    draws: Draws<ChaCha8Rng>,
    gibbs: Vec<f32>,
    step: Vec<f32>,
}

impl Learning {
    /// Couplings from `N(0, 0.01²)`, biases 0.
    pub(crate) fn new(bags: &impl Bags, topics: usize) -> Result<Self, Box<dyn Error>> {
        let mut binary = CsrBuf::new(bags.features())?;
        for t in 0..bags.len() {
            binary.push_bag(bags.entries(t).map(|(feature, _)| (feature, 1.0)))?;
        }
        let (shape, mut draws) =
            (Shape::words(bags.features(), topics)?, Draws::new(ChaCha8Rng::seed_from_u64(1)));
        Ok(Self {
            bags: binary,
            model: Harmonium::allocate(shape, 1, 0.01, &mut draws)?,
            gradient: Gradient::allocate(shape)?,
            draws,
            gibbs: vec![0.0; shape.gibbs_scratch_len::<f32>()],
            step: vec![0.0; shape.step_scratch_len()],
        })
    }

    /// One pass of CD-1 over all documents, a step after each batch.
    pub(crate) fn epoch(&mut self) -> Result<Seconds, HarmoniumError> {
        let Self { bags, model, gradient, draws, gibbs, step } = self;
        let rates = Rates { biases: 0.01 / BATCH as f64, couplings: 0.001 / BATCH as f64 };
        let (result, seconds) = timed(|| {
            for first in (0..bags.len()).step_by(BATCH) {
                let Some(batch) = bags.as_view().slice(first..(first + BATCH).min(bags.len())) else {
                    continue;
                };
                gradient.clear();
                model.contrastive_divergence(&batch, &[], 1, gradient, draws, gibbs)?;
                model.ascend(gradient, rates, step)?;
            }
            Ok(())
        });
        result.map(|()| seconds)
    }
}
