//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod common;

mod definition;
mod edges;
mod identities;
#[cfg(feature = "rayon")]
mod threads;
