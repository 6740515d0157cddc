//! A model with its options, its training and its file.
//!
//! Every model has plain options with a `Default`, which are checked into a plan; a [`Training`] that [steps](Train::step),
//! reports its [`Progress`], stops, is written to a checkpoint and goes on from it to the same bits; and a fitted model.
//! Restarts, coarse-to-fine stages, annealing and mini-batches are phases of one state machine, whichever model it is:
//! an [`Estimator`] says how a learner begins, a [`Schedule`] what is done with it.
//!
//! # Features
//! `files` (default): counts that are too many for the memory go to a temporary file. `rayon` (default): all threads of
//! the pool compute; no result depends on it.
#![forbid(unsafe_code)]

mod blocks;
mod checkpoint;
mod error;
mod estimator;
mod features;
mod grid;
mod layout;
mod model_file;
mod progress;
mod schedule;
mod training;

pub use crate::{
    blocks::{BagError, BagTotals, BlockLearner, BlockPass},
    checkpoint::{CHECKPOINT_KIND, CheckpointError, DataDigest},
    error::EstimatorError,
    estimator::{Estimator, MiniBatchPass, NoMiniBatches, Step, Train},
    features::{FeatureKind, FeatureRows, Gradients},
    grid::{
        CircularMean, FittedGrid, GridInference, GridLabels, GridLearner, GridOptions, GridParameters,
        GridPlacement, GridPlan, GridPosition, GridSchedule, GridStart, GridTraining,
    },
    layout::{AXES, GridLayout, format_sides},
    model_file::{ModelFileError, ModelInfo, Stored},
    progress::{FitSummary, Phase, Progress, end_reason},
    schedule::{InitialPhase, Schedule, Stage},
    training::Training,
};
