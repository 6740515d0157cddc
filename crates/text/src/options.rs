use crate::{Language, TextError};

/// The languages that documents may be in.
///
/// Example: [`TextOptions`](crate::TextOptions).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Languages {
    /// Each document's is detected: by its stop words where it has many of one language, else by its script and letters
    /// ([`Language::detect`]). The languages of the collection are that of most documents, and others that at least a hundredth of
    /// all documents are in; documents in another, and those too short to tell, are taken for the language of the collection of
    /// which they have most stop words, else for that of most documents. English if no document tells.
    ///
    /// Of the documents of a collection that only letters could tell the language of, the first 4,096 are compared; then, as
    /// long as the documents so far are in one language by the rule above, one in 16, which counts for so many, and the others
    /// are as if too short to tell.
    #[default]
    Auto,
    /// These: if it is one, all documents are in it, and nothing is detected. Of several the first is that of documents that
    /// do not tell.
    Known(Vec<Language>),
}

impl Languages {
    /// English, without detection, as before there were other languages.
    #[must_use]
    pub fn english() -> Self {
        Self::Known(vec![Language::ENGLISH])
    }
}

/// Which words are too ordinary to count.
///
/// Lists are compared with tokens in the same form: lower-case, straight apostrophes.
///
/// Example: [`TextOptions`](crate::TextOptions).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum StopWords {
    /// Those of each document's language ([`Language::stop_words`]); in Japanese also words without an ideograph or Katakana,
    /// which are particles and endings.
    #[default]
    Auto,
    /// The English list of NLTK, 198 words from "a" to "you've", whatever the language.
    English,
    /// None: every word counts.
    None,
    /// The caller's.
    List(Vec<String>),
}

/// What a word is, and which words make the vocabulary.
///
/// ```
/// use countgrid_text::{StopWords, TextOptions};
///
/// let options = TextOptions { stop_words: StopWords::None, stem: true, ..TextOptions::default() };
/// assert_eq!(options.max_words, 5_000);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct TextOptions {
    /// The languages of the documents. Default: they are detected.
    pub languages: Languages,
    /// Words to leave out. Default: the stop words of each document's language.
    pub stop_words: StopWords,
    /// Count all words of one stem as one, by the Snowball stemmer of each document's language (of English "Porter2"), if there
    /// is one; the vocabulary then shows the commonest word of each stem. Default: no.
    pub stem: bool,
    /// Whether text that is written without spaces, Chinese, Japanese, Thai, Khmer, Lao and Burmese, is cut into the words of
    /// the dictionaries of Unicode's ICU; else ideographs are words and other letters mostly none. Needs the feature
    /// `segmenter`, with which it is the default.
    pub segment: bool,
    /// Whether what is no prose counts like words: headers at the head of a mail, quoted lines of a reply, addresses of pages and
    /// of mail, hosts, hashes and encoded data. Default: no; of the headers what the subject says is read.
    pub keep_noise: bool,
    /// Whether phrases that are found in the collection, such as "hard drive", are words: pairs and triples of words with nothing but
    /// a space or a hyphen between them, no stop word among them, that are adjacent far more often than independent words would be
    /// and are so in as many documents as a word must be, three at least. A phrase of the vocabulary is written with spaces, and where
    /// it is found its words are not counted besides. Words that dictionaries cut from text without spaces are in no phrases. Default: no.
    pub phrases: bool,
    /// Lines that are left out of every text that has other lines besides, such as the disclaimer below a mail: of each its words, as
    /// [`Counter::lines`](crate::Counter::lines) has them, with spaces between them. The language of a text is that of all its lines. Not
    /// used with `ngrams`. Default: none.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub boilerplate: Vec<String>,
    /// Take a text for a sequence of letters, and for its words all runs of so many, which overlap; white space is left
    /// out, and stop words, stems and the limits of letters do not apply. Default: `None`, text is text.
    pub ngrams: Option<usize>,
    /// Shortest word, in characters (default 2). A single ideograph is always a word.
    pub min_letters: usize,
    /// Longest word, in characters (default 40): longer ones are encoded data.
    pub max_letters: usize,
    /// In how many documents at least a word must be. `None`, the default, means 1, 2, 3 or 5 for fewer than
    /// 20, 200, 2,000 or more documents.
    pub min_count: Option<usize>,
    /// In which share of the documents at most, in `(0, 1]`, rounded up to a whole document (default 0.5);
    /// `min_count` goes first where the two disagree.
    pub max_share: f64,
    /// The largest vocabulary (default 5,000). Of more words those with the highest resolving power stay.
    ///
    /// The resolving power of a word that is in `d` of `T` documents is `d (T - d)`, the number of pairs of
    /// documents that it separates, one having it and the other not. As in Luhn's curve it is low for what
    /// is everywhere and for what is nowhere. Of equals the rarer stays, then the first in order.
    pub max_words: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            languages: Languages::Auto,
            stop_words: StopWords::Auto,
            stem: false,
            segment: cfg!(feature = "segmenter"),
            keep_noise: false,
            phrases: false,
            boilerplate: Vec::new(),
            ngrams: None,
            min_letters: 2,
            max_letters: 40,
            min_count: None,
            max_share: 0.5,
            max_words: 5_000,
        }
    }
}

impl TextOptions {
    /// The limits in use for `documents` documents: a word must be in at least the first and at most the
    /// second number of them.
    pub(crate) fn limits(&self, documents: usize) -> (usize, usize) {
        let least = self.min_count.unwrap_or(match documents {
            0..20 => 1,
            20..200 => 2,
            200..2_000 => 3,
            _ => 5,
        });
        let most = (self.max_share * documents as f64).ceil() as usize; // at most `documents`
        (least, most.max(least).max(1))
    }

    pub(crate) fn check(&self) -> Result<(), TextError> {
        if !(self.max_share > 0.0 && self.max_share <= 1.0) {
            return Err(TextError::MaxShare { found: self.max_share });
        }
        if self.segment && !cfg!(feature = "segmenter") {
            return Err(TextError::Segmenter);
        }
        if self.languages == Languages::Known(Vec::new()) {
            return Err(TextError::Language);
        }
        if self.ngrams == Some(0) {
            return Err(TextError::Ngrams);
        }
        if self.min_letters > self.max_letters || self.max_letters == 0 {
            return Err(TextError::Letters { min: self.min_letters, max: self.max_letters });
        }
        Ok(())
    }
}
