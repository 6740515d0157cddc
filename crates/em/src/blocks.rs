//! The E-step of a collection that comes in blocks.

use alloc::vec::Vec;
use core::{convert::Infallible, fmt};

use crate::{
    Fit, PartialSum, ReductionError, Stop, Table, TableBuffer, Tables, TablesExt, TablesMut, TablesMutExt,
};

/// What ends an E-step over blocks early. `R` is what reading the blocks can fail with.
///
/// Example: [`ByBlocks`](crate::ByBlocks).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum BlockError<E, R = Infallible> {
    /// The model refused a batch of a block, or, of blocks on threads, there are no statistics for it.
    Expectation { block: usize, error: E },
    /// The model refused statistics in the M-step.
    Maximization(E),
    /// A batch could not be read.
    Read(R),
    /// A batch of a block that is neither that of the batch before nor the next one; statistics of another shape; no memory.
    Reduction(ReductionError),
    /// A [`Stop`] was requested, and this block was not begun, or not finished.
    Stopped { block: usize },
}

impl<E: fmt::Display, R: fmt::Display> fmt::Display for BlockError<E, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expectation { block, error } => write!(f, "block {block}: {error}"),
            Self::Maximization(error) => error.fmt(f),
            Self::Read(error) => error.fmt(f),
            Self::Reduction(error) => error.fmt(f),
            Self::Stopped { block } => write!(f, "stopped before the end of block {block}"),
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
            Self::Reduction(_) | Self::Stopped { .. } => None,
        }
    }
}

impl<E, R> From<ReductionError> for BlockError<E, R> {
    fn from(error: ReductionError) -> Self {
        Self::Reduction(error)
    }
}

/// Sums of a node of the tree that wait for their sibling: tables and nothing else.
type NodeSums<T> = TableBuffer<T, Vec<Table>, Vec<T>>;

/// Statistics of a whole collection, with what its E-step block by block needs: tables in which sums of nodes of the tree wait for
/// their siblings. There are at most `log2(blocks)` of them and none for one block; they are made when they are needed and kept
/// for the next E-step.
///
/// Every block is added up in the statistics that were given, with their scratch. As [`Tables`] these are the sums of the
/// collection. As with every [`Fit`], an E-step adds to what they hold: that belongs to block 0.
#[derive(Clone, Debug)]
pub struct BlockStatistics<S: Tables> {
    sums: S,
    spare: Vec<NodeSums<S::Scalar>>,
    stop: Stop,
}

impl<S: TablesMut> BlockStatistics<S> {
    /// Statistics, of which there are no others yet.
    pub fn new(sums: S) -> Self {
        Self { sums, spare: Vec::new(), stop: Stop::new() }
    }
    /// The flag that E-steps ask before every batch from now on: once it is requested, no further batch is added, and they end
    /// with [`BlockError::Stopped`].
    pub fn set_stop(&mut self, stop: &Stop) {
        self.stop.clone_from(stop);
    }
    /// The flag that E-steps ask.
    pub fn stop(&self) -> &Stop {
        &self.stop
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
    /// Tables that were made for nodes and are kept.
    pub fn spare(&self) -> usize {
        self.spare.len()
    }

    /// Begins an E-step, to which batches are then given one after the other.
    pub fn begin(&mut self) -> BlockExpectation<'_, S> {
        let Self { sums, spare, stop } = self;
        BlockExpectation { sums, spare, stop, waiting: Vec::new(), block: 0, free_energy: None }
    }
}

crate::tables_of_field!(impl[S: Tables] for BlockStatistics<S>, sums: S);

/// An E-step over blocks that is going on, for blocks that come to their reader one after the other. Begun by
/// [`BlockStatistics::begin`].
///
/// ```
/// use countgrid_em::{BLOCK_BAGS, BlockError, BlockStatistics, Fit, TablesMutExt};
///
/// /// The E-step of bags that `read` shows in batches, each with the number of its first bag. No batch has bags of two blocks.
/// fn expectation<B, M: Fit<B>>(
///     model: &M,
///     read: impl FnOnce(&mut dyn FnMut(usize, B) -> Result<(), BlockError<M::Error>>) -> Result<(), BlockError<M::Error>>,
///     statistics: &mut BlockStatistics<M::Statistics>,
/// ) -> Result<f64, BlockError<M::Error>> {
///     statistics.clear();
///     let mut expectation = statistics.begin();
///     read(&mut |first_bag, batch| expectation.add(model, first_bag / BLOCK_BAGS, &batch))?;
///     Ok(expectation.finish()?)
/// }
/// ```
#[derive(Debug)]
#[must_use = "blocks are added up by `finish`"]
pub struct BlockExpectation<'a, S: Tables> {
    sums: &'a mut S, // of the block that goes on
    spare: &'a mut Vec<NodeSums<S::Scalar>>,
    stop: &'a Stop,
    waiting: Vec<PartialSum<NodeSums<S::Scalar>>>, // nodes before it, in order, all of whose blocks were added up
    block: usize,                                  // the one that goes on, or comes next
    free_energy: Option<f64>,                      // of the block so far, if it has begun
}

impl<S: TablesMut> BlockExpectation<'_, S> {
    /// Adds a batch of bags of a block: the block of the batch before, or the next one; the first is block 0.
    ///
    /// A block may come in several batches, whose statistics are added to one another in their order. For the same bits it
    /// has then always to come in the same batches, since a model may sum up a batch before it adds it, as it does with the
    /// free energy.
    ///
    /// # Errors
    /// [`BlockError::Expectation`]; [`BlockError::Reduction`] for another block, or without memory; [`BlockError::Stopped`]. The
    /// statistics are then no longer to be used before they are cleared.
    pub fn add<B, M, R>(&mut self, model: &M, block: usize, batch: &B) -> Result<(), BlockError<M::Error, R>>
    where
        B: ?Sized,
        M: Fit<B, Statistics = S>,
    {
        if self.stop.is_requested() {
            return Err(BlockError::Stopped { block });
        }
        if let Some(free_energy) = self.free_energy
            && self.block.checked_add(1) == Some(block)
        {
            self.put_aside(free_energy)?;
        }
        if self.block != block {
            return Err(ReductionError::Order { expected: self.block, found: block }.into());
        }
        let added =
            model.expectation(batch, self.sums).map_err(|error| BlockError::Expectation { block, error })?;
        self.free_energy = Some(self.free_energy.map_or(added, |sum| sum + added));
        Ok(())
    }

    /// Ends a block before another: adds its siblings to it, puts the sum aside and makes room for the next.
    fn put_aside(&mut self, free_energy: f64) -> Result<(), ReductionError> {
        let sum = add_waiting(self.block, self.sums, free_energy, &mut self.waiting, self.spare, false)?;
        let (first_block, blocks, free_energy) = (sum.first_block(), sum.blocks(), sum.free_energy());
        let same_shape = |spare: &NodeSums<_>| self.sums.check_shape(spare).is_ok();
        let node = match self.spare.pop().filter(same_shape) {
            Some(mut node) => {
                node.buffer_mut().copy_from_slice(self.sums.buffer());
                node
            }
            None => copy(self.sums)?,
        };
        self.waiting.push(PartialSum::new(first_block, blocks, node, free_energy)?);
        self.sums.clear();
        (self.block, self.free_energy) = (self.block + 1, None);
        Ok(())
    }

    /// Adds up what is left, and returns the free energy of all batches, in nats; 0 if there was none.
    ///
    /// # Errors
    /// [`ReductionError::Tables`] if the statistics have changed their shape.
    pub fn finish(mut self) -> Result<f64, ReductionError> {
        let Some(free_energy) = self.free_energy else { return Ok(0.0) };
        let sum = add_waiting(self.block, self.sums, free_energy, &mut self.waiting, self.spare, true)?;
        Ok(sum.free_energy())
    }
}

/// Adds to the sums of a block those nodes that are siblings with all of their blocks, as digits carry in a binary counter;
/// after the last block all of them, from the smallest to the largest.
fn add_waiting<'a, S: TablesMut>(
    block: usize,
    sums: &'a mut S,
    free_energy: f64,
    waiting: &mut Vec<PartialSum<NodeSums<S::Scalar>>>,
    spare: &mut Vec<NodeSums<S::Scalar>>,
    last: bool,
) -> Result<PartialSum<&'a mut S>, ReductionError> {
    let mut sum = PartialSum::of_block(block, sums, free_energy);
    while let Some(left) = waiting.pop() {
        if !last && left.blocks() != sum.blocks() {
            waiting.push(left);
            break;
        }
        sum.merge_left(&left)?;
        spare.push(left.into_statistics());
    }
    Ok(sum)
}

/// Sums in memory of their own.
fn copy<S: Tables>(sums: &S) -> Result<NodeSums<S::Scalar>, ReductionError> {
    let (sums, layout) = (sums.buffer(), sums.layout().to_vec());
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(sums.len()).map_err(|_| ReductionError::Memory { elements: sums.len() })?;
    buffer.extend_from_slice(sums);
    Ok(TableBuffer::new(layout, buffer)?)
}

/// The E-step of a whole collection in batches, each with the number of its block: see [`BlockExpectation::add`]. Adds to the
/// statistics and returns the free energy, in nats.
///
/// Blocks are added up in the tree of [`Reduction`](crate::Reduction). One block gives the bits of [`Fit::expectation`].
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
/// let mut statistics = BlockStatistics::new(TableBuffer::new([Table::new("sum", 1, 1)], [0.0])?);
///
/// // Three batches in two blocks, read from wherever they are.
/// let batches = [(0, vec![1.0, 2.0]), (0, vec![3.0]), (1, vec![4.0])].map(Ok::<_, std::io::Error>);
/// let free_energy = expectation_by_blocks(&Mean(2.0), batches, &mut statistics)?;
/// assert_eq!((free_energy, statistics.buffer()), (3.0, &[10.0][..]));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
/// [`BlockError::Expectation`], [`BlockError::Read`], [`BlockError::Reduction`], [`BlockError::Stopped`]. The statistics are then
/// no longer to be used before they are cleared.
pub fn expectation_by_blocks<B, M: Fit<B>, R>(
    model: &M,
    batches: impl IntoIterator<Item = Result<(usize, B), R>>,
    statistics: &mut BlockStatistics<M::Statistics>,
) -> Result<f64, BlockError<M::Error, R>> {
    let mut expectation = statistics.begin();
    for batch in batches {
        let (block, batch) = batch.map_err(BlockError::Read)?;
        expectation.add(model, block, &batch)?;
    }
    Ok(expectation.finish()?)
}
