//! A folder of files, of archives and of mailboxes: the documents in them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8};
use walkdir::WalkDir;

#[cfg(feature = "archives")]
use crate::archive::{Member, each_in_tar, each_in_zip, is_tar};
use crate::code::code;
use crate::detect::packed;
use crate::document::{Document, TITLE, truncate_text};
use crate::encoding::{check_head, declared, decode, is_page};
use crate::error::{Problem, ReadError};
use crate::item::Item;
#[cfg(feature = "mail")]
use crate::mail::{COLUMNS, Mail, Mailbox, is_mail, is_mailbox, mail};
use crate::matrix_market::cells_beside;
use crate::name::{LeftOut, Name, Skipped};
use crate::notes::{front_matter, notebook};
use crate::objects::is_object;
#[cfg(feature = "office")]
use crate::office::{OTHER, office};
use crate::options::ReadOptions;
#[cfg(feature = "html")]
use crate::page::page;
#[cfg(feature = "pdf")]
use crate::pdf;
use crate::rtf;
#[cfg(any(feature = "office", feature = "archives"))]
use crate::source::ZIP;
use crate::source::{Budget, Source, read_bytes};

/// Why a file of rows is passed over.
const TABLE: &str = "a table among texts";

/// The files below a folder, in the order of their paths.
pub(crate) struct Listing {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) passed: Passed,
    /// The first of the files, where it has been opened: a pipe can be opened once.
    pub(crate) opened: Option<Source>,
}

/// What was passed over.
#[derive(Default)]
pub(crate) struct Passed {
    pub(crate) skipped: Skipped,
    pub(crate) left_out: Vec<LeftOut>,
}

impl Passed {
    fn add(&mut self, reason: fn(&mut Skipped) -> &mut usize, path: PathBuf, why: impl ToString) {
        let lost = |skipped: &Skipped| skipped.unreadable + skipped.unsupported;
        let before = lost(&self.skipped);
        *reason(&mut self.skipped) += 1;
        let lost = lost(&self.skipped) > before;
        self.left_out.push(LeftOut { path, why: why.to_string(), lost });
    }

    /// Passes over what cannot be read, unless that says more than of one file, or nothing is to be passed over.
    pub(crate) fn refused(&mut self, error: ReadError, strict: bool) -> Result<(), ReadError> {
        let (path, why) = (error.file().to_path_buf(), error.problem().to_string());
        match error.problem() {
            Problem::TooMuch { .. } => return Err(error),
            Problem::Binary => self.add(|skipped| &mut skipped.binary, path, why),
            _ if strict => return Err(error),
            Problem::Unsupported { .. } => self.add(|skipped| &mut skipped.unsupported, path, why),
            _ => self.add(|skipped| &mut skipped.unreadable, path, why),
        }
        Ok(())
    }
}

impl Listing {
    pub(crate) fn read(folder: &Path, strict: bool) -> Result<Self, ReadError> {
        let (mut files, mut passed) = (Vec::new(), Passed::default());
        let mut entries = WalkDir::new(folder).min_depth(1).sort_by_file_name().into_iter();
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let (path, below) = (error.path().unwrap_or(folder).to_path_buf(), error.depth() > 0);
                    let error = ReadError::new(&path, None, Problem::Unreadable(io::Error::from(error)));
                    passed.refused(error, strict || !below)?;
                    continue;
                }
            };
            let kind = entry.file_type();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                if kind.is_dir() {
                    entries.skip_current_dir();
                }
                passed.add(|skipped| &mut skipped.hidden, entry.into_path(), "hidden");
            } else if kind.is_file() || kind.is_symlink() && entry.path().is_file() {
                files.push(entry.into_path());
            } else if !kind.is_dir() {
                let why = "a link to no file, or no regular file";
                passed.add(|skipped| &mut skipped.special, entry.into_path(), why);
            }
        }
        Ok(Self { files, passed, opened: None })
    }

    /// Forgets these files, by whatever path they are known here.
    pub(crate) fn leave_out(&mut self, ignored: &[PathBuf]) {
        let ignored: Vec<_> = ignored.iter().filter_map(|path| path.canonicalize().ok()).collect();
        if !ignored.is_empty() {
            self.files.retain(|file| !file.canonicalize().is_ok_and(|file| ignored.contains(&file)));
        }
    }

    /// Whether its tables are JSON files that are an object each, and there is no text.
    pub(crate) fn has_objects(&self) -> bool {
        let mut tables = self.files.iter().filter(|path| Name::from_path(path).is_table()).peekable();
        let is_text = |path: &PathBuf| matches!(Name::from_path(path), Name::Text | Name::Other);
        tables.peek().is_some() && !self.files.iter().any(is_text) && tables.all(|path| is_object(path))
    }

    /// The one file that is the data, where the folder merely holds it; none if the folder holds texts.
    pub(crate) fn sole_table(&self, folder: &Path) -> Result<Option<&Path>, ReadError> {
        let of =
            |wanted: fn(Name) -> bool| self.files.iter().filter(move |path| wanted(Name::from_path(path)));
        if of(|name| matches!(name, Name::Text | Name::Other)).next().is_some() {
            return Ok(None);
        }
        let mut tables: Vec<_> = of(Name::is_table).collect();
        // Tables of features and barcodes belong to their matrix.
        let parts: Vec<_> = tables.iter().filter_map(|path| cells_beside(path)).flatten().collect();
        tables.retain(|path| !parts.contains(path));
        match tables.as_slice() {
            [] => Ok(None),
            [table] => Ok(Some(table)),
            several if several.iter().all(|path| is_object(path)) => Ok(None),
            several => {
                let names = several.iter().map(|path| id_in_folder(path, folder)).collect();
                Err(ReadError::new(folder, None, Problem::SeveralTables { names }))
            }
        }
    }
}

/// What was read of a folder.
pub(crate) struct Found {
    /// Of each document, in their order: only once all have been read are they known.
    pub(crate) labels: Vec<Option<String>>,
    /// Files read.
    pub(crate) files: usize,
    /// How many documents were web pages.
    pub(crate) pages: usize,
    pub(crate) passed: Passed,
    /// Documents of each encoding but UTF-8.
    pub(crate) encodings: BTreeMap<&'static str, usize>,
}

/// Hands over the documents among the files listed, one after the other, without a label. That there are none is an error.
pub(crate) fn each<E: From<ReadError>>(
    folder: &Path,
    listing: Listing,
    budget: &Budget,
    options: &ReadOptions,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<Found, E> {
    let found = each_of(folder, listing, budget, options, visit)?;
    if found.files == 0 {
        let passed = found.passed;
        let first = passed.left_out.iter().find(|left| left.lost);
        let first = first.map(|LeftOut { path, why, .. }| (id_in_folder(path, folder), why.clone()));
        let problem = Problem::NoDocuments { skipped: passed.skipped.total(), first };
        return Err(ReadError::new(folder, None, problem).into());
    }
    Ok(found)
}

/// As [`each`], of files that may hold no documents.
pub(crate) fn each_of<E: From<ReadError>>(
    folder: &Path,
    listing: Listing,
    budget: &Budget,
    options: &ReadOptions,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<Found, E> {
    let Listing { files, passed, mut opened } = listing;
    let mut reading = Reading {
        folder,
        budget,
        options,
        visit,
        passed,
        ids: Vec::new(),
        pages: 0,
        encodings: BTreeMap::new(),
        columns: &[],
    };
    let mut read = 0;
    for path in files {
        let opened = opened.take();
        if opened.is_none() && Name::from_path(&path).is_table() {
            reading.passed.add(|skipped| &mut skipped.tables, path, TABLE);
            continue;
        }
        let before = reading.ids.len();
        let found = match opened.map_or_else(|| Source::open(&path, budget), Ok) {
            Ok(source) => reading.source(source, &path, Some(&path), 0),
            Err(error) => Err(Stop::Refused(error)),
        };
        reading.unless_refused(found)?;
        read += usize::from(reading.ids.len() > before);
    }
    let Reading { mut passed, ids, pages, encodings, .. } = reading;
    passed.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Found { labels: labels(&ids), files: read, pages, passed, encodings })
}

/// Why a file was left.
enum Stop<E> {
    /// It cannot be read.
    Refused(ReadError),
    /// The caller wants no more.
    Caller(E),
}

impl<E> From<ReadError> for Stop<E> {
    fn from(error: ReadError) -> Self {
        Self::Refused(error)
    }
}

/// A document as it is in a file.
struct Text {
    title: Option<String>,
    text: String,
    encoding: &'static Encoding,
    is_page: bool,
    line: u64,
    fields: Vec<String>,
}

impl Text {
    fn new(title: Option<String>, text: String, encoding: &'static Encoding) -> Self {
        Self { title, text, encoding, is_page: false, line: 1, fields: Vec::new() }
    }
}

/// Reads file after file.
struct Reading<'a, E> {
    folder: &'a Path,
    budget: &'a Budget,
    options: &'a ReadOptions,
    visit: &'a mut dyn FnMut(Item<'_>) -> Result<(), E>,
    passed: Passed,
    ids: Vec<String>, // of the documents
    pages: usize,
    encodings: BTreeMap<&'static str, usize>,
    columns: &'static [&'static str],
}

impl<E: From<ReadError>> Reading<'_, E> {
    /// Passes over what was refused.
    fn unless_refused(&mut self, found: Result<(), Stop<E>>) -> Result<(), E> {
        match found {
            Ok(()) => Ok(()),
            Err(Stop::Refused(error)) => Ok(self.passed.refused(error, self.options.strict)?),
            Err(Stop::Caller(error)) => Err(error),
        }
    }

    /// Hands over the documents of a file. `path` is what it is called, `on_disk` where it lies if it is not in another, `depth`
    /// in how many archives it is.
    fn source(
        &mut self,
        source: Source,
        path: &Path,
        on_disk: Option<&Path>,
        depth: usize,
    ) -> Result<(), Stop<E>> {
        let limit = self.options.limits.record_bytes;
        #[cfg(feature = "mail")]
        let refuse = |problem| ReadError::new(path, None, problem);
        _ = (on_disk, depth, self.budget); // which only archives need
        if packed(path, &source.head).is_some() {
            self.passed.add(|skipped| &mut skipped.tables, path.to_path_buf(), TABLE);
            return Ok(());
        }
        #[cfg(any(feature = "office", feature = "archives"))]
        if source.head.starts_with(ZIP) {
            return self.zip(source, path, on_disk, depth);
        }
        #[cfg(feature = "archives")]
        if is_tar(&source.head) {
            return self.tar(source, path, depth);
        }
        #[cfg(feature = "mail")]
        if is_mailbox(&source.head) {
            let mut messages = Mailbox::new(source.reader(), limit);
            let mut number = 0_usize;
            while let Some(message) = messages.next().map_err(refuse)? {
                number += 1;
                let path = path.join(number.to_string());
                let found =
                    match message.bytes.ok_or(Problem::TooLong { limit }).and_then(|bytes| mail(&bytes)) {
                        Ok(mail) => self.mail(mail, &path, message.line),
                        Err(problem) => {
                            Err(Stop::Refused(ReadError::new(&path, Some(message.line), problem)))
                        }
                    };
                self.unless_refused(found).map_err(Stop::Caller)?;
            }
            return Ok(());
        }
        #[cfg(feature = "mail")]
        if is_mail(&source.head) {
            let bytes = read_bytes(source.reader(), path, limit)?;
            return self.mail(mail(&bytes).map_err(refuse)?, path, 1);
        }
        let text = text_of(source, path, limit)?;
        self.document(text, path)
    }

    #[cfg(feature = "mail")]
    fn mail(&mut self, mail: Mail, path: &Path, line: u64) -> Result<(), Stop<E>> {
        let Mail { title, text, fields } = mail;
        if self.columns.is_empty() && self.options.other_columns {
            self.columns = &COLUMNS;
            let names = COLUMNS.iter().map(|&name| name.to_owned()).collect();
            (self.visit)(Item::OtherColumns(names)).map_err(Stop::Caller)?;
        }
        self.document(Text { line, fields: fields.to_vec(), ..Text::new(title, text, UTF_8) }, path)
    }

    /// A ZIP file, as a document of a word processor or a book, or as a folder.
    #[cfg(any(feature = "office", feature = "archives"))]
    fn zip(
        &mut self,
        source: Source,
        path: &Path,
        on_disk: Option<&Path>,
        depth: usize,
    ) -> Result<(), Stop<E>> {
        let limit = self.options.limits.record_bytes;
        let refuse = |problem| ReadError::new(path, None, problem);
        // A large archive is read where it lies.
        let file = on_disk.filter(|file| {
            !source.gzip && file.metadata().is_ok_and(|about| about.is_file() && about.len() > limit as u64)
        });
        #[cfg(feature = "archives")]
        if let Some(file) = file {
            let size = file.metadata().map_or(0, |about| about.len());
            let opened = crate::source::open_file(file).map_err(refuse)?;
            return self
                .members(path, depth, |each| each_in_zip(io::BufReader::new(opened), size, limit, each));
        }
        _ = (file, depth);
        let bytes = read_bytes(source.reader(), path, limit)?;
        #[cfg(feature = "office")]
        match office(&bytes, limit) {
            Ok((title, text)) => return self.document(Text::new(title, text, UTF_8), path),
            Err(Problem::Unsupported { kind }) if cfg!(feature = "archives") && kind == OTHER => {}
            Err(problem) => return Err(refuse(problem).into()),
        }
        #[cfg(feature = "archives")]
        {
            let size = bytes.len() as u64;
            self.members(path, depth, |each| each_in_zip(io::Cursor::new(bytes), size, limit, each))
        }
        #[cfg(not(feature = "archives"))]
        Err(refuse(Problem::Unsupported {
            kind: "a ZIP archive, for which the feature `archives` is needed",
        })
        .into())
    }

    #[cfg(feature = "archives")]
    fn tar(&mut self, source: Source, path: &Path, depth: usize) -> Result<(), Stop<E>> {
        let limit = self.options.limits.record_bytes;
        let size = source.stored;
        self.members(path, depth, |each| each_in_tar(source.reader(), size, limit, each))
    }

    /// Hands over the documents of the files in an archive.
    #[cfg(feature = "archives")]
    fn members(
        &mut self,
        path: &Path,
        depth: usize,
        walk: impl FnOnce(&mut dyn FnMut(Member) -> Result<(), Left<E>>) -> Result<(), Left<E>>,
    ) -> Result<(), Stop<E>> {
        if depth > 1 {
            let kind = "an archive in an archive in an archive";
            return Err(ReadError::new(path, None, Problem::Unsupported { kind }).into());
        }
        let walked = walk(&mut |Member { name, bytes }| {
            let parts: Vec<String> = name
                .split(['/', '\\'])
                .filter(|part| !matches!(*part, "" | "." | ".."))
                .map(|part| part.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect())
                .collect();
            let inside = parts.iter().fold(path.to_path_buf(), |path, part| path.join(part));
            if parts.is_empty() || parts.iter().any(|part| part.starts_with('.') || part == "__MACOSX") {
                self.passed.add(|skipped| &mut skipped.hidden, inside, "hidden");
                return Ok(());
            }
            if Name::from_path(&inside).is_table() {
                self.passed.add(|skipped| &mut skipped.tables, inside, TABLE);
                return Ok(());
            }
            let source = bytes.and_then(|bytes| Source::from_bytes(bytes, self.budget));
            let found = match source {
                Ok(source) => self.source(source, &inside, None, depth + 1),
                Err(problem) => Err(Stop::Refused(ReadError::new(&inside, None, problem))),
            };
            self.unless_refused(found).map_err(Left::Caller)
        });
        walked.map_err(|left| match left {
            Left::Refused(problem) => Stop::Refused(ReadError::new(path, None, problem)),
            Left::Caller(error) => Stop::Caller(error),
        })
    }

    fn document(&mut self, found: Text, path: &Path) -> Result<(), Stop<E>> {
        let Text { title: heading, text, encoding, is_page, line, mut fields } = found;
        if text.trim().is_empty() {
            self.passed.add(|skipped| &mut skipped.empty, path.to_path_buf(), "empty");
            return Ok(());
        }
        self.pages += usize::from(is_page);
        if encoding != UTF_8 {
            *self.encodings.entry(encoding.name()).or_insert(0) += 1;
        }
        if !self.columns.is_empty() {
            fields.resize(self.columns.len(), String::new());
            (self.visit)(Item::OtherFields(&fields)).map_err(Stop::Caller)?;
        }
        let id = match id_in_folder(path, self.folder) {
            id if id.is_empty() => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            id => id,
        };
        self.ids.push(id.clone());
        let document = Document {
            id,
            title: heading.unwrap_or_else(|| title(&text, path)),
            label: None,
            text,
            file: Arc::from(path),
            line,
        };
        (self.visit)(Item::Document(document)).map_err(Stop::Caller)
    }
}

/// Why an archive was left.
#[cfg(feature = "archives")]
enum Left<E> {
    Refused(Problem),
    Caller(E),
}

#[cfg(feature = "archives")]
impl<E> From<Problem> for Left<E> {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

/// A file of one text.
fn text_of(source: Source, path: &Path, limit: usize) -> Result<Text, ReadError> {
    let refuse = |problem| ReadError::new(path, None, problem);
    if source.head.starts_with(rtf::HEAD) {
        let (title, text) = rtf::rtf(&read_bytes(source.reader(), path, limit)?).map_err(refuse)?;
        return Ok(Text::new(title, text, UTF_8));
    }
    #[cfg(feature = "pdf")]
    if source.head.starts_with(pdf::HEAD) {
        let bytes = read_bytes(source.reader(), path, limit)?;
        let (title, text) = pdf::pdf(&bytes, limit).map_err(refuse)?;
        return Ok(Text::new(title, text, UTF_8));
    }
    check_head(&source.head).map_err(refuse)?; // however long the rest is
    let is_page = is_page(&source.head);
    if is_page && !cfg!(feature = "html") {
        return Err(refuse(Problem::Unsupported { kind: "HTML, for which the feature `html` is needed" }));
    }
    let declared = is_page.then(|| declared(&source.head)).flatten();
    let bytes = read_bytes(source.reader(), path, limit)?;
    let (text, encoding) =
        decode(bytes, declared).map_err(|(problem, line)| ReadError::new(path, line, problem))?;
    #[cfg(feature = "html")]
    if is_page {
        let (title, text) = page(&text);
        return Ok(Text { is_page: true, ..Text::new(title, text, encoding) });
    }
    if let Some(text) = code(path, &text) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Text::new(Some(name), text, encoding));
    }
    if let Some(found) = notebook(&text) {
        return Ok(Text::new(None, found.map_err(refuse)?, encoding));
    }
    Ok(match front_matter(&text) {
        Some((title, text)) => Text::new(title, text.to_owned(), encoding),
        None => Text::new(None, text, encoding),
    })
}

/// What the file of a folder is called: its path inside the folder, with `/` on every system.
///
/// ```
/// use std::path::Path;
/// assert_eq!(countgrid_io::id_in_folder(Path::new("news/autos/7.txt"), Path::new("news")), "autos/7.txt");
/// ```
#[must_use]
pub fn id_in_folder(path: &Path, folder: &Path) -> String {
    let inside = path.strip_prefix(folder).unwrap_or(path);
    inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// The first line that says something, if it is as short as a title, else the name of the file.
fn title(text: &str, path: &Path) -> String {
    let first = text.lines().map(|line| line.trim_matches(['#', '=', '-', '*', ' ', '\t']));
    let first = first.into_iter().find(|line| !line.is_empty()).unwrap_or("");
    if !first.is_empty() && first.chars().count() <= TITLE {
        return truncate_text(first, TITLE + 1);
    }
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Labels each file, called by its path, with its subfolder: the first part of the path in which files differ. A file that lies beside
/// the subfolders has none.
pub(crate) fn labels(files: &[String]) -> Vec<Option<String>> {
    fn parents(file: &str) -> impl Iterator<Item = &str> {
        let folders = file.rsplit_once('/').map(|(folders, _)| folders);
        folders.into_iter().flat_map(|folders| folders.split('/'))
    }
    let mut shared: Vec<&str> = files.first().map(|file| parents(file).collect()).unwrap_or_default();
    for file in files {
        let same = shared.iter().zip(parents(file)).take_while(|(a, b)| **a == *b).count();
        shared.truncate(same);
    }
    files.iter().map(|file| parents(file).nth(shared.len()).map(str::to_owned)).collect()
}
