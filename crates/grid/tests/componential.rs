//! What must hold of componential counting grids, and the definitions written down plainly.

#![allow(clippy::needless_range_loop, reason = "indices are those of the mathematics")]

use crate::common::*;
use countgrid_counts::{Bag, CsrBuf, Dense};
use countgrid_em::testing::{Tolerance, check_additivity, check_tables, check_terms_sum};
use countgrid_em::{EmOptions, Fit, Learn, StepwiseOptions, Tables, TablesExt, TablesMutExt, no_observer};
use countgrid_grid::componential::{
    ComponentialGrid, Inference, Learner, Options, Statistics, Terms, WindowMeans, means_len,
    posterior_scratch_len, scratch_len, sums_len,
};
use countgrid_grid::{Grid, GridError, Grouping, LabelSums, Shape, WindowPosterior, label_sums_len};
use countgrid_lda::Lda;
use countgrid_math::{Level, Real, digamma, ln_gamma, set_level};
use proptest::prelude::*;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

type Outcome = Result<(), TestCaseError>;

in_every_dimension! {
    inference_is_the_definition,
    tokens_are_conserved,
    sweeps_never_lower_the_bound,
    iterations_never_raise_the_objective,
    one_iteration_is_the_definition,
    translation,
    single_cells_are_latent_dirichlet_allocation,
    whole_torus_is_one_distribution,
    repeating_every_bag,
    statistics_add_up,
    terms_sum_to_the_free_energy,
    labels_are_embedded,
    chunks_and_storage_change_no_bit,
}

/// `gamma` after some sweeps of at most 5 features with counts to 8, so `gamma` below 60: a sweep makes some thirty
/// roundings of a relative 1.1e-16 each, and `digamma` of a small `gamma` multiplies a relative error by `1 / gamma`,
/// at most 1 / 0.05 where the window has weight beside others. The map contracts, so that errors do not multiply over
/// sweeps.
const NEAR: f64 = 1e-10;

pub(crate) fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= NEAR * b.abs().max(1.0)
}

pub(crate) fn sweeps(sweeps: usize) -> Inference {
    Inference { sweeps, tolerance: 0.0 }
}

/// `alpha` of a problem: its location prior times so many tokens.
pub(crate) fn alpha<const D: usize>(p: &Problem<D>, total: f64) -> Vec<f64> {
    p.prior.iter().map(|&p| p * total).collect()
}

pub(crate) fn grid<T: Real, const D: usize>(p: &Problem<D>, total: f64) -> ComponentialGrid<T, Vec<T>, D> {
    let mut tables = p.tables::<T>();
    let cells = p.cells();
    let first = tables.len() - cells;
    for (to, alpha) in tables[first..].iter_mut().zip(alpha(p, total)) {
        *to = T::from_f64(alpha);
    }
    ComponentialGrid::new(p.shape(), tables).unwrap()
}

pub(crate) fn means<T: Real, const D: usize>(p: &Problem<D>, total: f64) -> WindowMeans<T, Vec<T>, D> {
    let shape = p.shape();
    let packed = vec![T::nan(); means_len::<T, D>(&shape)];
    let mut scratch = vec![T::zero(); shape.plane_scratch_len()];
    WindowMeans::pack(&grid(p, total), packed, &mut scratch).unwrap()
}

pub(crate) fn learner<T: Real, const D: usize>(
    p: &Problem<D>,
    total: f64,
    options: Options,
) -> Learner<T, Vec<T>, D> {
    let shape = p.shape();
    let packed = vec![T::zero(); means_len::<T, D>(&shape)];
    Learner::new(grid(p, total), packed, &mut vec![T::zero(); shape.plane_scratch_len()], options).unwrap()
}

pub(crate) fn statistics<T: Real, const D: usize>(shape: Shape<D>, chunk: usize) -> Statistics<T, Vec<T>, D> {
    let sums = vec![T::zero(); sums_len::<T, D>(&shape)];
    Statistics::new(shape, sums, vec![T::zero(); scratch_len::<T, D>(&shape, chunk)]).unwrap()
}

pub(crate) fn scratch<T: Real, const D: usize>(shape: &Shape<D>) -> Vec<T> {
    vec![T::nan(); posterior_scratch_len::<T, D>(shape)]
}

/// `q_zl` of a bag at some `gamma`, `[feature][window]`, and `ln d_z`, by the definition.
pub(crate) fn naive_q(h: &[Vec<f64>], gamma: &[f64], features: usize) -> Vec<(Vec<f64>, f64)> {
    let total = digamma(gamma.iter().sum::<f64>());
    let of = |z: usize| {
        let logs: Vec<f64> = (0..h.len()).map(|l| digamma(gamma[l]) - total + h[l][z].ln()).collect();
        (softmax(&logs), log_sum_exp(&logs))
    };
    (0..features).map(of).collect()
}

/// One sweep, by the definition.
pub(crate) fn naive_sweep<const D: usize>(
    p: &Problem<D>,
    t: usize,
    alpha: &[f64],
    gamma: &[f64],
) -> Vec<f64> {
    let q = naive_q(&p.naive_h(), gamma, p.features);
    let n = |l: usize| (0..p.features).map(|z| p.counts[t][z] * q[z].0[l]).sum::<f64>();
    (0..gamma.len()).map(|l| alpha[l] + n(l)).collect()
}

pub(crate) fn naive_gamma<const D: usize>(
    p: &Problem<D>,
    t: usize,
    alpha: &[f64],
    sweeps: usize,
) -> Vec<f64> {
    let even = p.counts[t].iter().sum::<f64>() / p.cells() as f64;
    let start = alpha.iter().map(|alpha| alpha + even).collect();
    (0..sweeps).fold(start, |gamma: Vec<f64>, _| naive_sweep(p, t, alpha, &gamma))
}

/// `B_t` with `q` at its optimum.
pub(crate) fn naive_bound<const D: usize>(p: &Problem<D>, t: usize, alpha: &[f64], gamma: &[f64]) -> f64 {
    let (sum, total) = (gamma.iter().sum::<f64>(), alpha.iter().sum::<f64>());
    let mut bound = ln_gamma(total) - ln_gamma(sum);
    for (&alpha, &gamma) in alpha.iter().zip(gamma) {
        bound += ln_gamma(gamma) - ln_gamma(alpha) + (alpha - gamma) * (digamma(gamma) - digamma(sum));
    }
    let q = naive_q(&p.naive_h(), gamma, p.features);
    bound + (0..p.features).map(|z| p.counts[t][z] * q[z].1).sum::<f64>()
}

fn inference_is_the_definition<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let (total, n) = ([0.3, 2.0, 30.0][seed as usize % 3], 1 + seed as usize / 3 % 8);
    let (means, alpha, flat) = (means::<f64, D>(&p, total), alpha(&p, total), p.flat());
    let (bags, mut room) = (Dense::new(p.features, &flat).unwrap(), scratch(&p.shape()));
    for t in 0..p.counts.len() {
        let posterior = means.posterior(&bags, t, sweeps(n), &mut room).unwrap();
        let expected = naive_gamma(&p, t, &alpha, n);
        let mut found = vec![f64::NAN; p.cells()];
        posterior.gamma(&mut found).unwrap();
        prop_assert!(found.iter().zip(&expected).all(|(&a, &b)| near(a, b)), "{found:?} {expected:?}");
        let bound = naive_bound(&p, t, &alpha, &expected);
        prop_assert!(near(posterior.bound(), bound), "{} {bound}", posterior.bound());
        let next = naive_sweep(&p, t, &alpha, &expected);
        posterior.expected_tokens(&mut found).unwrap();
        prop_assert!((0..p.cells()).all(|l| near(found[l], next[l] - alpha[l])));
    }
    Ok(())
}

fn tokens_are_conserved<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let total = [0.01, 1.0, 20.0][seed as usize % 3];
    let (means, flat) = (means::<f32, D>(&p, total), p.flat());
    let (bags, mut room) = (Dense::new(p.features, &flat).unwrap(), scratch(&p.shape()));
    for t in 0..p.counts.len() {
        let posterior = means.posterior(&bags, t, Inference::default(), &mut room).unwrap();
        let mut plane = vec![0.0; p.cells()];
        let tokens = p.counts[t].iter().sum::<f64>();
        // In f32: each window's sum and quotients meet fewer than 30 roundings of 6e-8.
        let allowed = 30.0 * 6e-8 * (total + tokens);
        posterior.gamma(&mut plane).unwrap();
        let sum = plane.iter().map(|&x| f64::from(x)).sum::<f64>();
        prop_assert!((sum - total - tokens).abs() <= allowed, "{sum} {total} {tokens}");
        posterior.expected_tokens(&mut plane).unwrap();
        let sum = plane.iter().map(|&x| f64::from(x)).sum::<f64>();
        prop_assert!((sum - tokens).abs() <= allowed, "{sum} {tokens}");
        posterior.proportions(&mut plane).unwrap();
        prop_assert!((plane.iter().map(|&x| f64::from(x)).sum::<f64>() - 1.0).abs() <= 30.0 * 6e-8);
    }
    Ok(())
}

/// From any start.
fn sweeps_never_lower_the_bound<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let total = [0.02, 1.0, 20.0][seed as usize % 3];
    let (means, flat) = (means::<f64, D>(&p, total), p.flat());
    let (bags, mut room) = (Dense::new(p.features, &flat).unwrap(), scratch(&p.shape()));
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for t in 0..p.counts.len() {
        let mut gamma: Vec<f64> =
            (0..p.cells()).map(|_| 0.01 + (rng.next_u32() % 1000) as f64 / 100.0).collect();
        let mut last = f64::NEG_INFINITY;
        for _ in 0..30 {
            let posterior = means.posterior_from(&bags, t, sweeps(1), Some(&gamma), &mut room).unwrap();
            prop_assert!(posterior.bound() >= last - CLOSE * last.abs().max(1.0), "{last}");
            last = posterior.bound();
            posterior.gamma(&mut gamma).unwrap();
        }
    }
    Ok(())
}

fn iterations_never_raise_the_objective<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let options = Options {
        inference: sweeps(1 + seed as usize % 4),
        inner_passes: 1 + seed as usize / 4 % 3,
        pseudocount: if seed & 64 != 0 { 0.1 } else { 0.0 },
        learn_alpha: false,
        ..Options::default()
    };
    let (mut learner, flat) = (learner::<f64, D>(&p, 2.0, options), p.flat());
    let bags = Dense::new(p.features, &flat).unwrap();
    let (mut statistics, mut gammas) = (statistics(p.shape(), 2), vec![1.0; p.cells() * p.counts.len()]);
    let mut last = f64::INFINITY;
    for _ in 0..8 {
        statistics.clear();
        let free_energy = learner.expectation_from(&bags, &mut gammas, &mut statistics).unwrap();
        let objective = free_energy + learner.penalty();
        prop_assert!(objective <= last + CLOSE * objective.abs().max(1.0), "{last} {objective}");
        last = objective;
        learner.maximization(&mut statistics).unwrap();
    }
    Ok(())
}

/// `F` by the definition, and the grid's own M-step on it.
fn one_iteration_is_the_definition<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let pseudocount = if seed & 1 != 0 { 0.25 } else { 0.0 };
    let options = Options { inference: sweeps(3), pseudocount, ..Options::default() };
    let (mut learner, flat) = (learner::<f64, D>(&p, 2.0, options), p.flat());
    let (alpha, h, windows) = (alpha(&p, 2.0), p.naive_h(), p.windows());
    let mut f = vec![vec![0.0; p.features]; p.cells()];
    for t in 0..p.counts.len() {
        let q = naive_q(&h, &naive_gamma(&p, t, &alpha, 3), p.features);
        for l in 0..p.cells() {
            (0..p.features).for_each(|z| f[l][z] += p.counts[t][z] * q[z].0[l]);
        }
    }
    let mut statistics = statistics(p.shape(), 3);
    learner.expectation(&Dense::new(p.features, &flat).unwrap(), &mut statistics).unwrap();
    let mut plane = vec![0.0; p.cells()];
    for z in 0..p.features {
        statistics.window_counts(z, &mut plane).unwrap();
        prop_assert!((0..p.cells()).all(|l| near(plane[l], f[l][z])));
    }
    learner.maximization(&mut statistics).unwrap();
    for i in 0..p.cells() {
        let n = |z: usize| {
            let spread: f64 = windows.starts_over(i).map(|l| f[l][z] / h[l][z]).sum();
            p.pi[i][z] / windows.volume() as f64 * spread + pseudocount
        };
        let n: Vec<f64> = (0..p.features).map(n).collect();
        // A cell that no bag visits with more than a rounding of its tokens counts as one without mass.
        let (mass, kept) = (n.iter().sum::<f64>(), p.pi[i].clone());
        let row = if mass > 0.0 { normalised(n) } else { kept.clone() };
        for z in 0..p.features {
            let found = learner.grid().plane(z)[i];
            let is_kept = mass <= 1e-15 * p.tokens() && found == kept[z];
            prop_assert!(near(found, row[z]) || is_kept, "{found} {}", row[z]);
        }
    }
    Ok(())
}

/// The same problem with cell `i` at `i + shift`.
fn shifted<const D: usize>(p: &Problem<D>, shift: [usize; D]) -> (Problem<D>, Vec<usize>) {
    let torus = *p.windows().torus();
    let to: Vec<usize> = (0..p.cells())
        .map(|i| {
            let x = torus.coords_of(i);
            torus.cell_of(std::array::from_fn(|d| (x[d] + shift[d]) % p.extents[d]))
        })
        .collect();
    let mut moved = p.clone();
    for i in 0..p.cells() {
        moved.pi[to[i]] = p.pi[i].clone();
        moved.prior[to[i]] = p.prior[i];
    }
    (moved, to)
}

fn translation<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let shift = std::array::from_fn(|d| (seed >> (8 * d)) as usize % p.extents[d]);
    let ((moved, to), flat) = (shifted(&p, shift), p.flat());
    let bags = Dense::new(p.features, &flat).unwrap();
    let options = Options { inference: sweeps(5), ..Options::default() };
    let [one, two] = [learner::<f64, D>(&p, 1.0, options), learner(&moved, 1.0, options)];
    let [mut of_one, mut of_two] = [statistics(p.shape(), 2), statistics(p.shape(), 2)];
    let energies = [one.expectation(&bags, &mut of_one), two.expectation(&bags, &mut of_two)];
    prop_assert!(near(energies[0].unwrap(), energies[1].unwrap()));
    let (mut a, mut b) = (vec![0.0; p.cells()], vec![0.0; p.cells()]);
    for z in 0..p.features {
        of_one.window_counts(z, &mut a).unwrap();
        of_two.window_counts(z, &mut b).unwrap();
        prop_assert!((0..p.cells()).all(|l| near(a[l], b[to[l]])));
    }
    let mut room = scratch(&p.shape());
    one.means().posterior(&bags, 0, sweeps(5), &mut room).unwrap().gamma(&mut a).unwrap();
    two.means().posterior(&bags, 0, sweeps(5), &mut room).unwrap().gamma(&mut b).unwrap();
    prop_assert!((0..p.cells()).all(|l| near(a[l], b[to[l]])));
    Ok(())
}

/// `W = 1`: topics are cells. The counts there belong to the `gamma` before the last sweep.
fn single_cells_are_latent_dirichlet_allocation<const D: usize>(mut p: Problem<D>, seed: u64) -> Outcome {
    p.sides = [1; D];
    let (n, flat) = (1 + seed as usize % 6, p.flat());
    let bags = Dense::new(p.features, &flat).unwrap();
    let options = Options { inference: sweeps(n), ..Options::default() };
    let learner = learner::<f64, D>(&p, 2.0, options);
    let shape = countgrid_lda::Shape::new(p.cells(), p.features).unwrap();
    let mut tables = p.tables::<f64>();
    let first = tables.len() - p.cells();
    tables[first..].copy_from_slice(&alpha(&p, 2.0));
    let lda = Lda::new(shape, tables).unwrap();
    let (mut room, mut lda_room) = (scratch(&p.shape()), vec![0.0; shape.posterior_scratch_len()]);
    let mut counts = vec![0.0; shape.features() * shape.topics()];
    for t in 0..p.counts.len() {
        let inference = |sweeps| countgrid_lda::Inference { sweeps, tolerance: 0.0 };
        let other = lda.posterior(&bags, t, inference(n), &mut lda_room).unwrap();
        let posterior = learner.means().posterior(&bags, t, sweeps(n), &mut room).unwrap();
        let mut gamma = vec![0.0; p.cells()];
        posterior.gamma(&mut gamma).unwrap();
        prop_assert!(gamma.iter().zip(other.gamma()).all(|(&a, &b)| near(a, b)));
        // Half a sweep further than its bound, before the next.
        prop_assert!(posterior.bound() >= other.bound() - CLOSE * other.bound().abs().max(1.0));
        let other = lda.posterior(&bags, t, inference(n + 1), &mut lda_room).unwrap();
        prop_assert!(posterior.bound() <= other.bound() + CLOSE * other.bound().abs().max(1.0));
        let mut of_bag = vec![0.0; counts.len()];
        other.expected_counts(&mut of_bag).unwrap();
        counts.iter_mut().zip(of_bag).for_each(|(sum, x)| *sum += x);
    }
    let (mut statistics, mut plane) = (statistics(p.shape(), 1), vec![0.0; p.cells()]);
    learner.expectation(&bags, &mut statistics).unwrap();
    for (z, row) in counts.chunks(p.cells()).enumerate() {
        statistics.window_counts(z, &mut plane).unwrap();
        prop_assert!(plane.iter().zip(row).all(|(&a, &b)| near(a, b)));
    }
    Ok(())
}

/// `W = E`: all windows are one distribution, and `gamma` of the posterior at rest is `alpha` times a constant, where the
/// bound is that of the unigram model.
fn whole_torus_is_one_distribution<const D: usize>(mut p: Problem<D>, seed: u64) -> Outcome {
    p.sides = p.extents;
    let (means, flat) = (means::<f64, D>(&p, 1.0 + (seed % 5) as f64), p.flat());
    let (bags, mut room) = (Dense::new(p.features, &flat).unwrap(), scratch(&p.shape()));
    let h = &p.naive_h()[0];
    for t in 0..p.counts.len() {
        let unigram: f64 = (0..p.features).map(|z| p.counts[t][z] * h[z].ln()).sum();
        let posterior = means.posterior(&bags, t, Inference::CONVERGED, &mut room).unwrap();
        // Never above the log-likelihood, which it meets where one window is.
        prop_assert!(posterior.bound() <= unigram + CLOSE * unigram.abs().max(1.0));
        if p.cells() == 1 {
            prop_assert!(near(posterior.bound(), unigram));
        }
        // The bound less the words' is the same whatever the words are: N tokens of a feature that is certain.
        let alpha = alpha(&p, 1.0 + (seed % 5) as f64);
        let mut gamma = vec![0.0; p.cells()];
        posterior.gamma(&mut gamma).unwrap();
        let mut certain = p.clone();
        certain.pi.iter_mut().for_each(|row| row.fill(1.0 / p.features as f64));
        let tokens: f64 = p.counts[t].iter().sum();
        let rest = naive_bound(&certain, t, &alpha, &gamma) + tokens * (p.features as f64).ln();
        prop_assert!(near(posterior.bound() - unigram, rest), "{} {rest}", posterior.bound() - unigram);
    }
    Ok(())
}

fn repeating_every_bag<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let learner = learner::<f64, D>(&p, 1.0, Options::default());
    let (once, mut twice) = (p.flat(), p.flat());
    twice.extend_from_slice(&once);
    let [mut of_once, mut of_twice] = [statistics(p.shape(), 2), statistics(p.shape(), 2)];
    let once = learner.expectation(&Dense::new(p.features, &once).unwrap(), &mut of_once).unwrap();
    let twice = learner.expectation(&Dense::new(p.features, &twice).unwrap(), &mut of_twice).unwrap();
    prop_assert!(near(twice, 2.0 * once));
    prop_assert!(of_once.buffer().iter().zip(of_twice.buffer()).all(|(&a, &b)| near(b, 2.0 * a)));
    Ok(())
}

fn statistics_add_up<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let (learner, flat) = (learner::<f64, D>(&p, 1.0, Options::default()), p.flat());
    let middle = seed as usize % (p.counts.len() + 1) * p.features;
    let (first, rest) = flat.split_at(middle);
    let all = Dense::new(p.features, &flat).unwrap();
    let parts = [Dense::new(p.features, first).unwrap(), Dense::new(p.features, rest).unwrap()];
    let mut sums = statistics(p.shape(), 1);
    check_tables(&sums).unwrap();
    check_tables(&learner).unwrap();
    // Some tens of sums of at most six bags each: a few roundings.
    check_additivity(&learner, &all, &parts, &mut sums, Tolerance::relative(1e-13)).unwrap();
    Ok(())
}

fn terms_sum_to_the_free_energy<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let means = means::<f64, D>(&p, [0.3, 5.0][seed as usize % 2]);
    let bags = CsrBuf::from_dense(p.features, &p.flat()).unwrap();
    let inference = sweeps(1 + seed as usize % 20);
    for t in 0..p.counts.len() {
        let bag = bags.as_view().bag(t).unwrap();
        for grouping in [Grouping::Location, Grouping::Feature, Grouping::Each] {
            let model = Terms::new(&means, inference, grouping);
            // Terms of windows with alpha of 0.001 are some thousands and cancel.
            check_terms_sum(&model, &bag, Tolerance { relative: 1e-10, absolute: 1e-9 }).unwrap();
        }
    }
    Ok(())
}

/// Of a bag's tokens each window has its share, and these add up to one bag.
fn labels_are_embedded<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let (shape, means, flat) = (p.shape(), means::<f64, D>(&p, 1.0), p.flat());
    let (bags, mut room) = (Dense::new(p.features, &flat).unwrap(), scratch(&shape));
    let mut sums = LabelSums::new(shape, 2, vec![0.0; label_sums_len(&shape, 2).unwrap()]).unwrap();
    let mut added = 0.0;
    for t in 0..p.counts.len() {
        let posterior = means.posterior(&bags, t, Inference::default(), &mut room).unwrap();
        let mut tokens = vec![0.0; p.cells()];
        posterior.expected_tokens(&mut tokens).unwrap();
        let total: f64 = p.counts[t].iter().sum();
        let (mut next, mut ascending, mut shares) = (0, true, true);
        posterior.for_each(|window, q: f64| {
            ascending &= window >= next;
            shares &= near(q, tokens[window] / total);
            next = window + 1;
        });
        prop_assert!(ascending && shares);
        sums.add_class(&posterior, t % 2).unwrap();
        added += f64::from(u8::from(total > 0.0));
    }
    let mass: f64 = sums.table("mass").unwrap().iter().sum();
    prop_assert!(near(mass, added));
    Ok(())
}

fn chunks_and_storage_change_no_bit<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let (learner, flat) = (learner::<f32, D>(&p, 0.5, Options::default()), p.flat());
    let sparse = CsrBuf::from_dense(p.features, &flat).unwrap();
    let dense = Dense::new(p.features, &flat).unwrap();
    let [mut one, mut two] = [statistics(p.shape(), 1), statistics(p.shape(), 2 + seed as usize % 5)];
    let energies = [learner.expectation(&dense, &mut one), learner.expectation(&sparse, &mut two)];
    prop_assert_eq!(energies[0].unwrap().to_bits(), energies[1].unwrap().to_bits());
    prop_assert_eq!(one.buffer(), two.buffer());
    Ok(())
}

/// A grid of many cells in which each bag's tokens lie in a few, with a learner.
fn sharp<T: Real>(side: usize, total: f64) -> (Problem<2>, Learner<T, Vec<T>, 2>) {
    let features = 40;
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut draw = |n: u32| rng.next_u32() % n;
    let cells = side * side;
    let row = |draw: &mut dyn FnMut(u32) -> u32| {
        let mut row = vec![1e-4; features];
        (0..3).for_each(|_| row[draw(features as u32) as usize] += 1.0);
        normalised(row)
    };
    let pi: Vec<Vec<f64>> = (0..cells).map(|_| row(&mut draw)).collect();
    let bag = |draw: &mut dyn FnMut(u32) -> u32| {
        let mut bag = vec![0.0; features];
        (0..12).for_each(|_| bag[draw(features as u32) as usize] += 1.0);
        bag
    };
    let counts = (0..40).map(|_| bag(&mut draw)).collect();
    let prior = vec![1.0 / cells as f64; cells];
    let problem = Problem { extents: [side; 2], sides: [3; 2], features, counts, pi, prior };
    let learner = learner::<T, 2>(&problem, total, Options { inference: sweeps(40), ..Options::default() });
    (problem, learner)
}

/// With `alpha` of 1/256 most windows are left out; `gamma`, bound and counts are those of all of them.
#[test]
fn windows_left_out_are_below_rounding() {
    for total in [1.0, 0.01, 200.0] {
        let (p, learner) = sharp::<f64>(16, total);
        let (alpha, flat) = (alpha(&p, total), p.flat());
        let bags = Dense::new(p.features, &flat).unwrap();
        let mut room = scratch(&p.shape());
        for t in 0..3 {
            let posterior = learner.means().posterior(&bags, t, sweeps(40), &mut room).unwrap();
            let expected = naive_gamma(&p, t, &alpha, 40);
            let mut gamma = vec![0.0; p.cells()];
            posterior.gamma(&mut gamma).unwrap();
            let far = row_distance(&gamma, &expected);
            assert!(far <= NEAR, "{total} {t}: {far}");
            let bound = naive_bound(&p, t, &alpha, &gamma);
            assert!(near(posterior.bound(), bound), "{} {bound}", posterior.bound());
            let kept = gamma.iter().zip(&alpha).filter(|(gamma, alpha)| gamma != alpha).count();
            assert!(kept < p.cells() / 4 || total > 100.0, "{kept} windows have tokens");
        }
    }
}

/// A feature that only windows have which are left out brings them back, whatever the start.
#[test]
fn a_feature_of_windows_left_out_brings_them_back() {
    // Sixty-four cells in a circle; feature 1 is in cell 40 alone, where the start has nothing.
    let shape = Shape::from_sides([64], [1], 2).unwrap();
    let tables: Vec<f64> = (0..192)
        .map(|i| match i {
            0..64 => f64::from(u8::from(i != 40)),
            64..128 => f64::from(u8::from(i == 104)),
            _ => 1e-3,
        })
        .collect();
    let grid = ComponentialGrid::new(shape, tables).unwrap();
    let packed = vec![0.0; means_len::<f64, 1>(&shape)];
    let means = WindowMeans::pack(&grid, packed, &mut vec![0.0; shape.plane_scratch_len()]).unwrap();
    let (features, counts) = ([0, 1], [8u32, 2]);
    let bag = Bag::new(2, &features, &counts).unwrap();
    let mut start = [1e-3; 64];
    start[3] = 10.0;
    let mut room = scratch(&shape);
    let posterior = means.posterior_from(&bag, 0, sweeps(3), Some(&start), &mut room).unwrap();
    let mut gamma = [0.0; 64];
    posterior.gamma(&mut gamma).unwrap();
    assert!((gamma[40] - 2.001).abs() < 1e-12 && (gamma[3] - 8.001).abs() < 1e-12, "{gamma:?}");
    assert!(posterior.bound().is_finite());
}

/// The same where the windows that were kept have a little of the feature: less than those left out.
#[test]
fn windows_left_out_come_back_before_they_matter() {
    let shape = Shape::from_sides([64], [1], 2).unwrap();
    let little = 1e-38;
    let entry = |z: usize, i: usize| match (z, i) {
        (0, 40) => 0.0,
        (0, _) | (1, 40) => 1.0,
        _ => little,
    };
    let mut tables: Vec<f64> = (0..128).map(|at| entry(at / 64, at % 64)).collect();
    tables.extend([1e-3; 64]);
    let grid = ComponentialGrid::new(shape, tables).unwrap();
    let packed = vec![0.0; means_len::<f64, 1>(&shape)];
    let means = WindowMeans::pack(&grid, packed, &mut vec![0.0; shape.plane_scratch_len()]).unwrap();
    let (features, counts) = ([0, 1], [8u32, 2]);
    let bag = Bag::new(2, &features, &counts).unwrap();
    let mut start = [1e-3; 64];
    (start[3], start[40]) = (10.0, 0.013);
    let x = (digamma(0.013_f64) - digamma(10.0)).exp();
    assert!(x < 1e-33 && x > 100.0 * little, "{x}: out of sight, and yet the larger");
    let mut room = scratch(&shape);
    let posterior = means.posterior_from(&bag, 0, sweeps(1), Some(&start), &mut room).unwrap();
    let mut gamma = [0.0; 64];
    posterior.gamma(&mut gamma).unwrap();
    let expected = 1e-3 + 2.0 * x / (x + little);
    // The exponential of -80 is off by 80 roundings of its argument, the quotient by a hundredth of that.
    assert!((gamma[40] - expected).abs() < 1e-13, "{} {expected}", gamma[40]);
}

#[test]
fn threads_change_no_bit() {
    let (p, _) = sharp::<f32>(12, 1.0);
    let flat = p.flat();
    let bags = Dense::new(p.features, &flat).unwrap();
    let fit = |threads: usize, chunk: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let options = Options { pseudocount: 0.01, learn_alpha: true, ..Options::default() };
            let mut learner = learner::<f32, 2>(&p, 1.0, options);
            let (mut statistics, mut bits) = (statistics(p.shape(), chunk), Vec::new());
            for _ in 0..3 {
                statistics.clear();
                bits.push(learner.expectation(&bags, &mut statistics).unwrap().to_bits());
                learner.maximization(&mut statistics).unwrap();
            }
            bits.extend(learner.buffer().iter().map(|x| u64::from(x.to_bits())));
            bits
        })
    };
    let one = fit(1, 1);
    for (threads, chunk) in [(1, 64), (2, 7), (3, 64), (7, 500)] {
        assert!(fit(threads, chunk) == one, "{threads} threads, chunks of {chunk}");
    }
}

/// The whole of a fit, in both float types, at every width that the processor has.
#[test]
fn widths_change_no_bit() {
    fn fit<T: Real>() -> Vec<u64> {
        let (p, _) = sharp::<T>(12, 1.0);
        let flat = p.flat();
        let bags = Dense::new(p.features, &flat).unwrap();
        let options = Options { pseudocount: 0.01, learn_alpha: true, ..Options::default() };
        let mut learner = learner::<T, 2>(&p, 1.0, options);
        let (mut statistics, mut bits) = (statistics(p.shape(), 7), Vec::new());
        for _ in 0..3 {
            statistics.clear();
            bits.push(learner.expectation(&bags, &mut statistics).unwrap().to_bits());
            learner.maximization(&mut statistics).unwrap();
        }
        bits.extend(learner.buffer().iter().map(|&x| Real::to_f64(x).to_bits()));
        bits
    }
    let both = || [fit::<f32>(), fit::<f64>()];
    set_level(Level::Baseline);
    let narrow = both();
    for level in Level::ALL {
        set_level(level);
        assert!(both() == narrow, "{level}");
    }
}

/// The drivers of `countgrid-em` need nothing else.
#[test]
fn batch_and_stepwise_fits_lower_the_free_energy() {
    let (p, _) = sharp::<f64>(8, 1.0);
    let flat = p.flat();
    let bags = Dense::new(p.features, &flat).unwrap();
    let options = Options { pseudocount: 0.01, ..Options::default() };
    let free_energy = |learner: &Learner<f64, Vec<f64>, 2>| {
        learner.expectation(&bags, &mut statistics(p.shape(), 4)).unwrap() + learner.penalty()
    };
    let before = free_energy(&learner(&p, 1.0, options));
    let mut batch = learner::<f64, 2>(&p, 1.0, options);
    let plan = EmOptions { iterations: 10, ..EmOptions::default() }.check().unwrap();
    plan.fit(&mut batch, &bags, &mut statistics(p.shape(), 4), no_observer).unwrap();
    assert!(free_energy(&batch) < before);

    let mut stepwise = learner::<f64, 2>(&p, 1.0, options);
    let parts: Vec<_> =
        flat.chunks(10 * p.features).map(|part| Dense::new(p.features, part).unwrap()).collect();
    let batches = |_| parts.iter().map(|&part| (part, 1.0 / 4.0));
    let plan = StepwiseOptions { passes: 5, ..StepwiseOptions::default() }.check().unwrap();
    plan.fit(&mut stepwise, batches, &mut statistics(p.shape(), 4), no_observer).unwrap();
    assert!(free_energy(&stepwise) < before);
}

/// A learned `alpha` is at the maximum of its part of the bound.
#[test]
fn alpha_is_learned() {
    let (p, _) = sharp::<f64>(6, 30.0);
    let flat = p.flat();
    let bags = Dense::new(p.features, &flat).unwrap();
    let options = Options { learn_alpha: true, ..Options::default() };
    let mut learner = learner::<f64, 2>(&p, 30.0, options);
    let mut statistics = statistics(p.shape(), 4);
    learner.expectation(&bags, &mut statistics).unwrap();
    let (mut room, mut gamma, mut expected) = (scratch(&p.shape()), vec![0.0; p.cells()], 0.0);
    for t in 0..p.counts.len() {
        let inference = Inference::default();
        learner.means().posterior(&bags, t, inference, &mut room).unwrap().gamma(&mut gamma).unwrap();
        let total = digamma(gamma.iter().sum::<f64>());
        expected += gamma.iter().map(|&gamma| digamma(gamma) - total).sum::<f64>();
    }
    let (bags, log_theta) = (statistics.bags(), statistics.log_theta());
    assert!(near(log_theta, expected), "{log_theta} {expected}");
    let part = |alpha: f64| {
        let windows = p.cells() as f64;
        bags * (ln_gamma(windows * alpha) - windows * ln_gamma(alpha)) + (alpha - 1.0) * log_theta
    };
    learner.maximization(&mut statistics).unwrap();
    let alpha = learner.grid().alpha()[0];
    assert!(learner.grid().alpha().iter().all(|&x| x == alpha) && alpha != 30.0 / 36.0);
    assert!(part(alpha) >= part(1.01 * alpha) && part(alpha) >= part(alpha / 1.01));
}

/// A start from a counting grid.
#[test]
fn a_fitted_grid_is_mixed_in() {
    let (p, _) = sharp::<f64>(4, 1.0);
    let fitted = Grid::new(p.shape(), p.tables::<f64>()).unwrap();
    let mut start =
        ComponentialGrid::<f64, _, 2>::uniform_in(p.shape(), vec![0.0; p.shape().grid_len()], 5.0).unwrap();
    start.randomize(&mut ChaCha8Rng::seed_from_u64(3));
    let random = start.clone();
    start.mix(&fitted, 0.9).unwrap();
    for z in 0..p.features {
        for i in 0..p.cells() {
            let expected = 0.9 * fitted.plane(z)[i] + 0.1 * random.plane(z)[i];
            assert!((start.plane(z)[i] - expected).abs() <= 4e-16);
        }
    }
    assert_eq!(start.alpha(), random.alpha());
    assert_eq!(start.mix(&fitted, 1.5), Err(GridError::Share));
    assert_eq!(start.mix(&fitted, f64::NAN), Err(GridError::Share));
}

#[test]
fn what_cannot_be_is_refused() {
    let shape = Shape::from_sides([4], [2], 3).unwrap();
    // No window has feature 2.
    let tables = [0.5f64, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1];
    let packed = vec![0.0; means_len::<f64, 1>(&shape)];
    let mut plane_room = vec![0.0; shape.plane_scratch_len()];
    let learner = Learner::new(
        ComponentialGrid::new(shape, tables.to_vec()).unwrap(),
        packed,
        &mut plane_room,
        Options::default(),
    )
    .unwrap();
    let counts = [1.0, 1.0, 0.0, 0.0, 3.0, 2.0];
    let bags = Dense::new(3, &counts).unwrap();
    let impossible = GridError::Impossible { bag: 1, feature: 2 };
    let mut room = scratch(&shape);
    let inference = Inference::default();
    assert_eq!(learner.means().posterior(&bags, 1, inference, &mut room).unwrap_err(), impossible);
    assert_eq!(learner.expectation(&bags, &mut statistics(shape, 1)), Err(impossible));
    let text = impossible.to_string();
    assert!(text.contains("bag 1") && text.contains("feature 2"), "{text}");

    let means = learner.means();
    let refused = |inference| means.posterior(&bags, 0, inference, &mut scratch(&shape)).unwrap_err();
    assert_eq!(refused(Inference { sweeps: 0, tolerance: 0.0 }), GridError::NoSweeps);
    assert_eq!(refused(Inference { sweeps: 1, tolerance: f64::NAN }), GridError::Tolerance);
    assert_eq!(
        means.posterior(&bags, 2, inference, &mut room).unwrap_err(),
        GridError::NoSuchBag { bag: 2, bags: 2 }
    );
    let start = [1.0, f64::NAN, 1.0, 1.0];
    let from = means.posterior_from(&bags, 0, inference, Some(&start), &mut room);
    assert_eq!(from.unwrap_err(), GridError::Gamma { window: 1 });
    assert!(matches!(
        means.posterior(&bags, 0, inference, &mut room[1..]).unwrap_err(),
        GridError::Length { table: "scratch", .. }
    ));
    let huge = [f64::MAX, f64::MAX, 0.0];
    let huge = Dense::new(3, &huge).unwrap();
    assert_eq!(means.posterior(&huge, 0, inference, &mut room).unwrap_err(), GridError::Overflow { bag: 0 });

    let mut alpha = tables;
    alpha[14] = 0.0;
    let refused = ComponentialGrid::<f64, _, 1>::new(shape, alpha).unwrap_err();
    assert_eq!(refused, GridError::Alpha { window: 2 });

    // Packed tables are checked too.
    let packed = means.buffer().to_vec();
    let slots = 8;
    assert!(WindowMeans::<f64, _, 1>::new(shape, packed.clone()).is_ok());
    let spoilt = |slot: usize, value: f64| {
        let mut packed = packed.clone();
        packed[slot] = value;
        WindowMeans::<f64, _, 1>::new(shape, packed).unwrap_err()
    };
    assert_eq!(spoilt(1, -1.0), GridError::Alpha { window: 1 });
    assert_eq!(spoilt(slots + 1, f64::NAN), GridError::Probability { table: "h", feature: 0, cell: 1 });
    assert_eq!(spoilt(slots + 6, 0.5), GridError::Total { feature: 0 });
    assert_eq!(spoilt(4 * slots + 1, 0.1), GridError::Total { feature: 1 });
}

/// An empty bag is where the prior is, and adds nothing but itself.
#[test]
fn an_empty_bag() {
    let (p, learner) = sharp::<f64>(5, 2.0);
    let empty = vec![0.0; p.features];
    let bags = Dense::new(p.features, &empty).unwrap();
    let mut statistics = statistics(p.shape(), 1);
    assert_eq!(learner.expectation(&bags, &mut statistics), Ok(0.0));
    let (counts, totals) = statistics.buffer().split_at(statistics.buffer().len() - 3);
    assert!(counts.iter().all(|&x| x == 0.0) && totals[1..] == [1.0, 0.0]);
    let mut room = scratch(&p.shape());
    let posterior = learner.means().posterior(&bags, 0, sweeps(3), &mut room).unwrap();
    let mut gamma = vec![0.0; p.cells()];
    posterior.gamma(&mut gamma).unwrap();
    assert_eq!(gamma, learner.grid().alpha());
    assert_eq!(posterior.bound(), 0.0);
    posterior.for_each(|_, _: f64| panic!("nowhere"));
}
