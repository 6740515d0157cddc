//! The E-step of some leaves of a collection.

use countgrid_corpus::{Blocks, CorpusError, Storable};
use countgrid_counts::{Bags, Csr};
use countgrid_em::{
    BLOCK_BAGS, Fit, Learn, PartialSum, Reduction, Table, TableBuffer, Tables, TablesMut, TablesMutExt,
};

use crate::{BagError, BlockLearner, DataDigest, EstimatorError, Stored, blocks::zeros};

/// Sums of a node of the tree: one table with the elements of all tables of the statistics.
pub(super) type NodeSums<T> = TableBuffer<T, [Table; 1], Vec<T>>;
/// The scalar of a model's statistics.
type ScalarOf<L> = <<L as Learn>::Statistics as Tables>::Scalar;

/// Sums of a node from their elements.
pub(super) fn node_sums<T: Stored>(elements: Vec<T>) -> Result<NodeSums<T>, EstimatorError> {
    Ok(TableBuffer::new([Table::new("sums", 1, elements.len())], elements)?)
}

/// A learner that computes sums of leaves by themselves.
///
/// Example: [`DistributedTraining`](crate::DistributedTraining).
pub trait FitLeaves<D: ?Sized>: Learn {
    /// The sums of `data`, whose first bag is the first of leaf `first_leaf`, as few nodes of the tree as there can be. The
    /// statistics are scratch, and cleared.
    ///
    /// # Errors
    /// Those of an E-step.
    fn leaf_sums(
        &self,
        data: &D,
        first_leaf: usize,
        statistics: &mut Self::Statistics,
    ) -> Result<Vec<PartialSum<NodeSums<ScalarOf<Self>>>>, EstimatorError>;
}

impl<C, L> FitLeaves<Blocks<C>> for BlockLearner<L>
where
    C: Storable,
    L: Learn<Error: BagError, Statistics: TablesMut<Scalar: Stored>> + for<'a> Fit<Csr<'a, C>>,
{
    fn leaf_sums(
        &self,
        bags: &Blocks<C>,
        first_leaf: usize,
        statistics: &mut Self::Statistics,
    ) -> Result<Vec<PartialSum<NodeSums<ScalarOf<Self>>>>, EstimatorError> {
        let sums = statistics.sums_mut();
        let mut reduction = Reduction::from_block(first_leaf);
        let mut open: Option<(usize, f64)> = None; // the leaf that goes on, and its free energy so far
        sums.clear();
        let mut close = |sums: &mut L::Statistics, free_energy| {
            let mut node = match reduction.take_spare() {
                Some(spare) => spare,
                None => node_sums(zeros(sums.buffer().len())?)?,
            };
            node.buffer_mut().copy_from_slice(sums.buffer());
            sums.clear();
            reduction.push(node, free_energy).map_err(EstimatorError::from)
        };
        bags.for_each_block(self.read_ahead, |first, block| {
            let leaf = first / BLOCK_BAGS;
            if let Some((_, free_energy)) = open.filter(|&(before, _)| before != leaf) {
                close(sums, free_energy)?;
                open = None;
            }
            let bag = first_leaf.saturating_mul(BLOCK_BAGS).saturating_add(first);
            let added = self
                .learner
                .expectation(&block, sums)
                .map_err(|error| -> EstimatorError { error.after(bag).into() })?;
            open = Some((leaf, open.map_or(added, |(_, sum)| sum + added)));
            Ok::<_, EstimatorError>(())
        })?;
        if let Some((_, free_energy)) = open {
            close(sums, free_energy)?;
        }
        Ok(reduction.into_parts())
    }
}

/// The digest of every leaf of a collection, or of consecutive leaves of one: by these a distributed training knows its documents.
///
/// ```
/// use countgrid_corpus::{BlockLimits, Blocks};
/// use countgrid_counts::Dense;
/// use countgrid_estimators::leaf_digests;
/// let of = |counts: &[f32]| leaf_digests(&Blocks::from_bags(&Dense::new(2, counts).unwrap(), BlockLimits::default())?);
/// assert_eq!(of(&[1.0, 0.0, 2.0, 1.0])?.len(), 1);
/// assert_ne!(of(&[1.0, 0.0, 2.0, 1.0])?, of(&[1.0, 0.0, 2.0, 2.0])?);
/// # Ok::<(), countgrid_estimators::EstimatorError>(())
/// ```
///
/// # Errors
/// Blocks that cannot be read.
pub fn leaf_digests<C: Stored>(bags: &Blocks<C>) -> Result<Vec<u64>, EstimatorError> {
    let mut digests: Vec<DataDigest> = Vec::new();
    bags.for_each_block(false, |first, block| {
        if first.is_multiple_of(BLOCK_BAGS) {
            digests.push(DataDigest::new(bags.features()));
        }
        if let Some(digest) = digests.last_mut().filter(|_| !block.is_empty()) {
            digest.add_bags(&block);
        }
        Ok::<_, CorpusError>(())
    })?;
    Ok(digests.iter().map(DataDigest::hash).collect())
}
