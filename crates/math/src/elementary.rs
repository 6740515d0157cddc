//! The elementary functions, one name for both types.

use crate::{Real, exponential, gamma, logarithm, logistic};

/// The bodies behind the free functions of this crate.
pub trait Elementary: Copy {
    fn exp(self) -> Self;
    fn exp_m1(self) -> Self;
    fn ln(self) -> Self;
    /// `k` and `m` in [2/3, 4/3) with `2ᵏ m` a positive number, neither subnormal nor infinite.
    fn split_normal(self) -> (Self, Self);
    fn ln_1p(self) -> Self;
    fn sigmoid(self) -> Self;
    fn softplus(self) -> Self;
    fn sqrt(self) -> Self;
    fn ln_gamma(self) -> Self;
    fn digamma(self) -> Self;
    /// For positive numbers, branch-free.
    fn positive_digamma(self) -> Self;
    fn trigamma(self) -> Self;
}

macro_rules! elementary {
    ($t:ident, $($name:ident: $body:expr;)*) => {
        impl Elementary for $t {
            $(#[inline(always)]
            fn $name(self) -> Self {
                $body(self)
            })*
            #[inline(always)]
            fn split_normal(self) -> (Self, Self) {
                logarithm::$t::split_normal(self)
            }
        }
    };
}
elementary! { f32,
    exp: exponential::f32::exp;
    exp_m1: exponential::f32::exp_m1;
    ln: logarithm::f32::ln;
    ln_1p: logarithm::f32::ln_1p;
    sigmoid: logistic::f32::sigmoid;
    softplus: logistic::f32::softplus;
    sqrt: square_root::single;
    ln_gamma: |x| gamma::ln_gamma(f64::from(x)) as f32;
    digamma: |x| gamma::digamma(f64::from(x)) as f32;
    positive_digamma: gamma::branch_free::f32::digamma;
    trigamma: |x| gamma::trigamma(f64::from(x)) as f32;
}
elementary! { f64,
    exp: exponential::f64::exp;
    exp_m1: exponential::f64::exp_m1;
    ln: logarithm::f64::ln;
    ln_1p: logarithm::f64::ln_1p;
    sigmoid: logistic::f64::sigmoid;
    softplus: logistic::f64::softplus;
    sqrt: square_root::double;
    ln_gamma: gamma::ln_gamma;
    digamma: gamma::digamma;
    positive_digamma: gamma::branch_free::f64::digamma;
    trigamma: gamma::trigamma;
}

/// IEEE 754 asks for the correctly rounded root, so every implementation gives the same bits, and under `std`
/// it can be the processor's.
mod square_root {
    #[cfg(not(feature = "std"))]
    pub(super) use libm::{sqrt as double, sqrtf as single};

    #[cfg(feature = "std")]
    #[inline(always)]
    pub(super) fn single(x: f32) -> f32 {
        x.sqrt()
    }
    #[cfg(feature = "std")]
    #[inline(always)]
    pub(super) fn double(x: f64) -> f64 {
        x.sqrt()
    }
}

macro_rules! free_functions {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub fn $name<T: Real>(x: T) -> T {
            Elementary::$name(x)
        })*
    };
}
free_functions! {
    /// `e^x`. 0 at -∞, ∞ at ∞; results below the normal range are subnormal before they are 0.
    ///
    /// # Accuracy
    /// At most 0.77 ulp (`f32`, all inputs), 0.8 ulp (`f64`).
    ///
    /// ```
    /// assert_eq!(countgrid_math::exp(0.0_f32), 1.0);
    /// assert_eq!(countgrid_math::exp(-745.0), 5e-324);
    /// ```
    exp;
    /// `e^x - 1`, precise also where `x` is so small that `e^x` is 1. Keeps the sign of zero.
    ///
    /// # Accuracy
    /// At most 1.03 ulp (`f32`, all inputs), 0.85 ulp (`f64`).
    ///
    /// ```
    /// assert_eq!(countgrid_math::exp_m1(1e-20), 1e-20);
    /// ```
    exp_m1;
    /// Natural logarithm, of subnormal numbers too. -∞ at 0 and -0, NaN for negative numbers, ∞ at ∞.
    ///
    /// # Accuracy
    /// At most 0.87 ulp (`f32`, all inputs), 0.8 ulp (`f64`).
    ///
    /// ```
    /// assert_eq!(countgrid_math::ln(1.0_f32), 0.0);
    /// assert_eq!(countgrid_math::ln(0.0_f32), f32::NEG_INFINITY);
    /// ```
    ln;
    /// `ln(1 + x)`, precise also where `x` is so small that `1 + x` is 1. -∞ at -1, NaN below, keeps the sign of
    /// zero.
    ///
    /// # Accuracy
    /// At most 0.87 ulp (`f32`, all inputs), 0.8 ulp (`f64`).
    ///
    /// ```
    /// assert_eq!(countgrid_math::ln_1p(1e-20), 1e-20);
    /// ```
    ln_1p;
    /// The logistic function `1 / (1 + e^-x)`. 0 at -∞, 1 at ∞; never overflows.
    ///
    /// # Accuracy
    /// At most 2.41 ulp (`f32`, all inputs), 2 ulp (`f64`).
    ///
    /// ```
    /// assert_eq!(countgrid_math::sigmoid(0.0), 0.5);
    /// ```
    sigmoid;
    /// `ln(1 + e^x)`, the integral of [`sigmoid`]. 0 at -∞, ∞ at ∞; never overflows.
    ///
    /// # Accuracy
    /// At most 1.56 ulp (`f32`, all inputs), 1.5 ulp (`f64`).
    ///
    /// ```
    /// assert_eq!(countgrid_math::softplus(0.0), core::f64::consts::LN_2);
    /// ```
    softplus;
    /// Square root. NaN for negative numbers, -0 at -0.
    ///
    /// # Accuracy
    /// Correctly rounded.
    ///
    /// ```
    /// assert_eq!(countgrid_math::sqrt(2.25), 1.5);
    /// ```
    sqrt;
    /// `ln Γ(x)` for positive `x`. ∞ at 0 and ∞, NaN for negative numbers.
    ///
    /// Computed in `f64` for both types.
    ///
    /// # Accuracy
    /// At most 0.501 ulp (`f32`), 2.5 ulp (`f64`), next to the zeros at 1 and 2 as well.
    ///
    /// ```
    /// assert_eq!(countgrid_math::ln_gamma(5.0_f32), 24_f32.ln());
    /// ```
    ln_gamma;
    /// `ψ(x)`, the derivative of `ln Γ`, for positive `x`. -∞ at 0, ∞ at ∞, NaN for negative numbers.
    ///
    /// Computed in `f64` for both types.
    ///
    /// # Accuracy
    /// At most 0.501 ulp (`f32`), 2.5 ulp (`f64`), next to the zero at 1.4616 as well.
    ///
    /// ```
    /// let euler_gamma = 0.5772156649015329;
    /// assert!((countgrid_math::digamma(1.0_f64) + euler_gamma).abs() < 1e-15);
    /// ```
    digamma;
    /// `ψ′(x)`, the derivative of `ψ`, for positive `x`. ∞ at 0, 0 at ∞, NaN for negative numbers.
    ///
    /// Computed in `f64` for both types.
    ///
    /// # Accuracy
    /// At most 0.501 ulp (`f32`), 2.5 ulp (`f64`).
    ///
    /// ```
    /// let expected = core::f64::consts::PI.powi(2) / 6.0;
    /// assert!((countgrid_math::trigamma(1.0) - expected).abs() < 1e-15);
    /// ```
    trigamma;
}
