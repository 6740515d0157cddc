//! `e^x` and `e^x - 1`, branch-free and table-free, so that a loop over them becomes SIMD code.
//!
//! `x = n ln 2 + r`, `|r| ≤ ln 2 / 2`, and `e^r = 1 + r + r² P(r)` with a polynomial `P` from
//! `tools/minimax.py`. With `r = high - low`, `high` exact, the roundings of the large terms `1 + high` are
//! computed (Fast2Sum) and put back, so that little more than the final rounding is left. The power `2ⁿ` is
//! applied in two halves: subnormal results are rounded once, at the end, and overflow comes by itself.

use crate::polynomial::horner;

macro_rules! exponentials {
    ($float:ident, $uint:ident, $constants:ident) => {
        pub(crate) mod $float {
            use super::horner;
            use super::$constants::*;

            const MANTISSA: u32 = $float::MANTISSA_DIGITS - 1;
            const BIAS: $uint = $float::MAX_EXP as $uint - 1;
            /// Adding it rounds to an integer, which is then found in the low bits.
            const MAGIC: $float = 1.5 / $float::EPSILON;

            /// `x = n ln 2 + r`, `r = high - n LN_2_LOW`.
            struct Reduced {
                n: $float,
                high: $float,        // exact: |n| is small and LN_2_HIGH has few bits
                tail: $float,        // e^r - 1 - high
                halves: [$float; 2], // 2ⁿ as a product; its factors are normal numbers
            }

            /// For `x` between `LOWEST` and `HIGHEST`. A NaN goes through.
            #[inline(always)]
            fn reduce(x: $float) -> Reduced {
                let shifted = x * core::$float::consts::LOG2_E + MAGIC;
                let n = shifted - MAGIC;
                let (high, low) = (x - n * LN_2_HIGH, n * LN_2_LOW);
                let r = high - low;
                let tail = r * r * horner(r, &EXP) - low;
                // n + 2 BIAS is positive, so a logical shift halves it: vectors lack the arithmetic one.
                let exponent = shifted.to_bits().wrapping_sub(MAGIC.to_bits()).wrapping_add(2 * BIAS);
                let (a, b) = (exponent >> 1, exponent.wrapping_sub(exponent >> 1));
                let halves = [$float::from_bits(a << MANTISSA), $float::from_bits(b << MANTISSA)];
                Reduced { n, high, tail, halves }
            }

            /// Comparisons that are false for NaN, which therefore passes.
            #[inline(always)]
            fn clamp(x: $float, lowest: $float) -> $float {
                let x = if x < lowest { lowest } else { x };
                if x > HIGHEST { HIGHEST } else { x }
            }

            #[inline(always)]
            pub(crate) fn exp(x: $float) -> $float {
                let Reduced { high, tail, halves: [a, b], .. } = reduce(clamp(x, LOWEST));
                let sum = 1.0 + high;
                let lost = high - (sum - 1.0);
                (sum + (lost + tail)) * a * b
            }

            /// `2ⁿ ((1 - 2⁻ⁿ) + (e^r - 1))`, again with the lost parts put back.
            #[inline(always)]
            pub(crate) fn exp_m1(x: $float) -> $float {
                let Reduced { n, high, tail, halves: [a, b] } = reduce(clamp(x, LOWEST_M1));
                // From 2⁻⁶⁴ on the subtraction changes nothing; below, `LOWEST_M1` bounds it.
                let n = if n > 64.0 { 64.0 } else { n };
                let power = (MAGIC - n).to_bits().wrapping_sub(MAGIC.to_bits()).wrapping_add(BIAS);
                let inverse = $float::from_bits(power << MANTISSA);
                let whole = 1.0 - inverse;
                let back = whole - 1.0;
                let lost_whole = (1.0 - (whole - back)) - (inverse + back); // TwoSum: either may be larger
                let sum = whole + high;
                let lost = high - (sum - whole); // Fast2Sum: `whole` is 0 or at least 1/2
                let y = (sum + (lost + (lost_whole + tail))) * a * b;
                if x == 0.0 { x } else { y } // keeps the sign of zero
            }
        }
    };
}
exponentials!(f32, u32, single);
exponentials!(f64, u64, double);

mod single {
    // 15 bits, so that its multiples up to 2⁸ are exact; and what is missing.
    pub(super) const LN_2_HIGH: f32 = 0.69314575;
    pub(super) const LN_2_LOW: f32 = 1.4286068e-6;
    /// Error of `r P(r)`: 2⁻³¹.
    pub(super) const EXP: [f32; 6] = [0.5, 0.16666667, 0.041666478, 0.008333191, 0.001393369, 0.00019959327];
    /// `e^x` rounds to 0, to infinity, `e^x - 1` to -1.
    pub(super) const LOWEST: f32 = -104.0;
    pub(super) const HIGHEST: f32 = 89.0;
    pub(super) const LOWEST_M1: f32 = -18.0;
}

mod double {
    // 41 bits, so that its multiples up to 2¹¹ are exact; and what is missing.
    pub(super) const LN_2_HIGH: f64 = 0.6931471805601177;
    pub(super) const LN_2_LOW: f64 = -1.7239444525614835e-13;
    /// Error of `r P(r)`: 2⁻⁶¹.
    pub(super) const EXP: [f64; 11] = [
        0.5,
        0.16666666666666677,
        0.04166666666666668,
        0.008333333333321454,
        0.0013888888888877455,
        0.00019841269886514704,
        2.4801587340571983e-05,
        2.7557243862305944e-06,
        2.7557259264687017e-07,
        2.510914585705395e-08,
        2.091947674646999e-09,
    ];
    /// `e^x` rounds to 0, to infinity, `e^x - 1` to -1.
    pub(super) const LOWEST: f64 = -746.0;
    pub(super) const HIGHEST: f64 = 710.0;
    pub(super) const LOWEST_M1: f64 = -38.0;
}
