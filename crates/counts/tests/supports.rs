//! Where the parts of a density end, and what one observation adds.

use countgrid_counts::{Bernoulli, Estimate, Event, EventError, Gaussian, Multinomial, Poisson, Zip};
use proptest::prelude::*;

const NEVER: f64 = f64::NEG_INFINITY;

/// Outside the support kernel and base are both `-∞`, and of the counts inside neither is.
#[test]
fn both_parts_end_with_the_support() {
    let events: [&dyn Event<f64, Scalar = f64>; 3] =
        [&Poisson::new(2.0).unwrap(), &Bernoulli::new(0.25).unwrap(), &Zip::new(0.5, 1.0).unwrap()];
    for event in events {
        for x in [-1.0, -1e-300, f64::NAN, f64::INFINITY, NEVER] {
            assert_eq!([event.ln_kernel(x), event.ln_base(x)], [NEVER; 2], "{x}");
        }
        for x in [0.0, 0.5, 1.0, 3.0] {
            assert!(event.ln_kernel(x).is_finite() && event.ln_base(x).is_finite(), "{x}");
        }
    }
    let event = Gaussian::new(1.0, 2.0).unwrap();
    for x in [f64::NAN, f64::INFINITY, NEVER] {
        assert_eq!([event.ln_kernel(x), event.ln_base(x)], [NEVER; 2], "{x}");
    }
    let event = Multinomial::<f64, _>::new([0.5, 0.5]).unwrap();
    for count in [-1.0, f64::NAN, f64::INFINITY] {
        let bag = [(0, 1.0), (1, count)];
        assert_eq!([event.ln_kernel(bag), event.ln_base(bag)], [NEVER; 2], "{count}");
    }
    assert_eq!(event.ln_kernel([(2, 1.0)]), NEVER);
}

/// Where a part overflows the density is 0.
#[test]
fn an_overflow_is_no_density() {
    let huge = 1e308;
    let poisson = Poisson::new(1e5).unwrap(); // t ln λ is +∞
    assert_eq!([poisson.ln_kernel(huge), poisson.ln_density(huge)], [NEVER; 2]);
    let zip = Zip::new(0.0, 1e5).unwrap();
    assert_eq!([zip.ln_kernel(huge), zip.ln_density(huge)], [NEVER; 2]);
    let multinomial = Multinomial::<f64, _>::new([0.5, 0.5]).unwrap();
    for bag in [[(0, huge), (1, 1.0)], [(0, huge), (1, huge)]] {
        assert_eq!([multinomial.ln_base(bag), multinomial.ln_density(bag)], [NEVER; 2]);
    }
}

proptest! {
    /// The sums are those that each distribution says, weight for weight.
    #[test]
    fn statistics_are_the_sums_they_say(data in prop::collection::vec((0..5_u8, 0.1..3.0_f64, 0.1..4.0_f64), 1..10), eta in -3.0..3.0_f64) {
        let sum = |term: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
            data.iter().map(|&(t, weight, exposure)| term(f64::from(t), weight, exposure)).sum()
        };
        // Up to ten positive terms, each of a few roundings.
        let near = |found: &[f64], expected: &[f64]| {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-14 * b.abs())
        };
        let gather = |event: &dyn Event<f64, Scalar = f64>| {
            let mut sums = vec![0.0; event.statistics_len()];
            data.iter().for_each(|&(t, weight, _)| event.accumulate(t.into(), weight, &mut sums).unwrap());
            sums
        };
        let (weight, first) = (sum(&|_, w, _| w), sum(&|t, w, _| w * t));
        prop_assert!(near(&gather(&Poisson::new(1.5).unwrap()), &[weight, first]));
        prop_assert!(near(&gather(&Gaussian::new(0.5, 2.0).unwrap()), &[weight, first, sum(&|t, w, _| w * t * t)]));
        let occurrences = sum(&|t, w, _| if t > 0.0 { w } else { 0.0 });
        prop_assert!(near(&gather(&Bernoulli::new(0.5).unwrap()), &[weight, occurrences]));

        let poisson = Poisson::new(1.5).unwrap();
        let mut sums = [0.0; 2];
        for &(t, weight, exposure) in &data {
            poisson.accumulate_with_exposure(t.into(), exposure, weight, &mut sums).unwrap();
        }
        prop_assert!(near(&sums, &[sum(&|_, w, e| w * e), first]));

        // Of a zero the part 1 - z is a count of the Poisson distribution, with z the posterior of being inflated.
        let zip = Zip::new(eta, 1.5).unwrap();
        let z = |t: f64| if t == 0.0 { 1.0 / (1.0 + (-eta - 1.5).exp()) } else { 0.0 };
        let expected = [weight, first, sum(&|t, w, _| w * (1.0 - z(t))), sum(&|t, w, _| w * z(t))];
        let found = gather(&zip);
        prop_assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-13 * weight.max(1.0)), "{found:?} {expected:?}");
    }
}

#[test]
fn an_exposure_is_finite_and_positive() {
    let refused = Err(EventError::Parameter { name: "exposure" });
    let (poisson, zip) = (Poisson::new(2.0).unwrap(), Zip::new(0.5, 2.0).unwrap());
    let (mut sums, mut four) = ([0.0; 2], [0.0; 4]);
    for exposure in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(poisson.accumulate_with_exposure(1.0, exposure, 1.0, &mut sums), refused, "{exposure}");
        assert_eq!(zip.accumulate_with_exposure(1.0, exposure, 1.0, &mut four), refused, "{exposure}");
    }
    assert_eq!(zip.accumulate_with_exposure(1.0, f64::MAX, 1.0, &mut four), refused); // the rate overflows
    assert_eq!((sums, four), ([0.0; 2], [0.0; 4]));
    // Of no rate: nothing overflows, and an exposure is still to be finite.
    assert_eq!(
        Zip::new(0.5, 0.0).unwrap().accumulate_with_exposure(0.0, f64::INFINITY, 1.0, &mut four),
        refused
    );
}

/// Probabilities of `Z` features add up to 1 within `4 (Z + 8) u`.
#[test]
fn the_total_of_a_multinomial() {
    let u = f64::EPSILON / 2.0;
    for features in [2, 4, 64] {
        let new = |off: f64| {
            let mut p = vec![1.0 / f64::from(features); features as usize];
            p[0] += off * u;
            Multinomial::new(p).err()
        };
        let allowed = 4.0 * (f64::from(features) + 8.0);
        for off in [allowed - 4.0, -(allowed - 4.0)] {
            assert_eq!(new(off), None, "{features} {off}");
        }
        for off in [allowed + 4.0, -(allowed + 4.0)] {
            assert_eq!(new(off), Some(EventError::Total), "{features} {off}");
        }
    }
}

#[test]
fn a_multinomial_has_a_sum_for_each_feature() {
    let mut event = Multinomial::new([0.5, 0.25, 0.25]).unwrap();
    let bag = [(0, 1_u8), (2, 3)];
    assert_eq!(Event::<[(usize, u8); 2]>::statistics_len(&event), 3);
    let length = EventError::Length { table: "statistics", expected: 3, found: 2 };
    assert_eq!(event.accumulate(bag, 1.0, &mut [0.0; 2]), Err(length));
    assert_eq!(event.maximize(&[1.0; 2]), Err(length));
}

/// Each error says which parameter or statistic it is about.
#[test]
fn errors_name_what_is_wrong() {
    for (error, part) in [
        (Poisson::new(-1.0).unwrap_err(), "`rate`"),
        (Bernoulli::new(2.0).unwrap_err(), "`p`"),
        (Poisson::new(1.0).unwrap().maximize(&[0.0, 1.0]).unwrap_err(), "`weight`"),
        (Poisson::new(1.0).unwrap().maximize(&[1.0]).unwrap_err(), "`statistics` has 1 elements, needs 2"),
        (Multinomial::new([0.5, 0.25]).unwrap_err(), "add up to 1"),
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
}
