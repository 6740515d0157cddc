use crate::{Bags, BagsError, Count, CsrBuf, SparseEntries};

/// Bags that are kept by bag and by feature: twice the memory, for models that go either way.
///
/// A counting grid's E-step computes posteriors bag by bag, and while their posteriors are flat it adds their counts up
/// feature by feature: several times faster than the other way round.
///
/// ```
/// use countgrid_counts::{Bags, BagsWithColumns, CsrBuf};
/// let bags = BagsWithColumns::new(CsrBuf::from_dense(3, &[2_u8, 0, 1, 0, 0, 4])?)?;
/// assert!(bags.entries(0).eq([(0, 2), (2, 1)]));
/// assert_eq!(bags.column(2), Some((&[0, 1][..], &[1, 4][..])));
/// # Ok::<(), countgrid_counts::BagsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct BagsWithColumns<C> {
    bags: CsrBuf<C>,
    columns: CsrBuf<C>, // the transpose of `bags`
}

impl<C: Count> BagsWithColumns<C> {
    /// Adds the transpose.
    ///
    /// # Errors
    /// As [`CsrBuf::transpose`].
    pub fn new(bags: CsrBuf<C>) -> Result<Self, BagsError> {
        let columns = bags.transpose()?;
        Ok(Self { bags, columns })
    }

    /// The bags.
    #[must_use]
    pub fn bags(&self) -> &CsrBuf<C> {
        &self.bags
    }

    /// The bags alone.
    #[must_use]
    pub fn into_bags(self) -> CsrBuf<C> {
        self.bags
    }
}

impl<C: Count> Bags for BagsWithColumns<C> {
    type Count = C;
    type Entries<'a>
        = SparseEntries<'a, C>
    where
        Self: 'a;

    #[inline]
    fn features(&self) -> usize {
        self.bags.features()
    }
    #[inline]
    fn len(&self) -> usize {
        self.bags.len()
    }
    #[inline]
    fn entries(&self, bag: usize) -> Self::Entries<'_> {
        self.bags.entries(bag)
    }
    #[inline]
    fn column(&self, feature: usize) -> Option<(&[u32], &[C])> {
        (feature < self.columns.len()).then(|| self.columns.as_view().parts(feature))
    }
}
