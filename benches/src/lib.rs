//! What the benchmarks share: a corpus of any size, the same on every machine; fits as the program runs them; clocks.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod arrays;
pub mod bandwidth;
mod clock;
mod corpus;
mod fit;
pub use crate::{
    clock::{Seconds, peak_memory, timed},
    corpus::Corpus,
    fit::{CHUNK, Learning, Sums, bound_per_token, iterate, options, random, start},
};
