//! `digamma_slice` against `digamma`, which is right to 2.5 ulp.

use countgrid_math::{Real, digamma, digamma_slice};
use proptest::prelude::*;

/// The largest error in units of `u max(1, |ψ|)`. The reference is taken in f64; its own 2.5 ulp, 5 `u` relative,
/// are a part of what is measured in f64.
fn worst<T: Real>(x: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut worst = (0.0, 0.0);
    for x in x {
        let mut found = [T::from_f64(x)];
        let expected = digamma(found[0].to_f64());
        digamma_slice(&mut found);
        let error =
            (found[0].to_f64() - expected).abs() / expected.abs().max(1.0) / T::UNIT_ROUNDOFF.to_f64();
        if !(error <= worst.0) {
            worst = (error, x);
        }
    }
    worst
}

#[test]
fn within_the_stated_bound() {
    let grid = || (0..200_000).map(|i| (f64::from(i) * 1e-3 - 80.0).exp()); // 2e-35 to 1e52
    let near = || (1..200_000).map(|i| f64::from(i) * 1e-4); // 0 to 20: zero, shifts
    for x in
        [worst::<f32>(grid().take(160_000)), worst::<f32>(near()), worst::<f64>(grid()), worst::<f64>(near())]
    {
        assert!(x.0 <= 16.0, "{} units at {:e}", x.0, x.1);
        println!("{} units at {:e}", x.0, x.1);
    }
}

#[test]
fn limits() {
    fn check<T: Real>() {
        let mut x = [T::zero(), -T::zero(), T::infinity(), -T::one(), T::nan(), T::neg_infinity()];
        digamma_slice(&mut x);
        assert_eq!(x[..3], [T::neg_infinity(), T::neg_infinity(), T::infinity()]);
        assert!(x[3..].iter().all(|x| x.is_nan()));
        let mut least = [T::min_positive_value()];
        digamma_slice(&mut least);
        assert!(least[0] < -T::one() / T::min_positive_value() / (T::one() + T::one()));
    }
    check::<f32>();
    check::<f64>();
}

proptest! {
    #[test]
    fn recurs(x in 1e-3..1e4_f64) {
        let mut y = [x, x + 1.0];
        digamma_slice(&mut y);
        // Three terms, each within 16 u of itself or one; and x + 1 is rounded, where ψ' is below 1.7.
        let allowed = f64::UNIT_ROUNDOFF * (16.0 * (y[0].abs().max(1.0) + y[1].abs().max(1.0)) + 1.0 / x + 1.7 * x.max(1.0));
        prop_assert!((y[1] - y[0] - 1.0 / x).abs() <= allowed);
    }
}
