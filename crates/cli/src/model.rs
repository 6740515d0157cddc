//! A fitted grid as a file, and back.

use std::path::Path;

use countgrid_grid::Grid;
use countgrid_io::{ModelFile, NamedTable, TableData, load};
use countgrid_math::{AlignedVec, Real};
use countgrid_text::{StopWords, TextOptions};
use serde_json::{Value, json};

use crate::{
    failure::Failure,
    fit::Parameters,
    harmonium::{self, from_file, is_harmonium},
    labels::Labelled,
    layout::{Layout, Sides},
    memory,
    scaling::Scaling,
    store::Storable,
    topographic,
};

/// What the metadata of a file calls it.
const KIND: &str = "counting grid";

/// A scalar that a model file can hold.
pub(crate) trait Stored: Real + Storable {
    fn data(table: Vec<Self>) -> TableData;
    /// The elements of a table of this scalar; none of another.
    fn take(table: TableData) -> Vec<Self>;
}
impl Stored for f32 {
    fn data(table: Vec<Self>) -> TableData {
        TableData::F32(table)
    }
    fn take(table: TableData) -> Vec<Self> {
        if let TableData::F32(table) = table { table } else { Vec::new() }
    }
}
impl Stored for f64 {
    fn data(table: Vec<Self>) -> TableData {
        TableData::F64(table)
    }
    fn take(table: TableData) -> Vec<Self> {
        if let TableData::F64(table) = table { table } else { Vec::new() }
    }
}

/// What a model of any kind is apart from its numbers and their shapes.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) title: String,
    pub(crate) vocabulary: Vec<String>,
    /// How a text becomes words: what concerns the selection of the vocabulary is done with.
    pub(crate) text: TextOptions,
    /// How numbers become counts.
    pub(crate) scaling: Scaling,
    /// The data and how it was fitted, to be shown.
    pub(crate) fit: Value,
}

/// A counting grid.
#[derive(Debug)]
pub(crate) struct Model<T> {
    pub(crate) about: About,
    pub(crate) layout: Layout,
    pub(crate) grid: Parameters<T>,
    pub(crate) labels: Option<Labelled<T>>,
}

/// A grid as a file has it.
#[derive(Debug)]
pub(crate) enum AnyModel {
    F32(Model<f32>),
    F64(Model<f64>),
}

/// What a file holds.
pub(crate) enum Loaded {
    Grid(Box<AnyModel>),
    Map(Box<topographic::model::AnyModel>),
    Harmonium(harmonium::AnyModel),
}

/// The tables `pi` `[feature, extents...]`, `prior` `[extents...]`, `window` `[axes]` and, where documents have labels,
/// `labels` `[label, extents...]`, with texts `kind`, `version`, `title`, `vocabulary`, `text`, `fit` and `labels`.
pub(crate) fn to_file<T: Stored>(
    about: &About,
    layout: &Layout,
    grid: &Parameters<T>,
    labels: Option<&Labelled<T>>,
) -> ModelFile {
    let (pi, prior) = grid.tables();
    let extents = layout.grid.0.clone();
    let sides = layout.window.0.iter().map(|&side| u32::try_from(side).unwrap_or(u32::MAX)).collect();
    let table = |name: &str, shape, data| NamedTable { name: name.to_owned(), shape, data };
    let mut file = ModelFile {
        tables: vec![
            table("pi", [vec![about.vocabulary.len()], extents.clone()].concat(), T::data(pi.to_vec())),
            table("prior", extents.clone(), T::data(prior.to_vec())),
            table("window", vec![layout.window.0.len()], TableData::U32(sides)),
        ],
        ..ModelFile::default()
    };
    about.write(KIND, &mut file);
    if let Some(labels) = labels {
        let shape = [vec![labels.names.len()], extents].concat();
        file.tables.push(table("labels", shape, T::data(labels.table.clone())));
        file.set_strings("labels", &labels.names);
    }
    file
}

impl About {
    /// Puts it into a file, as the texts `kind`, `version`, `title`, `text`, `numbers`, `fit` and `vocabulary`.
    pub(crate) fn write(&self, kind: &str, file: &mut ModelFile) {
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

    /// What [`About::write`] has put there, or what is wrong with it.
    pub(crate) fn from_file(file: &ModelFile) -> Result<Self, String> {
        let title = file.metadata.get("title").ok_or("it has no text `title`")?.clone();
        let text = text_from_json(&json_of(file, "text")?).ok_or("its text `text` lacks text options")?;
        // Files of before there were tables of numbers do not say.
        let scaling = match json_of(file, "numbers") {
            Ok(numbers) => numbers_from_json(&numbers).ok_or("its text `numbers` is no scale")?,
            Err(_) => Scaling::default(),
        };
        let vocabulary =
            file.strings("vocabulary").ok_or("its text `vocabulary` is not a JSON array of words")?;
        Ok(Self { title, vocabulary, text, scaling, fit: json_of(file, "fit")? })
    }
}

/// A text of a file that is JSON.
pub(crate) fn json_of(file: &ModelFile, key: &str) -> Result<Value, String> {
    let text = file.metadata.get(key).ok_or_else(|| format!("it has no text `{key}`"))?;
    serde_json::from_str(text).map_err(|error| format!("its text `{key}` is not JSON: {error}"))
}

/// Reads a grid, whatever its scalar.
pub(crate) fn read(path: &Path) -> Result<AnyModel, Failure> {
    match read_any(path)? {
        Loaded::Grid(model) => Ok(*model),
        Loaded::Map(_) => Err(Failure::new(
            format_args!("{}: is a topographic map, not a counting grid", path.display()),
            "`countgrid info` and `countgrid embed` take it; name a model of a grid",
        )),
        Loaded::Harmonium(_) => Err(Failure::new(
            format_args!("{}: is a harmonium, and has no places on a grid", path.display()),
            "name a file that `countgrid map` or `countgrid fit --model grid` has written; `info` and `embed` know both",
        )),
    }
}

/// Reads a model of any kind.
pub(crate) fn read_any(path: &Path) -> Result<Loaded, Failure> {
    let file = load(path)?;
    if topographic::model::is_map(&file) {
        return topographic::model::from_file(file, path).map(|map| Loaded::Map(Box::new(map)));
    }
    if !is_harmonium(&file) {
        return Ok(Loaded::Grid(Box::new(grid_of(path, file)?)));
    }
    let foreign = |what| {
        Failure::new(
            format_args!("{}: no model of a harmonium: {what}", path.display()),
            "name a file that `countgrid fit` has written",
        )
    };
    from_file(file).map(Loaded::Harmonium).map_err(foreign)
}

fn grid_of(path: &Path, mut file: ModelFile) -> Result<AnyModel, Failure> {
    let foreign = |what: String| {
        Failure::new(
            format_args!("{}: no model of a counting grid: {what}", path.display()),
            "name a file that `countgrid map` or `countgrid fit` has written",
        )
    };
    let (about, layout) = about(&file).map_err(foreign)?;
    let names = file.strings("labels").unwrap_or_default();
    let mut take = |name: &str| {
        let place = file.tables.iter().position(|table| table.name == name);
        place.map(|place| file.tables.swap_remove(place).data)
    };
    match (take("pi"), take("prior"), take("labels")) {
        (Some(TableData::F32(pi)), Some(TableData::F32(prior)), labels) => {
            let labels = labels.map(|labels| (names, f32::take(labels)));
            Ok(AnyModel::F32(Model::new((about, layout), pi, &prior, labels, foreign)?))
        }
        (Some(TableData::F64(pi)), Some(TableData::F64(prior)), labels) => {
            let labels = labels.map(|labels| (names, f64::take(labels)));
            Ok(AnyModel::F64(Model::new((about, layout), pi, &prior, labels, foreign)?))
        }
        _ => Err(foreign("the tables `pi` and `prior` are both F32 or both F64".to_owned())),
    }
}

impl<T: Real> Model<T> {
    fn new(
        (about, layout): (About, Layout),
        pi: Vec<T>,
        prior: &[T],
        labels: Option<(Vec<String>, Vec<T>)>,
        foreign: impl Fn(String) -> Failure,
    ) -> Result<Self, Failure> {
        let (shape, _) = memory::plan::<T>(&layout, about.vocabulary.len(), 1)?;
        if pi.len() + prior.len() != shape.grid_len() {
            return Err(foreign("the tables do not have the size that their shapes say".to_owned()));
        }
        let mut storage = AlignedVec::zeroed(shape.grid_len())
            .map_err(|error| Failure::new(error, "use a larger machine"))?;
        let (own, own_prior) = storage.split_at_mut(pi.len());
        own.copy_from_slice(&pi);
        own_prior.copy_from_slice(prior);
        let grid = Grid::new(shape, storage).map_err(|error| foreign(error.to_string()))?;
        let labelled = |(names, table)| Labelled::new(shape, names, table);
        let labels = labels.map(labelled).transpose();
        let labels = labels.map_err(|_| {
            foreign("its table `labels` is not [labels, extents...] of finite numbers like `pi`, named by its text".into())
        })?;
        Ok(Self { about, layout, grid, labels })
    }
}

/// Everything but the numbers, checked against one another.
fn about(file: &ModelFile) -> Result<(About, Layout), String> {
    let kind = file.metadata.get("kind").ok_or("it has no text `kind`")?;
    if kind != KIND {
        return Err(format!("its text `kind` is not `{KIND}`"));
    }
    let table = |name: &str| file.table(name).ok_or_else(|| format!("it has no table `{name}`"));
    let (pi, prior, window) = (table("pi")?, table("prior")?, table("window")?);
    let [features, extents @ ..] = pi.shape.as_slice() else {
        return Err("its table `pi` has no axes".to_owned());
    };
    let TableData::U32(sides) = &window.data else {
        return Err("its table `window` is not U32".to_owned());
    };
    let axes = 1..=crate::layout::AXES;
    let positive = extents.iter().all(|&extent| extent > 0) && sides.iter().all(|&side| side > 0);
    if !(axes.contains(&extents.len()) && prior.shape == extents && positive) {
        return Err(
            "its tables `pi` and `prior` have other shapes than [words, extents...], [extents...]".into()
        );
    }
    let about = About::from_file(file)?;
    if about.vocabulary.len() != *features {
        return Err(format!("it has {} words and `pi` for {features}", about.vocabulary.len()));
    }
    let layout = Layout {
        grid: Sides(extents.to_vec()),
        window: Sides(sides.iter().map(|&side| side as usize).collect()),
    };
    let layout = layout.check().map_err(|_| "its window does not fit into its grid")?;
    Ok((about, layout))
}

fn text_to_json(options: &TextOptions) -> Value {
    let stop_words = match &options.stop_words {
        StopWords::English => json!("english"),
        StopWords::List(words) => json!(words),
        _ => json!("none"),
    };
    json!({
        "stop_words": stop_words, "stem": options.stem, "ngrams": options.ngrams,
        "min_letters": options.min_letters, "max_letters": options.max_letters,
    })
}

fn numbers_to_json(scaling: &Scaling) -> Value {
    json!({ "scale": scaling.scale.to_string(), "tokens": scaling.tokens })
}

fn numbers_from_json(value: &Value) -> Option<Scaling> {
    let tokens = match value.get("tokens")? {
        Value::Null => None,
        tokens => Some(tokens.as_f64().filter(|&tokens| tokens > 0.0 && tokens.is_finite())?),
    };
    Some(Scaling { scale: value.get("scale")?.as_str()?.parse().ok()?, tokens })
}

fn text_from_json(value: &Value) -> Option<TextOptions> {
    let stop_words = match value.get("stop_words")? {
        Value::Array(words) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned));
            StopWords::List(words.collect::<Option<_>>()?)
        }
        Value::String(word) if word == "english" => StopWords::English,
        Value::String(word) if word == "none" => StopWords::None,
        _ => return None,
    };
    let letters = |key| usize::try_from(value.get(key)?.as_u64()?).ok();
    Some(TextOptions {
        stop_words,
        stem: value.get("stem")?.as_bool()?,
        // Files of before there were n-grams do not say.
        ngrams: match value.get("ngrams") {
            Some(letters) if !letters.is_null() => Some(usize::try_from(letters.as_u64()?).ok()?),
            _ => None,
        },
        min_letters: letters("min_letters")?,
        max_letters: letters("max_letters")?,
        ..TextOptions::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaling::Scale;

    #[test]
    fn text_options_come_back() {
        for stop_words in [StopWords::English, StopWords::None, StopWords::List(vec!["a".into()])] {
            let options = TextOptions {
                stop_words,
                stem: true,
                ngrams: Some(3),
                min_letters: 3,
                ..TextOptions::default()
            };
            assert_eq!(text_from_json(&text_to_json(&options)), Some(options));
        }
        assert_eq!(text_from_json(&json!({ "stop_words": "french" })), None);
        for scaling in [Scaling::default(), Scaling { scale: Scale::Log(20.0), tokens: Some(1e3) }] {
            assert_eq!(numbers_from_json(&numbers_to_json(&scaling)), Some(scaling));
        }
        assert_eq!(numbers_from_json(&json!({ "scale": "shift", "tokens": -1 })), None);
    }
}
