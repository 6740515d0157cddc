//! Latent Dirichlet allocation: fits, posteriors, and the terms of free energies.

use countgrid_em::{EmOptions, FreeEnergy, Tables, no_observer};
use countgrid_lda::{Concentration, Grouping, Inference, Lda, Learner, Options, Shape, Statistics, Terms};
use countgrid_math::Real;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    bags::{BAGS, Data, FEATURES},
    report::{Digest, Failure, Report, first, name},
};

/// One more than a row of lanes, so that sums have a rest.
const TOPICS: usize = 17;
const TABLE: usize = TOPICS * (FEATURES + 1);
const SCRATCH: usize = 1024;

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    cases::<f32>(report)?;
    cases::<f64>(report)
}

fn cases<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    let learned =
        Options { smoothing: 0.1, concentration: Concentration::Symmetric, inference: Inference::default() };
    fitted::<T>(report, "smooth, alpha learned", learned, |lda, _| {
        lda.randomize(&mut ChaCha8Rng::seed_from_u64(8));
        Ok(())
    })?;
    fitted::<T>(report, "from documents", Options::default(), |lda, data| {
        Ok(lda.seed(&data.bags()?, 2, &mut ChaCha8Rng::seed_from_u64(9))?)
    })
}

fn fitted<T: Real>(
    report: &mut Report<'_>,
    what: &str,
    options: Options,
    start: impl FnOnce(&mut Lda<T, &mut [T]>, &Data) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (shape, data) = (Shape::new(TOPICS, FEATURES)?, Data::new());
    let (mut table, mut sums, mut scratch) = ([T::zero(); TABLE], [T::zero(); TABLE], [T::zero(); SCRATCH]);
    let mut lda = Lda::uniform_in(shape, &mut table[..], 0.05)?;
    start(&mut lda, &data)?;
    let mut learner = Learner::new(lda, options)?;
    let sums = first(&mut sums, shape.sums_len())?;
    let mut statistics = Statistics::new(shape, sums, first(&mut scratch, shape.scratch_len(5))?)?;
    let plan = EmOptions { iterations: 6, ..EmOptions::default() }.check()?;
    let outcome = plan.fit(&mut learner, &data.bags()?, &mut statistics, no_observer)?;
    report.tables(format_args!("topics, {what} {}", name::<T>()), &learner);
    report.tables(format_args!("sums of topics, {what} {}", name::<T>()), &statistics);

    let (mut digest, model) = (Digest::new(), learner.lda());
    digest.add(&[outcome.objective]);
    let mut room = [T::zero(); SCRATCH];
    for bag in 0..BAGS {
        let bags = data.bags()?;
        let posterior = model.posterior(&bags, bag, Inference::default(), &mut room)?;
        digest.add(posterior.gamma());
        digest.add(&[posterior.bound()]);
        digest.add_integer(posterior.sweeps() as u64);
    }
    report.digest(format_args!("posteriors of topics, {what} {}", name::<T>()), digest);

    let (mut digest, mut terms) = (Digest::new(), [T::zero(); 4 * TOPICS + TABLE]);
    let constant = Lda::new(shape, Tables::buffer(model))?; // as flash holds it
    let features = Terms::new(&constant, Inference::default(), Grouping::Word);
    for bag in 0..BAGS {
        let bag = data.bag(bag)?;
        let terms = first(&mut terms, features.term_count(&bag))?;
        digest.add(&[features.free_energy_terms(&bag, terms, &mut room)?]);
        digest.add(terms);
    }
    report.digest(format_args!("free energies of topics, {what} {}", name::<T>()), digest);
    Ok(())
}
