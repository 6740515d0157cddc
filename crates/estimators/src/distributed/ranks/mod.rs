//! Trainings of programs that run on all machines at once, and pass messages.

mod communicator;
mod nodes;
mod threads;
mod training;

pub use self::{
    communicator::{Communicator, agree},
    nodes::rows_of_ranks,
    threads::ThreadRank,
    training::RankTraining,
};
