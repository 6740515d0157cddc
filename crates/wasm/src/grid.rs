use countgrid_counts::Bags;
use countgrid_grid::{Grid, LogHistograms, Posterior, Shape};
use countgrid_math::AlignedVec;

use crate::{
    Corpus, Error,
    corpus::reserve,
    layout::{AXES, Layout},
};

/// A fitted grid: its tables, and where bags lie on it. Everything is `f32`, cells are row-major, the last axis fastest.
///
/// ```
/// use countgrid_wasm::{Corpus, CountingGrid};
///
/// // Four cells in a circle, windows of two, three features.
/// let pi = [0.8, 0.1, 0.1, 0.1, 0.1, 0.8, 0.1, 0.1, 0.1, 0.1, 0.8, 0.8];
/// let grid = CountingGrid::new(&pi, None, &[4], &[2])?;
/// let (posterior, log_evidence) = grid.posterior(&[2], &[9.0])?; // nine times the last feature
/// assert!(posterior[2] > 0.9 && log_evidence < 0.0); // the window that starts at cell 2 holds cells 2 and 3
/// let bags = Corpus::new(vec![0, 1], vec![2], vec![9.0], 3)?;
/// assert_eq!(grid.embed(&bags)?, [2]);
/// # Ok::<(), countgrid_wasm::Error>(())
/// ```
#[derive(Debug)]
pub struct CountingGrid {
    layout: Layout,
    chunk: usize, // bags that are placed together
    grid: Grid<f32, AlignedVec<f32>, AXES>,
    histograms: LogHistograms<f32, AlignedVec<f32>, AXES>,
}

impl CountingGrid {
    /// A grid from its tables: `pi` `[feature][cell]`, every cell a distribution over features, and the location prior
    /// `[cell]`, uniform if it is not given.
    ///
    /// # Errors
    /// As [`Grid::new`]; extents and a window that do not fit; a grid for which a page has no memory.
    pub fn new(
        pi: &[f32],
        prior: Option<&[f32]>,
        extents: &[usize],
        window: &[usize],
    ) -> Result<Self, Error> {
        let layout = Layout::choose(Some(extents), Some(window), 0);
        let cells = extents.iter().try_fold(1usize, |cells, &extent| cells.checked_mul(extent));
        let features = cells.and_then(|cells| pi.len().checked_div(cells)).unwrap_or(0);
        let tables = |shape: &Shape<AXES>| shape.grid_len() as u128 + shape.histograms_len::<f32>() as u128;
        let (shape, chunk) = layout.shape(features.max(1), tables)?;
        let table = |name: &'static str, expected: usize, found: &[f32]| match found.len() {
            found if found == expected => Ok(()),
            found => Err(countgrid_grid::GridError::Length { table: name, expected, found }),
        };
        table("pi", shape.features() * shape.cells(), pi)?;
        let mut storage = AlignedVec::zeroed(shape.grid_len())?;
        let (planes, last) = storage.split_at_mut(pi.len());
        planes.copy_from_slice(pi);
        match prior {
            Some(prior) => {
                table("prior", shape.cells(), prior)?;
                last.copy_from_slice(prior);
            }
            None => last.fill(1.0 / shape.cells() as f32),
        }
        let grid = Grid::new(shape, storage)?;
        let mut scratch = AlignedVec::zeroed(shape.plane_scratch_len())?;
        let packed = AlignedVec::zeroed(shape.histograms_len::<f32>())?;
        let histograms = LogHistograms::pack(&grid, packed, &mut scratch)?;
        Ok(Self::from_parts(layout, chunk, grid, histograms))
    }

    pub(crate) fn from_parts(
        layout: Layout,
        chunk: usize,
        grid: Grid<f32, AlignedVec<f32>, AXES>,
        histograms: LogHistograms<f32, AlignedVec<f32>, AXES>,
    ) -> Self {
        Self { layout, chunk, grid, histograms }
    }

    /// Cells along each axis.
    pub fn extents(&self) -> &[usize] {
        &self.layout.extents
    }

    /// Cells of a window along each axis.
    pub fn window(&self) -> &[usize] {
        &self.layout.window
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.shape().cells()
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.shape().features()
    }

    fn shape(&self) -> &Shape<AXES> {
        self.grid.shape()
    }

    /// `pi` `[feature][cell]`: every cell's distribution over features.
    pub fn pi(&self) -> &[f32] {
        self.grid.tables().0
    }

    /// How likely each location is `[cell]`.
    pub fn prior(&self) -> &[f32] {
        self.grid.prior()
    }

    /// The histograms of all windows `[feature][cell]`: the mean of `pi` over the window that starts at each cell.
    ///
    /// # Errors
    /// No memory.
    pub fn histograms(&self) -> Result<Vec<f32>, Error> {
        let mut all = Vec::new();
        reserve(&mut all, self.pi().len())?;
        all.resize(self.pi().len(), 0.0);
        let mut scratch = AlignedVec::zeroed(self.shape().plane_scratch_len())?;
        for (feature, plane) in all.chunks_exact_mut(self.cells()).enumerate() {
            self.grid.histogram(feature, plane, &mut scratch)?;
        }
        Ok(all)
    }

    /// Where a bag lies: the probability of every window start `[cell]`, and the bag's log evidence in nats. Features
    /// come in any order. An empty bag has the prior as its posterior.
    ///
    /// # Errors
    /// A feature that the grid does not have; a count that is negative or not finite; counts too large for `f32`.
    pub fn posterior(&self, indices: &[u32], counts: &[f32]) -> Result<(Vec<f32>, f64), Error> {
        let bag = Corpus::single(indices, counts, self.features())?;
        let mut posterior = Vec::new();
        reserve(&mut posterior, self.cells())?;
        posterior.resize(self.cells(), 0.0);
        let mut evidence = 0.0;
        self.for_each_posterior(&bag, |_, _, bag_posterior| {
            bag_posterior.write(&mut posterior);
            evidence = f64::from(bag_posterior.log_evidence());
        })?;
        Ok((posterior, evidence))
    }

    /// The most probable window of every bag, as the cell where it starts; of equals the first. An empty bag is where
    /// the prior is largest.
    ///
    /// # Errors
    /// A corpus over other features; counts too large for `f32`; no memory.
    pub fn embed(&self, corpus: &Corpus) -> Result<Vec<u32>, Error> {
        let mut places = Vec::new();
        reserve(&mut places, corpus.len())?;
        self.for_each_posterior(corpus, |_, _, posterior| places.push(posterior.mode() as u32))?; // at most MAX_CELLS
        Ok(places)
    }

    /// Calls `visit` with the tokens and the posterior of every bag, in order.
    pub(crate) fn for_each_posterior(
        &self,
        corpus: &Corpus,
        mut visit: impl FnMut(usize, f64, &Posterior<'_, f32, AXES>),
    ) -> Result<(), Error> {
        let scratch = |bags| AlignedVec::zeroed(self.shape().posterior_scratch_len::<f32>(bags));
        let mut scratch = scratch(self.chunk.min(corpus.len())).or_else(|_| scratch(1))?;
        let bags = corpus.bags.as_view();
        self.histograms.posteriors(&bags, &mut scratch, |bag, posterior| {
            visit(bag, bags.total(bag), posterior);
        })?;
        Ok(())
    }
}
