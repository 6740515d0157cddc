//! Hidden Markov models as models that labels are told with.

use countgrid_counts::{Sequence, SequencesBuf};
use countgrid_em::{EmOptions, FreeEnergy, Restarts, no_observer};
use countgrid_hmm::{Grouping, Hmm, HmmError, Learner, Posterior, Shape, Statistics, Terms};
use countgrid_math::AlignedVec;
use countgrid_scores::{fess, nfess};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    args::{EvaluationArgs, Features},
    evaluation::features::{Gradients, Rows},
    failure::Failure,
    memory::zeros,
};

/// Start, transitions and emissions.
pub(crate) type Paths = Hmm<f64, AlignedVec<f64>>;

/// Pseudocount of every parameter, unless asked for otherwise.
const PSEUDOCOUNT: f64 = 0.1;

fn internal_error(error: HmmError) -> Failure {
    Failure::new(error, "this is a bug worth a report")
}

/// The best of several fits from random starts.
pub(crate) fn fitted(sequences: &SequencesBuf<u16>, args: &EvaluationArgs) -> Result<Paths, Failure> {
    let sequences = sequences.as_view();
    let shape = Shape::new(args.states, sequences.symbols())
        .map_err(|error| Failure::new(error, "take another number of --states"))?;
    let hmm = Hmm::uniform(shape).map_err(internal_error)?;
    let mut learner = Learner::new(hmm, args.fit.pseudocount.unwrap_or(PSEUDOCOUNT))
        .map_err(|error| Failure::new(error, "take a --pseudocount of at least 0"))?;
    let mut statistics = Statistics::allocate(shape, sequences.longest()).map_err(internal_error)?;
    let plan = EmOptions { iterations: args.fit.iterations, tolerance: args.fit.tolerance }
        .check()
        .map_err(|error| Failure::new(error, "take another --tolerance or --iterations"))?;
    let mut best = zeros(shape.hmm_len())?;
    Restarts::new(args.fit.restarts, args.fit.seed)
        .map_err(|error| Failure::new(error, "take --restarts of at least 1"))?
        .run(&mut learner, &mut best, |learner, restart| {
            learner.model_mut().randomize(&mut ChaCha8Rng::seed_from_u64(restart.seed));
            plan.fit(learner, &sequences, &mut statistics, no_observer)
        })
        .map_err(|error| Failure::new(error, "this is a bug worth a report"))?;
    Ok(learner.into_model())
}

/// `-log p` of each sequence; infinite if it is impossible.
pub(crate) fn free_energies(model: &Paths, sequences: &SequencesBuf<u16>) -> Result<Vec<f64>, Failure> {
    let mut scratch = zeros(model.shape().likelihood_scratch_len::<f64>())?;
    let mut of = |sequence: Sequence<'_, u16>| match model.log_likelihood(&sequence, &mut scratch) {
        Ok(log_p) => Ok(-log_p),
        Err(HmmError::Impossible { .. }) => Ok(f64::INFINITY),
        Err(error) => Err(internal_error(error)),
    };
    sequences.as_view().iter().map(&mut of).collect()
}

/// What paths say of each sequence.
pub(crate) fn features(
    kind: Features,
    model: &Paths,
    sequences: &SequencesBuf<u16>,
) -> Result<Rows, Failure> {
    let sequences = sequences.as_view();
    let grouping = if kind == Features::Nfess { Grouping::Summed } else { Grouping::Position };
    let terms = Terms::new(model, Posterior::Exact, grouping);
    let longest = sequences.longest();
    if kind == Features::Fess
        && let Some(place) = sequences.iter().position(|sequence| sequence.len() != longest)
    {
        return Err(Failure::new(
            format_args!(
                "sequence {} of a fold has another length than the longest, {longest}; terms by position take equal lengths",
                place + 1
            ),
            "take --features nfess",
        ));
    }
    let demanding = sequences.iter().max_by_key(|sequence| sequence.len());
    let mut rows = Rows::zeros(sequences.len(), demanding.map_or(0, |sequence| terms.term_count(&sequence)))?;
    let mut scratch = zeros(demanding.map_or(0, |sequence| terms.scratch_len(&sequence)))?;
    for (place, sequence) in sequences.iter().enumerate() {
        let row = rows.row_mut(place);
        match kind {
            Features::Nfess => nfess(&terms, &sequence, row, &mut scratch),
            _ => fess(&terms, &sequence, row, &mut scratch),
        }
        .map_err(|error| Failure::new(error, "take a --pseudocount above 0"))?;
    }
    Ok(rows)
}

/// Gradients in start, transitions and emissions.
pub(crate) fn gradients(
    gradients: Gradients<'_, Paths>,
    sequences: &SequencesBuf<u16>,
) -> Result<Rows, Failure> {
    let sequences = sequences.as_view();
    let longest = sequences.iter().max_by_key(|sequence| sequence.len());
    let (mut rows, mut scratch) = gradients.rows(sequences.len(), longest.as_ref())?;
    for (place, sequence) in sequences.iter().enumerate() {
        gradients.gradient(&sequence, rows.row_mut(place), &mut scratch)?;
    }
    Ok(rows)
}
