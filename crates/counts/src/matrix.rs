//! Dense matrices of any layout as bags.

use core::{iter::FusedIterator, ops::Range};

use crate::{Bags, BagsError, Count};

/// A dense matrix of counts, a bag per row, in whatever layout: what [`MatrixBags`] reads.
///
/// [`Strided`] is one over a slice. With the feature `ndarray` its two-dimensional arrays and views are such matrices,
/// with the feature `nalgebra` its matrices and views; a reference to a matrix is a matrix too. For another library:
///
/// ```
/// use countgrid_counts::{Bags, BagsError, CountMatrix, MatrixBags};
///
/// struct Columns<const T: usize>(Vec<[u16; T]>);
/// impl<const T: usize> CountMatrix for Columns<T> {
///     type Count = u16;
///     fn bags(&self) -> usize {
///         T
///     }
///     fn features(&self) -> usize {
///         self.0.len()
///     }
///     fn count(&self, bag: usize, feature: usize) -> Option<u16> {
///         self.0.get(feature)?.get(bag).copied()
///     }
/// }
/// let bags = MatrixBags::new(Columns(vec![[1, 0], [0, 0], [2, 5]]))?;
/// assert!(bags.entries(0).eq([(0, 1), (2, 2)]));
/// # Ok::<(), BagsError>(())
/// ```
pub trait CountMatrix: Sync {
    /// How a count is stored.
    type Count: Count;

    /// Number of rows `T`.
    fn bags(&self) -> usize;
    /// Number of columns `Z`.
    fn features(&self) -> usize;
    /// One count; `None` out of range, and only there.
    fn count(&self, bag: usize, feature: usize) -> Option<Self::Count>;
}

impl<M: CountMatrix + ?Sized> CountMatrix for &M {
    type Count = M::Count;

    #[inline]
    fn bags(&self) -> usize {
        (**self).bags()
    }
    #[inline]
    fn features(&self) -> usize {
        (**self).features()
    }
    #[inline]
    fn count(&self, bag: usize, feature: usize) -> Option<M::Count> {
        (**self).count(bag, feature)
    }
}

/// A dense matrix over a slice with a stride from bag to bag and one from feature to feature, in elements.
///
/// Row-major counts have the strides `[Z, 1]`, column-major ones `[1, T]`, a part of a larger matrix those of the whole.
///
/// ```
/// use countgrid_counts::{Bags, BagsError, Dense, MatrixBags, Strided};
/// // Two bags of three features, column by column.
/// let bags = MatrixBags::new(Strided::new(&[2_u8, 0, 0, 0, 1, 4], [2, 3], [1, 2])?)?;
/// let rows = Dense::new(3, &[2_u8, 0, 1, 0, 0, 4])?;
/// assert!((0..2).all(|t| bags.entries(t).eq(rows.entries(t))));
/// # Ok::<(), BagsError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a, C> {
    counts: &'a [C],
    shape: [usize; 2],
    strides: [usize; 2], // the last element of the shape is in range
}

impl<'a, C: Count> Strided<'a, C> {
    /// `shape[0]` bags of `shape[1]` features; the count of feature `z` in bag `t` is
    /// `counts[t · strides[0] + z · strides[1]]`.
    ///
    /// # Errors
    /// [`BagsError::Length`] if the last count is beyond the slice, with the length that would do as far as it can be
    /// represented.
    pub const fn new(counts: &'a [C], shape: [usize; 2], strides: [usize; 2]) -> Result<Self, BagsError> {
        let [bags, features] = shape;
        if bags > 0 && features > 0 {
            // The largest place; beyond `usize` there is no slice either.
            let expected = match ((bags - 1).checked_mul(strides[0]), (features - 1).checked_mul(strides[1]))
            {
                (Some(row), Some(column)) => row.saturating_add(column).saturating_add(1),
                _ => usize::MAX,
            };
            if counts.len() < expected {
                return Err(BagsError::Length { table: "counts", expected, found: counts.len() });
            }
        }
        Ok(Self { counts, shape, strides })
    }
}

impl<C: Count> CountMatrix for Strided<'_, C> {
    type Count = C;

    #[inline]
    fn bags(&self) -> usize {
        self.shape[0]
    }
    #[inline]
    fn features(&self) -> usize {
        self.shape[1]
    }
    #[inline]
    fn count(&self, bag: usize, feature: usize) -> Option<C> {
        if bag >= self.shape[0] || feature >= self.shape[1] {
            return None;
        }
        // Below `usize::MAX`, since the last place is.
        self.counts.get(bag * self.strides[0] + feature * self.strides[1]).copied()
    }
}

/// A dense matrix as bags, one per row, without a copy: validated once, in its own layout. Zeros are skipped.
///
/// Counts of bags are read in the order of features, so every model ends with the bits that it has of the same counts in
/// [`Dense`](crate::Dense) or [`Csr`](crate::Csr) storage. `CsrBuf::from_bags` makes a sparse copy, which the E-steps of
/// many iterations read faster.
///
/// ```
/// use countgrid_counts::{Bags, MatrixBags, Strided};
/// let table = [3.0, 0.0, 99.0, 0.0, 1.5, 99.0]; // the third column is something else
/// let bags = MatrixBags::new(Strided::new(&table, [2, 2], [3, 1])?)?;
/// assert_eq!((bags.len(), bags.features(), bags.tokens()), (2, 2, 4.5));
/// let last = bags.slice(1..2).ok_or("out of range")?;
/// assert!(last.entries(0).eq([(1, 1.5)]));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MatrixBags<M> {
    matrix: M,          // valid counts
    bags: Range<usize>, // rows of it
}

impl<M: CountMatrix> MatrixBags<M> {
    /// The rows of a matrix.
    ///
    /// # Errors
    /// [`BagsError::Count`] for a count that is negative or not finite; [`BagsError::Length`] for a row that ends before
    /// the last feature, as only a [`CountMatrix`] that breaks its contract has one.
    pub fn new(matrix: M) -> Result<Self, BagsError> {
        let (bags, features) = (matrix.bags(), matrix.features());
        for bag in 0..bags {
            for feature in 0..features {
                match matrix.count(bag, feature) {
                    Some(count) if count.is_valid() => {}
                    Some(_) => return Err(BagsError::Count { bag, feature }),
                    None => {
                        return Err(BagsError::Length {
                            table: "counts",
                            expected: features,
                            found: feature,
                        });
                    }
                }
            }
        }
        Ok(Self { matrix, bags: 0..bags })
    }

    /// The bags of a range, such as a mini-batch or a thread's share; `None` out of range.
    pub fn slice(&self, bags: Range<usize>) -> Option<MatrixBags<&M>> {
        if bags.start > bags.end || bags.end > self.len() {
            return None;
        }
        let first = self.bags.start;
        Some(MatrixBags { matrix: &self.matrix, bags: first + bags.start..first + bags.end })
    }

    /// The matrix, all of it.
    pub fn matrix(&self) -> &M {
        &self.matrix
    }
}

impl<M: CountMatrix> Bags for MatrixBags<M> {
    type Count = M::Count;
    type Entries<'a>
        = MatrixEntries<'a, M>
    where
        Self: 'a;

    #[inline]
    fn features(&self) -> usize {
        self.matrix.features()
    }
    #[inline]
    fn len(&self) -> usize {
        self.bags.len()
    }
    #[inline]
    fn entries(&self, bag: usize) -> MatrixEntries<'_, M> {
        let features = if bag < self.len() { 0..self.features() } else { 0..0 };
        MatrixEntries { matrix: &self.matrix, bag: self.bags.start.saturating_add(bag), features }
    }
}

/// The entries of a row that are not zero, `(feature, count)`.
///
/// Example: [`MatrixBags`](crate::MatrixBags).
#[derive(Debug)]
pub struct MatrixEntries<'a, M> {
    matrix: &'a M,
    bag: usize,
    features: Range<usize>, // those to come
}

impl<M> Clone for MatrixEntries<'_, M> {
    #[inline]
    fn clone(&self) -> Self {
        Self { matrix: self.matrix, bag: self.bag, features: self.features.clone() }
    }
}

impl<M: CountMatrix> Iterator for MatrixEntries<'_, M> {
    type Item = (usize, M::Count);

    #[inline]
    fn next(&mut self) -> Option<(usize, M::Count)> {
        let Self { matrix, bag, features } = self;
        features.find_map(|feature| {
            let count = matrix.count(*bag, feature).filter(|count| !count.is_zero())?;
            Some((feature, count))
        })
    }
    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.features.size_hint().1)
    }
}
impl<M: CountMatrix> FusedIterator for MatrixEntries<'_, M> {}
