use crate::{GridError, UpdateRule};

/// When the posterior of a bag is good enough.
///
/// Inference starts from `gamma_l = alpha_l + N / P`, independent of earlier results, unless a start is given.
///
/// Example: [`WindowMeans::posterior`](crate::componential::WindowMeans::posterior).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Inference {
    /// At most so many sweeps, at least 1.
    pub sweeps: usize,
    /// A sweep is the last if it moved at most this share of the bag's tokens: `Σ_l |change of gamma_l| ≤ tolerance N`.
    /// With 0 it is the last only if it changed nothing.
    pub tolerance: f64,
}

impl Inference {
    /// As good as the float type gets, within 10,000 sweeps: for derivatives, which are right at a converged posterior
    /// only.
    pub const CONVERGED: Self = Self { sweeps: 10_000, tolerance: 1e-14 };

    pub(crate) fn check(self) -> Result<Self, GridError> {
        if self.sweeps == 0 {
            return Err(GridError::NoSweeps);
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(GridError::Tolerance);
        }
        Ok(self)
    }
}

impl Default for Inference {
    fn default() -> Self {
        Self { sweeps: 100, tolerance: 1e-3 }
    }
}

/// What the two steps do. Checked when a [`crate::componential::Learner`] takes it.
///
/// Example: [`componential`](crate::componential).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Options {
    /// When a bag's posterior is good enough.
    pub inference: Inference,
    /// Passes of an M-step over the same window counts, at least 1.
    pub inner_passes: usize,
    /// Exact or printed form.
    pub update_rule: UpdateRule,
    /// Pseudo-tokens `a` of every feature at every cell: a Dirichlet prior of parameter `1 + a` on each cell.
    pub pseudocount: f64,
    /// Whether one value of `alpha` for all windows is learned, from 1e-6 to 1e4; else it stays as it is.
    pub learn_alpha: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inference: Inference::default(),
            inner_passes: 1,
            update_rule: UpdateRule::Exact,
            pseudocount: 0.0,
            learn_alpha: false,
        }
    }
}

impl Options {
    pub(crate) fn check(self) -> Result<Self, GridError> {
        self.inference.check()?;
        if !(self.pseudocount >= 0.0 && self.pseudocount.is_finite()) {
            return Err(GridError::Pseudocount);
        }
        if self.inner_passes == 0 {
            return Err(GridError::NoPasses);
        }
        Ok(self)
    }
}
