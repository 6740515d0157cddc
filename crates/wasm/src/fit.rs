use countgrid_em::{EmOptions, EmPlan, End, Iterations, Progress, restart_seed};
use countgrid_grid::{COARSE_ITERATIONS, Grid, Learner, Options, Shape, Statistics};
use countgrid_math::AlignedVec;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    Corpus, CountingGrid, Error,
    layout::{AXES, Layout},
};

/// What is fitted and how. What is not said is as `countgrid fit` does it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Cells along each axis, up to [`crate::AXES`] axes. By itself a square with about half as many cells as bags.
    pub extents: Option<Vec<usize>>,
    /// Cells of a window along each axis, one number for all alike. By itself a sixth of the extents, 2 to 8.
    pub window: Option<Vec<usize>>,
    /// At most so many iterations on the full grid.
    pub iterations: usize,
    /// The fit ends once two iterations in a row change the objective by no more than this share of it.
    pub tolerance: f64,
    /// Start of the random numbers.
    pub seed: u64,
    /// Tokens that every feature is given at every cell beforehand.
    pub pseudocount: Option<f64>,
    /// Whether it is learned how likely each place is.
    pub learn_prior: bool,
    /// Passes of an M-step over the same expected counts.
    pub inner_passes: usize,
    /// Whether the fit begins on a small grid and refines it.
    pub coarse_to_fine: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            extents: None,
            window: None,
            iterations: 60,
            tolerance: 1e-5,
            seed: 1,
            pseudocount: None,
            learn_prior: false,
            inner_passes: 1,
            coarse_to_fine: true,
        }
    }
}

type Parameters = Grid<f32, AlignedVec<f32>, AXES>;

/// A fit in progress, one iteration a step, so that a page can show how far it is.
///
/// For the same bags, settings and seed the grid has the same bits as the one that `countgrid fit` writes.
///
/// ```
/// use countgrid_wasm::{Corpus, Fit, Settings};
///
/// let corpus = Corpus::new(vec![0, 2, 4, 6], vec![0, 1, 1, 2, 0, 3], vec![5.0, 1.0, 6.0, 2.0, 1.0, 5.0], 4)?;
/// let settings = Settings { extents: Some(vec![12]), window: Some(vec![3]), ..Settings::default() };
/// let mut fit = Fit::new(&corpus, &settings)?;
/// let first = fit.step()?; // nats per token, before the first update
/// while !fit.is_done() {
///     fit.step()?;
/// }
/// assert!(fit.bound_per_token() > Some(first));
/// assert_eq!(fit.finish()?.extents(), [12]);
/// # Ok::<(), countgrid_wasm::Error>(())
/// ```
#[derive(Debug)]
pub struct Fit {
    corpus: Corpus,
    settings: Settings,
    layout: Layout,
    chunk: usize,
    levels: Vec<Shape<AXES>>, // the smallest first, at least one
    level: usize,
    state: State,
    rng: ChaCha8Rng,
    last: Option<Progress>,
    end: Option<End>, // of the last level
}

/// Where a fit is between two steps.
#[derive(Debug)]
enum State {
    /// Before the first step of the level, after the level before.
    Between(Option<Box<Parameters>>),
    /// On a level.
    On(Box<Level>),
    /// After an error.
    Failed(Error),
}

/// A grid that is being fitted.
#[derive(Debug)]
struct Level {
    learner: Learner<f32, AlignedVec<f32>, AXES>,
    statistics: Statistics<f32, AlignedVec<f32>, AXES>,
    iterations: Iterations,
}

impl Fit {
    /// Nothing is computed before the first step.
    ///
    /// # Errors
    /// Settings that make no sense; a corpus without tokens; a grid for which a page has no memory.
    pub fn new(corpus: &Corpus, settings: &Settings) -> Result<Self, Error> {
        let tokens = corpus.tokens();
        if !(tokens > 0.0 && tokens.is_finite()) {
            return Err(Error::new(format_args!(
                "the counts add up to {tokens}; a fit needs some tokens, and a finite number of them"
            )));
        }
        let (extents, window) = (settings.extents.as_deref(), settings.window.as_deref());
        let layout = Layout::choose(extents, window, corpus.nonempty());
        // Grid, histograms and sums, and the coarser grid while this one begins.
        let tables = |shape: &Shape<AXES>| {
            2 * shape.grid_len() as u128
                + shape.histograms_len::<f32>() as u128
                + shape.sums_len::<f32>() as u128
        };
        let (shape, chunk) = layout.shape(corpus.features(), tables)?;
        let levels = if settings.coarse_to_fine { shape.schedule().collect() } else { vec![shape] };
        let fit = Self {
            corpus: corpus.clone(),
            settings: settings.clone(),
            layout,
            chunk,
            levels,
            level: 0,
            state: State::Between(None),
            rng: ChaCha8Rng::seed_from_u64(restart_seed(settings.seed, 0)),
            last: None,
            end: None,
        };
        fit.plan()?;
        // Tried out on the least grid there is, so that bad options are known before the first step.
        let tiny = Shape::new(countgrid_torus::Windows::from_slices(&[1], &[1])?, 1)?;
        Learner::from_grid(Grid::<f32, _, AXES>::uniform(tiny)?, fit.options(&shape))?;
        Ok(fit)
    }

    /// One iteration: an update of the grid, but for the first of a level, and the log evidence of all bags per
    /// token, in nats, of what came out. After the end it is only told again.
    ///
    /// # Errors
    /// Counts too large for `f32`; no memory. The fit has then failed, and every further step says so again.
    pub fn step(&mut self) -> Result<f64, Error> {
        if !self.is_done() {
            if let State::Failed(error) = &self.state {
                return Err(error.clone());
            }
            if let Err(error) = self.iterate() {
                self.state = State::Failed(error.clone());
                return Err(error);
            }
        }
        Ok(self.bound_per_token().unwrap_or(0.0)) // there is one after a step
    }

    fn iterate(&mut self) -> Result<(), Error> {
        self.start_level()?;
        let State::On(level) = &mut self.state else { return Ok(()) };
        let Level { learner, statistics, iterations } = level.as_mut();
        let (progress, end) = iterations.step(learner, &self.corpus.bags.as_view(), statistics)?;
        self.last = Some(progress);
        if end.is_some() {
            if self.level + 1 < self.levels.len() {
                self.finish_level();
            } else {
                self.end = end;
            }
        }
        Ok(())
    }

    /// Sets a level up, unless it is.
    fn start_level(&mut self) -> Result<(), Error> {
        let (State::Between(coarse), Some(&shape)) = (&mut self.state, self.levels.get(self.level)) else {
            return Ok(());
        };
        let grid = Grid::initial(shape, coarse.as_deref(), &mut self.rng)?;
        *coarse = None; // its memory is needed
        let learner = Learner::from_grid(grid, self.options(&shape))?;
        let statistics = Statistics::allocate(shape, self.chunk)?;
        let iterations = Iterations::new(self.plan()?);
        self.state = State::On(Box::new(Level { learner, statistics, iterations }));
        Ok(())
    }

    /// Leaves a level for the next.
    fn finish_level(&mut self) {
        if let State::On(level) = std::mem::replace(&mut self.state, State::Between(None)) {
            self.state = State::Between(Some(Box::new(level.learner.into_parts().0)));
            self.level += 1;
        }
    }

    fn plan(&self) -> Result<EmPlan, Error> {
        let last = self.level + 1 == self.levels.len();
        let iterations = if last { self.settings.iterations } else { COARSE_ITERATIONS };
        Ok(EmOptions { iterations, tolerance: self.settings.tolerance }.check()?)
    }

    fn options(&self, shape: &Shape<AXES>) -> Options {
        let defaults = Options::for_corpus(shape, self.corpus.tokens(), self.corpus.len());
        Options {
            inner_passes: self.settings.inner_passes,
            learn_prior: self.settings.learn_prior,
            pseudocount: self.settings.pseudocount.unwrap_or(defaults.pseudocount),
            ..defaults
        }
    }

    /// Whether the last step was the last.
    pub fn is_done(&self) -> bool {
        self.end.is_some()
    }

    /// Whether it ended because nothing changed any more.
    pub fn has_converged(&self) -> bool {
        self.end == Some(End::Converged)
    }

    /// Log evidence of all bags per token, in nats, after the last step.
    pub fn bound_per_token(&self) -> Option<f64> {
        self.last.map(|last| -last.free_energy / self.corpus.tokens())
    }

    /// Updates of the present grid so far.
    pub fn iteration(&self) -> usize {
        self.last.map_or(0, |last| last.iteration)
    }

    /// Cells along each axis of the grid that the next step fits: coarser ones come first.
    pub fn extents(&self) -> Vec<usize> {
        let Some(shape) = self.levels.get(self.level) else { return Vec::new() };
        let extents = shape.windows().torus().extents();
        extents.into_iter().skip(AXES - self.layout.extents.len()).collect()
    }

    /// How much of the work is done, from 0 to 1, if no grid converges early. The work of a step grows with the cells.
    pub fn share(&self) -> f64 {
        if self.is_done() {
            return 1.0;
        }
        let last = self.levels.len() - 1;
        let cost = |level: usize, steps: usize| {
            self.levels.get(level).map_or(0.0, |shape| shape.cells() as f64) * steps as f64
        };
        let steps = |level: usize| {
            1usize.saturating_add(if level == last { self.settings.iterations } else { COARSE_ITERATIONS })
        };
        let total: f64 = (0..=last).map(|level| cost(level, steps(level))).sum();
        let before: f64 = (0..self.level).map(|level| cost(level, steps(level))).sum();
        let here = match &self.state {
            State::On(level) if self.last.is_some() => cost(self.level, 1 + level.iterations.updates()),
            _ => 0.0,
        };
        ((before + here) / total).min(1.0)
    }

    /// The grid as it is. Levels that are left only refine it, so that it has the size that was asked for.
    ///
    /// # Errors
    /// If a step has failed; no memory.
    pub fn finish(mut self) -> Result<CountingGrid, Error> {
        while self.level + 1 < self.levels.len() {
            self.start_level()?;
            if let State::Failed(error) = self.state {
                return Err(error);
            }
            self.finish_level();
        }
        self.start_level()?;
        match self.state {
            State::On(level) => {
                let (grid, histograms) = level.learner.into_parts();
                Ok(CountingGrid::from_parts(self.layout, self.chunk, grid, histograms))
            }
            State::Failed(error) => Err(error),
            State::Between(_) => Err(Error::new("no grid to finish")), // there is a level, so it has begun
        }
    }
}
