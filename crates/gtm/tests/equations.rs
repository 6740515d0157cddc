//! Numbered equations of the source against the formulas written out: bases, and one M-step.

#![allow(clippy::needless_range_loop, reason = "indices are those of the mathematics")]

use countgrid_em::{Learn, TablesExt};
use countgrid_gtm::testing::{COLUMNS, POINTS, Path, Problem, close, latent, problem};
use countgrid_gtm::{Basis, EmissionModel, Inflation, Options};
use countgrid_math::{sigmoid, softplus};
use proptest::prelude::*;

const ZIP: EmissionModel = EmissionModel::Zip(Inflation::Document);

/// `Φ`, `Φᵀ diag(v) Φ` and the like: `[column][row]`, curvatures and scores `[row]`.
struct Regression<'a> {
    table: &'a [f64],
    precision: &'a [f64],
    mean: &'a [f64],
}

impl Regression<'_> {
    fn rows(&self) -> usize {
        self.table.len() / self.precision.len()
    }

    fn predictor(&self, w: &[f64]) -> Vec<f64> {
        let rows = self.rows();
        (0..rows).map(|k| w.iter().enumerate().map(|(m, w)| w * self.table[m * rows + k]).sum()).collect()
    }

    fn ridge(&self, w: &[f64]) -> f64 {
        w.iter().zip(self.precision).zip(self.mean).map(|((w, b), g)| 0.5 * b * (w - g) * (w - g)).sum()
    }

    /// `w + s d`, `d = H⁻¹ g`, with the first `s` of 1, ½, ¼, ... that raises the value by 1e-4 of what `d` promises.
    fn step(
        &self,
        w: &[f64],
        value: impl Fn(&[f64]) -> f64,
        score: impl Fn(&[f64]) -> Vec<f64>,
        curvature: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Vec<f64> {
        let (rows, m) = (self.rows(), w.len());
        let f = self.predictor(w);
        let (score, curvature) = (score(&f), curvature(&f));
        let phi = |m: usize, k: usize| self.table[m * rows + k];
        let mut system = vec![vec![0.0; m + 1]; m];
        for a in 0..m {
            for b in 0..m {
                system[a][b] = (0..rows).map(|k| phi(a, k) * curvature[k] * phi(b, k)).sum();
            }
            system[a][a] += self.precision[a];
            system[a][m] = (0..rows).map(|k| phi(a, k) * score[k]).sum::<f64>();
            system[a][m] -= self.precision[a] * (w[a] - self.mean[a]);
        }
        let gradient: Vec<f64> = system.iter().map(|row| row[m]).collect();
        let d = solved(system);
        let gain: f64 = gradient.iter().zip(&d).map(|(g, d)| g * d).sum();
        let objective = |w: &[f64]| value(&self.predictor(w)) - self.ridge(w);
        let before = objective(w);
        let sizes = (0..40).map(|halvings| 0.5_f64.powi(halvings));
        let mut trials = sizes.map(|s| (s, w.iter().zip(&d).map(|(w, d)| w + s * d).collect::<Vec<_>>()));
        let accepted = trials.find(|(s, trial)| objective(trial) >= before + 1e-4 * s * gain);
        if gain > 1e-12 { accepted.map_or_else(|| w.to_vec(), |(_, w)| w) } else { w.to_vec() }
    }
}

/// Gaussian elimination with the largest pivot of each column; the right side is the last column.
fn solved(mut system: Vec<Vec<f64>>) -> Vec<f64> {
    let n = system.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| system[a][column].abs().total_cmp(&system[b][column].abs()));
        system.swap(column, pivot.unwrap());
        let row = system[column].clone();
        for (_, other) in system.iter_mut().enumerate().filter(|(at, _)| *at != column) {
            let factor = other[column] / row[column];
            other.iter_mut().zip(&row).for_each(|(x, p)| *x -= factor * p);
        }
    }
    system.iter().enumerate().map(|(at, row)| row[n] / row[at]).collect()
}

/// One M-step with one Newton step for each column, from naive responsibilities and indicators.
fn m_step(problem: &Problem, path: Path) -> Result<(), TestCaseError> {
    let options = Options { newton_steps: 1, ..Options::default() };
    let mut learner = problem.learner::<f64>(ZIP, path, options);
    let (map, (_, phi), documents) = (problem.map::<f64>(ZIP, path), latent(), problem.documents());
    let (_, r) = problem.naive_posterior(&map, path);
    let mut sums = problem.sums(ZIP, path);
    problem.e_step(&learner, &mut sums);
    learner.maximization(&mut sums).unwrap();

    for k in 0..POINTS {
        let mean = r.iter().map(|r| r[k]).sum::<f64>() / documents as f64;
        prop_assert!(close(learner.map().mixing()[k], mean, 1e-12));
    }
    let everything = path == Path::Everything;
    let exposure = |n: usize| if everything { problem.exposure[n] } else { 1.0 };
    let covariates = if everything { 2 } else { 1 };
    let g: Vec<f64> = (0..covariates * documents)
        .map(|at| if at < documents { 1.0 } else { problem.covariate[at - documents] })
        .collect();
    for j in 0..problem.features {
        let (w, gamma) = (map.row("weights", j).unwrap(), map.row("inflation", j).unwrap());
        let of_gamma = Regression {
            table: &g,
            precision: &[problem.ridge; 2][..covariates],
            mean: &[-1.0, 0.0][..covariates],
        };
        let mut precision = [problem.ridge; COLUMNS];
        precision[COLUMNS - 1] = 0.01;
        let of_weights = Regression { table: &phi, precision: &precision, mean: &[0.0; COLUMNS] };
        let (eta, rate) = (of_gamma.predictor(gamma), of_weights.predictor(w));
        let (mut a, mut b, mut c) = ([0.0; POINTS], [0.0; POINTS], vec![0.0; documents]);
        for n in 0..documents {
            let t = problem.counts[n * problem.features + j];
            for k in 0..POINTS {
                let z = if t == 0.0 { sigmoid(eta[n] + exposure(n) * rate[k].exp()) } else { 0.0 };
                a[k] += r[n][k] * t;
                b[k] += r[n][k] * exposure(n) * (1.0 - z);
                c[n] += r[n][k] * z;
            }
        }
        // Eq. 8, corrected: score Φᵀ(A - B λ), full Hessian Φᵀ diag(B λ) Φ.
        let expected = of_weights.step(
            w,
            |f| f.iter().enumerate().map(|(k, f)| a[k] * f - b[k] * f.exp()).sum(),
            |f| f.iter().enumerate().map(|(k, f)| a[k] - b[k] * f.exp()).collect(),
            |f| f.iter().enumerate().map(|(k, f)| b[k] * f.exp()).collect(),
        );
        let found = learner.map().row("weights", j).unwrap();
        // The ridge is at least 0.01 and curvatures some ten: a condition number of 1e4, and of its square at worst.
        prop_assert!(found.iter().zip(&expected).all(|(x, y)| close(*x, *y, 1e-8)), "{found:?} {expected:?}");
        // Eq. 9, corrected: score Gᵀ(C - p), Hessian Gᵀ diag(p (1 - p)) G.
        let expected = of_gamma.step(
            gamma,
            |f| f.iter().enumerate().map(|(n, f)| c[n] * f - softplus(*f)).sum(),
            |f| f.iter().enumerate().map(|(n, f)| c[n] - sigmoid(*f)).collect(),
            |f| f.iter().map(|f| sigmoid(*f) * sigmoid(-*f)).collect(),
        );
        let found = learner.map().row("inflation", j).unwrap();
        prop_assert!(found.iter().zip(&expected).all(|(x, y)| close(*x, *y, 1e-8)), "{found:?} {expected:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn basis_functions_are_their_formulas(
        x in prop::array::uniform2(-2.0..2.0f64), centres in prop::array::uniform6(-2.0..2.0f64), width in 0.2..3.0f64,
    ) {
        // `[axis][centre]`
        let (mut sinh, mut rbf) = ([f64::NAN; 4], [f64::NAN; 4]);
        Basis::sinh(&centres, 2).unwrap().row(&x, &mut sinh).unwrap();
        Basis::rbf(&centres, 2, width).unwrap().row(&x, &mut rbf).unwrap();
        for m in 0..3 {
            let (a, b) = (centres[m], centres[3 + m]);
            prop_assert!(close(sinh[m], (x[0] * a + x[1] * b).sinh(), 1e-14));
            let squared = (x[0] - a) * (x[0] - a) + (x[1] - b) * (x[1] - b);
            prop_assert!(close(rbf[m], (-squared / (2.0 * width * width)).exp(), 1e-14));
        }
        prop_assert_eq!((sinh[3], rbf[3]), (1.0, 1.0)); // the constant column
    }

    #[test]
    fn an_m_step_is_one_damped_newton_step_for_each_column(problem in problem()) {
        m_step(&problem, Path::Fast)?;
        m_step(&problem, Path::Everything)?;
    }
}
