//! Where the blocks of a chunk lie.

use countgrid_math::Real;

use countgrid_em::parallel::Split;

/// Tiles whose blocks lie side by side where every bag has one in every tile, and that are worked on together: what
/// a bag or a feature is looked up for serves all of them.
pub(super) const QUAD: usize = 4;

/// The next so many elements of scratch.
pub(super) fn take<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (taken, left) = split(core::mem::take(rest), len);
    *rest = left;
    taken
}

/// Leaves elements of scratch out until it begins with a cache line, at most [`PADDING`] times a line's: blocks that
/// straddle lines cost up to half as much again.
pub(super) fn align<T: Real>(rest: &mut &mut [T]) {
    let skipped = rest.as_ptr().align_offset(64);
    take(rest, if skipped < T::LANES { skipped } else { 0 });
}

/// How often scratch is aligned.
pub(super) const PADDING: usize = 2;

/// [`slice::split_at_mut`] at the end where that is before.
fn split<T>(slice: &mut [T], middle: usize) -> (&mut [T], &mut [T]) {
    slice.split_at_mut(middle.min(slice.len()))
}

/// A whole number kept in the float type.
#[inline(always)]
pub(super) fn whole<T: Real>(x: T) -> usize {
    x.to_f64() as usize
}

/// A whole number that the float type holds: up to `1 / u`.
#[inline(always)]
pub(super) fn from_index<T: Real>(x: usize) -> T {
    T::from_f64(x as f64)
}

/// Scores of some blocks, then posteriors times the bag's mass.
#[derive(Debug)]
pub(super) struct Blocks<'a, T> {
    pub(super) scores: &'a mut [T],        // [block][lane]
    pub(super) peaks: &'a mut [T], // [block], the largest score; later the mass, zero of a block without posterior
    pub(super) score_moments: &'a mut [T], // [block], Σ e (s - best)
    pub(super) owners: &'a mut [T], // [block], the bag; empty if every bag has a block in every tile
}

impl<'a, T: Real> Blocks<'a, T> {
    /// Elements of scratch for a block.
    pub(super) const SIZE: usize = T::LANES + 3;
    /// The same where owners need not be said.
    pub(super) const DENSE_SIZE: usize = T::LANES + 2;

    /// Room for so many blocks, with owners or without.
    pub(super) fn take(rest: &mut &'a mut [T], blocks: usize, owners: bool) -> Self {
        Self {
            scores: take(rest, blocks * T::LANES),
            peaks: take(rest, blocks),
            score_moments: take(rest, blocks),
            owners: take(rest, if owners { blocks } else { 0 }),
        }
    }

    /// Number of blocks.
    pub(super) fn len(&self) -> usize {
        self.peaks.len()
    }

    /// The first blocks, and the others.
    pub(super) fn split_at(self, blocks: usize) -> (Self, Self) {
        let blocks = blocks.min(self.len());
        let (scores, peaks) = (split(self.scores, blocks * T::LANES), split(self.peaks, blocks));
        let (score_moments, owners) = (split(self.score_moments, blocks), split(self.owners, blocks));
        (
            Self { scores: scores.0, peaks: peaks.0, score_moments: score_moments.0, owners: owners.0 },
            Self { scores: scores.1, peaks: peaks.1, score_moments: score_moments.1, owners: owners.1 },
        )
    }

    /// Writes a block; beyond the room, nothing.
    #[inline(always)]
    pub(super) fn put(&mut self, block: usize, scores: &[T], peak: T, owner: usize) {
        if let Some(to) = self.scores.chunks_exact_mut(T::LANES).nth(block)
            && let (Some(to_peak), Some(to_owner)) = (self.peaks.get_mut(block), self.owners.get_mut(block))
        {
            to.iter_mut().zip(scores).for_each(|(to, &score)| *to = score);
            (*to_peak, *to_owner) = (peak, from_index(owner));
        }
    }

    /// Writes the first blocks of others from `first` on; beyond the room, nothing.
    pub(super) fn append(&mut self, first: usize, others: &Self, blocks: usize) {
        fn copy<T: Copy>(to: &mut [T], from: &[T], first: usize, len: usize) {
            if let (Some(to), Some(from)) = (to.get_mut(first..first + len), from.get(..len)) {
                to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
            }
        }
        copy(self.scores, others.scores, first * T::LANES, blocks * T::LANES);
        copy(self.peaks, others.peaks, first, blocks);
        copy(self.owners, others.owners, first, blocks);
    }

    /// Exclusive access for a shorter time.
    pub(super) fn reborrow(&mut self) -> Blocks<'_, T> {
        Blocks {
            scores: self.scores,
            peaks: self.peaks,
            score_moments: self.score_moments,
            owners: self.owners,
        }
    }
}

/// Blocks whose items are equally many.
pub(super) struct UniformBlocks<'a, T> {
    pub(super) blocks: Blocks<'a, T>,
    pub(super) size: usize, // of an item; the last may have fewer
}

impl<T: Real> Split for UniformBlocks<'_, T> {
    fn split(self, items: usize) -> (Self, Self) {
        let Self { blocks, size } = self;
        let (first, rest) = blocks.split_at(items.saturating_mul(size));
        (Self { blocks: first, size }, Self { blocks: rest, size })
    }
}

/// Blocks in the order of tiles, in a tile in the order of bags; the items are tiles.
pub(super) struct Lists<'a, T> {
    pub(super) blocks: Blocks<'a, T>,
    first: usize,    // of all the chunk's blocks, the first of these
    starts: &'a [T], // [tile], the first block of each of these tiles
}

impl<'a, T: Real> Lists<'a, T> {
    /// All blocks of a chunk; `starts` `[tile]`.
    pub(super) fn new(blocks: Blocks<'a, T>, starts: &'a [T]) -> Self {
        Self { blocks, first: 0, starts }
    }
}

impl<T: Real> Split for Lists<'_, T> {
    fn split(self, tiles: usize) -> (Self, Self) {
        let Self { blocks, first, starts } = self;
        let (starts, rest) = starts.split_at_checked(tiles).unwrap_or((starts, &[]));
        let end = rest.first().map_or(first + blocks.len(), |&start| whole(start));
        let (blocks, others) = blocks.split_at(end.saturating_sub(first));
        (Self { blocks, first, starts }, Self { blocks: others, first: end, starts: rest })
    }
}

/// From how many blocks each tile has to the first of each. Returns the number of all.
pub(super) fn starts_from_counts<T: Real>(counts: &mut [T]) -> usize {
    let mut next = 0;
    for count in counts {
        let blocks = whole(*count);
        *count = from_index(next);
        next += blocks;
    }
    next
}
