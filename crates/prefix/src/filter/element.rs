//! What is added up, and what in.

use core::num::Wrapping;

/// A type that sums are formed in: the primitive numbers and [`Wrapping`] integers here, and any other type for which
/// somebody implements it, such as one of fixed point.
///
/// Example: [`BoxFilter`](crate::BoxFilter).
pub trait Accumulator: Copy {
    /// The sum of nothing.
    const ZERO: Self;
    /// Whether additions are exact, modulo a power of two or in a ring of any kind, so that a sum may be carried on
    /// from cell to cell: what a window loses is subtracted. Otherwise nothing is ever subtracted, and each sum is
    /// formed of the values of its own window alone.
    const EXACT: bool;
    /// The sum. Of integers modulo 2ⁿ: that none overflows is checked before.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// The difference, with `a.plus(b).minus(b) == a` if additions are exact; not called if they are not.
    #[must_use]
    fn minus(self, other: Self) -> Self;
}

/// A value of a table that is added up in the type `A`, to which it is converted without loss.
///
/// Implemented for 8, 16, 32 and 64-bit integers in every integer that has all their values, for those of up to 16 bits in
/// `f32` and up to 32 bits in `f64`, and for floats in floats at least as wide. A type of your own, such as `f16` or
/// fixed point, has these few lines:
///
/// ```
/// use countgrid_prefix::Summand;
///
/// /// Eight bits before the point, eight after it.
/// #[derive(Clone, Copy)]
/// struct Fixed(i16);
/// impl Summand<i32> for Fixed { // sums have sixteen more bits before the point
///     const RANGE: Option<(u64, u64)> = Some((1 << 15, i32::MAX as u64));
///     fn widen(self) -> i32 { self.0.into() }
///     fn magnitude(self) -> u64 { self.0.unsigned_abs().into() }
/// }
/// ```
pub trait Summand<A>: Copy {
    /// The largest magnitude of a value of this type and the largest sum that `A` can hold of such values, in units of
    /// the last place; `None` if sums cannot overflow, or show it, as floats do.
    const RANGE: Option<(u64, u64)>;
    /// The value.
    fn widen(self) -> A;
    /// Its magnitude, in units of the last place.
    fn magnitude(self) -> u64;

    /// The same values, if they are bytes and there are loops for those.
    #[doc(hidden)]
    #[inline]
    fn bytes(values: &[Self]) -> Option<&[u8]> {
        let _ = values;
        None
    }
}

macro_rules! accumulators {
    ($($t:ident)*) => { $(
        impl Accumulator for $t {
            const ZERO: Self = 0;
            const EXACT: bool = true;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
        impl Accumulator for Wrapping<$t> {
            const ZERO: Self = Wrapping(0);
            const EXACT: bool = true;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
        }
        impl Summand<Wrapping<$t>> for Wrapping<$t> {
            const RANGE: Option<(u64, u64)> = None;
            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            fn magnitude(self) -> u64 {
                0
            }
        }
    )* };
}
accumulators!(u8 u16 u32 u64 i8 i16 i32 i64);

macro_rules! float_accumulators {
    ($($t:ident)*) => { $(
        impl Accumulator for $t {
            const ZERO: Self = 0.0;
            const EXACT: bool = false;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
        }
    )* };
}
float_accumulators!(f32 f64);

macro_rules! integers {
    ($($t:ident: $($a:ident)*;)*) => { $( $(
        impl Summand<$a> for $t {
            const RANGE: Option<(u64, u64)> =
                Some((if $t::MIN == 0 { $t::MAX as u64 } else { ($t::MAX as u64) + 1 }, $a::MAX as u64));
            #[inline(always)]
            fn widen(self) -> $a {
                self as $a
            }
            #[inline(always)]
            #[allow(unused_comparisons, reason = "of unsigned integers too")]
            fn magnitude(self) -> u64 {
                if self < 0 { (self as i64).unsigned_abs() } else { self as u64 }
            }
        }
    )* )* };
}
integers! {
    u8: u8 u32 u64 i16 i32 i64;
    u16: u16 u32 u64 i32 i64;
    u32: u32 u64 i64;
    u64: u64;
    i8: i8 i16 i32 i64;
    i16: i16 i32 i64;
    i32: i32 i64;
    i64: i64;
}

impl Summand<u16> for u8 {
    const RANGE: Option<(u64, u64)> = Some((u8::MAX as u64, u16::MAX as u64));
    #[inline(always)]
    fn widen(self) -> u16 {
        self.into()
    }
    #[inline(always)]
    fn magnitude(self) -> u64 {
        self.into()
    }
    #[inline]
    fn bytes(values: &[Self]) -> Option<&[u8]> {
        Some(values)
    }
}

macro_rules! to_floats {
    ($($t:ident: $($a:ident)*;)*) => { $( $(
        impl Summand<$a> for $t {
            const RANGE: Option<(u64, u64)> = None;
            #[inline(always)]
            fn widen(self) -> $a {
                self as $a
            }
            fn magnitude(self) -> u64 {
                0
            }
        }
    )* )* };
}
to_floats! {
    u8: f32 f64;
    i8: f32 f64;
    u16: f32 f64;
    i16: f32 f64;
    u32: f64;
    i32: f64;
    f32: f32 f64;
    f64: f64;
}

/// A sum and a sum of squares: what variances are formed of. An [`Accumulator`] if `A` is one.
///
/// Example: [`BoxFilter::variances`](crate::BoxFilter::variances).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments<A> {
    /// `∑ x`
    pub sum: A,
    /// `∑ x²`
    pub squares: A,
}

impl<A: Accumulator> Accumulator for Moments<A> {
    const ZERO: Self = Self { sum: A::ZERO, squares: A::ZERO };
    const EXACT: bool = A::EXACT;
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { sum: self.sum.plus(other.sum), squares: self.squares.plus(other.squares) }
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self { sum: self.sum.minus(other.sum), squares: self.squares.minus(other.squares) }
    }
}

const fn squared(range: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match range {
        Some((largest, limit)) => Some((largest.saturating_mul(largest), limit)),
        None => None,
    }
}

macro_rules! moments {
    ($($t:ident: $($a:ident)*;)*) => { $( $(
        impl Summand<Moments<$a>> for $t {
            const RANGE: Option<(u64, u64)> = squared(<$t as Summand<$a>>::RANGE);
            #[inline(always)]
            fn widen(self) -> Moments<$a> {
                let sum: $a = Summand::widen(self); // integers may get a `widen` of their own
                Moments { sum, squares: squares::$a(sum) }
            }
            #[inline(always)]
            fn magnitude(self) -> u64 {
                let magnitude = <$t as Summand<$a>>::magnitude(self);
                magnitude.saturating_mul(magnitude)
            }
        }
    )* )* };
}
moments! {
    u8: u32 u64 f64;
    i8: i32 i64 f64;
    u16: u64 f64;
    i16: i64 f64;
    u32: u64 f64;
    i32: i64 f64;
    f32: f32 f64;
    f64: f64;
}
/// `x²`; of integers modulo 2ⁿ: that it does not overflow has been checked.
mod squares {
    macro_rules! square {
        ($($t:ident)*) => { $(
            #[inline(always)]
            pub(super) fn $t(x: $t) -> $t {
                x.wrapping_mul(x)
            }
        )* };
    }
    square!(u32 u64 i32 i64);
    #[inline(always)]
    pub(super) fn f32(x: f32) -> f32 {
        x * x
    }
    #[inline(always)]
    pub(super) fn f64(x: f64) -> f64 {
        x * x
    }
}

#[cfg(test)]
mod tests {
    use super::squared;

    /// Ranges are worked out when the crate is compiled.
    #[test]
    fn range_of_squares() {
        assert_eq!(squared(Some((255, 7))), Some((255 * 255, 7)));
        assert_eq!(squared(Some((1 << 32, 7))), Some((u64::MAX, 7))); // and so is refused
        assert_eq!(squared(None), None);
    }
}
