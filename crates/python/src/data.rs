//! Arrays and texts to bags.

use std::{cell::Cell, sync::Mutex};

use countgrid_corpus::{
    BlockLimits, Blocks, BlocksBuilder, Column, ColumnValues, Corpus, CorpusKind, CorpusOptions, Date,
    DocumentInfo, LabelColumn, Scaling, Storable,
};
use countgrid_io::{Document, truncate_text};
use countgrid_math::Real;
use countgrid_text::TextOptions;
use numpy::{
    Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods, ndarray::ArrayView2,
};
use pyo3::{exceptions::PyTypeError, prelude::*};

use crate::{errors, model::Model, text::english};

/// Characters of a title that is made from a text.
const TITLE: usize = 80;

pub(crate) enum AnyCorpus {
    F32(Corpus<f32>),
    F64(Corpus<f64>),
}

/// Documents as bags of counts, in the precision of a model.
#[pyclass(frozen, module = "countgrid._core")]
pub(crate) struct Data {
    pub(crate) corpus: Mutex<AnyCorpus>,
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Data").finish_non_exhaustive()
    }
}

#[pymethods]
impl Data {
    /// Bags from the three arrays of a matrix in compressed sparse rows.
    #[staticmethod]
    fn from_csr(
        features: usize,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        counts: &Bound<'_, PyAny>,
        double: bool,
    ) -> PyResult<Self> {
        let offsets = integers(indptr, "indptr")?;
        with_integers(indices, "indices", |indices| {
            with_numbers(counts, "data", |counts| match double {
                true => sparse::<f64>(features, &offsets, indices, counts).map(AnyCorpus::F64),
                false => sparse::<f32>(features, &offsets, indices, counts).map(AnyCorpus::F32),
            })
        })
    }

    /// Bags from the rows of a matrix.
    #[staticmethod]
    fn from_dense(counts: &Bound<'_, PyAny>, double: bool) -> PyResult<Self> {
        aligned(counts, "X")?;
        macro_rules! try_as {
            ($($type:ty)*) => {$(
                if let Ok(array) = counts.extract::<PyReadonlyArray2<'_, $type>>() {
                    let view = array.as_array();
                    return Self::new(match double {
                        true => dense::<f64, $type>(view).map(AnyCorpus::F64)?,
                        false => dense::<f32, $type>(view).map(AnyCorpus::F32)?,
                    });
                }
            )*};
        }
        try_as!(f64 f32 i64 i32);
        Err(PyTypeError::new_err("X is no matrix of float64, float32, int64 or int32"))
    }

    /// Bags of texts, counted as the model's file says, with their titles.
    #[staticmethod]
    fn from_texts(py: Python<'_>, texts: Vec<String>, model: &Model) -> PyResult<Self> {
        let info = model.model.info();
        let file = std::sync::Arc::from(std::path::Path::new("texts"));
        let documents = texts.into_iter().zip(1u64..).map(|(text, line)| Document {
            id: line.to_string(),
            title: truncate_text(&text, TITLE),
            label: None,
            text,
            file: std::sync::Arc::clone(&file),
            line,
        });
        let options = CorpusOptions { scaling: info.scaling, ..CorpusOptions::default() };
        let (name, words, text) = (&info.title, &info.vocabulary, &info.text);
        let double = model.is_double();
        let corpus = py.detach(|| match double {
            true => Corpus::count_documents(name, documents, words, text, &options).map(AnyCorpus::F64),
            false => Corpus::count_documents(name, documents, words, text, &options).map(AnyCorpus::F32),
        });
        Self::new(corpus.map_err(errors::corpus)?)
    }

    /// Gives the features their words and the whole a name.
    fn set_vocabulary(&self, name: String, words: Vec<String>) -> PyResult<()> {
        self.change(
            |corpus| change_words(corpus, name.clone(), words.clone()),
            |corpus| change_words(corpus, name.clone(), words.clone()),
        )
    }

    /// Says how texts became these words: `TextOptions` as JSON, as `select_words` gives it.
    fn set_text(&self, options: &str) -> PyResult<()> {
        let text: TextOptions = serde_json::from_str(options).map_err(errors::value)?;
        let change = |own: &mut TextOptions| {
            own.clone_from(&text);
            Ok(())
        };
        self.change(|corpus| change(&mut corpus.text), |corpus| change(&mut corpus.text))
    }

    /// Gives each document a label, or none.
    fn set_labels(&self, labels: Vec<Option<String>>) -> PyResult<()> {
        let column = LabelColumn::from_labels(labels);
        let change = |bags: usize, labels: &mut LabelColumn| {
            if column.len() != bags {
                return Err(errors::value(format_args!("{} labels for {bags} documents", column.len())));
            }
            *labels = column.clone();
            Ok(())
        };
        self.change(
            |corpus| change(corpus.bags.len(), &mut corpus.labels),
            |corpus| change(corpus.bags.len(), &mut corpus.labels),
        )
    }

    /// Gives each document a day, written YYYY-MM-DD, or none.
    fn set_dates(&self, dates: Vec<Option<String>>) -> PyResult<()> {
        let mut days = Vec::with_capacity(dates.len());
        for (place, text) in dates.iter().enumerate() {
            let day = text.as_deref().map(str::parse::<Date>).transpose();
            days.push(
                day.map_err(|error| errors::value(format_args!("dates[{place}] is {text:?}: {error}")))?,
            );
        }
        let change = |bags: usize, columns: &mut Vec<Column>| {
            if days.len() != bags {
                return Err(errors::value(format_args!("{} dates for {bags} documents", days.len())));
            }
            *columns = vec![Column { name: "date".to_owned(), values: ColumnValues::Dates(days.clone()) }];
            Ok(())
        };
        self.change(
            |corpus| change(corpus.bags.len(), &mut corpus.columns),
            |corpus| change(corpus.bags.len(), &mut corpus.columns),
        )
    }

    /// Gives each document a title.
    fn set_titles(&self, titles: Vec<String>) -> PyResult<()> {
        let change = |bags: usize, documents: &mut Vec<DocumentInfo>| {
            if titles.len() != bags {
                return Err(errors::value(format_args!("{} titles for {bags} documents", titles.len())));
            }
            documents.resize_with(bags, DocumentInfo::default);
            for (number, (info, title)) in documents.iter_mut().zip(&titles).enumerate() {
                info.title.clone_from(title);
                if info.id.is_empty() {
                    info.id = (number + 1).to_string();
                }
            }
            Ok(())
        };
        self.change(
            |corpus| change(corpus.bags.len(), &mut corpus.documents),
            |corpus| change(corpus.bags.len(), &mut corpus.documents),
        )
    }

    fn __len__(&self) -> usize {
        match &*self.lock() {
            AnyCorpus::F32(corpus) => corpus.bags.len(),
            AnyCorpus::F64(corpus) => corpus.bags.len(),
        }
    }
}

impl Data {
    fn new(corpus: AnyCorpus) -> PyResult<Self> {
        Ok(Self { corpus: Mutex::new(corpus) })
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, AnyCorpus> {
        self.corpus.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn change(
        &self,
        single: impl FnOnce(&mut Corpus<f32>) -> PyResult<()>,
        double: impl FnOnce(&mut Corpus<f64>) -> PyResult<()>,
    ) -> PyResult<()> {
        match &mut *self.lock() {
            AnyCorpus::F32(corpus) => single(corpus),
            AnyCorpus::F64(corpus) => double(corpus),
        }
    }
}

fn change_words<T: Storable>(corpus: &mut Corpus<T>, name: String, words: Vec<String>) -> PyResult<()> {
    let (features, given) = (corpus.bags.features(), words.len());
    if given != features {
        return Err(errors::value(format_args!("{given} words for {features} features")));
    }
    (corpus.name, corpus.vocabulary) = (name, words);
    Ok(())
}

/// Refuses what an array view would read at addresses that its type may not have.
fn aligned(array: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    let untyped =
        array.cast::<PyUntypedArray>().map_err(|_| PyTypeError::new_err(format!("{name} is no array")))?;
    if untyped.len() > 0 && !array.getattr("flags")?.getattr("aligned")?.extract::<bool>()? {
        return Err(errors::value(format_args!("{name} is not aligned")));
    }
    Ok(())
}

/// Hands over the numbers of an index array, where they lie.
fn with_integers<R>(
    array: &Bound<'_, PyAny>,
    name: &str,
    make: impl FnOnce(&dyn Fn(usize) -> Option<i64>) -> PyResult<R>,
) -> PyResult<R> {
    aligned(array, name)?;
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i32>>() {
        let view = array.as_array();
        return make(&|place| view.get(place).map(|&x| i64::from(x)));
    }
    if let Ok(array) = array.extract::<PyReadonlyArray1<'_, i64>>() {
        let view = array.as_array();
        return make(&|place| view.get(place).copied());
    }
    Err(PyTypeError::new_err(format!("{name} is no array of int32 or int64 of one axis")))
}

/// The numbers of an index array, none of them negative.
pub(crate) fn integers(array: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<usize>> {
    with_integers(array, name, |get| {
        let whole = |(place, x): (usize, i64)| x.try_into().map_err(|_| negative(name, place));
        (0..).map_while(get).enumerate().map(whole).collect()
    })
}

fn negative(name: &str, place: usize) -> PyErr {
    errors::value(format_args!("{name}[{place}] is negative"))
}

/// A count as it is in an array.
trait Number: Element + Copy {
    fn to_f64(self) -> f64;
}
macro_rules! number {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}
number!(f64 f32 i64 i32);

/// Hands over the elements of an array of any type of numbers.
fn with_numbers(
    array: &Bound<'_, PyAny>,
    name: &str,
    make: impl FnOnce(&dyn Fn(usize) -> Option<f64>) -> PyResult<AnyCorpus>,
) -> PyResult<Data> {
    aligned(array, name)?;
    macro_rules! try_as {
        ($($type:ty)*) => {$(
            if let Ok(array) = array.extract::<PyReadonlyArray1<'_, $type>>() {
                let view = array.as_array();
                return Data::new(make(&|place| view.get(place).map(|&x| Number::to_f64(x)))?);
            }
        )*};
    }
    try_as!(f64 f32 i64 i32);
    Err(PyTypeError::new_err(format!("{name} is no array of float64, float32, int64 or int32 of one axis")))
}

fn sparse<T: Real + Storable>(
    features: usize,
    offsets: &[usize],
    indices: &dyn Fn(usize) -> Option<i64>,
    counts: &dyn Fn(usize) -> Option<f64>,
) -> PyResult<Corpus<T>> {
    let mut builder = Builder::new(features)?;
    if offsets.first() != Some(&0) {
        return Err(errors::value("indptr does not begin with 0"));
    }
    for (row, ends) in offsets.windows(2).enumerate() {
        let &[start, end] = ends else { continue };
        let there = end.checked_sub(1).is_none_or(|last| indices(last).is_some() && counts(last).is_some());
        if end < start || end > start && !there {
            return Err(errors::value(format_args!("indptr[{}] is out of order or out of range", row + 1)));
        }
        let below = Cell::new(None);
        let entry = |at: usize| {
            let index = indices(at).and_then(|index| usize::try_from(index).ok());
            // No feature has this number, and so the row is refused.
            let index = index.unwrap_or_else(|| {
                below.set(Some(at));
                usize::MAX
            });
            (index, counts(at).unwrap_or(0.0))
        };
        let pushed = builder.push((start..end).map(entry));
        pushed.map_err(|error| below.get().map_or(error, |at| negative("indices", at)))?;
    }
    builder.finish()
}

fn dense<T: Real + Storable, N: Number>(counts: ArrayView2<'_, N>) -> PyResult<Corpus<T>> {
    let mut builder = Builder::new(counts.ncols())?;
    for row in counts.rows() {
        builder.push(row.iter().map(|&x| x.to_f64()).enumerate().filter(|&(_, x)| x != 0.0))?;
    }
    builder.finish()
}

/// Bags, with what a fit wants to know of all.
pub(crate) struct Builder<T> {
    bags: BlocksBuilder<T>,
    tokens: f64,
    nonempty: usize,
}

impl<T: Real + Storable> Builder<T> {
    pub(crate) fn new(features: usize) -> PyResult<Self> {
        let bags = BlocksBuilder::new(features, BlockLimits::default()).map_err(errors::corpus)?;
        Ok(Self { bags, tokens: 0.0, nonempty: 0 })
    }

    fn push(&mut self, row: impl Iterator<Item = (usize, f64)>) -> PyResult<()> {
        let (mut sum, row_number) = (0.0, self.bags.len());
        let entries = row.map(|(feature, count)| {
            sum += count;
            (feature, T::from_f64(count))
        });
        let pushed = self.bags.push(entries);
        pushed.map_err(|error| errors::value(format_args!("row {row_number}: {error}")))?;
        self.tokens += sum;
        self.nonempty += usize::from(sum > 0.0);
        Ok(())
    }

    pub(crate) fn finish(self) -> PyResult<Corpus<T>> {
        let bags: Blocks<T> = self.bags.finish().map_err(errors::corpus)?;
        Ok(Corpus {
            name: String::new(),
            documents: Vec::new(),
            labels: LabelColumn::default(),
            columns: Vec::new(),
            left_out_columns: Vec::new(),
            vocabulary: Vec::new(),
            tokens: self.tokens,
            scaling: Scaling::default(),
            text: english(),
            kind: CorpusKind::Counts,
            nonempty: self.nonempty,
            bags,
            source: None,
            words: None,
            languages: Vec::new(),
            sample: None,
            near_duplicates: Vec::new(),
            boilerplate: Vec::new(),
        })
    }
}
