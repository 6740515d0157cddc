//! A training behind a pointer is the one that it was made of.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_em::{End, Stop};
use countgrid_estimators::{
    BagTotals, EstimatorError, GridOptions, GridPlan, GridSchedule, GridStart, GridTraining, Train,
};

fn bags() -> Blocks<f32> {
    let mut builder = BlocksBuilder::new(8, BlockLimits::in_memory()).unwrap();
    for t in 0..30 {
        builder.push([(t % 4, 5.0), ((t + 1) % 4 + t % 2 * 4, 4.0)]).unwrap();
    }
    builder.finish().unwrap()
}

fn plan(bags: &Blocks<f32>) -> GridPlan<f32> {
    let options = GridOptions {
        extents: Some(vec![8]),
        window: Some(vec![2]),
        schedule: GridSchedule::Single,
        start: Some(GridStart::Plain),
        iterations: 4,
        tolerance: 0.0,
        ..GridOptions::default()
    };
    options.check(BagTotals::from_blocks(bags).unwrap()).unwrap()
}

#[test]
fn a_boxed_training_steps_as_its_own() {
    let bags = bags();
    let mut own = GridTraining::new(plan(&bags), &bags).unwrap();
    let mut boxed = plan(&bags).train(&bags, None).unwrap();
    let mut steps = 0;
    while !own.is_done() {
        assert!(!boxed.is_done());
        assert_eq!(format!("{boxed:?}"), "BoxedTraining { done: false, .. }");
        assert!(boxed.checkpoint().unwrap() == own.checkpoint().unwrap(), "after {steps} steps");
        assert_eq!(boxed.step().unwrap(), own.step().unwrap());
        steps += 1;
    }
    assert_eq!(steps, 5);
    assert!(boxed.is_done());
    assert_eq!(format!("{boxed:?}"), "BoxedTraining { done: true, .. }");
    assert!(boxed.checkpoint().unwrap() == own.checkpoint().unwrap());
    assert!(boxed.finish().unwrap().to_file() == own.finish().unwrap().to_file());
}

#[test]
fn a_boxed_training_goes_on_from_a_checkpoint() {
    let bags = bags();
    let mut whole = plan(&bags).train(&bags, None).unwrap();
    (0..2).for_each(|_| drop(whole.step().unwrap()));
    let mut resumed = plan(&bags).train(&bags, Some(whole.checkpoint().unwrap())).unwrap();
    assert_eq!(resumed.step().unwrap(), whole.step().unwrap());
    for training in [&mut resumed, &mut whole] {
        training.run(|_| ControlFlow::Continue(())).unwrap();
    }
    assert!(resumed.finish().unwrap().to_file() == whole.finish().unwrap().to_file());
}

#[test]
fn a_boxed_training_is_stopped() {
    let bags = bags();
    let mut training = plan(&bags).train(&bags, None).unwrap();
    (0..2).for_each(|_| drop(training.step().unwrap()));
    assert!(!training.is_done());
    training.stop();
    assert!(training.is_done()); // the model of the full size was evaluated
    let summary = *training.finish().unwrap().summary().unwrap();
    assert_eq!((summary.iterations, summary.end), (1, End::Stopped));
}

#[test]
fn a_boxed_training_asks_its_flag() {
    let bags = bags();
    let mut training = plan(&bags).train(&bags, None).unwrap();
    let stop = Stop::new();
    training.set_stop(&stop);
    training.step().unwrap();
    stop.request();
    assert!(matches!(training.step(), Err(EstimatorError::Stopped)));
    training.set_stop(&Stop::new());
    assert_eq!(training.step().unwrap().iteration, 1);
}
