use core::marker::PhantomData;

use countgrid_em::{Table, Tables, TablesMut};
use countgrid_math::Real;
use rand_core::Rng;

use crate::{
    Grid, GridError, Shape,
    error::same_length,
    grid::{check_columns, draw_columns},
};

/// The parameters of a componential counting grid: tables `pi` `[feature][cell]` and `alpha` `[window]`, one buffer of
/// [`Shape::grid_len`] elements.
///
/// Every column of `pi` (one cell, all features) is a distribution. `alpha` is the parameter of the Dirichlet prior of
/// a bag's proportions over windows, symmetric or not; its sum `A` is worth so many tokens.
///
/// The storage is the caller's: an array, a `&'static` table, a borrowed buffer, a `Vec`.
///
/// ```
/// use countgrid_grid::{Shape, componential::ComponentialGrid};
/// static TABLES: [f32; 6] = [0.25, 0.5, 0.75, 0.5, 0.1, 0.1]; // pi of feature 0, of feature 1, alpha
/// let grid = ComponentialGrid::new(Shape::from_sides([2], [1], 2)?, TABLES.as_slice())?;
/// assert_eq!((grid.plane(1), grid.alpha()), (&[0.75, 0.5][..], &[0.1, 0.1][..]));
/// # Ok::<(), countgrid_grid::GridError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ComponentialGrid<T, S, const D: usize> {
    shape: Shape<D>,
    layout: [Table; 2],
    storage: S, // of length `shape.grid_len()`
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>, const D: usize> ComponentialGrid<T, S, D> {
    /// A grid from its tables, `pi` and then `alpha`.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Probability`] and [`GridError::NotNormalised`] as [`Grid::new`];
    /// [`GridError::Alpha`] unless `FLOOR ≤ alpha ≤ 1 / FLOOR / P`, with [`Real::FLOOR`].
    pub fn new(shape: Shape<D>, storage: S) -> Result<Self, GridError> {
        let grid = Self::unchecked(shape, storage)?;
        grid.check()?;
        Ok(grid)
    }

    fn unchecked(shape: Shape<D>, storage: S) -> Result<Self, GridError> {
        same_length("grid", shape.grid_len(), storage.as_ref().len())?;
        let layout =
            [Table::new("pi", shape.features(), shape.cells()), Table::new("alpha", 1, shape.cells())];
        Ok(Self { shape, layout, storage, scalar: PhantomData })
    }

    /// Whether the tables are what [`ComponentialGrid::new`] asks for.
    pub(crate) fn check(&self) -> Result<(), GridError> {
        let (pi, alpha) = self.tables();
        check_columns(&self.shape, pi)?;
        match parameters_out_of_range(alpha) {
            Some(window) => Err(GridError::Alpha { window }),
            None => Ok(()),
        }
    }

    /// The shape.
    pub fn shape(&self) -> &Shape<D> {
        &self.shape
    }

    /// `pi` as `[feature][cell]`, and `alpha`.
    pub fn tables(&self) -> (&[T], &[T]) {
        let tables = self.storage.as_ref();
        tables.split_at(tables.len().saturating_sub(self.shape.cells()))
    }

    /// One feature's probability at every cell; empty for a feature that the grid does not have.
    pub fn plane(&self, feature: usize) -> &[T] {
        self.tables().0.chunks_exact(self.shape.cells()).nth(feature).unwrap_or(&[])
    }

    /// `alpha` `[window]`.
    pub fn alpha(&self) -> &[T] {
        self.tables().1
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> ComponentialGrid<T, S, D> {
    /// Equal cells and `alpha_l = concentration / P` in the given storage, which is overwritten. A start for
    /// [`ComponentialGrid::randomize`]: being symmetric, it is a fixed point of the fit. A concentration of 1 to 20
    /// tokens serves texts well.
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Alpha`].
    pub fn uniform_in(shape: Shape<D>, storage: S, concentration: f64) -> Result<Self, GridError> {
        let mut grid = Self::unchecked(shape, storage)?;
        let (pi, alpha) = grid.tables_mut();
        pi.fill(T::one() / T::from_f64(shape.features() as f64));
        alpha.fill(T::from_f64(concentration / shape.cells() as f64));
        grid.check()?;
        Ok(grid)
    }

    /// `pi` as `[feature][cell]`, and `alpha`.
    pub(crate) fn tables_mut(&mut self) -> (&mut [T], &mut [T]) {
        let tables = self.storage.as_mut();
        let middle = tables.len().saturating_sub(self.shape.cells());
        tables.split_at_mut(middle)
    }

    /// Sets `alpha` `[window]`.
    ///
    /// # Errors
    /// [`GridError::Length`], [`GridError::Alpha`], and nothing has changed.
    pub fn set_alpha(&mut self, alpha: &[T]) -> Result<(), GridError> {
        same_length("alpha", self.shape.cells(), alpha.len())?;
        if let Some(window) = parameters_out_of_range(alpha) {
            return Err(GridError::Alpha { window });
        }
        self.tables_mut().1.copy_from_slice(alpha);
        Ok(())
    }

    /// Draws every cell's distribution anew, as [`Grid::randomize`] does; `alpha` stays.
    pub fn randomize(&mut self, rng: &mut impl Rng) {
        let shape = self.shape;
        draw_columns(&shape, self.tables_mut().0, rng);
    }

    /// `pi <- share · pi of grid + (1 - share) · pi`: from a random start, most of the way to a fitted counting grid, of
    /// which fits come out better than of the random start alone; nine tenths serve well. `alpha` stays.
    ///
    /// ```
    /// use countgrid_grid::{Grid, Shape, componential::ComponentialGrid};
    /// let shape = Shape::from_sides([2], [1], 2)?;
    /// let fitted = Grid::new(shape, [1.0, 0.0, 0.0, 1.0, 0.5, 0.5])?; // counting grids have a prior where alpha is
    /// let mut grid = ComponentialGrid::uniform_in(shape, [0.0; 6], 1.0)?;
    /// grid.mix(&fitted, 0.5)?;
    /// assert_eq!(grid.plane(0), &[0.75, 0.25]);
    /// # Ok::<(), countgrid_grid::GridError>(())
    /// ```
    ///
    /// # Errors
    /// [`GridError::ShapeMismatch`]; [`GridError::Share`] for a share outside `[0, 1]`.
    pub fn mix<R: AsRef<[T]>>(&mut self, grid: &Grid<T, R, D>, share: f64) -> Result<(), GridError> {
        if self.shape != *grid.shape() {
            return Err(GridError::ShapeMismatch);
        }
        if !(0.0..=1.0).contains(&share) {
            return Err(GridError::Share);
        }
        let (pi, _) = self.tables_mut();
        for (own, &other) in pi.iter_mut().zip(grid.tables().0) {
            *own = T::from_f64(share * other.to_f64() + (1.0 - share) * own.to_f64());
        }
        Ok(())
    }
}

/// The first of some Dirichlet parameters whose gamma functions, or whose sum, would leave the range of the type.
pub(crate) fn parameters_out_of_range<T: Real>(parameters: &[T]) -> Option<usize> {
    let most = T::one() / T::FLOOR / T::from_f64(parameters.len() as f64);
    parameters.iter().position(|&x| !(x >= T::FLOOR && x <= most))
}

#[cfg(feature = "alloc")]
impl<T: Real, const D: usize> ComponentialGrid<T, countgrid_math::AlignedVec<T>, D> {
    /// Equal cells in memory that it allocates.
    ///
    /// # Errors
    /// [`GridError::TooLarge`] if the allocator refuses; [`GridError::Alpha`].
    pub fn uniform(shape: Shape<D>, concentration: f64) -> Result<Self, GridError> {
        Self::uniform_in(shape, crate::statistics::allocate(&shape, shape.grid_len())?, concentration)
    }
}

impl<T: Real, S: AsRef<[T]>, const D: usize> Tables for ComponentialGrid<T, S, D> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> TablesMut for ComponentialGrid<T, S, D> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.storage.as_mut()
    }
}
