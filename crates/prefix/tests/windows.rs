//! Window sums and their adjoint against their definitions.

use core::ops::AddAssign;

use countgrid_prefix::{scratch_len, spread_sums, window_sums};
use countgrid_torus::Windows;
use num_traits::Zero;
use proptest::prelude::*;

mod shapes;
use shapes::with_rows;

fn sums<const D: usize, T: Copy + Zero>(windows: &Windows<D>, table: &[T]) -> Vec<T> {
    let (mut sums, mut scratch) = (table.to_vec(), vec![T::zero(); scratch_len(windows)]);
    window_sums(windows, table, &mut sums, &mut scratch).unwrap();
    sums
}

fn spread<const D: usize, T: Copy + Zero>(windows: &Windows<D>, table: &[T]) -> Vec<T> {
    let (mut sums, mut scratch) = (table.to_vec(), vec![T::zero(); scratch_len(windows)]);
    spread_sums(windows, table, &mut sums, &mut scratch).unwrap();
    sums
}

/// Row by row, output cell by output cell.
fn by_definition<T: Copy + Zero + AddAssign>(
    cells: usize,
    table: &[T],
    summed: impl Fn(usize) -> Vec<usize>,
) -> Vec<T> {
    let mut sums = vec![T::zero(); table.len()];
    for (row, sums) in table.chunks(cells).zip(sums.chunks_mut(cells)) {
        for (k, sum) in sums.iter_mut().enumerate() {
            summed(k).into_iter().for_each(|i| *sum += row[i]);
        }
    }
    sums
}

fn definition<const D: usize>(windows: &Windows<D>, table: &[i64]) {
    let cells = windows.torus().cells();
    assert_eq!(sums(windows, table), by_definition(cells, table, |k| windows.cells_of(k).collect()));
    assert_eq!(spread(windows, table), by_definition(cells, table, |i| windows.starts_over(i).collect()));
}

macro_rules! in_dimension {
    ($name:ident, $d:literal, $most:literal) => {
        mod $name {
            use super::*;
            proptest! {
                #[test]
                fn sums_follow_their_definition((windows, table) in with_rows::<$d>($most)) {
                    definition(&windows, &table);
                }
            }
        }
    };
}
in_dimension!(one_axis, 1, 70);
in_dimension!(two_axes, 2, 24);
in_dimension!(three_axes, 3, 11);
in_dimension!(five_axes, 5, 4);
