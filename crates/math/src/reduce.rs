//! Kernels that reduce slices to a number, in one fixed order of operations.
//!
//! [`Real::LANES`] running values take the elements in turn; a tree then folds the upper half of the lanes onto
//! the lower half until one is left. Vectors of any width can follow that order, and none can change it.
//!
//! Functions that end in `_lanes` are the inlinable parts: for a loop inside a [`Kernel`], where they are compiled for its
//! instruction set.

use crate::error::same_length;
use crate::{Kernel, LengthError, Level, Real, dispatch, exp, ln};

#[inline(always)]
fn reduce<T: Real>(start: T, x: &[T], term: impl Fn(T) -> T, combine: impl Fn(T, T) -> T) -> T {
    let mut folded = T::lanes();
    let lanes = folded.as_mut();
    lanes.fill(start);
    let chunks = x.chunks_exact(T::LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = combine(*lane, term(x));
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = combine(*lane, term(x));
    }
    fold_lanes::<T>(folded, combine)
}

/// Folds the upper half of the lanes onto the lower half until one is left: the tree at the end of every reduction here.
///
/// ```
/// use countgrid_math::{Real, fold_lanes};
/// let mut lanes = f64::lanes(); // eight
/// lanes.as_mut().copy_from_slice(&[1e16, 2.0, 3.0, 4.0, -1e16, 6.0, 7.0, 8.0]);
/// assert_eq!(fold_lanes::<f64>(lanes, |a, b| a + b), 30.0); // ((1e16 - 1e16) + (3 + 7)) + ((2 + 6) + (4 + 8))
/// ```
#[inline(always)]
pub fn fold_lanes<T: Real>(mut lanes: T::Lanes, combine: impl Fn(T, T) -> T) -> T {
    let lanes = lanes.as_mut();
    let mut half = T::LANES / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        for (low, &high) in low.iter_mut().zip(&*high) {
            *low = combine(*low, high);
        }
        half /= 2;
    }
    lanes.first().copied().unwrap_or(T::zero())
}

/// [`sum`], inlined.
///
/// ```
/// assert_eq!(countgrid_math::sum_lanes(&[0.5_f32; 40]), 20.0);
/// ```
#[inline(always)]
pub fn sum_lanes<T: Real>(x: &[T]) -> T {
    reduce(T::zero(), x, |x| x, add)
}

/// [`dot`], inlined; the caller sees to it that `x` and `y` are equally long.
///
/// ```
/// assert_eq!(countgrid_math::dot_lanes(&[1.0_f32, 2.0], &[3.0, 4.0]), 11.0);
/// ```
#[inline(always)]
pub fn dot_lanes<T: Real>(x: &[T], y: &[T]) -> T {
    let mut folded = T::lanes();
    let lanes = folded.as_mut();
    let (x, y) = (x.chunks_exact(T::LANES), y.chunks_exact(T::LANES));
    let rest = x.remainder().iter().zip(y.remainder());
    let mut products = T::lanes(); // two short loops, which are unrolled: a longer one keeps its lanes in memory
    let products = products.as_mut();
    for (x, y) in x.zip(y) {
        for ((product, &x), &y) in products.iter_mut().zip(x).zip(y) {
            *product = x * y;
        }
        for (lane, &product) in lanes.iter_mut().zip(&*products) {
            *lane += product;
        }
    }
    for (lane, (&x, &y)) in lanes.iter_mut().zip(rest) {
        *lane += x * y;
    }
    fold_lanes::<T>(folded, add)
}

/// `((a + b) + (c + d)) + ((e + f) + (g + h))`: eight running sums that are kept in variables, in neighbours' order.
///
/// ```
/// assert_eq!(countgrid_math::sum_of_eight([1e16, -1e16, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), 33.0);
/// ```
#[inline(always)]
pub fn sum_of_eight<T: Real>([a, b, c, d, e, f, g, h]: [T; 8]) -> T {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

#[inline(always)]
fn add<T: Real>(a: T, b: T) -> T {
    a + b
}

/// The larger one; a NaN wins.
#[inline(always)]
fn larger<T: Real>(a: T, b: T) -> T {
    if b > a || b.is_nan() { b } else { a }
}

#[inline(always)]
fn largest<T: Real>(x: &[T]) -> T {
    reduce(T::neg_infinity(), x, |x| x, larger)
}

/// `e^(x - largest)`, 1 for the largest even if it is ∞.
#[inline(always)]
fn relative_exp<T: Real>(x: T, largest: T) -> T {
    let below = if x == largest { T::zero() } else { x - largest };
    exp(below)
}

macro_rules! kernels {
    ($($widest:ident $kernel:ident($slice:ty $(, $also:ty)?) = |$x:pat_param $(, $y:pat_param)?| $body:expr;)*) => {
        $(struct $kernel<'a, T>($slice $(, $also)?);

        impl<T: Real> Kernel for $kernel<'_, T> {
            type Output = T;
            const WIDEST: Level = Level::$widest;
            #[inline(always)]
            fn run(self) -> T {
                let $kernel($x $(, $y)?) = self;
                $body
            }
        })*
    };
}
kernels! {
    Avx2 Sum(&'a [T]) = |x| sum_lanes(x);
    Avx512 Max(&'a [T]) = |x| largest(x);
    Avx2 Dot(&'a [T], &'a [T]) = |x, y| dot_lanes(x, y);
    Avx512 SumXLogX(&'a [T]) = |x| reduce(T::zero(), x, |x| if x == T::zero() { x } else { x * ln(x) }, add);
    Avx512 LogSumExp(&'a [T]) = |x| log_sum_exp_body(x);
    Avx512 SoftmaxWithThreshold(&'a mut [T], T) = |x, threshold| softmax_body(x, threshold);
}

#[inline(always)]
fn log_sum_exp_body<T: Real>(x: &[T]) -> T {
    let largest = largest(x);
    if largest == T::neg_infinity() {
        return largest;
    }
    largest + ln(reduce(T::zero(), x, |x| relative_exp(x, largest), add))
}

#[inline(always)]
fn softmax_body<T: Real>(x: &mut [T], threshold: T) -> T {
    let largest = largest(x);
    if largest == T::neg_infinity() {
        x.fill(T::zero());
        return largest;
    }
    let lowest = if threshold > T::zero() || threshold.is_nan() { -threshold } else { T::zero() };
    for x in x.iter_mut() {
        let is_cut = *x - largest < lowest; // false for NaN and for ∞ - ∞
        *x = if is_cut { T::zero() } else { relative_exp(*x, largest) };
    }
    let total = sum_lanes(x);
    let inverse = T::one() / total;
    for x in x {
        *x *= inverse;
    }
    largest + ln(total)
}

/// `Σ x`. 0 for an empty slice.
///
/// # Accuracy
/// `|error| ≤ (⌈n/L⌉ + log2 L) u Σ|x| + O(u²)` with `L` = [`Real::LANES`]: each element meets that many additions.
///
/// ```
/// assert_eq!(countgrid_math::sum(&[1.0_f32, 2.0, 3.5]), 6.5);
/// ```
#[must_use]
pub fn sum<T: Real>(x: &[T]) -> T {
    dispatch(Sum(x))
}

/// The largest element: -∞ if there is none, NaN if one is NaN.
///
/// ```
/// assert_eq!(countgrid_math::max(&[1.0_f32, -2.0]), 1.0);
/// ```
#[must_use]
pub fn max<T: Real>(x: &[T]) -> T {
    dispatch(Max(x))
}

/// `Σ x y`. 0 for empty slices.
///
/// # Errors
/// [`LengthError`] if `x` and `y` have different lengths.
///
/// # Accuracy
/// `|error| ≤ (⌈n/L⌉ + log2 L + 1) u Σ|x y| + O(u²)` with `L` = [`Real::LANES`], barring underflow.
///
/// ```
/// assert_eq!(countgrid_math::dot(&[1.0_f32, 2.0], &[3.0, 4.0]), Ok(11.0));
/// assert!(countgrid_math::dot(&[1.0_f32], &[]).is_err());
/// ```
pub fn dot<T: Real>(x: &[T], y: &[T]) -> Result<T, LengthError> {
    same_length(x.len(), y.len())?;
    Ok(dispatch(Dot(x, y)))
}

/// `Σ x ln x` with `0 ln 0 = 0`, in nats: the negative entropy of a distribution. NaN if an element is negative.
///
/// # Accuracy
/// `|error| ≤ (⌈n/L⌉ + log2 L + 3) u Σ|x ln x| + O(u²)` with `L` = [`Real::LANES`], barring underflow.
///
/// ```
/// assert_eq!(countgrid_math::sum_xlogx(&[0.5_f64, 0.0, 0.5]), -core::f64::consts::LN_2);
/// ```
#[must_use]
pub fn sum_xlogx<T: Real>(x: &[T]) -> T {
    dispatch(SumXLogX(x))
}

/// `Σ ln max(x, floor)` with [`Real::FLOOR`], in nats; a NaN stays one.
///
/// There is a logarithm for every 32 elements of a lane, of the product of what is left of them without powers of two;
/// the powers are counted. Their sum is in `f64`, since tables are long.
///
/// # Accuracy
/// `|error| ≤ 4 n u + (⌈n / 32 L⌉ + 2) 2⁻⁵³ Σ|ln x|` with `u` of `T` and `L` = [`Real::LANES`]: a rounding for each factor, those of
/// the logarithms, of at most 13 each, and of their sum over the lanes; then those in `f64`.
///
/// ```
/// assert_eq!(countgrid_math::sum_ln_floored(&[1.0_f64, 0.5, 0.5]), -2.0 * core::f64::consts::LN_2);
/// ```
#[must_use]
pub fn sum_ln_floored<T: Real>(x: &[T]) -> f64 {
    dispatch(SumLnFloored(x))
}

/// Elements of a lane whose significands, of 2/3 to 4/3, are multiplied: the product of so many is 2e-6 to 1e4.
const PRODUCT_ROWS: usize = 32;

struct SumLnFloored<'a, T>(&'a [T]);

impl<T: Real> Kernel for SumLnFloored<'_, T> {
    type Output = f64;
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut total = 0.0;
        for rows in self.0.chunks(PRODUCT_ROWS * T::LANES) {
            let [mut products, mut powers] = [T::lanes(); 2];
            let (products, powers) = (products.as_mut(), powers.as_mut());
            products.fill(T::one());
            for row in rows.chunks(T::LANES) {
                for ((product, power), &x) in products.iter_mut().zip(&mut *powers).zip(row) {
                    let x = if x < T::FLOOR { T::FLOOR } else { x };
                    let (k, m) = x.split_normal();
                    *product *= if x <= T::max_value() { m } else { x }; // infinity, or no number
                    *power += k;
                }
            }
            products.iter_mut().for_each(|product| *product = ln(*product));
            let powers = sum_lanes(powers).to_f64(); // exact
            total += powers * core::f64::consts::LN_2 + sum_lanes(products).to_f64();
        }
        total
    }
}

/// `ln Σ e^x`, without overflow.
///
/// -∞ for an empty slice or if all elements are -∞, ∞ if one is ∞ and none NaN, NaN if one is NaN.
///
/// # Accuracy
/// `|error| ≤ (⌈n/L⌉ + log2 L + 2 + 3 ln n) u + u |ln Σ e^x| + O(u²)` with `L` = [`Real::LANES`]: the roundings
/// of the sum, of a term, of the differences to the maximum (their mean under the softmax is at most `ln n`)
/// and of the logarithm.
///
/// ```
/// let x = [-1000.0_f64, -1000.0];
/// assert!((countgrid_math::log_sum_exp(&x) - (-1000.0 + 2_f64.ln())).abs() < 1e-12);
/// ```
#[must_use]
pub fn log_sum_exp<T: Real>(x: &[T]) -> T {
    dispatch(LogSumExp(x))
}

/// `x ← e^x / Σ e^x`; returns `ln Σ e^x`, the same bits as [`log_sum_exp`].
///
/// -∞ becomes exactly 0. If all elements are -∞, there is no mass to share: all become 0 and the result is -∞.
/// Elements that are ∞ share the mass equally. If one is NaN, all become NaN, and so does the result.
///
/// # Accuracy
/// Relative error of an element `d` below the largest: at most `(⌈n/L⌉ + log2 L + 6 + d + ln n) u + O(u²)` with
/// `L` = [`Real::LANES`], barring underflow.
///
/// ```
/// let mut x = [0.0_f64, 0.0, f64::NEG_INFINITY];
/// assert_eq!(countgrid_math::softmax(&mut x), core::f64::consts::LN_2);
/// assert_eq!(x, [0.5, 0.5, 0.0]);
/// ```
pub fn softmax<T: Real>(x: &mut [T]) -> T {
    dispatch(SoftmaxWithThreshold(x, T::infinity()))
}

/// [`softmax`] in which elements more than `threshold` nats below the largest become exactly 0 and do not count.
///
/// Of `n` elements at most `n e^-threshold` of the mass is dropped. A negative cut counts as 0, which keeps the
/// largest alone; a NaN cuts nothing.
///
/// ```
/// let mut x = [0.0_f32, -30.0, 0.0];
/// countgrid_math::softmax_with_threshold(&mut x, 25.0);
/// assert_eq!(x, [0.5, 0.0, 0.5]);
/// ```
pub fn softmax_with_threshold<T: Real>(x: &mut [T], threshold: T) -> T {
    dispatch(SoftmaxWithThreshold(x, threshold))
}
