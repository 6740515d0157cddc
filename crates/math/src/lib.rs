//! `f32` and `f64` with deterministic elementary functions and slice kernels.
//!
//! For the same input every function returns the same bits on every target, at every SIMD width and in every
//! build: nothing comes from the platform's mathematical library, nothing is fused, and sums have one fixed
//! shape. (NaN is NaN; its sign and payload are not promised.) No function panics, and none hides a NaN.
//!
//! ```
//! use countgrid_math::{exp, ln, softmax, sum};
//!
//! let mut q = [ln(1.0_f32), ln(2.0), ln(5.0)];
//! let log_evidence = softmax(&mut q); // unnormalised log-probabilities become probabilities
//! assert!((exp(log_evidence) - 8.0).abs() < 1e-5);
//! assert!((q[2] - 0.625).abs() < 1e-6 && (sum(&q) - 1.0).abs() < 1e-6);
//! ```
//!
//! | | |
//! |---|---|
//! | scalar | [`Real`], sealed: `f32`, `f64` |
//! | elementary functions | [`exp`], [`exp_m1`], [`ln`], [`ln_1p`], [`sigmoid`], [`softplus`], [`sqrt`] |
//! | gamma functions | [`ln_gamma`], [`digamma`], [`trigamma`] of positive numbers; [`symmetric_dirichlet`] is fitted with them |
//! | over slices | [`exp_slice`], [`ln_slice`], [`digamma_slice`], [`axpy`], [`scale`], [`softmax`], [`softmax_with_threshold`] |
//! | from slices | [`sum`], [`dot`], [`max`], [`log_sum_exp`], [`sum_xlogx`], [`sum_ln_floored`] |
//! | own loops | [`dispatch`] compiles a [`Kernel`] for the instruction sets of a [`Level`]; inside it [`sum_lanes`], [`dot_lanes`], [`fold_lanes`], [`sum_of_eight`] |
//! | random order | [`shuffle`], [`shuffle_first`] with [`index_below`] of a random word |
//! | memory | [`prefetch`]; `AlignedVec`, with feature `alloc` |
//!
//! The elementary functions are branch-free, so that a loop over them becomes SIMD code; inside a [`Kernel`]
//! it does so at the width of the machine.
//!
//! # Features
//! `std` (default): [`dispatch`] looks at the machine when the program runs, [`sqrt`] is the processor's.
//! `alloc`: `AlignedVec`. Results depend on neither.
//!
//! On a Cortex-M4F: code and stack of the main operations are in
//! [docs/microcontroller.md](https://github.com/countgrid/countgrid/blob/main/docs/microcontroller.md).
#![doc = include_str!("../ACCURACY.md")]
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-math/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "alloc")]
mod aligned;
mod dirichlet;
mod dispatch;
mod elementary;
mod error;
mod exponential;
mod gamma;
mod logarithm;
mod logistic;
mod order;
mod polynomial;
mod prefetch;
mod real;
mod reduce;
mod slices;

#[cfg(feature = "alloc")]
pub use crate::aligned::{AlignedVec, AllocationError};
pub use crate::{
    dirichlet::symmetric_dirichlet,
    dispatch::{Kernel, Level, dispatch, level, set_level},
    elementary::{digamma, exp, exp_m1, ln, ln_1p, ln_gamma, sigmoid, softplus, sqrt, trigamma},
    error::LengthError,
    order::{index_below, shuffle, shuffle_first},
    prefetch::prefetch,
    real::{Floats, FloatsMut, Real},
    reduce::{
        dot, dot_lanes, fold_lanes, log_sum_exp, max, softmax, softmax_with_threshold, sum, sum_lanes,
        sum_ln_floored, sum_of_eight, sum_xlogx,
    },
    slices::{axpy, digamma_slice, exp_slice, ln_slice, scale},
};
