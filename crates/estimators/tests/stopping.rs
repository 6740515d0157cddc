//! A training that is asked to end within a step: nothing reads the data any more, and it goes on to the same bits.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use countgrid_corpus::Blocks;
use countgrid_counts::SequencesBuf;
use countgrid_em::{Anneal, Annealing, End, Fit, FitError, Iterations, Learn, StepwiseFit, Stop, Tables};
use countgrid_estimators::{
    BagTotals, BlockPass, DataDigest, Estimator, EstimatorError, FitSummary, FittedGrid, GridLearner,
    GridOptions, GridParameters, GridPlan, GridSchedule, HmmOptions, LdaOptions, MiniBatchPass, Schedule,
    Step, TopographicOptions, Train, Training,
};
use countgrid_io::ModelFile;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::data::{four_topics, phases, small_grid};

/// Sets a flag as E-step `at` over all data begins, counted from 0.
#[derive(Debug)]
struct Hook {
    stop: Stop,
    at: usize,
    begun: AtomicUsize,
}

impl Hook {
    fn new(at: usize) -> Arc<Self> {
        Arc::new(Self { stop: Stop::new(), at, begun: AtomicUsize::new(0) })
    }
}

/// A grid whose E-steps are counted.
struct Hooked(GridPlan<f32>, Arc<Hook>);
struct HookedLearner(GridLearner<f32>, Arc<Hook>);
struct HookedPass(BlockPass<f32>);

impl Learn for HookedLearner {
    type Statistics = <GridLearner<f32> as Learn>::Statistics;
    type Error = EstimatorError;
    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), EstimatorError> {
        self.0.maximization(statistics)
    }
    fn penalty(&self) -> f64 {
        self.0.penalty()
    }
}
impl Fit<Blocks<f32>> for HookedLearner {
    fn expectation(
        &self,
        bags: &Blocks<f32>,
        statistics: &mut Self::Statistics,
    ) -> Result<f64, EstimatorError> {
        if self.1.begun.fetch_add(1, SeqCst) == self.1.at {
            self.1.stop.request();
        }
        self.0.expectation(bags, statistics)
    }
}
impl Anneal for HookedLearner {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.0.set_inverse_temperature(beta);
    }
}
impl MiniBatchPass<Blocks<f32>, HookedLearner> for HookedPass {
    fn begin(bags: &Blocks<f32>, size: usize, seed: u64, done: usize) -> Result<Self, EstimatorError> {
        type Own = BlockPass<f32>;
        Ok(Self(<Own as MiniBatchPass<Blocks<f32>, GridLearner<f32>>>::begin(bags, size, seed, done)?))
    }
    fn step(
        &mut self,
        bags: &Blocks<f32>,
        fit: &mut StepwiseFit,
        learner: &mut HookedLearner,
        statistics: &mut <GridLearner<f32> as Learn>::Statistics,
    ) -> Step {
        self.0.step(bags, fit, &mut learner.0, statistics)
    }
}

type Statistics = <GridLearner<f32> as Learn>::Statistics;

impl Estimator for Hooked {
    const KIND: &'static str = "counting grid";
    type Data = Blocks<f32>;
    type Scalar = f32;
    type Parameters = GridParameters<f32>;
    type Statistics = Statistics;
    type Learner = HookedLearner;
    type Pass = HookedPass;
    type Fitted = FittedGrid<f32>;

    fn schedule(&self) -> &Schedule {
        self.0.schedule()
    }
    fn tokens(&self) -> f64 {
        self.0.tokens()
    }
    fn options(&self) -> Vec<(&'static str, String)> {
        Estimator::options(&self.0)
    }
    fn digest(&self, bags: &Blocks<f32>) -> Result<DataDigest, EstimatorError> {
        self.0.digest(bags)
    }
    fn start(
        &self,
        bags: &Blocks<f32>,
        stage: usize,
        previous: Option<HookedLearner>,
        rng: &mut ChaCha8Rng,
    ) -> Result<(HookedLearner, Statistics), EstimatorError> {
        let (learner, statistics) = self.0.start(bags, stage, previous.map(|learner| learner.0), rng)?;
        Ok((HookedLearner(learner, Arc::clone(&self.1)), statistics))
    }
    fn restore(
        &self,
        bags: &Blocks<f32>,
        stage: usize,
        parameters: &[f32],
    ) -> Result<(HookedLearner, Statistics), EstimatorError> {
        let (learner, statistics) = self.0.restore(bags, stage, parameters)?;
        Ok((HookedLearner(learner, Arc::clone(&self.1)), statistics))
    }
    fn parameters<'a>(&self, learner: &'a HookedLearner) -> &'a GridParameters<f32> {
        self.0.parameters(&learner.0)
    }
    fn set_stop(&self, statistics: &mut Statistics, stop: &Stop) {
        self.0.set_stop(statistics, stop);
    }
    fn iterate(
        &self,
        iterations: &mut Iterations,
        annealing: Option<&Annealing>,
        bags: &Blocks<f32>,
        learner: &mut HookedLearner,
        statistics: &mut Statistics,
    ) -> Step {
        match annealing {
            Some(annealing) => iterations.step_annealed(learner, bags, statistics, annealing),
            None => iterations.step(learner, bags, statistics),
        }
    }
    fn finish(&self, learner: HookedLearner, summary: FitSummary) -> Result<FittedGrid<f32>, EstimatorError> {
        self.0.finish(learner.0, summary)
    }
}

fn plan(options: &GridOptions, bags: &Blocks<f32>, hook: &Arc<Hook>) -> Hooked {
    Hooked(options.check(BagTotals::from_blocks(bags).unwrap()).unwrap(), Arc::clone(hook))
}

fn training<'a>(
    options: &GridOptions,
    bags: &'a Blocks<f32>,
    hook: &Arc<Hook>,
) -> Training<Hooked, &'a Blocks<f32>> {
    let mut training = Training::new(plan(options, bags, hook), bags).unwrap();
    training.set_stop(&hook.stop);
    training
}

fn end(mut training: Training<Hooked, &Blocks<f32>>) -> ModelFile {
    training.run(|_| ControlFlow::Continue(())).unwrap();
    training.finish().unwrap().to_file()
}

/// Steps until the flag has ended one.
fn run_into(training: &mut Training<Hooked, &Blocks<f32>>) {
    let error = loop {
        match training.step() {
            Ok(_) => assert!(!training.is_done()),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, EstimatorError::Stopped), "{error}");
    assert!(matches!(training.step(), Err(EstimatorError::Stopped)));
}

/// E-steps over all data of a whole training.
fn e_steps(options: &GridOptions, bags: &Blocks<f32>) -> (ModelFile, usize) {
    let hook = Hook::new(usize::MAX);
    (end(training(options, bags, &hook)), hook.begun.load(SeqCst))
}

#[test]
fn a_training_that_was_stopped_within_an_iteration_goes_on_to_the_same_bits() {
    let bags = four_topics(90, 40);
    for options in phases() {
        let (whole, e_steps) = e_steps(&options, &bags);
        for at in 0..e_steps {
            let hook = Hook::new(at);
            let mut stopped = training(&options, &bags, &hook);
            run_into(&mut stopped);
            assert_eq!(hook.begun.load(SeqCst), at + 1);
            let bytes = stopped.checkpoint().unwrap().to_bytes().unwrap();
            // In the same process, with another flag.
            stopped.set_stop(&Stop::new());
            assert!(end(stopped) == whole, "stopped in E-step {at} of {options:?}");
            // In another.
            let file = ModelFile::from_bytes(&bytes).unwrap();
            let none = Hook::new(usize::MAX);
            let resumed = Training::resume(plan(&options, &bags, &none), &bags, file).unwrap();
            assert!(end(resumed) == whole, "resumed from E-step {at} of {options:?}");
            // The one that was cut off is repeated, and none besides.
            assert_eq!(none.begun.load(SeqCst), e_steps - at);
        }
    }
}

#[test]
fn a_training_that_was_stopped_is_finished_without_the_data() {
    let bags = four_topics(90, 40);
    for options in phases() {
        let (_, e_steps) = e_steps(&options, &bags);
        for at in 0..e_steps {
            let hook = Hook::new(at);
            let mut stopped = training(&options, &bags, &hook);
            run_into(&mut stopped);
            stopped.stop();
            let grid = stopped.finish().unwrap();
            assert_eq!(hook.begun.load(SeqCst), at + 1);
            assert_eq!(grid.shape().cells(), 192);
            let summary = grid.summary().unwrap();
            if options.restarts == 1 {
                assert_eq!((summary.free_energy, summary.bound_per_token), (None, None));
                assert_eq!(summary.end, End::Stopped);
                assert!(grid.to_file().metadata["fit"].contains("\"bound_per_token\":null"));
            } else if let Some(free_energy) = summary.free_energy {
                // That of an earlier start.
                let score: f64 = grid.score(&bags).unwrap().iter().sum();
                assert!((free_energy - score).abs() <= 1e-4 * score.abs());
            }
            if options.schedule == GridSchedule::Single {
                // After as many updates as are told.
                assert_eq!(summary.iterations, at);
                let same = GridOptions { iterations: at, ..options.clone() };
                let hook = Hook::new(usize::MAX);
                let mut whole = training(&same, &bags, &hook);
                whole.run(|_| ControlFlow::Continue(())).unwrap();
                let whole = whole.finish().unwrap();
                assert_eq!(grid.grid().buffer(), whole.grid().buffer());
            }
        }
    }
}

#[test]
fn a_flag_that_is_set_before_leaves_the_training_as_it_is() {
    let bags = four_topics(90, 40);
    for options in phases() {
        let hook = Hook::new(usize::MAX);
        let mut training = training(&options, &bags, &hook);
        hook.stop.request();
        assert!(matches!(training.step(), Err(EstimatorError::Stopped)));
        assert_eq!(hook.begun.load(SeqCst), 0);
        // It can be finished even so, with the model that it begins with.
        let grid = training.finish().unwrap();
        assert_eq!((grid.shape().cells(), hook.begun.load(SeqCst)), (192, 0));
        assert_eq!(grid.summary().unwrap().iterations, 0);
    }
}

/// The E-step of a plan's learner asks the flag, and is repeated once there is another.
fn asks<E: Estimator>(plan: &E, data: &E::Data) {
    let em = countgrid_em::EmOptions { iterations: 3, tolerance: 0.0 }.check().unwrap();
    let objectives = |stop_before: usize| {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut learner, mut statistics) = plan.start(data, 0, None, &mut rng).unwrap();
        let mut iterations = Iterations::new(em);
        let mut objectives = Vec::new();
        for iteration in 0..3 {
            if iteration == stop_before {
                let stop = Stop::new();
                plan.set_stop(&mut statistics, &stop);
                stop.request();
                let refused = plan.iterate(&mut iterations, None, data, &mut learner, &mut statistics);
                assert!(matches!(refused, Err(FitError::Model(EstimatorError::Stopped))), "{}", E::KIND);
                plan.set_stop(&mut statistics, &Stop::new());
            }
            let (at, _) = plan.iterate(&mut iterations, None, data, &mut learner, &mut statistics).unwrap();
            objectives.push(at.objective.to_bits());
        }
        objectives
    };
    let whole = objectives(usize::MAX);
    for stop_before in 0..3 {
        assert_eq!(objectives(stop_before), whole, "{}", E::KIND);
    }
}

#[test]
fn every_model_asks() {
    let bags = four_topics(90, 40);
    let totals = BagTotals::from_blocks(&bags).unwrap();
    asks(&small_grid().check::<f32>(totals).unwrap(), &bags);
    asks(&small_grid().mixture(3).check::<f32>(totals).unwrap(), &bags);
    asks(&LdaOptions { topics: 3, ..LdaOptions::default() }.check::<f32>(totals).unwrap(), &bags);
    let gathered = bags.gather(|count| count).unwrap();
    let map = TopographicOptions { points: [4, 4], basis_functions: [2, 2], ..TopographicOptions::default() };
    asks(&map.check::<f32>(totals).unwrap(), &gathered);
    let mut sequences = SequencesBuf::new(3);
    for t in 0..20u16 {
        sequences.push((0..5 + t % 3).map(|n| (n * t + t / 5) % 3)).unwrap();
    }
    asks(&HmmOptions { states: 2, ..HmmOptions::default() }.check(&sequences).unwrap(), &sequences);
}
