use core::marker::PhantomData;

use countgrid_math::{Real, sqrt};

use crate::{
    ScoreError,
    error::{rows_of, same_length},
};

/// Standardisation of features, fitted on the training rows alone: each column less its mean, over its standard
/// deviation. A column that is constant there becomes zero everywhere.
///
/// Storage `[2][column]`: means, and one over the deviations.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug)]
pub struct Standardizer<T, S> {
    storage: S, // of an even, positive length
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Standardizer<T, S> {
    /// Fits rows `[row][column]`; `storage` has two elements a column, which are overwritten.
    ///
    /// Column by column in two passes, the second with the sum of what is left of the mean.
    ///
    /// # Errors
    /// [`ScoreError::Empty`], [`ScoreError::Rows`]; [`ScoreError::Entry`] for an entry that is not finite, or one so
    /// large that the deviation of its column is not.
    pub fn fit(rows: &[T], mut storage: S) -> Result<Self, ScoreError> {
        let columns = storage.as_ref().len() / 2;
        let expected = 2 * columns;
        same_length("storage", expected, storage.as_ref().len())?;
        let count = rows_of("rows", columns, rows.len())?;
        if count == 0 {
            return Err(ScoreError::Empty { table: "rows" });
        }
        if let Some(entry) = rows.iter().position(|x| !x.is_finite()) {
            return Err(ScoreError::Entry { table: "rows", row: entry / columns, column: entry % columns });
        }
        let n = T::from_f64(count as f64);
        let (means, scales) = storage.as_mut().split_at_mut(columns);
        for (column, (mean, scale)) in means.iter_mut().zip(scales).enumerate() {
            let entries = || rows.iter().skip(column).step_by(columns).copied();
            // Each a share of its own, so that a sum of large entries stays in range.
            *mean = entries().fold(T::zero(), |sum, x| sum + x / n);
            let (mut squares, mut rest) = (T::zero(), T::zero());
            for x in entries() {
                let apart = x - *mean;
                squares += apart * apart;
                rest += apart;
            }
            let variance = (squares - rest * rest / n) / n;
            // What is left of a constant column is the rounding of its mean.
            let rounding = n * T::UNIT_ROUNDOFF * mean.abs();
            *scale = match sqrt(variance) {
                deviation if deviation > rounding => T::one() / deviation,
                deviation if deviation <= rounding => T::zero(),
                _ => return Err(ScoreError::Entry { table: "rows", row: 0, column }),
            };
            if !(scale.is_finite() && mean.is_finite()) || (*scale == T::zero() && !variance.is_finite()) {
                return Err(ScoreError::Entry { table: "rows", row: 0, column });
            }
        }
        Ok(Self { storage, scalar: PhantomData })
    }
}

impl<T: Real, S: AsRef<[T]>> Standardizer<T, S> {
    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.storage.as_ref().len() / 2
    }

    /// Standardises rows `[row][column]`.
    ///
    /// # Errors
    /// [`ScoreError::Rows`].
    pub fn apply(&self, rows: &mut [T]) -> Result<(), ScoreError> {
        let columns = self.columns();
        rows_of("rows", columns, rows.len())?;
        let (means, scales) = self.storage.as_ref().split_at(columns);
        for row in rows.chunks_exact_mut(columns) {
            for ((x, &mean), &scale) in row.iter_mut().zip(means).zip(scales) {
                *x = (*x - mean) * scale;
            }
        }
        Ok(())
    }
}
