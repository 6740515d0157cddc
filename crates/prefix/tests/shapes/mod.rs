//! Random shapes and tables.

use countgrid_torus::{Torus, Windows};
use proptest::prelude::*;

/// Windows that fit, on a torus of extents up to `most`.
pub(crate) fn windows<const D: usize>(most: usize) -> impl Strategy<Value = Windows<D>> {
    proptest::array::uniform::<_, D>((1..=most).prop_flat_map(|extent| (Just(extent), 1..=extent))).prop_map(
        |axes| {
            let torus = Torus::new(axes.map(|(extent, _)| extent)).unwrap();
            Windows::new(torus, axes.map(|(_, side)| side)).unwrap()
        },
    )
}

/// Windows and a table of up to three rows of small integers.
pub(crate) fn with_rows<const D: usize>(most: usize) -> impl Strategy<Value = (Windows<D>, Vec<i64>)> {
    (windows::<D>(most), 0..=3usize).prop_flat_map(|(windows, rows)| {
        (Just(windows), proptest::collection::vec(-1000..1000i64, rows * windows.torus().cells()))
    })
}
