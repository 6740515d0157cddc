//! Blocks on threads.

use core::ops::Range;
use std::{
    sync::{Mutex, PoisonError},
    vec::Vec,
};

use crate::{BlockError, BlockSource, Fit, ReductionError, Stop, TablesMutExt, block_source::block};

/// The E-step of blocks in memory, one on each thread, for models whose own E-step runs on one: the bits of
/// [`expectation_by_blocks`](crate::expectation_by_blocks) with any number of threads. Adds to the statistics and returns the
/// free energy, in nats. [`ParallelByBlocks`](crate::ParallelByBlocks) is this for the loops of the crate.
///
/// Each thread needs up to `log2(blocks) + 1` statistics. They are taken from `spare`, or from `allocate` if there are none, and
/// left in `spare` for the next E-step.
///
/// # Errors
/// [`BlockError::Expectation`] of the first block of those that the model refused, [`BlockError::Reduction`]. The statistics
/// are then no longer to be used before they are cleared.
pub fn expectation_of_blocks_in_parallel<D, M, A>(
    model: &M,
    data: &D,
    statistics: &mut M::Statistics,
    spare: &mut Vec<M::Statistics>,
    allocate: A,
) -> Result<f64, BlockError<M::Error>>
where
    D: BlockSource + Sync + ?Sized,
    M: Fit<D::Block> + Sync,
    M::Statistics: Send,
    M::Error: Send,
    A: FnMut() -> Result<M::Statistics, M::Error> + Send,
{
    expectation_until_stopped(model, data, statistics, spare, allocate, &Stop::new())
}

/// The same, which asks `stop` before every block.
pub(crate) fn expectation_until_stopped<D, M, A>(
    model: &M,
    data: &D,
    statistics: &mut M::Statistics,
    spare: &mut Vec<M::Statistics>,
    allocate: A,
    stop: &Stop,
) -> Result<f64, BlockError<M::Error>>
where
    D: BlockSource + Sync + ?Sized,
    M: Fit<D::Block> + Sync,
    M::Statistics: Send,
    M::Error: Send,
    A: FnMut() -> Result<M::Statistics, M::Error> + Send,
{
    let blocks = data.block_count();
    if blocks == 0 {
        return Ok(0.0);
    }
    let pool = Mutex::new((spare, allocate));
    let empty = |block| {
        let (spare, allocate) = &mut *pool.lock().unwrap_or_else(PoisonError::into_inner);
        match spare.pop() {
            Some(mut statistics) => {
                statistics.clear();
                Ok(statistics)
            }
            None => allocate().map_err(|error| BlockError::Expectation { block, error }),
        }
    };
    let release = |statistics| pool.lock().unwrap_or_else(PoisonError::into_inner).0.push(statistics);
    sum_node(model, data, 0..blocks, statistics, stop, &empty, &release)
}

/// Adds the statistics of a node to `sums`, its left child's first.
fn sum_node<D, M>(
    model: &M,
    data: &D,
    blocks: Range<usize>, // at least one
    sums: &mut M::Statistics,
    stop: &Stop,
    empty: &(impl Fn(usize) -> Result<M::Statistics, BlockError<M::Error>> + Sync),
    release: &(impl Fn(M::Statistics) + Sync),
) -> Result<f64, BlockError<M::Error>>
where
    D: BlockSource + Sync + ?Sized,
    M: Fit<D::Block> + Sync,
    M::Statistics: Send,
    M::Error: Send,
{
    let (first, count) = (blocks.start, blocks.len());
    if stop.is_requested() {
        return Err(BlockError::Stopped { block: first });
    }
    if count <= 1 {
        return model
            .expectation(block(data, first)?, sums)
            .map_err(|error| BlockError::Expectation { block: first, error });
    }
    let middle = first + count.next_power_of_two() / 2; // below the end
    let (left, right) = rayon::join(
        || sum_node(model, data, first..middle, sums, stop, empty, release),
        || {
            let mut sums = empty(middle)?;
            let free_energy = sum_node(model, data, middle..blocks.end, &mut sums, stop, empty, release)?;
            Ok::<_, BlockError<M::Error>>((sums, free_energy))
        },
    );
    let (free_energy, (right, added)) = (left?, right?);
    sums.merge(&right).map_err(ReductionError::Tables)?;
    release(right);
    Ok(free_energy + added)
}
