use std::marker::PhantomData;

use countgrid_corpus::{Blocks, Corpus, memory, mini_batch_count};
use countgrid_em::{Annealing, BlockStatistics, EmOptions, FitError, Iterations, Stop};
use countgrid_grid::{
    COARSE_ITERATIONS, Grid, GridError, Learner, LogHistograms, Options, Shape, Statistics,
};
use countgrid_math::AlignedVec;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::{
    AXES, BagTotals, BlockLearner, BlockPass, DataDigest, Estimator, EstimatorError, FitSummary, FittedGrid,
    GridLayout, GridOptions, GridSchedule, GridStart, ModelInfo, Schedule, Stage, Step, Stored,
    blocks::digest,
    grid::memory::{Needs, plan},
};

/// The parameters of a grid, in memory of their own.
pub type GridParameters<T> = Grid<T, AlignedVec<T>, AXES>;
/// The log histograms, all that inference needs.
pub type GridInference<T> = LogHistograms<T, AlignedVec<T>, AXES>;
/// Expected counts, with the scratch of both steps.
pub(crate) type GridStatistics<T> = BlockStatistics<Statistics<T, AlignedVec<T>, AXES>>;
/// A learner, and empty statistics.
type LearnerAndStatistics<T> = (Learner<T, AlignedVec<T>, AXES>, Statistics<T, AlignedVec<T>, AXES>);
/// A grid that is being fitted to bags in blocks.
pub type GridLearner<T> = BlockLearner<Learner<T, AlignedVec<T>, AXES>>;

/// [`GridOptions`], checked against what is fitted to.
#[derive(Clone, Debug)]
pub struct GridPlan<T> {
    options: GridOptions,
    totals: BagTotals,
    layout: GridLayout,
    start: GridStart,
    shapes: Vec<Shape<AXES>>, // of the stages, the smallest first
    needs: Needs,             // of the last
    schedule: Schedule,
    scalar: PhantomData<T>,
}

impl GridOptions {
    /// The plan of a fit to bags of these totals.
    ///
    /// # Errors
    /// Those of [`GridOptions::validate`]; [`EstimatorError::Tokens`]; [`EstimatorError::GridMemory`].
    pub fn check<T: Stored>(&self, totals: BagTotals) -> Result<GridPlan<T>, EstimatorError> {
        self.validate()?;
        totals.check_for::<T>()?;
        let layout = GridLayout::choose(self.extents.as_deref(), self.window.as_deref(), totals.non_empty)?;
        let available = self.memory.or_else(memory::available);
        let needs = plan::<T>(&layout, &totals, self.restarts, available)?;
        let shape = needs.shape;
        let shapes: Vec<_> = match self.schedule {
            GridSchedule::CoarseToFine => shape.schedule().collect(),
            GridSchedule::Single => vec![shape],
        };
        let axes = layout.extents().len();
        let volume = shape.windows().volume();
        let start = self.start.unwrap_or_else(|| GridStart::for_bags(&totals, volume, self.iterations));
        let after = match (self.start, start) {
            (None, GridStart::Annealed { iterations, .. }) => self.iterations.saturating_sub(iterations),
            _ => self.iterations,
        };
        let mut stages = Vec::with_capacity(shapes.len());
        for (stage, shape) in shapes.iter().enumerate() {
            let last = stage + 1 == shapes.len();
            let (initial, iterations) = match (last, start) {
                (true, _) => (start, after),
                // As many updates as there would be iterations, or a few more, take a fraction of their time.
                (false, GridStart::MiniBatches { size, .. }) => {
                    let passes = COARSE_ITERATIONS.div_ceil(mini_batch_count(totals.bags, size).max(1));
                    (GridStart::MiniBatches { size, passes }, 0)
                }
                (false, _) => (GridStart::Plain, COARSE_ITERATIONS),
            };
            let em = EmOptions { iterations, tolerance: self.tolerance }.check()?;
            let initial_phase = initial.check(self.tolerance, totals.bags)?;
            let extents = shape.windows().torus().extents().into_iter().skip(AXES - axes).collect();
            stages.push(Stage { extents, initial_phase, em, work: shape.cells() as f64 });
        }
        let schedule = Schedule { seed: self.seed, restarts: self.restarts, stages };
        Ok(GridPlan {
            options: self.clone(),
            totals,
            layout,
            start,
            shapes,
            needs,
            schedule,
            scalar: PhantomData,
        })
    }
}

impl GridOptions {
    /// The plan of a fit to a corpus. Counts that leave no room for the grid go to a temporary file.
    ///
    /// # Errors
    /// Those of [`GridOptions::check`]; [`EstimatorError::Corpus`] if the file cannot be written.
    pub fn plan<T: Stored>(&self, corpus: &mut Corpus<T>) -> Result<GridPlan<T>, EstimatorError> {
        let totals = BagTotals::from(&*corpus);
        let plan = self.check(totals);
        #[cfg(feature = "files")]
        if matches!(plan, Err(EstimatorError::GridMemory { .. })) && corpus.bags.file_bytes().is_none() {
            corpus.bags.spill()?;
            return self.check(totals);
        }
        plan
    }
}

impl<T: Stored> GridPlan<T> {
    /// The grid and its window.
    #[must_use]
    pub fn layout(&self) -> &GridLayout {
        &self.layout
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &GridOptions {
        &self.options
    }

    /// Pseudocount: tokens that every feature is given at every cell of the full grid.
    #[must_use]
    pub fn pseudocount(&self) -> f64 {
        self.shapes.last().map_or(0.0, |shape| self.model_options(shape).pseudocount)
    }

    /// Bytes that the fit allocates at a time at most, without checkpoints, bags and words.
    ///
    /// With `N` cells, `Z` features and `s` bytes of a number, a table has `N × Z × s` bytes. There are three (the grid, the logarithms of
    /// its windows, and expected counts), two more for the best of several restarts, and of `L` leaves of 16,384 bags
    /// `log2 L`, rounded down, for expected counts that wait for others. Posteriors of 1,024 to 4,096 bags at a time, the more the shorter
    /// they are, take a little more than `N × s` bytes for each; of fewer bags if there is not the memory for so many. Tables are of whole tiles,
    /// and the logarithms have a sixteenth more of bounds; all that is counted. How many threads there are makes no difference.
    #[must_use]
    pub fn memory(&self) -> u128 {
        self.needs.bytes
    }

    /// Bytes that a checkpoint has besides while it is in memory: copies of two tables, and of one more where there are restarts.
    #[must_use]
    pub fn checkpoint_memory(&self) -> u128 {
        self.needs.checkpoint
    }

    fn model_options(&self, shape: &Shape<AXES>) -> Options {
        let defaults = Options::for_corpus(shape, self.totals.tokens, self.totals.bags);
        Options {
            inner_passes: self.options.inner_passes,
            learn_prior: self.options.learn_prior,
            pseudocount: self.options.pseudocount.unwrap_or(defaults.pseudocount),
            posterior_threshold: self.start.posterior_threshold(),
            ..defaults
        }
    }

    fn shape(&self, stage: usize) -> Result<Shape<AXES>, EstimatorError> {
        self.shapes.get(stage).copied().ok_or(EstimatorError::Failed)
    }

    /// A learner from a grid, and statistics.
    fn learner(
        &self,
        shape: Shape<AXES>,
        grid: impl FnOnce() -> Result<GridParameters<T>, GridError> + Send,
    ) -> Result<LearnerAndStatistics<T>, EstimatorError> {
        let learner = || Learner::from_grid(grid()?, self.model_options(&shape));
        let statistics = || Statistics::allocate(shape, self.needs.chunk);
        // The second is for new memory, most of all.
        #[cfg(feature = "rayon")]
        let (learner, statistics) = rayon::join(learner, statistics);
        #[cfg(not(feature = "rayon"))]
        let (learner, statistics) = (learner(), statistics());
        Ok((learner?, statistics?))
    }

    /// The learner of a stage, at random or from the grid of the stage before.
    pub(crate) fn begin(
        &self,
        stage: usize,
        mut previous: Option<GridParameters<T>>,
        rng: &mut ChaCha8Rng,
    ) -> Result<LearnerAndStatistics<T>, EstimatorError> {
        let shape = self.shape(stage)?;
        self.learner(shape, || {
            let grid = Grid::initial(shape, previous.as_ref(), rng)?;
            // The coarser tables are no longer needed, and there may be no memory for both.
            drop(previous.take());
            Ok(grid)
        })
    }

    /// The learner of a stage from its parameters.
    pub(crate) fn load(
        &self,
        stage: usize,
        parameters: &[T],
    ) -> Result<LearnerAndStatistics<T>, EstimatorError> {
        let shape = self.shape(stage)?;
        self.learner(shape, || grid_from(shape, parameters))
    }

    /// A learner whose E-step goes over blocks.
    fn in_blocks(
        &self,
        (learner, statistics): LearnerAndStatistics<T>,
    ) -> (GridLearner<T>, GridStatistics<T>) {
        let learner = BlockLearner { learner, read_ahead: self.options.read_ahead };
        (learner, BlockStatistics::new(statistics))
    }

    /// The shape of the full grid.
    pub(crate) fn full_shape(&self) -> Result<Shape<AXES>, EstimatorError> {
        self.shape(self.shapes.len().saturating_sub(1))
    }

    /// The description of the fit in model files.
    pub(crate) fn fit_json(&self, summary: &FitSummary) -> serde_json::Value {
        let GridOptions { seed, restarts, learn_prior, inner_passes, tolerance, .. } = self.options;
        let (anneal, batch) = match self.start {
            GridStart::Plain => (None, None),
            GridStart::Annealed { beta, iterations } => (Some((beta, iterations)), None),
            GridStart::MiniBatches { size, passes } => (None, Some((size, passes))),
        };
        json!({
            "documents": self.totals.bags, "tokens": self.totals.tokens, "iterations": summary.iterations,
            "end": summary.end_reason(), "bound_per_token": summary.bound_per_token,
            "pseudocount": self.pseudocount(), "seed": seed, "restarts": restarts, "restart": summary.restart + 1,
            "learn_prior": learn_prior, "inner_passes": inner_passes, "schedule": self.options.schedule.name(),
            "tolerance": tolerance, "anneal": anneal.map(|anneal| anneal.0),
            "anneal_iterations": anneal.map(|anneal| anneal.1), "batch": batch.map(|batch| batch.0),
            "passes": batch.map(|batch| batch.1),
        })
    }
}

impl<T: Stored> Estimator for GridPlan<T> {
    const KIND: &'static str = "counting grid";
    type Data = Blocks<T>;
    type Scalar = T;
    type Parameters = GridParameters<T>;
    type Statistics = GridStatistics<T>;
    type Learner = GridLearner<T>;
    type Pass = BlockPass<T>;
    type Fitted = FittedGrid<T>;

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn tokens(&self) -> f64 {
        self.totals.tokens
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        let GridOptions { iterations, tolerance, seed, restarts, learn_prior, inner_passes, .. } =
            self.options;
        vec![
            ("scalar", T::NAME.to_owned()),
            ("extents", format!("{:?}", self.layout.extents())),
            ("window", format!("{:?}", self.layout.window())),
            ("iterations", iterations.to_string()),
            ("tolerance", format!("{tolerance:?}")),
            ("seed", seed.to_string()),
            ("restarts", restarts.to_string()),
            ("pseudocount", format!("{:?}", self.pseudocount())),
            ("learn_prior", learn_prior.to_string()),
            ("inner_passes", inner_passes.to_string()),
            ("schedule", self.options.schedule.name().to_owned()),
            ("start", format!("{:?}", self.start)),
            ("tokens", format!("{:?}", self.totals.tokens)),
        ]
    }

    fn digest(&self, bags: &Blocks<T>) -> Result<DataDigest, EstimatorError> {
        digest(bags)
    }

    fn start(
        &self,
        _: &Blocks<T>,
        stage: usize,
        previous: Option<GridLearner<T>>,
        rng: &mut ChaCha8Rng,
    ) -> Result<(GridLearner<T>, GridStatistics<T>), EstimatorError> {
        let previous = previous.map(|learner| learner.learner.into_parts().0);
        Ok(self.in_blocks(self.begin(stage, previous, rng)?))
    }

    fn restore(
        &self,
        _: &Blocks<T>,
        stage: usize,
        parameters: &[T],
    ) -> Result<(GridLearner<T>, GridStatistics<T>), EstimatorError> {
        Ok(self.in_blocks(self.load(stage, parameters)?))
    }

    fn parameters<'a>(&self, learner: &'a GridLearner<T>) -> &'a GridParameters<T> {
        learner.learner.grid()
    }

    fn iterate(
        &self,
        iterations: &mut Iterations,
        annealing: Option<&Annealing>,
        bags: &Blocks<T>,
        learner: &mut GridLearner<T>,
        statistics: &mut Self::Statistics,
    ) -> Step {
        match annealing {
            Some(annealing) => iterations.step_annealed(learner, bags, statistics, annealing),
            None => iterations.step(learner, bags, statistics),
        }
    }

    fn update(
        &self,
        iterations: &mut Iterations,
        annealing: Option<&Annealing>,
        learner: &mut GridLearner<T>,
        statistics: &mut Self::Statistics,
    ) -> Result<(), FitError<EstimatorError>> {
        match annealing {
            Some(annealing) => iterations.update_annealed(learner, statistics, annealing),
            None => iterations.update(learner, statistics),
        }
    }

    fn set_stop(&self, statistics: &mut GridStatistics<T>, stop: &Stop) {
        statistics.set_stop(stop);
    }

    fn finish(&self, learner: GridLearner<T>, summary: FitSummary) -> Result<FittedGrid<T>, EstimatorError> {
        let (grid, histograms) = learner.learner.into_parts();
        let info = ModelInfo { fit: self.fit_json(&summary), ..ModelInfo::default() };
        Ok(FittedGrid::from_training(info, self.layout.clone(), grid, histograms, summary))
    }
}

/// A copy of a grid in memory of its own.
pub(crate) fn grid_from<T: Stored>(shape: Shape<AXES>, tables: &[T]) -> Result<GridParameters<T>, GridError> {
    let (cells, features) = (shape.cells(), shape.features());
    let (expected, found) = (shape.grid_len(), tables.len());
    if expected != found {
        return Err(GridError::Length { table: "grid", expected, found });
    }
    let mut storage = AlignedVec::zeroed(expected).map_err(|_| GridError::TooLarge { cells, features })?;
    storage.copy_from_slice(tables);
    Grid::new(shape, storage)
}
