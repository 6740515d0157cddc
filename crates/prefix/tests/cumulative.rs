//! Prefix sums and box sums against their definitions.

use core::num::Wrapping;

use countgrid_prefix::{BoxSums, LengthError, exclusive, exclusive_in_place, inclusive, inclusive_in_place};
use countgrid_torus::Torus;
use proptest::prelude::*;

use crate::shapes;
use shapes::{sums, with_rows};

fn below<const D: usize>(torus: &Torus<D>, cell: usize, low: [usize; D], high: [usize; D]) -> bool {
    let coords = torus.coords_of(cell);
    (0..D).all(|d| low[d] <= coords[d] && coords[d] < high[d])
}

fn by_definition<const D: usize>(torus: &Torus<D>, table: &[i64], ahead: usize) -> Vec<i64> {
    let at = |row: &[i64], cell| -> i64 {
        let high = torus.coords_of(cell).map(|c| c + ahead);
        (0..row.len()).filter(|&j| below(torus, j, [0; D], high)).map(|j| row[j]).sum()
    };
    table.chunks(torus.cells()).flat_map(|row| (0..row.len()).map(move |cell| at(row, cell))).collect()
}

fn prefix_sums<const D: usize>(torus: &Torus<D>, table: &[i64]) {
    let mut found = vec![-7; table.len()];
    inclusive(torus, table, &mut found).unwrap();
    assert_eq!(found, by_definition(torus, table, 1));
    exclusive(torus, table, &mut found).unwrap();
    assert_eq!(found, by_definition(torus, table, 0));

    // In floats too, exclusive is inclusive moved by one, bit for bit.
    let mut floats: Vec<f32> = table.iter().map(|&x| x as f32 / 7.0).collect();
    let (mut before, strides) = (floats.clone(), torus.strides());
    inclusive_in_place(torus, &mut floats).unwrap();
    exclusive_in_place(torus, &mut before).unwrap();
    for (at, before) in before.iter().enumerate() {
        let inside = torus.coords_of(at).iter().all(|&c| c > 0);
        let expected = if inside { floats[at - strides.iter().sum::<usize>()] } else { 0.0 };
        assert_eq!(before.to_bits(), expected.to_bits());
    }
}

fn boxes<const D: usize>(torus: &Torus<D>, table: &[i64], low: [usize; D], high: [usize; D]) {
    let expected: i64 = (0..table.len()).filter(|&i| below(torus, i, low, high)).map(|i| table[i]).sum();
    let mut prefix = table.to_vec();
    inclusive_in_place(torus, &mut prefix).unwrap();
    assert_eq!(BoxSums::new(*torus, &prefix).unwrap().sum(low, high), expected);

    // Unsigned: no difference on the way is negative.
    let mut prefix: Vec<u64> = table.iter().map(|x| x.unsigned_abs()).collect();
    let absolute: u64 = (0..table.len()).filter(|&i| below(torus, i, low, high)).map(|i| prefix[i]).sum();
    inclusive_in_place(torus, &mut prefix).unwrap();
    assert_eq!(BoxSums::new(*torus, &prefix).unwrap().sum(low, high), absolute);

    // Wrapping: exact modulo 2^8, though the prefix sums overflow.
    let mut prefix: Vec<_> = table.iter().map(|&x| Wrapping(x as i8)).collect();
    inclusive_in_place(torus, &mut prefix).unwrap();
    assert_eq!(BoxSums::new(*torus, &prefix).unwrap().sum(low, high), Wrapping(expected as i8));
}

macro_rules! in_dimension {
    ($name:ident, $d:literal, $most:literal) => {
        mod $name {
            use super::*;
            proptest! {
                #[test]
                fn inclusive_and_exclusive((windows, table) in with_rows::<$d>($most, 0..4)) {
                    prefix_sums(windows.torus(), &table);
                }
                #[test]
                fn box_sums(
                    (windows, table) in with_rows::<$d>($most, 1..2),
                    low in any::<[u8; $d]>(),
                    high in any::<[usize; $d]>(),
                ) {
                    let extents = windows.torus().extents();
                    let low = std::array::from_fn(|d| usize::from(low[d]) % (extents[d] + 1));
                    boxes(windows.torus(), &table, low, high); // clipped
                    let high = std::array::from_fn(|d| high[d] % (extents[d] + 1));
                    boxes(windows.torus(), &table, low, high);
                }
                #[test] // a window that does not wrap is a box
                fn window_sums_are_box_sums((windows, table) in with_rows::<$d>($most, 1..2)) {
                    let torus = windows.torus();
                    let window_sums = sums(&windows, &table, 0);
                    let mut prefix = table;
                    inclusive_in_place(torus, &mut prefix).unwrap();
                    let boxes = BoxSums::new(*torus, &prefix).unwrap();
                    for (start, &sum) in window_sums.iter().enumerate() {
                        let low = torus.coords_of(start);
                        let high: [usize; $d] = std::array::from_fn(|d| low[d] + windows.sides()[d]);
                        if (0..$d).all(|d| high[d] <= torus.extents()[d]) {
                            prop_assert_eq!(boxes.sum(low, high), sum);
                        }
                    }
                }
            }
        }
    };
}
in_dimension!(one_axis, 1, 60);
in_dimension!(two_axes, 2, 12);
in_dimension!(three_axes, 3, 6);
in_dimension!(five_axes, 5, 3);

#[test]
fn wrong_lengths_are_refused_before_anything_is_written() {
    let torus = Torus::new([4, 5]).unwrap();
    let (table, mut sums) = ([1; 21], [7; 21]);
    assert_eq!(inclusive(&torus, &table, &mut sums), Err(LengthError::Rows { cells: 20, found: 21 }));
    assert_eq!(exclusive(&torus, &table, &mut sums), Err(LengthError::Rows { cells: 20, found: 21 }));
    assert_eq!(
        inclusive(&torus, &table[..20], &mut sums),
        Err(LengthError::Sums { expected: 20, found: 21 })
    );
    assert_eq!(
        exclusive(&torus, &table[..20], &mut sums),
        Err(LengthError::Sums { expected: 20, found: 21 })
    );
    assert_eq!(inclusive_in_place(&torus, &mut sums), Err(LengthError::Rows { cells: 20, found: 21 }));
    assert_eq!(exclusive_in_place(&torus, &mut sums), Err(LengthError::Rows { cells: 20, found: 21 }));
    assert_eq!(sums, [7; 21]);
    let refused = BoxSums::new(torus, &table).map(|_| ());
    assert_eq!(refused, Err(LengthError::Sums { expected: 20, found: 21 }));
}
