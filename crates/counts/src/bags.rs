use crate::Count;

/// A data set: bags of counts over one set of features, whatever the storage.
///
/// Implemented by the views of this crate; a model that takes `&impl Bags` fits them all.
pub trait Bags {
    /// How a count is stored.
    type Count: Count;
    /// The entries of one bag.
    type Entries<'a>: Iterator<Item = (usize, Self::Count)> + Clone
    where
        Self: 'a;

    /// Number of features `Z`.
    fn features(&self) -> usize;
    /// Number of bags `T`.
    fn len(&self) -> usize;
    /// The counts of a bag that are not zero, as `(feature, count)` with features ascending and below
    /// [`Bags::features`]. A bag out of range has none.
    fn entries(&self, bag: usize) -> Self::Entries<'_>;
    /// Whether there is no bag at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
