//! Similarities and standardisation against their definitions.

use countgrid_scores::{
    FeatureError, ScoreError, Similarity, Standardizer, cross, gaussian, gram, spread_rows,
    spread_scratch_len,
};
use countgrid_torus::{Torus, Windows};
use proptest::prelude::*;

fn table() -> impl Strategy<Value = (usize, Vec<f64>)> {
    (1usize..20, 1usize..7)
        .prop_flat_map(|(columns, rows)| (Just(columns), prop::collection::vec(0.0f64..4.0, columns * rows)))
}

fn naive(similarity: Similarity<f64>, a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b);
    match similarity {
        Similarity::Linear => pairs.map(|(x, y)| x * y).sum(),
        Similarity::Intersection => pairs.map(|(x, y)| x.min(*y)).sum(),
        Similarity::Rbf { gamma } => (-gamma * pairs.map(|(x, y)| (x - y).powi(2)).sum::<f64>()).exp(),
        Similarity::SquaredDistance => pairs.map(|(x, y)| (x - y).powi(2)).sum(),
    }
}

const KERNELS: [Similarity<f64>; 3] =
    [Similarity::Linear, Similarity::Rbf { gamma: 0.3 }, Similarity::Intersection];

proptest! {
    #[test]
    fn matrices_hold_what_the_definition_says((columns, x) in table()) {
        let rows = x.len() / columns;
        for similarity in KERNELS.into_iter().chain([Similarity::SquaredDistance]) {
            let (mut square, mut other) = (vec![0.0; rows * rows], vec![0.0; rows * rows]);
            gram(similarity, columns, &x, &mut square).unwrap();
            cross(similarity, columns, &x, &x, &mut other).unwrap();
            prop_assert_eq!(&square, &other);
            for (a, row) in x.chunks(columns).zip(square.chunks(rows)) {
                for (b, &found) in x.chunks(columns).zip(row) {
                    let expected = naive(similarity, a, b);
                    // Twenty terms of at most 16, each rounded twice and added in another order; exp then has at
                    // most a condition of 0.3 * 320 on a value of at most 1.
                    prop_assert!((found - expected).abs() <= 100.0 * 320.0 * f64::EPSILON, "{found} {expected}");
                }
            }
        }
    }

    #[test]
    fn gram_matrices_are_positive_semidefinite((columns, x) in table(), v in prop::collection::vec(-1.0f64..1.0, 7)) {
        let rows = x.len() / columns;
        for similarity in KERNELS {
            let mut matrix = vec![0.0; rows * rows];
            gram(similarity, columns, &x, &mut matrix).unwrap();
            let form: f64 = (0..rows * rows).map(|at| v[at / rows] * matrix[at] * v[at % rows]).sum();
            prop_assert!(form >= -49.0 * 100.0 * 320.0 * f64::EPSILON, "{form}");
        }
    }

    #[test]
    fn kernels_of_any_width_come_from_the_same_distances((columns, x) in table(), gamma in 1e-3f64..10.0) {
        let rows = x.len() / columns;
        let (mut expected, mut found) = (vec![0.0; rows * rows], vec![0.0; rows * rows]);
        gram(Similarity::Rbf { gamma }, columns, &x, &mut expected).unwrap();
        gram(Similarity::SquaredDistance, columns, &x, &mut found).unwrap();
        gaussian(gamma, &mut found).unwrap();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn spread_rows_are_shares_of_cells(
        extents in prop::array::uniform2(1usize..6), sides in prop::array::uniform2(any::<prop::sample::Index>()),
        weights in prop::collection::vec(0.0f64..1.0, 50),
    ) {
        let sides = [1 + sides[0].index(extents[0]), 1 + sides[1].index(extents[1])];
        let windows = Windows::new(Torus::new(extents).unwrap(), sides).unwrap();
        let cells = windows.torus().cells();
        let mut rows: Vec<f64> = weights[..2 * cells].to_vec();
        for row in rows.chunks_mut(cells) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|q| *q /= sum);
        }
        let q = rows.clone();
        spread_rows(&windows, &mut rows, &mut vec![f64::NAN; spread_scratch_len(&windows)]).unwrap();
        let volume = windows.volume() as f64;
        for (g, q) in rows.chunks(cells).zip(q.chunks(cells)) {
            let mut expected = vec![0.0; cells];
            for (k, q) in q.iter().enumerate() {
                windows.cells_of(k).for_each(|i| expected[i] += q / volume);
            }
            prop_assert!(g.iter().zip(&expected).all(|(g, e)| (g - e).abs() <= 64.0 * f64::EPSILON));
        }
        let mut similarity = [0.0; 4];
        gram(Similarity::Intersection, cells, &rows, &mut similarity).unwrap();
        prop_assert!((similarity[0] - 1.0).abs() <= 64.0 * f64::EPSILON);
        prop_assert!((0.0..=1.0 + 64.0 * f64::EPSILON).contains(&similarity[1]));
    }

    #[test]
    fn standard_columns_have_mean_zero_and_deviation_one((columns, x) in table()) {
        let rows = (x.len() / columns) as f64;
        let standard = Standardizer::fit(&x, vec![f64::NAN; 2 * columns]).unwrap();
        let mut z = x.clone();
        standard.apply(&mut z).unwrap();
        for column in 0..columns {
            let of = |table: &[f64]| table.iter().skip(column).step_by(columns).copied().collect::<Vec<_>>();
            let (x, z) = (of(&x), of(&z));
            let mean: f64 = x.iter().sum::<f64>() / rows;
            let deviation = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / rows).sqrt();
            if deviation > 1e-6 {
                // Rounding of the mean, below 4 * 7 * eps, over the deviation.
                let allowed = 100.0 * f64::EPSILON / deviation;
                for (x, z) in x.iter().zip(&z) {
                    prop_assert!((z - (x - mean) / deviation).abs() <= allowed * (1.0 + z.abs()));
                }
            }
        }
    }
}

#[test]
fn constant_columns_become_zero_also_on_other_rows() {
    for constant in [0.0, 0.1, 1e30, -3.7] {
        let rows: Vec<f64> = (0..10).flat_map(|n| [constant, f64::from(n)]).collect();
        let standard = Standardizer::fit(&rows, [0.0; 4]).unwrap();
        let mut other = [17.0, 4.5];
        standard.apply(&mut other).unwrap();
        assert_eq!(other, [0.0, 0.0], "{constant}");
    }
}

#[test]
fn bad_input_is_refused() {
    let mut matrix = [0.0; 4];
    let rows = ScoreError::Rows { table: "x", columns: 2, found: 3 };
    assert_eq!(gram(Similarity::Linear, 2, &[1.0, 2.0, 3.0], &mut matrix), Err(rows));
    assert_eq!(gram(Similarity::Linear, 0, &[], &mut matrix), Err(ScoreError::Empty { table: "x" }));
    let length = ScoreError::Length { table: "matrix", expected: 9, found: 4 };
    assert_eq!(gram(Similarity::Linear, 1, &[1.0, 2.0, 3.0], &mut matrix), Err(length));
    for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(gram(Similarity::Rbf { gamma }, 1, &[1.0, 2.0], &mut matrix), Err(ScoreError::Gamma));
    }
    // A number that is none is seen in either argument.
    let entry = ScoreError::Entry { table: "x", row: 1, column: 0 };
    for bad in [f64::NAN, f64::NEG_INFINITY] {
        for similarity in [Similarity::Linear, Similarity::Intersection] {
            assert_eq!(gram(similarity, 1, &[1.0, bad], &mut matrix), Err(entry), "{similarity:?} {bad}");
            assert_eq!(
                cross(similarity, 1, &[1.0, bad], &[1.0, 2.0], &mut matrix),
                Err(entry),
                "{similarity:?} {bad}"
            );
        }
    }
    for gamma in [0.0, f64::NAN] {
        assert_eq!(gaussian(gamma, &mut [1.0]), Err(ScoreError::Gamma));
    }
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let mut distances = [2.0, bad];
        let entry = ScoreError::Entry { table: "distances", row: 0, column: 1 };
        assert_eq!(gaussian(1.0, &mut distances), Err(entry));
        assert_eq!(distances[0], 2.0);
    }
    let entry = ScoreError::Entry { table: "rows", row: 1, column: 0 };
    assert_eq!(Standardizer::fit(&[0.0, 1.0, f64::NAN, 1.0], [0.0; 4]).err(), Some(entry));
    assert_eq!(Standardizer::<f64, _>::fit(&[], [0.0; 4]).err(), Some(ScoreError::Empty { table: "rows" }));
    let wide = [f64::MAX, 1.0, -f64::MAX, 1.0];
    assert_eq!(
        Standardizer::fit(&wide, [0.0; 4]).err(),
        Some(ScoreError::Entry { table: "rows", row: 0, column: 0 })
    );
}

#[test]
fn messages_say_what_was_wrong_and_where() {
    for (error, message) in [
        (ScoreError::Length { table: "score", expected: 3, found: 2 }, "`score` has 2 elements, needs 3"),
        (ScoreError::Rows { table: "a", columns: 3, found: 7 }, "`a` has 7 elements, needs whole rows of 3"),
        (ScoreError::Empty { table: "a" }, "`a` has no rows or no columns, needs one of each at least"),
        (
            ScoreError::Entry { table: "features", row: 1, column: 2 },
            "`features` has no usable number in row 1, column 2; needs a finite one",
        ),
        (ScoreError::Gamma, "the gamma of a Gaussian kernel is a positive number"),
    ] {
        assert_eq!(error.to_string(), message);
    }
    // The error of a model is shown itself, so its source is the source of what it holds.
    let caused = FeatureError::ClassModel { class: 2, error: std::io::Error::other(ScoreError::Gamma) };
    assert_eq!(caused.to_string(), format!("model of class 2: {}", ScoreError::Gamma));
    let inner = FeatureError::Model(std::io::Error::other(Caused));
    assert!(std::error::Error::source(&inner).is_some());
}

#[derive(Debug)]
struct Caused;

impl std::fmt::Display for Caused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("caused")
    }
}

impl std::error::Error for Caused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&ScoreError::Gamma)
    }
}
