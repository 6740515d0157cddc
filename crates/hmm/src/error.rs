use core::fmt;

/// Why a model, a table or a sequence was refused.
///
/// Example: [`Hmm::left_to_right_in`](crate::Hmm::left_to_right_in).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum HmmError {
    /// A model of no states.
    NoStates,
    /// An alphabet of no symbols.
    NoSymbols,
    /// The tables have more elements than can be addressed, or than the allocator gives.
    TooLarge,
    /// A slice does not have the length its shape asks for.
    Length { table: &'static str, expected: usize, found: usize },
    /// A probability that is negative or not finite.
    Probability { table: &'static str, row: usize, column: usize },
    /// A distribution that does not sum to one: a row, or of the table `emit` a column.
    NotNormalised { table: &'static str, distribution: usize },
    /// Sequences over an alphabet of another size.
    Symbols { expected: usize, found: usize },
    /// Statistics of another shape.
    ShapeMismatch,
    /// The model gives the sequence no probability: none is left from this position on.
    Impossible { sequence: usize, position: usize },
    /// A pseudocount that is negative or not finite.
    Pseudocount,
}

impl fmt::Display for HmmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoStates => f.write_str("a hidden Markov model needs at least one state"),
            Self::NoSymbols => f.write_str("an alphabet needs at least one symbol"),
            Self::TooLarge => f.write_str("the tables are larger than memory"),
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
            Self::Probability { table, row, column } => {
                write!(f, "`{table}` is negative or not finite at row {row}, column {column}")
            }
            Self::NotNormalised { table, distribution } => {
                write!(f, "distribution {distribution} of `{table}` does not sum to one")
            }
            Self::Symbols { expected, found } => {
                write!(f, "the sequences are over {found} symbols, the model over {expected}")
            }
            Self::ShapeMismatch => f.write_str("the statistics belong to a model of another shape"),
            Self::Impossible { sequence, position } => {
                write!(f, "sequence {sequence} is impossible under the model from position {position} on")
            }
            Self::Pseudocount => f.write_str("a pseudocount is a finite number, at least 0"),
        }
    }
}

impl core::error::Error for HmmError {}

impl HmmError {
    /// The reason of a shape that was refused, for [`constant!`](crate::constant).
    #[doc(hidden)]
    #[must_use]
    pub const fn constant_reason(&self) -> &'static str {
        match self {
            Self::NoStates => "a hidden Markov model needs at least one state",
            Self::NoSymbols => "an alphabet needs at least one symbol",
            Self::TooLarge => "the tables are more than can be addressed",
            _ => "this is no shape",
        }
    }
}

/// Checks a slice that is meant to have one length.
pub(crate) fn same_length(table: &'static str, expected: usize, found: usize) -> Result<(), HmmError> {
    if expected == found { Ok(()) } else { Err(HmmError::Length { table, expected, found }) }
}

/// Checks a slice of scratch, which may be longer than needed.
pub(crate) fn long_enough(table: &'static str, expected: usize, found: usize) -> Result<(), HmmError> {
    if found >= expected { Ok(()) } else { Err(HmmError::Length { table, expected, found }) }
}
