//! Box filters against their definition: every border, anchor, layout and type.

mod limits;

use countgrid_math::{Level, set_level};
use countgrid_prefix::testing::{BORDERS, Problem, problems};
use countgrid_prefix::{
    Accumulator, Anchor, Border, BoxFilter, FilterError, Mean, Moments, Summand, Table, TableMut, Variance,
};
use proptest::prelude::*;

/// A problem, and what is checked of it.
#[derive(Debug)]
struct Case<const D: usize>(Problem<D>);

impl<const D: usize> std::ops::Deref for Case<D> {
    type Target = Problem<D>;

    fn deref(&self) -> &Problem<D> {
        &self.0
    }
}

/// A filter of tables of `T` with sums in `A` and results in `O`; behind a pointer, so that what calls it is compiled once.
type Run<'a, T, A, O, const D: usize> =
    &'a dyn Fn(Table<'_, T, D>, TableMut<'_, O, D>, &mut [A]) -> Result<(), FilterError>;

fn cases<const D: usize>(most: usize) -> impl Strategy<Value = Case<D>> {
    problems(most).prop_map(Case)
}

impl<const D: usize> Case<D> {
    /// Runs a filter; then `check(window, count, result)` of every element, and nothing else is written.
    fn each<T: Copy, A: Accumulator, O: Copy + PartialEq + std::fmt::Debug>(
        &self,
        table: &[T],
        untouched: O,
        run: Run<'_, T, A, O, D>,
        check: &dyn Fn(&[T], u64, O),
    ) {
        let mut out = vec![untouched; self.elements(1)];
        let needed = self.filter().scratch_len::<A>(self.extents, self.channels);
        let read = || Table::strided(table, self.extents, self.channels, self.strides[0]).unwrap();
        let is_empty = self.extents.contains(&0);
        if !is_empty {
            let write = TableMut::strided(&mut out, self.extents, self.channels, self.strides[1]).unwrap();
            let short = run(read(), write, &mut vec![A::ZERO; needed - 1]);
            assert_eq!(short, Err(FilterError::Scratch { needed, found: needed - 1 }));
        }
        let write = TableMut::strided(&mut out, self.extents, self.channels, self.strides[1]).unwrap();
        run(read(), write, &mut vec![A::ZERO; needed]).unwrap();
        let mut written = vec![false; out.len()];
        for cell in self.cells() {
            for channel in 0..self.channels {
                let place: usize = (0..D).map(|d| cell[d] * self.strides[1][d]).sum::<usize>() + channel;
                let (window, count) = self.window(table, cell, channel);
                check(&window, count, out[place]);
                assert!(!std::mem::replace(&mut written[place], true));
            }
        }
        assert!(out.iter().zip(written).all(|(&out, written)| written || out == untouched));
    }

    fn integers<T, A>(&self, from: impl Fn(i32) -> T)
    where
        A: Accumulator + PartialEq + std::fmt::Debug + Default,
        T: Summand<A> + Into<i64> + Mean<A> + PartialEq + std::fmt::Debug + Default,
        i64: TryFrom<A>,
        f64: Mean<A>,
    {
        let (filter, table) = (self.filter(), self.read(from));
        let sum = |window: &[T]| window.iter().map(|&x| x.into()).sum::<i64>();
        self.each::<T, A, A>(
            &table,
            A::default(),
            &|table, out, scratch| filter.sums(table, out, scratch),
            &|window, _, found| assert_eq!(i64::try_from(found).ok(), Some(sum(window))),
        );
        self.each::<T, A, T>(
            &table,
            T::default(),
            &|table, out, scratch| filter.means(table, out, scratch),
            &|window, count, found| {
                let count = count as i64;
                let expected = if count == 0 { 0 } else { (2 * sum(window) + count).div_euclid(2 * count) };
                assert_eq!(found.into(), expected, "{window:?}");
            },
        );
        self.each::<T, A, f64>(
            &table,
            -1.0,
            &|table, out, scratch| filter.means(table, out, scratch),
            &|window, count, found| {
                assert_eq!(found.to_bits() << 1, (sum(window) as f64 / count as f64).to_bits() << 1);
            },
        );
    }

    /// The error is within what the documentation says.
    fn floats(&self) {
        let (filter, table) = (self.filter(), self.read(|x| (x as f32).exp2()));
        let n = filter.additions() as f64;
        let bound = n * 2f64.powi(-24) / (1.0 - n * 2f64.powi(-24));
        let sum = |window: &[f32]| window.iter().map(|&x| f64::from(x)).sum::<f64>();
        self.each::<f32, f32, f32>(
            &table,
            -1.0,
            &|table, out, scratch| filter.sums(table, out, scratch),
            &|window, _, found| {
                let exact = sum(window);
                // Those of the exact sum itself, in double, are far below.
                assert!((f64::from(found) - exact).abs() <= (bound + 1e-12) * exact, "{found} {exact}");
            },
        );
        self.each::<f32, f64, f32>(
            &table,
            -1.0,
            &|table, out, scratch| filter.means(table, out, scratch),
            &|window, count, found| {
                let exact = sum(window) / count as f64;
                let near = (f64::from(found) - exact).abs() <= 2f64.powi(-24) * (1.0 + 1e-6) * exact;
                assert!(near || count == 0 && found.is_nan());
            },
        );
    }

    fn variances<T, A>(&self, from: impl Fn(i32) -> T, unit_roundoff: f64)
    where
        T: Summand<Moments<A>> + Into<f64>,
        A: Accumulator,
        f64: Variance<A>,
    {
        let (filter, table) = (self.filter(), self.read(from));
        let n = filter.additions() as f64;
        self.each::<T, Moments<A>, f64>(
            &table,
            -1.0,
            &|table, out, scratch| filter.variances(table, out, scratch),
            &|window, count, found| {
                if count == 0 {
                    return assert!(found.is_nan());
                }
                let count = count as f64;
                let sum = |f: &dyn Fn(f64) -> f64| window.iter().map(|&x| f(x.into())).sum::<f64>() / count;
                let (mean, square) = (sum(&|x| x), sum(&|x| x * x));
                // In small integers and their squares the sums here are exact.
                let exact = square - mean * mean;
                let bound = (3.0 * n + 6.0) * unit_roundoff * square + 8.0 * f64::EPSILON * square;
                assert!(found >= 0.0 && (found - exact).abs() <= bound, "{found} {exact}");
            },
        );
    }
}

/// In every number of axes; of the types, one of each kind.
macro_rules! in_dimension {
    ($name:ident, $d:literal, $most:literal, $cases:literal) => {
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases($cases))]
                #[test]
                fn integers(case in cases::<$d>($most)) {
                    case.integers::<i8, i32>(|x| x as i8);
                }
                #[test]
                fn in_place_it_is_the_same(case in cases::<$d>(2 * $most)) {
                    in_place(&case);
                }
                #[test]
                fn floats(case in cases::<$d>($most)) {
                    case.floats();
                }
                #[test]
                fn variances(case in cases::<$d>($most)) {
                    case.variances::<f32, f64>(|x| x as f32, 2f64.powi(-53));
                }
            }
        }
    };
}
in_dimension!(one_axis, 1, 60, 60);
in_dimension!(two_axes, 2, 12, 40);
in_dimension!(three_axes, 3, 5, 12);

// The other types: what they are made of and summed in does not depend on the number of axes.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn small_integers(case in cases::<2>(12)) {
        case.integers::<u8, u32>(|x| x.unsigned_abs() as u8);
    }
    #[test]
    fn wide_integers(case in cases::<2>(12)) {
        case.integers::<u16, u64>(|x| x.unsigned_abs() as u16 * 1001);
        case.integers::<i16, i64>(|x| x as i16 * 601);
        case.integers::<i32, i32>(|x| x); // as the table says
    }
    #[test]
    fn variances_of_integers_and_in_f32(case in cases::<2>(12)) {
        case.variances::<u8, u32>(|x| x.unsigned_abs() as u8, 0.0);
        case.variances::<i16, i64>(|x| x as i16, 0.0);
        case.variances::<f32, f32>(|x| x as f32, 2f64.powi(-24));
    }
}

/// An image of bytes, large ones among them and long rows, and windows of a few columns, most of them about their cell.
fn small_windows() -> impl Strategy<Value = Case<2>> {
    let byte = prop_oneof![0i32..=255, Just(0), Just(255)];
    let shape =
        (1usize..=20, 1usize..=150, 1usize..=9, prop::sample::select(vec![1usize, 2, 3, 3, 5, 5, 7, 7, 9]));
    let border = || prop::sample::select(&BORDERS[..]);
    let from = || prop_oneof![3 => (0isize..20).prop_map(Ok), 1 => (-20isize..20).prop_map(Err)];
    (shape, [from(), from()], [border(), border()], [0usize..4, 0..4], prop::collection::vec(byte, 97))
        .prop_map(|((rows, columns, high, wide), from, borders, gaps, values)| {
            let sides = [high, wide];
            let offset = |d: usize| from[d].map_or_else(|any| any, |about| -(about % sides[d] as isize));
            let offsets = [offset(0), offset(1)];
            let strides = gaps.map(|gap| [columns + gap, 1]);
            Case(Problem { extents: [rows, columns], channels: 1, sides, offsets, borders, strides, values })
        })
}

impl<const D: usize> Case<D> {
    /// Means of bytes whose sums fit 16 bits, with each instruction set.
    fn bytes(&self, from: impl Fn(i32) -> u8) {
        let (filter, table) = (self.filter(), self.read(from));
        for level in Level::ALL {
            set_level(level); // for all threads, of which no result depends on it
            self.each::<u8, u16, u8>(
                &table,
                77,
                &|table, out, scratch| filter.means(table, out, scratch),
                &|window, count, found| {
                    let sum: u64 = window.iter().map(|&x| u64::from(x)).sum();
                    let expected = if count == 0 { 0 } else { (2 * sum + count) / (2 * count) };
                    assert_eq!(u64::from(found), expected, "{level} {window:?}");
                },
            );
        }
    }
}

impl<const D: usize> Case<D> {
    /// Means are quotients of the sums, bit for bit, which are formed in another way.
    fn mean_is_sum_over_count(&self) {
        let (filter, table) = (self.filter(), self.read(|x| (x as f32).exp2()));
        let sums = std::cell::RefCell::new(Vec::new());
        self.each::<f32, f32, f32>(
            &table,
            -1.0,
            &|table, out, scratch| filter.sums(table, out, scratch),
            &|_, count, sum| sums.borrow_mut().push(sum / count as f32),
        );
        for level in Level::ALL {
            set_level(level);
            let expected = sums.borrow();
            let expected = std::cell::RefCell::new(expected.iter());
            self.each::<f32, f32, f32>(
                &table,
                -1.0,
                &|table, out, scratch| filter.means(table, out, scratch),
                &|_, _, mean| {
                    let expected = expected.borrow_mut().next().unwrap();
                    assert!(
                        mean.to_bits() == expected.to_bits() || mean.is_nan() && expected.is_nan(),
                        "{level}"
                    );
                },
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn small_windows_of_floats(case in small_windows(), from in -50i32..50) {
        let values = case.values.iter().map(|x| x % 50 - from.abs() / 2).collect();
        Case(Problem { values, ..case.0 }).mean_is_sum_over_count();
    }
    #[test]
    fn small_windows_of_bytes(case in small_windows()) {
        case.bytes(|x| x as u8);
    }
    #[test]
    fn small_windows_of_bytes_with_means_in_floats(case in small_windows()) {
        let (filter, table) = (case.filter(), case.read(|x| x as u8));
        case.each::<u8, u16, f32>(
            &table,
            -1.0,
            &|table, out, scratch| filter.means(table, out, scratch),
            &|window, count, found| {
                // Both are below 2^24, so that the quotient is rounded once.
                let sum: u16 = window.iter().map(|&x| u16::from(x)).sum();
                assert_eq!(found.to_bits() << 1, (f32::from(sum) / count as f32).to_bits() << 1);
            },
        );
    }
    #[test]
    fn small_windows_of_bytes_in_any_layout(case in cases::<2>(12), sides in [0usize..4, 0..4]) {
        let sides = sides.map(|n| 2 * n + 1);
        Case(Problem { sides, ..case.0 }).bytes(|x| (x + 50) as u8 * 2 + 55);
    }
    #[test]
    fn small_windows_of_volumes_of_bytes(case in cases::<3>(6), sides in [0usize..3, 0..3, 1..4], about: bool) {
        let sides = sides.map(|n| 2 * n + 1);
        let offsets = if about { sides.map(|side| -(side as isize / 2)) } else { case.0.offsets };
        Case(Problem { sides, offsets, ..case.0 }).bytes(|x| (x + 50) as u8 * 2 + 55);
    }
}

fn means_of<T: Summand<A>, A: Accumulator, O: Mean<A> + Clone + Default, const D: usize>(
    filter: BoxFilter<D>,
    table: &[T],
    extents: [usize; D],
) -> Result<Vec<O>, FilterError> {
    let mut out = vec![O::default(); table.len()];
    let mut scratch = vec![A::ZERO; filter.scratch_len::<A>(extents, 1)];
    filter.means(Table::new(table, extents)?, TableMut::new(&mut out, extents)?, &mut scratch)?;
    Ok(out)
}

/// The same as from one table into another.
fn in_place<const D: usize>(case: &Case<D>) {
    let (filter, extents, channels) = (case.filter(), case.extents, case.channels);
    let length = extents.iter().product::<usize>() * channels;
    let table: Vec<i64> = case.values.iter().map(|&x| x.into()).cycle().take(length).collect();
    let mut sums = table.clone();
    let mut scratch = vec![-7; filter.scratch_len::<i64>(extents, channels)];
    let read = Table::interleaved(&table, extents, channels).unwrap();
    let write = TableMut::interleaved(&mut sums, extents, channels).unwrap();
    filter.sums(read, write, &mut scratch).unwrap();
    let mut own = table;
    let needed = filter.in_place_scratch_len(extents, channels);
    scratch.resize(needed, -7);
    filter.sums_in_place(&mut own, extents, channels, &mut scratch).unwrap();
    assert_eq!(own, sums);
    if length > 0 && needed > 0 {
        let refused = filter.sums_in_place(&mut own, extents, channels, &mut scratch[..needed - 1]);
        assert_eq!(refused, Err(FilterError::Scratch { needed, found: needed - 1 }));
    }
}

#[test] // every divisor, and every sum of so many bytes that are extreme or half way
fn means_of_bytes_are_rounded_exactly() {
    for side in 1..=300usize {
        for value in [0, 1, 2, 127, 128, 254, 255] {
            for other in [0, 1, 255] {
                let mut line = vec![value; side];
                for at in 0..side.min(40) {
                    line[at] = other;
                    let filter = BoxFilter::new([side]).unwrap().with_border(Border::Wrap);
                    let sum: u64 = line.iter().map(|&x| u64::from(x)).sum();
                    let expected = (2 * sum + side as u64) / (2 * side as u64);
                    let found = means_of::<u8, u32, u8, 1>(filter, &line, [side]).unwrap();
                    assert!(found.iter().all(|&mean| u64::from(mean) == expected));
                    match means_of::<u8, u16, u8, 1>(filter, &line, [side]) {
                        Ok(found) => assert!(found.iter().all(|&mean| u64::from(mean) == expected)),
                        Err(error) => {
                            assert!(matches!(error, FilterError::Overflow { .. }) && side > 257)
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn constants_stay_and_an_impulse_becomes_the_window() {
    for border in BORDERS {
        for side in [1, 2, 3, 5, 9, 41] {
            let filter = BoxFilter::new([side, side]).unwrap().with_border(border);
            let means = means_of::<f32, f32, f32, 2>(filter, &[7.0; 30 * 50], [30, 50]).unwrap();
            let inside = |mean: &f32| *mean == 7.0 || border == Border::Zero && (0.0..7.0).contains(mean);
            assert!(means.iter().all(inside), "{border:?} {side}");
        }
    }
    for (anchor, first) in [(Anchor::Start, 7), (Anchor::Centre, 9), (Anchor::End, 10)] {
        let mut line = [0_i32; 21];
        line[10] = 4;
        let filter = BoxFilter::new([4]).unwrap().with_anchor(anchor);
        let means: Vec<i32> = means_of::<i32, i64, i32, 1>(filter, &line, [21]).unwrap();
        let expected: Vec<i32> = (0..21).map(|i| i32::from((first..first + 4).contains(&i))).collect();
        assert_eq!(means, expected, "{anchor:?}");
    }
}

#[test] // nothing is carried on: what is not finite, or large, stays within its own windows
fn floats_do_not_reach_other_windows() {
    for bad in [f32::NAN, f32::INFINITY, 1e38] {
        let mut table = vec![1.0_f32; 64 * 64];
        table[32 * 64 + 32] = bad;
        for side in [3, 9, 20] {
            let filter = BoxFilter::new([side, side]).unwrap().with_anchor(Anchor::Start);
            let means = means_of::<f32, f32, f32, 2>(filter, &table, [64, 64]).unwrap();
            for (cell, mean) in means.iter().enumerate() {
                let near = |at: usize| (33 - side..=32).contains(&at);
                assert_eq!(*mean == 1.0, !(near(cell / 64) && near(cell % 64)), "{cell} {mean}");
            }
        }
    }
}

#[test]
fn sums_that_might_overflow_are_refused() {
    let filter = BoxFilter::new([300]).unwrap();
    fn refused<T>(magnitude: u64) -> Result<T, FilterError> {
        Err(FilterError::Overflow { cells: 300, magnitude })
    }
    assert_eq!(means_of::<u8, u16, u8, 1>(filter, &[255; 10], [10]), refused(255));
    assert_eq!(means_of::<u8, u16, u8, 1>(filter, &[218; 10], [10]), Ok(vec![218; 10])); // 65400
    assert_eq!(means_of::<i8, i16, i8, 1>(filter, &[-128; 10], [10]), refused(128));
    assert_eq!(
        means_of::<u64, u64, f64, 1>(filter, &[u64::MAX / 300 + 1; 4], [4]),
        refused(u64::MAX / 300 + 1)
    );
    assert!(means_of::<u64, u64, f64, 1>(filter, &[u64::MAX / 300; 4], [4]).is_ok());
    let all = BoxFilter::new([1 << 31, 1 << 31, 4]);
    assert_eq!(all, Err(FilterError::TooLarge));
}

#[test]
fn bad_shapes_are_refused() {
    use FilterError::{EmptySide, Length, Overlap, Shape, TooLarge};
    assert_eq!(BoxFilter::new([3, 0]), Err(EmptySide { axis: 1 }));
    assert_eq!(BoxFilter::new([usize::MAX]), Err(TooLarge));
    assert_eq!(BoxFilter::with_radii([usize::MAX]), Err(TooLarge));
    let filter = BoxFilter::new([3, 3]).unwrap();
    assert_eq!(filter.with_offsets([isize::MIN, 0]), Err(TooLarge));
    assert_eq!(filter.scratch_len::<u32>([usize::MAX; 2], 1), usize::MAX);
    assert_eq!(filter.scratch_len::<u32>([0, 3], 1), 0);
    let six = [0_u8; 6];
    assert_eq!(Table::new(&six, [2, 4]).err(), Some(Length { needed: 8, found: 6 }));
    assert_eq!(Table::new(&six, [usize::MAX, 0]).err(), Some(TooLarge));
    assert_eq!(Table::interleaved(&six, [1 << 40, 1 << 40], 3).err(), Some(TooLarge));
    assert_eq!(Table::strided(&six, [2, 2], 1, [usize::MAX, 1]).err(), Some(TooLarge));
    assert_eq!(Table::strided(&six, [2, 2], 1, [5, 1]).err(), Some(Length { needed: 7, found: 6 }));
    assert!(Table::strided(&six, [2, 2], 1, [0, 0]).is_ok()); // one value, seen everywhere
    let mut out = [0_u32; 6];
    assert_eq!(TableMut::strided(&mut out, [2, 2], 1, [1, 1]).err(), Some(Overlap));
    assert_eq!(TableMut::strided(&mut out, [2, 2], 2, [3, 1]).err(), Some(Overlap));
    let (read, write) = (Table::new(&six, [2, 3]).unwrap(), TableMut::new(&mut out, [3, 2]).unwrap());
    assert_eq!(filter.sums(read, write, &mut []), Err(Shape));
    let (read, write) = (Table::new(&six[..0], [0, 3]).unwrap(), TableMut::new(&mut [], [0, 3]).unwrap());
    assert_eq!(filter.sums::<u8, u32>(read, write, &mut []), Ok(()));
    for (error, text) in [
        (EmptySide { axis: 1 }, "the window has no cells along axis 1"),
        (Length { needed: 8, found: 6 }, "the slice has 6 elements, the table needs 8"),
        (Shape, "the two tables differ in extents or channels"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}
