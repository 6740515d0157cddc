//! One way in, whatever the path holds.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use encoding_rs::UTF_8;

#[cfg(feature = "arrow")]
use crate::arrow;
#[cfg(any(feature = "arrow", feature = "parquet"))]
use crate::columnar::{self, Columnar};
use crate::columns::TEXT;
#[cfg(feature = "files")]
use crate::detect::as_folder;
use crate::detect::{detect, packed};
use crate::document::Document;
use crate::docword::{self, Counts};
use crate::error::{Problem, ReadError, plural};
#[cfg(feature = "files")]
use crate::folder::{self, Listing};
use crate::format::Format;
use crate::item::Item;
#[cfg(feature = "files")]
use crate::name::Name;
use crate::name::{LeftOut, Skipped};
#[cfg(feature = "npz")]
use crate::npz;
#[cfg(feature = "files")]
use crate::objects;
use crate::options::ReadOptions;
#[cfg(feature = "parquet")]
use crate::parquet;
#[cfg(any(feature = "arrow", feature = "npz", feature = "office", feature = "parquet"))]
use crate::shared::shared;
#[cfg(any(feature = "arrow", feature = "parquet"))]
use crate::source::Limits;
use crate::source::{Budget, Source};
#[cfg(feature = "office")]
use crate::workbook;
use crate::{jsonl, matrix_market, svmlight, table};

/// A data set as it was read.
///
/// Example: [`read`](crate::read).
#[derive(Clone, Debug, PartialEq)]
pub enum DataSet {
    /// Texts, still to be counted.
    Documents(Vec<Document>),
    /// Bags that were counted before.
    Counts(Counts),
}

/// What was read, to be printed.
///
/// ```
/// use countgrid_io::{ReadOptions, read};
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("a.txt"), b"Le caf\xe9 est ferm\xe9, l'h\xf4tel est ouvert.")?;
/// std::fs::write(folder.path().join("b.jpg"), b"\xff\xd8\xff\xe0\0\x10JFIF")?;
/// let (_, summary) = read(folder.path(), &ReadOptions::default())?;
/// assert_eq!(summary.encodings.into_iter().collect::<Vec<_>>(), [("windows-1252", 1)]);
/// assert_eq!(summary.left_out[0].path, folder.path().join("b.jpg"));
/// assert_eq!((summary.skipped.binary, summary.left_out[0].why.as_str()), (1, "no text: it has control characters"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Summary {
    /// The file or folder that was read: the path given, or the one data file in that folder.
    pub path: PathBuf,
    /// What it was taken for.
    pub format: Format,
    /// Whether it was compressed.
    pub gzip: bool,
    /// Files read.
    pub files: usize,
    /// Files passed over.
    pub skipped: Skipped,
    /// Which these are, and why each was.
    pub left_out: Vec<LeftOut>,
    /// Files that were web pages, of which the main text is read.
    pub pages: usize,
    /// Files that were not in UTF-8, by the name of their encoding.
    pub encodings: BTreeMap<&'static str, usize>,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Documents found.
    pub documents: usize,
    /// Different labels among them.
    pub labels: usize,
    /// The columns used, by role; empty where there are none.
    pub columns: Vec<(&'static str, String)>,
    /// Where several paths were read ([`read_all`](crate::read_all)): these, and what each was taken for. The other fields are of all
    /// of them, but for `path`, which is the first.
    pub paths: Vec<(PathBuf, Format)>,
}

/// Paths that are named of several.
const NAMED: usize = 3;

#[cfg(feature = "files")]
impl Summary {
    /// Nothing was read yet.
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            format: Format::Folder,
            gzip: false,
            files: 0,
            skipped: Skipped::default(),
            left_out: Vec::new(),
            pages: 0,
            encodings: BTreeMap::new(),
            bytes: 0,
            documents: 0,
            labels: 0,
            columns: Vec::new(),
            paths: Vec::new(),
        }
    }

    /// Adds what was read of another path; bytes and labels are not added up.
    pub(crate) fn add(&mut self, read: Self) {
        let Self { gzip, files, skipped, left_out, pages, encodings, documents, columns, .. } = read;
        self.gzip |= gzip;
        self.files += files;
        self.skipped.add(skipped);
        self.left_out.extend(left_out);
        self.pages += pages;
        encodings.into_iter().for_each(|(name, files)| *self.encodings.entry(name).or_default() += files);
        self.documents += documents;
        for column in columns {
            if !self.columns.contains(&column) {
                self.columns.push(column);
            }
        }
    }
}

impl Summary {
    /// What was read, by name: the path, or the first of several.
    ///
    /// ```
    /// use countgrid_io::{ReadOptions, read_all};
    /// let folder = tempfile::tempdir()?;
    /// let paths = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|name| folder.path().join(name));
    /// paths.iter().try_for_each(|path| std::fs::write(path, "A text."))?;
    /// let (_, summary) = read_all(&paths, &ReadOptions::default())?;
    /// assert!(summary.names().ends_with("c.txt and 1 more"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn names(&self) -> String {
        if self.paths.is_empty() {
            return self.path.display().to_string();
        }
        let named: Vec<String> =
            self.paths.iter().take(NAMED).map(|(path, _)| path.display().to_string()).collect();
        match self.paths.len().saturating_sub(NAMED) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gzip = if self.gzip { ", gzip" } else { "" };
        write!(f, "{} ({}{gzip}): {} documents", self.names(), self.format, self.documents)?;
        if self.labels > 0 {
            write!(f, ", {} labels", self.labels)?;
        }
        let files = if self.files == 1 { "file" } else { "files" };
        write!(f, ", {:.1} MB in {} {files}", self.bytes as f64 / 1e6, self.files)?;
        if self.pages > 0 {
            write!(f, ", {} of them HTML", self.pages)?;
        }
        for (encoding, files) in &self.encodings {
            write!(f, ", {files} of them in {encoding}")?;
        }
        let Skipped { hidden, binary, empty, tables, special, unreadable, unsupported } = self.skipped;
        let reasons = [
            (unreadable, "unreadable"),
            (unsupported, "of kinds that are not read"),
            (hidden, "hidden"),
            (binary, "binary"),
            (empty, "empty"),
            (tables, &plural(tables, "table")),
            (special, "special"),
        ];
        let skipped: Vec<String> =
            reasons.iter().filter(|(n, _)| *n > 0).map(|(n, reason)| format!("{n} {reason}")).collect();
        if !skipped.is_empty() {
            write!(f, "; skipped {}", skipped.join(", "))?;
        }
        if !self.columns.is_empty() {
            let columns: Vec<_> =
                self.columns.iter().map(|(role, name)| format!("{role} `{name}`")).collect();
            write!(f, "; columns: {}", columns.join(", "))?;
        }
        Ok(())
    }
}

/// Reads a data set from a path: finds out what it is, reads it, and says what it did.
///
/// | path | read as |
/// |---|---|
/// | a folder | its text files and web pages, recursively; the first subfolder is the label |
/// | a folder with one data file and no text but a readme or licence | that file |
/// | a folder of several `.json` files that are an object each, and no text | a document for each |
/// | `.csv`, `.tsv` | a table with a header line |
/// | `.jsonl`, `.ndjson`, `.json` | JSON lines, or an array of objects |
/// | a table without a column of text, but with columns of numbers | counts: a feature for each of these columns |
/// | a ZIP or TAR file (feature `archives`), a mailbox (feature `mail`) | a folder of the files or messages in it |
/// | an RTF file, a web page (feature `html`), a PDF file (`pdf`), a message (`mail`), a DOCX, ODT or EPUB file (`office`) | one document; a plain text is none by itself, since its lines may be meant |
/// | `docword*` | UCI counts, with the vocabulary beside it |
/// | `.mtx` | counts of a Matrix Market file, a row for each document, with the vocabulary beside it (`vocab.NAME.txt`, `vocab.txt`) |
/// | `matrix.mtx` beside `features.tsv` (or `genes.tsv`) and `barcodes.tsv` | the same, a column for each document |
/// | `.svm`, `.svmlight`, `.libsvm` | counts of an SVMlight file, with the vocabulary beside it |
/// | `.xlsx`, `.ods` (feature `office`) | the first sheet of a workbook, as a table |
/// | `.parquet` (feature `parquet`); `.arrow`, `.feather` (feature `arrow`) | a table: a row is a document, and columns of lists and structures are left out |
/// | `.npz` (feature `npz`) | counts of a sparse matrix of SciPy or one array of NumPy, with the vocabulary beside it |
/// | any other file | whichever of these its first lines look like |
///
/// Any file may be compressed by gzip, which is told by its content, and in any encoding, which is found: UTF-8, UTF-16,
/// or one of those of the Encoding Standard that the frequencies of its characters speak for. A file of a folder that
/// cannot be read is passed over, unless [`ReadOptions::strict`](crate::ReadOptions::strict) is set.
///
/// # Errors
/// [`ReadError`] names the file, the line, what is wrong and the remedy. Numbers of a table that are negative are no
/// counts and are refused; [`visit`] hands them over.
///
/// ```
/// use countgrid_io::{DataSet, ReadOptions, read};
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("a.txt"), "The first text.")?;
/// std::fs::write(folder.path().join("b.txt"), "The second text.")?;
/// let (data, summary) = read(folder.path(), &ReadOptions::default())?;
/// let DataSet::Documents(documents) = data else { unreachable!() };
/// assert_eq!((documents[1].id.as_str(), documents[1].text.as_str()), ("b.txt", "The second text."));
/// assert_eq!(summary.files, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<(DataSet, Summary), ReadError> {
    let path = path.as_ref();
    let refuse = |problem| ReadError::new(path, None, problem);
    let (mut documents, mut counts, mut about) = (Vec::new(), None, None);
    let summary = visit(path, options, |item| {
        match item {
            Item::Document(document) => documents.push(document),
            Item::Labels(labels) => {
                documents.iter_mut().zip(labels).for_each(|(document, label)| document.label = label);
            }
            Item::Vocabulary(vocabulary) => counts = Some(Counts::new(vocabulary).map_err(refuse)?),
            Item::About { id, label, .. } => about = Some((id, label)),
            Item::Bag(bag) => {
                let mut counts = counts.iter_mut();
                counts.try_for_each(|counts: &mut Counts| counts.push(bag, about.take())).map_err(refuse)?;
            }
            Item::OtherColumns(_) | Item::OtherFields(_) => {}
        }
        Ok::<_, ReadError>(())
    })?;
    Ok((counts.map_or(DataSet::Documents(documents), DataSet::Counts), summary))
}

/// Reads a data set as [`read`] does, and hands over one document or bag after the other: memory holds no more
/// than one of them, and what [`read_docword`](crate::read_docword) needs to put entries in order.
///
/// # Errors
/// [`ReadError`] as from [`read`], after what came before it was handed over; what `each` returns, at once.
///
/// ```
/// use countgrid_io::{Item, ReadError, ReadOptions, visit};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("cars.jsonl");
/// std::fs::write(&path, "{\"text\": \"The brakes squeal.\"}\n{\"text\": \"The tyres are flat.\"}\n")?;
/// let mut letters = 0;
/// let summary = visit(&path, &ReadOptions::default(), |item| {
///     if let Item::Document(document) = item {
///         letters += document.text.len();
///     }
///     Ok::<_, ReadError>(())
/// })?;
/// assert_eq!((summary.documents, letters), (2, 37));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn visit<E: From<ReadError>>(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    mut each: impl FnMut(Item<'_>) -> Result<(), E>,
) -> Result<Summary, E> {
    // Compiled once, not for every type of error.
    let mut own = None;
    let budget = Budget::new(options.limits.total_bytes);
    let visited = visit_items(path.as_ref(), options, &budget, &mut |item| {
        each(item).map_err(|error| {
            own = Some(error);
            Ended::ByVisitor
        })
    });
    visited.map_err(|error| ended(error, own))
}

/// The error of who ended a visit.
pub(crate) fn ended<E: From<ReadError>>(ended: Ended, own: Option<E>) -> E {
    match (ended, own) {
        (Ended::ByVisitor, Some(error)) => error,
        (Ended::Unreadable(error), _) => error.into(),
        (Ended::ByVisitor, None) => unreachable!("the visitor ends with an error alone"),
    }
}

/// Why items are no longer handed over.
pub(crate) enum Ended {
    ByVisitor,
    Unreadable(ReadError),
}

impl From<ReadError> for Ended {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

pub(crate) fn visit_items(
    path: &Path,
    options: &ReadOptions,
    budget: &Budget,
    each: Visitor<'_, Ended>,
) -> Result<Summary, Ended> {
    let about = path.metadata().map_err(|error| ReadError::new(path, None, Problem::Unreadable(error)))?;
    #[cfg(not(feature = "files"))]
    if about.is_dir() {
        let error = std::io::Error::from(std::io::ErrorKind::Unsupported);
        return Err(ReadError::new(path, None, Problem::Unreadable(error)).into());
    }
    #[cfg(feature = "files")]
    if about.is_dir() {
        let mut listing = Listing::read(path, options.strict)?;
        listing.leave_out(&options.ignore);
        let table = match options.format {
            Some(Format::Folder) => None,
            _ => listing.sole_table(path)?,
        };
        return match table {
            Some(table) => visit_file(table, options, budget, each),
            None if options.format.is_none() && listing.has_objects() => {
                listing.files.retain(|path| Name::from_path(path).is_table());
                visit_folder(path, Format::JsonLines, listing, options, budget, each)
            }
            None => visit_folder(path, Format::Folder, listing, options, budget, each),
        };
    }
    visit_file(path, options, budget, each)
}

/// Takes what a data set consists of.
pub(crate) type Visitor<'a, E> = &'a mut dyn FnMut(Item<'_>) -> Result<(), E>;

#[cfg(feature = "files")]
fn visit_folder<E: From<ReadError>>(
    path: &Path,
    format: Format,
    listing: Listing,
    options: &ReadOptions,
    budget: &Budget,
    each: Visitor<'_, E>,
) -> Result<Summary, E> {
    let mut format = format;
    let (found, columns) = match format {
        Format::JsonLines => objects::each(path, listing, budget, options, each)?,
        _ => {
            let mut visit = |item: Item<'_>| {
                // A ZIP file may be a document of a word processor.
                if matches!(&item, Item::Document(document) if *document.file == *path) {
                    format = Format::Document;
                }
                each(item)
            };
            (folder::each(path, listing, budget, options, &mut visit)?, Vec::new())
        }
    };
    let folder::Found { labels, files, pages, passed, encodings } = found;
    let summary = Summary {
        path: path.to_path_buf(),
        format,
        gzip: false,
        files,
        skipped: passed.skipped,
        left_out: passed.left_out,
        pages,
        encodings,
        bytes: budget.used(),
        documents: labels.len(),
        labels: labels.iter().flatten().collect::<HashSet<_>>().len(),
        columns,
        paths: Vec::new(),
    };
    each(Item::Labels(labels))?;
    Ok(summary)
}

fn visit_file<E: From<ReadError>>(
    path: &Path,
    options: &ReadOptions,
    budget: &Budget,
    each: Visitor<'_, E>,
) -> Result<Summary, E> {
    let source = Source::open(path, budget)?;
    let packed = options.format.map_or_else(|| packed(path, &source.head), Some);
    let packed = packed
        .filter(|format| matches!(format, Format::Npz | Format::Workbook | Format::Parquet | Format::Arrow));
    #[cfg(feature = "files")]
    if let Some(format) =
        as_folder(path, &source.head).filter(|_| options.format.is_none() && packed.is_none())
    {
        let (files, passed) = (vec![path.to_path_buf()], Default::default());
        let listing = Listing { files, passed, opened: Some(source) };
        return visit_folder(path, format, listing, options, budget, each);
    }
    let refuse = |problem| Err(ReadError::new(path, None, problem).into());
    let source = if packed.is_some() { Ok(source) } else { source.text() };
    let source = source.map_err(|problem| ReadError::new(path, None, problem))?;
    let encoding = Rc::clone(&source.encoding);
    if source.head.is_empty() {
        return refuse(Problem::Empty);
    }
    let format = match options.format.or(packed) {
        Some(format) => format,
        None => match detect(path, &source.head, &options.columns) {
            Ok(format) => format,
            Err(problem) => return refuse(problem),
        },
    };
    let mut summary = Summary {
        path: path.to_path_buf(),
        format,
        gzip: source.gzip,
        files: 1,
        skipped: Skipped::default(),
        left_out: Vec::new(),
        pages: 0,
        encodings: BTreeMap::new(),
        bytes: 0,
        documents: 0,
        labels: 0,
        columns: Vec::new(),
        paths: Vec::new(),
    };
    let file: Arc<Path> = Arc::from(path);
    let mut labels = HashSet::new();
    let mut documents = 0;
    let mut visit = |item: Item<'_>| {
        if let Item::Document(Document { label, .. }) | Item::About { label, .. } = &item {
            documents += 1;
            if let Some(label) = label.as_ref().filter(|label| !labels.contains(*label)) {
                labels.insert(label.clone());
            }
        }
        each(item)
    };
    match format {
        Format::Table(kind) => {
            summary.columns = table::each(source.reader(), &file, kind, TEXT, options, &mut visit)?;
        }
        Format::JsonLines => {
            summary.columns = jsonl::each(source.reader(), &file, options, &mut visit)?;
        }
        #[cfg(not(feature = "office"))]
        Format::Workbook => {
            let kind = "a workbook (XLSX, ODS), for which the feature `office` is needed";
            return refuse(Problem::Unsupported { kind });
        }
        #[cfg(feature = "office")]
        Format::Workbook => {
            let shared = shared(source, path).map_err(|problem| ReadError::new(path, None, problem))?;
            let limit = options.limits.record_bytes;
            let (columns, left_out) = workbook::read(shared, path, limit, budget, |rows| {
                table::each_of(rows, &file, TEXT, options, &mut visit)
            })?;
            (summary.columns, summary.skipped.tables) = (columns, left_out.len());
            summary.left_out = left_out;
        }
        #[cfg(not(any(feature = "arrow", feature = "parquet")))]
        Format::Parquet | Format::Arrow => return refuse(lacks(format)),
        #[cfg(any(feature = "arrow", feature = "parquet"))]
        Format::Parquet | Format::Arrow => {
            let Limits { record_bytes, total_bytes } = options.limits;
            let opened = shared(source, path).and_then(|shared| {
                let rows: Box<dyn Columnar> = match format {
                    #[cfg(feature = "parquet")]
                    Format::Parquet => Box::new(parquet::Reader::new(shared, record_bytes, total_bytes)?),
                    #[cfg(feature = "arrow")]
                    Format::Arrow => Box::new(arrow::Reader::new(shared, record_bytes, total_bytes)?),
                    _ => return Err(lacks(format)),
                };
                Ok(rows)
            });
            let mut rows = opened.map_err(|problem| ReadError::new(path, None, problem))?;
            (summary.columns, summary.left_out) =
                columnar::read(&mut *rows, path, record_bytes, budget, |rows| {
                    table::each_of(rows, &file, TEXT, options, &mut visit)
                })?;
        }
        Format::Npz if cfg!(not(feature = "npz")) => {
            let kind = "counts in arrays of NumPy (NPZ), for which the feature `npz` is needed";
            return refuse(Problem::Unsupported { kind });
        }
        Format::Docword | Format::MatrixMarket | Format::SvmLight | Format::Npz => {
            let counts = visit_counts(path, format, source, options, budget, &mut visit)?;
            (summary.files, documents) = counts;
        }
        Format::Folder
        | Format::Archive
        | Format::Mailbox
        | Format::Document
        | Format::Several
        | Format::Other(_) => {
            return refuse(Problem::NotAFolder);
        }
    }
    if encoding.get() != UTF_8 {
        summary.encodings.insert(encoding.get().name(), 1);
    }
    (summary.bytes, summary.documents, summary.labels) = (budget.used(), documents, labels.len());
    Ok(summary)
}

/// What is said to a file of columns that this build does not read.
fn lacks(format: Format) -> Problem {
    let kind = match format {
        Format::Arrow => {
            "Arrow, for which the feature `arrow` is needed (`cargo install --path crates/cli --features arrow`)"
        }
        _ => {
            "Parquet, for which the feature `parquet` is needed (`cargo install --path crates/cli --features parquet`)"
        }
    };
    Problem::Unsupported { kind }
}

/// Counts whose words are in another file. Returns the numbers of files and of bags.
fn visit_counts<E: From<ReadError>>(
    path: &Path,
    format: Format,
    source: Source,
    options: &ReadOptions,
    budget: &Budget,
    each: Visitor<'_, E>,
) -> Result<(usize, usize), E> {
    let limits = &options.limits;
    let cells = match (format, &options.vocabulary) {
        (Format::MatrixMarket, None) => matrix_market::cells_beside(path),
        _ => None,
    };
    if let Some([features, barcodes]) = cells {
        let reader = Source::open_text(&features, budget)?.reader();
        let words = matrix_market::read_features(reader, &features, limits)?;
        let reader = Source::open_text(&barcodes, budget)?.reader();
        let names = docword::read_vocabulary(reader, &barcodes, limits)?;
        let (words, cells) = ((words, features.as_path()), Some((names, barcodes.as_path())));
        let bags = matrix_market::each(source.reader(), path, words, cells, limits, docword::RUN, each)?;
        return Ok((3, bags));
    }
    let beside = docword::vocabulary_beside(path);
    let file = match &options.vocabulary {
        Some(named) => named,
        None => beside.iter().find(|path| path.is_file()).ok_or_else(|| {
            let expected = beside.first().and_then(|path| path.file_name()).unwrap_or_default();
            let expected = expected.to_string_lossy().into_owned();
            ReadError::new(path, None, Problem::NoVocabulary { expected })
        })?,
    };
    #[cfg(feature = "npz")]
    if format == Format::Npz {
        return Ok((2, visit_npz(path, source, file, options, budget, each)?));
    }
    let (reader, words) = (source.reader(), Source::open_text(file, budget)?.reader());
    let bags = match format {
        Format::MatrixMarket => {
            let words = (docword::read_vocabulary(words, file, limits)?, file.as_path());
            matrix_market::each(reader, path, words, None, limits, docword::RUN, each)?
        }
        Format::SvmLight => {
            let words = docword::read_vocabulary(words, file, limits)?;
            svmlight::each(reader, path, words, limits, each)?
        }
        _ => docword::each(reader, path, words, file, limits, docword::RUN, each)?,
    };
    Ok((2, bags))
}

#[cfg(feature = "npz")]
fn visit_npz<E: From<ReadError>>(
    path: &Path,
    source: Source,
    vocabulary: &Path,
    options: &ReadOptions,
    budget: &Budget,
    each: Visitor<'_, E>,
) -> Result<usize, E> {
    let shared = shared(source, path).map_err(|problem| ReadError::new(path, None, problem))?;
    let words = Source::open_text(vocabulary, budget)?.reader();
    let words = (docword::read_vocabulary(words, vocabulary, &options.limits)?, vocabulary);
    npz::each(shared, path, words, budget, docword::RUN, each)
}
