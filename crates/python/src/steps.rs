//! Fits that see their data in parts: stepwise expectation maximisation, whose state between two parts is plain numbers.

use countgrid_em::{Learn, Stepwise, StepwiseOptions, Stop, Tables, TablesMut, TablesMutExt};
use countgrid_estimators::{
    AnyModel, BagTotals, ComponentialOptions, Estimator, EstimatorError, FitSummary, LdaOptions, Stored,
};
use countgrid_math::Real;
use numpy::{Element, PyArray1, PyReadonlyArray1};
use pyo3::{IntoPyObjectExt, prelude::*, types::PyDict};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde_json::json;

use crate::{
    data::{AnyCorpus, Data},
    errors,
    fit::{finished, grid_options, parsed_text, watched},
    model::Model,
};

/// What was seen so far.
#[derive(Clone, Copy, Debug)]
struct Seen {
    steps: usize,
    totals: BagTotals,
    /// The seed of the first step's start, and what tells its parameters from others.
    seed: u64,
    start: u64,
}

/// What a step goes on from: parameters, sums over all that was seen, and what that was.
struct State<T> {
    sums: Vec<T>,
    seen: Seen,
}

impl<T: Element + Copy> State<T> {
    fn from_python(state: &Bound<'_, PyDict>) -> PyResult<Self> {
        let item = |name: &str| {
            state.get_item(name)?.ok_or_else(|| errors::value(format_args!("the state has no {name:?}")))
        };
        let sums: PyReadonlyArray1<'_, T> = item("sums")?
            .extract()
            .map_err(|_| errors::value("the sums of the state are of another precision than the model"))?;
        let totals = BagTotals {
            features: item("features")?.extract()?,
            bags: item("rows")?.extract()?,
            non_empty: item("non_empty")?.extract()?,
            tokens: item("tokens")?.extract()?,
        };
        let (steps, seed) = (item("steps")?.extract()?, item("seed")?.extract()?);
        let seen = Seen { steps, totals, seed, start: item("start")?.extract()? };
        Ok(Self { sums: sums.as_array().to_vec(), seen })
    }

    fn into_python<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = PyDict::new(py);
        let Seen { steps, totals, seed, start } = self.seen;
        state.set_item("sums", PyArray1::from_vec(py, self.sums).into_bound_py_any(py)?)?;
        state.set_item("steps", steps)?;
        state.set_item("features", totals.features)?;
        state.set_item("rows", totals.bags)?;
        state.set_item("non_empty", totals.non_empty)?;
        state.set_item("tokens", totals.tokens)?;
        state.set_item("seed", seed)?;
        state.set_item("start", start)?;
        Ok(state)
    }
}

/// The totals of two parts together.
fn both(a: BagTotals, b: BagTotals) -> Result<BagTotals, EstimatorError> {
    let (bags, tokens) = (a.bags.saturating_add(b.bags), a.tokens + b.tokens);
    let all = BagTotals { bags, tokens, non_empty: a.non_empty.saturating_add(b.non_empty), ..b };
    all.check()?;
    Ok(all)
}

/// What a model that was not fitted by iterations to the end says of its fit.
fn summary(steps: usize, bound_per_token: Option<f64>) -> Result<FitSummary, EstimatorError> {
    let summary = json!({
        "iterations": steps, "free_energy": null, "bound_per_token": bound_per_token, "end": "stopped", "restart": 0,
    });
    serde_json::from_value(summary).map_err(|_| EstimatorError::Failed)
}

/// A learner of the last stage with its statistics: from parameters, else at random.
fn begin<E: Estimator>(
    plan: &E,
    data: &E::Data,
    parameters: Option<&[E::Scalar]>,
    seed: u64,
) -> Result<(E::Learner, E::Statistics), EstimatorError> {
    let last = plan.schedule().stages.len().saturating_sub(1);
    match parameters {
        Some(parameters) => plan.restore(data, last, parameters),
        None => plan.start(data, last, None, &mut ChaCha8Rng::seed_from_u64(seed)),
    }
}

/// A hash (FNV-1a) of parameters.
fn hash<T: Real>(parameters: &[T]) -> u64 {
    let bytes = parameters.iter().flat_map(|&x| Real::to_f64(x).to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn set<S: TablesMut>(statistics: &mut S, sums: &[S::Scalar]) -> Result<(), EstimatorError> {
    if statistics.buffer().len() != sums.len() {
        return Err(EstimatorError::Failed);
    }
    statistics.buffer_mut().copy_from_slice(sums);
    Ok(())
}

/// Parameters that are there, and the state after them.
type Before<'a, T> = (Option<&'a [T]>, Option<&'a State<T>>);

/// One step over a part of the data, which `seen` counts already.
fn step<E: Estimator>(
    plan: &E,
    data: &E::Data,
    (parameters, before): Before<'_, E::Scalar>,
    (part, mut seen): (BagTotals, Seen),
    stop: &Stop,
) -> Result<(E::Fitted, State<E::Scalar>), EstimatorError> {
    let (mut learner, mut statistics) = begin(plan, data, parameters, seen.seed)?;
    plan.set_stop(&mut statistics, stop);
    if seen.steps == 0 {
        seen.start = hash(plan.parameters(&learner).buffer());
    }
    let share = part.bags as f64 / seen.totals.bags.max(1) as f64;
    if let Some(before) = before {
        set(&mut statistics, &before.sums)?;
        // Sums are those of as many rows as were seen.
        let grown = seen.totals.bags as f64 / before.seen.totals.bags.max(1) as f64;
        statistics.scale(Real::from_f64(grown));
    }
    let mut stepwise = Stepwise::resume(StepwiseOptions::default().check()?, seen.steps);
    let free_energy =
        stepwise.step(&mut learner, data, &mut statistics, share).map_err(|error| match error {
            countgrid_em::FitError::Model(error) => error,
            _ => EstimatorError::Failed,
        })?;
    let steps = stepwise.steps();
    let sums = statistics.buffer().to_vec();
    let model = plan.finish(learner, summary(steps, Some(-free_energy / part.tokens))?)?;
    Ok((model, State { sums, seen: Seen { steps, ..seen } }))
}

/// The update from the sums of two parts, from the parameters of the first.
fn merged<E: Estimator>(
    plan: &E,
    data: &E::Data,
    parameters: &[E::Scalar],
    [a, b]: [State<E::Scalar>; 2],
    seen: Seen,
) -> Result<(E::Fitted, State<E::Scalar>), EstimatorError> {
    let (mut learner, mut statistics) = begin(plan, data, Some(parameters), seen.seed)?;
    if a.sums.len() != b.sums.len() {
        return Err(EstimatorError::Failed);
    }
    let sums: Vec<_> = a.sums.iter().zip(&b.sums).map(|(&a, &b)| a + b).collect();
    set(&mut statistics, &sums)?;
    learner.maximization(&mut statistics)?;
    let model = plan.finish(learner, summary(seen.steps, None)?)?;
    Ok((model, State { sums, seen }))
}

/// The numbers of a scalar in Python and here.
trait Scalar: Stored + Element {
    fn corpus(corpus: &AnyCorpus) -> Result<&countgrid_corpus::Corpus<Self>, EstimatorError>;
}
impl Scalar for f32 {
    fn corpus(corpus: &AnyCorpus) -> Result<&countgrid_corpus::Corpus<Self>, EstimatorError> {
        match corpus {
            AnyCorpus::F32(corpus) => Ok(corpus),
            AnyCorpus::F64(_) => Err(crate::model::precision()),
        }
    }
}
impl Scalar for f64 {
    fn corpus(corpus: &AnyCorpus) -> Result<&countgrid_corpus::Corpus<Self>, EstimatorError> {
        match corpus {
            AnyCorpus::F64(corpus) => Ok(corpus),
            AnyCorpus::F32(_) => Err(crate::model::precision()),
        }
    }
}

/// What is done with a plan.
enum Work<'a, 'py> {
    /// A step over data, from a state if there is one.
    Step { data: &'a Data, state: Option<&'a Bound<'py, PyDict>>, seed: u64 },
    /// The sums of two states, for which no data are read.
    Merge { none: &'a Data, states: [&'a Bound<'py, PyDict>; 2] },
}

impl<'py> Work<'_, 'py> {
    /// A fitted model, and the state after it.
    fn run<T: Scalar, E>(
        &self,
        py: Python<'py>,
        jobs: usize,
        plan: impl Fn(BagTotals) -> Result<E, EstimatorError> + Sync,
        parameters: Option<&[E::Scalar]>,
    ) -> PyResult<(E::Fitted, Bound<'py, PyDict>)>
    where
        E: Estimator<Data = countgrid_corpus::Blocks<T>, Scalar = T, Fitted: Send>,
    {
        let (model, state) = match *self {
            Work::Step { data, state, seed } => {
                let before = state.map(State::<T>::from_python).transpose()?;
                watched(py, jobs, None, |watch| {
                    let data = data.lock();
                    let corpus = T::corpus(&data)?;
                    let part = BagTotals::from(corpus);
                    part.check()?;
                    let seen = match &before {
                        Some(State { seen, .. }) => Seen { totals: both(seen.totals, part)?, ..*seen },
                        None => Seen { steps: 0, totals: part, seed, start: 0 },
                    };
                    let plan = plan(seen.totals)?;
                    step(&plan, &corpus.bags, (parameters, before.as_ref()), (part, seen), watch.stop())
                })?
            }
            Work::Merge { none, states: [a, b] } => {
                let (a, b) = (State::<T>::from_python(a)?, State::<T>::from_python(b)?);
                if a.seen.start != b.seen.start || a.seen.totals.features != b.seen.totals.features {
                    return Err(errors::value(
                        "the two models began with other parameters, so that their components are not the same: begin both \
                         with one seed, or from one model",
                    ));
                }
                watched(py, jobs, None, |_| {
                    let data = none.lock();
                    let totals = both(a.seen.totals, b.seen.totals)?;
                    let seen = Seen { steps: a.seen.steps.saturating_add(b.seen.steps), totals, ..a.seen };
                    let parameters = parameters.ok_or(EstimatorError::Failed)?;
                    merged(&plan(totals)?, &T::corpus(&data)?.bags, parameters, [a, b], seen)
                })?
            }
        };
        Ok((model, state.into_python(py)?))
    }

    fn double(&self) -> bool {
        let (Work::Step { data, .. } | Work::Merge { none: data, .. }) = self;
        matches!(&*data.lock(), AnyCorpus::F64(_))
    }

    /// The model of a kind, described by its data.
    fn of_kind(
        &self,
        py: Python<'py>,
        (kind, options): (&str, &str),
        jobs: usize,
        start: Option<&AnyModel>,
    ) -> PyResult<(AnyModel, Bound<'py, PyDict>)> {
        macro_rules! run {
            ($variant:ident, $parameters:ident, $plan:expr) => {{
                let parameters = match start {
                    Some(AnyModel::$variant(model)) => Some(model.$parameters().buffer()),
                    Some(_) => {
                        return Err(errors::value("the model that is there is of another kind or precision"));
                    }
                    None => None,
                };
                let (model, state) = self.run(py, jobs, $plan, parameters)?;
                (AnyModel::$variant(Box::new(model)), state)
            }};
        }
        Ok(match kind {
            "grid" | "mixture" => {
                let options = grid_options(kind, parsed_text(options)?)?;
                match self.double() {
                    true => run!(GridF64, grid, |totals| options.check::<f64>(totals)),
                    false => run!(GridF32, grid, |totals| options.check::<f32>(totals)),
                }
            }
            "componential" => {
                let options: ComponentialOptions = parsed_text(options)?;
                match self.double() {
                    true => run!(ComponentialF64, grid, |totals| options.check::<f64>(totals)),
                    false => run!(ComponentialF32, grid, |totals| options.check::<f32>(totals)),
                }
            }
            "lda" => {
                let options: LdaOptions = parsed_text(options)?;
                run!(Lda, lda, |totals| options.check::<f64>(totals))
            }
            _ => {
                return Err(errors::value(format_args!(
                    "{kind:?} is no kind of models that are fitted in steps"
                )));
            }
        })
    }
}

/// One step of stepwise expectation maximisation over a part of the data: the model, and the state to go on from.
#[pyfunction]
#[pyo3(signature = (kind, options, data, jobs, seed, start=None, state=None))]
#[allow(clippy::too_many_arguments, reason = "as Python passes them")]
pub(crate) fn fit_step<'py>(
    py: Python<'py>,
    kind: &str,
    options: &str,
    data: &Data,
    jobs: usize,
    seed: u64,
    start: Option<&Model>,
    state: Option<Bound<'py, PyDict>>,
) -> PyResult<(Model, Bound<'py, PyDict>)> {
    let work = Work::Step { data, state: state.as_ref(), seed };
    let (model, state) = work.of_kind(py, (kind, options), jobs, start.map(|start| &start.model))?;
    Ok((finished(model, data)?, state))
}

/// The update from the sums of two states, from the parameters of a model; `none` are no rows, as described as the model is.
#[pyfunction]
pub(crate) fn merge_states<'py>(
    py: Python<'py>,
    kind: &str,
    options: &str,
    none: &Data,
    jobs: usize,
    model: &Model,
    states: (Bound<'py, PyDict>, Bound<'py, PyDict>),
) -> PyResult<(Model, Bound<'py, PyDict>)> {
    let work = Work::Merge { none, states: [&states.0, &states.1] };
    let (model, state) = work.of_kind(py, (kind, options), jobs, Some(&model.model))?;
    Ok((finished(model, none)?, state))
}
