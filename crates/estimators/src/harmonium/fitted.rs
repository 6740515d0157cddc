use countgrid_corpus::Blocks;
use countgrid_counts::{Bags, CsrBuf};
use countgrid_harmonium::{Acceptance, Harmonium, HarmoniumError, Shape};
use countgrid_math::Real;

use super::{
    FeatureError, FeatureValues, HarmoniumKind, Mixing, Standardizer, TraceRecord,
    data::{counts_for, features_of},
    mixing,
};
use crate::{
    EstimatorError, FeatureRows, ModelFileError, ModelInfo, Stored, blocks::zeros, model_file::check_range,
};

/// Refuses parameters of a table with which topics of documents could leave the range of single precision: counts are at most
/// 2^24 there, so that sums of their products with couplings up to 1e9, and the squares of these, stay below 1e38.
pub(super) fn check_parameters<T: Stored>(name: &str, table: &[T]) -> Result<(), ModelFileError> {
    check_range(name, table, if name == "variances" { 1e-9..=1e9 } else { -1e9..=1e9 })
}

/// The parameters of a harmonium, in memory of their own.
pub type HarmoniumParameters<T> = Harmonium<T, Vec<T>>;

/// A fitted harmonium: the topics of documents, the words of topics, and its file.
///
/// Example: [`HarmoniumTraining`](crate::HarmoniumTraining).
#[derive(Clone, Debug)]
pub struct FittedHarmonium<T> {
    /// Title, vocabulary, and how it was fitted.
    pub info: ModelInfo,
    kind: HarmoniumKind,
    model: HarmoniumParameters<T>,
    standardizer: Option<Standardizer>, // of a dual wing
    pub(super) samples: Vec<HarmoniumParameters<T>>,
    pub(super) traces: Vec<Vec<TraceRecord>>,
    pub(super) summary: Option<HarmoniumSummary>,
}

/// How the training of a harmonium ended.
///
/// Example: [`HarmoniumTraining`](crate::HarmoniumTraining).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct HarmoniumSummary {
    /// Epochs of contrastive divergence.
    pub epochs: usize,
    /// Langevin steps of each chain.
    pub draws: usize,
    /// Chains.
    pub chains: usize,
    /// Posterior samples of all chains that were kept.
    pub samples: usize,
    /// Moves of the parameters that were proposed and accepted. A dual wing rejects those to where it has no normaliser.
    pub acceptance: Acceptance,
    /// The last step of the couplings, of the first chain.
    pub step_size: f64,
    /// The prior of the first chain; none unless there was a Langevin step.
    pub prior: Option<PriorSummary>,
}

/// A summary of a prior.
///
/// Example: [`HarmoniumTraining`](crate::HarmoniumTraining).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct PriorSummary {
    /// Mean over words, and features, of the prior's means.
    pub mean: f64,
    /// Mean of its standard deviations.
    pub deviation: f64,
}

/// The words and features with the largest couplings to a topic, of either sign, the largest first.
///
/// Example: [`HarmoniumTraining`](crate::HarmoniumTraining).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicWords<'a> {
    /// Words with positive couplings.
    pub positive: Vec<&'a str>,
    /// Words with negative couplings.
    pub negative: Vec<&'a str>,
    /// Features with positive couplings.
    pub positive_features: Vec<&'a str>,
    /// Features with negative couplings.
    pub negative_features: Vec<&'a str>,
}

impl<T: Stored> FittedHarmonium<T> {
    /// A fitted harmonium from its parts; a dual wing, and no other, has a standardizer.
    ///
    /// # Errors
    /// [`EstimatorError::Harmonium`] for a model of another kind, [`EstimatorError::Features`] for a standardizer that is
    /// missing, too many, or of another number of features; [`EstimatorError::Model`] for parameters with which the topics
    /// of documents could leave the range of numbers of single precision: magnitudes above 1e9, variances below 1e-9.
    pub fn new(
        info: ModelInfo,
        kind: HarmoniumKind,
        model: HarmoniumParameters<T>,
        standardizer: Option<Standardizer>,
    ) -> Result<Self, EstimatorError> {
        match (kind, &standardizer) {
            (HarmoniumKind::DualWing, None) => return Err(FeatureError::Missing.into()),
            (HarmoniumKind::DualWing, Some(_)) | (_, None) => {}
            (kind, Some(_)) => return Err(FeatureError::NoFeatureWing { kind }.into()),
        }
        let features = standardizer.as_ref().map_or(0, |standardizer| standardizer.names().len());
        let shape = model.shape();
        if kind.shape(shape.word_count(), shape.topics(), features)? != *shape {
            return Err(HarmoniumError::ShapeMismatch.into());
        }
        let all = [
            ("alpha", model.alpha()),
            ("w", model.w()),
            ("beta", model.beta()),
            ("u", model.u()),
            ("variances", model.variances()),
        ];
        all.into_iter().try_for_each(|(name, own)| check_parameters(name, own))?;
        let (samples, traces) = (Vec::new(), Vec::new());
        Ok(Self { info, kind, model, standardizer, samples, traces, summary: None })
    }

    /// The kind of harmonium.
    #[must_use]
    pub fn kind(&self) -> HarmoniumKind {
        self.kind
    }

    /// The parameters: the maximum likelihood estimate, or the mean of posterior samples after they were aligned.
    #[must_use]
    pub fn model(&self) -> &HarmoniumParameters<T> {
        &self.model
    }

    /// Sizes.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.model.shape()
    }

    /// Mean and standard deviation of each feature of a dual wing.
    #[must_use]
    pub fn standardizer(&self) -> Option<&Standardizer> {
        self.standardizer.as_ref()
    }

    /// Posterior samples of all chains, one chain after the other; empty if the model was loaded.
    #[must_use]
    pub fn samples(&self) -> &[HarmoniumParameters<T>] {
        &self.samples
    }

    /// The trace of the training, chain by chain; empty if the model was loaded.
    #[must_use]
    pub fn traces(&self) -> &[Vec<TraceRecord>] {
        &self.traces
    }

    /// How well the Langevin chains have mixed; empty without Langevin steps.
    #[must_use]
    pub fn mixing(&self) -> Vec<Mixing> {
        mixing(&self.traces)
    }

    /// How the training ended; `None` if the model was loaded.
    #[must_use]
    pub fn summary(&self) -> Option<&HarmoniumSummary> {
        self.summary.as_ref()
    }

    /// Counts in the support of the model: at most the number of trials of the words; in the rate adapting model the trials
    /// are those of topics, and counts of words have no limit.
    fn counts(&self, bags: &Blocks<T>) -> Result<CsrBuf<T>, EstimatorError> {
        let trials = self.model.sizes().first().map_or(1.0, |&n| Real::to_f64(n)) as u32;
        Ok(counts_for(self.kind, trials, bags)?)
    }

    /// Expected topics `[document][topic]`: given the words, and where they are named features, which are not
    /// standardised, too.
    ///
    /// # Errors
    /// [`EstimatorError::Features`] for features that the model does not have, or values with which topics are not finite; [`EstimatorError::Harmonium`] for another
    /// number of words, or counts that are not whole; blocks that cannot be read; [`EstimatorError::Memory`].
    ///
    /// # Source
    /// Eq. 5 of the paper on the Bayesian exponential family harmonium.
    pub fn transform(
        &self,
        bags: &Blocks<T>,
        features: Option<&FeatureValues>,
    ) -> Result<FeatureRows, EstimatorError> {
        let (shape, bags) = (self.shape(), self.counts(bags)?);
        let values = match (&self.standardizer, features) {
            (Some(standardizer), Some(features)) => {
                Some(features_of::<T>(&standardizer.apply(features)?, bags.len())?)
            }
            (None, Some(_)) => return Err(FeatureError::NoFeatureWing { kind: self.kind }.into()),
            _ => None,
        };
        let mut means = FeatureRows::zeros(bags.len(), shape.topics())?;
        let (mut h, mut precision) = (zeros(shape.topics())?, zeros(shape.precision_len())?);
        for document in 0..bags.len() {
            match &values {
                Some(values) => {
                    let own = values.get(document * shape.features()..(document + 1) * shape.features());
                    self.model.topics(&bags, document, own.unwrap_or_default(), &mut h)
                }
                None => self.model.topics_of_words(&bags, document, &mut h, &mut precision),
            }?;
            if let Some(index) = h.iter().position(|h| !h.is_finite()) {
                if let Some(error) = features.and_then(|given| self.farthest(given, document)) {
                    return Err(error.into());
                }
                return Err(HarmoniumError::NotFinite { table: "expected topics", index }.into());
            }
            means.row_mut(document).iter_mut().zip(&h).for_each(|(to, &h)| *to = Real::to_f64(h));
        }
        Ok(means)
    }

    /// The feature of a document that is most standard deviations from its mean.
    fn farthest(&self, given: &FeatureValues, document: usize) -> Option<FeatureError> {
        let standardizer = self.standardizer.as_ref()?;
        let columns = standardizer.names().len();
        let row = given.values.get(document * columns..)?.iter();
        let apart = row.zip(standardizer.means()).zip(standardizer.deviations());
        let apart = apart.map(|((&value, mean), deviation)| (value, ((value - mean) / deviation).abs()));
        let (name, (value, _)) =
            standardizer.names().iter().zip(apart).max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
        Some(FeatureError::OutOfRange { name: name.clone(), document, value })
    }

    /// Expected topics given the words, of every posterior sample, `[document][sample][topic]`.
    ///
    /// # Errors
    /// Those of [`FittedHarmonium::transform`].
    pub fn transform_samples(&self, bags: &Blocks<T>) -> Result<FeatureRows, EstimatorError> {
        let (shape, bags) = (self.shape(), self.counts(bags)?);
        let topics = shape.topics();
        let mut means = FeatureRows::zeros(bags.len(), self.samples.len().saturating_mul(topics))?;
        let (mut h, mut precision) = (zeros(topics)?, zeros(shape.precision_len())?);
        for document in 0..bags.len() {
            for (sample, to) in self.samples.iter().zip(means.row_mut(document).chunks_exact_mut(topics)) {
                sample.topics_of_words(&bags, document, &mut h, &mut precision)?;
                to.iter_mut().zip(&h).for_each(|(to, &h)| *to = Real::to_f64(h));
            }
        }
        Ok(means)
    }

    /// How many axes the topics span, from 1 to their number: the participation ratio of the eigenvalues of the products `G` of
    /// the couplings of any two topics, `(tr G)² / Σ G_jk²`. It is 1 where all topics are one but for sign and size.
    /// 0 for couplings that are all zero.
    ///
    /// ```
    /// use countgrid_estimators::{FittedHarmonium, HarmoniumKind, ModelInfo};
    /// use countgrid_harmonium::{Harmonium, Shape};
    ///
    /// // Biases of two words, their couplings to two topics that differ in sign and size alone, and the sizes of the words.
    /// let tables = vec![0.0_f64, 0.0, 0.5, -0.25, -1.0, 0.5, 1.0, 1.0];
    /// let model = Harmonium::new(Shape::words(2, 2)?, tables, &mut [])?;
    /// let fitted = FittedHarmonium::new(ModelInfo::default(), HarmoniumKind::Single, model, None)?;
    /// assert!((fitted.effective_topics() - 1.0).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn effective_topics(&self) -> f64 {
        let topics = self.shape().topics();
        let rows =
            || [self.model.w(), self.model.u()].into_iter().flat_map(|table| table.chunks_exact(topics));
        let product = |j: usize, k: usize| {
            let at = |row: &[T], topic: usize| row.get(topic).map_or(0.0, |&w| Real::to_f64(w));
            rows().map(|row| at(row, j) * at(row, k)).sum::<f64>()
        };
        let (mut trace, mut squares) = (0.0, 0.0);
        for j in 0..topics {
            trace += product(j, j);
            squares += (0..topics).map(|k| product(j, k).powi(2)).sum::<f64>();
        }
        if squares > 0.0 { trace * trace / squares } else { 0.0 }
    }

    /// At most so many words, and features, of either sign of each topic. There are no words in a model without a
    /// vocabulary.
    #[must_use]
    pub fn topic_words(&self, limit: usize) -> Vec<TopicWords<'_>> {
        let names: &[String] = self.standardizer.as_ref().map_or(&[], |standardizer| standardizer.names());
        (0..self.shape().topics())
            .map(|topic| {
                let [positive, negative] =
                    self.strongest(self.model.w(), &self.info.vocabulary, topic, limit);
                let [positive_features, negative_features] =
                    self.strongest(self.model.u(), names, topic, limit);
                TopicWords { positive, negative, positive_features, negative_features }
            })
            .collect()
    }

    fn strongest<'a>(
        &self,
        couplings: &[T],
        names: &'a [String],
        topic: usize,
        limit: usize,
    ) -> [Vec<&'a str>; 2] {
        let own = couplings.iter().skip(topic).step_by(self.shape().topics());
        let mut all: Vec<(f64, &String)> = own.map(|&w| Real::to_f64(w)).zip(names).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let top = |sign: f64, all: &mut dyn Iterator<Item = &(f64, &'a String)>| {
            let own = all.take(limit).filter(|(w, _)| sign * w > 0.0);
            own.map(|&(_, name)| name.as_str()).collect()
        };
        [top(1.0, &mut all.iter()), top(-1.0, &mut all.iter().rev())]
    }
}
