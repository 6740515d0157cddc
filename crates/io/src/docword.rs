//! UCI bags of words: three header lines, then `document word count` entries.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use countgrid_counts::{Bags, Count, CsrBuf};

use crate::error::{Problem, ReadError, excerpt};
use crate::item::Item;
use crate::name::Name;
use crate::runs::{Entry, Runs};
use crate::source::{Limits, Lines};

/// Entries that are put in order in memory: 24 MiB. Of a longer file the rest wait in a temporary one.
pub(crate) const RUN: usize = 1 << 20;

/// So many documents are believed however few bytes the file has.
pub(crate) const ROOM: u64 = 1 << 10;

/// Bags of counts over a vocabulary.
///
/// Example: [`read_docword`](crate::read_docword).
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// The words; features are indices into it.
    pub vocabulary: Vec<String>,
    /// The bags.
    pub bags: CsrBuf<f64>,
    /// What to call each bag: the id column of a table, the barcode of a cell, or its number in the file, from 1.
    pub names: Vec<String>,
    /// The class of each bag, if the data has classes.
    pub labels: Vec<Option<String>>,
}

impl Counts {
    /// No bags yet.
    pub(crate) fn new(vocabulary: Vec<String>) -> Result<Self, Problem> {
        let bags = CsrBuf::new(vocabulary.len());
        let bags = bags.map_err(|_| Problem::Memory { elements: vocabulary.len() })?;
        Ok(Self { vocabulary, bags, names: Vec::new(), labels: Vec::new() })
    }

    /// Adds a bag, called by its number if it has no name. Those of a table may have numbers that are no counts.
    pub(crate) fn push(
        &mut self,
        bag: &[(u32, f64)],
        about: Option<(String, Option<String>)>,
    ) -> Result<(), Problem> {
        let pushed = self.bags.push_bag(bag.iter().map(|&(word, count)| (word as usize, count)));
        pushed.map_err(|_| {
            let wrong = bag.iter().find(|(_, count)| !count.is_valid());
            Problem::Count { found: wrong.map_or_else(String::new, |(_, count)| count.to_string()) }
        })?;
        let (name, label) = about.unwrap_or_else(|| (self.bags.len().to_string(), None));
        self.names.push(name);
        self.labels.push(label);
        Ok(())
    }
}

/// Reads UCI docword counts and their vocabulary; `file` and `vocabulary_file` are their names in messages.
///
/// The first three lines are the numbers of documents, words and entries; then each line is
/// `document word count`, numbered from 1, in any order. A document without entries is an empty bag. A count of
/// zero is passed over; counts may be fractions. Nothing is allocated for what the header claims: tables grow
/// with what is read, and there may be no more documents than the file has bytes (or 1024).
///
/// # Errors
/// Each with its line: a header line or an entry that is not numbers, a number out of the range that the header
/// gives, no documents at all, a count that is negative or not finite, more or fewer entries than the header says, a document and
/// word that come twice (adding them up would hide a file that was glued together), a vocabulary of another
/// length.
///
/// ```
/// use countgrid_io::read_docword;
/// let counts = read_docword("2\n3\n2\n1 1 4\n1 3 1\n".as_bytes(), "docword.a.txt", "ant\nbee\ncow\n".as_bytes(), "vocab.a.txt")?;
/// assert_eq!(counts.bags.offsets(), [0, 2, 2]); // the second bag is empty
/// assert_eq!(counts.bags.indices(), [0, 2]);
/// assert_eq!(counts.bags.counts(), [4.0, 1.0]);
/// # Ok::<(), countgrid_io::ReadError>(())
/// ```
pub fn read_docword(
    reader: impl BufRead,
    file: impl AsRef<Path>,
    vocabulary: impl BufRead,
    vocabulary_file: impl AsRef<Path>,
) -> Result<Counts, ReadError> {
    read(reader, file.as_ref(), vocabulary, vocabulary_file.as_ref(), &Limits::default())
}

pub(crate) fn read(
    reader: impl BufRead,
    file: &Path,
    vocabulary: impl BufRead,
    vocabulary_file: &Path,
    limits: &Limits,
) -> Result<Counts, ReadError> {
    collected(file, |visit| each(reader, file, vocabulary, vocabulary_file, limits, RUN, visit))
}

/// The bags that a reader hands over, all of them.
pub(crate) fn collected<R>(
    file: &Path,
    each: impl FnOnce(&mut dyn FnMut(Item<'_>) -> Result<(), ReadError>) -> Result<R, ReadError>,
) -> Result<Counts, ReadError> {
    let refuse = |problem| ReadError::new(file, None, problem);
    let (mut counts, mut about) = (None, None);
    each(&mut |item| {
        match item {
            Item::Vocabulary(vocabulary) => counts = Some(Counts::new(vocabulary).map_err(refuse)?),
            Item::About { id, label, .. } => about = Some((id, label)),
            Item::Bag(bag) => {
                let mut counts = counts.iter_mut();
                counts.try_for_each(|counts: &mut Counts| counts.push(bag, about.take())).map_err(refuse)?;
            }
            _ => {}
        }
        Ok(())
    })?;
    counts.ok_or_else(|| refuse(Problem::Empty))
}

/// Hands over the vocabulary, then one bag after the other; returns their number. Of more than `run` entries the
/// rest wait in a temporary file.
pub(crate) fn each<E: From<ReadError>>(
    reader: impl BufRead,
    file: &Path,
    vocabulary: impl BufRead,
    vocabulary_file: &Path,
    limits: &Limits,
    run: usize,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<usize, E> {
    let mut lines = Lines::new(reader, file, limits.record_bytes);
    let documents = header(&mut lines, "the number of documents")?;
    let words = header(&mut lines, "the number of words")?;
    let claimed = header(&mut lines, "the number of entries")?;
    let vocabulary = read_vocabulary(vocabulary, vocabulary_file, limits)?;
    if vocabulary.len() as u64 != words {
        let problem = Problem::VocabularyLength {
            expected: words,
            found: vocabulary.len() as u64,
            header: file.into(),
        };
        return Err(ReadError::new(vocabulary_file, None, problem).into());
    }
    let layout = Layout {
        limits: [documents, words],
        claimed,
        what: ["document", "word"],
        expected: "document word count",
        is_pattern: false,
        is_transposed: false,
    };
    let entries = read_entries(&mut lines, &layout, run)?;
    let refuse = |line, problem| ReadError::new(file, line, problem);
    if documents == 0 {
        return Err(refuse(None, Problem::NoDocuments { skipped: 0, first: None }).into());
    }
    let most = lines.bytes().max(ROOM);
    check_documents(documents, entries.last, most).map_err(|problem| refuse(Some(1), problem))?;
    visit(Item::Vocabulary(vocabulary))?;
    let documents = documents as usize; // no more than the file has bytes
    bags(entries, documents, file, None, visit)?;
    Ok(documents)
}

/// What bags are called: the lines of a file.
pub(crate) struct Names {
    pub(crate) names: Vec<String>,
    pub(crate) file: Arc<Path>,
}

fn too_large(entry: Entry, found: f64) -> Problem {
    Problem::Element {
        element: format!("data[{}]", entry.line),
        found: format!("{found} as the sum of those in row {} and column {}", entry.document, entry.word),
        expected: "a finite count".to_owned(),
    }
}

/// Puts entries in order and hands over so many bags, with their names if they have any.
pub(crate) fn bags<E: From<ReadError>>(
    entries: Entries,
    documents: usize,
    file: &Path,
    names: Option<Names>,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let refuse = |line, problem| ReadError::new(file, line, problem);
    let entries_add = entries.add;
    let mut sorted = entries.runs.merge().map_err(|error| refuse(None, Problem::Spool(error)))?;
    let mut next = || sorted.next().map_err(|error| refuse(None, Problem::Spool(error)));
    let (mut ahead, mut bag) = (next()?, Vec::<(u32, f64)>::new());
    let (mut names, file_of_names) = match names {
        Some(Names { names, file }) => (names.into_iter(), Some(file)),
        None => (Vec::new().into_iter(), None),
    };
    for document in 0..documents {
        bag.clear();
        let mut before: Option<Entry> = None;
        while let Some(entry) = ahead.filter(|entry| entry.document as usize == document) {
            let first = before.filter(|before| before.word == entry.word);
            match (first, bag.last_mut()) {
                (Some(first), _) if !entries_add => {
                    let (document, word) = (u64::from(entry.document) + 1, u64::from(entry.word) + 1);
                    let problem = Problem::Repeated { document, word, first: first.line };
                    return Err(refuse(Some(entry.line), problem).into());
                }
                (_, Some((word, count))) if *word == entry.word => {
                    *count += entry.count;
                    if !count.is_finite() {
                        return Err(refuse(None, too_large(entry, *count)).into());
                    }
                }
                _ if entry.count > 0.0 => bag.push((entry.word, entry.count)),
                _ => {}
            }
            (before, ahead) = (Some(entry), next()?);
        }
        if let (Some(id), Some(file)) = (names.next(), &file_of_names) {
            let (file, line) = (Arc::clone(file), document as u64 + 1);
            visit(Item::About { id, label: None, file, line })?;
        }
        visit(Item::Bag(&bag))?;
    }
    Ok(())
}

fn header<R: BufRead>(lines: &mut Lines<'_, R>, what: &'static str) -> Result<u64, ReadError> {
    let found = lines.next()?.map(|line| line.trim().parse().map_err(|_| excerpt(line)));
    match found {
        Some(Ok(number)) => Ok(number),
        Some(Err(found)) => Err(lines.error(Problem::Header { what, found })),
        None if lines.line() == 0 => Err(lines.error_of_file(Problem::Empty)),
        None => Err(lines.error(Problem::Header { what, found: "end of file".to_owned() })),
    }
}

/// One word per line; blank lines at the end do not count.
pub(crate) fn read_vocabulary(
    reader: impl BufRead,
    file: &Path,
    limits: &Limits,
) -> Result<Vec<String>, ReadError> {
    let mut lines = Lines::new(reader, file, limits.record_bytes);
    let mut words: Vec<String> = Vec::new();
    let mut blank = None;
    loop {
        let number = lines.line() + 1;
        let Some(line) = lines.next()? else { break };
        let word = line.trim();
        match (word.is_empty(), blank) {
            (true, None) => blank = Some(number),
            (true, Some(_)) => {}
            (false, Some(line)) => return Err(ReadError::new(file, Some(line), Problem::NoWord)),
            (false, None) => words.push(word.to_owned()),
        }
    }
    if words.is_empty() { Err(lines.error_of_file(Problem::Empty)) } else { Ok(words) }
}

/// What was read, and the number of the last document with an entry.
pub(crate) struct Entries {
    pub(crate) runs: Runs,
    pub(crate) last: u64,
    /// Whether those of one document and word are added up. Else they are refused.
    pub(crate) add: bool,
}

/// What stands on a line of entries.
pub(crate) struct Layout {
    /// The largest values of the first two numbers, as the header has them.
    pub(crate) limits: [u64; 2],
    /// Entries, by the header.
    pub(crate) claimed: u64,
    /// What the first two numbers are called in messages.
    pub(crate) what: [&'static str; 2],
    /// All of them, in messages.
    pub(crate) expected: &'static str,
    /// Whether there is no third number, and each entry counts 1.
    pub(crate) is_pattern: bool,
    /// Whether words come before documents.
    pub(crate) is_transposed: bool,
}

/// Reads entries up to the end of the file.
pub(crate) fn read_entries<R: BufRead>(
    lines: &mut Lines<'_, R>,
    layout: &Layout,
    run: usize,
) -> Result<Entries, ReadError> {
    let claimed = layout.claimed;
    let (mut runs, mut found, mut last) = (Runs::new(run), 0, 0);
    loop {
        let number = lines.line() + 1;
        let read = match lines.next()? {
            None => break,
            Some(line) if line.trim().is_empty() => None,
            Some(line) => Some(layout.entry(line, number)),
        };
        match read {
            // Blank lines may end the file, as some editors leave them.
            None => {
                end(lines, layout)?;
                break;
            }
            Some(Err(problem)) => return Err(lines.error(problem)),
            Some(Ok(_)) if found == claimed => {
                return Err(lines.error(Problem::TooManyEntries { expected: claimed }));
            }
            Some(Ok(entry)) => {
                (found, last) = (found + 1, last.max(u64::from(entry.document) + 1));
                runs.push(entry).map_err(|error| lines.error(Problem::Spool(error)))?;
            }
        }
    }
    if found < claimed {
        return Err(lines.error(Problem::TooFewEntries { expected: claimed, found }));
    }
    Ok(Entries { runs, last, add: false })
}

/// Nothing but blank lines up to the end.
fn end<R: BufRead>(lines: &mut Lines<'_, R>, layout: &Layout) -> Result<(), ReadError> {
    while let Some(line) = lines.next()? {
        if !line.trim().is_empty() {
            let found = excerpt(line);
            return Err(lines.error(Problem::Entry { expected: layout.expected, found }));
        }
    }
    Ok(())
}

impl Layout {
    fn entry(&self, line: &str, number_of_line: u64) -> Result<Entry, Problem> {
        let malformed = || Problem::Entry { expected: self.expected, found: excerpt(line) };
        let mut fields = line.split_ascii_whitespace();
        let mut number = |axis: usize| {
            let (what, limit) = (self.what[axis], self.limits[axis]);
            let found: u64 = fields.next().and_then(|field| field.parse().ok()).ok_or_else(malformed)?;
            Ok((what, found, limit))
        };
        let (first, second) = (number(0)?, number(1)?);
        let value = if self.is_pattern { "1" } else { fields.next().ok_or_else(malformed)? };
        if fields.next().is_some() {
            return Err(malformed());
        }
        let index = |(what, found, limit): (&'static str, u64, u64)| {
            let index = found.checked_sub(1).filter(|_| found <= limit);
            // A table of 2^32 rows would be larger than any limit on bytes read allows.
            index.and_then(|index| u32::try_from(index).ok()).ok_or(Problem::OutOfRange {
                what,
                found,
                limit,
            })
        };
        let (first, second) = (index(first)?, index(second)?);
        let (document, word) = if self.is_transposed { (second, first) } else { (first, second) };
        Ok(Entry { document, word, line: number_of_line, count: count(value)? })
    }
}

/// A count as it is written: a finite number, zero or above.
pub(crate) fn count(field: &str) -> Result<f64, Problem> {
    let refuse = || Problem::Count { found: excerpt(field) };
    let value: f64 = field.parse().map_err(|_| refuse())?;
    if value >= 0.0 && value.is_finite() { Ok(value) } else { Err(refuse()) }
}

/// Documents without entries are believed, but no more documents in all than the file has bytes, or [`ROOM`]: then memory is
/// bounded by what was read, whatever the header claims and whatever number an entry names.
pub(crate) fn check_documents(claimed: u64, last: u64, most: u64) -> Result<(), Problem> {
    if claimed > most { Err(Problem::TooManyDocuments { claimed, last }) } else { Ok(()) }
}

/// Where the vocabulary of a file of counts is expected, in order of preference.
pub(crate) fn vocabulary_beside(counts: &Path) -> Vec<PathBuf> {
    let name = counts.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    let words = match (Name::from_path(counts), plain.rsplit_once('.')) {
        (Name::MatrixMarket | Name::SvmLight | Name::Npz, Some((stem, _))) => format!("vocab.{stem}.txt"),
        _ if plain.contains("docword") => plain.replacen("docword", "vocab", 1),
        _ => "vocab.txt".to_owned(),
    };
    [words.clone(), format!("{words}.gz"), "vocab.txt".to_owned(), "vocab.txt.gz".to_owned()]
        .map(|name| counts.with_file_name(name))
        .into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_in_runs(text: &str, run: usize) -> Result<Vec<Vec<(u32, f64)>>, String> {
        let (file, words) = (Path::new("docword.txt"), "a\nb\nc\nd\ne\nf\n");
        let mut bags = Vec::new();
        let visit = &mut |item: Item<'_>| {
            if let Item::Bag(bag) = item {
                bags.push(bag.to_vec());
            }
            Ok::<_, ReadError>(())
        };
        let read =
            each(text.as_bytes(), file, words.as_bytes(), Path::new("vocab"), &Limits::default(), run, visit);
        read.map(|_| bags).map_err(|error| error.to_string())
    }

    proptest! {
        #[test]
        fn how_many_entries_are_in_memory_changes_nothing(
            entries in prop::collection::vec((1u32..9, 1u32..7, 0u32..4), 0..30),
            run in 1usize..8,
        ) {
            let lines: String =
                entries.iter().map(|(document, word, count)| format!("{document} {word} {count}\n")).collect();
            let text = format!("8\n6\n{}\n{lines}", entries.len());
            // Bags, or the message with the lines of what comes twice.
            prop_assert_eq!(read_in_runs(&text, run), read_in_runs(&text, RUN));
        }
    }
}
