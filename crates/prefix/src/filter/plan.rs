//! What a run of a filter knows, whichever axis it is at.

use super::border::Axis;

/// Sides up to this one are summed directly.
pub(super) const DIRECT: usize = 8;

/// What is summed.
pub(super) struct Source<'a, T> {
    pub(super) data: &'a [T],
    pub(super) strides: &'a [usize], // along all axes
}

impl<T> Clone for Source<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Source<'_, T> {}

/// A filter with everything that is fixed for a run.
pub(super) struct Plan<'a, F> {
    pub(super) axes: &'a [Axis],
    pub(super) slabs: &'a [usize], // elements of a packed slab of each axis
    pub(super) channels: usize,
    pub(super) finish: F,
}

/// Where in the table the work has got to.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) depth: usize, // axes that are done
    pub(super) out: usize,   // the first element to be written
    pub(super) count: u64,   // cells of the window along the axes that are done
}
