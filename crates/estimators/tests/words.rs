//! The most characteristic words of windows and topics.

use countgrid_estimators::{AXES, FittedGrid, FittedLda, ModelInfo, TopWord, WordUse};
use countgrid_grid::{Grid, Shape};
use countgrid_lda::Lda;

fn info(words: &[&str]) -> ModelInfo {
    ModelInfo::for_vocabulary(words.iter().map(|&word| word.to_owned()).collect())
}

/// A ring of four cells with windows of two; the last word is nowhere.
fn ring() -> FittedGrid<f64> {
    let pi = [[0.5, 0.25, 0.25, 0.0], [0.5, 0.25, 0.5, 0.75], [0.0, 0.5, 0.25, 0.25], [0.0; 4]];
    let tables = [pi.concat(), vec![0.25; 4]].concat();
    let grid = Grid::new(Shape::from_sides([4], [2], 4).unwrap(), tables).unwrap();
    FittedGrid::from_grid(info(&["ant", "bee", "cat", "dog"]), &grid).unwrap()
}

#[test]
fn words_of_a_window_are_means_over_its_cells() {
    let of = |probabilities: [f64; 4], lifts: [f64; 4]| -> Vec<WordUse> {
        let both = probabilities.into_iter().zip(lifts).enumerate();
        both.map(|(word, (probability, lift))| WordUse { word, probability, lift }).collect()
    };
    // Numbers that are exact in binary. Over the whole ring the words have 1/4, 1/2, 1/4 and 0.
    let expected = [
        of([0.375, 0.375, 0.25, 0.0], [1.5, 0.75, 1.0, 0.0]),
        of([0.25, 0.625, 0.125, 0.0], [1.0, 1.25, 0.5, 0.0]), // around the end of the ring
        of([0.125, 0.625, 0.25, 0.0], [0.5, 1.25, 1.0, 0.0]),
        of([0.0; 4], [0.0; 4]), // there is no such cell
    ];
    assert_eq!(ring().word_uses(&[0, 3, 2, 9]).unwrap(), expected);
    assert!(ring().word_uses(&[]).unwrap().is_empty());
}

#[test]
fn words_are_those_of_the_vocabulary() {
    let ring = ring();
    assert_eq!((ring.word(0), ring.word(3), ring.word(4)), ("ant", "dog", ""));
}

#[test]
fn how_characteristic_a_word_is_is_its_term_of_the_divergence() {
    let word = |probability, lift| WordUse { word: 0, probability, lift };
    assert_eq!(word(0.25, 2.0).divergence_term(), 0.25 * std::f64::consts::LN_2);
    assert_eq!(word(0.5, 0.25).divergence_term(), -std::f64::consts::LN_2);
    assert_eq!(word(0.5, 1.0).divergence_term(), 0.0);
    assert_eq!(word(0.0, 0.0).divergence_term(), 0.0); // the limit of p log p
    // Over all words they are the divergence: of (1/8, 5/8, 1/4) from (1/4, 1/2, 1/4).
    let total: f64 = ring().word_uses(&[2]).unwrap()[0].iter().map(WordUse::divergence_term).sum();
    let expected = 0.125 * 0.5_f64.ln() + 0.625 * 1.25_f64.ln();
    assert!((total - expected).abs() < 1e-15, "{total}");
}

#[test]
fn words_with_the_largest_key_come_first() {
    let uses = ring().word_uses(&[0]).unwrap().remove(0);
    let words = |uses: Vec<WordUse>| uses.into_iter().map(|word| word.word).collect::<Vec<_>>();
    assert_eq!(words(WordUse::top(&uses, 3, |word| word.lift)), [0, 2, 1]);
    // Of equals the first of the vocabulary, wherever it stands.
    let reversed: Vec<_> = uses.iter().rev().copied().collect();
    assert_eq!(words(WordUse::top(&reversed, 9, |word| word.probability)), [0, 1, 2, 3]);
    assert_eq!(WordUse::top(&uses, 1, |word| -word.lift), [uses[3]]);
    assert!(WordUse::top(&uses, 0, |word| word.lift).is_empty());
    // A uniform distribution has 1/4 of each.
    assert_eq!(WordUse::frequent(&uses), uses[..3]);
    let two = [WordUse { word: 5, ..uses[0] }, WordUse { word: 6, probability: 0.625, lift: 1.0 }];
    assert_eq!(WordUse::frequent(&two), two[1..]);
    assert!(WordUse::frequent(&[]).is_empty());
}

#[test]
fn the_most_probable_words_of_a_topic_come_first() {
    let beta = [0.25, 0.125, 0.25, 0.5, 0.5, 0.375];
    let lda = Lda::new(countgrid_lda::Shape::new(2, 3).unwrap(), [&beta[..], &[0.5; 2]].concat()).unwrap();
    let topics = FittedLda::from_lda(info(&["ant", "bee", "cat"]), &lda).unwrap();
    let of = |words: &[(usize, f64)]| -> Vec<TopWord> {
        words.iter().map(|&(word, probability)| TopWord { word, probability }).collect()
    };
    assert_eq!(topics.top_words(0, 9), of(&[(2, 0.5), (0, 0.25), (1, 0.25)]));
    assert_eq!(topics.top_words(1, 2), of(&[(1, 0.5), (2, 0.375)]));
    assert!(topics.top_words(0, 0).is_empty());
}

#[test]
fn a_lattice_is_evenly_spaced() {
    let lattice = |extents: [usize; 2], most| {
        let cells = extents[0] * extents[1];
        let tables = vec![1.0_f64 / cells as f64; cells];
        let tables = [vec![1.0; cells], tables].concat();
        let grid = Grid::new(Shape::from_sides(extents, [1, 1], 1).unwrap(), tables).unwrap();
        FittedGrid::from_grid(info(&["ant"]), &grid).unwrap().lattice(most)
    };
    assert_eq!(lattice([4, 6], 4), [[0, 0], [0, 3], [2, 0], [2, 3]]);
    assert_eq!(lattice([1, 7], 3), [[0, 0], [0, 2], [0, 4]]);
    assert_eq!(lattice([3, 3], 3), [[0, 0]]);
    assert_eq!(lattice([2, 9], 9), [[0, 0], [0, 3], [0, 6], [1, 0], [1, 3], [1, 6]]);
    assert_eq!(ring().lattice(2), [[0], [2]]);
    assert!(ring().layout().extents().len() < AXES); // coordinates are those of the axes that it has
}
