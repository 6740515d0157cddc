//! From scores to posteriors: `q ∝ exp(β (s - best))`, with what normalises them.

use countgrid_em::parallel::{Rows, for_each};
use countgrid_math::{Kernel, Level, Real, dispatch, exp, fold_lanes, prefetch};

use super::{
    Tempering,
    blocks::{Blocks, Lists, QUAD, UniformBlocks, whole},
};

/// For every bag its best score, and of the posterior the mass and `Σ e (s - best)`.
pub(super) struct Sums<'a, T> {
    pub(super) best: &'a mut [T],
    pub(super) mass: &'a mut [T],
    pub(super) score_moment: &'a mut [T],
}

impl<T: Real> Sums<'_, T> {
    /// Blocks in lists.
    pub(super) fn normalise_lists(
        &mut self,
        mut blocks: Blocks<'_, T>,
        starts: &[T],
        tempering: Tempering<T>,
    ) {
        let Self { best, mass, score_moment } = self;
        best.fill(T::neg_infinity());
        for (&peak, &owner) in blocks.peaks.iter().zip(&*blocks.owners) {
            if let Some(best) = best.get_mut(whole(owner)) {
                *best = if peak > *best { peak } else { *best };
            }
        }
        let best = &**best;
        for_each(starts.len(), Lists::new(blocks.reborrow(), starts), |_, part| {
            dispatch(Listed { blocks: part.blocks, best, tempering });
        });
        mass.fill(T::zero());
        score_moment.fill(T::zero());
        for ((&block_mass, &block_moment), &owner) in
            blocks.peaks.iter().zip(&*blocks.score_moments).zip(&*blocks.owners)
        {
            if let (Some(mass), Some(score_moment)) =
                (mass.get_mut(whole(owner)), score_moment.get_mut(whole(owner)))
            {
                *mass += block_mass;
                *score_moment += block_moment;
            }
        }
    }

    /// Blocks of every bag in every tile. Returns how many are alive.
    pub(super) fn normalise_quads(
        &mut self,
        mut blocks: Blocks<'_, T>,
        tiles: usize,
        tempering: Tempering<T>,
    ) -> usize {
        let (bags, larger) = (self.best.len(), |a, b| if b > a { b } else { a });
        reduce_tiles(blocks.peaks, self.best, T::neg_infinity(), larger);
        let best = &*self.best;
        for_each(
            tiles.div_ceil(QUAD),
            UniformBlocks { blocks: blocks.reborrow(), size: QUAD * bags },
            |_, part| {
                dispatch(Dense { blocks: part.blocks, best, tempering });
            },
        );
        reduce_tiles(blocks.peaks, self.mass, T::zero(), |sum, x| sum + x);
        reduce_tiles(blocks.score_moments, self.score_moment, T::zero(), |sum, x| sum + x);
        dispatch(Alive(blocks.peaks))
    }
}

/// `exp(β (s - best))` of a block, its sum and `Σ e (s - best)`; zeros if no window is alive.
#[inline(always)]
fn exponential<T: Real>(
    scores: &mut [T],
    peak: &mut T,
    score_moment: &mut T,
    best: T,
    tempering: Tempering<T>,
) {
    if !tempering.is_alive(*peak, best) {
        (*peak, *score_moment) = (T::zero(), T::zero());
        return;
    }
    let (mut e, mut moments) = (T::lanes(), T::lanes());
    for ((e, moments), &s) in e.as_mut().iter_mut().zip(moments.as_mut()).zip(&*scores) {
        // Both before the choice: a loop without branches is a loop of vectors.
        let (alive, below) = (tempering.is_alive(s, best), s - best);
        let power = exp(tempering.beta * below);
        *e = if alive { power } else { T::zero() };
        *moments = *e * if alive { below } else { T::zero() }; // padding is infinitely far below
    }
    scores.copy_from_slice(e.as_ref());
    (*peak, *score_moment) = (fold_lanes::<T>(e, |a, b| a + b), fold_lanes::<T>(moments, |a, b| a + b));
}

/// Blocks with owners.
struct Listed<'a, T> {
    blocks: Blocks<'a, T>,
    best: &'a [T], // [bag]
    tempering: Tempering<T>,
}

impl<T: Real> Kernel for Listed<'_, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let Blocks { scores, peaks, score_moments, owners } = self.blocks;
        let blocks = scores.chunks_exact_mut(T::LANES).zip(peaks).zip(score_moments).zip(&*owners);
        for (((scores, peak), score_moment), &owner) in blocks {
            let best = self.best.get(whole(owner)).copied().unwrap_or(T::neg_infinity());
            exponential(scores, peak, score_moment, best, self.tempering);
        }
    }
}

/// Blocks of all bags in a quad.
struct Dense<'a, T> {
    blocks: Blocks<'a, T>,
    best: &'a [T], // [bag]
    tempering: Tempering<T>,
}

impl<T: Real> Kernel for Dense<'_, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        /// Bags from one that is worked on to the one that is fetched.
        const AHEAD: usize = 8;
        let width = (self.blocks.len() / self.best.len().max(1)).max(1);
        let Blocks { scores, peaks, score_moments, .. } = self.blocks;
        let rows = peaks.chunks_exact_mut(width).zip(score_moments.chunks_exact_mut(width));
        let mut rest = scores;
        for ((peaks, score_moments), &best) in rows.zip(self.best) {
            let Some((scores, others)) = rest.split_at_mut_checked(width * T::LANES) else { return };
            for block in 0..width {
                prefetch(others, (AHEAD * width + block) * T::LANES);
            }
            rest = others;
            for ((scores, peak), score_moment) in
                scores.chunks_exact_mut(T::LANES).zip(peaks).zip(score_moments)
            {
                exponential(scores, peak, score_moment, best, self.tempering);
            }
        }
    }
}

/// Joins for every bag a value of each of its blocks, in the order of tiles.
fn reduce_tiles<T: Real>(values: &[T], totals: &mut [T], start: T, join: impl Fn(T, T) -> T + Sync) {
    /// Bags at a time.
    const STRIPE: usize = 256;
    let bags = totals.len();
    for_each(bags.div_ceil(STRIPE), Rows::new(totals, STRIPE), |stripe, totals| {
        let (first, totals) = (stripe * STRIPE, totals.elements);
        totals.fill(start);
        for quad in values.chunks((QUAD * bags).max(1)) {
            let width = (quad.len() / bags.max(1)).max(1);
            let rows = quad.get(first * width..).unwrap_or_default().chunks_exact(width);
            for (total, values) in totals.iter_mut().zip(rows) {
                *total = values.iter().fold(*total, |total, &x| join(total, x));
            }
        }
    });
}

/// Counts blocks with a posterior.
struct Alive<'a, T>(&'a [T]);

impl<T: Real> Kernel for Alive<'_, T> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let count = |masses: &[T]| masses.iter().fold(0u32, |sum, &mass| sum + u32::from(mass > T::zero()));
        self.0.chunks(1 << 16).map(|masses| count(masses) as usize).sum()
    }
}
