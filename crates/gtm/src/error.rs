use core::fmt;

/// Why a map, a table or a document was refused.
///
/// Example: [`Shape`](crate::Shape).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum GtmError {
    /// A size that has to be at least 1.
    Empty { size: &'static str },
    /// The tables are more than can be addressed, or than the allocator gives.
    TooLarge { points: usize, features: usize },
    /// A slice does not have the length its shape asks for.
    Length { table: &'static str, expected: usize, found: usize },
    /// An element that is not finite.
    NotFinite { table: &'static str, row: usize, column: usize },
    /// An element out of its range.
    Range { table: &'static str, row: usize, column: usize },
    /// A setting out of its range.
    Setting { name: &'static str },
    /// What the emission model of the map has no use for: inflation covariates without inflation, exposure without a
    /// rate.
    EmissionModel { what: &'static str },
    /// Exposures, or covariates of documents, on the path that has none: see `Shape::general`.
    NeedsGeneral,
    /// Documents over another number of features.
    Features { expected: usize, found: usize },
    /// Statistics or tables of another shape.
    ShapeMismatch,
    /// A document whose scores leave the range of the float type.
    Overflow { document: usize },
    /// A document that the data set does not have.
    NoSuchDocument { document: usize, documents: usize },
    /// A profile that the map does not have.
    NoSuchProfile { document: usize, profile: usize, profiles: usize },
    /// An exposure that is not finite and above zero.
    Exposure { document: usize },
}

impl fmt::Display for GtmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty { size } => write!(f, "a map needs at least one of its {size}"),
            Self::TooLarge { points, features } => {
                write!(f, "{points} latent points of {features} features are more than memory holds")
            }
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
            Self::NotFinite { table, row, column } => {
                write!(f, "`{table}` is not finite at row {row}, column {column}")
            }
            Self::Range { table, row, column } => {
                write!(f, "`{table}` is out of range at row {row}, column {column}")
            }
            Self::Setting { name } => write!(f, "the setting `{name}` is out of range"),
            Self::EmissionModel { what } => write!(f, "the law of this map has no {what}"),
            Self::NeedsGeneral => {
                f.write_str("exposures and covariates of zero-inflated counts need the general path")
            }
            Self::Features { expected, found } => {
                write!(f, "the documents have {found} features, the map has {expected}")
            }
            Self::ShapeMismatch => f.write_str("the tables belong to a map of another shape"),
            Self::Overflow { document } => {
                write!(
                    f,
                    "the counts of document {document} are too large for this float type: scale them down"
                )
            }
            Self::NoSuchDocument { document, documents } => {
                write!(f, "document {document} of {documents} (they are numbered from 0)")
            }
            Self::NoSuchProfile { document, profile, profiles } => {
                write!(
                    f,
                    "document {document} has profile {profile} of {profiles} (they are numbered from 0)"
                )
            }
            Self::Exposure { document } => {
                write!(f, "the exposure of document {document} is not a finite number above 0")
            }
        }
    }
}

impl core::error::Error for GtmError {}

impl GtmError {
    /// The reason of a shape that was refused, for [`constant!`](crate::constant).
    #[doc(hidden)]
    #[must_use]
    pub const fn constant_reason(&self) -> &'static str {
        match self {
            Self::Empty { .. } => "a size is 0, and needs to be at least 1",
            Self::TooLarge { .. } => "the tables are more than can be addressed",
            Self::EmissionModel { .. } => {
                "covariates, and the emission model is not zero-inflated by document"
            }
            _ => "this is no shape",
        }
    }
}

/// Checks a slice that is meant to have one length.
pub(crate) const fn same_length(table: &'static str, expected: usize, found: usize) -> Result<(), GtmError> {
    if expected == found { Ok(()) } else { Err(GtmError::Length { table, expected, found }) }
}

/// Checks a slice of scratch, which may be longer than needed.
pub(crate) const fn long_enough(table: &'static str, expected: usize, found: usize) -> Result<(), GtmError> {
    if found >= expected { Ok(()) } else { Err(GtmError::Length { table, expected, found }) }
}
