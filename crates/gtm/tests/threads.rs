//! Any number of threads, and of documents together, gives the same bits.

use countgrid_counts::CsrBuf;
use countgrid_em::{Fit, Learn, Tables, TablesMutExt};
use countgrid_gtm::{
    Basis, Documents, EmissionModel, Gtm, GtmError, Learner, Options, Priors, Reals, Shape, Statistics,
    grid_points,
};
use countgrid_math::Real;

const POINTS: usize = 30;
const COLUMNS: usize = 5;
const FEATURES: usize = 37;
const DOCUMENTS: usize = 53;

fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

fn learner<T: Real>(
    shape: Shape,
) -> Learner<T, countgrid_math::AlignedVec<T>, countgrid_math::AlignedVec<f64>> {
    let cast = |x: &[f64]| x.iter().map(|&x| T::from_f64(x)).collect::<Vec<T>>();
    let (mut points, mut centres) = (vec![0.0; 2 * POINTS], [0.0; 8]);
    grid_points(6, 5, &mut points).unwrap();
    grid_points(2, 2, &mut centres).unwrap();
    let mut phi = vec![0.0; COLUMNS * POINTS];
    Basis::rbf(&centres, 2, 1.0).unwrap().table(&points, &mut phi).unwrap();
    let mut map = Gtm::allocate(shape, &cast(&points), &cast(&phi), Priors::default()).unwrap();
    let mut state = 5;
    let weights: Vec<_> = (0..FEATURES * COLUMNS).map(|_| random(&mut state) - 0.7).collect();
    map.set("weights", &cast(&weights)).unwrap();
    if shape.covariates() == 2 {
        let profiles: Vec<_> =
            [1.0; DOCUMENTS].into_iter().chain((0..DOCUMENTS).map(|n| n as f64 / 60.0)).collect();
        map.set_profiles(&cast(&profiles)).unwrap();
    }
    Learner::allocate(map, Options::default()).unwrap()
}

fn bags() -> CsrBuf<u32> {
    let (mut bags, mut state) = (CsrBuf::new(FEATURES).unwrap(), 1);
    for _ in 0..DOCUMENTS {
        let tokens = (random(&mut state) * 40.0) as usize;
        let words: Vec<_> =
            (0..tokens).map(|_| ((random(&mut state) * FEATURES as f64) as usize, 1)).collect();
        bags.push_bag(words).unwrap();
    }
    bags
}

/// Bits of three iterations with every kind of scratch, on 1, 2 and 3 threads; those of the first are in turn.
fn each_way<T: Real, D: Sync>(shape: Shape, documents: &D)
where
    Learner<T, countgrid_math::AlignedVec<T>, countgrid_math::AlignedVec<f64>>: Fit<
            D,
            Statistics = Statistics<T, countgrid_math::AlignedVec<T>, countgrid_math::AlignedVec<f64>>,
            Error = GtmError,
        >,
{
    let fit = |threads: usize, chunk: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut learner = learner::<T>(shape);
            let mut statistics = Statistics::with_chunk(shape, chunk).unwrap();
            let mut bits = Vec::new();
            for _ in 0..3 {
                statistics.clear();
                bits.push(learner.expectation(documents, &mut statistics).unwrap().to_bits());
                bits.extend(statistics.buffer().iter().map(|x| Real::to_f64(*x).to_bits()));
                learner.maximization(&mut statistics).unwrap();
            }
            bits
        })
    };
    let one = fit(1, 1);
    for (threads, chunk) in [(1, 20), (2, 1), (2, 2), (2, 7), (3, 20), (3, 500), (8, 20)] {
        let same = fit(threads, chunk) == one;
        assert!(same, "{:?}: {threads} threads, chunks of {chunk}", shape.emission_model());
    }
}

#[test]
fn threads_change_no_bit() {
    let bags = bags();
    for emission_model in EmissionModel::ALL {
        let shape = Shape::new(emission_model, POINTS, 2, COLUMNS, FEATURES).unwrap();
        for shape in [shape, shape.general()] {
            each_way::<f32, _>(shape, &bags);
            each_way::<f64, _>(shape, &bags);
        }
    }
}

#[test]
fn nor_do_they_of_documents_with_covariates_and_of_rows() {
    let bags = bags();
    let zip = EmissionModel::Zip(countgrid_gtm::Inflation::Document);
    let shape = Shape::new(zip, POINTS, 2, COLUMNS, FEATURES).unwrap().with_profiles(DOCUMENTS, 2).unwrap();
    let profiles: Vec<_> = (0..DOCUMENTS).rev().collect();
    let exposure: Vec<_> = (0..DOCUMENTS).map(|n| 0.5 + n as f32 / 10.0).collect();
    let documents = Documents::new(&bags).with_exposure(&exposure).unwrap().with_profiles(&profiles).unwrap();
    each_way::<f32, _>(shape, &documents);

    let mut state = 9;
    let values: Vec<_> = (0..DOCUMENTS * FEATURES).map(|_| random(&mut state) - 0.5).collect();
    let shape = Shape::new(EmissionModel::Gaussian, POINTS, 2, COLUMNS, FEATURES).unwrap();
    each_way::<f64, _>(shape, &Reals::new(FEATURES, &values).unwrap());
}

#[test]
fn an_error_leaves_the_documents_before() {
    let shape = Shape::new(EmissionModel::Gaussian, POINTS, 2, COLUMNS, FEATURES).unwrap();
    let mut values = vec![0.25_f32; DOCUMENTS * FEATURES];
    values[23 * FEATURES] = 1e30; // its square is infinite
    let rows = Reals::new(FEATURES, &values).unwrap();
    let sums = |threads: usize, chunk: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut statistics = Statistics::with_chunk(shape, chunk).unwrap();
            let error = learner(shape).expectation(&rows, &mut statistics).unwrap_err();
            assert_eq!(error, GtmError::Overflow { document: 23 });
            assert_eq!(statistics.documents(), 23.0);
            statistics.buffer().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        })
    };
    let one = sums(1, 1);
    for chunk in [5, 23, 24, 100] {
        assert_eq!(sums(2, chunk), one);
    }
}

#[test]
fn a_free_energy_beyond_the_range_of_the_type_is_added_up_as_well() {
    let shape = Shape::new(EmissionModel::Gaussian, POINTS, 2, COLUMNS, FEATURES).unwrap();
    let mut values = vec![0.25_f32; DOCUMENTS * FEATURES];
    values[23 * FEATURES] = 1.8e19; // its square is 3.2e38, and half of that times the precision no `f32`
    let rows = Reals::new(FEATURES, &values).unwrap();
    let fit = |threads: usize, chunk: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (mut map, _) = learner::<f32>(shape).into_parts();
            map.set("precision", &[4.0]).unwrap();
            let learner = Learner::allocate(map, Options::default()).unwrap();
            let mut statistics = Statistics::with_chunk(shape, chunk).unwrap();
            let free_energy: f64 = learner.expectation(&rows, &mut statistics).unwrap();
            assert!(free_energy > f64::from(f32::MAX) && free_energy.is_finite());
            assert_eq!(statistics.documents(), DOCUMENTS as f32);
            (free_energy, statistics.buffer().iter().map(|x| x.to_bits()).collect::<Vec<_>>())
        })
    };
    let one = fit(1, 1);
    for chunk in [5, 23, 24, 100] {
        assert!(fit(2, chunk) == one, "chunks of {chunk}");
    }
}
