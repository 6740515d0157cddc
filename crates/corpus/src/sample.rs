use countgrid_math::{index_below, shuffle_first};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::LabelColumn;

/// A random sample: this many documents of each label, and as many of those without a label, or all where there are fewer.
///
/// ```
/// use countgrid_corpus::{LabelColumn, Sample};
/// let labels = LabelColumn::from_labels(["a", "b", "a", "a"].map(|label| Some(label.to_owned())));
/// let drawn = Sample { per_label: 2, seed: 1 }.draw(&labels);
/// assert!(drawn[1] && drawn.iter().filter(|&&drawn| drawn).count() == 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Sample {
    /// Documents of each label at most.
    pub per_label: usize,
    /// Seed of the random numbers: the same seed gives the same sample.
    pub seed: u64,
}

impl Sample {
    /// Which documents are drawn, in their order: labels are drawn from in their order, then documents without.
    #[must_use]
    pub fn draw(self, labels: &LabelColumn) -> Vec<bool> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut groups = vec![Vec::new(); labels.names.len() + 1];
        for (document, label) in labels.by_document.iter().enumerate() {
            let group = label.map_or(labels.names.len(), |label| (label as usize).min(labels.names.len()));
            groups[group].push(document);
        }
        let mut drawn = vec![false; labels.by_document.len()];
        for group in &mut groups {
            shuffle_first(group, self.per_label, |n| index_below(rng.next_u64(), n));
            group.iter().take(self.per_label).for_each(|&document| drawn[document] = true);
        }
        drawn
    }
}
