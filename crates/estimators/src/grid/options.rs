use countgrid_em::{Annealing, BLOCK_BAGS, EmOptions, StepSize, StepwiseOptions};
use countgrid_grid::PosteriorThreshold;

use crate::{BagTotals, EstimatorError, GridLayout, InitialPhase};

/// Whether a fit begins on a small grid.
///
/// Example: [`GridOptions`](crate::GridOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum GridSchedule {
    /// On a small grid, which is refined: [`countgrid_grid::Shape::schedule`].
    #[default]
    CoarseToFine,
    /// On the full grid at once.
    Single,
}

impl GridSchedule {
    /// Its name in model files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CoarseToFine => "coarse-to-fine",
            Self::Single => "single",
        }
    }
}

/// How the fit of the full grid begins, and with mini-batches that of the coarser ones.
///
/// By default ([`GridStart::for_bags`]) with annealing, after the coarser grids: on six collections (posts, abstracts, titles,
/// sequences, visual words) it keeps neighbours together on the map that a plain fit puts far apart, and fits better to bags that
/// were held out. Annealing the coarser grids instead gains less. Mini-batches are for bags that are many.
///
/// Example: [`GridOptions`](crate::GridOptions).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum GridStart {
    /// With iterations over all bags.
    Plain,
    /// With annealing: posteriors begin flat and sharpen, by equal factors of the inverse temperature.
    Annealed {
        /// Inverse temperature of the first iteration, in `(0, 1]`.
        beta: f64,
        /// Iterations until the inverse temperature is 1.
        iterations: usize,
    },
    /// In mini-batches, in a random order: after the `k`-th the statistics move by `(k + 2)^-0.55` ([`GridStart::STEP_SIZE`]) towards its
    /// own. The coarser grids too are then fitted in mini-batches of this size, in as many passes as make as many updates as they
    /// otherwise have iterations, [`countgrid_grid::COARSE_ITERATIONS`]; and E-steps leave out more windows
    /// ([`GridStart::posterior_threshold`]).
    MiniBatches {
        /// Bags of a mini-batch, about; at least 1.
        size: usize,
        /// Passes over all bags, at least 1.
        passes: usize,
    },
}

impl GridStart {
    /// Default iterations of [`GridStart::Annealed`].
    pub const ANNEALING_ITERATIONS: usize = 20;
    /// Default passes of [`GridStart::MiniBatches`].
    pub const PASSES: usize = 3;
    /// Step sizes of [`GridStart::MiniBatches`]. Bounds of 2,016 posts, 3,891 abstracts and 100,000 drawn titles are as good as with the
    /// exponent 0.7 or better, in fewer passes; those with 0.51 and 0.6 differ from these by less than seeds do.
    pub const STEP_SIZE: StepSize = StepSize::Power { exponent: 0.55, delay: 2.0 };

    /// How a fit of at most so many iterations begins unless it is said: with annealing in the first third of them, at most
    /// [`GridStart::ANNEALING_ITERATIONS`]; plainly where windows are single cells, which flat posteriors make alike for
    /// good ([`Annealing`]), and where there is nothing to fit.
    ///
    /// What a bag says of its place grows with its tokens, so that the first inverse temperature is what leaves four
    /// tokens of a bag of mean length: 4 / length, at least 0.01 and at most 0.5.
    ///
    /// ```
    /// use countgrid_estimators::{BagTotals, GridStart};
    /// let posts = BagTotals { features: 3_000, bags: 2_016, non_empty: 2_000, tokens: 200_000.0 };
    /// assert_eq!(GridStart::for_bags(&posts, 25, 60), GridStart::Annealed { beta: 0.04, iterations: 20 });
    /// assert_eq!(GridStart::for_bags(&posts, 1, 60), GridStart::Plain);
    /// ```
    #[must_use]
    pub fn for_bags(totals: &BagTotals, window_volume: usize, iterations: usize) -> Self {
        const TOKENS: f64 = 4.0;
        let iterations = (iterations / 3).min(Self::ANNEALING_ITERATIONS);
        if window_volume <= 1 || iterations == 0 || totals.tokens <= 0.0 {
            return Self::Plain;
        }
        let beta = (TOKENS * totals.non_empty as f64 / totals.tokens).clamp(0.01, 0.5);
        Self::Annealed { beta, iterations }
    }

    /// Which windows the E-steps of a fit leave out: with mini-batches those whose posterior is more than 10 nats below that of the
    /// bag's best window, less than 1/22,026 of it, on coarser grids and after the passes too; else only those that no rounding
    /// shows. Bounds of 100,000 titles and abstracts are the same to a ten-thousandth of a nat per token, and E-steps of titles take half
    /// the time, as posteriors of short documents are broad.
    ///
    /// ```
    /// use countgrid_estimators::GridStart;
    /// use countgrid_grid::PosteriorThreshold;
    /// let start = GridStart::MiniBatches { size: 4_000, passes: 6 };
    /// assert_eq!(start.posterior_threshold(), PosteriorThreshold::Nats(10.0));
    /// assert_eq!(GridStart::Plain.posterior_threshold(), PosteriorThreshold::Rounding);
    /// ```
    #[must_use]
    pub fn posterior_threshold(self) -> PosteriorThreshold {
        match self {
            Self::MiniBatches { .. } => PosteriorThreshold::Nats(10.0),
            _ => PosteriorThreshold::Rounding,
        }
    }

    /// The phase of a fit to so many bags.
    pub(crate) fn check(self, tolerance: f64, bags: usize) -> Result<InitialPhase, EstimatorError> {
        Ok(match self {
            Self::Plain => InitialPhase::Plain,
            Self::Annealed { beta, iterations } => {
                InitialPhase::Annealed(Annealing::geometric(beta, iterations)?)
            }
            Self::MiniBatches { size: 0, .. } => return Err(EstimatorError::EmptyMiniBatch),
            Self::MiniBatches { size, passes } => {
                let plan = StepwiseOptions { step_size: Self::STEP_SIZE, passes, tolerance }.check()?;
                InitialPhase::Stepwise { plan, size, batches: countgrid_corpus::mini_batch_count(bags, size) }
            }
        })
    }
}

/// What is fitted to bags of counts, and how: a counting grid, or a mixture ([`GridOptions::mixture`]).
///
/// ```
/// use countgrid_estimators::{BagTotals, EstimatorError, GridOptions};
/// let totals = BagTotals { features: 100, bags: 50, non_empty: 50, tokens: 4_000.0 };
/// let options = GridOptions { extents: Some(vec![12, 12]), ..GridOptions::default() };
/// assert_eq!(options.check::<f32>(totals)?.layout().window(), [2, 2]);
///
/// let options = GridOptions { window: Some(vec![9]), ..options };
/// assert!(options.check::<f32>(totals).is_ok());
/// let options = GridOptions { window: Some(vec![13]), ..options };
/// assert!(matches!(options.check::<f32>(totals), Err(EstimatorError::WindowTooLarge { axis: 0, .. })));
/// # Ok::<(), EstimatorError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct GridOptions {
    /// Cells along each axis, up to [`crate::AXES`] axes. By default a square with about half as many cells as bags that
    /// are not empty, 8 x 8 to 64 x 64.
    pub extents: Option<Vec<usize>>,
    /// Cells of a window along each axis, or one number for all axes. By default a sixth of the grid's, 2 to 8.
    pub window: Option<Vec<usize>>,
    /// The most iterations on the full grid, after those of a `start` that is given; one that is not takes its share of them.
    pub iterations: usize,
    /// The fit ends once two iterations in a row change the objective by no more than this share of it, the second by no
    /// more than the first. Finite, not negative.
    pub tolerance: f64,
    /// Seed of the random numbers: the same seed gives the same bits.
    pub seed: u64,
    /// Random starts of which the best is kept, at least 1.
    pub restarts: usize,
    /// Pseudocount: tokens that every feature is given at every cell. By default
    /// [0.01](countgrid_grid::Options::for_corpus), within a fiftieth and a quarter of tokens / (cells × features).
    pub pseudocount: Option<f64>,
    /// Whether the location prior is learned rather than uniform.
    pub learn_prior: bool,
    /// Passes of an M-step over the same expected counts, at least 1.
    pub inner_passes: usize,
    /// Whether the fit begins on a small grid.
    pub schedule: GridSchedule,
    /// How the fit of the full grid begins. By default as [`GridStart::for_bags`] says.
    pub start: Option<GridStart>,
    /// Bytes that the tables of the fit may take. By default what the system reports as available; no limit where it reports
    /// nothing.
    pub memory: Option<u128>,
    /// Whether a thread reads ahead the next block of bags that are in a file; results do not depend on it.
    pub read_ahead: bool,
}

impl Default for GridOptions {
    /// At most 60 iterations, a tolerance of 1e-5, the seed 1, one start, coarse to fine.
    fn default() -> Self {
        Self {
            extents: None,
            window: None,
            iterations: 60,
            tolerance: 1e-5,
            seed: 1,
            restarts: 1,
            pseudocount: None,
            learn_prior: false,
            inner_passes: 1,
            schedule: GridSchedule::default(),
            start: None,
            memory: None,
            read_ahead: true,
        }
    }
}

impl GridOptions {
    /// A mixture of so many distributions over features with weights: a grid whose windows are single cells.
    #[must_use]
    pub fn mixture(self, components: usize) -> Self {
        Self { extents: Some(vec![components]), window: Some(vec![1]), learn_prior: true, ..self }
    }

    /// The same, but where no start is given and more than 32,768 bags are not empty, with mini-batches of one in twenty-five of them, 1,000
    /// to 16,384, in six passes, and then a twelfth of the iterations. Not where windows are single cells.
    ///
    /// A fit to many bags takes a fraction of the time so. With short bags it is as good: of 100,000 drawn titles the bound is that of
    /// annealing or better, of 30,576 real ones neighbours and held-out likelihoods are the same within their errors. With drawn bags of
    /// 100 tokens annealing predicts what is held out better, by half a hundredth of a nat per token. It is no fit in parts
    /// ([`crate::DistributedTraining`]), which is why it is not the default.
    ///
    /// ```
    /// use countgrid_estimators::{BagTotals, GridOptions, GridStart};
    /// let few = BagTotals { features: 3_000, bags: 2_016, non_empty: 2_000, tokens: 200_000.0 };
    /// let many = BagTotals { features: 3_000, bags: 100_000, non_empty: 99_900, tokens: 1_300_000.0 };
    /// let options = GridOptions::default();
    /// assert_eq!(options.clone().for_many(&few), options);
    /// let for_many = options.for_many(&many);
    /// assert_eq!(for_many.start, Some(GridStart::MiniBatches { size: 3_996, passes: 6 }));
    /// assert_eq!(for_many.iterations, 5);
    /// ```
    #[must_use]
    pub fn for_many(self, totals: &BagTotals) -> Self {
        const MANY: usize = 2 * BLOCK_BAGS;
        let bags = totals.non_empty;
        let layout = GridLayout::choose(self.extents.as_deref(), self.window.as_deref(), bags);
        let has_windows = layout.is_ok_and(|layout| layout.window().iter().any(|&side| side > 1));
        if self.start.is_some() || bags <= MANY || !has_windows {
            return self;
        }
        let start = GridStart::MiniBatches { size: (bags / 25).clamp(1_000, BLOCK_BAGS), passes: 6 };
        Self { start: Some(start), iterations: self.iterations.div_ceil(12), ..self }
    }

    /// Checks the settings that do not depend on the data, before anything is read.
    ///
    /// # Errors
    /// [`EstimatorError::Option`] for tolerance, restarts, inverse temperature and passes;
    /// [`EstimatorError::EmptyMiniBatch`]; [`EstimatorError::Grid`] for the pseudocount and the inner passes; those of
    /// [`GridLayout::choose`] for extents and a window that were given.
    pub fn validate(&self) -> Result<(), EstimatorError> {
        EmOptions { iterations: self.iterations, tolerance: self.tolerance }.check()?;
        countgrid_em::Restarts::new(self.restarts, self.seed)?;
        if let Some(start) = self.start {
            start.check(self.tolerance, 1)?;
        }
        if self.pseudocount.is_some_and(|count| !(count >= 0.0 && count.is_finite())) {
            return Err(countgrid_grid::GridError::Pseudocount.into());
        }
        if self.inner_passes == 0 {
            return Err(countgrid_grid::GridError::NoPasses.into());
        }
        if let Some(extents) = &self.extents {
            GridLayout::choose(Some(extents), self.window.as_deref(), 0)?;
        }
        Ok(())
    }
}
