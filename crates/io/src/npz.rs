//! Counts in arrays of NumPy (NPZ): a sparse matrix as SciPy saves it, or one array of two dimensions. A row is a document.

use std::io::{BufReader, Read, Seek};
use std::path::Path;

use zip::{ZipArchive, result::ZipError};

use crate::docword::{Entries, ROOM, bags, check_documents};
use crate::error::{Problem, ReadError, excerpt};
use crate::item::Item;
use crate::npy::{self, Array};
use crate::runs::{Entry, Runs};
use crate::source::{Budget, metered};
use crate::zipped::refused;

/// What the name of an array ends with.
const NPY: &str = ".npy";

/// Hands over the vocabulary, then one bag after the other; returns their number. Of more than `run` entries the rest wait
/// in a temporary file. What is read counts as what it becomes, decompressed.
pub(crate) fn each<E: From<ReadError>>(
    reader: impl Read + Seek + Clone,
    file: &Path,
    (vocabulary, vocabulary_file): (Vec<String>, &Path),
    budget: &Budget,
    run: usize,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<usize, E> {
    let refuse = |problem| ReadError::new(file, None, problem);
    let mut matrix = Matrix::new(reader, budget).map_err(refuse)?;
    let [documents, words] = matrix.shape;
    if vocabulary.len() as u64 != words {
        let found = vocabulary.len() as u64;
        let problem = Problem::VocabularyLength { expected: words, found, header: file.into() };
        return Err(ReadError::new(vocabulary_file, None, problem).into());
    }
    if documents == 0 {
        return Err(refuse(Problem::NoDocuments { skipped: 0, first: None }).into());
    }
    let entries = matrix.entries(run).map_err(refuse)?;
    check_documents(documents, entries.last, budget.used().max(ROOM)).map_err(refuse)?;
    visit(Item::Vocabulary(vocabulary))?;
    let documents = documents as usize; // no more than bytes were read
    bags(entries, documents, file, None, visit)?;
    Ok(documents)
}

/// Which arrays there are.
enum Layout {
    /// One after the other the entries of each row, or of each column.
    Compressed { by_row: bool },
    /// Each entry with its row and its column.
    Coordinates,
    /// All elements, in the array of this name.
    Dense(String),
}

/// A matrix that is being read.
struct Matrix<'a, R> {
    archive: ZipArchive<R>,
    budget: &'a Budget,
    layout: Layout,
    shape: [u64; 2],
}

/// Takes entries.
struct Taken {
    runs: Runs,
    found: u64,
    last: u64,
}

impl Taken {
    fn push(&mut self, document: u64, word: u64, count: f64) -> Result<(), Problem> {
        let index = |what, index: u64| {
            let limit = u64::from(u32::MAX);
            u32::try_from(index).map_err(|_| Problem::OutOfRange { what, found: index, limit })
        };
        let entry = Entry {
            document: index("document", document)?,
            word: index("word", word)?,
            line: self.found,
            count,
        };
        (self.found, self.last) = (self.found + 1, self.last.max(document + 1));
        self.runs.push(entry).map_err(Problem::Spool)
    }
}

impl<'a, R: Read + Seek + Clone> Matrix<'a, R> {
    fn new(reader: R, budget: &'a Budget) -> Result<Self, Problem> {
        let damaged = |error: ZipError| Problem::Damaged { kind: "NPZ", what: error.to_string() };
        let mut archive = ZipArchive::new(reader).map_err(damaged)?;
        let arrays: Vec<&str> = archive.file_names().filter_map(|name| name.strip_suffix(NPY)).collect();
        let (layout, shape) = if arrays.contains(&"format") {
            let format = npy::text("format", member(&mut archive, "format", budget)?)?;
            let layout = match format.as_str() {
                "csr" => Layout::Compressed { by_row: true },
                "csc" => Layout::Compressed { by_row: false },
                "coo" => Layout::Coordinates,
                _ => return Err(Problem::Matrix { found: format!("format `{}`", excerpt(&format)) }),
            };
            let mut extents = array(&mut archive, "shape", budget)?;
            if extents.length()? != 2 {
                return Err(Problem::Matrix { found: format!("{} dimensions", extents.length()?) });
            }
            let mut extent = || extents.next_index(0, i64::MAX as u64);
            let shape = [extent()?, extent()?];
            extents.finish()?;
            (layout, shape)
        } else {
            let name = match arrays[..] {
                [only] => only.to_owned(),
                _ if arrays.contains(&"arr_0") => "arr_0".to_owned(),
                _ => return Err(Problem::Matrix { found: listed(&arrays) }),
            };
            let array = array(&mut archive, &name, budget)?;
            let [rows, columns] = array.shape[..] else {
                return Err(Problem::Matrix { found: array.dimensions() });
            };
            (Layout::Dense(name), [rows, columns])
        };
        Ok(Self { archive, budget, layout, shape })
    }

    fn entries(&mut self, run: usize) -> Result<Entries, Problem> {
        let mut taken = Taken { runs: Runs::new(run), found: 0, last: 0 };
        match &self.layout {
            Layout::Compressed { by_row } => self.compressed(*by_row, &mut taken)?,
            Layout::Coordinates => self.coordinates(&mut taken)?,
            Layout::Dense(name) => self.dense(name, &mut taken)?,
        }
        let Taken { runs, last, .. } = taken;
        Ok(Entries { runs, last, add: true })
    }

    fn compressed(&self, by_row: bool, taken: &mut Taken) -> Result<(), Problem> {
        let [rows, columns] = self.shape;
        let (outer, inner) = if by_row { (rows, columns) } else { (columns, rows) };
        let mut archives = [self.archive.clone(), self.archive.clone(), self.archive.clone()];
        let [ends, indices, data] = &mut archives;
        let mut ends = array(ends, "indptr", self.budget)?;
        let mut indices = array(indices, "indices", self.budget)?;
        let mut data = array(data, "data", self.budget)?;
        let entries = indices.length()?;
        same_length("indptr", ends.length()?, outer.saturating_add(1))?;
        same_length("data", data.length()?, entries)?;
        let mut start = ends.next_index(0, 0)?;
        for line in 0..outer {
            let end = ends.next_index(start, entries)?;
            for _ in start..end {
                let index = indices.next_index(0, inner.saturating_sub(1))?;
                let (document, word) = if by_row { (line, index) } else { (index, line) };
                taken.push(document, word, data.next_count()?)?;
            }
            start = end;
        }
        // There may be room for more entries than there are.
        ends.finish()?;
        indices.finish()?;
        data.finish()
    }

    fn coordinates(&self, taken: &mut Taken) -> Result<(), Problem> {
        let mut archives = [self.archive.clone(), self.archive.clone(), self.archive.clone()];
        let [rows, columns, data] = &mut archives;
        let mut rows = array(rows, "row", self.budget)?;
        let mut columns = array(columns, "col", self.budget)?;
        let mut data = array(data, "data", self.budget)?;
        let entries = data.length()?;
        same_length("row", rows.length()?, entries)?;
        same_length("col", columns.length()?, entries)?;
        for _ in 0..entries {
            let document = rows.next_index(0, self.shape[0].saturating_sub(1))?;
            let word = columns.next_index(0, self.shape[1].saturating_sub(1))?;
            taken.push(document, word, data.next_count()?)?;
        }
        rows.finish()?;
        columns.finish()?;
        data.finish()
    }

    fn dense(&self, name: &str, taken: &mut Taken) -> Result<(), Problem> {
        let mut archive = self.archive.clone();
        let mut elements = array(&mut archive, name, self.budget)?;
        let [rows, columns] = self.shape; // neither is zero, nor is their product too large
        for place in 0..rows * columns {
            let count = elements.next_count()?;
            if count > 0.0 {
                let (document, word) = match elements.is_fortran {
                    true => (place % rows, place / rows),
                    false => (place / columns, place % columns),
                };
                taken.push(document, word, count)?;
            }
        }
        elements.finish()
    }
}

/// The array of this name.
fn array<'a, R: Read + Seek>(
    archive: &'a mut ZipArchive<R>,
    name: &str,
    budget: &Budget,
) -> Result<Array<impl Read + use<'a, R>>, Problem> {
    Array::new(name, member(archive, name, budget)?)
}

/// The file of an array, whatever its size.
fn member<'a, R: Read + Seek>(
    archive: &'a mut ZipArchive<R>,
    name: &str,
    budget: &Budget,
) -> Result<impl Read + use<'a, R>, Problem> {
    match archive.by_name(&format!("{name}{NPY}")) {
        Ok(file) => Ok(BufReader::new(metered(file, budget))),
        Err(ZipError::FileNotFound) => Err(Problem::Matrix { found: format!("no `{}`", excerpt(name)) }),
        Err(error) => Err(refused(error, "an encrypted file", |error| Problem::Damaged {
            kind: "NPZ",
            what: format!("`{}`: {error}", excerpt(name)),
        })),
    }
}

fn same_length(name: &str, found: u64, expected: u64) -> Result<(), Problem> {
    if found == expected {
        return Ok(());
    }
    let what = format!("`{name}` has {found} elements, where {expected} are expected");
    Err(Problem::Damaged { kind: "NPZ", what })
}

/// The first of the arrays there are.
fn listed(arrays: &[&str]) -> String {
    const ARRAYS: usize = 6;
    let names: Vec<String> = arrays.iter().take(ARRAYS).map(|name| format!("`{}`", excerpt(name))).collect();
    let more = if arrays.len() > ARRAYS { ", ..." } else { "" };
    if names.is_empty() { "no array".to_owned() } else { format!("arrays {}{more}", names.join(", ")) }
}
