//! Models of any kind from their files.

use countgrid_io::{ModelFile, TableData};

use crate::{EstimatorError, FittedGrid, FittedHmm, FittedLda, ModelInfo, model_file::kind_of};

/// A model as a file has it.
///
/// ```no_run
/// use countgrid_estimators::AnyModel;
/// let model = AnyModel::load("model.safetensors")?;
/// println!("{}, a {}", model.info().title, model.kind());
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyModel {
    /// A counting grid or a mixture in single precision.
    GridF32(Box<FittedGrid<f32>>),
    /// The same in double precision.
    GridF64(Box<FittedGrid<f64>>),
    /// Topics.
    Lda(Box<FittedLda>),
    /// A hidden Markov model.
    Hmm(Box<FittedHmm>),
}

impl AnyModel {
    /// The model in a file that was read.
    ///
    /// # Errors
    /// [`EstimatorError::Model`] for a file of an unknown kind, or that is not as one of its kind is written.
    pub fn from_file(file: ModelFile) -> Result<Self, EstimatorError> {
        Ok(match kind_of(&file)? {
            kind if kind == FittedLda::KIND => Self::Lda(Box::new(FittedLda::from_file(file)?)),
            kind if kind == FittedHmm::KIND => Self::Hmm(Box::new(FittedHmm::from_file(file)?)),
            // Of another kind, it says so.
            _ => match file.table("pi").map(|pi| &pi.data) {
                Some(TableData::F64(_)) => Self::GridF64(Box::new(FittedGrid::from_file(file)?)),
                _ => Self::GridF32(Box::new(FittedGrid::from_file(file)?)),
            },
        })
    }

    /// Reads a model of any kind.
    ///
    /// # Errors
    /// [`EstimatorError::File`]; those of [`AnyModel::from_file`].
    #[cfg(feature = "files")]
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, EstimatorError> {
        Self::from_file(countgrid_io::load(path)?)
    }

    /// The file of the model, as it was read.
    pub fn to_file(&self) -> ModelFile {
        match self {
            Self::GridF32(model) => model.to_file(),
            Self::GridF64(model) => model.to_file(),
            Self::Lda(model) => model.to_file(),
            Self::Hmm(model) => model.to_file(),
        }
    }

    /// What the text `kind` of its file is.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::GridF32(_) | Self::GridF64(_) => FittedGrid::<f32>::KIND,
            Self::Lda(_) => FittedLda::KIND,
            Self::Hmm(_) => FittedHmm::KIND,
        }
    }

    /// Title, vocabulary, and how it was fitted.
    pub fn info(&self) -> &ModelInfo {
        match self {
            Self::GridF32(model) => &model.info,
            Self::GridF64(model) => &model.info,
            Self::Lda(model) => &model.info,
            Self::Hmm(model) => &model.info,
        }
    }
}
