//! What ends a run early: one message that says what is wrong, where, and what to do about it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use countgrid_corpus::CorpusError;
use countgrid_em::OptionError;
use countgrid_estimators::{
    DistributedError, EstimatorError, FeatureError, HarmoniumOptionError, TopographicOptionError,
};
use countgrid_evaluation::{EvaluationError, OptionError as EvaluationOptionError};
use countgrid_grid::GridError;
use countgrid_gtm::GtmError;
use countgrid_harmonium::HarmoniumError;
use countgrid_io::{Problem, ReadError, truncate_text};
use countgrid_text::TextError;

/// Why a command gave up.
#[derive(Debug)]
pub(crate) enum Failure {
    /// For people to read; the last line is the remedy.
    Message(String),
    /// Standard output was closed by its reader, as `head` does.
    Closed,
    /// The run was ended early by a signal, and what there was is written.
    Interrupted,
}

impl Failure {
    /// What is wrong, and the remedy.
    pub(crate) fn new(problem: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Self::Message(format!("{problem}\nremedy: {remedy}"))
    }

    /// Of what is in this file, which it names if it has not been named yet.
    pub(crate) fn of_file(self, path: &Path) -> Self {
        let name = path.display().to_string();
        match self {
            Self::Message(message) if !names(&message, &name) => Self::Message(format!("{name}: {message}")),
            other => other,
        }
    }

    /// Of what is in these files: as [`Failure::of_file`] of one; of several the message says which, where it can.
    pub(crate) fn of_files(self, paths: &[PathBuf]) -> Self {
        match paths {
            [path] => self.of_file(path),
            _ => self,
        }
    }

    /// Standard output does not take what it is given.
    pub(crate) fn output(error: io::Error) -> Self {
        // The writer of tables wraps what its output says.
        let wrapped = error.get_ref().and_then(|error| error.downcast_ref::<csv::Error>());
        let kind = match wrapped.map(csv::Error::kind) {
            Some(csv::ErrorKind::Io(error)) => error.kind(),
            _ => error.kind(),
        };
        match kind {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => {
                Self::new(format_args!("standard output: {error}"), "make room, or name a file with --output")
            }
        }
    }
}

/// Whether a message names this file as messages do, before a colon or a comma: a short name may be part of any word.
fn names(message: &str, file: &str) -> bool {
    message.match_indices(file).any(|(at, _)| {
        let (before, after) = (&message[..at], &message[at + file.len()..]);
        !before.ends_with(|c: char| !c.is_whitespace()) && after.starts_with([':', ','])
    })
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(message) => f.write_str(message),
            Self::Closed => f.write_str("standard output was closed"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

// These say where and what to do by themselves.
macro_rules! as_it_is {
    ($($error:ty)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Message(error.to_string())
            }
        }
    )*};
}
as_it_is!(countgrid_io::BlockError countgrid_io::ModelError countgrid_io::WriteError);

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::from(&error)
    }
}

impl From<&ReadError> for Failure {
    fn from(error: &ReadError) -> Self {
        // It says what to do; with which option is for the program to say.
        let option = match error.problem() {
            Problem::NoTextColumn { .. } | Problem::NoText { .. } => "--text-column",
            Problem::NoSuchColumn { role, .. } => return Self::Message(format!("{error} (--{role}-column)")),
            Problem::NoVocabulary { .. } | Problem::VocabularyLength { .. } => "--vocabulary",
            _ => return Self::Message(error.to_string()),
        };
        Self::Message(format!("{error} ({option})"))
    }
}

impl From<countgrid_io::OutputError> for Failure {
    fn from(error: countgrid_io::OutputError) -> Self {
        Self::new(error, "name other files: nothing that is read or written may be overwritten")
    }
}

/// What to do about a bug.
pub(crate) const BUG: &str = "this is a bug worth a report";

impl From<CorpusError> for Failure {
    fn from(error: CorpusError) -> Self {
        let remedy = match &error {
            CorpusError::Read(error) => return error.into(),
            CorpusError::Blocks(error) => return Self::Message(error.to_string()),
            CorpusError::Text(TextError::TooMany { .. }) => "split the document",
            CorpusError::Text(TextError::Ngrams) => "--ngrams takes a number of letters, such as 3",
            CorpusError::Text(TextError::Segmenter) => {
                "build countgrid with the feature `segmenter` of countgrid-corpus"
            }
            CorpusError::LabelDepth { .. } => {
                "leave --label-depth out, or name the column of labels (--label-column)"
            }
            CorpusError::Unused { option, .. } => match *option {
                "vocabulary" => {
                    "leave --vocabulary out; the words of texts are counted, those of tables are their columns"
                }
                "scaling.scale" => "leave --scale out, or take --tokens for documents of one length",
                "words.phrases" => "leave --phrases out; counts are of the words that they come with",
                "columns.text" => "leave --text-column out",
                "columns.title" => "leave --title-column out",
                "columns.id" => "leave --id-column out",
                "columns.label" => "leave --label-column out",
                _ => "leave the option out",
            },
            CorpusError::Text(_) => "--max-share takes a share above 0 and at most 1",
            CorpusError::NegativeNumber { .. } => {
                "mend the field, or say what the numbers mean: --scale floor=X, log=X or shift"
            }
            CorpusError::CountTooLarge { .. } => "scale the counts down, or take --precision f64",
            CorpusError::NoWords { .. } => {
                "lower --min-count, raise --max-share (1 keeps words that all documents have) or --max-words, or \
                 take --stop-words none"
            }
            CorpusError::NoDocComments { .. } => "name a folder or a file to read",
            CorpusError::InputIsOutput { .. } => "name another file to write (--output)",
            CorpusError::NoSuchColumn { .. } => {
                "--columns takes `all`, `none` or names with commas between them"
            }
            _ => BUG,
        };
        Self::new(&error, remedy)
    }
}

fn grid_remedy(error: &GridError) -> &'static str {
    match error {
        GridError::TooLarge { .. } => "take a smaller --grid or fewer words (--max-words)",
        GridError::Shape(_) => "take another --grid or --window",
        GridError::Pseudocount => "take a number from 0 to some hundreds, such as --pseudocount 0.001",
        GridError::Alpha { .. } => "take a --concentration above 0, such as 5",
        GridError::NoPasses => "take --inner-passes of at least 1",
        GridError::Overflow { .. } => "scale the counts down, or take --precision f64",
        _ => "fit the model again; if that does not help, this is a bug worth a report",
    }
}

fn map_remedy(error: &GtmError) -> &'static str {
    match error {
        GtmError::TooLarge { .. } => "take fewer --points or fewer words (--max-words)",
        GtmError::Overflow { .. } => "scale the counts down, or take --precision f64",
        GtmError::Setting { name: "width" } => {
            "take a --width above 0, and of at most 1 on a torus, such as 0.5"
        }
        GtmError::NotFinite { table: "basis", .. } => "take fewer --points or another --basis",
        GtmError::EmissionModel { what: "exposure" } => {
            "leave --exposure out, or take --model poisson-gtm, zip-gtm or zip-latent-gtm"
        }
        _ => "fit the model again; if that does not help, this is a bug worth a report",
    }
}

fn harmonium_remedy(error: &HarmoniumError) -> &'static str {
    match error {
        HarmoniumError::Diverged { .. } | HarmoniumError::Rate { .. } => {
            "take a smaller --step-size, or leave it out for one that is stable as a rule"
        }
        HarmoniumError::Empty { .. } => "take --topics of at least 1, and data with words",
        HarmoniumError::TooLarge { .. } => "take fewer --topics or --max-words",
        HarmoniumError::Count { .. } => "take whole counts, without --tokens and --scale",
        HarmoniumError::Variance { .. } => "take a --feature-variance above 0, such as 0.5",
        HarmoniumError::Size { .. } => "take --trials from 1 to 1048576",
        HarmoniumError::NotPositiveDefinite => "take a smaller --feature-variance or --step-size",
        _ => BUG,
    }
}

fn harmonium_option_remedy(error: &HarmoniumOptionError) -> &'static str {
    match error {
        HarmoniumOptionError::NoGibbsSteps => "take --steps of at least 1",
        HarmoniumOptionError::NoTrials => "take --trials of at least 1",
        HarmoniumOptionError::NoChains => "take --chains of at least 1",
        HarmoniumOptionError::TooFewDraws { .. } => "take --draws of at least 8, better of 1000",
        HarmoniumOptionError::PriorWithoutSampling { .. } => "add --method langevin, or leave --prior out",
        HarmoniumOptionError::ChainsWithoutSampling { .. } => "add --method langevin, or leave --chains out",
        HarmoniumOptionError::StepSize { .. } => "take a --step-size above 0, such as 0.001",
        _ => "--prior takes a standard deviation such as 0.1, `empirical` or `empirical-pooled`",
    }
}

fn feature_remedy(error: &FeatureError) -> &'static str {
    match error {
        FeatureError::Table { .. } => "name a CSV or TSV table with a header (--features-from)",
        FeatureError::NoFeatures { .. } => "name them with --feature-columns",
        FeatureError::NotANumber { .. } => "mend it, or name the columns of numbers with --feature-columns",
        FeatureError::DuplicateId { .. } => "give each document one row of features",
        FeatureError::RowsWithoutIds { .. } => {
            "give it the column of the documents' ids, or a row for each document in their order"
        }
        FeatureError::NoRow { .. } => "give each document a row of features",
        FeatureError::Deviation { .. } | FeatureError::Mean { .. } => {
            "leave it out: name the others with --feature-columns"
        }
        FeatureError::NoFeatureWing { .. } => "add --model dual-wing, or leave --features-from out",
        FeatureError::Missing => {
            "add --features-from TABLE, which may be the table with the texts, and --feature-columns NAME,..."
        }
        _ => BUG,
    }
}

fn distributed_remedy(error: &DistributedError) -> &'static str {
    match error {
        DistributedError::Documents { .. } | DistributedError::NoLeaf { .. } => {
            "name documents that the same `countgrid start` has written, in their order"
        }
        DistributedError::State { .. } => {
            "add up sums that `countgrid partial` has computed with the same state; after a step those before are of no use"
        }
        DistributedError::Twice { .. } => "name each sum once, and none that is part of another",
        DistributedError::Missing { .. } => "add the sums, or the documents, that are missing",
        DistributedError::MiniBatches => "leave --batch out",
        DistributedError::Ended => "write the model with `countgrid finish`",
        DistributedError::NotEnded => "go on with `countgrid partial`, `merge` and `step`",
        _ => "name a file that `countgrid start`, `partial`, `merge` or `step` has written",
    }
}

fn option_remedy(error: &OptionError) -> &'static str {
    match error {
        OptionError::Tolerance => "take a --tolerance such as 1e-5",
        OptionError::Temperature => "take a number above 0 and at most 1, such as --anneal 0.1",
        OptionError::Passes => "take --passes of at least 1, or leave --batch out",
        _ => "take --restarts of at least 1",
    }
}

impl From<EstimatorError> for Failure {
    fn from(error: EstimatorError) -> Self {
        let remedy = match &error {
            EstimatorError::Corpus(_) => {
                let EstimatorError::Corpus(error) = error else { return Self::new(error, BUG) };
                return error.into();
            }
            EstimatorError::File(error) => return Self::Message(error.to_string()),
            EstimatorError::ModelBytes(_) => "leave out the titles, or fit fewer documents",
            EstimatorError::Option(error) => option_remedy(error),
            EstimatorError::Grid(error) => grid_remedy(error),
            EstimatorError::Tokens { .. } => "take documents that have words of the vocabulary",
            EstimatorError::TooManyTokens { .. } => "scale the counts down, or take --precision f64",
            EstimatorError::Axes { .. } | EstimatorError::WindowAxes { .. } => {
                "give --grid and --window as many sides, or --window a single one for all axes"
            }
            EstimatorError::WindowTooLarge { .. } => "take a smaller --window or a larger --grid",
            EstimatorError::Coordinates { .. } => "give one coordinate for each axis, joined by commas",
            EstimatorError::GridMemory { .. } => {
                "take a smaller --grid, or fewer words (--max-words), or --precision f32"
            }
            EstimatorError::Memory { .. } => "take fewer documents or labels, or a smaller --grid",
            EstimatorError::Fit(_) => "take --precision f64, or another --pseudocount",
            EstimatorError::Lda(_) => {
                "take another number of --topics, a --pseudocount of at least 0, or smaller counts"
            }
            EstimatorError::Hmm(_) => "take another number of --states, or a --pseudocount of at least 0",
            EstimatorError::Gradient { .. } => "take a --pseudocount above 0",
            EstimatorError::SequenceLength { .. } => "take --features nfess",
            EstimatorError::EmptyMiniBatch => "take --batch of at least 1, such as 1000",
            EstimatorError::Model(_) => "name a file that `countgrid map` or `countgrid fit` has written",
            EstimatorError::Checkpoint(_) => {
                "resume with the same data and options, or leave --resume out to begin anew"
            }
            EstimatorError::TableTooLarge => "fit a smaller grid",
            EstimatorError::Gtm(error) => map_remedy(error),
            EstimatorError::Topographic(error) => match error {
                TopographicOptionError::SinhOnTorus => "take --basis rbf, or --latent grid or random",
                TopographicOptionError::WidthOfSinh => "leave --width out",
                _ => "leave --exposure out, or take --model poisson-gtm, zip-gtm or zip-latent-gtm",
            },
            EstimatorError::Harmonium(error) => harmonium_remedy(error),
            EstimatorError::HarmoniumOption(error) => harmonium_option_remedy(error),
            EstimatorError::Features(FeatureError::NoColumn { header, .. }) => {
                let first: Vec<String> = header.iter().take(12).map(|name| truncate_text(name, 40)).collect();
                let more = if header.len() > 12 { ", ..." } else { "" };
                let remedy = format!("it has the columns {}{more}", first.join(", "));
                return Self::new(&error, remedy);
            }
            EstimatorError::Features(error) => feature_remedy(error),
            EstimatorError::NoDocuments => "take more documents",
            EstimatorError::Distributed(error) => distributed_remedy(error),
            _ => BUG,
        };
        Self::new(&error, remedy)
    }
}

impl From<FeatureError> for Failure {
    fn from(error: FeatureError) -> Self {
        EstimatorError::from(error).into()
    }
}

impl From<EvaluationError> for Failure {
    fn from(error: EvaluationError) -> Self {
        let remedy = match error {
            EvaluationError::Corpus(error) => return error.into(),
            EvaluationError::Estimator(error) => return error.into(),
            EvaluationError::Option(error) => return error.into(),
            EvaluationError::FewLabels { .. } => {
                "name the column with --label-column, or take a folder with a subfolder for each label"
            }
            EvaluationError::FewMembers { .. } => "take fewer --folds, or --leave-one-out",
            EvaluationError::NotANumber { .. } => {
                "mend it, name another column with --label-column, or leave --numeric out"
            }
            EvaluationError::NoWord { .. } => {
                "lower --min-count, raise --max-share or --max-words, or take fewer --folds"
            }
            EvaluationError::Features(_) => "take other --features",
            EvaluationError::Classify(_) => "take --folds of at least 2 and at most the number of documents",
            EvaluationError::Memory { .. } => "take fewer documents or labels, or a smaller --grid",
            EvaluationError::TokenCount { .. } => {
                "leave --grid auto out, which takes halves of tokens, or --tokens and --scale"
            }
            EvaluationError::NoMeasures { .. } => {
                "name a model of a grid, topics, a topographic map or a harmonium"
            }
            _ => BUG,
        };
        Self::new(&error, remedy)
    }
}

impl From<EvaluationOptionError> for Failure {
    fn from(error: EvaluationOptionError) -> Self {
        use EvaluationOptionError as E;
        let remedy = match error {
            E::Folds { .. } => "take --folds of at least 2",
            E::InnerFolds { .. } => "take --inner-folds of at least 2",
            E::NoRepeats => "take --repeats of at least 1",
            E::NoNeighbours => "take --neighbours of at least 1",
            E::NoTopics => "take --topics, or --max-topics, of at least 1",
            E::NoStates => "take --states of at least 1",
            E::NeedsGrid { .. } => "take --model grid, or --features with --classifier nearest",
            E::MetricOfProportions { .. } => "take --metric euclidean or cosine",
            E::MetricUnused { .. } => "add --classifier nearest --features posterior, or leave --metric out",
            E::FeaturesUnknown { .. } => {
                "spread and fess-sources are of grids and mixtures, posterior and fess-words of all but hmm, samples of \
                 harmonium and rap by --method langevin, which with lsi have posterior besides and no others; --classifier \
                 svm takes spread or posterior that are proportions"
            }
            E::TopOfOne => "leave --one-model out, or take --features fisher",
            E::TopOfTwo { .. } => "take --features fisher",
            E::TokensOfSequences => "leave --tokens out",
            E::Gamma { .. } => "take a --gamma above 0, such as 0.5",
            E::PriorUnused { .. } => "leave --class-prior out, or take --classifier generative",
            E::FewTopWords { .. } => "take --top of at least 2, and --diversity-top of at least 1",
            E::Penalty { .. } => "take a --penalty above 0, such as 1",
            _ => BUG,
        };
        Self::new(error, remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_once() {
        let of_file =
            |message: &str, path: &str| match Failure::Message(message.to_owned()).of_file(path.as_ref()) {
                Failure::Message(message) => message,
                _ => String::new(),
            };
        assert_eq!(of_file("a model of a map", "a"), "a: a model of a map");
        assert_eq!(of_file("data.csv, line 3: no text", "data.csv"), "data.csv, line 3: no text");
        assert_eq!(
            of_file("the table: old data.csv: no text", "data.csv"),
            "the table: old data.csv: no text"
        );
        assert_eq!(of_file("my-data.csv: no text", "data.csv"), "data.csv: my-data.csv: no text");
    }
}
