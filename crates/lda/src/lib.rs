//! Latent Dirichlet allocation: bags of counts as mixtures of topics.
//!
//! A topic is a distribution over `V` features. A document draws proportions `theta` of `K` topics from a Dirichlet
//! distribution, and each of its tokens a topic from `theta` and a feature from the topic (Blei, Ng & Jordan 2003).
//! The posterior is approximated by mean field; fitting is variational expectation maximisation: the E-step
//! infers every document, the M-step moves the topics, with smoothing if asked for, and learns a symmetric `alpha`.
//!
//! ```
//! use countgrid_counts::Dense;
//! use countgrid_em::{EmOptions, no_observer};
//! use countgrid_lda::{Concentration, Inference, Lda, Learner, Options, Shape, Statistics};
//! use rand_chacha::rand_core::SeedableRng;
//!
//! let counts = [5u32, 4, 0, 0, 6, 3, 1, 0, 0, 0, 4, 4, 1, 0, 5, 6];
//! let bags = Dense::new(4, &counts)?;
//! let shape = Shape::new(2, 4)?;
//!
//! // Every table belongs to the caller; with the feature `alloc` these allocate it.
//! let mut model = Lda::<f64, _>::uniform(shape, 0.5)?;
//! model.randomize(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1));
//! let options = Options { smoothing: 0.01, concentration: Concentration::Symmetric, ..Options::default() };
//! let mut learner = Learner::new(model, options)?;
//! let mut statistics = Statistics::allocate(shape, 16)?;
//!
//! let outcome = EmOptions::default().check()?.fit(&mut learner, &bags, &mut statistics, no_observer)?;
//! let model = learner.into_lda();
//! let mut scratch = vec![0.0; shape.posterior_scratch_len()];
//! let held_out = model.held_out_bound(&bags, Inference::default(), &mut scratch)?;
//! assert!((held_out.log_likelihood + outcome.free_energy).abs() < 1e-9);
//! assert!(held_out.perplexity() < 4.0); // better than four equal features
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | type | what it is |
//! |---|---|
//! | [`Shape`] | how many topics and features |
//! | [`Lda`] | the parameters: topics `beta` and the Dirichlet parameter `alpha`; all that inference needs, also from flash |
//! | [`Posterior`] | what is inferred of a document: `gamma`, `phi`, the bound, its derivatives |
//! | [`Inference`] | when that is good enough |
//! | [`Statistics`] | expected counts, and the scratch of both steps |
//! | [`Learner`] | a model that is fitted: both steps, with [`Options`] |
//! | [`HeldOut`] | perplexity, by the bound or by document completion |
//! | [`Terms`] | the free energy of a document, in groups of terms: features for classifiers |
//!
//! # Features
//!
//! * `std` (default): the instruction set is chosen at run time. No result depends on it.
//! * `alloc`: constructors that own their tables.
//! * `rayon`: the E-step on all threads of the pool that it is called in. No result depends on it: a document is
//!   inferred by one thread, and each output is summed by one thread, in one order.
//! * `testing`: random problems and the bound written down plainly, for property tests with proptest.
//! * `serde`: shapes and options are read and written. What a constructor checks is checked when
//!   it is read.
//!
//! Without features nothing allocates, and everything runs on a microcontroller.
//!
//! # Sources
//!
//! D. Blei, A. Ng & M. Jordan, Latent Dirichlet allocation, JMLR 3 (2003), pages 993 to 1022; M. Hoffman, D. Blei & F. Bach,
//! Online learning for latent Dirichlet allocation, NIPS 23 (2010); D. Lee & H. S. Seung, Algorithms for non-negative matrix
//! factorization, NIPS 13 (2001); H. Wallach, I. Murray, R. Salakhutdinov & D. Mimno, Evaluation methods for topic models,
//! ICML 2009; A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 22 (2009).
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-lda/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "testing")]
extern crate std;

mod error;
mod infer;
mod lda;
mod learner;
mod options;
mod posterior;
#[cfg(feature = "serde")]
mod serialised;
mod shape;
mod statistics;
mod terms;
#[cfg(feature = "testing")]
pub mod testing;

pub use crate::{
    error::LdaError,
    lda::Lda,
    learner::Learner,
    options::{Concentration, Inference, Options},
    posterior::{HeldOut, Posterior},
    shape::Shape,
    statistics::Statistics,
    terms::{Grouping, Terms},
};
#[cfg(feature = "alloc")]
pub use countgrid_math::AlignedVec;
pub use countgrid_torus::constant;
