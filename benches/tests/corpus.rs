//! The standard corpus is what its documentation says, and stays what it is.

use countgrid_benches::Corpus;
use countgrid_counts::Bags;

#[test]
fn the_standard_corpus_has_the_documented_size() {
    let corpus = Corpus::standard().draw(1);
    assert_eq!((corpus.len(), corpus.features()), (10_000, 5_000));
    let tokens: u64 = corpus.counts().iter().map(|&count| u64::from(count)).sum();
    let per_bag = |total: f64| total / corpus.len() as f64;
    // Tokens are uniform in 52..=156: standard deviation of the mean 30.3 / √10,000 = 0.3.
    assert!((per_bag(tokens as f64) - 104.0).abs() < 1.5, "{}", per_bag(tokens as f64));
    let distinct = per_bag(corpus.indices().len() as f64);
    assert!((distinct - 85.0).abs() < 2.0, "{distinct}");
}

#[test]
fn a_seed_gives_the_same_corpus_everywhere() {
    let small = Corpus { bags: 20, ..Corpus::standard() };
    let first: Vec<_> = small.draw(7).entries(0).take(6).collect();
    assert_eq!(first, [(0, 3), (2, 1), (8, 1), (9, 1), (10, 1), (12, 1)]);
    assert_ne!(small.draw(7), small.draw(8));
}
