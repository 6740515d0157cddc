//! What distributions are checked for, and made to be.

use countgrid_math::Real;
use rand_core::Rng;

use crate::HmmError;

pub(crate) fn non_negative<T: Real>(
    table: &'static str,
    columns: usize,
    entries: &[T],
) -> Result<(), HmmError> {
    match entries.iter().position(|&p| !(p >= T::zero() && p.is_finite())) {
        Some(entry) => Err(HmmError::Probability { table, row: entry / columns, column: entry % columns }),
        None => Ok(()),
    }
}

pub(crate) fn sums_to_one<'a, T: Real>(
    table: &'static str,
    distribution: usize,
    entries: impl ExactSizeIterator<Item = &'a T>,
) -> Result<(), HmmError> {
    let roundings = entries.len() as f64 * T::UNIT_ROUNDOFF.to_f64();
    let sum: f64 = entries.map(|&p| p.to_f64()).sum();
    let allowed = roundings.max(1e-3);
    if (sum - 1.0).abs() <= allowed { Ok(()) } else { Err(HmmError::NotNormalised { table, distribution }) }
}

/// Divides a row by its sum, if it has one.
pub(crate) fn normalise<T: Real>(
    table: &'static str,
    distribution: usize,
    row: &mut [T],
) -> Result<(), HmmError> {
    let total = row.iter().fold(T::zero(), |sum, &p| sum + p);
    if !(total > T::zero() && total.is_finite()) {
        return Err(HmmError::NotNormalised { table, distribution });
    }
    row.iter_mut().for_each(|p| *p /= total);
    Ok(())
}

/// Uniform in `[0, 1)`: the upper 53 bits of a word.
pub(crate) fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}
