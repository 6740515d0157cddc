use countgrid_torus::Windows;
use num_traits::Zero;

use crate::LengthError;
use crate::line::Ring;

/// Sides up to this one are summed directly, left to right; longer ones by doubling.
const DIRECT: usize = 8;

/// One axis of the torus that a table lies on, with the window's side along it.
///
/// All of them, as [`axes`] gives them, say what window sums need, whatever their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    extent: usize, // cells along the axis
    stride: usize, // from one of them to the next
    side: usize,   // cells of a window along the axis, at most the extent
}

/// Which windows a cell sums over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The window that starts at the cell: `S`.
    Window,
    /// All windows that hold the cell: the adjoint `S'`.
    Spread,
}

/// The axes of a torus with windows, for [`sums_along`].
#[must_use]
pub fn axes<const D: usize>(windows: &Windows<D>) -> [Axis; D] {
    let (sides, extents, strides) = (windows.sides(), windows.torus().extents(), windows.torus().strides());
    core::array::from_fn(|d| Axis { extent: extents[d], stride: strides[d], side: sides[d] })
}

/// Elements of scratch that [`window_sums`] and [`spread_sums`] need, however many rows the table has.
#[must_use]
pub const fn scratch_len<const D: usize>(windows: &Windows<D>) -> usize {
    let (sides, mut passes, mut doubling, mut axis) = (windows.sides(), 0, false, 0);
    while axis < D {
        passes += (sides[axis] > 1) as usize;
        doubling |= sides[axis] > DIRECT;
        axis += 1;
    }
    planes(passes, doubling) * windows.torus().cells()
}

/// Planes of scratch: one to alternate with the sums, two more for doubling.
const fn planes(passes: usize, doubling: bool) -> usize {
    if doubling { 3 } else { (passes > 1) as usize }
}

/// `(S f)_k = ∑_o f_{k+o}`, `0 ≤ o_d < W_d`, for every row `f` of a `[row][cell]` table.
///
/// # Errors
/// [`LengthError`], before anything is written.
pub fn window_sums<const D: usize, T: Copy + Zero>(
    windows: &Windows<D>,
    table: &[T],
    sums: &mut [T],
    scratch: &mut [T],
) -> Result<(), LengthError> {
    out_of_line(&axes(windows), Way::Window, table, sums, scratch)
}

/// `(S'g)_i = ∑_o g_{i-o}`, `0 ≤ o_d < W_d`, for every row `g` of a `[row][cell]` table: the adjoint of
/// [`window_sums`].
///
/// # Errors
/// [`LengthError`], before anything is written.
pub fn spread_sums<const D: usize, T: Copy + Zero>(
    windows: &Windows<D>,
    table: &[T],
    sums: &mut [T],
    scratch: &mut [T],
) -> Result<(), LengthError> {
    out_of_line(&axes(windows), Way::Spread, table, sums, scratch)
}

/// One copy per element type, for all shapes and both ways.
#[inline(never)]
fn out_of_line<T: Copy + Zero>(
    axes: &[Axis],
    way: Way,
    table: &[T],
    sums: &mut [T],
    scratch: &mut [T],
) -> Result<(), LengthError> {
    sums_along(axes, way, table, sums, scratch)
}

/// [`window_sums`] or [`spread_sums`] with the shape as data, inlined into the caller: for one who compiles
/// it for a wider instruction set. The last axis is fastest.
///
/// # Errors
/// [`LengthError`], before anything is written.
#[inline(always)]
pub fn sums_along<T: Copy + Zero>(
    axes: &[Axis],
    way: Way,
    table: &[T],
    sums: &mut [T],
    scratch: &mut [T],
) -> Result<(), LengthError> {
    let cells = axes.iter().fold(1, |cells: usize, axis| cells.saturating_mul(axis.extent)).max(1);
    let passes = axes.iter().filter(|axis| axis.side > 1).count();
    let needed = planes(passes, axes.iter().any(|axis| axis.side > DIRECT)).saturating_mul(cells);
    if !table.len().is_multiple_of(cells) {
        return Err(LengthError::Rows { cells, found: table.len() });
    }
    if sums.len() != table.len() {
        return Err(LengthError::Sums { expected: table.len(), found: sums.len() });
    }
    let found = scratch.len();
    let scratch = scratch.get_mut(..needed).ok_or(LengthError::Scratch { needed, found })?;
    for (row, sums) in table.chunks_exact(cells).zip(sums.chunks_exact_mut(cells)) {
        one_row(axes, way, row, sums, scratch);
    }
    Ok(())
}

/// The axes with a side above 1, last axis first. The passes alternate between the first plane of
/// scratch and the row of sums, so that the last one ends in the sums.
#[inline(always)]
fn one_row<T: Copy + Zero>(axes: &[Axis], way: Way, row: &[T], sums: &mut [T], scratch: &mut [T]) {
    let mut left = axes.iter().filter(|axis| axis.side > 1).count();
    if left == 0 {
        sums.copy_from_slice(row);
        return;
    }
    let (plane, doubles) = scratch.split_at_mut(row.len().min(scratch.len()));
    let mut first = true;
    for axis in axes.iter().rev().filter(|axis| axis.side > 1) {
        left -= 1;
        let (from, to): (&[T], &mut [T]) = match (first, left % 2 == 0) {
            (true, true) => (row, &mut *sums),
            (true, false) => (row, &mut *plane),
            (false, true) => (&*plane, &mut *sums),
            (false, false) => (&*sums, &mut *plane),
        };
        let ring = Ring { extent: axis.extent, stride: axis.stride, mirrored: way == Way::Spread };
        one_axis(ring, axis.side, from, to, doubles);
        first = false;
    }
}

#[inline(always)]
fn one_axis<T: Copy + Zero>(ring: Ring, side: usize, row: &[T], sums: &mut [T], doubles: &mut [T]) {
    let block = ring.extent * ring.stride;
    for (f, sums) in row.chunks_exact(block).zip(sums.chunks_exact_mut(block)) {
        match side {
            2 => direct::<T, 2>(ring, f, sums),
            3 => direct::<T, 3>(ring, f, sums),
            4 => direct::<T, 4>(ring, f, sums),
            5 => direct::<T, 5>(ring, f, sums),
            6 => direct::<T, 6>(ring, f, sums),
            7 => direct::<T, 7>(ring, f, sums),
            8 => direct::<T, 8>(ring, f, sums),
            _ => doubling(ring, side, f, sums, doubles),
        }
    }
}

#[inline(always)]
fn direct<T: Copy + Zero, const W: usize>(ring: Ring, f: &[T], sums: &mut [T]) {
    ring.combine([f; W], core::array::from_fn(|o| o), sums, |terms| {
        let mut sum = terms[0];
        for &term in &terms[1..] {
            sum = sum + term;
        }
        sum
    });
}

/// `side > 8`: sums over 2, 4, 8, ... cells, joined along the binary digits of the side, lowest first.
#[inline(always)]
fn doubling<T: Copy + Zero>(ring: Ring, side: usize, f: &[T], sums: &mut [T], doubles: &mut [T]) {
    let (power, spare) = doubles.split_at_mut(doubles.len() / 2);
    let (mut power, mut spare) = (&mut power[..f.len()], &mut spare[..f.len()]);
    power.copy_from_slice(f);
    let (mut length, mut covered) = (1, 0);
    loop {
        if side & length != 0 {
            if covered == 0 {
                sums.copy_from_slice(power);
            } else {
                // In place: the run that is written is the run that is read.
                spare.copy_from_slice(sums);
                ring.combine([spare, power], [0, covered], sums, |[a, b]| a + b);
            }
            covered += length;
        }
        if covered == side {
            return;
        }
        ring.combine([power, power], [0, length], spare, |[a, b]| a + b);
        (power, spare) = (spare, power);
        length *= 2;
    }
}
