use countgrid_math::{Real, exp};

use super::{Bernoulli, Gaussian, Poisson, Zip};

/// A kernel as a straight line in the count, but for a step between 0 and the rest:
/// `kernel(t) = zero + 1[t ≠ 0] step + t slope`.
///
/// So a bag of sparse counts costs as many terms as it has entries, once the `zero` of all features are added up.
///
/// Example: [`Estimate`](crate::Estimate).
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the formula says what they are")]
pub struct Line<T> {
    pub zero: T,
    pub step: T,
    pub slope: T,
}

impl<T: Real> Line<T> {
    /// The kernel at `t`.
    pub fn at(&self, t: T) -> T {
        if t == T::zero() { self.zero } else { self.zero + self.step + t * self.slope }
    }
}

/// A distribution whose log kernel is a [`Line`], with the Fisher information about its natural parameter.
///
/// ```
/// use countgrid_counts::{Event, Linear, Zip};
/// let event = Zip::new(0.5, 2.0)?;
/// for t in [0.0_f64, 1.0, 7.0] {
///     assert!((event.line().at(t) - event.ln_kernel(t)).abs() < 1e-14);
/// }
/// # Ok::<(), countgrid_counts::EventError>(())
/// ```
pub trait Linear {
    /// Scalar of the parameters.
    type Scalar: Real;

    /// The kernel. Of a [`Gaussian`] without `-½ β x²`, in which there is no mean.
    fn line(&self) -> Line<Self::Scalar>;
    /// Fisher information of one observation about the natural parameter that is fitted: `ln λ`, the logit, or
    /// the mean of a [`Gaussian`].
    fn information(&self) -> Self::Scalar;
}

impl<T: Real> Linear for Poisson<T> {
    type Scalar = T;

    fn line(&self) -> Line<T> {
        Line { zero: -self.rate(), step: T::zero(), slope: self.ln_rate() }
    }
    /// `λ`.
    fn information(&self) -> T {
        self.rate()
    }
}

impl<T: Real> Linear for Zip<T> {
    type Scalar = T;

    fn line(&self) -> Line<T> {
        let zero = self.ln_zero();
        Line { zero, step: self.ln_not_inflated() - self.rate() - zero, slope: self.ln_rate() }
    }
    /// `(1 - p) λ (1 - z λ e^-λ)` with `z` of [`Zip::inflated`], the variance of the score in `ln λ` at fixed `p`:
    /// the score is `t - λ` above 0 and `-(1 - z) λ` at 0, and `p(0) (1 - z) = (1 - p) e^-λ`.
    fn information(&self) -> T {
        let rate = self.rate();
        self.mean() * (T::one() - self.inflated(T::zero()) * rate * exp(-rate))
    }
}

impl<T: Real> Linear for Bernoulli<T> {
    type Scalar = T;

    fn line(&self) -> Line<T> {
        Line { zero: self.ln_one_minus_p(), step: self.logit(), slope: T::zero() }
    }
    /// `p (1 - p)`.
    fn information(&self) -> T {
        self.p() * (T::one() - self.p())
    }
}

impl<T: Real> Linear for Gaussian<T> {
    type Scalar = T;

    fn line(&self) -> Line<T> {
        let (mean, slope, half) = (self.mean(), self.precision() * self.mean(), T::from_f64(0.5));
        Line { zero: half * (self.ln_precision() - slope * mean), step: T::zero(), slope }
    }
    /// `β`.
    fn information(&self) -> T {
        self.precision()
    }
}
