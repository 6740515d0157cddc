//! What a count is: distributions of one count, or of one bag, with their sufficient statistics.

mod bernoulli;
mod gaussian;
mod line;
mod multinomial;
mod poisson;
mod zip;

use core::fmt;

use countgrid_math::Real;

pub use self::{
    bernoulli::Bernoulli,
    gaussian::Gaussian,
    line::{Line, Linear},
    multinomial::Multinomial,
    poisson::Poisson,
    zip::Zip,
};

/// A distribution of observations of type `X`, as a log-density with additive statistics.
///
/// The log-density falls apart into a kernel that depends on the parameters and a base that does not,
/// `ln p(x | θ) = kernel(x; θ) + base(x)`: the base (`-ln t!`, the multinomial coefficient) moves no posterior
/// and no estimate, so a model computes it once or never. Distributions of one count are observed as a scalar,
/// [`Multinomial`] as the entries of a bag. In a mixture a distribution is accumulated with the responsibility as
/// weight.
///
/// Parameters are checked when a distribution is made, so a density needs no error: outside the support it is 0, its
/// logarithm `-∞`, also for NaN. Likewise where a part overflows (counts around 10³⁶ in `f32`, 10³⁰⁵ in `f64`). No function here returns NaN.
///
/// ```
/// use countgrid_counts::{Estimate, Event, EventError, Poisson};
///
/// fn fit<E>(event: &mut E, data: &[f64]) -> Result<(), EventError>
/// where
///     E: Event<f64, Scalar = f64> + Estimate<Scalar = f64>,
/// {
///     let mut statistics = [0.0; 4];
///     let statistics = &mut statistics[..event.statistics_len()];
///     for &x in data {
///         event.accumulate(x, 1.0, statistics)?;
///     }
///     event.maximize(statistics)
/// }
/// let mut event = Poisson::new(1.0)?;
/// fit(&mut event, &[0.0, 3.0, 0.0, 6.0])?;
/// assert_eq!(event.rate(), 2.25);
/// # Ok::<(), countgrid_counts::EventError>(())
/// ```
pub trait Event<X> {
    /// Scalar of parameters, densities and statistics.
    type Scalar: Real;

    /// How many statistics the distribution has.
    fn statistics_len(&self) -> usize;
    /// The part of `ln p(x)` that depends on the parameters, in nats; `-∞` outside the support.
    fn ln_kernel(&self, x: X) -> Self::Scalar;
    /// The part of `ln p(x)` that does not, in nats; `-∞` outside the support.
    fn ln_base(&self, x: X) -> Self::Scalar;
    /// `ln p(x)`, in nats.
    fn ln_density(&self, x: X) -> Self::Scalar
    where
        X: Clone,
    {
        density(self.ln_kernel(x.clone()) + self.ln_base(x))
    }
    /// Adds the statistics of one observation, `weight` times.
    ///
    /// # Errors
    /// [`EventError::Observation`] outside the support, [`EventError::Weight`] unless finite and not negative,
    /// [`EventError::Length`]; nothing is then added.
    fn accumulate(
        &self,
        x: X,
        weight: Self::Scalar,
        statistics: &mut [Self::Scalar],
    ) -> Result<(), EventError>;
}

/// A distribution whose parameters follow from the statistics of [`Event::accumulate`] in closed form.
///
/// Separate from [`Event`], so that a distribution over a constant table is an [`Event`] too.
///
/// ```
/// use countgrid_counts::{Bernoulli, Estimate};
/// let mut event = Bernoulli::new(0.5)?;
/// event.maximize(&[4.0, 1.0])?; // once in four
/// assert_eq!(event.p(), 0.25);
/// # Ok::<(), countgrid_counts::EventError>(())
/// ```
pub trait Estimate {
    /// Scalar of parameters and statistics.
    type Scalar: Real;

    /// The parameters of highest likelihood: exact, but for [`Zip`] one EM step.
    ///
    /// # Errors
    /// [`EventError::Statistics`] for sums that no data has, or that leave a parameter undefined, as those of
    /// no observation do; [`EventError::Length`]. The distribution is then as it was.
    fn maximize(&mut self, statistics: &[Self::Scalar]) -> Result<(), EventError>;
}

/// What is outside the domain of a distribution.
///
/// Example: [`Poisson`](crate::Poisson).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum EventError {
    /// A parameter out of its range, or not a number.
    Parameter { name: &'static str },
    /// Probabilities that do not add up to 1.
    Total,
    /// An observation that the distribution cannot produce.
    Observation,
    /// A weight that is negative or not finite.
    Weight,
    /// A slice has another length.
    Length { table: &'static str, expected: usize, found: usize },
    /// A sum that is out of its range, or a sum of weights that is zero.
    Statistics { name: &'static str },
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Parameter { name } => write!(f, "the parameter `{name}` is out of range"),
            Self::Total => f.write_str("the probabilities do not add up to 1"),
            Self::Observation => f.write_str("an observation is outside the support of the distribution"),
            Self::Weight => f.write_str("a weight is negative or not finite"),
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
            Self::Statistics { name } => write!(f, "the statistic `{name}` is out of range"),
        }
    }
}

impl core::error::Error for EventError {}

/// A logarithm from terms that may overflow in opposite directions.
#[inline]
fn density<T: Real>(sum: T) -> T {
    if sum < T::infinity() { sum } else { -T::infinity() }
}

/// Whether `x` is what counts are: finite and not negative. Fractions are accepted.
#[inline]
fn is_count<T: Real>(x: T) -> bool {
    x >= T::zero() && x.is_finite()
}

/// `-ln t!`, or `-∞` if `t` is not a count.
#[inline]
fn minus_ln_factorial<T: Real>(t: T) -> T {
    if is_count(t) { -countgrid_math::ln_gamma(t + T::one()) } else { -T::infinity() }
}

#[inline]
fn check_weight<T: Real>(weight: T) -> Result<(), EventError> {
    if is_count(weight) { Ok(()) } else { Err(EventError::Weight) }
}

/// The statistics as an array, so that nothing after it can be out of bounds.
#[inline]
fn sums<T, const N: usize>(statistics: &[T]) -> Result<&[T; N], EventError> {
    let wrong = EventError::Length { table: "statistics", expected: N, found: statistics.len() };
    statistics.try_into().map_err(|_| wrong)
}
#[inline]
fn sums_mut<T, const N: usize>(statistics: &mut [T]) -> Result<&mut [T; N], EventError> {
    let wrong = EventError::Length { table: "statistics", expected: N, found: statistics.len() };
    statistics.try_into().map_err(|_| wrong)
}

/// The total weight, above zero.
fn some_weight<T: Real>(weight: T) -> Result<T, EventError> {
    if weight > T::zero() && weight.is_finite() {
        Ok(weight)
    } else {
        Err(EventError::Statistics { name: "weight" })
    }
}

/// A sum of terms that are not negative.
fn some_sum<T: Real>(name: &'static str, sum: T) -> Result<T, EventError> {
    if is_count(sum) { Ok(sum) } else { Err(EventError::Statistics { name }) }
}
