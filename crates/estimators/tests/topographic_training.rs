//! A training of a topographic map: what the loop of its parts gives, whatever happens between its steps.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder, LabelColumn};
use countgrid_counts::CsrBuf;
use countgrid_em::{EmOptions, End, Tables, no_observer};
use countgrid_estimators::{
    AnyModel, BagTotals, BasisKind, CheckpointError, EstimatorError, Exposure, FittedTopographic, LatentKind,
    LatentSpace, ModelFileError, Phase, Separation, Stored, TopographicOptionError, TopographicOptions,
    TopographicPlan, TopographicTraining, Train,
};
use countgrid_gtm::{
    Basis, EmissionModel, Gtm, GtmError, Learner, Options, Priors, Shape, Statistics, grid_points,
};
use countgrid_io::ModelFile;
use proptest::prelude::*;

/// Bags of three topics over twelve features, one of them empty.
fn blocks<T: Stored>() -> Blocks<T> {
    let mut builder = BlocksBuilder::new(12, BlockLimits { bags: 16, ..BlockLimits::in_memory() }).unwrap();
    for t in 0..40 {
        let entries = (0..t * 5 % 7)
            .map(|n| ((t % 3 * 4 + n * (t + 1) % 5) % 12, T::from_f64((1 + (t + n) % 4) as f64)));
        builder.push(entries).unwrap();
    }
    builder.finish().unwrap()
}

fn bags<T: Stored>() -> CsrBuf<T> {
    blocks().gather(|count| count).unwrap()
}

fn small(emission_model: EmissionModel) -> TopographicOptions {
    TopographicOptions {
        emission_model,
        points: [5, 4],
        basis_functions: [3, 2],
        iterations: 6,
        tolerance: 0.0,
        ..TopographicOptions::default()
    }
}

/// Every emission model, space and basis once.
fn cases() -> Vec<TopographicOptions> {
    let mut cases: Vec<_> = EmissionModel::ALL.map(small).into();
    cases[0].latent = LatentKind::Random;
    cases[1].latent = LatentKind::Torus;
    cases[2].exposure = Exposure::Length;
    cases[3].basis = BasisKind::Sinh;
    cases.push(TopographicOptions { exposure: Exposure::Length, ..small(EmissionModel::ALL[0]) });
    cases
}

fn plan<T: Stored>(options: &TopographicOptions) -> TopographicPlan<T> {
    options.check(BagTotals::from_blocks(&blocks::<T>()).unwrap()).unwrap()
}

fn whole<T: Stored>(options: &TopographicOptions) -> FittedTopographic<T> {
    let mut training = TopographicTraining::new(plan(options), bags()).unwrap();
    training.run(|_| ControlFlow::Continue(())).unwrap();
    training.finish().unwrap()
}

#[test]
fn a_training_is_the_fit_by_hand() {
    let options = small(EmissionModel::Poisson);
    let (mut points, mut centres) = (vec![0.0; 40], vec![0.0; 12]);
    grid_points(5, 4, &mut points).unwrap();
    grid_points(3, 2, &mut centres).unwrap();
    let basis = Basis::rbf(&centres, 2, 2.0).unwrap(); // two spacings of three centres from -1 to 1
    let mut phi = vec![0.0; 20 * basis.columns()];
    basis.table(&points, &mut phi).unwrap();
    let shape = Shape::new(EmissionModel::Poisson, 20, 2, basis.columns(), 12).unwrap();
    let mut map = Gtm::allocate(shape, &points, &phi, Priors::default()).unwrap();
    let bags = bags::<f64>();
    map.initialise(&bags, 0.3).unwrap();
    let mut learner = Learner::allocate(map, Options { newton_steps: 3, ..Options::default() }).unwrap();
    let mut statistics = Statistics::allocate(shape).unwrap();
    let em = EmOptions { iterations: 6, tolerance: 0.0 }.check().unwrap();
    let outcome = em.fit(&mut learner, &bags, &mut statistics, no_observer).unwrap();

    let own = whole::<f64>(&options);
    assert_eq!(own.map().buffer(), learner.map().buffer());
    let summary = own.summary().unwrap();
    assert_eq!((summary.free_energy, summary.iterations), (Some(outcome.free_energy), outcome.iterations));
    assert_eq!((summary.end, own.info.fit["end"].as_str()), (End::Limit, Some("iterations used up")));
    // Places are posteriors, and the free energy is that of all bags; 40 roundings of sums up to 1e3.
    let total: f64 = own.score(&blocks::<f64>()).unwrap().iter().sum();
    assert!((total - outcome.free_energy).abs() < 1e-10 * outcome.free_energy.abs());
    let rows = own.transform(&blocks::<f64>()).unwrap();
    assert!((0..40).all(|n| (rows.row(n).iter().sum::<f64>() - 1.0).abs() < 1e-12));
}

fn resumed<T: Stored>(options: &TopographicOptions, at: &[usize]) -> ModelFile {
    let mut training = TopographicTraining::new(plan::<T>(options), bags()).unwrap();
    let mut steps = 0;
    while !training.is_done() {
        if at.contains(&steps) {
            let file = training.checkpoint().unwrap();
            training = TopographicTraining::resume(plan(options), bags(), file).unwrap();
        }
        training.step().unwrap();
        steps += 1;
    }
    let file = training.checkpoint().unwrap();
    TopographicTraining::resume(plan::<T>(options), bags(), file).unwrap().finish().unwrap().to_file()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn resumed_anywhere_it_gives_the_same_bits(
        case in 0..7_usize, at in prop::collection::vec(0..7_usize, 1..3), double in any::<bool>(),
    ) {
        let options = &cases()[case];
        if double {
            prop_assert!(resumed::<f64>(options, &at) == whole::<f64>(options).to_file());
        } else {
            prop_assert!(resumed::<f32>(options, &at) == whole::<f32>(options).to_file());
        }
    }
}

#[test]
fn files_hold_all_that_placing_takes() {
    for options in cases() {
        let map = whole::<f32>(&options);
        let mut file = map.to_file();
        let names: Vec<String> = (0..12).map(|n| format!("w{n}")).collect();
        file.set_strings("vocabulary", &names);
        let AnyModel::TopographicF32(loaded) = AnyModel::from_file(file.clone()).unwrap() else {
            panic!("a map in single precision")
        };
        assert!(loaded.to_file() == file, "{options:?}");
        assert_eq!(loaded.place(&blocks::<f32>()).unwrap(), map.place(&blocks::<f32>()).unwrap());
        assert_eq!(loaded.latent(), map.latent());
        let refused = FittedTopographic::<f64>::from_file(file.clone()).unwrap_err();
        assert!(matches!(refused, EstimatorError::Model(ModelFileError::TableType { .. })), "{refused}");
        for table in 0..file.tables.len() {
            let mut broken = file.clone();
            broken.tables.remove(table);
            assert!(FittedTopographic::<f32>::from_file(broken).is_err());
        }
    }
}

#[test]
fn a_stopped_training_has_the_map_as_it_is() {
    let options = small(EmissionModel::Multinomial);
    let mut training = TopographicTraining::new(plan::<f32>(&options), bags()).unwrap();
    let mut seen = Vec::new();
    training
        .run(|progress| {
            seen.push((progress.phase, progress.iteration, progress.bound_per_token.is_some()));
            if progress.iteration == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!(seen, [0, 1, 2].map(|iteration| (Phase::Plain, iteration, true)));
    let map = training.finish().unwrap();
    assert_eq!((map.summary().unwrap().end, map.summary().unwrap().iterations), (End::Stopped, 2));
    let two = whole::<f32>(&TopographicOptions { iterations: 2, ..options });
    assert_eq!(map.map().buffer(), two.map().buffer());
}

#[test]
fn checkpoints_of_other_trainings_are_refused() {
    let options = small(EmissionModel::Poisson);
    let mut training = TopographicTraining::new(plan::<f32>(&options), bags()).unwrap();
    training.step().unwrap();
    let file = training.checkpoint().unwrap();
    let refused =
        |options: &TopographicOptions, bags: CsrBuf<f32>, file: ModelFile| match TopographicTraining::resume(
            plan::<f32>(options),
            bags,
            file,
        ) {
            Err(EstimatorError::Checkpoint(error)) => error,
            other => panic!("{other:?}"),
        };
    let own = || options.clone();
    for (other, option) in [
        (TopographicOptions { emission_model: EmissionModel::Multinomial, ..own() }, "emission_model"),
        (TopographicOptions { points: [5, 5], ..own() }, "points"),
        (TopographicOptions { latent: LatentKind::Torus, ..own() }, "latent"),
        (TopographicOptions { basis: BasisKind::Sinh, ..own() }, "basis"),
        (TopographicOptions { basis_functions: [3, 3], ..own() }, "basis_functions"),
        (TopographicOptions { width: Some(0.5), ..own() }, "width"),
        (TopographicOptions { exposure: Exposure::Length, ..own() }, "exposure"),
        (TopographicOptions { initial_spread: 0.4, ..own() }, "initial_spread"),
        (TopographicOptions { newton_steps: 4, ..own() }, "newton_steps"),
        (TopographicOptions { iterations: 7, ..own() }, "iterations"),
        (TopographicOptions { tolerance: 1e-3, ..own() }, "tolerance"),
        (TopographicOptions { seed: 2, ..own() }, "seed"),
    ] {
        match refused(&other, bags(), file.clone()) {
            CheckpointError::Option { name, .. } => assert_eq!(name, option),
            error => panic!("{option}: {error}"),
        }
    }
    let double = TopographicTraining::resume(plan::<f64>(&options), bags(), file.clone()).unwrap_err();
    assert!(matches!(double, EstimatorError::Checkpoint(CheckpointError::Option { name: "scalar", .. })));
    let mut more = bags();
    more.push_bag([(0, 1.0)]).unwrap();
    assert!(matches!(refused(&options, more, file.clone()), CheckpointError::Data { .. }));
    let model = whole::<f32>(&options).to_file();
    assert_eq!(refused(&options, bags(), model), CheckpointError::NotACheckpoint);
    let mut moved = file;
    let points = moved.tables.iter_mut().find(|table| table.name == "learner.points").unwrap();
    let countgrid_io::TableData::F32(points) = &mut points.data else { panic!("points of f32") };
    points[0] = 0.25;
    assert!(matches!(refused(&options, bags(), moved), CheckpointError::Table { .. }));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let default = TopographicOptions::default;
    let refused = |options: TopographicOptions| LatentSpace::<f32>::new(&options).unwrap_err();
    let option = |error: EstimatorError| match error {
        EstimatorError::Topographic(error) => error,
        other => panic!("{other}"),
    };
    let sinh = TopographicOptions { basis: BasisKind::Sinh, ..default() };
    let torus = TopographicOptions { latent: LatentKind::Torus, ..sinh.clone() };
    assert_eq!(option(refused(torus)), TopographicOptionError::SinhOnTorus);
    assert_eq!(
        option(refused(TopographicOptions { width: Some(1.0), ..sinh })),
        TopographicOptionError::WidthOfSinh
    );
    let emission_model = EmissionModel::Bernoulli;
    let exposed = TopographicOptions { exposure: Exposure::Length, emission_model, ..default() };
    assert_eq!(option(refused(exposed)), TopographicOptionError::ExposureWithoutRates { emission_model });
    for (options, expected) in [
        (TopographicOptions { points: [0, 3], ..default() }, GtmError::Empty { size: "latent points" }),
        (
            TopographicOptions { basis_functions: [3, 0], ..default() },
            GtmError::Empty { size: "basis functions" },
        ),
        (TopographicOptions { width: Some(0.0), ..default() }, GtmError::Setting { name: "width" }),
        (TopographicOptions { width: Some(f64::NAN), ..default() }, GtmError::Setting { name: "width" }),
    ] {
        let error = refused(options);
        assert!(matches!(error, EstimatorError::Gtm(found) if found == expected), "{error}");
    }
    let huge = refused(TopographicOptions { points: [usize::MAX, 2], ..default() });
    assert!(matches!(huge, EstimatorError::Memory { .. }), "{huge}");
    let nothing = BagTotals { features: 3, bags: 2, non_empty: 0, tokens: 0.0 };
    assert!(matches!(default().check::<f32>(nothing), Err(EstimatorError::Tokens { .. })));
    let steps = TopographicOptions { newton_steps: 0, ..small(EmissionModel::Poisson) };
    let error = TopographicTraining::new(plan::<f32>(&steps), bags()).unwrap().step().unwrap_err();
    assert!(matches!(error, EstimatorError::Gtm(GtmError::Setting { name: "newton_steps" })), "{error}");
}

#[test]
fn labels_that_lie_apart_are_told_apart() {
    let mut map = whole::<f64>(&small(EmissionModel::Multinomial));
    let places = map.place(&blocks::<f64>()).unwrap();
    let topics = (0..40).map(|t| Some(["a", "b", "c"][t % 3].to_owned()));
    let labels = LabelColumn::from_labels(topics);
    let found = |seed| Separation::from_places(&places, &labels, map.latent().space(), 3, seed).unwrap();
    let known = places.iter().filter(|place| place.is_known()).count();
    let own = *found(1).found().unwrap();
    assert!(known < 40 && own.documents == known && own.neighbours == 3, "{own:?}");
    assert!(own.accuracy > 0.6 && own.silhouette > 0.0, "{own:?}");
    assert_eq!(found(1), Separation::Found(own));
    let same = LabelColumn::from_labels((0..40).map(|_| Some("a".to_owned())));
    let none = Separation::from_places(&places, &same, map.latent().space(), 3, 1).unwrap();
    assert_eq!(none, Separation::TooFewLabels);
    assert!(map.info.fit["neighbours"].is_null());
    map.set_separation(Some(&own));
    assert_eq!(map.info.fit["accuracy"].as_f64(), Some(own.accuracy));
}

#[test]
fn cells_show_what_the_map_expects_there() {
    for options in cases() {
        let map = whole::<f64>(&options);
        let (cells, shares) = (map.frame().cells(), map.feature_shares().unwrap());
        assert_eq!((cells, shares.len()), (20, 12 * 20));
        for cell in 0..cells {
            let sum: f32 = shares.iter().skip(cell).step_by(cells).sum();
            // Twelve roundings of shares up to 1.
            assert!((sum - 1.0).abs() < 12.0 * f32::EPSILON, "{options:?}: {sum}");
        }
        assert!(map.cells_of_points().iter().all(|&cell| cell < cells));
        let relief = map.relative_log_magnification().unwrap();
        assert!(relief.len() == cells && relief.contains(&0.0) && relief.iter().all(|x| x.is_finite()));
    }
}
