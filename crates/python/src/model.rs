//! Fitted models of any kind.

use std::path::PathBuf;

use countgrid_corpus::WordOptions;
use countgrid_estimators::{AnyModel, EstimatorError, FeatureKind, FeatureRows, ModelFileError};
use countgrid_io::{ModelFile, TableData};
use countgrid_map::write_html;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    data::{AnyCorpus, Data},
    errors,
    harmonium::{top_words, transform},
    on_pool,
    text::words_from,
};

/// A fitted model of any kind, in the bytes of its file as pickles see it.
#[pyclass(frozen, module = "countgrid._core")]
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) model: AnyModel,
}

#[pymethods]
impl Model {
    /// The model in the bytes of a file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let file = ModelFile::from_bytes(bytes).map_err(errors::value)?;
        Ok(Self { model: AnyModel::from_file(file).map_err(errors::estimator)? })
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.model.to_file().to_bytes()).map_err(errors::value)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Reads a model.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| AnyModel::load(path));
        Ok(Self { model: model.map_err(errors::estimator)? })
    }

    /// Writes its file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| countgrid_io::save(path, &self.model.to_file()))
            .map_err(|error| errors::estimator(error.into()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// What the text `kind` of its file is.
    #[getter]
    fn kind(&self) -> &'static str {
        self.model.kind()
    }

    #[getter]
    fn title(&self) -> &str {
        &self.model.info().title
    }

    #[getter]
    fn vocabulary(&self) -> Vec<String> {
        self.model.info().vocabulary.clone()
    }

    /// How it was fitted, as JSON.
    #[getter]
    fn fit(&self) -> String {
        self.model.info().fit.to_string()
    }

    /// Whether its data are in double precision.
    #[getter]
    fn double(&self) -> bool {
        self.is_double()
    }

    /// Cells of a grid along each axis, and of its window; None of other models.
    #[getter]
    fn layout(&self) -> Option<(Vec<usize>, Vec<usize>)> {
        let layout = match &self.model {
            AnyModel::GridF32(grid) => grid.layout(),
            AnyModel::GridF64(grid) => grid.layout(),
            AnyModel::ComponentialF32(grid) => grid.layout(),
            AnyModel::ComponentialF64(grid) => grid.layout(),
            _ => return None,
        };
        Some((layout.extents().to_vec(), layout.window().to_vec()))
    }

    /// Cells of a grid, topics, points of a map, or states.
    #[getter]
    fn components(&self) -> usize {
        match &self.model {
            AnyModel::GridF32(grid) => grid.shape().cells(),
            AnyModel::GridF64(grid) => grid.shape().cells(),
            AnyModel::ComponentialF32(grid) => grid.shape().cells(),
            AnyModel::ComponentialF64(grid) => grid.shape().cells(),
            AnyModel::Lda(lda) => lda.lda().shape().topics(),
            AnyModel::TopographicF32(map) => map.shape().points(),
            AnyModel::TopographicF64(map) => map.shape().points(),
            AnyModel::HarmoniumF32(harmonium) => harmonium.shape().topics(),
            AnyModel::HarmoniumF64(harmonium) => harmonium.shape().topics(),
            AnyModel::Hmm(hmm) => hmm.hmm().shape().states(),
            _ => 0,
        }
    }

    /// The kind of a harmonium; None of other models.
    #[getter]
    fn harmonium(&self) -> Option<&'static str> {
        match &self.model {
            AnyModel::HarmoniumF32(model) => Some(model.kind().name()),
            AnyModel::HarmoniumF64(model) => Some(model.kind().name()),
            _ => None,
        }
    }

    /// A table of its file.
    fn table<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let file = self.model.to_file();
        let table = file.tables.into_iter().find(|table| table.name == name);
        let table = table.ok_or_else(|| errors::value(format_args!("the model has no table {name:?}")))?;
        let shape = table.shape;
        Ok(match table.data {
            TableData::F32(data) => PyArray1::from_vec(py, data).reshape(shape)?.into_any(),
            TableData::F64(data) => PyArray1::from_vec(py, data).reshape(shape)?.into_any(),
            TableData::U32(data) => PyArray1::from_vec(py, data).reshape(shape)?.into_any(),
        })
    }

    /// The same model with another title.
    fn titled(&self, title: String) -> PyResult<Self> {
        let mut file = self.model.to_file();
        file.metadata.insert("title".to_owned(), title);
        Ok(Self { model: AnyModel::from_file(file).map_err(errors::estimator)? })
    }

    /// Features of every bag.
    fn features<'py>(
        &self,
        py: Python<'py>,
        data: &Data,
        kind: &str,
        jobs: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let kind = kind_from(kind)?;
        let corpus = data;
        let rows = on_pool(py, jobs, || self.rows(&corpus.lock(), kind))?.map_err(errors::estimator)?;
        let bags = rows.values.len().checked_div(rows.columns).unwrap_or(0);
        PyArray1::from_vec(py, rows.values).reshape([bags, rows.columns])
    }

    /// The log-likelihood of every bag in nats, or the bound on it.
    fn log_likelihoods<'py>(
        &self,
        py: Python<'py>,
        data: &Data,
        jobs: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let scores = on_pool(py, jobs, || self.free_energies(&data.lock()))?.map_err(errors::estimator)?;
        Ok(PyArray1::from_vec(py, scores.into_iter().map(|free_energy| -free_energy).collect()))
    }

    /// The same model with the title, the words and, of a grid, the labels of data.
    fn described(&self, py: Python<'_>, data: &Data, words: &str, jobs: usize) -> PyResult<Self> {
        let words = words_from(words)?;
        let made = on_pool(py, jobs, || {
            let mut model = AnyModel::from_file(self.model.to_file())?;
            describe(&mut model, &data.lock(), &words)?;
            Ok(model)
        })?;
        Ok(Self { model: made.map_err(errors::estimator)? })
    }

    /// The pages of a grid, one of each layer, as HTML.
    fn pages(&self, py: Python<'_>, data: &Data, title: &str, jobs: usize) -> PyResult<Vec<String>> {
        let pages = on_pool(py, jobs, || match (&self.model, &*data.lock()) {
            (AnyModel::GridF32(grid), AnyCorpus::F32(corpus)) => grid.pages(corpus),
            (AnyModel::GridF64(grid), AnyCorpus::F64(corpus)) => grid.pages(corpus),
            (AnyModel::ComponentialF32(grid), AnyCorpus::F32(corpus)) => grid.pages(corpus),
            (AnyModel::ComponentialF64(grid), AnyCorpus::F64(corpus)) => grid.pages(corpus),
            _ => Err(precision()),
        })?;
        let html = |mut page: countgrid_estimators::GridPage| {
            let mut bytes = Vec::new();
            title.clone_into(&mut page.page.title);
            write_html(&page.page, &mut bytes).map_err(errors::value)?;
            String::from_utf8(bytes).map_err(errors::value)
        };
        pages.map_err(errors::estimator)?.into_iter().map(html).collect()
    }

    /// The words of each component or of the window at each cell with the largest probability.
    fn top_words(&self, py: Python<'_>, component: usize, count: usize) -> PyResult<Vec<(String, f64)>> {
        let info = self.model.info();
        let word = |place: usize| info.vocabulary.get(place).cloned().unwrap_or_default();
        let found = py.detach(|| -> Result<Vec<(usize, f64)>, EstimatorError> {
            use countgrid_estimators::WordUse;
            let of_grid = |uses: Vec<Vec<WordUse>>| {
                let uses = uses.into_iter().next().unwrap_or_default();
                let top = WordUse::top(&uses, count, |word| word.probability);
                top.iter().map(|word| (word.word, word.probability)).collect()
            };
            Ok(match &self.model {
                AnyModel::GridF32(grid) => of_grid(grid.word_uses(&[component])?),
                AnyModel::GridF64(grid) => of_grid(grid.word_uses(&[component])?),
                AnyModel::ComponentialF32(grid) => of_grid(grid.to_grid()?.word_uses(&[component])?),
                AnyModel::ComponentialF64(grid) => of_grid(grid.to_grid()?.word_uses(&[component])?),
                AnyModel::Lda(lda) => {
                    lda.top_words(component, count).iter().map(|top| (top.word, top.probability)).collect()
                }
                AnyModel::HarmoniumF32(model) => top_words(model, component, count),
                AnyModel::HarmoniumF64(model) => top_words(model, component, count),
                _ => Vec::new(),
            })
        });
        Ok(found.map_err(errors::estimator)?.into_iter().map(|(place, p)| (word(place), p)).collect())
    }
}

/// The data are not in the precision of the model, which the package never does.
pub(crate) fn precision() -> EstimatorError {
    EstimatorError::Model(ModelFileError::Table {
        expected: "the data are in another precision than the model",
    })
}

pub(crate) fn describe(
    model: &mut AnyModel,
    corpus: &AnyCorpus,
    words: &WordOptions,
) -> Result<(), EstimatorError> {
    match (model, corpus) {
        (AnyModel::GridF32(grid), AnyCorpus::F32(corpus)) => grid.describe(&corpus.name, corpus, words)?,
        (AnyModel::GridF64(grid), AnyCorpus::F64(corpus)) => grid.describe(&corpus.name, corpus, words)?,
        (AnyModel::ComponentialF32(grid), AnyCorpus::F32(corpus)) => {
            grid.describe(&corpus.name, corpus, words)?;
        }
        (AnyModel::ComponentialF64(grid), AnyCorpus::F64(corpus)) => {
            grid.describe(&corpus.name, corpus, words)?;
        }
        (AnyModel::Lda(lda), AnyCorpus::F64(corpus)) => lda.info.describe(&corpus.name, corpus, words),
        (AnyModel::TopographicF32(map), AnyCorpus::F32(corpus)) => {
            map.info.describe(&corpus.name, corpus, words);
        }
        (AnyModel::TopographicF64(map), AnyCorpus::F64(corpus)) => {
            map.info.describe(&corpus.name, corpus, words);
        }
        (AnyModel::HarmoniumF32(model), AnyCorpus::F32(corpus)) => {
            model.info.describe(&corpus.name, corpus, words);
        }
        (AnyModel::HarmoniumF64(model), AnyCorpus::F64(corpus)) => {
            model.info.describe(&corpus.name, corpus, words);
        }
        _ => return Err(precision()),
    }
    Ok(())
}

impl Model {
    pub(crate) fn is_double(&self) -> bool {
        !matches!(
            self.model,
            AnyModel::GridF32(_)
                | AnyModel::ComponentialF32(_)
                | AnyModel::TopographicF32(_)
                | AnyModel::HarmoniumF32(_)
        )
    }

    fn rows(&self, corpus: &AnyCorpus, kind: FeatureKind) -> Result<FeatureRows, EstimatorError> {
        let posterior = kind == FeatureKind::Posterior;
        match (&self.model, corpus) {
            (AnyModel::GridF32(grid), AnyCorpus::F32(corpus)) => grid.features(kind, &corpus.bags),
            (AnyModel::GridF64(grid), AnyCorpus::F64(corpus)) => grid.features(kind, &corpus.bags),
            (AnyModel::ComponentialF32(grid), AnyCorpus::F32(corpus)) => grid.features(kind, &corpus.bags),
            (AnyModel::ComponentialF64(grid), AnyCorpus::F64(corpus)) => grid.features(kind, &corpus.bags),
            (AnyModel::Lda(lda), AnyCorpus::F64(corpus)) => lda.features(kind, &corpus.bags),
            (AnyModel::TopographicF32(map), AnyCorpus::F32(corpus)) if posterior => {
                map.transform(&corpus.bags)
            }
            (AnyModel::TopographicF64(map), AnyCorpus::F64(corpus)) if posterior => {
                map.transform(&corpus.bags)
            }
            (AnyModel::HarmoniumF32(_) | AnyModel::HarmoniumF64(_), _) if posterior => {
                transform(&self.model, corpus, None)
            }
            (
                AnyModel::TopographicF32(_)
                | AnyModel::TopographicF64(_)
                | AnyModel::HarmoniumF32(_)
                | AnyModel::HarmoniumF64(_),
                _,
            ) => Err(EstimatorError::NoFeatures { kind }),
            _ => Err(precision()),
        }
    }

    fn free_energies(&self, corpus: &AnyCorpus) -> Result<Vec<f64>, EstimatorError> {
        match (&self.model, corpus) {
            (AnyModel::GridF32(grid), AnyCorpus::F32(corpus)) => grid.score(&corpus.bags),
            (AnyModel::GridF64(grid), AnyCorpus::F64(corpus)) => grid.score(&corpus.bags),
            (AnyModel::ComponentialF32(grid), AnyCorpus::F32(corpus)) => grid.score(&corpus.bags),
            (AnyModel::ComponentialF64(grid), AnyCorpus::F64(corpus)) => grid.score(&corpus.bags),
            (AnyModel::Lda(lda), AnyCorpus::F64(corpus)) => lda.score(&corpus.bags),
            (AnyModel::TopographicF32(map), AnyCorpus::F32(corpus)) => map.score(&corpus.bags),
            (AnyModel::TopographicF64(map), AnyCorpus::F64(corpus)) => map.score(&corpus.bags),
            _ => Err(precision()),
        }
    }
}

pub(crate) fn kind_from(name: &str) -> PyResult<FeatureKind> {
    Ok(match name {
        "posterior" => FeatureKind::Posterior,
        "spread" => FeatureKind::Spread,
        "fess" => FeatureKind::Fess,
        "nfess" => FeatureKind::Nfess,
        "fess-words" => FeatureKind::FessWords,
        "fess-sources" => FeatureKind::FessSources,
        "fisher" => FeatureKind::Fisher,
        _ => return Err(errors::value(format_args!("{name:?} is no kind of features"))),
    })
}
