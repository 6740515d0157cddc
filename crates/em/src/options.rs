use core::fmt;

use countgrid_math::{exp, ln};

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmPlan(EmOptions);

impl EmPlan {
    /// The settings.
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Annealing {
    start: f64, // in (0, 1]
    iterations: usize,
    geometric: bool,
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
        Ok(Self { start, iterations, geometric })
    }
    /// How many iterations come before `β = 1`.
    pub fn iterations(&self) -> usize {
        self.iterations
    }
    /// The inverse temperature of an iteration; exactly 1 from [`Annealing::iterations`] on.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// The tolerance is negative or not finite.
    Tolerance,
    /// The first inverse temperature is outside `(0, 1]`.
    Temperature,
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
