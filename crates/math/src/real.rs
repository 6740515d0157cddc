use core::fmt::{Debug, Display};
use core::ops::{AddAssign, DivAssign, MulAssign, SubAssign};

use num_traits::float::FloatCore;

use crate::elementary::Elementary;

/// The scalar of every model: `f32` or `f64`. Elementary functions are ours, the same bits everywhere.
///
/// Example: [`fold_lanes`](crate::fold_lanes).
pub trait Real:
    Elementary
    + FloatCore
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Debug
    + Display
    + Default
    + Send
    + Sync
    + 'static
{
    /// Unit roundoff `u`: 2⁻²⁴ or 2⁻⁵³. Error bounds in these docs are written in it.
    const UNIT_ROUNDOFF: Self;
    /// The smallest probability whose logarithm a model takes: 1e-37 or 1e-300.
    const FLOOR: Self;
    /// Elements in 64 bytes, a cache line and a row of packed tables: 16 or 8.
    const LANES: usize;
    /// One row of a packed table.
    type Lanes: AsRef<[Self]> + AsMut<[Self]> + Copy;

    /// A row of zeros.
    fn lanes() -> Self::Lanes;
    /// The rows of a packed table; without the rest, if the last one is not whole.
    fn rows(table: &[Self]) -> &[Self::Lanes];
    /// The nearest value of this type.
    fn from_f64(x: f64) -> Self;
    /// The value, exactly.
    fn to_f64(self) -> f64;
    /// The slice, of the type that it is.
    fn floats(x: &[Self]) -> Floats<'_>;
    /// The slice to be written, of the type that it is.
    fn floats_mut(x: &mut [Self]) -> FloatsMut<'_>;
}

/// A slice of one of the two scalars.
///
/// A generic kernel is compiled anew by every crate that calls it. One that takes long to compile takes its slices
/// apart with [`Real::floats`] instead and calls a function of `f32` or of `f64`, which its own crate compiles once.
///
/// ```
/// use countgrid_math::{Floats, Real};
///
/// fn bits<T: Real>(x: &[T]) -> u32 {
///     match T::floats(x) {
///         Floats::Single(_) => 32,
///         Floats::Double(_) => 64,
///     }
/// }
/// assert_eq!(bits(&[1.0_f32]), 32);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the types")]
pub enum Floats<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
}

/// [`Floats`] that can be written.
#[derive(Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are those of the types")]
pub enum FloatsMut<'a> {
    Single(&'a mut [f32]),
    Double(&'a mut [f64]),
}

macro_rules! real {
    ($t:ident, $variant:ident, $u:expr, $floor:expr, $lanes:expr) => {
        impl Real for $t {
            const UNIT_ROUNDOFF: Self = $u;
            const FLOOR: Self = $floor;
            const LANES: usize = $lanes;
            type Lanes = [$t; $lanes];

            #[inline(always)]
            fn lanes() -> Self::Lanes {
                [0.0; $lanes]
            }
            #[inline(always)]
            fn rows(table: &[Self]) -> &[Self::Lanes] {
                table.as_chunks().0
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn floats(x: &[Self]) -> Floats<'_> {
                Floats::$variant(x)
            }
            #[inline(always)]
            fn floats_mut(x: &mut [Self]) -> FloatsMut<'_> {
                FloatsMut::$variant(x)
            }
        }
    };
}
real!(f32, Single, f32::EPSILON / 2.0, 1e-37, 16);
real!(f64, Double, f64::EPSILON / 2.0, 1e-300, 8);
