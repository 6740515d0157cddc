//! Options of `evaluate` and `compare`.

use std::path::PathBuf;

use clap::Args;
use countgrid_evaluation::{CountMetric, MeasureOptions};

use super::{COUNT, ReadArgs, ReportArgs, SIZE, THREADS, at_most, choice};

#[derive(Args, Debug)]
pub(crate) struct EvaluateArgs {
    /// A model, as `map` and `fit` write it
    pub(crate) model: PathBuf,
    /// The documents, in any form that `fit` reads; for held-out measures others than those that the model was fitted to
    #[arg(required = true, value_name = "PATH", value_parser = super::data_path())]
    pub(crate) paths: Vec<PathBuf>,
    /// File to write, a JSON object
    #[arg(short, long, value_name = "JSON")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) measures: MeasureArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// Two models or more, as `map` and `fit` write them
    #[arg(required = true, num_args = 2.., value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,
    /// The documents, in any form that `fit` reads; for held-out measures others than those that the models were fitted to
    #[arg(value_name = "PATH")]
    #[arg(value_parser = super::data_path())]
    pub(crate) path: PathBuf,
    /// Folder for comparison.json, comparison.csv, comparison.svg and comparison.png
    #[arg(short, long, value_name = "DIR", default_value = "comparison")]
    pub(crate) output: PathBuf,
    /// Write texts into CSV as they are; else one that a spreadsheet would take for a formula has a ' before it
    #[arg(long)]
    pub(crate) raw_csv: bool,
    #[command(flatten)]
    pub(crate) measures: MeasureArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Measures")]
pub(crate) struct MeasureArgs {
    /// Nearest neighbours on maps
    #[arg(long, value_name = "N", default_value_t = MeasureOptions::default().neighbours, value_parser = at_most(COUNT))]
    pub(crate) neighbours: usize,
    /// How far apart the counts of two documents are
    #[arg(long, default_value = "cosine", value_parser = choice(&[
        ("cosine", "One less the cosine of their angle"),
        ("hellinger", "The Hellinger distance of their shares of words"),
        ("euclidean", "Euclidean distance"),
    ], |name| name.parse::<CountMetric>().ok()))]
    pub(crate) metric: CountMetric,
    /// Top words of a topic, for coherence and exclusivity
    #[arg(long, value_name = "N", default_value_t = MeasureOptions::default().top_words, value_parser = at_most(SIZE))]
    pub(crate) top: usize,
    /// Top words of a topic, for diversity
    #[arg(long, value_name = "N", default_value_t = MeasureOptions::default().diversity_words, value_parser = at_most(SIZE))]
    pub(crate) diversity_top: usize,
    /// The most windows of a grid, or cells of a topographic map, that are taken as topics
    #[arg(long, value_name = "N", default_value_t = MeasureOptions::default().topics, value_parser = at_most(SIZE))]
    pub(crate) max_topics: usize,
    /// The most documents whose neighbourhoods on a map are compared, drawn by --seed; time grows with the square of their
    /// number
    #[arg(long, value_name = "N", default_value_t = MeasureOptions::default().documents, value_parser = at_most(COUNT))]
    pub(crate) max_documents: usize,
    /// Seed of the documents that are drawn, and of the tokens that are held out
    #[arg(long, value_name = "N", default_value_t = MeasureOptions::default().seed)]
    pub(crate) seed: u64,
    /// Threads to compute with; no result depends on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = at_most(THREADS))]
    pub(crate) threads: Option<usize>,
}

impl MeasureArgs {
    /// The options of the measures.
    pub(crate) fn options(&self) -> MeasureOptions {
        MeasureOptions {
            neighbours: self.neighbours,
            metric: self.metric,
            top_words: self.top,
            diversity_words: self.diversity_top,
            topics: self.max_topics,
            documents: self.max_documents,
            seed: self.seed,
        }
    }
}
