//! Models with their options, trainings and files.
//!
//! Every model has plain options with a `Default`, which are checked into a plan; a [`Training`] that [steps](Train::step),
//! reports its [`Progress`], stops, is saved to a checkpoint and continues from it to the same bits; and a fitted model.
//! Restarts, coarse-to-fine stages, annealing and mini-batches are phases of one state machine, whichever model it is:
//! an [`Estimator`] says how a learner begins, a [`Schedule`] what is done with it.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
//! use countgrid_estimators::{FittedGrid, GridOptions, GridTraining, Train};
//!
//! let texts = ["Ants follow trails.", "Trails of red ants", "Red sky, red dust", "Dust in the sky"];
//! let words = WordOptions::default();
//! let mut corpus = Corpus::<f32>::from_texts(&texts, &CorpusOptions { words: words.clone(), ..CorpusOptions::default() })?;
//! let options = GridOptions { extents: Some(vec![4, 4]), window: Some(vec![2, 2]), ..GridOptions::default() };
//!
//! let mut training = GridTraining::new(options.plan(&mut corpus)?, &corpus.bags)?;
//! training.run(|_progress| ControlFlow::Continue(()))?; // or a step at a time, to draw in between or to stop
//! let mut grid = training.finish()?;
//! grid.describe(&corpus.name, &corpus, &words)?; // the vocabulary and how a text becomes words, for its file
//! assert_eq!(grid.place(&corpus.bags)?.len(), 4); // where each text is, and how surely
//!
//! let bytes = grid.to_file().to_bytes()?; // what `save` writes
//! let again = FittedGrid::<f32>::from_file(countgrid_io::ModelFile::from_bytes(&bytes)?)?;
//! assert_eq!(again.to_file().to_bytes()?, bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Sums over data
//! Grids, mixtures, topics, hidden Markov models and topographic maps are fitted to sums over bags, or sequences. These have one
//! order: [`countgrid_em::BLOCK_BAGS`] make a leaf, and leaves are added in a binary tree over their numbers
//! ([`countgrid_em::BlockStatistics`]), free energies too. A mini-batch has leaves of its own. So no bit depends on who computes
//! which leaves, and a collection of one leaf has the sums of a plain E-step. The start of a topographic map from principal
//! components sums over all documents in their order. Harmoniums draw as they learn, from one stream of random numbers that goes
//! through the documents in order; so do the sums of a mini-batch, or of all documents of a Langevin step.
//!
//! # Features
//! `files` (default): counts that are too many for the memory go to a temporary file. `rayon` (default): all threads of
//! the pool compute; no result depends on it. `pages`: fitted grids as pages to look at. `serde`:
//! options, progress and summaries are read and written, and trainings are distributed over processes and machines
//! ([`DistributedStart`]).
//!
//! # Sources
//! The crates of the models name theirs. Features: A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy
//! score space, NIPS 22 (2009); T. Jaakkola & D. Haussler, Exploiting generative models in discriminative classifiers, NIPS
//! 11 (1998); K. Tsuda, M. Kawanabe, G. Rätsch, S. Sonnenburg & K.-R. Müller, A new discriminative kernel from probabilistic
//! models, Neural Computation 14(10), 2002.
#![doc(html_root_url = "https://docs.rs/countgrid-estimators/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod any;
mod blocks;
mod boxed;
mod checkpoint;
mod componential;
mod digest;
#[cfg(feature = "serde")]
pub mod distributed;
mod error;
mod estimator;
mod features;
mod firmware;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod grid;
mod harmonium;
mod hmm;
mod layout;
mod lda;
mod model_file;
#[cfg(feature = "pages")]
mod pages;
mod progress;
mod record;
mod schedule;
mod steps;
mod topographic;
mod training;
mod words;

#[cfg(feature = "serde")]
pub use crate::distributed::{
    DistributedError, DistributedOptions, DistributedPlan, DistributedStart, DistributedTraining, FitLeaves,
    LeafDocuments, LeafSums, leaf_digests,
};
#[cfg(feature = "pages")]
pub use crate::pages::{AddedDocuments, GridPage, PageDocuments};
pub use crate::{
    any::AnyModel,
    blocks::{BagError, BagTotals, BlockLearner, BlockPass},
    boxed::BoxedTraining,
    componential::{
        BagInference, ComponentialLearner, ComponentialOptions, ComponentialParameters, ComponentialPlan,
        ComponentialStage, ComponentialStatistics, ComponentialTraining, FittedComponential, WindowTable,
    },
    digest::DataDigest,
    error::EstimatorError,
    estimator::{Estimator, MiniBatchPass, NoMiniBatches, Step, Train},
    features::{FeatureKind, FeatureRows, Gradients},
    firmware::{Firmware, TableKind},
    grid::{
        CircularMean, FittedGrid, GridInference, GridLabels, GridLearner, GridOptions, GridParameters,
        GridPlacement, GridPlan, GridPosition, GridSchedule, GridStart, GridTraining,
    },
    harmonium::{
        CouplingPrior, FeatureError, FeatureTable, FeatureValues, FittedHarmonium, HarmoniumData,
        HarmoniumKind, HarmoniumMethod, HarmoniumOptionError, HarmoniumOptions, HarmoniumParameters,
        HarmoniumPlan, HarmoniumSummary, HarmoniumTraining, Mixing, PriorSummary, Standardizer, TopicWords,
        TraceRecord, mixing,
    },
    hmm::{FittedHmm, HmmLearner, HmmOptions, HmmParameters, HmmPlan, HmmTraining},
    layout::{AXES, GridLayout, format_sides},
    lda::{FittedLda, LdaLearner, LdaOptions, LdaParameters, LdaPlan, LdaTraining},
    model_file::{ModelFileError, ModelInfo, Stored},
    progress::{FitSummary, Phase, Progress, end_reason},
    record::{CHECKPOINT_KIND, CheckpointError},
    schedule::{InitialPhase, Schedule, Stage},
    topographic::{
        BasisKind, CellFrame, Exposure, FittedTopographic, LabelSeparation, LatentKind, LatentSpace,
        SEPARATION_DOCUMENTS, Separation, TopographicLearner, TopographicOptionError, TopographicOptions,
        TopographicParameters, TopographicPlace, TopographicPlan, TopographicTraining,
    },
    training::Training,
    words::{TopWord, WordUse},
};

/// The Rust of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/large.md")]
mod guide {}
