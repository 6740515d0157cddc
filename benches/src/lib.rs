//! What the benchmarks share: a corpus of any size, the same on every machine.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod corpus;
pub use crate::corpus::Corpus;
