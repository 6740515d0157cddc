//! Numbers that box filters state, and where they begin to refuse: worked out by hand.

use countgrid_prefix::testing::problems;
use countgrid_prefix::{Anchor, Border, BoxFilter, FilterError, Moments, Table, TableMut};
use proptest::strategy::Strategy;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::{BORDERS, Case, Problem};
use FilterError::{Length, Overflow, Overlap, TooLarge};

/// What every extent, side and offset stays at or below.
const LARGEST: usize = isize::MAX as usize / 4;

fn filter<const D: usize>(sides: [usize; D]) -> BoxFilter<D> {
    BoxFilter::new(sides).unwrap()
}

/// A slab, a line as windows see it, once for each power of four in their side, and its sums.
#[test]
fn scratch_of_integers() {
    assert_eq!(filter([5, 5]).scratch_len::<u16>([32, 32], 1), 32 + (32 + 4) + 32);
    assert_eq!(filter([5, 5]).scratch_len::<u16>([32, 32], 3), 3 * (32 + (32 + 4) + 32));
    assert_eq!(filter([9, 5]).scratch_len::<u16>([32, 32], 1), 32 + (32 + 4) + 32);
    assert_eq!(filter([1, 9]).scratch_len::<u16>([32, 32], 1), 32 + 2 * (32 + 8) + 32);
    assert_eq!(filter([1, 16]).scratch_len::<u16>([32, 32], 1), 32 + 3 * (32 + 15) + 32);
    assert_eq!(filter([3, 3, 3]).scratch_len::<u16>([4, 5, 6], 1), 5 * 6 + 6 + (6 + 2) + 6);
}

/// Of floats one slab more for each cell of a long window, or of a shorter table, and one.
#[test]
fn scratch_of_floats() {
    let line = (32 + 4) + 32;
    assert_eq!(filter([8, 5]).scratch_len::<f32>([32, 32], 1), 32 + line);
    assert_eq!(filter([9, 5]).scratch_len::<f32>([32, 32], 1), 32 + (9 + 1) * 32 + line);
    assert_eq!(filter([40, 5]).scratch_len::<f32>([32, 32], 1), 32 + (32 + 1) * 32 + line);
}

/// A few lines side by side, for the axis that takes most; none where the window of each cell is that cell.
#[test]
fn scratch_in_place() {
    assert_eq!(filter([1, 1]).in_place_scratch_len([10, 50], 1), 0);
    assert_eq!(filter([1]).with_offsets([1]).unwrap().in_place_scratch_len([10], 1), 10 + 10);
    assert_eq!(filter([3, 1]).in_place_scratch_len([10, 20], 1), 20 * (12 + 10));
    assert_eq!(filter([3, 1]).in_place_scratch_len([10, 10], 2), 20 * (12 + 10));
    assert_eq!(filter([3, 1]).in_place_scratch_len([10, 50], 1), 32 * (12 + 10));
    assert_eq!(filter([3, 3]).in_place_scratch_len([10, 50], 1), 32 * (12 + 10));
    assert_eq!(filter([3, 3]).in_place_scratch_len([2, 50], 1), 32 * (4 + 2));
    assert_eq!(filter([3, 3]).in_place_scratch_len([50, 2], 1), 2 * (52 + 50));
}

#[test]
fn scratch_of_empty_and_of_the_largest_tables() {
    let most = (LARGEST + 2) + LARGEST;
    assert_eq!(filter([3]).scratch_len::<u32>([LARGEST], 1), most);
    assert_eq!(filter([3]).scratch_len::<u32>([LARGEST + 1], 1), usize::MAX);
    assert_eq!(filter([3]).in_place_scratch_len([LARGEST], 1), most);
    assert_eq!(filter([3]).in_place_scratch_len([LARGEST + 1], 1), usize::MAX);
    assert_eq!(filter([3]).in_place_scratch_len([LARGEST + 2], 1), usize::MAX);
    assert_eq!(filter([3, 3]).in_place_scratch_len([0, 3], 1), 0);
    assert_eq!(filter([3, 3]).in_place_scratch_len([3, 0], 1), 0);
}

/// Up to 8 cells one after the other; then each digit of the side to base 4, after three for each digit but the last one.
#[test]
fn additions_on_the_longest_way() {
    for (side, additions) in
        [(1, 0), (2, 1), (8, 7), (9, 3 + 2), (16, 6), (63, 6 + 8), (64, 9), (255, 9 + 11)]
    {
        assert_eq!(filter([side]).additions(), additions, "{side}");
        assert_eq!(filter([1, side]).additions(), additions, "{side}");
    }
    // Along the earlier axes one after the other.
    assert_eq!(filter([9, 1]).additions(), 8);
    assert_eq!(filter([3, 5]).additions(), 2 + 4);
    assert_eq!(filter([3, 4, 9]).additions(), 2 + 3 + 5);
}

#[test]
fn radii_anchors_and_offsets_of_every_axis() {
    assert_eq!(BoxFilter::with_radii([2, 3]), BoxFilter::new([5, 7]));
    assert_eq!(BoxFilter::with_radii([0, 1, 4]), BoxFilter::new([1, 3, 9]));
    assert_eq!(BoxFilter::with_radii([LARGEST / 2]).map(|filter| filter.volume()), Ok(LARGEST as u64));
    assert_eq!(BoxFilter::with_radii([LARGEST / 2 + 1]), Err(TooLarge));
    assert_eq!(BoxFilter::with_radii([0, LARGEST / 2 + 1]), Err(TooLarge));

    let sides = filter([3, 6]);
    assert_eq!(sides.volume(), 18);
    let starts = [(Anchor::Start, [0, 0]), (Anchor::Centre, [-1, -3]), (Anchor::End, [-2, -5])];
    for (anchor, offsets) in starts {
        assert_eq!(Ok(sides.with_anchor(anchor)), sides.with_offsets(offsets), "{anchor:?}");
    }
    assert_eq!(sides, sides.with_anchor(Anchor::Centre));

    let most = LARGEST as isize;
    assert!(sides.with_offsets([most, -most]).is_ok());
    for offsets in [[most + 1, 0], [0, most + 1], [-most - 1, 0], [0, -most - 1]] {
        assert_eq!(sides.with_offsets(offsets), Err(TooLarge), "{offsets:?}");
    }
}

#[test]
fn the_largest_tables() {
    let none: [u8; 0] = [];
    // One axis is empty, so that a slice can hold them.
    assert!(Table::new(&none, [LARGEST, 0]).is_ok());
    assert_eq!(Table::new(&none, [LARGEST + 1, 0]).err(), Some(TooLarge));
    assert_eq!(Table::new(&none, [LARGEST + 2, 0]).err(), Some(TooLarge));
    assert!(Table::interleaved(&none, [LARGEST, 0], 4).is_ok());
    assert_eq!(Table::interleaved(&none, [LARGEST, 0], 5).err(), Some(TooLarge));
    assert!(Table::interleaved(&none, [0], LARGEST).is_ok());
    assert_eq!(Table::interleaved(&none, [0], LARGEST + 1).err(), Some(TooLarge));
    assert_eq!(Table::interleaved(&none, [0], LARGEST + 2).err(), Some(TooLarge));

    let half = isize::MAX as usize / 2 + 1;
    let last = Table::strided(&none, [2, 2], 1, [half, half - 2]).err();
    assert_eq!(last, Some(Length { needed: isize::MAX as usize, found: 0 }));
    assert_eq!(Table::strided(&none, [2, 2], 1, [half, half]).err(), Some(TooLarge));
    assert_eq!(Table::strided(&none, [2, 2], 2, [half, half - 1]).err(), Some(TooLarge));
}

#[test]
fn a_stride_steps_over_all_that_smaller_ones_reach() {
    let mut out = [0_u8; 40];
    for (extents, strides, accepted) in [
        ([2, 4], [7, 2], true),
        ([2, 4], [4, 2], false), // the third column of the first row is the first of the second
        ([4, 2], [2, 4], false),
        ([4, 2], [2, 7], true),
        ([1, 4], [0, 2], true), // nothing is that stride away
    ] {
        let error = TableMut::strided(&mut out, extents, 1, strides).err();
        assert_eq!(error, (!accepted).then_some(Overlap), "{extents:?} {strides:?}");
    }
}

#[test]
fn a_side_of_one_leaves_all_bits() {
    let table = [-0.0_f32, 2.5, f32::NEG_INFINITY, f32::MIN_POSITIVE / 4.0];
    for extents in [[1, 4], [4, 1], [2, 2]] {
        let same = filter([1, 1]);
        let (mut sums, mut scratch) = ([7.0; 4], vec![7.0; same.scratch_len::<f32>(extents, 1)]);
        let (read, write) =
            (Table::new(&table, extents).unwrap(), TableMut::new(&mut sums, extents).unwrap());
        same.sums(read, write, &mut scratch).unwrap();
        assert_eq!(sums.map(f32::to_bits), table.map(f32::to_bits), "{extents:?}");
    }
}

#[test]
fn sums_of_an_image_of_bytes_in_16_bits() {
    let corner = filter([3, 3]).with_border(Border::Zero);
    let (mut sums, mut scratch) = ([7_u16; 12], vec![7; corner.scratch_len::<u16>([3, 4], 1)]);
    let (read, write) = (Table::new(&[200_u8; 12], [3, 4]), TableMut::new(&mut sums, [3, 4]));
    corner.sums(read.unwrap(), write.unwrap(), &mut scratch).unwrap();
    assert_eq!(sums.map(|sum| sum / 200), [4, 6, 6, 4, /**/ 6, 9, 9, 6, /**/ 4, 6, 6, 4]);
    assert!(sums.iter().all(|sum| sum % 200 == 0));
}

/// One column, so that its stride may be anything: cells of two channels are no neighbours in a line all the same.
#[test]
fn two_channels_of_one_column() {
    let image = [1_u8, 2, 30, 40, 5, 6, 70, 80]; // 4 rows
    let same = filter([1, 3]).with_border(Border::Replicate);
    let (mut means, mut scratch) = ([7_u8; 8], vec![7_u16; same.scratch_len::<u16>([4, 1], 2)]);
    let read = Table::interleaved(&image, [4, 1], 2).unwrap();
    let write = TableMut::strided(&mut means, [4, 1], 2, [2, 1]).unwrap();
    same.means(read, write, &mut scratch).unwrap();
    assert_eq!(means, image);
}

#[test]
fn six_axes() {
    let extents = [2, 2, 2, 2, 3, 4];
    let strides = [96, 48, 24, 12, 4, 1];
    let case = Case(Problem {
        extents,
        channels: 1,
        sides: [2, 1, 2, 2, 2, 3],
        offsets: [0, 0, -1, 0, -1, -1],
        borders: BORDERS,
        strides: [strides; 2],
        values: (0..97).map(|i| i * i % 101 - 50).collect(),
    });
    let filter = case.filter();
    case.each::<i32, i64, i64>(
        &case.read(|x| x),
        -7,
        &|table, out, scratch| filter.sums(table, out, scratch),
        &|window, _, sum| assert_eq!(sum, window.iter().map(|&x| i64::from(x)).sum::<i64>()),
    );
}

/// 66,051 · 255² is the last that 32 bits hold.
#[test]
fn squares_that_might_overflow_are_refused() {
    let variance = |side: usize| {
        let filter = filter([side]);
        let mut scratch = vec![Moments::<u32>::default(); filter.scratch_len::<Moments<u32>>([1], 1)];
        let mut variance = [7.0_f64];
        let (read, write) = (Table::new(&[255_u8], [1]).unwrap(), TableMut::new(&mut variance, [1]).unwrap());
        filter.variances(read, write, &mut scratch).map(|()| variance)
    };
    assert_eq!(variance(66_051), Ok([0.0]));
    assert_eq!(variance(66_052), Err(Overflow { cells: 66_052, magnitude: 255 * 255 }));
}

/// Those of the documentation are among them.
#[test]
fn random_problems() {
    let mut runner = TestRunner::deterministic();
    let problems: Vec<Problem<2>> =
        (0..200).map(|_| problems::<2>(12).new_tree(&mut runner).unwrap().current()).collect();
    assert!(problems.iter().all(|problem| problem.extents.iter().all(|&extent| extent <= 12)));
    assert!(problems.iter().any(|problem| problem.extents.contains(&0)));
    assert!(problems.iter().any(|problem| problem.sides.iter().any(|&side| side > 12)));
    for problem in &problems {
        let (least, most) = (problem.values.iter().min(), problem.values.iter().max());
        assert!((-50..-25).contains(least.unwrap()) && (26..=50).contains(most.unwrap()));
        let table = problem.read(|x| x);
        assert_eq!(table.len(), problem.elements(0));
        assert!(table.iter().eq(problem.values.iter().cycle().take(table.len())));
    }
}
