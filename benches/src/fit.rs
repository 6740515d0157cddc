//! Fits as the program `countgrid` runs them, from public parts.

use countgrid_counts::Bags;
use countgrid_em::{Fit, Learn};
use countgrid_grid::{Grid, GridError, Learner, Options, Shape, Statistics};
use countgrid_math::{AlignedVec, Real};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Bags that share one reading of the packed table while posteriors are flat.
pub const CHUNK: usize = 2048;
/// A grid that is fitted.
pub type Learning<T, const D: usize> = Learner<T, AlignedVec<T>, D>;
/// What its E-step adds up.
pub type Sums<T, const D: usize> = Statistics<T, AlignedVec<T>, D>;

/// The program's options for so many tokens. `prune`: whether the E-step may skip what provably carries no
/// posterior; the result is the same.
pub fn options<const D: usize>(shape: &Shape<D>, tokens: f64, prune: bool) -> Options {
    // No prior is learned, so pseudo-bags would change nothing but the penalty.
    Options { prune, ..Options::for_corpus(shape, tokens, 0) }
}

/// A random grid.
///
/// # Errors
/// [`GridError::TooLarge`].
pub fn random<T: Real, const D: usize>(
    shape: Shape<D>,
    seed: u64,
) -> Result<Grid<T, AlignedVec<T>, D>, GridError> {
    Grid::initial(shape, None, &mut ChaCha8Rng::seed_from_u64(seed))
}

/// A learner at a random start, and empty statistics for it.
///
/// # Errors
/// [`GridError::TooLarge`].
pub fn start<T: Real, const D: usize>(
    shape: Shape<D>,
    tokens: f64,
    seed: u64,
) -> Result<(Learning<T, D>, Sums<T, D>), GridError> {
    let learner = || Learner::from_grid(random(shape, seed)?, options(&shape, tokens, true));
    let sums = || Statistics::allocate(shape, CHUNK); // for new memory, most of all
    #[cfg(feature = "rayon")]
    let (learner, sums) = rayon::join(learner, sums);
    #[cfg(not(feature = "rayon"))]
    let (learner, sums) = (learner(), sums());
    Ok((learner?, sums?))
}

/// One iteration. Returns the free energy, in nats, of the parameters before it.
///
/// # Errors
/// [`GridError::Features`], [`GridError::Overflow`].
pub fn iterate<T: Real, B: Bags, const D: usize>(
    learner: &mut Learning<T, D>,
    sums: &mut Sums<T, D>,
    bags: &B,
) -> Result<f64, GridError> {
    sums.clear();
    let free_energy = learner.expectation(bags, sums)?;
    learner.maximization(sums)?;
    Ok(free_energy)
}

/// Log evidence of all bags per token, in nats, under the present parameters.
///
/// # Errors
/// [`GridError::Features`], [`GridError::Overflow`].
pub fn bound_per_token<T: Real, B: Bags, const D: usize>(
    learner: &Learning<T, D>,
    sums: &mut Sums<T, D>,
    bags: &B,
) -> Result<f64, GridError> {
    sums.clear();
    Ok(-learner.expectation(bags, sums)? / bags.tokens())
}
