//! Reading a collection: identities on random texts, selection on small ones.

use std::collections::{BTreeMap, BTreeSet};

use countgrid_counts::Bags;
use countgrid_text::{
    Language, Languages, StopWords, TextError, TextOptions, Tokenizer, Vocabulary, WordBags, bags,
};
use proptest::prelude::*;

/// Texts over few words, so that words repeat within and across documents.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let words = [
        "cat", "cats", "Dog", "dogs", "running", "run", "runs", "the", "don't", "it's", "Müller", "müller",
        "猫", "x", "42", "lynx", "zebra's", "zebra",
    ];
    let text = prop::collection::vec(prop::sample::select(words.to_vec()), 0..12).prop_map(|w| w.join(" "));
    prop::collection::vec(text, 0..12)
}

fn options() -> impl Strategy<Value = TextOptions> {
    let min_count = prop::option::of(0usize..4);
    (any::<bool>(), any::<bool>(), min_count, 0.05..=1.0, 0usize..12).prop_map(
        |(all, stem, min_count, max_share, max_words)| TextOptions {
            stop_words: if all { StopWords::None } else { StopWords::English },
            stem,
            min_count,
            max_share,
            max_words,
            ..TextOptions::default()
        },
    )
}

/// The documents that each word of the result is in.
fn spread(bags: &WordBags) -> Vec<usize> {
    let mut spread = vec![0; bags.vocabulary.len()];
    bags.bags.indices().iter().for_each(|&feature| spread[feature as usize] += 1);
    spread
}

proptest! {
    #[test]
    fn rows_are_well_formed(texts in texts(), options in options()) {
        let bags = bags(&texts, &options).unwrap();
        prop_assert_eq!(bags.len(), texts.len());
        prop_assert_eq!(bags.bags.features(), bags.vocabulary.len());
        prop_assert!(bags.vocabulary.is_sorted_by(|a, b| a < b));
        for t in 0..bags.len() {
            let bag: Vec<_> = bags.bag(t).collect();
            prop_assert!(bag.is_sorted_by(|a, b| a.0 < b.0));
            prop_assert!(bag.iter().all(|&(z, count)| (z as usize) < bags.vocabulary.len() && count > 0));
            prop_assert_eq!(bag.is_empty(), bags.empty_bags().any(|empty| empty == t));
        }
        prop_assert_eq!(bags.bag(texts.len()).count() + bags.bag(usize::MAX).count(), 0);
    }

    /// Against a second reading with ordered maps: every token of the vocabulary is counted, once.
    #[test]
    fn counts_are_the_kept_tokens(texts in texts(), options in options()) {
        let options = TextOptions { languages: Languages::english(), ..options };
        let bags = bags(&texts, &options).unwrap();
        let tokenizer = Tokenizer::new(&options).unwrap();
        let stem = |token: &str| tokenizer.stem(Language::ENGLISH, token).into_owned();
        let known: BTreeSet<String> = bags.vocabulary.iter().map(|word| stem(word)).collect();
        prop_assert_eq!(known.len(), bags.vocabulary.len());
        let mut kept = 0;
        for (t, text) in texts.iter().enumerate() {
            let mut expected = BTreeMap::new();
            for token in tokenizer.tokens(text).map(|token| stem(&token)).filter(|stem| known.contains(stem)) {
                *expected.entry(token).or_insert(0u32) += 1;
                kept += 1;
            }
            let found: BTreeMap<_, _> =
                bags.bag(t).map(|(z, count)| (stem(&bags.vocabulary[z as usize]), count)).collect();
            prop_assert_eq!(found, expected);
        }
        prop_assert_eq!(bags.bags.counts().iter().map(|&n| u64::from(n)).sum::<u64>(), kept);
        let tokens: usize = texts.iter().map(|text| tokenizer.tokens(text).count()).sum();
        prop_assert_eq!(bags.summary.tokens, tokens as u64);
    }

    #[test]
    fn every_word_is_within_the_limits(texts in texts(), options in options()) {
        let bags = bags(&texts, &options).unwrap();
        let least = options.min_count.unwrap_or(1); // fewer than 20 documents
        let most = (options.max_share * texts.len() as f64).ceil() as usize;
        for (word, &d) in bags.vocabulary.iter().zip(&spread(&bags)) {
            prop_assert!(d >= least && d <= most.max(least).max(1), "{} is in {} documents", word, d);
        }
        prop_assert!(bags.vocabulary.len() <= options.max_words);
        let s = bags.summary;
        prop_assert_eq!(s.words, s.rare + s.common + s.surplus + bags.vocabulary.len());
    }

    #[test]
    fn permuting_documents_permutes_bags(
        (texts, order) in texts().prop_flat_map(|texts| {
            let order = Just((0..texts.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(texts), order)
        }),
        options in options(),
    ) {
        let straight = bags(&texts, &options).unwrap();
        let permuted = bags(order.iter().map(|&t| &texts[t]), &options).unwrap();
        prop_assert_eq!(&permuted.vocabulary, &straight.vocabulary);
        prop_assert_eq!(permuted.summary, straight.summary);
        for (new, &old) in order.iter().enumerate() {
            prop_assert!(permuted.bag(new).eq(straight.bag(old)));
        }
    }

    /// What the cap keeps tells at least as many pairs apart as what it drops.
    #[test]
    fn the_cap_keeps_the_highest_resolving_power(texts in texts(), options in options()) {
        let capped = bags(&texts, &options).unwrap();
        let whole = bags(&texts, &TextOptions { max_words: usize::MAX, ..options }).unwrap();
        let power: Vec<usize> = spread(&whole).iter().map(|&d| d * (texts.len() - d)).collect();
        let (mut kept, mut dropped) = (vec![], vec![]);
        for (word, &power) in whole.vocabulary.iter().zip(&power) {
            if capped.vocabulary.contains(word) { kept.push(power) } else { dropped.push(power) }
        }
        prop_assert_eq!(dropped.len(), capped.summary.surplus);
        if let (Some(lowest), Some(highest)) = (kept.iter().min(), dropped.iter().max()) {
            prop_assert!(lowest >= highest);
        }
    }

    #[test]
    fn a_new_document_is_counted_as_it_was_read(texts in texts(), options in options()) {
        let bags = bags(&texts, &options).unwrap();
        let tokenizer = Tokenizer::new(&bags.options).unwrap();
        let vocabulary = Vocabulary::new(&bags.vocabulary, &tokenizer);
        for (t, text) in texts.iter().enumerate() {
            prop_assert!(bags.bag(t).eq(vocabulary.count(text)));
        }
    }
}

#[test]
fn a_stem_shows_its_commonest_word() {
    let options = TextOptions { stem: true, max_share: 1.0, ..TextOptions::default() };
    let bags = bags(["connected connects", "connected connection", "tied ties"], &options).unwrap();
    assert_eq!(bags.vocabulary, ["connected", "tied"]); // "ties" stems to "tie", as "tied"; first of equals
    assert_eq!(bags.bags.counts(), [2, 2, 2]);
}

#[test]
fn common_and_rare_words_leave() {
    let texts: Vec<String> = (0..10)
        .map(|t| format!("everywhere {} {}", if t % 2 == 0 { "half" } else { "" }, ["lonely", ""][t.min(1)]))
        .collect();
    let options = TextOptions { min_count: Some(2), ..TextOptions::default() };
    let bags = bags(&texts, &options).unwrap();
    assert_eq!(bags.vocabulary, ["half"]);
    assert_eq!((bags.summary.rare, bags.summary.common, bags.summary.surplus), (1, 1, 0));
    assert_eq!(bags.empty_bags().collect::<Vec<_>>(), [1, 3, 5, 7, 9]); // kept, for the caller to report
}

#[test]
fn the_least_count_follows_the_number_of_documents() {
    for (documents, least) in [(19, 1), (20, 2), (199, 2), (200, 3), (1_999, 3), (2_000, 5)] {
        // Word number n is in n documents.
        let texts = (0..documents).map(|t| {
            (1..8)
                .filter(|&n| t < n)
                .map(|n| format!("word{} ", ["", "a", "b", "c", "d", "e", "f", "g"][n]))
                .collect::<String>()
        });
        let bags = bags(texts, &TextOptions { max_share: 1.0, ..TextOptions::default() }).unwrap();
        assert_eq!(spread(&bags), (least..8).collect::<Vec<_>>(), "{documents} documents");
    }
}

#[test]
fn one_document_keeps_its_words() {
    let bags = bags(["alpha beta alpha"], &TextOptions::default()).unwrap();
    assert_eq!((bags.vocabulary.len(), bags.bags.counts()), (2, &[2, 1][..]));
    assert!(!bags.is_empty());
}

#[test]
fn nothing_gives_nothing() {
    let none: [&str; 0] = [];
    let empty = bags(none, &TextOptions::default()).unwrap();
    assert!(empty.is_empty() && empty.bags.offsets() == [0]);
    let refused = bags(["text"], &TextOptions { max_share: 2.0, ..TextOptions::default() });
    assert_eq!(refused, Err(TextError::MaxShare { found: 2.0 }));
}
