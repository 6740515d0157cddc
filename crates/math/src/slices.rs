//! Kernels that write slices.

use crate::error::same_length;
use crate::{Kernel, LengthError, Real, dispatch, exp, ln};

macro_rules! in_place {
    ($($(#[$doc:meta])* $name:ident, $kernel:ident, $function:ident;)*) => {
        $(struct $kernel<'a, T>(&'a mut [T]);

        impl<T: Real> Kernel for $kernel<'_, T> {
            type Output = ();
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
}

struct Axpy<'a, T>(T, &'a [T], &'a mut [T]);

impl<T: Real> Kernel for Axpy<'_, T> {
    type Output = ();
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
