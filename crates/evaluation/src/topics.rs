//! Distributions over words, one for each topic: their top words, how far they differ, how well two sets of them agree.

use countgrid_classify::Summary;

use crate::{EvaluationError, coherence::cosine, completion::Mean, zeros};

/// Distributions over words, one for each topic.
///
/// ```
/// use countgrid_evaluation::WordDistributions;
/// let topics = WordDistributions::new(3, vec![0.5, 0.25, 0.25, 0.0, 0.25, 0.75])?;
/// assert_eq!(topics.top_words(2), [[0, 1], [2, 1]]);
/// // Of the probability of each of these words, this topic has 1, 1/2; and 3/4, 1/2.
/// assert_eq!(topics.exclusivity(2).unwrap().value, (0.75 + 0.625) / 2.0);
/// # Ok::<(), countgrid_evaluation::EvaluationError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WordDistributions {
    words: usize,
    probabilities: Vec<f64>, // [topic][word], finite, not negative
}

impl WordDistributions {
    /// The table `[topic][word]`.
    ///
    /// # Errors
    /// [`EvaluationError::Distribution`] for another length, or what is no finite number from 0 on.
    pub fn new(words: usize, probabilities: Vec<f64>) -> Result<Self, EvaluationError> {
        let found = probabilities.len();
        if words == 0 || !found.is_multiple_of(words) {
            let expected = found.next_multiple_of(words.max(1));
            return Err(EvaluationError::Distribution { expected, found, index: None });
        }
        match probabilities.iter().position(|p| !(*p >= 0.0 && p.is_finite())) {
            Some(index) => Err(EvaluationError::Distribution { expected: found, found, index: Some(index) }),
            None => Ok(Self { words, probabilities }),
        }
    }

    /// Number of topics.
    #[must_use]
    pub fn topics(&self) -> usize {
        self.probabilities.len() / self.words
    }

    /// Number of words.
    #[must_use]
    pub fn words(&self) -> usize {
        self.words
    }

    /// The distributions, topic by topic.
    #[must_use]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.probabilities.chunks_exact(self.words)
    }

    /// The most probable words of each topic, of equals the first.
    #[must_use]
    pub fn top_words(&self, count: usize) -> Vec<Vec<usize>> {
        let top = |row: &[f64]| {
            let mut words: Vec<usize> = (0..row.len()).collect();
            let of = |word: usize| row.get(word).copied().unwrap_or(0.0);
            words.sort_by(|&a, &b| of(b).total_cmp(&of(a)).then(a.cmp(&b)));
            words.truncate(count);
            words
        };
        self.rows().map(top).collect()
    }

    /// Mean exclusivity: of a word under a topic the share that the topic has of its probability under all topics, the mean
    /// over the top words of a topic, then over topics. From 1 / topics, where all are the same, to 1. This is the
    /// exclusivity of Bischof & Airoldi, averaged over top words; not FREX, which takes ranks and frequency too. `None`
    /// without topics or top words.
    ///
    /// # Source
    /// J. Bischof & E. Airoldi, Summarizing topical content with word frequency and exclusivity, ICML 2012, Section 2.
    #[must_use]
    pub fn exclusivity(&self, top: usize) -> Option<Mean> {
        let mut totals = vec![0.0; self.words];
        for row in self.rows() {
            totals.iter_mut().zip(row).for_each(|(total, p)| *total += p);
        }
        let of_topic = |(row, words): (&[f64], Vec<usize>)| {
            let mut sum = Summary::default();
            for word in words {
                let (p, total) = (row.get(word).copied()?, totals.get(word).copied()?);
                // No topic has the word: all have the same share.
                sum.add(if total > 0.0 { p / total } else { 1.0 / self.topics() as f64 });
            }
            sum.mean()
        };
        let all: Option<Vec<f64>> = self.rows().zip(self.top_words(top)).map(of_topic).collect();
        all.filter(|all| !all.is_empty()).map(|all| Mean::of(&all))
    }
}

/// Topic diversity: the share of different words among the top words of all topics, usually 25 of each. `None` without words.
///
/// # Source
/// A. Dieng, F. Ruiz & D. Blei, Topic modeling in embedding spaces, Transactions of the ACL 8, 2020.
///
/// ```
/// use countgrid_evaluation::topic_diversity;
/// assert_eq!(topic_diversity(&[vec![0, 1], vec![1, 2]]), Some(0.75));
/// ```
#[must_use]
pub fn topic_diversity(top_words: &[Vec<usize>]) -> Option<f64> {
    let mut all: Vec<usize> = top_words.iter().flatten().copied().collect();
    let words = all.len();
    all.sort_unstable();
    all.dedup();
    (words > 0).then(|| all.len() as f64 / words as f64)
}

/// How well the topics of two fits agree: the mean cosine of distributions over the pairs of the best assignment of the topics of
/// the one to those of the other, which has the largest sum (the Hungarian method). If one has more topics, those without a
/// partner are left out. `None` if one has none.
///
/// # Errors
/// [`EvaluationError::Words`] for another number of words; [`EvaluationError::Memory`].
///
/// ```
/// use countgrid_evaluation::{WordDistributions, best_match};
/// let a = WordDistributions::new(2, vec![1.0, 0.0, 0.0, 1.0])?;
/// let b = WordDistributions::new(2, vec![0.0, 1.0, 1.0, 0.0])?; // in another order
/// assert_eq!(best_match(&a, &b)?.unwrap().value, 1.0);
/// # Ok::<(), countgrid_evaluation::EvaluationError>(())
/// ```
pub fn best_match(a: &WordDistributions, b: &WordDistributions) -> Result<Option<Mean>, EvaluationError> {
    if a.words() != b.words() {
        return Err(EvaluationError::Words { expected: a.words(), found: b.words() });
    }
    let (a, b) = if a.topics() <= b.topics() { (a, b) } else { (b, a) };
    if a.topics() == 0 {
        return Ok(None);
    }
    let mut similarity = zeros::<f64>(a.topics().saturating_mul(b.topics()))?;
    for (row, own) in similarity.chunks_exact_mut(b.topics()).zip(a.rows()) {
        row.iter_mut().zip(b.rows()).for_each(|(similarity, other)| *similarity = cosine(own, other));
    }
    let partners = assignment(&similarity, b.topics());
    let cosines: Vec<f64> = partners
        .into_iter()
        .enumerate()
        .filter_map(|(row, column)| similarity.get(row * b.topics() + column).copied())
        .collect();
    Ok(Some(Mean::of(&cosines)))
}

/// For each row the column that it is assigned to, so that the sum is the largest; `columns` are at least as many as rows.
///
/// H. Kuhn, The Hungarian method for the assignment problem, Naval Research Logistics Quarterly 2, 1955, with shortest
/// augmenting paths: `rows² × columns` steps.
#[allow(clippy::indexing_slicing, reason = "all indices are rows and columns, counted from 1")]
fn assignment(values: &[f64], columns: usize) -> Vec<usize> {
    let rows = values.len() / columns.max(1);
    let (mut u, mut v) = (vec![0.0; rows + 1], vec![0.0; columns + 1]);
    let (mut row_of, mut way) = (vec![0; columns + 1], vec![0; columns + 1]);
    for row in 1..=rows {
        row_of[0] = row;
        let mut column = 0;
        let (mut least, mut used) = (vec![f64::INFINITY; columns + 1], vec![false; columns + 1]);
        loop {
            used[column] = true;
            let (own, mut delta, mut next) = (row_of[column], f64::INFINITY, 0);
            for other in 1..=columns {
                if used[other] {
                    continue;
                }
                let cost = -values[(own - 1) * columns + other - 1] - u[own] - v[other];
                if cost < least[other] {
                    (least[other], way[other]) = (cost, column);
                }
                if least[other] < delta {
                    (delta, next) = (least[other], other);
                }
            }
            for other in 0..=columns {
                if used[other] {
                    u[row_of[other]] += delta;
                    v[other] -= delta;
                } else {
                    least[other] -= delta;
                }
            }
            column = next;
            if row_of[column] == 0 {
                break;
            }
        }
        while column != 0 {
            let before = way[column];
            row_of[column] = row_of[before];
            column = before;
        }
    }
    let mut partners = vec![0; rows];
    for (column, &row) in row_of.iter().enumerate().skip(1) {
        if row > 0 {
            partners[row - 1] = column - 1;
        }
    }
    partners
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::assignment;

    /// All ways to assign rows to columns.
    fn best(values: &[f64], columns: usize, row: usize, used: &mut Vec<bool>) -> f64 {
        if row == values.len() / columns {
            return 0.0;
        }
        let mut most = f64::NEG_INFINITY;
        for column in 0..columns {
            if !used[column] {
                used[column] = true;
                most = most.max(values[row * columns + column] + best(values, columns, row + 1, used));
                used[column] = false;
            }
        }
        most
    }

    proptest! {
        #[test]
        fn the_assignment_is_the_best_of_all(
            (rows, columns, values) in (1..5_usize, 0..3_usize).prop_flat_map(|(rows, more)| {
                let columns = rows + more;
                (Just(rows), Just(columns), prop::collection::vec(0..20_u8, rows * columns))
            })
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let found = assignment(&values, columns);
            let mut columns_found = found.clone();
            columns_found.sort_unstable();
            columns_found.dedup();
            prop_assert_eq!(columns_found.len(), rows);
            let sum: f64 = found.iter().enumerate().map(|(row, &column)| values[row * columns + column]).sum();
            prop_assert_eq!(sum, best(&values, columns, 0, &mut vec![false; columns]));
        }
    }
}
