//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use countgrid_gtm::{EmissionModel, Inflation};
use countgrid_io::BLOCK_ENTRIES;

use crate::{
    failure::Failure,
    harmonium::{FeatureArgs, FitModel, HarmoniumArgs, Method, TraceArgs},
    layout::Sides,
    scaling::{Scale, Scaling},
};

/// From a pile of documents to a map of what is in it.
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
    /// Reads documents, fits a counting grid and writes map.html and model.safetensors. With --model zip-gtm and its
    /// like it fits a topographic map, on which documents are points, and writes points.csv, map.svg and map.png
    /// too. Ctrl-C ends the fit after the current iteration and writes what there is.
    Map(MapArgs),
    /// Fit a model: a grid with any number of axes up to eight, or a harmonium
    Fit(FitArgs),
    /// Where documents lie on a fitted map or in the topics of a harmonium, as CSV
    ///
    /// Of a harmonium: id, title, label, tokens, known_tokens, and h0, h1, ... the expected topics, given the words and,
    /// with --features-from, the features. Of a map:
    ///
    /// Columns: id, title, label; tokens (stop words left out) and known_tokens (those of the model's
    /// vocabulary); x0, x1, ... the cell where the most probable window starts; mean0, mean1, ... the circular
    /// mean of the posterior over window starts, empty where it has none; probability of the most probable
    /// window; log_evidence_per_token in nats; and where the fitted documents had labels, expected_label and
    /// label_share: what documents around there are labelled, and how large a share of them. A document without a
    /// known word has no position.
    ///
    /// Of a topographic map: mean0, mean1, the mean of the posterior over latent points; mode0, mode1, the most probable
    /// point, and its probability; and log_likelihood in nats.
    Embed(EmbedArgs),
    /// The top words of a place on a fitted grid
    ///
    /// A place is the window that starts at a cell: the cell that `embed` gives in x0, x1, ... Coordinates wrap
    /// around the torus.
    Words(WordsArgs),
    /// A model as constant tables for a microcontroller
    ///
    /// Writes model.rs, a Rust module of shape constants and a static table, to `include!` or to use as a module
    /// without std; and model.bin, the same in one piece, which the crate `countgrid-grid` reads in place (`Blob`).
    Firmware(FirmwareArgs),
    /// What a model is and how it was fitted
    Info(InfoArgs),
    /// How well labels are told of documents that were held out
    ///
    /// Documents are split into folds with the same shares of labels; each fold in turn is held out. Words are selected
    /// and grids fitted on the other folds alone. A document that has no word of theirs gets their most frequent
    /// label. Options given with --try are chosen in each fold among the values given, by folds of its training part.
    #[command(args_override_self = true)]
    Crossval(CrossvalArgs),
    /// How well labels are told with each of several options
    ///
    /// One cross-validation for each combination of the values given with --try. Writes results.csv and results.json,
    /// and accuracy.svg and accuracy.png: accuracy against capacity, the cells of the grid over those of a window, a line
    /// for each number of axes. What is in results.json already is not computed again, so a sweep that was interrupted
    /// goes on where it was.
    #[command(args_override_self = true)]
    Sweep(SweepArgs),
}

#[derive(Args, Debug)]
pub(crate) struct MapArgs {
    /// Folder of text files (recursive), or CSV, TSV, JSONL file with a text column, or UCI docword file; any
    /// of them may be gzipped. Without it: the doc comments of the crates that Cargo has unpacked here
    pub(crate) path: Option<PathBuf>,
    /// Folder for map.html and model.safetensors
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// Heading of the page [default: the name of the file or folder]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// What is fitted
    #[arg(long, value_enum, default_value_t = MapModel::Grid)]
    pub(crate) model: MapModel,
    /// Take only so many documents of each label, drawn by --seed, and of those without a label as many
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<usize>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) numbers: ScaleArgs,
    #[command(flatten)]
    pub(crate) words: WordArgs,
    #[command(flatten)]
    pub(crate) topographic: TopographicArgs,
    #[command(flatten)]
    pub(crate) fit: GridArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

impl MapArgs {
    /// Refuses options of the other kind of map.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let model = self.model.name();
        match self.model.emission_model() {
            None => match self.topographic.given() {
                Some(option) => Err(Failure::new(
                    format_args!("{option} is of topographic maps, and --model grid is none"),
                    format_args!("leave {option} out, or add --model zip-gtm or another"),
                )),
                None => Ok(()),
            },
            Some(emission_model) => {
                if let Some(option) = self.fit.only_of_grids() {
                    return Err(Failure::new(
                        format_args!("{option} is of counting grids, and --model {model} is none"),
                        format_args!("leave {option} out, or take --model grid"),
                    ));
                }
                self.topographic.check(emission_model)
            }
        }?;
        match self.sample {
            Some(0) => Err(Failure::new("--sample 0 leaves no document", "take --sample of at least 1")),
            _ => Ok(()),
        }
    }
}

/// What `map` fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapModel {
    /// A counting grid
    Grid,
    /// A topographic map of zero-inflated Poisson counts, inflation by word
    ZipGtm,
    /// The same, inflation by word and place
    ZipLatentGtm,
    /// A topographic map of Poisson counts
    PoissonGtm,
    /// A topographic map of which words occur
    BernoulliGtm,
    /// A topographic map of which words tokens are
    MultinomialGtm,
    /// A topographic map of normal counts
    GaussianGtm,
}

impl MapModel {
    /// The emission model of a topographic map.
    pub(crate) fn emission_model(self) -> Option<EmissionModel> {
        match self {
            Self::Grid => None,
            Self::ZipGtm => Some(EmissionModel::Zip(Inflation::Document)),
            Self::ZipLatentGtm => Some(EmissionModel::Zip(Inflation::Latent)),
            Self::PoissonGtm => Some(EmissionModel::Poisson),
            Self::BernoulliGtm => Some(EmissionModel::Bernoulli),
            Self::MultinomialGtm => Some(EmissionModel::Multinomial),
            Self::GaussianGtm => Some(EmissionModel::Gaussian),
        }
    }
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Topographic maps")]
pub(crate) struct TopographicArgs {
    /// Latent points along each axis [default: 18x15]
    #[arg(long, value_name = "SIDES")]
    pub(crate) points: Option<Sides>,
    /// Where latent points are [default: grid]
    #[arg(long, value_enum)]
    pub(crate) latent: Option<LatentKind>,
    /// What is smooth over the plane [default: rbf]
    #[arg(long, value_enum)]
    pub(crate) basis: Option<BasisKind>,
    /// Basis functions besides the constant: RBFs along each axis, or directions and radii of sinh functions [default:
    /// 5x5]
    #[arg(long, value_name = "SIDES")]
    pub(crate) basis_functions: Option<Sides>,
    /// Width of RBFs, where the plane reaches from -1 to 1 [default: two spacings of their centres]
    #[arg(long, value_name = "WIDTH")]
    pub(crate) width: Option<f64>,
    /// What rates are proportional to, of Poisson and zero-inflated counts; zero-inflated ones take several times as
    /// long with it [default: none]
    #[arg(long, value_enum)]
    pub(crate) exposure: Option<Exposure>,
    /// Neighbours that tell a label when it is said how well labels lie apart [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) neighbours: Option<usize>,
    /// Where points are in map.svg and map.png; the page has both [default: mean]
    #[arg(long, value_enum)]
    pub(crate) place: Option<Place>,
    /// Shade map.svg and map.png by magnification factors; the page can do so by itself
    #[arg(long)]
    pub(crate) magnification: bool,
}

impl TopographicArgs {
    /// The first option that was given.
    fn given(&self) -> Option<&'static str> {
        let given = [
            ("--points", self.points.is_some()),
            ("--latent", self.latent.is_some()),
            ("--basis", self.basis.is_some()),
            ("--basis-functions", self.basis_functions.is_some()),
            ("--width", self.width.is_some()),
            ("--exposure", self.exposure.is_some()),
            ("--neighbours", self.neighbours.is_some()),
            ("--place", self.place.is_some()),
            ("--magnification", self.magnification),
        ];
        given.into_iter().find(|&(_, given)| given).map(|(name, _)| name)
    }

    /// Refuses what makes no sense before anything is read.
    fn check(&self, emission_model: EmissionModel) -> Result<(), Failure> {
        if self.neighbours == Some(0) {
            return Err(Failure::new(
                "--neighbours 0 leaves nobody to vote",
                "take --neighbours of at least 1",
            ));
        }
        let rates = matches!(emission_model, EmissionModel::Poisson | EmissionModel::Zip(_));
        if self.exposure == Some(Exposure::Length) && !rates {
            return Err(Failure::new(
                format_args!("--exposure length scales rates, and a {} law has none", emission_model.name()),
                "leave --exposure out, or take --model poisson-gtm, zip-gtm or zip-latent-gtm",
            ));
        }
        Ok(())
    }
}

/// Where latent points are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LatentKind {
    /// On a regular grid
    #[default]
    Grid,
    /// Drawn from a Gaussian by --seed
    Random,
    /// On a regular grid whose edges are glued together
    Torus,
}

/// What is smooth over the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BasisKind {
    /// Gaussian radial basis functions
    #[default]
    Rbf,
    /// Hyperbolic sines
    Sinh,
}

/// What rates are proportional to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Exposure {
    /// Nothing: longer documents have other rates
    #[default]
    None,
    /// The length of the document
    Length,
}

/// What of a posterior is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    #[default]
    Mean,
    Mode,
}

#[derive(Args, Debug)]
pub(crate) struct FitArgs {
    /// Folder of text files (recursive), or CSV, TSV, JSONL file with a text column, or UCI docword file; any
    /// of them may be gzipped
    pub(crate) path: PathBuf,
    /// Where to write the model
    #[arg(short, long, value_name = "MODEL", default_value = "model.safetensors")]
    pub(crate) output: PathBuf,
    /// What is fitted to documents. Harmoniums take --seed, --batch, --precision and --threads of the options of grids
    #[arg(long, value_enum, default_value_t = FitModel::Grid)]
    pub(crate) model: FitModel,
    /// Topics of a harmonium
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) topics: usize,
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
    pub(crate) reporting: ReportArgs,
}

#[derive(Args, Debug)]
pub(crate) struct EmbedArgs {
    /// A model, as `map` and `fit` write it
    pub(crate) model: PathBuf,
    /// The documents, in any form that `fit` reads
    pub(crate) path: PathBuf,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "CSV")]
    pub(crate) output: Option<PathBuf>,
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
    #[arg(long, value_name = "N", default_value_t = 20)]
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
}

#[derive(Args, Clone, Debug)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) evaluation: EvaluationArgs,
    /// Folder for results.csv, results.json, accuracy.svg and accuracy.png
    #[arg(short, long, value_name = "DIR", default_value = "sweep")]
    pub(crate) output: PathBuf,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct EvaluationArgs {
    /// Labelled documents: a folder with a subfolder for each label, or a CSV, TSV or JSONL file with a column of text
    /// (or columns of numbers) and one of labels
    pub(crate) path: PathBuf,
    /// How a label is told
    #[arg(long, value_enum, default_value_t = Classifier::Generative)]
    pub(crate) classifier: Classifier,
    /// What is fitted to documents
    #[arg(long, value_enum, default_value_t = ModelKind::Grid)]
    pub(crate) model: ModelKind,
    /// Topics of --model lda, harmonium and rap, components of --model mixture, dimensions of --model lsi
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) topics: usize,
    /// States of --model hmm
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) states: usize,
    /// What the support vector machine and the nearest neighbours see of a document [default: spread for svm, fess for
    /// svm-rbf and svm-linear, the place on the torus for nearest]
    #[arg(long, value_enum)]
    pub(crate) features: Option<Features>,
    /// Take terms and gradients of one model, fitted without labels, rather than of one for each label
    #[arg(long)]
    pub(crate) one_model: bool,
    /// Parts that are held out in turn
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) folds: usize,
    /// Hold out one document at a time instead
    #[arg(long)]
    pub(crate) leave_one_out: bool,
    /// How far apart the features of two documents are, for --classifier nearest [default: divergence for proportions,
    /// euclidean for topics of harmoniums and lsi]
    #[arg(long, value_enum)]
    pub(crate) metric: Option<Metric>,
    #[command(flatten)]
    pub(crate) harmonium: HarmoniumArgs,
    /// How often to split anew
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeats: usize,
    /// Neighbours that vote, for --classifier nearest
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) neighbours: usize,
    /// What a training document on the wrong side costs, for support vector machines
    #[arg(long, value_name = "C", default_value_t = 1.0)]
    pub(crate) penalty: f64,
    /// Of the Gaussian kernel exp(-G d² / columns) of svm-rbf, with d the distance of standardised features
    #[arg(long, value_name = "G", default_value_t = 0.5)]
    pub(crate) gamma: f64,
    /// Which words stay where there are more than --max-words, by the training part alone
    #[arg(long, value_enum, default_value_t = Select::Pairs)]
    pub(crate) select: Select,
    /// Labels are numbers, told by the mean of those around on one grid; how they correlate with the true ones is reported
    #[arg(long)]
    pub(crate) numeric: bool,
    /// Values of an option to choose among, such as --try grid=8x8,16x16, or each with a window of its own, --try
    /// grid=64/4,16x16/4x4; with several all combinations
    #[arg(long = "try", value_name = "OPTION=VALUE,...")]
    pub(crate) tries: Vec<String>,
    /// Folds of a training part by which crossval chooses
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) inner_folds: usize,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) numbers: ScaleArgs,
    #[command(flatten)]
    pub(crate) words: WordArgs,
    #[command(flatten)]
    pub(crate) fit: GridArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportArgs,
}

impl EvaluationArgs {
    /// Whether the model has the features that the classifier takes.
    fn known_features(&self) -> bool {
        let default_kind = match self.classifier {
            Classifier::Generative | Classifier::Labels => return !self.model.is_linear(),
            Classifier::Nearest => self.features,
            Classifier::Svm => Some(self.features.unwrap_or(Features::Spread)),
            Classifier::SvmRbf | Classifier::SvmLinear => Some(self.features.unwrap_or(Features::Fess)),
        };
        let Some(kind) = default_kind else { return true };
        let positive = matches!(kind, Features::Spread | Features::Posterior);
        if self.model.is_linear() {
            let samples = self.model != ModelKind::Lsi && self.harmonium.method == Method::Langevin;
            let known = kind == Features::Posterior || kind == Features::Samples && samples;
            return known && self.classifier != Classifier::Svm;
        }
        let of_model = match kind {
            Features::Spread | Features::FessSources => {
                matches!(self.model, ModelKind::Grid | ModelKind::Mixture)
            }
            Features::Posterior | Features::FessWords => self.model != ModelKind::Hmm,
            Features::Fess | Features::Nfess | Features::Fisher | Features::Top => true,
            Features::Samples => false,
        };
        of_model && (positive || self.classifier != Classifier::Svm)
    }

    /// Refuses settings that make no sense, before anything is read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let refuse = |problem: String, remedy: &str| Err(Failure::new(problem, remedy));
        match self {
            Self { folds: 0 | 1, .. } => refuse(
                format!("--folds {} leaves nothing to learn from", self.folds),
                "take --folds of at least 2",
            ),
            Self { repeats: 0, .. } => {
                refuse("--repeats 0 does nothing".into(), "take --repeats of at least 1")
            }
            Self { neighbours: 0, .. } => {
                refuse("--neighbours 0 leaves nobody to vote".into(), "take --neighbours of at least 1")
            }
            Self { topics: 0, model, .. } if !matches!(model, ModelKind::Grid | ModelKind::Hmm) => {
                refuse("--topics 0 leaves nothing to fit".into(), "take --topics of at least 1")
            }
            Self { states: 0, model: ModelKind::Hmm, .. } => {
                refuse("--states 0 leaves nothing to fit".into(), "take --states of at least 1")
            }
            Self { model, classifier, features, .. }
                if !matches!(model, ModelKind::Grid | ModelKind::Mixture)
                    && (*classifier == Classifier::Labels
                        || (*classifier == Classifier::Nearest && features.is_none())) =>
            {
                refuse(
                    format!("--classifier {} takes places on a grid", self.classifier.name()),
                    "take --model grid, or --features with --classifier nearest",
                )
            }
            Self { model, metric: Some(Metric::Divergence), .. } if model.is_linear() => refuse(
                format!("--metric divergence is of proportions, which --model {} has none of", model.name()),
                "take --metric euclidean or cosine",
            ),
            Self { metric: Some(_), classifier, features, .. }
                if *classifier != Classifier::Nearest || features.is_none_or(Features::of_each_class) =>
            {
                refuse(
                    "--metric is for nearest neighbours by posteriors".into(),
                    "add --classifier nearest --features posterior, or leave --metric out",
                )
            }
            Self { numeric: true, .. } if self.classifier != Classifier::Labels || !self.tries.is_empty() => {
                refuse(
                    "--numeric labels are told by --classifier labels alone, and without --try".into(),
                    "add --classifier labels",
                )
            }
            _ if !self.known_features() => refuse(
                format!(
                    "--model {} has no features for --classifier {}{}",
                    self.model.name(),
                    self.classifier.name(),
                    self.features.map_or_else(String::new, |kind| format!(" --features {}", kind.name()))
                ),
                "spread and fess-sources are of grids and mixtures, posterior and fess-words of all but hmm, samples of harmonium and rap by --method langevin, which with lsi have posterior besides and no others; --classifier svm takes spread or posterior that are proportions",
            ),
            Self { one_model: true, features: Some(Features::Top), .. } => refuse(
                "--features top are of two models, and --one-model asks for one".into(),
                "leave --one-model out, or take --features fisher",
            ),
            Self { model: ModelKind::Hmm, numbers: ScaleArgs { tokens: Some(_), .. }, .. } => {
                refuse("--tokens scales counts, and --model hmm takes sequences".into(), "leave it out")
            }
            Self { inner_folds: 0 | 1, .. } => refuse(
                format!("--inner-folds {} leaves nothing to choose by", self.inner_folds),
                "take --inner-folds of at least 2",
            ),
            Self { gamma, .. } if !(*gamma > 0.0 && gamma.is_finite()) => {
                refuse(format!("--gamma {gamma} is no width"), "take a number above 0, such as 0.5")
            }
            Self { penalty, .. } if !(*penalty > 0.0 && penalty.is_finite()) => {
                refuse(format!("--penalty {penalty} is no cost"), "take a number above 0, such as 1")
            }
            _ => self.numbers.scaling().map(drop),
        }
    }
}

/// How a label is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Classifier {
    /// A grid for each label; the one under which the document is most probable
    Generative,
    /// One grid, fitted without labels; the label that most of the documents around have
    Labels,
    /// The nearest documents: on the torus, or by --features
    Nearest,
    /// A support vector machine on how much features overlap (histogram intersection)
    Svm,
    /// A support vector machine with a Gaussian kernel on standardised features
    SvmRbf,
    /// A linear support vector machine on standardised features
    SvmLinear,
}

/// What is fitted to documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelKind {
    /// A counting grid
    Grid,
    /// A mixture of distributions over words
    Mixture,
    /// Latent Dirichlet allocation
    Lda,
    /// A hidden Markov model of the letters of each text, in their order
    Hmm,
    /// A harmonium of words, present or not, under normal topics
    Harmonium,
    /// The rate adapting Poisson model: counts of words under binomial topics
    Rap,
    /// Latent semantic indexing: the truncated singular value decomposition of tf-idf
    Lsi,
}

impl ModelKind {
    /// Whether documents have coordinates that may be negative, rather than proportions.
    pub(crate) fn is_linear(self) -> bool {
        matches!(self, Self::Harmonium | Self::Rap | Self::Lsi)
    }
}

/// How far apart features are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Metric {
    /// Kullback-Leibler divergence of proportions
    Divergence,
    /// Euclidean distance
    Euclidean,
    /// One less the cosine of their angle
    Cosine,
}

/// What of a fitted model describes a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Features {
    /// The posterior over places, spread over the cells of their windows; of one grid, fitted without labels
    Spread,
    /// The posterior over places, components or topics, its mean for topics of harmoniums; of one model, fitted without
    /// labels
    Posterior,
    /// Topics under each posterior sample of a harmonium, side by side: distances are those of the mean of V
    Samples,
    /// The terms of the free energy (by place, component, topic, or position and state); of a model for each label,
    /// side by side
    Fess,
    /// The same per token
    Nfess,
    /// The terms of the free energy by word (in lda those of words by topic and word); of a model for each label, side by
    /// side
    FessWords,
    /// The terms of the free energy of a grid or mixture by the cell that each word comes from; of a model for each label,
    /// side by side
    FessSources,
    /// The gradient of the log-likelihood in the logarithms of the parameters; of a model for each label
    Fisher,
    /// The log-odds of two labels and their gradient in the same, of a model for each of the two
    Top,
}

impl Features {
    /// Whether there is a model for each class.
    pub(crate) fn of_each_class(self) -> bool {
        matches!(
            self,
            Self::Fess | Self::Nfess | Self::FessWords | Self::FessSources | Self::Fisher | Self::Top
        )
    }
}

/// Which words stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Select {
    /// Those that tell most pairs of documents apart (resolving power)
    Pairs,
    /// Those whose counts vary most
    Variance,
    /// Those that say most about labels (mutual information)
    Information,
    /// Those that say most about labels and least about one another (mRMR)
    Mrmr,
}

/// As values are written on the command line.
macro_rules! named {
    ($($kind:ty),*) => {$(
        impl $kind {
            /// As it is written on the command line.
            pub(crate) fn name(self) -> String {
                self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
            }
        }
    )*};
}
named!(BasisKind, Classifier, Exposure, Features, LatentKind, MapModel, Metric, ModelKind, Select);

/// As values are written in files.
macro_rules! from_name {
    ($($kind:ty),*) => {$(
        impl $kind {
            /// The value of that name.
            pub(crate) fn from_name(name: &str) -> Option<Self> {
                Self::from_str(name, false).ok()
            }
        }
    )*};
}
from_name!(BasisKind, LatentKind);

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
    /// Column of the id [default: found by its name, such as id, key, url]
    #[arg(long, value_name = "NAME")]
    pub(crate) id_column: Option<String>,
    /// Vocabulary of a docword file, one word per line [default: vocab.NAME.txt beside docword.NAME.txt]
    #[arg(long, value_name = "FILE")]
    pub(crate) vocabulary: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Numbers")]
pub(crate) struct ScaleArgs {
    /// What becomes of the numbers of a table without a column of text: `none`, they are counts; `floor=X`, those below
    /// X are X; `log=X`, ln(max(x, X) / X); `shift`, less the lowest of their row
    #[arg(long, value_name = "SCALE", default_value_t = Scale::None)]
    pub(crate) scale: Scale,
    /// Scale the counts of each document, those of the words that are kept, so that they sum to this: long documents then
    /// weigh as much as short ones, and with few tokens words that come together are not taken for independent evidence
    #[arg(long, value_name = "SUM")]
    pub(crate) tokens: Option<f64>,
}

impl ScaleArgs {
    /// Refuses a sum that is none.
    pub(crate) fn scaling(&self) -> Result<Scaling, Failure> {
        match self.tokens {
            // More than any collection has, and far below what overflows a float.
            Some(tokens) if !(tokens > 0.0 && tokens <= 1e30) => Err(Failure::new(
                format_args!("--tokens {tokens} is no sum of counts"),
                "take a number above 0 and up to 1e30, such as 1000",
            )),
            tokens => Ok(Scaling { scale: self.scale, tokens }),
        }
    }
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Words")]
pub(crate) struct WordArgs {
    /// In how many documents a word must be [default: 1, 2, 3 or 5 for fewer than 20, 200, 2000 or more
    /// documents; 1 for counts and n-grams]
    #[arg(long, value_name = "N")]
    pub(crate) min_count: Option<usize>,
    /// In which share of the documents it may be [default: 0.5; 1 for counts and n-grams]
    #[arg(long, value_name = "SHARE")]
    pub(crate) max_share: Option<f64>,
    /// The largest vocabulary: of more words those stay that tell most pairs of documents apart
    #[arg(long, value_name = "N", default_value_t = 3_000)]
    pub(crate) max_words: usize,
    /// Words to leave out: english, none, or a file with one word per line
    #[arg(long, value_name = "WHICH", default_value = "english")]
    pub(crate) stop_words: String,
    /// Count words of one English stem as one
    #[arg(long)]
    pub(crate) stem: bool,
    /// Texts are sequences of letters, and their words all runs of so many
    #[arg(long, value_name = "LETTERS", conflicts_with_all = ["stem", "stop_words"])]
    pub(crate) ngrams: Option<usize>,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Grid")]
pub(crate) struct GridArgs {
    /// Cells along each axis, such as 32x32, 40 or 12x12x12 [default: a square with about half as many cells
    /// as documents, 8x8 to 64x64]
    #[arg(long, value_name = "SIDES")]
    pub(crate) grid: Option<Sides>,
    /// Cells of a window along each axis [default: a sixth of the grid's, 2 to 8]
    #[arg(long, value_name = "SIDES")]
    pub(crate) window: Option<Sides>,
    /// At most so many iterations on the full grid
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) iterations: usize,
    /// End once two iterations in a row change the objective by no more than this share of it, the second by no more than the first
    #[arg(long, value_name = "SHARE", default_value_t = 1e-5)]
    pub(crate) tolerance: f64,
    /// Start of the random numbers: the same seed gives the same files
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Fit so many times from different random starts and keep the best
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) restarts: usize,
    /// Tokens that every word is given at every cell beforehand [default: 0.02 × tokens / (cells × words)]
    #[arg(long, value_name = "TOKENS")]
    pub(crate) pseudocount: Option<f64>,
    /// Learn how likely each place is, rather than take all as equally likely
    #[arg(long)]
    pub(crate) learn_prior: bool,
    /// Passes of an M-step over the same expected counts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) inner_passes: usize,
    /// Begin on a small grid and refine it, or fit the full grid from the start
    #[arg(long, value_enum, default_value_t = Schedule::CoarseToFine)]
    pub(crate) schedule: Schedule,
    /// Begin on the full grid with flat posteriors that sharpen: inverse temperature of the first iteration, such
    /// as 0.1
    #[arg(long, value_name = "BETA")]
    pub(crate) anneal: Option<f64>,
    /// Iterations until posteriors are as sharp as they should be [default with --anneal: 15]
    #[arg(long, value_name = "N")]
    pub(crate) anneal_iterations: Option<usize>,
    /// Begin on the full grid with updates from so many documents at a time, in a random order, before its
    /// iterations over all of them
    #[arg(long, value_name = "DOCUMENTS")]
    pub(crate) batch: Option<usize>,
    /// How often that goes over all documents [default with --batch: 3]
    #[arg(long, value_name = "N")]
    pub(crate) passes: Option<usize>,
    /// Floating-point type of the fit and of the model
    #[arg(long, value_enum, default_value_t = Precision::F32)]
    pub(crate) precision: Precision,
    /// Threads to compute with; the files are the same with any number [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Keep the counts in a temporary file (in TMPDIR) even if there is memory for them; the result is the same
    #[arg(long)]
    pub(crate) stream: bool,
    /// Entries of a block at most; for tests, since everything fits into one block of a small collection
    #[arg(long, value_name = "N", hide = true, default_value_t = BLOCK_ENTRIES)]
    pub(crate) block_entries: usize,
}

impl GridArgs {
    /// Refuses settings that make no sense, or none together, before anything is read.
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
                "--threads 0 leaves nobody to compute",
                "take --threads of at least 1, or leave it out",
            ),
            _ => Ok(()),
        }
    }

    /// The first option, set to anything but what it is by itself, that only a counting grid has.
    pub(crate) fn only_of_grids(&self) -> Option<&'static str> {
        let set = [
            ("--grid", self.grid.is_some()),
            ("--window", self.window.is_some()),
            ("--restarts", self.restarts != 1),
            ("--pseudocount", self.pseudocount.is_some()),
            ("--learn-prior", self.learn_prior),
            ("--inner-passes", self.inner_passes != 1),
            ("--schedule", self.schedule != Schedule::CoarseToFine),
            ("--anneal", self.anneal.is_some()),
            ("--anneal-iterations", self.anneal_iterations.is_some()),
            ("--batch", self.batch.is_some()),
            ("--passes", self.passes.is_some()),
            ("--stream", self.stream),
        ];
        set.into_iter().find(|&(_, set)| set).map(|(name, _)| name)
    }

    /// Iterations while annealing.
    pub(crate) fn annealing(&self) -> usize {
        self.anneal_iterations.unwrap_or(15)
    }

    /// Passes in mini-batches.
    pub(crate) fn mini_passes(&self) -> usize {
        self.passes.unwrap_or(3)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schedule {
    CoarseToFine,
    Single,
}

impl Schedule {
    /// As it is written on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CoarseToFine => "coarse-to-fine",
            Self::Single => "single",
        }
    }
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
