//! Which blocks may hold a window within the threshold of the bag's best, by bounds and without scoring them.

use countgrid_counts::Bags;
use countgrid_em::parallel::{Rows, for_each};
use countgrid_math::{Kernel, Level, Real, dispatch};

use super::{
    Source, Tempering,
    blocks::{Blocks, from_index, starts_from_counts, whole},
    score::{peak, prefetch_tile, score},
};

/// What is known of every bag before its blocks are scored.
pub(super) struct Candidates<'a, T> {
    pub(super) marks: &'a mut [T], // [tile][bag], bounds; -inf where no window can be alive
    pub(super) stride: usize,      // bags of a row of marks, of which the chunk may take fewer
    pub(super) tops: &'a mut [T], // ascending, `tile stride + bag` of every bag and the tile of its largest bound
    pub(super) best: &'a mut [T], // [bag], the best score in that tile
    pub(super) top_scores: &'a mut [T], // [top][lane], all scores in that tile
}

impl<T: Real> Candidates<'_, T> {
    /// Finds the blocks to score, and how many of the bags have room for theirs. Returns bags and blocks; `starts`
    /// `[tile]` becomes the first block of every tile.
    ///
    /// A tile's bound is the score of the largest entry of each of its rows. Rounding never turns an order around,
    /// and both sums round in the same places, so no score exceeds the bound; and what the bound shows to be below
    /// the threshold of any score of the bag, is.
    pub(super) fn find<B: Bags>(
        &mut self,
        source: Source<'_, T, B>,
        tempering: Tempering<T>,
        capacity: usize,
        starts: &mut [T],
    ) -> (usize, usize) {
        /// Bags whose bounds are compared at a time.
        const STRIPE: usize = 256;
        let (tiles, bags) = (source.tiles, self.stride);
        for_each(source.bounds.div_ceil(2), Rows::new(self.marks, 2 * T::LANES * bags), |pair, marks| {
            dispatch(Bounds { first: tiles + 2 * pair, source, bags, marks: marks.elements });
        });
        let bounds = &*self.marks;
        let stripes = (Rows::new(self.tops, STRIPE), Rows::new(self.best, STRIPE));
        for_each(bags.div_ceil(STRIPE), stripes, |stripe, (tops, best)| {
            dispatch(Tops { bounds, bags, first: stripe * STRIPE, tops: tops.elements, best: best.elements });
        });
        self.sort_tops(starts);
        // The best score of the most promising tile is a lower bound of the best there is, nearly always itself.
        let tops = &*self.tops;
        for_each(bags.div_ceil(STRIPE), Rows::new(self.top_scores, STRIPE * T::LANES), |stripe, scores| {
            dispatch(TopScores { source, bags, tops, first: stripe * STRIPE, scores: scores.elements });
        });
        dispatch(BestOfTop { tops, top_scores: self.top_scores, bags, best: self.best });
        let mut fit = bags;
        loop {
            let best = self.best.get(..fit).unwrap_or_default();
            for_each(tiles, (Rows::new(self.marks, bags), Rows::new(starts, 1)), |_, (marks, count)| {
                let alive = dispatch(Survivors { marks: marks.elements, best, tempering });
                count.elements.fill(from_index(alive));
            });
            let blocks = starts.iter().map(|&count| whole(count)).sum::<usize>();
            if blocks <= capacity {
                return (fit, starts_from_counts(starts));
            }
            fit = (fit / 2).max(1); // one bag fits, alive as it may be everywhere
        }
    }

    /// Brings bags with the same tile together, so that each tile is fetched once: from each bag's tile to the keys, by
    /// counting. `counts` `[tile]`.
    fn sort_tops(&mut self, counts: &mut [T]) {
        counts.fill(T::zero());
        for &tile in &*self.tops {
            if let Some(count) = counts.get_mut(whole(tile)) {
                *count += T::one();
            }
        }
        starts_from_counts(counts);
        let sorted = self.top_scores.get_mut(..self.stride).unwrap_or_default(); // not yet in use
        for (bag, &tile) in self.tops.iter().enumerate() {
            if let Some(next) = counts.get_mut(whole(tile)) {
                if let Some(key) = sorted.get_mut(whole(*next)) {
                    *key = from_index(whole(tile) * self.stride + bag);
                }
                *next += T::one();
            }
        }
        self.tops.iter_mut().zip(&*sorted).for_each(|(top, &key)| *top = key);
    }

    /// Scores the blocks of one tile.
    pub(super) fn score<B: Bags>(&self, source: Source<'_, T, B>, tile: usize, blocks: Blocks<'_, T>) {
        let marks = self.marks.chunks_exact(self.stride.max(1)).nth(tile).unwrap_or_default();
        let (tops, top_scores) = (&*self.tops, &*self.top_scores);
        dispatch(ScoreMarked { source, tile, marks, tops, top_scores, blocks });
    }
}

/// Bounds that lie in two tiles of bounds, a lane for each tile that they bound, for all bags.
struct Bounds<'a, T, B> {
    first: usize,
    source: Source<'a, T, B>,
    bags: usize,
    marks: &'a mut [T], // [tile][bag], as many as are left
}

impl<T: Real, B: Bags> Kernel for Bounds<'_, T, B> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let (first, second) = (self.source.tile(self.first), self.source.tile(self.first + 1));
        if self.marks.len() > T::LANES * self.bags {
            self.find([first, second]);
        } else {
            self.find([first]);
        }
    }
}

impl<T: Real, B: Bags> Bounds<'_, T, B> {
    #[inline(always)]
    fn find<const N: usize>(self, tables: [&[T]; N]) {
        tables.iter().for_each(|table| prefetch_tile(table, self.bags));
        for bag in 0..self.bags {
            let bounds = score(tables, self.source.entries(bag));
            let bounds = bounds.iter().flat_map(|bounds| bounds.as_ref());
            for (marks, &bound) in self.marks.chunks_exact_mut(self.bags.max(1)).zip(bounds) {
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
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        self.tops.fill(T::zero());
        self.best.fill(T::neg_infinity());
        for (tile, bounds) in self.bounds.chunks_exact(self.bags.max(1)).enumerate() {
            let tile = from_index::<T>(tile);
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
    bags: usize,
    tops: &'a [T], // of the chunk
    first: usize,
    scores: &'a mut [T], // [top][lane]
}

impl<T: Real, B: Bags> Kernel for TopScores<'_, T, B> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let Self { source, bags, tops, first, scores } = self;
        let tile_of = |&key: &T| whole(key) / bags.max(1);
        let (mut tops, mut scores) = (tops.get(first..).unwrap_or_default(), scores);
        while let Some(tile) = tops.first().map(tile_of) {
            let same = tops.partition_point(|key| tile_of(key) <= tile).min(scores.len() / T::LANES);
            if same == 0 {
                return; // the end of the stripe
            }
            let (Some((keys, others)), Some((rows, rest))) =
                (tops.split_at_checked(same), scores.split_at_mut_checked(same * T::LANES))
            else {
                return;
            };
            let table = source.tile(tile);
            prefetch_tile(table, same);
            for (row, &key) in rows.chunks_exact_mut(T::LANES).zip(keys) {
                let [scores] = score::<T, _, 1>([table], source.entries(whole(key) - tile * bags));
                row.copy_from_slice(scores.as_ref());
            }
            (tops, scores) = (others, rest);
        }
    }
}

/// The best score of every bag in its most promising tile.
struct BestOfTop<'a, T> {
    tops: &'a [T],
    top_scores: &'a [T], // [top][lane]
    bags: usize,
    best: &'a mut [T], // [bag]
}

impl<T: Real> Kernel for BestOfTop<'_, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        for (row, &key) in T::rows(self.top_scores).iter().zip(self.tops) {
            if let Some(best) = self.best.get_mut(whole(key) % self.bags.max(1)) {
                *best = peak::<T>(*row);
            }
        }
    }
}

/// Counts the bags that may be alive in a tile and strikes out the others.
struct Survivors<'a, T> {
    marks: &'a mut [T], // [bag]
    best: &'a [T],      // [bag]
    tempering: Tempering<T>,
}

impl<T: Real> Kernel for Survivors<'_, T> {
    type Output = usize;
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) -> usize {
        let mut alive = 0u32; // of fewer than 2^24 bags in f32; in f64 chunks are no longer in practice
        for (mark, &best) in self.marks.iter_mut().zip(self.best) {
            let survives = self.tempering.is_alive(*mark, best);
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
    marks: &'a [T], // [bag]
    tops: &'a [T],
    top_scores: &'a [T], // [top][lane]
    blocks: Blocks<'a, T>,
}

impl<T: Real, B: Bags> Kernel for ScoreMarked<'_, T, B> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let (lanes, mut bag) = (T::LANES, 0);
        let table = self.source.tile(self.tile);
        let Blocks { scores, peaks, owners, .. } = self.blocks;
        prefetch_tile(table, peaks.len());
        let key_of = |bag| self.tile * self.marks.len() + bag;
        let mut top = self.tops.partition_point(|&key| whole(key) < key_of(0));
        for ((block, block_peak), owner) in scores.chunks_exact_mut(lanes).zip(peaks).zip(owners) {
            while self.marks.get(bag).is_some_and(|&mark| mark == T::neg_infinity()) {
                bag += 1;
            }
            while self.tops.get(top).is_some_and(|&key| whole(key) < key_of(bag)) {
                top += 1;
            }
            let scores;
            if self.tops.get(top) == Some(&from_index(key_of(bag)))
                && let Some(known) = T::rows(self.top_scores).get(top)
            {
                scores = *known;
            } else {
                [scores] = score([table], self.source.entries(bag));
            }
            block.copy_from_slice(scores.as_ref());
            *block_peak = peak::<T>(scores);
            *owner = from_index(bag);
            bag += 1;
        }
    }
}
