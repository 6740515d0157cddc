use core::iter::FusedIterator;

use crate::{ShapeError, Torus};

/// A torus and the sides of a window that moves over it, checked once.
///
/// There is one window per cell, its start `k`: `W_k = { (k + o) mod E : 0 ≤ o_d < W_d }`.
///
/// ```
/// use countgrid_torus::{Torus, Windows};
/// let windows = Windows::new(Torus::new([3, 4])?, [2, 2])?;
/// assert_eq!(windows.volume(), 4);
/// assert!(windows.cells_of(11).eq([11, 8, 3, 0])); // over both edges
/// assert!(windows.starts_over(0).eq([0, 3, 8, 11])); // the windows that hold cell 0
/// assert!(windows.contains(11, 0) && !windows.contains(0, 11));
/// # Ok::<(), countgrid_torus::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::WindowsFields<D>", into = "crate::serialised::WindowsFields<D>")
)]
pub struct Windows<const D: usize> {
    torus: Torus<D>,
    sides: [usize; D], // 1 ≤ sides[d] ≤ extents[d], so their product is at most the number of cells
}

impl<const D: usize> Windows<D> {
    /// Windows of `sides[d]` cells along axis `d`.
    ///
    /// # Errors
    /// [`ShapeError::EmptyWindow`], [`ShapeError::WindowTooLarge`].
    pub const fn new(torus: Torus<D>, sides: [usize; D]) -> Result<Self, ShapeError> {
        let (extents, mut axis) = (torus.extents(), 0);
        while axis < D {
            let (side, extent) = (sides[axis], extents[axis]);
            if side == 0 {
                return Err(ShapeError::EmptyWindow { axis });
            }
            if side > extent {
                return Err(ShapeError::WindowTooLarge { axis, side, extent });
            }
            axis += 1;
        }
        Ok(Self { torus, sides })
    }

    /// Windows of `sides[d]` cells along axis `d` of a torus of `extents[d]` cells.
    ///
    /// ```
    /// use countgrid_torus::{ShapeError, Windows};
    /// assert_eq!(Windows::from_sides([5, 4], [2, 2])?.torus().cells(), 20);
    /// let refused = Windows::from_sides([5, 4], [2, 6]);
    /// assert_eq!(refused, Err(ShapeError::WindowTooLarge { axis: 1, side: 6, extent: 4 }));
    /// # Ok::<(), ShapeError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Torus::new`] and [`Windows::new`].
    pub const fn from_sides(extents: [usize; D], sides: [usize; D]) -> Result<Self, ShapeError> {
        match Torus::new(extents) {
            Ok(torus) => Self::new(torus, sides),
            Err(error) => Err(error),
        }
    }

    /// Windows of at most `D` axes, from sizes that are known when the program runs. Axes that are not given come
    /// first and have one cell: no sum over a window, and no order of cells, is another because of them.
    ///
    /// ```
    /// use countgrid_torus::{ShapeError, Windows};
    /// let windows = Windows::<3>::from_slices(&[5, 4], &[2, 2])?;
    /// assert_eq!((windows.torus().extents(), windows.sides()), ([1, 5, 4], [1, 2, 2]));
    /// assert_eq!(Windows::<1>::from_slices(&[5, 4], &[2, 2]), Err(ShapeError::Axes { most: 1, found: 2 }));
    /// # Ok::<(), ShapeError>(())
    /// ```
    ///
    /// # Errors
    /// [`ShapeError::Axes`]; [`ShapeError::Length`] for sides of other axes than the extents; as [`Torus::new`] and
    /// [`Windows::new`], with axes numbered as in the slices.
    pub fn from_slices(extents: &[usize], sides: &[usize]) -> Result<Self, ShapeError> {
        let axes = extents.len();
        let Some(missing) = D.checked_sub(axes).filter(|_| axes > 0) else {
            return Err(ShapeError::Axes { most: D, found: axes });
        };
        if sides.len() != axes {
            return Err(ShapeError::Length { table: "sides", expected: axes, found: sides.len() });
        }
        let padded = |of: &[usize]| {
            core::array::from_fn(|axis| {
                axis.checked_sub(missing).and_then(|axis| of.get(axis)).map_or(1, |&n| n)
            })
        };
        let windows = Torus::new(padded(extents)).and_then(|torus| Self::new(torus, padded(sides)));
        windows.map_err(|error| match error {
            ShapeError::EmptyAxis { axis } => ShapeError::EmptyAxis { axis: axis - missing },
            ShapeError::EmptyWindow { axis } => ShapeError::EmptyWindow { axis: axis - missing },
            ShapeError::WindowTooLarge { axis, side, extent } => {
                ShapeError::WindowTooLarge { axis: axis - missing, side, extent }
            }
            error => error,
        })
    }

    /// The torus that the windows lie on.
    #[must_use]
    pub const fn torus(&self) -> &Torus<D> {
        &self.torus
    }

    /// Cells of a window along each axis, `W`.
    #[must_use]
    pub const fn sides(&self) -> [usize; D] {
        self.sides
    }

    /// Cells of a window, `V = ∏ W_d`.
    #[must_use]
    pub const fn volume(&self) -> usize {
        let (mut volume, mut axis) = (1, 0);
        while axis < D {
            volume *= self.sides[axis];
            axis += 1;
        }
        volume
    }

    /// The cells of window `start`, `(start + o) mod E`, offsets `o` in row-major order.
    #[must_use]
    pub const fn cells_of(&self, start: usize) -> WindowCells<D> {
        WindowCells::new(self, start, false)
    }

    /// The mirror: the starts of all windows that hold `cell`, `(cell - o) mod E`, offsets `o` in
    /// row-major order.
    #[must_use]
    pub const fn starts_over(&self, cell: usize) -> WindowCells<D> {
        WindowCells::new(self, cell, true)
    }

    /// Whether window `start` holds `cell`.
    #[must_use]
    pub const fn contains(&self, start: usize, cell: usize) -> bool {
        let (extents, start, cell) =
            (self.torus.extents(), self.torus.coords_of(start), self.torus.coords_of(cell));
        let mut axis = 0;
        while axis < D {
            let wraps = cell[axis] < start[axis];
            // Both coordinates are below E_d ≤ isize::MAX.
            let offset = cell[axis] + if wraps { extents[axis] } else { 0 } - start[axis];
            if offset >= self.sides[axis] {
                return false;
            }
            axis += 1;
        }
        true
    }
}

/// Iterator over the cells of a window, or of its mirror; see [`Windows::cells_of`] and
/// [`Windows::starts_over`].
///
/// Example: [`Windows`](crate::Windows).
#[derive(Clone, Debug)]
pub struct WindowCells<const D: usize> {
    windows: Windows<D>,
    origin: [usize; D],
    offset: [usize; D], // of the next cell, 0 ≤ offset[d] < sides[d]
    left: usize,
    mirrored: bool,
}

impl<const D: usize> WindowCells<D> {
    const fn new(windows: &Windows<D>, origin: usize, mirrored: bool) -> Self {
        let origin = windows.torus.coords_of(origin);
        Self { windows: *windows, origin, offset: [0; D], left: windows.volume(), mirrored }
    }
}

impl<const D: usize> Iterator for WindowCells<D> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let (extents, sides, mut coords) = (self.windows.torus.extents(), self.windows.sides, self.origin);
        for ((coord, &offset), &extent) in coords.iter_mut().zip(&self.offset).zip(&extents) {
            // offset < side ≤ extent, so neither form leaves 0 .. 2 E_d.
            *coord += if self.mirrored { extent - offset } else { offset };
        }
        for (offset, &side) in self.offset.iter_mut().zip(&sides).rev() {
            *offset += 1;
            if *offset < side {
                break;
            }
            *offset = 0;
        }
        Some(self.windows.torus.cell_of(coords))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<const D: usize> ExactSizeIterator for WindowCells<D> {}
impl<const D: usize> FusedIterator for WindowCells<D> {}
