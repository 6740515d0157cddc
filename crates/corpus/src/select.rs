//! Words are counted as documents come in; once all are there, the vocabulary is selected.

use std::{path::Path, sync::Arc};

use countgrid_counts::Bags;
use countgrid_io::Item;
use countgrid_math::Real;
use countgrid_text::{Counter, Selection, TextOptions};

use crate::{
    Blocks, BlocksBuilder, Corpus, CorpusError, CorpusKind, CorpusOptions, DocumentInfo, KeepColumns,
    LabelColumn, NearDuplicate, Scale, Storable,
    boilerplate::{self, Lines},
    document::SNIPPET_WORDS,
    intake::{Intake, scaled},
    near_duplicates::{Shingles, Sketches},
    rows::Rows,
};

/// Words of a collection are numbered by `u32`.
const FORMS: usize = u32::MAX as usize;

/// Takes items, selects the vocabulary.
#[derive(Debug)]
pub(crate) struct Selector<'o> {
    options: &'o CorpusOptions,
    intake: Intake,
    words: Counter,
    forms: BlocksBuilder<u32>, // bags of words as they are written, of texts
    sketches: Option<(Sketches, Shingles)>, // of texts, if near-duplicates are to be left out
    lines: Option<Lines>,      // of texts, if those are to be left out that most of them have
    table: Option<Table>,
}

/// Counts as they are read.
#[derive(Debug)]
struct Table {
    vocabulary: Vec<String>,
    spread: Vec<usize>, // documents that each word is in
    counts: BlocksBuilder<f64>,
    refused: Vec<(usize, CorpusError)>, // bags, which matter only if they are drawn
}

impl<'o> Selector<'o> {
    pub(crate) fn new(options: &'o CorpusOptions) -> Result<Self, CorpusError> {
        // Sequences that are nearly the same, such as genes, are no copies.
        let is_compared = !options.keep_near_duplicates && options.words.ngrams.is_none();
        let has_lines = !options.keep_boilerplate && options.words.ngrams.is_none();
        Ok(Self {
            options,
            sketches: is_compared.then(|| (Sketches::new(), Shingles::default())),
            lines: has_lines.then(Lines::default),
            intake: Intake::new(options),
            words: Counter::new(&options.words.for_text())?,
            forms: BlocksBuilder::new(FORMS, options.blocks)?,
            table: None,
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
                if self.options.scaling.scale != Scale::None {
                    return Err(CorpusError::Unused {
                        path: document.file.to_path_buf(),
                        option: "scaling.scale",
                        used_for: "numbers",
                        found: "texts".to_owned(),
                    });
                }
                let bag = match &mut self.sketches {
                    None => self.words.read(&document.text)?,
                    Some((sketches, shingles)) => {
                        shingles.clear();
                        let bag = self.words.read_with(&document.text, |word| shingles.push(word))?;
                        sketches.push(shingles);
                        bag
                    }
                };
                let row = bag.iter().map(|&(form, count)| (form as usize, count));
                match &mut self.lines {
                    None => self.forms.push(row)?,
                    Some(lines) => {
                        let row: Vec<_> = row.collect();
                        let lines = lines.push(&document.file, self.words.lines());
                        let lines = lines.into_iter().map(|(line, hash)| (line as usize, hash));
                        self.forms.push(row.into_iter().chain(lines))?;
                    }
                }
                if self.options.keep_documents {
                    self.intake.describe(document, 0.0, self.options); // counted once the languages are known
                }
            }
            Some(Item::Vocabulary(vocabulary)) => {
                self.table = Some(Table {
                    spread: vec![0; vocabulary.len()],
                    counts: BlocksBuilder::new(vocabulary.len(), self.options.blocks)?,
                    refused: Vec::new(),
                    vocabulary,
                });
            }
            Some(Item::Bag(numbers)) => {
                if let Some(table) = &mut self.table {
                    table.push(self.options, numbers, &self.intake.place)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn finish<T: Real + Storable>(self) -> Result<Corpus<T>, CorpusError> {
        let Self { options, mut intake, words, forms, sketches, lines, table } = self;
        let labels = intake.labels(forms.len() + table.as_ref().map_or(0, |table| table.counts.len()));
        let mut drawn = options.sample.map(|sample| sample.draw(&labels));
        let repeats = sketches.map_or_else(Vec::new, |(sketches, _)| {
            sketches.near_duplicates(|document| is_drawn(drawn.as_deref(), document))
        });
        if !repeats.is_empty() {
            let drawn = drawn.get_or_insert_with(|| vec![true; labels.len()]);
            repeats.iter().for_each(|&(document, _)| drawn[document as usize] = false);
        }
        let drawn = drawn.as_deref();
        let near_duplicates = NearDuplicate::describe(&repeats, drawn, &intake.documents);
        let (mut columns, left_out_columns) = intake.columns(labels.len(), drawn)?;
        let labels = match drawn {
            None => labels,
            Some(drawn) => {
                intake.retain(drawn);
                labels.retain(drawn)
            }
        };
        let mut corpus = match table {
            Some(table) => table.finish(options, intake, drawn)?,
            None => {
                let forms = forms.finish()?;
                let boilerplate = lines
                    .map(|lines| lines.finish(&forms, |document| is_drawn(drawn, document)))
                    .transpose()?;
                let is_sequence = options.words.phrases;
                let leave_out = |row: &mut Vec<(u32, u32)>| {
                    boilerplate.iter().for_each(|lines| lines.leave_out(row, is_sequence));
                };
                let mut words = words.finish()?;
                let lines = boilerplate.as_ref().map_or_else(Vec::new, |lines| lines.describe(&words));
                loop {
                    let mut documents = intake.documents.iter_mut();
                    for_each_drawn(&forms, drawn, |document, bag| {
                        leave_out(bag);
                        let tokens = words.add(document, bag);
                        if let Some(info) = documents.next() {
                            info.tokens = tokens as f64;
                        }
                    })?;
                    if !words.again() {
                        break;
                    }
                }
                let selected = words.select();
                let mut rows =
                    Rows::new(selected.vocabulary.clone(), options.scaling.tokens, options.blocks)?;
                let mut row = Vec::new();
                forms.consume(|first, block| {
                    for bag in (0..block.len()).filter(|bag| is_drawn(drawn, first + bag)) {
                        row.clear();
                        row.extend(block.entries(bag).map(|(form, count)| (form as u32, count)));
                        leave_out(&mut row);
                        let bag = selected.bag(first + bag, &row).map(|(word, count)| (word as usize, count));
                        rows.push(bag, |word| u32::try_from(word).ok())?;
                    }
                    Ok::<_, CorpusError>(())
                })?;
                let corpus = Corpus::new(rows.finish()?, intake.documents, CorpusKind::Text);
                let text = TextOptions { boilerplate: boilerplate::words_of(&lines), ..selected.options };
                let (words, languages) = (Some(selected.summary), selected.languages);
                Corpus { words, languages, text, boilerplate: lines, ..corpus }
            }
        };
        if options.keep_columns == KeepColumns::All {
            columns.extend(NearDuplicate::column(&near_duplicates, labels.len()));
        }
        (corpus.labels, corpus.columns, corpus.left_out_columns) = (labels, columns, left_out_columns);
        corpus.near_duplicates = near_duplicates;
        (corpus.scaling, corpus.sample) = (options.scaling, options.sample);
        Ok(corpus)
    }
}

impl Table {
    fn push(
        &mut self,
        options: &CorpusOptions,
        numbers: &[(u32, f64)],
        place: &Option<(Arc<Path>, u64)>,
    ) -> Result<(), CorpusError> {
        let bag = match scaled(options, numbers, &self.vocabulary, self.counts.len(), place) {
            Ok(bag) => bag,
            // Whether this bag is drawn is not known yet.
            Err(error) if options.sample.is_some() => {
                self.refused.push((self.counts.len(), error));
                return self.counts.push([]);
            }
            Err(error) => return Err(error),
        };
        for &(word, _) in bag.iter() {
            if let Some(spread) = self.spread.get_mut(word as usize) {
                *spread += 1;
            }
        }
        self.counts.push(bag.iter().map(|&(word, count)| (word as usize, count)))
    }

    /// Counts keep the vocabulary they come with, as far as it is no larger than asked for.
    fn finish<T: Real + Storable>(
        self,
        options: &CorpusOptions,
        mut intake: Intake,
        drawn: Option<&[bool]>,
    ) -> Result<Corpus<T>, CorpusError> {
        let Self { mut vocabulary, mut spread, counts, refused } = self;
        if let Some((_, error)) = refused.into_iter().find(|&(bag, _)| is_drawn(drawn, bag)) {
            return Err(error);
        }
        let counts = counts.finish()?;
        let mut documents = counts.len();
        if let Some(drawn) = drawn {
            (documents, spread) = (0, vec![0; spread.len()]);
            counts.for_each_block(true, |first, block| {
                for bag in (0..block.len()).filter(|bag| is_drawn(Some(drawn), first + bag)) {
                    documents += 1;
                    block.entries(bag).for_each(|(word, _)| spread[word] += 1);
                }
                Ok::<_, CorpusError>(())
            })?;
        }
        let selection = Selection::new(&spread, documents, &options.words.for_counts());
        let mut feature_of = vec![None; spread.len()];
        selection.kept.iter().zip(0u32..).for_each(|(&old, new)| feature_of[old] = Some(new));
        let words = selection.kept.iter().filter_map(|&word| vocabulary.get_mut(word).map(std::mem::take));
        let mut rows = Rows::new(words.collect(), options.scaling.tokens, options.blocks)?;
        let mut ids = intake.ids.drain(..);
        counts.consume(|first, block| {
            for bag in (0..block.len()).filter(|bag| is_drawn(drawn, first + bag)) {
                let row = rows.push(block.entries(bag), |word| *feature_of.get(word)?)?;
                if options.keep_documents {
                    let mut top: Vec<_> = row.to_vec();
                    top.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                    let top = top.iter().take(SNIPPET_WORDS);
                    let top = top.filter_map(|&(word, _)| Some(rows.vocabulary.get(word)?.as_str()));
                    let snippet = top.collect::<Vec<_>>().join(", ");
                    let (id, place) = (ids.next(), intake.documents.len());
                    let info = DocumentInfo::from_bag(id, place, snippet, block.total(bag));
                    intake.documents.push(info);
                }
            }
            Ok::<_, CorpusError>(())
        })?;
        drop(ids);
        let corpus = Corpus::new(rows.finish()?, intake.documents, CorpusKind::Counts);
        Ok(Corpus { text: options.words.without_text(), ..corpus })
    }
}

fn is_drawn(drawn: Option<&[bool]>, document: usize) -> bool {
    drawn.is_none_or(|drawn| drawn.get(document) == Some(&true))
}

/// Calls `visit` with the numbers and the bags of the documents that were drawn.
fn for_each_drawn(
    bags: &Blocks<u32>,
    drawn: Option<&[bool]>,
    mut visit: impl FnMut(usize, &mut Vec<(u32, u32)>),
) -> Result<(), CorpusError> {
    let mut row = Vec::new();
    bags.for_each_block(true, |first, block| {
        for bag in (0..block.len()).filter(|bag| is_drawn(drawn, first + bag)) {
            row.clear();
            row.extend(block.entries(bag).map(|(form, count)| (form as u32, count)));
            visit(first + bag, &mut row);
        }
        Ok(())
    })
}

impl LabelColumn {
    /// The labels of the documents that were drawn.
    fn retain(self, drawn: &[bool]) -> Self {
        let documents = 0..self.len();
        let drawn = documents.filter(|&document| drawn.get(document) == Some(&true));
        Self::from_labels(drawn.map(|document| self.name(document).map(str::to_owned)))
    }
}
