//! Bags of counts in latent spaces: the library crates of the workspace under one name.
//!
//! A bag of counts (words of a document, genes of a sample, visual words of an image) is placed in a latent
//! space: a counting grid, a torus of word distributions on which a bag sits at a window; a topographic map, a plane whose
//! points are distributions of counts; a mixture of topics; a path through the states of a hidden Markov model; the
//! topics of a harmonium. All models follow the same three contracts of [`em`].
//!
//! Storage belongs to the caller: a model is generic over anything that holds a slice, an array, a table in flash or a
//! vector. Here the posterior of a bag on a grid that was fitted elsewhere, without `std` and without an allocator:
//!
//! ```
//! use countgrid::counts::Bag;
//! use countgrid::grid::{Grid, LogHistograms, Shape, constant};
//!
//! // Four cells in a circle, windows of two cells, three features.
//! const SHAPE: Shape<1> = constant!(Shape::from_sides([4], [2], 3));
//!
//! // `[feature][cell]`, then the prior of each location.
//! let pi = [
//!     0.8_f32, 0.1, 0.1, 0.1, //
//!     0.1, 0.8, 0.1, 0.1, //
//!     0.1, 0.1, 0.8, 0.8, //
//!     0.25, 0.25, 0.25, 0.25,
//! ];
//! let grid = Grid::new(SHAPE, pi)?;
//! let mut scratch = [0.0; SHAPE.scratch_len::<f32>(1)];
//! let mut packed = [0.0; SHAPE.histograms_len::<f32>()];
//! LogHistograms::pack(&grid, &mut packed, &mut scratch)?;
//!
//! let histograms = LogHistograms::new(SHAPE, packed.as_slice())?;
//! let bag = Bag::new(3, &[2], &[9_u16])?; // the last feature, nine times
//! let mut posterior = [0.0; SHAPE.cells()];
//! histograms.posterior(&bag, 0, &mut posterior, &mut scratch)?;
//! assert!(posterior[2] > 0.9); // at the window that holds cells 2 and 3
//! # Ok::<(), countgrid::Error>(())
//! ```
//!
//! [`Error`] is the error of any of the libraries, for `?` without an allocator.
//!
//! # Features
//!
//! * `std` (default): the instruction set is chosen at run time. No result depends on it.
//! * `alloc`: constructors that own their tables.
//! * `grid` (default): counting grids.
//! * `gtm` (default): generative topographic maps of counts.
//! * `harmonium` (default): exponential family harmoniums.
//! * `hmm` (default): hidden Markov models and Markov chains.
//! * `lda` (default): latent Dirichlet allocation.
//! * `scores` (default): free energy scores and gradients of models as features, similarities of rows as Gram matrices, and standardisation.
//! * `classify` (default): neighbours, support vector machines, folds and metrics.
//! * `ndarray`, `nalgebra`: their matrices and views as bags, without a copy, and tables of models as their matrices.
//! * `sprs`: its sparse matrices as bags.
//! * `serde`: shapes, options and states of fits are read and written.
//! * `rayon`: fitting and placing on all threads. No result depends on it.
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "classify")]
pub use countgrid_classify as classify;
pub use countgrid_counts as counts;
pub use countgrid_em as em;
#[cfg(feature = "grid")]
pub use countgrid_grid as grid;
#[cfg(feature = "gtm")]
pub use countgrid_gtm as gtm;
#[cfg(feature = "harmonium")]
pub use countgrid_harmonium as harmonium;
#[cfg(feature = "hmm")]
pub use countgrid_hmm as hmm;
#[cfg(feature = "lda")]
pub use countgrid_lda as lda;
pub use countgrid_math as math;
pub use countgrid_prefix as prefix;
#[cfg(feature = "scores")]
pub use countgrid_scores as scores;
pub use countgrid_torus as torus;
pub use countgrid_torus::constant;

mod error;
pub use crate::error::Error;

/// The Rust of the guide.
#[cfg(all(doctest, feature = "std", feature = "grid"))]
#[doc = include_str!("../../../docs/guide/library.md")]
mod guide {}
