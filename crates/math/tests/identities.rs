//! What the functions satisfy, whatever their values are. Tolerances follow from the bounds in `ACCURACY.md`:
//! `U` is the unit roundoff and 1 ulp at most `2 U` relative.

use countgrid_math::*;
use proptest::prelude::*;

macro_rules! identities {
    ($module:ident, $float:ident, exponent to $largest:literal) => {
        mod $module {
            use super::*;

            const U: $float = <$float as Real>::UNIT_ROUNDOFF;

            fn positive() -> impl Strategy<Value = $float> {
                prop::num::$float::POSITIVE | prop::num::$float::NORMAL | prop::num::$float::SUBNORMAL
            }

            proptest! {
                #[test] // an error of 2 U |ln x| in the exponent, and 2 U of the exponential
                fn exp_undoes_ln(x in prop::num::$float::POSITIVE) {
                    let found = exp(ln(x));
                    prop_assert!((found - x).abs() <= 2.1 * U * (1.0 + ln(x).abs()) * x, "{found:e}");
                }

                #[test] // an error of 2 U e^x relative in the argument, and 2 U of the logarithm
                fn ln_undoes_exp(x in -$largest..$largest as $float) {
                    prop_assert!((ln(exp(x)) - x).abs() <= 2.1 * U * (1.0 + x.abs()));
                }

                #[test] // e^x rounded, 1 subtracted, e^x - 1 rounded
                fn exp_m1_is_exp_less_1(x in -$largest..$largest as $float) {
                    let difference = (exp_m1(x) - (exp(x) - 1.0)).abs();
                    prop_assert!(difference <= 2.5 * U * (exp(x) + 1.0 + exp_m1(x).abs()));
                }

                #[test]
                fn ln_1p_undoes_exp_m1(x in -1.0..$largest as $float) {
                    // d ln(1 + y) = e^-x dy, and |y| e^-x = |1 - e^-x|, which is at most 1.72 |x| here
                    prop_assert!((ln_1p(exp_m1(x)) - x).abs() <= 2.1 * U * (1.72 * x.abs() + x.abs()));
                }

                #[test] // the documented bound, and of the reference a rounding of each logarithm and two of their sum
                fn logarithms_are_summed(x in prop::collection::vec(prop::num::$float::POSITIVE, 0..1500)) {
                    let logs = x.iter().map(|&x| f64::from(x.max($float::FLOOR)).ln());
                    let (mut sum, mut lost, mut sizes) = (0.0f64, 0.0, 0.0);
                    for log in logs.filter(|log| log.is_finite()) {
                        let next = sum + log; // Neumaier's sum
                        lost += if sum.abs() >= log.abs() { (sum - next) + log } else { (log - next) + sum };
                        (sum, sizes) = (next, sizes + log.abs());
                    }
                    let x: Vec<$float> = x.into_iter().filter(|x| x.is_finite()).collect();
                    let sums = x.len().div_ceil(32 * <$float as Real>::LANES) + 5;
                    let allowed = 4.0 * x.len() as f64 * f64::from(U) + sums as f64 * f64::EPSILON / 2.0 * sizes;
                    let found = sum_ln_floored(&x);
                    prop_assert!((found - (sum + lost)).abs() <= allowed, "{found} for {sum}");
                }

                #[test] // each within 3 ulp
                fn sigmoids_of_x_and_minus_x_sum_to_1(x in prop::num::$float::NORMAL) {
                    prop_assert!((sigmoid(x) + sigmoid(-x) - 1.0).abs() <= 6.0 * U);
                }

                #[test] // 2 ulp each of three numbers
                fn softplus_of_x_less_that_of_minus_x_is_x(x in -1e6..1e6 as $float) {
                    let (plus, minus) = (softplus(x), softplus(-x));
                    prop_assert!((plus - minus - x).abs() <= 4.0 * U * (plus + minus + x.abs()));
                }

                #[test]
                fn the_root_is_correctly_rounded(x in positive()) {
                    // root <= sqrt x + half a unit: the squares of the midpoints to the neighbours enclose x
                    let root = sqrt(x);
                    let (below, above) = (f64::from(root.next_down()), f64::from(root.next_up()));
                    let (root, x) = (f64::from(root), f64::from(x));
                    // products of f32 are exact in f64; for f64 the slack is one rounding
                    let slack = if $float::MANTISSA_DIGITS == 24 { 0.0 } else { 4.0 * f64::EPSILON };
                    prop_assert!(((below + root) / 2.0).powi(2) <= x * (1.0 + slack));
                    prop_assert!(((above + root) / 2.0).powi(2) >= x * (1.0 - slack));
                }

                #[test]
                fn softmax_sums_to_1(mut x in prop::collection::vec(-50.0..50.0 as $float, 1..200)) {
                    let (n, expected) = (x.len() as $float, log_sum_exp(&x));
                    prop_assert_eq!(softmax(&mut x), expected);
                    prop_assert!((sum(&x) - 1.0).abs() <= (2.0 * n / <$float as Real>::LANES as $float + 15.0) * U);
                }

                #[test]
                fn log_sum_exp_moves_with_its_elements(x in prop::collection::vec(-50.0..50.0 as $float, 1..200)) {
                    let moved: Vec<_> = x.iter().map(|x| x + 64.0).collect();
                    // adding rounds elements and result by at most 128 U; each sum errs by 20 roundings of terms
                    let difference = log_sum_exp(&moved) - log_sum_exp(&x) - 64.0;
                    prop_assert!(difference.abs() <= (3.0 * 128.0 + 40.0 + 100.0) * U, "{difference}");
                }

                #[test]
                fn a_cut_drops_no_more_than_it_may(
                    x in prop::collection::vec(-50.0..50.0 as $float, 1..200),
                    cut in 0.0..30.0 as $float,
                ) {
                    let (mut all, mut some) = (x.clone(), x.clone());
                    let (total, kept) = (softmax(&mut all), softmax_with_threshold(&mut some, cut));
                    let largest = max(&x);
                    for (x, q) in x.iter().zip(&some) {
                        prop_assert_eq!(*q == 0.0, x - largest < -cut);
                    }
                    let dropped = x.len() as $float * exp(-cut);
                    prop_assert!(kept <= total + 100.0 * U && total - kept <= ln_1p(dropped) + 200.0 * U);
                }

                #[test] // neighbours a few units apart: errors below 1 ulp can tie, never swap
                fn exp_and_ln_never_fall(x in -$largest..$largest as $float, y in positive(), steps in 4..100u8) {
                    let (mut above_x, mut above_y) = (x, y);
                    for _ in 0..steps {
                        (above_x, above_y) = (above_x.next_up(), above_y.next_up());
                    }
                    prop_assert!(exp(above_x) >= exp(x));
                    prop_assert!(ln(above_y) >= ln(y));
                }
            }
        }
    };
}
identities!(single, f32, exponent to 85.0);
identities!(double, f64, exponent to 700.0);

/// 3 ulp of the largest of the numbers that enter, each of which is off by that much at most.
fn close(a: f64, b: f64, largest: f64) -> bool {
    (a - b).abs() <= 3.0 * f64::EPSILON * (a.abs() + b.abs() + largest.abs())
}

proptest! {
    // x + 1 is rounded too, by U (x + 1), which moves a function by its derivative: ψ(x) ~ ln x, 1/x, 1/x².
    #[test]
    fn ln_gamma_recurs(x in 1e-3..1e6_f64) {
        prop_assert!(close(ln_gamma(x + 1.0) - ln_gamma(x), ln(x), ln_gamma(x).abs() + ln_gamma(x + 1.0).abs() + x));
    }

    #[test]
    fn digamma_recurs(x in 1e-3..1e6_f64) {
        prop_assert!(close(digamma(x + 1.0) - digamma(x), 1.0 / x, digamma(x).abs() + 1.0));
    }

    #[test]
    fn trigamma_recurs(x in 1e-3..1e6_f64) {
        prop_assert!(close(trigamma(x) - trigamma(x + 1.0), 1.0 / (x * x), trigamma(x)));
    }

    #[test] // Γ(x) Γ(x + 1/2) = 2^(1 - 2x) √π Γ(2x)
    fn ln_gamma_doubles(x in 1e-3..1e4_f64) {
        let left = ln_gamma(x) + ln_gamma(x + 0.5);
        let right = (1.0 - 2.0 * x) * core::f64::consts::LN_2 + 0.5723649429247001 + ln_gamma(2.0 * x);
        prop_assert!(close(left, right, ln_gamma(x).abs() + 2.0 * ln_gamma(2.0 * x).abs() + 2.0 * x));
    }

    #[test] // the mean slope over a step lies between the slopes at its ends: ψ′ falls
    fn digamma_is_the_integral_of_trigamma(x in 0.1..100.0_f64, step in 0.01..0.5_f64) {
        let slope = (digamma(x + step) - digamma(x)) / step;
        prop_assert!(trigamma(x + step) <= slope && slope <= trigamma(x));
    }

    #[test] // ψ rises
    fn ln_gamma_is_the_integral_of_digamma(x in 0.1..100.0_f64, step in 0.01..0.5_f64) {
        let slope = (ln_gamma(x + step) - ln_gamma(x)) / step;
        prop_assert!(digamma(x) <= slope && slope <= digamma(x + step));
    }
}

proptest! {
    /// From 1e-6 to 1e4, whatever the start is: where the slope vanishes, `ψ(K alpha) - ψ(alpha) + mean = 0`, or at the end of
    /// the range that the slope points to.
    #[test]
    fn a_symmetric_dirichlet_is_the_maximum(
        components in prop_oneof![2..9_usize, 9..100_000_usize],
        ln_alpha in -13.7..9.2_f64,
        ln_start in -20.0..20.0_f64,
        off in prop_oneof![Just(0.0), -3.0..3.0_f64],
    ) {
        let (k, alpha) = (components as f64, ln_alpha.exp());
        let mean = digamma(alpha) - digamma(k * alpha) + off * off * off;
        let found = symmetric_dirichlet(components, mean, ln_start.exp());
        // Rounding of the logarithms of the ends.
        prop_assert!((1e-6 * (1.0 - 1e-14)..=1e4 * (1.0 + 1e-14)).contains(&found), "{found:e}");
        let slope = |alpha: f64| digamma(k * alpha) - digamma(alpha) + mean;
        // A step in ln alpha that is larger than the last of the search, 1e-12, and than the slope's rounding, some 10 ulp of ψ, over
        // its derivative, which is at least 1 / (2 alpha) (1 - 1/K) in size, and at least half of 1 / alpha below 1.
        let step = 1e-11 + 1e-14 * (mean.abs() + 20.0) * found.min(1.0) + 1e-14 * 80.0 * found;
        prop_assert!(found * (1.0 - step) <= 1e-6 || slope(found * (1.0 - step)) > 0.0, "{found:e} is too large");
        prop_assert!(found * (1.0 + step) >= 1e4 || slope(found * (1.0 + step)) < 0.0, "{found:e} is too small");
    }
}

#[test]
fn a_dirichlet_of_one_component_is_its_start() {
    assert_eq!(symmetric_dirichlet(1, 0.0, 0.7), 0.7);
}
