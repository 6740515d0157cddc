//! Sequences of symbols, and hidden Markov models of them.

use countgrid_counts::SequencesBuf;
use countgrid_estimators::{AnyModel, EstimatorError, FittedHmm, HmmOptions, Stored};
use countgrid_hmm::HmmError;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::{
    data::integers,
    errors,
    fit::{parsed_text, watched},
    model::{Model, kind_from},
    on_pool,
};

/// Sequences of symbols that are numbers below that of the alphabet.
#[pyclass(frozen, module = "countgrid._core")]
#[derive(Debug)]
pub(crate) struct Sequences {
    all: SequencesBuf<u16>,
}

#[pymethods]
impl Sequences {
    /// One after the other: `lengths` of `symbols`, all below `alphabet`.
    #[staticmethod]
    fn from_arrays(
        alphabet: usize,
        lengths: &Bound<'_, PyAny>,
        symbols: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (lengths, symbols) = (integers(lengths, "lengths")?, integers(symbols, "symbols")?);
        let mut all = SequencesBuf::new(alphabet);
        let mut rest = symbols.as_slice();
        for (number, &length) in lengths.iter().enumerate() {
            let Some((own, after)) = rest.split_at_checked(length) else {
                return Err(errors::value(format_args!(
                    "lengths add up to more than the {} symbols at sequence {number}",
                    symbols.len()
                )));
            };
            rest = after;
            let symbol = |&symbol: &usize| u16::try_from(symbol);
            let own: Vec<u16> = own.iter().map(symbol).collect::<Result<_, _>>().map_err(|_| {
                errors::value(format_args!(
                    "sequence {number} has a symbol above 65535, the last there can be"
                ))
            })?;
            all.push(own).map_err(errors::value)?;
        }
        if !rest.is_empty() {
            let (given, found) = (symbols.len() - rest.len(), symbols.len());
            return Err(errors::value(format_args!(
                "lengths add up to {given}, and there are {found} symbols"
            )));
        }
        Ok(Self { all })
    }

    fn __len__(&self) -> usize {
        self.all.as_view().len()
    }
}

fn hmm(model: &Model) -> PyResult<&FittedHmm> {
    match &model.model {
        AnyModel::Hmm(hmm) => Ok(hmm),
        other => Err(errors::value(format_args!("the model is a {}, not of sequences", other.kind()))),
    }
}

/// Fits a hidden Markov model by options in JSON; `symbols` are the names of symbols. `progress` as that of `fit`.
#[pyfunction]
#[pyo3(signature = (options, sequences, symbols, jobs, start=None, progress=None))]
pub(crate) fn fit_sequences(
    py: Python<'_>,
    options: &str,
    sequences: &Sequences,
    symbols: Vec<String>,
    jobs: usize,
    start: Option<&Model>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let options: HmmOptions = parsed_text(options)?;
    let (alphabet, named) = (sequences.all.as_view().symbols(), symbols.len());
    if alphabet != named {
        return Err(errors::value(format_args!("{named} names for {alphabet} symbols")));
    }
    let start = start.map(hmm).transpose()?.map(|hmm| hmm.hmm());
    let mut model = watched(py, jobs, progress, |watch| {
        let plan = options.check(&sequences.all)?;
        watch.train(plan, &sequences.all, start.map(countgrid_em::Tables::buffer))
    })?;
    model.info.title = "untitled".to_owned();
    model.info.vocabulary = symbols;
    Ok(Model { model: AnyModel::Hmm(Box::new(model)) })
}

/// Features of every sequence: 'fess', 'nfess' or 'fisher'.
#[pyfunction]
pub(crate) fn sequence_features<'py>(
    py: Python<'py>,
    model: &Model,
    sequences: &Sequences,
    kind: &str,
    jobs: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (hmm, kind) = (hmm(model)?, kind_from(kind)?);
    let all = &sequences.all;
    let rows = on_pool(py, jobs, || hmm.features(kind, all))?.map_err(errors::estimator)?;
    let number = all.as_view().len();
    PyArray1::from_vec(py, rows.values).reshape([number, rows.columns])
}

/// The log-likelihood of every sequence in nats; minus infinity if it is impossible.
#[pyfunction]
pub(crate) fn sequence_log_likelihoods<'py>(
    py: Python<'py>,
    model: &Model,
    sequences: &Sequences,
    jobs: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let hmm = hmm(model)?;
    let scores = on_pool(py, jobs, || hmm.score(&sequences.all))?.map_err(errors::estimator)?;
    Ok(PyArray1::from_vec(py, scores.into_iter().map(|free_energy| -free_energy).collect()))
}

/// A path, and posteriors.
type States<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>);

/// The most probable path of states of every sequence, one after the other, or the posterior of states at each position.
#[pyfunction]
pub(crate) fn sequence_states<'py>(
    py: Python<'py>,
    model: &Model,
    sequences: &Sequences,
) -> PyResult<States<'py>> {
    let hmm = hmm(model)?.hmm();
    let states = hmm.shape().states();
    let found = py.detach(|| -> Result<(Vec<i64>, Vec<f64>), EstimatorError> {
        let sequences = sequences.all.as_view();
        let mut scratch = zeros(hmm.shape().scratch_len::<f64>(sequences.longest()))?;
        let mut path = vec![0; sequences.longest()];
        let mut posteriors = zeros(sequences.positions().saturating_mul(states))?;
        let (mut paths, mut rest) = (Vec::with_capacity(sequences.positions()), &mut posteriors[..]);
        for (number, sequence) in sequences.iter().enumerate() {
            let named = |error| match error {
                HmmError::Impossible { position, .. } => HmmError::Impossible { sequence: number, position },
                other => other,
            };
            let (gamma, after) = rest.split_at_mut(sequence.len() * states);
            rest = after;
            hmm.posterior(&sequence, gamma, &mut scratch).map_err(named)?;
            let path = path.get_mut(..sequence.len()).unwrap_or_default();
            hmm.viterbi(&sequence, path, &mut scratch).map_err(named)?;
            paths.extend(path.iter().map(|&state| state as i64));
        }
        Ok((paths, posteriors))
    });
    let (paths, posteriors) = found.map_err(errors::estimator)?;
    let positions = paths.len();
    Ok((PyArray1::from_vec(py, paths), PyArray1::from_vec(py, posteriors).reshape([positions, states])?))
}

/// So many zeros, if there is memory for them.
fn zeros<T: Stored>(elements: usize) -> Result<Vec<T>, EstimatorError> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(elements).map_err(|_| EstimatorError::Memory { elements })?;
    zeros.resize(elements, T::zero());
    Ok(zeros)
}
