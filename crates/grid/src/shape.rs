use countgrid_math::Real;
use countgrid_torus::{Torus, Windows};

use crate::{GridError, tiles::Tiles};

/// Windows on a torus, and how many features each cell distributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::ShapeFields<D>")
)]
pub struct Shape<const D: usize> {
    windows: Windows<D>,
    features: usize, // at least 1; cells, packed in tiles, times (features + 1) is at most isize::MAX
}

impl<const D: usize> Shape<D> {
    /// The shape of a grid of at most 2²⁸ cells, fewer if they do not fill tiles of 16 neighbours.
    ///
    /// # Errors
    /// [`GridError::NoFeatures`], [`GridError::TooLarge`].
    pub const fn new(windows: Windows<D>, features: usize) -> Result<Self, GridError> {
        if features == 0 {
            return Err(GridError::NoFeatures);
        }
        // Both float types, so that a shape once accepted serves either.
        let (single, double) =
            (Tiles::new(windows.torus(), f32::LANES), Tiles::new(windows.torus(), f64::LANES));
        let cells = windows.torus().cells();
        let (Some(single), Some(double)) = (single, double) else {
            return Err(GridError::TooLarge { cells, features });
        };
        // The E-step keeps numbers of tiles and bags in the float type, where whole numbers up to 2^24 are exact.
        if single.count() > 1 << 24 {
            return Err(GridError::TooLarge { cells, features });
        }
        let slots = if single.slots() > double.slots() { single.slots() } else { double.slots() };
        let slots = slots + slots / 4 + 16; // bounds: at most a fourth, four tiles of f64 with one of bounds
        // Eight bytes an element is the most that an element takes; the 64 are for what scratch adds.
        if slots as u128 * (features as u128 + 64) * 8 > isize::MAX as u128 {
            return Err(GridError::TooLarge { cells, features });
        }
        Ok(Self { windows, features })
    }

    /// The shape of a grid with these extents and windows with these sides, such as an exported model states them.
    ///
    /// ```
    /// use countgrid_grid::{Shape, constant};
    /// const SHAPE: Shape<2> = constant!(Shape::from_sides([16, 16], [4, 4], 500));
    /// assert_eq!(SHAPE.cells(), 256);
    /// ```
    ///
    /// # Errors
    /// [`GridError::Shape`], and those of [`Shape::new`].
    pub const fn from_sides(
        extents: [usize; D],
        sides: [usize; D],
        features: usize,
    ) -> Result<Self, GridError> {
        match Windows::from_sides(extents, sides) {
            Ok(windows) => Self::new(windows, features),
            Err(error) => Err(GridError::Shape(error)),
        }
    }

    /// The windows and, in them, the torus.
    #[must_use]
    pub const fn windows(&self) -> &Windows<D> {
        &self.windows
    }

    /// The shape before this one in a coarse-to-fine schedule: half the extents, rounded up, and the same
    /// window as far as it fits. `None` once there are at most 128 cells, few enough to fit from random, or once
    /// one window would be the whole grid.
    ///
    /// An axis along which windows have a single cell is left as it is: its cells share nothing with their neighbours.
    /// They are *layers*, grids that lie on one torus and of which each bag picks one.
    ///
    /// A coarse grid finds the large-scale order that a fine one, begun at random, settles without; and each
    /// of its iterations is four times cheaper in two dimensions. The window that stays covers more of the coarse
    /// grid: documents that share little are drawn together first, and near neighbours are separated later.
    /// [`crate::Grid::refine`] goes back up.
    ///
    /// ```
    /// # use countgrid_grid::Shape;
    /// # use countgrid_torus::{Torus, Windows};
    /// let shape = |extents, sides| Shape::new(Windows::new(Torus::new(extents)?, sides)?, 1000);
    /// let fine = shape([33, 32], [5, 5])?;
    /// assert_eq!(fine.coarser(), Some(shape([17, 16], [5, 5])?));
    /// assert_eq!(shape([17, 16], [5, 5])?.coarser(), Some(shape([9, 8], [5, 5])?));
    /// assert_eq!(shape([9, 8], [5, 5])?.coarser(), None); // 72 cells are few
    /// assert_eq!(shape([16, 16], [8, 8])?.coarser(), None); // 8x8 would be one window
    /// assert_eq!(shape([300, 1], [7, 1])?.coarser(), Some(shape([150, 1], [7, 1])?));
    /// assert_eq!(shape([3, 300], [1, 7])?.coarser(), Some(shape([3, 150], [1, 7])?)); // three layers
    /// assert_eq!(shape([300, 1], [1, 1])?.coarser(), None); // a mixture is all layers
    /// # Ok::<(), countgrid_grid::GridError>(())
    /// ```
    #[must_use]
    pub fn coarser(&self) -> Option<Self> {
        if self.cells() <= 128 {
            return None;
        }
        let (mut extents, mut sides) = (self.windows.torus().extents(), self.windows.sides());
        let mut room = false; // for windows to differ
        for (extent, side) in extents.iter_mut().zip(&mut sides).filter(|(_, side)| **side > 1) {
            *extent = extent.div_ceil(2);
            *side = (*extent).min(*side);
            room |= *side < *extent;
        }
        let windows = Windows::new(Torus::new(extents).ok()?, sides).ok()?;
        Self::new(windows, self.features).ok().filter(|_| room)
    }

    /// Number of features `Z`.
    #[must_use]
    pub const fn features(&self) -> usize {
        self.features
    }

    /// Number of cells `P`, which is also the number of windows.
    #[must_use]
    pub const fn cells(&self) -> usize {
        self.windows.torus().cells()
    }

    /// Elements of a [`crate::Grid`]'s buffer: `P (Z + 1)`.
    #[must_use]
    pub const fn grid_len(&self) -> usize {
        self.cells() * (self.features + 1)
    }

    /// Elements of the buffer of [`crate::LogHistograms`]: one padded plane per feature and one for the prior, the
    /// largest entries of tiles of neighbouring cells, a sixteenth (f32) or an eighth (f64) as many, and of planes.
    #[must_use]
    pub const fn histograms_len<T: Real>(&self) -> usize {
        self.references_start::<T>() + self.features
    }

    /// Elements before the last table of [`crate::LogHistograms`].
    pub(crate) const fn references_start<T: Real>(&self) -> usize {
        self.counts_len::<T>() + self.tiles::<T>().bounds() * T::LANES * (self.features + 1)
    }

    /// Elements of the sums of [`crate::Statistics`].
    #[must_use]
    pub const fn sums_len<T: Real>(&self) -> usize {
        self.counts_len::<T>() + crate::statistics::TOTALS
    }

    /// Elements of a packed table without bounds.
    pub(crate) const fn counts_len<T: Real>(&self) -> usize {
        self.tiles::<T>().slots() * (self.features + 1)
    }

    /// Elements of scratch for the posteriors of `chunk` bags together, however flat their posteriors are; where
    /// posteriors are sharp, the same scratch serves many more.
    #[must_use]
    pub const fn posterior_scratch_len<T: Real>(&self, chunk: usize) -> usize {
        crate::estep::scratch_len::<T>(self.tiles::<T>().count(), if chunk == 0 { 1 } else { chunk })
    }

    /// Elements of scratch of the M-step, and of everything that reads planes one at a time.
    #[must_use]
    pub const fn plane_scratch_len(&self) -> usize {
        crate::mstep::scratch_len(self)
    }

    /// Elements of the scratch of [`crate::Statistics`] that place `chunk` bags together.
    #[must_use]
    pub const fn scratch_len<T: Real>(&self, chunk: usize) -> usize {
        let (posterior, plane) = (self.posterior_scratch_len::<T>(chunk), self.plane_scratch_len());
        if posterior > plane { posterior } else { plane }
    }

    /// Slots of windows in tables of type `T` that are kept tile by tile: the cells, and padding where tiles stick out of the torus.
    #[must_use]
    pub const fn slots<T: Real>(&self) -> usize {
        self.tiles::<T>().slots()
    }

    /// Calls `visit(slot, cell)` for every cell, in the order of its slots; those that are left out are padding.
    ///
    /// Example: [`Posterior::for_each_tile`](crate::Posterior::for_each_tile).
    pub fn for_each_slot<T: Real>(&self, mut visit: impl FnMut(usize, usize)) {
        let tiles = self.tiles::<T>();
        (0..tiles.slots())
            .filter_map(|slot| Some((slot, tiles.cell(slot)?)))
            .for_each(|(slot, cell)| visit(slot, cell));
    }

    pub(crate) const fn tiles<T: Real>(&self) -> Tiles<D> {
        match Tiles::new(self.windows.torus(), T::LANES) {
            Some(tiles) => tiles,
            None => Tiles::EMPTY, // `new` has refused such a shape
        }
    }
}
