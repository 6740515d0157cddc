//! Texts to counts.

use countgrid_corpus::{Corpus, CorpusError, CorpusOptions, WordOptions};
use countgrid_text::{
    Language, Languages, PartLanguages, PartOptions, PartWords, StopWords, TextError, TextOptions,
};
use numpy::PyArray1;
use pyo3::{prelude::*, pybacked::PyBackedBytes, types::PyBytes};
use serde::{Deserialize, Serialize};

use crate::errors;

#[derive(Deserialize)]
#[serde(untagged)]
enum Stop {
    Name(String),
    List(Vec<String>),
}

/// [`WordOptions`] as the Python side writes them.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Words {
    language: Stop,
    stop_words: Stop,
    keep_noise: bool,
    phrases: bool,
    stem: bool,
    ngrams: Option<usize>,
    min_count: Option<usize>,
    max_share: Option<f64>,
    max_words: usize,
}

impl Default for Words {
    fn default() -> Self {
        let WordOptions { stem, keep_noise, phrases, ngrams, min_count, max_share, max_words, .. } =
            WordOptions::default();
        let auto = || Stop::Name("auto".into());
        Self {
            language: auto(),
            stop_words: auto(),
            keep_noise,
            phrases,
            stem,
            ngrams,
            min_count,
            max_share,
            max_words,
        }
    }
}

pub(crate) fn words_from(options: &str) -> PyResult<WordOptions> {
    let Words { language, stop_words, keep_noise, phrases, stem, ngrams, min_count, max_share, max_words } =
        serde_json::from_str(options).map_err(errors::value)?;
    let stop_words = match stop_words {
        Stop::Name(name) if name == "auto" => StopWords::Auto,
        Stop::Name(name) if name == "english" => StopWords::English,
        Stop::Name(name) if name == "none" => StopWords::None,
        Stop::List(words) => StopWords::List(words),
        Stop::Name(name) => {
            return Err(errors::value(format_args!(
                "stop_words is {name:?}, and should be 'auto', 'english', None or a list of words"
            )));
        }
    };
    let names = match language {
        Stop::Name(name) if name == "auto" => Vec::new(),
        Stop::Name(name) => vec![name],
        Stop::List(names) => names,
    };
    let languages = match names.is_empty() {
        true => Languages::Auto,
        false => {
            let known = names.iter().map(|name| name.parse::<Language>());
            let known = known.collect::<Result<_, TextError>>();
            Languages::Known(
                known.map_err(|error| errors::value(format_args!("language is {names:?}: {error}")))?,
            )
        }
    };
    Ok(WordOptions {
        languages,
        stop_words,
        keep_noise,
        phrases,
        stem,
        ngrams,
        min_count,
        max_share,
        max_words,
    })
}

/// How a text becomes words of a vocabulary of which nothing else is known, as the program takes it for a model of counts.
pub(crate) fn english() -> TextOptions {
    let options = WordOptions::default().for_text();
    let (languages, stop_words) = (Languages::english(), StopWords::English);
    TextOptions { languages, stop_words, segment: false, keep_noise: true, ..options }
}

type Arrays<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>);

fn arrays<'py>(py: Python<'py>, corpus: &Corpus<f64>) -> PyResult<Arrays<'py>> {
    let bags = corpus.bags.gather(|count| count).map_err(errors::corpus)?;
    let too_large = |_| errors::value("more than 2^31 words");
    let offsets: Vec<i64> = bags.offsets().iter().map(|&x| x as i64).collect();
    let indices: Result<Vec<i32>, _> = bags.indices().iter().map(|&x| i32::try_from(x)).collect();
    let (_, _, _, counts) = bags.into_parts();
    Ok((
        PyArray1::from_vec(py, offsets),
        PyArray1::from_vec(py, indices.map_err(too_large)?),
        PyArray1::from_vec(py, counts),
    ))
}

fn plain(words: WordOptions) -> CorpusOptions {
    CorpusOptions { words, keep_documents: false, ..CorpusOptions::default() }
}

/// Counts in compressed sparse rows, the words, the languages that were found, and how texts became words, as JSON.
type Selected<'py> = (Arrays<'py>, Vec<String>, Vec<&'static str>, String);

/// Selects the vocabulary of texts.
#[pyfunction]
pub(crate) fn select_words<'py>(
    py: Python<'py>,
    texts: Vec<String>,
    options: &str,
) -> PyResult<Selected<'py>> {
    let options = plain(words_from(options)?);
    let corpus = py.detach(|| Corpus::<f64>::from_texts(&texts, &options)).map_err(errors::corpus)?;
    let (languages, text) = found(&corpus.text)?;
    Ok((arrays(py, &corpus)?, corpus.vocabulary, languages, text))
}

/// The languages that were found, and how texts became words, as JSON.
fn found(text: &TextOptions) -> PyResult<(Vec<&'static str>, String)> {
    let languages = match &text.languages {
        Languages::Known(languages) => languages.iter().map(|language| language.code()).collect(),
        _ => Vec::new(),
    };
    Ok((languages, serde_json::to_string(text).map_err(errors::value)?))
}

/// What is counted in parts, as bytes that an engine moves.
fn packed<'py>(py: Python<'py>, part: &impl Serialize) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &serde_json::to_vec(part).map_err(errors::value)?))
}

fn unpacked<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> PyResult<T> {
    serde_json::from_slice(bytes).map_err(|error| errors::value(format_args!("a part is damaged: {error}")))
}

/// The language of each text of a part, by itself.
#[pyfunction]
pub(crate) fn part_languages<'py>(
    py: Python<'py>,
    texts: Vec<String>,
    options: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = words_from(options)?.for_text();
    let part = py.detach(|| PartLanguages::read(&texts, &options)).map_err(errors::value)?;
    packed(py, &part)
}

/// How the texts of each part are to be counted, from the languages of all parts in their order.
#[pyfunction]
pub(crate) fn settle_languages<'py>(
    py: Python<'py>,
    options: &str,
    parts: Vec<PyBackedBytes>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let options = words_from(options)?.for_text();
    let parts = parts.iter().map(|part| unpacked(part)).collect::<PyResult<Vec<PartLanguages>>>()?;
    let settled = PartLanguages::settle(&parts, &options).map_err(errors::value)?;
    settled.iter().map(|part| packed(py, part)).collect()
}

/// Counts the words of the texts of a part.
#[pyfunction]
pub(crate) fn part_words<'py>(
    py: Python<'py>,
    texts: Vec<String>,
    part: PyBackedBytes,
) -> PyResult<Bound<'py, PyBytes>> {
    let part: PartOptions = unpacked(&part)?;
    let words = py.detach(|| PartWords::read(&texts, &part)).map_err(errors::value)?;
    packed(py, &words)
}

/// Adds up the words of two parts.
#[pyfunction]
pub(crate) fn merge_words<'py>(
    py: Python<'py>,
    one: PyBackedBytes,
    other: PyBackedBytes,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut words: PartWords = unpacked(&one)?;
    words.merge(unpacked(&other)?);
    packed(py, &words)
}

/// The vocabulary of the words of all parts, the languages that were found, and how texts became words, as JSON.
#[pyfunction]
pub(crate) fn select_merged(
    words: PyBackedBytes,
    part: PyBackedBytes,
) -> PyResult<(Vec<String>, Vec<&'static str>, String)> {
    let words: PartWords = unpacked(&words)?;
    let selected = words.select(&unpacked(&part)?).map_err(errors::value)?;
    if selected.vocabulary.is_empty() {
        let documents = selected.languages.iter().map(|&(_, documents)| documents).sum();
        return Err(errors::corpus(CorpusError::NoWords { path: "texts".into(), documents }));
    }
    let (languages, text) = found(&selected.options)?;
    Ok((selected.vocabulary, languages, text))
}

/// Counts the words of a vocabulary in texts.
#[pyfunction]
pub(crate) fn count_words<'py>(
    py: Python<'py>,
    texts: Vec<String>,
    vocabulary: Vec<String>,
    options: &str,
) -> PyResult<Arrays<'py>> {
    let words = words_from(options)?;
    let (text, options) = (words.for_text(), plain(words));
    let corpus = py.detach(|| Corpus::<f64>::count_texts(&texts, &vocabulary, &text, &options));
    arrays(py, &corpus.map_err(errors::corpus)?)
}
