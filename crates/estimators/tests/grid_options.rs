//! Options of grids: what follows from the size of a collection, and what plans say of them.

use countgrid_corpus::{BlockLimits, BlocksBuilder, Corpus, CorpusOptions};
use countgrid_em::BLOCK_BAGS;
use countgrid_estimators::{
    BagTotals, ComponentialOptions, Estimator, EstimatorError, GridOptions, GridStart,
};
use countgrid_grid::GridError;

fn totals(non_empty: usize, tokens: f64) -> BagTotals {
    BagTotals { features: 300, bags: non_empty, non_empty, tokens }
}

#[test]
fn totals_leave_out_bags_without_tokens() {
    let mut builder = BlocksBuilder::new(3, BlockLimits { bags: 2, ..BlockLimits::in_memory() }).unwrap();
    for bag in [vec![(0, 2.0_f64), (2, 1.0)], vec![], vec![(1, 0.5)], vec![], vec![(2, 4.0)]] {
        builder.push(bag).unwrap();
    }
    let found = BagTotals::from_blocks(&builder.finish().unwrap()).unwrap();
    assert_eq!(found, BagTotals { features: 3, bags: 5, non_empty: 3, tokens: 7.5 });
}

#[test]
fn sums_of_several_leaves_may_come_to_an_eighth_of_the_range() {
    let options = GridOptions { extents: Some(vec![4]), memory: Some(u128::MAX), ..GridOptions::default() };
    let check = |bags, tokens| options.check::<f32>(BagTotals { features: 3, bags, non_empty: bags, tokens });
    let most = f64::from(f32::MAX) / 8.0;
    assert!(check(BLOCK_BAGS + 1, most).is_ok());
    let refused = check(BLOCK_BAGS + 1, most.next_up());
    assert!(matches!(refused, Err(EstimatorError::TooManyTokens { tokens, .. }) if tokens == most.next_up()));
    // Of one leaf the E-step says which bag is too much.
    assert!(check(BLOCK_BAGS, most.next_up()).is_ok());
}

#[test]
fn a_fit_begins_with_annealing_in_a_third_of_its_iterations() {
    let annealed = |beta, iterations| GridStart::Annealed { beta, iterations };
    let posts = totals(2_000, 200_000.0);
    for (iterations, annealing) in [(3, 1), (7, 2), (30, 10), (60, 20), (63, 20), (600, 20)] {
        let start = GridStart::for_bags(&posts, 25, iterations);
        assert_eq!(start, annealed(0.04, annealing), "{iterations} iterations");
    }
    // Four tokens of a bag of mean length are left, but between a hundredth and a half of it.
    for (tokens, beta) in [(4_000.0, 0.5), (32_000.0, 0.5), (64_000.0, 0.25), (3.2e6, 0.01)] {
        assert_eq!(GridStart::for_bags(&totals(4_000, tokens), 2, 60), annealed(beta, 20), "{tokens} tokens");
    }
}

#[test]
fn a_fit_begins_plainly_where_annealing_would_not_help() {
    let posts = totals(2_000, 200_000.0);
    for window_volume in [0, 1] {
        assert_eq!(GridStart::for_bags(&posts, window_volume, 60), GridStart::Plain);
    }
    for iterations in [0, 2] {
        assert_eq!(GridStart::for_bags(&posts, 25, iterations), GridStart::Plain);
    }
    assert_eq!(GridStart::for_bags(&totals(0, 0.0), 25, 60), GridStart::Plain);
}

#[test]
fn a_mixture_has_weights_and_windows_of_single_cells() {
    let options = GridOptions { seed: 5, ..GridOptions::default() };
    let expected =
        GridOptions { extents: Some(vec![4]), window: Some(vec![1]), learn_prior: true, ..options.clone() };
    assert_eq!(options.mixture(4), expected);
}

#[test]
fn many_bags_are_fitted_in_mini_batches() {
    let of = |options: &GridOptions, bags| options.clone().for_many(&totals(bags, 1e6));
    let options = GridOptions { seed: 5, ..GridOptions::default() };
    for (bags, size) in [(2 * BLOCK_BAGS + 1, 1_310), (99_900, 3_996), (1_000_000, BLOCK_BAGS)] {
        let start = Some(GridStart::MiniBatches { size, passes: 6 });
        assert_eq!(of(&options, bags), GridOptions { start, iterations: 5, ..options.clone() });
    }
    let long = GridOptions { iterations: 61, ..options.clone() };
    assert_eq!(of(&long, 99_900).iterations, 6);
    // One axis with windows of several cells is enough.
    let band = GridOptions { extents: Some(vec![9, 9]), window: Some(vec![1, 2]), ..options };
    assert!(of(&band, 99_900).start.is_some());
}

#[test]
fn few_bags_single_cells_and_a_given_start_stay_as_they_are() {
    let unchanged = |options: GridOptions, bags| {
        assert_eq!(options.clone().for_many(&totals(bags, 1e6)), options);
    };
    unchanged(GridOptions::default(), 0);
    unchanged(GridOptions::default(), 2 * BLOCK_BAGS);
    unchanged(GridOptions::default().mixture(30), 99_900);
    unchanged(GridOptions { window: Some(vec![1]), ..GridOptions::default() }, 99_900);
    for start in [GridStart::Plain, GridStart::MiniBatches { size: 50, passes: 1 }] {
        unchanged(GridOptions { start: Some(start), ..GridOptions::default() }, 99_900);
    }
    // That a window is too large is said by whoever checks the options.
    unchanged(
        GridOptions { extents: Some(vec![4]), window: Some(vec![5]), ..GridOptions::default() },
        99_900,
    );
}

fn corpus() -> Corpus<f32> {
    let texts = ["red ants follow trails", "ants and red trails", "blue sky", "a sky of blue dust", "dust"];
    Corpus::from_texts(&texts, &CorpusOptions::default()).unwrap()
}

fn small() -> GridOptions {
    GridOptions { extents: Some(vec![8]), window: Some(vec![2]), iterations: 3, ..GridOptions::default() }
}

#[test]
fn plans_keep_their_options_and_totals() {
    let own = BagTotals { features: 7, bags: 9, non_empty: 8, tokens: 123.5 };
    let options = GridOptions { seed: 3, memory: Some(1 << 30), ..small() };
    let plan = options.check::<f32>(own).unwrap();
    assert_eq!((plan.options(), Estimator::tokens(&plan)), (&options, 123.5));
    let options = ComponentialOptions { grid: options, sweeps: 3, ..ComponentialOptions::default() };
    let plan = options.check::<f32>(own).unwrap();
    assert_eq!((plan.options(), Estimator::tokens(&plan)), (&options, 123.5));
}

#[test]
fn a_corpus_goes_to_a_file_only_for_want_of_memory() {
    let mut corpus = corpus();
    let options = GridOptions { memory: Some(1 << 40), ..small() };
    let componential = ComponentialOptions { grid: options.clone(), ..ComponentialOptions::default() };
    assert_eq!(options.plan(&mut corpus).unwrap().layout().extents(), [8]);
    assert_eq!(componential.plan(&mut corpus).unwrap().layout().extents(), [8]);
    assert!(corpus.bags.file_bytes().is_none());
    // Nor for an error that is another.
    let wrong = GridOptions { window: Some(vec![9]), ..options };
    assert!(matches!(wrong.plan(&mut corpus), Err(EstimatorError::WindowTooLarge { .. })));
    let wrong = ComponentialOptions { grid: wrong, ..componential };
    assert!(matches!(wrong.plan(&mut corpus), Err(EstimatorError::WindowTooLarge { .. })));
    assert!(corpus.bags.file_bytes().is_none());

    let narrow = GridOptions { memory: Some(100), ..small() };
    let narrow = ComponentialOptions { grid: narrow, ..componential };
    for _ in 0..2 {
        assert!(matches!(narrow.plan(&mut corpus), Err(EstimatorError::GridMemory { .. })));
        assert_eq!(corpus.bags.file_bytes().is_some(), cfg!(feature = "files"));
    }
}

#[test]
fn a_tolerance_of_sweeps_is_finite_and_not_negative() {
    let with = |sweep_tolerance| {
        ComponentialOptions { sweep_tolerance, grid: small(), ..ComponentialOptions::default() }.validate()
    };
    assert!(with(0.0).is_ok() && with(1.0).is_ok());
    for tolerance in [-1e-9, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let refused = with(tolerance);
        assert!(matches!(refused, Err(EstimatorError::Grid(GridError::Tolerance))), "{tolerance}");
    }
}
