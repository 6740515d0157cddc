//! Topographic maps: bags as points of a plane.

mod cells;
mod file;
mod fitted;
mod latent;
mod options;
mod plan;
mod separation;

pub use self::{
    cells::CellFrame,
    fitted::{FittedTopographic, TopographicPlace},
    latent::LatentSpace,
    options::{BasisKind, Exposure, LatentKind, TopographicOptionError, TopographicOptions},
    plan::{TopographicLearner, TopographicParameters, TopographicPlan},
    separation::{LabelSeparation, SEPARATION_DOCUMENTS, Separation},
};

/// A training of a [`FittedTopographic`], on all bags at once, since it starts from their principal components.
///
/// ```
/// use countgrid_corpus::{BlockLimits, Blocks};
/// use countgrid_counts::Dense;
/// use countgrid_estimators::{BagTotals, TopographicOptions, TopographicTraining, Train};
///
/// let counts = [4.0_f64, 0.0, 1.0, 5.0, 1.0, 0.0, 0.0, 3.0, 3.0, 0.0, 6.0, 2.0];
/// let bags = Blocks::from_bags(&Dense::new(3, &counts).unwrap(), BlockLimits::default())?;
/// let options = TopographicOptions { points: [5, 4], basis_functions: [2, 2], ..TopographicOptions::default() };
/// let plan = options.check(BagTotals::from_blocks(&bags)?)?;
/// let mut training = TopographicTraining::new(plan, bags.gather(|count| count)?)?;
/// training.run(|progress| {
///     println!("{:?}: {:?}", progress.extents, progress.bound_per_token);
///     std::ops::ControlFlow::Continue(())
/// })?;
/// let map = training.finish()?;
/// let places = map.place(&bags)?;
/// assert!(places[0].log_likelihood < 0.0 && places[0].mean.iter().all(|x| x.abs() <= 1.0));
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
///
/// # Source
/// C. Bishop, M. Svensén & C. Williams, GTM: the generative topographic mapping, Neural Computation 10(1), 1998;
/// D. Alvarez-Medina & H. Hidalgo-Silva, ZIP and data document visualization, Workshop on text mining, Sixth SIAM
/// International Conference on Data Mining, 2006, with the corrected EM of [`countgrid_gtm`].
pub type TopographicTraining<T, D> = crate::Training<TopographicPlan<T>, D>;
