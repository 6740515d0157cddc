use std::sync::OnceLock;

use countgrid_corpus::{Blocks, Corpus, LabelColumn, Storable, WordOptions};
use countgrid_counts::Bags;
use countgrid_em::Tables;
use countgrid_grid::{Grid, LogHistograms, Posterior, Shape};
use countgrid_math::{AlignedVec, Real};

use super::plan::grid_from;
use crate::{
    AXES, EstimatorError, FitSummary, GridInference, GridLabels, GridLayout, GridParameters, ModelInfo,
    Stored, blocks::zeros,
};

/// Bags whose posteriors are computed together.
const CHUNK: usize = 256;

/// A fitted counting grid, or a mixture: positions of bags on it, words of its windows, and its file.
///
/// The table of log histograms that inference needs is computed when it is first used, unless a training has left it.
#[derive(Debug)]
pub struct FittedGrid<T> {
    /// Title, vocabulary, and how it was fitted.
    pub info: ModelInfo,
    pub(super) layout: GridLayout,
    pub(super) grid: GridParameters<T>,
    pub(super) labels: Option<GridLabels<T>>,
    histograms: OnceLock<GridInference<T>>,
    summary: Option<FitSummary>,
}

impl<T: Stored> FittedGrid<T> {
    /// A grid of `countgrid-grid` with any storage and at most [`AXES`] axes, fitted elsewhere, with its description:
    /// [`ModelInfo::for_vocabulary`] if only its words are known. The program opens its file.
    ///
    /// ```
    /// use countgrid_estimators::{FittedGrid, ModelInfo, TableKind};
    /// use countgrid_grid::{Grid, Shape};
    ///
    /// let shape = Shape::from_sides([4], [2], 2)?;
    /// let grid = Grid::new(shape, [0.9_f32, 0.1, 0.5, 0.5, 0.1, 0.9, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25])?;
    /// let info = ModelInfo::for_vocabulary(vec!["ant".into(), "bee".into()]);
    /// let fitted = FittedGrid::from_grid(info, &grid)?;
    ///
    /// let file = fitted.to_file(); // or `fitted.save(path)?`
    /// assert_eq!(FittedGrid::<f32>::from_file(file)?.layout().extents(), [4]);
    /// let firmware = fitted.firmware(TableKind::Bits8, true)?;
    /// assert!(firmware.module.contains("pub const EXTENTS: [usize; 1] = [4];"));
    /// # Ok::<(), countgrid_estimators::EstimatorError>(())
    /// ```
    ///
    /// # Errors
    /// [`EstimatorError::Axes`]; [`EstimatorError::Model`] unless there is a word for each feature;
    /// [`EstimatorError::Grid`] without memory for a copy.
    pub fn from_grid<S: AsRef<[T]>, const D: usize>(
        info: ModelInfo,
        grid: &Grid<T, S, D>,
    ) -> Result<Self, EstimatorError> {
        info.check(grid.shape().features())?;
        let windows = grid.shape().windows();
        let layout = GridLayout::new(windows.torus().extents().to_vec(), windows.sides().to_vec())?;
        // Leading axes of one cell leave the order of cells as it is.
        let grid = grid_from(layout.shape(grid.shape().features())?, grid.buffer())?;
        Self::new(info, layout, grid, None)
    }

    /// The same grid with labels: a table `[label][cell]` of the share of each label among the documents around a window;
    /// shares sum to one over labels.
    ///
    /// # Errors
    /// Those of [`GridLabels::new`].
    pub fn with_labels(self, names: Vec<String>, shares: Vec<T>) -> Result<Self, EstimatorError> {
        let labels = Some(GridLabels::new(*self.shape(), names, shares)?);
        Ok(Self { labels, ..self })
    }
}

impl<T: Real> FittedGrid<T> {
    /// A fitted grid from its parts.
    ///
    /// # Errors
    /// [`EstimatorError::Grid`] if the grid is not of this layout.
    pub fn new(
        info: ModelInfo,
        layout: GridLayout,
        grid: GridParameters<T>,
        labels: Option<GridLabels<T>>,
    ) -> Result<Self, EstimatorError> {
        if layout.shape(grid.shape().features())? != *grid.shape() {
            return Err(countgrid_grid::GridError::ShapeMismatch.into());
        }
        Ok(Self { info, layout, grid, labels, histograms: OnceLock::new(), summary: None })
    }

    pub(super) fn from_training(
        info: ModelInfo,
        layout: GridLayout,
        grid: GridParameters<T>,
        histograms: GridInference<T>,
        summary: FitSummary,
    ) -> Self {
        let histograms = OnceLock::from(histograms);
        Self { info, layout, grid, labels: None, histograms, summary: Some(summary) }
    }

    /// The grid and its window.
    pub fn layout(&self) -> &GridLayout {
        &self.layout
    }

    /// The shape, with leading axes of one cell where the layout has fewer than [`AXES`].
    pub fn shape(&self) -> &Shape<AXES> {
        self.grid.shape()
    }

    /// The parameters: `pi` `[feature][cell]`, `prior` `[cell]`.
    pub fn grid(&self) -> &GridParameters<T> {
        &self.grid
    }

    /// How the training ended; `None` if the grid was loaded.
    pub fn summary(&self) -> Option<&FitSummary> {
        self.summary.as_ref()
    }

    /// The labels that are read off at each window.
    pub fn labels(&self) -> Option<&GridLabels<T>> {
        self.labels.as_ref()
    }

    /// The log histograms that inference needs.
    ///
    /// # Errors
    /// [`EstimatorError::Memory`].
    pub fn histograms(&self) -> Result<&GridInference<T>, EstimatorError> {
        if let Some(histograms) = self.histograms.get() {
            return Ok(histograms);
        }
        let shape = self.shape();
        let mut scratch = aligned(shape.plane_scratch_len())?;
        let packed = LogHistograms::pack(&self.grid, aligned(shape.histograms_len::<T>())?, &mut scratch)?;
        Ok(self.histograms.get_or_init(|| packed))
    }

    /// Calls `visit` with the number, the tokens and the posterior of every bag, in order.
    ///
    /// # Errors
    /// Bags over another number of features; counts too large for the floating-point type; blocks that cannot be read; no
    /// memory.
    pub fn for_each_posterior<C: Storable>(
        &self,
        bags: &Blocks<C>,
        mut visit: impl FnMut(usize, f64, &Posterior<'_, T, AXES>),
    ) -> Result<(), EstimatorError> {
        self.visit_posteriors(bags, &mut visit)
    }

    /// The same, compiled once and not for each that visits.
    fn visit_posteriors<C: Storable>(
        &self,
        bags: &Blocks<C>,
        visit: &mut dyn FnMut(usize, f64, &Posterior<'_, T, AXES>),
    ) -> Result<(), EstimatorError> {
        let (shape, histograms) = (self.shape(), self.histograms()?);
        let mut scratch = posterior_scratch(shape)?;
        bags.for_each_block(true, |first, block| {
            let placed = histograms.posteriors(&block, &mut scratch, |bag, posterior| {
                visit(first + bag, block.total(bag), posterior);
            });
            placed.map_err(|error| crate::BagError::after(error, first).into())
        })
    }

    /// Calls `work` with the number, the tokens and the posterior of every bag, several at a time on as many threads as there are,
    /// and `visit` with the number of each and what `work` made of it, in order. In memory are results of one block.
    ///
    /// ```
    /// use countgrid_corpus::{Corpus, CorpusOptions};
    /// use countgrid_estimators::{GridOptions, GridTraining, Train};
    /// let texts = ["red ants", "blue ants", "red sky"];
    /// let mut corpus = Corpus::<f32>::from_texts(&texts, &CorpusOptions::default())?;
    /// let plan = GridOptions::default().plan(&mut corpus)?;
    /// let grid = GridTraining::new(plan, &corpus.bags)?.finish()?;
    /// let mut modes = Vec::new();
    /// grid.map_posteriors(&corpus.bags, |_, _, q| q.mode(), |bag, mode| modes.push((bag, mode)))?;
    /// assert_eq!(modes.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`FittedGrid::for_each_posterior`]; nothing of the block in question is then visited.
    pub fn map_posteriors<C: Storable, R: Send>(
        &self,
        bags: &Blocks<C>,
        work: impl Fn(usize, f64, &Posterior<'_, T, AXES>) -> R + Sync,
        mut visit: impl FnMut(usize, R),
    ) -> Result<(), EstimatorError> {
        let (shape, histograms) = (self.shape(), self.histograms()?);
        let mut scratch = posterior_scratch(shape)?;
        let mut found = Vec::new();
        bags.for_each_block(true, |first, block| {
            found.clear();
            found
                .try_reserve_exact(block.len())
                .map_err(|_| EstimatorError::Memory { elements: block.len() })?;
            found.resize_with(block.len(), || None);
            let placed =
                histograms.posteriors_into(&block, &mut scratch, &mut found, |bag, posterior, found| {
                    *found = Some(work(first + bag, block.total(bag), posterior));
                });
            placed.map_err(|error| EstimatorError::from(crate::BagError::after(error, first)))?;
            let found = found.drain(..).flatten();
            found.enumerate().for_each(|(bag, found)| visit(first + bag, found));
            Ok(())
        })
    }

    /// The free energy `-log p(c)` of each bag in nats, without the multinomial coefficient.
    ///
    /// # Errors
    /// Those of [`FittedGrid::for_each_posterior`].
    pub fn score<C: Storable>(&self, bags: &Blocks<C>) -> Result<Vec<f64>, EstimatorError> {
        let mut free_energies = zeros(bags.len())?;
        self.for_each_posterior(bags, |bag, _, posterior| {
            free_energies[bag] = -posterior.log_evidence().to_f64();
        })?;
        Ok(free_energies)
    }

    /// Takes title, vocabulary and labels from the corpus that the grid was fitted to, whose words were selected by these
    /// options: everything that its file has besides tables.
    ///
    /// # Errors
    /// Those of [`FittedGrid::embed_labels`].
    pub fn describe<C: Storable>(
        &mut self,
        title: &str,
        corpus: &Corpus<C>,
        words: &WordOptions,
    ) -> Result<(), EstimatorError> {
        self.info.describe(title, corpus, words);
        self.embed_labels(&corpus.labels, &corpus.bags)
    }

    /// Embeds labels at the positions of the documents that have them. The grid then has no labels if there are none, if
    /// there are more of them than features (titles rather than classes), or if no document with a label has a known word:
    /// without one it has no position.
    ///
    /// # Errors
    /// Those of [`FittedGrid::for_each_posterior`].
    pub fn embed_labels<C: Storable>(
        &mut self,
        labels: &LabelColumn,
        bags: &Blocks<C>,
    ) -> Result<(), EstimatorError> {
        let (shape, names) = (*self.shape(), &labels.names);
        self.labels = None;
        if !(1..=shape.features()).contains(&names.len()) {
            return Ok(());
        }
        let label_of = |document: usize| labels.by_document.get(document).copied().flatten();
        let embedded = self.label_shares(bags, names.len(), |document| Some(label_of(document)? as usize))?;
        let Some(embedded) = embedded else { return Ok(()) };
        self.labels = Some(GridLabels::from_embedded(shape, names.clone(), &embedded)?);
        Ok(())
    }
}

/// Scratch for posteriors, of one bag at a time where there is no memory for more.
fn posterior_scratch<T: Real>(shape: &Shape<AXES>) -> Result<AlignedVec<T>, EstimatorError> {
    let scratch = aligned(shape.posterior_scratch_len::<T>(CHUNK));
    scratch.or_else(|_| aligned(shape.posterior_scratch_len::<T>(1)))
}

/// So many zeros.
pub(crate) fn aligned<T: Real>(elements: usize) -> Result<AlignedVec<T>, EstimatorError> {
    AlignedVec::zeroed(elements).map_err(|_| EstimatorError::Memory { elements })
}
