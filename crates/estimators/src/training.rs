//! The state machine of every training by expectation maximisation: restarts, stages, phases.

use std::{borrow::Borrow, fmt};

use countgrid_em::{
    Best, End, FitError, Iterations, Outcome, Progress as EmProgress, Restart, Restarts, StepwiseFit, Stop,
};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::{DataDigest, Estimator, EstimatorError, InitialPhase, MiniBatchPass, Phase, Progress};

/// A training by expectation maximisation: every stage of a [`crate::Schedule`] from every random start, of which the one
/// with the lowest objective is kept.
///
/// The data are borrowed (`&Data`) or owned in any way (`Rc<Data>`). Between two steps it can be shown, stopped, or
/// saved to a [checkpoint](crate::Train::checkpoint), from which [`Training::resume`] continues to the same bits.
pub struct Training<E: Estimator, D> {
    pub(crate) plan: E,
    pub(crate) data: D,
    pub(crate) restarts: Restarts,
    pub(crate) run: Option<Run<E>>, // from one random start
    pub(crate) best: Option<E::Learner>,
    pub(crate) unevaluated: bool, // the best is of a run that was stopped, and its outcome not that of its parameters
    pub(crate) stop: Stop,
    pub(crate) stopping: bool,
    pub(crate) done: bool,
    pub(crate) failed: bool,
    pub(crate) last: Option<Progress>,
    pub(crate) digest: std::sync::OnceLock<DataDigest>, // once a checkpoint has needed it
}

/// A run from one random start.
pub(crate) struct Run<E: Estimator> {
    pub(crate) restart: Restart,
    pub(crate) rng: ChaCha8Rng,
    pub(crate) stage: usize,
    pub(crate) state: State<E>,
}

/// Where a run is between two steps.
pub(crate) enum State<E: Estimator> {
    /// Before the first step of a stage, after the one before.
    Between(Option<Box<E::Learner>>),
    /// At a stage.
    At(Box<Fitting<E>>),
}

/// A model that is being fitted.
pub(crate) struct Fitting<E: Estimator> {
    pub(crate) learner: E::Learner,
    pub(crate) statistics: E::Statistics,
    pub(crate) updates: usize, // from mini-batches
    pub(crate) phase: Fit<E>,
}

pub(crate) enum Fit<E: Estimator> {
    /// In mini-batches; the next pass is begun by the step that needs it.
    Stepwise { fit: StepwiseFit, pass: Option<Pass<E::Pass>> },
    /// Over all data.
    Iterations(Iterations),
}

/// A pass over mini-batches.
pub(crate) struct Pass<P> {
    pub(crate) seed: u64,
    pub(crate) done: usize, // mini-batches
    pub(crate) batches: P,
}

impl<E: Estimator, D> fmt::Debug for Training<E, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Training");
        fields.field("last", &self.last).field("best", &self.restarts.best()).field("done", &self.done);
        fields.finish_non_exhaustive()
    }
}

impl<E: Estimator, D: Borrow<E::Data>> Training<E, D> {
    /// Before the first step; nothing is computed yet.
    ///
    /// # Errors
    /// [`EstimatorError::Option`] for a schedule without restarts.
    pub fn new(plan: E, data: D) -> Result<Self, EstimatorError> {
        let schedule = plan.schedule();
        let restarts = Restarts::new(schedule.restarts, schedule.seed)?;
        Ok(Self {
            plan,
            data,
            restarts,
            run: None,
            best: None,
            unevaluated: false,
            stop: Stop::new(),
            stopping: false,
            done: false,
            failed: false,
            last: None,
            digest: std::sync::OnceLock::new(),
        })
    }

    /// The options, checked.
    pub fn plan(&self) -> &E {
        &self.plan
    }

    /// The progress of the last step, if there was one.
    pub fn last(&self) -> Option<&Progress> {
        self.last.as_ref()
    }

    /// The stage of the schedule that the next step is of, from 0; after the end the last.
    pub fn stage(&self) -> usize {
        match &self.run {
            Some(run) => run.stage,
            None if self.done => self.plan.schedule().stages.len().saturating_sub(1),
            None => 0,
        }
    }

    /// The best run so far.
    pub fn best(&self) -> Option<Best> {
        self.restarts.best()
    }

    /// The current parameters: of the run under way, else of the best; `None` before the first step.
    pub fn parameters(&self) -> Option<&E::Parameters> {
        let present = match self.run.as_ref().map(|run| &run.state) {
            Some(State::At(fitting)) => Some(&fitting.learner),
            Some(State::Between(learner)) => learner.as_deref(),
            None => None,
        };
        Some(self.plan.parameters(present.or(self.best.as_ref())?))
    }

    /// One step, or to the end with as few as there can be if the training is to stop.
    pub(crate) fn advance(&mut self) -> Result<(), EstimatorError> {
        if self.stop.is_requested() && !self.stopping {
            return Err(EstimatorError::Stopped);
        }
        let Some(mut run) = self.run.take().or_else(|| self.next_run()) else {
            self.done = true;
            return Ok(());
        };
        let last_stage = self.plan.schedule().stages.len().saturating_sub(1);
        if self.stopping {
            while run.stage < last_stage {
                run = self.begin_stage(run)?.end_stage();
            }
        }
        run = self.begin_stage(run)?;
        if self.stopping && self.stop.is_requested() {
            self.end_unevaluated(run);
            return Ok(());
        }
        let (stopping, data) = (self.stopping, self.data.borrow());
        let State::At(fitting) = &mut run.state else { return Err(EstimatorError::Failed) };
        let Some(stage) = self.plan.schedule().stages.get(run.stage) else {
            return Err(EstimatorError::Failed);
        };
        if stopping && matches!(fitting.phase, Fit::Stepwise { .. }) {
            fitting.phase = Fit::Iterations(Iterations::new(stage.em));
        }
        let (learner, statistics) = (&mut fitting.learner, &mut fitting.statistics);
        let (at, end, phase) = match &mut fitting.phase {
            Fit::Stepwise { fit, pass } => {
                // The running average of the statistics could not be taken back.
                self.plan.set_stop(statistics, &Stop::new());
                let (InitialPhase::Stepwise { size, .. }, present) = (stage.initial_phase, pass.take())
                else {
                    return Err(EstimatorError::Failed);
                };
                let mut present = match present {
                    Some(pass) => pass,
                    None => {
                        let seed = run.rng.next_u64();
                        Pass { seed, done: 0, batches: E::Pass::begin(data, size, seed, 0)? }
                    }
                };
                let number = fit.state().pass;
                let (at, end) = present.batches.step(data, fit, learner, statistics)?;
                present.done += 1;
                if fit.state().pass == number {
                    *pass = Some(present);
                }
                fitting.updates = at.iteration;
                if end.is_some() {
                    fitting.phase = Fit::Iterations(Iterations::new(stage.em));
                }
                (at, None, Phase::Stepwise)
            }
            Fit::Iterations(iterations) => {
                let annealing = match &stage.initial_phase {
                    InitialPhase::Annealed(annealing) if !stopping => Some(annealing),
                    _ => None,
                };
                self.plan.set_stop(statistics, &self.stop);
                let step = self.plan.iterate(iterations, annealing, data, learner, statistics);
                if let Err(FitError::Model(EstimatorError::Stopped)) = step {
                    self.run = Some(run);
                    return Err(EstimatorError::Stopped);
                }
                let (at, end) = step?;
                let phase = if at.beta == 1.0 { Phase::Plain } else { Phase::Annealed };
                (at, if stopping { Some(End::Stopped) } else { end }, phase)
            }
        };
        let updates = match phase {
            Phase::Stepwise => at.iteration,
            _ => fitting.updates + at.iteration,
        };
        self.conclude(run, phase, updates, &at, end);
        Ok(())
    }

    /// Ends a step after so many updates: the run goes on, or to its next stage, or is over.
    pub(crate) fn conclude(
        &mut self,
        run: Run<E>,
        phase: Phase,
        updates: usize,
        at: &EmProgress,
        end: Option<End>,
    ) {
        let last_stage = self.plan.schedule().stages.len().saturating_sub(1);
        self.last = Some(self.progress(&run, phase, updates, at.beta, Some(at.free_energy)));
        match end {
            Some(end) if run.stage >= last_stage => {
                let mut outcome = Outcome::new(at, end);
                outcome.iterations = updates;
                self.end_run(run, &outcome);
            }
            Some(_) => self.run = Some(run.end_stage()),
            None => self.run = Some(run),
        }
    }

    /// The run from the next random start.
    pub(crate) fn next_run(&mut self) -> Option<Run<E>> {
        let restart = self.restarts.next_restart()?;
        let rng = ChaCha8Rng::seed_from_u64(restart.seed);
        Some(Run { restart, rng, stage: 0, state: State::Between(None) })
    }

    /// Begins the stage that a run is before.
    pub(crate) fn begin_stage(&self, mut run: Run<E>) -> Result<Run<E>, EstimatorError> {
        let State::Between(previous) = run.state else { return Ok(run) };
        let Some(stage) = self.plan.schedule().stages.get(run.stage) else {
            return Err(EstimatorError::Failed);
        };
        let previous = previous.map(|learner| *learner);
        let (learner, statistics) = self.plan.start(self.data.borrow(), run.stage, previous, &mut run.rng)?;
        let phase = match stage.initial_phase {
            InitialPhase::Stepwise { plan, .. } => Fit::Stepwise { fit: StepwiseFit::new(plan), pass: None },
            _ => Fit::Iterations(Iterations::new(stage.em)),
        };
        run.state = State::At(Box::new(Fitting { learner, statistics, updates: 0, phase }));
        Ok(run)
    }

    /// Ends a run with the outcome of its last stage, and returns whether it is the best so far.
    pub(crate) fn end_run(&mut self, run: Run<E>, outcome: &Outcome) -> bool {
        let best = self.restarts.keep(outcome);
        if best && let State::At(fitting) = run.state {
            self.best = Some(fitting.learner);
        }
        self.done = self.restarts.is_stopped() || self.restarts.started() >= self.plan.schedule().restarts;
        best
    }

    /// Ends a run at its last stage without a look at the data. Runs are compared by what is known of it: the objective before the
    /// last update, or nothing.
    pub(crate) fn end_unevaluated(&mut self, run: Run<E>) {
        let State::At(fitting) = &run.state else { return };
        let (updates, last) = match &fitting.phase {
            Fit::Stepwise { fit, .. } => (fit.state().steps, None),
            Fit::Iterations(iterations) => (fitting.updates + iterations.updates(), iterations.last()),
        };
        let [free_energy, objective] =
            last.map_or([f64::INFINITY; 2], |last| [last.free_energy, last.objective]);
        self.last = Some(self.progress(&run, Phase::Plain, updates, 1.0, None));
        let at = EmProgress::new(updates, 1.0, free_energy, objective, None);
        self.unevaluated = self.end_run(run, &Outcome::new(&at, End::Stopped));
    }

    fn progress(
        &self,
        run: &Run<E>,
        phase: Phase,
        iteration: usize,
        beta: f64,
        free_energy: Option<f64>,
    ) -> Progress {
        let (schedule, restart) = (self.plan.schedule(), run.restart.index);
        let stage = schedule.stages.get(run.stage);
        Progress {
            restart,
            restarts: schedule.restarts,
            stage: run.stage,
            stages: schedule.stages.len(),
            extents: stage.map(|stage| stage.extents.clone()).unwrap_or_default(),
            phase,
            iteration,
            beta,
            done: schedule.updates_before(restart, run.stage).saturating_add(iteration),
            planned: schedule.updates(),
            free_energy,
            bound_per_token: free_energy.map(|free_energy| -free_energy / self.plan.tokens()),
            share_done: schedule.share_done(restart, run.stage, iteration),
            last: phase != Phase::Stepwise && stage.is_some_and(|stage| iteration >= stage.updates()),
        }
    }
}

impl<E: Estimator> Fitting<E> {
    /// The outcome of a stage that is stopped here, if it is known.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        let Fit::Iterations(iterations) = &self.phase else { return None };
        if iterations.is_updated() {
            return None;
        }
        let mut outcome = Outcome::new(&iterations.last()?, End::Stopped);
        outcome.iterations += self.updates;
        Some(outcome)
    }
}

impl<E: Estimator> Run<E> {
    /// Goes on to the next stage.
    fn end_stage(mut self) -> Self {
        if let State::At(fitting) = self.state {
            self.state = State::Between(Some(Box::new(fitting.learner)));
            self.stage += 1;
        }
        self
    }
}
