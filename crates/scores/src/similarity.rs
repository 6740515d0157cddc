use countgrid_math::{Kernel, Real, dispatch, exp, sum_of_eight};

use crate::{
    ScoreError,
    error::{rows_of, same_length},
};

/// How alike two rows `x`, `y` of features are: a positive semidefinite kernel.
///
/// Example: [the crate's](crate).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Similarity<T> {
    /// `Σ_i x_i y_i`.
    Linear,
    /// `exp(-gamma Σ_i (x_i - y_i)²)`, the Gaussian kernel.
    Rbf {
        /// In one over the unit of the squared features; above 0.
        gamma: T,
    },
    /// `Σ_i min(x_i, y_i)`, for features that are not negative. Of spread posteriors ([`crate::spread_rows`]) it is the
    /// spreading similarity of Perina, Jojic, Castellani, Bicego & Murino, Embedding bags of features in
    /// hyper-dimensional grids: the counting grid model, Eq. 13.
    Intersection,
    /// `Σ_i (x_i - y_i)²`, small where rows are alike: no kernel, but what those of [`Similarity::Rbf`] of every `gamma`
    /// are made of, by [`gaussian`].
    SquaredDistance,
}

impl<T: Real> Similarity<T> {
    fn check(self) -> Result<(), ScoreError> {
        match self {
            Self::Rbf { gamma } if !(gamma > T::zero() && gamma.is_finite()) => Err(ScoreError::Gamma),
            _ => Ok(()),
        }
    }
}

/// The Gram matrix of rows `x` `[row][column]`: `matrix` `[row][row]`, symmetric to the bit.
///
/// An entry that overflows is an error of the row that it is in, not a NaN to be found later.
///
/// ```
/// use countgrid_scores::{Similarity, cross, gaussian, gram};
///
/// let rows = [0.0f64, 0.0, 3.0, 4.0]; // two rows of two columns
/// let mut matrix = [0.0; 4];
/// gram(Similarity::SquaredDistance, 2, &rows, &mut matrix)?;
/// assert_eq!(matrix, [0.0, 25.0, 25.0, 0.0]);
/// gaussian(0.04, &mut matrix)?;
/// assert!((matrix[1] - (-1.0f64).exp()).abs() < 1e-15);
///
/// let mut others = [0.0; 2];
/// cross(Similarity::Linear, 2, &rows[2..], &rows, &mut others)?;
/// assert_eq!(others, [0.0, 25.0]);
/// # Ok::<(), countgrid_scores::ScoreError>(())
/// ```
///
/// # Errors
/// [`ScoreError::Length`], [`ScoreError::Rows`], [`ScoreError::Empty`], [`ScoreError::Gamma`], [`ScoreError::Entry`].
/// # Accuracy
/// Sums have eight running sums and a tree, like [`countgrid_math::sum`].
pub fn gram<T: Real>(
    similarity: Similarity<T>,
    columns: usize,
    x: &[T],
    matrix: &mut [T],
) -> Result<(), ScoreError> {
    similarity.check()?;
    let rows = rows_of("x", columns, x.len())?;
    same_length("matrix", rows.saturating_mul(rows), matrix.len())?;
    for (row, a) in x.chunks_exact(columns).enumerate() {
        let (_, own) = matrix.split_at_mut(row * rows);
        let known = own.get_mut(..=row).unwrap_or_default();
        dispatch(Row { similarity, columns, a, others: x, out: known });
        check_row("x", row, known)?;
    }
    for row in 1..rows {
        let (above, below) = matrix.split_at_mut(row * rows);
        for (column, &value) in below.iter().take(row).enumerate() {
            if let Some(entry) = above.get_mut(column * rows + row) {
                *entry = value;
            }
        }
    }
    Ok(())
}

/// Similarities of rows `x` to rows `y`: `matrix` `[row of x][row of y]`.
///
/// Example: [`gram`](crate::gram).
///
/// # Errors
/// As [`gram`].
pub fn cross<T: Real>(
    similarity: Similarity<T>,
    columns: usize,
    x: &[T],
    y: &[T],
    matrix: &mut [T],
) -> Result<(), ScoreError> {
    similarity.check()?;
    let (rows, others) = (rows_of("x", columns, x.len())?, rows_of("y", columns, y.len())?);
    same_length("matrix", rows.saturating_mul(others), matrix.len())?;
    for (row, (a, out)) in x.chunks_exact(columns).zip(matrix.chunks_exact_mut(others.max(1))).enumerate() {
        dispatch(Row { similarity, columns, a, others: y, out });
        check_row("x", row, out)?;
    }
    Ok(())
}

/// Squared distances ([`Similarity::SquaredDistance`]) made the kernel `exp(-gamma d²)`, with the bits that
/// [`Similarity::Rbf`] has: where several `gamma` are compared, distances are computed once.
///
/// Example: [`gram`](crate::gram).
///
/// # Errors
/// [`ScoreError::Gamma`]; [`ScoreError::Entry`] of the first that is not finite or below 0, and nothing is written.
pub fn gaussian<T: Real>(gamma: T, distances: &mut [T]) -> Result<(), ScoreError> {
    Similarity::Rbf { gamma }.check()?;
    let distance = |d: &T| *d >= T::zero() && d.is_finite();
    if let Some(column) = distances.iter().position(|d| !distance(d)) {
        return Err(ScoreError::Entry { table: "distances", row: 0, column });
    }
    dispatch(Gaussian { gamma, distances });
    Ok(())
}

struct Gaussian<'a, T> {
    gamma: T,
    distances: &'a mut [T],
}

impl<T: Real> Kernel for Gaussian<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.distances.iter_mut().for_each(|d| *d = exp(-self.gamma * *d));
    }
}

fn check_row<T: Real>(table: &'static str, row: usize, values: &[T]) -> Result<(), ScoreError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(column) => Err(ScoreError::Entry { table, row, column }),
        None => Ok(()),
    }
}

/// Similarities of one row to the first of others.
struct Row<'a, T> {
    similarity: Similarity<T>,
    columns: usize,
    a: &'a [T],
    others: &'a [T],
    out: &'a mut [T],
}

impl<T: Real> Kernel for Row<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.out.iter_mut().zip(self.others.chunks_exact(self.columns));
        match self.similarity {
            Similarity::Linear => rows.for_each(|(out, b)| *out = sum_of(self.a, b, Product)),
            Similarity::Intersection => rows.for_each(|(out, b)| *out = sum_of(self.a, b, Minimum)),
            Similarity::SquaredDistance => {
                rows.for_each(|(out, b)| *out = sum_of(self.a, b, SquaredDifference))
            }
            Similarity::Rbf { gamma } => {
                rows.for_each(|(out, b)| *out = sum_of(self.a, b, SquaredDifference));
                Gaussian { gamma, distances: self.out }.run();
            }
        }
    }
}

/// What two elements add to a sum.
trait Term: Copy {
    fn evaluate<T: Real>(self, x: T, y: T) -> T;
}

#[derive(Clone, Copy)]
struct Product;
impl Term for Product {
    #[inline(always)]
    fn evaluate<T: Real>(self, x: T, y: T) -> T {
        x * y
    }
}

#[derive(Clone, Copy)]
struct Minimum;
impl Term for Minimum {
    #[inline(always)]
    fn evaluate<T: Real>(self, x: T, y: T) -> T {
        // A NaN in either argument gives NaN: both comparisons are false.
        if x < y {
            x
        } else if y <= x {
            y
        } else {
            x + y
        }
    }
}

#[derive(Clone, Copy)]
struct SquaredDifference;
impl Term for SquaredDifference {
    #[inline(always)]
    fn evaluate<T: Real>(self, x: T, y: T) -> T {
        (x - y) * (x - y)
    }
}

/// `Σ_i term(a_i, b_i)`: eight running sums, then a tree.
#[inline(always)]
fn sum_of<T: Real>(a: &[T], b: &[T], term: impl Term) -> T {
    const LANES: usize = 8;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [T::zero(); LANES];
    for (a, b) in a.iter().zip(b) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(a).zip(b) {
            *lane += term.evaluate(x, y);
        }
    }
    for ((lane, &x), &y) in lanes.iter_mut().zip(a_rest).zip(b_rest) {
        *lane += term.evaluate(x, y);
    }
    sum_of_eight(lanes)
}
