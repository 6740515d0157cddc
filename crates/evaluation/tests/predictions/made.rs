//! Labelled documents that tests make.

use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
use countgrid_counts::SequencesBuf;
use countgrid_evaluation::{EvaluationOptions, Fold, LabelledData, ModelKind};
use countgrid_io::{Columns, read_json_lines};
use countgrid_math::index_below;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Six words that documents are drawn of, and four that a document may have alone.
pub(crate) const WORDS: [&str; 10] =
    ["amber", "birch", "cedar", "delta", "ember", "fjord", "glade", "heath", "islet", "jetty"];
/// The words that documents are drawn of.
pub(crate) const COMMON: usize = 6;

/// The name of the label of a document, and its words.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) label: Option<String>,
    pub(crate) words: Vec<usize>,
}

/// So many documents of each label, of which two thirds of the words are the two of the label, shuffled in one fixed order.
pub(crate) fn drawn(sizes: &[(&str, usize)], tokens: usize, seed: u64) -> Vec<Document> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut below = |n: usize| index_below(rng.next_u64(), n);
    let mut all = Vec::new();
    for (label, &(name, size)) in sizes.iter().enumerate() {
        for _ in 0..size {
            let mut word = || if below(3) < 2 { 2 * label % COMMON + below(2) } else { below(COMMON) };
            all.push(Document { label: Some(name.to_owned()), words: (0..tokens).map(|_| word()).collect() });
        }
    }
    countgrid_math::shuffle(&mut all, |n| index_below(rng.next_u64(), n));
    all
}

/// A document of one word that no other has.
pub(crate) fn alone(label: &str, word: usize) -> Document {
    Document { label: Some(label.to_owned()), words: vec![COMMON + word] }
}

/// The documents with all their words, which are the symbols of models of sequences, too.
pub(crate) fn labelled(documents: &[Document]) -> LabelledData<f64> {
    let (mut lines, mut sequences) = (String::new(), SequencesBuf::new(WORDS.len()));
    for Document { label, words } in documents {
        let text: Vec<&str> = words.iter().map(|&word| WORDS[word]).collect();
        let label = label.as_ref().map_or_else(String::new, |label| format!("\"label\": \"{label}\", "));
        lines.push_str(&format!("{{{label}\"text\": \"{}\"}}\n", text.join(" ")));
        sequences.push(words.iter().map(|&word| word as u16)).unwrap();
    }
    let documents = read_json_lines(lines.as_bytes(), "made.jsonl", &Columns::default()).unwrap();
    let words = CorpusOptions { words: WordOptions::default().keep_all(), ..CorpusOptions::default() };
    LabelledData::new(Corpus::from_documents("made", documents, &words).unwrap(), Some(sequences)).unwrap()
}

/// Small models of the words that are in two documents at least.
pub(crate) fn options(model: ModelKind) -> EvaluationOptions {
    let mut options = EvaluationOptions { model, topics: 2, ..EvaluationOptions::default() };
    (options.words.min_count, options.words.max_share) = (Some(2), Some(1.0));
    (options.grid.extents, options.grid.window) = (Some(vec![3, 4]), Some(vec![2, 2]));
    options.grid.pseudocount = Some(0.01);
    (options.grid.iterations, options.lda.iterations, options.harmonium.epochs) = (60, 20, 20);
    options.lda.smoothing = 0.1;
    (options.hmm.states, options.hmm.iterations, options.hmm.pseudocount) = (2, 5, 0.5);
    options
}

/// The items up to one of these, and those from there on.
pub(crate) fn fold(data: &LabelledData<f64>, training: usize, options: &EvaluationOptions) -> Fold<f64> {
    let items: Vec<usize> = (0..data.labels().len()).collect();
    data.fold(&items[..training], &items[training..], options).unwrap()
}
