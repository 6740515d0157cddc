//! The library against the model written down naively, and what every step leaves behind.

#![allow(clippy::needless_range_loop, reason = "indices are those of the mathematics")]

use crate::common::*;
use countgrid_counts::{Bag, Dense};
use countgrid_em::{Anneal, Fit, FreeEnergy};
use countgrid_grid::{Options, PosteriorThreshold, UpdateRule};
use proptest::prelude::*;

type Outcome = Result<(), TestCaseError>;

in_every_dimension! {
    histograms_are_means_over_windows,
    posterior_and_evidence,
    one_iteration,
    one_iteration_in_single_precision,
    factored_pass,
    everything_sums_to_one,
    the_cut_loses_less_than_a_rounding,
    expected_tokens_are_conserved,
    annealed_posterior,
    free_energy_falls_apart,
}

fn histograms_are_means_over_windows<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let (learner, h) = (p.learner::<f64>(Options::default()), p.naive_h());
    let mut plane = vec![0.0; p.cells()];
    let mut scratch = vec![0.0; p.shape().plane_scratch_len()];
    for z in 0..p.features {
        learner.grid().histogram(z, &mut plane, &mut scratch).unwrap();
        for (k, &found) in plane.iter().enumerate() {
            prop_assert!((found - h[k][z]).abs() <= CLOSE * h[k][z]);
        }
    }
    Ok(())
}

/// `log Σ_k exp s_tk = B_t(q_t)`, and any other posterior gives a smaller `B_t`.
fn posterior_and_evidence<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let (q, evidence) = p.place(&p.learner::<f64>(Options::default()));
    for ((q, &evidence), s) in q.iter().zip(&evidence).zip(p.naive_scores()) {
        let bound = |q: &[f64]| -> f64 {
            q.iter().zip(&s).map(|(q, s)| if *q > 0.0 { q * (s - q.ln()) } else { 0.0 }).sum()
        };
        prop_assert!((evidence - log_sum_exp(&s)).abs() <= CLOSE * evidence.abs().max(1.0));
        prop_assert!((bound(q) - evidence).abs() <= CLOSE * evidence.abs().max(1.0));
        prop_assert!(row_distance(q, &softmax(&s)) <= CLOSE);
        // Another posterior: some mass moved to one place.
        let mut other = q.iter().map(|q| 0.9 * q).collect::<Vec<_>>();
        other[seed as usize % q.len()] += 0.1;
        prop_assert!(bound(&other) <= bound(q) + CLOSE * bound(q).abs().max(1.0));
    }
    Ok(())
}

fn one_iteration<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let pseudocount = (seed % 3) as f64 * 0.25;
    let options = Options {
        learn_prior: true,
        pseudocount,
        posterior_threshold: PosteriorThreshold::Off,
        ..Options::default()
    };
    let (learner, _) = p.fit::<f64>(options, 1);
    let (pi, prior) = p.naive_iteration(pseudocount);
    prop_assert!(distance(&rows(&learner), &pi) <= CLOSE);
    prop_assert!(row_distance(&crate::common::prior(&learner), &prior) <= CLOSE);
    Ok(())
}

/// In f32 a score of `s` nats is off by at most `8 · 2^-24 |s|`, and posteriors by twice that; cells whose
/// mass leaves the float range keep their distribution.
fn one_iteration_in_single_precision<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let (learner, _) = p.fit::<f32>(
        Options { learn_prior: true, posterior_threshold: PosteriorThreshold::Off, ..Options::default() },
        1,
    );
    let (mut pi, prior) = p.naive_iteration(0.0);
    let q: Vec<Vec<f64>> = p.naive_scores().iter().map(|s| softmax(s)).collect();
    for i in 0..p.cells() {
        let visits = p.windows().starts_over(i).map(|k| q.iter().map(|q| q[k]).fold(0.0, f64::max));
        if visits.fold(0.0, f64::max) < 1e-30 {
            pi[i] = rows(&learner)[i].clone();
        }
    }
    let largest = p.naive_scores().concat().iter().fold(1.0f64, |most, s| most.max(s.abs()));
    // n is a ratio of sums weighted with q: its relative error is at most four times that of q.
    let allowed = 4.0 * 2.0 * 8.0 * largest * 2.0f64.powi(-24);
    prop_assert!(distance(&rows(&learner), &pi) <= allowed);
    prop_assert!(row_distance(&crate::common::prior(&learner), &prior) <= allowed);
    Ok(())
}

/// `n = (pi / V) S'(F) S'(1 / h) / V`.
fn factored_pass<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let (learner, _) = p.fit::<f64>(
        Options {
            update_rule: UpdateRule::Factored,
            posterior_threshold: PosteriorThreshold::Off,
            ..Options::default()
        },
        1,
    );
    let (windows, h) = (p.windows(), p.naive_h());
    let q: Vec<Vec<f64>> = p.naive_scores().iter().map(|s| softmax(s)).collect();
    let pi: Vec<Vec<f64>> = (0..p.cells())
        .map(|i| {
            let n = |z: usize| {
                let f = |k: usize| p.counts.iter().zip(&q).map(|(c, q)| q[k] * c[z]).sum::<f64>();
                let (spread, inverse) =
                    windows.starts_over(i).fold((0.0, 0.0), |(a, b), k| (a + f(k), b + 1.0 / h[k][z]));
                p.pi[i][z] * spread * inverse
            };
            let n: Vec<f64> = (0..p.features).map(n).collect();
            if n.iter().sum::<f64>() > 0.0 { normalised(n) } else { p.pi[i].clone() }
        })
        .collect();
    prop_assert!(distance(&rows(&learner), &pi) <= CLOSE);
    Ok(())
}

fn everything_sums_to_one<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let options = Options {
        learn_prior: seed & 1 == 0,
        pseudocount: (seed % 3) as f64 * 0.1,
        inner_passes: 1 + seed as usize % 3,
        ..Options::default()
    };
    let mut scratch = vec![0.0; p.shape().plane_scratch_len()];
    let mut h = vec![0.0; p.cells()];
    for iterations in 0..4 {
        let (learner, _) = p.fit::<f64>(options, iterations);
        let mut sums = vec![0.0; p.cells()];
        for z in 0..p.features {
            learner.grid().histogram(z, &mut h, &mut scratch).unwrap();
            sums.iter_mut().zip(&h).for_each(|(sum, h)| *sum += h);
        }
        // Each is a sum of at most 40 terms, themselves off by a few roundings.
        let is_one = |sum: f64| (sum - 1.0).abs() <= 100.0 * f64::EPSILON;
        prop_assert!(sums.into_iter().all(is_one), "h");
        prop_assert!(rows(&learner).iter().all(|row| is_one(row.iter().sum())), "pi");
        prop_assert!(is_one(prior(&learner).iter().sum()), "prior");
        prop_assert!(p.place(&learner).0.iter().all(|q| is_one(q.iter().sum())), "q");
    }
    Ok(())
}

/// Bounds with and without the threshold differ by one rounding a bag, and by those of two sums.
fn the_cut_loses_less_than_a_rounding<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let exact =
        p.learner::<f32>(Options { posterior_threshold: PosteriorThreshold::Off, ..Options::default() });
    let cut = p.learner::<f32>(Options::default());
    let all = p.e_step(&exact, &mut p.statistics(2)).unwrap();
    let most = p.e_step(&cut, &mut p.statistics(2)).unwrap();
    let room = p.counts.len() as f64 * f64::from(f32::EPSILON) * (1.0 + all.abs());
    prop_assert!((all - most).abs() <= room, "{all} {most}");
    Ok(())
}

/// `Σ_i n_iz = Σ_t c_tz`, and `Σ_z n_iz = 1/V Σ_{k: i in W_k} Σ_t q_tk Σ_z c_tz pi_iz / h_kz`.
fn expected_tokens_are_conserved<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let (learner, mut statistics) = (p.learner::<f64>(Options::default()), p.statistics(2));
    p.e_step(&learner, &mut statistics).unwrap();
    let (mut plane, mut columns) = (vec![0.0; p.cells()], vec![0.0; p.cells()]);
    let room = CLOSE * p.tokens().max(1.0);
    for z in 0..p.features {
        learner.expected_tokens(&mut statistics, z, &mut plane).unwrap();
        let drawn: f64 = p.counts.iter().map(|c| c[z]).sum();
        prop_assert!((plane.iter().sum::<f64>() - drawn).abs() <= room);
        columns.iter_mut().zip(&plane).for_each(|(sum, n)| *sum += n);
    }
    let (windows, h) = (p.windows(), p.naive_h());
    let q: Vec<Vec<f64>> = p.naive_scores().iter().map(|s| softmax(s)).collect();
    for (i, column) in columns.iter().enumerate() {
        let mut expected = 0.0;
        for k in windows.starts_over(i) {
            for (q, c) in q.iter().zip(&p.counts) {
                expected += q[k] * (0..p.features).map(|z| c[z] * p.pi[i][z] / h[k][z]).sum::<f64>();
            }
        }
        prop_assert!((column - expected / windows.volume() as f64).abs() <= room);
    }
    prop_assert_eq!(statistics.tokens(), p.tokens());
    prop_assert_eq!(statistics.bags(), p.counts.len() as f64);
    Ok(())
}

/// With `q ∝ exp(β s)` the E-step returns `-B(q)`, and statistics and entropy are those of `q`.
fn annealed_posterior<const D: usize>(p: Problem<D>, seed: u64) -> Outcome {
    let beta = [0.1, 0.5, 0.9, 1.0][seed as usize % 4];
    let (mut learner, mut statistics) = (p.learner::<f64>(Options::default()), p.statistics(3));
    learner.set_inverse_temperature(beta);
    let found = p.e_step(&learner, &mut statistics).unwrap();
    let mut expected = 0.0;
    for s in p.naive_scores() {
        let q = softmax(&s.iter().map(|s| beta * s).collect::<Vec<_>>());
        expected += q.iter().zip(&s).map(|(q, s)| if *q > 0.0 { q * (s - q.ln()) } else { 0.0 }).sum::<f64>();
    }
    prop_assert!((found - expected).abs() <= CLOSE * expected.abs().max(1.0));
    // The same from the statistics.
    prop_assert!((learner.bound(&statistics).unwrap() - expected).abs() <= CLOSE * expected.abs().max(1.0));
    Ok(())
}

fn free_energy_falls_apart<const D: usize>(p: Problem<D>, _: u64) -> Outcome {
    let learner = p.learner::<f64>(Options::default());
    let (features, (q, evidence)) = ((0..p.features as u32).collect::<Vec<_>>(), p.place(&learner));
    let mut terms = vec![0.0; 3 * p.cells()];
    for ((counts, q), evidence) in p.counts.iter().zip(q).zip(evidence) {
        let listed: (Vec<u32>, Vec<f64>) =
            features.iter().copied().zip(counts.iter().copied()).filter(|(_, c)| *c > 0.0).unzip();
        let bag = Bag::new(p.features, &listed.0, &listed.1).unwrap();
        let mut scratch = vec![0.0; learner.histograms().scratch_len(&bag)];
        let sum = learner.histograms().free_energy_terms(&bag, &mut terms, &mut scratch).unwrap();
        prop_assert_eq!(sum, -evidence);
        let room = CLOSE * evidence.abs().max(1.0);
        prop_assert!((terms.iter().sum::<f64>() + evidence).abs() <= room);
        let (ent, rest) = terms.split_at(p.cells());
        let (cross, words) = rest.split_at(p.cells());
        let h = p.naive_h();
        for k in 0..p.cells() {
            let log_h: f64 =
                counts.iter().zip(&h[k]).map(|(c, h)| if *c > 0.0 { c * h.ln() } else { 0.0 }).sum();
            let entropy = if q[k] > 0.0 { q[k] * q[k].ln() } else { 0.0 };
            prop_assert!((ent[k] - entropy).abs() <= room);
            prop_assert!((cross[k] + q[k] * p.prior[k].ln()).abs() <= room);
            prop_assert!((words[k] + q[k] * log_h).abs() <= room);
        }
    }
    Ok(())
}

#[test]
fn single_bag_and_data_set_agree() {
    let p = Problem::<1> {
        extents: [3],
        sides: [2],
        features: 2,
        counts: vec![vec![1.0, 2.0], vec![0.0, 4.0]],
        pi: vec![vec![0.2, 0.8], vec![0.5, 0.5], vec![0.9, 0.1]],
        prior: vec![0.25, 0.25, 0.5],
    };
    let (learner, mut statistics) = (p.learner::<f64>(Options::default()), p.statistics(1));
    let whole = p.e_step(&learner, &mut statistics).unwrap();
    statistics.clear();
    let mut parts = 0.0;
    for row in &p.counts {
        parts += learner.expectation(&Dense::new(2, row).unwrap(), &mut statistics).unwrap();
    }
    assert_eq!(whole, -parts);
}
