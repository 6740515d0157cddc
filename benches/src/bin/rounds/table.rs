//! Window sums over a whole table, against copying it.

use std::{error::Error, hint::black_box, io, path::Path};

use countgrid_benches::{Seconds, arrays::save, timed};
use countgrid_math::AlignedVec;
use countgrid_prefix::{Axis, Direction, axes, scratch_len, sums_along};
use countgrid_torus::{Torus, Windows};

/// Rows that are written for others to compare theirs with.
const ROWS: usize = 50;
/// The window in one dimension, on as many cells.
const SIDE_1D: usize = 25;

/// A table `[row][cell]` and room for its sums.
pub(crate) struct Table {
    windows: Windows<2>,
    line: Windows<1>,
    table: AlignedVec<f32>,
    sums: AlignedVec<f32>,
    scratch: AlignedVec<f32>,
}

impl Table {
    pub(crate) fn new(windows: Windows<2>, rows: usize) -> Result<Self, Box<dyn Error>> {
        let cells = windows.torus().cells();
        let line = Windows::new(Torus::new([cells])?, [SIDE_1D.min(cells)])?;
        let mut table = AlignedVec::zeroed(rows * cells)?;
        table.iter_mut().enumerate().for_each(|(i, x)| *x = (i * 7 % 1009) as f32 / 1009.0);
        let sums = AlignedVec::zeroed(table.len())?;
        let scratch = AlignedVec::zeroed(scratch_len(&windows).max(scratch_len(&line)))?;
        Ok(Self { windows, line, table, sums, scratch })
    }

    pub(crate) fn copy(&mut self) -> Seconds {
        timed(|| black_box(&mut *self.sums).copy_from_slice(black_box(&self.table))).1
    }

    pub(crate) fn window_sums(&mut self) -> Seconds {
        let axes = axes(&self.windows);
        self.sum(&axes)
    }

    pub(crate) fn window_sums_1d(&mut self) -> Seconds {
        let axes = axes(&self.line);
        self.sum(&axes)
    }

    fn sum(&mut self, axes: &[Axis]) -> Seconds {
        let Self { table, sums, scratch, .. } = self;
        let (table, sums, scratch) = (black_box(&**table), &mut **sums, &mut **scratch);
        timed(|| {
            sums_along(axes, Direction::Forward, table, black_box(sums), scratch).expect("the lengths fit")
        })
        .1
    }

    pub(crate) fn save(&mut self, folder: &Path) -> io::Result<()> {
        self.window_sums();
        let extents = self.windows.torus().extents();
        let rows = ROWS.min(self.table.len() / self.windows.torus().cells());
        let (shape, length) = ([rows, extents[0], extents[1]], rows * self.windows.torus().cells());
        save(&folder.join("table.npy"), &shape, self.table.iter().take(length).copied())?;
        save(&folder.join("sums.npy"), &shape, self.sums.iter().take(length).copied())
    }
}
