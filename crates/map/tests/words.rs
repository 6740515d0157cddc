//! The choice of words against its definition, computed one weight at a time.

use countgrid_map::{Document, DocumentPosterior, GridFacts, GridMap, PageError, Word, characteristic_words};
use proptest::prelude::*;

type Tables = (usize, Vec<String>, Vec<f32>, Vec<f64>);

fn tables() -> impl Strategy<Value = Tables> {
    (1usize..8, 0usize..9).prop_flat_map(|(cells, features)| {
        let vocabulary = (0..features).map(|z| format!("word{z}")).collect();
        let p = prop_oneof![Just(0.0f32), Just(0.25), 0.0f32..1.0];
        let tokens = prop_oneof![Just(0.0f64), 0.0f64..300.0];
        (
            Just(cells),
            Just(vocabulary),
            prop::collection::vec(p, cells * features),
            prop::collection::vec(tokens, cells),
        )
    })
}

/// The weight of the documentation of a word with `counts` `[cell]`, `around` `[cell]` tokens, of `total` tokens in all.
fn weight(features: usize, share: f64, count: f64, around: f64, whole: f64, total: f64) -> f64 {
    let mean = whole / total;
    if !(share > mean && count > 0.0) {
        return 0.0;
    }
    let (features, prior) = (features as f64, features as f64 * mean);
    let (y, y_other) = (count + prior, (whole - count).max(0.0) + prior);
    let (rest, rest_other) = (around + features - y, total - around + features - y_other);
    if !(y > 0.0 && y_other > 0.0 && rest > 0.0 && rest_other > 0.0) {
        return 0.0;
    }
    let z = ((y / rest).ln() - (y_other / rest_other).ln()) / (1.0 / y + 1.0 / y_other + 0.1).sqrt();
    if z.is_finite() { z.max(0.0) } else { 0.0 }
}

fn weights((cells, vocabulary, pi, tokens): &Tables, feature: usize) -> Vec<f64> {
    let plane = &pi[feature * cells..(feature + 1) * cells];
    let counts: Vec<f64> = plane.iter().zip(tokens).map(|(&p, tokens)| f64::from(p) * tokens).collect();
    let (whole, total) = (counts.iter().sum(), tokens.iter().sum());
    (0..*cells)
        .map(|i| weight(vocabulary.len(), f64::from(plane[i]), counts[i], tokens[i], whole, total))
        .collect()
}

proptest! {
    #[test]
    fn words_are_those_of_the_definition(tables in tables(), per_cell in 0usize..5) {
        let (cells, vocabulary, pi, tokens) = &tables;
        let words = characteristic_words(pi, *cells, vocabulary, tokens, per_cell).unwrap();
        prop_assert!(words.is_sorted_by(|a, b| (a.cell, -a.weight) <= (b.cell, -b.weight)));
        let all: Vec<Vec<f64>> = (0..vocabulary.len()).map(|z| weights(&tables, z)).collect();
        let number = |word: &Word| vocabulary.iter().position(|text| *text == word.text).unwrap();
        // Sums of terms of one size, and a difference of logarithms of quotients near 1: a few ulps of 1, over a deviation above 0.3.
        let close = 1e-12;
        let least = all.iter().flatten().fold(0.0f64, |a, &b| a.max(b)) * 0.25;
        let least = least.min(3.0);
        for word in &words {
            let expected = all[number(word)][word.cell as usize];
            // Rounded to f32: half an ulp, 6e-8.
            prop_assert!((f64::from(word.weight) - expected).abs() <= 1e-7 * expected + close);
            prop_assert!(expected > least - close);
        }
        for cell in 0..*cells {
            let here: Vec<&Word> = words.iter().filter(|word| word.cell as usize == cell).collect();
            prop_assert!(here.len() <= per_cell);
            let enough = all.iter().filter(|weights| weights[cell] > least + close).count();
            prop_assert!(here.len() >= enough.min(per_cell), "cell {} has {} words", cell, here.len());
            // What is left out is no better than the last of the best.
            if let Some(last) = per_cell.checked_sub(1).and_then(|last| here.get(last)) {
                let last = all[number(last)][cell];
                for z in (0..vocabulary.len()).filter(|&z| here.iter().all(|word| number(word) != z)) {
                    prop_assert!(all[z][cell] <= last + close);
                }
            }
        }
    }

    /// On a grid a cell has the words of the documents whose windows cover it.
    #[test]
    fn words_of_a_grid_are_those_of_the_documents_around(
        [rows, columns] in [1usize..5, 1usize..6],
        sides in [1usize..4, 1usize..4],
        pi in prop::collection::vec(0.0f32..1.0, 3 * 20),
        places in prop::collection::vec(0usize..20, 1..30),
        length in 1.0f64..50.0,
    ) {
        let cells = rows * columns;
        let window = [sides[0].min(rows), sides[1].min(columns)];
        let vocabulary = ["red", "blue", "green"];
        let pi = &pi[..3 * cells];
        let mut map = GridMap::new(&[rows, columns], &window).unwrap();
        for place in &places {
            map.push(Document::default(), DocumentPosterior { best: &[(place % cells, 1.0)], layers: &[] });
        }
        let total = length * places.len() as f64;
        let facts = GridFacts { tokens: total, grid: "", window: "", iterations: None, bound_per_token: None, seed: None };
        let words = map.pages("", pi, &vocabulary, &[], &facts).unwrap().remove(0).words;
        let covered = |start: usize| {
            (0..window[0]).flat_map(move |a| (0..window[1]).map(move |b| {
                (start / columns + a) % rows * columns + (start % columns + b) % columns
            }))
        };
        let mut all = Vec::new();
        for (z, _) in vocabulary.iter().enumerate() {
            let (mut counts, mut around, mut whole) = (vec![0.0; cells], vec![0.0; cells], 0.0);
            for place in &places {
                let mean = covered(place % cells).map(|cell| f64::from(pi[z * cells + cell])).sum::<f64>()
                    / (window[0] * window[1]) as f64;
                whole += length * mean;
                for cell in covered(place % cells) {
                    counts[cell] += length * mean;
                    around[cell] += length;
                }
            }
            let share = |cell: usize| f64::from(pi[z * cells + cell]);
            all.push((0..cells).map(|i| weight(3, share(i), counts[i], around[i], whole, total)).collect::<Vec<_>>());
        }
        let least = (all.iter().flatten().fold(0.0f64, |a, &b| a.max(b)) * 0.25).min(3.0);
        // Up to 30 documents are added up in another order, of 16 cells each: 500 ulps, of numbers up to 1500, in logarithms and
        // over a deviation above 0.3.
        let close = 1e-9;
        let drawn = all.iter().flatten().filter(|&&weight| weight > least + close).count();
        let at_most = all.iter().flatten().filter(|&&weight| weight > least - close).count();
        prop_assert!((drawn..=at_most).contains(&words.len()));
        for word in &words {
            let z = vocabulary.iter().position(|text| *text == word.text).unwrap();
            let expected = all[z][word.cell as usize];
            prop_assert!((f64::from(word.weight) - expected).abs() <= 1e-7 * expected + close);
        }
    }
}

#[test]
fn what_is_said_everywhere_is_not_drawn() {
    // Of each 1000 words 100 are "the", in one cell 150; 10 are "hockey" in one cell and 1 elsewhere.
    let the = [0.15f32, 0.1, 0.1, 0.1];
    let hockey = [0.001f32, 0.01, 0.001, 0.001];
    let other: Vec<f32> = the.iter().zip(&hockey).map(|(a, b)| 1.0 - a - b).collect();
    let pi = [&the[..], &hockey, &other].concat();
    let words = characteristic_words(&pi, 4, &["the", "hockey", "other"], &[10_000.0; 4], 3).unwrap();
    let drawn: Vec<_> = words.iter().map(|word| (word.text.as_str(), word.cell)).collect();
    assert_eq!(drawn, [("hockey", 1)]);
}

#[test]
fn tables_of_another_shape_are_refused() {
    let words = |pi: &[f32], tokens: &[f64]| characteristic_words(pi, 2, &["a", "b"], tokens, 3);
    let found = |table, expected, found| Err(PageError::Length { table, expected, found });
    assert_eq!(words(&[0.5; 3], &[1.0; 2]), found("pi", 4, 3));
    assert_eq!(words(&[0.5; 4], &[1.0]), found("mass", 2, 1));
    let bad = |table, index| Err(PageError::Value { table, index });
    assert_eq!(words(&[0.5, 0.5, f32::NAN, 0.5], &[1.0; 2]), bad("pi", 2));
    assert_eq!(words(&[0.5, -0.5, 0.5, 0.5], &[1.0; 2]), bad("pi", 1));
    assert_eq!(words(&[0.5; 4], &[1.0, f64::INFINITY]), bad("mass", 1));
    let none: [&str; 0] = [];
    assert_eq!(characteristic_words(&[], 0, &none, &[], 3), Ok(vec![]));
    assert_eq!(words(&[0.5; 4], &[0.0, 0.0]), Ok(vec![])); // no text, no words
}

/// Where all text is in one cell no word is more frequent there than in all texts, whatever the rounding of its share, nor is it in a
/// cell without text.
#[test]
fn one_cell_with_text_has_no_word_of_its_own() {
    let mut drawn = 0;
    for tokens in [128.0, 100.0, 1e5 + 1.0 / 3.0] {
        for n in 1..400 {
            let share = n as f32 / 400.0;
            let alone = characteristic_words(&[share, 1.0 - share], 1, &["a", "b"], &[tokens], 3).unwrap();
            drawn += alone.len();
            let pi = [0.9, share, 0.1, 1.0 - share];
            let beside = characteristic_words(&pi, 2, &["a", "b"], &[0.0, tokens], 3).unwrap();
            drawn += beside.len();
        }
    }
    assert_eq!(drawn, 0);
    // Nor on a grid with one document, in whose window the cells differ.
    let vocabulary: Vec<String> = (0..50).map(|word| format!("word{word}")).collect();
    let weights: Vec<f64> = (0..50 * 12).map(|n| (1 + n * n % 17) as f64).collect();
    let of = |word: usize, cell: usize| weights[word * 12 + cell];
    let all: Vec<f64> = (0..12).map(|cell| (0..50).map(|word| of(word, cell)).sum()).collect();
    let pi: Vec<f32> = (0..50 * 12).map(|n| (of(n / 12, n % 12) / all[n % 12]) as f32).collect();
    let mut map = GridMap::new(&[3, 4], &[2, 2]).unwrap();
    map.push(Document::default(), DocumentPosterior { best: &[(5, 1.0)], layers: &[] });
    let facts = GridFacts {
        tokens: 123.0,
        grid: "",
        window: "",
        iterations: None,
        bound_per_token: None,
        seed: None,
    };
    assert_eq!(map.pages("", &pi, &vocabulary, &[], &facts).unwrap().remove(0).words, []);
}
