use core::{iter::Enumerate, iter::FusedIterator, ops::Range, slice};

use crate::{Bags, BagsError, Count};

/// Dense rows of `Z` counts, borrowed, `[bag][feature]`. Zeros are skipped by [`Bags::entries`].
///
/// ```
/// use countgrid_counts::{Bags, Dense};
/// let dense = Dense::new(3, &[0_u16, 2, 1, 5, 0, 0])?;
/// assert_eq!((dense.len(), dense.features(), dense.max_count()), (2, 3, 5.0));
/// assert!(dense.entries(1).eq([(0, 5)]));
/// # Ok::<(), countgrid_counts::BagsError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a, C> {
    features: usize, // at least 1
    counts: &'a [C], // a multiple of it; valid
}

impl<'a, C: Count> Dense<'a, C> {
    /// Rows of `features` counts, one after the other.
    ///
    /// # Errors
    /// [`BagsError::NoFeatures`]; [`BagsError::Length`] unless `counts` is a whole number of rows;
    /// [`BagsError::Count`] for a count that is negative or not finite.
    pub fn new(features: usize, counts: &'a [C]) -> Result<Self, BagsError> {
        let Some(rest) = counts.len().checked_rem(features) else {
            return Err(BagsError::NoFeatures);
        };
        if rest != 0 {
            // The nearest whole number of rows below is always representable, the one above may not be.
            return Err(BagsError::Length {
                table: "counts",
                expected: counts.len() - rest,
                found: counts.len(),
            });
        }
        if let Some(place) = counts.iter().position(|count| !count.is_valid()) {
            return Err(BagsError::Count { bag: place / features, feature: place % features });
        }
        Ok(Self { features, counts })
    }

    /// The counts of one bag, zeros and all; `None` out of range.
    #[inline]
    #[must_use]
    pub fn row(&self, bag: usize) -> Option<&'a [C]> {
        self.counts.chunks_exact(self.features).nth(bag)
    }

    /// The bags of a range, such as a mini-batch or a thread's share; `None` out of range.
    #[inline]
    #[must_use]
    pub fn slice(&self, bags: Range<usize>) -> Option<Self> {
        let start = bags.start.checked_mul(self.features)?;
        let counts = self.counts.get(start..bags.end.checked_mul(self.features)?)?;
        Some(Self { counts, ..*self })
    }
}

impl<C: Count> Bags for Dense<'_, C> {
    type Count = C;
    type Entries<'a>
        = DenseEntries<'a, C>
    where
        Self: 'a;

    #[inline]
    fn features(&self) -> usize {
        self.features
    }
    #[inline]
    fn len(&self) -> usize {
        self.counts.len() / self.features
    }
    #[inline]
    fn entries(&self, bag: usize) -> DenseEntries<'_, C> {
        DenseEntries(self.row(bag).unwrap_or_default().iter().enumerate())
    }
}

/// The entries of a dense row that are not zero, `(feature, count)`.
///
/// Example: [`Dense`](crate::Dense).
#[derive(Clone, Debug)]
pub struct DenseEntries<'a, C>(Enumerate<slice::Iter<'a, C>>);

impl<C: Count> Iterator for DenseEntries<'_, C> {
    type Item = (usize, C);

    #[inline]
    fn next(&mut self) -> Option<(usize, C)> {
        self.0.by_ref().map(|(feature, &count)| (feature, count)).find(|(_, count)| !count.is_zero())
    }
    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.0.size_hint().1)
    }
    #[inline]
    fn fold<A, F: FnMut(A, (usize, C)) -> A>(self, start: A, mut f: F) -> A {
        self.0.fold(
            start,
            |sum, (feature, &count)| if count.is_zero() { sum } else { f(sum, (feature, count)) },
        )
    }
}
impl<C: Count> FusedIterator for DenseEntries<'_, C> {}
