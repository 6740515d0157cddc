//! Componential counting grids: every token of a bag draws its own window.
//!
//! A [`Grid`](crate::Grid) places a whole bag at one window. Here a bag has proportions over all windows, and a token
//! draws a window `l` from them, a cell uniformly in it and a feature from the cell. With the cell summed out that is
//! latent Dirichlet allocation whose topics are the window means `h_l`, tied to one another: neighbours share cells.
//!
//! ```text
//! theta_t ~ Dirichlet(alpha)      l ~ theta_t,  k ~ uniform on W_l,  z ~ pi_k
//! ```
//!
//! `W = 1` is latent Dirichlet allocation with `P` free topics, `W = E` one distribution.
//!
//! ```
//! use countgrid_counts::Dense;
//! use countgrid_em::{Fit, Learn, TablesMutExt};
//! use countgrid_grid::Shape;
//! use countgrid_grid::componential::{ComponentialGrid, Learner, Options, Statistics};
//! use rand_chacha::rand_core::SeedableRng;
//!
//! // Twelve cells in a circle, windows of three, four features.
//! let shape = Shape::from_sides([12], [3], 4)?;
//! let counts = [5u32, 1, 0, 0, 0, 6, 2, 0, 0, 0, 4, 4, 1, 0, 0, 5];
//! let bags = Dense::new(4, &counts)?;
//!
//! let mut grid = ComponentialGrid::<f64, _, 1>::uniform(shape, 2.0)?; // Σ alpha = 2
//! grid.randomize(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1));
//! let mut learner = Learner::from_grid(grid, Options::default())?;
//! let mut statistics = Statistics::allocate(shape, 4)?;
//! let mut gammas = vec![1.0; 4 * 12]; // where each bag's inference starts, and ended
//! let mut last = f64::INFINITY;
//! for _ in 0..20 {
//!     statistics.clear();
//!     let free_energy = learner.expectation_from(&bags, &mut gammas, &mut statistics)?;
//!     learner.maximization(&mut statistics)?;
//!     assert!(free_energy <= last + 1e-12 * last.abs()); // never rises by more than rounding
//!     last = free_energy;
//! }
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! | type | what it is |
//! |---|---|
//! | [`ComponentialGrid`] | the parameters: `pi` and the Dirichlet parameter `alpha` |
//! | [`WindowMeans`] | `h` and `alpha`: all that inference needs, also from flash |
//! | [`Posterior`] | `q(theta)` of one bag, and where its tokens come from |
//! | [`Statistics`] | expected tokens of every window, and the scratch of both steps |
//! | [`Learner`] | a grid that is fitted: both steps, with [`Options`] |
//! | [`Terms`] | the free energy of a bag, in groups of terms |
//!
//! # Source
//! A. Perina, N. Jojic, M. Bicego & A. Truski, Documents as multiple overlapping windows into grids of counts, NIPS 2013,
//! cited as Perina et al. 2013; the E-step in the notation of Blei et al. 2003, Latent Dirichlet allocation.

mod grid;
mod infer;
mod learner;
mod means;
mod options;
mod posterior;
mod statistics;
mod terms;

use countgrid_math::Real;

pub use self::{
    grid::ComponentialGrid,
    learner::Learner,
    means::WindowMeans,
    options::{Inference, Options},
    posterior::Posterior,
    statistics::Statistics,
    terms::Terms,
};
use crate::Shape;

/// Elements of the buffer of [`WindowMeans`]: a padded plane for `alpha` and one for each feature, and the sums of the
/// latter.
#[must_use]
pub const fn means_len<T: Real, const D: usize>(shape: &Shape<D>) -> usize {
    shape.counts_len::<T>() + shape.features()
}

/// Elements of the sums of [`Statistics`].
///
/// Example: [`componential`](crate::componential).
#[must_use]
pub const fn sums_len<T: Real, const D: usize>(shape: &Shape<D>) -> usize {
    shape.tiles::<T>().slots() * shape.features() + statistics::TOTALS
}

/// Elements of scratch in which one bag is inferred.
///
/// Example: [`WindowMeans`].
#[must_use]
pub const fn posterior_scratch_len<T: Real, const D: usize>(shape: &Shape<D>) -> usize {
    infer::scratch_len::<T>(shape.tiles::<T>().count())
}

/// Elements of the scratch of [`Statistics`] that infer `chunk` bags together.
///
/// Example: [`componential`](crate::componential).
#[must_use]
pub const fn scratch_len<T: Real, const D: usize>(shape: &Shape<D>, chunk: usize) -> usize {
    let posterior = posterior_scratch_len::<T, D>(shape).saturating_mul(if chunk == 0 { 1 } else { chunk });
    let plane = shape.plane_scratch_len();
    if posterior > plane { posterior } else { plane }
}
