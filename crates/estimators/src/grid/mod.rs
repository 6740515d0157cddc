//! Counting grids, and mixtures as grids whose windows are single cells.

mod features;
mod file;
mod fitted;
mod labels;
pub(crate) mod memory;
mod options;
mod placement;
mod plan;
mod slots;

pub(crate) use self::{
    file::{info_and_layout, labels_of, window_table, write_labels},
    fitted::aligned,
    labels::LabelCollector,
    placement::PositionReader,
    plan::grid_from,
};
pub use self::{
    fitted::FittedGrid,
    labels::GridLabels,
    options::{GridOptions, GridSchedule, GridStart},
    placement::{CircularMean, GridPlacement, GridPosition},
    plan::{GridInference, GridLearner, GridParameters, GridPlan},
};

/// A training of a [`FittedGrid`].
///
/// ```
/// use std::ops::ControlFlow;
/// use countgrid_corpus::{BlockLimits, BlocksBuilder};
/// use countgrid_estimators::{BagTotals, GridOptions, GridTraining, Train};
///
/// let mut builder = BlocksBuilder::new(4, BlockLimits::default())?;
/// for t in 0..30 {
///     builder.push([(t % 4, 5.0_f32), ((t + 1) % 4, 1.0)])?;
/// }
/// let bags = builder.finish()?;
/// let options = GridOptions { extents: Some(vec![12]), window: Some(vec![3]), ..GridOptions::default() };
/// let plan = options.check(BagTotals::from_blocks(&bags)?)?;
/// let mut training = GridTraining::new(plan, &bags)?;
/// training.run(|progress| {
///     println!("{:?}: {:?}", progress.extents, progress.bound_per_token);
///     ControlFlow::Continue(())
/// })?;
/// let grid = training.finish()?;
/// assert!(grid.place(&bags)?[0].position.as_ref().is_some_and(|position| position.probability > 0.3));
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
pub type GridTraining<T, D> = crate::Training<GridPlan<T>, D>;
