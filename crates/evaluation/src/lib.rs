//! Evaluation of models on documents that are held out: folds with everything learned inside, choice of options in
//! inner folds, features, classifiers, predictions and reports as data.
//!
//! [`cross_validate`] takes [`LabelledData`] and one or several [`Candidate`]s, and returns a [`CrossValidation`]:
//! predictions, a confusion matrix, accuracies with a standard error. [`regress`] is the same for labels that are
//! numbers. Which words are kept, the models, their features and the classifier are learned in each fold from the
//! documents that are not held out. [`LatentSemanticIndex`] is a baseline.
//!
//! Measures that need no labels, or few:
//!
//! | of | what |
//! |---|---|
//! | maps | [`label_agreement`] of nearest neighbours; [`neighbourhoods`]: trustworthiness and continuity |
//! | topics | [`coherence`] over a reference corpus; [`topic_diversity`]; [`WordDistributions::exclusivity`] |
//! | models | [`document_completion`], [`held_out_bound`] |
//! | any model of a file | [`measure`]: all of these that its kind has |
//! | sizes of a grid | [`choose_grid`]: the one under which held-out tokens are most probable |
//! | two fits | [`best_match`] of topics; [`neighbourhoods`] of two maps: the share of neighbours that are kept |
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
//! use countgrid_evaluation::{Candidate, EvaluationOptions, LabelledData, Protocol, Stop, cross_validate};
//! use countgrid_io::{Columns, read_json_lines};
//!
//! let line = |label: &str, text: &str| format!("{{\"label\": \"{label}\", \"text\": \"{text}\"}}\n");
//! let lines = line("bread", "salt oven bread flour") + &line("boats", "keel mast sail rope");
//! let documents = read_json_lines(lines.repeat(6).as_bytes(), "made.jsonl", &Columns::default())?;
//! // Every word is kept: which of them a model sees is decided in each fold.
//! let options = CorpusOptions { words: WordOptions::default().keep_all(), ..CorpusOptions::default() };
//! let corpus = Corpus::<f32>::from_documents("made", documents, &options)?;
//! let data = LabelledData::new(corpus, None)?;
//! let mut options = EvaluationOptions::default();
//! options.grid.extents = Some(vec![4, 4]);
//! let candidate = Candidate { name: "4x4".to_owned(), options };
//! let protocol = Protocol { folds: 3, ..Protocol::default() };
//! let result = cross_validate(&data, &[candidate], &protocol, |_| ControlFlow::Continue(()), &Stop::new())?;
//! assert_eq!(result.confusion.accuracy(), Some(1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! `serde`: options, protocols and results are read and written.
//!
//! # Sources
//! N. Jojic & A. Perina, Multidimensional counting grids: inferring word order from disordered bags of words, UAI 2011;
//! A. Perina, N. Jojic, U. Castellani, M. Bicego & V. Murino, Embedding bags of features in hyper-dimensional grids: the
//! counting grid model, cited as the journal paper; A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy
//! score space, NIPS 22 (2009), cited as Perina et al. 2009; K. Tsuda, M. Kawanabe, G. Rätsch, S. Sonnenburg & K.-R. Müller,
//! A new discriminative kernel from probabilistic models, Neural Computation 14(10), 2002.
#![doc(html_root_url = "https://docs.rs/countgrid-evaluation/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod classifier;
mod coherence;
mod completion;
mod cross_validation;
mod data;
mod error;
mod grid_size;
mod kinds;
mod lsi;
mod measures;
mod models;
mod neighbourhood;
mod options;
mod pieces;
mod regression;
mod scalar;
mod topics;

pub use crate::{
    classifier::predict,
    coherence::{Coherence, TopicCoherence, coherence},
    completion::{HeldOut, Mean, Predictive, document_completion, held_out_bound},
    cross_validation::{CrossValidation, ErrorUnit, EvaluationEvent, Prediction, cross_validate},
    data::{Fold, LabelledData, Part},
    error::{EvaluationError, OptionError},
    grid_size::{GridChoice, TriedGrid, choose_grid},
    kinds::{ClassPrior, Classifier, Features, Metric, ModelKind, WordSelection},
    lsi::LatentSemanticIndex,
    measures::{Measure, MeasureOptions, ModelMeasures, Stability, measure},
    models::FittedModel,
    neighbourhood::{
        CountMetric, Distances, LabelAgreement, MapPoints, Neighbourhoods, SparseRows, label_agreement,
        neighbourhoods,
    },
    options::{Candidate, EvaluationOptions, Protocol},
    regression::{Estimate, Regression, regress},
    scalar::Scalar,
    topics::{WordDistributions, best_match, topic_diversity},
};

/// The flag that ends an evaluation: see [`cross_validate`].
pub use countgrid_em::Stop;

/// A vector of zeros, or an error instead of an abort if there is no memory.
fn zeros<T: Clone + Default>(elements: usize) -> Result<Vec<T>, EvaluationError> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(elements).map_err(|_| EvaluationError::Memory { elements })?;
    zeros.resize(elements, T::default());
    Ok(zeros)
}
