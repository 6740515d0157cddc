use std::cmp::Reverse;

use crate::TextOptions;

/// Which words stay, and how many left for which reason.
pub(crate) struct Selection {
    /// Indices of the words that stay, ascending.
    pub(crate) kept: Vec<usize>,
    pub(crate) rare: usize,
    pub(crate) common: usize,
    pub(crate) surplus: usize,
}

/// Luhn's selection: `spread[w]` is the number of documents, of `documents`, that word `w` is in; words come
/// in their order, which breaks ties.
pub(crate) fn select(spread: &[usize], documents: usize, options: &TextOptions) -> Selection {
    let (least, most) = options.limits(documents);
    let rare = spread.iter().filter(|&&d| d < least).count();
    let common = spread.iter().filter(|&&d| d >= least && d > most).count();
    let mut kept: Vec<usize> = (0..spread.len()).filter(|&w| (least..=most).contains(&spread[w])).collect();
    let surplus = kept.len().saturating_sub(options.max_words);
    if surplus > 0 {
        kept.sort_by_key(|&w| (Reverse(resolving_power(spread[w], documents)), spread[w], w));
        kept.truncate(options.max_words);
        kept.sort_unstable();
    }
    Selection { kept, rare, common, surplus }
}

/// Pairs of documents that a word in `d` of them tells apart: exact, so that order is the same everywhere.
fn resolving_power(d: usize, documents: usize) -> u128 {
    d as u128 * documents.saturating_sub(d) as u128
}
