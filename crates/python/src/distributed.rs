//! Trainings in parts, whose states, documents and sums are the bytes of files that an engine moves.

use countgrid_corpus::{Corpus, Storable};
use countgrid_em::BLOCK_BAGS;
use countgrid_estimators::{
    AnyModel, BagTotals, ComponentialOptions, DistributedError, DistributedOptions, DistributedStart,
    EstimatorError, LeafDocuments, LeafSums, ModelInfo, Stored,
    distributed::{finish, next_state, partial_sums, start},
    leaf_digests,
};
use countgrid_io::{ModelFile, TableData};
use countgrid_math::Real;
use numpy::PyReadonlyArray1;
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    data::{AnyCorpus, Builder, Data, integers},
    errors,
    fit::{grid_options, name_features, parsed_text},
    model::Model,
    on_pool,
    text::words_from,
};

/// Documents of a leaf but the last.
#[pyfunction]
pub(crate) fn leaf_size() -> usize {
    BLOCK_BAGS
}

/// The documents of consecutive leaves as a file, the digest of each leaf, and how many documents are not empty.
#[pyfunction]
pub(crate) fn leaf_documents<'py>(
    py: Python<'py>,
    data: &Data,
    first_leaf: usize,
) -> PyResult<(Bound<'py, PyBytes>, Vec<u64>, usize)> {
    let (file, digests, non_empty) = py
        .detach(|| match &*data.lock() {
            AnyCorpus::F32(corpus) => documents(corpus, first_leaf),
            AnyCorpus::F64(corpus) => documents(corpus, first_leaf),
        })
        .map_err(errors::estimator)?;
    Ok((bytes(py, &file)?, digests, non_empty))
}

fn documents<T: Stored>(
    corpus: &Corpus<T>,
    first_leaf: usize,
) -> Result<(ModelFile, Vec<u64>, usize), EstimatorError> {
    let mut file = None;
    LeafDocuments::split(&corpus.bags, &corpus.labels, usize::MAX, |part| {
        file = Some(part.to_file()?);
        Ok::<_, EstimatorError>(())
    })?;
    let mut file = file.ok_or(EstimatorError::NoDocuments)?;
    file.metadata.insert("first_leaf".to_owned(), first_leaf.to_string());
    Ok((file, leaf_digests(&corpus.bags)?, corpus.nonempty))
}

/// The sum of all counts, from that of the rows before on: in the one order of rows, so that it has the bits of one machine's.
#[pyfunction]
pub(crate) fn add_tokens(
    before: f64,
    indptr: &Bound<'_, PyAny>,
    counts: PyReadonlyArray1<'_, f64>,
) -> PyResult<f64> {
    let (offsets, counts) = (integers(indptr, "indptr")?, counts.as_array());
    let mut tokens = before;
    for (row, ends) in offsets.windows(2).enumerate() {
        let &[start, end] = ends else { continue };
        if end < start || end > counts.len() {
            return Err(errors::value(format_args!("indptr[{}] is out of order or out of range", row + 1)));
        }
        tokens += (start..end).filter_map(|at| counts.get(at)).fold(0.0, |sum, count| sum + count);
    }
    Ok(tokens)
}

/// The first state of a training on documents of which the numbers, the digests of all leaves and the names of columns are known.
#[pyfunction]
#[pyo3(signature = (kind, options, totals, digests, names, double))]
pub(crate) fn start_state<'py>(
    py: Python<'py>,
    kind: &str,
    options: &str,
    totals: (usize, usize, usize, f64),
    digests: Vec<u64>,
    names: Option<Vec<String>>,
    double: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = match kind {
        "grid" | "mixture" => DistributedOptions::Grid(grid_options(kind, parsed_text(options)?)?),
        "componential" => {
            let options: ComponentialOptions = parsed_text(options)?;
            options.validate().map_err(errors::estimator)?;
            DistributedOptions::Componential(options)
        }
        _ => {
            return Err(errors::value(format_args!(
                "a model of the kind {kind:?} cannot be fitted in parts"
            )));
        }
    };
    let (features, bags, non_empty, tokens) = totals;
    let totals = BagTotals { features, bags, non_empty, tokens };
    let state = match double {
        true => first::<f64>(py, &options, totals, digests, names)?,
        false => first::<f32>(py, &options, totals, digests, names)?,
    };
    bytes(py, &state)
}

fn first<T: Real + Storable + Stored>(
    py: Python<'_>,
    options: &DistributedOptions,
    totals: BagTotals,
    digests: Vec<u64>,
    names: Option<Vec<String>>,
) -> PyResult<ModelFile> {
    let mut corpus = Builder::<T>::new(totals.features)?.finish()?; // of no documents
    if let Some(names) = names.filter(|names| names.len() == totals.features) {
        corpus.name = "untitled".to_owned();
        corpus.vocabulary = names;
    }
    name_features(&mut corpus);
    let mut info = ModelInfo::default();
    info.describe(&corpus.name, &corpus, &words_from("{}")?);
    let from = DistributedStart { totals, digests, info, labels: Vec::new() };
    py.detach(|| start::<T>(options, &from)).map_err(errors::estimator)
}

/// The sums of documents under the model of a state.
#[pyfunction]
pub(crate) fn leaf_sums<'py>(
    py: Python<'py>,
    state: &[u8],
    documents: &[u8],
    jobs: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let (state, documents) = (file(state)?, file(documents)?);
    let sums = on_pool(py, jobs, || partial_sums(&state, documents))?.map_err(errors::estimator)?;
    bytes(py, &sums)
}

/// Sums of other leaves under the same state, added up in the tree of leaves.
#[pyfunction]
pub(crate) fn merge_sums<'py>(py: Python<'py>, one: &[u8], other: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let (one, other) = (file(one)?, file(other)?);
    let double = one.tables.iter().any(|table| matches!(table.data, TableData::F64(_)));
    let merged = py.detach(|| if double { merged::<f64>(one, other) } else { merged::<f32>(one, other) });
    bytes(py, &merged.map_err(errors::estimator)?)
}

fn merged<T: Stored>(one: ModelFile, other: ModelFile) -> Result<ModelFile, EstimatorError> {
    let mut sums = LeafSums::<T>::from_file(one)?;
    sums.merge(LeafSums::from_file(other)?)?;
    Ok(sums.to_file())
}

/// Restart, stage, iteration, the bound per token and the share of the work that is done.
type At = (usize, usize, usize, Option<f64>, f64);

/// The state after that of which these are the sums of all leaves; what `progress` of `fit` is called with; whether it has ended.
#[pyfunction]
pub(crate) fn step_state<'py>(
    py: Python<'py>,
    state: &[u8],
    sums: &[u8],
    jobs: usize,
) -> PyResult<(Bound<'py, PyBytes>, At, bool)> {
    let (state, sums) = (file(state)?, file(sums)?);
    let (next, at, done) = on_pool(py, jobs, || next_state(&state, sums))?.map_err(errors::estimator)?;
    let at = (at.restart, at.stage, at.iteration, at.bound_per_token, at.share_done);
    Ok((bytes(py, &next)?, at, done))
}

/// The model of a training that has ended; None if it has not.
#[pyfunction]
pub(crate) fn finish_state(py: Python<'_>, state: &[u8]) -> PyResult<Option<Model>> {
    let state = file(state)?;
    let model = py.detach(|| finish(&state, []).and_then(AnyModel::from_file));
    match model {
        Ok(model) => Ok(Some(Model { model })),
        Err(EstimatorError::Distributed(DistributedError::NotEnded)) => Ok(None),
        Err(error) => Err(errors::estimator(error)),
    }
}

/// Whether a state is of the training that begins with another: the same options and rows.
#[pyfunction]
pub(crate) fn same_training(first: &[u8], state: &[u8]) -> PyResult<bool> {
    let (first, state) = (file(first)?, file(state)?);
    let same = |name: &str| first.metadata.get(name) == state.metadata.get(name);
    Ok(["distributed.options", "distributed.totals", "distributed.leaves", "option.scalar"]
        .into_iter()
        .all(same))
}

fn file(bytes: &[u8]) -> PyResult<ModelFile> {
    ModelFile::from_bytes(bytes).map_err(errors::value)
}

fn bytes<'py>(py: Python<'py>, file: &ModelFile) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py.detach(|| file.to_bytes()).map_err(errors::value)?;
    Ok(PyBytes::new(py, &bytes))
}
