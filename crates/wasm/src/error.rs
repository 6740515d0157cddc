use std::fmt;

/// What is wrong, where, and what is expected, as a message to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

macro_rules! from {
    ($($error:ty),+) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::new(error)
            }
        })+
    };
}

from!(
    countgrid_corpus::CorpusError,
    countgrid_counts::BagsError,
    countgrid_estimators::EstimatorError,
    countgrid_grid::GridError,
    countgrid_io::ModelProblem,
    countgrid_map::WriteError,
    countgrid_math::AllocationError
);

/// A JavaScript number as an integer.
///
/// # Errors
/// If it is not a whole number in range.
pub(crate) fn whole(name: &str, value: f64, least: u64, most: u64) -> Result<u64, Error> {
    // Up to 2^53 both ways are exact.
    if value.fract() == 0.0 && value >= least as f64 && value <= most as f64 {
        return Ok(value as u64);
    }
    Err(Error::new(format_args!("`{name}` is {value}, needs to be a whole number from {least} to {most}")))
}
