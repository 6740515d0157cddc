//! A training whose E-steps are computed elsewhere.

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_em::{Annealing, End, FitError, Learn, PartialSum, Progress as EmProgress, Tables, TablesMut};
use countgrid_io::ModelFile;

use super::{
    DistributedError, FitLeaves, LeafSums,
    leaves::{NodeSums, node_sums},
};
use crate::{
    DataDigest, Estimator, EstimatorError, InitialPhase, Phase, Progress, Stored, Train, Training,
    training::{Fit, Fitting, Run, State},
};

/// A training by expectation maximisation whose E-steps are computed in parts, here or elsewhere: by those who have the same
/// state, each of some leaves of the documents. Every stage, restart and temperature is as in a [`Training`], whose bits it has.
///
/// ```
/// use countgrid_corpus::{BlockLimits, Blocks};
/// use countgrid_counts::Dense;
/// use countgrid_estimators::{
///     BagTotals, DistributedTraining, GridOptions, GridTraining, Train, leaf_digests,
/// };
///
/// let counts: Vec<f32> = (0..60_000).map(|i| (i * 7 % 5) as f32).collect();
/// let bags = Blocks::from_bags(&Dense::new(3, &counts).unwrap(), BlockLimits::default())?; // two leaves
/// let options = GridOptions { extents: Some(vec![4]), window: Some(vec![2]), iterations: 3, ..GridOptions::default() };
/// let plan = || options.check::<f32>(BagTotals::from_blocks(&bags)?);
///
/// let mut training = DistributedTraining::new(plan()?, 3, &leaf_digests(&bags)?)?;
/// while !training.is_done() {
///     let sums = training.partial_sums(&bags, 0, "no file")?; // of all leaves, or some elsewhere
///     training.step(&sums)?;
/// }
/// let mut whole = GridTraining::new(plan()?, &bags)?;
/// whole.run(|_| std::ops::ControlFlow::Continue(()))?;
/// assert_eq!(training.finish()?.grid().tables(), whole.finish()?.grid().tables());
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
pub struct DistributedTraining<E: Estimator, D> {
    training: Training<E, D>, // of no data
    digests: Vec<u64>,        // of the leaves
}

impl<E: Estimator, D> std::fmt::Debug for DistributedTraining<E, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let leaves = self.digests.len();
        f.debug_struct("DistributedTraining")
            .field("training", &self.training)
            .field("leaves", &leaves)
            .finish()
    }
}

impl<T, E> DistributedTraining<E, Blocks<T>>
where
    T: Stored,
    E: Estimator<Data = Blocks<T>, Scalar = T>,
    E::Learner: FitLeaves<Blocks<T>>,
{
    /// At the first model, on documents with so many features and these [digests](crate::leaf_digests) of leaves.
    ///
    /// # Errors
    /// [`DistributedError::MiniBatches`], [`DistributedError::Nothing`]; no memory.
    pub fn new(plan: E, features: usize, digests: &[u64]) -> Result<Self, EstimatorError> {
        let mut new = Self::before(plan, features, digests)?;
        new.update()?;
        Ok(new)
    }

    /// Goes on from the [checkpoint](DistributedTraining::checkpoint) of the same plan and documents.
    ///
    /// # Errors
    /// Those of [`Training::resume`] and [`DistributedTraining::new`].
    pub fn resume(
        plan: E,
        features: usize,
        digests: &[u64],
        file: ModelFile,
    ) -> Result<Self, EstimatorError> {
        let Self { training, digests } = Self::before(plan, features, digests)?;
        let mut resumed = Self { training: training.restored(file)?, digests };
        if !resumed.is_done() {
            resumed.update()?; // which was made, but for the inverse temperature
        }
        Ok(resumed)
    }

    fn before(plan: E, features: usize, digests: &[u64]) -> Result<Self, EstimatorError> {
        if digests.is_empty() {
            return Err(DistributedError::Nothing.into());
        }
        let stepwise = |phase: &InitialPhase| matches!(phase, InitialPhase::Stepwise { .. });
        if plan.schedule().stages.iter().any(|stage| stepwise(&stage.initial_phase)) {
            return Err(DistributedError::MiniBatches.into());
        }
        let none = BlocksBuilder::new(features, BlockLimits::in_memory())?.finish()?;
        let training = Training::new(plan, none)?;
        let mut digest = DataDigest::new(features);
        digests.iter().for_each(|&leaf| digest.add([leaf]));
        let _new = training.digest.set(digest);
        Ok(Self { training, digests: digests.to_vec() })
    }

    /// Whether the last step was the last.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.training.done
    }

    /// The progress of the last step, if there was one.
    #[must_use]
    pub fn last(&self) -> Option<&Progress> {
        self.training.last()
    }

    /// Updates the model from the sums before, or begins the next stage or start.
    fn update(&mut self) -> Result<(), EstimatorError> {
        let training = &mut self.training;
        let Some(run) = training.run.take().or_else(|| training.next_run()) else {
            training.done = true;
            return Ok(());
        };
        let mut run = training.begin_stage(run)?;
        let annealing = annealing(&training.plan, &run)?;
        let Fitting { learner, statistics, phase, .. } = fitting(&mut run)?;
        let Fit::Iterations(iterations) = phase else { return Err(EstimatorError::Failed) };
        training.plan.update(iterations, annealing.as_ref(), learner, statistics)?;
        training.run = Some(run);
        Ok(())
    }

    /// The sums of documents under the present model, as few nodes as there can be. The first bag is the first of leaf `first_leaf`;
    /// `state` names the state in the sums, the checksum of its file.
    ///
    /// # Errors
    /// [`DistributedError::Ended`]; [`DistributedError::Documents`] and [`DistributedError::NoLeaf`] for documents that are not
    /// those of the training; those of an E-step.
    pub fn partial_sums(
        &mut self,
        bags: &Blocks<T>,
        first_leaf: usize,
        state: &str,
    ) -> Result<LeafSums<T>, EstimatorError> {
        self.check_documents(bags, first_leaf)?;
        let parts = self.leaf_sums(bags, first_leaf)?.into_iter().map(|part| {
            let (first, blocks, free_energy) = (part.first_block(), part.blocks(), part.free_energy());
            let sums = node_sums(part.into_statistics().buffer().to_vec())?;
            Ok::<_, EstimatorError>(PartialSum::new(first, blocks, sums, free_energy)?)
        });
        LeafSums::new(state.to_owned(), parts.collect::<Result<_, _>>()?)
    }

    /// The sums of documents that are known to be those of the training, as few nodes as there can be.
    pub(super) fn leaf_sums(
        &mut self,
        bags: &Blocks<T>,
        first_leaf: usize,
    ) -> Result<Vec<PartialSum<NodeSums<T>>>, EstimatorError> {
        let run = self.training.run.as_mut().ok_or(DistributedError::Ended)?;
        let Fitting { learner, statistics, .. } = fitting(run)?;
        learner.leaf_sums(bags, first_leaf, statistics)
    }

    /// That documents are those of the training.
    pub(super) fn check_documents(&self, bags: &Blocks<T>, first_leaf: usize) -> Result<(), EstimatorError> {
        let leaves = self.digests.len();
        for (leaf, digest) in (first_leaf..).zip(crate::leaf_digests(bags)?) {
            match self.digests.get(leaf) {
                None => return Err(DistributedError::NoLeaf { leaf, leaves }.into()),
                Some(&expected) if expected != digest => {
                    return Err(DistributedError::Documents { leaf }.into());
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Evaluates the model by the sums of all leaves under it, and updates it, or begins the next stage or start, unless the
    /// training has ended.
    ///
    /// # Errors
    /// [`DistributedError::Ended`]; [`DistributedError::Missing`], [`DistributedError::NoLeaf`] and [`DistributedError::Length`],
    /// after which the training is as it was; those of [`Train::step`], after which it cannot go on.
    pub fn step(&mut self, sums: &LeafSums<T>) -> Result<Progress, EstimatorError> {
        if self.is_done() {
            return Err(DistributedError::Ended.into());
        }
        self.step_by(&sums.total(self.digests.len())?)
    }

    /// [`DistributedTraining::step`] by the sum of all leaves.
    pub(super) fn step_by(&mut self, total: &PartialSum<NodeSums<T>>) -> Result<Progress, EstimatorError> {
        let training = &mut self.training;
        let run = training.run.as_mut().ok_or(EstimatorError::Failed)?;
        let annealing = annealing(&training.plan, run)?;
        let Fitting { learner, statistics, updates, phase } = fitting(run)?;
        let (expected, found) = (statistics.buffer().len(), total.statistics().buffer().len());
        if expected != found {
            return Err(DistributedError::Length { expected, found }.into());
        }
        let Fit::Iterations(iterations) = phase else { return Err(EstimatorError::Failed) };
        statistics.buffer_mut().copy_from_slice(total.statistics().buffer());
        let step: Result<(EmProgress, Option<End>), FitError<EstimatorError>> =
            iterations.evaluate(total.free_energy(), learner.penalty(), annealing.as_ref());
        let (at, end) = step?;
        let updates = *updates + at.iteration;
        let phase = if at.beta == 1.0 { Phase::Plain } else { Phase::Annealed };
        let run = training.run.take().ok_or(EstimatorError::Failed)?;
        training.conclude(run, phase, updates, &at, end);
        if !self.is_done() {
            self.update()?;
        }
        self.training.last.clone().ok_or(EstimatorError::Failed)
    }

    /// A checkpoint, from which the same plan and documents go on: the model that is to be evaluated, without statistics.
    ///
    /// # Errors
    /// None but for memory.
    pub fn checkpoint(&self) -> Result<ModelFile, EstimatorError> {
        self.training.checkpoint()
    }

    /// The fitted model.
    ///
    /// # Errors
    /// [`DistributedError::NotEnded`]; no memory.
    pub fn finish(self) -> Result<E::Fitted, EstimatorError> {
        if self.is_done() { self.training.finish() } else { Err(DistributedError::NotEnded.into()) }
    }
}

/// The stage that a run is at.
fn fitting<E: Estimator>(run: &mut Run<E>) -> Result<&mut Fitting<E>, EstimatorError> {
    match &mut run.state {
        State::At(fitting) => Ok(fitting),
        State::Between(_) => Err(EstimatorError::Failed),
    }
}

/// The schedule of temperatures of the stage that a run is at, if it has one.
fn annealing<E: Estimator>(plan: &E, run: &Run<E>) -> Result<Option<Annealing>, EstimatorError> {
    let stage = plan.schedule().stages.get(run.stage).ok_or(EstimatorError::Failed)?;
    Ok(match &stage.initial_phase {
        InitialPhase::Annealed(annealing) => Some(*annealing),
        _ => None,
    })
}
