//! The prior of labels in generative classification, and the features that other classifiers take by default.

use countgrid_corpus::{Corpus, CorpusOptions, WordOptions};
use countgrid_counts::SequencesBuf;
use countgrid_evaluation::{
    Candidate, ClassPrior, Classifier, EvaluationOptions, Features, FittedModel, LabelledData, ModelKind,
    OptionError, Stop, predict,
};
use countgrid_io::{Columns, read_json_lines};

/// 28 short documents, four of the first label and 24 of the other, of the same words in other proportions.
fn data() -> LabelledData<f64> {
    let (mut lines, mut sequences, mut state) = (String::new(), SequencesBuf::new(4), 3_u64);
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for n in 0..28 {
        let label = if n % 7 == 0 { "boats" } else { "bread" };
        let words: Vec<u16> = (0..3)
            .map(|_| (if draw(10) < 6 { draw(2) } else { 2 + draw(2) }) as u16 ^ (u16::from(n % 7 == 0) * 2))
            .collect();
        let text: Vec<_> =
            words.iter().map(|&word| ["flour", "oven", "keel", "mast"][usize::from(word)]).collect();
        lines.push_str(&format!("{{\"label\": \"{label}\", \"text\": \"{}\"}}\n", text.join(" ")));
        sequences.push(words).unwrap();
    }
    let documents = read_json_lines(lines.as_bytes(), "made.jsonl", &Columns::default()).unwrap();
    let options = CorpusOptions { words: WordOptions::default().keep_all(), ..CorpusOptions::default() };
    LabelledData::new(Corpus::from_documents("made", documents, &options).unwrap(), Some(sequences)).unwrap()
}

#[test]
fn every_generative_model_adds_the_log_prior() {
    let (data, stop) = (data(), Stop::new());
    for model in [ModelKind::Grid, ModelKind::Mixture, ModelKind::Lda, ModelKind::Hmm] {
        let mut options = EvaluationOptions { model, topics: 2, ..EvaluationOptions::default() };
        (options.words.max_share, options.words.min_count) = (Some(1.0), Some(1));
        (options.grid.extents, options.grid.window) = (Some(vec![3, 3]), Some(vec![2, 2]));
        options.grid.pseudocount = Some(0.5);
        (options.lda.smoothing, options.hmm.states, options.hmm.pseudocount) = (0.5, 2, 0.5);
        let items: Vec<usize> = (0..28).collect();
        let fold = data.fold(&items, &items, &options).unwrap();
        let energies = [0, 1].map(|class| {
            let own = fold.training.filter(|place| fold.labels[place] == class).unwrap();
            FittedModel::fit(&own, &options, &stop).unwrap().free_energies(&fold.test).unwrap()
        });
        let expected = |prior: [f64; 2]| -> Vec<usize> {
            let joint = |class: usize, item: usize| energies[class][item] - prior[class];
            items.iter().map(|&item| usize::from(joint(1, item) < joint(0, item))).collect()
        };
        let found = |class_prior| {
            predict(&fold, &EvaluationOptions { class_prior, ..options.clone() }, &stop).unwrap()
        };
        let (frequent, uniform) = (found(ClassPrior::Data), found(ClassPrior::Uniform));
        assert_eq!(frequent, expected([(4.0_f64 / 28.0).ln(), (24.0_f64 / 28.0).ln()]), "{model}");
        assert_eq!(uniform, expected([0.0; 2]), "{model}");
        assert_ne!(frequent, uniform, "{model}: the documents do not tell the priors apart");
        assert_eq!(predict(&fold, &options, &stop).unwrap(), frequent); // the default
    }
}

#[test]
fn a_prior_is_of_the_classifier() {
    let options = EvaluationOptions { class_prior: ClassPrior::Uniform, ..EvaluationOptions::default() };
    options.check().unwrap();
    let nearest = EvaluationOptions { classifier: Classifier::Nearest, ..options.clone() };
    assert_eq!(nearest.check(), Err(OptionError::PriorUnused { classifier: Classifier::Nearest }));
    // Models are fitted once for both priors.
    let candidate = |options: &EvaluationOptions| Candidate { name: String::new(), options: options.clone() };
    assert!(candidate(&options).has_same_models(&candidate(&EvaluationOptions::default())));
}

#[test]
fn classifiers_take_the_features_that_are_documented() {
    let (data, stop) = (data(), Stop::new());
    let items: Vec<usize> = (0..28).collect();
    for (classifier, expected) in [
        (Classifier::Svm, Features::Spread),
        (Classifier::SvmRbf, Features::Fess),
        (Classifier::SvmLinear, Features::Fess),
    ] {
        assert_eq!(classifier.default_features(), Some(expected));
        let mut options = EvaluationOptions { classifier, ..EvaluationOptions::default() };
        (options.words.max_share, options.words.min_count) = (Some(1.0), Some(1));
        (options.grid.extents, options.grid.window) = (Some(vec![3, 3]), Some(vec![2, 2]));
        let fold = data.fold(&items[..20], &items[20..], &options).unwrap();
        let found = |features| predict(&fold, &EvaluationOptions { features, ..options.clone() }, &stop);
        assert_eq!(found(None).unwrap(), found(Some(expected)).unwrap(), "{classifier}");
    }
    for classifier in [Classifier::Generative, Classifier::Labels, Classifier::Nearest] {
        assert_eq!(classifier.default_features(), None);
    }
}
