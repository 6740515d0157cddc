//! A training of a harmonium between two steps as a file, and back.
//!
//! Of each chain `N`: the model's tables as `chainN.model.NAME`, the states of persistent Gibbs chains as
//! `chainN.states` `[chain, words and features]`, the prior as `chainN.prior.means` and `chainN.prior.variances`, what it
//! is learned from next as `chainN.kept`, posterior samples as `chainN.samples` `[sample, parameters]` and the trace as
//! `chainN.trace` `[record, column]`. What is empty is left out. Where the random numbers are stands in the texts.

use std::borrow::Borrow;

use countgrid_em::{Tables, restart_seed};
use countgrid_harmonium::{Chains, Draws, Harmonium, Prior, Shape};
use countgrid_io::ModelFile;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use super::{
    FittedHarmonium, HarmoniumData, HarmoniumMethod, HarmoniumParameters, HarmoniumPlan, HarmoniumTraining,
    TraceRecord,
    chain::{Chain, Source},
};
use crate::{CheckpointError, DataDigest, EstimatorError, Phase, Stored, blocks::zeros, record::Record};

/// Columns of a trace: phase, step, three measures, two optional numbers each after whether it is there, and the share of
/// steps taken.
const TRACE: usize = 10;

impl<T: Stored, D: Borrow<HarmoniumData<T>>> HarmoniumTraining<T, D> {
    fn data_digest(&self) -> DataDigest {
        *self.digest.get_or_init(|| self.data.borrow().digest())
    }

    /// Continues from a [checkpoint](crate::Train::checkpoint), with the options and data that it was written with: every
    /// further step has the bits that it would have had.
    ///
    /// # Errors
    /// [`EstimatorError::Checkpoint`] says what differs, or what the file lacks; for invalid parameters the error of the
    /// model; those of [`HarmoniumTraining::new`].
    pub fn resume(plan: HarmoniumPlan, data: D, file: ModelFile) -> Result<Self, EstimatorError> {
        let mut training = Self::without_chains(plan, data)?;
        let options = training.plan.option_texts(T::NAME);
        let mut record = Record::open(file, FittedHarmonium::<T>::KIND, &options, &training.data_digest())?;
        training.epochs = record.get("state.epochs")?;
        training.draws = record.get("state.draws")?;
        training.stopped = record.get("state.stopped")?;
        let source = training.source();
        training.chains = (0..training.plan.options.chains)
            .map(|chain| read(&mut record, source, chain))
            .collect::<Result<_, _>>()?;
        Ok(training)
    }
}

/// The checkpoint of a training.
pub(super) fn write<T: Stored, D: Borrow<HarmoniumData<T>>>(
    training: &HarmoniumTraining<T, D>,
) -> Result<ModelFile, EstimatorError> {
    if training.failed {
        return Err(EstimatorError::Failed);
    }
    let options = training.plan.option_texts(T::NAME);
    let mut record = Record::new(FittedHarmonium::<T>::KIND, &options, &training.data_digest());
    record.set("state.epochs", training.epochs);
    record.set("state.draws", training.draws);
    record.set("state.stopped", training.stopped);
    for (number, chain) in training.chains.iter().enumerate() {
        let name = |name: &str| format!("chain{number}.{name}");
        record.insert_tables(&name("model"), &chain.model);
        record.set(&name("random_words"), chain.noise.generator().get_word_pos());
        if let Some(spare) = chain.noise.spare() {
            record.set_number(&name("spare_normal"), spare);
        }
        record.set(&name("proposed"), chain.acceptance.proposed);
        record.set(&name("accepted"), chain.acceptance.accepted);
        record.set_number(&name("step_size"), chain.step);
        record.set(&name("samples"), chain.samples.len());
        record.set(&name("kept"), chain.kept.len());
        let mut insert = |table: &str, rows: usize, elements: &[T]| {
            if !elements.is_empty() {
                record.insert_table(name(table), vec![rows, elements.len() / rows.max(1)], elements);
            }
        };
        if let Some(persistent) = &chain.persistent {
            insert("states", persistent.count(), persistent.states());
        }
        if let Some(prior) = &chain.prior {
            insert("prior.means", 1, prior.means());
            insert("prior.variances", 1, prior.variances());
        }
        insert("kept", 1, &chain.kept);
        let samples: Vec<T> =
            chain.samples.iter().flat_map(|sample| sample.buffer().iter().copied()).collect();
        insert("samples", chain.samples.len(), &samples);
        let trace: Vec<f64> = chain.trace.iter().flat_map(row).collect();
        record.set(&name("trace"), chain.trace.len());
        if !trace.is_empty() {
            record.insert_table(name("trace"), vec![chain.trace.len(), TRACE], &trace);
        }
    }
    Ok(record.into_file())
}

fn read<T: Stored>(
    record: &mut Record,
    source: Source<'_, T>,
    number: usize,
) -> Result<Chain<T>, EstimatorError> {
    let name = |name: &str| format!("chain{number}.{name}");
    let Source { options, data, batches, .. } = source;
    let shape =
        options.kind.shape(countgrid_counts::Bags::features(&data.bags), options.topics, data.columns())?;
    let (names, parameters) = record.take::<T>(&name("model"))?;
    let model = model(shape, parameters)?;
    let own: Vec<&str> = model.layout().iter().map(|table| table.name).collect();
    if own.join(" ") != names {
        return Err(CheckpointError::Text { name: format!("tables.chain{number}.model") }.into());
    }
    let mut rng = ChaCha8Rng::seed_from_u64(restart_seed(options.seed, number));
    rng.set_word_pos(record.get(&name("random_words"))?);
    let spare =
        if record.has(&name("spare_normal")) { Some(record.get(&name("spare_normal"))?) } else { None };
    let mut chain = Chain::with_model(source, model, Draws::resume(rng, spare))?;
    chain.acceptance.proposed = record.get(&name("proposed"))?;
    chain.acceptance.accepted = record.get(&name("accepted"))?;
    chain.step = record.get(&name("step_size"))?;
    let epochs: usize = record.get("state.epochs")?;
    if let (HarmoniumMethod::Persistent, Some(first), true) = (options.method, batches.first(), epochs > 0) {
        let states = first.len().saturating_mul(shape.state_len());
        let states = record.take_table(&name("states"), Some(states))?;
        chain.persistent = Some(Chains::at_states(&chain.model, states)?);
    }
    let draws: usize = record.get("state.draws")?;
    if draws > 0 {
        let means = record.take_table(&name("prior.means"), Some(shape.rows()))?;
        let variances = record.take_table(&name("prior.variances"), Some(shape.rows()))?;
        chain.prior = Some(Prior::new(means, variances)?);
    }
    let kept: usize = record.get(&name("kept"))?;
    if kept > 0 {
        chain.kept = record.take_table(&name("kept"), Some(kept))?;
    }
    let samples: usize = record.get(&name("samples"))?;
    if samples > 0 {
        let elements = samples.saturating_mul(shape.model_len());
        let table = record.take_table::<T>(&name("samples"), Some(elements))?;
        let samples = table.chunks_exact(shape.model_len()).map(|own| self::model(shape, own.to_vec()));
        chain.samples = samples.collect::<Result<_, _>>()?;
    }
    let records: usize = record.get(&name("trace"))?;
    if records > 0 {
        let table = record.take_table::<f64>(&name("trace"), Some(records.saturating_mul(TRACE)))?;
        chain.trace = table.chunks_exact(TRACE).filter_map(from_row).collect();
    }
    Ok(chain)
}

fn model<T: Stored>(shape: Shape, parameters: Vec<T>) -> Result<HarmoniumParameters<T>, EstimatorError> {
    Ok(Harmonium::new(shape, parameters, &mut zeros(shape.precision_len())?)?)
}

fn row(record: &TraceRecord) -> [f64; TRACE] {
    let flag = |is: bool| f64::from(u8::from(is));
    let optional = |x: Option<f64>| [flag(x.is_some()), x.unwrap_or(0.0)];
    let ([has_prior, prior], [has_posterior, posterior]) =
        (optional(record.log_prior), optional(record.log_posterior));
    let phase = flag(record.phase == Phase::Langevin);
    [
        phase,
        record.step as f64,
        record.mean_v,
        record.trace_v,
        record.mismatch,
        has_prior,
        prior,
        has_posterior,
        posterior,
        record.accepted,
    ]
}

fn from_row(row: &[f64]) -> Option<TraceRecord> {
    let &[phase, step, mean_v, trace_v, mismatch, has_prior, prior, has_posterior, posterior, accepted] = row
    else {
        return None;
    };
    let optional = |has: f64, x: f64| (has == 1.0).then_some(x);
    Some(TraceRecord {
        phase: if phase == 1.0 { Phase::Langevin } else { Phase::ContrastiveDivergence },
        step: step as usize,
        mean_v,
        trace_v,
        mismatch,
        log_prior: optional(has_prior, prior),
        log_posterior: optional(has_posterior, posterior),
        accepted,
    })
}
