use core::fmt;

/// Why a box filter, or its input, was refused. Lengths are in elements.
///
/// Example: [`BoxFilter::variances`](crate::BoxFilter::variances).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum FilterError {
    /// The window has no cells along an axis.
    EmptySide { axis: usize },
    /// A side, an offset or an extent is above `isize::MAX / 4`, or a product of extents above `isize::MAX`.
    TooLarge,
    /// A slice does not hold the table that is said to lie in it.
    Length { needed: usize, found: usize },
    /// Two cells of a table to be written would share an element.
    Overlap,
    /// The table that is written has other extents or another number of channels than the one that is read.
    Shape,
    /// The scratch is shorter than it must be. Longer is fine.
    Scratch { needed: usize, found: usize },
    /// `cells` values of the largest magnitude in the table, `magnitude`, might not fit the type that they are added
    /// up in.
    Overflow { cells: u64, magnitude: u64 },
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EmptySide { axis } => write!(f, "the window has no cells along axis {axis}"),
            Self::TooLarge => f.write_str("sides, offsets or extents are too large"),
            Self::Length { needed, found } => {
                write!(f, "the slice has {found} elements, the table needs {needed}")
            }
            Self::Overlap => f.write_str("cells of the table to be written share elements"),
            Self::Shape => f.write_str("the two tables differ in extents or channels"),
            Self::Scratch { needed, found } => {
                write!(f, "the scratch has {found} elements, needs at least {needed}")
            }
            Self::Overflow { cells, magnitude } => {
                write!(f, "{cells} values of up to {magnitude} may not fit the type of the sums")
            }
        }
    }
}

impl core::error::Error for FilterError {}
