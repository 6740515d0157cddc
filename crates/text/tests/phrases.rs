//! Phrases: against a count by hand of small collections, and where there is nothing to find.

use std::collections::{BTreeMap, BTreeSet};

use countgrid_counts::Bags;
use countgrid_text::{Languages, StopWords, TextOptions, Tokenizer, Vocabulary, bags};
use proptest::prelude::*;

fn options() -> TextOptions {
    TextOptions { phrases: true, max_share: 1.0, languages: Languages::english(), ..TextOptions::default() }
}

/// Texts of 40 documents with a phrase that others are not, and words that are mostly by themselves.
fn collection(phrase: &str) -> Vec<String> {
    (0..40)
        .map(|n| format!("{phrase} word{}x, word{}x word{}x word{}x", n % 7, n % 5, n % 11, n % 3))
        .collect()
}

fn phrases(texts: &[String], options: &TextOptions) -> Vec<String> {
    let found = bags(texts, options).unwrap();
    // New text is counted as the collection is.
    let tokenizer = Tokenizer::new(&found.options).unwrap();
    let vocabulary = Vocabulary::new(&found.vocabulary, &tokenizer);
    for (document, text) in texts.iter().enumerate() {
        assert!(found.bag(document).eq(vocabulary.count(text)), "{text}");
    }
    found.vocabulary.into_iter().filter(|word| word.contains(' ')).collect()
}

#[test]
fn words_that_belong_together_are_one() {
    let texts = collection("A hard drive.");
    assert_eq!(phrases(&texts, &options()), ["hard drive"]);
    let found = bags(&texts, &options()).unwrap();
    assert!(!found.vocabulary.iter().any(|word| word == "hard" || word == "drive"), "{:?}", found.vocabulary);
    // What is always part of a phrase is no word by itself, however few documents are asked for.
    let all = bags(&texts, &TextOptions { min_count: Some(0), ..options() }).unwrap();
    assert_eq!((&all.vocabulary, all.summary.words, all.summary.rare), (&found.vocabulary, 12, 0));
    assert_eq!(phrases(&texts, &TextOptions { phrases: false, ..options() }), [""; 0]);
    assert_eq!(phrases(&collection("In New York City:"), &options()), ["new york city"]);
    assert_eq!(phrases(&collection("machine-learning;"), &options()), ["machine learning"]);
    // The commonest form stands for all of one stem.
    let mut texts = collection("hard drives,");
    texts.extend(collection("hard drive,").into_iter().take(10));
    assert_eq!(phrases(&texts, &TextOptions { stem: true, ..options() }), ["hard drives"]);
}

#[test]
fn phrases_end_where_sentences_do() {
    for between in
        ["hard. Drive,", "hard, drive,", "hard the drive,", "hard (drive)", "hard\n\ndrive,", "hard 9 drive,"]
    {
        assert_eq!(phrases(&collection(between), &options()), [""; 0], "{between}");
    }
    for address in ["hard ant@example.org drive,", "hard http://example.org/ drive,"] {
        assert_eq!(phrases(&collection(address), &options()), [""; 0], "{address}");
    }
    let none = TextOptions { stop_words: StopWords::None, ..options() };
    assert_eq!(phrases(&collection("hard the drive,"), &none), ["hard the drive"]);
}

#[test]
fn phrases_have_three_words_at_most() {
    let texts = collection("In New York City: hard drive red sky,");
    assert_eq!(phrases(&texts, &options()), ["hard drive", "new york city", "red sky"]);
}

/// However often it is in two, and however many documents its words are in.
#[test]
fn phrases_are_in_three_documents_at_least() {
    for (documents, expected) in [(2, &[][..]), (3, &["hard drive"])] {
        let mut texts = collection("hard, drive,");
        texts[..documents].iter_mut().for_each(|text| text.push_str(&"; hard drive".repeat(20)));
        assert_eq!(phrases(&texts, &options()), expected, "{documents}");
    }
}

#[test]
fn new_text_has_phrases_where_its_words_are_joined() {
    let tokenizer = Tokenizer::new(&options()).unwrap();
    let vocabulary = Vocabulary::new(&["drive", "hard", "hard drive"], &tokenizer);
    for text in ["a hard drive", "Hard-drive"] {
        assert!(vocabulary.features(text).eq([Some(2)]), "{text}");
    }
    for text in ["hard. Drive", "hard, drive", "hard the drive"] {
        assert!(vocabulary.features(text).eq([Some(1), Some(0)]), "{text}");
    }
}

/// Dictionaries have said what the words are.
#[cfg(feature = "segmenter")]
#[test]
fn text_without_spaces_has_none() {
    let chinese = TextOptions { languages: Languages::Known(vec!["zh".parse().unwrap()]), ..options() };
    assert_eq!(phrases(&collection("我们的程序可以打开文件。"), &chinese), [""; 0]);
}

#[test]
fn nothing_to_find() {
    for texts in [vec![], vec![String::new()], vec!["a".to_owned()], vec!["hard drive".to_owned()]] {
        assert_eq!(phrases(&texts, &options()), [""; 0], "{texts:?}");
    }
    assert_eq!(phrases(&vec!["ant ant ant ant".to_owned(); 50], &options()), [""; 0]);
    assert_eq!(phrases(&vec!["hard drive".to_owned(); 50], &options()), [""; 0]); // no other words to compare with
    let many = "hard drive, ".repeat(1_000) + &"one word; other words; ".repeat(1_000);
    assert_eq!(phrases(&[many], &options()), [""; 0]); // in one document
}

/// A phrase beyond the largest vocabulary is its words again.
#[test]
fn phrases_that_are_not_kept_are_words() {
    let mut texts = collection("hard drive,");
    texts.truncate(39);
    texts.extend(["hard".to_owned(), "drive, drive".to_owned()]);
    for max_words in 0..20 {
        let options = TextOptions { max_words, ..options() };
        let found = bags(&texts, &options).unwrap();
        let tokenizer = Tokenizer::new(&found.options).unwrap();
        let vocabulary = Vocabulary::new(&found.vocabulary, &tokenizer);
        for (document, text) in texts.iter().enumerate() {
            assert!(found.bag(document).eq(vocabulary.count(text)), "{max_words} {text}");
        }
    }
}

/// Adjacent pairs by hand, with G² as a sum of entropies: Dunning 1993 in the form of mutual information.
fn pairs_by_hand(texts: &[String]) -> BTreeSet<String> {
    let mut documents: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let mut pairs: Vec<(&str, &str, usize)> = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        for sentence in text.split(". ") {
            let words: Vec<&str> = sentence.split(' ').filter(|word| !word.is_empty()).collect();
            words.iter().for_each(|word| _ = documents.entry(word).or_default().insert(number));
            pairs.extend(words.windows(2).map(|pair| (pair[0], pair[1], number)));
        }
    }
    let least = 3;
    let frequent: Vec<&str> =
        documents.iter().filter(|(_, own)| own.len() >= least).map(|(&word, _)| word).collect();
    let entropy = |cells: &[f64]| {
        let sum: f64 = cells.iter().sum();
        -cells.iter().filter(|&&n| n > 0.0).map(|n| n * (n / sum).ln()).sum::<f64>()
    };
    let mut found = BTreeSet::new();
    for first in &frequent {
        for second in &frequent {
            let n = |of: &dyn Fn(bool, bool) -> bool| {
                pairs.iter().filter(|pair| of(pair.0 == *first, pair.1 == *second)).count() as f64
            };
            let cells = [n(&|a, b| a && b), n(&|a, b| a && !b), n(&|a, b| !a && b), n(&|a, b| !a && !b)];
            let (row, column) = (cells[0] + cells[1], cells[0] + cells[2]);
            let all = pairs.len() as f64;
            let rows = entropy(&[row, all - row]) + entropy(&[column, all - column]);
            let ratio = 2.0 * (rows - entropy(&cells));
            let own: BTreeSet<usize> = pairs
                .iter()
                .filter(|pair| pair.0 == *first && pair.1 == *second)
                .map(|pair| pair.2)
                .collect();
            let threshold = 2.0 * ((frequent.len() * frequent.len()) as f64 * 2.0 / 1e-3).ln();
            assert!((ratio - threshold).abs() > 1e-9 || own.is_empty(), "on the threshold");
            let is_typical = cells[0] * 10.0 >= row.min(column);
            if own.len() >= least && cells[0] * all > row * column && is_typical && ratio > threshold {
                found.insert(format!("{first} {second}"));
            }
        }
    }
    found
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let words = ["ant", "bee", "cat", "dog", "hard drive", "red sky", "fox", "gnu", "elk", ". owl", ". pig"];
    let text =
        prop::collection::vec(prop::sample::select(words.to_vec()), 0..20).prop_map(|words| words.join(" "));
    prop::collection::vec(text, 0..19)
}

proptest! {
    #[test]
    fn pairs_are_those_counted_by_hand(texts in texts()) {
        // Without triples in the vocabulary every pair that is tested is there, or part of a longer one only.
        let found: BTreeSet<String> = phrases(&texts, &options()).into_iter().collect();
        let by_hand = pairs_by_hand(&texts);
        let pairs = found.iter().filter(|phrase| phrase.matches(' ').count() == 1).cloned();
        let pairs: BTreeSet<String> = pairs.collect();
        prop_assert!(pairs.is_subset(&by_hand), "{:?} {:?}", pairs, by_hand);
        for pair in by_hand.difference(&pairs) {
            // Never by itself, since it overlaps with another.
            let parts: Vec<&str> = pair.split(' ').collect();
            prop_assert!(
                found.iter().any(|other| other.split(' ').any(|word| parts.contains(&word))),
                "{} {:?}", pair, found
            );
        }
    }

    #[test]
    fn the_order_of_documents_changes_nothing(texts in texts(), by in 0usize..19) {
        let straight = bags(&texts, &options()).unwrap();
        let mut turned = texts.clone();
        turned.rotate_left(by.min(texts.len()));
        let turned = bags(&turned, &options()).unwrap();
        prop_assert_eq!(&turned.vocabulary, &straight.vocabulary);
        prop_assert_eq!(turned.bags.counts().iter().sum::<u32>(), straight.bags.counts().iter().sum::<u32>());
        prop_assert_eq!(turned.bags.len(), straight.bags.len());
    }
}
