//! Means of small windows of an image of bytes.
//!
//! Sums of windows of up to 257 bytes fit 16 bits. Two bytes side by side are read as one number of 16 bits, so what is
//! added up are bytes at even places and bytes at odd places, as they lie in a vector: nothing is moved from lane to
//! lane, neither where bytes become numbers of 16 bits nor where those become bytes again. Of the window of an even
//! cell and that of the odd one after it all bytes but the first and the last are the same, so two sums take no more
//! additions along a line than the window has columns.

use core::marker::PhantomData;

use countgrid_math::{Kernel, Level, dispatch};

use super::border::{Axis, Border};
use super::multiply::Multiply;

/// An image, a byte for each cell, that is filtered along both axes.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) stride: usize, // from a row to the next
    pub(super) rows: Axis,
    pub(super) columns: Axis,
}

impl Image<'_> {
    /// Cells of the window, if its sums and means can be formed here.
    #[inline]
    pub(super) fn count(&self) -> Option<u64> {
        let Self { rows, columns, .. } = self;
        let (from, to) = columns.inside();
        let is_whole = to - from == columns.extent;
        let counts_differ = rows.border == Border::Clip || columns.border == Border::Clip;
        let count = rows.side.checked_mul(columns.side)?;
        let is_small = count <= MOST && matches!(columns.side, 3 | 5 | 7);
        (is_whole && !counts_differ && is_small).then_some(count as u64)
    }

    #[inline(always)]
    fn row(&self, row: Option<usize>) -> Row<'_> {
        let from = row.unwrap_or(0) * self.stride;
        let bytes = self.bytes.get(from..from + self.columns.extent).unwrap_or_default();
        Row { bytes, mask: if row.is_some() { 0xFF } else { 0 } }
    }
}

/// Bytes of a window whose sum fits 16 bits, whatever they are.
const MOST: usize = u16::MAX as usize / u8::MAX as usize;
/// Elements of the longest vectors.
const VECTOR: usize = 32;
/// The most columns of a window.
const SIDE_MOST: usize = 7;

/// `out[row * stride + column]` becomes the mean by that division, of an image of which [`Image::count`] is known. `scratch`
/// has at least as many elements as windows see columns.
#[inline]
pub(super) fn means(image: Image<'_>, by: Multiply, scratch: &mut [u16], out: &mut [u8], stride: usize) {
    let side = image.columns.side;
    match side {
        3 => dispatch(Windows::<3> { image, by, scratch, out, stride, side: PhantomData }),
        5 => dispatch(Windows::<5> { image, by, scratch, out, stride, side: PhantomData }),
        _ => dispatch(Windows::<7> { image, by, scratch, out, stride, side: PhantomData }),
    }
}

struct Windows<'a, const SIDE: usize> {
    image: Image<'a>,
    by: Multiply,
    scratch: &'a mut [u16],
    out: &'a mut [u8],
    stride: usize,
    side: PhantomData<[(); SIDE]>,
}

/// A row of the image that enters or leaves the windows; of one beyond the image, of which nothing is seen, some other
/// with a mask of 0.
#[derive(Clone, Copy)]
struct Row<'a> {
    bytes: &'a [u8],
    mask: u16, // of a byte
}

#[inline(always)]
fn from<T>(values: &[T], at: usize) -> &[T] {
    values.get(at..).unwrap_or_default()
}

/// Adds pairs of bytes that enter and subtracts those that leave, modulo 2¹⁶.
///
/// The slices are arguments, of which the compiler knows that they do not overlap.
#[inline(always)]
fn exchange(even: &mut [u16], odd: &mut [u16], enters: &[[u8; 2]], leaves: &[[u8; 2]], masks: [u16; 2]) {
    let sums = even.iter_mut().zip(odd);
    for ((even, odd), (&enter, &leave)) in sums.zip(enters.iter().zip(leaves)) {
        let (enter, leave) = (u16::from_le_bytes(enter), u16::from_le_bytes(leave));
        *even = even.wrapping_add(enter & masks[0]).wrapping_sub(leave & masks[1]);
        *odd = odd.wrapping_add((enter >> 8) & masks[0]).wrapping_sub((leave >> 8) & masks[1]);
    }
}

/// What becomes of the sums of windows of `SIDE` columns, a pair at a time.
#[inline(always)]
fn write<const SIDE: usize>(even: &[u16], odd: &[u16], by: Multiply, pairs: &mut [[u8; 2]]) {
    macro_rules! pass {
        ($half:literal: $($at:literal)*) => {{
            // Of both windows.
            let common = odd.iter().zip(from(even, 1)).map(|(&a, &b)| a.wrapping_add(b));
            $(
                let terms = from(odd, $at).iter().zip(from(even, $at + 1));
                let common = common.zip(terms).map(|(sum, (&a, &b))| sum.wrapping_add(a).wrapping_add(b));
            )*
            let ends = even.iter().zip(from(odd, $half));
            for ((out, common), (&first, &last)) in pairs.iter_mut().zip(common).zip(ends) {
                let by = by.in_turn(common);
                let low = by.rounded(common.wrapping_add(first));
                let high = by.rounded(common.wrapping_add(last));
                *out = (u16::from(low) | u16::from(high) << 8).to_le_bytes();
            }
        }};
    }
    match SIDE {
        3 => pass!(1:),
        5 => pass!(2: 1),
        7 => pass!(3: 1 2),
        _ => (),
    }
}

/// Room for sums of `seen` places, and where the second half of them begins. If there is more room than is needed, element
/// `first` of both halves is where a vector may be read in one piece.
#[inline(always)]
fn two_parts(scratch: &mut [u16], seen: usize, first: usize) -> Option<(&mut [u16], usize)> {
    let evens = seen.div_ceil(2);
    let start = scratch
        .as_ptr()
        .align_offset(VECTOR * size_of::<u16>())
        .saturating_add(first.next_multiple_of(VECTOR) - first);
    let odds = evens.next_multiple_of(VECTOR);
    if scratch.len().checked_sub(start).is_some_and(|room| room >= odds + seen / 2) {
        return Some((scratch.get_mut(start..start + odds + seen / 2)?, odds));
    }
    Some((scratch.get_mut(..seen)?, evens))
}

impl<const SIDE: usize> Kernel for Windows<'_, SIDE> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        const { assert!(matches!(SIDE, 3 | 5 | 7)) };
        let Self { image, by, scratch, out, stride, .. } = self;
        let Image { rows, columns, .. } = image;
        let seen = columns.seen();
        // Sums of the places `0, 2, 4, ...` that windows see, and from `odds` on of `1, 3, 5, ...`; place 0 is the first of
        // the first window.
        let (first, to) = columns.inside();
        let Some((sums, odds)) = two_parts(scratch, seen, first.div_ceil(2)) else { return };
        sums.fill(0);
        // Places beyond the image, and within it before the first pair and after the last one, with the columns that
        // are seen there. Where none is seen sums stay 0.
        let before = first % 2;
        let after = (columns.extent - before) % 2;
        let (mut alone, mut known) = ([(0, 0); SIDE_MOST + 1], 0);
        for place in (0..first + before).chain(to - after..seen) {
            if let (Some(column), Some(alone)) = (columns.source(place), alone.get_mut(known)) {
                *alone = (if place % 2 == 0 { place / 2 } else { odds + place / 2 }, column);
                known += 1;
            }
        }
        let alone = alone.get(..known).unwrap_or_default();
        for at in 0..rows.seen() {
            let leaves = at.checked_sub(rows.side).and_then(|at| rows.source(at));
            let enters = rows.source(at);
            if enters != leaves {
                let (enters, leaves) = (image.row(enters), image.row(leaves));
                let masks = [enters.mask, leaves.mask];
                for &(index, column) in alone {
                    if let (Some(sum), Some(&enter), Some(&leave)) =
                        (sums.get_mut(index), enters.bytes.get(column), leaves.bytes.get(column))
                    {
                        let (enter, leave) = (u16::from(enter) & masks[0], u16::from(leave) & masks[1]);
                        *sum = sum.wrapping_add(enter).wrapping_sub(leave);
                    }
                }
                let Some((even, odd)) = sums.split_at_mut_checked(odds) else { return };
                let pairs = first.div_ceil(2);
                if let (Some(even), Some(odd)) = (even.get_mut(pairs..), odd.get_mut(pairs..)) {
                    let pairs = |row| from(row, before).as_chunks::<2>().0;
                    exchange(even, odd, pairs(enters.bytes), pairs(leaves.bytes), masks);
                }
            }
            let Some(row) = (at + 1).checked_sub(rows.side) else { continue };
            let Some(out) = out.get_mut(row * stride..row * stride + columns.extent) else { return };
            let (pairs, last) = out.as_chunks_mut::<2>();
            let done = pairs.len();
            let Some((even, odd)) = sums.split_at_checked(odds) else { return };
            write::<SIDE>(even, odd, by, pairs);
            if let Some(out) = last.first_mut() {
                let places =
                    from(even, done).iter().take(SIDE / 2 + 1).chain(from(odd, done).iter().take(SIDE / 2));
                *out = by.rounded(places.fold(0, |sum: u16, &place| sum.wrapping_add(place)));
            }
        }
    }
}
