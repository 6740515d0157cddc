use countgrid_math::{Real, ln, ln_1p, sigmoid, softplus};

use super::{Estimate, Event, EventError, check_weight, is_count, some_sum, some_weight, sums, sums_mut};

/// Bernoulli: whether a feature occurs at all, `x = 1[t > 0]`; `ln p(x) = x ln p + (1 - x) ln (1 - p)`.
///
/// Statistics: weight `Σ w`, occurrences `Σ w x`. Maximum: `p = Σ w x / Σ w`.
///
/// ```
/// use countgrid_counts::{Bernoulli, Event};
/// let always = Bernoulli::new(1.0_f32)?;
/// assert_eq!((always.ln_density(7.0), always.ln_density(0.0)), (0.0, f32::NEG_INFINITY));
/// let rare = Bernoulli::from_logit(-800.0_f64)?; // p underflows, its logarithm does not
/// assert_eq!((rare.p(), rare.ln_density(1.0)), (0.0, -800.0));
/// # Ok::<(), countgrid_counts::EventError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bernoulli<T> {
    p: T,              // within [0, 1]
    ln_p: T,           // ln p
    ln_one_minus_p: T, // ln (1 - p)
}

impl<T: Real> Bernoulli<T> {
    /// A distribution of 1 with probability `p` and 0 otherwise.
    ///
    /// # Errors
    /// [`EventError::Parameter`] unless `p` is within `[0, 1]`.
    pub fn new(p: T) -> Result<Self, EventError> {
        if !(p >= T::zero() && p <= T::one()) {
            return Err(EventError::Parameter { name: "p" });
        }
        Ok(Self { p, ln_p: ln(p), ln_one_minus_p: ln_1p(-p) })
    }
    /// A distribution given its natural parameter `ln p - ln (1 - p)`; `±∞` are `p` = 0 and 1.
    ///
    /// # Errors
    /// [`EventError::Parameter`] if `logit` is not a number.
    pub fn from_logit(logit: T) -> Result<Self, EventError> {
        if logit.is_nan() {
            return Err(EventError::Parameter { name: "logit" });
        }
        Ok(Self { p: sigmoid(logit), ln_p: -softplus(-logit), ln_one_minus_p: -softplus(logit) })
    }
    /// `p`, the mean. The variance is `p (1 - p)`.
    #[inline]
    pub fn p(&self) -> T {
        self.p
    }
    /// `ln (1 - p)`.
    #[inline]
    pub fn ln_one_minus_p(&self) -> T {
        self.ln_one_minus_p
    }
    /// `ln p - ln (1 - p)`, the natural parameter.
    #[inline]
    pub fn logit(&self) -> T {
        self.ln_p - self.ln_one_minus_p
    }
}

impl<T: Real> Event<T> for Bernoulli<T> {
    type Scalar = T;

    #[inline]
    fn statistics_len(&self) -> usize {
        2
    }
    #[inline]
    fn ln_kernel(&self, t: T) -> T {
        if t == T::zero() {
            self.ln_one_minus_p
        } else if is_count(t) {
            self.ln_p
        } else {
            -T::infinity()
        }
    }
    #[inline]
    fn ln_base(&self, t: T) -> T {
        if is_count(t) { T::zero() } else { -T::infinity() }
    }
    #[inline]
    fn accumulate(&self, t: T, weight: T, statistics: &mut [T]) -> Result<(), EventError> {
        let [weights, occurrences] = sums_mut(statistics)?;
        check_weight(weight)?;
        if !is_count(t) {
            return Err(EventError::Observation);
        }
        *weights += weight;
        if t > T::zero() {
            *occurrences += weight;
        }
        Ok(())
    }
}

impl<T: Real> Estimate for Bernoulli<T> {
    type Scalar = T;

    fn maximize(&mut self, statistics: &[T]) -> Result<(), EventError> {
        let &[weights, occurrences] = sums(statistics)?;
        // The two sums are rounded apart from each other when batches are merged.
        let p = (some_sum("occurrences", occurrences)? / some_weight(weights)?).min(T::one());
        *self = Self::new(p)?;
        Ok(())
    }
}
