//! `ln Γ` and its first two derivatives for positive numbers, in `f64`.
//!
//! Around their zeros the functions are a product with the exact distances to them, so that the relative error
//! stays small there. On [1, 3] the other factor is a polynomial for each half unit; below 1 and above 3 the
//! recurrence leads there; from 8 on stands the asymptotic series.

pub(crate) mod branch_free;
mod tables;

use crate::logarithm::f64::ln_parts;
use crate::polynomial::horner;
use tables::*;

/// From here on the asymptotic series are used.
const FAR: f64 = 8.0;
/// `ln √(2π) - 1/2`
const HALF_LN_2_PI_LESS_HALF: f64 = 0.4189385332046727;

/// What a function of the positive half-line is elsewhere: its limit at zero and at infinity, and NaN.
macro_rules! positive_domain {
    ($x:ident, at zero $zero:expr, at infinity $infinity:expr) => {
        if !($x > 0.0) {
            return if $x == 0.0 { $zero } else { f64::NAN };
        }
        if $x == f64::INFINITY {
            return $infinity;
        }
    };
}

/// `(ln Γ(1 + d)) / (d (d - 1))`, `-1/2 ≤ d ≤ 2`.
fn ln_gamma_quotient(d: f64) -> f64 {
    match d {
        ..0.0 => horner(d + 0.25, &LN_GAMMA_0),
        ..0.5 => horner(d - 0.25, &LN_GAMMA_1),
        ..1.0 => horner(d - 0.75, &LN_GAMMA_2),
        ..1.5 => horner(d - 1.25, &LN_GAMMA_3),
        _ => horner(d - 1.75, &LN_GAMMA_4),
    }
}

/// `ln Γ(1 + d)`, `-1/2 ≤ d ≤ 2`.
fn ln_gamma_1p(d: f64) -> f64 {
    d * ((d - 1.0) * ln_gamma_quotient(d))
}

pub(crate) fn ln_gamma(x: f64) -> f64 {
    positive_domain!(x, at zero f64::INFINITY, at infinity f64::INFINITY);
    if x < 0.5 {
        // Γ(x) = Γ(1 + x) / x; not a sum 1 + x, so that no bit of x is lost
        let (ln_x, tail) = ln_parts(x);
        -ln_x + (ln_gamma_1p(x) - tail)
    } else if x <= 3.0 {
        ln_gamma_1p(x - 1.0)
    } else if x < FAR {
        // Γ(x) = (x - 1) (x - 2) ... y Γ(y), y in (2, 3]
        let (mut y, mut product) = (x - 1.0, x - 1.0);
        while y > 3.0 {
            y -= 1.0;
            product *= y;
        }
        let (ln_product, tail) = ln_parts(product);
        ln_product + (tail + ln_gamma_1p(y - 1.0))
    } else {
        // (x - 1/2) (ln x - 1) with an exact product, since it is much larger than what follows
        let (ln_x, tail) = ln_parts(x);
        let (ln_x, tail) = (ln_x + tail, tail - ((ln_x + tail) - ln_x));
        let (a, b) = (x - 0.5, ln_x - 1.0);
        let product = a * b;
        let inverse = 1.0 / x;
        let series = inverse * horner(inverse * inverse, &STIRLING);
        product + (product_error(a, b, product) + a * tail + (HALF_LN_2_PI_LESS_HALF + series))
    }
}

/// `a b - product` without a fused multiply-add: Dekker's way, with halves cut from the bits, which cannot
/// overflow. Zero where the product is infinite.
fn product_error(a: f64, b: f64, product: f64) -> f64 {
    if product == f64::INFINITY {
        return 0.0;
    }
    let upper = |x: f64| f64::from_bits(x.to_bits() & (!0 << 27));
    let (a_high, b_high) = (upper(a), upper(b));
    let (a_low, b_low) = (a - a_high, b - b_high);
    (a_high * b_high - product) + a_high * b_low + a_low * b_high + a_low * b_low
}

/// `ψ(1 + d)`, `0 ≤ d ≤ 2`.
fn digamma_1p(d: f64) -> f64 {
    let from_root = (d - DIGAMMA_ROOT_LESS_1_HIGH) - DIGAMMA_ROOT_LESS_1_LOW;
    from_root
        * match d {
            ..0.5 => horner(d - 0.25, &DIGAMMA_1),
            ..1.0 => horner(d - 0.75, &DIGAMMA_2),
            ..1.5 => horner(d - 1.25, &DIGAMMA_3),
            _ => horner(d - 1.75, &DIGAMMA_4),
        }
}

pub(crate) fn digamma(x: f64) -> f64 {
    positive_domain!(x, at zero f64::NEG_INFINITY, at infinity f64::INFINITY);
    if x < 1.0 {
        // ψ(x) = ψ(1 + x) - 1/x
        digamma_1p(x) - 1.0 / x
    } else if x <= 3.0 {
        digamma_1p(x - 1.0)
    } else if x < FAR {
        // ψ(x) = 1/(x - 1) + ... + 1/y + ψ(y), y in (2, 3]; the smallest terms first
        let (mut y, mut sum) = (x - 1.0, 1.0 / (x - 1.0));
        while y > 3.0 {
            y -= 1.0;
            sum += 1.0 / y;
        }
        sum + digamma_1p(y - 1.0)
    } else {
        let (ln_x, tail) = ln_parts(x);
        let inverse = 1.0 / x;
        let z = inverse * inverse;
        ln_x + (tail - (0.5 * inverse + z * horner(z, &DIGAMMA_TAIL)))
    }
}

pub(crate) fn trigamma(x: f64) -> f64 {
    positive_domain!(x, at zero f64::INFINITY, at infinity 0.0);
    // ψ′(x) = 1/x² + ... + ψ′(y), all positive, the smallest terms first
    let steps = if x < FAR { (FAR - x) as u32 + 1 } else { 0 };
    let inverse = 1.0 / (x + f64::from(steps));
    let z = inverse * inverse;
    let mut sum = inverse + z * (0.5 + inverse * horner(z, &TRIGAMMA_TAIL));
    for step in (0..steps).rev() {
        let inverse = 1.0 / (x + f64::from(step));
        sum += inverse * inverse;
    }
    sum
}
