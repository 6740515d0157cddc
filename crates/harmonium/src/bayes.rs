//! Empirical Bayes: the prior that posterior samples suggest.

use countgrid_math::Real;

use crate::{HarmoniumError, Prior, error::same_length, wide::Wide};

/// What keeps a variance from freezing at zero: it rests on few, correlated numbers.
///
/// Example: [`empirical_bayes`](crate::empirical_bayes).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Guard {
    /// No variance below so much; 0 is the bare formula.
    Floor(f64),
    /// An inverse-gamma prior, `σ² = (SS + 2b) / (n + 2a + 2)`.
    InverseGamma {
        /// Shape `a`, at least 0.
        a: f64,
        /// Scale `b`, at least 0.
        b: f64,
    },
}

/// Which elements share a mean and a variance.
///
/// Example: [`empirical_bayes`](crate::empirical_bayes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Each row (word, feature) has its own.
    PerRow,
    /// One of each for all rows: the more stable form.
    Pooled,
}

/// The updates of Monte Carlo EM: `μ_i` the mean of a row's elements over samples and topics, `σ_i²` their variance
/// around it.
///
/// `samples` `[sample][row][J]`, couplings one after the other; `means`, `variances` `[row]`, written. One sample, such
/// as the maximum likelihood estimate, gives a start. Sums are in f64.
///
/// ```
/// use countgrid_harmonium::{Guard, Sharing, empirical_bayes};
/// let samples = [0.0, 2.0, 5.0, 7.0]; // one sample of two rows, two topics
/// let (mut means, mut variances) = ([0.0; 2], [0.0; 2]);
/// empirical_bayes(&samples, 2, Sharing::PerRow, Guard::Floor(1e-6), &mut means, &mut variances)?;
/// assert_eq!((means, variances), ([1.0, 6.0], [1.0, 1.0]));
/// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
/// ```
///
/// # Errors
/// [`HarmoniumError::Length`]; [`HarmoniumError::Nothing`] without samples; [`HarmoniumError::Setting`] for a guard out
/// of range; [`HarmoniumError::NotFinite`].
/// # Source
/// Eqs. 23 to 27 of the Bayesian exponential family harmonium paper (BEFH).
pub fn empirical_bayes<T: Real>(
    samples: &[T],
    topics: usize,
    sharing: Sharing,
    guard: Guard,
    means: &mut [T],
    variances: &mut [T],
) -> Result<(), HarmoniumError> {
    let rows = means.len();
    same_length("variances", rows, variances.len())?;
    let one = rows.saturating_mul(topics);
    if one == 0 || samples.is_empty() {
        return Err(HarmoniumError::Nothing { what: "samples" });
    }
    same_length("samples", samples.len() / one * one, samples.len())?;
    let valid = |x: f64| x >= 0.0 && x.is_finite();
    let good = match guard {
        Guard::Floor(floor) => valid(floor),
        Guard::InverseGamma { a, b } => valid(a) && valid(b),
    };
    if !good {
        return Err(HarmoniumError::Setting { name: "guard" });
    }
    if let Some(index) = samples.iter().position(|x| !x.is_finite()) {
        return Err(HarmoniumError::NotFinite { table: "samples", index });
    }
    let groups = if sharing == Sharing::Pooled { 1 } else { rows };
    let (width, count) = (rows / groups * topics, (samples.len() / groups) as f64);
    for group in 0..groups {
        let elements = || {
            let rows = samples.chunks_exact(width).skip(group).step_by(groups);
            rows.flatten().map(|x| x.wide())
        };
        let mean = elements().fold(0.0, |sum, x| sum + x) / count;
        let squares = elements().fold(0.0, |sum, x| sum + (x - mean) * (x - mean));
        let variance = match guard {
            Guard::Floor(floor) => (squares / count).max(floor),
            Guard::InverseGamma { a, b } => (squares + 2.0 * b) / (count + 2.0 * a + 2.0),
        };
        let own = group * (rows / groups)..(group + 1) * (rows / groups);
        for (m, v) in means[own.clone()].iter_mut().zip(&mut variances[own]) {
            (*m, *v) = (T::from_f64(mean), T::from_f64(variance));
        }
    }
    Ok(())
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Prior<T, S> {
    /// The prior that samples suggest, by [`empirical_bayes`].
    ///
    /// # Errors
    /// As [`empirical_bayes`]; [`HarmoniumError::Variance`] for a variance of zero, which a guard prevents.
    pub fn update(
        self,
        samples: &[T],
        topics: usize,
        sharing: Sharing,
        guard: Guard,
    ) -> Result<Self, HarmoniumError> {
        let (mut means, mut variances) = self.into_parts();
        empirical_bayes(samples, topics, sharing, guard, means.as_mut(), variances.as_mut())?;
        Self::new(means, variances)
    }
}
