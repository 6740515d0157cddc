//! All tests of the crate but those of box filters, in one program, so that what they instantiate is compiled once.

mod shapes;

mod cumulative;
mod floats;
#[cfg(feature = "floats")]
mod windows;
