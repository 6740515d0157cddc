//! Every model of bags gives the same bits for the same counts, in whichever library's matrix they are.

use std::error::Error;

use countgrid::counts::{Bags, CsrBuf, Dense, MatrixBags, SprsBags};
use countgrid::em::{EmOptions, Fit, Learn, Tables, TablesMutExt, no_observer};
use countgrid::torus::{Torus, Windows};
use countgrid::{grid, gtm, harmonium, lda};
use nalgebra::DMatrix;
use ndarray::{Array2, s};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use sprs::{CsMat, CsMatI};

const BAGS: usize = 21;
const FEATURES: usize = 6;

fn count(bag: usize, feature: usize) -> i16 {
    if (bag + feature).is_multiple_of(3) { 0 } else { ((bag * 5 + feature * 7) % 11) as i16 }
}

fn random() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(3)
}

fn fitted<B: Bags, M: Fit<B>>(
    mut model: M,
    mut statistics: M::Statistics,
    bags: &B,
) -> Result<M, Box<dyn Error>>
where
    <M as Learn>::Error: Error + 'static,
{
    let options = EmOptions { iterations: 8, ..EmOptions::default() };
    options.check()?.fit(&mut model, bags, &mut statistics, no_observer)?;
    Ok(model)
}

/// The parameters of all models.
fn bits(bags: &impl Bags) -> Result<Vec<Vec<u64>>, Box<dyn Error>> {
    let mut all = Vec::new();
    let mut add = |buffer: &[f64]| all.push(buffer.iter().map(|x| x.to_bits()).collect());

    let shape = grid::Shape::new(Windows::new(Torus::new([4, 5])?, [2, 3])?, FEATURES)?;
    let mut start = grid::Grid::uniform(shape)?;
    start.randomize(&mut random());
    let learner = grid::Learner::from_grid(start, grid::Options::default())?;
    add(fitted(learner, grid::Statistics::allocate(shape, 8)?, bags)?.grid().buffer());

    let shape = lda::Shape::new(3, FEATURES)?;
    let mut start = lda::Lda::uniform(shape, 0.5)?;
    start.randomize(&mut random());
    let learner = lda::Learner::new(start, lda::Options::default())?;
    add(fitted(learner, lda::Statistics::allocate(shape, 8)?, bags)?.into_lda().buffer());

    let zip = gtm::EmissionModel::Zip(gtm::Inflation::Document);
    let shape = gtm::Shape::new(zip, 9, 2, 5, FEATURES)?;
    let (mut points, mut centres, mut phi) = ([0.0; 18], [0.0; 8], [0.0; 45]);
    gtm::grid_points(3, 3, &mut points)?;
    gtm::grid_points(2, 2, &mut centres)?;
    gtm::Basis::rbf(&centres, 2, 1.0)?.table(&points, &mut phi)?;
    let mut map = gtm::Gtm::allocate(shape, &points, &phi, gtm::Priors::default())?;
    map.initialise(bags, 0.5)?;
    let learner = gtm::Learner::allocate(map, gtm::Options::default())?;
    add(fitted(learner, gtm::Statistics::allocate(shape)?, bags)?.map().buffer());

    let shape = harmonium::Shape::words(FEATURES, 2)?;
    let mut draws = harmonium::Draws::new(random());
    let model = harmonium::Harmonium::allocate(shape, 15, 0.1, &mut draws)?;
    let mut gradient = harmonium::Gradient::allocate(shape)?;
    let mut scratch = vec![0.0; shape.gibbs_scratch_len::<f64>()];
    gradient.clear();
    model.contrastive_divergence(bags, &[], 1, &mut gradient, &mut draws, &mut scratch)?;
    add(gradient.buffer());
    Ok(all)
}

#[test]
fn every_model_has_the_same_bits_from_every_library() -> Result<(), Box<dyn Error>> {
    let array = Array2::from_shape_fn((BAGS, FEATURES), |(bag, feature)| count(bag, feature));
    let flat: Vec<_> = array.iter().copied().collect();
    let expected = bits(&Dense::new(FEATURES, &flat)?)?;
    for bits in &expected {
        assert!(bits.iter().any(|x| Some(x) != bits.first()), "nothing was fitted");
    }
    assert_eq!(bits(&CsrBuf::from_dense(FEATURES, &flat)?)?, expected);

    let turned = Array2::from_shape_fn((FEATURES, 2 * BAGS), |(feature, bag)| count(bag / 2, feature));
    assert_eq!(bits(&MatrixBags::new(array.view())?)?, expected);
    assert_eq!(bits(&MatrixBags::new(turned.slice(s![.., ..;2]).reversed_axes())?)?, expected);

    let matrix = DMatrix::from_fn(BAGS, FEATURES + 1, count);
    assert_eq!(bits(&MatrixBags::new(matrix.columns(0, FEATURES))?)?, expected);

    let sparse: CsMat<i16> = CsMat::csr_from_dense(array.view(), 0);
    assert_eq!(bits(&SprsBags::new(sparse.view())?)?, expected);
    let sparse: CsMatI<i16, u32> = CsMatI::csr_from_dense(array.view(), 0);
    assert_eq!(bits(&SprsBags::new(sparse.view())?)?, expected);
    Ok(())
}
