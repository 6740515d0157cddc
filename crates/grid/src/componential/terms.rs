use countgrid_counts::{Bag, Count};
use countgrid_em::FreeEnergy;
use countgrid_math::{Real, digamma, ln, ln_gamma};

use super::{Inference, WindowMeans, posterior_scratch_len};
use crate::{
    GridError, Grouping,
    error::{long_enough, same_length},
};

/// The free energy of a bag under a componential counting grid, in groups of terms. Every grouping sums to minus the
/// bound.
///
/// Blocks, in order, with `e_l = E[ln theta_l]`, `n_l = Σ_z c_z q_zl` and `d_z = Σ_l exp(e_l) h_lz`:
///
/// | block | length | term |
/// |---|---|---|
/// | prior of `theta` | `[P]` | `-(alpha_l - 1) e_l + ln Γ(alpha_l)` |
/// | entropy of `theta` | `[P]` | `(gamma_l - 1) e_l - ln Γ(gamma_l)` |
/// | constants | `[2]` | `-ln Γ(Σ alpha)`, `ln Γ(Σ gamma)` |
///
/// and then by [`Grouping::Feature`] one block, `-c_z ln d_z` `[Z]`; by [`Grouping::Location`] three, into which that sum
/// falls apart, and by [`Grouping::Each`] the last of them also by feature:
///
/// | block | length | term |
/// |---|---|---|
/// | prior of windows | `[P]` | `-e_l n_l` |
/// | entropy of windows | `[P]` | `Σ_z c_z q_zl ln q_zl` |
/// | tokens | `[P]`, each `[P][Z]` | `-c_z q_zl ln h_lz`, by window summed over `z` |
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_em::FreeEnergy;
/// use countgrid_grid::componential::{ComponentialGrid, Inference, Terms, WindowMeans, means_len};
/// use countgrid_grid::{Grouping, Shape};
///
/// let shape = Shape::from_sides([3], [2], 2)?;
/// let grid = ComponentialGrid::new(shape, [0.9f64, 0.5, 0.1, 0.1, 0.5, 0.9, 0.4, 0.3, 0.3])?;
/// let packed = vec![0.0; means_len::<f64, 1>(&shape)];
/// let means = WindowMeans::pack(&grid, packed, &mut vec![0.0; shape.plane_scratch_len()])?;
///
/// let model = Terms::new(&means, Inference::default(), Grouping::Feature);
/// let bag = Bag::new(2, &[0, 1], &[3u32, 1])?;
/// let mut terms = vec![0.0; model.term_count(&bag)];
/// let mut scratch = vec![0.0; model.scratch_len(&bag)];
/// let free_energy = model.free_energy_terms(&bag, &mut terms, &mut scratch)?;
/// assert_eq!(terms.len(), 3 + 3 + 2 + 2);
/// assert!((terms.iter().sum::<f64>() - free_energy).abs() < 1e-12);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Source
/// A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 2009, Eqs. 2 to 5, for
/// the bound of the mean-field posterior.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a, T, S, const D: usize> {
    means: &'a WindowMeans<T, S, D>,
    inference: Inference,
    grouping: Grouping,
}

impl<'a, T: Real, S: AsRef<[T]>, const D: usize> Terms<'a, T, S, D> {
    /// Terms in this grouping, of posteriors as good as asked for.
    pub fn new(means: &'a WindowMeans<T, S, D>, inference: Inference, grouping: Grouping) -> Self {
        Self { means, inference, grouping }
    }
}

impl<T: Real, S: AsRef<[T]>, C: Count, const D: usize> FreeEnergy<Bag<'_, C>> for Terms<'_, T, S, D> {
    type Scalar = T;
    type Error = GridError;

    fn term_count(&self, _: &Bag<'_, C>) -> usize {
        let (cells, features) = (self.means.shape().cells(), self.means.shape().features());
        2 * cells
            + 2
            + match self.grouping {
                Grouping::Location => 3 * cells,
                Grouping::Feature => features,
                Grouping::Each => (2 + features) * cells,
            }
    }

    fn scratch_len(&self, _: &Bag<'_, C>) -> usize {
        let shape = self.means.shape();
        posterior_scratch_len::<T, D>(shape) + self.means.slots() + 2 * shape.cells()
    }

    /// The free energy is minus the bound.
    ///
    /// # Errors
    /// [`GridError::Length`], and those of [`WindowMeans::posterior`].
    fn free_energy_terms(
        &self,
        bag: &Bag<'_, C>,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, GridError> {
        same_length("terms", self.term_count(bag), terms.len())?;
        long_enough("scratch", self.scratch_len(bag), scratch.len())?;
        let shape = self.means.shape();
        let (cells, features) = (shape.cells(), shape.features());
        let (gamma, scratch) = scratch.split_at_mut(cells);
        let (q, scratch) = scratch.split_at_mut(cells);
        let (slots, scratch) = scratch.split_at_mut(self.means.slots());
        let posterior = self.means.posterior(bag, 0, self.inference, scratch)?;
        let source = posterior.source();
        posterior.gamma(gamma)?;
        terms.fill(T::zero());
        let (theta_prior, rest) = terms.split_at_mut(cells);
        let (theta_entropy, rest) = rest.split_at_mut(cells);
        let (constants, words) = rest.split_at_mut(2);
        let total = gamma.iter().fold(0.0, |sum, &gamma| sum + gamma.to_f64());
        let psi_total = digamma(total);
        let best = gamma.iter().fold(T::zero(), |best, &x| if x > best { x } else { best });
        let best = T::from_f64(digamma(best.to_f64()) - psi_total);
        for entry in source.rows() {
            if self.grouping == Grouping::Feature {
                let ln_mass = posterior.weigh_feature(&entry, None);
                add(words, entry.feature, -(entry.count * (ln_mass + best)));
                continue;
            }
            posterior.weigh_feature(&entry, Some((&mut *slots, &mut *q)));
            // First n_l in the block of the prior of windows, then its terms.
            for (l, &q) in q.iter().enumerate() {
                let tokens = entry.count * q;
                if tokens > T::zero() {
                    add(words, l, tokens);
                    add(words, cells + l, tokens * ln(q));
                }
            }
            self.means.window_means(entry.feature, slots.get_mut(..cells).unwrap_or_default())?;
            for (l, (&q, &h)) in q.iter().zip(&*slots).enumerate() {
                let tokens = entry.count * q;
                if tokens > T::zero() {
                    let group =
                        if self.grouping == Grouping::Each { l * features + entry.feature } else { l };
                    add(words, 2 * cells + group, -(tokens * ln(h)));
                }
            }
        }
        let mut alphas = 0.0;
        let alpha = slots.get_mut(..cells).unwrap_or_default();
        self.means.alpha(alpha)?;
        let blocks = theta_prior.iter_mut().zip(theta_entropy);
        for (l, ((&alpha, &gamma), (prior, entropy))) in alpha.iter().zip(&*gamma).zip(blocks).enumerate() {
            let (alpha, gamma) = (alpha.to_f64(), gamma.to_f64());
            let log = digamma(gamma) - psi_total;
            *prior = T::from_f64(ln_gamma(alpha) - (alpha - 1.0) * log);
            *entropy = T::from_f64((gamma - 1.0) * log - ln_gamma(gamma));
            alphas += alpha;
            if self.grouping != Grouping::Feature
                && let Some(term) = words.get_mut(l)
            {
                *term = T::from_f64(-log * term.to_f64());
            }
        }
        for (term, constant) in constants.iter_mut().zip([-ln_gamma(alphas), ln_gamma(total)]) {
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
