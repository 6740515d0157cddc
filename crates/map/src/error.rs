use std::{error, fmt, io};

/// Why a page, or the tables to choose its words from, were refused.
///
/// Example: [`characteristic_words`](crate::characteristic_words).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum PageError {
    /// A grid that is neither of one or two axes, nor of layers: three axes with windows of one cell along the first.
    Axes { axes: usize },
    /// More layers than there are pages for, [`crate::MAX_LAYERS`].
    Layers { limit: usize, found: usize },
    /// `extents[axis] == 0`.
    EmptyAxis { axis: usize },
    /// More cells than a page can draw, [`crate::MAX_CELLS`].
    TooManyCells { limit: usize },
    /// A window side is 0 or longer than its axis.
    Window { axis: usize, side: usize, extent: usize },
    /// A word stands on a cell that does not exist.
    WordCell { word: usize, cell: u32, cells: usize },
    /// A weight is negative or not finite.
    WordWeight { word: usize },
    /// A document's posterior names a cell that does not exist.
    DocumentCell { document: usize, cell: u32, cells: usize },
    /// A posterior probability is not in `[0, 1]`.
    Posterior { document: usize },
    /// A document is drawn at a place that is not on the map.
    Place { document: usize },
    /// A document has a label that does not exist.
    Label { document: usize, label: u32, labels: usize },
    /// Documents are said to be added from one on that does not exist.
    Added { first: usize, documents: usize },
    /// A document has neither no fields nor one for each column.
    Fields { document: usize, expected: usize, found: usize },
    /// A field is not of the kind of its column: a number that is not finite, a category that does not exist.
    Field { document: usize, column: usize },
    /// A table does not hold the elements that its shape asks for.
    Length { table: &'static str, expected: usize, found: usize },
    /// An element of the table is negative or not finite.
    Value { table: &'static str, index: usize },
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Axes { axes } => write!(
                f,
                "a page shows a grid of one or two axes, or layers of one cell in windows of three; this one has {axes}"
            ),
            Self::Layers { limit, found } => {
                write!(f, "a map has {limit} layers at most, and this one has {found}")
            }
            Self::EmptyAxis { axis } => write!(f, "axis {axis} has no cells"),
            Self::TooManyCells { limit } => write!(f, "a page shows at most {limit} cells"),
            Self::Window { axis, side, extent } => {
                write!(f, "the window is {side} long on axis {axis}, must be 1 to {extent}")
            }
            Self::WordCell { word, cell, cells } => {
                write!(f, "word {word} stands on cell {cell} of {cells}")
            }
            Self::WordWeight { word } => write!(f, "word {word} has a weight that is negative or not finite"),
            Self::DocumentCell { document, cell, cells } => {
                write!(f, "document {document} stands on cell {cell} of {cells}")
            }
            Self::Posterior { document } => {
                write!(f, "document {document} has a posterior probability outside [0, 1]")
            }
            Self::Place { document } => write!(f, "document {document} has a place outside the map"),
            Self::Label { document, label, labels } => {
                write!(f, "document {document} has label {label} of {labels}")
            }
            Self::Added { first, documents } => {
                write!(f, "documents are added from {first} on, and there are {documents}")
            }
            Self::Fields { document, expected, found } => {
                write!(f, "document {document} has {found} fields, needs {expected} or none")
            }
            Self::Field { document, column } => {
                write!(
                    f,
                    "document {document} has a field of column {column} that is not of the column's kind"
                )
            }
            Self::Length { table, expected, found } => {
                write!(f, "`{table}` has {found} elements, needs {expected}")
            }
            Self::Value { table, index } => {
                write!(f, "element {index} of `{table}` is negative or not finite")
            }
        }
    }
}

impl error::Error for PageError {}

/// Why a page was not written.
///
/// Example: [`write_html`](crate::write_html).
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The page itself; nothing was written.
    Page(PageError),
    /// The writer.
    Io(io::Error),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl error::Error for WriteError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Page(error) => Some(error),
            Self::Io(error) => Some(error),
        }
    }
}

impl From<PageError> for WriteError {
    fn from(error: PageError) -> Self {
        Self::Page(error)
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Why a page could not be read.
///
/// Example: [`read_html`](crate::read_html).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageReadError {
    /// There is no data of a map in it.
    NoData,
    /// The data is not what a page has: the reason.
    Data(String),
    /// A table has another length than what it is of.
    Length {
        /// Its name.
        table: &'static str,
        /// Elements that it needs.
        expected: usize,
        /// Elements that it has.
        found: usize,
    },
    /// Whole texts are damaged, or too long.
    Texts {
        /// In which piece of them.
        chunk: usize,
    },
    /// What it shows is not in order.
    Page(PageError),
}

impl fmt::Display for PageReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoData => {
                f.write_str("there is no data of a map in it; a page that countgrid has drawn has it")
            }
            Self::Data(error) => write!(f, "the data of the map is damaged: {error}"),
            Self::Length { table, expected, found } => {
                write!(f, "the data of the map is damaged: `{table}` has {found} elements, needs {expected}")
            }
            Self::Texts { chunk } => write!(f, "piece {chunk} of the whole texts is damaged or too long"),
            Self::Page(error) => error.fmt(f),
        }
    }
}

impl error::Error for PageReadError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Page(error) => Some(error),
            _ => None,
        }
    }
}

impl From<PageError> for PageReadError {
    fn from(error: PageError) -> Self {
        Self::Page(error)
    }
}
