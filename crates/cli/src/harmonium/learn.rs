//! From documents to a harmonium: contrastive divergence, persistent chains, Langevin sampling.

use countgrid_counts::{Bags, CsrBuf};
use countgrid_em::{TablesMutExt, restart_seed};
use countgrid_harmonium::{
    Acceptance, Chains, Draws, Gradient, Guard, Harmonium, HarmoniumError, Prior, Rates, Shape, Sharing,
    Step, add_rotated, align, align_scratch_len, step_bound,
};
use countgrid_math::{Real, ln};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::{
    args::{HarmoniumArgs, Method, PriorKind},
    trace::TraceRecord,
};
use crate::{
    failure::Failure,
    interrupt::Interrupt,
    memory::zeros,
    model::Stored,
    store::{Store, foreign},
};

/// Spread of the couplings that learning begins with.
const START: f64 = 0.01;
/// Posterior samples of a chain that are kept, about.
const SAMPLES: usize = 50;
/// Every so many Langevin steps a sample goes to the prior, and every so many of them it is learned anew.
const LEARN: (usize, usize) = (10, 10);
/// What a learned variance does not fall below.
const GUARD: Guard = Guard::Floor(1e-4);
/// A model of no more states is summed over to tell its likelihood.
const STATES: f64 = 4096.0;

/// A harmonium with memory of its own.
pub(crate) type Trained<T> = Harmonium<T, Vec<T>>;

/// The prior of its couplings.
type Normal<T> = Prior<T, Vec<T>>;

/// What the units of a harmonium are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HarmoniumFamily {
    /// Binomial words, normal topics.
    Words,
    /// Poisson words, binomial topics.
    RateAdapting,
    /// Binomial words, normal features, normal topics.
    DualWing,
}

impl HarmoniumFamily {
    /// As `--model` has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Words => "harmonium",
            Self::RateAdapting => "rap",
            Self::DualWing => "dual-wing",
        }
    }

    pub(crate) fn shape(self, words: usize, topics: usize, features: usize) -> Result<Shape, Failure> {
        match self {
            Self::Words => Shape::words(words, topics),
            Self::RateAdapting => Shape::rate_adapting(words, topics),
            Self::DualWing => Shape::dual_wing(words, features, topics),
        }
        .map_err(refused)
    }
}

/// What is learned from.
pub(crate) struct Data<T> {
    pub(crate) bags: CsrBuf<T>,
    /// `[document][feature]`, standardised; none for a single wing.
    pub(crate) features: Vec<T>,
}

/// What and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings<'a> {
    pub(crate) family: HarmoniumFamily,
    pub(crate) topics: usize,
    pub(crate) args: &'a HarmoniumArgs,
    /// Documents of a mini-batch of contrastive divergence.
    pub(crate) batch: usize,
    pub(crate) seed: u64,
    /// Variance of features given topics.
    pub(crate) feature_variance: f64,
    /// Whether likelihoods of small models are told, which takes time.
    pub(crate) record_trace: bool,
}

/// What was learned.
pub(crate) struct Learned<T> {
    pub(crate) family: HarmoniumFamily,
    /// The maximum likelihood estimate, or the mean of posterior samples after they were aligned.
    pub(crate) model: Trained<T>,
    /// Posterior samples of all chains.
    pub(crate) samples: Vec<Trained<T>>,
    /// What was watched, chain by chain.
    pub(crate) traces: Vec<Vec<TraceRecord>>,
    /// Steps made and taken.
    pub(crate) acceptance: Acceptance,
    /// The last step of the couplings.
    pub(crate) step: f64,
    /// Mean over words of the prior's means and of its standard deviations.
    pub(crate) prior: Option<(f64, f64)>,
}

/// What was wrong with a harmonium, and what to do.
pub(crate) fn refused(error: HarmoniumError) -> Failure {
    let remedy = match error {
        HarmoniumError::Diverged { .. } | HarmoniumError::Rate { .. } => {
            "take a smaller --step-size, or leave it out for one that is surely stable"
        }
        HarmoniumError::Empty { .. } => "take --topics of at least 1, and data with words",
        HarmoniumError::TooLarge { .. } => "take fewer --topics or --max-words",
        HarmoniumError::Count { .. } => "take whole counts, without --tokens and --scale",
        HarmoniumError::Variance { .. } => "take a --feature-variance above 0, such as 0.5",
        HarmoniumError::Size { .. } => "take --trials from 1 to 1048576",
        HarmoniumError::NotPositiveDefinite => "take a smaller --feature-variance or --step-size",
        _ => "this is a bug worth a report",
    };
    Failure::new(error, remedy)
}

/// Counts as the words of a harmonium can have them: no more than there are trials, unless they are Poisson.
pub(crate) fn prepare_counts<T: Stored>(
    bags: &Store<T>,
    family: HarmoniumFamily,
    trials: u32,
) -> Result<CsrBuf<T>, Failure> {
    let most =
        if family == HarmoniumFamily::RateAdapting { T::infinity() } else { T::from_f64(f64::from(trials)) };
    let presence = family != HarmoniumFamily::RateAdapting && trials == 1;
    bags.gathered(|count| if presence { T::one() } else { count.min(most) })
}

/// Learns a harmonium; `interrupt` ends it early with what there is.
pub(crate) fn learn<T: Stored>(
    data: &Data<T>,
    settings: &Settings<'_>,
    interrupt: &Interrupt,
) -> Result<Learned<T>, Failure> {
    if data.bags.len() == 0 {
        return Err(Failure::new("there is no document to learn from", "take more documents"));
    }
    let batches = data.batches(settings)?;
    let chains = (0..settings.args.chains)
        .into_par_iter()
        .map(|chain| Chain::new(data, &batches, settings, chain)?.run(interrupt))
        .collect::<Result<Vec<_>, Failure>>()?;
    let mut acceptance = Acceptance::default();
    for chain in &chains {
        acceptance.proposed += chain.acceptance.proposed;
        acceptance.accepted += chain.acceptance.accepted;
    }
    // Binomial topics have no rotations to align by: what chains call a topic differs, and one of them is averaged.
    let averaged = if settings.family == HarmoniumFamily::RateAdapting { 1 } else { chains.len() };
    let samples: Vec<_> = chains.iter().take(averaged).flat_map(|chain| &chain.samples).collect();
    let first =
        chains.first().ok_or_else(|| Failure::new("no chain has run", "take --chains of at least 1"))?;
    let model = match samples.is_empty() {
        true => first.model.clone(),
        false => mean(&samples, settings.family)?,
    };
    let (step, prior) = (first.step, first.fitted_prior());
    let family = settings.family;
    let mut learned =
        Learned { family, model, samples: Vec::new(), traces: Vec::new(), acceptance, step, prior };
    for chain in chains {
        learned.samples.extend(chain.samples);
        learned.traces.push(chain.trace);
    }
    Ok(learned)
}

impl<T: Stored> Data<T> {
    fn columns(&self) -> usize {
        self.features.len() / self.bags.len().max(1)
    }

    /// All documents in a random order, so many at a time.
    fn batches(&self, settings: &Settings<'_>) -> Result<Vec<Self>, Failure> {
        let mut order: Vec<usize> = (0..self.bags.len()).collect();
        let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(settings.seed));
        for last in (1..order.len()).rev() {
            let u: f64 = countgrid_harmonium::Noise::uniform(&mut draws);
            order.swap(last, (u * (last + 1) as f64) as usize);
        }
        let columns = self.columns();
        let batch = |documents: &[usize]| {
            let mut batch =
                Self { bags: CsrBuf::new(self.bags.features()).map_err(foreign)?, features: Vec::new() };
            for &document in documents {
                batch.bags.push_bag(self.bags.entries(document)).map_err(foreign)?;
                let own = self.features.get(document * columns..(document + 1) * columns);
                batch.features.extend_from_slice(own.unwrap_or_default());
            }
            Ok(batch)
        };
        order.chunks(settings.batch.max(1)).map(batch).collect()
    }
}

/// One run of learning.
struct Chain<'a, T> {
    data: &'a Data<T>,
    batches: &'a [Data<T>],
    settings: &'a Settings<'a>,
    noise: Draws<ChaCha8Rng>,
    model: Trained<T>,
    gradient: Gradient<T, Vec<T>>,
    gibbs: Vec<T>,
    scratch: Vec<T>,
    exact: Vec<f64>,          // none if the likelihood is not told
    squares: f64,             // mean over documents of the sum of squared counts
    prior: Option<Normal<T>>, // of the last Langevin step
    samples: Vec<Trained<T>>,
    trace: Vec<TraceRecord>,
    acceptance: Acceptance,
    step: f64,
}

impl<'a, T: Stored> Chain<'a, T> {
    fn new(
        data: &'a Data<T>,
        batches: &'a [Data<T>],
        settings: &'a Settings<'a>,
        chain: usize,
    ) -> Result<Self, Failure> {
        let documents = data.bags.len() as f64;
        let shape = settings.family.shape(data.bags.features(), settings.topics, data.columns())?;
        let mut noise = Draws::new(ChaCha8Rng::seed_from_u64(restart_seed(settings.seed, chain)));
        let trials = settings.args.trials;
        let mut model =
            Harmonium::allocate(shape, trials, T::from_f64(START), &mut noise).map_err(refused)?;
        if let Some(variances) = model.table_mut("variances") {
            variances.fill(T::from_f64(settings.feature_variance));
        }
        // Biases begin where words without couplings are as frequent as they are.
        let (mut sums, mut squares) = (vec![0.0; data.bags.features()], 0.0);
        for (word, count) in (0..data.bags.len()).flat_map(|document| data.bags.entries(document)) {
            let count = count.to_f64();
            sums[word] += count;
            squares += count * count / documents;
        }
        let bias = |sum: f64| match settings.family {
            HarmoniumFamily::RateAdapting => ln((sum + 0.5) / documents),
            _ => ln((sum + 0.5) / (documents * f64::from(trials) - sum + 0.5)),
        };
        let mut scratch = zeros(shape.step_scratch_len())?;
        let model = model.update(&mut scratch, |[alpha, ..]| {
            alpha.iter_mut().zip(&sums).for_each(|(alpha, &sum)| *alpha = T::from_f64(bias(sum)));
        });
        let units = if settings.family == HarmoniumFamily::RateAdapting {
            shape.topics()
        } else {
            shape.word_count()
        };
        let states = f64::from(trials + 1).powf(units as f64);
        let exact = if settings.record_trace && states <= STATES { shape.exact_scratch_len() } else { 0 };
        Ok(Self {
            data,
            batches,
            settings,
            noise,
            model: model.map_err(refused)?,
            gradient: Gradient::allocate(shape).map_err(refused)?,
            gibbs: zeros(shape.gibbs_scratch_len::<T>())?,
            scratch,
            exact: zeros(exact)?,
            squares,
            prior: None,
            samples: Vec::new(),
            trace: Vec::new(),
            acceptance: Acceptance::default(),
            step: 0.0,
        })
    }

    fn run(mut self, interrupt: &Interrupt) -> Result<Self, Failure> {
        self.fit_maximum_likelihood(interrupt)?;
        if self.settings.args.method == Method::Langevin {
            self.sample_langevin(interrupt)?;
        }
        Ok(self)
    }

    /// The step for gradients of so many documents; one that was given is of all of them. Poisson counts have no largest: their squares stand for it.
    fn epsilon(&self, documents: usize, variance: f64) -> Result<f64, Failure> {
        if let Some(step) = self.settings.args.step_size {
            return Ok(step * (self.data.bags.len() as f64 / documents as f64).sqrt());
        }
        let trials = f64::from(self.settings.args.trials);
        let bound = match self.settings.family {
            HarmoniumFamily::RateAdapting => {
                step_bound(documents, 1, trials * self.squares.max(1.0).sqrt(), variance)
            }
            _ => step_bound(documents, self.model.shape().rows(), trials, variance),
        };
        bound.map_err(refused)
    }

    /// Maximum likelihood, in mini-batches.
    fn fit_maximum_likelihood(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        let (args, shape) = (self.settings.args, *self.model.shape());
        let mut persistent = match (args.method, self.batches.first()) {
            (Method::Persistent, Some(first)) => {
                let states = zeros(first.bags.len() * shape.state_len())?;
                Some(
                    Chains::at_documents(&self.model, &first.bags, &first.features, states)
                        .map_err(refused)?,
                )
            }
            _ => None,
        };
        for epoch in 1..=args.epochs {
            let mut gap = vec![0.0; shape.word_count()];
            let (mut taken, mut made) = (0, 0);
            for batch in self.batches {
                self.gradient.clear();
                match &mut persistent {
                    None => self.model.contrastive_divergence(
                        &batch.bags,
                        &batch.features,
                        args.steps,
                        &mut self.gradient,
                        &mut self.noise,
                        &mut self.gibbs,
                    ),
                    Some(chains) => {
                        let weight = T::from_f64(-(batch.bags.len() as f64) / chains.count() as f64);
                        self.model
                            .add_data(
                                &batch.bags,
                                &batch.features,
                                T::one(),
                                &mut self.gradient,
                                &mut self.gibbs,
                            )
                            .and_then(|()| {
                                chains.sweep(&self.model, args.steps, &mut self.noise, &mut self.gibbs)
                            })
                            .and_then(|()| {
                                chains.add_to(&self.model, weight, &mut self.gradient, &mut self.gibbs)
                            })
                    }
                }
                .map_err(refused)?;
                let epsilon = self.epsilon(batch.bags.len(), 1.0)?;
                let rate = 0.5 * epsilon * epsilon;
                let rates = Rates { biases: rate, couplings: rate };
                let step = self.model.ascend(&self.gradient, rates, &mut self.scratch).map_err(refused)?;
                self.step = epsilon;
                made += 1;
                taken += u32::from(step == Step::Taken);
                self.acceptance.count(step == Step::Taken);
                let [alpha, ..] = self.gradient.parts();
                gap.iter_mut().zip(alpha).for_each(|(gap, &x)| *gap += wide(&x));
            }
            self.record_trace("climb", epoch, &gap, f64::from(taken) / f64::from(made.max(1)), None)?;
            if interrupt.requested() {
                break;
            }
        }
        Ok(())
    }

    /// The prior that sampling begins with.
    fn first_prior(&self) -> Result<(Normal<T>, Option<Sharing>), Failure> {
        let rows = self.model.shape().rows();
        let wide = |deviation: f64| {
            Prior::new(zeros(rows)?, vec![T::from_f64(deviation * deviation); rows]).map_err(refused)
        };
        let sharing = match self.settings.args.prior.unwrap_or(PriorKind::Fixed(0.1)) {
            PriorKind::Fixed(deviation) => return Ok((wide(deviation)?, None)),
            PriorKind::Empirical => Sharing::PerRow,
            PriorKind::Pooled => Sharing::Pooled,
        };
        let learned = wide(1.0)?.update(&couplings(&self.model), self.settings.topics, sharing, GUARD);
        Ok((learned.map_err(refused)?, Some(sharing)))
    }

    /// Langevin steps of the couplings, with gradients from brief chains at all documents; biases climb along.
    fn sample_langevin(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        let (args, topics) = (self.settings.args, self.settings.topics);
        let (mut prior, sharing) = self.first_prior()?;
        let (half, mut kept) = (args.draws / 2, Vec::new());
        let thin = (half / SAMPLES).max(1);
        for draw in 0..args.draws {
            let least = prior.variances().iter().fold(f64::INFINITY, |least, v| least.min(wide(v)));
            let epsilon = self.epsilon(self.data.bags.len(), least)?;
            self.gradient.clear();
            self.model
                .contrastive_divergence(
                    &self.data.bags,
                    &self.data.features,
                    args.steps,
                    &mut self.gradient,
                    &mut self.noise,
                    &mut self.gibbs,
                )
                .map_err(refused)?;
            let step = self
                .model
                .langevin(&self.gradient, &prior, epsilon, &mut self.noise, &mut self.scratch)
                .map_err(refused)?;
            let rates = Rates { biases: 0.5 * epsilon * epsilon, couplings: 0.0 };
            self.model.ascend(&self.gradient, rates, &mut self.scratch).map_err(refused)?;
            self.step = epsilon;
            self.acceptance.count(step == Step::Taken);
            if draw >= half && (draw - half) % thin == 0 {
                self.samples.push(self.model.clone());
            }
            if let Some(sharing) = sharing.filter(|_| draw % LEARN.0 == 0) {
                kept.extend(couplings(&self.model));
                if kept.len() == LEARN.1 * self.model.shape().couplings_len() {
                    prior = prior.update(&kept, topics, sharing, GUARD).map_err(refused)?;
                    kept.clear();
                }
            }
            let [alpha, ..] = self.gradient.parts();
            let gap: Vec<f64> = alpha.iter().map(wide).collect();
            let accepted = if step == Step::Taken { 1.0 } else { 0.0 };
            self.record_trace("langevin", draw + 1, &gap, accepted, Some(&prior))?;
            if interrupt.requested() {
                break;
            }
        }
        self.prior = Some(prior);
        Ok(())
    }

    /// Takes note of how it goes.
    fn record_trace(
        &mut self,
        phase: &'static str,
        step: usize,
        gap: &[f64],
        accepted: f64,
        prior: Option<&Normal<T>>,
    ) -> Result<(), Failure> {
        let (shape, documents) = (*self.model.shape(), self.data.bags.len() as f64);
        let mut columns = vec![0.0; shape.topics()];
        let mut trace_v = 0.0;
        for row in self.model.w().chunks_exact(shape.topics()) {
            for (sum, w) in columns.iter_mut().zip(row) {
                let w = wide(w);
                *sum += w;
                trace_v += w * w;
            }
        }
        let words = shape.word_count() as f64;
        let log_prior = prior.map(|prior| prior.log_density(&self.model));
        let log_prior = log_prior.transpose().map_err(refused)?;
        let log_posterior = match self.exact.is_empty() {
            true => None,
            false => {
                let log_partition = self.model.log_partition(&mut self.exact).map_err(refused)?;
                let of = (&self.data.bags, &self.data.features);
                let log_likelihood = self.model.log_likelihood(of.0, of.1, log_partition, &mut self.gibbs);
                Some(log_likelihood.map_err(refused)? + log_prior.unwrap_or(0.0))
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

    fn fitted_prior(&self) -> Option<(f64, f64)> {
        let prior = self.prior.as_ref()?;
        let rows = prior.means().len() as f64;
        let mean = prior.means().iter().map(wide).sum::<f64>() / rows;
        let deviation = prior.variances().iter().map(|x| wide(x).sqrt()).sum::<f64>() / rows;
        Some((mean, deviation))
    }
}

/// A number in double precision.
pub(crate) fn wide<T: Stored>(x: &T) -> f64 {
    Real::to_f64(*x)
}

/// The couplings of words, then of features, `[M + C][J]`.
fn couplings<T: Stored>(model: &Trained<T>) -> Vec<T> {
    [model.w(), model.u()].concat()
}

/// The mean of samples, each turned to lie closest to the first. Where normal topics have a normaliser is convex, so the
/// mean has one.
fn mean<T: Stored>(samples: &[&Trained<T>], family: HarmoniumFamily) -> Result<Trained<T>, Failure> {
    let Some(&first) = samples.first() else {
        return Err(Failure::new("there is no sample", "this is a bug worth a report"));
    };
    let (shape, topics) = (*first.shape(), first.shape().topics());
    let (reference, weight) = (couplings(first), 1.0 / samples.len() as f64);
    let mut rows = zeros::<T>(reference.len())?;
    let (mut rotation, mut scratch) = (zeros(topics * topics)?, zeros(align_scratch_len(topics))?);
    let (mut alphas, mut betas) = (vec![0.0; shape.word_count()], vec![0.0; first.beta().len()]);
    for sample in samples {
        let own = couplings(sample);
        let turn = match family {
            HarmoniumFamily::RateAdapting => None,
            _ => {
                align(&own, &reference, topics, &mut rotation, &mut scratch).map_err(refused)?;
                Some(rotation.as_slice())
            }
        };
        add_rotated(&own, turn, topics, weight, &mut rows).map_err(refused)?;
        for (sums, own) in [(&mut alphas, sample.alpha()), (&mut betas, sample.beta())] {
            sums.iter_mut().zip(own).for_each(|(sum, x)| *sum += weight * wide(x));
        }
    }
    let (w_mean, u_mean) = rows.split_at(shape.word_count() * topics);
    first
        .clone()
        .update(&mut zeros(shape.precision_len())?, |[alpha, w, beta, u]| {
            alpha.iter_mut().zip(&alphas).for_each(|(own, &x)| *own = T::from_f64(x));
            beta.iter_mut().zip(&betas).for_each(|(own, &x)| *own = T::from_f64(x));
            w.copy_from_slice(w_mean);
            u.copy_from_slice(u_mean);
        })
        .map_err(refused)
}
