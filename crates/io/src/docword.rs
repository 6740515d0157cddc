//! UCI bags of words: three header lines, then `document word count` entries.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use countgrid_counts::{Bags, Count, CsrBuf};

use crate::error::{Problem, ReadError, excerpt};
use crate::item::Item;
use crate::runs::{Entry, Runs};
use crate::source::{Limits, Lines};

/// Entries that are put in order in memory: 24 MiB. Of a longer file the rest wait in a temporary one.
pub(crate) const RUN: usize = 1 << 20;

/// Bags of counts over a vocabulary.
///
/// Example: [`read_docword`](crate::read_docword).
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// The words; features are indices into it.
    pub vocabulary: Vec<String>,
    /// The bags.
    pub bags: CsrBuf<f64>,
    /// What to call each bag: the id column of a table, or its number in the file, from 1.
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
/// with what is read, and there may be no more documents than the file has bytes.
///
/// # Errors
/// Each with its line: a header line or an entry that is not numbers, a number out of the range that the header
/// gives, a count that is negative or not finite, more or fewer entries than the header says, a document and
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
    let refuse = |problem| ReadError::new(file, None, problem);
    let mut counts = None;
    each(reader, file, vocabulary, vocabulary_file, limits, RUN, &mut |item| {
        match item {
            Item::Vocabulary(vocabulary) => counts = Some(Counts::new(vocabulary).map_err(refuse)?),
            Item::Bag(bag) => {
                counts.iter_mut().try_for_each(|counts| counts.push(bag, None)).map_err(refuse)?;
            }
            _ => {}
        }
        Ok::<_, ReadError>(())
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
    let entries = read_entries(&mut lines, documents, words, claimed, run)?;
    let refuse = |line, problem| ReadError::new(file, line, problem);
    check_documents(documents, entries.last, lines.bytes()).map_err(|problem| refuse(Some(1), problem))?;
    visit(Item::Vocabulary(vocabulary))?;
    let mut sorted = entries.runs.merge().map_err(|error| refuse(None, Problem::Spool(error)))?;
    let mut next = || sorted.next().map_err(|error| refuse(None, Problem::Spool(error)));
    let (mut ahead, mut bag) = (next()?, Vec::new());
    let documents = documents as usize; // no more than the file has bytes
    for document in 0..documents {
        bag.clear();
        let mut before: Option<Entry> = None;
        while let Some(entry) = ahead.filter(|entry| entry.document as usize == document) {
            if let Some(first) = before.filter(|before| before.word == entry.word) {
                let (document, word) = (u64::from(entry.document) + 1, u64::from(entry.word) + 1);
                let problem = Problem::Repeated { document, word, first: first.line };
                return Err(refuse(Some(entry.line), problem).into());
            }
            if entry.count > 0.0 {
                bag.push((entry.word, entry.count));
            }
            (before, ahead) = (Some(entry), next()?);
        }
        visit(Item::Bag(&bag))?;
    }
    Ok(documents)
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
struct Entries {
    runs: Runs,
    last: u64,
}

fn read_entries<R: BufRead>(
    lines: &mut Lines<'_, R>,
    documents: u64,
    words: u64,
    claimed: u64,
    run: usize,
) -> Result<Entries, ReadError> {
    let (mut runs, mut found, mut last) = (Runs::new(run), 0, 0);
    loop {
        let number = lines.line() + 1;
        let read = match lines.next()? {
            None => break,
            Some(line) if line.trim().is_empty() => None,
            Some(line) => Some(entry(line, number, documents, words)),
        };
        match read {
            // Blank lines may end the file, as some editors leave them.
            None => {
                end(lines)?;
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
    Ok(Entries { runs, last })
}

/// Nothing but blank lines up to the end.
fn end<R: BufRead>(lines: &mut Lines<'_, R>) -> Result<(), ReadError> {
    while let Some(line) = lines.next()? {
        if !line.trim().is_empty() {
            let found = excerpt(line);
            return Err(lines.error(Problem::Entry { found }));
        }
    }
    Ok(())
}

fn entry(line: &str, number_of_line: u64, documents: u64, words: u64) -> Result<Entry, Problem> {
    let malformed = || Problem::Entry { found: excerpt(line) };
    let mut fields = line.split_ascii_whitespace();
    let (Some(document), Some(word), Some(count), None) =
        (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(malformed());
    };
    let number = |what, field: &str, limit: u64| {
        let found: u64 = field.parse().map_err(|_| malformed())?;
        let index = found.checked_sub(1).filter(|_| found <= limit);
        // A table of 2^32 rows would be larger than any limit on bytes read allows.
        index.and_then(|index| u32::try_from(index).ok()).ok_or(Problem::OutOfRange { what, found, limit })
    };
    let (document, word) = (number("document", document, documents)?, number("word", word, words)?);
    let value: f64 = count.parse().map_err(|_| Problem::Count { found: excerpt(count) })?;
    if !(value >= 0.0 && value.is_finite()) {
        return Err(Problem::Count { found: excerpt(count) });
    }
    Ok(Entry { document, word, line: number_of_line, count: value })
}

/// Documents without entries are believed, but no more documents in all than the file has bytes: then memory is
/// bounded by what was read, whatever the header claims and whatever number an entry names.
fn check_documents(claimed: u64, last: u64, bytes: u64) -> Result<(), Problem> {
    if claimed > bytes { Err(Problem::TooManyDocuments { claimed, last }) } else { Ok(()) }
}

/// Where the vocabulary of a docword file is expected, in order of preference.
pub(crate) fn vocabulary_beside(docword: &Path) -> Vec<PathBuf> {
    let name = docword.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    let words = if plain.contains("docword") {
        plain.replacen("docword", "vocab", 1)
    } else {
        "vocab.txt".to_owned()
    };
    [words.clone(), format!("{words}.gz"), "vocab.txt".to_owned(), "vocab.txt.gz".to_owned()]
        .map(|name| docword.with_file_name(name))
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
