//! From a path to a corpus.

use std::{fs, path::Path};

use countgrid_counts::{Sequences, SequencesBuf};
use countgrid_io::{
    Alphabet, Columns, Format, Item, Limits, ReadOptions, SequenceOptions, SequenceSet, Summary,
    read_sequences, visit_all,
};
use countgrid_math::Real;
use countgrid_text::{TextOptions, Tokenizer, Vocabulary};

use crate::{
    Corpus, CorpusError, CorpusKind, CorpusOptions, DocumentInfo, KeepColumns, LabelColumn, Storable,
    count::Recount, rows::Rows, select::Selector,
};

/// How many doc comments of those that Cargo has unpacked are read at most.
#[cfg(feature = "cargo-docs")]
const CARGO_DOCS: usize = 6_000;

impl<T: Real + Storable> Corpus<T> {
    /// Reads a data set, whatever the path holds (see [`countgrid_io::read`]), counts words and selects the vocabulary.
    ///
    /// # Errors
    /// A path that cannot be read; numbers that are not counts; counts too large for `T`; no word that is left; invalid
    /// options of words; an option that is not used for what the path holds; an input that is to be ignored; a temporary
    /// file that cannot be written.
    ///
    /// ```
    /// use countgrid_corpus::{Corpus, CorpusOptions, KeepColumns, WordOptions};
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("ants.csv");
    /// std::fs::write(&path, "label,year,text\nx,1999,red ants\ny,2004,blue ants\nx,2010,a red sky\n")?;
    /// let options = CorpusOptions { keep_columns: KeepColumns::All, ..CorpusOptions::default() };
    /// let corpus = Corpus::<f32>::read(&path, &options)?;
    /// assert_eq!(corpus.vocabulary, ["ants", "blue", "red", "sky"]);
    /// assert_eq!((corpus.name.as_str(), corpus.labels.names.as_slice()), ("ants", &["x".into(), "y".into()][..]));
    /// assert_eq!(corpus.columns[0].name, "year");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: impl AsRef<Path>, options: &CorpusOptions) -> Result<Self, CorpusError> {
        Self::read_all(&[path], options)
    }

    /// Reads several paths as one data set, in their order (see [`countgrid_io::read_all`]). Its name is that of the paths.
    ///
    /// # Errors
    /// As [`Corpus::read`]; no path, one that is there twice, and paths that do not go together.
    ///
    /// ```
    /// use countgrid_corpus::{Corpus, CorpusOptions};
    /// let folder = tempfile::tempdir()?;
    /// let paths = ["ants.csv", "bees.csv"].map(|name| folder.path().join(name));
    /// std::fs::write(&paths[0], "text\nred ants\nblue ants\n")?;
    /// std::fs::write(&paths[1], "text\nred bees\n")?;
    /// let corpus = Corpus::<f32>::read_all(&paths, &CorpusOptions::default())?;
    /// assert_eq!((corpus.name.as_str(), corpus.documents[2].id.as_str()), ("ants, bees", "bees.csv/1"));
    /// assert_eq!(corpus.labels.names, ["ants.csv", "bees.csv"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_all(paths: &[impl AsRef<Path>], options: &CorpusOptions) -> Result<Self, CorpusError> {
        let mut selector = Selector::new(options)?;
        selector.expect_paths(paths.len());
        let path = paths.first().map(|path| path.as_ref().to_path_buf()).unwrap_or_default();
        let summary = visit_paths(paths, options, |item| match item {
            // Paths of which one has counts all have.
            Item::Vocabulary(_) if options.words.phrases => Err(CorpusError::Unused {
                path: path.clone(),
                option: "words.phrases",
                used_for: "texts",
                found: "counts".to_owned(),
            }),
            item => selector.item(item),
        })?;
        selector.finish::<T>()?.read_from(name_of(&summary), summary)?.require_words_of_source()
    }

    /// Reads the doc comments of the crates that Cargo has unpacked (see [`cargo_docs`](crate::cargo_docs)), 6,000 at most.
    ///
    /// # Errors
    /// As [`Corpus::read`]; [`CorpusError::NoDocComments`].
    #[cfg(feature = "cargo-docs")]
    pub fn read_cargo_docs(options: &CorpusOptions) -> Result<Self, CorpusError> {
        let (documents, summary) = crate::cargo_docs(CARGO_DOCS)?;
        let mut selector = Selector::new(options)?;
        documents.into_iter().try_for_each(|document| selector.item(Item::Document(document)))?;
        let name = "Cargo's doc comments".to_owned();
        selector.finish::<T>()?.read_from(name, summary)?.require_words_of_source()
    }

    /// Reads a data set and counts its words against the vocabulary of a fitted model; `text` are the options it was made
    /// with. [`CorpusOptions::words`] and [`CorpusOptions::sample`] are not used.
    ///
    /// # Errors
    /// As [`Corpus::read`]; no word of the vocabulary need be there.
    ///
    /// ```
    /// use countgrid_corpus::{Corpus, CorpusOptions};
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("new.csv");
    /// std::fs::write(&path, "title,text\nBees,red bees\nNone,\n")?;
    /// let options = CorpusOptions::default();
    /// let fitted = Corpus::<f32>::from_texts(&["red ants", "blue ants", "red sky"], &options)?;
    /// let new = Corpus::<f32>::count(&path, &fitted.vocabulary, &fitted.text, &options)?;
    /// assert_eq!((new.bags.len(), new.nonempty, new.tokens), (2, 1, 1.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count(
        path: impl AsRef<Path>,
        vocabulary: &[String],
        text: &TextOptions,
        options: &CorpusOptions,
    ) -> Result<Self, CorpusError> {
        Self::count_all(&[path], vocabulary, text, options)
    }

    /// As [`Corpus::count`], of several paths as one data set.
    ///
    /// # Errors
    /// As [`Corpus::read_all`]; no word of the vocabulary need be there.
    pub fn count_all(
        paths: &[impl AsRef<Path>],
        vocabulary: &[String],
        text: &TextOptions,
        options: &CorpusOptions,
    ) -> Result<Self, CorpusError> {
        let tokenizer = Tokenizer::new(text)?;
        let mut recount = Recount::new(vocabulary, &tokenizer, options)?;
        recount.expect_paths(paths.len());
        let summary = visit_paths(paths, options, |item| recount.item(item))?;
        recount.finish(text)?.read_from(name_of(&summary), summary)
    }

    fn read_from(self, name: String, summary: Summary) -> Result<Self, CorpusError> {
        Ok(Self { name, source: Some(summary), ..self })
    }

    fn require_words_of_source(self) -> Result<Self, CorpusError> {
        let path = self.source.as_ref().map(|source| source.path.clone()).unwrap_or_default();
        self.require_words(&path)
    }
}

/// Hands over one item after the other.
fn visit_paths(
    paths: &[impl AsRef<Path>],
    options: &CorpusOptions,
    each: impl FnMut(Item<'_>) -> Result<(), CorpusError>,
) -> Result<Summary, CorpusError> {
    let limits = Limits::default();
    let read = ReadOptions {
        columns: options.columns.clone(),
        vocabulary: options.vocabulary.clone(),
        ignore: options.ignore.clone(),
        other_columns: options.keep_columns != KeepColumns::None,
        strict: options.strict,
        // What is not held in memory needs no limit.
        limits: match options.blocks.memory {
            0 => Limits { total_bytes: u64::MAX, ..limits },
            _ => limits,
        },
        ..ReadOptions::default()
    };
    let summary = visit_all(paths, &read, each)?;
    let own = [(summary.path.clone(), summary.format)];
    let parts = if summary.paths.is_empty() { &own[..] } else { &summary.paths };
    let has_folders =
        |format| matches!(format, Format::Folder | Format::Archive | Format::Mailbox | Format::Document);
    let is_input = |input: &Path| {
        options.ignore.iter().any(|path| fs::canonicalize(path).is_ok_and(|path| path == input))
    };
    for (path, format) in parts {
        if options.label_depth.is_some() && !has_folders(*format) {
            return Err(CorpusError::LabelDepth { path: path.clone(), format: *format });
        }
        if fs::canonicalize(path).is_ok_and(|input| is_input(&input)) {
            return Err(CorpusError::InputIsOutput { path: path.clone() });
        }
    }
    let unused = |option, used_for| CorpusError::Unused {
        path: summary.path.clone(),
        option,
        used_for,
        found: summary.format.to_string(),
    };
    let has_vocabulary =
        |format| matches!(format, Format::Docword | Format::MatrixMarket | Format::SvmLight | Format::Npz);
    if options.vocabulary.is_some() && !parts.iter().any(|(_, format)| has_vocabulary(*format)) {
        return Err(unused("vocabulary", "files of counts"));
    }
    let Columns { text, title, label, id } = &options.columns;
    for (role, name, option) in [
        ("text", text, "columns.text"),
        ("title", title, "columns.title"),
        ("label", label, "columns.label"),
        ("id", id, "columns.id"),
    ] {
        if name.is_some() && !summary.columns.iter().any(|(known, _)| *known == role) {
            return Err(unused(option, "tables and JSON"));
        }
    }
    Ok(summary)
}

/// The words of every text of a data set in their order, by their places in a vocabulary; a word that is not in it is
/// `vocabulary.len()`, so that the sequences have one symbol more than words. Stop words, and others that are not
/// tokens by `text`, are left out; a text without any token is one unknown word. `None` for a data set of counts.
///
/// # Errors
/// As [`Corpus::read`]; words that are too many to be numbered.
///
/// ```
/// use countgrid_corpus::{CorpusOptions, read_word_sequences};
/// use countgrid_text::TextOptions;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("new.csv");
/// std::fs::write(&path, "title,text\nBees,red bees and red ants\nNone,\n")?;
/// let words = ["ants", "red"].map(str::to_owned);
/// let found = read_word_sequences(&path, &words, &TextOptions::default(), &CorpusOptions::default())?.unwrap();
/// assert_eq!(found.as_view().get(0).unwrap().entries(), [1, 2, 1, 0]);
/// assert_eq!(found.as_view().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_word_sequences(
    path: impl AsRef<Path>,
    vocabulary: &[String],
    text: &TextOptions,
    options: &CorpusOptions,
) -> Result<Option<SequencesBuf<u32>>, CorpusError> {
    read_all_word_sequences(&[path], vocabulary, text, options)
}

/// As [`read_word_sequences`], of several paths as one data set.
///
/// # Errors
/// As [`Corpus::read_all`]; words that are too many to be numbered.
pub fn read_all_word_sequences(
    paths: &[impl AsRef<Path>],
    vocabulary: &[String],
    text: &TextOptions,
    options: &CorpusOptions,
) -> Result<Option<SequencesBuf<u32>>, CorpusError> {
    let tokenizer = Tokenizer::new(text)?;
    let words = Vocabulary::new(vocabulary, &tokenizer);
    let too_many = || CorpusError::Vocabulary { features: u32::MAX as usize, words: vocabulary.len() };
    let (unknown, mut counts) = (u32::try_from(vocabulary.len()).map_err(|_| too_many())?, false);
    let mut sequences = SequencesBuf::new(vocabulary.len().saturating_add(1));
    visit_paths(paths, options, |item| match item {
        Item::Document(document) => {
            let mut own: Vec<u32> =
                words.features(&document.text).map(|feature| feature.unwrap_or(unknown)).collect();
            if own.is_empty() {
                own.push(unknown);
            }
            sequences.push(own).map_err(|_| too_many()) // each is at most `unknown`
        }
        Item::Bag(_) => {
            counts = true;
            Ok(())
        }
        _ => Ok(()),
    })?;
    Ok((!counts).then_some(sequences))
}

/// Paths that a name is made of, at most.
const NAMED: usize = 3;

/// The name of what was read.
fn name_of(summary: &Summary) -> String {
    if summary.paths.is_empty() {
        return file_name(&summary.path);
    }
    let names: Vec<String> = summary.paths.iter().take(NAMED).map(|(path, _)| file_name(path)).collect();
    match summary.paths.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// The name of a file without its endings, or of a folder.
fn file_name(path: &Path) -> String {
    if path == Path::new("/dev/stdin") {
        return "standard input".to_owned(); // what it is called where it leads to tells nobody anything
    }
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

/// Sequences of symbols, and how often each has each symbol.
#[derive(Debug)]
pub struct SequenceCorpus<T> {
    /// A bag for each sequence; the symbols are its words.
    pub corpus: Corpus<T>,
    /// The symbols in their order.
    pub sequences: SequencesBuf<u16>,
    /// The symbols.
    pub alphabet: Alphabet,
}

impl<T: Real + Storable> SequenceCorpus<T> {
    /// Reads sequences (see [`countgrid_io::read_sequences`]). Of the options those of columns, tokens and blocks are
    /// used.
    ///
    /// # Errors
    /// A path that cannot be read; a temporary file that cannot be written.
    ///
    /// ```
    /// use countgrid_corpus::{CorpusOptions, SequenceCorpus};
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("genes.fasta");
    /// std::fs::write(&path, ">lac\naattgt\n>trp\ngaacta\n")?;
    /// let genes = SequenceCorpus::<f32>::read(&path, &CorpusOptions::default())?;
    /// assert_eq!((genes.corpus.vocabulary.concat(), genes.sequences.as_view().positions()), ("acgt".into(), 12));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: impl AsRef<Path>, options: &CorpusOptions) -> Result<Self, CorpusError> {
        let path = path.as_ref();
        let read = SequenceOptions { columns: options.columns.clone(), ..SequenceOptions::default() };
        let SequenceSet { alphabet, sequences, ids, labels, .. } = read_sequences(path, &read)?;
        let vocabulary: Vec<String> = alphabet.symbols().iter().copied().map(String::from).collect();
        let mut rows = Rows::new(vocabulary, options.scaling.tokens, options.blocks)?;
        let mut documents = Vec::new();
        let view: Sequences<'_, u16> = sequences.as_view();
        let mut counts = vec![0u32; alphabet.len()];
        for (index, id) in ids.into_iter().enumerate() {
            let Some(sequence) = view.get(index) else { break };
            counts.fill(0);
            let sequence = sequence.entries();
            for &symbol in sequence {
                if let Some(count) = counts.get_mut(usize::from(symbol)) {
                    *count = count.saturating_add(1);
                }
            }
            let bag = counts.iter().copied().enumerate().filter(|&(_, count)| count > 0);
            rows.push(bag, |symbol| u32::try_from(symbol).ok())?;
            if options.keep_documents {
                let (title, tokens) = (id.clone(), sequence.len() as f64);
                documents.push(DocumentInfo { id, title, tokens, ..DocumentInfo::default() });
            }
        }
        let labels = LabelColumn::from_labels(labels);
        let corpus = Corpus::new(rows.finish()?, documents, CorpusKind::Sequences);
        Ok(Self { corpus: Corpus { name: file_name(path), labels, ..corpus }, sequences, alphabet })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WordOptions;

    #[test]
    fn a_corpus_has_the_name_of_its_file_or_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["posts.csv", "posts.csv.gz", "posts", "posts.of.2020.txt", ".posts", "v1.2"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::fs::create_dir(at("posts.old")).unwrap();
        for (name, found) in [
            ("posts.csv", "posts"),
            ("posts.csv.gz", "posts"),
            ("posts", "posts"),
            ("posts.of.2020.txt", "posts.of.2020"),
            (".posts", ".posts"),
            ("posts.old", "posts.old"),
            ("posts.old/../posts.csv", "posts"),
            ("posts.old/..", &folder.path().file_name().unwrap().to_string_lossy()),
            ("missing.csv", "missing"),
        ] {
            assert_eq!(file_name(&at(name)), found, "{name}");
        }
        assert_eq!(file_name(Path::new("/dev/stdin")), "standard input");
    }

    #[test]
    fn a_corpus_of_several_paths_has_the_names_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for name in ["a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl", "e.jsonl"] {
            paths.push(folder.path().join(name));
            std::fs::write(folder.path().join(name), "{\"text\": \"ants follow trails\"}\n").unwrap();
        }
        let options = CorpusOptions { words: WordOptions::default().keep_all(), ..CorpusOptions::default() };
        for (count, name) in
            [(1, "a"), (2, "a, b"), (3, "a, b, c"), (4, "a, b, c and 1 more"), (5, "a, b, c and 2 more")]
        {
            let corpus = Corpus::<f32>::read_all(&paths[..count], &options).unwrap();
            assert_eq!(corpus.name, name);
        }
    }
}
