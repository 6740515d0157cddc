//! From the sums of a line to what is written.

use super::border::Axis;
use super::bytes::Image;
use super::element::{Accumulator, Moments};
use super::mean::{Mean, Variance};
use super::plan::Place;

/// The table that is written.
pub(super) struct Output<'a, O> {
    pub(super) data: &'a mut [O],
    pub(super) strides: &'a [usize],
}

impl<O> Output<'_, O> {
    /// Writes one line of cells with one element each from what its windows see, if sums need not be formed first; whether
    /// that was so.
    #[inline]
    pub(super) fn row_of_neighbours<A, F: Finish<A, O>>(
        &mut self,
        axis: Axis,
        place: Place,
        line: &[A],
        finish: &F,
    ) -> bool {
        if self.strides.last() != Some(&1) || F::COUNTS && axis.border == super::Border::Clip {
            return false;
        }
        let Some(out) = self.data.get_mut(place.out..place.out + axis.extent) else { return false };
        finish.finish_neighbours(line, axis.side, place.count * axis.side as u64, out)
    }

    /// Writes one line.
    pub(super) fn row<A, F: Finish<A, O>>(
        &mut self,
        axis: Axis,
        channels: usize,
        place: Place,
        sums: &[A],
        finish: &F,
    ) {
        let stride = self.strides.last().copied().unwrap_or(0);
        let mut cell = 0;
        while cell < axis.extent {
            let count = axis.count(cell);
            let mut to = cell + 1;
            if stride == channels {
                if !F::COUNTS || axis.border != super::Border::Clip {
                    to = axis.extent;
                }
                while to < axis.extent && axis.count(to) == count {
                    to += 1;
                }
            }
            let from = place.out + cell * stride;
            let length = (to - cell) * channels;
            let (Some(sums), Some(out)) =
                (sums.get(cell * channels..to * channels), self.data.get_mut(from..from + length))
            else {
                return;
            };
            finish.finish(sums, place.count * count as u64, out);
            cell = to;
        }
    }
}

/// What becomes of a sum over `count` cells.
pub(super) trait Finish<A, O> {
    /// Whether the count matters.
    const COUNTS: bool;
    fn finish(&self, sums: &[A], count: u64, out: &mut [O]);
    /// The same of sums of `side` neighbours in a line, if they need not be formed first; whether that was so.
    #[inline(always)]
    fn finish_neighbours(&self, line: &[A], side: usize, count: u64, out: &mut [O]) -> bool {
        let _ = (line, side, count, out);
        false
    }
    /// The same of windows of an image, all of it, if there is a loop for them; whether that was so.
    #[inline(always)]
    fn finish_image(&self, image: Image<'_>, scratch: &mut [A], out: &mut Output<'_, O>) -> bool {
        let _ = (image, scratch, out);
        false
    }
}

/// Sums as they are.
pub(super) struct Sums;

impl<A: Accumulator> Finish<A, A> for Sums {
    const COUNTS: bool = false;
    #[inline(always)]
    fn finish(&self, sums: &[A], _: u64, out: &mut [A]) {
        for (out, &sum) in out.iter_mut().zip(sums) {
            *out = sum;
        }
    }
}

/// Means of sums of which none is above `largest` in magnitude.
pub(super) struct Means {
    pub(super) largest: u64,
}

impl<A, O: Mean<A>> Finish<A, O> for Means {
    const COUNTS: bool = true;
    #[inline(always)]
    fn finish(&self, sums: &[A], count: u64, out: &mut [O]) {
        O::means(sums, count, self.largest, out);
    }
    #[inline(always)]
    fn finish_neighbours(&self, line: &[A], side: usize, count: u64, out: &mut [O]) -> bool {
        O::means_of_neighbours(line, side, count, self.largest, out)
    }
    #[inline(always)]
    fn finish_image(&self, image: Image<'_>, scratch: &mut [A], out: &mut Output<'_, O>) -> bool {
        let &[stride, 1] = out.strides else { return false };
        O::means_of_image(image, self.largest, scratch, out.data, stride)
    }
}

/// Variances.
pub(super) struct Variances;

impl<A, O: Variance<A>> Finish<Moments<A>, O> for Variances {
    const COUNTS: bool = true;
    #[inline(always)]
    fn finish(&self, sums: &[Moments<A>], count: u64, out: &mut [O]) {
        O::variances(sums, count, out);
    }
}
