//! Text that is surely on the machine of whoever builds this: the doc comments of the crates Cargo unpacked.

mod comments;

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use countgrid_io::{Document, Format, Skipped, Summary, id_in_folder, truncate_text};
use walkdir::{DirEntry, WalkDir};

use self::comments::comments;
use crate::{CorpusError, hash::hash};

/// Characters of a title, after the name of the crate.
const TITLE: usize = 80;
/// Words of the shortest comment that is worth a place on a map.
const WORDS: usize = 20;
/// Crates that get a label: as many as there are colours that can be told apart.
const LABELS: usize = 8;
/// Bytes of the longest source file that is read; longer ones are generated.
const SOURCE: u64 = 4 << 20;

/// Reads the doc comments (`///`, `//!`) of the crates in Cargo's folder, `CARGO_HOME` or `~/.cargo`.
///
/// One document for each documented item or module with at least 20 words, code left out; its title is
/// `crate: first sentence`. Of each crate the newest version counts, without its tests, benches and examples,
/// and of equal comments, as macros are prone to, the first. No crate gives more than an eighth of
/// `max_documents`, and where there are still more than those, a hash of the text chooses: a fair sample, the
/// same on every run. The eight crates with most documents are labels; a label for each of a hundred would tell
/// nothing. The order is that of crates, files and lines; memory holds a small multiple of `max_documents`.
///
/// Example: [`Corpus::read`](crate::Corpus::read).
///
/// # Errors
/// [`CorpusError::NoDocComments`] if there is no such folder, or no comment in it.
pub fn cargo_docs(max_documents: usize) -> Result<(Vec<Document>, Summary), CorpusError> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    cargo_docs_in(home.as_deref().unwrap_or(Path::new(".cargo")), max_documents)
}

/// As [`cargo_docs`], from a given Cargo folder.
///
/// # Errors
/// [`CorpusError::NoDocComments`] if there are no unpacked crates in the folder, or no comment in them.
///
/// ```
/// use countgrid_corpus::cargo_docs_in;
/// let home = tempfile::tempdir()?;
/// let crate_folder = home.path().join("registry/src/index/ants-1.2.0/src");
/// std::fs::create_dir_all(&crate_folder)?;
/// let comment = "//! Paths of ants. Every ant follows the trail that the ants before it have left, \
///                and leaves a trail of its own, so that short paths win.\n";
/// std::fs::write(crate_folder.join("lib.rs"), comment)?;
/// let (documents, summary) = cargo_docs_in(home.path(), 1000)?;
/// assert_eq!(documents[0].title, "ants: Paths of ants.");
/// assert_eq!(documents[0].id, "ants-1.2.0/src/lib.rs:1");
/// assert_eq!(summary.documents, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cargo_docs_in(home: &Path, max_documents: usize) -> Result<(Vec<Document>, Summary), CorpusError> {
    let root = home.join("registry").join("src");
    let crates = newest(&root);
    let mut tally = Tally::default();
    let mut sample = Vec::new();
    let names: Vec<String> = crates.keys().cloned().collect();
    for (number, (name, folder)) in crates.iter().enumerate() {
        sample.extend(read_crate(number, name, folder, max_documents.div_ceil(LABELS), &mut tally));
        keep_smallest(&mut sample, max_documents);
    }
    if sample.is_empty() {
        return Err(CorpusError::NoDocComments { folder: root, crates: crates.len() });
    }
    sample.sort_by_key(|one| one.place);
    let labels = label(&mut sample, &names);
    let documents: Vec<_> = sample.into_iter().map(|one| one.document).collect();
    let summary = Summary {
        path: root,
        format: Format::Other("doc comments of Cargo's crates"),
        gzip: false,
        files: tally.files,
        skipped: tally.skipped,
        left_out: Vec::new(),
        pages: 0,
        encodings: Default::default(),
        bytes: tally.bytes,
        documents: documents.len(),
        labels,
        columns: Vec::new(),
        paths: Vec::new(),
    };
    Ok((documents, summary))
}

#[derive(Default)]
struct Tally {
    files: usize,
    bytes: u64,
    skipped: Skipped,
}

/// A document that may be left out when there are too many.
struct Candidate {
    hash: u64,             // of its text: the smallest stay
    place: (usize, usize), // number of the crate, number in the crate
    document: Document,
}

/// The newest version of each crate, by name.
fn newest(root: &Path) -> BTreeMap<String, PathBuf> {
    let mut crates: BTreeMap<String, (Version, PathBuf)> = BTreeMap::new();
    let folders = WalkDir::new(root).min_depth(2).max_depth(2).sort_by_file_name().into_iter().flatten();
    for folder in folders.filter(|entry| entry.file_type().is_dir()) {
        let Some((name, version)) = split(&folder.file_name().to_string_lossy()) else { continue };
        if crates.get(&name).is_none_or(|(known, _)| *known < version) {
            crates.insert(name, (version, folder.into_path()));
        }
    }
    crates.into_iter().map(|(name, (_, folder))| (name, folder)).collect()
}

/// Major, minor, patch; a release comes after its own pre-releases, which are compared as text.
type Version = (u64, u64, u64, bool, String);

/// `serde_json-1.0.150` as name and version.
fn split(folder: &str) -> Option<(String, Version)> {
    folder.match_indices('-').find_map(|(at, _)| {
        let (name, version) = (&folder[..at], &folder[at + 1..]);
        let version = version.split_once('+').map_or(version, |(version, _)| version);
        let (numbers, pre) = version.split_once('-').unwrap_or((version, ""));
        let mut numbers = numbers.split('.').map(|number| number.parse().ok());
        let version = (numbers.next()??, numbers.next()??, numbers.next()??, pre.is_empty(), pre.to_owned());
        numbers.next().is_none().then(|| (name.to_owned(), version))
    })
}

fn read_crate(number: usize, name: &str, folder: &Path, max: usize, tally: &mut Tally) -> Vec<Candidate> {
    let mut sample = Vec::new();
    let mut seen = HashSet::new();
    let wanted = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let aside = ["tests", "benches", "examples", "target"].contains(&&*name);
        entry.depth() == 0 || !(name.starts_with('.') || aside && entry.file_type().is_dir())
    };
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(wanted).flatten();
    for entry in entries.filter(|entry| entry.file_type().is_file()) {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let short = entry.metadata().is_ok_and(|about| about.len() <= SOURCE);
        let Some(source) = short.then(|| fs::read_to_string(path).ok()).flatten() else {
            tally.skipped.binary += 1;
            continue;
        };
        tally.files += 1;
        tally.bytes += source.len() as u64;
        let file: Arc<Path> = Arc::from(path);
        for comment in comments(&source) {
            let words = comment.text.split_whitespace().filter(|word| word.contains(char::is_alphabetic));
            let hash = hash(&comment.text);
            if words.take(WORDS).count() < WORDS || !seen.insert(hash) {
                continue;
            }
            let document = Document {
                id: format!("{}:{}", id_in_folder(path, folder.parent().unwrap_or(folder)), comment.line),
                title: format!("{name}: {}", truncate_text(first_sentence(&comment.text), TITLE)),
                label: None,
                text: comment.text,
                file: Arc::clone(&file),
                line: comment.line,
            };
            sample.push(Candidate { hash, place: (number, seen.len()), document });
            // So that the memory is bounded, yet sorting is rare.
            if sample.len() >= max.saturating_mul(2).max(1024) {
                keep_smallest(&mut sample, max);
            }
        }
    }
    keep_smallest(&mut sample, max);
    sample
}

fn keep_smallest(sample: &mut Vec<Candidate>, length: usize) {
    if sample.len() > length {
        sample.sort_by_key(|one| (one.hash, one.place));
        sample.truncate(length);
    }
}

/// Labels the documents of the crates that have most; says how many labels there are.
fn label(sample: &mut [Candidate], names: &[String]) -> usize {
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    sample.iter().for_each(|one| *sizes.entry(one.place.0).or_default() += 1);
    let mut order: Vec<usize> = sizes.keys().copied().collect();
    order.sort_by_key(|number| (std::cmp::Reverse(sizes[number]), *number));
    order.truncate(LABELS);
    for one in sample {
        if order.contains(&one.place.0) {
            one.document.label = names.get(one.place.0).cloned();
        }
    }
    order.len()
}

fn first_sentence(text: &str) -> &str {
    text.split_inclusive(". ").next().unwrap_or(text).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crates_with_most_documents_are_labels() {
        let document = Document {
            id: String::new(),
            title: String::new(),
            label: None,
            text: String::new(),
            file: Arc::from(Path::new("")),
            line: 1,
        };
        let sizes = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3];
        let places = sizes.iter().enumerate().flat_map(|(number, &n)| (0..n).map(move |i| (number, i)));
        let mut sample: Vec<_> =
            places.map(|place| Candidate { hash: 0, place, document: document.clone() }).collect();
        let names = sizes.map(|n| n.to_string());
        assert_eq!(label(&mut sample, &names), LABELS);
        let labels = sample.iter().filter_map(|one| one.document.label.as_deref());
        let labelled: std::collections::BTreeSet<_> = labels.collect();
        assert_eq!(labelled, ["3", "4", "5", "9", "2", "6"].into());
        assert!(sample.iter().all(|one| one.document.label.is_some() != [1, 3].contains(&one.place.0)));
    }

    #[test]
    fn names_and_versions() {
        let version = |folder| split(folder).unwrap();
        assert_eq!(version("serde_json-1.0.150"), ("serde_json".into(), (1, 0, 150, true, String::new())));
        assert_eq!(version("wasi-0.11.0+wasi-snapshot-preview1").0, "wasi");
        assert_eq!(version("a-2-1.0.0").0, "a-2");
        assert!(version("rand-0.9.0").1 > version("rand-0.9.0-rc.1").1);
        assert!(version("rand-0.10.0").1 > version("rand-0.9.0").1);
        for none in ["serde", "serde-1", "serde-1.0", "serde-1.0.0.0", "serde-a.b.c"] {
            assert_eq!(split(none), None, "{none}");
        }
    }
}
