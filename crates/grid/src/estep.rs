//! The E-step on a chunk of bags: score windows, normalise, add to the windows' counts.
//!
//! A block is a bag in a tile. Only blocks that may hold a window within the cut of the bag's best are scored:
//! [`bounds`](Chunk::new) tell which, and the others have posteriors of zero, so leaving them out changes no bit
//! of any result. There is never a bags-by-cells matrix, only a bags-by-tiles one and the blocks, both in the
//! caller's scratch.
//!
//! Tiles are the outer loop of every step, bags the middle, a bag's counts the inner, so that a tile of the table
//! stays in cache and a block in registers; and tiles are what threads share out.

use countgrid_counts::{Bags, Count};
use countgrid_math::{Kernel, Real, dispatch, exp, ln};

use crate::{
    Cut,
    parallel::{Rows, Split, each},
    tiles::Tiles,
};

/// The exponent of an annealed posterior `q ∝ exp(β s)`, and below which score it is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heat<T> {
    beta: T,
    cut: T, // in units of β s
}

impl<T: Real> Heat<T> {
    /// `β` in (0, 1]. What [`Cut::Rounding`] denies is at most `P exp(-cut) = u` of the evidence.
    pub(crate) fn new(beta: T, cut: Cut, cells: usize) -> Self {
        let cut = match cut {
            Cut::Rounding => ln(T::from_f64(cells as f64)) - ln(T::UNIT_ROUNDOFF),
            Cut::Nats(nats) => T::from_f64(nats),
            Cut::Off => T::infinity(),
        };
        // Padding, at -inf, is never alive.
        Self { beta, cut: if cut < T::max_value() { cut } else { T::max_value() } }
    }

    /// Whether a window of this score, or a tile of this bound, counts; never falls as the score rises.
    #[inline(always)]
    fn is_alive(&self, score: T, best: T) -> bool {
        self.beta * (score - best) >= -self.cut
    }
}

/// What normalising a bag's scores gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<T> {
    /// `B_t`: the log evidence when `β = 1`.
    pub(crate) bound: T,
    /// Entropy of the posterior.
    pub(crate) entropy: T,
    mass: T,
}

/// What a chunk reads: a packed table, of `rows` rows a tile, and the bags from `first` on.
#[derive(Debug)]
pub(crate) struct Scored<'a, T, B, const D: usize> {
    pub(crate) tiles: &'a Tiles<D>,
    pub(crate) table: &'a [T],
    pub(crate) rows: usize,
    pub(crate) bags: &'a B,
    pub(crate) first: usize,
}

impl<T, B, const D: usize> Clone for Scored<'_, T, B, D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, B, const D: usize> Copy for Scored<'_, T, B, D> {}

impl<'a, T: Real, B, const D: usize> Scored<'a, T, B, D> {
    /// A tile's rows. The tiles of bounds come after the others.
    fn tile(&self, tile: usize) -> &'a [T] {
        let size = self.rows * T::LANES;
        self.table.get(tile * size..(tile + 1) * size).unwrap_or_default()
    }
}

/// How many blocks a bag has, as far as the chunks before tell. Decides how a chunk is cut and whether bounds
/// are worth their price, so the speed, never a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outlook(f32);

impl Outlook {
    /// Posteriors that are spread over the whole grid.
    pub(crate) const FLAT: Self = Self(f32::INFINITY);
    /// Posteriors of a fitted grid.
    pub(crate) const SHARP: Self = Self(1.5);

    /// Whether to score all tiles without asking for bounds: half of them would be scored anyway.
    fn is_flat(self, tiles: usize) -> bool {
        self.0 > 0.5 * tiles as f32
    }

    /// Blocks to have room for a bag.
    fn blocks(self, tiles: usize) -> usize {
        if self.is_flat(tiles) { tiles } else { (self.0 * 1.25) as usize + 1 }
    }
}

/// Elements of scratch that a chunk needs for every tile, for every bag, and for every block.
const fn sizes<T: Real>(tiles: usize) -> [usize; 3] {
    [1, tiles + 4, T::LANES + 3]
}

/// Elements of scratch for so many bags that are alive everywhere.
pub(crate) const fn scratch_len<T: Real>(tiles: usize, bags: usize) -> usize {
    let [tile, bag, block] = sizes::<T>(tiles);
    tile * tiles + (bag + block * tiles).saturating_mul(bags)
}

/// Blocks of a few bags: scores, then posteriors times the bag's mass.
#[derive(Debug)]
pub(crate) struct Chunk<'a, T> {
    pub(crate) bags: usize,
    heat: Heat<T>,
    dense: bool,         // whether every block was scored, and a good part is alive
    spans: &'a mut [T],  // [feature][2], room for the entries of each that belong to the chunk; or empty
    starts: &'a mut [T], // [tile], a tile's first block
    best: &'a mut [T],   // [bag]
    mass: &'a mut [T],   // [bag]
    tilt: &'a mut [T],   // [bag]
    blocks: Blocks<'a, T>,
}

/// Blocks in the order of tiles, in a tile in the order of bags.
#[derive(Debug)]
struct Blocks<'a, T> {
    counts: &'a [T],     // [tile], blocks of each tile
    scores: &'a mut [T], // [block][lane]
    peaks: &'a mut [T], // [block], the largest score; later the mass, zero of a block that is zero altogether
    tilts: &'a mut [T], // [block]
    owners: &'a mut [T], // [block], the bag: a whole number that the float type holds
}

impl<T: Real> Split for Blocks<'_, T> {
    fn split(self, tiles: usize) -> (Self, Self) {
        let (counts, rest) = self.counts.split_at(tiles.min(self.counts.len()));
        let blocks = counts.iter().map(|&count| whole(count)).sum::<usize>().min(self.peaks.len());
        let (scores, peaks) = (self.scores.split_at_mut(blocks * T::LANES), self.peaks.split_at_mut(blocks));
        let (tilts, owners) = (self.tilts.split_at_mut(blocks), self.owners.split_at_mut(blocks));
        (
            Self { counts, scores: scores.0, peaks: peaks.0, tilts: tilts.0, owners: owners.0 },
            Self { counts: rest, scores: scores.1, peaks: peaks.1, tilts: tilts.1, owners: owners.1 },
        )
    }
}

/// A whole number kept in the float type.
#[inline(always)]
fn whole<T: Real>(x: T) -> usize {
    x.to_f64() as usize
}

#[inline(always)]
fn kept<T: Real>(x: usize) -> T {
    T::from_f64(x as f64)
}

impl<'a, T: Real> Chunk<'a, T> {
    /// Scores the bags from `scored.first` on, at most `most` and as many as the scratch holds, and normalises
    /// them. `scratch` holds at least [`scratch_len`]`(1)` elements, `most` is at least 1.
    ///
    /// Scores are `s_tk = log p_k + Σ_z c_tz log h_kz`. A tile's bound is the same sum over the largest of each of
    /// its rows. Rounding never turns an order around, and both sums round in the same places, so no score
    /// exceeds the bound; and what the bound shows to be below the cut of any score of the bag, is.
    pub(crate) fn new<B: Bags, const D: usize>(
        scored: Scored<'_, T, B, D>,
        most: usize,
        heat: Heat<T>,
        outlook: &mut Outlook,
        scratch: &'a mut [T],
    ) -> Self {
        let tiles = scored.tiles.count();
        let [per_tile, per_bag, per_block] = sizes::<T>(tiles);
        let expected = match scored.tiles.bounds() {
            0 => tiles,
            _ => outlook.blocks(tiles),
        };
        let flat = expected == tiles;
        // Whole numbers up to 1/u are exact.
        let exact = whole(T::one() / T::UNIT_ROUNDOFF);
        // Counts by feature pay if many bags share a reading of them, so not in a small scratch.
        let features = scored.rows - 1;
        let by_feature = flat && scored.bags.column(0).is_some() && scored.bags.len() <= exact;
        let spare = scratch.len().saturating_sub(scratch_len::<T>(tiles, 32.min(most)));
        let spans = if by_feature && spare >= 2 * features { 2 * features } else { 0 };
        let (scratch, spans) = scratch.split_at_mut(scratch.len() - spans);
        let room = scratch.len() - per_tile * tiles;
        let bags = (room / (per_bag + expected * per_block)).min(exact / tiles.max(1)).clamp(1, most);
        let (starts, rest) = scratch.split_at_mut(tiles);
        let (marks, rest) = rest.split_at_mut(bags * tiles);
        let (top, rest) = rest.split_at_mut(bags);
        let (best, rest) = rest.split_at_mut(bags);
        let (mass, rest) = rest.split_at_mut(bags);
        let (tilt, rest) = rest.split_at_mut(bags);
        let capacity = (rest.len() / per_block).min(exact);

        let (bags, blocks) = if flat {
            starts.fill(kept(bags));
            (bags, bags * tiles)
        } else {
            find_candidates(scored, heat, bags, capacity, Candidates { starts, marks, top, best })
        };
        let (scores, rest) = rest.split_at_mut(blocks * T::LANES);
        let (peaks, rest) = rest.split_at_mut(blocks);
        let (tilts, rest) = rest.split_at_mut(blocks);
        let owners = &mut rest[..blocks];

        let stride = if flat { 0 } else { marks.len() / tiles };
        let work = Blocks { counts: starts, scores, peaks, tilts, owners };
        each(tiles, (work, Rows::new(marks, stride)), |tile, (blocks, marks)| {
            dispatch(ScoreTile { table: scored.tile(tile), scored, marks: marks.table, bags, blocks });
        });
        let (mut chunk, alive) = {
            let (best, mass, tilt) = (&mut best[..bags], &mut mass[..bags], &mut tilt[..bags]);
            best.fill(T::neg_infinity());
            for (&peak, &owner) in peaks.iter().zip(&*owners) {
                if let Some(best) = best.get_mut(whole(owner)) {
                    *best = if peak > *best { peak } else { *best };
                }
            }
            let work = Blocks { counts: starts, scores, peaks, tilts, owners };
            each(tiles, work, |_, blocks| dispatch(Exponential { blocks, best, heat }));
            mass.fill(T::zero());
            tilt.fill(T::zero());
            let mut alive = 0;
            for ((&block_mass, &block_tilt), &owner) in peaks.iter().zip(&*tilts).zip(&*owners) {
                if let (Some(mass), Some(tilt)) = (mass.get_mut(whole(owner)), tilt.get_mut(whole(owner))) {
                    *mass += block_mass;
                    *tilt += block_tilt;
                    alive += usize::from(block_mass > T::zero());
                }
            }
            let peaks_len = peaks.len();
            let blocks = Blocks { counts: &[], scores, peaks, tilts, owners };
            let dense = flat && 3 * alive > peaks_len;
            (Chunk { bags, heat, dense, spans, starts, best, mass, tilt, blocks }, alive)
        };
        // Bounds let about half as many tiles again pass as are alive.
        let seen = if flat { 1.5 * alive as f32 } else { blocks as f32 };
        *outlook = Outlook(seen / bags as f32);
        chunk.starts_from_counts();
        chunk
    }

    /// From blocks of each tile to the first of each.
    fn starts_from_counts(&mut self) {
        let mut next = 0;
        for start in self.starts.iter_mut() {
            let count = whole(*start);
            *start = kept(next);
            next += count;
        }
    }

    /// What normalising gave for a bag. `None` if its counts overflow the float type.
    pub(crate) fn placed(&self, bag: usize) -> Option<Placed<T>> {
        let (&best, &mass, &tilt) = (self.best.get(bag)?, self.mass.get(bag)?, self.tilt.get(bag)?);
        if !best.is_finite() {
            return None;
        }
        // Both sums are over exp(β (s - best)); the tilt has (s - best) in every term.
        let (mean, beta) = (tilt / mass, self.heat.beta);
        let entropy = ln(mass) - beta * mean;
        let entropy = if entropy > T::zero() { entropy } else { T::zero() };
        // At β = 1 the means cancel: the bound is the log evidence.
        let bound = if beta == T::one() { best + ln(mass) } else { best + mean + entropy };
        Some(Placed { bound, entropy, mass })
    }

    /// A bag's posterior in a tile, times the mass by which to divide it, unless it is zero there altogether.
    pub(crate) fn alive(&self, tile: usize, bag: usize, placed: &Placed<T>) -> Option<(&[T], T)> {
        let start = whole(*self.starts.get(tile)?);
        let end = self.starts.get(tile + 1).map_or(self.blocks.owners.len(), |&end| whole(end));
        let owners = self.blocks.owners.get(start..end)?;
        let block = start + owners.binary_search_by(|&owner| whole(owner).cmp(&bag)).ok()?;
        let alive = *self.blocks.peaks.get(block)? > T::zero();
        alive
            .then(|| self.blocks.scores.get(block * T::LANES..(block + 1) * T::LANES))?
            .map(|q| (q, placed.mass))
    }

    /// `F_kz += q_tk c_tz` and `m_k += q_tk`. Every entry meets the bags in order.
    pub(crate) fn accumulate<B: Bags, const D: usize>(self, scored: Scored<'_, T, B, D>, sums: &mut [T]) {
        let tiles = scored.tiles.count();
        // Back from the first block of each tile to the number of its blocks.
        let mut next = self.blocks.owners.len();
        for start in self.starts.iter_mut().rev() {
            let first = whole(*start);
            *start = kept(next - first);
            next = first;
        }
        let by_feature = self.dense && !self.spans.is_empty();
        if by_feature {
            find_spans(scored, self.bags, self.spans);
        }
        let (mass, spans, blocks) =
            (&*self.mass, &*self.spans, Blocks { counts: self.starts, ..self.blocks });
        let size = scored.rows * T::LANES;
        if by_feature {
            let parts = (Together(blocks), Rows::new(sums, TOGETHER * size));
            each(tiles.div_ceil(TOGETHER), parts, |_, (Together(blocks), sums)| {
                dispatch(GatherTiles { sums: sums.table, size, scored, blocks, mass, spans });
            });
        } else {
            each(tiles, (blocks, Rows::new(sums, size)), |_, (blocks, sums)| {
                dispatch(AccumulateTile { sums: sums.table, scored, blocks, mass });
            });
        }
    }
}

/// Tiles that [`GatherTiles`] works on at once.
const TOGETHER: usize = 4;

/// Blocks whose items are so many tiles.
struct Together<'a, T>(Blocks<'a, T>);

impl<T: Real> Split for Together<'_, T> {
    fn split(self, items: usize) -> (Self, Self) {
        let (first, rest) = self.0.split(TOGETHER * items);
        (Self(first), Self(rest))
    }
}

/// The entries of every feature that belong to a chunk's bags.
fn find_spans<T: Real, B: Bags, const D: usize>(scored: Scored<'_, T, B, D>, bags: usize, spans: &mut [T]) {
    for (feature, span) in spans.chunks_exact_mut(2).enumerate() {
        let (owners, _) = scored.bags.column(feature).unwrap_or_default();
        let before = |end: usize| owners.partition_point(|&bag| (bag as usize) < end);
        span.copy_from_slice(&[kept(before(scored.first)), kept(before(scored.first + bags))]);
    }
}

/// Scratch of [`find_candidates`].
struct Candidates<'a, T> {
    starts: &'a mut [T], // [tile], how many blocks it has
    marks: &'a mut [T],  // [tile][bag], bounds, -inf where no window can be alive
    top: &'a mut [T],    // [bag], the tile of the largest bound
    best: &'a mut [T],   // [bag], the best score in that tile
}

/// Finds the blocks to score, and how many of the bags have room for theirs. Returns bags and blocks.
fn find_candidates<T: Real, B: Bags, const D: usize>(
    scored: Scored<'_, T, B, D>,
    heat: Heat<T>,
    bags: usize,
    capacity: usize,
    candidates: Candidates<'_, T>,
) -> (usize, usize) {
    /// Bags whose bounds are compared at a time.
    const STRIPE: usize = 256;
    let Candidates { starts, marks, top, best } = candidates;
    let tiles = scored.tiles.count();
    each(scored.tiles.bounds(), Rows::new(marks, T::LANES * bags), |group, marks| {
        dispatch(Bounds { table: scored.tile(tiles + group), scored, bags, marks: marks.table });
    });
    let bounds = &*marks;
    let stripes = (Rows::new(top, STRIPE), Rows::new(best, STRIPE));
    each(bags.div_ceil(STRIPE), stripes, |stripe, (top, best)| {
        dispatch(Tops { bounds, bags, first: stripe * STRIPE, top: top.table, best: best.table });
    });
    // The best score of the most promising tile is a lower bound of the best there is, nearly always itself.
    let tops = &*top;
    each(tiles, Rows::new(marks, bags), |tile, marks| {
        dispatch(TopScores { table: scored.tile(tile), scored, tile: kept(tile), tops, marks: marks.table });
    });
    for (bag, (best, &tile)) in best.iter_mut().zip(&*top).enumerate() {
        *best = marks.get(whole(tile) * bags + bag).copied().unwrap_or(T::neg_infinity());
    }
    let mut fit = bags;
    loop {
        let best = &best[..fit];
        each(tiles, (Rows::new(marks, bags), Rows::new(starts, 1)), |_, (marks, count)| {
            let alive = dispatch(Survivors { marks: marks.table, best, heat });
            count.table.fill(kept(alive));
        });
        let blocks = starts.iter().map(|&count| whole(count)).sum();
        if blocks <= capacity {
            return (fit, blocks);
        }
        fit = (fit / 2).max(1); // one bag fits, alive as it may be everywhere
    }
}

/// Reads a tile from end to end if many bags will: memory gives lines in sequence several times as fast as in the
/// order of the bags' features.
#[inline(always)]
fn warm<T: Real>(tile: &[T], bags: usize) {
    const MANY: usize = 32;
    if bags >= MANY {
        let mut first = T::zero();
        for line in tile.chunks_exact(T::LANES) {
            first += line[0];
        }
        core::hint::black_box(first);
    }
}

/// `log p + Σ_z c_z log h_z` in the lanes of a tile.
#[inline(always)]
fn score<T: Real, C: Count>(table: &[T], entries: impl Iterator<Item = (usize, C)>) -> T::Lanes {
    let lanes = T::LANES;
    let mut scores = T::lanes();
    let s = scores.as_mut();
    let Some((prior, table)) = table.split_at_checked(lanes) else { return scores };
    s.copy_from_slice(prior);
    for (feature, count) in entries {
        let count = count.to_real::<T>();
        let Some(row) = table.get(feature * lanes..(feature + 1) * lanes) else { continue };
        s.iter_mut().zip(row).for_each(|(s, &log_h)| *s += count * log_h);
    }
    scores
}

/// Folds the upper half of the lanes onto the lower until one is left.
#[inline(always)]
fn fold<T: Real>(mut lanes: T::Lanes, combine: impl Fn(T, T) -> T) -> T {
    let lanes = lanes.as_mut();
    let mut half = T::LANES / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        low.iter_mut().zip(&*high).for_each(|(low, &high)| *low = combine(*low, high));
        half /= 2;
    }
    lanes.first().copied().unwrap_or(T::zero())
}

/// The largest lane that is a number; -inf if none is.
#[inline(always)]
pub(crate) fn peak<T: Real>(mut lanes: T::Lanes) -> T {
    for lane in lanes.as_mut() {
        *lane = if *lane > T::neg_infinity() { *lane } else { T::neg_infinity() };
    }
    fold::<T>(lanes, |a, b| if a > b { a } else { b })
}

/// Bounds of the tiles of one group, a lane each, for all bags.
struct Bounds<'a, T, B, const D: usize> {
    table: &'a [T],
    scored: Scored<'a, T, B, D>,
    bags: usize,
    marks: &'a mut [T], // [lane][bag], as many lanes as tiles are left
}

impl<T: Real, B: Bags, const D: usize> Kernel for Bounds<'_, T, B, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Scored { bags, first, .. } = self.scored;
        warm(self.table, self.bags);
        for bag in 0..self.bags {
            let bounds = score::<T, _>(self.table, bags.entries(first + bag));
            for (marks, &bound) in self.marks.chunks_exact_mut(self.bags).zip(bounds.as_ref()) {
                marks[bag] = bound;
            }
        }
    }
}

/// The tile of the largest bound, for some bags; of equals the first.
struct Tops<'a, T> {
    bounds: &'a [T], // [tile][bag]
    bags: usize,
    first: usize,
    top: &'a mut [T],
    best: &'a mut [T],
}

impl<T: Real> Kernel for Tops<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.top.fill(T::zero());
        self.best.fill(T::neg_infinity());
        for (tile, bounds) in self.bounds.chunks_exact(self.bags).enumerate() {
            let tile = kept::<T>(tile);
            let bounds = bounds.get(self.first..).unwrap_or_default();
            for ((top, best), &bound) in self.top.iter_mut().zip(&mut *self.best).zip(bounds) {
                let above = bound > *best;
                *top = if above { tile } else { *top };
                *best = if above { bound } else { *best };
            }
        }
    }
}

/// Where a tile is a bag's most promising, its bound becomes the best score in it.
struct TopScores<'a, T, B, const D: usize> {
    table: &'a [T],
    scored: Scored<'a, T, B, D>,
    tile: T,
    tops: &'a [T],      // [bag]
    marks: &'a mut [T], // [bag]
}

impl<T: Real, B: Bags, const D: usize> Kernel for TopScores<'_, T, B, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Scored { bags, first, .. } = self.scored;
        for (bag, (mark, &top)) in self.marks.iter_mut().zip(self.tops).enumerate() {
            if top == self.tile {
                *mark = peak(score::<T, _>(self.table, bags.entries(first + bag)));
            }
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
struct ScoreTile<'a, T, B, const D: usize> {
    table: &'a [T],
    scored: Scored<'a, T, B, D>,
    marks: &'a [T], // [bag]; empty if all bags are scored
    bags: usize,
    blocks: Blocks<'a, T>,
}

impl<T: Real, B: Bags, const D: usize> Kernel for ScoreTile<'_, T, B, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Scored { bags, first, .. } = self.scored;
        let (lanes, mut bag) = (T::LANES, 0);
        let Blocks { scores, peaks, owners, .. } = self.blocks;
        warm(self.table, peaks.len());
        for ((scores, block_peak), owner) in scores.chunks_exact_mut(lanes).zip(peaks).zip(owners) {
            while self.marks.get(bag).is_some_and(|&mark| mark == T::neg_infinity()) && bag < self.bags {
                bag += 1;
            }
            let s = score::<T, _>(self.table, bags.entries(first + bag));
            scores.copy_from_slice(s.as_ref());
            *block_peak = peak(s);
            *owner = kept(bag);
            bag += 1;
        }
    }
}

/// `exp(β (s - best))` of one tile's blocks, with their sums.
struct Exponential<'a, T> {
    blocks: Blocks<'a, T>,
    best: &'a [T], // [bag]
    heat: Heat<T>,
}

impl<T: Real> Kernel for Exponential<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (heat, lanes) = (self.heat, T::LANES);
        let Blocks { scores, peaks, tilts, owners, .. } = self.blocks;
        for (((scores, peak), tilt), &owner) in
            scores.chunks_exact_mut(lanes).zip(peaks).zip(tilts).zip(&*owners)
        {
            let best = self.best.get(whole(owner)).copied().unwrap_or(T::neg_infinity());
            if !heat.is_alive(*peak, best) {
                (*peak, *tilt) = (T::zero(), T::zero());
                continue;
            }
            let (mut e, mut tilted) = (T::lanes(), T::lanes());
            for (e, &s) in e.as_mut().iter_mut().zip(&*scores) {
                // exp before the choice: a loop without branches is a loop of vectors.
                let power = exp(heat.beta * (s - best));
                *e = if heat.is_alive(s, best) { power } else { T::zero() };
            }
            for ((tilted, &e), &s) in tilted.as_mut().iter_mut().zip(e.as_ref()).zip(&*scores) {
                *tilted = if e > T::zero() { e * (s - best) } else { T::zero() };
            }
            scores.copy_from_slice(e.as_ref());
            (*peak, *tilt) = (fold::<T>(e, |a, b| a + b), fold::<T>(tilted, |a, b| a + b));
        }
    }
}

/// Posteriors of one tile's blocks into the counts of its windows.
struct AccumulateTile<'a, T, B, const D: usize> {
    sums: &'a mut [T], // [row][lane]
    scored: Scored<'a, T, B, D>,
    blocks: Blocks<'a, T>,
    mass: &'a [T], // [bag]
}

impl<T: Real, B: Bags, const D: usize> Kernel for AccumulateTile<'_, T, B, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Scored { bags, first, .. } = self.scored;
        let lanes = T::LANES;
        let Some((window_mass, sums)) = self.sums.split_at_mut_checked(lanes) else { return };
        let Blocks { scores, peaks, owners, .. } = self.blocks;
        warm(sums, peaks.len());
        for ((e, &alive), &owner) in scores.chunks_exact(lanes).zip(&*peaks).zip(&*owners) {
            if !(alive > T::zero()) {
                continue;
            }
            let bag = whole(owner);
            let Some(&mass) = self.mass.get(bag) else { continue };
            let mut q = T::lanes();
            let q = q.as_mut();
            q.iter_mut().zip(e).for_each(|(q, &e)| *q = e / mass);
            window_mass.iter_mut().zip(&*q).for_each(|(m, &q)| *m += q);
            for (feature, count) in bags.entries(first + bag) {
                let count = count.to_real::<T>();
                let Some(row) = sums.get_mut(feature * lanes..(feature + 1) * lanes) else { continue };
                row.iter_mut().zip(&*q).for_each(|(f, &q)| *f += count * q);
            }
        }
    }
}

/// The same by feature, of all bags at once: an entry of the counts stays in registers while the bags go by. For
/// tiles in which every bag has a block. Several tiles at a time, since a feature's few entries take longer to come
/// from memory than to be used.
struct GatherTiles<'a, T, B, const D: usize> {
    sums: &'a mut [T], // [tile][row][lane]
    size: usize,       // of a tile
    scored: Scored<'a, T, B, D>,
    blocks: Blocks<'a, T>,
    mass: &'a [T],  // [bag]
    spans: &'a [T], // [feature][2]
}

impl<T: Real, B: Bags, const D: usize> Kernel for GatherTiles<'_, T, B, D> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { sums, size, scored, blocks, mass, spans } = self;
        let lanes = T::LANES;
        let each = mass.len() * lanes; // of a tile's blocks
        let tiles = blocks.scores.chunks_exact_mut(each).zip(blocks.peaks.chunks_exact(mass.len()));
        for ((q, alive), sums) in tiles.zip(sums.chunks_exact_mut(size)) {
            for ((q, &alive), &mass) in q.chunks_exact_mut(lanes).zip(alive).zip(mass) {
                if alive > T::zero() {
                    q.iter_mut().for_each(|q| *q /= mass);
                } else {
                    q.fill(T::zero()); // what will be added changes nothing
                }
                sums.iter_mut().zip(&*q).for_each(|(m, &q)| *m += q);
            }
        }
        let q = &*blocks.scores;
        if let Some((first, rest)) = q.split_at_checked(each)
            && let Some((second, rest)) = rest.split_at_checked(each)
            && let Some((third, fourth)) = rest.split_at_checked(each)
            && fourth.len() == each
        {
            gather(sums, size, scored, spans, [first, second, third, fourth]);
        } else {
            for (q, sums) in q.chunks_exact(each).zip(sums.chunks_exact_mut(size)) {
                gather(sums, size, scored, spans, [q]);
            }
        }
    }
}

#[inline(always)]
fn gather<T: Real, B: Bags, const D: usize, const N: usize>(
    sums: &mut [T],
    size: usize,
    scored: Scored<'_, T, B, D>,
    spans: &[T],
    q: [&[T]; N], // [bag][lane] of each tile
) {
    let Scored { bags, first, .. } = scored;
    let lanes = T::LANES;
    for (feature, span) in spans.chunks_exact(2).enumerate() {
        let span = whole(span[0])..whole(span[1]);
        let Some((owners, counts)) = bags.column(feature) else { return };
        let (Some(owners), Some(counts)) = (owners.get(span.clone()), counts.get(span)) else { return };
        let row = (1 + feature) * lanes;
        let mut f = [T::lanes(); N];
        for (tile, f) in f.iter_mut().enumerate() {
            if let Some(sums) = sums.get(tile * size + row..tile * size + row + lanes) {
                f.as_mut().copy_from_slice(sums);
            }
        }
        for (&owner, &count) in owners.iter().zip(counts) {
            let count = count.to_real::<T>();
            let block = (owner as usize - first) * lanes;
            for (f, q) in f.iter_mut().zip(&q) {
                let Some(q) = q.get(block..block + lanes) else { continue };
                f.as_mut().iter_mut().zip(q).for_each(|(f, &q)| *f += count * q);
            }
        }
        for (tile, f) in f.iter().enumerate() {
            if let Some(sums) = sums.get_mut(tile * size + row..tile * size + row + lanes) {
                sums.copy_from_slice(f.as_ref());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{vec, vec::Vec};

    use countgrid_counts::Dense;
    use countgrid_torus::{Torus, Windows};

    use super::*;
    use crate::{Grid, LogHistograms, Shape};

    /// Each of 64 cells in a circle has a feature of its own, and windows are single cells.
    #[test]
    fn only_tiles_that_may_be_alive_are_scored() {
        let cells = 64;
        let shape = Shape::new(Windows::new(Torus::new([cells]).unwrap(), [1]).unwrap(), cells).unwrap();
        let entry = |z: usize, k: usize| if z == k { 0.5f32 } else { 0.5 / (cells - 1) as f32 };
        let mut tables: Vec<f32> = (0..cells * cells).map(|i| entry(i / cells, i % cells)).collect();
        tables.extend(vec![1.0 / cells as f32; cells]);
        let grid = Grid::new(shape, tables).unwrap();
        let mut scratch = vec![0.0; shape.scratch_len::<f32>(cells)];
        let packed = vec![0.0; shape.histograms_len::<f32>()];
        let histograms = LogHistograms::pack(&grid, packed, &mut scratch).unwrap();
        let counts: Vec<u8> = (0..cells * cells).map(|i| 9 * u8::from(i / cells == i % cells)).collect();
        let bags = Dense::new(cells, &counts).unwrap();

        let heat = Heat::new(1.0, Cut::Rounding, cells);
        let mut outlook = Outlook::SHARP;
        let chunk = Chunk::new(histograms.scored(&bags, 0), cells, heat, &mut outlook, &mut scratch);
        assert_eq!((chunk.bags, chunk.blocks.owners.len()), (cells, cells)); // one tile each
        assert!(!outlook.is_flat(4));
        for bag in 0..cells {
            let placed = chunk.placed(bag).unwrap();
            for tile in 0..4 {
                assert_eq!(chunk.alive(tile, bag, &placed).is_some(), tile == bag / 16);
            }
        }

        let mut outlook = Outlook::FLAT;
        let chunk = Chunk::new(histograms.scored(&bags, 0), cells, heat, &mut outlook, &mut scratch);
        assert_eq!(chunk.blocks.owners.len(), 4 * chunk.bags); // all of them
        assert!(!outlook.is_flat(4)); // and has learned better
    }
}
