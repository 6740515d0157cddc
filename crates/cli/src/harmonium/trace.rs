//! What is watched while a harmonium is learned, and what it says of the chains.

use std::io;

use countgrid_harmonium::{effective_sample_size, r_hat};
use serde_json::{Value, json};

/// One epoch of contrastive divergence or one Langevin step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceRecord {
    pub(crate) phase: &'static str,
    pub(crate) step: usize,
    /// Mean entry of `V = W Wᵀ`.
    pub(crate) mean_v: f64,
    /// Its trace.
    pub(crate) trace_v: f64,
    /// By how much the model's mean counts, after its brief Gibbs chains, differ from the data's, per document, summed
    /// over words.
    pub(crate) mismatch: f64,
    /// Log density of the couplings under the prior.
    pub(crate) log_prior: Option<f64>,
    /// Log posterior, or likelihood where there is no prior, of models that are small enough to be summed.
    pub(crate) log_posterior: Option<f64>,
    /// Share of the steps that were taken; a dual wing refuses those out of its region.
    pub(crate) accepted: f64,
}

/// Writes the traces of all chains.
pub(crate) fn write(out: &mut dyn io::Write, chains: &[Vec<TraceRecord>]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "chain",
        "phase",
        "step",
        "mean_v",
        "trace_v",
        "mismatch",
        "log_prior",
        "log_posterior",
        "accepted",
    ])?;
    let maybe = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    for (chain, moments) in chains.iter().enumerate() {
        for m in moments {
            csv.write_record([
                (chain + 1).to_string(),
                m.phase.to_owned(),
                m.step.to_string(),
                m.mean_v.to_string(),
                m.trace_v.to_string(),
                m.mismatch.to_string(),
                maybe(m.log_prior),
                maybe(m.log_posterior),
                m.accepted.to_string(),
            ])?;
        }
    }
    csv.flush()
}

/// What the second halves of the Langevin chains say of one quantity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixing {
    pub(crate) name: &'static str,
    pub(crate) effective: f64,
    pub(crate) steps: usize,
    pub(crate) r_hat: f64,
}

impl Mixing {
    pub(crate) fn json(&self) -> Value {
        json!({ "quantity": self.name, "effective": self.effective, "steps": self.steps, "r_hat": self.r_hat })
    }
}

/// Effective samples of all chains together, and split R-hat over them; nothing without Langevin steps.
pub(crate) fn mixing(chains: &[Vec<TraceRecord>]) -> Vec<Mixing> {
    type Quantity = (&'static str, fn(&TraceRecord) -> f64);
    let quantities: [Quantity; 2] = [("mean of V", |m| m.mean_v), ("trace of V", |m| m.trace_v)];
    let of = |(name, value): Quantity| {
        let halves: Vec<Vec<f64>> = chains
            .iter()
            .map(|chain| {
                let steps: Vec<f64> = chain.iter().filter(|m| m.phase == "langevin").map(value).collect();
                steps[steps.len() / 2..].to_vec()
            })
            .collect();
        // Chains that were ended early may differ in length.
        let steps = halves.iter().map(Vec::len).min()?;
        let same: Vec<f64> = halves.iter().flat_map(|half| half[..steps].iter().copied()).collect();
        let effective = halves.iter().map(|half| effective_sample_size(half).ok()).sum::<Option<f64>>()?;
        Some(Mixing { name, effective, steps: steps * chains.len(), r_hat: r_hat(&same, steps).ok()? })
    };
    quantities.into_iter().filter_map(of).collect()
}
