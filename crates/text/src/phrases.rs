//! Adjacent words that are one word: how they are found in a collection, and in a text once they are known.

use std::{collections::HashMap, ops::Range};

use countgrid_math::ln;

/// A word that is none of those that phrases are made of.
pub(crate) const OTHER: u32 = u32::MAX;
/// The probability that, were all words independent, any pair of them at all passed for a phrase.
const SIGNIFICANCE: f64 = 1e-3;
/// Documents that a phrase must be in, however few there are.
const LEAST_DOCUMENTS: usize = 3;
/// One in so many uses of one of its two parts must be a use of the phrase.
const ONE_IN: u64 = 10;
/// Adjacent pairs of a collection that are counted in one pass. More of them take more passes, each over the pairs of a share of the
/// first words, so that memory does not grow with the collection and counts are exact.
const PAIRS: u64 = 1 << 21;
/// First pairs of words are tested, then pairs of a phrase and a word.
const ROUNDS: u32 = 2;

/// A word of a text, and whether it follows the one before it with nothing but a space or a hyphen between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) word: u32,
    pub(crate) joined: bool,
}

/// Sequences of two words or more, each with a number.
#[derive(Debug, Default)]
pub(crate) struct Phrases {
    next: HashMap<(u32, u32), u32>, // of a beginning, 0 for none, and a word: the longer beginning
    numbers: Vec<Option<u32>>,      // of each beginning but the empty one: the phrase that it is
}

impl Phrases {
    /// Adds a phrase; of two of the same words the first stays.
    pub(crate) fn insert(&mut self, words: impl IntoIterator<Item = u32>, number: u32) {
        let mut beginning = 0;
        for word in words {
            let next = self.numbers.len() as u32 + 1; // fewer beginnings than words of all phrases
            beginning = *self.next.entry((beginning, word)).or_insert(next);
            if beginning == next {
                self.numbers.push(None);
            }
        }
        if let Some(own) = beginning.checked_sub(1).and_then(|place| self.numbers.get_mut(place as usize)) {
            own.get_or_insert(number);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Cuts a text into phrases and single words, from the left, the longest phrase first: the places of each, and its number
    /// if it is a phrase.
    pub(crate) fn cut(&self, parts: &[Part], mut visit: impl FnMut(Range<usize>, Option<u32>)) {
        let mut from = 0;
        while from < parts.len() {
            let (mut end, mut number, mut beginning) = (from + 1, None, 0);
            for (place, part) in parts.iter().enumerate().skip(from) {
                let joined = place == from || part.joined;
                let Some(&next) = self.next.get(&(beginning, part.word)).filter(|_| joined) else { break };
                beginning = next;
                if let Some(own) = self.numbers[next as usize - 1] {
                    (end, number) = (place + 1, Some(own));
                }
            }
            visit(from..end, number);
            from = end;
        }
    }
}

/// Counts of a pair of adjacent words.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    tokens: u64,
    documents: usize,
    last: Option<usize>, // the last of the documents
}

/// Finds the phrases of a collection, whose documents come by several times in the same order.
///
/// Pairs of adjacent words that are frequent enough are counted, and tested by Dunning's log-likelihood ratio G² of the table of
/// adjacent pairs against independence. Were words independent, G² would exceed `g` with a probability of at most `exp(-g / 2)` (the
/// tail of a squared normal variable), so that a pair is significant above `2 ln(m / α)`, where `m` is the number of all
/// pairs of the words that are frequent enough (Bonferroni), adjacent anywhere or not, and `α` half of 0.001 for each of two
/// rounds: pairs of words, then pairs of a phrase and a word. Besides it must be in so many documents as a word must, three at least, and be
/// a tenth of the uses of one of its parts.
#[derive(Debug)]
pub(crate) struct Search {
    least: usize,        // documents
    frequent: Vec<bool>, // words of phrases may be
    words: usize,        // other numbers are phrases of the round before
    round: u32,
    passes: u64, // of this round
    pass: u64,
    pairs: HashMap<(u32, u32), Pair>,
    left: HashMap<u32, u64>,  // adjacent pairs whose first word it is
    right: HashMap<u32, u64>, // and whose second word it is
    adjacent: u64,            // all of them
    documents: usize,         // of this pass
    found: Vec<[u32; 2]>,     // of this round
}

impl Search {
    /// `spread[w]` is how many documents word `w` is in; a word must be in at least `least`; `adjacent` pairs were read.
    pub(crate) fn new(spread: &[usize], least: usize, adjacent: u64) -> Self {
        let least = least.max(LEAST_DOCUMENTS);
        Self {
            least,
            frequent: spread.iter().map(|&documents| documents >= least).collect(),
            words: spread.len(),
            round: 1,
            passes: adjacent.div_ceil(PAIRS).max(1),
            pass: 0,
            pairs: HashMap::new(),
            left: HashMap::new(),
            right: HashMap::new(),
            adjacent: 0,
            documents: 0,
            found: Vec::new(),
        }
    }

    /// Counts the pairs of a document, with the phrases so far as single words.
    pub(crate) fn add(&mut self, phrases: &Phrases, parts: &[Part]) {
        let document = self.documents;
        self.documents += 1;
        let mut before = None;
        phrases.cut(parts, |range, phrase| {
            let Some(first) = parts.get(range.start) else { return };
            let own = phrase.unwrap_or(first.word);
            if let Some(before) = before.filter(|_| first.joined) {
                self.pair(document, before, own);
            }
            before = Some(own);
        });
    }

    fn pair(&mut self, document: usize, first: u32, second: u32) {
        if self.pass == 0 {
            self.adjacent += 1;
            *self.left.entry(first).or_default() += 1;
            *self.right.entry(second).or_default() += 1;
        }
        if self.is_tried(first, second) && u64::from(first) % self.passes == self.pass {
            let pair = self.pairs.entry((first, second)).or_default();
            pair.tokens += 1;
            pair.documents += usize::from(pair.last != Some(document));
            pair.last = Some(document);
        }
    }

    fn is_tried(&self, first: u32, second: u32) -> bool {
        let is_frequent = |word: u32| self.frequent.get(word as usize).is_none_or(|&frequent| frequent);
        let of_phrases = [first, second].iter().filter(|&&word| word as usize >= self.words).count();
        of_phrases + 1 == self.round as usize && is_frequent(first) && is_frequent(second)
    }

    /// Once all documents were added: the phrases that a round has found, in order, if it has ended; whether there is another pass.
    pub(crate) fn next(&mut self, phrases: usize) -> (Vec<[u32; 2]>, bool) {
        let words = self.frequent.iter().filter(|&&frequent| frequent).count() as f64;
        let tried = if self.round == 1 { words * words } else { 2.0 * words * phrases as f64 };
        let threshold = 2.0 * ln(tried.max(1.0) * f64::from(ROUNDS) / SIGNIFICANCE);
        for ((first, second), pair) in std::mem::take(&mut self.pairs) {
            let of = |counts: &HashMap<u32, u64>, word| counts.get(&word).copied().unwrap_or_default();
            let (left, right) = (of(&self.left, first), of(&self.right, second));
            let is_typical = pair.tokens.saturating_mul(ONE_IN) >= left.min(right);
            if pair.documents >= self.least
                && is_typical
                && association(pair.tokens, left, right, self.adjacent) > threshold
            {
                self.found.push([first, second]);
            }
        }
        (self.documents, self.pass) = (0, self.pass + 1);
        if self.pass < self.passes {
            return (Vec::new(), true);
        }
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable();
        let again = self.round < ROUNDS && !found.is_empty();
        self.left.clear();
        self.right.clear();
        (self.round, self.pass, self.adjacent) = (self.round + 1, 0, 0);
        (found, again)
    }
}

/// Dunning's G² of `both` pairs of two words among `all`, `left` of which have the first word first and `right` the second one second;
/// below zero if there are fewer than independence makes likely.
fn association(both: u64, left: u64, right: u64, all: u64) -> f64 {
    let (left_only, right_only) = (left.saturating_sub(both), right.saturating_sub(both));
    let neither = all.saturating_sub(both + left_only + right_only);
    let (row, column, all) = (left as f64, right as f64, all as f64);
    let term = |observed: u64, row: f64, column: f64| match observed {
        0 => 0.0,
        _ => observed as f64 * ln(observed as f64 * all / (row * column)),
    };
    let ratio = 2.0
        * (term(both, row, column)
            + term(left_only, row, all - column)
            + term(right_only, all - row, column)
            + term(neither, all - row, all - column));
    if both as f64 * all > row * column { ratio } else { -ratio }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 1 of Dunning 1993, to the digits that are printed there.
    #[test]
    fn association_of_the_paper() {
        for (both, left, right, neither, expected) in
            [(110, 2442, 111, 29114, 270.72), (29, 13, 123, 31612, 263.90), (31, 23, 139, 31584, 256.84)]
        {
            let found = association(both, both + left, both + right, both + left + right + neither);
            assert!((found - expected).abs() < 0.006, "{found} {expected}");
        }
        for both in [1, 10, 24] {
            assert!(association(both, 50, 50, 100) < 0.0, "fewer than by chance");
        }
        assert_eq!(association(25, 50, 50, 100).abs(), 0.0);
    }

    /// Pairs counted by several passes are those counted by one.
    #[test]
    fn passes_change_nothing() {
        let mut documents = Vec::new();
        for document in 0..60u32 {
            let words = (0..30).map(|n| (document * 7 + n * n) % 23).flat_map(|word| match word % 3 {
                0 => vec![word, word + 23, word + 46],
                _ => vec![word],
            });
            documents.push(words.map(|word| Part { word, joined: true }).collect::<Vec<_>>());
        }
        let of = |passes| {
            let mut search = Search::new(&[60; 69], 3, 1);
            search.passes = passes;
            let (mut phrases, mut all) = (Phrases::default(), Vec::new());
            loop {
                documents.iter().for_each(|document| search.add(&phrases, document));
                let (found, again) = search.next(all.len());
                for pair in found {
                    phrases.insert(pair, 69 + all.len() as u32);
                    all.push(pair);
                }
                if !again {
                    return all;
                }
            }
        };
        let expected = of(1);
        assert!(expected.len() > 3, "{expected:?}");
        for passes in [2, 3, 7] {
            assert_eq!(of(passes), expected);
        }
    }

    /// What each round finds in three documents, each of these runs of words, so often; all words may be of phrases.
    fn rounds(words: usize, runs: &[(&[u32], usize)]) -> Vec<Vec<[u32; 2]>> {
        let mut document = Vec::new();
        for &(run, times) in runs {
            for _ in 0..times {
                document
                    .extend(run.iter().enumerate().map(|(place, &word)| Part { word, joined: place > 0 }));
            }
        }
        let mut search = Search::new(&vec![3; words], 3, 1);
        let (mut phrases, mut rounds, mut number) = (Phrases::default(), Vec::new(), words as u32);
        loop {
            (0..3).for_each(|_| search.add(&phrases, &document));
            let (found, again) = search.next(number as usize - words);
            for &pair in &found {
                phrases.insert(pair, number);
                number += 1;
            }
            rounds.push(found);
            if !again {
                return rounds;
            }
        }
    }

    /// One use in ten of the rarer part, and not one less, however far from independence.
    #[test]
    fn a_tenth_of_the_uses_is_enough() {
        let of = |both| {
            let others = 100 - both;
            let runs: [(&[u32], usize); 4] =
                [(&[0, 1], both), (&[0, 2], others), (&[3, 1], others), (&[4, 5], 10_000)];
            rounds(6, &runs).swap_remove(0)
        };
        // Far above the threshold, 2 ln(36 / 0.0005).
        assert!(association(3 * 9, 300, 300, 3 * 10_191) > 60.0);
        assert_eq!(of(9), [[0, 2], [3, 1], [4, 5]]);
        assert_eq!(of(10), [[0, 1], [0, 2], [3, 1], [4, 5]]);
    }

    /// The second round tries pairs of each phrase and each word, in both orders.
    #[test]
    fn a_phrase_and_a_word_are_significant_among_all_such_pairs() {
        let mut just_below = 0;
        for times in 1..40 {
            // Word 4 once after the phrase of 0 and 1, which others follow eight times; others follow one another evenly.
            let others = [5, 6, 7, 8];
            let after = others.map(|other| [0, 1, other]);
            let even: Vec<[u32; 2]> = others.iter().flat_map(|&a| others.map(|b| [a, b])).collect();
            let mut runs: Vec<(&[u32], usize)> = vec![(&[0, 1, 4], 1), (&[2, 3], 5)];
            runs.extend(after.iter().map(|run| (&run[..], 2)));
            runs.extend(even.iter().map(|run| (&run[..], times)));
            let [first, second] = &rounds(9, &runs)[..] else { panic!("two rounds") };
            assert!(first.len() > 1 && first[0] == [0, 1], "{first:?}");
            assert!(first.iter().all(|pair| pair[0] < 5), "the others make none: {first:?}");
            let ratio = association(3, 27, 3, 3 * (9 + 16 * times as u64));
            let tried = 2.0 * 9.0 * first.len() as f64;
            let threshold = 2.0 * ln(tried * 2.0 / 1e-3);
            assert_eq!(second.contains(&[9, 4]), ratio > threshold, "{times}: {ratio} {threshold}");
            just_below += usize::from(ratio < threshold && ratio > threshold - 1.0);
        }
        assert!(just_below > 0, "a threshold that is little lower would find more");
    }
}
