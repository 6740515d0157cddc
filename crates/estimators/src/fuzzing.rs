//! The body of a fuzz target, from the bytes of a model file on to what the model gives, and the checks of that, which the
//! tests of damaged models share.

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_counts::SequencesBuf;
use countgrid_io::ModelFile;
use countgrid_math::Real;

use crate::{
    AnyModel, EstimatorError, FeatureValues, FittedComponential, FittedGrid, FittedHarmonium,
    FittedTopographic, Stored, TableKind,
};

/// Any bytes as a model file. Returns whether they were taken for a model, which is then written and read as the same.
///
/// # Panics
/// If what the model gives is not finite or not valid, without an error, or it is not written as itself.
#[must_use]
pub fn any_model(data: &[u8]) -> bool {
    let Ok(file) = ModelFile::from_bytes(data) else { return false };
    // Tables of inference have products of extents of others.
    if file.tables.iter().flat_map(|table| &table.shape).any(|&extent| extent > 256) {
        return false;
    }
    let model = match AnyModel::from_file(file) {
        Ok(model) => model,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    let written = model.to_file();
    match AnyModel::from_file(written.clone()) {
        Ok(again) => assert!(again.to_file() == written, "a {} is written as another", model.kind()),
        Err(error) => panic!("a {} is written as what is refused: {error}", model.kind()),
    }
    // An error is fine, what is wrong without one is not.
    drop(check(&model));
    true
}

/// Asks a model for all that the programs do: places, topics, words, tables for microcontrollers.
///
/// # Errors
/// Those of the model.
///
/// # Panics
/// If a result is not finite, or shares are no shares.
pub fn check(model: &AnyModel) -> Result<(), EstimatorError> {
    match model {
        AnyModel::GridF32(grid) => check_grid(grid),
        AnyModel::GridF64(grid) => check_grid(grid),
        AnyModel::ComponentialF32(grid) => check_componential(grid),
        AnyModel::ComponentialF64(grid) => check_componential(grid),
        AnyModel::TopographicF32(map) => check_map(map),
        AnyModel::TopographicF64(map) => check_map(map),
        AnyModel::HarmoniumF32(model) => check_harmonium(model),
        AnyModel::HarmoniumF64(model) => check_harmonium(model),
        AnyModel::Lda(topics) => {
            let blocks = blocks::<f32>(topics.info.vocabulary.len())?;
            let rows = topics.transform(&blocks)?;
            assert!((0..blocks.len()).all(|bag| are_shares(rows.row(bag))));
            assert!(topics.score(&blocks)?.iter().all(|x| !x.is_nan()));
            Ok(())
        }
        AnyModel::Hmm(hmm) => {
            let symbols = hmm.info.vocabulary.len();
            let mut sequences = SequencesBuf::new(symbols);
            for step in [1, 3] {
                let _ = sequences.push((0..20).map(|n| (n * step % symbols) as u16));
            }
            assert!(hmm.score(&sequences)?.iter().all(|x| !x.is_nan()));
            Ok(())
        }
    }
}

fn check_componential<T: Stored>(grid: &FittedComponential<T>) -> Result<(), EstimatorError> {
    let blocks = blocks::<f32>(grid.info.vocabulary.len())?;
    let rows = grid.transform(&blocks)?;
    assert!((0..blocks.len()).all(|bag| are_shares(rows.row(bag))));
    assert!(grid.score(&blocks)?.iter().all(|x| !x.is_nan()));
    for place in grid.place(&blocks)?.into_iter().filter_map(|place| place.position) {
        assert!(place.probability > 0.0 && place.probability <= 1.0 + 1e-3, "{}", place.probability);
    }
    Ok(())
}

/// An empty bag, and bags of few and of many of these words.
fn blocks<T: Stored>(words: usize) -> Result<Blocks<T>, EstimatorError> {
    let mut builder = BlocksBuilder::new(words, BlockLimits::in_memory())?;
    for bag in 0..8usize {
        builder.push((0..bag * 3).map(|n| ((n * (bag + 1)) % words, T::from_f64((1 + n % 4) as f64))))?;
    }
    Ok(builder.finish()?)
}

/// Sums of a thousand posteriors, each rounded to single precision or better, are off by less than 1000 roundings of 6e-8.
const ROUNDING: f64 = 1e-4;

fn is_share(share: f64) -> bool {
    (-1e-6..=1.0 + ROUNDING).contains(&share)
}

fn are_shares(row: &[f64]) -> bool {
    row.iter().all(|&share| is_share(share)) && (row.iter().sum::<f64>() - 1.0).abs() < ROUNDING
}

fn check_grid<T: Stored>(grid: &FittedGrid<T>) -> Result<(), EstimatorError> {
    let blocks = blocks::<T>(grid.info.vocabulary.len())?;
    let (rows, scores) = (grid.transform(&blocks)?, grid.score(&blocks)?);
    assert!((0..blocks.len()).all(|bag| are_shares(rows.row(bag))));
    assert!(scores.iter().all(|x| !x.is_nan()));
    for position in grid.place(&blocks)?.into_iter().filter_map(|place| place.position) {
        let label = position.label.map_or(0.0, |(_, share)| share);
        assert!(is_share(position.probability) && is_share(label), "{position:?}");
        assert!(position.mean.iter().flatten().all(|x| x.is_finite()), "{position:?}");
        assert!(!position.log_evidence.is_nan());
    }
    let cells: Vec<usize> = (0..grid.shape().cells()).collect();
    for uses in grid.word_uses(&cells)? {
        assert!(uses.iter().all(|word| is_share(word.probability)));
    }
    for kind in [TableKind::F32, TableKind::Bits16, TableKind::Bits8] {
        let firmware = grid.firmware(kind, false)?;
        let numbers = firmware.module.split([' ', ',']).filter(|word| ["inf", "-inf", "NaN"].contains(word));
        assert_eq!(numbers.count(), 0);
        assert!(!firmware.blob.is_empty());
    }
    if let Some(labels) = grid.labels() {
        for cell in 0..grid.shape().cells() {
            let own = labels.table().iter().skip(cell).step_by(grid.shape().cells());
            let own: Vec<f64> = own.map(|share| Real::to_f64(*share)).collect();
            assert!(own.iter().all(|&share| is_share(share)) && (own.iter().sum::<f64>() - 1.0).abs() < 2e-3);
        }
    }
    Ok(())
}

fn check_map<T: Stored>(map: &FittedTopographic<T>) -> Result<(), EstimatorError> {
    let blocks = blocks::<T>(map.info.vocabulary.len())?;
    let (rows, places) = (map.transform(&blocks)?, map.place(&blocks)?);
    assert!((0..blocks.len()).all(|bag| are_shares(rows.row(bag))));
    for place in places {
        let numbers = [place.mean[0], place.mean[1], place.mode[0], place.mode[1], place.log_likelihood];
        assert!(numbers.iter().all(|x| x.is_finite()) && is_share(place.probability), "{place:?}");
    }
    assert!(map.feature_shares()?.iter().all(|&share| is_share(f64::from(share))));
    assert!(map.relative_log_magnification()?.iter().all(|x| !x.is_nan()));
    Ok(())
}

fn check_harmonium<T: Stored>(model: &FittedHarmonium<T>) -> Result<(), EstimatorError> {
    let blocks = blocks::<T>(model.info.vocabulary.len())?;
    let features = model.standardizer().map(|standardizer| {
        let names = standardizer.names().to_vec();
        let values = (0..names.len() * blocks.len()).map(|n| (n * 7 % 11) as f64 / 5.0).collect();
        FeatureValues { names, values }
    });
    for features in [None, features.as_ref()] {
        assert!(model.transform(&blocks, features)?.values.iter().all(|x| x.is_finite()));
    }
    _ = model.topic_words(5);
    Ok(())
}
