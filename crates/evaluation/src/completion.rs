//! How probable held-out documents are.

use countgrid_classify::Summary;
use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder, Storable};
use countgrid_counts::Bags;
use countgrid_estimators::{AXES, EstimatorError, FittedComponential, FittedGrid, FittedLda, Stored};
use countgrid_grid::{GridError, Shape};
use countgrid_math::{Real, exp, index_below, ln, sqrt};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::{EvaluationError, Stop, pieces::ask, zeros};

/// Documents whose posteriors are in memory together.
const PIECE: usize = 512;
/// The most tokens of a word in a document: they are drawn one by one.
const TOKENS: f64 = 1e9;

/// A mean with its standard error.
///
/// Example: [`best_match`](crate::best_match).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error over what it is a mean of; `None` for fewer than two.
    pub standard_error: Option<f64>,
}

impl Mean {
    /// Of independent figures; 0 without any.
    #[must_use]
    pub fn of(figures: &[f64]) -> Self {
        let mut sum = Summary::default();
        figures.iter().for_each(|&x| sum.add(x));
        Self { value: sum.mean().unwrap_or(0.0), standard_error: sum.standard_error() }
    }
}

/// The log-likelihood of held-out tokens.
///
/// Example: [`document_completion`](crate::document_completion).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOut {
    /// Nats per token, minus infinity if a token is impossible; the standard error is that of a ratio over documents, `None`
    /// for fewer than two or where it is not finite.
    pub per_token: Mean,
    /// Tokens that were scored.
    pub tokens: f64,
    /// Documents that they are of.
    pub documents: usize,
}

impl HeldOut {
    /// `exp` of minus the log-likelihood per token.
    #[must_use]
    pub fn perplexity(&self) -> f64 {
        exp(-self.per_token.value)
    }

    /// From the log-likelihood and the tokens of each document; `None` without tokens.
    fn from_documents(documents: &[(f64, f64)]) -> Option<Self> {
        let counted = || documents.iter().filter(|(_, tokens)| *tokens > 0.0);
        let tokens: f64 = counted().map(|(_, tokens)| tokens).sum();
        let value = counted().map(|(log, _)| log).sum::<f64>() / tokens;
        let n = counted().count();
        let squares: f64 = counted().map(|(log, own)| (log - value * own) * (log - value * own)).sum();
        let error = sqrt(squares * n as f64 / (n.max(2) - 1) as f64) / tokens;
        let standard_error = (n > 1 && error.is_finite()).then_some(error);
        (tokens > 0.0).then_some(Self { per_token: Mean { value, standard_error }, tokens, documents: n })
    }
}

/// A model that predicts further tokens of a document from some of them.
///
/// Example: [`document_completion`](crate::document_completion).
pub trait Predictive {
    /// The log-likelihood of the tokens of each document in `scored`, in nats, each token by itself, with the distribution over words
    /// that the tokens of the same document in `given` lead to. Both are over the words of the model.
    ///
    /// # Errors
    /// Bags over another number of words; no memory.
    fn log_predictive(&self, given: &Blocks<f64>, scored: &Blocks<f64>) -> Result<Vec<f64>, EvaluationError>;
}

impl<T: Stored> Predictive for FittedGrid<T> {
    /// With `p(w) = Σ_k q_k h_k(w)`: the windows' distributions, weighted by the posterior of the tokens given.
    fn log_predictive(&self, given: &Blocks<f64>, scored: &Blocks<f64>) -> Result<Vec<f64>, EvaluationError> {
        let mut posteriors = Vec::with_capacity(given.len());
        self.for_each_posterior(given, |_, _, posterior| {
            let mut own = Vec::new();
            posterior.for_each(|cell, q| own.push((cell, Real::to_f64(q))));
            posteriors.push(own);
        })?;
        let mut scratch = zeros(self.shape().plane_scratch_len())?;
        log_mixtures(self.shape(), &posteriors, scored, |word, h| {
            self.grid().histogram(word, h, &mut scratch)
        })
    }
}

impl<T: Stored> Predictive for FittedComponential<T> {
    /// With `p(w) = Σ_l θ_l h_l(w)` at the posterior mean of the proportions `θ` of the tokens given.
    fn log_predictive(&self, given: &Blocks<f64>, scored: &Blocks<f64>) -> Result<Vec<f64>, EvaluationError> {
        let mut posteriors = Vec::with_capacity(given.len());
        self.for_each_inference(given, |_, _, found| {
            posteriors.push(found.proportions.iter().map(|&p| Real::to_f64(p)).enumerate().collect());
        })?;
        let means = self.means()?;
        log_mixtures(self.shape(), &posteriors, scored, |word, h| means.window_means(word, h))
    }
}

/// The log-likelihood of the tokens of each document under a mixture of windows of its own, `[document](window, weight)`, where
/// `histogram` writes the probabilities of a word in all windows.
fn log_mixtures<T: Stored>(
    shape: &Shape<AXES>,
    mixtures: &[Vec<(usize, f64)>],
    scored: &Blocks<f64>,
    mut histogram: impl FnMut(usize, &mut [T]) -> Result<(), GridError>,
) -> Result<Vec<f64>, EvaluationError> {
    // Words one after the other: a word has a table of all windows.
    let mut uses = vec![Vec::new(); shape.features()];
    scored.for_each_block(false, |first, block| {
        for bag in 0..block.len() {
            for (word, count) in block.entries(bag) {
                uses.get_mut(word)
                    .ok_or(EvaluationError::Words { expected: shape.features(), found: word + 1 })?
                    .push((first + bag, count));
            }
        }
        Ok::<_, EvaluationError>(())
    })?;
    let mut log = zeros::<f64>(scored.len())?;
    let mut h = zeros::<T>(shape.cells())?;
    for (word, uses) in uses.iter().enumerate().filter(|(_, uses)| !uses.is_empty()) {
        histogram(word, &mut h).map_err(EstimatorError::from)?;
        for &(document, count) in uses {
            let mixture = mixtures.get(document).map_or(&[][..], Vec::as_slice);
            let p: f64 =
                mixture.iter().map(|&(cell, q)| q * h.get(cell).map_or(0.0, |&h| Real::to_f64(h))).sum();
            if let Some(log) = log.get_mut(document) {
                *log += count * ln(p);
            }
        }
    }
    Ok(log)
}

impl Predictive for FittedLda {
    /// With `p(w) = Σ_k θ_k β_kw` at the posterior mean of the proportions `θ`.
    fn log_predictive(&self, given: &Blocks<f64>, scored: &Blocks<f64>) -> Result<Vec<f64>, EvaluationError> {
        let proportions = self.transform(given)?;
        let (topics, beta) = (self.lda().shape().topics(), self.lda().beta());
        let mut log = zeros::<f64>(scored.len())?;
        scored.for_each_block(false, |first, block| {
            for (bag, log) in (0..block.len()).zip(log.iter_mut().skip(first)) {
                let own = proportions.values.chunks_exact(topics).nth(first + bag).unwrap_or_default();
                for (word, count) in block.entries(bag) {
                    let row = beta.get(word * topics..(word + 1) * topics).unwrap_or_default();
                    *log += count * ln(own.iter().zip(row).map(|(theta, beta)| theta * beta).sum::<f64>());
                }
            }
            Ok::<_, EvaluationError>(())
        })?;
        Ok(log)
    }
}

/// Document completion: half of the tokens of each document are given, drawn without replacement, and the other half is scored with the
/// distribution over words that follows from them. Documents of one token are left out, and of an odd number the larger half
/// is given. Every document has its own stream of random numbers, so that the others do not matter. `None` if no token is scored.
///
/// Documents should not be among those that the model was fitted to. Likelihoods of models with other vocabularies are of other
/// tokens, and do not compare.
///
/// # Errors
/// [`EvaluationError::TokenCount`] for a count that is not whole, or more than 1e9; errors of the model;
/// [`EvaluationError::Stopped`].
///
/// # Source
/// H. Wallach, I. Murray, R. Salakhutdinov & D. Mimno, Evaluation methods for topic models, ICML 2009, Section 5.
///
/// ```
/// use countgrid_corpus::{BlockLimits, Blocks};
/// use countgrid_counts::Dense;
/// use countgrid_estimators::{FittedGrid, ModelInfo};
/// use countgrid_evaluation::{Stop, document_completion};
/// use countgrid_grid::{Grid, Shape};
///
/// // Two windows of one cell each: whichever a document is in, half of what is left has probability 0.9 each.
/// let grid = Grid::new(Shape::from_sides([2], [1], 2)?, [0.9_f64, 0.1, 0.1, 0.9, 0.5, 0.5])?;
/// let info = ModelInfo::for_vocabulary(vec!["ant".into(), "bee".into()]);
/// let fitted = FittedGrid::from_grid(info, &grid)?;
/// let bags = Blocks::from_bags(&Dense::new(2, &[200.0_f64, 0.0, 0.0, 200.0])?, BlockLimits::in_memory())?;
/// let found = document_completion(&fitted, &bags, 1, &Stop::new())?.unwrap();
/// assert_eq!((found.tokens, found.documents), (200.0, 2));
/// assert!((found.perplexity() - 1.0 / 0.9).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn document_completion(
    model: &impl Predictive,
    bags: &Blocks<f64>,
    seed: u64,
    stop: &Stop,
) -> Result<Option<HeldOut>, EvaluationError> {
    let builder = || BlocksBuilder::new(bags.features(), BlockLimits::in_memory());
    let mut halves = [builder()?, builder()?];
    let (mut tokens, mut documents) = (Vec::new(), Vec::with_capacity(bags.len()));
    let mut score = |[given, scored]: [BlocksBuilder<f64>; 2], tokens: &mut Vec<f64>| {
        ask(stop)?;
        let logs = model.log_predictive(&given.finish()?, &scored.finish()?)?;
        documents.extend(logs.into_iter().zip(tokens.drain(..)));
        Ok::<_, EvaluationError>(())
    };
    bags.for_each_block(false, |first, block| {
        for bag in 0..block.len() {
            let entries: Vec<(usize, f64)> = block.entries(bag).collect();
            let [given, scored] = split(&entries, first + bag, seed)?;
            let count: f64 = scored.iter().map(|(_, count)| count).sum();
            if !(count > 0.0) {
                continue;
            }
            tokens.push(count);
            let [first_half, second_half] = &mut halves;
            first_half.push(given)?;
            second_half.push(scored)?;
            if tokens.len() == PIECE {
                score(std::mem::replace(&mut halves, [builder()?, builder()?]), &mut tokens)?;
            }
        }
        Ok::<_, EvaluationError>(())
    })?;
    score(halves, &mut tokens)?;
    Ok(HeldOut::from_documents(&documents))
}

/// The tokens of a document in two halves, the first one larger if their number is odd.
fn split(
    entries: &[(usize, f64)],
    document: usize,
    seed: u64,
) -> Result<[Vec<(usize, f64)>; 2], EvaluationError> {
    let whole = |count: f64| (0.0..=TOKENS).contains(&count) && count == count.trunc();
    if let Some(&(word, count)) = entries.iter().find(|&&(_, count)| !whole(count)) {
        return Err(EvaluationError::TokenCount { document, word, count });
    }
    let mut left: u64 = entries.iter().map(|&(_, count)| count as u64).sum();
    let mut given_left = left.div_ceil(2);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(document as u64);
    let mut halves = [Vec::new(), Vec::new()];
    for &(word, count) in entries {
        let mut given = 0_u64;
        for _ in 0..count as u64 {
            if (index_below(rng.next_u64(), left as usize) as u64) < given_left {
                given += 1;
                given_left -= 1;
            }
            left -= 1;
        }
        for (half, tokens) in halves.iter_mut().zip([given, count as u64 - given]) {
            if tokens > 0 {
                half.push((word, tokens as f64));
            }
        }
    }
    Ok(halves)
}

/// The bound on the log-likelihood of documents, per token, from their free energies, `[document]`, in nats; `None` without
/// tokens. Free energies of documents without tokens are not looked at.
///
/// ```
/// use countgrid_corpus::{BlockLimits, Blocks};
/// use countgrid_counts::Dense;
/// use countgrid_evaluation::held_out_bound;
///
/// let bags = Blocks::from_bags(&Dense::new(2, &[2.0_f64, 0.0, 3.0, 5.0])?, BlockLimits::in_memory())?;
/// let found = held_out_bound(&[1.5, 6.0], &bags)?.unwrap(); // nats, of both documents
/// assert_eq!((found.tokens, found.per_token.value), (10.0, -0.75));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`EvaluationError::Items`]; [`EvaluationError::Corpus`] if counts cannot be read.
pub fn held_out_bound<C: Storable>(
    free_energies: &[f64],
    bags: &Blocks<C>,
) -> Result<Option<HeldOut>, EvaluationError> {
    if free_energies.len() != bags.len() {
        return Err(EvaluationError::Items { expected: bags.len(), found: free_energies.len() });
    }
    let mut documents = Vec::with_capacity(bags.len());
    bags.for_each_block(false, |first, block| {
        let own = free_energies.iter().skip(first).zip(0..block.len());
        documents.extend(own.map(|(energy, bag)| (-energy, block.total(bag))));
        Ok::<_, EvaluationError>(())
    })?;
    Ok(HeldOut::from_documents(&documents))
}

#[cfg(test)]
mod tests {
    use super::{HeldOut, split};

    #[test]
    fn the_error_of_a_ratio_is_over_documents_with_tokens() {
        // Of 8 tokens -16 nats: residuals -3 + 2·2, -9 + 2·4, -4 + 2·2.
        let found =
            HeldOut::from_documents(&[(-3.0, 2.0), (f64::NAN, 0.0), (-9.0, 4.0), (-4.0, 2.0)]).unwrap();
        assert_eq!((found.tokens, found.documents, found.per_token.value), (8.0, 3, -2.0));
        assert_eq!(found.per_token.standard_error, Some((2.0_f64 * 3.0 / 2.0).sqrt() / 8.0));
        // Residuals of two: -4 + 2·4/3, -4 + 4·4/3.
        let found = HeldOut::from_documents(&[(-4.0, 2.0), (-4.0, 4.0)]).unwrap();
        let squares = 2.0 * (4.0_f64 / 3.0).powi(2);
        assert!((found.per_token.standard_error.unwrap() - (2.0 * squares).sqrt() / 6.0).abs() < 1e-15);
        let found = HeldOut::from_documents(&[(0.0, 0.0), (-4.0, 2.0)]).unwrap();
        assert_eq!((found.documents, found.per_token.standard_error), (1, None));
        assert_eq!(HeldOut::from_documents(&[(0.0, 0.0)]), None);
    }

    #[test]
    fn halves_have_all_tokens_and_follow_from_seed_and_number() {
        let entries = [(0, 3.0), (2, 1.0), (5, 7.0)];
        let halves = |document, seed| split(&entries, document, seed).unwrap();
        let mut different = 0;
        for seed in 0..20 {
            let [given, scored] = halves(4, seed);
            for (word, count) in entries {
                let of =
                    |half: &[(usize, f64)]| half.iter().filter(|x| x.0 == word).map(|x| x.1).sum::<f64>();
                assert_eq!(of(&given) + of(&scored), count);
            }
            assert_eq!(given.iter().map(|(_, count)| count).sum::<f64>(), 6.0);
            assert!(given.iter().chain(&scored).all(|&(_, count)| count > 0.0));
            assert_eq!(halves(4, seed), [given.clone(), scored]);
            different += usize::from(halves(5, seed)[0] != given);
        }
        // Of all 462 halves few have the same counts.
        assert!(different > 10, "{different}");
        assert_eq!(split(&[], 0, 0).unwrap(), [vec![], vec![]]);
    }
}
