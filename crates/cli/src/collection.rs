//! From a path and flags to a corpus, with a report of it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use countgrid_corpus::{
    BlockLimits, Corpus, CorpusKind, CorpusOptions, MAX_COLUMN_BYTES, Sample, Scaling, WordOptions,
    memory::format_bytes,
};
use countgrid_estimators::Stored;
use countgrid_io::{Columns, Limits, read_text_file};
use countgrid_map::group_digits;
use countgrid_text::{Language, Languages, StopWords};
use serde_json::{Value, json};

use crate::{
    args::{KeepArgs, ReadArgs, WordArgs},
    failure::Failure,
    report::Report,
};

/// Where documents come from, and what is kept of them.
#[derive(Clone, Debug)]
pub(crate) struct Input<'a> {
    /// None: Cargo's doc comments.
    pub(crate) paths: &'a [PathBuf],
    pub(crate) options: CorpusOptions,
}

impl<'a> Input<'a> {
    /// Paths with the columns that were named. The files that the run is to write are not read: they may exist from
    /// an earlier run.
    pub(crate) fn new(paths: &'a [PathBuf], read: &ReadArgs, outputs: &[&Path]) -> Self {
        let options = CorpusOptions {
            columns: columns(read),
            vocabulary: read.vocabulary.clone(),
            label_depth: read.label_depth,
            strict: read.strict,
            ignore: outputs.iter().map(|path| path.to_path_buf()).collect(),
            ..CorpusOptions::default()
        };
        Self { paths, options }
    }

    /// Keeps of what is left out by default what is asked for.
    pub(crate) fn keep(&mut self, args: &KeepArgs) {
        self.options.keep_near_duplicates = args.keep_duplicates;
        self.options.keep_boilerplate = args.keep_boilerplate;
    }

    /// Counts words and selects the vocabulary.
    pub(crate) fn read<T: Stored>(&self, report: &Report) -> Result<Corpus<T>, Failure> {
        let corpus = match self.paths {
            [] => Corpus::read_cargo_docs(&self.options)?,
            paths => Corpus::<T>::read_all(paths, &self.options)
                .map_err(|error| Failure::from(error).of_files(paths))?,
        };
        report_corpus(&corpus, report);
        let of_texts = options_of_texts(&self.options.words);
        if corpus.kind == CorpusKind::Counts && !of_texts.is_empty() {
            report.note(format_args!(
                "words of counts stay as they are; {} for texts that are placed on the model",
                match of_texts[..] {
                    [one] => format!("{one} is"),
                    _ => format!("{} are", of_texts.join(", ")),
                }
            ));
        }
        Ok(corpus)
    }
}

/// The options that say what the words of texts are, of those that are not the default.
fn options_of_texts(words: &WordOptions) -> Vec<&'static str> {
    let set = [
        ("--language", words.languages != Languages::Auto),
        ("--stop-words", !matches!(words.stop_words, StopWords::Auto | StopWords::None)),
        ("--stem", words.stem),
        ("--ngrams", words.ngrams.is_some()),
    ];
    set.into_iter().filter(|&(_, set)| set).map(|(name, _)| name).collect()
}

/// The files that were named to be read, so that none is written over.
pub(crate) fn named_inputs(paths: &[PathBuf], read: &ReadArgs, words: Option<&WordArgs>) -> Vec<PathBuf> {
    let stop_words =
        words.map(|words| words.stop_words.as_str()).filter(|name| !STOP_WORD_LISTS.contains(name));
    let others = [read.vocabulary.as_deref(), stop_words.map(Path::new)].into_iter().flatten();
    paths.iter().map(PathBuf::as_path).chain(others).map(Path::to_path_buf).collect()
}

/// The paths as a report has them: one as a text, several as a list.
pub(crate) fn paths_to_json(paths: &[PathBuf]) -> Value {
    match paths {
        [path] => path.to_string_lossy().into(),
        paths => paths.iter().map(|path| path.to_string_lossy()).collect(),
    }
}

/// The columns that were named.
pub(crate) fn columns(read: &ReadArgs) -> Columns {
    Columns {
        text: read.text_column.clone(),
        title: read.title_column.clone(),
        label: read.label_column.clone(),
        id: read.id_column.clone(),
    }
}

/// So many documents of each label.
pub(crate) fn sample(of_each: Option<usize>, seed: u64) -> Option<Sample> {
    of_each.map(|per_label| Sample { per_label, seed })
}

/// Where counts go.
pub(crate) fn block_limits(stream: bool, entries: usize) -> BlockLimits {
    let limits = if stream { BlockLimits::streaming() } else { BlockLimits::default() };
    BlockLimits { entries, ..limits }
}

/// Values of `--stop-words` that are no files.
const STOP_WORD_LISTS: [&str; 3] = ["auto", "english", "none"];

/// Words of a file, which is read once however often its words are asked for: a pipe has them only the first time.
fn stop_word_file(file: &str) -> Result<Vec<String>, Failure> {
    static READ: Mutex<BTreeMap<String, Vec<String>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(words) = read.get(file) {
        return Ok(words.clone());
    }
    let text = read_text_file(Path::new(file), &Limits::default()).map_err(|error| {
        Failure::new(
            format_args!("{file}: stop words cannot be read: {}", error.problem()),
            "--stop-words takes `auto`, `english`, `none` or a UTF-8 file with one word per line",
        )
    })?;
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    read.insert(file.to_owned(), words.clone());
    Ok(words)
}

/// The options of words that were asked for.
pub(crate) fn word_options(args: &WordArgs) -> Result<WordOptions, Failure> {
    let stop_words = match args.stop_words.as_str() {
        "auto" => StopWords::Auto,
        "english" => StopWords::English,
        "none" => StopWords::None,
        file => StopWords::List(stop_word_file(file)?),
    };
    Ok(WordOptions {
        languages: args.language.clone(),
        stop_words,
        stem: args.stem,
        keep_noise: args.keep_noise,
        phrases: args.phrases,
        ngrams: args.ngrams,
        min_count: args.min_count,
        max_share: args.max_share,
        max_words: args.max_words,
    })
}

/// Whether phrases are looked for, of `--phrases`.
pub(crate) fn phrases(which: &str) -> Result<bool, String> {
    match which {
        "auto" => Ok(true),
        "none" => Ok(false),
        _ => Err(format!("`{which}` are no phrases: take `auto` or `none`")),
    }
}

/// The languages of `--language`: `auto`, or codes or names with commas between them.
pub(crate) fn languages(names: &str) -> Result<Languages, String> {
    if names == "auto" {
        return Ok(Languages::Auto);
    }
    let known = |name: &str| {
        name.parse::<Language>().map_err(|_| {
            let codes = Language::all().map(Language::code).collect::<Vec<_>>().join(", ");
            format!("`{name}` is no language that is known: take `auto`, or of {codes}")
        })
    };
    Ok(Languages::Known(names.split(',').map(known).collect::<Result<_, _>>()?))
}

/// The counts that were scaled, if they were.
pub(crate) fn scaling(args: &crate::args::ScaleArgs) -> Result<Scaling, Failure> {
    let scaling = Scaling { scale: args.scale, tokens: args.tokens };
    match args.tokens {
        // More than any collection has, and far below what overflows a float.
        Some(tokens) if !(tokens > 0.0 && tokens <= 1e30) => Err(Failure::new(
            format_args!("--tokens {tokens} is no sum of counts"),
            "take a number above 0 and up to 1e30, such as 1000",
        )),
        _ => Ok(scaling),
    }
}

/// What a source of documents is called.
pub(crate) fn source_name(source: &Path) -> String {
    // Of paths that have none in common.
    if source.as_os_str().is_empty() { "all paths".to_owned() } else { source.display().to_string() }
}

/// What was read, which words were found, and what is kept of them.
pub(crate) fn report_corpus<T: Stored>(corpus: &Corpus<T>, report: &Report) {
    if let Some(source) = &corpus.source {
        let columns: serde_json::Map<String, Value> =
            source.columns.iter().map(|(role, name)| ((*role).to_owned(), name.as_str().into())).collect();
        let paths = source
            .paths
            .iter()
            .map(|(path, format)| json!({ "path": path.to_string_lossy(), "format": format.to_string() }));
        let paths: Vec<Value> = paths.collect();
        report.event(
            "read",
            source,
            json!({
                "path": source.path.to_string_lossy(), "format": source.format.to_string(), "gzip": source.gzip,
                "files": source.files, "skipped": source.skipped.total(), "bytes": source.bytes,
                "documents": source.documents, "labels": source.labels, "columns": columns,
                "unreadable": source.skipped.unreadable, "unsupported": source.skipped.unsupported,
                "encodings": source.encodings, "paths": paths,
            }),
        );
        if !corpus.left_out_columns.is_empty() {
            report.note(format_args!(
                "no room for the columns {}: all together may have {}; --columns chooses others",
                corpus.left_out_columns.join(", "),
                format_bytes(MAX_COLUMN_BYTES as u128)
            ));
        }
        let lost = source.skipped.unreadable + source.skipped.unsupported;
        if let Some(first) = source.left_out.iter().find(|left| left.lost).filter(|_| lost > 0) {
            report.note(format_args!(
                "{} files or folders could not be read, such as {}: {}; --strict stops there",
                group_digits(lost),
                first.path.display(),
                first.why
            ));
        }
    }
    if !corpus.near_duplicates.is_empty() {
        let count = corpus.near_duplicates.len();
        let documents = if count == 1 { "near-duplicate" } else { "near-duplicates" };
        report.event(
            "repeats",
            format_args!(
                "{} {documents} of other documents left out; --keep-duplicates keeps them",
                group_digits(count)
            ),
            json!({ "near_duplicates": count }),
        );
    }
    if !corpus.boilerplate.is_empty() {
        let mut sources: Vec<&Path> = corpus.boilerplate.iter().map(|line| line.source.as_path()).collect();
        sources.dedup(); // lines are in their order
        let (lines, count) = (corpus.boilerplate.len(), sources.len());
        let (line, have) = if lines == 1 { ("line", "recurs") } else { ("lines", "recur") };
        let of = match sources[..] {
            [source] => source_name(source),
            _ => format!("{} files or folders", group_digits(count)),
        };
        report.event(
            "boilerplate",
            format_args!(
                "{} {line} left out that {have} in most documents of {of}; --keep-boilerplate keeps them",
                group_digits(lines)
            ),
            json!({ "lines": lines, "sources": count }),
        );
    }
    if !corpus.languages.is_empty() && corpus.text.ngrams.is_none() {
        let of_each = corpus
            .languages
            .iter()
            .map(|(language, documents)| format!("{} {language}", group_digits(*documents)));
        let documents: serde_json::Map<String, Value> = corpus
            .languages
            .iter()
            .map(|&(language, documents)| (language.code().to_owned(), documents.into()))
            .collect();
        report.event("languages", of_each.collect::<Vec<_>>().join(", "), json!({ "documents": documents }));
    }
    if let Some(words) = &corpus.words {
        report.event(
            "text",
            format_args!(
                "{} tokens of {} different words; left out {} rare, {} common, {} beyond --max-words",
                group_digits(words.tokens),
                group_digits(words.words),
                group_digits(words.rare),
                group_digits(words.common),
                group_digits(words.surplus)
            ),
            json!({
                "tokens": words.tokens, "words": words.words, "rare": words.rare, "common": words.common,
                "surplus": words.surplus,
            }),
        );
    }
    let documents = corpus.bags.len();
    if let Some(sample) = &corpus.sample {
        report.event(
            "sample",
            format_args!(
                "{} documents, at most {} of each label, drawn by seed {}",
                group_digits(documents),
                group_digits(sample.per_label),
                sample.seed
            ),
            json!({ "documents": documents, "of_each": sample.per_label, "seed": sample.seed }),
        );
    }
    let empty = documents - corpus.nonempty;
    let without = match empty {
        0 => String::new(),
        n => format!("; {} documents have none of them", group_digits(n)),
    };
    report.event(
        "words",
        format_args!(
            "{} words, {} tokens{without}",
            group_digits(corpus.vocabulary.len()),
            group_digits(corpus.tokens.round())
        ),
        json!({
            "vocabulary": corpus.vocabulary.len(), "tokens": corpus.tokens, "documents": documents,
            "empty_documents": empty,
        }),
    );
}
