use std::{convert::Infallible, error::Error, fmt};

use countgrid_classify::ClassifyError;
use countgrid_corpus::{CorpusError, memory::format_bytes};
use countgrid_counts::BagsError;
use countgrid_em::{FitError, OptionError, ReductionError, TablesError};
use countgrid_grid::GridError;
use countgrid_gtm::GtmError;
use countgrid_harmonium::HarmoniumError;
use countgrid_hmm::HmmError;
use countgrid_io::{ModelError, ModelProblem};
use countgrid_lda::LdaError;
use countgrid_torus::ShapeError;

use crate::{
    CheckpointError, FeatureError, FeatureKind, HarmoniumOptionError, ModelFileError, TopographicOptionError,
    layout::format_sides,
};

/// Why a model was not fitted, loaded or used.
///
/// ```
/// use countgrid_estimators::EstimatorError;
/// let error = EstimatorError::WindowTooLarge { extents: vec![4, 4], window: vec![2, 5], axis: 1 };
/// let said = "the window 2x5 is larger than the grid 4x4: 5 cells on axis 1, where the grid has 4";
/// assert_eq!(error.to_string(), said);
/// ```
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum EstimatorError {
    /// The data could not be read.
    Corpus(CorpusError),
    /// A setting of the iterations was refused.
    Option(OptionError),
    /// A counting grid, or its options, were refused; or counts are too large for it.
    Grid(GridError),
    /// The same of latent Dirichlet allocation.
    Lda(LdaError),
    /// The same of a hidden Markov model.
    Hmm(HmmError),
    /// The same of a topographic map.
    Gtm(GtmError),
    /// The same of a harmonium.
    Harmonium(HarmoniumError),
    /// Options of a topographic map were refused.
    Topographic(TopographicOptionError),
    /// Options of a harmonium were refused.
    HarmoniumOption(HarmoniumOptionError),
    /// Features of a dual wing could not be read, or do not go with the documents.
    Features(FeatureError),
    /// Labels could not be compared.
    Classify(ClassifyError),
    /// A free energy is not finite.
    Fit(FitError<Infallible>),
    /// A grid that cannot be shown on a page.
    #[cfg(feature = "pages")]
    Page(countgrid_map::PageError),
    /// A page that is that of another model.
    OtherModel,
    /// A model file could not be read or written.
    File(ModelError),
    /// A model that cannot be a file.
    ModelBytes(ModelProblem),
    /// A file that was read holds no such model.
    Model(ModelFileError),
    /// A checkpoint is that of another training.
    Checkpoint(CheckpointError),
    /// States, documents and sums of a distributed training do not go together.
    #[cfg(feature = "serde")]
    Distributed(crate::DistributedError),
    /// Counts that are all zero, or whose sum is not finite.
    Tokens { tokens: f64 },
    /// Counts whose sum could leave the range of the model's numbers.
    TooManyTokens { tokens: f64, most: f64 },
    /// No axis, or more than [`crate::AXES`].
    Axes { found: usize },
    /// A window of another number of axes than its grid.
    WindowAxes { extents: Vec<usize>, window: Vec<usize> },
    /// A window that is larger than its grid.
    WindowTooLarge { extents: Vec<usize>, window: Vec<usize>, axis: usize },
    /// Coordinates of another number than the grid has axes.
    Coordinates { extents: Vec<usize>, found: usize },
    /// A mini-batch without data.
    EmptyMiniBatch,
    /// A grid that does not fit into memory; `needed` and `available` in bytes.
    GridMemory { extents: Vec<usize>, features: usize, needed: u128, available: Option<u128> },
    /// Tables that do not fit into memory.
    Memory { elements: usize },
    /// A grid whose tables on a microcontroller could not be addressed.
    TableTooLarge,
    /// Sequences of different lengths, where features are taken position by position.
    SequenceLength { sequence: usize, longest: usize },
    /// Features that this kind of model does not have.
    NoFeatures { kind: FeatureKind },
    /// Features that a model does not have for a datum, with the reason.
    Gradient { problem: String },
    /// A share of a label at a cell that is not from 0 to 1; without a label the sum of all, which is not 1.
    LabelShare { label: Option<usize>, cell: usize, share: f64 },
    /// A label that is there twice.
    DuplicateLabel { name: String },
    /// No document to fit to.
    NoDocuments,
    /// A training that has failed before.
    Failed,
    /// A [`countgrid_em::Stop`] was requested: the work that was under way is left out, and what was done before is as it was.
    Stopped,
}

impl fmt::Display for EstimatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corpus(error) => error.fmt(f),
            Self::Option(error) => error.fmt(f),
            Self::Grid(error) => error.fmt(f),
            Self::Lda(error) => error.fmt(f),
            Self::Hmm(error) => error.fmt(f),
            Self::Gtm(error) => error.fmt(f),
            Self::Harmonium(error) => error.fmt(f),
            Self::Topographic(error) => error.fmt(f),
            Self::HarmoniumOption(error) => error.fmt(f),
            Self::Features(error) => error.fmt(f),
            Self::Classify(error) => error.fmt(f),
            Self::Fit(error) => error.fmt(f),
            #[cfg(feature = "pages")]
            Self::Page(error) => error.fmt(f),
            Self::OtherModel => {
                f.write_str("the page is that of another model, by the checksum among its facts")
            }
            Self::File(error) => error.fmt(f),
            Self::ModelBytes(error) => error.fmt(f),
            Self::Model(error) => error.fmt(f),
            Self::Checkpoint(error) => error.fmt(f),
            #[cfg(feature = "serde")]
            Self::Distributed(error) => error.fmt(f),
            Self::Tokens { tokens } => write!(
                f,
                "the counts add up to {tokens}; a fit needs some tokens, and a finite number of them"
            ),
            Self::TooManyTokens { tokens, most } => {
                write!(
                    f,
                    "the counts add up to {tokens:e}; in this precision no more than {most:e} can be added up"
                )
            }
            Self::Axes { found } => {
                write!(f, "{found} axes, at least 1 and at most {} are possible", crate::AXES)
            }
            Self::WindowAxes { extents, window } => write!(
                f,
                "the window {} has {} axes, the grid {} has {}",
                format_sides(window),
                window.len(),
                format_sides(extents),
                extents.len()
            ),
            Self::WindowTooLarge { extents, window, axis } => write!(
                f,
                "the window {} is larger than the grid {}: {} cells on axis {axis}, where the grid has {}",
                format_sides(window),
                format_sides(extents),
                window.get(*axis).unwrap_or(&0),
                extents.get(*axis).unwrap_or(&0)
            ),
            Self::Coordinates { extents, found } => write!(
                f,
                "a place of {found} coordinates, the grid {} has {} axes",
                format_sides(extents),
                extents.len()
            ),
            Self::EmptyMiniBatch => f.write_str("a mini-batch without documents"),
            Self::GridMemory { extents, features, needed, available } => {
                let (extents, needed) = (format_sides(extents), format_bytes(*needed));
                write!(f, "a grid of {extents} with {features} words needs {needed} of memory")?;
                match available {
                    Some(available) => write!(f, ", and {} are free", format_bytes(*available)),
                    None => Ok(()),
                }
            }
            Self::Memory { elements } => write!(f, "{elements} numbers do not fit into memory"),
            Self::TableTooLarge => f.write_str("the table cannot be addressed"),
            Self::SequenceLength { sequence, longest } => write!(
                f,
                "sequence {} has another length than the longest, {longest}; terms by position take equal lengths",
                sequence.saturating_add(1)
            ),
            Self::NoFeatures { kind } => write!(f, "the model has no features {kind:?}"),
            Self::Gradient { problem } => f.write_str(problem),
            Self::LabelShare { label: Some(label), cell, share } => {
                write!(f, "the share of label {label} at cell {cell} is {share:e}, and should be from 0 to 1")
            }
            Self::LabelShare { label: None, cell, share } => {
                write!(f, "the shares of the labels at cell {cell} sum to {share:e}, and should to 1")
            }
            Self::DuplicateLabel { name } => write!(f, "the label `{name}` is there twice"),
            Self::NoDocuments => f.write_str("there is no document to learn from"),
            Self::Failed => f.write_str("the training has failed before"),
            Self::Stopped => f.write_str("stopped before the end, as was requested"),
        }
    }
}

impl Error for EstimatorError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // `Display` shows the error itself.
        match self {
            Self::Corpus(error) => error.source(),
            Self::File(error) => error.source(),
            _ => None,
        }
    }
}

impl<E> From<countgrid_scores::FeatureError<E>> for EstimatorError
where
    Self: From<E>,
    countgrid_scores::FeatureError<E>: fmt::Display,
{
    fn from(error: countgrid_scores::FeatureError<E>) -> Self {
        match error {
            countgrid_scores::FeatureError::Model(error) => error.into(),
            error => Self::Gradient { problem: error.to_string() },
        }
    }
}

macro_rules! from {
    ($($variant:ident($error:ty))*) => {$(
        impl From<$error> for EstimatorError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}
from! {
    Corpus(CorpusError) Option(OptionError) Grid(GridError) Lda(LdaError) Hmm(HmmError) Gtm(GtmError)
    Harmonium(HarmoniumError) Topographic(TopographicOptionError) HarmoniumOption(HarmoniumOptionError)
    Features(FeatureError) Classify(ClassifyError) File(ModelError) ModelBytes(ModelProblem)
    Model(ModelFileError) Checkpoint(CheckpointError)
}

#[cfg(feature = "serde")]
impl From<crate::DistributedError> for EstimatorError {
    fn from(error: crate::DistributedError) -> Self {
        Self::Distributed(error)
    }
}

#[cfg(feature = "pages")]
impl From<countgrid_map::PageError> for EstimatorError {
    fn from(error: countgrid_map::PageError) -> Self {
        Self::Page(error)
    }
}

impl From<BagsError> for EstimatorError {
    fn from(error: BagsError) -> Self {
        Self::Corpus(error.into())
    }
}

impl From<ShapeError> for EstimatorError {
    fn from(error: ShapeError) -> Self {
        Self::Grid(error.into())
    }
}

impl From<TablesError> for EstimatorError {
    fn from(error: TablesError) -> Self {
        Self::Checkpoint(CheckpointError::Tables(error))
    }
}

impl From<ReductionError> for EstimatorError {
    fn from(error: ReductionError) -> Self {
        match error {
            ReductionError::Memory { elements } => Self::Memory { elements },
            _ => Self::Failed, // blocks that are in order, of one shape
        }
    }
}

impl From<FitError<EstimatorError>> for EstimatorError {
    fn from(error: FitError<EstimatorError>) -> Self {
        error.into_model().unwrap_or_else(Self::Fit)
    }
}
