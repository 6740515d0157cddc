//! Trainings behind a pointer, whose code is compiled in this crate.

use std::fmt;

use countgrid_corpus::Blocks;
use countgrid_counts::CsrBuf;
use countgrid_em::Stop;
use countgrid_io::ModelFile;

#[cfg(feature = "serde")]
use crate::distributed::{self, DistributedOptions, DistributedStart};
use crate::{
    ComponentialPlan, Estimator, EstimatorError, FittedComponential, FittedGrid, FittedHarmonium, FittedLda,
    FittedTopographic, GridPlan, HarmoniumData, HarmoniumPlan, HarmoniumTraining, LdaPlan, Progress, Stored,
    TopographicPlan, Train, Training,
};

/// A training of which only what comes out is known, as a plan's `train` returns it.
///
/// A [`Training`] is compiled wherever it is used, with all loops of its model, for it is generic over data and scalar; this one
/// was compiled with this crate, for `f32` and `f64`.
///
/// ```
/// use countgrid_corpus::{BlockLimits, BlocksBuilder};
/// use countgrid_estimators::{BagTotals, GridOptions, Train};
///
/// let mut builder = BlocksBuilder::new(4, BlockLimits::default())?;
/// for t in 0..30 {
///     builder.push([(t % 4, 5.0_f32), ((t + 1) % 4, 4.0)])?;
/// }
/// let bags = builder.finish()?;
/// let options = GridOptions { extents: Some(vec![8]), window: Some(vec![2]), ..GridOptions::default() };
/// let plan = options.check::<f32>(BagTotals::from_blocks(&bags)?)?;
/// let mut training = plan.clone().train(&bags, None)?;
/// training.step()?;
/// let mut again = plan.train(&bags, Some(training.checkpoint()?))?; // from a checkpoint
/// while !again.is_done() {
///     again.step()?;
/// }
/// assert_eq!(again.finish()?.shape().cells(), 8);
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
pub struct BoxedTraining<'a, F>(Box<dyn Steps<Fitted = F> + 'a>);

impl<F> fmt::Debug for BoxedTraining<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxedTraining").field("done", &self.0.is_done()).finish_non_exhaustive()
    }
}

/// [`Train`] behind a pointer.
trait Steps {
    type Fitted;
    fn step(&mut self) -> Result<Progress, EstimatorError>;
    fn set_stop(&mut self, stop: &Stop);
    fn is_done(&self) -> bool;
    fn stop(&mut self);
    fn finish(self: Box<Self>) -> Result<Self::Fitted, EstimatorError>;
    fn checkpoint(&self) -> Result<ModelFile, EstimatorError>;
}

impl<M: Train> Steps for M {
    type Fitted = M::Fitted;

    fn step(&mut self) -> Result<Progress, EstimatorError> {
        Train::step(self)
    }

    fn set_stop(&mut self, stop: &Stop) {
        Train::set_stop(self, stop);
    }

    fn is_done(&self) -> bool {
        Train::is_done(self)
    }

    fn stop(&mut self) {
        Train::stop(self);
    }

    fn finish(self: Box<Self>) -> Result<M::Fitted, EstimatorError> {
        Train::finish(*self)
    }

    fn checkpoint(&self) -> Result<ModelFile, EstimatorError> {
        Train::checkpoint(self)
    }
}

impl<F> Train for BoxedTraining<'_, F> {
    type Fitted = F;

    fn step(&mut self) -> Result<Progress, EstimatorError> {
        self.0.step()
    }

    fn set_stop(&mut self, stop: &Stop) {
        self.0.set_stop(stop);
    }

    fn is_done(&self) -> bool {
        self.0.is_done()
    }

    fn stop(&mut self) {
        self.0.stop();
    }

    fn finish(self) -> Result<F, EstimatorError> {
        self.0.finish()
    }

    fn checkpoint(&self) -> Result<ModelFile, EstimatorError> {
        self.0.checkpoint()
    }
}

type Boxed<'a, F> = Result<BoxedTraining<'a, F>, EstimatorError>;

/// Of a plan that begins, or goes on from a checkpoint.
fn boxed<'a, E: Estimator + 'a>(
    plan: E,
    data: &'a E::Data,
    checkpoint: Option<ModelFile>,
) -> Boxed<'a, E::Fitted> {
    Ok(BoxedTraining(match checkpoint {
        None => Box::new(Training::new(plan, data)?),
        Some(file) => Box::new(Training::resume(plan, data, file)?),
    }))
}

fn boxed_harmonium<T: Stored>(
    plan: HarmoniumPlan,
    data: &HarmoniumData<T>,
    checkpoint: Option<ModelFile>,
) -> Boxed<'_, FittedHarmonium<T>> {
    Ok(BoxedTraining(match checkpoint {
        None => Box::new(HarmoniumTraining::new(plan, data)?),
        Some(file) => Box::new(HarmoniumTraining::resume(plan, data, file)?),
    }))
}

/// The trainings of a scalar: functions that are not generic, so that they are compiled here.
pub trait Trainings: Sized {
    fn grid(
        plan: GridPlan<Self>,
        bags: &Blocks<Self>,
        checkpoint: Option<ModelFile>,
    ) -> Boxed<'_, FittedGrid<Self>>;
    fn componential(
        plan: ComponentialPlan<Self>,
        bags: &Blocks<Self>,
        checkpoint: Option<ModelFile>,
    ) -> Boxed<'_, FittedComponential<Self>>;
    fn topographic(
        plan: TopographicPlan<Self>,
        bags: &CsrBuf<Self>,
        checkpoint: Option<ModelFile>,
    ) -> Boxed<'_, FittedTopographic<Self>>;
    fn lda(plan: LdaPlan<Self>, bags: &Blocks<Self>, checkpoint: Option<ModelFile>) -> Boxed<'_, FittedLda>;
    fn harmonium(
        plan: HarmoniumPlan,
        data: &HarmoniumData<Self>,
        checkpoint: Option<ModelFile>,
    ) -> Boxed<'_, FittedHarmonium<Self>>;
    #[cfg(feature = "serde")]
    fn start(options: &DistributedOptions, from: &DistributedStart) -> Result<ModelFile, EstimatorError>;
}

macro_rules! trainings {
    ($($scalar:ty),*) => {$(
        impl Trainings for $scalar {
            #[inline(never)]
            fn grid(
                plan: GridPlan<Self>,
                bags: &Blocks<Self>,
                checkpoint: Option<ModelFile>,
            ) -> Boxed<'_, FittedGrid<Self>> {
                boxed(plan, bags, checkpoint)
            }

            #[inline(never)]
            fn componential(
                plan: ComponentialPlan<Self>,
                bags: &Blocks<Self>,
                checkpoint: Option<ModelFile>,
            ) -> Boxed<'_, FittedComponential<Self>> {
                boxed(plan, bags, checkpoint)
            }

            #[inline(never)]
            fn topographic(
                plan: TopographicPlan<Self>,
                bags: &CsrBuf<Self>,
                checkpoint: Option<ModelFile>,
            ) -> Boxed<'_, FittedTopographic<Self>> {
                boxed(plan, bags, checkpoint)
            }

            #[inline(never)]
            fn lda(
                plan: LdaPlan<Self>,
                bags: &Blocks<Self>,
                checkpoint: Option<ModelFile>,
            ) -> Boxed<'_, FittedLda> {
                boxed(plan, bags, checkpoint)
            }

            #[inline(never)]
            fn harmonium(
                plan: HarmoniumPlan,
                data: &HarmoniumData<Self>,
                checkpoint: Option<ModelFile>,
            ) -> Boxed<'_, FittedHarmonium<Self>> {
                boxed_harmonium(plan, data, checkpoint)
            }

            #[cfg(feature = "serde")]
            #[inline(never)]
            fn start(options: &DistributedOptions, from: &DistributedStart) -> Result<ModelFile, EstimatorError> {
                distributed::first_state::<Self>(options, from)
            }
        }
    )*};
}

trainings!(f32, f64);

macro_rules! train {
    ($($plan:ident, $data:ident => $fitted:ty, $method:ident;)*) => {$(
        impl<T: Stored> $plan<T> {
            /// A training that begins, or goes on from a checkpoint with the bits that it would have had.
            ///
            /// # Errors
            /// [`EstimatorError::Option`] for a schedule without restarts; of a checkpoint those of [`Training::resume`].
            ///
            /// Example: [`BoxedTraining`].
            pub fn train(
                self,
                data: &$data<T>,
                checkpoint: Option<ModelFile>,
            ) -> Result<BoxedTraining<'_, $fitted>, EstimatorError> {
                T::$method(self, data, checkpoint)
            }
        }
    )*};
}

train! {
    GridPlan, Blocks => FittedGrid<T>, grid;
    ComponentialPlan, Blocks => FittedComponential<T>, componential;
    TopographicPlan, CsrBuf => FittedTopographic<T>, topographic;
    LdaPlan, Blocks => FittedLda, lda;
}

impl HarmoniumPlan {
    /// A training that begins, or goes on from a checkpoint with the bits that it would have had.
    ///
    /// # Errors
    /// Those of [`HarmoniumTraining::new`]; of a checkpoint those of [`HarmoniumTraining::resume`].
    ///
    /// Example: [`BoxedTraining`].
    pub fn train<T: Stored>(
        self,
        data: &HarmoniumData<T>,
        checkpoint: Option<ModelFile>,
    ) -> Result<BoxedTraining<'_, FittedHarmonium<T>>, EstimatorError> {
        T::harmonium(self, data, checkpoint)
    }
}
