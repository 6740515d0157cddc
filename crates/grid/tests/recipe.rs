//! Shapes, schedules and options where nothing else is asked for; and how long buffers are, by their parts.

use countgrid_counts::Bag;
use countgrid_em::FreeEnergy;
use countgrid_grid::{
    COARSE_ITERATIONS, Grid, GridError, Grouping, Options, Shape, Sources, Terms, componential,
};
use countgrid_math::Real;

fn shape<const D: usize>(extents: [usize; D], sides: [usize; D]) -> Shape<D> {
    Shape::from_sides(extents, sides, 1000).unwrap()
}

#[test]
fn coarser_grids_have_half_the_extents_and_the_same_windows() {
    assert_eq!(shape([33, 32], [5, 5]).coarser(), Some(shape([17, 16], [5, 5])));
    assert_eq!(shape([17, 16], [5, 5]).coarser(), Some(shape([9, 8], [5, 5])));
    assert_eq!(shape([16, 9], [5, 5]).coarser(), Some(shape([8, 5], [5, 5])), "as far as it fits");
    assert_eq!(shape([16, 8], [5, 5]).coarser(), None, "128 cells are few");
    assert_eq!(shape([129], [5]).coarser(), Some(shape([65], [5])), "129 are not");
    assert_eq!(shape([16, 16], [8, 8]).coarser(), None, "8 x 8 would be one window");
    assert_eq!(shape([300, 1], [7, 1]).coarser(), Some(shape([150, 1], [7, 1])));
    assert_eq!(shape([3, 300], [1, 7]).coarser(), Some(shape([3, 150], [1, 7])), "three layers");
    assert_eq!(shape([300, 1], [1, 1]).coarser(), None, "a mixture is all layers");
}

#[test]
fn a_schedule_begins_small_and_ends_with_the_shape() {
    let square = |side| shape([side, side], [5, 5]);
    assert!(square(32).schedule().eq([8, 16, 32].map(square)));
    assert_eq!(square(32).schedule().len(), 3);
    assert!(square(8).schedule().eq([square(8)]));
    assert_eq!(COARSE_ITERATIONS, 10);
}

#[test]
fn options_follow_the_corpus() {
    let shape = shape([10, 10], [2, 2]);
    let pseudocount = |tokens| Options::for_corpus(&shape, tokens, 50).pseudocount;
    // Per feature and cell 0.01, 0.1, 0.5, 1, 4 tokens: a quarter, a hundredth, the same twice, and a fiftieth.
    assert_eq!([1e3, 1e4, 5e4, 1e5, 4e5].map(pseudocount), [0.0025, 0.01, 0.01, 0.02, 0.08]);
    let bags = |bags| Options::for_corpus(&shape, 1e4, bags).prior_pseudocount;
    assert_eq!([0, 50, 400].map(bags), [0.0, 0.01, 0.08]); // a fiftieth of a place's
    let options = Options::for_corpus(&shape, 1e4, 50);
    let Options { pseudocount, prior_pseudocount, .. } = options;
    assert_eq!(options, Options { pseudocount, prior_pseudocount, ..Options::default() });
}

/// Bytes and elements that a caller sets aside, some of them on a microcontroller: by the parts that they are for.
#[test]
fn lengths_are_sums_of_parts() {
    fn check<T: Real, const D: usize>(extents: [usize; D], sides: [usize; D], tiles: usize, bounds: usize) {
        let features = 7;
        let shape = Shape::from_sides(extents, sides, features).unwrap();
        let (cells, slots, lanes) = (shape.cells(), tiles * T::LANES, T::LANES);
        assert_eq!(shape.slots::<T>(), slots);
        assert_eq!(shape.grid_len(), features * cells + cells);
        assert_eq!(shape.histograms_len::<T>(), (slots + bounds * lanes) * (features + 1) + features);
        // Two column sums; of one feature sums, spread and counts, and what window sums need.
        let window = countgrid_prefix::scratch_len(shape.windows());
        let plane = shape.plane_scratch_len();
        assert_eq!(plane, 2 * cells + 3 * cells + window);
        let posterior =
            |bags: usize| 2 * lanes + tiles + bags * (tiles + 4 + lanes) + bags * tiles * (lanes + 3);
        for chunk in [0, 1, 2, 9] {
            let bags = chunk.max(1);
            assert_eq!(shape.posterior_scratch_len::<T>(chunk), posterior(bags));
            assert_eq!(shape.scratch_len::<T>(chunk), plane.max(posterior(bags)));
            // Four planes of tiles, their numbers, and results.
            let own = 4 * slots + tiles.next_multiple_of(lanes) + 16;
            assert_eq!(componential::posterior_scratch_len::<T, D>(&shape), own);
            assert_eq!(componential::scratch_len::<T, D>(&shape, chunk), plane.max(bags * own));
        }
        assert_eq!(componential::means_len::<T, D>(&shape), slots + features * slots + features);
        assert_eq!(componential::sums_len::<T, D>(&shape), features * slots + 3);

        let grid = Grid::<T, _, D>::uniform(shape).unwrap();
        let packed = vec![T::zero(); shape.histograms_len::<T>()];
        let histograms =
            countgrid_grid::LogHistograms::pack(&grid, packed, &mut vec![T::zero(); plane]).unwrap();
        let bag = Bag::<f64>::empty(features);
        let terms = |grouping| Terms::new(&histograms, grouping);
        assert_eq!(terms(Grouping::Location).term_count(&bag), 3 * cells);
        assert_eq!(terms(Grouping::Feature).term_count(&bag), 2 + features);
        assert_eq!(terms(Grouping::Each).term_count(&bag), 2 * cells + features * cells);
        assert_eq!(histograms.term_count(&bag), 3 * cells);
        assert_eq!(terms(Grouping::Each).scratch_len(&bag), cells + posterior(1).max(cells));
        let sources = Sources::new(&grid, &histograms).unwrap();
        assert_eq!(sources.term_count(&bag), 4 * cells + 1);
        assert_eq!(sources.scratch_len(&bag), cells + posterior(1).max(3 * cells + plane));
    }
    check::<f32, 1>([5], [2], 1, 0);
    check::<f64, 1>([25], [2], 4, 1);
    check::<f32, 1>([100], [7], 7, 1);
    check::<f64, 2>([9, 12], [3, 5], 15, 2);
    check::<f32, 2>([40, 40], [1, 1], 100, 7);
}

#[test]
fn a_level_starts_at_random_or_from_the_one_before() {
    use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
    let (small, large) = (shape([4], [2]), shape([8], [2]));
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let coarse = Grid::<f64, _, 1>::initial(small, None, &mut rng).unwrap();
    let mut drawn = Grid::<f64, _, 1>::uniform(small).unwrap();
    drawn.randomize(&mut ChaCha8Rng::seed_from_u64(2));
    assert_eq!(coarse.plane(3), drawn.plane(3));
    let fine = Grid::initial(large, Some(&coarse), &mut rng).unwrap();
    for (z, cell) in [(0, 0), (5, 3), (999, 7)] {
        // Within 0.15 of the coarse cell, and normalised over entries that were moved as far.
        let ratio = fine.plane(z)[cell] / coarse.plane(z)[cell / 2];
        assert!(ratio != 1.0 && (0.85 / 1.15..1.15 / 0.85).contains(&ratio), "{ratio}");
    }
    let other = Shape::from_sides([8], [2], 3).unwrap();
    let refused = Grid::initial(other, Some(&coarse), &mut rng).map(|_| ());
    assert_eq!(refused, Err(GridError::Features { expected: 3, found: 1000 }));
}
