//! Fits of counting grids: what the two steps add up and cost, what is refused, and changes by hand.

#![allow(clippy::needless_range_loop, reason = "indices are those of the mathematics")]

use crate::common::{CLOSE, Problem, normalised};
use countgrid_counts::Dense;
use countgrid_em::{Fit, Learn, Tables, TablesMut};
use countgrid_grid::{Grid, GridError, Learner, LogHistograms, Options, Shape, Statistics, UpdateRule};
use countgrid_math::Real;

fn problem() -> Problem<2> {
    Problem {
        extents: [3, 5],
        sides: [2, 3],
        features: 3,
        counts: vec![vec![4.0, 1.0, 7.0], vec![0.0; 3], vec![1.0, 1.0, 0.0], vec![0.0, 6.0, 2.0]],
        pi: (0..15).map(|i| normalised(vec![1.0 + i as f64, 3.0, 16.0 - i as f64])).collect(),
        prior: normalised((0..15).map(|i| 2.0 + (i * 7 % 5) as f64).collect()),
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= CLOSE * b.abs().max(1.0)
}

/// Window counts, masses and totals are sums over bags, and the bound is made of them.
#[test]
fn statistics_are_sums_over_bags() {
    let p = problem();
    let learner = p.learner::<f64>(Options::default());
    let ((q, evidence), h) = (p.place(&learner), p.naive_h());
    let entropy: f64 = q.iter().flatten().map(|&q| if q > 0.0 { -q * q.ln() } else { 0.0 }).sum();
    for chunk in [1, 2, 3, 9] {
        let mut statistics = p.statistics::<f64>(chunk);
        assert!(near(p.e_step(&learner, &mut statistics).unwrap(), evidence.iter().sum()));
        let mut plane = vec![f64::NAN; 15];
        let mut bound = entropy;
        for z in 0..3 {
            statistics.window_counts(z, &mut plane).unwrap();
            for (k, &found) in plane.iter().enumerate() {
                let expected: f64 = q.iter().zip(&p.counts).map(|(q, counts)| q[k] * counts[z]).sum();
                assert!(near(found, expected), "{z} {k}");
                bound += expected * h[k][z].ln();
            }
        }
        statistics.window_mass(&mut plane).unwrap();
        for (k, &found) in plane.iter().enumerate() {
            let expected: f64 = q.iter().map(|q| q[k]).sum();
            assert!(near(found, expected), "{k}");
            bound += expected * p.prior[k].ln();
        }
        assert_eq!((statistics.bags(), statistics.tokens()), (4.0, p.tokens()));
        assert!(near(statistics.entropy(), entropy));
        assert!(near(learner.bound(&statistics).unwrap(), bound));
        assert!(near(bound, evidence.iter().sum()), "the posterior is exact");
        // Another E-step adds to what is there.
        let flat = p.flat();
        learner.expectation(&Dense::new(3, &flat).unwrap(), &mut statistics).unwrap();
        assert_eq!((statistics.bags(), statistics.tokens()), (8.0, 2.0 * p.tokens()));
        statistics.clear();
        assert!(statistics.buffer().iter().all(|&x| x == 0.0));
    }
}

/// Tokens at cells, feature by feature, with either rule, are those of the definition.
#[test]
fn expected_tokens_are_the_definition() {
    let p = problem();
    let (windows, h, volume) = (p.windows(), p.naive_h(), 6.0);
    for update_rule in [UpdateRule::Exact, UpdateRule::Factored] {
        let learner = p.learner::<f64>(Options { update_rule, ..Options::default() });
        let (q, _) = p.place(&learner);
        let mut statistics = p.statistics::<f64>(2);
        p.e_step(&learner, &mut statistics).unwrap();
        let f = |k: usize, z: usize| q.iter().zip(&p.counts).map(|(q, counts)| q[k] * counts[z]).sum::<f64>();
        let mut tokens = vec![f64::NAN; 15];
        for z in 0..3 {
            learner.expected_tokens(&mut statistics, z, &mut tokens).unwrap();
            for (i, &found) in tokens.iter().enumerate() {
                let over = |term: &dyn Fn(usize) -> f64| windows.starts_over(i).map(term).sum::<f64>();
                let expected = match update_rule {
                    UpdateRule::Exact => p.pi[i][z] / volume * over(&|k| f(k, z) / h[k][z]),
                    _ => p.pi[i][z] / volume * over(&|k| f(k, z)) * over(&|k| 1.0 / h[k][z]) / volume,
                };
                assert!(near(found, expected), "{update_rule:?} {z} {i}: {found} {expected}");
            }
        }
        let length = GridError::Length { table: "tokens", expected: 15, found: 14 };
        assert_eq!(learner.expected_tokens(&mut statistics, 0, &mut tokens[1..]), Err(length));
        let features = GridError::Features { expected: 3, found: 3 };
        assert_eq!(learner.expected_tokens(&mut statistics, 3, &mut tokens), Err(features));
        assert_eq!(statistics.window_counts(3, &mut tokens), Err(features));
        let length = GridError::Length { table: "plane", expected: 15, found: 14 };
        assert_eq!(statistics.window_counts(0, &mut tokens[1..]), Err(length));
        assert_eq!(statistics.window_mass(&mut tokens[1..]), Err(length));
    }
}

#[test]
fn statistics_of_another_shape_are_refused() {
    let p = problem();
    let (mut learner, flat) = (p.learner::<f64>(Options::default()), p.flat());
    let bags = Dense::new(3, &flat).unwrap();
    let before = learner.grid().buffer().to_vec();
    for other in [
        Problem { sides: [2, 2], ..p.clone() },
        Problem { extents: [5, 3], sides: [3, 2], ..p.clone() },
        Problem { features: 4, ..p.clone() },
    ] {
        let mut foreign = other.statistics::<f64>(2);
        assert_eq!(learner.expectation(&bags, &mut foreign), Err(GridError::ShapeMismatch));
        assert_eq!(learner.maximization(&mut foreign), Err(GridError::ShapeMismatch));
        assert_eq!(learner.bound(&foreign), Err(GridError::ShapeMismatch));
        let tokens = learner.expected_tokens(&mut foreign, 0, &mut [0.0; 15]);
        assert_eq!(tokens, Err(GridError::ShapeMismatch));
    }
    assert_eq!(learner.grid().buffer(), before);
    let shape = p.shape();
    let new = |sums: usize, scratch: usize| {
        Statistics::<f64, _, 2>::new(shape, vec![0.0; sums], vec![0.0; scratch]).map(|_| ())
    };
    let (sums, scratch) = (shape.sums_len::<f64>(), shape.scratch_len::<f64>(1));
    assert_eq!((new(sums, scratch), new(sums, scratch + 9)), (Ok(()), Ok(())));
    for found in [sums - 1, sums + 1] {
        assert_eq!(new(found, scratch), Err(GridError::Length { table: "sums", expected: sums, found }));
    }
    let found = scratch - 1;
    assert_eq!(new(sums, found), Err(GridError::Length { table: "scratch", expected: scratch, found }));
}

#[test]
fn pseudocounts_cost_their_logarithms() {
    let p = problem();
    let of_pi: f64 = p.pi.iter().flatten().map(|p| p.ln()).sum();
    let of_prior: f64 = p.prior.iter().map(|p| p.ln()).sum();
    for (pseudocount, prior_pseudocount) in [(0.0, 0.0), (0.25, 0.0), (0.0, 2.0), (0.5, 0.125)] {
        let learner = p.learner::<f64>(Options { pseudocount, prior_pseudocount, ..Options::default() });
        let expected = -pseudocount * of_pi - prior_pseudocount * of_prior;
        assert!(near(learner.penalty(), expected), "{} {expected}", learner.penalty());
    }
}

/// A pseudocount is finite in the float type also as the sum of a column or of all cells.
#[test]
fn pseudocounts_stay_far_from_the_end_of_the_floats() {
    let p = problem();
    let new = |options| {
        let shape = p.shape();
        let packed = vec![0.0f32; shape.histograms_len::<f32>()];
        let grid = Grid::new(shape, p.tables::<f32>()).unwrap();
        Learner::new(grid, packed, &mut vec![0.0; shape.plane_scratch_len()], options).map(|_| ())
    };
    let most = f64::from(f32::MAX) / 8.0;
    for (pseudocount, prior_pseudocount, expected) in [
        (most / 3.1, 0.0, Ok(())),
        (most / 2.9, 0.0, Err(GridError::Pseudocount)),
        (0.0, most / 15.1, Ok(())),
        (0.0, most / 14.9, Err(GridError::Pseudocount)),
    ] {
        assert_eq!(new(Options { pseudocount, prior_pseudocount, ..Options::default() }), expected);
    }
}

/// A learned prior is the share of bags at each window, with its pseudo-bags; without any it stays.
#[test]
fn a_learned_prior_is_the_mean_posterior() {
    let p = problem();
    for prior_pseudocount in [0.0, 0.75] {
        let options = Options { learn_prior: true, prior_pseudocount, ..Options::default() };
        let (mut learner, mut statistics) = (p.learner::<f64>(options), p.statistics::<f64>(2));
        let (q, _) = p.place(&learner);
        p.e_step(&learner, &mut statistics).unwrap();
        learner.maximization(&mut statistics).unwrap();
        for (k, &found) in learner.grid().prior().iter().enumerate() {
            let mass = q.iter().map(|q| q[k]).sum::<f64>() + prior_pseudocount;
            assert!(near(found, mass / (4.0 + 15.0 * prior_pseudocount)), "{k}");
        }
    }
    let options = Options { learn_prior: true, ..Options::default() };
    let (mut learner, mut none) = (p.learner::<f64>(options), p.statistics::<f64>(1));
    let before = learner.grid().buffer().to_vec();
    learner.maximization(&mut none).unwrap();
    assert_eq!(learner.grid().buffer(), before, "no bag, no change");
}

/// Bags before the chunk of the one that overflows are in the sums.
#[test]
fn an_overflow_leaves_the_bags_before() {
    let mut p = problem();
    p.counts[3] = vec![1e38, 1e38, 1e38];
    let (learner, flat) = (p.learner::<f32>(Options::default()), p.flat());
    let bags = Dense::new(3, &flat).unwrap();
    for (chunk, added) in [(1, 3.0), (9, 0.0)] {
        let mut statistics = p.statistics::<f32>(chunk);
        assert_eq!(learner.expectation(&bags, &mut statistics), Err(GridError::Overflow { bag: 3 }));
        assert_eq!(statistics.bags(), added, "{chunk}");
        let mut mass = vec![0.0; 15];
        statistics.window_mass(&mut mass).unwrap();
        assert!((mass.iter().sum::<f32>() - statistics.bags()).abs() <= 60.0 * f32::EPSILON);
    }
}

/// Also the tokens of several E-steps together stay far from the end of the floats: an eighth of it.
#[test]
fn tokens_overflow_together() {
    let p = Problem::<1> {
        extents: [3],
        sides: [1],
        features: 2,
        counts: vec![],
        pi: vec![vec![1.0, 0.0]; 3], // certain, so that no score overflows
        prior: vec![1.0 / 3.0; 3],
    };
    let (learner, mut statistics) = (p.learner::<f32>(Options::default()), p.statistics::<f32>(1));
    let add = |share: f64, statistics: &mut _| {
        let counts = [share * f64::from(f32::MAX) / 8.0, 0.0];
        learner.expectation(&Dense::new(2, &counts).unwrap(), statistics).map(|_| ())
    };
    assert_eq!(add(0.6, &mut statistics), Ok(()));
    assert_eq!(add(0.3, &mut statistics), Ok(()));
    assert_eq!(add(0.3, &mut statistics), Err(GridError::Overflow { bag: 0 }));
    assert_eq!(statistics.bags(), 2.0);
    statistics.clear();
    assert_eq!(add(0.6, &mut statistics), Ok(()));
}

/// A change by hand is in the inference table, or refused.
#[test]
fn updates_reach_the_inference_table() {
    let p = problem();
    let mut learner = p.learner::<f64>(Options::default());
    let other = Problem { pi: p.pi.iter().rev().cloned().collect(), ..p.clone() };
    let (tables, expected) = (other.tables::<f64>(), other.learner::<f64>(Options::default()));
    let mut room = vec![0.0; p.shape().plane_scratch_len()];
    let replace = |grid: &mut Grid<f64, Vec<f64>, 2>| grid.buffer_mut().copy_from_slice(&tables);
    learner.update(&mut room, replace).unwrap();
    assert_eq!(learner.grid().buffer(), tables);
    assert_eq!(learner.histograms().buffer(), expected.histograms().buffer());

    let (needed, found) = (room.len(), room.len() - 1);
    let short = learner.update(&mut room[1..], |_| panic!("nothing is changed"));
    assert_eq!(short, Err(GridError::Length { table: "scratch", expected: needed, found }));
    for (at, value, error) in [
        (3, -1.0, GridError::Probability { table: "pi", feature: 0, cell: 3 }),
        (3, 0.9, GridError::NotNormalised { table: "pi", cell: 3 }),
        (15 + 7, f64::INFINITY, GridError::Probability { table: "pi", feature: 1, cell: 7 }),
        (3 * 15 + 4, f64::NAN, GridError::Probability { table: "prior", feature: 0, cell: 4 }),
        (3 * 15 + 4, 0.5, GridError::NotNormalised { table: "prior", cell: 0 }),
    ] {
        let refused = learner.update(&mut room, |grid| grid.buffer_mut()[at] = value);
        assert_eq!(refused, Err(error));
        learner.update(&mut room, replace).unwrap();
    }
    let (grid, histograms) = learner.into_parts();
    assert_eq!(grid.plane(1), expected.grid().plane(1));
    assert_eq!(histograms.buffer(), expected.histograms().buffer());
}

/// Tables printed with three digits are distributions, those with two are none.
#[test]
fn distributions_sum_to_one_within_a_thousandth() {
    let shape = Shape::from_sides([2], [1], 2).unwrap();
    let new = |first: f64, prior: f64| {
        Grid::<f64, _, 1>::new(shape, [first, 0.5, 0.5, 0.5, prior, 0.5]).map(|_| ())
    };
    let bad = |table| Err(GridError::NotNormalised { table, cell: 0 });
    for off in [9e-4, -9e-4] {
        assert_eq!(new(0.5 + off, 0.5 - off), Ok(()));
    }
    for off in [1.1e-3, -1.1e-3] {
        assert_eq!((new(0.5 + off, 0.5), new(0.5, 0.5 + off)), (bad("pi"), bad("prior")));
    }
    let grid = Grid::<f64, _, 1>::new(shape, [0.5; 6]).unwrap();
    let (mut h, mut room) = ([0.0; 2], vec![0.0; shape.plane_scratch_len()]);
    let features = GridError::Features { expected: 2, found: 2 };
    assert_eq!(grid.histogram(2, &mut h, &mut room), Err(features));
    let length = GridError::Length { table: "h", expected: 2, found: 1 };
    assert_eq!(grid.histogram(1, &mut h[1..], &mut room), Err(length));
    assert_eq!(grid.plane(2), &[0.0; 0]);
}

/// Every element of a packed table is checked, and the error says where it is.
#[test]
fn packed_tables_are_checked_everywhere() {
    fn check<T: Real>(tiles: usize) {
        let shape = Shape::from_sides([tiles * T::LANES - 3], [2], 3).unwrap();
        let mut grid = Grid::<T, _, 1>::uniform(shape).unwrap();
        grid.randomize(&mut <rand_chacha::ChaCha8Rng as rand_chacha::rand_core::SeedableRng>::seed_from_u64(
            8,
        ));
        let packed = vec![T::zero(); shape.histograms_len::<T>()];
        let mut room = vec![T::zero(); shape.plane_scratch_len()];
        let packed = LogHistograms::pack(&grid, packed, &mut room).unwrap().buffer().to_vec();
        assert!(LogHistograms::<T, _, 1>::new(shape, packed.as_slice()).is_ok());
        let spoilt = |at: usize, value: f64| {
            let mut packed = packed.clone();
            packed[at] = T::from_f64(value);
            LogHistograms::<T, _, 1>::new(shape, packed).map(|_| ())
        };
        let (lanes, rows) = (T::LANES, 4);
        let bounds = if tiles < 4 { 0 } else { tiles.div_ceil(lanes) };
        let references = (tiles + bounds) * rows * lanes;
        assert_eq!(packed.len(), references + 3);
        for (row, elements) in (0..tiles * rows).map(|row| (row, row * lanes..(row + 1) * lanes)) {
            let (tile, feature) = (row / rows, row % rows);
            let cell = tile * lanes;
            for at in elements {
                let refused = Err(GridError::Probability { table: "log_histograms", feature, cell });
                for value in [f64::NAN, 0.01, f64::INFINITY] {
                    assert_eq!(spoilt(at, value), refused, "{at}");
                }
                // The last tile has three lanes that are none.
                let is_padding = tile == tiles - 1 && feature == 0 && at % lanes >= lanes - 3;
                let other = if is_padding {
                    Err(GridError::Padding { tile })
                } else if bounds > 0 {
                    Err(GridError::Bound { tile, row: feature })
                } else {
                    Ok(())
                };
                assert_eq!(spoilt(at, 5e-4), other, "{at}");
            }
        }
        for feature in 0..3 {
            let refused = Err(GridError::Probability { table: "references", feature, cell: 0 });
            for value in [f64::NAN, 0.01, f64::NEG_INFINITY] {
                assert_eq!(spoilt(references + feature, value), refused);
            }
        }
        for found in [packed.len() - 1, packed.len() + 1] {
            let length = GridError::Length { table: "log_histograms", expected: packed.len(), found };
            let table = vec![T::zero(); found];
            assert_eq!(LogHistograms::<T, _, 1>::new(shape, table).map(|_| ()), Err(length));
        }
    }
    check::<f32>(1);
    check::<f32>(5);
    check::<f64>(3);
    check::<f64>(18);
}
