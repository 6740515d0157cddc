use core::fmt;

use countgrid_math::{exp, ln};

use crate::restart_seed;

/// Settings of a fit, to be checked into an [`EmPlan`].
///
/// ```
/// use countgrid_em::{EmOptions, OptionError};
/// let plan = EmOptions { iterations: 200, ..EmOptions::default() }.check()?;
/// assert_eq!(plan.options().tolerance, 1e-5);
/// let refused = EmOptions { tolerance: f64::NAN, ..EmOptions::default() }.check();
/// assert_eq!(refused, Err(OptionError::Tolerance));
/// # Ok::<(), OptionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct EmOptions {
    /// A fit has converged when `|J - J_old| ≤ tolerance · |J|`, with the objective `J`, twice in a row and the second
    /// time by no more (near a flat start gains are small but grow), or when nothing changes. Finite, not negative.
    pub tolerance: f64,
    /// The most updates of the parameters; with 0 they are only evaluated.
    pub iterations: usize,
}

impl Default for EmOptions {
    /// A tolerance of 1e-5 and at most 70 iterations.
    fn default() -> Self {
        Self { tolerance: 1e-5, iterations: 70 }
    }
}

impl EmOptions {
    /// The plan of these settings.
    ///
    /// # Errors
    /// [`OptionError::Tolerance`].
    pub fn check(self) -> Result<EmPlan, OptionError> {
        check_tolerance(self.tolerance)?;
        Ok(EmPlan(self))
    }
}

/// Checked settings of a fit, and [the fit](EmPlan::fit) itself.
#[cfg_attr(
    feature = "serde",
    doc = r###"
With the feature `serde` options and plans are written and read; a plan is checked as it is read.

```
use countgrid_em::{EmOptions, EmPlan};
let options: EmOptions = serde_json::from_str(r##"{ "iterations": 200 }"##)?; // the others are the defaults
assert_eq!(serde_json::to_string(&options)?, r##"{"tolerance":0.00001,"iterations":200}"##);
assert!(serde_json::from_str::<EmPlan>(r##"{ "tolerance": -1 }"##).is_err());
# Ok::<(), serde_json::Error>(())
```
"###
)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "EmOptions"))]
pub struct EmPlan(EmOptions);

impl EmPlan {
    /// The settings.
    #[must_use]
    pub fn options(&self) -> &EmOptions {
        &self.0
    }
}

/// A schedule of inverse temperatures `β` that begins flat and ends at the exact posterior, `β = 1`.
///
/// ```
/// use countgrid_em::Annealing;
/// let schedule = Annealing::geometric(0.25, 2)?;
/// assert!((schedule.beta(1) - 0.5).abs() < 1e-15);
/// assert_eq!([schedule.beta(2), schedule.beta(900)], [1.0, 1.0]);
/// assert_eq!(Annealing::linear(0.25, 3)?.beta(1), 0.5);
/// # Ok::<(), countgrid_em::OptionError>(())
/// ```
///
/// # Where to begin
///
/// Flattened far enough, every model has a single optimum at which all components coincide, and an iteration brings them closer
/// to it. For components with a fixed variance `σ²` in each direction that is so below the critical inverse temperature
/// `β_c = σ² / λ`, with the largest eigenvalue `λ` of the covariance of the data: there they part along its eigenvector (Rose 1998).
/// A schedule begins well at about `β_c`. An iteration at `β < β_c` multiplies distances between components by `β / β_c`;
/// after some iterations far below it nothing is left of a random start but rounding.
///
/// Variances that are learned take on those of the data, in which case `β_c` is 1: all of the schedule brings components closer,
/// by `β` an iteration. Thirty geometric iterations from 0.5 leave 2e-5 of the distances of the start, twenty from 0.1 leave
/// 3e-11. Of bags `β_c` falls with their length: a bag of 100 tokens says 100 times as much as one token, so that 0.1 may be high.
///
/// Components that coincide stay so when the temperature falls: no E-step tells them apart, nothing changes any more, and the fit
/// reports that it has converged. [`Outcome::coinciding`](crate::Outcome) is then above 0. What helps: a higher start, fewer iterations, or
/// [`Annealing::with_perturbation`].
///
/// # Source
/// Rose, Deterministic annealing for clustering, compression, classification, regression, and related optimization problems,
/// Proceedings of the IEEE 1998; Ueda & Nakano, Deterministic annealing EM algorithm, Neural Networks 1998.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a schedule anneals nothing by itself"]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::AnnealingFields")
)]
pub struct Annealing {
    start: f64, // in (0, 1]
    iterations: usize,
    geometric: bool,
    perturbation: f64, // in [0, 1)
    seed: u64,
}

impl Annealing {
    /// From `start` by equal factors: `β_n = start^(1 - n / iterations)`.
    ///
    /// # Errors
    /// [`OptionError::Temperature`] unless `start` is within `(0, 1]`.
    pub fn geometric(start: f64, iterations: usize) -> Result<Self, OptionError> {
        Self::new(start, iterations, true)
    }
    /// From `start` by equal steps: `β_n = start + (1 - start) n / iterations`.
    ///
    /// # Errors
    /// [`OptionError::Temperature`] unless `start` is within `(0, 1]`.
    pub fn linear(start: f64, iterations: usize) -> Result<Self, OptionError> {
        Self::new(start, iterations, false)
    }
    fn new(start: f64, iterations: usize, geometric: bool) -> Result<Self, OptionError> {
        if !(start > 0.0 && start <= 1.0) {
            return Err(OptionError::Temperature);
        }
        Ok(Self { start, iterations, geometric, perturbation: 0.0, seed: 0 })
    }
    /// The same schedule with parameters perturbed ([`Anneal::perturb`](crate::Anneal::perturb)) before each E-step that meets another
    /// temperature: the first, all others below `β = 1` and the first at 1. `size` is relative, 0.01 to 0.1 is usual; without a call
    /// of this, or with 0, nothing is perturbed. With several restarts each may have a seed of its own.
    ///
    /// ```
    /// use countgrid_em::{Annealing, OptionError};
    /// let schedule = Annealing::geometric(0.1, 20)?.with_perturbation(0.05, 42)?;
    /// assert_eq!(schedule.with_perturbation(1.0, 42), Err(OptionError::Perturbation));
    /// # Ok::<(), OptionError>(())
    /// ```
    ///
    /// # Errors
    /// [`OptionError::Perturbation`] unless `size` is within `[0, 1)`.
    pub fn with_perturbation(self, size: f64, seed: u64) -> Result<Self, OptionError> {
        if !(0.0..1.0).contains(&size) {
            return Err(OptionError::Perturbation);
        }
        Ok(Self { perturbation: size, seed, ..self })
    }
    /// Size and seed of the perturbation before the E-step of an iteration, if there is one.
    pub(crate) fn perturbation(&self, iteration: usize) -> Option<(f64, u64)> {
        let some = self.perturbation > 0.0 && self.iterations > 0 && iteration <= self.iterations;
        some.then(|| (self.perturbation, restart_seed(self.seed, iteration.wrapping_add(1))))
    }
    /// How many iterations come before `β = 1`.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.iterations
    }
    /// The inverse temperature of an iteration; exactly 1 from [`Annealing::iterations`] on.
    #[must_use]
    pub fn beta(&self, iteration: usize) -> f64 {
        match iteration {
            n if n >= self.iterations => return 1.0,
            0 => return self.start, // not `exp(ln(start))`
            _ => {}
        }
        let share = iteration as f64 / self.iterations as f64;
        let beta = if self.geometric {
            exp((1.0 - share) * ln(self.start))
        } else {
            self.start + (1.0 - self.start) * share
        };
        beta.clamp(self.start, 1.0)
    }
}

/// Which setting was refused, and why.
///
/// Example: [`Annealing`](crate::Annealing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// The tolerance is negative or not finite.
    Tolerance,
    /// The first inverse temperature is outside `(0, 1]`.
    Temperature,
    /// The size of a perturbation is outside `[0, 1)`.
    Perturbation,
    /// No restart at all: at least one run is needed.
    Restarts,
    /// The exponent of the step size is outside `(0.5, 1]`: the steps would not converge, or stop short.
    Exponent,
    /// No pass over the data at all.
    Passes,
    /// The delay of the step size is negative, or so large (beyond 2⁵³) that the steps would not shorten.
    Delay,
    /// A constant step size is outside `(0, 1]`.
    StepSize,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tolerance => "the tolerance needs to be finite and not negative",
            Self::Temperature => "the first inverse temperature needs to be above 0 and at most 1",
            Self::Perturbation => "the size of a perturbation needs to be at least 0 and below 1",
            Self::Restarts => "at least one run is needed",
            Self::Exponent => "the exponent of the step size needs to be above 0.5 and at most 1",
            Self::Passes => "at least one pass over the data is needed",
            Self::Delay => "the delay of the step size needs to be within 0 and 2^53",
            Self::StepSize => "a constant step size needs to be above 0 and at most 1",
        })
    }
}

impl core::error::Error for OptionError {}

pub(crate) fn check_tolerance(tolerance: f64) -> Result<(), OptionError> {
    if tolerance >= 0.0 && tolerance.is_finite() { Ok(()) } else { Err(OptionError::Tolerance) }
}
