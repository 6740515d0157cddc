//! Arrays and views of ndarray as bags.

use ndarray::{ArrayBase, Data, Ix2};

use crate::{Count, CountMatrix};

/// A two-dimensional array or view, `[bag][feature]`, with any strides.
///
/// ```
/// use countgrid_counts::{Bags, MatrixBags};
/// use ndarray::{array, s};
/// let counts = array![[2_u32, 0, 7], [0, 1, 7]];
/// let bags = MatrixBags::new(counts.slice(s![..;-1, ..2]))?; // from the last row to the first, without a copy
/// assert!(bags.entries(0).eq([(1, 1)]) && bags.entries(1).eq([(0, 2)]));
/// # Ok::<(), countgrid_counts::BagsError>(())
/// ```
impl<C: Count, S: Data<Elem = C> + Sync> CountMatrix for ArrayBase<S, Ix2> {
    type Count = C;

    #[inline]
    fn bags(&self) -> usize {
        self.nrows()
    }
    #[inline]
    fn features(&self) -> usize {
        self.ncols()
    }
    #[inline]
    fn count(&self, bag: usize, feature: usize) -> Option<C> {
        self.get([bag, feature]).copied()
    }
}
