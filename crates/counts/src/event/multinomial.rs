use core::marker::PhantomData;

use countgrid_math::{Real, exp, ln, ln_gamma, sum};

use super::{Estimate, Event, EventError, check_weight, is_count};
use crate::Count;

/// Multinomial: the tokens of a bag are drawn from one distribution over features, `ln p(c) = Σ_z c_z ln p_z`
/// and the multinomial coefficient, `ln N! - Σ_z ln c_z!`, as base.
///
/// Observations are the entries of a bag, [`Bags::entries`](crate::Bags::entries). Storage `S` is the caller's:
/// one logarithm per feature, `[feature]`. Statistics: expected counts `n_z = Σ w c_z`, `[feature]`. Maximum:
/// `p_z = n_z / Σ n`; a pseudocount is added to the statistics beforehand.
///
/// ```
/// use countgrid_counts::{Bag, Bags, Estimate, Event, Multinomial};
/// let mut event = Multinomial::new([0.5, 0.25, 0.25])?;
/// let bag = Bag::new(3, &[0, 2], &[1_u32, 2])?;
/// assert!((event.ln_density(bag.entries(0)) - (3.0 / 32.0_f64).ln()).abs() < 1e-15);
///
/// let mut n = [0.0; 3];
/// event.accumulate(bag.entries(0), 1.0, &mut n)?;
/// event.maximize(&n)?;
/// assert_eq!(event.ln_p()[1], f64::NEG_INFINITY);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multinomial<T, S> {
    ln_p: S, // at most 0; their exponentials add up to 1
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>> Multinomial<T, S> {
    /// A distribution given probabilities, `[feature]`, which are replaced by their logarithms in place.
    ///
    /// # Errors
    /// [`EventError::Parameter`] unless all are within `[0, 1]`; [`EventError::Total`] unless they add up to 1
    /// within `4 (Z + 8) u`, which a normalised row does.
    pub fn new(mut p: S) -> Result<Self, EventError>
    where
        S: AsMut<[T]>,
    {
        check(p.as_ref())?;
        p.as_mut().iter_mut().for_each(|p| *p = ln(*p));
        Ok(Self { ln_p: p, scalar: PhantomData })
    }
    /// A distribution given logarithms, `[feature]`, such as a constant table.
    ///
    /// # Errors
    /// Those of [`Multinomial::new`]; [`EventError::Parameter`] also for a logarithm that is not a number.
    pub fn from_ln(ln_p: S) -> Result<Self, EventError> {
        let (mut total, z) = (T::zero(), ln_p.as_ref().len());
        for &ln_p in ln_p.as_ref() {
            if !(ln_p <= T::zero()) {
                return Err(EventError::Parameter { name: "ln_p" });
            }
            total += exp(ln_p);
        }
        check_total(total, z)?;
        Ok(Self { ln_p, scalar: PhantomData })
    }
    /// `ln p_z`, `[feature]`.
    pub fn ln_p(&self) -> &[T] {
        self.ln_p.as_ref()
    }
}

fn check<T: Real>(p: &[T]) -> Result<(), EventError> {
    if !p.iter().all(|&p| p >= T::zero() && p <= T::one()) {
        return Err(EventError::Parameter { name: "p" });
    }
    check_total(sum(p), p.len())
}

fn check_total<T: Real>(total: T, features: usize) -> Result<(), EventError> {
    let tolerance = T::from_f64(4.0 * (features as f64 + 8.0)) * T::UNIT_ROUNDOFF;
    if (total - T::one()).abs() <= tolerance { Ok(()) } else { Err(EventError::Total) }
}

impl<T, S, I, C> Event<I> for Multinomial<T, S>
where
    T: Real,
    S: AsRef<[T]>,
    I: IntoIterator<Item = (usize, C)> + Clone,
    C: Count,
{
    type Scalar = T;

    #[inline]
    fn statistics_len(&self) -> usize {
        self.ln_p.as_ref().len()
    }
    #[inline]
    fn ln_kernel(&self, bag: I) -> T {
        let ln_p = self.ln_p.as_ref();
        let mut sum = T::zero();
        for (feature, count) in bag {
            let count = count.to_real::<T>();
            match ln_p.get(feature) {
                Some(&ln_p) if count > T::zero() && count.is_finite() => sum += count * ln_p,
                Some(_) if count == T::zero() => {} // 0 ln 0 = 0
                _ => return -T::infinity(),
            }
        }
        sum
    }
    fn ln_base(&self, bag: I) -> T {
        let (mut tokens, mut sum) = (T::zero(), T::zero());
        for (_, count) in bag {
            let count = count.to_real::<T>();
            if !is_count(count) {
                return -T::infinity();
            }
            tokens += count;
            sum += ln_gamma(count + T::one());
        }
        let base = ln_gamma(tokens + T::one()) - sum;
        if base.is_finite() { base } else { -T::infinity() }
    }
    fn accumulate(&self, bag: I, weight: T, statistics: &mut [T]) -> Result<(), EventError> {
        let features = self.ln_p.as_ref().len();
        if statistics.len() != features {
            let found = statistics.len();
            return Err(EventError::Length { table: "statistics", expected: features, found });
        }
        check_weight(weight)?;
        if !bag.clone().into_iter().all(|(z, count)| z < features && is_count(count.to_real::<T>())) {
            return Err(EventError::Observation);
        }
        for (feature, count) in bag {
            if let Some(sum) = statistics.get_mut(feature) {
                *sum += weight * count.to_real();
            }
        }
        Ok(())
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Estimate for Multinomial<T, S> {
    type Scalar = T;

    fn maximize(&mut self, statistics: &[T]) -> Result<(), EventError> {
        let ln_p = self.ln_p.as_mut();
        if statistics.len() != ln_p.len() {
            let (expected, found) = (ln_p.len(), statistics.len());
            return Err(EventError::Length { table: "statistics", expected, found });
        }
        let total = sum(statistics);
        if !(total > T::zero() && total.is_finite() && statistics.iter().all(|&n| n >= T::zero())) {
            return Err(EventError::Statistics { name: "counts" });
        }
        for (ln_p, &n) in ln_p.iter_mut().zip(statistics) {
            *ln_p = ln(n / total);
        }
        Ok(())
    }
}
