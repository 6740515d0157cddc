//! From a path to bags of words.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use countgrid_counts::{Bags, CsrBuf};
use countgrid_io::{Columns, Counts, DataSet, Document, ReadOptions, Summary, cargo_docs, read};
use countgrid_text::{StopWords, TextOptions, Tokenizer, Vocabulary};
use serde_json::{Value, json};

use crate::{
    args::{ReadArgs, WordArgs},
    failure::Failure,
    report::{Report, thousands},
};

/// Doc comments that are a fair sample of what Cargo has unpacked.
const CARGO_DOCS: usize = 6_000;
/// Characters of a document that a map shows.
const SNIPPET: usize = 200;
/// Words of a bag without text that a map shows.
const SNIPPET_WORDS: usize = 16;

/// What a document is, apart from its words.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) label: Option<String>,
    pub(crate) snippet: String,
    /// Words of any kind but stop words.
    pub(crate) tokens: f64,
}

/// Documents as bags over a vocabulary. Counts are `f64`, exact for what text and docword files hold.
#[derive(Clone, Debug)]
pub(crate) struct Corpus {
    /// How to call it: the name of the file or folder.
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>, // one for each bag
    pub(crate) vocabulary: Vec<String>,
    pub(crate) bags: CsrBuf<f64>,
}

impl Corpus {
    /// Documents that have a word of the vocabulary.
    pub(crate) fn placed(&self) -> usize {
        (0..self.bags.len()).filter(|&bag| self.bags.entries(bag).next().is_some()).count()
    }

    /// The labels in their order, each once.
    pub(crate) fn labels(&self) -> Vec<String> {
        let labels: BTreeSet<_> = self.entries.iter().filter_map(|entry| entry.label.as_deref()).collect();
        labels.into_iter().map(str::to_owned).collect()
    }
}

/// A data set that was read and not yet counted.
#[derive(Debug)]
pub(crate) struct Source {
    data: DataSet,
    name: String,
    path: PathBuf,
}

impl Source {
    /// Reads a path, or without one Cargo's doc comments; says what was read. Files that the run is to write
    /// are not read: they may be there from the last time.
    pub(crate) fn read(
        path: Option<&Path>,
        args: &ReadArgs,
        outputs: &[&Path],
        report: &Report,
    ) -> Result<Self, Failure> {
        let Some(path) = path else {
            let (documents, summary) = cargo_docs(CARGO_DOCS)?;
            tell(&summary, report);
            let name = "Cargo's doc comments".to_owned();
            return Ok(Self { data: DataSet::Documents(documents), name, path: summary.path });
        };
        let options = ReadOptions {
            columns: Columns {
                text: args.text_column.clone(),
                title: args.title_column.clone(),
                label: args.label_column.clone(),
                id: args.id_column.clone(),
            },
            vocabulary: args.vocabulary.clone(),
            ignore: outputs.iter().map(|path| path.to_path_buf()).collect(),
            ..ReadOptions::default()
        };
        let (data, summary) = read(path, &options)?;
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
        tell(&summary, report);
        Ok(Self { data, name: name(&summary.path), path: summary.path })
    }

    /// Counts words and selects the vocabulary.
    pub(crate) fn select(self, args: &WordArgs, report: &Report) -> Result<Corpus, Failure> {
        let Self { data, name, path } = self;
        let corpus = match data {
            DataSet::Documents(documents) => {
                let options = text_options(args)?;
                select_text(name, documents, &options, report)?
            }
            DataSet::Counts(counts) => select_counts(name, counts, args)?,
        };
        if corpus.vocabulary.is_empty() {
            return Err(Failure::new(
                format_args!("{}: no word is left of {} documents", path.display(), corpus.entries.len()),
                "lower --min-count, raise --max-share (1 keeps words that all documents have) or --max-words, or \
                 take --stop-words none",
            ));
        }
        let (tokens, empty) = (corpus.bags.tokens(), corpus.entries.len() - corpus.placed());
        let nothing = match empty {
            0 => String::new(),
            n => format!("; {} documents have none of them", thousands(n)),
        };
        report.event(
            "words",
            format_args!(
                "{} words, {} tokens{nothing}",
                thousands(corpus.vocabulary.len()),
                thousands(tokens.round())
            ),
            json!({
                "vocabulary": corpus.vocabulary.len(), "tokens": tokens, "documents": corpus.entries.len(),
                "empty_documents": empty,
            }),
        );
        Ok(corpus)
    }

    /// Counts words against a vocabulary that exists.
    pub(crate) fn count(self, vocabulary: &[String], options: &TextOptions) -> Result<Corpus, Failure> {
        let tokenizer =
            Tokenizer::new(options).map_err(|error| Failure::new(error, "fit the model again"))?;
        let known = Vocabulary::new(vocabulary, &tokenizer);
        let mut bags = CsrBuf::new(vocabulary.len()).map_err(foreign)?;
        let mut entries = Vec::new();
        match self.data {
            DataSet::Documents(documents) => {
                for document in documents {
                    let bag = known.count(&document.text);
                    bags.push_bag(bag.into_iter().map(|(word, count)| (word as usize, f64::from(count))))
                        .map_err(foreign)?;
                    let tokens = tokenizer.tokens(&document.text).count();
                    entries.push(entry(document, tokens as f64));
                }
            }
            DataSet::Counts(counts) => {
                let place: std::collections::HashMap<&str, usize> =
                    vocabulary.iter().enumerate().map(|(place, word)| (word.as_str(), place)).collect();
                let places: Vec<_> =
                    counts.vocabulary.iter().map(|word| place.get(word.as_str()).copied()).collect();
                for (name, bag) in counts.names.iter().zip(rows(&counts)) {
                    let tokens = bag.clone().map(|(_, count)| count).sum();
                    let known = bag.filter_map(|(word, count)| Some(((*places.get(word)?)?, count)));
                    bags.push_bag(known).map_err(foreign)?;
                    entries.push(counted(name, String::new(), tokens));
                }
            }
        }
        Ok(Corpus { name: self.name, entries, vocabulary: vocabulary.to_vec(), bags })
    }
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
    Ok(TextOptions {
        stop_words,
        stem: args.stem,
        min_count: args.min_count,
        max_share: args.max_share.unwrap_or(standard.max_share),
        max_words: args.max_words,
        ..standard
    })
}

fn select_text(
    name: String,
    documents: Vec<Document>,
    options: &TextOptions,
    report: &Report,
) -> Result<Corpus, Failure> {
    let refuse = |error: countgrid_text::TextError| {
        Failure::new(error, "--max-share takes a share above 0 and at most 1")
    };
    let texts = documents.iter().map(|document| document.text.as_str());
    let words = countgrid_text::bags(texts, options).map_err(refuse)?;
    let summary = words.summary;
    report.event(
        "text",
        format_args!(
            "{} tokens of {} different words; left out {} rare, {} common, {} beyond --max-words",
            thousands(summary.tokens),
            thousands(summary.words),
            thousands(summary.rare),
            thousands(summary.common),
            thousands(summary.surplus)
        ),
        json!({
            "tokens": summary.tokens, "words": summary.words, "rare": summary.rare,
            "common": summary.common, "surplus": summary.surplus,
        }),
    );
    let counts = words.counts.iter().map(|&count| f64::from(count)).collect();
    let bags =
        CsrBuf::from_parts(words.vocabulary.len(), words.offsets, words.features, counts).map_err(foreign)?;
    let entries = documents
        .into_iter()
        .enumerate()
        .map(|(bag, document)| {
            let tokens = bags.total(bag);
            entry(document, tokens)
        })
        .collect();
    Ok(Corpus { name, entries, vocabulary: words.vocabulary, bags })
}

/// Counts keep the vocabulary they come with, as far as it is no larger than asked for.
fn select_counts(name: String, counts: Counts, args: &WordArgs) -> Result<Corpus, Failure> {
    let documents = counts.names.len();
    let mut spread = vec![0usize; counts.vocabulary.len()];
    for &word in &counts.features {
        if let Some(spread) = spread.get_mut(word as usize) {
            *spread += 1;
        }
    }
    let least = args.min_count.unwrap_or(1).max(1);
    let share = args.max_share.unwrap_or(1.0);
    if !(share > 0.0 && share <= 1.0) {
        return Err(Failure::new(
            format_args!("--max-share {share} is no share of the documents"),
            "take a number above 0 and at most 1",
        ));
    }
    let most = ((share * documents as f64).ceil() as usize).max(least);
    let mut kept: Vec<usize> =
        (0..spread.len()).filter(|&word| (least..=most).contains(&spread[word])).collect();
    // As in text: those that tell most pairs of documents apart, of equals the rarer.
    let pairs = |word: usize| spread[word] as u128 * (documents - spread[word].min(documents)) as u128;
    kept.sort_by_key(|&word| (std::cmp::Reverse(pairs(word)), spread[word], word));
    kept.truncate(args.max_words);
    kept.sort_unstable();
    let mut place = vec![None; spread.len()];
    kept.iter().enumerate().for_each(|(new, &old)| place[old] = Some(new));

    let vocabulary: Vec<String> =
        kept.iter().filter_map(|&word| counts.vocabulary.get(word).cloned()).collect();
    let mut bags = CsrBuf::new(vocabulary.len()).map_err(foreign)?;
    let mut entries = Vec::new();
    for (name, bag) in counts.names.iter().zip(rows(&counts)) {
        let tokens = bag.clone().map(|(_, count)| count).sum();
        let mut known: Vec<_> = bag.filter_map(|(word, count)| Some(((*place.get(word)?)?, count))).collect();
        bags.push_bag(known.iter().copied()).map_err(foreign)?;
        known.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let top = known.iter().take(SNIPPET_WORDS).filter_map(|&(word, _)| vocabulary.get(word));
        let snippet = top.map(String::as_str).collect::<Vec<_>>().join(", ");
        entries.push(counted(name, snippet, tokens));
    }
    Ok(Corpus { name, entries, vocabulary, bags })
}

/// The bags of a docword file.
fn rows(counts: &Counts) -> impl Iterator<Item = impl Iterator<Item = (usize, f64)> + Clone + '_> {
    counts.offsets.windows(2).map(|ends| {
        let range = ends[0]..ends[1];
        let words = counts.features.get(range.clone()).unwrap_or_default();
        let counts = counts.counts.get(range).unwrap_or_default();
        words.iter().map(|&word| word as usize).zip(counts.iter().copied())
    })
}

fn entry(document: Document, tokens: f64) -> Entry {
    let snippet = beginning(&document.text, SNIPPET);
    Entry { id: document.id, title: document.title, label: document.label, snippet, tokens }
}

fn counted(name: &str, snippet: String, tokens: f64) -> Entry {
    Entry { id: name.to_owned(), title: format!("document {name}"), label: None, snippet, tokens }
}

/// The first words of a text, blanks made even.
fn beginning(text: &str, characters: usize) -> String {
    let mut short = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        used += word.chars().count() + 1;
        if used > characters {
            short.push('…');
            break;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
    }
    short
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

fn tell(summary: &Summary, report: &Report) {
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

/// Counts that were checked on reading are refused by nobody after that.
fn foreign(error: countgrid_counts::BagsError) -> Failure {
    Failure::new(error, "this is a bug worth a report")
}
