use std::fmt;

/// What a path holds.
///
/// Example: [`read`](crate::read).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A folder of text files.
    Folder,
    /// A ZIP or TAR file, as a folder.
    Archive,
    /// A mailbox of messages.
    Mailbox,
    /// A table, fields told apart as given.
    Table(Table),
    /// One JSON object per line, or an array of them.
    JsonLines,
    /// UCI docword counts with a vocabulary.
    Docword,
    /// Counts as a Matrix Market coordinate file: a row for each document with a vocabulary beside it, or a column for each
    /// where tables of features and barcodes lie beside it, as Cell Ranger writes them.
    MatrixMarket,
    /// Counts in the format of SVMlight and LIBSVM, with a vocabulary.
    SvmLight,
    /// Counts in arrays of NumPy: a sparse matrix that SciPy saved, or one array of two dimensions, with a vocabulary. A row is a
    /// document.
    Npz,
    /// A workbook (XLSX, ODS), of which the first sheet that has something in it is a table.
    Workbook,
    /// A Parquet file, as a table.
    Parquet,
    /// An Arrow file or stream (IPC, Feather), as a table.
    Arrow,
    /// A file that is one document, by itself or of several paths.
    Document,
    /// Several paths, of any formats.
    Several,
    /// Something that no reader here knows, in the words of who read it. Asking for it is refused.
    Other(&'static str),
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "folder of text files",
            Self::Archive => "archive",
            Self::Mailbox => "mailbox",
            Self::Table(Table::Comma) => "CSV",
            Self::Table(Table::Semicolon) => "CSV with semicolons",
            Self::Table(Table::Tab) => "TSV",
            Self::JsonLines => "JSON",
            Self::Docword => "docword counts",
            Self::MatrixMarket => "Matrix Market counts",
            Self::SvmLight => "SVMlight counts",
            Self::Npz => "NPZ counts",
            Self::Workbook => "workbook",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
            Self::Document => "document",
            Self::Several => "several paths",
            Self::Other(what) => what,
        })
    }
}

/// How the fields of a table are told apart.
///
/// Example: [`read_table`](crate::read_table).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// CSV: commas and double quotes.
    Comma,
    /// CSV as some spreadsheets write it: semicolons and double quotes.
    Semicolon,
    /// TSV: one tab; a `"` is a character like any other, for running text is full of unpaired ones.
    Tab,
}

impl Table {
    /// The separator of a `.csv` file by its first line: a comma, unless semicolons are more frequent.
    pub(crate) fn from_first_line(line: &str) -> Self {
        let count = |separator| line.matches(separator).count();
        if count(';') > count(',') { Self::Semicolon } else { Self::Comma }
    }
}
