//! Harmoniums: words, and perhaps numeric features, under topics.

mod chain;
mod checkpoint;
mod data;
mod features;
mod file;
mod fitted;
mod options;
mod samples;
mod trace;
mod training;

pub use self::{
    data::HarmoniumData,
    features::{FeatureError, FeatureTable, FeatureValues, Standardizer},
    fitted::{FittedHarmonium, HarmoniumParameters, HarmoniumSummary, PriorSummary, TopicWords},
    options::{
        CouplingPrior, HarmoniumKind, HarmoniumMethod, HarmoniumOptionError, HarmoniumOptions, HarmoniumPlan,
    },
    trace::{Mixing, TraceRecord, mixing},
    training::HarmoniumTraining,
};
