//! Digests by which checkpoints identify data.

use countgrid_counts::{Bags, Csr};

use crate::Stored;

/// How a checkpoint identifies data: their number, the number of features, and a digest of every entry. Not
/// cryptographic: it distinguishes data sets, and does not detect forgery.
///
/// ```
/// use countgrid_counts::Csr;
/// use countgrid_estimators::DataDigest;
/// let digest = |counts: &[f32]| {
///     let mut digest = DataDigest::new(4);
///     digest.add_bags(&Csr::new(4, &[0, 2, 3], &[0, 3, 1], counts).unwrap());
///     digest
/// };
/// assert_eq!(digest(&[1.0, 2.0, 5.0]), digest(&[1.0, 2.0, 5.0]));
/// assert_ne!(digest(&[1.0, 2.0, 5.0]), digest(&[1.0, 2.0, 6.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataDigest {
    data: u64,
    features: u64,
    hash: u64,
}

impl DataDigest {
    /// That of no data yet, over so many features.
    #[must_use]
    pub fn new(features: usize) -> Self {
        Self { data: 0, features: features as u64, hash: 0 }
    }

    /// Adds one datum by the words that describe it.
    pub fn add(&mut self, words: impl IntoIterator<Item = u64>) {
        self.data += 1;
        self.mix(self.data);
        words.into_iter().for_each(|word| self.mix(word));
    }

    /// The digest of all entries so far.
    #[cfg(feature = "serde")] // of a leaf of a fit in parts
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// Adds every bag: features and counts.
    pub fn add_bags<C: Stored>(&mut self, bags: &Csr<'_, C>) {
        for bag in 0..bags.len() {
            let entries = bags.entries(bag);
            self.add(entries.flat_map(|(feature, count)| {
                [feature as u64, countgrid_math::Real::to_f64(count).to_bits()]
            }));
        }
    }

    /// SplitMix64's finaliser over all words so far.
    fn mix(&mut self, word: u64) {
        let z = (self.hash ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        self.hash = z ^ (z >> 31);
    }

    /// By name, as a checkpoint has them.
    pub(crate) fn texts(&self) -> [(&'static str, String); 3] {
        let Self { data, features, hash } = self;
        [("number", data.to_string()), ("features", features.to_string()), ("digest", format!("{hash:016x}"))]
    }
}
