//! Features of dual wings: tables of them, how they are standardised, and what is refused.

use std::fs;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_estimators::{
    BagTotals, EstimatorError, FeatureError, FeatureTable, FeatureValues, FittedHarmonium, HarmoniumData,
    HarmoniumKind, HarmoniumOptions, HarmoniumTraining, ModelInfo, Standardizer,
};
use countgrid_harmonium::{Harmonium, Shape};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("f{n}")).collect()
}

/// Bags of one word, all empty.
fn empty_bags(bags: usize) -> Blocks<f32> {
    let mut builder = BlocksBuilder::new(1, BlockLimits::in_memory()).unwrap();
    (0..bags).for_each(|_| builder.push([]).unwrap());
    builder.finish().unwrap()
}

/// A dual wing of one word without couplings and one topic, with these means, deviations and couplings of features.
fn dual_wing(means: Vec<f64>, deviations: Vec<f64>, coupling: f32) -> FittedHarmonium<f32> {
    let features = means.len();
    let standardizer = Standardizer::new(names(features), means, deviations).unwrap();
    let mut tables = vec![0.0, 0.0, 1.0]; // alpha, w, sizes
    tables.extend(vec![0.0; features]); // beta
    tables.extend(vec![1.0001e-9; features]); // variances, of the smallest
    tables.extend(vec![coupling; features]);
    let shape = Shape::dual_wing(1, features, 1).unwrap();
    let model = Harmonium::new(shape, tables, &mut vec![0.0; shape.precision_len()]).unwrap();
    FittedHarmonium::new(ModelInfo::default(), HarmoniumKind::DualWing, model, Some(standardizer)).unwrap()
}

#[test]
fn commas_or_tabs_go_by_the_name_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in
        [("sizes.csv", "id,size\tsum,hue\nx,1,2\n"), ("sizes.tsv", "id\tsize,sum\thue\nx\t1\t2\n")]
    {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let table = FeatureTable::read(&path, &[], None).unwrap();
        let expected = if name == "sizes.csv" { ["size\tsum", "hue"] } else { ["size,sum", "hue"] };
        assert_eq!(table.names(), expected);
        assert_eq!(table.for_documents(["x"]).unwrap().values, [1.0, 2.0]);
        let one = FeatureTable::read(&path, &["hue".to_owned()], None).unwrap();
        assert_eq!(one.names(), ["hue"]);
    }
    let missing = FeatureTable::read(folder.path().join("none.csv"), &[], None).unwrap_err();
    assert!(matches!(missing, FeatureError::Table { .. }), "{missing}");
}

/// A record is allowed 32 MiB whatever was before it.
#[test]
fn long_records_may_follow_each_other() {
    let field = " ".repeat(20 << 20);
    let text = format!("a,remark\n1,{field}\n2,{field}\n3,short\n");
    let table = FeatureTable::from_reader(text.as_bytes(), "t", b',', &["a".to_owned()], None).unwrap();
    assert_eq!(table.for_documents(["", "", ""]).unwrap().values, [1.0, 2.0, 3.0]);
}

/// The mean of 2⁵² and 2⁵² + 2 and their distances from it are exact; squares of the numbers themselves would not be.
#[test]
fn deviations_of_large_numbers_are_exact() {
    let far = (1_u64 << 52) as f64;
    let values = FeatureValues { names: names(2), values: vec![far, 1.0, far + 2.0, 5.0] };
    let standardizer = Standardizer::fit(&values).unwrap();
    assert_eq!((standardizer.means(), standardizer.deviations()), (&[far + 1.0, 3.0][..], &[1.0, 2.0][..]));
    assert_eq!(standardizer.apply(&values).unwrap().values, [-1.0, -1.0, 1.0, 1.0]);
}

#[test]
fn other_features_are_listed_up_to_twelve() {
    let fitted = Standardizer::new(vec!["size".into()], vec![0.0], vec![1.0]).unwrap();
    let refused = |count: usize| {
        let values = FeatureValues { names: names(count), values: Vec::new() };
        fitted.apply(&values).unwrap_err().to_string()
    };
    assert_eq!(refused(2), "the features are f0, f1, those of the model size");
    let twelve = names(12).join(", ");
    assert_eq!(refused(12), format!("the features are {twelve}, those of the model size"));
    assert_eq!(refused(13), format!("the features are {twelve} and 1 more, those of the model size"));
    assert_eq!(refused(20), format!("the features are {twelve} and 8 more, those of the model size"));
}

#[test]
fn data_know_their_documents_and_standardizer() {
    let bags = empty_bags(3);
    let kind = HarmoniumKind::DualWing;
    let options = HarmoniumOptions { kind, topics: 1, ..HarmoniumOptions::default() };
    let plan = options.check(BagTotals::from_blocks(&bags).unwrap()).unwrap();
    let values = FeatureValues { names: names(1), values: vec![1.0, 2.0, 6.0] };
    let data = HarmoniumData::new(&plan, &bags, Some(&values)).unwrap();
    assert_eq!((data.len(), data.is_empty()), (3, false));
    assert_eq!(data.standardizer(), Some(&Standardizer::fit(&values).unwrap()));

    // A plan is of totals, and the documents are counted again.
    let single = HarmoniumOptions { kind: HarmoniumKind::Single, ..options };
    let plan = single.check(BagTotals::from_blocks(&bags).unwrap()).unwrap();
    let none = HarmoniumData::new(&plan, &empty_bags(0), None).unwrap();
    assert!(none.is_empty() && none.standardizer().is_none());
    assert!(matches!(HarmoniumTraining::new(plan, none), Err(EstimatorError::NoDocuments)));
}

#[test]
fn features_of_a_model_without_them_are_refused() {
    let tables = vec![0.0_f32, 0.5, 1.0];
    let model = Harmonium::new(Shape::words(1, 1).unwrap(), tables, &mut []).unwrap();
    let fitted = FittedHarmonium::new(ModelInfo::default(), HarmoniumKind::Single, model, None).unwrap();
    let bags = empty_bags(2);
    assert_eq!(fitted.transform(&bags, None).unwrap().values, [0.0, 0.0]);
    let values = FeatureValues { names: names(1), values: vec![1.0, 2.0] };
    let refused = fitted.transform(&bags, Some(&values)).unwrap_err();
    assert!(
        matches!(
            refused,
            EstimatorError::Features(FeatureError::NoFeatureWing { kind: HarmoniumKind::Single })
        ),
        "{refused}"
    );
}

/// Topics that leave single precision are blamed on the feature that is farthest from its mean in standard deviations.
#[test]
fn the_farthest_feature_is_named() {
    let refused = |fitted: &FittedHarmonium<f32>, rows: &[Vec<f64>]| {
        let values = FeatureValues { names: names(rows[0].len()), values: rows.concat() };
        match fitted.transform(&empty_bags(rows.len()), Some(&values)).unwrap_err() {
            EstimatorError::Features(FeatureError::OutOfRange { name, document, value }) => {
                (name, document, value)
            }
            error => panic!("{error}"),
        }
    };
    // All of a hundred features are as large, and the mean of one is as far on the other side as means may be.
    let mut means = vec![0.0; 100];
    means[10] = -1e18;
    let fitted = dual_wing(means, vec![1.0; 100], 3e3);
    let rows = [vec![0.0; 100], vec![0.0; 100], vec![1.2e33; 100]];
    assert_eq!(refused(&fitted, &rows), ("f10".to_owned(), 2, 1.2e33));
    // The smaller of two numbers is more of its small deviations away.
    let fitted = dual_wing(vec![0.0; 2], vec![1e-10, 7.0], 1e4);
    let rows = [vec![0.0; 2], vec![1e25, 1e26]];
    assert_eq!(refused(&fitted, &rows), ("f0".to_owned(), 1, 1e25));
    let rows = [vec![1.0, 1e36], vec![0.0, 0.0]];
    assert_eq!(refused(&fitted, &rows), ("f1".to_owned(), 0, 1e36));
}
