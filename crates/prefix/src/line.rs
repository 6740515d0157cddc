//! One axis of a block: `extent` runs of `stride` elements, a ring of runs.

/// A ring of `extent` runs of `stride` elements each.
#[derive(Clone, Copy)]
pub(crate) struct Ring {
    pub(crate) extent: usize,
    pub(crate) stride: usize,
    pub(crate) mirrored: bool, // count offsets backwards
}

impl Ring {
    /// `out_k = tree(sources[0]_{k + offsets[0]}, sources[1]_{k + offsets[1]}, ...)` for every run
    /// `k`, offsets counted forwards, or backwards if mirrored, around the ring. Every offset is below
    /// the extent, every slice holds the ring.
    ///
    /// The ring is cut where a source wraps; between cuts all sources are contiguous.
    #[inline(always)]
    pub(crate) fn combine<T: Copy, const N: usize>(
        self,
        sources: [&[T]; N],
        offsets: [usize; N],
        out: &mut [T],
        tree: impl Fn([T; N]) -> T + Copy,
    ) {
        let Self { extent, stride, mirrored } = self;
        let ahead = offsets.map(|o| if mirrored && o > 0 { extent - o } else { o });
        let (mut from, mut rest) = (0, out);
        while from < extent {
            // Run `from` of the output reads run `first[n]` of source `n`; the next wrap ends the piece.
            let first = ahead.map(|a| if from + a < extent { from + a } else { from + a - extent });
            let runs = first.iter().fold(extent - from, |runs, &first| runs.min(extent - first));
            let mut pieces = sources;
            for (piece, first) in pieces.iter_mut().zip(first) {
                *piece = piece.get(first * stride..(first + runs) * stride).unwrap_or_default();
            }
            let Some((piece, after)) = rest.split_at_mut_checked(runs * stride) else { return };
            zip_map(pieces, piece, tree);
            (from, rest) = (from + runs, after);
        }
    }
}

/// `out[i] = tree([sources[0][i], sources[1][i], ...])`.
#[inline(always)]
fn zip_map<T: Copy, const N: usize>(sources: [&[T]; N], out: &mut [T], tree: impl Fn([T; N]) -> T + Copy) {
    for (i, out) in out.iter_mut().enumerate() {
        *out = tree(sources.map(|source| source[i]));
    }
}
