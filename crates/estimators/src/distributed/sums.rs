//! Sums of leaves, as they are sent and added up.

use std::collections::BTreeMap;

use countgrid_em::{PartialSum, Tables, merge_parts};
use countgrid_io::{ModelFile, NamedTable};

use super::{
    DistributedError,
    leaves::{NodeSums, node_sums},
    state::expect_kind,
};
use crate::{EstimatorError, Stored};

/// The statistics and free energies of some leaves under the model of a state, those of siblings with all of their leaves added
/// up.
///
/// Files: tables `leaves.FIRST.COUNT`, the elements of all tables of the statistics; texts `kind`, `version`, `state`, the checksum
/// of the state, and `free_energy.FIRST.COUNT`, in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSums<T> {
    state: String,
    nodes: BTreeMap<usize, PartialSum<NodeSums<T>>>, // by their first leaf; disjoint, no two of them whole siblings
}

impl<T: Stored> LeafSums<T> {
    /// What the text `kind` of a file is.
    pub const KIND: &'static str = "sums of leaves";

    pub(super) fn new(state: String, parts: Vec<PartialSum<NodeSums<T>>>) -> Result<Self, EstimatorError> {
        let mut sums = Self { state, nodes: BTreeMap::new() };
        parts.into_iter().try_for_each(|part| sums.insert(part))?;
        Ok(sums)
    }

    /// The checksum of the state under whose model these are.
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }

    /// The leaves of each node: the first, and how many.
    pub fn nodes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.nodes.values().map(|node| (node.first_block(), node.blocks()))
    }

    /// Number of leaves.
    #[must_use]
    pub fn leaves(&self) -> usize {
        self.nodes.values().fold(0, |leaves, node| leaves.saturating_add(node.blocks()))
    }

    /// Adds others, of whichever leaves: siblings of the tree are added up, in whatever order they come.
    ///
    /// ```
    /// use countgrid_estimators::{DistributedError, EstimatorError, LeafSums};
    /// use countgrid_io::{ModelFile, NamedTable, TableData};
    ///
    /// let sums = |leaf: usize, x: f32| {
    ///     let name = format!("leaves.{leaf}.1");
    ///     let texts = [("kind", "sums of leaves"), ("state", "0000abcd"), (&format!("free_energy.{leaf}.1"), "2.5")];
    ///     let metadata = texts.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
    ///     let table = NamedTable { name, shape: vec![1], data: TableData::F32(vec![x]) };
    ///     LeafSums::<f32>::from_file(ModelFile { tables: vec![table], metadata })
    /// };
    /// let mut all = sums(3, 1.0)?;
    /// all.merge(sums(1, 4.0)?)?;
    /// assert!(all.nodes().eq([(1, 1), (3, 1)])); // neighbours in neither pair
    /// all.merge(sums(2, 2.0)?)?;
    /// all.merge(sums(0, 8.0)?)?;
    /// assert!(all.nodes().eq([(0, 4)]));
    /// let twice = all.merge(sums(2, 2.0)?);
    /// assert!(matches!(twice, Err(EstimatorError::Distributed(DistributedError::Twice { leaf: 2 }))));
    /// # Ok::<(), EstimatorError>(())
    /// ```
    ///
    /// # Errors
    /// [`DistributedError::State`], [`DistributedError::Length`], [`DistributedError::Twice`]. Nothing is then added.
    pub fn merge(&mut self, other: Self) -> Result<(), EstimatorError> {
        if other.state != self.state {
            let (expected, found) = (self.state.clone(), other.state);
            return Err(DistributedError::State { expected, found }.into());
        }
        other.nodes.values().try_for_each(|node| self.check(node))?;
        other.nodes.into_values().try_for_each(|node| self.insert(node))
    }

    /// Whether a node can be added.
    fn check(&self, node: &PartialSum<NodeSums<T>>) -> Result<(), DistributedError> {
        let end = node.first_block().saturating_add(node.blocks());
        let before = self.nodes.range(..end).next_back().map(|(_, last)| last);
        if let Some(last) = before.filter(|last| last.first_block() + last.blocks() > node.first_block()) {
            return Err(DistributedError::Twice { leaf: last.first_block().max(node.first_block()) });
        }
        let elements = |node: &PartialSum<NodeSums<T>>| node.statistics().buffer().len();
        let expected = self.nodes.values().next().map_or(elements(node), elements);
        match elements(node) {
            found if found != expected => Err(DistributedError::Length { expected, found }),
            _ => Ok(()),
        }
    }

    fn insert(&mut self, mut node: PartialSum<NodeSums<T>>) -> Result<(), EstimatorError> {
        self.check(&node)?;
        // As digits carry.
        loop {
            let (first, blocks) = (node.first_block(), node.blocks());
            let sibling = first ^ blocks;
            if self.nodes.get(&sibling).is_none_or(|sibling| sibling.blocks() != blocks) {
                break;
            }
            let Some(other) = self.nodes.remove(&sibling) else { break };
            let (mut left, right) = if sibling < first { (other, node) } else { (node, other) };
            left.merge(&right)?;
            node = left;
        }
        self.nodes.insert(node.first_block(), node);
        Ok(())
    }

    /// The sum of all leaves, of which there have to be so many.
    pub(super) fn total(&self, leaves: usize) -> Result<PartialSum<NodeSums<T>>, EstimatorError> {
        let mut next = 0;
        for (first, blocks) in self.nodes() {
            if first != next {
                return Err(DistributedError::Missing { leaf: next, leaves }.into());
            }
            next = first + blocks;
        }
        if next < leaves {
            return Err(DistributedError::Missing { leaf: next, leaves }.into());
        }
        if next > leaves {
            return Err(DistributedError::NoLeaf { leaf: next - 1, leaves }.into());
        }
        let total = merge_parts(self.nodes.values().cloned().collect())?;
        total.ok_or(DistributedError::Nothing.into())
    }

    /// The file.
    #[must_use]
    pub fn to_file(&self) -> ModelFile {
        let mut file = ModelFile::default();
        let version = env!("CARGO_PKG_VERSION");
        let texts = [("kind", Self::KIND), ("version", version), ("state", self.state.as_str())];
        file.metadata.extend(texts.map(|(key, text)| (key.to_owned(), text.to_owned())));
        self.nodes.values().for_each(|node| write_node(node, &mut file));
        file
    }

    /// The sums in a file that was read.
    ///
    /// # Errors
    /// [`EstimatorError::Distributed`] for a file of another kind, or one that is not valid.
    pub fn from_file(file: ModelFile) -> Result<Self, EstimatorError> {
        expect_kind(&file, Self::KIND)?;
        let text = |name: &str| {
            let text = file.metadata.get(name);
            text.ok_or_else(|| DistributedError::Text { name: name.to_owned() })
        };
        let mut parts = Vec::with_capacity(file.tables.len());
        for table in file.tables {
            let part = read_node(table, &file.metadata)?;
            if !part.blocks().is_power_of_two() {
                let name = table_of(part.first_block(), part.blocks());
                return Err(DistributedError::Table { name }.into()); // nodes are whole
            }
            parts.push(part);
        }
        if parts.is_empty() {
            return Err(DistributedError::Nothing.into());
        }
        Self::new(text("state")?.clone(), parts)
    }
}

/// The table of a node.
fn table_of(first: usize, blocks: usize) -> String {
    format!("leaves.{first}.{blocks}")
}

/// The text of a node's free energy.
fn free_energy_of(first: usize, blocks: usize) -> String {
    format!("free_energy.{first}.{blocks}")
}

/// Adds a node to a file: its table, and the text of its free energy.
pub(super) fn write_node<T: Stored>(node: &PartialSum<NodeSums<T>>, file: &mut ModelFile) {
    let (first, blocks, sums) = (node.first_block(), node.blocks(), node.statistics().buffer());
    file.tables.push(NamedTable {
        name: table_of(first, blocks),
        shape: vec![sums.len()],
        data: T::into_data(sums.to_vec()),
    });
    file.metadata.insert(free_energy_of(first, blocks), format!("{:?}", node.free_energy()));
}

/// The node in a table, and in the texts of its file.
pub(super) fn read_node<T: Stored>(
    table: NamedTable,
    texts: &BTreeMap<String, String>,
) -> Result<PartialSum<NodeSums<T>>, EstimatorError> {
    let refused = || DistributedError::Table { name: table.name.clone() };
    let leaves = table.name.strip_prefix("leaves.").ok_or_else(refused)?;
    let (first, blocks) = leaves.split_once('.').ok_or_else(refused)?;
    let first: usize = first.parse().map_err(|_| refused())?;
    let blocks: usize = blocks.parse().map_err(|_| refused())?;
    let name = free_energy_of(first, blocks);
    let free_energy = texts.get(&name).and_then(|text| text.parse().ok());
    let free_energy = free_energy.ok_or(DistributedError::Text { name })?;
    let elements = T::from_data(table.data).ok_or(DistributedError::Table { name: table.name })?;
    let part = PartialSum::new(first, blocks, node_sums(elements)?, free_energy);
    Ok(part.map_err(|_| DistributedError::Table { name: table_of(first, blocks) })?)
}
