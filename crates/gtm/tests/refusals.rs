//! What is refused, with the place and the text that says so.

use countgrid_counts::{Bag, Dense};
use countgrid_em::{Fit, Learn, Tables, TablesExt};
use countgrid_gtm::testing::{COLUMNS, POINTS, latent};
use countgrid_gtm::{
    AlignedVec, Basis, Documents, EmissionModel, Emissions, Gtm, GtmError, Inflation, Learner, Options,
    Priors, Reals, Shape, Statistics, grid_points, torus_points,
};

const ZIP: EmissionModel = EmissionModel::Zip(Inflation::Document);
const LATENT: EmissionModel = EmissionModel::Zip(Inflation::Latent);

fn shape(model: EmissionModel, features: usize) -> Shape {
    Shape::new(model, POINTS, 2, COLUMNS, features).unwrap()
}

fn map(shape: Shape) -> Gtm<f64, AlignedVec<f64>> {
    let (points, phi) = latent();
    Gtm::allocate(shape, &points, &phi, Priors::default()).unwrap()
}

/// `values` with another one at a place.
fn with(values: &[f64], at: usize, x: f64) -> Vec<f64> {
    let mut values = values.to_vec();
    values[at] = x;
    values
}

#[test]
fn a_basis_says_which_centre_or_function_is_wrong() {
    let at_fault = |axes: usize, at: usize| Basis::sinh(&with(&[0.5; 6], at, f64::NAN), axes).unwrap_err();
    assert_eq!(at_fault(2, 5), GtmError::NotFinite { table: "centres", row: 1, column: 2 });
    assert_eq!(at_fault(2, 1), GtmError::NotFinite { table: "centres", row: 0, column: 1 });
    assert_eq!(at_fault(3, 4), GtmError::NotFinite { table: "centres", row: 2, column: 0 });
    for axes in 1..=3 {
        let centres = [0.5; 6];
        let basis = Basis::sinh(&centres, axes).unwrap();
        assert_eq!((basis.axes(), basis.columns()), (axes, 6 / axes + 1));
    }
    // A sinh of 800 is beyond what the type holds.
    let basis = Basis::sinh(&[0.0, 1.0, 1.0, 0.0], 2).unwrap(); // (0, 1) and (1, 0)
    let mut table = [0.0; 9];
    let far = basis.table(&[0.0, 0.0, 800.0, 0.0, 0.0, 0.0], &mut table); // (0, 0), (0, 0), (800, 0)
    assert_eq!(far, Err(GtmError::NotFinite { table: "basis", row: 1, column: 2 }));
}

#[test] // `1 / 2 s²` has to be a number
fn widths_of_a_basis_are_positive_and_their_squares_have_an_inverse() {
    let centres = [0.0, 0.5];
    for width in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-160, -1e-100] {
        let refused = Basis::rbf(&centres, 2, width).map(|basis| basis.axes());
        assert_eq!(refused, Err(GtmError::Setting { name: "width" }), "{width}");
    }
    for width in [1e-100, 1e-3, 1.0, 1e100] {
        assert!(Basis::rbf(&centres, 2, width).is_ok(), "{width}");
    }
    // At a width of 1e100 all places are alike, and at 1e-100 none is but the centre.
    for (width, expected) in [(1e100, 1.0), (1e-100, 0.0)] {
        let mut row = [0.0; 2];
        Basis::rbf(&centres, 2, width).unwrap().row(&[0.25, 0.5], &mut row).unwrap();
        assert_eq!(row, [expected, 1.0]);
    }
    for width in [1.0 + f64::EPSILON, f64::NAN] {
        let refused = Basis::rbf_on_torus(&centres, 2, width).map(|basis| basis.axes());
        assert_eq!(refused, Err(GtmError::Setting { name: "width" }), "{width}");
    }
}

#[test]
fn points_of_grids_are_where_they_should_be() {
    let mut points = [f64::NAN; 12];
    grid_points(3, 2, &mut points).unwrap();
    assert_eq!(points, [-1.0, 0.0, 1.0, -1.0, 0.0, 1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0]);
    torus_points(3, 2, &mut points).unwrap();
    let third = 2.0 / 3.0;
    for (x, expected) in points[..6].iter().zip([-1.0, third - 1.0, 2.0 * third - 1.0].repeat(2)) {
        assert!((x - expected).abs() < 1e-15);
    }
    assert_eq!(points[6..], [-1.0, -1.0, -1.0, 0.0, 0.0, 0.0]);
    let mut row = [f64::NAN; 4];
    grid_points(2, 1, &mut row).unwrap(); // a single row is at 0
    assert_eq!(row, [-1.0, 1.0, 0.0, 0.0]);
    grid_points(1, 2, &mut row).unwrap();
    assert_eq!(row, [0.0, 0.0, -1.0, 1.0]);
    let short = Err(GtmError::Length { table: "points", expected: 4, found: 3 });
    assert_eq!(grid_points(2, 1, &mut row[1..]), short);
}

#[test]
fn a_map_says_which_element_of_which_table_is_wrong() {
    let shape = shape(LATENT, 3);
    let good = map(shape).buffer().to_vec();
    // Tables are one after the other: 2 x 9 points, 5 x 9 functions, no profiles, 5 precisions, 2 x 5 of the prior.
    let (basis, precision, prior, mixing) = (18, 18 + 45, 18 + 45 + 5, 18 + 45 + 5 + 10);
    let refused = |at: usize, x: f64| Gtm::new(shape, with(&good, at, x)).map(|_| ()).unwrap_err();
    let not_finite = |table, row, column| GtmError::NotFinite { table, row, column };
    let range = |table, row, column| GtmError::Range { table, row, column };
    assert_eq!(refused(9 + 2, f64::NAN), not_finite("points", 1, 2));
    assert_eq!(refused(basis + 3 * 9 + 7, f64::INFINITY), not_finite("basis", 3, 7));
    assert_eq!(refused(precision + 4, -1.0), range("weight_precision", 0, 4));
    assert_eq!(refused(prior + 3, -1.0), range("inflation_prior", 0, 3));
    assert_eq!(refused(prior + 5 + 3, f64::NAN), not_finite("inflation_prior", 1, 3));
    assert!(Gtm::new(shape, with(&good, prior + 5 + 3, -1.0)).is_ok(), "a mean of any sign");
    assert_eq!(refused(mixing + 8, -0.1), range("mixing", 0, 8));
    assert_eq!(refused(mixing, 0.5), range("mixing", 0, 0)); // no longer a sum of 1
    assert_eq!(refused(mixing + 9, 0.0), range("precision", 0, 0));
    assert_eq!(refused(mixing + 9, -1.0), range("precision", 0, 0));
    assert_eq!(refused(mixing + 10, -1.0), range("reference", 0, 0));
    let long = Gtm::new(shape, vec![0.0; good.len() + 1]).map(|_| ());
    let expected = GtmError::Length { table: "map", expected: good.len(), found: good.len() + 1 };
    assert_eq!(long, Err(expected));

    let tables = Emissions::allocate(&map(shape)).unwrap().buffer().to_vec();
    let at_fault = Emissions::new(shape, with(&tables, 9 + 4, f64::NAN)).map(|_| ()).unwrap_err();
    assert_eq!(at_fault, not_finite("points", 1, 4));
}

#[test]
fn a_table_that_is_refused_leaves_the_map_as_it_was() {
    let mut own = map(shape(LATENT, 3));
    let before = own.buffer().to_vec();
    let range = |table, row, column| Err(GtmError::Range { table, row, column });
    assert_eq!(own.set("weights", &with(&[0.5; 15], 5 + 3, f64::NAN)), range("weights", 1, 3));
    assert_eq!(own.set("inflation", &with(&[0.5; 15], 14, f64::INFINITY)), range("inflation", 2, 4));
    assert_eq!(own.set("weight_precision", &with(&[0.5; 5], 3, -0.5)), range("weight_precision", 0, 3));
    let mixing = with(&with(&[0.0; POINTS], 2, 1.5), 6, -0.5); // they sum to 1
    assert_eq!(own.set("mixing", &mixing), range("mixing", 0, 6));
    assert_eq!(own.set("inflation_prior", &with(&[0.5; 10], 2, -0.5)), range("inflation_prior", 0, 2));
    assert_eq!(own.set("inflation_prior", &with(&[0.5; 10], 7, f64::NAN)), range("inflation_prior", 1, 2));
    assert_eq!(own.buffer(), before);
    // Precisions may be 0, means have any sign, and mixing weights may be 0.
    own.set("inflation_prior", &[0.0, 1.0, 0.0, 2.0, 0.0, -1.0, 1.0, 0.0, -3.0, 2.0]).unwrap();
    own.set("weight_precision", &[0.0; 5]).unwrap();
    own.set("mixing", &with(&[0.0; POINTS], 2, 1.0)).unwrap();
    assert_eq!(own.row("inflation_prior", 1), Some(&[-1.0, 1.0, 0.0, -3.0, 2.0][..]));
    assert_eq!(own.mixing()[2], 1.0);
}

/// What an exposure is answered with, by shapes of the fast path and by general ones.
fn with_exposure(model: EmissionModel) -> (Result<(), GtmError>, Result<(), GtmError>) {
    match model {
        EmissionModel::Zip(_) => (Err(GtmError::NeedsGeneral), Ok(())),
        EmissionModel::Poisson => (Ok(()), Ok(())),
        _ => {
            let refused = Err(GtmError::EmissionModel { what: "exposure" });
            (refused, refused)
        }
    }
}

#[test]
fn profiles_and_references_that_make_no_sense_are_refused() {
    let with_profiles = shape(ZIP, 3).with_profiles(3, 2).unwrap();
    let mut own = map(with_profiles);
    let refused = own.set_profiles(&with(&[1.0; 6], 5, f64::NAN));
    assert_eq!(refused, Err(GtmError::NotFinite { table: "profiles", row: 1, column: 2 }));
    let refused = own.set_profiles(&[1.0; 5]);
    assert_eq!(refused, Err(GtmError::Length { table: "profiles", expected: 6, found: 5 }));
    own.set_profiles(&[1.0, 1.0, 1.0, 0.1, 0.2, 0.3]).unwrap();
    let refused = map(shape(LATENT, 3)).set_profiles(&[1.0]);
    assert_eq!(refused, Err(GtmError::EmissionModel { what: "covariates of documents" }));

    for model in EmissionModel::ALL {
        for reference in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refused = map(shape(model, 3).general()).set_reference(reference);
            assert_eq!(refused, Err(GtmError::Setting { name: "reference" }), "{model:?} {reference}");
        }
        let (fast, general) = with_exposure(model);
        assert_eq!(map(shape(model, 3)).set_reference(2.0), fast, "{model:?}");
        assert_eq!(map(shape(model, 3).general()).set_reference(2.0), general, "{model:?}");
        let none = map(shape(model, 3)).set_reference(0.0); // what it is anyway, where there are exposures
        assert_eq!(none.is_ok(), general.is_ok(), "{model:?}");
    }
}

#[test]
fn documents_that_do_not_go_with_a_map_are_refused() {
    let counts = [1.0, 0.0, 2.0];
    let bags = Dense::new(3, &counts).unwrap();
    for exposure in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = Documents::new(bags).with_exposure(&[exposure]).map(|_| ());
        assert_eq!(refused, Err(GtmError::Exposure { document: 0 }), "{exposure}");
    }
    let exposure = [0.5];
    let exposed = Documents::new(bags).with_exposure(&exposure).unwrap();
    let place = |shape: Shape, documents: &Documents<'_, Dense<'_, f64>, f64>| {
        let emissions = Emissions::allocate(&map(shape)).unwrap();
        emissions.posterior_of(documents, 0, &mut [0.0; POINTS], &mut [0.0; 3]).map(|_| ())
    };
    for model in EmissionModel::ALL {
        let (fast, general) = with_exposure(model);
        assert_eq!(place(shape(model, 3), &exposed), fast, "{model:?}");
        assert_eq!(place(shape(model, 3).general(), &exposed), general, "{model:?}");
    }
    let two = shape(ZIP, 3).with_profiles(2, 2).unwrap();
    let none = |profile| Err(GtmError::NoSuchProfile { document: 0, profile, profiles: 2 });
    for (profile, expected) in [(0, Ok(())), (1, Ok(())), (2, none(2)), (usize::MAX, none(usize::MAX))] {
        let documents = Documents::new(bags).with_profiles(std::slice::from_ref(&profile)).unwrap();
        assert_eq!(place(two, &documents), expected, "{profile}");
    }
    assert_eq!(place(two, &Documents::new(bags)), none(2)); // of two, one has to be named
    assert_eq!(place(shape(ZIP, 3).general(), &Documents::new(bags)), Ok(()));

    // Exposures by length that no float holds, of a document whose probability would be that of inflation alone.
    let mut own = map(shape(ZIP, 3).general());
    own.set_reference(1e-320).unwrap();
    let emissions = Emissions::allocate(&own).unwrap();
    let empty = Dense::new(3, &[0.0; 3]).unwrap();
    let found = emissions.posterior(&empty, 0, &mut [0.0; POINTS], &mut [0.0; 3]);
    assert_eq!(found, Err(GtmError::Overflow { document: 0 }));
}

/// Where a score, or what no point changes, is beyond the range of the type.
#[test]
fn numbers_that_are_too_large_are_refused() {
    let shape = Shape::new(EmissionModel::Gaussian, 2, 1, 2, 1).unwrap();
    let values = [1e30_f32];
    let rows = Reals::new(1, &values).unwrap();
    // Means of 1e15 at one point and 0 at the other: the score 1e45 is infinite at the first and finite at the second.
    let mut map = Gtm::allocate(shape, &[0.0_f32, 1.0], &[1.0, 0.0, 1.0, 1.0], Priors::default()).unwrap();
    map.set("weights", &[1e15, 0.0]).unwrap();
    let emissions = Emissions::allocate(&map).unwrap();
    let mut q = [0.0; 2];
    assert_eq!(emissions.posterior_of(&rows, 0, &mut q, &mut []), Err(GtmError::Overflow { document: 0 }));

    // A square of 1e20 is finite, and so are all scores, of means 0; but not the square times the precision.
    let mut map = Gtm::allocate(shape, &[0.0_f64, 1.0], &[1.0, 0.0, 1.0, 1.0], Priors::default()).unwrap();
    map.set("precision", &[1e300]).unwrap();
    let learner = Learner::allocate(map, Options::default()).unwrap();
    let values = [1e10];
    let found =
        learner.expectation(&Reals::new(1, &values).unwrap(), &mut Statistics::allocate(shape).unwrap());
    assert_eq!(found, Err(GtmError::Overflow { document: 0 }));
}

#[test]
fn statistics_of_another_shape_are_refused() {
    let (own, other) = (shape(EmissionModel::Poisson, 3), shape(EmissionModel::Poisson, 3).general());
    assert_eq!(own, other); // one path only
    let other = own.on(countgrid_gtm::Space::Torus); // of equal lengths
    let mut learner = Learner::allocate(map(own), Options::default()).unwrap();
    let mut statistics = Statistics::allocate(other).unwrap();
    let bags = Dense::new(3, &[1.0, 0.0, 2.0]).unwrap();
    assert_eq!(learner.expectation(&bags, &mut statistics), Err(GtmError::ShapeMismatch));
    assert_eq!(learner.maximization(&mut statistics), Err(GtmError::ShapeMismatch));
    let none = Options { newton_steps: 0, ..Options::default() };
    let refused = Learner::allocate(map(own), none).map(|_| ());
    assert_eq!(refused, Err(GtmError::Setting { name: "newton_steps" }));
}

#[test]
fn points_that_there_are_not_are_refused() {
    let emissions = Emissions::allocate(&map(shape(EmissionModel::Poisson, 2))).unwrap();
    let mut x = [f64::NAN; 2];
    emissions.point(5, &mut x).unwrap(); // of 3 x 3
    assert_eq!(x, [1.0, 0.0]);
    for (k, expected) in [(9, 10), (20, 21), (usize::MAX, usize::MAX)] {
        assert_eq!(emissions.point(k, &mut x), Err(GtmError::Length { table: "points", expected, found: 9 }));
    }
    let short = Err(GtmError::Length { table: "x", expected: 2, found: 1 });
    assert_eq!(emissions.point(5, &mut x[..1]), short);
    let bag = Bag::new(2, &[0], &[1.0]).unwrap();
    let short = emissions.posterior(&bag, 0, &mut [0.0; POINTS - 1], &mut []);
    assert_eq!(short, Err(GtmError::Length { table: "q", expected: 9, found: 8 }));
}

#[test]
fn errors_say_what_was_wrong() {
    let texts = [
        (GtmError::Empty { size: "features" }, "a map needs at least one of its features"),
        (
            GtmError::TooLarge { points: 7, features: 8 },
            "7 latent points of 8 features are more than memory holds",
        ),
        (GtmError::Length { table: "q", expected: 9, found: 8 }, "`q` has 8 elements, needs 9"),
        (
            GtmError::NotFinite { table: "basis", row: 3, column: 1 },
            "`basis` is not finite at row 3, column 1",
        ),
        (
            GtmError::Range { table: "mixing", row: 0, column: 4 },
            "`mixing` is out of range at row 0, column 4",
        ),
        (GtmError::Setting { name: "width" }, "the setting `width` is out of range"),
        (GtmError::EmissionModel { what: "exposure" }, "the law of this map has no exposure"),
        (GtmError::NeedsGeneral, "exposures and covariates of zero-inflated counts need the general path"),
        (GtmError::Features { expected: 5, found: 4 }, "the documents have 4 features, the map has 5"),
        (GtmError::ShapeMismatch, "the tables belong to a map of another shape"),
        (
            GtmError::Overflow { document: 6 },
            "the counts of document 6 are too large for this float type: scale them down",
        ),
        (
            GtmError::NoSuchDocument { document: 6, documents: 5 },
            "document 6 of 5 (they are numbered from 0)",
        ),
        (
            GtmError::NoSuchProfile { document: 6, profile: 3, profiles: 2 },
            "document 6 has profile 3 of 2 (they are numbered from 0)",
        ),
        (GtmError::Exposure { document: 6 }, "the exposure of document 6 is not a finite number above 0"),
    ];
    for (error, text) in texts {
        assert_eq!(error.to_string(), text);
    }
}

#[test] // what the compiler prints of a constant shape
fn reasons_of_constants() {
    let reason = |shape: Result<Shape, GtmError>| shape.unwrap_err().constant_reason();
    let poisson = shape(EmissionModel::Poisson, 3);
    assert_eq!(
        reason(Shape::new(EmissionModel::Poisson, 1, 1, 1, 0)),
        "a size is 0, and needs to be at least 1"
    );
    assert_eq!(
        reason(Shape::new(EmissionModel::Poisson, usize::MAX, 1, 1, 1)),
        "the tables are more than can be addressed"
    );
    assert_eq!(
        reason(poisson.with_profiles(1, 1)),
        "covariates, and the emission model is not zero-inflated by document"
    );
    assert_eq!(GtmError::ShapeMismatch.constant_reason(), "this is no shape");
}
