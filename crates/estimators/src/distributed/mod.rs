//! Trainings whose E-steps are computed elsewhere, in other processes or on other machines, to the same bits.
//!
//! Four files, or their bytes, go round: a *state*, the checkpoint of a training with all that is needed to go on; *documents*, the
//! bags of some leaves; *sums*, the statistics and free energies of leaves under the model of a state; and in the end the model.
//! [`start`] makes the first state, [`partial_sums`] the sums of some documents, [`LeafSums::merge`] adds sums up in the one tree of
//! leaves, whoever has computed which and in whatever order they come, and [`next_state`] updates the model. [`finish`] is the
//! fitted model, with the bytes that a training on one machine gives.
//!
//! A program that runs on all machines at once, as programs with MPI do, has a [`RankTraining`] instead: each process, or *rank*,
//! has some leaves, and sends its sums to whoever has their siblings in the tree through a [`Communicator`].

mod documents;
mod error;
mod leaves;
mod ranks;
mod state;
mod sums;
mod training;

pub(crate) use self::state::first_state;
pub use self::{
    documents::LeafDocuments,
    error::DistributedError,
    leaves::{FitLeaves, leaf_digests},
    ranks::{Communicator, RankTraining, ThreadRank, agree, rows_of_ranks},
    state::{DistributedOptions, DistributedPlan, DistributedStart, finish, next_state, partial_sums, start},
    sums::LeafSums,
    training::DistributedTraining,
};
