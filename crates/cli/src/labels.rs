//! The labels of documents, and what a fitted grid says of them.

use std::collections::HashMap;

use countgrid_grid::{Embedding, LabelSums, Labels, Reading, Shape, label_scratch_len, label_sums_len};
use countgrid_math::Real;

use crate::{
    corpus::Corpus,
    failure::Failure,
    fit::Inference,
    layout::AXES,
    place::place,
    report::{Report, thousands},
    store::Storable,
};

/// Which label each document has, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labelling {
    /// The labels, each once; in order once [`Labelling::finish`] has run.
    pub(crate) names: Vec<String>,
    /// One for each document.
    pub(crate) of: Vec<Option<u32>>,
    numbers: HashMap<String, u32>, // of the names, while documents are read
}

impl Labelling {
    /// Adds a document.
    pub(crate) fn push(&mut self, label: Option<String>) {
        let number = label.map(|label| match self.numbers.get(&label) {
            Some(&number) => number,
            None => {
                let number = self.names.len() as u32; // documents are fewer than 2³²
                self.names.push(label.clone());
                self.numbers.insert(label, number);
                number
            }
        });
        self.of.push(number);
    }

    /// Labels that are known only after the documents.
    pub(crate) fn replace(&mut self, labels: Vec<Option<String>>) {
        *self = Self::default();
        labels.into_iter().for_each(|label| self.push(label));
    }

    /// Puts the labels in order, so that they do not depend on that of the documents.
    pub(crate) fn finish(mut self) -> Self {
        let mut order: Vec<u32> = (0u32..).take(self.names.len()).collect();
        order.sort_by(|&a, &b| self.names[a as usize].cmp(&self.names[b as usize]));
        let mut place = vec![0; order.len()];
        order.iter().zip(0u32..).for_each(|(&old, new)| place[old as usize] = new);
        self.of.iter_mut().flatten().for_each(|label| *label = place[*label as usize]);
        self.names.sort();
        self.numbers = HashMap::new();
        self
    }

    /// The label of a document.
    pub(crate) fn name(&self, document: usize) -> Option<&str> {
        let label = *self.of.get(document)?;
        self.names.get(label? as usize).map(String::as_str)
    }
}

/// Labels as a model knows them: what a document at each window would read.
#[derive(Debug)]
pub(crate) struct Labelled<T> {
    pub(crate) names: Vec<String>,
    pub(crate) table: Vec<T>, // [label][cell], shares that sum to one over labels
    shape: Shape<AXES>,
}

impl<T: Real> Labelled<T> {
    /// Takes a table `[label][cell]`.
    pub(crate) fn new(shape: Shape<AXES>, names: Vec<String>, table: Vec<T>) -> Result<Self, Failure> {
        Labels::new(shape, names.len(), table.as_slice())?;
        Ok(Self { names, table, shape })
    }

    /// The labels to read.
    pub(crate) fn labels(&self) -> Result<Labels<T, &[T], AXES>, Failure> {
        Ok(Labels::new(self.shape, self.names.len(), self.table.as_slice())?)
    }

    /// Embeds the labels of documents where the documents lie; none without labels. Those without a word have no
    /// place, and so no part.
    pub(crate) fn embed(
        histograms: &Inference<T>,
        corpus: &Corpus<T>,
        report: &Report,
    ) -> Result<Option<Self>, Failure>
    where
        T: Storable,
    {
        let (shape, classes) = (*histograms.shape(), corpus.labels.names.len());
        if classes > shape.features() {
            // As large as the grid itself: rather a title than a class.
            report.note(format_args!(
                "the model leaves out labels: there are {}, more than words",
                thousands(classes)
            ));
        }
        if !(1..=shape.features()).contains(&classes) {
            return Ok(None);
        }
        let too_many = || Failure::new("too many labels for this memory", "name another --label-column");
        let zeros = |elements: usize| {
            let mut zeros = Vec::new();
            zeros.try_reserve_exact(elements).map_err(|_| too_many())?;
            zeros.resize(elements, 0.0f64);
            Ok::<_, Failure>(zeros)
        };
        let length = label_sums_len(&shape, classes).ok_or_else(too_many)?;
        let mut sums = LabelSums::new(shape, classes, zeros(length)?)?;
        let mut some = false;
        let mut refused = None;
        place(histograms, &corpus.bags, |bag, tokens, posterior| {
            let Some(&Some(class)) = corpus.labels.of.get(bag) else { return };
            if tokens > 0.0 {
                some = true;
                refused = refused.or(sums.add_class(posterior, class as usize).err());
            }
        })?;
        if let Some(error) = refused {
            return Err(error.into());
        }
        if !some {
            return Ok(None);
        }
        let mut scratch = zeros(label_scratch_len(&shape))?;
        let embedding = Embedding::new(sums, &mut scratch)?;
        let table = zeros(classes * shape.cells())?;
        let labels = embedding.labels(Reading::Window, table, &mut scratch)?;
        let table = countgrid_em::Tables::buffer(&labels).iter().map(|&share| T::from_f64(share)).collect();
        Ok(Some(Self { names: corpus.labels.names.clone(), table, shape }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_in_order_whatever_that_of_the_documents() {
        let mut labelling = Labelling::default();
        let labels = [Some("b"), None, Some("c"), Some("a"), Some("b")];
        labels.iter().for_each(|label| labelling.push(label.map(str::to_owned)));
        let labelling = labelling.finish();
        assert_eq!(labelling.names, ["a", "b", "c"]);
        let found: Vec<_> = (0..5).map(|document| labelling.name(document)).collect();
        assert_eq!(found, labels);
        assert_eq!(labelling.name(5), None);
    }
}
