//! Small dense linear algebra on the caller's memory. Matrices are row-major.

use countgrid_math::{Real, sqrt};

/// `A = L Lᵀ` in place, `L` in the lower triangle. Whether `A` is positive definite.
pub(crate) fn cholesky<T: Real>(n: usize, a: &mut [T]) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let mut sum = a[i * n + j];
            for k in 0..j {
                sum -= a[i * n + k] * a[j * n + k];
            }
            if i == j {
                if !(sum > T::zero() && sum.is_finite()) {
                    return false;
                }
                a[i * n + i] = sqrt(sum);
            } else {
                a[i * n + j] = sum / a[j * n + j];
            }
        }
    }
    true
}

/// `x ← L⁻¹ x`.
pub(crate) fn solve_lower<T: Real>(n: usize, l: &[T], x: &mut [T]) {
    for i in 0..n {
        let mut sum = x[i];
        for k in 0..i {
            sum -= l[i * n + k] * x[k];
        }
        x[i] = sum / l[i * n + i];
    }
}

/// `x ← L⁻ᵀ x`.
pub(crate) fn solve_upper<T: Real>(n: usize, l: &[T], x: &mut [T]) {
    for i in (0..n).rev() {
        let mut sum = x[i];
        for k in i + 1..n {
            sum -= l[k * n + i] * x[k];
        }
        x[i] = sum / l[i * n + i];
    }
}

/// Eigenvalues and eigenvectors of a symmetric matrix by cyclic Jacobi rotations: `a` becomes diagonal, row `k` of
/// `vectors` the eigenvector of `a[k][k]`. In the order in which they come.
pub(crate) fn eigen(n: usize, a: &mut [f64], vectors: &mut [f64]) {
    vectors.fill(0.0);
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    for _ in 0..60 {
        let mut off = 0.0;
        let mut diagonal = 0.0;
        for i in 0..n {
            diagonal += a[i * n + i] * a[i * n + i];
            for j in 0..i {
                off += a[i * n + j] * a[i * n + j];
            }
        }
        if !(off > 1e-34 * diagonal) {
            return;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(n, a, vectors, p, q);
            }
        }
    }
}

/// The rotation that makes `a[p][q]` zero (Golub and Van Loan, Matrix computations, algorithm 8.4.1).
fn rotate(n: usize, a: &mut [f64], vectors: &mut [f64], p: usize, q: usize) {
    let apq = a[p * n + q];
    if apq == 0.0 {
        return;
    }
    let tau = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    let sign = if tau < 0.0 { -1.0 } else { 1.0 };
    let t = sign / (tau.abs() + sqrt(1.0 + tau * tau));
    let c = 1.0 / sqrt(1.0 + t * t);
    let s = t * c;
    let (app, aqq) = (a[p * n + p] - t * apq, a[q * n + q] + t * apq);
    // The matrix stays symmetric: rows are turned, and columns follow.
    turn(n, a, p, q, c, s);
    (a[p * n + p], a[p * n + q], a[q * n + p], a[q * n + q]) = (app, 0.0, 0.0, aqq);
    for k in (0..n).filter(|&k| k != p && k != q) {
        (a[k * n + p], a[k * n + q]) = (a[p * n + k], a[q * n + k]);
    }
    turn(n, vectors, p, q, c, s);
}

/// Rows `p` and `q` of a matrix, turned.
fn turn(n: usize, a: &mut [f64], p: usize, q: usize, c: f64, s: f64) {
    let (first, second) = a.split_at_mut(q * n);
    for (x, y) in first[p * n..(p + 1) * n].iter_mut().zip(&mut second[..n]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

/// The orthogonal `Q = U Bᵀ` that maximises the trace of `Qᵀ A`, from the singular value decomposition
/// `A = U S Bᵀ` of an `n × n` matrix, by one-sided Jacobi rotations. `b`: `n²` elements; `a` is used up.
///
/// Directions in which `A` is zero are completed to a rotation of some kind.
pub(crate) fn procrustes(n: usize, a: &mut [f64], b: &mut [f64], q: &mut [f64]) {
    // Rows of `a` are the columns of A, which rotations make orthogonal: A B = U S.
    for i in 0..n {
        for j in 0..i {
            a.swap(i * n + j, j * n + i);
        }
    }
    b.fill(0.0);
    (0..n).for_each(|i| b[i * n + i] = 1.0);
    let product = |a: &[f64], i: usize, j: usize| -> f64 {
        a[i * n..(i + 1) * n].iter().zip(&a[j * n..(j + 1) * n]).fold(0.0, |sum, (x, y)| sum + x * y)
    };
    for _ in 0..60 {
        let mut turned = false;
        for i in 0..n {
            for j in i + 1..n {
                let (xx, yy, xy) = (product(a, i, i), product(a, j, j), product(a, i, j));
                if !(xy.abs() > 1e-16 * sqrt(xx * yy)) {
                    continue;
                }
                turned = true;
                let zeta = (yy - xx) / (2.0 * xy);
                let sign = if zeta < 0.0 { -1.0 } else { 1.0 };
                let t = sign / (zeta.abs() + sqrt(1.0 + zeta * zeta));
                let c = 1.0 / sqrt(1.0 + t * t);
                turn(n, a, i, j, c, t * c);
                turn(n, b, i, j, c, t * c);
            }
        }
        if !turned {
            break;
        }
    }
    let largest = (0..n).map(|k| product(a, k, k)).fold(0.0, f64::max);
    for k in 0..n {
        let square = product(a, k, k);
        if square > 1e-28 * largest {
            let inverse = 1.0 / sqrt(square);
            a[k * n..(k + 1) * n].iter_mut().for_each(|x| *x *= inverse);
        } else {
            a[k * n..(k + 1) * n].fill(0.0);
        }
    }
    for k in 0..n {
        if product(a, k, k) == 0.0 {
            complete(n, a, k);
        }
    }
    // Q = U Bᵀ: rows of `a` are columns of U, rows of `b` columns of B.
    for i in 0..n {
        for j in 0..n {
            q[i * n + j] = (0..n).fold(0.0, |sum, k| sum + a[k * n + i] * b[k * n + j]);
        }
    }
}

/// Row `k` becomes a unit vector orthogonal to the other rows, some of which may be zero.
fn complete(n: usize, a: &mut [f64], k: usize) {
    for axis in 0..n {
        let (before, rest) = a.split_at_mut(k * n);
        let (row, after) = rest.split_at_mut(n);
        row.fill(0.0);
        row[axis] = 1.0;
        for _ in 0..2 {
            // twice is enough for orthogonality to the last digits
            for other in before.chunks_exact(n).chain(after.chunks_exact(n)) {
                let along = row.iter().zip(other).fold(0.0, |sum, (x, y)| sum + x * y);
                row.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
            }
        }
        let square = row.iter().fold(0.0, |sum, x| sum + x * x);
        if square > 0.5 / n as f64 {
            let inverse = 1.0 / sqrt(square);
            row.iter_mut().for_each(|x| *x *= inverse);
            return;
        }
    }
}
