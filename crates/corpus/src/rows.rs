use countgrid_counts::{BagsError, Count};
use countgrid_math::Real;

use crate::{BlockLimits, Blocks, BlocksBuilder, CorpusError, Storable, scale_to_total};

/// Makes bags over the vocabulary that a model takes: terms become features, sums are scaled, counts are rounded once.
#[derive(Debug)]
pub(crate) struct Rows<T> {
    pub(crate) vocabulary: Vec<String>,
    total: Option<f64>, // of the counts of each bag, where they are scaled
    tokens: f64,
    nonempty: usize,
    bags: BlocksBuilder<T>,
    row: Vec<(usize, f64)>, // the present bag, before rounding
}

/// What came out.
pub(crate) struct Finished<T> {
    pub(crate) vocabulary: Vec<String>,
    pub(crate) tokens: f64,
    pub(crate) nonempty: usize,
    pub(crate) bags: Blocks<T>,
}

impl<T: Real + Storable> Rows<T> {
    pub(crate) fn new(
        vocabulary: Vec<String>,
        total: Option<f64>,
        limits: BlockLimits,
    ) -> Result<Self, CorpusError> {
        let bags = BlocksBuilder::new(vocabulary.len(), limits)?;
        Ok(Self { vocabulary, total, tokens: 0.0, nonempty: 0, bags, row: Vec::new() })
    }

    /// Adds a bag of terms, each of which may have a feature; returns it as it is before rounding.
    pub(crate) fn push<C: Count>(
        &mut self,
        terms: impl IntoIterator<Item = (usize, C)>,
        feature_of: impl Fn(usize) -> Option<u32>,
    ) -> Result<&[(usize, f64)], CorpusError> {
        self.row.clear();
        let known = |(term, count): (usize, C)| Some((feature_of(term)? as usize, count.to_real()));
        self.row.extend(terms.into_iter().filter_map(known));
        self.add_row()?;
        Ok(&self.row)
    }

    /// Adds the row as a bag. Apart from what fills it, so that a sort is not compiled for every kind of terms.
    fn add_row(&mut self) -> Result<(), CorpusError> {
        let row = &mut self.row;
        row.sort_by_key(|&(feature, _)| feature);
        // Several forms of a word are one feature.
        row.dedup_by(|(feature, count), (kept, sum)| {
            let same = feature == kept;
            *sum += if same { *count } else { 0.0 };
            same
        });
        scale_to_total(self.total, row);
        let rounded = row.iter().map(|&(feature, count)| (feature, T::from_f64(count)));
        if let Err(error) = self.bags.push(rounded) {
            return Err(match error {
                CorpusError::Bags(BagsError::Count { feature, .. }) => CorpusError::CountTooLarge {
                    document: self.bags.len(),
                    word: self.vocabulary.get(feature).cloned().unwrap_or_default(),
                    scalar: std::any::type_name::<T>(),
                },
                error => error,
            });
        }
        self.tokens += row.iter().fold(0.0, |sum, (_, count)| sum + count);
        self.nonempty += usize::from(!row.is_empty());
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.bags.len()
    }

    pub(crate) fn finish(self) -> Result<Finished<T>, CorpusError> {
        let Self { vocabulary, tokens, nonempty, bags, .. } = self;
        Ok(Finished { vocabulary, tokens, nonempty, bags: bags.finish()? })
    }
}
