//! Sums over windows, in any dimension, without an allocator: box filters of images, volumes and signals; window sums on a
//! torus and their adjoint; prefix sums and sums over boxes.
//!
//! | wanted | |
//! |---|---|
//! | sums, means, variances around every cell, with borders | [`BoxFilter`] |
//! | the sum over any box of one table, again and again | [`inclusive_in_place`], [`BoxSums`] |
//! | window sums on a torus whose bits do not depend on the place, and their adjoint | [`window_sums`], [`adjoint_window_sums`] |
//!
//! # Box filters
//!
//! A [`BoxFilter`] knows the sides of its window, where that lies about its cell ([`Anchor`], or any offset) and what
//! it sees beyond the ends ([`Border`]: wrap, zero, replicate, reflect, mirror, clip), each for every axis. It
//! reads a [`Table`] and writes a [`TableMut`]: a slice each, with extents, the last axis fastest; with channels side by side,
//! as of RGB; or with strides. Sums are formed in a type of your choice, that of the scratch, whose length
//! [`BoxFilter::scratch_len`] tells, in a `const` if need be. Integers never overflow unnoticed.
//!
//! The mean of an image, centred, 5 × 5:
//! ```
//! use countgrid_prefix::{Border, BoxFilter, Table, TableMut};
//! let (height, width) = (48, 64);
//! let image = vec![100_u8; height * width]; // [row][column]
//! let filter = BoxFilter::new([5, 5])?.with_border(Border::Wrap);
//! let mut scratch = vec![0_u16; filter.scratch_len::<u16>([height, width], 1)]; // 25 · 255 fits
//! let mut means = vec![0_u8; image.len()];
//! filter.means(Table::new(&image, [height, width])?, TableMut::new(&mut means, [height, width])?, &mut scratch)?;
//! assert!(means.iter().all(|&mean| mean == 100));
//! # Ok::<(), countgrid_prefix::FilterError>(())
//! ```
//! The local variance of an image of floats, with nothing beyond its edges:
//! ```
//! use countgrid_prefix::{Border, BoxFilter, Moments, Table, TableMut};
//! let image: Vec<f32> = (0..48 * 64).map(|i| (i % 2) as f32).collect(); // 64 columns, of 0 and of 1
//! let filter = BoxFilter::with_radii([10, 10])?.with_border(Border::Clip);
//! let mut scratch = vec![Moments::<f64>::default(); filter.scratch_len::<Moments<f64>>([48, 64], 1)];
//! let mut variances = vec![0.0_f32; image.len()];
//! let (read, write) = (Table::new(&image, [48, 64])?, TableMut::new(&mut variances, [48, 64])?);
//! filter.variances(read, write, &mut scratch)?;
//! assert!(variances.iter().all(|v| (v - 0.25).abs() < 0.01));
//! # Ok::<(), countgrid_prefix::FilterError>(())
//! ```
//! A volume, of which a part is filtered, with sums instead of means:
//! ```
//! use countgrid_prefix::{Anchor, Border, BoxFilter, Table, TableMut};
//! let volume = vec![1_u16; 16 * 20 * 24]; // [z][y][x]
//! let part = Table::strided(&volume[20 * 24..], [8, 20, 12], 1, [20 * 24, 24, 1])?; // z from 1, x below 12
//! let filter = BoxFilter::new([3, 1, 4])?.with_anchor(Anchor::Start).with_border(Border::Zero);
//! let mut scratch = vec![0_u32; filter.scratch_len::<u32>([8, 20, 12], 1)];
//! let mut sums = vec![0_u32; 8 * 20 * 12];
//! filter.sums(part, TableMut::new(&mut sums, [8, 20, 12])?, &mut scratch)?;
//! assert_eq!((sums[0], sums[8 * 20 * 12 - 1]), (12, 1));
//! # Ok::<(), countgrid_prefix::FilterError>(())
//! ```
//! RGB, interleaved, in rows of which each ends in padding:
//! ```
//! use countgrid_prefix::{BoxFilter, Table, TableMut};
//! let (height, width, row) = (30, 40, 128); // elements of a row: 120 and 8 more
//! let image = vec![7_u8; height * row];
//! let filter = BoxFilter::with_radii([2, 2])?; // Border::Reflect
//! let mut scratch = vec![0_u16; filter.scratch_len::<u16>([height, width], 3)];
//! let mut means = vec![0_u8; height * width * 3];
//! filter.means(
//!     Table::strided(&image, [height, width], 3, [row, 3])?,
//!     TableMut::interleaved(&mut means, [height, width], 3)?,
//!     &mut scratch,
//! )?;
//! assert!(means.iter().all(|&mean| mean == 7));
//! # Ok::<(), countgrid_prefix::FilterError>(())
//! ```
//! A moving average of a signal, over the present and the two values before, without an allocator:
//! ```
//! use countgrid_prefix::{Anchor, Border, BoxFilter, Table, TableMut};
//! const FILTER: BoxFilter<1> = match BoxFilter::new([3]) {
//!     Ok(filter) => filter.with_anchor(Anchor::End).with_border(Border::Clip),
//!     Err(_) => panic!("no side is 0"),
//! };
//! let mut scratch = [0.0; FILTER.scratch_len::<f32>([4], 1)];
//! let mut means = [0.0_f32; 4];
//! FILTER.means(Table::new(&[3.0_f32, 5.0, 7.0, 9.0], [4])?, TableMut::new(&mut means, [4])?, &mut scratch)?;
//! assert_eq!(means, [3.0, 4.0, 5.0, 7.0]);
//! # Ok::<(), countgrid_prefix::FilterError>(())
//! ```
//!
//! # Sums on a torus
//!
//! * [`window_sums`], `(S f)_k = ∑_o f_{k+o}`, and its adjoint [`adjoint_window_sums`], `(S'g)_i = ∑_o g_{i-o}`:
//!   sums over a window at every cell of a torus, by additions only, so that each sum keeps its relative
//!   accuracy. The summation tree depends on the window alone: translating the input translates the
//!   output bit for bit, which that of a [`BoxFilter`] of floats does not promise.
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
//! # Features
//!
//! * `std` (default): the instruction set is chosen at run time. No result depends on it.
//! * `floats` (default): `sums_along`, [`window_sums`] of `f32` and `f64` with the best instruction set. Its loops are
//!   compiled with this crate, for every instruction set, which is most of the time that the crate takes to compile;
//!   everything else is compiled where it is used, for the types that it is used with. Box filters do without it, those
//!   of floats too.
//! * `testing`: random tables and filters, and what windows see by the definition, for property tests with proptest.
//!
//! On a Cortex-M4F: code and stack of the main operations are in
//! [docs/microcontroller.md](https://github.com/countgrid/countgrid/blob/main/docs/microcontroller.md).
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-prefix/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "testing")]
extern crate std;

mod cumulative;
mod eight;
mod error;
mod filter;
#[cfg(feature = "floats")]
mod floats;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod lanes;
mod long;
mod ring;
#[cfg(feature = "testing")]
pub mod testing;
mod window;

#[cfg(feature = "floats")]
pub use crate::floats::sums_along;
pub use crate::{
    cumulative::{BoxSums, exclusive, exclusive_in_place, inclusive, inclusive_in_place},
    error::LengthError,
    filter::{
        Accumulator, Anchor, Border, BoxFilter, FilterError, Mean, Moments, Summand, Table, TableMut,
        Variance,
    },
    window::{Axis, Direction, adjoint_window_sums, axes, scratch_len, window_sums},
};
