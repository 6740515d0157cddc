//! How far a quantised posterior can be from an exact one.

use countgrid_counts::Bags;
use countgrid_math::{Real, exp, ln};

use super::{Code, QuantisedHistograms, score::Scores};
use crate::{GridError, PosteriorThreshold, estep::Tempering};

/// How far the posterior and the log evidence of one bag can be from those that exact arithmetic finds with the table
/// that was packed.
///
/// Example: [`QuantisedHistograms`](crate::QuantisedHistograms).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ErrorBound {
    /// How far the score of a window is off at most, in nats.
    pub score: f64,
    /// Total variation, `½ Σ_k |q_k - q'_k|`.
    pub total_variation: f64,
    /// Log evidence, in nats.
    pub log_evidence: f64,
}

impl<C: Code, S: AsRef<[u8]>, const D: usize> QuantisedHistograms<C, S, D> {
    /// Bounds the error of [`QuantisedHistograms::posterior`] for bag `t`.
    ///
    /// With `M` the largest code, `S = Σ_z c_z step_z` over the bag's `n` features and the prior, and `u = 2⁻²⁴`, the
    /// score of a window is off by at most
    ///
    /// ```text
    /// ε =   S / 2               a logarithm is within half a step of its code
    ///     + M (n + 1) 2^-F      weights are rounded down
    ///     + M S 3u              counts, and their products with steps, are rounded to f32
    ///     + u (threshold + 2)         scores above the least, up to the threshold, become f32; and so do their
    //exponentials
    /// ```
    ///
    /// and for what is of second order all of it times `1 + 2⁻¹⁰`.
    ///
    /// **Total variation.** If every score is off by at most `ε`, the odds of any set of windows change by a factor
    /// from `e^-2ε` to `e^2ε`. So the probability of a set, `σ(x)`, becomes at most `σ(x + 2ε)`; that rise is largest
    /// around a half, for `x = -ε`, where it is `σ(ε) - σ(-ε) = tanh(ε / 2)`; and total variation is the largest rise
    /// of the probability of a set. To this come `u` for the windows that the threshold leaves out, and for the sum
    /// that divides all, of `P` windows in 16 lanes, `(P / 16 + 8) u`.
    ///
    /// **Log evidence.** `log Σ_k exp s_k` moves by no more than its scores, `ε`, and what was said of the sum. To
    /// this come roundings of the terms between which it is: `4u (Σ_z c_z |reference_z| + M S + log P)`.
    ///
    /// # Errors
    /// [`GridError::Features`], [`GridError::NoSuchBag`], [`GridError::Overflow`].
    pub fn error_bound<B: Bags>(&self, bags: &B, t: usize) -> Result<ErrorBound, GridError> {
        self.check(bags, t)?;
        let scores = Scores::<C, _>::new(self.parameters(), bags, t).ok_or(GridError::Overflow { bag: t })?;
        let [mut rows, mut steps, mut references] = [0.0f64; 3];
        for (_, count, row) in scores.rows() {
            rows += 1.0;
            steps += f64::from(count) * f64::from(row.step);
            references += f64::from(count) * f64::from(row.reference).abs();
        }
        let (u, most) = (f64::from(f32::UNIT_ROUNDOFF), f64::from(C::MOST));
        let cells = self.shape.cells() as f64;
        let unit = f64::from(scores.unit());
        let threshold =
            f64::from(Tempering::new(1.0f32, PosteriorThreshold::Rounding, self.shape.cells()).threshold());
        let slack = 1.0 + 1.0 / 1024.0;
        let score =
            slack * (steps / 2.0 + most * rows * unit + most * steps * 3.0 * u + u * (threshold + 2.0));
        let sum = (cells / 16.0 + 9.0) * u;
        // tanh(ε / 2) = (1 - e^-ε) / (1 + e^-ε)
        let rise = -countgrid_math::exp_m1(-score) / (1.0 + exp(-score));
        Ok(ErrorBound {
            score,
            total_variation: rise + sum,
            log_evidence: score + sum + 4.0 * u * (references + most * steps + ln(cells)),
        })
    }
}
