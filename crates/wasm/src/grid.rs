use std::borrow::Borrow;

use countgrid_estimators::{FittedGrid, GridLayout, ModelInfo};
use countgrid_grid::{Grid, GridError};
use countgrid_math::AlignedVec;

use crate::{Corpus, Error, corpus::reserve};

/// A fitted grid: its tables, and positions of bags on it. Everything is `f32`, cells are row-major, the last axis fastest.
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
pub struct CountingGrid(FittedGrid<f32>);

impl From<FittedGrid<f32>> for CountingGrid {
    fn from(grid: FittedGrid<f32>) -> Self {
        Self(grid)
    }
}

impl CountingGrid {
    /// A grid from its tables: `pi` `[feature][cell]`, every cell a distribution over features, and the location prior
    /// `[cell]`, uniform if it is not given.
    ///
    /// # Errors
    /// As [`Grid::new`]; extents and a window that do not fit; no memory.
    pub fn new(
        pi: &[f32],
        prior: Option<&[f32]>,
        extents: &[usize],
        window: &[usize],
    ) -> Result<Self, Error> {
        let layout = GridLayout::choose(Some(extents), Some(window), 0)?;
        // Sides of no cells are refused with the shape.
        let features = (pi.len() as u128).checked_div(layout.cells()).unwrap_or(0);
        let features = usize::try_from(features).unwrap_or(0);
        let shape = layout.shape(features.max(1))?;
        let table = |name: &'static str, expected: usize, found: &[f32]| match found.len() {
            found if found == expected => Ok(()),
            found => Err(GridError::Length { table: name, expected, found }),
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
        let grid = FittedGrid::new(ModelInfo::default(), layout, Grid::new(shape, storage)?, None)?;
        grid.histograms()?;
        Ok(Self(grid))
    }

    /// The model that this wraps.
    pub fn fitted(&self) -> &FittedGrid<f32> {
        &self.0
    }

    /// The bytes of the file that `countgrid fit` writes of the same documents, with the same options, title and seed.
    /// A grid that was fitted to [`crate::Texts`] has their title unless another one is given, and keeps it.
    ///
    /// # Errors
    /// A grid that was not fitted to [`crate::Texts`], which has no words; no memory.
    pub fn model(&mut self, title: Option<&str>) -> Result<Vec<u8>, Error> {
        let info = &mut self.0.info;
        if info.vocabulary.is_empty() {
            return Err(Error::new("a model has words: fit the grid to the corpus of `Texts`"));
        }
        if let Some(title) = title {
            info.title = title.to_owned();
        }
        Ok(self.0.to_file().to_bytes()?)
    }

    /// Cells along each axis.
    pub fn extents(&self) -> &[usize] {
        self.0.layout().extents()
    }

    /// Cells of a window along each axis.
    pub fn window(&self) -> &[usize] {
        self.0.layout().window()
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.0.shape().cells()
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.0.shape().features()
    }

    /// `pi` `[feature][cell]`: every cell's distribution over features.
    pub fn pi(&self) -> &[f32] {
        self.0.grid().tables().0
    }

    /// How likely each location is `[cell]`.
    pub fn prior(&self) -> &[f32] {
        self.0.grid().prior()
    }

    /// The histograms of all windows `[feature][cell]`: the mean of `pi` over the window that starts at each cell.
    ///
    /// # Errors
    /// No memory.
    pub fn histograms(&self) -> Result<Vec<f32>, Error> {
        let mut all = zeros(self.pi().len())?;
        let mut scratch = AlignedVec::zeroed(self.0.shape().plane_scratch_len())?;
        for (feature, plane) in all.chunks_exact_mut(self.cells()).enumerate() {
            self.0.grid().histogram(feature, plane, &mut scratch)?;
        }
        Ok(all)
    }

    /// The posterior of a bag: the probability of every window start `[cell]`, and the bag's log evidence in nats. Features
    /// come in any order. An empty bag has the prior as its posterior.
    ///
    /// # Errors
    /// A feature that the grid does not have; a count that is negative or not finite; counts too large for `f32`.
    pub fn posterior(&self, indices: &[u32], counts: &[f32]) -> Result<(Vec<f32>, f64), Error> {
        let bag = Corpus::single(indices, counts, self.features())?;
        let (mut posterior, mut evidence) = (zeros(self.cells())?, 0.0);
        self.0.for_each_posterior::<f32>(bag.borrow(), |_, _, bag_posterior| {
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
        self.0.for_each_posterior::<f32>(corpus.borrow(), |_, _, posterior| {
            places.push(posterior.mode() as u32); // a grid has fewer than 2³² cells
        })?;
        Ok(places)
    }
}

fn zeros(elements: usize) -> Result<Vec<f32>, Error> {
    let mut zeros = Vec::new();
    reserve(&mut zeros, elements)?;
    zeros.resize(elements, 0.0);
    Ok(zeros)
}
