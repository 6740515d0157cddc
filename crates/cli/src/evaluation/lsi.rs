//! Latent semantic indexing, the baseline of the papers on harmoniums: documents along the largest singular vectors of
//! tf-idf.

use countgrid_counts::{Bags, CsrBuf};
use countgrid_harmonium::{Draws, Noise};
use nalgebra::DMatrix;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{
    args::EvaluationArgs,
    evaluation::features::Rows,
    failure::Failure,
    model::Stored,
    store::{Store, foreign},
};

/// Directions more than are asked for, and how often they are multiplied by the matrix.
const EXTRA: usize = 10;
const POWERS: usize = 8;

/// Directions in the space of words.
pub(crate) struct Lsi {
    idf: Vec<f64>,            // of each word
    directions: DMatrix<f64>, // words × dimensions, orthonormal
}

/// The right singular vectors of the largest values, by a randomised range finder with power iterations.
///
/// # Source
/// Halko, Martinsson & Tropp, Finding structure with randomness, SIAM Review 2011, algorithm 4.4.
pub(crate) fn fitted<T: Stored>(bags: &Store<T>, args: &EvaluationArgs) -> Result<Lsi, Failure> {
    let words = bags.features();
    let mut frequency = vec![0.0; words];
    bags.each(false, |_, block| {
        (0..block.len()).flat_map(|bag| block.entries(bag)).for_each(|(word, _)| frequency[word] += 1.0);
        Ok::<_, Failure>(())
    })?;
    // The form of scikit-learn: as if one more document had every word.
    let documents = bags.len() as f64;
    let idf: Vec<f64> =
        frequency.iter().map(|f| countgrid_math::ln((1.0 + documents) / (1.0 + f)) + 1.0).collect();
    let rows = weighted(bags, &idf)?;
    let dimensions = args.topics.min(words).min(bags.len());
    let width = (dimensions + EXTRA).min(words).min(bags.len());
    let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(args.fit.seed));
    let mut basis = DMatrix::<f64>::from_fn(words, width, |_, _| draws.normal());
    for _ in 0..POWERS {
        basis = transposed(&rows, &project(&rows, &basis), words).qr().q();
    }
    let small = project(&rows, &basis);
    let eigen = (small.transpose() * &small).symmetric_eigen();
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    let chosen = DMatrix::from_fn(width, dimensions, |row, column| eigen.eigenvectors[(row, order[column])]);
    Ok(Lsi { idf, directions: basis * chosen })
}

/// Coordinates of each document.
pub(crate) fn features<T: Stored>(model: &Lsi, bags: &Store<T>) -> Result<Rows, Failure> {
    let coordinates = project(&weighted(bags, &model.idf)?, &model.directions);
    let values = coordinates.transpose().as_slice().to_vec(); // nalgebra keeps columns together
    Ok(Rows { columns: model.directions.ncols(), values })
}

/// tf-idf, each document of length 1.
fn weighted<T: Stored>(bags: &Store<T>, idf: &[f64]) -> Result<CsrBuf<f64>, Failure> {
    let mut rows = CsrBuf::new(bags.features()).map_err(foreign)?;
    bags.each(false, |_, block| {
        (0..block.len()).try_for_each(|bag| {
            let own: Vec<_> = block.entries(bag).map(|(word, x)| (word, x.to_f64() * idf[word])).collect();
            let length = own.iter().map(|(_, x)| x * x).sum::<f64>().sqrt();
            rows.push_bag(own.into_iter().map(|(word, x)| (word, x / length))).map_err(foreign)
        })
    })?;
    Ok(rows)
}

/// Documents times a matrix `[word][column]`.
fn project(rows: &CsrBuf<f64>, matrix: &DMatrix<f64>) -> DMatrix<f64> {
    let mut product = DMatrix::zeros(rows.len(), matrix.ncols());
    for document in 0..rows.len() {
        for (word, x) in rows.entries(document) {
            for column in 0..matrix.ncols() {
                product[(document, column)] += x * matrix[(word, column)];
            }
        }
    }
    product
}

/// Documents, transposed, times a matrix `[document][column]`.
fn transposed(rows: &CsrBuf<f64>, matrix: &DMatrix<f64>, words: usize) -> DMatrix<f64> {
    let mut product = DMatrix::zeros(words, matrix.ncols());
    for document in 0..rows.len() {
        for (word, x) in rows.entries(document) {
            for column in 0..matrix.ncols() {
                product[(word, column)] += x * matrix[(document, column)];
            }
        }
    }
    product
}
