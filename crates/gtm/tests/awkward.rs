//! Awkward data, each with the behaviour that the crate's documentation states, and never a NaN.

use countgrid_counts::{Bags, Csr, CsrBuf, Dense};
use countgrid_em::{EmOptions, Fit, Tables, TablesExt, no_observer};
use countgrid_gtm::{
    Basis, Documents, EmissionModel, Gtm, Inflation, Learner, Options, Priors, Shape, Space, Statistics,
    gaussian_points, grid_points, half_plane_centres, magnification_scratch_len, principal_scores,
    torus_points,
};
use countgrid_math::{AlignedVec, Real};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

type Map<T> = Learner<T, AlignedVec<T>, AlignedVec<f64>>;

/// A map of `side²` points and four RBFs, fitted; every table of it is finite and the objective did not rise.
fn fitted<T: Real>(
    emission_model: EmissionModel,
    counts: &[f64],
    features: usize,
    side: usize,
    priors: Priors,
) -> Map<T> {
    let (mut points, mut centres) = (vec![T::zero(); 2 * side * side], [T::zero(); 8]);
    grid_points(side, side, &mut points).unwrap();
    grid_points(2, 2, &mut centres).unwrap();
    let mut phi = vec![T::zero(); 5 * side * side];
    Basis::rbf(&centres, 2, T::one()).unwrap().table(&points, &mut phi).unwrap();
    on::<T>(emission_model, counts, features, &points, &phi, priors)
}

fn on<T: Real>(
    emission_model: EmissionModel,
    counts: &[f64],
    features: usize,
    points: &[T],
    phi: &[T],
    priors: Priors,
) -> Map<T> {
    let count = points.len() / 2;
    let shape = Shape::new(emission_model, count, 2, phi.len() / count, features).unwrap();
    let bags = Dense::new(features, counts).unwrap();
    let mut map = Gtm::allocate(shape, points, phi, priors).unwrap();
    map.initialise(&bags, 0.5).unwrap();
    assert!(map.buffer().iter().all(|x| x.is_finite()), "{emission_model:?}: start");
    let mut learner = Learner::allocate(map, Options::default()).unwrap();
    let mut statistics = Statistics::allocate(shape).unwrap();
    let plan = EmOptions { iterations: 30, tolerance: 0.0 }.check().unwrap();
    let mut last = f64::INFINITY;
    plan.fit(&mut learner, &bags, &mut statistics, |model, progress| {
        // In f32 each table entry is rounded, 6e-8 of some 300 terms of size 10.
        let room = if size_of::<T>() == 4 { 1e-3 } else { 1e-9 * last.abs() };
        assert!(
            progress.objective <= last + room || last.is_infinite(),
            "{emission_model:?} {} {last}",
            progress.objective
        );
        last = progress.objective;
        no_observer(model, progress)
    })
    .unwrap();
    assert!(learner.map().buffer().iter().all(|x| x.is_finite()), "{emission_model:?}");
    assert!(learner.emissions().buffer().iter().all(|x| x.is_finite()), "{emission_model:?}");
    learner
}

fn both(
    emission_model: EmissionModel,
    counts: &[f64],
    features: usize,
    side: usize,
    priors: Priors,
) -> Map<f64> {
    fitted::<f32>(emission_model, counts, features, side, priors);
    fitted::<f64>(emission_model, counts, features, side, priors)
}

fn posterior(map: &Map<f64>, counts: &[f64]) -> Vec<f64> {
    let mut q = vec![0.0; map.map().shape().points()];
    map.emissions().posterior(&Dense::new(counts.len(), counts).unwrap(), 0, &mut q, &mut []).unwrap();
    q
}

#[test]
fn terms_that_never_or_always_occur() {
    // The first term never, the second always, the third now and then.
    let counts: Vec<f64> = (0..20).flat_map(|n| [0.0, f64::from(1 + n % 3), f64::from(n % 2)]).collect();
    for emission_model in EmissionModel::ALL {
        let map = both(emission_model, &counts, 3, 3, Priors::default());
        let f = |j: usize| {
            let w = map.map().row("weights", j).unwrap();
            (0..9).map(|k| (0..5).map(|m| w[m] * map.map().table("basis").unwrap()[m * 9 + k]).sum::<f64>())
        };
        if emission_model != EmissionModel::Gaussian {
            // What never occurs is the rarest everywhere that documents are.
            assert!(f(0).sum::<f64>() < f(1).sum::<f64>() - 9.0, "{emission_model:?}");
        }
        if emission_model == EmissionModel::Zip(Inflation::Document) {
            let eta = |j: usize| map.map().row("inflation", j).unwrap()[0];
            assert!(eta(1) < -1.0, "what is everywhere is not inflated: {}", eta(1));
        }
    }
}

#[test]
fn equal_documents() {
    for emission_model in EmissionModel::ALL {
        let map = both(emission_model, &[2.0, 0.0, 1.0].repeat(12), 3, 3, Priors::default());
        let q = posterior(&map, &[2.0, 0.0, 1.0]);
        assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-14, "{emission_model:?}");
    }
    // Two kinds of documents, and the two members of a kind get the same bits.
    let map = both(EmissionModel::Poisson, &[5.0, 0.0, 0.0, 7.0].repeat(5), 2, 3, Priors::default());
    assert_eq!(posterior(&map, &[5.0, 0.0]), posterior(&map, &[5.0, 0.0]));
    assert_ne!(posterior(&map, &[5.0, 0.0]), posterior(&map, &[0.0, 7.0]));
}

#[test]
fn more_points_than_documents() {
    for emission_model in EmissionModel::ALL {
        let map = both(emission_model, &[3.0, 0.0, 1.0, 0.0, 4.0, 0.0], 3, 6, Priors::default());
        assert_eq!(map.map().mixing().len(), 36);
        assert!((map.map().mixing().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        both(emission_model, &[3.0, 0.0, 1.0], 3, 6, Priors::default()); // one document
    }
}

#[test]
fn bases_of_deficient_rank() {
    let none = Priors { weights: 0.0, constant: 0.0, inflation: 0.1, inflation_mean: -1.0 };
    let counts: Vec<f64> = (0..60).map(|i| f64::from((i * 7 % 11) % 5)).collect();
    let mut points = vec![0.0; 32];
    grid_points(4, 4, &mut points).unwrap();
    // The same function twice, and the constant twice.
    let phi = [points[..16].to_vec(), points[..16].to_vec(), points[16..].to_vec(), vec![1.0; 32]].concat();
    for emission_model in EmissionModel::ALL {
        for priors in [none, Priors::default()] {
            on::<f64>(emission_model, &counts, 3, &points, &phi, priors);
        }
        // A symmetric grid of sinh centres: rank 12 of 25 and the constant.
        let mut centres = [0.0; 50];
        grid_points(5, 5, &mut centres).unwrap();
        let basis = Basis::sinh(&centres, 2).unwrap();
        let mut phi = vec![0.0; basis.columns() * 16];
        basis.table(&points, &mut phi).unwrap();
        on::<f64>(emission_model, &counts, 3, &points, &phi, none);
        let (points, phi) = (points.iter().map(|&x| x as f32), phi.iter().map(|&x| x as f32));
        let (points, phi) = (points.collect::<Vec<_>>(), phi.collect::<Vec<_>>());
        on::<f32>(emission_model, &counts, 3, &points, &phi, Priors::default());
    }
}

#[test]
fn empty_documents_and_none() {
    let counts = [0.0, 0.0, 3.0, 1.0, 0.0, 0.0, 0.0, 2.0];
    for emission_model in EmissionModel::ALL {
        let map = both(emission_model, &counts, 2, 3, Priors::default());
        assert!(posterior(&map, &[0.0, 0.0]).iter().all(|q| q.is_finite()));
    }
    let mut map = fitted::<f64>(EmissionModel::Poisson, &counts, 2, 3, Priors::default()).into_parts().0;
    let nobody = CsrBuf::<u8>::new(2).unwrap();
    assert!(map.initialise(&nobody.as_view(), 0.5).is_err());
    map.set_reference(2.0).unwrap();
    let learner = Learner::allocate(map, Options::default()).unwrap();
    assert!(posterior(&learner, &[0.0, 0.0]).iter().all(|q| q.is_finite()));
    // A fit to no document leaves the map as it is.
    let before = learner.map().buffer().to_vec();
    let (mut learner, mut statistics) = (learner, Statistics::allocate(*map_shape(&before)).unwrap());
    let empty: Csr<'_, u8> = nobody.as_view();
    assert_eq!(learner.expectation(&empty, &mut statistics).unwrap(), 0.0);
    countgrid_em::Learn::maximization(&mut learner, &mut statistics).unwrap();
    assert_eq!(learner.map().buffer(), before);
    assert!(empty.is_empty());
}

fn map_shape(_: &[f64]) -> &'static Shape {
    const SHAPE: Shape = match Shape::new(EmissionModel::Poisson, 9, 2, 5, 2) {
        Ok(shape) => shape,
        Err(_) => panic!(),
    };
    &SHAPE
}

#[test] // against the singular values by the naive Gram matrix of a case with a known answer
fn principal_scores_of_a_line() {
    // Rows along one direction: the first axis has them in order, the second has no variance.
    let rows: Vec<f64> = (0..40).flat_map(|n| [f64::from(n), 2.0 * f64::from(n), 0.0]).collect();
    let reals = countgrid_gtm::Reals::new(3, &rows).unwrap();
    let scores = principal_scores(&reals, 2).unwrap();
    let deviation = ((40.0_f64 * 40.0 - 1.0) / 12.0).sqrt();
    for (n, score) in scores[..40].iter().enumerate() {
        assert!((score - (n as f64 - 19.5) / deviation).abs() < 1e-10);
    }
    assert_eq!(scores[40..], [0.0; 40]);
    // More documents and features than directions: standardised, uncorrelated, and the same again.
    let counts: Vec<u8> =
        (0..60 * 50).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 27) as u8 % 4).collect();
    let bags = Dense::new(50, &counts).unwrap();
    let scores = principal_scores(&Documents::<_, f64>::new(&bags), 2).unwrap();
    let moment = |a: usize, b: usize| -> f64 {
        scores[a * 60..][..60].iter().zip(&scores[b * 60..][..60]).map(|(x, y)| x * y).sum::<f64>() / 60.0
    };
    assert!(
        (moment(0, 0) - 1.0).abs() < 1e-12 && (moment(1, 1) - 1.0).abs() < 1e-12 && moment(0, 1).abs() < 1e-9
    );
    assert_eq!(scores, principal_scores(&Documents::<_, f64>::new(&bags), 2).unwrap());
}

#[test]
fn a_torus_has_no_edge() {
    let (mut points, mut centres) = ([0.0; 72], [0.0; 18]);
    torus_points(6, 6, &mut points).unwrap();
    torus_points(3, 3, &mut centres).unwrap();
    let basis = Basis::rbf_on_torus(&centres, 2, 0.5).unwrap();
    let (mut here, mut there) = ([0.0_f64; 10], [0.0; 10]);
    basis.row(&[-1.0, 0.25], &mut here).unwrap();
    basis.row(&[1.0, 0.25 + 2.0], &mut there).unwrap();
    assert!(here.iter().zip(&there).all(|(x, y)| (x - y).abs() < 1e-14));
    // Sums over all images, of which those left out are beyond 4 and 8 deviations of the far side.
    let naive: f64 =
        (-9..10).map(|i| (-(0.25_f64 - centres[9] + 2.0 * f64::from(i)).powi(2) / 0.5).exp()).sum();
    let at_centre: f64 = (-9..10).map(|i| (-(2.0 * f64::from(i)).powi(2) / 0.5).exp()).sum();
    assert!((here[0] - naive * at_centre).abs() < 1e-12);
    let mut phi = [0.0; 360];
    basis.table(&points, &mut phi).unwrap();
    let shape = Shape::new(EmissionModel::Poisson, 36, 2, 10, 2).unwrap().on(Space::Torus);
    let map = Gtm::allocate(shape, &points, &phi, Priors::default()).unwrap();
    let learner = Learner::<_, _, AlignedVec<f64>>::new(
        map,
        AlignedVec::zeroed(shape.emissions_len()).unwrap(),
        Options::default(),
    )
    .unwrap();
    // Half at the left edge, half one step beyond it, at the right: the mean is between the two.
    let (mut q, mut x) = ([0.0; 36], [0.0; 2]);
    (q[0], q[5]) = (0.5, 0.5);
    learner.emissions().mean(&q, &mut x).unwrap();
    assert!(
        (x[0].abs() - (1.0 - 1.0 / 6.0)).abs() < 1e-14 || (x[0] + 1.0 + 1.0 / 6.0).abs() < 1e-14,
        "{x:?}"
    );
    assert!(x[0] > 0.8 || x[0] < -0.99, "{x:?}");
}

#[test] // derivatives of the basis, and areas, by central differences of step 1e-5: an error of 1e-10 times a third derivative
fn magnification_is_the_stretching_of_areas() {
    let mut half_plane = [0.0; 12];
    half_plane_centres(3, &[0.5, 1.5], &mut half_plane).unwrap();
    let mut grid = [0.0; 12];
    grid_points(3, 2, &mut grid).unwrap();
    let bases = [
        Basis::rbf(&grid, 2, 0.7).unwrap(),
        Basis::rbf_on_torus(&grid, 2, 0.7).unwrap(),
        Basis::sinh(&half_plane, 2).unwrap(),
    ];
    let mut points = vec![0.0; 32];
    gaussian_points(0.5, 2.5, &mut ChaCha8Rng::seed_from_u64(4), &mut points).unwrap();
    for (which, basis) in bases.into_iter().enumerate() {
        let (x, h) = ([0.3, -0.45], 1e-5);
        let at = |x: [f64; 2]| {
            let mut row = [0.0; 7];
            basis.row(&x, &mut row).unwrap();
            row
        };
        let mut gradients = [0.0; 14];
        basis.gradients(&x, &mut gradients).unwrap();
        for m in 0..7 {
            let along_x = (at([x[0] + h, x[1]])[m] - at([x[0] - h, x[1]])[m]) / (2.0 * h);
            let along_y = (at([x[0], x[1] + h])[m] - at([x[0], x[1] - h])[m]) / (2.0 * h);
            assert!(
                (gradients[m] - along_x).abs() < 1e-8 && (gradients[7 + m] - along_y).abs() < 1e-8,
                "{which}"
            );
        }
        // A Gaussian map of precision 4: distances are twice those of the means, areas four times.
        let mut phi = vec![0.0; 7 * 16];
        basis.table(&points, &mut phi).unwrap();
        let shape = Shape::new(EmissionModel::Gaussian, 16, 2, 7, 3).unwrap();
        let mut map = Gtm::allocate(shape, &points, &phi, Priors::default()).unwrap();
        let weights: Vec<f64> = (0..21).map(|i| f64::from(i * i * 5 % 11) - 5.0).collect();
        map.set("weights", &weights).unwrap();
        map.set("precision", &[4.0]).unwrap();
        let mut scratch = vec![0.0; magnification_scratch_len(&shape)];
        let found = map.magnification_at(&basis, &x, &mut [0.0; 21], &mut scratch).unwrap();
        let mean = |x: [f64; 2]| {
            let row = at(x);
            [0, 1, 2].map(|j| (0..7).map(|m| weights[j * 7 + m] * row[m]).sum::<f64>())
        };
        let difference = |a: [f64; 2], b: [f64; 2]| {
            let (a, b) = (mean(a), mean(b));
            [0, 1, 2].map(|j| (a[j] - b[j]) / (2.0 * h))
        };
        let (u, v) =
            (difference([x[0] + h, x[1]], [x[0] - h, x[1]]), difference([x[0], x[1] + h], [x[0], x[1] - h]));
        let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let area = 4.0 * (dot(u, u) * dot(v, v) - dot(u, v) * dot(u, v)).sqrt();
        assert!((found - area).abs() < 1e-7 * area, "{which}: {found} {area}");
    }
}

#[test] // an angle within an ulp of 3, a cosine or sine within 9e-16, and a product
fn centres_of_a_half_plane_lie_on_their_circles() {
    let (angles, radii) = (5, [0.5, 3.0]);
    let mut centres = [0.0_f64; 20];
    half_plane_centres(angles, &radii, &mut centres).unwrap();
    let (xs, ys) = centres.split_at(10);
    for (n, (x, y)) in xs.iter().zip(ys).enumerate() {
        let (radius, angle) = (radii[n / angles], std::f64::consts::PI * (n % angles) as f64 / angles as f64);
        assert!((x - radius * angle.cos()).abs() < 1e-14 && (y - radius * angle.sin()).abs() < 1e-14, "{n}");
    }
    assert!(half_plane_centres(angles, &radii, &mut centres[1..]).is_err());
}
