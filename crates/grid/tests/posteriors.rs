//! What posteriors say of a bag, and how those of many bags are visited.

use crate::common::{CLOSE, Problem, problem};
use countgrid_counts::{Bag, CsrBuf, Dense};
use countgrid_em::{Anneal, ExpectedCounts, FreeEnergy};
use countgrid_grid::{GridError, Grouping, Options, Posterior, Sources, Terms};
use proptest::prelude::*;

proptest! {
    #[test]
    fn entropy_and_tables_are_those_of_the_probabilities(problem in problem::<2>(5)) {
        let learner = problem.learner::<f64>(Options::default());
        let (flat, (q, evidence)) = (problem.flat(), problem.place(&learner));
        let bags = Dense::new(problem.features, &flat).unwrap();
        let mut scratch = vec![0.0; problem.shape().posterior_scratch_len::<f64>(2)];
        let mut seen = Vec::new();
        let visit = |bag, posterior: &Posterior<'_, f64, 2>| {
            let own: &Vec<f64> = &q[bag];
            let entropy: f64 = own.iter().map(|&q| if q > 0.0 { -q * q.ln() } else { 0.0 }).sum();
            seen.push((bag, posterior.entropy(), entropy, posterior.log_evidence()));
        };
        learner.histograms().posteriors(&bags, &mut scratch, visit).unwrap();
        prop_assert!(seen.iter().map(|seen| seen.0).eq(0..problem.counts.len()), "each once, in order");
        for (bag, found, expected, log_evidence) in seen {
            prop_assert!((found - expected).abs() <= CLOSE * 10.0, "{} {}", found, expected);
            prop_assert_eq!(log_evidence, evidence[bag]);
        }
    }
}

fn line(cells: usize, counts: Vec<Vec<f64>>) -> Problem<1> {
    let row = |cell: usize| {
        let p = 0.1 + 0.8 * cell as f64 / cells as f64;
        vec![p, 1.0 - p]
    };
    Problem {
        extents: [cells],
        sides: [1],
        features: 2,
        counts,
        pi: (0..cells).map(row).collect(),
        prior: vec![1.0 / cells as f64; cells],
    }
}

/// In scratch for one bag, for some and for all, every bag is visited once, and what is found for it is its own.
#[test]
fn each_bag_has_its_place_whatever_the_chunks_are() {
    for cells in [3, 40, 200] {
        let counts: Vec<_> = (0..23u8).map(|bag| vec![f64::from(bag % 5), f64::from(bag % 7)]).collect();
        let problem = line(cells, counts);
        let learner = problem.learner::<f32>(Options::default());
        let flat = problem.flat();
        let bags = Dense::new(2, &flat).unwrap();
        let (_, evidence) = problem.place(&learner);
        for chunk in [1, 2, 5, 100] {
            let mut scratch = vec![0.0; problem.shape().posterior_scratch_len::<f32>(chunk)];
            let mut seen = Vec::new();
            let visit = |bag, posterior: &Posterior<'_, f32, 1>| {
                seen.push((bag, f64::from(posterior.log_evidence())));
            };
            learner.histograms().posteriors(&bags, &mut scratch, visit).unwrap();
            assert!(seen.into_iter().eq(evidence.iter().copied().enumerate()), "{cells} cells, {chunk}");
            let mut found = vec![(usize::MAX, 0.0); 23];
            let work = |bag, posterior: &Posterior<'_, f32, 1>, found: &mut (usize, f64)| {
                *found = (bag, f64::from(posterior.log_evidence()));
            };
            learner.histograms().posteriors_into(&bags, &mut scratch, &mut found, work).unwrap();
            assert!(found.into_iter().eq(evidence.iter().copied().enumerate()), "{cells} cells, {chunk}");
        }
        let mut scratch = vec![0.0; problem.shape().posterior_scratch_len::<f32>(1)];
        let mut few = vec![0; 22];
        let error = learner.histograms().posteriors_into(&bags, &mut scratch, &mut few, |_, _, _| {});
        assert_eq!(error, Err(GridError::Length { table: "found", expected: 23, found: 22 }));
    }
}

/// What a slice holds before does not matter, also where it looks like something better.
#[test]
fn the_best_windows_replace_whatever_was_there() {
    let problem = line(6, vec![vec![2.0, 3.0]]);
    let learner = problem.learner::<f64>(Options::default());
    let (q, _) = problem.place(&learner);
    let bags = Dense::new(2, &[2.0, 3.0]).unwrap();
    let mut scratch = vec![0.0; problem.shape().posterior_scratch_len::<f64>(1)];
    let mut order: Vec<_> = q[0].iter().copied().enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1)); // stable
    let visit = |_, posterior: &Posterior<'_, f64, 1>| {
        for held in [-1.0, 0.0, 0.5, 9.0, f64::NAN] {
            for room in [1, 3, 6, 8] {
                let mut best = vec![(77, held); room];
                let found = posterior.best(&mut best);
                assert_eq!((found, &best[..found]), (room.min(6), &order[..room.min(6)]), "{held}");
            }
        }
        assert_eq!(posterior.mode(), order[0].0);
    };
    learner.histograms().posteriors(&bags, &mut scratch, visit).unwrap();
}

/// Anything but a number between 0 and 1 means 1.
#[test]
fn temperatures_that_mean_nothing_are_one() {
    let problem = line(20, vec![vec![2.0, 3.0], vec![7.0, 0.0]]);
    let mut learner = problem.learner::<f64>(Options::default());
    let bound = |learner: &_| problem.e_step(learner, &mut problem.statistics(1)).unwrap();
    let at_one = bound(&learner);
    learner.set_inverse_temperature(0.5);
    let at_half = bound(&learner);
    assert!(at_half < at_one, "an annealed posterior is none");
    for beta in [0.0, -0.5, 1.0, 1.5, f64::NAN, f64::INFINITY] {
        learner.set_inverse_temperature(0.5);
        learner.set_inverse_temperature(beta);
        assert_eq!(bound(&learner), at_one, "{beta}");
    }
}

/// Features that some windows, or all, do not know, and windows without a prior: the terms still sum to the free energy, and
/// expected counts stay where a probability is not zero.
#[test]
fn impossible_features_have_their_cost_in_every_grouping() {
    let problem = Problem {
        extents: [4],
        sides: [2],
        features: 4,
        counts: vec![vec![2.0, 3.0, 0.0, 0.0], vec![1.0, 0.0, 5.0, 0.0], vec![0.0, 4.0, 2.0, 1.0]],
        // Nobody knows the third feature; the last is in one cell.
        pi: vec![
            vec![0.5, 0.5, 0.0, 0.0],
            vec![1.0, 0.0, 0.0, 0.0],
            vec![0.25, 0.25, 0.0, 0.5],
            vec![0.0, 1.0, 0.0, 0.0],
        ],
        prior: vec![0.5, 0.25, 0.0, 0.25],
    };
    let learner = problem.learner::<f64>(Options::default());
    let sources = Sources::new(learner.grid(), learner.histograms()).unwrap();
    let bags = CsrBuf::from_dense(4, &problem.flat()).unwrap();
    let (_, evidence) = problem.place(&learner);
    for (t, evidence) in evidence.iter().enumerate() {
        let bag = bags.as_view().bag(t).unwrap();
        let sum = |count: usize, length: usize, work: &dyn Fn(&mut [f64], &mut [f64]) -> f64| {
            let (mut terms, mut scratch) = (vec![f64::NAN; count], vec![f64::NAN; length]);
            (work(&mut terms, &mut scratch), terms.iter().sum::<f64>())
        };
        // Costs of the floor are 690 nats a token; sums of some twenty terms, each rounded some ten times.
        let close = |a: f64, b: f64| (a - b).abs() <= 1e3 * f64::EPSILON * (1.0 + evidence.abs());
        for grouping in [Grouping::Location, Grouping::Feature, Grouping::Each] {
            let model = Terms::new(learner.histograms(), grouping);
            let (free_energy, sum) =
                sum(model.term_count(&bag), model.scratch_len(&bag), &|terms, scratch| {
                    model.free_energy_terms(&bag, terms, scratch).unwrap()
                });
            assert!(close(free_energy, -evidence) && close(sum, -evidence), "{grouping:?} {sum} {evidence}");
        }
        let (free_energy, sum) =
            sum(sources.term_count(&bag), sources.scratch_len(&bag), &|terms, scratch| {
                sources.free_energy_terms(&bag, terms, scratch).unwrap()
            });
        assert!(close(free_energy, -evidence) && close(sum, -evidence), "{t}: {sum} {evidence}");
    }

    // A bag that only the window without a prior explains has its place there, but no expected count of that prior.
    let problem = Problem {
        extents: [2],
        sides: [1],
        features: 2,
        counts: vec![],
        pi: vec![vec![1.0, 0.0], vec![0.0, 1.0]],
        prior: vec![1.0, 0.0],
    };
    let learner = problem.learner::<f64>(Options::default());
    let sources = Sources::new(learner.grid(), learner.histograms()).unwrap();
    let bag = Bag::new(2, &[1], &[5u32]).unwrap();
    let (mut counts, mut scratch) = ([f64::NAN; 6], vec![0.0; sources.counts_scratch_len(&bag)]);
    sources.expected_counts(&bag, &mut counts, &mut scratch).unwrap();
    assert_eq!(counts, [0.0, 0.0, 0.0, 5.0, 0.0, 0.0]);
}
