use countgrid_corpus::Blocks;
use countgrid_counts::{Bags, CsrBuf};
use countgrid_harmonium::{Acceptance, Harmonium, HarmoniumError, Shape};
use countgrid_math::Real;

use super::{
    FeatureError, FeatureValues, HarmoniumKind, Mixing, Standardizer, TraceRecord,
    data::{counts_for, features_of},
    mixing,
};
use crate::{EstimatorError, FeatureRows, ModelInfo, Stored, blocks::zeros};

/// The parameters of a harmonium, in memory of their own.
pub type HarmoniumParameters<T> = Harmonium<T, Vec<T>>;

/// A fitted harmonium: the topics of documents, the words of topics, and its file.
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
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct PriorSummary {
    /// Mean over words, and features, of the prior's means.
    pub mean: f64,
    /// Mean of its standard deviations.
    pub deviation: f64,
}

/// The words and features with the largest couplings to a topic, of either sign, the largest first.
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
    /// missing, too many, or of another number of features.
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
        let (samples, traces) = (Vec::new(), Vec::new());
        Ok(Self { info, kind, model, standardizer, samples, traces, summary: None })
    }

    /// The kind of harmonium.
    pub fn kind(&self) -> HarmoniumKind {
        self.kind
    }

    /// The parameters: the maximum likelihood estimate, or the mean of posterior samples after they were aligned.
    pub fn model(&self) -> &HarmoniumParameters<T> {
        &self.model
    }

    /// Sizes.
    pub fn shape(&self) -> &Shape {
        self.model.shape()
    }

    /// Mean and standard deviation of each feature of a dual wing.
    pub fn standardizer(&self) -> Option<&Standardizer> {
        self.standardizer.as_ref()
    }

    /// Posterior samples of all chains, one chain after the other; empty if the model was loaded.
    pub fn samples(&self) -> &[HarmoniumParameters<T>] {
        &self.samples
    }

    /// The trace of the training, chain by chain; empty if the model was loaded.
    pub fn traces(&self) -> &[Vec<TraceRecord>] {
        &self.traces
    }

    /// How well the Langevin chains have mixed; empty without Langevin steps.
    pub fn mixing(&self) -> Vec<Mixing> {
        mixing(&self.traces)
    }

    /// How the training ended; `None` if the model was loaded.
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
    /// [`EstimatorError::Features`] for features that the model does not have; [`EstimatorError::Harmonium`] for another
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
            means.row_mut(document).iter_mut().zip(&h).for_each(|(to, &h)| *to = Real::to_f64(h));
        }
        Ok(means)
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

    /// At most so many words, and features, of either sign of each topic. There are no words in a model without a
    /// vocabulary.
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
