//! All tests of the crate in one program, so that what they instantiate is compiled once.

#[macro_use]
mod common;

mod componential;
mod definition;
mod edges;
mod fuzzing;
mod identities;
mod labels;
mod perturbation;
mod pruning;
mod quantised;
mod scratch;
mod terms;
