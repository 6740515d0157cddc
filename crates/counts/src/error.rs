use core::fmt;

/// Why slices, or entries handed to a builder, are not bags of counts.
///
/// ```
/// use countgrid_counts::{BagsError, Dense};
/// let error = Dense::new(2, &[1.0, 0.0, 2.0, -3.0]).unwrap_err();
/// assert_eq!(error, BagsError::Count { bag: 1, feature: 1 });
/// assert_eq!(error.to_string(), "the count of feature 1 in bag 1 is negative or not finite");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum BagsError {
    /// `offsets` is empty; `T` bags need `T + 1` of them.
    NoOffsets,
    /// `offsets[0] != 0`.
    FirstOffset { found: usize },
    /// `offsets[bag + 1] < offsets[bag]`.
    OffsetsFall { bag: usize },
    /// The last offset is not the number of indices.
    LastOffset { expected: usize, found: usize },
    /// A slice has another length.
    Length { table: &'static str, expected: usize, found: usize },
    /// A sparse matrix that is stored by columns, where bags are its rows.
    StoredByColumns,
    /// Dense rows of no counts, whose number nobody knows.
    NoFeatures,
    /// More features (or, to transpose, bags) than a `u32` can number.
    TooManyFeatures { features: usize },
    /// `feature >= features`.
    Feature { bag: usize, feature: usize, features: usize },
    /// A feature that is not larger than the one before it in the bag.
    Order { bag: usize, feature: usize },
    /// A count that is negative, infinite or not a number.
    Count { bag: usize, feature: usize },
    /// A count of zero in a sparse bag, which lists nonzero counts only.
    Zero { bag: usize, feature: usize },
    /// The allocator refuses so many bags.
    OutOfMemory { bags: usize },
    /// The counts of one feature in one bag add up to more than their type holds.
    Overflow { bag: usize, feature: usize },
}

impl fmt::Display for BagsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoOffsets => f.write_str("no offsets; `bags + 1` of them are needed"),
            Self::FirstOffset { found } => write!(f, "the first offset is {found}, needs to be 0"),
            Self::OffsetsFall { bag } => write!(f, "bag {bag} ends before it starts"),
            Self::LastOffset { expected, found } => {
                write!(f, "the last offset is {found}, needs to be the number of indices, {expected}")
            }
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
            Self::StoredByColumns => {
                f.write_str("the matrix is stored by columns, needs to be stored by rows (in sprs, `to_csr`)")
            }
            Self::NoFeatures => f.write_str("dense rows need at least one feature"),
            Self::TooManyFeatures { features } => write!(f, "{features} features, at most 2^32 are possible"),
            Self::Feature { bag, feature, features } => {
                write!(f, "bag {bag} has feature {feature}, needs to be below {features}")
            }
            Self::Order { bag, feature } => {
                write!(f, "bag {bag} has feature {feature} out of order; features need to ascend strictly")
            }
            Self::Count { bag, feature } => {
                write!(f, "the count of feature {feature} in bag {bag} is negative or not finite")
            }
            Self::Zero { bag, feature } => {
                write!(
                    f,
                    "the count of feature {feature} in bag {bag} is zero; sparse bags list nonzero counts"
                )
            }
            Self::OutOfMemory { bags } => write!(f, "no memory for {bags} bags"),
            Self::Overflow { bag, feature } => {
                write!(f, "the counts of feature {feature} in bag {bag} add up to more than their type holds")
            }
        }
    }
}

impl core::error::Error for BagsError {}
