//! Bags of counts in latent spaces: the library crates of the workspace under one name.
//!
//! A bag of counts (words of a document, genes of a sample, visual words of an image) is placed in a latent
//! space. Here that is a counting grid, a torus of word distributions on which a bag sits at a window; more models
//! follow the same three contracts of [`em`].
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
#![no_std]
#![forbid(unsafe_code)]

pub use countgrid_counts as counts;
pub use countgrid_em as em;
#[cfg(feature = "grid")]
pub use countgrid_grid as grid;
pub use countgrid_math as math;
pub use countgrid_prefix as prefix;
pub use countgrid_torus as torus;
