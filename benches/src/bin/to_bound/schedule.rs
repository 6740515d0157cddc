//! Fits, with their bound and processor time after every update.

use countgrid_benches::{CHUNK, bound_per_token, iterate, options};
use countgrid_em::{Tables, TablesMut};
use countgrid_grid::{COARSE_ITERATIONS, Grid, GridError, Learner, Shape, Statistics};
use countgrid_math::{AlignedVec, Real};
use cpu_time::ProcessTime;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::data::Data;

type Parameters<T> = Grid<T, AlignedVec<T>, 2>;

/// Where a fit is after an update of the full grid.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    /// Seconds of processor time since the fit began, coarse grids and set-up included.
    pub(crate) cpu: f64,
    /// Log evidence per token, in nats.
    pub(crate) bound: f64,
}

/// A fit that has ended.
pub(crate) struct Fitted<T> {
    pub(crate) points: Vec<Point>, // after 0, 1, 2, ... updates of the full grid, so never empty
    pub(crate) grid: Parameters<T>,
}

impl<T> Fitted<T> {
    pub(crate) fn end(&self) -> Point {
        self.points[self.points.len() - 1]
    }
}

/// How a grid is fitted.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Updates of the full grid.
    pub(crate) iterations: usize,
    /// Whether bags are scored only where bounds say that it matters.
    pub(crate) prune: bool,
    /// Whether the first grid's entries are rounded to `f32`, whatever the type is.
    pub(crate) rounded: bool,
}

/// Fits grids of the given shapes one after the other, each but the last for [`COARSE_ITERATIONS`] iterations.
pub(crate) fn fit<T: Real>(data: &Data, shapes: &[Shape<2>], plan: Plan) -> Result<Fitted<T>, GridError> {
    let Plan { seed, iterations, prune, rounded } = plan;
    let clock = ProcessTime::now();
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let (mut points, mut coarse): (_, Option<Parameters<T>>) = (Vec::new(), None);
    for shape in shapes {
        let full = *shape == data.shape;
        let mut grid = Grid::initial(*shape, coarse.as_ref(), rng)?;
        drop(coarse);
        if rounded {
            grid.buffer_mut().iter_mut().for_each(|x| *x = T::from_f64(f64::from(x.to_f64() as f32)));
        }
        let mut learner = Learner::from_grid(grid, options(shape, data.tokens, prune))?;
        let mut sums = Statistics::allocate(*shape, CHUNK)?;
        for _ in 0..if full { iterations } else { COARSE_ITERATIONS } {
            let cpu = clock.elapsed().as_secs_f64();
            let free_energy = iterate(&mut learner, &mut sums, &data.bags)?;
            if full {
                points.push(Point { cpu, bound: -free_energy / data.tokens });
            }
        }
        if full {
            let cpu = clock.elapsed().as_secs_f64();
            points.push(Point { cpu, bound: bound_per_token(&learner, &mut sums, &data.bags)? });
        }
        coarse = Some(learner.into_parts().0);
    }
    let grid = coarse.ok_or(GridError::NoFeatures)?;
    Ok(Fitted { points, grid })
}

/// The bound of an `f32` grid, computed in `f64`.
pub(crate) fn in_double(data: &Data, grid: &Parameters<f32>) -> Result<f64, GridError> {
    let entries: Vec<f64> = grid.buffer().iter().map(|&x| x.to_f64()).collect();
    let (cells, features) = (data.shape.cells(), data.shape.features());
    let too_large = |_| GridError::TooLarge { cells, features };
    let grid = Grid::new(data.shape, AlignedVec::from_slice(&entries).map_err(too_large)?)?;
    let learner = Learner::from_grid(grid, options(&data.shape, data.tokens, true))?;
    let mut sums = Statistics::allocate(data.shape, CHUNK)?;
    bound_per_token(&learner, &mut sums, &data.bags)
}
