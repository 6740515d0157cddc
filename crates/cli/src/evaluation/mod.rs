//! How well labels are told of documents that were held out.

mod candidates;
mod classifier;
mod data;
mod features;
mod linear;
mod lsi;
mod models;
mod paths;
mod regression;
mod topics;
mod trial;

pub(crate) use self::{
    candidates::{Candidate, candidates},
    data::Data,
    regression::{Estimate, regression},
    trial::{Trial, rows, trial},
};
