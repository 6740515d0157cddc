//! The E-step on a chunk of bags: score windows, normalise, add to the windows' counts.
//!
//! A block is a bag in a tile. Only blocks that hold a window within the threshold of the bag's best have a posterior;
//! leaving the others out changes no bit of any result. A chunk finds them in one of three ways:
//!
//! - while posteriors are flat it scores every block, and keeps them all ([`score`]);
//! - once they are sharp, bounds decide which blocks to score ([`candidates`]);
//! - without bounds it scores every block, and keeps those that a running maximum lets pass ([`running`]).
//!
//! There is never a bags-by-cells matrix, only blocks and, for bounds, bags by tiles, in the caller's scratch. Tiles
//! are the outer loop of every step, bags the middle, a bag's counts the inner, so that a tile of the table stays
//! in cache and a block in registers; and tiles are what threads share out.

mod accumulate;
mod blocks;
mod candidates;
mod exponential;
mod running;
mod score;

use countgrid_counts::Bags;
use countgrid_em::parallel::{Rows, for_each, in_pool};
use countgrid_math::{Real, dispatch, ln};

use self::{
    accumulate::Found,
    blocks::{
        Blocks, Lists, PADDING, QUAD, UniformBlocks, align, from_index, starts_from_counts, take, whole,
    },
    candidates::Candidates,
    exponential::Sums,
    running::{Groups, Workspace},
    score::ScoreQuad,
};
use crate::PosteriorThreshold;

pub(crate) use self::score::peak;

/// The exponent of an annealed posterior `q ∝ exp(β s)`, and below which score it is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tempering<T> {
    beta: T,
    threshold: T, // in units of β s
}

impl<T: Real> Tempering<T> {
    /// `β` in (0, 1]. What [`PosteriorThreshold::Rounding`] denies is at most `P exp(-threshold) = u` of the evidence.
    pub(crate) fn new(beta: T, threshold: PosteriorThreshold, cells: usize) -> Self {
        let threshold = match threshold {
            PosteriorThreshold::Rounding => ln(T::from_f64(cells as f64)) - ln(T::UNIT_ROUNDOFF),
            PosteriorThreshold::Nats(nats) => T::from_f64(nats),
            PosteriorThreshold::Off => T::infinity(),
        };
        // Padding, at -inf, is never alive.
        Self { beta, threshold: if threshold < T::max_value() { threshold } else { T::max_value() } }
    }

    /// In units of `β s`.
    pub(crate) fn threshold(&self) -> T {
        self.threshold
    }

    /// Whether a window of this score, or a tile of this bound, counts; never falls as the score rises.
    #[inline(always)]
    fn is_alive(&self, score: T, best: T) -> bool {
        self.beta * (score - best) >= -self.threshold
    }
}

/// What normalising a bag's scores gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BagPosterior<T> {
    /// `B_t` without the references: the log evidence when `β = 1`. In f64, for what is to be added to it.
    pub(crate) bound: f64,
    /// Entropy of the posterior.
    pub(crate) entropy: T,
    pub(crate) mass: T,
}

/// What a chunk reads: a packed table, of `rows` rows a tile, with its references, and the bags from `first` on. It does
/// not say how many dimensions the grid has, so that what comes of it is compiled once for all of them.
#[derive(Debug)]
pub(crate) struct Source<'a, T, B> {
    pub(crate) tiles: usize,
    pub(crate) bounds: usize, // tiles of bounds, after the others
    pub(crate) table: &'a [T],
    pub(crate) references: &'a [T], // [feature]
    pub(crate) rows: usize,
    pub(crate) bags: &'a B,
    pub(crate) first: usize,
}

impl<T, B> Clone for Source<'_, T, B> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, B> Copy for Source<'_, T, B> {}

impl<'a, T: Real, B> Source<'a, T, B> {
    /// Elements of a tile.
    fn size(&self) -> usize {
        self.rows * T::LANES
    }

    /// A tile's rows. The tiles of bounds come after the others.
    fn tile(&self, tile: usize) -> &'a [T] {
        self.table.get(tile * self.size()..(tile + 1) * self.size()).unwrap_or_default()
    }
}

impl<'a, T: Real, B: Bags> Source<'a, T, B> {
    /// Counts of a bag of the chunk.
    #[inline(always)]
    fn entries(&self, bag: usize) -> B::Entries<'a> {
        self.bags.entries(self.first + bag)
    }

    /// What a bag of the chunk has at every window: its tokens `Σ_z c_z`, and `Σ_z c_z log r_z`.
    pub(crate) fn tally(&self, bag: usize) -> [f64; 2] {
        let log_r = |feature: usize| self.references.get(feature).map_or(0.0, |&log_r| log_r.to_f64());
        self.bags.sums(self.first + bag, |feature, count| [count, count * log_r(feature)])
    }
}

/// Bags whose posteriors are computed first where nothing is known of them.
const PROBE: usize = 64;

/// How many blocks a bag has, as far as the chunks before tell. Decides in which way blocks are found and how a
/// chunk is cut, so the speed, never a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SparsityEstimate(f32);

impl SparsityEstimate {
    /// Posteriors that are spread over the whole grid.
    pub(crate) const FLAT: Self = Self(f32::INFINITY);
    /// Posteriors of a fitted grid.
    pub(crate) const SHARP: Self = Self(1.5);

    /// Whether to keep room for all blocks: half of them would be kept anyway.
    fn is_flat(self, tiles: usize) -> bool {
        self.0 > 0.5 * tiles as f32
    }

    /// Whether scoring `bounds` tiles of bounds and then what they let pass takes less time than scoring all tiles. Two
    /// tiles side by side take two thirds of the time of two alone; keeping account takes that of three.
    fn is_sharp(self, tiles: usize, bounds: usize) -> bool {
        self.0 + 3.0 < 0.7 * tiles.saturating_sub(bounds) as f32
    }

    /// Blocks to have room for a bag, if not for all.
    fn blocks(self) -> usize {
        (self.0 * 1.25) as usize + 1
    }
}

/// Elements of scratch that bounds need for a bag: marks, its top tile and the scores there, and the sums.
const fn bag_size<T: Real>(tiles: usize) -> usize {
    tiles + 4 + T::LANES
}

/// Elements of scratch for so many bags that are alive everywhere.
pub(crate) const fn scratch_len<T: Real>(tiles: usize, bags: usize) -> usize {
    let padding = PADDING * T::LANES;
    padding + tiles + (bag_size::<T>(tiles) + Blocks::<T>::SIZE * tiles).saturating_mul(bags)
}

/// The blocks of lists in the order of bags, in a bag in that of tiles.
#[derive(Debug)]
struct ByBag<'a, T> {
    ends: &'a [T],   // [1 + bag], behind the last block of each; the first is zero
    tiles: &'a [T],  // [place]
    places: &'a [T], // [place], the block
}

impl<'a, T: Real> ByBag<'a, T> {
    /// Tiles and blocks of one bag.
    fn of(&self, bag: usize) -> Option<(&'a [T], &'a [T])> {
        let (first, end) = (whole(*self.ends.get(bag)?), whole(*self.ends.get(bag + 1)?));
        Some((self.tiles.get(first..end)?, self.places.get(first..end)?))
    }
}

/// The blocks of one bag, for tiles that are asked for nearly in order.
pub(crate) struct BagBlocks<'a, T> {
    chunk: &'a Chunk<'a, T>,
    bag: usize,
    index: Option<(&'a [T], &'a [T])>, // tiles, ascending, and the blocks in them
    next: usize,                       // of the index, the first tile not before the one last asked for
}

impl<'a, T: Real> BagBlocks<'a, T> {
    /// The bag's posterior in a tile, times the bag's mass, unless it is zero there altogether.
    #[inline]
    pub(crate) fn alive(&mut self, tile: usize) -> Option<&'a [T]> {
        let block = match self.index {
            Some((tiles, blocks)) => {
                let sought = from_index::<T>(tile);
                while self.next > 0 && tiles.get(self.next - 1).is_some_and(|&before| before >= sought) {
                    self.next -= 1;
                }
                while tiles.get(self.next).is_some_and(|&before| before < sought) {
                    self.next += 1;
                }
                tiles.get(self.next).filter(|&&found| found == sought)?;
                whole(*blocks.get(self.next)?)
            }
            None => self.chunk.block(tile, self.bag)?,
        };
        self.chunk.alive(block)
    }

    /// Calls `visit(tile, lanes)` with all that [`BagBlocks::alive`] gives, in the order of tiles.
    #[inline(always)]
    pub(crate) fn for_each_alive(mut self, tiles: usize, mut visit: impl FnMut(usize, &'a [T])) {
        match self.index {
            Some((of, blocks)) => {
                for (&tile, &block) in of.iter().zip(blocks) {
                    if let Some(lanes) = self.chunk.alive(whole(block)) {
                        visit(whole(tile), lanes);
                    }
                }
            }
            None => (0..tiles).for_each(|tile| {
                if let Some(lanes) = self.alive(tile) {
                    visit(tile, lanes);
                }
            }),
        }
    }
}

/// Blocks of a few bags: scores, then posteriors times the bag's mass.
#[derive(Debug)]
pub(crate) struct Chunk<'a, T> {
    pub(crate) bags: usize,
    tempering: Tempering<T>,
    starts: Option<&'a [T]>, // [tile], a tile's first block; none if every bag has a block in every tile
    spans: &'a mut [T],      // [feature][2], room for the entries of each that belong to the chunk; or empty
    best: &'a mut [T],       // [bag]
    mass: &'a mut [T],       // [bag]
    score_moment: &'a mut [T], // [bag]
    blocks: Blocks<'a, T>,
    spare: &'a mut [T], // what lists were found with, and no longer need
    by_bag: Option<ByBag<'a, T>>,
}

impl<'a, T: Real> Chunk<'a, T> {
    /// Scores the bags from `source.first` on, at most `most` and as many as the scratch holds, and normalises
    /// them. `scratch` holds at least [`scratch_len`]`(1)` elements, `most` is at least 1.
    pub(crate) fn new<B: Bags>(
        source: Source<'_, T, B>,
        most: usize,
        tempering: Tempering<T>,
        prune: bool,
        sparsity: &mut SparsityEstimate,
        scratch: &'a mut [T],
    ) -> Self {
        in_pool(|| Self::score_chunk(source, most, tempering, prune, sparsity, scratch))
    }

    /// [`Chunk::new`] on a thread of the pool.
    fn score_chunk<B: Bags>(
        source: Source<'_, T, B>,
        most: usize,
        tempering: Tempering<T>,
        prune: bool,
        sparsity: &mut SparsityEstimate,
        scratch: &'a mut [T],
    ) -> Self {
        let tiles = source.tiles;
        let bounds = source.bounds;
        let flat = bounds == 0 || sparsity.is_flat(tiles);
        // Where nothing is known, as on a grid that was refined from a coarse one, a few bags are a sample.
        let most = if bounds > 0 && *sparsity == SparsityEstimate::FLAT { most.min(PROBE) } else { most };
        let (mut chunk, seen) = match (flat, prune && sparsity.is_sharp(tiles, bounds)) {
            (true, _) => (Self::with_all(source, most, tempering, scratch), 0),
            (false, true) => Self::with_candidates(source, most, tempering, *sparsity, scratch),
            (false, false) => Self::with_running(source, most, tempering, *sparsity, scratch),
        };
        let seen = match chunk.normalise(tiles) {
            Some(alive) => {
                if 3 * alive <= chunk.blocks.len() {
                    chunk.spans = &mut []; // by bag only what is alive is added
                }
                1.5 * alive as f32 // bounds let about half as many tiles again pass as are alive
            }
            None => seen as f32,
        };
        *sparsity = SparsityEstimate(seen / chunk.bags as f32);
        chunk
    }

    /// Whole numbers up to this are exact in the float type.
    fn exact() -> usize {
        whole(T::one() / T::UNIT_ROUNDOFF)
    }

    /// How many bags scratch serves, at least one: each takes `bag` elements and is expected to need `blocks` more.
    /// Of these as many are left as a bag takes that is alive in all `tiles`, so that the first one always has room.
    fn fitting(scratch: usize, bag: usize, blocks: usize, tiles: usize) -> usize {
        let scratch = scratch.saturating_sub(PADDING * T::LANES);
        let rest = scratch.saturating_sub(tiles * Blocks::<T>::SIZE);
        (scratch / (bag + blocks).max(1)).min(rest / bag.max(1)).min(Self::exact() / tiles.max(1)).max(1)
    }

    /// Every bag in every tile.
    fn with_all<B: Bags>(
        source: Source<'_, T, B>,
        most: usize,
        tempering: Tempering<T>,
        mut scratch: &'a mut [T],
    ) -> Self {
        let (tiles, features) = (source.tiles, source.rows - 1);
        // Counts by feature pay if many bags share a reading of them, so neither of a few bags nor in a small scratch.
        let by_feature =
            most > PROBE && source.bags.column(0).is_some() && source.bags.len() <= Self::exact();
        let spare = scratch.len().saturating_sub(scratch_len::<T>(tiles, 32.min(most)));
        let spans = if by_feature && spare >= 2 * features { 2 * features } else { 0 };
        let spans = take(&mut scratch, spans);
        let room = scratch.len().saturating_sub(PADDING * T::LANES);
        let bags = (room / (3 + tiles * Blocks::<T>::DENSE_SIZE).max(1)).min(most).max(1);
        let bags = most.div_ceil(most.div_ceil(bags).max(1)); // chunks of one size
        let [best, mass, score_moment] = [(); 3].map(|()| take(&mut scratch, bags));
        align(&mut scratch);
        let mut blocks = Blocks::take(&mut scratch, tiles * bags, false);
        let parts = UniformBlocks { blocks: blocks.reborrow(), size: QUAD * bags };
        for_each(tiles.div_ceil(QUAD), parts, |quad, part| {
            dispatch(ScoreQuad { source, tile: quad * QUAD, bags, blocks: part.blocks });
        });
        let spare = &mut [];
        Self { bags, tempering, starts: None, spans, best, mass, score_moment, blocks, spare, by_bag: None }
    }

    /// Bags in tiles whose bounds let them pass. This and the next return the scored chunk and how many blocks it needed
    /// room for.
    fn with_candidates<B: Bags>(
        source: Source<'_, T, B>,
        most: usize,
        tempering: Tempering<T>,
        sparsity: SparsityEstimate,
        mut scratch: &'a mut [T],
    ) -> (Self, usize) {
        let tiles = source.tiles;
        let starts = take(&mut scratch, tiles);
        let (bag, blocks) = (bag_size::<T>(tiles), sparsity.blocks() * Blocks::<T>::SIZE);
        let stride = Self::fitting(scratch.len(), bag, blocks, tiles).min(most);
        align(&mut scratch);
        let top_scores = take(&mut scratch, stride * T::LANES);
        let [tops, best, mass, score_moment] = [(); 4].map(|()| take(&mut scratch, stride));
        let marks = take(&mut scratch, stride * tiles);
        align(&mut scratch);
        let mut candidates = Candidates { marks, stride, tops, best, top_scores };
        let capacity = (scratch.len() / Blocks::<T>::SIZE).min(Self::exact());
        let (bags, blocks) = candidates.find(source, tempering, capacity, starts);
        let mut blocks = Blocks::take(&mut scratch, blocks, true);
        for_each(tiles, Lists::new(blocks.reborrow(), starts), |tile, part| {
            candidates.score(source, tile, part.blocks);
        });
        let Candidates { marks: spare, best, .. } = candidates;
        let [best, mass, score_moment] =
            [best, mass, score_moment].map(|sums| sums.get_mut(..bags).unwrap_or_default());
        let seen = blocks.len();
        let (starts, spans) = (Some(&*starts), &mut [][..]);
        let chunk =
            Self { bags, tempering, starts, spans, best, mass, score_moment, blocks, spare, by_bag: None };
        (chunk, seen)
    }

    /// Bags in tiles that are within the threshold of the best score.
    fn with_running<B: Bags>(
        source: Source<'_, T, B>,
        most: usize,
        tempering: Tempering<T>,
        sparsity: SparsityEstimate,
        mut scratch: &'a mut [T],
    ) -> (Self, usize) {
        let tiles = source.tiles;
        let many = scratch.len() >= scratch_len::<T>(tiles, 32);
        let groups = if many { Groups::new(tiles) } else { Groups::one(tiles) };
        let starts = take(&mut scratch, tiles);
        let used = take(&mut scratch, groups.count);
        // Every group's first tiles let more pass than its last.
        let bag = groups.count * (1 + Blocks::<T>::SIZE) + 2;
        let blocks = groups.count * sparsity.blocks() * Blocks::<T>::SIZE;
        let stride = Self::fitting(scratch.len(), bag, blocks, groups.slots()).min(most);
        let best = take(&mut scratch, groups.count * stride);
        let [mass, score_moment] = [(); 2].map(|()| take(&mut scratch, stride));
        align(&mut scratch);
        let spare = Blocks::take(&mut scratch, groups.count * stride, true);
        align(&mut scratch);
        let capacity = (scratch.len() / Blocks::<T>::SIZE).min(Self::exact()) / groups.count.max(1);
        let blocks = Blocks::take(&mut scratch, capacity * groups.count, true);
        let mut room = Workspace { best, used, spare, blocks };
        let (bags, kept, seen) = room.score(source, tempering, groups, starts);
        let Workspace { best, blocks, .. } = room;
        let (blocks, _) = blocks.split_at(kept);
        let [best, mass, score_moment] =
            [best, mass, score_moment].map(|sums| sums.get_mut(..bags).unwrap_or_default());
        let (starts, spans, spare) = (Some(&*starts), &mut [][..], &mut [][..]);
        let chunk =
            Self { bags, tempering, starts, spans, best, mass, score_moment, blocks, spare, by_bag: None };
        (chunk, seen)
    }

    /// From scores to posteriors. Returns how many blocks have one, if every bag has a block in every tile.
    fn normalise(&mut self, tiles: usize) -> Option<usize> {
        let Self { tempering, starts, best, mass, score_moment, blocks, .. } = self;
        let mut sums = Sums { best, mass, score_moment };
        match starts {
            Some(starts) => {
                sums.normalise_lists(blocks.reborrow(), starts, *tempering);
                None
            }
            None => Some(sums.normalise_quads(blocks.reborrow(), tiles, *tempering)),
        }
    }

    /// What normalising gave for a bag. `None` if its counts overflow the float type.
    pub(crate) fn bag_posterior(&self, bag: usize) -> Option<BagPosterior<T>> {
        let (&best, &mass, &score_moment) =
            (self.best.get(bag)?, self.mass.get(bag)?, self.score_moment.get(bag)?);
        if !best.is_finite() {
            return None;
        }
        // Both sums are over exp(β (s - best)); the score moment has (s - best) in every term.
        let (mean, beta) = (score_moment / mass, self.tempering.beta);
        let entropy = ln(mass) - beta * mean;
        let entropy = if entropy > T::zero() { entropy } else { T::zero() };
        // At β = 1 the means cancel: the bound is the log evidence.
        let bound = if beta == T::one() { best + ln(mass) } else { best + mean + entropy };
        Some(BagPosterior { bound: bound.to_f64(), entropy, mass })
    }

    /// Calls `visit(bag, bag_posterior, tally)` for one bag after the other, in order, until it says no. Several at a
    /// time are looked up before, on as many threads as there are.
    ///
    /// # Errors
    /// The first bag whose counts overflow the float type, or to which `visit` said no.
    pub(crate) fn for_each_bag_posterior<B: Bags>(
        &self,
        source: Source<'_, T, B>,
        mut visit: impl FnMut(usize, BagPosterior<T>, [f64; 2]) -> bool + Send,
    ) -> Result<(), usize> {
        const LOT: usize = if cfg!(feature = "rayon") { 512 } else { 1 };
        const PART: usize = 32;
        let mut lot = [(None, [0.0; 2]); LOT];
        in_pool(|| {
            for first in (0..self.bags).step_by(LOT) {
                let bags = LOT.min(self.bags - first);
                let parts = Rows::new(lot.get_mut(..bags).unwrap_or_default(), PART);
                for_each(bags.div_ceil(PART), parts, |part, rows| {
                    for (found, bag) in rows.elements.iter_mut().zip(first + part * PART..) {
                        *found = (self.bag_posterior(bag), source.tally(bag));
                    }
                });
                for (&(bag_posterior, tally), bag) in lot.iter().zip(first..first + bags) {
                    if !bag_posterior.is_some_and(|bag_posterior| visit(bag, bag_posterior, tally)) {
                        return Err(bag);
                    }
                }
            }
            Ok(())
        })
    }

    /// Brings the blocks of lists into the order of bags too, if there is memory left, so that [`Chunk::bag_blocks`] need not search
    /// for each: by counting, so that those of a bag stay in the order of tiles.
    pub(crate) fn index_by_bag(&mut self) {
        let Some(starts) = self.starts else { return };
        let (bags, blocks) = (self.bags, self.blocks.len());
        let mut spare = core::mem::take(&mut self.spare);
        if spare.len() < bags + 1 + 2 * blocks {
            return;
        }
        let ends = take(&mut spare, bags + 1);
        let [tiles, places] = [(); 2].map(|()| take(&mut spare, blocks));
        ends.fill(T::zero());
        for &owner in &*self.blocks.owners {
            if let Some(count) = ends.get_mut(whole(owner) + 1) {
                *count += T::one();
            }
        }
        // The first block of bag `b` is at `b + 1`, until each has been moved on to where the next one's begin.
        starts_from_counts(ends);
        let mut tile = 0;
        for (block, &owner) in self.blocks.owners.iter().enumerate() {
            while starts.get(tile + 1).is_some_and(|&next| whole(next) <= block) {
                tile += 1;
            }
            if let Some(next) = ends.get_mut(whole(owner) + 1) {
                if let (Some(to), Some(of)) = (places.get_mut(whole(*next)), tiles.get_mut(whole(*next))) {
                    (*to, *of) = (from_index(block), from_index(tile));
                }
                *next += T::one();
            }
        }
        self.by_bag = Some(ByBag { ends, tiles, places });
    }

    /// The blocks of a bag.
    pub(crate) fn bag_blocks(&self, bag: usize) -> BagBlocks<'_, T> {
        let index = self.by_bag.as_ref().and_then(|by_bag| by_bag.of(bag));
        BagBlocks { chunk: self, bag, index, next: 0 }
    }

    /// A block's posterior, times the bag's mass, unless it is zero altogether.
    #[inline(always)]
    fn alive(&self, block: usize) -> Option<&[T]> {
        let Blocks { peaks, scores, .. } = &self.blocks;
        let alive = *peaks.get(block)? > T::zero();
        alive.then(|| scores.get(block * T::LANES..(block + 1) * T::LANES))?
    }

    /// Where a bag's block in a tile is, if it has one; found by a search in lists.
    fn block(&self, tile: usize, bag: usize) -> Option<usize> {
        match self.starts {
            Some(starts) => {
                let start = whole(*starts.get(tile)?);
                let end = starts.get(tile + 1).map_or(self.blocks.len(), |&end| whole(end));
                let owners = self.blocks.owners.get(start..end)?;
                Some(start + owners.binary_search_by(|&owner| whole(owner).cmp(&bag)).ok()?)
            }
            None => {
                let first = tile / QUAD * QUAD;
                let width = (self.blocks.len() / self.bags.max(1)).saturating_sub(first).min(QUAD);
                Some(first * self.bags + bag * width + tile - first)
            }
        }
    }

    /// `F_kz += q_tk c_tz` and `m_k += q_tk`.
    pub(crate) fn accumulate<B: Bags>(self, source: Source<'_, T, B>, sums: &mut [T]) {
        let Self { starts, spans, mass, blocks, .. } = self;
        let found = Found { blocks, mass, starts: starts.unwrap_or_default(), spans };
        match starts {
            Some(_) => found.lists(source, sums),
            None => found.quads(source, sums),
        }
    }
}

#[cfg(test)]
mod tests;
