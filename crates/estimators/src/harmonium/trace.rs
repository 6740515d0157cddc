//! The trace of a harmonium's training, and convergence diagnostics of its chains.

use countgrid_harmonium::{effective_sample_size, r_hat};

use crate::Phase;

/// One epoch of contrastive divergence, or one Langevin step, of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceRecord {
    /// The phase.
    pub phase: Phase,
    /// Which epoch or step of the phase, from 1.
    pub step: usize,
    /// Mean entry of `V = W Wᵀ`.
    pub mean_v: f64,
    /// Its trace.
    pub trace_v: f64,
    /// By how much the model's mean counts, after its brief Gibbs chains, differ from the data's, per document, summed
    /// over words.
    pub mismatch: f64,
    /// Log density of the couplings under the prior, in nats.
    pub log_prior: Option<f64>,
    /// Log posterior, or likelihood where there is no prior, in nats, of models that are small enough to be enumerated.
    pub log_posterior: Option<f64>,
    /// Share of the steps that were accepted; a dual wing rejects those to where it has no normaliser.
    pub accepted: f64,
}

impl TraceRecord {
    /// The columns of a table of traces.
    pub const COLUMNS: [&'static str; 9] =
        ["chain", "phase", "step", "mean_v", "trace_v", "mismatch", "log_prior", "log_posterior", "accepted"];

    /// The fields of a table of traces, [`TraceRecord::COLUMNS`]; chains are numbered from 0 here, from 1 in the table.
    ///
    /// ```
    /// use countgrid_estimators::{Phase, TraceRecord};
    /// let record = TraceRecord {
    ///     phase: Phase::Langevin, step: 3, mean_v: 0.5, trace_v: 2.0, mismatch: 0.25, log_prior: Some(-1.5),
    ///     log_posterior: None, accepted: 1.0,
    /// };
    /// assert_eq!(record.fields(0), ["1", "langevin", "3", "0.5", "2", "0.25", "-1.5", "", "1"]);
    /// ```
    #[must_use]
    pub fn fields(&self, chain: usize) -> [String; 9] {
        let maybe = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        [
            chain.saturating_add(1).to_string(),
            self.phase_name().to_owned(),
            self.step.to_string(),
            self.mean_v.to_string(),
            self.trace_v.to_string(),
            self.mismatch.to_string(),
            maybe(self.log_prior),
            maybe(self.log_posterior),
            self.accepted.to_string(),
        ]
    }

    /// The name of the phase in tables of traces.
    fn phase_name(&self) -> &'static str {
        if self.phase == Phase::Langevin { "langevin" } else { "climb" }
    }
}

/// Convergence diagnostics of one quantity, over the second halves of the Langevin chains.
///
/// Example: [`HarmoniumTraining`](crate::HarmoniumTraining).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixing {
    /// The quantity: `mean of V` or `trace of V`.
    pub quantity: &'static str,
    /// Effective samples of all chains together.
    pub effective: f64,
    /// Number of steps of all chains that they are computed from.
    pub steps: usize,
    /// Split R-hat over the chains, near 1 where they agree.
    pub r_hat: f64,
}

/// Effective samples of all chains together, and split R-hat over them; nothing without Langevin steps.
///
/// Example: [`HarmoniumTraining`](crate::HarmoniumTraining).
///
/// # Source
/// A. Gelman et al., Bayesian Data Analysis, 3rd edition, Sec. 11.4 and 11.5.
#[must_use]
pub fn mixing(chains: &[Vec<TraceRecord>]) -> Vec<Mixing> {
    type Quantity = (&'static str, fn(&TraceRecord) -> f64);
    let quantities: [Quantity; 2] = [("mean of V", |m| m.mean_v), ("trace of V", |m| m.trace_v)];
    let measure = |(quantity, value): Quantity| {
        let halves: Vec<Vec<f64>> = chains
            .iter()
            .map(|chain| {
                let steps: Vec<f64> =
                    chain.iter().filter(|record| record.phase == Phase::Langevin).map(value).collect();
                steps[steps.len() / 2..].to_vec()
            })
            .collect();
        // Chains of other trainings may differ in length.
        let steps = halves.iter().map(Vec::len).min()?;
        let same: Vec<f64> = halves.iter().flat_map(|half| half[..steps].iter().copied()).collect();
        let effective = halves.iter().map(|half| effective_sample_size(half).ok()).sum::<Option<f64>>()?;
        Some(Mixing { quantity, effective, steps: steps * chains.len(), r_hat: r_hat(&same, steps).ok()? })
    };
    quantities.into_iter().filter_map(measure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_that_agree_have_r_hat_near_1_and_others_do_not() {
        let record = |step: usize, x: f64| TraceRecord {
            phase: Phase::Langevin,
            step,
            mean_v: x,
            trace_v: x,
            mismatch: 0.0,
            log_prior: None,
            log_posterior: None,
            accepted: 1.0,
        };
        // Independent numbers in turn, about `centre`.
        let chain = |centre: f64, salt: u64| -> Vec<TraceRecord> {
            (0..400u64)
                .map(|t| {
                    let word = (t + 1000 * salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                    record(t as usize + 1, centre + word as f64 / (1u64 << 24) as f64)
                })
                .collect()
        };
        let together = mixing(&[chain(0.0, 1), chain(0.0, 2)]);
        assert_eq!(together.len(), 2);
        assert!(together.iter().all(|found| found.r_hat < 1.1 && found.steps == 400), "{together:?}");
        let apart = mixing(&[chain(0.0, 1), chain(5.0, 2)]);
        assert!(apart.iter().all(|found| found.r_hat > 3.0), "{apart:?}");
        let ascending = |record| TraceRecord { phase: Phase::ContrastiveDivergence, ..record };
        assert!(mixing(&[chain(0.0, 1).into_iter().map(ascending).collect()]).is_empty());
    }
}
