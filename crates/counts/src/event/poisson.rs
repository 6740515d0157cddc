use countgrid_math::{Real, exp, ln};

use super::{
    Estimate, Event, EventError, check_weight, density, is_count, minus_ln_factorial, some_sum, some_weight,
    sums, sums_mut,
};

/// Poisson: `ln p(t) = t ln λ - λ - ln t!`, for a count `t`.
///
/// Statistics: exposure `Σ w e`, tokens `Σ w t`. Maximum: `λ = Σ w t / Σ w e`.
///
/// ```
/// use countgrid_counts::{Event, Poisson};
/// let never = Poisson::new(0.0_f64)?;
/// assert_eq!(never.ln_density(0.0), 0.0);
/// assert_eq!(never.ln_density(1.0), f64::NEG_INFINITY);
/// assert!((Poisson::from_ln_rate(0.0_f64)?.ln_density(2.0) - (0.5_f64.ln() - 1.0)).abs() < 1e-15);
/// # Ok::<(), countgrid_counts::EventError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poisson<T> {
    rate: T,    // finite, not negative
    ln_rate: T, // its logarithm, also where the rate underflows
}

impl<T: Real> Poisson<T> {
    /// A distribution with mean `rate`.
    ///
    /// # Errors
    /// [`EventError::Parameter`] unless `rate` is finite and not negative.
    pub fn new(rate: T) -> Result<Self, EventError> {
        if !is_count(rate) {
            return Err(EventError::Parameter { name: "rate" });
        }
        Ok(Self { rate, ln_rate: ln(rate) })
    }
    /// A distribution given its natural parameter; `-∞` is the rate 0.
    ///
    /// # Errors
    /// [`EventError::Parameter`] if `ln_rate` is not a number or the rate overflows.
    pub fn from_ln_rate(ln_rate: T) -> Result<Self, EventError> {
        let rate = exp(ln_rate);
        if !is_count(rate) {
            return Err(EventError::Parameter { name: "ln_rate" });
        }
        Ok(Self { rate, ln_rate })
    }
    /// The distribution of counts collected `exposure` times as long (or over a document as many times longer):
    /// rate `e λ`.
    ///
    /// # Errors
    /// [`EventError::Parameter`] unless `exposure` is finite and above zero and the rate does not overflow.
    pub fn with_exposure(&self, exposure: T) -> Result<Self, EventError> {
        let rate = self.rate * exposure;
        if !(exposure > T::zero() && is_count(rate) && exposure.is_finite()) {
            return Err(EventError::Parameter { name: "exposure" });
        }
        Ok(Self { rate, ln_rate: self.ln_rate + ln(exposure) })
    }
    /// `λ`: mean and variance.
    #[inline]
    pub fn rate(&self) -> T {
        self.rate
    }
    /// `ln λ`, the natural parameter.
    #[inline]
    pub fn ln_rate(&self) -> T {
        self.ln_rate
    }

    /// [`Event::accumulate`] for a count collected under an exposure, of which `self` is the distribution for
    /// exposure 1.
    ///
    /// # Errors
    /// Those of [`Event::accumulate`]; [`EventError::Parameter`] unless `exposure` is finite and above zero.
    #[inline]
    pub fn accumulate_with_exposure(
        &self,
        t: T,
        exposure: T,
        weight: T,
        statistics: &mut [T],
    ) -> Result<(), EventError> {
        let [exposures, tokens] = sums_mut(statistics)?;
        check_weight(weight)?;
        if !is_count(t) {
            return Err(EventError::Observation);
        }
        if !(exposure > T::zero() && exposure.is_finite()) {
            return Err(EventError::Parameter { name: "exposure" });
        }
        *exposures += weight * exposure;
        *tokens += weight * t;
        Ok(())
    }
}

impl<T: Real> Event<T> for Poisson<T> {
    type Scalar = T;

    #[inline]
    fn statistics_len(&self) -> usize {
        2
    }
    #[inline]
    fn ln_kernel(&self, t: T) -> T {
        if t == T::zero() {
            -self.rate // 0 ln 0 = 0
        } else if is_count(t) {
            density(t * self.ln_rate - self.rate)
        } else {
            -T::infinity()
        }
    }
    #[inline]
    fn ln_base(&self, t: T) -> T {
        minus_ln_factorial(t)
    }
    #[inline]
    fn accumulate(&self, t: T, weight: T, statistics: &mut [T]) -> Result<(), EventError> {
        self.accumulate_with_exposure(t, T::one(), weight, statistics)
    }
}

impl<T: Real> Estimate for Poisson<T> {
    type Scalar = T;

    fn maximize(&mut self, statistics: &[T]) -> Result<(), EventError> {
        let &[exposures, tokens] = sums(statistics)?;
        let rate = some_sum("tokens", tokens)? / some_weight(exposures)?;
        *self = Self::new(rate).map_err(|_| EventError::Statistics { name: "tokens" })?;
        Ok(())
    }
}
