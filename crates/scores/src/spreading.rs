use countgrid_math::Real;
use countgrid_prefix::{Direction, axes, sums_along};
use countgrid_torus::Windows;

use crate::{ScoreError, error::rows_of};

/// Elements of the scratch of [`spread_rows`].
#[must_use]
pub const fn spread_scratch_len<const D: usize>(windows: &Windows<D>) -> usize {
    windows.torus().cells() + countgrid_prefix::scratch_len(windows)
}

/// Spreads posteriors over the cells of their windows: each row `q` `[cell]` becomes `S' q / V`, the share of the bag
/// that lies on each cell. Rows still sum to one.
///
/// [`Similarity::Intersection`](crate::Similarity::Intersection) of such rows is in `[0, 1]`, 1 for a bag and itself.
///
/// ```
/// use countgrid_scores::{spread_rows, spread_scratch_len};
/// use countgrid_torus::{Torus, Windows};
/// let windows = Windows::new(Torus::new([4])?, [2])?;
/// let mut rows = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
/// spread_rows(&windows, &mut rows, &mut vec![0.0; spread_scratch_len(&windows)])?;
/// assert_eq!(rows, [0.5, 0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 0.5]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
/// [`ScoreError::Rows`]; [`ScoreError::Length`] if `scratch` is shorter than [`spread_scratch_len`].
/// # Source
/// Perina, Jojic, Castellani, Bicego & Murino, Embedding bags of features in hyper-dimensional grids: the counting grid
/// model, Eq. 13.
pub fn spread_rows<T: Real, const D: usize>(
    windows: &Windows<D>,
    rows: &mut [T],
    scratch: &mut [T],
) -> Result<(), ScoreError> {
    let cells = windows.torus().cells();
    rows_of("rows", cells, rows.len())?;
    let (expected, found) = (spread_scratch_len(windows), scratch.len());
    let Some((own, scratch)) = scratch.get_mut(..expected).map(|scratch| scratch.split_at_mut(cells)) else {
        return Err(ScoreError::Length { table: "scratch", expected, found });
    };
    let volume = T::from_f64(windows.volume() as f64);
    for row in rows.chunks_exact_mut(cells) {
        own.copy_from_slice(row);
        // Refused only for lengths, and these are right.
        let refused = ScoreError::Length { table: "rows", expected: cells, found: own.len() };
        sums_along(&axes(windows), Direction::Adjoint, own, row, scratch).map_err(|_| refused)?;
        row.iter_mut().for_each(|g| *g /= volume);
    }
    Ok(())
}
