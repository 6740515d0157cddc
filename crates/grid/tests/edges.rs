//! What is refused, and what happens at the ends of the float range.

use crate::common::*;
use countgrid_counts::{Bag, Dense};
use countgrid_em::Fit;
use countgrid_grid::{
    Grid, GridError, Learner, LogHistograms, Options, Posterior, PosteriorThreshold, Shape, Statistics,
};
use countgrid_math::Real;
use countgrid_torus::{Torus, Windows};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

fn shape(extent: usize, side: usize, features: usize) -> Shape<1> {
    Shape::new(Windows::new(Torus::new([extent]).unwrap(), [side]).unwrap(), features).unwrap()
}

fn two_cells(pi: [f64; 4], counts: Vec<Vec<f64>>) -> Problem<1> {
    Problem {
        extents: [2],
        sides: [1],
        features: 2,
        counts,
        pi: vec![vec![pi[0], pi[1]], vec![pi[2], pi[3]]],
        prior: vec![0.5, 0.5],
    }
}

#[test]
fn shapes_that_no_memory_holds_are_refused() {
    let windows = Windows::new(Torus::new([usize::MAX / 2]).unwrap(), [1]).unwrap();
    assert!(matches!(Shape::new(windows, 5), Err(GridError::TooLarge { .. })));
    let windows = Windows::new(Torus::new([1 << 20, 1 << 20]).unwrap(), [1, 1]).unwrap();
    assert!(matches!(Shape::new(windows, usize::MAX), Err(GridError::TooLarge { .. })));
    assert_eq!(Shape::new(windows, 0), Err(GridError::NoFeatures));
    assert!(matches!(Shape::new(windows, 5), Err(GridError::TooLarge { .. }))); // more than 2^28 cells
    let windows = Windows::new(Torus::new([1 << 14, 1 << 14]).unwrap(), [1, 1]).unwrap();
    let shape = Shape::new(windows, 1 << 28).unwrap(); // can be addressed, not held
    assert!(matches!(Grid::<f64, _, 2>::uniform(shape), Err(GridError::TooLarge { .. })));
}

#[test]
fn tables_that_are_no_grid_are_refused() {
    let shape = shape(2, 1, 2);
    let new = |tables: [f64; 6]| Grid::<f64, _, 1>::new(shape, tables).map(|_| ());
    assert_eq!(new([0.5, 0.5, 0.5, 0.5, 0.5, 0.5]), Ok(()));
    let at = |table, feature, cell| Err(GridError::Probability { table, feature, cell });
    assert_eq!(new([0.5, 0.5, -0.5, 0.5, 0.5, 0.5]), at("pi", 1, 0));
    assert_eq!(new([0.5, f64::NAN, 0.5, 0.5, 0.5, 0.5]), at("pi", 0, 1));
    assert_eq!(new([0.5, 0.5, 0.5, 0.5, 0.5, f64::INFINITY]), at("prior", 0, 1));
    assert_eq!(new([0.5, 0.5, 0.4, 0.5, 0.5, 0.5]), Err(GridError::NotNormalised { table: "pi", cell: 0 }));
    assert_eq!(
        new([0.5, 0.5, 0.5, 0.5, 0.5, 0.0]),
        Err(GridError::NotNormalised { table: "prior", cell: 0 })
    );
    let length = GridError::Length { table: "grid", expected: 6, found: 5 };
    assert_eq!(Grid::<f64, _, 1>::new(shape, [0.5; 5]).map(|_| ()), Err(length));
}

#[test]
fn packed_tables_that_are_no_logarithms_are_refused() {
    // Two cells leave most of a tile as padding, which has no prior.
    let padded = shape(2, 1, 2);
    let refused = LogHistograms::<f32, _, 1>::new(padded, vec![-1.0; padded.histograms_len::<f32>()]);
    assert_eq!(refused.unwrap_err(), GridError::Padding { tile: 0 });
    let shape = shape(2 * f32::LANES, 1, 2);
    let packed = vec![-1.0f32; shape.histograms_len::<f32>()];
    assert!(LogHistograms::new(shape, packed.as_slice()).is_ok());
    for wrong in [f32::NAN, 1.0, f32::INFINITY] {
        let mut packed = packed.clone();
        packed[40] = wrong;
        assert!(LogHistograms::new(shape, packed.as_slice()).is_err(), "{wrong}");
    }
    assert!(LogHistograms::new(shape, &packed[1..]).is_err());
}

#[test]
fn options_that_mean_nothing_are_refused() {
    let p = two_cells([0.5, 0.5, 0.5, 0.5], vec![]);
    let new = |options| {
        let mut scratch = vec![0.0f32; p.shape().plane_scratch_len()];
        let packed = vec![0.0; p.shape().histograms_len::<f32>()];
        let grid = Grid::new(p.shape(), p.tables::<f32>()).unwrap();
        Learner::new(grid, packed, &mut scratch, options).map(|_| ())
    };
    assert_eq!(new(Options::default()), Ok(()));
    for pseudocount in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        assert_eq!(new(Options { pseudocount, ..Options::default() }), Err(GridError::Pseudocount));
        let options = Options { prior_pseudocount: pseudocount, ..Options::default() };
        assert_eq!(new(options), Err(GridError::Pseudocount));
    }
    assert_eq!(new(Options { inner_passes: 0, ..Options::default() }), Err(GridError::NoPasses));
    for nats in [0.0, -1.0, f64::NAN] {
        assert_eq!(
            new(Options { posterior_threshold: PosteriorThreshold::Nats(nats), ..Options::default() }),
            Err(GridError::PosteriorThreshold)
        );
    }
}

#[test]
fn batches_and_statistics_of_another_shape_are_refused() {
    let p = two_cells([0.5, 0.5, 0.5, 0.5], vec![vec![1.0, 2.0]]);
    let (learner, mut statistics) = (p.learner::<f64>(Options::default()), p.statistics(1));
    let wide = Dense::new(3, &[1.0, 2.0, 3.0]).unwrap();
    let wrong = GridError::Features { expected: 2, found: 3 };
    assert_eq!(learner.expectation(&wide, &mut statistics), Err(wrong));
    let other = shape(3, 1, 2);
    let sums = vec![0.0; other.sums_len::<f64>()];
    let mut foreign = Statistics::new(other, sums, vec![0.0; other.scratch_len::<f64>(1)]).unwrap();
    let bags = Dense::new(2, &[1.0, 2.0]).unwrap();
    assert_eq!(learner.expectation(&bags, &mut foreign), Err(GridError::ShapeMismatch));
    assert_eq!(learner.bound(&foreign), Err(GridError::ShapeMismatch));
    let mut q = [0.0; 2];
    let mut scratch = vec![0.0; p.shape().posterior_scratch_len::<f64>(1)];
    let outside = GridError::NoSuchBag { bag: 1, bags: 1 };
    assert_eq!(learner.histograms().posterior(&bags, 1, &mut q, &mut scratch), Err(outside));
    let short = learner.histograms().posterior(&bags, 0, &mut q, &mut scratch[1..]);
    assert!(matches!(short, Err(GridError::Length { table: "scratch", .. })));
}

#[test]
fn counts_beyond_the_float_range_are_an_error_and_no_nan() {
    let p = two_cells([0.5, 0.5, 1.0, 0.0], vec![vec![1.0, 1.0], vec![1e38, 1e38]]);
    let (learner, mut statistics) = (p.learner::<f32>(Options::default()), p.statistics::<f32>(4));
    assert_eq!(p.e_step(&learner, &mut statistics), Err(GridError::Overflow { bag: 1 }));
    // A count that is infinite in f32, on a window that is certain of its feature.
    let p = two_cells([1.0, 0.0, 1.0, 0.0], vec![vec![1e300, 0.0]]);
    let (learner, mut statistics) = (p.learner::<f32>(Options::default()), p.statistics::<f32>(4));
    assert_eq!(p.e_step(&learner, &mut statistics), Err(GridError::Overflow { bag: 0 }));
    // Scores overflow before the tokens do: 1e37 times the logarithm of the floor, in either window.
    let p = two_cells([1.0, 0.0, 0.0, 1.0], vec![vec![1e37, 1e37]]);
    let (learner, mut statistics) = (p.learner::<f32>(Options::default()), p.statistics::<f32>(4));
    assert_eq!(p.e_step(&learner, &mut statistics), Err(GridError::Overflow { bag: 0 }));
    let mut scratch = vec![0.0; p.shape().posterior_scratch_len::<f32>(1)];
    let bags = Dense::new(2, &[1e37, 1e37]).unwrap();
    let refused = learner.histograms().posterior(&bags, 0, &mut [0.0; 2], &mut scratch);
    assert_eq!(refused, Err(GridError::Overflow { bag: 0 }));
    // Of several bags the first is named, whichever thread finds one first.
    let bags = Dense::new(2, &[1.0, 2.0, 1e37, 1e37, 3.0, 1.0, 1e37, 1e37]).unwrap();
    let mut scratches = vec![0.0; p.shape().posterior_scratch_len::<f32>(4)];
    let refused = learner
        .histograms()
        .posteriors_into(&bags, &mut scratches, &mut [0; 4], |_, q, mode| *mode = q.mode());
    assert_eq!(refused, Err(GridError::Overflow { bag: 1 }));
    // The same where no window knows a feature: only the evidence is beyond f32, and the free energy is in f64.
    let p = two_cells([1.0, 0.0, 1.0, 0.0], vec![vec![0.0, 1e37]]);
    let (learner, mut statistics) = (p.learner::<f32>(Options::default()), p.statistics::<f32>(4));
    let bound = p.e_step(&learner, &mut statistics).unwrap();
    assert!(bound.is_finite() && bound < -f64::from(f32::MAX));
    let bags = Dense::new(2, &[0.0, 1e37]).unwrap();
    let refused = learner.histograms().posterior(&bags, 0, &mut [0.0; 2], &mut scratch);
    assert_eq!(refused, Err(GridError::Overflow { bag: 0 }));
    // Bags that only overflow together.
    let p = two_cells([0.5, 0.5, 0.5, 0.5], vec![vec![3e36, 0.0]; 100]);
    let (learner, mut statistics) = (p.learner::<f32>(Options::default()), p.statistics::<f32>(7));
    assert!(matches!(p.e_step(&learner, &mut statistics), Err(GridError::Overflow { bag: 1.. })));
}

#[test]
fn a_feature_that_no_window_knows_costs_all_windows_the_same() {
    let p = two_cells([1.0, 0.0, 1.0, 0.0], vec![vec![0.0, 3.0]]);
    fn check<T: Real>(p: &Problem<1>) {
        let learner = p.learner::<T>(Options::default());
        let (q, evidence) = p.place(&learner);
        assert_eq!(q, [[0.5, 0.5]]);
        assert!(evidence[0].is_finite() && evidence[0] < -200.0);
        let (learner, chain) = p.fit::<T>(Options::default(), 3);
        assert!(chain.iter().all(|bound| bound.is_finite()));
        assert_eq!(rows(&learner), p.pi); // no mass anywhere: every row keeps its distribution
    }
    check::<f32>(&p);
    check::<f64>(&p);
}

#[test]
fn cells_without_mass_keep_their_distribution() {
    // All mass sits at the window of cells 0 and 1: cells 2 to 5 are in none.
    let mut p = Problem::<1> {
        extents: [6],
        sides: [2],
        features: 2,
        counts: vec![vec![5.0, 3.0]],
        pi: (0..6).map(|i| normalised(vec![1.0 + i as f64, 2.0])).collect(),
        prior: vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    };
    let (learner, _) = p.fit::<f64>(Options { inner_passes: 3, ..Options::default() }, 4);
    let fitted = rows(&learner);
    assert_eq!(fitted[2..], p.pi[2..]);
    assert!(distance(&fitted[..2], &p.pi[..2]) > 0.01);
    // As in the definition.
    assert_eq!(p.naive_iteration(0.0).0[2..], p.pi[2..]);
    // With a pseudocount they have mass, of their own.
    let (learner, _) = p.fit::<f64>(Options { pseudocount: 0.5, ..Options::default() }, 1);
    assert_eq!(rows(&learner)[4], [0.5, 0.5]);
    // A learned prior of zero stays zero.
    p.counts.push(vec![0.0, 9.0]);
    let (learner, _) = p.fit::<f64>(Options { learn_prior: true, ..Options::default() }, 3);
    assert_eq!(prior(&learner), p.prior);
}

/// Entries of `pi` at the bottom of the float range, where quotients by window sums overflow.
#[test]
fn tiny_probabilities_stay_finite() {
    for tiny in [1e-30, 1e-37, 1e-40, 1e-45] {
        let p = Problem::<1> {
            extents: [5],
            sides: [3],
            features: 2,
            counts: vec![vec![1e6, 4.0], vec![0.0, 1e4]],
            pi: vec![vec![1.0, tiny]; 5],
            prior: vec![0.2; 5],
        };
        let (learner, chain) = p.fit::<f32>(Options::default(), 5);
        assert!(rows(&learner).iter().flatten().all(|x| x.is_finite()), "{tiny}");
        assert!(chain.iter().all(|bound| bound.is_finite()), "{tiny}: {chain:?}");
    }
}

#[test]
fn random_and_refined_grids_are_grids() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut coarse = Grid::<f32, _, 2>::uniform(plane([3, 4])).unwrap();
    coarse.randomize(&mut rng);
    assert!(
        Grid::<f32, _, 2>::new(
            plane([3, 4]),
            coarse.tables().0.iter().chain(coarse.prior()).copied().collect::<Vec<_>>()
        )
        .is_ok()
    );
    let mut fine = Grid::<f32, _, 2>::uniform(plane([7, 8])).unwrap();
    fine.refine(&coarse, 0.0, &mut rng).unwrap();
    for z in 0..5 {
        // Rows 0 to 2 of 7 lie in row 0 of 3 (0, 3/7, 6/7), rows 3 and 4 in row 1, 5 and 6 in row 2.
        for (x, parent) in [0, 0, 0, 1, 1, 2, 2].into_iter().enumerate() {
            for y in 0..8 {
                let (fine, coarse) = (fine.plane(z)[8 * x + y], coarse.plane(z)[4 * parent + y / 2]);
                assert!((fine - coarse).abs() <= 4.0 * f32::EPSILON * coarse);
            }
        }
    }
    fine.refine(&coarse, 0.5, &mut rng).unwrap();
    let column: f32 = (0..5).map(|z| fine.plane(z)[10]).sum();
    assert!((column - 1.0).abs() < 5.0 * f32::EPSILON);
    assert_ne!(fine.plane(0)[0], fine.plane(0)[1]);
    assert_eq!(fine.refine(&coarse, 1.0, &mut rng), Err(GridError::Noise));
    assert_eq!(fine.refine(&coarse, f64::NAN, &mut rng), Err(GridError::Noise));
}

fn plane(extents: [usize; 2]) -> Shape<2> {
    Shape::new(Windows::new(Torus::new(extents).unwrap(), [2, 2]).unwrap(), 5).unwrap()
}

#[test]
fn the_best_windows_are_those_of_the_whole_posterior() {
    for cells in [1, 7, 40] {
        let shape = Shape::new(Windows::new(Torus::new([cells]).unwrap(), [1]).unwrap(), 5).unwrap();
        let mut grid = Grid::<f32, _, 1>::uniform(shape).unwrap();
        grid.randomize(&mut ChaCha8Rng::seed_from_u64(cells as u64));
        let learner = Learner::from_grid(grid, Options::default()).unwrap();
        let bags = Dense::new(5, &[1u8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1]).unwrap();
        let mut scratch = vec![0.0; shape.posterior_scratch_len::<f32>(4)];
        let mut seen = 0;
        let visit = |_, posterior: &Posterior<'_, f32, 1>| {
            let mut all = Vec::new();
            posterior.for_each(|cell, q| all.push((cell, q)));
            all.sort_by(|a, b| b.1.total_cmp(&a.1)); // stable
            for room in [0, 1, 3, 8, 50] {
                let mut best = vec![(usize::MAX, -1.0); room];
                let found = posterior.best(&mut best);
                assert_eq!(found, room.min(all.len()));
                assert_eq!(best[..found], all[..found]);
                assert!(best[found..].iter().all(|&left| left == (usize::MAX, -1.0)));
            }
            seen += 1;
        };
        learner.histograms().posteriors(&bags, &mut scratch, visit).unwrap();
        assert_eq!(seen, 3);
    }
}

/// A window that the prior excludes is none of those of a posterior, whose best are then fewer than were asked for.
#[test]
fn windows_without_probability_are_left_out() {
    let p = Problem::<1> {
        extents: [4],
        sides: [2],
        features: 2,
        counts: vec![vec![2.0, 1.0]],
        pi: [0.9, 0.5, 0.2, 0.4].map(|p| vec![p, 1.0 - p]).to_vec(),
        prior: vec![0.3, 0.0, 0.3, 0.4],
    };
    let (learner, flat) = (p.learner::<f64>(Options::default()), p.flat());
    let mut room = vec![0.0; p.shape().posterior_scratch_len::<f64>(1)];
    let mut visited = Vec::new();
    let bags = Dense::new(2, &flat).unwrap();
    let found = learner.histograms().posteriors(&bags, &mut room, |_, posterior| {
        posterior.for_each(|cell, q| visited.push((cell, q)));
        let mut best = [(9, f64::NAN); 4];
        assert_eq!((posterior.best(&mut best), best[3].0), (3, 9));
        let mut by_place = best[..3].to_vec();
        by_place.sort_by_key(|&(cell, _)| cell);
        assert_eq!(by_place, visited);
    });
    found.unwrap();
    assert_eq!(visited.iter().map(|&(cell, _)| cell).collect::<Vec<_>>(), [0, 2, 3]);
    assert!(visited.iter().all(|&(_, q)| q > 0.0));
}

/// Of windows that are equally probable, those come first whose cells do, in whatever order tiles are visited; and by tiles a
/// posterior has the same probabilities as by cells.
#[test]
fn tiles_hold_the_whole_posterior() {
    fn check<T: Real, const D: usize>(extents: [usize; D]) {
        let shape = Shape::from_sides(extents, [1; D], 2).unwrap();
        let cells = shape.cells();
        // Every other cell, and each of the first three, has the first feature.
        let first = |cell: usize| T::from_f64(if cell.is_multiple_of(2) || cell < 3 { 0.9 } else { 0.1 });
        let prior = (0..cells).map(|_| T::from_f64(1.0 / cells as f64));
        let table = (0..cells).map(first).chain((0..cells).map(|cell| T::one() - first(cell))).chain(prior);
        let grid = Grid::new(shape, table.collect::<Vec<_>>()).unwrap();
        let mut scratch = vec![T::zero(); shape.plane_scratch_len() + shape.posterior_scratch_len::<T>(9)];
        let histograms =
            LogHistograms::pack(&grid, vec![T::zero(); shape.histograms_len::<T>()], &mut scratch).unwrap();
        for count in [1u32, 300] {
            let counts = [count, 0, 0, 0, count, count];
            let bags = Dense::new(2, &counts).unwrap();
            let visit = |_, posterior: &Posterior<'_, T, D>| {
                let (mut by_cell, mut by_tile) = (vec![T::zero(); cells], vec![T::zero(); cells]);
                posterior.for_each(|cell, q| by_cell[cell] = q);
                let mut by_slot = vec![T::zero(); shape.slots::<T>()];
                posterior.for_each_tile(|slot, q| by_slot[slot..slot + q.len()].copy_from_slice(q));
                shape.for_each_slot::<T>(|slot, cell| by_tile[cell] = by_slot[slot]);
                assert_eq!(by_tile, by_cell);
                let padding = by_slot.iter().filter(|&&q| q > T::zero()).count();
                assert_eq!(padding, by_cell.iter().filter(|&&q| q > T::zero()).count());
                let mut order: Vec<usize> = (0..cells).filter(|&cell| by_cell[cell] > T::zero()).collect();
                order.sort_by(|&a, &b| by_cell[b].partial_cmp(&by_cell[a]).unwrap()); // stable
                let mut best = vec![(0, T::zero()); 5];
                let found = posterior.best(&mut best);
                let expected: Vec<_> = order.iter().take(5).map(|&cell| (cell, by_cell[cell])).collect();
                assert_eq!(best[..found], expected);
                assert_eq!(posterior.mode(), order[0]);
            };
            histograms.posteriors(&bags, &mut scratch, visit).unwrap();
        }
    }
    check::<f32, 1>([1]);
    check::<f32, 2>([9, 23]);
    check::<f64, 2>([9, 23]);
    check::<f32, 3>([3, 11, 13]);
    check::<f64, 3>([2, 5, 7]);
    check::<f32, 2>([40, 40]);
}

/// An axis along which windows have one cell is a stack of grids: a bag's evidence is the mean of what it would be on
/// each, and its posterior divides among them.
#[test]
fn layers_are_grids_that_share_a_torus() {
    let shape = |extents: [usize; 3], sides| Shape::from_sides(extents, sides, 2).unwrap();
    let (stack, alone) = (shape([2, 3, 3], [1, 2, 2]), shape([1, 3, 3], [1, 2, 2]));
    // [feature][layer][cell]: a different gradient in each layer.
    let first = |layer: usize, cell: usize| 0.1 + 0.08 * cell as f64 + 0.05 * layer as f64;
    let table = |layers: &[usize]| -> Vec<f64> {
        let cells = || layers.iter().flat_map(|&layer| (0..9).map(move |cell| first(layer, cell)));
        let cells_in_all = 9.0 * layers.len() as f64;
        let prior = cells().map(|_| 1.0 / cells_in_all);
        cells().chain(cells().map(|p| 1.0 - p)).chain(prior).collect()
    };
    let posterior = |shape: Shape<3>, table: Vec<f64>| {
        let grid = Grid::new(shape, table).unwrap();
        let mut scratch = vec![0.0; shape.plane_scratch_len()];
        let histograms =
            LogHistograms::pack(&grid, vec![0.0; shape.histograms_len::<f64>()], &mut scratch).unwrap();
        let mut q = vec![0.0; shape.cells()];
        let bag = Bag::new(2, &[0, 1], &[3u32, 1]).unwrap();
        let mut scratch = vec![0.0; shape.posterior_scratch_len::<f64>(1)];
        (histograms.posterior(&bag, 0, &mut q, &mut scratch).unwrap(), q)
    };
    let (log_evidence, q) = posterior(stack, table(&[0, 1]));
    let layers = [posterior(alone, table(&[0])), posterior(alone, table(&[1]))];
    let mean = layers.iter().map(|(log_evidence, _)| log_evidence.exp() / 2.0).sum::<f64>();
    // Sums of four terms, products of four factors, exp and ln: some tens of roundings.
    let close = 64.0 * f64::EPSILON;
    assert!((log_evidence - mean.ln()).abs() < close * 8.0);
    for (layer, (own, places)) in layers.iter().enumerate() {
        let share = own.exp() / 2.0 / mean;
        for (cell, &place) in places.iter().enumerate() {
            assert!((q[layer * 9 + cell] - share * place).abs() < close);
        }
    }
}
