//! Options of harmoniums.

use std::{path::PathBuf, str::FromStr};

use clap::{Args, ValueEnum};

use crate::{failure::Failure, harmonium::HarmoniumFamily};

/// What `fit` fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FitModel {
    /// A counting grid
    Grid,
    /// A harmonium of words, present or not, under normal topics
    Harmonium,
    /// The rate adapting Poisson model: counts of words under binomial topics
    Rap,
    /// A harmonium of words and numeric features under the same normal topics
    DualWing,
}

impl FitModel {
    /// The family of a harmonium; none of a grid.
    pub(crate) fn family(self) -> Option<HarmoniumFamily> {
        match self {
            Self::Grid => None,
            Self::Harmonium => Some(HarmoniumFamily::Words),
            Self::Rap => Some(HarmoniumFamily::RateAdapting),
            Self::DualWing => Some(HarmoniumFamily::DualWing),
        }
    }
}

/// How a harmonium is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// Maximum likelihood by contrastive divergence
    Cd,
    /// Maximum likelihood with Gibbs chains that live on
    Persistent,
    /// Posterior sampling of the couplings, begun where contrastive divergence ends
    Langevin,
}

impl Method {
    /// As it is written on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Where the prior of the couplings comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PriorKind {
    /// Mean 0 and this standard deviation.
    Fixed(f64),
    /// A mean and a variance for each word, learned from samples.
    Empirical,
    /// One of each for all words.
    Pooled,
}

impl FromStr for PriorKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "empirical" => Ok(Self::Empirical),
            "empirical-pooled" => Ok(Self::Pooled),
            number => match number.parse::<f64>() {
                // The variance must not underflow.
                Ok(deviation) if (1e-6..=1e6).contains(&deviation) => Ok(Self::Fixed(deviation)),
                _ => {
                    Err("take a standard deviation such as 0.1, `empirical` or `empirical-pooled`".to_owned())
                }
            },
        }
    }
}

impl std::fmt::Display for PriorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(deviation) => write!(f, "{deviation}"),
            Self::Empirical => f.write_str("empirical"),
            Self::Pooled => f.write_str("empirical-pooled"),
        }
    }
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Harmonium")]
pub(crate) struct HarmoniumArgs {
    /// How a harmonium is learned
    #[arg(long, value_enum, default_value_t = Method::Cd)]
    pub(crate) method: Method,
    /// Steps of a Gibbs chain before each gradient: the l of CD-l
    #[arg(long, value_name = "L", default_value_t = 1)]
    pub(crate) steps: usize,
    /// How often contrastive divergence goes over all documents, in mini-batches of --batch [default: 100]
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) epochs: usize,
    /// Langevin steps of a chain; the second half are posterior samples
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) draws: usize,
    /// Langevin chains, each from a start of its own
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) chains: usize,
    /// Prior of the couplings for langevin: the standard deviation of a normal one around 0; or `empirical`, a mean and a
    /// variance for each word learned from samples; or `empirical-pooled`, one of each for all words [default: 0.1]
    #[arg(long, value_name = "PRIOR")]
    pub(crate) prior: Option<PriorKind>,
    /// Step ε of the couplings: noise of ε, and ε²/2 times the gradient of all documents (of a mini-batch, as much more as
    /// there are more documents) [default: a bound within which no direction is unstable]
    #[arg(long, value_name = "EPSILON")]
    pub(crate) step_size: Option<f64>,
    /// Trials of the binomial units, words or for rap topics; a word in more places than it has trials is in as many
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) trials: u32,
}

impl HarmoniumArgs {
    /// Refuses settings that make no sense, before anything is read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let refuse = |problem: String, remedy: &str| Err(Failure::new(problem, remedy));
        match self {
            Self { steps: 0, .. } => {
                refuse("--steps 0 moves no Gibbs chain".into(), "take --steps of at least 1")
            }
            Self { trials: 0, .. } => {
                refuse("--trials 0 leaves no unit to be on".into(), "take --trials of at least 1")
            }
            Self { chains: 0, .. } => {
                refuse("--chains 0 samples nothing".into(), "take --chains of at least 1")
            }
            Self { draws: 0..8, method: Method::Langevin, .. } => refuse(
                format!("--draws {} leaves no sample to speak of", self.draws),
                "take --draws of at least 8, better of 1000",
            ),
            Self { prior: Some(_), method: Method::Cd | Method::Persistent, .. } => refuse(
                format!("--prior is for posterior sampling, and --method {} knows none", self.method.name()),
                "add --method langevin, or leave --prior out",
            ),
            Self { chains: 2.., method: Method::Cd | Method::Persistent, .. } => refuse(
                format!(
                    "--chains is for posterior sampling, and --method {} climbs once",
                    self.method.name()
                ),
                "add --method langevin, or leave --chains out",
            ),
            Self { step_size: Some(step), .. } if !(*step > 0.0 && step.is_finite()) => {
                refuse(format!("--step-size {step} is no step"), "take a number above 0, such as 0.001")
            }
            _ => Ok(()),
        }
    }
}

/// What is told of a fit.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Harmonium")]
pub(crate) struct TraceArgs {
    /// Table of what was watched in each epoch and at each Langevin step, to be written
    #[arg(long, value_name = "CSV")]
    pub(crate) trace: Option<PathBuf>,
    /// Variance that topics leave of a feature of a dual wing, which has variance 1 in the data
    #[arg(long, value_name = "S", default_value_t = 0.5)]
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
