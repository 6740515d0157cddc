//! Two functions as a user of the crates might write them, and in `tests` whether they are right, by the strategies and
//! references that the crates have for tests.

use countgrid_counts::Bags;
use countgrid_prefix::{LengthError, scratch_len, window_sums};
use countgrid_torus::Windows;

/// The mean of a table over the window of every cell.
///
/// # Errors
/// A table of another length than the torus has cells.
pub fn window_means<const D: usize>(windows: &Windows<D>, table: &[f64]) -> Result<Vec<f64>, LengthError> {
    let mut means = vec![0.0; windows.torus().cells()];
    window_sums(windows, table, &mut means, &mut vec![0.0; scratch_len(windows)])?;
    means.iter_mut().for_each(|mean| *mean /= windows.volume() as f64);
    Ok(means)
}

/// In how many bags each feature is.
pub fn document_frequencies(bags: &impl Bags) -> Vec<usize> {
    let mut found = vec![0; bags.features()];
    for bag in 0..bags.len() {
        bags.entries(bag).for_each(|(feature, _)| found[feature] += 1);
    }
    found
}
