//! Which blocks may hold a window within the cut of the bag's best: bounds tell, without scoring them.

use countgrid_counts::Bags;
use countgrid_math::{Kernel, Real, dispatch};

use super::{
    Heat, Source,
    blocks::{Blocks, kept, starts_from_counts, whole},
    score::{peak, score, warm},
};
use crate::parallel::{Rows, each};

/// What is known of every bag before its blocks are scored.
pub(super) struct Candidates<'a, T> {
    pub(super) marks: &'a mut [T], // [tile][bag], bounds; -inf where no window can be alive
    pub(super) stride: usize,      // bags of a row of marks, of which the chunk may take fewer
    pub(super) tops: &'a mut [T],  // [bag], the tile of the largest bound
    pub(super) best: &'a mut [T],  // [bag], the best score in that tile
    pub(super) top_scores: &'a mut [T], // [bag][lane], all scores in that tile
}

impl<T: Real> Candidates<'_, T> {
    /// Finds the blocks to score, and how many of the bags have room for theirs. Returns bags and blocks; `starts`
    /// `[tile]` becomes the first block of every tile.
    ///
    /// A tile's bound is the score of the largest entry of each of its rows. Rounding never turns an order around,
    /// and both sums round in the same places, so no score exceeds the bound; and what the bound shows to be below
    /// the cut of any score of the bag, is.
    pub(super) fn find<B: Bags>(
        &mut self,
        source: Source<'_, T, B>,
        heat: Heat<T>,
        capacity: usize,
        starts: &mut [T],
    ) -> (usize, usize) {
        /// Bags whose bounds are compared at a time.
        const STRIPE: usize = 256;
        let (tiles, bags) = (source.tiles, self.stride);
        each(source.bounds, Rows::new(self.marks, T::LANES * bags), |group, marks| {
            dispatch(Bounds { table: source.tile(tiles + group), source, bags, marks: marks.table });
        });
        let bounds = &*self.marks;
        let stripes = (Rows::new(self.tops, STRIPE), Rows::new(self.best, STRIPE));
        each(bags.div_ceil(STRIPE), stripes, |stripe, (tops, best)| {
            dispatch(Tops { bounds, bags, first: stripe * STRIPE, tops: tops.table, best: best.table });
        });
        // The best score of the most promising tile is a lower bound of the best there is, nearly always itself.
        let tops = &*self.tops;
        let stripes = (Rows::new(self.top_scores, STRIPE * T::LANES), Rows::new(self.best, STRIPE));
        each(bags.div_ceil(STRIPE), stripes, |stripe, (scores, best)| {
            dispatch(TopScores {
                source,
                tops,
                first: stripe * STRIPE,
                scores: scores.table,
                best: best.table,
            });
        });
        let mut fit = bags;
        loop {
            let best = self.best.get(..fit).unwrap_or_default();
            each(tiles, (Rows::new(self.marks, bags), Rows::new(starts, 1)), |_, (marks, count)| {
                let alive = dispatch(Survivors { marks: marks.table, best, heat });
                count.table.fill(kept(alive));
            });
            let blocks = starts.iter().map(|&count| whole(count)).sum::<usize>();
            if blocks <= capacity {
                return (fit, starts_from_counts(starts));
            }
            fit = (fit / 2).max(1); // one bag fits, alive as it may be everywhere
        }
    }

    /// Scores the blocks of one tile.
    pub(super) fn score<B: Bags>(&self, source: Source<'_, T, B>, tile: usize, blocks: Blocks<'_, T>) {
        let marks = self.marks.chunks_exact(self.stride.max(1)).nth(tile).unwrap_or_default();
        let (tops, top_scores) = (&*self.tops, &*self.top_scores);
        dispatch(ScoreMarked { source, tile, marks, tops, top_scores, blocks });
    }
}

/// Bounds of the tiles of one group, a lane each, for all bags.
struct Bounds<'a, T, B> {
    table: &'a [T],
    source: Source<'a, T, B>,
    bags: usize,
    marks: &'a mut [T], // [lane][bag], as many lanes as tiles are left
}

impl<T: Real, B: Bags> Kernel for Bounds<'_, T, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        warm(self.table, self.bags);
        for bag in 0..self.bags {
            let [bounds] = score::<T, _, 1>([self.table], self.source.entries(bag));
            for (marks, &bound) in self.marks.chunks_exact_mut(self.bags.max(1)).zip(bounds.as_ref()) {
                if let Some(mark) = marks.get_mut(bag) {
                    *mark = bound;
                }
            }
        }
    }
}

/// The tile of the largest bound, for some bags; of equals the first.
struct Tops<'a, T> {
    bounds: &'a [T], // [tile][bag]
    bags: usize,
    first: usize,
    tops: &'a mut [T],
    best: &'a mut [T],
}

impl<T: Real> Kernel for Tops<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.tops.fill(T::zero());
        self.best.fill(T::neg_infinity());
        for (tile, bounds) in self.bounds.chunks_exact(self.bags.max(1)).enumerate() {
            let tile = kept::<T>(tile);
            let bounds = bounds.get(self.first..).unwrap_or_default();
            for ((top, best), &bound) in self.tops.iter_mut().zip(&mut *self.best).zip(bounds) {
                let above = bound > *best;
                *top = if above { tile } else { *top };
                *best = if above { bound } else { *best };
            }
        }
    }
}

/// Scores of some bags in their most promising tiles.
struct TopScores<'a, T, B> {
    source: Source<'a, T, B>,
    tops: &'a [T], // [bag] of the chunk
    first: usize,
    scores: &'a mut [T], // [bag][lane]
    best: &'a mut [T],   // [bag]
}

impl<T: Real, B: Bags> Kernel for TopScores<'_, T, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let tops = self.tops.get(self.first..).unwrap_or_default();
        let rows = self.scores.chunks_exact_mut(T::LANES).zip(self.best).zip(tops);
        for (bag, ((row, best), &top)) in rows.enumerate() {
            let table = self.source.tile(whole(top));
            let [scores] = score::<T, _, 1>([table], self.source.entries(self.first + bag));
            row.copy_from_slice(scores.as_ref());
            *best = peak::<T>(scores);
        }
    }
}

/// Counts the bags that may be alive in a tile and strikes out the others.
struct Survivors<'a, T> {
    marks: &'a mut [T], // [bag]
    best: &'a [T],      // [bag]
    heat: Heat<T>,
}

impl<T: Real> Kernel for Survivors<'_, T> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let mut alive = 0u32; // of fewer than 2^24 bags in f32; in f64 chunks are no longer in practice
        for (mark, &best) in self.marks.iter_mut().zip(self.best) {
            let survives = self.heat.is_alive(*mark, best);
            *mark = if survives { *mark } else { T::neg_infinity() };
            alive += u32::from(survives);
        }
        alive as usize
    }
}

/// Scores of one tile's blocks.
struct ScoreMarked<'a, T, B> {
    source: Source<'a, T, B>,
    tile: usize,
    marks: &'a [T],      // [bag]
    tops: &'a [T],       // [bag]
    top_scores: &'a [T], // [bag][lane]
    blocks: Blocks<'a, T>,
}

impl<T: Real, B: Bags> Kernel for ScoreMarked<'_, T, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (lanes, mut bag) = (T::LANES, 0);
        let (table, tile) = (self.source.tile(self.tile), kept::<T>(self.tile));
        let Blocks { scores, peaks, owners, .. } = self.blocks;
        warm(table, peaks.len());
        for ((block, block_peak), owner) in scores.chunks_exact_mut(lanes).zip(peaks).zip(owners) {
            while self.marks.get(bag).is_some_and(|&mark| mark == T::neg_infinity()) {
                bag += 1;
            }
            let known = self.top_scores.get(bag * lanes..(bag + 1) * lanes).unwrap_or_default();
            let mut scores = T::lanes();
            if self.tops.get(bag) == Some(&tile) && known.len() == lanes {
                scores.as_mut().copy_from_slice(known);
            } else {
                [scores] = score([table], self.source.entries(bag));
            }
            block.copy_from_slice(scores.as_ref());
            *block_peak = peak::<T>(scores);
            *owner = kept(bag);
            bag += 1;
        }
    }
}
