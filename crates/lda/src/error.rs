use core::fmt;

/// Why a model, a table or a bag was refused.
///
/// Example: [`Lda`](crate::Lda).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum LdaError {
    /// A model of no topics.
    NoTopics,
    /// A model of no features.
    NoFeatures,
    /// Topics times features exceeds what can be addressed, or what the allocator gives.
    TooLarge { topics: usize, features: usize },
    /// A slice does not have the length its shape asks for.
    Length { table: &'static str, expected: usize, found: usize },
    /// A probability that is negative or not finite.
    Probability { feature: usize, topic: usize },
    /// A topic whose probabilities do not sum to one.
    NotNormalised { topic: usize },
    /// A Dirichlet parameter outside the range of the float type.
    Alpha { topic: usize },
    /// A start of `gamma` outside that range.
    Gamma { topic: usize },
    /// A batch over another number of features.
    Features { expected: usize, found: usize },
    /// Two data sets of different numbers of bags.
    Bags { expected: usize, found: usize },
    /// Statistics of another shape.
    ShapeMismatch,
    /// Counts so large that the bound of a bag, or the sum of all tokens, leaves the range of the float type.
    Overflow { bag: usize },
    /// A bag that the data set does not have.
    NoSuchBag { bag: usize, bags: usize },
    /// Smoothing that is negative or not finite.
    Smoothing,
    /// No sweep: inference makes at least one.
    NoSweeps,
    /// A tolerance that is negative or not finite.
    Tolerance,
}

impl fmt::Display for LdaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoTopics => f.write_str("a model needs at least one topic"),
            Self::NoFeatures => f.write_str("a model needs at least one feature"),
            Self::TooLarge { topics, features } => {
                write!(f, "{topics} topics of {features} features are more than memory holds")
            }
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
            Self::Probability { feature, topic } => {
                write!(f, "`beta` is negative or not finite at feature {feature}, topic {topic}")
            }
            Self::NotNormalised { topic } => write!(f, "`beta` does not sum to one for topic {topic}"),
            Self::Alpha { topic } => {
                write!(
                    f,
                    "`alpha` of topic {topic} needs to be positive and far from the ends of the float type"
                )
            }
            Self::Gamma { topic } => {
                write!(
                    f,
                    "`gamma` of topic {topic} needs to be positive and far from the ends of the float type"
                )
            }
            Self::Features { expected, found } => {
                write!(f, "the bags have {found} features, the model has {expected}")
            }
            Self::Bags { expected, found } => write!(f, "{found} bags, needs {expected}"),
            Self::ShapeMismatch => f.write_str("the statistics belong to a model of another shape"),
            Self::Overflow { bag } => {
                write!(f, "the counts of bag {bag} are too large for this float type: scale them down")
            }
            Self::NoSuchBag { bag, bags } => write!(f, "bag {bag} of {bags} (they are numbered from 0)"),
            Self::Smoothing => f.write_str("smoothing is a finite number of tokens, at least 0"),
            Self::NoSweeps => f.write_str("inference makes at least one sweep"),
            Self::Tolerance => f.write_str("a tolerance is a finite number of tokens, at least 0"),
        }
    }
}

impl core::error::Error for LdaError {}

impl LdaError {
    /// The reason of a shape that was refused, for [`constant!`](crate::constant).
    #[doc(hidden)]
    #[must_use]
    pub const fn constant_reason(&self) -> &'static str {
        match self {
            Self::NoTopics => "a model needs at least one topic",
            Self::NoFeatures => "a model needs at least one feature",
            Self::TooLarge { .. } => "topics times features are more than can be addressed",
            _ => "this is no shape",
        }
    }
}

/// Checks a slice that is meant to have one length.
pub(crate) fn same_length(table: &'static str, expected: usize, found: usize) -> Result<(), LdaError> {
    if expected == found { Ok(()) } else { Err(LdaError::Length { table, expected, found }) }
}

/// Checks a slice of scratch, which may be longer than needed.
pub(crate) fn long_enough(table: &'static str, expected: usize, found: usize) -> Result<(), LdaError> {
    if found >= expected { Ok(()) } else { Err(LdaError::Length { table, expected, found }) }
}
