//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod common;

mod diagnostics;
mod edges;
mod equations;
mod identities;
mod sampling;
