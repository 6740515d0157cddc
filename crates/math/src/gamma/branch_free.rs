//! `ψ` without branches, so that a loop over it becomes SIMD code.
//!
//! Below the shift `s` the recurrence `ψ(x) = ψ(x + s) - (1/x + 1/(x + 1) + ... + 1/(x + s - 1))` leads to where
//! the asymptotic series holds. The fractions are taken in pairs from both ends: with `t = x (x + s - 1)` a pair
//! is `(2x + s - 1) / (t + i (s - 1 - i))`, and the sum of all is one quotient of polynomials in `t` with
//! positive coefficients: no term cancels another.

macro_rules! digammas {
    ($float:ident, $constants:ident) => {
        pub(crate) mod $float {
            use super::$constants::*;
            use crate::logarithm::$float::ln;
            use crate::polynomial::horner;

            #[inline(always)]
            pub(crate) fn digamma(x: $float) -> $float {
                let is_near = x < SHIFT;
                let y = if is_near { x + SHIFT } else { x };
                let inverse = 1.0 / y;
                let z = inverse * inverse;
                let far = ln(y) - (0.5 * inverse + z * horner(z, &TAIL));
                let t = x * (x + (SHIFT - 1.0));
                let sum = (2.0 * x + (SHIFT - 1.0)) * (horner(t, &UPPER) / (t * horner(t, &LOWER)));
                let near = if is_near { sum.abs() } else { 0.0 }; // of -0 too
                if x < 0.0 { $float::NAN } else { far - near }
            }
        }
    };
}
digammas!(f32, single);
digammas!(f64, double);

mod single {
    pub(super) const SHIFT: f32 = 6.0;
    /// `1/12, -1/120, 1/252`: what is left out is below 3e-9.
    pub(super) const TAIL: [f32; 3] = [0.083333336, -0.008333334, 0.003968254];
    /// `t (t + 4) (t + 6)` without its first factor, and the derivative of the product.
    pub(super) const LOWER: [f32; 3] = [24.0, 10.0, 1.0];
    pub(super) const UPPER: [f32; 3] = [24.0, 20.0, 3.0];
}

mod double {
    pub(super) const SHIFT: f64 = 8.0;
    pub(super) use super::super::tables::DIGAMMA_TAIL as TAIL;
    /// `t (t + 6) (t + 10) (t + 12)` without its first factor, and the derivative of the product.
    pub(super) const LOWER: [f64; 4] = [720.0, 252.0, 28.0, 1.0];
    pub(super) const UPPER: [f64; 4] = [720.0, 504.0, 84.0, 4.0];
}
