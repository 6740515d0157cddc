//! Counts the words of documents that come one after the other, and selects a vocabulary.
//!
//! What [`countgrid_text::bags`] does for documents that are all in memory, and with the same result; here only the
//! different words are, and the counts if there is room for them.

use std::{cmp::Reverse, collections::HashMap, mem::take};

use countgrid_text::{TextOptions, Tokenizer};

use crate::{
    failure::Failure,
    store::{Builder, Plan, Store},
};

/// Terms are numbered by `u32`.
const TERMS: usize = u32::MAX as usize;

/// Everything read so far; words are numbered by first appearance.
pub(crate) struct Counter {
    tokenizer: Tokenizer,
    forms: HashMap<String, usize>, // of a token as written: its place in `uses`
    uses: Vec<Uses>,               // of each form
    terms: HashMap<String, usize>, // of a stem: its number
    spread: Vec<usize>,            // documents that each stem is in
    tokens: u64,
    counts: Builder<u32>, // stems of each document
    present: Vec<usize>,
}

/// How often a form was read, and the stem that it belongs to.
struct Uses {
    tokens: u64,
    term: usize,
}

/// A collection that was counted: how often each document has each term.
pub(crate) struct Counted {
    pub(crate) counts: Store<u32>,
    /// The feature of each term that stays.
    pub(crate) feature_of: Vec<Option<usize>>,
    /// The words, sorted.
    pub(crate) vocabulary: Vec<String>,
    /// Tokens read, stop words not counted.
    pub(crate) tokens: u64,
    pub(crate) selection: Selection,
}

impl Counter {
    /// Nothing read yet.
    pub(crate) fn new(tokenizer: Tokenizer, plan: Plan) -> Result<Self, Failure> {
        Ok(Self {
            tokenizer,
            forms: HashMap::new(),
            uses: Vec::new(),
            terms: HashMap::new(),
            spread: Vec::new(),
            tokens: 0,
            counts: Builder::new(TERMS, plan)?,
            present: Vec::new(),
        })
    }

    /// Counts a document; returns its tokens, stop words not counted.
    pub(crate) fn read(&mut self, text: &str) -> Result<usize, Failure> {
        self.present.clear();
        for token in self.tokenizer.tokens(text) {
            let form = match self.forms.get(&token) {
                Some(&form) => form,
                None => {
                    let stem = self.tokenizer.stem(&token);
                    let term = match self.terms.get(stem.as_ref()) {
                        Some(&term) => term,
                        None => {
                            self.spread.push(0);
                            self.terms.insert(stem.into_owned(), self.spread.len() - 1);
                            self.spread.len() - 1
                        }
                    };
                    self.uses.push(Uses { tokens: 0, term });
                    self.forms.insert(token, self.uses.len() - 1);
                    self.uses.len() - 1
                }
            };
            let uses = &mut self.uses[form];
            uses.tokens += 1;
            self.present.push(uses.term);
        }
        let tokens = self.present.len();
        self.tokens += tokens as u64;
        self.present.sort_unstable();
        let mut bag = Vec::new();
        for same in self.present.chunk_by(|a, b| a == b) {
            let count = u32::try_from(same.len()).map_err(|_| {
                Failure::new("a word comes more than 4,294,967,295 times in a document", "split the document")
            })?;
            self.spread[same[0]] += 1;
            bag.push((same[0], count));
        }
        self.counts.push(&bag)?;
        Ok(tokens)
    }

    /// Selects the vocabulary.
    pub(crate) fn finish(self, options: &TextOptions) -> Result<Counted, Failure> {
        // The commonest form of each stem stands for it, of equals the first in order.
        let mut shown: Vec<(u64, String)> = vec![(0, String::new()); self.spread.len()];
        for (form, place) in self.forms {
            let Uses { tokens, term } = self.uses[place];
            let best = &mut shown[term];
            if tokens > best.0 || (tokens == best.0 && form < best.1) {
                *best = (tokens, form);
            }
        }
        // From here on words are in sorted order; every form belongs to one stem, so they are distinct.
        let mut order: Vec<usize> = (0..shown.len()).collect();
        order.sort_unstable_by(|&a, &b| shown[a].1.cmp(&shown[b].1));
        let spread: Vec<usize> = order.iter().map(|&term| self.spread[term]).collect();
        let counts = self.counts.finish()?;
        let least = options.min_count.unwrap_or(match counts.len() {
            0..20 => 1,
            20..200 => 2,
            200..2_000 => 3,
            _ => 5,
        });
        let selection = Selection::of(&spread, counts.len(), least, options.max_share, options.max_words);
        let mut feature_of = vec![None; shown.len()];
        let mut vocabulary = Vec::with_capacity(selection.kept.len());
        for (feature, &place) in selection.kept.iter().enumerate() {
            feature_of[order[place]] = Some(feature);
            vocabulary.push(take(&mut shown[order[place]].1));
        }
        Ok(Counted { counts, feature_of, vocabulary, tokens: self.tokens, selection })
    }
}

/// Which words stay, and how many left for which reason.
pub(crate) struct Selection {
    /// Indices of the words that stay, ascending.
    pub(crate) kept: Vec<usize>,
    pub(crate) rare: usize,
    pub(crate) common: usize,
    pub(crate) surplus: usize,
}

impl Selection {
    /// Of words that are in `spread` of so many documents those in `least` at least and a share at most; if they
    /// are more than `most_words`, those that tell most pairs of documents apart, of equals the rarer, then the
    /// first.
    pub(crate) fn of(
        spread: &[usize],
        documents: usize,
        least: usize,
        share: f64,
        most_words: usize,
    ) -> Self {
        let most = ((share * documents as f64).ceil() as usize).max(least).max(1);
        let rare = spread.iter().filter(|&&d| d < least).count();
        let common = spread.iter().filter(|&&d| d >= least && d > most).count();
        let mut kept: Vec<usize> =
            (0..spread.len()).filter(|&word| (least..=most).contains(&spread[word])).collect();
        let surplus = kept.len().saturating_sub(most_words);
        if surplus > 0 {
            // Exact, so that the order is the same everywhere.
            let pairs = |d: usize| d as u128 * documents.saturating_sub(d) as u128;
            kept.sort_by_key(|&word| (Reverse(pairs(spread[word])), spread[word], word));
            kept.truncate(most_words);
            kept.sort_unstable();
        }
        Self { kept, rare, common, surplus }
    }
}

#[cfg(test)]
mod tests {
    use countgrid_counts::Bags;
    use countgrid_text::{StopWords, bags};

    use super::*;

    #[test]
    fn the_library_counts_the_same() {
        let words =
            ["sail", "sails", "sailing", "Sailed", "wind's", "winds", "the", "of", "oak", "oaks", "猫"];
        let mut state = 7u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut documents = vec![String::new()];
        for _ in 0..230 {
            let text = (0..next(12)).map(|_| format!("{} x{} ", words[next(words.len())], next(40)));
            documents.push(text.collect());
        }
        for (stem, max_words, min_count, count) in
            [(true, 5_000, None, 231), (false, 12, Some(2), 231), (true, 9, None, 150), (false, 50, None, 15)]
        {
            let standard = TextOptions { stem, max_words, min_count, ..TextOptions::default() };
            let stop_words = if stem { StopWords::None } else { StopWords::English };
            let options = TextOptions { stop_words, max_share: 0.3, ..standard };
            let expected = bags(&documents[..count], &options).unwrap();
            let mut counter =
                Counter::new(Tokenizer::new(&options).unwrap(), Plan::new(u128::MAX, 100)).unwrap();
            let tokens: usize = documents[..count].iter().map(|text| counter.read(text).unwrap()).sum();
            assert_eq!(tokens as u64, expected.summary.tokens);
            let found = counter.finish(&options).unwrap();
            assert!(!expected.vocabulary.is_empty() && found.vocabulary == expected.vocabulary);
            let summary = expected.summary;
            assert_eq!(
                (found.tokens, found.feature_of.len(), found.selection.rare),
                (summary.tokens, summary.words, summary.rare)
            );
            assert_eq!((found.selection.common, found.selection.surplus), (summary.common, summary.surplus));
            let mut bag = 0;
            let compare = |block: countgrid_counts::Csr<'_, u32>| {
                for t in 0..block.len() {
                    let known =
                        block.entries(t).filter_map(|(term, n)| Some((found.feature_of[term]? as u32, n)));
                    let mut known: Vec<_> = known.collect();
                    known.sort_unstable();
                    assert_eq!(known, expected.bag(bag).collect::<Vec<_>>());
                    bag += 1;
                }
                Ok(())
            };
            found.counts.consume(compare).unwrap();
            assert_eq!(bag, count);
        }
    }
}
