use std::path::PathBuf;

use countgrid_io::Columns;
use countgrid_text::{Languages, StopWords, TextOptions};

use crate::{BlockLimits, KeepColumns, Sample, Scaling};

/// What a word is, and which words are features.
///
/// ```
/// use countgrid_corpus::WordOptions;
/// let options = WordOptions { ngrams: Some(3), ..WordOptions::default() };
/// assert_eq!((options.for_text().min_count, options.for_text().max_share), (Some(1), 1.0));
/// assert_eq!(WordOptions::default().for_text().max_share, 0.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct WordOptions {
    /// The languages of the texts. Default: that of each is detected.
    pub languages: Languages,
    /// Words of texts that are left out. Default: the stop words of each text's language.
    pub stop_words: StopWords,
    /// Whether all words of one stem are one word, by each text's language. Default: no.
    pub stem: bool,
    /// Whether headers of mail, quoted lines, addresses and codes count like words ([`TextOptions::keep_noise`]). Default: no.
    pub keep_noise: bool,
    /// Whether phrases of two or three words that are found in the texts are words ([`TextOptions::phrases`]). Default: no.
    pub phrases: bool,
    /// Texts are sequences, and words are runs of so many letters. Default: no.
    pub ngrams: Option<usize>,
    /// In how many documents at least a word must be. Default: 1 in texts with `ngrams` and in counts, else 1 to 5, the
    /// more documents the more ([`TextOptions::min_count`]).
    pub min_count: Option<usize>,
    /// In which share of the documents at most, in `(0, 1]`. Default: 1 in texts with `ngrams` and in counts, else 0.5.
    pub max_share: Option<f64>,
    /// How many words at most (default 3,000): those that distinguish most pairs of documents.
    pub max_words: usize,
}

impl Default for WordOptions {
    fn default() -> Self {
        Self {
            languages: Languages::Auto,
            stop_words: StopWords::Auto,
            stem: false,
            keep_noise: false,
            phrases: false,
            ngrams: None,
            min_count: None,
            max_share: None,
            max_words: 3_000,
        }
    }
}

impl WordOptions {
    /// Keeps every word that is in some document.
    ///
    /// ```
    /// use countgrid_corpus::WordOptions;
    /// assert_eq!(WordOptions::default().keep_all().max_words, usize::MAX);
    /// ```
    #[must_use]
    pub fn keep_all(self) -> Self {
        Self { min_count: Some(1), max_share: Some(1.0), max_words: usize::MAX, ..self }
    }

    /// What these options mean for texts.
    #[must_use]
    pub fn for_text(&self) -> TextOptions {
        let standard = TextOptions::default();
        // Most n-grams of a small alphabet are in most sequences.
        let (min_count, max_share) = match self.ngrams {
            Some(_) => (Some(1), 1.0),
            None => (None, standard.max_share),
        };
        TextOptions {
            languages: self.languages.clone(),
            stop_words: self.stop_words.clone(),
            stem: self.stem,
            keep_noise: self.keep_noise,
            phrases: self.phrases,
            ngrams: self.ngrams,
            min_count: self.min_count.or(min_count),
            max_share: self.max_share.unwrap_or(max_share),
            max_words: self.max_words,
            ..standard
        }
    }

    /// What these options mean for a text that a model of counts may meet: English, as nothing was detected.
    pub(crate) fn without_text(&self) -> TextOptions {
        let (languages, stop_words) = match (&self.languages, &self.stop_words) {
            (Languages::Auto, StopWords::Auto) => (Languages::english(), StopWords::English),
            (Languages::Auto, own) => (Languages::english(), own.clone()),
            (own, stop_words) => (own.clone(), stop_words.clone()),
        };
        TextOptions {
            languages,
            stop_words,
            segment: false,
            keep_noise: true,
            phrases: false,
            ..self.for_text()
        }
    }

    /// What these options mean for counts, which keep the vocabulary they come with unless a limit is given.
    ///
    /// ```
    /// use countgrid_corpus::WordOptions;
    /// let limits = WordOptions::default().for_counts();
    /// assert_eq!((limits.min_count, limits.max_share, limits.max_words), (Some(1), 1.0, 3_000));
    /// ```
    #[must_use]
    pub fn for_counts(&self) -> TextOptions {
        TextOptions {
            min_count: Some(self.min_count.unwrap_or(1).max(1)),
            max_share: self.max_share.unwrap_or(1.0),
            max_words: self.max_words,
            ..TextOptions::default()
        }
    }
}

/// Where documents are in a file, what is kept of them, and how they become bags of counts.
///
/// ```
/// use countgrid_corpus::{CorpusOptions, Sample, WordOptions};
/// let options = CorpusOptions {
///     words: WordOptions { max_words: 500, ..WordOptions::default() },
///     sample: Some(Sample { per_label: 100, seed: 1 }),
///     ..CorpusOptions::default()
/// };
/// assert!(options.keep_documents && options.keep_columns == countgrid_corpus::KeepColumns::None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CorpusOptions {
    /// The columns of a table or of JSON lines, where they are not to be found by their names.
    pub columns: Columns,
    /// The vocabulary of a file of counts, where it does not lie beside it.
    pub vocabulary: Option<PathBuf>,
    /// Which folder on the path of each file of a folder is its label, from 1 for the outermost; 0 for no labels. A file that is
    /// not in so many has none. Default: `None`, the outermost level in which files differ.
    pub label_depth: Option<usize>,
    /// What a word is, and which words are features. Not used where documents are counted against a vocabulary.
    pub words: WordOptions,
    /// How numbers become counts.
    pub scaling: Scaling,
    /// Which documents are taken, if not all. Not used where documents are counted against a vocabulary.
    pub sample: Option<Sample>,
    /// Whether texts are kept of which nearly all is in an earlier one (default: yes). Otherwise a text is left out of which a share
    /// of [`NEAR_DUPLICATE`](crate::NEAR_DUPLICATE) is that of an earlier one that stays, and [`Corpus::near_duplicates`] names
    /// both. Only words count ([`WordOptions::keep_noise`]), in their order; labels do not. Texts of fewer than 27 different runs of three words
    /// are kept, since two documents may have one title, and so are sequences ([`WordOptions::ngrams`]) and counts. Of a
    /// sample, those that were drawn are compared. Not used where documents are counted against a vocabulary.
    ///
    /// [`Corpus::near_duplicates`]: crate::Corpus::near_duplicates
    pub keep_near_duplicates: bool,
    /// Whether lines count that most documents of a source have, such as the footer of every page (default: yes). Otherwise a line of at
    /// least three words, stop words too, is left out of every text that has other lines besides, if a source has at least ten
    /// documents and more than a share of [`BOILERPLATE`](crate::BOILERPLATE) of them have the line; [`Corpus::boilerplate`] lists these
    /// lines and [`Corpus::text`] has them, so that they are left out of new documents too. A source is a file of several documents, such as
    /// a table or a mailbox, and each folder with all below it. A line is the sequence of its words ([`WordOptions::keep_noise`]), of which
    /// numbers are none. The documents of a source come without others between them, as readers hand them over. The share is that of the
    /// documents that are taken, and also of all that were read. Not used for sequences
    /// ([`WordOptions::ngrams`]) and counts, nor where documents are counted against a vocabulary.
    ///
    /// [`Corpus::boilerplate`]: crate::Corpus::boilerplate
    /// [`Corpus::text`]: crate::Corpus::text
    pub keep_boilerplate: bool,
    /// Whether ids, titles and snippets are kept (default: yes).
    pub keep_documents: bool,
    /// Bytes of whole texts that are kept with the documents, at most, all together (default: 0). A text that no longer fits is
    /// not kept, and shorter ones after it may be.
    pub keep_texts: usize,
    /// Which other columns of a table or of JSON lines are kept (default: none).
    pub keep_columns: KeepColumns,
    /// Where bags go. With no memory for blocks at all ([`BlockLimits::streaming`]) there is no limit on how much is read
    /// either; else a data set may have 4 GiB.
    pub blocks: BlockLimits,
    /// Files that are not read, such as those that the program is to write: they may exist from an earlier run. One of them
    /// as the input is an error.
    pub ignore: Vec<PathBuf>,
    /// Whether a file of a folder that cannot be read, or is of a kind that is not read, is an error. Default: no, it is
    /// passed over, and [`Summary::left_out`](countgrid_io::Summary::left_out) names it.
    pub strict: bool,
}

impl Default for CorpusOptions {
    fn default() -> Self {
        Self {
            columns: Columns::default(),
            vocabulary: None,
            label_depth: None,
            words: WordOptions::default(),
            scaling: Scaling::default(),
            sample: None,
            keep_near_duplicates: true,
            keep_boilerplate: true,
            keep_documents: true,
            keep_texts: 0,
            keep_columns: KeepColumns::None,
            blocks: BlockLimits::default(),
            ignore: Vec::new(),
            strict: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_words_are_those_of_what_is_read() {
        let default = WordOptions::default();
        // Of texts, of runs of letters, and of counts.
        let text = default.for_text();
        assert_eq!((text.min_count, text.max_share, text.max_words), (None, 0.5, 3_000));
        let runs = WordOptions { ngrams: Some(3), ..default.clone() }.for_text();
        assert_eq!(
            (runs.ngrams, runs.min_count, runs.max_share, runs.max_words),
            (Some(3), Some(1), 1.0, 3_000)
        );
        let counts = default.for_counts();
        assert_eq!((counts.min_count, counts.max_share, counts.max_words), (Some(1), 1.0, 3_000));
        // What is given counts everywhere.
        let given =
            WordOptions { min_count: Some(4), max_share: Some(0.25), max_words: 7, ..default.clone() };
        let runs = WordOptions { ngrams: Some(2), ..given.clone() };
        for limits in [given.for_text(), runs.for_text(), given.for_counts()] {
            assert_eq!((limits.min_count, limits.max_share, limits.max_words), (Some(4), 0.25, 7));
        }
        let none = WordOptions { min_count: Some(0), ..default.clone() };
        assert_eq!(none.for_counts().min_count, Some(1));
        let all = default.keep_all();
        for limits in [all.for_text(), all.for_counts()] {
            assert_eq!((limits.min_count, limits.max_share, limits.max_words), (Some(1), 1.0, usize::MAX));
        }
    }

    #[test]
    fn options_of_texts_are_handed_on() {
        let own = WordOptions {
            languages: Languages::Known(vec!["de".parse().unwrap()]),
            stop_words: StopWords::None,
            stem: true,
            keep_noise: true,
            phrases: true,
            ..WordOptions::default()
        };
        let text = own.for_text();
        assert_eq!((&text.languages, &text.stop_words), (&own.languages, &own.stop_words));
        assert!(text.stem && text.keep_noise && text.phrases);
        // Of counts nothing is detected: what is not said is English.
        let text = WordOptions::default().without_text();
        assert_eq!((&text.languages, &text.stop_words), (&Languages::english(), &StopWords::English));
        assert!(!text.segment && text.keep_noise && !text.phrases);
        let text = WordOptions { stop_words: StopWords::None, ..WordOptions::default() }.without_text();
        assert_eq!((&text.languages, &text.stop_words), (&Languages::english(), &StopWords::None));
        let text = own.without_text();
        assert_eq!((&text.languages, &text.stop_words), (&own.languages, &own.stop_words));
        assert!(text.stem && !text.phrases);
    }
}
