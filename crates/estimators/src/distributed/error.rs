use std::fmt;

use countgrid_em::BLOCK_BAGS;

/// Why states, documents and sums of a distributed training do not go together.
///
/// Example: [`LeafSums::merge`](crate::LeafSums::merge).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum DistributedError {
    /// A file of another kind.
    Kind { expected: &'static str, found: String },
    /// A text that is missing or cannot be parsed.
    Text { name: String },
    /// A table that is missing, of another type, or of another shape.
    Table { name: String },
    /// Bags that are none, with the reason.
    Bags { problem: String },
    /// A leaf whose documents are not those of the training.
    Documents { leaf: usize },
    /// A leaf beyond those of the training.
    NoLeaf { leaf: usize, leaves: usize },
    /// Sums under another model, by the checksums of the states.
    State { expected: String, found: String },
    /// Sums of another number of elements.
    Length { expected: usize, found: usize },
    /// Leaves that are there twice.
    Twice { leaf: usize },
    /// A leaf that is missing.
    Missing { leaf: usize, leaves: usize },
    /// No sums, or no documents, at all.
    Nothing,
    /// A training in mini-batches, which are drawn from all documents.
    MiniBatches,
    /// A training that has ended, and needs no sums.
    Ended,
    /// A training that has not ended.
    NotEnded,
    /// What a rank failed with, which every rank is told.
    Rank { rank: usize, reason: String },
    /// A rank whose documents end within a leaf, and later ranks have more.
    WithinLeaf { rank: usize, documents: usize },
    /// A rank whose documents have another number of features than those of rank 0.
    Features { rank: usize, expected: usize, found: usize },
    /// Ranks that could not be reached, or said something else than they should, with the reason.
    Communication { problem: String },
}

impl fmt::Display for DistributedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { expected, found } => {
                let found: String = found.chars().take(60).flat_map(char::escape_debug).collect();
                write!(f, "a file of the kind `{found}`, needs to be `{expected}`")
            }
            Self::Text { name } => write!(f, "it has no text `{name}` that can be understood"),
            Self::Table { name } => write!(f, "it has no table `{name}` as it is needed"),
            Self::Bags { problem } => write!(f, "its documents are no counts: {problem}"),
            Self::Documents { leaf } => {
                write!(f, "the documents of leaf {leaf} are not those that the training was started with")
            }
            Self::NoLeaf { leaf, leaves } => {
                write!(f, "it has leaf {leaf}, and the training has the {leaves} leaves from 0 on")
            }
            Self::State { expected, found } => {
                write!(f, "sums under the state with the checksum {found}, needs to be {expected}")
            }
            Self::Length { expected, found } => write!(f, "sums of {found} numbers, needs to be {expected}"),
            Self::Twice { leaf } => write!(f, "leaf {leaf} is there twice"),
            Self::Missing { leaf, leaves } => write!(f, "leaf {leaf} of {leaves} is missing"),
            Self::Nothing => f.write_str("there are no leaves"),
            Self::MiniBatches => {
                f.write_str("mini-batches are drawn from all documents, and are no sums over parts of them")
            }
            Self::Ended => f.write_str("the training has ended"),
            Self::NotEnded => f.write_str("the training has not ended"),
            Self::Rank { rank, reason } => write!(f, "rank {rank}: {reason}"),
            Self::WithinLeaf { rank, documents } => write!(
                f,
                "rank {rank} has {documents} documents, and later ranks have more: needs to be a multiple of {BLOCK_BAGS}"
            ),
            Self::Features { rank, expected, found } => {
                write!(
                    f,
                    "rank {rank} has documents with {found} features, and rank 0 with {expected}: all need the same"
                )
            }
            Self::Communication { problem } => write!(f, "between ranks: {problem}"),
        }
    }
}

impl std::error::Error for DistributedError {}
