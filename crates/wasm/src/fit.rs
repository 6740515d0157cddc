use countgrid_em::End;
use countgrid_estimators::{GridOptions, GridPlan, GridTraining, Train};
use countgrid_io::ModelFile;

use crate::{Corpus, CountingGrid, Error};

/// Bytes that the tables of a fit may take. A page has 4 GiB at most, which also hold the collection.
pub const MEMORY: u128 = 1 << 30;

/// A fit in progress, one iteration per step, so that a page can show its progress.
///
/// It is the training of `countgrid-estimators` in single precision: for the same bags, options and seed the grid has the
/// same bits as the one that `countgrid fit` writes.
///
/// ```
/// use countgrid_estimators::GridOptions;
/// use countgrid_wasm::{Corpus, Fit};
///
/// let corpus = Corpus::new(vec![0, 2, 4, 6], vec![0, 1, 1, 2, 0, 3], vec![5.0, 1.0, 6.0, 2.0, 1.0, 5.0], 4)?;
/// let options = GridOptions { extents: Some(vec![12]), window: Some(vec![3]), ..GridOptions::default() };
/// let mut fit = Fit::new(&corpus, &options)?;
/// let first = fit.step()?; // nats per token, before the first update
/// let mut fit = Fit::resume(&corpus, &options, &fit.checkpoint()?)?; // as if nothing had been between
/// while !fit.is_done() {
///     fit.step()?;
/// }
/// assert!(fit.bound_per_token() > Some(first));
/// assert_eq!(fit.finish()?.extents(), [12]);
/// # Ok::<(), countgrid_wasm::Error>(())
/// ```
#[derive(Debug)]
pub struct Fit {
    corpus: Corpus,
    training: GridTraining<f32, Corpus>,
    failed: Option<Error>,
}

impl Fit {
    /// Nothing is computed before the first step. Without a limit of its own a fit may take [`MEMORY`].
    ///
    /// # Errors
    /// Invalid options; a corpus without tokens; a grid for which a page has no memory.
    pub fn new(corpus: &Corpus, options: &GridOptions) -> Result<Self, Error> {
        let training = GridTraining::new(plan(corpus, options)?, corpus.clone())?;
        Ok(Self { corpus: corpus.clone(), training, failed: None })
    }

    /// Continues from a [checkpoint](Fit::checkpoint) with the same corpus and options, to the same bits.
    ///
    /// # Errors
    /// As [`Fit::new`]; bytes that are not a checkpoint, or one of another fit.
    pub fn resume(corpus: &Corpus, options: &GridOptions, checkpoint: &[u8]) -> Result<Self, Error> {
        let file = ModelFile::from_bytes(checkpoint)?;
        let training = GridTraining::resume(plan(corpus, options)?, corpus.clone(), file)?;
        Ok(Self { corpus: corpus.clone(), training, failed: None })
    }

    /// A checkpoint of the fit, as the bytes of a file.
    ///
    /// # Errors
    /// If a step has failed; no memory.
    pub fn checkpoint(&self) -> Result<Vec<u8>, Error> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(self.training.checkpoint()?.to_bytes()?),
        }
    }

    /// One iteration: an update of the grid, except for the first of a level. Returns the log evidence of all bags per
    /// token, in nats; after the end it does nothing and returns the same again.
    ///
    /// # Errors
    /// Counts too large for `f32`; no memory. The fit has then failed, and every further step returns the error again.
    pub fn step(&mut self) -> Result<f64, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        match self.training.step() {
            Ok(progress) => Ok(progress.bound_per_token.unwrap_or(0.0)), // a grid has one
            Err(error) => Err(self.failed.insert(error.into()).clone()),
        }
    }

    /// Whether the last step was the last.
    pub fn is_done(&self) -> bool {
        self.training.is_done()
    }

    /// Whether it ended because it converged.
    pub fn has_converged(&self) -> bool {
        self.training.best().is_some_and(|best| best.outcome.end == End::Converged)
    }

    /// Log evidence of all bags per token, in nats, after the last step.
    pub fn bound_per_token(&self) -> Option<f64> {
        self.training.last()?.bound_per_token
    }

    /// Updates of the present grid so far.
    pub fn iteration(&self) -> usize {
        self.training.last().map_or(0, |last| last.iteration)
    }

    /// Cells along each axis of the grid that the next step fits: coarser ones come first.
    pub fn extents(&self) -> &[usize] {
        let stages = &countgrid_estimators::Estimator::schedule(self.training.plan()).stages;
        stages.get(self.training.stage()).map_or(&[], |stage| &stage.extents)
    }

    /// How much of the work is done, from 0 to 1, if no grid converges early. The work of a step grows with the cells.
    pub fn share(&self) -> f64 {
        if self.is_done() { 1.0 } else { self.training.last().map_or(0.0, |last| last.share_done) }
    }

    /// Ends the fit with the current grid. Levels that are left only refine it, so that it has the size that was asked for.
    ///
    /// # Errors
    /// If a step has failed; no memory.
    pub fn finish(self) -> Result<CountingGrid, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut grid = self.training.finish()?;
        self.corpus.describe(&mut grid)?;
        Ok(CountingGrid::from(grid))
    }
}

fn plan(corpus: &Corpus, options: &GridOptions) -> Result<GridPlan<f32>, Error> {
    let options = GridOptions { memory: options.memory.or(Some(MEMORY)), ..options.clone() };
    Ok(options.check(corpus.totals())?)
}
