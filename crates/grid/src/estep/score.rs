//! Scores: `s_tk = log p_k + Σ_z c_tz (log h_kz - log r_z)`, a tile's windows at once.

use countgrid_counts::{Bags, Count};
use countgrid_math::{Kernel, Level, Real, fold_lanes};

use super::{Source, blocks::Blocks};

/// Reads a tile from end to end if many bags will: memory gives lines in sequence several times as fast as in the
/// order of the bags' features.
#[inline(always)]
pub(super) fn prefetch_tile<T: Real>(tile: &[T], bags: usize) {
    const MANY: usize = 32;
    if bags >= MANY {
        let mut first = T::zero();
        for line in tile.chunks_exact(T::LANES) {
            first += line[0];
        }
        core::hint::black_box(first);
    }
}

/// `log p + Σ_z c_z (log h_z - log r_z)` in the lanes of some tiles.
#[inline(always)]
pub(super) fn score<T: Real, C: Count, const N: usize>(
    tiles: [&[T]; N],
    entries: impl Iterator<Item = (usize, C)>,
) -> [T::Lanes; N] {
    // As tables of one length, so that one test of a row serves all of them.
    let tables = tiles.map(T::rows);
    let rows = tables.iter().map(|table| table.len()).min().unwrap_or(0);
    let tables = tables.map(|table| table.get(..rows).unwrap_or_default());
    let mut scores = [T::lanes(); N];
    for (scores, table) in scores.iter_mut().zip(&tables) {
        if let Some(prior) = table.first() {
            *scores = *prior;
        }
    }
    for (feature, count) in entries {
        let count = count.to_real::<T>();
        for (scores, table) in scores.iter_mut().zip(&tables) {
            let Some(row) = table.get(1 + feature) else { continue };
            scores.as_mut().iter_mut().zip(row.as_ref()).for_each(|(s, &log_h)| *s += count * log_h);
        }
    }
    scores
}

/// The largest lane that is a number; -inf if none is.
#[inline(always)]
pub(crate) fn peak<T: Real>(mut lanes: T::Lanes) -> T {
    for lane in lanes.as_mut() {
        *lane = if *lane > T::neg_infinity() { *lane } else { T::neg_infinity() };
    }
    fold_lanes::<T>(lanes, |a, b| if a > b { a } else { b })
}

/// Scores all bags in the tiles of a quad: blocks are `[bag][tile of the quad]`.
pub(super) struct ScoreQuad<'a, T, B> {
    pub(super) source: Source<'a, T, B>,
    pub(super) tile: usize, // the first
    pub(super) bags: usize,
    pub(super) blocks: Blocks<'a, T>,
}

impl<T: Real, B: Bags> Kernel for ScoreQuad<'_, T, B> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(mut self) {
        let width = self.blocks.len() / self.bags.max(1); // tiles of this quad
        // Two tiles stay in cache together, and a bag's counts are read once for both.
        for first in (0..width).step_by(2) {
            let tile = self.tile + first;
            if width - first >= 2 {
                self.score([self.source.tile(tile), self.source.tile(tile + 1)], first, width);
            } else {
                self.score([self.source.tile(tile)], first, width);
            }
        }
    }
}

impl<T: Real, B: Bags> ScoreQuad<'_, T, B> {
    #[inline(always)]
    fn score<const N: usize>(&mut self, tiles: [&[T]; N], first: usize, width: usize) {
        let source = self.source;
        let lanes = T::LANES;
        tiles.iter().for_each(|tile| prefetch_tile(tile, self.bags));
        let blocks = self.blocks.scores.chunks_exact_mut((width * lanes).max(1));
        for (bag, (blocks, peaks)) in blocks.zip(self.blocks.peaks.chunks_exact_mut(width.max(1))).enumerate()
        {
            let scores = score(tiles, source.entries(bag));
            let blocks = blocks.chunks_exact_mut(lanes).zip(peaks).skip(first);
            for ((block, block_peak), scores) in blocks.zip(scores) {
                block.copy_from_slice(scores.as_ref());
                *block_peak = peak::<T>(scores);
            }
        }
    }
}
