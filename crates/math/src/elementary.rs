//! The elementary functions, one name for both types.

use crate::Real;

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

fn digamma_64(mut x: f64) -> f64 {
    if !(x > 0.0) {
        return if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    let mut sum = 0.0;
    while x < 12.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    sum + (libm::log(x) - 0.5 / x - z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z / 240.0))))
}

fn trigamma_64(mut x: f64) -> f64 {
    if !(x > 0.0) {
        return if x == 0.0 { f64::INFINITY } else { f64::NAN };
    }
    let mut sum = 0.0;
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    sum + (1.0 / x + 0.5 * z + z / x * (1.0 / 6.0 - z * (1.0 / 30.0 - z * (1.0 / 42.0 - z / 30.0))))
}

macro_rules! elementary {
    ($t:ident, $($name:ident: |$x:ident| $body:expr;)*) => {
        impl Elementary for $t {
            $(#[inline(always)]
            fn $name(self) -> Self {
                let $x = self;
                $body
            })*
        }
    };
}
elementary! { f64,
    exp: |x| libm::exp(x);
    exp_m1: |x| libm::expm1(x);
    ln: |x| libm::log(x);
    ln_1p: |x| libm::log1p(x);
    sigmoid: |x| 1.0 / (1.0 + libm::exp(-x));
    softplus: |x| if x > 0.0 { x + libm::log1p(libm::exp(-x)) } else { libm::log1p(libm::exp(x)) };
    sqrt: |x| libm::sqrt(x);
    ln_gamma: |x| libm::lgamma(x);
    digamma: |x| digamma_64(x);
    trigamma: |x| trigamma_64(x);
}
elementary! { f32,
    exp: |x| libm::expf(x);
    exp_m1: |x| libm::expm1f(x);
    ln: |x| libm::logf(x);
    ln_1p: |x| libm::log1pf(x);
    sigmoid: |x| 1.0 / (1.0 + libm::expf(-x));
    softplus: |x| if x > 0.0 { x + libm::log1pf(libm::expf(-x)) } else { libm::log1pf(libm::expf(x)) };
    sqrt: |x| libm::sqrtf(x);
    ln_gamma: |x| libm::lgammaf(x);
    digamma: |x| digamma_64(x.into()) as f32;
    trigamma: |x| trigamma_64(x.into()) as f32;
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
    /// `e^x`.
    exp;
    /// `e^x - 1`.
    exp_m1;
    /// Natural logarithm.
    ln;
    /// `ln(1 + x)`.
    ln_1p;
    /// `1 / (1 + e^-x)`.
    sigmoid;
    /// `ln(1 + e^x)`.
    softplus;
    /// Square root, correctly rounded.
    sqrt;
    /// `ln Γ(x)` for positive `x`.
    ln_gamma;
    /// `ψ(x)`, the derivative of `ln Γ`, for positive `x`.
    digamma;
    /// `ψ′(x)`, the derivative of `ψ`, for positive `x`.
    trigamma;
}
