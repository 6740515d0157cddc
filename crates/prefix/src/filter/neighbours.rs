//! Windows of a few neighbours in a line: their sums and what is made of each, in one pass.

use core::marker::PhantomData;

use countgrid_math::{Kernel, Level, dispatch};

use super::element::Accumulator;

/// What a loop does with a sum: a type and no closure, so that it is compiled for the loop's instruction set.
pub(super) trait One<A, O>: Copy {
    fn one(self, sum: A) -> O;
}

/// `out[i] = each(line[i] + line[i + 1] + ...)`, `side` terms, left to right, if there is a loop for that side; whether
/// there is. The line goes `side - 1` elements beyond what is written.
#[inline]
pub(super) fn each<A: Accumulator, O, E: One<A, O>>(line: &[A], side: usize, each: E, out: &mut [O]) -> bool {
    match side {
        3 => dispatch(Neighbours::<A, O, E, 3> { line, out, each, side: PhantomData }),
        5 => dispatch(Neighbours::<A, O, E, 5> { line, out, each, side: PhantomData }),
        7 => dispatch(Neighbours::<A, O, E, 7> { line, out, each, side: PhantomData }),
        _ => return false,
    }
    true
}

struct Neighbours<'a, A, O, E, const SIDE: usize> {
    line: &'a [A],
    out: &'a mut [O],
    each: E,
    side: PhantomData<[(); SIDE]>,
}

macro_rules! neighbours {
    ($($side:literal: $($by:literal)*;)*) => { $(
        impl<A: Accumulator, O, E: One<A, O>> Kernel for Neighbours<'_, A, O, E, $side> {
            type Output = ();
            const WIDEST: Level = Level::Avx512;

            #[inline(always)]
            fn run(self) {
                let Self { line, out, each, .. } = self;
                let sums = line.iter().copied();
                $(let sums = sums.zip(line.get($by..).unwrap_or_default()).map(|(sum, &x)| sum.plus(x));)*
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = each.one(sum);
                }
            }
        }
    )* };
}
neighbours! {
    3: 1 2;
    5: 1 2 3 4;
    7: 1 2 3 4 5 6;
}
