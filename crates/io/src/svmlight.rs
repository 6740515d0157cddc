//! Counts in the format of SVMlight and LIBSVM: a line `label index:count ...` for each document.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use crate::docword::count;
use crate::error::{Problem, ReadError, excerpt};
use crate::item::Item;
use crate::source::{Limits, Lines};

/// Hands over the vocabulary, then what each bag is called and the bag; returns their number.
///
/// Indices are numbered from 1, in any order, and the vocabulary says how many there are. What follows `#` is a comment;
/// lines with nothing else are passed over, and so is what belongs to a query (`qid:3`).
pub(crate) fn each<E: From<ReadError>>(
    reader: impl BufRead,
    file: &Path,
    vocabulary: Vec<String>,
    limits: &Limits,
    visit: &mut dyn FnMut(Item<'_>) -> Result<(), E>,
) -> Result<usize, E> {
    let mut lines = Lines::new(reader, file, limits.record_bytes);
    let words = vocabulary.len() as u64;
    let (name, mut documents, mut bag) = (Arc::<Path>::from(file), 0usize, Vec::new());
    let mut vocabulary = Some(vocabulary);
    loop {
        let number = lines.line() + 1;
        let read = match lines.next()? {
            None => break,
            Some(line) => document(line, words, documents as u64 + 1, number, &mut bag),
        };
        let Some(label) = read.map_err(|problem| lines.error(problem))? else { continue };
        if let Some(vocabulary) = vocabulary.take() {
            visit(Item::Vocabulary(vocabulary))?;
        }
        documents += 1;
        let (file, id) = (Arc::clone(&name), documents.to_string());
        visit(Item::About { id, label: label.0, file, line: number })?;
        visit(Item::Bag(&bag))?;
    }
    if documents == 0 {
        return Err(lines.error_of_file(Problem::NoDocuments { skipped: 0, first: None }).into());
    }
    Ok(documents)
}

/// The label of a document, of which there may be none.
struct Label(Option<String>);

/// Puts a document's counts into the bag; none if there is only a comment on this line.
fn document(
    line: &str,
    words: u64,
    document: u64,
    number_of_line: u64,
    bag: &mut Vec<(u32, f64)>,
) -> Result<Option<Label>, Problem> {
    bag.clear();
    let mut fields = without_comment(line).split_ascii_whitespace().peekable();
    if fields.peek().is_none() {
        return Ok(None);
    }
    let label = fields.next_if(|field| !field.contains(':')).map(str::to_owned);
    for field in fields {
        let malformed = || Problem::Entry { expected: LINE, found: excerpt(field) };
        let (index, value) = field.split_once(':').ok_or_else(malformed)?;
        if index == QUERY {
            continue;
        }
        let index: u64 = index.parse().map_err(|_| malformed())?;
        let word = index.checked_sub(1).filter(|_| index <= words);
        let word = word.and_then(|word| u32::try_from(word).ok());
        let word = word.ok_or(Problem::BeyondVocabulary { index, words })?;
        bag.push((word, count(value)?));
    }
    bag.sort_unstable_by_key(|&(word, _)| word);
    if let Some(twice) = bag.windows(2).find(|two| two[0].0 == two[1].0) {
        let word = u64::from(twice[0].0) + 1;
        return Err(Problem::Repeated { document, word, first: number_of_line });
    }
    bag.retain(|&(_, count)| count > 0.0);
    Ok(Some(Label(label)))
}

/// What a line consists of.
const LINE: &str = "label index:count index:count ...";

/// The number of a query, which only ranking needs.
const QUERY: &str = "qid";

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

/// Whether each of these lines is one of such a file, and at least one has a count.
pub(crate) fn are_lines<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let mut has_counts = false;
    for line in lines {
        let fields = without_comment(line).split_ascii_whitespace();
        let mut pairs = fields.enumerate().filter(|&(n, field)| n > 0 || field.contains(':'));
        let is_pair = |field: &str| {
            field.split_once(':').is_some_and(|(index, value)| {
                (index == QUERY || index.parse::<u64>().is_ok()) && value.parse::<f64>().is_ok()
            })
        };
        if !pairs.all(|(_, field)| {
            has_counts = true;
            is_pair(field)
        }) {
            return false;
        }
    }
    has_counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_told_by_what_is_on_them() {
        let told = |text: &str| are_lines(text.lines());
        assert!(told("# made by hand\n+1 1:2 7:0.5 # a comment\n-1\n2 qid:3 1:1\n"));
        assert!(told("sport 3:1\n"));
        for text in ["", "1\n2\n", "at 10:30\nthe train left\n", "a,b:1\n", "1 x:2\n", "1 2:x\n", "1 2 3:4\n"]
        {
            assert!(!told(text), "{text}");
        }
    }
}
