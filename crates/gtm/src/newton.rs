//! Damped Newton steps for one column: a Poisson or logistic regression with a ridge, on a table shared by all.

use countgrid_math::{Kernel, Real, dispatch, dot, exp, sigmoid, softplus, sum, sum_of_eight};
use nalgebra::{DMatrixView, DMatrixViewMut, DVectorViewMut};

/// Regressors, `[coefficient][row]`.
#[derive(Clone, Copy)]
pub(crate) struct Design<'a> {
    pub(crate) table: &'a [f64],
    pub(crate) rows: usize, // at least 1
}

/// What a column is fitted to, as a function of its predictor `f`, a number for each row.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    /// `Σ a f - b exp(f + c)`.
    Counts { a: &'a [f64], b: &'a [f64], c: &'a [f64] },
    /// `Σ s f - n softplus(f)`.
    Trials { s: &'a [f64], n: &'a [f64] },
}

/// Gaussian prior of the coefficients.
#[derive(Clone, Copy)]
pub(crate) struct Ridge<'a, T> {
    pub(crate) precision: &'a [T],
    pub(crate) mean: &'a [T], // as long, or empty for 0
}

impl<T: Real> Ridge<'_, T> {
    fn each(self, w: &[f64]) -> impl Iterator<Item = (f64, f64)> {
        let mean = self.mean.iter().map(|&x| x.to_f64()).chain(core::iter::repeat(0.0));
        self.precision.iter().map(|&b| b.to_f64()).zip(w.iter().zip(mean).map(|(w, mean)| w - mean))
    }
    fn value(self, w: &[f64]) -> f64 {
        self.each(w).fold(0.0, |sum, (b, distance)| sum + 0.5 * b * distance * distance)
    }
}

/// Scratch: rows as long as the design's, and the system.
pub(crate) struct Scratch<'a> {
    pub(crate) predictor: &'a mut [f64],
    pub(crate) direction: &'a mut [f64],
    pub(crate) trial: &'a mut [f64],
    pub(crate) score: &'a mut [f64],
    pub(crate) curvature: &'a mut [f64],
    pub(crate) terms: &'a mut [f64],
    pub(crate) hessian: &'a mut [f64], // [coefficient][coefficient]
    pub(crate) step: &'a mut [f64],    // [coefficient]
}

/// At most so many halvings.
const TRIALS: usize = 40;
/// The gain that a step promises and below which it is not worth taking.
const LEAST_GAIN: f64 = 1e-12;

/// Raises `target - ridge` in the coefficients `w` by at most `steps` Newton steps, halved until they raise it.
///
/// A coefficient that the others and the ridge leave undetermined stays as it is. The objective does
/// not fall, and what is not finite is not accepted.
/// # Source
/// Nocedal & Wright, Numerical Optimization, Sec. 3.1: backtracking by Armijo's rule with 1e-4.
pub(crate) fn maximize<T: Real>(
    design: Design<'_>,
    target: Target<'_>,
    ridge: Ridge<'_, T>,
    steps: usize,
    w: &mut [f64],
    scratch: &mut Scratch<'_>,
) {
    let m = w.len();
    predict(design, w, scratch.predictor);
    let mut value =
        evaluate(target, scratch.predictor, scratch.score, scratch.curvature, scratch.terms) - ridge.value(w);
    for _ in 0..steps {
        for ((g, phi), (b, distance)) in
            scratch.step.iter_mut().zip(design.table.chunks_exact(design.rows)).zip(ridge.each(w))
        {
            *g = dot(phi, scratch.score).unwrap_or_default() - b * distance;
        }
        dispatch(Gram { design, weights: scratch.curvature, scaled: scratch.terms, gram: scratch.hessian });
        for (diagonal, &b) in scratch.hessian.iter_mut().step_by(m + 1).zip(ridge.precision) {
            *diagonal += b.to_f64();
        }
        let Some(gain) = solve(scratch.hessian, scratch.step) else { return };
        if !(gain > LEAST_GAIN) {
            return;
        }
        predict(design, scratch.step, scratch.direction);
        let (mut size, mut accepted) = (1.0, false);
        for _ in 0..TRIALS {
            for ((trial, &f), &d) in
                scratch.trial.iter_mut().zip(&*scratch.predictor).zip(&*scratch.direction)
            {
                *trial = f + size * d;
            }
            let penalty = penalty_at(ridge, w, scratch.step, size);
            let raised =
                evaluate(target, scratch.trial, scratch.score, scratch.curvature, scratch.terms) - penalty;
            if raised.is_finite() && raised >= value + 1e-4 * size * gain {
                w.iter_mut().zip(&*scratch.step).for_each(|(w, &d)| *w += size * d);
                scratch.predictor.copy_from_slice(scratch.trial);
                (value, accepted) = (raised, true);
                break;
            }
            size *= 0.5;
        }
        if !accepted {
            return;
        }
    }
}

fn penalty_at<T: Real>(ridge: Ridge<'_, T>, w: &[f64], step: &[f64], size: f64) -> f64 {
    ridge.each(w).zip(step).fold(0.0, |sum, ((b, distance), &d)| {
        let distance = distance + size * d;
        sum + 0.5 * b * distance * distance
    })
}

/// `row = Σ_m w_m φ_m`.
pub(crate) fn predict(design: Design<'_>, w: &[f64], row: &mut [f64]) {
    crate::emissions::combine(w, design.table, row);
}

/// The target at `f`, its derivative in each row's predictor, and minus the second.
fn evaluate(
    target: Target<'_>,
    f: &[f64],
    score: &mut [f64],
    curvature: &mut [f64],
    terms: &mut [f64],
) -> f64 {
    dispatch(Evaluate { target, f, score, curvature, terms });
    sum(terms)
}

struct Evaluate<'a> {
    target: Target<'a>,
    f: &'a [f64],
    score: &'a mut [f64],
    curvature: &'a mut [f64],
    terms: &'a mut [f64],
}

impl Kernel for Evaluate<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { target, f, score, curvature, terms } = self;
        let rows = terms.iter_mut().zip(score).zip(curvature).zip(f);
        match target {
            Target::Counts { a, b, c } => {
                for ((((term, score), curvature), &f), ((&a, &b), &c)) in rows.zip(a.iter().zip(b).zip(c)) {
                    // A point that no document is at has no rate, however large its predictor.
                    let rate = if b > 0.0 { b * exp(f + c) } else { 0.0 };
                    (*term, *score, *curvature) = (a * f - rate, a - rate, rate);
                }
            }
            Target::Trials { s, n } => {
                for ((((term, score), curvature), &f), (&s, &n)) in rows.zip(s.iter().zip(n)) {
                    let p = sigmoid(f);
                    *term = s * f - n * softplus(f);
                    *score = s - n * p;
                    *curvature = n * p * sigmoid(-f);
                }
            }
        }
    }
}

/// `gram = Φᵀ diag(weights) Φ`, the lower triangle `[row][column]`. `scaled` is scratch, as long as the weights.
pub(crate) struct Gram<'a> {
    pub(crate) design: Design<'a>,
    pub(crate) weights: &'a [f64],
    pub(crate) scaled: &'a mut [f64],
    pub(crate) gram: &'a mut [f64],
}

/// Inner products taken together: with 8 lanes each they fill the registers.
const TOGETHER: usize = 4;

impl Kernel for Gram<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { design, weights, scaled, gram } = self;
        let (rows, m) = (design.rows, design.table.len() / design.rows);
        for (a, entries) in gram.chunks_exact_mut(m.max(1)).enumerate() {
            let phi = design.table.get(a * rows..(a + 1) * rows).unwrap_or_default();
            scaled.iter_mut().zip(phi).zip(weights).for_each(|((x, &phi), &weight)| *x = weight * phi);
            for (block, entries) in entries.get_mut(..=a).unwrap_or_default().chunks_mut(TOGETHER).enumerate()
            {
                let of = |b: usize| {
                    let b = (block * TOGETHER + b).min(m - 1);
                    design.table.get(b * rows..(b + 1) * rows).unwrap_or_default()
                };
                let products = inner_products(scaled, [of(0), of(1), of(2), of(3)]);
                entries.iter_mut().zip(products).for_each(|(entry, product)| *entry = product);
            }
        }
    }
}

/// Inner products of `x` with several rows, lane by lane and then the lanes in a tree.
#[inline(always)]
fn inner_products(x: &[f64], rows: [&[f64]; TOGETHER]) -> [f64; TOGETHER] {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let [a, b, c, d] = rows.map(|row| row.as_chunks::<LANES>());
    // Variables of their own and loops of one length are kept in registers, tables of them in memory.
    let [mut of_a, mut of_b, mut of_c, mut of_d] = [[0.0; LANES]; TOGETHER];
    for ((((x, a), b), c), d) in chunks.iter().zip(a.0).zip(b.0).zip(c.0).zip(d.0) {
        add_products(&mut of_a, x, a);
        add_products(&mut of_b, x, b);
        add_products(&mut of_c, x, c);
        add_products(&mut of_d, x, d);
    }
    let rests = [(of_a, a.1), (of_b, b.1), (of_c, c.1), (of_d, d.1)];
    rests.map(|(mut sums, row)| {
        sums.iter_mut().zip(rest.iter().zip(row)).for_each(|(sum, (&x, &y))| *sum += x * y);
        sum_of_eight(sums)
    })
}

const LANES: usize = 8;

#[inline(always)]
fn add_products(sums: &mut [f64; LANES], x: &[f64; LANES], y: &[f64; LANES]) {
    let mut products = [0.0; LANES];
    for lane in 0..LANES {
        products[lane] = x[lane] * y[lane];
    }
    for lane in 0..LANES {
        sums[lane] += products[lane];
    }
}

/// Solves `H d = g` for a positive definite `H`, whose lower triangle `h` `[row][column]` becomes the Cholesky factor;
/// `g` becomes `d`. Returns `gᵀ d`; `None` if something is not finite.
///
/// A pivot that rounding alone explains, at most `4 m u` of its diagonal element, belongs to a column that depends on
/// those before it. Its coefficient of `d` is then 0, and the others solve the system without it.
pub(crate) fn solve(h: &mut [f64], g: &mut [f64]) -> Option<f64> {
    factorize(h, g.len())?;
    back_substitute(h, g)
}

/// Solves `L Lᵀ d = g` with the factor of [`factorize`]; `g` becomes `d`. Returns `gᵀ d`, the squared length of `L⁻¹ g`.
pub(crate) fn back_substitute(factor: &[f64], g: &mut [f64]) -> Option<f64> {
    // Row-major lower is column-major upper: U = Lᵀ.
    let upper = DMatrixView::from_slice(factor, g.len(), g.len());
    let rows = g.len();
    let mut d = DVectorViewMut::from_slice(g, rows);
    if !upper.tr_solve_upper_triangular_mut(&mut d) {
        return None;
    }
    let gain = d.iter().fold(0.0, |sum, y| sum + y * y);
    if !upper.solve_upper_triangular_mut(&mut d) {
        return None;
    }
    (gain.is_finite() && d.iter().all(|d| d.is_finite())).then_some(gain)
}

/// `H = L Lᵀ`, in place. A dropped column has an infinite diagonal and zeros elsewhere.
pub(crate) fn factorize(h: &mut [f64], m: usize) -> Option<()> {
    const SPURIOUS: f64 = 4.0 * f64::EPSILON;
    let mut u = DMatrixViewMut::from_slice(h, m, m); // of which the upper triangle is read and written
    for j in 0..m {
        let diagonal = u[(j, j)];
        let pivot = (0..j).fold(diagonal, |pivot, i| pivot - u[(i, j)] * u[(i, j)]);
        if !(diagonal.is_finite() && pivot.is_finite()) {
            return None;
        }
        if !(pivot > SPURIOUS * m as f64 * diagonal) {
            u.row_mut(j).fill(0.0);
            u[(j, j)] = f64::INFINITY;
            continue;
        }
        let root = countgrid_math::sqrt(pivot);
        u[(j, j)] = root;
        for k in j + 1..m {
            let (before, after) = u.columns_range_pair_mut(j, k);
            let mut entry = after[j];
            for i in 0..j {
                entry -= before[i] * after[i];
            }
            u[(j, k)] = entry / root;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_solved_and_what_is_not_finite_is_refused() {
        // 4 x + 2 y = 2, 2 x + 5 y = 9: x = -1/2, y = 2.
        let (mut h, mut g) = ([4.0, f64::NAN, 2.0, 5.0], [2.0, 9.0]);
        let gain = solve(&mut h, &mut g).unwrap();
        assert!((g[0] + 0.5).abs() < 1e-15 && (g[1] - 2.0).abs() < 1e-15 && (gain - 17.0).abs() < 1e-14);
        // `g² / h` and `g / h`: only the second, only the first, neither.
        assert_eq!(solve(&mut [1e-320], &mut [1e-10]), None);
        assert_eq!(solve(&mut [1e-20], &mut [1e150]), None);
        assert_eq!(solve(&mut [1.0], &mut [f64::NAN]), None);
        for h in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(factorize(&mut [h], 1), None);
        }
        assert_eq!(factorize(&mut [1.0, 0.0, 1e200, 1.0], 2), None); // 1 less the square of 1e200
    }

    #[test]
    fn columns_that_depend_on_others_within_rounding_are_dropped_in_any_unit() {
        for unit in [-80, -40, 0, 40, 80].map(|exponent| 2.0_f64.powi(exponent)) {
            // The second column is the first within 5 ulps, less than 4 · 2 of them; then within 100.
            for ulps in [5.0, 100.0] {
                let last = unit * (1.0 + ulps * f64::EPSILON);
                let (mut h, mut g) = ([unit, 0.0, unit, last], [3.0 * unit, 3.0 * unit]);
                factorize(&mut h, 2).unwrap();
                assert_eq!(h[3].is_infinite(), ulps < 8.0, "{unit} {ulps}");
                back_substitute(&h, &mut g).unwrap();
                assert_eq!(g, [3.0, 0.0]);
            }
            // What nothing depends on is dropped, too.
            let (mut h, mut g) = ([0.0, 0.0, 0.0, unit], [5.0, unit]);
            assert_eq!(solve(&mut h, &mut g), Some(unit));
            assert_eq!(g, [0.0, 1.0]);
        }
    }
}
