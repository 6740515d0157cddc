//! Counting documents against an existing vocabulary.

use std::collections::HashMap;

use countgrid_io::Item;
use countgrid_math::Real;
use countgrid_text::{TextOptions, Tokenizer, Vocabulary};

use crate::{
    Corpus, CorpusError, CorpusKind, CorpusOptions, DocumentInfo, Storable,
    intake::{Intake, scaled},
    rows::Rows,
};

/// Takes items, counts the words that are known.
#[derive(Debug)]
pub(crate) struct Recount<'a, T> {
    options: &'a CorpusOptions,
    words: &'a [String],
    tokenizer: &'a Tokenizer,
    known: Vocabulary<'a>,
    intake: Intake,
    rows: Rows<T>,
    columns: Vec<String>, // of a table
    feature_of: Vec<Option<u32>>,
    kind: CorpusKind,
}

impl<'a, T: Real + Storable> Recount<'a, T> {
    pub(crate) fn new(
        words: &'a [String],
        tokenizer: &'a Tokenizer,
        options: &'a CorpusOptions,
    ) -> Result<Self, CorpusError> {
        Ok(Self {
            options,
            words,
            tokenizer,
            known: Vocabulary::new(words, tokenizer),
            intake: Intake::new(options),
            rows: Rows::new(words.to_vec(), options.scaling.tokens, options.blocks)?,
            columns: Vec::new(),
            feature_of: Vec::new(),
            kind: CorpusKind::Text,
        })
    }

    /// Columns that are not there may come with a later one of so many paths.
    #[cfg(feature = "files")]
    pub(crate) fn expect_paths(&mut self, paths: usize) {
        self.intake.expect_paths(paths);
    }

    pub(crate) fn item(&mut self, item: Item<'_>) -> Result<(), CorpusError> {
        match self.intake.take(item)? {
            Some(Item::Document(document)) => {
                let bag = self.known.count(&document.text);
                self.rows.push(bag.into_iter().map(|(word, count)| (word as usize, count)), |word| {
                    u32::try_from(word).ok()
                })?;
                if self.options.keep_documents {
                    let tokens = self.tokenizer.tokens(&document.text).count();
                    self.intake.describe(document, tokens as f64, self.options);
                }
            }
            Some(Item::Vocabulary(columns)) => {
                let place: HashMap<&str, u32> = self.words.iter().map(String::as_str).zip(0u32..).collect();
                self.feature_of = columns.iter().map(|word| place.get(word.as_str()).copied()).collect();
                (self.columns, self.kind) = (columns, CorpusKind::Counts);
            }
            Some(Item::Bag(numbers)) => {
                let bag = scaled(self.options, numbers, &self.columns, self.rows.len(), &self.intake.place)?;
                let bag = bag.iter().map(|&(word, count)| (word as usize, count));
                self.rows.push(bag.clone(), |word| *self.feature_of.get(word)?)?;
                if self.options.keep_documents {
                    let (place, tokens) = (self.intake.documents.len(), bag.map(|(_, count)| count).sum());
                    let id = self.intake.ids.get_mut(place).map(std::mem::take);
                    self.intake.documents.push(DocumentInfo::from_bag(id, place, String::new(), tokens));
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn finish(self, text: &TextOptions) -> Result<Corpus<T>, CorpusError> {
        let Self { options, mut intake, rows, kind, .. } = self;
        let (labels, (columns, left_out_columns)) =
            (intake.labels(rows.len()), intake.columns(rows.len(), None)?);
        let corpus = Corpus::new(rows.finish()?, intake.documents, kind);
        Ok(Corpus {
            labels,
            columns,
            left_out_columns,
            text: text.clone(),
            scaling: options.scaling,
            ..corpus
        })
    }
}
