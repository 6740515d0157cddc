//! How well labels are told of documents that were held out.

mod candidates;
mod classifier;
mod data;
mod features;
mod trial;

pub(crate) use self::{
    candidates::{Candidate, candidates},
    data::Data,
    trial::{Trial, rows, trial},
};
