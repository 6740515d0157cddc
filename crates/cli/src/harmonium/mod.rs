//! Harmoniums: fitted, kept in files, told about, and asked where documents lie.

mod args;
mod command;
mod features;
mod file;
mod learn;
mod trace;

pub(crate) use self::{
    args::{FeatureArgs, FitModel, HarmoniumArgs, Method, TraceArgs},
    command::{BATCH, embed, fit, info},
    file::{AnyModel, from_file, is_harmonium},
    learn::{Data, HarmoniumFamily, Learned, Settings, Trained, learn, prepare_counts, refused, wide},
};
