use crate::{
    EmPlan, End, Fit, FitError, Progress, TablesMutExt,
    fit::{has_converged, objective},
};

/// A fit in progress, one iteration a call, for a caller that has other things to do in between: a page that shows
/// how far it is, a program that may be asked to stop. [`EmPlan::fit`] is this in a loop.
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iterations {
    plan: EmPlan,
    limit: usize,
    last: Option<Progress>, // whose statistics are still to be learned from
}

impl Iterations {
    /// Before the first E-step.
    pub fn new(plan: EmPlan) -> Self {
        Self { plan, limit: plan.options().iterations, last: None }
    }

    /// With so many iterations before those of the plan.
    pub(crate) fn after(plan: EmPlan, iterations: usize) -> Self {
        Self { limit: plan.options().iterations.saturating_add(iterations), ..Self::new(plan) }
    }

    /// Updates of the parameters so far.
    pub fn updates(&self) -> usize {
        self.last.map_or(0, |last| last.iteration)
    }

    /// Updates the parameters from the statistics of the step before, if there was one, and judges them: an E-step
    /// finds their objective. Says with it whether the fit has ended. So the last progress is that of the parameters
    /// that the model has, and so are the statistics; these belong to the fit until it ends.
    ///
    /// After the end another step goes on; after an error there is nothing to go on from.
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
        self.step_at(1.0, model, batch, statistics, |_, _| {})
    }

    /// A step at an inverse temperature, which `set_beta` gives to the model.
    pub(crate) fn step_at<B, M>(
        &mut self,
        beta: f64,
        model: &mut M,
        batch: &B,
        statistics: &mut M::Statistics,
        mut set_beta: impl FnMut(&mut M, f64),
    ) -> Result<(Progress, Option<End>), FitError<M::Error>>
    where
        B: ?Sized,
        M: Fit<B>,
    {
        if self.last.is_some() {
            model.maximization(statistics).map_err(FitError::Model)?;
        }
        let iteration = self.last.map_or(0, |last| last.iteration.saturating_add(1));
        set_beta(model, beta);
        statistics.clear();
        let free_energy = model.expectation(batch, statistics).map_err(FitError::Model)?;
        let objective = objective(iteration, free_energy, model.penalty())?;
        // The objectives of different temperatures cannot be compared.
        let change = self.last.filter(|last| last.beta == 1.0).map(|last| objective - last.objective);
        let progress = Progress { iteration, beta, free_energy, objective, change };
        let before = self.last.and_then(|last| last.change);
        self.last = Some(progress);
        let end = if has_converged(&progress, before, self.plan.options().tolerance) {
            Some(End::Converged)
        } else {
            (iteration >= self.limit).then_some(End::Limit)
        };
        Ok((progress, end))
    }
}
