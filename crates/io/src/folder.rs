//! A folder of text files: one document per file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::WalkDir;

use crate::document::{Document, TITLE, truncate_text};
use crate::error::{Problem, ReadError};
use crate::name::{Name, Skipped};
use crate::source::{Budget, Limits, Source, read_text};

/// The files below a folder, in the order of their paths.
pub(crate) struct Listing {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) skipped: Skipped,
}

impl Listing {
    pub(crate) fn read(folder: &Path) -> Result<Self, ReadError> {
        let (mut files, mut skipped) = (Vec::new(), Skipped::default());
        let mut entries = WalkDir::new(folder).min_depth(1).sort_by_file_name().into_iter();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|error| {
                let path = error.path().unwrap_or(folder).to_path_buf();
                ReadError::new(&path, None, Problem::Unreadable(io::Error::from(error)))
            })?;
            let kind = entry.file_type();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                skipped.hidden += 1;
                if kind.is_dir() {
                    entries.skip_current_dir();
                }
            } else if kind.is_file() || kind.is_symlink() && entry.path().is_file() {
                files.push(entry.into_path());
            } else if !kind.is_dir() {
                skipped.special += 1;
            }
        }
        Ok(Self { files, skipped })
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

/// Hands over the text files among those listed, one after the other, without a label: labels are known once all
/// have been read, and come back in the order of documents.
pub(crate) fn each<E: From<ReadError>>(
    folder: &Path,
    listing: Listing,
    budget: &Budget,
    limits: &Limits,
    visit: &mut dyn FnMut(Document) -> Result<(), E>,
) -> Result<(Vec<Option<String>>, Skipped), E> {
    let Listing { files, mut skipped } = listing;
    let mut read = Vec::new();
    for path in files {
        let name = Name::from_path(&path);
        if name.is_table() {
            skipped.tables += 1;
            continue;
        }
        let source = Source::open(&path, budget)?;
        if source.head.contains(&0) {
            skipped.binary += 1;
            continue;
        }
        let text = match read_text(source.reader(), &path, limits.record_bytes) {
            Ok(text) => text,
            Err(error) if name == Name::Other && matches!(error.problem(), Problem::NotUtf8 { .. }) => {
                skipped.binary += 1;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if text.trim().is_empty() {
            skipped.empty += 1;
            continue;
        }
        visit(Document {
            id: id_in_folder(&path, folder),
            title: title(&text, &path),
            label: None,
            text,
            file: Arc::from(path.as_path()),
            line: 1,
        })?;
        read.push(path);
    }
    if read.is_empty() {
        return Err(ReadError::new(folder, None, Problem::NoDocuments { skipped: skipped.total() }).into());
    }
    Ok((labels(&read, folder), skipped))
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
