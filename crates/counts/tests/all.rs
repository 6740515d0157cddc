//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod count;
mod event;
mod fuzzing;
mod matrices;
mod sequences;
mod supports;
#[cfg(feature = "alloc")]
mod views;
