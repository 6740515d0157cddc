//! [`Train`] for a training by expectation maximisation.

use std::borrow::Borrow;

use countgrid_em::Stop;
use countgrid_io::ModelFile;

use crate::{Estimator, EstimatorError, FitSummary, Progress, Train, Training, training::State};

impl<E: Estimator, D: Borrow<E::Data>> Train for Training<E, D> {
    type Fitted = E::Fitted;

    fn step(&mut self) -> Result<Progress, EstimatorError> {
        if self.failed {
            return Err(EstimatorError::Failed);
        }
        if !self.done
            && let Err(error) = self.advance()
        {
            self.failed = !matches!(error, EstimatorError::Stopped);
            return Err(error);
        }
        self.last.clone().ok_or(EstimatorError::Failed)
    }

    fn set_stop(&mut self, stop: &Stop) {
        self.stop.clone_from(stop);
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn stop(&mut self) {
        self.stopping = true;
        let Some(run) = self.run.take() else {
            self.done |= self.best.is_some();
            return;
        };
        // A model of the full size whose objective is known needs no further step.
        let full_size = run.stage + 1 >= self.plan.schedule().stages.len();
        let outcome = match &run.state {
            State::At(fitting) if full_size => fitting.outcome(),
            _ => None,
        };
        match outcome {
            Some(outcome) => _ = self.end_run(run, &outcome),
            None if !self.stop.is_requested() => self.run = Some(run),
            None if matches!(run.state, State::At(_)) && full_size => self.end_unevaluated(run),
            // An earlier start has come to its end.
            None if self.best.is_some() => self.done = true,
            None => self.run = Some(run),
        }
    }

    fn finish(mut self) -> Result<E::Fitted, EstimatorError> {
        self.stop();
        while !self.done {
            self.step()?;
        }
        let (Some(learner), Some(best)) = (self.best, self.restarts.best()) else {
            return Err(EstimatorError::Failed);
        };
        let summary = FitSummary::new(&best, self.plan.tokens());
        let summary = if self.unevaluated { summary.unevaluated() } else { summary };
        self.plan.finish(learner, summary)
    }

    fn checkpoint(&self) -> Result<ModelFile, EstimatorError> {
        crate::checkpoint::write(self)
    }
}
