//! Counting grids: bags of counts as windows on a torus of distributions.
//!
//! A counting grid is a torus of `P` cells in any dimension `D`, each cell a distribution `pi` over `Z`
//! features. A bag sits at a window; its features are drawn from the window histogram, the mean of `pi`
//! over the window's cells (Jojic & Perina 2011, Eq. 1). Fitting is expectation maximisation: the E-step
//! finds where each bag sits, the M-step moves the bags' counts into the cells.
//!
//! ```
//! use countgrid_counts::Dense;
//! use countgrid_em::{Fit, Learn};
//! use countgrid_grid::{Grid, Learner, Options, Shape, Statistics};
//! use countgrid_torus::{Torus, Windows};
//! use rand_chacha::rand_core::SeedableRng;
//!
//! // Twelve cells in a circle, windows of three, four features.
//! let windows = Windows::new(Torus::new([12])?, [3])?;
//! let shape = Shape::new(windows, 4)?;
//!
//! let counts = [5u32, 1, 0, 0, 0, 6, 2, 0, 0, 0, 4, 4, 1, 0, 0, 5];
//! let bags = Dense::new(4, &counts)?;
//!
//! // Every table belongs to the caller; with the feature `alloc` these allocate it.
//! let mut grid = Grid::<f64, _, 1>::uniform(shape)?;
//! grid.randomize(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1));
//! let mut learner = Learner::from_grid(grid, Options::default())?;
//! let mut statistics = Statistics::allocate(shape, 16)?;
//!
//! let mut last = f64::INFINITY;
//! for _ in 0..20 {
//!     statistics.clear();
//!     let free_energy = learner.expectation(&bags, &mut statistics)?;
//!     learner.maximization(&mut statistics)?;
//!     assert!(free_energy <= last * (1.0 + 1e-12)); // never rises by more than rounding
//!     last = free_energy;
//! }
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | type | what it is |
//! |---|---|
//! | [`Shape`] | windows on a torus, and the number of features |
//! | [`Grid`] | the parameters: `pi` and the location prior |
//! | [`LogHistograms`] | the logarithms of window histograms and prior, packed: all that inference needs, also from flash |
//! | [`QuantisedHistograms`] | the same in codes of 8 or 16 bits, scored in integers, with a bound on the error |
//! | [`Blob`] | either of them as the bytes of one file, read in place |
//! | [`Statistics`] | expected counts of every window, and the scratch of both steps |
//! | [`LabelSums`], [`Embedding`], [`Labels`] | targets of bags summed up, embedded in the cells, read at a place |
//! | [`Terms`], [`Sources`] | the free energy of a bag, in groups of terms: features for classifiers |
//! | [`Learner`] | a grid that is fitted: both steps, with [`Options`] |
//! | [`componential`] | grids in which every token of a bag draws its own window: mixtures of windows |
//!
//! # Features
//!
//! * `std` (default): the instruction set is chosen at run time. No result depends on it.
//! * `alloc`: constructors that own their tables.
//! * `rayon`: both steps on all threads of the pool that they are called in. No result depends on it: each output
//!   is summed by one thread, in one order.
//! * `testing`: random problems and naive references for property tests with proptest.
//! * `serde`: shapes and options are read and written. What a constructor checks is checked when
//!   it is read.
//! * `fuzzing`: entry points for fuzz targets, no public interface.
//!
//! Without features nothing allocates, and everything runs on a microcontroller.
//!
//! # Sources
//!
//! N. Jojic & A. Perina, Multidimensional counting grids: inferring word order from disordered bags of words, UAI 2011,
//! [arXiv:1202.3752](https://arxiv.org/abs/1202.3752), cited as Jojic & Perina 2011; A. Perina, N. Jojic, U. Castellani,
//! M. Bicego & V. Murino, Embedding bags of features in hyper-dimensional grids: the counting grid model, cited as the
//! journal paper; A. Perina, M. Cristani, U. Castellani, V. Murino & N. Jojic, Free energy score space, NIPS 22 (2009),
//! pages 1428 to 1436, cited as Perina et al. 2009; A. Perina, N. Jojic, M. Bicego & A. Truski, Documents as multiple
//! overlapping windows into grids of counts, NIPS 26 (2013), cited as Perina et al. 2013. Equations are numbered as there;
//! [docs/equations.md](https://github.com/countgrid/countgrid/blob/main/docs/equations.md)
//! lists them with the corrections made.
//!
//! On a Cortex-M4F: code and stack of the main operations are in
//! [docs/microcontroller.md](https://github.com/countgrid/countgrid/blob/main/docs/microcontroller.md).
#![no_std]
#![doc(html_root_url = "https://docs.rs/countgrid-grid/latest")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "testing")]
extern crate std;

mod blob;
pub mod componential;
mod error;
mod estep;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod grid;
mod histograms;
mod labels;
mod learner;
mod mstep;
mod options;
mod quantised;
mod recipe;
#[cfg(feature = "serde")]
mod serialised;
mod shape;
mod statistics;
mod terms;
#[cfg(feature = "testing")]
pub mod testing;
mod tiles;

pub use crate::{
    blob::{Blob, BlobError, Kind},
    error::GridError,
    grid::Grid,
    histograms::{LogHistograms, Posterior},
    labels::{Embedding, LabelSums, Labels, Readout, WindowPosterior, label_scratch_len, label_sums_len},
    learner::Learner,
    options::{Options, PosteriorThreshold, UpdateRule},
    quantised::{Code, ErrorBound, QuantisedHistograms},
    recipe::{COARSE_ITERATIONS, default_extent, default_side},
    shape::Shape,
    statistics::Statistics,
    terms::{Grouping, Sources, Terms},
};
#[cfg(feature = "alloc")]
pub use countgrid_math::AlignedVec;
pub use countgrid_torus::constant;
