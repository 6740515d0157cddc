//! Harmoniums as models that labels are told with.

use countgrid_counts::{Bags, CsrBuf};

use crate::{
    args::{EvaluationArgs, Features, ModelKind},
    evaluation::features::Rows,
    failure::Failure,
    harmonium::{
        BATCH, Data, HarmoniumFamily, Learned, Settings, Trained, learn, prepare_counts, refused, wide,
    },
    interrupt::Interrupt,
    memory::zeros,
    model::Stored,
    store::Store,
};

/// Learned from some documents, without a word.
pub(crate) fn fitted<T: Stored>(
    bags: &Store<T>,
    args: &EvaluationArgs,
    interrupt: &Interrupt,
) -> Result<Learned<T>, Failure> {
    let family =
        if args.model == ModelKind::Rap { HarmoniumFamily::RateAdapting } else { HarmoniumFamily::Words };
    let data = Data { bags: prepare_counts(bags, family, args.harmonium.trials)?, features: Vec::new() };
    let settings = Settings {
        family,
        topics: args.topics,
        args: &args.harmonium,
        batch: args.fit.batch.unwrap_or(BATCH),
        seed: args.fit.seed,
        feature_variance: 1.0,
        record_trace: false,
    };
    learn(&data, &settings, interrupt)
}

/// Expected topics of each document; of every posterior sample, side by side, if those are asked for.
pub(crate) fn features<T: Stored>(
    kind: Features,
    learned: &Learned<T>,
    bags: &Store<T>,
) -> Result<Rows, Failure> {
    // Trials are those of words; topics have them in the rate adapting model, whose words have no limit.
    let trials = learned.model.sizes().first().map_or(1.0, wide) as u32;
    let bags = prepare_counts(bags, learned.family, trials)?;
    match kind {
        Features::Samples => {
            let parts = learned.samples.iter().map(|sample| topics(sample, &bags));
            Rows::concatenate_columns(&parts.collect::<Result<Vec<_>, _>>()?, bags.len())
        }
        _ => topics(&learned.model, &bags),
    }
}

fn topics<T: Stored>(model: &Trained<T>, bags: &CsrBuf<T>) -> Result<Rows, Failure> {
    let mut rows = Rows::zeros(bags.len(), model.shape().topics())?;
    let mut h = zeros(model.shape().topics())?;
    for document in 0..bags.len() {
        model.topics(bags, document, &[], &mut h).map_err(refused)?;
        rows.row_mut(document).iter_mut().zip(&h).for_each(|(to, from)| *to = wide(from));
    }
    Ok(rows)
}
