//! What files say of their models besides numbers, and which errors lie behind errors.

use std::{collections::BTreeSet, error::Error};

use countgrid_corpus::Scaling;
use countgrid_counts::BagsError;
use countgrid_em::ReductionError;
use countgrid_estimators::{AnyModel, EstimatorError, FittedGrid, ModelFileError, ModelInfo};
use countgrid_io::{ModelFile, NamedTable, TableData};
use countgrid_text::{Languages, StopWords, TextOptions};
use serde_json::{Value, json};

fn file(info: &ModelInfo) -> ModelFile {
    let mut file = ModelFile::default();
    info.write("counting grid", &mut file);
    file
}

fn words() -> ModelInfo {
    ModelInfo::for_vocabulary(vec!["ant".into(), "bee".into()])
}

fn json_of(file: &ModelFile, name: &str) -> Value {
    serde_json::from_str(&file.metadata[name]).unwrap()
}

/// The error of a file in which a field of a text was changed.
fn changed(text: &'static str, field: &str, value: Value) -> ModelFileError {
    let mut file = file(&words());
    let mut json = json_of(&file, text);
    json[field] = value;
    file.metadata.insert(text.to_owned(), json.to_string());
    ModelInfo::read(&file).unwrap_err()
}

#[test]
fn a_model_of_any_kind_says_what_it_is() {
    let models = crate::damaged_models::models();
    let kinds: BTreeSet<&str> = models.iter().map(|(_, file)| file.metadata["kind"].as_str()).collect();
    assert_eq!(kinds.len(), 6);
    for (name, file) in &models {
        let model = AnyModel::from_file(file.clone()).unwrap();
        assert_eq!(model.kind(), file.metadata["kind"], "{name}");
        assert_eq!(*model.info(), ModelInfo::read(file).unwrap(), "{name}");
        assert!(!model.info().vocabulary.is_empty() && model.to_file() == *file, "{name}");
    }
}

#[test]
fn other_kinds_and_types_are_named() {
    let mut file = file(&words());
    file.metadata.insert("kind".to_owned(), "sundial".to_owned());
    match AnyModel::from_file(file.clone()).unwrap_err() {
        EstimatorError::Model(ModelFileError::Kind { expected: "counting grid", found }) => {
            assert_eq!(found, "sundial");
        }
        error => panic!("{error}"),
    }
    file.metadata.insert("kind".to_owned(), "counting grid".to_owned());
    let typed = |expected: &'static str, found: &'static str| ModelFileError::TableType {
        name: "pi".to_owned(),
        expected,
        found,
    };
    let table = |name: &str, shape: Vec<usize>, data| NamedTable { name: name.to_owned(), shape, data };
    let with = |pi, prior| {
        let mut file = file.clone();
        file.tables = vec![
            table("pi", vec![2, 1], pi),
            table("prior", vec![1], prior),
            table("window", vec![1], TableData::U32(vec![1])),
        ];
        file
    };
    let whole = with(TableData::U32(vec![1, 0]), TableData::F32(vec![1.0]));
    let refused = AnyModel::from_file(whole).unwrap_err();
    assert!(
        matches!(&refused, EstimatorError::Model(error) if *error == typed("F32 or F64", "U32")),
        "{refused}"
    );
    let double = with(TableData::F64(vec![0.5, 0.5]), TableData::F64(vec![1.0]));
    assert!(matches!(AnyModel::from_file(double.clone()).unwrap(), AnyModel::GridF64(_)));
    let refused = FittedGrid::<f32>::from_file(double).unwrap_err();
    assert!(matches!(&refused, EstimatorError::Model(error) if *error == typed("F32", "F64")), "{refused}");
    let single = with(TableData::F32(vec![0.5, 0.5]), TableData::F32(vec![1.0]));
    assert!(matches!(AnyModel::from_file(single.clone()).unwrap(), AnyModel::GridF32(_)));
    let refused = FittedGrid::<f64>::from_file(single).unwrap_err();
    assert!(matches!(&refused, EstimatorError::Model(error) if *error == typed("F64", "F32")), "{refused}");
}

#[test]
fn a_vocabulary_from_elsewhere_is_english_without_options() {
    let text = words().text;
    assert_eq!(text.languages, Languages::english());
    assert!(!text.segment && text.keep_noise && text.stop_words == StopWords::None);
    assert_eq!(text.min_letters, 1);
    // English is what a file is in that says nothing else, as were those from before there were languages.
    assert_eq!(json_of(&file(&words()), "text").get("languages"), None);
    let text = TextOptions { languages: Languages::Auto, ..text };
    assert_eq!(json_of(&file(&ModelInfo { text, ..words() }), "text")["languages"], "auto");
}

#[test]
fn every_option_of_text_comes_back_from_a_file() {
    for segment in [false, true] {
        let text = TextOptions {
            segment,
            phrases: !segment,
            min_letters: 3,
            max_letters: 17,
            ngrams: Some(2),
            ..words().text
        };
        let info = ModelInfo { text, ..words() };
        assert_eq!(ModelInfo::read(&file(&info)).unwrap(), info);
    }
}

#[test]
fn what_is_not_an_option_is_refused() {
    let wrong = |name, expected| ModelFileError::Text { name, expected };
    let text = wrong("text", "is not that of valid text options");
    assert_eq!(changed("text", "colour", json!("red")), text);
    assert_eq!(changed("text", "stop_words", json!("french")), text);
    assert_eq!(changed("text", "max_letters", json!(-1)), text);
    let numbers = wrong("numbers", "is no scale");
    assert_eq!(changed("numbers", "colour", json!("red")), numbers);
    for tokens in [json!(0), json!(0.0), json!(-1), json!("1")] {
        assert_eq!(changed("numbers", "tokens", tokens), numbers);
    }
    let scaling = Scaling { tokens: Some(1e-300), ..Scaling::default() };
    let info = ModelInfo { scaling, ..words() };
    assert_eq!(ModelInfo::read(&file(&info)).unwrap(), info);
}

#[test]
fn what_lies_behind_an_error_is_its_source() {
    // The error itself shows what it wraps, so its source is the next one.
    let bags = EstimatorError::from(BagsError::TooManyFeatures { features: 1 << 40 });
    let source = bags.source().unwrap().downcast_ref::<BagsError>();
    assert!(matches!(source, Some(BagsError::TooManyFeatures { .. })));
    assert_eq!(source.unwrap().to_string(), bags.to_string());

    assert!(EstimatorError::NoDocuments.source().is_none());
}

#[test]
#[cfg(feature = "files")]
fn a_file_that_cannot_be_read_has_its_error_as_source() {
    let folder = tempfile::tempdir().unwrap();
    let error = AnyModel::load(folder.path().join("none")).map(|_| ()).unwrap_err();
    assert!(matches!(error, EstimatorError::File(_)), "{error}");
    let source = error.source().unwrap().downcast_ref::<std::io::Error>().unwrap();
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn sums_that_do_not_fit_into_memory_say_how_many_numbers() {
    let error = EstimatorError::from(ReductionError::Memory { elements: 5 });
    assert!(matches!(error, EstimatorError::Memory { elements: 5 }), "{error}");
    let error = EstimatorError::from(ReductionError::Order { expected: 1, found: 2 });
    assert!(matches!(error, EstimatorError::Failed), "{error}");
}
