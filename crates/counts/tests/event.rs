//! Laws against their definitions: they sum to one, their estimates are maxima, their edges are exact.

use countgrid_counts::{
    Bags, Bernoulli, Dense, Estimate, Event, EventError, Gaussian, Linear, Multinomial, Poisson, Zip,
};
use proptest::prelude::*;

const NEVER: f64 = f64::NEG_INFINITY;

/// Moments 0, 1, 2 of a distribution of counts, by adding up its mass function as far as it goes.
fn moments(event: &impl Event<f64, Scalar = f64>) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for t in 0..400 {
        let (t, p) = (f64::from(t), event.ln_density(f64::from(t)).exp());
        sums[0] += p;
        sums[1] += p * t;
        sums[2] += p * t * t;
    }
    sums
}

/// `ln p` of data, each weighted.
fn likelihood<E: Event<f64, Scalar = f64>>(event: &E, data: &[(f64, f64)]) -> f64 {
    data.iter().map(|&(x, weight)| weight * event.ln_density(x)).sum()
}

fn statistics<E: Event<f64, Scalar = f64>>(event: &E, data: &[(f64, f64)]) -> Vec<f64> {
    let mut sums = vec![0.0; event.statistics_len()];
    data.iter().for_each(|&(x, weight)| event.accumulate(x, weight, &mut sums).unwrap());
    sums
}

fn counts() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let count = prop_oneof![Just(0.0), (1..9_u8).prop_map(f64::from)];
    prop::collection::vec((count, 0.1..1.0), 3..20)
}

// Terms are at most 400 in the exponent, hence good to 400 u; a sum of 400 of them to about that again.
const MASS: f64 = 1000.0 * f64::EPSILON;

proptest! {
    #[test]
    fn mass_functions_have_their_moments(eta in -8.0..8.0, rate in 0.01..40.0) {
        let [mass, mean, square] = moments(&Poisson::new(rate).unwrap());
        prop_assert!((mass - 1.0).abs() < MASS);
        prop_assert!((mean - rate).abs() < MASS * rate);
        prop_assert!((square - rate * (1.0 + rate)).abs() < MASS * rate * (1.0 + rate));
        let zip = Zip::new(eta, rate).unwrap();
        let [mass, mean, square] = moments(&zip);
        prop_assert!((mass - 1.0).abs() < MASS);
        prop_assert!((mean - zip.mean()).abs() < MASS * rate);
        prop_assert!((square - mean * mean - zip.variance()).abs() < MASS * rate * (1.0 + rate));
        let event = Bernoulli::from_logit(eta).unwrap();
        prop_assert!((event.ln_density(0.0).exp() + event.ln_density(1.0).exp() - 1.0).abs() < 4.0 * f64::EPSILON);
        prop_assert!((event.logit() - eta).abs() < 8.0 * f64::EPSILON * (1.0 + eta.abs()));
    }

    #[test] // the trapezoid rule on a Gaussian converges faster than any power of the step
    fn the_gaussian_integrates_to_one(mean in -3.0..3.0, precision in 0.2..5.0) {
        let event = Gaussian::new(mean, precision).unwrap();
        let step = 0.25 / f64::sqrt(precision);
        let mass: f64 = (-100..=100).map(|n| event.ln_density(mean + f64::from(n) * step).exp() * step).sum();
        prop_assert!((mass - 1.0).abs() < MASS);
    }

    #[test] // up to rounding: 20 terms of at most 50 nats, each good to a few u
    fn estimates_are_maxima(data in counts(), nudge in -0.3..0.3_f64) {
        const ROUNDING: f64 = 1e-11;
        let mut event = Poisson::new(1.0).unwrap();
        event.maximize(&statistics(&event, &data)).unwrap();
        let other = Poisson::new(event.rate() * nudge.exp()).unwrap();
        prop_assert!(likelihood(&other, &data) <= likelihood(&event, &data) + ROUNDING);

        let mut event = Bernoulli::new(0.5).unwrap();
        event.maximize(&statistics(&event, &data)).unwrap();
        let other = Bernoulli::from_logit(event.logit() + nudge).unwrap();
        prop_assert!(likelihood(&event, &data) > NEVER); // the one below it may be
        prop_assert!(likelihood(&other, &data) <= likelihood(&event, &data) + ROUNDING);

        let mut event = Gaussian::new(0.0, 1.0).unwrap();
        let sums = statistics(&event, &data);
        if event.maximize(&sums).is_ok() && event.precision() < 1e6 {
            for (shift, factor) in [(nudge, 1.0), (0.0, nudge.exp())] {
                let other = Gaussian::new(event.mean() + shift, event.precision() * factor).unwrap();
                let (best, other) = (likelihood(&event, &data), likelihood(&other, &data));
                prop_assert!(other <= best + ROUNDING * (1.0 + best.abs()) * 1e3);
            }
        }
    }

    #[test]
    fn zip_steps_reach_the_maximum(data in counts(), eta in -2.0..2.0, rate in 0.5..4.0) {
        let positive: f64 = data.iter().filter(|d| d.0 > 0.0).map(|d| d.1).sum();
        let tokens: f64 = data.iter().map(|d| d.0 * d.1).sum();
        let weight: f64 = data.iter().map(|d| d.1).sum();
        prop_assume!(tokens > 1.2 * positive); // otherwise the maximum is at the rate 0
        let mut event = Zip::new(eta, rate).unwrap();
        let mut last = likelihood(&event, &data);
        for _ in 0..3000 {
            event.maximize(&statistics(&event, &data)).unwrap();
            let next = likelihood(&event, &data);
            prop_assert!(next >= last - 1e-11, "{next} after {last}"); // as above
            last = next;
        }
        // Where both score equations can be met: λ / (1 - e^-λ) is the mean of the positive counts, and the
        // distribution gives zeros their frequency.
        let zero = event.ln_density(0.0).exp();
        if event.eta() > -3.0 {
            prop_assert!((event.rate() / -(-event.rate()).exp_m1() - tokens / positive).abs() < 1e-6);
            prop_assert!((zero - (1.0 - positive / weight)).abs() < 1e-6);
        }
    }

    #[test]
    fn inflation_is_the_posterior(eta in -20.0..20.0_f64, rate in 0.0..20.0_f64, exposure in 0.1..10.0) {
        let event = Zip::new(eta, rate).unwrap();
        let p = 1.0 / (1.0 + (-eta).exp());
        let z = p / (p + (1.0 - p) * (-rate).exp());
        prop_assert!((event.inflated(0.0) - z).abs() < 1e-13 && event.inflated(0.0) >= p - 1e-13);
        prop_assert_eq!(event.inflated(2.0), 0.0);
        // A, B, C under exposure are those of the distribution under exposure, with B once more times the exposure.
        let (mut sums, mut exposed) = ([0.0; 4], [0.0; 4]);
        for t in [0.0, 3.0] {
            event.accumulate_with_exposure(t, exposure, 0.5, &mut sums).unwrap();
            event.with_exposure(exposure).unwrap().accumulate(t, 0.5, &mut exposed).unwrap();
        }
        exposed[2] *= exposure;
        for (a, b) in sums.iter().zip(exposed) {
            prop_assert!((a - b).abs() <= 8.0 * f64::EPSILON * b.abs());
        }
        prop_assert!((sums[2] / exposure + sums[3] - 1.0).abs() < 8.0 * f64::EPSILON); // z + (1 - z), twice
    }

    #[test]
    fn exposure_is_a_rate(t in 0..20_u8, ln_rate in -4.0..3.0_f64, exposure in 0.1..10.0_f64, eta in -5.0..5.0) {
        let t = f64::from(t);
        let same = |a: f64, b: f64| (a - b).abs() < 1e-12 * (1.0 + a.abs());
        let (a, b) = (Poisson::from_ln_rate(ln_rate - exposure.ln()).unwrap(), Poisson::new(ln_rate.exp()).unwrap());
        prop_assert!(same(a.with_exposure(exposure).unwrap().ln_density(t), b.ln_density(t)));
        let (a, b) = (Zip::from_ln_rate(eta, ln_rate - exposure.ln()).unwrap(), Zip::new(eta, ln_rate.exp()).unwrap());
        prop_assert!(same(a.with_exposure(exposure).unwrap().ln_density(t), b.ln_density(t)));
    }

    #[test]
    fn no_input_gives_nan(
        [a, b, x] in prop::array::uniform3(prop::num::f64::ANY | prop::num::f64::NORMAL),
        [c, d, y] in prop::array::uniform3(prop::num::f32::ANY),
        moderate in -100.0..100.0_f64,
    ) {
        prop_assert!(never_nan(a, b, x), "{a:?} {b:?} {x:?}");
        prop_assert!(never_nan(c, d, y), "{c:?} {d:?} {y:?}");
        prop_assert!(never_nan(moderate, a, x) && never_nan(a, moderate, x), "{moderate:?} {a:?} {x:?}");
    }

    #[test]
    fn multinomial_estimates_are_frequencies(rows in prop::collection::vec([0..5_u8, 0..5_u8, 1..5_u8], 1..6)) {
        let flat = rows.concat();
        let bags = Dense::new(3, &flat).unwrap();
        let mut event = Multinomial::new([0.25, 0.25, 0.5]).unwrap();
        let mut n = [0.0; 3];
        for t in 0..bags.len() {
            event.accumulate(bags.entries(t), 2.0, &mut n).unwrap();
        }
        event.maximize(&n).unwrap();
        for (z, &ln_p) in event.ln_p().iter().enumerate() {
            let count: f64 = rows.iter().map(|row| f64::from(row[z])).sum();
            prop_assert_eq!(n[z], 2.0 * count);
            prop_assert!((ln_p.exp() - count / bags.tokens()).abs() < 8.0 * f64::EPSILON);
        }
    }
}

/// Every distribution that accepts the parameters, at every observation, near every boundary.
fn never_nan<T: countgrid_math::Real>(a: T, b: T, x: T) -> bool {
    let mut good = true;
    let largest = T::max_value();
    for x in [x, T::zero(), T::one(), largest, -largest, T::infinity(), T::nan(), T::min_positive_value()] {
        let mut check = |event: &dyn Event<T, Scalar = T>| {
            let (kernel, base) = (event.ln_kernel(x), event.ln_base(x));
            let mut sums = [T::zero(); 4];
            let sums = &mut sums[..event.statistics_len()];
            let _ = event.accumulate(x, b.abs(), sums);
            good &= !kernel.is_nan() && !base.is_nan() && !event.ln_density(x).is_nan();
            good &= !sums.iter().any(|s| s.is_nan());
        };
        let _ = Poisson::new(a).map(|event| check(&event));
        let _ = Poisson::from_ln_rate(a).map(|event| check(&event));
        let _ = Bernoulli::new(a).map(|event| check(&event));
        let _ = Bernoulli::from_logit(a).map(|event| check(&event));
        let _ = Gaussian::new(a, b).map(|event| check(&event));
        let _ = Zip::new(a, b).map(|event| check(&event));
        let _ = Zip::from_ln_rate(a, b).map(|event| check(&event));
        let _ = Zip::new(a, T::one()).and_then(|event| event.with_exposure(b)).map(|event| check(&event));
    }
    good
}

#[test]
fn edges_are_exact() {
    for event in [Poisson::new(0.0).unwrap(), Poisson::from_ln_rate(NEVER).unwrap()] {
        assert_eq!((event.ln_density(0.0), event.ln_density(1.0), event.rate()), (0.0, NEVER, 0.0));
    }
    assert_eq!(Poisson::from_ln_rate(-800.0).unwrap().ln_kernel(2.0), -1600.0); // the rate underflows
    let (no, yes) = (Bernoulli::new(0.0).unwrap(), Bernoulli::from_logit(f64::INFINITY).unwrap());
    assert_eq!([no.ln_density(0.0), no.ln_density(3.0), no.logit()], [0.0, NEVER, NEVER]);
    assert_eq!([yes.ln_density(0.0), yes.ln_density(3.0), yes.logit()], [NEVER, 0.0, f64::INFINITY]);
    let all_forced = Zip::new(f64::INFINITY, 3.0).unwrap();
    assert_eq!([all_forced.ln_density(0.0), all_forced.ln_density(1.0)], [0.0, NEVER]);
    let no_rate = Zip::new(0.3, 0.0).unwrap();
    assert_eq!([no_rate.ln_density(0.0), no_rate.ln_density(1.0)], [0.0, NEVER]);
    for eta in [-800.0, NEVER] {
        let (zip, poisson) = (Zip::new(eta, 1.5).unwrap(), Poisson::new(1.5).unwrap());
        for t in 0..9 {
            assert_eq!(zip.ln_density(t.into()), poisson.ln_density(t.into()));
        }
    }
    // At p = 1 - 1e-300 a zero is almost certain, and how almost is not lost.
    let ln_zero = Zip::new(690.0, 1.0).unwrap().ln_density(0.0);
    assert!(ln_zero < 0.0 && (ln_zero / ((-1.0_f64).exp_m1() * (-690.0_f64).exp()) - 1.0).abs() < 1e-12);
}

#[test]
fn outside_the_support_the_density_is_zero() {
    for x in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Poisson::new(2.0).unwrap().ln_density(x), NEVER);
        assert_eq!(Bernoulli::new(0.5).unwrap().ln_density(x), NEVER);
        assert_eq!(Zip::new(0.5, 1.0).unwrap().ln_density(x), NEVER);
    }
    assert_eq!(Gaussian::new(0.0, 1.0).unwrap().ln_density(f64::NAN), NEVER);
    let event = Multinomial::<f64, _>::new([0.5, 0.5]).unwrap();
    for entry in [(2, 1.0), (0, -1.0), (0, f64::NAN)] {
        assert_eq!(event.ln_density([entry]), NEVER);
    }
    let certain = Multinomial::<f64, _>::new([1.0, 0.0]).unwrap();
    assert_eq!([certain.ln_density([(0, 5), (1, 0)]), certain.ln_density([(1, 1)])], [0.0, NEVER]);
}

#[test]
fn parameters_outside_their_domain_are_refused() {
    let nan = f64::NAN;
    for rate in [-1.0, nan, f64::INFINITY] {
        assert_eq!(Poisson::new(rate), Err(EventError::Parameter { name: "rate" }));
        assert_eq!(Zip::new(0.0, rate), Err(EventError::Parameter { name: "rate" }));
    }
    assert_eq!(Poisson::from_ln_rate(1e3), Err(EventError::Parameter { name: "ln_rate" }));
    assert_eq!(Zip::from_ln_rate(0.0, nan), Err(EventError::Parameter { name: "ln_rate" }));
    assert_eq!(Zip::new(nan, 1.0), Err(EventError::Parameter { name: "eta" }));
    for p in [-0.1, 1.1, nan] {
        assert_eq!(Bernoulli::new(p), Err(EventError::Parameter { name: "p" }));
        assert_eq!(Multinomial::new([p, 1.0 - p]), Err(EventError::Parameter { name: "p" }));
    }
    assert_eq!(Bernoulli::from_logit(nan), Err(EventError::Parameter { name: "logit" }));
    assert_eq!(Gaussian::new(nan, 1.0), Err(EventError::Parameter { name: "mean" }));
    for precision in [0.0, -1.0, nan, f64::INFINITY] {
        assert_eq!(Gaussian::new(0.0, precision), Err(EventError::Parameter { name: "precision" }));
    }
    assert_eq!(Multinomial::new([0.5, 0.4]), Err(EventError::Total));
    assert_eq!(Multinomial::from_ln([-0.1, f64::NEG_INFINITY]), Err(EventError::Total));
    assert_eq!(Multinomial::from_ln([0.1, nan]), Err(EventError::Parameter { name: "ln_p" }));
    let table: &'static [f32] = &[-core::f32::consts::LN_2; 2]; // a constant table serves
    assert_eq!(Multinomial::from_ln(table).unwrap().ln_kernel([(1, 2_u8)]), -2.0 * core::f32::consts::LN_2);
    for exposure in [0.0, nan, f64::INFINITY, 1e308] {
        assert_eq!(
            Poisson::new(10.0).unwrap().with_exposure(exposure),
            Err(EventError::Parameter { name: "exposure" })
        );
        assert_eq!(
            Zip::new(0.0, 10.0).unwrap().with_exposure(exposure),
            Err(EventError::Parameter { name: "exposure" })
        );
    }
}

#[test]
fn what_cannot_be_added_or_estimated_changes_nothing() {
    let mut event = Poisson::new(1.0).unwrap();
    let mut sums = [1.0, 2.0];
    assert_eq!(event.accumulate(-1.0, 1.0, &mut sums), Err(EventError::Observation));
    assert_eq!(event.accumulate(1.0, f64::NAN, &mut sums), Err(EventError::Weight));
    let length = EventError::Length { table: "statistics", expected: 2, found: 1 };
    assert_eq!(event.accumulate(1.0, 1.0, &mut sums[..1]), Err(length));
    assert_eq!(event.maximize(&[0.0, 0.0]), Err(EventError::Statistics { name: "weight" }));
    assert_eq!(event.maximize(&[1.0, f64::NAN]), Err(EventError::Statistics { name: "tokens" }));
    assert_eq!((event.rate(), sums), (1.0, [1.0, 2.0]));

    let mut event = Gaussian::new(0.5, 2.0).unwrap();
    assert_eq!(event.maximize(&[3.0, 3.0, 3.0]), Err(EventError::Statistics { name: "second moment" }));
    assert_eq!(event.maximize(&[1.0, f64::NAN, 1.0]), Err(EventError::Statistics { name: "first moment" }));
    assert_eq!(event, Gaussian::new(0.5, 2.0).unwrap());
    let mut sums = [0.0; 3];
    event.accumulate(1e200, 0.0, &mut sums).unwrap(); // no weight, although the square overflows
    assert_eq!(sums, [0.0; 3]);

    let mut event = Multinomial::new([0.5, 0.5]).unwrap();
    let mut n = [0.0; 2];
    assert_eq!(event.accumulate([(0, 1), (2, 1)], 1.0, &mut n), Err(EventError::Observation));
    assert_eq!(event.maximize(&n), Err(EventError::Statistics { name: "counts" }));
    assert_eq!(event.maximize(&[2.0, -1.0]), Err(EventError::Statistics { name: "counts" }));
    assert_eq!((event, n), (Multinomial::new([0.5, 0.5]).unwrap(), [0.0; 2]));

    // No zero is real: the rate is undetermined and stays.
    let mut event = Zip::new(40.0, 2.5).unwrap();
    event.maximize(&[4.0, 0.0, 0.0, 4.0]).unwrap();
    assert_eq!((event.rate(), event.eta()), (2.5, f64::INFINITY));
}

#[test]
fn multinomial_sums_to_one_over_all_bags_of_a_length() {
    let event = Multinomial::new([0.5, 0.125, 0.375]).unwrap();
    let mut mass = 0.0;
    for a in 0..=6_u8 {
        for b in 0..=6 - a {
            mass += f64::exp(event.ln_density([(0, a), (1, b), (2, 6 - a - b)]));
        }
    }
    assert!((mass - 1.0_f64).abs() < 100.0 * f64::EPSILON, "{mass}"); // 28 terms, exponents below 20
}

proptest! {
    // A line is the kernel but for a handful of roundings of terms of this size, and the information the variance
    // of the score, here by differences of the log-density: error h² times a third derivative of the size of the
    // rate, and u / h times the log-density.
    #[test]
    fn lines_are_kernels_and_informations_variances_of_scores(eta in -6.0..6.0_f64, ln_rate in -4.0..3.0_f64) {
        let step = 1e-5;
        let score = |event: &dyn Fn(f64) -> f64| (event(ln_rate + step) - event(ln_rate - step)) / (2.0 * step);
        let zip = Zip::from_ln_rate(eta, ln_rate).unwrap();
        let poisson = Poisson::from_ln_rate(ln_rate).unwrap();
        let (mut of_zip, mut of_poisson) = (0.0, 0.0);
        for t in (0..150).map(f64::from) {
            let size = 1.0 + eta.abs() + t * ln_rate.abs() + zip.rate();
            prop_assert!((zip.line().at(t) - zip.ln_kernel(t)).abs() <= 16.0 * f64::EPSILON * size);
            prop_assert!((poisson.line().at(t) - poisson.ln_kernel(t)).abs() <= 16.0 * f64::EPSILON * size);
            let s = score(&|f| Zip::from_ln_rate(eta, f).unwrap().ln_kernel(t));
            of_zip += zip.ln_density(t).exp() * s * s;
            let s = score(&|f| Poisson::from_ln_rate(f).unwrap().ln_kernel(t));
            of_poisson += poisson.ln_density(t).exp() * s * s;
        }
        prop_assert!((zip.information() - of_zip).abs() <= 1e-6 * (1.0 + of_zip));
        prop_assert!((poisson.information() - of_poisson).abs() <= 1e-6 * (1.0 + of_poisson));
        let event = Bernoulli::from_logit(eta).unwrap();
        prop_assert!((event.line().at(3.0) - event.ln_kernel(3.0)).abs() <= 16.0 * f64::EPSILON * (1.0 + eta.abs()));
        prop_assert_eq!(event.line().at(0.0), event.ln_kernel(0.0));
        let of_bernoulli: f64 = [0.0, 1.0].map(|t| {
            let kernel = |logit: f64| Bernoulli::from_logit(logit).unwrap().ln_kernel(t);
            let s = (kernel(eta + step) - kernel(eta - step)) / (2.0 * step);
            event.ln_density(t).exp() * s * s
        }).iter().sum();
        prop_assert!((event.information() - of_bernoulli).abs() <= 1e-6 * of_bernoulli);
        let (event, x) = (Gaussian::new(eta, 2.0).unwrap(), ln_rate);
        let line = event.line().at(x) - 0.5 * 2.0 * x * x;
        prop_assert!((line - event.ln_kernel(x)).abs() <= 64.0 * f64::EPSILON * (1.0 + eta * eta + x * x));
        prop_assert!((event.information() - 2.0).abs() == 0.0);
    }
}
