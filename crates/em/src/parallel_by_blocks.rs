//! The contracts of fitting for a collection of blocks, on threads.

use alloc::vec::Vec;

use crate::{
    Anneal, BlockError, BlockSource, BlockStatistics, ByBlocks, Fit, Learn, Stop, Tables, TablesMut,
};

/// A model that is fitted to a collection of blocks as with [`ByBlocks`], on the threads of the pool that the caller is in.
///
/// For models whose own E-step runs on one thread. Sums and free energy have the bits of [`ByBlocks`], whatever the number of
/// threads; without the feature `rayon`, or in a pool of one thread, it is [`ByBlocks`].
///
/// ```
/// use countgrid_em::{Chunks, EmOptions, ParallelByBlocks, ParallelStatistics, no_observer};
/// # use core::convert::Infallible;
/// # use countgrid_em::{Fit, Learn, Table, TableBuffer, Tables, TablesMut};
/// # struct Poisson { rate: f64 }
/// # impl Fit<[f64]> for Poisson {
/// #     fn expectation(&self, batch: &[f64], sums: &mut Self::Statistics) -> Result<f64, Infallible> {
/// #         let tokens: f64 = batch.iter().sum();
/// #         sums.buffer_mut()[0] += batch.len() as f64;
/// #         sums.buffer_mut()[1] += tokens;
/// #         Ok(self.rate * batch.len() as f64 - tokens * self.rate.ln())
/// #     }
/// # }
/// # impl Learn for Poisson {
/// #     type Statistics = TableBuffer<f64, [Table; 1], [f64; 2]>;
/// #     type Error = Infallible;
/// #     fn maximization(&mut self, sums: &mut Self::Statistics) -> Result<(), Infallible> {
/// #         self.rate = sums.buffer()[1] / sums.buffer()[0];
/// #         Ok(())
/// #     }
/// # }
/// let data = vec![2.5; 100_000];
/// let sums = TableBuffer::new([Table::new("sums", 1, 2)], [0.0; 2])?;
/// let (mut model, mut sums) = (ParallelByBlocks::new(Poisson { rate: 1.0 }), ParallelStatistics::new(sums));
/// EmOptions::default().check()?.fit(&mut model, &Chunks::new(&data), &mut sums, no_observer)?;
/// assert_eq!(model.model().rate, 2.5);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct ParallelByBlocks<M> {
    inner: ByBlocks<M>,
}

impl<M> ParallelByBlocks<M> {
    /// Starts from a model.
    pub fn new(model: M) -> Self {
        Self { inner: ByBlocks::new(model) }
    }
    /// The model.
    pub fn model(&self) -> &M {
        self.inner.model()
    }
    /// The model, to be changed, such as for a restart.
    pub fn model_mut(&mut self) -> &mut M {
        self.inner.model_mut()
    }
    /// Ends the fit.
    pub fn into_model(self) -> M {
        self.inner.into_model()
    }
}

/// Statistics of a whole collection, and those that threads need for theirs: clones, up to `log2(blocks) + 1` for each thread
/// and one more to clone, which are made when they are needed and kept for the next E-step.
///
/// As [`Tables`] these are the sums of the collection.
#[derive(Clone, Debug)]
pub struct ParallelStatistics<S: Tables> {
    blocks: BlockStatistics<S>,
    #[cfg_attr(not(feature = "rayon"), allow(dead_code, reason = "for threads"))]
    spare: Vec<S>,
}

impl<S: TablesMut> ParallelStatistics<S> {
    /// Statistics, of which there are no clones yet.
    pub fn new(sums: S) -> Self {
        Self { blocks: BlockStatistics::new(sums), spare: Vec::new() }
    }
    /// The sums of the collection.
    pub fn sums(&self) -> &S {
        self.blocks.sums()
    }
    /// The sums of the collection, to be changed.
    pub fn sums_mut(&mut self) -> &mut S {
        self.blocks.sums_mut()
    }
    /// The sums, given back.
    pub fn into_sums(self) -> S {
        self.blocks.into_sums()
    }
    /// The flag that E-steps ask before every block: [`BlockStatistics::set_stop`].
    pub fn set_stop(&mut self, stop: &Stop) {
        self.blocks.set_stop(stop);
    }
}

crate::tables_of_field!(impl[S: Tables] for ParallelStatistics<S>, blocks: BlockStatistics<S>);

impl<M: Learn> Learn for ParallelByBlocks<M> {
    type Statistics = ParallelStatistics<M::Statistics>;
    type Error = BlockError<M::Error>;

    fn maximization(&mut self, statistics: &mut Self::Statistics) -> Result<(), Self::Error> {
        self.inner.maximization(&mut statistics.blocks)
    }
    fn penalty(&self) -> f64 {
        self.inner.penalty()
    }
    fn coinciding_components(&self) -> Option<usize> {
        self.inner.coinciding_components()
    }
}

impl<D, M> Fit<D> for ParallelByBlocks<M>
where
    D: BlockSource + Sync + ?Sized,
    M: Fit<D::Block> + Sync,
    M::Statistics: Clone + Send,
    M::Error: Send,
{
    /// Blocks on threads, added up in the tree of [`Reduction`](crate::Reduction).
    fn expectation(&self, data: &D, statistics: &mut Self::Statistics) -> Result<f64, Self::Error> {
        #[cfg(feature = "rayon")]
        if crate::parallel::threads() > 1 && data.block_count() > 1 {
            let ParallelStatistics { blocks, spare } = statistics;
            let mut kept = spare.pop().unwrap_or_else(|| blocks.sums().clone());
            crate::TablesMutExt::clear(&mut kept);
            let original = &mut kept; // exclusive: of one thread at a time
            let stop = blocks.stop().clone();
            let outcome = crate::parallel_blocks::expectation_until_stopped(
                self.model(),
                data,
                blocks.sums_mut(),
                spare,
                move || Ok(original.clone()),
                &stop,
            );
            spare.push(kept);
            return outcome;
        }
        self.inner.expectation(data, &mut statistics.blocks)
    }
}

impl<M: Anneal> Anneal for ParallelByBlocks<M> {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.inner.set_inverse_temperature(beta);
    }
    fn perturb(&mut self, statistics: &mut Self::Statistics, size: f64, seed: u64) {
        self.inner.perturb(&mut statistics.blocks, size, seed);
    }
}

crate::tables_of_field!(impl[M] for ParallelByBlocks<M>, inner: ByBlocks<M>);
