//! Index arithmetic against its definition, in 1, 2, 3 and 5 dimensions.

use std::collections::BTreeSet;

use countgrid_torus::testing::{tori, windows};
use countgrid_torus::{ShapeError, Torus, Windows};
use proptest::array::uniform;
use proptest::prelude::*;

const HUGE: usize = isize::MAX as usize;

/// Coordinate plus offset modulo the extent, in integers that cannot overflow.
fn wrapped<const D: usize>(torus: &Torus<D>, coords: [usize; D], offset: [isize; D]) -> [usize; D] {
    let extents = torus.extents();
    std::array::from_fn(|d| {
        usize::try_from((coords[d] as i128 + offset[d] as i128).rem_euclid(extents[d] as i128)).unwrap()
    })
}

fn numbering<const D: usize>(torus: &Torus<D>, offset: [isize; D]) {
    let (extents, strides) = (torus.extents(), torus.strides());
    assert_eq!(torus.cells(), extents.iter().product());
    let mut counter = [0; D]; // counts like an odometer: row-major
    for cell in 0..torus.cells() {
        assert_eq!(torus.coords_of(cell), counter);
        assert_eq!(torus.cell_of(counter), cell);
        assert_eq!(counter.iter().zip(strides).map(|(c, s)| c * s).sum::<usize>(), cell);
        assert_eq!(torus.coords_of(cell + 3 * torus.cells()), counter);
        let moved = wrapped(torus, counter, offset);
        assert_eq!(torus.coords_of(torus.translate(cell, offset)), moved);
        assert_eq!(torus.translate(cell + torus.cells(), offset), torus.cell_of(moved));
        let axis = (0..D).rev().find(|&d| counter[d] + 1 < extents[d]).unwrap_or(0);
        counter[axis] += 1;
        counter[axis + 1..].fill(0);
    }
    assert_eq!(torus.coords_of(torus.cell_at(offset)), wrapped(torus, [0; D], offset));
}

fn distances<const D: usize>(torus: &Torus<D>, [a, b, c]: [usize; 3], offset: [isize; D]) {
    let (cells, extents) = (torus.cells(), torus.extents());
    let [a, b, c] = [a % cells, b % cells, c % cells];
    let (x, y) = (torus.coords_of(a), torus.coords_of(b));
    // The nearest of the images of b on the unrolled torus.
    let nearest = |d: usize| {
        (-1..=1).map(|turn| (x[d] as isize - y[d] as isize + turn * extents[d] as isize).unsigned_abs()).min()
    };
    let by_axis: [usize; D] = std::array::from_fn(|d| nearest(d).unwrap());
    assert_eq!(torus.axis_distance(a, b), by_axis);
    let squared = torus.distance_squared(a, b);
    assert_eq!(squared, by_axis.iter().map(|&d| (d * d) as u128).sum());
    // libm's square root is correctly rounded, as the host's is; below 2^53 the square is exact.
    assert_eq!(torus.distance(a, b), (squared as f64).sqrt());

    // A metric, in exact arithmetic: sqrt(p) <= sqrt(q) + sqrt(r) unless p - q - r > 2 sqrt(q r).
    assert_eq!(squared == 0, a == b);
    assert_eq!(squared, torus.distance_squared(b, a));
    let (q, r) = (torus.distance_squared(a, c), torus.distance_squared(c, b));
    assert!(squared <= q + r || (squared - q - r).pow(2) <= 4 * q * r, "{a} to {b} over {c}");
    let moved = |cell| torus.translate(cell, offset);
    assert_eq!(torus.distance_squared(moved(a), moved(b)), squared);
    assert!(squared <= extents.iter().map(|&e| ((e / 2) * (e / 2)) as u128).sum());
}

fn neighbours<const D: usize>(torus: &Torus<D>) {
    for cell in 0..torus.cells() {
        let mut left = torus.neighbours(cell);
        let found: Vec<usize> = left.clone().collect();
        for n in (0..=found.len()).rev() {
            assert_eq!(left.size_hint(), (n, Some(n)));
            assert_eq!(left.next().is_some(), n > 0);
        }
        assert_eq!(left.next(), None);
        // For each axis in turn, the one before and the one after.
        let along = (0..D)
            .flat_map(|axis| [-1, 1].map(|step| core::array::from_fn(|a| if a == axis { step } else { 0 })));
        let mut in_order: Vec<usize> = along.map(|offset| torus.translate(cell, offset)).collect();
        in_order.retain({
            let mut seen = BTreeSet::from([cell]);
            move |&other| seen.insert(other)
        });
        assert_eq!(found, in_order);
        let faces = (0..torus.cells()).filter(|&other| torus.distance_squared(cell, other) == 1);
        assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), faces.collect());
        assert_eq!(found.len(), found.iter().collect::<BTreeSet<_>>().len());
    }
}

fn windows_and_mirror<const D: usize>(windows: &Windows<D>, start: usize, offset: [isize; D]) {
    let (torus, sides) = (windows.torus(), windows.sides());
    let start = start % torus.cells();
    assert_eq!(windows.volume(), sides.iter().product());
    // Row-major offsets are the coordinates of a torus with the window's sides.
    let offsets = Torus::new(sides).unwrap();
    let offsets = (0..windows.volume()).map(|o| offsets.coords_of(o).map(|o| o as isize));
    assert!(windows.cells_of(start).eq(offsets.clone().map(|o| torus.translate(start, o))));
    assert!(windows.starts_over(start).eq(offsets.map(|o| torus.translate(start, o.map(|o| -o)))));
    for other in 0..torus.cells() {
        let held = windows.cells_of(start).any(|cell| cell == other);
        assert_eq!(windows.contains(start, other), held);
        assert_eq!(windows.starts_over(other).any(|k| k == start), held);
        assert_eq!(windows.contains(torus.translate(start, offset), torus.translate(other, offset)), held);
    }
    let mut cells = windows.cells_of(start);
    for n in (0..=windows.volume()).rev() {
        assert_eq!(cells.len(), n);
        assert_eq!(cells.next().is_some(), n > 0);
    }
    assert_eq!(windows.cells_of(start).collect::<BTreeSet<_>>().len(), windows.volume());
}

macro_rules! in_dimension {
    ($name:ident, $d:literal, $most:literal) => {
        mod $name {
            use super::*;
            proptest! {
                #[test]
                fn cells_and_coordinates(torus in tori::<$d>($most), offset in uniform::<_, $d>(any::<isize>())) {
                    numbering(&torus, offset);
                }
                #[test]
                fn distance_is_a_metric(
                    torus in tori::<$d>($most),
                    cells in uniform::<_, 3>(any::<usize>()),
                    offset in uniform::<_, $d>(any::<isize>()),
                ) {
                    distances(&torus, cells, offset);
                }
                #[test]
                fn neighbours_are_the_cells_at_distance_one(torus in tori::<$d>($most)) {
                    neighbours(&torus);
                }
                #[test]
                fn mirror_holds_the_windows_that_see_a_cell(
                    windows in windows::<$d>($most),
                    start in any::<usize>(),
                    offset in uniform::<_, $d>(any::<isize>()),
                ) {
                    windows_and_mirror(&windows, start, offset);
                }
            }
        }
    };
}
in_dimension!(one_axis, 1, 40);
in_dimension!(two_axes, 2, 9);
in_dimension!(three_axes, 3, 5);
in_dimension!(five_axes, 5, 3);

proptest! {
    #[test] // sums of coordinates, squares of distances: nothing overflows near the largest torus
    fn largest_torus(a in any::<usize>(), b in any::<usize>(), offset in any::<[isize; 3]>(), axis in 0..3usize) {
        let mut extents = [1; 3];
        extents[axis] = HUGE;
        let torus = Torus::new(extents).unwrap();
        for cell in [torus.cell_at(offset), torus.translate(a, offset), torus.cell_of([a, b, a])] {
            prop_assert!(cell < HUGE);
        }
        let along = (a % HUGE).abs_diff(b % HUGE);
        let squared = (along.min(HUGE - along) as u128).pow(2);
        prop_assert_eq!(torus.distance_squared(a, b), squared);
        prop_assert!(torus.distance(a, b).is_finite());
        let windows = Windows::new(torus, extents).unwrap();
        prop_assert!(windows.contains(a, b));
        prop_assert_eq!(windows.cells_of(a).len(), HUGE);
        prop_assert_eq!(windows.starts_over(a).nth(1).map(|k| torus.distance_squared(k, a)), Some(1));
    }
}

#[test]
fn refused_shapes() {
    assert_eq!(Torus::new([3, 0, 0]), Err(ShapeError::EmptyAxis { axis: 1 }));
    // An empty axis is named even where the axes before it are too many.
    assert_eq!(Torus::new([HUGE, HUGE, 0]), Err(ShapeError::EmptyAxis { axis: 2 }));
    assert_eq!(Torus::new([HUGE + 1]), Err(ShapeError::TooManyCells));
    assert_eq!(Torus::new([HUGE, 2]), Err(ShapeError::TooManyCells));
    assert!(Torus::new([HUGE, 1]).is_ok());
    let torus = Torus::new([4, 5]).unwrap();
    assert_eq!(Windows::new(torus, [1, 0]), Err(ShapeError::EmptyWindow { axis: 1 }));
    assert_eq!(Windows::new(torus, [5, 5]), Err(ShapeError::WindowTooLarge { axis: 0, side: 5, extent: 4 }));
    assert!(Windows::new(torus, [4, 5]).is_ok());
}

#[test]
fn errors_say_what_where_and_what_was_expected() {
    let messages = [
        (ShapeError::EmptyAxis { axis: 1 }, "axis 1 has no cells"),
        (ShapeError::EmptyWindow { axis: 2 }, "the window has side 0 along axis 2"),
        (
            ShapeError::WindowTooLarge { axis: 0, side: 5, extent: 4 },
            "the window has side 5 along axis 0, which has 4 cells",
        ),
        (ShapeError::TooManyCells, "more cells than can be addressed"),
        (ShapeError::Length { table: "pi", expected: 6, found: 5 }, "`pi` has 5 elements, needs 6"),
    ];
    for (error, text) in messages {
        assert_eq!(error.to_string(), text);
    }
    // What a compiler shows, which cannot format numbers.
    for (error, text) in [
        (ShapeError::EmptyAxis { axis: 1 }, "an axis has no cells"),
        (ShapeError::WindowTooLarge { axis: 0, side: 5, extent: 4 }, "a window is longer than its axis"),
        (ShapeError::Axes { most: 8, found: 0 }, "no axis, or more than there can be"),
    ] {
        assert_eq!(error.constant_reason(), text);
    }
}

#[test]
fn axes_that_are_not_given_come_first() {
    let of = |extents: &[usize], sides: &[usize]| Windows::<3>::from_slices(extents, sides);
    let same = Windows::new(Torus::new([1, 1, 7]).unwrap(), [1, 1, 2]).unwrap();
    assert_eq!(of(&[7], &[2]), Ok(same));
    let all = Windows::new(Torus::new([4, 5, 6]).unwrap(), [1, 2, 3]).unwrap();
    assert_eq!(of(&[4, 5, 6], &[1, 2, 3]), Ok(all));
    for (extents, sides, error) in [
        (&[][..], &[][..], ShapeError::Axes { most: 3, found: 0 }),
        (&[2; 4], &[1; 4], ShapeError::Axes { most: 3, found: 4 }),
        (&[2, 2], &[1], ShapeError::Length { table: "sides", expected: 2, found: 1 }),
        (&[2, 0], &[1, 1], ShapeError::EmptyAxis { axis: 1 }),
        (&[2, 2], &[1, 0], ShapeError::EmptyWindow { axis: 1 }),
        (&[2, 2], &[3, 1], ShapeError::WindowTooLarge { axis: 0, side: 3, extent: 2 }),
        (&[usize::MAX, 2], &[1, 1], ShapeError::TooManyCells),
    ] {
        assert_eq!(of(extents, sides), Err(error));
    }
}
