//! Latent Dirichlet allocation as a model that labels are told with.

use countgrid_counts::{Bag, Bags};
use countgrid_em::{EmOptions, FreeEnergy, Restarts, no_observer};
use countgrid_lda::{
    Concentration, Grouping, Inference, Lda, LdaError, Learner, Options, Shape, Statistics, Terms,
};
use countgrid_math::{AlignedVec, Real};
use countgrid_scores::{FeatureError, fess, nfess};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    args::{EvaluationArgs, Features},
    evaluation::features::Rows,
    failure::Failure,
    model::Stored,
    store::Store,
};

/// Topics and the Dirichlet parameter.
pub(crate) type Topics = Lda<f64, AlignedVec<f64>>;

/// Documents that are inferred together.
const CHUNK: usize = 64;
/// Documents whose counts a topic begins as.
const SEEDS: usize = 3;
/// Pseudo-tokens of every word in every topic, unless asked for otherwise.
const SMOOTHING: f64 = 0.01;

fn internal_error(error: LdaError) -> Failure {
    Failure::new(error, "take counts that are not as large")
}

fn too_large(error: FeatureError<LdaError>) -> Failure {
    Failure::new(error, "take counts that are not as large")
}

/// The best of several fits from random starts.
pub(crate) fn fitted<T: Stored>(bags: &Store<T>, args: &EvaluationArgs) -> Result<Topics, Failure> {
    let bags = bags.gathered(Real::to_f64)?;
    let shape = Shape::new(args.topics, bags.features())
        .map_err(|error| Failure::new(error, "take another number of --topics"))?;
    let options = Options {
        smoothing: args.fit.pseudocount.unwrap_or(SMOOTHING),
        concentration: Concentration::Symmetric,
        ..Options::default()
    };
    let mut statistics = Statistics::allocate(shape, CHUNK).map_err(internal_error)?;
    let plan = EmOptions { iterations: args.fit.iterations, tolerance: args.fit.tolerance }
        .check()
        .map_err(|error| Failure::new(error, "take another --tolerance or --iterations"))?;
    let mut restarts = Restarts::new(args.fit.restarts, args.fit.seed)
        .map_err(|error| Failure::new(error, "take --restarts of at least 1"))?;
    let mut best = None;
    while let Some(restart) = restarts.next_restart() {
        let mut model = Topics::uniform(shape, 1.0 / args.topics as f64).map_err(internal_error)?;
        model.seed(&bags, SEEDS, &mut ChaCha8Rng::seed_from_u64(restart.seed)).map_err(internal_error)?;
        let mut learner = Learner::new(model, options)
            .map_err(|error| Failure::new(error, "take a --pseudocount of at least 0"))?;
        let outcome = plan
            .fit(&mut learner, &bags, &mut statistics, no_observer)
            .map_err(|error| Failure::new(error, "this is a bug worth a report"))?;
        if restarts.keep(&outcome) {
            best = Some(learner.into_lda());
        }
    }
    best.ok_or_else(|| Failure::new("no fit has ended", "this is a bug worth a report"))
}

/// Minus the bound of each document.
pub(crate) fn free_energies<T: Stored>(model: &Topics, bags: &Store<T>) -> Result<Vec<f64>, Failure> {
    let mut scratch = vec![0.0; model.shape().posterior_scratch_len()];
    let mut free_energies = Vec::with_capacity(bags.len());
    bags.each(false, |_, block| {
        for bag in 0..block.len() {
            let posterior = model.posterior(&block, bag, Inference::default(), &mut scratch);
            free_energies.push(-posterior.map_err(internal_error)?.bound());
        }
        Ok::<_, Failure>(())
    })?;
    Ok(free_energies)
}

/// What topics say of each document.
pub(crate) fn features<T: Stored>(kind: Features, model: &Topics, bags: &Store<T>) -> Result<Rows, Failure> {
    let grouping = if kind == Features::FessWords { Grouping::Word } else { Grouping::Topic };
    let terms = Terms::new(model, Inference::default(), grouping);
    let empty = Bag::<T>::empty(bags.features()); // every bag needs the same
    let columns = match kind {
        Features::Posterior => model.shape().topics(),
        _ => terms.term_count(&empty),
    };
    let mut rows = Rows::zeros(bags.len(), columns)?;
    let mut scratch = vec![0.0; terms.scratch_len(&empty)];
    bags.each(false, |first, block| {
        for bag in 0..block.len() {
            let row = rows.row_mut(first + bag);
            let document = block.bag(bag).unwrap_or(empty);
            match kind {
                Features::Posterior => {
                    let posterior = model.posterior(&document, 0, Inference::default(), &mut scratch);
                    posterior.and_then(|posterior| posterior.proportions(row)).map_err(internal_error)?;
                }
                Features::Nfess => {
                    nfess(&terms, &document, row, &mut scratch).map_err(too_large)?;
                }
                _ => {
                    fess(&terms, &document, row, &mut scratch).map_err(too_large)?;
                }
            }
        }
        Ok::<_, Failure>(())
    })?;
    Ok(rows)
}
