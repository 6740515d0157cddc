//! Random tori and windows, and window sums by their definition: for property tests of what is built on them.
//!
//! ```
//! use countgrid_torus::testing::{naive_adjoint_sums, naive_window_sums, windows};
//! use proptest::prelude::*;
//!
//! proptest!(|(windows in windows::<2>(5))| {
//!     let ones = vec![1; windows.torus().cells()];
//!     prop_assert!(naive_window_sums(&windows, &ones).iter().all(|&sum| sum == windows.volume()));
//!     prop_assert_eq!(naive_adjoint_sums(&windows, &ones), naive_window_sums(&windows, &ones));
//! });
//! ```

use core::iter::Sum;
use std::vec::Vec;

use proptest::array::uniform;
use proptest::prelude::*;

use crate::{Torus, Windows};

/// Tori of 1 to `most` cells an axis.
///
/// Example: [`testing`](crate::testing).
pub fn tori<const D: usize>(most: usize) -> impl Strategy<Value = Torus<D>> + Clone {
    uniform::<_, D>(1..=most).prop_filter_map("too many cells", |extents| Torus::new(extents).ok())
}

/// Windows that fit, on tori of 1 to `most` cells an axis. A quarter of the sides is the whole axis at least, and a quarter
/// is 1, where sums along an axis have cases of their own.
///
/// Example: [`testing`](crate::testing).
pub fn windows<const D: usize>(most: usize) -> impl Strategy<Value = Windows<D>> + Clone {
    let side = |extent| prop_oneof![2 => 1..=extent, 1 => Just(extent), 1 => Just(1)];
    uniform::<_, D>((1..=most).prop_flat_map(move |extent| (Just(extent), side(extent)))).prop_filter_map(
        "too many cells",
        |axes| {
            let torus = Torus::new(axes.map(|(extent, _)| extent)).ok()?;
            Windows::new(torus, axes.map(|(_, side)| side)).ok()
        },
    )
}

/// The sum of `table` over each window, `(S f)_k`, window by window and cell by cell. Cells beyond the table count for
/// nothing.
///
/// Example: [`testing`](crate::testing).
pub fn naive_window_sums<const D: usize, T: Copy + Sum>(windows: &Windows<D>, table: &[T]) -> Vec<T> {
    let sum = |k| windows.cells_of(k).filter_map(|i| table.get(i)).copied().sum();
    (0..windows.torus().cells()).map(sum).collect()
}

/// The sum of `table` over the windows that hold each cell, `(S'g)_i`.
///
/// Example: [`testing`](crate::testing).
pub fn naive_adjoint_sums<const D: usize, T: Copy + Sum>(windows: &Windows<D>, table: &[T]) -> Vec<T> {
    let sum = |i| windows.starts_over(i).filter_map(|k| table.get(k)).copied().sum();
    (0..windows.torus().cells()).map(sum).collect()
}

impl<const D: usize> Arbitrary for Torus<D> {
    /// The most cells of an axis, 6 by default.
    type Parameters = MostCells;
    type Strategy = BoxedStrategy<Self>;

    fn arbitrary_with(MostCells(most): MostCells) -> Self::Strategy {
        tori(most).boxed()
    }
}

impl<const D: usize> Arbitrary for Windows<D> {
    /// The most cells of an axis, 6 by default.
    type Parameters = MostCells;
    type Strategy = BoxedStrategy<Self>;

    fn arbitrary_with(MostCells(most): MostCells) -> Self::Strategy {
        windows(most).boxed()
    }
}

/// The most cells that an axis of an arbitrary torus has, at least 1.
///
/// Example: [`testing`](crate::testing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostCells(pub usize);

impl Default for MostCells {
    /// Six.
    fn default() -> Self {
        Self(6)
    }
}
