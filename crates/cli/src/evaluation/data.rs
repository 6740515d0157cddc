//! Labelled bags, and the training and test parts of them.

use std::{cell::RefCell, path::Path};

use countgrid_counts::{Bags, CsrBuf, SequencesBuf};
use countgrid_io::BLOCK_ENTRIES;
use countgrid_text::{Levels, Selection, TextOptions, variances};

use crate::{
    args::{EvaluationArgs, Features, ModelKind, Select, WordArgs},
    corpus::{Corpus, Input, text_options},
    evaluation::{classifier::KernelCache, features::Rows, models::Part},
    failure::Failure,
    model::Stored,
    report::Report,
    scaling::{Scaling, scale_to},
    store::{Builder, Plan},
};

/// Labelled documents, over all words that there are.
pub(crate) struct Data<T> {
    pub(crate) corpus: Corpus<T>,
    bags: CsrBuf<T>,
    items: Vec<Item>,
    sequences: Option<SequencesBuf<u16>>, // of the documents, for models that know an order
}

/// A document that has a label.
#[derive(Clone, Copy, Debug)]
struct Item {
    document: usize,
    label: usize,
}

/// Documents with labels to learn from, and documents whose labels are to be told.
pub(crate) struct Fold<T> {
    pub(crate) training: Part<T>,
    pub(crate) labels: Vec<usize>, // of the training documents, below `classes`
    pub(crate) test: Part<T>,
    pub(crate) classes: usize,
    /// Features of both parts that were asked for, by models of the same options.
    pub(crate) rows: RefCell<Vec<(Features, (Rows, Rows))>>,
    /// The similarities that were asked for last.
    pub(crate) kernels: RefCell<Option<KernelCache>>,
}

impl<T: Stored> Data<T> {
    /// Reads documents, with all words of those that have a label.
    pub(crate) fn read(args: &EvaluationArgs, outputs: &[&Path], report: &Report) -> Result<Self, Failure> {
        let input = Input {
            path: Some(&args.path),
            read: &args.read,
            // Counts are scaled once words are selected, in each fold.
            scaling: Scaling { tokens: None, ..args.numbers.scaling()? },
            outputs,
            entries: true,
            sample: None,
            stream: false,
            block_entries: BLOCK_ENTRIES,
        };
        // Which words are kept is decided in each fold, from the documents that are not held out.
        let every = WordArgs {
            min_count: Some(1),
            max_share: Some(1.0),
            max_words: usize::MAX,
            stop_words: args.words.stop_words.clone(),
            stem: args.words.stem,
            ngrams: args.words.ngrams,
        };
        let (corpus, sequences) = match args.model {
            ModelKind::Hmm => {
                let (corpus, sequences) = input.sequences::<T>(report)?;
                (corpus, Some(sequences))
            }
            _ => (input.select::<T>(&every, report)?, None),
        };
        let refuse = |error| Failure::new(error, "this is a bug worth a report");
        let mut bags = CsrBuf::new(corpus.vocabulary.len()).map_err(refuse)?;
        corpus.bags.each(false, |_, block| {
            (0..block.len()).try_for_each(|bag| bags.push_bag(block.entries(bag)).map_err(refuse))
        })?;
        let labels = corpus.labels.by_document.iter().enumerate();
        let items: Vec<_> = labels
            .filter_map(|(document, label)| Some(Item { document, label: (*label)? as usize }))
            .collect();
        match corpus.labels.names.len() {
            0 | 1 => Err(Failure::new(
                format_args!(
                    "{}: {} labels; to tell labels takes two",
                    corpus.name,
                    corpus.labels.names.len()
                ),
                "name the column with --label-column, or take a folder with a subfolder for each label",
            )),
            _ => Ok(Self { corpus, bags, items, sequences }),
        }
    }

    /// The label of each item.
    pub(crate) fn labels(&self) -> Vec<usize> {
        self.items.iter().map(|item| item.label).collect()
    }

    /// The names of the labels.
    pub(crate) fn names(&self) -> &[String] {
        &self.corpus.labels.names
    }

    /// Documents that have no label.
    pub(crate) fn unlabelled(&self) -> usize {
        self.bags.len() - self.items.len()
    }

    /// What the data calls an item.
    pub(crate) fn id(&self, item: usize) -> &str {
        let entry = self.items.get(item).and_then(|item| self.corpus.entries.get(item.document));
        entry.map_or("", |entry| entry.id.as_str())
    }

    /// Training and held-out items over the words that the training items select.
    pub(crate) fn fold(
        &self,
        training: &[usize],
        test: &[usize],
        args: &EvaluationArgs,
    ) -> Result<Fold<T>, Failure> {
        let kept = self.selected(training, args)?;
        let mut feature_of = vec![None; self.bags.features()];
        kept.iter().enumerate().for_each(|(new, &old)| feature_of[old] = Some(new));
        let tokens = args.numbers.tokens;
        let part = |items: &[usize]| self.part(items, &feature_of, kept.len(), tokens);
        Ok(Fold {
            training: part(training)?,
            labels: training.iter().map(|&item| self.items[item].label).collect(),
            test: part(test)?,
            classes: self.names().len(),
            rows: RefCell::default(),
            kernels: RefCell::default(),
        })
    }

    /// The limits of the options; counts keep all their columns unless they say otherwise.
    fn limits(&self, args: &EvaluationArgs) -> Result<TextOptions, Failure> {
        let mut limits = text_options(&args.words)?;
        if self.corpus.counted {
            limits.min_count = limits.min_count.or(Some(1));
            limits.max_share = args.words.max_share.unwrap_or(1.0);
        }
        Ok(limits)
    }

    /// Words that items select, ascending.
    fn selected(&self, items: &[usize], args: &EvaluationArgs) -> Result<Vec<usize>, Failure> {
        let limits = self.limits(args)?;
        let mut spread = vec![0; self.bags.features()];
        for (word, _) in items.iter().flat_map(|&item| self.bags.entries(self.items[item].document)) {
            spread[word] += 1;
        }
        let by_pairs = args.select == Select::Pairs;
        let most = if by_pairs { limits.max_words } else { usize::MAX };
        let selection = Selection::new(&spread, items.len(), &TextOptions { max_words: most, ..limits });
        let mut kept = selection.kept;
        if kept.len() > args.words.max_words {
            let places = self.informative_words(items, &kept, args);
            let mut best: Vec<usize> = places.into_iter().map(|place| kept[place]).collect();
            best.sort_unstable();
            kept = best;
        }
        if kept.is_empty() {
            return Err(Failure::new(
                format_args!("no word is left of the {} documents of a training part", items.len()),
                "lower --min-count, raise --max-share or --max-words, or take fewer --folds",
            ));
        }
        Ok(kept)
    }

    /// Places of the words that say most, as `--select` understands it.
    fn informative_words(&self, items: &[usize], words: &[usize], args: &EvaluationArgs) -> Vec<usize> {
        let mut place = vec![None; self.bags.features()];
        words.iter().enumerate().for_each(|(new, &old)| place[old] = Some(new));
        let bags: Vec<Vec<(usize, f64)>> = items
            .iter()
            .map(|&item| {
                let entries = self.bags.entries(self.items[item].document);
                let mut bag: Vec<_> =
                    entries.filter_map(|(word, count)| Some((place[word]?, count.to_f64()))).collect();
                scale_to(args.numbers.tokens, &mut bag);
                bag
            })
            .collect();
        let labels: Vec<usize> = items.iter().map(|&item| self.items[item].label).collect();
        let levels = || match self.corpus.counted {
            true => Levels::deviations(words.len(), &bags),
            false => Levels::presence(words.len(), bags.iter().map(|bag| bag.iter().copied())),
        };
        let most = args.words.max_words;
        match args.select {
            Select::Pairs => (0..words.len()).take(most).collect(),
            Select::Variance => largest(&variances(words.len(), &bags), most),
            Select::Information => largest(&levels().information(&labels), most),
            Select::Mrmr => levels().mrmr(&labels, most),
        }
    }

    fn part(
        &self,
        items: &[usize],
        feature_of: &[Option<usize>],
        features: usize,
        tokens: Option<f64>,
    ) -> Result<Part<T>, Failure> {
        let mut builder = Builder::new(features, Plan::new(u128::MAX, BLOCK_ENTRIES))?;
        for &item in items {
            let entries = self.bags.entries(self.items[item].document);
            let mut bag: Vec<_> = entries
                .filter_map(|(word, count)| Some(((*feature_of.get(word)?)?, count.to_f64())))
                .collect();
            bag.sort_unstable_by_key(|&(feature, _)| feature);
            scale_to(tokens, &mut bag);
            // What is too small for the type is as good as absent.
            let rounded = bag.into_iter().map(|(feature, count)| (feature, T::from_f64(count)));
            let bag: Vec<_> = rounded.filter(|&(_, count)| count > T::zero()).collect();
            builder.push(&bag)?;
        }
        let sequences = match &self.sequences {
            Some(all) => {
                let mut own = SequencesBuf::new(all.as_view().symbols());
                for sequence in items.iter().filter_map(|&item| all.as_view().get(self.items[item].document))
                {
                    own.push(sequence.entries().iter().copied())
                        .map_err(|error| Failure::new(error, "this is a bug worth a report"))?;
                }
                Some(own)
            }
            None => None,
        };
        Ok(Part { bags: builder.finish()?, sequences })
    }
}

/// Places of the largest values, of equals the first.
fn largest(values: &[f64], count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    places.truncate(count);
    places
}
