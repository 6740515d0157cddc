//! Window sums along one axis, for sides of 8: in pairs of pairs, three additions a cell.
//!
//! `P_2(k) = f_k + f_{k+1}`, `P_4(k) = P_2(k) + P_2(k + 2)`, `P_8(k) = P_4(k) + P_4(k + 4)`. A sum of two or of four is of
//! several windows, and stays in registers from the first of them to the last. Mirrored the tree is the same, since `a + b = b + a`:
//! what is `P_8(k)` forward is the sum of cell `k + 7`.

use core::ops::Add;

use countgrid_math::{Kernel, Level};
use num_traits::Zero;

use crate::lanes::{self, LANES, PrefetchAhead, Tree, add_lanes, read, read_pair};
use crate::ring::Ring;
use crate::window;

/// Cells of a window.
const SIDE: usize = 8;
/// Sums along the last axis that are formed together, where a line has so many.
const LONG: usize = 4 * LANES;
/// Rings up to so many bytes are read run by run, in strips: they stay in a cache from one strip to the next.
const CACHE: usize = 1 << 18;

/// `((a + b) + (c + d)) + ((e + f) + (g + h))`
#[derive(Clone, Copy)]
struct PairsOfPairs;

impl Tree<SIDE> for PairsOfPairs {
    #[inline(always)]
    fn sum<T: Copy + Add<Output = T>, const L: usize>(
        self,
        [a, b, c, d, e, f, g, h]: [[T; L]; SIDE],
    ) -> [T; L] {
        let low = add_lanes(add_lanes(a, b), add_lanes(c, d));
        add_lanes(low, add_lanes(add_lanes(e, f), add_lanes(g, h)))
    }
}

/// Eight terms in one pass.
pub(crate) struct SumsOfEight<'a, T, const MIRRORED: bool> {
    pub(crate) ring: Ring<MIRRORED>,
    pub(crate) row: &'a [T],
    pub(crate) sums: &'a mut [T],
    pub(crate) ahead: PrefetchAhead<'a, T>,
}

impl<T: Copy + Zero, const MIRRORED: bool> Kernel for SumsOfEight<'_, T, MIRRORED> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let Self { ring, row, sums, ahead } = self;
        let mut from = 0;
        while let Some((f, sums)) = ring.at(from, row, sums) {
            let ahead = ahead.skip(from);
            match ring.stride {
                1 if f.len() >= 2 * LANES => line::<T, MIRRORED>(f, sums, ahead),
                1 => window::short_line::<T, SIDE, MIRRORED>(f, sums, PairsOfPairs),
                _ if size_of_val(f) > CACHE => {
                    ring.sum([f; SIDE], [0, 1, 2, 3, 4, 5, 6, 7], sums, PairsOfPairs, ahead)
                }
                16.. if size_of::<T>() <= 4 => strips::<T, 16, MIRRORED>(ring, f, sums, ahead),
                8.. => strips::<T, 8, MIRRORED>(ring, f, sums, ahead),
                _ => strips::<T, 1, MIRRORED>(ring, f, sums, ahead),
            }
            from += f.len();
        }
    }
}

/// A strip of `L` elements of every run after the other.
#[inline(always)]
fn strips<T: Copy + Zero, const L: usize, const MIRRORED: bool>(
    ring: Ring<MIRRORED>,
    f: &[T],
    sums: &mut [T],
    ahead: PrefetchAhead<'_, T>,
) {
    let Some(last) = ring.stride.checked_sub(L) else { return };
    let mut from = 0;
    while from < ring.stride {
        // The last one starts early enough to be whole.
        let at = if from < last { from } else { last };
        if strip::<T, L, MIRRORED>(ring, at, f, sums, ahead).is_none() {
            return;
        }
        from += L;
    }
}

/// What is known of the runs so far, and where the next one is.
struct Running<T, const L: usize> {
    last: [T; L],       // f, one run back
    twos: [[T; L]; 2],  // P_2, up to three runs back
    fours: [[T; L]; 4], // P_4, up to seven
    from: usize,        // the run to be read
    to: usize,          // the run whose sum comes next
}

/// One strip, beginning at element `at` of every run.
#[inline(always)]
fn strip<T: Copy + Zero, const L: usize, const MIRRORED: bool>(
    ring: Ring<MIRRORED>,
    at: usize,
    f: &[T],
    sums: &mut [T],
    ahead: PrefetchAhead<'_, T>,
) -> Option<()> {
    let stride = ring.stride;
    let mut first = [read::<T, L>(f, at)?; SIDE - 1];
    let mut k = 1;
    while k < SIDE - 1 {
        first[k] = read(f, k * stride + at)?;
        ahead.fetch(k * stride + at, L);
        k += 1;
    }
    let [a, b, c, d, e, x, last] = first;
    let [ab, bc, cd, de] = [add_lanes(a, b), add_lanes(b, c), add_lanes(c, d), add_lanes(d, e)];
    let twos = [add_lanes(e, x), add_lanes(x, last)];
    let fours = [add_lanes(ab, cd), add_lanes(bc, de), add_lanes(cd, twos[0]), add_lanes(de, twos[1])];
    let from = (SIDE - 1) * stride + at;
    let mut running = Running { last, twos, fours, from, to: if MIRRORED { from } else { at } };
    let mut left = ring.extent;
    while left >= 4 {
        running.step::<0, MIRRORED>(ring, at, f, sums, ahead)?;
        running.step::<1, MIRRORED>(ring, at, f, sums, ahead)?;
        running.step::<2, MIRRORED>(ring, at, f, sums, ahead)?;
        running.step::<3, MIRRORED>(ring, at, f, sums, ahead)?;
        left -= 4;
    }
    if left > 0 {
        running.step::<0, MIRRORED>(ring, at, f, sums, ahead)?;
    }
    if left > 1 {
        running.step::<1, MIRRORED>(ring, at, f, sums, ahead)?;
    }
    if left > 2 {
        running.step::<2, MIRRORED>(ring, at, f, sums, ahead)?;
    }
    Some(())
}

impl<T: Copy + Zero, const L: usize> Running<T, L> {
    /// The sum of one run, the `N`-th of four.
    #[inline(always)]
    fn step<const N: usize, const MIRRORED: bool>(
        &mut self,
        ring: Ring<MIRRORED>,
        at: usize,
        f: &[T],
        sums: &mut [T],
        ahead: PrefetchAhead<'_, T>,
    ) -> Option<()> {
        let next = read(f, self.from)?;
        ahead.fetch(self.from, L);
        let two = add_lanes(self.last, next);
        let four = add_lanes(self.twos[N % 2], two);
        *sums.get_mut(self.to..)?.first_chunk_mut()? = add_lanes(self.fours[N], four);
        (self.last, self.twos[N % 2], self.fours[N]) = (next, two, four);
        (self.from, self.to) = (self.from + ring.stride, self.to + ring.stride);
        if self.from >= ring.len() {
            self.from = at;
        }
        if self.to >= ring.len() {
            self.to = at;
        }
        Some(())
    }
}

/// Along the last axis. The chunk of sums next to the seam is read from the two ends of the line, laid side by side.
#[inline(always)]
fn line<T: Copy + Zero, const MIRRORED: bool>(f: &[T], sums: &mut [T], ahead: PrefetchAhead<'_, T>) {
    ahead.fetch(0, f.len());
    // Sums of windows that do not wrap: of the first cell on, or mirrored of the last cell of the first window on.
    let windows = f.len() - (SIDE - 1);
    let shift = if MIRRORED { SIDE - 1 } else { 0 };
    let (mut from, far) = (0, windows.saturating_sub(LONG));
    while from + 2 * LANES < windows && windows >= LONG {
        // The last one starts early enough to be whole.
        let at = if from < far { from } else { far };
        let _ = chunk::<T, 4>(f, at, sums, at + shift);
        from = at + LONG;
    }
    let far = windows - LANES;
    while from < windows {
        let at = if from < far { from } else { far };
        let _ = chunk::<T, 1>(f, at, sums, at + shift);
        from = at + LANES;
    }
    let Some(&first) = f.first() else { return };
    let mut ends = [[first; LANES]; 2];
    // The last eight cells and the first seven, or the last seven and the first eight.
    let low = if MIRRORED { SIDE - 1 } else { LANES };
    lanes::copy(f.get(f.len() - low..).unwrap_or_default(), ends.as_flattened_mut());
    lanes::copy(f, ends.as_flattened_mut().get_mut(low..).unwrap_or_default());
    let _ = chunk::<T, 1>(ends.as_flattened(), 0, sums, if MIRRORED { 0 } else { f.len() - LANES });
}

/// The sums of `N` times eight cells from `from` on and of the seven after them, written from `to` on.
#[inline(always)]
fn chunk<T: Copy + Zero, const N: usize>(f: &[T], from: usize, sums: &mut [T], to: usize) -> Option<()> {
    let end = N * LANES;
    let near = f.get(from..from + end + SIDE - 1)?;
    let (sums, _) = sums.get_mut(to..to + end)?.as_chunks_mut::<LANES>();
    let mut twos = [read_pair::<T, LANES>(near, 0, 1)?; N];
    let mut n = 1;
    while n < N {
        twos[n] = read_pair(near, LANES * n, 1)?;
        n += 1;
    }
    // Two on and four on from the last lanes; from the others, the next lanes have them.
    let mut fours = [add_lanes(twos[N - 1], read_pair(near, end - LANES + 2, 1)?); N];
    let beyond = add_lanes(read_pair(near, end - LANES + 4, 1)?, read_pair(near, end - LANES + 6, 1)?);
    n = 0;
    while n + 1 < N {
        fours[n] = add_lanes(twos[n], shifted::<T, 2>(&twos[n], &twos[n + 1]));
        n += 1;
    }
    for (n, sum) in sums.iter_mut().enumerate().take(N) {
        let next = if n + 1 < N { shifted::<T, 4>(&fours[n], &fours[n + 1]) } else { beyond };
        *sum = add_lanes(fours[n], next);
    }
    Some(())
}

/// The lanes `BY` on.
#[inline(always)]
fn shifted<T: Copy, const BY: usize>(lanes: &[T; LANES], next: &[T; LANES]) -> [T; LANES] {
    let mut both = [lanes[0]; 2 * LANES];
    both[..LANES].copy_from_slice(lanes);
    both[LANES..].copy_from_slice(next);
    let mut shifted = [lanes[0]; LANES];
    shifted.copy_from_slice(&both[BY..LANES + BY]);
    shifted
}
