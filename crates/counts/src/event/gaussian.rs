use countgrid_math::{Real, ln};

use super::{Estimate, Event, EventError, check_weight, some_sum, some_weight, sums, sums_mut};

/// Gaussian: `ln p(x) = ½ ln β - ½ β (x - μ)² - ½ ln 2π`, for any finite `x`.
///
/// Statistics: weight `Σ w`, first moment `Σ w x`, second moment `Σ w x²`. Maximum: `μ = Σ w x / Σ w`,
/// `1/β = Σ w x² / Σ w - μ²`.
///
/// # Accuracy
/// The variance is a difference of moments, whose rounding errors are a few `u (μ² + 1/β)`: shift the data if
/// their mean is far from zero. A variance that is not above zero is refused.
///
/// ```
/// use countgrid_counts::{Estimate, Gaussian, Event};
/// let mut event = Gaussian::new(0.0_f64, 1.0)?;
/// event.maximize(&[2.0, 4.0, 10.0])?; // the moments of 1 and 3
/// assert_eq!((event.mean(), event.precision()), (2.0, 1.0));
/// assert_eq!(event.ln_kernel(3.0), -0.5);
/// # Ok::<(), countgrid_counts::EventError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian<T> {
    mean: T,         // finite
    precision: T,    // finite, above zero
    ln_precision: T, // its logarithm
}

impl<T: Real> Gaussian<T> {
    /// A distribution with mean `μ` and precision `β`, the inverse of the variance.
    ///
    /// # Errors
    /// [`EventError::Parameter`] unless both are finite and `precision` is above zero.
    pub fn new(mean: T, precision: T) -> Result<Self, EventError> {
        if !mean.is_finite() {
            return Err(EventError::Parameter { name: "mean" });
        }
        if !(precision > T::zero() && precision.is_finite()) {
            return Err(EventError::Parameter { name: "precision" });
        }
        Ok(Self { mean, precision, ln_precision: ln(precision) })
    }
    /// `μ`.
    #[inline]
    pub fn mean(&self) -> T {
        self.mean
    }
    /// `β`, the inverse of the variance.
    #[inline]
    pub fn precision(&self) -> T {
        self.precision
    }
    /// `ln β`.
    #[inline]
    pub fn ln_precision(&self) -> T {
        self.ln_precision
    }
}

impl<T: Real> Event<T> for Gaussian<T> {
    type Scalar = T;

    #[inline]
    fn statistics_len(&self) -> usize {
        3
    }
    #[inline]
    fn ln_kernel(&self, x: T) -> T {
        let (distance, half) = (x - self.mean, T::from_f64(0.5));
        if !x.is_finite() {
            return -T::infinity();
        }
        half * (self.ln_precision - self.precision * distance * distance)
    }
    #[inline]
    fn ln_base(&self, x: T) -> T {
        const HALF_LN_2PI: f64 = 0.918_938_533_204_672_8;
        if x.is_finite() { T::from_f64(-HALF_LN_2PI) } else { -T::infinity() }
    }
    #[inline]
    fn accumulate(&self, x: T, weight: T, statistics: &mut [T]) -> Result<(), EventError> {
        let [weights, first, second] = sums_mut(statistics)?;
        check_weight(weight)?;
        if !x.is_finite() {
            return Err(EventError::Observation);
        }
        *weights += weight;
        *first += weight * x;
        *second += weight * x * x; // in this order, a weight of 0 adds 0 even where x² overflows
        Ok(())
    }
}

impl<T: Real> Estimate for Gaussian<T> {
    type Scalar = T;

    fn maximize(&mut self, statistics: &[T]) -> Result<(), EventError> {
        let &[weights, first, second] = sums(statistics)?;
        let mean = first / some_weight(weights)?;
        let variance = some_sum("second moment", second)? / weights - mean * mean;
        *self = Self::new(mean, variance.recip()).map_err(|error| match error {
            EventError::Parameter { name: "mean" } => EventError::Statistics { name: "first moment" },
            _ => EventError::Statistics { name: "second moment" },
        })?;
        Ok(())
    }
}
