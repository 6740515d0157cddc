//! Options of harmoniums.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use countgrid_estimators::{CouplingPrior, HarmoniumKind, HarmoniumMethod, HarmoniumOptions};

use super::{GridArgs, SIZE, at_most, choice};

/// The models of `fit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FitModel {
    /// A counting grid
    Grid,
    /// A componential counting grid, on which every word of a document has a place of its own
    Componential,
    /// A harmonium of words, present or not, under normal topics
    Harmonium,
    /// The rate adapting Poisson model: counts of words under binomial topics
    Rap,
    /// A harmonium of words and numeric features under the same normal topics
    DualWing,
}

impl FitModel {
    /// The kind of a harmonium; `None` for grids.
    pub(crate) fn kind(self) -> Option<HarmoniumKind> {
        match self {
            Self::Grid | Self::Componential => None,
            Self::Harmonium => Some(HarmoniumKind::Single),
            Self::Rap => Some(HarmoniumKind::RateAdapting),
            Self::DualWing => Some(HarmoniumKind::DualWing),
        }
    }
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Harmonium")]
pub(crate) struct HarmoniumArgs {
    /// How a harmonium is learned
    #[arg(long, default_value = "cd", value_parser = choice(&[
        ("cd", "Maximum likelihood by contrastive divergence"),
        ("persistent", "Maximum likelihood with persistent Gibbs chains"),
        ("langevin", "Langevin sampling of the posterior of the couplings, from the estimate of contrastive divergence"),
    ], HarmoniumMethod::from_name))]
    pub(crate) method: HarmoniumMethod,
    /// Steps of a Gibbs chain before each gradient: the l of CD-l
    #[arg(long, value_name = "L", default_value_t = HarmoniumOptions::default().gibbs_steps, value_parser = at_most(SIZE))]
    pub(crate) steps: usize,
    /// Passes of contrastive divergence over all documents, in mini-batches of --batch [default: 100]
    #[arg(long, value_name = "N", default_value_t = HarmoniumOptions::default().epochs, value_parser = at_most(SIZE))]
    pub(crate) epochs: usize,
    /// Langevin steps of a chain; the second half are posterior samples
    #[arg(long, value_name = "N", default_value_t = HarmoniumOptions::default().draws, value_parser = at_most(SIZE))]
    pub(crate) draws: usize,
    /// Langevin chains, each from a start of its own
    #[arg(long, value_name = "N", default_value_t = HarmoniumOptions::default().chains, value_parser = at_most(SIZE))]
    pub(crate) chains: usize,
    /// Prior of the couplings for langevin: the standard deviation of a normal prior with mean 0; or `empirical`, a mean and
    /// a variance for each word learned from samples; or `empirical-pooled`, one of each for all words [default: 0.1]
    #[arg(long, value_name = "PRIOR")]
    pub(crate) prior: Option<CouplingPrior>,
    /// Step ε of the couplings: noise of standard deviation ε, and ε²/2 times the gradient of all documents (that of a
    /// mini-batch is scaled up to all) [default: a bound within which no direction is unstable]
    #[arg(long, value_name = "EPSILON")]
    pub(crate) step_size: Option<f64>,
    /// Trials of the binomial units, which are words, or topics for rap; larger counts of words are truncated to it
    #[arg(long, value_name = "N", default_value_t = HarmoniumOptions::default().trials)]
    pub(crate) trials: u32,
}

impl HarmoniumArgs {
    /// The options of a harmonium with this many topics.
    pub(crate) fn options(&self, kind: HarmoniumKind, topics: usize, fit: &GridArgs) -> HarmoniumOptions {
        let default = HarmoniumOptions::default();
        HarmoniumOptions {
            kind,
            topics,
            method: self.method,
            gibbs_steps: self.steps,
            epochs: self.epochs,
            batch: fit.batch.unwrap_or(default.batch),
            draws: self.draws,
            chains: self.chains,
            prior: self.prior,
            step_size: self.step_size,
            trials: self.trials,
            seed: fit.seed,
            ..default
        }
    }
}

/// What a fit records.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Harmonium")]
pub(crate) struct TraceArgs {
    /// Write a table of the measures recorded in each epoch and Langevin step
    #[arg(long, value_name = "CSV")]
    pub(crate) trace: Option<PathBuf>,
    /// Variance of a feature of a dual wing given the topics; in the data it has variance 1
    #[arg(long, value_name = "S", default_value_t = HarmoniumOptions::default().feature_variance)]
    pub(crate) feature_variance: f64,
}

/// Where the features of a dual wing are.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Dual wing")]
pub(crate) struct FeatureArgs {
    /// Table with the features of documents, CSV or (.tsv) TSV; may be the one with the texts. Rows are found by the
    /// column of the id, or if it has none, taken in the order of the documents
    #[arg(long, value_name = "TABLE")]
    pub(crate) features_from: Option<PathBuf>,
    /// Columns of that table that are features, of numbers [default: all but that of the id]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) feature_columns: Vec<String>,
}
