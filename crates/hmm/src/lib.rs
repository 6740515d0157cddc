//! Hidden Markov models with discrete emissions, and Markov chains of any order.
//!
//! A sequence of symbols is drawn from a path through hidden states: the first from `start`, each next from the row of
//! `trans` of the one before, and at each a symbol from the state's column of `emit`. Fitting is Baum-Welch:
//! expectation maximisation with the exact posterior over paths.
//!
//! ```
//! use countgrid_counts::Sequences;
//! use countgrid_em::{EmOptions, no_observer};
//! use countgrid_hmm::{Hmm, Learner, Shape, Statistics};
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//!
//! // Two sequences over three symbols.
//! let sequences = Sequences::new(3, &[0, 5, 9], &[0u8, 0, 1, 2, 2, 0, 1, 1, 2])?;
//! let shape = Shape::new(2, 3)?;
//! let mut hmm = Hmm::<f64, _>::uniform(shape)?; // with the feature `alloc`; else in storage of the caller's
//! hmm.randomize(&mut ChaCha8Rng::seed_from_u64(1));
//!
//! let mut learner = Learner::new(hmm, 0.1)?;
//! let mut statistics = Statistics::allocate(shape, sequences.longest())?;
//! EmOptions::default().check()?.fit(&mut learner, &sequences, &mut statistics, no_observer)?;
//!
//! let hmm = learner.into_model();
//! let sequence = sequences.get(0).ok_or("there are two")?;
//! let mut path = vec![0; sequence.len()];
//! let mut scratch = vec![0.0; shape.scratch_len::<f64>(sequence.len())];
//! let joint = hmm.viterbi(&sequence, &mut path, &mut scratch)?;
//! assert!(joint <= hmm.log_likelihood(&sequence, &mut scratch)?); // one path of all
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | type | what it is |
//! |---|---|
//! | [`Shape`] | numbers of states and symbols |
//! | [`Hmm`] | the parameters; likelihood, posteriors, the best path, the mean field of a sequence |
//! | [`Terms`] | the free energy of a sequence, in groups of terms: features for classifiers |
//! | [`Learner`], [`Statistics`] | a model that is fitted, and the expected counts that it is fitted from |
//! | [`Chain`], [`ChainShape`] | Markov chains of any order |
//!
//! Both models have the [`ExpectedCounts`](countgrid_em::ExpectedCounts) that Fisher scores are made of.
//!
//! # Features
//!
//! * `std` (default): the instruction set is chosen at run time. No result depends on it.
//! * `alloc`: constructors that own their tables.
//! * `rayon`: the E-step of [`Hmm`] on all threads of the pool that it is called in, where the scratch of [`Statistics`]
//!   serves more than one sequence. No result depends on it: a sequence is worked on by one thread, and each sum is added up by
//!   one thread, in the order of sequences.
//! * `testing`: random problems and naive references for property tests with proptest.
//! * `serde`: shapes, posteriors and groupings are read and written. What a constructor checks is checked when
//!   it is read.
//!
//! Without features nothing allocates, and everything runs on a microcontroller.
//!
//! # Sources
//!
//! L. Rabiner, A tutorial on hidden Markov models and selected applications in speech recognition, Proceedings of the IEEE
//! 77(2), 1989, pages 257 to 286; A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS
//! 22 (2009), pages 1428 to 1436.
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-hmm/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "testing")]
extern crate std;

mod chain;
mod check;
mod error;
mod estep;
mod hmm;
mod learner;
mod mean_field;
mod posterior;
mod recursions;
#[cfg(feature = "serde")]
mod serialised;
mod shape;
mod terms;
#[cfg(feature = "testing")]
pub mod testing;
mod viterbi;

pub use crate::{
    chain::{Chain, ChainShape, ChainStatistics},
    error::HmmError,
    hmm::Hmm,
    learner::{Learner, Statistics},
    shape::Shape,
    terms::{Grouping, Posterior, Terms},
};
#[cfg(feature = "alloc")]
pub use countgrid_math::AlignedVec;
pub use countgrid_torus::constant;
