//! Sizes of maps: what is refused, what tables there are, and how long they and their scratch are.

use countgrid_em::{Table, Tables};
use countgrid_gtm::testing::{Path, problem};
use countgrid_gtm::{
    AlignedVec, EmissionModel, Emissions, Gtm, GtmError, Inflation, Priors, Shape, Statistics,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

const ZIP: EmissionModel = EmissionModel::Zip(Inflation::Document);
const LATENT: EmissionModel = EmissionModel::Zip(Inflation::Latent);

#[test]
fn every_size_is_at_least_one() {
    let sizes = ["latent points", "latent dimensions", "basis functions", "features"];
    for (at, size) in sizes.into_iter().enumerate() {
        let mut of = [2; 4];
        of[at] = 0;
        let refused = Shape::new(ZIP, of[0], of[1], of[2], of[3]);
        assert_eq!(refused, Err(GtmError::Empty { size }));
    }
    let shape = Shape::new(ZIP, 2, 2, 2, 2).unwrap();
    assert_eq!(shape.with_profiles(0, 2), Err(GtmError::Empty { size: "profiles" }));
    assert_eq!(shape.with_profiles(2, 0), Err(GtmError::Empty { size: "covariates" }));
}

#[test] // no sum of lengths may overflow
fn tables_that_cannot_be_addressed_are_refused() {
    let many = 1 << (usize::BITS / 2 - 1); // its square is a quarter of the addresses
    let too_large = |points, features| Err(GtmError::TooLarge { points, features });
    assert_eq!(Shape::new(ZIP, many, 1, 1, many), too_large(many, many));
    assert_eq!(Shape::new(ZIP, 1, 1, many, many), too_large(1, many));
    assert_eq!(Shape::new(ZIP, many, many, 1, 1), too_large(many, 1));
    assert_eq!(Shape::new(ZIP, 1, 1, many, 1), too_large(1, 1), "a system of the weights of a feature");
    let narrow = Shape::new(ZIP, 1, 1, 1, many).unwrap();
    assert_eq!(narrow.with_profiles(many, 1), too_large(1, many));
    assert_eq!(narrow.with_profiles(1, many), too_large(1, many));
    assert!(narrow.with_profiles(1, 1).is_ok());
    for shape in [Shape::new(ZIP, usize::MAX, 1, 1, 1), Shape::new(ZIP, 1, usize::MAX, 1, 1)] {
        assert!(matches!(shape, Err(GtmError::TooLarge { .. })));
    }
    // A few million documents' worth of scratch is counted, and no more than can be.
    let shape = Shape::new(ZIP, 3, 2, 4, 5).unwrap();
    assert_eq!(shape.chunk_scratch_len(usize::MAX), usize::MAX);
}

#[test]
fn emission_models_have_names() {
    let names = ["zip", "zip-latent", "poisson", "bernoulli", "multinomial", "gaussian"];
    for (model, name) in EmissionModel::ALL.into_iter().zip(names) {
        assert_eq!(model.name(), name);
        assert_eq!(EmissionModel::from_name(name), Some(model));
    }
    for unknown in ["", "Zip", "normal"] {
        assert_eq!(EmissionModel::from_name(unknown), None);
    }
}

/// Name, rows and columns of a table.
type Sizes = (&'static str, usize, usize);

/// Those of tables that are not empty.
fn tables(layout: &[Table]) -> Vec<Sizes> {
    layout
        .iter()
        .filter(|table| table.rows * table.columns > 0)
        .map(|table| (table.name, table.rows, table.columns))
        .collect()
}

/// Three points, two axes, four functions, five features; with covariates seven profiles of six.
#[test]
fn tables_are_those_that_are_needed() {
    let of = |model| Shape::new(model, 3, 2, 4, 5).unwrap();
    let covariates = of(ZIP).with_profiles(7, 6).unwrap();
    let (zip, profiles) = (("step", 5, 3), ("profiles", 1, 1));
    let emissions: [(Shape, &[Sizes]); 9] = [
        (of(ZIP), &[("slope", 5, 3), zip]),
        (of(LATENT), &[("slope", 5, 3), zip]),
        (of(ZIP).general(), &[("slope", 5, 3), zip, ("inflation", 5, 1), profiles]),
        (of(LATENT).general(), &[("slope", 5, 3), zip, ("inflation", 5, 3)]),
        (covariates, &[("slope", 5, 3), zip, ("inflation", 5, 6), ("profiles", 6, 7)]),
        (of(EmissionModel::Poisson), &[("slope", 5, 3)]),
        (of(EmissionModel::Bernoulli), &[("step", 5, 3)]),
        (of(EmissionModel::Multinomial), &[("slope", 5, 3)]),
        (of(EmissionModel::Gaussian), &[("slope", 5, 3)]),
    ];
    let always =
        [("points", 2, 3), ("log_mixing", 1, 3), ("zeros", 1, 3), ("precision", 1, 1), ("reference", 1, 1)];
    let length = |tables: &[Sizes]| tables.iter().map(|(_, rows, columns)| rows * columns).sum();
    for (shape, own) in emissions {
        let expected = [&always[..], own].concat();
        let map = Gtm::allocate(shape, &[0.5; 6], &[1.0; 12], Priors::default()).unwrap();
        let found = Emissions::<f64, AlignedVec<f64>>::allocate(&map).unwrap();
        assert_eq!(tables(found.layout()), expected, "{shape:?}");
        let needed: usize = length(&expected);
        assert_eq!((shape.emissions_len(), found.buffer().len()), (needed, needed));
    }

    let (present, profiles) = (("present", 5, 3), ("profiles", 1, 1));
    let (documents, exposure, totals) = (("documents", 1, 3), ("exposure", 1, 3), ("totals", 1, 2));
    let counts = ("counts", 5, 3);
    let sums: [(Shape, &[Sizes]); 9] = [
        (of(ZIP), &[counts, present, documents, exposure, totals]),
        (of(LATENT), &[counts, present, documents, exposure, totals]),
        (of(ZIP).general(), &[counts, present, documents, exposure, ("inflated", 5, 1), profiles, totals]),
        (of(LATENT).general(), &[counts, present, documents, exposure, ("inflated", 5, 3), totals]),
        (covariates, &[counts, present, documents, exposure, ("inflated", 5, 7), ("profiles", 1, 7), totals]),
        (of(EmissionModel::Poisson), &[counts, documents, exposure, totals]),
        (of(EmissionModel::Bernoulli), &[present, documents, exposure, totals]),
        (of(EmissionModel::Multinomial), &[counts, documents, exposure, totals]),
        (of(EmissionModel::Gaussian), &[counts, documents, exposure, totals]),
    ];
    for (shape, expected) in sums {
        let found = Statistics::<f64, _, _>::allocate(shape).unwrap();
        assert_eq!(tables(found.layout()), expected, "{shape:?}");
        assert_eq!(shape.sums_len(), length(expected));
    }
}

#[test]
fn scratch_is_as_long_as_it_has_to_be() {
    let fast = Shape::new(ZIP, 3, 2, 4, 5).unwrap();
    let covariates = fast.with_profiles(7, 6).unwrap();
    // A posterior and a row of terms; on the general path also what is known of five features.
    assert_eq!((fast.posterior_scratch_len(), fast.scratch_len()), (0, 6));
    assert_eq!((covariates.posterior_scratch_len(), covariates.scratch_len()), (5, 11));
    // Five numbers are kept of each document that is placed together with others.
    for (chunk, of_fast, of_covariates) in [(0, 6, 11), (1, 6, 11), (2, 22, 32), (7, 77, 112)] {
        assert_eq!(fast.chunk_scratch_len(chunk), of_fast);
        assert_eq!(covariates.chunk_scratch_len(chunk), of_covariates);
    }
    // 4 x 3 functions and one covariate, ten rows of 3, a system of 4 x 4, a step and two columns of 4.
    assert_eq!(fast.workspace_len(), 12 + 1 + 30 + 16 + 12);
    // 4 x 3 functions and 6 x 7 covariates, ten rows of 7, a system of 6 x 6, a step and two columns of 6.
    assert_eq!(covariates.workspace_len(), 12 + 42 + 70 + 36 + 18);
    for shape in [fast, covariates] {
        let lengths = [shape.sums_len(), shape.scratch_len(), shape.workspace_len()];
        let new = |[sums, scratch, workspace]: [usize; 3]| {
            Statistics::<f64, _, _>::new(shape, vec![0.0; sums], vec![0.0; scratch], vec![0.0; workspace])
        };
        assert!(new(lengths).is_ok());
        for (at, table) in ["sums", "scratch", "workspace"].into_iter().enumerate() {
            let mut short = lengths;
            short[at] -= 1;
            let (expected, found) = (lengths[at], short[at]);
            assert_eq!(new(short).map(|_| ()), Err(GtmError::Length { table, expected, found }));
        }
    }
}

/// What the property tests rest on.
#[test]
fn maps_of_problems_are_what_they_say() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let problem = problem().new_tree(&mut runner).unwrap().current();
    for model in EmissionModel::ALL {
        let map = problem.map::<f64>(model, Path::Fast);
        let expected = if model == EmissionModel::Gaussian { 0.7 } else { 1.0 };
        assert_eq!(map.precision(), expected, "{model:?}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn shapes_are_read_as_they_were_written() {
    let of = |model| Shape::new(model, 3, 2, 4, 5).unwrap();
    let shapes = [
        of(ZIP),
        of(ZIP).general(),
        of(ZIP).with_profiles(7, 1).unwrap(),
        of(ZIP).with_profiles(1, 6).unwrap(),
        of(ZIP).with_profiles(7, 6).unwrap(),
        of(LATENT),
        of(LATENT).general(),
        of(EmissionModel::Gaussian).on(countgrid_gtm::Space::Torus),
    ];
    let read = |text: &str| serde_json::from_str::<Shape>(text).map_err(|error| error.to_string());
    for shape in shapes {
        assert_eq!(read(&serde_json::to_string(&shape).unwrap()), Ok(shape));
    }
    let text = serde_json::to_string(&of(ZIP)).unwrap();
    let empty = read(&text.replace(r#""points":3"#, r#""points":0"#)).unwrap_err();
    assert_eq!(empty, "a map needs at least one of its latent points");
    let unknown = read(&text.replace(r#""zip""#, r#""normal""#)).unwrap_err();
    let names = "the name of an emission model: zip zip-latent poisson bernoulli multinomial gaussian";
    assert!(
        unknown.starts_with(&format!(r#"invalid value: string "normal", expected {names}"#)),
        "{unknown}"
    );
    // Covariates need the emission model that has them.
    let poisson = serde_json::to_string(&of(EmissionModel::Poisson)).unwrap();
    let refused = read(&poisson.replace(r#""profiles":1"#, r#""profiles":2"#)).unwrap_err();
    assert_eq!(refused, "the law of this map has no covariates of documents");
}
