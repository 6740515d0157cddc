//! Harmoniums, whose documents may have numeric features beside words.

use countgrid_estimators::{
    AnyModel, BagTotals, EstimatorError, FeatureRows, FeatureValues, FittedHarmonium, HarmoniumData,
    HarmoniumOptions, HarmoniumTraining, Stored,
};
use countgrid_math::Real;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::{
    data::{AnyCorpus, Data},
    errors,
    fit::{finished, parsed_text, watched},
    model::Model,
    on_pool,
};

/// Names of features, and their values `[document][feature]`.
type Features<'py> = Option<(Vec<String>, PyReadonlyArray2<'py, f64>)>;

fn values(features: Features<'_>) -> PyResult<Option<FeatureValues>> {
    let Some((names, array)) = features else { return Ok(None) };
    let array = array.as_array();
    if names.len() != array.ncols() {
        return Err(errors::value(format_args!("{} names for {} features", names.len(), array.ncols())));
    }
    Ok(Some(FeatureValues { names, values: array.iter().copied().collect() }))
}

/// Fits a harmonium by options in JSON, a dual wing with features; `progress` as that of `fit`.
#[pyfunction]
#[pyo3(signature = (options, data, features, jobs, progress=None))]
pub(crate) fn fit_harmonium(
    py: Python<'_>,
    options: &str,
    data: &Data,
    features: Features<'_>,
    jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Model> {
    let options: HarmoniumOptions = parsed_text(options)?;
    options.validate().map_err(errors::estimator)?;
    let features = values(features)?;
    let model = watched(py, jobs, progress, |watch| match &*data.lock() {
        AnyCorpus::F32(corpus) => {
            let plan = options.check(BagTotals::from(corpus))?;
            let data = HarmoniumData::new(&plan, &corpus.bags, features.as_ref())?;
            let model = watch.run(HarmoniumTraining::new(plan, data)?)?;
            Ok(AnyModel::HarmoniumF32(Box::new(model)))
        }
        AnyCorpus::F64(corpus) => {
            let plan = options.check(BagTotals::from(corpus))?;
            let data = HarmoniumData::new(&plan, &corpus.bags, features.as_ref())?;
            let model = watch.run(HarmoniumTraining::new(plan, data)?)?;
            Ok(AnyModel::HarmoniumF64(Box::new(model)))
        }
    })?;
    finished(model, data)
}

/// Expected topics of every document, given its features, too.
#[pyfunction]
pub(crate) fn harmonium_topics<'py>(
    py: Python<'py>,
    model: &Model,
    data: &Data,
    features: Features<'py>,
    jobs: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let features = values(features)?;
    let rows = on_pool(py, jobs, || transform(&model.model, &data.lock(), features.as_ref()))?;
    let rows = rows.map_err(errors::estimator)?;
    let documents = rows.values.len().checked_div(rows.columns).unwrap_or(0);
    PyArray1::from_vec(py, rows.values).reshape([documents, rows.columns])
}

pub(crate) fn transform(
    model: &AnyModel,
    corpus: &AnyCorpus,
    features: Option<&FeatureValues>,
) -> Result<FeatureRows, EstimatorError> {
    match (model, corpus) {
        (AnyModel::HarmoniumF32(model), AnyCorpus::F32(corpus)) => model.transform(&corpus.bags, features),
        (AnyModel::HarmoniumF64(model), AnyCorpus::F64(corpus)) => model.transform(&corpus.bags, features),
        _ => Err(crate::model::precision()),
    }
}

/// The words with the largest couplings to a topic that are above zero, by their places.
pub(crate) fn top_words<T: Stored>(
    model: &FittedHarmonium<T>,
    topic: usize,
    count: usize,
) -> Vec<(usize, f64)> {
    let topics = model.shape().topics();
    if topic >= topics {
        return Vec::new();
    }
    let own = model.model().w().iter().skip(topic).step_by(topics);
    let mut words: Vec<(usize, f64)> = own.map(|&w| Real::to_f64(w)).enumerate().collect();
    words.retain(|&(_, coupling)| coupling > 0.0);
    words.sort_by(|a, b| b.1.total_cmp(&a.1));
    words.truncate(count);
    words
}
