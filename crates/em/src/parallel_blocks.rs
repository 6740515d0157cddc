//! Blocks on threads.

use std::{
    sync::{Mutex, PoisonError},
    vec::Vec,
};

use crate::{BlockError, Fit, ReductionError, TablesMutExt};

/// The E-step of blocks in memory, one on each thread, for models whose own E-step runs on one: the bits of
/// [`expectation_by_blocks`](crate::expectation_by_blocks) with any number of threads. Adds to the statistics and returns the free energy, in nats.
///
/// Each thread needs up to `log2(blocks) + 1` statistics. They are taken from `spare`, or from `allocate` if there are none, and
/// left in `spare` for the next E-step.
///
/// # Errors
/// [`BlockError::Expectation`] of the first block of those that the model refused, [`BlockError::Reduction`]. The statistics
/// are then no longer to be used before they are cleared.
pub fn expectation_of_blocks_in_parallel<B, M, A>(
    model: &M,
    blocks: &[B],
    statistics: &mut M::Statistics,
    spare: &mut Vec<M::Statistics>,
    allocate: A,
) -> Result<f64, BlockError<M::Error>>
where
    B: Sync,
    M: Fit<B> + Sync,
    M::Statistics: Send,
    M::Error: Send,
    A: FnMut() -> Result<M::Statistics, M::Error> + Send,
{
    if blocks.is_empty() {
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
    sum_node(model, blocks, 0, statistics, &empty, &release)
}

/// Adds the statistics of a node to `sums`, its left child's first.
fn sum_node<B, M>(
    model: &M,
    blocks: &[B],
    first: usize,
    sums: &mut M::Statistics,
    empty: &(impl Fn(usize) -> Result<M::Statistics, BlockError<M::Error>> + Sync),
    release: &(impl Fn(M::Statistics) + Sync),
) -> Result<f64, BlockError<M::Error>>
where
    B: Sync,
    M: Fit<B> + Sync,
    M::Statistics: Send,
    M::Error: Send,
{
    if let [block] = blocks {
        return model
            .expectation(block, sums)
            .map_err(|error| BlockError::Expectation { block: first, error });
    }
    let middle = blocks.len().next_power_of_two() / 2; // below the number of blocks
    let (left, right) = blocks.split_at(middle);
    let (left, right) = rayon::join(
        || sum_node(model, left, first, sums, empty, release),
        || {
            let mut sums = empty(first + middle)?;
            let free_energy = sum_node(model, right, first + middle, &mut sums, empty, release)?;
            Ok::<_, BlockError<M::Error>>((sums, free_energy))
        },
    );
    let (free_energy, (right, added)) = (left?, right?);
    sums.merge(&right).map_err(ReductionError::Tables)?;
    release(right);
    Ok(free_energy + added)
}
