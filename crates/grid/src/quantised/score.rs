//! Sums of weighted codes.

use core::marker::PhantomData;

use countgrid_counts::{Bags, Count};
use countgrid_math::{Kernel, dispatch};

use super::{Code, Parameters, code::ROW};

/// Rows whose weights are kept together: a tile's sums are loaded and stored once for so many.
const BLOCK: usize = 32;

/// One bag against a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scores<'a, C, B> {
    parameters: &'a [[u8; ROW]], // [1 + feature]
    bags: &'a B,
    bag: usize,
    exponent: i32, // F, from -126 to 126
    code: PhantomData<C>,
}

impl<'a, C: Code, B: Bags> Scores<'a, C, B> {
    /// `None` if counts are so large that `Σ c step` is not finite.
    pub(super) fn new(parameters: &'a [[u8; ROW]], bags: &'a B, bag: usize) -> Option<Self> {
        let mut scores = Self { parameters, bags, bag, exponent: 0, code: PhantomData };
        let total = scores.rows().fold(0.0f32, |total, (_, count, row)| total + count * row.step);
        if !total.is_finite() {
            return None;
        }
        // The total is at least 2^e and below 2^(e+1); but it is rounded, so the weights have the last word.
        let e = (total.to_bits() >> 23) as i32 - 127;
        scores.exponent = (C::BITS - 1 - e).clamp(-126, 126);
        while scores.rows().fold(0, |sum: u64, row| sum.saturating_add(scores.weight(&row).into()))
            > C::WEIGHTS
        {
            if scores.exponent == -126 {
                return None;
            }
            scores.exponent -= 1;
        }
        Some(scores)
    }

    /// Row, count and parameters of the prior and of every feature that occurs.
    #[inline(always)]
    pub(super) fn rows(&self) -> impl Iterator<Item = (usize, f32, Parameters)> + use<'a, C, B> {
        let parameters = self.parameters;
        let entries = self.bags.entries(self.bag).map(|(feature, count)| (feature + 1, count.to_real()));
        core::iter::once((0, 1.0)).chain(entries).filter_map(move |(row, count)| {
            parameters.get(row).map(|parameters| (row, count, Parameters::from_bytes(parameters)))
        })
    }

    /// `⌊c step 2^F⌋`
    #[inline(always)]
    fn weight(&self, &(_, count, Parameters { step, .. }): &(usize, f32, Parameters)) -> u32 {
        (count * step * self.scale()) as u32
    }

    /// `2^F`
    #[inline(always)]
    pub(super) fn scale(&self) -> f32 {
        f32::from_bits(((self.exponent + 127) as u32) << 23)
    }

    /// `2^-F`
    #[inline(always)]
    pub(super) fn unit(&self) -> f32 {
        f32::from_bits(((127 - self.exponent) as u32) << 23)
    }

    /// `Σ c reference`, prior included: products rounded, their sum as if once (Knuth's error-free addition), and in
    /// f32 because a small processor has no other floats.
    pub(super) fn references(&self) -> f64 {
        let (sum, rest) = self.rows().fold((0.0f32, 0.0f32), |(sum, rest), (_, count, row)| {
            let term = count * row.reference;
            let next = sum + term;
            let back = next - sum;
            (next, rest + ((sum - (next - back)) + (term - back)))
        });
        f64::from(sum) + f64::from(rest)
    }

    /// Writes the sums of all windows and returns the least. `codes` is `[tile][1 + feature]`, `sums` `[cell]`.
    pub(super) fn write(&self, codes: &[[u8; ROW]], sums: &mut [C::Sum]) -> C::Sum {
        sums.fill(Default::default());
        let mut rows = self.rows();
        let mut block = [(0, 0); BLOCK];
        loop {
            let mut used = 0;
            // The block first: what it has taken from the iterator is not lost.
            for (slot, row) in block.iter_mut().zip(rows.by_ref()) {
                *slot = (row.0, self.weight(&row));
                used += 1;
            }
            let block = block.get(..used).unwrap_or_default();
            if block.is_empty() {
                return sums.iter().copied().min().unwrap_or_default();
            }
            dispatch(Add::<C> { block, codes, rows: self.parameters.len(), sums });
        }
    }
}

/// Adds some rows to the sums.
struct Add<'a, C: Code> {
    block: &'a [(usize, u32)], // row, weight
    codes: &'a [[u8; ROW]],    // [tile][row]
    rows: usize,               // at least 1
    sums: &'a mut [C::Sum],
}

impl<C: Code> Kernel for Add<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (tile, sums) in self.codes.chunks_exact(self.rows.max(1)).zip(self.sums.chunks_mut(C::LANES)) {
            let mut lanes = C::lanes();
            lanes.as_mut().iter_mut().zip(&*sums).for_each(|(lane, &sum)| *lane = sum);
            for &(row, weight) in self.block {
                if let Some(codes) = tile.get(row) {
                    C::add(&mut lanes, weight, codes);
                }
            }
            sums.iter_mut().zip(lanes.as_ref()).for_each(|(sum, &lane)| *sum = lane);
        }
    }
}
