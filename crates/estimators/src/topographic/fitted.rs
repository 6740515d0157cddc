use std::sync::OnceLock;

use countgrid_corpus::{Blocks, Corpus, CorpusOptions, Storable};
use countgrid_counts::Bags;
use countgrid_em::TablesExt;
use countgrid_gtm::{Emissions, GtmError, Shape};
use countgrid_math::{AlignedVec, Real};
use serde_json::{Value, json};

use super::{
    CellFrame, LabelSeparation, LatentSpace, TopographicParameters,
    cells::{cells_of_points, feature_shares, relative_log_magnification},
};
use crate::{
    BagError, EstimatorError, FeatureRows, FitSummary, ModelInfo, Stored, blocks::zeros,
    model_file::check_range,
};

/// The log emissions, all that inference needs.
type Inference<T> = Emissions<T, AlignedVec<T>>;

impl BagError for GtmError {
    fn after(self, first: usize) -> Self {
        match self {
            Self::Overflow { document } => Self::Overflow { document: first.saturating_add(document) },
            error => error,
        }
    }
}

/// A fitted map: positions of bags on it, words of its cells, and its file.
///
/// The table of emissions that inference needs is computed when it is first used, unless a training has left it.
///
/// Example: [`TopographicTraining`](crate::TopographicTraining).
#[derive(Debug)]
pub struct FittedTopographic<T> {
    /// Title, vocabulary, and how it was fitted.
    pub info: ModelInfo,
    latent: LatentSpace<T>,
    map: TopographicParameters<T>, // of as many points as the latent space, and its basis
    emissions: OnceLock<Inference<T>>,
    summary: Option<FitSummary>,
}

/// The position of a bag on a map.
#[derive(Clone, Debug, PartialEq)]
pub struct TopographicPlace {
    /// Tokens of the features that the map has. The position of a bag without any has no meaning.
    pub tokens: f64,
    /// The mean of the posterior over latent points.
    pub mean: [f64; 2],
    /// The most probable latent point.
    pub mode: [f64; 2],
    /// How probable that is.
    pub probability: f64,
    /// `ln p(t)`, in nats.
    pub log_likelihood: f64,
}

impl TopographicPlace {
    /// The columns of a table of positions, after those that identify the documents.
    pub const COLUMNS: [&'static str; 6] =
        ["mean0", "mean1", "mode0", "mode1", "probability", "log_likelihood"];

    /// Whether the bag has a token of the features that the map has.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.tokens > 0.0
    }

    /// The fields of a table of positions, [`TopographicPlace::COLUMNS`]; all empty if the bag has no token that the map
    /// knows.
    ///
    /// ```
    /// use countgrid_estimators::TopographicPlace;
    /// let place = TopographicPlace {
    ///     tokens: 2.0, mean: [0.25, -0.5], mode: [0.0, -1.0], probability: 0.75, log_likelihood: -9.0,
    /// };
    /// assert_eq!(place.fields()[..2], ["0.250000", "-0.500000"]);
    /// assert!(TopographicPlace { tokens: 0.0, ..place }.fields().iter().all(String::is_empty));
    /// ```
    #[must_use]
    pub fn fields(&self) -> [String; 6] {
        let ([x, y], [mode_x, mode_y]) = (self.mean, self.mode);
        [x, y, mode_x, mode_y, self.probability, self.log_likelihood]
            .map(|x| if self.is_known() { format!("{x:.6}") } else { String::new() })
    }
}

impl<T: Stored> FittedTopographic<T> {
    /// A map from its parts.
    ///
    /// # Errors
    /// [`EstimatorError::Gtm`] if the map has other points than the latent space; [`EstimatorError::Model`] for weights and
    /// inflation of magnitudes above 1e9, or a precision that is not from 1e-15 to 1e15.
    pub fn new(
        info: ModelInfo,
        latent: LatentSpace<T>,
        map: TopographicParameters<T>,
    ) -> Result<Self, EstimatorError> {
        let shape = map.shape();
        let same = shape.axes() == 2
            && shape.points() * 2 == latent.points().len()
            && shape.columns() == latent.functions()?.columns()
            && shape.space() == latent.space();
        if !same {
            return Err(GtmError::ShapeMismatch.into());
        }
        for name in ["weights", "inflation"] {
            check_range(name, map.table(name).unwrap_or_default(), -1e9..=1e9)?;
        }
        check_range("precision", map.table("precision").unwrap_or_default(), 1e-15..=1e15)?;
        Ok(Self { info, latent, map, emissions: OnceLock::new(), summary: None })
    }

    pub(super) fn from_training(
        info: ModelInfo,
        latent: LatentSpace<T>,
        map: TopographicParameters<T>,
        emissions: Inference<T>,
        summary: FitSummary,
    ) -> Self {
        Self { info, latent, map, emissions: OnceLock::from(emissions), summary: Some(summary) }
    }

    /// The latent space.
    pub fn latent(&self) -> &LatentSpace<T> {
        &self.latent
    }

    /// The parameters.
    pub fn map(&self) -> &TopographicParameters<T> {
        &self.map
    }

    /// Sizes and the emission model.
    pub fn shape(&self) -> &Shape {
        self.map.shape()
    }

    /// How the training ended; `None` if the map was loaded.
    pub fn summary(&self) -> Option<&FitSummary> {
        self.summary.as_ref()
    }

    /// The emissions that inference needs.
    ///
    /// # Errors
    /// [`EstimatorError::Gtm`] if it does not fit into memory.
    pub fn emissions(&self) -> Result<&Inference<T>, EstimatorError> {
        if let Some(emissions) = self.emissions.get() {
            return Ok(emissions);
        }
        let emissions = Emissions::allocate(&self.map)?;
        Ok(self.emissions.get_or_init(|| emissions))
    }

    /// Calls `visit` with the number, the position and the posterior `[point]` of every bag, in order.
    ///
    /// # Errors
    /// Bags over another number of features; counts too large for the floating-point type; blocks that cannot be read; no
    /// memory.
    pub fn for_each_posterior<C: Storable>(
        &self,
        bags: &Blocks<C>,
        mut visit: impl FnMut(usize, &TopographicPlace, &[T]),
    ) -> Result<(), EstimatorError> {
        self.visit_posteriors(bags, &mut visit)
    }

    /// The same, compiled once and not for each that visits.
    fn visit_posteriors<C: Storable>(
        &self,
        bags: &Blocks<C>,
        visit: &mut dyn FnMut(usize, &TopographicPlace, &[T]),
    ) -> Result<(), EstimatorError> {
        let (shape, emissions) = (self.shape(), self.emissions()?);
        let (mut q, mut scratch) = (zeros(shape.points())?, zeros(shape.posterior_scratch_len())?);
        bags.for_each_block(true, |first, block| {
            for n in 0..block.len() {
                let log_likelihood = emissions
                    .posterior(&block, n, &mut q, &mut scratch)
                    .map_err(|error| error.after(first))?;
                let (mut mean, mut mode, k) = ([T::zero(); 2], [T::zero(); 2], emissions.mode(&q));
                emissions.mean(&q, &mut mean)?;
                emissions.point(k, &mut mode)?;
                let place = TopographicPlace {
                    tokens: block.total(n),
                    mean: mean.map(Real::to_f64),
                    mode: mode.map(Real::to_f64),
                    probability: q.get(k).map_or(0.0, |&q| Real::to_f64(q)),
                    log_likelihood: Real::to_f64(log_likelihood),
                };
                visit(first + n, &place, &q);
            }
            Ok(())
        })
    }

    /// The position of every bag.
    ///
    /// # Errors
    /// Those of [`FittedTopographic::for_each_posterior`].
    pub fn place<C: Storable>(&self, bags: &Blocks<C>) -> Result<Vec<TopographicPlace>, EstimatorError> {
        let mut places = Vec::with_capacity(bags.len());
        self.for_each_posterior(bags, |_, place, _| places.push(place.clone()))?;
        Ok(places)
    }

    /// The free energy `-ln p(t)` of each bag in nats.
    ///
    /// # Errors
    /// Those of [`FittedTopographic::for_each_posterior`].
    pub fn score<C: Storable>(&self, bags: &Blocks<C>) -> Result<Vec<f64>, EstimatorError> {
        let mut free_energies = Vec::with_capacity(bags.len());
        self.for_each_posterior(bags, |_, place, _| free_energies.push(-place.log_likelihood))?;
        Ok(free_energies)
    }

    /// The posterior of each bag over latent points, `[bag][point]`.
    ///
    /// # Errors
    /// Those of [`FittedTopographic::for_each_posterior`]; [`EstimatorError::Memory`].
    pub fn transform<C: Storable>(&self, bags: &Blocks<C>) -> Result<FeatureRows, EstimatorError> {
        let mut rows = FeatureRows::zeros(bags.len(), self.shape().points())?;
        self.for_each_posterior(bags, |bag, _, q| {
            rows.row_mut(bag).iter_mut().zip(q).for_each(|(to, &q)| *to = Real::to_f64(q));
        })?;
        Ok(rows)
    }

    /// Rows and columns of cells over the latent space.
    pub fn frame(&self) -> CellFrame {
        self.latent.frame()
    }

    /// The cell of every latent point, `[point]`.
    pub fn cells_of_points(&self) -> Vec<usize> {
        cells_of_points(&self.latent)
    }

    /// The share of the expected tokens that each feature has at the centre of each cell, `[feature][cell]`, from 0 to 1; for
    /// a Bernoulli map the share of the expected features.
    ///
    /// # Errors
    /// [`EstimatorError::Memory`].
    pub fn feature_shares(&self) -> Result<Vec<f32>, EstimatorError> {
        feature_shares(&self.latent, &self.map)
    }

    /// Logarithms of magnification factors above the lowest, at the centres of cells, `[cell]`; `None` if all factors
    /// are zero.
    ///
    /// # Errors
    /// [`EstimatorError::Gtm`], which does not occur for fitted maps.
    ///
    /// # Source
    /// C. Bishop, M. Svensén & C. Williams, Magnification factors for the GTM algorithm, Proc. IEE Fifth International
    /// Conference on Artificial Neural Networks, 1997.
    pub fn relative_log_magnification(&self) -> Result<Vec<f32>, EstimatorError> {
        Ok(relative_log_magnification(&self.latent, &self.map)?)
    }

    /// Takes title and vocabulary from the corpus that the map was fitted to, which was read with these options:
    /// everything that its file has besides tables. Labels are compared and recorded separately
    /// ([`FittedTopographic::set_separation`]).
    pub fn describe<C>(&mut self, title: &str, corpus: &Corpus<C>, reading: &CorpusOptions) {
        self.info.describe(title, corpus, &reading.words);
        self.info.fit["sample"] = json!(reading.sample.map(|sample| sample.per_label));
    }

    /// Records in [`ModelInfo::fit`] how well labels are separated; `None` if they were not compared.
    pub fn set_separation(&mut self, separation: Option<&LabelSeparation>) {
        if !self.info.fit.is_object() {
            self.info.fit = json!({});
        }
        let values: [(&str, Value); 3] = [
            ("neighbours", json!(separation.map(|found| found.neighbours))),
            ("accuracy", json!(separation.map(|found| found.accuracy))),
            ("silhouette", json!(separation.map(|found| found.silhouette))),
        ];
        for (name, value) in values {
            self.info.fit[name] = value;
        }
    }
}
