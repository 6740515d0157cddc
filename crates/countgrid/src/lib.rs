//! Bags of counts in latent spaces: the library crates of the workspace under one name.
//!
//! A bag of counts (words of a document, genes of a sample, visual words of an image) is placed in a latent
//! space: a counting grid, a torus of word distributions on which a bag sits at a window; a topographic map, a plane whose
//! points are distributions of counts; a mixture of topics; a path through the states of a hidden Markov model; the
//! topics of a harmonium. All models follow the same three contracts of [`em`].
//!
//! ```
//! use countgrid::torus::{Torus, Windows};
//!
//! let windows = Windows::new(Torus::new([4, 6])?, [2, 3])?;
//! assert_eq!(windows.volume(), 6);
//! # Ok::<(), countgrid::torus::ShapeError>(())
//! ```
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
//! * `rayon`: fitting and placing on all threads. No result depends on it.
#![no_std]
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
