//! Sums of slices of one length, in chunks of a fixed number of lanes.
//!
//! A chunk is read before it is written, and the last, incomplete one starts early enough to be whole:
//! its first elements are computed twice, from the same terms. So a compiler turns long runs into
//! vectors, without a scalar rest and without checks for aliasing. Plain loops and no closures all the
//! way down: a closure is not always inlined, and then the instruction set of the caller does not
//! reach it.

use core::ops::Add;

/// Elements of a short run worked on together: one AVX or two SSE registers of `f32`.
pub(crate) const LANES: usize = 8;
/// Of a long run. A quarter faster than 8 in L2.
const LONG: usize = 32;

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
            sum = plus(sum, term);
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
        plus(plus(a, b), plus(c, d))
    }
}

#[inline(always)]
fn plus<T: Copy + Add<Output = T>, const L: usize>(mut a: [T; L], b: [T; L]) -> [T; L] {
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
) {
    match out.len() {
        LONG.. => sum_lanes::<T, N, LONG>(terms, out, tree),
        LANES.. => sum_lanes::<T, N, LANES>(terms, out, tree),
        _ => sum_lanes::<T, N, 1>(terms, out, tree),
    }
}

#[inline(always)]
fn sum_lanes<T: Copy + Add<Output = T>, const N: usize, const L: usize>(
    mut terms: [&[T]; N],
    out: &mut [T],
    tree: impl Tree<N>,
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
        *out = tree.sum(chunks);
        from += L;
    }
}

/// `out[i] = out[i] + tree([terms[0][i], terms[1][i], ...])`. No term is shorter than `out`.
#[inline(always)]
pub(crate) fn add<T: Copy + Add<Output = T>, const N: usize>(
    terms: [&[T]; N],
    out: &mut [T],
    tree: impl Tree<N>,
) {
    let whole = out.len() - out.len() % LANES; // no element may be added to twice
    let Some((chunks, rest)) = out.split_at_mut_checked(whole) else { return };
    add_lanes::<T, N, LANES>(terms, chunks, tree);
    let mut after = terms;
    for term in &mut after {
        *term = term.get(whole..).unwrap_or_default();
    }
    add_lanes::<T, N, 1>(after, rest, tree);
}

#[inline(always)]
fn add_lanes<T: Copy + Add<Output = T>, const N: usize, const L: usize>(
    mut terms: [&[T]; N],
    out: &mut [T],
    tree: impl Tree<N>,
) {
    for term in &mut terms {
        let Some(exact) = term.get(..out.len()) else { return };
        *term = exact;
    }
    let mut at = 0;
    while let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<L>()) {
        let mut chunks = [*out; N];
        for (chunk, term) in chunks.iter_mut().zip(&terms) {
            let Some(read) = term.get(at..).and_then(|term| term.first_chunk::<L>()) else { return };
            *chunk = *read;
        }
        *out = plus(*out, tree.sum(chunks));
        at += L;
    }
}

/// Sums of `W` neighbours, left to right: `x[i] + x[i + 1] + ...`, or `x[8 + i] + x[7 + i] + ...`.
#[inline(always)]
pub(crate) fn neighbours<T: Copy + Add<Output = T>, const W: usize, const MIRRORED: bool>(
    x: &[T; 2 * LANES],
) -> [T; LANES] {
    const { assert!(0 < W && W <= LANES + 1) };
    let mut terms = [[x[0]; LANES]; W];
    for (o, term) in terms.iter_mut().enumerate() {
        let from = if MIRRORED { LANES - o } else { o };
        if let Some(read) = x[from..].first_chunk() {
            *term = *read;
        }
    }
    LeftToRight.sum(terms)
}
