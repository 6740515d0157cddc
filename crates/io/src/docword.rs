//! UCI bags of words: three header lines, then `document word count` entries.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use crate::error::{Problem, ReadError, excerpt};
use crate::source::{Limits, Lines};

/// Bags of counts over a vocabulary, as compressed rows.
///
/// Bag `t` has the entries `offsets[t]..offsets[t + 1]` of `features` and `counts`; its features ascend, its
/// counts are finite and above zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// The words; features are indices into it.
    pub vocabulary: Vec<String>,
    /// Where each bag starts, and the end: one more than there are bags.
    pub offsets: Vec<usize>,
    /// The feature of each entry, from 0.
    pub features: Vec<u32>,
    /// The count of each entry.
    pub counts: Vec<f64>,
    /// What to call each bag: its number in the file, from 1.
    pub names: Vec<String>,
}

/// The entries of a docword file, as they come, with what the header says.
struct Entries {
    documents: u64,
    entries: Vec<(u32, u32, f64)>, // document and word from 0
    first_line: u64,               // of the entries, which follow each other without gaps
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
/// assert_eq!(counts.offsets, [0, 2, 2]); // the second bag is empty
/// assert_eq!(counts.features, [0, 2]);
/// assert_eq!(counts.counts, [4.0, 1.0]);
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
        return Err(ReadError::new(vocabulary_file, None, problem));
    }
    let entries = read_entries(&mut lines, documents, words, claimed)?;
    check_documents(&entries, lines.bytes()).map_err(|problem| ReadError::new(file, Some(1), problem))?;
    let (offsets, features, counts) =
        rows(entries).map_err(|(line, problem)| ReadError::new(file, line, problem))?;
    let names = (1..offsets.len()).map(|number| number.to_string()).collect();
    Ok(Counts { vocabulary, offsets, features, counts, names })
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

fn read_entries<R: BufRead>(
    lines: &mut Lines<'_, R>,
    documents: u64,
    words: u64,
    claimed: u64,
) -> Result<Entries, ReadError> {
    let mut entries = Vec::new();
    let first_line = lines.line() + 1;
    loop {
        let found = match lines.next()? {
            None => break,
            Some(line) if line.trim().is_empty() => None,
            Some(line) => Some(entry(line, documents, words)),
        };
        match found {
            // Blank lines may end the file, as some editors leave them.
            None => {
                end(lines)?;
                break;
            }
            Some(Err(problem)) => return Err(lines.error(problem)),
            Some(Ok(_)) if entries.len() as u64 == claimed => {
                return Err(lines.error(Problem::TooManyEntries { expected: claimed }));
            }
            Some(Ok(entry)) => entries.push(entry),
        }
    }
    if (entries.len() as u64) < claimed {
        let found = entries.len() as u64;
        return Err(lines.error(Problem::TooFewEntries { expected: claimed, found }));
    }
    Ok(Entries { documents, entries, first_line })
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

/// Document and word from 0, and the count.
fn entry(line: &str, documents: u64, words: u64) -> Result<(u32, u32, f64), Problem> {
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
    Ok((document, word, value))
}

/// Documents without entries are believed, but no more documents in all than the file has bytes: then memory is
/// bounded by what was read, whatever the header claims and whatever number an entry names.
fn check_documents(entries: &Entries, bytes: u64) -> Result<(), Problem> {
    let last = entries.entries.iter().map(|entry| u64::from(entry.0) + 1).max().unwrap_or(0);
    let claimed = entries.documents;
    if claimed > bytes { Err(Problem::TooManyDocuments { claimed, last }) } else { Ok(()) }
}

type Rows = (Vec<usize>, Vec<u32>, Vec<f64>);

/// Sorts the entries into rows; a problem comes with its line.
fn rows(entries: Entries) -> Result<Rows, (Option<u64>, Problem)> {
    let Entries { documents, entries, first_line } = entries;
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&i| (entries[i].0, entries[i].1)); // stable: of equal entries the first line comes first
    for pair in order.windows(2) {
        let (one, two) = (entries[pair[0]], entries[pair[1]]);
        if (one.0, one.1) == (two.0, two.1) {
            let line = |i: usize| first_line + i as u64;
            let (document, word) = (u64::from(one.0) + 1, u64::from(one.1) + 1);
            return Err((Some(line(pair[1])), Problem::Repeated { document, word, first: line(pair[0]) }));
        }
    }
    let documents = documents as usize; // no more than the file has bytes
    let mut offsets = Vec::new();
    if offsets.try_reserve_exact(documents.saturating_add(1)).is_err() {
        return Err((Some(1), Problem::Memory { elements: documents }));
    }
    offsets.push(0);
    let (mut features, mut counts) = (Vec::new(), Vec::new());
    let mut sorted = order.into_iter().map(|i| entries[i]).peekable();
    for document in 0..documents {
        while let Some((_, word, count)) = sorted.next_if(|entry| entry.0 as usize == document) {
            if count > 0.0 {
                features.push(word);
                counts.push(count);
            }
        }
        offsets.push(features.len());
    }
    Ok((offsets, features, counts))
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
