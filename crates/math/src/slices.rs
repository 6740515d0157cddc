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
    exp_slice, ExpSlice, exp;
    /// [`ln`] of every element, in place.
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
pub fn scale<T: Real>(a: T, x: &mut [T]) {
    dispatch(Scale(a, x));
}
