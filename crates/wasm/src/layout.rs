use countgrid_grid::{Shape, default_extent, default_side};
use countgrid_torus::Windows;

use crate::Error;

/// Axes of the one grid that is compiled, as in the program. A grid of fewer has leading axes of one cell.
pub const AXES: usize = 8;

/// Cells of the largest grid, as many as a page shows.
pub const MAX_CELLS: usize = countgrid_map::MAX_CELLS;

/// Bytes that the tables of a fit may take. A page has 4 GiB at most, the collection in them.
pub const MEMORY: u64 = 1 << 30;

/// Bags that are placed together if there is room.
pub(crate) const CHUNK: usize = 256;

/// A grid and its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) extents: Vec<usize>, // 1 to AXES
    pub(crate) window: Vec<usize>,  // as many
}

impl Layout {
    /// What was asked for, and where nothing was what suits so many bags, as in the program.
    pub(crate) fn choose(extents: Option<&[usize]>, window: Option<&[usize]>, bags: usize) -> Self {
        let extents = extents.map_or_else(|| vec![default_extent(bags); 2], <[_]>::to_vec);
        let window = match window {
            None => extents.iter().copied().map(default_side).collect(),
            Some(&[side]) => vec![side; extents.len()],
            Some(window) => window.to_vec(),
        };
        Self { extents, window }
    }

    /// The shape of a grid of so many features, if tables of `elements(shape)` and scratch fit into [`MEMORY`]; and for
    /// how many bags scratch does.
    pub(crate) fn shape(
        &self,
        features: usize,
        elements: impl Fn(&Shape<AXES>) -> u128,
    ) -> Result<(Shape<AXES>, usize), Error> {
        let windows = Windows::<AXES>::from_slices(&self.extents, &self.window)?;
        let cells = windows.torus().cells();
        if cells > MAX_CELLS {
            return Err(Error::new(format_args!(
                "a grid of {cells} cells, at most {MAX_CELLS} are possible"
            )));
        }
        let bytes = |elements: u128| elements.saturating_mul(size_of::<f32>() as u128);
        let refuse = |needed: u128| {
            Error::new(format_args!(
                "a grid of {cells} cells with {features} features needs {} MB of memory, a page has {} MB: take fewer \
                 cells or features",
                needed.div_ceil(1 << 20),
                MEMORY >> 20
            ))
        };
        // Before anything is counted in `usize`, which is 32 bits long on a page. There are two tables at least.
        let least = bytes(2 * cells as u128 * (features as u128 + 1));
        if least > u128::from(MEMORY) {
            return Err(refuse(least));
        }
        let shape = Shape::new(windows, features)?;
        // Scratch for two bags can be counted in `usize`; from there on each takes as much as the one before.
        let [one, two] = [1, 2].map(|bags| shape.posterior_scratch_len::<f32>(bags) as u128);
        let scratch =
            |bags: usize| one + (bags as u128 - 1) * (two - one) + shape.plane_scratch_len() as u128;
        let needed = |bags| bytes(elements(&shape) + scratch(bags));
        match (1..=CHUNK).rev().find(|&bags| needed(bags) <= u128::from(MEMORY)) {
            Some(bags) => Ok((shape, bags)),
            None => Err(refuse(needed(1))),
        }
    }
}
