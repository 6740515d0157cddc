//! What a harmonium's training tells of itself, and how it is stopped.

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_em::Stop;
use countgrid_estimators::{
    BagTotals, EstimatorError, HarmoniumData, HarmoniumMethod, HarmoniumOptions, HarmoniumTraining, Phase,
    Train,
};

fn training(options: &HarmoniumOptions) -> HarmoniumTraining<f32, HarmoniumData<f32>> {
    let mut builder = BlocksBuilder::new(3, BlockLimits::in_memory()).unwrap();
    (0..5).for_each(|t| builder.push([(t % 3, 1.0), ((t + 1) % 3, 1.0)]).unwrap());
    let blocks: Blocks<f32> = builder.finish().unwrap();
    let plan = options.check(BagTotals::from_blocks(&blocks).unwrap()).unwrap();
    assert_eq!(plan.options(), options);
    let data = HarmoniumData::new(&plan, &blocks, None).unwrap();
    HarmoniumTraining::new(plan, data).unwrap()
}

fn options(method: HarmoniumMethod, epochs: usize) -> HarmoniumOptions {
    HarmoniumOptions { method, epochs, topics: 2, draws: 8, ..HarmoniumOptions::default() }
}

#[test]
fn a_training_that_ends_before_its_first_step_is_in_its_first_phase() {
    let (ascent, langevin) = (HarmoniumMethod::ContrastiveDivergence, HarmoniumMethod::Langevin);
    for (method, epochs, phase, stage, stages, planned) in [
        (ascent, 0, Phase::ContrastiveDivergence, 0, 1, 0),
        (ascent, 2, Phase::ContrastiveDivergence, 0, 1, 2),
        (langevin, 0, Phase::Langevin, 1, 2, 8),
        (langevin, 2, Phase::ContrastiveDivergence, 0, 2, 10),
    ] {
        let mut training = training(&options(method, epochs));
        training.stop();
        let progress = training.step().unwrap();
        assert_eq!(
            (progress.phase, progress.stage, progress.stages),
            (phase, stage, stages),
            "{method:?}, {epochs}"
        );
        assert_eq!((progress.iteration, progress.done, progress.planned), (0, 0, planned));
        assert_eq!(progress.last, planned == 0);
    }
}

#[test]
fn a_request_stops_a_training_until_it_is_taken_back() {
    let mut training = training(&options(HarmoniumMethod::ContrastiveDivergence, 2));
    let stop = Stop::new();
    training.set_stop(&stop);
    training.step().unwrap();
    stop.request();
    assert!(matches!(training.step(), Err(EstimatorError::Stopped)));
    assert!(!training.is_done());
    training.set_stop(&Stop::new());
    assert_eq!(training.step().unwrap().done, 2);
    assert!(training.is_done());
}

#[test]
fn a_training_is_shown_with_its_plan_and_what_is_done() {
    let mut training = training(&options(HarmoniumMethod::Langevin, 1));
    (0..3).for_each(|_| drop(training.step().unwrap()));
    let shown = format!("{training:?}");
    assert!(shown.starts_with("HarmoniumTraining { plan: HarmoniumPlan {"), "{shown}");
    assert!(shown.ends_with("epochs: 1, draws: 2, .. }"), "{shown}");
}
