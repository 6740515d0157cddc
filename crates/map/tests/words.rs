//! The choice of words against its definition, computed one score at a time.

use countgrid_map::{PageError, Word, characteristic_words};
use proptest::prelude::*;

type Tables = (usize, Vec<String>, Vec<f32>, Option<Vec<f64>>);

fn tables() -> impl Strategy<Value = Tables> {
    (1usize..8, 0usize..9).prop_flat_map(|(cells, features)| {
        let vocabulary = (0..features).map(|z| format!("word{z}")).collect();
        let p = prop_oneof![Just(0.0f32), Just(0.25), 0.0f32..1.0];
        let mass = prop_oneof![Just(0.0f64), 0.0f64..3.0];
        (
            Just(cells),
            Just(vocabulary),
            prop::collection::vec(p, cells * features),
            prop::option::of(prop::collection::vec(mass, cells)),
        )
    })
}

/// The score of the documentation.
fn score((cells, _, pi, mass): &Tables, feature: usize, cell: usize) -> f64 {
    let plane = &pi[feature * cells..(feature + 1) * cells];
    let mass: Vec<f64> = mass.clone().unwrap_or_else(|| vec![1.0; *cells]);
    let tokens: f64 = plane.iter().zip(&mass).map(|(&p, mass)| f64::from(p) * mass).sum();
    let mean = tokens / mass.iter().sum::<f64>();
    let p = f64::from(plane[cell]);
    if p > 0.0 && mass[cell] > 0.0 { mass[cell] * p * (p / mean).ln() } else { 0.0 }
}

proptest! {
    #[test]
    fn words_are_those_of_the_definition(tables in tables(), per_cell in 0usize..5) {
        let (cells, vocabulary, pi, mass) = &tables;
        let words = characteristic_words(pi, *cells, vocabulary, mass.as_deref(), per_cell).unwrap();
        prop_assert!(words.is_sorted_by(|a, b| (a.cell, -a.weight) <= (b.cell, -b.weight)));
        let number = |word: &Word| vocabulary.iter().position(|text| *text == word.text).unwrap();
        let scores = |z: usize| (0..*cells).map(|i| score(&tables, z, i)).collect::<Vec<_>>();
        // Scores within 1e-12 may be ordered either way: libm here, the platform there, one ulp each.
        let close = 1e-12;
        for word in &words {
            let expected = score(&tables, number(word), word.cell as usize).max(0.0).sqrt();
            // The weight is rounded to f32: half an ulp, 6e-8; the square root halves what comes before.
            prop_assert!((f64::from(word.weight) - expected).abs() <= 1e-6 * expected + 1e-6);
        }
        for cell in 0..*cells {
            let here: Vec<&Word> = words.iter().filter(|word| word.cell as usize == cell).collect();
            let positive = (0..vocabulary.len()).filter(|&z| score(&tables, z, cell) > close).count();
            prop_assert!(here.len() >= positive.min(per_cell), "cell {} has {} words", cell, here.len());
            // What is left out is no better than the last of the best.
            if let Some(last) = per_cell.checked_sub(1).and_then(|last| here.get(last)) {
                let least = score(&tables, number(last), cell);
                for z in (0..vocabulary.len()).filter(|&z| here.iter().all(|word| number(word) != z)) {
                    prop_assert!(score(&tables, z, cell) <= least + close);
                }
            }
            // Beyond the best stand only words at their peak.
            for extra in here.iter().skip(per_cell) {
                let all = scores(number(extra));
                prop_assert!(all.iter().all(|&other| other <= all[cell] + close));
            }
        }
        for (z, text) in vocabulary.iter().enumerate() {
            let highest = scores(z).into_iter().fold(0.0, f64::max);
            let shown = words.iter().filter(|word| word.text == *text).map(|word| scores(z)[word.cell as usize]);
            prop_assert!(highest <= close || shown.fold(0.0, f64::max) >= highest - close);
        }
    }
}

#[test]
fn tables_of_another_shape_are_refused() {
    let words = |pi: &[f32], mass: Option<&[f64]>| characteristic_words(pi, 2, &["a", "b"], mass, 3);
    let found = |table, expected, found| Err(PageError::Length { table, expected, found });
    assert_eq!(words(&[0.5; 3], None), found("pi", 4, 3));
    assert_eq!(words(&[0.5; 4], Some(&[1.0])), found("mass", 2, 1));
    let bad = |table, index| Err(PageError::Value { table, index });
    assert_eq!(words(&[0.5, 0.5, f32::NAN, 0.5], None), bad("pi", 2));
    assert_eq!(words(&[0.5, -0.5, 0.5, 0.5], None), bad("pi", 1));
    assert_eq!(words(&[0.5; 4], Some(&[1.0, f64::INFINITY])), bad("mass", 1));
    let none: [&str; 0] = [];
    assert_eq!(characteristic_words(&[], 0, &none, None, 3), Ok(vec![]));
    assert_eq!(words(&[0.5; 4], Some(&[0.0, 0.0])), Ok(vec![])); // no text, no words
}
