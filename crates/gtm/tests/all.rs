//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod awkward;
mod equations;
mod identities;
mod real_data;
mod start;
#[cfg(feature = "rayon")]
mod threads;
