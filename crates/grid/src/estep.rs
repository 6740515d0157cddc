//! The E-step on a chunk of bags: score every window, normalise, add to the windows' counts.
//!
//! Tiles are the outer loop, bags the middle, a bag's counts the inner, so that a tile of the table stays in
//! cache and a bag's scores for it in registers. There is never a bags-by-cells matrix, only a
//! chunk-by-cells one in the caller's scratch, and its size changes no result.

use countgrid_counts::{Bags, Count};
use countgrid_math::{Kernel, Real, dispatch, exp, ln, sum};

use crate::{Cut, tiles::Tiles};

/// Scores, then posteriors, of a few bags: `[tile][bag][lane]`, with the best of every row.
#[derive(Debug)]
pub(crate) struct Chunk<'a, T> {
    bags: usize,
    scores: &'a mut [T], // [tile][bag][lane]
    peaks: &'a mut [T],  // [tile][bag]
}

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
    best: T,
    heat: Heat<T>,
}

impl<'a, T: Real> Chunk<'a, T> {
    /// A chunk of `bags` in scratch that has [`crate::Shape::posterior_scratch_len`] elements for them.
    pub(crate) fn new<const D: usize>(tiles: &Tiles<D>, bags: usize, scratch: &'a mut [T]) -> Self {
        let (scores, rest) = scratch.split_at_mut(tiles.slots() * bags);
        Self { bags, scores, peaks: &mut rest[..tiles.count() * bags] }
    }

    /// `s_tk = log p_k + Σ_z c_tz log h_kz` for the chunk's bags, the first of which is `first`.
    pub(crate) fn score<B: Bags>(&mut self, table: &[T], rows: usize, bags: &B, first: usize) {
        let (width, lanes) = (self.bags, T::LANES);
        for ((table, scores), peaks) in table
            .chunks_exact(rows * lanes)
            .zip(self.scores.chunks_exact_mut(width * lanes))
            .zip(self.peaks.chunks_exact_mut(width))
        {
            dispatch(ScoreTile { table, bags, first, scores, peaks });
        }
    }

    /// Turns a bag's scores into its posterior. `None` if its counts overflow the float type.
    pub(crate) fn normalise(&mut self, bag: usize, heat: Heat<T>) -> Option<Placed<T>> {
        dispatch(Normalise { chunk: self, bag, heat })
    }

    /// A bag's posterior in a tile, unless it is zero there altogether.
    #[inline(always)]
    pub(crate) fn alive(&self, tile: usize, bag: usize, placed: &Placed<T>) -> Option<&[T]> {
        let row = tile * self.bags + bag;
        let peak = *self.peaks.get(row)?;
        if !placed.heat.is_alive(peak, placed.best) {
            return None;
        }
        self.scores.get(row * T::LANES..(row + 1) * T::LANES)
    }

    /// `F_kz += q_tk c_tz` and `m_k += q_tk` for the chunk's bags, which have been normalised. Every entry
    /// meets the bags in order.
    ///
    /// [`Normalise`] marks what it left at zero, so the peaks alone tell which tiles to visit.
    pub(crate) fn accumulate<B: Bags>(&self, sums: &mut [T], rows: usize, bags: &B, first: usize) {
        let (width, lanes) = (self.bags, T::LANES);
        for ((sums, q), peaks) in sums
            .chunks_exact_mut(rows * lanes)
            .zip(self.scores.chunks_exact(width * lanes))
            .zip(self.peaks.chunks_exact(width))
        {
            dispatch(AccumulateTile { sums, bags, first, q, peaks });
        }
    }
}

/// Scores of a chunk's bags in one tile.
struct ScoreTile<'a, T, B> {
    table: &'a [T], // [row][lane]
    bags: &'a B,
    first: usize,
    scores: &'a mut [T], // [bag][lane]
    peaks: &'a mut [T],  // [bag]
}

impl<T: Real, B: Bags> Kernel for ScoreTile<'_, T, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let lanes = T::LANES;
        let (prior, table) = self.table.split_at(lanes);
        for (offset, (scores, peak)) in self.scores.chunks_exact_mut(lanes).zip(self.peaks).enumerate() {
            let mut s = T::lanes();
            let s = s.as_mut();
            s.copy_from_slice(prior);
            for (feature, count) in self.bags.entries(self.first + offset) {
                let count = count.to_real::<T>();
                let Some(row) = table.get(feature * lanes..(feature + 1) * lanes) else { continue };
                s.iter_mut().zip(row).for_each(|(s, &log_h)| *s += count * log_h);
            }
            *peak = s.iter().fold(T::neg_infinity(), |peak, &s| if s > peak { s } else { peak });
            scores.copy_from_slice(s);
        }
    }
}

/// One bag's posterior from its scores.
struct Normalise<'c, 'a, T> {
    chunk: &'c mut Chunk<'a, T>,
    bag: usize,
    heat: Heat<T>,
}

impl<T: Real> Kernel for Normalise<'_, '_, T> {
    type Output = Option<Placed<T>>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { chunk, bag, heat } = self;
        let (width, lanes) = (chunk.bags, T::LANES);
        let peaks = chunk.peaks.iter().skip(bag).step_by(width);
        let best = peaks.fold(T::neg_infinity(), |best, &peak| if peak > best { peak } else { best });
        if !best.is_finite() {
            return None;
        }
        // mass = Σ exp(β (s - best)), tilt = Σ exp(β (s - best)) (s - best), both by lanes and then a tree.
        let (mut mass, mut tilt) = (T::lanes(), T::lanes());
        let rows = chunk.scores.chunks_exact_mut(lanes).skip(bag).step_by(width);
        for (scores, &peak) in rows.zip(chunk.peaks.iter().skip(bag).step_by(width)) {
            if !heat.is_alive(peak, best) {
                continue;
            }
            for ((s, mass), tilt) in scores.iter_mut().zip(mass.as_mut()).zip(tilt.as_mut()) {
                let below = *s - best;
                // exp before the choice: a loop without branches is a loop of vectors.
                let e = exp(heat.beta * below);
                let (e, below) = if heat.is_alive(*s, best) { (e, below) } else { (T::zero(), T::zero()) };
                *s = e;
                *mass += e;
                *tilt += e * below;
            }
        }
        let mass = sum(mass.as_ref());
        let mean = sum(tilt.as_ref()) / mass;
        let rows = chunk.scores.chunks_exact_mut(lanes).skip(bag).step_by(width);
        for (scores, peak) in rows.zip(chunk.peaks.iter_mut().skip(bag).step_by(width)) {
            if heat.is_alive(*peak, best) {
                scores.iter_mut().for_each(|q| *q /= mass);
            } else {
                *peak = T::neg_infinity();
            }
        }
        let entropy = ln(mass) - heat.beta * mean;
        let entropy = if entropy > T::zero() { entropy } else { T::zero() };
        // At β = 1 the means cancel: the bound is the log evidence.
        let bound = if heat.beta == T::one() { best + ln(mass) } else { best + mean + entropy };
        Some(Placed { bound, entropy, best, heat })
    }
}

/// Posteriors of a chunk's bags into the counts of one tile's windows.
struct AccumulateTile<'a, T, B> {
    sums: &'a mut [T], // [row][lane]
    bags: &'a B,
    first: usize,
    q: &'a [T],     // [bag][lane]
    peaks: &'a [T], // [bag]
}

impl<T: Real, B: Bags> Kernel for AccumulateTile<'_, T, B> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let lanes = T::LANES;
        let (mass, sums) = self.sums.split_at_mut(lanes);
        for (offset, (lane_q, &peak)) in self.q.chunks_exact(lanes).zip(self.peaks).enumerate() {
            if peak == T::neg_infinity() {
                continue;
            }
            let mut q = T::lanes();
            let q = q.as_mut();
            q.copy_from_slice(lane_q);
            mass.iter_mut().zip(&*q).for_each(|(m, &q)| *m += q);
            for (feature, count) in self.bags.entries(self.first + offset) {
                let count = count.to_real::<T>();
                let Some(row) = sums.get_mut(feature * lanes..(feature + 1) * lanes) else { continue };
                row.iter_mut().zip(&*q).for_each(|(f, &q)| *f += count * q);
            }
        }
    }
}
