//! Window sums of floats: compiled here, once for each type and instruction set.

use countgrid_math::{Floats, FloatsMut, Kernel, Real, dispatch};

use crate::LengthError;
use crate::window::{self, Axis, Direction, Runner};

/// [`window_sums`](crate::window_sums) or [`adjoint_window_sums`](crate::adjoint_window_sums) of floats, with the
/// shape as data: all of [`axes`](crate::axes), in their order.
///
/// The loops are compiled in this crate, for every instruction set that [`dispatch`] knows: a crate that calls this
/// does not compile them again, which takes long.
///
/// ```
/// use countgrid_prefix::{Direction, axes, scratch_len, sums_along};
/// use countgrid_torus::{Torus, Windows};
///
/// let windows = Windows::new(Torus::new([4])?, [2])?;
/// let (table, mut sums) = ([1.0, 2.0, 3.0, 4.0], [0.0; 4]);
/// let mut scratch = vec![0.0; scratch_len(&windows)];
/// sums_along(&axes(&windows), Direction::Forward, &table, &mut sums, &mut scratch)?;
/// assert_eq!(sums, [3.0, 5.0, 7.0, 5.0]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
/// [`LengthError`], before anything is written.
#[inline]
pub fn sums_along<T: Real>(
    axes: &[Axis],
    direction: Direction,
    table: &[T],
    sums: &mut [T],
    scratch: &mut [T],
) -> Result<(), LengthError> {
    match (T::floats(table), T::floats_mut(sums), T::floats_mut(scratch)) {
        (Floats::Single(table), FloatsMut::Single(sums), FloatsMut::Single(scratch)) => {
            single(axes, direction, table, sums, scratch)
        }
        (Floats::Double(table), FloatsMut::Double(sums), FloatsMut::Double(scratch)) => {
            double(axes, direction, table, sums, scratch)
        }
        _ => Err(LengthError::Axes), // cannot be: the three are of one type
    }
}

// Not generic: compiled here.
fn single(
    axes: &[Axis],
    direction: Direction,
    table: &[f32],
    sums: &mut [f32],
    scratch: &mut [f32],
) -> Result<(), LengthError> {
    window::along::<Dispatch, f32>(axes, direction, table, sums, scratch)
}

fn double(
    axes: &[Axis],
    direction: Direction,
    table: &[f64],
    sums: &mut [f64],
    scratch: &mut [f64],
) -> Result<(), LengthError> {
    window::along::<Dispatch, f64>(axes, direction, table, sums, scratch)
}

/// Compiles the loops of every side by themselves, for every instruction set: in one function for all of them they would
/// take four times as long to compile.
struct Dispatch;

impl Runner for Dispatch {
    #[inline(never)]
    fn run(kernel: impl Kernel<Output = ()>) {
        dispatch(kernel);
    }
}
