//! To come.
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "alloc")]
mod aligned;
mod dispatch;
mod elementary;
mod error;
mod exponential;
mod gamma;
mod logarithm;
mod logistic;
mod polynomial;
mod real;
mod reduce;
mod slices;

#[cfg(feature = "alloc")]
pub use crate::aligned::{AlignedVec, AllocationError};
pub use crate::{
    dispatch::{Kernel, Level, dispatch, level, set_level},
    elementary::{digamma, exp, exp_m1, ln, ln_1p, ln_gamma, sigmoid, softplus, sqrt, trigamma},
    error::LengthError,
    real::Real,
    reduce::{dot, log_sum_exp, max, softmax, softmax_cut, sum, sum_xlogx},
    slices::{axpy, exp_slice, ln_slice, scale},
};
