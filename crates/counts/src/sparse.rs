use core::{iter::FusedIterator, iter::Zip, ops::Range, slice};

use crate::{Bags, BagsError, Count};

/// Bags in compressed sparse rows, borrowed: what SciPy calls CSR, with integer or float counts.
///
/// Bag `t` has the features `indices[offsets[t]..offsets[t + 1]]` with the counts at the same places. A view
/// of part of the bags, [`Csr::slice`], costs nothing.
///
/// Explicit zeros are refused, so that the innermost loop of an E-step has no test and the slices hold what
/// [`Bags::entries`] yields; `CsrBuf` drops them, and so does SciPy's `eliminate_zeros`.
///
/// ```
/// use countgrid_counts::{Bags, Csr};
/// let csr = Csr::new(5, &[0, 2, 2, 3], &[0, 4, 1], &[1.0_f32, 2.5, 3.0])?;
/// assert_eq!((csr.len(), csr.features(), csr.total(0)), (3, 5, 3.5));
/// assert!(csr.entries(1).eq([]));
/// let batch = csr.slice(1..3).ok_or("out of range")?;
/// assert!(batch.entries(1).eq([(1, 3.0)]));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Csr<'a, C> {
    features: usize,
    offsets: &'a [usize], // not empty; never fall; the last is at most indices.len()
    indices: &'a [u32],   // below `features`, strictly ascending within a bag
    counts: &'a [C],      // as many as indices; valid, not zero
}

impl<'a, C: Count> Csr<'a, C> {
    /// Bags over `features` features; `offsets` `[bag + 1]`, `indices` and `counts` `[entry]`.
    ///
    /// # Errors
    /// [`BagsError`] unless offsets start at 0, never fall and end at the number of indices; features ascend
    /// strictly within a bag and are below `features`; counts are finite and above zero.
    pub fn new(
        features: usize,
        offsets: &'a [usize],
        indices: &'a [u32],
        counts: &'a [C],
    ) -> Result<Self, BagsError> {
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return Err(BagsError::NoOffsets);
        };
        if first != 0 {
            return Err(BagsError::FirstOffset { found: first });
        }
        if last != indices.len() {
            return Err(BagsError::LastOffset { expected: indices.len(), found: last });
        }
        same_length(indices, counts)?;
        if let Some(bag) = offsets.iter().zip(offsets.iter().skip(1)).position(|(start, end)| end < start) {
            return Err(BagsError::OffsetsFall { bag });
        }
        let csr = Self { features, offsets, indices, counts };
        for t in 0..csr.len() {
            let (indices, counts) = csr.parts(t);
            check(t, features, indices, counts)?;
        }
        Ok(csr)
    }

    /// One bag; `None` out of range.
    #[inline]
    #[must_use]
    pub fn bag(&self, bag: usize) -> Option<Bag<'a, C>> {
        let (indices, counts) = (bag < self.len()).then(|| self.parts(bag))?;
        Some(Bag { features: self.features, indices, counts })
    }

    /// The bags of a range, such as a mini-batch or a thread's share; `None` out of range.
    #[inline]
    #[must_use]
    pub fn slice(&self, bags: Range<usize>) -> Option<Self> {
        let offsets = self.offsets.get(bags.start..)?;
        let offsets = offsets.get(..=bags.end.checked_sub(bags.start)?)?;
        Some(Self { offsets, ..*self })
    }

    /// What [`CsrBuf`](crate::CsrBuf) has checked entry by entry.
    #[cfg(feature = "alloc")]
    pub(crate) fn from_trusted_parts(
        features: usize,
        offsets: &'a [usize],
        indices: &'a [u32],
        counts: &'a [C],
    ) -> Self {
        Self { features, offsets, indices, counts }
    }

    /// [`Bags::entries`] for as long as the slices live, not the view.
    #[inline]
    pub(crate) fn entries_of(&self, bag: usize) -> SparseEntries<'a, C> {
        let (indices, counts) = self.parts(bag);
        SparseEntries::new(indices, counts)
    }

    /// Features and counts of a bag; of one out of range, none.
    #[inline]
    pub(crate) fn parts(&self, bag: usize) -> (&'a [u32], &'a [C]) {
        let range = match self.offsets.get(bag..) {
            Some(&[start, end, ..]) => start..end,
            _ => 0..0,
        };
        // The ranges are good by construction; `get` only keeps a panic out of the code.
        (self.indices.get(range.clone()).unwrap_or_default(), self.counts.get(range).unwrap_or_default())
    }
}

impl<C: Count> Bags for Csr<'_, C> {
    type Count = C;
    type Entries<'a>
        = SparseEntries<'a, C>
    where
        Self: 'a;

    #[inline]
    fn features(&self) -> usize {
        self.features
    }
    #[inline]
    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }
    #[inline]
    fn entries(&self, bag: usize) -> SparseEntries<'_, C> {
        self.entries_of(bag)
    }
}

/// One sparse bag, borrowed: a data set of one bag.
///
/// ```
/// use countgrid_counts::{Bag, Bags};
/// let bag = Bag::new(1000, &[17, 923], &[2_u32, 1])?;
/// assert_eq!((bag.len(), bag.tokens()), (1, 3.0));
/// assert_eq!(bag.indices(), [17, 923]);
/// # Ok::<(), countgrid_counts::BagsError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bag<'a, C> {
    features: usize,
    indices: &'a [u32], // below `features`, strictly ascending
    counts: &'a [C],    // as many; valid, not zero
}

impl<'a, C: Count> Bag<'a, C> {
    /// A bag over `features` features; `indices` and `counts` `[entry]`.
    ///
    /// # Errors
    /// [`BagsError`] unless features ascend strictly and are below `features`, and counts are finite and above
    /// zero.
    pub fn new(features: usize, indices: &'a [u32], counts: &'a [C]) -> Result<Self, BagsError> {
        same_length(indices, counts)?;
        check(0, features, indices, counts)?;
        Ok(Self { features, indices, counts })
    }
    /// A bag of no tokens: the datum that lengths of scratch are asked for where there are no data yet.
    ///
    /// ```
    /// use countgrid_counts::{Bag, Bags};
    /// let bag = Bag::<u32>::empty(5);
    /// assert_eq!((bag.features(), bag.tokens()), (5, 0.0));
    /// ```
    #[inline]
    #[must_use]
    pub const fn empty(features: usize) -> Self {
        Self { features, indices: &[], counts: &[] }
    }
    /// The features that occur, ascending.
    #[inline]
    #[must_use]
    pub fn indices(&self) -> &'a [u32] {
        self.indices
    }
    /// Their counts.
    #[inline]
    #[must_use]
    pub fn counts(&self) -> &'a [C] {
        self.counts
    }
}

impl<C: Count> Bags for Bag<'_, C> {
    type Count = C;
    type Entries<'a>
        = SparseEntries<'a, C>
    where
        Self: 'a;

    #[inline]
    fn features(&self) -> usize {
        self.features
    }
    #[inline]
    fn len(&self) -> usize {
        1
    }
    #[inline]
    fn entries(&self, bag: usize) -> SparseEntries<'_, C> {
        if bag == 0 { SparseEntries::new(self.indices, self.counts) } else { SparseEntries::new(&[], &[]) }
    }
}

/// The entries of a sparse bag, `(feature, count)`.
///
/// Example: [`Csr`](crate::Csr).
#[derive(Clone, Debug)]
pub struct SparseEntries<'a, C>(Zip<slice::Iter<'a, u32>, slice::Iter<'a, C>>);

impl<'a, C: Count> SparseEntries<'a, C> {
    #[inline]
    pub(crate) fn new(indices: &'a [u32], counts: &'a [C]) -> Self {
        Self(indices.iter().zip(counts))
    }
}

impl<C: Count> Iterator for SparseEntries<'_, C> {
    type Item = (usize, C);

    #[inline]
    fn next(&mut self) -> Option<(usize, C)> {
        self.0.next().map(|(&feature, &count)| (feature as usize, count))
    }
    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
    #[inline]
    fn fold<A, F: FnMut(A, (usize, C)) -> A>(self, start: A, mut f: F) -> A {
        self.0.fold(start, |sum, (&feature, &count)| f(sum, (feature as usize, count)))
    }
}
impl<C: Count> ExactSizeIterator for SparseEntries<'_, C> {}
impl<C: Count> FusedIterator for SparseEntries<'_, C> {}

fn same_length<C>(indices: &[u32], counts: &[C]) -> Result<(), BagsError> {
    if counts.len() != indices.len() {
        return Err(BagsError::Length { table: "counts", expected: indices.len(), found: counts.len() });
    }
    Ok(())
}

fn check<C: Count>(bag: usize, features: usize, indices: &[u32], counts: &[C]) -> Result<(), BagsError> {
    let mut next = 0; // the smallest feature that keeps the order
    for (feature, count) in SparseEntries::new(indices, counts) {
        if feature >= features {
            return Err(BagsError::Feature { bag, feature, features });
        }
        if feature < next {
            return Err(BagsError::Order { bag, feature });
        }
        if !count.is_valid() {
            return Err(BagsError::Count { bag, feature });
        }
        if count.is_zero() {
            return Err(BagsError::Zero { bag, feature });
        }
        next = feature + 1; // at most `features`
    }
    Ok(())
}
