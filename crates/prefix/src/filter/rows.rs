//! Loops over slices of one length, compiled for every instruction set that [`dispatch`] knows.
//!
//! Plain loops over slices that are cut to one length first: the compiler makes vectors of them.

use core::marker::PhantomData;

use countgrid_math::{Kernel, Level, dispatch};

use super::element::{Accumulator, Summand};

/// How what is read becomes what is added up.
pub(super) trait Convert<T, A>: Copy {
    fn convert(value: T) -> A;
}

/// A table of the caller's.
#[derive(Clone, Copy)]
pub(super) struct Widen;

impl<T: Summand<A>, A> Convert<T, A> for Widen {
    #[inline(always)]
    fn convert(value: T) -> A {
        value.widen()
    }
}

/// Sums along earlier axes.
#[derive(Clone, Copy)]
pub(super) struct Same;

impl<A> Convert<A, A> for Same {
    #[inline(always)]
    fn convert(value: A) -> A {
        value
    }
}

/// Terms that are added up in one pass.
pub(super) const TERMS: usize = 5;

/// `out = terms[0] + terms[1] + ...`, or `out = out + terms[0] + ...`, left to right. At most [`TERMS`] of them, none
/// of them shorter than `out`. Without terms, zeros.
#[inline]
pub(super) fn sum<C: Convert<T, A>, T: Copy, A: Accumulator>(terms: &[&[T]], out: &mut [A], is_added: bool) {
    if is_added {
        return terms.iter().for_each(|term| dispatch(Sum::<C, T, A, 1, true>::new([term], out)));
    }
    match *terms {
        [] => out.fill(A::ZERO),
        [a] => dispatch(Sum::<C, T, A, 1, false>::new([a], out)),
        [a, b] => dispatch(Sum::<C, T, A, 2, false>::new([a, b], out)),
        [a, b, c] => dispatch(Sum::<C, T, A, 3, false>::new([a, b, c], out)),
        [a, b, c, d] => dispatch(Sum::<C, T, A, 4, false>::new([a, b, c, d], out)),
        [a, b, c, d, e, ..] => dispatch(Sum::<C, T, A, 5, false>::new([a, b, c, d, e], out)),
    }
}

struct Sum<'a, C, T, A, const N: usize, const ADDED: bool> {
    terms: [&'a [T]; N],
    out: &'a mut [A],
    convert: PhantomData<C>,
}

impl<'a, C, T, A, const N: usize, const ADDED: bool> Sum<'a, C, T, A, N, ADDED> {
    #[inline(always)]
    fn new(terms: [&'a [T]; N], out: &'a mut [A]) -> Self {
        Self { terms, out, convert: PhantomData }
    }
}

macro_rules! sums {
    ($($n:literal, $is_added:literal: $out:ident $first:ident $($term:ident)*;)*) => { $(
        impl<C: Convert<T, A>, T: Copy, A: Accumulator> Kernel for Sum<'_, C, T, A, $n, $is_added> {
            type Output = ();
            const WIDEST: Level = Level::Avx512;

            #[inline(always)]
            fn run(self) {
                let Self { terms: [$first, $($term),*], $out, .. } = self;
                // Iterators side by side: of positions `i` of five slices the compiler checks one in every turn, and
                // then leaves up to 127 to a loop without vectors.
                let sums = $first.iter().map(|&x| C::convert(x));
                $(let sums = sums.zip($term).map(|(sum, &x)| sum.plus(C::convert(x)));)*
                for (out, sum) in $out.iter_mut().zip(sums) {
                    *out = if $is_added { out.plus(sum) } else { sum };
                }
            }
        }
    )* };
}
sums! {
    1, true: out a;
    1, false: out a;
    2, false: out a b;
    3, false: out a b c;
    4, false: out a b c d;
    5, false: out a b c d e;
}

/// `sums = sums + enters - leaves`.
#[inline]
pub(super) fn exchange<C: Convert<T, A>, T: Copy, A: Accumulator>(
    enters: &[T],
    leaves: &[T],
    sums: &mut [A],
) {
    dispatch(Exchange::<C, T, A> { enters, leaves, sums, convert: PhantomData });
}

struct Exchange<'a, C, T, A> {
    enters: &'a [T],
    leaves: &'a [T],
    sums: &'a mut [A],
    convert: PhantomData<C>,
}

impl<C: Convert<T, A>, T: Copy, A: Accumulator> Kernel for Exchange<'_, C, T, A> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let Self { enters, leaves, sums, .. } = self;
        let n = sums.len();
        let (Some(enters), Some(leaves)) = (enters.get(..n), leaves.get(..n)) else { return };
        for i in 0..n {
            sums[i] = sums[i].plus(C::convert(enters[i])).minus(C::convert(leaves[i]));
        }
    }
}

/// `sums = sums - leaves`.
#[inline]
pub(super) fn subtract<C: Convert<T, A>, T: Copy, A: Accumulator>(leaves: &[T], sums: &mut [A]) {
    for (sum, &leaves) in sums.iter_mut().zip(leaves) {
        *sum = sum.minus(C::convert(leaves));
    }
}

/// `before = before + enters; sums = after + before`.
#[inline]
pub(super) fn join<C: Convert<T, A>, T: Copy, A: Accumulator>(
    enters: &[T],
    before: &mut [A],
    after: &[A],
    sums: &mut [A],
) {
    dispatch(Join::<C, T, A> { enters, before, after, sums, convert: PhantomData });
}

struct Join<'a, C, T, A> {
    enters: &'a [T],
    before: &'a mut [A],
    after: &'a [A],
    sums: &'a mut [A],
    convert: PhantomData<C>,
}

impl<C: Convert<T, A>, T: Copy, A: Accumulator> Kernel for Join<'_, C, T, A> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let Self { enters, before, after, sums, .. } = self;
        let n = sums.len();
        let (Some(enters), Some(before)) = (enters.get(..n), before.get_mut(..n)) else { return };
        let Some(after) = after.get(..n) else { return };
        for i in 0..n {
            let sum = before[i].plus(C::convert(enters[i]));
            before[i] = sum;
            sums[i] = after[i].plus(sum);
        }
    }
}

/// `sums = enters + later`.
#[inline]
pub(super) fn add<C: Convert<T, A>, T: Copy, A: Accumulator>(enters: &[T], later: &[A], sums: &mut [A]) {
    dispatch(Plus::<C, T, A> { enters, later, sums, convert: PhantomData });
}

struct Plus<'a, C, T, A> {
    enters: &'a [T],
    later: &'a [A],
    sums: &'a mut [A],
    convert: PhantomData<C>,
}

impl<C: Convert<T, A>, T: Copy, A: Accumulator> Kernel for Plus<'_, C, T, A> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let Self { enters, later, sums, .. } = self;
        let n = sums.len();
        let (Some(enters), Some(later)) = (enters.get(..n), later.get(..n)) else { return };
        for i in 0..n {
            sums[i] = later[i].plus(C::convert(enters[i]));
        }
    }
}
