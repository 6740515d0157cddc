use crate::GridError;

/// How an M-step passes expected counts from windows to cells.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum UpdateRule {
    /// The majorise-minimise pass of Algorithm 1, which never lowers the bound.
    #[default]
    Exact,
    /// The printed Eq. (9) and Algorithm 2 of the journal paper, a sum of products replaced by a product of
    /// sums. **A heuristic, not an EM step**: it lowers the bound near an optimum and settles below the
    /// exact rule, at the same cost. It is here so that published figures can be reproduced.
    Factored,
}

/// Below which score a window's posterior is exactly zero.
///
/// Zeros are what makes an E-step fast once posteriors have concentrated.
///
/// Example: [`LogHistograms`](crate::LogHistograms).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum PosteriorThreshold {
    /// `ln P - ln u` nats below the best window, 24 in f32 and 44 in f64 for 1,600 cells: all that is denied
    /// comes to less than one rounding of a bag's evidence. A cell that no bag visits with more than that
    /// counts as a cell without mass and keeps its distribution.
    #[default]
    Rounding,
    /// So many nats below the best window. Fewer than [`PosteriorThreshold::Rounding`] trades exactness for speed,
    /// and does harm while posteriors are still flat.
    Nats(f64),
    /// Never: a posterior is zero only where the exponential is.
    Off,
}

/// What the two steps do. Checked when a [`crate::Learner`] takes it.
///
/// Example: [`componential`](crate::componential).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Options {
    /// Passes of an M-step over the same window counts, at least 1. Deeper is faster at first, not better
    /// at the end.
    pub inner_passes: usize,
    /// Exact or printed form.
    pub update_rule: UpdateRule,
    /// Whether the location prior is learned (journal paper, Eq. 10). A prior that reaches zero stays.
    pub learn_prior: bool,
    /// Pseudo-tokens `a` of every feature at every cell: a Dirichlet prior of parameter `1 + a` on each cell.
    pub pseudocount: f64,
    /// Pseudo-bags at every location: the same for the location prior.
    pub prior_pseudocount: f64,
    /// Which windows the E-step leaves out.
    pub posterior_threshold: PosteriorThreshold,
    /// Whether the E-step asks for bounds which windows the threshold will leave out, and does not score them, once
    /// posteriors are sharp. Changes no bit of any result: turn it off to measure what it saves.
    pub prune: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            inner_passes: 1,
            update_rule: UpdateRule::Exact,
            learn_prior: false,
            pseudocount: 0.0,
            prior_pseudocount: 0.0,
            posterior_threshold: PosteriorThreshold::Rounding,
            prune: true,
        }
    }
}

impl Options {
    pub(crate) fn check(self) -> Result<Self, GridError> {
        let valid = |a: f64| a >= 0.0 && a.is_finite();
        if !(valid(self.pseudocount) && valid(self.prior_pseudocount)) {
            return Err(GridError::Pseudocount);
        }
        if self.inner_passes == 0 {
            return Err(GridError::NoPasses);
        }
        if matches!(self.posterior_threshold, PosteriorThreshold::Nats(nats) if !(nats > 0.0)) {
            return Err(GridError::PosteriorThreshold);
        }
        Ok(self)
    }
}
