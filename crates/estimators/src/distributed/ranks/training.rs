//! A training on ranks.

use std::ops::ControlFlow;

use countgrid_corpus::Blocks;
use countgrid_em::BLOCK_BAGS;
use countgrid_io::ModelFile;
use serde::{Deserialize, Serialize};

use super::{
    communicator::{Communicator, agree, unreachable},
    nodes::{Borders, from_bytes, reduce, to_bytes},
};
use crate::{
    BagTotals, DistributedError, DistributedTraining, Estimator, EstimatorError, FitLeaves, Progress, Stored,
    leaf_digests,
};

/// A training by expectation maximisation on ranks, each of which has the documents of some consecutive leaves: every stage, restart and
/// temperature is as in a [`Training`](crate::Training) on all documents, whose bits it has with any number of ranks.
///
/// All ranks call the same methods in the same order. Each computes the sums of its leaves, on all threads of its pool; these are
/// added up in the one tree of leaves on the way to the rank that has leaf 0, which gives the sum to all ranks, and each updates the
/// model by it. An error of one rank is one of all ([`agree`]).
///
/// ```
/// use std::ops::ControlFlow;
///
/// use countgrid_corpus::{BlockLimits, BlocksBuilder};
/// use countgrid_estimators::{
///     EstimatorError, FittedGrid, GridOptions,
///     distributed::{Communicator, RankTraining, ThreadRank, agree, rows_of_ranks},
/// };
///
/// /// What every rank runs.
/// fn fit(communicator: impl Communicator) -> Result<FittedGrid<f32>, EstimatorError> {
///     let rows = rows_of_ranks(20_000, communicator.ranks())[communicator.rank()].clone();
///     let read = || {
///         let mut bags = BlocksBuilder::new(4, BlockLimits::default())?;
///         rows.clone().try_for_each(|t| bags.push([(t % 4, 5.0_f32), ((t + 1) % 4, 4.0)]))?;
///         Ok::<_, EstimatorError>(bags.finish()?)
///     };
///     let bags = agree(&communicator, read())?; // or an error on all ranks, if one cannot read its rows
///     let options =
///         GridOptions { extents: Some(vec![4]), window: Some(vec![2]), iterations: 2, ..GridOptions::default() };
///     let mut training = RankTraining::new(communicator, bags, |totals| options.check::<f32>(totals), None)?;
///     let _flow = training.run(|_training, _progress| Ok(ControlFlow::Continue(())))?;
///     training.finish()
/// }
///
/// let mut models = Vec::new();
/// for ranks in [1, 2] {
///     let group = ThreadRank::group(ranks).into_iter(); // of a program under `mpirun`: that of `countgrid-mpi`
///     for thread in group.map(|communicator| std::thread::spawn(|| fit(communicator))).collect::<Vec<_>>() {
///         models.push(thread.join().expect("a thread that ends")?.to_file().to_bytes()?);
///     }
/// }
/// assert!(models[0] == models[1] && models[1] == models[2]);
/// # Ok::<(), EstimatorError>(())
/// ```
pub struct RankTraining<E: Estimator, D, C> {
    communicator: C,
    training: DistributedTraining<E, D>,
    bags: D, // of this rank
    borders: Borders,
}

impl<E: Estimator, D, C: Communicator> std::fmt::Debug for RankTraining<E, D, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RankTraining")
            .field("rank", &self.communicator.rank())
            .field("leaves", &self.borders.of(self.communicator.rank()))
            .field("training", &self.training)
            .finish_non_exhaustive()
    }
}

/// What ranks tell each other of their documents.
#[derive(Default, Serialize, Deserialize)]
struct Documents {
    ranks: Vec<RankDocuments>,
    tokens: u64, // the bits of a float, which may be infinite
}

#[derive(Serialize, Deserialize)]
struct RankDocuments {
    features: usize,
    documents: usize,
    non_empty: usize,
    digests: Vec<u64>, // of leaves
}

impl<T, E, C> RankTraining<E, Blocks<T>, C>
where
    T: Stored,
    E: Estimator<Data = Blocks<T>, Scalar = T>,
    E::Learner: FitLeaves<Blocks<T>>,
    C: Communicator,
{
    /// At the first model, or where a [checkpoint](RankTraining::checkpoint) of the same plan and documents was written; that of
    /// rank 0 counts, and those of the others are not looked at.
    ///
    /// The bags of this rank follow those of the ranks before it. They are whole leaves of [`BLOCK_BAGS`] bags, but for the last
    /// ([`rows_of_ranks`](super::rows_of_ranks)); ranks may have none. `plan` is given the totals of all ranks.
    ///
    /// # Errors
    /// On every rank: [`DistributedError::WithinLeaf`] and [`DistributedError::Features`] for documents that do not go together;
    /// [`DistributedError::Rank`] with those of [`DistributedTraining::new`], [`DistributedTraining::resume`] and of the plan;
    /// [`DistributedError::Communication`].
    pub fn new(
        communicator: C,
        bags: Blocks<T>,
        plan: impl FnOnce(BagTotals) -> Result<E, EstimatorError>,
        checkpoint: Option<ModelFile>,
    ) -> Result<Self, EstimatorError> {
        let Documents { ranks, tokens } = tell(&communicator, &bags)?;
        let features = bags.features();
        let expected = ranks.first().map_or(features, |first| first.features);
        let mut totals =
            BagTotals { features: expected, bags: 0, non_empty: 0, tokens: f64::from_bits(tokens) };
        let (mut borders, mut digests) = (vec![0], Vec::new());
        for (rank, own) in ranks.into_iter().enumerate() {
            let found = own.features;
            if found != expected {
                return Err(DistributedError::Features { rank, expected, found }.into());
            }
            if own.documents > 0 && !totals.bags.is_multiple_of(BLOCK_BAGS) {
                // Whose documents were the last so far.
                let before = borders.windows(2).rposition(|ends| ends[0] < ends[1]).unwrap_or(0);
                let documents = totals.bags - borders[before] * BLOCK_BAGS;
                return Err(DistributedError::WithinLeaf { rank: before, documents }.into());
            }
            totals.bags = totals.bags.saturating_add(own.documents);
            totals.non_empty = totals.non_empty.saturating_add(own.non_empty);
            digests.extend(own.digests);
            borders.push(digests.len());
        }
        let borders = Borders(borders);
        let checkpoint = share_checkpoint(&communicator, checkpoint)?;
        let begin = |plan| match checkpoint {
            None => DistributedTraining::new(plan, features, &digests),
            Some(file) => DistributedTraining::resume(plan, features, &digests, file),
        };
        let training = agree(&communicator, plan(totals).and_then(begin))?;
        Ok(Self { communicator, training, bags, borders })
    }

    /// What connects the ranks.
    pub fn communicator(&self) -> &C {
        &self.communicator
    }

    /// Whether the last step was the last.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.training.is_done()
    }

    /// The progress of the last step, if there was one.
    #[must_use]
    pub fn last(&self) -> Option<&Progress> {
        self.training.last()
    }

    /// Evaluates the model on the documents of all ranks, and updates it, or begins the next stage or start, unless the training has
    /// ended.
    ///
    /// # Errors
    /// [`DistributedError::Ended`]; [`DistributedError::Rank`] with those of an E-step, after which the training is as it was, or with
    /// those of [`Train::step`](crate::Train::step) and of sums that do not fit into memory, after which it cannot go on;
    /// [`DistributedError::Communication`].
    pub fn step(&mut self) -> Result<Progress, EstimatorError> {
        if self.is_done() {
            return Err(DistributedError::Ended.into());
        }
        let Self { communicator, training, bags, borders } = self;
        let own_leaves = borders.of(communicator.rank());
        let own = match own_leaves.is_empty() {
            true => Ok(Vec::new()),
            false => training.leaf_sums(bags, own_leaves.start),
        };
        let own = agree(communicator, own)?;
        let total = reduce(communicator, borders, own);
        let bytes = total.and_then(|total| total.map_or_else(|| Ok(Vec::new()), |total| to_bytes(&total)));
        let mut bytes = agree(communicator, bytes)?;
        communicator.broadcast(borders.owner(0), &mut bytes).map_err(unreachable)?;
        let step = from_bytes(&bytes).and_then(|total| training.step_by(&total));
        agree(communicator, step)
    }

    /// Steps until the end, or until the observer of a rank breaks, which is called after every step: then all ranks end after this
    /// step, and may write a checkpoint. An error of an observer, such as of a file that it writes, is one of all ranks.
    ///
    /// # Errors
    /// Those of [`RankTraining::step`]; [`DistributedError::Rank`] with that of an observer.
    pub fn run(
        &mut self,
        mut observer: impl FnMut(&Self, &Progress) -> Result<ControlFlow<()>, EstimatorError>,
    ) -> Result<ControlFlow<()>, EstimatorError> {
        while !self.is_done() {
            let progress = self.step()?;
            let flow = observer(self, &progress);
            let flow = agree(&self.communicator, flow)?;
            let breaks = self.communicator.maximum(u64::from(flow.is_break())).map_err(unreachable)?;
            if breaks > 0 {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// A checkpoint, from which the same plan and documents go on, with any number of ranks; the same on each, which calls it by itself.
    ///
    /// # Errors
    /// None but for memory.
    pub fn checkpoint(&self) -> Result<ModelFile, EstimatorError> {
        self.training.checkpoint()
    }

    /// The fitted model, the same on each rank.
    ///
    /// # Errors
    /// [`DistributedError::Rank`] with [`DistributedError::NotEnded`], or no memory.
    pub fn finish(self) -> Result<E::Fitted, EstimatorError> {
        let fitted = self.training.finish();
        agree(&self.communicator, fitted)
    }
}

/// The documents of all ranks. Tokens are added up in the order of documents, from rank to rank, since they have fractions.
fn tell<T: Stored>(communicator: &impl Communicator, bags: &Blocks<T>) -> Result<Documents, EstimatorError> {
    let digests = agree(communicator, leaf_digests(bags))?;
    let (rank, last) = (communicator.rank(), communicator.ranks().saturating_sub(1));
    let encoded =
        |documents: &Documents| serde_json::to_vec(documents).map_err(|error| not_understood(&error));
    let decoded = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|error| not_understood(&error));
    let before = match rank.checked_sub(1) {
        None => Ok(Documents::default()),
        Some(before) => decoded(&communicator.receive(before).map_err(unreachable)?),
    };
    let until = before.and_then(|mut documents: Documents| {
        let features = bags.features();
        let mut own = BagTotals { features, bags: 0, non_empty: 0, tokens: f64::from_bits(documents.tokens) };
        own.add(bags)?;
        documents.tokens = own.tokens.to_bits();
        documents.ranks.push(RankDocuments {
            features,
            documents: own.bags,
            non_empty: own.non_empty,
            digests,
        });
        encoded(&documents)
    });
    // One that fails says so in the end, and later ranks are not left waiting.
    let mut bytes = until.as_ref().map_or(Vec::new(), Vec::clone);
    if rank < last {
        communicator.send(rank + 1, &bytes).map_err(unreachable)?;
    }
    communicator.broadcast(last, &mut bytes).map_err(unreachable)?;
    agree(communicator, until)?;
    agree(communicator, decoded(&bytes))
}

fn not_understood(error: &serde_json::Error) -> EstimatorError {
    DistributedError::Communication { problem: error.to_string() }.into()
}

/// The checkpoint of rank 0, on every rank.
fn share_checkpoint(
    communicator: &impl Communicator,
    checkpoint: Option<ModelFile>,
) -> Result<Option<ModelFile>, EstimatorError> {
    let own = checkpoint.filter(|_| communicator.rank() == 0);
    let bytes = own.map_or_else(|| Ok(Vec::new()), |file| file.to_bytes());
    let mut bytes = agree(communicator, bytes)?;
    communicator.broadcast(0, &mut bytes).map_err(unreachable)?;
    let file = if bytes.is_empty() { Ok(None) } else { ModelFile::from_bytes(&bytes).map(Some) };
    agree(communicator, file)
}
