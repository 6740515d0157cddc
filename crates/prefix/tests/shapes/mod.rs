//! Random shapes and tables, and the two ways to move a table over its torus.
#![allow(dead_code, reason = "each test file uses a part")]

use core::ops::Range;

use countgrid_prefix::{adjoint_window_sums, scratch_len, window_sums};
use countgrid_torus::{Torus, Windows};
use num_traits::Zero;
use proptest::array::uniform;
use proptest::collection::vec;
use proptest::prelude::*;

/// Windows that fit, on a torus of extents up to `most`; half of the sides are the whole axis or 1.
pub(crate) fn windows<const D: usize>(most: usize) -> impl Strategy<Value = Windows<D>> {
    let side = |extent| prop_oneof![2 => 1..=extent, 1 => Just(extent), 1 => Just(1)];
    uniform::<_, D>((1..=most).prop_flat_map(move |extent| (Just(extent), side(extent)))).prop_map(|axes| {
        let torus = Torus::new(axes.map(|(extent, _)| extent)).unwrap();
        Windows::new(torus, axes.map(|(_, side)| side)).unwrap()
    })
}

/// Windows and a table of some rows of small integers.
pub(crate) fn with_rows<const D: usize>(
    most: usize,
    rows: Range<usize>,
) -> impl Strategy<Value = (Windows<D>, Vec<i64>)> {
    (windows::<D>(most), rows)
        .prop_flat_map(|(windows, rows)| (Just(windows), vec(-1000..1000i64, rows * windows.torus().cells())))
}

/// Windows and one row of nonnegative values over 20 decades, with zeros among them.
pub(crate) fn with_decades<const D: usize>(most: usize) -> impl Strategy<Value = (Windows<D>, Vec<f64>)> {
    let value = prop_oneof![1 => Just(0.0), 6 => (-10.0..10.0f64).prop_map(|e| 10f64.powf(e))];
    windows::<D>(most)
        .prop_flat_map(move |windows| (Just(windows), vec(value.clone(), windows.torus().cells())))
}

/// `S f`, whatever was in the sums and the scratch.
pub(crate) fn sums<const D: usize, T: Copy + Zero>(windows: &Windows<D>, table: &[T], garbage: T) -> Vec<T> {
    let (mut sums, mut scratch) = (vec![garbage; table.len()], vec![garbage; scratch_len(windows)]);
    window_sums(windows, table, &mut sums, &mut scratch).unwrap();
    sums
}

/// `S'g`, likewise.
pub(crate) fn spread<const D: usize, T: Copy + Zero>(
    windows: &Windows<D>,
    table: &[T],
    garbage: T,
) -> Vec<T> {
    let (mut sums, mut scratch) = (vec![garbage; table.len()], vec![garbage; scratch_len(windows)]);
    adjoint_window_sums(windows, table, &mut sums, &mut scratch).unwrap();
    sums
}

/// `f` moved by `offset`: what was at cell `i` is at `i + offset`.
pub(crate) fn translated<const D: usize, T: Copy>(torus: &Torus<D>, f: &[T], offset: [isize; D]) -> Vec<T> {
    let mut moved = f.to_vec();
    for (cell, &value) in f.iter().enumerate() {
        moved[torus.translate(cell, offset)] = value;
    }
    moved
}

/// `f` with every axis reversed.
pub(crate) fn reversed<T: Copy>(f: &[T]) -> Vec<T> {
    f.iter().rev().copied().collect()
}
