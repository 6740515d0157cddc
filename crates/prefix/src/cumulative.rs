//! Prefix sums along every axis, and box sums by differences of them.

use core::ops::{Add, Sub};

use countgrid_torus::Torus;
use num_traits::Zero;

use crate::LengthError;

/// Replaces every row `f` of a `[row][cell]` table by its inclusive prefix sums
/// `F_i = ∑ f_j` over all `j` with `j_d ≤ i_d` along every axis.
///
/// The torus gives the extents; nothing wraps. One running sum per axis, the last axis first. An integer
/// that overflows does what `+` does: see [`window_sums`](crate::window_sums#overflow).
///
/// ```
/// use countgrid_prefix::inclusive_in_place;
/// use countgrid_torus::Torus;
/// let mut table = [1, 2, 3, /**/ 4, 5, 6];
/// inclusive_in_place(&Torus::new([2, 3])?, &mut table)?;
/// assert_eq!(table, [1, 3, 6, /**/ 5, 12, 21]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`LengthError::Rows`].
#[inline]
pub fn inclusive_in_place<const D: usize, T: Copy + Add<Output = T>>(
    shape: &Torus<D>,
    table: &mut [T],
) -> Result<(), LengthError> {
    for_each_ring(shape, table, |ring, stride| {
        let mut runs = ring.chunks_exact_mut(stride.max(1)); // the maximum tells the compiler
        let Some(mut before) = runs.next() else { return };
        for run in runs {
            for (sum, &before) in run.iter_mut().zip(&*before) {
                *sum = before + *sum;
            }
            before = run;
        }
    })
}

/// Replaces every row `f` of a `[row][cell]` table by its exclusive prefix sums
/// `F_i = ∑ f_j` over all `j` with `j_d < i_d` along every axis.
///
/// They are the inclusive ones moved by one cell along every axis, bit for bit, with zeros moved in; the
/// total is lost.
///
/// ```
/// use countgrid_prefix::exclusive_in_place;
/// use countgrid_torus::Torus;
/// let mut table = [1, 2, 3, /**/ 4, 5, 6];
/// exclusive_in_place(&Torus::new([2, 3])?, &mut table)?;
/// assert_eq!(table, [0, 0, 0, /**/ 0, 1, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`LengthError::Rows`].
#[inline]
pub fn exclusive_in_place<const D: usize, T: Copy + Zero>(
    shape: &Torus<D>,
    table: &mut [T],
) -> Result<(), LengthError> {
    inclusive_in_place(shape, table)?;
    for_each_ring(shape, table, |ring, stride| {
        ring.rotate_right(stride.min(ring.len()));
        ring.iter_mut().take(stride).for_each(|first| *first = T::zero());
    })
}

/// [`inclusive_in_place`] from one table into another.
///
/// # Errors
/// [`LengthError`], before anything is written.
#[inline]
pub fn inclusive<const D: usize, T: Copy + Add<Output = T>>(
    shape: &Torus<D>,
    table: &[T],
    sums: &mut [T],
) -> Result<(), LengthError> {
    copy_rows(shape, table, sums)?;
    inclusive_in_place(shape, sums)
}

/// [`exclusive_in_place`] from one table into another.
///
/// # Errors
/// [`LengthError`], before anything is written.
#[inline]
pub fn exclusive<const D: usize, T: Copy + Zero>(
    shape: &Torus<D>,
    table: &[T],
    sums: &mut [T],
) -> Result<(), LengthError> {
    copy_rows(shape, table, sums)?;
    exclusive_in_place(shape, sums)
}

/// One row of inclusive prefix sums, from which the sum over any box takes `2^D` reads.
///
/// Meant for integers, whose box sums are exact, and for `f64` of one sign and a moderate range. **Not
/// for window sums in a fit:** a box sum is a difference of sums over much more than the box, so its
/// error is of the size of the rounding of the *largest* prefix sum involved. With `f32` values over many
/// decades small boxes come out as noise, zero or negative; [`window_sums`](crate::window_sums) keeps
/// the relative accuracy of each.
///
/// ```
/// use countgrid_prefix::{BoxSums, inclusive_in_place};
/// use countgrid_torus::Torus;
/// let shape = Torus::new([3, 4])?;
/// let mut table = [1, 2, 3, 4, /**/ 5, 6, 7, 8, /**/ 9, 10, 11, 12];
/// inclusive_in_place(&shape, &mut table)?;
/// let boxes = BoxSums::new(shape, &table)?;
/// assert_eq!(boxes.sum([1, 1], [3, 3]), 6 + 7 + 10 + 11);
/// assert_eq!(boxes.sum([0, 3], [9, 9]), 4 + 8 + 12); // clipped to the table
/// assert_eq!(boxes.sum([2, 2], [2, 4]), 0); // empty
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BoxSums<'a, T, const D: usize> {
    shape: Torus<D>,
    table: &'a [T], // one element per cell
}

impl<'a, T: Copy + Zero + Sub<Output = T>, const D: usize> BoxSums<'a, T, D> {
    /// Reads `table`, one row of [`inclusive`] prefix sums, as box sums.
    ///
    /// # Errors
    /// [`LengthError::Sums`] if it is not exactly one row.
    pub fn new(shape: Torus<D>, table: &'a [T]) -> Result<Self, LengthError> {
        if table.len() != shape.cells() {
            return Err(LengthError::Sums { expected: shape.cells(), found: table.len() });
        }
        Ok(Self { shape, table })
    }

    /// The sum over the cells `i` with `low_d ≤ i_d < high_d` along every axis.
    ///
    /// Bounds beyond the extents are clipped, an empty or reversed range sums to zero. The differences
    /// are nested, last axis inside: each is itself a sum over a box, so unsigned integers do not
    /// underflow on the way. With [`core::num::Wrapping`] the result is exact modulo `2^n` even where
    /// the prefix sums overflow: right whenever the box sum itself fits.
    #[must_use]
    pub fn sum(&self, low: [usize; D], high: [usize; D]) -> T {
        let (extents, mut high) = (self.shape.extents(), high);
        for axis in 0..D {
            high[axis] = high[axis].min(extents[axis]);
            if low[axis] >= high[axis] {
                return T::zero();
            }
        }
        self.difference(0, 0, &low, &high)
    }

    /// Difference of two slabs along `axis`; `before` cells come before those at the coordinates chosen
    /// along earlier axes.
    fn difference(&self, axis: usize, before: usize, low: &[usize; D], high: &[usize; D]) -> T {
        if axis == D {
            return self.table.get(before).copied().unwrap_or_else(T::zero);
        }
        let below = |bound: usize| before + (bound - 1) * self.shape.strides()[axis];
        let upper = self.difference(axis + 1, below(high[axis]), low, high);
        if low[axis] == 0 {
            return upper;
        }
        upper - self.difference(axis + 1, below(low[axis]), low, high)
    }
}

/// Calls `each(ring, stride)` for every ring of a table of whole rows, along the last axis first.
#[inline(always)]
fn for_each_ring<const D: usize, T>(
    shape: &Torus<D>,
    table: &mut [T],
    each: impl Fn(&mut [T], usize),
) -> Result<(), LengthError> {
    whole_rows(shape, table.len())?;
    let (extents, strides) = (shape.extents(), shape.strides());
    for axis in (0..D).rev() {
        let length = (extents[axis] * strides[axis]).max(1); // the maximum tells the compiler
        table.chunks_exact_mut(length).for_each(|ring| each(ring, strides[axis]));
    }
    Ok(())
}

#[inline(always)]
fn copy_rows<const D: usize, T: Copy>(
    shape: &Torus<D>,
    table: &[T],
    sums: &mut [T],
) -> Result<(), LengthError> {
    whole_rows(shape, table.len())?;
    if sums.len() != table.len() {
        return Err(LengthError::Sums { expected: table.len(), found: sums.len() });
    }
    sums.iter_mut().zip(table).for_each(|(sum, &value)| *sum = value);
    Ok(())
}

#[inline(always)]
fn whole_rows<const D: usize>(shape: &Torus<D>, found: usize) -> Result<(), LengthError> {
    let cells = shape.cells();
    if found.is_multiple_of(cells) { Ok(()) } else { Err(LengthError::Rows { cells, found }) }
}
