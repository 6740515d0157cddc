//! A folder of text files: one document per file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8};
use walkdir::WalkDir;

use crate::document::{Document, TITLE, truncate_text};
use crate::encoding::{check_head, declared, decode, is_page};
use crate::error::{Problem, ReadError};
use crate::name::{LeftOut, Name, Skipped};
use crate::notes::{front_matter, notebook};
#[cfg(feature = "office")]
use crate::office::{ZIP, office};
use crate::options::ReadOptions;
#[cfg(feature = "html")]
use crate::page::page;
use crate::source::{Budget, Source, read_bytes};

/// The files below a folder, in the order of their paths.
pub(crate) struct Listing {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) passed: Passed,
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
    fn refused(&mut self, error: ReadError, strict: bool) -> Result<(), ReadError> {
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
        Ok(Self { files, passed })
    }

    /// Forgets these files, by whatever path they are known here.
    pub(crate) fn leave_out(&mut self, ignored: &[PathBuf]) {
        let ignored: Vec<_> = ignored.iter().filter_map(|path| path.canonicalize().ok()).collect();
        if !ignored.is_empty() {
            self.files.retain(|file| !file.canonicalize().is_ok_and(|file| ignored.contains(&file)));
        }
    }

    /// The one file that is the data, where the folder merely holds it; none if the folder holds texts.
    pub(crate) fn sole_table(&self, folder: &Path) -> Result<Option<&Path>, ReadError> {
        let of =
            |wanted: fn(Name) -> bool| self.files.iter().filter(move |path| wanted(Name::from_path(path)));
        if of(|name| matches!(name, Name::Text | Name::Other)).next().is_some() {
            return Ok(None);
        }
        let tables: Vec<_> = of(Name::is_table).collect();
        match tables.as_slice() {
            [] => Ok(None),
            [table] => Ok(Some(table)),
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
    /// How many of these were web pages.
    pub(crate) pages: usize,
    pub(crate) passed: Passed,
    /// Files of each encoding but UTF-8.
    pub(crate) encodings: BTreeMap<&'static str, usize>,
}

/// Hands over the documents among the files listed, one after the other, without a label.
pub(crate) fn each<E: From<ReadError>>(
    folder: &Path,
    listing: Listing,
    budget: &Budget,
    options: &ReadOptions,
    visit: &mut dyn FnMut(Document) -> Result<(), E>,
) -> Result<Found, E> {
    let Listing { files, mut passed } = listing;
    let (mut read, mut encodings) = (Vec::new(), BTreeMap::new());
    let mut pages = 0;
    for path in files {
        if Name::from_path(&path).is_table() {
            passed.add(|skipped| &mut skipped.tables, path, "a table among texts");
            continue;
        }
        let (heading, text, encoding, page) = match text_of(&path, budget, options) {
            Ok(found) => found,
            Err(error) => {
                passed.refused(error, options.strict)?;
                continue;
            }
        };
        if text.trim().is_empty() {
            passed.add(|skipped| &mut skipped.empty, path, "empty");
            continue;
        }
        pages += usize::from(page);
        if encoding != UTF_8 {
            *encodings.entry(encoding.name()).or_insert(0) += 1;
        }
        visit(Document {
            id: id_in_folder(&path, folder),
            title: heading.unwrap_or_else(|| title(&text, &path)),
            label: None,
            text,
            file: Arc::from(path.as_path()),
            line: 1,
        })?;
        read.push(path);
    }
    if read.is_empty() {
        let first = passed.left_out.iter().find(|left| left.lost);
        let first = first.map(|LeftOut { path, why, .. }| (id_in_folder(path, folder), why.clone()));
        let problem = Problem::NoDocuments { skipped: passed.skipped.total(), first };
        return Err(ReadError::new(folder, None, problem).into());
    }
    passed.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Found { labels: labels(&read, folder), files: read.len(), pages, passed, encodings })
}

/// A file's title, if it says one, its text and its encoding, and whether it is a web page.
fn text_of(
    path: &Path,
    budget: &Budget,
    options: &ReadOptions,
) -> Result<(Option<String>, String, &'static Encoding, bool), ReadError> {
    let refuse = |problem| ReadError::new(path, None, problem);
    let source = Source::open(path, budget)?;
    #[cfg(feature = "office")]
    if source.head.starts_with(ZIP) {
        let bytes = read_bytes(source.reader(), path, options.limits.record_bytes)?;
        let (title, text) = office(&bytes, options.limits.record_bytes).map_err(refuse)?;
        return Ok((title, text, UTF_8, false));
    }
    check_head(&source.head).map_err(refuse)?; // however long the rest is
    let is_page = is_page(&source.head);
    if is_page && !cfg!(feature = "html") {
        return Err(refuse(Problem::Unsupported { kind: "HTML, for which the feature `html` is needed" }));
    }
    let declared = is_page.then(|| declared(&source.head)).flatten();
    let bytes = read_bytes(source.reader(), path, options.limits.record_bytes)?;
    let (text, encoding) =
        decode(bytes, declared).map_err(|(problem, line)| ReadError::new(path, line, problem))?;
    #[cfg(feature = "html")]
    if is_page {
        let (title, text) = page(&text);
        return Ok((title, text, encoding, true));
    }
    if let Some(found) = notebook(&text) {
        return Ok((None, found.map_err(refuse)?, encoding, false));
    }
    Ok(match front_matter(&text) {
        Some((title, text)) => (title, text.to_owned(), encoding, false),
        None => (None, text, encoding, false),
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

/// Labels each file with its subfolder: the first part of the path in which files differ. A file that lies beside
/// the subfolders has none.
fn labels(files: &[PathBuf], folder: &Path) -> Vec<Option<String>> {
    let parents = |file: &PathBuf| -> Vec<String> {
        let inside = file.strip_prefix(folder).unwrap_or(file);
        let parts = inside.parent().into_iter().flat_map(Path::components);
        parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let mut shared = files.first().map(parents).unwrap_or_default();
    for file in files {
        let same = shared.iter().zip(parents(file)).take_while(|(a, b)| *a == b).count();
        shared.truncate(same);
    }
    files.iter().map(|file| parents(file).into_iter().nth(shared.len())).collect()
}
