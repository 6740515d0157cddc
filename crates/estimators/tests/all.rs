//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod by_hand;
mod componential_training;
mod damaged_models;
mod descriptions;
mod distributed_files;
mod ends;
mod fuzzing;
mod grid_training;
mod harmonium_training;
mod leaves;
mod other_trainings;
#[cfg(feature = "pages")]
mod pages;
mod ranks;
#[cfg(feature = "files")]
mod real_data;
mod serialised;
mod stopping;
mod topographic_training;
mod words;
