//! Features for classifiers from any model, and what classifiers take of them.
//!
//! | | features of a datum | of a model that has |
//! |---|---|---|
//! | [`fess`] | the terms of its free energy: the free energy score | [`FreeEnergy`](countgrid_em::FreeEnergy) |
//! | [`nfess`] | the same per token or symbol | |
//! | [`ClassModels`] | either, under one model per class, side by side | |
//! | [`fisher`] | the gradient of its log-likelihood | [`ExpectedCounts`](countgrid_em::ExpectedCounts) |
//! | [`top`] | the gradient of the log-odds of two models | |
//!
//! And from features to what classifiers take: similarities of rows, as Gram matrices, and standardisation.
//!
//! ```
//! use countgrid_scores::{Similarity, Standardizer, gram};
//!
//! let rows = [1.0, 10.0, 3.0, 10.0, 5.0, 40.0]; // three of two columns
//! let standard = Standardizer::fit(&rows, [0.0; 4])?;
//! let mut scaled = rows;
//! standard.apply(&mut scaled)?;
//!
//! let mut matrix = [0.0; 9];
//! gram(Similarity::Rbf { gamma: 0.5 }, 2, &scaled, &mut matrix)?;
//! assert_eq!(matrix[0], 1.0); // a row is as similar to itself as can be
//! assert!(matrix[1] > matrix[2]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `std` (default): the instruction set is chosen at run time. No result depends on it.
//!
//! # Sources
//!
//! A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 22 (2009), pages 1428 to 1436;
//! T. Jaakkola & D. Haussler, Exploiting generative models in discriminative classifiers, NIPS 11 (1998); K. Tsuda,
//! M. Kawanabe, G. Rätsch, S. Sonnenburg & K.-R. Müller, A new discriminative kernel from probabilistic models, Neural
//! Computation 14(10), 2002, pages 2397 to 2414.
//!
//! On a Cortex-M4F: code and stack of the main operations are in
//! [docs/microcontroller.md](https://github.com/countgrid/countgrid/blob/main/docs/microcontroller.md).
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-scores/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod error;
mod free_energy;
mod gradient;
mod similarity;
mod spreading;
mod standard;

pub use crate::{
    error::{FeatureError, ScoreError},
    free_energy::{ClassModels, fess, nfess},
    gradient::{Form, fisher, top},
    similarity::{Similarity, cross, gaussian, gram},
    spreading::{spread_rows, spread_scratch_len},
    standard::Standardizer,
};
