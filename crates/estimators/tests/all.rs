//! All tests of the crate in one program, so that what they instantiate is compiled once.

mod boxed;
mod by_hand;
mod componential_models;
mod componential_stages;
mod componential_training;
mod damaged_models;
mod data;
mod descriptions;
mod distributed_files;
mod distributed_steps;
mod ends;
mod fuzzing;
mod grid_models;
mod grid_options;
mod grid_training;
mod harmonium_chain;
mod harmonium_features;
mod harmonium_models;
mod harmonium_progress;
mod harmonium_samples;
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
mod topics_and_paths;
mod topographic_cells;
mod topographic_latent;
mod topographic_separation;
mod topographic_training;
mod training_state;
mod words;
