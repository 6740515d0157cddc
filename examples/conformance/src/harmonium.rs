//! `countgrid-harmonium`: chains, contrastive divergence and Langevin steps of every kind of wing, inference, perfect draws,
//! `log Z`.

use countgrid_em::{FreeEnergy, TablesMutExt};
use countgrid_harmonium::{
    Chains, Draws, Gradient, Grouping, Harmonium, IsingModel, Prior, Rates, Shape, Terms, Uniforms,
};
use countgrid_math::Real;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    bags::{BAGS, Data, FEATURES},
    report::{Digest, Failure, Report, first, name},
};

const TOPICS: usize = 3;
const SIDE: usize = 2; // features of the dual wing
const ROOM: usize = 1024;

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    cases::<f32>(report)?;
    cases::<f64>(report)
}

fn cases<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    let words = Shape::words(FEATURES, TOPICS)?;
    learned::<T>(report, "binomial words", words, 32)?;
    learned::<T>(report, "dual wing", Shape::dual_wing(FEATURES, SIDE, TOPICS)?, 32)?;
    learned::<T>(report, "rate adapting", Shape::rate_adapting(FEATURES, TOPICS)?, 4)?;
    perfect::<T>(report)
}

fn learned<T: Real>(report: &mut Report<'_>, wings: &str, shape: Shape, size: u32) -> Result<(), Failure> {
    let (data, mut draws) = (Data::new(), Draws::new(ChaCha8Rng::seed_from_u64(5)));
    let bags = data.bags()?;
    let [mut tables, mut sums, mut scratch, mut states] = [[T::zero(); ROOM]; 4];
    let tables = first(&mut tables, shape.model_len())?;
    let spread = T::from_f64(0.05);
    let mut model = Harmonium::start(shape, tables, size, spread, &mut draws, &mut scratch)?;
    let mut gradient = Gradient::new(shape, first(&mut sums, shape.gradient_len())?)?;
    let mut features = [T::zero(); BAGS * SIDE];
    features.iter_mut().enumerate().for_each(|(at, z)| *z = T::from_f64((at % 7) as f64 / 7.0));
    let features = first(&mut features, BAGS * shape.features())?;
    for _ in 0..4 {
        gradient.clear();
        model.contrastive_divergence(&bags, features, 2, &mut gradient, &mut draws, &mut scratch)?;
        let rates = Rates { biases: 1e-3, couplings: 1e-5 };
        model.ascend(&gradient, rates, &mut scratch)?;
    }
    report.tables(format_args!("{wings}, contrastive divergence, {}", name::<T>()), &model);
    let [mut means, mut variances] = [[T::zero(); FEATURES + SIDE]; 2];
    variances.fill(T::from_f64(0.25));
    let prior = Prior::new(first(&mut means, shape.rows())?, first(&mut variances, shape.rows())?)?;
    model.langevin(&gradient, &prior, 1e-3, &mut draws, &mut scratch)?;
    report.tables(format_args!("{wings}, a Langevin step, {}", name::<T>()), &model);
    let mut chains = Chains::zeroed(shape, first(&mut states, 19 * shape.state_len())?)?;
    chains.sweep(&model, 3, &mut draws, &mut scratch)?;
    report.table(format_args!("{wings}, chains, {}", name::<T>()), chains.states());
    let (mut topics, mut digest) = ([T::zero(); TOPICS], Digest::new());
    for bag in 0..BAGS {
        model.topics_of_words(&bags, bag, &mut topics, &mut scratch)?;
        digest.add(&topics);
        if shape.features() == 0 {
            let mut terms = [T::zero(); TOPICS + 2];
            let model = Terms::new(&model, Grouping::Topic, 0.0)?;
            model.free_energy_terms(&data.bag(bag)?, &mut terms, &mut scratch)?;
            digest.add(&terms);
        }
    }
    report.digest(format_args!("{wings}, topics and terms, {}", name::<T>()), digest);
    let mut weights = [0.0; 20];
    let estimate = model.annealed_log_partition(10, &mut weights, &mut draws, &mut scratch)?;
    report.table(
        format_args!("{wings}, annealed log Z, {}", name::<T>()),
        &[estimate.log_partition, estimate.standard_error],
    );
    Ok(())
}

fn perfect<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    const WORDS: usize = 8;
    let (shape, mut draws) = (Shape::words(WORDS, TOPICS)?, Draws::new(ChaCha8Rng::seed_from_u64(6)));
    let [mut tables, mut scratch] = [[T::zero(); ROOM]; 2];
    let tables = first(&mut tables, shape.model_len())?;
    let model = Harmonium::start(shape, tables, 1, T::from_f64(0.3), &mut draws, &mut scratch)?;
    let ising = IsingModel::new(&model, [0.0; IsingModel::<()>::len(WORDS)])?;
    let (mut words, mut bounds, mut digest) = ([0; WORDS], [0.0; 3 * WORDS], Digest::new());
    for seed in 0..20 {
        let mut past = Uniforms::<ChaCha8Rng>::new(seed);
        let draw = ising.draw(|time, u| past.fill(time, u), 1 << 12, &mut words, &mut bounds)?;
        digest.add_integers(&words);
        digest.add_integer(draw.sweeps as u64);
    }
    report.digest(format_args!("perfect draws, {}", name::<T>()), digest);
    let log_partition = model.log_partition(&mut [0.0; 256])?;
    report.table(format_args!("enumerated log Z, {}", name::<T>()), &[log_partition]);
    Ok(())
}
