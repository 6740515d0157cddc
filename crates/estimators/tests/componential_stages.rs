//! Stages of the training of a componential grid: each is the learner of its model, with the options of the plan.

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_em::{Anneal, EmOptions, FitError, Iterations, Learn, Stop, Tables, no_observer};
use countgrid_estimators::{
    BagTotals, ComponentialLearner, ComponentialOptions, ComponentialParameters, ComponentialPlan,
    ComponentialStage, ComponentialStatistics, ComponentialTraining, Estimator, EstimatorError, GridLearner,
    GridOptions, GridParameters, GridSchedule, GridStart, Train,
};
use countgrid_grid::componential;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

const WORDS: usize = 6;

fn bags() -> Blocks<f64> {
    let mut builder = BlocksBuilder::new(WORDS, BlockLimits::in_memory()).unwrap();
    for t in 0..30usize {
        let entries = (0..t * 7 % 5).map(|n| ((t % 3 * 2 + n * (t + 1)) % WORDS, (1 + (t + n) % 4) as f64));
        builder.push(entries).unwrap();
    }
    builder.finish().unwrap()
}

fn options(extents: &[usize], window: &[usize]) -> ComponentialOptions {
    let grid = GridOptions {
        extents: Some(extents.to_vec()),
        window: Some(window.to_vec()),
        schedule: GridSchedule::Single,
        start: Some(GridStart::Plain),
        iterations: 2,
        tolerance: 0.0,
        seed: 7,
        pseudocount: Some(0.25),
        ..GridOptions::default()
    };
    ComponentialOptions { grid, iterations: 3, ..ComponentialOptions::default() }
}

fn plan(options: &ComponentialOptions) -> ComponentialPlan<f64> {
    options.check(BagTotals::from_blocks(&bags()).unwrap()).unwrap()
}

/// A fit by hand, from what the crates below give.
fn by_hand(options: &ComponentialOptions) -> Vec<f64> {
    let (bags, totals) = (bags().gather(|count| count).unwrap(), BagTotals::from_blocks(&bags()).unwrap());
    let shape = plan(options).layout().shape(WORDS).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(options.grid.seed);
    let grid = GridParameters::<f64>::initial(shape, None, &mut rng).unwrap();
    let (inner_passes, pseudocount) = (options.grid.inner_passes, 0.25);
    let own = countgrid_grid::Options {
        inner_passes,
        pseudocount,
        ..countgrid_grid::Options::for_corpus(&shape, totals.tokens, totals.bags)
    };
    let mut learner = countgrid_grid::Learner::from_grid(grid, own).unwrap();
    let mut statistics = countgrid_grid::Statistics::allocate(shape, 8).unwrap();
    let em = |iterations| EmOptions { iterations, tolerance: 0.0 }.check().unwrap();
    em(2).fit(&mut learner, &bags, &mut statistics, no_observer).unwrap();

    let mut grid = ComponentialParameters::<f64>::uniform(shape, options.concentration).unwrap();
    grid.randomize(&mut rng);
    grid.mix(learner.grid(), 0.9).unwrap();
    let own = componential::Options {
        inference: componential::Inference { sweeps: options.sweeps, tolerance: options.sweep_tolerance },
        inner_passes,
        pseudocount,
        learn_alpha: options.learn_concentration,
        ..componential::Options::default()
    };
    let mut learner = componential::Learner::from_grid(grid, own).unwrap();
    let mut statistics = componential::Statistics::allocate(shape, 8).unwrap();
    em(3).fit(&mut learner, &bags, &mut statistics, no_observer).unwrap();
    learner.grid().buffer().to_vec()
}

#[test]
fn every_option_comes_to_the_componential_grid() {
    let whole = options(&[5, 4], &[2, 2]);
    let changes = [
        ComponentialOptions { sweeps: 2, ..whole.clone() },
        ComponentialOptions { sweep_tolerance: 0.5, ..whole.clone() },
        ComponentialOptions { learn_concentration: true, ..whole.clone() },
        ComponentialOptions { concentration: 2.0, ..whole.clone() },
        ComponentialOptions { grid: GridOptions { inner_passes: 3, ..whole.grid.clone() }, ..whole.clone() },
    ];
    let (blocks, default) = (bags(), by_hand(&whole));
    for options in changes {
        let fitted = ComponentialTraining::new(plan(&options), &blocks).unwrap();
        let fitted = run(fitted);
        let expected = by_hand(&options);
        assert!(fitted == expected, "{options:?}");
        assert!(fitted != default, "{options:?}");
    }
}

fn run(mut training: ComponentialTraining<f64, &Blocks<f64>>) -> Vec<f64> {
    training.run(|_| std::ops::ControlFlow::Continue(())).unwrap();
    training.finish().unwrap().grid().buffer().to_vec()
}

type Learner = ComponentialLearner<f64>;
type Sums = <Learner as Learn>::Statistics;

/// The learners of both stages with these distributions over words at four cells, and no Dirichlet prior but 1.
fn stages(window: usize, columns: [[f64; WORDS]; 4]) -> [(Learner, Sums); 2] {
    let plan = plan(&options(&[4], &[window]));
    let pi: Vec<f64> = (0..WORDS).flat_map(|word| columns.map(|column| column[word])).collect();
    [(0, 0.25), (1, 1.0)]
        .map(|(stage, of_cell)| plan.restore(&bags(), stage, &[&pi[..], &[of_cell; 4]].concat()).unwrap())
}

const ONE: [f64; WORDS] = [0.5, 0.1, 0.1, 0.1, 0.1, 0.1];
const OTHER: [f64; WORDS] = [0.1, 0.1, 0.1, 0.1, 0.1, 0.5];

#[test]
fn the_penalty_of_a_stage_is_that_of_its_model() {
    let [(grid, _), (componential, _)] = stages(2, [ONE, OTHER, ONE, ONE]);
    // Four cells of five tenths and a half.
    let expected = -0.25 * 4.0 * (5.0 * 0.1_f64.ln() + 0.5_f64.ln());
    let penalty = componential.penalty();
    // Twenty-four logarithms, each rounded, and their sum.
    assert!((penalty - expected).abs() <= 48.0 * f64::EPSILON * expected, "{penalty}");
    // That of a counting grid has its prior, too.
    let ComponentialStage::Grid(own) = &grid.learner else { panic!("another stage") };
    assert!(own.penalty() > expected);
    assert_eq!(grid.penalty(), own.penalty());
}

#[test]
fn single_cells_that_coincide_are_counted() {
    for (learner, _) in stages(1, [ONE, OTHER, ONE, ONE]) {
        assert_eq!(learner.coinciding_components(), Some(2)); // two that are as one before
    }
    for (learner, _) in stages(2, [ONE, OTHER, ONE, ONE]) {
        assert_eq!(learner.coinciding_components(), None);
    }
}

#[test]
fn the_counting_grid_is_perturbed_and_the_componential_is_not() {
    let [(mut grid, mut sums), (mut componential, mut own)] = stages(2, [ONE, OTHER, ONE, ONE]);
    let before = componential.learner.buffer().to_vec();
    componential.perturb(&mut own, 0.1, 5);
    assert!(componential.learner.buffer() == before);

    let before = grid.learner.buffer().to_vec();
    grid.perturb(&mut sums, 0.1, 5);
    assert!(grid.learner.buffer() != before);
    let [(mut by_hand, mut sums), _] = stages(2, [ONE, OTHER, ONE, ONE]);
    let (ComponentialStage::Grid(inner), ComponentialStatistics::Grid(sums)) =
        (&mut by_hand.learner, sums.sums_mut())
    else {
        panic!("another stage")
    };
    inner.perturb(sums, 0.1, 5);
    assert!(grid.learner.buffer() == inner.grid().buffer());
}

/// The same of a grid by itself, whose learner goes over blocks.
#[test]
fn a_grid_in_blocks_is_its_learner() {
    let plan = |window| {
        let options = options(&[4], &[window]).grid;
        options.check::<f64>(BagTotals::from_blocks(&bags()).unwrap()).unwrap()
    };
    let columns = [ONE, OTHER, ONE, ONE];
    let pi: Vec<f64> = (0..WORDS).flat_map(|word| columns.map(|column| column[word])).collect();
    let parameters = [&pi[..], &[0.25; 4]].concat();
    let restored =
        |window| -> (GridLearner<f64>, _) { plan(window).restore(&bags(), 0, &parameters).unwrap() };
    assert_eq!(restored(1).0.coinciding_components(), Some(2));
    assert_eq!(restored(2).0.coinciding_components(), None);
    let ((mut learner, mut sums), (mut by_hand, mut own)) = (restored(1), restored(1));
    learner.perturb(&mut sums, 0.1, 5);
    by_hand.learner.perturb(own.sums_mut(), 0.1, 5);
    assert!(learner.learner.grid().buffer() == by_hand.learner.grid().buffer());
    assert_eq!(learner.coinciding_components(), Some(0));
}

#[test]
fn both_stages_ask_the_flag() {
    let (plan, bags) = (plan(&options(&[5, 4], &[2, 2])), bags());
    for stage in [0, 1] {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut learner, mut statistics) = plan.start(&bags, stage, None, &mut rng).unwrap();
        let mut iterations = Iterations::new(EmOptions::default().check().unwrap());
        let stop = Stop::new();
        plan.set_stop(&mut statistics, &stop);
        let mut step = || plan.iterate(&mut iterations, None, &bags, &mut learner, &mut statistics);
        assert!(step().is_ok());
        stop.request();
        assert!(matches!(step(), Err(FitError::Model(EstimatorError::Stopped))), "stage {stage}");
    }
}
