//! Principal scores against the eigenvectors of the whole covariance matrix, and what does not change them.

use countgrid_counts::Dense;
use countgrid_em::TablesExt;
use countgrid_gtm::testing::{COLUMNS, POINTS, latent};
use countgrid_gtm::{
    Documents, EmissionModel, Gtm, GtmError, Inflation, Priors, Reals, Shape, principal_scores,
};
use nalgebra::{DMatrix, SymmetricEigen};

/// A fixed series of numbers in `[0, 1)`.
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// Rows whose variances along the axes of a random frame fall by a factor of `decay` each.
fn rows(documents: usize, features: usize, decay: f64) -> Vec<f64> {
    let mut state = 3;
    let frame = DMatrix::from_fn(features, features, |_, _| random(&mut state) - 0.5).qr().q();
    let cloud = DMatrix::from_fn(documents, features, |_, axis| {
        (random(&mut state) - 0.5) * decay.powf(axis as f64 / 2.0)
    });
    let rows = cloud * frame.transpose();
    (0..documents * features).map(|at| rows[(at / features, at % features)] + 0.25).collect()
}

/// Scores `[axis][document]` from all eigenvectors of the covariance of the columns.
fn expected(rows: &[f64], features: usize, axes: usize) -> Vec<f64> {
    let n = rows.len() / features;
    let mut centred = DMatrix::from_row_slice(n, features, rows);
    for mut column in centred.column_iter_mut() {
        let mean = column.sum() / n as f64;
        column.add_scalar_mut(-mean);
    }
    let eigen = SymmetricEigen::new(centred.transpose() * &centred / n as f64);
    let mut order: Vec<usize> = (0..features).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    let scores = order.iter().take(axes).flat_map(|&axis| {
        let direction = eigen.eigenvectors.column(axis);
        let largest = direction.iter().copied().max_by(|x, y| x.abs().total_cmp(&y.abs())).unwrap();
        let factor = largest.signum() / eigen.eigenvalues[axis].sqrt();
        (&centred * direction).iter().map(|x| factor * x).collect::<Vec<_>>()
    });
    scores.collect()
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len());
    for (at, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!((x - y).abs() < tolerance, "{what}, {at}: {x} {y}");
    }
}

/// Of fewer than 24 documents, of fewer features, and of more of either. Variances that fall by a third leave gaps of as
/// much, so that eigenvectors of both are good to some 1e-15 and 1e-7, the root of what the iteration ends at.
#[test]
fn scores_are_those_of_the_covariance() {
    let exact = [(5, 9), (9, 5), (24, 60), (60, 24), (23, 23)].map(|sizes| (sizes, 1e-10));
    let iterated = [(60, 50), (50, 60)].map(|sizes| (sizes, 1e-6));
    for ((documents, features), tolerance) in exact.into_iter().chain(iterated) {
        let rows = rows(documents, features, 0.7);
        let found = principal_scores(&Reals::new(features, &rows).unwrap(), 3).unwrap();
        let what = format!("{documents} of {features}");
        assert_close(&found, &expected(&rows, features, 3), tolerance, &what);
    }
}

#[test]
fn scores_of_counts_are_those_of_square_roots_of_shares() {
    let mut state = 8;
    let counts: Vec<f64> = (0..40 * 30).map(|_| (random(&mut state) * 6.0 - 2.0).max(0.0).floor()).collect();
    let roots = counts.chunks_exact(30).flat_map(|row| {
        let length: f64 = row.iter().sum();
        row.iter().map(move |t| (t / length).sqrt()).collect::<Vec<_>>()
    });
    let bags = Dense::new(30, &counts).unwrap();
    let found = principal_scores(&Documents::<_, f64>::new(bags), 2).unwrap();
    // Neighbouring variances of random counts are within a few per cent of one another.
    assert_close(&found, &expected(&roots.collect::<Vec<_>>(), 30, 2), 1e-4, "counts");
}

#[test] // of rows; where no iteration ends earlier or later a power of two changes no digit
fn scores_do_not_depend_on_the_unit() {
    for (documents, features) in [(60, 50), (9, 30), (30, 9)] {
        let rows = rows(documents, features, 0.7);
        let scores = |unit: f64| {
            let rows: Vec<f64> = rows.iter().map(|x| x * unit).collect();
            principal_scores(&Reals::new(features, &rows).unwrap(), 2).unwrap()
        };
        let one = scores(1.0);
        for exponent in [-40, -20, 20, 40] {
            let what = format!("{documents} of {features} times 2^{exponent}");
            assert_close(&scores(2.0_f64.powi(exponent)), &one, 1e-6, &what);
        }
    }
}

#[test]
fn as_many_axes_as_asked_for_have_scores() {
    let rows = rows(40, 36, 0.7);
    let scores = principal_scores(&Reals::new(36, &rows).unwrap(), 30).unwrap();
    for own in scores.chunks_exact(40) {
        let variance = own.iter().map(|x| x * x).sum::<f64>() / 40.0;
        assert!((variance - 1.0).abs() < 1e-9, "{variance}");
    }
}

/// The iteration begins with directions that the first documents do not decide.
#[test]
fn equal_documents_at_the_beginning_hide_no_direction() {
    let mut rows = rows(60, 50, 0.7);
    let first = rows[..50].to_vec();
    rows.chunks_exact_mut(50).take(30).for_each(|row| row.copy_from_slice(&first));
    let found = principal_scores(&Reals::new(50, &rows).unwrap(), 2).unwrap();
    assert_close(&found, &expected(&rows, 50, 2), 1e-6, "half of them equal");
}

#[test]
fn a_document_at_the_mean_and_documents_without_variance_are_at_the_origin() {
    // Three documents of four features on a line, the third at their mean.
    let rows = [1.0, 2.0, 0.0, -1.0, -1.0, -2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let scores = principal_scores(&Reals::new(4, &rows).unwrap(), 2).unwrap();
    let end = 1.5_f64.sqrt(); // of -a, 0, a
    assert_close(&scores[..3], &[end, -end, 0.0], 1e-14, "on a line");
    assert_eq!(scores[3..], [0.0; 3]);
    for (documents, features) in [(4, 3), (3, 4), (30, 40)] {
        let zeros = vec![0.0; documents * features];
        let scores = principal_scores(&Reals::new(features, &zeros).unwrap(), 2).unwrap();
        assert_eq!(scores, vec![0.0; 2 * documents], "{documents} of {features}");
    }
}

/// A direction counts if its deviation is above 1e-7 of that of all, whatever the number of documents is.
#[test]
fn small_variances_count_and_those_of_rounding_do_not() {
    let n = 400;
    for (share, counts) in [(3e-7, true), (3e-8, false)] {
        // Along (0.6, 0.8) they are ±0.01, and ±0.01 of the share along (-0.8, 0.6).
        let sign = |bit: usize, at: usize| if at >> bit & 1 == 0 { 0.01 } else { -0.01 };
        let rows: Vec<f64> = (0..n)
            .flat_map(|at| {
                let (long, short) = (sign(0, at), share * sign(1, at));
                [0.6 * long - 0.8 * short, 0.8 * long + 0.6 * short]
            })
            .collect();
        let scores = principal_scores(&Reals::new(2, &rows).unwrap(), 2).unwrap();
        for at in 0..n {
            assert!((scores[at] - 100.0 * sign(0, at)).abs() < 1e-6, "{at}");
            // The largest loading, -0.8, is made positive. Rounding of 1e-18 is 1e-9 of 3e-9.
            let expected = if counts { -100.0 * sign(1, at) } else { 0.0 };
            assert!((scores[n + at] - expected).abs() < 1e-6, "{share} {at}: {}", scores[n + at]);
        }
    }
}

#[test]
fn the_largest_loading_is_positive() {
    for (loadings, sign) in [([1.0, -3.0, 2.0], -1.0), ([3.0, -1.0, 2.0], 1.0), ([-1.0, -2.0, -4.0], -1.0)] {
        let rows: Vec<f64> = (0..10).flat_map(|n| loadings.map(|x| x * (f64::from(n) - 4.5))).collect();
        let scores = principal_scores(&Reals::new(3, &rows).unwrap(), 1).unwrap();
        let deviation = 8.25_f64.sqrt(); // of 0 to 9
        for (n, score) in scores.iter().enumerate() {
            assert!((score - sign * (n as f64 - 4.5) / deviation).abs() < 1e-12, "{loadings:?} {n}: {score}");
        }
    }
}

#[test]
fn of_equal_loadings_the_first_is_positive() {
    for (loadings, sign) in [([1.0, -1.0], 1.0), ([-1.0, 1.0], -1.0), ([2.0, 2.0], 1.0), ([-2.0, -2.0], -1.0)]
    {
        let rows: Vec<f64> = (0..10).flat_map(|n| loadings.map(|x| x * (f64::from(n) - 4.5))).collect();
        let scores = principal_scores(&Reals::new(2, &rows).unwrap(), 1).unwrap();
        assert!(scores[9] * sign > 1.0, "{loadings:?}: {}", scores[9]);
    }
}

#[test]
fn scores_of_one_feature_are_its_standardised_values() {
    let values = [1.0, 2.0, 6.0]; // mean 3, variance 14 / 3
    let scores = principal_scores(&Reals::new(1, &values).unwrap(), 2).unwrap();
    let expected = values.map(|x| (x - 3.0) / (14.0_f64 / 3.0).sqrt());
    assert_close(&scores[..3], &expected, 1e-14, "one feature");
    assert_eq!(scores[3..], [0.0; 3]);
}

#[test]
fn nothing_has_no_scores() {
    let none: [f64; 0] = [];
    let refused = principal_scores(&Reals::new(2, &none).unwrap(), 1);
    assert_eq!(refused, Err(GtmError::Empty { size: "documents" }));
    let refused = principal_scores(&Reals::new(2, &[1.0, 2.0]).unwrap(), 0);
    assert_eq!(refused, Err(GtmError::Empty { size: "latent dimensions" }));
}

/// Points 0, 1 and 5 have the mean 2 and the variance 14 / 3: a score of 1 is `2 + sqrt(14 / 3)`.
#[test]
fn documents_are_put_where_their_scores_are_among_the_points() {
    let shape = Shape::new(EmissionModel::Poisson, 3, 1, 1, 1).unwrap();
    let points = [0.0, 1.0, 5.0];
    let map = Gtm::<f64, _>::allocate(shape, &points, &[1.0; 3], Priors::default()).unwrap();
    let (scores, spread) = ([-0.8, 0.0, 1.0, 1.4], 1.5_f64);
    let found = map.initial_responsibilities(&scores, spread);
    for (score, found) in scores.into_iter().zip(found.chunks_exact(3)) {
        let place = 2.0 + score * (14.0_f64 / 3.0).sqrt();
        let near = points.map(|x| (-(place - x).powi(2) / (2.0 * spread * spread)).exp());
        let total: f64 = near.iter().sum();
        assert_close(found, &near.map(|x| x / total), 1e-14, "near");
    }
}

#[test] // a first covariate of 2 halves its coefficient, and not what follows from it
fn the_start_of_inflation_is_the_same_in_any_unit() {
    let (points, phi) = latent();
    let shape = Shape::new(EmissionModel::Zip(Inflation::Document), POINTS, 2, COLUMNS, 2).unwrap();
    let counts = [0.0, 3.0, 1.0, 0.0, 0.0, 0.0, 4.0, 2.0];
    let start = |intercept: f64| {
        let mut map = Gtm::<f64, _>::allocate(shape, &points, &phi, Priors::default()).unwrap();
        map.set_profiles(&[intercept]).unwrap();
        map.initialise(&Dense::new(2, &counts).unwrap(), 0.5).unwrap();
        map.table("inflation").unwrap().iter().map(|gamma| gamma * intercept).collect::<Vec<_>>()
    };
    let one = start(1.0);
    assert!(one.iter().all(|eta| eta.abs() > 0.1));
    assert_close(&start(2.0), &one, 1e-14, "twice");
    assert_eq!(start(0.0), [0.0; 2]);
}
