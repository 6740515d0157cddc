use core::fmt;

use countgrid_math::Real;

/// Why features or matrices were refused.
///
/// Example: [`fess`](crate::fess).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum ScoreError {
    /// A slice does not have the length that the others ask for.
    Length { table: &'static str, expected: usize, found: usize },
    /// A table that is not made of whole rows.
    Rows { table: &'static str, columns: usize, found: usize },
    /// Rows of no columns, or no rows.
    Empty { table: &'static str },
    /// An entry that is not finite, or negative where that makes no sense.
    Entry { table: &'static str, row: usize, column: usize },
    /// The length of a datum is negative or not finite.
    DatumLength,
    /// A width of the Gaussian kernel that is not a positive number.
    Gamma,
}

impl fmt::Display for ScoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
            Self::Rows { table, columns, found } => {
                write!(f, "`{table}` has {found} elements, needs whole rows of {columns}")
            }
            Self::Empty { table } => {
                write!(f, "`{table}` has no rows or no columns, needs one of each at least")
            }
            Self::Entry { table, row, column } => {
                write!(f, "`{table}` has no usable number in row {row}, column {column}; needs a finite one")
            }
            Self::DatumLength => {
                f.write_str("the length of a datum is not usable; needs to be finite and not negative")
            }
            Self::Gamma => f.write_str("the gamma of a Gaussian kernel is a positive number"),
        }
    }
}

impl core::error::Error for ScoreError {}

/// Why a datum has no features.
///
/// Example: [`spread_rows`](crate::spread_rows).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum FeatureError<E> {
    /// The model refused the datum.
    Model(E),
    /// The model of this class refused the datum.
    ClassModel { class: usize, error: E },
    /// A slice of another length, or a feature that is too large for the float type.
    Score(ScoreError),
}

impl<E: fmt::Display> fmt::Display for FeatureError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::ClassModel { class, error } => write!(f, "model of class {class}: {error}"),
            Self::Score(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for FeatureError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // `Display` shows the error itself
            Self::Model(error) | Self::ClassModel { error, .. } => error.source(),
            Self::Score(_) => None,
        }
    }
}

impl<E> FeatureError<E> {
    /// The model's error, whichever class it is of; `Err` is everything else.
    ///
    /// # Errors
    /// What was refused, if it was not by a model.
    pub fn into_model(self) -> Result<E, ScoreError> {
        match self {
            Self::Model(error) | Self::ClassModel { error, .. } => Ok(error),
            Self::Score(error) => Err(error),
        }
    }
}

impl<E> From<ScoreError> for FeatureError<E> {
    fn from(error: ScoreError) -> Self {
        Self::Score(error)
    }
}

/// Checks that features are finite.
pub(crate) fn finite<T: Real>(table: &'static str, features: &[T]) -> Result<(), ScoreError> {
    match features.iter().position(|x| !x.is_finite()) {
        Some(column) => Err(ScoreError::Entry { table, row: 0, column }),
        None => Ok(()),
    }
}

/// Checks a slice that is meant to have one length.
pub(crate) fn same_length(table: &'static str, expected: usize, found: usize) -> Result<(), ScoreError> {
    if expected == found { Ok(()) } else { Err(ScoreError::Length { table, expected, found }) }
}

/// Number of rows of a table.
pub(crate) fn rows_of(table: &'static str, columns: usize, found: usize) -> Result<usize, ScoreError> {
    if columns == 0 {
        return Err(ScoreError::Empty { table });
    }
    if !found.is_multiple_of(columns) {
        return Err(ScoreError::Rows { table, columns, found });
    }
    Ok(found / columns)
}
