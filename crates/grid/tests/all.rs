//! All tests of the crate in one program, so that what they instantiate is compiled once.

#[macro_use]
mod common;

mod componential;
mod componential_edges;
mod componential_learner;
mod definition;
mod edges;
mod errors;
mod fuzzing;
mod identities;
mod labels;
mod learner;
mod perturbation;
mod posteriors;
mod pruning;
mod quantised;
mod recipe;
mod scratch;
mod starts;
mod terms;
