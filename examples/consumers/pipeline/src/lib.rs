//! How well a model tells the labels of documents in a CSV file apart, by documents that it has not seen.

use std::{ops::ControlFlow, path::Path};

use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
use countgrid_evaluation::{
    Candidate, EvaluationEvent, EvaluationOptions, LabelledData, Protocol, Stop, cross_validate,
};

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The labels, in order.
    pub labels: Vec<String>,
    /// `[label][predicted]`, documents.
    pub confusion: Vec<u64>,
    /// Documents that were given their own label, as a share.
    pub accuracy: f64,
    /// Its standard error.
    pub error: f64,
    /// For each document in the order of the file the label that it was given.
    pub predicted: Vec<usize>,
}

/// Predicts every document by a model of the others, in so many folds. The column of the label is found by its name.
///
/// # Errors
/// What is wrong with the file, and where; too few documents of a label.
pub fn run(path: &Path, folds: usize) -> Result<Report, Box<dyn std::error::Error>> {
    // Every word is kept: which of them a model sees is decided in each fold.
    let options = CorpusOptions { words: WordOptions::default().keep_all(), ..CorpusOptions::default() };
    let data = LabelledData::new(Corpus::<f32>::read(path, &options)?, None)?;
    let candidates = [3, 4].map(|extent| {
        let mut options = EvaluationOptions::default();
        options.grid.extents = Some(vec![extent; 2]);
        options.grid.window = Some(vec![2; 2]);
        Candidate { name: format!("{extent}x{extent}"), options }
    });
    let protocol = Protocol { folds, inner_folds: 2, ..Protocol::default() };
    let report = |event: &EvaluationEvent<'_>| {
        if let EvaluationEvent::Fold { fold, folds, candidate, .. } = event {
            eprintln!("fold {} of {folds}: {}", fold + 1, candidates[*candidate].name);
        }
        ControlFlow::Continue(())
    };
    let found = cross_validate(&data, &candidates, &protocol, report, &Stop::new())?;
    let mut predicted = vec![0; found.predictions.len()];
    for prediction in &found.predictions {
        predicted[prediction.item] = prediction.predicted;
    }
    Ok(Report {
        labels: data.label_names().to_vec(),
        confusion: found.confusion.counts().to_vec(),
        accuracy: found.confusion.accuracy().unwrap_or_default(),
        error: found.standard_error().0.unwrap_or_default(),
        predicted,
    })
}
