//! Lines that most documents of a source have: headers and footers of pages, licences, disclaimers below mails.
//!
//! A line is the sequence of its words. A source is a file of several documents, such as a table or a mailbox, and every folder
//! with all that is below it. A line is boilerplate if more than half of the documents of some source have it.
//!
//! While documents are read, lossy counting keeps of each source that is not done yet the lines that so many may have, and the bag of each
//! document has a hash of each of its lines besides. Once all are read, those few lines are counted exactly.
//!
//! # Source
//! Manku & Motwani 2002, *Approximate frequency counts over data streams*.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use countgrid_counts::Bags;
use countgrid_text::WordCounts;

use crate::{Blocks, CorpusError, hash::mix};

/// In how large a share of the documents of a source a line must be more often than that, to be boilerplate.
pub const BOILERPLATE: f64 = 1.0 / 2.0;
/// Documents of a source at least.
const DOCUMENTS: u64 = 10;
/// Words of a line at least, stop words too.
const WORDS: usize = 3;

/// A line that was left out because most documents of a source have it.
///
/// ```
/// use countgrid_corpus::{Corpus, CorpusOptions};
/// let texts: Vec<String> = (0..12).map(|n| format!("word{n} and words\nSent from my phone")).collect();
/// let options = CorpusOptions { keep_boilerplate: false, ..CorpusOptions::default() };
/// let corpus = Corpus::<f32>::from_texts(&texts, &options)?;
/// let [line] = &corpus.boilerplate[..] else { panic!() };
/// assert_eq!((line.words.as_str(), line.with, line.documents), ("sent from my phone", 12, 12));
/// assert!(!corpus.vocabulary.iter().any(|word| word == "phone"));
/// # Ok::<(), countgrid_corpus::CorpusError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoilerplateLine {
    /// Its words, as in [`TextOptions::boilerplate`](countgrid_text::TextOptions::boilerplate).
    pub words: String,
    /// The source: a file, or a folder. Of several that of most documents with the line.
    pub source: PathBuf,
    /// Documents of the source that have the line.
    pub with: u64,
    /// Documents of the source.
    pub documents: u64,
}

/// Entries of a bag from this feature on are lines: their number is that of the forms before them, their count the hash.
const LINES: u32 = 1 << 31;
/// Lossy counting misses a line in one of so many documents of a source, at most.
const BUCKET: u64 = 8;
/// Words of all lines that are counted exactly, at most. Of more the first are.
const MOST_WORDS: usize = 1 << 22;

/// The lines of documents that come one after the other, those of a folder without others between them.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    sources: Vec<Source>,
    open: Vec<Open>,             // from the outermost to the innermost
    innermost: Vec<Option<u32>>, // source of each document
    last: Option<Arc<Path>>,
    own: Vec<(u64, usize)>, // different lines of the last document that are long enough, and one place of each
    candidates: HashMap<u64, Candidate>,
    words: usize, // of all candidates
}

/// A source, whose documents are among those of another one.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    parent: Option<u32>,
}

/// A source that further documents may be of.
#[derive(Debug)]
struct Open {
    source: u32,
    documents: u64,
    seen: HashMap<u64, Seen>,
}

/// How many documents are known to have a line, how many more may have it, and its forms once it comes again.
#[derive(Debug)]
struct Seen {
    documents: u64,
    missed: u64,
    forms: Option<Box<[u32]>>,
}

/// A line that may be boilerplate of these sources.
#[derive(Debug)]
struct Candidate {
    forms: Box<[u32]>,
    sources: Vec<u32>,
}

fn hash_of(line: &[u32]) -> u64 {
    line.iter().fold(line.len() as u64, |hash, &form| {
        mix(hash.rotate_left(21) ^ u64::from(form).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    })
}

/// What bags have of a hash, which is not zero.
fn short(hash: u64) -> u32 {
    ((hash >> 32) as u32).max(1)
}

/// The path that two files have in common, which is that of both if they are one.
fn common(a: &Path, b: &Path) -> PathBuf {
    a.components().zip(b.components()).take_while(|(a, b)| a == b).map(|(own, _)| own).collect()
}

impl Open {
    /// Adds a document with these different lines.
    fn add(&mut self, own: &[(u64, usize)], lines: &[&[u32]]) {
        let before = self.documents / BUCKET;
        self.documents += 1;
        for &(hash, place) in own {
            let seen = self.seen.entry(hash).or_insert(Seen { documents: 0, missed: before, forms: None });
            seen.documents += 1;
            if seen.documents > 1 && seen.forms.is_none() {
                seen.forms = lines.get(place).map(|&line| line.into());
            }
        }
        if self.documents.is_multiple_of(BUCKET) {
            let least = self.documents / BUCKET;
            self.seen.retain(|_, seen| seen.documents + seen.missed > least);
        }
    }
}

impl Lines {
    /// Adds a document, by its file and its lines in their order; returns the entries to be added to its bag.
    pub(crate) fn push<'a>(
        &mut self,
        file: &Arc<Path>,
        lines: impl Iterator<Item = &'a [u32]>,
    ) -> Vec<(u32, u32)> {
        let lines: Vec<&[u32]> = lines.collect();
        self.enter(file);
        let mut entries = Vec::new();
        self.own.clear();
        // A line that is all of a text is its content.
        if lines.len() > 1 {
            let mut start = 0;
            for (place, line) in lines.iter().enumerate() {
                if line.len() >= WORDS {
                    let hash = hash_of(line);
                    entries.push((LINES.saturating_add(start), short(hash)));
                    self.own.push((hash, place));
                }
                start = start.saturating_add(line.len() as u32);
            }
        }
        self.own.sort_unstable();
        self.own.dedup_by_key(|&mut (hash, _)| hash);
        for open in &mut self.open {
            open.add(&self.own, &lines);
        }
        self.innermost.push(self.open.last().map(|open| open.source));
        entries
    }

    /// Closes the sources that a file is not of, and opens the one that it has in common with the file before it.
    fn enter(&mut self, file: &Arc<Path>) {
        let Some(last) = self.last.replace(Arc::clone(file)) else { return };
        let path = if Arc::ptr_eq(&last, file) { file.to_path_buf() } else { common(&last, file) };
        let path_of = |sources: &[Source], open: &Open| {
            sources.get(open.source as usize).map(|source| source.path.clone()).unwrap_or_default()
        };
        let mut closed = None; // the outermost of those that are closed
        while let Some(open) = self.open.pop_if(|open| {
            let own = path_of(&self.sources, open);
            own != path && own.starts_with(&path)
        }) {
            self.close(&open);
            closed = Some(open);
        }
        if self.open.last().is_some_and(|open| path_of(&self.sources, open) == path) {
            return;
        }
        let source = self.sources.len() as u32; // fewer than documents
        self.sources.push(Source { path, parent: self.open.last().map(|open| open.source) });
        let open = match closed {
            // So far all documents of the one are those of the other.
            Some(open) => {
                if let Some(inner) = self.sources.get_mut(open.source as usize) {
                    inner.parent = Some(source);
                }
                Open { source, ..open }
            }
            None => {
                let mut open = Open { source, documents: 0, seen: HashMap::new() };
                open.add(&self.own, &[]);
                if let Some(innermost) = self.innermost.last_mut() {
                    *innermost = Some(source);
                }
                open
            }
        };
        self.open.push(open);
    }

    /// Keeps the lines that more than half of the documents may have.
    fn close(&mut self, open: &Open) {
        if open.documents < DOCUMENTS {
            return;
        }
        let is_frequent = |seen: &&Seen| 2 * (seen.documents + seen.missed) > open.documents;
        let mut found: Vec<(u64, &Box<[u32]>)> = open
            .seen
            .iter()
            .filter_map(|(&hash, seen)| Some((hash, Some(seen).filter(is_frequent)?.forms.as_ref()?)))
            .collect();
        found.sort_unstable();
        for (hash, forms) in found {
            if let Some(known) = self.candidates.get_mut(&hash) {
                known.sources.push(open.source);
            } else if self.words + forms.len() <= MOST_WORDS {
                self.words += forms.len();
                self.candidates.insert(hash, Candidate { forms: forms.clone(), sources: vec![open.source] });
            }
        }
    }

    /// Once all documents were read, whose bags have the entries of their lines: the lines that are boilerplate.
    pub(crate) fn finish(
        mut self,
        bags: &Blocks<u32>,
        is_taken: impl Fn(usize) -> bool,
    ) -> Result<Boilerplate, CorpusError> {
        while let Some(open) = self.open.pop() {
            self.close(&open);
        }
        let Self { sources, innermost, candidates, .. } = self;
        let mut boilerplate = Boilerplate::default();
        if candidates.is_empty() {
            return Ok(boilerplate);
        }
        let mut candidates: Vec<_> = candidates.into_iter().collect();
        candidates.sort_unstable_by_key(|&(hash, _)| hash);
        let mut lines: HashMap<u32, u32> = HashMap::new();
        let mut counts: HashMap<(u32, u32), Share> = HashMap::new();
        for ((hash, candidate), line) in candidates.iter().zip(0u32..) {
            // Of two lines with one hash in bags the second is not counted.
            if *lines.entry(short(*hash)).or_insert(line) == line {
                counts.extend(candidate.sources.iter().map(|&source| ((source, line), Share::default())));
            }
        }
        let mut all = vec![Share::default(); sources.len()];
        let mut own: Vec<u32> = Vec::new();
        bags.for_each_block(true, |first, block| {
            for bag in 0..block.len() {
                let document = first + bag;
                let is_taken = is_taken(document);
                own.clear();
                let entries = block.entries(bag).skip_while(|&(feature, _)| (feature as u32) < LINES);
                own.extend(entries.filter_map(|(_, hash)| lines.get(&hash).copied()));
                own.sort_unstable();
                own.dedup();
                let mut source = innermost.get(document).copied().flatten();
                while let Some(number) = source {
                    if let Some(share) = all.get_mut(number as usize) {
                        share.add(is_taken);
                    }
                    for &line in &own {
                        if let Some(share) = counts.get_mut(&(number, line)) {
                            share.add(is_taken);
                        }
                    }
                    source = sources.get(number as usize).and_then(|source| source.parent);
                }
            }
            Ok::<_, CorpusError>(())
        })?;
        for ((_, candidate), line) in candidates.into_iter().zip(0u32..) {
            let of_source = |&source: &u32| {
                let (own, all) = (counts.get(&(source, line))?, all.get(source as usize)?);
                own.is_most_of(all).then_some((own.taken, all.taken, source))
            };
            // Of those of as many documents the one that was opened first.
            let best = candidate
                .sources
                .iter()
                .filter_map(of_source)
                .min_by_key(|&(own, all, source)| (std::cmp::Reverse(own), all, source));
            if let Some((with, documents, source)) = best {
                let path = sources.get(source as usize).map(|source| source.path.clone()).unwrap_or_default();
                boilerplate.lines.push(Found { forms: candidate.forms.to_vec(), path, with, documents });
            }
        }
        for (line, number) in boilerplate.lines.iter().zip(0u32..) {
            boilerplate.by_hash.insert(short(hash_of(&line.forms)), number);
        }
        Ok(boilerplate)
    }
}

/// How many documents there are, and how many of them are taken.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    all: u64,
    taken: u64,
}

impl Share {
    fn add(&mut self, is_taken: bool) {
        self.all += 1;
        self.taken += u64::from(is_taken);
    }

    /// Whether these are more than half of so many, of all and of those that are taken.
    fn is_most_of(&self, source: &Self) -> bool {
        source.taken >= DOCUMENTS && 2 * self.taken > source.taken && 2 * self.all > source.all
    }
}

/// The lines that are left out.
#[derive(Debug, Default)]
pub(crate) struct Boilerplate {
    lines: Vec<Found>,
    by_hash: HashMap<u32, u32>, // their numbers
}

/// A line, and where it is boilerplate.
#[derive(Debug)]
struct Found {
    forms: Vec<u32>,
    path: PathBuf,
    with: u64,
    documents: u64,
}

impl Boilerplate {
    /// Leaves the lines out of a bag with the entries of its lines: out of a sequence of forms, as it is where phrases are looked for,
    /// or out of the counts of forms.
    pub(crate) fn leave_out(&self, row: &mut Vec<(u32, u32)>, is_sequence: bool) {
        let mut lines = row.split_off(row.partition_point(|&(feature, _)| feature < LINES));
        lines.retain(|(_, hash)| self.by_hash.contains_key(hash));
        for (start, hash) in lines {
            let Some(line) = self.by_hash.get(&hash).and_then(|&line| self.lines.get(line as usize)) else {
                continue;
            };
            // Another line may have the same hash: then its words are not those.
            if is_sequence {
                let start = (start - LINES) as usize;
                let Some(own) = row.get_mut(start..start.saturating_add(line.forms.len())) else { continue };
                if own.iter().zip(&line.forms).all(|(&(_, found), form)| found == form.saturating_add(1)) {
                    own.iter_mut().for_each(|(_, form)| *form = 0);
                }
                continue;
            }
            let entry_of =
                |row: &[(u32, u32)], form: &u32| row.binary_search_by_key(form, |&(form, _)| form).ok();
            if line.forms.iter().all(|form| entry_of(row, form).is_some()) {
                for form in &line.forms {
                    if let Some((_, count)) = entry_of(row, form).and_then(|entry| row.get_mut(entry)) {
                        *count = count.saturating_sub(1);
                    }
                }
            }
        }
        row.retain(|&(_, count)| count > 0); // in a sequence one more than a form
    }

    /// The lines, by their sources.
    pub(crate) fn describe(&self, words: &WordCounts) -> Vec<BoilerplateLine> {
        let describe = |Found { forms, path, with, documents }: &Found| {
            let words: Vec<&str> = forms.iter().filter_map(|&form| words.form(form)).collect();
            let (words, source) = (words.join(" "), path.clone());
            BoilerplateLine { words, source, with: *with, documents: *documents }
        };
        let mut lines: Vec<_> = self.lines.iter().map(describe).collect();
        lines.sort_by(|a, b| {
            a.source.cmp(&b.source).then(b.with.cmp(&a.with)).then_with(|| a.words.cmp(&b.words))
        });
        lines
    }
}

/// The lines as options of a text have them.
pub(crate) fn words_of(lines: &[BoilerplateLine]) -> Vec<String> {
    let mut words: Vec<String> = lines.iter().map(|line| line.words.clone()).collect();
    words.sort_unstable();
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{BlockLimits, BlocksBuilder};

    /// The lines of three forms that begin with these numbers, as a document has them.
    fn lines(numbers: &[u32]) -> Vec<[u32; 3]> {
        numbers.iter().map(|&number| [number, 7, 7]).collect()
    }

    /// All documents are of one file.
    fn read(documents: &[Vec<u32>]) -> (Lines, Vec<Vec<(u32, u32)>>) {
        let (mut all, file) = (Lines::default(), Arc::from(Path::new("a.mbox")));
        let entries = documents.iter().map(|document| {
            let lines = lines(document);
            all.push(&file, lines.iter().map(|line| &line[..]))
        });
        let entries = entries.collect();
        (all, entries)
    }

    /// Ten documents of two lines each, of which the first `n` have line 0.
    fn first_have_one(n: u32) -> Vec<Vec<u32>> {
        (0..10).map(|document| vec![if document < n { 0 } else { 100 + document }, 200 + document]).collect()
    }

    proptest! {
        /// What Manku and Motwani prove of lossy counting.
        #[test]
        fn counts_are_missed_in_one_of_eight_documents_at_most(
            documents in prop::collection::vec(prop::collection::btree_set(0u32..40, 0..6), 1..80),
        ) {
            let mut open = Open { source: 0, documents: 0, seen: HashMap::new() };
            let mut counts = [0u64; 40];
            for document in &documents {
                let numbers: Vec<u32> = document.iter().copied().collect();
                let lines = lines(&numbers);
                let own: Vec<_> = lines.iter().map(|line| hash_of(line)).zip(0..).collect();
                open.add(&own, &lines.iter().map(|line| &line[..]).collect::<Vec<_>>());
                numbers.iter().for_each(|&number| counts[number as usize] += 1);
                let most = open.documents / BUCKET;
                for (number, &count) in (0u32..).zip(&counts) {
                    let line = [number, 7, 7];
                    let Some(seen) = open.seen.get(&hash_of(&line)) else {
                        prop_assert!(count <= most); // forgotten, as it is too rare
                        continue;
                    };
                    prop_assert!(seen.documents <= count && count <= seen.documents + seen.missed);
                    prop_assert!(seen.documents > 0 && seen.missed <= most);
                    // Its forms once it comes again, so that lines that come once take little memory.
                    prop_assert_eq!(seen.forms.as_deref(), (seen.documents > 1).then_some(&line[..]));
                    // And only what may be frequent is kept from one bucket to the next.
                    prop_assert!(!open.documents.is_multiple_of(BUCKET) || seen.documents + seen.missed > most);
                }
            }
            prop_assert_eq!(open.documents, documents.len() as u64);
        }
    }

    #[test]
    fn lines_of_half_of_the_documents_are_not_counted_again() {
        for (n, candidates) in [(5, 0), (6, 1), (10, 1)] {
            let (mut lines, _) = read(&first_have_one(n));
            let open = lines.open.pop().unwrap();
            assert_eq!(open.documents, 10);
            lines.close(&open);
            assert_eq!(lines.candidates.len(), candidates, "{n}");
        }
    }

    #[test]
    fn words_of_lines_that_are_counted_again_are_limited() {
        // Three lines of three words each are in all documents.
        for (room, kept) in [(0, 0), (2, 0), (3, 1), (5, 1), (6, 2), (8, 2), (9, 3), (MOST_WORDS, 3)] {
            let (mut lines, _) = read(&vec![vec![1, 2, 3]; 10]);
            lines.words = MOST_WORDS - room;
            let open = lines.open.pop().unwrap();
            lines.close(&open);
            assert_eq!(lines.candidates.len(), kept, "{room}");
            assert_eq!(lines.words, MOST_WORDS - room + 3 * kept);
            // Of another source they take no more.
            lines.close(&Open { source: 1, ..open });
            assert_eq!(lines.words, MOST_WORDS - room + 3 * kept);
        }
    }

    #[test]
    fn how_often_a_word_comes_is_no_hash_of_a_line() {
        let documents = first_have_one(6);
        let (lines, entries) = read(&documents);
        let mut bags = BlocksBuilder::new(u32::MAX as usize, BlockLimits::in_memory()).unwrap();
        for (document, entries) in documents.iter().zip(entries) {
            // Those without the line have a word as often as its hash says.
            let often = if document[0] == 0 { 1 } else { short(hash_of(&[0, 7, 7])) };
            let row = [(3, often)].into_iter().chain(entries);
            bags.push(row.map(|(form, count)| (form as usize, count))).unwrap();
        }
        let found = lines.finish(&bags.finish().unwrap(), |_| true).unwrap();
        let [line] = &found.lines[..] else { panic!("{found:?}") };
        assert_eq!((&line.forms[..], line.with, line.documents), (&[0, 7, 7][..], 6, 10));
    }

    #[test]
    fn most_are_more_than_half_of_all_and_of_those_taken() {
        let is_most = |(taken, all), (source_taken, source_all)| {
            Share { all, taken }.is_most_of(&Share { all: source_all, taken: source_taken })
        };
        assert!(is_most((6, 11), (10, 20)));
        assert!(!is_most((5, 11), (10, 20)) && !is_most((6, 10), (10, 20)));
        assert!(!is_most((9, 9), (9, 20)) && is_most((10, 11), (10, 11)));
    }
}
