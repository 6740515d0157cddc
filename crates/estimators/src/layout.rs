//! The extents of a grid and the sides of its window, with any number of axes up to eight.

use countgrid_grid::{GridError, Shape, default_extent, default_side};
use countgrid_torus::{Torus, Windows};

use crate::EstimatorError;

/// The number of axes that grids are compiled for. A grid of fewer has leading axes of one cell, which change no result.
pub const AXES: usize = 8;

/// Sides as text: `32x32`.
///
/// ```
/// assert_eq!(countgrid_estimators::format_sides(&[3, 16, 16]), "3x16x16");
/// ```
pub fn format_sides(sides: &[usize]) -> String {
    sides.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

/// A grid and its window.
///
/// ```
/// use countgrid_estimators::GridLayout;
/// let layout = GridLayout::choose(None, None, 2_016)?; // for so many documents
/// assert_eq!((layout.extents(), layout.window()), (&[32, 32][..], &[5, 5][..]));
/// assert_eq!(GridLayout::choose(Some(&[40]), None, 10)?.window(), [7]);
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridLayout {
    extents: Vec<usize>, // one to AXES
    window: Vec<usize>,  // as many, none larger than that of the grid
}

impl GridLayout {
    /// Cells of the grid and of its window along each axis.
    ///
    /// # Errors
    /// [`EstimatorError::Axes`], [`EstimatorError::WindowAxes`], [`EstimatorError::WindowTooLarge`].
    pub fn new(extents: Vec<usize>, window: Vec<usize>) -> Result<Self, EstimatorError> {
        if !(1..=AXES).contains(&extents.len()) {
            return Err(EstimatorError::Axes { found: extents.len() });
        }
        if extents.len() != window.len() {
            return Err(EstimatorError::WindowAxes { extents, window });
        }
        match window.iter().zip(&extents).position(|(side, extent)| side > extent) {
            Some(axis) => Err(EstimatorError::WindowTooLarge { extents, window, axis }),
            None => Ok(Self { extents, window }),
        }
    }

    /// The layout that is asked for, with defaults for this many documents that are not empty where nothing is given
    /// ([`default_extent`], [`default_side`]). A window of one side has it along every axis.
    ///
    /// # Errors
    /// Those of [`GridLayout::new`].
    pub fn choose(
        extents: Option<&[usize]>,
        window: Option<&[usize]>,
        documents: usize,
    ) -> Result<Self, EstimatorError> {
        let extents = extents.map_or_else(|| vec![default_extent(documents); 2], <[_]>::to_vec);
        let window = match window {
            None => extents.iter().copied().map(default_side).collect(),
            Some(&[side]) => vec![side; extents.len()],
            Some(window) => window.to_vec(),
        };
        Self::new(extents, window)
    }

    /// Cells along each axis.
    #[must_use]
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// Cells of a window along each axis.
    #[must_use]
    pub fn window(&self) -> &[usize] {
        &self.window
    }

    /// Cells of the grid.
    #[must_use]
    pub fn cells(&self) -> u128 {
        self.extents.iter().fold(1, |cells: u128, &extent| cells.saturating_mul(extent as u128))
    }

    /// The shape of a grid of so many features.
    ///
    /// # Errors
    /// [`GridError::Shape`], [`GridError::NoFeatures`], [`GridError::TooLarge`].
    pub fn shape(&self, features: usize) -> Result<Shape<AXES>, GridError> {
        Shape::new(Windows::from_slices(&self.extents, &self.window)?, features)
    }

    /// A cell's coordinates on the axes that the layout has.
    #[must_use]
    pub fn coordinates(&self, torus: &Torus<AXES>, cell: usize) -> Vec<usize> {
        torus.coords_of(cell).into_iter().skip(AXES - self.extents.len()).collect()
    }

    /// The cell at coordinates on the axes that the layout has; they wrap.
    ///
    /// # Errors
    /// [`EstimatorError::Coordinates`] for another number of them.
    pub fn cell_at(&self, torus: &Torus<AXES>, at: &[isize]) -> Result<usize, EstimatorError> {
        if at.len() != self.extents.len() {
            return Err(EstimatorError::Coordinates { extents: self.extents.clone(), found: at.len() });
        }
        let mut coordinates = [0; AXES];
        coordinates[AXES - at.len()..].copy_from_slice(at);
        Ok(torus.cell_at(coordinates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_follow_from_the_number_of_documents() {
        let of = |documents| GridLayout::choose(None, None, documents).unwrap();
        for (documents, grid, window) in [
            (0, [4, 4], [2, 2]),
            (60, [6, 6], [2, 2]),
            (2_016, [32, 32], [5, 5]),
            (1 << 20, [64, 64], [8, 8]),
        ] {
            assert_eq!((of(documents).extents(), of(documents).window()), (&grid[..], &window[..]));
        }
        assert_eq!(GridLayout::choose(Some(&[1, 40]), None, 10).unwrap().window(), [1, 7]);
        assert_eq!(GridLayout::choose(Some(&[9, 9, 9]), Some(&[3]), 10).unwrap().window(), [3, 3, 3]);
    }

    #[test]
    fn a_window_fits_into_its_grid() {
        type Refused = fn(&EstimatorError) -> bool;
        let cases: [(&[usize], &[usize], Refused); 5] = [
            (&[4, 4], &[5, 2], |e| matches!(e, EstimatorError::WindowTooLarge { axis: 0, .. })),
            (&[4, 4], &[2, 2, 2], |e| matches!(e, EstimatorError::WindowAxes { .. })),
            (&[3], &[4], |e| matches!(e, EstimatorError::WindowTooLarge { axis: 0, .. })),
            (&[], &[], |e| matches!(e, EstimatorError::Axes { found: 0 })),
            (&[1; 9], &[1; 9], |e| matches!(e, EstimatorError::Axes { found: 9 })),
        ];
        for (extents, window, expected) in cases {
            let refused = GridLayout::choose(Some(extents), Some(window), 10).unwrap_err();
            assert!(expected(&refused), "{refused}");
        }
    }

    #[test]
    fn coordinates_are_those_of_the_axes_given() {
        let layout = GridLayout::new(vec![4, 6], vec![2, 2]).unwrap();
        let shape = layout.shape(1).unwrap();
        let torus = shape.windows().torus();
        assert_eq!(layout.coordinates(torus, 13), [2, 1]);
        assert_eq!(layout.cell_at(torus, &[2, 1]).unwrap(), 13);
        assert_eq!(layout.cell_at(torus, &[-2, 7]).unwrap(), 13);
        assert!(layout.cell_at(torus, &[1]).is_err());
    }
}
