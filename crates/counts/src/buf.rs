use alloc::{vec, vec::Vec};

use crate::{Bags, BagsError, Count, Csr, Dense, SparseEntries};

/// Bags in compressed sparse rows, owned, built one bag at a time.
///
/// ```
/// use countgrid_counts::{Bags, CsrBuf};
/// let mut bags = CsrBuf::new(4)?;
/// bags.push_bag([(3, 1_u32), (0, 2), (3, 1), (1, 0)])?; // any order, repeated, zeros
/// bags.push_bag([])?;
/// assert!(bags.entries(0).eq([(0, 2), (3, 2)]));
/// assert_eq!(bags.transpose()?.as_view().total(3), 2.0);
/// # Ok::<(), countgrid_counts::BagsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CsrBuf<C> {
    features: usize, // at most 2^32
    offsets: Vec<usize>,
    indices: Vec<u32>,
    counts: Vec<C>,
    scratch: Vec<(u32, C)>, // a bag whose entries came out of order; empty between calls
}

impl<C: Count> CsrBuf<C> {
    /// No bags yet, over `features` features.
    ///
    /// # Errors
    /// [`BagsError::TooManyFeatures`] beyond 2³².
    pub fn new(features: usize) -> Result<Self, BagsError> {
        if features.checked_sub(1).is_some_and(|last| u32::try_from(last).is_err()) {
            return Err(BagsError::TooManyFeatures { features });
        }
        let (indices, counts, scratch) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { features, offsets: vec![0], indices, counts, scratch })
    }

    /// Takes what a file held: `offsets` `[bag + 1]`, `indices` and `counts` `[entry]`.
    ///
    /// # Errors
    /// Those of [`Csr::new`], and [`BagsError::TooManyFeatures`].
    pub fn from_parts(
        features: usize,
        offsets: Vec<usize>,
        indices: Vec<u32>,
        counts: Vec<C>,
    ) -> Result<Self, BagsError> {
        Csr::new(features, &offsets, &indices, &counts)?;
        Ok(Self { offsets, indices, counts, ..Self::new(features)? })
    }

    /// The bags of dense rows, `[bag][feature]`, without their zeros.
    ///
    /// # Errors
    /// Those of [`Dense::new`], and [`BagsError::TooManyFeatures`].
    pub fn from_dense(features: usize, counts: &[C]) -> Result<Self, BagsError> {
        Self::from_bags(&Dense::new(features, counts)?)
    }

    /// A copy of any data set.
    ///
    /// # Errors
    /// Those of [`CsrBuf::new`] and [`CsrBuf::push_bag`].
    pub fn from_bags<B: Bags<Count = C> + ?Sized>(bags: &B) -> Result<Self, BagsError> {
        let mut buf = Self::new(bags.features())?;
        for t in 0..bags.len() {
            buf.push_bag(bags.entries(t))?;
        }
        Ok(buf)
    }

    /// Adds a bag: entries in any order; counts of one feature are added up in the order given; zeros are
    /// dropped.
    ///
    /// # Errors
    /// [`BagsError::Feature`], [`BagsError::Count`], [`BagsError::Overflow`]; no bag is then added.
    pub fn push_bag<I>(&mut self, entries: I) -> Result<(), BagsError>
    where
        I: IntoIterator<Item = (usize, C)>,
    {
        let (bag, start) = (self.len(), self.indices.len());
        let appended = self.append(bag, start, entries);
        match appended {
            Ok(()) => self.offsets.push(self.indices.len()),
            Err(_) => {
                self.indices.truncate(start);
                self.counts.truncate(start);
            }
        }
        self.scratch.clear();
        appended
    }

    /// Puts entries where the next bag starts, in order.
    fn append<I>(&mut self, bag: usize, start: usize, entries: I) -> Result<(), BagsError>
    where
        I: IntoIterator<Item = (usize, C)>,
    {
        let features = self.features;
        let (mut ascending, mut before) = (true, None);
        for (feature, count) in entries {
            let index = u32::try_from(feature).ok().filter(|_| feature < features);
            let index = index.ok_or(BagsError::Feature { bag, feature, features })?;
            if !count.is_valid() {
                return Err(BagsError::Count { bag, feature });
            }
            if !count.is_zero() {
                ascending &= before < Some(index);
                before = Some(index);
                self.indices.push(index);
                self.counts.push(count);
            }
        }
        if ascending { Ok(()) } else { self.put_in_order(bag, start) }
    }

    /// Sorts the entries of the next bag by way of the scratch, and adds up those of one feature. Apart from what reads them,
    /// so that a sort is not compiled for every kind of iterator.
    fn put_in_order(&mut self, bag: usize, start: usize) -> Result<(), BagsError> {
        let entry = &mut self.scratch;
        entry.extend(self.indices.drain(start..).zip(self.counts.drain(start..)));
        entry.sort_by_key(|&(feature, _)| feature); // stable, hence the order of float sums
        let mut overflow = None;
        entry.dedup_by(|(feature, count), (kept, sum)| {
            let same = feature == kept;
            if same {
                match sum.checked_add(*count) {
                    Some(added) => *sum = added,
                    None => overflow = overflow.or(Some(*kept as usize)),
                }
            }
            same
        });
        if let Some(feature) = overflow {
            return Err(BagsError::Overflow { bag, feature });
        }
        self.indices.extend(entry.iter().map(|&(feature, _)| feature));
        self.counts.extend(entry.iter().map(|&(_, count)| count));
        Ok(())
    }

    /// Removes the bags from `bag` on and returns them as a data set; an empty one if there are not so many.
    ///
    /// ```
    /// use countgrid_counts::{Bags, CsrBuf};
    /// let mut bags = CsrBuf::from_dense(2, &[1_u32, 0, 2, 3])?;
    /// let last = bags.split_off(1);
    /// assert_eq!((bags.len(), last.len(), last.total(0)), (1, 1, 5.0));
    /// # Ok::<(), countgrid_counts::BagsError>(())
    /// ```
    pub fn split_off(&mut self, bag: usize) -> Self {
        let bag = bag.min(self.len());
        let start = self.offsets.get(bag).copied().unwrap_or(0);
        let offsets = self.offsets.iter().skip(bag).map(|offset| offset - start).collect();
        self.offsets.truncate(bag + 1);
        let (indices, counts) = (self.indices.split_off(start), self.counts.split_off(start));
        Self { features: self.features, offsets, indices, counts, scratch: Vec::new() }
    }

    /// Bags become features and features become bags. A counting sort: `O(T + Z + nonzeros)` time and memory.
    ///
    /// # Errors
    /// [`BagsError::TooManyFeatures`] if there are more than 2³² bags; [`BagsError::OutOfMemory`] if there is no
    /// room for a bag per feature, as a header that lies may ask for.
    pub fn transpose(&self) -> Result<Self, BagsError> {
        let mut turned = Self::new(self.len())?;
        let mut starts = Vec::new();
        let len = self.features.checked_add(1).filter(|&len| starts.try_reserve_exact(len).is_ok());
        starts.resize(len.ok_or(BagsError::OutOfMemory { bags: self.features })?, 0);
        turned.offsets = starts;
        let starts = &mut turned.offsets;
        for &feature in &self.indices {
            starts[feature as usize + 1] += 1; // in range: features are checked when they come in
        }
        for z in 0..self.features {
            starts[z + 1] += starts[z];
        }
        // Filling moves `starts[z]` on to where the next feature starts; then everything is one place late.
        turned.indices = vec![0; self.indices.len()];
        turned.counts = vec![C::ZERO; self.counts.len()];
        for t in 0..self.len() {
            for (z, count) in self.entries(t) {
                turned.indices[starts[z]] = t as u32; // `Self::new` has checked that it fits
                turned.counts[starts[z]] = count;
                starts[z] += 1;
            }
        }
        starts.rotate_right(1);
        starts[0] = 0;
        Ok(turned)
    }

    /// The number of features and the three tables, given back: for a file, or to be filled again.
    ///
    /// ```
    /// use countgrid_counts::CsrBuf;
    /// let (features, offsets, indices, counts) = CsrBuf::from_dense(2, &[0.0_f32, 3.0])?.into_parts();
    /// assert_eq!((features, offsets, indices, counts), (2, vec![0, 1], vec![1], vec![3.0]));
    /// # Ok::<(), countgrid_counts::BagsError>(())
    /// ```
    #[must_use]
    pub fn into_parts(self) -> (usize, Vec<usize>, Vec<u32>, Vec<C>) {
        (self.features, self.offsets, self.indices, self.counts)
    }

    /// The view that models take.
    #[inline]
    #[must_use]
    pub fn as_view(&self) -> Csr<'_, C> {
        Csr::from_trusted_parts(self.features, &self.offsets, &self.indices, &self.counts)
    }
    /// Where bags start in [`CsrBuf::indices`] and [`CsrBuf::counts`], `[bag + 1]`.
    #[must_use]
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }
    /// Features, bag by bag, ascending within one.
    #[must_use]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }
    /// Counts, in the order of [`CsrBuf::indices`].
    #[must_use]
    pub fn counts(&self) -> &[C] {
        &self.counts
    }
}

impl<C: Count> Bags for CsrBuf<C> {
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
        self.as_view().entries_of(bag)
    }
}
