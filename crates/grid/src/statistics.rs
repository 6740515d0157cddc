use core::marker::PhantomData;

use countgrid_em::{
    Table, Tables, TablesMut,
    parallel::{Rows, for_each},
};
use countgrid_math::Real;

use crate::{
    GridError, Shape,
    error::{long_enough, same_length},
    estep::SparsityEstimate,
    tiles::Tiles,
};

/// Elements of the table `totals`: entropy, bags and tokens.
pub(crate) const TOTALS: usize = 3;

/// What the M-step needs of the bags: expected counts of every window, with the scratch of both steps.
///
/// Tables: `window_counts` `[tile][1 + feature][lane]`, packed like [`crate::LogHistograms`], whose row 0
/// holds the expected number of bags `m_k = Σ_t q_tk` of the tile's windows and whose row `1 + z` the
/// expected tokens `F_kz = Σ_t q_tk c_tz`; and `totals`: the summed entropy of the posteriors, the number
/// of bags and the number of tokens. All of them are sums over bags, so statistics of two batches add up.
///
/// [`Statistics::window_counts`] and [`Statistics::window_mass`] read planes in cell order.
#[derive(Clone, Copy, Debug)]
pub struct Statistics<T, S, const D: usize> {
    shape: Shape<D>,
    tiles: Tiles<D>,
    layout: [Table; 2],
    sums: S,    // of length `shape.sums_len()`
    scratch: S, // at least `shape.scratch_len(1)`
    sparsity: SparsityEstimate,
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> Statistics<T, S, D> {
    /// Empty statistics in the caller's storage: `sums` of [`Shape::sums_len`] elements, `scratch` of at
    /// least [`Shape::scratch_len`]`(1)`. The longer the scratch, the more bags share one reading of the
    /// table; no result depends on it.
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn new(shape: Shape<D>, sums: S, scratch: S) -> Result<Self, GridError> {
        same_length("sums", shape.sums_len::<T>(), sums.as_ref().len())?;
        long_enough("scratch", shape.scratch_len::<T>(1), scratch.as_ref().len())?;
        let tiles = shape.tiles::<T>();
        let layout = [
            Table { name: "window_counts", rows: tiles.count() * (shape.features() + 1), columns: T::LANES },
            Table { name: "totals", rows: 1, columns: TOTALS },
        ];
        let sparsity = SparsityEstimate::FLAT;
        let mut statistics = Self { shape, tiles, layout, sums, scratch, sparsity, scalar: PhantomData };
        statistics.clear();
        Ok(statistics)
    }

    /// Sets all sums to zero.
    pub fn clear(&mut self) {
        let (sums, size) = (self.sums.as_mut(), T::LANES * (self.shape.features() + 1));
        // One more part than tiles, for the totals.
        for_each(self.tiles.count() + 1, Rows::new(sums, size), |_, part| part.elements.fill(T::zero()));
    }

    /// The shape of the grid that these statistics serve.
    pub fn shape(&self) -> &Shape<D> {
        &self.shape
    }

    /// Expected tokens of one feature at every window, `F_kz` `[cell]`.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Features`] for a feature that the grid does not have.
    pub fn window_counts(&self, feature: usize, plane: &mut [T]) -> Result<(), GridError> {
        if feature >= self.shape.features() {
            return Err(GridError::Features { expected: self.shape.features(), found: feature });
        }
        self.unpack(feature + 1, plane)
    }

    /// Expected bags at every window, `m_k` `[cell]`.
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn window_mass(&self, plane: &mut [T]) -> Result<(), GridError> {
        self.unpack(0, plane)
    }

    fn unpack(&self, row: usize, plane: &mut [T]) -> Result<(), GridError> {
        same_length("plane", self.shape.cells(), plane.len())?;
        self.tiles.unpack(self.parts().0, row, self.shape.features() + 1, plane);
        Ok(())
    }

    /// Number of bags, as a sum of ones.
    pub fn bags(&self) -> T {
        self.totals()[1]
    }

    /// Entropy of all posteriors in nats.
    pub fn entropy(&self) -> T {
        self.totals()[0]
    }

    /// Number of tokens: the sum of all counts.
    pub fn tokens(&self) -> T {
        self.totals()[2]
    }

    fn totals(&self) -> [T; TOTALS] {
        let (_, totals) = self.parts();
        [totals[0], totals[1], totals[2]]
    }

    fn parts(&self) -> (&[T], &[T]) {
        let sums = self.sums.as_ref();
        sums.split_at(self.shape.counts_len::<T>())
    }

    /// The packed counts, the totals and the scratch.
    pub(crate) fn parts_mut(&mut self) -> (&mut [T], &mut [T], &mut [T]) {
        let (counts, totals) = self.sums.as_mut().split_at_mut(self.shape.counts_len::<T>());
        (counts, totals, self.scratch.as_mut())
    }

    /// What the last E-step found about how sharp posteriors are, for the next one.
    pub(crate) fn sparsity(&mut self) -> &mut SparsityEstimate {
        &mut self.sparsity
    }

    pub(crate) fn packed_counts(&self) -> &[T] {
        self.parts().0
    }
}

#[cfg(feature = "alloc")]
impl<T: Real, const D: usize> Statistics<T, countgrid_math::AlignedVec<T>, D> {
    /// Empty statistics in memory that is allocated, with scratch for the posteriors of `chunk` bags together (a few
    /// hundred serve well).
    ///
    /// # Errors
    /// [`GridError::TooLarge`] if the allocator refuses.
    pub fn allocate(shape: Shape<D>, chunk: usize) -> Result<Self, GridError> {
        let sums = allocate(&shape, shape.sums_len::<T>())?;
        let scratch = allocate(&shape, shape.scratch_len::<T>(chunk))?;
        Self::new(shape, sums, scratch)
    }
}

/// Zeros, or the shape that does not fit into memory.
#[cfg(feature = "alloc")]
pub(crate) fn allocate<T: Real, const D: usize>(
    shape: &Shape<D>,
    len: usize,
) -> Result<countgrid_math::AlignedVec<T>, GridError> {
    let (cells, features) = (shape.cells(), shape.features());
    countgrid_math::AlignedVec::zeroed(len).map_err(|_| GridError::TooLarge { cells, features })
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
