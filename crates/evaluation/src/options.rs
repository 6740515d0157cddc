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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a setting refuses, by the documentation of the features.
    fn has_features(classifier: Classifier, model: ModelKind, kind: Features, sampled: bool) -> bool {
        let svm = matches!(classifier, Classifier::Svm | Classifier::SvmRbf | Classifier::SvmLinear);
        assert!(svm || classifier == Classifier::Nearest);
        // Histogram intersection is of what is not negative.
        let negative = model.is_linear() || !matches!(kind, Features::Spread | Features::Posterior);
        let of_model = match model {
            ModelKind::Grid | ModelKind::Mixture => kind != Features::Samples,
            ModelKind::Lda => !matches!(kind, Features::Spread | Features::FessSources | Features::Samples),
            ModelKind::Hmm => {
                matches!(kind, Features::Fess | Features::Nfess | Features::Fisher | Features::Top)
            }
            ModelKind::Harmonium | ModelKind::Rap => {
                kind == Features::Posterior || kind == Features::Samples && sampled
            }
            ModelKind::Lsi => kind == Features::Posterior,
        };
        of_model && !(classifier == Classifier::Svm && negative)
    }

    #[test]
    fn classifiers_take_features_that_models_have() {
        for (&classifier, &model) in Classifier::ALL
            .iter()
            .flat_map(|classifier| ModelKind::ALL.iter().map(move |model| (classifier, model)))
        {
            for method in [HarmoniumMethod::Persistent, HarmoniumMethod::Langevin] {
                let of = |features| {
                    let mut options =
                        EvaluationOptions { classifier, model, features, ..EvaluationOptions::default() };
                    options.harmonium.method = method;
                    options.check()
                };
                let sampled = method == HarmoniumMethod::Langevin;
                let unknown = |features| Err(OptionError::FeaturesUnknown { model, classifier, features });
                if !matches!(classifier, Classifier::Generative | Classifier::Labels) {
                    for &kind in Features::ALL {
                        let expected = match has_features(classifier, model, kind, sampled) {
                            true => Ok(()),
                            false => unknown(Some(kind)),
                        };
                        assert_eq!(of(Some(kind)), expected, "{classifier} {model} {kind} {method:?}");
                    }
                }
                let expected = match (classifier, classifier.default_features()) {
                    (Classifier::Labels | Classifier::Nearest, _) if !model.is_grid() => {
                        Err(OptionError::NeedsGrid { classifier, model })
                    }
                    (Classifier::Generative, _) if model.is_linear() => unknown(None),
                    (_, Some(kind)) if !has_features(classifier, model, kind, sampled) => unknown(None),
                    _ => Ok(()),
                };
                assert_eq!(of(None), expected, "{classifier} {model} {method:?}");
            }
        }
    }

    /// Features are not those of a classifier that takes none; the model still needs a free energy.
    #[test]
    fn generative_classifiers_need_a_free_energy() {
        for &model in ModelKind::ALL {
            let features = Some(Features::Posterior);
            let options = EvaluationOptions { model, features, ..EvaluationOptions::default() };
            let unknown =
                OptionError::FeaturesUnknown { model, classifier: Classifier::Generative, features };
            let expected = if model.is_linear() { Err(unknown) } else { Ok(()) };
            assert_eq!(options.check(), expected, "{model}");
        }
    }

    #[test]
    fn each_setting_is_refused_alone() {
        use OptionError as Error;
        let default = EvaluationOptions::default;
        let nearest = EvaluationOptions {
            classifier: Classifier::Nearest,
            features: Some(Features::Posterior),
            ..default()
        };
        let top =
            EvaluationOptions { classifier: Classifier::SvmRbf, features: Some(Features::Top), ..default() };
        let hmm = EvaluationOptions { model: ModelKind::Hmm, ..default() };
        let linear = EvaluationOptions { model: ModelKind::Lsi, ..nearest.clone() };
        let metric = Some(Metric::Divergence);
        let without = |states| HmmOptions { states, ..HmmOptions::default() };
        let cosine = Some(Metric::Cosine);
        let refused = [
            (EvaluationOptions { neighbours: 0, ..default() }, Error::NoNeighbours),
            (EvaluationOptions { topics: 0, model: ModelKind::Mixture, ..default() }, Error::NoTopics),
            (EvaluationOptions { topics: 0, model: ModelKind::Lda, ..default() }, Error::NoTopics),
            (EvaluationOptions { hmm: without(0), ..hmm.clone() }, Error::NoStates),
            (
                EvaluationOptions { metric, ..linear.clone() },
                Error::MetricOfProportions { model: ModelKind::Lsi },
            ),
            (
                EvaluationOptions { metric: cosine, ..default() },
                Error::MetricUnused { metric: Metric::Cosine },
            ),
            (
                EvaluationOptions { metric: cosine, features: None, ..nearest.clone() },
                Error::MetricUnused { metric: Metric::Cosine },
            ),
            (
                EvaluationOptions { metric: cosine, features: Some(Features::Fess), ..nearest.clone() },
                Error::MetricUnused { metric: Metric::Cosine },
            ),
            (EvaluationOptions { one_model: true, ..top.clone() }, Error::TopOfOne),
            (EvaluationOptions { tokens: Some(1.0), ..hmm.clone() }, Error::TokensOfSequences),
            (EvaluationOptions { gamma: 0.0, ..default() }, Error::Gamma { gamma: 0.0 }),
            (EvaluationOptions { gamma: f64::INFINITY, ..default() }, Error::Gamma { gamma: f64::INFINITY }),
            (EvaluationOptions { penalty: 0.0, ..default() }, Error::Penalty { penalty: 0.0 }),
            (
                EvaluationOptions { penalty: f64::INFINITY, ..default() },
                Error::Penalty { penalty: f64::INFINITY },
            ),
        ];
        for (options, error) in refused {
            assert_eq!(options.check(), Err(error));
        }
        for options in [
            EvaluationOptions { topics: 0, ..default() }, // of a grid
            EvaluationOptions { topics: 0, ..hmm.clone() },
            EvaluationOptions { hmm: without(0), ..default() },
            EvaluationOptions { hmm: without(1), ..hmm.clone() },
            EvaluationOptions { metric, ..nearest.clone() },
            EvaluationOptions { metric: cosine, ..linear },
            EvaluationOptions { one_model: true, ..nearest },
            EvaluationOptions { one_model: true, features: Some(Features::Fess), ..top.clone() },
            top,
            hmm,
            EvaluationOptions { tokens: Some(1.0), gamma: 1e-300, penalty: 1e-300, ..default() },
        ] {
            assert_eq!(options.check(), Ok(()), "{options:?}");
        }
        let nan = EvaluationOptions { gamma: f64::NAN, ..default() };
        assert!(matches!(nan.check(), Err(Error::Gamma { gamma }) if gamma.is_nan()));
        let nan = EvaluationOptions { penalty: f64::NAN, ..default() };
        assert!(matches!(nan.check(), Err(Error::Penalty { penalty }) if penalty.is_nan()));
    }

    #[test]
    fn a_protocol_needs_parts_and_repetitions() {
        let refused = |folds, repeats, inner_folds| {
            Protocol { folds, repeats, inner_folds, ..Protocol::default() }.check()
        };
        assert_eq!(refused(2, 1, 2), Ok(()));
        for folds in [0, 1] {
            assert_eq!(refused(folds, 1, 2), Err(OptionError::Folds { folds }));
            assert_eq!(refused(2, 1, folds), Err(OptionError::InnerFolds { folds }));
        }
        assert_eq!(refused(2, 0, 2), Err(OptionError::NoRepeats));
    }

    #[test]
    fn models_are_the_same_whatever_the_classifier() {
        let own = EvaluationOptions::default();
        let candidate =
            |options: &EvaluationOptions| Candidate { name: "x".to_owned(), options: options.clone() };
        let is_same = |options: EvaluationOptions| candidate(&own).has_same_models(&candidate(&options));
        assert!(is_same(EvaluationOptions {
            classifier: Classifier::Nearest,
            class_prior: ClassPrior::Uniform,
            features: Some(Features::Fess),
            metric: Some(Metric::Cosine),
            neighbours: 7,
            penalty: 3.0,
            gamma: 2.0,
            ..own.clone()
        }));
        let other_words = WordOptions { max_words: 7, ..WordOptions::default() };
        for other in [
            EvaluationOptions { model: ModelKind::Mixture, ..own.clone() },
            EvaluationOptions { one_model: true, ..own.clone() },
            EvaluationOptions { words: other_words, ..own.clone() },
            EvaluationOptions { selection: WordSelection::Variance, ..own.clone() },
            EvaluationOptions { tokens: Some(9.0), ..own.clone() },
            EvaluationOptions { topics: 7, ..own.clone() },
            EvaluationOptions {
                grid: GridOptions { iterations: 7, ..GridOptions::default() },
                ..own.clone()
            },
        ] {
            assert!(!is_same(other.clone()), "{other:?}");
        }
    }
}
