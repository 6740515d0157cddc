//! Lines that most documents of a source have: against a definition by hand, and what they leave.
#![cfg(feature = "files")]

use std::{collections::BTreeSet, path::Path, sync::Arc};

use countgrid_corpus::{BlockLimits, Corpus, CorpusOptions, Sample, WordOptions};
use countgrid_counts::Bags;
use countgrid_io::Document;
use countgrid_text::{Languages, TextOptions};
use proptest::prelude::*;

type Rows = Vec<Vec<(usize, f32)>>;

fn rows(corpus: &Corpus<f32>) -> Rows {
    let bags = corpus.bags.gather(|count| count).unwrap();
    (0..bags.len()).map(|bag| bags.entries(bag).collect()).collect()
}

/// Everything that words decide.
fn contents(corpus: &Corpus<f32>) -> impl PartialEq + std::fmt::Debug + use<> {
    let words =
        corpus.words.map(|words| (words.tokens, words.words, words.rare, words.common, words.surplus));
    let tokens: Vec<f64> = corpus.documents.iter().map(|document| document.tokens).collect();
    let text = TextOptions { boilerplate: Vec::new(), ..corpus.text.clone() };
    (corpus.vocabulary.clone(), rows(corpus), words, tokens, text, corpus.languages.clone())
}

fn documents(texts: &[(String, String)]) -> Vec<Document> {
    let mut file: Arc<Path> = Arc::from(Path::new(""));
    let texts = texts.iter().enumerate();
    texts
        .map(|(number, (path, text))| {
            if *file != *Path::new(path) {
                file = Arc::from(Path::new(path));
            }
            let (id, file) = (number.to_string(), Arc::clone(&file));
            Document { id, title: String::new(), label: None, text: text.clone(), file, line: 1 }
        })
        .collect()
}

fn corpus(texts: &[(String, String)], options: &CorpusOptions) -> Corpus<f32> {
    Corpus::from_documents("texts", documents(texts), options).unwrap()
}

/// English, all words of at least one document, and a vocabulary that does not depend on shares.
fn options(phrases: bool) -> CorpusOptions {
    let words = WordOptions { languages: Languages::english(), phrases, ..WordOptions::default() };
    CorpusOptions { words: words.keep_all(), ..CorpusOptions::default() }
}

fn without(options: &CorpusOptions) -> CorpusOptions {
    CorpusOptions { keep_boilerplate: false, ..options.clone() }
}

/// The lines of at least three words in more than half of the documents of some file or folder of ten or more, by looking at all of them.
fn by_hand(texts: &[(String, String)], is_taken: impl Fn(usize) -> bool) -> BTreeSet<String> {
    let lines = |text: &str| {
        let lines: Vec<String> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let long = lines.iter().filter(|line| line.split(' ').count() >= 3).cloned().collect::<BTreeSet<_>>();
        if lines.len() > 1 { long } else { BTreeSet::new() }
    };
    let sources: BTreeSet<&Path> = texts.iter().flat_map(|(path, _)| Path::new(path).ancestors()).collect();
    let mut found = BTreeSet::new();
    for source in sources {
        let own: Vec<usize> =
            (0..texts.len()).filter(|&n| Path::new(&texts[n].0).starts_with(source)).collect();
        let taken: Vec<usize> = own.iter().copied().filter(|&n| is_taken(n)).collect();
        let of = |documents: &[usize], line: &str| {
            2 * documents.iter().filter(|&&n| lines(&texts[n].1).contains(line)).count() > documents.len()
        };
        let all: BTreeSet<String> = own.iter().flat_map(|&n| lines(&texts[n].1)).collect();
        found.extend(all.into_iter().filter(|line| taken.len() >= 10 && of(&own, line) && of(&taken, line)));
    }
    found
}

/// Files below folders in the order of their paths, some of several documents, with a few lines that come again.
fn texts() -> impl Strategy<Value = Vec<(String, String)>> {
    let files = [
        "a/x", "a/y", "a/b/x", "a/b/y", "a/b/z", "a/c/d/x", "a/c/d/y", "e", "f/x", "f/g/x", "f/g/y", "f/g/z",
        "h",
    ];
    let line = prop_oneof![
        4 => prop::sample::select(vec!["sent from my phone", "all rights reserved", "ants red", "the same words again"]),
        3 => prop::sample::select(vec!["red ants follow trails", "blue bees fly", "hard drive of ants", "", "bees"]),
    ];
    let text = prop::collection::vec(line, 1..5).prop_map(|lines| lines.join("\n"));
    let document = (prop::sample::select(files.to_vec()), text);
    (prop::collection::vec(document, 1..60), 1usize..4).prop_map(|(mut documents, few)| {
        // In many cases few folders, so that they have many documents.
        documents.iter_mut().for_each(|(file, _)| *file = if few > 1 { *file } else { "a/b/x" });
        documents.sort_by(|a, b| Path::new(a.0).cmp(Path::new(b.0)));
        documents.into_iter().map(|(file, text)| (file.to_owned(), text)).collect()
    })
}

proptest! {
    #[test]
    fn lines_are_those_that_are_found_by_hand(texts in texts()) {
        let texts: Vec<_> = [texts, vec![("z".to_owned(), "some words at the end".to_owned())]].concat();
        let found = corpus(&texts, &without(&options(false)));
        let words = |corpus: &Corpus<f32>| corpus.text.boilerplate.iter().cloned().collect::<BTreeSet<_>>();
        prop_assert_eq!(words(&found), by_hand(&texts, |_| true));
        prop_assert_eq!(found.boilerplate.len(), found.text.boilerplate.len());
        for line in &found.boilerplate {
            prop_assert!(2 * line.with > line.documents && line.documents >= 10, "{:?}", line);
        }
        // What is left is what new documents leave, with phrases too, and from a file.
        for phrases in [false, true] {
            let options = options(phrases);
            let found = corpus(&texts, &without(&options));
            let all: Vec<String> = texts.iter().map(|(_, text)| text.clone()).collect();
            let again = Corpus::<f32>::count_texts(&all, &found.vocabulary, &found.text, &options).unwrap();
            prop_assert_eq!(rows(&again), rows(&found));
            let tokens = |corpus: &Corpus<f32>| corpus.documents.iter().map(|document| document.tokens).collect::<Vec<_>>();
            prop_assert_eq!(tokens(&again), tokens(&found));
            let blocks = BlockLimits { entries: 50, ..BlockLimits::streaming() };
            let streamed = corpus(&texts, &CorpusOptions { blocks, ..without(&options) });
            prop_assert_eq!(contents(&streamed), contents(&found));
            prop_assert_eq!(streamed.boilerplate, found.boilerplate);
        }
        // Nothing else changes where there is none.
        if found.boilerplate.is_empty() {
            prop_assert_eq!(contents(&found), contents(&corpus(&texts, &options(false))));
        }
    }

    #[test]
    fn of_a_sample_also_most_of_those_that_were_drawn_have_them(texts in texts(), seed in any::<u64>()) {
        let drawn = CorpusOptions { sample: Some(Sample { per_label: 14, seed }), ..options(false) };
        let texts: Vec<_> = [texts, vec![("z".to_owned(), "some words at the end".to_owned()); 30]].concat();
        let ids: BTreeSet<String> = corpus(&texts, &drawn).documents.iter().map(|document| document.id.clone()).collect();
        let found = corpus(&texts, &without(&drawn));
        let expected = by_hand(&texts, |number| ids.contains(&number.to_string()));
        prop_assert_eq!(found.text.boilerplate.iter().cloned().collect::<BTreeSet<_>>(), expected);
    }

    #[test]
    fn a_footer_below_every_document_changes_nothing(
        texts in texts(),
        footer in prop::collection::vec("[a-z]{2,9}x", 3..12),
        lines in 1usize..4,
        phrases in any::<bool>(),
    ) {
        // With two lines more, that are not the same and whose words are in no footer.
        let numbers = 0..texts.len().max(10);
        let texts: Vec<_> = numbers.map(|number| {
            let (file, text) = texts.get(number).cloned().unwrap_or_else(|| ("z".to_owned(), String::new()));
            (file, format!("line{number}1 of a text\nline{number}2 of a text\n{text}"))
        }).collect();
        let footer: Vec<String> = (0..lines).map(|line| format!("{} y{line}y", footer.join(" "))).collect();
        let with: Vec<_> = texts.iter().map(|(file, text)| (file.clone(), format!("{text}\n\n{}", footer.join("\n")))).collect();
        let (plain, found) = (corpus(&texts, &without(&options(phrases))), corpus(&with, &without(&options(phrases))));
        prop_assert_eq!(contents(&found), contents(&plain));
        let own: BTreeSet<&String> = plain.text.boilerplate.iter().chain(&footer).collect();
        prop_assert!(found.text.boilerplate.iter().eq(own));
        prop_assert!(found.documents.iter().all(|document| !document.snippet.is_empty()));
    }
}

/// Lossy counting has seen none of the first documents have it.
#[test]
fn a_line_of_the_later_documents_alone_is_one_of_most() {
    let with = |n: usize| {
        let text = |number: usize| {
            let footer = if number + n >= 100 { "Sent from my phone" } else { "" };
            ("a.mbox".to_owned(), format!("word{number} of another text\n{footer}\nline{number}"))
        };
        let texts: Vec<_> = (0..100).map(text).collect();
        let found = corpus(&texts, &without(&options(false))).boilerplate;
        found.iter().map(|line| (line.with, line.documents)).collect::<Vec<_>>()
    };
    assert_eq!(with(50), []);
    assert_eq!(with(51), [(51, 100)]);
    assert_eq!(with(99), [(99, 100)]);
}

#[test]
fn few_documents_short_lines_single_lines_and_sequences_are_kept() {
    let of = |documents: usize, line: &str, options: &CorpusOptions| {
        let text = |n: usize| ("a.txt".to_owned(), format!("word{n} of another text\n{line}"));
        let texts: Vec<_> = (0..documents).map(text).collect();
        corpus(&texts, &without(options)).boilerplate
    };
    let words = options(false);
    assert!(of(9, "Sent from my phone", &words).is_empty());
    assert_eq!(of(10, "Sent from my phone", &words).len(), 1);
    assert!(of(10, "Sent phone", &words).is_empty() && of(10, "12 4 Sent phone", &words).is_empty());
    assert_eq!(of(10, "Sent by phone", &words).len(), 1);
    let sequences =
        CorpusOptions { words: WordOptions { ngrams: Some(2), ..WordOptions::default() }, ..words.clone() };
    assert!(of(10, "Sent from my phone", &sequences).is_empty());

    // A line that is all of a document is its content.
    let same = vec![("a.csv".to_owned(), "I do not know".to_owned()); 20];
    let found = corpus(&same, &without(&words));
    assert!(found.boilerplate.is_empty());
    assert_eq!(found.vocabulary, ["know"]);
}
