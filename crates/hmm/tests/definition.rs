//! The library against sums over all paths.

use crate::common;

use common::{Problem, close, distance, doubles, positive, problem};
use countgrid_em::testing::{Tolerance, check_expected_counts_gradient};
use countgrid_em::{ExpectedCounts, FreeEnergy};
use countgrid_hmm::{Grouping, HmmError, Posterior, Terms};
use countgrid_math::Real;
use countgrid_scores::nfess;
use proptest::prelude::*;

fn against_enumeration<T: Real>(p: &Problem) -> Result<(), TestCaseError> {
    let (hmm, x, expected) = (p.hmm::<T>(), p.sequence(), p.enumerate());
    let (states, n) = (p.states(), p.x.len());
    let mut scratch = p.scratch::<T>();
    let mut gamma = vec![T::zero(); n * states];
    let mut xi = vec![T::zero(); (n - 1) * states * states];
    let mut path = vec![0; n];
    let log_p = hmm.log_likelihood(&x, &mut scratch).unwrap();
    if expected.p == 0.0 {
        prop_assert_eq!(log_p, f64::NEG_INFINITY);
        let refused = hmm.posterior(&x, &mut gamma, &mut scratch).unwrap_err();
        let HmmError::Impossible { sequence: 0, position } = refused else { panic!("{refused}") };
        prop_assert!(position < n);
        // The first prefix that no path explains.
        let prefix = |n| Problem { x: p.x[..n].to_vec(), ..p.clone() }.enumerate().p;
        prop_assert!(prefix(position + 1) == 0.0 && (position == 0 || prefix(position) > 0.0));
        prop_assert_eq!(hmm.viterbi(&x, &mut path, &mut scratch).unwrap_err(), refused);
        let mut q = gamma.clone();
        prop_assert_eq!(hmm.mean_field(&x, 1, &mut q, &mut scratch).unwrap_err(), refused);
        return Ok(());
    }
    let close = close::<T>();
    prop_assert!((log_p - expected.p.ln()).abs() <= close, "{log_p} {}", expected.p.ln());
    prop_assert_eq!(hmm.posterior(&x, &mut gamma, &mut scratch).unwrap(), log_p);
    prop_assert!(distance(&doubles(&gamma), &expected.gamma) <= close);
    gamma.fill(T::nan());
    prop_assert_eq!(hmm.posterior_pairs(&x, &mut gamma, &mut xi, &mut scratch).unwrap(), log_p);
    prop_assert!(distance(&doubles(&gamma), &expected.gamma) <= close);
    prop_assert!(distance(&doubles(&xi), &expected.xi) <= close);

    let joint = hmm.viterbi(&x, &mut path, &mut scratch).unwrap();
    prop_assert!((joint - expected.best.ln()).abs() <= close);
    let mut along = p.start[path[0]].ln();
    for (k, &s) in path.iter().enumerate() {
        along += p.emit[s][usize::from(p.x[k])].ln();
        along += if k > 0 { p.trans[path[k - 1]][s].ln() } else { 0.0 };
    }
    prop_assert!((along - joint).abs() <= close, "{along} along {path:?}, {joint}");

    let mut terms = vec![T::nan(); hmm.term_count(&x)];
    let free_energy = hmm.free_energy_terms(&x, &mut terms, &mut scratch).unwrap();
    prop_assert!((free_energy.to_f64() + log_p).abs() <= close);
    prop_assert!(distance(&doubles(&terms), &expected.terms) <= close);
    // Length-normalised, by the definition: blocks summed over positions, over N.
    let blocks = Terms::new(&hmm, Posterior::Exact, Grouping::Summed);
    let mut features = vec![T::nan(); blocks.term_count(&x)];
    let per_symbol = nfess(&blocks, &x, &mut features, &mut scratch).unwrap();
    prop_assert!((per_symbol.to_f64() + log_p / n as f64).abs() <= close);
    let mut rest = &expected.terms[..];
    let mut summed = Vec::new();
    for (rows, size) in
        [(1, states), (n - 1, states * states), (1, states), (n - 1, states * states), (n, states)]
    {
        let (block, after) = rest.split_at(rows * size);
        summed.extend((0..size).map(|at| block.iter().skip(at).step_by(size).sum::<f64>() / n as f64));
        rest = after;
    }
    prop_assert!(distance(&doubles(&features), &summed) <= close);

    let mut counts = vec![T::nan(); p.shape().hmm_len()];
    let bound = hmm.expected_counts(&x, &mut counts, &mut scratch).unwrap();
    prop_assert!((bound.to_f64() - log_p).abs() <= close);
    let mut expected_counts = vec![0.0; counts.len()];
    expected_counts[..states].copy_from_slice(&expected.gamma[..states]);
    for (at, x) in expected.xi.iter().enumerate() {
        expected_counts[states + at % (states * states)] += x;
    }
    for (at, g) in expected.gamma.iter().enumerate() {
        expected_counts[states + states * states + usize::from(p.x[at / states]) * states + at % states] += g;
    }
    prop_assert!(distance(&doubles(&counts), &expected_counts) <= n as f64 * close);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn few_states(p in problem(4, 6)) {
        against_enumeration::<f64>(&p)?;
        against_enumeration::<f32>(&p)?;
    }

    // More states than a row of eight, so that padding and tiles of four rows are met.
    #[test]
    fn nine_states(p in problem(9, 4)) {
        against_enumeration::<f64>(&p)?;
        against_enumeration::<f32>(&p)?;
    }

    // More positions than enumeration usually bears.
    #[test]
    fn two_states(p in problem(2, 12)) {
        against_enumeration::<f64>(&p)?;
        against_enumeration::<f32>(&p)?;
    }

    #[test]
    fn expected_counts_are_derivatives_of_the_likelihood(p in positive(3, 6)) {
        let (states, symbols) = (p.states(), p.symbols());
        let log_p = |tables: &[f64]| {
            let (start, rest) = tables.split_at(states);
            let (trans, emit) = rest.split_at(states * states);
            let trans = trans.chunks(states).map(<[f64]>::to_vec).collect();
            let emit = (0..states).map(|s| emit.iter().skip(s).step_by(states).copied().collect()).collect();
            let moved = Problem { start: start.to_vec(), trans, emit, ..p.clone() };
            assert_eq!(moved.symbols(), symbols);
            moved.enumerate().p.ln()
        };
        // A relative step leaves an error of the third order, N³ h², and of rounding, some hundred ε over the step.
        let (step, n) = (1e-4, p.x.len() as f64);
        let tolerance = Tolerance::absolute(n.powi(3) * step * step + n * 1e3 * f64::EPSILON / step);
        prop_assert_eq!(check_expected_counts_gradient(&p.hmm::<f64>(), log_p, &p.sequence(), step, tolerance), Ok(()));
    }
}
