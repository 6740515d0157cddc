use crate::{Counter, Selected, Summary, TextError, TextOptions};

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
    let mut counter = Counter::new(options)?;
    let (mut entries, mut ends) = (Vec::new(), Vec::new()); // (term, count) of all documents
    for document in documents {
        entries.extend_from_slice(counter.read(document.as_ref())?);
        ends.push(entries.len());
    }
    let Selected { vocabulary, feature_of, summary } = counter.select();
    let mut bags = WordBags { vocabulary, offsets: vec![0], summary, ..WordBags::default() };
    let (mut start, mut bag) = (0, Vec::new());
    for end in ends {
        let known = |&(term, count): &(u32, u32)| Some((feature_of[term as usize]?, count));
        bag.extend(entries[start..end].iter().filter_map(known));
        bag.sort_unstable();
        bags.features.extend(bag.iter().map(|&(feature, _)| feature));
        bags.counts.extend(bag.drain(..).map(|(_, count)| count));
        bags.offsets.push(bags.features.len());
        start = end;
    }
    Ok(bags)
}
