//! Latent Dirichlet allocation.

use std::{
    collections::{BTreeMap, BTreeSet},
    marker::PhantomData,
    sync::{Mutex, PoisonError},
};

use countgrid_corpus::{Blocks, Storable};
use countgrid_counts::{Bags, CsrBuf, SparseEntries};
use countgrid_em::{BlockStatistics, EmOptions, Stop, Tables};
use countgrid_io::ModelFile;
use countgrid_lda::{
    Concentration, Grouping, Inference, Lda, LdaError, Learner, Options, Shape, Statistics, Terms,
};
use countgrid_math::AlignedVec;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::{
    BagTotals, BlockLearner, BlockPass, DataDigest, Estimator, EstimatorError, FeatureKind, FeatureRows,
    FitSummary, Gradients, InitialPhase, ModelFileError, ModelInfo, Schedule, Stage, Stored, TopWord,
    blocks::{digest, zeros},
    features::{bag_gradients, bag_scores, each_row},
    model_file::{TableReader, named_table},
};

/// Topics and the Dirichlet parameter, in double precision.
pub type LdaParameters = Lda<f64, AlignedVec<f64>>;
type LdaStatistics = BlockStatistics<Statistics<f64, AlignedVec<f64>>>;
/// Topics that are being fitted to bags in blocks.
pub type LdaLearner = BlockLearner<Learner<f64, AlignedVec<f64>>>;

/// Documents that are inferred together.
const CHUNK: usize = 64;
/// Documents whose counts a topic begins as.
const SEEDS: usize = 3;

/// How topics are fitted to bags of counts.
///
/// ```
/// use countgrid_estimators::{BagTotals, EstimatorError, LdaOptions};
/// let totals = BagTotals { features: 100, bags: 50, non_empty: 50, tokens: 4_000.0 };
/// assert!(LdaOptions { topics: 5, ..LdaOptions::default() }.check::<f32>(totals).is_ok());
/// let refused = LdaOptions { smoothing: -1.0, ..LdaOptions::default() }.check::<f32>(totals);
/// assert!(matches!(refused, Err(EstimatorError::Lda(_))));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct LdaOptions {
    /// Number of topics, at least 1.
    pub topics: usize,
    /// The most iterations.
    pub iterations: usize,
    /// The fit ends once two iterations in a row change the objective by no more than this share of it, the second by no
    /// more than the first. Finite, not negative.
    pub tolerance: f64,
    /// Seed of the random numbers: the same seed gives the same bits.
    pub seed: u64,
    /// Random starts of which the best is kept, at least 1.
    pub restarts: usize,
    /// Pseudo-tokens of every feature in every topic. Finite, not negative.
    pub smoothing: f64,
    /// Whether a thread reads ahead the next block of bags that are in a file; results do not depend on it.
    pub read_ahead: bool,
}

impl Default for LdaOptions {
    /// 20 topics, at most 60 iterations, a tolerance of 1e-5, the seed 1, one start, a smoothing of 0.01.
    fn default() -> Self {
        Self {
            topics: 20,
            iterations: 60,
            tolerance: 1e-5,
            seed: 1,
            restarts: 1,
            smoothing: 0.01,
            read_ahead: true,
        }
    }
}

impl LdaOptions {
    /// The plan of a fit to bags of these totals.
    ///
    /// # Errors
    /// [`EstimatorError::Option`] for tolerance and restarts; [`EstimatorError::Lda`] for topics and smoothing;
    /// [`EstimatorError::Tokens`].
    pub fn check<C: Storable>(&self, totals: BagTotals) -> Result<LdaPlan<C>, EstimatorError> {
        let em = EmOptions { iterations: self.iterations, tolerance: self.tolerance }.check()?;
        countgrid_em::Restarts::new(self.restarts, self.seed)?;
        totals.check_for::<f64>()?;
        let shape = Shape::new(self.topics, totals.features)?;
        // Of one feature, so that invalid options are refused before anything is allocated.
        Learner::new(Lda::<f64, _>::uniform(Shape::new(1, 1)?, 1.0)?, self.model_options())?;
        let stage = Stage { extents: vec![self.topics], initial_phase: InitialPhase::Plain, em, work: 1.0 };
        let schedule = Schedule { seed: self.seed, restarts: self.restarts, stages: vec![stage] };
        Ok(LdaPlan { options: self.clone(), totals, shape, schedule, count: PhantomData })
    }

    fn model_options(&self) -> Options {
        Options { smoothing: self.smoothing, concentration: Concentration::Symmetric, ..Options::default() }
    }
}

/// [`LdaOptions`], checked against what is fitted to.
#[derive(Clone, Debug)]
pub struct LdaPlan<C> {
    options: LdaOptions,
    totals: BagTotals,
    shape: Shape,
    schedule: Schedule,
    count: PhantomData<C>,
}

/// A training of a [`FittedLda`].
pub type LdaTraining<C, D> = crate::Training<LdaPlan<C>, D>;

impl<C> LdaPlan<C> {
    fn learner(&self, lda: LdaParameters) -> Result<(LdaLearner, LdaStatistics), EstimatorError> {
        let learner = Learner::new(lda, self.options.model_options())?;
        let statistics = Statistics::allocate(self.shape, CHUNK)?;
        let learner = BlockLearner { learner, read_ahead: self.options.read_ahead };
        Ok((learner, BlockStatistics::new(statistics)))
    }
}

impl<C: Stored> Estimator for LdaPlan<C> {
    const KIND: &'static str = "latent Dirichlet allocation";
    type Data = Blocks<C>;
    type Scalar = f64;
    type Parameters = LdaParameters;
    type Statistics = LdaStatistics;
    type Learner = LdaLearner;
    type Pass = BlockPass<C>;
    type Fitted = FittedLda;

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn tokens(&self) -> f64 {
        self.totals.tokens
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        let LdaOptions { topics, iterations, tolerance, seed, restarts, smoothing, .. } = self.options;
        vec![
            ("topics", topics.to_string()),
            ("iterations", iterations.to_string()),
            ("tolerance", format!("{tolerance:?}")),
            ("seed", seed.to_string()),
            ("restarts", restarts.to_string()),
            ("smoothing", format!("{smoothing:?}")),
        ]
    }

    fn digest(&self, bags: &Blocks<C>) -> Result<DataDigest, EstimatorError> {
        digest(bags)
    }

    fn start(
        &self,
        bags: &Blocks<C>,
        _: usize,
        _: Option<LdaLearner>,
        rng: &mut ChaCha8Rng,
    ) -> Result<(LdaLearner, LdaStatistics), EstimatorError> {
        let mut lda = LdaParameters::uniform(self.shape, 1.0 / self.options.topics as f64)?;
        // Once to see which documents it draws, and once more with them.
        let mut loaded = LoadedBags::new(bags)?;
        lda.seed(&loaded, SEEDS, &mut rng.clone())?;
        loaded.load(bags)?;
        lda.seed(&loaded, SEEDS, rng)?;
        self.learner(lda)
    }

    fn restore(
        &self,
        _: &Blocks<C>,
        _: usize,
        parameters: &[f64],
    ) -> Result<(LdaLearner, LdaStatistics), EstimatorError> {
        self.learner(lda_from(self.shape, parameters)?)
    }

    fn parameters<'a>(&self, learner: &'a LdaLearner) -> &'a LdaParameters {
        learner.learner.lda()
    }

    fn set_stop(&self, statistics: &mut LdaStatistics, stop: &Stop) {
        statistics.set_stop(stop);
    }

    fn finish(&self, learner: LdaLearner, summary: FitSummary) -> Result<FittedLda, EstimatorError> {
        let LdaOptions { seed, restarts, smoothing, tolerance, topics, .. } = self.options;
        let fit = json!({
            "documents": self.totals.bags, "tokens": self.totals.tokens, "topics": topics,
            "iterations": summary.iterations, "end": summary.end_reason(),
            "bound_per_token": summary.bound_per_token, "smoothing": smoothing, "seed": seed,
            "restarts": restarts, "restart": summary.restart + 1, "tolerance": tolerance,
        });
        let info = ModelInfo { fit, ..ModelInfo::default() };
        Ok(FittedLda { info, lda: learner.learner.into_lda(), summary: Some(summary) })
    }
}

/// The bags of blocks of which only those asked for are loaded.
struct LoadedBags<'a, C> {
    all: &'a Blocks<C>,
    asked: Mutex<BTreeSet<usize>>,
    places: BTreeMap<usize, usize>, // of those that are loaded
    bags: CsrBuf<f64>,
}

impl<'a, C: Storable> LoadedBags<'a, C> {
    fn new(all: &'a Blocks<C>) -> Result<Self, EstimatorError> {
        let bags = CsrBuf::new(all.features()).map_err(countgrid_corpus::CorpusError::from)?;
        Ok(Self { all, asked: Mutex::default(), places: BTreeMap::new(), bags })
    }

    /// Loads those that were asked for so far.
    fn load(&mut self, all: &Blocks<C>) -> Result<(), EstimatorError> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        all.for_each_block(true, |first, block| {
            for &bag in asked.range(first..first + block.len()) {
                let entries = block.entries(bag - first).map(|(word, count)| (word, count.to_real::<f64>()));
                self.places.insert(bag, self.bags.len());
                self.bags.push_bag(entries)?;
            }
            Ok::<_, countgrid_corpus::CorpusError>(())
        })?;
        Ok(())
    }

    fn place(&self, bag: usize) -> usize {
        self.places.get(&bag).copied().unwrap_or(usize::MAX)
    }
}

impl<C: Storable> Bags for LoadedBags<'_, C> {
    type Count = f64;
    type Entries<'b>
        = SparseEntries<'b, f64>
    where
        Self: 'b;

    fn features(&self) -> usize {
        self.bags.features()
    }
    fn len(&self) -> usize {
        self.all.len()
    }
    fn entries(&self, bag: usize) -> SparseEntries<'_, f64> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(bag);
        self.bags.entries(self.place(bag))
    }
    fn total(&self, bag: usize) -> f64 {
        self.bags.total(self.place(bag)) // without asking for it
    }
}

fn lda_from(shape: Shape, tables: &[f64]) -> Result<LdaParameters, LdaError> {
    let (topics, features) = (shape.topics(), shape.features());
    let (expected, found) = (shape.model_len(), tables.len());
    if expected != found {
        return Err(LdaError::Length { table: "model", expected, found });
    }
    let mut storage = AlignedVec::zeroed(expected).map_err(|_| LdaError::TooLarge { topics, features })?;
    storage.copy_from_slice(tables);
    Lda::new(shape, storage)
}

/// Fitted topics.
///
/// Example: [`LdaOptions`](crate::LdaOptions).
#[derive(Clone, Debug)]
pub struct FittedLda {
    /// Title, vocabulary, and how they were fitted.
    pub info: ModelInfo,
    lda: LdaParameters,
    summary: Option<FitSummary>,
}

impl FittedLda {
    /// What the text `kind` of a model file is.
    pub const KIND: &'static str = "latent Dirichlet allocation";

    /// Topics of `countgrid-lda` with any storage, fitted elsewhere, with their description:
    /// [`ModelInfo::for_vocabulary`] if only their words are known.
    ///
    /// # Errors
    /// [`EstimatorError::Model`] unless there is a word for each feature; [`EstimatorError::Lda`] without memory for a copy.
    pub fn from_lda<S: AsRef<[f64]>>(info: ModelInfo, lda: &Lda<f64, S>) -> Result<Self, EstimatorError> {
        info.check(lda.shape().features())?;
        Ok(Self { info, lda: lda_from(*lda.shape(), lda.buffer())?, summary: None })
    }

    /// The parameters: `beta` `[feature][topic]` and `alpha` `[topic]`.
    #[must_use]
    pub fn lda(&self) -> &LdaParameters {
        &self.lda
    }

    /// How the training ended; `None` if the topics were loaded.
    #[must_use]
    pub fn summary(&self) -> Option<&FitSummary> {
        self.summary.as_ref()
    }

    /// The free energy of each bag in nats: minus the bound on its log evidence.
    ///
    /// # Errors
    /// [`EstimatorError::Lda`] for bags over another number of features or with counts too large.
    pub fn score<C: Storable>(&self, bags: &Blocks<C>) -> Result<Vec<f64>, EstimatorError> {
        let mut scratch = zeros(self.lda.shape().posterior_scratch_len())?;
        let mut free_energies = Vec::with_capacity(bags.len());
        bags.for_each_block(true, |_, block| {
            for bag in 0..block.len() {
                let posterior = self.lda.posterior(&block, bag, Inference::default(), &mut scratch)?;
                free_energies.push(-posterior.bound());
            }
            Ok::<_, EstimatorError>(())
        })?;
        Ok(free_energies)
    }

    /// The proportions of topics in every bag, `[bag][topic]`.
    ///
    /// # Errors
    /// Those of [`FittedLda::score`].
    pub fn transform<C: Storable>(&self, bags: &Blocks<C>) -> Result<FeatureRows, EstimatorError> {
        let mut scratch = zeros(self.lda.shape().posterior_scratch_len())?;
        each_row(bags, self.lda.shape().topics(), |bag, row| {
            let posterior = self.lda.posterior(bag, 0, Inference::default(), &mut scratch)?;
            Ok(posterior.proportions(row)?)
        })
    }

    /// Features of every bag under the topics.
    ///
    /// # Errors
    /// Those of [`FittedLda::score`]; [`EstimatorError::NoFeatures`] for features that only a grid has.
    pub fn features<C: Storable>(
        &self,
        kind: FeatureKind,
        bags: &Blocks<C>,
    ) -> Result<FeatureRows, EstimatorError> {
        let grouping = match kind {
            FeatureKind::Posterior => return self.transform(bags),
            FeatureKind::Fisher => return bag_gradients(&Gradients::Fisher(&self.lda), bags),
            FeatureKind::Fess | FeatureKind::Nfess => Grouping::Topic,
            FeatureKind::FessWords => Grouping::Word,
            FeatureKind::Spread | FeatureKind::FessSources => {
                return Err(EstimatorError::NoFeatures { kind });
            }
        };
        let terms = Terms::new(&self.lda, Inference::default(), grouping);
        bag_scores(&terms, bags, kind == FeatureKind::Nfess)
    }

    /// Tangent vectors of the posterior log-odds of two models (Tsuda et al. 2002).
    ///
    /// # Errors
    /// Those of [`FittedLda::score`].
    pub fn tangents<C: Storable>(
        models: [&Self; 2],
        log_odds: f64,
        bags: &Blocks<C>,
    ) -> Result<FeatureRows, EstimatorError> {
        bag_gradients(&Gradients::Top { models: models.map(Self::lda), log_odds }, bags)
    }

    /// The most probable words of a topic, of equals the first; no words if there is no such topic.
    #[must_use]
    pub fn top_words(&self, topic: usize, count: usize) -> Vec<TopWord> {
        let topics = self.lda.shape().topics();
        let column = self.lda.beta().chunks_exact(topics).map(|row| row.get(topic));
        let words = column.enumerate().filter_map(|(word, p)| Some(TopWord { word, probability: *p? }));
        TopWord::largest(words.collect(), count)
    }

    /// The tables `beta` `[feature, topic]` and `alpha` `[topic]`, with the texts of [`ModelInfo::write`].
    #[must_use]
    pub fn to_file(&self) -> ModelFile {
        let ((beta, alpha), shape) = (self.lda.tables(), self.lda.shape());
        let mut file = ModelFile {
            tables: vec![
                named_table("beta", vec![shape.features(), shape.topics()], beta),
                named_table("alpha", vec![shape.topics()], alpha),
            ],
            ..ModelFile::default()
        };
        self.info.write(Self::KIND, &mut file);
        file
    }

    /// What [`FittedLda::to_file`] has made.
    ///
    /// # Errors
    /// [`EstimatorError::Model`].
    pub fn from_file(file: ModelFile) -> Result<Self, EstimatorError> {
        let mut tables = TableReader::new(file, Self::KIND)?;
        let [features, topics] = tables.matrix("beta")?;
        let mut all = tables.take::<f64>("beta", &[features, topics])?;
        all.extend(tables.take::<f64>("alpha", &[topics])?);
        let info = tables.info(features)?;
        tables.finish(&[])?;
        let numbers = |error: LdaError| ModelFileError::Numbers { problem: error.to_string() };
        let shape = Shape::new(topics, features).map_err(numbers)?;
        Ok(Self { info, lda: lda_from(shape, &all).map_err(numbers)?, summary: None })
    }
}
