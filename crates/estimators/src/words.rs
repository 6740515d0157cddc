//! The most characteristic words of windows and topics.

use countgrid_math::Real;

use crate::{EstimatorError, FittedGrid, grid::aligned};

/// A word with its probability.
///
/// Example: [`WordUse`](crate::WordUse).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopWord {
    /// Its place in the vocabulary.
    pub word: usize,
    /// Its probability.
    pub probability: f64,
}

impl TopWord {
    /// The most probable, of equals the first of the vocabulary.
    pub(crate) fn largest(mut words: Vec<Self>, count: usize) -> Vec<Self> {
        words.sort_by(|a, b| b.probability.total_cmp(&a.probability).then(a.word.cmp(&b.word)));
        words.truncate(count);
        words
    }
}

/// A word in a window of a grid.
///
/// ```
/// use countgrid_estimators::WordUse;
/// let word = WordUse { word: 3, probability: 0.25, lift: 2.0 };
/// assert_eq!(word.divergence_term(), 0.25 * 2_f64.ln());
/// let rare = WordUse { word: 7, probability: 0.01, lift: 40.0 };
/// assert_eq!(WordUse::top(&[rare, word], 1, WordUse::divergence_term), [word]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WordUse {
    /// Its place in the vocabulary.
    pub word: usize,
    /// Its probability in the window.
    pub probability: f64,
    /// How many times more probable than on the whole grid.
    pub lift: f64,
}

impl WordUse {
    /// Its term of the Kullback-Leibler divergence of the window from the whole grid, in nats: how characteristic it is.
    #[must_use]
    pub fn divergence_term(&self) -> f64 {
        if self.lift > 0.0 { self.probability * libm::log(self.lift) } else { 0.0 }
    }

    /// The `count` words with the largest key, of equals the first of the vocabulary.
    pub fn top(uses: &[Self], count: usize, key: impl Fn(&Self) -> f64) -> Vec<Self> {
        Self::largest(uses.iter().map(|word| (key(word), *word)).collect(), count)
    }

    /// The words with the largest numbers. Apart from what computes these, so that a sort is not compiled for every key.
    fn largest(mut uses: Vec<(f64, Self)>, count: usize) -> Vec<Self> {
        uses.sort_by(|(x, a), (y, b)| y.total_cmp(x).then(a.word.cmp(&b.word)));
        uses.into_iter().take(count).map(|(_, word)| word).collect()
    }

    /// Those at least as probable as under a uniform distribution. Rare words have the most extreme lifts and are the least
    /// informative.
    #[must_use]
    pub fn frequent(uses: &[Self]) -> Vec<Self> {
        let even = 1.0 / uses.len() as f64;
        uses.iter().copied().filter(|word| word.probability >= even).collect()
    }
}

impl<T: Real> FittedGrid<T> {
    /// All words, in every one of the windows that start at the given cells: `[window][word]`. A cell that does not exist
    /// has no words.
    ///
    /// # Errors
    /// [`EstimatorError::Memory`].
    pub fn word_uses(&self, cells: &[usize]) -> Result<Vec<Vec<WordUse>>, EstimatorError> {
        let shape = self.shape();
        let (mut h, mut scratch) = (aligned::<T>(shape.cells())?, aligned(shape.plane_scratch_len())?);
        let mut all = vec![Vec::with_capacity(shape.features()); cells.len()];
        for word in 0..shape.features() {
            self.grid().histogram(word, &mut h, &mut scratch)?;
            let mean = h.iter().map(|&h| h.to_f64()).sum::<f64>() / shape.cells() as f64;
            for (uses, &cell) in all.iter_mut().zip(cells) {
                let probability = h.get(cell).map_or(0.0, |&h| h.to_f64());
                let lift = if mean > 0.0 { probability / mean } else { 0.0 };
                uses.push(WordUse { word, probability, lift });
            }
        }
        Ok(all)
    }

    /// A word of the vocabulary; empty if there is no such word.
    pub fn word(&self, word: usize) -> &str {
        self.info.vocabulary.get(word).map_or("", String::as_str)
    }

    /// Coordinates spread over the grid: as many along each axis, at most `most` altogether but at least one.
    pub fn lattice(&self, most: usize) -> Vec<Vec<usize>> {
        lattice(self.layout().extents(), most)
    }
}

fn lattice(extents: &[usize], most: usize) -> Vec<Vec<usize>> {
    let long = extents.iter().filter(|&&extent| extent > 1).count().max(1);
    let steps = (1..=most).rev().find(|n| n.checked_pow(long as u32).is_some_and(|n| n <= most)).unwrap_or(1);
    let mut places = vec![Vec::new()];
    for &extent in extents {
        let along = steps.min(extent);
        places = places
            .iter()
            .flat_map(|place| {
                (0..along).map(|step| {
                    let mut place: Vec<usize> = place.clone();
                    place.push((step as u128 * extent as u128 / along as u128) as usize);
                    place
                })
            })
            .collect();
    }
    places
}

#[cfg(test)]
mod tests {
    use super::lattice;

    #[test]
    fn a_lattice_covers_the_grid() {
        let lattice = |extents: &[usize]| lattice(extents, 16);
        assert_eq!(lattice(&[32, 32]).len(), 16);
        assert_eq!(lattice(&[1, 40]).len(), 16);
        assert_eq!(lattice(&[12; 3]).len(), 8);
        assert_eq!(lattice(&[4; 8]).len(), 1);
        assert!(lattice(&[5, 3]).iter().all(|place| place[0] < 5 && place[1] < 3));
    }
}
