use std::collections::HashMap;

use crate::{TextError, TextOptions, Tokenizer, select::select};

/// A collection as bags of words, in compressed rows.
///
/// Bag `t` is `features[offsets[t]..offsets[t + 1]]` with the counts in the same places. A document without
/// a word of the vocabulary has an empty bag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordBags {
    /// The words, sorted. With stemming, the commonest word of each stem.
    pub vocabulary: Vec<String>,
    /// `[documents + 1]`, from 0, never falling.
    pub offsets: Vec<usize>,
    /// Index into the vocabulary, ascending within a bag.
    pub features: Vec<u32>,
    /// Tokens, at least 1.
    pub counts: Vec<u32>,
    /// What was read and what was left out.
    pub summary: Summary,
}

/// What [`bags`] read and left out.
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

impl WordBags {
    /// Number of bags.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there is no bag at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One bag as `(feature, count)`, features ascending. A bag out of range has none.
    pub fn bag(&self, bag: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let bounds = || Some(*self.offsets.get(bag)?..*self.offsets.get(bag.checked_add(1)?)?);
        let range = bounds().unwrap_or_default();
        let features = self.features.get(range.clone()).unwrap_or_default();
        let counts = self.counts.get(range).unwrap_or_default();
        features.iter().copied().zip(counts.iter().copied())
    }

    /// The bags without a word.
    pub fn empty_bags(&self) -> impl Iterator<Item = usize> + '_ {
        self.offsets.windows(2).enumerate().filter(|(_, ends)| ends[0] == ends[1]).map(|(bag, _)| bag)
    }
}

/// Reads `documents` into bags over a vocabulary selected by `options`.
///
/// # Errors
/// [`TextError::MaxShare`] and [`TextError::Letters`] for options; [`TextError::TooMany`] where a `u32` does
/// not suffice.
pub fn bags<S: AsRef<str>>(
    documents: impl IntoIterator<Item = S>,
    options: &TextOptions,
) -> Result<WordBags, TextError> {
    let tokenizer = Tokenizer::new(options)?;
    let mut reader = Reader::default();
    for document in documents {
        reader.read(document.as_ref(), &tokenizer)?;
    }
    Ok(reader.finish(options))
}

/// Everything read so far; words are numbered by first appearance.
#[derive(Default)]
struct Reader {
    forms: HashMap<String, usize>, // of a token as written: its place in `uses`
    uses: Vec<Uses>,               // of each form
    terms: HashMap<String, u32>,   // of a stem: its number
    spread: Vec<usize>,            // documents that each stem is in
    entries: Vec<(u32, u32)>,      // (stem, count) of all documents, stems ascending in each
    offsets: Vec<usize>,           // where each document's entries end
    tokens: u64,
}

/// How often a form was read, and the stem that it belongs to.
struct Uses {
    tokens: u64,
    term: u32,
}

impl Reader {
    fn read(&mut self, document: &str, tokenizer: &Tokenizer) -> Result<(), TextError> {
        let too_many = TextError::TooMany { document: self.offsets.len() };
        let mut terms = Vec::new();
        for token in tokenizer.tokens(document) {
            let form = match self.forms.get(&token) {
                Some(&form) => form,
                None => {
                    let next = u32::try_from(self.spread.len()).map_err(|_| too_many)?;
                    let term = *self.terms.entry(tokenizer.stem(&token).into_owned()).or_insert(next);
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
            self.tokens += 1;
            terms.push(uses.term);
        }
        terms.sort_unstable();
        for same in terms.chunk_by(|a, b| a == b) {
            let count = u32::try_from(same.len()).map_err(|_| too_many)?;
            self.spread[same[0] as usize] += 1;
            self.entries.push((same[0], count));
        }
        self.offsets.push(self.entries.len());
        Ok(())
    }

    fn finish(self, options: &TextOptions) -> WordBags {
        // The commonest form of each stem stands for it, of equals the first in order.
        let mut shown: Vec<(u64, String)> = vec![(0, String::new()); self.spread.len()];
        for (form, place) in self.forms {
            let Uses { tokens, term } = self.uses[place];
            let best = &mut shown[term as usize];
            if tokens > best.0 || (tokens == best.0 && form < best.1) {
                *best = (tokens, form);
            }
        }
        // From here on words are in sorted order; every form belongs to one stem, so they are distinct.
        let mut order: Vec<usize> = (0..shown.len()).collect();
        order.sort_unstable_by(|&a, &b| shown[a].1.cmp(&shown[b].1));
        let spread: Vec<usize> = order.iter().map(|&term| self.spread[term]).collect();
        let selection = select(&spread, self.offsets.len(), options);

        let mut feature_of = vec![None; shown.len()];
        let mut vocabulary = Vec::with_capacity(selection.kept.len());
        for (&place, feature) in selection.kept.iter().zip(0u32..) {
            feature_of[order[place]] = Some(feature);
            vocabulary.push(std::mem::take(&mut shown[order[place]].1));
        }

        let mut bags = WordBags { vocabulary, offsets: vec![0], ..WordBags::default() };
        let (mut start, mut bag) = (0, Vec::new());
        for end in self.offsets {
            let known = |&(term, count): &(u32, u32)| Some((feature_of[term as usize]?, count));
            bag.extend(self.entries[start..end].iter().filter_map(known));
            bag.sort_unstable();
            bags.features.extend(bag.iter().map(|&(feature, _)| feature));
            bags.counts.extend(bag.drain(..).map(|(_, count)| count));
            bags.offsets.push(bags.features.len());
            start = end;
        }
        bags.summary = Summary {
            tokens: self.tokens,
            kept_tokens: bags.counts.iter().map(|&count| u64::from(count)).sum(),
            words: feature_of.len(),
            rare: selection.rare,
            common: selection.common,
            surplus: selection.surplus,
        };
        bags
    }
}
