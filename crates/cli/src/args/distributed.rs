//! Options of trainings in parts.

use std::path::PathBuf;

use clap::Args;

use super::{
    ComponentialArgs, ConfigArgs, FitModel, GridArgs, KeepArgs, ReadArgs, ReportArgs, ScaleArgs, THREADS,
    WordArgs, at_most,
};

#[derive(Args, Debug)]
pub(crate) struct StartArgs {
    /// The documents, in any form that `fit` reads
    #[arg(required = true, value_name = "PATH", value_parser = super::data_path())]
    pub(crate) paths: Vec<PathBuf>,
    /// Folder for state.safetensors, documents-0001.safetensors, ..., and run.toml with all options
    #[arg(short, long, value_name = "DIR", default_value = "training")]
    pub(crate) output: PathBuf,
    /// Files of documents to write, at most: each has whole leaves of 16,384 documents
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_most(9_999))]
    pub(crate) parts: usize,
    /// The model to fit, a grid or a componential one
    #[arg(long, value_enum, default_value_t = FitModel::Grid)]
    pub(crate) model: FitModel,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) componential: ComponentialArgs,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) numbers: ScaleArgs,
    #[command(flatten)]
    pub(crate) words: WordArgs,
    #[command(flatten)]
    pub(crate) fit: GridArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

#[derive(Args, Debug)]
pub(crate) struct PartialArgs {
    /// The state of the training
    pub(crate) state: PathBuf,
    /// Documents, as `start` has written them
    pub(crate) documents: PathBuf,
    /// Where to write the sums
    #[arg(short, long, value_name = "SUMS")]
    pub(crate) output: PathBuf,
    /// Threads to compute with; the sums are the same with any number [default: one for each core]
    #[arg(long, value_name = "N", value_parser = at_most(THREADS))]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    /// Sums under one state, as `partial` and `merge` write them
    #[arg(required = true)]
    pub(crate) sums: Vec<PathBuf>,
    /// Where to write all of them
    #[arg(short, long, value_name = "SUMS")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

#[derive(Args, Debug)]
pub(crate) struct StepArgs {
    /// The state of the training
    pub(crate) state: PathBuf,
    /// The sums of all documents under it
    pub(crate) sums: PathBuf,
    /// Where to write the next state
    #[arg(short, long, value_name = "STATE")]
    pub(crate) output: PathBuf,
    /// Threads to compute with; the state is the same with any number [default: one for each core]
    #[arg(long, value_name = "N", value_parser = at_most(THREADS))]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

#[derive(Args, Debug)]
pub(crate) struct FinishArgs {
    /// The state of a training that has ended
    pub(crate) state: PathBuf,
    /// All documents in their order, which are needed if they have labels
    pub(crate) documents: Vec<PathBuf>,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL", default_value = "model.safetensors")]
    pub(crate) output: PathBuf,
    /// Threads to compute with; the model is the same with any number [default: one for each core]
    #[arg(long, value_name = "N", value_parser = at_most(THREADS))]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}
