//! The cells of a topographic map: where they are, and what the map says of each, from maps whose numbers are known.

use countgrid_em::TablesExt;
use countgrid_estimators::{
    BasisKind, CellFrame, FittedTopographic, LatentKind, LatentSpace, ModelInfo, TopographicOptions,
};
use countgrid_gtm::{Basis, EmissionModel, Gtm, Inflation, Priors, Shape};

/// A map that was not fitted: `weights` `[feature][column]`, and `inflation` where the emission model has it.
pub(crate) fn map_of(
    options: &TopographicOptions,
    weights: &[f64],
    inflation: &[f64],
) -> FittedTopographic<f64> {
    let latent = LatentSpace::<f64>::new(options).unwrap();
    let (phi, columns) = {
        let basis = basis_of(&latent);
        let mut phi = vec![0.0; basis.columns() * latent.points().len() / 2];
        basis.table(latent.points(), &mut phi).unwrap();
        (phi, basis.columns())
    };
    let (points, features) = (latent.points().len() / 2, weights.len() / columns);
    let shape = Shape::new(options.emission_model, points, 2, columns, features).unwrap().on(latent.space());
    let mut map = Gtm::allocate(shape, latent.points(), &phi, Priors::default()).unwrap();
    map.set("weights", weights).unwrap();
    if !inflation.is_empty() {
        map.set("inflation", inflation).unwrap();
    }
    FittedTopographic::new(ModelInfo::default(), latent, map).unwrap()
}

fn basis_of(latent: &LatentSpace<f64>) -> Basis<'_, f64> {
    match (latent.basis(), latent.kind()) {
        (BasisKind::Sinh, _) => Basis::sinh(latent.centres(), 2),
        (BasisKind::Rbf, LatentKind::Torus) => Basis::rbf_on_torus(latent.centres(), 2, latent.width()),
        (BasisKind::Rbf, _) => Basis::rbf(latent.centres(), 2, latent.width()),
    }
    .unwrap()
}

/// 3 x 2 points under 2 x 2 radial functions, so five columns.
fn small(emission_model: EmissionModel) -> TopographicOptions {
    TopographicOptions {
        emission_model,
        points: [3, 2],
        basis_functions: [2, 2],
        ..TopographicOptions::default()
    }
}

#[test]
fn cells_of_a_plane_reach_as_far_as_its_frame() {
    let frame = CellFrame { columns: 3, rows: 5, half: [0.5, 2.0], torus: false };
    // A quarter is half a cell right of the middle one's centre; -1 is one cell of five below it.
    assert_eq!(frame.place([0.25, -1.0]), [3.5, 2.0]);
    assert_eq!(frame.centre(0), [-0.5, 2.0]);
    assert_eq!(frame.centre(7), [0.0, 0.0]);
    assert_eq!(frame.centre(14), [0.5, -2.0]);
    assert_eq!(frame.centre(4), [0.0, 1.0]);
}

#[test]
fn what_has_no_extent_lies_in_the_middle() {
    let one = CellFrame { columns: 1, rows: 3, half: [1.0; 2], torus: false };
    assert_eq!((one.place([0.75, 0.0]), one.centre(1)), ([1.5, 0.5], [0.0, 0.0]));
    let flat = CellFrame { columns: 3, rows: 4, half: [0.0; 2], torus: false };
    assert_eq!((flat.place([0.0, 0.0]), flat.centre(5)), ([2.0, 1.5], [0.0, 0.0]));
    assert_eq!(flat.cell([0.0, 0.0]), 2 * 3 + 1);
}

#[test]
fn cells_of_a_torus_divide_its_period() {
    let frame = CellFrame { columns: 4, rows: 2, half: [1.0; 2], torus: true };
    assert_eq!((frame.centre(0), frame.centre(7)), ([-1.0, 0.0], [0.5, -1.0]));
    // Columns begin half a cell before their centres; 1 is -1.
    assert_eq!((frame.place([0.5, 0.0]), frame.place([1.0, 0.0])), ([0.5, 3.5], [0.5, 0.5]));
}

#[test]
fn points_of_a_regular_grid_are_the_centres_of_cells() {
    // Points go from the bottom up, cells from the top down.
    let expected = [3, 4, 5, 0, 1, 2];
    for latent in [LatentKind::Grid, LatentKind::Torus] {
        let options = TopographicOptions { latent, ..small(EmissionModel::Poisson) };
        let map = map_of(&options, &[0.0; 10], &[]);
        assert_eq!(map.cells_of_points(), expected, "{latent:?}");
    }
}

/// The share of each feature at each cell, `[feature][cell]`, by the definition: the expectation of a count, or how probable
/// a feature is, over the sum of those of all features.
fn shares(options: &TopographicOptions, weights: &[f64], inflation: &[f64]) -> Vec<f64> {
    let latent = LatentSpace::<f64>::new(options).unwrap();
    let basis = basis_of(&latent);
    let (columns, [nx, ny]) = (basis.columns(), latent.sides());
    let features = weights.len() / columns;
    let mut shares = vec![0.0; features * nx * ny];
    for cell in 0..nx * ny {
        let (x, up) = (cell % nx, ny - 1 - cell / nx);
        let at = |i: usize, n: usize| -1.0 + 2.0 * i as f64 / (n - 1) as f64;
        let mut phi = vec![0.0; columns];
        basis.row(&[at(x, nx), at(up, ny)], &mut phi).unwrap();
        let dot = |w: &[f64]| w.iter().zip(&phi).map(|(w, phi)| w * phi).sum::<f64>();
        let f: Vec<f64> = weights.chunks(columns).map(dot).collect();
        let absent = |eta: f64| 1.0 / (1.0 + (-eta).exp()); // how probable it is that a count is forced to 0
        let expected: Vec<f64> = match options.emission_model {
            EmissionModel::Zip(Inflation::Latent) => {
                let eta = inflation.chunks(columns).map(dot);
                f.iter().zip(eta).map(|(f, eta)| (1.0 - absent(eta)) * f.exp()).collect()
            }
            EmissionModel::Zip(Inflation::Document) => {
                f.iter().zip(inflation).map(|(f, &eta)| (1.0 - absent(eta)) * f.exp()).collect()
            }
            EmissionModel::Poisson => f.iter().map(|f| f.exp()).collect(),
            EmissionModel::Bernoulli => f.iter().map(|f| 1.0 / (1.0 + (-f).exp())).collect(),
            // Over the first, since the exponentials themselves may overflow.
            EmissionModel::Multinomial => f.iter().map(|other| (other - f[0]).exp()).collect(),
            EmissionModel::Gaussian => f.iter().map(|f| f.max(0.0)).collect(),
        };
        let total: f64 = expected.iter().sum();
        for (feature, x) in expected.iter().enumerate() {
            shares[feature * nx * ny + cell] = x / total;
        }
    }
    shares
}

#[test]
fn shares_are_those_of_the_expected_counts() {
    // Three features: the last column is the constant.
    let weights = [
        0.5, -1.0, 2.0, 0.25, 0.5, //
        -0.75, 1.5, 0.5, -0.5, 1.0, //
        1.25, 0.5, -1.5, 1.0, -0.25,
    ];
    let by_point = [
        1.0, -0.5, 0.25, 0.75, -1.0, //
        -1.5, 0.5, 1.0, 0.25, 0.5, //
        0.5, 2.0, -0.75, -0.25, 0.25,
    ];
    let by_feature = [-1.0, 0.5, 1.5];
    for emission_model in EmissionModel::ALL {
        let inflation = match emission_model {
            EmissionModel::Zip(Inflation::Document) => &by_feature[..],
            EmissionModel::Zip(Inflation::Latent) => &by_point[..],
            _ => &[],
        };
        let options = small(emission_model);
        let found = map_of(&options, &weights, inflation).feature_shares().unwrap();
        let expected = shares(&options, &weights, inflation);
        assert_eq!(found.len(), expected.len());
        for (at, (&found, expected)) in found.iter().zip(expected).enumerate() {
            // One rounding to single precision, of at most 2⁻²⁵ below 1, and a few in double precision.
            let difference = (f64::from(found) - expected).abs();
            assert!(difference < 3.1e-8, "{emission_model:?}, {at}: {found}, not {expected}");
        }
    }
}

#[test]
fn shares_of_tokens_do_not_depend_on_how_large_the_weights_are() {
    // Twice the constants is beyond the largest exponential.
    let weights = [0.5, 0.0, 0.0, 0.0, 600.0, 0.0, 0.0, 0.0, 0.5, 600.5];
    let options = small(EmissionModel::Multinomial);
    let found = map_of(&options, &weights, &[]).feature_shares().unwrap();
    for (&found, expected) in found.iter().zip(shares(&options, &weights, &[])) {
        // As above; the difference of two numbers of 600 has an error of 2e-13 besides.
        assert!((f64::from(found) - expected).abs() < 3.1e-8, "{found}, not {expected}");
    }
    // A Gaussian map may expect nothing at all of any feature.
    let weights = [0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, -2.0];
    let nothing = map_of(&small(EmissionModel::Gaussian), &weights, &[]);
    assert_eq!(nothing.feature_shares().unwrap(), [0.0; 12]);
}

/// Two features of a Gaussian map, each with one of the two sinh functions, of `0.625 x` and of `0.625 y`: areas grow by
/// the product of their slopes, which is lowest in the middle.
#[test]
fn magnification_is_above_the_lowest() {
    let options = TopographicOptions {
        emission_model: EmissionModel::Gaussian,
        points: [3, 3],
        basis: BasisKind::Sinh,
        basis_functions: [2, 1],
        ..TopographicOptions::default()
    };
    let map = map_of(&options, &[3.0, 0.0, 1.0, 0.0, -0.5, 2.0], &[]);
    let found = map.relative_log_magnification().unwrap();
    let edge = 0.625_f64.cosh().ln();
    let expected = [2.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 2.0].map(|edges| edges * edge);
    assert_eq!(found.len(), 9);
    for (found, expected) in found.into_iter().zip(expected) {
        // One rounding to single precision of a number below 0.5, and a few in double precision.
        assert!((f64::from(found) - expected).abs() < 1.6e-8, "{found}, not {expected}");
    }
}

/// Two features with a radial function each, around (-1, 0) and (1, 0): the determinant of their slopes is
/// `2 y exp(-(x² + y² + 1) / s²) / s⁴`, so 0 where `y` is.
#[test]
fn cells_without_magnification_are_the_lowest() {
    let options = TopographicOptions {
        emission_model: EmissionModel::Gaussian,
        points: [3, 3],
        basis_functions: [2, 1],
        width: Some(0.8),
        ..TopographicOptions::default()
    };
    let map = map_of(&options, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0], &[]);
    let found = map.relative_log_magnification().unwrap();
    let peak = 1.0 / (0.8 * 0.8);
    let expected = [0.0, peak, 0.0, 0.0, 0.0, 0.0, 0.0, peak, 0.0];
    assert_eq!(found.len(), 9);
    for (found, expected) in found.into_iter().zip(expected) {
        // One rounding to single precision of a number below 2, and a few in double precision.
        assert!((f64::from(found) - expected).abs() < 6.1e-8, "{found}, not {expected}");
    }
    let level = map_of(&options, &[0.0, 0.0, 1.0, 0.0, 0.0, 2.0], &[]);
    assert!(level.relative_log_magnification().unwrap().is_empty());
    assert_eq!(level.map().row("weights", 1), Some(&[0.0, 0.0, 2.0][..]));
}
