use countgrid_corpus::Blocks;
use countgrid_estimators::{
    BagTotals, FeatureKind, FeatureRows, FittedGrid, FittedHarmonium, FittedHmm, FittedLda, HarmoniumData,
    HarmoniumKind, HarmoniumOptions, LdaOptions, Train, Training,
};

use crate::{
    EvaluationError, EvaluationOptions, Features, LatentSemanticIndex, ModelKind, Part, Scalar, Stop,
};

/// Any of the models, fitted to a part of the data.
///
/// Example: [the crate's](crate).
#[derive(Debug)]
pub enum FittedModel<T> {
    /// A counting grid, or a mixture.
    Grid(Box<FittedGrid<T>>),
    /// Latent Dirichlet allocation.
    Lda(FittedLda),
    /// A hidden Markov model.
    Hmm(FittedHmm),
    /// A harmonium of any kind.
    Harmonium(Box<FittedHarmonium<T>>),
    /// Latent semantic indexing.
    Lsi(LatentSemanticIndex),
}

/// A grid, or a mixture, without labels.
pub(crate) fn fit_grid<T: Scalar>(
    bags: &Blocks<T>,
    options: &EvaluationOptions,
    stop: &Stop,
) -> Result<FittedGrid<T>, EvaluationError> {
    let grid = match options.model {
        ModelKind::Mixture => options.grid.clone().mixture(options.topics),
        _ => options.grid.clone(),
    };
    let plan = grid.check::<T>(BagTotals::from_blocks(bags)?)?;
    train(plan.train(bags, None)?, stop)
}

/// Steps until the end, or until it is stopped.
fn train<M: Train>(mut training: M, stop: &Stop) -> Result<M::Fitted, EvaluationError> {
    training.set_stop(stop);
    while !training.is_done() {
        training.step()?;
    }
    Ok(training.finish()?)
}

impl<T: Scalar> FittedModel<T> {
    /// Fits the model of the options to some documents.
    ///
    /// # Errors
    /// [`EvaluationError::Stopped`] if `stop` was requested before the end. Options that the estimator refuses; errors of fitting; [`EvaluationError::NoSequences`].
    pub fn fit(part: &Part<T>, options: &EvaluationOptions, stop: &Stop) -> Result<Self, EvaluationError> {
        Ok(match options.model {
            ModelKind::Grid | ModelKind::Mixture => {
                Self::Grid(Box::new(fit_grid(&part.bags, options, stop)?))
            }
            ModelKind::Lda => {
                let own = LdaOptions { topics: options.topics, ..options.lda.clone() };
                let plan = own.check::<T>(BagTotals::from_blocks(&part.bags)?)?;
                Self::Lda(train(plan.train(&part.bags, None)?, stop)?)
            }
            ModelKind::Hmm => {
                let sequences = part.sequences()?;
                Self::Hmm(train(Training::new(options.hmm.check(sequences)?, sequences)?, stop)?)
            }
            ModelKind::Harmonium | ModelKind::Rap => {
                let kind = match options.model {
                    ModelKind::Rap => HarmoniumKind::RateAdapting,
                    _ => HarmoniumKind::Single,
                };
                let own = HarmoniumOptions { kind, topics: options.topics, ..options.harmonium.clone() };
                let plan = own.check(BagTotals::from_blocks(&part.bags)?)?;
                let data = HarmoniumData::new(&plan, &part.bags, None)?;
                Self::Harmonium(Box::new(train(plan.train(&data, None)?, stop)?))
            }
            ModelKind::Lsi => {
                let (topics, seed) = (options.topics, options.grid.seed);
                Self::Lsi(LatentSemanticIndex::fit_until(&part.bags, topics, seed, stop)?)
            }
        })
    }

    /// The free energy of each document in nats: `-log p` with an exact posterior, else more; infinite if the document is
    /// impossible.
    ///
    /// # Errors
    /// [`EvaluationError::NotGenerative`] for harmoniums and latent semantic indexing; bags of another shape.
    pub fn free_energies(&self, part: &Part<T>) -> Result<Vec<f64>, EvaluationError> {
        match self {
            Self::Grid(model) => Ok(model.score(&part.bags)?),
            Self::Lda(model) => Ok(model.score(&part.bags)?),
            Self::Hmm(model) => Ok(model.score(part.sequences()?)?),
            Self::Harmonium(_) => Err(EvaluationError::NotGenerative { model: ModelKind::Harmonium }),
            Self::Lsi(_) => Err(EvaluationError::NotGenerative { model: ModelKind::Lsi }),
        }
    }

    /// Features of each document under the model. Tangent vectors of log-odds are of two models: [`FittedModel::tangents`].
    ///
    /// # Errors
    /// Features that the model does not have; bags of another shape.
    pub fn features(&self, kind: Features, part: &Part<T>) -> Result<FeatureRows, EvaluationError> {
        if let Self::Harmonium(model) = self {
            return Ok(match kind {
                Features::Samples => model.transform_samples(&part.bags)?,
                _ => model.transform(&part.bags, None)?,
            });
        }
        let kind = match kind {
            Features::Spread => FeatureKind::Spread,
            Features::Posterior | Features::Samples => FeatureKind::Posterior,
            Features::Fess => FeatureKind::Fess,
            Features::Nfess => FeatureKind::Nfess,
            Features::FessWords => FeatureKind::FessWords,
            Features::FessSources => FeatureKind::FessSources,
            Features::Fisher | Features::Top => FeatureKind::Fisher,
        };
        Ok(match self {
            Self::Grid(model) => model.features(kind, &part.bags)?,
            Self::Lda(model) => model.features(kind, &part.bags)?,
            Self::Hmm(model) => model.features(kind, part.sequences()?)?,
            Self::Harmonium(_) => FeatureRows::default(), // above
            Self::Lsi(model) => model.transform(&part.bags)?,
        })
    }

    /// Tangent vectors of the posterior log-odds of two models (Tsuda et al. 2002); `log_odds` are the prior
    /// log-odds of the first model's class.
    ///
    /// # Errors
    /// [`EvaluationError::NotGenerative`] for models without gradients, or of two kinds.
    pub fn tangents(
        models: [&Self; 2],
        log_odds: f64,
        part: &Part<T>,
    ) -> Result<FeatureRows, EvaluationError> {
        match models {
            [Self::Grid(plus), Self::Grid(minus)] => {
                Ok(FittedGrid::tangents([plus, minus], log_odds, &part.bags)?)
            }
            [Self::Lda(plus), Self::Lda(minus)] => {
                Ok(FittedLda::tangents([plus, minus], log_odds, &part.bags)?)
            }
            [Self::Hmm(plus), Self::Hmm(minus)] => {
                Ok(FittedHmm::tangents([plus, minus], log_odds, part.sequences()?)?)
            }
            [_, Self::Lsi(_)] => Err(EvaluationError::NotGenerative { model: ModelKind::Lsi }),
            _ => Err(EvaluationError::NotGenerative { model: ModelKind::Harmonium }),
        }
    }
}
