//! Scores of all windows, of which only those stay that are within the threshold of the best one so far.

use countgrid_counts::Bags;
use countgrid_em::parallel::{Rows, for_each, threads};
use countgrid_math::{Kernel, Level, Real, dispatch};

use super::{
    Source, Tempering,
    blocks::{Blocks, UniformBlocks, from_index, starts_from_counts, whole},
    score::{peak, prefetch_tile, score},
};

/// Groups of consecutive tiles, each with a running maximum of its own, so that threads need not ask each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    pub(super) count: usize,
    tiles: usize, // of a group, even
}

impl Groups {
    /// A single one.
    pub(super) fn one(tiles: usize) -> Self {
        Self { count: 1, tiles }
    }

    /// Tiles of all groups, the last filled up.
    pub(super) fn slots(self) -> usize {
        self.count * self.tiles
    }

    /// One for each thread.
    pub(super) fn new(tiles: usize) -> Self {
        let count = threads().min(tiles.div_ceil(2)).max(1);
        let tiles_each = (tiles.div_ceil(2).div_ceil(count) * 2).max(1);
        Self { count: tiles.div_ceil(tiles_each), tiles: tiles_each }
    }
}

/// Room for a chunk.
pub(super) struct Workspace<'a, T> {
    pub(super) best: &'a mut [T], // [group][bag]; the first row becomes the best scores
    pub(super) used: &'a mut [T], // [group]
    pub(super) spare: Blocks<'a, T>, // [group][bag]
    pub(super) blocks: Blocks<'a, T>, // equally many of each group
}

impl<T: Real> Workspace<'_, T> {
    /// Scores the bags, or fewer if the blocks that stay have no room. Returns bags, blocks, and how many blocks had
    /// to have room; `starts` `[tile]` becomes the first block of every tile.
    pub(super) fn score<B: Bags>(
        &mut self,
        source: Source<'_, T, B>,
        tempering: Tempering<T>,
        groups: Groups,
        starts: &mut [T],
    ) -> (usize, usize, usize) {
        let stride = self.best.len() / groups.count.max(1);
        let capacity = self.blocks.len() / groups.count.max(1);
        let mut bags = stride;
        loop {
            self.best.fill(T::neg_infinity());
            let blocks = (
                UniformBlocks { blocks: self.blocks.reborrow(), size: capacity },
                UniformBlocks { blocks: self.spare.reborrow(), size: stride },
            );
            let rows = (
                Rows::new(&mut *self.best, stride),
                Rows::new(&mut *starts, groups.tiles),
                Rows::new(&mut *self.used, 1),
            );
            for_each(groups.count, (blocks, rows), |group, ((blocks, spare), (best, counts, used))| {
                let (tile, counts) = (group * groups.tiles, counts.elements);
                let best = best.elements.get_mut(..bags).unwrap_or_default();
                let (blocks, spare) = (blocks.blocks, spare.blocks);
                let found = dispatch(ScoreRunning { source, tile, tempering, best, counts, spare, blocks });
                used.elements.fill(from_index(found));
            });
            if self.used.iter().all(|&used| whole(used) <= capacity) {
                break;
            }
            bags = (bags / 2).max(1); // one bag fits, alive as it may be everywhere
        }
        if let Some((best, others)) = self.best.split_at_mut_checked(stride) {
            for row in others.chunks_exact(stride.max(1)) {
                best.iter_mut().zip(row).for_each(|(best, &x)| *best = if x > *best { x } else { *best });
            }
        }
        let seen = self.used.iter().map(|&used| whole(used)).max().unwrap_or(0) * groups.count;
        self.compact(tempering, groups, capacity, starts);
        (bags, starts_from_counts(starts), seen)
    }

    /// Moves blocks to the front, without those that a later score has put below the threshold.
    fn compact(&mut self, tempering: Tempering<T>, groups: Groups, capacity: usize, counts: &mut [T]) {
        let Blocks { scores, peaks, owners, .. } = &mut self.blocks;
        let mut next = 0;
        for (group, counts) in counts.chunks_mut(groups.tiles.max(1)).enumerate() {
            let mut block = group * capacity;
            for count in counts {
                let (first, end) = (next, block + whole(*count));
                while block < end {
                    if let (Some(&peak), Some(&owner)) = (peaks.get(block), owners.get(block))
                        && self.best.get(whole(owner)).is_some_and(|&best| tempering.is_alive(peak, best))
                    {
                        move_row::<T>(scores, block, next);
                        if let (Some(to_peak), Some(to_owner)) = (peaks.get_mut(next), owners.get_mut(next)) {
                            (*to_peak, *to_owner) = (peak, owner);
                        }
                        next += 1;
                    }
                    block += 1;
                }
                *count = from_index(next - first);
            }
        }
    }
}

/// Copies a row to one that does not come after it.
fn move_row<T: Real>(rows: &mut [T], from: usize, to: usize) {
    let Some((before, rest)) = rows.split_at_mut_checked(from * T::LANES) else { return };
    let to = before.get_mut(to * T::LANES..(to + 1) * T::LANES).unwrap_or_default(); // none if it is the same
    to.iter_mut().zip(&*rest).for_each(|(to, &x)| *to = x);
}

/// Scores all bags in the tiles of a group. Returns how many blocks stayed, or would have with more room.
struct ScoreRunning<'a, T, B> {
    source: Source<'a, T, B>,
    tile: usize, // the first
    tempering: Tempering<T>,
    best: &'a mut [T],   // [bag]
    counts: &'a mut [T], // [tile], blocks that stayed
    spare: Blocks<'a, T>,
    blocks: Blocks<'a, T>,
}

impl<T: Real, B: Bags> Kernel for ScoreRunning<'_, T, B> {
    type Output = usize;
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(mut self) -> usize {
        let mut used = 0;
        // Two tiles stay in cache together, and a bag's counts are read once for both.
        for first in (0..self.counts.len()).step_by(2) {
            let tile = self.tile + first;
            let found = if self.counts.len() - first >= 2 {
                self.score([self.source.tile(tile), self.source.tile(tile + 1)], used)
            } else {
                let [found] = self.score([self.source.tile(tile)], used);
                [found, 0]
            };
            for (count, found) in self.counts.iter_mut().skip(first).zip(found) {
                *count = from_index(found);
                used += found;
            }
        }
        used
    }
}

impl<T: Real, B: Bags> ScoreRunning<'_, T, B> {
    /// Scores tiles together: the first one's blocks go to where they belong, the second's come after them.
    #[inline(always)]
    fn score<const N: usize>(&mut self, tiles: [&[T]; N], used: usize) -> [usize; N] {
        let (source, tempering, mut found) = (self.source, self.tempering, [0; N]);
        tiles.iter().for_each(|tile| prefetch_tile(tile, self.best.len()));
        for (bag, best) in self.best.iter_mut().enumerate() {
            let scores = score(tiles, source.entries(bag));
            for ((n, scores), found) in scores.into_iter().enumerate().zip(&mut found) {
                // Most blocks are not, and the maximum of lanes takes several times as long to find.
                let alive = |any: bool, &score: &T| any | tempering.is_alive(score, *best);
                if scores.as_ref().iter().fold(false, alive) {
                    let peak = peak::<T>(scores);
                    *best = if peak > *best { peak } else { *best };
                    let (blocks, first) =
                        if n == 0 { (&mut self.blocks, used) } else { (&mut self.spare, 0) };
                    blocks.put(first + *found, scores.as_ref(), peak, bag);
                    *found += 1;
                }
            }
        }
        if let [first, second] = found[..] {
            self.blocks.append(used + first, &self.spare, second);
        }
        found
    }
}
