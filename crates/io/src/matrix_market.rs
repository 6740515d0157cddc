//! Counts as a Matrix Market coordinate file: a row for each document, or, beside the tables of features and barcodes that
//! Cell Ranger writes, a column.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::docword::{Layout, Names, ROOM, bags, check_documents, read_entries, read_vocabulary};
use crate::error::{Problem, ReadError, excerpt};
use crate::item::Item;
use crate::source::{Limits, Lines};

/// What such a file begins with, in any case.
const BANNER: &str = "%%MatrixMarket";

/// Whether a text begins as a Matrix Market file does.
pub(crate) fn begins(text: &str) -> bool {
    text.get(..BANNER.len()).is_some_and(|start| start.eq_ignore_ascii_case(BANNER))
}

/// The tables of features and barcodes that lie beside a matrix of Cell Ranger: `features.tsv`, or `genes.tsv` of older
/// versions, and `barcodes.tsv`, either of them perhaps compressed. What stands before `matrix` stands before them, too.
pub(crate) fn cells_beside(matrix: &Path) -> Option<[PathBuf; 2]> {
    let name = matrix.file_name()?.to_str()?;
    let prefix = name.strip_suffix(".gz").unwrap_or(name).strip_suffix("matrix.mtx")?;
    let first = |names: &[&str]| {
        let paths = names.iter().map(|name| matrix.with_file_name(format!("{prefix}{name}")));
        paths.into_iter().find(|path| path.is_file())
    };
    let features = first(&["features.tsv", "features.tsv.gz", "genes.tsv", "genes.tsv.gz"])?;
    Some([features, first(&["barcodes.tsv", "barcodes.tsv.gz"])?])
}

/// Names of features: the second column of the table, and with the first in parentheses those that come several times.
pub(crate) fn read_features(
    reader: impl BufRead,
    file: &Path,
    limits: &Limits,
) -> Result<Vec<String>, ReadError> {
    let lines = read_vocabulary(reader, file, limits)?;
    let split = |line: &str| {
        let mut fields = line.split('\t').map(str::trim);
        let id = fields.next().unwrap_or_default().to_owned();
        let name = fields.next().filter(|name| !name.is_empty()).map_or_else(|| id.clone(), str::to_owned);
        (name, id)
    };
    let features: Vec<(String, String)> = lines.iter().map(|line| split(line)).collect();
    let mut times = std::collections::HashMap::new();
    features.iter().for_each(|(name, _)| *times.entry(name.as_str()).or_insert(0usize) += 1);
    let unique = |(name, id): &(String, String)| match times.get(name.as_str()) {
        Some(&times) if times > 1 && id != name => format!("{name} ({id})"),
        _ => name.clone(),
    };
    Ok(features.iter().map(unique).collect())
}

/// Hands over the vocabulary, then one bag after the other; returns their number. `cells` are the names of the columns, if
/// these are the documents, and the file they are from. Of more than `run` entries the rest wait in a temporary file.
pub(crate) fn each<E: From<ReadError>>(
    reader: impl BufRead,
    file: &Path,
    (vocabulary, vocabulary_file): (Vec<String>, &Path),
    cells: Option<(Vec<String>, &Path)>,
    limits: &Limits,
    run: usize,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<usize, E> {
    let mut lines = Lines::new(reader, file, limits.record_bytes);
    let is_pattern = banner(&mut lines)?;
    let (rows, columns, claimed) = size(&mut lines)?;
    let header = lines.line();
    let (documents, words) = if cells.is_some() { (columns, rows) } else { (rows, columns) };
    let refuse = |file, line, problem| Err(ReadError::new(file, line, problem).into());
    if vocabulary.len() as u64 != words {
        let found = vocabulary.len() as u64;
        let problem = Problem::VocabularyLength { expected: words, found, header: file.into() };
        return refuse(vocabulary_file, None, problem);
    }
    let names = match cells {
        None => None,
        Some((names, file_of_names)) if names.len() as u64 == documents => {
            Some(Names { names, file: Arc::from(file_of_names) })
        }
        Some((names, file_of_names)) => {
            let found = names.len() as u64;
            let problem = Problem::NumberOfNames { expected: documents, found, header: file.into() };
            return refuse(file_of_names, None, problem);
        }
    };
    if documents == 0 {
        return refuse(file, None, Problem::NoDocuments { skipped: 0, first: None });
    }
    let layout = Layout {
        limits: [rows, columns],
        claimed,
        what: ["row", "column"],
        expected: if is_pattern { "row column" } else { "row column count" },
        is_pattern,
        is_transposed: names.is_some(),
    };
    let entries = read_entries(&mut lines, &layout, run)?;
    // As many as there are names need no more memory than these.
    if names.is_none()
        && let Err(problem) = check_documents(documents, entries.last, lines.bytes().max(ROOM))
    {
        return refuse(file, Some(header), problem);
    }
    visit(Item::Vocabulary(vocabulary))?;
    let documents = documents as usize; // no more than the file has bytes, or than there are names
    bags(entries, documents, file, names, visit)?;
    Ok(documents)
}

/// Whether the entries have no counts: `pattern`.
fn banner<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<bool, ReadError> {
    let Some(line) = lines.next()? else { return Err(lines.error_of_file(Problem::Empty)) };
    let words: Vec<String> = line.split_ascii_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["%%matrixmarket", "matrix", "coordinate", "integer" | "real", "general"] => Ok(false),
        ["%%matrixmarket", "matrix", "coordinate", "pattern", "general"] => Ok(true),
        _ => {
            let found = excerpt(line);
            Err(lines.error(Problem::Banner { found }))
        }
    }
}

/// Rows, columns and entries, on the first line that is no comment.
fn size<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<(u64, u64, u64), ReadError> {
    let found = loop {
        let Some(line) = lines.next()? else { break "end of file".to_owned() };
        if line.starts_with('%') || line.trim().is_empty() {
            continue;
        }
        let numbers: Vec<Option<u64>> =
            line.split_ascii_whitespace().take(4).map(|field| field.parse().ok()).collect();
        if let [Some(rows), Some(columns), Some(entries)] = numbers[..] {
            return Ok((rows, columns, entries));
        }
        break excerpt(line);
    };
    Err(lines.error(Problem::Size { found }))
}
