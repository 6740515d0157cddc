//! Metropolis-Hastings over couplings, the reference for Langevin sampling.

use countgrid_counts::Bags;
use countgrid_em::restart_seed;
use countgrid_math::{Real, exp, ln, log_sum_exp};
use rand_core::{Rng, SeedableRng};

use crate::{
    Gradient, Harmonium, HarmoniumError, IsingModel, Noise, Prior, Uniforms,
    error::{same_length, take},
    wide::Wide,
};

/// Proposals made and taken.
///
/// Example: [`Draws`](crate::Draws).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Acceptance {
    /// How many moves were proposed.
    pub proposed: u64,
    /// How many were accepted.
    pub accepted: u64,
}

impl Acceptance {
    /// Takes note of one proposal.
    pub fn count(&mut self, accepted: bool) {
        self.proposed += 1;
        self.accepted += u64::from(accepted);
    }
    /// The share that was accepted; 0 before the first.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.proposed == 0 { 0.0 } else { self.accepted as f64 / self.proposed as f64 }
    }
}

impl<T: Real, S: AsRef<[T]>> Harmonium<T, S> {
    /// `log p*(X | W') - log p*(X | W) = ½ Σ_n x_nᵀ (V' - V) x_n`, of single wings of normal topics that differ in their
    /// couplings. `scratch`: `J` elements.
    ///
    /// # Errors
    /// [`HarmoniumError::Wings`], [`HarmoniumError::ShapeMismatch`], [`HarmoniumError::Words`],
    /// [`HarmoniumError::Count`], [`HarmoniumError::Scratch`].
    pub fn log_ratio<O: AsRef<[T]>, B: Bags>(
        &self,
        proposed: &Harmonium<T, O>,
        bags: &B,
        scratch: &mut [T],
    ) -> Result<f64, HarmoniumError> {
        let mut sum = 0.0;
        self.each_log_ratio(proposed, bags, scratch, |_, ratio| sum += ratio)?;
        Ok(sum)
    }

    fn each_log_ratio<O: AsRef<[T]>, B: Bags>(
        &self,
        proposed: &Harmonium<T, O>,
        bags: &B,
        scratch: &mut [T],
        mut f: impl FnMut(usize, f64),
    ) -> Result<(), HarmoniumError> {
        self.single_normal_wing()?;
        self.same_shape(proposed.shape())?;
        self.check_batch(bags, &[])?;
        let (h, _) = take(scratch, self.shape().topics())?;
        for document in 0..bags.len() {
            proposed.activation(bags, document, &[], h);
            let after = proposed.topic_energy(h);
            self.activation(bags, document, &[], h);
            f(document, after - self.topic_energy(h));
        }
        Ok(())
    }

    /// The estimate of `log Z(W) - log Z(W')` from samples `Y` of the proposed model: `log mean exp ½ yᵀ(V - V')y`.
    ///
    /// Consistent with perfect samples. With brief ones the chain of Eq. 12 can be transient: prefer
    /// [`Harmonium::exchange`], or Langevin steps. `logs`: an element a sample, written; `scratch`: `J` elements.
    ///
    /// # Errors
    /// As [`Harmonium::log_ratio`]; [`HarmoniumError::Length`], [`HarmoniumError::Nothing`].
    /// # Source
    /// Eqs. 11 and 12 of the Bayesian exponential family harmonium paper (BEFH).
    pub fn log_partition_ratio<O: AsRef<[T]>, B: Bags>(
        &self,
        proposed: &Harmonium<T, O>,
        samples: &B,
        logs: &mut [f64],
        scratch: &mut [T],
    ) -> Result<f64, HarmoniumError> {
        same_length("logs", samples.len(), logs.len())?;
        if logs.is_empty() {
            return Err(HarmoniumError::Nothing { what: "samples" });
        }
        self.each_log_ratio(proposed, samples, scratch, |sample, ratio| logs[sample] = -ratio)?;
        Ok(log_sum_exp(logs) - ln(logs.len() as f64))
    }

    /// The logarithm of the acceptance ratio of a symmetric proposal, given `N [log Z(W) - log Z(W')]` or what stands
    /// for it: the exact value, `N` times [`Harmonium::log_partition_ratio`], or for an exchange step
    /// `-log_ratio(proposed, Y)` of as many perfect samples of the proposed model as there are documents.
    ///
    /// # Errors
    /// As [`Harmonium::log_ratio`] and [`Prior::log_density`].
    /// # Source
    /// Eq. 11 of the Bayesian exponential family harmonium paper (BEFH).
    pub fn log_acceptance<O: AsRef<[T]>, B: Bags, P: AsRef<[T]>>(
        &self,
        proposed: &Harmonium<T, O>,
        bags: &B,
        prior: &Prior<T, P>,
        log_partitions: f64,
        scratch: &mut [T],
    ) -> Result<f64, HarmoniumError> {
        let priors = prior.log_density(proposed)? - prior.log_density(self)?;
        Ok(priors + self.log_ratio(proposed, bags, scratch)? + log_partitions)
    }
}

/// Memory and settings of [`Harmonium::exchange`].
///
/// Example: [`Draws`](crate::Draws).
#[derive(Debug)]
pub struct Exchange<'a, T> {
    /// Standard deviation of the random walk of every coupling.
    pub spread: T,
    /// Cap of the sweeps of a perfect draw.
    pub cap: usize,
    /// Tables of the proposed model, [`crate::Shape::model_len`].
    pub proposal: &'a mut [T],
    /// [`IsingModel::len`] and `3 M` elements more.
    pub couplings: &'a mut [f64],
    /// A perfect draw, `M`.
    pub words: &'a mut [u8],
    /// `2 J` elements.
    pub topics: &'a mut [T],
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Harmonium<T, S> {
    /// One exchange step of the couplings of Bernoulli words; whether it was accepted. It leaves the posterior exactly
    /// invariant: for every document a perfect sample is drawn at the proposal, and the intractable `Z` cancel.
    ///
    /// `seed` gives the perfect draws their past, by generators `R`; the random walk and the decision come from `noise`.
    ///
    /// # Errors
    /// [`HarmoniumError::Wings`], [`HarmoniumError::Words`], [`HarmoniumError::Count`], [`HarmoniumError::Length`],
    /// [`HarmoniumError::Scratch`]; [`HarmoniumError::NotCoalesced`] beyond the cap, and nothing has then changed.
    /// # Source
    /// Murray, Ghahramani & MacKay, MCMC for doubly-intractable distributions, UAI 2006.
    pub fn exchange<R: SeedableRng + Rng, B: Bags, P: AsRef<[T]>>(
        &mut self,
        bags: &B,
        prior: &Prior<T, P>,
        seed: u64,
        noise: &mut impl Noise<T>,
        exchange: Exchange<'_, T>,
    ) -> Result<bool, HarmoniumError> {
        let Exchange { spread, cap, proposal, couplings, words, topics } = exchange;
        if !(spread > T::zero() && spread.is_finite()) {
            return Err(HarmoniumError::Setting { name: "spread" });
        }
        let shape = *self.shape();
        same_length("proposal", shape.model_len(), proposal.len())?;
        same_length("words", shape.word_count(), words.len())?;
        proposal.copy_from_slice(countgrid_em::Tables::buffer(self));
        let walk = proposal.iter_mut().skip(shape.word_count()).take(shape.couplings_len());
        walk.for_each(|w| *w += spread * noise.normal());
        let proposed = Harmonium::new(shape, &*proposal, &mut [])?;
        let (storage, bounds) = take(couplings, IsingModel::<()>::len(shape.word_count()))?;
        let ising = IsingModel::new(&proposed, storage)?;
        let mut exchanged = 0.0;
        let (own, other) = take(topics, shape.topics())?;
        for document in 0..bags.len() {
            let mut past = Uniforms::<R>::new(restart_seed(seed, document.wrapping_add(1)));
            ising.draw(|time, u| past.fill(time, u), cap, words, bounds)?;
            let sample = countgrid_counts::Dense::new(words.len(), &*words);
            let sample = sample.map_err(|_| HarmoniumError::Nothing { what: "words" })?;
            exchanged += self.log_ratio(&proposed, &sample, own)?;
        }
        let log_ratio = self.log_acceptance(&proposed, bags, prior, -exchanged, other)?;
        let accepted = noise.uniform().wide() < exp(log_ratio.min(0.0));
        if accepted {
            let [_, w, ..] = self.learned_mut();
            w.iter_mut().zip(proposal.iter().skip(shape.word_count())).for_each(|(w, &new)| *w = new);
        }
        Ok(accepted)
    }
}

/// Memory of [`Harmonium::adjusted_langevin`].
///
/// Example: [`Draws`](crate::Draws).
#[derive(Debug)]
pub struct Adjusted<'a, T> {
    /// Tables of the proposed model, [`crate::Shape::model_len`].
    pub proposal: &'a mut [T],
    /// [`crate::Shape::gradient_len`].
    pub gradient: &'a mut [T],
    /// [`crate::Shape::gradient_len`].
    pub expectations: &'a mut [f64],
    /// [`crate::Shape::exact_scratch_len`].
    pub exact: &'a mut [f64],
    /// [`crate::Shape::gibbs_scratch_len`].
    pub scratch: &'a mut [T],
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Harmonium<T, S> {
    /// One Langevin step of the couplings of a single wing, adjusted by Metropolis with the exact `log Z` (MALA);
    /// whether it was accepted. Exact up to rounding, and for models that can be enumerated.
    ///
    /// # Errors
    /// As [`Harmonium::log_posterior`] and [`Harmonium::add_data`]; [`HarmoniumError::Diverged`].
    /// # Source
    /// Roberts & Tweedie, Exponential convergence of Langevin distributions, Bernoulli 1996.
    pub fn adjusted_langevin<B: Bags, P: AsRef<[T]>>(
        &mut self,
        bags: &B,
        prior: &Prior<T, P>,
        epsilon: f64,
        noise: &mut impl Noise<T>,
        memory: Adjusted<'_, T>,
    ) -> Result<bool, HarmoniumError> {
        let Adjusted { proposal, gradient, expectations, exact, scratch } = memory;
        self.single_normal_wing()?;
        prior.check_rows(self.shape())?;
        let shape = *self.shape();
        same_length("proposal", shape.model_len(), proposal.len())?;
        let couplings = shape.word_count()..shape.word_count() + shape.couplings_len();
        let half = 0.5 * epsilon * epsilon;
        proposal.copy_from_slice(countgrid_em::Tables::buffer(self));
        let here = self.slope(bags, prior, &mut *gradient, &mut *expectations, exact, scratch)?;
        let slopes = gradient.get(couplings.clone()).unwrap_or_default();
        let mut forward = 0.0; // squared length of the noise
        for (w, slope) in proposal.iter_mut().skip(couplings.start).zip(slopes) {
            let n = noise.normal();
            let target = *w + T::from_f64(half * slope.wide()) + T::from_f64(epsilon) * n;
            if !target.is_finite() {
                return Err(HarmoniumError::Diverged { table: "w", step: epsilon });
            }
            let d = target.wide() - w.wide() - half * slope.wide();
            forward += d * d;
            *w = target;
        }
        let proposed = Harmonium::new(shape, &*proposal, &mut [])?;
        let there = proposed.slope(bags, prior, &mut *gradient, expectations, exact, scratch)?;
        let slopes = gradient.get(couplings).unwrap_or_default();
        let backward = proposed.w().iter().zip(self.w()).zip(slopes).fold(0.0, |sum, ((new, old), slope)| {
            let d = old.wide() - new.wide() - half * slope.wide();
            sum + d * d
        });
        let log_ratio = there - here + (forward - backward) / (2.0 * epsilon * epsilon);
        let accepted = noise.uniform().wide() < exp(log_ratio.min(0.0));
        if accepted {
            let [_, w, ..] = self.learned_mut();
            w.iter_mut().zip(proposal.iter().skip(shape.word_count())).for_each(|(w, &new)| *w = new);
        }
        Ok(accepted)
    }
}

impl<T: Real, S: AsRef<[T]>> Harmonium<T, S> {
    /// The gradient of the log posterior in `gradient`, and the log posterior.
    fn slope<B: Bags, P: AsRef<[T]>>(
        &self,
        bags: &B,
        prior: &Prior<T, P>,
        gradient: &mut [T],
        expectations: &mut [f64],
        exact: &mut [f64],
        scratch: &mut [T],
    ) -> Result<f64, HarmoniumError> {
        let (shape, topics) = (*self.shape(), self.shape().topics());
        let mut expected = Gradient::new(shape, expectations)?;
        self.expectations(&mut expected, exact)?;
        let mut sums = Gradient::new(shape, gradient)?;
        sums.parts_mut().into_iter().for_each(|table| table.fill(T::zero()));
        self.add_data(bags, &[], T::one(), &mut sums, scratch)?;
        let documents = bags.len() as f64;
        let [_, sums, ..] = sums.parts_mut();
        let [_, expected, ..] = expected.parts();
        for (at, ((sum, expected), &w)) in sums.iter_mut().zip(expected).zip(self.w()).enumerate() {
            let pull = prior.pull(at / topics, w).wide();
            *sum = T::from_f64(sum.wide() - documents * expected + pull);
        }
        self.log_posterior(bags, &[], prior, scratch, exact)
    }
}
