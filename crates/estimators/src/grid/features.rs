use countgrid_corpus::Blocks;
use countgrid_grid::{Grouping, Sources, Terms};
use countgrid_scores::{spread_rows, spread_scratch_len};

use crate::{
    EstimatorError, FeatureKind, FeatureRows, FittedGrid, Gradients, Stored,
    blocks::zeros,
    features::{bag_gradients, bag_scores},
};

impl<T: Stored> FittedGrid<T> {
    /// The posterior of every bag over window positions, `[bag][cell]`.
    ///
    /// # Errors
    /// Those of [`FittedGrid::for_each_posterior`].
    pub fn transform(&self, bags: &Blocks<T>) -> Result<FeatureRows, EstimatorError> {
        let mut rows = FeatureRows::zeros(bags.len(), self.shape().cells())?;
        self.for_each_posterior(bags, |bag, _, posterior| {
            let row = rows.row_mut(bag);
            posterior.for_each(|cell, q| {
                if let Some(x) = row.get_mut(cell) {
                    *x = q.to_f64();
                }
            });
        })?;
        Ok(rows)
    }

    /// Features of every bag under the grid.
    ///
    /// # Errors
    /// Those of [`FittedGrid::for_each_posterior`]; [`EstimatorError::Gradient`].
    pub fn features(&self, kind: FeatureKind, bags: &Blocks<T>) -> Result<FeatureRows, EstimatorError> {
        match kind {
            FeatureKind::Posterior => self.transform(bags),
            FeatureKind::Spread => {
                let mut rows = self.transform(bags)?;
                let windows = self.shape().windows();
                // Rows have as many columns as there are cells, and scratch its length.
                spread_rows(windows, &mut rows.values, &mut zeros(spread_scratch_len(windows))?)
                    .map_err(|error| EstimatorError::Gradient { problem: error.to_string() })?;
                Ok(rows)
            }
            FeatureKind::Fess => bag_scores(&Terms::new(self.histograms()?, Grouping::Location), bags, false),
            FeatureKind::Nfess => bag_scores(&Terms::new(self.histograms()?, Grouping::Location), bags, true),
            FeatureKind::FessWords => {
                bag_scores(&Terms::new(self.histograms()?, Grouping::Feature), bags, false)
            }
            FeatureKind::FessSources => bag_scores(&self.sources()?, bags, false),
            FeatureKind::Fisher => bag_gradients(&Gradients::Fisher(&self.sources()?), bags),
        }
    }

    /// Tangent vectors of the posterior log-odds of two grids (Tsuda et al. 2002).
    ///
    /// # Errors
    /// Those of [`FittedGrid::features`].
    pub fn tangents(
        models: [&Self; 2],
        log_odds: f64,
        bags: &Blocks<T>,
    ) -> Result<FeatureRows, EstimatorError> {
        let [plus, minus] = models.map(Self::sources);
        bag_gradients(&Gradients::Top { models: [&plus?, &minus?], log_odds }, bags)
    }

    fn sources(
        &self,
    ) -> Result<
        Sources<'_, T, countgrid_math::AlignedVec<T>, countgrid_math::AlignedVec<T>, { crate::AXES }>,
        EstimatorError,
    > {
        Ok(Sources::new(&self.grid, self.histograms()?)?)
    }
}
