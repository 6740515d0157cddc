//! Inference of componential grids where weights underflow, where windows come back, and when it ends.

use crate::common::{Problem, normalised};
use crate::componential::{
    alpha, learner, means, naive_bound, naive_gamma, naive_q, naive_sweep, near, scratch, statistics, sweeps,
};
use countgrid_counts::{Bag, Dense};
use countgrid_em::{Fit, FreeEnergy, Learn};
use countgrid_grid::componential::{ComponentialGrid, Inference, Options, Terms, WindowMeans, means_len};
use countgrid_grid::{Grid, GridError, Grouping, Shape};
use countgrid_math::{Real, digamma};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Sixteen windows share two features; the others have a feature that no bag has, and two of them, in tiles of their own,
/// share the third feature. So few tokens have it that these windows never come near those of the first two.
fn far_away() -> Problem<1> {
    let row = |cell: usize| match cell {
        0..16 => normalised(vec![1.0 + cell as f64, 20.0 - cell as f64, 0.0, 0.0]),
        20 | 45 => vec![0.0, 0.0, 0.5, 0.5],
        _ => vec![0.0, 0.0, 0.0, 1.0],
    };
    Problem {
        extents: [64],
        sides: [1],
        features: 4,
        counts: vec![vec![5.0, 3.0, 2e-4, 0.0], vec![0.0, 9.0, 1e-4, 0.0], vec![2.0, 2.0, 0.0, 0.0]],
        pi: (0..64).map(row).collect(),
        prior: vec![1.0 / 64.0; 64],
    }
}

/// `exp(ψ(2e-4))` is far below the floats, and so is all that these windows weigh.
#[test]
fn features_whose_windows_have_no_weight_go_by_logarithms() {
    let (p, total) = (far_away(), 64e-4);
    let (means, alpha, flat) = (means::<f64, 1>(&p, total), alpha(&p, total), p.flat());
    assert_eq!(f64::exp(digamma(2e-4)), 0.0);
    let (bags, h) = (Dense::new(p.features, &flat).unwrap(), p.naive_h());
    let mut room = scratch(&p.shape());
    for n in 1..6 {
        let mut counts = vec![vec![0.0; p.cells()]; p.features];
        for t in 0..p.counts.len() {
            let posterior = means.posterior(&bags, t, sweeps(n), &mut room).unwrap();
            let expected = naive_gamma(&p, t, &alpha, n);
            let mut found = vec![f64::NAN; p.cells()];
            posterior.gamma(&mut found).unwrap();
            assert!(
                found.iter().zip(&expected).all(|(&a, &b)| near(a, b)),
                "{n} {t}: {found:?} {expected:?}"
            );
            // The rare feature is halved between two windows, to 1e-4 of what it is itself.
            let half = p.counts[t][2] / 2.0;
            assert!([20, 45].iter().all(|&l| (found[l] - alpha[l] - half).abs() <= 1e-14), "{found:?}");
            let bound = naive_bound(&p, t, &alpha, &expected);
            assert!(near(posterior.bound(), bound), "{n} {t}: {} {bound}", posterior.bound());
            posterior.expected_tokens(&mut found).unwrap();
            let next = naive_sweep(&p, t, &alpha, &expected);
            assert!((0..p.cells()).all(|l| near(found[l], next[l] - alpha[l])), "{n} {t}: {found:?}");
            assert!([20, 45].iter().all(|&l| (found[l] - half).abs() <= 1e-14), "{found:?}");
            for (z, (q, _)) in naive_q(&h, &expected, p.features).iter().enumerate() {
                counts[z].iter_mut().zip(q).filter(|_| p.counts[t][z] > 0.0).for_each(|(sum, q)| {
                    *sum += p.counts[t][z] * q;
                });
            }
        }
        // What an E-step adds up are the tokens of all bags, before the last sweep moves them on.
        let learner = learner::<f64, 1>(&p, total, Options { inference: sweeps(n), ..Options::default() });
        for chunk in [1, 2, 5] {
            let (mut sums, mut plane) = (statistics(p.shape(), chunk), vec![0.0; p.cells()]);
            learner.expectation(&bags, &mut sums).unwrap();
            for (z, expected) in counts.iter().enumerate() {
                sums.window_counts(z, &mut plane).unwrap();
                assert!(plane.iter().zip(expected).all(|(&a, &b)| near(a, b)), "{n} {z}: {plane:?}");
            }
            sums.window_counts(2, &mut plane).unwrap();
            assert!([20, 45].iter().all(|&l| (plane[l] - 1.5e-4).abs() <= 1e-14), "{plane:?}");
        }
    }
}

/// Terms of such bags are those of the definition too.
#[test]
fn terms_are_what_the_definition_says() {
    let near_by = Problem::<2> {
        extents: [3, 5],
        sides: [2, 3],
        features: 3,
        counts: vec![vec![4.0, 0.0, 7.0], vec![1.0, 1.0, 0.0], vec![0.0, 0.0, 0.0]],
        pi: (0..15).map(|i| normalised(vec![1.0 + i as f64, 3.0, 9.0 - 0.5 * i as f64])).collect(),
        prior: normalised((0..15).map(|i| 2.0 + (i * 7 % 5) as f64).collect()),
    };
    check(&near_by, 5.0);
    check(&far_away(), 64e-4);

    fn check<const D: usize>(p: &Problem<D>, total: f64) {
        let (means, alpha, h) = (means::<f64, D>(p, total), alpha(p, total), p.naive_h());
        let (cells, features) = (p.cells(), p.features);
        for (t, counts) in p.counts.iter().enumerate() {
            let gamma = naive_gamma(p, t, &alpha, 4);
            let sum = digamma(gamma.iter().sum::<f64>());
            let log = |l: usize| digamma(gamma[l]) - sum;
            let q = naive_q(&h, &gamma, features);
            let tokens = |l: usize, z: usize| if counts[z] > 0.0 { counts[z] * q[z].0[l] } else { 0.0 };
            let xlog = |x: f64, y: f64| if x > 0.0 { x * y.ln() } else { 0.0 };
            let over = |term: &dyn Fn(usize) -> f64| (0..cells).map(term).collect::<Vec<_>>();
            let ln_gamma = countgrid_math::ln_gamma::<f64>;
            let theta = [
                over(&|l| ln_gamma(alpha[l]) - (alpha[l] - 1.0) * log(l)),
                over(&|l| (gamma[l] - 1.0) * log(l) - ln_gamma(gamma[l])),
                vec![-ln_gamma(alpha.iter().sum()), ln_gamma(gamma.iter().sum())],
            ]
            .concat();
            let by_feature = (0..features).map(|z| if counts[z] > 0.0 { -counts[z] * q[z].1 } else { 0.0 });
            let windows = [
                over(&|l| -log(l) * (0..features).map(|z| tokens(l, z)).sum::<f64>()),
                over(&|l| (0..features).map(|z| xlog(tokens(l, z), q[z].0[l])).sum()),
            ]
            .concat();
            let each: Vec<f64> = (0..cells * features)
                .map(|at| -xlog(tokens(at / features, at % features), h[at / features][at % features]))
                .collect();
            let summed = each.chunks_exact(features).map(|row| row.iter().sum()).collect::<Vec<f64>>();
            for (grouping, words) in [
                (Grouping::Feature, by_feature.collect()),
                (Grouping::Location, [windows.clone(), summed].concat()),
                (Grouping::Each, [windows.clone(), each.clone()].concat()),
            ] {
                let expected = [theta.clone(), words].concat();
                let model = Terms::new(&means, sweeps(4), grouping);
                let used: Vec<u32> = (0..features as u32).filter(|&z| counts[z as usize] > 0.0).collect();
                let values: Vec<f64> = used.iter().map(|&z| counts[z as usize]).collect();
                let bag = Bag::new(features, &used, &values).unwrap();
                let mut found = vec![f64::NAN; model.term_count(&bag)];
                let mut room = vec![f64::NAN; model.scratch_len(&bag)];
                model.free_energy_terms(&bag, &mut found, &mut room).unwrap();
                assert_eq!(found.len(), expected.len());
                for (at, (&a, &b)) in found.iter().zip(&expected).enumerate() {
                    assert!(near(a, b), "{grouping:?} {t} {at}: {a} {b}");
                }
            }
        }
    }
}

/// Windows whose start is `alpha` are out of sight at first: where they matter they come in at once.
#[test]
fn windows_that_start_at_alpha_come_in_if_they_matter() {
    let mut p = far_away();
    p.counts = vec![vec![5.0, 3.0, 2.0, 1.0]];
    for total in [64.0, 0.64, 6400.0] {
        let (means, alpha, flat) = (means::<f64, 1>(&p, total), alpha(&p, total), p.flat());
        let bags = Dense::new(p.features, &flat).unwrap();
        let mut start = alpha.clone();
        start[1] += 2.0;
        let mut room = scratch(&p.shape());
        let posterior = means.posterior_from(&bags, 0, sweeps(1), Some(&start), &mut room).unwrap();
        let mut gamma = vec![0.0; p.cells()];
        posterior.gamma(&mut gamma).unwrap();
        let expected = naive_sweep(&p, 0, &alpha, &start);
        assert!(gamma.iter().zip(&expected).all(|(&a, &b)| near(a, b)), "{total}: {gamma:?} {expected:?}");
        assert!(near(posterior.bound(), naive_bound(&p, 0, &alpha, &expected)));
    }
}

/// A thousand windows, each out of sight, have together more than a rounding of a feature's tokens.
#[test]
fn many_windows_left_out_matter_together() {
    let (cells, little, even) = (1024, 1e-9f32, 0.0285f32);
    let shape = Shape::from_sides([cells], [1], 2).unwrap();
    let first = |cell: usize| if cell == 3 { 1.0f32 } else { 0.0 };
    let second = |cell: usize| if cell == 3 { little } else { 1.0 };
    let tables = (0..cells).map(first).chain((0..cells).map(second)).chain((0..cells).map(|_| even));
    let grid = ComponentialGrid::new(shape, tables.collect::<Vec<_>>()).unwrap();
    let packed = vec![0.0; means_len::<f32, 1>(&shape)];
    let means = WindowMeans::pack(&grid, packed, &mut vec![0.0; shape.plane_scratch_len()]).unwrap();
    let mut start = vec![even; cells];
    start[3] = 10.0;
    let x = (digamma(f64::from(even)) - digamma(10.0)).exp();
    let u = f64::from(f32::UNIT_ROUNDOFF);
    assert!(x < u * u && x < u * f64::from(little), "no window alone is in sight");
    let mut room = vec![0.0; countgrid_grid::componential::posterior_scratch_len::<f32, 1>(&shape)];
    let (features, counts) = ([0, 1], [8u32, 2]);
    let bag = Bag::new(2, &features, &counts).unwrap();
    let posterior = means.posterior_from(&bag, 0, sweeps(1), Some(&start), &mut room).unwrap();
    let mut gamma = vec![0.0; cells];
    posterior.gamma(&mut gamma).unwrap();
    let others = 1023.0 * x;
    let lost = 2.0 * others / (f64::from(little) + others);
    assert!(lost > 5e-5);
    // A few roundings of a number about ten.
    let expected = f64::from(even) + 10.0 - lost;
    assert!((f64::from(gamma[3]) - expected).abs() < 1e-5, "{} {expected}", gamma[3]);
}

/// A sweep is the last if all that `gamma` moved is within the tolerance, as a share of the bag's tokens.
#[test]
fn inference_ends_with_the_first_sweep_within_the_tolerance() {
    let p = Problem::<2> {
        extents: [3, 5],
        sides: [2, 2],
        features: 3,
        counts: vec![vec![40.0, 3.0, 17.0], vec![1.0, 0.0, 2.0]],
        pi: (0..15)
            .map(|i| normalised(vec![1.0 + (i * 4 % 15) as f64, 3.0, 12.0 - 0.7 * i as f64]))
            .collect(),
        prior: vec![1.0 / 15.0; 15],
    };
    let (means, alpha, flat) = (means::<f64, 2>(&p, 2.0), alpha(&p, 2.0), p.flat());
    let bags = Dense::new(p.features, &flat).unwrap();
    let mut room = scratch(&p.shape());
    for (t, counts) in p.counts.iter().enumerate() {
        let tokens: f64 = counts.iter().sum();
        let mut gamma = vec![naive_gamma(&p, t, &alpha, 0)];
        let mut moved = |n: usize| -> f64 {
            while gamma.len() <= n {
                gamma.push(naive_sweep(&p, t, &alpha, &gamma[gamma.len() - 1]));
            }
            gamma[n].iter().zip(&gamma[n - 1]).map(|(a, b)| (a - b).abs()).sum()
        };
        let mut ends = Vec::new();
        for tolerance in [0.3, 0.03, 3e-3, 3e-4] {
            let last = (1..).find(|&n| moved(n) <= tolerance * tokens).unwrap();
            let inference = |sweeps| Inference { sweeps, tolerance };
            let posterior = means.posterior(&bags, t, inference(1000), &mut room).unwrap();
            assert_eq!((posterior.sweeps(), posterior.has_converged()), (last, true), "{t} {tolerance}");
            let posterior = means.posterior(&bags, t, inference(last), &mut room).unwrap();
            assert_eq!((posterior.sweeps(), posterior.has_converged()), (last, true), "{t} {tolerance}");
            if last > 1 {
                let posterior = means.posterior(&bags, t, inference(last - 1), &mut room).unwrap();
                assert_eq!((posterior.sweeps(), posterior.has_converged()), (last - 1, false));
            }
            ends.push(last);
        }
        assert!(ends.is_sorted() && ends[0] < ends[2], "{ends:?}");
    }
}

/// Also what windows lose that are left out is a change of `gamma`.
#[test]
fn what_is_left_out_has_moved() {
    let shape = Shape::from_sides([64], [1], 2).unwrap();
    let first = |cell: usize| f64::from(u8::from(cell == 3));
    let tables = (0..64).map(first).chain((0..64).map(|cell| 1.0 - first(cell))).chain((0..64).map(|_| 1e-3));
    let grid = ComponentialGrid::new(shape, tables.collect::<Vec<_>>()).unwrap();
    let packed = vec![0.0; means_len::<f64, 1>(&shape)];
    let means = WindowMeans::pack(&grid, packed, &mut vec![0.0; shape.plane_scratch_len()]).unwrap();
    let mut start = [1e-3; 64];
    (start[3], start[50]) = (10.001, 0.013); // the first is where it stays, the second goes back to `alpha`
    assert!((digamma(0.013f64) - digamma(10.001)).exp() < f64::UNIT_ROUNDOFF * f64::UNIT_ROUNDOFF);
    let bag = Bag::new(2, &[0], &[10u32]).unwrap();
    for (tolerance, last) in [(1.3e-3, 1), (1.1e-3, 2)] {
        let (inference, mut room) = (Inference { sweeps: 9, tolerance }, scratch(&shape));
        let posterior = means.posterior_from(&bag, 0, inference, Some(&start), &mut room).unwrap();
        assert_eq!((posterior.sweeps(), posterior.has_converged()), (last, true), "{tolerance}");
        let mut gamma = [0.0; 64];
        posterior.gamma(&mut gamma).unwrap();
        assert_eq!(gamma[50], 1e-3);
    }
}

#[test]
fn uniform_grids_are_equal_cells_and_random_ones_are_drawn() {
    let shape = Shape::from_sides([5], [2], 4).unwrap();
    let mut grid = ComponentialGrid::uniform_in(shape, [f64::NAN; 25], 3.0).unwrap();
    assert!((0..4).all(|z| grid.plane(z) == [0.25; 5]));
    assert_eq!(grid.alpha(), [3.0 / 5.0; 5]);
    // As a counting grid is.
    let mut other = Grid::uniform_in(shape, [f64::NAN; 25]).unwrap();
    grid.randomize(&mut ChaCha8Rng::seed_from_u64(3));
    other.randomize(&mut ChaCha8Rng::seed_from_u64(3));
    assert!((0..4).all(|z| grid.plane(z) == other.plane(z) && grid.plane(z) != [0.25; 5]));
    assert_eq!(grid.alpha(), [3.0 / 5.0; 5]);

    let alpha = [0.5, 1.0, 2.0, 0.25, 4.0];
    grid.set_alpha(&alpha).unwrap();
    assert!(grid.alpha() == alpha && (0..4).all(|z| grid.plane(z) == other.plane(z)));
    let length = GridError::Length { table: "alpha", expected: 5, found: 4 };
    assert_eq!(grid.set_alpha(&alpha[1..]), Err(length));
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.0 / f64::FLOOR] {
        assert_eq!(grid.set_alpha(&[1.0, wrong, 1.0, 1.0, 1.0]), Err(GridError::Alpha { window: 1 }));
        assert_eq!(grid.alpha(), alpha);
    }
}

/// So many windows have weight that their tiles are more than a tile's lanes.
#[test]
fn the_bound_of_a_bag_is_over_all_of_its_windows() {
    let cells = 300;
    let p = Problem::<1> {
        extents: [cells],
        sides: [1],
        features: 2,
        counts: vec![vec![7.0, 2.0]],
        pi: (0..cells).map(|i| normalised(vec![1.0 + (i % 3) as f64, 2.0])).collect(),
        prior: vec![1.0 / cells as f64; cells],
    };
    let (means, alpha, flat) = (means::<f64, 1>(&p, 60.0), alpha(&p, 60.0), p.flat());
    let bags = Dense::new(p.features, &flat).unwrap();
    let mut room = scratch(&p.shape());
    let posterior = means.posterior(&bags, 0, sweeps(3), &mut room).unwrap();
    let bound = naive_bound(&p, 0, &alpha, &naive_gamma(&p, 0, &alpha, 3));
    assert!(near(posterior.bound(), bound), "{} {bound}", posterior.bound());
}

/// Windows of one cell each are topics, of which two may be the same.
#[test]
fn topics_that_coincide_are_counted() {
    let count = |rows: [[f64; 2]; 4], side: usize| {
        let p = Problem::<1> {
            extents: [4],
            sides: [side],
            features: 2,
            counts: vec![vec![2.0, 1.0]],
            pi: rows.map(|row| row.to_vec()).to_vec(),
            prior: vec![0.25; 4],
        };
        learner::<f64, 1>(&p, 2.0, Options::default()).coinciding_components()
    };
    let (distinct, same) =
        ([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.0, 1.0]], [[0.9, 0.1], [0.6, 0.4], [0.6, 0.4], [0.6, 0.4]]);
    assert_eq!([count(distinct, 1), count(same, 1)], [Some(0), Some(2)]);
    assert_eq!([count(distinct, 2), count(same, 2)], [None, None]);
}
