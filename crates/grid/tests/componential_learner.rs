//! Fits of componential grids: what the two steps add up, what is refused, and changes by hand.

use crate::common::{Problem, normalised};
use crate::componential::{alpha, grid, learner, means, near, statistics, sweeps};
use countgrid_counts::Dense;
use countgrid_em::{Fit, Learn, Tables, TablesMut};
use countgrid_grid::componential::{
    ComponentialGrid, Inference, Learner, Options, Statistics, WindowMeans, means_len,
};
use countgrid_grid::{GridError, Shape};
use countgrid_math::digamma;

fn problem() -> Problem<1> {
    Problem {
        extents: [9],
        sides: [3],
        features: 3,
        counts: vec![vec![4.0, 1.0, 7.0], vec![0.0; 3], vec![1.0, 1.0, 0.5], vec![0.0, 6.0, 2.0]],
        pi: (0..9).map(|i| normalised(vec![1.0 + i as f64, 3.0, 10.0 - i as f64])).collect(),
        prior: normalised((0..9).map(|i| 2.0 + (i * 7 % 5) as f64).collect()),
    }
}

/// The totals are sums over bags, one chunk after the other; an empty bag counts with its prior.
#[test]
fn totals_are_sums_over_bags() {
    let p = problem();
    let options = Options { inference: sweeps(5), ..Options::default() };
    let (learner, means, flat) = (learner::<f64, 1>(&p, 3.0, options), means::<f64, 1>(&p, 3.0), p.flat());
    let bags = Dense::new(3, &flat).unwrap();
    let mut room = crate::componential::scratch(&p.shape());
    let (mut expected, mut bound, mut gamma) = (0.0, 0.0, vec![0.0; 9]);
    for t in 0..p.counts.len() {
        let posterior = means.posterior(&bags, t, sweeps(5), &mut room).unwrap();
        posterior.gamma(&mut gamma).unwrap();
        let total = digamma(gamma.iter().sum::<f64>());
        expected += gamma.iter().map(|&gamma| digamma(gamma) - total).sum::<f64>();
        bound += posterior.bound();
    }
    for chunk in [1, 2, 3, 9] {
        let mut sums = statistics(p.shape(), chunk);
        let free_energy = learner.expectation(&bags, &mut sums).unwrap();
        assert!(near(free_energy, -bound) && near(sums.log_theta(), expected), "{chunk}: {sums:?}");
        assert_eq!((sums.bags(), sums.tokens()), (4.0, p.tokens()));
    }
    let empty = Dense::new(3, &[0.0; 3]).unwrap();
    let mut sums = statistics(p.shape(), 1);
    learner.expectation(&empty, &mut sums).unwrap();
    let alpha = alpha(&p, 3.0);
    let expected = alpha.iter().map(|&alpha| digamma(alpha) - digamma(3.0)).sum();
    assert!(near(sums.log_theta(), expected), "{} {expected}", sums.log_theta());
}

/// The first bag in question is named, in whichever chunk it is, and nothing of its chunk is added.
#[test]
fn an_impossible_bag_is_named_in_any_chunk() {
    let mut p = problem();
    for row in &mut p.pi {
        *row = vec![0.5, 0.5, 0.0];
    }
    p.counts = vec![vec![1.0, 2.0, 0.0], vec![3.0, 0.0, 0.0], vec![0.0, 4.0, 0.0], vec![1.0, 0.0, 1.0]];
    let (learner, flat) = (learner::<f64, 1>(&p, 3.0, Options::default()), p.flat());
    let bags = Dense::new(3, &flat).unwrap();
    for (chunk, added) in [(1, 3.0), (2, 2.0), (3, 3.0), (4, 0.0)] {
        let mut sums = statistics(p.shape(), chunk);
        let error = learner.expectation(&bags, &mut sums).unwrap_err();
        assert_eq!(error, GridError::Impossible { bag: 3, feature: 2 });
        assert_eq!(sums.bags(), added, "{chunk}");
    }
}

/// Also the tokens of several E-steps together stay far from the end of the floats: an eighth of it.
#[test]
fn tokens_overflow_together() {
    let mut p = problem();
    p.pi = vec![vec![1.0, 0.0, 0.0]; 9];
    let options = Options { inference: sweeps(2), ..Options::default() };
    let (learner, mut sums) = (learner::<f32, 1>(&p, 3.0, options), statistics::<f32, 1>(p.shape(), 1));
    let add = |share: f64, sums: &mut _| {
        let counts = [share * f64::from(f32::MAX) / 8.0, 0.0, 0.0];
        learner.expectation(&Dense::new(3, &counts).unwrap(), sums).map(|_| ())
    };
    assert_eq!(add(0.6, &mut sums), Ok(()));
    assert_eq!(add(0.3, &mut sums), Ok(()));
    assert_eq!(add(0.3, &mut sums), Err(GridError::Overflow { bag: 0 }));
    assert_eq!(sums.bags(), 2.0);
}

#[test]
fn statistics_of_another_shape_are_refused() {
    let p = problem();
    let (mut learner, flat) = (learner::<f64, 1>(&p, 3.0, Options::default()), p.flat());
    let bags = Dense::new(3, &flat).unwrap();
    for shape in
        [Shape::from_sides([10], [3], 3), Shape::from_sides([9], [2], 3), Shape::from_sides([9], [3], 4)]
    {
        let mut other: Statistics<f64, Vec<f64>, 1> = statistics(shape.unwrap(), 2);
        assert_eq!(learner.expectation(&bags, &mut other), Err(GridError::ShapeMismatch));
        assert_eq!(learner.maximization(&mut other), Err(GridError::ShapeMismatch));
    }
    let mut gammas = vec![1.0; 4 * 9];
    let mut sums = statistics(p.shape(), 2);
    let wide = Dense::new(4, &[1.0; 8]).unwrap();
    let features = GridError::Features { expected: 3, found: 4 };
    assert_eq!(learner.expectation(&wide, &mut sums), Err(features));
    let mut room = crate::componential::scratch(&p.shape());
    assert_eq!(means::<f64, 1>(&p, 3.0).posterior(&wide, 0, sweeps(1), &mut room).err(), Some(features));
    let short = learner.expectation_from(&bags, &mut gammas[1..], &mut sums);
    assert_eq!(short, Err(GridError::Length { table: "gammas", expected: 36, found: 35 }));
    gammas[9 + 4] = 0.0;
    let refused = learner.expectation_from(&bags, &mut gammas, &mut sums);
    assert_eq!(refused, Err(GridError::Gamma { window: 4 }));
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let p = problem();
    let new = |options| {
        let packed = vec![0.0f32; means_len::<f32, 1>(&p.shape())];
        let mut room = vec![0.0; p.shape().plane_scratch_len()];
        Learner::new(grid::<f32, 1>(&p, 1.0), packed, &mut room, options).map(|_| ())
    };
    assert_eq!(new(Options::default()), Ok(()));
    // The last is finite as it is, but 1e38 tokens a column are too near the end of f32.
    for pseudocount in [-1.0, -1e-300, f64::NAN, f64::INFINITY, 4e37] {
        assert_eq!(new(Options { pseudocount, ..Options::default() }), Err(GridError::Pseudocount));
    }
    assert_eq!(new(Options { pseudocount: 1e37, ..Options::default() }), Ok(()));
    assert_eq!(new(Options { inner_passes: 0, ..Options::default() }), Err(GridError::NoPasses));
    let inference =
        |sweeps, tolerance| Options { inference: Inference { sweeps, tolerance }, ..Options::default() };
    assert_eq!(new(inference(0, 0.0)), Err(GridError::NoSweeps));
    assert_eq!(new(inference(1, 0.0)), Ok(()));
    for tolerance in [-1e-9, f64::NAN, f64::INFINITY] {
        assert_eq!(new(inference(1, tolerance)), Err(GridError::Tolerance));
    }
}

#[test]
fn a_pseudocount_costs_its_logarithms() {
    let p = problem();
    let logs: f64 = p.pi.iter().flatten().map(|p| p.ln()).sum();
    for pseudocount in [0.0, 0.25, 2.0] {
        let learner = learner::<f64, 1>(&p, 1.0, Options { pseudocount, ..Options::default() });
        assert!(near(learner.penalty(), -pseudocount * logs), "{} {logs}", learner.penalty());
    }
}

/// With one window nothing depends on `alpha`, and it stays.
#[test]
fn alpha_of_a_single_window_stays() {
    let p = Problem::<1> {
        extents: [1],
        sides: [1],
        features: 2,
        counts: vec![vec![3.0, 1.0]],
        pi: vec![vec![0.5, 0.5]],
        prior: vec![1.0],
    };
    for total in [0.25, 2.5] {
        let mut learner = learner::<f64, 1>(&p, total, Options { learn_alpha: true, ..Options::default() });
        let mut sums = statistics(p.shape(), 1);
        let flat = p.flat();
        learner.expectation(&Dense::new(2, &flat).unwrap(), &mut sums).unwrap();
        learner.maximization(&mut sums).unwrap();
        assert_eq!(learner.grid().alpha(), [total]);
        assert_eq!((learner.grid().plane(0), learner.grid().plane(1)), (&[0.75][..], &[0.25][..]));
    }
}

#[test]
fn alpha_stays_unless_it_is_learned_from_bags() {
    let (p, flat) = (problem(), problem().flat());
    let bags = Dense::new(3, &flat).unwrap();
    let alpha_after = |learn_alpha: bool, with_bags: bool| {
        let mut learner = learner::<f64, 1>(&p, 3.0, Options { learn_alpha, ..Options::default() });
        let mut sums = statistics(p.shape(), 2);
        if with_bags {
            learner.expectation(&bags, &mut sums).unwrap();
        }
        learner.maximization(&mut sums).unwrap();
        learner.grid().alpha().to_vec()
    };
    let before = alpha(&p, 3.0);
    for (learn_alpha, with_bags) in [(false, true), (false, false), (true, false)] {
        assert_eq!(alpha_after(learn_alpha, with_bags), before);
    }
    let learned = alpha_after(true, true);
    assert!(learned[0] != before[0] && learned.iter().all(|&alpha| alpha > 0.0 && alpha == learned[0]));
}

/// A change by hand is in the inference table, or refused.
#[test]
fn updates_reach_the_inference_table() {
    let p = problem();
    let mut learner = learner::<f64, 1>(&p, 3.0, Options::default());
    let other = grid::<f64, 1>(&Problem { pi: p.pi.iter().rev().cloned().collect(), ..p.clone() }, 5.0);
    let mut room = vec![0.0; p.shape().plane_scratch_len()];
    let replace = |grid: &mut ComponentialGrid<f64, Vec<f64>, 1>| {
        grid.buffer_mut().copy_from_slice(other.buffer());
    };
    learner.update(&mut room, replace).unwrap();
    assert_eq!(learner.grid().buffer(), other.buffer());
    let packed = vec![0.0; means_len::<f64, 1>(&p.shape())];
    let expected = WindowMeans::pack(&other, packed, &mut room).unwrap();
    assert_eq!(learner.means().buffer(), expected.buffer());

    let (needed, found) = (room.len(), room.len() - 1);
    let short = learner.update(&mut room[1..], |_| panic!("nothing is changed"));
    assert_eq!(short, Err(GridError::Length { table: "scratch", expected: needed, found }));
    let refused = learner.update(&mut room, |grid| grid.buffer_mut()[3] = -1.0);
    assert_eq!(refused, Err(GridError::Probability { table: "pi", feature: 0, cell: 3 }));
    learner.update(&mut room, replace).unwrap();
    let refused = learner.update(&mut room, |grid| grid.buffer_mut()[3] = 0.9);
    assert_eq!(refused, Err(GridError::NotNormalised { table: "pi", cell: 3 }));
    learner.update(&mut room, replace).unwrap();
    let refused = learner.update(&mut room, |grid| grid.buffer_mut()[3 * 9 + 5] = 0.0);
    assert_eq!(refused, Err(GridError::Alpha { window: 5 }));

    let (grid, means) = learner.into_parts();
    assert_eq!(grid.plane(1), other.plane(1));
    assert_eq!(means.buffer(), expected.buffer());
}

/// What is read of packed tables is what was put in, and only what there is.
#[test]
fn planes_are_read_by_window() {
    let p = problem();
    let (means, h) = (means::<f64, 1>(&p, 3.0), p.naive_h());
    let mut plane = vec![0.0; 9];
    for z in 0..3 {
        means.window_means(z, &mut plane).unwrap();
        assert!(plane.iter().zip(&h).all(|(&found, h)| near(found, h[z])));
    }
    means.alpha(&mut plane).unwrap();
    assert_eq!(plane, alpha(&p, 3.0));
    let features = Err(GridError::Features { expected: 3, found: 3 });
    assert_eq!(means.window_means(3, &mut plane), features);
    assert_eq!(
        means.window_means(0, &mut plane[1..]),
        Err(GridError::Length { table: "h", expected: 9, found: 8 })
    );
    assert_eq!(
        means.alpha(&mut plane[1..]),
        Err(GridError::Length { table: "alpha", expected: 9, found: 8 })
    );
    let sums: Statistics<f64, Vec<f64>, 1> = statistics(p.shape(), 1);
    assert_eq!(sums.window_counts(3, &mut plane), features);
    let short = Err(GridError::Length { table: "plane", expected: 9, found: 8 });
    assert_eq!(sums.window_counts(0, &mut plane[1..]), short);
}
