//! Fits whose results are known: at other temperatures and exposures, at one point, at places that nobody is at.

use countgrid_counts::Dense;
use countgrid_em::{Anneal, Fit, Learn, TablesExt};
use countgrid_gtm::testing::{COLUMNS, Map, POINTS, Path, chain, close, emission_model, latent, problem};
use countgrid_gtm::{
    Documents, EmissionModel, Emissions, Gtm, Inflation, Learner, Options, Priors, Reals, Shape, Statistics,
};
use proptest::prelude::*;

const ZIP: EmissionModel = EmissionModel::Zip(Inflation::Document);
const NO_RIDGE: Priors = Priors { weights: 0.0, constant: 0.0, inflation: 0.1, inflation_mean: -1.0 };

proptest! {
    #[test] // the least of `Σ q ln q / β - Σ q s` over distributions `q` is where `q ∝ exp(β s)`
    fn other_temperatures(problem in problem(), emission_model in emission_model(), beta in 0.05..0.95f64) {
        let mut learner = problem.learner::<f64>(emission_model, Path::Fast, Options::default());
        let scores = problem.naive(learner.map(), Path::Fast);
        learner.set_inverse_temperature(beta);
        let (mut free_energy, mut documents) = (0.0, [0.0; POINTS]);
        for scores in scores {
            let s: Vec<f64> = scores.iter().zip(learner.map().mixing()).map(|(s, p)| beta * (s + p.ln())).collect();
            let most = s.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = s.iter().map(|s| (s - most).exp()).sum();
            free_energy -= (most + total.ln()) / beta;
            documents.iter_mut().zip(s).for_each(|(sum, s)| *sum += (s - most).exp() / total);
        }
        let mut sums = problem.sums(emission_model, Path::Fast);
        let found = problem.e_step(&learner, &mut sums);
        // Scores of size 100, divided by 0.05.
        prop_assert!(close(found, free_energy, 1e-11), "{found} {free_energy}");
        for (found, expected) in sums.table("documents").unwrap().iter().zip(documents) {
            prop_assert!((found - expected).abs() < 1e-10, "{found} {expected}");
        }
        // Whatever is no number between 0 and 1 means 1, of which each bit is that of a fit without temperatures.
        let one = problem.e_step(&problem.learner(emission_model, Path::Fast, Options::default()), &mut sums);
        for beta in [0.0, -0.5, 1.0, 2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            learner.set_inverse_temperature(0.5);
            learner.set_inverse_temperature(beta);
            prop_assert_eq!(problem.e_step(&learner, &mut sums).to_bits(), one.to_bits(), "{}", beta);
        }
    }

    #[test]
    fn bags_are_documents_without_more(problem in problem(), emission_model in emission_model()) {
        let learner = problem.learner::<f64>(emission_model, Path::Fast, Options::default());
        let mut sums = problem.sums(emission_model, Path::Fast);
        let found: f64 = learner.expectation(&problem.bags(), &mut sums).unwrap();
        let (expected, _) = problem.naive_posterior(learner.map(), Path::Fast);
        prop_assert!(close(found, expected, 1e-12), "{found} {expected}");
        prop_assert_eq!(sums.documents(), problem.documents() as f64);
    }

    #[test]
    fn exposures_are_lengths_over_the_reference(problem in problem(), zip in any::<bool>(), reference in 0.5..20.0f64) {
        let (model, path) = if zip { (ZIP, Path::General) } else { (EmissionModel::Poisson, Path::Fast) };
        let mut counts = problem.counts.clone();
        counts[..problem.features].fill(0.0); // an empty document counts as one of one token
        let lengths = counts.chunks_exact(problem.features).map(|row| row.iter().sum::<f64>().max(1.0));
        let exposure: Vec<f64> = lengths.map(|length| length / reference).collect();
        let bags = Dense::new(problem.features, &counts).unwrap();
        let step = |reference: f64, documents: &Documents<'_, Dense<'_, f64>, f64>| {
            let mut learner: Map<f64> = problem.learner(model, path, Options::default());
            learner.update(|map| map.set_reference(reference)).unwrap();
            let mut sums = problem.sums(model, path);
            let free_energy = learner.expectation(documents, &mut sums).unwrap();
            (free_energy, sums.table("exposure").unwrap().to_vec())
        };
        let (found, sums) = step(reference, &Documents::new(bags));
        let known = step(0.0, &Documents::new(bags).with_exposure(&exposure).unwrap());
        prop_assert_eq!((found, &sums), (known.0, &known.1));
        prop_assert!(close(sums.iter().sum(), exposure.iter().sum(), 1e-13));
        let without = step(0.0, &Documents::new(bags)).1;
        prop_assert!(close(without.iter().sum(), problem.documents() as f64, 1e-13));
    }

    #[test] // 1e-10 for whole fits, as for an intercept of 1
    fn both_paths_agree_on_any_intercept(problem in problem(), intercept in prop_oneof![0.3..3.0f64, -3.0..-0.3f64]) {
        let fit = |path: Path| {
            let mut learner = problem.learner::<f64>(ZIP, path, Options::default());
            learner.update(|map| map.set_profiles(&[intercept])).unwrap();
            let mut sums = problem.sums(ZIP, path);
            for _ in 0..3 {
                problem.e_step(&learner, &mut sums);
                learner.maximization(&mut sums).unwrap();
            }
            ["weights", "inflation"].map(|name| learner.map().table(name).unwrap().to_vec()).concat()
        };
        for (x, y) in fit(Path::Fast).iter().zip(fit(Path::General)) {
            prop_assert!(close(*x, y, 1e-9), "{x} {y}");
        }
    }

    #[test] // what other tests rest on
    fn a_chain_ends_with_the_objective_of_its_map(problem in problem(), emission_model in emission_model()) {
        let (learner, objective) = chain(&problem, emission_model, Path::Fast, Options::default(), 2);
        let (free_energy, _) = problem.naive_posterior(learner.map(), Path::Fast);
        prop_assert!(close(objective[2], free_energy + learner.penalty(), 1e-11));
    }
}

/// A map of one point and a constant, without a ridge, after one M-step.
fn at_one_point(
    model: EmissionModel,
    counts: &[f64],
    features: usize,
    weights: &[f64],
    options: Options,
) -> Map<f64> {
    let shape = Shape::new(model, 1, 1, 1, features).unwrap();
    let mut map = Gtm::allocate(shape, &[0.0], &[1.0], NO_RIDGE).unwrap();
    map.set("weights", weights).unwrap();
    let mut learner = Learner::allocate(map, options).unwrap();
    let mut sums = Statistics::allocate(shape).unwrap();
    learner.expectation(&Dense::new(features, counts).unwrap(), &mut sums).unwrap();
    learner.maximization(&mut sums).unwrap();
    learner
}

#[test] // Newton ends where a step promises less than 1e-12, an error of its root over that of the curvature
fn one_m_step_of_many_newton_steps_ends_at_the_optimum() {
    let options = Options { newton_steps: 100, ..Options::default() };
    let counts = [7.0, 0.0, 1.0, 9.0, 2.0, 0.0]; // three documents of two features
    let weights = |model: EmissionModel, counts: &[f64]| {
        at_one_point(model, counts, 2, &[0.0; 2], options).map().table("weights").unwrap().to_vec()
    };
    let poisson = weights(EmissionModel::Poisson, &counts);
    assert!((poisson[0] - (10.0_f64 / 3.0).ln()).abs() < 1e-6 && (poisson[1] - 3.0_f64.ln()).abs() < 1e-6);
    let bernoulli = weights(EmissionModel::Bernoulli, &[1.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    assert!((bernoulli[0] - 2.0_f64.ln()).abs() < 1e-6 && (bernoulli[1] + 2.0_f64.ln()).abs() < 1e-6);
    let gaussian = weights(EmissionModel::Gaussian, &counts);
    assert!((gaussian[0] - 10.0 / 3.0).abs() < 1e-14 && (gaussian[1] - 3.0).abs() < 1e-14);
}

#[test] // each feature moves in turn at offsets of the weights before, which converges linearly
fn a_multinomial_map_of_one_point_learns_the_shares_of_tokens() {
    let options = Options { newton_steps: 200, ..Options::default() };
    let counts = [3.0, 2.0, 0.0, 3.0, 1.0, 1.0];
    let map = at_one_point(EmissionModel::Multinomial, &counts, 3, &[0.3, -0.2, 1.0], options);
    let weights = map.map().table("weights").unwrap();
    let total: f64 = weights.iter().map(|w| w.exp()).sum();
    for (w, share) in weights.iter().zip([0.6, 0.3, 0.1]) {
        assert!((w.exp() / total - share).abs() < 1e-5, "{weights:?}");
    }
}

/// From `ln λ` a step of `d = a / λ - 1` raises the log-likelihood `a f - e^f` of a count `a` if `(1 + d) d > e^d - 1`, for `d` up to
/// some 1.793. Just above, where it falls by less than a thousandth, the half of it is taken.
#[test]
fn a_step_that_raises_nothing_is_halved() {
    let gain = |d: f64| (1.0 + d) * d - d.exp_m1();
    let (mut low, mut high) = (1.5, 2.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if gain(middle) > 0.0 { low = middle } else { high = middle }
    }
    let options = Options { newton_steps: 1, ..Options::default() };
    for (d, size) in [(low - 1e-3, 1.0), (low + 2e-5, 0.5), (low + 1e-3, 0.5)] {
        let count = 3.0;
        let before = (count / (1.0 + d)).ln();
        let map = at_one_point(EmissionModel::Poisson, &[count], 1, &[before], options);
        let found = map.map().table("weights").unwrap()[0] - before;
        assert!((found - size * d).abs() < 1e-12, "{found} of {d}");
    }
}

#[test]
fn precisions_are_learnt_if_they_are_to_be() {
    let counts = [1.0, 4.0, 3.0, 4.0, 2.0, 10.0]; // means 2 and 6, squares of distances 2 and 24
    let learnt = at_one_point(EmissionModel::Gaussian, &counts, 2, &[0.0; 2], Options::default());
    assert!((learnt.map().precision() - 6.0 / 26.0).abs() < 1e-14);
    let options = Options { learn_precision: false, ..Options::default() };
    let kept = at_one_point(EmissionModel::Gaussian, &counts, 2, &[0.0; 2], options);
    assert_eq!(kept.map().precision(), 1.0);
    assert_eq!(kept.map().table("weights"), learnt.map().table("weights"));
}

/// The first weight would be 1e40, which is no `f32`, so that both stay; the distance of 1e30 that they leave has a square whose
/// inverse is 0 as an `f32`.
#[test]
fn a_precision_of_zero_is_not_learnt() {
    let shape = Shape::new(EmissionModel::Gaussian, 1, 1, 2, 1).unwrap();
    let priors = Priors { weights: 0.0, constant: 1e38, ..NO_RIDGE };
    let mut map = Gtm::allocate(shape, &[0.0_f32], &[1e-25, 1.0], priors).unwrap();
    map.set("weights", &[0.0, 1e30]).unwrap();
    map.set("precision", &[1e-30]).unwrap();
    let mut learner = Learner::allocate(map, Options::default()).unwrap();
    let mut sums = Statistics::allocate(shape).unwrap();
    let values = [1e15];
    learner.expectation(&Reals::new(1, &values).unwrap(), &mut sums).unwrap();
    learner.maximization(&mut sums).unwrap();
    assert_eq!(learner.map().table("weights"), Some(&[0.0, 1e30][..]));
    assert_eq!(learner.map().precision(), 1e-30);
}

/// The second point has a rate that no float holds, and no document; the constant is that of the first.
#[test]
fn a_point_that_nobody_is_at_hinders_no_fit() {
    let shape = Shape::new(EmissionModel::Poisson, 2, 1, 2, 1).unwrap();
    let mut map = Gtm::allocate(shape, &[0.0, 1.0], &[0.0, 1000.0, 1.0, 1.0], NO_RIDGE).unwrap();
    map.set("weights", &[1.0, 0.0]).unwrap();
    let options = Options { newton_steps: 100, learn_mixing: false, ..Options::default() };
    let mut learner = Learner::allocate(map, options).unwrap();
    let mut sums = Statistics::allocate(shape).unwrap();
    learner.expectation(&Dense::new(1, &[2.0, 6.0]).unwrap(), &mut sums).unwrap();
    assert_eq!(sums.table("documents"), Some(&[2.0, 0.0][..]));
    learner.maximization(&mut sums).unwrap();
    let weights = learner.map().table("weights").unwrap();
    assert_eq!(weights[0], 1.0, "undetermined, so that it stays");
    assert!((weights[1] - 4.0_f64.ln()).abs() < 1e-6, "{weights:?}");
    assert_eq!(learner.map().mixing(), [0.5; 2]);
}

#[test]
fn rates_end_at_the_root_of_what_the_type_holds() {
    fn tables<T: countgrid_math::Real>(weight: f64) -> (f64, f64) {
        let (shape, one) = (Shape::new(EmissionModel::Poisson, 1, 1, 1, 1).unwrap(), T::one());
        let mut map = Gtm::<T, _>::allocate(shape, &[T::zero()], &[one], Priors::default()).unwrap();
        map.set("weights", &[T::from_f64(weight)]).unwrap();
        let emissions = Emissions::allocate(&map).unwrap();
        let first = |name: &str| emissions.table(name).unwrap()[0].to_f64();
        (first("slope"), first("zeros"))
    }
    for (found, most) in [(tables::<f32>(1e6), f64::from(f32::MAX)), (tables::<f64>(1e6), f64::MAX)] {
        let (slope, zero) = found;
        // The exponential of a number of size 44 in f32 is good to 44 u, 3e-6.
        assert!((slope - 0.5 * most.ln()).abs() < 1e-5, "{slope}");
        assert!((-zero / most.sqrt() - 1.0).abs() < 1e-5, "{zero}");
    }
    assert_eq!(tables::<f64>(0.0), (0.0, -1.0));
}

/// One rate of 2.4e7, whose neighbours in `f32` are 2 apart, and a thousand of exactly 1.
#[test]
fn small_rates_beside_a_large_one_are_added_up() {
    let zero = |weights: &[f32]| {
        let shape = Shape::new(EmissionModel::Poisson, 1, 1, 1, weights.len()).unwrap();
        let mut map = Gtm::allocate(shape, &[0.0], &[1.0], Priors::default()).unwrap();
        map.set("weights", weights).unwrap();
        Emissions::allocate(&map).unwrap().table("zeros").unwrap()[0]
    };
    let (one, many) = (zero(&[17.0]), zero(&[vec![17.0], vec![0.0; 1000]].concat()));
    assert!((one + 24_154_952.0).abs() < 100.0, "{one}");
    assert!((one - many - 1000.0).abs() <= 2.0, "{one} {many}");
}

#[test]
fn rows_of_numbers_need_a_gaussian_map() {
    let (points, phi) = latent();
    let values = [0.5, -1.0, 2.0, 0.0];
    let rows = Reals::new(2, &values).unwrap();
    for model in EmissionModel::ALL {
        let shape = Shape::new(model, POINTS, 2, COLUMNS, 2).unwrap();
        let map = Gtm::allocate(shape, &points, &phi, Priors::default()).unwrap();
        let learner = Learner::allocate(map, Options::default()).unwrap();
        let found = learner.expectation(&rows, &mut Statistics::allocate(shape).unwrap());
        if model == EmissionModel::Gaussian {
            // Means 0 and precision 1 everywhere: two numbers of two documents, and squares of 0.25, 1 and 4.
            let expected: f64 = 2.0 * std::f64::consts::TAU.ln() + 0.5 * 5.25;
            assert!((found.unwrap() - expected).abs() < 1e-13);
        } else {
            let refused = countgrid_gtm::GtmError::EmissionModel { what: "values below 0" };
            assert_eq!(found, Err(refused), "{model:?}");
        }
    }
}
