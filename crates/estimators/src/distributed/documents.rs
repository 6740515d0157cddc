//! The documents of some leaves, as files.

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder, LabelColumn};
use countgrid_counts::{Bags, CsrBuf};
use countgrid_em::BLOCK_BAGS;
use countgrid_io::{ModelFile, NamedTable, TableData};

use super::{DistributedError, state::expect_kind};
use crate::{EstimatorError, Stored};

/// The bags of consecutive leaves of a collection, and their labels.
///
/// Files: tables `offsets` `[bag + 1]`, `features` `[entry]`, `counts` `[entry]` and, if documents have labels, `labels` `[bag]`, 2³² - 1
/// for none; texts `kind`, `version`, `first_leaf` and `number_of_features`.
#[derive(Debug)]
pub struct LeafDocuments<T> {
    first_leaf: usize,
    bags: CsrBuf<T>,
    labels: Option<Vec<u32>>, // one for each bag
}

/// That a document has no label.
const NO_LABEL: u32 = u32::MAX;

impl<T: Stored> LeafDocuments<T> {
    /// What the text `kind` of a file is.
    pub const KIND: &'static str = "documents of leaves";

    /// A collection in parts of so many leaves each, the last of which may have fewer; `visit` is given one after the other.
    ///
    /// ```
    /// use countgrid_corpus::{BlockLimits, Blocks, LabelColumn};
    /// use countgrid_counts::Dense;
    /// use countgrid_estimators::{EstimatorError, LeafDocuments};
    /// let bags = Blocks::from_bags(&Dense::new(2, &[1.0_f32, 0.0, 2.0, 1.0]).unwrap(), BlockLimits::default())?;
    /// LeafDocuments::split(&bags, &LabelColumn::default(), 1, |part| {
    ///     assert_eq!((part.first_leaf(), part.bags()?.len()), (0, 2));
    ///     Ok::<_, EstimatorError>(())
    /// })?;
    /// # Ok::<(), EstimatorError>(())
    /// ```
    ///
    /// Where blocks end within a leaf is not kept: the parts have those of [`BlockLimits::default`]. A free energy is added up by
    /// blocks, so a training on parts has its bits if `bags` have these, too.
    ///
    /// # Errors
    /// What `visit` returns; blocks that cannot be read.
    pub fn split<E: From<EstimatorError>>(
        bags: &Blocks<T>,
        labels: &LabelColumn,
        leaves: usize,
        mut visit: impl FnMut(Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let none = || CsrBuf::new(bags.features()).map_err(EstimatorError::from);
        let part_bags = leaves.max(1).saturating_mul(BLOCK_BAGS);
        let (mut part, mut first_bag) = (none()?, 0);
        let mut failed = None;
        let mut hand = |part: CsrBuf<T>, first: usize| {
            let of = |bag| labels.by_document.get(bag).copied().flatten().unwrap_or(NO_LABEL);
            let own = (!labels.names.is_empty()).then(|| (first..first + part.len()).map(of).collect());
            visit(Self { first_leaf: first / BLOCK_BAGS, bags: part, labels: own })
        };
        let read = bags.for_each_block(true, |first, block| {
            if first > 0 && first.is_multiple_of(part_bags) {
                let whole = std::mem::replace(&mut part, none()?);
                if let Err(error) = hand(whole, std::mem::replace(&mut first_bag, first)) {
                    failed = Some(error);
                    return Err(EstimatorError::Stopped);
                }
            }
            (0..block.len()).try_for_each(|bag| part.push_bag(block.entries(bag)))?;
            Ok(())
        });
        if let Some(error) = failed {
            return Err(error);
        }
        read?;
        if part.is_empty() { Ok(()) } else { hand(part, first_bag) }
    }

    /// The first leaf.
    #[must_use]
    pub fn first_leaf(&self) -> usize {
        self.first_leaf
    }

    /// The bags, in memory.
    ///
    /// # Errors
    /// None but for memory: they are valid.
    pub fn bags(&self) -> Result<Blocks<T>, EstimatorError> {
        Ok(Blocks::from_bags(&self.bags.as_view(), BlockLimits::in_memory())?)
    }

    /// Puts documents of consecutive parts together: all bags, and their labels.
    pub(super) fn gather(
        parts: impl IntoIterator<Item = Result<Self, EstimatorError>>,
        features: usize,
        names: Vec<String>,
    ) -> Result<(Blocks<T>, LabelColumn), EstimatorError> {
        let mut builder = BlocksBuilder::new(features, BlockLimits::default())?;
        let mut by_document = Vec::new();
        for part in parts {
            let part = part?;
            if part.first_leaf != builder.len().div_ceil(BLOCK_BAGS) || part.bags.features() != features {
                return Err(DistributedError::Documents { leaf: part.first_leaf }.into());
            }
            let known = |label: u32| (label as usize) < names.len() || label == NO_LABEL;
            match &part.labels {
                Some(labels) if !labels.iter().all(|&label| known(label)) => {
                    return Err(DistributedError::Table { name: "labels".to_owned() }.into());
                }
                Some(labels) => {
                    by_document
                        .extend(labels.iter().map(|&label| Some(label).filter(|&own| own != NO_LABEL)));
                }
                None => by_document.extend(std::iter::repeat_n(None, part.bags.len())),
            }
            (0..part.bags.len()).try_for_each(|bag| builder.push(part.bags.entries(bag)))?;
        }
        Ok((builder.finish()?, LabelColumn { names, by_document }))
    }

    /// The file.
    ///
    /// # Errors
    /// [`EstimatorError::Memory`] for more entries than a file can number, 2³².
    pub fn to_file(&self) -> Result<ModelFile, EstimatorError> {
        let too_many = |_| EstimatorError::Memory { elements: self.bags.indices().len() };
        let offsets: Result<Vec<u32>, _> =
            self.bags.offsets().iter().map(|&offset| u32::try_from(offset)).collect();
        let table =
            |name: &str, data: TableData| NamedTable { name: name.to_owned(), shape: vec![data.len()], data };
        let mut tables = vec![
            table("offsets", TableData::U32(offsets.map_err(too_many)?)),
            table("features", TableData::U32(self.bags.indices().to_vec())),
            table("counts", T::into_data(self.bags.counts().to_vec())),
        ];
        tables.extend(self.labels.as_ref().map(|labels| table("labels", TableData::U32(labels.clone()))));
        let texts = [
            ("kind", Self::KIND.to_owned()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("first_leaf", self.first_leaf.to_string()),
            ("number_of_features", self.bags.features().to_string()),
        ];
        Ok(ModelFile { tables, metadata: texts.map(|(key, text)| (key.to_owned(), text)).into() })
    }

    /// The documents in a file that was read.
    ///
    /// # Errors
    /// [`EstimatorError::Distributed`] for a file of another kind, or one that is not valid.
    pub fn from_file(file: ModelFile) -> Result<Self, EstimatorError> {
        expect_kind(&file, Self::KIND)?;
        let ModelFile { tables, metadata } = file;
        let number = |name: &str| -> Result<usize, DistributedError> {
            let found = metadata.get(name).and_then(|text| text.parse().ok());
            found.ok_or_else(|| DistributedError::Text { name: name.to_owned() })
        };
        let (first_leaf, features) = (number("first_leaf")?, number("number_of_features")?);
        let (mut offsets, mut indices, mut counts, mut labels) = (None, None, None, None);
        for NamedTable { name, data, .. } in tables {
            match (name.as_str(), data) {
                ("offsets", TableData::U32(table)) => offsets = Some(table),
                ("features", TableData::U32(table)) => indices = Some(table),
                ("counts", data) => counts = T::from_data(data),
                ("labels", TableData::U32(table)) => labels = Some(table),
                _ => return Err(DistributedError::Table { name }.into()),
            }
        }
        let missing = |name: &str| DistributedError::Table { name: name.to_owned() };
        let offsets = offsets.ok_or_else(|| missing("offsets"))?.into_iter().map(|offset| offset as usize);
        let indices = indices.ok_or_else(|| missing("features"))?;
        let counts = counts.ok_or_else(|| missing("counts"))?;
        let bags = CsrBuf::from_parts(features, offsets.collect(), indices, counts)
            .map_err(|error| DistributedError::Bags { problem: error.to_string() })?;
        if labels.as_ref().is_some_and(|labels| labels.len() != bags.len()) {
            return Err(missing("labels").into());
        }
        if bags.is_empty() {
            return Err(DistributedError::Nothing.into());
        }
        Ok(Self { first_leaf, bags, labels })
    }
}
