//! The E-step of a collection that comes in blocks.

use alloc::vec::Vec;
use core::{convert::Infallible, fmt};

use crate::{Fit, PartialSum, Reduction, ReductionError, Table, Tables, TablesMut, TablesMutExt};

/// What ends an E-step over blocks early. `R` is what reading the blocks can fail with.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum BlockError<E, R = Infallible> {
    /// The model refused a batch of a block, or there are no statistics for it.
    Expectation { block: usize, error: E },
    /// The model refused statistics in the M-step.
    Maximization(E),
    /// A batch could not be read.
    Read(R),
    /// A batch of a block that is neither that of the batch before nor the next one; or statistics of another shape.
    Reduction(ReductionError),
}

impl<E: fmt::Display, R: fmt::Display> fmt::Display for BlockError<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expectation { block, error } => write!(f, "block {block}: {error}"),
            Self::Maximization(error) => error.fmt(f),
            Self::Read(error) => error.fmt(f),
            Self::Reduction(error) => error.fmt(f),
        }
    }
}

impl<E, R> core::error::Error for BlockError<E, R>
where
    E: core::error::Error + 'static,
    R: core::error::Error + 'static,
{
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // `Display` shows the errors themselves
            Self::Expectation { error, .. } | Self::Maximization(error) => error.source(),
            Self::Read(error) => error.source(),
            Self::Reduction(_) => None,
        }
    }
}

impl<E, R> From<ReductionError> for BlockError<E, R> {
    fn from(error: ReductionError) -> Self {
        Self::Reduction(error)
    }
}

/// Statistics of a whole collection, with what its E-step block by block needs: more of the kind, made by `A` when they are
/// needed, at most `log2(blocks) + 1` in all and none for one block; they are kept for the next E-step.
///
/// As [`Tables`] these are the sums of the collection. As with every [`Fit`], an E-step adds to what they hold.
#[derive(Clone, Debug)]
pub struct BlockStatistics<S, A> {
    pub(crate) sums: S,
    pub(crate) spare: Vec<S>,
    pub(crate) allocate: A,
}

impl<S: TablesMut, A> BlockStatistics<S, A> {
    /// Statistics, and what makes others of their shape: `FnMut() -> Result<S, E>`, with the error of the model.
    pub fn new(sums: S, allocate: A) -> Self {
        Self { sums, spare: Vec::new(), allocate }
    }
    /// The sums of the collection.
    pub fn sums(&self) -> &S {
        &self.sums
    }
    /// The sums of the collection, to be changed.
    pub fn sums_mut(&mut self) -> &mut S {
        &mut self.sums
    }
    /// The sums, given back.
    pub fn into_sums(self) -> S {
        self.sums
    }
    /// Statistics that were made for blocks and are kept.
    pub fn spare(&self) -> usize {
        self.spare.len()
    }

    /// Begins an E-step, to which batches are then given one after the other.
    pub fn begin(&mut self) -> BlockExpectation<'_, S, A> {
        let Self { sums, spare, allocate } = self;
        let reduction = Reduction::new();
        BlockExpectation { reduction, block: 0, current: None, sums: Some(sums), spare, allocate }
    }
}

impl<S: Tables, A> Tables for BlockStatistics<S, A> {
    type Scalar = S::Scalar;

    fn layout(&self) -> &[Table] {
        self.sums.layout()
    }
    fn buffer(&self) -> &[S::Scalar] {
        self.sums.buffer()
    }
}

impl<S: TablesMut, A> TablesMut for BlockStatistics<S, A> {
    fn buffer_mut(&mut self) -> &mut [S::Scalar] {
        self.sums.buffer_mut()
    }
}

/// Statistics of a node of the tree: those of the leftmost nodes are the caller's, which in the end hold all sums.
#[derive(Debug)]
enum NodeStatistics<'a, S> {
    Caller(&'a mut S),
    Own(S),
}

impl<S: TablesMut> NodeStatistics<'_, S> {
    fn get(&self) -> &S {
        match self {
            Self::Caller(sums) => sums,
            Self::Own(sums) => sums,
        }
    }
    fn get_mut(&mut self) -> &mut S {
        match self {
            Self::Caller(sums) => sums,
            Self::Own(sums) => sums,
        }
    }
    fn into_own(self) -> Option<S> {
        match self {
            Self::Caller(_) => None,
            Self::Own(sums) => Some(sums),
        }
    }
}

impl<S: TablesMut> Tables for NodeStatistics<'_, S> {
    type Scalar = S::Scalar;

    fn layout(&self) -> &[Table] {
        self.get().layout()
    }
    fn buffer(&self) -> &[S::Scalar] {
        self.get().buffer()
    }
}

impl<S: TablesMut> TablesMut for NodeStatistics<'_, S> {
    fn buffer_mut(&mut self) -> &mut [S::Scalar] {
        self.get_mut().buffer_mut()
    }
}

/// An E-step over blocks that is going on, for blocks that come to their reader one after the other. Begun by
/// [`BlockStatistics::begin`].
///
/// ```
/// use countgrid_em::{BLOCK_BAGS, BlockError, BlockStatistics, Fit, TablesMutExt};
///
/// /// The E-step of bags that `read` shows in batches, each with the number of its first bag. No batch has bags of two blocks.
/// fn expectation<B, M, A>(
///     model: &M,
///     read: impl FnOnce(&mut dyn FnMut(usize, B) -> Result<(), BlockError<M::Error>>) -> Result<(), BlockError<M::Error>>,
///     statistics: &mut BlockStatistics<M::Statistics, A>,
/// ) -> Result<f64, BlockError<M::Error>>
/// where
///     M: Fit<B>,
///     A: FnMut() -> Result<M::Statistics, M::Error>,
/// {
///     statistics.clear();
///     let mut expectation = statistics.begin();
///     read(&mut |first_bag, batch| expectation.add(model, first_bag / BLOCK_BAGS, &batch))?;
///     Ok(expectation.finish()?)
/// }
/// ```
#[derive(Debug)]
pub struct BlockExpectation<'a, S, A> {
    reduction: Reduction<NodeStatistics<'a, S>>,
    block: usize,                                  // that of `current`, or the one that comes next
    current: Option<(NodeStatistics<'a, S>, f64)>, // sums of the block so far
    sums: Option<&'a mut S>,                       // until block 0 begins
    spare: &'a mut Vec<S>,
    allocate: &'a mut A,
}

impl<'a, S: TablesMut, A> BlockExpectation<'a, S, A> {
    /// Adds a batch of bags of a block: the block of the batch before, or the next one; the first is block 0.
    ///
    /// A block may come in several batches, whose statistics are added to one another in their order. For the same bits it
    /// has then always to come in the same batches, since a model may sum up a batch before it adds it, as it does with the
    /// free energy.
    ///
    /// # Errors
    /// [`BlockError::Expectation`]; [`BlockError::Reduction`] for another block. The statistics are then no longer to
    /// be used before they are cleared.
    pub fn add<B, M, R>(&mut self, model: &M, block: usize, batch: &B) -> Result<(), BlockError<M::Error, R>>
    where
        B: ?Sized,
        M: Fit<B, Statistics = S>,
        A: FnMut() -> Result<S, M::Error>,
    {
        if self.current.is_some() && self.block.checked_add(1) == Some(block) {
            self.end_block()?;
        }
        if self.block != block {
            return Err(ReductionError::Order { expected: self.block, found: block }.into());
        }
        let (statistics, free_energy) = match &mut self.current {
            Some(current) => current,
            None => {
                let begun = match self.sums.take() {
                    Some(sums) => NodeStatistics::Caller(sums),
                    None => NodeStatistics::Own(self.empty(block)?),
                };
                self.current.insert((begun, -0.0)) // -0.0 + x is x, whatever x is
            }
        };
        *free_energy += model
            .expectation(batch, statistics.get_mut())
            .map_err(|error| BlockError::Expectation { block, error })?;
        Ok(())
    }

    fn empty<E, R>(&mut self, block: usize) -> Result<S, BlockError<E, R>>
    where
        A: FnMut() -> Result<S, E>,
    {
        let freed = self.reduction.take_spare().and_then(NodeStatistics::into_own);
        match freed.or_else(|| self.spare.pop()) {
            Some(mut statistics) => {
                statistics.clear();
                Ok(statistics)
            }
            None => (self.allocate)().map_err(|error| BlockError::Expectation { block, error }),
        }
    }

    fn end_block(&mut self) -> Result<(), ReductionError> {
        if let Some((statistics, free_energy)) = self.current.take() {
            self.reduction.push(statistics, free_energy)?;
            self.block += 1;
        }
        Ok(())
    }

    /// Adds up what is left, and returns the free energy of all batches, in nats; 0 if there was none.
    ///
    /// # Errors
    /// [`ReductionError::Tables`] if statistics were made of another shape.
    pub fn finish(mut self) -> Result<f64, ReductionError> {
        self.end_block()?;
        let (total, spare) = self.reduction.finish_with_spare()?;
        self.spare.extend(spare.into_iter().filter_map(NodeStatistics::into_own));
        Ok(total.as_ref().map_or(0.0, PartialSum::free_energy))
    }
}

/// The E-step of a whole collection in batches, each with the number of its block: see [`BlockExpectation::add`]. Adds to the
/// statistics and returns the free energy, in nats.
///
/// Blocks are added up in the tree of [`Reduction`]. One block gives the bits of [`Fit::expectation`].
///
/// ```
/// use countgrid_em::{BlockStatistics, Fit, Learn, Table, TableBuffer, Tables, TablesMut, expectation_by_blocks};
/// use core::convert::Infallible;
///
/// struct Mean(f64);
/// impl Fit<[f64]> for Mean {
///     fn expectation(&self, batch: &[f64], sums: &mut Self::Statistics) -> Result<f64, Infallible> {
///         batch.iter().for_each(|x| sums.buffer_mut()[0] += x);
///         Ok(batch.iter().map(|x| 0.5 * (x - self.0).powi(2)).sum())
///     }
/// }
/// # impl Fit<Vec<f64>> for Mean {
/// #     fn expectation(&self, batch: &Vec<f64>, sums: &mut Self::Statistics) -> Result<f64, Infallible> {
/// #         self.expectation(batch.as_slice(), sums)
/// #     }
/// # }
/// impl Learn for Mean {
///     type Statistics = TableBuffer<f64, [Table; 1], [f64; 1]>;
///     type Error = Infallible;
///     fn maximization(&mut self, _: &mut Self::Statistics) -> Result<(), Infallible> {
///         Ok(())
///     }
/// }
/// let allocate = || TableBuffer::new([Table::new("sum", 1, 1)], [0.0]);
/// let mut statistics = BlockStatistics::new(allocate()?, || Ok(allocate().expect("one element")));
///
/// // Three batches in two blocks, read from wherever they are.
/// let batches = [(0, vec![1.0, 2.0]), (0, vec![3.0]), (1, vec![4.0])].map(Ok::<_, std::io::Error>);
/// let free_energy = expectation_by_blocks(&Mean(2.0), batches, &mut statistics)?;
/// assert_eq!((free_energy, statistics.buffer()), (3.0, &[10.0][..]));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
/// [`BlockError::Expectation`], [`BlockError::Read`], [`BlockError::Reduction`]. The statistics are then no longer to be used
/// before they are cleared.
pub fn expectation_by_blocks<B, M, A, R>(
    model: &M,
    batches: impl IntoIterator<Item = Result<(usize, B), R>>,
    statistics: &mut BlockStatistics<M::Statistics, A>,
) -> Result<f64, BlockError<M::Error, R>>
where
    M: Fit<B>,
    A: FnMut() -> Result<M::Statistics, M::Error>,
{
    let mut expectation = statistics.begin();
    for batch in batches {
        let (block, batch) = batch.map_err(BlockError::Read)?;
        expectation.add(model, block, &batch)?;
    }
    Ok(expectation.finish()?)
}
