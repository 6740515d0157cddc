//! Models of bags, fitted to bags in blocks or to mini-batches of them.

use countgrid_corpus::{Blocks, Corpus, CorpusError, MiniBatch, MiniBatchCursor, Storable};
use countgrid_counts::{Csr, CsrBuf};
use countgrid_em::{Anneal, Fit, FitError, Learn, StepwiseFit};
use countgrid_grid::GridError;
use countgrid_lda::LdaError;
use countgrid_math::Real;

use crate::{DataDigest, EstimatorError, MiniBatchPass, Stored, estimator::Step};

/// An error of a model that names the bag at fault by its place in a block.
pub trait BagError: Into<EstimatorError> {
    /// The same error, of a block that begins with bag `first`.
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

/// A learner whose E-step goes over [`Blocks`] in order.
///
/// Each block is a batch of its own, in memory and in a file alike: its expected counts are added to those of the
/// blocks before, and the free energy is the sum of the blocks' free energies, in `f64` and in order. Hence the same
/// bits wherever the blocks are, whatever a model does within a batch.
#[derive(Clone, Debug)]
pub struct BlockLearner<L> {
    /// The learner of one batch.
    pub learner: L,
    /// Whether a thread reads the next block of a file meanwhile.
    pub read_ahead: bool,
}

impl<L: Learn<Error: BagError>> BlockLearner<L> {
    fn add<'a, C: Storable>(
        &self,
        bags: &Csr<'a, C>,
        first: usize,
        statistics: &mut L::Statistics,
    ) -> Result<f64, EstimatorError>
    where
        L: Fit<Csr<'a, C>>,
    {
        self.learner.expectation(bags, statistics).map_err(|error| error.after(first).into())
    }
}

impl<L: Learn<Error: BagError>> Learn for BlockLearner<L> {
    type Statistics = L::Statistics;
    type Error = EstimatorError;

    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), EstimatorError> {
        self.learner.maximization(statistics).map_err(Into::into)
    }

    fn penalty(&self) -> f64 {
        self.learner.penalty()
    }
}

impl<L: Anneal> Anneal for BlockLearner<L> {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.learner.set_inverse_temperature(beta);
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
        let mut free_energy = 0.0;
        bags.for_each_block(self.read_ahead, |first, block| {
            free_energy += self.add(&block, first, statistics)?;
            Ok::<_, EstimatorError>(())
        })?;
        Ok(free_energy)
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
        self.add(&bags.as_view(), 0, statistics)
    }
}

/// A pass over [`Blocks`] in mini-batches.
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
        statistics: &mut L::Statistics,
    ) -> Step {
        let refuse = |error: CorpusError| FitError::Model(error.into());
        match self.0.next(bags).transpose().map_err(refuse)? {
            Some(MiniBatch { bags, share }) => {
                fit.step(learner, &bags, share, self.0.left() == 0, statistics)
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
    /// Counts over all bags.
    ///
    /// # Errors
    /// Blocks that cannot be read.
    pub fn from_blocks<C: Storable>(bags: &Blocks<C>) -> Result<Self, EstimatorError> {
        use countgrid_counts::Bags;
        let mut totals = Self { features: bags.features(), bags: bags.len(), non_empty: 0, tokens: 0.0 };
        bags.for_each_block(false, |_, block| {
            for bag in 0..block.len() {
                let total: f64 = block.total(bag);
                totals.tokens += total;
                totals.non_empty += usize::from(total > 0.0);
            }
            Ok::<_, CorpusError>(())
        })?;
        Ok(totals)
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
