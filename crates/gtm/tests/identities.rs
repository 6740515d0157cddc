//! The identities of the model, numbered, for every emission model and both paths.

use countgrid_counts::{Bag, Dense, Event, Zip};
use countgrid_em::testing::{Tolerance, check_terms_sum};
use countgrid_em::{Learn, TablesExt};
use countgrid_gtm::testing::{
    self, COLUMNS, POINTS, Path, Problem, chain, close, emission_model, latent, problem,
};
use countgrid_gtm::{EmissionModel, Emissions, Gtm, GtmError, Inflation, Learner, Options, Priors, Shape};
use proptest::prelude::*;

const ZIP: EmissionModel = EmissionModel::Zip(Inflation::Document);

/// Sums of at most 9 points and 5 features whose terms are at most a few hundred: 1e-12 leaves a hundred roundings of
/// 1e-16 each of terms a hundred times as large as the sum.
const ROUNDING: f64 = 1e-12;

fn paths(emission_model: EmissionModel) -> Vec<Path> {
    match emission_model {
        EmissionModel::Zip(_) => vec![Path::Fast, Path::General, Path::Everything],
        EmissionModel::Poisson => vec![Path::Fast, Path::Everything],
        _ => vec![Path::Fast],
    }
}

proptest! {
    #[test] // property 1: posteriors sum to one; and the emissions by brute force
    fn posteriors_are_those_of_the_emission_models(problem in problem(), emission_model in emission_model()) {
        for path in paths(emission_model) {
            let learner = problem.learner::<f64>(emission_model, path, Options::default());
            let (free_energy, r) = problem.naive_posterior(learner.map(), path);
            let mut sums = problem.sums(emission_model, path);
            let found = problem.with_documents(emission_model, path, |documents| {
                let mut scratch = vec![0.0; learner.map().shape().posterior_scratch_len()];
                for (n, r) in r.iter().enumerate() {
                    let mut q = [0.0; POINTS];
                    learner.emissions().posterior_of(&documents, n, &mut q, &mut scratch).unwrap();
                    assert!((q.iter().sum::<f64>() - 1.0).abs() < 16.0 * f64::EPSILON);
                    // ln r is a difference of log-likelihoods of size 100: an absolute error of 1e-13.
                    assert!(q.iter().zip(r).all(|(q, r)| (q - r).abs() <= 1e-11), "{q:?} {r:?}");
                }
                countgrid_em::Fit::expectation(&learner, &documents, &mut sums).unwrap()
            });
            prop_assert!(close(found, free_energy, ROUNDING), "{found} {free_energy}");
        }
    }

    #[test] // property 1: Z in [0, 1], 0 where t > 0, at least p where t = 0
    fn zeros_are_inflated_more_than_counts(eta in -30.0..30.0f64, ln_rate in -20.0..5.0f64, t in 0..9u8) {
        let emission_model = Zip::from_ln_rate(eta, ln_rate).unwrap();
        let (z, p) = (emission_model.inflated(f64::from(t)), countgrid_math::sigmoid(eta));
        prop_assert!((0.0..=1.0).contains(&z));
        let right = if t > 0 { z == 0.0 } else { z >= p * (1.0 - 4.0 * f64::EPSILON) };
        prop_assert!(right);
    }

    #[test] // property 2
    fn objectives_never_rise(problem in problem(), emission_model in emission_model(), newton_steps in 1..6usize) {
        for path in paths(emission_model) {
            let options = Options { newton_steps, ..Options::default() };
            let (_, objective) = chain(&problem, emission_model, path, options, 8);
            for pair in objective.windows(2) {
                // Terms of empty documents cancel to 0, up to their rounding.
                let rounding = 1e-9 * pair[0].abs() + ROUNDING;
                prop_assert!(pair[1] <= pair[0] + rounding, "{path:?} {objective:?}");
            }
        }
    }

    #[test] // property 2, without a ridge; with two documents or more the rates of what occurs stay finite for 6 rounds
    fn likelihoods_never_fall_without_a_ridge(mut problem in problem(), emission_model in emission_model()) {
        problem.ridge = 0.0;
        let (mut learner, mut sums) =
            (problem.learner::<f64>(emission_model, Path::Fast, Options::default()), problem.sums(emission_model, Path::Fast));
        learner.update(|map| map.set("weight_precision", &[0.0; COLUMNS])).unwrap();
        prop_assert_eq!(learner.penalty(), 0.0);
        let mut last = f64::INFINITY;
        for _ in 0..6 {
            let free_energy = problem.e_step(&learner, &mut sums);
            prop_assert!(free_energy <= last + 1e-9 * last.abs() + ROUNDING, "{} {}", free_energy, last);
            prop_assert!(learner.map().table("weights").unwrap().iter().all(|w| w.is_finite()));
            last = free_energy;
            learner.maximization(&mut sums).unwrap();
        }
    }

    #[test] // property 3: Fisher's identity, by central differences of step h: error h² f''' and u |f| / h, 1e-5 in all
    fn statistics_are_gradients(problem in problem(), emission_model in prop::sample::select(&[ZIP, EmissionModel::Zip(Inflation::Latent), EmissionModel::Poisson, EmissionModel::Bernoulli][..])) {
        for path in paths(emission_model) {
            let learner = problem.learner::<f64>(emission_model, path, Options::default());
            let mut sums = problem.sums(emission_model, path);
            problem.with_documents(emission_model, path, |documents| {
                countgrid_em::Fit::expectation(&learner, &documents, &mut sums).unwrap();
            });
            let (_, phi) = latent();
            let h = 1e-5;
            for (table, columns) in [("weights", COLUMNS), ("inflation", learner.map().table("inflation").unwrap().len() / problem.features)] {
                for at in 0..problem.features * columns {
                    let value = |step: f64| {
                        let mut map = problem.map::<f64>(emission_model, path);
                        let mut moved = map.table(table).unwrap().to_vec();
                        moved[at] += step;
                        map.set(table, &moved).unwrap();
                        -problem.naive_posterior(&map, path).0
                    };
                    let difference = (value(h) - value(-h)) / (2.0 * h);
                    let found = gradient(&problem, &learner, &sums, &phi, emission_model, path, table, at / columns, at % columns);
                    prop_assert!((found - difference).abs() <= 1e-5 * (1.0 + difference.abs()), "{emission_model:?} {path:?} {table} {at}: {found} {difference}");
                }
            }
        }
    }

    #[test] // property 4
    fn mass_and_moments(eta in -8.0..8.0f64, ln_rate in -4.0..2.5f64) {
        let emission_model = Zip::from_ln_rate(eta, ln_rate).unwrap();
        let moments = (0..200).map(f64::from).fold([0.0; 3], |[a, b, c], t| {
            let p = emission_model.ln_density(t).exp();
            [a + p, b + p * t, c + p * t * t]
        });
        let (p, rate) = (countgrid_math::sigmoid(eta), ln_rate.exp());
        prop_assert!((moments[0] - 1.0).abs() < 1e-12);
        prop_assert!(close(moments[1], (1.0 - p) * rate, 1e-12));
        prop_assert!(close(moments[2] - moments[1] * moments[1], (1.0 - p) * rate * (1.0 + p * rate), 1e-11));
    }

    #[test] // property 5
    fn without_inflation_it_is_a_poisson_map(mut problem in problem()) {
        problem.inflation.fill(-800.0);
        let (zip, poisson) = (problem.map::<f64>(ZIP, Path::Fast), problem.map::<f64>(EmissionModel::Poisson, Path::Fast));
        let (zip, poisson) = (Emissions::allocate(&zip).unwrap(), Emissions::allocate(&poisson).unwrap());
        for n in 0..problem.documents() {
            let (mut a, mut b) = ([0.0; POINTS], [0.0; POINTS]);
            let x = zip.posterior(&problem.bags(), n, &mut a, &mut []).unwrap();
            let y = poisson.posterior(&problem.bags(), n, &mut b, &mut []).unwrap();
            prop_assert!(close(x, y, ROUNDING));
            prop_assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11));
        }
    }

    #[test] // property 7
    fn order_does_not_matter(problem in problem(), emission_model in emission_model()) {
        let (documents, features) = (problem.documents(), problem.features);
        let mut turned = problem.clone();
        for n in 0..documents {
            for j in 0..features {
                turned.counts[(documents - 1 - n) * features + features - 1 - j] = problem.counts[n * features + j];
            }
        }
        for j in 0..features {
            let own = |table: &[f64]| table[j * COLUMNS..(j + 1) * COLUMNS].to_vec();
            turned.weights[(features - 1 - j) * COLUMNS..][..COLUMNS].copy_from_slice(&own(&problem.weights));
            turned.inflation[(features - 1 - j) * COLUMNS..][..COLUMNS].copy_from_slice(&own(&problem.inflation));
        }
        let (a, one) = chain(&problem, emission_model, Path::Fast, Options::default(), 3);
        let (b, other) = chain(&turned, emission_model, Path::Fast, Options::default(), 3);
        // Three iterations pass on the roundings of the first; line searches decide alike but at a tie.
        prop_assert!(one.iter().zip(&other).all(|(x, y)| close(*x, *y, 1e-8)), "{one:?} {other:?}");
        let row = |map: &testing::Map<f64>, j: usize| map.map().row("weights", j).unwrap().to_vec();
        for j in 0..features {
            let pairs = row(&a, j).into_iter().zip(row(&b, features - 1 - j)).collect::<Vec<_>>();
            prop_assert!(pairs.iter().all(|(x, y)| close(*x, *y, 1e-5)), "{pairs:?}");
        }
    }

    #[test] // property 7, of latent points
    fn order_of_latent_points_does_not_matter(problem in problem(), emission_model in emission_model()) {
        let map = problem.map::<f64>(emission_model, Path::Fast);
        let reversed = |name: &str| {
            map.table(name).unwrap().chunks_exact(POINTS).flat_map(|row| row.iter().rev().copied()).collect::<Vec<_>>()
        };
        let mut other =
            Gtm::allocate(*map.shape(), &reversed("points"), &reversed("basis"), Priors::default()).unwrap();
        for name in ["weights", "inflation", "precision"] {
            other.set(if name == "weights" { "weights" } else if name == "inflation" { "inflation" } else { "precision" }, map.table(name).unwrap()).unwrap();
        }
        other.set("mixing", &reversed("mixing")).unwrap();
        let x = problem.naive_posterior(&map, Path::Fast).0;
        let learner: testing::Map<f64> = Learner::allocate(other, Options::default()).unwrap();
        let mut sums = problem.sums(emission_model, Path::Fast);
        let y = problem.e_step(&learner, &mut sums);
        prop_assert!(close(x, y, ROUNDING));
    }

    #[test] // property 8: 1e-10 for whole fits
    fn both_paths_agree(problem in problem(), latent in any::<bool>()) {
        let emission_model = EmissionModel::Zip(if latent { Inflation::Latent } else { Inflation::Document });
        let (fast, one) = chain(&problem, emission_model, Path::Fast, Options::default(), 4);
        let (general, other) = chain(&problem, emission_model, Path::General, Options::default(), 4);
        prop_assert!(one.iter().zip(&other).all(|(x, y)| close(*x, *y, 1e-10)), "{one:?} {other:?}");
        for name in ["weights", "inflation", "mixing"] {
            let pairs = fast.map().table(name).unwrap().iter().zip(general.map().table(name).unwrap());
            for (x, y) in pairs {
                prop_assert!(close(*x, *y, 1e-10), "{name} {x} {y}");
            }
        }
    }

    #[test] // property 9
    fn multinomial_weights_have_no_origin(problem in problem(), shift in prop::array::uniform5(-2.0..2.0f64)) {
        let map = problem.map::<f64>(EmissionModel::Multinomial, Path::Fast);
        let mut moved = problem.clone();
        moved.weights.chunks_exact_mut(COLUMNS).for_each(|row| row.iter_mut().zip(shift).for_each(|(w, s)| *w += s));
        let mut sums = problem.sums(EmissionModel::Multinomial, Path::Fast);
        let x = problem.e_step(&problem.learner(EmissionModel::Multinomial, Path::Fast, Options::default()), &mut sums);
        let y = problem.e_step(&moved.learner(EmissionModel::Multinomial, Path::Fast, Options::default()), &mut sums);
        prop_assert!(close(x, y, ROUNDING));
        prop_assert!(close(x, problem.naive_posterior(&map, Path::Fast).0, ROUNDING));
    }

    #[test] // property 10
    fn exposure_is_a_factor_of_rates(mut problem in problem(), c in 0.2..5.0f64, zip in any::<bool>()) {
        let emission_model = if zip { ZIP } else { EmissionModel::Poisson };
        problem.covariate.fill(0.0);
        problem.exposure.fill(c);
        let x = problem.with_documents(emission_model, Path::Everything, |documents| {
            let mut sums = problem.sums(emission_model, Path::Everything);
            let learner = problem.learner::<f64>(emission_model, Path::Everything, Options::default());
            countgrid_em::Fit::expectation(&learner, &documents, &mut sums).unwrap()
        });
        problem.weights.iter_mut().skip(COLUMNS - 1).step_by(COLUMNS).for_each(|w| *w += c.ln());
        let y = problem.naive_posterior(&problem.map(emission_model, Path::Fast), Path::Fast).0;
        prop_assert!(close(x, y, ROUNDING), "{x} {y}");
    }

    #[test] // property 11, for a rotation of two basis functions and equal ridges of these
    fn rotated_bases_are_the_same_map(problem in problem(), emission_model in emission_model(), angle in 0.0..6.0f64) {
        let map = problem.map::<f64>(emission_model, Path::Fast);
        let (points, mut phi) = latent();
        let (sin, cos) = angle.sin_cos();
        for k in 0..POINTS {
            let (a, b) = (phi[k], phi[POINTS + k]);
            (phi[k], phi[POINTS + k]) = (cos * a - sin * b, sin * a + cos * b);
        }
        let turned = |name: &'static str| {
            let mut table = map.table(name).unwrap().to_vec();
            if table.len() == problem.features * COLUMNS {
                for row in table.chunks_exact_mut(COLUMNS) {
                    let (a, b) = (row[0], row[1]);
                    (row[0], row[1]) = (cos * a - sin * b, sin * a + cos * b);
                }
            }
            table
        };
        let priors = Priors { weights: problem.ridge, constant: 0.01, inflation: problem.ridge, inflation_mean: -1.0 };
        let mut other = Gtm::allocate(*map.shape(), &points, &phi, priors).unwrap();
        for name in ["weights", "inflation", "precision", "mixing"] {
            other.set(name, &turned(name)).unwrap();
        }
        let learner: testing::Map<f64> = Learner::allocate(other, Options::default()).unwrap();
        let before = problem.learner::<f64>(emission_model, Path::Fast, Options::default());
        let mut sums = problem.sums(emission_model, Path::Fast);
        let (x, y) = (problem.e_step(&before, &mut sums), problem.e_step(&learner, &mut sums));
        prop_assert!(close(x, y, ROUNDING) && close(before.penalty(), learner.penalty(), ROUNDING));
    }

    #[test] // the terms of the contract
    fn terms_sum_to_the_free_energy(problem in problem(), emission_model in emission_model()) {
        let emissions = Emissions::allocate(&problem.map::<f64>(emission_model, Path::Fast)).unwrap();
        let row = &problem.counts[..problem.features];
        let (indices, counts): (Vec<u32>, Vec<f64>) =
            (0..).zip(row.iter().copied()).filter(|&(_, t)| t > 0.0).unzip();
        let bag = Bag::new(problem.features, &indices, &counts).unwrap();
        let free_energy = check_terms_sum(&emissions, &bag, Tolerance::mixed(ROUNDING)).unwrap();
        let evidence = emissions.posterior(&problem.bags(), 0, &mut [0.0; POINTS], &mut []).unwrap();
        prop_assert!(close(free_energy, -evidence, ROUNDING));
    }
}

/// One element of `Φᵀ (A - B λ)` and its kin.
#[allow(clippy::too_many_arguments, reason = "a formula")]
fn gradient(
    problem: &Problem,
    learner: &testing::Map<f64>,
    sums: &testing::Sums<f64>,
    phi: &[f64],
    emission_model: EmissionModel,
    path: Path,
    table: &str,
    j: usize,
    column: usize,
) -> f64 {
    let map = learner.map();
    let product = |name: &str, k: usize| -> f64 {
        let row = map.row(name, j).unwrap();
        (0..COLUMNS).map(|m| row[m] * phi[m * POINTS + k]).sum()
    };
    let row = |name: &str| sums.row(name, j).unwrap_or_default().to_vec();
    let n = sums.table("documents").unwrap();
    let zip = matches!(emission_model, EmissionModel::Zip(_));
    let eta = |k: usize| {
        if emission_model == EmissionModel::Zip(Inflation::Latent) {
            product("inflation", k)
        } else {
            map.row("inflation", j).unwrap()[0]
        }
    };
    let general = map.shape().is_general();
    let lambda = |k: usize| product("weights", k).exp();
    // What is inflated at each point, on the fast path.
    let z = |k: usize| countgrid_math::sigmoid(eta(k) + lambda(k)) * (n[k] - row("present")[k]);
    let per_point = |k: usize| match (table, emission_model) {
        ("weights", EmissionModel::Bernoulli) => {
            row("present")[k] - n[k] * countgrid_math::sigmoid(product("weights", k))
        }
        ("weights", EmissionModel::Poisson) => {
            row("counts")[k] - sums.table("exposure").unwrap()[k] * lambda(k)
        }
        ("weights", _) if general => row("counts")[k] - row("present")[k] * lambda(k),
        ("weights", _) => row("counts")[k] - (n[k] - z(k)) * lambda(k),
        _ => {
            let successes = if general { row("inflated")[k] } else { z(k) };
            successes - n[k] * countgrid_math::sigmoid(eta(k))
        }
    };
    if table == "weights" || emission_model == EmissionModel::Zip(Inflation::Latent) {
        return (0..POINTS).map(|k| phi[column * POINTS + k] * per_point(k)).sum();
    }
    let _ = zip;
    if !general {
        let p = countgrid_math::sigmoid(eta(0));
        return (0..POINTS).map(z).sum::<f64>() - problem.documents() as f64 * p;
    }
    let (profiles, c) = (map.shape().profiles(), row("inflated"));
    let gamma = map.row("inflation", j).unwrap();
    (0..profiles)
        .map(|h| {
            let g = |p: usize| map.row("profiles", p).unwrap()[h];
            let eta: f64 = gamma.iter().enumerate().map(|(p, gamma)| gamma * g(p)).sum();
            let members = sums.table("profiles").unwrap()[h];
            let _ = path;
            g(column) * (c[h] - members * countgrid_math::sigmoid(eta))
        })
        .sum()
}

#[test] // property 12
fn stationary_points_stay() {
    let counts = [3.0, 0.0, 1.0, 0.0, 2.0, 0.0, 4.0, 1.0, 0.0, 0.0, 5.0, 2.0, 1.0, 0.0, 3.0];
    let problem = Problem {
        features: 3,
        counts: counts.to_vec(),
        weights: (0..15).map(|i| 0.1 * f64::from(i % 7) - 0.3).collect(),
        inflation: vec![-1.0; 15],
        mixing: vec![1.0 / 9.0; 9],
        exposure: vec![1.0; 5],
        covariate: vec![0.0; 5],
        ridge: 0.5,
    };
    for emission_model in EmissionModel::ALL {
        // Mixing weights of points that lose go to 0 geometrically; with them held a fixed point is reached.
        let options = Options { newton_steps: 20, learn_mixing: false, ..Options::default() };
        let (mut learner, _) = chain(&problem, emission_model, Path::Fast, options, 3000);
        let before = learner.map().table("weights").unwrap().to_vec();
        let mut sums = problem.sums(emission_model, Path::Fast);
        problem.e_step(&learner, &mut sums);
        learner.maximization(&mut sums).unwrap();
        // Newton stops at a gain of 1e-12, which is a step of 1e-6 over the root of the ridge.
        for (x, y) in learner.map().table("weights").unwrap().iter().zip(&before) {
            assert!((x - y).abs() < 2e-6, "{emission_model:?} {x} {y}");
        }
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let shape = |emission_model| Shape::new(emission_model, 4, 2, 3, 5).unwrap();
    assert_eq!(
        Shape::new(EmissionModel::Poisson, 0, 2, 3, 5),
        Err(GtmError::Empty { size: "latent points" })
    );
    assert!(matches!(
        Shape::new(EmissionModel::Poisson, usize::MAX, 2, 3, 5),
        Err(GtmError::TooLarge { .. })
    ));
    assert!(matches!(shape(EmissionModel::Poisson).with_profiles(3, 2), Err(GtmError::EmissionModel { .. })));
    let new = |points: &[f64], basis: &[f64], priors| Gtm::allocate(shape(ZIP), points, basis, priors);
    let (points, basis) = ([0.0; 8], [1.0; 12]);
    assert!(matches!(
        new(&points[1..], &basis, Priors::default()),
        Err(GtmError::Length { table: "points", .. })
    ));
    assert!(matches!(
        new(&[f64::NAN; 8], &basis, Priors::default()),
        Err(GtmError::NotFinite { table: "points", .. })
    ));
    let priors = Priors { weights: -1.0, ..Priors::default() };
    assert!(matches!(new(&points, &basis, priors), Err(GtmError::Range { table: "weight_precision", .. })));
    let mut map = new(&points, &basis, Priors::default()).unwrap();
    assert!(matches!(map.set_reference(2.0), Err(GtmError::NeedsGeneral)));
    assert!(matches!(map.set("mixing", &[0.5; 4]), Err(GtmError::Range { table: "mixing", .. })));
    assert!(matches!(map.set("points", &points), Err(GtmError::Length { .. })));
    let gaussian = shape(EmissionModel::Gaussian);
    let mut plane = Gtm::allocate(gaussian, &points, &basis, Priors::default()).unwrap();
    for precision in [0.0, -1.0, f64::INFINITY] {
        let refused = plane.set("precision", &[precision]);
        assert_eq!(refused, Err(GtmError::Range { table: "precision", row: 0, column: 0 }));
    }
    let emissions = Emissions::allocate(&map).unwrap();
    let bags = Dense::new(4, &[1_u8, 0, 0, 2]).unwrap();
    let found = emissions.posterior(&bags, 0, &mut [0.0; 4], &mut []);
    assert_eq!(found, Err(GtmError::Features { expected: 5, found: 4 }));
    let bags = Dense::new(5, &[1_u8, 0, 0, 2, 0]).unwrap();
    let found = emissions.posterior(&bags, 1, &mut [0.0; 4], &mut []);
    assert_eq!(found, Err(GtmError::NoSuchDocument { document: 1, documents: 1 }));
    let enormous = [1e308; 5];
    let found = emissions.posterior(&Dense::new(5, &enormous).unwrap(), 0, &mut [0.0; 4], &mut []);
    assert!(matches!(found, Err(GtmError::Overflow { document: 0 })) || found.is_ok_and(f64::is_finite));
}

#[test] // what the tests above rest on
fn close_is_relative_to_one_and_the_larger() {
    assert!(close(0.0, 0.5, 0.4) && !close(0.0, 0.5, 0.3)); // of 1.5
    assert!(close(99.0, -1.0, 1.0) && !close(-99.0, 1.0, 0.99)); // of 100
    assert!(!close(f64::NAN, 0.0, 1.0) && !close(0.0, f64::NAN, 1.0));
}
