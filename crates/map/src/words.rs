use crate::{PageError, Word, significance::LogOdds};

/// Significance that a word needs to be drawn; on a map of little text a quarter of the largest, if that is less.
const LEAST: f64 = 3.0;
/// Weights up to this are none: where all text is in one place the log-odds of every word are 0, but for rounding.
const ROUNDING: f64 = 1e-9;

/// Which words are drawn where: in each cell those that its texts use significantly more often than others do.
///
/// `pi` `[feature][cell]` are the distributions of the cells, `vocabulary` `[feature]` the words, `tokens` `[cell]` how many words
/// the documents of each cell have in all. With `y = pi tokens` of a word and cell and `y'` the word's in all other cells, a
/// word's weight is the significance of its log-odds,
///
/// ```text
/// z = ln(odds ratio) / sqrt(1 / y + 1 / y' + 0.1),
/// ```
///
/// each of `y` and `y'` with its share of one token more per word of the vocabulary, as a prior. The 0.1 is the square of how much
/// the rate of a word differs between any two sets of documents: without it what is said often would be significant everywhere.
///
/// Each cell gets its `per_cell` words of greatest weight, if they are likelier there than in all texts and their weight is
/// above 3, or a quarter of the map's greatest, if that is less. Where all text is in one place there are none. The result is in
/// order of cells, then falling weight, then feature.
///
/// # Source
/// Monroe, Colaresi & Quinn, Fightin' words, Political Analysis 16 (2008), Eqs. 16 to 22. That words come in bursts, beyond Poisson's
/// variance: Church & Gale, Poisson mixtures, Natural Language Engineering 1 (1995).
///
/// # Errors
/// [`PageError::Length`], [`PageError::Value`].
///
/// ```
/// use countgrid_map::characteristic_words;
///
/// let pi = [0.9, 0.1, 0.1, 0.9]; // two words on two cells
/// let words = characteristic_words(&pi, 2, &["sun", "moon"], &[100.0, 50.0], 1)?;
/// assert_eq!((words[0].text.as_str(), words[0].cell), ("sun", 0));
/// assert_eq!((words[1].text.as_str(), words[1].cell), ("moon", 1));
/// # Ok::<(), countgrid_map::PageError>(())
/// ```
pub fn characteristic_words(
    pi: &[f32],
    cells: usize,
    vocabulary: &[impl AsRef<str>],
    tokens: &[f64],
    per_cell: usize,
) -> Result<Vec<Word>, PageError> {
    check(pi, cells, vocabulary.len(), tokens)?;
    let total = tokens.iter().sum();
    let mut choice = Choice::new(vocabulary.len(), tokens, total, per_cell);
    let mut counts = vec![0.0; cells];
    for (feature, plane) in pi.chunks_exact(cells.max(1)).enumerate() {
        for ((count, &p), tokens) in counts.iter_mut().zip(plane).zip(tokens) {
            *count = f64::from(p) * tokens;
        }
        choice.add(feature, plane, &counts, counts.iter().sum());
    }
    Ok(choice.words(vocabulary))
}

/// The words of [`characteristic_words`], one feature after the other.
pub(crate) struct Choice<'a> {
    odds: LogOdds,
    around: &'a [f64], // [cell], tokens around it
    total: f64,
    per_cell: usize,
    largest: f64,
    best: Vec<Vec<Candidate>>, // of each cell, by falling weight
}

impl<'a> Choice<'a> {
    /// Of so many features, for cells that have so many tokens around them, of so many in all.
    pub(crate) fn new(features: usize, around: &'a [f64], total: f64, per_cell: usize) -> Self {
        let odds = LogOdds { features: features as f64 };
        Self { odds, around, total, per_cell, largest: 0.0, best: vec![Vec::new(); around.len()] }
    }

    /// The next feature: its share of each cell, its tokens around each, and those of all documents.
    pub(crate) fn add(&mut self, feature: usize, shares: &[f32], counts: &[f64], whole: f64) {
        let mean = whole / self.total;
        let prior = self.odds.features * mean;
        for (cell, (&share, &count)) in shares.iter().zip(counts).enumerate() {
            if !(f64::from(share) > mean && count > 0.0) {
                continue; // no likelier than in all texts; also 0/0, where there is no text
            }
            let weight = self.odds.significance([count, self.around[cell]], [whole, self.total], prior);
            if weight > ROUNDING {
                self.largest = self.largest.max(weight);
                keep(&mut self.best[cell], Candidate { weight, feature }, self.per_cell);
            }
        }
    }

    /// The words of all cells.
    pub(crate) fn words(self, vocabulary: &[impl AsRef<str>]) -> Vec<Word> {
        let least = LEAST.min(0.25 * self.largest);
        let mut words = Vec::with_capacity(self.best.iter().map(Vec::len).sum());
        for (cell, candidates) in (0u32..).zip(self.best) {
            let drawn = candidates.into_iter().take_while(|candidate| candidate.weight > least);
            words.extend(drawn.filter_map(|Candidate { weight, feature }| {
                let text = vocabulary.get(feature)?.as_ref().to_owned();
                Some(Word { text, cell, weight: weight as f32 })
            }));
        }
        words
    }
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    weight: f64, // positive, finite
    feature: usize,
}

/// Inserts a candidate into a list of at most `limit`, by falling weight; features come ascending.
fn keep(best: &mut Vec<Candidate>, candidate: Candidate, limit: usize) {
    let place = best.partition_point(|other| other.weight >= candidate.weight);
    if place < limit {
        best.truncate(limit - 1);
        best.insert(place, candidate);
    }
}

pub(crate) fn check(pi: &[f32], cells: usize, features: usize, mass: &[f64]) -> Result<(), PageError> {
    let expected = features.saturating_mul(cells);
    if pi.len() != expected {
        return Err(PageError::Length { table: "pi", expected, found: pi.len() });
    }
    if let Some(index) = pi.iter().position(|p| !(*p >= 0.0 && p.is_finite())) {
        return Err(PageError::Value { table: "pi", index });
    }
    if mass.len() != cells {
        return Err(PageError::Length { table: "mass", expected: cells, found: mass.len() });
    }
    match mass.iter().position(|mass| !(*mass >= 0.0 && mass.is_finite())) {
        Some(index) => Err(PageError::Value { table: "mass", index }),
        None => Ok(()),
    }
}
