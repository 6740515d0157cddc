//! Componential counting grids, which begin as counting grids.

mod file;
mod fitted;
mod learner;
mod options;
mod plan;

pub use self::{
    fitted::{BagInference, FittedComponential},
    learner::{ComponentialLearner, ComponentialStage, ComponentialStatistics},
    options::ComponentialOptions,
    plan::{ComponentialParameters, ComponentialPlan, WindowTable},
};

/// A training of a [`FittedComponential`].
///
/// ```
/// use countgrid_corpus::{BlockLimits, BlocksBuilder};
/// use countgrid_estimators::{
///     BagTotals, ComponentialOptions, ComponentialTraining, FeatureKind, GridOptions, Train,
/// };
///
/// let mut builder = BlocksBuilder::new(4, BlockLimits::default())?;
/// for t in 0..30 {
///     builder.push([(t % 4, 5.0_f32), ((t + 1) % 4, 4.0)])?;
/// }
/// let bags = builder.finish()?;
/// let grid = GridOptions { extents: Some(vec![12]), window: Some(vec![3]), ..GridOptions::default() };
/// let plan = ComponentialOptions { grid, ..ComponentialOptions::default() }.check(BagTotals::from_blocks(&bags)?)?;
/// let mut training = ComponentialTraining::new(plan, &bags)?;
/// training.run(|_| std::ops::ControlFlow::Continue(()))?;
/// let model = training.finish()?;
/// let proportions = model.features(FeatureKind::Posterior, &bags)?;
/// assert!((proportions.row(0).iter().sum::<f64>() - 1.0).abs() < 1e-5);
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
pub type ComponentialTraining<T, D> = crate::Training<ComponentialPlan<T>, D>;
