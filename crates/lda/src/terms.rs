//! The variational free energy of a document, term by term.

use countgrid_counts::{Bag, Count};
use countgrid_em::FreeEnergy;
use countgrid_math::{Real, ln, ln_gamma};

use crate::{
    Inference, Lda, LdaError,
    error::{long_enough, same_length},
};

/// How the terms of a document's free energy are summed into groups. Every grouping sums to minus the bound.
///
/// Blocks, in order, with `e_k = E[ln theta_k]` and `n_k = Σ_w c_w phi_wk`:
///
/// | block | length | term |
/// |---|---|---|
/// | prior of `theta` | `[K]` | `-(alpha_k - 1) e_k + ln Γ(alpha_k)` |
/// | prior of `z` | `[K]` | `-e_k n_k` |
/// | words | `[K]`, by word `[K][V]` | `-c_w phi_wk ln beta_wk`, by topic summed over `w` |
/// | entropy of `theta` | `[K]` | `(gamma_k - 1) e_k - ln Γ(gamma_k)` |
/// | entropy of `z` | `[K]` | `Σ_w c_w phi_wk ln phi_wk` |
/// | constants | `[2]` | `-ln Γ(Σ alpha)`, `ln Γ(Σ gamma)` |
///
/// The terms of `theta` can have either sign: its entropy is that of a density.
///
/// Example: [`Terms`](crate::Terms).
///
/// # Source
/// A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 2009, Eqs. 2 to 5, for
/// the bound of Blei et al. 2003, Eq. 15.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Grouping {
    /// By topic.
    #[default]
    Topic,
    /// By topic, and in the words block by topic and feature.
    Word,
}

/// The free energy of a document in groups of terms.
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_em::FreeEnergy;
/// use countgrid_lda::{Grouping, Inference, Lda, Shape, Terms};
///
/// let shape = Shape::new(2, 3)?;
/// let model = Lda::new(shape, [0.5f64, 0.1, 0.25, 0.1, 0.25, 0.8, 0.3, 0.3])?;
/// let document = Bag::new(3, &[0, 1], &[4u32, 2])?;
///
/// let features = Terms::new(&model, Inference::default(), Grouping::Topic);
/// let mut terms = vec![0.0; features.term_count(&document)];
/// let mut scratch = vec![0.0; features.scratch_len(&document)];
/// let free_energy = features.free_energy_terms(&document, &mut terms, &mut scratch)?;
/// assert_eq!(terms.len(), 5 * 2 + 2);
/// assert!((terms.iter().sum::<f64>() - free_energy).abs() < 1e-12);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a, T, S> {
    lda: &'a Lda<T, S>,
    inference: Inference,
    grouping: Grouping,
}

impl<'a, T: Real, S: AsRef<[T]>> Terms<'a, T, S> {
    /// Terms in this grouping, of posteriors as good as asked for.
    pub fn new(lda: &'a Lda<T, S>, inference: Inference, grouping: Grouping) -> Self {
        Self { lda, inference, grouping }
    }

    /// Number of terms in the words block.
    fn words(&self) -> usize {
        let shape = self.lda.shape();
        match self.grouping {
            Grouping::Topic => shape.topics(),
            Grouping::Word => shape.topics() * shape.features(),
        }
    }
}

impl<T: Real, S: AsRef<[T]>, C: Count> FreeEnergy<Bag<'_, C>> for Terms<'_, T, S> {
    type Scalar = T;
    type Error = LdaError;

    fn term_count(&self, _: &Bag<'_, C>) -> usize {
        self.words() + 4 * self.lda.shape().topics() + 2
    }

    fn scratch_len(&self, _: &Bag<'_, C>) -> usize {
        self.lda.shape().posterior_scratch_len() + self.lda.shape().topics()
    }

    /// The free energy is minus the bound.
    ///
    /// # Errors
    /// [`LdaError::Length`], and those of [`Lda::posterior`].
    fn free_energy_terms(&self, bag: &Bag<'_, C>, terms: &mut [T], scratch: &mut [T]) -> Result<T, LdaError> {
        same_length("terms", self.term_count(bag), terms.len())?;
        long_enough("scratch", self.scratch_len(bag), scratch.len())?;
        let (topics, features) = (self.lda.shape().topics(), self.lda.shape().features());
        let (phi, scratch) = scratch.split_at_mut(topics);
        let posterior = self.lda.posterior(bag, 0, self.inference, scratch)?;
        terms.fill(T::zero());
        let (theta_prior, rest) = terms.split_at_mut(topics);
        let (z_prior, rest) = rest.split_at_mut(topics);
        let (words, rest) = rest.split_at_mut(self.words());
        let (theta_entropy, rest) = rest.split_at_mut(topics);
        let (z_entropy, constants) = rest.split_at_mut(topics);
        // First n_k in the block of the prior of z, then its terms.
        posterior.each_feature(phi, |feature, count, row, phi| {
            let unknown = row.iter().all(|&p| p < T::FLOOR);
            for (k, (&phi, &p)) in phi.iter().zip(row).enumerate() {
                let tokens = count * phi;
                if tokens > T::zero() {
                    let group = match self.grouping {
                        Grouping::Topic => k,
                        Grouping::Word => k * features + feature,
                    };
                    add(z_prior, k, tokens);
                    add(z_entropy, k, tokens * ln(phi));
                    add(words, group, -(tokens * ln(if unknown { T::FLOOR } else { p })));
                }
            }
        });
        let (mut alphas, mut gammas) = (0.0, 0.0);
        let parameters = posterior.alpha().iter().zip(posterior.gamma()).zip(posterior.log_theta());
        let blocks = theta_prior.iter_mut().zip(z_prior).zip(theta_entropy);
        for (((&alpha, &gamma), log), ((theta_prior, z_prior), theta_entropy)) in parameters.zip(blocks) {
            let (alpha, gamma) = (alpha.to_f64(), gamma.to_f64());
            *theta_prior = T::from_f64(ln_gamma(alpha) - (alpha - 1.0) * log);
            *z_prior = T::from_f64(-log * z_prior.to_f64());
            *theta_entropy = T::from_f64((gamma - 1.0) * log - ln_gamma(gamma));
            (alphas, gammas) = (alphas + alpha, gammas + gamma);
        }
        for (term, constant) in constants.iter_mut().zip([-ln_gamma(alphas), ln_gamma(gammas)]) {
            *term = T::from_f64(constant);
        }
        Ok(T::from_f64(-posterior.bound()))
    }
}

fn add<T: Real>(terms: &mut [T], index: usize, term: T) {
    if let Some(sum) = terms.get_mut(index) {
        *sum += term;
    }
}
