use countgrid_math::{Real, exp, ln, sigmoid, softplus};

use super::{
    Estimate, Event, EventError, check_weight, density, is_count, minus_ln_factorial, some_sum, some_weight,
    sums, sums_mut,
};

/// Zero-inflated Poisson: with probability `p = σ(η)` the count is forced to 0, otherwise it is Poisson.
///
/// `ln p(0) = ln (e^η + e^-λ) - softplus(η)` and `ln p(t) = t ln λ - λ - ln t! - softplus(η)` for `t > 0`.
/// Written so that neither `η = ±∞` nor cancellation at large `|η|` does harm.
///
/// Statistics, with `z` of [`Zip::inflated`]: weight `Σ w`, `A = Σ w t`, `B = Σ w e (1 - z)`, `C = Σ w z`. They
/// depend on the parameters, so [`Estimate::maximize`] makes one EM step: `λ = A / B`, `p = C / Σ w`.
///
/// # Source
/// D. Lambert, Zero-inflated Poisson regression, with an application to defects in manufacturing, Technometrics
/// 34(1), 1992, pages 1 to 14.
///
/// ```
/// use countgrid_counts::{Event, Poisson, Zip};
/// let (zip, poisson) = (Zip::new(f64::NEG_INFINITY, 2.0)?, Poisson::new(2.0)?); // p = 0
/// assert_eq!(zip.ln_density(3.0), poisson.ln_density(3.0));
/// let zip = Zip::new(0.0_f64, 2.0)?; // p = ½
/// assert!((zip.ln_density(0.0).exp() - (0.5 + 0.5 * (-2.0_f64).exp())).abs() < 1e-15);
/// assert!(zip.inflated(0.0) > 0.5 && zip.inflated(1.0) == 0.0);
/// # Ok::<(), countgrid_counts::EventError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zip<T> {
    eta: T,             // not NaN
    rate: T,            // finite, not negative
    ln_rate: T,         // its logarithm, also where the rate underflows
    ln_zero: T,         // ln p(0)
    ln_not_inflated: T, // ln (1 - p)
}

impl<T: Real> Zip<T> {
    /// A distribution with inflation logit `η` and Poisson rate `λ`; `η = ±∞` are the probabilities 0 and 1.
    ///
    /// # Errors
    /// [`EventError::Parameter`] if `eta` is not a number, or unless `rate` is finite and not negative.
    pub fn new(eta: T, rate: T) -> Result<Self, EventError> {
        if !is_count(rate) {
            return Err(EventError::Parameter { name: "rate" });
        }
        Self::from_parts(eta, rate, ln(rate))
    }
    /// A distribution given `η` and `ln λ`.
    ///
    /// # Errors
    /// [`EventError::Parameter`] if one of them is not a number or the rate overflows.
    pub fn from_ln_rate(eta: T, ln_rate: T) -> Result<Self, EventError> {
        let rate = exp(ln_rate);
        if !is_count(rate) {
            return Err(EventError::Parameter { name: "ln_rate" });
        }
        Self::from_parts(eta, rate, ln_rate)
    }
    fn from_parts(eta: T, rate: T, ln_rate: T) -> Result<Self, EventError> {
        if eta.is_nan() {
            return Err(EventError::Parameter { name: "eta" });
        }
        Ok(Self { eta, rate, ln_rate, ln_zero: Self::ln_zero_of(eta, rate), ln_not_inflated: -softplus(eta) })
    }
    /// The distribution of counts collected `exposure` times as long: rate `e λ`, the same inflation.
    ///
    /// # Errors
    /// [`EventError::Parameter`] unless `exposure` is finite and above zero and the rate does not overflow.
    pub fn with_exposure(&self, exposure: T) -> Result<Self, EventError> {
        let rate = self.rate * exposure;
        if !(exposure > T::zero() && is_count(rate) && exposure.is_finite()) {
            return Err(EventError::Parameter { name: "exposure" });
        }
        Self::from_parts(self.eta, rate, self.ln_rate + ln(exposure))
    }
    /// `ln p(0) = ln (e^η + e^-λ) - ln (1 + e^η)` of an inflation logit and a rate, for loops over many: branch-free.
    ///
    /// `eta` is a number or infinite, `rate` not negative.
    #[inline(always)]
    pub fn ln_zero_of(eta: T, rate: T) -> T {
        // For η > 0 both logarithms are η and a little: only the two littles are left.
        let lead = if eta > T::zero() { T::zero() } else { eta.max(-rate) };
        (lead + softplus(-(eta + rate).abs()) - softplus(-eta.abs())).min(T::zero())
    }
    /// `ln p(0)`.
    #[inline]
    pub fn ln_zero(&self) -> T {
        self.ln_zero
    }
    /// `ln (1 - p)`.
    #[inline]
    pub fn ln_not_inflated(&self) -> T {
        self.ln_not_inflated
    }
    /// `η`, the logit of the inflation probability.
    #[inline]
    pub fn eta(&self) -> T {
        self.eta
    }
    /// `λ`, the rate of the counts that are not forced to 0.
    #[inline]
    pub fn rate(&self) -> T {
        self.rate
    }
    /// `ln λ`.
    #[inline]
    pub fn ln_rate(&self) -> T {
        self.ln_rate
    }
    /// `(1 - p) λ`.
    pub fn mean(&self) -> T {
        sigmoid(-self.eta) * self.rate
    }
    /// `(1 - p) λ (1 + p λ)`.
    pub fn variance(&self) -> T {
        self.mean() * (T::one() + sigmoid(self.eta) * self.rate)
    }
    /// `z = σ(η + λ) 1[t = 0]`, the probability that a count was forced to 0.
    #[inline]
    pub fn inflated(&self, t: T) -> T {
        if t == T::zero() { sigmoid(self.eta + self.rate) } else { T::zero() }
    }

    /// [`Event::accumulate`] for a count collected under an exposure, of which `self` is the distribution for
    /// exposure 1.
    ///
    /// # Errors
    /// Those of [`Event::accumulate`] and [`Zip::with_exposure`].
    #[inline]
    pub fn accumulate_with_exposure(
        &self,
        t: T,
        exposure: T,
        weight: T,
        statistics: &mut [T],
    ) -> Result<(), EventError> {
        let [weights, a, b, c] = sums_mut(statistics)?;
        check_weight(weight)?;
        if !is_count(t) {
            return Err(EventError::Observation);
        }
        let rate = self.rate * exposure;
        if !(exposure > T::zero() && is_count(rate) && exposure.is_finite()) {
            return Err(EventError::Parameter { name: "exposure" });
        }
        *weights += weight;
        if t > T::zero() {
            *a += weight * t;
            *b += weight * exposure;
        } else {
            *b += weight * exposure * sigmoid(-(self.eta + rate)); // 1 - z without cancellation
            *c += weight * sigmoid(self.eta + rate);
        }
        Ok(())
    }
}

impl<T: Real> Event<T> for Zip<T> {
    type Scalar = T;

    #[inline]
    fn statistics_len(&self) -> usize {
        4
    }
    #[inline]
    fn ln_kernel(&self, t: T) -> T {
        if t == T::zero() {
            self.ln_zero
        } else if is_count(t) {
            density(t * self.ln_rate - self.rate + self.ln_not_inflated)
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

impl<T: Real> Estimate for Zip<T> {
    type Scalar = T;

    /// One EM step. Where no observation counts for the rate (`B = 0`), the rate stays.
    fn maximize(&mut self, statistics: &[T]) -> Result<(), EventError> {
        let &[weights, a, b, c] = sums(statistics)?;
        let (a, b, c) = (some_sum("A", a)?, some_sum("B", b)?, some_sum("C", c)?);
        // The sums are rounded apart from each other, so C may pass the weight.
        let eta = ln(c) - ln((some_weight(weights)? - c).max(T::zero()));
        let rate = if b > T::zero() { a / b } else { self.rate };
        *self = Self::new(eta, rate).map_err(|_| EventError::Statistics { name: "A" })?;
        Ok(())
    }
}
