//! A small topographic map of zero-inflated Poisson distributions, fitted where it is used, and documents on it.

use countgrid_counts::Bag;
use countgrid_em::{Fit, Learn, Tables, TablesMutExt};
use countgrid_gtm::{
    Basis, EmissionModel, Emissions, Gtm, Inflation, Learner, Options, Priors, Shape, Statistics, constant,
    grid_points,
};

use crate::{
    bags::{BAGS, FEATURES, bags},
    error::Error,
    say,
};

const SIDE: usize = 5;
const POINTS: usize = SIDE * SIDE;
const CENTRES: usize = 9;
const SHAPE: Shape =
    constant!(Shape::new(EmissionModel::Zip(Inflation::Document), POINTS, 2, CENTRES + 1, FEATURES));
const ITERATIONS: usize = 10;

/// Fits the map and prints where documents are.
pub(crate) fn all() -> Result<(), Error> {
    let bags = bags()?;
    let (mut points, mut centres) = ([0.0f32; 2 * POINTS], [0.0; 2 * CENTRES]);
    grid_points(SIDE, SIDE, &mut points)?;
    grid_points(3, 3, &mut centres)?;
    let mut basis = [0.0; POINTS * (CENTRES + 1)];
    Basis::rbf(&centres, 2, 1.0)?.table(&points, &mut basis)?;
    let (mut tables, mut emissions) = ([0.0; SHAPE.map_len()], [0.0; SHAPE.emissions_len()]);
    let mut map = Gtm::new_in(SHAPE, &points, &basis, Priors::default(), tables.as_mut_slice())?;
    map.set("weights", &weights())?;
    let (mut sums, mut scratch) = ([0.0; SHAPE.sums_len()], [0.0; SHAPE.scratch_len()]);
    let mut workspace = [0.0; SHAPE.workspace_len()];
    let mut learner = Learner::new(map, emissions.as_mut_slice(), Options::default())?;
    let mut statistics =
        Statistics::new(SHAPE, sums.as_mut_slice(), scratch.as_mut_slice(), workspace.as_mut_slice())?;
    for iteration in 0..ITERATIONS {
        statistics.clear();
        let free_energy = learner.expectation(&bags, &mut statistics)? + learner.penalty();
        learner.maximization(&mut statistics)?;
        if iteration == 0 || iteration + 1 == ITERATIONS {
            say!("map, iteration {}: objective {:.4} per document", iteration, free_energy / BAGS as f64);
        }
    }

    // Inference needs the emissions alone, which could as well be in flash.
    let emissions = Emissions::new(SHAPE, learner.emissions().buffer())?;
    let documents: [(&[u32], &[u16]); 4] =
        [(&[0, 1, 4], &[2, 1, 1]), (&[6, 7, 9], &[1, 3, 1]), (&[12, 13], &[4, 2]), (&[], &[])];
    for (number, (words, counts)) in documents.into_iter().enumerate() {
        let (mut q, mut x) = ([0.0; POINTS], [0.0; 2]);
        let log_p = emissions.posterior(&Bag::new(FEATURES, words, counts)?, 0, &mut q, &mut [])?;
        emissions.mean(&q, &mut x)?;
        say!(
            "  document {}: at {:.4?}, nearest point {}, log-likelihood {:.4}",
            number,
            x,
            emissions.mode(&q),
            log_p
        );
    }
    Ok(())
}

/// A tilted plane for each kind of words: without a slope the start would be a fixed point of the fit. Words begin at the
/// same rate, half a token a document.
fn weights() -> [f32; FEATURES * (CENTRES + 1)] {
    let mut weights = [0.0; FEATURES * (CENTRES + 1)];
    for (word, row) in weights.chunks_exact_mut(CENTRES + 1).enumerate() {
        for (centre, weight) in row.iter_mut().enumerate() {
            let (x, y) = (centre as f32 % 3.0 - 1.0, (centre / 3) as f32 - 1.0);
            *weight = 0.1
                * if word < 6 {
                    x
                } else if word < 11 {
                    y
                } else {
                    -x - y
                };
        }
        if let Some(constant) = row.last_mut() {
            *constant = -0.7;
        }
    }
    weights
}
