//! `countgrid-torus` and `countgrid-prefix`: cells, window sums, prefix sums.

use countgrid_math::{Real, exp};
use countgrid_prefix::{
    BoxSums, adjoint_window_sums, exclusive_in_place, inclusive, scratch_len, window_sums,
};
use countgrid_torus::{Torus, Windows};

use crate::report::{Digest, Failure, Report, Values, first, name};

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    cells(report)?;
    floats::<f32>(report)?;
    floats::<f64>(report)
}

const ROOM: usize = 512;

fn cells(report: &mut Report<'_>) -> Result<(), Failure> {
    let torus = Torus::new([5, 4, 6])?;
    let windows = Windows::new(torus, [2, 4, 3])?;
    let mut digest = Digest::new();
    for cell in 0..torus.cells() {
        windows.cells_of(cell).chain(windows.starts_over(cell)).for_each(|c| digest.add_integer(c as u64));
        torus.neighbours(cell).for_each(|c| digest.add_integer(c as u64));
        digest.add(&[torus.distance(17, cell)]);
    }
    report.digest("cells of a torus", digest);
    Ok(())
}

fn floats<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    torus::<T, 1>(report, [60], [13])?;
    torus::<T, 1>(report, [500], [200])?;
    torus::<T, 2>(report, [9, 11], [3, 5])?;
    torus::<T, 2>(report, [16, 16], [4, 8])?;
    torus::<T, 3>(report, [5, 4, 6], [2, 4, 3])?;
    torus::<T, 5>(report, [3, 2, 3, 2, 4], [2, 1, 3, 2, 2])
}

fn torus<T: Real, const D: usize>(
    report: &mut Report<'_>,
    extents: [usize; D],
    sides: [usize; D],
) -> Result<(), Failure> {
    let (mut table, mut values) = ([T::zero(); ROOM], Values(13));
    values.fill(&mut table);
    // Many decades, as in a fit.
    table.iter_mut().for_each(|value| *value = exp(*value * T::from_f64(-60.0)));
    let windows = Windows::new(Torus::new(extents)?, sides)?;
    let digest = sums(&windows, &mut table)?;
    report.digest(format_args!("window sums {extents:?} {sides:?} {}", name::<T>()), digest);

    let torus = windows.torus();
    let mut sums = [T::zero(); ROOM];
    let (table, sums) = (first(&mut table, torus.cells())?, first(&mut sums, torus.cells())?);
    inclusive(torus, table, sums)?;
    let mut digest = Digest::from_values(sums);
    let boxes = BoxSums::new(*torus, &*sums)?;
    digest.add(&[boxes.sum([1; D], extents), boxes.sum([0; D], sides)]);
    exclusive_in_place(torus, table)?;
    digest.add(table);
    report.digest(format_args!("prefix sums {extents:?} {}", name::<T>()), digest);
    Ok(())
}

/// Over as many rows as there is room for.
fn sums<T: Real, const D: usize>(windows: &Windows<D>, table: &mut [T]) -> Result<Digest, Failure> {
    let cells = windows.torus().cells();
    let (mut sums, mut scratch) = ([T::zero(); ROOM], [T::zero(); 4 * ROOM]);
    let (table, sums) = (first(table, cells * (ROOM / cells))?, first(&mut sums, cells * (ROOM / cells))?);
    let scratch = first(&mut scratch, scratch_len(windows))?;
    let mut digest = Digest::new();
    window_sums(windows, table, sums, scratch)?;
    digest.add(sums);
    adjoint_window_sums(windows, table, sums, scratch)?;
    digest.add(sums);
    Ok(digest)
}
