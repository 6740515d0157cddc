//! Window sums on a torus and their adjoint, by additions only.

use countgrid_math::Kernel;
use countgrid_torus::Windows;
use num_traits::Zero;

use crate::LengthError;
use crate::eight::SumsOfEight;
use crate::lanes::{self, LANES, LeftToRight, PrefetchAhead, Tree};
use crate::long;
use crate::ring::Ring;

/// Sides up to this one are summed in one pass: 8 in pairs of pairs, shorter ones left to right. Longer ones are summed by fours, ring
/// after ring.
const DIRECT: usize = 8;
/// How far ahead the processor is asked to fetch at least, in bytes.
const PAGE: usize = 4096;
/// Tables up to so many bytes are taken to lie in a cache, together with their sums.
const CACHE: usize = 1 << 18;

/// One axis of the torus that a table lies on, with the window's side along it.
///
/// All axes together, as [`axes`] returns them, describe window sums in any dimension.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    extent: usize, // cells along the axis
    stride: usize, // from one of them to the next
    side: usize,   // cells of a window along the axis, at most the extent
}

impl Axis {
    /// Elements of scratch along the axis: an unrolled ring or two for a long side.
    const fn scratch(self) -> usize {
        if self.side <= DIRECT {
            return 0;
        }
        long::scratch_len(self.extent, self.stride, self.side)
    }
}

/// Which windows a cell sums over.
///
/// Example: [`sums_along`](crate::sums_along).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The window that starts at the cell: `S`, as in [`window_sums`].
    Forward,
    /// All windows that hold the cell: the adjoint `S'`, as in [`adjoint_window_sums`].
    Adjoint,
}

/// The axes of a torus with windows, for [`sums_along`](crate::sums_along).
#[must_use]
pub const fn axes<const D: usize>(windows: &Windows<D>) -> [Axis; D] {
    let (sides, extents, strides) = (windows.sides(), windows.torus().extents(), windows.torus().strides());
    let (mut axes, mut axis) = ([Axis { extent: 1, stride: 1, side: 1 }; D], 0);
    while axis < D {
        axes[axis] = Axis { extent: extents[axis], stride: strides[axis], side: sides[axis] };
        axis += 1;
    }
    axes
}

/// Elements of scratch that [`window_sums`] and [`adjoint_window_sums`] need, however many rows the table has.
///
/// One plane if two axes or more have a side above 1, and up to four more for a side above 8.
///
/// Example: [`BoxFilter::variances`](crate::BoxFilter::variances).
#[must_use]
pub const fn scratch_len<const D: usize>(windows: &Windows<D>) -> usize {
    scratch_along(&axes(windows), windows.torus().cells())
}

const fn scratch_along(axes: &[Axis], cells: usize) -> usize {
    let (mut passes, mut most, mut axis) = (0, 0, 0);
    while axis < axes.len() {
        let needed = axes[axis].scratch();
        passes += (axes[axis].side > 1) as usize;
        most = if needed > most { needed } else { most };
        axis += 1;
    }
    let plane = if passes > 1 { cells } else { 0usize };
    plane.saturating_add(most)
}

/// Window sums `(S f)_k = ∑_o f_{k+o}`, `0 ≤ o_d < W_d`, of every row `f` of a `[row][cell]` table.
///
/// `table` and `sums` hold any number of rows of [`cells`](countgrid_torus::Torus::cells) elements,
/// `scratch` at least [`scratch_len`]; what is in `sums` and `scratch` before does not matter. Counting
/// grids: `h = S π / V`.
///
/// # Summation tree
/// It depends on the window alone, never on the cell or the extents, so translating the input
/// translates the output bit for bit. One axis after the other, the last one first; an axis of side 1
/// is skipped. Along an axis of side `W`, with `f_k` short for the cell `k` steps on:
///
/// * `W < 8`: left to right, `((f_0 + f_1) + f_2) + ...`
/// * `W ≥ 8`: by fours, `P_1(k) = f_k`, `P_4m(k) = (P_m(k) + P_m(k + m)) + (P_m(k + 2m) + P_m(k + 3m))`, up
///   to the last `m` that has `2m ≤ W`. Then as many `P` as the digits of `W` to base 4 say, joined left to
///   right, the lowest digit first; but the last digit, which may be up to 7, counts pairs,
///   `P_2m(k) = P_m(k) + P_m(k + m)`, after one single `P_m` if it is odd. For `W = 25 = 1 + 3 · 8`:
///   `((P_1(0) + P_8(1)) + P_8(9)) + P_8(17)`; and for `W = 8` it is `P_8(0)`, in pairs of pairs.
///
/// # Accuracy
/// There is no subtraction, so sums of nonnegative terms are nonnegative and each keeps its relative
/// accuracy, independent of its neighbours: `|error| ≤ n u ∑|f| / (1 - n u)`, where `n` adds up, over the
/// axes, `W - 1` for a short side and for a long one the number of `P` joined, plus 2 for each step by
/// fours: `4 + 2` for `W = 25`.
///
/// # Overflow
/// Addition is `+` of the element type: of the primitive integers it panics on overflow in debug
/// builds and wraps in release builds. For wrapping in both use [`core::num::Wrapping`].
///
/// # Speed
/// One copy of the loops for each element type, compiled for the target as it is.
/// [`sums_along`](crate::sums_along) is for floats, with the best instruction set.
///
/// # Errors
/// [`LengthError`], before anything is written.
pub fn window_sums<const D: usize, T: Copy + Zero>(
    windows: &Windows<D>,
    table: &[T],
    sums: &mut [T],
    scratch: &mut [T],
) -> Result<(), LengthError> {
    along::<Inline, T>(&axes(windows), Direction::Forward, table, sums, scratch)
}

/// The adjoint `(S'g)_i = ∑_o g_{i-o}`, `0 ≤ o_d < W_d`, of every row `g` of a `[row][cell]` table.
///
/// `⟨g, S f⟩ = ⟨S'g, f⟩`. All properties of [`window_sums`] hold, with the mirrored tree, which starts
/// at the cell and goes backwards: `S'` is `S` with every axis reversed, bit for bit. Counting grids: the
/// posterior mass of the windows that hold a cell.
///
/// Example: [the crate's](crate).
///
/// # Errors
/// [`LengthError`], before anything is written.
pub fn adjoint_window_sums<const D: usize, T: Copy + Zero>(
    windows: &Windows<D>,
    table: &[T],
    sums: &mut [T],
    scratch: &mut [T],
) -> Result<(), LengthError> {
    along::<Inline, T>(&axes(windows), Direction::Adjoint, table, sums, scratch)
}

/// How the loops along one axis are run.
pub(crate) trait Runner {
    fn run(kernel: impl Kernel<Output = ()>);
}

/// The caller.
struct Inline;

impl Runner for Inline {
    #[inline(always)]
    fn run(kernel: impl Kernel<Output = ()>) {
        kernel.run();
    }
}

/// [`window_sums`] or [`adjoint_window_sums`] with the shape as data.
#[inline(never)]
pub(crate) fn along<R: Runner, T: Copy + Zero>(
    axes: &[Axis],
    direction: Direction,
    table: &[T],
    sums: &mut [T],
    scratch: &mut [T],
) -> Result<(), LengthError> {
    let mut cells = 1;
    for axis in axes.iter().rev() {
        if axis.stride != cells {
            return Err(LengthError::Axes);
        }
        cells *= axis.extent;
    }
    let needed = scratch_along(axes, cells);
    if !table.len().is_multiple_of(cells) {
        return Err(LengthError::Rows { cells, found: table.len() });
    }
    if sums.len() != table.len() {
        return Err(LengthError::Sums { expected: table.len(), found: sums.len() });
    }
    let found = scratch.len();
    let scratch = scratch.get_mut(..needed).ok_or(LengthError::Scratch { needed, found })?;
    let is_cached = size_of_val(table) <= CACHE;
    let mut from = 0;
    while from < table.len() {
        let Some((sums, later)) = sums.get_mut(from..).and_then(|sums| sums.split_at_mut_checked(cells))
        else {
            break;
        };
        let Some((row, rest)) = table.get(from..).and_then(|table| table.split_at_checked(cells)) else {
            break;
        };
        // Of short rows not the next one, which is read before it could be there.
        let skipped = PAGE / (cells * size_of::<T>()).max(1) * cells;
        let ahead = match is_cached {
            true => PrefetchAhead::NOTHING,
            false => PrefetchAhead { read: rest, written: later }.skip(skipped),
        };
        match direction {
            Direction::Forward => one_row::<R, T, false>(axes, row, sums, scratch, ahead),
            Direction::Adjoint => one_row::<R, T, true>(axes, row, sums, scratch, ahead),
        }
        from += cells;
    }
    Ok(())
}

/// The axes with a side above 1, last axis first. The passes alternate between the first plane of
/// scratch and the row of sums, so that the last one ends in the sums.
fn one_row<R: Runner, T: Copy + Zero, const MIRRORED: bool>(
    axes: &[Axis],
    row: &[T],
    sums: &mut [T],
    scratch: &mut [T],
    ahead: PrefetchAhead<'_, T>,
) {
    let passes = axes.iter().filter(|axis| axis.side > 1).count();
    if passes == 0 {
        lanes::copy(row, sums);
        return;
    }
    let plane = if passes > 1 { row.len() } else { 0 };
    let Some((plane, scratch)) = scratch.split_at_mut_checked(plane) else { return };
    let mut pass = 0;
    for axis in axes.iter().rev().filter(|axis| axis.side > 1) {
        pass += 1;
        let ring = Ring::<MIRRORED> { extent: axis.extent, stride: axis.stride };
        let last = (passes - pass) % 2 == 0;
        let ahead = PrefetchAhead {
            read: if pass == 1 { ahead.read } else { &[] },
            written: if pass == passes { ahead.written } else { &[] },
        };
        // One call for all cases, since all that is below may be inlined here.
        let (row, sums): (&[T], &mut [T]) = match (pass, last) {
            (1, true) => (row, &mut *sums),
            (1, false) => (row, &mut *plane),
            (_, true) => (&*plane, &mut *sums),
            (_, false) => (&*sums, &mut *plane),
        };
        match axis.side {
            2 => R::run(Direct::<T, 2, MIRRORED> { ring, row, sums, ahead }),
            3 => R::run(Direct::<T, 3, MIRRORED> { ring, row, sums, ahead }),
            4 => R::run(Direct::<T, 4, MIRRORED> { ring, row, sums, ahead }),
            5 => R::run(Direct::<T, 5, MIRRORED> { ring, row, sums, ahead }),
            6 => R::run(Direct::<T, 6, MIRRORED> { ring, row, sums, ahead }),
            7 => R::run(Direct::<T, 7, MIRRORED> { ring, row, sums, ahead }),
            8 => R::run(SumsOfEight::<T, MIRRORED> { ring, row, sums, ahead }),
            side => R::run(SumsOfFour { ring, side, row, sums, scratch, ahead }),
        }
    }
}

/// `W` terms, left to right, in one pass.
///
/// `#[inline(always)]` here and below, down to the loops, so that they are compiled for the instruction set of the calling
/// function, and plain loops: a closure, such as that of `for_each`, or the body of `zip` is shared by all callers when it
/// is not inlined, and compiled for the instruction set of none of them.
struct Direct<'a, T, const W: usize, const MIRRORED: bool> {
    ring: Ring<MIRRORED>,
    row: &'a [T],
    sums: &'a mut [T],
    ahead: PrefetchAhead<'a, T>,
}

impl<T: Copy + Zero, const W: usize, const MIRRORED: bool> Kernel for Direct<'_, T, W, MIRRORED> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { ring, row, sums, ahead } = self;
        let mut from = 0;
        while let Some((f, sums)) = ring.at(from, row, sums) {
            if ring.stride > 1 {
                let mut offsets = [0; W];
                for (o, offset) in offsets.iter_mut().enumerate() {
                    *offset = o;
                }
                ring.sum([f; W], offsets, sums, LeftToRight, ahead.skip(from));
            } else {
                line::<T, W, MIRRORED>(f, sums, LeftToRight, ahead.skip(from));
            }
            from += f.len();
        }
    }
}

/// By fours, ring after ring.
struct SumsOfFour<'a, T, const MIRRORED: bool> {
    ring: Ring<MIRRORED>,
    side: usize,
    row: &'a [T],
    sums: &'a mut [T],
    scratch: &'a mut [T],
    ahead: PrefetchAhead<'a, T>,
}

impl<T: Copy + Zero, const MIRRORED: bool> Kernel for SumsOfFour<'_, T, MIRRORED> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { ring, side, row, sums, scratch, ahead } = self;
        let mut from = 0;
        while let Some((f, sums)) = ring.at(from, row, sums) {
            long::sums_of_four(ring, side, f, sums, scratch, ahead.skip(from));
            from += f.len();
        }
    }
}

/// Along the last axis a piece between two wraps would be a single element. Instead, the chunk of sums
/// next to the seam is read from the two ends of the line, laid side by side.
#[inline(always)]
fn line<T: Copy + Zero, const W: usize, const MIRRORED: bool>(
    f: &[T],
    sums: &mut [T],
    tree: impl Tree<W>,
    ahead: PrefetchAhead<'_, T>,
) {
    if f.len() < 2 * LANES {
        return short_line::<T, W, MIRRORED>(f, sums, tree);
    }
    let (Some(first), Some(last)) = (f.first_chunk::<LANES>(), f.last_chunk::<LANES>()) else { return };
    let Some(far) = f.len().checked_sub(2 * LANES) else { return };
    ahead.fetch(0, f.len());
    let mut from = 0;
    while from < far + LANES {
        let at = if from < far { from } else { far };
        let Some(x) = f.get(at..).and_then(|x| x.first_chunk()) else { return };
        let at = if MIRRORED { at + LANES } else { at };
        let Some(sums) = sums.get_mut(at..).and_then(|sums| sums.first_chunk_mut()) else { return };
        *sums = lanes::neighbours::<T, W, MIRRORED>(x, tree);
        from += LANES;
    }
    let ends = [*last, *first];
    let near = if MIRRORED { sums.first_chunk_mut() } else { sums.last_chunk_mut() };
    if let (Some(x), Some(near)) = (ends.as_flattened().first_chunk(), near) {
        *near = lanes::neighbours::<T, W, MIRRORED>(x, tree);
    }
}

#[inline(always)]
pub(crate) fn short_line<T: Copy + Zero, const W: usize, const MIRRORED: bool>(
    f: &[T],
    sums: &mut [T],
    tree: impl Tree<W>,
) {
    for (k, sum) in sums.iter_mut().enumerate() {
        let (mut terms, mut at) = ([[T::zero()]; W], k);
        for term in &mut terms {
            let Some(&next) = f.get(at) else { return };
            *term = [next];
            at = match MIRRORED {
                true if at == 0 => f.len() - 1,
                true => at - 1,
                false if at + 1 == f.len() => 0,
                false => at + 1,
            };
        }
        [*sum] = tree.sum(terms);
    }
}
