use std::ops::Range;

use countgrid_counts::{Bags, Csr, CsrBuf};
use countgrid_math::{index_below, shuffle};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::{Blocks, CorpusError, Storable};

/// A mini-batch: some bags of a pass, with their share of all bags.
///
/// Example: [`MiniBatches`](crate::MiniBatches).
#[derive(Clone, Debug, PartialEq)]
pub struct MiniBatch<C> {
    /// The bags, at least one.
    pub bags: CsrBuf<C>,
    /// Their number, divided by that of all bags.
    pub share: f64,
}

/// The mini-batches of one pass over the bags, with their shares of them.
///
/// Blocks come in a random order, and the bags of each in a random order of their own: of bags that fit into one
/// block, every order is as likely. Mini-batches go on from one block to the next and differ by one bag at most.
///
/// ```
/// use countgrid_corpus::{BlockLimits, BlocksBuilder, MiniBatches};
/// use countgrid_counts::Bags;
/// let mut builder = BlocksBuilder::new(3, BlockLimits::default())?;
/// for t in 0..5 {
///     builder.push([(t % 3, 1.0_f32)])?;
/// }
/// let bags = builder.finish()?;
/// let mut sizes = Vec::new();
/// for batch in MiniBatches::new(&bags, 2, 7) {
///     sizes.push(batch?.bags.len());
/// }
/// assert_eq!(sizes, [1, 2, 2]);
/// # Ok::<(), countgrid_corpus::CorpusError>(())
/// ```
#[derive(Debug)]
pub struct MiniBatches<'a, C> {
    bags: &'a Blocks<C>,
    cursor: MiniBatchCursor<C>,
}

impl<'a, C: Storable> MiniBatches<'a, C> {
    /// A pass in mini-batches of `size` bags, as nearly as can be, in an order that follows from `seed`.
    #[must_use]
    pub fn new(bags: &'a Blocks<C>, size: usize, seed: u64) -> Self {
        Self { bags, cursor: MiniBatchCursor::new(bags, size, seed) }
    }
}

impl<C: Storable> Iterator for MiniBatches<'_, C> {
    type Item = Result<MiniBatch<C>, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.cursor.next(self.bags)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.cursor.left(), Some(self.cursor.left()))
    }
}

/// The position in a pass of [`MiniBatches`]; takes the bags as an argument for every mini-batch rather than borrow them.
#[derive(Clone, Debug)]
pub struct MiniBatchCursor<C> {
    blocks: Vec<usize>, // still to come, the next one last
    loaded: usize,
    buffer: Option<CsrBuf<C>>, // for blocks that are not in memory
    order: Vec<usize>,         // bags of the present block still to come, the next one last
    rng: ChaCha8Rng,
    next: usize,
    count: usize,
}

impl<C: Storable> MiniBatchCursor<C> {
    /// Before the first mini-batch of [`MiniBatches::new`].
    #[must_use]
    pub fn new(bags: &Blocks<C>, size: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut blocks: Vec<usize> = (0..bags.blocks().len()).collect();
        shuffle(&mut blocks, |n| index_below(rng.next_u64(), n));
        let count = mini_batch_count(bags.len(), size);
        Self { blocks, loaded: 0, buffer: None, order: Vec::new(), rng, next: 0, count }
    }

    /// The next mini-batch of the bags that the cursor was made for; `None` after the last.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    #[allow(clippy::should_implement_trait, reason = "an iterator has no argument")]
    pub fn next(&mut self, bags: &Blocks<C>) -> Option<Result<MiniBatch<C>, CorpusError>> {
        let range = part(bags.len(), self.count, self.next)?;
        self.next += 1;
        let share = range.len() as f64 / bags.len() as f64;
        Some(self.fill(bags, range.len()).map(|bags| MiniBatch { bags, share }))
    }

    /// Mini-batches that are still to come.
    #[must_use]
    pub fn left(&self) -> usize {
        self.count.saturating_sub(self.next)
    }

    fn fill(&mut self, all: &Blocks<C>, bags: usize) -> Result<CsrBuf<C>, CorpusError> {
        let mut batch = CsrBuf::new(all.features())?;
        while batch.len() < bags {
            if self.order.is_empty() {
                let Some(block) = self.blocks.pop() else { break };
                self.loaded = block;
                let buffer = match &mut self.buffer {
                    Some(buffer) => buffer,
                    None => self.buffer.insert(CsrBuf::new(all.features())?),
                };
                let bags = all.load(block, buffer)?.map_or(0, |block| block.len());
                self.order.extend(0..bags);
                shuffle(&mut self.order, |n| index_below(self.rng.next_u64(), n));
                continue;
            }
            let block: Option<Csr<'_, C>> = all.loaded(self.loaded, self.buffer.as_ref());
            let missing = bags - batch.len();
            let some = self.order.split_off(self.order.len().saturating_sub(missing));
            for bag in some {
                batch.push_bag(block.iter().flat_map(|block| block.entries(bag)))?;
            }
        }
        Ok(batch)
    }
}

impl<C: Storable> ExactSizeIterator for MiniBatches<'_, C> {}

/// How many mini-batches of about `size` bags a pass over `bags` bags has.
///
/// ```
/// assert_eq!(countgrid_corpus::mini_batch_count(5, 2), 3);
/// ```
#[must_use]
pub fn mini_batch_count(bags: usize, size: usize) -> usize {
    bags.div_ceil(size.max(1))
}

/// The bags of one of so many parts that differ by one at most.
fn part(bags: usize, parts: usize, index: usize) -> Option<Range<usize>> {
    let start = |index: usize| (bags as u128 * index as u128 / parts.max(1) as u128) as usize;
    (index < parts).then(|| start(index)..start(index + 1))
}

#[cfg(all(test, feature = "files"))]
mod tests {
    use super::*;
    use crate::blocks::tests::{both, some};

    type Contents = Vec<Vec<(usize, f32)>>;

    fn pass(blocks: &Blocks<f32>, size: usize, seed: u64) -> Vec<Contents> {
        let mut shares = 0.0;
        let batches = MiniBatches::new(blocks, size, seed);
        assert_eq!(batches.len(), mini_batch_count(blocks.len(), size));
        let batches: Vec<Contents> = batches
            .map(|batch| {
                let MiniBatch { bags, share } = batch.unwrap();
                shares += share;
                (0..bags.len()).map(|bag| bags.entries(bag).collect()).collect()
            })
            .collect();
        assert!((shares - 1.0f64).abs() < 1e-12);
        batches
    }

    #[test]
    fn a_pass_meets_every_bag_once_in_an_order_that_follows_from_the_seed() {
        for full in [(10, 5), (1 << 20, 1 << 17)] {
            let bags = some(100);
            let [memory, file] = both(20, &bags, full);
            for (size, count) in [(1, 100), (7, 15), (99, 2), (100, 1), (1_000, 1)] {
                let found = pass(&memory, size, 3);
                assert_eq!(found, pass(&file, size, 3));
                assert_eq!(found.len(), count);
                assert!(
                    found
                        .iter()
                        .all(|batch| batch.len() == 100 / count || batch.len() == 100_usize.div_ceil(count))
                );
                let flat: Contents = found.into_iter().flatten().collect();
                assert_ne!(flat, bags);
                let sorted = |mut bags: Contents| {
                    bags.sort_by(|a, b| a.partial_cmp(b).unwrap());
                    bags
                };
                assert_eq!(sorted(flat.clone()), sorted(bags.clone()));
                assert_ne!(flat, pass(&memory, size, 4).into_iter().flatten().collect::<Contents>());
            }
        }
    }
}
