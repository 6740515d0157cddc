//! The contracts of fitting for a collection of blocks.

use crate::{Anneal, BlockError, BlockSource, BlockStatistics, Fit, Learn, block_source::block};

/// A model that is fitted to a collection of blocks with the loops of this crate: to a slice of batches, to a slice of data in
/// [`Chunks`](crate::Chunks), to any [`BlockSource`]. [`ParallelByBlocks`](crate::ParallelByBlocks) does so on threads.
///
/// ```
/// use core::ops::ControlFlow;
/// use countgrid_em::{BlockError, BlockStatistics, ByBlocks, EmPlan, Fit, FitError, Outcome, no_observer};
///
/// fn fit<B, M: Fit<B>>(
///     plan: &EmPlan,
///     model: M,
///     blocks: &[B],
///     statistics: &mut BlockStatistics<M::Statistics>,
/// ) -> Result<(M, Outcome), FitError<BlockError<M::Error>>> {
///     let mut model = ByBlocks::new(model);
///     let outcome = plan.fit(&mut model, blocks, statistics, no_observer)?;
///     Ok((model.into_model(), outcome))
/// }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct ByBlocks<M> {
    model: M,
}

impl<M> ByBlocks<M> {
    /// Starts from a model.
    pub fn new(model: M) -> Self {
        Self { model }
    }
    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }
    /// The model, to be changed, such as for a restart.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }
    /// Ends the fit.
    pub fn into_model(self) -> M {
        self.model
    }
}

impl<M: Learn> Learn for ByBlocks<M> {
    type Statistics = BlockStatistics<M::Statistics>;
    type Error = BlockError<M::Error>;

    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), Self::Error> {
        self.model.maximization(statistics.sums_mut()).map_err(BlockError::Maximization)
    }
    fn penalty(&self) -> f64 {
        self.model.penalty()
    }
    fn coinciding_components(&self) -> Option<usize> {
        self.model.coinciding_components()
    }
}

impl<D, M> Fit<D> for ByBlocks<M>
where
    D: BlockSource + ?Sized,
    M: Fit<D::Block>,
{
    /// The blocks one after the other, added up in the tree of [`Reduction`](crate::Reduction).
    fn expectation(&self, data: &D, statistics: &mut Self::Statistics) -> Result<f64, Self::Error> {
        let mut expectation = statistics.begin();
        for number in 0..data.block_count() {
            expectation.add(&self.model, number, block(data, number)?)?;
        }
        Ok(expectation.finish()?)
    }
}

impl<M: Anneal> Anneal for ByBlocks<M> {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.model.set_inverse_temperature(beta);
    }
    fn perturb(&mut self, statistics: &mut Self::Statistics, size: f64, seed: u64) {
        self.model.perturb(statistics.sums_mut(), size, seed);
    }
}

crate::tables_of_field!(impl[M] for ByBlocks<M>, model: M);
