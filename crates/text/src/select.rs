use std::cmp::Reverse;

use crate::TextOptions;

/// Which words stay, and how many left for which reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Indices of the words that stay, ascending.
    pub kept: Vec<usize>,
    /// Words that are in too few documents.
    pub rare: usize,
    /// Words that are in too many.
    pub common: usize,
    /// Words beyond the largest vocabulary.
    pub surplus: usize,
}

impl Selection {
    /// Luhn's selection by [`TextOptions::min_count`], `max_share` and `max_words`: `spread[w]` is the number of
    /// documents, of `documents`, that word `w` is in; words come in their order, which breaks ties.
    ///
    /// ```
    /// use countgrid_text::{Selection, TextOptions};
    /// let options = TextOptions { min_count: Some(2), max_share: 0.6, max_words: 2, ..TextOptions::default() };
    /// let selection = Selection::new(&[1, 3, 5, 2, 3], 5, &options);
    /// assert_eq!(selection, Selection { kept: vec![1, 3], rare: 1, common: 1, surplus: 1 });
    /// ```
    #[must_use]
    pub fn new(spread: &[usize], documents: usize, options: &TextOptions) -> Self {
        let (least, most) = options.limits(documents);
        let rare = spread.iter().filter(|&&d| d < least).count();
        let common = spread.iter().filter(|&&d| d >= least && d > most).count();
        let mut kept: Vec<usize> =
            (0..spread.len()).filter(|&w| (least..=most).contains(&spread[w])).collect();
        let surplus = kept.len().saturating_sub(options.max_words);
        if surplus > 0 {
            kept.sort_by_key(|&w| (Reverse(resolving_power(spread[w], documents)), spread[w], w));
            kept.truncate(options.max_words);
            kept.sort_unstable();
        }
        Self { kept, rare, common, surplus }
    }
}

/// Pairs of documents that a word in `d` of them separates: exact, so that order is the same everywhere.
fn resolving_power(d: usize, documents: usize) -> u128 {
    d as u128 * documents.saturating_sub(d) as u128
}
