use std::{error::Error, fmt};

use countgrid_classify::ClassifyError;
use countgrid_corpus::CorpusError;
use countgrid_counts::{BagsError, SequencesError};
use countgrid_estimators::EstimatorError;
use countgrid_grid::GridError;
use countgrid_scores::ScoreError;

use crate::{Classifier, Features, Metric, ModelKind};

/// Why options were refused before anything was computed.
///
/// Example: [`EvaluationOptions`](crate::EvaluationOptions).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum OptionError {
    /// A name that no value of an option has.
    Name { option: &'static str, known: &'static [&'static str] },
    /// Fewer than two parts: nothing is left to learn from.
    Folds { folds: usize },
    /// The same of inner folds: nothing is left to choose by.
    InnerFolds { folds: usize },
    /// No repetition.
    NoRepeats,
    /// No neighbour that votes.
    NoNeighbours,
    /// No topic, component or dimension.
    NoTopics,
    /// No state.
    NoStates,
    /// A classifier that takes positions on a grid, of a model that has none.
    NeedsGrid { classifier: Classifier, model: ModelKind },
    /// Kullback-Leibler divergence, with features that are not proportions.
    MetricOfProportions { model: ModelKind },
    /// A metric with a classifier that takes no distance of posteriors.
    MetricUnused { metric: Metric },
    /// A prior of labels, with a classifier that is not generative.
    PriorUnused { classifier: Classifier },
    /// Features that the model does not have, or that the classifier does not take.
    FeaturesUnknown { model: ModelKind, classifier: Classifier, features: Option<Features> },
    /// Tangent vectors of log-odds, which need two models, with the option for one.
    TopOfOne,
    /// Tangent vectors of log-odds, which are for two labels, with another number of them.
    TopOfTwo { labels: usize },
    /// Scaling of counts, with a model of sequences.
    TokensOfSequences,
    /// The width of a kernel that is not a finite number above 0.
    Gamma { gamma: f64 },
    /// The penalty of a support vector machine that is not a finite number above 0.
    Penalty { penalty: f64 },
    /// No candidate to evaluate.
    NoCandidate,
    /// Top words without a pair among them, or none at all.
    FewTopWords { words: usize },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Name { option, known } => write!(f, "no {option} of this name: take {}", known.join(", ")),
            Self::Folds { folds } => write!(f, "{folds} folds leave nothing to learn from"),
            Self::InnerFolds { folds } => write!(f, "{folds} inner folds leave nothing to choose by"),
            Self::NoRepeats => f.write_str("no repetition does nothing"),
            Self::NoNeighbours => f.write_str("without neighbours nobody votes"),
            Self::NoTopics => f.write_str("0 topics leave nothing to fit"),
            Self::NoStates => f.write_str("0 states leave nothing to fit"),
            Self::NeedsGrid { classifier, model } => {
                write!(
                    f,
                    "the classifier {classifier} takes positions on a grid, and the model {model} has none"
                )
            }
            Self::MetricOfProportions { model } => {
                write!(f, "divergence is of proportions, which the model {model} has none of")
            }
            Self::MetricUnused { metric } => {
                write!(f, "the metric {metric} is for nearest neighbours by posteriors")
            }
            Self::PriorUnused { classifier } => {
                write!(f, "the classifier {classifier} takes no prior of labels")
            }
            Self::FeaturesUnknown { model, classifier, features } => {
                write!(f, "the model {model} has no features for the classifier {classifier}")?;
                match features {
                    Some(kind) => write!(f, " of the kind {kind}"),
                    None => Ok(()),
                }
            }
            Self::TopOfOne => f.write_str("features top are of two models, and one is asked for"),
            Self::TopOfTwo { labels } => write!(f, "features top are of two labels, and there are {labels}"),
            Self::TokensOfSequences => f.write_str("counts are scaled to a sum, and an hmm takes sequences"),
            Self::Gamma { gamma } => {
                write!(f, "{gamma} is no width of a kernel, which is a finite number above 0")
            }
            Self::Penalty { penalty } => {
                write!(f, "{penalty} is no penalty, which is a finite number above 0")
            }
            Self::NoCandidate => f.write_str("there is no candidate to evaluate"),
            Self::FewTopWords { words } => {
                write!(f, "{words} top words of a topic are too few to compare them")
            }
        }
    }
}

impl Error for OptionError {}

/// Why an evaluation ended without a result.
///
/// Example: [`EvaluationOptions`](crate::EvaluationOptions).
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum EvaluationError {
    /// Options that do not go together.
    Option(OptionError),
    /// Counts could not be read or kept.
    Corpus(CorpusError),
    /// A model could not be fitted or used.
    Estimator(EstimatorError),
    /// Features without a similarity: not finite, or negative where they must not be.
    Features(ScoreError),
    /// Symbols outside the alphabet.
    Sequences(SequencesError),
    /// Labels or features of another shape.
    Classify(ClassifyError),
    /// Fewer than two labels.
    FewLabels { corpus: String, labels: usize },
    /// A label of fewer documents than folds.
    FewMembers { label: String, members: usize, folds: usize },
    /// A label that is not a finite number, in a regression.
    NotANumber { label: String },
    /// No word is left of the documents of a training part.
    NoWord { documents: usize },
    /// A labelled document that does not exist.
    Item { item: usize, items: usize },
    /// A model of sequences, with data that have none.
    NoSequences,
    /// Bags over another number of words.
    Words { expected: usize, found: usize },
    /// A table of features with another number of rows.
    Rows { expected: usize, found: usize },
    /// Tables that do not fit into memory.
    Memory { elements: usize },
    /// The model has no free energy, or no gradients, to classify by.
    NotGenerative { model: ModelKind },
    /// A word of a topic that the reference corpus does not number, or that the topic has twice.
    TopicWord { topic: usize, word: usize, words: usize },
    /// A word distribution, or a table of several, of another length, or with an entry that is not a finite number from 0 on.
    Distribution { expected: usize, found: usize, index: Option<usize> },
    /// Positions of another number than items times axes, or one that is not finite, or sides that are not above 0.
    Positions { problem: &'static str, index: usize },
    /// Two spaces with another number of items.
    Items { expected: usize, found: usize },
    /// Neighbours that are none, or so many that a rank among the items says nothing.
    Neighbours { neighbours: usize, items: usize },
    /// A kind of model without any measure.
    NoMeasures { kind: &'static str },
    /// A count that is not whole, or so large that its tokens cannot be drawn one by one.
    TokenCount { document: usize, word: usize, count: f64 },
    /// A [`countgrid_em::Stop`] was requested.
    Stopped,
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(error) => error.fmt(f),
            Self::Corpus(error) => error.fmt(f),
            Self::Estimator(error) => error.fmt(f),
            Self::Features(error) => error.fmt(f),
            Self::Sequences(error) => error.fmt(f),
            Self::Classify(error) => error.fmt(f),
            Self::FewLabels { corpus, labels } => {
                write!(f, "{corpus}: {labels} labels; a classifier needs two at least")
            }
            // Of a label that is a whole text, by mistake, the first characters.
            Self::FewMembers { label, members, folds } => {
                write!(f, "label `{label:.40}` has {members} documents and there are {folds} folds")
            }
            Self::NotANumber { label } => write!(f, "label `{label:.40}` is no number"),
            Self::NoWord { documents } => {
                write!(f, "no word is left of the {documents} documents of a training part")
            }
            Self::Item { item, items } => write!(f, "labelled document {item}, needs to be below {items}"),
            Self::NoSequences => f.write_str("an hmm takes sequences, and the data have none"),
            Self::Words { expected, found } => write!(f, "bags over {found} words, needs {expected}"),
            Self::Rows { expected, found } => {
                write!(f, "a table of features has {found} rows, needs {expected}")
            }
            Self::Memory { elements } => write!(f, "{elements} numbers do not fit into memory"),
            Self::NotGenerative { model } => write!(f, "the model {model} has no free energy"),
            Self::TopicWord { topic, word, words } => {
                write!(f, "word {word} of topic {topic} is there twice, or not below {words}")
            }
            Self::Distribution { index: Some(index), .. } => {
                write!(f, "probability {index} of the distributions is no finite number from 0 on")
            }
            Self::Distribution { expected, found, index: None } => {
                write!(f, "a table of distributions has {found} probabilities, needs {expected}")
            }
            Self::Positions { problem, index } => write!(f, "{problem} (element {index})"),
            Self::Items { expected, found } => {
                write!(f, "positions of {found} documents, needs {expected}")
            }
            Self::Neighbours { neighbours, items } => {
                write!(
                    f,
                    "{neighbours} neighbours of {items} documents: at least 1, and fewer than half of them"
                )
            }
            Self::NoMeasures { kind } => {
                write!(f, "a {kind} has neither a map nor topics over words, and is of sequences")
            }
            Self::TokenCount { document, word, count } => write!(
                f,
                "document {document} has word {word} {count} times: tokens to hold out are whole, and at most 1e9"
            ),
            Self::Stopped => f.write_str("stopped before the end, as was requested"),
        }
    }
}

impl Error for EvaluationError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // `Display` shows the error itself.
        match self {
            Self::Corpus(error) => error.source(),
            Self::Estimator(error) => error.source(),
            _ => None,
        }
    }
}

macro_rules! from {
    ($($variant:ident($error:ty))*) => {$(
        impl From<$error> for EvaluationError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    )*};
}
from! {
    Option(OptionError) Corpus(CorpusError) Features(ScoreError) Classify(ClassifyError)
    Sequences(SequencesError)
}

impl From<EstimatorError> for EvaluationError {
    fn from(error: EstimatorError) -> Self {
        match error {
            EstimatorError::Stopped => Self::Stopped,
            error => Self::Estimator(error),
        }
    }
}

impl From<GridError> for EvaluationError {
    fn from(error: GridError) -> Self {
        Self::Estimator(error.into())
    }
}

impl From<BagsError> for EvaluationError {
    fn from(error: BagsError) -> Self {
        Self::Corpus(error.into())
    }
}

#[cfg(test)]
mod tests {
    use countgrid_counts::CsrBuf;

    use super::*;

    #[test]
    fn options_say_what_is_wrong_with_them() {
        use OptionError as Error;
        let (classifier, model) = (Classifier::Nearest, ModelKind::Lsi);
        for (error, text) in [
            (Error::Name { option: "Metric", known: &["a", "b"] }, "no Metric of this name: take a, b"),
            (Error::Folds { folds: 1 }, "1 folds leave nothing to learn from"),
            (Error::InnerFolds { folds: 0 }, "0 inner folds leave nothing to choose by"),
            (
                Error::NeedsGrid { classifier, model },
                "the classifier nearest takes positions on a grid, and the model lsi has none",
            ),
            (
                Error::FeaturesUnknown { model, classifier, features: None },
                "the model lsi has no features for the classifier nearest",
            ),
            (Error::TopOfTwo { labels: 3 }, "features top are of two labels, and there are 3"),
            (Error::Gamma { gamma: -1.5 }, "-1.5 is no width of a kernel, which is a finite number above 0"),
            (Error::FewTopWords { words: 1 }, "1 top words of a topic are too few to compare them"),
        ] {
            assert_eq!(error.to_string(), text);
            assert_eq!(EvaluationError::from(error).to_string(), text);
        }
    }

    /// The text is that of the error inside, so that its source comes next.
    #[test]
    fn the_source_is_that_of_the_error_inside() {
        let bags = || CsrBuf::<f64>::new(1).unwrap().push_bag([(5, 1.0)]).unwrap_err();
        let source = |error: &EvaluationError| error.source().map(ToString::to_string);
        let corpus = EvaluationError::from(bags());
        assert_eq!(source(&corpus), Some(bags().to_string()));
        let estimator = EvaluationError::from(EstimatorError::Corpus(CorpusError::Bags(bags())));
        assert!(matches!(estimator, EvaluationError::Estimator(_)));
        assert_eq!(source(&estimator), Some(bags().to_string()));
        assert_eq!(source(&EvaluationError::Option(OptionError::NoRepeats)), None);
        assert!(matches!(EvaluationError::from(EstimatorError::Stopped), EvaluationError::Stopped));
    }
}
