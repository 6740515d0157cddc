use core::fmt;

/// Why features or matrices were refused.
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
            Self::Gamma => f.write_str("the gamma of a Gaussian kernel is a positive number"),
        }
    }
}

impl core::error::Error for ScoreError {}

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
