use std::sync::OnceLock;

use countgrid_corpus::{Blocks, Corpus, LabelColumn, Storable, WordOptions};
use countgrid_counts::Bags;
use countgrid_em::parallel::{Rows, for_each};
use countgrid_grid::{
    Grouping, Shape,
    componential::{Inference, Terms, WindowMeans, means_len, posterior_scratch_len},
};
use countgrid_scores::{spread_rows, spread_scratch_len};

use super::plan::{ComponentialParameters, WindowTable, componential_from};
use crate::{
    AXES, BagError, EstimatorError, FeatureKind, FeatureRows, FitSummary, FittedGrid, GridLabels, GridLayout,
    GridPlacement, ModelInfo, Stored,
    blocks::{shared_items, zeros},
    features::bag_scores,
    grid::{LabelCollector, PositionReader, aligned},
};

/// Bags that are inferred together by each thread.
const CHUNK: usize = 16;

/// What is inferred of a bag.
///
/// Example: [`FittedComponential::for_each_inference`].
#[derive(Clone, Copy, Debug)]
pub struct BagInference<'a, T> {
    /// The share of its tokens that each window is expected to have drawn; zeros of a bag without tokens.
    pub shares: &'a [T],
    /// The mean of its proportions of windows.
    pub proportions: &'a [T],
    /// The bound on its log evidence in nats, without the multinomial coefficient.
    pub bound: f64,
}

/// A fitted componential grid: where each bag draws its tokens, words of its windows, and its file.
///
/// The table of window means that inference needs is computed when it is first used, unless a training has left it.
///
/// # Source
/// A. Perina, N. Jojic, M. Bicego & A. Truski, Documents as multiple overlapping windows into grids of counts, NIPS 2013.
#[derive(Debug)]
pub struct FittedComponential<T> {
    /// Title, vocabulary, and how it was fitted.
    pub info: ModelInfo,
    layout: GridLayout,
    grid: ComponentialParameters<T>,
    labels: Option<GridLabels<T>>,
    means: OnceLock<WindowTable<T>>,
    summary: Option<FitSummary>,
}

impl<T: Stored> FittedComponential<T> {
    /// What the text `kind` of a model file is.
    pub const KIND: &'static str = "componential counting grid";

    /// A fitted grid from its parts, with at most [`AXES`] axes: `pi` `[feature][cell]` and `alpha` `[cell]`, one after the other.
    ///
    /// # Errors
    /// [`EstimatorError::Grid`] for tables that are not of this layout, or not valid; [`EstimatorError::Model`] unless there
    /// is a word for each feature.
    pub fn new(
        info: ModelInfo,
        layout: GridLayout,
        tables: &[T],
        labels: Option<GridLabels<T>>,
    ) -> Result<Self, EstimatorError> {
        info.check(info.vocabulary.len())?;
        let grid = componential_from(layout.shape(info.vocabulary.len())?, tables)?;
        Ok(Self { info, layout, grid, labels, means: OnceLock::new(), summary: None })
    }

    pub(super) fn from_training(
        info: ModelInfo,
        layout: GridLayout,
        grid: ComponentialParameters<T>,
        means: WindowTable<T>,
        summary: FitSummary,
    ) -> Self {
        Self { info, layout, grid, labels: None, means: OnceLock::from(means), summary: Some(summary) }
    }

    /// The grid and its window.
    #[must_use]
    pub fn layout(&self) -> &GridLayout {
        &self.layout
    }

    /// The shape, with leading axes of one cell where the layout has fewer than [`AXES`].
    #[must_use]
    pub fn shape(&self) -> &Shape<AXES> {
        self.grid.shape()
    }

    /// The parameters: `pi` `[feature][cell]`, `alpha` `[cell]`.
    #[must_use]
    pub fn grid(&self) -> &ComponentialParameters<T> {
        &self.grid
    }

    /// How the training ended; `None` if the grid was loaded.
    #[must_use]
    pub fn summary(&self) -> Option<&FitSummary> {
        self.summary.as_ref()
    }

    /// The labels that are read off at each window.
    #[must_use]
    pub fn labels(&self) -> Option<&GridLabels<T>> {
        self.labels.as_ref()
    }

    /// The windows' distributions, and `alpha`.
    ///
    /// # Errors
    /// [`EstimatorError::Memory`].
    pub fn means(&self) -> Result<&WindowTable<T>, EstimatorError> {
        if let Some(means) = self.means.get() {
            return Ok(means);
        }
        let shape = self.shape();
        let mut scratch = aligned(shape.plane_scratch_len())?;
        let packed = WindowMeans::pack(&self.grid, aligned(means_len::<T, AXES>(shape))?, &mut scratch)?;
        Ok(self.means.get_or_init(|| packed))
    }

    /// The counting grid with the same cells and a uniform prior, and the same description and labels: its windows have the same words.
    ///
    /// # Errors
    /// [`EstimatorError::Memory`].
    pub fn to_grid(&self) -> Result<FittedGrid<T>, EstimatorError> {
        let (pi, cells) = (self.grid.tables().0, self.shape().cells());
        let mut tables = zeros::<T>(pi.len() + cells)?;
        let (to, prior) = tables.split_at_mut(pi.len());
        to.copy_from_slice(pi);
        prior.fill(T::from_f64(1.0 / cells as f64));
        let grid = crate::grid::grid_from(*self.shape(), &tables)?;
        FittedGrid::new(self.info.clone(), self.layout.clone(), grid, self.labels.clone())
    }

    /// Calls `visit` with the number, the tokens and what is inferred of every bag, in order.
    ///
    /// ```
    /// use countgrid_corpus::{BlockLimits, Blocks};
    /// use countgrid_counts::Dense;
    /// use countgrid_estimators::{FittedComponential, GridLayout, ModelInfo};
    ///
    /// let info = ModelInfo::for_vocabulary(vec!["ant".into(), "bee".into()]);
    /// let layout = GridLayout::new(vec![2], vec![1])?;
    /// let model = FittedComponential::<f64>::new(info, layout, &[0.9, 0.1, 0.1, 0.9, 1.0, 1.0], None)?;
    /// let bags = Blocks::from_bags(&Dense::new(2, &[30.0_f64, 10.0])?, BlockLimits::in_memory())?;
    /// model.for_each_inference(&bags, |_, tokens, found| {
    ///     assert_eq!(tokens, 40.0);
    ///     assert!(found.shares[0] > 0.7 && found.proportions[0] > 0.7);
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Bags over another number of features; counts too large for the floating-point type; a word that no window has;
    /// blocks that cannot be read; no memory.
    pub fn for_each_inference<C: Storable>(
        &self,
        bags: &Blocks<C>,
        mut visit: impl FnMut(usize, f64, BagInference<'_, T>),
    ) -> Result<(), EstimatorError> {
        self.visit_inferences(bags, &mut visit)
    }

    /// The same, compiled once and not for each that visits.
    fn visit_inferences<C: Storable>(
        &self,
        bags: &Blocks<C>,
        visit: &mut dyn FnMut(usize, f64, BagInference<'_, T>),
    ) -> Result<(), EstimatorError> {
        let (means, windows) = (self.means()?, self.shape().cells());
        let size = posterior_scratch_len::<T, AXES>(self.shape());
        let chunk = shared_items(CHUNK, bags.len());
        let mut scratch = aligned::<T>(chunk.saturating_mul(size))?;
        let mut found = aligned::<T>(chunk.saturating_mul(2 * windows))?;
        let mut outcomes = vec![Ok(0.0); chunk];
        bags.for_each_block(true, |first, block| {
            let mut done = 0;
            while done < block.len() {
                let own = chunk.min(block.len() - done);
                let rows = (
                    Rows::new(&mut scratch[..], size),
                    Rows::new(&mut found[..], 2 * windows),
                    Rows::new(&mut outcomes, 1),
                );
                for_each(own, rows, |bag, (scratch, found, outcome)| {
                    let (shares, proportions) = found.elements.split_at_mut(windows);
                    let inferred =
                        means.posterior(&block, done + bag, Inference::default(), scratch.elements);
                    let inferred = inferred.and_then(|posterior| {
                        posterior.expected_tokens(shares)?;
                        posterior.proportions(proportions)?;
                        Ok(posterior.bound())
                    });
                    outcome.elements.fill(inferred);
                });
                for ((bag, outcome), found) in
                    outcomes.iter().enumerate().take(own).zip(found.chunks_exact_mut(2 * windows))
                {
                    let bound = (*outcome).map_err(|error| BagError::after(error, first).into());
                    let bound: f64 = bound.map_err(|error: EstimatorError| error)?;
                    let tokens = block.total(done + bag);
                    let (shares, proportions) = found.split_at_mut(windows);
                    let total = T::from_f64(tokens);
                    if tokens > 0.0 {
                        shares.iter_mut().for_each(|share| *share /= total);
                    } else {
                        shares.fill(T::zero());
                    }
                    visit(first + done + bag, tokens, BagInference { shares, proportions, bound });
                }
                done += own;
            }
            Ok::<_, EstimatorError>(())
        })
    }

    /// The free energy of each bag in nats: minus the bound on its log evidence, without the multinomial coefficient.
    ///
    /// # Errors
    /// Those of [`FittedComponential::for_each_inference`].
    pub fn score<C: Storable>(&self, bags: &Blocks<C>) -> Result<Vec<f64>, EstimatorError> {
        let mut free_energies = Vec::with_capacity(bags.len());
        self.for_each_inference(bags, |_, _, found| free_energies.push(-found.bound))?;
        Ok(free_energies)
    }

    /// The window that each bag is expected to have drawn most of its tokens from, and the mean over all of them.
    ///
    /// # Errors
    /// Those of [`FittedComponential::for_each_inference`].
    pub fn place<C: Storable>(&self, bags: &Blocks<C>) -> Result<Vec<GridPlacement>, EstimatorError> {
        let reader = PositionReader::new(&self.layout, self.shape(), self.labels.as_ref())?;
        let (mut placements, mut row) = (Vec::with_capacity(bags.len()), zeros(reader.slots().len())?);
        self.for_each_inference(bags, |_, tokens, found| {
            placements.push(reader.infer(tokens, &found, &mut row));
        })?;
        Ok(placements)
    }

    /// The mean proportions of windows of every bag, `[bag][cell]`.
    ///
    /// # Errors
    /// Those of [`FittedComponential::for_each_inference`].
    pub fn transform<C: Storable>(&self, bags: &Blocks<C>) -> Result<FeatureRows, EstimatorError> {
        let mut rows = FeatureRows::zeros(bags.len(), self.shape().cells())?;
        self.for_each_inference(bags, |bag, _, found| {
            rows.row_mut(bag).iter_mut().zip(found.proportions).for_each(|(to, &p)| *to = p.to_f64());
        })?;
        Ok(rows)
    }

    /// Features of every bag under the grid.
    ///
    /// # Errors
    /// Those of [`FittedComponential::for_each_inference`]; [`EstimatorError::NoFeatures`] for gradients and for terms by
    /// source.
    pub fn features<C: Storable>(
        &self,
        kind: FeatureKind,
        bags: &Blocks<C>,
    ) -> Result<FeatureRows, EstimatorError> {
        let grouping = match kind {
            FeatureKind::Posterior => return self.transform(bags),
            FeatureKind::Spread => {
                let mut rows = self.transform(bags)?;
                let windows = self.shape().windows();
                // Rows have as many columns as there are cells, and scratch its length.
                spread_rows(windows, &mut rows.values, &mut zeros(spread_scratch_len(windows))?)
                    .map_err(|error| EstimatorError::Gradient { problem: error.to_string() })?;
                return Ok(rows);
            }
            FeatureKind::Fess | FeatureKind::Nfess => Grouping::Location,
            FeatureKind::FessWords => Grouping::Feature,
            FeatureKind::FessSources | FeatureKind::Fisher => {
                return Err(EstimatorError::NoFeatures { kind });
            }
        };
        let terms = Terms::new(self.means()?, Inference::default(), grouping);
        bag_scores(&terms, bags, kind == FeatureKind::Nfess)
    }

    /// Takes title, vocabulary and labels from the corpus that the grid was fitted to, whose words were selected by these
    /// options: everything that its file has besides tables.
    ///
    /// # Errors
    /// Those of [`FittedComponential::for_each_inference`].
    pub fn describe<C: Storable>(
        &mut self,
        title: &str,
        corpus: &Corpus<C>,
        words: &WordOptions,
    ) -> Result<(), EstimatorError> {
        self.info.describe(title, corpus, words);
        self.embed_labels(&corpus.labels, &corpus.bags)
    }

    /// Embeds labels where the documents that have them draw their tokens, under the conditions of
    /// [`FittedGrid::embed_labels`].
    ///
    /// # Errors
    /// Those of [`FittedComponential::for_each_inference`].
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
        let mut collector = LabelCollector::new(shape, names.len())?;
        let mut row = zeros(collector.slots().len())?;
        self.for_each_inference(bags, |bag, tokens, found| {
            let label = labels.by_document.get(bag).copied().flatten();
            if let Some(label) = label.filter(|_| tokens > 0.0) {
                let shares = collector.slots().pack(found.shares, &mut row);
                collector.add(&shares, label as usize);
            }
        })?;
        let Some(embedded) = collector.finish()? else { return Ok(()) };
        self.labels = Some(GridLabels::from_embedded(shape, names.clone(), &embedded)?);
        Ok(())
    }
}
