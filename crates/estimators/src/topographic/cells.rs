//! A map as rows and columns of cells, for pages and pictures.

use countgrid_em::TablesExt;
use countgrid_gtm::{EmissionModel, GtmError, Inflation, magnification_scratch_len};
use countgrid_math::{Real, exp, ln, sigmoid};

use super::{LatentSpace, TopographicParameters};
use crate::{EstimatorError, Stored, blocks::zeros};

/// Rows and columns of cells over a latent space: the points of a regular grid are their centres. The first row is the
/// top, where the second coordinate is largest.
///
/// ```
/// use countgrid_estimators::CellFrame;
/// let frame = CellFrame { columns: 3, rows: 5, half: [1.0; 2], torus: false };
/// assert_eq!(frame.place([-1.0, 1.0]), [0.5, 0.5]);
/// assert_eq!(frame.cell(frame.centre(7)), 7);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellFrame {
    /// Cells along the first axis, at least 1.
    pub columns: usize,
    /// Cells along the second axis, at least 1.
    pub rows: usize,
    /// How far from 0 the centres of the outermost cells are, along each axis.
    pub half: [f64; 2],
    /// Whether the space is a torus.
    pub torus: bool,
}

impl CellFrame {
    /// Row and column of a latent point, in cells.
    #[must_use]
    pub fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let along = |x: f64, half: f64, n: usize| {
            let n = n as f64;
            if self.torus {
                // Cells of a period; `n - 1` and -1 are the same.
                let cells = (x + 1.0) / 2.0 * n + 0.5;
                cells - (cells / n).floor() * n
            } else if n > 1.0 && half > 0.0 {
                ((x / half + 1.0) / 2.0 * (n - 1.0) + 0.5).clamp(0.0, n)
            } else {
                n / 2.0
            }
        };
        let up = along(y, self.half[1], self.rows);
        [self.rows as f64 - up, along(x, self.half[0], self.columns)]
    }

    /// The cell of a latent point, row-major.
    #[must_use]
    pub fn cell(&self, place: [f64; 2]) -> usize {
        let [row, column] = self.place(place);
        let last = |x: f64, n: usize| (x as usize).min(n.saturating_sub(1));
        last(row, self.rows) * self.columns + last(column, self.columns)
    }

    /// The latent point at the centre of a cell.
    #[must_use]
    pub fn centre(&self, cell: usize) -> [f64; 2] {
        let along = |i: usize, half: f64, n: usize| {
            if self.torus {
                -1.0 + 2.0 * i as f64 / n as f64
            } else if n > 1 {
                half * (-1.0 + 2.0 * i as f64 / (n - 1) as f64)
            } else {
                0.0
            }
        };
        let (row, column) = (cell / self.columns.max(1), cell % self.columns.max(1));
        let up = self.rows.saturating_sub(1).saturating_sub(row);
        [along(column, self.half[0], self.columns), along(up, self.half[1], self.rows)]
    }

    /// Number of cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.rows.saturating_mul(self.columns)
    }
}

/// The cell of every point, `[point]`.
pub(super) fn cells_of_points<T: Stored>(latent: &LatentSpace<T>) -> Vec<usize> {
    let (frame, points) = (latent.frame(), latent.points());
    let (xs, ys) = points.split_at(points.len() / 2);
    xs.iter().zip(ys).map(|(&x, &y)| frame.cell([Real::to_f64(x), Real::to_f64(y)])).collect()
}

/// The share of the expected tokens that each feature has at the centre of each cell, `[feature][cell]`; for a Bernoulli map
/// the share of the expected features.
pub(super) fn feature_shares<T: Stored>(
    latent: &LatentSpace<T>,
    map: &TopographicParameters<T>,
) -> Result<Vec<f32>, EstimatorError> {
    let (shape, frame, functions) = (map.shape(), latent.frame(), latent.functions()?);
    let (columns, cells) = (shape.columns(), frame.cells());
    let mut phi = zeros::<T>(cells.saturating_mul(columns))?; // [cell][column]
    for (cell, row) in phi.chunks_exact_mut(columns).enumerate() {
        functions.row(&frame.centre(cell).map(T::from_f64), row)?;
    }
    let product = |weights: &[T], phi: &[T]| {
        weights.iter().zip(phi).fold(0.0, |sum: f64, (&w, &phi)| sum + Real::to_f64(w) * Real::to_f64(phi))
    };
    let inflation = map.table("inflation").unwrap_or_default();
    let width = inflation.len() / shape.features();
    let mut expected = zeros::<f64>(shape.features().saturating_mul(cells))?;
    for (j, row) in expected.chunks_exact_mut(cells).enumerate() {
        let weights = map.row("weights", j).unwrap_or_default();
        let gamma = inflation.get(j * width..(j + 1) * width).unwrap_or_default();
        for (expected, phi) in row.iter_mut().zip(phi.chunks_exact(columns)) {
            let f = product(weights, phi);
            *expected = match shape.emission_model() {
                EmissionModel::Zip(Inflation::Latent) => exp(f) * sigmoid(-product(gamma, phi)),
                EmissionModel::Zip(Inflation::Document) => {
                    exp(f) * sigmoid(-gamma.first().map_or(0.0, |&gamma| Real::to_f64(gamma)))
                }
                EmissionModel::Poisson => exp(f),
                EmissionModel::Bernoulli => sigmoid(f),
                EmissionModel::Multinomial => f,
                EmissionModel::Gaussian => f.max(0.0),
            };
        }
    }
    if shape.emission_model() == EmissionModel::Multinomial {
        let mut highest = vec![f64::NEG_INFINITY; cells];
        for row in expected.chunks_exact(cells) {
            highest.iter_mut().zip(row).for_each(|(most, &f)| *most = most.max(f));
        }
        for row in expected.chunks_exact_mut(cells) {
            row.iter_mut().zip(&highest).for_each(|(f, most)| *f = exp(*f - most));
        }
    }
    let mut totals = vec![0.0; cells];
    for row in expected.chunks_exact(cells) {
        totals.iter_mut().zip(row).for_each(|(total, &x)| *total += x);
    }
    let share = |(x, total): (&f64, &f64)| {
        let share = (x / total) as f32;
        if share.is_finite() { share } else { 0.0 } // a cell without any rate, or beyond all
    };
    Ok(expected.chunks_exact(cells).flat_map(|row| row.iter().zip(&totals).map(share)).collect())
}

/// Logarithms of magnification factors above the lowest, at the centres of cells; `None` if all factors are zero.
pub(super) fn relative_log_magnification<T: Stored>(
    latent: &LatentSpace<T>,
    map: &TopographicParameters<T>,
) -> Result<Vec<f32>, GtmError> {
    let (shape, frame, basis) = (map.shape(), latent.frame(), latent.functions()?);
    let mut rows = vec![T::zero(); 3 * shape.columns()];
    let mut scratch = vec![0.0; magnification_scratch_len(shape)];
    let factors = (0..frame.cells())
        .map(|cell| {
            let x = frame.centre(cell).map(T::from_f64);
            map.magnification_at(&basis, &x, &mut rows, &mut scratch)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let positive = factors.iter().copied().filter(|&factor| factor > 0.0 && factor.is_finite());
    let least = positive.fold(f64::INFINITY, f64::min);
    if !least.is_finite() {
        return Ok(Vec::new());
    }
    let height =
        |&factor: &f64| if factor > 0.0 { ln(factor.min(f64::MAX) / least).max(0.0) as f32 } else { 0.0 };
    Ok(factors.iter().map(height).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_of_a_cell_is_in_it() {
        for torus in [false, true] {
            for (columns, rows) in [(18, 15), (1, 4), (1, 1), (7, 2)] {
                let frame = CellFrame { columns, rows, half: [1.0; 2], torus };
                for cell in 0..columns * rows {
                    assert_eq!(frame.cell(frame.centre(cell)), cell, "{frame:?}");
                }
            }
        }
    }

    #[test]
    fn up_is_up_and_edges_hold() {
        let frame = CellFrame { columns: 3, rows: 5, half: [1.0; 2], torus: false };
        assert_eq!((frame.place([-1.0, 1.0]), frame.place([1.0, -1.0])), ([0.5, 0.5], [4.5, 2.5]));
        assert_eq!(frame.place([9.0, 9.0]), [0.0, 3.0]);
        let around = CellFrame { torus: true, ..frame };
        // Halfway between the last and the first of three columns at -1, -1/3 and 1/3: exact up to a few roundings.
        assert!(
            (around.place([2.0 / 3.0, -1.0])[1] - 3.0).abs() < 1e-12
                || around.place([2.0 / 3.0, -1.0])[1] < 1e-12
        );
    }
}
