//! How much more often some texts use a word than others do.

/// Relative variance of how often a word is used from one set of documents to another of the same subject, beyond that of counts:
/// authors have habits, and a text that has a word once has it again. About a third of the rate, squared.
const BURSTS: f64 = 0.1;

/// Log-odds of words with a prior and their deviations: Monroe, Colaresi & Quinn, Political Analysis 16 (2008), Eqs. 16 to 22.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogOdds {
    /// Words of the vocabulary, and so tokens of the prior.
    pub(crate) features: f64,
}

impl LogOdds {
    /// Log-odds of a word over its deviation: `inside` are the word's tokens and all tokens of some texts, `whole` those of the texts
    /// that have them, `prior` the word's share of the prior. 0 where it tells nothing.
    pub(crate) fn significance(
        &self,
        [inner, inner_all]: [f64; 2],
        [outer, outer_all]: [f64; 2],
        prior: f64,
    ) -> f64 {
        let (y, rest) = (inner + prior, (outer - inner).max(0.0) + prior);
        let others = (inner_all + self.features - y, outer_all - inner_all + self.features - rest);
        // Not finite without tokens, or where one of the two has more of the word than words.
        let z = libm::log(y / others.0 * (others.1 / rest)) / (1.0 / y + 1.0 / rest + BURSTS).sqrt();
        if z.is_finite() { z } else { 0.0 }
    }
}
