//! Coherence of the top words of topics over a reference corpus.

use std::{fmt, str::FromStr};

use countgrid_counts::Sequences;
use countgrid_math::{ln, sqrt};

use crate::{EvaluationError, OptionError, Stop, kinds::named, pieces::ask, zeros};

/// What is added to probabilities of pairs before their logarithm.
const EPSILON: f64 = 1e-12;
/// Documents between two questions whether to stop.
const DOCUMENTS: usize = 256;

named! {
    /// How well the top words of a topic go together in a reference corpus.
    ///
    /// Example: [`coherence`](crate::coherence()).
    Coherence {
        /// The mean of `ln((P(w, v) + 1e-12) / P(v))` over pairs of a word `w` and one `v` before it, with shares of
        /// documents (Mimno et al. 2011, in the form of Röder, Both & Hinneburg 2015): 0 at best.
        UMass = "u_mass",
        /// The mean normalised pointwise mutual information of pairs, in windows of 10 tokens: from -1 to 1.
        Npmi = "c_npmi",
        /// The mean cosine of the vectors of normalised pointwise mutual information of each word, and of all words of the
        /// topic, with its words, in windows of 110 tokens (Röder, Both & Hinneburg 2015).
        Cv = "c_v",
    }
}

impl Coherence {
    /// Tokens of a window; `None` for whole documents.
    #[must_use]
    pub const fn window(self) -> Option<usize> {
        match self {
            Self::UMass => None,
            Self::Npmi => Some(10),
            Self::Cv => Some(110),
        }
    }
}

/// The coherence of one topic.
///
/// Example: [`coherence`](crate::coherence()).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopicCoherence {
    /// Its value; `None` if fewer than two of its words occur in the reference corpus.
    pub value: Option<f64>,
    /// Words that never occur in the reference corpus, and are left out.
    pub unseen: usize,
}

/// The coherence of each topic over reference documents, with the definitions of gensim's `CoherenceModel`.
///
/// `topics` are lists of words, the most probable first; `documents` are words in their order, stop words left out as they were
/// for the model. [`Coherence::UMass`] does not depend on their order.
///
/// A document without any word is a sequence of one symbol that is in no topic: it is a window as others. A window slides by one token, and a document that is no longer than it is one window. As in gensim, a word that leaves a
/// window counts as absent until it enters again, although the window may have it at another place. Words that never occur
/// are left out, with the pairs that they are in; gensim has 0 for them in `u_mass` and NaN in the others. A vector without
/// length has the cosine 0. So no value is NaN.
///
/// The counts take `topics × words²` integers, and time grows with the pairs of words of a topic that are in a document.
///
/// # Errors
/// [`EvaluationError::TopicWord`] for a word that is no symbol of the documents, or is in a topic twice; [`EvaluationError::Memory`];
/// [`EvaluationError::Stopped`].
///
/// # Source
/// M. Röder, A. Both & A. Hinneburg, Exploring the space of topic coherence measures, WSDM 2015; D. Mimno, H. Wallach,
/// E. Talley, M. Leenders & A. McCallum, Optimizing semantic coherence in topic models, EMNLP 2011.
///
/// ```
/// use countgrid_counts::SequencesBuf;
/// use countgrid_evaluation::{Coherence, Stop, coherence};
///
/// let mut documents = SequencesBuf::new(4);
/// for document in [[0_u32, 1, 0, 1], [2, 3, 2, 3], [0, 1, 1, 0]] {
///     documents.push(document)?;
/// }
/// let topics = [vec![0, 1], vec![0, 2]]; // together, and never together
/// let found = coherence(Coherence::UMass, &topics, documents.as_view(), &Stop::new())?;
/// assert!(found[0].value.unwrap().abs() < 1e-9); // ln((2/3 + 1e-12) / (2/3))
/// assert!(found[1].value.unwrap() < -25.0); // ln(1e-12 / (2/3))
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn coherence(
    measure: Coherence,
    topics: &[Vec<usize>],
    documents: Sequences<'_, u32>,
    stop: &Stop,
) -> Result<Vec<TopicCoherence>, EvaluationError> {
    let mut counts = Occurrences::new(topics, documents.symbols())?;
    for (number, document) in documents.iter().enumerate() {
        if number % DOCUMENTS == 0 {
            ask(stop)?;
        }
        counts.add(document.entries(), measure.window());
    }
    Ok(counts.topics.iter().map(|topic| topic.coherence(measure, counts.windows as f64)).collect())
}

/// In how many windows words and pairs of them occur.
struct Occurrences {
    topics: Vec<TopicCounts>,
    uses: Vec<Vec<(usize, usize)>>, // of each symbol: topics, and its places in them
    windows: u64,
    intervals: Vec<Vec<[usize; 2]>>, // of each symbol: the windows of a document that have it, empty between documents
}

/// The counts of the words of one topic.
struct TopicCounts {
    words: usize,
    pairs: Vec<u64>, // [word][word], symmetric; on the diagonal those of words
}

impl Occurrences {
    fn new(topics: &[Vec<usize>], symbols: usize) -> Result<Self, EvaluationError> {
        let mut uses = vec![Vec::new(); symbols];
        let mut counts = Vec::with_capacity(topics.len());
        for (topic, words) in topics.iter().enumerate() {
            for (place, &word) in words.iter().enumerate() {
                match uses.get_mut(word) {
                    Some(own) if own.last().is_none_or(|&(last, _)| last != topic) => {
                        own.push((topic, place))
                    }
                    _ => return Err(EvaluationError::TopicWord { topic, word, words: symbols }),
                }
            }
            counts.push(TopicCounts {
                words: words.len(),
                pairs: zeros(words.len().saturating_mul(words.len()))?,
            });
        }
        Ok(Self { topics: counts, uses, windows: 0, intervals: vec![Vec::new(); symbols] })
    }

    /// Counts the windows of a document.
    fn add(&mut self, document: &[u32], window: Option<usize>) {
        let width = window.unwrap_or(usize::MAX).min(document.len().max(1));
        let windows = document.len().max(1) - width + 1;
        self.windows += windows as u64;
        // The windows that have a word are intervals: it enters at its place less the width, and leaves with its first place
        // that was in the window when it entered.
        let mut present: Vec<usize> = Vec::new();
        let mut places: Vec<Vec<usize>> = Vec::new();
        for (place, &word) in document.iter().enumerate() {
            let word = word as usize;
            if self.uses.get(word).is_none_or(Vec::is_empty) {
                continue;
            }
            let own = match present.iter().position(|&other| other == word) {
                Some(own) => own,
                None => {
                    present.push(word);
                    places.push(Vec::new());
                    present.len() - 1
                }
            };
            if let Some(places) = places.get_mut(own) {
                places.push(place);
            }
        }
        for (&word, places) in present.iter().zip(&places) {
            let Some(intervals) = self.intervals.get_mut(word) else { continue };
            let mut first = 0; // of the places that are in the window
            for &place in places {
                let enters = (place + 1).saturating_sub(width);
                while places.get(first).is_some_and(|&first| first < enters) {
                    first += 1;
                }
                let leaves = places.get(first).map_or(place, |&first| first).min(windows - 1);
                match intervals.last_mut() {
                    // `leaves` never goes back.
                    Some(last) if enters <= last[1] + 1 => last[1] = last[1].max(leaves),
                    _ => intervals.push([enters, leaves]),
                }
            }
        }
        for &word in &present {
            for &other in &present {
                if word > other {
                    continue;
                }
                self.add_pair(word, other);
            }
        }
        for word in present {
            if let Some(intervals) = self.intervals.get_mut(word) {
                intervals.clear();
            }
        }
    }

    /// Adds the windows that have both words, in every topic that has both.
    fn add_pair(&mut self, word: usize, other: usize) {
        let (Some(a), Some(b)) = (self.uses.get(word), self.uses.get(other)) else { return };
        let mut both = None;
        let mut others = b.iter().peekable();
        for &(topic, place) in a {
            while others.peek().is_some_and(|&&(of, _)| of < topic) {
                others.next();
            }
            let Some(&&(_, second)) = others.peek().filter(|&&&(of, _)| of == topic) else { continue };
            let count = *both.get_or_insert_with(|| {
                let none = Vec::new();
                let of = |word: usize| self.intervals.get(word).unwrap_or(&none).as_slice();
                windows_in_both(of(word), of(other))
            });
            let Some(topic) = self.topics.get_mut(topic) else { continue };
            for (row, column) in
                [(place, second), (second, place)].into_iter().take(1 + usize::from(place != second))
            {
                if let Some(pair) = topic.pairs.get_mut(row * topic.words + column) {
                    *pair += count;
                }
            }
        }
    }
}

/// How many windows are in an interval of each, both ascending and without overlap.
fn windows_in_both(a: &[[usize; 2]], b: &[[usize; 2]]) -> u64 {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut sum = 0;
    while let (Some(&&[a_first, a_last]), Some(&&[b_first, b_last])) = (a.peek(), b.peek()) {
        let (first, last) = (a_first.max(b_first), a_last.min(b_last));
        sum += (last + 1).saturating_sub(first) as u64;
        if a_last <= b_last {
            a.next();
        } else {
            b.next();
        }
    }
    sum
}

impl TopicCounts {
    fn count(&self, word: usize, other: usize) -> f64 {
        self.pairs.get(word * self.words + other).map_or(0.0, |&count| count as f64)
    }

    fn coherence(&self, measure: Coherence, windows: f64) -> TopicCoherence {
        let seen: Vec<usize> = (0..self.words).filter(|&word| self.count(word, word) > 0.0).collect();
        let unseen = self.words - seen.len();
        if seen.len() < 2 {
            return TopicCoherence { value: None, unseen };
        }
        let npmi = |w: usize, v: usize| {
            let both = self.count(w, v) / windows + EPSILON;
            let ratio = both / ((self.count(w, w) / windows) * (self.count(v, v) / windows));
            let log = -ln(both);
            if log == 0.0 { 0.0 } else { ln(ratio) / log }
        };
        let mut sum = 0.0;
        let terms = match measure {
            Coherence::UMass => {
                for (place, &w) in seen.iter().enumerate() {
                    for &v in seen.iter().take(place) {
                        let both = self.count(w, v) / windows + EPSILON;
                        sum += ln(both / (self.count(v, v) / windows));
                    }
                }
                seen.len() * (seen.len() - 1) / 2
            }
            Coherence::Npmi => {
                for &w in &seen {
                    for &v in seen.iter().filter(|&&v| v != w) {
                        sum += npmi(w, v);
                    }
                }
                seen.len() * (seen.len() - 1)
            }
            Coherence::Cv => {
                let rows: Vec<Vec<f64>> =
                    seen.iter().map(|&w| seen.iter().map(|&v| npmi(w, v)).collect()).collect();
                let mut all = vec![0.0; seen.len()];
                for row in &rows {
                    all.iter_mut().zip(row).for_each(|(all, x)| *all += x);
                }
                sum = rows.iter().map(|row| cosine(row, &all)).sum();
                seen.len()
            }
        };
        TopicCoherence { value: Some(sum / terms as f64), unseen }
    }
}

/// The cosine of two vectors; 0 if one has no length.
pub(crate) fn cosine(x: &[f64], y: &[f64]) -> f64 {
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let lengths = sqrt(dot(x, x)) * sqrt(dot(y, y));
    if lengths > 0.0 { dot(x, y) / lengths } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::cosine;

    #[test]
    fn a_vector_without_length_has_the_cosine_0() {
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 2.0]), 0.0);
        assert_eq!(cosine(&[3.0, 4.0], &[0.0, 0.0]), 0.0);
        assert_eq!(cosine(&[3.0, 4.0], &[-4.0, 3.0]), 0.0);
        assert_eq!(cosine(&[3.0, 0.0], &[-2.0, 0.0]), -1.0);
    }
}
