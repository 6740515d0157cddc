use std::{path::Path, sync::Arc};

use countgrid_counts::{Bags, CsrBuf};
use countgrid_io::{Document, Item, truncate_text};
use countgrid_math::Real;
use countgrid_text::{Language, TextOptions, Tokenizer};

use crate::{
    Blocks, BoilerplateLine, Column, CorpusError, CorpusOptions, DocumentInfo, LabelColumn, NearDuplicate,
    Sample, Scaling, Storable, count::Recount, rows::Finished, select::Selector,
};

/// Characters of a title that is made from a text.
const TITLE: usize = 80;

/// What a corpus was made from.
///
/// Example: [`Corpus::from_texts`](crate::Corpus::from_texts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorpusKind {
    /// Texts, whose words were counted.
    Text,
    /// Counts, or numbers that became counts.
    Counts,
    /// Sequences of symbols, whose symbols were counted.
    Sequences,
}

/// Documents as bags over a vocabulary.
///
/// Where there are documents, labels and columns, they are in the order of the bags.
#[derive(Debug)]
pub struct Corpus<T> {
    /// Its name: that of the file or folder.
    pub name: String,
    /// One for each bag, if [`CorpusOptions::keep_documents`] asks for them.
    pub documents: Vec<DocumentInfo>,
    /// The labels, if the data has some.
    pub labels: LabelColumn,
    /// Other columns, as [`CorpusOptions::keep_columns`] asks for them.
    pub columns: Vec<Column>,
    /// The names of those for which there was no room ([`MAX_COLUMN_BYTES`](crate::MAX_COLUMN_BYTES)).
    pub left_out_columns: Vec<String>,
    /// The words: feature `z` is word `z`.
    pub vocabulary: Vec<String>,
    /// Tokens of the vocabulary, before counts were rounded.
    pub tokens: f64,
    /// How numbers became counts.
    pub scaling: Scaling,
    /// How texts became words, with the languages that were found.
    pub text: TextOptions,
    /// How many documents are in which language, the most first, if words were selected from texts.
    pub languages: Vec<(Language, usize)>,
    /// What it was made from.
    pub kind: CorpusKind,
    /// Documents that have a word of the vocabulary.
    pub nonempty: usize,
    /// The counts as a fit takes them, each rounded once, to nearest: those up to 2²⁴ in `f32` and 2⁵³ in `f64`
    /// are exact. A fraction that rounds to zero is left out.
    pub bags: Blocks<T>,
    /// What was read, if the corpus was read from a path.
    pub source: Option<countgrid_io::Summary>,
    /// Which words were found and which were left out, if the vocabulary was selected from texts.
    pub words: Option<countgrid_text::Summary>,
    /// How documents were drawn, if not all were taken; the bags are those that were drawn.
    pub sample: Option<Sample>,
    /// Documents that were left out because they repeat one that is here, in their order: see
    /// [`CorpusOptions::keep_near_duplicates`].
    pub near_duplicates: Vec<NearDuplicate>,
    /// Lines that were left out because most documents of a source have them: see [`CorpusOptions::keep_boilerplate`].
    pub boilerplate: Vec<BoilerplateLine>,
}

impl<T> Corpus<T> {
    pub(crate) fn new(rows: Finished<T>, documents: Vec<DocumentInfo>, kind: CorpusKind) -> Self {
        let Finished { vocabulary, tokens, nonempty, bags } = rows;
        Self {
            name: String::new(),
            documents,
            labels: LabelColumn::default(),
            columns: Vec::new(),
            left_out_columns: Vec::new(),
            vocabulary,
            tokens,
            scaling: Scaling::default(),
            text: TextOptions::default(),
            languages: Vec::new(),
            kind,
            nonempty,
            bags,
            source: None,
            words: None,
            sample: None,
            near_duplicates: Vec::new(),
            boilerplate: Vec::new(),
        }
    }
}

impl<T: Real + Storable> Corpus<T> {
    /// Counts the words of documents and selects the vocabulary; `name` is the name of the corpus.
    ///
    /// # Errors
    /// [`CorpusError::NoWords`] if no word is left; invalid options of words; a temporary file that cannot be written.
    ///
    /// ```
    /// use countgrid_corpus::{Corpus, CorpusOptions};
    /// use countgrid_io::{Columns, read_json_lines};
    /// let lines = "{\"text\": \"red ants\", \"class\": \"x\"}\n{\"text\": \"blue ants\"}\n{\"text\": \"red sky\"}";
    /// let documents = read_json_lines(lines.as_bytes(), "a.jsonl", &Columns::default())?;
    /// let corpus = Corpus::<f32>::from_documents("ants", documents, &CorpusOptions::default())?;
    /// assert_eq!(corpus.vocabulary, ["ants", "blue", "red", "sky"]);
    /// assert_eq!((corpus.bags.len(), corpus.labels.name(0), corpus.labels.name(1)), (3, Some("x"), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_documents(
        name: &str,
        documents: impl IntoIterator<Item = Document>,
        options: &CorpusOptions,
    ) -> Result<Self, CorpusError> {
        let mut selector = Selector::new(options)?;
        documents.into_iter().try_for_each(|document| selector.item(Item::Document(document)))?;
        let corpus = Self { name: name.to_owned(), ..selector.finish()? };
        corpus.require_words(Path::new(name))
    }

    /// Counts the words of texts and selects the vocabulary; documents have their numbers, from 1, as ids and
    /// their first words as titles.
    ///
    /// # Errors
    /// As [`Corpus::from_documents`].
    ///
    /// ```
    /// use countgrid_corpus::{Corpus, CorpusOptions};
    /// use countgrid_counts::Bags;
    /// let texts = ["Ants follow trails.", "Trails of red ants", "Red sky, red dust"];
    /// let corpus = Corpus::<f32>::from_texts(&texts, &CorpusOptions::default())?;
    /// assert_eq!(corpus.vocabulary, ["ants", "dust", "follow", "red", "sky", "trails"]);
    /// assert!(corpus.bags.gather(|count| count)?.entries(2).eq([(1, 1.0), (3, 2.0), (4, 1.0)]));
    /// # Ok::<(), countgrid_corpus::CorpusError>(())
    /// ```
    pub fn from_texts(texts: &[impl AsRef<str>], options: &CorpusOptions) -> Result<Self, CorpusError> {
        Self::from_documents("texts", documents(texts), options)
    }

    /// Takes bags over a vocabulary as they are: one word for each feature.
    ///
    /// # Errors
    /// [`CorpusError::Vocabulary`] if there are more or fewer words than features.
    ///
    /// ```
    /// use countgrid_corpus::{BlockLimits, Corpus};
    /// use countgrid_counts::CsrBuf;
    /// let bags = CsrBuf::from_dense(2, &[1.0_f32, 0.0, 2.0, 1.0])?;
    /// let words = ["ants", "bees"].map(str::to_owned).to_vec();
    /// let corpus = Corpus::from_bags(bags, words, BlockLimits::default())?;
    /// assert_eq!((corpus.bags.len(), corpus.tokens), (2, 4.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bags(
        bags: CsrBuf<T>,
        vocabulary: Vec<String>,
        limits: crate::BlockLimits,
    ) -> Result<Self, CorpusError> {
        if vocabulary.len() != bags.features() {
            return Err(CorpusError::Vocabulary { features: bags.features(), words: vocabulary.len() });
        }
        let nonempty = (0..bags.len()).filter(|&bag| bags.entries(bag).next().is_some()).count();
        let (tokens, bags) = (bags.tokens(), Blocks::from_bags(&bags, limits)?);
        Ok(Self::new(Finished { vocabulary, tokens, nonempty, bags }, Vec::new(), CorpusKind::Counts))
    }

    /// Counts the words of new documents against the vocabulary of a fitted model; `text` are the options it was made with.
    /// [`CorpusOptions::words`] and [`CorpusOptions::sample`] are not used.
    ///
    /// # Errors
    /// Invalid options of text; a temporary file that cannot be written.
    ///
    /// ```
    /// use countgrid_corpus::{Corpus, CorpusOptions};
    /// let options = CorpusOptions::default();
    /// let fitted = Corpus::<f32>::from_texts(&["red ants", "blue ants", "red sky"], &options)?;
    /// let new = Corpus::<f32>::count_texts(&["A red, red bee"], &fitted.vocabulary, &fitted.text, &options)?;
    /// assert_eq!((new.tokens, new.documents[0].tokens), (2.0, 3.0)); // of the vocabulary, and with "bee"
    /// # Ok::<(), countgrid_corpus::CorpusError>(())
    /// ```
    pub fn count_texts(
        texts: &[impl AsRef<str>],
        vocabulary: &[String],
        text: &TextOptions,
        options: &CorpusOptions,
    ) -> Result<Self, CorpusError> {
        Self::count_documents("texts", documents(texts), vocabulary, text, options)
    }

    /// As [`Corpus::count_texts`], of documents; `name` is the name of the corpus.
    ///
    /// # Errors
    /// As [`Corpus::count_texts`].
    pub fn count_documents(
        name: &str,
        documents: impl IntoIterator<Item = Document>,
        vocabulary: &[String],
        text: &TextOptions,
        options: &CorpusOptions,
    ) -> Result<Self, CorpusError> {
        let tokenizer = Tokenizer::new(text)?;
        let mut recount = Recount::new(vocabulary, &tokenizer, options)?;
        documents.into_iter().try_for_each(|document| recount.item(Item::Document(document)))?;
        Ok(Self { name: name.to_owned(), ..recount.finish(text)? })
    }

    /// Itself, or an error if no word is left.
    pub(crate) fn require_words(self, path: &Path) -> Result<Self, CorpusError> {
        if self.vocabulary.is_empty() {
            return Err(CorpusError::NoWords { path: path.to_path_buf(), documents: self.bags.len() });
        }
        Ok(self)
    }
}

/// Texts as documents.
fn documents(texts: &[impl AsRef<str>]) -> impl Iterator<Item = Document> {
    let file: Arc<Path> = Arc::from(Path::new("texts"));
    texts.iter().zip(1u64..).map(move |(text, number)| {
        let text = text.as_ref();
        Document {
            id: number.to_string(),
            title: truncate_text(text, TITLE),
            label: None,
            text: text.to_owned(),
            file: Arc::clone(&file),
            line: number,
        }
    })
}
