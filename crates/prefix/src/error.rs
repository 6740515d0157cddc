use core::fmt;

/// Why slices were refused. Lengths are in elements.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum LengthError {
    /// The table is not a whole number of rows of `cells` elements.
    Rows { cells: usize, found: usize },
    /// The table of sums is not as long as the table that is summed.
    Sums { expected: usize, found: usize },
    /// The scratch is shorter than it must be. Longer is fine.
    Scratch { needed: usize, found: usize },
    /// What was passed as the axes of one torus is a part of them, or a mixture.
    Axes,
}

impl fmt::Display for LengthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Rows { cells, found } => {
                write!(f, "the table has {found} elements, needs a multiple of {cells}")
            }
            Self::Sums { expected, found } => {
                write!(f, "the sums have {found} elements, need {expected}")
            }
            Self::Scratch { needed, found } => {
                write!(f, "the scratch has {found} elements, needs at least {needed}")
            }
            Self::Axes => f.write_str("not all axes of one torus, in their order"),
        }
    }
}

impl core::error::Error for LengthError {}
