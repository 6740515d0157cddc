use std::{
    error::Error,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use countgrid_counts::BagsError;
use countgrid_io::{BlockError, Format, ReadError};
use countgrid_text::TextError;

/// Columns that a message names.
const MOST_NAMES: usize = 12;

/// Why a corpus could not be made.
///
/// ```
/// use std::path::Path;
/// use countgrid_corpus::CorpusError;
/// let place = Some((Path::new("made.csv").into(), 4));
/// let error = CorpusError::NegativeNumber { bag: 2, feature: "length".to_owned(), number: -1.5, place };
/// assert_eq!(error.to_string(), "made.csv, line 4: the number under `length` is -1.5; counts are 0 or above");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum CorpusError {
    /// A file could not be read.
    Read(ReadError),
    /// The temporary file of counts could not be written or read.
    Blocks(BlockError),
    /// Options of the text were refused, or a document has too many words.
    Text(TextError),
    /// Values that are not counts.
    Bags(BagsError),
    /// A number that is negative after scaling.
    NegativeNumber {
        /// The bag, from 0.
        bag: usize,
        /// The name of the column.
        feature: String,
        /// The number before scaling.
        number: f64,
        /// The file, and the line from 1, if it was read from one.
        place: Option<(Arc<Path>, u64)>,
    },
    /// A count beyond the range of the floating-point type.
    CountTooLarge {
        /// The document, from 0.
        document: usize,
        /// The word.
        word: String,
        /// The name of the type.
        scalar: &'static str,
    },
    /// No word is left of the documents: all are too rare, too common or stop words.
    NoWords {
        /// The file or folder.
        path: PathBuf,
        /// Number of documents.
        documents: usize,
    },
    /// A number of words other than that of features.
    Vocabulary {
        /// Number of features.
        features: usize,
        /// Number of words.
        words: usize,
    },
    /// Labels were asked for by the level of a folder, of what is no folder.
    LabelDepth {
        /// The file.
        path: PathBuf,
        /// What it holds.
        format: Format,
    },
    /// An option that is given and not used for what is read: what was asked for would not be done.
    Unused {
        /// The file or folder, or what the texts are called.
        path: PathBuf,
        /// The option, as a field of [`CorpusOptions`](crate::CorpusOptions): `columns.label`, `vocabulary`, `scaling.scale`,
        /// `words.phrases`.
        option: &'static str,
        /// What it is used for.
        used_for: &'static str,
        /// What was read.
        found: String,
    },
    /// Nothing to take as a sample of doc comments: no crate that Cargo has unpacked, or none with comments long enough.
    NoDocComments {
        /// Where Cargo unpacks crates.
        folder: PathBuf,
        /// Crates that are there.
        crates: usize,
    },
    /// A column that was to be kept is not there, or has a role.
    NoSuchColumn {
        /// Its name.
        name: String,
        /// Those without a role that are there.
        columns: Vec<String>,
    },
    /// The input is one of the files that were to be left out because the program writes them.
    InputIsOutput {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for CorpusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Blocks(error) => error.fmt(f),
            Self::Text(error) => error.fmt(f),
            Self::Bags(error) => error.fmt(f),
            Self::NegativeNumber { bag, feature, number, place } => {
                match place {
                    Some((file, line)) => write!(f, "{}, line {line}", file.display()),
                    None => write!(f, "bag {}", bag.saturating_add(1)),
                }?;
                write!(f, ": the number under `{feature}` is {number}; counts are 0 or above")
            }
            Self::CountTooLarge { document, word, scalar } => write!(
                f,
                "the count of `{word}` in document {} is too large for {scalar}",
                document.saturating_add(1)
            ),
            Self::NoWords { path, documents } => {
                write!(f, "{}: no word is left of {documents} documents", path.display())
            }
            Self::Vocabulary { features, words } => {
                write!(f, "{words} words for {features} features, as many are needed")
            }
            Self::LabelDepth { path, format } => {
                write!(f, "{}: has no folders to take labels from, being {format}", path.display())
            }
            Self::Unused { path, option, used_for, found } => {
                write!(f, "{}: {found}, and `{option}` is for {used_for}", path.display())
            }
            Self::NoDocComments { folder, crates: 0 } => {
                write!(f, "{}: no crates that Cargo has unpacked", folder.display())
            }
            Self::NoDocComments { folder, .. } => {
                write!(
                    f,
                    "{}: no doc comment of 20 words in the crates that Cargo has unpacked",
                    folder.display()
                )
            }
            Self::NoSuchColumn { name, columns } => {
                write!(f, "there is no column `{name}` besides those of text, title, label and id; there ")?;
                match columns.len() {
                    0 => f.write_str("are no others"),
                    _ => write!(f, "are: `{}`", columns[..columns.len().min(MOST_NAMES)].join("`, `")),
                }?;
                if columns.len() > MOST_NAMES { f.write_str(", ...") } else { Ok(()) }
            }
            Self::InputIsOutput { path } => {
                write!(f, "{}: is the input, and would be overwritten", path.display())
            }
        }
    }
}

impl Error for CorpusError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            Self::Blocks(error) => Some(error),
            Self::Text(error) => Some(error),
            Self::Bags(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ReadError> for CorpusError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}
impl From<BlockError> for CorpusError {
    fn from(error: BlockError) -> Self {
        Self::Blocks(error)
    }
}
impl From<TextError> for CorpusError {
    fn from(error: TextError) -> Self {
        Self::Text(error)
    }
}
impl From<BagsError> for CorpusError {
    fn from(error: BagsError) -> Self {
        Self::Bags(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_the_columns_there_are_are_named() {
        let message = |n: usize| {
            let columns = (1..=n).map(|column| format!("c{column}")).collect();
            CorpusError::NoSuchColumn { name: "year".to_owned(), columns }.to_string()
        };
        let there = "there is no column `year` besides those of text, title, label and id; there are";
        assert_eq!(message(0), format!("{there} no others"));
        assert_eq!(message(2), format!("{there}: `c1`, `c2`"));
        assert!(message(11).ends_with("`c10`, `c11`"), "{}", message(11));
        assert!(message(12).ends_with("`c11`, `c12`"), "{}", message(12));
        assert!(message(13).ends_with("`c11`, `c12`, ..."), "{}", message(13));
        assert!(message(40).ends_with("`c11`, `c12`, ..."), "{}", message(40));
    }

    /// What was wrapped is the source, and is all that the message says.
    #[test]
    fn errors_of_others_are_sources() {
        let bags = countgrid_counts::CsrBuf::<f32>::new(1).unwrap().push_bag([(1, 1.0)]).unwrap_err();
        let text = countgrid_text::Tokenizer::new(&countgrid_text::TextOptions {
            ngrams: Some(0),
            ..countgrid_text::TextOptions::default()
        });
        let wrapped = |error: CorpusError| {
            let source = error.source().map(ToString::to_string);
            assert_eq!(source, Some(error.to_string()));
        };
        wrapped(bags.into());
        wrapped(text.unwrap_err().into());
        #[cfg(feature = "files")]
        {
            let path = Path::new("no such file");
            let read = countgrid_io::read(path, &countgrid_io::ReadOptions::default()).unwrap_err();
            wrapped(read.into());
            let empty = tempfile::tempfile().unwrap();
            wrapped(countgrid_io::BlockFile::<f32>::open(empty, path).unwrap_err().into());
        }
        let own = CorpusError::Vocabulary { features: 1, words: 2 };
        assert!(own.source().is_none());
    }
}
