//! Sparse matrices of sprs as bags.

use core::{iter::FusedIterator, iter::Zip, ops::Deref, ops::Range, slice};

use sprs::{CsMatBase, CsMatViewI, SpIndex};

use crate::{Bags, BagsError, Count, Csr};

/// A sparse matrix of sprs as bags, one per row, without a copy and with indices of any type. Explicit zeros are skipped.
///
/// Where indices are `u32` and offsets `usize`, a [`Csr`] can borrow the matrix; `CsrBuf::from_bags` makes one of any.
///
/// ```
/// use countgrid_counts::{Bags, Csr, CsrBuf, SprsBags};
/// use sprs::{CsMat, CsMatI};
/// let counts = CsMat::new((2, 3), vec![0, 2, 3], vec![0, 2, 1], vec![2_u32, 1, 5]);
/// let bags = SprsBags::new(counts.view())?;
/// assert!(bags.entries(0).eq([(0, 2), (2, 1)]));
/// let owned = CsrBuf::from_bags(&bags)?;
///
/// let counts = CsMatI::<u32, u32, usize>::new((2, 3), vec![0, 2, 3], vec![0, 2, 1], vec![2, 1, 5]);
/// let borrowed = Csr::try_from(&counts)?;
/// assert!((0..2).all(|t| borrowed.entries(t).eq(owned.entries(t))));
/// # Ok::<(), countgrid_counts::BagsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SprsBags<'a, C, I: SpIndex = usize, P: SpIndex = I> {
    // By rows; valid counts, indices below the number of columns and strictly ascending within a row.
    matrix: CsMatViewI<'a, C, I, P>,
}

impl<'a, C: Count, I: SpIndex, P: SpIndex> SprsBags<'a, C, I, P> {
    /// The rows of a view; `matrix.view()` is that of an owned matrix, and `slice_outer` a part of one.
    ///
    /// # Errors
    /// [`BagsError::StoredByColumns`] of a matrix in compressed sparse columns (its `to_csr` is stored by rows);
    /// [`BagsError`] unless features ascend strictly within a bag and are below the number of columns, and counts are
    /// finite and not negative.
    pub fn new(matrix: CsMatViewI<'a, C, I, P>) -> Result<Self, BagsError> {
        if !matrix.is_csr() {
            return Err(BagsError::StoredByColumns);
        }
        let (bags, features) = (Self { matrix }, matrix.cols());
        for bag in 0..bags.len() {
            let (indices, counts) = bags.parts(bag);
            let mut next = 0; // the smallest feature that keeps the order
            for (index, count) in indices.iter().zip(counts) {
                let feature = index.try_index().unwrap_or(usize::MAX);
                if feature >= features {
                    return Err(BagsError::Feature { bag, feature, features });
                }
                if feature < next {
                    return Err(BagsError::Order { bag, feature });
                }
                if !count.is_valid() {
                    return Err(BagsError::Count { bag, feature });
                }
                next = feature + 1; // at most `features`
            }
        }
        Ok(bags)
    }

    /// Features and counts of a bag; of one out of range, none.
    #[inline]
    fn parts(&self, bag: usize) -> (&[I], &[C]) {
        let range = if bag < self.matrix.rows() { self.matrix.indptr().outer_inds_sz(bag) } else { 0..0 };
        let (indices, counts) = (self.matrix.indices(), self.matrix.data());
        (get(indices, &range), get(counts, &range))
    }
}

#[inline]
fn get<'a, T>(slice: &'a [T], range: &Range<usize>) -> &'a [T] {
    slice.get(range.clone()).unwrap_or_default()
}

impl<C: Count, I: SpIndex, P: SpIndex> Bags for SprsBags<'_, C, I, P> {
    type Count = C;
    type Entries<'a>
        = SprsEntries<'a, C, I>
    where
        Self: 'a;

    #[inline]
    fn features(&self) -> usize {
        self.matrix.cols()
    }
    #[inline]
    fn len(&self) -> usize {
        self.matrix.rows()
    }
    #[inline]
    fn entries(&self, bag: usize) -> SprsEntries<'_, C, I> {
        let (indices, counts) = self.parts(bag);
        SprsEntries(indices.iter().zip(counts))
    }
}

/// The entries of a row that are not zero, `(feature, count)`.
///
/// Example: [`SprsBags`](crate::SprsBags).
#[derive(Clone, Debug)]
pub struct SprsEntries<'a, C, I>(Zip<slice::Iter<'a, I>, slice::Iter<'a, C>>);

impl<C: Count, I: SpIndex> Iterator for SprsEntries<'_, C, I> {
    type Item = (usize, C);

    #[inline]
    fn next(&mut self) -> Option<(usize, C)> {
        let (index, &count) = self.0.find(|(_, count)| !count.is_zero())?;
        Some((index.index_unchecked(), count)) // below the number of columns
    }
    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.0.size_hint().1)
    }
}
impl<C: Count, I: SpIndex> FusedIterator for SprsEntries<'_, C, I> {}

/// The bags of a matrix whose slices are those of a [`Csr`], borrowed; [`SprsBags`] takes every other.
///
/// # Errors
/// [`BagsError::StoredByColumns`]; those of [`Csr::new`]: explicit zeros, and a part of a matrix, whose offsets do not begin
/// at 0, are refused.
impl<'a, C, P, I, D> TryFrom<&'a CsMatBase<C, u32, P, I, D, usize>> for Csr<'a, C>
where
    C: Count,
    P: Deref<Target = [usize]>,
    I: Deref<Target = [u32]>,
    D: Deref<Target = [C]>,
{
    type Error = BagsError;

    fn try_from(matrix: &'a CsMatBase<C, u32, P, I, D, usize>) -> Result<Self, BagsError> {
        if !matrix.is_csr() {
            return Err(BagsError::StoredByColumns);
        }
        let (offsets, indices, counts) = matrix.view().into_raw_storage();
        Csr::new(matrix.cols(), offsets, indices, counts)
    }
}
