use crate::TextError;

/// Which words are too ordinary to count.
///
/// Lists are compared with tokens in the same form: lower-case, straight apostrophes.
///
/// Example: [`TextOptions`](crate::TextOptions).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum StopWords {
    /// The English list of NLTK, 198 words from "a" to "you've".
    #[default]
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
    /// Words to leave out.
    pub stop_words: StopWords,
    /// Count all words of one English stem as one (Snowball English, "Porter2"); the vocabulary then shows
    /// the commonest word of each stem. Default: no.
    pub stem: bool,
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
            stop_words: StopWords::English,
            stem: false,
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
        if self.ngrams == Some(0) {
            return Err(TextError::Ngrams);
        }
        if self.min_letters > self.max_letters || self.max_letters == 0 {
            return Err(TextError::Letters { min: self.min_letters, max: self.max_letters });
        }
        Ok(())
    }
}
