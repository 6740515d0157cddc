//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod common;

mod alignment;
mod annealing;
mod chains;
mod diagnostics;
mod edges;
mod equations;
mod identities;
mod learning;
mod metropolis;
mod perfect;
mod random_models;
mod sampling;
