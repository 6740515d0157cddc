//! Bags that every model is fitted to.

use countgrid_counts::{Bag, BagsError, Csr};

use crate::report::Values;

pub(crate) const BAGS: usize = 48;
pub(crate) const FEATURES: usize = 20;

/// Sparse rows. Each bag prefers a run of features, so that a fit has something to find; one bag is empty.
pub(crate) struct Data {
    offsets: [usize; BAGS + 1],
    indices: [u32; BAGS * FEATURES],
    counts: [u16; BAGS * FEATURES],
}

impl Data {
    pub(crate) fn new() -> Self {
        let mut data =
            Self { offsets: [0; BAGS + 1], indices: [0; BAGS * FEATURES], counts: [0; BAGS * FEATURES] };
        let (mut entries, mut values) = (0, Values(1));
        for bag in 0..BAGS {
            let centre = bag * FEATURES / BAGS;
            for feature in 0..FEATURES {
                let near = (feature + FEATURES - centre) % FEATURES < 5;
                let (rolled, most) = (values.bits() >> 12, if near { 30 } else { 4 });
                let count = (rolled % most) as u16;
                // Half of the features that do not fit are absent.
                if bag != 7 && count > 0 && (near || rolled & 64 == 0) {
                    (data.indices[entries], data.counts[entries]) = (feature as u32, count);
                    entries += 1;
                }
            }
            data.offsets[bag + 1] = entries;
        }
        data
    }

    pub(crate) fn bags(&self) -> Result<Csr<'_, u16>, BagsError> {
        let entries = self.offsets[BAGS];
        Csr::new(FEATURES, &self.offsets, &self.indices[..entries], &self.counts[..entries])
    }

    pub(crate) fn bag(&self, bag: usize) -> Result<Bag<'_, u16>, BagsError> {
        let entries = self.offsets[bag]..self.offsets[bag + 1];
        Bag::new(FEATURES, &self.indices[entries.clone()], &self.counts[entries])
    }

    /// The same counts, zeros and all: `[bag][feature]`.
    pub(crate) fn dense(&self) -> [u16; BAGS * FEATURES] {
        let mut dense = [0; BAGS * FEATURES];
        for bag in 0..BAGS {
            for entry in self.offsets[bag]..self.offsets[bag + 1] {
                dense[bag * FEATURES + self.indices[entry] as usize] = self.counts[entry];
            }
        }
        dense
    }
}
