//! The progress of a training that observers receive, and its summary.

use countgrid_em::{Best, End};

/// What the iterations of a stage are.
///
/// Example: [`TraceRecord::fields`](crate::TraceRecord::fields).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Phase {
    /// Expectation maximisation over all data.
    Plain,
    /// The same with annealing: posteriors begin flat and sharpen.
    Annealed,
    /// Stepwise expectation maximisation in mini-batches.
    Stepwise,
    /// Contrastive divergence.
    ContrastiveDivergence,
    /// Langevin sampling of the posterior of parameters.
    Langevin,
}

/// Where a training is after a step.
///
/// Example: [`TraceRecord`](crate::TraceRecord).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Progress {
    /// Which random start, from 0.
    pub restart: usize,
    /// How many random starts there are.
    pub restarts: usize,
    /// Which stage of the schedule, from 0: of a grid, which level from coarse to fine.
    pub stage: usize,
    /// How many stages there are.
    pub stages: usize,
    /// How large the model of this stage is: the cells of a grid along each axis, the number of topics or of states.
    pub extents: Vec<usize>,
    /// What the step was.
    pub phase: Phase,
    /// Updates of the parameters at this stage so far.
    pub iteration: usize,
    /// Inverse temperature, 1 unless annealing.
    pub beta: f64,
    /// Updates so far, those of stages and restarts that are over counted as if they had used up theirs.
    pub done: usize,
    /// Updates that [`Progress::done`] comes to if nothing converges.
    pub planned: usize,
    /// Free energy of the data in nats, where the model has one.
    pub free_energy: Option<f64>,
    /// The bound on the log evidence per token, in nats: minus the free energy over the tokens.
    pub bound_per_token: Option<f64>,
    /// Share of the work that is done, from 0 to 1, if nothing converges. The work of an iteration grows with the model.
    pub share_done: f64,
    /// Whether this step used up the updates of its stage.
    pub last: bool,
}

/// How a training ended.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct FitSummary {
    /// Updates of the last stage, of the restart that was kept.
    pub iterations: usize,
    /// Free energy of all data in nats; `None` of a training that was stopped before the model was evaluated.
    pub free_energy: Option<f64>,
    /// Bound on the log evidence of all data per token, in nats; `None` where there is no free energy.
    pub bound_per_token: Option<f64>,
    /// Why it ended.
    pub end: End,
    /// Which restart was kept, from 0.
    pub restart: usize,
}

impl FitSummary {
    /// The summary of the best run on data of so many tokens.
    #[must_use]
    pub fn new(best: &Best, tokens: f64) -> Self {
        Self {
            iterations: best.outcome.iterations,
            free_energy: Some(best.outcome.free_energy),
            bound_per_token: Some(-best.outcome.free_energy / tokens),
            end: best.outcome.end,
            restart: best.restart.index,
        }
    }

    /// The same of a model that was not evaluated.
    #[must_use]
    pub fn unevaluated(self) -> Self {
        Self { free_energy: None, bound_per_token: None, ..self }
    }

    /// Why it ended, in a few words: `converged`, `iterations used up`, `stopped`.
    #[must_use]
    pub fn end_reason(&self) -> &'static str {
        end_reason(self.end)
    }
}

/// Why a fit ended, in a few words; what model files say.
///
/// ```
/// use countgrid_em::End;
/// assert_eq!(countgrid_estimators::end_reason(End::Limit), "iterations used up");
/// ```
#[must_use]
pub fn end_reason(end: End) -> &'static str {
    match end {
        End::Converged => "converged",
        End::Limit => "iterations used up",
        End::Stopped => "stopped",
    }
}
