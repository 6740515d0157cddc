use core::marker::PhantomData;

use countgrid_counts::Bags;
use countgrid_em::{
    Table, Tables,
    parallel::{Rows, SharedRows, Split, for_each, in_pool, threads},
};
use countgrid_math::{Kernel, Real, dispatch, sum_lanes};
use countgrid_prefix::Direction;

use super::{ComponentialGrid, infer::Source, means_len};
use crate::{
    GridError, Shape,
    error::{long_enough, same_length},
    mstep::{Deferred, sum_windows},
};

/// What inference needs of a componential grid: the means `h` over windows and `alpha`, packed so that neighbouring
/// windows lie together. The same table that a counting grid scores from, not its logarithm.
///
/// Tables, with a slot for every window and for padding, in tiles of 16 (`f32`) or 8 (`f64`) neighbours:
///
/// - `alpha` `[1][slot]`, 0 in padding;
/// - `h` `[feature][slot]`, 0 in padding; an entry below [`Real::FLOOR`] counts as zero and is;
/// - `totals` `[1][feature]`: `Σ_l h_lz`, zero for a feature that no window has.
///
/// Made from a [`ComponentialGrid`] on a host, then constant: on a microcontroller the storage is `&'static [f32]`.
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_grid::componential::{
///     ComponentialGrid, Inference, WindowMeans, means_len, posterior_scratch_len,
/// };
/// use countgrid_grid::{Shape, constant};
///
/// // Four cells in a circle, windows of two, three features; the tables are plain arrays.
/// const SHAPE: Shape<1> = constant!(Shape::from_sides([4], [2], 3));
/// let tables = [0.8f32, 0.1, 0.1, 0.1, 0.1, 0.8, 0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.25, 0.25, 0.25, 0.25];
/// let grid = ComponentialGrid::new(SHAPE, tables)?;
/// let mut packed = [0.0; means_len::<f32, 1>(&SHAPE)];
/// WindowMeans::pack(&grid, &mut packed, &mut [0.0; SHAPE.plane_scratch_len()])?;
///
/// let means = WindowMeans::new(SHAPE, packed.as_slice())?; // what flash would hold
/// let mut scratch = [0.0; posterior_scratch_len::<f32, 1>(&SHAPE)];
/// let bag = Bag::new(3, &[2], &[9u16])?; // nine times the last feature
/// let posterior = means.posterior(&bag, 0, Inference::default(), &mut scratch)?;
/// let mut proportions = [0.0; SHAPE.cells()];
/// posterior.proportions(&mut proportions)?;
/// assert!(proportions[2] > 0.8); // the window that starts at cell 2 holds cells 2 and 3
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WindowMeans<T, S, const D: usize> {
    shape: Shape<D>,
    layout: [Table; 3],
    storage: S, // of length `means_len(shape)`
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>, const D: usize> WindowMeans<T, S, D> {
    /// Takes a packed table as [`WindowMeans::pack`] wrote it.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Alpha`]; [`GridError::Probability`] for a mean that is negative or not
    /// finite, or above one by more than rounding; [`GridError::Padding`] for a window that the torus does not have;
    /// [`GridError::Total`] for a sum of means that is none.
    pub fn new(shape: Shape<D>, storage: S) -> Result<Self, GridError> {
        same_length("means", means_len::<T, D>(&shape), storage.as_ref().len())?;
        let means = Self::unchecked(shape, storage);
        let (slots, tiles) = (means.slots(), shape.tiles::<T>());
        let (planes, totals) = means.parts();
        let mut padded = None;
        for (row, plane) in planes.chunks_exact(slots).enumerate() {
            tiles.visit(0..tiles.count(), |tile, at| {
                let lanes = plane.chunks_exact(T::LANES).nth(tile).unwrap_or_default();
                if padded.is_none() && at.padding(lanes).any(|&x| x != T::zero()) {
                    padded = Some(GridError::Padding { tile });
                }
            });
            let Some(feature) = row.checked_sub(1) else { continue };
            let most = T::from_f64(1.0 + 1e-3);
            if let Some(cell) = plane.iter().position(|&h| !(h >= T::zero() && h <= most)) {
                return Err(GridError::Probability { table: "h", feature, cell });
            }
            let total = totals.get(feature).copied().unwrap_or(T::nan());
            let sum = sum_lanes(plane);
            if !((total - sum).abs() <= T::from_f64(1e-3) * sum) {
                return Err(GridError::Total { feature });
            }
        }
        if let Some(error) = padded {
            return Err(error);
        }
        let mut alpha = None;
        let most = T::one() / T::FLOOR / T::from_f64(shape.cells() as f64);
        tiles.runs(|cell, tile, lane, length| {
            for (offset, &x) in planes.iter().skip(tile * T::LANES + lane).take(length).enumerate() {
                if alpha.is_none() && !(x >= T::FLOOR && x <= most) {
                    alpha = Some(cell + offset);
                }
            }
        });
        match alpha {
            Some(window) => Err(GridError::Alpha { window }),
            None => Ok(means),
        }
    }

    fn unchecked(shape: Shape<D>, storage: S) -> Self {
        let slots = shape.tiles::<T>().slots();
        let layout = [
            Table::new("alpha", 1, slots),
            Table::new("h", shape.features(), slots),
            Table::new("totals", 1, shape.features()),
        ];
        Self { shape, layout, storage, scalar: PhantomData }
    }

    /// The shape.
    pub fn shape(&self) -> &Shape<D> {
        &self.shape
    }

    /// Writes `h_lz` `[window]` of one feature.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Features`] for a feature that the grid does not have.
    pub fn window_means(&self, feature: usize, h: &mut [T]) -> Result<(), GridError> {
        same_length("h", self.shape.cells(), h.len())?;
        if feature >= self.shape.features() {
            return Err(GridError::Features { expected: self.shape.features(), found: feature });
        }
        let slots = self.slots();
        let plane = self.parts().0.get((1 + feature) * slots..(2 + feature) * slots).unwrap_or_default();
        self.shape.tiles::<T>().unpack(plane, 0, 1, h);
        Ok(())
    }

    /// Writes `alpha` `[window]`.
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn alpha(&self, alpha: &mut [T]) -> Result<(), GridError> {
        same_length("alpha", self.shape.cells(), alpha.len())?;
        self.shape.tiles::<T>().unpack(self.parts().0, 0, 1, alpha);
        Ok(())
    }

    pub(crate) fn slots(&self) -> usize {
        self.shape.tiles::<T>().slots()
    }

    /// `alpha` and `h` as planes, and `totals`.
    fn parts(&self) -> (&[T], &[T]) {
        let storage = self.storage.as_ref();
        storage.split_at(self.shape.counts_len::<T>().min(storage.len()))
    }

    /// A bag of a data set.
    pub(crate) fn source<'a, B: Bags>(&'a self, bags: &'a B, bag: usize) -> Source<'a, T, B> {
        let (planes, totals) = self.parts();
        let (alpha, h) = planes.split_at(self.slots().min(planes.len()));
        Source { alpha, h, totals, windows: self.shape.cells(), bags, bag }
    }

    pub(crate) fn same_features<B: Bags>(&self, bags: &B) -> Result<(), GridError> {
        let (expected, found) = (self.shape.features(), bags.features());
        if expected == found { Ok(()) } else { Err(GridError::Features { expected, found }) }
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> WindowMeans<T, S, D> {
    /// Computes the packed table of a grid. `storage`: [`means_len`] elements; `scratch`: at least
    /// [`Shape::plane_scratch_len`].
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn pack<G: AsRef<[T]>>(
        grid: &ComponentialGrid<T, G, D>,
        storage: S,
        scratch: &mut [T],
    ) -> Result<Self, GridError> {
        let shape = *grid.shape();
        same_length("means", means_len::<T, D>(&shape), storage.as_ref().len())?;
        long_enough("scratch", shape.plane_scratch_len(), scratch.len())?;
        let mut means = Self::unchecked(shape, storage);
        means.refresh(grid, scratch);
        Ok(means)
    }

    /// Computes the table of a grid of the same shape. Slices have the lengths that the callers checked.
    pub(crate) fn refresh<G: AsRef<[T]>>(&mut self, grid: &ComponentialGrid<T, G, D>, scratch: &mut [T]) {
        let (pi, alpha) = grid.tables();
        self.recompute(alpha, SharedRows::new(pi, self.shape.cells()), |plane| plane.elements, scratch);
    }

    /// Finishes a pass of the M-step on `pi` and computes the table of what comes out.
    pub(crate) fn finish_pass<G: AsRef<[T]> + AsMut<[T]>>(
        &mut self,
        grid: &mut ComponentialGrid<T, G, D>,
        scratch: &mut [T],
    ) {
        let (pi, alpha) = grid.tables_mut();
        let (column, scratch) = scratch.split_at_mut(self.shape.cells());
        let pi = Deferred { pi: Rows::new(pi, column.len()), column };
        self.recompute(alpha, pi, Deferred::divide, scratch);
    }

    /// `planes` are split into planes of `pi`, each of which `plane` reads.
    fn recompute<P: Split>(
        &mut self,
        alpha: &[T],
        mut planes: P,
        plane: impl Fn(&mut P) -> &[T] + Sync,
        scratch: &mut [T],
    ) {
        let (shape, tiles, slots) = (&self.shape, self.shape.tiles::<T>(), self.slots());
        let (packed, totals) = self.storage.as_mut().split_at_mut(shape.counts_len::<T>());
        let (alphas, h) = packed.split_at_mut(slots);
        tiles.pack(alpha, alphas);
        let size = shape.cells() + countgrid_prefix::scratch_len(shape.windows());
        let group = (scratch.len() / size).clamp(1, GROUP * threads());
        let volume = T::from_f64(shape.windows().volume() as f64);
        in_pool(|| {
            for (h, totals) in h.chunks_mut(group * slots).zip(totals.chunks_mut(group)) {
                let (these, rest) = planes.split(totals.len());
                planes = rest;
                let count = totals.len();
                let rows = (Rows::new(h, slots), Rows::new(totals, 1), Rows::new(&mut *scratch, size));
                for_each(count, (these, rows), |_, (mut pi, (h, total, scratch))| {
                    let (sums, window) = scratch.elements.split_at_mut(shape.cells());
                    sum_windows(shape.windows(), Direction::Forward, plane(&mut pi), sums, window);
                    tiles.pack(sums, h.elements);
                    total.elements.fill(dispatch(Mean { h: h.elements, volume }));
                });
            }
        });
    }
}

/// Features whose windows are computed together, for each thread.
const GROUP: usize = 32;

/// `h / V` in place, zero below the floor; returns the sum.
struct Mean<'a, T> {
    h: &'a mut [T],
    volume: T,
}

impl<T: Real> Kernel for Mean<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run(self) -> T {
        for h in self.h.iter_mut() {
            let mean = *h / self.volume;
            *h = if mean >= T::FLOOR { mean } else { T::zero() };
        }
        sum_lanes(self.h)
    }
}

impl<T: Real, S: AsRef<[T]>, const D: usize> Tables for WindowMeans<T, S, D> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}
