//! Cells, windows and distances on a torus of any dimension: integers only, nothing allocates.
//!
//! A [`Torus`] of extents `E` has `P = ∏ E_d` cells, numbered row-major (the last axis is fastest);
//! its opposite faces are glued together, so every coordinate wraps. [`Windows`] adds the sides `W`
//! of a box: window `k` holds the `V = ∏ W_d` cells `(k + o) mod E`, `0 ≤ o_d < W_d`, and its mirror,
//! the windows that hold a cell `i`, are the `V` starts `(i - o) mod E`.
//!
//! ```
//! use countgrid_torus::{Torus, Windows};
//!
//! let torus = Torus::new([2, 3])?;
//! assert_eq!(torus.cell_at([-1, 4]), 4); // coordinates wrap
//! assert_eq!(torus.coords_of(4), [1, 1]);
//! assert_eq!(torus.distance_squared(0, 5), 2); // one step back along both axes
//!
//! let windows = Windows::new(torus, [1, 2])?;
//! assert!(windows.cells_of(5).eq([5, 3])); // wraps within its line
//! assert!(windows.starts_over(3).eq([3, 5]));
//! # Ok::<(), countgrid_torus::ShapeError>(())
//! ```
//!
//! Everything is a `const fn` unless it iterates or takes a square root, so shapes can be constants ([`constant!`]):
//!
//! ```
//! use countgrid_torus::{Torus, constant};
//! const MAP: Torus<2> = constant!(Torus::new([16, 16]));
//! static TABLE: [f32; MAP.cells()] = [0.0; MAP.cells()];
//! # assert_eq!(TABLE.len(), 256);
//! ```
//!
//! # Features
//!
//! None by default, and nothing allocates.
//!
//! * `testing`: random tori and windows, and window sums by their definition, for property tests with proptest.
//! * `serde`: tori and windows are read and written. What a constructor checks is checked when
//!   it is read.
//! * `fuzzing`: entry points for fuzz targets, no public interface.
//!
//! On a Cortex-M4F: code and stack of the main operations are in
//! [docs/microcontroller.md](https://github.com/countgrid/countgrid/blob/main/docs/microcontroller.md).
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-torus/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "testing")]
extern crate std;

mod constant;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod neighbours;
#[cfg(feature = "serde")]
mod serialised;
#[cfg(feature = "testing")]
pub mod testing;
mod torus;
mod windows;

pub use crate::{
    error::ShapeError,
    neighbours::Neighbours,
    torus::Torus,
    windows::{WindowCells, Windows},
};
