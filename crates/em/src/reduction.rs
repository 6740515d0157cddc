//! The one order in which statistics of blocks are added up.

use alloc::vec::Vec;
use core::fmt;

use crate::{TablesError, TablesExt, TablesMut, TablesMutExt};

/// Bags of a block, the leaf of the tree in which statistics are added up.
///
/// Within a block sums are in the order of bags, so a collection of up to 16,384 bags, which is one block, has the sums of
/// a plain E-step. Bag `t` is in block `t / BLOCK_BAGS`.
pub const BLOCK_BAGS: usize = 1 << 14;

/// Why statistics of blocks cannot be added up.
///
/// Example: [`PartialSum`](crate::PartialSum).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum ReductionError {
    /// Blocks that no node of the tree covers: none, more than can be counted, or beginning elsewhere than at a multiple of
    /// the power of two that holds them.
    NotANode { first_block: usize, blocks: usize },
    /// Two sums that are not children of one node, left and right.
    NotSiblings { left_first: usize, left_blocks: usize, right_first: usize, right_blocks: usize },
    /// A block, or a part that begins with one, that is not the next.
    Order { expected: usize, found: usize },
    /// Statistics of another shape.
    Tables(TablesError),
    /// There is no memory for the sums of one more node.
    Memory { elements: usize },
}

impl fmt::Display for ReductionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotANode { first_block, blocks } => {
                write!(f, "{blocks} blocks from block {first_block} on are no subtree of the tree of blocks")
            }
            Self::NotSiblings { left_first, left_blocks, right_first, right_blocks } => write!(
                f,
                "{left_blocks} blocks from block {left_first} on and {right_blocks} from block {right_first} on \
                 are not the two children of one node of the tree of blocks"
            ),
            Self::Order { expected, found } => write!(f, "block {found} where block {expected} is the next"),
            Self::Tables(error) => error.fmt(f),
            Self::Memory { elements } => write!(f, "{elements} numbers do not fit into memory"),
        }
    }
}

impl core::error::Error for ReductionError {}

impl From<TablesError> for ReductionError {
    fn from(error: TablesError) -> Self {
        Self::Tables(error)
    }
}

/// Statistics and free energy of the blocks below one node of the tree, computed here or elsewhere.
///
/// The tree is that of the binary digits of block numbers: blocks `2 i` and `2 i + 1` are siblings, then pairs of pairs. At
/// the end of the data a node has fewer blocks than a power of two.
///
/// ```
/// use countgrid_em::{PartialSum, ReductionError, Table, TableBuffer, Tables};
/// let sums = |x| TableBuffer::new([Table::new("sum", 1, 1)], [x]);
/// let mut left = PartialSum::of_block(2, sums(1.0_f64)?, 10.0);
/// left.merge(&PartialSum::of_block(3, sums(2.0)?, 20.0))?;
/// assert_eq!((left.first_block(), left.blocks(), left.free_energy()), (2, 2, 30.0));
/// assert_eq!(left.statistics().buffer(), [3.0]);
///
/// // Blocks 1 and 2 are neighbours, but not children of one node.
/// let mut other = PartialSum::of_block(1, sums(1.0)?, 1.0);
/// let error = other.merge(&PartialSum::of_block(2, sums(1.0)?, 1.0)).unwrap_err();
/// assert!(matches!(error, ReductionError::NotSiblings { left_first: 1, .. }));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct PartialSum<S> {
    first_block: usize, // a multiple of the power of two at or above `blocks`
    blocks: usize,      // at least 1
    statistics: S,
    free_energy: f64,
}

impl<S> PartialSum<S> {
    /// Statistics and free energy, in nats, of one block.
    pub fn of_block(block: usize, statistics: S, free_energy: f64) -> Self {
        Self { first_block: block, blocks: 1, statistics, free_energy }
    }

    /// The sums of `blocks` blocks from `first_block` on, computed elsewhere.
    ///
    /// # Errors
    /// [`ReductionError::NotANode`] unless a node of the tree has these blocks.
    pub fn new(
        first_block: usize,
        blocks: usize,
        statistics: S,
        free_energy: f64,
    ) -> Result<Self, ReductionError> {
        let wide = blocks.checked_next_power_of_two().filter(|_| blocks > 0);
        match wide {
            Some(wide) if first_block.is_multiple_of(wide) && first_block.checked_add(blocks).is_some() => {
                Ok(Self { first_block, blocks, statistics, free_energy })
            }
            _ => Err(ReductionError::NotANode { first_block, blocks }),
        }
    }

    /// The first block.
    pub fn first_block(&self) -> usize {
        self.first_block
    }
    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }
    /// Sums over the bags of these blocks.
    pub fn statistics(&self) -> &S {
        &self.statistics
    }
    /// Free energy of these bags, in nats.
    pub fn free_energy(&self) -> f64 {
        self.free_energy
    }
    /// The sums, given back.
    pub fn into_statistics(self) -> S {
        self.statistics
    }

    fn end(&self) -> usize {
        self.first_block.saturating_add(self.blocks)
    }
    fn is_left_of<R>(&self, right: &PartialSum<R>) -> bool {
        self.blocks.is_power_of_two()
            && self.first_block & self.blocks == 0 // a left child
            && right.first_block == self.end()
            && right.blocks <= self.blocks
    }
}

impl<S: TablesMut> PartialSum<S> {
    /// Adds the right sibling: blocks that follow these, as many, or fewer where they are the last.
    ///
    /// # Errors
    /// [`ReductionError::NotSiblings`], [`ReductionError::Tables`]; nothing is then added.
    pub fn merge<R: TablesMut<Scalar = S::Scalar>>(
        &mut self,
        right: &PartialSum<R>,
    ) -> Result<(), ReductionError> {
        if !self.is_left_of(right) {
            return Err(ReductionError::NotSiblings {
                left_first: self.first_block,
                left_blocks: self.blocks,
                right_first: right.first_block,
                right_blocks: right.blocks,
            });
        }
        self.statistics.merge(&right.statistics)?;
        self.free_energy += right.free_energy;
        self.blocks += right.blocks;
        Ok(())
    }

    /// As [`PartialSum::merge`], but into the right sibling. Addition is commutative, so these are the same bits.
    pub(crate) fn merge_left<L: TablesMut<Scalar = S::Scalar>>(
        &mut self,
        left: &PartialSum<L>,
    ) -> Result<(), ReductionError> {
        if !left.is_left_of(self) {
            return Err(ReductionError::NotSiblings {
                left_first: left.first_block,
                left_blocks: left.blocks,
                right_first: self.first_block,
                right_blocks: self.blocks,
            });
        }
        self.statistics.merge(&left.statistics)?;
        self.free_energy += left.free_energy;
        self.first_block = left.first_block;
        self.blocks += left.blocks;
        Ok(())
    }
}

/// Adds up statistics of blocks, one after the other, in the fixed binary tree of [`PartialSum`].
///
/// Two sums are added as soon as they are siblings with all of their blocks, as digits carry in a binary counter; in the
/// end those that remain are added from the smallest to the largest. So at most `log2(blocks) + 1` sums are kept, and the
/// result does not depend on where each was computed.
///
/// ```
/// use countgrid_em::{Reduction, Table, TableBuffer, Tables};
/// // (1 + 1e16) + (-1e16 + 1) in floating point; one after the other these have the sum 1.
/// let mut reduction = Reduction::new();
/// for x in [1.0_f64, 1e16, -1e16, 1.0] {
///     let sums = TableBuffer::new([Table::new("sum", 1, 1)], [x])?;
///     reduction.push(sums, 0.5)?;
/// }
/// let total = reduction.finish()?.ok_or("four blocks")?;
/// assert_eq!((total.blocks(), total.free_energy()), (4, 2.0));
/// assert_eq!(total.statistics().buffer(), [0.0]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "sums are given back by `finish` or `into_parts`"]
pub struct Reduction<S> {
    next_block: usize,
    sums: Vec<PartialSum<S>>, // consecutive, none of them siblings with all of their blocks
    spare: Vec<S>,
}

impl<S: TablesMut> Default for Reduction<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: TablesMut> Reduction<S> {
    /// Before block 0.
    pub fn new() -> Self {
        Self::from_block(0)
    }
    /// Before another block, where the blocks before it are added up elsewhere; pass on [`Reduction::into_parts`].
    pub fn from_block(first_block: usize) -> Self {
        Self { next_block: first_block, sums: Vec::new(), spare: Vec::new() }
    }
    /// The block that comes next.
    #[must_use]
    pub fn next_block(&self) -> usize {
        self.next_block
    }
    /// A statistics object that is no longer needed, with whatever it holds.
    pub fn take_spare(&mut self) -> Option<S> {
        self.spare.pop()
    }

    /// Adds the next block.
    ///
    /// # Errors
    /// Those of [`Reduction::push_part`].
    pub fn push(&mut self, statistics: S, free_energy: f64) -> Result<(), ReductionError> {
        self.push_part(PartialSum::of_block(self.next_block, statistics, free_energy))
    }

    /// Adds the next blocks, which were added up elsewhere.
    ///
    /// # Errors
    /// [`ReductionError::Order`]; [`ReductionError::NotSiblings`] after a part with fewer blocks than a power of two, which
    /// is the last; [`ReductionError::Tables`]. The sums are then as they were.
    pub fn push_part(&mut self, part: PartialSum<S>) -> Result<(), ReductionError> {
        if part.first_block != self.next_block {
            return Err(ReductionError::Order { expected: self.next_block, found: part.first_block });
        }
        if let Some(last) = self.sums.last() {
            if !last.blocks.is_power_of_two() {
                return Err(ReductionError::NotSiblings {
                    left_first: last.first_block,
                    left_blocks: last.blocks,
                    right_first: part.first_block,
                    right_blocks: part.blocks,
                });
            }
            last.statistics.check_shape(&part.statistics)?;
        }
        self.next_block = part.end();
        let mut part = part;
        while let Some(mut left) = self.sums.pop() {
            if left.blocks != part.blocks || !left.is_left_of(&part) {
                self.sums.push(left);
                break;
            }
            left.merge(&part)?;
            self.spare.push(part.statistics);
            part = left;
        }
        self.sums.push(part);
        Ok(())
    }

    /// The sums so far, each of as many blocks as a node has, in order.
    #[must_use]
    pub fn into_parts(self) -> Vec<PartialSum<S>> {
        self.sums
    }

    /// The sum of all blocks; `None` if there are none.
    ///
    /// # Errors
    /// [`ReductionError::NotSiblings`] if the blocks began elsewhere than at block 0, and no node has them all.
    pub fn finish(mut self) -> Result<Option<PartialSum<S>>, ReductionError> {
        let Some(mut total) = self.sums.pop() else { return Ok(None) };
        while let Some(left) = self.sums.pop() {
            total.merge_left(&left)?;
        }
        Ok(Some(total))
    }
}

/// Adds up parts that were computed elsewhere, in whatever order they have arrived; `None` if there are none.
///
/// ```
/// use countgrid_em::{PartialSum, Table, TableBuffer, Tables, merge_parts};
/// let part = |first, blocks, x| {
///     let sums = TableBuffer::new([Table::new("sum", 1, 1)], [x]).map_err(|_| "one element")?;
///     PartialSum::new(first, blocks, sums, 1.0).map_err(|_| "a node")
/// };
/// let total = merge_parts(vec![part(4, 1, 0.25)?, part(0, 2, 1.0)?, part(2, 2, 0.5)?])?.ok_or("three parts")?;
/// assert_eq!((total.blocks(), total.statistics().buffer()), (5, &[1.75][..]));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
/// [`ReductionError::Order`] if a block is missing, or there twice; those of [`Reduction::push_part`].
pub fn merge_parts<S: TablesMut>(
    mut parts: Vec<PartialSum<S>>,
) -> Result<Option<PartialSum<S>>, ReductionError> {
    parts.sort_by_key(|part| part.first_block);
    let mut reduction = Reduction::new();
    for part in parts {
        reduction.push_part(part)?;
    }
    reduction.finish()
}
