//! One run of learning: contrastive divergence, persistent chains, Langevin steps.

use countgrid_counts::Bags;
use countgrid_em::{TablesMutExt, restart_seed};
use countgrid_harmonium::{
    Acceptance, Chains, Draws, Gradient, Guard, Harmonium, Prior, Rates, Shape, Sharing, Step, step_bound,
};
use countgrid_math::{Real, ln};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use super::{
    CouplingPrior, HarmoniumData, HarmoniumKind, HarmoniumMethod, HarmoniumOptions, HarmoniumParameters,
    TraceRecord,
};
use crate::{EstimatorError, Phase, Stored, blocks::zeros};

/// Standard deviation of the initial couplings.
const START: f64 = 0.01;
/// About how many posterior samples of a chain are kept.
const SAMPLES: usize = 50;
/// Langevin steps between samples that the prior is estimated from, and samples between estimates.
const LEARN: (usize, usize) = (10, 10);
/// The smallest learned variance.
const GUARD: Guard = Guard::Floor(1e-4);
/// The standard deviation around 0 that a prior is learned from at first.
const FIRST_DEVIATION: f64 = 1.0;
/// The most states of a model whose likelihood is computed by enumeration.
const STATES: f64 = 4096.0;

/// The prior of couplings.
pub(super) type Normal<T> = Prior<T, Vec<T>>;

/// The data and settings that all chains of a training share.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, T> {
    pub(super) options: &'a HarmoniumOptions,
    pub(super) data: &'a HarmoniumData<T>,
    pub(super) batches: &'a [HarmoniumData<T>],
    /// Whether to stop, asked before every mini-batch and every [`DOCUMENTS`] of a Langevin step.
    pub(super) stopped: &'a (dyn Fn() -> bool + Sync),
}

/// Documents of a Langevin step between two questions whether to stop. A multiple of those that are computed side by side, so that
/// they are the same ones, and nothing of the sums changes.
const DOCUMENTS: usize = 1 << 12;

/// One run of learning between two steps.
pub(super) struct Chain<T> {
    pub(super) noise: Draws<ChaCha8Rng>,
    pub(super) model: HarmoniumParameters<T>,
    pub(super) persistent: Option<Chains<T, Vec<T>>>, // at the documents of a mini-batch, once it was met
    pub(super) prior: Option<Normal<T>>,              // of the next Langevin step, once there was one
    pub(super) kept: Vec<T>,                          // couplings that the prior is learned from next
    pub(super) samples: Vec<HarmoniumParameters<T>>,
    pub(super) trace: Vec<TraceRecord>,
    pub(super) acceptance: Acceptance,
    pub(super) step: f64, // the last
    gradient: Gradient<T, Vec<T>>,
    gibbs: Vec<T>,
    scratch: Vec<T>,
    exact: Vec<f64>, // none if the likelihood is not computed
    squares: f64,    // mean over documents of the sum of squared counts
}

/// A chain as it was before a step.
pub(super) struct ChainState<T> {
    noise: Draws<ChaCha8Rng>,
    model: HarmoniumParameters<T>,
    persistent: Option<Chains<T, Vec<T>>>,
    prior: Option<Normal<T>>,
    kept: Vec<T>,
    samples: usize,
    records: usize,
    acceptance: Acceptance,
    step: f64,
}

impl<T: Stored> Chain<T> {
    /// A chain before its first step.
    pub(super) fn new(source: Source<'_, T>, chain: usize) -> Result<Self, EstimatorError> {
        let Source { options, data, .. } = source;
        let documents = data.len() as f64;
        let shape = options.kind.shape(data.bags.features(), options.topics, data.columns())?;
        let mut noise = Draws::new(ChaCha8Rng::seed_from_u64(restart_seed(options.seed, chain)));
        let mut model = Harmonium::allocate(shape, options.trials, T::from_f64(START), &mut noise)?;
        if let Some(variances) = model.table_mut("variances") {
            variances.fill(T::from_f64(options.feature_variance));
        }
        // Biases begin where words without couplings are as frequent as they are.
        let mut sums = zeros::<f64>(data.bags.features())?;
        for (word, count) in (0..data.len()).flat_map(|document| data.bags.entries(document)) {
            sums.get_mut(word).into_iter().for_each(|sum| *sum += Real::to_f64(count));
        }
        let bias = |sum: f64| match options.kind {
            HarmoniumKind::RateAdapting => ln((sum + 0.5) / documents),
            _ => ln((sum + 0.5) / (documents * f64::from(options.trials) - sum + 0.5)),
        };
        let mut scratch = zeros(shape.step_scratch_len())?;
        let model = model.update(&mut scratch, |[alpha, ..]| {
            alpha.iter_mut().zip(&sums).for_each(|(alpha, &sum)| *alpha = T::from_f64(bias(sum)));
        })?;
        Self::with_model(source, model, noise)
    }

    /// A chain with a model of its own and an empty trace.
    pub(super) fn with_model(
        Source { options, data, .. }: Source<'_, T>,
        model: HarmoniumParameters<T>,
        noise: Draws<ChaCha8Rng>,
    ) -> Result<Self, EstimatorError> {
        let (shape, documents) = (*model.shape(), data.len() as f64);
        let mut squares = 0.0;
        for (_, count) in (0..data.len()).flat_map(|document| data.bags.entries(document)) {
            let count = Real::to_f64(count);
            squares += count * count / documents;
        }
        let rate_adapting = options.kind == HarmoniumKind::RateAdapting;
        let units = if rate_adapting { shape.topics() } else { shape.word_count() };
        let states = (f64::from(options.trials) + 1.0).powf(units as f64);
        let exact = if options.exact_likelihood && states <= STATES { shape.exact_scratch_len() } else { 0 };
        Ok(Self {
            noise,
            model,
            persistent: None,
            prior: None,
            kept: Vec::new(),
            samples: Vec::new(),
            trace: Vec::new(),
            acceptance: Acceptance::default(),
            step: 0.0,
            gradient: Gradient::allocate(shape)?,
            gibbs: zeros(shape.gibbs_scratch_len::<T>())?,
            scratch: zeros(shape.step_scratch_len())?,
            exact: zeros(exact)?,
            squares,
        })
    }

    fn shape(&self) -> Shape {
        *self.model.shape()
    }

    /// The step for gradients of this many documents; a given step is for all of them.
    ///
    /// The curvature of the likelihood is at most the documents times the largest second moment of a direction of their
    /// counts, and so times their mean square. That is some tens for texts, where the number of words, the bound whatever
    /// the documents are, is thousands: with steps so short 100 epochs of CD-1 leave couplings where they began. It is
    /// the model's moments that count, which stay near the documents' where chains are brief and begin at documents;
    /// persistent chains and sampled couplings leave them, and keep to the number of words.
    fn epsilon(
        &self,
        Source { options, data, .. }: Source<'_, T>,
        documents: usize,
        variance: f64,
        sampling: bool,
    ) -> Result<f64, EstimatorError> {
        if let Some(step) = options.step_size {
            return Ok(step * (data.len() as f64 / documents as f64).sqrt());
        }
        let (trials, shape) = (f64::from(options.trials), self.shape());
        let columns = (shape.rows() - shape.word_count()) as f64;
        let leaves_documents = sampling || options.method == HarmoniumMethod::Persistent;
        Ok(match options.kind {
            HarmoniumKind::RateAdapting => {
                step_bound(documents, 1, trials * self.squares.max(1.0).sqrt(), variance)?
            }
            _ if leaves_documents => step_bound(documents, shape.rows(), trials, variance)?,
            _ => step_bound(documents, 1, (self.squares + columns).max(1.0).sqrt(), variance)?,
        })
    }

    /// One epoch of maximum likelihood, in mini-batches.
    pub(super) fn fit_maximum_likelihood(
        &mut self,
        source: Source<'_, T>,
        epoch: usize,
    ) -> Result<(), EstimatorError> {
        let (options, shape) = (source.options, self.shape());
        if let (HarmoniumMethod::Persistent, None, Some(first)) =
            (options.method, &self.persistent, source.batches.first())
        {
            let states = zeros(first.len().saturating_mul(shape.state_len()))?;
            self.persistent = Some(Chains::at_documents(&self.model, &first.bags, &first.features, states)?);
        }
        let mut gap = zeros::<f64>(shape.word_count())?;
        let (mut taken, mut made) = (0, 0);
        for batch @ HarmoniumData { bags, features, .. } in source.batches {
            self.gradient.clear();
            match &mut self.persistent {
                None => self.contrastive_divergence(source, batch, DOCUMENTS)?,
                Some(_) if (source.stopped)() => return Err(EstimatorError::Stopped),
                Some(chains) => {
                    let weight = T::from_f64(-(bags.len() as f64) / chains.count() as f64);
                    self.model.add_data(bags, features, T::one(), &mut self.gradient, &mut self.gibbs)?;
                    chains.sweep(&self.model, options.gibbs_steps, &mut self.noise, &mut self.gibbs)?;
                    chains.add_to(&self.model, weight, &mut self.gradient, &mut self.gibbs)?;
                }
            }
            let epsilon = self.epsilon(source, bags.len(), 1.0, false)?;
            let rate = 0.5 * epsilon * epsilon;
            let rates = Rates { biases: rate, couplings: rate };
            let step = self.model.ascend(&self.gradient, rates, &mut self.scratch)?;
            self.step = epsilon;
            made += 1;
            taken += u32::from(step == Step::Taken);
            self.acceptance.count(step == Step::Taken);
            let [alpha, ..] = self.gradient.parts();
            gap.iter_mut().zip(alpha).for_each(|(gap, &x)| *gap += Real::to_f64(x));
        }
        let accepted = f64::from(taken) / f64::from(made.max(1));
        self.record(source, Phase::ContrastiveDivergence, epoch, &gap, accepted)
    }

    /// One Langevin step of the couplings, from 0, with gradients from brief chains at all documents; biases take a
    /// gradient step.
    pub(super) fn sample_langevin(
        &mut self,
        source: Source<'_, T>,
        draw: usize,
    ) -> Result<(), EstimatorError> {
        let Source { options, data, .. } = source;
        let sharing = sharing(options);
        let mut prior = match self.prior.clone() {
            Some(prior) => prior,
            None => self.first_prior(options, sharing)?,
        };
        let half = options.draws / 2;
        let thin = (half / SAMPLES).max(1);
        let least = prior.variances().iter().fold(f64::INFINITY, |least, &v| least.min(Real::to_f64(v)));
        let epsilon = self.epsilon(source, data.len(), least, true)?;
        self.gradient.clear();
        self.contrastive_divergence(source, data, DOCUMENTS)?;
        let step =
            self.model.langevin(&self.gradient, &prior, epsilon, &mut self.noise, &mut self.scratch)?;
        let rates = Rates { biases: 0.5 * epsilon * epsilon, couplings: 0.0 };
        self.model.ascend(&self.gradient, rates, &mut self.scratch)?;
        self.step = epsilon;
        self.acceptance.count(step == Step::Taken);
        if draw >= half && (draw - half).is_multiple_of(thin) {
            self.samples.push(self.model.clone());
        }
        if let Some(sharing) = sharing.filter(|_| draw.is_multiple_of(LEARN.0)) {
            self.kept.extend(couplings(&self.model));
            if self.kept.len() == LEARN.1 * self.shape().couplings_len() {
                prior = prior.update(&self.kept, options.topics, sharing, GUARD)?;
                self.kept.clear();
            }
        }
        self.prior = Some(prior);
        let [alpha, ..] = self.gradient.parts();
        let gap: Vec<f64> = alpha.iter().map(|&x| Real::to_f64(x)).collect();
        let accepted = if step == Step::Taken { 1.0 } else { 0.0 };
        self.record(source, Phase::Langevin, draw + 1, &gap, accepted)
    }

    /// Adds the gradient at all of these documents, so many at a time.
    fn contrastive_divergence(
        &mut self,
        Source { options, stopped, .. }: Source<'_, T>,
        documents: &HarmoniumData<T>,
        piece: usize,
    ) -> Result<(), EstimatorError> {
        let columns = documents.features.len() / documents.len().max(1);
        for first in (0..documents.len()).step_by(piece) {
            if stopped() {
                return Err(EstimatorError::Stopped);
            }
            let end = documents.len().min(first.saturating_add(piece));
            let bags = documents.bags.as_view().slice(first..end).ok_or(EstimatorError::Failed)?;
            let features = documents.features.get(first * columns..end * columns);
            self.model.contrastive_divergence(
                &bags,
                features.ok_or(EstimatorError::Failed)?,
                options.gibbs_steps,
                &mut self.gradient,
                &mut self.noise,
                &mut self.gibbs,
            )?;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn gradient_of(&mut self, source: Source<'_, T>, documents: &HarmoniumData<T>, piece: usize) {
        self.gradient.clear();
        self.contrastive_divergence(source, documents, piece).unwrap();
    }

    #[cfg(test)]
    pub(super) fn gradient_bits(&self) -> Vec<u64> {
        let parts = self.gradient.parts();
        parts.into_iter().flatten().map(|&x| Real::to_f64(x).to_bits()).collect()
    }

    /// What a step changes, to be put back if it is stopped.
    pub(super) fn state(&self) -> ChainState<T> {
        ChainState {
            noise: self.noise.clone(),
            model: self.model.clone(),
            persistent: self.persistent.clone(),
            prior: self.prior.clone(),
            kept: self.kept.clone(),
            samples: self.samples.len(),
            records: self.trace.len(),
            acceptance: self.acceptance,
            step: self.step,
        }
    }

    /// Puts back what it was.
    pub(super) fn restore(&mut self, state: ChainState<T>) {
        let ChainState { noise, model, persistent, prior, kept, samples, records, acceptance, step } = state;
        (self.noise, self.model, self.persistent, self.prior) = (noise, model, persistent, prior);
        (self.kept, self.acceptance, self.step) = (kept, acceptance, step);
        self.samples.truncate(samples);
        self.trace.truncate(records);
    }

    /// The prior that sampling begins with.
    fn first_prior(
        &self,
        options: &HarmoniumOptions,
        sharing: Option<Sharing>,
    ) -> Result<Normal<T>, EstimatorError> {
        let rows = self.shape().rows();
        let around_zero = |deviation: f64| -> Result<_, EstimatorError> {
            Ok(Prior::new(zeros(rows)?, vec![T::from_f64(deviation * deviation); rows])?)
        };
        match (options.prior.unwrap_or_default(), sharing) {
            (CouplingPrior::Fixed(deviation), _) => around_zero(deviation),
            (_, Some(sharing)) => {
                let first = around_zero(FIRST_DEVIATION)?;
                Ok(first.update(&couplings(&self.model), options.topics, sharing, GUARD)?)
            }
            (_, None) => around_zero(FIRST_DEVIATION),
        }
    }

    /// Adds a record to the trace.
    fn record(
        &mut self,
        Source { data, .. }: Source<'_, T>,
        phase: Phase,
        step: usize,
        gap: &[f64],
        accepted: f64,
    ) -> Result<(), EstimatorError> {
        let (shape, documents) = (self.shape(), data.len() as f64);
        let mut columns = vec![0.0; shape.topics()];
        let mut trace_v = 0.0;
        for row in self.model.w().chunks_exact(shape.topics()) {
            for (sum, &w) in columns.iter_mut().zip(row) {
                let w = Real::to_f64(w);
                *sum += w;
                trace_v += w * w;
            }
        }
        let words = shape.word_count() as f64;
        let prior = self.prior.as_ref().filter(|_| phase == Phase::Langevin);
        let log_prior = prior.map(|prior| prior.log_density(&self.model)).transpose()?;
        let log_posterior = match self.exact.is_empty() {
            true => None,
            false => {
                let log_partition = self.model.log_partition(&mut self.exact)?;
                let (bags, features) = (&data.bags, &data.features);
                let log_likelihood =
                    self.model.log_likelihood(bags, features, log_partition, &mut self.gibbs)?;
                Some(log_likelihood + log_prior.unwrap_or(0.0))
            }
        };
        self.trace.push(TraceRecord {
            phase,
            step,
            mean_v: columns.iter().map(|sum| sum * sum).sum::<f64>() / (words * words),
            trace_v,
            mismatch: gap.iter().map(|gap| gap.abs()).sum::<f64>() / documents,
            log_prior,
            log_posterior,
            accepted,
        });
        Ok(())
    }
}

/// How the prior is estimated from samples, if it is.
fn sharing(options: &HarmoniumOptions) -> Option<Sharing> {
    match options.prior.unwrap_or_default() {
        CouplingPrior::Fixed(_) => None,
        CouplingPrior::Empirical => Some(Sharing::PerRow),
        CouplingPrior::EmpiricalPooled => Some(Sharing::Pooled),
    }
}

/// The couplings of words, then of features, `[M + C][J]`.
pub(super) fn couplings<T: Stored>(model: &HarmoniumParameters<T>) -> Vec<T> {
    [model.w(), model.u()].concat()
}
