//! Models of bags, fitted to bags in blocks or to mini-batches of them.

use std::ops::Range;

use countgrid_corpus::{Blocks, Corpus, CorpusError, MiniBatch, MiniBatchCursor, Storable};
use countgrid_counts::{Bags, Csr, CsrBuf};
use countgrid_em::{
    Anneal, BLOCK_BAGS, BlockError, BlockStatistics, Fit, FitError, Learn, StepwiseFit, TablesMut,
};
use countgrid_grid::GridError;
use countgrid_hmm::HmmError;
use countgrid_lda::LdaError;
use countgrid_math::Real;

use crate::{DataDigest, EstimatorError, MiniBatchPass, Stored, estimator::Step};

/// An error of a model that names the bag, or the sequence, at fault by its place in a batch.
///
/// Example: [the crate's](crate).
pub trait BagError: Into<EstimatorError> {
    /// The same error, of a batch that begins with bag `first`.
    fn after(self, first: usize) -> Self;
}

impl BagError for GridError {
    fn after(self, first: usize) -> Self {
        match self {
            Self::Overflow { bag } => Self::Overflow { bag: first.saturating_add(bag) },
            error => error,
        }
    }
}

impl BagError for LdaError {
    fn after(self, first: usize) -> Self {
        match self {
            Self::Overflow { bag } => Self::Overflow { bag: first.saturating_add(bag) },
            error => error,
        }
    }
}

impl BagError for HmmError {
    fn after(self, first: usize) -> Self {
        match self {
            Self::Impossible { sequence, position } => {
                Self::Impossible { sequence: first.saturating_add(sequence), position }
            }
            error => error,
        }
    }
}

/// A learner whose E-step goes over [`Blocks`] in order, and over mini-batches.
///
/// Bags belong to leaves by their numbers, [`BLOCK_BAGS`] to each, and leaves are added up in one fixed binary tree
/// ([`countgrid_em::Reduction`]): expected counts and, in `f64`, free energies. Within a leaf each block is a batch of its own
/// and is added to those before, in memory and in a file alike; none has bags of two leaves. Hence the same bits wherever the
/// blocks are, whatever a model does within a batch, and whoever adds up which leaves. The bags of a mini-batch are numbered
/// from 0.
///
/// Example: [`GridTraining`](crate::GridTraining).
#[derive(Clone, Debug)]
pub struct BlockLearner<L> {
    /// The learner of one batch.
    pub learner: L,
    /// Whether a thread reads the next block of a file meanwhile.
    pub read_ahead: bool,
}

impl<L: Learn<Error: BagError>> Learn for BlockLearner<L> {
    type Statistics = BlockStatistics<L::Statistics>;
    type Error = EstimatorError;

    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), EstimatorError> {
        self.learner.maximization(statistics.sums_mut()).map_err(Into::into)
    }

    fn penalty(&self) -> f64 {
        self.learner.penalty()
    }

    fn coinciding_components(&self) -> Option<usize> {
        self.learner.coinciding_components()
    }
}

/// The E-step of `items` bags or sequences that are in memory, leaf by leaf: `slice` has those of a range.
pub(crate) fn expectation_by_leaves<B, L>(
    learner: &L,
    items: usize,
    slice: impl Fn(Range<usize>) -> Option<B>,
    statistics: &mut BlockStatistics<L::Statistics>,
) -> Result<f64, EstimatorError>
where
    L: Fit<B, Statistics: TablesMut, Error: BagError>,
{
    let mut expectation = statistics.begin();
    // One leaf at least: a model looks at the shape of what is empty, too.
    for leaf in 0..items.div_ceil(BLOCK_BAGS).max(1) {
        let first = leaf * BLOCK_BAGS;
        let batch =
            slice(first..items.min(first.saturating_add(BLOCK_BAGS))).ok_or(EstimatorError::Failed)?;
        expectation.add(learner, leaf, &batch).map_err(|error| named(error, first))?;
    }
    Ok(expectation.finish()?)
}

/// Bags or sequences that threads share at a time, of which the scratch of statistics has room for each: `of_thread` for each
/// thread of the pool that the caller is in, and one if there is no other thread. No result depends on it.
pub(crate) fn shared_items(of_thread: usize, items: usize) -> usize {
    match countgrid_em::parallel::threads() {
        1 => 1,
        threads => of_thread.saturating_mul(threads).min(items).max(1),
    }
}

/// An error of a batch that begins with bag `first`.
fn named<E: BagError>(error: BlockError<E>, first: usize) -> EstimatorError {
    match error {
        BlockError::Expectation { error, .. } => error.after(first).into(),
        BlockError::Maximization(error) => error.into(),
        BlockError::Reduction(error) => error.into(),
        BlockError::Stopped { .. } => EstimatorError::Stopped,
        _ => EstimatorError::Failed,
    }
}

impl<L: Anneal<Error: BagError>> Anneal for BlockLearner<L> {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.learner.set_inverse_temperature(beta);
    }

    fn perturb(&mut self, statistics: &mut Self::Statistics, size: f64, seed: u64) {
        self.learner.perturb(statistics.sums_mut(), size, seed);
    }
}

impl<C: Storable, L> Fit<Blocks<C>> for BlockLearner<L>
where
    L: Learn<Error: BagError> + for<'a> Fit<Csr<'a, C>>,
{
    fn expectation(
        &self,
        bags: &Blocks<C>,
        statistics: &mut Self::Statistics,
    ) -> Result<f64, EstimatorError> {
        let mut expectation = statistics.begin();
        bags.for_each_block(self.read_ahead, |first, block| {
            let added = expectation.add(&self.learner, first / BLOCK_BAGS, &block);
            added.map_err(|error| named(error, first))
        })?;
        Ok(expectation.finish()?)
    }
}

impl<C: Storable, L> Fit<CsrBuf<C>> for BlockLearner<L>
where
    L: Learn<Error: BagError> + for<'a> Fit<Csr<'a, C>>,
{
    fn expectation(
        &self,
        bags: &CsrBuf<C>,
        statistics: &mut Self::Statistics,
    ) -> Result<f64, EstimatorError> {
        let bags = bags.as_view();
        expectation_by_leaves(&self.learner, bags.len(), |leaf| bags.slice(leaf), statistics)
    }
}

/// A pass over [`Blocks`] in mini-batches.
///
/// Example: [`GridTraining`](crate::GridTraining).
#[derive(Debug)]
pub struct BlockPass<C>(MiniBatchCursor<C>);

impl<C: Storable, L> MiniBatchPass<Blocks<C>, BlockLearner<L>> for BlockPass<C>
where
    L: Learn<Error: BagError> + for<'a> Fit<Csr<'a, C>>,
{
    fn begin(bags: &Blocks<C>, size: usize, seed: u64, done: usize) -> Result<Self, EstimatorError> {
        let mut batches = MiniBatchCursor::new(bags, size, seed);
        for _ in 0..done {
            batches.next(bags).transpose()?;
        }
        Ok(Self(batches))
    }

    fn step(
        &mut self,
        bags: &Blocks<C>,
        fit: &mut StepwiseFit,
        learner: &mut BlockLearner<L>,
        statistics: &mut BlockStatistics<L::Statistics>,
    ) -> Step {
        let refuse = |error: CorpusError| FitError::Model(error.into());
        match self.0.next(bags).transpose().map_err(refuse)? {
            Some(MiniBatch { bags, share }) => {
                fit.step(learner, &bags, statistics, share, self.0.left() == 0)
            }
            None => Err(FitError::NoBatch { pass: fit.state().pass }),
        }
    }
}

/// What a checkpoint knows bags in blocks by.
pub(crate) fn digest<C: Stored>(bags: &Blocks<C>) -> Result<DataDigest, EstimatorError> {
    let mut digest = DataDigest::new(bags.features());
    bags.for_each_block(false, |_, block| {
        digest.add_bags(&block);
        Ok::<_, CorpusError>(())
    })?;
    Ok(digest)
}

/// What a model is fitted to, in numbers: what options that follow from the data follow from.
///
/// ```
/// use countgrid_corpus::{BlockLimits, BlocksBuilder};
/// use countgrid_estimators::BagTotals;
/// let mut builder = BlocksBuilder::new(3, BlockLimits::default())?;
/// for bag in [vec![(0, 2.0_f32), (2, 1.0)], vec![]] {
///     builder.push(bag)?;
/// }
/// let totals = BagTotals::from_blocks(&builder.finish()?)?;
/// assert_eq!((totals.features, totals.bags, totals.non_empty, totals.tokens), (3, 2, 1, 3.0));
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BagTotals {
    /// Number of features.
    pub features: usize,
    /// Number of bags.
    pub bags: usize,
    /// Bags that are not empty.
    pub non_empty: usize,
    /// The sum of all counts.
    pub tokens: f64,
}

impl BagTotals {
    /// Those of no bags.
    pub(crate) fn of_none(features: usize) -> Self {
        Self { features, bags: 0, non_empty: 0, tokens: 0.0 }
    }

    /// Counts over all bags.
    ///
    /// # Errors
    /// Blocks that cannot be read.
    pub fn from_blocks<C: Storable>(bags: &Blocks<C>) -> Result<Self, EstimatorError> {
        let mut totals = Self { features: bags.features(), bags: 0, non_empty: 0, tokens: 0.0 };
        totals.add(bags)?;
        Ok(totals)
    }

    /// Counts over the bags that follow those before, to the bits of all together.
    pub(crate) fn add<C: Storable>(&mut self, bags: &Blocks<C>) -> Result<(), EstimatorError> {
        self.bags = self.bags.saturating_add(bags.len());
        bags.for_each_block(false, |_, block| {
            for bag in 0..block.len() {
                let total: f64 = block.total(bag);
                self.tokens += total;
                self.non_empty += usize::from(total > 0.0);
            }
            Ok::<_, EstimatorError>(())
        })
    }

    /// Whether there is anything to fit to.
    ///
    /// # Errors
    /// [`EstimatorError::Tokens`] unless the counts add up to a finite number above zero.
    pub fn check(&self) -> Result<(), EstimatorError> {
        let tokens = self.tokens;
        if tokens > 0.0 && tokens.is_finite() { Ok(()) } else { Err(EstimatorError::Tokens { tokens }) }
    }
}

impl BagTotals {
    /// [`BagTotals::check`], and whether sums of several leaves stay in the range of a model's numbers: of one the model's
    /// E-step says which bag is too much.
    pub(crate) fn check_for<T: Real>(&self) -> Result<(), EstimatorError> {
        self.check()?;
        let (tokens, most) = (self.tokens, T::max_value().to_f64() / 8.0);
        if self.bags > BLOCK_BAGS && tokens > most {
            return Err(EstimatorError::TooManyTokens { tokens, most });
        }
        Ok(())
    }

    /// Tables in which sums wait for others at most, during an E-step over all bags.
    pub(crate) fn waiting_tables(&self) -> usize {
        self.bags.div_ceil(BLOCK_BAGS).checked_ilog2().unwrap_or(0) as usize
    }
}

impl<C> From<&Corpus<C>> for BagTotals
where
    C: Storable,
{
    /// What the corpus knows of its bags: its tokens are those before counts were rounded.
    fn from(corpus: &Corpus<C>) -> Self {
        Self {
            features: corpus.bags.features(),
            bags: corpus.bags.len(),
            non_empty: corpus.nonempty,
            tokens: corpus.tokens,
        }
    }
}

/// So many zeros.
pub(crate) fn zeros<T: Real>(elements: usize) -> Result<Vec<T>, EstimatorError> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(elements).map_err(|_| EstimatorError::Memory { elements })?;
    zeros.resize(elements, T::zero());
    Ok(zeros)
}

#[cfg(test)]
mod tests {
    use countgrid_em::ReductionError;

    use super::*;

    #[cfg(feature = "rayon")]
    #[test]
    fn several_threads_share_several_items() {
        let on = |threads: usize, items| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| shared_items(10, items))
        };
        assert_eq!((on(1, 100), on(2, 100), on(3, 100)), (1, 20, 30));
        assert_eq!((on(3, 7), on(3, 0)), (7, 1));
    }

    #[test]
    fn errors_of_blocks_are_those_of_models_and_of_the_tree() {
        let bag = named(BlockError::Expectation { block: 1, error: GridError::Overflow { bag: 3 } }, 40);
        assert!(matches!(bag, EstimatorError::Grid(GridError::Overflow { bag: 43 })), "{bag}");
        let model = named(BlockError::Maximization(GridError::ShapeMismatch), 40);
        assert!(matches!(model, EstimatorError::Grid(GridError::ShapeMismatch)), "{model}");
        let tree = BlockError::<GridError>::Reduction(ReductionError::Memory { elements: 9 });
        let tree = named(tree, 40);
        assert!(matches!(tree, EstimatorError::Memory { elements: 9 }), "{tree}");
    }
}
