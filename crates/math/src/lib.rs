//! To come.
#![no_std]

mod real;
pub use crate::real::Real;
