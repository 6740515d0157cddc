//! A Gaussian-Bernoulli harmonium, learned by contrastive divergence where it is used, and what it infers.

use countgrid_counts::Bag;
use countgrid_em::TablesMutExt;
use countgrid_harmonium::{Draws, Gradient, Harmonium, Rates, Shape, constant};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    bags::{FEATURES, bags},
    error::Error,
    say,
};

const TOPICS: usize = 2;
const SHAPE: Shape = constant!(Shape::words(FEATURES, TOPICS));
const STEPS: usize = 40;
/// The most tokens of a word in a document: word counts are binomial.
const SIZE: u32 = 5;

/// Learns the harmonium and prints `E[h | x]` of documents.
pub(crate) fn all() -> Result<(), Error> {
    let (bags, mut draws) = (bags()?, Draws::new(ChaCha8Rng::seed_from_u64(1)));
    let mut scratch = [0.0f32; SHAPE.gibbs_scratch_len::<f32>()];
    let (mut tables, mut sums) = ([0.0; SHAPE.model_len()], [0.0; SHAPE.gradient_len()]);
    let mut model = Harmonium::start(SHAPE, tables.as_mut_slice(), SIZE, 0.05, &mut draws, &mut scratch)?;
    let mut gradient = Gradient::new(SHAPE, sums.as_mut_slice())?;
    for _ in 0..STEPS {
        gradient.clear();
        model.contrastive_divergence(&bags, &[], 1, &mut gradient, &mut draws, &mut scratch)?;
        model.ascend(&gradient, Rates { biases: 0.02, couplings: 0.005 }, &mut scratch)?;
    }
    say!("harmonium of {} topics, {} steps of contrastive divergence", TOPICS, STEPS);
    let documents: [(&[u32], &[u16]); 4] =
        [(&[0, 1, 4], &[2, 1, 1]), (&[6, 7, 9], &[1, 3, 1]), (&[12, 13], &[4, 2]), (&[], &[])];
    for (number, (words, counts)) in documents.into_iter().enumerate() {
        let mut topics = [0.0; TOPICS];
        model.topics_of_words(&Bag::new(FEATURES, words, counts)?, 0, &mut topics, &mut scratch)?;
        say!("  document {}: topics {:.4?}", number, topics);
    }
    Ok(())
}
