//! Annealed importance sampling.

use countgrid_math::{Real, exp, ln, log_sum_exp, softplus, sqrt};

use crate::{Harmonium, HarmoniumError, Noise, block::Block, wide::Wide};

/// An estimate of `log Z` with what it is worth.
///
/// Example: [`Harmonium::annealed_log_partition`](crate::Harmonium::annealed_log_partition).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionEstimate {
    /// `log` of the mean weight times the `Z` without couplings, in nats. The mean is unbiased, so its logarithm is low
    /// rather than high.
    pub log_partition: f64,
    /// Standard error of the logarithm, from the spread of the weights of independent chains.
    pub standard_error: f64,
    /// `(Σ w)² / Σ w²`, of the chains: near 1, the error too is a guess.
    pub effective_chains: f64,
}

impl<T: Real, S: AsRef<[T]>> Harmonium<T, S> {
    /// `log Z` without couplings, where annealing begins; of the same measure as [`Harmonium::log_partition`].
    pub(crate) fn uncoupled_log_partition(&self) -> f64 {
        let parts = self.parts();
        let mut sum = 0.0;
        if self.is_rate_adapting() {
            sum += parts.alpha.iter().fold(0.0, |sum, a| sum + exp(a.wide()));
            let topics = parts.beta.iter().zip(parts.sizes);
            return topics.fold(sum, |sum, (beta, n)| sum + n.wide() * softplus(beta.wide()));
        }
        for (alpha, n) in parts.alpha.iter().zip(parts.sizes) {
            sum += n.wide() * softplus(alpha.wide());
        }
        for (beta, s) in parts.beta.iter().zip(parts.variances) {
            let (beta, s) = (beta.wide(), s.wide());
            sum += 0.5 * (s * beta * beta + ln(2.0 * core::f64::consts::PI * s));
        }
        sum
    }

    /// `log Z` as [`Harmonium::log_partition`] defines it, of a model too large to enumerate: couplings grow from
    /// nothing to their full strength while Gibbs chains follow.
    ///
    /// `temperatures` equal steps (of `V`; rate adapting, of `W`), each with one full Gibbs step; `weights` one element
    /// a chain, their logarithms are written. `scratch`: at least [`crate::Shape::gibbs_scratch_len`].
    ///
    /// ```
    /// use countgrid_harmonium::{Draws, Harmonium, Shape};
    /// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
    /// let shape = Shape::words(2, 1)?;
    /// let model = Harmonium::new(shape, [0.0, 0.5, 0.8, -0.3, 1.0, 1.0], &mut [])?;
    /// let exact = model.log_partition(&mut vec![0.0; shape.exact_scratch_len()])?;
    /// let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(1));
    /// let mut scratch = vec![0.0; shape.gibbs_scratch_len::<f64>()];
    /// let estimate = model.annealed_log_partition(100, &mut [0.0; 200], &mut draws, &mut scratch)?;
    /// assert!((estimate.log_partition - exact).abs() < 4.0 * estimate.standard_error);
    /// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
    /// ```
    ///
    /// # Errors
    /// [`HarmoniumError::Setting`] without temperatures; [`HarmoniumError::Nothing`] for fewer than two chains;
    /// [`HarmoniumError::Scratch`], [`HarmoniumError::Rate`].
    /// # Source
    /// Neal, Annealed importance sampling, Statistics and Computing 2001; Salakhutdinov & Murray, On the quantitative
    /// analysis of deep belief networks, ICML 2008.
    pub fn annealed_log_partition(
        &self,
        temperatures: usize,
        weights: &mut [f64],
        noise: &mut impl Noise<T>,
        scratch: &mut [T],
    ) -> Result<PartitionEstimate, HarmoniumError> {
        if temperatures == 0 {
            return Err(HarmoniumError::Setting { name: "temperatures" });
        }
        if weights.len() < 2 {
            return Err(HarmoniumError::Nothing { what: "pairs of chains" });
        }
        let mut block = Block::new(self.shape(), scratch)?;
        let beta = |step: usize| step as f64 / temperatures as f64;
        for weights in weights.chunks_mut(T::LANES) {
            weights.fill(0.0);
            block.draw_uncoupled(self, weights.len(), noise)?;
            for step in 1..=temperatures {
                for (lane, weight) in weights.iter_mut().enumerate() {
                    *weight += self.annealed_energy(block.activation(lane), beta(step))
                        - self.annealed_energy(block.activation(lane), beta(step - 1));
                }
                let scale = if self.is_rate_adapting() { beta(step) } else { sqrt(beta(step)) };
                block.set_scale(T::from_f64(scale));
                if step < temperatures {
                    block.step(self, noise)?;
                }
            }
        }
        Ok(estimate(weights, self.uncoupled_log_partition()))
    }

    /// What depends on couplings in `log p*` when they count `beta`, less what does not.
    fn annealed_energy(&self, activation: &[T], beta: f64) -> f64 {
        let parts = self.parts();
        if !self.is_rate_adapting() {
            return 0.5 * beta * activation.iter().fold(0.0, |sum, a| sum + a.wide() * a.wide());
        }
        let topics = activation.iter().zip(parts.beta).zip(parts.sizes);
        topics.fold(0.0, |sum, ((a, b), n)| sum + n.wide() * softplus(b.wide() + beta * a.wide()))
    }
}

/// From the logarithms of the weights, which are equally likely.
fn estimate(weights: &[f64], start: f64) -> PartitionEstimate {
    let (chains, total) = (weights.len() as f64, log_sum_exp(weights));
    let squares = weights.iter().fold(0.0, |sum, w| {
        let share = exp(w - total);
        sum + share * share
    });
    // Relative variance of the mean: (Σw²/(Σw)² - 1/n) n/(n-1).
    let relative = ((squares - 1.0 / chains) * chains / (chains - 1.0)).max(0.0);
    PartitionEstimate {
        log_partition: start + total - ln(chains),
        standard_error: sqrt(relative),
        effective_chains: 1.0 / squares,
    }
}
