//! Entries of a docword file in order, however many there are: sorted runs in a temporary file, merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// A line of a docword file or an entry of a matrix, numbers from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) document: u32,
    pub(crate) word: u32,
    pub(crate) line: u64, // from 1, or the number of the entry, from 0
    pub(crate) count: f64,
}

/// Bytes of an entry in a file.
const BYTES: usize = 24;
/// Entries that are read together from each run.
const PIECE: usize = 1 << 11;

impl Entry {
    /// By which entries are ordered; no two are equal.
    fn key(&self) -> (u32, u32, u64) {
        (self.document, self.word, self.line)
    }

    fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&self.document.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.word.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.line.to_le_bytes());
        bytes[16..].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let part = |from: usize| <[u8; 8]>::try_from(&bytes[from..from + 8]).unwrap_or_default();
        let first = u64::from_le_bytes(part(0));
        let (document, word) = (first as u32, (first >> 32) as u32);
        Self { document, word, line: u64::from_le_bytes(part(8)), count: f64::from_le_bytes(part(16)) }
    }
}

#[cfg(feature = "files")]
fn temporary() -> io::Result<File> {
    tempfile::tempfile()
}

#[cfg(not(feature = "files"))]
fn temporary() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Takes entries in any order.
pub(crate) struct Runs {
    limit: usize,
    present: Vec<Entry>, // at most `limit`
    file: Option<BufWriter<File>>,
    ends: Vec<u64>, // of the runs in the file, in entries
}

impl Runs {
    /// At most so many entries in memory, at least one; all where there are no temporary files.
    pub(crate) fn new(limit: usize) -> Self {
        let limit = if cfg!(feature = "files") { limit.max(1) } else { usize::MAX };
        Self { limit, present: Vec::new(), file: None, ends: Vec::new() }
    }

    pub(crate) fn push(&mut self, entry: Entry) -> io::Result<()> {
        if self.present.len() == self.limit {
            self.write()?;
        }
        self.present.push(entry);
        Ok(())
    }

    /// Puts the present entries into the file, as a run.
    fn write(&mut self) -> io::Result<()> {
        self.present.sort_unstable_by_key(Entry::key);
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::new(temporary()?)),
        };
        self.present.iter().try_for_each(|entry| file.write_all(&entry.to_bytes()))?;
        let written = self.ends.last().copied().unwrap_or(0);
        self.ends.push(written + self.present.len() as u64);
        self.present.clear();
        Ok(())
    }

    /// All entries, by document, word and line.
    pub(crate) fn merge(mut self) -> io::Result<Sorted> {
        self.present.sort_unstable_by_key(Entry::key);
        let file = match self.file {
            Some(file) => Some(file.into_inner().map_err(io::IntoInnerError::into_error)?),
            None => None,
        };
        let starts = std::iter::once(&0).chain(&self.ends);
        let waiting = |(&at, &end): (&u64, &u64)| Run { at, end, read: Vec::new(), next: 0 };
        let mut runs: Vec<Run> = starts.zip(&self.ends).map(waiting).collect();
        runs.push(Run { at: 0, end: 0, read: self.present, next: 0 });
        let mut sorted = Sorted { file, runs, heads: BinaryHeap::new() };
        (0..sorted.runs.len()).try_for_each(|run| sorted.advance(run))?;
        Ok(sorted)
    }
}

/// A run that is being read.
struct Run {
    at: u64, // what was not yet read, in entries of the file
    end: u64,
    read: Vec<Entry>, // what was
    next: usize,
}

/// Entries in order.
pub(crate) struct Sorted {
    file: Option<File>,
    runs: Vec<Run>,
    heads: BinaryHeap<Reverse<Head>>, // the next entry of every run that has one
}

struct Head {
    entry: Entry,
    run: usize,
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.entry.key() == other.entry.key()
    }
}
impl Eq for Head {}
impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.entry.key().cmp(&other.entry.key())
    }
}

impl Sorted {
    pub(crate) fn next(&mut self) -> io::Result<Option<Entry>> {
        let Some(Reverse(Head { entry, run })) = self.heads.pop() else { return Ok(None) };
        self.advance(run)?;
        Ok(Some(entry))
    }

    /// Puts the next entry of a run among the heads.
    fn advance(&mut self, index: usize) -> io::Result<()> {
        let Some(run) = self.runs.get_mut(index) else { return Ok(()) };
        let is_used_up = run.next == run.read.len() && run.at < run.end;
        if let Some(file) = self.file.as_mut().filter(|_| is_used_up) {
            let some = (run.end - run.at).min(PIECE as u64);
            let mut bytes = vec![0; some as usize * BYTES];
            file.seek(SeekFrom::Start(run.at * BYTES as u64))?;
            file.read_exact(&mut bytes)?;
            run.read.clear();
            run.read.extend(bytes.chunks_exact(BYTES).map(Entry::from_bytes));
            (run.at, run.next) = (run.at + some, 0);
        }
        if let Some(&entry) = run.read.get(run.next) {
            run.next += 1;
            self.heads.push(Reverse(Head { entry, run: index }));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Those of each run are read from its file piece by piece.
    #[test]
    fn runs_that_are_longer_than_a_piece_come_out_whole() {
        let number = 2 * PIECE as u32 + 5;
        let mut runs = Runs::new(number as usize);
        for line in 0..u64::from(2 * number) {
            runs.push(Entry { document: 2 * number - line as u32, word: 0, line, count: 1.0 }).unwrap();
        }
        let mut sorted = runs.merge().unwrap();
        for document in 1..=2 * number {
            assert_eq!(sorted.next().unwrap().map(|entry| entry.document), Some(document));
        }
        assert_eq!(sorted.next().unwrap(), None);
    }

    proptest! {
        #[test]
        fn runs_of_any_length_come_out_as_one_sort_would_have_it(
            keys in prop::collection::vec((0u32..40, 0u32..40), 0..200),
            limit in 1usize..50,
        ) {
            let entries: Vec<Entry> = (1u64..)
                .zip(&keys)
                .map(|(line, &(document, word))| Entry { document, word, line, count: line as f64 / 3.0 })
                .collect();
            let mut runs = Runs::new(limit);
            for &entry in &entries {
                runs.push(entry).unwrap();
                prop_assert!(runs.present.len() <= limit);
            }
            let (mut sorted, mut found) = (runs.merge().unwrap(), Vec::new());
            while let Some(entry) = sorted.next().unwrap() {
                found.push(entry);
            }
            let mut expected = entries;
            expected.sort_by_key(Entry::key);
            prop_assert_eq!(found, expected);
        }
    }
}
