//! From a path to bags of words.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use countgrid_counts::{Bags, SequencesBuf};
use countgrid_io::{
    Columns, Document, Item, Limits, ReadOptions, SequenceOptions, Summary, cargo_docs, read_sequences, visit,
};
use countgrid_map::truncate_text;
use countgrid_math::Real;
use countgrid_text::{
    Counter, Selected, Selection, StopWords, TextError, TextOptions, Tokenizer, Vocabulary,
};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use serde_json::{Value, json};

use crate::{
    args::{ReadArgs, WordArgs},
    failure::Failure,
    labels::Labelling,
    memory,
    report::{Report, thousands},
    scaling::{Scaling, scale_to},
    store::{Builder, Plan, Storable, Store},
};

/// Doc comments that are a fair sample of what Cargo has unpacked.
const CARGO_DOCS: usize = 6_000;
/// Characters of a document that a map shows.
const SNIPPET: usize = 200;
/// Words of a bag without text that a map shows.
const SNIPPET_WORDS: usize = 16;

/// Terms of a collection are numbered by `u32`.
const TERMS: usize = u32::MAX as usize;

/// What a document is, apart from its words.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) snippet: String,
    /// Words of any kind but stop words.
    pub(crate) tokens: f64,
}

impl Entry {
    /// What tables of documents begin with.
    pub(crate) const COLUMNS: [&'static str; 5] = ["id", "title", "label", "tokens", "known_tokens"];

    /// Those columns of a document with this label and so many tokens of the vocabulary.
    pub(crate) fn fields(&self, label: &str, known_tokens: f64) -> [String; 5] {
        let (tokens, known_tokens) = (self.tokens.to_string(), known_tokens.to_string());
        [self.id.clone(), self.title.clone(), label.to_owned(), tokens, known_tokens]
    }
}

/// Documents as bags over a vocabulary.
#[derive(Debug)]
pub(crate) struct Corpus<T> {
    /// How to call it: the name of the file or folder.
    pub(crate) name: String,
    /// One for each document, if they were asked for.
    pub(crate) entries: Vec<Entry>,
    pub(crate) labels: Labelling,
    pub(crate) vocabulary: Vec<String>,
    /// Tokens of the vocabulary, before counts were rounded.
    pub(crate) tokens: f64,
    /// How numbers became counts.
    pub(crate) scaling: Scaling,
    /// Whether counts were read, not text.
    pub(crate) counted: bool,
    /// Documents that have a word of the vocabulary.
    pub(crate) nonempty: usize,
    /// The counts as the fit takes them, each rounded once, to nearest: those up to 2²⁴ in `f32` and 2⁵³ in `f64`
    /// are exact. A fraction that rounds to zero is left out.
    pub(crate) bags: Store<T>,
}

/// Where documents come from, and what is kept of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    /// None: Cargo's doc comments.
    pub(crate) path: Option<&'a Path>,
    pub(crate) read: &'a ReadArgs,
    /// Files that the run is to write. They are not read: they may be there from the last time.
    pub(crate) outputs: &'a [&'a Path],
    /// From numbers to counts.
    pub(crate) scaling: Scaling,
    /// Whether titles and the like are kept, for a table or a page.
    pub(crate) entries: bool,
    /// Which documents, if not all.
    pub(crate) sample: Option<Sample>,
    /// Whether counts go to a temporary file in any case.
    pub(crate) stream: bool,
    /// Entries of a block of counts.
    pub(crate) block_entries: usize,
}

/// So many documents of each label, and as many of those without, or all where there are fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) of_each: usize,
    pub(crate) seed: u64,
}

impl Sample {
    /// Which documents are drawn, in their order.
    fn draw(self, labels: &Labelling) -> Vec<bool> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut groups = vec![Vec::new(); labels.names.len() + 1];
        for (document, label) in labels.by_document.iter().enumerate() {
            groups[label.map_or(labels.names.len(), |label| label as usize)].push(document);
        }
        let mut drawn = vec![false; labels.by_document.len()];
        for group in &mut groups {
            // The first places of a random order, each as likely as any other (Fisher and Yates).
            for place in 0..self.of_each.min(group.len()) {
                let left = (group.len() - place) as u128;
                let chosen = place + ((u128::from(rng.next_u64()) * left) >> 64) as usize;
                group.swap(place, chosen);
                drawn[group[place]] = true;
            }
        }
        drawn
    }
}

/// What was read.
struct Read {
    name: String,
    path: PathBuf,
}

impl Input<'_> {
    /// Counts may take half of the memory that is free: the other is for the tables of a fit.
    fn plan(&self) -> Plan {
        let room = if self.stream { 0 } else { memory::available().map_or(u128::MAX, |free| free / 2) };
        Plan::new(room, self.block_entries)
    }

    /// Hands over one item after the other, then says what was read.
    fn visit(
        &self,
        report: &Report,
        mut each: impl FnMut(Item<'_>) -> Result<(), Failure>,
    ) -> Result<Read, Failure> {
        let Some(path) = self.path else {
            let (documents, summary) = cargo_docs(CARGO_DOCS)?;
            report_input(&summary, report);
            documents.into_iter().map(Item::Document).try_for_each(each)?;
            return Ok(Read { name: "Cargo's doc comments".to_owned(), path: summary.path });
        };
        let Self { read: args, outputs, .. } = self;
        let limits = Limits::default();
        let options = ReadOptions {
            columns: self.columns(),
            vocabulary: args.vocabulary.clone(),
            ignore: outputs.iter().map(|path| path.to_path_buf()).collect(),
            // What is not held in memory needs no limit.
            limits: if self.stream { Limits { total_bytes: u64::MAX, ..limits } } else { limits },
            ..ReadOptions::default()
        };
        let summary = visit(path, &options, &mut each)?;
        let is_read = |output: &&Path| {
            fs::canonicalize(output)
                .is_ok_and(|output| fs::canonicalize(&summary.path).is_ok_and(|path| path == output))
        };
        if outputs.iter().any(is_read) {
            return Err(Failure::new(
                format_args!("{}: is the input, and would be overwritten", summary.path.display()),
                "name another file to write (--output)",
            ));
        }
        report_input(&summary, report);
        Ok(Read { name: name(&summary.path), path: summary.path })
    }

    /// Which documents were drawn, if not all are taken: what labels there are shows a reading of its own.
    fn drawn(&self) -> Result<Option<Vec<bool>>, Failure> {
        let Some(sample) = self.sample else { return Ok(None) };
        let (mut labels, mut bags) = (Labelling::default(), 0);
        self.visit(&Report::new(true, false), |item| {
            match item {
                Item::Document(mut document) => labels.push(document.label.take()),
                Item::About { label, .. } => labels.push(label),
                Item::Bag(_) => bags += 1,
                Item::Labels(read) => labels.replace(read),
                _ => {}
            }
            Ok(())
        })?;
        while labels.by_document.len() < bags {
            labels.push(None); // docword files have none
        }
        Ok(Some(sample.draw(&labels.finish())))
    }

    /// Counts words and selects the vocabulary.
    pub(crate) fn select<T: Real + Storable>(
        &self,
        args: &WordArgs,
        report: &Report,
    ) -> Result<Corpus<T>, Failure> {
        let options = text_options(args)?;
        let refuse = |error: TextError| {
            let remedy = match error {
                TextError::TooMany { .. } => "split the document",
                TextError::Ngrams => "--ngrams takes a number of letters, such as 3",
                _ => "--max-share takes a share above 0 and at most 1",
            };
            Failure::new(error, remedy)
        };
        let mut words = Counter::new(&options).map_err(refuse)?;
        let mut terms = Builder::new(TERMS, self.plan())?;
        let mut counts: Option<Words> = None;
        let (mut entries, mut labels, mut bag) = (Vec::new(), Labelling::default(), Vec::new());
        let mut ids = Vec::new(); // of the bags of a table
        let drawn = self.drawn()?;
        // Documents, what is said of bags, and bags are numbered each for itself.
        let mut numbers = [0; 3];
        let mut taken = |kind: usize| {
            numbers[kind] += 1;
            drawn.as_ref().is_none_or(|drawn| drawn.get(numbers[kind] - 1) == Some(&true))
        };
        let read = self.visit(report, |item| {
            match item {
                Item::Document(_) if !taken(0) => {}
                Item::About { .. } if !taken(1) => {}
                Item::Bag(_) if !taken(2) => {}
                Item::Document(mut document) => {
                    labels.push(document.label.take());
                    let read = words.read(&document.text).map_err(refuse)?;
                    bag.clear();
                    bag.extend(read.iter().map(|&(term, count)| (term as usize, count)));
                    terms.push(&bag)?;
                    if self.entries {
                        let tokens = read.iter().map(|&(_, count)| f64::from(count)).sum();
                        entries.push(entry(document, tokens));
                    }
                }
                Item::Vocabulary(vocabulary) => {
                    counts = Some(Words::new(vocabulary, self.scaling, self.plan())?)
                }
                Item::About { id, label } => {
                    labels.push(label);
                    ids.push(id);
                }
                Item::Bag(bag) => {
                    if let Some(counts) = &mut counts {
                        counts.push(bag)?;
                    }
                }
                Item::Labels(mut read) => {
                    let mut number = 0;
                    read.retain(|_| {
                        number += 1;
                        drawn.as_ref().is_none_or(|drawn| drawn.get(number - 1) == Some(&true))
                    });
                    labels.replace(read);
                }
                _ => {}
            }
            Ok(())
        })?;
        let mut corpus = match counts {
            Some(counts) => self.selected_counts(counts, ids, args)?,
            None => {
                let Selected { vocabulary, feature_of, summary } = words.select();
                report_vocabulary(&summary, report);
                let mut kept = BagCollector::new(vocabulary, self.scaling.tokens, self.plan())?;
                terms.finish()?.consume(|block| {
                    for bag in 0..block.len() {
                        kept.bag(block.entries(bag), &feature_of)?;
                    }
                    Ok(())
                })?;
                kept.corpus(entries)?
            }
        };
        if let Some(sample) = self.sample {
            report.event(
                "sample",
                format_args!(
                    "{} documents, at most {} of each label, drawn by seed {}",
                    thousands(corpus.bags.len()),
                    thousands(sample.of_each),
                    sample.seed
                ),
                json!({ "documents": corpus.bags.len(), "of_each": sample.of_each, "seed": sample.seed }),
            );
        }
        (corpus.name, corpus.labels, corpus.scaling) = (read.name, labels.finish(), self.scaling);
        if corpus.vocabulary.is_empty() {
            return Err(Failure::new(
                format_args!("{}: no word is left of {} documents", read.path.display(), corpus.bags.len()),
                "lower --min-count, raise --max-share (1 keeps words that all documents have) or --max-words, or \
                 take --stop-words none",
            ));
        }
        report_corpus(&corpus, report);
        Ok(corpus)
    }

    /// Sequences of symbols, with how often each has each symbol.
    pub(crate) fn sequences<T: Real + Storable>(
        &self,
        report: &Report,
    ) -> Result<(Corpus<T>, SequencesBuf<u16>), Failure> {
        let Some(path) = self.path else {
            return Err(Failure::new("Cargo's doc comments are no sequences", "name a file of sequences"));
        };
        let options = SequenceOptions { columns: self.columns(), ..SequenceOptions::default() };
        let set = read_sequences(path, &options)?;
        let vocabulary: Vec<String> = set.alphabet.symbols().iter().copied().map(String::from).collect();
        let all: Vec<_> = (0u32..).take(vocabulary.len()).map(Some).collect();
        let mut kept = BagCollector::new(vocabulary, self.scaling.tokens, self.plan())?;
        let internal_error = |error| Failure::new(error, "this is a bug worth a report");
        let mut sequences = SequencesBuf::new(set.alphabet.len());
        let (mut entries, mut labels, mut symbols) = (Vec::new(), Labelling::default(), 0);
        for ((index, id), label) in set.ids.iter().enumerate().zip(set.labels) {
            let view = set.sequences.as_view();
            let own = view.get(index).map_or(&[][..], |sequence| sequence.entries());
            sequences.push(own.iter().copied()).map_err(internal_error)?;
            let mut counts = vec![0u32; all.len()];
            own.iter().for_each(|&symbol| counts[usize::from(symbol)] += 1);
            kept.bag(counts.into_iter().enumerate().filter(|&(_, count)| count > 0), &all)?;
            labels.push(label);
            let (title, tokens) = (id.clone(), own.len() as f64);
            entries.push(Entry { id: id.clone(), title, snippet: String::new(), tokens });
            symbols += own.len();
        }
        report.event(
            "read",
            format_args!(
                "{}: {} sequences, {} symbols of the alphabet `{}`",
                path.display(),
                thousands(entries.len()),
                thousands(symbols),
                set.alphabet
            ),
            json!({ "path": path.to_string_lossy(), "documents": entries.len(), "symbols": symbols }),
        );
        let corpus = kept.corpus(entries)?;
        Ok((Corpus { name: name(path), labels: labels.finish(), counted: true, ..corpus }, sequences))
    }

    /// The columns that were named.
    fn columns(&self) -> Columns {
        Columns {
            text: self.read.text_column.clone(),
            title: self.read.title_column.clone(),
            label: self.read.label_column.clone(),
            id: self.read.id_column.clone(),
        }
    }

    /// Counts keep the vocabulary they come with, as far as it is no larger than asked for.
    fn selected_counts<T: Real + Storable>(
        &self,
        counts: Words,
        mut ids: Vec<String>,
        args: &WordArgs,
    ) -> Result<Corpus<T>, Failure> {
        let least = args.min_count.unwrap_or(1).max(1);
        let share = args.max_share.unwrap_or(1.0);
        if !(share > 0.0 && share <= 1.0) {
            return Err(Failure::new(
                format_args!("--max-share {share} is no share of the documents"),
                "take a number above 0 and at most 1",
            ));
        }
        let Words { mut vocabulary, spread, counts, .. } = counts;
        let counts = counts.finish()?;
        let limits = TextOptions {
            min_count: Some(least),
            max_share: share,
            max_words: args.max_words,
            ..TextOptions::default()
        };
        let selection = Selection::new(&spread, counts.len(), &limits);
        let mut feature_of = vec![None; spread.len()];
        selection.kept.iter().zip(0u32..).for_each(|(&old, new)| feature_of[old] = Some(new));
        let words = selection.kept.iter().filter_map(|&word| vocabulary.get_mut(word).map(std::mem::take));
        let mut kept = BagCollector::new(words.collect(), self.scaling.tokens, self.plan())?;
        let mut entries = Vec::new();
        counts.consume(|block| {
            (0..block.len()).try_for_each(|bag| {
                let mut top = kept.bag(block.entries(bag), &feature_of)?.to_vec();
                if self.entries {
                    top.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                    let top =
                        top.iter().take(SNIPPET_WORDS).filter_map(|&(word, _)| kept.vocabulary.get(word));
                    let snippet = top.map(String::as_str).collect::<Vec<_>>().join(", ");
                    entries.push(counted(&mut ids, entries.len(), snippet, block.total(bag)));
                }
                Ok(())
            })
        })?;
        Ok(Corpus { counted: true, ..kept.corpus(entries)? })
    }

    /// Counts words against a vocabulary that exists.
    pub(crate) fn count<T: Real + Storable>(
        &self,
        vocabulary: &[String],
        options: &TextOptions,
        report: &Report,
    ) -> Result<Corpus<T>, Failure> {
        let tokenizer =
            Tokenizer::new(options).map_err(|error| Failure::new(error, "fit the model again"))?;
        let known = Vocabulary::new(vocabulary, &tokenizer);
        let all: Vec<_> = (0u32..).take(vocabulary.len()).map(Some).collect();
        let mut kept = BagCollector::new(vocabulary.to_vec(), self.scaling.tokens, self.plan())?;
        let (mut entries, mut labels, mut feature_of) = (Vec::new(), Labelling::default(), Vec::new());
        let (mut ids, mut columns) = (Vec::new(), Vec::new()); // of a table
        let read = self.visit(report, |item| {
            match item {
                Item::Document(mut document) => {
                    labels.push(document.label.take());
                    let bag = known.count(&document.text);
                    kept.bag(bag.into_iter().map(|(word, count)| (word as usize, count)), &all)?;
                    let tokens = tokenizer.tokens(&document.text).count();
                    entries.push(entry(document, tokens as f64));
                }
                Item::Vocabulary(words) => {
                    let place: HashMap<&str, u32> =
                        vocabulary.iter().map(String::as_str).zip(0u32..).collect();
                    feature_of = words.iter().map(|word| place.get(word.as_str()).copied()).collect();
                    columns = words;
                }
                Item::About { id, label } => {
                    labels.push(label);
                    ids.push(id);
                }
                Item::Bag(bag) => {
                    let bag = self.scaling.apply(bag, feature_of.len()).map_err(|word| {
                        let word = columns.get(word as usize).map_or("", String::as_str);
                        Scaling::refuse("the table", entries.len() + 1, word)
                    })?;
                    let bag = bag.iter().map(|&(word, count)| (word as usize, count));
                    kept.bag(bag.clone(), &feature_of)?;
                    let tokens = bag.map(|(_, count)| count).sum();
                    entries.push(counted(&mut ids, entries.len(), String::new(), tokens));
                }
                Item::Labels(read) => labels.replace(read),
                _ => {}
            }
            Ok(())
        })?;
        Ok(Corpus { name: read.name, labels: labels.finish(), ..kept.corpus(entries)? })
    }
}

/// Counts as they are read, before words are selected.
struct Words {
    vocabulary: Vec<String>,
    spread: Vec<usize>, // documents that each word is in
    counts: Builder<f64>,
    scaling: Scaling,
}

impl Words {
    fn new(vocabulary: Vec<String>, scaling: Scaling, plan: Plan) -> Result<Self, Failure> {
        let counts = Builder::new(vocabulary.len(), plan)?;
        Ok(Self { spread: vec![0; vocabulary.len()], vocabulary, counts, scaling })
    }

    fn push(&mut self, bag: &[(u32, f64)]) -> Result<(), Failure> {
        let bag = self.scaling.apply(bag, self.vocabulary.len()).map_err(|word| {
            let word = self.vocabulary.get(word as usize).map_or("", String::as_str);
            Scaling::refuse("the table", self.counts.len() + 1, word)
        })?;
        for &(word, _) in &bag {
            if let Some(spread) = self.spread.get_mut(word as usize) {
                *spread += 1;
            }
        }
        let bag: Vec<_> = bag.iter().map(|&(word, count)| (word as usize, count)).collect();
        self.counts.push(&bag)
    }
}

/// Bags over a vocabulary that was selected, as they are converted.
struct BagCollector<T> {
    vocabulary: Vec<String>,
    sum: Option<f64>, // of the counts of each bag, where they are scaled
    tokens: f64,
    nonempty: usize,
    bags: Builder<T>,
    bag: Vec<(usize, f64)>,
}

impl<T: Real + Storable> BagCollector<T> {
    fn new(vocabulary: Vec<String>, sum: Option<f64>, plan: Plan) -> Result<Self, Failure> {
        let bags = Builder::new(vocabulary.len(), plan)?;
        Ok(Self { vocabulary, sum, tokens: 0.0, nonempty: 0, bags, bag: Vec::new() })
    }

    /// Adds a bag of terms, each of which may have a feature; returns it as it was before rounding.
    fn bag<C: countgrid_counts::Count>(
        &mut self,
        terms: impl Iterator<Item = (usize, C)>,
        feature_of: &[Option<u32>],
    ) -> Result<&[(usize, f64)], Failure> {
        self.bag.clear();
        let feature = |term| Some((*feature_of.get(term)?)? as usize);
        self.bag.extend(terms.filter_map(|(term, count)| Some((feature(term)?, count.to_real()))));
        self.bag.sort_by_key(|&(feature, _)| feature);
        // Several forms of a word are one feature.
        self.bag.dedup_by(|(feature, count), (kept, sum)| {
            let same = feature == kept;
            *sum += if same { *count } else { 0.0 };
            same
        });
        scale_to(self.sum, &mut self.bag);
        self.tokens += self.bag.iter().fold(0.0, |sum, (_, count)| sum + count);
        self.nonempty += usize::from(!self.bag.is_empty());
        let mut rounded = Vec::with_capacity(self.bag.len());
        for &(feature, count) in &self.bag {
            let count = T::from_f64(count);
            if !count.is_finite() {
                let word = self.vocabulary.get(feature).map_or("", String::as_str);
                let bag = self.bags.len();
                return Err(Failure::new(
                    format_args!("the count of `{word}` in document {} is too large for f32", bag + 1),
                    "scale the counts down, or take --precision f64",
                ));
            }
            if count > T::zero() {
                rounded.push((feature, count));
            }
        }
        self.bags.push(&rounded)?;
        Ok(&self.bag)
    }

    fn corpus(self, entries: Vec<Entry>) -> Result<Corpus<T>, Failure> {
        let Self { vocabulary, tokens, nonempty, bags, .. } = self;
        Ok(Corpus {
            name: String::new(),
            entries,
            labels: Labelling::default(),
            vocabulary,
            tokens,
            scaling: Scaling::default(),
            counted: false,
            nonempty,
            bags: bags.finish()?,
        })
    }
}

fn report_vocabulary(words: &countgrid_text::Summary, report: &Report) {
    report.event(
        "text",
        format_args!(
            "{} tokens of {} different words; left out {} rare, {} common, {} beyond --max-words",
            thousands(words.tokens),
            thousands(words.words),
            thousands(words.rare),
            thousands(words.common),
            thousands(words.surplus)
        ),
        json!({
            "tokens": words.tokens, "words": words.words, "rare": words.rare, "common": words.common,
            "surplus": words.surplus,
        }),
    );
}

fn report_corpus<T: Storable>(corpus: &Corpus<T>, report: &Report) {
    let empty = corpus.bags.len() - corpus.nonempty;
    let nothing = match empty {
        0 => String::new(),
        n => format!("; {} documents have none of them", thousands(n)),
    };
    report.event(
        "words",
        format_args!(
            "{} words, {} tokens{nothing}",
            thousands(corpus.vocabulary.len()),
            thousands(corpus.tokens.round())
        ),
        json!({
            "vocabulary": corpus.vocabulary.len(), "tokens": corpus.tokens, "documents": corpus.bags.len(),
            "empty_documents": empty,
        }),
    );
}

/// The text options that were asked for.
pub(crate) fn text_options(args: &WordArgs) -> Result<TextOptions, Failure> {
    let stop_words = match args.stop_words.as_str() {
        "english" => StopWords::English,
        "none" => StopWords::None,
        file => {
            let text = fs::read_to_string(file).map_err(|error| {
                Failure::new(
                    format_args!("{file}: stop words cannot be read: {error}"),
                    "--stop-words takes `english`, `none` or a UTF-8 file with one word per line",
                )
            })?;
            StopWords::List(text.split_whitespace().map(str::to_owned).collect())
        }
    };
    let standard = TextOptions::default();
    // Sequences have their few letters all over.
    let (least, share) = match args.ngrams {
        Some(_) => (Some(1), 1.0),
        None => (None, standard.max_share),
    };
    Ok(TextOptions {
        stop_words,
        stem: args.stem,
        ngrams: args.ngrams,
        min_count: args.min_count.or(least),
        max_share: args.max_share.unwrap_or(share),
        max_words: args.max_words,
        ..standard
    })
}

fn entry(document: Document, tokens: f64) -> Entry {
    let snippet = truncate_text(&document.text, SNIPPET);
    Entry { id: document.id, title: document.title, snippet, tokens }
}

/// A bag that was counted before, called by its id if it has one.
fn counted(ids: &mut [String], place: usize, snippet: String, tokens: f64) -> Entry {
    match ids.get_mut(place).map(std::mem::take) {
        Some(id) => Entry { title: id.clone(), id, snippet, tokens },
        None => {
            Entry { id: (place + 1).to_string(), title: format!("document {}", place + 1), snippet, tokens }
        }
    }
}

/// The name of a file without its endings, or of a folder.
fn name(path: &Path) -> String {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    if path.is_dir() {
        return name;
    }
    let stem = name.strip_suffix(".gz").unwrap_or(&name);
    match stem.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => stem.to_owned(),
    }
}

fn report_input(summary: &Summary, report: &Report) {
    let columns: serde_json::Map<String, Value> =
        summary.columns.iter().map(|(role, name)| ((*role).to_owned(), name.as_str().into())).collect();
    report.event(
        "read",
        summary,
        json!({
            "path": summary.path.to_string_lossy(), "format": summary.format.to_string(), "gzip": summary.gzip,
            "files": summary.files, "skipped": summary.skipped.total(), "bytes": summary.bytes,
            "documents": summary.documents, "labels": summary.labels, "columns": columns,
        }),
    );
}
