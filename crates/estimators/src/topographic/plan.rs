use countgrid_counts::{Bags, CsrBuf};
use countgrid_em::{BlockStatistics, EmOptions, Fit, Learn, Stop, TablesExt};
use countgrid_gtm::{Gtm, GtmError, Learner, Options, Priors, Shape, Statistics};
use countgrid_math::AlignedVec;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use super::{Exposure, FittedTopographic, LatentSpace, TopographicOptions};
use crate::{
    BagTotals, DataDigest, Estimator, EstimatorError, FitSummary, InitialPhase, ModelInfo, NoMiniBatches,
    Schedule, Stage, Stored,
    blocks::{expectation_by_leaves, shared_items},
};

/// The parameters of a map, in memory of their own.
pub type TopographicParameters<T> = Gtm<T, AlignedVec<T>>;
type Sums<T> = BlockStatistics<Statistics<T, AlignedVec<T>, AlignedVec<f64>>>;

/// Documents for each thread that are placed together.
const CHUNK: usize = 64;

/// A map that is being fitted to bags, [`countgrid_em::BLOCK_BAGS`] of them in each leaf of the tree in which statistics are added up.
///
/// Example: [`TopographicTraining`](crate::TopographicTraining).
#[derive(Debug)]
pub struct TopographicLearner<T>(Learner<T, AlignedVec<T>, AlignedVec<f64>>);

impl<T: Stored> Learn for TopographicLearner<T> {
    type Statistics = Sums<T>;
    type Error = EstimatorError;

    fn maximization(&mut self, statistics: &mut Sums<T>) -> Result<(), EstimatorError> {
        self.0.maximization(statistics.sums_mut()).map_err(Into::into)
    }

    fn penalty(&self) -> f64 {
        self.0.penalty()
    }
}

impl<T: Stored> Fit<CsrBuf<T>> for TopographicLearner<T> {
    fn expectation(&self, bags: &CsrBuf<T>, statistics: &mut Sums<T>) -> Result<f64, EstimatorError> {
        let bags = bags.as_view();
        expectation_by_leaves(&self.0, bags.len(), |leaf| bags.slice(leaf), statistics)
    }
}

/// [`TopographicOptions`], checked against what is fitted to.
#[derive(Clone, Debug)]
pub struct TopographicPlan<T> {
    options: TopographicOptions,
    totals: BagTotals,
    latent: LatentSpace<T>,
    shape: Shape,
    schedule: Schedule,
}

impl TopographicOptions {
    /// The plan of a fit to bags of these totals.
    ///
    /// # Errors
    /// Those of [`TopographicOptions::validate`] and [`LatentSpace::new`]; [`EstimatorError::Tokens`];
    /// [`EstimatorError::Gtm`] for a map that is too large.
    pub fn check<T: Stored>(&self, totals: BagTotals) -> Result<TopographicPlan<T>, EstimatorError> {
        let latent = LatentSpace::<T>::new(self)?;
        totals.check_for::<T>()?;
        let (columns, points) = (latent.functions()?.columns(), latent.points().len() / 2);
        let shape = Shape::new(self.emission_model, points, 2, columns, totals.features)?.on(latent.space());
        let shape = if self.exposure == Exposure::Length { shape.general() } else { shape };
        let em = EmOptions { iterations: self.iterations, tolerance: self.tolerance }.check()?;
        let extents = self.points.to_vec();
        let stage = Stage { extents, initial_phase: InitialPhase::Plain, em, work: 1.0 };
        let schedule = Schedule { seed: self.seed, restarts: 1, stages: vec![stage] };
        Ok(TopographicPlan { options: self.clone(), totals, latent, shape, schedule })
    }
}

impl<T: Stored> TopographicPlan<T> {
    /// The options.
    #[must_use]
    pub fn options(&self) -> &TopographicOptions {
        &self.options
    }

    /// The latent space.
    #[must_use]
    pub fn latent(&self) -> &LatentSpace<T> {
        &self.latent
    }

    fn map(&self) -> Result<TopographicParameters<T>, EstimatorError> {
        let basis = self.latent.functions()?;
        let mut phi = crate::blocks::zeros(basis.columns().saturating_mul(self.shape.points()))?;
        basis.table(self.latent.points(), &mut phi)?;
        let mut map = Gtm::allocate(self.shape, self.latent.points(), &phi, Priors::default())?;
        if self.options.exposure == Exposure::Length {
            map.set_reference(T::from_f64(self.totals.tokens / self.totals.bags as f64))?;
        }
        Ok(map)
    }

    fn learner(
        &self,
        map: TopographicParameters<T>,
    ) -> Result<(TopographicLearner<T>, Sums<T>), EstimatorError> {
        let options = Options { newton_steps: self.options.newton_steps, ..Options::default() };
        let learner = TopographicLearner(Learner::allocate(map, options)?);
        let chunk = shared_items(CHUNK, self.totals.bags);
        Ok((learner, BlockStatistics::new(Statistics::with_chunk(self.shape, chunk)?)))
    }
}

impl<T: Stored> Estimator for TopographicPlan<T> {
    const KIND: &'static str = FittedTopographic::<T>::KIND;
    type Data = CsrBuf<T>;
    type Scalar = T;
    type Parameters = TopographicParameters<T>;
    type Statistics = Sums<T>;
    type Learner = TopographicLearner<T>;
    type Pass = NoMiniBatches;
    type Fitted = FittedTopographic<T>;

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn tokens(&self) -> f64 {
        self.totals.tokens
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        let options = &self.options;
        vec![
            ("scalar", T::NAME.to_owned()),
            ("emission_model", options.emission_model.name().to_owned()),
            ("points", format!("{:?}", options.points)),
            ("latent", options.latent.name().to_owned()),
            ("basis", options.basis.name().to_owned()),
            ("basis_functions", format!("{:?}", options.basis_functions)),
            ("width", format!("{:?}", self.latent.width())),
            ("exposure", options.exposure.name().to_owned()),
            ("initial_spread", format!("{:?}", options.initial_spread)),
            ("newton_steps", options.newton_steps.to_string()),
            ("iterations", options.iterations.to_string()),
            ("tolerance", format!("{:?}", options.tolerance)),
            ("seed", options.seed.to_string()),
            ("tokens", format!("{:?}", self.totals.tokens)),
        ]
    }

    fn digest(&self, bags: &CsrBuf<T>) -> Result<DataDigest, EstimatorError> {
        let bags = bags.as_view();
        let mut digest = DataDigest::new(bags.features());
        digest.add_bags(&bags);
        Ok(digest)
    }

    fn start(
        &self,
        bags: &CsrBuf<T>,
        _: usize,
        _: Option<TopographicLearner<T>>,
        _: &mut ChaCha8Rng,
    ) -> Result<(TopographicLearner<T>, Sums<T>), EstimatorError> {
        let mut map = self.map()?;
        map.initialise(&bags.as_view(), self.options.initial_spread)?;
        self.learner(map)
    }

    fn restore(
        &self,
        _: &CsrBuf<T>,
        _: usize,
        parameters: &[T],
    ) -> Result<(TopographicLearner<T>, Sums<T>), EstimatorError> {
        let (points, features) = (self.shape.points(), self.shape.features());
        let (expected, found) = (self.shape.map_len(), parameters.len());
        if expected != found {
            return Err(GtmError::Length { table: "map", expected, found }.into());
        }
        let mut storage =
            AlignedVec::zeroed(expected).map_err(|_| GtmError::TooLarge { points, features })?;
        storage.copy_from_slice(parameters);
        let (map, own) = (Gtm::new(self.shape, storage)?, self.map()?);
        // Inference uses these tables too, and they follow from the options.
        for name in ["points", "basis"] {
            if map.table(name) != own.table(name) {
                return Err(crate::CheckpointError::Table { name: format!("learner.{name}") }.into());
            }
        }
        self.learner(map)
    }

    fn parameters<'a>(&self, learner: &'a TopographicLearner<T>) -> &'a TopographicParameters<T> {
        learner.0.map()
    }

    fn set_stop(&self, statistics: &mut Sums<T>, stop: &Stop) {
        statistics.set_stop(stop);
    }

    fn finish(
        &self,
        learner: TopographicLearner<T>,
        summary: FitSummary,
    ) -> Result<FittedTopographic<T>, EstimatorError> {
        let (map, emissions) = learner.0.into_parts();
        let fit = json!({
            "documents": self.totals.bags, "tokens": self.totals.tokens,
            "exposure": self.options.exposure.name(), "iterations": summary.iterations,
            "end": summary.end_reason(), "tolerance": self.options.tolerance,
            "log_likelihood_per_document": summary.free_energy.map(|free_energy| -free_energy / self.totals.bags as f64),
            "bound_per_token": summary.bound_per_token, "seed": self.options.seed,
            // Until labels are compared.
            "neighbours": null, "accuracy": null, "silhouette": null,
        });
        let info = ModelInfo { fit, ..ModelInfo::default() };
        Ok(FittedTopographic::from_training(info, self.latent.clone(), map, emissions, summary))
    }
}
