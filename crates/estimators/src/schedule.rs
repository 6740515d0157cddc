//! Stages, phases and restarts of a training, and how the work is divided between them.

use countgrid_em::{Annealing, EmPlan, StepwisePlan};

/// How a stage begins, before its iterations over all data.
///
/// Example: [`Schedule`](crate::Schedule).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InitialPhase {
    /// With these iterations at once.
    Plain,
    /// With annealing: posteriors begin flat and sharpen.
    Annealed(Annealing),
    /// In mini-batches.
    Stepwise {
        /// Step sizes and passes.
        plan: StepwisePlan,
        /// Data of a mini-batch, at least 1.
        size: usize,
        /// Mini-batches of a pass, at least 1.
        batches: usize,
    },
}

impl InitialPhase {
    /// Updates, at most.
    pub(crate) fn updates(&self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Annealed(annealing) => annealing.iterations(),
            Self::Stepwise { plan, batches, .. } => plan.options().passes.saturating_mul(*batches),
        }
    }

    /// Iterations over all data that cost as much as so many updates.
    fn cost(&self, updates: usize) -> f64 {
        match self {
            Self::Stepwise { batches, .. } => updates.min(self.updates()) as f64 / *batches as f64,
            _ => updates.min(self.updates()) as f64,
        }
    }
}

/// One stage of a [`Schedule`].
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// How large the model of this stage is ([`crate::Progress::extents`]).
    pub extents: Vec<usize>,
    /// How it begins.
    pub initial_phase: InitialPhase,
    /// Its iterations over all data.
    pub em: EmPlan,
    /// The work of one iteration, in any unit that the stages share.
    pub work: f64,
}

impl Stage {
    /// Updates, at most.
    pub(crate) fn updates(&self) -> usize {
        self.initial_phase.updates().saturating_add(self.em.options().iterations)
    }

    /// The work of so many updates.
    fn work_of(&self, updates: usize) -> f64 {
        let plain = updates.saturating_sub(self.initial_phase.updates()) as f64;
        self.work * (self.initial_phase.cost(updates) + plain)
    }
}

/// What a training does: the stages, one after the other, from each of several random starts.
///
/// ```
/// use countgrid_em::EmOptions;
/// use countgrid_estimators::{InitialPhase, Schedule, Stage};
/// let em = EmOptions { iterations: 40, ..EmOptions::default() }.check()?;
/// let stage = Stage { extents: vec![20], initial_phase: InitialPhase::Plain, em, work: 1.0 };
/// let schedule = Schedule { seed: 1, restarts: 5, stages: vec![stage] };
/// assert_eq!(schedule.updates(), 5 * 40);
/// # Ok::<(), countgrid_em::OptionError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The seed from which those of the random starts follow ([`countgrid_em::restart_seed`]).
    pub seed: u64,
    /// Random starts, at least 1.
    pub restarts: usize,
    /// The stages, at least one; the last is that of the final model.
    pub stages: Vec<Stage>,
}

impl Schedule {
    /// Updates of all restarts, at most.
    #[must_use]
    pub fn updates(&self) -> usize {
        self.updates_before(self.restarts, 0)
    }

    /// Updates before a stage of a restart, at most.
    pub(crate) fn updates_before(&self, restart: usize, stage: usize) -> usize {
        let sum = |stages: &[Stage]| {
            stages.iter().fold(0usize, |updates, stage| updates.saturating_add(stage.updates()))
        };
        let before = self.stages.get(..stage).unwrap_or(&self.stages);
        sum(&self.stages).saturating_mul(restart).saturating_add(sum(before))
    }

    /// Share of all work that is done after so many updates of a stage, if nothing converges before.
    pub(crate) fn share_done(&self, restart: usize, stage: usize, updates: usize) -> f64 {
        let whole = |stage: &Stage| stage.work_of(stage.updates());
        let total: f64 = self.stages.iter().map(whole).sum();
        let before: f64 = self.stages.iter().take(stage).map(whole).sum();
        let here = self.stages.get(stage).map_or(0.0, |stage| stage.work_of(updates));
        let share = if total > 0.0 { ((before + here) / total).min(1.0) } else { 0.0 };
        ((restart as f64 + share) / self.restarts.max(1) as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use countgrid_em::{EmOptions, StepwiseOptions};

    use super::*;

    #[test]
    fn shares_of_the_work_add_up() {
        let em = |iterations| EmOptions { iterations, ..EmOptions::default() }.check().unwrap();
        let stepwise = StepwiseOptions { passes: 2, ..StepwiseOptions::default() }.check().unwrap();
        let initial_phase = InitialPhase::Stepwise { plan: stepwise, size: 10, batches: 5 };
        let schedule = Schedule {
            seed: 0,
            restarts: 2,
            stages: vec![
                Stage { extents: vec![2], initial_phase: InitialPhase::Plain, em: em(4), work: 1.0 },
                Stage { extents: vec![4], initial_phase, em: em(6), work: 2.0 },
            ],
        };
        // 4 iterations of work 1; 2 passes and 6 iterations of work 2: 20 in all.
        assert_eq!(schedule.updates(), 2 * (4 + 10 + 6));
        assert_eq!(schedule.updates_before(1, 1), 24);
        assert_eq!(schedule.share_done(0, 0, 0), 0.0);
        assert_eq!(schedule.share_done(0, 1, 0), 0.1);
        assert_eq!(schedule.share_done(0, 1, 5), 0.15);
        assert_eq!(schedule.share_done(1, 1, 16), 1.0);
        // Without any work a restart is done when it is over.
        let nothing = Stage { extents: vec![2], initial_phase: InitialPhase::Plain, em: em(4), work: 0.0 };
        let schedule = Schedule { stages: vec![nothing], ..schedule };
        assert_eq!([schedule.share_done(0, 0, 4), schedule.share_done(1, 0, 0)], [0.0, 0.5]);
        assert_eq!(schedule.share_done(2, 0, 0), 1.0);
    }
}
