//! Kernels that write slices.

use crate::error::same_length;
use crate::{Kernel, LengthError, Level, Real, dispatch, elementary::Elementary, exp, ln};

macro_rules! in_place {
    ($($(#[$doc:meta])* $name:ident, $kernel:ident, $function:path;)*) => {
        $(struct $kernel<'a, T>(&'a mut [T]);

        impl<T: Real> Kernel for $kernel<'_, T> {
            type Output = ();
            const WIDEST: Level = Level::Avx512;
            #[inline(always)]
            fn run(self) {
                for x in self.0 {
                    *x = $function(*x);
                }
            }
        }

        $(#[$doc])*
        pub fn $name<T: Real>(x: &mut [T]) {
            dispatch($kernel(x));
        })*
    };
}
in_place! {
    /// [`exp`] of every element, in place.
    ///
    /// ```
    /// let mut x = [0.0_f32, f32::NEG_INFINITY];
    /// countgrid_math::exp_slice(&mut x);
    /// assert_eq!(x, [1.0, 0.0]);
    /// ```
    exp_slice, ExpSlice, exp;
    /// [`ln`] of every element, in place.
    ///
    /// ```
    /// let mut x = [1.0_f32, 0.0];
    /// countgrid_math::ln_slice(&mut x);
    /// assert_eq!(x, [0.0, f32::NEG_INFINITY]);
    /// ```
    ln_slice, LnSlice, ln;
    /// `ψ(x)` of every element, in place, for positive elements: many times faster than [`digamma`](crate::digamma),
    /// with other bits and a looser bound. -∞ at 0, ∞ at ∞, NaN for negative numbers.
    ///
    /// # Accuracy
    /// `|error| ≤ 16 u max(1, |ψ(x)|)` (`f32`, `f64`): absolute where `ψ` is small, next to its zero at 1.4616 too.
    ///
    /// ```
    /// let mut x = [1.0_f64, 2.0];
    /// countgrid_math::digamma_slice(&mut x);
    /// assert!((x[1] - x[0] - 1.0).abs() < 1e-15); // ψ(x + 1) = ψ(x) + 1 / x
    /// ```
    digamma_slice, DigammaSlice, Elementary::positive_digamma;
}

struct Axpy<'a, T>(T, &'a [T], &'a mut [T]);

impl<T: Real> Kernel for Axpy<'_, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;
    #[inline(always)]
    fn run(self) {
        let Self(a, x, y) = self;
        for (y, &x) in y.iter_mut().zip(x) {
            *y += a * x;
        }
    }
}

/// `y += a x`, two roundings an element.
///
/// # Errors
/// [`LengthError`] if `x` and `y` have different lengths; `y` is then untouched.
///
/// ```
/// let mut y = [1.0_f32, 1.0];
/// countgrid_math::axpy(2.0, &[3.0, 4.0], &mut y)?;
/// assert_eq!(y, [7.0, 9.0]);
/// # Ok::<(), countgrid_math::LengthError>(())
/// ```
pub fn axpy<T: Real>(a: T, x: &[T], y: &mut [T]) -> Result<(), LengthError> {
    same_length(x.len(), y.len())?;
    dispatch(Axpy(a, x, y));
    Ok(())
}

struct Scale<'a, T>(T, &'a mut [T]);

impl<T: Real> Kernel for Scale<'_, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;
    #[inline(always)]
    fn run(self) {
        for x in self.1 {
            *x *= self.0;
        }
    }
}

/// `x *= a`, one rounding an element.
///
/// ```
/// let mut x = [1.0_f32, 2.0];
/// countgrid_math::scale(0.5, &mut x);
/// assert_eq!(x, [0.5, 1.0]);
/// ```
pub fn scale<T: Real>(a: T, x: &mut [T]) {
    dispatch(Scale(a, x));
}
