//! Random maps and documents, and the model written down naively, straight from the definitions: for property tests of
//! topographic maps and of what is built on them.
//!
//! ```
//! use countgrid_gtm::{EmissionModel, Options, testing::{Path, close, problem}};
//! use proptest::prelude::*;
//!
//! proptest!(ProptestConfig::with_cases(16), |(problem in problem())| {
//!     let learner = problem.learner::<f64>(EmissionModel::Poisson, Path::Fast, Options::default());
//!     let found = problem.e_step(&learner, &mut problem.sums(EmissionModel::Poisson, Path::Fast));
//!     let (expected, _) = problem.naive_posterior(learner.map(), Path::Fast);
//!     prop_assert!(close(found, expected, 1e-11));
//! });
//! ```
#![allow(clippy::missing_panics_doc, reason = "for tests, which fail by panicking")]

use std::vec;
use std::vec::Vec;

use countgrid_counts::{Dense, Event, Gaussian, Poisson, Zip};
use countgrid_em::{Fit, Learn, TablesExt, TablesMutExt};
use countgrid_math::{AlignedVec, Real};
use proptest::prelude::*;

use crate::{
    Basis, Documents, EmissionModel, Gtm, Inflation, Learner, Options, Priors, Shape, Statistics, grid_points,
};

/// A map that learns, in tables of its own.
pub type Map<T> = Learner<T, AlignedVec<T>, AlignedVec<f64>>;
/// Its statistics.
pub type Sums<T> = Statistics<T, AlignedVec<T>, AlignedVec<f64>>;

/// Documents and a map on a grid of 3 x 3 points with 4 RBFs and the constant. Tables are `[document][feature]`,
/// `[feature][column]`.
///
/// Example: [`testing`](crate::testing).
#[derive(Clone, Debug)]
pub struct Problem {
    /// How many features documents have.
    pub features: usize,
    /// `[document][feature]`, whole numbers.
    pub counts: Vec<f64>,
    /// `[feature][column]`.
    pub weights: Vec<f64>,
    /// `[feature][column]`, of which the emission model takes what it needs.
    pub inflation: Vec<f64>,
    /// `[point]`, a distribution.
    pub mixing: Vec<f64>,
    /// `[document]`, positive.
    pub exposure: Vec<f64>,
    /// `[document]`.
    pub covariate: Vec<f64>,
    /// The prior precision of weights and inflation.
    pub ridge: f64,
}

/// Latent points.
pub const POINTS: usize = 9;
/// Basis functions, the constant among them.
pub const COLUMNS: usize = 5;

/// Two to four features, two to eight documents.
///
/// Example: [`testing`](crate::testing).
pub fn problem() -> impl Strategy<Value = Problem> {
    (2..5usize, 2..9usize).prop_flat_map(|(features, documents)| {
        let count = prop_oneof![2 => Just(0.0), 3 => (0..7u8).prop_map(f64::from)];
        (
            prop::collection::vec(count, features * documents),
            prop::collection::vec(-1.5..1.5f64, features * COLUMNS),
            prop::collection::vec(-1.5..1.0f64, features * COLUMNS),
            prop::collection::vec(0.1..1.0f64, POINTS),
            prop::collection::vec(0.3..3.0f64, documents),
            prop::collection::vec(-1.0..1.0f64, documents),
            0.01..1.0f64,
        )
            .prop_map(move |(counts, weights, inflation, mut mixing, exposure, covariate, ridge)| {
                let total: f64 = mixing.iter().sum();
                mixing.iter_mut().for_each(|x| *x /= total);
                Problem { features, counts, weights, inflation, mixing, exposure, covariate, ridge }
            })
    })
}

/// Any emission model.
///
/// Example: [`testing`](crate::testing).
pub fn emission_model() -> impl Strategy<Value = EmissionModel> {
    prop::sample::select(&EmissionModel::ALL[..])
}

/// The latent points `[axis][point]` and the basis functions `[column][point]`.
///
/// Example: [`testing`](crate::testing).
#[must_use]
pub fn latent() -> (Vec<f64>, Vec<f64>) {
    let (mut points, mut centres) = (vec![0.0; 2 * POINTS], [0.0; 8]);
    grid_points(3, 3, &mut points).unwrap();
    grid_points(2, 2, &mut centres).unwrap();
    let mut phi = vec![0.0; COLUMNS * POINTS];
    Basis::rbf(&centres, 2, 1.0).unwrap().table(&points, &mut phi).unwrap();
    (points, phi)
}

/// What a map is asked for, and so which path it takes.
///
/// Example: [`testing`](crate::testing).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Path {
    /// Nothing that would need the general path.
    Fast,
    /// The general path, for what does not need it.
    General,
    /// Exposures, and covariates where the emission model has them.
    Everything,
}

impl Problem {
    /// How many documents there are.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.counts.len() / self.features
    }
    /// Their counts.
    #[must_use]
    pub fn bags(&self) -> Dense<'_, f64> {
        Dense::new(self.features, &self.counts).unwrap()
    }
    /// The sizes of a map for them.
    #[must_use]
    pub fn shape(&self, emission_model: EmissionModel, path: Path) -> Shape {
        let shape = Shape::new(emission_model, POINTS, 2, COLUMNS, self.features).unwrap();
        match path {
            Path::Fast => shape,
            Path::Everything if emission_model == EmissionModel::Zip(Inflation::Document) => {
                shape.with_profiles(self.documents(), 2).unwrap()
            }
            _ => shape.general(),
        }
    }
    /// The map.
    #[must_use]
    pub fn map<T: Real>(&self, emission_model: EmissionModel, path: Path) -> Gtm<T, AlignedVec<T>> {
        let cast = |x: &[f64]| x.iter().map(|&x| T::from_f64(x)).collect::<Vec<T>>();
        let (points, phi) = latent();
        let priors =
            Priors { weights: self.ridge, constant: 0.01, inflation: self.ridge, inflation_mean: -1.0 };
        let shape = self.shape(emission_model, path);
        let mut map = Gtm::allocate(shape, &cast(&points), &cast(&phi), priors).unwrap();
        map.set("weights", &cast(&self.weights)).unwrap();
        map.set("mixing", &cast(&self.mixing)).unwrap();
        let width = map.table("inflation").unwrap().len() / self.features;
        if width > 0 {
            let rows = self.inflation.chunks_exact(COLUMNS).flat_map(|row| row[..width].to_vec());
            map.set("inflation", &cast(&rows.collect::<Vec<_>>())).unwrap();
        }
        if shape.covariates() == 2 {
            let ones = vec![1.0; self.documents()];
            map.set_profiles(&cast(&[ones, self.covariate.clone()].concat())).unwrap();
        }
        if emission_model == EmissionModel::Gaussian {
            map.set("precision", &[T::from_f64(0.7)]).unwrap();
        }
        map
    }
    /// The map, to be fitted.
    #[must_use]
    pub fn learner<T: Real>(&self, emission_model: EmissionModel, path: Path, options: Options) -> Map<T> {
        Learner::allocate(self.map(emission_model, path), options).unwrap()
    }
    /// Statistics for it.
    #[must_use]
    pub fn sums<T: Real>(&self, emission_model: EmissionModel, path: Path) -> Sums<T> {
        Statistics::allocate(self.shape(emission_model, path)).unwrap()
    }
    /// A profile of covariates for each document.
    #[must_use]
    pub fn profiles(&self) -> Vec<usize> {
        (0..self.documents()).collect()
    }
    /// Runs with the documents of a path.
    pub fn with_documents<R>(
        &self,
        emission_model: EmissionModel,
        path: Path,
        run: impl FnOnce(Documents<'_, Dense<'_, f64>, f64>) -> R,
    ) -> R {
        let (mut documents, profiles) = (Documents::new(self.bags()), self.profiles());
        if path == Path::Everything
            && matches!(emission_model, EmissionModel::Zip(_) | EmissionModel::Poisson)
        {
            documents = documents.with_exposure(&self.exposure).unwrap();
        }
        if path == Path::Everything && emission_model == EmissionModel::Zip(Inflation::Document) {
            documents = documents.with_profiles(&profiles).unwrap();
        }
        run(documents)
    }
    /// Clears the sums, places all documents and returns the free energy.
    pub fn e_step(&self, learner: &Map<f64>, sums: &mut Sums<f64>) -> f64 {
        let (emission_model, shape) = (learner.map().shape().emission_model(), learner.map().shape());
        let path = match (shape.is_general(), shape.covariates()) {
            (false, _) => Path::Fast,
            (true, 1) => Path::General,
            _ => Path::Everything,
        };
        sums.clear();
        self.with_documents(emission_model, path, |documents| learner.expectation(&documents, sums).unwrap())
    }

    /// `ln p(t_n | k)` of every document and point, cell by cell from the distributions of counts.
    #[must_use]
    pub fn naive(&self, map: &Gtm<f64, AlignedVec<f64>>, path: Path) -> Vec<Vec<f64>> {
        let emission_model = map.shape().emission_model();
        let (_, phi) = latent();
        let row = |table: &[f64], j: usize, k: usize| -> f64 {
            (0..COLUMNS).map(|m| table[j * COLUMNS + m] * phi[m * POINTS + k]).sum()
        };
        let weights = map.table("weights").unwrap();
        let inflation = map.table("inflation").unwrap();
        let everything = path == Path::Everything;
        let eta = |n: usize, j: usize, k: usize| match emission_model {
            EmissionModel::Zip(Inflation::Latent) => row(inflation, j, k),
            _ if everything => inflation[2 * j] + inflation[2 * j + 1] * self.covariate[n],
            _ => inflation[j],
        };
        (0..self.documents())
            .map(|n| {
                let exposure = if everything { self.exposure[n] } else { 1.0 };
                let own = &self.counts[n * self.features..][..self.features];
                (0..POINTS)
                    .map(|k| {
                        let f: Vec<f64> = (0..self.features).map(|j| row(weights, j, k)).collect();
                        if emission_model == EmissionModel::Multinomial {
                            let total: f64 = f.iter().map(|f| f.exp()).sum();
                            let p: Vec<f64> = f.iter().map(|f| f.exp() / total).collect();
                            let emission_model = countgrid_counts::Multinomial::from_ln(
                                p.iter().map(|p| p.ln()).collect::<Vec<_>>(),
                            );
                            return emission_model.unwrap().ln_density(own.iter().copied().enumerate());
                        }
                        let cells =
                            own.iter().zip(&f).enumerate().map(|(j, (&t, &f))| match emission_model {
                                EmissionModel::Zip(_) => {
                                    let emission_model = Zip::from_ln_rate(eta(n, j, k), f).unwrap();
                                    emission_model.with_exposure(exposure).unwrap().ln_density(t)
                                }
                                EmissionModel::Poisson => Poisson::from_ln_rate(f)
                                    .unwrap()
                                    .with_exposure(exposure)
                                    .unwrap()
                                    .ln_density(t),
                                EmissionModel::Bernoulli => {
                                    countgrid_counts::Bernoulli::from_logit(f).unwrap().ln_density(t)
                                }
                                _ => Gaussian::new(f, map.precision()).unwrap().ln_density(t),
                            });
                        cells.sum()
                    })
                    .collect()
            })
            .collect()
    }
    /// `-Σ_n ln Σ_k α_k p(t_n | k)` and the responsibilities.
    #[must_use]
    pub fn naive_posterior(&self, map: &Gtm<f64, AlignedVec<f64>>, path: Path) -> (f64, Vec<Vec<f64>>) {
        let mut free_energy = 0.0;
        let r = self.naive(map, path).into_iter().map(|scores| {
            let joint: Vec<f64> = scores.iter().zip(map.mixing()).map(|(s, a)| s + a.ln()).collect();
            let most = joint.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = joint.iter().map(|s| (s - most).exp()).sum();
            free_energy -= most + total.ln();
            joint.iter().map(|s| (s - most).exp() / total).collect()
        });
        let r = r.collect();
        (free_energy, r)
    }
}

/// A fit, and its objective before every update and after the last.
///
/// Example: [`testing`](crate::testing).
#[must_use]
pub fn chain(
    problem: &Problem,
    emission_model: EmissionModel,
    path: Path,
    options: Options,
    iterations: usize,
) -> (Map<f64>, Vec<f64>) {
    let (mut learner, mut sums) =
        (problem.learner(emission_model, path, options), problem.sums(emission_model, path));
    let mut objective = Vec::new();
    for _ in 0..iterations {
        objective.push(problem.e_step(&learner, &mut sums) + learner.penalty());
        learner.maximization(&mut sums).unwrap();
    }
    objective.push(problem.e_step(&learner, &mut sums) + learner.penalty());
    (learner, objective)
}

/// Within `tolerance` of `1 + max(|x|, |y|)`.
///
/// Example: [`testing`](crate::testing).
#[must_use]
pub fn close(x: f64, y: f64, tolerance: f64) -> bool {
    (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs()))
}
