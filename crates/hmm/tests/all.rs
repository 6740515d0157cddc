//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod common;

mod chains;
mod definition;
mod edges;
mod identities;
mod limits;
#[cfg(feature = "rayon")]
mod threads;
