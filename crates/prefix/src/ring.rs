//! One axis of a table: a ring of runs, cut where it wraps.

use core::ops::Add;

use crate::lanes::{self, PrefetchAhead, Tree};

/// A ring of `extent` runs of `stride` elements each: the cells that differ in one coordinate only, for
/// every choice of the later coordinates.
#[derive(Clone, Copy)]
pub(crate) struct Ring<const MIRRORED: bool> {
    pub(crate) extent: usize,
    pub(crate) stride: usize,
}

impl<const MIRRORED: bool> Ring<MIRRORED> {
    /// Elements of the ring.
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.extent * self.stride
    }

    /// The ring that begins at element `from` of two tables, unless they end there.
    #[inline(always)]
    pub(crate) fn at<'a, 'b, T>(
        self,
        from: usize,
        table: &'a [T],
        out: &'b mut [T],
    ) -> Option<(&'a [T], &'b mut [T])> {
        let to = from + self.len();
        Some((table.get(from..to)?, out.get_mut(from..to)?))
    }

    /// `out_k = tree([terms[0]_{k + offsets[0]}, terms[1]_{k + offsets[1]}, ...])` for every run `k`;
    /// `k - offsets[n]` if mirrored. Offsets are below the extent, every slice holds the ring.
    #[inline(always)]
    pub(crate) fn sum<T: Copy + Add<Output = T>, const N: usize>(
        self,
        terms: [&[T]; N],
        offsets: [usize; N],
        out: &mut [T],
        tree: impl Tree<N>,
        ahead: PrefetchAhead<'_, T>,
    ) {
        let mut from = 0;
        while from < self.extent {
            let (terms, to) = self.piece(from, terms, offsets);
            let Some(out) = out.get_mut(from * self.stride..to * self.stride) else { return };
            lanes::sum(terms, out, tree, ahead.skip(from * self.stride));
            from = to;
        }
    }

    /// The terms of run `from`, and the next run at which one of them wraps: until then all of them are
    /// contiguous.
    #[inline(always)]
    fn piece<T, const N: usize>(
        self,
        from: usize,
        mut terms: [&[T]; N],
        offsets: [usize; N],
    ) -> ([&[T]; N], usize) {
        let Self { extent, stride } = self;
        let mut to = extent;
        for (term, &offset) in terms.iter_mut().zip(&offsets) {
            let offset = if MIRRORED && offset > 0 { extent - offset } else { offset };
            let first = if offset < extent - from { from + offset } else { offset - (extent - from) };
            to = to.min(from + (extent - first));
            *term = term.get(first * stride..).unwrap_or_default();
        }
        (terms, to)
    }
}
