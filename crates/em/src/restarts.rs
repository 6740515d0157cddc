use crate::{End, FitError, OptionError, Outcome, TablesMut};

/// One run of several.
///
/// Example: [`Restarts`](crate::Restarts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Restart {
    /// Which one, from 0.
    pub index: usize,
    /// What its random start is to be drawn from.
    pub seed: u64,
}

/// The best run.
///
/// Example: [`Restarts::run`](crate::Restarts::run).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Best {
    /// Which run it was.
    pub restart: Restart,
    /// How it ended.
    pub outcome: Outcome,
}

/// Runs from several random starts, of which the one with the lowest objective is kept; the first of equals.
///
/// [`Restarts::run`] is enough for a model that consists of its tables. A model that must do more to restore its
/// parameters uses [`Restarts::next_restart`] and [`Restarts::keep`]:
///
/// ```
/// use countgrid_em::{EmOptions, FitError, Restarts, no_observer};
/// # use countgrid_em::{Fit, Learn, Table, TableBuffer};
/// # struct Model(f64);
/// # impl Fit<f64> for Model {
/// #     fn expectation(&self, x: &f64, _: &mut Self::Statistics) -> Result<f64, Self::Error> { Ok((self.0 - x).powi(2)) }
/// # }
/// # impl Learn for Model {
/// #     type Statistics = TableBuffer<f64, [Table; 0], [f64; 0]>;
/// #     type Error = core::convert::Infallible;
/// #     fn maximization(&mut self, _: &mut Self::Statistics) -> Result<(), Self::Error> { Ok(()) }
/// # }
/// # let (mut model, batch, mut statistics) = (Model(0.0), 3.0, TableBuffer::new([], [])?);
/// let plan = EmOptions::default().check()?;
/// let mut restarts = Restarts::new(8, 42)?;
/// let mut best = None;
/// while let Some(restart) = restarts.next_restart() {
///     model.0 = (restart.seed % 10) as f64; // a start drawn from the seed
///     let outcome = plan.fit(&mut model, &batch, &mut statistics, no_observer)?;
///     if restarts.keep(&outcome) {
///         best = Some(model.0);
///     }
/// }
/// assert!(restarts.best().is_some() && best.is_some());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::RestartsFields")
)]
pub struct Restarts {
    count: usize, // at least 1
    seed: u64,
    next: usize,
    best: Option<Best>,
    stopped: bool,
}

impl Restarts {
    /// `count` runs, whose seeds follow from `seed` as in [`restart_seed`].
    ///
    /// # Errors
    /// [`OptionError::Restarts`] if there are none.
    pub const fn new(count: usize, seed: u64) -> Result<Self, OptionError> {
        if count == 0 {
            return Err(OptionError::Restarts);
        }
        Ok(Self { count, seed, next: 0, best: None, stopped: false })
    }

    /// Goes on after so many runs, with the best of them; `stopped` if the last was.
    ///
    /// # Errors
    /// [`OptionError::Restarts`] if there are none.
    pub const fn resume(
        count: usize,
        seed: u64,
        started: usize,
        best: Option<Best>,
        stopped: bool,
    ) -> Result<Self, OptionError> {
        match Self::new(count, seed) {
            Ok(restarts) => Ok(Self { next: started, best, stopped, ..restarts }),
            Err(error) => Err(error),
        }
    }

    /// Number of runs started so far.
    #[must_use]
    pub const fn started(&self) -> usize {
        self.next
    }

    /// Whether a run was stopped, after which there is no other.
    #[must_use]
    pub const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The next run; `None` after the last, or after one that was stopped.
    pub fn next_restart(&mut self) -> Option<Restart> {
        if self.stopped || self.next >= self.count {
            return None;
        }
        let index = self.next;
        self.next += 1;
        Some(Restart { index, seed: restart_seed(self.seed, index) })
    }

    /// Records how the run that was started last has ended, and returns whether it is the best so far: if so, its
    /// parameters are to be saved.
    ///
    /// A run that was stopped while annealing is the best only if there is no other.
    #[must_use = "parameters that are the best so far are to be put aside"]
    pub fn keep(&mut self, outcome: &Outcome) -> bool {
        self.stopped |= outcome.end == End::Stopped;
        let rank = |outcome: &Outcome| (outcome.beta != 1.0, outcome.objective);
        if self.best.is_some_and(|best| !(rank(outcome) < rank(&best.outcome))) {
            return false;
        }
        let index = self.next.saturating_sub(1);
        let restart = Restart { index, seed: restart_seed(self.seed, index) };
        self.best = Some(Best { restart, outcome: *outcome });
        true
    }

    /// The best run so far.
    #[must_use]
    pub fn best(&self) -> Option<Best> {
        self.best
    }

    /// Calls `attempt` for every run: it initialises the model from the seed and fits it. The
    /// model is left with the best parameters, of which `best`, as long as the model's buffer, keeps
    /// a copy meanwhile.
    ///
    /// # Errors
    /// [`FitError::Snapshot`] if `best` has another length; what `attempt` returns, after the best parameters
    /// so far, if any, were put back.
    ///
    /// ```
    /// use countgrid_em::{Best, EmOptions, EmPlan, Fit, FitError, Restarts, TablesMut, no_observer};
    ///
    /// fn fit_ten<B, M>(
    ///     model: &mut M,
    ///     batch: &B,
    ///     statistics: &mut M::Statistics,
    ///     best: &mut [M::Scalar],
    ///     mut draw: impl FnMut(&mut M, u64),
    /// ) -> Result<Best, FitError<M::Error>>
    /// where
    ///     M: Fit<B> + TablesMut,
    /// {
    ///     let plan = EmOptions::default().check().expect("the defaults are good");
    ///     Restarts::new(10, 42).expect("ten are some").run(model, best, |model, restart| {
    ///         draw(model, restart.seed);
    ///         plan.fit(model, batch, statistics, no_observer)
    ///     })
    /// }
    /// ```
    pub fn run<M, E>(
        mut self,
        model: &mut M,
        best: &mut [M::Scalar],
        mut attempt: impl FnMut(&mut M, Restart) -> Result<Outcome, FitError<E>>,
    ) -> Result<Best, FitError<E>>
    where
        M: TablesMut,
    {
        let (expected, found) = (model.buffer().len(), best.len());
        let wrong = FitError::Snapshot { expected, found };
        if expected != found {
            return Err(wrong);
        }
        let mut failed = None;
        let mut kept_last = false;
        while let Some(restart) = self.next_restart() {
            match attempt(model, restart) {
                Ok(outcome) => kept_last = self.keep(&outcome),
                Err(error) => {
                    (failed, kept_last) = (Some(error), false);
                    break;
                }
            }
            if kept_last {
                best.copy_from_slice(model.buffer());
            }
        }
        if self.best.is_some() && !kept_last {
            model.buffer_mut().copy_from_slice(best);
        }
        match failed {
            Some(error) => Err(error),
            None => self.best.ok_or(wrong), // there is one, since there are runs and none failed
        }
    }
}

/// The seed of a run: for the first the base seed itself, so that a single run equals a plain fit; for later
/// ones the outputs of SplitMix64 seeded with the base seed.
///
/// ```
/// use countgrid_em::restart_seed;
/// assert_eq!(restart_seed(0, 0), 0);
/// assert_eq!(restart_seed(0, 1), 0xE220_A839_7B1D_CDAF);
/// ```
///
/// # Source
/// G. Steele, D. Lea & C. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
#[must_use]
pub const fn restart_seed(base: u64, index: usize) -> u64 {
    if index == 0 {
        return base;
    }
    let z = base.wrapping_add((index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
