//! Latent spaces of topographic maps, what describes a map, and what its plan takes from the options.

use countgrid_corpus::{Corpus, CorpusOptions, Sample, WordOptions};
use countgrid_counts::CsrBuf;
use countgrid_em::{Learn, TablesExt};
use countgrid_estimators::{
    BagTotals, BasisKind, Estimator, EstimatorError, Exposure, FittedTopographic, LabelSeparation,
    LatentKind, LatentSpace, ModelFileError, TopographicOptionError, TopographicOptions, TopographicPlan,
    TopographicTraining, Train,
};
use countgrid_gtm::{EmissionModel, Space};
use countgrid_io::{ModelFile, TableData};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use serde_json::json;

use super::topographic_cells::map_of;

fn space(options: &TopographicOptions) -> LatentSpace<f64> {
    LatentSpace::new(options).unwrap()
}

fn options(latent: LatentKind, basis: BasisKind) -> TopographicOptions {
    TopographicOptions { points: [5, 4], basis_functions: [3, 2], latent, basis, ..Default::default() }
}

#[test]
fn a_space_is_what_the_options_ask_for() {
    for (latent, basis, is, points, functions) in [
        (
            LatentKind::Grid,
            BasisKind::Rbf,
            Space::Plane,
            "5x4 points on a regular grid",
            "6 RBFs of width 2.000",
        ),
        (LatentKind::Random, BasisKind::Sinh, Space::Plane, "20 random points", "6 sinh functions"),
        // Two spacings of 2 / 3, but at most half the period.
        (LatentKind::Torus, BasisKind::Rbf, Space::Torus, "5x4 points on a torus", "6 RBFs of width 1.000"),
    ] {
        let own = space(&options(latent, basis));
        assert_eq!((own.kind(), own.sides(), own.basis(), own.space()), (latent, [5, 4], basis, is));
        assert_eq!((own.describe_points(), own.describe_basis()), (points.to_owned(), functions.to_owned()));
        let frame = own.frame();
        assert_eq!((frame.columns, frame.rows, frame.torus), (5, 4, latent == LatentKind::Torus));
    }
}

#[test]
fn the_frame_of_random_points_reaches_to_the_outermost() {
    for seed in 1..5 {
        let own = space(&TopographicOptions { seed, ..options(LatentKind::Random, BasisKind::Rbf) });
        let farthest = |axis: &[f64]| axis.iter().map(|x| x.abs()).fold(0.0, f64::max);
        let frame = own.frame();
        assert_eq!(frame.half, [farthest(&own.points()[..20]), farthest(&own.points()[20..])]);
        // Up to 2.5 deviations of 0.55, so all have cells, and the outermost is in the first or the last column.
        let (n, _) = own.points()[..20].iter().enumerate().find(|(_, x)| x.abs() == frame.half[0]).unwrap();
        let column = frame.cell([own.points()[n], own.points()[20 + n]]) % 5;
        assert!(column == 0 || column == 4, "{column}");
    }
    for kind in [LatentKind::Grid, LatentKind::Torus] {
        assert_eq!(space(&options(kind, BasisKind::Rbf)).frame().half, [1.0; 2]);
    }
}

#[test]
fn options_have_names() {
    for exposure in Exposure::ALL {
        assert_eq!(Exposure::from_name(exposure.name()), Some(exposure));
    }
    assert_eq!(Exposure::from_name("height"), None);
    for (error, about) in [
        (TopographicOptionError::SinhOnTorus, "torus"),
        (TopographicOptionError::WidthOfSinh, "width"),
        (
            TopographicOptionError::ExposureWithoutRates { emission_model: EmissionModel::Multinomial },
            "multinomial",
        ),
    ] {
        assert!(error.to_string().contains(about), "{error}");
    }
}

/// A file of a map of two features.
fn file() -> ModelFile {
    let options = TopographicOptions {
        emission_model: EmissionModel::Poisson,
        ..options(LatentKind::Grid, BasisKind::Rbf)
    };
    let mut map = map_of(&options, &[0.5; 14], &[]);
    map.info.vocabulary = vec!["ant".to_owned(), "bee".to_owned()];
    map.to_file()
}

fn with_sides(file: ModelFile, sides: [usize; 2]) -> Result<FittedTopographic<f64>, EstimatorError> {
    let mut file = file;
    let map = file.metadata.get_mut("map").unwrap();
    let mut own: serde_json::Value = serde_json::from_str(map).unwrap();
    own["sides"] = json!(sides);
    *map = own.to_string();
    FittedTopographic::from_file(file)
}

#[test]
fn the_sides_of_a_file_are_those_of_its_points() {
    assert_eq!(with_sides(file(), [2, 10]).unwrap().latent().sides(), [2, 10]);
    let refused = |file: ModelFile, sides: [usize; 2]| match with_sides(file, sides) {
        Err(EstimatorError::Model(error)) => assert_eq!(
            error,
            ModelFileError::Text { name: "map", expected: "is no latent space" },
            "{sides:?}"
        ),
        other => panic!("{sides:?}: {other:?}"),
    };
    for sides in [[5, 5], [4, 4], [0, 4], [20, 0]] {
        refused(file(), sides);
    }
    let mut without = file();
    for table in &mut without.tables {
        if ["points", "basis"].contains(&table.name.as_str()) {
            (table.shape[1], table.data) = (0, TableData::F64(Vec::new()));
        }
    }
    refused(without, [0, 4]);
}

#[test]
fn a_map_is_described_by_its_corpus() {
    let texts = ["ant bee ant", "bee wasp bee", "wasp ant wasp"];
    let words = WordOptions { min_count: Some(1), max_share: Some(1.0), ..WordOptions::default() };
    let reading = CorpusOptions { words, sample: None, ..CorpusOptions::default() };
    let corpus = Corpus::<f64>::from_texts(&texts, &reading).unwrap();
    assert_eq!(corpus.vocabulary.len(), 3);
    let mut map = map_of(&options(LatentKind::Grid, BasisKind::Rbf), &[0.5; 21], &[]);
    map.describe("insects", &corpus, &reading);
    assert_eq!((map.info.title.as_str(), &map.info.vocabulary), ("insects", &corpus.vocabulary));
    assert_eq!((&map.info.fit["min_count"], &map.info.fit["sample"]), (&json!(1), &json!(null)));
    let reading = CorpusOptions { sample: Some(Sample { per_label: 7, seed: 1 }), ..reading };
    map.describe("some insects", &corpus, &reading);
    assert_eq!((map.info.title.as_str(), &map.info.fit["sample"]), ("some insects", &json!(7)));

    // How labels are separated comes beside it.
    let found = LabelSeparation { documents: 9, neighbours: 5, accuracy: 0.75, silhouette: -0.5 };
    map.set_separation(Some(&found));
    let values = ["min_count", "sample", "neighbours", "accuracy", "silhouette"]
        .map(|name| map.info.fit[name].as_f64().unwrap());
    assert_eq!(values, [1.0, 7.0, 5.0, 0.75, -0.5]);
    map.set_separation(None);
    assert_eq!((&map.info.fit["accuracy"], &map.info.fit["sample"]), (&json!(null), &json!(7)));

    // Of a map without any description it is the first.
    let mut map = map_of(&options(LatentKind::Grid, BasisKind::Rbf), &[0.5; 21], &[]);
    map.set_separation(Some(&found));
    let expected = json!({ "neighbours": 5, "accuracy": 0.75, "silhouette": -0.5 });
    assert_eq!(map.info.fit, expected);
}

/// Bags of 13 tokens in all.
fn bags() -> CsrBuf<f64> {
    let mut bags = CsrBuf::new(3).unwrap();
    for entries in [[(0, 4.0), (1, 1.0)], [(1, 2.0), (2, 1.0)], [(0, 2.0), (2, 3.0)]] {
        bags.push_bag(entries).unwrap();
    }
    bags.push_bag([]).unwrap();
    bags
}

fn plan(options: &TopographicOptions) -> TopographicPlan<f64> {
    options.check(BagTotals { features: 3, bags: 4, non_empty: 3, tokens: 13.0 }).unwrap()
}

fn quick(emission_model: EmissionModel) -> TopographicOptions {
    TopographicOptions { emission_model, iterations: 2, ..options(LatentKind::Grid, BasisKind::Rbf) }
}

fn fitted(options: &TopographicOptions) -> FittedTopographic<f64> {
    let mut training = TopographicTraining::new(plan(options), bags()).unwrap();
    training.run(|_| std::ops::ControlFlow::Continue(())).unwrap();
    training.finish().unwrap()
}

#[test]
fn a_plan_has_its_options_and_tokens() {
    let options = TopographicOptions { exposure: Exposure::Length, ..quick(EmissionModel::Poisson) };
    assert_eq!(plan(&options).options(), &options);
    let map = fitted(&options);
    let summary = map.summary().unwrap();
    assert_eq!(summary.bound_per_token, Some(-summary.free_energy.unwrap() / 13.0));
    // Exposures are lengths in mean lengths of all documents, those without tokens too.
    assert_eq!(map.map().reference(), 13.0 / 4.0);
    assert_eq!(fitted(&quick(EmissionModel::Poisson)).map().reference(), 0.0);
}

/// Half the squared distances of weights from 0, and of inflation from its mean, each by the precision of its prior.
#[test]
fn the_penalty_of_a_map_is_that_of_its_priors() {
    for emission_model in EmissionModel::ALL {
        let (plan, bags) = (plan(&quick(emission_model)), bags());
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let (mut learner, _) = plan.start(&bags, 0, None, rng).unwrap();
        let mut parameters = countgrid_em::Tables::buffer(plan.parameters(&learner)).to_vec();
        // The start has weights, and its inflation is at the mean: both are moved.
        let map = plan.parameters(&learner);
        for (table, first) in map.tables().scan(0, |first, (table, elements)| {
            *first += elements.len();
            Some((table, *first - elements.len()))
        }) {
            if ["weights", "inflation"].contains(&table.name) {
                let elements = first..first + table.rows * table.columns;
                parameters[elements]
                    .iter_mut()
                    .enumerate()
                    .for_each(|(n, x)| *x += 0.25 * (n % 3) as f64 - 0.5);
            }
        }
        learner = plan.restore(&bags, 0, &parameters).unwrap().0;
        let map = plan.parameters(&learner);
        let table = |name: &str| map.table(name).unwrap_or_default();
        let weights = table("weights").chunks(7).flat_map(|row| row.iter().zip(table("weight_precision")));
        let mut expected: f64 = weights.map(|(w, b)| 0.5 * b * w * w).sum();
        let prior = table("inflation_prior");
        let (precisions, means) = prior.split_at(prior.len() / 2);
        if !precisions.is_empty() {
            for row in table("inflation").chunks(precisions.len()) {
                let terms = row.iter().zip(precisions).zip(means);
                expected += terms.map(|((x, b), mean)| 0.5 * b * (x - mean) * (x - mean)).sum::<f64>();
            }
        }
        assert!(expected > 0.1, "{emission_model:?}");
        // About forty terms, each with four roundings, and their sum.
        assert!((learner.penalty() - expected).abs() < 1e-14 * expected, "{emission_model:?}");
    }
}
