//! Generative topographic maps: documents as points of a plane, each point with a distribution of counts.
//!
//! A map has `K` latent points, here the nodes of a grid; over them the natural parameters of every feature are smooth,
//! `f = Φ W` with a few basis functions `Φ`. A document belongs to one point and its counts are independent given that
//! point: zero-inflated Poisson, Poisson, Bernoulli, multinomial or Gaussian ([`EmissionModel`]). Fitting is
//! expectation maximisation with damped Newton steps for the columns of `W`; a document is then shown at the mean, or
//! at the mode, of its posterior over points.
//!
//! ```
//! use countgrid_counts::Dense;
//! use countgrid_em::{EmOptions, no_observer};
//! use countgrid_gtm::{Basis, EmissionModel, Gtm, Learner, Options, Priors, Shape, Statistics, grid_points};
//!
//! // Four documents of three words, on a map of 3 x 3 points with a basis of 2 x 2 functions and a constant.
//! let counts = [4_u8, 0, 1, 5, 1, 0, 0, 3, 3, 0, 6, 2];
//! let bags = Dense::new(3, &counts)?;
//! let shape = Shape::new(EmissionModel::Poisson, 9, 2, 5, 3)?;
//! let (mut points, mut centres, mut phi) = ([0.0_f64; 18], [0.0; 8], [0.0; 45]);
//! grid_points(3, 3, &mut points)?;
//! grid_points(2, 2, &mut centres)?;
//! Basis::rbf(&centres, 2, 1.0)?.table(&points, &mut phi)?;
//!
//! // Every table belongs to the caller; with the feature `alloc` these allocate it.
//! let mut map = Gtm::allocate(shape, &points, &phi, Priors::default())?;
//! map.initialise(&bags, 0.5)?;
//! let mut learner = Learner::allocate(map, Options::default())?;
//! let mut statistics = Statistics::allocate(shape)?;
//! EmOptions::default().check()?.fit(&mut learner, &bags, &mut statistics, no_observer)?;
//!
//! // Where the last document is: the mean of its posterior over points.
//! let (mut posterior, mut scratch) = ([0.0; 9], vec![0.0; shape.posterior_scratch_len()]);
//! learner.emissions().posterior(&bags, 3, &mut posterior, &mut scratch)?;
//! let mut place = [0.0; 2];
//! learner.emissions().mean(&posterior, &mut place)?;
//! assert!(place.iter().all(|x| (-1.0..=1.0).contains(x)));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! [`Emissions`] has an example of posteriors from constant tables.
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
//! * `testing`: random problems and naive references, for property tests with proptest.
//! * `serde`: shapes, priors and options are read and written. What a constructor checks is checked when
//!   it is read.
//!
//! Without features nothing allocates.
//!
//! # Source
//! D. Alvarez-Medina & H. Hidalgo-Silva, ZIP and data document visualization, Workshop on text mining, Sixth SIAM
//! International Conference on Data Mining, 2006, with the corrections that
//! [docs/equations.md](https://github.com/countgrid/countgrid/blob/main/docs/equations.md) lists; D. Lambert,
//! Zero-inflated Poisson regression, with an application to defects in manufacturing, Technometrics 34(1), 1992; C. Bishop,
//! M. Svensén & C. Williams, GTM: the generative topographic mapping, Neural Computation 10(1), 1998; A. Kabán & M. Girolami,
//! A combined latent class and trait model for the analysis and visualization of discrete data, IEEE Transactions on Pattern
//! Analysis and Machine Intelligence 23(8), 2001.
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-gtm/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "testing"))]
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
#[cfg(feature = "serde")]
mod serialised;
mod shape;
#[cfg(feature = "alloc")]
mod start;
mod statistics;
mod terms;
#[cfg(feature = "testing")]
pub mod testing;

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
#[cfg(feature = "alloc")]
pub use countgrid_math::AlignedVec;
pub use countgrid_torus::constant;
