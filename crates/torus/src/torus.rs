use crate::{Neighbours, ShapeError};

/// A grid of `D` axes whose opposite faces are glued together; cells are numbered row-major.
///
/// Nothing here can fail once it is made: cells and coordinates outside their range wrap.
///
/// ```
/// use countgrid_torus::Torus;
/// let torus = Torus::new([4, 5, 6])?;
/// assert_eq!(torus.cells(), 120);
/// assert_eq!(torus.strides(), [30, 6, 1]);
/// assert_eq!(torus.translate(0, [-1, 0, 7]), torus.cell_of([3, 0, 1]));
/// # Ok::<(), countgrid_torus::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::TorusFields<D>", into = "crate::serialised::TorusFields<D>")
)]
pub struct Torus<const D: usize> {
    extents: [usize; D], // each at least 1
    cells: usize,        // their product, at most isize::MAX
}

impl<const D: usize> Torus<D> {
    /// A torus with `extents[d]` cells along axis `d`. `D = 0` does not compile.
    ///
    /// # Errors
    /// [`ShapeError::EmptyAxis`], [`ShapeError::TooManyCells`].
    pub const fn new(extents: [usize; D]) -> Result<Self, ShapeError> {
        const { assert!(D > 0, "a torus has at least one axis") };
        let (mut cells, mut axis) = (1usize, 0);
        while axis < D {
            if extents[axis] == 0 {
                return Err(ShapeError::EmptyAxis { axis });
            }
            axis += 1;
        }
        axis = 0;
        while axis < D {
            cells = match cells.checked_mul(extents[axis]) {
                Some(n) if n <= isize::MAX as usize => n,
                _ => return Err(ShapeError::TooManyCells),
            };
            axis += 1;
        }
        Ok(Self { extents, cells })
    }

    /// Cells along each axis, `E`.
    #[must_use]
    pub const fn extents(&self) -> [usize; D] {
        self.extents
    }

    /// Number of cells, `P = ∏ E_d`.
    #[must_use]
    pub const fn cells(&self) -> usize {
        self.cells
    }

    /// Distance in the row-major order between neighbours along each axis; the last is 1.
    #[must_use]
    pub const fn strides(&self) -> [usize; D] {
        let (mut strides, mut stride, mut axis) = ([1; D], 1, D);
        while axis > 0 {
            axis -= 1;
            strides[axis] = stride;
            stride *= self.extents[axis];
        }
        strides
    }

    /// Coordinates of a cell. `cell` is taken modulo the number of cells.
    #[must_use]
    pub const fn coords_of(&self, cell: usize) -> [usize; D] {
        let (mut coords, mut rest, mut axis) = ([0; D], cell, D);
        while axis > 0 {
            axis -= 1;
            coords[axis] = wrap(rest, self.extents[axis]);
            rest = match rest.checked_div(self.extents[axis]) {
                Some(rest) => rest,
                None => 0,
            };
        }
        coords
    }

    /// The cell at `coords`, each taken modulo its extent.
    #[must_use]
    pub const fn cell_of(&self, coords: [usize; D]) -> usize {
        let (mut cell, mut axis) = (0, 0);
        while axis < D {
            cell = cell * self.extents[axis] + wrap(coords[axis], self.extents[axis]);
            axis += 1;
        }
        cell
    }

    /// The cell at signed coordinates, which wrap: `-1` is the last cell along an axis.
    #[must_use]
    pub const fn cell_at(&self, coords: [isize; D]) -> usize {
        self.translate(0, coords)
    }

    /// The cell that lies `offset` away from `cell`: `(i + offset) mod E`.
    #[must_use]
    pub const fn translate(&self, cell: usize, offset: [isize; D]) -> usize {
        let (mut coords, mut axis) = (self.coords_of(cell), 0);
        while axis < D {
            // Both terms are below E_d ≤ isize::MAX, so neither the cast nor the sum overflows.
            coords[axis] += match offset[axis].checked_rem_euclid(self.extents[axis] as isize) {
                Some(forwards) => forwards as usize,
                None => 0,
            };
            axis += 1;
        }
        self.cell_of(coords)
    }

    /// The shorter way round along each axis, `min(|a_d - b_d|, E_d - |a_d - b_d|) ≤ ⌊E_d / 2⌋`.
    #[must_use]
    pub const fn axis_distance(&self, a: usize, b: usize) -> [usize; D] {
        let (a, b) = (self.coords_of(a), self.coords_of(b));
        let (mut distance, mut axis) = ([0; D], 0);
        while axis < D {
            let along = a[axis].abs_diff(b[axis]);
            let around = self.extents[axis] - along;
            distance[axis] = if along < around { along } else { around };
            axis += 1;
        }
        distance
    }

    /// Squared Euclidean distance the shorter way round, exactly.
    ///
    /// At most `∑ ⌊E_d / 2⌋²`, which is below 2¹²⁶ for every torus that can be made.
    #[must_use]
    pub const fn distance_squared(&self, a: usize, b: usize) -> u128 {
        let (distance, mut sum, mut axis) = (self.axis_distance(a, b), 0, 0);
        while axis < D {
            sum += distance[axis] as u128 * distance[axis] as u128;
            axis += 1;
        }
        sum
    }

    /// Euclidean distance the shorter way round: the square root of [`Torus::distance_squared`].
    ///
    /// The same bits on every target; correctly rounded while the square is below 2⁵³.
    #[must_use]
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        libm::sqrt(self.distance_squared(a, b) as f64)
    }

    /// The distinct cells that share a face with `cell`, itself excluded.
    ///
    /// For each axis in turn, the one before and the one after. An axis of two cells gives one
    /// neighbour, an axis of one cell none.
    ///
    /// ```
    /// let torus = countgrid_torus::Torus::new([3, 2])?;
    /// assert!(torus.neighbours(0).eq([4, 2, 1]));
    /// # Ok::<(), countgrid_torus::ShapeError>(())
    /// ```
    #[must_use]
    pub const fn neighbours(&self, cell: usize) -> Neighbours<D> {
        Neighbours::new(*self, cell)
    }
}

/// `coord mod extent`. The extent is never zero, but a compiler that does not know would add a panic.
const fn wrap(coord: usize, extent: usize) -> usize {
    match coord.checked_rem(extent) {
        Some(coord) => coord,
        None => 0,
    }
}
