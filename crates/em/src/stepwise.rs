use core::{borrow::Borrow, ops::ControlFlow};

use countgrid_math::{Real, exp, ln};

use crate::{
    End, Fit, FitError, Learn, OptionError, Outcome, Progress, Tables, TablesMutExt,
    fit::{has_converged, objective},
    options::check_tolerance,
};

/// Beyond it, `k + delay` is `delay`.
const MAX_DELAY: f64 = (1_u64 << 53) as f64;

/// How far one mini-batch moves the running statistics.
///
/// Example: [`StepwiseOptions`](crate::StepwiseOptions).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum StepSize {
    /// `η_k = (k + delay)^-exponent` for the mini-batch `k = 1, 2, ...` after the first: converges for an
    /// exponent in `(0.5, 1]`; smaller ones forget faster. A delay, not negative, shortens the early steps.
    Power {
        /// In `(0.5, 1]`.
        exponent: f64,
        /// Within 0 and 2⁵³.
        delay: f64,
    },
    /// The same `η` always, in `(0, 1]`: follows data that drift. With 1, only the last mini-batch counts.
    Constant(f64),
}

/// Settings of a stepwise fit, to be checked into a [`StepwisePlan`].
///
/// ```
/// use countgrid_em::{OptionError, StepSize, StepwiseOptions};
/// let plan = StepwiseOptions { passes: 5, ..StepwiseOptions::default() }.check()?;
/// assert!((plan.step_size(2) - 4.0_f64.powf(-0.7)).abs() < 1e-15);
/// let step_size = StepSize::Power { exponent: 0.5, delay: 2.0 };
/// let refused = StepwiseOptions { step_size, ..StepwiseOptions::default() }.check();
/// assert_eq!(refused, Err(OptionError::Exponent));
/// # Ok::<(), OptionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct StepwiseOptions {
    /// How far one mini-batch moves the running statistics.
    pub step_size: StepSize,
    /// At most so many passes over the data, at least 1.
    pub passes: usize,
    /// A fit has converged when the objective of a pass is within `tolerance · |J|` of that of the pass before, twice in a
    /// row and the second time no further.
    pub tolerance: f64,
}

impl Default for StepwiseOptions {
    /// Exponent 0.7, delay 2; at most 10 passes; a tolerance of 1e-5.
    fn default() -> Self {
        Self { step_size: StepSize::Power { exponent: 0.7, delay: 2.0 }, passes: 10, tolerance: 1e-5 }
    }
}

impl StepwiseOptions {
    /// The plan of these settings.
    ///
    /// # Errors
    /// [`OptionError::Exponent`], [`OptionError::Delay`], [`OptionError::StepSize`], [`OptionError::Passes`],
    /// [`OptionError::Tolerance`].
    pub fn check(self) -> Result<StepwisePlan, OptionError> {
        match self.step_size {
            StepSize::Power { exponent, .. } if !(exponent > 0.5 && exponent <= 1.0) => {
                return Err(OptionError::Exponent);
            }
            StepSize::Power { delay, .. } if !(0.0..=MAX_DELAY).contains(&delay) => {
                return Err(OptionError::Delay);
            }
            StepSize::Constant(eta) if !(eta > 0.0 && eta <= 1.0) => return Err(OptionError::StepSize),
            _ => {}
        }
        if self.passes == 0 {
            return Err(OptionError::Passes);
        }
        check_tolerance(self.tolerance)?;
        Ok(StepwisePlan(self))
    }
}

/// Checked settings of a stepwise fit.
///
/// After every mini-batch the statistics move towards those of the batch, scaled up to the size of the data set,
/// and the parameters are updated from them: `S ← (1 - η) S + η (T / |batch|) s`. One statistics object does it, since an
/// E-step adds: scale `S`, add `s`, scale back.
///
/// The first mini-batch replaces whatever the statistics held, `η_0 = 1`: there is nothing yet to be kept.
///
/// # Source
/// O. Cappé & E. Moulines, On-line expectation-maximization algorithm for latent data models, Journal of the Royal
/// Statistical Society B 71(3), 2009; P. Liang & D. Klein, Online EM for unsupervised models, NAACL 2009.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "StepwiseOptions")
)]
pub struct StepwisePlan(StepwiseOptions);

impl StepwisePlan {
    /// The settings.
    #[must_use]
    pub fn options(&self) -> &StepwiseOptions {
        &self.0
    }

    /// `η_k`, in `(0, 1]`; the first, `η_0`, is 1.
    #[must_use]
    pub fn step_size(&self, step: usize) -> f64 {
        match self.0.step_size {
            _ if step == 0 => 1.0,
            StepSize::Power { exponent, delay } => exp(-exponent * ln(step as f64 + delay)),
            StepSize::Constant(eta) => eta,
        }
    }

    /// Fits a model by passes over the data, one mini-batch at a time.
    ///
    /// `batches` gives the mini-batches of a pass, each with its share `|batch| / T` of the data, in `(0, 1]`;
    /// they may come in another order in another pass.
    ///
    /// The free energy is an estimate: that of the mini-batches seen in the present pass, each under the
    /// parameters before its update, scaled up to the size of the data set. The observer is called after every
    /// update; there is a [`Progress::change`], and a test of convergence, at the end of each pass but the
    /// first. An outcome's `iterations` are updates. The penalty in an objective is that of the new parameters at the end of
    /// a pass and in the first one; between ends it is that of the end before, since it takes a reading of all parameters.
    ///
    /// # Errors
    /// [`FitError::Model`], [`FitError::Objective`], [`FitError::Share`]; [`FitError::NoBatch`] if a pass has no
    /// mini-batch. The model has then the parameters of the last update.
    ///
    /// A mini-batch is of the type `B` that the model is fitted to, or lends one: `&[f64]` and `Vec<f64>` are mini-batches of a model
    /// that is `Fit<[f64]>`.
    ///
    /// ```
    /// use core::convert::Infallible;
    /// use countgrid_em::{Fit, Learn, StepwiseOptions, Table, TableBuffer, Tables, TablesMut, no_observer};
    ///
    /// struct Poisson { rate: f64 }
    /// impl Fit<[f64]> for Poisson {
    ///     fn expectation(&self, batch: &[f64], sums: &mut Self::Statistics) -> Result<f64, Infallible> {
    ///         let tokens: f64 = batch.iter().sum();
    ///         sums.buffer_mut()[0] += batch.len() as f64;
    ///         sums.buffer_mut()[1] += tokens;
    ///         Ok(self.rate * batch.len() as f64 - tokens * self.rate.ln())
    ///     }
    /// }
    /// impl Learn for Poisson {
    ///     type Statistics = TableBuffer<f64, [Table; 1], [f64; 2]>;
    ///     type Error = Infallible;
    ///     fn maximization(&mut self, sums: &mut Self::Statistics) -> Result<(), Infallible> {
    ///         self.rate = sums.buffer()[1] / sums.buffer()[0];
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let data: Vec<f64> = (0..1000).map(|t| f64::from(t % 5)).collect();
    /// let mut sums = TableBuffer::new([Table::new("sums", 1, 2)], [0.0; 2])?;
    /// let mut model = Poisson { rate: 1.0 };
    /// let batches = |_pass| data.chunks(100).map(|batch| (batch, 0.1)); // each a tenth of the data
    /// StepwiseOptions::default().check()?.fit(&mut model, batches, &mut sums, no_observer)?;
    /// assert!((model.rate - 2.0).abs() < 1e-12);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn fit<B, M, D, I>(
        &self,
        model: &mut M,
        mut batches: impl FnMut(usize) -> I,
        statistics: &mut M::Statistics,
        mut observer: impl FnMut(&M, &Progress) -> ControlFlow<()>,
    ) -> Result<Outcome, FitError<M::Error>>
    where
        B: ?Sized,
        M: Fit<B>,
        D: Borrow<B>,
        I: IntoIterator<Item = (D, f64)>,
    {
        let mut fit = StepwiseFit::new(*self);
        loop {
            let pass = fit.state().pass;
            let mut ended = None;
            let mut batches = batches(pass).into_iter().peekable();
            while let Some((batch, share)) = batches.next() {
                let last = batches.peek().is_none();
                let (progress, end) = fit.step(model, batch.borrow(), statistics, share, last)?;
                if observer(model, &progress).is_break() {
                    return Ok(Outcome::of(model, &progress, End::Stopped));
                }
                ended = Some((progress, end));
            }
            if let (progress, Some(end)) = ended.ok_or(FitError::NoBatch { pass })? {
                return Ok(Outcome::of(model, &progress, end));
            }
        }
    }
}

/// The state of a stepwise fit between two mini-batches, apart from model and statistics: plain data to save and to continue
/// from ([`StepwiseFit::resume`]).
///
/// Example: [`Stepwise`](crate::Stepwise).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct StepwiseState {
    /// Mini-batches learned so far, in all passes.
    pub steps: usize,
    /// Which pass is under way, from 0.
    pub pass: usize,
    /// Free energies of the mini-batches of this pass, in nats, added up.
    pub free_energy: f64,
    /// Shares of the mini-batches of this pass, added up.
    pub share: f64,
    /// The end of the pass before.
    pub previous: Option<Progress>,
}

/// A stepwise fit over passes, one mini-batch a call. [`StepwisePlan::fit`] is this in a loop.
///
/// ```
/// use countgrid_em::{Fit, FitError, StepwiseFit, StepwisePlan};
///
/// fn fit<B, M: Fit<B>>(
///     plan: StepwisePlan,
///     model: &mut M,
///     batches: &[(B, f64)], // each with its share of the data
///     statistics: &mut M::Statistics,
///     mut show: impl FnMut(f64),
/// ) -> Result<(), FitError<M::Error>> {
///     let mut fit = StepwiseFit::new(plan);
///     loop {
///         for (place, (batch, share)) in batches.iter().enumerate() {
///             let (progress, end) = fit.step(model, batch, statistics, *share, place + 1 == batches.len())?;
///             show(progress.free_energy);
///             if end.is_some() {
///                 return Ok(());
///             }
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "nothing is learned but by its steps"]
pub struct StepwiseFit {
    plan: StepwisePlan,
    state: StepwiseState,
}

impl StepwiseFit {
    /// Before the first mini-batch of the first pass.
    pub fn new(plan: StepwisePlan) -> Self {
        Self::resume(plan, StepwiseState::default())
    }

    /// Continues from a state, with the model and the statistics that belong to it.
    pub const fn resume(plan: StepwisePlan, state: StepwiseState) -> Self {
        Self { plan, state }
    }

    /// Where the fit is.
    #[must_use]
    pub const fn state(&self) -> &StepwiseState {
        &self.state
    }

    /// Learns from one mini-batch, which is a `share` of the data in `(0, 1]` and perhaps the `last` of its pass. After
    /// that one the next pass begins, unless the fit has ended: with [`End::Converged`] or, after the last pass,
    /// [`End::Limit`].
    ///
    /// # Errors
    /// Those of [`Stepwise::step`].
    pub fn step<B, M>(
        &mut self,
        model: &mut M,
        batch: &B,
        statistics: &mut M::Statistics,
        share: f64,
        last: bool,
    ) -> Result<(Progress, Option<End>), FitError<M::Error>>
    where
        B: ?Sized,
        M: Fit<B>,
    {
        let StepwiseState { steps, pass, previous, .. } = self.state;
        let mut stepwise = Stepwise::resume(self.plan, steps);
        self.state.free_energy += stepwise.step(model, batch, statistics, share)?;
        self.state.share += share;
        self.state.steps = stepwise.steps();
        let (iteration, free_energy) = (self.state.steps, self.state.free_energy / self.state.share);
        // A penalty reads all parameters, which may take as long as a small batch.
        let known = previous.filter(|_| !last).map(|end| end.objective - end.free_energy);
        let objective = objective(iteration, free_energy, known.unwrap_or_else(|| model.penalty()))?;
        let change = previous.filter(|_| last).map(|previous| objective - previous.objective);
        let progress = Progress { iteration, beta: 1.0, free_energy, objective, change };
        if !last {
            return Ok((progress, None));
        }
        let before = previous.and_then(|previous| previous.change);
        self.state = StepwiseState {
            pass: pass.saturating_add(1),
            free_energy: 0.0,
            share: 0.0,
            previous: Some(progress),
            ..self.state
        };
        let end = if has_converged(&progress, before, self.plan.0.tolerance) {
            Some(End::Converged)
        } else {
            (self.state.pass >= self.plan.0.passes).then_some(End::Limit)
        };
        Ok((progress, end))
    }
}

/// A stepwise fit in progress, for data that arrive one mini-batch after the other.
///
/// The statistics are a running average: to continue later, save them with the parameters and
/// [`Stepwise::steps`].
///
/// ```
/// use countgrid_em::{Fit, FitError, Stepwise, StepwiseOptions};
///
/// fn learn<B, M: Fit<B>>(
///     model: &mut M,
///     stream: impl Iterator<Item = B>,
///     statistics: &mut M::Statistics,
///     share: f64, // of a mini-batch in the data to which pseudocounts relate
/// ) -> Result<usize, FitError<M::Error>> {
///     let plan = StepwiseOptions::default().check().expect("the defaults are good");
///     let mut stepwise = Stepwise::new(plan);
///     for batch in stream {
///         stepwise.step(model, &batch, statistics, share)?;
///     }
///     Ok(stepwise.steps())
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "nothing is learned but by its steps"]
pub struct Stepwise {
    plan: StepwisePlan,
    steps: usize,
}

impl Stepwise {
    /// Before the first mini-batch.
    pub fn new(plan: StepwisePlan) -> Self {
        Self { plan, steps: 0 }
    }
    /// Continues after a number of mini-batches, with the statistics that they left.
    pub fn resume(plan: StepwisePlan, steps: usize) -> Self {
        Self { plan, steps }
    }
    /// Mini-batches learned so far.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Learns from one mini-batch, which is a `share` of the data in `(0, 1]`. Returns the mini-batch's free
    /// energy, in nats, under the parameters before the update.
    ///
    /// # Errors
    /// [`FitError::Share`], and nothing has changed; [`FitError::Model`], [`FitError::Objective`], and the
    /// parameters have not changed, but the statistics are no longer to be used.
    pub fn step<B, M>(
        &mut self,
        model: &mut M,
        batch: &B,
        statistics: &mut M::Statistics,
        share: f64,
    ) -> Result<f64, FitError<M::Error>>
    where
        B: ?Sized,
        M: Fit<B>,
    {
        let eta = self.plan.step_size(self.steps);
        // S ← (η / share) ((1 - η) (share / η) S + s)
        let [keep, grow] = [(1.0 - eta) * share / eta, eta / share].map(StatisticsScalar::<M>::from_f64);
        if !(share > 0.0 && share <= 1.0 && grow.to_f64().is_finite()) {
            return Err(FitError::Share { iteration: self.steps, share });
        }
        if eta < 1.0 {
            statistics.scale(keep);
        } else {
            statistics.clear();
        }
        let free_energy = model.expectation(batch, statistics).map_err(FitError::Model)?;
        if !free_energy.is_finite() {
            objective(self.steps, free_energy, model.penalty())?; // which may take as long as a small batch: only for the error
        }
        statistics.scale(grow);
        model.maximization(statistics).map_err(FitError::Model)?;
        self.steps = self.steps.saturating_add(1);
        Ok(free_energy)
    }
}

type StatisticsScalar<M> = <<M as Learn>::Statistics as Tables>::Scalar;
