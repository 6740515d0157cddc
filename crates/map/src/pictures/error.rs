use std::{error, fmt};

use crate::PageError;

/// Why a picture was not drawn.
///
/// Example: [`ScatterPlot`](crate::pictures::ScatterPlot).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum PictureError {
    /// A page that is not in order.
    Page(PageError),
    /// A point of a curve has an `x` that is not within 1e-30 and 1e30, a `y` that is not within -1e30 and 1e30, or an
    /// error that is not within 0 and 1e30.
    CurvePoint { curve: usize, point: usize },
    /// `sides[axis] == 0`.
    EmptyAxis { axis: usize },
    /// More cells than a page can draw, [`crate::MAX_CELLS`].
    TooManyCells { limit: usize },
    /// `relief` has elements, but not one for each cell.
    Relief { expected: usize, found: usize },
    /// A height is negative or not finite.
    Height { cell: usize },
    /// A point is not on the sheet.
    Place { point: usize },
    /// A point has a label that does not exist.
    Label { point: usize, label: u32, labels: usize },
    /// The drawing or encoding library failed; not expected of a picture in memory.
    Backend { message: String },
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page(error) => error.fmt(f),
            Self::CurvePoint { curve, point } => write!(
                f,
                "point {point} of curve {curve} cannot be drawn: x must be within 1e-30 and 1e30, y within -1e30 and \
                 1e30, the error within 0 and 1e30"
            ),
            Self::EmptyAxis { axis } => write!(f, "axis {axis} has no cells"),
            Self::TooManyCells { limit } => write!(f, "a picture shows at most {limit} cells"),
            Self::Relief { expected, found } => {
                write!(f, "`relief` has {found} elements, needs {expected} or none")
            }
            Self::Height { cell } => write!(f, "the height of cell {cell} is negative or not finite"),
            Self::Place { point } => write!(f, "point {point} has a place outside the sheet"),
            Self::Label { point, label, labels } => write!(f, "point {point} has label {label} of {labels}"),
            Self::Backend { message } => f.write_str(message),
        }
    }
}

impl error::Error for PictureError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_cannot_be_drawn() {
        for (error, text) in [
            (
                PictureError::Page(PageError::EmptyAxis { axis: 1 }),
                PageError::EmptyAxis { axis: 1 }.to_string(),
            ),
            (PictureError::Height { cell: 3 }, "the height of cell 3 is negative or not finite".to_owned()),
            (PictureError::Label { point: 2, label: 5, labels: 4 }, "point 2 has label 5 of 4".to_owned()),
            (PictureError::Backend { message: "no font".to_owned() }, "no font".to_owned()),
        ] {
            assert_eq!(error.to_string(), text);
        }
    }
}
