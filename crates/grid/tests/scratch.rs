//! How much scratch placing takes: no element more than is asked for is needed, none less will do.

use countgrid_counts::Bag;
use countgrid_grid::{Grid, GridError, LogHistograms, Shape};
use countgrid_math::Real;

/// One element less is refused, and exactly so many serve, also where every window is alive.
#[test]
fn posterior_scratch_is_minimal() {
    fn check<T: Real>(cells: usize) {
        let shape = Shape::from_sides([cells], [1], 2).unwrap();
        let grid = Grid::<T, _, 1>::uniform_in(shape, vec![T::zero(); shape.grid_len()]).unwrap();
        let packed = vec![T::zero(); shape.histograms_len::<T>()];
        let mut scratch = vec![T::zero(); shape.plane_scratch_len()];
        let histograms = LogHistograms::pack(&grid, packed, &mut scratch).unwrap();
        let (bag, mut q) = (Bag::new(2, &[1], &[3u8]).unwrap(), vec![T::zero(); cells]);
        let needed = shape.posterior_scratch_len::<T>(1);
        let mut place = |found: usize| histograms.posterior(&bag, 0, &mut q, &mut vec![T::zero(); found]);
        let found = needed - 1;
        let short = GridError::Length { table: "scratch", expected: needed, found };
        assert_eq!(place(found), Err(short));
        let (exactly, more) = (place(needed), place(4 * needed));
        assert!(exactly.is_ok() && exactly == more, "{exactly:?} {more:?}");
    }
    for cells in [1, 15, 16, 17, 63, 64, 65, 100, 256, 1600] {
        check::<f32>(cells);
        check::<f64>(cells);
    }
}
