//! Models of any kind from their files.

use countgrid_io::{ModelFile, TableData};

use crate::{
    EstimatorError, FittedComponential, FittedGrid, FittedHarmonium, FittedHmm, FittedLda, FittedTopographic,
    ModelFileError, ModelInfo,
    model_file::{GRID, kind_of, type_of},
};

/// A model of any kind.
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
    /// A componential counting grid in single precision.
    ComponentialF32(Box<FittedComponential<f32>>),
    /// The same in double precision.
    ComponentialF64(Box<FittedComponential<f64>>),
    /// Topics.
    Lda(Box<FittedLda>),
    /// A hidden Markov model.
    Hmm(Box<FittedHmm>),
    /// A topographic map in single precision.
    TopographicF32(Box<FittedTopographic<f32>>),
    /// The same in double precision.
    TopographicF64(Box<FittedTopographic<f64>>),
    /// A harmonium in single precision.
    HarmoniumF32(Box<FittedHarmonium<f32>>),
    /// The same in double precision.
    HarmoniumF64(Box<FittedHarmonium<f64>>),
}

impl AnyModel {
    /// The model in a file that was read.
    ///
    /// # Errors
    /// [`EstimatorError::Model`] for a file of an unknown kind, or one that is not valid for its kind.
    pub fn from_file(file: ModelFile) -> Result<Self, EstimatorError> {
        let is_double = |name: &'static str| match file.table(name).map(|table| &table.data) {
            Some(TableData::F64(_)) => Ok(true),
            Some(TableData::F32(_)) => Ok(false),
            Some(other) => {
                let (name, expected, found) = (name.to_owned(), "F32 or F64", type_of(other));
                Err(ModelFileError::TableType { name, expected, found })
            }
            None => Err(ModelFileError::NoTable { name }),
        };
        Ok(match kind_of(&file)? {
            kind if kind == FittedLda::KIND => Self::Lda(Box::new(FittedLda::from_file(file)?)),
            kind if kind == FittedHmm::KIND => Self::Hmm(Box::new(FittedHmm::from_file(file)?)),
            kind if kind == FittedTopographic::<f32>::KIND => match is_double("weights")? {
                true => Self::TopographicF64(Box::new(FittedTopographic::from_file(file)?)),
                false => Self::TopographicF32(Box::new(FittedTopographic::from_file(file)?)),
            },
            kind if kind == FittedHarmonium::<f32>::KIND => match is_double("w")? {
                true => Self::HarmoniumF64(Box::new(FittedHarmonium::from_file(file)?)),
                false => Self::HarmoniumF32(Box::new(FittedHarmonium::from_file(file)?)),
            },
            kind if kind == FittedComponential::<f32>::KIND => match is_double("pi")? {
                true => Self::ComponentialF64(Box::new(FittedComponential::from_file(file)?)),
                false => Self::ComponentialF32(Box::new(FittedComponential::from_file(file)?)),
            },
            kind if kind == GRID => match is_double("pi")? {
                true => Self::GridF64(Box::new(FittedGrid::from_file(file)?)),
                false => Self::GridF32(Box::new(FittedGrid::from_file(file)?)),
            },
            found => return Err(ModelFileError::Kind { expected: GRID, found: found.to_owned() }.into()),
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
    #[must_use]
    pub fn to_file(&self) -> ModelFile {
        match self {
            Self::GridF32(model) => model.to_file(),
            Self::GridF64(model) => model.to_file(),
            Self::ComponentialF32(model) => model.to_file(),
            Self::ComponentialF64(model) => model.to_file(),
            Self::Lda(model) => model.to_file(),
            Self::Hmm(model) => model.to_file(),
            Self::TopographicF32(model) => model.to_file(),
            Self::TopographicF64(model) => model.to_file(),
            Self::HarmoniumF32(model) => model.to_file(),
            Self::HarmoniumF64(model) => model.to_file(),
        }
    }

    /// What the text `kind` of its file is.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::GridF32(_) | Self::GridF64(_) => FittedGrid::<f32>::KIND,
            Self::ComponentialF32(_) | Self::ComponentialF64(_) => FittedComponential::<f32>::KIND,
            Self::Lda(_) => FittedLda::KIND,
            Self::Hmm(_) => FittedHmm::KIND,
            Self::TopographicF32(_) | Self::TopographicF64(_) => FittedTopographic::<f32>::KIND,
            Self::HarmoniumF32(_) | Self::HarmoniumF64(_) => FittedHarmonium::<f32>::KIND,
        }
    }

    /// Title, vocabulary, and how it was fitted.
    #[must_use]
    pub fn info(&self) -> &ModelInfo {
        match self {
            Self::GridF32(model) => &model.info,
            Self::GridF64(model) => &model.info,
            Self::ComponentialF32(model) => &model.info,
            Self::ComponentialF64(model) => &model.info,
            Self::Lda(model) => &model.info,
            Self::Hmm(model) => &model.info,
            Self::TopographicF32(model) => &model.info,
            Self::TopographicF64(model) => &model.info,
            Self::HarmoniumF32(model) => &model.info,
            Self::HarmoniumF64(model) => &model.info,
        }
    }
}
