//! Counting grids, fitted in every way that the library has.

use core::ops::ControlFlow;

use countgrid_counts::{Csr, Dense};
use countgrid_em::{
    Annealing, EmOptions, Fit, FitError, Learn, Progress, Restarts, StepwiseOptions, Tables, TablesMut,
    no_observer,
};
use countgrid_grid::{Grid, Learner, Options, PosteriorThreshold, Shape, Statistics, UpdateRule};
use countgrid_math::Real;
use countgrid_torus::{Torus, Windows};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    bags::{BAGS, Data, FEATURES},
    report::{Digest, Failure, Report, first, name},
};

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    cases::<f32>(report)?;
    cases::<f64>(report)
}

fn cases<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    let (exact, factored) =
        (Options::default(), Options { update_rule: UpdateRule::Factored, ..Options::default() });
    let smooth = Options { learn_prior: true, pseudocount: 0.1, prior_pseudocount: 0.5, ..exact };
    let all = Options { posterior_threshold: PosteriorThreshold::Off, ..exact };
    let deep = Options {
        inner_passes: 3,
        learn_prior: true,
        posterior_threshold: PosteriorThreshold::Nats(12.0),
        prune: false,
        ..exact
    };
    plain::<T, 1>(report, "exact", shape([60], [7])?, smooth)?;
    plain::<T, 1>(report, "factored", shape([60], [7])?, factored)?;
    plain::<T, 2>(report, "exact", shape(EXTENTS, SIDES)?, exact)?;
    plain::<T, 2>(report, "exact, smooth", shape(EXTENTS, SIDES)?, smooth)?;
    plain::<T, 2>(report, "exact, no cut", shape(EXTENTS, SIDES)?, all)?;
    plain::<T, 2>(report, "three passes", shape([7, 9], [3, 2])?, deep)?;
    plain::<T, 2>(
        report,
        "factored",
        shape(EXTENTS, SIDES)?,
        Options { update_rule: UpdateRule::Factored, ..smooth },
    )?;
    plain::<T, 3>(report, "exact", shape([4, 3, 5], [2, 2, 3])?, exact)?;
    plain::<T, 3>(
        report,
        "factored",
        shape([4, 3, 5], [2, 2, 3])?,
        Options { update_rule: UpdateRule::Factored, ..smooth },
    )?;
    annealed::<T>(report, smooth)?;
    refined::<T>(report, smooth)?;
    stepwise::<T>(report, smooth)?;
    restarted::<T>(report)
}

const EXTENTS: [usize; 2] = [12, 12];
const SIDES: [usize; 2] = [3, 4];

fn shape<const D: usize>(extents: [usize; D], sides: [usize; D]) -> Result<Shape<D>, Failure> {
    Ok(Shape::new(Windows::new(Torus::new(extents)?, sides)?, FEATURES)?)
}

/// Room for the tables of any of these fits.
pub(crate) struct Memory<T> {
    grid: [T; TABLE],
    histograms: [T; TABLE],
    sums: [T; TABLE],
    scratch: [T; SCRATCH],
}

const TABLE: usize = 4096;
pub(crate) const SCRATCH: usize = 8192;

type GridIn<'a, T, const D: usize> = Grid<T, &'a mut [T], D>;
type LearnerIn<'a, T, const D: usize> = Learner<T, &'a mut [T], D>;
type StatisticsIn<'a, T, const D: usize> = Statistics<T, &'a mut [T], D>;

impl<T: Real> Memory<T> {
    pub(crate) fn new() -> Self {
        let (table, scratch) = ([T::zero(); TABLE], [T::zero(); SCRATCH]);
        Self { grid: table, histograms: table, sums: table, scratch }
    }

    /// A learner that starts from what `start` makes of a uniform grid, and empty statistics.
    pub(crate) fn learner<const D: usize>(
        &mut self,
        shape: Shape<D>,
        options: Options,
        start: impl FnOnce(&mut GridIn<'_, T, D>) -> Result<(), Failure>,
    ) -> Result<(LearnerIn<'_, T, D>, StatisticsIn<'_, T, D>), Failure> {
        let mut grid = Grid::uniform_in(shape, first(&mut self.grid, shape.grid_len())?)?;
        start(&mut grid)?;
        let histograms = first(&mut self.histograms, shape.histograms_len::<T>())?;
        let learner = Learner::new(grid, histograms, &mut self.scratch, options)?;
        let sums = first(&mut self.sums, shape.sums_len::<T>())?;
        Ok((learner, Statistics::new(shape, sums, &mut self.scratch)?))
    }
}

/// A random start.
pub(crate) fn random<T: Real, const D: usize>(
    seed: u64,
) -> impl FnOnce(&mut GridIn<'_, T, D>) -> Result<(), Failure> {
    move |grid| {
        grid.randomize(&mut ChaCha8Rng::seed_from_u64(seed));
        Ok(())
    }
}

/// What the loop says at every turn.
fn note<M>(digest: &mut Digest) -> impl FnMut(&M, &Progress) -> ControlFlow<()> {
    |_, progress| {
        digest.add_integer(progress.iteration as u64);
        digest.add(&[progress.beta, progress.free_energy, progress.objective]);
        digest.add(progress.change.as_slice());
        ControlFlow::Continue(())
    }
}

/// Everything that a fit ends with.
fn describe<'a, T: Real, const D: usize>(
    report: &mut Report<'_>,
    fit: &str,
    progress: Digest,
    learner: &LearnerIn<'a, T, D>,
    statistics: &mut StatisticsIn<'a, T, D>,
) -> Result<(), Failure> {
    let mut line =
        |what: &str, digest| report.digest(format_args!("{fit}, {D}d {}: {what}", name::<T>()), digest);
    line("progress", progress);
    let mut digest = Digest::from_values(&[learner.bound(statistics)?, learner.penalty()]);
    let mut plane = [T::zero(); TABLE];
    let plane = first(&mut plane, learner.grid().shape().cells())?;
    for feature in 0..FEATURES {
        learner.expected_tokens(statistics, feature, plane)?;
        digest.add(plane);
    }
    line("bound and expected tokens", digest);
    let fit = format_args!("{fit}, {D}d {}", name::<T>());
    report.tables(fit, learner.grid());
    report.tables(fit, learner.histograms());
    report.tables(fit, statistics);
    Ok(())
}

/// Both steps by hand.
fn plain<T: Real, const D: usize>(
    report: &mut Report<'_>,
    fit: &str,
    shape: Shape<D>,
    options: Options,
) -> Result<(), Failure> {
    let (data, mut memory) = (Data::new(), Memory::<T>::new());
    let bags = data.bags()?;
    let (mut learner, mut statistics) = memory.learner(shape, options, random(1))?;
    let mut progress = Digest::new();
    for _ in 0..10 {
        statistics.clear();
        progress.add(&[learner.expectation(&bags, &mut statistics)?]);
        learner.maximization(&mut statistics)?;
    }
    describe(report, fit, progress, &learner, &mut statistics)
}

/// The loop, from flat posteriors to its end, on rows with all their zeros.
fn annealed<T: Real>(report: &mut Report<'_>, options: Options) -> Result<(), Failure> {
    let (data, mut memory) = (Data::new().dense(), Memory::<T>::new());
    let bags = Dense::new(FEATURES, &data)?;
    let (mut learner, mut statistics) = memory.learner(shape(EXTENTS, SIDES)?, options, random(2))?;
    let (schedule, mut progress) = (Annealing::geometric(0.05, 6)?, Digest::new());
    let plan = EmOptions { tolerance: 1e-4, iterations: 8 }.check()?;
    plan.fit_annealed(&mut learner, &bags, &mut statistics, &schedule, note(&mut progress))?;
    describe(report, "annealed", progress, &learner, &mut statistics)
}

/// From coarse to fine.
fn refined<T: Real>(report: &mut Report<'_>, options: Options) -> Result<(), Failure> {
    let (data, mut coarse, mut fine) = (Data::new(), Memory::<T>::new(), Memory::<T>::new());
    let bags = data.bags()?;
    let (plan, mut progress) = (EmOptions { tolerance: 0.0, iterations: 5 }.check()?, Digest::new());
    let (mut learner, mut statistics) = coarse.learner(shape([6, 6], SIDES)?, options, random(3))?;
    plan.fit(&mut learner, &bags, &mut statistics, note(&mut progress))?;
    let (mut learner, mut statistics) = fine.learner(shape(EXTENTS, SIDES)?, options, |grid| {
        Ok(grid.refine(learner.grid(), 0.15, &mut ChaCha8Rng::seed_from_u64(4))?)
    })?;
    plan.fit(&mut learner, &bags, &mut statistics, note(&mut progress))?;
    describe(report, "refined", progress, &learner, &mut statistics)
}

/// In mini-batches.
fn stepwise<T: Real>(report: &mut Report<'_>, options: Options) -> Result<(), Failure> {
    const BATCH: usize = 10;
    let (data, mut memory) = (Data::new(), Memory::<T>::new());
    let bags: Csr<'_, _> = data.bags()?;
    let (mut learner, mut statistics) = memory.learner(shape([9, 10], SIDES)?, options, random(5))?;
    let batches = |_| {
        (0..BAGS).step_by(BATCH).filter_map(|start| {
            let end = BAGS.min(start + BATCH);
            Some((bags.slice(start..end)?, (end - start) as f64 / BAGS as f64))
        })
    };
    let (plan, mut progress) =
        (StepwiseOptions { passes: 2, ..StepwiseOptions::default() }.check()?, Digest::new());
    plan.fit(&mut learner, batches, &mut statistics, note(&mut progress))?;
    describe(report, "stepwise", progress, &learner, &mut statistics)
}

/// The best of three starts.
fn restarted<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    let (data, mut memory, mut best) = (Data::new(), Memory::<T>::new(), [T::zero(); TABLE]);
    let (bags, shape) = (data.bags()?, shape([5, 6], [2, 3])?);
    let plan = EmOptions { tolerance: 1e-3, iterations: 6 }.check()?;
    let mut table = [T::zero(); TABLE];
    let mut grid = Grid::uniform_in(shape, first(&mut table, shape.grid_len())?)?;
    let best = first(&mut best, shape.grid_len())?;
    let outcome = Restarts::new(3, 42)?.run(&mut grid, best, |grid, restart| {
        let mut attempt = || {
            let (mut learner, mut statistics) =
                memory.learner(shape, Options::default(), random(restart.seed))?;
            let outcome = plan.fit(&mut learner, &bags, &mut statistics, no_observer)?;
            grid.buffer_mut().copy_from_slice(Tables::buffer(learner.grid()));
            Ok::<_, Failure>(outcome)
        };
        attempt().map_err(FitError::Model)
    });
    let outcome = match outcome {
        Ok(best) => best.outcome,
        Err(FitError::Model(failure)) => return Err(failure),
        Err(_) => return Err(Failure::here()),
    };
    report.table(
        format_args!("restarted, 2d {}: outcome", name::<T>()),
        &[outcome.free_energy, outcome.objective],
    );
    report.tables(format_args!("restarted, 2d {}", name::<T>()), &grid);
    Ok(())
}
