//! Damaged model files of every kind: refused with a table or a text by name, or outputs that are finite and valid.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder, LabelColumn};
use countgrid_counts::SequencesBuf;
use countgrid_estimators::{
    AnyModel, BagTotals, ComponentialOptions, ComponentialTraining, EstimatorError, FeatureValues,
    FittedComponential, FittedGrid, FittedHarmonium, FittedTopographic, GridOptions, GridTraining,
    HarmoniumData, HarmoniumKind, HarmoniumMethod, HarmoniumOptions, HarmoniumTraining, HmmOptions,
    HmmTraining, LdaOptions, LdaTraining, Stored, TopographicOptions, TopographicTraining, Train, fuzzing,
};
use countgrid_gtm::EmissionModel;
use countgrid_harmonium::HarmoniumError;
use countgrid_io::{ModelFile, NamedTable, TableData};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

const WORDS: usize = 8;

fn blocks<T: Stored>() -> Blocks<T> {
    let mut builder = BlocksBuilder::new(WORDS, BlockLimits::in_memory()).unwrap();
    for t in 0..24usize {
        let entries = (0..t * 5 % 6)
            .map(|n| ((t % 2 * 4 + n * (t + 1)) % WORDS, T::from_f64((1 + (t + n) % 4) as f64)));
        builder.push(entries).unwrap();
    }
    builder.finish().unwrap()
}

fn sequences() -> SequencesBuf<u16> {
    let mut sequences = SequencesBuf::new(WORDS);
    for t in 0..6usize {
        sequences.push((0..9).map(|n| ((n * (t + 2) / 3 + n % 2 * t) % WORDS) as u16)).unwrap();
    }
    sequences
}

fn features() -> FeatureValues {
    let values = (0..24).flat_map(|t| [(t % 3) as f64, ((t * 7) % 11) as f64 / 11.0]).collect();
    FeatureValues { names: vec!["topic".into(), "wobble".into()], values }
}

fn end<M: Train>(mut training: M) -> M::Fitted {
    training.run(|_| ControlFlow::Continue(())).unwrap();
    training.finish().unwrap()
}

fn totals<T: Stored>() -> BagTotals {
    BagTotals::from_blocks(&blocks::<T>()).unwrap()
}

fn grid<T: Stored>() -> FittedGrid<T> {
    let options = GridOptions {
        extents: Some(vec![4, 4]),
        window: Some(vec![2, 2]),
        iterations: 3,
        memory: Some(1 << 30),
        ..GridOptions::default()
    };
    let blocks = blocks::<T>();
    let mut grid = end(GridTraining::new(options.check(totals::<T>()).unwrap(), &blocks).unwrap());
    let labels = LabelColumn {
        names: vec!["even".into(), "odd".into()],
        by_document: (0..24).map(|t| Some(t % 2)).collect(),
    };
    grid.embed_labels(&labels, &blocks).unwrap();
    assert!(grid.labels().is_some());
    grid
}

fn componential<T: Stored>() -> ModelFile {
    let grid = GridOptions {
        extents: Some(vec![4, 4]),
        window: Some(vec![2, 2]),
        iterations: 3,
        memory: Some(1 << 30),
        ..GridOptions::default()
    };
    let options = ComponentialOptions { grid, iterations: 3, ..ComponentialOptions::default() };
    let blocks = blocks::<T>();
    end(ComponentialTraining::new(options.check(totals::<T>()).unwrap(), &blocks).unwrap()).to_file()
}

fn map<T: Stored>(emission_model: EmissionModel) -> ModelFile {
    let options = TopographicOptions {
        emission_model,
        points: [4, 3],
        basis_functions: [2, 2],
        iterations: 3,
        ..TopographicOptions::default()
    };
    let bags = blocks::<T>().gather(|count| count).unwrap();
    end(TopographicTraining::new(options.check(totals::<T>()).unwrap(), bags).unwrap()).to_file()
}

fn harmonium<T: Stored>(kind: HarmoniumKind) -> ModelFile {
    let (method, topics, epochs, batch) = (HarmoniumMethod::ContrastiveDivergence, 2, 3, 10);
    let options = HarmoniumOptions { kind, method, topics, epochs, batch, ..HarmoniumOptions::default() };
    let plan = options.check(totals::<T>()).unwrap();
    let own = (kind == HarmoniumKind::DualWing).then(features);
    let data = HarmoniumData::<T>::new(&plan, &blocks(), own.as_ref()).unwrap();
    end(HarmoniumTraining::new(plan, data).unwrap()).to_file()
}

/// A fitted model of every kind, with a name and a vocabulary.
pub(crate) fn models() -> Vec<(String, ModelFile)> {
    let mut models = vec![
        ("grid, f32".to_owned(), grid::<f32>().to_file()),
        ("grid, f64".to_owned(), grid::<f64>().to_file()),
        ("componential, f32".to_owned(), componential::<f32>()),
        ("componential, f64".to_owned(), componential::<f64>()),
    ];
    let bags = blocks::<f32>();
    let lda = LdaOptions { topics: 3, iterations: 3, ..LdaOptions::default() };
    let lda = end(LdaTraining::new(lda.check(totals::<f32>()).unwrap(), &bags).unwrap());
    models.push(("topics".to_owned(), lda.to_file()));
    let (hmm, sequences) = (HmmOptions { states: 3, iterations: 3, ..HmmOptions::default() }, sequences());
    let hmm = end(HmmTraining::new(hmm.check(&sequences).unwrap(), &sequences).unwrap());
    models.push(("hmm".to_owned(), hmm.to_file()));
    for emission_model in EmissionModel::ALL {
        models.push((format!("map {}, f32", emission_model.name()), map::<f32>(emission_model)));
        models.push((format!("map {}, f64", emission_model.name()), map::<f64>(emission_model)));
    }
    for kind in HarmoniumKind::ALL {
        models.push((format!("harmonium {}, f32", kind.name()), harmonium::<f32>(kind)));
        models.push((format!("harmonium {}, f64", kind.name()), harmonium::<f64>(kind)));
    }
    for (_, file) in &mut models {
        file.set_strings("vocabulary", (0..WORDS).map(|word| format!("word{word}")));
    }
    models
}

fn model(name: &str) -> ModelFile {
    models().into_iter().find(|(own, _)| own == name).unwrap().1
}

fn table<'a>(file: &'a mut ModelFile, name: &str) -> &'a mut NamedTable {
    file.tables.iter_mut().find(|table| table.name == name).unwrap()
}

fn set(file: &mut ModelFile, name: &str, at: usize, value: f64) {
    match &mut table(file, name).data {
        TableData::F32(data) => data[at] = value as f32,
        TableData::F64(data) => data[at] = value,
        TableData::U32(data) => data[at] = value as u32,
    }
}

/// What is wrong with a file; a panic if nothing is.
fn refusal(file: ModelFile) -> String {
    match AnyModel::from_file(file) {
        Err(EstimatorError::Model(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_of_every_model_are_required_and_checked() {
    for (name, whole) in models() {
        assert!(AnyModel::from_file(whole.clone()).is_ok(), "{name}");
        for key in ["title", "text", "numbers", "fit", "vocabulary", "kind"] {
            let mut file = whole.clone();
            let text = file.metadata.remove(key).unwrap();
            if !(key == "kind" && name.starts_with("grid")) {
                assert!(refusal(file.clone()).contains(&format!("`{key}`")), "{name}: {key}");
            }
            file.metadata.insert(format!("{key}s"), text);
            assert!(refusal(file).contains('`'), "{name}: {key}");
        }
        let mut file = whole.clone();
        file.metadata.insert("colour".into(), "red".into());
        assert!(refusal(file).contains("`colour`"), "{name}");
        let mut file = whole.clone();
        file.tables.push(NamedTable {
            name: "extra".into(),
            shape: vec![1],
            data: TableData::F32(vec![1.0]),
        });
        assert!(refusal(file).contains("`extra`"), "{name}");
        let mut file = whole.clone();
        file.set_strings("vocabulary", ["a", "b", "c", "d", "e", "c", "g", "h"]);
        assert!(refusal(file).contains("`vocabulary` has the word `c` twice, 2 and 5"), "{name}");
        for ngrams in ["0", "-1", "\"3\""] {
            let mut file = whole.clone();
            let text = file.metadata.get_mut("text").unwrap();
            *text = text.replace("\"ngrams\":null", &format!("\"ngrams\":{ngrams}"));
            assert!(refusal(file).contains("`text`"), "{name}: {ngrams}");
        }
    }
}

#[test]
fn every_table_is_required_typed_and_shaped() {
    for (name, whole) in models() {
        for at in 0..whole.tables.len() {
            let own = &whole.tables[at].name;
            let mut file = whole.clone();
            file.tables.remove(at);
            assert!(refusal(file).contains(&format!("`{own}`")), "{name}: {own} is missing");
            let mut file = whole.clone();
            let length = file.tables[at].data.len();
            file.tables[at].data = match file.tables[at].data {
                TableData::U32(_) => TableData::F32(vec![1.0; length]),
                _ => TableData::U32(vec![1; length]),
            };
            assert!(refusal(file).contains(&format!("`{own}`")), "{name}: {own} is of another type");
            let mut file = whole.clone();
            let transposed: Vec<usize> = file.tables[at].shape.iter().rev().copied().collect();
            file.tables[at].shape = [vec![1], transposed].concat();
            // An axis too many of `pi` is one too few of `window`.
            let named = if own == "pi" { "window" } else { own };
            let refused = refusal(file);
            assert!(refused.contains(&format!("`{named}`")), "{name}: {own} is of another shape: {refused}");
        }
    }
}

#[test]
fn shares_of_labels_are_shares() {
    for name in ["grid, f32", "grid, f64"] {
        for share in [-0.5, 1.5, 1e300, 1e-3] {
            let mut file = model(name);
            set(&mut file, "labels", 3, share);
            assert!(refusal(file).contains("`labels`"), "{name}: {share}");
        }
        let mut file = model(name);
        file.set_strings("labels", ["even", "even"]);
        assert!(refusal(file).contains("`labels`"), "{name}");
        let mut file = model(name);
        file.metadata.remove("labels");
        assert!(refusal(file).contains("`labels`"), "{name}");
    }
    let fitted = grid::<f64>();
    let mut shares = fitted.labels().unwrap().table().to_vec();
    shares[0] = 1e300;
    assert!(fitted.with_labels(vec!["even".into(), "odd".into()], shares).is_err());
}

#[test]
fn numbers_that_no_document_can_be_placed_with_are_refused() {
    for kind in HarmoniumKind::ALL {
        for scalar in ["f32", "f64"] {
            let mut file = model(&format!("harmonium {}, {scalar}", kind.name()));
            set(&mut file, "w", 1, if scalar == "f32" { 3e38 } else { 1e308 });
            assert!(refusal(file).contains("`w`"), "{}", kind.name());
        }
    }
    for scalar in ["f32", "f64"] {
        let mut file = model(&format!("harmonium {}, {scalar}", HarmoniumKind::DualWing.name()));
        set(&mut file, "feature_deviations", 0, 1e-45);
        assert!(refusal(file).contains("`feature_deviations`"), "{scalar}");
        let mut file = model(&format!("harmonium {}, {scalar}", HarmoniumKind::DualWing.name()));
        set(&mut file, "variances", 0, 1e-45);
        assert!(refusal(file).contains("`variances`"), "{scalar}");
    }
    for emission_model in EmissionModel::ALL {
        let name = format!("map {}, f32", emission_model.name());
        let mut file = model(&name);
        set(&mut file, "weights", 0, 3e38);
        assert!(refusal(file).contains("`weights`"), "{name}");
        let mut file = model(&name);
        set(&mut file, "reference", 0, -1.0);
        assert!(refusal(file).contains("`reference`"), "{name}");
    }
}

#[test]
#[cfg(feature = "files")]
fn models_of_every_kind_are_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    macro_rules! each {
        ($file:ident: $($variant:ident($kind:ty))*; $($unsaved:ident)*) => {
            match AnyModel::from_file($file.clone()).unwrap() {
                $(AnyModel::$variant(model) => {
                    model.save(&path).unwrap();
                    assert!(<$kind>::load(&path).unwrap().to_file() == $file);
                    let missing = <$kind>::load(folder.path().join("none")).map(|_| ()).unwrap_err();
                    assert!(matches!(missing, EstimatorError::File(_)), "{missing}");
                    let nowhere = model.save(folder.path().join("none").join("model")).unwrap_err();
                    assert!(matches!(nowhere, EstimatorError::File(_)), "{nowhere}");
                })*
                $(AnyModel::$unsaved(model) => countgrid_io::save(&path, &model.to_file()).unwrap(),)*
                other => panic!("{other:?}"),
            }
        };
    }
    for (name, file) in models() {
        each!(file: GridF32(FittedGrid<f32>) GridF64(FittedGrid<f64>)
            ComponentialF32(FittedComponential<f32>) ComponentialF64(FittedComponential<f64>)
            TopographicF32(FittedTopographic<f32>) TopographicF64(FittedTopographic<f64>)
            HarmoniumF32(FittedHarmonium<f32>) HarmoniumF64(FittedHarmonium<f64>); Lda Hmm);
        assert!(AnyModel::load(&path).unwrap().to_file() == file, "{name}");
        std::fs::remove_file(&path).unwrap();
    }
}

/// What a damaged file came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The bytes are not those of a model file, or not those that were written.
    NotRead,
    /// The model was refused with the name of a table or a text.
    Refused,
    /// It was not refused, and all that it gives is finite and valid.
    Valid,
}

const DAMAGES: [&str; 11] = [
    "bit changed",
    "cut short",
    "bytes changed",
    "table removed",
    "table of another type",
    "table of another shape",
    "number out of range",
    "two numbers exchanged",
    "text removed",
    "text of another key",
    "text changed",
];

/// A file with the damage of that number, and whether its checksum is that of what it holds now.
fn damaged(whole: &ModelFile, damage: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut below = |n: usize| rng.next_u64() as usize % n.max(1);
    let mut file = whole.clone();
    let keys: Vec<String> = file.metadata.keys().cloned().collect();
    let (at, key) = (below(file.tables.len()), keys[below(keys.len())].clone());
    let bytes = whole.to_bytes().unwrap();
    match DAMAGES[damage] {
        "bit changed" => {
            let (mut bytes, bit) = (bytes, below(8 * whole.to_bytes().unwrap().len()));
            bytes[bit / 8] ^= 1 << (bit % 8);
            return bytes;
        }
        "cut short" => return bytes[..below(bytes.len())].to_vec(),
        "bytes changed" => {
            let mut bytes = bytes;
            let place = below(bytes.len());
            // One that differs for certain, and up to seven more.
            bytes[place] ^= 0xff;
            bytes[place + 1..].iter_mut().take(below(8)).for_each(|byte| *byte = below(256) as u8);
            return bytes;
        }
        "table removed" => drop(file.tables.remove(at)),
        "table of another type" => {
            let numbers: Vec<f64> = match &file.tables[at].data {
                TableData::F32(data) => data.iter().map(|&x| f64::from(x)).collect(),
                TableData::F64(data) => data.clone(),
                TableData::U32(data) => data.iter().map(|&x| f64::from(x)).collect(),
            };
            let (single, whole) = (numbers.iter().map(|&x| x as f32), numbers.iter().map(|&x| x as u32));
            file.tables[at].data = match (&file.tables[at].data, below(2)) {
                (TableData::F32(_), 0) => TableData::F64(numbers),
                (TableData::F64(_), 0) | (TableData::U32(_), 1) => TableData::F32(single.collect()),
                (TableData::U32(_), _) => TableData::F64(numbers),
                _ => TableData::U32(whole.collect()),
            };
        }
        "table of another shape" => {
            let shape = &mut file.tables[at].shape;
            match below(3) {
                0 => shape.insert(0, 1),
                1 => shape.push(1),
                _ => {
                    shape.reverse();
                    shape.push(1);
                }
            }
        }
        "number out of range" => {
            const NUMBERS: [f64; 12] = [
                -1.0,
                2.0,
                1e-45,
                1e9,
                -1e9,
                1e30,
                -1e30,
                3e38,
                1e300,
                f64::INFINITY,
                f64::NEG_INFINITY,
                0.0,
            ];
            let (element, number) = (below(file.tables[at].data.len()), NUMBERS[below(NUMBERS.len())]);
            let name = file.tables[at].name.clone();
            set(&mut file, &name, element, number);
        }
        "two numbers exchanged" => {
            let len = file.tables[at].data.len();
            let (one, two) = (below(len), below(len));
            match &mut file.tables[at].data {
                TableData::F32(data) => data.swap(one, two),
                TableData::F64(data) => data.swap(one, two),
                TableData::U32(data) => data.swap(one, two),
            }
        }
        "text removed" => drop(file.metadata.remove(&key)),
        "text of another key" => {
            let text = file.metadata.remove(&key).unwrap();
            let mut other: Vec<char> = key.chars().collect();
            let place = below(other.len());
            other[place] = ['a', '_', 'ö'][below(3)];
            file.metadata.insert(other.into_iter().collect(), text);
        }
        _ => {
            let text = file.metadata.get_mut(&key).unwrap();
            let mut letters: Vec<char> = text.chars().collect();
            match (below(4), letters.is_empty()) {
                (0, _) | (_, true) => letters = "null".chars().collect(),
                (1, _) => letters.truncate(below(letters.len())),
                (2, _) => drop(letters.remove(below(letters.len()))),
                _ => {
                    let place = below(letters.len());
                    letters[place] = ['0', '9', '-', '"', '{', ']', 'e', ','][below(8)];
                }
            }
            *text = letters.into_iter().collect();
        }
    }
    file.to_bytes().unwrap()
}

/// So many damaged files of every damage, from all models in turn.
fn campaign(cases: usize, seed: u64) {
    let models = models();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut counts: BTreeMap<(usize, Outcome), usize> = BTreeMap::new();
    for case in 0..cases {
        let (damage, (name, whole)) = (case % DAMAGES.len(), &models[case / DAMAGES.len() % models.len()]);
        let bytes = damaged(whole, damage, &mut rng);
        let what = format!("case {case}, {name}: {}", DAMAGES[damage]);

        let outcome = match ModelFile::from_bytes(&bytes) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                Outcome::NotRead
            }
            Ok(file) => match AnyModel::from_file(file) {
                Err(error) => {
                    let EstimatorError::Model(error) = error else { panic!("{what}: {error}") };
                    let error = error.to_string();
                    let names = whole.tables.iter().map(|table| &table.name).chain(whole.metadata.keys());
                    let named = error.contains('`') || { names }.any(|name| error.contains(name.as_str()));
                    assert!(named && !error.contains("document"), "{what}: {error}");
                    Outcome::Refused
                }
                Ok(model) => match fuzzing::check(&model) {
                    Ok(()) => Outcome::Valid,
                    // A smaller size is a model, which documents with more of a word are not of.
                    Err(EstimatorError::Harmonium(HarmoniumError::Count { .. })) => Outcome::Valid,
                    Err(error) => panic!("{what}: {error}"),
                },
            },
        };
        if damage < 3 {
            assert_eq!(outcome, Outcome::NotRead, "{what}");
        }
        *counts.entry((damage, outcome)).or_default() += 1;
    }
    for ((damage, outcome), count) in &counts {
        println!("{:24} {outcome:?}: {count}", DAMAGES[*damage]);
    }
    // Each damage whose checksum is right reaches the validation.
    for (damage, name) in DAMAGES.iter().enumerate().skip(3) {
        let reached = [Outcome::Refused, Outcome::Valid].map(|outcome| counts.get(&(damage, outcome)));
        assert!(reached.iter().any(Option::is_some), "{name}");
    }
}

#[test]
fn damaged_models_are_refused_or_give_what_is_valid() {
    campaign(220, 1);
}

#[test]
#[ignore = "slow: tens of thousands of damaged files"]
fn many_damaged_models_are_refused_or_give_what_is_valid() {
    campaign(22_000, 2);
}
