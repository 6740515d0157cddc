use std::{collections::HashMap, mem::take};

use crate::{Selection, TextError, TextOptions, Tokenizer};

/// What was read of a collection, and what was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Tokens read, stop words not counted.
    pub tokens: u64,
    /// Tokens of the vocabulary: the sum of all counts.
    pub kept_tokens: u64,
    /// Distinct words read (stems, with stemming).
    pub words: usize,
    /// Words that are in too few documents.
    pub rare: usize,
    /// Words that are in too many.
    pub common: usize,
    /// Words beyond the largest vocabulary.
    pub surplus: usize,
}

/// Counts the words of documents that come one after the other: what [`crate::bags`] does, without the bags.
///
/// Each document becomes a bag of *terms*, numbered from 0 by first appearance, for the caller to keep; once all are
/// read, [`Counter::select`] tells which terms are words of the vocabulary. Memory grows with the distinct words.
///
/// ```
/// use countgrid_text::{Counter, TextOptions};
/// let mut counter = Counter::new(&TextOptions { max_share: 1.0, ..TextOptions::default() })?;
/// assert_eq!(counter.read("A dog, two dogs, a dog")?, [(0, 2), (1, 1), (2, 1)]); // dog, two, dogs
/// assert_eq!(counter.read("Two cats")?, [(1, 1), (3, 1)]);
/// let selected = counter.select();
/// assert_eq!(selected.vocabulary, ["cats", "dog", "dogs", "two"]);
/// assert_eq!(selected.feature_of, [Some(1), Some(3), Some(2), Some(0)]);
/// # Ok::<(), countgrid_text::TextError>(())
/// ```
#[derive(Debug)]
pub struct Counter {
    options: TextOptions,
    tokenizer: Tokenizer,
    forms: HashMap<String, usize>, // of a token as written: its place in `uses`
    uses: Vec<Uses>,               // of each form
    terms: HashMap<String, u32>,   // of a stem: its number
    spread: Vec<usize>,            // documents that each stem is in
    documents: usize,
    present: Vec<u32>,    // stems of the last document, one for each token
    bag: Vec<(u32, u32)>, // the last document
}

/// How often a form was read, and the stem that it belongs to.
#[derive(Debug)]
struct Uses {
    tokens: u64,
    term: u32,
}

/// The vocabulary of a collection that was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// The words, sorted. With stemming, the commonest word of each stem.
    pub vocabulary: Vec<String>,
    /// The feature, an index into the vocabulary, of each term that stays.
    pub feature_of: Vec<Option<u32>>,
    /// What was read and what was left out.
    pub summary: Summary,
}

impl Counter {
    /// Nothing read yet.
    ///
    /// # Errors
    /// [`TextError::MaxShare`] and [`TextError::Letters`].
    pub fn new(options: &TextOptions) -> Result<Self, TextError> {
        Ok(Self {
            options: options.clone(),
            tokenizer: Tokenizer::new(options)?,
            forms: HashMap::new(),
            uses: Vec::new(),
            terms: HashMap::new(),
            spread: Vec::new(),
            documents: 0,
            present: Vec::new(),
            bag: Vec::new(),
        })
    }

    /// Counts a document: `(term, tokens)`, terms ascending, stop words not counted.
    ///
    /// # Errors
    /// [`TextError::TooMany`] where a `u32` does not suffice.
    pub fn read(&mut self, document: &str) -> Result<&[(u32, u32)], TextError> {
        let too_many = TextError::TooMany { document: self.documents };
        self.present.clear();
        self.bag.clear();
        for token in self.tokenizer.tokens(document) {
            let form = match self.forms.get(&token) {
                Some(&form) => form,
                None => {
                    let next = u32::try_from(self.spread.len()).map_err(|_| too_many)?;
                    let term = *self.terms.entry(self.tokenizer.stem(&token).into_owned()).or_insert(next);
                    if term == next {
                        self.spread.push(0);
                    }
                    self.uses.push(Uses { tokens: 0, term });
                    self.forms.insert(token, self.uses.len() - 1);
                    self.uses.len() - 1
                }
            };
            let uses = &mut self.uses[form];
            uses.tokens += 1;
            self.present.push(uses.term);
        }
        self.present.sort_unstable();
        for same in self.present.chunk_by(|a, b| a == b) {
            let count = u32::try_from(same.len()).map_err(|_| too_many)?;
            self.spread[same[0] as usize] += 1;
            self.bag.push((same[0], count));
        }
        self.documents += 1;
        Ok(&self.bag)
    }

    /// Selects the vocabulary by the options.
    pub fn select(self) -> Selected {
        // The commonest form of each stem stands for it, of equals the first in order.
        let mut shown: Vec<(u64, String)> = vec![(0, String::new()); self.spread.len()];
        let mut tokens = vec![0u64; self.spread.len()];
        for (form, place) in self.forms {
            let uses = &self.uses[place];
            let best = &mut shown[uses.term as usize];
            tokens[uses.term as usize] += uses.tokens;
            if uses.tokens > best.0 || (uses.tokens == best.0 && form < best.1) {
                *best = (uses.tokens, form);
            }
        }
        // From here on words are in sorted order; every form belongs to one stem, so they are distinct.
        let mut order: Vec<usize> = (0..shown.len()).collect();
        order.sort_unstable_by(|&a, &b| shown[a].1.cmp(&shown[b].1));
        let spread: Vec<usize> = order.iter().map(|&term| self.spread[term]).collect();
        let Selection { kept, rare, common, surplus } =
            Selection::new(&spread, self.documents, &self.options);

        let mut feature_of = vec![None; shown.len()];
        let mut vocabulary = Vec::with_capacity(kept.len());
        let mut kept_tokens = 0;
        for (&place, feature) in kept.iter().zip(0u32..) {
            let term = order[place];
            feature_of[term] = Some(feature);
            vocabulary.push(take(&mut shown[term].1));
            kept_tokens += tokens[term];
        }
        let words = feature_of.len();
        let summary = Summary { tokens: tokens.iter().sum(), kept_tokens, words, rare, common, surplus };
        Selected { vocabulary, feature_of, summary }
    }
}
