//! A counting grid that a program of its own has fitted, with `countgrid-grid` alone, as a model file that `countgrid embed`,
//! `words`, `info` and `firmware` open, and as constant tables without the program.
//!
//! `cargo run --release -p countgrid-estimators --example own_grid -- [FOLDER]`

use std::{error::Error, fs, path::Path};

use countgrid_counts::Csr;
use countgrid_em::{EmOptions, no_observer};
use countgrid_estimators::{FittedGrid, ModelInfo, TableKind};
use countgrid_grid::{Grid, Learner, Options, Shape, Statistics, constant};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

const WORDS: [&str; 6] = ["bread", "flour", "oven", "mast", "sail", "the"];
const SHAPE: Shape<2> = constant!(Shape::from_sides([4, 5], [2, 2], WORDS.len()));

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    save(folder.as_ref())
}

/// Fits the grid and writes `model.safetensors` and `model.rs`.
pub(crate) fn save(folder: &Path) -> Result<(), Box<dyn Error>> {
    // Four documents: two about bread, two about boats.
    let offsets = [0_usize, 3, 6, 9, 11];
    let words = [0_u32, 1, 5, 0, 1, 2, 3, 4, 5, 3, 4];
    let counts = [2_u16, 3, 1, 3, 1, 2, 2, 3, 1, 1, 4];
    let bags = Csr::new(WORDS.len(), &offsets, &words, &counts)?;

    let mut grid = Grid::<f32, _, 2>::uniform(SHAPE)?;
    grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
    let mut learner = Learner::from_grid(grid, Options { pseudocount: 0.01, ..Options::default() })?;
    let mut statistics = Statistics::allocate(SHAPE, 4)?;
    let plan = EmOptions { iterations: 40, ..EmOptions::default() }.check()?;
    plan.fit(&mut learner, &bags, &mut statistics, no_observer)?;

    let info = ModelInfo::for_vocabulary(WORDS.map(str::to_owned).to_vec());
    let grid = FittedGrid::from_grid(info, learner.grid())?;
    grid.save(folder.join("model.safetensors"))?;
    fs::write(folder.join("model.rs"), grid.firmware(TableKind::F32, true)?.module)?;
    Ok(())
}
