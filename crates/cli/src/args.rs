//! The command line.

use std::path::PathBuf;

use clap::{
    Args, Parser, Subcommand, ValueEnum,
    builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser},
};
use countgrid_corpus::{BlockLimits, KeepColumns, Scale, WordOptions};
use countgrid_estimators::{GridOptions, HarmoniumOptions};
use countgrid_gtm::{EmissionModel, Inflation};
use countgrid_text::Languages;

use crate::{
    failure::Failure,
    sides::{GridSize, Sides},
};

mod componential;
mod distributed;
mod evaluation;
mod harmonium;
mod measures;
mod topographic;

pub(crate) use self::{
    componential::ComponentialArgs,
    distributed::{FinishArgs, MergeArgs, PartialArgs, StartArgs, StepArgs},
    evaluation::EvaluationArgs,
    harmonium::{FeatureArgs, FitModel, HarmoniumArgs, TraceArgs},
    measures::{CompareArgs, EvaluateArgs},
    topographic::{Place, TopographicArgs},
};

/// A parser of the path of data: `-` is standard input.
fn data_path() -> impl TypedValueParser<Value = PathBuf> {
    let standard_input = |path: PathBuf| {
        if cfg!(unix) && path.as_os_str() == "-" { PathBuf::from("/dev/stdin") } else { path }
    };
    PathBufValueParser::new().map(standard_input)
}

/// A parser of an option's value by name, with a description of each value.
fn choice<T: Clone + Send + Sync + 'static>(
    values: &'static [(&'static str, &'static str)],
    parse: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    let values = values.iter().map(|&(name, about)| PossibleValue::new(name).help(about));
    PossibleValuesParser::new(values)
        .try_map(move |name| parse(&name).ok_or_else(|| format!("`{name}` is not known")))
}

/// What counts documents, words, entries or iterations, of which there may be many.
const COUNT: usize = 1_000_000_000;
/// What sets the size of a model, or how often it is fitted.
const SIZE: usize = 1_000_000;
/// Threads: each costs a stack of some megabytes.
const THREADS: usize = 1024;

/// A parser of counts that refuses those above a bound, and says it.
fn at_most(most: usize) -> impl TypedValueParser<Value = usize> {
    StringValueParser::new().try_map(move |text| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<usize>() {
            Ok(count) if count <= most => Ok(count),
            Err(error) if !digits => Err(error.to_string()),
            _ => Err(format!("it may be at most {most}")),
        }
    })
}

/// Map collections of documents with counting grids, topographic maps and harmoniums
///
/// Exit codes: 0 if all was done, 2 for a mistake or a failure, with a message, 130 if the run was ended by Ctrl-C or a signal.
#[derive(Debug, Parser)]
#[command(name = "countgrid", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Draw a map of documents: one HTML page, and the model
    ///
    /// Reads documents, fits a counting grid and writes map.html, map.svg, map.png, places.csv, model.safetensors and run.toml. With
    /// --model zip-gtm and its like it fits a topographic map, on which documents are points, and writes points.csv
    /// instead of places.csv. Ctrl-C ends the fit after the current iteration and writes the result so far.
    Map(MapArgs),
    /// Fit a model: a grid with any number of axes up to eight, or a harmonium
    Fit(FitArgs),
    /// Positions of documents on a fitted map, or their topics under a harmonium, as CSV
    ///
    /// Columns for a harmonium: id, title, label, tokens, known_tokens, and h0, h1, ... the expected topics, given the words
    /// and, with --features-from, the features.
    ///
    /// Columns for a grid: id, title, label; tokens (stop words left out) and known_tokens (those of the model's
    /// vocabulary); x0, x1, ... the cell where the most probable window starts; mean0, mean1, ... the circular
    /// mean of the posterior over window starts, empty where it has none; probability of the most probable
    /// window; log_evidence_per_token in nats; and, if the fitted documents had labels, expected_label and
    /// label_share: the most frequent label of the documents around the position, and its share. A document
    /// without a known word has no position.
    ///
    /// Columns for a topographic map, after those of documents: mean0, mean1, the mean of the posterior over latent points;
    /// mode0, mode1, the most probable point, and its probability; and log_likelihood in nats.
    Embed(EmbedArgs),
    /// The top words of a window of a fitted grid
    ///
    /// The window is given by the cell where it starts, as `embed` gives it in x0, x1, ... Coordinates wrap
    /// around the torus.
    Words(WordsArgs),
    /// A model as constant tables for a microcontroller
    ///
    /// Writes model.rs, a Rust module of shape constants and a static table, to `include!` or to use as a module
    /// without std; and model.bin, the same in one piece, which the crate `countgrid-grid` reads in place (`Blob`).
    Firmware(FirmwareArgs),
    /// Describe a model and how it was fitted
    Info(InfoArgs),
    /// Cross-validation: how well labels of held-out documents are predicted
    ///
    /// Documents are split into folds with the same shares of labels; each fold in turn is held out. Words are selected
    /// and models fitted on the other folds alone. A document without a word of the other folds gets their most frequent
    /// label. Options given with --try are chosen in each fold among the values given, by folds of its training part.
    #[command(args_override_self = true)]
    Crossval(CrossvalArgs),
    /// Cross-validations for several options, with a picture of their accuracy
    ///
    /// One cross-validation for each combination of the values given with --try. Writes results.csv and results.json,
    /// and accuracy.svg and accuracy.png: accuracy against capacity, the cells of the grid over those of a window, a line
    /// for each number of axes. Results that are in results.json are not computed again, so a sweep that was interrupted
    /// continues, if its other options are the same: results.json has them as `protocol`.
    #[command(args_override_self = true)]
    Sweep(SweepArgs),
    /// Measures of a fitted model over documents, most of which need no labels
    ///
    /// Of a map: neighbour_labels, the mean share of the nearest neighbours that have the label of a document, and
    /// neighbour_vote, the share of documents whose label is their most frequent one, ties averaged; trustworthiness and
    /// continuity (Venna & Kaski 2001). Of topics, or windows of a grid: coherence u_mass, c_npmi and c_v as gensim has them;
    /// diversity, the share of different words among the top words of all; exclusivity, the mean share that a topic has of
    /// its top words. Of a grid, a mixture and LDA: completion_log_likelihood and perplexity, of half of the tokens of
    /// each document, given the other half. bound_per_token is the bound on the log-likelihood of a document. Likelihoods
    /// are in nats per token. Measures that the model or the data do not have say why.
    Evaluate(EvaluateArgs),
    /// Measures of several fitted models over the same documents, side by side
    ///
    /// Models of the same options but for the seed are a group, of which mean and standard error are reported, and how stable
    /// they are, the mean over pairs: stability_neighbours, the share of the nearest neighbours of a document on one map that
    /// are among the nearest on the other, and stability_topics, the mean cosine of topics in the best assignment. The
    /// standard errors of a model by itself are over documents or topics. Writes comparison.json, comparison.csv,
    /// comparison.svg and comparison.png.
    Compare(CompareArgs),
    /// Completions of commands and options for a shell, on standard output
    ///
    /// For bash: countgrid completions bash > ~/.local/share/bash-completion/completions/countgrid
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// The manual as a page for man, on standard output
    ///
    /// To read it: countgrid man map | man -l -
    Man {
        /// The command whose page it is to be [default: that of the program]
        command: Option<String>,
    },
    /// Start a fit in parts, whose iterations are computed by as many processes or machines as there are
    ///
    /// Reads documents and selects words as `fit` does, and writes the first state of the training and the documents, in files that
    /// go where they are computed with. Each iteration is then a `partial` for each file of documents, a `merge` of the sums,
    /// and a `step`; in the end there is `finish`. The model has the bytes that `fit` gives with the same options.
    Start(StartArgs),
    /// The sums over some documents under the model of a state
    Partial(PartialArgs),
    /// Put sums together, in any order and in any groups
    Merge(MergeArgs),
    /// Update the model of a state by the sums of all documents
    Step(StepArgs),
    /// The model of a training in parts that has ended
    Finish(FinishArgs),
}

#[derive(Args, Debug)]
pub(crate) struct MapArgs {
    /// Folders of texts, web pages, mails or documents (recursive), ZIP or TAR files of them, mailboxes, CSV, TSV, JSONL, XLSX or ODS files with a
    /// text column, or counts (docword, Matrix Market, SVMlight, NPZ), any of them gzipped, or single documents; several are one collection,
    /// in their order; `-` is standard input. Without them: the doc
    /// comments of the crates that Cargo has unpacked here
    #[arg(value_name = "PATH", value_parser = data_path())]
    pub(crate) paths: Vec<PathBuf>,
    /// Add the documents of this file or folder to a map that exists, whose model is named instead of data, with its map.html beside
    /// it; nothing that is there moves. Writes the new map into another folder (--output). May be given several times
    #[arg(long, value_name = "NEW", conflicts_with_all = ["GridArgs", "WordArgs", "ScaleArgs", "KeepArgs", "TopographicArgs", "ComponentialArgs", "CheckpointArgs", "model", "sample", "title"])]
    pub(crate) add: Vec<PathBuf>,
    /// Folder for map.html, map.svg, map.png, places.csv, model.safetensors, and run.toml with all options
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// Heading of the page [default: the name of the file or folder]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// The model to fit
    #[arg(long, value_enum, default_value_t = MapModel::Grid)]
    pub(crate) model: MapModel,
    /// Draw at most this many documents of each label, by --seed, and as many of those without a label
    #[arg(long, value_name = "N", value_parser = at_most(COUNT))]
    pub(crate) sample: Option<usize>,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Write texts into CSV as they are; else one that a spreadsheet would take for a formula has a ' before it
    #[arg(long)]
    pub(crate) raw_csv: bool,
    /// Further columns of a table that the page filters and colours documents by and shows beside them: `all`, `none`, or names
    /// with commas between them
    #[arg(long, value_name = "NAMES", default_value = "all")]
    pub(crate) columns: ColumnNames,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) numbers: ScaleArgs,
    #[command(flatten)]
    pub(crate) words: WordArgs,
    #[command(flatten)]
    pub(crate) topographic: TopographicArgs,
    #[command(flatten)]
    pub(crate) componential: ComponentialArgs,
    #[command(flatten)]
    pub(crate) fit: GridArgs,
    #[command(flatten)]
    pub(crate) checkpoints: CheckpointArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

/// The columns that `--columns` names.
#[derive(Clone, Debug)]
pub(crate) struct ColumnNames(String);

impl From<&str> for ColumnNames {
    fn from(names: &str) -> Self {
        Self(names.to_owned())
    }
}

impl ColumnNames {
    pub(crate) fn keep(&self) -> KeepColumns {
        match self.0.as_str() {
            "all" => KeepColumns::All,
            "none" | "" => KeepColumns::None,
            names => KeepColumns::Named(names.split(',').map(|name| name.trim().to_owned()).collect()),
        }
    }
}

impl MapArgs {
    /// Checks the settings before anything is read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if let Some(emission_model) = self.model.emission_model() {
            self.topographic.options(emission_model, &self.fit)?;
        }
        match self.sample {
            Some(0) => Err(Failure::new("--sample 0 leaves no document", "take --sample of at least 1")),
            _ => Ok(()),
        }
    }
}

/// The models of `map`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapModel {
    /// A counting grid
    Grid,
    /// A componential counting grid, on which every word of a document has a place of its own
    Componential,
    /// A topographic map of zero-inflated Poisson counts, inflation by word
    ZipGtm,
    /// The same, inflation by word and latent point
    ZipLatentGtm,
    /// A topographic map of Poisson counts
    PoissonGtm,
    /// A topographic map with Bernoulli emissions: which words occur
    BernoulliGtm,
    /// A topographic map with multinomial emissions: counts of words, given the length of the document
    MultinomialGtm,
    /// A topographic map of normal counts
    GaussianGtm,
}

impl MapModel {
    /// The emission model of a topographic map.
    pub(crate) fn emission_model(self) -> Option<EmissionModel> {
        match self {
            Self::Grid | Self::Componential => None,
            Self::ZipGtm => Some(EmissionModel::Zip(Inflation::Document)),
            Self::ZipLatentGtm => Some(EmissionModel::Zip(Inflation::Latent)),
            Self::PoissonGtm => Some(EmissionModel::Poisson),
            Self::BernoulliGtm => Some(EmissionModel::Bernoulli),
            Self::MultinomialGtm => Some(EmissionModel::Multinomial),
            Self::GaussianGtm => Some(EmissionModel::Gaussian),
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct FitArgs {
    /// Folders of texts, web pages, mails or documents (recursive), ZIP or TAR files of them, mailboxes, CSV, TSV, JSONL, XLSX or ODS files with a
    /// text column, or counts (docword, Matrix Market, SVMlight, NPZ), any of them gzipped, or single documents; several are one collection,
    /// in their order; `-` is standard input
    #[arg(required = true, value_name = "PATH", value_parser = data_path())]
    pub(crate) paths: Vec<PathBuf>,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL", default_value = "model.safetensors")]
    pub(crate) output: PathBuf,
    /// The model to fit. Harmoniums take --seed, --batch, --precision and --threads of the options of grids
    #[arg(long, value_enum, default_value_t = FitModel::Grid)]
    pub(crate) model: FitModel,
    /// Topics of a harmonium
    #[arg(long, value_name = "N", default_value_t = HarmoniumOptions::default().topics, value_parser = at_most(SIZE))]
    pub(crate) topics: usize,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) componential: ComponentialArgs,
    #[command(flatten)]
    pub(crate) harmonium: HarmoniumArgs,
    #[command(flatten)]
    pub(crate) tracing: TraceArgs,
    #[command(flatten)]
    pub(crate) features: FeatureArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) numbers: ScaleArgs,
    #[command(flatten)]
    pub(crate) words: WordArgs,
    #[command(flatten)]
    pub(crate) fit: GridArgs,
    #[command(flatten)]
    pub(crate) checkpoints: CheckpointArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) saving: SaveConfigArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

#[derive(Args, Debug)]
pub(crate) struct EmbedArgs {
    /// A model, as `map` and `fit` write it
    pub(crate) model: PathBuf,
    /// The documents, in any form that `fit` reads
    #[arg(required = true, value_name = "PATH", value_parser = data_path())]
    pub(crate) paths: Vec<PathBuf>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "CSV")]
    pub(crate) output: Option<PathBuf>,
    /// Write texts into CSV as they are; else one that a spreadsheet would take for a formula has a ' before it
    #[arg(long)]
    pub(crate) raw_csv: bool,
    #[command(flatten)]
    pub(crate) features: FeatureArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Say nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct WordsArgs {
    /// A model, as `map` and `fit` write it
    pub(crate) model: PathBuf,
    /// The cell where the window starts: one coordinate per axis
    #[arg(long, value_name = "3,4", required = true, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) at: Vec<isize>,
    /// How many words of each kind
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = at_most(COUNT))]
    pub(crate) top: usize,
    /// One JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct FirmwareArgs {
    /// A model, as `map` and `fit` write it
    pub(crate) model: PathBuf,
    /// Folder for model.rs and model.bin
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// How logarithms are kept: as numbers, or as codes of 16 or 8 bits
    #[arg(long, value_enum, default_value_t = TableKind::F32)]
    pub(crate) table: TableKind,
    /// Put the words into the module too
    #[arg(long)]
    pub(crate) vocabulary: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// A model, as `map` and `fit` write it
    pub(crate) model: PathBuf,
    /// One JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CrossvalArgs {
    #[command(flatten)]
    pub(crate) evaluation: EvaluationArgs,
    /// Table of all predictions to write
    #[arg(short, long, value_name = "CSV")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) saving: SaveConfigArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) evaluation: EvaluationArgs,
    /// Folder for results.csv, results.json, accuracy.svg, accuracy.png, and run.toml with all options
    #[arg(short, long, value_name = "DIR", default_value = "sweep")]
    pub(crate) output: PathBuf,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// Column of the text [default: found by its name, such as text, body, abstract]
    #[arg(long, value_name = "NAME")]
    pub(crate) text_column: Option<String>,
    /// Column of the title [default: found by its name, such as title, subject]
    #[arg(long, value_name = "NAME")]
    pub(crate) title_column: Option<String>,
    /// Column of the label [default: found by its name, such as label, class, category]
    #[arg(long, value_name = "NAME")]
    pub(crate) label_column: Option<String>,
    /// Folder on the path of each file that is its label, from 1 for the outermost; 0 for no labels [default: the outermost in which files
    /// differ]
    #[arg(long, value_name = "N", conflicts_with = "label_column", value_parser = at_most(SIZE))]
    pub(crate) label_depth: Option<usize>,
    /// Column of the id [default: found by its name, such as id, key, url]
    #[arg(long, value_name = "NAME")]
    pub(crate) id_column: Option<String>,
    /// Vocabulary of a file of counts, one word per line [default: vocab.NAME.txt beside docword.NAME.txt or NAME.mtx]
    #[arg(long, value_name = "FILE")]
    pub(crate) vocabulary: Option<PathBuf>,
    /// Stop at a file of a folder that cannot be read or is of a kind that is not read [default: pass it over and say so]
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct KeepArgs {
    /// Keep near-duplicates too [default: a text that shares four fifths of its runs of three words with an earlier one is left out,
    /// unless it is as short as a title]
    #[arg(long)]
    pub(crate) keep_duplicates: bool,
    /// Count also the lines that most documents of a source have, such as the footer of every page [default: a line of at least three words
    /// that more than half of ten or more documents of a file or folder have is left out of all texts]
    #[arg(long)]
    pub(crate) keep_boilerplate: bool,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Numbers")]
pub(crate) struct ScaleArgs {
    /// How the numbers of a table without a column of text become counts: `none`, they are counts; `floor=X`, max(x, X);
    /// `log=X`, ln(max(x, X) / X); `shift`, less the lowest of their row
    #[arg(long, value_name = "SCALE", default_value_t = Scale::None)]
    pub(crate) scale: Scale,
    /// Scale the counts of each document, those of the words that are kept, so that they sum to this: long documents then
    /// weigh as much as short ones, and with few tokens words that occur together count less as independent evidence
    #[arg(long, value_name = "SUM")]
    pub(crate) tokens: Option<f64>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Words")]
pub(crate) struct WordArgs {
    /// The fewest documents that a word must be in [default: 1, 2, 3 or 5 for fewer than 20, 200, 2000 or more
    /// documents; 1 for counts and n-grams]
    #[arg(long, value_name = "N", value_parser = at_most(COUNT))]
    pub(crate) min_count: Option<usize>,
    /// The largest share of the documents that a word may be in [default: 0.5; 1 for counts and n-grams]
    #[arg(long, value_name = "SHARE")]
    pub(crate) max_share: Option<f64>,
    /// The largest vocabulary: of more words those are kept that distinguish most pairs of documents
    #[arg(long, value_name = "N", default_value_t = WordOptions::default().max_words, value_parser = at_most(COUNT))]
    pub(crate) max_words: usize,
    /// Languages of texts, by code or English name: one, or several with commas between them, of which the first is that of
    /// texts too short to tell; auto finds that of each text
    #[arg(long, value_name = "CODES", default_value = "auto", value_parser = crate::collection::languages)]
    pub(crate) language: Languages,
    /// Words to leave out: auto, those of each text's language; english; none; or a file with one word per line
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    pub(crate) stop_words: String,
    /// Count mail headers, quoted lines, addresses of pages and mail, hosts, hashes and encoded data like words
    #[arg(long)]
    pub(crate) keep_noise: bool,
    /// Count words of one stem as one, by each text's language
    #[arg(long)]
    pub(crate) stem: bool,
    /// Phrases of two or three words, such as "hard drive": auto, those found in the texts count as words; none
    #[arg(long, value_name = "WHICH", default_value = "none", action = clap::ArgAction::Set, value_parser = crate::collection::phrases)]
    pub(crate) phrases: bool,
    /// Texts are sequences of letters, and their words all n-grams of this many letters
    #[arg(long, value_name = "LETTERS", conflicts_with_all = ["stem", "stop_words", "language", "keep_noise", "phrases"], value_parser = at_most(SIZE))]
    pub(crate) ngrams: Option<usize>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Grid")]
pub(crate) struct GridArgs {
    /// Cells along each axis, such as 32x32, 40 or 12x12x12; or `auto`, up to four times fewer or more than by default, whichever makes
    /// documents that are held out most probable, at four to eight times the processor time [default: a square with about half as many cells as
    /// documents, 4x4 to 64x64]
    #[arg(long, value_name = "SIDES")]
    pub(crate) grid: Option<GridSize>,
    /// Cells of a window along each axis [default: a sixth of the grid's, 2 to 8]
    #[arg(long, value_name = "SIDES")]
    pub(crate) window: Option<Sides>,
    /// The most iterations on the full grid, after those of --anneal or --batch; of a map of more than 32,768 documents, without either, a
    /// twelfth of them
    #[arg(long, value_name = "N", default_value_t = GridOptions::default().iterations, value_parser = at_most(COUNT))]
    pub(crate) iterations: usize,
    /// End once two iterations in a row change the objective by no more than this share of it, the second by no more than the
    /// first
    #[arg(long, value_name = "SHARE", default_value_t = GridOptions::default().tolerance)]
    pub(crate) tolerance: f64,
    /// Seed of the random numbers: the same seed gives the same files
    #[arg(long, value_name = "N", default_value_t = GridOptions::default().seed)]
    pub(crate) seed: u64,
    /// Fit from this many random starts and keep the best
    #[arg(long, value_name = "N", default_value_t = GridOptions::default().restarts, value_parser = at_most(SIZE))]
    pub(crate) restarts: usize,
    /// Pseudocount: tokens that every word is given at every cell [default: 0.01, within a fiftieth and
    /// a quarter of tokens / (cells × words)]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) pseudocount: Option<f64>,
    /// Learn the prior over window positions, rather than take it as uniform
    #[arg(long)]
    pub(crate) learn_prior: bool,
    /// Passes of an M-step over the same expected counts
    #[arg(long, value_name = "N", default_value_t = GridOptions::default().inner_passes, value_parser = at_most(SIZE))]
    pub(crate) inner_passes: usize,
    /// Begin on a small grid and refine it, or fit the full grid from the start
    #[arg(long, value_enum, default_value_t = Schedule::CoarseToFine)]
    pub(crate) schedule: Schedule,
    /// Inverse temperature from which the full grid is annealed, from flat posteriors to sharp ones; 1 for no annealing [default:
    /// 4 / the mean length of the documents, within 0.01 and 0.5; 1 with --batch and for windows of one cell]
    #[arg(long, value_name = "BETA")]
    pub(crate) anneal: Option<f64>,
    /// Iterations until the inverse temperature is 1 [default with --anneal: 20, before those of --iterations; without, the first
    /// third of them, at most 20]
    #[arg(long, value_name = "N", value_parser = at_most(SIZE))]
    pub(crate) anneal_iterations: Option<usize>,
    /// Begin on the full grid with updates from mini-batches of this many documents, in a random order, before
    /// its iterations over all of them; coarser grids have updates alone, ten or more [default of a map of more than 32,768 documents,
    /// without --anneal: one in 25 of them, 1,000 to 16,384]
    #[arg(long, value_name = "DOCUMENTS")]
    pub(crate) batch: Option<usize>,
    /// Passes of mini-batches over all documents [default with --batch: 3; where --batch is the default: 8]
    #[arg(long, value_name = "N", value_parser = at_most(SIZE))]
    pub(crate) passes: Option<usize>,
    /// Floating-point type of the fit and of the model
    #[arg(long, value_enum, default_value_t = Precision::F32)]
    pub(crate) precision: Precision,
    /// Threads to compute with; the files are the same with any number [default: one for each core]
    #[arg(long, value_name = "N", value_parser = at_most(THREADS))]
    pub(crate) threads: Option<usize>,
    /// Keep the counts in a temporary file (in TMPDIR) even if there is memory for them; the result is the same
    #[arg(long)]
    pub(crate) stream: bool,
    /// The most entries of a block; for tests, since a small collection fits into one block
    #[arg(long, value_name = "N", hide = true, default_value_t = BlockLimits::in_memory().entries, value_parser = at_most(COUNT))]
    pub(crate) block_entries: usize,
}

impl GridArgs {
    /// Checks the settings, alone and together, before anything is read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let refuse = |problem: &str, remedy: &str| Err(Failure::new(problem, remedy));
        match self {
            Self { anneal: Some(_), batch: Some(_), .. } => refuse(
                "--anneal and --batch are two ways to begin a fit and do not go together",
                "take one of them: --batch where documents are many, --anneal where they are few",
            ),
            Self { anneal: None, anneal_iterations: Some(_), .. } => refuse(
                "--anneal-iterations says how long to anneal, but not from where",
                "add --anneal with a number above 0 and below 1, such as --anneal 0.1",
            ),
            Self { batch: None, passes: Some(_), .. } => refuse(
                "--passes says how often to go over mini-batches, but not how large they are",
                "add --batch with a number of documents, such as --batch 1000",
            ),
            Self { anneal: Some(beta), .. } if !(*beta > 0.0 && *beta <= 1.0) => Err(Failure::new(
                format_args!("--anneal {beta} is no inverse temperature"),
                "take a number above 0 and at most 1, such as --anneal 0.1",
            )),
            Self { batch: Some(0), .. } => refuse(
                "--batch 0 is a mini-batch without documents",
                "take --batch of at least 1, such as 1000",
            ),
            Self { passes: Some(0), .. } => {
                refuse("--passes 0 is no pass", "take --passes of at least 1, or leave --batch out")
            }
            Self { threads: Some(0), .. } => refuse(
                "--threads 0 leaves no thread to compute",
                "take --threads of at least 1, or leave it out",
            ),
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schedule {
    CoarseToFine,
    Single,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    F32,
    F64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableKind {
    F32,
    #[value(name = "16")]
    Bits16,
    #[value(name = "8")]
    Bits8,
}

/// Seconds, of which there may be any number, also `inf`.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 => Ok(seconds),
        _ => Err("it has to be a number of at least 0; with `inf` there are none".to_owned()),
    }
}

/// Checkpoints of a run, in case that it is interrupted.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Checkpoints")]
pub(crate) struct CheckpointArgs {
    /// Seconds between checkpoints: files beside the model from which --resume continues, removed once the model is
    /// written
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) checkpoint: f64,
    /// Continue from the checkpoint of the same command that was interrupted; the files are the same as without
    /// interruption
    #[arg(long)]
    pub(crate) resume: bool,
}

/// A file of options to take.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options from a file")]
pub(crate) struct ConfigArgs {
    /// Take options, and paths, from a file such as the run.toml of an earlier run; those on the command line come before them
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// A file of options to write, of commands that write single files.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options from a file")]
pub(crate) struct SaveConfigArgs {
    /// Write every option of this run with its value, given, by default or worked out, for --config
    #[arg(long, value_name = "FILE")]
    pub(crate) save_config: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct ReportArgs {
    /// Say nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// One JSON object per event and line on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
