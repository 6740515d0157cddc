//! The traits of models that are trained, and of trainings.

use std::ops::ControlFlow;

use countgrid_em::{Annealing, End, Fit, FitError, Iterations, Learn, StepwiseFit, Stop, Tables, TablesMut};
use countgrid_io::ModelFile;
use rand_chacha::ChaCha8Rng;

use crate::{DataDigest, EstimatorError, FitSummary, Progress, Schedule, Stored};

/// A training in progress, one step per call, so that a terminal, a page or a notebook can show the progress and stop it.
///
/// [`crate::Training`] is that of every model that is fitted by expectation maximisation.
///
/// Example: [`HmmOptions`](crate::HmmOptions).
pub trait Train: Sized {
    /// What comes out.
    type Fitted;

    /// One step: an update of the parameters, or their first evaluation. After the end it does nothing and returns the last
    /// progress again.
    ///
    /// # Errors
    /// Counts too large for the floating-point type, an objective that is not finite, no memory; data that can no longer
    /// be read. The training has then failed, and every further step is an error ([`EstimatorError::Failed`]).
    ///
    /// [`EstimatorError::Stopped`] if the flag of [`Train::set_stop`] is set: the training is then as it was before the step, but
    /// for an update whose evaluation was cut off. It can be written to a checkpoint, stopped and finished, and once it has
    /// another flag it goes on to the bits that it would have had.
    fn step(&mut self) -> Result<Progress, EstimatorError>;

    /// The flag that steps ask before every block of data, or mini-batch, from now on.
    fn set_stop(&mut self, stop: &Stop);

    /// Whether the last step was the last.
    fn is_done(&self) -> bool;

    /// Ends the training with the model as it is. Stages that are left only refine it, so that it has the size that was
    /// wanted; for that there may still be a step to make. It evaluates the model, unless the flag of [`Train::set_stop`] is set:
    /// then nothing reads the data again, and where the free energy of the model is not known, its summary has none.
    fn stop(&mut self);

    /// The fitted model. A training that is not done is stopped.
    ///
    /// # Errors
    /// Those of [`Train::step`].
    fn finish(self) -> Result<Self::Fitted, EstimatorError>;

    /// A checkpoint, from which the same options and data continue to the same bits.
    ///
    /// # Errors
    /// Data that cannot be read (a checkpoint has their digest); [`EstimatorError::Failed`].
    fn checkpoint(&self) -> Result<ModelFile, EstimatorError>;

    /// Steps until the end, or until the observer, which is called after every step, breaks: then the training stops with
    /// the model as it is.
    ///
    /// # Errors
    /// Those of [`Train::step`].
    fn run(&mut self, mut observer: impl FnMut(&Progress) -> ControlFlow<()>) -> Result<(), EstimatorError> {
        while !self.is_done() {
            if observer(&self.step()?).is_break() {
                self.stop();
            }
        }
        Ok(())
    }
}

/// What a step of expectation maximisation returns: where the fit is, and whether it has ended.
pub type Step = Result<(countgrid_em::Progress, Option<End>), FitError<EstimatorError>>;

/// A model's options, checked: how its learner is initialised at every stage of a schedule, and how the fitted model is made
/// from it.
///
/// [`crate::Training`] does the rest.
///
/// Example: [the crate's](crate).
pub trait Estimator {
    /// The name of the model in checkpoints.
    const KIND: &'static str;
    /// What it is fitted to.
    type Data: ?Sized;
    /// Its numbers.
    type Scalar: Stored;
    /// Its parameters.
    type Parameters: Tables<Scalar = Self::Scalar>;
    /// Sums over the data.
    type Statistics: TablesMut<Scalar = Self::Scalar>;
    /// The model that is being fitted. It follows from its parameters to the bit.
    type Learner: Fit<Self::Data> + Learn<Statistics = Self::Statistics, Error = EstimatorError>;
    /// A pass over the data in mini-batches.
    type Pass: MiniBatchPass<Self::Data, Self::Learner>;
    /// What comes out.
    type Fitted;

    /// Restarts, stages and phases.
    fn schedule(&self) -> &Schedule;

    /// Tokens of the data, by which a bound is divided.
    fn tokens(&self) -> f64;

    /// Every option by name and as text, by which a checkpoint is identified.
    fn options(&self) -> Vec<(&'static str, String)>;

    /// The digest by which a checkpoint identifies the data.
    ///
    /// # Errors
    /// Data that cannot be read.
    fn digest(&self, data: &Self::Data) -> Result<DataDigest, EstimatorError>;

    /// The learner of a stage: at random, or from the learner of the stage before, whose memory is freed on the way.
    ///
    /// # Errors
    /// No memory; data that cannot be read.
    fn start(
        &self,
        data: &Self::Data,
        stage: usize,
        previous: Option<Self::Learner>,
        rng: &mut ChaCha8Rng,
    ) -> Result<(Self::Learner, Self::Statistics), EstimatorError>;

    /// A learner of a stage from its parameters, one after the other as in their layout, and empty statistics.
    ///
    /// # Errors
    /// Invalid parameters; no memory.
    fn restore(
        &self,
        data: &Self::Data,
        stage: usize,
        parameters: &[Self::Scalar],
    ) -> Result<(Self::Learner, Self::Statistics), EstimatorError>;

    /// The parameters of a learner.
    fn parameters<'a>(&self, learner: &'a Self::Learner) -> &'a Self::Parameters;

    /// Sets the flag that an E-step with these statistics asks before every block: [`BlockStatistics::set_stop`], or a wrapper's. By
    /// default none, so that a training stops between iterations only.
    ///
    /// [`BlockStatistics::set_stop`]: countgrid_em::BlockStatistics::set_stop
    fn set_stop(&self, statistics: &mut Self::Statistics, stop: &Stop) {
        let _ = (statistics, stop);
    }

    /// One iteration over all data, annealed ([`Iterations::step_annealed`]) where there is a schedule; models that cannot be
    /// annealed have none.
    ///
    /// # Errors
    /// Those of [`Iterations::step`].
    fn iterate(
        &self,
        iterations: &mut Iterations,
        annealing: Option<&Annealing>,
        data: &Self::Data,
        learner: &mut Self::Learner,
        statistics: &mut Self::Statistics,
    ) -> Step {
        let _ = annealing;
        iterations.step(learner, data, statistics)
    }

    /// The first half of [`Estimator::iterate`], before an E-step that is computed elsewhere: [`Iterations::update`], or
    /// [`Iterations::update_annealed`] where there is a schedule.
    ///
    /// # Errors
    /// Those of [`Iterations::update`].
    fn update(
        &self,
        iterations: &mut Iterations,
        annealing: Option<&Annealing>,
        learner: &mut Self::Learner,
        statistics: &mut Self::Statistics,
    ) -> Result<(), FitError<EstimatorError>> {
        let _ = annealing;
        iterations.update(learner, statistics)
    }

    /// The fitted model, from the best learner.
    ///
    /// # Errors
    /// No memory.
    fn finish(&self, learner: Self::Learner, summary: FitSummary) -> Result<Self::Fitted, EstimatorError>;
}

/// A pass over data in mini-batches, whose order follows from a seed.
///
/// Example: [the crate's](crate).
pub trait MiniBatchPass<D: ?Sized, L: Learn<Error = EstimatorError>> {
    /// A pass in mini-batches of about `size`, after its first `done`.
    ///
    /// # Errors
    /// Data that cannot be read.
    fn begin(data: &D, size: usize, seed: u64, done: usize) -> Result<Self, EstimatorError>
    where
        Self: Sized;

    /// Learns from the next mini-batch.
    ///
    /// # Errors
    /// Those of [`StepwiseFit::step`]; [`FitError::NoBatch`] if there is none.
    fn step(
        &mut self,
        data: &D,
        fit: &mut StepwiseFit,
        learner: &mut L,
        statistics: &mut L::Statistics,
    ) -> Step;
}

/// For a model that is not fitted in mini-batches.
///
/// Example: [`HarmoniumTraining`](crate::HarmoniumTraining).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMiniBatches;

impl<D: ?Sized, L: Learn<Error = EstimatorError>> MiniBatchPass<D, L> for NoMiniBatches {
    fn begin(_: &D, _: usize, _: u64, _: usize) -> Result<Self, EstimatorError> {
        Ok(Self)
    }

    fn step(&mut self, _: &D, fit: &mut StepwiseFit, _: &mut L, _: &mut L::Statistics) -> Step {
        Err(FitError::NoBatch { pass: fit.state().pass })
    }
}
