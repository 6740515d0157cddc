//! States of distributed trainings, as files that go round.

use countgrid_corpus::{Blocks, Corpus, LabelColumn, WordOptions};
use countgrid_em::BLOCK_BAGS;
use countgrid_io::ModelFile;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{DistributedError, DistributedTraining, FitLeaves, LeafDocuments, LeafSums, leaf_digests};
use crate::{
    BagTotals, CHECKPOINT_KIND, ComponentialOptions, ComponentialPlan, Estimator, EstimatorError,
    FittedComponential, FittedGrid, GridOptions, GridPlan, ModelInfo, Progress, Stored,
};

/// What is fitted, and how.
///
/// Example: [`DistributedStart`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DistributedOptions {
    /// A counting grid or a mixture.
    Grid(GridOptions),
    /// A componential counting grid.
    Componential(ComponentialOptions),
}

impl DistributedOptions {
    /// Without what is of the machine that a training is started on, so that the state is the same whichever that is.
    fn of_any_machine(&self) -> Self {
        let mut options = self.clone();
        let (Self::Grid(grid) | Self::Componential(ComponentialOptions { grid, .. })) = &mut options;
        grid.read_ahead = GridOptions::default().read_ahead;
        options
    }
}

/// What a distributed training starts from: what the documents are in numbers, and what the file of the model says besides tables.
///
/// ```
/// use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
/// use countgrid_estimators::{
///     DistributedOptions, DistributedStart, EstimatorError, GridOptions, LeafDocuments, LeafSums,
///     distributed::{finish, next_state, partial_sums, start},
/// };
///
/// let texts = ["Ants follow trails.", "Trails of red ants", "Red sky, red dust", "Dust in the sky"];
/// let corpus = Corpus::<f32>::from_texts(&texts, &CorpusOptions::default())?;
/// let grid = GridOptions { extents: Some(vec![4, 4]), window: Some(vec![2, 2]), ..GridOptions::default() };
/// let from = DistributedStart::of_corpus(&corpus, &corpus.name, &WordOptions::default())?;
/// let mut state = start::<f32>(&DistributedOptions::Grid(grid), &from)?;
///
/// let mut documents = Vec::new(); // one for each machine
/// LeafDocuments::split(&corpus.bags, &corpus.labels, 1, |part| {
///     documents.push(part.to_file()?);
///     Ok::<_, EstimatorError>(())
/// })?;
/// loop {
///     // Wherever the documents are:
///     let parts: Result<Vec<_>, _> = documents.iter().map(|own| partial_sums(&state, own.clone())).collect();
///     // In any order, in any groups:
///     let mut sums: Option<LeafSums<f32>> = None;
///     for part in parts? {
///         let part = LeafSums::from_file(part)?;
///         match &mut sums {
///             Some(sums) => sums.merge(part)?,
///             None => sums = Some(part),
///         }
///     }
///     // In one place:
///     let (next, progress, done) = next_state(&state, sums.ok_or(EstimatorError::NoDocuments)?.to_file())?;
///     assert!(progress.free_energy.is_some());
///     state = next;
///     if done {
///         break;
///     }
/// }
/// let model = finish(&state, documents.into_iter().map(Ok))?;
/// assert_eq!(model.metadata["kind"], "counting grid");
/// # Ok::<(), EstimatorError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DistributedStart {
    /// The documents in numbers.
    pub totals: BagTotals,
    /// The [digests](crate::leaf_digests) of all leaves, in order.
    pub digests: Vec<u64>,
    /// Title, vocabulary, and how texts became counts; in [`ModelInfo::fit`] the limits by which words were selected.
    pub info: ModelInfo,
    /// The labels, of which documents have numbers.
    pub labels: Vec<String>,
}

impl DistributedStart {
    /// That of a corpus which is here as a whole.
    ///
    /// # Errors
    /// Blocks that cannot be read.
    pub fn of_corpus<T: Stored>(
        corpus: &Corpus<T>,
        title: &str,
        words: &WordOptions,
    ) -> Result<Self, EstimatorError> {
        let mut info = ModelInfo::default();
        info.describe(title, corpus, words);
        let (totals, labels) = (BagTotals::from(corpus), corpus.labels.names.clone());
        Ok(Self { totals, digests: leaf_digests(&corpus.bags)?, info, labels })
    }
}

/// A plan that follows from options and totals, so that a state can have it.
///
/// Example: [`DistributedStart`].
pub trait DistributedPlan: Estimator<Data = Blocks<<Self as Estimator>::Scalar>> {
    /// Its options.
    type Options: DeserializeOwned;

    /// The plan.
    ///
    /// # Errors
    /// Those of the options.
    fn of(options: &Self::Options, totals: BagTotals) -> Result<Self, EstimatorError>
    where
        Self: Sized;

    /// The file of a fitted model with this description, and the labels of its documents if there are some.
    ///
    /// # Errors
    /// Those of an embedding of labels.
    fn file(
        fitted: Self::Fitted,
        info: ModelInfo,
        labels: Option<(LabelColumn, Blocks<Self::Scalar>)>,
    ) -> Result<ModelFile, EstimatorError>;
}

/// Takes all from a description but what a fit has found, and adds its limits to that.
fn describe(own: &mut ModelInfo, info: ModelInfo) {
    let fit = std::mem::take(&mut own.fit);
    *own = ModelInfo { fit, ..info.clone() };
    if let (Some(own), serde_json::Value::Object(limits)) = (own.fit.as_object_mut(), info.fit) {
        own.extend(limits);
    }
}

macro_rules! distributed_plan {
    ($plan:ident, $options:ty, $fitted:ident) => {
        impl<T: Stored> DistributedPlan for $plan<T> {
            type Options = $options;

            fn of(options: &$options, totals: BagTotals) -> Result<Self, EstimatorError> {
                options.check(totals)
            }

            fn file(
                mut fitted: $fitted<T>,
                info: ModelInfo,
                labels: Option<(LabelColumn, Blocks<T>)>,
            ) -> Result<ModelFile, EstimatorError> {
                describe(&mut fitted.info, info);
                if let Some((labels, bags)) = labels {
                    fitted.embed_labels(&labels, &bags)?;
                }
                Ok(fitted.to_file())
            }
        }
    };
}
distributed_plan!(GridPlan, GridOptions, FittedGrid);
distributed_plan!(ComponentialPlan, ComponentialOptions, FittedComponential);

/// Whether a file is of a kind.
pub(super) fn expect_kind(file: &ModelFile, expected: &'static str) -> Result<(), DistributedError> {
    match file.metadata.get("kind") {
        Some(kind) if kind == expected => Ok(()),
        kind => Err(DistributedError::Kind { expected, found: kind.cloned().unwrap_or_default() }),
    }
}

/// A text of a state that is JSON.
fn parsed<X: DeserializeOwned>(state: &ModelFile, name: &str) -> Result<X, EstimatorError> {
    let text = state.metadata.get(name).and_then(|text| serde_json::from_str(text).ok());
    text.ok_or_else(|| DistributedError::Text { name: name.to_owned() }.into())
}

/// The texts of a state that a checkpoint does not have.
const TEXTS: [&str; 9] = [
    "distributed.options",
    "distributed.totals",
    "distributed.leaves",
    "distributed.labels",
    "title",
    "text",
    "numbers",
    "fit",
    "vocabulary",
];

/// Does something with the plan of a state.
macro_rules! with_plan {
    ($state:expr, |$options:ident, $plan:ident, $scalar:ident| $work:expr) => {{
        expect_kind($state, CHECKPOINT_KIND)?;
        let double = $state.metadata.get("option.scalar").map(String::as_str) == Some(f64::NAME);
        match (parsed($state, "distributed.options")?, double) {
            (DistributedOptions::Grid($options), false) => {
                type $plan = GridPlan<f32>;
                type $scalar = f32;
                $work
            }
            (DistributedOptions::Grid($options), true) => {
                type $plan = GridPlan<f64>;
                type $scalar = f64;
                $work
            }
            (DistributedOptions::Componential($options), false) => {
                type $plan = ComponentialPlan<f32>;
                type $scalar = f32;
                $work
            }
            (DistributedOptions::Componential($options), true) => {
                type $plan = ComponentialPlan<f64>;
                type $scalar = f64;
                $work
            }
        }
    }};
}

/// The first state of a training, in this precision.
///
/// # Errors
/// Those of the options; [`DistributedError::MiniBatches`], [`DistributedError::Nothing`].
///
/// Example: [`DistributedStart`].
pub fn start<T: Stored>(
    options: &DistributedOptions,
    from: &DistributedStart,
) -> Result<ModelFile, EstimatorError> {
    T::start(options, from)
}

pub(crate) fn first_state<T: Stored>(
    options: &DistributedOptions,
    from: &DistributedStart,
) -> Result<ModelFile, EstimatorError> {
    let text = |name: &str| DistributedError::Text { name: name.to_owned() };
    let mut texts = ModelFile::default();
    from.info.write("", &mut texts);
    texts.metadata.retain(|name, _| TEXTS.contains(&name.as_str()));
    let json = serde_json::to_string(&options.of_any_machine()).map_err(|_| text("distributed.options"))?;
    texts.metadata.insert("distributed.options".to_owned(), json);
    let BagTotals { features, bags, non_empty, tokens } = from.totals;
    let totals = serde_json::json!([features, bags, non_empty, tokens]).to_string();
    texts.metadata.insert("distributed.totals".to_owned(), totals);
    texts.set_strings("distributed.leaves", from.digests.iter().map(|digest| format!("{digest:016x}")));
    texts.set_strings("distributed.labels", &from.labels);
    if from.digests.len() != bags.div_ceil(BLOCK_BAGS) {
        return Err(text("distributed.leaves").into());
    }
    match options {
        DistributedOptions::Grid(options) => begun(GridPlan::<T>::of(options, from.totals)?, from, texts),
        DistributedOptions::Componential(options) => {
            begun(ComponentialPlan::<T>::of(options, from.totals)?, from, texts)
        }
    }
}

fn begun<T: Stored, E: DistributedPlan<Scalar = T, Learner: FitLeaves<Blocks<T>>>>(
    plan: E,
    from: &DistributedStart,
    texts: ModelFile,
) -> Result<ModelFile, EstimatorError> {
    let training = DistributedTraining::new(plan, from.totals.features, &from.digests)?;
    let mut state = training.checkpoint()?;
    state.metadata.extend(texts.metadata);
    Ok(state)
}

fn totals(state: &ModelFile) -> Result<BagTotals, EstimatorError> {
    let (features, bags, non_empty, tokens) = parsed(state, "distributed.totals")?;
    Ok(BagTotals { features, bags, non_empty, tokens })
}

/// The training of a state.
fn resume<T: Stored, E: DistributedPlan<Scalar = T, Learner: FitLeaves<Blocks<T>>>>(
    options: &E::Options,
    state: &ModelFile,
) -> Result<DistributedTraining<E, Blocks<T>>, EstimatorError> {
    let totals = totals(state)?;
    let digests: Vec<String> = parsed(state, "distributed.leaves")?;
    let digests: Option<Vec<u64>> =
        digests.iter().map(|digits| u64::from_str_radix(digits, 16).ok()).collect();
    let digests = digests.filter(|digests| digests.len() == totals.bags.div_ceil(BLOCK_BAGS));
    let digests = digests.ok_or_else(|| DistributedError::Text { name: "distributed.leaves".to_owned() })?;
    DistributedTraining::resume(E::of(options, totals)?, totals.features, &digests, state.clone())
}

/// The sums of the documents in a file under the model of a state, as a file.
///
/// # Errors
/// Files of other kinds, or damaged ones; documents of another training; those of [`DistributedTraining::partial_sums`].
///
/// Example: [`DistributedStart`].
pub fn partial_sums(state: &ModelFile, documents: ModelFile) -> Result<ModelFile, EstimatorError> {
    with_plan!(state, |options, Plan, Scalar| {
        let mut training = resume::<Scalar, Plan>(&options, state)?;
        let documents = LeafDocuments::<Scalar>::from_file(documents)?;
        let sums = training.partial_sums(&documents.bags()?, documents.first_leaf(), &state.checksum()?)?;
        Ok(sums.to_file())
    })
}

/// The state after that of which these are the sums of all leaves, how the model was by them, and whether the training has ended.
///
/// # Errors
/// Files of other kinds, or damaged ones; sums under another state; those of [`DistributedTraining::step`].
///
/// Example: [`DistributedStart`].
pub fn next_state(state: &ModelFile, sums: ModelFile) -> Result<(ModelFile, Progress, bool), EstimatorError> {
    with_plan!(state, |options, Plan, Scalar| {
        let mut training = resume::<Scalar, Plan>(&options, state)?;
        let sums = LeafSums::<Scalar>::from_file(sums)?;
        let (expected, found) = (state.checksum()?, sums.state());
        if found != expected {
            return Err(DistributedError::State { expected, found: found.to_owned() }.into());
        }
        let progress = training.step(&sums)?;
        let mut next = training.checkpoint()?;
        let own = state.metadata.iter().filter(|(name, _)| TEXTS.contains(&name.as_str()));
        next.metadata.extend(own.map(|(name, text)| (name.clone(), text.clone())));
        Ok((next, progress, training.is_done()))
    })
}

/// The fitted model of a training that has ended, as a file. Documents are asked for only if they have labels, in the order of leaves:
/// their shares at each window are computed here.
///
/// # Errors
/// [`DistributedError::NotEnded`]; documents that are missing or of another training.
///
/// Example: [`DistributedStart`].
pub fn finish(
    state: &ModelFile,
    documents: impl IntoIterator<Item = Result<ModelFile, EstimatorError>>,
) -> Result<ModelFile, EstimatorError> {
    finish_from(state, &mut documents.into_iter())
}

/// Not generic, so that it is compiled here.
fn finish_from(
    state: &ModelFile,
    documents: &mut dyn Iterator<Item = Result<ModelFile, EstimatorError>>,
) -> Result<ModelFile, EstimatorError> {
    with_plan!(state, |options, Plan, Scalar| {
        let training = resume::<Scalar, Plan>(&options, state)?;
        if !training.is_done() {
            return Err(DistributedError::NotEnded.into());
        }
        let (info, names): (_, Vec<String>) = (ModelInfo::read(state)?, parsed(state, "distributed.labels")?);
        let totals = totals(state)?;
        let labels = match names.is_empty() || names.len() > totals.features {
            true => None,
            false => {
                let parts = documents.map(|file| LeafDocuments::<Scalar>::from_file(file?));
                let (bags, labels) = LeafDocuments::gather(parts, totals.features, names)?;
                training.check_documents(&bags, 0)?;
                let leaf = bags.len().div_ceil(BLOCK_BAGS);
                if bags.len() != totals.bags {
                    let leaves = totals.bags.div_ceil(BLOCK_BAGS);
                    return Err(DistributedError::Missing { leaf, leaves }.into());
                }
                Some((labels, bags))
            }
        };
        Plan::file(training.finish()?, info, labels)
    })
}
