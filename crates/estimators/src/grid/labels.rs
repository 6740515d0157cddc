use countgrid_corpus::{Blocks, Storable};
use countgrid_grid::{Embedding, LabelSums, Labels, Readout, Shape, label_scratch_len, label_sums_len};
use countgrid_math::Real;

use crate::{AXES, EstimatorError, FittedGrid, blocks::zeros};

/// The labels of a grid, with the shares that are read off at each window.
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
    /// [`EstimatorError::Grid`] for a table of another length, without labels, or with a share that is not finite.
    pub fn new(shape: Shape<AXES>, names: Vec<String>, table: Vec<T>) -> Result<Self, EstimatorError> {
        Labels::new(shape, names.len(), table.as_slice())?;
        Ok(Self { shape, names, table })
    }

    /// The labels.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The shares `[label][cell]`, which sum to one over labels.
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
        let shape = *self.shape();
        let length = label_sums_len(&shape, labels).unwrap_or(usize::MAX);
        let mut sums = LabelSums::new(shape, labels, zeros(length)?)?;
        let (mut some, mut refused) = (false, None);
        self.for_each_posterior(bags, |bag, tokens, posterior| {
            if let Some(label) = label_of(bag).filter(|_| tokens > 0.0) {
                some = true;
                refused = refused.or(sums.add_class(posterior, label).err());
            }
        })?;
        if let Some(error) = refused {
            return Err(error.into());
        }
        if !some {
            return Ok(None);
        }
        let mut scratch = zeros(label_scratch_len(&shape))?;
        let embedding = Embedding::new(sums, &mut scratch)?;
        let table = zeros(labels.saturating_mul(shape.cells()))?;
        Ok(Some(embedding.labels(Readout::Window, table, &mut scratch)?))
    }
}
