//! What model files of every kind have in common.

use std::{collections::HashMap, fmt};

use countgrid_corpus::{Corpus, Scaling, Storable, WordOptions};
use countgrid_io::{ModelFile, NamedTable, TableData};
use countgrid_math::Real;
use countgrid_text::{Language, Languages, StopWords, TextOptions};
use serde_json::{Value, json};

use crate::boxed::Trainings;

/// A scalar that a model file can hold.
///
/// Example: [`AnyModel`](crate::AnyModel).
pub trait Stored: Real + Storable + Trainings {
    /// Its name in model files and options.
    const NAME: &'static str;
    /// A table of this scalar.
    fn into_data(table: Vec<Self>) -> TableData;
    /// The elements of a table of this scalar; none of another.
    fn from_data(table: TableData) -> Option<Vec<Self>>;
}

impl Stored for f32 {
    const NAME: &'static str = "f32";
    fn into_data(table: Vec<Self>) -> TableData {
        TableData::F32(table)
    }
    fn from_data(table: TableData) -> Option<Vec<Self>> {
        if let TableData::F32(table) = table { Some(table) } else { None }
    }
}

impl Stored for f64 {
    const NAME: &'static str = "f64";
    fn into_data(table: Vec<Self>) -> TableData {
        TableData::F64(table)
    }
    fn from_data(table: TableData) -> Option<Vec<Self>> {
        if let TableData::F64(table) = table { Some(table) } else { None }
    }
}

/// Why a file that was read holds no model of the expected kind.
///
/// Example: [`ModelInfo`](crate::ModelInfo).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum ModelFileError {
    /// A text that every model of the kind has.
    NoText { name: &'static str },
    /// A model of another kind.
    Kind { expected: &'static str, found: String },
    /// A text that is not JSON.
    Json { name: &'static str, problem: String },
    /// A text that is not valid.
    Text { name: &'static str, expected: &'static str },
    /// A table that every model of the kind has.
    NoTable { name: &'static str },
    /// A table, or several, of another type or shape.
    Table { expected: &'static str },
    /// A table with elements of another type.
    TableType { name: String, expected: &'static str, found: &'static str },
    /// A table of another shape.
    TableShape { name: String, expected: Vec<usize>, found: Vec<usize> },
    /// A table that no model of the kind has.
    UnknownTable { name: String },
    /// A text that no model of the kind has.
    UnknownText { name: String },
    /// A word that is in the vocabulary twice, at two places.
    Word { word: String, places: [usize; 2] },
    /// Fewer or more words than the tables are for.
    Vocabulary { words: usize, features: usize },
    /// Tables whose numbers are not valid parameters, with the reason.
    Numbers { problem: String },
}

impl fmt::Display for ModelFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoText { name } => write!(f, "it has no text `{name}`"),
            Self::Kind { expected, .. } => write!(f, "its text `kind` is not `{expected}`"),
            Self::Json { name, problem } => write!(f, "its text `{name}` is not JSON: {problem}"),
            Self::Text { name, expected } => write!(f, "its text `{name}` {expected}"),
            Self::NoTable { name } => write!(f, "it has no table `{name}`"),
            Self::Table { expected } => f.write_str(expected),
            Self::TableType { name, expected, found } => {
                write!(f, "its table `{}` is {found}, and should be {expected}", shown(name))
            }
            Self::TableShape { name, expected, found } => {
                write!(f, "its table `{}` has the shape {found:?}, and should have {expected:?}", shown(name))
            }
            Self::UnknownTable { name } => {
                write!(f, "it has a table `{}`, which no such model has", shown(name))
            }
            Self::UnknownText { name } => {
                write!(f, "it has a text `{}`, which no such model has", shown(name))
            }
            Self::Word { word, places: [one, two] } => {
                write!(f, "its text `vocabulary` has the word `{}` twice, {one} and {two}", shown(word))
            }
            Self::Vocabulary { words, features } => {
                write!(f, "it has {words} words in its `vocabulary` and tables for {features}")
            }
            Self::Numbers { problem } => f.write_str(problem),
        }
    }
}

impl std::error::Error for ModelFileError {}

/// As much of a name as fits into a message.
fn shown(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_debug).collect()
}

/// What a model of any kind is apart from its numbers and their shapes.
///
/// ```
/// use countgrid_estimators::ModelInfo;
/// use countgrid_io::ModelFile;
///
/// let info = ModelInfo { title: "posts".into(), vocabulary: vec!["ant".into()], ..ModelInfo::default() };
/// let mut file = ModelFile::default();
/// info.write("counting grid", &mut file);
/// assert_eq!(ModelInfo::read(&file)?, info);
/// # Ok::<(), countgrid_estimators::ModelFileError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelInfo {
    /// The title of the model.
    pub title: String,
    /// The words, in the order of features.
    pub vocabulary: Vec<String>,
    /// How a text becomes words; the options that select the vocabulary no longer matter.
    pub text: TextOptions,
    /// How numbers become counts.
    pub scaling: Scaling,
    /// The data and how the model was fitted, for display. Without anything in which equal runs differ, such as times and
    /// paths: equal runs give equal files.
    pub fit: Value,
}

impl ModelInfo {
    /// Of a model whose vocabulary was made elsewhere, and of a file that says no more: untitled; every word of a text that is
    /// in the vocabulary counts, stop words and single letters too.
    #[must_use]
    pub fn for_vocabulary(vocabulary: Vec<String>) -> Self {
        let text = TextOptions {
            languages: Languages::english(),
            stop_words: StopWords::None,
            segment: false,
            keep_noise: true,
            min_letters: 1,
            ..TextOptions::default()
        };
        Self { title: "untitled".to_owned(), vocabulary, text, ..Self::default() }
    }

    /// Checks that there is one word for each feature.
    pub(crate) fn check(&self, features: usize) -> Result<(), ModelFileError> {
        let words = self.vocabulary.len();
        if words == features { Ok(()) } else { Err(ModelFileError::Vocabulary { words, features }) }
    }

    /// Adds it to a file, as the texts `kind`, `version`, `title`, `text`, `numbers`, `fit` and `vocabulary`.
    pub fn write(&self, kind: &str, file: &mut ModelFile) {
        let texts = [
            ("kind", kind.to_owned()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("title", self.title.clone()),
            ("text", text_to_json(&self.text).to_string()),
            ("numbers", numbers_to_json(&self.scaling).to_string()),
            ("fit", self.fit.to_string()),
        ];
        file.metadata.extend(texts.map(|(key, text)| (key.to_owned(), text)));
        file.set_strings("vocabulary", &self.vocabulary);
    }

    /// Takes everything but the description of the fit from the corpus that a model was fitted to, and adds to that
    /// description the limits by which its words were selected.
    pub fn describe<C>(&mut self, title: &str, corpus: &Corpus<C>, words: &WordOptions) {
        self.title = title.to_owned();
        self.vocabulary.clone_from(&corpus.vocabulary);
        self.text.clone_from(&corpus.text);
        self.scaling = corpus.scaling;
        let limits = json!({
            "min_count": words.min_count, "max_share": words.max_share, "max_words": words.max_words,
        });
        match (&mut self.fit, limits) {
            (Value::Object(fit), Value::Object(limits)) => fit.extend(limits),
            (fit, limits) => *fit = limits,
        }
    }

    /// Reads what [`ModelInfo::write`] has written: if there is a text `version`, all of it is required. Of a file without,
    /// which another program wrote, only the vocabulary is: without `title`, `text`, `numbers` or `fit` they are those of
    /// [`ModelInfo::for_vocabulary`].
    ///
    /// # Errors
    /// A text that is missing or cannot be parsed; a word that is in the vocabulary twice.
    pub fn read(file: &ModelFile) -> Result<Self, ModelFileError> {
        let wrong = |name, expected| ModelFileError::Text { name, expected };
        let texts = &file.metadata;
        let missing = ["title", "text", "numbers", "fit"].into_iter().find(|&name| !texts.contains_key(name));
        if let Some(name) = missing.filter(|_| texts.contains_key("version")) {
            return Err(ModelFileError::NoText { name });
        }
        if !texts.contains_key("vocabulary") {
            return Err(ModelFileError::NoText { name: "vocabulary" });
        }
        let vocabulary =
            file.strings("vocabulary").ok_or(wrong("vocabulary", "is not a JSON array of words"))?;
        let mut places = HashMap::new();
        for (place, word) in vocabulary.iter().enumerate() {
            if let Some(first) = places.insert(word.as_str(), place) {
                return Err(ModelFileError::Word { word: word.clone(), places: [first, place] });
            }
        }
        let mut info = Self::for_vocabulary(vocabulary);
        if let Some(title) = texts.get("title") {
            info.title.clone_from(title);
        }
        if texts.contains_key("text") {
            info.text = text_from_json(&json_of(file, "text")?)
                .ok_or(wrong("text", "is not that of valid text options"))?;
        }
        if texts.contains_key("numbers") {
            let scaling = numbers_from_json(&json_of(file, "numbers")?);
            info.scaling = scaling.ok_or(wrong("numbers", "is no scale"))?;
        }
        if texts.contains_key("fit") {
            info.fit = json_of(file, "fit")?;
        }
        Ok(info)
    }
}

/// The kind of a counting grid.
pub(crate) const GRID: &str = "counting grid";

/// The kind of model that a file holds. Without a text that says so it is a counting grid if it has the tables of one, which no
/// other model has.
pub(crate) fn kind_of(file: &ModelFile) -> Result<&str, ModelFileError> {
    match file.metadata.get("kind") {
        Some(kind) => Ok(kind),
        None if ["pi", "prior", "window"].iter().all(|name| file.table(name).is_some()) => Ok(GRID),
        None => Err(ModelFileError::NoText { name: "kind" }),
    }
}

/// A text of a file that is JSON.
pub(crate) fn json_of(file: &ModelFile, name: &'static str) -> Result<Value, ModelFileError> {
    let text = file.metadata.get(name).ok_or(ModelFileError::NoText { name })?;
    serde_json::from_str(text).map_err(|error| ModelFileError::Json { name, problem: error.to_string() })
}

/// A table of a file.
pub(crate) fn named_table<T: Stored>(name: &str, shape: Vec<usize>, elements: &[T]) -> NamedTable {
    NamedTable { name: name.to_owned(), shape, data: T::into_data(elements.to_vec()) }
}

/// The texts of every model; `format` is what other programs say of themselves.
const TEXTS: [&str; 8] = ["kind", "version", "title", "text", "numbers", "fit", "vocabulary", "format"];

/// The name of an element type in files.
pub(crate) fn type_of(data: &TableData) -> &'static str {
    match data {
        TableData::F32(_) => "F32",
        TableData::F64(_) => "F64",
        TableData::U32(_) => "U32",
    }
}

/// Takes the tables of a file of one kind out: the one place where names, types and shapes of tables, and names of texts,
/// are checked.
#[derive(Debug)]
pub(crate) struct TableReader(ModelFile);

impl TableReader {
    pub(crate) fn new(file: ModelFile, expected: &'static str) -> Result<Self, ModelFileError> {
        let found = kind_of(&file)?;
        if found != expected {
            return Err(ModelFileError::Kind { expected, found: found.to_owned() });
        }
        Ok(Self(file))
    }

    /// The file, without the tables that were taken.
    pub(crate) fn file(&self) -> &ModelFile {
        &self.0
    }

    /// The shape of a table.
    pub(crate) fn shape(&self, name: &'static str) -> Result<&[usize], ModelFileError> {
        Ok(&self.0.table(name).ok_or(ModelFileError::NoTable { name })?.shape)
    }

    /// The two extents of a table.
    pub(crate) fn matrix(&self, name: &'static str) -> Result<[usize; 2], ModelFileError> {
        let found = self.shape(name)?;
        found.try_into().map_err(|_| ModelFileError::Numbers {
            problem: format!("its table `{name}` has {} axes, and should have 2", found.len()),
        })
    }

    /// The elements of a table of this shape.
    pub(crate) fn take<T: Stored>(
        &mut self,
        name: &'static str,
        shape: &[usize],
    ) -> Result<Vec<T>, ModelFileError> {
        let data = self.take_data(name, shape)?;
        let (name, found) = (name.to_owned(), type_of(&data));
        let expected = type_of(&T::into_data(Vec::new()));
        T::from_data(data).ok_or(ModelFileError::TableType { name, expected, found })
    }

    /// The elements of a table of this shape, of whichever type.
    pub(crate) fn take_data(
        &mut self,
        name: &'static str,
        expected: &[usize],
    ) -> Result<TableData, ModelFileError> {
        let tables = &mut self.0.tables;
        let place = tables.iter().position(|table| table.name == name);
        let NamedTable { shape: found, data, .. } =
            tables.swap_remove(place.ok_or(ModelFileError::NoTable { name })?);
        let elements = found.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
        if found != expected || elements != Some(data.len()) {
            let (name, expected) = (name.to_owned(), expected.to_vec());
            return Err(ModelFileError::TableShape { name, expected, found });
        }
        Ok(data)
    }

    /// Once all tables were taken: that there is nothing else, and no text but these and those of every model.
    pub(crate) fn finish(self, texts: &[&str]) -> Result<(), ModelFileError> {
        if let Some(table) = self.0.tables.into_iter().next() {
            return Err(ModelFileError::UnknownTable { name: table.name });
        }
        let known = |key: &&String| TEXTS.contains(&key.as_str()) || texts.contains(&key.as_str());
        match self.0.metadata.keys().find(|key| !known(key)) {
            Some(name) => Err(ModelFileError::UnknownText { name: name.clone() }),
            None => Ok(()),
        }
    }

    /// What the file is apart from its tables, for so many features.
    pub(crate) fn info(&self, features: usize) -> Result<ModelInfo, ModelFileError> {
        let info = ModelInfo::read(&self.0)?;
        info.check(features)?;
        Ok(info)
    }
}

/// That all elements of a table are in a range in which what is computed from them is finite.
pub(crate) fn check_range<T: Real>(
    table: &str,
    elements: &[T],
    range: std::ops::RangeInclusive<f64>,
) -> Result<(), ModelFileError> {
    let outside = elements.iter().map(|x| Real::to_f64(*x)).enumerate().find(|(_, x)| !range.contains(x));
    match outside {
        Some((index, x)) => Err(ModelFileError::Numbers {
            problem: format!(
                "its table `{table}` holds {x:e}, its element {index}, and should be from {:e} to {:e}",
                range.start(),
                range.end()
            ),
        }),
        None => Ok(()),
    }
}

fn text_to_json(options: &TextOptions) -> Value {
    let stop_words = match &options.stop_words {
        StopWords::Auto => json!("auto"),
        StopWords::English => json!("english"),
        StopWords::List(words) => json!(words),
        _ => json!("none"),
    };
    let mut text = json!({
        "stop_words": stop_words, "stem": options.stem, "ngrams": options.ngrams,
        "min_letters": options.min_letters, "max_letters": options.max_letters,
    });
    // What is absent is as in files that were written before there were languages.
    match &options.languages {
        Languages::Known(languages) if options.languages != Languages::english() => {
            text["languages"] = languages.iter().map(|language| language.code()).collect();
        }
        Languages::Known(_) => {}
        _ => text["languages"] = json!("auto"),
    }
    if options.segment {
        text["segment"] = json!(true);
    }
    if options.phrases {
        text["phrases"] = json!(true);
    }
    if !options.boilerplate.is_empty() {
        text["boilerplate"] = json!(options.boilerplate);
    }
    if !options.keep_noise {
        text["keep_noise"] = json!(false);
    }
    text
}

fn numbers_to_json(scaling: &Scaling) -> Value {
    json!({ "scale": scaling.scale.to_string(), "tokens": scaling.tokens })
}

/// Whether an object has no other fields.
fn has_only(value: &Value, fields: &[&str]) -> Option<()> {
    value.as_object()?.keys().all(|key| fields.contains(&key.as_str())).then_some(())
}

fn numbers_from_json(value: &Value) -> Option<Scaling> {
    has_only(value, &["scale", "tokens"])?;
    let tokens = match value.get("tokens")? {
        Value::Null => None,
        tokens => Some(tokens.as_f64().filter(|&tokens| tokens > 0.0 && tokens.is_finite())?),
    };
    Some(Scaling { scale: value.get("scale")?.as_str()?.parse().ok()?, tokens })
}

fn text_from_json(value: &Value) -> Option<TextOptions> {
    has_only(
        value,
        &[
            "languages",
            "stop_words",
            "stem",
            "segment",
            "keep_noise",
            "phrases",
            "boilerplate",
            "ngrams",
            "min_letters",
            "max_letters",
        ],
    )?;
    let languages = match value.get("languages") {
        None => Languages::english(),
        Some(Value::String(word)) if word == "auto" => Languages::Auto,
        Some(languages) => {
            let codes = languages.as_array()?.iter();
            let languages: Vec<Language> =
                codes.map(|code| code.as_str()?.parse().ok()).collect::<Option<_>>()?;
            if languages.is_empty() {
                return None;
            }
            Languages::Known(languages)
        }
    };
    let flag = |key, absent| value.get(key).map_or(Some(absent), Value::as_bool);
    let stop_words = match value.get("stop_words")? {
        Value::Array(words) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            StopWords::List(words.collect::<Option<_>>()?)
        }
        Value::String(word) if word == "auto" => StopWords::Auto,
        Value::String(word) if word == "english" => StopWords::English,
        Value::String(word) if word == "none" => StopWords::None,
        _ => return None,
    };
    let boilerplate = match value.get("boilerplate") {
        None => Vec::new(),
        Some(lines) => {
            let lines = lines.as_array()?.iter().map(|line| line.as_str().map(str::to_owned));
            lines.collect::<Option<_>>()?
        }
    };
    let letters = |key| usize::try_from(value.get(key)?.as_u64()?).ok();
    Some(TextOptions {
        languages,
        stop_words,
        segment: flag("segment", false)?,
        keep_noise: flag("keep_noise", true)?,
        phrases: flag("phrases", false)?,
        boilerplate,
        stem: value.get("stem")?.as_bool()?,
        // Files written before n-grams were supported have no such field.
        ngrams: match value.get("ngrams") {
            Some(letters) if !letters.is_null() => {
                Some(usize::try_from(letters.as_u64()?).ok().filter(|&n| n > 0)?)
            }
            _ => None,
        },
        min_letters: letters("min_letters")?,
        max_letters: letters("max_letters")?,
        ..TextOptions::default()
    })
}

#[cfg(test)]
mod tests {
    use countgrid_corpus::Scale;

    use super::*;

    #[test]
    fn every_word_of_a_vocabulary_from_elsewhere_counts() {
        // A stop word, a single letter, words of what is no prose in a mail, and one that is not known.
        let text = "From: Anna\nSubject: The ant\n\n> the ant I saw\nThe bee and I, x";
        let known = ["from", "anna", "subject", "the", "ant", "i", "saw", "and", "x"];
        let info = ModelInfo::for_vocabulary(known.map(str::to_owned).to_vec());
        assert_eq!((info.title.as_str(), info.vocabulary.len()), ("untitled", known.len()));
        let options = countgrid_corpus::CorpusOptions::default();
        let corpus = Corpus::<f64>::count_texts(&[text], &info.vocabulary, &info.text, &options).unwrap();
        let bags = corpus.bags.gather(|count| count).unwrap();
        let counts: Vec<f64> = countgrid_counts::Bags::entries(&bags, 0).map(|(_, count)| count).collect();
        assert_eq!(counts, [1.0, 1.0, 1.0, 3.0, 2.0, 2.0, 1.0, 1.0, 1.0]);
        assert_eq!((corpus.tokens, corpus.documents[0].tokens), (13.0, 14.0));
    }

    #[test]
    fn text_options_come_back() {
        let german = Languages::Known(vec!["de".parse().unwrap(), Language::ENGLISH]);
        let all = [
            (StopWords::Auto, german, false),
            (StopWords::English, Languages::english(), true),
            (StopWords::None, Languages::Auto, true),
            (StopWords::List(vec!["a".into()]), Languages::english(), false),
        ];
        for (stop_words, languages, keep_noise) in all {
            let options = TextOptions {
                languages,
                stop_words,
                keep_noise,
                phrases: keep_noise,
                boilerplate: if keep_noise { vec!["sent from my phone".into()] } else { Vec::new() },
                stem: true,
                ngrams: Some(3),
                min_letters: 3,
                ..TextOptions::default()
            };
            assert_eq!(text_from_json(&text_to_json(&options)), Some(options));
        }
        assert!(text_to_json(&TextOptions::default()).get("boilerplate").is_none());
        assert_eq!(text_from_json(&json!({ "stop_words": "french" })), None);
        let before = json!({ "stop_words": "english", "stem": true, "min_letters": 2, "max_letters": 40 });
        let before = text_from_json(&before).unwrap();
        assert_eq!(
            (before.languages, before.segment, before.keep_noise),
            (Languages::english(), false, true)
        );
        for languages in [json!([]), json!(["xx"]), json!("german"), json!(1)] {
            let mut text = text_to_json(&TextOptions::default());
            text["languages"] = languages;
            assert_eq!(text_from_json(&text), None, "{text}");
        }
        for scaling in [Scaling::default(), Scaling { scale: Scale::Log(20.0), tokens: Some(1e3) }] {
            assert_eq!(numbers_from_json(&numbers_to_json(&scaling)), Some(scaling));
        }
        assert_eq!(numbers_from_json(&json!({ "scale": "shift", "tokens": -1 })), None);
    }
}
