//! Gradients, steps and priors, by value.

use crate::common;

use common::*;
use countgrid_counts::Dense;
use countgrid_harmonium::{
    Gradient, Guard, Harmonium, HarmoniumError as E, Prior, Rates, Shape, Sharing, Step, empirical_bayes,
};

#[test]
fn a_gradient_of_data_sums_documents_as_often_as_their_weight() {
    const DOCUMENTS: usize = 11; // more than one vector of them
    for shape in kinds(3, 2) {
        let (model, features) = (random(shape, 0.5, 0.3, 3, 6), shape.features());
        // Sizes are 1, 2, 3.
        let counts: Vec<u8> = (0..DOCUMENTS).flat_map(|t| [t % 2, t % 3, t % 4].map(|x| x as u8)).collect();
        let z: Vec<f64> = (0..DOCUMENTS * features).map(|at| 0.3 * at as f64 - 2.0).collect();
        let bags = Dense::new(3, &counts).unwrap();
        let mut expected = [
            vec![1.0; 3],
            vec![1.0; 6],
            vec![1.0; if is_rate(&shape) { 2 } else { features }],
            vec![1.0; 2 * features],
        ];
        for t in 0..DOCUMENTS {
            let (x, z) = (&counts[3 * t..3 * t + 3], &z[features * t..features * (t + 1)]);
            let mut h = [0.0; 2];
            model.topics(&bags, t, z, &mut h).unwrap();
            let [alpha, w, beta, u] = &mut expected;
            for (i, &x) in x.iter().enumerate() {
                alpha[i] += -0.4 * f64::from(x);
                (0..2).for_each(|j| w[2 * i + j] += -0.4 * f64::from(x) * h[j]);
            }
            for (c, z) in z.iter().enumerate() {
                beta[c] += -0.4 * z;
                (0..2).for_each(|j| u[2 * c + j] += -0.4 * z * h[j]);
            }
            if is_rate(&shape) {
                (0..2).for_each(|j| beta[j] += -0.4 * h[j]);
            }
        }
        let mut sums = Gradient::new(shape, vec![1.0; shape.gradient_len()]).unwrap(); // it adds to what is there
        model.add_data(&bags, &z, -0.4, &mut sums, &mut scratch(&shape)).unwrap();
        for (found, expected) in sums.parts().into_iter().zip(&expected) {
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 1e-12 * (1.0 + expected.abs()),
                    "{shape:?}: {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn a_step_out_of_the_numbers_says_the_larger_rate() {
    let shape = Shape::words(2, 1).unwrap();
    let mut gradient = Gradient::allocate(shape).unwrap();
    gradient.parts_mut()[1].fill(f64::MAX);
    for (biases, couplings, step) in [(1.0, 4.0, 4.0), (8.0, 4.0, 8.0), (-8.0, 4.0, -8.0), (1.0, -4.0, -4.0)]
    {
        let mut model = random(shape, 0.5, 0.5, 1, 1);
        let before = model.clone();
        let found = model.ascend(&gradient, Rates { biases, couplings }, &mut scratch(&shape));
        assert_eq!(found, Err(E::Diverged { table: "w", step }));
        assert_eq!(model.w(), before.w());
    }
}

/// `I - Uᵀ diag(s) U` of two features and two topics: both have to count.
#[test]
fn a_step_of_any_feature_out_of_the_models_is_refused() {
    let shape = Shape::dual_wing(1, 2, 2).unwrap();
    let tables = [vec![0.0; 3], vec![1.0], vec![0.0; 2], vec![1.0; 2], vec![0.9, 0.0, 0.0, 0.9]].concat();
    let model = Harmonium::new(shape, tables, &mut [0.0; 4]).unwrap();
    for at in [0, 3] {
        let mut gradient = Gradient::allocate(shape).unwrap();
        gradient.parts_mut()[3][at] = 1.0;
        for (couplings, expected) in [(0.05, Step::Taken), (0.2, Step::Refused)] {
            let mut moved = model.clone();
            let step = moved.ascend(&gradient, Rates { biases: 0.0, couplings }, &mut scratch(&shape));
            assert_eq!(step, Ok(expected));
            assert_eq!(moved.u() == model.u(), expected == Step::Refused);
        }
    }
}

#[test]
fn a_start_needs_a_spread() {
    let shape = Shape::words(2, 1).unwrap();
    for spread in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        let found = Harmonium::<f64, _>::allocate(shape, 1, spread, &mut draws(1)).map(|_| ());
        assert_eq!(found, Err(E::Setting { name: "spread" }), "{spread}");
    }
}

#[test]
fn a_prior_has_a_row_for_every_word_and_feature() {
    let shape = Shape::dual_wing(2, 1, 1).unwrap();
    let mut model = random(shape, 0.1, 0.1, 1, 1);
    let gradient = Gradient::allocate(shape).unwrap();
    for rows in [2, 3, 4] {
        let prior = Prior::new(vec![0.0; rows], vec![1.0; rows]).unwrap();
        let expected =
            if rows == 3 { Ok(()) } else { Err(E::Length { table: "prior", expected: 3, found: rows }) };
        assert_eq!(prior.log_density(&model).map(|_| ()), expected);
        let step = model.langevin(&gradient, &prior, 0.01, &mut draws(1), &mut scratch(&shape));
        assert_eq!(step.map(|_| ()), expected);
    }
}

fn guarded(samples: &[f64], guard: Guard) -> Result<(f64, f64), E> {
    let (mut mean, mut variance) = ([0.0], [0.0]);
    empirical_bayes(samples, samples.len(), Sharing::PerRow, guard, &mut mean, &mut variance)?;
    Ok((mean[0], variance[0]))
}

/// `σ² = (SS + 2b) / (n + 2a + 2)`, here with a sum of squares of 2.
#[test]
fn an_inverse_gamma_guard_by_hand() {
    let guard = |a, b| guarded(&[0.0, 2.0], Guard::InverseGamma { a, b });
    assert_eq!(guard(0.25, 2.5), Ok((1.0, 7.0 / 4.5)));
    assert_eq!(guard(0.0, 0.0), Ok((1.0, 0.5)));
    assert_eq!(guarded(&[0.0, 2.0], Guard::Floor(1.25)), Ok((1.0, 1.25)));
    for (a, b) in [(-1.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        assert_eq!(guard(a, b), Err(E::Setting { name: "guard" }), "{a} {b}");
    }
}

/// A common offset leaves the variance: it is summed around the mean. Rounding of the mean, by `δ`, adds `δ²`.
#[test]
fn a_variance_far_from_zero_does_not_cancel() {
    let (mean, variance) = guarded(&[1e8, 1e8, 1e8 + 1.0], Guard::Floor(0.0)).unwrap();
    assert!((mean - 1e8 - 1.0 / 3.0).abs() < 2e-8, "{mean}");
    assert!((variance - 2.0 / 9.0).abs() < 2e-8, "{variance}");
}
