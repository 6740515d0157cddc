//! Box filters: sums, means and variances over the window of every cell of an array.

mod border;
mod bytes;
mod element;
mod error;
mod in_place;
mod line;
mod mean;
mod multiply;
mod neighbours;
mod output;
mod plan;
mod rows;
mod slabs;
mod table;

pub use self::{
    border::{Anchor, Border},
    element::{Accumulator, Moments, Summand},
    error::FilterError,
    mean::{Mean, Variance},
    table::{Table, TableMut},
};

use self::{
    border::Axis,
    bytes::Image,
    output::{Finish, Means, Output, Sums, Variances},
    plan::{Place, Plan, Source},
    rows::Widen,
    table::{LARGEST, Layout},
};

/// A box filter along `D` axes: the sides of the window, where it lies about its cell, and what it sees beyond the ends
/// of the table.
///
/// The window of cell `i` has the cells `i_d + offset_d .. i_d + offset_d + side_d` along each axis `d`. It may be
/// larger than the table: what it sees then goes on as its [`Border`] says, and counts as often as it is seen.
///
/// ```
/// use countgrid_prefix::{Anchor, Border, BoxFilter, Table, TableMut};
///
/// let image = [10_u8, 20, 30, /**/ 40, 50, 60]; // 2 rows, 3 columns
/// let filter = BoxFilter::new([3, 3])?.with_border(Border::Replicate); // centred
/// let mut scratch = vec![0_u32; filter.scratch_len::<u32>([2, 3], 1)]; // sums are formed in u32
/// let mut means = [0_u8; 6];
/// filter.means(Table::new(&image, [2, 3])?, TableMut::new(&mut means, [2, 3])?, &mut scratch)?;
/// assert_eq!(means, [23, 30, 37, /**/ 33, 40, 47]);
/// # Ok::<(), countgrid_prefix::FilterError>(())
/// ```
///
/// # Cost
/// A few additions for each element and axis: for integers two along each axis but the last, whatever the side, and for floats
/// three; `log₄` of the side times two to three along the last one. Means and variances add a multiplication or a
/// division. The table is read once, and what is written is written once; in between are a few slabs of scratch.
///
/// # Accuracy
/// Integers: exact, or [`FilterError::Overflow`]. A sum of floats has relative error at most `n u / (1 - n u)` of the
/// sum of the magnitudes in its own window, `n` being [`additions`](Self::additions) and `u` the unit roundoff, 2⁻²⁴ or
/// 2⁻⁵³, of the type that is added up in: nothing is subtracted, so a large number, an infinity or a NaN reaches the
/// windows that see it and no other. A mean has one rounding more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxFilter<const D: usize> {
    sides: [usize; D],   // each in 1 ..= LARGEST
    offsets: [isize; D], // each in -LARGEST ..= LARGEST
    borders: [Border; D],
}

impl<const D: usize> BoxFilter<D> {
    /// A centred window with `sides[d]` cells along axis `d`, and [`Border::Reflect`] everywhere. A side of 1 leaves an
    /// axis alone.
    ///
    /// # Errors
    /// [`FilterError::EmptySide`], [`FilterError::TooLarge`].
    pub const fn new(sides: [usize; D]) -> Result<Self, FilterError> {
        const { assert!(D > 0, "a table has at least one axis") };
        let (mut axis, mut volume) = (0, 1u64);
        while axis < D {
            if sides[axis] == 0 {
                return Err(FilterError::EmptySide { axis });
            }
            volume = match volume.checked_mul(sides[axis] as u64) {
                Some(volume) if sides[axis] <= LARGEST => volume,
                _ => return Err(FilterError::TooLarge),
            };
            axis += 1;
        }
        Ok(Self { sides, offsets: [0; D], borders: [Border::Reflect; D] }.with_anchor(Anchor::Centre))
    }

    /// The window `2 r + 1` cells wide along each axis, for radii `r`.
    ///
    /// # Errors
    /// [`FilterError::TooLarge`].
    pub const fn with_radii(radii: [usize; D]) -> Result<Self, FilterError> {
        let (mut sides, mut axis) = (radii, 0);
        while axis < D {
            if radii[axis] > LARGEST / 2 {
                return Err(FilterError::TooLarge);
            }
            sides[axis] = 2 * radii[axis] + 1;
            axis += 1;
        }
        Self::new(sides)
    }

    /// The same with the window somewhere else, along every axis.
    #[must_use]
    pub const fn with_anchor(mut self, anchor: Anchor) -> Self {
        let mut axis = 0;
        while axis < D {
            self.offsets[axis] = -match anchor {
                Anchor::Start => 0,
                Anchor::Centre => (self.sides[axis] / 2) as isize,
                Anchor::End => (self.sides[axis] - 1) as isize,
            };
            axis += 1;
        }
        self
    }

    /// The same with windows that begin `offsets[d]` cells after their cell along axis `d`: 0 is [`Anchor::Start`]. They
    /// need not hold it.
    ///
    /// # Errors
    /// [`FilterError::TooLarge`].
    pub const fn with_offsets(mut self, offsets: [isize; D]) -> Result<Self, FilterError> {
        let mut axis = 0;
        while axis < D {
            if offsets[axis].unsigned_abs() > LARGEST {
                return Err(FilterError::TooLarge);
            }
            axis += 1;
        }
        self.offsets = offsets;
        Ok(self)
    }

    /// The same with another border, along every axis.
    #[must_use]
    pub const fn with_border(self, border: Border) -> Self {
        self.with_borders([border; D])
    }

    /// The same with a border for each axis.
    #[must_use]
    pub const fn with_borders(mut self, borders: [Border; D]) -> Self {
        self.borders = borders;
        self
    }

    /// Cells of the window: what a mean divides by, but for [`Border::Clip`].
    #[must_use]
    pub const fn volume(&self) -> u64 {
        let (mut volume, mut axis) = (1u64, 0);
        while axis < D {
            volume *= self.sides[axis] as u64; // `new` has checked
            axis += 1;
        }
        volume
    }

    /// The number `n` of additions that a value goes through at most on its way into a sum of floats.
    #[must_use]
    pub const fn additions(&self) -> usize {
        let (mut additions, mut axis) = (line::additions(self.sides[D - 1]), 0);
        while axis < D - 1 {
            additions += self.sides[axis] - 1;
            axis += 1;
        }
        additions
    }

    /// Elements of scratch for tables of these extents and channels, if sums are formed in `A`: one slab for each axis,
    /// which is all that comes after the axis, and a few lines; of floats, as many slabs as the window has cells along an
    /// axis, if more than 8. `usize::MAX` if that is what it takes or more.
    ///
    /// ```
    /// use countgrid_prefix::BoxFilter;
    /// const FILTER: BoxFilter<2> = match BoxFilter::new([5, 5]) {
    ///     Ok(filter) => filter,
    ///     Err(_) => panic!("no side is 0"),
    /// };
    /// let scratch = [0_u16; FILTER.scratch_len::<u16>([32, 32], 1)]; // no allocator
    /// assert_eq!(scratch.len(), 32 + (32 + 4) + 32);
    /// ```
    #[must_use]
    pub const fn scratch_len<A: Accumulator>(&self, extents: [usize; D], channels: usize) -> usize {
        let (mut slab, mut axis, mut length) = (channels, D - 1, 0usize);
        loop {
            let this = self.axis(axis, extents[axis]);
            if this.extent == 0 || this.extent > LARGEST {
                return if this.extent == 0 { 0 } else { usize::MAX };
            }
            length = length.saturating_add(if axis == D - 1 {
                line::scratch_len(this, slab)
            } else {
                slabs::scratch_len::<A>(this, slab)
            });
            slab = slab.saturating_mul(this.extent);
            if axis == 0 {
                return length;
            }
            axis -= 1;
        }
    }

    /// The sum over the window of every cell, each channel by itself.
    ///
    /// The table that is written says what sums are formed in: see [`Summand`].
    ///
    /// ```
    /// use countgrid_prefix::{Anchor, Border, BoxFilter, Table, TableMut};
    /// let ratings: [i8; 5] = [1, -2, 3, 100, 100]; // a signal: the sum of the last three
    /// let filter = BoxFilter::new([3])?.with_anchor(Anchor::End).with_border(Border::Zero);
    /// let mut scratch = vec![0; filter.scratch_len::<i16>([5], 1)];
    /// let mut sums = [0_i16; 5];
    /// filter.sums(Table::new(&ratings, [5])?, TableMut::new(&mut sums, [5])?, &mut scratch)?;
    /// assert_eq!(sums, [1, -1, 2, 101, 203]);
    /// # Ok::<(), countgrid_prefix::FilterError>(())
    /// ```
    ///
    /// # Errors
    /// [`FilterError::Shape`], [`FilterError::Scratch`]; [`FilterError::Overflow`] if the window has more cells than
    /// there may be of the largest magnitude: that of the type, or if that is too large, that of the table, which
    /// is read once more. All before anything is written. For sums modulo 2ⁿ use [`core::num::Wrapping`].
    pub fn sums<T: Summand<A>, A: Accumulator>(
        &self,
        table: Table<'_, T, D>,
        sums: TableMut<'_, A, D>,
        scratch: &mut [A],
    ) -> Result<(), FilterError> {
        self.largest_sum(table)?;
        self.run(table, sums, scratch, Sums)
    }

    /// [`sums`](Self::sums) of a packed table in its own place, one axis after the other.
    ///
    /// `table` has `channels` elements in each cell, `scratch` at least [`in_place_scratch_len`](Self::in_place_scratch_len),
    /// which is a few lines. Slower than from one table into another if a table fits a cache. Along each axis a value
    /// goes through as many additions as along the last one, fewer than [`additions`](Self::additions) says.
    ///
    /// ```
    /// use countgrid_prefix::{Border, BoxFilter};
    /// let mut image = [0, 0, 0, /**/ 0, 9, 0, /**/ 0, 0, 0]; // i32
    /// let filter = BoxFilter::new([3, 1])?.with_border(Border::Zero);
    /// let mut scratch = vec![0; filter.in_place_scratch_len([3, 3], 1)];
    /// filter.sums_in_place(&mut image, [3, 3], 1, &mut scratch)?;
    /// assert_eq!(image, [0, 9, 0, /**/ 0, 9, 0, /**/ 0, 9, 0]);
    /// # Ok::<(), countgrid_prefix::FilterError>(())
    /// ```
    ///
    /// # Errors
    /// As [`sums`](Self::sums), and [`FilterError::Length`].
    pub fn sums_in_place<A: Summand<A> + Accumulator>(
        &self,
        table: &mut [A],
        extents: [usize; D],
        channels: usize,
        scratch: &mut [A],
    ) -> Result<(), FilterError> {
        let view = Table::interleaved(&*table, extents, channels)?;
        self.largest_sum(view)?;
        if view.layout.needed == 0 {
            return Ok(());
        }
        let (found, needed) = (scratch.len(), self.in_place_scratch_len(extents, channels));
        let scratch = scratch.get_mut(..needed).ok_or(FilterError::Scratch { needed, found })?;
        let mut run = channels;
        for axis in (0..D).rev() {
            in_place::filter(self.axis(axis, extents[axis]), run, table, scratch);
            run *= extents[axis];
        }
        Ok(())
    }

    /// Elements of scratch that [`sums_in_place`](Self::sums_in_place) needs.
    #[must_use]
    pub const fn in_place_scratch_len(&self, extents: [usize; D], channels: usize) -> usize {
        let (mut most, mut run, mut axis) = (0, channels, D);
        while axis > 0 {
            axis -= 1;
            if extents[axis] == 0 || extents[axis] > LARGEST {
                return if extents[axis] == 0 { 0 } else { usize::MAX };
            }
            let needed = in_place::scratch_len(self.axis(axis, extents[axis]), run);
            most = if needed > most { needed } else { most };
            run = run.saturating_mul(extents[axis]);
        }
        most
    }

    /// The mean over the window of every cell, each channel by itself: see [`Mean`] for how it is rounded.
    ///
    /// The scratch says what sums are formed in. With narrower types it takes less time: `u16` if windows of `u8` have
    /// up to 257 cells, `u32` up to 16 million. Windows of 3, 5 or 7 cells along the last axis have loops of their own where
    /// sums are formed in `u16`, and of floats; the least time takes an image of `u8`, without [`Border::Clip`].
    ///
    /// # Errors
    /// As [`sums`](Self::sums).
    pub fn means<T: Summand<A>, A: Accumulator, O: Mean<A>>(
        &self,
        table: Table<'_, T, D>,
        means: TableMut<'_, O, D>,
        scratch: &mut [A],
    ) -> Result<(), FilterError> {
        let largest = self.largest_sum(table)?;
        self.run(table, means, scratch, Means { largest })
    }

    /// The variance over the window of every cell, `∑x² / n - (∑x / n)²`, each channel by itself.
    ///
    /// The scratch says what sums are formed in: `Moments<u32>` holds those of `u8` in windows of up to 66,051 cells.
    ///
    /// ```
    /// use countgrid_prefix::{Border, BoxFilter, Moments, Table, TableMut};
    /// let image = [1_u8, 1, 1, 5, 5, 5];
    /// let filter = BoxFilter::new([3])?.with_border(Border::Clip);
    /// let mut scratch = vec![Moments::<u32>::default(); filter.scratch_len::<Moments<u32>>([6], 1)];
    /// let mut variances = [0_f32; 6];
    /// filter.variances(Table::new(&image, [6])?, TableMut::new(&mut variances, [6])?, &mut scratch)?;
    /// assert_eq!(variances, [0.0, 0.0, 32.0 / 9.0, 32.0 / 9.0, 0.0, 0.0]);
    /// # Ok::<(), countgrid_prefix::FilterError>(())
    /// ```
    ///
    /// # Accuracy
    /// Of integers: exact up to the conversion and division at the end, three roundings. Of floats two numbers near the
    /// mean square are subtracted: the error is at most `(3 n + 6) u ∑x² / n_cells`, up to higher powers of `u` and the rounding
    /// to the type that is written, with `n` = [`additions`](Self::additions). Where values are far from 0, next to how much they vary, take `f64` to add
    /// up in, or subtract what they have in common first. Not below 0.
    ///
    /// # Errors
    /// As [`sums`](Self::sums).
    pub fn variances<T: Summand<Moments<A>>, A: Accumulator, O: Variance<A>>(
        &self,
        table: Table<'_, T, D>,
        variances: TableMut<'_, O, D>,
        scratch: &mut [Moments<A>],
    ) -> Result<(), FilterError> {
        self.largest_sum(table)?;
        self.run(table, variances, scratch, Variances)
    }

    const fn axis(&self, axis: usize, extent: usize) -> Axis {
        Axis { extent, side: self.sides[axis], offset: self.offsets[axis], border: self.borders[axis] }
    }

    /// A bound on the magnitude of a sum, unless sums might overflow.
    fn largest_sum<T: Summand<A>, A>(&self, table: Table<'_, T, D>) -> Result<u64, FilterError> {
        let Some((largest, limit)) = T::RANGE else { return Ok(u64::MAX) };
        let cells = self.volume();
        if let Some(sum) = cells.checked_mul(largest).filter(|&sum| sum <= limit) {
            return Ok(sum);
        }
        // What lies between the cells counts as well: a bound all the same.
        let magnitude = table.data.iter().take(table.layout.needed).map(|x| x.magnitude()).max().unwrap_or(0);
        match cells.checked_mul(magnitude) {
            Some(sum) if sum <= limit => Ok(sum),
            _ => Err(FilterError::Overflow { cells, magnitude }),
        }
    }

    fn run<T: Summand<A>, A: Accumulator, O>(
        &self,
        table: Table<'_, T, D>,
        out: TableMut<'_, O, D>,
        scratch: &mut [A],
        finish: impl Finish<A, O>,
    ) -> Result<(), FilterError> {
        let Layout { extents, strides, channels, needed } = table.layout;
        if (extents, channels) != (out.layout.extents, out.layout.channels) {
            return Err(FilterError::Shape);
        }
        if needed == 0 {
            return Ok(());
        }
        let (found, needed) = (scratch.len(), self.scratch_len::<A>(extents, channels));
        let scratch = scratch.get_mut(..needed).ok_or(FilterError::Scratch { needed, found })?;
        let axes: [Axis; D] = core::array::from_fn(|axis| self.axis(axis, extents[axis]));
        let mut slabs = [channels; D];
        for axis in (0..D - 1).rev() {
            slabs[axis] = slabs[axis + 1] * extents[axis + 1];
        }
        let plan = Plan { axes: &axes, slabs: &slabs, channels, finish };
        let source = Source { data: table.data, strides: &strides };
        let mut out = Output { data: out.data, strides: &out.layout.strides };
        if let ([rows, columns], [stride, 1], 1) = (&axes[..], &strides[..], channels)
            && let Some(bytes) = T::bytes(table.data)
        {
            let image = Image { bytes, stride: *stride, rows: *rows, columns: *columns };
            if plan.finish.finish_image(image, scratch, &mut out) {
                return Ok(());
            }
        }
        let place = Place { depth: 0, out: 0, count: 1 };
        slabs::filter::<Widen, T, A, O, _>(&plan, source, &mut out, place, scratch);
        Ok(())
    }
}
