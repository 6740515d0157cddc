//! Samplers against enumeration and quadrature. Seeds are fixed and tolerances are sampling errors, so a test that passes
//! passes always; a threshold of 4.5 standard errors was not chosen with the outcome in view.

use crate::common;

use common::*;
use countgrid_counts::Dense;
use countgrid_em::{Tables, TablesMut, TablesMutExt, restart_seed};
use countgrid_harmonium::{
    Acceptance, Adjusted, Chains, Exchange, Gradient, Guard, Harmonium, HarmoniumError, IsingModel, Noise,
    Prior, Rates, Shape, Sharing, Step, Uniforms, add_gram, effective_sample_size, empirical_bayes, r_hat,
    step_bound,
};
use rand_chacha::ChaCha8Rng;

fn perfect(model: &Model, count: usize, seed: u64) -> (Vec<u8>, bool) {
    let words = model.shape().word_count();
    let ising = IsingModel::new(model, vec![0.0; IsingModel::<()>::len(words)]).unwrap();
    let (mut all, mut bounds) = (vec![0_u8; count * words], vec![0.0; 3 * words]);
    let (mut low, mut high, mut u) = (vec![0.0; words], vec![0.0; words], vec![0.0; words]);
    for (draw, state) in all.chunks_exact_mut(words).enumerate() {
        let mut past = Uniforms::<ChaCha8Rng>::new(restart_seed(seed, draw + 1));
        let found = ising.draw(|time, u| past.fill(time, u), 1 << 16, state, &mut bounds).unwrap();
        // From twice the horizon the same draw; and the bounds never cross.
        low.fill(0.0);
        high.fill(1.0);
        for time in (0..2 * found.sweeps).rev() {
            past.fill(time, &mut u);
            ising.sweep(&u, &mut low, &mut high);
            assert!(low.iter().zip(&high).all(|(low, high)| low <= high));
        }
        assert!(low == high && low.iter().zip(state).all(|(low, x)| *low == f64::from(*x)));
    }
    (all, ising.is_attractive())
}

/// Moments of rows of words within 4.5 standard errors of enumeration, and a chi-square over all states.
fn check_distribution(model: &Model, rows: &[Vec<f64>]) {
    let (words, n) = (model.shape().word_count(), rows.len() as f64);
    let (log_z, mut counts) = (log_partition(model), vec![0.0; 1 << words]);
    for row in rows {
        counts[row.iter().fold(0, |state, &x| 2 * state + x as usize)] += 1.0;
    }
    let mut probabilities = vec![0.0; 1 << words];
    model
        .for_each_state(&mut vec![0.0; model.shape().exact_scratch_len()], |x, log_p| {
            probabilities[x.iter().fold(0, |state, &x| 2 * state + x as usize)] = (log_p - log_z).exp();
        })
        .unwrap();
    let bit = |state: usize, i: usize| (state >> (words - 1 - i) & 1) as f64;
    for i in 0..words {
        for l in 0..=i {
            let both = |state: usize| bit(state, i) * bit(state, l);
            let expected: f64 = (0..1 << words).map(|state| both(state) * probabilities[state]).sum();
            let found = rows.iter().map(|x| x[i] * x[l]).sum::<f64>() / n;
            close(&format!("E[x{i} x{l}]"), found, expected, (expected * (1.0 - expected) / n).sqrt());
        }
    }
    // States that are expected fewer than five times count together.
    let (mut chi_square, mut cells, mut rare) = (0.0, 0.0, (0.0, 0.0));
    for (count, p) in counts.iter().zip(&probabilities) {
        if n * p < 5.0 {
            rare = (rare.0 + count, rare.1 + n * p);
        } else {
            chi_square += (count - n * p) * (count - n * p) / (n * p);
            cells += 1.0;
        }
    }
    if rare.1 >= 5.0 {
        chi_square += (rare.0 - rare.1) * (rare.0 - rare.1) / rare.1;
        cells += 1.0;
    }
    // Mean k - 1, variance 2 (k - 1); the upper tail is a little heavier than the normal one.
    close("chi-square", chi_square, cells - 1.0, (2.0 * (cells - 1.0_f64)).sqrt());
}

#[test]
fn perfect_draws_follow_the_distribution() {
    let shape = Shape::words(8, 2).unwrap();
    let mixed = random(shape, 0.5, 0.5, 1, 11);
    let attractive =
        mixed.clone().update(&mut [], |[_, w, ..]| w.iter_mut().for_each(|w| *w = w.abs())).unwrap();
    for (model, sign) in [(mixed, false), (attractive, true)] {
        let (states, is_attractive) = perfect(&model, 20_000, 5);
        assert_eq!(is_attractive, sign);
        let rows: Vec<Vec<f64>> =
            states.chunks_exact(8).map(|x| x.iter().map(|&x| f64::from(x)).collect()).collect();
        check_distribution(&model, &rows);
    }
}

#[test]
fn a_cap_that_is_too_low_is_reported() {
    // Strong couplings, balanced biases: two ordered states, exponentially slow to meet.
    let shape = Shape::words(10, 1).unwrap();
    let tables = [vec![-9.0 * 2.0; 10], vec![2.0; 10], vec![1.0; 10]].concat();
    let model = Harmonium::new(shape, tables, &mut []).unwrap();
    let ising = IsingModel::new(&model, vec![0.0; IsingModel::<()>::len(10)]).unwrap();
    let mut past = Uniforms::<ChaCha8Rng>::new(1);
    let found = ising.draw(|time, u| past.fill(time, u), 64, &mut [0; 10], &mut vec![0.0; 30]);
    assert_eq!(found, Err(HarmoniumError::NotCoalesced { sweeps: 64 }));
}

#[test]
fn gibbs_chains_converge_to_the_distribution_from_any_start() {
    let shape = Shape::words(4, 2).unwrap();
    let model = random(shape, 0.5, 0.6, 1, 2);
    for start in [0.0, 1.0] {
        // Independent chains, after 40 steps from the same state.
        let bags = vec![start; 4 * 6000];
        let bags = Dense::new(4, &bags).unwrap();
        let storage = vec![0.0; 4 * 6000];
        let mut chains = Chains::at_documents(&model, &bags, &[], storage).unwrap();
        chains.sweep(&model, 40, &mut draws(3), &mut scratch(&shape)).unwrap();
        let rows: Vec<Vec<f64>> = chains.states().chunks_exact(4).map(<[f64]>::to_vec).collect();
        check_distribution(&model, &rows);
    }
}

/// Of every kind: expectations of independent chains, `E[x]`, `E[x hᵀ]`, `E[z]` or `E[h]`, `E[z hᵀ]`.
#[test]
fn chains_of_every_kind_have_the_expectations_of_enumeration() {
    const CHAINS: usize = 8000;
    for (shape, seed) in kinds(3, 2).into_iter().zip([21, 22, 23]) {
        let model = random(shape, 0.4, 0.35, 3, seed);
        let mut noise = draws(seed);
        let mut chains = Chains::zeroed(shape, vec![0.0; CHAINS * shape.state_len()]).unwrap();
        chains.sweep(&model, 60, &mut noise, &mut scratch(&shape)).unwrap();
        // Chain by chain, for the standard errors.
        let elements = shape.gradient_len();
        let (mut sums, mut squares) = (vec![0.0; elements], vec![0.0; elements]);
        for state in chains.states().chunks_exact(shape.state_len()) {
            let mut one = Chains::zeroed(shape, vec![0.0; shape.state_len()]).unwrap();
            let (x, z) = state.split_at(3);
            let bag = Dense::new(3, x).unwrap();
            one = Chains::at_documents(&model, &bag, z, one.states().to_vec()).unwrap();
            let mut moments = Gradient::allocate(shape).unwrap();
            one.add_to(&model, 1.0, &mut moments, &mut scratch(&shape)).unwrap();
            for ((sum, square), x) in sums.iter_mut().zip(&mut squares).zip(moments.buffer()) {
                (*sum, *square) = (*sum + x, *square + x * x);
            }
        }
        let expected = expectations(&model);
        for (at, expected) in expected.buffer().iter().enumerate() {
            let mean = sums[at] / CHAINS as f64;
            let variance = squares[at] / CHAINS as f64 - mean * mean;
            close(&format!("{shape:?} at {at}"), mean, *expected, (variance / CHAINS as f64).sqrt());
        }
    }
}

#[test]
fn contrastive_divergence_with_perfect_negatives_is_the_exact_gradient() {
    let shape = Shape::words(5, 2).unwrap();
    let model = random(shape, 0.5, 0.5, 1, 31);
    let (negatives, _) = perfect(&model, 20_000, 6);
    let counts = [1_u8, 0, 1, 1, 0, 0, 0, 1, 1, 1];
    let data = Dense::new(5, &counts).unwrap();
    let mut gradient = Gradient::allocate(shape).unwrap();
    model.add_data(&data, &[], 1.0, &mut gradient, &mut scratch(&shape)).unwrap();
    let positive = gradient.buffer().to_vec();
    let all = Dense::new(5, &negatives).unwrap();
    let mut chains = Chains::at_documents(&model, &all, &[], vec![0.0; negatives.len()]).unwrap();
    chains.add_to(&model, -2.0 / 20_000.0, &mut gradient, &mut scratch(&shape)).unwrap();
    let expected = expectations(&model);
    // Var of x_i W_j·x is at most E of its square, and that at most the largest square.
    for (at, expected) in expected.buffer().iter().enumerate() {
        let most: f64 = if at < 5 {
            1.0
        } else {
            (0..5).map(|i| model.w()[2 * i + (at - 5) % 2].abs()).sum::<f64>().powi(2)
        };
        close(
            "gradient",
            gradient.buffer()[at],
            positive[at] - 2.0 * expected,
            2.0 * (most / 20_000.0).sqrt(),
        );
    }
}

#[test]
fn langevin_without_data_has_the_inflated_variance_of_its_step() {
    // 2,000 couplings are as many chains W ← (1 - ε²/2v) W + ε n, of variance v / (1 - ε²/4v).
    let shape = Shape::words(500, 4).unwrap();
    let (variance, mut noise) = (0.25, draws(41));
    let mut model = Harmonium::<f64, _>::allocate(shape, 1, 0.1, &mut noise).unwrap();
    let prior = Prior::new(vec![0.5; 500], vec![variance; 500]).unwrap();
    let gradient = Gradient::allocate(shape).unwrap();
    let mut step = scratch(&shape);
    for epsilon in [0.3, 0.6] {
        let decay: f64 = 1.0 - epsilon * epsilon / (2.0 * variance);
        let apart = (1e-9_f64.ln() / decay.abs().ln()).ceil() as usize; // steps until nothing is remembered
        let (mut sum, mut square, rounds) = (0.0, 0.0, 10);
        for _ in 0..rounds {
            for _ in 0..apart {
                assert_eq!(
                    model.langevin(&gradient, &prior, epsilon, &mut noise, &mut step),
                    Ok(Step::Taken)
                );
            }
            for w in model.w() {
                (sum, square) = (sum + w, square + (w - 0.5) * (w - 0.5));
            }
        }
        let (n, expected) =
            (2000.0 * f64::from(rounds), variance / (1.0 - epsilon * epsilon / (4.0 * variance)));
        close("mean", sum / n, 0.5, (expected / n).sqrt());
        close("variance", square / n, expected, expected * (2.0 / n).sqrt());
    }
}

/// No noise at all.
struct Silence;
impl Noise<f64> for Silence {
    fn uniform(&mut self) -> f64 {
        0.5
    }
    fn normal(&mut self) -> f64 {
        0.0
    }
}

#[test]
fn langevin_without_noise_is_gradient_ascent() {
    let shape = Shape::words(2, 2).unwrap();
    let model = random(shape, 1.0, 0.5, 1, 1);
    let mut gradient = Gradient::allocate(shape).unwrap();
    gradient.parts_mut()[1].copy_from_slice(&[1.0, -2.0, 3.0, 0.5]);
    let flat = Prior::new(vec![0.0; 2], vec![1e300; 2]).unwrap();
    let (mut by_langevin, mut by_ascent) = (model.clone(), model);
    by_langevin.langevin(&gradient, &flat, 0.2, &mut Silence, &mut scratch(&shape)).unwrap();
    let rates = Rates { biases: 0.0, couplings: 0.5 * 0.2 * 0.2 };
    by_ascent.ascend(&gradient, rates, &mut scratch(&shape)).unwrap();
    assert_eq!(by_langevin.w(), by_ascent.w());
}

#[test]
fn a_step_that_is_too_long_is_an_error_that_names_it() {
    let shape = Shape::words(50, 3).unwrap();
    let mut noise = draws(51);
    let mut model = Harmonium::<f32, _>::allocate(shape, 1, 0.1, &mut noise).unwrap();
    let counts: Vec<u8> = (0..50 * 40).map(|_| u8::from(normal(&mut noise) > 0.0)).collect();
    let bags = Dense::new(50, &counts).unwrap();
    let prior = Prior::new(vec![0.0; 50], vec![1.0; 50]).unwrap();
    let safe = step_bound(40, 50, 1.0, 1.0).unwrap();
    let mut gradient = Gradient::allocate(shape).unwrap();
    let mut gibbs = vec![0.0; shape.gibbs_scratch_len::<f32>()];
    let mut step = vec![0.0; shape.step_scratch_len()];
    let mut run = |model: &mut Harmonium<f32, Vec<f32>>, epsilon: f64| {
        (0..300).try_for_each(|_| {
            gradient.clear();
            model.contrastive_divergence(&bags, &[], 1, &mut gradient, &mut noise, &mut gibbs)?;
            model.langevin(&gradient, &prior, epsilon, &mut noise, &mut step).map(|_| ())
        })
    };
    assert_eq!(run(&mut model.clone(), safe), Ok(()));
    let far = 20.0 * safe;
    assert!(
        matches!(run(&mut model, far), Err(HarmoniumError::Diverged { table: "w", step }) if step == far)
    );
    assert!(model.w().iter().all(|w| w.is_finite())); // the last good one is kept
}

/// The posterior of two couplings on a grid: `E[W1²]`, `E[W1 W2]`, `E[W2²]`, which rotations (here the sign) leave.
fn posterior_by_quadrature(model: &Model, data: &Dense<'_, u8>, prior: &Prior<f64, Vec<f64>>) -> [f64; 3] {
    let shape = *model.shape();
    let axis = || (-120..=120).map(|k| f64::from(k) * 0.05); // prior standard deviation 1: six of them
    let (mut total, mut sums, mut largest) = (0.0, [0.0; 3], f64::NEG_INFINITY);
    let value = |a: f64, b: f64| {
        let at = model.clone().update(&mut [], |[_, w, ..]| w.copy_from_slice(&[a, b])).unwrap();
        at.log_posterior(data, &[], prior, &mut [0.0], &mut vec![0.0; shape.exact_scratch_len()]).unwrap()
    };
    for a in axis() {
        for b in axis() {
            largest = f64::max(largest, value(a, b));
        }
    }
    for a in axis() {
        for b in axis() {
            let p = (value(a, b) - largest).exp();
            total += p;
            for (sum, square) in sums.iter_mut().zip([a * a, a * b, b * b]) {
                *sum += p * square;
            }
        }
    }
    sums.map(|sum| sum / total)
}

#[test]
fn exchange_and_adjusted_langevin_sample_the_posterior() {
    let shape = Shape::words(2, 1).unwrap();
    let tables = vec![-0.5, 0.2, 0.3, -0.4, 1.0, 1.0];
    let start = Harmonium::new(shape, tables, &mut []).unwrap();
    // Twenty documents in which words go together more often than not.
    let counts: Vec<u8> = [[1, 1]; 9]
        .iter()
        .chain(&[[0, 0]; 6])
        .chain(&[[1, 0]; 2])
        .chain(&[[0, 1]; 3])
        .flatten()
        .copied()
        .collect();
    let data = Dense::new(2, &counts).unwrap();
    let prior = Prior::new(vec![0.0; 2], vec![1.0; 2]).unwrap();
    let expected = posterior_by_quadrature(&start, &data, &prior);

    let check = |what: &str, squares: &[Vec<f64>; 3]| {
        for (trace, expected) in squares.iter().zip(expected) {
            let n = trace.len() as f64;
            let mean = trace.iter().sum::<f64>() / n;
            let variance = trace.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
            let effective = effective_sample_size(trace).unwrap();
            assert!(effective > 200.0, "{what}: {effective} effective samples tell little");
            close(what, mean, expected, (variance / effective).sqrt());
        }
    };
    let note = |squares: &mut [Vec<f64>; 3], w: &[f64]| {
        squares.iter_mut().zip([w[0] * w[0], w[0] * w[1], w[1] * w[1]]).for_each(|(trace, x)| trace.push(x));
    };

    let (mut model, mut noise, mut acceptance) = (start.clone(), draws(61), Acceptance::default());
    let (mut proposal, mut couplings) =
        (vec![0.0; shape.model_len()], vec![0.0; IsingModel::<()>::len(2) + 6]);
    let mut squares = [vec![], vec![], vec![]];
    for step in 0..12_000 {
        let exchange = Exchange {
            spread: 0.5,
            cap: 1 << 14,
            proposal: &mut proposal,
            couplings: &mut couplings,
            words: &mut [0; 2],
            topics: &mut [0.0; 2],
        };
        let seed = restart_seed(62, step + 1);
        acceptance
            .count(model.exchange::<ChaCha8Rng, _, _>(&data, &prior, seed, &mut noise, exchange).unwrap());
        note(&mut squares, model.w());
    }
    assert!((0.2..0.9).contains(&acceptance.rate()), "{acceptance:?}");
    check("exchange", &squares);

    let (mut model, mut acceptance) = (start, Acceptance::default());
    let mut squares = [vec![], vec![], vec![]];
    for _ in 0..20_000 {
        let memory = Adjusted {
            proposal: &mut proposal,
            gradient: &mut [0.0; 4],
            expectations: &mut [0.0; 4],
            exact: &mut vec![0.0; shape.exact_scratch_len()],
            scratch: &mut scratch(&shape),
        };
        acceptance.count(model.adjusted_langevin(&data, &prior, 0.6, &mut noise, memory).unwrap());
        note(&mut squares, model.w());
    }
    assert!((0.3..1.0).contains(&acceptance.rate()), "{acceptance:?}");
    check("adjusted Langevin", &squares);
}

#[test]
fn plain_monte_carlo_is_unbiased_and_as_bad_as_it_should_be() {
    const SAMPLES: usize = 40_000;
    let shape = Shape::words(4, 2).unwrap();
    let model = random(shape, 0.5, 0.2, 1, 71);
    let sized = |n: f64| {
        let tables = [model.alpha(), model.w(), &[n; 4]].concat();
        log_partition(&Harmonium::new(shape, tables, &mut []).unwrap())
    };
    let [one, two, three, four] = [1.0, 2.0, 3.0, 4.0].map(sized);
    let mut noise = draws(72);
    let h: Vec<f64> = (0..2 * SAMPLES).map(|_| normal(&mut noise)).collect();
    let mut logs = vec![0.0; SAMPLES];
    let estimate = model.naive_log_partition(&h, &mut logs).unwrap();
    // Relative moments about the mean, exact by binomial sizes of 2, 3 and 4.
    let [m2, m3, m4] = [two - 2.0 * one, three - 3.0 * one, four - 4.0 * one].map(f64::exp);
    let (variance, fourth) = (m2 - 1.0, m4 - 4.0 * m3 + 6.0 * m2 - 3.0);
    close("Z", (estimate - one).exp(), 1.0, (variance / SAMPLES as f64).sqrt());
    let found = logs.iter().map(|log| ((log - one).exp() - 1.0).powi(2)).sum::<f64>() / SAMPLES as f64;
    close("relative variance", found, variance, ((fourth - variance * variance) / SAMPLES as f64).sqrt());
}

#[test]
fn annealed_importance_sampling_is_within_its_stated_error() {
    for (shape, seed) in kinds(6, 2).into_iter().zip([81, 82, 83]) {
        let model = random(shape, 0.5, 0.5, 2, seed);
        let exact = log_partition(&model);
        let mut weights = vec![0.0; 500];
        let estimate =
            model.annealed_log_partition(200, &mut weights, &mut draws(seed), &mut scratch(&shape)).unwrap();
        assert!(estimate.standard_error < 0.1 && estimate.effective_chains > 100.0, "{estimate:?}");
        close("log Z", estimate.log_partition, exact, estimate.standard_error);
    }
}

#[test]
fn empirical_bayes_recovers_a_known_prior() {
    const SAMPLES: usize = 3000;
    let mut noise = draws(91);
    let (means, variances) = ([0.5, -1.0], [0.04_f64, 2.0]);
    let samples: Vec<f64> = (0..SAMPLES * 2 * 3)
        .map(|at| means[at / 3 % 2] + variances[at / 3 % 2].sqrt() * normal(&mut noise))
        .collect();
    let (mut mean, mut variance) = ([0.0; 2], [0.0; 2]);
    empirical_bayes(&samples, 3, Sharing::PerRow, Guard::Floor(0.0), &mut mean, &mut variance).unwrap();
    let n = 3.0 * SAMPLES as f64;
    for row in 0..2 {
        close("mean", mean[row], means[row], (variances[row] / n).sqrt());
        close("variance", variance[row], variances[row], variances[row] * (2.0 / n).sqrt());
    }
    // A frozen row keeps a floor.
    empirical_bayes(&[0.3; 6], 3, Sharing::PerRow, Guard::Floor(0.01), &mut mean, &mut variance).unwrap();
    assert_eq!(variance, [0.01; 2]);
}

/// A synthetic set of words and features with known couplings: learned from a rough start, by contrastive divergence and
/// then by the exact gradient, the Gram matrix of all couplings, which is what the distribution depends on, comes
/// back. CD alone ended some tens of nats lower.
#[test]
fn dual_wing_couplings_are_recovered() {
    const DOCUMENTS: usize = 2000;
    let shape = Shape::dual_wing(6, 3, 2).unwrap();
    let mut tables = vec![0.0; shape.model_len()];
    let w = [0.9, 0.0, 0.8, 0.3, 0.7, -0.2, 0.0, 0.9, -0.3, 0.8, 0.2, 0.6];
    let u = [0.5, 0.0, 0.0, 0.5, 0.35, -0.35];
    // Centred, so that words are on half of the time and features are 0 in the mean: energy of (x - ½)ᵀW h + zᵀU h.
    let pull = [0, 1].map(|j| 0.5 * w.iter().skip(j).step_by(2).sum::<f64>());
    let bias = |row: &[f64]| -(row[0] * pull[0] + row[1] * pull[1]);
    tables[..6].iter_mut().zip(w.chunks_exact(2)).for_each(|(alpha, row)| *alpha = bias(row));
    tables[6..18].copy_from_slice(&w);
    tables[18..24].fill(1.0);
    tables[24..27].iter_mut().zip(u.chunks_exact(2)).for_each(|(beta, row)| *beta = bias(row));
    tables[27..30].fill(1.0);
    tables[30..].copy_from_slice(&u);
    let truth = Harmonium::new(shape, tables.clone(), &mut [0.0; 4]).unwrap();
    let (mut noise, mut memory) = (draws(101), scratch(&shape));
    let mut chains = Chains::zeroed(shape, vec![0.0; DOCUMENTS * 9]).unwrap();
    chains.sweep(&truth, 200, &mut noise, &mut memory).unwrap();
    let x: Vec<f64> = chains.states().chunks_exact(9).flat_map(|state| state[..6].to_vec()).collect();
    let z: Vec<f64> = chains.states().chunks_exact(9).flat_map(|state| state[6..].to_vec()).collect();
    let data = Dense::new(6, &x).unwrap();

    let mut model = Harmonium::<f64, _>::allocate(shape, 1, 0.1, &mut noise).unwrap();
    let mut gradient = Gradient::allocate(shape).unwrap();
    // Biases of features begin at their means: from far off the first steps overshoot, to where there is no model.
    let mean = |c: usize| z.iter().skip(c).step_by(3).sum::<f64>() / DOCUMENTS as f64;
    model = model.update(&mut memory, |[_, _, beta, _]| (0..3).for_each(|c| beta[c] = mean(c))).unwrap();
    let ascend = |model: &mut Model, gradient: &Gradient<f64, Vec<f64>>| {
        let rate = 0.05 / DOCUMENTS as f64;
        let step = model.ascend(gradient, Rates { biases: rate, couplings: rate }, &mut vec![0.0; 1000]);
        assert_eq!(step, Ok(Step::Taken));
    };
    for _ in 0..300 {
        gradient.clear();
        model.contrastive_divergence(&data, &z, 1, &mut gradient, &mut noise, &mut memory).unwrap();
        ascend(&mut model, &gradient);
    }
    // The data's part depends on couplings alone; momentum, for the likelihood is a long ridge.
    let mut velocity = Gradient::allocate(shape).unwrap();
    for _ in 0..4000 {
        gradient.clear();
        model.add_data(&data, &z, 1.0, &mut gradient, &mut memory).unwrap();
        let expected = expectations(&model);
        let slopes = gradient.buffer().iter().zip(expected.buffer()).map(|(g, e)| g - DOCUMENTS as f64 * e);
        velocity.buffer_mut().iter_mut().zip(slopes).for_each(|(v, slope)| *v = 0.95 * *v + 0.5 * slope);
        ascend(&mut model, &velocity);
    }
    let gram = |model: &Model| {
        let mut v = vec![0.0; 81];
        add_gram(&[model.w(), model.u()].concat(), 2, 1.0, &mut v).unwrap();
        v
    };
    let (true_v, found) = (gram(&truth), gram(&model));
    // At the maximum the likelihood is above that of the truth by half a chi-square of 26 free parameters, 13 ± 4 nats;
    // what is learned is the maximum.
    let likelihood =
        |model: &Model| model.log_likelihood(&data, &z, log_partition(model), &mut [0.0; 2]).unwrap();
    let gain = likelihood(&model) - likelihood(&truth);
    assert!(gain > 0.0 && gain < 13.0 + 4.5 * 3.6, "{gain} nats above the truth");
    // Off the diagonal, since that of binary words is a bias: within a fifth of the mean coupling.
    let errors: Vec<f64> =
        (0..81).filter(|at| at / 9 != at % 9).map(|at| (true_v[at] - found[at]).abs()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let size = true_v.iter().map(|v| v.abs()).sum::<f64>() / 81.0;
    assert!(mean < 0.2 * size, "mean error {mean}, mean coupling {size}");
}

#[test]
fn chains_of_one_distribution_agree_and_of_two_do_not() {
    let mut noise = draws(111);
    let mut traces: Vec<f64> = (0..4000).map(|_| normal(&mut noise)).collect();
    // 1 + O(1/n) with a spread of some √(2/n)/... : 1.01 is far out for a thousand steps.
    assert!(r_hat(&traces, 1000).unwrap() < 1.01);
    let independent = effective_sample_size(&traces[..1000]).unwrap();
    assert!(independent > 600.0, "{independent}");
    traces[..1000].iter_mut().for_each(|x| *x += 1.0);
    assert!(r_hat(&traces, 1000).unwrap() > 1.1);
    // A first-order autoregression of coefficient ρ is worth (1 - ρ)/(1 + ρ).
    let mut state = 0.0;
    let slow: Vec<f64> = (0..40_000)
        .map(|_| {
            state = 0.9 * state + normal(&mut noise);
            state
        })
        .collect();
    let share = effective_sample_size(&slow).unwrap() / 40_000.0;
    assert!((share / (0.1 / 1.9) - 1.0).abs() < 0.25, "{share}");
}
