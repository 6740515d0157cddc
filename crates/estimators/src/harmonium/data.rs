use countgrid_corpus::{Blocks, CorpusError};
use countgrid_counts::{Bags, CsrBuf};
use countgrid_harmonium::{Draws, Noise};
use countgrid_math::shuffle;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use super::{FeatureError, FeatureValues, HarmoniumKind, HarmoniumPlan, Standardizer};
use crate::{DataDigest, EstimatorError, Stored};

/// Documents in the form that a harmonium is fitted to.
///
/// Example: [`HarmoniumTraining`](crate::HarmoniumTraining).
#[derive(Clone, Debug)]
pub struct HarmoniumData<T> {
    pub(super) bags: CsrBuf<T>,
    pub(super) features: Vec<T>, // [document][feature], standardised; none for a single wing
    pub(super) standardizer: Option<Standardizer>, // of a dual wing
}

impl<T: Stored> HarmoniumData<T> {
    /// Counts of the words of the model, truncated to the number of trials unless they are Poisson; and for a
    /// dual wing features, which are standardised.
    ///
    /// # Errors
    /// [`EstimatorError::Features`] for a dual wing without features, features for another model, a constant
    /// feature; blocks that cannot be read.
    pub fn new(
        plan: &HarmoniumPlan,
        bags: &Blocks<T>,
        features: Option<&FeatureValues>,
    ) -> Result<Self, EstimatorError> {
        let kind = plan.options.kind;
        let bags = counts_for(kind, plan.options.trials, bags)?;
        let (standardizer, features) = match (kind, features) {
            (HarmoniumKind::DualWing, Some(features)) => {
                let standardizer = Standardizer::fit(features)?;
                let values = standardizer.apply(features)?;
                (Some(standardizer), features_of(&values, bags.len())?)
            }
            (HarmoniumKind::DualWing, None) => return Err(FeatureError::Missing.into()),
            (kind, Some(_)) => return Err(FeatureError::NoFeatureWing { kind }.into()),
            (_, None) => (None, Vec::new()),
        };
        Ok(Self { bags, features, standardizer })
    }

    /// Number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bags.len()
    }

    /// Whether there is no document at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bags.is_empty()
    }

    /// Mean and standard deviation of each feature of a dual wing.
    #[must_use]
    pub fn standardizer(&self) -> Option<&Standardizer> {
        self.standardizer.as_ref()
    }

    /// Features of a document.
    pub(super) fn columns(&self) -> usize {
        self.standardizer.as_ref().map_or(0, |standardizer| standardizer.names().len())
    }

    /// All documents in a random order, so many at a time.
    pub(super) fn batches(&self, size: usize, seed: u64) -> Result<Vec<Self>, EstimatorError> {
        let mut order: Vec<usize> = (0..self.bags.len()).collect();
        let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(seed));
        shuffle(&mut order, |n| {
            let u: f64 = draws.uniform();
            (u * n as f64) as usize
        });
        let columns = self.columns();
        let batch = |documents: &[usize]| {
            let mut bags = CsrBuf::new(Bags::features(&self.bags)).map_err(CorpusError::from)?;
            let mut features = Vec::with_capacity(documents.len() * columns);
            for &document in documents {
                bags.push_bag(self.bags.entries(document)).map_err(CorpusError::from)?;
                let own = self.features.get(document * columns..(document + 1) * columns);
                features.extend_from_slice(own.unwrap_or_default());
            }
            Ok(Self { bags, features, standardizer: None })
        };
        order.chunks(size.max(1)).map(batch).collect()
    }

    /// What a checkpoint knows the data by.
    pub(super) fn digest(&self) -> DataDigest {
        let mut digest = DataDigest::new(Bags::features(&self.bags));
        let columns = self.columns();
        for document in 0..self.bags.len() {
            let entries = self.bags.entries(document);
            let words = entries.flat_map(|(word, count)| [word as u64, bits(count)]);
            let own = self.features.get(document * columns..(document + 1) * columns);
            digest.add(words.chain(own.unwrap_or_default().iter().map(|&z| bits(z))));
        }
        digest
    }
}

fn bits<T: Stored>(x: T) -> u64 {
    countgrid_math::Real::to_f64(x).to_bits()
}

/// Counts of the words of a harmonium: truncated to the number of trials, unless they are Poisson.
pub(super) fn counts_for<T: Stored>(
    kind: HarmoniumKind,
    trials: u32,
    bags: &Blocks<T>,
) -> Result<CsrBuf<T>, CorpusError> {
    let poisson = kind == HarmoniumKind::RateAdapting;
    let most = if poisson { T::infinity() } else { T::from_f64(f64::from(trials)) };
    let presence = !poisson && trials == 1;
    bags.gather(|count| if presence { T::one() } else { count.min(most) })
}

/// Features of so many documents in the model's precision.
pub(super) fn features_of<T: Stored>(
    values: &FeatureValues,
    documents: usize,
) -> Result<Vec<T>, FeatureError> {
    if values.rows() != documents {
        return Err(FeatureError::Rows { rows: values.rows(), documents });
    }
    Ok(values.values.iter().map(|&x| T::from_f64(x)).collect())
}

#[cfg(test)]
mod tests {
    use countgrid_corpus::{BlockLimits, BlocksBuilder};

    use super::*;
    use crate::{BagTotals, HarmoniumOptions};

    /// Documents of which each has its own number of words and its own features.
    fn data(documents: usize) -> HarmoniumData<f64> {
        let mut builder = BlocksBuilder::new(documents, BlockLimits::in_memory()).unwrap();
        (0..documents).for_each(|t| builder.push((0..t).map(|word| (word, 1.0))).unwrap());
        let blocks = builder.finish().unwrap();
        let (kind, topics) = (HarmoniumKind::DualWing, 1);
        let options = HarmoniumOptions { kind, topics, ..HarmoniumOptions::default() };
        let plan = options.check(BagTotals::from_blocks(&blocks).unwrap()).unwrap();
        let values = (0..2 * documents).map(|x| (x * x) as f64).collect();
        let features = FeatureValues { names: vec!["a".into(), "b".into()], values };
        HarmoniumData::new(&plan, &blocks, Some(&features)).unwrap()
    }

    #[test]
    fn batches_have_every_document_once_with_its_features() {
        let data = data(7);
        for (size, sizes) in [(3, &[3, 3, 1][..]), (1, &[1; 7]), (7, &[7]), (100, &[7]), (0, &[1; 7])] {
            let batches = data.batches(size, 5).unwrap();
            assert_eq!(batches.iter().map(HarmoniumData::len).collect::<Vec<_>>(), sizes);
            let mut seen = Vec::new();
            for batch in &batches {
                for own in 0..batch.len() {
                    let document = batch.bags.entries(own).count();
                    assert_eq!(
                        batch.features[own * 2..own * 2 + 2],
                        data.features[document * 2..document * 2 + 2]
                    );
                    seen.push(document);
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..7).collect::<Vec<_>>());
        }
    }

    /// Each of the six orders of three documents for about a sixth of the seeds: of 600 about 100, with a standard deviation
    /// of 9.
    #[test]
    fn every_order_of_documents_is_as_likely() {
        let data = data(3);
        let mut found = std::collections::BTreeMap::new();
        for seed in 0..600 {
            let batches = data.batches(1, seed).unwrap();
            let order: Vec<_> = batches.iter().map(|batch| batch.bags.entries(0).count()).collect();
            *found.entry(order).or_insert(0) += 1;
        }
        assert_eq!(found.len(), 6);
        assert!(found.values().all(|count| (60..140).contains(count)), "{found:?}");
    }

    #[test]
    fn a_digest_is_that_of_every_feature() {
        let data = data(7);
        assert_eq!(data.digest(), data.clone().digest());
        for at in 0..data.features.len() {
            let mut other = data.clone();
            other.features[at] += 1.0;
            assert_ne!(other.digest(), data.digest(), "{at}");
        }
    }
}
