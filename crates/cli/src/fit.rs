//! Fits a counting grid to bags: levels, restarts, and what is told meanwhile.

use std::ops::ControlFlow;

use countgrid_counts::{Bags, CsrBuf};
use countgrid_em::{EmOptions, End, FitError, Outcome, Progress, Restarts};
use countgrid_grid::{Grid, GridError, Learner, LogHistograms, Options, Shape, Statistics};
use countgrid_math::{AlignedVec, Real};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde_json::json;

use crate::{
    args::{GridArgs, Schedule},
    failure::Failure,
    interrupt::Interrupt,
    layout::{AXES, Layout, Sides},
    memory,
    report::{Report, Step},
};

/// Iterations on each grid before the full one: enough to settle which part of the collection goes where.
const COARSE: usize = 10;
/// How far the cells that come from one coarse cell differ at first, relative to their entries.
const NOISE: f64 = 0.15;
/// The pseudocount by itself, as a share of the tokens that a word has at a cell on average.
const PSEUDOCOUNT: f64 = 0.02;

/// The parameters, with memory of their own.
pub(crate) type Parameters<T> = Grid<T, AlignedVec<T>, AXES>;
/// All that placing documents needs.
pub(crate) type Inference<T> = LogHistograms<T, AlignedVec<T>, AXES>;
type Tables<T> = (Parameters<T>, Inference<T>);

/// A fitted grid.
#[derive(Debug)]
pub(crate) struct Fitted<T> {
    pub(crate) grid: Parameters<T>,
    pub(crate) histograms: Inference<T>,
    pub(crate) ending: Ending,
}

/// How a fit ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ending {
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

impl Ending {
    /// Why it ended, in a word.
    pub(crate) fn why(&self) -> &'static str {
        match self.end {
            End::Converged => "converged",
            End::Limit => "iterations used up",
            End::Stopped => "stopped",
        }
    }
}

/// Fits a grid of the given layout.
pub(crate) fn fit<T: Real>(
    bags: &CsrBuf<f64>,
    layout: &Layout,
    args: &GridArgs,
    report: &Report,
    interrupt: &Interrupt,
) -> Result<Fitted<T>, Failure> {
    let tokens = bags.tokens();
    if !(tokens > 0.0 && tokens.is_finite()) {
        return Err(Failure::new(
            format_args!(
                "the counts add up to {tokens}; a fit needs some tokens, and a finite number of them"
            ),
            "take documents that have words of the vocabulary",
        ));
    }
    let (shape, chunk) = memory::plan::<T>(layout, bags.features(), args.restarts)?;
    let levels = levels(shape, args);
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
    let ending = |best: countgrid_em::Best| Ending {
        iterations: best.outcome.iterations,
        bound_per_token: -best.outcome.free_energy / tokens,
        end: best.outcome.end,
        pseudocount,
        restart: best.restart.index + 1,
    };

    let mut restarts = Restarts::new(args.restarts, args.seed)
        .map_err(|error| Failure::new(error, "take --restarts of at least 1"))?;
    let planned = levels.iter().map(|level| level.plan.iterations).sum::<usize>();
    let progress = report.progress(planned * args.restarts);
    let mut best = None;
    interrupt.begin();
    while let Some(restart) = restarts.next_restart() {
        let number = (restart.index + 1, args.restarts);
        let before = restart.index * planned;
        let (learner, outcome) = fit.once(restart.seed, |level, at, last| {
            let step = Step {
                restart: number,
                grid: axes(&level.shape, layout).to_string(),
                iteration: at.iteration,
                done: before + level.before + at.iteration,
                bound_per_token: -at.free_energy / tokens,
                share: (restart.index as f64 + level.share(at.iteration)) / args.restarts as f64,
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
    Ok(Fitted { grid, histograms, ending: ending(outcome) })
}

/// One grid of the schedule.
#[derive(Clone, Copy, Debug)]
struct Level {
    shape: Shape<AXES>,
    plan: EmOptions,
    before: usize,    // iterations of the levels before
    work: (f64, f64), // share of the work before this level, and of one iteration here
}

impl Level {
    /// Share of a restart's work that is done here after so many iterations.
    fn share(&self, iteration: usize) -> f64 {
        (self.work.0 + self.work.1 * iteration as f64).min(1.0)
    }
}

/// The grids to fit, the smallest first. The work of an iteration grows with the cells.
///
/// On posts of three newsgroups and on the abstracts of three collections, windows halved with the grid leave
/// the groups in many more pieces, and so does a fit of the full grid alone.
fn levels(full: Shape<AXES>, args: &GridArgs) -> Vec<Level> {
    let mut shapes = vec![full];
    if args.schedule == Schedule::CoarseToFine {
        shapes.extend(std::iter::successors(full.coarser(), Shape::coarser));
    }
    shapes.reverse();
    let last = shapes.len() - 1;
    let iterations = |level: usize| if level == last { args.iterations } else { COARSE };
    let work = |level: usize| shapes.get(level).map_or(0, Shape::cells) as f64;
    let total: f64 = (0..=last).map(|level| work(level) * iterations(level) as f64).sum();
    let share = |work: f64| if total > 0.0 { work / total } else { 0.0 };
    let mut done = (0, 0.0);
    (0..=last)
        .zip(&shapes)
        .map(|(level, &shape)| {
            let plan = EmOptions { iterations: iterations(level), tolerance: args.tolerance };
            let this = Level { shape, plan, before: done.0, work: (share(done.1), share(work(level))) };
            done = (done.0 + plan.iterations, done.1 + work(level) * plan.iterations as f64);
            this
        })
        .collect()
}

/// What all restarts share.
struct Run<'a> {
    bags: &'a CsrBuf<f64>,
    tokens: f64,
    args: &'a GridArgs,
    chunk: usize,
    levels: &'a [Level],
    interrupt: &'a Interrupt,
}

impl Run<'_> {
    fn options(&self, shape: &Shape<AXES>) -> Options {
        let cells = shape.cells() as f64;
        let usual = PSEUDOCOUNT * self.tokens / (cells * shape.features() as f64);
        Options {
            inner_passes: self.args.inner_passes,
            learn_prior: self.args.learn_prior,
            pseudocount: self.args.pseudocount.unwrap_or(usual),
            // A place that no document takes stays possible.
            prior_pseudocount: PSEUDOCOUNT * self.bags.len() as f64 / cells,
            ..Options::default()
        }
    }

    /// All levels from one random start. Once it was interrupted, the levels that are left only refine, so that
    /// the grid has the size that was asked for.
    fn once<T: Real>(
        &self,
        seed: u64,
        mut observe: impl FnMut(&Level, &Progress, bool),
    ) -> Result<(Tables<T>, Outcome), Failure> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut fitted: Option<(Tables<T>, Outcome)> = None;
        for level in self.levels {
            let mut grid = Grid::uniform(level.shape)?;
            match fitted {
                None => grid.randomize(&mut rng),
                Some(((coarse, _), _)) => grid.refine(&coarse, NOISE, &mut rng)?,
            }
            let mut learner = Learner::from_grid(grid, self.options(&level.shape))?;
            let mut statistics = Statistics::allocate(level.shape, self.chunk)?;
            let plan =
                level.plan.check().map_err(|error| Failure::new(error, "take a --tolerance such as 1e-5"))?;
            let outcome = plan.fit(&mut learner, self.bags, &mut statistics, |_, at| {
                observe(level, at, at.iteration == level.plan.iterations);
                if self.interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let outcome = outcome.map_err(|error| self.refuse(error))?;
            fitted = Some((learner.into_parts(), outcome));
        }
        fitted.ok_or_else(|| Failure::new("no grid to fit", "this is a bug worth a report"))
    }

    fn refuse(&self, error: FitError<GridError>) -> Failure {
        match error {
            FitError::Model(error) => error.into(),
            error => Failure::new(error, "take --precision f64, or another --pseudocount"),
        }
    }
}

/// The axes of a shape that its layout has.
fn axes(shape: &Shape<AXES>, layout: &Layout) -> Sides {
    let extents = shape.windows().torus().extents();
    Sides(extents.into_iter().skip(AXES - layout.grid.0.len()).collect())
}
