//! The elementary functions, one name for both types.

use crate::{Real, exponential, gamma, logarithm, logistic};

/// The bodies behind the free functions of this crate.
pub trait Elementary: Copy {
    fn exp(self) -> Self;
    fn exp_m1(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn sigmoid(self) -> Self;
    fn softplus(self) -> Self;
    fn sqrt(self) -> Self;
    fn ln_gamma(self) -> Self;
    fn digamma(self) -> Self;
    fn trigamma(self) -> Self;
}

macro_rules! elementary {
    ($t:ident, $($name:ident: $body:expr;)*) => {
        impl Elementary for $t {
            $(#[inline(always)]
            fn $name(self) -> Self {
                $body(self)
            })*
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
    /// `e^x`. 0 at -∞, ∞ at ∞; small results are subnormal before they are 0.
    exp;
    /// `e^x - 1`, also where `x` is so small that `e^x` is 1.
    exp_m1;
    /// Natural logarithm. -∞ at 0, NaN for negative numbers, ∞ at ∞.
    ln;
    /// `ln(1 + x)`, also where `x` is so small that `1 + x` is 1. -∞ at -1, NaN below.
    ln_1p;
    /// The logistic function `1 / (1 + e^-x)`.
    sigmoid;
    /// `ln(1 + e^x)`, the integral of [`sigmoid`]; never overflows.
    softplus;
    /// Square root, correctly rounded. NaN for negative numbers.
    sqrt;
    /// `ln Γ(x)` for positive `x`. ∞ at 0, NaN for negative numbers.
    ln_gamma;
    /// `ψ(x)`, the derivative of `ln Γ`, for positive `x`. -∞ at 0, NaN for negative numbers.
    digamma;
    /// `ψ′(x)`, the derivative of `ψ`, for positive `x`. ∞ at 0, NaN for negative numbers.
    trigamma;
}
