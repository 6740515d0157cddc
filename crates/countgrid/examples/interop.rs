//! A counting grid fitted to matrices of ndarray, nalgebra and sprs: no copy on the way in, none on the way out, and the
//! same bits from each.
//!
//! ```sh
//! cargo run --release -p countgrid --features ndarray,nalgebra,sprs --example interop
//! ```

use std::error::Error;

use countgrid::counts::{Bags, MatrixBags, SprsBags};
use countgrid::em::{EmOptions, TablesNalgebra, TablesNdarray, no_observer};
use countgrid::grid::{Grid, Learner, Options, Shape, Statistics};
use countgrid::math::AlignedVec;
use countgrid::torus::{Torus, Windows};
use nalgebra::DMatrix;
use ndarray::{Array2, Axis};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use sprs::CsMat;

type Fitted = Grid<f32, AlignedVec<f32>, 2>;

fn fit(bags: &impl Bags) -> Result<Fitted, Box<dyn Error>> {
    let shape = Shape::new(Windows::new(Torus::new([6, 6])?, [2, 2])?, bags.features())?;
    let mut grid = Grid::uniform(shape)?;
    grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
    let mut learner = Learner::from_grid(grid, Options::default())?;
    let mut statistics = Statistics::allocate(shape, 16)?;
    EmOptions::default().check()?.fit(&mut learner, bags, &mut statistics, no_observer)?;
    Ok(learner.into_parts().0)
}

/// Forty documents of nine words each in two interleaved topics.
fn count(document: usize, word: usize) -> f32 {
    if document % 2 == word % 2 { ((document * 7 + word * 5) % 4) as f32 } else { 0.0 }
}

fn main() -> Result<(), Box<dyn Error>> {
    let array = Array2::from_shape_fn((40, 9), |(document, word)| count(document, word));
    let matrix = DMatrix::from_fn(40, 9, count); // column-major
    let sparse = CsMat::csr_from_dense(array.view(), 0.0);

    let from_array = fit(&MatrixBags::new(array.view())?)?;
    let from_matrix = fit(&MatrixBags::new(&matrix)?)?;
    let from_sparse = fit(&SprsBags::new(sparse.view())?)?;

    let pi = from_array.array("pi").ok_or("no pi")?; // [word][cell], where it lies
    assert_eq!(Some(pi), from_matrix.array("pi"));
    assert_eq!(Some(pi), from_sparse.array("pi"));
    assert_eq!(from_array.matrix("pi"), from_sparse.matrix("pi"));

    for (word, cells) in pi.axis_iter(Axis(0)).enumerate() {
        println!("word {word}: {:.4} of the grid", cells.sum() / 36.0);
    }
    Ok(())
}

#[test]
fn the_same_bits_from_three_libraries() -> Result<(), Box<dyn Error>> {
    main()
}
