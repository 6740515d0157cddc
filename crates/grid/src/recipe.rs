//! How a grid is fitted where nothing else is asked for: its size, its schedule, its options.

use crate::{Options, Shape};

/// Iterations on each grid of a [`Shape::schedule`] before the full one: enough to settle which part of the
/// collection goes where.
pub const COARSE_ITERATIONS: usize = 10;

/// How far the cells that come from one coarse cell differ at first, relative to their entries.
#[cfg(feature = "alloc")]
const NOISE: f64 = 0.15;

/// Pseudo-tokens of a feature at a cell.
const PSEUDOCOUNT: f64 = 0.01;

/// The least that they are, as a share of the tokens that a feature has at a cell on average; pseudo-bags likewise.
const LEAST: f64 = 0.02;

/// The most that they are.
const MOST: f64 = 0.25;

/// The side of a square grid for so many bags: 4, 6 or a multiple of 4 from 8 to 64, with about half as many cells as bags.
///
/// ```
/// use countgrid_grid::{default_extent, default_side};
/// assert_eq!([3, 60, 200, 2_016, 1 << 20].map(default_extent), [4, 6, 12, 32, 64]);
/// assert_eq!([8, 32, 64].map(default_side), [2, 5, 8]);
/// ```
#[must_use]
pub const fn default_extent(bags: usize) -> usize {
    // 4 round(√(bags / 2) / 4), in whole numbers; where that is less than 8, 2 round(√(bags / 2) / 2)
    let side = (bags / 8).isqrt().div_ceil(2) * 4;
    let small = (bags / 2).isqrt().div_ceil(2) * 2;
    match side {
        8..=64 => side,
        65.. => 64,
        _ if small < 4 => 4,
        _ => small,
    }
}

/// The side of a window along an axis of so many cells: a sixth of them, 2 to 8. With [`default_extent`] some ten bags
/// share each window, and some forty windows fit side by side, unless bags are few.
#[must_use]
pub const fn default_side(extent: usize) -> usize {
    let sixth = extent / 6 + (extent % 6 >= 3) as usize;
    let side = if sixth < 2 {
        2
    } else if sixth > 8 {
        8
    } else {
        sixth
    };
    if side < extent { side } else { extent }
}

impl<const D: usize> Shape<D> {
    /// The shapes of a coarse-to-fine fit, the smallest first and this one last, each [`Shape::coarser`] than the
    /// next. All but the last are fitted for [`COARSE_ITERATIONS`], each from a [`crate::Grid::initial`].
    ///
    /// On posts of three newsgroups and on the abstracts of three collections, windows halved with the grid leave
    /// the groups in many more pieces, and so does a fit of the full grid alone.
    ///
    /// ```
    /// # use countgrid_grid::Shape;
    /// # use countgrid_torus::{Torus, Windows};
    /// let shape = |side| Shape::new(Windows::new(Torus::new([side, side])?, [5, 5])?, 1000);
    /// assert!(shape(32)?.schedule().eq([shape(8)?, shape(16)?, shape(32)?]));
    /// # Ok::<(), countgrid_grid::GridError>(())
    /// ```
    pub fn schedule(self) -> impl ExactSizeIterator<Item = Self> + Clone {
        let finer = move |halvings| (0..halvings).fold(self, |shape, _| shape.coarser().unwrap_or(shape));
        let levels = core::iter::successors(Some(self), Self::coarser).count();
        (0..levels).map(move |level| finer(levels - 1 - level))
    }
}

impl Options {
    /// The options for so many tokens in so many bags: a hundredth of a token as the pseudocount of a feature at a cell,
    /// where a feature has so few tokens at a cell on average that it is more than a quarter of them, that, where so many
    /// that it is less than a fiftieth, that; and a fiftieth of the bags of a place as its pseudo-bags, so that a place
    /// that no bag takes stays possible.
    ///
    /// On texts (posts, abstracts, titles) bags that were held out are explained best with 0.01 to 0.02, the fewer tokens a
    /// feature has at a cell the less; on sequences and visual words, of 1 to 10 tokens a feature and cell, anything up to
    /// 0.1 is as good.
    ///
    /// ```
    /// use countgrid_grid::{Options, Shape};
    /// use countgrid_torus::{Torus, Windows};
    /// let shape = Shape::new(Windows::new(Torus::new([10, 10])?, [2, 2])?, 1000)?;
    /// let pseudocount = |tokens| Options::for_corpus(&shape, tokens, 50).pseudocount;
    /// assert_eq!([1e3, 1e4, 1e5].map(pseudocount), [0.0025, 0.01, 0.02]);
    /// # Ok::<(), countgrid_grid::GridError>(())
    /// ```
    #[must_use]
    pub fn for_corpus<const D: usize>(shape: &Shape<D>, tokens: f64, bags: usize) -> Self {
        let cells = shape.cells() as f64;
        let mean = tokens / (cells * shape.features() as f64);
        Self {
            pseudocount: PSEUDOCOUNT.max(LEAST * mean).min(MOST * mean),
            prior_pseudocount: LEAST * bags as f64 / cells,
            ..Self::default()
        }
    }
}

#[cfg(feature = "alloc")]
impl<T: countgrid_math::Real, const D: usize> crate::Grid<T, countgrid_math::AlignedVec<T>, D> {
    /// Where a level of a [`Shape::schedule`] begins, in memory that it allocates: at random, or refined from the grid
    /// of the level before.
    ///
    /// # Errors
    /// [`crate::GridError::TooLarge`] if the allocator refuses; [`crate::GridError::Features`] if the coarse grid has others.
    pub fn initial(
        shape: Shape<D>,
        coarse: Option<&Self>,
        rng: &mut impl rand_core::Rng,
    ) -> Result<Self, crate::GridError> {
        let mut grid = Self::uniform(shape)?;
        match coarse {
            None => grid.randomize(rng),
            Some(coarse) => grid.refine(coarse, NOISE, rng)?,
        }
        Ok(grid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_round_as_real_ones() {
        extern crate std;
        for bags in (0..20_000).chain([1 << 20, usize::MAX]) {
            let rounded = |to: f64| to * ((bags as f64 / 2.0).sqrt() / to).round();
            let side = if rounded(4.0) < 8.0 { rounded(2.0).max(4.0) } else { rounded(4.0).min(64.0) };
            assert_eq!(default_extent(bags), side as usize, "{bags} bags");
        }
        for extent in 1..1_000 {
            let sixth = (extent as f64 / 6.0).round() as usize;
            assert_eq!(default_side(extent), sixth.clamp(2, 8).min(extent), "{extent} cells");
        }
    }
}
