//! Terms of the free energy: they sum to what the posterior says, and each is what the definition says.

use crate::common::{Problem, log_sum_exp, problem};
use countgrid_counts::{Bag, CsrBuf};
use countgrid_em::testing::{Tolerance, check_expected_counts_gradient};
use countgrid_em::{ExpectedCounts, FreeEnergy, Tables};
use countgrid_grid::{Grid, GridError, Grouping, LogHistograms, Options, Sources, Terms};
use proptest::prelude::*;

/// All groupings; none is that by source.
const ALL: [Option<Grouping>; 4] =
    [Some(Grouping::Location), Some(Grouping::Feature), None, Some(Grouping::Each)];

type BagTerms = (Vec<Vec<f64>>, Vec<f64>); // terms `[bag]`, free energy `[bag]`

fn terms<const D: usize>(problem: &Problem<D>, grouping: Option<Grouping>) -> BagTerms {
    let learner = problem.learner::<f64>(Options::default());
    let sources = Sources::new(learner.grid(), learner.histograms()).unwrap();
    let groups = grouping.map(|grouping| Terms::new(learner.histograms(), grouping));
    let bags = CsrBuf::from_dense(problem.features, &problem.flat()).unwrap();
    let empty = Bag::<f64>::empty(problem.features);
    let (count, length) = match &groups {
        Some(groups) => (groups.term_count(&empty), groups.scratch_len(&empty)),
        None => (sources.term_count(&empty), sources.scratch_len(&empty)),
    };
    let mut scratch = vec![f64::NAN; length];
    let one = |t| {
        let mut terms = vec![f64::NAN; count];
        let bag = bags.as_view().bag(t).unwrap();
        let free_energy = match &groups {
            Some(groups) => groups.free_energy_terms(&bag, &mut terms, &mut scratch),
            None => sources.free_energy_terms(&bag, &mut terms, &mut scratch),
        };
        (terms, free_energy.unwrap())
    };
    (0..problem.counts.len()).map(one).unzip()
}

proptest! {
    #[test]
    fn every_grouping_sums_to_the_free_energy(problem in problem::<2>(5)) {
        let (_, evidence) = problem.place(&problem.learner::<f64>(Options::default()));
        for grouping in ALL {
            let (all, free_energy) = terms(&problem, grouping);
            for ((terms, free_energy), evidence) in all.iter().zip(&free_energy).zip(&evidence) {
                let size: f64 = terms.iter().map(|term| term.abs()).sum();
                // Each term rounded some ten times, and at most 150 of them added; the posterior is cut at e^-44.
                let allowed = 200.0 * f64::EPSILON * (1.0 + size);
                prop_assert!((free_energy + evidence).abs() <= allowed, "{grouping:?} {free_energy} {evidence}");
                prop_assert!((terms.iter().sum::<f64>() - free_energy).abs() <= allowed);
            }
        }
    }

    #[test]
    fn terms_are_what_the_definition_says(problem in problem::<2>(4)) {
        let learner = problem.learner::<f64>(Options::default());
        let (q, _) = problem.place(&learner);
        let (h, windows) = (problem.naive_h(), problem.windows());
        let (cells, volume) = (problem.cells(), windows.volume() as f64);
        let xlogy = |x: f64, y: f64| if x > 0.0 { x * y.ln() } else { 0.0 };
        let [location, feature, source, each] = ALL.map(|grouping| terms(&problem, grouping).0);
        for (t, (q, counts)) in q.iter().zip(&problem.counts).enumerate() {
            let n: f64 = counts.iter().sum();
            // A hundred terms of at most N log(1 / smallest h) each.
            let close = |a: f64, b: f64| (a - b).abs() <= 1e3 * f64::EPSILON * (1.0 + n) * 10.0;
            let logs = |k: usize, z: usize| -xlogy(q[k] * counts[z], h[k][z]);
            for k in 0..cells {
                for terms in [&location[t], &source[t], &each[t]] {
                    prop_assert!(close(terms[k], xlogy(q[k], q[k])));
                    prop_assert!(close(terms[cells + k], -xlogy(q[k], problem.prior[k])));
                }
                let sum: f64 = (0..problem.features).map(|z| logs(k, z)).sum();
                prop_assert!(close(location[t][2 * cells + k], sum));
                for z in 0..problem.features {
                    prop_assert!(close(each[t][2 * cells + k * problem.features + z], logs(k, z)));
                }
            }
            prop_assert!(close(feature[t][0], q.iter().map(|&q| xlogy(q, q)).sum()));
            prop_assert!(close(feature[t][1], -(0..cells).map(|k| xlogy(q[k], problem.prior[k])).sum::<f64>()));
            for z in 0..problem.features {
                prop_assert!(close(feature[t][2 + z], (0..cells).map(|k| logs(k, z)).sum()));
            }
            let (mut responsibilities, mut tokens) = (vec![0.0; cells], vec![0.0; cells]);
            for k in 0..cells {
                for i in windows.cells_of(k) {
                    for z in 0..problem.features {
                        let r = problem.pi[i][z] / (volume * h[k][z]);
                        responsibilities[i] += q[k] * counts[z] * xlogy(r, r);
                        tokens[i] -= xlogy(q[k] * counts[z] * r, problem.pi[i][z]);
                    }
                }
            }
            for i in 0..cells {
                prop_assert!(close(source[t][2 * cells + i], responsibilities[i]));
                prop_assert!(close(source[t][3 * cells + i], tokens[i]));
            }
            prop_assert!(close(source[t][4 * cells], n * volume.ln()));
        }
    }
}

/// Expected counts `[feature][cell]`, then those of the prior, and the log evidence of one bag under tables like a grid's.
fn expected(problem: &Problem<2>, bag: &[f64]) -> (Vec<f64>, f64) {
    let learner = problem.learner::<f64>(Options::default());
    let model = Sources::new(learner.grid(), learner.histograms()).unwrap();
    let words: Vec<u32> = (0..problem.features as u32).filter(|&z| bag[z as usize] > 0.0).collect();
    let counts: Vec<f64> = words.iter().map(|&z| bag[z as usize]).collect();
    let bag = Bag::new(problem.features, &words, &counts).unwrap();
    let mut expected = vec![f64::NAN; model.buffer().len()];
    let mut scratch = vec![f64::NAN; model.counts_scratch_len(&bag)];
    let evidence = model.expected_counts(&bag, &mut expected, &mut scratch).unwrap();
    (expected, evidence)
}

proptest! {
    #[test]
    fn expected_counts_are_what_the_definition_says(problem in problem::<2>(4)) {
        let (q, evidence) = problem.place(&problem.learner::<f64>(Options::default()));
        let (h, windows) = (problem.naive_h(), problem.windows());
        let (cells, volume) = (problem.cells(), windows.volume() as f64);
        for ((counts, q), evidence) in problem.counts.iter().zip(&q).zip(evidence) {
            let (found, log_evidence) = expected(&problem, counts);
            prop_assert_eq!(log_evidence, evidence);
            let n: f64 = counts.iter().sum();
            let mut definition = vec![0.0; found.len()];
            for k in 0..cells {
                for i in windows.cells_of(k) {
                    for z in 0..problem.features {
                        definition[z * cells + i] += q[k] * counts[z] * problem.pi[i][z] / (volume * h[k][z]);
                    }
                }
                definition[problem.features * cells + k] = q[k];
            }
            // Sums of at most a window's cells and of all windows, each term at most N and rounded some ten times.
            let allowed = 10.0 * (cells as f64 + volume) * f64::EPSILON * (1.0 + n);
            for (found, definition) in found.iter().zip(&definition) {
                prop_assert!((found - definition).abs() <= allowed, "{} {}", found, definition);
            }
        }
    }

    #[test]
    fn expected_counts_are_derivatives_of_the_evidence(problem in problem::<2>(3)) {
        let learner = problem.learner::<f64>(Options::default());
        let model = Sources::new(learner.grid(), learner.histograms()).unwrap();
        let bags = CsrBuf::from_dense(problem.features, &problem.flat()).unwrap();
        let cells = problem.cells();
        for (t, counts) in problem.counts.iter().enumerate() {
            let evidence = |tables: &[f64]| {
                let (pi, prior) = tables.split_at(cells * problem.features);
                let cell = |i: usize| pi.iter().skip(i).step_by(cells).copied().collect();
                let pi = (0..cells).map(cell).collect();
                let moved = Problem { pi, prior: prior.to_vec(), counts: vec![counts.clone()], ..problem.clone() };
                log_sum_exp(&moved.naive_scores()[0])
            };
            // The evidence is as smooth as its logarithms: a relative step of 1e-4 leaves an error of the third order,
            // N³ (1e-4)², and of rounding, ε F / 1e-4.
            let (step, n) = (1e-4, counts.iter().sum::<f64>() + 1.0);
            let rounding = 1e2 * f64::EPSILON * (1.0 + 10.0 * n) / step;
            let tolerance = Tolerance::absolute(n.powi(3) * step * step + rounding);
            let bag = bags.as_view().bag(t).unwrap();
            prop_assert_eq!(check_expected_counts_gradient(&model, evidence, &bag, step, tolerance), Ok(()));
        }
    }
}

#[test]
fn features_that_no_window_knows_and_empty_bags_have_terms_too() {
    let problem = Problem {
        extents: [3],
        sides: [2],
        features: 2,
        counts: vec![vec![2.0, 1.0], vec![0.0, 0.0]],
        pi: vec![vec![1.0, 0.0]; 3], // nobody knows the second feature
        prior: vec![0.5, 0.5, 0.0],  // and nobody goes to the last window
    };
    for grouping in ALL {
        let (all, free_energy) = terms(&problem, grouping);
        assert!(all.iter().flatten().all(|term| term.is_finite()), "{grouping:?} {all:?}");
        let (_, evidence) = problem.place(&problem.learner::<f64>(Options::default()));
        for (free_energy, evidence) in free_energy.iter().zip(evidence) {
            assert!(
                (free_energy + evidence).abs() <= 1e3 * f64::EPSILON * (1.0 + evidence.abs()),
                "{grouping:?}"
            );
        }
    }
}

#[test]
fn the_contract_takes_bags_and_refuses_what_does_not_fit() {
    let problem = Problem {
        extents: [3],
        sides: [2],
        features: 2,
        counts: vec![vec![2.0, 1.0]],
        pi: vec![vec![0.75, 0.25]; 3],
        prior: vec![1.0 / 3.0; 3],
    };
    let learner = problem.learner::<f64>(Options::default());
    let model = Sources::new(learner.grid(), learner.histograms()).unwrap();
    let bag = Bag::new(2, &[0, 1], &[2u32, 1]).unwrap();
    let (count, length) = (model.term_count(&bag), model.scratch_len(&bag));
    let (mut found, mut scratch) = (vec![0.0; count], vec![0.0; length]);
    let free_energy = model.free_energy_terms(&bag, &mut found, &mut scratch).unwrap();
    assert_eq!((found, free_energy), {
        let (all, f) = terms(&problem, None);
        (all[0].clone(), f[0])
    });

    let mut found = vec![0.0; count];
    let short = model.free_energy_terms(&bag, &mut found[1..], &mut scratch);
    assert_eq!(short, Err(GridError::Length { table: "terms", expected: count, found: count - 1 }));
    let short = model.free_energy_terms(&bag, &mut found, &mut scratch[1..]);
    assert_eq!(short, Err(GridError::Length { table: "scratch", expected: length, found: length - 1 }));
    let wide = Bag::new(3, &[0], &[2u32]).unwrap();
    let features = GridError::Features { expected: 2, found: 3 };
    assert_eq!(model.free_energy_terms(&wide, &mut found, &mut scratch), Err(features));

    let long = model.buffer().len();
    let short = model.expected_counts(&bag, &mut vec![0.0; long - 1], &mut scratch);
    assert_eq!(short, Err(GridError::Length { table: "counts", expected: long, found: long - 1 }));
    let short = model.expected_counts(&bag, &mut vec![0.0; long], &mut scratch[1..]);
    assert_eq!(short, Err(GridError::Length { table: "scratch", expected: length, found: length - 1 }));
    assert_eq!(model.expected_counts(&wide, &mut vec![0.0; long], &mut scratch), Err(features));

    let other = Problem { sides: [1], ..problem };
    let shape = other.shape();
    let grid = Grid::new(shape, other.tables::<f64>()).unwrap();
    let mut scratch = vec![0.0; shape.plane_scratch_len()];
    let packed = LogHistograms::pack(&grid, vec![0.0; shape.histograms_len::<f64>()], &mut scratch).unwrap();
    let mixed = Sources::new(learner.grid(), &packed);
    assert_eq!(mixed.err(), Some(GridError::ShapeMismatch));
}
