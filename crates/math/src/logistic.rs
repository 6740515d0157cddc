//! `1 / (1 + e^-x)` and its integral, branch-free.

macro_rules! logistics {
    ($float:ident) => {
        pub(crate) mod $float {
            use crate::{exponential::$float::exp, logarithm::$float::ln_1p};

            #[inline(always)]
            pub(crate) fn sigmoid(x: $float) -> $float {
                let e = exp(-x.abs()); // never overflows
                let numerator = if x < 0.0 { e } else { 1.0 };
                numerator / (1.0 + e)
            }

            #[inline(always)]
            pub(crate) fn softplus(x: $float) -> $float {
                let positive = if x > 0.0 { x } else { 0.0 };
                positive + ln_1p(exp(-x.abs()))
            }
        }
    };
}
logistics!(f32);
logistics!(f64);
