use countgrid_corpus::Blocks;
use countgrid_counts::{Bags, CsrBuf};
use countgrid_estimators::FeatureRows;
use countgrid_harmonium::{Draws, Noise};
use nalgebra::DMatrix;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::{EvaluationError, Scalar, Stop, pieces::ask};

/// Oversampling, and number of power iterations.
const OVERSAMPLING: usize = 10;
const POWER_ITERATIONS: usize = 8;

/// Latent semantic indexing, the baseline of the papers on harmoniums: documents along the largest right singular vectors
/// of tf-idf.
///
/// Example: [`EvaluationOptions`](crate::EvaluationOptions).
///
/// # Source
/// Deerwester, Dumais, Furnas, Landauer & Harshman, Indexing by latent semantic analysis, Journal of the American Society
/// for Information Science 41(6), 1990.
#[derive(Clone, Debug)]
pub struct LatentSemanticIndex {
    idf: Vec<f64>,            // of each word
    directions: DMatrix<f64>, // words × dimensions, orthonormal
}

impl LatentSemanticIndex {
    /// Fits this many dimensions, or as many as there are words or documents, by a randomised range finder with power
    /// iterations.
    ///
    /// # Errors
    /// [`EvaluationError::Corpus`] if counts cannot be read.
    /// # Source
    /// N. Halko, P.-G. Martinsson & J. Tropp, Finding structure with randomness: probabilistic algorithms for constructing
    /// approximate matrix decompositions, SIAM Review 53(2), 2011, Algorithm 4.4.
    pub fn fit<T: Scalar>(bags: &Blocks<T>, dimensions: usize, seed: u64) -> Result<Self, EvaluationError> {
        Self::fit_until(bags, dimensions, seed, &Stop::new())
    }

    /// The same, with a flag that is asked before every iteration.
    pub(crate) fn fit_until<T: Scalar>(
        bags: &Blocks<T>,
        dimensions: usize,
        seed: u64,
        stop: &Stop,
    ) -> Result<Self, EvaluationError> {
        let words = bags.features();
        let mut frequency = vec![0.0; words];
        bags.for_each_block(false, |_, block| {
            let entries = (0..block.len()).flat_map(|bag| block.entries(bag));
            entries.for_each(|(word, _)| frequency[word] += 1.0);
            Ok::<_, EvaluationError>(())
        })?;
        // The form of scikit-learn: as if one more document had every word.
        let documents = bags.len() as f64;
        let idf: Vec<f64> =
            frequency.iter().map(|f| countgrid_math::ln((1.0 + documents) / (1.0 + f)) + 1.0).collect();
        let rows = weighted(bags, &idf)?;
        let dimensions = dimensions.min(words).min(bags.len());
        let width = dimensions.saturating_add(OVERSAMPLING).min(words).min(bags.len());
        let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(seed));
        let mut basis = DMatrix::<f64>::from_fn(words, width, |_, _| draws.normal());
        for _ in 0..POWER_ITERATIONS {
            ask(stop)?;
            basis = transposed(&rows, &project(&rows, &basis), words).qr().q();
        }
        ask(stop)?;
        let small = project(&rows, &basis);
        let eigen = (small.transpose() * &small).symmetric_eigen();
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        let chosen =
            DMatrix::from_fn(width, dimensions, |row, column| eigen.eigenvectors[(row, order[column])]);
        Ok(Self { idf, directions: basis * chosen })
    }

    /// Coordinates of each document.
    ///
    /// # Errors
    /// [`EvaluationError::Words`] for bags over another number of words; [`EvaluationError::Corpus`] if counts cannot be
    /// read.
    pub fn transform<T: Scalar>(&self, bags: &Blocks<T>) -> Result<FeatureRows, EvaluationError> {
        if bags.features() != self.idf.len() {
            return Err(EvaluationError::Words { expected: self.idf.len(), found: bags.features() });
        }
        let coordinates = project(&weighted(bags, &self.idf)?, &self.directions);
        let values = coordinates.transpose().as_slice().to_vec(); // nalgebra keeps columns together
        Ok(FeatureRows { columns: self.directions.ncols(), values })
    }
}

/// tf-idf, each document of length 1.
fn weighted<T: Scalar>(bags: &Blocks<T>, idf: &[f64]) -> Result<CsrBuf<f64>, EvaluationError> {
    let mut rows = CsrBuf::new(bags.features())?;
    bags.for_each_block(false, |_, block| {
        (0..block.len()).try_for_each(|bag| {
            let own: Vec<_> = block.entries(bag).map(|(word, x)| (word, x.to_f64() * idf[word])).collect();
            let length = own.iter().map(|(_, x)| x * x).sum::<f64>().sqrt();
            Ok::<_, EvaluationError>(rows.push_bag(own.into_iter().map(|(word, x)| (word, x / length)))?)
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

#[cfg(test)]
mod tests {
    use countgrid_corpus::{BlockLimits, BlocksBuilder};

    use super::*;

    /// Two kinds of documents without a common word lie along two axes, whatever else there is.
    #[test]
    fn documents_without_a_common_word_are_orthogonal() {
        let mut builder = BlocksBuilder::<f64>::new(4, BlockLimits::default()).unwrap();
        for document in 0..6 {
            let first = 2 * (document % 2);
            builder.push([(first, 2.0), (first + 1, 1.0)]).unwrap();
        }
        builder.push([]).unwrap();
        let bags = builder.finish().unwrap();
        let table = LatentSemanticIndex::fit(&bags, 2, 1).unwrap().transform(&bags).unwrap();
        let dot = |a: usize, b: usize| table.row(a).iter().zip(table.row(b)).map(|(x, y)| x * y).sum::<f64>();
        // Vectors of length 1 in a plane that holds them all: a few roundings of products of numbers up to 1.
        assert!((dot(0, 2) - 1.0).abs() < 1e-12 && (dot(1, 3) - 1.0).abs() < 1e-12);
        assert!(dot(0, 1).abs() < 1e-12);
        assert_eq!(table.row(6), [0.0, 0.0]);
    }

    #[test]
    fn products_are_those_of_the_whole_table() {
        let rows = CsrBuf::from_dense(3, &[1.0, 0.0, 2.0, 0.0, 3.0, 0.0]).unwrap();
        let matrix = DMatrix::from_row_slice(3, 2, &[1.0, -1.0, 2.0, 5.0, 4.0, 0.5]);
        assert_eq!(project(&rows, &matrix), DMatrix::from_row_slice(2, 2, &[9.0, 0.0, 6.0, 15.0]));
        let matrix = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 3.0, -4.0]);
        let expected = DMatrix::from_row_slice(3, 2, &[1.0, 2.0, 9.0, -12.0, 2.0, 4.0]);
        assert_eq!(transposed(&rows, &matrix, 3), expected);
    }

    /// Products of coordinates are those of the singular value decomposition of the table of the definition: more words and
    /// documents than directions are drawn, and themes few enough for these to span them.
    #[test]
    fn coordinates_are_those_of_the_largest_singular_values() {
        const WORDS: usize = 30;
        let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(3));
        let mut below = |n: f64| (Noise::<f64>::uniform(&mut draws) * n).floor();
        let themes: Vec<f64> = (0..5 * WORDS).map(|_| (below(9.0) - 4.0).max(0.0)).collect();
        let (mut builder, mut rows) =
            (BlocksBuilder::new(WORDS, BlockLimits::default()).unwrap(), Vec::new());
        for _ in 0..40 {
            let shares: Vec<f64> = (0..5).map(|_| (below(6.0) - 2.0).max(0.0)).collect();
            let of =
                |word: usize| (0..5).map(|theme| shares[theme] * themes[theme * WORDS + word]).sum::<f64>();
            let row: Vec<f64> = (0..WORDS).map(of).collect();
            let entries = row.iter().copied().enumerate().filter(|&(_, count)| count > 0.0);
            builder.push(entries).unwrap();
            rows.push(row);
        }
        let documents = rows.len();
        for word in 0..WORDS {
            let having = rows.iter().filter(|row| row[word] > 0.0).count() as f64;
            let idf = ((1.0 + documents as f64) / (1.0 + having)).ln() + 1.0;
            rows.iter_mut().for_each(|row| row[word] *= idf);
        }
        for row in &mut rows {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.iter_mut().filter(|_| length > 0.0).for_each(|x| *x /= length);
        }
        let svd = DMatrix::from_fn(documents, WORDS, |row, word| rows[row][word]).svd(true, false);
        let (u, singular) = (svd.u.unwrap(), svd.singular_values);
        let bags = builder.finish().unwrap();
        for dimensions in [1, 3] {
            let index = LatentSemanticIndex::fit(&bags, dimensions, 1).unwrap();
            let table = index.transform(&bags).unwrap();
            assert_eq!(table.columns, dimensions);
            for (a, b) in (0..documents).flat_map(|a| (0..=a).map(move |b| (a, b))) {
                let found: f64 = table.row(a).iter().zip(table.row(b)).map(|(x, y)| x * y).sum();
                let of = |k: usize| u[(a, k)] * singular[k] * singular[k] * u[(b, k)];
                let expected: f64 = (0..dimensions).map(of).sum();
                assert!((found - expected).abs() < 1e-10, "{found} {expected}");
            }
        }
    }
}
