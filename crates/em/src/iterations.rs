use crate::{
    Anneal, Annealing, EmPlan, End, Fit, FitError, Learn, Progress, TablesMutExt,
    fit::{has_converged, objective},
};

/// A fit in progress, one iteration per call, for callers that act between iterations: that draw the progress, or may be
/// interrupted. [`EmPlan::fit`] is this in a loop.
///
/// ```
/// use countgrid_em::{EmPlan, Fit, FitError, Iterations};
///
/// fn fit<B, M: Fit<B>>(
///     plan: EmPlan,
///     model: &mut M,
///     batch: &B,
///     statistics: &mut M::Statistics,
///     mut show: impl FnMut(f64),
/// ) -> Result<(), FitError<M::Error>> {
///     let mut iterations = Iterations::new(plan);
///     loop {
///         let (progress, end) = iterations.step(model, batch, statistics)?;
///         show(progress.free_energy);
///         if end.is_some() {
///             return Ok(());
///         }
///     }
/// }
/// ```
///
/// Its state, besides the model and the statistics, is [`Iterations::last`]: to continue a fit in another process save these
/// three, and call [`Iterations::resume`] with them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "nothing is fitted but by its steps"]
pub struct Iterations {
    plan: EmPlan,
    last: Option<Progress>, // its statistics are those of the next M-step
    updated: bool,          // the next M-step was made, and its E-step not finished
}

impl Iterations {
    /// Before the first E-step.
    pub const fn new(plan: EmPlan) -> Self {
        Self { plan, last: None, updated: false }
    }

    /// After the step that made this progress, with the model and the statistics that it left. `None` is before the
    /// first E-step.
    pub const fn resume(plan: EmPlan, last: Option<Progress>) -> Self {
        Self { plan, last, updated: false }
    }

    /// After an update whose E-step was not finished ([`Iterations::is_updated`]), with the model that it left and the progress
    /// before it. What the statistics hold does not matter.
    pub const fn resume_updated(plan: EmPlan, last: Option<Progress>) -> Self {
        Self { plan, last, updated: true }
    }

    /// Whether the parameters were updated by a step whose E-step then failed or was stopped: the next step repeats the E-step
    /// alone.
    #[must_use]
    pub const fn is_updated(&self) -> bool {
        self.updated
    }

    /// What the last step found, if there was one.
    #[must_use]
    pub const fn last(&self) -> Option<Progress> {
        self.last
    }

    /// Updates of the parameters so far.
    #[must_use]
    pub fn updates(&self) -> usize {
        self.last.map_or(0, |last| last.iteration.saturating_add(usize::from(self.updated)))
    }

    /// Updates the parameters from the statistics of the step before, if there was one, and evaluates them by an E-step.
    /// Returns the progress, and why the fit has ended if it has. The last progress and the statistics are those of the
    /// parameters that the model has; the statistics are not to be changed until the fit has ended.
    ///
    /// A step after the end continues the fit. After an error of the M-step, or an objective that is not finite, it cannot be
    /// continued. After an error of the E-step, such as that of a batch that could not be read or a [`Stop`](crate::BlockStatistics::set_stop),
    /// the next step repeats the E-step, to the bits that it would have had.
    ///
    /// # Errors
    /// [`FitError::Model`]; [`FitError::Objective`] if free energy or penalty is NaN or infinite. The model has then
    /// the parameters of the last update.
    pub fn step<B, M>(
        &mut self,
        model: &mut M,
        batch: &B,
        statistics: &mut M::Statistics,
    ) -> Result<(Progress, Option<End>), FitError<M::Error>>
    where
        B: ?Sized,
        M: Fit<B>,
    {
        self.step_at(model, batch, statistics, 1.0, 0, |_, _, _| {})
    }

    /// A step of [`EmPlan::fit_annealed`]: at the inverse temperature that the schedule has for it, which the model keeps.
    /// The iterations of the schedule do not count against the limit of the plan.
    ///
    /// The schedule is at 1 where a fit converges or uses up its iterations. A caller that ends it earlier restores the
    /// exact posterior: `model.set_inverse_temperature(1.0)`.
    ///
    /// # Errors
    /// Those of [`Iterations::step`].
    ///
    /// ```
    /// use countgrid_em::{Anneal, Annealing, EmPlan, Fit, FitError, Iterations};
    ///
    /// fn fit<B, M: Fit<B> + Anneal>(
    ///     plan: EmPlan,
    ///     model: &mut M,
    ///     batch: &B,
    ///     statistics: &mut M::Statistics,
    ///     schedule: &Annealing,
    /// ) -> Result<(), FitError<M::Error>> {
    ///     let mut iterations = Iterations::new(plan);
    ///     while iterations.step_annealed(model, batch, statistics, schedule)?.1.is_none() {}
    ///     Ok(())
    /// }
    /// ```
    pub fn step_annealed<B, M>(
        &mut self,
        model: &mut M,
        batch: &B,
        statistics: &mut M::Statistics,
        schedule: &Annealing,
    ) -> Result<(Progress, Option<End>), FitError<M::Error>>
    where
        B: ?Sized,
        M: Fit<B> + Anneal,
    {
        let iteration = self.next_iteration();
        let (beta, before) = (schedule.beta(iteration), schedule.iterations());
        self.step_at(model, batch, statistics, beta, before, |model, statistics, updated| {
            anneal(model, statistics, schedule, iteration, updated);
        })
    }

    /// A step at an inverse temperature, for which `prepare` readies the model, in a fit with so many iterations before
    /// those of the plan.
    fn step_at<B, M>(
        &mut self,
        model: &mut M,
        batch: &B,
        statistics: &mut M::Statistics,
        beta: f64,
        before: usize,
        prepare: impl FnOnce(&mut M, &mut M::Statistics, bool),
    ) -> Result<(Progress, Option<End>), FitError<M::Error>>
    where
        B: ?Sized,
        M: Fit<B>,
    {
        self.update_with(model, statistics, prepare)?;
        let free_energy = model.expectation(batch, statistics).map_err(FitError::Model)?;
        self.evaluated(free_energy, model.penalty(), beta, before)
    }

    /// The first half of [`Iterations::step`]: updates the parameters, if there were statistics before, and clears the statistics
    /// for an E-step, which may be computed elsewhere and is ended by [`Iterations::evaluate`]. A second call changes nothing.
    ///
    /// # Errors
    /// [`FitError::Model`].
    ///
    /// ```
    /// use countgrid_em::{EmPlan, End, Fit, FitError, Iterations};
    ///
    /// fn fit<B, M: Fit<B>>(
    ///     plan: EmPlan,
    ///     model: &mut M,
    ///     batch: &B,
    ///     sums: &mut M::Statistics,
    /// ) -> Result<End, FitError<M::Error>> {
    ///     let mut iterations = Iterations::new(plan);
    ///     loop {
    ///         iterations.update(model, sums)?;
    ///         let free_energy = model.expectation(batch, sums).map_err(FitError::Model)?; // here or elsewhere
    ///         if let (_, Some(end)) = iterations.evaluate(free_energy, model.penalty(), None)? {
    ///             return Ok(end);
    ///         }
    ///     }
    /// }
    /// ```
    pub fn update<M: Learn>(
        &mut self,
        model: &mut M,
        statistics: &mut M::Statistics,
    ) -> Result<(), FitError<M::Error>> {
        self.update_with(model, statistics, |_, _, _| {})
    }

    /// As [`Iterations::update`], of [`Iterations::step_annealed`]: the model is then at the inverse temperature of the E-step.
    ///
    /// # Errors
    /// Those of [`Iterations::update`].
    pub fn update_annealed<M: Learn + Anneal>(
        &mut self,
        model: &mut M,
        statistics: &mut M::Statistics,
        schedule: &Annealing,
    ) -> Result<(), FitError<M::Error>> {
        let iteration = self.next_iteration();
        self.update_with(model, statistics, |model, statistics, updated| {
            anneal(model, statistics, schedule, iteration, updated);
        })
    }

    /// The second half of a step, after [`Iterations::update`] and the E-step, whose sums the statistics then have to hold: from
    /// the free energy of all data and the penalty of the model, with the schedule of an annealed fit.
    ///
    /// # Errors
    /// [`FitError::Objective`].
    pub fn evaluate<E>(
        &mut self,
        free_energy: f64,
        penalty: f64,
        schedule: Option<&Annealing>,
    ) -> Result<(Progress, Option<End>), FitError<E>> {
        let iteration = self.next_iteration();
        let (beta, before) =
            schedule.map_or((1.0, 0), |schedule| (schedule.beta(iteration), schedule.iterations()));
        self.evaluated(free_energy, penalty, beta, before)
    }

    /// The number of the update that the next E-step evaluates.
    fn next_iteration(&self) -> usize {
        self.last.map_or(0, |last| last.iteration.saturating_add(1))
    }

    fn update_with<M: Learn>(
        &mut self,
        model: &mut M,
        statistics: &mut M::Statistics,
        prepare: impl FnOnce(&mut M, &mut M::Statistics, bool),
    ) -> Result<(), FitError<M::Error>> {
        if self.last.is_some() && !self.updated {
            model.maximization(statistics).map_err(FitError::Model)?;
        }
        prepare(model, statistics, self.updated);
        self.updated = true;
        statistics.clear();
        Ok(())
    }

    fn evaluated<E>(
        &mut self,
        free_energy: f64,
        penalty: f64,
        beta: f64,
        before: usize,
    ) -> Result<(Progress, Option<End>), FitError<E>> {
        let iteration = self.next_iteration();
        self.updated = false;
        let objective = objective(iteration, free_energy, penalty)?;
        // The objectives of different temperatures cannot be compared.
        let change = self.last.filter(|last| last.beta == 1.0).map(|last| objective - last.objective);
        let progress = Progress { iteration, beta, free_energy, objective, change };
        let previous = self.last.and_then(|last| last.change);
        self.last = Some(progress);
        let end = if has_converged(&progress, previous, self.plan.options().tolerance) {
            Some(End::Converged)
        } else {
            (iteration >= self.plan.options().iterations.saturating_add(before)).then_some(End::Limit)
        };
        Ok((progress, end))
    }
}

/// Readies a model for the E-step after so many updates of a schedule.
fn anneal<M: Learn + Anneal>(
    model: &mut M,
    statistics: &mut M::Statistics,
    schedule: &Annealing,
    iteration: usize,
    updated: bool,
) {
    model.set_inverse_temperature(schedule.beta(iteration));
    if let Some((size, seed)) = schedule.perturbation(iteration).filter(|_| !updated) {
        model.perturb(statistics, size, seed);
    }
}
