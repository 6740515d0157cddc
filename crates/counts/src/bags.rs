use crate::Count;

/// A data set: bags of counts over one set of features, in any storage.
///
/// Implemented by the views of this crate; a model that takes `&impl Bags` fits them all.
///
/// ```
/// use countgrid_counts::{Bags, Csr, Dense};
///
/// fn mean_length(bags: &impl Bags) -> f64 {
///     bags.tokens() / bags.len() as f64
/// }
/// let dense = Dense::new(3, &[2_u8, 0, 1, 0, 0, 4])?;
/// let sparse = Csr::new(3, &[0, 2, 3], &[0, 2, 2], &[2_u8, 1, 4])?;
/// assert_eq!(mean_length(&dense), mean_length(&sparse));
/// assert!(dense.entries(0).eq([(0, 2), (2, 1)]));
/// # Ok::<(), countgrid_counts::BagsError>(())
/// ```
pub trait Bags: Sync {
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
    /// The counts of one feature as bags, ascending, and counts, both `[entry]`, if the data set is kept by feature
    /// too. What [`Bags::entries`] gives and no other.
    #[inline]
    fn column(&self, feature: usize) -> Option<(&[u32], &[Self::Count])> {
        let _ = feature;
        None
    }
    /// Whether there are no bags.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sums over a bag of what `terms(z, c_tz)` gives, in f64: exact for integers up to 2⁵³, and of other numbers too
    /// the same sums however the bag is stored. A bag out of range has none.
    ///
    /// ```
    /// use countgrid_counts::{Bag, Bags};
    /// let bag = Bag::new(5, &[1, 4], &[2_u8, 3])?;
    /// let [tokens, weighted] = bag.sums(0, |feature, count| [count, count * feature as f64]);
    /// assert_eq!((tokens, weighted), (5.0, 14.0));
    /// # Ok::<(), countgrid_counts::BagsError>(())
    /// ```
    #[inline]
    fn sums<const N: usize>(&self, bag: usize, terms: impl Fn(usize, f64) -> [f64; N]) -> [f64; N] {
        // Four sums take turns: one alone would have to wait for every addition.
        let (mut entries, mut turns) = (self.entries(bag), [[0.0; N]; 4]);
        loop {
            for sums in &mut turns {
                let Some((feature, count)) = entries.next() else {
                    let [a, b, c, d] = turns;
                    return core::array::from_fn(|n| (a[n] + b[n]) + (c[n] + d[n]));
                };
                sums.iter_mut().zip(terms(feature, count.to_real())).for_each(|(sum, term)| *sum += term);
            }
        }
    }
    /// Tokens of a bag, `N_t = Σ_z c_tz`.
    fn total(&self, bag: usize) -> f64 {
        let [tokens] = self.sums(bag, |_, count| [count]);
        tokens
    }
    /// Tokens of all bags, `Σ_t N_t`.
    fn tokens(&self) -> f64 {
        (0..self.len()).map(|bag| self.total(bag)).fold(0.0, |sum, total| sum + total)
    }
    /// The largest count, `max_tz c_tz`; 0 where there is none.
    fn max_count(&self) -> f64 {
        let largest = |bag| self.entries(bag).map(|(_, count)| count.to_real::<f64>()).fold(0.0, f64::max);
        (0..self.len()).map(largest).fold(0.0, f64::max)
    }
    /// Number of counts that are not zero.
    fn nonzeros(&self) -> usize {
        (0..self.len()).map(|bag| self.entries(bag).count()).sum()
    }
}

impl<B: Bags + ?Sized> Bags for &B {
    type Count = B::Count;
    type Entries<'a>
        = B::Entries<'a>
    where
        Self: 'a;

    #[inline]
    fn features(&self) -> usize {
        (**self).features()
    }
    #[inline]
    fn len(&self) -> usize {
        (**self).len()
    }
    #[inline]
    fn entries(&self, bag: usize) -> Self::Entries<'_> {
        (**self).entries(bag)
    }
    #[inline]
    fn column(&self, feature: usize) -> Option<(&[u32], &[Self::Count])> {
        (**self).column(feature)
    }
}
