//! Prefix sums, box sums and torus window sums in any dimension, without an allocator.
//!
//! * [`window_sums`], `(S f)_k = ∑_o f_{k+o}`, and its adjoint [`adjoint_window_sums`], `(S'g)_i = ∑_o g_{i-o}`:
//!   sums over a window at every cell of a torus, by additions only, so that each sum keeps its relative
//!   accuracy. The summation tree depends on the window alone: translating the input translates the
//!   output bit for bit.
//! * [`inclusive`], [`exclusive`] and their in-place forms: prefix sums along every axis. [`BoxSums`]: the
//!   sum over any box, in `2^D` reads. Exact for integers; for floats read its warning.
//!
//! All work on `[row][cell]` tables, cells row-major, of integers and floats alike.
//!
//! ```
//! use countgrid_prefix::{scratch_len, adjoint_window_sums, window_sums};
//! use countgrid_torus::{Torus, Windows};
//!
//! const WINDOWS: Windows<2> = match Torus::new([2, 3]) {
//!     Ok(torus) => match Windows::new(torus, [2, 2]) {
//!         Ok(windows) => windows,
//!         Err(_) => panic!("the window fits"),
//!     },
//!     Err(_) => panic!("extents are not zero"),
//! };
//! let table = [1.0, 0.0, 0.0, /**/ 0.0, 0.0, 5.0];
//! let (mut sums, mut scratch) = ([0.0; 6], [0.0; scratch_len(&WINDOWS)]);
//! window_sums(&WINDOWS, &table, &mut sums, &mut scratch)?;
//! assert_eq!(sums, [1.0, 5.0, 6.0, 1.0, 5.0, 6.0]);
//! adjoint_window_sums(&WINDOWS, &table, &mut sums, &mut scratch)?;
//! assert_eq!(sums, [6.0, 1.0, 5.0, 6.0, 1.0, 5.0]);
//! # Ok::<(), countgrid_prefix::LengthError>(())
//! ```
//!
//! [`sums_along`] is the same for `f32` and `f64` alone, with the best instruction set.
//!
//! # Features
//!
//! `std` (default): the instruction set is chosen at run time. No result depends on it.
//!
//! On a Cortex-M4F: code and stack of the main operations are in `docs/microcontroller.md` of the repository.
#![no_std]
#![forbid(unsafe_code)]

mod cumulative;
mod error;
mod floats;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod lanes;
mod long;
mod ring;
mod window;

pub use crate::{
    cumulative::{BoxSums, exclusive, exclusive_in_place, inclusive, inclusive_in_place},
    error::LengthError,
    floats::sums_along,
    window::{Axis, Direction, adjoint_window_sums, axes, scratch_len, window_sums},
};
