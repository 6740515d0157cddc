use countgrid_corpus::WordOptions;
use countgrid_estimators::{GridOptions, HarmoniumMethod, HarmoniumOptions, HmmOptions, LdaOptions};

use crate::{ClassPrior, Classifier, Features, Metric, ModelKind, OptionError, WordSelection};

/// Options of an evaluation: the model that is fitted to documents, and how their labels are predicted from it.
///
/// ```
/// use countgrid_evaluation::{Classifier, EvaluationOptions, Features, ModelKind, OptionError};
/// let options = EvaluationOptions {
///     model: ModelKind::Lda,
///     classifier: Classifier::SvmRbf,
///     features: Some(Features::Spread),
///     ..EvaluationOptions::default()
/// };
/// let error = options.check().unwrap_err();
/// assert_eq!(error.to_string(), "the model lda has no features for the classifier svm-rbf of the kind spread");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct EvaluationOptions {
    /// How a label is predicted.
    pub classifier: Classifier,
    /// The prior of labels in generative classification.
    pub class_prior: ClassPrior,
    /// The model that is fitted.
    pub model: ModelKind,
    /// The features that the classifier takes; `None` for [`Classifier::default_features`].
    pub features: Option<Features>,
    /// Whether terms and gradients are of one model, fitted without labels, rather than of one for each label.
    pub one_model: bool,
    /// The metric of posteriors; `None` for Kullback-Leibler divergence of proportions, Euclidean distance of other features.
    pub metric: Option<Metric>,
    /// Neighbours that vote.
    pub neighbours: usize,
    /// The penalty `C` of a support vector machine for training documents inside the margin or on the wrong side.
    pub penalty: f64,
    /// Of the Gaussian kernel `exp(-gamma d² / columns)`, with `d` the distance of standardised features.
    pub gamma: f64,
    /// Which words are kept, by the training part alone.
    pub words: WordOptions,
    /// How words are selected if there are more than [`WordOptions::max_words`].
    pub selection: WordSelection,
    /// What the counts of each document, over the words that are kept, are scaled to sum to; `None` for no scaling.
    pub tokens: Option<f64>,
    /// Components of a mixture, topics of LDA and harmoniums, dimensions of latent semantic indexing.
    pub topics: usize,
    /// Of counting grids and mixtures. A mixture takes [`EvaluationOptions::topics`] cells.
    pub grid: GridOptions,
    /// Of latent Dirichlet allocation, with [`EvaluationOptions::topics`] topics.
    pub lda: LdaOptions,
    /// Of hidden Markov models.
    pub hmm: HmmOptions,
    /// Of harmoniums, with [`EvaluationOptions::topics`] topics.
    pub harmonium: HarmoniumOptions,
}

impl Default for EvaluationOptions {
    /// Generative classification by counting grids over the 3,000 words that distinguish most pairs of documents.
    fn default() -> Self {
        Self {
            classifier: Classifier::Generative,
            class_prior: ClassPrior::Data,
            model: ModelKind::Grid,
            features: None,
            one_model: false,
            metric: None,
            neighbours: 1,
            penalty: 1.0,
            gamma: 0.5,
            words: WordOptions::default(),
            selection: WordSelection::Pairs,
            tokens: None,
            topics: 20,
            grid: GridOptions::default(),
            lda: LdaOptions::default(),
            hmm: HmmOptions::default(),
            harmonium: HarmoniumOptions::default(),
        }
    }
}

impl EvaluationOptions {
    /// Whether the model has the features that the classifier takes.
    fn has_features(&self) -> bool {
        let Some(kind) = self.features.or(self.classifier.default_features()) else {
            return self.classifier == Classifier::Nearest || !self.model.is_linear();
        };
        if matches!(self.classifier, Classifier::Generative | Classifier::Labels) {
            return !self.model.is_linear();
        }
        let intersection = self.classifier == Classifier::Svm;
        if self.model.is_linear() {
            let samples = self.model != ModelKind::Lsi && self.harmonium.method == HarmoniumMethod::Langevin;
            let known = kind == Features::Posterior || kind == Features::Samples && samples;
            return known && !intersection;
        }
        let of_model = match kind {
            Features::Spread | Features::FessSources => self.model.is_grid(),
            Features::Posterior | Features::FessWords => self.model != ModelKind::Hmm,
            Features::Fess | Features::Nfess | Features::Fisher | Features::Top => true,
            Features::Samples => false,
        };
        let not_negative = matches!(kind, Features::Spread | Features::Posterior);
        of_model && (not_negative || !intersection)
    }

    /// Checks that the settings go together, before anything is read or fitted.
    ///
    /// # Errors
    /// [`OptionError`].
    pub fn check(&self) -> Result<(), OptionError> {
        let Self { classifier, model, features, metric, gamma, penalty, .. } = *self;
        if self.neighbours == 0 {
            return Err(OptionError::NoNeighbours);
        }
        if self.topics == 0 && !matches!(model, ModelKind::Grid | ModelKind::Hmm) {
            return Err(OptionError::NoTopics);
        }
        if self.hmm.states == 0 && model == ModelKind::Hmm {
            return Err(OptionError::NoStates);
        }
        let positions =
            classifier == Classifier::Labels || classifier == Classifier::Nearest && features.is_none();
        if positions && !model.is_grid() {
            return Err(OptionError::NeedsGrid { classifier, model });
        }
        if metric == Some(Metric::Divergence) && model.is_linear() {
            return Err(OptionError::MetricOfProportions { model });
        }
        if let Some(metric) = metric
            && (classifier != Classifier::Nearest || features.is_none_or(Features::per_class))
        {
            return Err(OptionError::MetricUnused { metric });
        }
        if self.class_prior != ClassPrior::Data && classifier != Classifier::Generative {
            return Err(OptionError::PriorUnused { classifier });
        }
        if !self.has_features() {
            return Err(OptionError::FeaturesUnknown { model, classifier, features });
        }
        if self.one_model && features == Some(Features::Top) {
            return Err(OptionError::TopOfOne);
        }
        if model == ModelKind::Hmm && self.tokens.is_some() {
            return Err(OptionError::TokensOfSequences);
        }
        if !(gamma > 0.0 && gamma.is_finite()) {
            return Err(OptionError::Gamma { gamma });
        }
        if !(penalty > 0.0 && penalty.is_finite()) {
            return Err(OptionError::Penalty { penalty });
        }
        Ok(())
    }
}

/// How documents are held out.
///
/// ```
/// use countgrid_evaluation::Protocol;
/// let protocol = Protocol { folds: 5, repeats: 3, ..Protocol::default() };
/// assert_eq!(protocol.parts(100), 5);
/// assert_eq!(Protocol { leave_one_out: true, ..protocol }.parts(100), 100);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Protocol {
    /// Parts that are held out in turn, at least 2.
    pub folds: usize,
    /// Whether one document at a time is held out instead.
    pub leave_one_out: bool,
    /// Random splits, at least 1.
    pub repeats: usize,
    /// Folds of a training part by which one of several candidates is chosen, at least 2.
    pub inner_folds: usize,
    /// Of the random splits.
    pub seed: u64,
}

impl Default for Protocol {
    /// Ten folds once; five inner folds.
    fn default() -> Self {
        Self { folds: 10, leave_one_out: false, repeats: 1, inner_folds: 5, seed: 1 }
    }
}

impl Protocol {
    /// Number of parts for this many documents.
    #[must_use]
    pub fn parts(&self, documents: usize) -> usize {
        if self.leave_one_out { documents } else { self.folds }
    }

    /// Checks that there are enough parts and repetitions.
    ///
    /// # Errors
    /// [`OptionError::Folds`], [`OptionError::NoRepeats`], [`OptionError::InnerFolds`].
    pub fn check(&self) -> Result<(), OptionError> {
        match *self {
            Self { folds: folds @ (0 | 1), .. } => Err(OptionError::Folds { folds }),
            Self { repeats: 0, .. } => Err(OptionError::NoRepeats),
            Self { inner_folds: folds @ (0 | 1), .. } => Err(OptionError::InnerFolds { folds }),
            _ => Ok(()),
        }
    }
}

/// Options under a name: one of several candidates, of which each fold chooses one by its training part.
///
/// Example: [the crate's](crate).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Candidate {
    /// Its name in reports.
    pub name: String,
    /// The options.
    pub options: EvaluationOptions,
}

impl Candidate {
    /// Whether another candidate has the same models, so that they are fitted once; options of the classifier alone may
    /// differ.
    #[must_use]
    pub fn has_same_models(&self, other: &Self) -> bool {
        let fitting = |options: &EvaluationOptions| {
            let default = EvaluationOptions::default();
            EvaluationOptions {
                classifier: default.classifier,
                class_prior: default.class_prior,
                features: default.features,
                metric: default.metric,
                neighbours: default.neighbours,
                penalty: default.penalty,
                gamma: default.gamma,
                ..options.clone()
            }
        };
        fitting(&self.options) == fitting(&other.options)
    }
}
