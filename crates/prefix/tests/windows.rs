//! Window sums and their adjoint: the definition and the identities, in integers, so exactly.

use countgrid_prefix::{
    Direction, LengthError, adjoint_window_sums, axes, scratch_len, sums_along, window_sums,
};
use countgrid_torus::{Torus, Windows};
use proptest::prelude::*;

use crate::shapes;
use shapes::{spread, sums, translated, with_rows};

/// Row by row, output cell by output cell.
fn by_definition(cells: usize, table: &[i64], summed: impl Fn(usize) -> Vec<usize>) -> Vec<i64> {
    let row = |row: &[i64]| -> Vec<i64> {
        (0..cells).map(|k| summed(k).into_iter().map(|i| row[i]).sum()).collect()
    };
    table.chunks(cells).flat_map(row).collect()
}

fn definition<const D: usize>(windows: &Windows<D>, table: &[i64]) {
    let cells = windows.torus().cells();
    assert_eq!(sums(windows, table, -7), by_definition(cells, table, |k| windows.cells_of(k).collect()));
    assert_eq!(spread(windows, table, -7), by_definition(cells, table, |i| windows.starts_over(i).collect()));
}

/// Every side, so every way in which digits of a side can fall: terms were once lost from 32 on.
#[test]
fn every_side_of_a_circle() {
    let cells = 80usize;
    let table: Vec<i64> = (0..cells).map(|k| (k * k * 7919 % 1009) as i64 - 500).collect();
    for side in 1..=cells {
        definition(&Windows::new(Torus::new([cells]).unwrap(), [side]).unwrap(), &table);
    }
}

fn dot(f: &[i64], g: &[i64]) -> i64 {
    f.iter().zip(g).map(|(f, g)| f * g).sum()
}

/// `⟨g, S f⟩ = ⟨S'g, f⟩`, and what `S` does to constants and totals.
fn adjoint_and_totals<const D: usize>(windows: &Windows<D>, both: &[i64]) {
    let (f, g) = both.split_at(both.len() / 2);
    assert_eq!(dot(g, &sums(windows, f, 0)), dot(&spread(windows, g, 0), f));
    let (volume, ones) = (windows.volume() as i64, vec![1; f.len()]);
    assert!(sums(windows, &ones, 0).iter().chain(&spread(windows, &ones, 0)).all(|&v| v == volume));
    let total: i64 = f.iter().sum();
    assert_eq!(sums(windows, f, 0).iter().sum::<i64>(), volume * total);
    assert_eq!(spread(windows, f, 0).iter().sum::<i64>(), volume * total);
}

fn one_and_all<const D: usize>(torus: &Torus<D>, f: &[i64]) {
    let one = Windows::new(*torus, [1; D]).unwrap();
    assert_eq!(sums(&one, f, 0), f);
    assert_eq!(spread(&one, f, 0), f);
    assert_eq!(scratch_len(&one), 0);
    let all = Windows::new(*torus, torus.extents()).unwrap();
    let total = vec![f.iter().sum::<i64>(); f.len()];
    assert_eq!(sums(&all, f, 0), total);
    assert_eq!(spread(&all, f, 0), total);
}

/// Processing the axes in another order is permuting them, summing, and permuting back.
fn axes_in_any_order<const D: usize>(windows: &Windows<D>, f: &[i64], order: [usize; D]) {
    let permuted = |x: [usize; D]| order.map(|d| x[d]);
    let torus = windows.torus();
    let other = Torus::new(permuted(torus.extents())).unwrap();
    let other = Windows::new(other, permuted(windows.sides())).unwrap();
    let there = |cell| other.torus().cell_of(permuted(torus.coords_of(cell)));
    let mut moved = f.to_vec();
    f.iter().enumerate().for_each(|(cell, &value)| moved[there(cell)] = value);
    let (sums_here, sums_there) = (sums(windows, f, 0), sums(&other, &moved, 0));
    let (spread_here, spread_there) = (spread(windows, f, 0), spread(&other, &moved, 0));
    for cell in 0..torus.cells() {
        assert_eq!(sums_here[cell], sums_there[there(cell)]);
        assert_eq!(spread_here[cell], spread_there[there(cell)]);
    }
}

fn translation<const D: usize>(windows: &Windows<D>, f: &[i64], offset: [isize; D]) {
    let moved = |f: &[i64]| translated(windows.torus(), f, offset);
    assert_eq!(sums(windows, &moved(f), 0), moved(&sums(windows, f, 0)));
    assert_eq!(spread(windows, &moved(f), 0), moved(&spread(windows, f, 0)));
}

macro_rules! in_dimension {
    ($name:ident, $d:literal, $most:literal) => {
        mod $name {
            use super::*;
            proptest! {
                #[test]
                fn sums_follow_their_definition((windows, table) in with_rows::<$d>($most, 0..4)) {
                    definition(&windows, &table);
                }
                #[test]
                fn spread_is_the_adjoint_and_totals_are_kept((windows, table) in with_rows::<$d>($most, 2..3)) {
                    adjoint_and_totals(&windows, &table);
                }
                #[test]
                fn side_one_is_the_identity_and_full_sides_give_the_total(
                    (windows, table) in with_rows::<$d>($most, 1..2),
                ) {
                    one_and_all(windows.torus(), &table);
                }
                #[test]
                fn axes_may_be_processed_in_any_order(
                    (windows, table) in with_rows::<$d>($most, 1..2),
                    order in Just(std::array::from_fn::<usize, $d, _>(|d| d)).prop_shuffle(),
                ) {
                    axes_in_any_order(&windows, &table, order);
                }
                #[test]
                fn both_commute_with_translations(
                    (windows, table) in with_rows::<$d>($most, 1..2),
                    offset in any::<[isize; $d]>(),
                ) {
                    translation(&windows, &table, offset);
                }
            }
        }
    };
}
in_dimension!(one_axis, 1, 150);
in_dimension!(two_axes, 2, 40);
in_dimension!(three_axes, 3, 11);
in_dimension!(five_axes, 5, 4);

#[test]
fn every_short_line_and_side() {
    for extent in 1..=70 {
        let f: Vec<i64> = (0..extent as i64).map(|i| 1 + i * i).collect();
        for side in 1..=extent {
            definition(&Windows::new(Torus::new([extent]).unwrap(), [side]).unwrap(), &f);
        }
    }
}

#[test]
fn wrong_lengths_are_refused_before_anything_is_written() {
    let windows = Windows::new(Torus::new([4, 5]).unwrap(), [2, 2]).unwrap();
    let (table, mut sums) = ([1i32; 41], [7; 41]);
    let mut scratch = [7; 20];
    assert_eq!(scratch_len(&windows), 20);
    for operator in [window_sums::<2, i32>, adjoint_window_sums] {
        let refused = [
            (operator(&windows, &table, &mut sums, &mut scratch), LengthError::Rows { cells: 20, found: 41 }),
            (
                operator(&windows, &table[..40], &mut sums, &mut scratch),
                LengthError::Sums { expected: 40, found: 41 },
            ),
            (
                operator(&windows, &table[..40], &mut sums[..40], &mut scratch[..19]),
                LengthError::Scratch { needed: 20, found: 19 },
            ),
        ];
        for (result, error) in refused {
            assert_eq!(result, Err(error));
        }
        assert!(sums.iter().chain(&scratch).all(|&x| x == 7));
    }
    let messages = [
        (LengthError::Rows { cells: 20, found: 41 }, "the table has 41 elements, needs a multiple of 20"),
        (LengthError::Sums { expected: 40, found: 41 }, "the sums have 41 elements, need 40"),
        (LengthError::Scratch { needed: 20, found: 19 }, "the scratch has 19 elements, needs at least 20"),
        (LengthError::Axes, "not all axes of one torus, in their order"),
    ];
    for (error, text) in messages {
        assert_eq!(error.to_string(), text);
    }
}

/// A plane if there are several passes; for a side above 8 the ring that is unrolled, once by fours and once more by
/// sixteens from 32 on, and its ends: three runs each.
#[test]
fn scratch_is_what_the_longest_pass_takes() {
    let needed = |extents, sides| scratch_len(&Windows::new(Torus::new(extents).unwrap(), sides).unwrap());
    assert_eq!(needed([10, 7], [5, 1]), 0);
    assert_eq!(needed([10, 7], [8, 1]), 0);
    assert_eq!(needed([10, 7], [1, 7]), 0);
    assert_eq!(needed([10, 7], [5, 7]), 70);
    assert_eq!(needed([12, 3], [9, 1]), 3 * (12 + 5) + 3 * 6);
    assert_eq!(needed([40, 3], [31, 1]), 3 * (40 + 27) + 3 * 6);
    assert_eq!(needed([40, 3], [33, 1]), 3 * (40 + 29) + 3 * (40 + 17) + 3 * 6);
    assert_eq!(needed([40, 3], [33, 2]), 120 + 3 * (40 + 29) + 3 * (40 + 17) + 3 * 6);
    assert_eq!(needed([12, 40], [9, 33]), 480 + 40 * (12 + 5) + 40 * 6);
}

/// Tables that no cache holds are asked for ahead, and rings of eight are then read as a whole.
#[test]
fn large_tables_follow_the_definition() {
    fn large<const D: usize>(extents: [usize; D], sides: [usize; D]) {
        let windows = Windows::new(Torus::new(extents).unwrap(), sides).unwrap();
        let cells = windows.torus().cells();
        let table: Vec<i64> = (0..2 * cells).map(|i| (i * i % 1009) as i64 - 500).collect();
        definition(&windows, &table);
        let float: Vec<f32> = table.iter().map(|&x| x as f32).collect(); // sums are exact
        let mut found = vec![0.5; float.len()];
        let mut scratch = vec![0.5; scratch_len(&windows)];
        for (direction, expected) in [
            (Direction::Forward, sums(&windows, &table, 0)),
            (Direction::Adjoint, spread(&windows, &table, 0)),
        ] {
            sums_along(&axes(&windows), direction, &float, &mut found, &mut scratch).unwrap();
            assert!(found.iter().zip(expected).all(|(&found, expected)| found == expected as f32));
        }
    }
    large([9, 8192], [8, 1]); // 288 KiB of f32
    large([5, 8192], [1, 8]);
    large([5, 8192], [3, 2]);
    large([40, 1000], [9, 1]);
    large([40, 1000], [1, 33]);
}

#[test]
fn shape_as_data() {
    let windows = Windows::new(Torus::new([4, 5]).unwrap(), [2, 3]).unwrap();
    let table: Vec<f64> = (0..40).map(f64::from).collect();
    let (mut along, mut scratch) = (vec![7.0; 40], vec![7.0; scratch_len(&windows)]);
    let axes = axes(&windows);
    sums_along(&axes, Direction::Forward, &table, &mut along, &mut scratch).unwrap();
    assert_eq!(along, sums(&windows, &table, 0.0));
    sums_along(&axes, Direction::Adjoint, &table, &mut along, &mut scratch).unwrap();
    assert_eq!(along, spread(&windows, &table, 0.0));
    for part in [&axes[..1], &[axes[1], axes[0]], &[axes[0], axes[0], axes[1]]] {
        let refused = sums_along(part, Direction::Forward, &table, &mut along, &mut scratch);
        assert_eq!(refused, Err(LengthError::Axes));
    }
}
