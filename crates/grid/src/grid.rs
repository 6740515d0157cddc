use core::marker::PhantomData;

use countgrid_em::{Table, Tables, TablesMut};
use countgrid_math::{Real, prefetch};
use countgrid_prefix::Direction;
use rand_core::Rng;

use crate::{GridError, Shape, error::long_enough, error::same_length, mstep::sum_windows};

/// The parameters of a counting grid: tables `pi` `[feature][cell]` and `prior` `[cell]`, one buffer.
///
/// Every column of `pi` (one cell, all features) is a distribution, and so is `prior`. Cells are
/// row-major, the last axis fastest.
///
/// The storage is the caller's: an array, a `&'static` table, a borrowed buffer, a `Vec`.
///
/// ```
/// use countgrid_grid::{Grid, Shape};
/// use countgrid_torus::{Torus, Windows};
///
/// let shape = Shape::new(Windows::new(Torus::new([2])?, [1])?, 2)?;
/// static TABLES: [f32; 6] = [0.25, 0.5, 0.75, 0.5, 0.5, 0.5]; // pi of feature 0, of feature 1, prior
/// let grid = Grid::new(shape, TABLES.as_slice())?;
/// assert_eq!(grid.plane(1), &[0.75, 0.5]);
/// # Ok::<(), countgrid_grid::GridError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Grid<T, S, const D: usize> {
    shape: Shape<D>,
    layout: [Table; 2],
    pub(crate) storage: S, // of length `shape.grid_len()`; columns of `pi` and the prior sum to one
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>, const D: usize> Grid<T, S, D> {
    /// A grid from its tables, `pi` and then `prior`.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Probability`] for an entry that is negative or not finite;
    /// [`GridError::NotNormalised`] for a sum further from one than `Z` (or `P`) roundings of the entries
    /// and of the sum explain, but at least 1e-3, which allows for tables printed with few digits.
    pub fn new(shape: Shape<D>, storage: S) -> Result<Self, GridError> {
        let grid = Self::unchecked(shape, storage)?;
        grid.check()?;
        Ok(grid)
    }

    /// Whether the tables are what [`Grid::new`] asks for.
    pub(crate) fn check(&self) -> Result<(), GridError> {
        let (pi, prior) = self.tables();
        check_columns(&self.shape, pi)?;
        non_negative("prior", 0, prior)?;
        sums_to_one("prior", 0, self.shape.cells(), prior.iter())
    }

    fn unchecked(shape: Shape<D>, storage: S) -> Result<Self, GridError> {
        same_length("grid", shape.grid_len(), storage.as_ref().len())?;
        let layout = [
            Table { name: "pi", rows: shape.features(), columns: shape.cells() },
            Table { name: "prior", rows: 1, columns: shape.cells() },
        ];
        Ok(Self { shape, layout, storage, scalar: PhantomData })
    }

    /// The shape.
    pub fn shape(&self) -> &Shape<D> {
        &self.shape
    }

    /// `pi` as `[feature][cell]`, and the prior.
    pub fn tables(&self) -> (&[T], &[T]) {
        let tables = self.storage.as_ref();
        tables.split_at(tables.len().saturating_sub(self.shape.cells()))
    }

    /// One feature's probability at every cell; empty for a feature that the grid does not have.
    pub fn plane(&self, feature: usize) -> &[T] {
        self.tables().0.chunks_exact(self.shape.cells()).nth(feature).unwrap_or(&[])
    }

    /// The location prior `p` `[cell]`.
    pub fn prior(&self) -> &[T] {
        self.tables().1
    }

    /// The window histogram of one feature: `h_k = (S pi)_k / V` for every window `k`, written to `h`
    /// `[cell]`.
    ///
    /// `scratch`: at least [`Shape::plane_scratch_len`] elements.
    ///
    /// # Errors
    /// [`GridError::Length`]; [`GridError::Features`] for a feature that the grid does not have.
    /// # Source
    /// Jojic & Perina 2011, Eq. 1, with window sums by additions only.
    pub fn histogram(&self, feature: usize, h: &mut [T], scratch: &mut [T]) -> Result<(), GridError> {
        same_length("h", self.shape.cells(), h.len())?;
        long_enough("scratch", self.shape.plane_scratch_len(), scratch.len())?;
        if feature >= self.shape.features() {
            return Err(GridError::Features { expected: self.shape.features(), found: feature });
        }
        window_means(&self.shape, self.plane(feature), h, scratch);
        Ok(())
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> Grid<T, S, D> {
    /// The uniform grid in the given storage, which is overwritten. A start for [`Grid::randomize`]: being
    /// symmetric, it is a fixed point of the fit.
    ///
    /// # Errors
    /// [`GridError::Length`].
    pub fn uniform_in(shape: Shape<D>, storage: S) -> Result<Self, GridError> {
        let mut grid = Self::unchecked(shape, storage)?;
        let (pi, prior) = grid.tables_mut();
        pi.fill(T::one() / T::from_f64(shape.features() as f64));
        prior.fill(T::one() / T::from_f64(shape.cells() as f64));
        Ok(grid)
    }

    /// `pi` as `[feature][cell]`, and the prior.
    pub(crate) fn tables_mut(&mut self) -> (&mut [T], &mut [T]) {
        let tables = self.storage.as_mut();
        let middle = tables.len().saturating_sub(self.shape.cells());
        tables.split_at_mut(middle)
    }

    /// Draws every cell's distribution anew, bounded away from zero, and makes the prior uniform.
    ///
    /// Entries are `1 + uniform(0, 1)`, normalised over features: an entry of zero would stay zero. One
    /// 64-bit word an entry is drawn.
    pub fn randomize(&mut self, rng: &mut impl Rng) {
        let shape = self.shape;
        let (pi, prior) = self.tables_mut();
        draw_columns(&shape, pi, rng);
        prior.fill(T::one() / T::from_f64(shape.cells() as f64));
    }

    /// Starts from a grid of other extents over the same features: every cell takes the distribution of the
    /// coarse cell that it lies in, each entry times `1 + noise · uniform(-1, 1)`, and a share of its prior.
    ///
    /// Extents need not divide one another: cell `x` of `E` lies in cell `⌊x E' / E⌋` of `E'`. Without noise all
    /// cells of a coarse cell would be equal, and would long stay so; 0.15 serves well. See
    /// [`Shape::coarser`] for the shapes of a schedule.
    ///
    /// # Errors
    /// [`GridError::Features`]; [`GridError::Noise`] for a noise outside `[0, 1)`.
    pub fn refine<R: AsRef<[T]>>(
        &mut self,
        coarse: &Grid<T, R, D>,
        noise: f64,
        rng: &mut impl Rng,
    ) -> Result<(), GridError> {
        let (expected, found) = (self.shape.features(), coarse.shape.features());
        if expected != found {
            return Err(GridError::Features { expected, found });
        }
        if !(0.0..1.0).contains(&noise) {
            return Err(GridError::Noise);
        }
        let (torus, coarse_torus) = (*self.shape.windows().torus(), *coarse.shape.windows().torus());
        let parent = |cell| {
            let (x, from, to) = (torus.coords_of(cell), torus.extents(), coarse_torus.extents());
            coarse_torus
                .cell_of(core::array::from_fn(|d| (x[d] as u128 * to[d] as u128 / from[d] as u128) as usize))
        };
        let (pi, prior) = coarse.tables();
        let planes = coarse.shape.cells();
        let entry = |table: &[T], index| table.get(index).map_or(0.0, |&x: &T| x.to_f64());
        let mut parents = [0; BLOCK];
        let shape = self.shape;
        let (own_pi, own) = self.tables_mut();
        fill_columns(&shape, own_pi, |feature, cell| {
            if feature == 0 {
                parents[cell % BLOCK] = parent(cell);
            }
            entry(pi, feature * planes + parents[cell % BLOCK]) * (1.0 + noise * (2.0 * unit(rng) - 1.0))
        });
        let mut total = 0.0;
        for (cell, p) in own.iter_mut().enumerate() {
            let share = entry(prior, parent(cell));
            (*p, total) = (T::from_f64(share), total + share);
        }
        // A coarser grid skips cells, and they may have held all of the prior.
        let uniform = 1.0 / own.len() as f64;
        own.iter_mut().for_each(|p| *p = T::from_f64(if total > 0.0 { p.to_f64() / total } else { uniform }));
        Ok(())
    }
}

/// Sets `pi` to what `draw(feature, cell)` gives, normalised over features.
///
/// A block of cells at a time, feature by feature, so that the sums over features stay in registers.
pub(crate) fn fill_columns<T: Real, const D: usize>(
    shape: &Shape<D>,
    pi: &mut [T],
    mut draw: impl FnMut(usize, usize) -> f64,
) {
    /// Features from one that is worked on to the one that is fetched.
    const AHEAD: usize = 8;
    let (cells, features) = (shape.cells(), shape.features());
    for first in (0..cells).step_by(BLOCK) {
        let block = BLOCK.min(cells - first);
        let mut sums = [0.0f64; BLOCK];
        for feature in 0..features {
            let at = feature * cells + first;
            prefetch(pi, at + AHEAD * cells); // on another page, so asked for
            for (offset, (x, sum)) in pi[at..at + block].iter_mut().zip(&mut sums).enumerate() {
                let entry = draw(feature, first + offset);
                *x = T::from_f64(entry);
                *sum += entry;
            }
        }
        let sums = sums.map(T::from_f64);
        for feature in 0..features {
            let at = feature * cells + first;
            prefetch(pi, at + AHEAD * cells);
            pi[at..at + block].iter_mut().zip(sums).for_each(|(x, sum)| *x /= sum);
        }
    }
}

/// Cells whose column sums are held together.
const BLOCK: usize = 16;

/// Draws every cell's distribution anew: entries `1 + uniform(0, 1)`, normalised over features.
pub(crate) fn draw_columns<T: Real, const D: usize>(shape: &Shape<D>, pi: &mut [T], rng: &mut impl Rng) {
    fill_columns(shape, pi, |_, _| 1.0 + unit(rng));
}

/// Uniform in `[0, 1)`: the upper 53 bits of a word.
fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(feature = "alloc")]
impl<T: Real, const D: usize> Grid<T, countgrid_math::AlignedVec<T>, D> {
    /// The uniform grid in memory that it allocates.
    ///
    /// # Errors
    /// [`GridError::TooLarge`] if the allocator refuses.
    pub fn uniform(shape: Shape<D>) -> Result<Self, GridError> {
        Self::uniform_in(shape, crate::statistics::allocate(&shape, shape.grid_len())?)
    }
}

impl<T: Real, S: AsRef<[T]>, const D: usize> Tables for Grid<T, S, D> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>, const D: usize> TablesMut for Grid<T, S, D> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.storage.as_mut()
    }
}

/// `h = S pi / V` for one plane. Slices have the lengths that the callers checked.
pub(crate) fn window_means<T: Real, const D: usize>(
    shape: &Shape<D>,
    plane: &[T],
    h: &mut [T],
    scratch: &mut [T],
) {
    sum_windows(shape.windows(), Direction::Forward, plane, h, scratch);
    let volume = T::from_f64(shape.windows().volume() as f64);
    h.iter_mut().for_each(|h| *h /= volume);
}

/// Whether every column of `pi` is a distribution.
pub(crate) fn check_columns<T: Real, const D: usize>(shape: &Shape<D>, pi: &[T]) -> Result<(), GridError> {
    for (feature, plane) in pi.chunks_exact(shape.cells()).enumerate() {
        non_negative("pi", feature, plane)?;
    }
    for cell in 0..shape.cells() {
        let column = pi.iter().skip(cell).step_by(shape.cells());
        sums_to_one("pi", cell, shape.features(), column)?;
    }
    Ok(())
}

pub(crate) fn non_negative<T: Real>(
    table: &'static str,
    feature: usize,
    plane: &[T],
) -> Result<(), GridError> {
    match plane.iter().position(|&p| !(p >= T::zero() && p.is_finite())) {
        Some(cell) => Err(GridError::Probability { table, feature, cell }),
        None => Ok(()),
    }
}

fn sums_to_one<'a, T: Real>(
    table: &'static str,
    cell: usize,
    terms: usize,
    entries: impl Iterator<Item = &'a T>,
) -> Result<(), GridError> {
    let sum: f64 = entries.map(|&p| p.to_f64()).sum();
    // Each entry carries one rounding of its own and the fit sums them with at most one per 64.
    let allowed = (terms as f64 * T::UNIT_ROUNDOFF.to_f64()).max(1e-3);
    if (sum - 1.0).abs() <= allowed { Ok(()) } else { Err(GridError::NotNormalised { table, cell }) }
}
