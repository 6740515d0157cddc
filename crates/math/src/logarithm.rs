//! `ln x` and `ln(1 + x)`, branch-free and table-free.
//!
//! `x = 2ᵏ (1 + f)` with `1 + f` in [2/3, 4/3), and `ln(1 + f) = 2 atanh s`, `s = f / (2 + f)`, which is
//! `f - (f²/2 - s (f²/2 + s² P(s²)))` (the form of FreeBSD's `log`, whose first term is exact) with a
//! polynomial `P` from `tools/minimax.py`. The rounding of `k ln 2 + f` is computed (Fast2Sum) and put back.

use crate::polynomial::horner;

macro_rules! logarithms {
    ($float:ident, $uint:ident, $int:ident, $constants:ident) => {
        pub(crate) mod $float {
            use super::horner;
            use super::$constants::*;

            const MANTISSA: u32 = $float::MANTISSA_DIGITS - 1;
            const MANTISSA_MASK: $uint = (1 << MANTISSA) - 1;
            const BIAS: $uint = $float::MAX_EXP as $uint - 1;
            const TWO_THIRDS: $uint = ($float::to_bits)(2.0 / 3.0);
            /// One unit in its last place is 1, so that a small integer is turned into a float by an `or`.
            const INTEGERS: $float = 1.0 / $float::EPSILON;
            /// Brings subnormal numbers into the normal range.
            const LIFT: $float = 2.0 / $float::EPSILON;
            /// What the exponent field adds to `k`, without and with a lift.
            const BIASED: $float = INTEGERS + BIAS as $float;
            const BIASED_AND_LIFTED: $float = BIASED + (MANTISSA + 1) as $float;

            /// The parts of a positive finite number: `2ᵏ (1 + f)`.
            #[inline(always)]
            fn split(x: $float) -> ($float, $float) {
                let is_subnormal = x < $float::MIN_POSITIVE;
                let lifted = if is_subnormal { x * LIFT } else { x };
                let bias = if is_subnormal { BIASED_AND_LIFTED } else { BIASED };
                let (k, m) = biased_parts(lifted);
                (k - bias, m - 1.0)
            }

            /// The parts of a positive number that is neither subnormal nor infinite: `2ᵏ m` with `m` in [2/3, 4/3).
            #[inline(always)]
            pub(crate) fn split_normal(x: $float) -> ($float, $float) {
                let (k, m) = biased_parts(x);
                (k - BIASED, m)
            }

            /// `k` with [`BIASED`] added to it, and `m`.
            #[inline(always)]
            fn biased_parts(x: $float) -> ($float, $float) {
                let shifted = x.to_bits().wrapping_sub(TWO_THIRDS).wrapping_add(BIAS << MANTISSA);
                let k = $float::from_bits((shifted >> MANTISSA) | INTEGERS.to_bits());
                let m = $float::from_bits((shifted & MANTISSA_MASK).wrapping_add(TWO_THIRDS));
                (k, m)
            }

            /// `k LN_2_HIGH + ln(1 + f) + low` as a sum: `low` and the result's second part are small.
            #[inline(always)]
            fn join(k: $float, f: $float, low: $float) -> ($float, $float) {
                let s = f / (2.0 + f);
                let z = s * s;
                let half_square = 0.5 * f * f;
                let bend = half_square - s * (half_square + z * horner(z, &LN));
                let k_ln2 = k * LN_2_HIGH; // exact
                let sum = k_ln2 + f;
                let lost = f - (sum - k_ln2); // Fast2Sum: k is 0 or k ln 2 is the larger
                (sum, lost + (low - bend))
            }

            /// `ln x` as a sum of a number and a small one, for `x` positive and finite.
            ///
            /// The sum is off by less than 1/8 of a unit in the last place of the larger of `ln x` and 1/4.
            #[inline(always)]
            pub(crate) fn ln_parts(x: $float) -> ($float, $float) {
                let (k, f) = split(x);
                join(k, f, k * LN_2_LOW)
            }

            #[inline(always)]
            pub(crate) fn ln(x: $float) -> $float {
                let (sum, tail) = ln_parts(x);
                limits(sum + tail, x)
            }

            #[inline(always)]
            pub(crate) fn ln_1p(x: $float) -> $float {
                let u = 1.0 + x;
                let back = u - 1.0;
                let lost = (1.0 - (u - back)) + (x - back); // TwoSum: u + lost = 1 + x
                let (k, f) = split(u);
                // Within the middle octave `f` is `x` itself, otherwise ln(u + lost) = ln u + lost / u.
                let (f, low) = if k == 0.0 { (x, 0.0) } else { (f, lost / u) };
                let (sum, tail) = join(k, f, k * LN_2_LOW + low);
                let y = limits(sum + tail, u);
                if x == 0.0 { x } else { y } // keeps the sign of zero
            }

            /// `y` where `x` is positive and finite, else what the logarithm of `x` is.
            ///
            /// The bits are compared as an integer: from `0 < x && x < ∞` the compiler makes a test of classes
            /// that costs as much as a third of the logarithm.
            #[inline(always)]
            fn limits(y: $float, x: $float) -> $float {
                let bits = x.to_bits() as $int;
                let is_ordinary = (bits > 0) & (bits < $float::INFINITY.to_bits() as $int);
                let limit = if x == 0.0 { $float::NEG_INFINITY } else { $float::NAN };
                let limit = if x > 0.0 { x } else { limit };
                if is_ordinary { y } else { limit }
            }
        }
    };
}
logarithms!(f32, u32, i32, single);
logarithms!(f64, u64, i64, double);

mod single {
    // 15 bits, so that its multiples up to 2⁸ are exact; and what is missing.
    pub(super) const LN_2_HIGH: f32 = 0.69314575;
    pub(super) const LN_2_LOW: f32 = 1.4286068e-6;
    /// Error of `s² P(s²)`, `|s| ≤ 1/5`: 2⁻³⁴.
    pub(super) const LN: [f32; 4] = [0.6666666, 0.40000913, 0.28505093, 0.24123634];
}

mod double {
    // 41 bits, so that its multiples up to 2¹¹ are exact; and what is missing.
    pub(super) const LN_2_HIGH: f64 = 0.6931471805601177;
    pub(super) const LN_2_LOW: f64 = -1.7239444525614835e-13;
    /// Error of `s² P(s²)`, `|s| ≤ 1/5`: 2⁻⁶¹.
    pub(super) const LN: [f64; 8] = [
        0.666666666666666,
        0.4000000000005667,
        0.2857142855582956,
        0.22222224296516227,
        0.18181665859844565,
        0.15391112895803089,
        0.1317357638500592,
        0.138432390054763,
    ];
}
