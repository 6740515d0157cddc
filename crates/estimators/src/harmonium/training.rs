//! The training of a harmonium: all chains advance together.

use std::{borrow::Borrow, fmt, sync::OnceLock};

use countgrid_em::Stop;
use countgrid_harmonium::Acceptance;
use countgrid_io::ModelFile;
use countgrid_math::Real;
#[cfg(feature = "rayon")]
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use serde_json::json;

use super::{
    FittedHarmonium, HarmoniumData, HarmoniumKind, HarmoniumParameters, HarmoniumPlan, HarmoniumSummary,
    PriorSummary, TraceRecord,
    chain::{Chain, Source},
    samples::mean,
};
use crate::{DataDigest, EstimatorError, ModelInfo, Phase, Progress, Stored, Train};

/// A training of a harmonium. A step is an epoch of contrastive divergence, or a Langevin step, of all chains, which
/// compute side by side; no result depends on how many threads there are. The random numbers of a chain are one stream, which
/// goes through the documents in order, and so do the sums of a gradient: they are not divided into leaves.
///
/// The data are borrowed (`&HarmoniumData`) or owned in any way. Stopped, it ends with the models as they are: what was
/// sampled so far, or if nothing was the first chain's.
///
/// ```
/// use countgrid_corpus::{BlockLimits, Blocks};
/// use countgrid_counts::Dense;
/// use countgrid_estimators::{BagTotals, EstimatorError, HarmoniumData, HarmoniumOptions, HarmoniumTraining, Train};
/// let counts = [4.0_f64, 0.0, 1.0, 5.0, 1.0, 0.0, 0.0, 3.0, 3.0, 0.0, 6.0, 2.0];
/// let bags = Blocks::from_bags(&Dense::new(3, &counts).unwrap(), BlockLimits::default())?;
/// let options = HarmoniumOptions { topics: 2, epochs: 10, batch: 2, ..HarmoniumOptions::default() };
/// let plan = options.check(BagTotals::from_blocks(&bags)?)?;
/// let data = HarmoniumData::new(&plan, &bags, None)?;
/// let mut training = HarmoniumTraining::new(plan, &data)?;
/// training.run(|progress| {
///     assert_eq!((progress.extents.as_slice(), progress.planned), (&[2][..], 10));
///     std::ops::ControlFlow::Continue(())
/// })?;
/// let model = training.finish()?;
/// assert_eq!(model.transform(&bags, None)?.values.len(), 4 * 2);
/// # Ok::<(), EstimatorError>(())
/// ```
///
/// # Source
/// The models are those of [`countgrid_harmonium`], whose documentation has their sources. T. Tieleman, Training restricted
/// Boltzmann machines using approximations to the likelihood gradient, ICML 2008, for persistent chains; the paper on the
/// Bayesian exponential family harmonium for the sampling of couplings.
pub struct HarmoniumTraining<T, D> {
    pub(super) plan: HarmoniumPlan,
    pub(super) data: D,
    pub(super) batches: Vec<HarmoniumData<T>>,
    pub(super) chains: Vec<Chain<T>>, // as many as the options say, all after as many steps
    pub(super) epochs: usize,         // done
    pub(super) draws: usize,          // done
    pub(super) stop: Stop,
    pub(super) stopped: bool,
    pub(super) failed: bool,
    pub(super) digest: OnceLock<DataDigest>, // once a checkpoint has needed it
}

impl<T, D> fmt::Debug for HarmoniumTraining<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("HarmoniumTraining");
        fields.field("plan", &self.plan).field("epochs", &self.epochs).field("draws", &self.draws);
        fields.finish_non_exhaustive()
    }
}

impl<T: Stored, D: Borrow<HarmoniumData<T>>> HarmoniumTraining<T, D> {
    /// Before the first step.
    ///
    /// # Errors
    /// [`EstimatorError::Harmonium`] for no words or topics, a variance of features that is not above 0, more trials than
    /// 2²⁰, a model that is too large; [`EstimatorError::NoDocuments`]; [`EstimatorError::Memory`].
    pub fn new(plan: HarmoniumPlan, data: D) -> Result<Self, EstimatorError> {
        let mut training = Self::without_chains(plan, data)?;
        let source = training.source();
        training.chains = (0..training.plan.options.chains)
            .map(|chain| Chain::new(source, chain))
            .collect::<Result<_, _>>()?;
        Ok(training)
    }

    pub(super) fn without_chains(plan: HarmoniumPlan, data: D) -> Result<Self, EstimatorError> {
        let documents = data.borrow();
        if documents.is_empty() {
            return Err(EstimatorError::NoDocuments);
        }
        let batches = documents.batches(plan.options.batch, plan.options.seed)?;
        Ok(Self {
            plan,
            data,
            batches,
            chains: Vec::new(),
            epochs: 0,
            draws: 0,
            stop: Stop::new(),
            stopped: false,
            failed: false,
            digest: OnceLock::new(),
        })
    }

    pub(super) fn source(&self) -> Source<'_, T> {
        let (options, data) = (&self.plan.options, self.data.borrow());
        Source { options, data, batches: &self.batches, stopped: &|| false }
    }

    /// The options, checked.
    pub fn plan(&self) -> &HarmoniumPlan {
        &self.plan
    }

    /// What was recorded so far, chain by chain.
    pub fn traces(&self) -> impl ExactSizeIterator<Item = &[TraceRecord]> {
        self.chains.iter().map(|chain| chain.trace.as_slice())
    }

    /// The current parameters of each chain.
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = &HarmoniumParameters<T>> {
        self.chains.iter().map(|chain| &chain.model)
    }

    /// How many moves of the parameters were proposed and accepted so far, in all chains.
    pub fn acceptance(&self) -> Acceptance {
        let mut all = Acceptance::default();
        for Acceptance { proposed, accepted } in self.chains.iter().map(|chain| chain.acceptance) {
            all.proposed += proposed;
            all.accepted += accepted;
        }
        all
    }

    fn advance(&mut self) -> Result<(), EstimatorError> {
        if self.stop.is_requested() {
            return Err(EstimatorError::Stopped);
        }
        let stop = self.stop.clone();
        self.advance_until(&move || stop.is_requested())
    }

    /// A step, of which nothing is left if it is stopped.
    fn advance_until(&mut self, stopped: &(dyn Fn() -> bool + Sync)) -> Result<(), EstimatorError> {
        let (options, data) = (&self.plan.options, self.data.borrow());
        let source = Source { options, data, batches: &self.batches, stopped };
        let before: Vec<_> = self.chains.iter().map(Chain::state).collect();
        let (epoch, draw) = (self.epochs, self.draws);
        let ascends = epoch < self.plan.options.epochs;
        let step = |chain: &mut Chain<T>| match ascends {
            true => chain.fit_maximum_likelihood(source, epoch + 1),
            false => chain.sample_langevin(source, draw),
        };
        #[cfg(feature = "rayon")]
        let done: Vec<_> = if self.chains.len() > 1 {
            let mut done = Vec::new();
            self.chains.par_iter_mut().map(step).collect_into_vec(&mut done);
            done
        } else {
            self.chains.iter_mut().map(step).collect()
        };
        #[cfg(not(feature = "rayon"))]
        let done: Vec<_> = self.chains.iter_mut().map(step).collect();
        if done.iter().any(|done| matches!(done, Err(EstimatorError::Stopped))) {
            self.chains.iter_mut().zip(before).for_each(|(chain, state)| chain.restore(state));
        }
        // The first chain's error, whichever came first.
        done.into_iter().collect::<Result<(), _>>()?;
        if ascends {
            self.epochs += 1
        } else {
            self.draws += 1
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        let (epochs, draws) = (self.plan.options.epochs, self.plan.draws());
        let sampled = self.draws > 0 || epochs == 0 && draws > 0;
        let (phase, iteration, last) = match sampled {
            true => (Phase::Langevin, self.draws, self.draws >= draws),
            false => (Phase::ContrastiveDivergence, self.epochs, self.epochs >= epochs),
        };
        let (done, planned) = (self.epochs.saturating_add(self.draws), epochs.saturating_add(draws));
        let (stage, stages) = (usize::from(sampled), 1 + usize::from(draws > 0));
        Progress {
            restart: 0,
            restarts: 1,
            stage,
            stages,
            extents: vec![self.plan.options.topics],
            phase,
            iteration,
            beta: 1.0,
            done,
            planned,
            free_energy: None,
            bound_per_token: None,
            share_done: done as f64 / planned.max(1) as f64,
            last,
        }
    }

    /// The description of the fit in model files.
    fn fit_json(&self, summary: &HarmoniumSummary) -> serde_json::Value {
        let (options, totals) = (&self.plan.options, &self.plan.totals);
        let mut fit = json!({
            "documents": totals.bags, "tokens": totals.tokens, "method": options.method.name(),
            "steps": options.gibbs_steps, "epochs": options.epochs, "batch": options.batch,
            "trials": options.trials, "seed": options.seed, "step_size": summary.step_size,
            "accepted": summary.acceptance.rate(),
        });
        let last = self.chains.first().and_then(|chain| chain.trace.last());
        if let Some(log_posterior) = last.and_then(|last| last.log_posterior) {
            fit["log_posterior"] = json!(log_posterior);
        }
        if let Some(prior) = &summary.prior {
            let own = json!({
                "draws": options.draws, "chains": summary.chains, "samples": summary.samples,
                "prior": options.prior.unwrap_or_default().to_string(), "prior_mean": prior.mean,
                "prior_deviation": prior.deviation,
            });
            if let (Some(fit), serde_json::Value::Object(own)) = (fit.as_object_mut(), own) {
                fit.extend(own);
            }
        }
        fit
    }
}

impl<T: Stored, D: Borrow<HarmoniumData<T>>> Train for HarmoniumTraining<T, D> {
    type Fitted = FittedHarmonium<T>;

    fn step(&mut self) -> Result<Progress, EstimatorError> {
        if self.failed {
            return Err(EstimatorError::Failed);
        }
        if !self.is_done()
            && let Err(error) = self.advance()
        {
            self.failed = !matches!(error, EstimatorError::Stopped);
            return Err(error);
        }
        Ok(self.progress())
    }

    fn set_stop(&mut self, stop: &Stop) {
        self.stop.clone_from(stop);
    }

    fn is_done(&self) -> bool {
        self.stopped || self.epochs >= self.plan.options.epochs && self.draws >= self.plan.draws()
    }

    fn stop(&mut self) {
        self.stopped = true;
    }

    fn finish(self) -> Result<FittedHarmonium<T>, EstimatorError> {
        if self.failed {
            return Err(EstimatorError::Failed);
        }
        let kind = self.plan.options.kind;
        // Chains order and flip binomial topics differently, and no rotation aligns them: only one chain is averaged.
        let averaged = if kind == HarmoniumKind::RateAdapting { 1 } else { self.chains.len() };
        let samples: Vec<_> = self.chains.iter().take(averaged).flat_map(|chain| &chain.samples).collect();
        let first = self.chains.first().ok_or(EstimatorError::Failed)?;
        let model = match mean(&samples, kind)? {
            Some(mean) => mean,
            None => first.model.clone(),
        };
        let summary = HarmoniumSummary {
            epochs: self.epochs,
            draws: self.draws,
            chains: self.chains.len(),
            samples: self.chains.iter().map(|chain| chain.samples.len()).sum(),
            acceptance: self.acceptance(),
            step_size: first.step,
            prior: first.prior.as_ref().map(|prior| {
                let rows = prior.means().len() as f64;
                PriorSummary {
                    mean: prior.means().iter().map(|&x| Real::to_f64(x)).sum::<f64>() / rows,
                    deviation: prior.variances().iter().map(|&x| Real::to_f64(x).sqrt()).sum::<f64>() / rows,
                }
            }),
        };
        let info = ModelInfo { fit: self.fit_json(&summary), ..ModelInfo::default() };
        let standardizer = self.data.borrow().standardizer.clone();
        let mut fitted = FittedHarmonium::new(info, kind, model, standardizer)?;
        for chain in self.chains {
            fitted.samples.extend(chain.samples);
            fitted.traces.push(chain.trace);
        }
        fitted.summary = Some(summary);
        Ok(fitted)
    }

    fn checkpoint(&self) -> Result<ModelFile, EstimatorError> {
        super::checkpoint::write(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
    use countgrid_em::Tables;

    use super::*;
    use crate::{BagTotals, HarmoniumMethod, HarmoniumOptions};

    fn blocks() -> Blocks<f32> {
        let mut builder = BlocksBuilder::new(10, BlockLimits::in_memory()).unwrap();
        for t in 0..35 {
            builder.push((0..1 + t * 5 % 6).map(|n| ((t % 3 * 3 + n * (t + 1)) % 10, 1.0))).unwrap();
        }
        builder.finish().unwrap()
    }

    fn training(method: HarmoniumMethod, chains: usize) -> HarmoniumTraining<f32, HarmoniumData<f32>> {
        let (topics, epochs, batch, draws) = (2, 2, 10, 24);
        let options =
            HarmoniumOptions { method, topics, epochs, batch, draws, chains, ..HarmoniumOptions::default() };
        let blocks = blocks();
        let plan = options.check(BagTotals::from_blocks(&blocks).unwrap()).unwrap();
        let data = HarmoniumData::new(&plan, &blocks, None).unwrap();
        HarmoniumTraining::new(plan, data).unwrap()
    }

    /// All that a checkpoint has: models, random numbers, traces.
    fn bytes(training: &HarmoniumTraining<f32, HarmoniumData<f32>>) -> Vec<u8> {
        training.checkpoint().unwrap().to_bytes().unwrap()
    }

    #[test]
    fn nothing_is_left_of_a_step_that_was_stopped() {
        for (method, chains) in [
            (HarmoniumMethod::ContrastiveDivergence, 1),
            (HarmoniumMethod::Persistent, 1),
            (HarmoniumMethod::Langevin, 2),
        ] {
            let mut reference = training(method, chains);
            let mut stopped = training(method, chains);
            while !reference.is_done() {
                // Questions of a step: before each of four batches, or before all documents, of each chain.
                let questions = chains * if reference.epochs < 2 { 4 } else { 1 };
                for allowed in 0..=questions {
                    let before = bytes(&stopped);
                    let asked = AtomicUsize::new(0);
                    let stop = || asked.fetch_add(1, SeqCst) >= allowed;
                    match stopped.advance_until(&stop) {
                        Err(EstimatorError::Stopped) if allowed < questions => {
                            assert!(bytes(&stopped) == before, "{allowed}");
                        }
                        Ok(()) if allowed == questions => {}
                        other => panic!("{method:?}, {allowed} of {questions}: {other:?}"),
                    }
                }
                reference.step().unwrap();
                assert!(bytes(&stopped) == bytes(&reference), "{method:?}");
            }
        }
    }

    #[test]
    fn a_gradient_in_pieces_has_the_same_bits() {
        let lanes = <f32 as Real>::LANES;
        let mut whole = training(HarmoniumMethod::ContrastiveDivergence, 1);
        let mut pieces = training(HarmoniumMethod::ContrastiveDivergence, 1);
        for (training, piece) in [(&mut whole, usize::MAX), (&mut pieces, lanes)] {
            let HarmoniumTraining { plan, data, batches, chains, .. } = training;
            let source = Source { options: &plan.options, data, batches, stopped: &|| false };
            chains[0].gradient_of(source, data, piece);
        }
        let gradient = |training: &HarmoniumTraining<f32, _>| training.chains[0].gradient_bits();
        assert!(whole.data.len() > 2 * lanes);
        assert!(gradient(&whole) == gradient(&pieces));
        assert!(whole.chains[0].model.buffer() == pieces.chains[0].model.buffer());
    }
}
