use std::collections::HashMap;

/// The label of each document, if it has one.
///
/// ```
/// use countgrid_corpus::LabelColumn;
/// let labels = LabelColumn::from_labels(["sports", "cars", "sports"].map(|label| Some(label.to_owned())));
/// assert_eq!(labels.names, ["cars", "sports"]);
/// assert_eq!(labels.by_document, [Some(1), Some(0), Some(1)]);
/// assert_eq!(labels.name(2), Some("sports"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelColumn {
    /// The labels, each once, in order.
    pub names: Vec<String>,
    /// For each document the index of its label in `names`, below their number.
    pub by_document: Vec<Option<u32>>,
}

impl LabelColumn {
    /// The column of these labels, one for each document. There may be fewer than 2³² different ones.
    pub fn from_labels(labels: impl IntoIterator<Item = Option<String>>) -> Self {
        let mut builder = LabelsBuilder::default();
        labels.into_iter().for_each(|label| builder.push(label));
        builder.finish()
    }

    /// The label of a document; `None` if it has none, or there is no such document.
    pub fn name(&self, document: usize) -> Option<&str> {
        let label = *self.by_document.get(document)?;
        self.names.get(label? as usize).map(String::as_str)
    }

    /// Number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_document.len()
    }

    /// Whether there is no document at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_document.is_empty()
    }
}

/// Takes labels one after the other, as documents are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelsBuilder {
    names: Vec<String>,
    by_document: Vec<Option<u32>>,
    numbers: HashMap<String, u32>, // of the names
}

impl LabelsBuilder {
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

    /// Number of documents so far.
    pub(crate) fn len(&self) -> usize {
        self.by_document.len()
    }

    /// Puts the labels in order, so that they do not depend on that of the documents.
    pub(crate) fn finish(self) -> LabelColumn {
        let Self { mut names, mut by_document, .. } = self;
        let mut order: Vec<u32> = (0u32..).take(names.len()).collect();
        order.sort_by(|&a, &b| names[a as usize].cmp(&names[b as usize]));
        let mut place = vec![0; order.len()];
        order.iter().zip(0u32..).for_each(|(&old, new)| place[old as usize] = new);
        by_document.iter_mut().flatten().for_each(|label| *label = place[*label as usize]);
        names.sort();
        LabelColumn { names, by_document }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_in_order_whatever_that_of_the_documents() {
        let labels = [Some("b"), None, Some("c"), Some("a"), Some("b")];
        let column = LabelColumn::from_labels(labels.map(|label| label.map(str::to_owned)));
        assert_eq!(column.names, ["a", "b", "c"]);
        let found: Vec<_> = (0..5).map(|document| column.name(document)).collect();
        assert_eq!(found, labels);
        assert_eq!(column.name(5), None);
    }

    #[test]
    fn a_column_has_a_label_or_none_of_each_document() {
        let column = |n: usize| LabelColumn::from_labels(vec![None; n]);
        for n in 0..3 {
            assert_eq!((column(n).len(), column(n).is_empty()), (n, n == 0));
        }
    }
}
