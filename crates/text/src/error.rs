/// Why options, or a collection, were refused.
///
/// Example: [`Tokenizer`](crate::Tokenizer).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum TextError {
    /// `max_share` is not in `(0, 1]`.
    MaxShare { found: f64 },
    /// No word can be as short as `max_letters` and as long as `min_letters`.
    Letters { min: usize, max: usize },
    /// Runs of no letters.
    Ngrams,
    /// A name that is no language's, or no language at all.
    Language,
    /// Words of text without spaces are asked for, and the feature `segmenter` is off.
    Segmenter,
    /// More distinct words, or more tokens of one word in the document, than a `u32` counts.
    TooMany { document: usize },
    /// Phrases of documents that are read in parts.
    PhrasesInParts,
    /// A part of other documents than before.
    OtherDocuments { expected: usize, found: usize },
}

impl core::fmt::Display for TextError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::MaxShare { found } => {
                write!(f, "the largest share of documents must lie in (0, 1], not {found}")
            }
            Self::Letters { min, max } => {
                write!(f, "words of at least {min} and at most {max} characters do not exist")
            }
            Self::Ngrams => f.write_str("n-grams have at least one letter, not 0"),
            Self::Language => f.write_str("no such language: a code such as `de` or an English name is one"),
            Self::Segmenter => f.write_str(
                "words of Chinese, Japanese, Thai, Khmer, Lao or Burmese need a program that was built with the feature `segmenter`",
            ),
            Self::TooMany { document } => {
                write!(f, "document {document} has more words than can be counted")
            }
            Self::PhrasesInParts => {
                f.write_str("phrases are looked for in whole collections, not in parts: switch them off")
            }
            Self::OtherDocuments { expected, found } => write!(
                f,
                "a part has {found} documents and had {expected} when their languages were told: it must be read again as it was"
            ),
        }
    }
}

impl core::error::Error for TextError {}
