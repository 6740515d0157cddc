//! Sums of slices of one length, in chunks of a fixed number of lanes.
//!
//! A chunk is read before it is written, and the last, incomplete one starts early enough to be whole:
//! its first elements are computed twice, from the same terms. So a compiler turns long runs into
//! vectors, without a scalar rest and without checks for aliasing. Plain loops and no closures all the
//! way down: a closure is not always inlined, and then the instruction set of the caller does not
//! reach it.

use core::ops::Add;

use countgrid_math::prefetch;

/// Elements of a short run worked on together: one AVX or two SSE registers of `f32`.
pub(crate) const LANES: usize = 8;
/// Of a long run. A quarter faster than 8 in L2.
const LONG: usize = 32;

/// What a pass over some elements asks for while it is at them: the same elements of a later row, to be read and to be
/// written; or nothing.
pub(crate) struct PrefetchAhead<'a, T> {
    pub(crate) read: &'a [T],
    pub(crate) written: &'a [T],
}

impl<T> Clone for PrefetchAhead<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for PrefetchAhead<'_, T> {}

impl<T> PrefetchAhead<'_, T> {
    pub(crate) const NOTHING: Self = Self { read: &[], written: &[] };

    /// The elements from `from` on.
    #[inline(always)]
    pub(crate) fn skip(self, from: usize) -> Self {
        Self {
            read: self.read.get(from..).unwrap_or_default(),
            written: self.written.get(from..).unwrap_or_default(),
        }
    }

    /// Asks for `elements` from `at` on.
    #[inline(always)]
    pub(crate) fn fetch(self, at: usize, elements: usize) {
        fetch(self.read, at, elements);
        fetch(self.written, at, elements);
    }
}

#[inline(always)]
fn fetch<T>(row: &[T], at: usize, elements: usize) {
    if row.is_empty() {
        return;
    }
    let mut next = 0;
    while next < elements {
        prefetch(row, at + next);
        next += (64 / size_of::<T>().max(1)).max(1);
    }
}

/// How the terms of a sum are added up, lane by lane.
pub(crate) trait Tree<const N: usize>: Copy {
    fn sum<T: Copy + Add<Output = T>, const L: usize>(self, terms: [[T; L]; N]) -> [T; L];
}

/// `((a + b) + c) + ...`
#[derive(Clone, Copy)]
pub(crate) struct LeftToRight;

impl<const N: usize> Tree<N> for LeftToRight {
    #[inline(always)]
    fn sum<T: Copy + Add<Output = T>, const L: usize>(self, terms: [[T; L]; N]) -> [T; L] {
        const { assert!(N > 0) };
        let mut sum = terms[0];
        for &term in &terms[1..] {
            sum = add_lanes(sum, term);
        }
        sum
    }
}

/// `(a + b) + (c + d)`
#[derive(Clone, Copy)]
pub(crate) struct Pairs;

impl Tree<4> for Pairs {
    #[inline(always)]
    fn sum<T: Copy + Add<Output = T>, const L: usize>(self, [a, b, c, d]: [[T; L]; 4]) -> [T; L] {
        add_lanes(add_lanes(a, b), add_lanes(c, d))
    }
}

#[inline(always)]
pub(crate) fn add_lanes<T: Copy + Add<Output = T>, const L: usize>(mut a: [T; L], b: [T; L]) -> [T; L] {
    for (a, b) in a.iter_mut().zip(&b) {
        *a = *a + *b;
    }
    a
}

/// `out[i] = tree([terms[0][i], terms[1][i], ...])`. No term is shorter than `out`.
#[inline(always)]
pub(crate) fn sum<T: Copy + Add<Output = T>, const N: usize>(
    terms: [&[T]; N],
    out: &mut [T],
    tree: impl Tree<N>,
    ahead: PrefetchAhead<'_, T>,
) {
    match out.len() {
        LONG.. => sum_lanes::<T, N, LONG>(terms, out, tree, ahead),
        LANES.. => sum_lanes::<T, N, LANES>(terms, out, tree, ahead),
        _ => sum_lanes::<T, N, 1>(terms, out, tree, PrefetchAhead::NOTHING),
    }
}

#[inline(always)]
fn sum_lanes<T: Copy + Add<Output = T>, const N: usize, const L: usize>(
    mut terms: [&[T]; N],
    out: &mut [T],
    tree: impl Tree<N>,
    ahead: PrefetchAhead<'_, T>,
) {
    for term in &mut terms {
        let Some(exact) = term.get(..out.len()) else { return };
        *term = exact;
    }
    let (length, mut from) = (out.len(), 0);
    let Some(last) = length.checked_sub(L) else { return };
    while from < length {
        // Also what keeps the compiler from vectorising across chunks, with strided loads.
        let at = if from < last { from } else { last };
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<L>()) else { return };
        let mut chunks = [*out; N];
        for (chunk, term) in chunks.iter_mut().zip(&terms) {
            let Some(read) = term.get(at..).and_then(|term| term.first_chunk::<L>()) else { return };
            *chunk = *read;
        }
        ahead.fetch(at, L);
        *out = tree.sum(chunks);
        from += L;
    }
}

/// `out[i] = (f[i] + f[i + 1]) + (f[i + 2] + f[i + 3])`. `f` is longer than `out` by three.
///
/// The sums of two are at hand from the lanes next to them, which takes less than reading `f` four times: three of
/// four readings would not be aligned.
#[inline(always)]
pub(crate) fn sums_of_four<T: Copy + Add<Output = T>>(f: &[T], out: &mut [T], ahead: PrefetchAhead<'_, T>) {
    const N: usize = LONG / LANES;
    let (length, mut from) = (out.len(), 0);
    let Some(last) = length.checked_sub(LONG) else {
        let shifted = |by| f.get(by..).unwrap_or_default();
        return sum([f, shifted(1), shifted(2), shifted(3)], out, Pairs, ahead);
    };
    while from < length {
        let at = if from < last { from } else { last };
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<LONG>()) else { return };
        let Some(near) = f.get(at..at + LONG + 3) else { return };
        ahead.fetch(at, LONG);
        let Some(first) = read_pair::<T, LANES>(near, 0, 1) else { return };
        let mut twos = [first; N];
        let mut n = 1;
        while n < N {
            let Some(two) = read_pair(near, LANES * n, 1) else { return };
            twos[n] = two;
            n += 1;
        }
        // Two on from the last ones; from the others, the next lanes have them.
        let Some(beyond) = read_pair::<T, LANES>(near, LONG - LANES + 2, 1) else { return };
        for (n, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut next = beyond;
            if n + 1 < N {
                let mut both = [first[0]; 2 * LANES];
                both[..LANES].copy_from_slice(&twos[n]);
                both[LANES..].copy_from_slice(&twos[n + 1]);
                next.copy_from_slice(&both[2..LANES + 2]);
            }
            *out = add_lanes(twos[n], next);
        }
        from += LONG;
    }
}

/// The terms of a sum, in their order: up to six, then up to three sums of two.
pub(crate) struct Terms<'a, T> {
    ones: [&'a [T]; 6],
    twos: [&'a [T]; 3],
    counts: (usize, usize),
    apart: usize, // how far the second of two is from the first
}

impl<'a, T: Copy + Add<Output = T>> Terms<'a, T> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { ones: [&[]; 6], twos: [&[]; 3], counts: (0, 0), apart: 0 }
    }

    /// The next term is `table[from..]`.
    #[inline(always)]
    pub(crate) fn push(&mut self, table: &'a [T], from: usize) {
        if let (Some(term), Some(table)) = (self.ones.get_mut(self.counts.0), table.get(from..)) {
            *term = table;
            self.counts.0 += 1;
        }
    }

    /// The next term is `table[from..] + table[from + apart..]`.
    #[inline(always)]
    pub(crate) fn push_pair(&mut self, table: &'a [T], from: usize, apart: usize) {
        if let (Some(term), Some(table)) = (self.twos.get_mut(self.counts.1), table.get(from..)) {
            *term = table;
            self.counts.1 += 1;
            self.apart = apart;
        }
    }

    #[inline(always)]
    fn parts(&self) -> (&[&'a [T]], &[&'a [T]]) {
        let (ones, twos) = self.counts;
        (self.ones.get(..ones).unwrap_or_default(), self.twos.get(..twos).unwrap_or_default())
    }
}

#[inline(always)]
pub(crate) fn read<T: Copy, const L: usize>(table: &[T], at: usize) -> Option<[T; L]> {
    table.get(at..)?.first_chunk().copied()
}

#[inline(always)]
pub(crate) fn read_pair<T: Copy + Add<Output = T>, const L: usize>(
    table: &[T],
    at: usize,
    apart: usize,
) -> Option<[T; L]> {
    Some(add_lanes(read(table, at)?, read(table, at + apart)?))
}

/// `out[i] = (terms[0][i] + terms[1][i]) + ...`. No term is shorter than `out`.
#[inline(always)]
pub(crate) fn combine<T: Copy + Add<Output = T>>(
    terms: &Terms<'_, T>,
    out: &mut [T],
    ahead: PrefetchAhead<'_, T>,
) {
    match out.len() {
        LONG.. => combine_lanes::<T, LONG>(terms, out, ahead),
        LANES.. => combine_lanes::<T, LANES>(terms, out, ahead),
        _ => combine_lanes::<T, 1>(terms, out, PrefetchAhead::NOTHING),
    }
}

#[inline(always)]
fn combine_lanes<T: Copy + Add<Output = T>, const L: usize>(
    terms: &Terms<'_, T>,
    out: &mut [T],
    ahead: PrefetchAhead<'_, T>,
) {
    let (mut ones, mut twos) = terms.parts();
    let first = match (ones.split_first(), twos.split_first()) {
        (Some((first, rest)), _) => {
            ones = rest;
            (*first, false)
        }
        (None, Some((first, rest))) => {
            twos = rest;
            (*first, true)
        }
        (None, None) => return,
    };
    let (length, mut from) = (out.len(), 0);
    let Some(last) = length.checked_sub(L) else { return };
    while from < length {
        let at = if from < last { from } else { last };
        let sum = match first {
            (first, false) => read::<T, L>(first, at),
            (first, true) => read_pair(first, at, terms.apart),
        };
        let Some(mut sum) = sum else { return };
        ahead.fetch(at, L);
        for one in ones {
            let Some(term) = read(one, at) else { return };
            sum = add_lanes(sum, term);
        }
        for two in twos {
            let Some(term) = read_pair(two, at, terms.apart) else { return };
            sum = add_lanes(sum, term);
        }
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<L>()) else { return };
        *out = sum;
        from += L;
    }
}

/// [`combine`] where the sums of two lie side by side, eight elements each: the next one is eight elements on,
/// or back if mirrored, and the second of two is four on from the first. So most of them are at hand from
/// the lanes next to it.
#[inline(always)]
pub(crate) fn combine_sums_of_eight<T: Copy + Add<Output = T>, const MIRRORED: bool>(
    terms: &Terms<'_, T>,
    out: &mut [T],
    ahead: PrefetchAhead<'_, T>,
) {
    match terms.counts.1 {
        1 if out.len() >= LONG => combine_many::<T, 1, MIRRORED>(terms, out, ahead),
        2 if out.len() >= LONG => combine_many::<T, 2, MIRRORED>(terms, out, ahead),
        3 if out.len() >= LONG => combine_many::<T, 3, MIRRORED>(terms, out, ahead),
        _ => combine(terms, out, ahead),
    }
}

#[inline(always)]
fn combine_many<T: Copy + Add<Output = T>, const EIGHTS: usize, const MIRRORED: bool>(
    terms: &Terms<'_, T>,
    out: &mut [T],
    ahead: PrefetchAhead<'_, T>,
) {
    const { assert!(0 < EIGHTS && EIGHTS <= 3) };
    let (ones, twos) = terms.parts();
    let Some(&lowest) = (if MIRRORED { twos.last() } else { twos.first() }) else { return };
    let (length, mut from) = (out.len(), 0);
    let Some(last) = length.checked_sub(LONG) else { return };
    while from < length {
        let at = if from < last { from } else { last };
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<LONG>()) else { return };
        let Some(near) = lowest.get(at..at + LONG + 8 * EIGHTS - 4) else { return };
        ahead.fetch(at, LONG);
        let Some(first) = read_pair::<T, 8>(near, 0, 4) else { return };
        let mut eights = [first; LONG / 8 + 2];
        let mut n = 1;
        while n < LONG / 8 + EIGHTS - 1 {
            let Some(eight) = read_pair(near, 8 * n, 4) else { return };
            eights[n] = eight;
            n += 1;
        }
        let mut sums = [first; LONG / 8];
        let mut joined = 0;
        if let Some((first, rest)) = ones.split_first() {
            let Some(term) = read::<T, LONG>(first, at) else { return };
            let mut sum = term;
            for one in rest {
                let Some(term) = read(one, at) else { return };
                sum = add_lanes(sum, term);
            }
            for (to, from) in sums.iter_mut().zip(sum.as_chunks::<8>().0) {
                *to = *from;
            }
        } else {
            for (n, to) in sums.iter_mut().enumerate() {
                *to = eights[if MIRRORED { n + EIGHTS - 1 } else { n }];
            }
            joined = 1;
        }
        for e in 0..EIGHTS {
            if e < joined {
                continue;
            }
            for (n, sum) in sums.iter_mut().enumerate() {
                *sum = add_lanes(*sum, eights[if MIRRORED { n + EIGHTS - 1 - e } else { n + e }]);
            }
        }
        out.as_chunks_mut::<8>().0.copy_from_slice(&sums);
        from += LONG;
    }
}

/// `out[i] = (out[i] + terms[0][i]) + ...`. No term is shorter than `out`.
#[inline(always)]
pub(crate) fn combine_into<T: Copy + Add<Output = T>>(terms: &Terms<'_, T>, out: &mut [T]) {
    let whole = out.len() - out.len() % LONG; // no element may be added to twice
    combine_into_lanes::<T, LONG>(terms, 0, whole, out);
    combine_into_lanes::<T, 1>(terms, whole, out.len(), out);
}

#[inline(always)]
fn combine_into_lanes<T: Copy + Add<Output = T>, const L: usize>(
    terms: &Terms<'_, T>,
    from: usize,
    to: usize,
    out: &mut [T],
) {
    let (ones, twos) = terms.parts();
    let mut at = from;
    while at < to {
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<L>()) else { return };
        for one in ones {
            let Some(term) = read(one, at) else { return };
            *out = add_lanes(*out, term);
        }
        for two in twos {
            let Some(term) = read_pair(two, at, terms.apart) else { return };
            *out = add_lanes(*out, term);
        }
        at += L;
    }
}

/// Sums of `W` neighbours: of `x[i]`, `x[i + 1]`, ..., or of `x[8 + i]`, `x[7 + i]`, ...
#[inline(always)]
pub(crate) fn neighbours<T: Copy + Add<Output = T>, const W: usize, const MIRRORED: bool>(
    x: &[T; 2 * LANES],
    tree: impl Tree<W>,
) -> [T; LANES] {
    const { assert!(0 < W && W <= LANES + 1) };
    let mut terms = [[x[0]; LANES]; W];
    for (o, term) in terms.iter_mut().enumerate() {
        let from = if MIRRORED { LANES - o } else { o };
        if let Some(read) = x[from..].first_chunk() {
            *term = *read;
        }
    }
    tree.sum(terms)
}

/// `copy_from_slice` without a panic.
#[inline(always)]
pub(crate) fn copy<T: Copy>(from: &[T], to: &mut [T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = from;
    }
}
