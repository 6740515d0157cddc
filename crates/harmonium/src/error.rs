use core::fmt;

/// Why a harmonium, a table, a batch or a step was refused.
///
/// Example: [`effective_sample_size`](crate::effective_sample_size).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum HarmoniumError {
    /// No words, no topics, or a dual wing without features.
    Empty { what: &'static str },
    /// More parameters than can be addressed.
    TooLarge { words: usize, topics: usize, features: usize },
    /// A slice has another length.
    Length { table: &'static str, expected: usize, found: usize },
    /// A slice of scratch is too short.
    Scratch { expected: usize, found: usize },
    /// A parameter that is not finite.
    NotFinite { table: &'static str, index: usize },
    /// A binomial size that is not a whole number from 1 to 2²⁰.
    Size { index: usize },
    /// A variance that is not finite and above zero.
    Variance { index: usize },
    /// `I - Uᵀ diag(s) U` is not positive definite: the dual wing has no normaliser.
    NotPositiveDefinite,
    /// Documents over another number of words.
    Words { expected: usize, found: usize },
    /// A count that the model cannot produce: above its binomial size, or no whole number.
    Count { document: usize, word: usize },
    /// A document that the data set does not have.
    NoSuchDocument { document: usize, documents: usize },
    /// No document, chain or sample at all.
    Nothing { what: &'static str },
    /// The computation exists for other wings only.
    Wings { needs: &'static str },
    /// Two models, or a model and its gradient, of different shapes.
    ShapeMismatch,
    /// More states than an enumeration visits.
    TooManyStates { limit: u64 },
    /// The coupled chains have not met within so many sweeps.
    NotCoalesced { sweeps: usize },
    /// A setting out of its range.
    Setting { name: &'static str },
    /// A step has left the finite numbers: `step` is the step size, or the learning rate, that did it.
    Diverged { table: &'static str, step: f64 },
    /// A Poisson rate beyond 2²⁰, as in a chain that runs away.
    Rate { word: usize },
}

impl fmt::Display for HarmoniumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty { what } => write!(f, "a harmonium needs at least one of its {what}"),
            Self::TooLarge { words, topics, features } => {
                write!(
                    f,
                    "{words} words and {features} features by {topics} topics are more than memory holds"
                )
            }
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
            Self::Scratch { expected, found } => {
                write!(f, "the scratch has {found} elements, needs at least {expected}")
            }
            Self::NotFinite { table, index } => write!(f, "`{table}` is not finite at {index}"),
            Self::Size { index } => {
                write!(f, "the binomial size at {index} needs to be a whole number from 1 to 2^20")
            }
            Self::Variance { index } => {
                write!(f, "the variance at {index} needs to be finite and above zero")
            }
            Self::NotPositiveDefinite => f.write_str(
                "I - U' diag(s) U is not positive definite: the dual wing has no normaliser; make U or s smaller",
            ),
            Self::Words { expected, found } => {
                write!(f, "the documents have {found} words, the model has {expected}")
            }
            Self::Count { document, word } => write!(
                f,
                "the count of word {word} in document {document} is above its binomial size, or no whole number"
            ),
            Self::NoSuchDocument { document, documents } => {
                write!(f, "document {document} of {documents} (they are numbered from 0)")
            }
            Self::Nothing { what } => write!(f, "at least one of the {what} is needed"),
            Self::Wings { needs } => write!(f, "this is for {needs} only"),
            Self::ShapeMismatch => f.write_str("the tables belong to a model of another shape"),
            Self::TooManyStates { limit } => {
                write!(f, "more than {limit} states to enumerate; estimate by annealed importance sampling")
            }
            Self::NotCoalesced { sweeps } => write!(
                f,
                "the coupled chains have not met within {sweeps} sweeps: couplings are strong, or the cap is low"
            ),
            Self::Setting { name } => write!(f, "the setting `{name}` is out of its range"),
            Self::Diverged { table, step } => write!(
                f,
                "a step of size {step} has driven `{table}` out of the finite numbers: take a smaller one"
            ),
            Self::Rate { word } => {
                write!(f, "the Poisson rate of word {word} is beyond 2^20: the chain runs away")
            }
        }
    }
}

impl core::error::Error for HarmoniumError {}

impl HarmoniumError {
    /// The reason of a shape that was refused, for [`constant!`](crate::constant).
    #[doc(hidden)]
    #[must_use]
    pub const fn constant_reason(&self) -> &'static str {
        match self {
            Self::Empty { .. } => "no words, no topics, or a dual wing without features",
            Self::TooLarge { .. } => "the tables are more than can be addressed",
            _ => "this is no shape",
        }
    }
}

/// Checks a slice that is meant to have one length.
pub(crate) fn same_length(table: &'static str, expected: usize, found: usize) -> Result<(), HarmoniumError> {
    if expected == found { Ok(()) } else { Err(HarmoniumError::Length { table, expected, found }) }
}

/// The first so many elements of a scratch, and the rest.
pub(crate) fn take<T>(scratch: &mut [T], len: usize) -> Result<(&mut [T], &mut [T]), HarmoniumError> {
    let found = scratch.len();
    scratch.split_at_mut_checked(len).ok_or(HarmoniumError::Scratch { expected: len, found })
}
