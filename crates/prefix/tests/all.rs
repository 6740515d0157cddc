//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod shapes;

mod box_filter;
mod cumulative;
mod floats;
#[cfg(feature = "floats")]
mod windows;
