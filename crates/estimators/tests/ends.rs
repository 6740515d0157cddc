//! Trainings that end early without another step, and checkpoints whose tables stand in another order.

use countgrid_corpus::Blocks;
use countgrid_em::{End, Stop};
use countgrid_estimators::{
    BagTotals, CheckpointError, EstimatorError, FitSummary, GridOptions, GridStart, GridTraining, Train,
};

use crate::data::{four_topics, small_grid};

type Grids<'a> = GridTraining<f32, &'a Blocks<f32>>;

/// From each of two starts.
fn options() -> GridOptions {
    GridOptions { restarts: 2, ..small_grid() }
}

fn mini_batches() -> GridOptions {
    GridOptions { start: Some(GridStart::MiniBatches { size: 10, passes: 3 }), ..options() }
}

fn training<'a>(options: &GridOptions, bags: &'a Blocks<f32>) -> Grids<'a> {
    let totals = BagTotals::from_blocks(bags).unwrap();
    GridTraining::new(options.check(totals).unwrap(), bags).unwrap()
}

/// Steps until one is the first of this stage of this restart.
fn step_to(training: &mut Grids<'_>, restart: usize, stage: usize) {
    while training.step().map(|at| (at.restart, at.stage)).unwrap() != (restart, stage) {
        assert!(!training.is_done());
    }
}

/// Ends a training whose data may not be read any more.
fn stop_at_once(training: &mut Grids<'_>) {
    let stop = Stop::new();
    training.set_stop(&stop);
    stop.request();
    training.stop();
}

fn summary(training: Grids<'_>) -> FitSummary {
    let grid = training.finish().unwrap();
    assert_eq!(grid.shape().cells(), 192);
    *grid.summary().unwrap()
}

#[test]
fn between_two_starts_a_stop_is_the_end() {
    let bags = four_topics(40, 40);
    let mut training = training(&options(), &bags);
    step_to(&mut training, 0, 1);
    while training.best().is_none() {
        training.step().unwrap();
    }
    assert!(!training.is_done());
    training.stop();
    assert!(training.is_done());
    let summary = summary(training);
    assert_eq!((summary.restart, summary.iterations), (0, 3));
    assert!(summary.free_energy.is_some());
}

#[test]
fn a_model_of_the_full_size_is_the_end_if_data_may_not_be_read() {
    let bags = four_topics(40, 40);
    let options = mini_batches();
    for updates in 1..3 {
        let mut training = training(&options, &bags);
        step_to(&mut training, 0, 1);
        (1..updates).for_each(|_| drop(training.step().unwrap()));
        stop_at_once(&mut training);
        assert!(training.is_done());
        // What a mini-batch tells of the free energy of all data is not known.
        let summary = summary(training);
        assert_eq!((summary.restart, summary.end, summary.free_energy), (0, End::Stopped, None));
        assert_eq!(summary.iterations, updates);
    }
}

#[test]
fn a_smaller_model_gives_way_to_that_of_an_earlier_start() {
    let bags = four_topics(40, 40);
    let mut training = training(&options(), &bags);
    step_to(&mut training, 1, 0);
    let best = training.best().unwrap();
    stop_at_once(&mut training);
    assert!(training.is_done());
    let summary = summary(training);
    assert_eq!((summary.restart, summary.free_energy), (0, Some(best.outcome.free_energy)));
}

#[test]
fn a_smaller_model_without_an_earlier_start_is_not_the_end() {
    let bags = four_topics(40, 40);
    for requested in [false, true] {
        let mut training = training(&options(), &bags);
        step_to(&mut training, 0, 0);
        if requested {
            stop_at_once(&mut training);
        } else {
            training.stop();
        }
        // It grows to the size that was wanted.
        assert!(!training.is_done());
        assert_eq!(summary(training).free_energy.is_none(), requested);
    }
}

#[test]
fn checkpoints_name_their_tables_in_order() {
    let bags = four_topics(40, 40);
    let options = mini_batches();
    let mut first = training(&options, &bags);
    step_to(&mut first, 0, 1);
    let checkpoint = first.checkpoint().unwrap();
    let totals = BagTotals::from_blocks(&bags).unwrap();
    let resumed = |file| GridTraining::resume(options.check(totals).unwrap(), &bags, file).map(|_| ());
    assert!(resumed(checkpoint.clone()).is_ok());
    let lists: Vec<&String> = checkpoint.metadata.keys().filter(|key| key.starts_with("tables.")).collect();
    assert_eq!(lists, ["tables.learner", "tables.statistics"]);
    for list in lists {
        let mut file = checkpoint.clone();
        let mut names: Vec<_> = checkpoint.metadata[list].split(' ').collect();
        assert!(names.len() > 1, "{names:?}");
        names.reverse();
        file.metadata.insert(list.clone(), names.join(" "));
        let refused = resumed(file).unwrap_err();
        // Parameters in another order are not valid either, and that is seen first.
        let named = matches!(
            &refused,
            EstimatorError::Checkpoint(CheckpointError::Text { name }) if name == list
        );
        assert!(named || list == "tables.learner", "{list}: {refused}");
    }
}
