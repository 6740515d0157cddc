//! Features of data under models, for classifiers.

use std::fmt;

use countgrid_corpus::{Blocks, Storable};
use countgrid_counts::{Bag, Bags, Length};
use countgrid_em::{ExpectedCounts, FreeEnergy};
use countgrid_math::Real;
use countgrid_scores::{FeatureError, Form, fess, fisher, top};

use crate::{EstimatorError, blocks::zeros};

/// Features `[datum][column]`.
///
/// ```
/// use countgrid_estimators::FeatureRows;
/// let mut rows = FeatureRows::zeros(2, 3)?;
/// rows.row_mut(1)[2] = 5.0;
/// assert_eq!(rows.values, [0.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureRows {
    /// Columns of a row.
    pub columns: usize,
    /// All rows, one after the other.
    pub values: Vec<f64>,
}

impl FeatureRows {
    /// Rows of zeros.
    ///
    /// # Errors
    /// [`EstimatorError::Memory`].
    pub fn zeros(rows: usize, columns: usize) -> Result<Self, EstimatorError> {
        Ok(Self { columns, values: zeros(rows.saturating_mul(columns))? })
    }

    /// One row; empty if there is none.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        self.values.chunks_exact(self.columns.max(1)).nth(row).unwrap_or_default()
    }

    /// One row, to be written; empty if there is none.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        self.values.chunks_exact_mut(self.columns.max(1)).nth(row).unwrap_or_default()
    }

    /// The features of several models side by side, for this many data.
    ///
    /// # Errors
    /// [`EstimatorError::Memory`].
    pub fn concatenate_columns(parts: &[Self], rows: usize) -> Result<Self, EstimatorError> {
        let mut all = Self::zeros(rows, parts.iter().map(|part| part.columns).sum())?;
        let mut first = 0;
        for part in parts {
            for (row, own) in part.values.chunks_exact(part.columns.max(1)).enumerate() {
                all.row_mut(row).iter_mut().skip(first).zip(own).for_each(|(to, &x)| *to = x);
            }
            first += part.columns;
        }
        Ok(all)
    }
}

/// Which features a classifier takes from a model.
///
/// Example: [`FeatureValues`](crate::FeatureValues).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeatureKind {
    /// The posterior over window positions, components or topics.
    Posterior,
    /// The posterior over window positions of a grid, spread over the cells of their windows.
    Spread,
    /// The terms of the free energy by window position, component, topic, or position and state (Perina et al. 2009).
    Fess,
    /// The same per token.
    Nfess,
    /// The terms of the free energy by word; of topics those of words by topic and word.
    FessWords,
    /// The terms of the free energy of a grid by the cell that each word comes from.
    FessSources,
    /// The gradient of the log-likelihood in the logarithms of the parameters (Jaakkola & Haussler 1998).
    Fisher,
}

/// Features that are gradients in the logarithms of parameters.
///
/// Example: [`FeatureValues`](crate::FeatureValues).
#[derive(Clone, Copy, Debug)]
pub enum Gradients<'a, M> {
    /// Of the log-likelihood.
    Fisher(&'a M),
    /// Of the log-odds of two models, given their prior log-odds (Tsuda et al. 2002).
    Top {
        /// The two.
        models: [&'a M; 2],
        /// Prior log-odds of the first model, in nats.
        log_odds: f64,
    },
}

impl<M> Gradients<'_, M> {
    /// Rows of zeros, and scratch for any of the data.
    ///
    /// # Errors
    /// [`EstimatorError::Memory`].
    pub fn rows<X>(
        &self,
        data: usize,
        longest: Option<&X>,
    ) -> Result<(FeatureRows, Vec<M::Scalar>), EstimatorError>
    where
        M: ExpectedCounts<X>,
    {
        let elements = |model: &M| model.buffer().len();
        let scratch = |model: &M| longest.map_or(0, |datum| model.counts_scratch_len(datum));
        let (columns, scratch) = match self {
            Self::Fisher(model) => (elements(model), scratch(model)),
            Self::Top { models: [a, b], .. } => {
                (elements(a).saturating_add(elements(b)).saturating_add(1), scratch(a).max(scratch(b)))
            }
        };
        Ok((FeatureRows::zeros(data, columns)?, zeros(scratch)?))
    }

    /// Those of one datum.
    ///
    /// # Errors
    /// [`EstimatorError::Gradient`] where the model refuses: an impossible datum, a row of another length.
    pub fn gradient<X>(
        &self,
        datum: &X,
        row: &mut [f64],
        scratch: &mut [M::Scalar],
    ) -> Result<(), EstimatorError>
    where
        M: ExpectedCounts<X>,
        M::Error: fmt::Display,
    {
        let mut own = zeros::<M::Scalar>(row.len())?;
        match self {
            Self::Fisher(model) => fisher(*model, datum, Form::Logit, &mut own, scratch),
            Self::Top { models: [plus, minus], log_odds } => {
                top(*plus, *minus, Real::from_f64(*log_odds), datum, Form::Logit, &mut own, scratch)
            }
        }
        .map_err(|error| EstimatorError::Gradient { problem: error.to_string() })?;
        row.iter_mut().zip(own).for_each(|(to, from)| *to = from.to_f64());
        Ok(())
    }
}

/// A row of each bag.
pub(crate) fn each_row<C: Storable>(
    bags: &Blocks<C>,
    columns: usize,
    mut write: impl FnMut(&Bag<'_, C>, &mut [f64]) -> Result<(), EstimatorError>,
) -> Result<FeatureRows, EstimatorError> {
    let mut rows = FeatureRows::zeros(bags.len(), columns)?;
    bags.for_each_block(true, |first, block| {
        let mut bags = (0..block.len()).filter_map(|bag| block.bag(bag)).enumerate();
        bags.try_for_each(|(bag, datum)| write(&datum, rows.row_mut(first + bag)))
    })?;
    Ok(rows)
}

/// Free energy scores of a model of bags, of each token if `by_token`. They are divided in f64, whatever the model is in.
pub(crate) fn bag_scores<C: Storable, T: Real, E, M>(
    model: &M,
    bags: &Blocks<C>,
    by_token: bool,
) -> Result<FeatureRows, EstimatorError>
where
    M: for<'b> FreeEnergy<Bag<'b, C>, Scalar = T, Error = E>,
    FeatureError<E>: Into<EstimatorError>,
{
    let empty = Bag::empty(bags.features()); // every bag needs the same
    let mut own = zeros::<T>(model.term_count(&empty))?;
    let mut scratch = zeros::<T>(model.scratch_len(&empty))?;
    each_row(bags, own.len(), |bag, row| {
        fess(model, bag, &mut own, &mut scratch).map_err(Into::into)?;
        let total = bag.length();
        let length = if by_token && total > 0.0 { total } else { 1.0 };
        row.iter_mut().zip(&own).for_each(|(to, &from)| *to = Real::to_f64(from) / length);
        Ok(())
    })
}

/// Gradients of a model of bags.
pub(crate) fn bag_gradients<C: Storable, M>(
    gradients: &Gradients<'_, M>,
    bags: &Blocks<C>,
) -> Result<FeatureRows, EstimatorError>
where
    M: for<'b> ExpectedCounts<Bag<'b, C>>,
    for<'b> <M as ExpectedCounts<Bag<'b, C>>>::Error: fmt::Display,
{
    let empty = Bag::<C>::empty(bags.features());
    let (rows, mut scratch) = gradients.rows(0, Some(&empty))?; // every bag needs the same
    each_row(bags, rows.columns, |bag, row| gradients.gradient(bag, row, &mut scratch))
}
