//! Fitted models, and the features of documents that they give.

use core::fmt;

use countgrid_counts::{Bag, Bags, Length};
use countgrid_em::{ExpectedCounts, FreeEnergy};
use countgrid_grid::{GridError, Grouping, Sources, Terms};
use countgrid_math::Real;
use countgrid_scores::{
    FeatureError, Form, Standardizer, fess, fisher, spread_rows, spread_scratch_len, top,
};

use crate::{
    args::{EvaluationArgs, Features, ModelKind},
    failure::Failure,
    fit::{Fitted, Inference, fit},
    interrupt::Interrupt,
    layout::{Layout, Sides},
    memory::zeros,
    model::Stored,
    posteriors::for_each_posterior,
    report::Report,
    store::Store,
};

/// Features `[document][column]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows {
    pub(crate) columns: usize,
    pub(crate) values: Vec<f64>,
}

impl Rows {
    /// Rows of zeros.
    pub(crate) fn zeros(rows: usize, columns: usize) -> Result<Self, Failure> {
        Ok(Self { columns, values: zeros(rows.saturating_mul(columns))? })
    }

    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        self.values.chunks_exact_mut(self.columns.max(1)).nth(row).unwrap_or_default()
    }

    /// The columns of several models, one after the other.
    pub(crate) fn concatenate_columns(parts: &[Self], rows: usize) -> Result<Self, Failure> {
        let mut all = Self::zeros(rows, parts.iter().map(|part| part.columns).sum())?;
        let mut first = 0;
        for part in parts {
            for (row, own) in part.values.chunks_exact(part.columns.max(1)).enumerate() {
                all.row_mut(row)[first..first + part.columns].copy_from_slice(own);
            }
            first += part.columns;
        }
        Ok(all)
    }

    /// Standardises both by the training rows.
    pub(crate) fn standardise(training: &mut Self, test: &mut Self) -> Result<(), Failure> {
        if training.columns == 0 {
            return Ok(());
        }
        let refused = |error| Failure::new(error, "take other --features");
        let standard = Standardizer::fit(&training.values, zeros(2 * training.columns)?).map_err(refused)?;
        standard.apply(&mut training.values).map_err(refused)?;
        standard.apply(&mut test.values).map_err(refused)
    }
}

/// Features that are gradients in the logarithms of parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gradients<'a, M> {
    /// Of the log-likelihood.
    Fisher(&'a M),
    /// Of the log-odds of two models, given how many times as frequent the first label is, and these log-odds.
    Top { models: [&'a M; 2], log_odds: f64 },
}

impl<M> Gradients<'_, M> {
    /// Rows of zeros, and scratch for any of the data.
    pub(crate) fn rows<X>(&self, data: usize, longest: Option<&X>) -> Result<(Rows, Vec<M::Scalar>), Failure>
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
        Ok((Rows::zeros(data, columns)?, zeros(scratch)?))
    }

    /// Those of one datum.
    pub(crate) fn gradient<X>(
        &self,
        datum: &X,
        row: &mut [f64],
        scratch: &mut [M::Scalar],
    ) -> Result<(), Failure>
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
        .map_err(|error| Failure::new(error, "take a --pseudocount above 0"))?;
        row.iter_mut().zip(own).for_each(|(to, from)| *to = from.to_f64());
        Ok(())
    }
}

/// Fits a grid to some documents, without a word.
pub(crate) fn fitted<T: Stored>(
    bags: &Store<T>,
    args: &EvaluationArgs,
    interrupt: &Interrupt,
) -> Result<Fitted<T>, Failure> {
    let (mut tokens, mut nonempty) = (0.0, 0);
    bags.each(false, |_, block| {
        for bag in 0..block.len() {
            let total: f64 = block.total(bag);
            tokens += total;
            nonempty += usize::from(total > 0.0);
        }
        Ok::<_, Failure>(())
    })?;
    if args.model == ModelKind::Mixture {
        // A mixture is a grid whose windows are single cells, with weights.
        let sides = |side| Sides(vec![side]);
        let mut options = args.fit.clone();
        (options.grid, options.window, options.learn_prior) =
            (Some(sides(args.topics)), Some(sides(1)), true);
        let layout = Layout::choose(options.grid.as_ref(), options.window.as_ref(), nonempty)?;
        return fit::<T>(bags, tokens, &layout, &options, &Report::new(true, false), interrupt);
    }
    let layout = Layout::choose(args.fit.grid.as_ref(), args.fit.window.as_ref(), nonempty)?;
    fit::<T>(bags, tokens, &layout, &args.fit, &Report::new(true, false), interrupt)
}

/// The free energy `-log p(c)` of each document.
pub(crate) fn free_energies<T: Stored>(
    histograms: &Inference<T>,
    bags: &Store<T>,
) -> Result<Vec<f64>, Failure> {
    let mut free_energies = zeros(bags.len())?;
    for_each_posterior(histograms, bags, |bag, _, posterior| {
        free_energies[bag] = -posterior.log_evidence().to_f64()
    })?;
    Ok(free_energies)
}

/// What a grid says of each document.
pub(crate) fn features<T: Stored>(
    kind: Features,
    Fitted { grid, histograms, .. }: &Fitted<T>,
    bags: &Store<T>,
) -> Result<Rows, Failure> {
    match kind {
        Features::Posterior => posteriors(histograms, bags),
        Features::Spread => {
            let mut rows = posteriors(histograms, bags)?;
            let windows = histograms.shape().windows();
            spread_rows(windows, &mut rows.values, &mut zeros(spread_scratch_len(windows))?)
                .map_err(|error| Failure::new(error, "this is a bug worth a report"))?;
            Ok(rows)
        }
        Features::Nfess => terms(&Terms::new(histograms, Grouping::Location), bags, true),
        Features::FessWords => terms(&Terms::new(histograms, Grouping::Feature), bags, false),
        Features::FessSources => terms(&Sources::new(grid, histograms)?, bags, false),
        Features::Fisher => {
            let sources = Sources::new(grid, histograms)?;
            gradients(&Gradients::Fisher(&sources), bags)
        }
        // Others are refused with the options.
        _ => terms(&Terms::new(histograms, Grouping::Location), bags, false),
    }
}

fn posteriors<T: Stored>(histograms: &Inference<T>, bags: &Store<T>) -> Result<Rows, Failure> {
    let cells = histograms.shape().cells();
    let mut rows = Rows::zeros(bags.len(), cells)?;
    for_each_posterior(histograms, bags, |bag, _, posterior| {
        posterior.for_each(|cell, q| rows.values[bag * cells + cell] = q.to_f64());
    })?;
    Ok(rows)
}

/// The terms of the free energy, of each token if `by_token`. They are divided in f64, whatever the model is in.
fn terms<T: Stored, M>(model: &M, bags: &Store<T>, by_token: bool) -> Result<Rows, Failure>
where
    M: for<'b> FreeEnergy<Bag<'b, T>, Scalar = T, Error = GridError>,
{
    let empty = Bag::empty(bags.features()); // every bag needs the same
    let (mut own, mut scratch) =
        (zeros::<T>(model.term_count(&empty))?, zeros::<T>(model.scratch_len(&empty))?);
    each_row(bags, own.len(), |bag, row| {
        fess(model, bag, &mut own, &mut scratch).map_err(|error| match error {
            FeatureError::Model(error) => error.into(),
            error => Failure::new(error, "take counts that are not as large"),
        })?;
        let total = bag.length();
        let length = if by_token && total > 0.0 { total } else { 1.0 };
        row.iter_mut().zip(&own).for_each(|(to, from)| *to = Real::to_f64(*from) / length);
        Ok(())
    })
}

/// A row of each bag, written by `of`.
fn each_row<T: Stored>(
    bags: &Store<T>,
    columns: usize,
    mut of: impl FnMut(&Bag<'_, T>, &mut [f64]) -> Result<(), Failure>,
) -> Result<Rows, Failure> {
    let mut rows = Rows::zeros(bags.len(), columns)?;
    bags.each(false, |first, block| {
        let mut bags = (0..block.len()).filter_map(|bag| block.bag(bag)).enumerate();
        bags.try_for_each(|(bag, datum)| of(&datum, rows.row_mut(first + bag)))
    })?;
    Ok(rows)
}

/// Gradients of a model of bags.
pub(crate) fn gradients<T: Stored, M>(gradients: &Gradients<'_, M>, bags: &Store<T>) -> Result<Rows, Failure>
where
    M: for<'b> ExpectedCounts<Bag<'b, T>>,
    for<'b> <M as ExpectedCounts<Bag<'b, T>>>::Error: fmt::Display,
{
    let empty = Bag::<T>::empty(bags.features());
    let (rows, mut scratch) = gradients.rows(0, Some(&empty))?; // every bag needs the same
    each_row(bags, rows.columns, |bag, row| gradients.gradient(bag, row, &mut scratch))
}
