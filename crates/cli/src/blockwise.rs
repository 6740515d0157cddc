//! A grid that is fitted to bags in blocks, or to mini-batches of them.

use std::ops::Range;

use countgrid_counts::{Bags, Csr, CsrBuf};
use countgrid_em::{Anneal, Fit, Learn};
use countgrid_grid::{GridError, Learner, Statistics};
use countgrid_math::{AlignedVec, Real};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::{
    failure::Failure,
    fit::Tables,
    layout::AXES,
    store::{Storable, Store, foreign},
};

/// A learner whose E-step goes over the blocks of a [`Store`] in order.
///
/// Each block is a batch of its own, in memory and in a file alike: its expected counts are added to those of the
/// blocks before, and the free energy is the sum of the blocks' free energies, in `f64` and in order. Hence the same
/// bits wherever the blocks are, whatever a model does within a batch.
pub(crate) struct Blockwise<T> {
    pub(crate) learner: Learner<T, AlignedVec<T>, AXES>,
    /// Whether no thread reads ahead.
    pub(crate) single_block: bool,
}

impl<T: Real> Blockwise<T> {
    pub(crate) fn into_tables(self) -> Tables<T> {
        self.learner.into_parts()
    }

    fn add<B: Bags>(
        &self,
        bags: &B,
        first: usize,
        statistics: &mut Statistics<T, AlignedVec<T>, AXES>,
    ) -> Result<f64, Failure> {
        Ok(self.learner.expectation(bags, statistics).map_err(|error| match error {
            GridError::Overflow { bag } => GridError::Overflow { bag: first + bag },
            error => error,
        })?)
    }
}

impl<T: Real> Learn for Blockwise<T> {
    type Statistics = Statistics<T, AlignedVec<T>, AXES>;
    type Error = Failure;

    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), Failure> {
        Ok(self.learner.maximization(statistics)?)
    }

    fn penalty(&self) -> f64 {
        self.learner.penalty()
    }
}

impl<T: Real> Anneal for Blockwise<T> {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.learner.set_inverse_temperature(beta);
    }
}

impl<T: Real + Storable> Fit<Store<T>> for Blockwise<T> {
    fn expectation(&self, bags: &Store<T>, statistics: &mut Self::Statistics) -> Result<f64, Failure> {
        let mut free_energy = 0.0;
        bags.each(self.single_block, |first, block| {
            free_energy += self.add(&block, first, statistics)?;
            Ok::<_, Failure>(())
        })?;
        Ok(free_energy)
    }
}

/// A mini-batch, unless it could not be read.
pub(crate) type MiniBatch<T> = Result<CsrBuf<T>, Failure>;

impl<T: Real + Storable> Fit<MiniBatch<T>> for Blockwise<T> {
    fn expectation(&self, batch: &MiniBatch<T>, statistics: &mut Self::Statistics) -> Result<f64, Failure> {
        match batch {
            Ok(bags) => self.add(bags, 0, statistics),
            Err(failure) => Err(failure.duplicate()),
        }
    }
}

/// The mini-batches of one pass over the bags, with their shares of them.
///
/// Blocks come in a random order, and the bags of each in a random order of their own: of bags that fit into one
/// block, every order is as likely. Mini-batches go on from one block to the next and differ by one bag at most.
pub(crate) struct MiniBatches<'a, T> {
    bags: &'a Store<T>,
    blocks: Vec<usize>, // still to come, the next one last
    loaded: usize,
    buffer: Option<CsrBuf<T>>, // for blocks that are not in memory
    order: Vec<usize>,         // bags of the present block still to come, the next one last
    rng: ChaCha8Rng,
    next: usize,
    count: usize,
}

impl<'a, T: Real + Storable> MiniBatches<'a, T> {
    /// A pass in mini-batches of so many bags, as nearly as can be.
    pub(crate) fn new(bags: &'a Store<T>, size: usize, rng: &mut impl Rng) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(rng.next_u64());
        let mut blocks: Vec<usize> = (0..bags.blocks().len()).collect();
        shuffle(&mut blocks, &mut rng);
        let count = number(bags.len(), size);
        Self { bags, blocks, loaded: 0, buffer: None, order: Vec::new(), rng, next: 0, count }
    }

    fn fill(&mut self, bags: usize) -> MiniBatch<T> {
        let mut batch = CsrBuf::new(self.bags.features()).map_err(foreign)?;
        while batch.len() < bags {
            if self.order.is_empty() {
                let Some(block) = self.blocks.pop() else { break };
                self.loaded = block;
                let buffer = match &mut self.buffer {
                    Some(buffer) => buffer,
                    None => self.buffer.insert(CsrBuf::new(self.bags.features()).map_err(foreign)?),
                };
                let bags = self.bags.load(block, buffer)?.map_or(0, |block| block.len());
                self.order.extend(0..bags);
                shuffle(&mut self.order, &mut self.rng);
                continue;
            }
            let block: Option<Csr<'_, T>> = self.bags.loaded(self.loaded, self.buffer.as_ref());
            let missing = bags - batch.len();
            let some = self.order.split_off(self.order.len().saturating_sub(missing));
            for bag in some {
                let entries = block.iter().flat_map(|block| block.entries(bag));
                batch.push_bag(entries).map_err(foreign)?;
            }
        }
        Ok(batch)
    }
}

impl<T: Real + Storable> Iterator for MiniBatches<'_, T> {
    type Item = (MiniBatch<T>, f64);

    fn next(&mut self) -> Option<Self::Item> {
        let bags = part(self.bags.len(), self.count, self.next)?;
        self.next += 1;
        let share = bags.len() as f64 / self.bags.len() as f64;
        Some((self.fill(bags.len()), share))
    }
}

/// How many mini-batches of about so many bags there are.
pub(crate) fn number(bags: usize, size: usize) -> usize {
    bags.div_ceil(size.max(1))
}

/// The bags of one of so many parts that differ by one at most.
fn part(bags: usize, parts: usize, index: usize) -> Option<Range<usize>> {
    let start = |index: usize| (bags as u128 * index as u128 / parts.max(1) as u128) as usize;
    (index < parts).then(|| start(index)..start(index + 1))
}

/// Puts items in a random order, each as likely as any other (Fisher and Yates).
fn shuffle(order: &mut [usize], rng: &mut impl Rng) {
    for last in (1..order.len()).rev() {
        let below = last as u128 + 1; // of 2⁶⁴ words, so one place is more likely than another by 2⁻⁶⁴ at most
        order.swap(last, ((u128::from(rng.next_u64()) * below) >> 64) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{both, some};

    type Contents = Vec<Vec<(usize, f32)>>;

    fn pass(store: &Store<f32>, size: usize, seed: u64) -> Vec<Contents> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut shares = 0.0;
        let batches: Vec<Contents> = MiniBatches::new(store, size, &mut rng)
            .map(|(batch, share)| {
                shares += share;
                let batch = batch.unwrap();
                (0..batch.len()).map(|bag| batch.entries(bag).collect()).collect()
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

    #[test]
    fn every_order_is_as_likely() {
        let mut counts = std::collections::BTreeMap::new();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..24_000 {
            let mut order = [0, 1, 2, 3];
            shuffle(&mut order, &mut rng);
            *counts.entry(order).or_insert(0u32) += 1;
        }
        // Five standard deviations of 24,000 throws at 1/24: 5 sqrt(1000 * 23/24).
        assert_eq!(counts.len(), 24);
        assert!(counts.values().all(|&n| n.abs_diff(1_000) < 155), "{counts:?}");
    }
}
