//! What is kept of documents apart from their words, and numbers as counts.

use std::{path::Path, sync::Arc};

use countgrid_io::{Document, Item};

use crate::{
    Column, CorpusError, CorpusOptions, DocumentInfo, LabelColumn, column_builder::ColumnsBuilder,
    columns::retain_drawn, labels::LabelsBuilder,
};

/// Labels, columns and descriptions of documents as they are read.
#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) documents: Vec<DocumentInfo>,
    pub(crate) ids: Vec<String>,                // of the bags of a table
    pub(crate) place: Option<(Arc<Path>, u64)>, // of the last of them, file and line
    label_depth: Option<usize>,
    kept: usize, // bytes of texts
    labels: LabelsBuilder,
    columns: Option<ColumnsBuilder>, // none once they are taken
}

impl Intake {
    pub(crate) fn new(options: &CorpusOptions) -> Self {
        Self {
            documents: Vec::new(),
            ids: Vec::new(),
            place: None,
            label_depth: options.label_depth,
            kept: 0,
            labels: LabelsBuilder::default(),
            columns: Some(ColumnsBuilder::new(&options.keep_columns)),
        }
    }

    #[cfg(feature = "files")]
    pub(crate) fn expect_paths(&mut self, paths: usize) {
        self.columns.iter_mut().for_each(|columns| columns.expect_more(paths > 1));
    }

    /// Takes from an item what it has besides words and counts, and returns the item if it has words or counts.
    pub(crate) fn take<'a>(&mut self, item: Item<'a>) -> Result<Option<Item<'a>>, CorpusError> {
        match item {
            Item::Document(mut document) => {
                let label = document.label.take();
                self.labels.push(match self.label_depth {
                    Some(depth) => folder_at(&document.id, depth).map(str::to_owned),
                    None => label,
                });
                return Ok(Some(Item::Document(document)));
            }
            Item::About { id, label, file, line } => {
                self.place = Some((file, line));
                self.labels.push(label);
                self.ids.push(id);
            }
            Item::Labels(_) if self.label_depth.is_some() => {}
            Item::Labels(labels) => {
                self.labels = LabelsBuilder::default();
                labels.into_iter().for_each(|label| self.labels.push(label));
            }
            Item::OtherColumns(names) => {
                let before = self.labels.len();
                self.columns.as_mut().map_or(Ok(()), |columns| columns.names(names, before))?;
            }
            Item::OtherFields(fields) => self.columns.iter_mut().for_each(|columns| columns.push(fields)),
            item => return Ok(Some(item)),
        }
        Ok(None)
    }

    /// Keeps a text with so many tokens, as far as the options have room for it.
    pub(crate) fn describe(&mut self, document: Document, tokens: f64, options: &CorpusOptions) {
        let room = options.keep_texts.saturating_sub(self.kept);
        let info = DocumentInfo::from_text(document, tokens, room);
        self.kept += info.text.len();
        self.documents.push(info);
    }

    /// The labels of this many documents, some of which may have none.
    pub(crate) fn labels(&mut self, documents: usize) -> LabelColumn {
        let mut labels = std::mem::take(&mut self.labels);
        while labels.len() < documents {
            labels.push(None); // most files of counts have none
        }
        labels.finish()
    }

    /// Forgets the documents that were not drawn.
    pub(crate) fn retain(&mut self, drawn: &[bool]) {
        retain_drawn(&mut self.documents, drawn);
        retain_drawn(&mut self.ids, drawn);
    }

    /// The other columns of this many documents, and the names of those for which there was no room.
    pub(crate) fn columns(
        &mut self,
        documents: usize,
        drawn: Option<&[bool]>,
    ) -> Result<(Vec<Column>, Vec<String>), CorpusError> {
        self.columns.take().map_or_else(|| Ok(Default::default()), |columns| columns.finish(documents, drawn))
    }
}

/// The folder at a level, from 1 for the outermost, of the path of a file inside a folder.
fn folder_at(path: &str, depth: usize) -> Option<&str> {
    let (folders, _) = path.rsplit_once('/')?;
    folders.split('/').nth(depth.checked_sub(1)?)
}

/// A bag of numbers as a bag of counts; `bag` is its number, from 0.
pub(crate) fn scaled<'a>(
    options: &CorpusOptions,
    numbers: &'a [(u32, f64)],
    columns: &[String],
    bag: usize,
    place: &Option<(Arc<Path>, u64)>,
) -> Result<std::borrow::Cow<'a, [(u32, f64)]>, CorpusError> {
    options.scaling.apply(numbers, columns.len()).map_err(|feature| {
        let number = numbers.iter().find(|(own, _)| *own == feature).map_or(0.0, |(_, number)| *number);
        let feature = columns.get(feature as usize).cloned().unwrap_or_default();
        CorpusError::NegativeNumber { bag, feature, number, place: place.clone() }
    })
}
