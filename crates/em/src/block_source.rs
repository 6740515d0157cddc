//! Data that are in memory, in blocks.

use alloc::vec::Vec;
use core::num::NonZeroUsize;

use crate::{BLOCK_BAGS, ReductionError};

/// Data that fall apart into blocks, each a batch of [`Fit`](crate::Fit): what [`ByBlocks`](crate::ByBlocks) and
/// [`ParallelByBlocks`](crate::ParallelByBlocks) are fitted to.
///
/// Implemented by slices and vectors, whose elements are the blocks, and by [`Chunks`], which cut a slice of data.
///
/// ```
/// use countgrid_em::{BlockSource, Chunks};
/// let batches = [vec![1.0, 2.0], vec![3.0]];
/// assert_eq!((batches[..].block_count(), batches[..].block(1)), (2, Some(&vec![3.0])));
/// ```
pub trait BlockSource {
    /// A block, the batch of a model.
    type Block: ?Sized;
    /// Number of blocks.
    fn block_count(&self) -> usize;
    /// A block by its number, from 0; `None` from [`BlockSource::block_count`] on.
    fn block(&self, number: usize) -> Option<&Self::Block>;
}

impl<B> BlockSource for [B] {
    type Block = B;

    fn block_count(&self) -> usize {
        self.len()
    }
    fn block(&self, number: usize) -> Option<&B> {
        self.get(number)
    }
}

impl<B> BlockSource for Vec<B> {
    type Block = B;

    fn block_count(&self) -> usize {
        self.len()
    }
    fn block(&self, number: usize) -> Option<&B> {
        self.get(number)
    }
}

/// A slice of data in blocks of a fixed number of them, the last of which may have fewer: for models that are fitted to `[X]`.
///
/// ```
/// use core::num::NonZeroUsize;
/// use countgrid_em::{BLOCK_BAGS, BlockSource, Chunks};
/// let data = [1.0, 2.0, 3.0];
/// assert_eq!(Chunks::new(&data).block(0), Some(&data[..])); // fewer than `BLOCK_BAGS`
/// let pairs = Chunks::with_len(&data, NonZeroUsize::new(2).ok_or("two are some")?);
/// assert_eq!((pairs.block_count(), pairs.block(1)), (2, Some(&[3.0][..])));
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Debug)]
pub struct Chunks<'a, X> {
    data: &'a [X],
    len: NonZeroUsize,
}

impl<X> Clone for Chunks<'_, X> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<X> Copy for Chunks<'_, X> {}

impl<'a, X> Chunks<'a, X> {
    /// Blocks of [`BLOCK_BAGS`] data, which are those of every collection in this workspace: the sums of blocks have the same
    /// bits wherever these are computed.
    pub const fn new(data: &'a [X]) -> Self {
        const LEN: NonZeroUsize = match NonZeroUsize::new(BLOCK_BAGS) {
            Some(len) => len,
            None => NonZeroUsize::MIN,
        };
        Self { data, len: LEN }
    }
    /// Blocks of `len` data: more and shorter ones keep more threads busy. Another `len` is another order of additions, and may
    /// give other last bits.
    pub const fn with_len(data: &'a [X], len: NonZeroUsize) -> Self {
        Self { data, len }
    }
    /// All data.
    #[must_use]
    pub const fn data(&self) -> &'a [X] {
        self.data
    }
}

impl<X> BlockSource for Chunks<'_, X> {
    type Block = [X];

    fn block_count(&self) -> usize {
        self.data.len().div_ceil(self.len.get())
    }
    fn block(&self, number: usize) -> Option<&[X]> {
        let rest = self.data.get(number.checked_mul(self.len.get())?..)?;
        rest.chunks(self.len.get()).next()
    }
}

/// A block that there is.
pub(crate) fn block<D: BlockSource + ?Sized>(data: &D, number: usize) -> Result<&D::Block, ReductionError> {
    data.block(number).ok_or(ReductionError::NotANode { first_block: number, blocks: 0 })
}
