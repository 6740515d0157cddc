//! The bags and the grid that are asked for.

use std::{error::Error, path::Path};

use countgrid_benches::{Corpus, arrays::read_bags};
use countgrid_counts::{Bags, BagsWithColumns, CsrBuf};
use countgrid_grid::Shape;
use countgrid_torus::{Torus, Windows};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Bags, and a grid for them.
pub(crate) struct Problem {
    pub(crate) bags: BagsWithColumns<f32>,
    pub(crate) tokens: f64,
    pub(crate) shape: Shape<2>,
}

/// `name=value` after the seed.
struct Sizes {
    bags: usize,
    features: usize,
    side: usize,
    window: usize,
}

impl Sizes {
    fn new(words: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut sizes = Self { bags: 10_000, features: 5_000, side: 40, window: 5 };
        for word in words {
            let (name, value) = word.split_once('=').ok_or("sizes are given as name=number")?;
            let value = value.parse()?;
            match name {
                "bags" => sizes.bags = value,
                "features" => sizes.features = value,
                "side" => sizes.side = value,
                "window" => sizes.window = value,
                _ => return Err("sizes are bags, features, side and window".into()),
            }
        }
        Ok(sizes)
    }

    fn problem(&self, bags: CsrBuf<u32>) -> Result<Problem, Box<dyn Error>> {
        let windows = Windows::new(Torus::new([self.side; 2])?, [self.window; 2])?;
        let tokens = bags.tokens();
        let (features, offsets, indices, counts) = bags.into_parts();
        // As the program holds them: in the type of the fit, by bag and by feature.
        let counts = counts.into_iter().map(|count| count as f32).collect();
        let bags = BagsWithColumns::new(CsrBuf::from_parts(features, offsets, indices, counts)?)?;
        Ok(Problem { tokens, shape: Shape::new(windows, self.features)?, bags })
    }
}

/// The synthetic corpus, from a grid of the standard extents whatever grid is fitted to it.
pub(crate) fn draw(seed: u64, words: &[&str]) -> Result<Problem, Box<dyn Error>> {
    let sizes = Sizes::new(words)?;
    let corpus = Corpus { bags: sizes.bags, features: sizes.features, ..Corpus::standard() };
    sizes.problem(corpus.draw(seed))
}

/// Bags that someone else wrote.
pub(crate) fn read(folder: &Path, features: usize) -> Result<Problem, Box<dyn Error>> {
    let sizes = Sizes { features, ..Sizes::new(&[])? };
    sizes.problem(read_bags(folder, features)?)
}

/// Uniform counts from 0 to 10: hardly any is zero.
pub(crate) fn dense(seed: u64, words: &[&str]) -> Result<Problem, Box<dyn Error>> {
    let sizes = Sizes::new(words)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut bags = CsrBuf::new(sizes.features)?;
    for _ in 0..sizes.bags {
        bags.push_bag((0..sizes.features).map(|feature| (feature, rng.next_u32() % 11)))?;
    }
    sizes.problem(bags)
}
