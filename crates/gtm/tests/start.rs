//! The deterministic start against its definition: where documents are put, and what is fitted to that.

use countgrid_em::TablesExt;
use countgrid_gtm::testing::{COLUMNS, POINTS, Path, Problem, close, latent, problem};
use countgrid_gtm::{
    EmissionModel, Gtm, GtmError, Inflation, Options, Priors, Reals, Shape, gaussian_points, principal_scores,
};
use countgrid_math::AlignedVec;
use proptest::prelude::*;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Responsibilities `[document][point]`: documents at their scores, stretched over the latent points.
fn responsibilities(scores: &[f64], documents: usize, spread: f64) -> Vec<Vec<f64>> {
    let (points, _) = latent();
    let place = |n: usize, axis: usize| {
        let own = &points[axis * POINTS..][..POINTS];
        let mean = own.iter().sum::<f64>() / POINTS as f64;
        let variance = own.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / POINTS as f64;
        mean + scores[axis * documents + n] * variance.sqrt()
    };
    let row = |n: usize| {
        let near = |k: usize| {
            let distance = |axis: usize| (place(n, axis) - points[axis * POINTS + k]).powi(2);
            (-(distance(0) + distance(1)) / (2.0 * spread * spread)).exp()
        };
        let total: f64 = (0..POINTS).map(near).sum();
        (0..POINTS).map(|k| near(k) / total).collect()
    };
    (0..documents).map(row).collect()
}

/// What the weights of a feature are fitted to at each point: the linear predictor of a smoothed mean.
fn predictors(
    problem: &Problem,
    r: &[Vec<f64>],
    exposure: &[f64],
    model: EmissionModel,
    j: usize,
) -> Vec<f64> {
    let documents = r.len();
    let count = |n: usize| problem.counts[n * problem.features + j];
    let tokens: f64 = (0..documents).map(count).sum();
    let zeros = (0..documents).filter(|&n| count(n) == 0.0).count() as f64 / documents as f64;
    let mean = tokens / documents as f64;
    // Of a feature that no document has, half an occurrence.
    let floored = mean.max(0.5 / documents as f64);
    (0..POINTS)
        .map(|k| {
            let sum = |of: &dyn Fn(usize) -> f64| (0..documents).map(|n| r[n][k] * of(n)).sum::<f64>();
            // One document's worth of the mean is added.
            let rate = (sum(&count) + floored) / (sum(&|n| exposure[n]) + 1.0);
            match model {
                EmissionModel::Poisson | EmissionModel::Multinomial => rate.ln(),
                EmissionModel::Zip(_) => (rate / (1.0 - inflated(zeros, floored))).ln(),
                EmissionModel::Bernoulli => {
                    let share = (1.0 - zeros).max(0.5 / documents as f64);
                    let present = sum(&|n| f64::from(u8::from(count(n) > 0.0)));
                    let p = (present + share) / (sum(&|_| 1.0) + 1.0);
                    let p = p.min(1.0 - 0.5 / (documents as f64 + 1.0));
                    (p / (1.0 - p)).ln()
                }
                EmissionModel::Gaussian => (sum(&count) + mean) / (sum(&|_| 1.0) + 1.0),
            }
        })
        .collect()
}

/// The share of zeros that a Poisson distribution of this mean has not, within bounds.
fn inflated(zeros: f64, mean: f64) -> f64 {
    let poisson = (-mean).exp();
    ((zeros - poisson) / (1.0 - poisson)).clamp(0.01, 0.9)
}

proptest! {
    #[test]
    fn a_start_is_the_ridge_regression_on_documents_at_their_scores(
        problem in problem(), which in 0..EmissionModel::ALL.len(), everything in any::<bool>(), spread in 0.1..1.5f64,
        reference in prop_oneof![Just(0.0), 0.5..20.0f64],
    ) {
        let model = EmissionModel::ALL[which];
        let path = if everything { Path::Everything } else { Path::Fast };
        let mut map = problem.map::<f64>(model, path);
        let documents = problem.documents();
        let has_rates = matches!(model, EmissionModel::Zip(_) | EmissionModel::Poisson);
        // Where exposures are not given, they may be lengths over a reference.
        let by_length = !everything && reference > 0.0 && map.set_reference(reference).is_ok();
        prop_assert_eq!(by_length, !everything && reference > 0.0 && model == EmissionModel::Poisson);
        let scores = problem.with_documents(model, path, |own| {
            map.initialise_from(&own, spread).unwrap();
            principal_scores(&own, 2).unwrap()
        });
        let r = responsibilities(&scores, documents, spread);
        let length = |n: usize| problem.counts[n * problem.features..][..problem.features].iter().sum::<f64>();
        let exposure = match (everything && has_rates, by_length) {
            (true, _) => problem.exposure.clone(),
            (_, true) => (0..documents).map(|n| length(n).max(1.0) / reference).collect(),
            _ => vec![1.0; documents],
        };
        prop_assert!(map.mixing().iter().all(|&p| close(p, 1.0 / POINTS as f64, 1e-15)));
        let (_, phi) = latent();
        for j in 0..problem.features {
            let (w, f) = (map.row("weights", j).unwrap(), predictors(&problem, &r, &exposure, model, j));
            // Normal equations with a ridge of 1e-3: Φᵀ (f - Φ w) = 1e-3 w. Terms are some ten at most.
            for m in 0..COLUMNS {
                let left = (0..POINTS).map(|k| {
                    let fitted: f64 = (0..COLUMNS).map(|c| phi[c * POINTS + k] * w[c]).sum();
                    phi[m * POINTS + k] * (f[k] - fitted)
                });
                let (left, right): (f64, f64) = (left.sum(), 1e-3 * w[m]);
                prop_assert!(close(left, right, 1e-9), "{model:?} {j} {m}: {left} {right}");
            }
            // Inflation begins with the intercept alone.
            let tokens: f64 = (0..documents).map(|n| problem.counts[n * problem.features + j]).sum();
            let zeros = (0..documents).filter(|&n| problem.counts[n * problem.features + j] == 0.0).count();
            let p = inflated(zeros as f64 / documents as f64, tokens.max(0.5) / documents as f64);
            let gamma = map.row("inflation", j).unwrap_or_default();
            let place = match model {
                EmissionModel::Zip(Inflation::Document) => Some(0),
                EmissionModel::Zip(Inflation::Latent) => Some(gamma.len() - 1),
                _ => None,
            };
            for (at, &gamma) in gamma.iter().enumerate() {
                let expected = if Some(at) == place { (p / (1.0 - p)).ln() } else { 0.0 };
                prop_assert!(close(gamma, expected, 1e-12), "{model:?} {j}: {gamma} {expected}");
            }
        }
        if model == EmissionModel::Gaussian {
            let n = documents as f64;
            let variance: f64 = (0..problem.features)
                .map(|j| {
                    let own = || (0..documents).map(|at| problem.counts[at * problem.features + j]);
                    let mean = own().sum::<f64>() / n;
                    own().map(|t| (t - mean) * (t - mean)).sum::<f64>()
                })
                .sum::<f64>()
                / (n * problem.features as f64);
            let expected = if variance > 0.0 { 1.0 / variance } else { 0.7 };
            // Squares less those of means: up to 300 and so many u, over a variance of 1/64 at least.
            prop_assert!(close(map.precision(), expected, 1e-11), "{} {expected}", map.precision());
        }
    }

    #[test]
    fn points_are_within_their_bounds_and_as_far_apart_as_asked_for(spread in 1e-3..1e3f64, clip in 0.5..4.0f64) {
        let mut points = vec![0.0_f64; 4000];
        gaussian_points(spread, clip, &mut ChaCha8Rng::seed_from_u64(3), &mut points).unwrap();
        prop_assert!(points.iter().all(|x| x.abs() <= clip * spread));
        // The moments of a normal distribution that is cut at `clip`, by the midpoint rule.
        let density = |x: f64| (-0.5 * x * x).exp();
        let steps = (0..4000).map(|step| (f64::from(step) + 0.5) / 4000.0 * clip);
        let (mass, second) = steps.fold((0.0, 0.0), |(mass, second), x| (mass + density(x), second + x * x * density(x)));
        let variance = second / mass;
        let found = points.iter().map(|x| x * x).sum::<f64>() / 4000.0 / (spread * spread);
        // The standard error is below 2.3 % of it: the kurtosis is at most that of a normal distribution, 3.
        prop_assert!((found / variance - 1.0).abs() < 0.1, "{found} {variance}");
        let mean = points.iter().sum::<f64>() / 4000.0 / spread;
        prop_assert!(mean.abs() < 0.08, "{mean}");
    }
}

#[test]
fn spreads_and_bounds_that_make_no_sense_are_refused() {
    let refused = |spread: f64, clip: f64| {
        gaussian_points(spread, clip, &mut ChaCha8Rng::seed_from_u64(3), &mut [0.0_f64; 2]).map_err(|error| {
            match error {
                GtmError::Setting { name } => name,
                other => panic!("{other:?}"),
            }
        })
    };
    for spread in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(spread, 2.0), Err("spread"), "{spread}");
    }
    for clip in [0.1, 0.0, -1.0, f64::NAN] {
        assert_eq!(refused(0.5, clip), Err("clip"), "{clip}");
    }
    assert_eq!(refused(0.5, f64::INFINITY), Ok(()));
    assert_eq!(refused(0.5, 0.11), Ok(()));
    let shape = Shape::new(EmissionModel::Gaussian, POINTS, 2, COLUMNS, 1).unwrap();
    let (points, phi) = latent();
    let mut map = Gtm::<f64, AlignedVec<f64>>::allocate(shape, &points, &phi, Priors::default()).unwrap();
    let reals = [1.0, 2.0, 4.0];
    let reals = Reals::new(1, &reals).unwrap();
    for spread in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = map.initialise_from(&reals, spread);
        assert!(matches!(refused, Err(GtmError::Setting { name: "spread" })), "{spread}: {refused:?}");
    }
    map.initialise_from(&reals, 1e-3).unwrap();
}

/// Documents that are all the same lie on the map: the precision is that of a distance of the cube root of the unit roundoff
/// times their squares.
#[test]
fn documents_on_the_map_have_a_finite_precision() {
    fn precision<T: countgrid_math::Real>() -> f64 {
        let cast = |x: &[f64]| x.iter().map(|&x| T::from_f64(x)).collect::<Vec<T>>();
        let (points, phi) = latent();
        let shape = Shape::new(EmissionModel::Gaussian, POINTS, 2, COLUMNS, 2).unwrap();
        // Next to no ridge, so that the constant can be the mean.
        let priors = Priors { weights: 1e-6, constant: 1e-12, ..Priors::default() };
        let mut map = Gtm::<T, AlignedVec<T>>::allocate(shape, &cast(&points), &cast(&phi), priors).unwrap();
        let rows = cast(&[3.0, -4.0].repeat(20));
        let reals = Reals::new(2, &rows).unwrap();
        map.initialise_from(&reals, 0.5).unwrap();
        let mut learner = countgrid_gtm::Learner::allocate(map, Options::default()).unwrap();
        let mut sums = countgrid_gtm::Statistics::allocate(shape).unwrap();
        for _ in 0..20 {
            countgrid_em::TablesMutExt::clear(&mut sums);
            countgrid_em::Fit::expectation(&learner, &reals, &mut sums).unwrap();
            countgrid_em::Learn::maximization(&mut learner, &mut sums).unwrap();
        }
        learner.map().precision().to_f64()
    }
    // 20 documents of 2 numbers, whose squares are 20 · 25.
    for (found, roundoff) in
        [(precision::<f32>(), f64::from(f32::EPSILON) / 2.0), (precision::<f64>(), f64::EPSILON / 2.0)]
    {
        let expected = 40.0 / (roundoff.cbrt() * 500.0);
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    }
}
