//! Fits, which Ctrl-C ends.

use std::{
    borrow::Borrow,
    ops::ControlFlow,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use countgrid_corpus::{Corpus, Storable};
use countgrid_em::{Annealing, Iterations, Stop, Tables};
use countgrid_estimators::{
    AnyModel, BagTotals, ComponentialOptions, DataDigest, Estimator, EstimatorError, FitSummary, GridOptions,
    HarmoniumOptions, HmmOptions, InitialPhase, LdaOptions, Progress, Schedule, Step, TopographicOptions,
    Train, Training,
};
use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};
use rand_chacha::ChaCha8Rng;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    data::{AnyCorpus, Data},
    errors,
    model::{Model, describe},
    text::words_from,
};

/// How long a signal waits.
const SIGNALS: Duration = Duration::from_millis(50);

/// Fits a model of a kind by options in JSON; `progress` is called after every step with restart, stage, iteration, the bound per
/// token and the share of the work that is done.
#[pyfunction]
#[pyo3(signature = (kind, options, data, jobs, start=None, progress=None))]
pub(crate) fn fit(
    py: Python<'_>,
    kind: &str,
    options: &str,
    data: &Data,
    jobs: usize,
    start: Option<&Model>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let options: Value = serde_json::from_str(options).map_err(errors::value)?;
    let model = match kind {
        "grid" | "mixture" => {
            let options = grid_options(kind, options)?;
            watched(py, jobs, progress, |watch| match &mut *data.lock() {
                AnyCorpus::F32(corpus) => {
                    let plan = options.plan(corpus)?;
                    let start = match start.map(|start| &start.model) {
                        Some(AnyModel::GridF32(grid)) => Some(grid.grid().buffer()),
                        _ => None,
                    };
                    watch.train(plan, &corpus.bags, start).map(|grid| AnyModel::GridF32(Box::new(grid)))
                }
                AnyCorpus::F64(corpus) => {
                    let plan = options.plan(corpus)?;
                    let start = match start.map(|start| &start.model) {
                        Some(AnyModel::GridF64(grid)) => Some(grid.grid().buffer()),
                        _ => None,
                    };
                    watch.train(plan, &corpus.bags, start).map(|grid| AnyModel::GridF64(Box::new(grid)))
                }
            })
        }
        "componential" => {
            let options: ComponentialOptions = parsed(options)?;
            options.validate().map_err(errors::estimator)?;
            watched(py, jobs, progress, |watch| match &mut *data.lock() {
                AnyCorpus::F32(corpus) => {
                    let plan = options.plan(corpus)?;
                    let start = match start.map(|start| &start.model) {
                        Some(AnyModel::ComponentialF32(grid)) => Some(grid.grid().buffer()),
                        _ => None,
                    };
                    let grid = watch.train(plan, &corpus.bags, start)?;
                    Ok(AnyModel::ComponentialF32(Box::new(grid)))
                }
                AnyCorpus::F64(corpus) => {
                    let plan = options.plan(corpus)?;
                    let start = match start.map(|start| &start.model) {
                        Some(AnyModel::ComponentialF64(grid)) => Some(grid.grid().buffer()),
                        _ => None,
                    };
                    let grid = watch.train(plan, &corpus.bags, start)?;
                    Ok(AnyModel::ComponentialF64(Box::new(grid)))
                }
            })
        }
        "lda" => {
            let options: LdaOptions = parsed(options)?;
            watched(py, jobs, progress, |watch| match &*data.lock() {
                AnyCorpus::F64(corpus) => {
                    let plan = options.check::<f64>(BagTotals::from(corpus))?;
                    let start = match start.map(|start| &start.model) {
                        Some(AnyModel::Lda(lda)) => Some(lda.lda().buffer()),
                        _ => None,
                    };
                    watch.train(plan, &corpus.bags, start).map(|lda| AnyModel::Lda(Box::new(lda)))
                }
                AnyCorpus::F32(_) => Err(EstimatorError::Failed),
            })
        }
        "topographic" => {
            let options: TopographicOptions = parsed(options)?;
            watched(py, jobs, progress, |watch| match &*data.lock() {
                AnyCorpus::F32(corpus) => {
                    let plan = options.check(BagTotals::from(corpus))?;
                    watch
                        .train(plan, corpus.bags.gather(|x| x)?, None)
                        .map(|map| AnyModel::TopographicF32(Box::new(map)))
                }
                AnyCorpus::F64(corpus) => {
                    let plan = options.check(BagTotals::from(corpus))?;
                    watch
                        .train(plan, corpus.bags.gather(|x| x)?, None)
                        .map(|map| AnyModel::TopographicF64(Box::new(map)))
                }
            })
        }
        _ => return Err(errors::value(format_args!("{kind:?} is no kind of models"))),
    };
    finished(model?, data)
}

/// A model with the description of its data.
pub(crate) fn finished(mut model: AnyModel, data: &Data) -> PyResult<Model> {
    // Names of features that have none, only now that tables over as many features were allocated.
    match &mut *data.lock() {
        AnyCorpus::F32(corpus) => name_features(corpus),
        AnyCorpus::F64(corpus) => name_features(corpus),
    }
    describe(&mut model, &data.lock(), &words_from("{}")?).map_err(errors::estimator)?;
    Ok(Model { model })
}

pub(crate) fn name_features<T: Storable>(corpus: &mut Corpus<T>) {
    if corpus.vocabulary.is_empty() {
        corpus.name = "untitled".to_owned();
        corpus.vocabulary = (0..corpus.bags.features()).map(|feature| format!("x{feature}")).collect();
    }
}

/// The options of a kind as they are unless others are given, as JSON.
#[pyfunction]
pub(crate) fn defaults(kind: &str) -> PyResult<String> {
    let json = match kind {
        "grid" | "mixture" => serde_json::to_string(&GridOptions::default()),
        "harmonium" => serde_json::to_string(&HarmoniumOptions::default()),
        "hmm" => serde_json::to_string(&HmmOptions::default()),
        "componential" => serde_json::to_string(&ComponentialOptions::default()),
        "lda" => serde_json::to_string(&LdaOptions::default()),
        "topographic" => serde_json::to_string(&TopographicOptions::default()),
        _ => return Err(errors::value(format_args!("{kind:?} is no kind of models"))),
    };
    json.map_err(errors::value)
}

/// Options in JSON.
pub(crate) fn parsed_text<O: DeserializeOwned>(options: &str) -> PyResult<O> {
    serde_json::from_str(options).map_err(errors::value)
}

fn parsed<O: DeserializeOwned>(options: Value) -> PyResult<O> {
    serde_json::from_value(options).map_err(errors::value)
}

pub(crate) fn grid_options(kind: &str, mut options: Value) -> PyResult<GridOptions> {
    let components = options.as_object_mut().and_then(|fields| fields.remove("components"));
    let options: GridOptions = parsed(options)?;
    let options = match (kind, components) {
        ("mixture", Some(components)) => options.mixture(parsed(components)?),
        _ => options,
    };
    options.validate().map_err(errors::estimator)?;
    Ok(options)
}

/// What a fit asks and tells while it goes on.
pub(crate) struct Watch {
    stop: Stop,
    steps: Option<Sender<Progress>>,
}

impl Watch {
    /// What ends the fit.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The fitted model; from these parameters if there are some, else at random.
    pub(crate) fn train<E: Estimator, D: Borrow<E::Data>>(
        &self,
        plan: E,
        data: D,
        start: Option<&[E::Scalar]>,
    ) -> Result<E::Fitted, EstimatorError> {
        match start {
            Some(start) => self.run(Training::new(Warm::new(plan, start), data)?),
            None => self.run(Training::new(plan, data)?),
        }
    }

    pub(crate) fn run<M: Train>(&self, mut training: M) -> Result<M::Fitted, EstimatorError> {
        training.set_stop(&self.stop);
        let ran = training.run(|progress| {
            if let Some(steps) = &self.steps {
                let _nobody_listens = steps.send(progress.clone());
            }
            ControlFlow::Continue(())
        });
        match ran {
            // With the model as it is, if there is one.
            Ok(()) | Err(EstimatorError::Stopped) => {}
            Err(error) => return Err(error),
        }
        training.finish()
    }
}

/// Fits in a thread beside this one, which looks for signals and calls `progress`. If either raises, the fit ends at the next
/// block of documents, and the exception is raised; but for `KeyboardInterrupt`, if there is a model by then, which is returned as
/// it is, with a warning.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    jobs: usize,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch) -> Result<R, EstimatorError> + Send,
) -> PyResult<R> {
    let stop = Stop::new();
    let (steps, shown) = channel::<Progress>();
    let (ended, end) = channel::<()>();
    let watch = Watch { stop: stop.clone(), steps: progress.is_some().then_some(steps) };
    let (result, raised) = py.detach(move || {
        thread::scope(|scope| {
            let worker = thread::Builder::new().name("countgrid".to_owned()).spawn_scoped(scope, move || {
                let _until_the_end = ended;
                let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build();
                pool.map_err(errors::runtime)?.install(|| work(&watch)).map_err(errors::estimator)
            });
            let worker = match worker {
                Ok(worker) => worker,
                Err(error) => return (Err(errors::runtime(error)), None),
            };
            let mut raised: Option<PyErr> = None;
            loop {
                let over = end.recv_timeout(SIGNALS) == Err(RecvTimeoutError::Disconnected);
                if raised.is_none() {
                    let told = Python::attach(|py| {
                        py.check_signals()?;
                        match &progress {
                            Some(progress) => shown.try_iter().try_for_each(|at| tell(py, progress, &at)),
                            None => Ok(()),
                        }
                    });
                    if let Err(error) = told {
                        stop.request();
                        raised = Some(error);
                    }
                }
                if over {
                    break;
                }
            }
            let result = worker.join().unwrap_or_else(|_| Err(errors::runtime("the fit has panicked")));
            (result, raised)
        })
    });
    match raised {
        Some(error) if result.is_err() || !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        Some(_) => {
            let category = py.import("sklearn.exceptions")?.getattr("ConvergenceWarning")?;
            PyErr::warn(py, &category, c"the fit was interrupted, and the model is as it was then", 1)?;
            result
        }
        None => result,
    }
}

fn tell(py: Python<'_>, progress: &Py<PyAny>, at: &Progress) -> PyResult<()> {
    let arguments = (at.restart, at.stage, at.iteration, at.bound_per_token, at.share_done);
    progress.call1(py, arguments).map(|_| ())
}

/// A plan whose only start is from given parameters, at its last stage.
struct Warm<E: Estimator> {
    plan: E,
    parameters: Vec<E::Scalar>,
    schedule: Schedule,
    last: usize,
}

impl<E: Estimator> Warm<E> {
    fn new(plan: E, parameters: &[E::Scalar]) -> Self {
        let Schedule { seed, stages, .. } = plan.schedule().clone();
        let last = stages.len().saturating_sub(1);
        let mut stages: Vec<_> = stages.into_iter().skip(last).collect();
        stages.iter_mut().for_each(|stage| stage.initial_phase = InitialPhase::Plain);
        Self { plan, parameters: parameters.to_vec(), schedule: Schedule { seed, restarts: 1, stages }, last }
    }
}

impl<E: Estimator> Estimator for Warm<E> {
    const KIND: &'static str = E::KIND;
    type Data = E::Data;
    type Scalar = E::Scalar;
    type Parameters = E::Parameters;
    type Statistics = E::Statistics;
    type Learner = E::Learner;
    type Pass = E::Pass;
    type Fitted = E::Fitted;

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }
    fn tokens(&self) -> f64 {
        self.plan.tokens()
    }
    fn options(&self) -> Vec<(&'static str, String)> {
        self.plan.options()
    }
    fn digest(&self, data: &E::Data) -> Result<DataDigest, EstimatorError> {
        self.plan.digest(data)
    }
    fn start(
        &self,
        data: &E::Data,
        stage: usize,
        _: Option<E::Learner>,
        _: &mut ChaCha8Rng,
    ) -> Result<(E::Learner, E::Statistics), EstimatorError> {
        self.restore(data, stage, &self.parameters)
    }
    fn restore(
        &self,
        data: &E::Data,
        stage: usize,
        parameters: &[E::Scalar],
    ) -> Result<(E::Learner, E::Statistics), EstimatorError> {
        self.plan.restore(data, self.last.saturating_add(stage), parameters)
    }
    fn parameters<'a>(&self, learner: &'a E::Learner) -> &'a E::Parameters {
        self.plan.parameters(learner)
    }
    fn set_stop(&self, statistics: &mut E::Statistics, stop: &Stop) {
        self.plan.set_stop(statistics, stop);
    }
    fn iterate(
        &self,
        iterations: &mut Iterations,
        annealing: Option<&Annealing>,
        data: &E::Data,
        learner: &mut E::Learner,
        statistics: &mut E::Statistics,
    ) -> Step {
        self.plan.iterate(iterations, annealing, data, learner, statistics)
    }
    fn finish(&self, learner: E::Learner, summary: FitSummary) -> Result<E::Fitted, EstimatorError> {
        self.plan.finish(learner, summary)
    }
}
