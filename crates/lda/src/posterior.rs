use countgrid_counts::{Bag, Bags, Count};
use countgrid_em::{Distributions, ExpectedCounts};
use countgrid_math::{Real, digamma, dispatch, exp, ln};

use crate::{
    Inference, Lda, LdaError,
    error::{long_enough, same_length},
    infer::{AddCounts, Document, Inferred, Source, by_logarithms, mass},
    lda::{parameters_out_of_range, row, span},
};

/// What has been inferred of one document: `q(theta) = Dirichlet(gamma)`, and `phi` for each of its features.
///
/// Borrows the scratch in which it was found.
///
/// Example: [`Lda::posterior`](crate::Lda::posterior).
#[derive(Debug)]
pub struct Posterior<'a, T, B> {
    source: Source<'a, T, B>,
    gamma: &'a [T],
    logs: &'a [T],
    shares: &'a [T],
    found: Inferred,
}

impl<T: Real, S: AsRef<[T]>> Lda<T, S> {
    /// Infers document `bag`. `scratch`: at least [`crate::Shape::posterior_scratch_len`] elements.
    ///
    /// ```
    /// use countgrid_counts::Bag;
    /// use countgrid_lda::{Inference, Lda, Shape};
    ///
    /// let shape = Shape::new(2, 3)?;
    /// let model = Lda::new(shape, [0.5, 0.1, 0.25, 0.1, 0.25, 0.8, 0.3, 0.3])?;
    /// let document = Bag::new(3, &[0, 1], &[4u32, 2])?;
    /// let mut scratch = vec![0.0; shape.posterior_scratch_len()];
    /// let posterior = model.posterior(&document, 0, Inference::default(), &mut scratch)?;
    /// let mut proportions = [0.0; 2];
    /// posterior.proportions(&mut proportions)?;
    /// assert!(proportions[0] > 0.9); // both features are the first topic's
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`LdaError::Length`], [`LdaError::Features`], [`LdaError::NoSuchBag`], [`LdaError::Overflow`],
    /// [`LdaError::NoSweeps`], [`LdaError::Tolerance`].
    /// # Source
    /// Blei et al. 2003, Fig. 6.
    pub fn posterior<'a, B: Bags>(
        &'a self,
        bags: &'a B,
        bag: usize,
        inference: Inference,
        scratch: &'a mut [T],
    ) -> Result<Posterior<'a, T, B>, LdaError> {
        self.posterior_from(bags, bag, inference, None, scratch)
    }

    /// The same from a `gamma` `[topic]` of the caller's, such as that of an earlier inference.
    ///
    /// # Errors
    /// Those of [`Lda::posterior`]; [`LdaError::Gamma`].
    pub fn posterior_from<'a, B: Bags>(
        &'a self,
        bags: &'a B,
        bag: usize,
        inference: Inference,
        start: Option<&[T]>,
        scratch: &'a mut [T],
    ) -> Result<Posterior<'a, T, B>, LdaError> {
        let (shape, inference) = (self.shape(), inference.check()?);
        long_enough("scratch", shape.posterior_scratch_len(), scratch.len())?;
        self.same_features(bags)?;
        let (beta, alpha) = self.tables();
        let source = Source { beta, alpha, bags, bag }.check()?;
        let mut document = Document::new(shape, scratch);
        match start {
            None => source.start(document.gamma),
            Some(start) => {
                same_length("gamma", shape.topics(), start.len())?;
                if let Some(topic) = parameters_out_of_range(start) {
                    return Err(LdaError::Gamma { topic });
                }
                document.gamma.copy_from_slice(start);
            }
        }
        let found = source.infer(inference, self.ln_normaliser(), &mut document);
        if !found.bound.is_finite() {
            return Err(LdaError::Overflow { bag });
        }
        let Document { gamma, logs, shares, .. } = document;
        Ok(Posterior { source, gamma, logs, shares, found })
    }
}

impl<T: Real, B: Bags> Posterior<'_, T, B> {
    /// `gamma` `[topic]`.
    #[must_use]
    pub fn gamma(&self) -> &[T] {
        self.gamma
    }

    /// The evidence lower bound of the token sequence, in nats (no multinomial coefficient), at this `gamma` and the
    /// `phi` it follows from: never above `ln p(c)`.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.found.bound
    }

    /// Sweeps made.
    #[must_use]
    pub fn sweeps(&self) -> usize {
        self.found.sweeps
    }

    /// Whether the last sweep changed `gamma` by no more than the tolerance.
    #[must_use]
    pub fn has_converged(&self) -> bool {
        self.found.converged
    }

    /// Topic proportions `E[theta_k] = gamma_k / Σ gamma` `[topic]`.
    ///
    /// # Errors
    /// [`LdaError::Length`].
    pub fn proportions(&self, proportions: &mut [T]) -> Result<(), LdaError> {
        same_length("proportions", self.gamma.len(), proportions.len())?;
        let total = T::from_f64(self.total());
        proportions.iter_mut().zip(self.gamma).for_each(|(p, &gamma)| *p = gamma / total);
        Ok(())
    }

    fn total(&self) -> f64 {
        self.gamma.iter().fold(0.0, |sum, &gamma| sum + gamma.to_f64())
    }

    /// `E[ln theta_k] = ψ(gamma_k) - ψ(Σ gamma)` of every topic, in f64 for either scalar type.
    pub(crate) fn log_theta(&self) -> impl Iterator<Item = f64> {
        let total = digamma(self.total());
        self.gamma.iter().map(move |&gamma| digamma(gamma.to_f64()) - total)
    }

    /// `phi_wk` `[topic]` of one feature, whether the document has it or not.
    ///
    /// # Errors
    /// [`LdaError::Length`]; [`LdaError::Features`] for a feature that the model does not have.
    pub fn phi(&self, feature: usize, phi: &mut [T]) -> Result<(), LdaError> {
        same_length("phi", self.gamma.len(), phi.len())?;
        let row = row(self.source.beta, self.gamma.len(), feature);
        if row.is_empty() {
            let expected = self.source.beta.len() / self.gamma.len().max(1);
            return Err(LdaError::Features { expected, found: feature });
        }
        self.phi_of(row, phi);
        Ok(())
    }

    fn phi_of(&self, row: &[T], phi: &mut [T]) {
        match mass(row, self.shares) {
            Some(mass) => {
                for ((phi, &p), &share) in phi.iter_mut().zip(row).zip(self.shares) {
                    *phi = p * share / mass;
                }
            }
            None => {
                by_logarithms(row, self.logs, |k, x| {
                    if let Some(phi) = phi.get_mut(k) {
                        *phi = x;
                    }
                });
            }
        }
    }

    /// Calls `take(feature, count, row of beta, phi)` for every feature that the document has; `phi` `[topic]` is
    /// scratch.
    pub(crate) fn each_feature(&self, phi: &mut [T], mut take: impl FnMut(usize, T, &[T], &[T])) {
        for (feature, row, count) in self.source.rows() {
            self.phi_of(row, phi);
            take(feature, count, row, phi);
        }
    }

    pub(crate) fn alpha(&self) -> &[T] {
        self.source.alpha
    }

    /// Expected tokens `c_w phi_wk`, written to `counts` `[feature][topic]`: what a score in `beta` is made of.
    ///
    /// # Errors
    /// [`LdaError::Length`].
    pub fn expected_counts(&self, counts: &mut [T]) -> Result<(), LdaError> {
        same_length("counts", self.source.beta.len(), counts.len())?;
        counts.fill(T::zero());
        let Self { source, logs, shares, .. } = *self;
        dispatch(AddCounts { source, logs, shares, first: 0, table: counts });
        Ok(())
    }

    /// `∂ bound / ∂ beta_wk = c_w phi_wk / beta_wk` with the entries of `beta` taken as free numbers, written to
    /// `gradient` `[feature][topic]`. The derivative of the optimised bound if inference has converged.
    ///
    /// Finite where `beta` is zero: what a first bit of probability there would be worth.
    ///
    /// # Errors
    /// [`LdaError::Length`].
    /// # Source
    /// The envelope theorem; A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS
    /// 2009, for the use.
    pub fn beta_gradient(&self, gradient: &mut [T]) -> Result<(), LdaError> {
        same_length("gradient", self.source.beta.len(), gradient.len())?;
        gradient.fill(T::zero());
        let topics = self.gamma.len();
        for (feature, row, count) in self.source.rows() {
            let Some(to) = gradient.get_mut(span(topics, feature)) else { continue };
            // phi_wk / beta_wk = x_k / m_w
            let ln_mass = match mass(row, self.shares) {
                Some(mass) => ln(mass),
                None => by_logarithms(row, self.logs, |_, _| {}),
            };
            to.iter_mut().zip(self.logs).for_each(|(to, &log)| *to = count * exp(log - ln_mass));
        }
        Ok(())
    }

    /// `∂ bound / ∂ alpha_k = ψ(Σ alpha) - ψ(alpha_k) + E[ln theta_k]`, written to `gradient` `[topic]`.
    ///
    /// # Errors
    /// [`LdaError::Length`].
    pub fn alpha_gradient(&self, gradient: &mut [T]) -> Result<(), LdaError> {
        same_length("gradient", self.gamma.len(), gradient.len())?;
        let alpha = || self.source.alpha.iter().map(|&alpha| alpha.to_f64());
        let total = digamma(alpha().fold(0.0, |sum, alpha| sum + alpha));
        for ((to, alpha), log) in gradient.iter_mut().zip(alpha()).zip(self.log_theta()) {
            *to = T::from_f64(total - digamma(alpha) + log);
        }
        Ok(())
    }
}

/// How well a model predicts documents that it was not fitted to.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeldOut {
    /// Nats: a sum over documents.
    pub log_likelihood: f64,
    /// Tokens that were predicted.
    pub tokens: f64,
}

impl HeldOut {
    /// Nats a token; NaN if there is none.
    #[must_use]
    pub fn per_token(&self) -> f64 {
        self.log_likelihood / self.tokens
    }

    /// `exp` of minus the log-likelihood of a token: of how many equally likely features it is one.
    #[must_use]
    pub fn perplexity(&self) -> f64 {
        exp(-self.per_token())
    }
}

impl<T: Real, S: AsRef<[T]>> Lda<T, S> {
    /// The sum of the bounds of documents, each inferred from itself: the perplexity is then an upper bound of the true
    /// one, as in Blei et al. 2003, section 7.1.
    ///
    /// # Errors
    /// Those of [`Lda::posterior`].
    pub fn held_out_bound<B: Bags>(
        &self,
        bags: &B,
        inference: Inference,
        scratch: &mut [T],
    ) -> Result<HeldOut, LdaError> {
        let mut sum = HeldOut::default();
        for bag in 0..bags.len() {
            sum.log_likelihood += self.posterior(bags, bag, inference, scratch)?.bound();
            sum.tokens += bags.total(bag);
        }
        Ok(sum)
    }

    /// Document completion: `Σ_w c_w ln Σ_k E[theta_k] beta_wk` over the tokens of `rest`, with `theta` inferred from
    /// the other tokens of the same documents, `observed`. No bound, and no token predicts itself.
    ///
    /// # Errors
    /// [`LdaError::Bags`] unless both have the same number of bags; those of [`Lda::posterior`].
    /// # Source
    /// Wallach et al., Evaluation methods for topic models, ICML 2009, section 4.6.
    pub fn completion<B: Bags, R: Bags>(
        &self,
        observed: &B,
        rest: &R,
        inference: Inference,
        scratch: &mut [T],
    ) -> Result<HeldOut, LdaError> {
        let (expected, found) = (observed.len(), rest.len());
        if expected != found {
            return Err(LdaError::Bags { expected, found });
        }
        self.same_features(rest)?;
        let mut sum = HeldOut::default();
        for bag in 0..expected {
            let posterior = self.posterior(observed, bag, inference, scratch)?;
            let total = posterior.total();
            for (feature, count) in rest.entries(bag) {
                let joint = self.row(feature).iter().zip(posterior.gamma());
                let p = joint.fold(0.0, |sum, (&p, &gamma)| sum + p.to_f64() * gamma.to_f64()) / total;
                let p = if p > T::FLOOR.to_f64() { p } else { T::FLOOR.to_f64() };
                sum.log_likelihood += count.to_real::<f64>() * ln(p);
            }
            sum.tokens += rest.total(bag);
        }
        Ok(sum)
    }
}

/// Columns of `beta` are the topics; in the place of counts of `alpha` stands the bound's derivative in it. The posterior
/// is inferred until it has [converged](Inference::CONVERGED): only there are these the bound's gradient.
impl<T: Real, S: AsRef<[T]>, C: Count> ExpectedCounts<Bag<'_, C>> for Lda<T, S> {
    type Error = LdaError;
    const DISTRIBUTIONS: &'static [Distributions] = &[Distributions::Columns, Distributions::None];

    fn counts_scratch_len(&self, _: &Bag<'_, C>) -> usize {
        self.shape().posterior_scratch_len()
    }

    fn expected_counts(&self, bag: &Bag<'_, C>, counts: &mut [T], scratch: &mut [T]) -> Result<T, LdaError> {
        let (beta, _) = self.tables();
        let expected = self.shape().model_len();
        let found = counts.len();
        let Some((of_beta, of_alpha)) = counts.split_at_mut_checked(beta.len()).filter(|_| found == expected)
        else {
            return Err(LdaError::Length { table: "counts", expected, found });
        };
        let posterior = self.posterior(bag, 0, Inference::CONVERGED, scratch)?;
        posterior.expected_counts(of_beta)?;
        posterior.alpha_gradient(of_alpha)?;
        Ok(T::from_f64(posterior.bound()))
    }
}
