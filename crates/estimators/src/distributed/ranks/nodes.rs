//! Which nodes of the tree of leaves a rank adds up, and to whom they go.

use std::ops::Range;

use countgrid_em::{BLOCK_BAGS, PartialSum, Reduction};
use countgrid_io::ModelFile;

use super::communicator::{Communicator, unreachable};
use crate::{
    DistributedError, EstimatorError, Stored,
    distributed::{
        leaves::NodeSums,
        sums::{read_node, write_node},
    },
};

/// The rows of each rank: as few for the rank with the most as there can be, and whole leaves. Of the borders that allow this they are
/// those with the largest nodes of the tree on their right, so that few sums go from rank to rank. Ranks that are more than needed have
/// none.
///
/// ```
/// use countgrid_estimators::distributed::rows_of_ranks;
/// let leaf = countgrid_em::BLOCK_BAGS;
/// assert_eq!(rows_of_ranks(40_000, 2), [0..2 * leaf, 2 * leaf..40_000]);
/// assert_eq!(rows_of_ranks(100, 3), [0..100, 100..100, 100..100]);
/// ```
#[must_use]
pub fn rows_of_ranks(rows: usize, ranks: usize) -> Vec<Range<usize>> {
    let leaves = rows.div_ceil(BLOCK_BAGS);
    let most = leaves.div_ceil(ranks.max(1));
    let mut first = 0;
    let leaves_of = (1..=ranks).map(|rank| {
        // Ranks that follow take the most they can.
        let least = leaves.saturating_sub((ranks - rank).saturating_mul(most)).max(first);
        let last = leaves.min(first + most);
        // The last rank with leaves may end anywhere; else a multiple of a power of two, from the largest.
        let end = if last == leaves { leaves } else { roundest(least.max(1), last) };
        std::mem::replace(&mut first, end)..end
    });
    leaves_of.map(|own| rows.min(own.start * BLOCK_BAGS)..rows.min(own.end * BLOCK_BAGS)).collect()
}

/// Of the numbers from `least` to `last` the one that is a multiple of the largest power of two.
fn roundest(least: usize, last: usize) -> usize {
    // All below the highest digit in which `last` and the number before `least` differ.
    match (least.saturating_sub(1) ^ last).checked_ilog2() {
        Some(digit) => last >> digit << digit,
        None => last,
    }
}

/// The largest node of the tree that begins with leaf `first`, the largest that begins where this one ends, and so on up to `end`, where
/// the last may go beyond it; the node of leaf 0 is the root. Of the leaves of one rank these are the nodes whose parents begin on
/// other ranks.
fn largest_nodes(first: usize, end: usize, leaves: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = first;
    std::iter::from_fn(move || {
        (next < end).then(|| {
            let first = next;
            next = if first == 0 { leaves } else { (first + (1 << first.trailing_zeros())).min(leaves) };
            first..next
        })
    })
}

/// Where the leaves of each rank begin, and their number.
#[derive(Clone, Debug)]
pub(super) struct Borders(pub(super) Vec<usize>);

impl Borders {
    pub(super) fn leaves(&self) -> usize {
        self.0.last().copied().unwrap_or(0)
    }

    /// The leaves of a rank.
    pub(super) fn of(&self, rank: usize) -> Range<usize> {
        let border = |at: usize| self.0.get(at).copied().unwrap_or(self.leaves());
        border(rank)..border(rank + 1)
    }

    /// The rank that has a leaf.
    pub(super) fn owner(&self, leaf: usize) -> usize {
        self.0.partition_point(|&first| first <= leaf).saturating_sub(1)
    }
}

/// Adds up the sums of all ranks in the tree. A node belongs to the rank that has its first leaf: this rank receives what is missing of
/// its nodes from the ranks with later leaves, and sends those whose parents are of others to these. The rank with leaf 0 has the sum
/// in the end.
///
/// Every rank receives before it sends, both from the last node to the first: so messages have one order on all ranks, and none waits
/// for itself. A rank that fails sends messages without bytes instead, as does whoever receives one; these have no sums either, and
/// no error.
pub(super) fn reduce<T: Stored>(
    communicator: &impl Communicator,
    borders: &Borders,
    own: Vec<PartialSum<NodeSums<T>>>,
) -> Result<Option<PartialSum<NodeSums<T>>>, EstimatorError> {
    let (leaves, own_leaves) = (borders.leaves(), borders.of(communicator.rank()));
    let nodes: Vec<_> = largest_nodes(own_leaves.start, own_leaves.end, leaves).collect();
    let end = nodes.last().map_or(own_leaves.end, |node| node.end);
    let awaited: Vec<_> = largest_nodes(own_leaves.end, end, leaves).collect();
    let (mut parts, mut failed, mut incomplete) = (own, None, false);
    for node in awaited.into_iter().rev() {
        let bytes = communicator.receive(borders.owner(node.start)).map_err(unreachable)?;
        match (bytes.is_empty(), failed.is_some()) {
            (true, _) => incomplete = true,
            (false, true) => {}
            (false, false) => match from_bytes(&bytes).and_then(|part| expect(part, &node)) {
                Ok(part) => parts.push(part),
                Err(error) => failed = Some(error),
            },
        }
    }
    parts.sort_by_key(PartialSum::first_block);
    let mut parts = parts.into_iter().peekable();
    let mut sums = Vec::with_capacity(nodes.len());
    for node in &nodes {
        if failed.is_some() || incomplete {
            break;
        }
        let inside = std::iter::from_fn(|| parts.next_if(|part| part.first_block() < node.end));
        match sum(node, inside) {
            Ok(sum) => sums.push(sum),
            Err(error) => failed = Some(error),
        }
    }
    if sums.len() < nodes.len() {
        sums.clear();
    }
    for node in nodes.iter().rev().filter(|node| node.start > 0) {
        let bytes = sums.pop().map_or_else(|| Ok(Vec::new()), |sum| to_bytes(&sum));
        let bytes = bytes.unwrap_or_else(|error| {
            failed.get_or_insert(error);
            Vec::new()
        });
        let parent = node.start & (node.start - 1);
        communicator.send(borders.owner(parent), &bytes).map_err(unreachable)?;
    }
    failed.map_or(Ok(sums.pop()), Err)
}

/// The sum of a node from those of its parts, in order.
fn sum<T: Stored>(
    node: &Range<usize>,
    parts: impl Iterator<Item = PartialSum<NodeSums<T>>>,
) -> Result<PartialSum<NodeSums<T>>, EstimatorError> {
    let mut reduction = Reduction::from_block(node.start);
    for part in parts {
        reduction.push_part(part)?;
    }
    expect(reduction.finish()?.ok_or(DistributedError::Nothing)?, node)
}

/// The sum of a node, if it is this one.
fn expect<T: Stored>(
    part: PartialSum<NodeSums<T>>,
    node: &Range<usize>,
) -> Result<PartialSum<NodeSums<T>>, EstimatorError> {
    let (first, blocks) = (part.first_block(), part.blocks());
    if (first, blocks) == (node.start, node.len()) {
        return Ok(part);
    }
    let problem =
        format!("{blocks} leaves from leaf {first} on, and not leaves {} to {}", node.start, node.end - 1);
    Err(DistributedError::Communication { problem }.into())
}

pub(super) fn to_bytes<T: Stored>(node: &PartialSum<NodeSums<T>>) -> Result<Vec<u8>, EstimatorError> {
    let mut file = ModelFile::default();
    write_node(node, &mut file);
    Ok(file.to_bytes()?)
}

pub(super) fn from_bytes<T: Stored>(bytes: &[u8]) -> Result<PartialSum<NodeSums<T>>, EstimatorError> {
    let mut file = ModelFile::from_bytes(bytes)?;
    let table = file.tables.pop().ok_or(DistributedError::Nothing)?;
    read_node(table, &file.metadata)
}

#[cfg(test)]
mod tests {
    use countgrid_em::Reduction;
    use proptest::prelude::*;

    use super::*;
    use crate::distributed::{leaves::node_sums, ranks::ThreadRank};

    type Node = PartialSum<NodeSums<f32>>;

    /// Sums of leaves whose total depends on the order of additions.
    fn leaf(number: usize) -> (NodeSums<f32>, f64) {
        let x = (number as f32 + 1.0).sqrt();
        (node_sums(vec![x, 1.0 / x, x * 1e7]).unwrap(), (number as f64 + 0.1).ln())
    }

    fn parts(leaves: Range<usize>) -> Reduction<NodeSums<f32>> {
        let mut parts = Reduction::from_block(leaves.start);
        for (sums, free_energy) in leaves.map(leaf) {
            parts.push(sums, free_energy).unwrap();
        }
        parts
    }

    /// What every rank has after a reduction, in which one rank may have failed before, and the nodes that were sent.
    fn on_threads(borders: &Borders, failing: Option<usize>) -> Vec<Result<Option<Node>, EstimatorError>> {
        let group = ThreadRank::group(borders.0.len() - 1);
        std::thread::scope(|scope| {
            let ranks = group.into_iter().map(|communicator| {
                scope.spawn(move || {
                    let rank = communicator.rank();
                    let mut own = parts(borders.of(rank)).into_parts();
                    if failing == Some(rank) {
                        own.pop();
                    }
                    reduce(&communicator, borders, own)
                })
            });
            ranks.collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }

    fn borders() -> impl Strategy<Value = Borders> {
        (1..40_usize, prop::collection::vec(0..40_usize, 0..7)).prop_map(|(leaves, cuts)| {
            let mut borders: Vec<_> =
                cuts.into_iter().map(|cut| cut.min(leaves)).chain([0, leaves]).collect();
            borders.sort_unstable();
            Borders(borders)
        })
    }

    proptest! {
        #[test]
        fn the_sum_has_the_bits_of_one_machine_with_any_ranks(borders in borders()) {
            let whole = parts(0..borders.leaves()).finish().unwrap();
            for (rank, sum) in on_threads(&borders, None).into_iter().enumerate() {
                let expected = if rank == borders.owner(0) { whole.clone() } else { None };
                prop_assert_eq!(sum.unwrap(), expected);
            }
        }

        #[test] // and no rank waits for another for ever
        fn a_rank_that_fails_is_the_only_one_with_an_error((borders, failing) in (borders(), 0..8_usize)) {
            let failing = failing % (borders.0.len() - 1);
            let without = borders.of(failing).is_empty();
            for (rank, sum) in on_threads(&borders, Some(failing)).into_iter().enumerate() {
                prop_assert_eq!(sum.is_err(), rank == failing && !without);
                prop_assert_eq!(matches!(sum, Ok(Some(_))), without && rank == borders.owner(0));
            }
        }

        #[test]
        fn each_node_that_is_awaited_is_sent_there(borders in borders()) {
            let leaves = borders.leaves();
            let (mut sent, mut awaited) = (Vec::new(), Vec::new());
            for rank in 0..borders.0.len() - 1 {
                let own = borders.of(rank);
                let nodes: Vec<_> = largest_nodes(own.start, own.end, leaves).collect();
                let to = nodes.iter().filter(|node| node.start > 0);
                sent.extend(to.map(|node| (borders.owner(node.start & (node.start - 1)), node.clone())));
                let end = nodes.last().map_or(own.end, |node| node.end);
                awaited.extend(largest_nodes(own.end, end, leaves).map(|node| (rank, node)));
            }
            let order = |(rank, node): &(usize, Range<usize>)| (node.start, *rank);
            sent.sort_by_key(order);
            awaited.sort_by_key(order);
            prop_assert_eq!(sent, awaited);
        }

        #[test]
        fn rows_of_ranks_are_all_rows_in_whole_leaves((rows, ranks) in (0..2_000_000_usize, 1..60_usize)) {
            let own = rows_of_ranks(rows, ranks);
            prop_assert_eq!(own.len(), ranks);
            let mut next = 0;
            let most = rows.div_ceil(BLOCK_BAGS).div_ceil(ranks) * BLOCK_BAGS;
            for rows_of_rank in &own {
                prop_assert_eq!(rows_of_rank.start, next);
                prop_assert!(rows_of_rank.end == rows || rows_of_rank.end % BLOCK_BAGS == 0);
                prop_assert!(rows_of_rank.len() <= most);
                next = rows_of_rank.end;
            }
            prop_assert_eq!(next, rows);
        }
    }

    #[test]
    fn borders_are_multiples_of_the_largest_powers_of_two() {
        let leaves = |leaves, ranks| {
            rows_of_ranks(leaves * BLOCK_BAGS, ranks)
                .iter()
                .map(|rows| rows.end / BLOCK_BAGS)
                .collect::<Vec<_>>()
        };
        assert_eq!(leaves(10, 4), [2, 4, 7, 10]);
        assert_eq!(leaves(13, 3), [4, 8, 13]);
        assert_eq!(leaves(3, 4), [1, 2, 3, 3]);
        assert_eq!(leaves(8, 4), [2, 4, 6, 8]);
    }

    #[test]
    fn a_part_of_other_leaves_is_refused() {
        let part = parts(2..4).into_parts().remove(0);
        let error = expect(part, &(4..6)).unwrap_err();
        assert_eq!(error.to_string(), "between ranks: 2 leaves from leaf 2 on, and not leaves 4 to 5");
    }
}
