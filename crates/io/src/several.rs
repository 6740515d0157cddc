//! Several paths as one data set.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::detect::{as_folder, detect, packed};
use crate::document::Document;
use crate::docword::Counts;
use crate::error::{Problem, ReadError};
use crate::folder::{self, Listing, id_in_folder};
use crate::format::Format;
use crate::item::Item;
use crate::name::Name;
use crate::options::ReadOptions;
use crate::read::{DataSet, Ended, Summary, Visitor, ended, visit_items};
use crate::source::{Budget, Source};

/// Reads several paths as one data set, in their order: each as [`read`](crate::read) does, and a file that is one document, such as a
/// text or a PDF file, as that document. One path is read as [`read`](crate::read) reads it.
///
/// | of several paths | is |
/// |---|---|
/// | an id | the name of the path, `/`, and the id that it has there: as if the paths lay in one folder |
/// | the name of a path | its last part, or as many of its last parts as tell all paths apart |
/// | a label | the label that it has there; if no path has any, the name of the path, but none of a file that is one document |
/// | the other columns | those of all paths; documents of the others have nothing in them |
/// | the words of counts | those of the first path; the others have the same, in any order |
///
/// A file that is one document, an archive or a mailbox and cannot be read is passed over as in a folder, unless
/// [`ReadOptions::strict`] is set.
///
/// # Errors
/// As [`read`](crate::read); texts and counts together, counts of other words, no path at all, and a path that is there twice.
///
/// ```
/// use countgrid_io::{DataSet, ReadOptions, read_all};
/// let folder = tempfile::tempdir()?;
/// let [ants, bees] = ["ants", "bees.csv"].map(|name| folder.path().join(name));
/// std::fs::create_dir(&ants)?;
/// std::fs::write(ants.join("1.txt"), "Ants follow trails.")?;
/// std::fs::write(&bees, "text\nBees dance.\n")?;
/// let (data, summary) = read_all(&[ants, bees], &ReadOptions::default())?;
/// let DataSet::Documents(documents) = data else { unreachable!() };
/// assert_eq!(documents.iter().map(|document| document.id.as_str()).collect::<Vec<_>>(), ["ants/1.txt", "bees.csv/1"]);
/// assert_eq!(documents[1].label.as_deref(), Some("bees.csv"));
/// assert_eq!((summary.paths.len(), summary.documents), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_all(paths: &[impl AsRef<Path>], options: &ReadOptions) -> Result<(DataSet, Summary), ReadError> {
    let first = paths.first().map_or(Path::new(""), AsRef::as_ref);
    let refuse = |problem| ReadError::new(first, None, problem);
    let (mut documents, mut counts, mut about) = (Vec::new(), None, None);
    let summary = visit_all(paths, options, |item| {
        match item {
            Item::Document(document) => documents.push(document),
            Item::Labels(labels) => match &mut counts {
                Some(Counts { labels: own, .. }) => *own = labels,
                None => {
                    let own = documents.iter_mut().zip(labels);
                    own.for_each(|(document, label): (&mut Document, _)| document.label = label);
                }
            },
            Item::Vocabulary(vocabulary) => counts = Some(Counts::new(vocabulary).map_err(refuse)?),
            Item::About { id, label, .. } => about = Some((id, label)),
            Item::Bag(bag) => {
                let mut counts = counts.iter_mut();
                counts.try_for_each(|counts| counts.push(bag, about.take())).map_err(refuse)?;
            }
            Item::OtherColumns(_) | Item::OtherFields(_) => {}
        }
        Ok::<_, ReadError>(())
    })?;
    Ok((counts.map_or(DataSet::Documents(documents), DataSet::Counts), summary))
}

/// Reads several paths as [`read_all`] does, and hands over one document or bag after the other, as
/// [`visit`](crate::visit). Names of columns may come several times, each time all that the documents have that follow; labels come
/// last, those of all documents, if they are not those that the documents had.
///
/// # Errors
/// As [`read_all`], after what came before it was handed over; what `each` returns, at once.
pub fn visit_all<E: From<ReadError>>(
    paths: &[impl AsRef<Path>],
    options: &ReadOptions,
    mut each: impl FnMut(Item<'_>) -> Result<(), E>,
) -> Result<Summary, E> {
    let mut own = None;
    let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
    let visited = visit_paths(&paths, options, &mut |item| {
        each(item).map_err(|error| {
            own = Some(error);
            Ended::ByVisitor
        })
    });
    visited.map_err(|error| ended(error, own))
}

fn visit_paths(paths: &[&Path], options: &ReadOptions, each: Visitor<'_, Ended>) -> Result<Summary, Ended> {
    let budget = Budget::new(options.limits.total_bytes);
    let first = match paths {
        [] => return Err(ReadError::new(Path::new(""), None, Problem::NoPath).into()),
        [path] => return visit_items(path, options, &budget, each),
        [first, ..] => *first,
    };
    let names = names(paths)?;
    let mut is_single = Vec::with_capacity(paths.len());
    for path in paths {
        let about =
            path.metadata().map_err(|error| ReadError::new(path, None, Problem::Unreadable(error)))?;
        is_single.push(about.is_file() && options.format.is_none() && is_in_folder(path, options));
    }
    let mut joined = Joined {
        each,
        labels: Labels::default(),
        first: first.to_path_buf(),
        counts: None,
        places: None,
        sorted: Vec::new(),
    };
    let mut summary = Summary { paths: Vec::new(), format: Format::Several, ..Summary::new(first) };
    let mut from = 0;
    while let Some(&path) = paths.get(from) {
        let mut to = from + 1;
        let read = if is_single[from] {
            while is_single.get(to) == Some(&true) {
                to += 1;
            }
            joined.files(&paths[from..to], &names[from..to], options, &budget)?
        } else {
            joined.path(path, &names[from], options, &budget)?
        };
        let formats = paths[from..to]
            .iter()
            .map(|path| (path.to_path_buf(), if is_single[from] { Format::Document } else { read.format }));
        summary.paths.extend(formats);
        summary.add(read);
        from = to;
    }
    if summary.documents == 0 {
        let first = summary.left_out.iter().find(|left| left.lost);
        let first = first.map(|left| (left.path.display().to_string(), left.why.clone()));
        let problem = Problem::NoDocuments { skipped: summary.skipped.total(), first };
        return Err(ReadError::new(path_of_error(paths), None, problem).into());
    }
    summary.bytes = budget.used();
    let Joined { labels, each, .. } = joined;
    let (labels, different) = labels.finish();
    summary.labels = different;
    if let Some(labels) = labels {
        each(Item::Labels(labels))?;
    }
    Ok(summary)
}

/// The path that an error of all of them names.
fn path_of_error<'a>(paths: &[&'a Path]) -> &'a Path {
    paths.first().copied().unwrap_or(Path::new(""))
}

/// Whether a file is read as one of a folder: a text, an archive or a mailbox, but no table and no counts.
fn is_in_folder(path: &Path, options: &ReadOptions) -> bool {
    if Name::from_path(path).is_table() {
        return false;
    }
    // What cannot be opened is passed over with the files of a folder.
    let Ok(source) = Source::open(path, &Budget::new(u64::MAX)) else { return true };
    if packed(path, &source.head).is_some() {
        return false;
    }
    if as_folder(path, &source.head).is_some() {
        return true;
    }
    let Ok(source) = source.text() else { return true };
    match detect(path, &source.head, &options.columns) {
        // A text may begin with a bracket, too.
        Ok(Format::JsonLines) => !begins_with_object(&source.head),
        Ok(_) => false,
        Err(_) => true,
    }
}

fn begins_with_object(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let head = head.strip_prefix(b"[").map_or(head, <[u8]>::trim_ascii_start);
    head.strip_prefix(b"{").is_some_and(|rest| matches!(rest.trim_ascii_start().first(), Some(b'"' | b'}')))
}

/// What to call each of several paths: as many of its last parts as tell all of them apart.
fn names(paths: &[&Path]) -> Result<Vec<String>, ReadError> {
    let mut there = HashSet::new();
    if let Some(path) = paths.iter().find(|path| fs::canonicalize(path).is_ok_and(|full| !there.insert(full)))
    {
        return Err(ReadError::new(path, None, Problem::PathTwice));
    }
    let parts: Vec<Vec<String>> = paths.iter().map(|path| parts(path)).collect();
    let longest = parts.iter().map(Vec::len).max().unwrap_or(0);
    let of = |length: usize| -> Vec<String> {
        parts.iter().map(|parts| parts[parts.len().saturating_sub(length)..].join("/")).collect()
    };
    let are_different = |names: &[String]| names.iter().collect::<HashSet<_>>().len() == names.len();
    Ok((1..longest).map(of).find(|names| are_different(names)).unwrap_or_else(|| of(longest)))
}

/// The parts of a path that have a name. One that ends in `.` or `..` is called by what that is.
fn parts(path: &Path) -> Vec<String> {
    let has_name = matches!(path.components().next_back(), Some(Component::Normal(_)));
    let full = if has_name { std::path::absolute(path) } else { fs::canonicalize(path) };
    let full = full.unwrap_or_else(|_| path.to_path_buf());
    let named = full.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
        _ => None,
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() { vec![path.to_string_lossy().into_owned()] } else { named }
}

/// The labels of all documents so far, and what their paths are called.
#[derive(Default)]
struct Labels {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    own: Vec<Option<u32>>,
    of_paths: Vec<Option<u32>>,
    changed: bool, // whether documents were handed over with others
}

impl Labels {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32; // a label takes bytes, of which there are few
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn push(&mut self, own: Option<&str>, path: Option<&str>) {
        let own = own.map(|own| self.number(own));
        let path = path.map(|path| self.number(path));
        self.own.push(own);
        self.of_paths.push(path);
    }

    /// Replaces those of the last documents.
    fn replace(&mut self, labels: &[Option<String>]) {
        let from = self.own.len().saturating_sub(labels.len());
        for (place, label) in labels.iter().enumerate() {
            let label = label.as_deref().map(|label| self.number(label));
            if let Some(own) = self.own.get_mut(from + place) {
                *own = label;
            }
        }
        self.changed = true;
    }

    /// Those of all documents, if they are others than the documents had, and how many different ones there are.
    fn finish(self) -> (Option<Vec<Option<String>>>, usize) {
        let Self { names, own, of_paths, mut changed, .. } = self;
        let different = |of: &[Option<u32>]| of.iter().flatten().collect::<HashSet<_>>().len();
        let (mut labels, mut found) = (&own, different(&own));
        let paths = different(&of_paths);
        if found == 0 && paths > 1 {
            (labels, found, changed) = (&of_paths, paths, true);
        }
        let name = |number: &Option<u32>| number.and_then(|number| names.get(number as usize).cloned());
        (changed.then(|| labels.iter().map(name).collect()), found)
    }
}

/// Hands over what paths hold as what one data set does.
struct Joined<'a> {
    each: Visitor<'a, Ended>,
    labels: Labels,
    first: PathBuf,                      // the path of the first document
    counts: Option<Option<Vec<String>>>, // whether these are counts, and their words
    places: Option<Vec<u32>>,            // of the words of the present path among those
    sorted: Vec<(u32, f64)>,             // the present bag, of those
}

impl Joined<'_> {
    /// Files that are documents, archives or mailboxes, as those of a folder.
    fn files(
        &mut self,
        paths: &[&Path],
        names: &[String],
        options: &ReadOptions,
        budget: &Budget,
    ) -> Result<Summary, Ended> {
        let files = paths.iter().map(|path| path.to_path_buf()).collect();
        let listing = Listing { files, passed: Default::default(), opened: None };
        let mut summary = Summary::new(paths.first().copied().unwrap_or(Path::new("")));
        summary.format = Format::Folder;
        // Documents come in the order of the paths.
        let (mut at, mut inside) = (0, Vec::new());
        let mut documents: Vec<(usize, Vec<String>)> = Vec::new();
        let found = folder::each_of(Path::new(""), listing, budget, options, &mut |item| {
            let Item::Document(mut document) = item else { return (self.each)(item) };
            while at + 1 < paths.len() && !document.file.starts_with(paths[at]) {
                at += 1;
            }
            self.take_texts(paths[at])?;
            let name = &names[at];
            let place = id_in_folder(&document.file, paths[at]);
            document.id = if place.is_empty() { name.clone() } else { format!("{name}/{place}") };
            self.labels.push(None, (!place.is_empty()).then_some(name));
            match documents.last_mut() {
                Some((last, ids)) if *last == at => ids.push(place),
                _ => documents.push((at, vec![place])),
            }
            summary.documents += 1;
            (self.each)(Item::Document(document))
        })?;
        documents.iter().for_each(|(_, ids)| inside.extend(folder::labels(ids)));
        self.labels.replace(&inside);
        let folder::Found { files, pages, passed, encodings, .. } = found;
        (summary.files, summary.pages, summary.encodings) = (files, pages, encodings);
        (summary.skipped, summary.left_out) = (passed.skipped, passed.left_out);
        Ok(summary)
    }

    /// A folder, a table or counts.
    fn path(
        &mut self,
        path: &Path,
        name: &str,
        options: &ReadOptions,
        budget: &Budget,
    ) -> Result<Summary, Ended> {
        self.places = None;
        let (file, mut about, mut number) = (Arc::<Path>::from(path), false, 0_usize);
        visit_items(path, options, budget, &mut |item| {
            let item = match item {
                Item::Document(mut document) => {
                    self.take_texts(path)?;
                    document.id = format!("{name}/{}", document.id);
                    self.labels.push(document.label.as_deref(), Some(name));
                    Item::Document(document)
                }
                Item::Labels(labels) => {
                    self.labels.replace(&labels);
                    return Ok(());
                }
                Item::Vocabulary(words) => {
                    let Some(words) = self.take_words(path, words)? else { return Ok(()) };
                    Item::Vocabulary(words)
                }
                Item::About { id, label, file, line } => {
                    about = true;
                    self.labels.push(label.as_deref(), Some(name));
                    Item::About { id: format!("{name}/{id}"), label, file, line }
                }
                Item::Bag(bag) => {
                    number += 1;
                    if !std::mem::take(&mut about) {
                        self.labels.push(None, Some(name));
                        let id = format!("{name}/{number}");
                        (self.each)(Item::About { id, label: None, file: Arc::clone(&file), line: 1 })?;
                    }
                    match &self.places {
                        None => Item::Bag(bag),
                        Some(places) => {
                            self.sorted.clear();
                            let at = |word: u32| places.get(word as usize).copied();
                            self.sorted.extend(bag.iter().filter_map(|&(word, n)| Some((at(word)?, n))));
                            self.sorted.sort_unstable_by_key(|&(word, _)| word);
                            Item::Bag(&self.sorted)
                        }
                    }
                }
                item => item,
            };
            (self.each)(item)
        })
    }

    /// Takes a text, if no counts came before.
    fn take_texts(&mut self, path: &Path) -> Result<(), Ended> {
        match &self.counts {
            None => {
                self.first = path.to_path_buf();
                self.counts = Some(None);
                Ok(())
            }
            Some(None) => Ok(()),
            Some(Some(_)) => self.refuse(path, |first| Problem::NotTogether { first, counts: false }),
        }
    }

    /// Takes the words of counts, if no texts came before; returns them if they are the first.
    fn take_words(&mut self, path: &Path, words: Vec<String>) -> Result<Option<Vec<String>>, Ended> {
        let known = match &self.counts {
            None => {
                self.first = path.to_path_buf();
                self.counts = Some(Some(words.clone()));
                return Ok(Some(words));
            }
            Some(None) => return self.refuse(path, |first| Problem::NotTogether { first, counts: true }),
            Some(Some(known)) if *known == words => return Ok(None),
            Some(Some(known)) => known,
        };
        let mut place: HashMap<&str, u32> = known.iter().map(String::as_str).zip(0..).collect();
        let places: Option<Vec<u32>> = words.iter().map(|word| place.remove(word.as_str())).collect();
        if let (Some(places), true) = (places, place.is_empty()) {
            self.places = Some(places);
            return Ok(None);
        }
        let own: HashSet<&str> = words.iter().map(String::as_str).collect();
        let missing = known.iter().find(|word| !own.contains(word.as_str()));
        let of: HashSet<&str> = known.iter().map(String::as_str).collect();
        let extra = words.iter().find(|word| !of.contains(word.as_str()));
        let (word, missing) = match (missing, extra) {
            (Some(word), _) => (word.clone(), true),
            (None, extra) => (extra.or(words.first()).cloned().unwrap_or_default(), false),
        };
        self.refuse(path, |first| Problem::OtherWords { first, word, missing })
    }

    fn refuse<R>(&self, path: &Path, problem: impl FnOnce(PathBuf) -> Problem) -> Result<R, Ended> {
        Err(ReadError::new(path, None, problem(self.first.clone())).into())
    }
}
