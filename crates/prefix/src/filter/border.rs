/// What a window sees beyond the ends of an axis, `a b c d` being the cells along it.
///
/// Example: [`BoxFilter::variances`](crate::BoxFilter::variances).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Border {
    /// `b c d | a b c d | a b c`: the axis is a circle. NumPy's and SciPy's `wrap`.
    Wrap,
    /// `0 0 0 | a b c d | 0 0 0`, and means divide by the whole window. SciPy's `constant`.
    Zero,
    /// `a a a | a b c d | d d d`. SciPy's `nearest`, OpenCV's `BORDER_REPLICATE`.
    Replicate,
    /// `c b a | a b c d | d c b`: the end cell is repeated. SciPy's `reflect`, NumPy's `symmetric`,
    /// OpenCV's `BORDER_REFLECT`.
    #[default]
    Reflect,
    /// `d c b | a b c d | c b a`: the end cell is not repeated. SciPy's `mirror`, NumPy's `reflect`, OpenCV's
    /// `BORDER_REFLECT_101`.
    Mirror,
    /// Nothing: sums are those of [`Zero`](Self::Zero), and means divide by the number of cells that the window
    /// has within the table. A mean over none of them is 0, or NaN of floats.
    Clip,
}

/// Where along an axis the window of a cell lies.
///
/// Example: [`BoxFilter::sums`](crate::BoxFilter::sums).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// The window begins at the cell, `i .. i + side`.
    Start,
    /// The cell is the middle, `i - side / 2 .. i - side / 2 + side`: of two cells in the middle the later one, as
    /// in SciPy and OpenCV.
    #[default]
    Centre,
    /// The window ends with the cell, `i - side + 1 ..= i`: a causal filter of a signal.
    End,
}

/// One axis of a table and the window along it. All at most [`LARGEST`](super::table::LARGEST) in magnitude.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) extent: usize, // at least 1
    pub(super) side: usize,   // at least 1
    pub(super) offset: isize, // from a cell to the first of its window
    pub(super) border: Border,
}

impl Axis {
    /// The cell that is seen at position `at`, counted from the first position of the window of cell 0.
    #[inline]
    pub(super) fn source(self, at: usize) -> Option<usize> {
        let (extent, at) = (self.extent as isize, at as isize + self.offset);
        if 0 <= at && at < extent {
            return Some(at as usize);
        }
        let cell = match self.border {
            Border::Zero | Border::Clip => return None,
            Border::Wrap => at.rem_euclid(extent),
            Border::Replicate => at.clamp(0, extent - 1),
            Border::Reflect => {
                let at = at.rem_euclid(2 * extent);
                at.min(2 * extent - 1 - at)
            }
            Border::Mirror if extent == 1 => 0,
            Border::Mirror => {
                let at = at.rem_euclid(2 * (extent - 1));
                at.min(2 * (extent - 1) - at)
            }
        };
        Some(cell as usize)
    }

    /// Whether the window of each cell is that cell.
    pub(super) const fn is_identity(self) -> bool {
        self.side == 1 && self.offset == 0
    }

    /// Positions that windows see: from the first of cell 0 to the last of the last cell.
    pub(super) const fn seen(self) -> usize {
        self.extent + self.side - 1
    }

    /// The positions `from .. to` that lie within the table.
    #[inline]
    pub(super) fn inside(self) -> (usize, usize) {
        let seen = self.seen() as isize;
        let from = (-self.offset).clamp(0, seen);
        (from as usize, (self.extent as isize - self.offset).clamp(from, seen) as usize)
    }

    /// Whether all cells of the table are seen, and none from beyond the first time that the table is continued.
    #[inline]
    pub(super) fn has_near_ends(self) -> bool {
        let (from, to) = self.inside();
        let most = if self.border == Border::Mirror { self.extent - 1 } else { self.extent };
        to - from == self.extent && from <= most && self.seen() - to <= most
    }

    /// What the window of a cell divides by.
    #[inline]
    pub(super) fn count(self, cell: usize) -> usize {
        if self.border != Border::Clip {
            return self.side;
        }
        let from = cell as isize + self.offset;
        let to = from + self.side as isize;
        (to.min(self.extent as isize) - from.max(0)).max(0) as usize
    }
}
