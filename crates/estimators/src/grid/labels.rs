use std::collections::HashSet;

use countgrid_corpus::{Blocks, Storable};
use countgrid_em::Tables;
use countgrid_grid::{
    Embedding, GridError, LabelSums, Labels, Readout, Shape, WindowPosterior, label_scratch_len,
    label_sums_len,
};
use countgrid_math::Real;

use crate::{AXES, EstimatorError, FittedGrid, blocks::zeros};

/// The labels of a grid, with the shares that are read off at each window.
///
/// Example: [`FittedGrid::from_grid`](crate::FittedGrid::from_grid).
#[derive(Clone, Debug)]
pub struct GridLabels<T> {
    shape: Shape<AXES>,
    names: Vec<String>,
    table: Vec<T>, // [label][cell], shares that sum to one over labels
}

impl<T: Real> GridLabels<T> {
    /// Takes a table `[label][cell]` of shares.
    ///
    /// # Errors
    /// [`EstimatorError::Grid`] for a table of another length, without labels, or with a share that is not finite;
    /// [`EstimatorError::LabelShare`] for a share that is not from 0 to 1, or shares of a cell that do not sum to 1;
    /// [`EstimatorError::DuplicateLabel`].
    pub fn new(shape: Shape<AXES>, names: Vec<String>, table: Vec<T>) -> Result<Self, EstimatorError> {
        Labels::new(shape, names.len(), table.as_slice())?;
        let mut seen = HashSet::new();
        if let Some(name) = names.iter().find(|&name| !seen.insert(name)) {
            return Err(EstimatorError::DuplicateLabel { name: name.clone() });
        }
        // Shares are means over windows in double precision, and rounded once to single: far below a millionth.
        let is_share = |share: f64| (-1e-6..=1.0 + 1e-6).contains(&share);
        let shares = table.iter().map(|x| Real::to_f64(*x)).enumerate();
        if let Some((at, share)) = shares.clone().find(|&(_, share)| !is_share(share)) {
            let (label, cell) = (at / shape.cells(), at % shape.cells());
            return Err(EstimatorError::LabelShare { label: Some(label), cell, share });
        }
        // As for other probabilities: a rounding of each.
        let allowed = (names.len() as f64 * T::UNIT_ROUNDOFF.to_f64()).max(1e-3);
        let mut sums = vec![0.0; shape.cells()];
        shares.for_each(|(at, share)| sums[at % shape.cells()] += share);
        if let Some(cell) = sums.iter().position(|sum| !((sum - 1.0).abs() <= allowed)) {
            return Err(EstimatorError::LabelShare { label: None, cell, share: sums[cell] });
        }
        Ok(Self { shape, names, table })
    }

    /// Those of labels that were embedded in double precision.
    pub(crate) fn from_embedded(
        shape: Shape<AXES>,
        names: Vec<String>,
        embedded: &Labels<f64, Vec<f64>, AXES>,
    ) -> Result<Self, EstimatorError> {
        Self::new(shape, names, embedded.buffer().iter().map(|&share| T::from_f64(share)).collect())
    }

    /// The labels.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The shares `[label][cell]`, which sum to one over labels.
    #[must_use]
    pub fn table(&self) -> &[T] {
        &self.table
    }

    /// The labels to read.
    ///
    /// # Errors
    /// None: [`GridLabels::new`] has checked the table.
    pub fn labels(&self) -> Result<Labels<T, &[T], AXES>, EstimatorError> {
        Ok(Labels::new(self.shape, self.names.len(), self.table.as_slice())?)
    }
}

/// Sums of labels over documents, each at its position.
pub(crate) struct LabelCollector {
    shape: Shape<AXES>,
    sums: LabelSums<f64, Vec<f64>, AXES>,
    some: bool,
    refused: Option<GridError>,
}

impl LabelCollector {
    pub(crate) fn new(shape: Shape<AXES>, labels: usize) -> Result<Self, EstimatorError> {
        let length = label_sums_len(&shape, labels).unwrap_or(usize::MAX);
        let sums = LabelSums::new(shape, labels, zeros(length)?)?;
        Ok(Self { shape, sums, some: false, refused: None })
    }

    /// Adds a document that has tokens.
    pub(crate) fn add<T: Real>(&mut self, posterior: &(impl WindowPosterior<T> + ?Sized), label: usize) {
        self.some = true;
        self.refused = self.refused.take().or(self.sums.add_class(posterior, label).err());
    }

    /// The shares at each window; `None` without documents.
    pub(crate) fn finish(self) -> Result<Option<Labels<f64, Vec<f64>, AXES>>, EstimatorError> {
        if let Some(error) = self.refused {
            return Err(error.into());
        }
        if !self.some {
            return Ok(None);
        }
        let mut scratch = zeros(label_scratch_len(&self.shape))?;
        let table = zeros(self.sums.targets().saturating_mul(self.shape.cells()))?;
        let embedding = Embedding::new(self.sums, &mut scratch)?;
        Ok(Some(embedding.labels(Readout::Window, table, &mut scratch)?))
    }
}

impl<T: Real> FittedGrid<T> {
    /// The shares that are read off at each window if this many labels are embedded at the positions of their documents:
    /// `[label][cell]` in double precision. `None` if no document with a label has a known word: without one it has no
    /// position.
    ///
    /// # Errors
    /// Those of [`FittedGrid::for_each_posterior`]; a label that does not exist.
    pub fn label_shares<C: Storable>(
        &self,
        bags: &Blocks<C>,
        labels: usize,
        label_of: impl Fn(usize) -> Option<usize>,
    ) -> Result<Option<Labels<f64, Vec<f64>, AXES>>, EstimatorError> {
        let mut collector = LabelCollector::new(*self.shape(), labels)?;
        self.for_each_posterior(bags, |bag, tokens, posterior| {
            if let Some(label) = label_of(bag).filter(|_| tokens > 0.0) {
                collector.add(posterior, label);
            }
        })?;
        collector.finish()
    }
}
