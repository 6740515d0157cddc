use countgrid_corpus::{Blocks, Corpus, memory};
use countgrid_em::{Annealing, BlockStatistics, EmOptions, FitError, Iterations, Stop};
use countgrid_grid::{
    GridError, Shape,
    componential::{self, ComponentialGrid, Statistics, WindowMeans},
};
use countgrid_math::{AlignedVec, Real};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use super::{
    ComponentialLearner, ComponentialOptions, ComponentialStage, ComponentialStatistics, FittedComponential,
    learner::StageStatistics,
};
use crate::{
    AXES, BagTotals, BlockLearner, BlockPass, DataDigest, Estimator, EstimatorError, FitSummary, GridLayout,
    GridPlan, InitialPhase, ModelInfo, Schedule, Stage, Step, Stored, blocks::digest,
};

/// The parameters of a componential grid, in memory of their own.
pub type ComponentialParameters<T> = ComponentialGrid<T, AlignedVec<T>, AXES>;
/// The windows' distributions, all that inference needs.
pub type WindowTable<T> = WindowMeans<T, AlignedVec<T>, AXES>;
type LearnerAndStatistics<T> = (ComponentialLearner<T>, StageStatistics<T>);

/// Bags that are inferred together.
const CHUNK: usize = 64;
/// Share of the fitted counting grid in the start; the rest is random.
const SHARE_OF_GRID: f64 = 0.9;
/// How many times more work an iteration is than one of the counting grid, roughly.
const WORK: f64 = 10.0;

/// [`ComponentialOptions`], checked against what is fitted to.
#[derive(Clone, Debug)]
pub struct ComponentialPlan<T> {
    options: ComponentialOptions,
    totals: BagTotals,
    memory: u128,
    checkpoint_memory: u128,
    grid: GridPlan<T>,
    schedule: Schedule,
}

impl ComponentialOptions {
    /// The plan of a fit to bags of these totals.
    ///
    /// # Errors
    /// Those of [`ComponentialOptions::validate`]; [`EstimatorError::Tokens`]; [`EstimatorError::GridMemory`].
    pub fn check<T: Stored>(&self, totals: BagTotals) -> Result<ComponentialPlan<T>, EstimatorError> {
        self.validate()?;
        let grid = self.grid.check::<T>(totals)?;
        let shape = grid.full_shape()?;
        let learner = shape.grid_len() as u128 + componential::means_len::<T, AXES>(&shape) as u128;
        let (copies, sums) =
            (if self.grid.restarts > 1 { 2 } else { 1 }, componential::sums_len::<T, AXES>(&shape) as u128);
        let elements = learner * copies
            + sums * (1 + totals.waiting_tables() as u128)
            + componential::scratch_len::<T, AXES>(&shape, CHUNK) as u128;
        let (needed, available) =
            (elements * size_of::<T>() as u128, self.grid.memory.or_else(memory::available));
        if available.is_some_and(|available| needed > available) {
            let (extents, features) = (grid.layout().extents().to_vec(), totals.features);
            return Err(EstimatorError::GridMemory { extents, features, needed, available });
        }
        let mut schedule = grid.schedule().clone();
        let em = EmOptions { iterations: self.iterations, tolerance: self.grid.tolerance }.check()?;
        schedule.stages.push(Stage {
            extents: grid.layout().extents().to_vec(),
            initial_phase: InitialPhase::Plain,
            em,
            work: WORK * shape.cells() as f64,
        });
        let checkpoint = (shape.grid_len() as u128 * copies + sums) * size_of::<T>() as u128;
        let (memory, checkpoint_memory) =
            (needed.max(grid.memory()), checkpoint.max(grid.checkpoint_memory()));
        Ok(ComponentialPlan { options: self.clone(), totals, memory, checkpoint_memory, grid, schedule })
    }

    /// The plan of a fit to a corpus. Counts that leave no room for the grid go to a temporary file.
    ///
    /// # Errors
    /// Those of [`ComponentialOptions::check`]; [`EstimatorError::Corpus`] if the file cannot be written.
    pub fn plan<T: Stored>(&self, corpus: &mut Corpus<T>) -> Result<ComponentialPlan<T>, EstimatorError> {
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

impl<T: Stored> ComponentialPlan<T> {
    /// The grid and its window.
    #[must_use]
    pub fn layout(&self) -> &GridLayout {
        self.grid.layout()
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &ComponentialOptions {
        &self.options
    }

    /// Pseudocount: tokens that every feature is given at every cell of the full grid.
    #[must_use]
    pub fn pseudocount(&self) -> f64 {
        self.grid.pseudocount()
    }

    /// Bytes that the fit allocates at a time at most, without checkpoints, bags and words: those of the counting grid that it begins as
    /// ([`GridPlan::memory`]), or of its own tables if they are more.
    #[must_use]
    pub fn memory(&self) -> u128 {
        self.memory
    }

    /// Bytes that a checkpoint has besides while it is in memory ([`GridPlan::checkpoint_memory`]).
    #[must_use]
    pub fn checkpoint_memory(&self) -> u128 {
        self.checkpoint_memory
    }

    /// A learner of the last stage, and statistics.
    fn last(&self, grid: ComponentialParameters<T>) -> Result<LearnerAndStatistics<T>, EstimatorError> {
        let options = componential::Options {
            inference: componential::Inference {
                sweeps: self.options.sweeps,
                tolerance: self.options.sweep_tolerance,
            },
            inner_passes: self.options.grid.inner_passes,
            pseudocount: self.pseudocount(),
            learn_alpha: self.options.learn_concentration,
            ..componential::Options::default()
        };
        let shape = *grid.shape();
        let learner =
            ComponentialStage::Componential(Box::new(componential::Learner::from_grid(grid, options)?));
        let statistics = ComponentialStatistics::Componential(Statistics::allocate(shape, CHUNK)?);
        Ok(self.in_blocks(learner, statistics))
    }

    fn in_blocks(
        &self,
        learner: ComponentialStage<T>,
        statistics: ComponentialStatistics<T>,
    ) -> LearnerAndStatistics<T> {
        let learner = BlockLearner { learner, read_ahead: self.options.grid.read_ahead };
        (learner, BlockStatistics::new(statistics))
    }

    fn is_last(&self, stage: usize) -> bool {
        stage + 1 >= self.schedule.stages.len()
    }
}

impl<T: Stored> Estimator for ComponentialPlan<T> {
    const KIND: &'static str = FittedComponential::<f32>::KIND;
    type Data = Blocks<T>;
    type Scalar = T;
    type Parameters = ComponentialStage<T>;
    type Statistics = StageStatistics<T>;
    type Learner = ComponentialLearner<T>;
    type Pass = BlockPass<T>;
    type Fitted = FittedComponential<T>;

    fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn tokens(&self) -> f64 {
        self.totals.tokens
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        let ComponentialOptions { iterations, concentration, learn_concentration, sweeps, .. } = self.options;
        let mut options = Estimator::options(&self.grid);
        options.extend([
            ("componential_iterations", iterations.to_string()),
            ("concentration", format!("{concentration:?}")),
            ("learn_concentration", learn_concentration.to_string()),
            ("sweeps", sweeps.to_string()),
            ("sweep_tolerance", format!("{:?}", self.options.sweep_tolerance)),
        ]);
        options
    }

    fn digest(&self, bags: &Blocks<T>) -> Result<DataDigest, EstimatorError> {
        digest(bags)
    }

    fn start(
        &self,
        _: &Blocks<T>,
        stage: usize,
        previous: Option<ComponentialLearner<T>>,
        rng: &mut ChaCha8Rng,
    ) -> Result<LearnerAndStatistics<T>, EstimatorError> {
        let previous = match previous.map(|learner| learner.learner) {
            None => None,
            Some(ComponentialStage::Grid(learner)) => Some(learner.into_parts().0),
            Some(ComponentialStage::Componential(_)) => return Err(EstimatorError::Failed),
        };
        if self.is_last(stage) {
            let mut grid =
                ComponentialParameters::uniform(self.grid.full_shape()?, self.options.concentration)?;
            grid.randomize(rng);
            if let Some(fitted) = previous {
                grid.mix(&fitted, SHARE_OF_GRID)?;
            }
            return self.last(grid);
        }
        let (learner, statistics) = self.grid.begin(stage, previous, rng)?;
        Ok(self
            .in_blocks(ComponentialStage::Grid(Box::new(learner)), ComponentialStatistics::Grid(statistics)))
    }

    fn restore(
        &self,
        _: &Blocks<T>,
        stage: usize,
        parameters: &[T],
    ) -> Result<LearnerAndStatistics<T>, EstimatorError> {
        if self.is_last(stage) {
            return self.last(componential_from(self.grid.full_shape()?, parameters)?);
        }
        let (learner, statistics) = self.grid.load(stage, parameters)?;
        Ok(self
            .in_blocks(ComponentialStage::Grid(Box::new(learner)), ComponentialStatistics::Grid(statistics)))
    }

    fn parameters<'a>(&self, learner: &'a ComponentialLearner<T>) -> &'a ComponentialStage<T> {
        &learner.learner
    }

    fn iterate(
        &self,
        iterations: &mut Iterations,
        annealing: Option<&Annealing>,
        bags: &Blocks<T>,
        learner: &mut ComponentialLearner<T>,
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
        learner: &mut ComponentialLearner<T>,
        statistics: &mut Self::Statistics,
    ) -> Result<(), FitError<EstimatorError>> {
        match annealing {
            Some(annealing) => iterations.update_annealed(learner, statistics, annealing),
            None => iterations.update(learner, statistics),
        }
    }

    fn set_stop(&self, statistics: &mut Self::Statistics, stop: &Stop) {
        statistics.set_stop(stop);
    }

    fn finish(
        &self,
        learner: ComponentialLearner<T>,
        summary: FitSummary,
    ) -> Result<FittedComponential<T>, EstimatorError> {
        let ComponentialStage::Componential(learner) = learner.learner else {
            return Err(EstimatorError::Failed);
        };
        let (grid, means) = learner.into_parts();
        let mut fit = self.grid.fit_json(&summary);
        let concentration: f64 = grid.alpha().iter().map(|&alpha| Real::to_f64(alpha)).sum();
        if let Some(fit) = fit.as_object_mut() {
            fit.insert("concentration".into(), json!(concentration));
            fit.insert("learn_concentration".into(), json!(self.options.learn_concentration));
            fit.insert("sweeps".into(), json!(self.options.sweeps));
        }
        let info = ModelInfo { fit, ..ModelInfo::default() };
        Ok(FittedComponential::from_training(info, self.layout().clone(), grid, means, summary))
    }
}

/// A copy of a componential grid in memory of its own.
pub(super) fn componential_from<T: Stored>(
    shape: Shape<AXES>,
    tables: &[T],
) -> Result<ComponentialParameters<T>, GridError> {
    let (cells, features) = (shape.cells(), shape.features());
    let (expected, found) = (shape.grid_len(), tables.len());
    if expected != found {
        return Err(GridError::Length { table: "grid", expected, found });
    }
    let mut storage = AlignedVec::zeroed(expected).map_err(|_| GridError::TooLarge { cells, features })?;
    storage.copy_from_slice(tables);
    ComponentialGrid::new(shape, storage)
}

#[cfg(test)]
mod tests {
    use countgrid_em::BLOCK_BAGS;

    use super::*;
    use crate::GridOptions;

    #[test]
    fn memory_is_that_of_the_tables_and_of_the_scratch() {
        for (restarts, copies) in [(1, 1), (2, 2), (3, 2)] {
            for (bags, tables) in [(10, 1), (3 * BLOCK_BAGS + 1, 3)] {
                let totals = BagTotals { features: 50, bags, non_empty: bags, tokens: 1e4 };
                let options = |memory| {
                    let (extents, window) = (Some(vec![8, 8]), Some(vec![2, 2]));
                    let grid = GridOptions { extents, window, restarts, memory, ..GridOptions::default() };
                    ComponentialOptions { grid, ..ComponentialOptions::default() }
                };
                let plan = options(None).check::<f32>(totals).unwrap();
                let shape = plan.grid.full_shape().unwrap();
                let means = componential::means_len::<f32, AXES>(&shape);
                let sums = componential::sums_len::<f32, AXES>(&shape);
                let scratch = componential::scratch_len::<f32, AXES>(&shape, CHUNK);
                let own = 4 * (copies * (shape.grid_len() + means) + sums * tables + scratch) as u128;
                assert_eq!(plan.memory(), own.max(plan.grid.memory()));
                let checkpoint = 4 * (copies * shape.grid_len() + sums) as u128;
                assert_eq!(plan.checkpoint_memory(), checkpoint.max(plan.grid.checkpoint_memory()));
                // The grid that it begins as takes less where bags are placed one by one.
                assert!(options(Some(own)).check::<f32>(totals).is_ok());
                match options(Some(own - 1)).check::<f32>(totals) {
                    Err(EstimatorError::GridMemory { needed, .. }) => assert_eq!(needed, own),
                    other => panic!("{:?}", other.map(|plan| plan.memory())),
                }
            }
        }
    }
}
