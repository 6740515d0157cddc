use std::{collections::HashSet, marker::PhantomData};

use countgrid_corpus::{Blocks, Storable};
use countgrid_em::{Tables, TablesMutExt};
use countgrid_grid::{
    Embedding, GridError, LabelSums, Labels, Readout, Shape, label_scratch_len, label_sums_len,
};
use countgrid_math::{Kernel, Level, Real, dispatch};

use super::slots::{Slots, TilePosterior};
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

/// Sums of labels over documents, each at its position, whose posteriors are of type `T`.
pub(crate) struct LabelCollector<T> {
    shape: Shape<AXES>,
    slots: Slots,
    planes: Vec<f64>, // [1 + label][slot]: over all documents, and over those with each label
    documents: Vec<f64>, // with each label
    refused: Option<GridError>,
    scalar: PhantomData<T>,
}

impl<T: Real> LabelCollector<T> {
    pub(crate) fn new(shape: Shape<AXES>, labels: usize) -> Result<Self, EstimatorError> {
        let slots = Slots::new::<T>(&shape)?;
        let planes = zeros(slots.len().saturating_mul(labels.saturating_add(1)))?;
        Ok(Self { shape, slots, planes, documents: zeros(labels)?, refused: None, scalar: PhantomData })
    }

    /// The places of windows.
    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Adds a document that has tokens.
    pub(crate) fn add(&mut self, posterior: &impl TilePosterior<T>, label: usize) {
        let (slots, classes) = (self.slots.len(), self.documents.len());
        let Some((all, planes)) = self.planes.split_at_mut_checked(slots) else { return };
        match (self.documents.get_mut(label), planes.chunks_exact_mut(slots.max(1)).nth(label)) {
            (Some(documents), Some(plane)) => {
                *documents += 1.0;
                dispatch(Add { posterior, planes: [all, plane], scalar: PhantomData });
            }
            _ => {
                self.refused = self.refused.take().or(Some(GridError::NoSuchClass { class: label, classes }))
            }
        }
    }

    /// The shares at each window; `None` without documents.
    pub(crate) fn finish(self) -> Result<Option<Labels<f64, Vec<f64>, AXES>>, EstimatorError> {
        let Self { shape, slots, planes, documents, refused, .. } = self;
        if let Some(error) = refused {
            return Err(error.into());
        }
        let all: f64 = documents.iter().sum();
        if all == 0.0 {
            return Ok(None);
        }
        let (cells, labels) = (shape.cells(), documents.len());
        let length = label_sums_len(&shape, labels).unwrap_or(usize::MAX);
        let mut sums = LabelSums::new(shape, labels, zeros(length)?)?;
        for (name, planes) in [("mass", &planes[..slots.len()]), ("targets", &planes[slots.len()..])] {
            let table = sums.table_mut(name).unwrap_or_default();
            for (row, plane) in table.chunks_exact_mut(cells).zip(planes.chunks_exact(slots.len())) {
                row.iter_mut().zip(slots.by_cell()).for_each(|(sum, slot)| *sum = plane[slot]);
            }
        }
        let totals = sums.table_mut("totals").unwrap_or_default();
        totals.iter_mut().zip(std::iter::once(all).chain(documents)).for_each(|(total, of)| *total = of);
        drop(planes);
        let mut scratch = zeros(label_scratch_len(&shape))?;
        let table = zeros(labels.saturating_mul(cells))?;
        let embedding = Embedding::new(sums, &mut scratch)?;
        Ok(Some(embedding.labels(Readout::Window, table, &mut scratch)?))
    }
}

/// Adds a posterior to planes.
struct Add<'a, P, T> {
    posterior: &'a P,
    planes: [&'a mut [f64]; 2],
    scalar: PhantomData<T>,
}

impl<P: TilePosterior<T>, T: Real> Kernel for Add<'_, P, T> {
    type Output = ();
    const WIDEST: Level = Level::Avx512;

    #[inline(always)]
    fn run(self) {
        let Self { posterior, planes: [all, plane], .. } = self;
        posterior.for_each_tile(|slot, q| {
            for sums in [&mut *all, &mut *plane] {
                let sums = sums.get_mut(slot..slot + q.len()).unwrap_or_default();
                sums.iter_mut().zip(q).for_each(|(sum, &q)| *sum += Real::to_f64(q));
            }
        });
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
