//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod awkward;
mod equations;
mod fits;
mod identities;
mod magnification;
mod places;
mod principal;
mod real_data;
mod refusals;
mod shapes;
mod start;
#[cfg(feature = "rayon")]
mod threads;
