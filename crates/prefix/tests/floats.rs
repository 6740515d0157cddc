//! Window sums of floats: the documented tree, translation and mirror bit for bit; signs; accuracy.

use std::iter::repeat_n;

use countgrid_torus::{Torus, Windows};
use num_traits::float::FloatCore;
use proptest::prelude::*;

use crate::shapes;
use shapes::{reversed, spread, sums, translated, with_decades};

/// `f32` and `f64`: unit roundoff and conversion.
trait Float: FloatCore + core::fmt::Debug {
    const UNIT_ROUNDOFF: f64;
    fn rounded(x: f64) -> Self;
    fn exactly(self) -> f64;
}
impl Float for f32 {
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    fn rounded(x: f64) -> Self {
        x as f32
    }
    fn exactly(self) -> f64 {
        self.into()
    }
}
impl Float for f64 {
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;
    fn rounded(x: f64) -> Self {
        x
    }
    fn exactly(self) -> f64 {
        self
    }
}

fn rounded<T: Float>(f: &[f64]) -> Vec<T> {
    f.iter().map(|&x| T::rounded(x)).collect()
}

fn bits<T: Float>(f: &[T]) -> Vec<(u64, i16, i8)> {
    f.iter().map(|x| x.integer_decode()).collect()
}

/// The tree of the documentation, as written there: `f(k)` is the cell `k` steps on.
fn tree<T: Float>(side: usize, f: &dyn Fn(usize) -> T) -> T {
    fn power<T: Float>(cells: usize, at: usize, f: &dyn Fn(usize) -> T) -> T {
        if cells == 1 { f(at) } else { power(cells / 2, at, f) + power(cells / 2, at + cells / 2, f) }
    }
    if side < 8 {
        return (1..side).fold(f(0), |sum, o| sum + f(o));
    }
    let (mut sum, mut covered, mut m) = (None, 0, 1);
    while covered < side {
        let last = side < 8 * m;
        let ones = if last { side / m % 2 } else { side / m % 4 };
        let twos = if last { side / (2 * m) } else { 0 };
        for cells in repeat_n(m, ones).chain(repeat_n(2 * m, twos)) {
            let p = power(cells, covered, f);
            sum = Some(sum.map_or(p, |sum: T| sum + p));
            covered += cells;
        }
        m *= 4;
    }
    assert_eq!(covered, side);
    sum.unwrap()
}

/// One axis after the other, the last one first.
fn by_tree<const D: usize, T: Float>(windows: &Windows<D>, f: &[T], sign: isize) -> Vec<T> {
    (0..D).rev().fold(f.to_vec(), |f, axis| {
        let on = |k: usize, steps: usize| {
            let mut offset = [0; D];
            offset[axis] = sign * steps as isize;
            f[windows.torus().translate(k, offset)]
        };
        (0..f.len()).map(|k| tree(windows.sides()[axis], &|steps| on(k, steps))).collect()
    })
}

/// The documented bound on how many additions the longest path through the tree has.
fn depth<const D: usize>(windows: &Windows<D>) -> usize {
    let along = |side: usize| {
        if side < 8 {
            return side - 1;
        }
        let (mut steps, mut joined, mut m) = (0, 0, 1);
        while 8 * m <= side {
            (steps, joined, m) = (steps + 1, joined + side / m % 4, 4 * m);
        }
        2 * steps + joined + side / m % 2 + side / (2 * m)
    };
    windows.sides().into_iter().map(along).sum()
}

fn bit_for_bit<const D: usize, T: Float>(windows: &Windows<D>, f: &[f64], offset: [isize; D]) {
    let f = rounded::<T>(f);
    let (sums_f, spread_f) = (sums(windows, &f, T::nan()), spread(windows, &f, T::nan()));
    assert_eq!(bits(&sums_f), bits(&by_tree(windows, &f, 1)));
    assert_eq!(bits(&spread_f), bits(&by_tree(windows, &f, -1)));

    let moved = |f: &[T]| translated(windows.torus(), f, offset);
    assert_eq!(bits(&sums(windows, &moved(&f), T::nan())), bits(&moved(&sums_f)));
    assert_eq!(bits(&spread(windows, &moved(&f), T::nan())), bits(&moved(&spread_f)));
    assert_eq!(bits(&reversed(&sums(windows, &reversed(&f), T::nan()))), bits(&spread_f));
}

/// `hi + lo`, the sum in twice the precision of `f64`.
fn sum_in_double_double(terms: impl Iterator<Item = f64>) -> (f64, f64) {
    terms.fold((0.0, 0.0), |(hi, lo), x| {
        let sum = hi + x;
        let part = sum - hi;
        let error = (hi - (sum - part)) + (x - part);
        (sum, lo + error)
    })
}

fn accuracy<const D: usize, T: Float>(windows: &Windows<D>, f: &[f64]) {
    let f = rounded::<T>(f);
    // Each term passes at most `depth` additions, so with terms of one sign the relative error is at most
    // n u / (1 - n u). The reference is exact to about 2^-100, the comparison to 2^-52 of the bound.
    let n = depth(windows) as f64 * T::UNIT_ROUNDOFF;
    let bound = n / (1.0 - n) * (1.0 + 1e-12);
    let check = |found: T, terms: &mut dyn Iterator<Item = usize>| {
        let (hi, lo) = sum_in_double_double(terms.map(|i| f[i].exactly()));
        let error = ((found.exactly() - hi) - lo).abs();
        assert!(error <= bound * hi, "{found:?} for {hi}, error {error:e}, allowed {:e}", bound * hi);
        assert!(!found.is_sign_negative() && (found.is_zero() == (hi == 0.0)));
    };
    let (sums_f, spread_f) = (sums(windows, &f, T::nan()), spread(windows, &f, T::nan()));
    for cell in 0..f.len() {
        check(sums_f[cell], &mut windows.cells_of(cell));
        check(spread_f[cell], &mut windows.starts_over(cell));
    }
}

macro_rules! in_dimension {
    ($name:ident, $d:literal, $most:literal) => {
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(96))]
                #[test]
                fn tree_translation_and_mirror_bit_for_bit(
                    (windows, f) in with_decades::<$d>($most),
                    offset in any::<[isize; $d]>(),
                ) {
                    bit_for_bit::<$d, f32>(&windows, &f, offset);
                    bit_for_bit::<$d, f64>(&windows, &f, offset);
                }
                #[test]
                fn each_sum_keeps_its_relative_accuracy_and_sign((windows, f) in with_decades::<$d>($most)) {
                    accuracy::<$d, f32>(&windows, &f);
                    accuracy::<$d, f64>(&windows, &f);
                }
            }
        }
    };
}
in_dimension!(one_axis, 1, 150);
in_dimension!(two_axes, 2, 24);
in_dimension!(three_axes, 3, 10);
in_dimension!(five_axes, 5, 4);

/// Windows of eight cells along one axis, in rings of every length up to 50, of runs of one element and of fewer, as many and
/// more than lanes.
#[test]
fn eight_cells_along_the_first_the_middle_and_the_last_axis() {
    fn check<const D: usize>(extents: [usize; D], sides: [usize; D]) {
        let windows = Windows::new(Torus::new(extents).unwrap(), sides).unwrap();
        let cells = windows.torus().cells();
        let f: Vec<f64> = (0..cells).map(|i| (1.0 + (i * 7919 % 1013) as f64).powi(3).recip()).collect();
        bit_for_bit::<D, f32>(&windows, &f, [3; D]);
        bit_for_bit::<D, f64>(&windows, &f, [3; D]);
        let table: Vec<i64> = (0..cells as i64).map(|i| 1 + i * i).collect();
        let (sums_table, spread_table) = (sums(&windows, &table, -7), spread(&windows, &table, -7));
        for cell in 0..cells {
            assert_eq!(
                sums_table[cell],
                windows.cells_of(cell).map(|i| table[i]).sum::<i64>(),
                "{extents:?}"
            );
            assert_eq!(
                spread_table[cell],
                windows.starts_over(cell).map(|i| table[i]).sum::<i64>(),
                "{extents:?}"
            );
        }
    }
    for extent in 8..=50 {
        check([extent], [8]);
        check([2, extent], [1, 8]);
        check([extent, 3], [8, 1]);
    }
    for extent in [63, 64, 65, 71, 72, 103, 104] {
        check([extent], [8]);
    }
    for extent in 8..=14 {
        for run in [2, 7, 8, 9, 15, 16, 17, 24, 33] {
            check([extent, run], [8, 1]);
            check([2, extent, run], [1, 8, 1]);
        }
    }
    check([9, 10, 11], [8, 8, 8]);
    check([9, 8200], [8, 1]); // more than is read run by run
}

#[test]
fn axes_of_one_cell_can_be_dropped() {
    let f: Vec<f32> = (0..35).map(|i| 1.0 / (1.0 + i as f32)).collect();
    let flat = Windows::new(Torus::new([5, 7]).unwrap(), [3, 2]).unwrap();
    let deep = Windows::new(Torus::new([1, 5, 1, 7, 1]).unwrap(), [1, 3, 1, 2, 1]).unwrap();
    assert_eq!(bits(&sums(&flat, &f, 0.0)), bits(&sums(&deep, &f, 0.0)));
    assert_eq!(bits(&spread(&flat, &f, 0.0)), bits(&spread(&deep, &f, 0.0)));
}

#[test]
fn a_large_neighbour_does_not_drown_a_small_sum() {
    // The example of the literature's cumulative sums: one cell 9 decades above the rest.
    let mut f = vec![1e-9f32; 81];
    f[40] = 1.0;
    let windows = Windows::new(Torus::new([9, 9]).unwrap(), [3, 3]).unwrap();
    for (start, sum) in sums(&windows, &f, 0.0).into_iter().enumerate() {
        let exact = if windows.contains(start, 40) { 1.0 + 8e-9 } else { 9e-9f32 };
        assert!((sum - exact).abs() <= 4.0 * f32::EPSILON * exact); // 4 = depth of a 3 x 3 window
    }
}
