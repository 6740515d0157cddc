use core::marker::PhantomData;

use countgrid_math::{Real, ln};

use crate::{Harmonium, HarmoniumError, Shape, error::same_length, wide::Wide};

/// Independent normal priors of the couplings, `W_ij ~ N(μ_i, σ_i²)`, one mean and variance a row: words, then features.
///
/// ```
/// use countgrid_harmonium::Prior;
/// let prior = Prior::new([0.0_f32; 3], [0.01; 3])?;
/// assert_eq!(prior.variances(), [0.01; 3]);
/// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
/// ```
///
/// # Source
/// Eq. 7 of the Bayesian exponential family harmonium paper (BEFH).
#[derive(Clone, Copy, Debug)]
pub struct Prior<T, S> {
    means: S,     // finite
    variances: S, // as many; finite, above zero
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>> Prior<T, S> {
    /// A prior from means and variances, `[M + C]` each.
    ///
    /// # Errors
    /// [`HarmoniumError::Length`], [`HarmoniumError::NotFinite`], [`HarmoniumError::Variance`].
    pub fn new(means: S, variances: S) -> Result<Self, HarmoniumError> {
        same_length("variances", means.as_ref().len(), variances.as_ref().len())?;
        if let Some(index) = means.as_ref().iter().position(|x| !x.is_finite()) {
            return Err(HarmoniumError::NotFinite { table: "means", index });
        }
        let is_variance = |x: T| x > T::zero() && x.is_finite();
        if let Some(index) = variances.as_ref().iter().position(|&x| !is_variance(x)) {
            return Err(HarmoniumError::Variance { index });
        }
        Ok(Self { means, variances, scalar: PhantomData })
    }

    /// `μ` `[M + C]`.
    pub fn means(&self) -> &[T] {
        self.means.as_ref()
    }
    /// `σ²` `[M + C]`.
    pub fn variances(&self) -> &[T] {
        self.variances.as_ref()
    }
    /// The storage, given back.
    pub fn into_parts(self) -> (S, S) {
        (self.means, self.variances)
    }

    pub(crate) fn check_rows(&self, shape: &Shape) -> Result<(), HarmoniumError> {
        same_length("prior", shape.rows(), self.means().len())
    }

    /// The gradient of its logarithm at an element of one row, `-(w - μ)/σ²`.
    pub(crate) fn pull(&self, row: usize, w: T) -> T {
        match (self.means().get(row), self.variances().get(row)) {
            (Some(&mean), Some(&variance)) => -(w - mean) / variance,
            _ => T::zero(),
        }
    }

    /// The log-density of a model's couplings, in nats, summed in f64.
    ///
    /// # Errors
    /// [`HarmoniumError::Length`] for a model of another number of rows.
    pub fn log_density<M: AsRef<[T]>>(&self, model: &Harmonium<T, M>) -> Result<f64, HarmoniumError> {
        self.check_rows(model.shape())?;
        let topics = model.shape().topics();
        let rows = model.w().chunks_exact(topics).chain(model.u().chunks_exact(topics));
        let mut sum = 0.0;
        for ((row, mean), variance) in rows.zip(self.means()).zip(self.variances()) {
            let (mean, variance) = (mean.wide(), variance.wide());
            let constant = ln(2.0 * core::f64::consts::PI * variance);
            for w in row {
                let d = w.wide() - mean;
                sum -= 0.5 * (d * d / variance + constant);
            }
        }
        Ok(sum)
    }
}
