//! A small grid, fitted where it is used.

use countgrid_counts::Bags;
use countgrid_em::{Fit, Learn};
use countgrid_grid::{Grid, Learner, Options, Shape, Statistics, constant};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    bags::{FEATURES, bags},
    error::Error,
    say,
};

const SHAPE: Shape<2> = constant!(Shape::from_sides([6, 6], [2, 2], FEATURES));
const ITERATIONS: usize = 15;

/// Fits the grid and prints the bound per token.
pub(crate) fn all() -> Result<(), Error> {
    let bags = bags()?;
    let mut pi = [0.0f32; SHAPE.grid_len()];
    let mut logs = [0.0; SHAPE.histograms_len::<f32>()];
    let mut sums = [0.0; SHAPE.sums_len::<f32>()];
    let mut scratch = [0.0; SHAPE.scratch_len::<f32>(1)];
    let mut grid = Grid::uniform_in(SHAPE, pi.as_mut_slice())?;
    grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
    let options = Options { pseudocount: 0.05, ..Options::default() };
    let mut learner = Learner::new(grid, logs.as_mut_slice(), &mut scratch, options)?;
    let mut statistics = Statistics::new(SHAPE, sums.as_mut_slice(), scratch.as_mut_slice())?;
    for iteration in 0..ITERATIONS {
        statistics.clear();
        let free_energy = learner.expectation(&bags, &mut statistics)?;
        learner.maximization(&mut statistics)?;
        if iteration == 0 || iteration + 1 == ITERATIONS {
            say!("iteration {}: bound per token {:.4}", iteration, -free_energy / bags.tokens());
        }
    }
    Ok(())
}
