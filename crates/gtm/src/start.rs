//! The deterministic start: documents are laid out by their first principal components, and the parameters fitted to that.

use alloc::{vec, vec::Vec};

use countgrid_counts::Bags;
use countgrid_math::{Real, exp, ln, ln_1p, softmax, sqrt};
use nalgebra::{DMatrix, SymmetricEigen};

use crate::{
    Documents, EmissionModel, Gtm, GtmError, Inflation, Source,
    newton::{Design, Gram, back_substitute, factorize},
};

/// The ridge of the least squares that make weights of log rates.
const RIDGE: f64 = 1e-3;
/// Documents' worth of the mean that is added to the counts of a point.
const PSEUDO: f64 = 1.0;
/// Directions that the iteration carries, and how often at most it goes on.
const DIRECTIONS: usize = 24;
const ROUNDS: usize = 500;

/// Scores of documents on the first `axes` principal components, `[axis][document]`, each divided by its standard
/// deviation; 0 where there is no variance.
///
/// The rows are the square roots of counts divided by document length (so that distances are Hellinger's), or the
/// numbers themselves if they may be negative, less their means. The sign of an axis is such that its largest loading is
/// positive, the first of equals. By block subspace iteration from a fixed start: exact, up to rounding, for at most 24
/// documents or features; else until the leading variances settle to 1e-13 or after 500 rounds.
///
/// ```
/// use countgrid_counts::Dense;
/// use countgrid_gtm::{Documents, principal_scores};
///
/// // Two documents about one thing, two about another.
/// let counts = [4.0f64, 1.0, 0.0, 5.0, 0.0, 0.0, 0.0, 1.0, 4.0, 0.0, 0.0, 5.0];
/// let bags = Dense::new(3, &counts).unwrap();
/// let scores = principal_scores::<f64, _>(&Documents::new(bags), 1)?;
/// assert!(scores[0] * scores[1] > 0.0 && scores[0] * scores[2] < 0.0);
/// # Ok::<(), countgrid_gtm::GtmError>(())
/// ```
///
/// # Errors
/// [`GtmError::Empty`] without documents or axes.
pub fn principal_scores<T: Real, D: Source<T>>(documents: &D, axes: usize) -> Result<Vec<f64>, GtmError> {
    let (n, width) = (documents.documents(), documents.width());
    if n == 0 {
        return Err(GtmError::Empty { size: "documents" });
    }
    if axes == 0 {
        return Err(GtmError::Empty { size: "latent dimensions" });
    }
    let rows = Rows::new(documents);
    let size = DIRECTIONS.max(axes + 2).min(n).min(width);
    let mut basis = rows.fixed_start(size);
    let mut variances = vec![0.0; axes];
    let (mut rotated, mut images) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        orthonormalise(&mut basis, width);
        images = basis.chunks_exact(width).map(|v| rows.times(v)).collect::<Vec<_>>();
        let small = DMatrix::from_fn(size, size, |a, b| inner(&images[a], &images[b]));
        let eigen = SymmetricEigen::new(small);
        let mut order: Vec<usize> = (0..size).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        let turn = |vectors: &[&[f64]], length: usize| -> Vec<Vec<f64>> {
            let combine = |&column: &usize| {
                let mut sum = vec![0.0; length];
                for (a, vector) in vectors.iter().enumerate() {
                    let weight = eigen.eigenvectors[(a, column)];
                    sum.iter_mut().zip(*vector).for_each(|(sum, x)| *sum += weight * x);
                }
                sum
            };
            order.iter().map(combine).collect()
        };
        rotated = turn(&basis.chunks_exact(width).collect::<Vec<_>>(), width);
        images = turn(&images.iter().map(Vec::as_slice).collect::<Vec<_>>(), n);
        let mut settled = true;
        for (old, &a) in variances.iter_mut().zip(&order) {
            let new = eigen.eigenvalues[a].max(0.0);
            settled &= (new - *old).abs() <= 1e-13 * new;
            *old = new;
        }
        if settled || size == n.min(width) {
            break;
        }
        basis = images.iter().flat_map(|u| rows.transposed_times(u)).collect();
    }
    let mut scores = vec![0.0; axes * n];
    for ((score, image), loadings) in scores.chunks_exact_mut(n).zip(&images).zip(&rotated) {
        let largest = loadings.iter().fold(0.0, |most: f64, x| if x.abs() > most.abs() { *x } else { most });
        let deviation = sqrt(inner(image, image) / n as f64);
        // A direction that only rounding has put there has no variance.
        if deviation > 1e-7 * sqrt(rows.total / n as f64) {
            let factor = if largest < 0.0 { -1.0 } else { 1.0 } / deviation;
            score.iter_mut().zip(image).for_each(|(score, &x)| *score = factor * x);
        }
    }
    Ok(scores)
}

fn inner(x: &[f64], y: &[f64]) -> f64 {
    countgrid_math::dot(x, y).unwrap_or_default()
}

/// Sparse rows less their mean.
struct Rows {
    offsets: Vec<usize>,
    entries: Vec<(usize, f64)>,
    mean: Vec<f64>,
    total: f64, // of squares
}

impl Rows {
    fn new<T: Real, D: Source<T>>(documents: &D) -> Self {
        let (n, width) = (documents.documents(), documents.width());
        let (mut offsets, mut entries, mut mean, mut total) = (vec![0], Vec::new(), vec![0.0; width], 0.0);
        for document in 0..n {
            let length = documents.values(document).fold(0.0, |sum, (_, t)| sum + t.to_f64());
            for (j, t) in documents.values(document) {
                let x = if D::SIGNED { t.to_f64() } else { sqrt(t.to_f64() / length) };
                if let Some(mean) = mean.get_mut(j) {
                    *mean += x / n as f64;
                }
                total += x * x;
                entries.push((j, x));
            }
            offsets.push(entries.len());
        }
        Self { offsets, entries, mean, total }
    }

    fn rows(&self) -> impl Iterator<Item = &[(usize, f64)]> {
        self.offsets.windows(2).map(|ends| &self.entries[ends[0]..ends[1]])
    }

    fn times(&self, v: &[f64]) -> Vec<f64> {
        let mean = inner(&self.mean, v);
        self.rows().map(|row| row.iter().fold(0.0, |sum, &(j, x)| sum + x * v[j]) - mean).collect()
    }

    fn transposed_times(&self, u: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.mean.len()];
        for (row, &u) in self.rows().zip(u) {
            row.iter().for_each(|&(j, x)| sums[j] += x * u);
        }
        let total = countgrid_math::sum(u);
        sums.iter_mut().zip(&self.mean).for_each(|(sum, mean)| *sum -= total * mean);
        sums
    }

    /// Numbers within `±½` from SplitMix64, or all unit vectors if there are to be as many as features.
    fn fixed_start(&self, size: usize) -> Vec<f64> {
        let width = self.mean.len();
        if size == width {
            return (0..size * width).map(|at| if at % (width + 1) == 0 { 1.0 } else { 0.0 }).collect();
        }
        let random =
            |at: usize| (countgrid_em::restart_seed(7, at + 1) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
        let start: Vec<f64> = (0..size * width).map(random).collect();
        if size < self.offsets.len() - 1 {
            return start;
        }
        // As many as documents: the rows themselves span all there is.
        let unit = |n: usize| (0..size).map(move |m| if m == n { 1.0 } else { 0.0 }).collect::<Vec<_>>();
        (0..size).flat_map(|n| self.transposed_times(&unit(n))).collect()
    }
}

/// Gram and Schmidt, twice. A vector that depends on those before it becomes 0.
fn orthonormalise(vectors: &mut [f64], width: usize) {
    let count = vectors.len() / width;
    for at in 0..count {
        let (before, rest) = vectors.split_at_mut(at * width);
        let v = &mut rest[..width];
        let length = sqrt(inner(v, v));
        for _ in 0..2 {
            for u in before.chunks_exact(width) {
                let share = inner(u, v);
                v.iter_mut().zip(u).for_each(|(v, u)| *v -= share * u);
            }
        }
        let left = sqrt(inner(v, v));
        let factor = if left > 1e-12 * length { 1.0 / left } else { 0.0 };
        v.iter_mut().for_each(|v| *v *= factor);
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Gtm<T, S> {
    /// [`Gtm::initialise_from`] bags.
    ///
    /// # Errors
    /// Those of [`Gtm::initialise_from`].
    pub fn initialise<B: Bags>(&mut self, bags: &B, spread: f64) -> Result<(), GtmError> {
        self.initialise_from(&Documents::<_, T>::new(bags), spread)
    }

    /// The deterministic start: every document is put where its first principal components are, stretched over the
    /// latent points, with responsibilities `∝ exp(-‖u_n - x_k‖² / 2 s²)` for `spread` `s`, and the parameters are
    /// roughly fitted to that. Mixing weights become equal.
    ///
    /// # Errors
    /// [`GtmError::Setting`] for a spread that is not above zero; [`GtmError::Empty`] without documents; documents that
    /// do not go with the map.
    /// # Source
    /// Bishop, Svensén & Williams 1998 start on the principal plane; here the documents do, at Hellinger distances.
    pub fn initialise_from<D: Source<T>>(&mut self, documents: &D, spread: f64) -> Result<(), GtmError> {
        if !(spread > 0.0 && spread.is_finite()) {
            return Err(GtmError::Setting { name: "spread" });
        }
        if documents.width() != self.shape().features() {
            let (expected, found) = (self.shape().features(), documents.width());
            return Err(GtmError::Features { expected, found });
        }
        if D::SIGNED && self.shape().emission_model() != EmissionModel::Gaussian {
            return Err(GtmError::EmissionModel { what: "values below 0" });
        }
        let scores = principal_scores(documents, self.shape().axes())?;
        let sums = InitialSums::new(self, documents, &scores, spread);
        self.fit_ridge(&sums);
        let points = self.shape().points();
        self.part_mut("mixing").fill(T::from_f64(1.0 / points as f64));
        self.check()
    }

    /// Responsibilities of documents with principal scores `scores` `[axis][document]`, `[document][point]`.
    pub fn initial_responsibilities(&self, scores: &[f64], spread: f64) -> Vec<f64> {
        let (points, axes) = (self.shape().points(), self.shape().axes());
        let n = scores.len() / axes;
        let planes: Vec<Vec<f64>> = self
            .part("points")
            .chunks_exact(points)
            .map(|p| p.iter().map(|&x| x.to_f64()).collect())
            .collect();
        let mut r = vec![0.0; n * points];
        for (scores, plane) in scores.chunks_exact(n.max(1)).zip(&planes) {
            let mean = countgrid_math::sum(plane) / points as f64;
            let square = plane.iter().fold(0.0, |sum, x| sum + (x - mean) * (x - mean));
            let deviation = sqrt(square / points as f64);
            for (r, score) in r.chunks_exact_mut(points).zip(scores) {
                let u = mean + score * deviation;
                r.iter_mut().zip(plane).for_each(|(r, x)| *r -= (u - x) * (u - x) / (2.0 * spread * spread));
            }
        }
        for r in r.chunks_exact_mut(points) {
            let _ = softmax(r);
        }
        r
    }

    /// Parameters from sums: log rates (or logits, or means) of every point, smoothed, by ridge least squares on the
    /// basis.
    fn fit_ridge(&mut self, sums: &InitialSums) {
        let (shape, points, columns) = (*self.shape(), self.shape().points(), self.shape().columns());
        let basis: Vec<f64> = self.part("basis").iter().map(|&x| x.to_f64()).collect();
        let (mut gram, mut scaled) = (vec![0.0; columns * columns], vec![0.0; points]);
        let design = Design { table: &basis, rows: points };
        let ones = vec![1.0; points];
        countgrid_math::dispatch(Gram { design, weights: &ones, scaled: &mut scaled, gram: &mut gram });
        gram.iter_mut().step_by(columns + 1).for_each(|diagonal| *diagonal += RIDGE);
        if factorize(&mut gram, columns).is_none() {
            return;
        }
        let least_squares = |row: &[f64]| {
            let mut w: Vec<f64> = basis.chunks_exact(points).map(|phi| inner(phi, row)).collect();
            back_substitute(&gram, &mut w).map(|_| w)
        };
        let width = shape.inflation_columns();
        let profiles: Vec<f64> = self.part("profiles").iter().map(|&x| x.to_f64()).collect();
        for j in 0..shape.features() {
            let (mean, zeros) = (sums.mean(j).max(0.5 / sums.total), sums.zeros(j));
            let p = if shape.emission_model().is_zip() {
                let empty = exp(-mean);
                ((zeros - empty) / (1.0 - empty)).clamp(0.01, 0.9)
            } else {
                0.0
            };
            let rate = |k: usize| {
                (sums.counts[j * points + k] + PSEUDO * mean) / (sums.exposure[k] + PSEUDO) / (1.0 - p)
            };
            let row: Vec<f64> = match shape.emission_model() {
                EmissionModel::Zip(_) | EmissionModel::Poisson | EmissionModel::Multinomial => {
                    (0..points).map(|k| ln(rate(k))).collect()
                }
                EmissionModel::Bernoulli => {
                    let share = (1.0 - zeros).max(0.5 / sums.total);
                    let p = |k: usize| {
                        let p =
                            (sums.present[j * points + k] + PSEUDO * share) / (sums.documents[k] + PSEUDO);
                        p.min(1.0 - 0.5 / (sums.total + 1.0))
                    };
                    (0..points).map(|k| ln(p(k)) - ln_1p(-p(k))).collect()
                }
                EmissionModel::Gaussian => (0..points)
                    .map(|k| {
                        (sums.counts[j * points + k] + PSEUDO * sums.mean(j)) / (sums.documents[k] + PSEUDO)
                    })
                    .collect(),
            };
            if let Some(w) = least_squares(&row) {
                write(self.part_mut("weights"), j * columns, &w);
            }
            let eta = ln(p) - ln_1p(-p);
            match shape.emission_model() {
                // Covariates but the intercept, which is their first, begin without effect.
                EmissionModel::Zip(Inflation::Document) => {
                    let mut gamma = vec![0.0; width];
                    if let (Some(gamma), Some(&g)) = (gamma.first_mut(), profiles.first())
                        && g != 0.0
                    {
                        *gamma = eta / g;
                    }
                    write(self.part_mut("inflation"), j * width, &gamma);
                }
                EmissionModel::Zip(Inflation::Latent) => {
                    let mut gamma = vec![0.0; width];
                    gamma.last_mut().into_iter().for_each(|gamma| *gamma = eta);
                    write(self.part_mut("inflation"), j * width, &gamma);
                }
                _ => {}
            }
        }
        if shape.emission_model() == EmissionModel::Gaussian {
            let variance = sums.squares / (sums.total * shape.features() as f64);
            if variance > 0.0 {
                self.part_mut("precision").fill(T::from_f64(1.0 / variance));
            }
        }
    }
}

fn write<T: Real>(table: &mut [T], at: usize, row: &[f64]) {
    let table = table.iter_mut().skip(at);
    table.zip(row).for_each(|(x, &value)| *x = T::from_f64(value));
}

/// Sums over documents with responsibilities, `[feature][point]` and `[point]`.
struct InitialSums {
    counts: Vec<f64>,
    present: Vec<f64>,
    documents: Vec<f64>,
    exposure: Vec<f64>,
    of_feature: Vec<(f64, f64)>, // tokens and documents
    squares: f64,                // of distances from the means
    total: f64,                  // documents, at least 1
}

impl InitialSums {
    fn new<T: Real, D: Source<T>, S: AsRef<[T]> + AsMut<[T]>>(
        map: &Gtm<T, S>,
        documents: &D,
        scores: &[f64],
        spread: f64,
    ) -> Self {
        let (points, features) = (map.shape().points(), map.shape().features());
        let total = documents.documents() as f64;
        let mut sums = Self {
            counts: vec![0.0; points * features],
            present: vec![0.0; points * features],
            documents: vec![0.0; points],
            exposure: vec![0.0; points],
            of_feature: vec![(0.0, 0.0); features],
            squares: 0.0,
            total,
        };
        let axes = map.shape().axes();
        let mut own = vec![0.0; axes];
        for n in 0..documents.documents() {
            own.iter_mut()
                .enumerate()
                .for_each(|(axis, own)| *own = scores[axis * documents.documents() + n]);
            let r = map.initial_responsibilities(&own, spread);
            let length = documents.values(n).fold(0.0, |sum, (_, t)| sum + t.to_f64());
            let reference = map.reference().to_f64();
            let exposure = match documents.known_exposure(n) {
                Some(exposure) => exposure.to_f64(),
                None if reference > 0.0 => length.max(1.0) / reference,
                None => 1.0,
            };
            for (k, &r) in r.iter().enumerate() {
                sums.documents[k] += r;
                sums.exposure[k] += r * exposure;
            }
            for (j, t) in documents.values(n) {
                let t = t.to_f64();
                let (tokens, present) = &mut sums.of_feature[j];
                *tokens += t;
                *present += 1.0;
                sums.squares += t * t;
                let rows = sums.counts[j * points..].iter_mut().zip(&mut sums.present[j * points..]);
                for ((counts, present), &r) in rows.zip(&r) {
                    *counts += r * t;
                    *present += r;
                }
            }
        }
        for (tokens, _) in &sums.of_feature {
            sums.squares -= tokens * tokens / total;
        }
        sums
    }

    fn mean(&self, j: usize) -> f64 {
        self.of_feature[j].0 / self.total
    }
    fn zeros(&self, j: usize) -> f64 {
        1.0 - self.of_feature[j].1 / self.total
    }
}
