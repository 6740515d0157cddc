//! Generative topographic maps: documents as points of a plane, each point with a distribution of counts.
//!
//! A map has `K` latent points, here the nodes of a grid; over them the natural parameters of every feature are smooth,
//! `f = Φ W` with a few basis functions `Φ`. A document belongs to one point and its counts are independent given that
//! point: zero-inflated Poisson, Poisson, Bernoulli, multinomial or Gaussian ([`EmissionModel`]). Fitting is
//! expectation maximisation with damped Newton steps for the columns of `W`; a document is then shown at the mean, or
//! at the mode, of its posterior over points.
//!
//! [`Learner`] has an example of a fit, [`Emissions`] one of posteriors from constant tables.
//!
//! | type | what it is |
//! |---|---|
//! | [`Shape`], [`EmissionModel`] | sizes, and what a count is given a point |
//! | [`Basis`], [`grid_points`], [`torus_points`], [`gaussian_points`] | the latent space |
//! | [`Gtm`] | the parameters, with [`Priors`] |
//! | [`Emissions`] | what inference needs of them, also from flash |
//! | [`Documents`], [`Reals`] | bags with exposures and covariates; rows of numbers |
//! | [`Statistics`], [`Learner`], [`Options`] | fitting, by the contracts of `countgrid-em` |
//!
//! # Edge cases
//!
//! | | |
//! |---|---|
//! | a term that never occurs | the ridge and the inflation prior decide; its rates go to 0, nothing to infinity |
//! | a term that is in every document | its inflation goes down as far as the prior lets it |
//! | equal documents | they get equal posteriors |
//! | an empty document | has a posterior as any other; its exposure is that of one token |
//! | documents that a Gaussian map fits exactly | its precision ends at `u^(-1/3)` over the mean square |
//! | more latent points than documents | points that no document is at follow from the others by the basis |
//! | a basis of deficient rank | without a ridge, undetermined weights stay as they are |
//!
//! # Features
//!
//! * `std` (default): the instruction set is chosen at run time. No result depends on it.
//! * `alloc`: constructors that own their tables, and the start from principal components.
//! * `rayon`: the E-step on all threads of the pool that it is called in, where the scratch of [`Statistics`] serves more than
//!   one document. No result depends on it: a document is placed by one thread, and each sum is added up by one thread, in
//!   the order of documents.
//!
//! Without features nothing allocates.
//!
//! # Source
//! D. Alvarez-Medina & H. Hidalgo-Silva, ZIP and data document visualization, Workshop on text mining, Sixth SIAM
//! International Conference on Data Mining, 2006, with the corrections that `docs/equations.md` lists; D. Lambert,
//! Zero-inflated Poisson regression, with an application to defects in manufacturing, Technometrics 34(1), 1992; C. Bishop,
//! M. Svensén & C. Williams, GTM: the generative topographic mapping, Neural Computation 10(1), 1998; A. Kabán & M. Girolami,
//! A combined latent class and trait model for the analysis and visualization of discrete data, IEEE Transactions on Pattern
//! Analysis and Machine Intelligence 23(8), 2001.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod basis;
mod documents;
mod emission_model;
mod emissions;
mod error;
mod estep;
mod general;
mod learner;
mod magnification;
mod map;
mod mstep;
mod newton;
mod shape;
#[cfg(feature = "alloc")]
mod start;
mod statistics;
mod terms;

#[cfg(feature = "alloc")]
pub use crate::start::principal_scores;
pub use crate::{
    basis::{Basis, gaussian_points, grid_points, half_plane_centres, torus_points},
    documents::{Documents, Reals, Source},
    emissions::Emissions,
    error::GtmError,
    learner::{Learner, Options},
    magnification::magnification_scratch_len,
    map::{Gtm, Priors},
    shape::{EmissionModel, Inflation, Shape, Space},
    statistics::Statistics,
};
pub use countgrid_torus::constant;
