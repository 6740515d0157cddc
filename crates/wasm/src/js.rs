//! The JavaScript interface: the types of this crate over typed arrays, and options as plain objects.

use countgrid_corpus::WordOptions;
use countgrid_estimators::{AXES, GridOptions, GridSchedule};
use countgrid_map::MAX_CELLS;
use countgrid_text::StopWords;
use js_sys::{Array, Float32Array, JsString, Object, Reflect, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;

use crate::{Error, corpus::reserve, error::whole};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** How a grid is fitted. What is not said is as the program `countgrid fit` does it. */
export interface FitOptions {
    /** Cells along each axis, one to eight. By itself a square with about half as many cells as bags. */
    extents?: number | number[];
    /** Cells of a window along each axis, or one number for all. By itself a sixth of the extents, 2 to 8. */
    window?: number | number[];
    /** At most so many iterations on the full grid; 60. */
    iterations?: number;
    /** The fit ends once two iterations in a row change the objective by no more than this share of it; 1e-5. */
    tolerance?: number;
    /** Seed of the random numbers; 1. */
    seed?: number;
    /** Tokens that every feature is given at every cell beforehand; 0.01, within a fiftieth and a quarter of
        tokens / (cells × features). */
    pseudocount?: number;
    /** Whether it is learned how likely each place is; false. */
    learnPrior?: boolean;
    /** Passes of an M-step over the same expected counts; 1. */
    innerPasses?: number;
    /** Whether the fit begins on a small grid and refines it; true. */
    coarseToFine?: boolean;
}

/** What a word is, and which words make the vocabulary. */
export interface TextOptions {
    /** Title of the documents, also in model files; "texts". */
    title?: string;
    /** Words to leave out; "english". */
    stopWords?: "english" | "none" | string[];
    /** Whether words of one English stem count as one; false. */
    stem?: boolean;
    /** The fewest documents that a word must be in; 1, 2, 3 or 5 for fewer than 20, 200, 2000 or more documents. */
    minCount?: number;
    /** The largest share of the documents that a word may be in; 0.5. */
    maxShare?: number;
    /** The largest vocabulary; 3000. */
    maxWords?: number;
}

/** A grid that was fitted elsewhere. */
export interface GridOptions {
    /** Cells along each axis, one to eight. */
    extents: number | number[];
    /** Cells of a window along each axis, or one number for all. */
    window: number | number[];
    /** How likely each location is, `[cell]`; uniform. */
    prior?: Float32Array;
}
"#;

type Result<T> = std::result::Result<T, JsError>;

/// Bags of counts over one set of features.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Corpus(crate::Corpus);

#[wasm_bindgen]
impl Corpus {
    /// Compressed rows: bag `t` has the features `indices[offsets[t]]` up to `indices[offsets[t + 1] - 1]`, ascending
    /// and below `features`, and their counts, above zero, in the same places.
    ///
    /// # Errors
    /// An `Error` for arrays that do not match.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "Uint32Array")] offsets: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "Uint32Array")] indices: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "Uint32Array | Float32Array")] counts: &JsValue,
        features: f64,
    ) -> Result<Self> {
        let features = whole("features", features, 0, u64::from(u32::MAX))? as usize;
        let (offsets, indices) = (integers("offsets", offsets)?, integers("indices", indices)?);
        Ok(Self(crate::Corpus::new(offsets, indices, numbers("counts", counts)?, features)?))
    }

    /// Number of bags.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn length(&self) -> usize {
        self.0.len()
    }

    /// Number of features.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn features(&self) -> usize {
        self.0.features()
    }

    /// The sum of all counts.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn tokens(&self) -> f64 {
        self.0.tokens()
    }
}

/// A fit in progress.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Fit(crate::Fit);

#[wasm_bindgen]
impl Fit {
    /// Nothing is computed before the first step.
    ///
    /// # Errors
    /// An `Error` for invalid options, a corpus without tokens, a grid for which there is no memory.
    #[wasm_bindgen(constructor)]
    pub fn new(
        corpus: &Corpus,
        #[wasm_bindgen(unchecked_optional_param_type = "FitOptions")] options: &JsValue,
    ) -> Result<Self> {
        Ok(Self(crate::Fit::new(&corpus.0, &grid_options(options)?)?))
    }

    /// Continues from a checkpoint, with the corpus and the options of the fit that has written it, to the same bits.
    ///
    /// # Errors
    /// An `Error` for bytes that are not a checkpoint, or one of another fit; those of the constructor.
    pub fn resume(
        corpus: &Corpus,
        #[wasm_bindgen(unchecked_param_type = "FitOptions | undefined")] options: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] checkpoint: &JsValue,
    ) -> Result<Self> {
        Ok(Self(crate::Fit::resume(&corpus.0, &grid_options(options)?, &bytes("checkpoint", checkpoint)?)?))
    }

    /// A checkpoint of the fit.
    ///
    /// # Errors
    /// An `Error` if a step has failed, or if there is no memory.
    pub fn checkpoint(&self) -> Result<Vec<u8>> {
        Ok(self.0.checkpoint()?)
    }

    /// One iteration. Returns the log evidence of all bags per token, in nats; after the end it does
    /// nothing and returns the same again.
    ///
    /// # Errors
    /// An `Error` for counts too large for `f32`, or if there is no memory.
    pub fn step(&mut self) -> Result<f64> {
        Ok(self.0.step()?)
    }

    /// Whether the last step was the last.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> bool {
        self.0.is_done()
    }

    /// Whether the fit ended because it converged.
    #[wasm_bindgen(getter)]
    pub fn converged(&self) -> bool {
        self.0.has_converged()
    }

    /// How much of the work is done, 0 to 1.
    #[wasm_bindgen(getter)]
    pub fn share(&self) -> f64 {
        self.0.share()
    }

    /// Updates of the present grid so far.
    #[wasm_bindgen(getter)]
    pub fn iteration(&self) -> usize {
        self.0.iteration()
    }

    /// Cells along each axis of the grid that the next step fits: coarser ones come first.
    #[wasm_bindgen(getter)]
    pub fn extents(&self) -> Uint32Array {
        sizes(self.0.extents())
    }

    /// Ends the fit with the current grid, of the size that was asked for.
    ///
    /// # Errors
    /// An `Error` if a step has failed, or if there is no memory.
    pub fn finish(self) -> Result<CountingGrid> {
        Ok(CountingGrid(self.0.finish()?))
    }
}

/// Fits a grid from beginning to end.
///
/// # Errors
/// Those of [`Fit`].
#[wasm_bindgen]
pub fn fit(
    corpus: &Corpus,
    #[wasm_bindgen(unchecked_optional_param_type = "FitOptions")] options: &JsValue,
) -> Result<CountingGrid> {
    let mut fit = Fit::new(corpus, options)?;
    while !fit.done() {
        fit.step()?;
    }
    fit.finish()
}

/// A fitted grid.
#[wasm_bindgen]
#[derive(Debug)]
pub struct CountingGrid(crate::CountingGrid);

#[wasm_bindgen]
impl CountingGrid {
    /// A grid that was fitted elsewhere, from its table `pi` `[feature][cell]`: every cell is a distribution.
    ///
    /// # Errors
    /// An `Error` for tables that are not valid for these extents.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "Float32Array")] pi: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "GridOptions")] options: &JsValue,
    ) -> Result<Self> {
        let options = Options::new("options", options, &["extents", "window", "prior"])?;
        let missing = |name: &str| Error::new(format_args!("`{name}` is missing"));
        let extents = options.sides("extents")?.ok_or_else(|| missing("extents"))?;
        let window = options.sides("window")?.ok_or_else(|| missing("window"))?;
        let prior = match options.get("prior")? {
            Some(prior) => Some(floats("prior", &prior)?),
            None => None,
        };
        Ok(Self(crate::CountingGrid::new(&floats("pi", pi)?, prior.as_deref(), &extents, &window)?))
    }

    /// Cells along each axis.
    #[wasm_bindgen(getter)]
    pub fn extents(&self) -> Uint32Array {
        sizes(self.0.extents())
    }

    /// Cells of a window along each axis.
    #[wasm_bindgen(getter)]
    pub fn window(&self) -> Uint32Array {
        sizes(self.0.window())
    }

    /// Number of cells.
    #[wasm_bindgen(getter)]
    pub fn cells(&self) -> usize {
        self.0.cells()
    }

    /// Number of features.
    #[wasm_bindgen(getter)]
    pub fn features(&self) -> usize {
        self.0.features()
    }

    /// `[feature][cell]`: every cell's distribution over features.
    pub fn pi(&self) -> Float32Array {
        Float32Array::from(self.0.pi())
    }

    /// `[cell]`: how likely each location is.
    pub fn prior(&self) -> Float32Array {
        Float32Array::from(self.0.prior())
    }

    /// `[feature][cell]`: the mean of `pi` over the window that starts at each cell.
    ///
    /// # Errors
    /// An `Error` if there is no memory.
    pub fn histograms(&self) -> Result<Float32Array> {
        Ok(Float32Array::from(self.0.histograms()?.as_slice()))
    }

    /// `[cell]`: the probability of every window for a bag, whose features come in any order. That of an empty bag is
    /// the prior.
    ///
    /// # Errors
    /// An `Error` for a feature that the grid does not have, or a value that is not a count.
    pub fn posterior(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Uint32Array")] indices: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "Uint32Array | Float32Array")] counts: &JsValue,
    ) -> Result<Float32Array> {
        let (posterior, _) = self.0.posterior(&integers("indices", indices)?, &numbers("counts", counts)?)?;
        Ok(Float32Array::from(posterior.as_slice()))
    }

    /// The log evidence of a bag in nats, without the multinomial coefficient.
    ///
    /// # Errors
    /// An `Error` for a feature that the grid does not have, or a value that is not a count.
    #[wasm_bindgen(js_name = logEvidence)]
    pub fn log_evidence(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Uint32Array")] indices: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "Uint32Array | Float32Array")] counts: &JsValue,
    ) -> Result<f64> {
        Ok(self.0.posterior(&integers("indices", indices)?, &numbers("counts", counts)?)?.1)
    }

    /// `[bag]`: the cell where the most probable window of each bag starts. An empty bag is where the prior is largest.
    ///
    /// # Errors
    /// An `Error` for bags over other features.
    pub fn embed(&self, corpus: &Corpus) -> Result<Uint32Array> {
        Ok(Uint32Array::from(self.0.embed(&corpus.0)?.as_slice()))
    }

    /// The bytes of the model file that `countgrid fit` writes of the same documents, options, seed and title, and that
    /// the program and Python read. The title is that of the `Texts` unless another one is given, which the grid keeps.
    ///
    /// # Errors
    /// An `Error` for a grid that was not fitted to the corpus of `Texts`: a model has words.
    pub fn model(&mut self, title: Option<String>) -> Result<Vec<u8>> {
        Ok(self.0.model(title.as_deref())?)
    }
}

/// Text as bags of words.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Texts(crate::Texts);

#[wasm_bindgen]
impl Texts {
    /// Reads documents and selects the vocabulary.
    ///
    /// # Errors
    /// An `Error` for invalid options, and for documents of which no word is left.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "string[]")] documents: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "TextOptions")] options: &JsValue,
    ) -> Result<Self> {
        let (title, words) = text_options(options)?;
        Ok(Self(crate::Texts::new(&title, &strings("documents", documents)?, &words)?))
    }

    /// The words, sorted: feature `z` is word `z`.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn vocabulary(&self) -> Vec<String> {
        self.0.vocabulary().to_vec()
    }

    /// The documents as bags over the vocabulary.
    #[must_use]
    pub fn corpus(&self) -> Corpus {
        Corpus(self.0.corpus().clone())
    }

    /// Other documents as bags over the same vocabulary; unknown words are left out.
    ///
    /// # Errors
    /// An `Error` if these are no strings.
    pub fn count(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string[]")] documents: &JsValue,
    ) -> Result<Corpus> {
        Ok(Corpus(self.0.count(&strings("documents", documents)?)?))
    }

    /// The page of `countgrid map` as one HTML file: words at their cells, and documents near every cell.
    ///
    /// # Errors
    /// An `Error` for a grid of more than two axes, or over another vocabulary.
    pub fn page(&self, title: &str, grid: &CountingGrid) -> Result<String> {
        Ok(self.0.page(title, &grid.0)?)
    }
}

/// The most UTF-16 units of all documents together. If every word were different, counting them would take about 2 GB.
const MAX_TEXT: u64 = 1 << 26;

fn strings(name: &str, value: &JsValue) -> std::result::Result<Vec<String>, Error> {
    let refuse = || Error::new(format_args!("`{name}` needs to be an array of strings"));
    let array = value.dyn_ref::<Array>().ok_or_else(refuse)?;
    let (mut units, mut all) = (0, Vec::new());
    for (place, item) in array.iter().enumerate() {
        let text = item
            .dyn_ref::<JsString>()
            .ok_or_else(|| Error::new(format_args!("element {place} of `{name}` is no string")))?;
        units += u64::from(text.length());
        if units > MAX_TEXT {
            return Err(Error::new(format_args!(
                "`{name}` holds more than {MAX_TEXT} characters: take fewer documents"
            )));
        }
        reserve(&mut all, 1)?;
        all.push(String::from(text));
    }
    Ok(all)
}

/// The elements of a typed array.
macro_rules! elements {
    ($function:ident, $array:ident, $element:ty) => {
        fn $function(name: &str, value: &JsValue) -> std::result::Result<Vec<$element>, Error> {
            let array = value.dyn_ref::<$array>().ok_or_else(|| {
                Error::new(format_args!(concat!("`{}` needs to be a ", stringify!($array)), name))
            })?;
            let mut table = Vec::new();
            reserve(&mut table, array.length() as usize)?;
            table.resize(array.length() as usize, <$element>::default());
            array.copy_to(&mut table);
            Ok(table)
        }
    };
}
elements!(integers, Uint32Array, u32);
elements!(floats, Float32Array, f32);
elements!(bytes, Uint8Array, u8);

/// Counts, rounded to `f32` as everywhere.
fn numbers(name: &str, value: &JsValue) -> std::result::Result<Vec<f32>, Error> {
    if value.has_type::<Float32Array>() {
        return floats(name, value);
    }
    if !value.has_type::<Uint32Array>() {
        return Err(Error::new(format_args!("`{name}` needs to be a Uint32Array or a Float32Array")));
    }
    let whole = integers(name, value)?;
    let mut table = Vec::new();
    reserve(&mut table, whole.len())?;
    table.extend(whole.into_iter().map(|count| count as f32));
    Ok(table)
}

fn sizes(of: &[usize]) -> Uint32Array {
    let sizes: Vec<u32> = of.iter().map(|&size| size as u32).collect(); // each at most MAX_CELLS, or as the library chooses
    Uint32Array::from(sizes.as_slice())
}

fn grid_options(options: &JsValue) -> std::result::Result<GridOptions, Error> {
    const NAMES: [&str; 9] = [
        "extents",
        "window",
        "iterations",
        "tolerance",
        "seed",
        "pseudocount",
        "learnPrior",
        "innerPasses",
        "coarseToFine",
    ];
    let (options, defaults) = (Options::new("options", options, &NAMES)?, GridOptions::default());
    let count = |name, least| options.whole(name, least, u64::from(u32::MAX));
    Ok(GridOptions {
        extents: options.sides("extents")?,
        window: options.sides("window")?,
        iterations: count("iterations", 0)?.map_or(defaults.iterations, |n| n as usize),
        tolerance: options.number("tolerance")?.unwrap_or(defaults.tolerance),
        seed: options.whole("seed", 0, (1 << 53) - 1)?.unwrap_or(defaults.seed),
        pseudocount: options.number("pseudocount")?,
        learn_prior: options.flag("learnPrior")?.unwrap_or(defaults.learn_prior),
        inner_passes: count("innerPasses", 1)?.map_or(defaults.inner_passes, |n| n as usize),
        schedule: match options.flag("coarseToFine")? {
            None => defaults.schedule,
            Some(true) => GridSchedule::CoarseToFine,
            Some(false) => GridSchedule::Single,
        },
        ..defaults
    })
}

/// The title, and what a word is.
fn text_options(options: &JsValue) -> std::result::Result<(String, WordOptions), Error> {
    let names = ["title", "stopWords", "stem", "minCount", "maxShare", "maxWords"];
    let (options, defaults) = (Options::new("options", options, &names)?, WordOptions::default());
    let count = |name| options.whole(name, 0, u64::from(u32::MAX));
    let title = match options.get("title")? {
        None => crate::Texts::TITLE.to_owned(),
        Some(title) => title.as_string().ok_or_else(|| Error::new("`title` needs to be a string"))?,
    };
    let stop_words = match options.get("stopWords")? {
        None => defaults.stop_words,
        Some(which) => match which.as_string().as_deref() {
            Some("auto") => StopWords::Auto,
            Some("english") => StopWords::English,
            Some("none") => StopWords::None,
            Some(other) => {
                return Err(Error::new(format_args!(
                    "`stopWords` is \"{other}\", needs to be \"auto\", \"english\", \"none\" or an array of words"
                )));
            }
            None => StopWords::List(strings("stopWords", &which)?),
        },
    };
    let words = WordOptions {
        stop_words,
        stem: options.flag("stem")?.unwrap_or(defaults.stem),
        min_count: count("minCount")?.map(|n| n as usize),
        max_share: options.number("maxShare")?,
        max_words: count("maxWords")?.map_or(defaults.max_words, |n| n as usize),
        ..WordOptions::default()
    };
    Ok((title, words))
}

/// A plain object whose fields are options.
struct Options<'a>(Option<&'a Object>);

impl<'a> Options<'a> {
    /// Refuses values that are not objects, and unknown fields, since a typing error would go unnoticed.
    fn new(what: &str, value: &'a JsValue, names: &[&str]) -> std::result::Result<Self, Error> {
        if value.is_undefined() || value.is_null() {
            return Ok(Self(None));
        }
        let object = Object::try_from(value);
        let object = object.ok_or_else(|| Error::new(format_args!("`{what}` needs to be an object")))?;
        for name in Object::keys(object).iter().filter_map(|name| name.as_string()) {
            if !names.contains(&name.as_str()) {
                return Err(Error::new(format_args!(
                    "`{name}` is no option; there are {}",
                    names.join(", ")
                )));
            }
        }
        Ok(Self(Some(object)))
    }

    /// A field, unless it is absent, undefined or null.
    fn get(&self, name: &str) -> std::result::Result<Option<JsValue>, Error> {
        let Some(object) = self.0 else { return Ok(None) };
        let value = Reflect::get(object, &name.into())
            .map_err(|_| Error::new(format_args!("`{name}` cannot be read")))?;
        Ok(Some(value).filter(|value| !value.is_undefined() && !value.is_null()))
    }

    fn number(&self, name: &str) -> std::result::Result<Option<f64>, Error> {
        let number = |value: JsValue| {
            value.as_f64().ok_or_else(|| Error::new(format_args!("`{name}` needs to be a number")))
        };
        self.get(name)?.map(number).transpose()
    }

    fn whole(&self, name: &str, least: u64, most: u64) -> std::result::Result<Option<u64>, Error> {
        self.number(name)?.map(|value| whole(name, value, least, most)).transpose()
    }

    fn flag(&self, name: &str) -> std::result::Result<Option<bool>, Error> {
        let flag = |value: JsValue| {
            value.as_bool().ok_or_else(|| Error::new(format_args!("`{name}` needs to be true or false")))
        };
        self.get(name)?.map(flag).transpose()
    }

    /// One number, or an array of as many as a grid can have axes.
    fn sides(&self, name: &str) -> std::result::Result<Option<Vec<usize>>, Error> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let side = |value: f64| whole(name, value, 1, MAX_CELLS as u64).map(|side| side as usize);
        if let Some(value) = value.as_f64() {
            return Ok(Some(vec![side(value)?]));
        }
        let refuse =
            || Error::new(format_args!("`{name}` needs to be a number or an array of 1 to {AXES} numbers"));
        let length = value.dyn_ref::<Array>().map(Array::length);
        let length = length.or_else(|| value.dyn_ref::<Uint32Array>().map(Uint32Array::length));
        if !length.is_some_and(|axes| (1..=AXES as u32).contains(&axes)) {
            return Err(refuse());
        }
        let sides = Array::from(&value);
        sides
            .iter()
            .map(|value| side(value.as_f64().ok_or_else(refuse)?))
            .collect::<std::result::Result<_, _>>()
            .map(Some)
    }
}
