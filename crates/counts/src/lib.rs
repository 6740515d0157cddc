//! What a data set is: bags of counts, borrowed and validated once. And what a count is: event models.
//!
//! A model takes `&impl Bags`, so it fits every storage: [`Csr`] (sparse rows), [`Dense`] (rows of all counts),
//! [`Bag`] (one bag) and, with feature `alloc`, the owned `CsrBuf`. A [`Count`] is any primitive integer or
//! float.
//!
//! ```
//! use countgrid_counts::{Bags, Csr};
//! let bags = Csr::new(4, &[0, 2, 3], &[0, 3, 1], &[1_u32, 2, 5])?;
//! for t in 0..bags.len() {
//!     for (feature, count) in bags.entries(t) {
//!         assert!(feature < bags.features() && count > 0);
//!     }
//! }
//! # Ok::<(), countgrid_counts::BagsError>(())
//! ```
//!
//! An [`Event`] model has the probability of a count and the sums that estimate its parameters: [`Poisson`], [`Zip`]
//! (zero-inflated Poisson), [`Bernoulli`] and [`Gaussian`] for one count, [`Multinomial`] for a bag.
//!
//! Where order matters, [`Sequences`] of [`Symbol`]s take the place of bags. One bag, or one sequence, is a datum of a model;
//! it has a [`Length`].
//!
//! # Other libraries' matrices
//!
//! [`MatrixBags`] takes dense matrices of any layout: [`Strided`] slices, two-dimensional arrays of ndarray, matrices of
//! nalgebra, or whatever implements [`CountMatrix`]. `SprsBags` takes sparse matrices of sprs. Nothing is copied.
//!
//! # Features
//!
//! * `std` (default): implies `alloc`; no result depends on it.
//! * `alloc`: `CsrBuf`, `BagsWithColumns`, `SequencesBuf`.
//! * `ndarray`, `nalgebra`: their matrices and views are a [`CountMatrix`].
//! * `sprs`: `SprsBags`, and [`Csr`] of a matrix whose indices are `u32` (by [`TryFrom`]).
//! * `testing`: random bags for property tests with proptest, and bags as plain lists.
//! * `fuzzing`: entry points for fuzz targets, no public interface.
//!
//! On a Cortex-M4F: code and stack of the main operations are in
//! [docs/microcontroller.md](https://github.com/countgrid/countgrid/blob/main/docs/microcontroller.md).
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-counts/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod bags;
#[cfg(feature = "alloc")]
mod buf;
mod count;
mod dense;
mod error;
mod event;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod length;
mod matrix;
#[cfg(feature = "nalgebra")]
mod matrix_nalgebra;
#[cfg(feature = "ndarray")]
mod matrix_ndarray;
mod sequences;
#[cfg(feature = "alloc")]
mod sequences_buf;
mod sparse;
#[cfg(feature = "sprs")]
mod sparse_sprs;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "alloc")]
mod with_columns;

#[cfg(feature = "sprs")]
pub use crate::sparse_sprs::{SprsBags, SprsEntries};
pub use crate::{
    bags::Bags,
    count::Count,
    dense::{Dense, DenseEntries},
    error::BagsError,
    event::{Bernoulli, Estimate, Event, EventError, Gaussian, Line, Linear, Multinomial, Poisson, Zip},
    length::Length,
    matrix::{CountMatrix, MatrixBags, MatrixEntries, Strided},
    sequences::{Sequence, Sequences, SequencesError, Symbol},
    sparse::{Bag, Csr, SparseEntries},
};
#[cfg(feature = "alloc")]
pub use crate::{buf::CsrBuf, sequences_buf::SequencesBuf, with_columns::BagsWithColumns};
