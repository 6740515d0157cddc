//! What validated types are read from, with the checks of their constructors.

use serde::Deserialize;

use crate::{Annealing, Best, EmOptions, EmPlan, OptionError, Restarts, StepwiseOptions, StepwisePlan};

impl TryFrom<EmOptions> for EmPlan {
    type Error = OptionError;

    fn try_from(options: EmOptions) -> Result<Self, OptionError> {
        options.check()
    }
}

impl TryFrom<StepwiseOptions> for StepwisePlan {
    type Error = OptionError;

    fn try_from(options: StepwiseOptions) -> Result<Self, OptionError> {
        options.check()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnnealingFields {
    start: f64,
    iterations: usize,
    geometric: bool,
    #[serde(default)]
    perturbation: f64,
    #[serde(default)]
    seed: u64,
}

impl TryFrom<AnnealingFields> for Annealing {
    type Error = OptionError;

    fn try_from(fields: AnnealingFields) -> Result<Self, OptionError> {
        let AnnealingFields { start, iterations, geometric, perturbation, seed } = fields;
        let make = if geometric { Self::geometric } else { Self::linear };
        make(start, iterations)?.with_perturbation(perturbation, seed)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestartsFields {
    count: usize,
    seed: u64,
    next: usize,
    best: Option<Best>,
    stopped: bool,
}

impl TryFrom<RestartsFields> for Restarts {
    type Error = OptionError;

    fn try_from(fields: RestartsFields) -> Result<Self, OptionError> {
        let RestartsFields { count, seed, next, best, stopped } = fields;
        Self::resume(count, seed, next, best, stopped)
    }
}
