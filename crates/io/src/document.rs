use std::path::Path;
use std::sync::Arc;

use crate::error::ReadError;

/// One text, and where it came from.
///
/// Example: [`visit`](crate::visit).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What the data calls it: the id column, the path inside a folder, or its number from 1.
    pub id: String,
    /// What to show for it: the title column, or the beginning of the text.
    pub title: String,
    /// Its class, if the data has classes.
    pub label: Option<String>,
    /// The text.
    pub text: String,
    /// The file it was read from; one allocation for all documents of a file.
    pub file: Arc<Path>,
    /// The line on which it starts, from 1.
    pub line: u64,
}

/// The first words of a text, as a title or the beginning of a list: at most `characters`, cut at a blank where there is
/// one; `…` stands for what is left out, beyond these characters if the first word alone has more.
///
/// ```
/// assert_eq!(countgrid_io::truncate_text("red and  blue ants", 10), "red and…");
/// ```
#[must_use]
pub fn truncate_text(text: &str, characters: usize) -> String {
    let mut title = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used + length + 1 > characters {
            if title.is_empty() {
                title.extend(word.chars().take(characters));
            }
            title.push('…');
            return title;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
        used += length + 1;
    }
    title
}

/// Characters of a title made from the text.
pub(crate) const TITLE: usize = 80;

/// The documents that a reader hands over, all of them.
pub(crate) fn collected<R>(
    each: impl FnOnce(&mut dyn FnMut(Document) -> Result<(), ReadError>) -> Result<R, ReadError>,
) -> Result<Vec<Document>, ReadError> {
    let mut documents = Vec::new();
    each(&mut |document| {
        documents.push(document);
        Ok(())
    })?;
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_cut_after_the_last_word_that_fits(text in "[a-cäö日 \\n]{0,30}", characters in 0..35_usize) {
            let words: Vec<&str> = text.split_whitespace().collect();
            // Each with the blank or the mark that follows.
            let length = |words: &[&str]| words.iter().map(|word| word.chars().count() + 1).sum::<usize>();
            let most = (0..=words.len()).rev().find(|&n| length(&words[..n]) <= characters).unwrap();
            let expected = match words.first() {
                _ if most == words.len() => words.join(" "),
                Some(first) if most == 0 => first.chars().take(characters).chain(['…']).collect(),
                _ => words[..most].join(" ") + "…",
            };
            let found = truncate_text(&text, characters);
            prop_assert!(found.chars().filter(|&letter| letter != '…').count() <= characters);
            prop_assert_eq!(found, expected);
        }
    }
}
