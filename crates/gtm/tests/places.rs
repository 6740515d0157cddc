//! Where documents are on the plane and on the torus, and the functions over both.

use countgrid_counts::Bag;
use countgrid_em::FreeEnergy;
use countgrid_em::testing::{Tolerance, check_terms_sum};
use countgrid_gtm::testing::{POINTS, Path, close, problem};
use countgrid_gtm::{
    AlignedVec, Basis, EmissionModel, Emissions, Gtm, Inflation, Priors, Shape, Space, gaussian_points,
    torus_points,
};
use proptest::prelude::*;
use rand_chacha::rand_core::TryRng;

/// Emissions of points `[axis][point]` on the torus; what the counts are does not matter.
fn on_torus(points: &[f64], axes: usize) -> Emissions<f64, AlignedVec<f64>> {
    let count = points.len() / axes;
    let shape = Shape::new(EmissionModel::Poisson, count, axes, 1, 1).unwrap().on(Space::Torus);
    Emissions::allocate(&Gtm::allocate(shape, points, &vec![1.0; count], Priors::default()).unwrap()).unwrap()
}

#[test]
fn means_on_a_torus_go_the_short_way_round() {
    let mut points = [0.0; 16];
    torus_points(8, 1, &mut points).unwrap(); // -1, -0.75, ..., 0.75
    let emissions = on_torus(&points, 2);
    let mean = |own: &[(usize, f64)]| {
        let (mut q, mut x) = ([0.0; 8], [f64::NAN; 2]);
        own.iter().for_each(|&(k, share)| q[k] = share);
        emissions.mean(&q, &mut x).unwrap();
        assert_eq!(x[1].abs(), 1.0, "all of one row; -1 and 1 are one place");
        x[0]
    };
    for (own, expected) in [
        (&[(3, 1.0)][..], -0.25),
        (&[(2, 0.5), (3, 0.5)], -0.375),
        (&[(1, 0.25), (2, 0.5), (3, 0.25)], -0.5),
        (&[(7, 0.75), (0, 0.25)], 0.8125), // a quarter of the way from 0.75 to -1, which is also 1
        (&[(0, 0.75), (7, 0.25)], 0.9375), // -1.0625, the same place
        (&[(5, 0.5), (7, 0.5)], 0.5),
    ] {
        // Sums of sixteenths are exact.
        assert_eq!(mean(own), expected, "{own:?}");
    }
}

#[test]
fn the_mode_is_the_first_of_the_most_probable() {
    let emissions = on_torus(&[-0.5, 0.0, 0.5, 0.75], 1);
    for (q, mode) in [
        ([0.1, 0.2, 0.4, 0.3], 2),
        ([0.1, 0.1, 0.4, 0.4], 2),
        ([0.7, 0.1, 0.1, 0.1], 0),
        ([0.25; 4], 0),
        ([0.0, 0.0, 0.0, 1.0], 3),
    ] {
        assert_eq!(emissions.mode(&q), mode, "{q:?}");
    }
}

proptest! {
    #[test] // products over axes of sums over images; images beyond 9 periods add nothing
    fn functions_on_a_torus_are_sums_over_images(
        points in prop::array::uniform6(-1.0..1.0f64), centres in prop::array::uniform8(-1.0..1.0f64), width in 0.1..1.0f64,
    ) {
        let basis = Basis::rbf_on_torus(&centres, 2, width).unwrap(); // four centres
        let of = |d: f64| -> f64 { (-9..10).map(|i| (-(d + 2.0 * f64::from(i)).powi(2) / (2.0 * width * width)).exp()).sum() };
        let slope = |d: f64| -> f64 {
            let each = |i: i32| {
                let d = d + 2.0 * f64::from(i);
                -d / (width * width) * (-d * d / (2.0 * width * width)).exp()
            };
            (-9..10).map(each).sum()
        };
        let mut table = [f64::NAN; 15];
        basis.table(&points, &mut table).unwrap();
        for k in 0..3 {
            let (x, y) = (points[k], points[3 + k]);
            let (mut row, mut gradients) = ([f64::NAN; 5], [f64::NAN; 10]);
            basis.row(&[x, y], &mut row).unwrap();
            basis.gradients(&[x, y], &mut gradients).unwrap();
            for m in 0..4 {
                let (dx, dy) = (x - centres[m], y - centres[4 + m]);
                // What is left out is at least 4 away: e^-8 of it at a width of 1, and two images of either side.
                let room = 4.0 * (-12.5 / (width * width)).exp() * 6.0 + 1e-13;
                prop_assert!((row[m] - of(dx) * of(dy)).abs() < room, "{} {}", row[m], of(dx) * of(dy));
                let scale = 5.0 / (width * width);
                prop_assert!((gradients[m] - slope(dx) * of(dy)).abs() < scale * room);
                prop_assert!((gradients[5 + m] - of(dx) * slope(dy)).abs() < scale * room);
                prop_assert_eq!(table[3 * m + k], row[m]); // `[column][point]`
            }
            prop_assert_eq!((row[4], table[12 + k], gradients[4], gradients[9]), (1.0, 1.0, 0.0, 0.0));
        }
    }

    #[test]
    fn terms_sum_to_the_free_energy_on_the_general_path(problem in problem(), latent in any::<bool>()) {
        let model = EmissionModel::Zip(if latent { Inflation::Latent } else { Inflation::Document });
        let emissions = Emissions::allocate(&problem.map::<f64>(model, Path::General)).unwrap();
        let (indices, counts): (Vec<u32>, Vec<f64>) =
            (0..).zip(problem.counts[..problem.features].iter().copied()).filter(|&(_, t)| t > 0.0).unzip();
        let bag = Bag::new(problem.features, &indices, &counts).unwrap();
        let free_energy = check_terms_sum(&emissions, &bag, Tolerance::mixed(1e-12)).unwrap();
        let mut scratch = vec![0.0; problem.features];
        prop_assert_eq!(FreeEnergy::scratch_len(&emissions, &bag), problem.features);
        let evidence = emissions.posterior(&problem.bags(), 0, &mut [0.0; POINTS], &mut scratch).unwrap();
        prop_assert!(close(free_energy, -evidence, 1e-12));
    }
}

/// `0 ln 0 = 0`: a point so far away that its share of the posterior is 0 has no terms.
#[test]
fn a_point_without_a_share_has_terms_of_nothing() {
    let shape = Shape::new(EmissionModel::Poisson, 2, 1, 2, 1).unwrap();
    let mut map = Gtm::allocate(shape, &[0.0, 1.0], &[0.0, 1.0, 1.0, 1.0], Priors::default()).unwrap();
    map.set("weights", &[10.0, 0.0]).unwrap(); // rates 1 and 22026
    let emissions = Emissions::allocate(&map).unwrap();
    let bag = Bag::new(1, &[0], &[1.0]).unwrap();
    let mut terms = [f64::NAN; 6];
    let free_energy = emissions.free_energy_terms(&bag, &mut terms, &mut []).unwrap();
    // A share of 1 of the first: no entropy, its mixing weight of a half, and the mass e^-1 of one.
    let expected = [0.0, 0.0, 2.0_f64.ln(), 0.0, 1.0, 0.0];
    assert!(terms.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-15), "{terms:?}");
    assert!((free_energy - (1.0 + 2.0_f64.ln())).abs() < 1e-15);
}

#[test] // the centre is 200 deviations away
fn a_function_that_has_underflowed_has_no_slope() {
    let basis = Basis::rbf_on_torus(&[0.5], 1, 0.005).unwrap();
    let (mut row, mut gradients) = ([f64::NAN; 2], [f64::NAN; 2]);
    basis.row(&[-0.5], &mut row).unwrap();
    basis.gradients(&[-0.5], &mut gradients).unwrap();
    assert_eq!((row, gradients), ([0.0, 1.0], [0.0, 0.0]));
}

/// The numbers that it has been given, one after the other.
struct Given(std::vec::IntoIter<u64>);

impl TryRng for Given {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.try_next_u64().map(|x| (x >> 32) as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0.next().expect("more numbers than were needed"))
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        unreachable!("whole numbers are asked for")
    }
}

/// Marsaglia's polar method takes places within the unit circle, without its centre and its edge.
#[test]
fn places_on_or_beyond_the_unit_circle_are_drawn_again() {
    // `x` in `[-1, 1)` of 53 bits.
    let number = |x: f64| ((x + 1.0) * (1_u64 << 52) as f64) as u64 * (1 << 11);
    for refused in [[-1.0, 0.0], [0.0, -1.0], [0.0, 0.0], [0.75, 0.75], [-1.0, -1.0]] {
        let places = [refused, [0.5, 0.0]].concat();
        let mut given = Given(places.into_iter().map(number).collect::<Vec<_>>().into_iter());
        let mut point = [f64::NAN];
        gaussian_points(3.0, 4.0, &mut given, &mut point).unwrap();
        // u sqrt(-2 ln s / s) of u = ½ and s = ¼.
        let expected = 3.0 * 0.5 * (-2.0 * 0.25_f64.ln() / 0.25).sqrt();
        assert!((point[0] - expected).abs() < 1e-14, "{refused:?}: {}", point[0]);
    }
}
