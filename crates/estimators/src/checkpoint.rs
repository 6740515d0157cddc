//! A training between two steps as a file, and back.
//!
//! Tables: `learner.NAME` and `statistics.NAME` of the run under way and `best.NAME` of the best before, each as the contract
//! [`countgrid_em::Tables`] lays it out, `[rows, columns]`. Texts: `kind`, `model` and `version`; `option.NAME` and
//! `data.NAME`, which identify a checkpoint; and `state.NAME`, the state of the training. Numbers are written in full, as
//! text.

use std::borrow::Borrow;

use countgrid_em::{
    Best, End, Iterations, Outcome, Progress as EmProgress, Restart, Restarts, StepwiseFit, StepwiseState,
    restart_seed,
};
use countgrid_io::ModelFile;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    CheckpointError, DataDigest, Estimator, EstimatorError, InitialPhase, MiniBatchPass, Phase, Progress,
    Training,
    record::{Record, same_tables},
    training::{Fit, Fitting, Pass, Run, State},
};

/// The texts for the ends of a run and for phases.
const ENDS: [(End, &str); 3] =
    [(End::Converged, "converged"), (End::Limit, "limit"), (End::Stopped, "stopped")];
const PHASES: [(Phase, &str); 5] = [
    (Phase::Plain, "plain"),
    (Phase::Annealed, "annealed"),
    (Phase::Stepwise, "stepwise"),
    (Phase::ContrastiveDivergence, "contrastive divergence"),
    (Phase::Langevin, "langevin"),
];

fn text_of<X: Copy + PartialEq>(table: &[(X, &'static str)], x: X) -> &'static str {
    table.iter().find(|entry| entry.0 == x).map_or("", |entry| entry.1)
}

fn from_text<X: Copy>(
    table: &[(X, &'static str)],
    record: &Record,
    name: &str,
) -> Result<X, CheckpointError> {
    let text = record.text(name)?;
    let found = table.iter().find(|entry| entry.1 == text);
    found.map(|entry| entry.0).ok_or_else(|| CheckpointError::Text { name: name.to_owned() })
}

impl<E: Estimator, D: Borrow<E::Data>> Training<E, D> {
    fn data_digest(&self) -> Result<DataDigest, EstimatorError> {
        if let Some(&digest) = self.digest.get() {
            return Ok(digest);
        }
        let digest = self.plan.digest(self.data.borrow())?;
        Ok(*self.digest.get_or_init(|| digest))
    }

    /// Continues from a [checkpoint](crate::Train::checkpoint), with the options and data that it was written with: every
    /// further step has the bits that it would have had.
    ///
    /// # Errors
    /// [`EstimatorError::Checkpoint`] says what differs, or what the file lacks; for invalid parameters the error of the
    /// model.
    pub fn resume(plan: E, data: D, file: ModelFile) -> Result<Self, EstimatorError> {
        Self::new(plan, data)?.restored(file)
    }

    /// The state of a checkpoint, in place of a training that was not begun.
    pub(crate) fn restored(self, file: ModelFile) -> Result<Self, EstimatorError> {
        let mut training = self;
        let digest = training.data_digest()?;
        let mut record = Record::open(file, E::KIND, &training.plan.options(), &digest)?;
        let (seed, count, last_stage) = {
            let schedule = training.plan.schedule();
            (schedule.seed, schedule.restarts, schedule.stages.len().saturating_sub(1))
        };
        let best = match record.progress("state.best")? {
            None => None,
            Some(at) => {
                let index = record.get("state.best.restart")?;
                training.unevaluated = record.has("state.best.unevaluated");
                let end = from_text(&ENDS, &record, "state.best.end")?;
                training.best = Some(training.learner(&mut record, "best", last_stage)?.0);
                let restart = Restart { index, seed: restart_seed(seed, index) };
                Some(Best { restart, outcome: Outcome::new(&at, end) })
            }
        };
        let (started, stopped) = (record.get("state.restarts")?, record.get("state.stopped")?);
        training.restarts = Restarts::resume(count, seed, started, best, stopped)?;
        training.stopping = record.get("state.stopping")?;
        training.done = record.get("state.done")?;
        if record.has("state.run.stage") {
            training.run = Some(training.read_run(&mut record)?);
        }
        if record.has("state.last.phase") {
            training.last = Some(training.read_last(&record)?);
        }
        Ok(training)
    }

    /// A learner and empty statistics.
    fn learner(
        &self,
        record: &mut Record,
        prefix: &str,
        stage: usize,
    ) -> Result<(E::Learner, E::Statistics), EstimatorError> {
        let (names, parameters) = record.take::<E::Scalar>(prefix)?;
        let (learner, statistics) = self.plan.restore(self.data.borrow(), stage, &parameters)?;
        same_tables(prefix, self.plan.parameters(&learner), &names)?;
        Ok((learner, statistics))
    }

    fn read_run(&self, record: &mut Record) -> Result<Run<E>, EstimatorError> {
        let (index, stage) = (record.get("state.run.restart")?, record.get("state.run.stage")?);
        let restart = Restart { index, seed: restart_seed(self.plan.schedule().seed, index) };
        let mut rng = ChaCha8Rng::seed_from_u64(restart.seed);
        rng.set_word_pos(record.get("state.run.random_words")?);
        let refused = |name: &str| CheckpointError::Text { name: name.to_owned() };
        let stages = &self.plan.schedule().stages;
        let at = stages.get(stage).ok_or_else(|| refused("state.run.stage"))?;
        let state = match record.text("state.run.is")? {
            "begun" => State::Between(None),
            "between" => {
                let before = usize::checked_sub(stage, 1).ok_or_else(|| refused("state.run.stage"))?;
                State::Between(Some(Box::new(self.learner(record, "learner", before)?.0)))
            }
            is @ ("stepwise" | "iterations") => {
                let stepwise = is == "stepwise";
                let (learner, mut statistics) = self.learner(record, "learner", stage)?;
                // Of an evaluation that was cut off they are not kept.
                let updated = record.has("state.run.updated");
                if !updated {
                    record.fill("statistics", &mut statistics)?;
                }
                let updates = record.get("state.run.updates")?;
                let phase = match (stepwise, &at.initial_phase) {
                    (false, _) => {
                        let last = record.progress("state.run.at")?;
                        Fit::Iterations(match updated {
                            true => Iterations::resume_updated(at.em, last),
                            false => Iterations::resume(at.em, last),
                        })
                    }
                    (true, InitialPhase::Stepwise { plan, size, .. }) => {
                        let state = StepwiseState {
                            steps: updates,
                            pass: record.get("state.run.pass")?,
                            free_energy: record.get("state.run.free_energy")?,
                            share: record.get("state.run.share")?,
                            previous: record.progress("state.run.previous")?,
                        };
                        let pass = if record.has("state.run.pass_seed") {
                            let (seed, done) =
                                (record.get("state.run.pass_seed")?, record.get("state.run.pass_done")?);
                            let batches = E::Pass::begin(self.data.borrow(), *size, seed, done)?;
                            Some(Pass { seed, done, batches })
                        } else {
                            None
                        };
                        Fit::Stepwise { fit: StepwiseFit::resume(*plan, state), pass }
                    }
                    _ => return Err(refused("state.run.is").into()),
                };
                State::At(Box::new(Fitting { learner, statistics, updates, phase }))
            }
            _ => return Err(refused("state.run.is").into()),
        };
        Ok(Run { restart, rng, stage, state })
    }

    fn read_last(&self, record: &Record) -> Result<Progress, CheckpointError> {
        let schedule = self.plan.schedule();
        let (restart, stage): (usize, usize) =
            (record.get("state.last.restart")?, record.get("state.last.stage")?);
        let iteration: usize = record.get("state.last.iteration")?;
        let free_energy = match record.has("state.last.free_energy") {
            true => Some(record.get::<f64>("state.last.free_energy")?),
            false => None, // of a model that was not evaluated
        };
        let extents = schedule.stages.get(stage).map(|stage| stage.extents.clone());
        Ok(Progress {
            restart,
            restarts: schedule.restarts,
            stage,
            stages: schedule.stages.len(),
            extents: extents.unwrap_or_default(),
            phase: from_text(&PHASES, record, "state.last.phase")?,
            iteration,
            beta: record.get("state.last.beta")?,
            done: schedule.updates_before(restart, stage).saturating_add(iteration),
            planned: schedule.updates(),
            free_energy,
            bound_per_token: free_energy.map(|free_energy| -free_energy / self.plan.tokens()),
            share_done: schedule.share_done(restart, stage, iteration),
            last: record.get("state.last.last")?,
        })
    }
}

/// The checkpoint of a training.
pub(crate) fn write<E: Estimator, D: Borrow<E::Data>>(
    training: &Training<E, D>,
) -> Result<ModelFile, EstimatorError> {
    if training.failed {
        return Err(EstimatorError::Failed);
    }
    let plan = &training.plan;
    let mut record = Record::new(E::KIND, &plan.options(), &training.data_digest()?);
    record.set("state.restarts", training.restarts.started());
    record.set("state.stopped", training.restarts.is_stopped());
    record.set("state.stopping", training.stopping);
    record.set("state.done", training.done);
    if let (Some(Best { restart, outcome, .. }), Some(learner)) = (training.restarts.best(), &training.best) {
        let Outcome { iterations, beta, free_energy, objective, end, .. } = outcome;
        record.set_progress("state.best", &EmProgress::new(iterations, beta, free_energy, objective, None));
        record.set("state.best.restart", restart.index);
        if training.unevaluated {
            record.set("state.best.unevaluated", true);
        }
        record.set("state.best.end", text_of(&ENDS, end));
        record.insert_tables("best", plan.parameters(learner));
    }
    if let Some(last) = &training.last {
        record.set("state.last.restart", last.restart);
        record.set("state.last.stage", last.stage);
        record.set("state.last.iteration", last.iteration);
        record.set("state.last.phase", text_of(&PHASES, last.phase));
        record.set_number("state.last.beta", last.beta);
        if let Some(free_energy) = last.free_energy {
            record.set_number("state.last.free_energy", free_energy);
        }
        record.set("state.last.last", last.last);
    }
    let Some(run) = &training.run else { return Ok(record.into_file()) };
    record.set("state.run.restart", run.restart.index);
    record.set("state.run.stage", run.stage);
    record.set("state.run.random_words", run.rng.get_word_pos());
    let is = match &run.state {
        State::Between(None) => "begun",
        State::Between(Some(learner)) => {
            record.insert_tables("learner", plan.parameters(learner));
            "between"
        }
        State::At(fitting) => {
            record.insert_tables("learner", plan.parameters(&fitting.learner));
            match &fitting.phase {
                Fit::Iterations(iterations) if iterations.is_updated() => {
                    record.set("state.run.updated", true);
                }
                _ => record.insert_tables("statistics", &fitting.statistics),
            }
            record.set("state.run.updates", fitting.updates);
            match &fitting.phase {
                Fit::Iterations(iterations) => {
                    if let Some(at) = iterations.last() {
                        record.set_progress("state.run.at", &at);
                    }
                    "iterations"
                }
                Fit::Stepwise { fit, pass } => {
                    let StepwiseState { pass: number, free_energy, share, previous, .. } = fit.state();
                    record.set("state.run.pass", number);
                    record.set_number("state.run.free_energy", *free_energy);
                    record.set_number("state.run.share", *share);
                    if let Some(previous) = previous {
                        record.set_progress("state.run.previous", previous);
                    }
                    if let Some(pass) = pass {
                        record.set("state.run.pass_seed", pass.seed);
                        record.set("state.run.pass_done", pass.done);
                    }
                    "stepwise"
                }
            }
        }
    };
    record.set("state.run.is", is);
    Ok(record.into_file())
}
