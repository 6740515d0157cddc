//! What files are by their names.

use std::path::{Path, PathBuf};

/// Files of a folder that were not read, by reason.
///
/// Example: [`read`](crate::read).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Files and folders whose name begins with a dot.
    pub hidden: usize,
    /// Files that are no text in any encoding: they have control characters; generated source code.
    pub binary: usize,
    /// Files with nothing but white space.
    pub empty: usize,
    /// CSV, TSV, JSONL files and counts among text files.
    pub tables: usize,
    /// Links to folders, sockets and devices.
    pub special: usize,
    /// Files and folders that cannot be opened, that are damaged or too long.
    pub unreadable: usize,
    /// Documents of a kind that is known, and read by no reader of this build.
    pub unsupported: usize,
}

impl Skipped {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> usize {
        let Self { hidden, binary, empty, tables, special, unreadable, unsupported } = *self;
        hidden + binary + empty + tables + special + unreadable + unsupported
    }
}

#[cfg(feature = "files")]
impl Skipped {
    /// Adds those of another path.
    pub(crate) fn add(&mut self, other: Self) {
        let Self { hidden, binary, empty, tables, special, unreadable, unsupported } = other;
        self.hidden += hidden;
        self.binary += binary;
        self.empty += empty;
        self.tables += tables;
        self.special += special;
        self.unreadable += unreadable;
        self.unsupported += unsupported;
    }
}

/// A file or folder that was not read, and why.
///
/// Example: [`Summary`](crate::Summary).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path.
    pub path: PathBuf,
    /// Why, in a few words.
    pub why: String,
    /// Whether it may have held documents: it is [unreadable](Skipped::unreadable) or of a kind that is
    /// [not read](Skipped::unsupported).
    pub lost: bool,
}

/// What a file is by its name, without `.gz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Csv,
    Tsv,
    JsonLines,
    Docword,
    MatrixMarket,
    SvmLight,
    Npz,
    Workbook,
    Parquet,
    Arrow,
    Vocabulary,
    /// Surely meant as text.
    Text,
    /// A readme or a licence.
    About,
    Other,
}

impl Name {
    pub(crate) fn from_path(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let extension =
            name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension);
        match extension {
            Some("csv") => Self::Csv,
            Some("tsv" | "tab") => Self::Tsv,
            Some("json" | "jsonl" | "ndjson") => Self::JsonLines,
            Some("mtx") => Self::MatrixMarket,
            Some("svm" | "svmlight" | "libsvm") => Self::SvmLight,
            Some("npz") => Self::Npz,
            Some("xlsx" | "xlsm" | "xltx" | "ods" | "ots") => Self::Workbook,
            Some("parquet" | "pq") => Self::Parquet,
            Some("arrow" | "arrows" | "feather" | "ipc") => Self::Arrow,
            _ if name.starts_with("docword") => Self::Docword,
            _ if name.starts_with("vocab") => Self::Vocabulary,
            _ if ["readme", "license", "licence", "copying"].iter().any(|about| name.starts_with(about)) => {
                Self::About
            }
            None | Some("txt" | "text" | "md") => Self::Text,
            Some(_) => Self::Other,
        }
    }

    #[cfg(feature = "files")]
    pub(crate) fn is_table(self) -> bool {
        let holds_rows = matches!(
            self,
            Self::Csv | Self::Tsv | Self::JsonLines | Self::Workbook | Self::Parquet | Self::Arrow
        );
        holds_rows || self.has_vocabulary()
    }

    /// Whether these are counts whose words lie beside them.
    #[cfg(feature = "files")]
    pub(crate) fn has_vocabulary(self) -> bool {
        matches!(self, Self::Docword | Self::MatrixMarket | Self::SvmLight | Self::Npz)
    }
}
