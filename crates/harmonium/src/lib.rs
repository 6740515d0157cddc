//! Exponential family harmoniums: topics of bags of counts from undirected models, by maximum likelihood or in Bayesian
//! form.
//!
//! Words `x` and topics `h` are two layers that meet in couplings `W`: given one layer the units of the other are
//! independent. Here are binomial words (Bernoulli ones among them) under normal topics, the same with normal features
//! beside the words (dual wing), and Poisson words under binomial topics (rate adapting Poisson). Posterior means of topics
//! are one product, `Wᵀx`, which is what makes harmoniums fast at inference.
//!
//! ```
//! use countgrid_counts::Dense;
//! use countgrid_em::TablesMutExt;
//! use countgrid_harmonium::{Draws, Gradient, Harmonium, Prior, Shape, step_bound};
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//!
//! let shape = Shape::words(4, 2)?;
//! let bags = Dense::new(4, &[1_u8, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0])?;
//! let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(7));
//! let mut model = Harmonium::<f64, _>::allocate(shape, 1, 0.1, &mut draws)?;
//!
//! // Langevin sampling of the posterior of the couplings, its gradient from brief Gibbs chains.
//! let prior = Prior::new(vec![0.0; 4], vec![0.25; 4])?;
//! let epsilon = step_bound(bags.len(), 4, 1.0, 0.25)?;
//! let (mut gradient, mut v) = (Gradient::allocate(shape)?, vec![0.0; 16]);
//! let mut scratch = vec![0.0; shape.gibbs_scratch_len::<f64>()];
//! let mut step = vec![0.0; shape.step_scratch_len()];
//! for _ in 0..100 {
//!     gradient.clear();
//!     model.contrastive_divergence(&bags, &[], 1, &mut gradient, &mut draws, &mut scratch)?;
//!     model.langevin(&gradient, &prior, epsilon, &mut draws, &mut step)?;
//!     countgrid_harmonium::add_gram(model.w(), 2, 0.01, &mut v)?; // E[V]
//! }
//! # use countgrid_counts::Bags;
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | | |
//! |---|---|
//! | [`Shape`], [`Harmonium`] | the distributions of the wings, and the parameters |
//! | [`Harmonium::topics`], [`Terms`] | inference; the free energy term by term, features for classifiers |
//! | [`Gradient`], [`Harmonium::contrastive_divergence`], [`Chains`] | CD-l and persistent chains |
//! | [`Harmonium::ascend`], [`Harmonium::langevin`], [`Prior`] | maximum likelihood, posterior sampling |
//! | [`empirical_bayes`] | the prior that samples suggest |
//! | [`align`], [`add_gram`], [`distance_squared`] | prediction from posterior samples, which are determined up to rotations |
//! | [`IsingModel`] | perfect draws, by coupling from the past |
//! | [`Harmonium::exchange`], [`Harmonium::adjusted_langevin`] | exact posterior sampling, the reference |
//! | [`Harmonium::log_partition`], [`Harmonium::annealed_log_partition`] | `log Z`, by enumeration and by annealed importance sampling |
//! | [`effective_sample_size`], [`r_hat`], [`Acceptance`], [`Trace`], [`step_bound`] | diagnostics |
//!
//! Random numbers come from any generator of `rand_core` through [`Draws`]. With a portable one, such as ChaCha, the same
//! seed gives the same chain on every target; nothing here runs on more than one thread, and chains on several threads
//! are as many seeds.
//!
//! # Features
//!
//! * `std` (default): the instruction set is chosen at run time. No result depends on it.
//! * `alloc`: constructors that own their tables.
//! * `testing`: random models, for property tests with proptest.
//! * `serde`: shapes, wings and acceptance rates are read and written. What a constructor checks is checked when
//!   it is read.
//!
//! Without features nothing allocates, and everything runs on a microcontroller.
//!
//! # Sources
//!
//! M. Welling, M. Rosen-Zvi & G. Hinton, Exponential family harmoniums with an application to information retrieval, NIPS 17
//! (2004), pages 1481 to 1488; E. Xing, R. Yan & A. Hauptmann, Mining associated text and images with dual-wing harmoniums,
//! UAI 2005, [arXiv:1207.1423](https://arxiv.org/abs/1207.1423); P. Gehler, A. Holub & M. Welling, The rate adapting Poisson
//! model for information retrieval and object recognition, ICML 2006, pages 337 to 344. BEFH is the paper on the Bayesian
//! exponential family harmonium;
//! [docs/equations.md](https://github.com/countgrid/countgrid/blob/main/docs/equations.md) lists its equations with the corrections made.
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-harmonium/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "testing")]
extern crate std;

mod ais;
mod bayes;
mod block;
mod cftp;
mod contrastive;
mod diagnostics;
mod draw;
mod error;
mod exact;
mod gibbs;
mod gradient;
mod linear;
mod metropolis;
mod model;
mod posterior;
mod prior;
#[cfg(feature = "serde")]
mod serialised;
mod shape;
mod terms;
#[cfg(feature = "testing")]
pub mod testing;
mod wide;

pub use crate::{
    ais::PartitionEstimate,
    bayes::{Guard, Sharing, empirical_bayes},
    cftp::{Draw, IsingModel, Uniforms},
    diagnostics::{Trace, effective_sample_size, r_hat, step_bound},
    draw::{Draws, Noise},
    error::HarmoniumError,
    gibbs::Chains,
    gradient::{Gradient, Rates, Step},
    metropolis::{Acceptance, Adjusted, Exchange},
    model::Harmonium,
    posterior::{
        add_gram, add_rotated, align, align_scratch_len, coupling_errors, couplings_from_gram,
        distance_squared,
    },
    prior::Prior,
    shape::{Shape, Wings},
    terms::{Document, Grouping, Terms},
};
pub use countgrid_torus::constant;

/// Zeros in memory that is allocated.
#[cfg(feature = "alloc")]
pub(crate) fn allocate<T: countgrid_math::Real>(
    shape: &Shape,
    len: usize,
) -> Result<alloc::vec::Vec<T>, HarmoniumError> {
    let mut table = alloc::vec::Vec::new();
    let (words, topics, features) = (shape.word_count(), shape.topics(), shape.features());
    table.try_reserve_exact(len).map_err(|_| HarmoniumError::TooLarge { words, topics, features })?;
    table.resize(len, T::zero());
    Ok(table)
}
