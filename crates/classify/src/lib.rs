//! Classifiers on distances, similarities and free energies that models compute, and measures of their accuracy.
//!
//! Nothing here knows a model: nearest neighbours take distances, support vector machines a Gram matrix, the
//! generative classifier free energies. Storage is the caller's, and nothing allocates.
//!
//! | what | how |
//! |---|---|
//! | [`nearest`], [`vote`] | the k nearest of candidates, and the label they agree on |
//! | [`leave_one_out`], [`silhouette`] | how well classes lie apart on a map |
//! | [`kullback_leibler`], [`hellinger`] | how far apart two distributions are |
//! | [`lowest`] | generative classification: the class whose model has the lowest free energy |
//! | [`SupportVectors`] | C-support vector classification on a Gram matrix, one class against one other |
//! | [`folds`], [`stratified_folds`] | which items are held out together |
//! | [`Confusion`], [`Summary`], [`correlation`] | accuracy with its standard error, and its kin |
//!
//! ```
//! use countgrid_classify::{Confusion, nearest, stratified_folds, vote};
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//!
//! // Points on a line, of two classes.
//! let (points, labels) = ([0.0f64, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3], [0, 0, 0, 0, 1, 1, 1, 1]);
//! let mut fold = [0; 8];
//! stratified_folds(&labels, 4, &mut ChaCha8Rng::seed_from_u64(1), &mut fold, &mut [0; 8])?;
//!
//! let mut confusion = Confusion::new(2, [0; 4])?;
//! for held_out in 0..4 {
//!     let training = || (0..8).filter(|&i| fold[i] != held_out);
//!     for test in (0..8).filter(|&i| fold[i] == held_out) {
//!         let mut found = [(0, 0.0); 3];
//!         let found = nearest(training().map(|i| (i, (points[i] - points[test]).abs())), &mut found);
//!         let label = vote(found.iter().map(|&(i, _)| labels[i]), &mut [0; 2]).unwrap_or(0);
//!         confusion.add(labels[test], label)?;
//!     }
//! }
//! assert_eq!(confusion.accuracy(), Some(1.0));
//! # Ok::<(), countgrid_classify::ClassifyError>(())
//! ```
//!
//! # Features
//!
//! `std` (default): the instruction set is chosen at run time. No result depends on it. `serde`: confusions and summaries are
//! read, with checks of what they hold, and written.
//!
//! On a Cortex-M4F: code and stack of the main operations are in
//! [docs/microcontroller.md](https://github.com/countgrid/countgrid/blob/main/docs/microcontroller.md).
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-classify/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod distance;
mod error;
mod folds;
mod metrics;
mod multiclass;
mod nearest;
mod places;
#[cfg(feature = "serde")]
mod serialised;
mod smo;

pub use crate::{
    distance::{hellinger, kullback_leibler},
    error::ClassifyError,
    folds::{folds, stratified_folds},
    metrics::{Confusion, Summary, correlation},
    multiclass::SupportVectors,
    nearest::{lowest, nearest, vote},
    places::{leave_one_out, silhouette},
    smo::SvmOptions,
};
