use core::{convert::Infallible, fmt, ops::ControlFlow};

use crate::{Anneal, Annealing, EmPlan, Fit, Iterations, Learn};

/// What an observer receives after each iteration.
///
/// Example: [`EmPlan::fit`](crate::EmPlan::fit).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Progress {
    /// Updates made so far.
    pub iteration: usize,
    /// Inverse temperature, 1 unless annealing.
    pub beta: f64,
    /// Free energy of the data, in nats.
    pub free_energy: f64,
    /// Free energy plus penalty: what a fit lowers.
    pub objective: f64,
    /// Objective less that before the last update, where the two can be compared: not before the first
    /// update, not while the temperature changes, in a stepwise fit only from one pass to the next.
    pub change: Option<f64>,
}

impl Progress {
    /// The progress after a number of updates, such as one read from a checkpoint for
    /// [`Iterations::resume`](crate::Iterations::resume).
    #[must_use]
    pub const fn new(
        iteration: usize,
        beta: f64,
        free_energy: f64,
        objective: f64,
        change: Option<f64>,
    ) -> Self {
        Self { iteration, beta, free_energy, objective, change }
    }
}

/// Why a fit ended.
///
/// Example: [`EmPlan::fit`](crate::EmPlan::fit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum End {
    /// The objective changed by no more than the tolerance, twice in a row and the second time no more; or not at all.
    Converged,
    /// All iterations were used.
    Limit,
    /// The observer stopped it.
    Stopped,
}

/// How a fit ended.
///
/// Example: [`ByBlocks`](crate::ByBlocks).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Outcome {
    /// Updates made.
    pub iterations: usize,
    /// Inverse temperature at the end: 1 unless stopped while annealing.
    pub beta: f64,
    /// Free energy of the data, in nats.
    pub free_energy: f64,
    /// Free energy plus penalty.
    pub objective: f64,
    /// Why it ended.
    pub end: End,
    /// How many components coincide with one before them at the end, if the model says so
    /// ([`Learn::coinciding_components`](crate::Learn::coinciding_components)): each is wasted, since no E-step tells copies apart, however
    /// well the fit has converged. Annealing that began too low leaves them, see [`Annealing`].
    pub coinciding: Option<usize>,
}

impl Outcome {
    /// The outcome of a fit that ended after this progress. Nothing is said of components.
    #[must_use]
    pub const fn new(progress: &Progress, end: End) -> Self {
        let Progress { iteration, beta, free_energy, objective, .. } = *progress;
        Self { iterations: iteration, beta, free_energy, objective, end, coinciding: None }
    }

    /// The outcome of a fit that left this model.
    pub(crate) fn of<M: Learn>(model: &M, progress: &Progress, end: End) -> Self {
        Self { coinciding: model.coinciding_components(), ..Self::new(progress, end) }
    }
}

/// What ends a fit early, other than its observer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum FitError<E> {
    /// The model refused a batch or statistics.
    Model(E),
    /// The objective is NaN or infinite.
    Objective { iteration: usize, free_energy: f64, penalty: f64 },
    /// A mini-batch whose share of the data is outside `(0, 1]`.
    Share { iteration: usize, share: f64 },
    /// A pass over the data without a mini-batch.
    NoBatch { pass: usize },
    /// The buffer for the best parameters has another length than the model's.
    Snapshot { expected: usize, found: usize },
}

impl<E> FitError<E> {
    /// The model's error, for an error type that has one of its own for everything else: `Err` is that.
    ///
    /// ```
    /// use countgrid_em::FitError;
    /// assert_eq!(FitError::Model("refused").into_model(), Ok("refused"));
    /// assert_eq!(FitError::<u8>::NoBatch { pass: 2 }.into_model(), Err(FitError::NoBatch { pass: 2 }));
    /// ```
    ///
    /// # Errors
    /// What ended the fit, if it was not the model.
    pub fn into_model(self) -> Result<E, FitError<Infallible>> {
        Err(match self {
            Self::Model(error) => return Ok(error),
            Self::Objective { iteration, free_energy, penalty } => {
                FitError::Objective { iteration, free_energy, penalty }
            }
            Self::Share { iteration, share } => FitError::Share { iteration, share },
            Self::NoBatch { pass } => FitError::NoBatch { pass },
            Self::Snapshot { expected, found } => FitError::Snapshot { expected, found },
        })
    }
}

impl<E: fmt::Display> fmt::Display for FitError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => error.fmt(f),
            Self::Objective { iteration, free_energy, penalty } => write!(
                f,
                "after {iteration} iterations the free energy is {free_energy} and the penalty {penalty}; \
                 their sum needs to be finite"
            ),
            Self::Share { iteration, share } => write!(
                f,
                "after {iteration} iterations a mini-batch is said to be {share} of the data, \
                 needs to be above 0 and at most 1"
            ),
            Self::NoBatch { pass } => write!(f, "pass {pass} over the data has no mini-batch"),
            Self::Snapshot { expected, found } => {
                write!(f, "the buffer for the best parameters has {found} elements, needs {expected}")
            }
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for FitError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Model(error) => error.source(), // `Display` shows the error itself
            _ => None,
        }
    }
}

/// An observer that does nothing and never stops a fit.
///
/// Example: [`Restarts`](crate::Restarts).
pub fn no_observer<M: ?Sized>(_: &M, _: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

impl EmPlan {
    /// Fits a model to a batch by alternating E-steps and M-steps.
    ///
    /// An iteration is an update of the parameters. Before the first and after each of them an E-step computes
    /// the objective, free energy plus penalty, of the current parameters; then the observer is called, and
    /// the fit ends if the observer stops it, if it has converged ([`EmOptions::tolerance`](crate::EmOptions)), or
    /// if all iterations are used. So the outcome and the statistics belong to the parameters that the model is left
    /// with.
    ///
    /// What the statistics held before is cleared. Nothing allocates.
    ///
    /// # Errors
    /// [`FitError::Model`]; [`FitError::Objective`] if free energy or penalty is NaN or infinite. The model has
    /// then the parameters of the last update.
    ///
    /// ```
    /// use core::{convert::Infallible, ops::ControlFlow};
    /// use countgrid_em::{EmOptions, End, Fit, Learn, Table, TableBuffer, Tables, TablesMut};
    ///
    /// /// Two coins, one of which was thrown in every row; only `heads` of `throws` is seen.
    /// struct Coins([f64; 2]);
    /// impl Fit<[(f64, f64)]> for Coins {
    ///     fn expectation(&self, rows: &[(f64, f64)], sums: &mut Self::Statistics) -> Result<f64, Infallible> {
    ///         let mut free_energy = 0.0;
    ///         for &(heads, throws) in rows {
    ///             let joint = self.0.map(|p| 0.5 * p.powf(heads) * (1.0 - p).powf(throws - heads));
    ///             let evidence = joint[0] + joint[1];
    ///             for (coin, sums) in sums.buffer_mut().chunks_exact_mut(2).enumerate() {
    ///                 sums[0] += joint[coin] / evidence * heads;
    ///                 sums[1] += joint[coin] / evidence * throws;
    ///             }
    ///             free_energy -= evidence.ln();
    ///         }
    ///         Ok(free_energy)
    ///     }
    /// }
    /// impl Learn for Coins {
    ///     type Statistics = TableBuffer<f64, [Table; 1], [f64; 4]>;
    ///     type Error = Infallible;
    ///     fn maximization(&mut self, sums: &mut Self::Statistics) -> Result<(), Infallible> {
    ///         let &[heads_a, throws_a, heads_b, throws_b] = sums.buffer() else { return Ok(()) };
    ///         self.0 = [heads_a / throws_a, heads_b / throws_b];
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut sums = TableBuffer::new([Table::new("throws", 2, 2)], [0.0; 4])?;
    /// let rows = [(5.0, 10.0), (9.0, 10.0), (8.0, 10.0), (4.0, 10.0), (7.0, 10.0)];
    /// let mut coins = Coins([0.6, 0.5]);
    /// let mut last = f64::INFINITY;
    /// let outcome = EmOptions::default().check()?.fit(&mut coins, &rows[..], &mut sums, |_, progress| {
    ///     assert!(progress.objective <= last);
    ///     last = progress.objective;
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(outcome.end, End::Converged);
    /// assert!((coins.0[0] - 0.8).abs() < 0.01 && (coins.0[1] - 0.52).abs() < 0.01);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn fit<B, M>(
        &self,
        model: &mut M,
        batch: &B,
        statistics: &mut M::Statistics,
        observer: impl FnMut(&M, &Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, FitError<M::Error>>
    where
        B: ?Sized,
        M: Fit<B>,
    {
        let mut iterations = Iterations::new(*self);
        Self::run(model, observer, |model| iterations.step(model, batch, statistics))
    }

    /// [`EmPlan::fit`] with deterministic annealing: posteriors begin flat and sharpen, which avoids many poor optima.
    ///
    /// The iterations of the schedule come first and do not count against the limit. The objectives of
    /// different temperatures cannot be compared, so convergence is tested between two E-steps at `β = 1`
    /// only. In the end `β` is 1 in any case.
    ///
    /// A schedule that begins too low merges components, and the fit converges all the same: see [`Annealing`] for where to
    /// begin and what to do about it, and [`Outcome::coinciding`] for whether it has happened.
    ///
    /// # Errors
    /// Those of [`EmPlan::fit`].
    pub fn fit_annealed<B, M>(
        &self,
        model: &mut M,
        batch: &B,
        statistics: &mut M::Statistics,
        schedule: &Annealing,
        observer: impl FnMut(&M, &Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, FitError<M::Error>>
    where
        B: ?Sized,
        M: Fit<B> + Anneal,
    {
        let mut iterations = Iterations::new(*self);
        let outcome =
            Self::run(model, observer, |model| iterations.step_annealed(model, batch, statistics, schedule));
        model.set_inverse_temperature(1.0);
        outcome
    }

    fn run<M: Learn, E>(
        model: &mut M,
        mut observer: impl FnMut(&M, &Progress) -> ControlFlow<()>,
        mut step: impl FnMut(&mut M) -> Result<(Progress, Option<End>), FitError<E>>,
    ) -> Result<Outcome, FitError<E>> {
        loop {
            let (progress, end) = step(model)?;
            if observer(model, &progress).is_break() {
                return Ok(Outcome::of(model, &progress, End::Stopped));
            }
            if let Some(end) = end {
                return Ok(Outcome::of(model, &progress, end));
            }
        }
    }
}

/// Free energy plus penalty, if that is a number.
pub(crate) fn objective<E>(iteration: usize, free_energy: f64, penalty: f64) -> Result<f64, FitError<E>> {
    let objective = free_energy + penalty;
    if objective.is_finite() {
        Ok(objective)
    } else {
        Err(FitError::Objective { iteration, free_energy, penalty })
    }
}

/// `|J - J_old| ≤ τ |J|` now and the time before, and no more than then, or no change at all: relative, since `J` grows
/// with the number of tokens, and twice, since a fit that leaves a flat start begins with gains that are small but grow.
pub(crate) fn has_converged(progress: &Progress, before: Option<f64>, tolerance: f64) -> bool {
    let small = |change: f64| change.abs() <= tolerance * progress.objective.abs();
    match (before, progress.change) {
        (_, Some(0.0)) => true,
        (Some(before), Some(change)) => small(before) && small(change) && change.abs() <= before.abs(),
        _ => false,
    }
}
