//! What a training says of itself between two steps: its stage, its parameters, its best run.

use std::ops::ControlFlow;

use countgrid_corpus::Blocks;
use countgrid_em::{End, Tables};
use countgrid_estimators::{
    BagTotals, CheckpointError, EstimatorError, GridOptions, GridPlan, GridStart, GridTraining, Phase,
    Stored, Train,
};
use countgrid_io::ModelFile;

use crate::data::{four_topics, small_grid};

fn plan<T: Stored>(options: &GridOptions, bags: &Blocks<T>) -> GridPlan<T> {
    options.check(BagTotals::from_blocks(bags).unwrap()).unwrap()
}

#[test]
fn a_training_says_where_it_is() {
    let bags = four_topics::<f32>(60, 60);
    let options = GridOptions { restarts: 2, ..small_grid() };
    let mut training = GridTraining::new(plan(&options, &bags), &bags).unwrap();
    assert!(training.last().is_none() && training.best().is_none() && training.parameters().is_none());
    assert_eq!(training.stage(), 0);
    assert!(format!("{training:?}").starts_with("Training { last: None, best: None, done: false"));

    // Ten updates of the coarse grid and three of the full one, each after a first look, twice.
    let mut first = None;
    for restart in 0..2 {
        for (stage, updates) in [(0, 10), (1, 3)] {
            for iteration in 0..=updates {
                assert_eq!(training.stage(), stage, "before {iteration} of restart {restart}");
                assert_eq!(training.best().is_some(), restart == 1);
                let progress = training.step().unwrap();
                assert_eq!(training.last(), Some(&progress));
                assert_eq!(
                    (progress.restart, progress.stage, progress.iteration),
                    (restart, stage, iteration)
                );
                assert_eq!(progress.last, iteration == updates);
                let last = (stage, iteration) == (1, updates);
                let cells = training.parameters().unwrap().shape().cells();
                // After the second run those of the best.
                assert_eq!(cells, if stage == 0 { 48 } else { 192 });
                assert_eq!(training.is_done(), last && restart == 1);
                if last && restart == 0 {
                    first = progress.free_energy;
                }
            }
        }
        let best = training.best().unwrap();
        assert!(restart == 1 || Some(best.outcome.free_energy) == first);
        assert!(best.restart.index <= restart && best.outcome.iterations == 3);
    }
    assert_eq!(training.stage(), 1);
    assert!(format!("{training:?}").contains("done: true"));
    let (best, parameters) = (training.best().unwrap(), training.parameters().unwrap().buffer().to_vec());
    let fitted = training.finish().unwrap();
    let summary = fitted.summary().unwrap();
    assert_eq!(summary.free_energy, Some(best.outcome.free_energy));
    assert!(fitted.grid().buffer() == parameters);
}

/// A training that is stopped before the full grid evaluates it once, as it is without annealing.
#[test]
fn what_is_stopped_before_annealing_is_evaluated_without_it() {
    let bags = four_topics::<f64>(60, 60);
    let start = Some(GridStart::Annealed { beta: 0.2, iterations: 4 });
    let options = GridOptions { start, ..small_grid() };
    let mut training = GridTraining::new(plan(&options, &bags), &bags).unwrap();
    assert_eq!(training.step().unwrap().stage, 0);
    training.stop();
    assert!(!training.is_done());
    let progress = training.step().unwrap();
    assert!(training.is_done());
    assert_eq!((progress.stage, progress.phase, progress.beta), (1, Phase::Plain, 1.0));
    let fitted = training.finish().unwrap();
    let summary = fitted.summary().unwrap();
    assert_eq!((summary.iterations, summary.end), (0, End::Stopped));
    let score: f64 = fitted.score(&bags).unwrap().iter().sum();
    // The same terms of sixty bags, added up in another order.
    assert!((summary.free_energy.unwrap() - score).abs() <= 60.0 * f64::EPSILON * score.abs());
}

/// One that is stopped before mini-batches draws none.
#[test]
fn what_is_stopped_before_mini_batches_is_evaluated_on_all_bags() {
    let bags = four_topics::<f64>(60, 60);
    let start = Some(GridStart::MiniBatches { size: 25, passes: 2 });
    let options = GridOptions { start, ..small_grid() };
    let mut training = GridTraining::new(plan(&options, &bags), &bags).unwrap();
    training.stop();
    let progress = training.step().unwrap();
    assert!(training.is_done());
    assert_eq!((progress.stage, progress.phase, progress.iteration), (1, Phase::Plain, 0));
}

#[test]
fn a_run_that_has_begun_nothing_begins_from_its_seed() {
    fn end(mut training: GridTraining<f32, &Blocks<f32>>) -> ModelFile {
        training.run(|_| ControlFlow::Continue(())).unwrap();
        training.finish().unwrap().to_file()
    }
    let bags = four_topics::<f32>(60, 60);
    let mut training = GridTraining::new(plan(&small_grid(), &bags), &bags).unwrap();
    training.step().unwrap();
    let changed = |is: &str| {
        let mut file = training.checkpoint().unwrap();
        for (name, text) in [("state.run.is", is), ("state.run.random_words", "0")] {
            assert!(file.metadata.insert(name.to_owned(), text.to_owned()).is_some());
        }
        GridTraining::resume(plan(&small_grid(), &bags), &bags, file)
    };
    let resumed = changed("begun").unwrap();
    assert!(resumed.parameters().is_none());
    let other = changed("ended").unwrap_err();
    let EstimatorError::Checkpoint(CheckpointError::Text { name }) = other else { panic!("{other}") };
    assert_eq!(name, "state.run.is");
    assert!(end(resumed) == end(training));
}
