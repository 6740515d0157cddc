//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod bags;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod news;
mod relevance;
mod tokenizer;
