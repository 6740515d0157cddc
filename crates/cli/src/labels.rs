//! The labels of documents, and what a fitted grid says of them.

use std::collections::HashMap;

use countgrid_em::Tables;
use countgrid_grid::{Embedding, LabelSums, Labels, Readout, Shape, label_scratch_len, label_sums_len};
use countgrid_math::Real;

use crate::{
    corpus::Corpus,
    failure::Failure,
    fit::Inference,
    layout::AXES,
    memory::zeros,
    posteriors::for_each_posterior,
    report::{Report, thousands},
    store::{Storable, Store},
};

/// Which label each document has, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labelling {
    /// The labels, each once; in order once [`Labelling::finish`] has run.
    pub(crate) names: Vec<String>,
    /// One for each document.
    pub(crate) by_document: Vec<Option<u32>>,
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
        self.by_document.push(number);
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
        self.by_document.iter_mut().flatten().for_each(|label| *label = place[*label as usize]);
        self.names.sort();
        self.numbers = HashMap::new();
        self
    }

    /// The label of a document.
    pub(crate) fn name(&self, document: usize) -> Option<&str> {
        let label = *self.by_document.get(document)?;
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

    /// The labels of a collection, embedded where its documents lie; none without labels.
    pub(crate) fn embed(
        histograms: &Inference<T>,
        corpus: &Corpus<T>,
        report: &Report,
    ) -> Result<Option<Self>, Failure>
    where
        T: Storable,
    {
        let (shape, names) = (*histograms.shape(), &corpus.labels.names);
        if names.len() > shape.features() {
            // As large as the grid itself: rather a title than a class.
            report.note(format_args!(
                "the model leaves out labels: there are {}, more than words",
                thousands(names.len())
            ));
        }
        if !(1..=shape.features()).contains(&names.len()) {
            return Ok(None);
        }
        let label_of = |document: usize| corpus.labels.by_document.get(document).copied().flatten();
        let labels =
            embed(histograms, &corpus.bags, names.len(), |document| Some(label_of(document)? as usize))?;
        Ok(labels.map(|labels| {
            let table = labels.buffer().iter().map(|&share| T::from_f64(share)).collect();
            Self { names: names.clone(), table, shape }
        }))
    }
}

/// Embeds the labels of documents where the documents lie, and says what others read there; none if no document that
/// has a label has a word: without one it has no place, and so no part.
pub(crate) fn embed<T: Real + Storable>(
    histograms: &Inference<T>,
    bags: &Store<T>,
    classes: usize,
    label_of: impl Fn(usize) -> Option<usize>,
) -> Result<Option<Labels<f64, Vec<f64>, AXES>>, Failure> {
    let shape = *histograms.shape();
    let length = label_sums_len(&shape, classes).unwrap_or(usize::MAX);
    let mut sums = LabelSums::new(shape, classes, zeros(length)?)?;
    let (mut some, mut refused) = (false, None);
    for_each_posterior(histograms, bags, |bag, tokens, posterior| {
        if let Some(class) = label_of(bag).filter(|_| tokens > 0.0) {
            some = true;
            refused = refused.or(sums.add_class(posterior, class).err());
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
    Ok(Some(embedding.labels(Readout::Window, zeros(classes * shape.cells())?, &mut scratch)?))
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
