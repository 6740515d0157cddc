use core::marker::PhantomData;

use countgrid_em::{Table, Tables, TablesMut};
use countgrid_math::Real;

use super::{scratch_len, sums_len};
use crate::{
    GridError, Shape,
    error::{long_enough, same_length},
};

/// Elements of the table `totals`: `Σ_tl E[ln theta_l]`, bags and tokens.
pub(crate) const TOTALS: usize = 3;

/// What the M-step needs of the bags: expected tokens of every window, with the scratch of both steps.
///
/// Tables: `window_counts` `[feature][slot]`, `F_lz = Σ_t c_tz q_tzl`, packed like
/// [`WindowMeans`](super::WindowMeans); and `totals`: `Σ_tl E[ln theta_l]`, the number of bags and the number of tokens.
/// All of them are sums over bags, so statistics of two batches add up.
#[derive(Clone, Copy, Debug)]
pub struct Statistics<T, S, const D: usize> {
    shape: Shape<D>,
    layout: [Table; 2],
    sums: S,    // of length `sums_len(shape)`
    scratch: S, // at least `scratch_len(shape, 1)`
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> Statistics<T, S, D> {
    /// Empty statistics in the caller's storage: `sums` of [`sums_len`] elements, `scratch` of at least
    /// [`scratch_len`]`(shape, 1)`. Longer scratch lets threads share out more bags; no result depends on it.
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn new(shape: Shape<D>, sums: S, scratch: S) -> Result<Self, GridError> {
        same_length("sums", sums_len::<T, D>(&shape), sums.as_ref().len())?;
        long_enough("scratch", scratch_len::<T, D>(&shape, 1), scratch.as_ref().len())?;
        let layout = [
            Table::new("window_counts", shape.features(), shape.tiles::<T>().slots()),
            Table::new("totals", 1, TOTALS),
        ];
        let mut statistics = Self { shape, layout, sums, scratch, scalar: PhantomData };
        statistics.sums.as_mut().fill(T::zero());
        Ok(statistics)
    }

    /// The shape of the grid that these statistics serve.
    pub fn shape(&self) -> &Shape<D> {
        &self.shape
    }

    /// Expected tokens of one feature at every window, `F_lz` `[window]`.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Features`] for a feature that the grid does not have.
    pub fn window_counts(&self, feature: usize, plane: &mut [T]) -> Result<(), GridError> {
        same_length("plane", self.shape.cells(), plane.len())?;
        if feature >= self.shape.features() {
            return Err(GridError::Features { expected: self.shape.features(), found: feature });
        }
        let (sums, tiles) = (self.sums.as_ref(), self.shape.tiles::<T>());
        let row = sums.get(feature * tiles.slots()..(feature + 1) * tiles.slots()).unwrap_or_default();
        tiles.unpack(row, 0, 1, plane);
        Ok(())
    }

    /// `Σ_tl E[ln theta_l]` over bags and windows: what a symmetric `alpha` is learned from.
    pub fn log_theta(&self) -> T {
        self.totals()[0]
    }

    /// Number of bags, as a sum of ones.
    pub fn bags(&self) -> T {
        self.totals()[1]
    }

    /// Number of tokens: the sum of all counts.
    pub fn tokens(&self) -> T {
        self.totals()[2]
    }

    fn totals(&self) -> [T; TOTALS] {
        let totals = self.sums.as_ref().last_chunk().copied();
        totals.unwrap_or([T::zero(); TOTALS])
    }

    /// Counts, totals and scratch.
    pub(crate) fn parts_mut(&mut self) -> (&mut [T], &mut [T], &mut [T]) {
        let sums = self.sums.as_mut();
        let (counts, totals) = sums.split_at_mut(sums.len().saturating_sub(TOTALS));
        (counts, totals, self.scratch.as_mut())
    }
}

#[cfg(feature = "alloc")]
impl<T: Real, const D: usize> Statistics<T, countgrid_math::AlignedVec<T>, D> {
    /// Empty statistics in memory that is allocated, with scratch for `chunk` bags together (a hundred for each thread
    /// serve well).
    ///
    /// # Errors
    /// [`GridError::TooLarge`] if the allocator refuses.
    pub fn allocate(shape: Shape<D>, chunk: usize) -> Result<Self, GridError> {
        let sums = crate::statistics::allocate(&shape, sums_len::<T, D>(&shape))?;
        let scratch = crate::statistics::allocate(&shape, scratch_len::<T, D>(&shape, chunk))?;
        Self::new(shape, sums, scratch)
    }
}

impl<T: Real, S: AsRef<[T]>, const D: usize> Tables for Statistics<T, S, D> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.sums.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> TablesMut for Statistics<T, S, D> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.sums.as_mut()
    }
}
