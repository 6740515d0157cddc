//! Window sums along one axis, for sides above 8: by fours.

use num_traits::Zero;

use crate::lanes::{self, Pairs, PrefetchAhead, Terms};
use crate::ring::Ring;

/// Elements of scratch for a ring of `extent` runs of `stride` elements.
pub(crate) const fn scratch_len(extent: usize, stride: usize, side: usize) -> usize {
    let sums_of_four = (extent + side - 4) * stride;
    let sixteens = if side < 32 { 0 } else { sums_of_four - 12 * stride };
    // The first sum: below twice a ring, which has at most isize::MAX elements.
    sums_of_four.saturating_add(sixteens).saturating_add(6 * stride)
}

/// The summation tree of [`crate::window_sums`] for more than 8 terms.
///
/// `P_m` stands at the lowest of its `m` cells. The ring of them is unrolled, at its end or, if mirrored,
/// at its beginning, so that no `P` of a window wraps. The ring `f` is not: what of it wraps is in `ends`.
#[inline(always)]
pub(crate) fn sums_of_four<T: Copy + Zero, const MIRRORED: bool>(
    ring: Ring<MIRRORED>,
    side: usize,
    f: &[T],
    sums: &mut [T],
    scratch: &mut [T],
    ahead: PrefetchAhead<'_, T>,
) {
    let stride = ring.stride;
    let Some((ends, scratch)) = scratch.split_at_mut_checked(6 * stride) else { return };
    let Some((p, next)) = scratch.split_at_mut_checked(f.len() + (side - 4) * stride) else { return };
    let (mut p, mut next) = (p, next);
    wrap_around(stride, f, ends);
    first_sums_of_four(ring, side, f, ends, p, PrefetchAhead { written: &[], ..ahead });

    let singles = side % 4;
    let (sums_of_four, eights) = digits(side, 4);
    let mut covered = singles + 4 * sums_of_four + 8 * eights;
    let reach = singles.saturating_sub(1) * stride; // so far from the cell `f` itself is read, and wraps
    let cut = if MIRRORED { reach } else { f.len() - reach };
    let Some((low, high)) = sums.split_at_mut_checked(cut) else { return };
    for (from, part, wraps) in [(0, low, MIRRORED), (cut, high, !MIRRORED)] {
        let mut terms = Terms::new();
        for o in 0..singles {
            match (wraps, MIRRORED) {
                (false, false) => terms.push(f, o * stride),
                (false, true) => terms.push(f, reach - o * stride),
                (true, false) => terms.push(ends, 3 * stride - reach + o * stride),
                (true, true) => terms.push(ends, (3 - o) * stride),
            }
        }
        let p = p.get(from..).unwrap_or_default();
        let ahead = PrefetchAhead { read: &[], ..ahead }.skip(from);
        push_powers(ring, side, 4, singles, p, &mut terms);
        if stride == 1 {
            lanes::combine_sums_of_eight::<T, MIRRORED>(&terms, part, ahead);
        } else {
            lanes::combine(&terms, part, ahead);
        }
    }
    let mut m = 4;
    while covered < side {
        let Some(sums_of_four) = next.get_mut(..p.len() - 3 * m * stride) else { return };
        lanes::sum(shifted(p, m * stride), sums_of_four, Pairs, PrefetchAhead::NOTHING);
        (p, next, m) = (sums_of_four, p, 4 * m);
        let mut terms = Terms::new();
        push_powers(ring, side, m, covered, p, &mut terms);
        if covered == 0 {
            lanes::combine(&terms, sums, PrefetchAhead { read: &[], ..ahead });
        } else {
            lanes::combine_into(&terms, sums);
        }
        let (ones, twos) = digits(side, m);
        covered += (ones + 2 * twos) * m;
    }
}

/// How many `P_m` are added by themselves and how many in pairs: pairs only of the last power.
#[inline(always)]
fn digits(side: usize, m: usize) -> (usize, usize) {
    if side < 8 * m { (side / m % 2, side / (2 * m)) } else { (side / m % 4, 0) }
}

/// The digit of the power `m`, whose table is `p`, after `covered` cells.
#[inline(always)]
fn push_powers<'a, T: Copy + Zero, const MIRRORED: bool>(
    ring: Ring<MIRRORED>,
    side: usize,
    m: usize,
    covered: usize,
    p: &'a [T],
    terms: &mut Terms<'a, T>,
) {
    let on = |cells: usize, steps: usize| if MIRRORED { side - cells - steps } else { steps } * ring.stride;
    let (ones, twos) = digits(side, m);
    for n in 0..ones {
        terms.push(p, on(m, covered + n * m));
    }
    for n in 0..twos {
        terms.push_pair(p, on(2 * m, covered + (ones + 2 * n) * m), m * ring.stride);
    }
}

/// The last three runs of the ring and the first three.
#[inline(always)]
fn wrap_around<T: Copy>(stride: usize, f: &[T], ends: &mut [T]) {
    let Some((last, first)) = ends.split_at_mut_checked(3 * stride) else { return };
    lanes::copy(f.get(f.len() - last.len()..).unwrap_or_default(), last);
    lanes::copy(f, first);
}

/// `P_4` from `f`: where it does not wrap, around the seam, and once more what is unrolled.
#[inline(always)]
fn first_sums_of_four<T: Copy + Zero, const MIRRORED: bool>(
    ring: Ring<MIRRORED>,
    side: usize,
    f: &[T],
    ends: &[T],
    p: &mut [T],
    ahead: PrefetchAhead<'_, T>,
) {
    let (stride, unrolled) = (ring.stride, (side - 4) * ring.stride);
    let straight = f.len() - 3 * stride;
    let (from, seam) = if MIRRORED { (unrolled + 3 * stride, unrolled) } else { (0, straight) };
    if let Some(p) = p.get_mut(from..from + straight) {
        if stride == 1 {
            lanes::sums_of_four(f, p, ahead);
        } else {
            lanes::sum(shifted(f, stride), p, Pairs, ahead);
        }
    }
    if let Some(p) = p.get_mut(seam..seam + 3 * stride) {
        lanes::sum(shifted(ends, stride), p, Pairs, PrefetchAhead::NOTHING);
    }
    let Some((start, end)) = p.split_at_mut_checked(f.len()) else { return };
    if MIRRORED {
        lanes::copy(end, start);
    } else {
        lanes::copy(start, end);
    }
}

/// What is summed to the next power. Mirrored, the terms come the other way round; in pairs that changes
/// no bit: a + b = b + a.
#[inline(always)]
fn shifted<T>(p: &[T], by: usize) -> [&[T]; 4] {
    let mut terms = [p; 4];
    for (n, term) in terms.iter_mut().enumerate() {
        *term = p.get(n * by..).unwrap_or_default();
    }
    terms
}
