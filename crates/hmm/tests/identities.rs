//! What holds of any model and sequence.

use crate::common;

use common::{Problem, close, distance, distribution, doubles, positive, problem};
use countgrid_counts::{Sequences, SequencesBuf};
use countgrid_em::testing::{Tolerance, check_terms_sum};
use countgrid_em::{Fit, FreeEnergy, Learn, Tables, TablesMutExt};
use countgrid_hmm::{Grouping, Hmm, Learner, Posterior, Shape, Statistics, Terms};
use countgrid_math::Real;
use proptest::prelude::*;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

fn gamma_xi<T: Real>(p: &Problem) -> (f64, Vec<f64>, Vec<f64>) {
    let (states, n) = (p.states(), p.x.len());
    let (mut gamma, mut xi) = (vec![T::zero(); n * states], vec![T::zero(); (n - 1) * states * states]);
    let hmm = p.hmm::<T>();
    let log_p = hmm.posterior_pairs(&p.sequence(), &mut gamma, &mut xi, &mut p.scratch()).unwrap();
    (log_p, doubles(&gamma), doubles(&xi))
}

fn terms(p: &Problem, posterior: Posterior, grouping: Grouping) -> Vec<f64> {
    let hmm = p.hmm::<f64>();
    let of = Terms::new(&hmm, posterior, grouping);
    let mut terms = vec![0.0; of.term_count(&p.sequence())];
    let sum = of.free_energy_terms(&p.sequence(), &mut terms, &mut p.scratch()).unwrap();
    assert!((sum - terms.iter().sum::<f64>()).abs() <= close::<f64>() * p.x.len() as f64);
    terms
}

fn mean_field(p: &Problem, sweeps: usize) -> f64 {
    terms(p, Posterior::MeanField { sweeps }, Grouping::Position).iter().sum()
}

/// Sequences of random lengths over four symbols.
fn sequences() -> impl Strategy<Value = SequencesBuf<u8>> {
    prop::collection::vec(prop::collection::vec(0u8..4, 1..40), 1..6).prop_map(|all| {
        let mut buf = SequencesBuf::new(4);
        all.into_iter().for_each(|x| buf.push(x).unwrap());
        buf
    })
}

fn drawn<T: Real>(shape: Shape, seed: u64) -> Hmm<T, Vec<T>> {
    let mut hmm = Hmm::uniform_in(shape, vec![T::zero(); shape.hmm_len()]).unwrap();
    hmm.randomize(&mut ChaCha8Rng::seed_from_u64(seed));
    hmm
}

fn statistics<T: Real>(shape: Shape, longest: usize) -> Statistics<T, Vec<T>> {
    let scratch = vec![T::nan(); shape.scratch_len::<T>(longest)];
    Statistics::new(shape, vec![T::nan(); shape.hmm_len()], scratch).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// `Σ_j xi_n(i, j) = gamma_n(i)`, `Σ_i xi_n(i, j) = gamma_{n+1}(j)`, rows of `gamma` sum to one.
    #[test]
    fn marginals(p in positive(20, 70)) {
        let (states, n) = (p.states(), p.x.len());
        let (_, gamma, xi) = gamma_xi::<f64>(&p);
        for row in gamma.chunks(states) {
            prop_assert!((row.iter().sum::<f64>() - 1.0).abs() <= 1e-14);
        }
        // A table of pairs has the roundings of both its sides: those of one step, since each is rescaled.
        for k in 0..n - 1 {
            let table = &xi[k * states * states..(k + 1) * states * states];
            for i in 0..states {
                let (row, column): (f64, f64) =
                    (table[i * states..(i + 1) * states].iter().sum(), table.iter().skip(i).step_by(states).sum());
                prop_assert!((row - gamma[k * states + i]).abs() <= 1e-13);
                prop_assert!((column - gamma[(k + 1) * states + i]).abs() <= 1e-13);
            }
        }
    }

    /// Relabelling states permutes posteriors; relabelling symbols changes nothing; neither touches `log p`.
    #[test]
    fn labels_do_not_matter(p in positive(5, 20), turn in 0usize..5, shift in 0u8..4) {
        let (states, symbols) = (p.states(), p.symbols() as u8);
        let state = |i: usize| (i + turn) % states;
        let symbol = |v: usize| (v as u8 + shift) % symbols;
        let mut other = p.clone();
        for i in 0..states {
            other.start[state(i)] = p.start[i];
            for j in 0..states {
                other.trans[state(i)][state(j)] = p.trans[i][j];
            }
            for v in 0..p.symbols() {
                other.emit[state(i)][usize::from(symbol(v))] = p.emit[i][v];
            }
        }
        other.x.iter_mut().for_each(|x| *x = symbol(usize::from(*x)));
        let ((log_p, gamma, _), (other_log_p, other_gamma, _)) = (gamma_xi::<f64>(&p), gamma_xi::<f64>(&other));
        prop_assert!((log_p - other_log_p).abs() <= 20.0 * close::<f64>());
        for (row, other) in gamma.chunks(states).zip(other_gamma.chunks(states)) {
            for i in 0..states {
                prop_assert!((row[i] - other[state(i)]).abs() <= close::<f64>());
            }
        }
    }

    /// Terms sum to `-log p`, by position and summed over positions, for one and two positions too; both also of impossible
    /// parts.
    #[test]
    fn terms_sum_to_the_free_energy(p in problem(6, 40)) {
        let log_p = p.log_likelihood();
        prop_assume!(log_p.is_finite());
        let n = p.x.len() as f64;
        let sum = |grouping| terms(&p, Posterior::Exact, grouping).iter().sum::<f64>();
        prop_assert!((sum(Grouping::Position) + log_p).abs() <= n * close::<f64>());
        prop_assert!((sum(Grouping::Summed) + log_p).abs() <= n * close::<f64>());
        let length = |posterior, grouping| terms(&p, posterior, grouping).len();
        let (s, n) = (p.states(), p.x.len());
        prop_assert_eq!(length(Posterior::Exact, Grouping::Position), 2 * s + 2 * (n - 1) * s * s + n * s);
        prop_assert_eq!(length(Posterior::Exact, Grouping::Summed), 3 * s + 2 * s * s);
    }

    /// Mean-field FESS sums to at least `-log p`, and never rises with sweeps; summed over positions it is the same.
    #[test]
    fn mean_field_is_a_bound(p in positive(5, 30)) {
        let (log_p, slack) = (p.log_likelihood(), p.x.len() as f64 * close::<f64>());
        let energies: Vec<f64> = (0..5).map(|sweeps| mean_field(&p, sweeps)).collect();
        for pair in energies.windows(2) {
            prop_assert!(pair[1] <= pair[0] + slack, "{energies:?}");
        }
        prop_assert!(energies[4] >= -log_p - slack, "{energies:?} {log_p}");
        let summed: f64 = terms(&p, Posterior::MeanField { sweeps: 4 }, Grouping::Summed).iter().sum();
        prop_assert!((summed - energies[4]).abs() <= slack);
    }

    /// Terms of the mean field are those of its `q`, by position and summed, also where a probability is zero: that counts as
    /// the floor.
    #[test]
    fn mean_field_terms_are_the_definition(p in problem(5, 12), sweeps in 0..4_usize) {
        if !p.log_likelihood().is_finite() {
            return Ok(());
        }
        let (states, n) = (p.states(), p.x.len());
        let mut q = vec![0.0; n * states];
        p.hmm::<f64>().mean_field(&p.sequence(), sweeps, &mut q, &mut p.scratch()).unwrap();
        let log = |p: f64| p.max(f64::FLOOR).ln();
        let entropies: Vec<f64> = q.iter().map(|&q| if q > 0.0 { q * q.ln() } else { 0.0 }).collect();
        let starts: Vec<f64> = (0..states).map(|i| -q[i] * log(p.start[i])).collect();
        let mut pairs = Vec::new();
        for (now, next) in q.chunks(states).zip(q.chunks(states).skip(1)) {
            for (q, row) in now.iter().zip(&p.trans) {
                pairs.extend(next.iter().zip(row).map(|(next, &p)| -q * next * log(p)));
            }
        }
        let emission = |at: usize| log(p.emit[at % states][usize::from(p.x[at / states])]);
        let emitted: Vec<f64> = q.iter().enumerate().map(|(at, q)| -q * emission(at)).collect();
        let expected = [&entropies[..], &starts, &pairs, &emitted].concat();
        let summed = |block: &[f64], size| -> Vec<f64> {
            (0..size).map(|at| block.iter().skip(at).step_by(size).sum()).collect()
        };
        let expected_sums = [
            summed(&entropies, states), starts, summed(&pairs, states * states), summed(&emitted, states),
        ].concat();
        let found = terms(&p, Posterior::MeanField { sweeps }, Grouping::Position);
        // A logarithm of the floor is 691 in size.
        prop_assert!(distance(&found, &expected) <= close::<f64>());
        let found = terms(&p, Posterior::MeanField { sweeps }, Grouping::Summed);
        prop_assert!(distance(&found, &expected_sums) <= n as f64 * close::<f64>());
    }

    /// A model itself is its exact terms by position, in the room it asks for.
    #[test]
    fn a_model_is_its_exact_terms(p in problem(4, 20)) {
        let log_p = p.log_likelihood();
        if !log_p.is_finite() {
            return Ok(());
        }
        let tolerance = Tolerance::absolute(p.x.len() as f64 * close::<f64>());
        prop_assert!(check_terms_sum(&p.hmm::<f64>(), &p.sequence(), tolerance).is_ok());
    }

    /// Draws are bounded away from zero: those of a distribution differ by less than a factor of two, and not all are alike.
    #[test]
    fn draws_are_bounded(states in 2usize..6, symbols in 2usize..6, seed in any::<u64>()) {
        let shape = Shape::new(states, symbols).unwrap();
        let uniform = Hmm::uniform_in(shape, vec![0.0; shape.hmm_len()]).unwrap();
        prop_assert!(Hmm::new(shape, uniform.buffer().to_vec()).is_ok());
        let hmm = drawn::<f64>(shape, seed);
        let (start, trans, emit) = hmm.tables();
        let mut distributions: Vec<Vec<f64>> = trans.chunks(states).map(<[f64]>::to_vec).collect();
        distributions.extend((0..states).map(|i| emit.iter().skip(i).step_by(states).copied().collect()));
        distributions.push(start.to_vec());
        for distribution in distributions {
            let (least, most) = distribution.iter().fold((1.0_f64, 0.0_f64), |(a, b), &p| (a.min(p), b.max(p)));
            prop_assert!(least < most && most < 2.0 * least * (1.0 + 1e-15), "{distribution:?}");
            prop_assert!((distribution.iter().sum::<f64>() - 1.0).abs() <= 1e-15 * distribution.len() as f64);
        }
    }

    /// One state: all entropies zero, mean field equals exact.
    #[test]
    fn one_state_has_no_entropy(p in positive(1, 30)) {
        let (log_p, n) = (p.log_likelihood(), p.x.len());
        let exact = terms(&p, Posterior::Exact, Grouping::Position);
        prop_assert!(exact[..n].iter().all(|&entropy| entropy == 0.0));
        let field = terms(&p, Posterior::MeanField { sweeps: 1 }, Grouping::Position);
        prop_assert!(field[..n].iter().all(|&entropy| entropy == 0.0));
        prop_assert!(distance(&exact[n..], &field[n..]) <= close::<f64>());
        prop_assert!((field.iter().sum::<f64>() + log_p).abs() <= n as f64 * close::<f64>());
    }

    /// Rows of `A` all equal: the posterior factorises, mean field equals exact.
    #[test]
    fn equal_rows_factorise(p in positive(5, 20)) {
        let p = Problem { trans: vec![p.trans[0].clone(); p.states()], ..p };
        let (states, n) = (p.states(), p.x.len());
        let (_, gamma, xi) = gamma_xi::<f64>(&p);
        for (at, x) in xi.iter().enumerate() {
            let (k, i, j) = (at / (states * states), at / states % states, at % states);
            prop_assert!((x - gamma[k * states + i] * gamma[(k + 1) * states + j]).abs() <= close::<f64>());
        }
        prop_assert!((mean_field(&p, 2) + p.log_likelihood()).abs() <= n as f64 * close::<f64>());
    }

    /// The objective never falls; statistics of a split data set add up; distributions stay distributions.
    #[test]
    fn fit_is_monotone_and_additive(data in sequences(), states in 1usize..10, seed in any::<u64>(), a in prop_oneof![Just(0.0), 0.01f64..2.0]) {
        let (view, shape) = (data.as_view(), Shape::new(states, 4).unwrap());
        let mut learner = Learner::new(drawn::<f64>(shape, seed), a).unwrap();
        let mut sums = statistics(shape, view.longest());
        let mut last = f64::INFINITY;
        // Rounding of the log-likelihood: each of N positions carries the roundings of one step.
        let slack = view.positions() as f64 * close::<f64>();
        for _ in 0..6 {
            sums.clear();
            let objective = learner.expectation(&view, &mut sums).unwrap() + learner.penalty();
            prop_assert!(objective <= last + slack, "{objective} after {last}");
            last = objective;
            let mut parts = statistics(shape, view.longest());
            let middle = view.len() / 2;
            for range in [0..middle, middle..view.len()] {
                learner.expectation(&view.slice(range).unwrap(), &mut parts).unwrap();
            }
            prop_assert!(distance(sums.buffer(), parts.buffer()) == 0.0); // the same additions in the same order
            learner.maximization(&mut sums).unwrap();
            prop_assert!(Hmm::new(shape, learner.buffer().to_vec()).is_ok());
        }
    }

    /// Structure survives a fit, with a pseudocount too.
    #[test]
    fn left_to_right_stays(data in sequences(), states in 1usize..6, seed in any::<u64>(), a in prop_oneof![Just(0.0), Just(0.5)]) {
        let (view, shape) = (data.as_view(), Shape::new(states, 4).unwrap());
        let mut hmm = Hmm::left_to_right_in(shape, vec![0.0; shape.hmm_len()]).unwrap();
        hmm.randomize(&mut ChaCha8Rng::seed_from_u64(seed));
        let mut learner = Learner::new(hmm, a).unwrap();
        let mut sums = statistics(shape, view.longest());
        for _ in 0..3 {
            sums.clear();
            learner.expectation(&view, &mut sums).unwrap();
            learner.maximization(&mut sums).unwrap();
        }
        let (start, trans, _) = learner.model().tables();
        prop_assert!(start[0] == 1.0 && start[1..].iter().all(|&p| p == 0.0));
        for i in 0..states {
            for j in 0..states {
                prop_assert!(j == i || j == i + 1 || trans[i * states + j] == 0.0);
            }
        }
    }

    /// Single precision, over more positions than a block, beside double.
    #[test]
    fn single_precision_follows(p in positive(12, 200)) {
        let ((log_p, gamma, _), (single, single_gamma, _)) = (gamma_xi::<f64>(&p), gamma_xi::<f32>(&p));
        // Parameters are rounded, u each, and a step has some 40 roundings; an HMM without small entries forgets
        // them within the few positions that `close` allows for.
        prop_assert!((log_p - single).abs() <= p.x.len() as f64 * 64.0 * 6e-8);
        prop_assert!(distance(&gamma, &single_gamma) <= close::<f32>());
    }
}

#[test]
fn a_state_never_visited_keeps_its_rows() {
    let shape = Shape::new(2, 2).unwrap();
    // State 1 cannot be reached.
    let tables = [1.0, 0.0, 1.0, 0.0, 0.25, 0.75, 0.5, 0.125, 0.5, 0.875];
    let mut learner = Learner::new(Hmm::new(shape, tables.to_vec()).unwrap(), 0.0).unwrap();
    let mut sums = statistics(shape, 3);
    learner.expectation(&Sequences::new(2, &[0, 3], &[0u8, 0, 1]).unwrap(), &mut sums).unwrap();
    learner.maximization(&mut sums).unwrap();
    let third = 1.0 / 3.0;
    let expected = [1.0, 0.0, 1.0, 0.0, 0.25, 0.75, 2.0 * third, 0.125, third, 0.875];
    assert!(distance(learner.buffer(), &expected) <= 1e-15);
}

/// It starts in the first state, from which it stays or goes on, each alike, to the last, which it does not leave.
#[test]
fn left_to_right_is_as_said() {
    let shape = Shape::new(3, 2).unwrap();
    let hmm = Hmm::left_to_right_in(shape, vec![0.0; shape.hmm_len()]).unwrap();
    let trans = [0.5, 0.5, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 1.0];
    assert_eq!(hmm.tables(), (&[1.0, 0.0, 0.0][..], &trans[..], &[0.5; 6][..]));
}

#[test]
fn the_penalty_is_of_entries_that_are_not_zero() {
    let tables = [1.0, 0.0, 1.0, 0.0, 0.25, 0.75, 0.5, 0.125, 0.5, 0.875];
    let learner = Learner::new(Hmm::new(Shape::new(2, 2).unwrap(), tables).unwrap(), 3.0).unwrap();
    let expected = -3.0 * (0.25_f64 * 0.75 * 0.5 * 0.125 * 0.5 * 0.875).ln();
    assert!((learner.penalty() - expected).abs() <= 1e-14 * expected);
}

#[test]
fn distances_are_the_largest_difference() {
    assert_eq!(distance(&[1.0, 2.0, 0.5], &[1.0, 2.5, 0.25]), 0.5);
    assert_eq!(distance(&[f64::INFINITY, 1.0], &[f64::INFINITY, 1.0]), 0.0);
    assert!(distance(&[1.0, f64::NAN], &[2.0, 1.0]).is_nan());
    assert_eq!(close::<f32>(), 4096.0 / 2.0_f64.powi(24));
}

#[test]
fn distribution_is_one() {
    assert_eq!(distribution(vec![0.0, 0.0]), [1.0, 0.0]);
}
