use std::cell::RefCell;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder, Corpus, CorpusKind, scale_to_total};
use countgrid_counts::{Bags, CsrBuf, SequencesBuf};
use countgrid_estimators::FeatureRows;
use countgrid_text::{Levels, Selection, TextOptions, variances};

use crate::{
    EvaluationError, EvaluationOptions, Features, Scalar, WordSelection, classifier::KernelMatrices,
};

/// Labelled documents over all their words: which words are kept is decided in each fold, from the documents that are not
/// held out.
///
/// Example: [the crate's](crate).
#[derive(Debug)]
pub struct LabelledData<T> {
    corpus: Corpus<T>,
    bags: CsrBuf<T>,
    items: Vec<Item>,
    sequences: Option<SequencesBuf<u16>>, // of the documents, for models of sequences
}

/// A document that has a label.
#[derive(Clone, Copy, Debug)]
struct Item {
    document: usize,
    label: usize,
}

/// Documents in the forms that models take.
///
/// Example: [the crate's](crate).
#[derive(Debug)]
pub struct Part<T> {
    /// Over the words of the fold.
    pub bags: Blocks<T>,
    /// Sequences of symbols, for models of sequences.
    pub sequences: Option<SequencesBuf<u16>>,
}

/// Documents with labels to learn from, and documents whose labels are to be predicted.
///
/// Example: [the crate's](crate).
#[derive(Debug)]
pub struct Fold<T> {
    /// Documents to learn from.
    pub training: Part<T>,
    /// Their labels, below `classes`.
    pub labels: Vec<usize>,
    /// Documents that are held out.
    pub test: Part<T>,
    /// Number of labels.
    pub classes: usize,
    /// Whether there are several candidates, so that what they share is kept.
    pub(crate) shared: bool,
    /// Features of both parts that were computed, by the options of their models.
    pub(crate) features: RefCell<Vec<(Features, (FeatureRows, FeatureRows))>>,
    /// The similarities that were computed last.
    pub(crate) kernels: RefCell<Option<KernelMatrices>>,
}

impl<T: Scalar> Part<T> {
    /// Number of documents.
    pub fn len(&self) -> usize {
        self.bags.len()
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The documents for which `keep` is true, in their order.
    ///
    /// # Errors
    /// [`EvaluationError::Corpus`] if there is no memory for them.
    pub fn filter(&self, keep: impl Fn(usize) -> bool) -> Result<Self, EvaluationError> {
        let mut builder = BlocksBuilder::new(self.bags.features(), BlockLimits::in_memory())?;
        self.bags.for_each_block(false, |first, block| {
            let mut kept = (0..block.len()).filter(|bag| keep(first + bag));
            kept.try_for_each(|bag| builder.push(block.entries(bag)))
        })?;
        let sequences = match &self.sequences {
            Some(all) => {
                let mut own = SequencesBuf::new(all.as_view().symbols());
                for (_, sequence) in all.as_view().iter().enumerate().filter(|(place, _)| keep(*place)) {
                    own.push(sequence.entries().iter().copied())?;
                }
                Some(own)
            }
            None => None,
        };
        Ok(Self { bags: builder.finish()?, sequences })
    }

    pub(crate) fn sequences(&self) -> Result<&SequencesBuf<u16>, EvaluationError> {
        self.sequences.as_ref().ok_or(EvaluationError::NoSequences)
    }
}

impl<T: Scalar> Fold<T> {
    /// The same fold, for several candidates.
    pub(crate) fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// The training documents of a class.
    pub(crate) fn class_part(&self, class: usize) -> Result<Part<T>, EvaluationError> {
        self.training.filter(|place| self.labels.get(place) == Some(&class))
    }
}

impl<T: Scalar> LabelledData<T> {
    /// The labelled documents of a corpus, which should keep every word: a vocabulary that was selected from all of them
    /// would have seen those that are held out. `sequences` are the documents in their order, for models of sequences.
    ///
    /// # Errors
    /// [`EvaluationError::FewLabels`] without two labels; [`EvaluationError::Corpus`] if counts cannot be read.
    pub fn new(corpus: Corpus<T>, sequences: Option<SequencesBuf<u16>>) -> Result<Self, EvaluationError> {
        let bags = corpus.bags.gather(|count| count)?;
        let labels = corpus.labels.by_document.iter().enumerate();
        let items: Vec<_> = labels
            .filter_map(|(document, label)| Some(Item { document, label: (*label)? as usize }))
            .collect();
        match corpus.labels.names.len() {
            labels @ (0 | 1) => Err(EvaluationError::FewLabels { corpus: corpus.name, labels }),
            _ => Ok(Self { corpus, bags, items, sequences }),
        }
    }

    /// All documents, those without a label too.
    pub fn corpus(&self) -> &Corpus<T> {
        &self.corpus
    }

    /// The label of each labelled document.
    pub fn labels(&self) -> Vec<usize> {
        self.items.iter().map(|item| item.label).collect()
    }

    /// The names of the labels.
    pub fn label_names(&self) -> &[String] {
        &self.corpus.labels.names
    }

    /// Documents that have no label.
    pub fn unlabelled(&self) -> usize {
        self.bags.len() - self.items.len()
    }

    /// The id of a labelled document in the data.
    pub fn id(&self, item: usize) -> &str {
        let document = self.items.get(item).and_then(|item| self.corpus.documents.get(item.document));
        document.map_or("", |document| document.id.as_str())
    }

    /// Training and held-out items over the words that the training items select.
    ///
    /// # Errors
    /// [`EvaluationError::NoWord`] if none is left; [`EvaluationError::Item`] for an item that does not exist.
    pub fn fold(
        &self,
        training: &[usize],
        test: &[usize],
        options: &EvaluationOptions,
    ) -> Result<Fold<T>, EvaluationError> {
        if let Some(&item) = training.iter().chain(test).find(|&&item| item >= self.items.len()) {
            return Err(EvaluationError::Item { item, items: self.items.len() });
        }
        let kept = self.select_words(training, options)?;
        let mut feature_of = vec![None; self.bags.features()];
        kept.iter().enumerate().for_each(|(new, &old)| feature_of[old] = Some(new));
        let part = |items: &[usize]| self.part(items, &feature_of, kept.len(), options.tokens);
        Ok(Fold {
            training: part(training)?,
            labels: training.iter().map(|&item| self.items[item].label).collect(),
            test: part(test)?,
            classes: self.label_names().len(),
            shared: false,
            features: RefCell::default(),
            kernels: RefCell::default(),
        })
    }

    /// Words that items select, ascending.
    fn select_words(
        &self,
        items: &[usize],
        options: &EvaluationOptions,
    ) -> Result<Vec<usize>, EvaluationError> {
        let limits = match self.corpus.kind {
            CorpusKind::Text => options.words.for_text(),
            _ => options.words.for_counts(),
        };
        let mut spread = vec![0; self.bags.features()];
        for (word, _) in items.iter().flat_map(|&item| self.bags.entries(self.items[item].document)) {
            spread[word] += 1;
        }
        let most = limits.max_words;
        let by_pairs = options.selection == WordSelection::Pairs;
        let first = if by_pairs { most } else { usize::MAX };
        let selection = Selection::new(&spread, items.len(), &TextOptions { max_words: first, ..limits });
        let mut kept = selection.kept;
        if kept.len() > most {
            let places = self.informative_words(items, &kept, most, options);
            let mut best: Vec<usize> = places.into_iter().map(|place| kept[place]).collect();
            best.sort_unstable();
            kept = best;
        }
        if kept.is_empty() {
            return Err(EvaluationError::NoWord { documents: items.len() });
        }
        Ok(kept)
    }

    /// The indices of the most informative words, by the chosen selection.
    fn informative_words(
        &self,
        items: &[usize],
        words: &[usize],
        most: usize,
        options: &EvaluationOptions,
    ) -> Vec<usize> {
        let mut place = vec![None; self.bags.features()];
        words.iter().enumerate().for_each(|(new, &old)| place[old] = Some(new));
        let bags: Vec<Vec<(usize, f64)>> = items
            .iter()
            .map(|&item| {
                let entries = self.bags.entries(self.items[item].document);
                let mut bag: Vec<_> =
                    entries.filter_map(|(word, count)| Some((place[word]?, count.to_f64()))).collect();
                scale_to_total(options.tokens, &mut bag);
                bag
            })
            .collect();
        let labels: Vec<usize> = items.iter().map(|&item| self.items[item].label).collect();
        let levels = || match self.corpus.kind {
            CorpusKind::Text => Levels::presence(words.len(), bags.iter().map(|bag| bag.iter().copied())),
            _ => Levels::deviations(words.len(), &bags),
        };
        match options.selection {
            WordSelection::Pairs => (0..words.len()).take(most).collect(),
            WordSelection::Variance => largest(&variances(words.len(), &bags), most),
            WordSelection::Information => largest(&levels().information(&labels), most),
            WordSelection::Mrmr => levels().mrmr(&labels, most),
        }
    }

    fn part(
        &self,
        items: &[usize],
        feature_of: &[Option<usize>],
        features: usize,
        tokens: Option<f64>,
    ) -> Result<Part<T>, EvaluationError> {
        let mut builder = BlocksBuilder::new(features, BlockLimits::in_memory())?;
        for &item in items {
            let entries = self.bags.entries(self.items[item].document);
            let mut bag: Vec<_> = entries
                .filter_map(|(word, count)| Some(((*feature_of.get(word)?)?, count.to_f64())))
                .collect();
            bag.sort_unstable_by_key(|&(feature, _)| feature);
            scale_to_total(tokens, &mut bag);
            // A count too small for the type becomes 0, of which the builder makes no entry.
            builder.push(bag.into_iter().map(|(feature, count)| (feature, T::from_f64(count))))?;
        }
        let sequences = match &self.sequences {
            Some(all) => {
                let mut own = SequencesBuf::new(all.as_view().symbols());
                for sequence in items.iter().filter_map(|&item| all.as_view().get(self.items[item].document))
                {
                    own.push(sequence.entries().iter().copied())?;
                }
                Some(own)
            }
            None => None,
        };
        Ok(Part { bags: builder.finish()?, sequences })
    }
}

/// Indices of the largest values, of equals the first.
fn largest(values: &[f64], count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    places.truncate(count);
    places
}

#[cfg(test)]
mod tests {
    use countgrid_corpus::{CorpusOptions, WordOptions};
    use countgrid_io::{Columns, read_json_lines};

    use super::*;

    /// Nine labelled documents of six words, and one without a label that has a word of its own.
    const COUNTS: [(&str, [usize; 6]); 9] = [
        ("a", [1, 0, 9, 2, 0, 1]),
        ("b", [0, 3, 0, 2, 1, 1]),
        ("a", [2, 0, 0, 2, 0, 0]),
        ("b", [0, 1, 4, 1, 0, 1]),
        ("a", [1, 1, 0, 2, 1, 0]),
        ("b", [0, 2, 7, 2, 0, 1]),
        ("a", [1, 0, 1, 2, 0, 0]),
        ("b", [1, 5, 0, 1, 1, 1]),
        ("a", [3, 0, 2, 2, 1, 0]),
    ];
    const WORDS: [&str; 6] = ["amber", "birch", "cedar", "delta", "ember", "fjord"];

    fn data() -> LabelledData<f64> {
        let line = |&(label, counts): &(&str, [usize; 6])| {
            let words: Vec<&str> =
                WORDS.iter().zip(counts).flat_map(|(&word, n)| std::iter::repeat_n(word, n)).collect();
            format!("{{\"label\": \"{label}\", \"text\": \"{}\"}}\n", words.join(" "))
        };
        let lines: String = COUNTS.iter().map(line).collect();
        let lines = lines + "{\"text\": \"amber amber glade glade glade\"}\n";
        let documents = read_json_lines(lines.as_bytes(), "made.jsonl", &Columns::default()).unwrap();
        let words = CorpusOptions { words: WordOptions::default().keep_all(), ..CorpusOptions::default() };
        LabelledData::new(Corpus::from_documents("made", documents, &words).unwrap(), None).unwrap()
    }

    fn options(selection: WordSelection, most: usize) -> EvaluationOptions {
        let mut options = EvaluationOptions { selection, ..EvaluationOptions::default() };
        (options.words, options.words.max_words) = (WordOptions::default().keep_all(), most);
        options
    }

    /// The counts of a word in documents.
    fn column(word: &str, items: &[usize]) -> Vec<f64> {
        let place = WORDS.iter().position(|known| *known == word);
        items.iter().map(|&item| place.map_or(0.0, |place| COUNTS[item].1[place] as f64)).collect()
    }

    /// Those of the largest values, by the definition of each selection, and of equals the first.
    fn best(words: &[String], items: &[usize], selection: WordSelection, most: usize) -> Vec<String> {
        let n = items.len() as f64;
        let value = |word: &String| {
            let counts = column(word, items);
            if selection == WordSelection::Variance {
                let mean = counts.iter().sum::<f64>() / n;
                return counts.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
            }
            let share = |of: &dyn Fn(bool, bool) -> bool| {
                let both = counts.iter().zip(items).filter(|&(&x, &item)| of(x > 0.0, COUNTS[item].0 == "a"));
                both.count() as f64 / n
            };
            let cell = |present: bool, first: bool| {
                let both = share(&|x, label| (x, label) == (present, first));
                let apart = share(&|x, _| x == present) * share(&|_, label| label == first);
                if both > 0.0 { both * (both / apart).ln() } else { 0.0 }
            };
            cell(true, true) + cell(true, false) + cell(false, true) + cell(false, false)
        };
        let mut order: Vec<(f64, &String)> = words.iter().map(|word| (value(word), word)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0)); // stable
        let mut best: Vec<String> = order.into_iter().take(most).map(|(_, word)| word.clone()).collect();
        best.sort_by_key(|word| words.iter().position(|known| known == word));
        best
    }

    #[test]
    fn words_are_those_of_the_largest_values_in_the_training_part() {
        let data = data();
        let (training, test) = ([0, 1, 2, 3, 5, 7, 8], [4, 6]);
        // Words that no training document has are none, of whatever else is in the corpus.
        let words: Vec<String> =
            data.corpus.vocabulary.iter().filter(|word| *word != "glade").cloned().collect();
        assert_eq!(words.len(), WORDS.len());
        for selection in [WordSelection::Variance, WordSelection::Information] {
            for most in 1..=WORDS.len() {
                let expected = best(&words, &training, selection, most);
                let fold = data.fold(&training, &test, &options(selection, most)).unwrap();
                let parts = [(&fold.training.bags, &training[..]), (&fold.test.bags, &test)];
                for (bags, items) in parts {
                    assert_eq!(bags.features(), most);
                    let bags = bags.gather(|count| count).unwrap();
                    for (feature, word) in expected.iter().enumerate() {
                        let of =
                            |bag| bags.entries(bag).find(|entry| entry.0 == feature).map_or(0.0, |e| e.1);
                        let found: Vec<f64> = (0..bags.len()).map(of).collect();
                        assert_eq!(found, column(word, items), "{selection} {most}: {word}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_part_of_other_words_is_refused() {
        let data = data();
        let options = options(WordSelection::Pairs, 6);
        let missing = data.fold(&[0, 1, 9], &[2], &options).unwrap_err();
        assert!(matches!(missing, EvaluationError::Item { item: 9, items: 9 }), "{missing}");
        let none = data.fold(&[], &[2], &options).unwrap_err();
        assert!(matches!(none, EvaluationError::NoWord { documents: 0 }), "{none}");
        assert_eq!(data.unlabelled(), 1);
    }

    /// By default a word of texts is in half of the training documents at most, rounded up; counts keep the words they come with.
    #[test]
    fn limits_are_those_of_texts_or_of_counts() {
        let items: Vec<usize> = (0..9).collect();
        let mut data = data();
        let words = |data: &LabelledData<f64>, most: usize| {
            let mut options = EvaluationOptions::default();
            options.words.max_words = most;
            data.fold(&items, &[], &options).map(|fold| fold.training.bags.features())
        };
        // In how many of nine documents: amber 6, birch 5, cedar 5, delta 9, ember 4, fjord 5.
        assert_eq!(words(&data, 9).unwrap(), 4);
        data.corpus.kind = CorpusKind::Counts;
        assert_eq!(words(&data, 9).unwrap(), 6);
        assert_eq!(words(&data, 4).unwrap(), 4);
    }

    #[test]
    fn labelled_documents_are_counted_and_named() {
        let line = |id: &str, label: &str, text: &str| {
            let label = if label.is_empty() { String::new() } else { format!("\"label\": \"{label}\", ") };
            format!("{{\"id\": \"{id}\", {label}\"text\": \"{text}\"}}\n")
        };
        let lines = [
            ("y", "a", "amber birch"),
            ("x", "", "amber"),
            ("w", "b", "birch"),
            ("z", "", "birch"),
            ("v", "", "amber"),
        ]
        .map(|(id, label, text)| line(id, label, text))
        .concat();
        let documents = read_json_lines(lines.as_bytes(), "made.jsonl", &Columns::default()).unwrap();
        let options = CorpusOptions { words: WordOptions::default().keep_all(), ..CorpusOptions::default() };
        let corpus = Corpus::<f64>::from_documents("made", documents, &options).unwrap();
        let data = LabelledData::new(corpus, None).unwrap();
        assert_eq!((data.unlabelled(), data.labels()), (3, vec![0, 1]));
        assert_eq!([data.id(0), data.id(1), data.id(2)], ["y", "w", ""]);
        let fold = data.fold(&[0, 1], &[], &self::options(WordSelection::Pairs, 9)).unwrap();
        assert_eq!((fold.training.len(), fold.training.is_empty()), (2, false));
        assert_eq!((fold.test.len(), fold.test.is_empty()), (0, true));
    }

    #[test]
    fn of_equal_values_the_first_are_the_largest() {
        assert_eq!(largest(&[1.0, 3.0, 2.0, 3.0, 3.0], 3), [1, 3, 4]);
        assert_eq!(largest(&[1.0, 3.0, 2.0, 3.0, 3.0], 2), [1, 3]);
        assert_eq!(largest(&[1.0, 2.0], 5), [1, 0]);
        assert_eq!(largest(&[1.0, 2.0], 0), [0; 0]);
    }
}
