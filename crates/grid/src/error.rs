use core::fmt;

use countgrid_torus::ShapeError;

/// Why a grid, a table or a bag was refused.
///
/// Example: [`Grid`](crate::Grid).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum GridError {
    /// The torus or the window has no such shape.
    Shape(ShapeError),
    /// A grid of no features.
    NoFeatures,
    /// Cells times features exceeds what can be addressed, or what the allocator gives.
    TooLarge { cells: usize, features: usize },
    /// A slice does not have the length its shape asks for.
    Length { table: &'static str, expected: usize, found: usize },
    /// A probability that is negative or not finite.
    Probability { table: &'static str, feature: usize, cell: usize },
    /// A tile of a packed table has a larger entry in a row than its bound says.
    Bound { tile: usize, row: usize },
    /// A tile of a packed table in which a window that the torus does not have is possible.
    Padding { tile: usize },
    /// A step of a quantised table that is negative or not finite.
    Step { row: usize },
    /// Probabilities of one cell (table `pi`) or of all cells (table `prior`) that do not sum to one.
    NotNormalised { table: &'static str, cell: usize },
    /// A batch over another number of features.
    Features { expected: usize, found: usize },
    /// Statistics or tables of another shape.
    ShapeMismatch,
    /// Counts so large that the score of a bag, or the sum of all tokens, leaves the range of the float type.
    Overflow { bag: usize },
    /// A bag that the data set does not have.
    NoSuchBag { bag: usize, bags: usize },
    /// A pseudocount that is negative or not finite.
    Pseudocount,
    /// No inner pass: an M-step has at least one.
    NoPasses,
    /// A threshold that is not a positive number of nats.
    PosteriorThreshold,
    /// A noise outside `[0, 1)`.
    Noise,
    /// No targets, or no bag that has any.
    NoTargets,
    /// A target that is not finite.
    Target { target: usize },
    /// A Dirichlet parameter outside the range of the float type.
    Alpha { window: usize },
    /// A start of `gamma` outside that range.
    Gamma { window: usize },
    /// An entry of `totals` that is not the sum of the feature's means over windows.
    Total { feature: usize },
    /// A bag with a feature that no window has.
    Impossible { bag: usize, feature: usize },
    /// No sweep: inference makes at least one.
    NoSweeps,
    /// A tolerance that is negative or not finite.
    Tolerance,
    /// A share outside `[0, 1]`.
    Share,
    /// A class, or a target, that there is not.
    NoSuchClass { class: usize, classes: usize },
}

impl fmt::Display for GridError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Shape(error) => error.fmt(f),
            Self::NoFeatures => f.write_str("a grid needs at least one feature"),
            Self::TooLarge { cells, features } => {
                write!(f, "{cells} cells of {features} features are more than memory holds")
            }
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
            Self::Probability { table, feature, cell } => {
                write!(f, "`{table}` is negative or not finite at feature {feature}, cell {cell}")
            }
            Self::Bound { tile, row } => {
                write!(
                    f,
                    "`log_histograms` has an entry above its bound in row {row} of tile {tile}; needs to be as packed"
                )
            }
            Self::Padding { tile } => write!(
                f,
                "tile {tile} of `log_histograms` has a prior for a window that the torus does not have; needs to be as \
                 packed"
            ),
            Self::Step { row } => {
                write!(f, "the step of row {row} of a quantised table is negative or not finite")
            }
            Self::NotNormalised { table, cell } => {
                write!(f, "`{table}` does not sum to one at cell {cell}")
            }
            Self::Features { expected, found } => {
                write!(f, "the bags have {found} features, the grid has {expected}")
            }
            Self::ShapeMismatch => f.write_str("the statistics belong to a grid of another shape"),
            Self::Overflow { bag } => {
                write!(f, "the counts of bag {bag} are too large for this float type: scale them down")
            }
            Self::NoSuchBag { bag, bags } => write!(f, "bag {bag} of {bags} (they are numbered from 0)"),
            Self::Pseudocount => f.write_str("a pseudocount is a finite number, at least 0"),
            Self::PosteriorThreshold => f.write_str("the posterior threshold is a positive number of nats"),
            Self::Noise => f.write_str("noise is at least 0 and less than 1"),
            Self::NoTargets => f.write_str("labels need at least one target, and another bag that has it"),
            Self::Target { target } => write!(f, "target {target} is not a finite number"),
            Self::NoSuchClass { class, classes } => {
                write!(f, "class {class} of {classes} (they are numbered from 0)")
            }
            Self::Alpha { window } => write!(
                f,
                "`alpha` of window {window} needs to be positive and far from the ends of the float type"
            ),
            Self::Gamma { window } => write!(
                f,
                "`gamma` of window {window} needs to be positive and far from the ends of the float type"
            ),
            Self::Total { feature } => {
                write!(
                    f,
                    "`totals` of feature {feature} is not the sum of its `h` over windows; needs to be as packed"
                )
            }
            Self::Impossible { bag, feature } => write!(
                f,
                "bag {bag} has feature {feature}, which has no probability in any window: leave it out, or fit with a \
                 pseudocount"
            ),
            Self::NoSweeps => f.write_str("inference makes at least one sweep"),
            Self::Tolerance => f.write_str("a tolerance is a finite share of a bag's tokens, at least 0"),
            Self::Share => f.write_str("a share is at least 0 and at most 1"),
            Self::NoPasses => f.write_str("an M-step has at least one inner pass"),
        }
    }
}

impl core::error::Error for GridError {}

impl GridError {
    /// The reason of a shape that was refused, for [`constant!`](crate::constant).
    #[doc(hidden)]
    #[must_use]
    pub const fn constant_reason(&self) -> &'static str {
        match self {
            Self::Shape(error) => error.constant_reason(),
            Self::NoFeatures => "a grid needs at least one feature",
            Self::TooLarge { .. } => "cells times features are more than can be addressed",
            _ => "this is no shape",
        }
    }
}

impl From<ShapeError> for GridError {
    fn from(error: ShapeError) -> Self {
        Self::Shape(error)
    }
}

/// Checks a slice that is meant to have one length.
pub(crate) fn same_length(table: &'static str, expected: usize, found: usize) -> Result<(), GridError> {
    if expected == found { Ok(()) } else { Err(GridError::Length { table, expected, found }) }
}

/// Checks a slice of scratch, which may be longer than needed.
pub(crate) fn long_enough(table: &'static str, expected: usize, found: usize) -> Result<(), GridError> {
    if found >= expected { Ok(()) } else { Err(GridError::Length { table, expected, found }) }
}
