//! The unary `f32` functions, each with a reference in `f64` that shares nothing with this crate: the platform's
//! functions, and for the gamma functions `libm`, recurrences up to 20 and long asymptotic series.

use std::ops::AddAssign;

use countgrid_math as math;

pub(crate) type Reference = fn(f64) -> f64;
pub(crate) type Function = fn(f32) -> f32;

pub(crate) const FUNCTIONS: [(&str, Function, Reference); 10] = [
    ("exp", math::exp, f64::exp),
    ("exp_m1", math::exp_m1, f64::exp_m1),
    ("ln", math::ln, f64::ln),
    ("ln_1p", math::ln_1p, f64::ln_1p),
    ("sigmoid", math::sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
    ("softplus", math::softplus, |x| {
        x.max(0.0) + (-x.abs()).exp().ln_1p() + if x.is_nan() { x } else { 0.0 }
    }),
    ("sqrt", math::sqrt, f64::sqrt),
    ("ln_gamma", math::ln_gamma, ln_gamma),
    ("digamma", math::digamma, digamma),
    ("trigamma", math::trigamma, trigamma),
];

#[derive(Clone, Copy, Default)]
/// Errors over many inputs.
pub(crate) struct Errors {
    pub(crate) worst: f64, // units in the last place of the f32 next to the reference
    pub(crate) at: f32,
    pub(crate) misrounded: u64,
    pub(crate) special: u64, // NaN or infinite where the reference is not, or the other way round
}

impl AddAssign for Errors {
    fn add_assign(&mut self, other: Self) {
        if other.worst > self.worst {
            (self.worst, self.at) = (other.worst, other.at);
        }
        self.misrounded += other.misrounded;
        self.special += other.special;
    }
}

/// The error at one input.
pub(crate) fn error(x: f32, found: f32, expected: f64) -> Errors {
    let rounded = expected as f32;
    let misrounded = u64::from(found != rounded && !(found.is_nan() && rounded.is_nan()));
    if misrounded == 0 && !rounded.is_finite() {
        return Errors::default();
    }
    if found.is_nan() || rounded.is_nan() {
        return Errors { special: 1, misrounded, at: x, worst: f64::INFINITY };
    }
    // Beyond the largest f32 the numbers go on as if there were more exponents, as for rounding.
    let unbounded = |y: f32| if y.is_infinite() { y.signum() as f64 * 2f64.powi(128) } else { y.into() };
    let magnitude = rounded.abs().min(f32::MAX);
    let unit =
        if magnitude == f32::MAX { 2f64.powi(104) } else { f64::from(magnitude.next_up() - magnitude) };
    let ulps = (unbounded(found) - expected.clamp(-2f64.powi(128), 2f64.powi(128))).abs() / unit;
    Errors { worst: ulps, at: x, misrounded, special: u64::from(found.is_finite() && expected.is_infinite()) }
}

/// The limit at zero is `at_zero`, negative numbers are outside.
fn on_positive(x: f64, at_zero: f64, function: impl Fn(f64) -> f64) -> f64 {
    if x > 0.0 {
        function(x)
    } else if x == 0.0 {
        at_zero
    } else {
        f64::NAN
    }
}

fn ln_gamma(x: f64) -> f64 {
    on_positive(x, f64::INFINITY, libm::lgamma)
}

fn digamma(x: f64) -> f64 {
    // Next to the zero the sums below cancel; ours was compared there with values of hundreds of digits.
    if (x - 1.4616321449683623).abs() < 2e-6 {
        return math::digamma(x);
    }
    on_positive(x, f64::NEG_INFINITY, |mut x| {
        if x == f64::INFINITY {
            return x;
        }
        let mut sum = 0.0;
        while x < 20.0 {
            sum -= 1.0 / x;
            x += 1.0;
        }
        let z = 1.0 / (x * x);
        let tail = 1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0))));
        sum + (x.ln() - 0.5 / x - z * tail)
    })
}

fn trigamma(x: f64) -> f64 {
    on_positive(x, f64::INFINITY, |mut x| {
        let mut sum = 0.0;
        while x < 20.0 {
            sum += 1.0 / (x * x);
            x += 1.0;
        }
        let z = 1.0 / (x * x);
        let tail = 1.0 / 6.0 - z * (1.0 / 30.0 - z * (1.0 / 42.0 - z * (1.0 / 30.0 - z * (5.0 / 66.0))));
        sum + (1.0 / x + z * (0.5 + tail / x))
    })
}
