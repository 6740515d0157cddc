//! Which documents repeat an earlier one, nearly or wholly.
//!
//! A text is the set of its shingles, all runs of three words, and two are near-duplicates whose sets have a Jaccard similarity of
//! at least [`NEAR_DUPLICATE`]. Of each set the smallest hashes are kept, a bottom-k sketch. Documents whose sketches agree in a
//! band of minima (MinHash) are candidates, and the similarity of candidates is estimated from the smallest hashes of their union.
//!
//! # Source
//! Broder 1997, *On the resemblance and containment of documents*; Leskovec, Rajaraman & Ullman, *Mining of Massive Datasets*, 3.4.

use std::collections::VecDeque;

use crate::{
    Column, ColumnValues, DocumentInfo,
    hash::{hash, mix},
};

/// The similarity from which two texts are near-duplicates: of all runs of three words that either of them has, so large a share
/// both have. It is estimated from 64 of them, with a standard error of 0.05 there.
pub const NEAR_DUPLICATE: f64 = SIMILAR.0 as f64 / SIMILAR.1 as f64;
/// The same as a fraction.
const SIMILAR: (usize, usize) = (4, 5);

/// The name of the column that says for how many documents one stands.
const COLUMN: &str = "near-duplicates";

/// A document that was left out because it repeats one that stayed.
///
/// ```
/// use countgrid_corpus::{Corpus, CorpusOptions, NearDuplicate};
/// let text: String = (0..60).map(|n| format!("word{n} ")).collect();
/// let texts = [text.clone(), "other words".to_owned(), text + "and a signature"];
/// let options = CorpusOptions { keep_near_duplicates: false, ..CorpusOptions::default() };
/// let corpus = Corpus::<f32>::from_texts(&texts, &options)?;
/// assert_eq!(corpus.near_duplicates, [NearDuplicate { id: "3".to_owned(), of: 0 }]);
/// assert_eq!(corpus.bags.len(), 2);
/// # Ok::<(), countgrid_corpus::CorpusError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearDuplicate {
    /// Its id, as in [`DocumentInfo::id`]; empty where documents are not kept.
    pub id: String,
    /// The place of the document that it repeats, among those that stayed.
    pub of: usize,
}

impl NearDuplicate {
    /// Those of these pairs of documents, the one that is left out and the one that stays, before any is left out.
    pub(crate) fn describe(
        repeats: &[(u32, u32)],
        drawn: Option<&[bool]>,
        documents: &[DocumentInfo],
    ) -> Vec<Self> {
        if repeats.is_empty() {
            return Vec::new();
        }
        let mut next = 0;
        let places: Vec<usize> = drawn
            .into_iter()
            .flatten()
            .map(|&drawn| {
                next += usize::from(drawn);
                next.saturating_sub(1)
            })
            .collect();
        let describe = |&(document, of): &(u32, u32)| {
            let id = documents.get(document as usize).map(|info| info.id.clone()).unwrap_or_default();
            Self { id, of: places.get(of as usize).copied().unwrap_or_default() }
        };
        repeats.iter().map(describe).collect()
    }

    /// For how many documents that were left out each stands, if any does; empty for those that stand for themselves.
    pub(crate) fn column(own: &[Self], documents: usize) -> Option<Column> {
        let mut values = vec![None; documents];
        for Self { of, .. } in own {
            if let Some(count) = values.get_mut(*of) {
                *count = Some(count.unwrap_or(0.0) + 1.0);
            }
        }
        let values = ColumnValues::Numbers(values);
        (!own.is_empty()).then(|| Column { name: COLUMN.to_owned(), values })
    }
}

/// Fewer different shingles are those of a title or a line, which two documents may share and be two. One word that is changed
/// within a text changes three shingles, which leaves a similarity of 4/5 from here on.
pub(crate) const FEWEST_SHINGLES: usize = 27;
/// Words of a shingle.
const WORDS: usize = 3;

/// Hashes of a sketch.
pub(crate) const WIDTH: usize = 64;
/// Hashes of a sketch at least, where there are very many documents.
const NARROWEST: usize = 16;
/// Bytes of all sketches: those of two million long texts. With more documents sketches are halved.
const MOST_BYTES: usize = 1 << 29;

/// Candidates are documents that agree in all minima of a band. At the similarity of 4/5 a pair agrees in a band with
/// probability 0.41 and in none of them with 0.0002; at 1/10 it agrees in any with 0.002.
const BANDS: u64 = 16;
const MINIMA: u64 = 4;
/// Documents that those with the same minima are compared with, so that many such documents take linear time.
const COMPARED: usize = 16;

/// The sketches of documents, which come one after the other.
#[derive(Debug)]
pub(crate) struct Sketches {
    hashes: Vec<u32>, // of each document ascending
    ends: Vec<usize>, // of those of each document
    width: usize,     // hashes of a document at most
    most: usize,      // hashes of all documents
    full: bool,       // whether further documents are kept unseen
}

impl Sketches {
    pub(crate) fn new() -> Self {
        Self::with_room(MOST_BYTES / size_of::<u32>())
    }

    fn with_room(most: usize) -> Self {
        Self { hashes: Vec::new(), ends: Vec::new(), width: WIDTH, most, full: false }
    }

    /// Adds a document with these shingles. Of too few there is no sketch.
    pub(crate) fn push(&mut self, shingles: &mut Shingles) {
        if !self.full {
            self.hashes.extend(shingles.smallest().iter().take(self.width));
        }
        self.ends.push(self.hashes.len());
        while self.hashes.len() > self.most && !self.full {
            self.halve();
        }
    }

    /// Keeps of each sketch the smaller half, which is the sketch of half the width. Where that is too few, no more are added.
    fn halve(&mut self) {
        if self.width / 2 < NARROWEST {
            self.full = true;
            return;
        }
        self.width /= 2;
        let (mut start, mut kept) = (0, 0);
        for end in &mut self.ends {
            let own = (*end - start).min(self.width);
            self.hashes.copy_within(start..start + own, kept);
            kept += own;
            start = *end;
            *end = kept;
        }
        self.hashes.truncate(kept);
    }

    fn get(&self, document: u32) -> &[u32] {
        let document = document as usize;
        let start = document.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(document).and_then(|&end| self.hashes.get(start..end)).unwrap_or_default()
    }

    /// Documents among those that are taken that repeat an earlier one, ascending, each with the first of those that it repeats
    /// and that repeat none.
    ///
    /// Documents with the same sketch are always found.
    pub(crate) fn near_duplicates(&self, is_taken: impl Fn(usize) -> bool) -> Vec<(u32, u32)> {
        let all = (0u32..).take(self.ends.len());
        let documents: Vec<u32> =
            all.filter(|&document| !self.get(document).is_empty() && is_taken(document as usize)).collect();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let (mut keyed, mut first) = (Vec::with_capacity(documents.len()), Vec::with_capacity(COMPARED));
        for band in 0..=BANDS {
            keyed.clear();
            keyed.extend(documents.iter().map(|&document| (key(self.get(document), band), document)));
            keyed.sort_unstable();
            for same in keyed.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
                first.clear();
                for &(_, document) in same {
                    let own = self.get(document);
                    let before = pairs.len();
                    let similar = |&&other: &&u32| is_similar(self.get(other), own, self.width);
                    pairs.extend(first.iter().filter(similar).map(|&other| (document, other)));
                    if pairs.len() == before && first.len() < COMPARED {
                        first.push(document);
                    }
                }
            }
            // After each band, so that there are no more than a pair for a document where all are the same.
            pairs.sort_unstable();
            pairs.dedup();
        }
        let mut repeats: Vec<(u32, u32)> = Vec::new();
        for own in pairs.chunk_by(|a, b| a.0 == b.0) {
            let stays = |of: &u32| repeats.binary_search_by_key(of, |&(document, _)| document).is_err();
            if let Some(&pair) = own.iter().find(|(_, of)| stays(of)) {
                repeats.push(pair);
            }
        }
        repeats
    }
}

/// The minima of a sketch in a band as one number; in band 0 the whole sketch.
fn key(sketch: &[u32], band: u64) -> u64 {
    let joined = |key: u64, hash: u64| mix(key.rotate_left(21) ^ hash);
    if band == 0 {
        return sketch.iter().fold(0, |key, &hash| joined(key, u64::from(hash)));
    }
    let minimum = |function: u64| {
        let seed = mix(function.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        sketch.iter().map(|&hash| mix(mix(u64::from(hash) ^ seed))).min().unwrap_or_default()
    };
    (band * MINIMA..(band + 1) * MINIMA).map(minimum).fold(0, joined)
}

/// Of the smallest hashes of the union of two sketches of this width, how many both have, and how many there are.
fn common_and_all(a: &[u32], b: &[u32], width: usize) -> (usize, usize) {
    let (mut i, mut j, mut common, mut all) = (0, 0, 0, 0);
    while all < width {
        match (a.get(i), b.get(j)) {
            (None, None) => break,
            (Some(x), Some(y)) if x == y => {
                (i, j, common) = (i + 1, j + 1, common + 1);
            }
            (Some(x), Some(y)) if x < y => i += 1,
            (Some(_), None) => i += 1,
            _ => j += 1,
        }
        all += 1;
    }
    (common, all)
}

fn is_similar(a: &[u32], b: &[u32], width: usize) -> bool {
    let (common, all) = common_and_all(a, b, width);
    common * SIMILAR.1 >= all * SIMILAR.0
}

/// The smallest hashes of the shingles of one document.
#[derive(Debug, Default)]
pub(crate) struct Shingles {
    last: VecDeque<u64>, // words
    hashes: Vec<u32>,
    below: Option<u32>, // larger hashes are not among the smallest
}

impl Shingles {
    /// Begins a document.
    pub(crate) fn clear(&mut self) {
        self.last.clear();
        self.hashes.clear();
        self.below = None;
    }

    /// Adds the next word.
    pub(crate) fn push(&mut self, word: &str) {
        if self.last.len() == WORDS {
            self.last.pop_front();
        }
        self.last.push_back(hash(word));
        if self.last.len() < WORDS {
            return;
        }
        let shingle = mix(self.last.iter().fold(0, |shingle: u64, word| shingle.rotate_left(21) ^ word));
        let shingle = (shingle >> 32) as u32;
        if self.below.is_none_or(|below| shingle < below) {
            self.hashes.push(shingle);
            if self.hashes.len() >= 4 * WIDTH {
                self.keep_smallest();
            }
        }
    }

    fn keep_smallest(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        if self.hashes.len() > WIDTH {
            self.hashes.truncate(WIDTH);
            self.below = self.hashes.last().copied();
        }
    }

    /// They, ascending; none if there are too few.
    fn smallest(&mut self) -> &[u32] {
        self.keep_smallest();
        if self.hashes.len() < FEWEST_SHINGLES { &[] } else { &self.hashes }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    type Words = Vec<u16>;

    fn sketches(documents: &[Words], most: usize) -> Sketches {
        let (mut sketches, mut shingles) = (Sketches::with_room(most), Shingles::default());
        for words in documents {
            shingles.clear();
            words.iter().for_each(|word| shingles.push(&format!("w{word}")));
            sketches.push(&mut shingles);
        }
        sketches
    }

    fn found(documents: &[Words]) -> Vec<(u32, u32)> {
        sketches(documents, usize::MAX).near_duplicates(|_| true)
    }

    fn shingles(words: &Words) -> HashSet<&[u16]> {
        words.windows(WORDS).collect()
    }

    fn jaccard(a: &Words, b: &Words) -> f64 {
        let (a, b) = (shingles(a), shingles(b));
        let common = a.intersection(&b).count();
        common as f64 / (a.len() + b.len() - common).max(1) as f64
    }

    /// Whether so many of `n` that were drawn without replacement are what a share of all leaves to chance. Chernoff's bound, which
    /// holds without replacement too (Hoeffding 1963): the probability of a share that differs more is at most 2e-11.
    fn is_plausible(common: usize, n: usize, share: f64) -> bool {
        let found = common as f64 / n as f64;
        let term = |p: f64, q: f64| if p > 0.0 { p * (p / q).ln() } else { 0.0 };
        n as f64 * (term(found, share) + term(1.0 - found, 1.0 - share)) <= 25.3
    }

    /// A text without repeated shingles, and edits: words that are replaced, by place and by what.
    fn text() -> impl Strategy<Value = Words> {
        (0u16..500, 30u16..400).prop_map(|(start, words)| (start..start + words).collect())
    }

    fn edited(text: &Words, edits: &[(prop::sample::Index, u16)]) -> Words {
        let mut text = text.clone();
        for (place, word) in edits {
            *place.get_mut(&mut text) = 1_000 + word;
        }
        text
    }

    fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, u16)>> {
        prop::collection::vec((any::<prop::sample::Index>(), 0u16..500), 0..30)
    }

    proptest! {
        #[test] // exactly where the sketches hold the whole sets
        fn the_estimate_is_the_jaccard_similarity(text in text(), edits in edits()) {
            let other = edited(&text, &edits);
            let exact = jaccard(&text, &other);
            let both = sketches(&[text.clone(), other.clone()], usize::MAX);
            let (common, n) = common_and_all(both.get(0), both.get(1), WIDTH);
            let union = shingles(&text).union(&shingles(&other)).count();
            prop_assert_eq!(n, union.min(WIDTH));
            match union <= WIDTH {
                true => prop_assert_eq!(common as f64 / n as f64, exact),
                false => prop_assert!(is_plausible(common, n, exact), "{common} of {n}, {exact}"),
            }
        }

        #[test] // against all pairs
        fn what_is_left_out_repeats_what_stays(
            texts in prop::collection::vec(text(), 1..4),
            copies in prop::collection::vec((any::<prop::sample::Index>(), edits()), 0..24),
        ) {
            // Texts apart from one another, then copies of them.
            let apart = |(n, text): (usize, &Words)| text.iter().map(|word| word + 2_000 * n as u16).collect();
            let mut documents: Vec<Words> = texts.iter().enumerate().map(apart).collect();
            for (of, edits) in &copies {
                documents.push(edited(&documents[of.index(texts.len())], edits));
            }
            let sketches = sketches(&documents, usize::MAX);
            let repeats = sketches.near_duplicates(|_| true);
            let left_out = |document: usize| {
                repeats.iter().find(|(own, _)| *own as usize == document).map(|&(_, of)| of as usize)
            };
            prop_assert!(repeats.is_sorted());
            for (document, words) in documents.iter().enumerate() {
                if let Some(of) = left_out(document) {
                    prop_assert!(of < document && left_out(of).is_none());
                    let exact = jaccard(words, &documents[of]);
                    let (common, n) = common_and_all(sketches.get(document as u32), sketches.get(of as u32), WIDTH);
                    prop_assert!(common * 5 >= n * 4);
                    prop_assert!(n < WIDTH || is_plausible(common, n, exact), "{common} of {n}, {exact}");
                }
                let similarities = || (0..document).map(|other| jaccard(words, &documents[other]));
                // Those that share nothing with any, and those that are there already.
                prop_assert!(left_out(document).is_none() || similarities().any(|similarity| similarity > 0.0));
                if similarities().any(|similarity| similarity == 1.0) {
                    prop_assert!(left_out(document).is_some());
                }
                // The first text of its kind stays, so that copies of it are missed by chance alone: here 2e-12.
                for (place, _) in texts.iter().enumerate().filter(|&(place, _)| place < document) {
                    let (common, n) =
                        common_and_all(sketches.get(place as u32), sketches.get(document as u32), WIDTH);
                    prop_assert!(common * 20 < n * 19 || left_out(document).is_some());
                }
            }
            prop_assert!((0..texts.len()).all(|text| left_out(text).is_none()));
        }

        #[test]
        fn the_first_of_equal_documents_stays_in_any_order(
            order in Just((0..20u16).flat_map(|text| vec![text; 1 + usize::from(text % 3)]).collect::<Vec<_>>())
                .prop_shuffle(),
        ) {
            let documents: Vec<Words> = order.iter().map(|text| (100 * text..100 * text + 40).collect()).collect();
            let first = |document: usize| order.iter().position(|text| *text == order[document]).unwrap();
            let expected: Vec<_> = (0..order.len())
                .filter(|&document| first(document) < document)
                .map(|document| (document as u32, first(document) as u32))
                .collect();
            prop_assert_eq!(found(&documents), expected);
        }
    }

    #[test]
    fn short_texts_are_kept() {
        let text = |words: u16| (0..words).collect::<Words>();
        let shortest = FEWEST_SHINGLES as u16 + WORDS as u16 - 1;
        assert_eq!(found(&[text(shortest - 1), text(shortest - 1)]), []);
        assert_eq!(found(&[text(shortest), text(shortest)]), [(1, 0)]);
        // One word that is changed, which is the least that a near-duplicate differs in.
        let mut changed = text(shortest);
        changed[10] = 1_000;
        assert_eq!(found(&[text(shortest), changed.clone()]), [(1, 0)]);
        changed[20] = 1_000;
        assert_eq!(found(&[text(shortest), changed]), []);
        // Long, but the same few runs again and again; nothing; fewer words than a run has.
        assert_eq!(found(&[[1, 2, 3].repeat(100), [1, 2, 3].repeat(100)]), []);
        assert_eq!(found(&[vec![], vec![], vec![1], vec![1]]), []);
    }

    #[test]
    fn what_repeats_only_what_is_left_out_stays() {
        let first: Words = (0..60).collect();
        let edit = |text: &Words, places: [usize; 2]| {
            let mut text = text.clone();
            places.into_iter().for_each(|place| text[place] = 1_000 + place as u16);
            text
        };
        let second = edit(&first, [10, 20]);
        let third = edit(&second, [30, 40]);
        // 52 of 64 shingles, and 46 of 70.
        assert!(jaccard(&first, &second) > 0.8 && jaccard(&first, &third) < 0.7);
        assert_eq!(found(&[first.clone(), second.clone(), third.clone()]), [(1, 0)]);
        assert_eq!(found(&[second, first, third]), [(1, 0), (2, 0)]);
    }

    #[test]
    fn a_sketch_has_the_smallest_hashes() {
        for words in [30, 66, 67, 257, 258, 259, 5_000] {
            let text: Words = (0..words).map(|n| n % 4_000).collect();
            let hash = |shingle: &[u16]| {
                let mut shingles = Shingles::default();
                shingle.iter().for_each(|word| shingles.push(&format!("w{word}")));
                shingles.hashes[0]
            };
            let mut expected: Vec<u32> = text.windows(WORDS).map(hash).collect();
            expected.sort_unstable();
            expected.dedup();
            expected.truncate(WIDTH);
            assert_eq!(sketches(&[text], usize::MAX).get(0), expected, "{words}");
        }
    }

    #[test]
    fn a_text_that_repeats_itself_has_the_smallest_hashes_of_all_its_runs() {
        // Thirty words again and again, more often than hashes are held, and others after them.
        let text: Words = (0..600).map(|n| n % 30).chain(1_000..1_100).collect();
        let plain: Words = (0..60).map(|n| n % 30).chain(1_000..1_100).collect();
        assert_eq!(shingles(&text), shingles(&plain));
        let both = sketches(&[text, plain], usize::MAX);
        assert_eq!(both.get(0), both.get(1));
    }

    #[test]
    fn the_memory_of_a_long_text_is_bounded() {
        let mut shingles = Shingles::default();
        for word in 0..20_000 {
            shingles.push(&format!("w{word}"));
            assert!(shingles.hashes.len() < 4 * WIDTH);
        }
    }

    #[test]
    fn a_key_depends_on_every_bit_of_every_hash() {
        for bit in 0..u32::BITS {
            let [own, other] = [0x5555_5555_u32, 0x5555_5555 ^ (1 << bit)];
            for band in 0..=BANDS {
                assert_ne!(key(&[own], band), key(&[other], band), "{bit} {band}");
            }
            for beside in [0, u32::MAX, 0x1234_5678] {
                assert_ne!(key(&[own, beside], 0), key(&[other, beside], 0), "{bit}");
                assert_ne!(key(&[beside, own], 0), key(&[beside, other], 0), "{bit}");
            }
        }
    }

    #[test]
    fn halved_sketches_are_those_of_half_the_width() {
        // Of some texts there is none, of others there are few hashes.
        let documents: Vec<Words> = [300, 10, 30, 45, 0, 300, 60, 31]
            .iter()
            .zip(0u16..)
            .map(|(&words, n)| (n..n + words).collect())
            .collect();
        let whole = sketches(&documents, usize::MAX);
        let mut halved = sketches(&documents, usize::MAX);
        for width in [WIDTH / 2, WIDTH / 4] {
            halved.halve();
            assert_eq!(halved.width, width);
            for document in 0..documents.len() as u32 {
                let own = whole.get(document);
                assert_eq!(halved.get(document), &own[..own.len().min(width)], "{document}");
            }
        }
    }

    #[test]
    fn documents_that_are_not_taken_neither_repeat_nor_are_repeated() {
        let text: Words = (0..50).collect();
        let sketches = sketches(&vec![text; 4], usize::MAX);
        assert_eq!(sketches.near_duplicates(|document| document != 0), [(2, 1), (3, 1)]);
        assert_eq!(sketches.near_duplicates(|document| document == 3), []);
    }

    #[test] // in linear time and memory: with all pairs this would take hours
    fn very_many_documents_that_are_the_same() {
        let text: Words = (0..200).collect();
        let repeats = found(&vec![text; 100_000]);
        assert!(repeats.iter().zip(1u32..).all(|(&pair, n)| pair == (n, 0)) && repeats.len() == 99_999);
    }

    #[test]
    fn sketches_are_halved_where_there_is_no_room() {
        let text = |n: u16| -> Words { (0..300).map(|word| 50 * n + word % 300).collect() };
        let documents: Vec<Words> = (0..80).map(|n| text(10 * (n % 40))).collect();
        let expected: Vec<_> = (40..80).map(|n| (n, n - 40)).collect();
        for (room, width) in
            [(80 * 64, 64), (80 * 64 - 1, 32), (80 * 32, 32), (80 * 32 - 1, 16), (80 * 16, 16)]
        {
            let sketches = sketches(&documents, room);
            assert_eq!((sketches.width, sketches.hashes.len()), (width, 80 * width));
            assert_eq!(sketches.near_duplicates(|_| true), expected, "{width}");
            // The sketch of half the width.
            let whole = super::tests::sketches(&documents[7..8], usize::MAX);
            assert_eq!(sketches.get(7), &whole.get(0)[..width]);
        }
        // No room for the last: they are kept, and memory does not grow.
        let sketches = sketches(&documents, 60 * 16 - 1);
        assert_eq!((sketches.width, sketches.hashes.len()), (16, 60 * 16));
        assert_eq!(sketches.near_duplicates(|_| true), expected[..20]);
    }
}
