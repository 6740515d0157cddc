//! Texts to counts.

use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
use countgrid_text::{Language, Languages, StopWords, TextError, TextOptions};
use numpy::PyArray1;
use pyo3::prelude::*;
use serde::Deserialize;

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
    let languages = match &corpus.text.languages {
        Languages::Known(languages) => languages.iter().map(|language| language.code()).collect(),
        _ => Vec::new(),
    };
    let text = serde_json::to_string(&corpus.text).map_err(errors::value)?;
    Ok((arrays(py, &corpus)?, corpus.vocabulary, languages, text))
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
