//! Kernels that reduce slices to a number, in one fixed order of operations.

use crate::error::same_length;
use crate::{Kernel, LengthError, Real, dispatch, exp, ln};

/// `combine` over `term(x)`: [`Real::LANES`] running values, then a tree that folds the upper half of the
/// lanes onto the lower half until one is left.
#[inline(always)]
fn reduce<T: Real>(start: T, x: &[T], term: impl Fn(T) -> T, combine: impl Fn(T, T) -> T) -> T {
    let mut lanes = T::lanes();
    let lanes = lanes.as_mut();
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
    fold(lanes, combine)
}

#[inline(always)]
fn fold<T: Real>(lanes: &mut [T], combine: impl Fn(T, T) -> T) -> T {
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

#[inline(always)]
fn add<T: Real>(a: T, b: T) -> T {
    a + b
}

/// The larger one; a NaN wins.
#[inline(always)]
fn larger<T: Real>(a: T, b: T) -> T {
    if b > a || b.is_nan() { b } else { a }
}

struct Sum<'a, T>(&'a [T]);

impl<T: Real> Kernel for Sum<'_, T> {
    type Output = T;
    #[inline(always)]
    fn run(self) -> T {
        reduce(T::zero(), self.0, |x| x, add)
    }
}

/// `Σ x`.
pub fn sum<T: Real>(x: &[T]) -> T {
    dispatch(Sum(x))
}

struct Max<'a, T>(&'a [T]);

impl<T: Real> Kernel for Max<'_, T> {
    type Output = T;
    #[inline(always)]
    fn run(self) -> T {
        reduce(T::neg_infinity(), self.0, |x| x, larger)
    }
}

/// The largest element: -∞ if there is none, NaN if one is NaN.
pub fn max<T: Real>(x: &[T]) -> T {
    dispatch(Max(x))
}

struct SumXLogX<'a, T>(&'a [T]);

impl<T: Real> Kernel for SumXLogX<'_, T> {
    type Output = T;
    #[inline(always)]
    fn run(self) -> T {
        reduce(T::zero(), self.0, |x| if x == T::zero() { x } else { x * ln(x) }, add)
    }
}

/// `Σ x ln x` with `0 ln 0 = 0`.
pub fn sum_xlogx<T: Real>(x: &[T]) -> T {
    dispatch(SumXLogX(x))
}

/// `Σ x y`.
///
/// # Errors
/// [`LengthError`] if `x` and `y` have different lengths.
pub fn dot<T: Real>(x: &[T], y: &[T]) -> Result<T, LengthError> {
    same_length(x.len(), y.len())?;
    let mut sum = T::zero();
    for (&x, &y) in x.iter().zip(y) {
        sum += x * y;
    }
    Ok(sum)
}

/// `ln Σ e^x`.
pub fn log_sum_exp<T: Real>(x: &[T]) -> T {
    let max = max(x);
    if !max.is_finite() {
        return max;
    }
    max + ln(reduce(T::zero(), x, |x| exp(x - max), add))
}

/// `x = e^x / Σ e^x`; returns `ln Σ e^x`.
pub fn softmax<T: Real>(x: &mut [T]) -> T {
    softmax_cut(x, T::infinity())
}

/// [`softmax`] in which elements more than `cut` below the largest become exactly 0.
pub fn softmax_cut<T: Real>(x: &mut [T], cut: T) -> T {
    let max = max(x);
    let floor = -cut;
    let mut total = T::zero();
    for x in x.iter_mut() {
        let below = *x - max;
        *x = if below < floor { T::zero() } else { exp(below) };
        total += *x;
    }
    for x in x.iter_mut() {
        *x /= total;
    }
    max + ln(total)
}
