//! Kinds `window_sums` and `torus_distance`.

use countgrid::{
    math::Real,
    prefix::{adjoint_window_sums, scratch_len, window_sums},
    torus::{Torus, Windows},
};

use crate::case::{Case, Failure, Tolerance};

/// Calls a function generic over the number of axes.
macro_rules! by_axes {
    ($case:expr, $function:ident, $t:ident) => {
        match $case.axes()? {
            1 => $function::<$t, 1>($case),
            2 => $function::<$t, 2>($case),
            3 => $function::<$t, 3>($case),
            4 => $function::<$t, 4>($case),
            5 => $function::<$t, 5>($case),
            6 => $function::<$t, 6>($case),
            axes => Err(Failure(format!("{axes} axes: the test runs 1 to 6"))),
        }
    };
}
pub(crate) use by_axes;

pub fn sums<T: Real>(case: &Case) -> Result<(), Failure> {
    by_axes!(case, sums_of, T)
}

fn sums_of<T: Real, const D: usize>(case: &Case) -> Result<(), Failure> {
    let windows = Windows::new(Torus::new(case.sizes::<D>("E")?)?, case.sizes::<D>("W")?)?;
    let f = case.input("f")?;
    let table = transpose::<T>(&f.data, windows.torus().cells())?;
    // V - 1 additions of terms of either sign, each within one rounding of its exact input.
    let largest = f.data.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let volume = windows.volume() as f64;
    let single = Tolerance { rel: 0.0, abs: volume * volume * largest * f64::from(f32::UNIT_ROUNDOFF) };
    let tolerance = case.tolerance::<T>(single)?;
    let mut scratch = vec![T::zero(); scratch_len(&windows)];
    let mut sums = table.clone();
    window_sums(&windows, &table, &mut sums, &mut scratch)?;
    case.check("forward", &transpose_back(&sums, windows.torus().cells()), tolerance)?;
    adjoint_window_sums(&windows, &table, &mut sums, &mut scratch)?;
    case.check("adjoint", &transpose_back(&sums, windows.torus().cells()), tolerance)
}

pub fn distance<T: Real>(case: &Case) -> Result<(), Failure> {
    by_axes!(case, distance_of, T)
}

fn distance_of<T: Real, const D: usize>(case: &Case) -> Result<(), Failure> {
    let torus = Torus::new(case.sizes::<D>("E")?)?;
    let cells = |name| -> Result<Vec<usize>, Failure> {
        let points = case.input(name)?.data;
        let coords = points.chunks_exact(D).map(|point| core::array::from_fn(|d| point[d] as isize));
        Ok(coords.map(|coords| torus.cell_at(coords)).collect())
    };
    let (a, b) = (cells("a")?, cells("b")?);
    let found: Vec<T> =
        a.iter().flat_map(|&a| b.iter().map(move |&b| T::from_f64(torus.distance(a, b)))).collect();
    // One rounding to single precision.
    let rel = 2.0 * f64::from(f32::UNIT_ROUNDOFF);
    case.check("distance", &found, case.tolerance::<T>(Tolerance { rel, abs: 0.0 })?)
}

/// `[cell][row]` of a file as the `[row][cell]` of the library.
pub fn transpose<T: Real>(data: &[f64], cells: usize) -> Result<Vec<T>, Failure> {
    if cells == 0 || !data.len().is_multiple_of(cells) {
        return Err(Failure(format!("{} elements are no table of {cells} cells", data.len())));
    }
    let rows = data.len() / cells;
    Ok((0..rows).flat_map(|row| (0..cells).map(move |cell| T::from_f64(data[cell * rows + row]))).collect())
}

/// The `[row][cell]` of the library as `[cell][row]` of a file.
pub fn transpose_back<T: Real>(table: &[T], cells: usize) -> Vec<T> {
    let rows = table.len() / cells.max(1);
    (0..cells).flat_map(|cell| (0..rows).map(move |row| table[row * cells + cell])).collect()
}
