//! Hidden Markov models of sequences of symbols.

use countgrid_counts::{Sequence, SequencesBuf};
use countgrid_em::{BlockStatistics, EmOptions, Fit, FreeEnergy, Learn, Stop, Tables};
use countgrid_hmm::{Grouping, Hmm, HmmError, Learner, Posterior, Shape, Statistics, Terms};
use countgrid_io::ModelFile;
use countgrid_math::AlignedVec;
use countgrid_scores::{fess, nfess};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::{
    DataDigest, Estimator, EstimatorError, FeatureKind, FeatureRows, FitSummary, Gradients, InitialPhase,
    ModelFileError, ModelInfo, NoMiniBatches, Schedule, Stage,
    blocks::{expectation_by_leaves, shared_items, zeros},
    model_file::{TableReader, named_table},
};

/// Start, transitions and emissions, in double precision.
pub type HmmParameters = Hmm<f64, AlignedVec<f64>>;
type HmmStatistics = BlockStatistics<Statistics<f64, AlignedVec<f64>>>;

/// Sequences for each thread that are looked at together.
const CHUNK: usize = 16;
/// And so many symbols in all, if sequences are long, so that their posteriors take some megabytes for each state.
const CHUNK_LEN: usize = 1 << 17;

/// How a hidden Markov model is fitted to sequences of symbols.
///
/// ```
/// use std::ops::ControlFlow;
/// use countgrid_counts::SequencesBuf;
/// use countgrid_estimators::{HmmOptions, HmmTraining, Train};
///
/// let mut sequences = SequencesBuf::new(2);
/// for _ in 0..5 {
///     sequences.push([0u16, 0, 0, 1, 1, 1]).unwrap();
/// }
/// let options = HmmOptions { states: 2, restarts: 3, ..HmmOptions::default() };
/// let mut training = HmmTraining::new(options.check(&sequences)?, &sequences)?;
/// training.run(|_| ControlFlow::Continue(()))?;
/// let model = training.finish()?;
/// assert!(model.score(&sequences)?[0] < 6.0 * 2_f64.ln()); // better than coins
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct HmmOptions {
    /// Number of states, at least 1.
    pub states: usize,
    /// The most iterations.
    pub iterations: usize,
    /// The fit ends once two iterations in a row change the objective by no more than this share of it, the second by no
    /// more than the first. Finite, not negative.
    pub tolerance: f64,
    /// Seed of the random numbers: the same seed gives the same bits.
    pub seed: u64,
    /// Random starts of which the best is kept, at least 1.
    pub restarts: usize,
    /// Pseudocount of every parameter. Finite, not negative.
    pub pseudocount: f64,
}

impl Default for HmmOptions {
    /// 4 states, at most 60 iterations, a tolerance of 1e-5, the seed 1, one start, a pseudocount of 0.1.
    fn default() -> Self {
        Self { states: 4, iterations: 60, tolerance: 1e-5, seed: 1, restarts: 1, pseudocount: 0.1 }
    }
}

impl HmmOptions {
    /// The plan of a fit to these sequences.
    ///
    /// # Errors
    /// [`EstimatorError::Option`] for tolerance and restarts; [`EstimatorError::Hmm`] for states and the pseudocount;
    /// [`EstimatorError::Tokens`] for sequences without a symbol.
    pub fn check(&self, sequences: &SequencesBuf<u16>) -> Result<HmmPlan, EstimatorError> {
        let em = EmOptions { iterations: self.iterations, tolerance: self.tolerance }.check()?;
        countgrid_em::Restarts::new(self.restarts, self.seed)?;
        let sequences = sequences.as_view();
        let shape = Shape::new(self.states, sequences.symbols())?;
        Learner::new((), self.pseudocount)?;
        let positions = sequences.positions();
        if positions == 0 {
            return Err(EstimatorError::Tokens { tokens: 0.0 });
        }
        let stage = Stage { extents: vec![self.states], initial_phase: InitialPhase::Plain, em, work: 1.0 };
        let schedule = Schedule { seed: self.seed, restarts: self.restarts, stages: vec![stage] };
        let (number, longest) = (sequences.len(), sequences.longest());
        Ok(HmmPlan { options: self.clone(), number, positions, longest, shape, schedule })
    }
}

/// [`HmmOptions`], checked against what is fitted to.
#[derive(Clone, Debug)]
pub struct HmmPlan {
    options: HmmOptions,
    number: usize,    // of sequences
    positions: usize, // symbols of all sequences
    longest: usize,
    shape: Shape,
    schedule: Schedule,
}

/// A training of a [`FittedHmm`].
pub type HmmTraining<D> = crate::Training<HmmPlan, D>;

/// A hidden Markov model that is being fitted to sequences, [`countgrid_em::BLOCK_BAGS`] of them in each leaf of the tree in which
/// statistics are added up.
///
/// Example: [`HmmOptions`](crate::HmmOptions).
#[derive(Clone, Debug)]
pub struct HmmLearner(Learner<HmmParameters>);

impl Learn for HmmLearner {
    type Statistics = HmmStatistics;
    type Error = EstimatorError;

    fn maximization(&mut self, statistics: &mut HmmStatistics) -> Result<(), EstimatorError> {
        Ok(self.0.maximization(statistics.sums_mut())?)
    }

    fn penalty(&self) -> f64 {
        self.0.penalty()
    }
}

impl Fit<SequencesBuf<u16>> for HmmLearner {
    fn expectation(
        &self,
        sequences: &SequencesBuf<u16>,
        statistics: &mut HmmStatistics,
    ) -> Result<f64, EstimatorError> {
        let sequences = sequences.as_view();
        expectation_by_leaves(&self.0, sequences.len(), |leaf| sequences.slice(leaf), statistics)
    }
}

impl HmmPlan {
    fn learner(&self, hmm: HmmParameters) -> Result<(HmmLearner, HmmStatistics), EstimatorError> {
        let learner = Learner::new(hmm, self.options.pseudocount)?;
        let chunk = shared_items(CHUNK, self.number).min(CHUNK_LEN / self.longest.max(1)).max(1);
        let statistics = Statistics::with_chunk(self.shape, self.longest, chunk)?;
        Ok((HmmLearner(learner), BlockStatistics::new(statistics)))
    }
}

impl Estimator for HmmPlan {
    const KIND: &'static str = "hidden Markov model";
    type Data = SequencesBuf<u16>;
    type Scalar = f64;
    type Parameters = HmmParameters;
    type Statistics = HmmStatistics;
    type Learner = HmmLearner;
    type Pass = NoMiniBatches;
    type Fitted = FittedHmm;

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn tokens(&self) -> f64 {
        self.positions as f64
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        let HmmOptions { states, iterations, tolerance, seed, restarts, pseudocount } = self.options;
        vec![
            ("states", states.to_string()),
            ("iterations", iterations.to_string()),
            ("tolerance", format!("{tolerance:?}")),
            ("seed", seed.to_string()),
            ("restarts", restarts.to_string()),
            ("pseudocount", format!("{pseudocount:?}")),
        ]
    }

    fn digest(&self, sequences: &SequencesBuf<u16>) -> Result<DataDigest, EstimatorError> {
        let sequences = sequences.as_view();
        let mut digest = DataDigest::new(sequences.symbols());
        sequences.iter().for_each(|sequence| digest.add(sequence.entries().iter().map(|&x| u64::from(x))));
        Ok(digest)
    }

    fn start(
        &self,
        _: &SequencesBuf<u16>,
        _: usize,
        _: Option<HmmLearner>,
        rng: &mut ChaCha8Rng,
    ) -> Result<(HmmLearner, HmmStatistics), EstimatorError> {
        let mut hmm = HmmParameters::uniform(self.shape)?;
        hmm.randomize(rng);
        self.learner(hmm)
    }

    fn restore(
        &self,
        _: &SequencesBuf<u16>,
        _: usize,
        parameters: &[f64],
    ) -> Result<(HmmLearner, HmmStatistics), EstimatorError> {
        self.learner(hmm_from(self.shape, parameters)?)
    }

    fn parameters<'a>(&self, learner: &'a HmmLearner) -> &'a HmmParameters {
        learner.0.model()
    }

    fn set_stop(&self, statistics: &mut HmmStatistics, stop: &Stop) {
        statistics.set_stop(stop);
    }

    fn finish(&self, learner: HmmLearner, summary: FitSummary) -> Result<FittedHmm, EstimatorError> {
        let HmmOptions { states, tolerance, seed, restarts, pseudocount, .. } = self.options;
        let fit = json!({
            "sequences": self.number, "symbols": self.positions, "states": states,
            "iterations": summary.iterations, "end": summary.end_reason(),
            "bound_per_token": summary.bound_per_token, "pseudocount": pseudocount, "seed": seed,
            "restarts": restarts, "restart": summary.restart + 1, "tolerance": tolerance,
        });
        let info = ModelInfo { fit, ..ModelInfo::default() };
        Ok(FittedHmm { info, hmm: learner.0.into_model(), summary: Some(summary) })
    }
}

fn hmm_from(shape: Shape, tables: &[f64]) -> Result<HmmParameters, EstimatorError> {
    let (expected, found) = (shape.hmm_len(), tables.len());
    if expected != found {
        return Err(HmmError::Length { table: "hmm", expected, found }.into());
    }
    let mut storage =
        AlignedVec::zeroed(expected).map_err(|_| EstimatorError::Memory { elements: expected })?;
    storage.copy_from_slice(tables);
    Ok(Hmm::new(shape, storage)?)
}

/// A fitted hidden Markov model.
///
/// Example: [`HmmOptions`](crate::HmmOptions).
#[derive(Clone, Debug)]
pub struct FittedHmm {
    /// Title, symbols as the vocabulary, and how it was fitted.
    pub info: ModelInfo,
    hmm: HmmParameters,
    summary: Option<FitSummary>,
}

impl FittedHmm {
    /// What the text `kind` of a model file is.
    pub const KIND: &'static str = "hidden Markov model";

    /// A model of `countgrid-hmm` with any storage, fitted elsewhere, with its description:
    /// [`ModelInfo::for_vocabulary`] if only its symbols are known.
    ///
    /// # Errors
    /// [`EstimatorError::Model`] unless there is a name for each symbol; [`EstimatorError::Hmm`] without memory for a copy.
    pub fn from_hmm<S: AsRef<[f64]>>(info: ModelInfo, hmm: &Hmm<f64, S>) -> Result<Self, EstimatorError> {
        info.check(hmm.shape().symbols())?;
        Ok(Self { info, hmm: hmm_from(*hmm.shape(), hmm.buffer())?, summary: None })
    }

    /// The parameters: `start` `[state]`, `trans` `[from][to]` and `emit` `[symbol][state]`.
    #[must_use]
    pub fn hmm(&self) -> &HmmParameters {
        &self.hmm
    }

    /// How the training ended; `None` if the model was loaded.
    #[must_use]
    pub fn summary(&self) -> Option<&FitSummary> {
        self.summary.as_ref()
    }

    /// `-log p` of each sequence in nats; infinite if it is impossible.
    ///
    /// # Errors
    /// [`EstimatorError::Hmm`] for sequences over another alphabet.
    pub fn score(&self, sequences: &SequencesBuf<u16>) -> Result<Vec<f64>, EstimatorError> {
        let mut scratch = zeros(self.hmm.shape().likelihood_scratch_len::<f64>())?;
        let mut free_energy =
            |sequence: Sequence<'_, u16>| match self.hmm.log_likelihood(&sequence, &mut scratch) {
                Ok(log_p) => Ok(-log_p),
                Err(HmmError::Impossible { .. }) => Ok(f64::INFINITY),
                Err(error) => Err(error.into()),
            };
        sequences.as_view().iter().map(&mut free_energy).collect()
    }

    /// Features of every sequence: terms of the free energy by position and state ([`FeatureKind::Fess`], of sequences of one
    /// length),
    /// their mean over positions ([`FeatureKind::Nfess`]), or gradients ([`FeatureKind::Fisher`]).
    ///
    /// # Errors
    /// [`EstimatorError::SequenceLength`]; [`EstimatorError::Hmm`] for a sequence that is impossible;
    /// [`EstimatorError::NoFeatures`] for other features.
    pub fn features(
        &self,
        kind: FeatureKind,
        sequences: &SequencesBuf<u16>,
    ) -> Result<FeatureRows, EstimatorError> {
        let grouping = match kind {
            FeatureKind::Fisher => return gradients(&Gradients::Fisher(&self.hmm), sequences),
            FeatureKind::Fess => Grouping::Position,
            FeatureKind::Nfess => Grouping::Summed,
            _ => return Err(EstimatorError::NoFeatures { kind }),
        };
        let sequences = sequences.as_view();
        let terms = Terms::new(&self.hmm, Posterior::Exact, grouping);
        let longest = sequences.longest();
        if kind == FeatureKind::Fess
            && let Some(sequence) = sequences.iter().position(|sequence| sequence.len() != longest)
        {
            return Err(EstimatorError::SequenceLength { sequence, longest });
        }
        let demanding = sequences.iter().max_by_key(|sequence| sequence.len());
        let columns = demanding.map_or(0, |sequence| terms.term_count(&sequence));
        let mut rows = FeatureRows::zeros(sequences.len(), columns)?;
        let mut scratch = zeros(demanding.map_or(0, |sequence| terms.scratch_len(&sequence)))?;
        for (place, sequence) in sequences.iter().enumerate() {
            let row = rows.row_mut(place);
            match kind {
                FeatureKind::Nfess => nfess(&terms, &sequence, row, &mut scratch)?,
                _ => fess(&terms, &sequence, row, &mut scratch)?,
            };
        }
        Ok(rows)
    }

    /// Tangent vectors of the posterior log-odds of two models (Tsuda et al. 2002).
    ///
    /// # Errors
    /// Those of [`FittedHmm::features`].
    pub fn tangents(
        models: [&Self; 2],
        log_odds: f64,
        sequences: &SequencesBuf<u16>,
    ) -> Result<FeatureRows, EstimatorError> {
        gradients(&Gradients::Top { models: models.map(Self::hmm), log_odds }, sequences)
    }

    /// The tables `start` `[state]`, `trans` `[state, state]` and `emit` `[symbol, state]`, with the texts of
    /// [`ModelInfo::write`].
    #[must_use]
    pub fn to_file(&self) -> ModelFile {
        let ((start, trans, emit), shape) = (self.hmm.tables(), self.hmm.shape());
        let states = shape.states();
        let mut file = ModelFile {
            tables: vec![
                named_table("start", vec![states], start),
                named_table("trans", vec![states, states], trans),
                named_table("emit", vec![shape.symbols(), states], emit),
            ],
            ..ModelFile::default()
        };
        self.info.write(Self::KIND, &mut file);
        file
    }

    /// What [`FittedHmm::to_file`] has made.
    ///
    /// # Errors
    /// [`EstimatorError::Model`].
    pub fn from_file(file: ModelFile) -> Result<Self, EstimatorError> {
        let mut tables = TableReader::new(file, Self::KIND)?;
        let [symbols, states] = tables.matrix("emit")?;
        let mut all = tables.take::<f64>("start", &[states])?;
        all.extend(tables.take::<f64>("trans", &[states, states])?);
        all.extend(tables.take::<f64>("emit", &[symbols, states])?);
        let info = tables.info(symbols)?;
        tables.finish(&[])?;
        let numbers = |problem: String| ModelFileError::Numbers { problem };
        let shape = Shape::new(states, symbols).map_err(|error| numbers(error.to_string()))?;
        let hmm = hmm_from(shape, &all).map_err(|error| numbers(error.to_string()))?;
        Ok(Self { info, hmm, summary: None })
    }
}

/// Gradients in start, transitions and emissions.
fn gradients(
    gradients: &Gradients<'_, HmmParameters>,
    sequences: &SequencesBuf<u16>,
) -> Result<FeatureRows, EstimatorError> {
    let sequences = sequences.as_view();
    let longest = sequences.iter().max_by_key(|sequence| sequence.len());
    let (mut rows, mut scratch) = gradients.rows(sequences.len(), longest.as_ref())?;
    for (place, sequence) in sequences.iter().enumerate() {
        gradients.gradient(&sequence, rows.row_mut(place), &mut scratch)?;
    }
    Ok(rows)
}
