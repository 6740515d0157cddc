//! Means and variances from sums.

use countgrid_math::{Kernel, Level, dispatch};

use super::bytes::{self, Image};
use super::element::Moments;
use super::multiply::Multiply;
use super::neighbours::{self, One};

/// A type that the mean of sums of type `A` is given in.
///
/// Floats of the sums' own precision or above divide, with one rounding. Integers round to the nearest, halves up,
/// exactly; a mean that the type does not hold becomes the nearest that it does.
///
/// Example: [the crate's](crate).
pub trait Mean<A>: Sized {
    /// `out[i] = sums[i] / count`, no sum being above `largest` in magnitude. Of no cells 0, or NaN of floats.
    fn means(sums: &[A], count: u64, largest: u64, out: &mut [Self]);

    /// The same of sums of `side` neighbours, `line[i] + line[i + 1] + ...`, if they need not be formed first; whether
    /// that was so.
    #[doc(hidden)]
    #[inline]
    fn means_of_neighbours(line: &[A], side: usize, count: u64, largest: u64, out: &mut [Self]) -> bool {
        let _ = (line, side, count, largest, out);
        false
    }

    /// All means of an image of bytes, of which rows are `stride` elements apart, if there is a loop for them; whether that
    /// was so.
    #[doc(hidden)]
    #[inline]
    fn means_of_image(
        image: Image<'_>,
        largest: u64,
        scratch: &mut [A],
        out: &mut [Self],
        stride: usize,
    ) -> bool {
        let _ = (image, largest, scratch, out, stride);
        false
    }
}

/// A type that the variance of values is given in whose moments have type `A`.
///
/// Example: [`BoxFilter::variances`](crate::BoxFilter::variances).
pub trait Variance<A>: Sized {
    /// `out[i] = ∑x² / count - (∑x / count)²`, and not below 0. Of no cells NaN.
    fn variances(moments: &[Moments<A>], count: u64, out: &mut [Self]);
}

/// A loop over sums and what is made of them.
struct Each<'a, A, O, F> {
    sums: &'a [A],
    out: &'a mut [O],
    each: F,
}

impl<A: Copy, O, F: One<A, O>> Kernel for Each<'_, A, O, F> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let n = self.out.len();
        let Some(sums) = self.sums.get(..n) else { return };
        for (out, &sum) in self.out.iter_mut().zip(sums) {
            *out = self.each.one(sum);
        }
    }
}

/// `sum / count` in the type `O`.
#[derive(Clone, Copy)]
struct Divide<O> {
    count: O,
}

macro_rules! float_means {
    ($($o:ident: $($a:ident)*;)*) => { $( $(
        impl One<$a, $o> for Divide<$o> {
            #[inline(always)]
            fn one(self, sum: $a) -> $o {
                sum as $o / self.count
            }
        }
        impl Mean<$a> for $o {
            #[inline]
            fn means(sums: &[$a], count: u64, _: u64, out: &mut [Self]) {
                dispatch(Each { sums, out, each: Divide { count: count as $o } });
            }
            #[inline]
            fn means_of_neighbours(line: &[$a], side: usize, count: u64, _: u64, out: &mut [Self]) -> bool {
                neighbours::each(line, side, Divide { count: count as $o }, out)
            }
        }
    )* )* };
}
float_means! {
    f32: u8 i8 u16 i16 f32;
    f64: u8 i8 u16 i16 u32 i32 u64 i64 f32 f64;
}

/// In `f64`, then rounded once more.
#[derive(Clone, Copy)]
struct DivideInDouble {
    count: f64,
}

macro_rules! narrowed_means {
    ($($a:ident)*) => { $(
        impl One<$a, f32> for DivideInDouble {
            #[inline(always)]
            fn one(self, sum: $a) -> f32 {
                (sum as f64 / self.count) as f32
            }
        }
        impl Mean<$a> for f32 {
            #[inline]
            fn means(sums: &[$a], count: u64, _: u64, out: &mut [Self]) {
                dispatch(Each { sums, out, each: DivideInDouble { count: count as f64 } });
            }
        }
    )* };
}
narrowed_means!(u32 i32 u64 i64 f64);

/// Rounds `(sum + shift) / count` to an integer by adding a number whose last place is 1.
///
/// With `shift` 0 for an odd count and 1/2 for an even one, so that halves go up, the exact quotient is at least `1 / 2
/// count` away from where the rounding changes. Two roundings with relative error `u` each, of the reciprocal and of
/// the product, move it by less than `2.1 u |sum| / count + u / count`, which is below that if `|sum| < 0.23 / u`:
/// 2²¹ for `f32`, 2⁵⁰ for `f64`. So the integer is exact.
#[derive(Clone, Copy)]
struct Round<F, const SATURATES: bool> {
    shift: F,
    reciprocal: F,
}

#[derive(Clone, Copy)]
struct RoundExactly {
    count: i128,
}

macro_rules! round {
    ($f:ident, $bits:ident, $magic:expr, $o:ident: $($a:ident)*) => { $(
        impl<const SATURATES: bool> One<$a, $o> for Round<$f, SATURATES> {
            #[inline(always)]
            fn one(self, sum: $a) -> $o {
                // Sums are small enough for the signed type of that width, from which there is a conversion.
                let quotient = (sum as $bits as $f + self.shift) * self.reciprocal;
                let mut rounded = (quotient + $magic).to_bits() as $bits;
                if SATURATES || size_of::<$o>() * 2 >= size_of::<$f>() {
                    rounded = rounded.wrapping_sub(($magic as $f).to_bits() as $bits);
                } // else what would be subtracted has no digits as low as the result's
                if SATURATES {
                    rounded = if rounded > $o::MAX as $bits { $o::MAX as $bits } else { rounded };
                    rounded = if rounded < $o::MIN as $bits { $o::MIN as $bits } else { rounded };
                }
                rounded as $o
            }
        }
    )* };
}

macro_rules! round_exactly {
    ($o:ident: $($a:ident)*) => { $(
        impl One<$a, $o> for RoundExactly {
            #[inline(always)]
            fn one(self, sum: $a) -> $o {
                let floor = (2 * sum as i128 + self.count).div_euclid(2 * self.count);
                floor.clamp($o::MIN as i128, $o::MAX as i128) as $o
            }
        }
    )* };
}

/// A mean to the nearest integer.
trait Rounded<A>: Sized {
    /// What [`Mean::means`] does.
    fn rounded(sums: &[A], count: u64, largest: u64, out: &mut [Self]);
}

macro_rules! rounded {
    ($($o:ident: $($a:ident)*;)*) => { $(
        round!(f32, i32, 12_582_912.0, $o: $($a)*); // 1.5 · 2²³
        round!(f64, i64, 6_755_399_441_055_744.0, $o: $($a)*); // 1.5 · 2⁵²
        round_exactly!($o: $($a)*);
        $(
        impl Rounded<$a> for $o {
            #[inline]
            fn rounded(sums: &[$a], count: u64, largest: u64, out: &mut [Self]) {
                let shift = (1 - count % 2) as u8;
                let most = largest.max(count);
                let saturates = largest.saturating_add(count / 2) / count.max(1) > $o::MAX as u64;
                if count == 0 {
                    out.fill(0);
                } else if most < 1 << 21 {
                    let (shift, reciprocal) = (f32::from(shift) / 2.0, 1.0 / count as f32);
                    match saturates {
                        true => dispatch(Each { sums, out, each: Round::<f32, true> { shift, reciprocal } }),
                        false => dispatch(Each { sums, out, each: Round::<f32, false> { shift, reciprocal } }),
                    }
                } else if most < 1 << 50 && size_of::<$o>() <= 4 {
                    let (shift, reciprocal) = (f64::from(shift) / 2.0, 1.0 / count as f64);
                    dispatch(Each { sums, out, each: Round::<f64, true> { shift, reciprocal } });
                } else {
                    Each { sums, out, each: RoundExactly { count: count.into() } }.run();
                }
            }
        }
    )* )* };
}
rounded! {
    u8: u8 u16 u32 u64;
    u16: u16 u32 u64;
    u32: u32 u64;
    i8: i8 i16 i32 i64;
    i16: i16 i32 i64;
    i32: i32 i64;
}

macro_rules! integer_means {
    ($($o:ident: $($a:ident)*;)*) => { $( $(
        impl Mean<$a> for $o {
            #[inline]
            fn means(sums: &[$a], count: u64, largest: u64, out: &mut [Self]) {
                Self::rounded(sums, count, largest, out);
            }
        }
    )* )* };
}
integer_means! {
    u8: u8 u32 u64;
    u16: u16 u32 u64;
    u32: u32 u64;
    i8: i8 i16 i32 i64;
    i16: i16 i32 i64;
    i32: i32 i64;
}

impl Mean<u16> for u8 {
    #[inline]
    fn means(sums: &[u16], count: u64, largest: u64, out: &mut [Self]) {
        match Multiply::new(count, largest) {
            Some(each) => dispatch(Each { sums, out, each }),
            None => Self::rounded(sums, count, largest, out),
        }
    }

    #[inline]
    fn means_of_neighbours(line: &[u16], side: usize, count: u64, largest: u64, out: &mut [Self]) -> bool {
        Multiply::new(count, largest).is_some_and(|each| neighbours::each(line, side, each, out))
    }

    #[inline]
    fn means_of_image(
        image: Image<'_>,
        largest: u64,
        scratch: &mut [u16],
        out: &mut [Self],
        stride: usize,
    ) -> bool {
        let by = image.count().and_then(|count| Multiply::new(count, largest));
        by.is_some_and(|by| {
            bytes::means(image, by, scratch, out, stride);
            true
        })
    }
}

/// From integers: exactly, until it is converted.
#[derive(Clone, Copy)]
struct ExactVariance {
    count: u64,
}

/// From floats.
#[derive(Clone, Copy)]
struct FloatVariance<F> {
    count: F,
}

macro_rules! integer_variances {
    ($($a:ident)*) => { $(
        impl One<Moments<$a>, f64> for ExactVariance {
            #[inline(always)]
            fn one(self, moments: Moments<$a>) -> f64 {
                let count = self.count as i128;
                // Sums of squares are below 2⁶⁴, and so is the number of cells: 128 bits hold the products of all
                // windows that anybody can run through. Wrapping, so that nothing can panic.
                let (sum, squares) = (moments.sum as i128, moments.squares as i128);
                let scaled = count.wrapping_mul(squares).wrapping_sub(sum.wrapping_mul(sum));
                scaled as f64 / (self.count as f64 * self.count as f64)
            }
        }
        impl Variance<$a> for f64 {
            #[inline]
            fn variances(moments: &[Moments<$a>], count: u64, out: &mut [Self]) {
                dispatch(Each { sums: moments, out, each: ExactVariance { count } });
            }
        }
        impl One<Moments<$a>, f32> for ExactVariance {
            #[inline(always)]
            fn one(self, moments: Moments<$a>) -> f32 {
                let variance: f64 = self.one(moments);
                variance as f32
            }
        }
        impl Variance<$a> for f32 {
            #[inline]
            fn variances(moments: &[Moments<$a>], count: u64, out: &mut [Self]) {
                dispatch(Each { sums: moments, out, each: ExactVariance { count } });
            }
        }
    )* };
}
integer_variances!(u32 u64 i32 i64);

macro_rules! float_variances {
    ($($a:ident: $($o:ident)*;)*) => { $( $(
        impl One<Moments<$a>, $o> for FloatVariance<$a> {
            #[inline(always)]
            fn one(self, moments: Moments<$a>) -> $o {
                let mean = moments.sum / self.count;
                let variance = moments.squares / self.count - mean * mean;
                // A NaN stays one.
                (if variance < 0.0 { 0.0 } else { variance }) as $o
            }
        }
        impl Variance<$a> for $o {
            #[inline]
            fn variances(moments: &[Moments<$a>], count: u64, out: &mut [Self]) {
                dispatch(Each { sums: moments, out, each: FloatVariance { count: count as $a } });
            }
        }
    )* )* };
}
float_variances! { f32: f32 f64; f64: f32 f64; }
