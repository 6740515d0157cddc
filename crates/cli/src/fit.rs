//! Fits a counting grid to bags: levels, restarts, and what is told meanwhile.

use std::ops::ControlFlow;

use countgrid_em::{
    Annealing, EmOptions, End, FitError, Outcome, Progress, Restarts, StepwiseOptions, StepwisePlan,
};
use countgrid_grid::{COARSE_ITERATIONS, Grid, Learner, LogHistograms, Options, Shape, Statistics};
use countgrid_math::{AlignedVec, Real};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde_json::json;

use crate::{
    args::{GridArgs, Schedule},
    blockwise::{Blockwise, MiniBatches, number},
    failure::Failure,
    interrupt::Interrupt,
    layout::{AXES, Layout, Sides},
    memory,
    report::{Report, Step},
    store::{Storable, Store},
};

/// The parameters, with memory of their own.
pub(crate) type Parameters<T> = Grid<T, AlignedVec<T>, AXES>;
/// All that placing documents needs.
pub(crate) type Inference<T> = LogHistograms<T, AlignedVec<T>, AXES>;
pub(crate) type Tables<T> = (Parameters<T>, Inference<T>);

/// A fitted grid.
#[derive(Debug)]
pub(crate) struct Fitted<T> {
    pub(crate) grid: Parameters<T>,
    pub(crate) histograms: Inference<T>,
    pub(crate) summary: FitSummary,
}

/// How a fit ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FitSummary {
    /// Updates on the full grid, of the restart that was kept.
    pub(crate) iterations: usize,
    /// Log evidence of all documents per token, in nats.
    pub(crate) bound_per_token: f64,
    pub(crate) end: End,
    /// On the full grid.
    pub(crate) pseudocount: f64,
    /// Which restart was kept, from 1.
    pub(crate) restart: usize,
}

impl FitSummary {
    /// Why it ended, in a word.
    pub(crate) fn end_reason(&self) -> &'static str {
        end_reason(self.end)
    }
}

/// Why a fit ended, in a word.
pub(crate) fn end_reason(end: End) -> &'static str {
    match end {
        End::Converged => "converged",
        End::Limit => "iterations used up",
        End::Stopped => "stopped",
    }
}

/// Refuses to fit anything to bags that are all empty, or whose tokens are too many to be counted.
pub(crate) fn check_tokens(tokens: f64) -> Result<(), Failure> {
    if tokens > 0.0 && tokens.is_finite() {
        return Ok(());
    }
    Err(Failure::new(
        format_args!("the counts add up to {tokens}; a fit needs some tokens, and a finite number of them"),
        "take documents that have words of the vocabulary",
    ))
}

/// Fits a grid of the given layout to bags of so many tokens.
pub(crate) fn fit<T: Real + Storable>(
    bags: &Store<T>,
    tokens: f64,
    layout: &Layout,
    args: &GridArgs,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<Fitted<T>, Failure> {
    check_tokens(tokens)?;
    let (shape, chunk) = memory::plan::<T>(layout, bags.features(), args.restarts)?;
    let levels = levels(shape, args, bags.len())?;
    let fit = Run { bags, tokens, args, chunk, levels: &levels, interrupt };
    let pseudocount = fit.options(&shape).pseudocount;
    report.event(
        "grid",
        format_args!(
            "{}, window {}; pseudocount {pseudocount:.3e}, seed {}",
            layout.grid, layout.window, args.seed
        ),
        json!({
            "grid": layout.grid.0, "window": layout.window.0, "pseudocount": pseudocount, "seed": args.seed,
        }),
    );
    let summary = |best: countgrid_em::Best| FitSummary {
        iterations: best.outcome.iterations,
        bound_per_token: -best.outcome.free_energy / tokens,
        end: best.outcome.end,
        pseudocount,
        restart: best.restart.index + 1,
    };

    let mut restarts = Restarts::new(args.restarts, args.seed)
        .map_err(|error| Failure::new(error, "take --restarts of at least 1"))?;
    let planned = levels.iter().map(Level::updates).sum::<usize>();
    let progress = report.progress(planned * args.restarts);
    let mut best = None;
    interrupt.begin();
    while let Some(restart) = restarts.next_restart() {
        let number = (restart.index + 1, args.restarts);
        let before = restart.index * planned;
        let (learner, outcome) = fit.fit_restart(restart.seed, |level, at, updates, last| {
            let step = Step {
                restart: number,
                grid: axes(&level.shape, layout).to_string(),
                iteration: updates,
                done: before + level.before + updates,
                bound_per_token: -at.free_energy / tokens,
                share: (restart.index as f64 + level.share(updates)) / args.restarts as f64,
                last,
            };
            progress.show(&step);
        })?;
        if restarts.keep(&outcome) {
            best = Some(learner);
        }
    }
    drop(progress);
    let (Some((grid, histograms)), Some(outcome)) = (best, restarts.best()) else {
        return Err(Failure::new("no fit has ended", "this is a bug worth a report"));
    };
    Ok(Fitted { grid, histograms, summary: summary(outcome) })
}

/// One grid of the schedule.
#[derive(Clone, Copy, Debug)]
struct Level {
    shape: Shape<AXES>,
    initial_phase: InitialPhase,
    plan: EmOptions,
    before: usize,    // updates of the levels before
    work: (f64, f64), // share of the work before this level, and of one iteration here
}

/// How the fit of a grid begins, before its iterations.
#[derive(Clone, Copy, Debug)]
enum InitialPhase {
    Plain,
    Annealed(Annealing),
    /// Mini-batches of so many documents, so many a pass.
    Stepwise {
        plan: StepwisePlan,
        size: usize,
        batches: usize,
    },
}

impl InitialPhase {
    /// Updates, at most.
    fn updates(&self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Annealed(annealing) => annealing.iterations(),
            Self::Stepwise { plan, batches, .. } => plan.options().passes.saturating_mul(*batches),
        }
    }

    /// Iterations over all documents that cost as much as so many updates.
    fn cost(&self, updates: usize) -> f64 {
        match self {
            Self::Stepwise { batches, .. } => updates.min(self.updates()) as f64 / *batches as f64,
            _ => updates.min(self.updates()) as f64,
        }
    }
}

impl Level {
    /// Updates, at most.
    fn updates(&self) -> usize {
        self.initial_phase.updates().saturating_add(self.plan.iterations)
    }

    /// The cost of so many updates, in iterations.
    fn cost(&self, updates: usize) -> f64 {
        self.initial_phase.cost(updates) + updates.saturating_sub(self.initial_phase.updates()) as f64
    }

    /// Share of a restart's work that is done here after so many updates.
    fn share(&self, updates: usize) -> f64 {
        (self.work.0 + self.work.1 * self.cost(updates)).min(1.0)
    }
}

/// The grids to fit, the smallest first. The work of an iteration grows with the cells.
fn levels(full: Shape<AXES>, args: &GridArgs, bags: usize) -> Result<Vec<Level>, Failure> {
    let shapes: Vec<_> = match args.schedule {
        Schedule::CoarseToFine => full.schedule().collect(),
        Schedule::Single => vec![full],
    };
    let last = shapes.len() - 1;
    let mut levels: Vec<Level> = (0..=last)
        .zip(&shapes)
        .map(|(level, &shape)| {
            let iterations = if level == last { args.iterations } else { COARSE_ITERATIONS };
            let plan = EmOptions { iterations, tolerance: args.tolerance };
            Level { shape, initial_phase: InitialPhase::Plain, plan, before: 0, work: (0.0, 0.0) }
        })
        .collect();
    if let Some(full) = levels.last_mut() {
        full.initial_phase = initial_phase(args, bags)?;
    }
    let work = |level: &Level| level.shape.cells() as f64;
    let total: f64 = levels.iter().map(|level| work(level) * level.cost(level.updates())).sum();
    let share = |work: f64| if total > 0.0 { work / total } else { 0.0 };
    let mut done = (0usize, 0.0);
    for level in &mut levels {
        level.before = done.0;
        level.work = (share(done.1), share(work(level)));
        done = (done.0.saturating_add(level.updates()), done.1 + work(level) * level.cost(level.updates()));
    }
    Ok(levels)
}

/// How the fit of the full grid is begun.
///
/// Measured on posts of three newsgroups, on the abstracts of three collections and on counts drawn from a grid.
/// Annealing the coarsest grid changed the bound of a plain fit by -0.023 to 0.014 nats a token; annealing the full
/// grid, after the coarser ones, raised it by 0.02 to 0.05 at about the same computing time. Mini-batches on the
/// coarsest grid changed it by -0.036 to 0.009; on the full one, at about the same computing time, they raised it by
/// up to 0.03 on two of the three and lowered it by 0.04 to 0.09 on the newsgroups.
fn initial_phase(args: &GridArgs, bags: usize) -> Result<InitialPhase, Failure> {
    if let Some(beta) = args.anneal {
        let annealing = Annealing::geometric(beta, args.annealing());
        return annealing
            .map(InitialPhase::Annealed)
            .map_err(|error| Failure::new(error, "take a number such as --anneal 0.1"));
    }
    let Some(size) = args.batch else { return Ok(InitialPhase::Plain) };
    let options = StepwiseOptions {
        passes: args.mini_passes(),
        tolerance: args.tolerance,
        ..StepwiseOptions::default()
    };
    let plan = options.check().map_err(|error| Failure::new(error, "take a --tolerance such as 1e-5"))?;
    Ok(InitialPhase::Stepwise { plan, size, batches: number(bags, size) })
}

/// What all restarts share.
struct Run<'a, T> {
    bags: &'a Store<T>,
    tokens: f64,
    args: &'a GridArgs,
    chunk: usize,
    levels: &'a [Level],
    interrupt: &'a Interrupt,
}

impl<T: Real + Storable> Run<'_, T> {
    fn options(&self, shape: &Shape<AXES>) -> Options {
        let defaults = Options::for_corpus(shape, self.tokens, self.bags.len());
        Options {
            inner_passes: self.args.inner_passes,
            learn_prior: self.args.learn_prior,
            pseudocount: self.args.pseudocount.unwrap_or(defaults.pseudocount),
            ..defaults
        }
    }

    /// All levels from one random start. Once it was interrupted, the levels that are left only refine, so that
    /// the grid has the size that was asked for.
    fn fit_restart(
        &self,
        seed: u64,
        mut observe: impl FnMut(&Level, &Progress, usize, bool),
    ) -> Result<(Tables<T>, Outcome), Failure> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut fitted: Option<(Tables<T>, Outcome)> = None;
        for level in self.levels {
            let learner = || {
                let coarse = fitted.as_ref().map(|((coarse, _), _)| coarse);
                let grid = Grid::initial(level.shape, coarse, &mut rng)?;
                // The coarser tables are done with, and there may be no room for both.
                drop(fitted.take());
                Learner::from_grid(grid, self.options(&level.shape))
            };
            // The second is for new memory, most of all.
            let (learner, statistics) =
                rayon::join(learner, || Statistics::allocate(level.shape, self.chunk));
            let mut model = Blockwise { learner: learner?, single_block: self.args.threads == Some(1) };
            let mut statistics = statistics?;
            let plan =
                level.plan.check().map_err(|error| Failure::new(error, "take a --tolerance such as 1e-5"))?;
            let mut before = 0; // updates from mini-batches
            if let InitialPhase::Stepwise { plan, size, .. } = &level.initial_phase {
                let passes = |_| MiniBatches::new(self.bags, *size, &mut rng);
                let outcome = plan.fit(&mut model, &mut statistics, passes, |_, at| {
                    observe(level, at, at.iteration, false);
                    self.check_interrupt()
                });
                before = outcome.map_err(|error| self.fit_failure(error))?.iterations;
            }
            let mut observer = |at: &Progress| {
                let updates = before + at.iteration;
                observe(level, at, updates, updates >= level.updates());
                self.check_interrupt()
            };
            let outcome = match &level.initial_phase {
                InitialPhase::Annealed(schedule) => {
                    plan.fit_annealed(schedule, &mut model, self.bags, &mut statistics, |_, at| observer(at))
                }
                _ => plan.fit(&mut model, self.bags, &mut statistics, |_, at| observer(at)),
            };
            let mut outcome = outcome.map_err(|error| self.fit_failure(error))?;
            outcome.iterations += before;
            fitted = Some((model.into_tables(), outcome));
        }
        fitted.ok_or_else(|| Failure::new("no grid to fit", "this is a bug worth a report"))
    }

    fn check_interrupt(&self) -> ControlFlow<()> {
        if self.interrupt.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn fit_failure(&self, error: FitError<Failure>) -> Failure {
        match error {
            FitError::Model(error) => error,
            error => Failure::new(error, "take --precision f64, or another --pseudocount"),
        }
    }
}

/// The axes of a shape that its layout has.
fn axes(shape: &Shape<AXES>, layout: &Layout) -> Sides {
    let extents = shape.windows().torus().extents();
    Sides(extents.into_iter().skip(AXES - layout.grid.0.len()).collect())
}
