//! Magnification against Fisher's information by its definition: the mean product of derivatives of log-probabilities.

use countgrid_counts::{Bernoulli, Event, Poisson, Zip};
use countgrid_gtm::{
    AlignedVec, Basis, EmissionModel, Gtm, GtmError, Inflation, Priors, Shape, magnification_scratch_len,
};

const FEATURES: usize = 4;
const CENTRES: usize = 5;
const COLUMNS: usize = CENTRES + 1;
const MOST: u32 = 60;

/// Numbers within `±size`, no two of them alike.
fn some(count: usize, size: f64, seed: f64) -> Vec<f64> {
    (1..=count).map(|i| size * (seed * (i * i) as f64).sin()).collect()
}

struct Case {
    map: Gtm<f64, AlignedVec<f64>>,
    weights: Vec<f64>,
    inflation: Vec<f64>,
    centres: Vec<f64>,
    axes: usize,
}

impl Case {
    fn new(model: EmissionModel, axes: usize) -> Self {
        let centres = some(CENTRES * axes, 1.0, 2.3);
        let (points, mut phi) = (some(3 * axes, 1.0, 1.7), [0.0; 3 * COLUMNS]);
        Basis::rbf(&centres, axes, 0.8).unwrap().table(&points, &mut phi).unwrap();
        let mut shape = Shape::new(model, 3, axes, COLUMNS, FEATURES).unwrap();
        let document = model == EmissionModel::Zip(Inflation::Document);
        if document {
            shape = shape.with_profiles(2, 2).unwrap();
        }
        let mut map = Gtm::allocate(shape, &points, &phi, Priors::default()).unwrap();
        // Rates are a few; the information of one token is small unless terms are different.
        let size = if model == EmissionModel::Multinomial { 3.0 } else { 0.9 };
        let weights = some(FEATURES * COLUMNS, size, 1.3);
        map.set("weights", &weights).unwrap();
        let width = match model {
            EmissionModel::Zip(Inflation::Document) => 2,
            EmissionModel::Zip(Inflation::Latent) => COLUMNS,
            _ => 0,
        };
        let inflation = some(FEATURES * width, 0.9, 0.7);
        map.set("inflation", &inflation).unwrap();
        if document {
            map.set_profiles(&[1.0, 1.0, 0.5, -20.0]).unwrap(); // the second covariate of two profiles
        }
        Self { map, weights, inflation, centres, axes }
    }

    fn basis(&self) -> Basis<'_, f64> {
        Basis::rbf(&self.centres, self.axes, 0.8).unwrap()
    }

    fn product(&self, table: &[f64], j: usize, x: &[f64]) -> f64 {
        let mut row = [0.0; COLUMNS];
        self.basis().row(x, &mut row).unwrap();
        row.iter().zip(&table[j * COLUMNS..]).map(|(phi, w)| phi * w).sum()
    }

    /// `ln p(t_j | x)` for every feature and count; inflation is that of `at`. Of a multinomial those of one token.
    fn log_probabilities(&self, x: &[f64], at: &[f64]) -> Vec<Vec<f64>> {
        let f = |j: usize| self.product(&self.weights, j, x);
        let all = |event: &dyn Fn(f64) -> f64, most: u32| (0..most).map(|t| event(f64::from(t))).collect();
        let zip = |j: usize, eta: f64| {
            let event = Zip::from_ln_rate(eta, f(j)).unwrap();
            all(&|t| event.ln_density(t), MOST)
        };
        let model = self.map.shape().emission_model();
        if model == EmissionModel::Multinomial {
            let total: f64 = (0..FEATURES).map(|j| f(j).exp()).sum();
            return vec![(0..FEATURES).map(|j| f(j) - total.ln()).collect()];
        }
        let of = |j: usize| match model {
            // The covariates of the first profile are 1 and ½.
            EmissionModel::Zip(Inflation::Document) => {
                zip(j, self.inflation[2 * j] + 0.5 * self.inflation[2 * j + 1])
            }
            EmissionModel::Zip(Inflation::Latent) => zip(j, self.product(&self.inflation, j, at)),
            EmissionModel::Poisson => {
                let event = Poisson::from_ln_rate(f(j)).unwrap();
                all(&|t| event.ln_density(t), MOST)
            }
            _ => {
                let event = Bernoulli::from_logit(f(j)).unwrap();
                all(&|t| event.ln_density(t), 2)
            }
        };
        (0..FEATURES).map(of).collect()
    }

    /// `sqrt det g` with `g_ab = Σ p ∂_a ln p ∂_b ln p`, the derivatives by central differences of step 1e-5.
    fn stretching(&self, x: &[f64]) -> f64 {
        let h = 1e-5;
        let at = self.log_probabilities(x, x);
        let rest = at.iter().map(|row| (1.0 - row.iter().map(|p| p.exp()).sum::<f64>()).abs());
        assert!(rest.fold(0.0, f64::max) < 1e-12, "counts beyond {MOST} are rare");
        let derivatives: Vec<Vec<Vec<f64>>> = (0..self.axes)
            .map(|axis| {
                let moved = |step: f64| {
                    let mut there = x.to_vec();
                    there[axis] += step;
                    self.log_probabilities(&there, x)
                };
                let (up, down) = (moved(h), moved(-h));
                let slopes = |(up, down): (&Vec<f64>, &Vec<f64>)| {
                    up.iter().zip(down).map(|(up, down)| (up - down) / (2.0 * h)).collect()
                };
                up.iter().zip(&down).map(slopes).collect()
            })
            .collect();
        let g = |a: usize, b: usize| -> f64 {
            let terms = at.iter().enumerate().flat_map(|(j, row)| {
                let (of_a, of_b) = (&derivatives[a][j], &derivatives[b][j]);
                row.iter().zip(of_a.iter().zip(of_b)).map(|(ln_p, (a, b))| ln_p.exp() * a * b)
            });
            terms.sum()
        };
        let determinant = match self.axes {
            1 => g(0, 0),
            2 => g(0, 0) * g(1, 1) - g(0, 1) * g(0, 1),
            _ => {
                let minor = |a: usize, b: usize| g(1, a) * g(2, b) - g(1, b) * g(2, a);
                g(0, 0) * minor(1, 2) - g(0, 1) * minor(0, 2) + g(0, 2) * minor(0, 1)
            }
        };
        determinant.sqrt()
    }

    fn found(&self, x: &[f64]) -> f64 {
        let mut scratch = vec![0.0; magnification_scratch_len(self.map.shape())];
        let mut rows = vec![0.0; COLUMNS * (1 + self.axes)];
        self.map.magnification_at(&self.basis(), x, &mut rows, &mut scratch).unwrap()
    }
}

#[test] // differences of step h have errors of h² and u / h, 1e-10; a determinant has three factors of them
fn magnification_is_the_information_about_places() {
    for model in EmissionModel::ALL.into_iter().filter(|&model| model != EmissionModel::Gaussian) {
        for axes in 1..=3 {
            let case = Case::new(model, axes);
            for x in [[0.3, -0.4, 0.1], [-0.7, 0.2, 0.5]] {
                let (found, expected) = (case.found(&x[..axes]), case.stretching(&x[..axes]));
                assert!(expected > 1e-5, "{model:?} {axes}: {expected}");
                assert!((found - expected).abs() < 1e-6 * expected, "{model:?} {axes}: {found} {expected}");
            }
        }
    }
}

#[test] // of probabilities that overflow unless the highest is taken out
fn magnification_of_a_multinomial_does_not_depend_on_what_is_added_to_all() {
    let mut case = Case::new(EmissionModel::Multinomial, 2);
    let before = case.found(&[0.3, -0.4]);
    for added in [600.0, -600.0] {
        let mut weights = case.weights.clone();
        weights.iter_mut().skip(CENTRES).step_by(COLUMNS).for_each(|w| *w += added); // the constant column
        case.map.set("weights", &weights).unwrap();
        let after = case.found(&[0.3, -0.4]);
        // Differences of numbers of size 600: 1e-13 each.
        assert!((after - before).abs() < 1e-10 * before, "{added}: {after} {before}");
    }
}

#[test]
fn magnification_takes_what_it_says_and_no_less() {
    for (axes, needed) in [(1, 4), (2, 10), (3, 18)] {
        let case = Case::new(EmissionModel::Poisson, axes);
        // The metric, `axes` by `axes`, and two numbers for each axis.
        assert_eq!(magnification_scratch_len(case.map.shape()), needed);
        let (x, basis) = (vec![0.25; axes], case.basis());
        let run = |rows: usize, scratch: usize| {
            case.map.magnification_at(&basis, &x, &mut vec![0.0; rows], &mut vec![0.0; scratch])
        };
        let of_rows = COLUMNS * (1 + axes);
        let exact = run(of_rows, needed).unwrap();
        assert_eq!(run(of_rows + 3, needed + 2), Ok(exact));
        let short = |table, expected| Err(GtmError::Length { table, expected, found: expected - 1 });
        assert_eq!(run(of_rows - 1, needed), short("rows", of_rows));
        assert_eq!(run(of_rows, needed - 1), short("scratch", needed));
    }
}
