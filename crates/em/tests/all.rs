//! All tests of the crate in one program, so that what they instantiate is compiled once.

#[allow(dead_code, reason = "the other test files use the rest")]
#[path = "models/gaussian.rs"]
mod gaussian;
mod models;

mod annealing;
#[cfg(feature = "alloc")]
mod blocks;
#[cfg(feature = "alloc")]
mod chunks;
mod contracts;
#[cfg(feature = "alloc")]
mod delegation;
mod fitting;
#[cfg(any(feature = "nalgebra", feature = "ndarray"))]
mod matrices;
mod stepwise;
mod tables;
