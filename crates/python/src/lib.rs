//! The part of the Python package `countgrid` that is Rust: arrays to bags, fits, inference, files and pages. It computes nothing
//! itself; `python/countgrid` calls it and speaks scikit-learn's language.

mod data;
mod distributed;
mod errors;
mod fit;
mod harmonium;
mod model;
mod sequences;
mod steps;
mod text;

use pyo3::prelude::*;

/// Rust functions and types of the package `countgrid`, for its own modules.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "as Python calls it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::{
        data::Data,
        distributed::{
            add_tokens, finish_state, leaf_documents, leaf_size, leaf_sums, merge_sums, same_training,
            start_state, step_state,
        },
        fit::{defaults, fit},
        harmonium::{fit_harmonium, harmonium_topics},
        model::Model,
        sequences::{Sequences, fit_sequences, sequence_features, sequence_log_likelihoods, sequence_states},
        steps::{fit_step, merge_states},
        text::{
            count_words, merge_words, part_languages, part_words, select_merged, select_words,
            settle_languages,
        },
    };
}

/// Runs work on a pool of so many threads, without the interpreter.
fn on_pool<R: Send>(py: Python<'_>, jobs: usize, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    py.detach(|| {
        // A pool for each call: threads of one that is kept do not survive a fork.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build();
        pool.map(|pool| pool.install(work))
    })
    .map_err(errors::runtime)
}
