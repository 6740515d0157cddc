//! Numbered equations of the source against the formulas written out.

use crate::common;

use common::{Model, draws, log_partition, normal, random, scratch};
use countgrid_counts::Dense;
use countgrid_harmonium::{Chains, Gradient, Noise, Prior, Shape, Step, coupling_errors};
use proptest::prelude::*;

/// The same numbers again and again, so that their order does not matter.
struct Constant {
    normal: f64,
    uniform: f64,
}

impl Noise<f64> for Constant {
    fn uniform(&mut self) -> f64 {
        self.uniform
    }
    fn normal(&mut self) -> f64 {
        self.normal
    }
}

/// `αᵀx + xᵀWh - ½ hᵀh`.
fn log_joint(model: &Model, x: &[u8], h: &[f64]) -> f64 {
    let rows = model.w().chunks_exact(h.len()).zip(model.alpha()).zip(x);
    let words =
        rows.map(|((row, a), &x)| f64::from(x) * (a + row.iter().zip(h).map(|(w, h)| w * h).sum::<f64>()));
    words.sum::<f64>() - 0.5 * h.iter().map(|h| h * h).sum::<f64>()
}

fn states(words: usize) -> Vec<Vec<u8>> {
    (0..1_u8 << words).map(|state| (0..words).map(|i| state >> i & 1).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test] // of Gaussian integrands the trapezoidal rule of step 0.2 is exact; a reach of 9 beyond the mean is all
    fn the_joint_normalises_sums_over_words_and_integrals_over_topics(words in 1..5_usize, seed: u64) {
        let model = random(Shape::words(words, 1).unwrap(), 1.0, 0.7, 1, seed);
        let reach = model.w().iter().map(|w| w.abs()).sum::<f64>() + 9.0;
        let grid: Vec<f64> = (0..).map(|k| -reach + 0.2 * f64::from(k)).take_while(|&h| h <= reach).collect();
        let mut of_words = Vec::new();
        for x in states(words) {
            let logs: Vec<f64> = grid.iter().map(|&h| log_joint(&model, &x, &[h]) + 0.2_f64.ln()).collect();
            of_words.push(countgrid_math::log_sum_exp(&logs));
            let bags = Dense::new(words, &x).unwrap();
            // p(x): the integral is that of a normal density, √(2π) times exp(αᵀx + ½ |Wᵀx|²).
            let closed = model.log_unnormalised(&bags, 0, &[], &mut [0.0]).unwrap();
            let constant = 0.5 * (2.0 * std::f64::consts::PI).ln();
            prop_assert!((of_words[of_words.len() - 1] - closed - constant).abs() < 1e-11);
        }
        let log_z = countgrid_math::log_sum_exp(&of_words);
        prop_assert!((model.joint_log_partition(log_partition(&model)) - log_z).abs() < 1e-11);
    }

    #[test]
    fn conditionals_are_normal_and_logistic(seed: u64, normal in -2.0..2.0_f64, uniform in 0.01..0.99_f64) {
        let (words, topics) = (5, 2);
        let shape = Shape::words(words, topics).unwrap();
        let model = random(shape, 1.0, 0.7, 1, seed);
        for x in states(words) {
            let mut chain =
                Chains::at_documents(&model, &Dense::new(words, &x).unwrap(), &[], vec![0.0; words]).unwrap();
            chain.sweep(&model, 1, &mut Constant { normal, uniform }, &mut scratch(&shape)).unwrap();
            // h = Wᵀx + n, and x_i = 1 with probability σ(α_i + W_i·h).
            let h: Vec<f64> = (0..topics)
                .map(|j| x.iter().enumerate().map(|(i, &x)| f64::from(x) * model.w()[i * topics + j]).sum::<f64>() + normal)
                .collect();
            for (i, &found) in chain.states().iter().enumerate() {
                let field = model.alpha()[i] + (0..topics).map(|j| model.w()[i * topics + j] * h[j]).sum::<f64>();
                let p = 1.0 / (1.0 + (-field).exp());
                // A draw within rounding of its threshold may fall to either side.
                prop_assert!((uniform - p).abs() < 1e-12 || found == f64::from(u8::from(uniform < p)), "{found} {p}");
            }
        }
    }

    #[test]
    fn a_langevin_step_is_half_a_squared_step_of_the_gradient_and_noise(
        seed: u64, normal in -2.0..2.0_f64, epsilon in 0.01..0.5_f64,
    ) {
        let shape = Shape::words(3, 2).unwrap();
        let model = random(shape, 1.0, 0.7, 1, seed);
        let (means, variances) = ([0.3, -0.2, 0.1], [0.5, 1.5, 0.2]);
        let prior = Prior::new(means.to_vec(), variances.to_vec()).unwrap();
        let mut gradient = Gradient::allocate(shape).unwrap();
        let mut noise = draws(seed ^ 1);
        gradient.parts_mut()[1].iter_mut().for_each(|g| *g = common::normal(&mut noise));
        let mut moved = model.clone();
        let step =
            moved.langevin(&gradient, &prior, epsilon, &mut Constant { normal, uniform: 0.5 }, &mut scratch(&shape));
        prop_assert_eq!(step, Ok(Step::Taken));
        prop_assert_eq!(moved.alpha(), model.alpha());
        for (at, (&new, &w)) in moved.w().iter().zip(model.w()).enumerate() {
            let slope = gradient.parts()[1][at] - (w - means[at / 2]) / variances[at / 2];
            let expected = w + 0.5 * epsilon * epsilon * slope + epsilon * normal;
            prop_assert!((new - expected).abs() < 1e-13 * (1.0 + expected.abs()));
        }
    }

    #[test] // with the exact ratio of normalisers the logarithm of the acceptance ratio is that of the posteriors
    fn acceptance_is_the_ratio_of_posteriors(seed: u64) {
        let shape = Shape::words(4, 2).unwrap();
        let model = random(shape, 0.7, 0.5, 1, seed);
        let mut noise = draws(seed ^ 2);
        let proposed = model.clone().update(&mut [], |[_, w, ..]| {
            w.iter_mut().for_each(|w| *w += 0.3 * normal(&mut noise));
        }).unwrap();
        let counts = [1_u8, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0];
        let bags = Dense::new(4, &counts).unwrap();
        let (means, variances) = ([0.1, -0.2, 0.3, 0.0], [0.5, 1.0, 0.25, 2.0]);
        let prior = Prior::new(means.to_vec(), variances.to_vec()).unwrap();
        let log_posterior = |model: &Model| {
            let log_z = countgrid_math::log_sum_exp(&states(4).iter().map(|x| marginal(model, x)).collect::<Vec<_>>());
            let likelihood: f64 = counts.chunks_exact(4).map(|x| marginal(model, x) - log_z).sum();
            let priors = model.w().iter().enumerate().map(|(at, w)| {
                let (mean, variance) = (means[at / 2], variances[at / 2]);
                -0.5 * (w - mean) * (w - mean) / variance - 0.5 * (2.0 * std::f64::consts::PI * variance).ln()
            });
            likelihood + priors.sum::<f64>()
        };
        let exact = 3.0 * (log_partition(&model) - log_partition(&proposed));
        let found = model.log_acceptance(&proposed, &bags, &prior, exact, &mut [0.0; 2]).unwrap();
        let expected = log_posterior(&proposed) - log_posterior(&model);
        prop_assert!((found - expected).abs() < 1e-11 * (1.0 + expected.abs()), "{found} {expected}");
        let mut scratch = vec![0.0; shape.exact_scratch_len()];
        let posterior = model.log_posterior(&bags, &[], &prior, &mut [0.0; 2], &mut scratch).unwrap();
        prop_assert!((posterior - log_posterior(&model)).abs() < 1e-11 * (1.0 + posterior.abs()));
    }

    #[test]
    fn errors_of_couplings_are_their_formulas(
        pairs in prop::collection::vec((-1.0..1.0_f64, prop_oneof![Just(0.0), -1.0..1.0_f64]), 1..30),
    ) {
        let (v, estimate): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let count = pairs.len() as f64;
        let absolute = pairs.iter().map(|(v, e)| (v - e).abs()).sum::<f64>() / count;
        let relative = pairs.iter().map(|(v, e)| (v - e).abs() / v.abs().max(e.abs())).sum::<f64>() / count;
        let (mae, mre) = coupling_errors(&v, &estimate).unwrap();
        prop_assert!((mae - absolute).abs() < 1e-13 && (mre - relative).abs() < 1e-13);
    }
}

/// `αᵀx + ½ |Wᵀx|²`.
fn marginal(model: &Model, x: &[u8]) -> f64 {
    let topics = model.shape().topics();
    let pull =
        |j: usize| x.iter().enumerate().map(|(i, &x)| f64::from(x) * model.w()[i * topics + j]).sum::<f64>();
    let biases: f64 = x.iter().zip(model.alpha()).map(|(&x, a)| f64::from(x) * a).sum();
    biases + 0.5 * (0..topics).map(|j| pull(j) * pull(j)).sum::<f64>()
}

/// `log mean Π (1 + exp(α + W h))^n`, and `(J/2) log 2π` between visible and joint normalisers.
#[test]
fn estimates_of_normalisers_by_hand() {
    let shape = Shape::words(2, 2).unwrap();
    let tables = vec![0.3, -0.5, 0.7, -0.2, 0.4, 0.9, 1.0, 3.0];
    let model = countgrid_harmonium::Harmonium::new(shape, tables, &mut []).unwrap();
    let of = |a: f64, b: f64| {
        (1.0 + (0.3 + 0.7 * a - 0.2 * b).exp()) * (1.0 + (-0.5 + 0.4 * a + 0.9 * b).exp()).powi(3)
    };
    let mut logs = [0.0; 2];
    let found = model.naive_log_partition(&[0.5, -1.5, 2.0, 0.25], &mut logs).unwrap();
    let (first, second) = (of(0.5, -1.5), of(2.0, 0.25));
    assert!((logs[0] - first.ln()).abs() < 1e-14 && (logs[1] - second.ln()).abs() < 1e-14, "{logs:?}");
    assert!((found - (0.5 * (first + second)).ln()).abs() < 1e-14, "{found}");
    for topics in 1..4 {
        let model = random(Shape::words(1, topics).unwrap(), 1.0, 1.0, 1, 1);
        let expected = 7.0 + 0.5 * topics as f64 * (2.0 * std::f64::consts::PI).ln();
        assert!((model.joint_log_partition(7.0) - expected).abs() < 1e-14);
        let rate = random(Shape::rate_adapting(1, topics).unwrap(), 1.0, 1.0, 1, 1);
        assert_eq!(rate.joint_log_partition(7.0), 7.0);
    }
}
