//! Matrices and views of nalgebra as bags.

use nalgebra::{Dim, Matrix, RawStorage};

use crate::{Count, CountMatrix};

/// A matrix or view with a bag per row and a feature per column, with any strides.
///
/// nalgebra stores matrices column by column. Where bags are columns, [`Strided`](crate::Strided) over
/// [`as_slice`](nalgebra::Matrix::as_slice) with the strides `[Z, 1]` reads them as they lie.
///
/// ```
/// use countgrid_counts::{Bags, MatrixBags};
/// use nalgebra::Matrix2x3;
/// let counts = Matrix2x3::new(2_u32, 0, 7, 0, 1, 7);
/// let bags = MatrixBags::new(counts.columns(0, 2))?; // a view, no copy
/// assert!(bags.entries(0).eq([(0, 2)]) && bags.entries(1).eq([(1, 1)]));
/// # Ok::<(), countgrid_counts::BagsError>(())
/// ```
impl<C: Count, R: Dim, K: Dim, S: RawStorage<C, R, K> + Sync> CountMatrix for Matrix<C, R, K, S> {
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
        self.get((bag, feature)).copied()
    }
}
