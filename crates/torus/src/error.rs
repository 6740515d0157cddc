use core::fmt;

/// Why a shape, or a slice meant to have it, was refused.
///
/// Example: [`Torus::neighbours`](crate::Torus::neighbours).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum ShapeError {
    /// `extents[axis] == 0`.
    EmptyAxis { axis: usize },
    /// `sides[axis] == 0`.
    EmptyWindow { axis: usize },
    /// `sides[axis] > extents[axis]`: the window would hold cells twice.
    WindowTooLarge { axis: usize, side: usize, extent: usize },
    /// The product of the extents exceeds `isize::MAX`.
    TooManyCells,
    /// No axes at all, or more than there can be.
    Axes { most: usize, found: usize },
    /// A slice does not hold one element per cell.
    Length { table: &'static str, expected: usize, found: usize },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EmptyAxis { axis } => write!(f, "axis {axis} has no cells"),
            Self::EmptyWindow { axis } => write!(f, "the window has side 0 along axis {axis}"),
            Self::WindowTooLarge { axis, side, extent } => {
                write!(f, "the window has side {side} along axis {axis}, which has {extent} cells")
            }
            Self::Axes { most, found } => write!(f, "{found} axes, needs 1 to {most}"),
            Self::TooManyCells => f.write_str("more cells than can be addressed"),
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
        }
    }
}

impl core::error::Error for ShapeError {}

impl ShapeError {
    /// The reason without its numbers, which a compiler cannot format; for [`constant!`](crate::constant).
    #[doc(hidden)]
    #[must_use]
    pub const fn constant_reason(&self) -> &'static str {
        match self {
            Self::EmptyAxis { .. } => "an axis has no cells",
            Self::EmptyWindow { .. } => "the window has side 0 along an axis",
            Self::WindowTooLarge { .. } => "a window is longer than its axis",
            Self::TooManyCells => "more cells than can be addressed",
            Self::Axes { .. } => "no axis, or more than there can be",
            Self::Length { .. } => "a slice of another length than its table",
        }
    }
}
