//! Coupling from the past: exact draws of words, in f64 for models of either type.

use core::marker::PhantomData;

use countgrid_em::restart_seed;
use countgrid_math::{Real, ln, ln_1p};
use rand_core::{Rng, SeedableRng};

use crate::{Harmonium, HarmoniumError, error::same_length, wide::Wide};

/// The distribution of Bernoulli words as an Ising model: `V = W Wᵀ` off the diagonal, and the fields `α_i + V_ii / 2`.
///
/// The storage is the caller's, of [`IsingModel::len`] elements.
///
/// ```
/// use countgrid_harmonium::{IsingModel, Harmonium, Shape, Uniforms};
/// use rand_chacha::ChaCha8Rng;
///
/// let model = Harmonium::new(Shape::words(2, 1)?, [0.1, -0.2, 0.5, 0.7, 1.0, 1.0], &mut [])?;
/// let ising = IsingModel::new(&model, [0.0; IsingModel::<()>::len(2)])?;
/// let (mut words, mut bounds) = ([0_u8; 2], [0.0; 6]);
/// let mut past = Uniforms::<ChaCha8Rng>::new(42);
/// let draw = ising.draw(|time, u| past.fill(time, u), 1 << 12, &mut words, &mut bounds)?;
/// assert!(draw.sweeps >= 1 && ising.is_attractive());
/// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IsingModel<S> {
    words: usize,
    storage: S, // V with a diagonal of zeros [M][M], then fields [M]
    attractive: bool,
}

/// How a perfect draw came about.
///
/// Example: [`IsingModel`](crate::IsingModel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The horizon `T`, a power of two, from which all chains met.
    pub sweeps: usize,
}

impl<S> IsingModel<S> {
    /// Elements of storage for so many words.
    #[must_use]
    pub const fn len(words: usize) -> usize {
        words * words + words
    }
    /// Whether no coupling is negative off the diagonal, so that the monotone coupling of Propp and Wilson applies.
    pub fn is_attractive(&self) -> bool {
        self.attractive
    }
}

impl<S: AsRef<[f64]>> IsingModel<S> {
    /// Couplings of a model of Bernoulli words.
    ///
    /// # Errors
    /// [`HarmoniumError::Wings`] for other words, features, or a rate adapting model; [`HarmoniumError::Length`].
    pub fn new<T: Real, M: AsRef<[T]>>(model: &Harmonium<T, M>, storage: S) -> Result<Self, HarmoniumError>
    where
        S: AsMut<[f64]>,
    {
        model.single_normal_wing()?;
        if model.sizes().iter().any(|&n| n != T::one()) {
            return Err(HarmoniumError::Wings { needs: "Bernoulli words" });
        }
        let (words, topics, mut storage) = (model.shape().word_count(), model.shape().topics(), storage);
        same_length("couplings", Self::len(words), storage.as_ref().len())?;
        let (v, fields) = storage.as_mut().split_at_mut(words * words);
        let mut attractive = true;
        for (i, (own, row)) in model.w().chunks_exact(topics).zip(v.chunks_exact_mut(words)).enumerate() {
            for (l, (other, v)) in model.w().chunks_exact(topics).zip(row).enumerate() {
                let dot = own.iter().zip(other).fold(0.0, |sum, (a, b)| sum + a.wide() * b.wide());
                *v = if i == l { 0.0 } else { dot };
                attractive &= *v >= 0.0;
                if i == l {
                    fields[i] = model.alpha()[i].wide() + 0.5 * dot;
                }
            }
        }
        Ok(Self { words, storage, attractive })
    }

    /// One exact draw of all words, by coupling from the past with heat-bath sweeps over words `0..M`.
    ///
    /// Bounds start at all words off and all words on, at horizons `T` = 1, 2, 4, ..., and every time keeps its uniform
    /// numbers: `uniforms(t, u)` fills `u` `[M]` for the sweep from time `-(t+1)` to `-t`, the same whenever it is
    /// asked. Where couplings are negative the bounds are the summary states of Childs et al. A word is on if
    /// `log(u / (1 - u))` is below its field, which is `u < σ(field)` and monotone after rounding as well.
    ///
    /// `words` `[M]` is written; `scratch`: at least `3 M` elements.
    ///
    /// # Errors
    /// [`HarmoniumError::NotCoalesced`] if the bounds have not met from the largest power of two up to `cap`;
    /// [`HarmoniumError::Length`], [`HarmoniumError::Scratch`].
    /// # Source
    /// Propp & Wilson, Exact sampling with coupled Markov chains, 1996; Childs, Patterson & MacKay, Exact sampling from
    /// nonattractive distributions using summary states, Physical Review E 2001.
    pub fn draw(
        &self,
        mut uniforms: impl FnMut(usize, &mut [f64]),
        cap: usize,
        words: &mut [u8],
        scratch: &mut [f64],
    ) -> Result<Draw, HarmoniumError> {
        same_length("words", self.words, words.len())?;
        let (bounds, rest) = crate::error::take(scratch, 2 * self.words)?;
        let (u, _) = crate::error::take(rest, self.words)?;
        let (low, high) = bounds.split_at_mut(self.words);
        let mut sweeps = 1;
        while sweeps <= cap {
            low.fill(0.0);
            high.fill(1.0);
            for time in (0..sweeps).rev() {
                uniforms(time, u);
                self.sweep(u, low, high);
            }
            if low == high {
                words.iter_mut().zip(&*low).for_each(|(x, &low)| *x = u8::from(low > 0.5));
                return Ok(Draw { sweeps });
            }
            let Some(next) = sweeps.checked_mul(2) else { break };
            sweeps = next;
        }
        Err(HarmoniumError::NotCoalesced { sweeps: cap })
    }

    /// One heat-bath sweep of both bounds under the same uniform numbers; `low ≤ high` is kept. All `[M]`, else nothing
    /// happens.
    pub fn sweep(&self, u: &[f64], low: &mut [f64], high: &mut [f64]) {
        if u.len() != self.words || low.len() != self.words || high.len() != self.words {
            return;
        }
        let (v, fields) = self.storage.as_ref().split_at(self.words * self.words);
        for (i, ((row, &field), &u)) in v.chunks_exact(self.words).zip(fields).zip(u).enumerate() {
            let (below, above) = bounds(row, low, high);
            let threshold = ln(u) - ln_1p(-u);
            low[i] = f64::from(u8::from(threshold < field + below));
            high[i] = f64::from(u8::from(threshold < field + above));
        }
    }
}

const LANES: usize = 8;

/// `Σ V⁺ low + V⁻ high` and `Σ V⁺ high + V⁻ low`: one order of additions, so that rounding keeps their order.
fn bounds(row: &[f64], low: &[f64], high: &[f64]) -> (f64, f64) {
    let (mut below, mut above) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |row: &[f64], low: &[f64], high: &[f64]| {
        let lanes = below.iter_mut().zip(&mut above);
        for ((((below, above), &v), &low), &high) in lanes.zip(row).zip(low).zip(high) {
            let (least, most) = if v < 0.0 { (high, low) } else { (low, high) };
            *below += v * least;
            *above += v * most;
        }
    };
    let (rows, lows, highs) = (row.chunks(LANES), low.chunks(LANES), high.chunks(LANES));
    rows.zip(lows).zip(highs).for_each(|((row, low), high)| add(row, low, high));
    let fold = |x: [f64; LANES]| ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    (fold(below), fold(above))
}

/// Uniform numbers that belong to a time: a generator is seeded anew for each, so nothing is kept and nothing is
/// redrawn.
///
/// Example: [`IsingModel`](crate::IsingModel).
#[derive(Clone, Copy, Debug)]
pub struct Uniforms<R> {
    seed: u64,
    generator: PhantomData<R>,
}

impl<R: SeedableRng + Rng> Uniforms<R> {
    /// The numbers of one draw; every draw needs a different seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, generator: PhantomData }
    }

    /// The numbers of one time, in `[0, 1)`: the upper 53 bits of 64-bit words.
    pub fn fill(&mut self, time: usize, u: &mut [f64]) {
        let mut rng = R::seed_from_u64(restart_seed(self.seed, time.wrapping_add(1)));
        let unit = 1.0 / (1_u64 << 53) as f64;
        u.iter_mut().for_each(|u| *u = (rng.next_u64() >> 11) as f64 * unit);
    }
}
