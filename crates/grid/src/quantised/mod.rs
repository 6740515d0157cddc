//! Inference in fixed point: tables of 8-bit or 16-bit codes, scores in integers.

mod bound;
mod code;
mod score;

use core::marker::PhantomData;

use countgrid_counts::Bags;
use countgrid_math::{Real, exp, ln, sum};

pub use self::{bound::ErrorBound, code::Code};
use self::{code::ROW, score::Scores};
use crate::{
    GridError, LogHistograms, PosteriorThreshold, Shape,
    error::{long_enough, same_length},
    estep::Tempering,
};

/// [`LogHistograms`] in an eighth to a quarter of their memory: logarithms as codes of 8 bits (`C = u8`) or 16
/// (`C = u16`), scored in integers.
///
/// Row 0 is the log prior, row `1 + z` the logarithms of feature `z`, floored as in [`LogHistograms`]. A row has a
/// *reference*, its largest logarithm, and a *step*, its range divided by the largest code; the logarithm at window
/// `k` is `reference - step · code_k`. References cancel in a posterior and are added to the evidence.
///
/// The storage is bytes, little-endian on every machine and read where they are: an array, a table in flash, part of
/// a file at any address. Rows are 8 bytes long:
///
/// - `parameters` `[1 + feature]`: reference and step, two `f32`;
/// - `codes` `[tile][1 + feature][lane]`: a tile is 8 consecutive windows (`u8`) or 4 (`u16`), as many as have their
///   sums in the registers of a small processor. Lanes beyond the last window are padding.
///
/// # Scores
///
/// For a bag with `S = Σ_z c_z step_z`, prior included, integer weights `w_z = ⌊c_z step_z 2^F⌋` have an `F` with which
/// they add up to at most 2²⁴ (`u8`, sums in `u32`) or 2³² - 1 (`u16`, sums in `u64`), and `S 2^F` to about half of
/// that or more. So `a_k = Σ_z w_z code_zk` cannot overflow, is the same in any order, and has an exact minimum `a`;
/// and `q_k ∝ exp(-(a_k - a) 2^-F)`. [`QuantisedHistograms::error_bound`] bounds the error.
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_grid::{Grid, LogHistograms, QuantisedHistograms, Shape, constant};
///
/// const SHAPE: Shape<1> = constant!(Shape::from_sides([4], [2], 3));
/// let pi = [0.8f32, 0.1, 0.1, 0.1, 0.1, 0.8, 0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.25, 0.25, 0.25, 0.25];
/// let grid = Grid::new(SHAPE, pi)?;
/// let mut scratch = [0.0; SHAPE.scratch_len::<f32>(1)];
/// let histograms = LogHistograms::pack(&grid, [0.0; SHAPE.histograms_len::<f32>()], &mut scratch)?;
///
/// let mut codes = [0; SHAPE.quantised_len::<u8>()];
/// QuantisedHistograms::<u8, _, 1>::pack(&histograms, &mut codes, &mut scratch)?;
/// assert_eq!(codes.len(), 64); // the f32 table has 67 numbers
///
/// let small = QuantisedHistograms::<u8, _, 1>::new(SHAPE, codes.as_slice())?; // what flash would hold
/// let bag = Bag::new(3, &[2], &[9u16])?; // nine times the last feature
/// let (mut q, mut sums) = ([0.0; SHAPE.cells()], [0; SHAPE.quantised_scratch_len()]);
/// let log_evidence = small.posterior(&bag, 0, &mut q, &mut sums)?;
/// assert!(q[2] > 0.9);
/// let bound = small.error_bound(&bag, 0)?;
/// let exact = histograms.posterior(&bag, 0, &mut q, &mut scratch)?;
/// assert!(f64::from((log_evidence - exact).abs()) <= bound.log_evidence + 1e-5);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct QuantisedHistograms<C, S, const D: usize> {
    shape: Shape<D>,
    storage: S, // of length `shape.quantised_len()`; steps at least 0, parameters finite
    code: PhantomData<C>,
}

impl<const D: usize> Shape<D> {
    /// Bytes of the buffer of [`QuantisedHistograms`].
    #[must_use]
    pub const fn quantised_len<C: Code>(&self) -> usize {
        // Shapes are refused whose planes, padded to tiles of 16 cells, do not fit with elements of 8 bytes.
        ROW * (self.features() + 1) * (1 + self.cells().div_ceil(C::LANES))
    }

    /// Elements of scratch for [`QuantisedHistograms::posterior`]: a sum for each window.
    #[must_use]
    pub const fn quantised_scratch_len(&self) -> usize {
        self.cells()
    }
}

impl<C: Code, S: AsRef<[u8]>, const D: usize> QuantisedHistograms<C, S, D> {
    /// Takes a table as [`QuantisedHistograms::pack`] wrote it.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Probability`] for a reference that is not finite or above zero by more than
    /// rounding; [`GridError::Step`] for a step that is negative or not finite.
    pub fn new(shape: Shape<D>, storage: S) -> Result<Self, GridError> {
        same_length("codes", shape.quantised_len::<C>(), storage.as_ref().len())?;
        let table = Self { shape, storage, code: PhantomData };
        for (row, parameters) in table.parameters().iter().enumerate() {
            let Parameters { reference, step } = Parameters::from_bytes(parameters);
            // As for `LogHistograms`: means of probabilities that sum to one within rounding.
            if !(reference <= 1e-3 && reference.is_finite()) {
                let feature = row.saturating_sub(1);
                return Err(GridError::Probability { table: "references", feature, cell: 0 });
            }
            if !(step >= 0.0 && step.is_finite()) {
                return Err(GridError::Step { row });
            }
        }
        Ok(table)
    }

    /// The shape.
    pub fn shape(&self) -> &Shape<D> {
        &self.shape
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.storage.as_ref()
    }

    fn rows(&self) -> &[[u8; ROW]] {
        self.storage.as_ref().as_chunks().0
    }

    /// `[1 + feature]`
    fn parameters(&self) -> &[[u8; ROW]] {
        self.rows().get(..self.shape.features() + 1).unwrap_or_default()
    }

    /// `[tile][1 + feature]`
    fn codes(&self) -> &[[u8; ROW]] {
        self.rows().get(self.shape.features() + 1..).unwrap_or_default()
    }

    fn check<B: Bags>(&self, bags: &B, t: usize) -> Result<(), GridError> {
        let (expected, found) = (self.shape.features(), bags.features());
        if expected != found {
            return Err(GridError::Features { expected, found });
        }
        if t >= bags.len() {
            return Err(GridError::NoSuchBag { bag: t, bags: bags.len() });
        }
        Ok(())
    }

    /// The posterior of bag `t` of a data set: writes `q` `[cell]` over windows and returns the log evidence
    /// `log p(c)` in nats, without the multinomial coefficient.
    ///
    /// Windows far below the best get exactly zero ([`PosteriorThreshold::Rounding`]). An empty bag has the prior as
    /// its posterior.
    ///
    /// `scratch`: at least [`Shape::quantised_scratch_len`] elements, overwritten.
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Features`], [`GridError::NoSuchBag`], [`GridError::Overflow`].
    /// # Source
    /// Jojic & Perina 2011, Eq. 3; with the location prior the journal paper's Eq. 3.
    pub fn posterior<B: Bags>(
        &self,
        bags: &B,
        t: usize,
        q: &mut [f32],
        scratch: &mut [C::Sum],
    ) -> Result<f32, GridError> {
        let cells = self.shape.cells();
        same_length("q", cells, q.len())?;
        let found = scratch.len();
        let sums =
            scratch.get_mut(..cells).ok_or(GridError::Length { table: "scratch", expected: cells, found })?;
        self.check(bags, t)?;
        let overflow = GridError::Overflow { bag: t };
        let scores = Scores::<C, _>::new(self.parameters(), bags, t).ok_or(overflow)?;
        let references = scores.references();
        let least = scores.write(self.codes(), sums);

        let limit = C::limit(
            Tempering::new(1.0f32, PosteriorThreshold::Rounding, cells).threshold() * scores.scale(),
        );
        for (q, &sum) in q.iter_mut().zip(&*sums) {
            *q = C::above(sum, least, limit).map_or(0.0, |above| exp(-(above * scores.unit())));
        }
        let mass = sum(q);
        q.iter_mut().for_each(|q| *q /= mass);
        // Between large numbers; the differences are what counts.
        let best = references - f64::from(C::to_f32(least) * scores.unit());
        let log_evidence = (best + f64::from(ln(mass))) as f32;
        if log_evidence.is_finite() { Ok(log_evidence) } else { Err(overflow) }
    }
}

impl<C: Code, S: AsRef<[u8]> + AsMut<[u8]>, const D: usize> QuantisedHistograms<C, S, D> {
    /// Rounds a table to codes.
    ///
    /// `scratch`: at least [`Shape::cells`] elements.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Probability`] for a logarithm that is not finite.
    pub fn pack<T: Real, H: AsRef<[T]>>(
        histograms: &LogHistograms<T, H, D>,
        mut storage: S,
        scratch: &mut [T],
    ) -> Result<Self, GridError> {
        let shape = *histograms.shape();
        same_length("codes", shape.quantised_len::<C>(), storage.as_ref().len())?;
        let (cells, rows) = (shape.cells(), shape.features() + 1);
        long_enough("scratch", cells, scratch.len())?;
        let plane = scratch.get_mut(..cells).unwrap_or_default();
        let (packed, references) = histograms.packed();
        let (parameters, codes) = storage.as_mut().as_chunks_mut().0.split_at_mut(rows);
        for (row, parameters) in parameters.iter_mut().enumerate() {
            histograms.tiles().unpack(packed, row, rows, plane);
            let logs = || plane.iter().map(|&log| log.to_f64());
            let (least, most) = logs().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), log| {
                (least.min(log), most.max(log))
            });
            let reference = row.checked_sub(1).and_then(|z| references.get(z)).map_or(0.0, |&r| r.to_f64());
            let found = Parameters {
                reference: (reference + most) as f32,
                step: ((most - least) / f64::from(C::MOST)) as f32,
            };
            if !(found.reference.is_finite() && found.step.is_finite()) {
                let feature = row.saturating_sub(1);
                return Err(GridError::Probability { table: "log_histograms", feature, cell: 0 });
            }
            *parameters = found.to_bytes();
            for (tile, logs) in plane.chunks(C::LANES).enumerate() {
                let Some(row) = codes.get_mut(tile * rows + row) else { continue };
                *row = [0; ROW];
                for (lane, &log) in logs.iter().enumerate() {
                    let steps = (most - log.to_f64()) / f64::from(found.step);
                    C::put(row, lane, ((steps + 0.5) as u32).min(C::MOST)); // 0 / 0 becomes 0
                }
            }
        }
        Ok(Self { shape, storage, code: PhantomData })
    }
}

/// How the codes of a row are meant.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    reference: f32,
    step: f32,
}

impl Parameters {
    #[inline(always)]
    fn from_bytes(&[a, b, c, d, e, f, g, h]: &[u8; ROW]) -> Self {
        Self { reference: f32::from_le_bytes([a, b, c, d]), step: f32::from_le_bytes([e, f, g, h]) }
    }

    fn to_bytes(self) -> [u8; ROW] {
        let [a, b, c, d] = self.reference.to_le_bytes();
        let [e, f, g, h] = self.step.to_le_bytes();
        [a, b, c, d, e, f, g, h]
    }
}
