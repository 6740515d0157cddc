//! Measures of maps, topics and held-out documents: against what scikit-learn and gensim print, and against definitions.

use countgrid_corpus::{BlockLimits, Blocks, Corpus};
use countgrid_counts::{CsrBuf, Dense, SequencesBuf};
use countgrid_estimators::{
    AnyModel, FittedComponential, FittedGrid, FittedLda, GridLayout, HmmOptions, ModelInfo, Train, Training,
};
use countgrid_evaluation::{
    Coherence, CountMetric, Distances, EvaluationError, MapPoints, MeasureOptions, SparseRows, Stop,
    coherence, document_completion, held_out_bound, label_agreement, measure, neighbourhoods,
};
use countgrid_lda::{Lda, Shape};

/// The generator of the Python programs below.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// The counts and points of this program, which printed the numbers of the test (scikit-learn 1.9.1, NumPy 2.4.6):
///
/// ```python
/// import numpy as np
/// from sklearn.manifold import trustworthiness
/// state = 1
/// def draw(n):
///     global state
///     state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
///     return (state >> 33) % n
/// n = 50
/// counts = np.array([[draw(1000) / 16 * (draw(3) != 0) + 20 * (f == d % 12) for f in range(12)] for d in range(n)])
/// points = np.array([[draw(100000) / 1000, draw(100000) / 1000] for _ in range(n)])
/// points += 30 * (np.arange(n) % 12)[:, None] / 12
/// points %= 100
/// p = counts / counts.sum(1, keepdims=True)
/// hellinger = np.sqrt(np.maximum(0, 1 - np.sqrt(p) @ np.sqrt(p).T))
/// apart = np.abs(points[:, None] - points[None])
/// torus = (np.minimum(apart, 100 - apart)**2).sum(2)
/// for k in [1, 5, 15]:
///     print(trustworthiness(counts, points, n_neighbors=k, metric="cosine"),
///           trustworthiness(hellinger, points, n_neighbors=k, metric="precomputed"),
///           trustworthiness(counts, points, n_neighbors=k, metric="euclidean"))
///     # Continuity: the spaces swapped.
///     print(trustworthiness(points, counts, n_neighbors=k, metric="euclidean"),
///           trustworthiness(torus, counts, n_neighbors=k, metric="precomputed"),
///           trustworthiness(torus, points, n_neighbors=k, metric="precomputed"))
/// ```
fn counts_and_points() -> (Blocks<f64>, Vec<f64>) {
    let mut draws = Draws(1);
    let mut counts = Vec::new();
    for d in 0..50 {
        for f in 0..12 {
            let (x, zero) = (draws.below(1000) as f64 / 16.0, draws.below(3) == 0);
            counts.push(if zero { 0.0 } else { x } + if f == d % 12 { 20.0 } else { 0.0 });
        }
    }
    let mut points = Vec::new();
    for d in 0..50 {
        for _ in 0..2 {
            points.push((draws.below(100_000) as f64 / 1000.0 + 30.0 * f64::from(d % 12) / 12.0) % 100.0);
        }
    }
    (Blocks::from_bags(&Dense::new(12, &counts).unwrap(), BlockLimits::in_memory()).unwrap(), points)
}

#[test]
fn trustworthiness_is_that_of_scikit_learn() {
    let (counts, points) = counts_and_points();
    let plane = MapPoints::in_plane(2, points.clone()).unwrap();
    let torus = MapPoints::on_torus(vec![100.0; 2], points).unwrap();
    let rows = |metric| SparseRows::new(&counts, metric, |_| true).unwrap();
    let [cosine, hellinger, euclidean] =
        [CountMetric::Cosine, CountMetric::Hellinger, CountMetric::Euclidean].map(rows);
    let table = [
        (
            1,
            [0.44791666666666663, 0.43166666666666664, 0.46499999999999997],
            [0.49624999999999997, 0.42166666666666663, 0.9991666666666666],
        ),
        (
            5,
            [0.43685714285714283, 0.4325714285714286, 0.4694285714285714],
            [0.5112380952380953, 0.4614285714285714, 0.9907619047619047],
        ),
        (
            15,
            [0.5055802469135803, 0.515753086419753, 0.5235061728395062],
            [0.5484938271604938, 0.5438024691358025, 0.9501234567901234],
        ),
    ];
    let stop = Stop::new();
    // The penalties are whole numbers: what is left is the rounding of three operations on numbers up to 1.
    let same = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    for (k, of_plane, others) in table {
        let trust = |space| neighbourhoods(space, &plane, k, &stop).unwrap().trustworthiness;
        let found = [trust(&cosine), trust(&hellinger), trust(&euclidean)];
        found.into_iter().zip(of_plane).for_each(|(found, expected)| same(found, expected));
        same(neighbourhoods(&euclidean, &plane, k, &stop).unwrap().continuity, others[0]);
        same(neighbourhoods(&euclidean, &torus, k, &stop).unwrap().continuity, others[1]);
        let both = neighbourhoods(&torus, &plane, k, &stop).unwrap();
        same(both.trustworthiness, others[2]);
        let swapped = neighbourhoods(&plane, &torus, k, &stop).unwrap();
        assert_eq!((both.continuity, both.kept), (swapped.trustworthiness, swapped.kept));
        let itself = neighbourhoods(&torus, &torus, k, &stop).unwrap();
        assert_eq!((itself.trustworthiness, itself.kept.value), (1.0, 1.0));
    }
}

/// Distances of counts are those of their definitions, up to a monotone scale, also from a document without counts.
#[test]
fn distances_of_counts_are_those_of_the_definitions() {
    let counts = [1.0_f64, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 5.0, 0.5, 0.25];
    let bags = Blocks::from_bags(&Dense::new(3, &counts).unwrap(), BlockLimits::in_memory()).unwrap();
    let row = |n: usize| &counts[3 * n..3 * n + 3];
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    for (metric, expected) in [
        (
            CountMetric::Euclidean,
            &(|x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum())
                as &dyn Fn(&[f64], &[f64]) -> f64,
        ),
        (CountMetric::Cosine, &|x, y| {
            let lengths = (dot(x, x) * dot(y, y)).sqrt();
            if lengths > 0.0 { 1.0 - dot(x, y) / lengths } else { 1.0 }
        }),
        (CountMetric::Hellinger, &|x, y| {
            let (all_x, all_y) = (x.iter().sum::<f64>(), y.iter().sum::<f64>());
            if all_x * all_y == 0.0 {
                return 1.0;
            }
            x.iter().zip(y).map(|(x, y)| 0.5 * ((x / all_x).sqrt() - (y / all_y).sqrt()).powi(2)).sum()
        }),
    ] {
        let rows = SparseRows::new(&bags, metric, |_| true).unwrap();
        let mut found = [0.0; 4];
        for item in 0..4 {
            rows.distances_from(item, &mut found);
            for (other, &found) in found.iter().enumerate().filter(|&(other, _)| other != item) {
                let expected = expected(row(item), row(other));
                // A handful of roundings of numbers up to 50.
                assert!((found - expected).abs() < 1e-13, "{metric} {item} {other}: {found} {expected}");
            }
        }
        let kept = SparseRows::new(&bags, metric, |document| document != 2).unwrap();
        assert_eq!(kept.items(), 3);
    }
}

#[test]
fn labels_agree_whatever_the_order_of_items() {
    let mut draws = Draws(7);
    // On a lattice, so that there are many ties.
    let mut items: Vec<([f64; 2], usize)> =
        (0..40).map(|n| ([draws.below(4) as f64, draws.below(4) as f64], n % 3)).collect();
    let stop = Stop::new();
    let agreement = |items: &[([f64; 2], usize)]| {
        let points: Vec<f64> = items.iter().flat_map(|&(point, _)| point).collect();
        let labels: Vec<usize> = items.iter().map(|&(_, label)| label).collect();
        label_agreement(&MapPoints::on_torus(vec![4.0; 2], points).unwrap(), &labels, 5, &stop).unwrap()
    };
    let first = agreement(&items);
    items.reverse();
    let reversed = agreement(&items);
    // Sums of the same forty numbers up to 1 in another order.
    assert!((first.share.value - reversed.share.value).abs() < 1e-14);
    assert!((first.vote.value - reversed.vote.value).abs() < 1e-14);
    // By the definition: the mean over all orders of ties of one item, here by their expected number.
    let mut shares = 0.0;
    for (n, &(point, label)) in items.iter().enumerate() {
        let apart = |x: f64, y: f64| (x - y).abs().min(4.0 - (x - y).abs());
        let mut others: Vec<(f64, bool)> = items
            .iter()
            .enumerate()
            .filter(|&(m, _)| m != n)
            .map(|(_, &(q, other))| {
                (apart(point[0], q[0]).powi(2) + apart(point[1], q[1]).powi(2), other == label)
            })
            .collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let last = others[4].0;
        let (near, tied): (Vec<_>, Vec<_>) = others.iter().filter(|x| x.0 <= last).partition(|x| x.0 < last);
        let right = |of: &[&(f64, bool)]| of.iter().filter(|x| x.1).count() as f64;
        let places = (5 - near.len()) as f64;
        shares += (right(&near) + places * right(&tied) / tied.len() as f64) / 5.0;
    }
    assert!((first.share.value - shares / 40.0).abs() < 1e-14);
    // All of one label.
    let same: Vec<_> = items.iter().map(|&(point, _)| (point, 1)).collect();
    let same = agreement(&same);
    assert_eq!((same.share.value, same.vote.value), (1.0, 1.0));
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let stop = Stop::new();
    let four = MapPoints::in_plane(1, vec![0.0, 1.0, 2.0, 3.0]).unwrap();
    let three = MapPoints::in_plane(1, vec![0.0, 1.0, 2.0]).unwrap();
    for (map, k) in [(&three, 1), (&four, 0), (&four, 2)] {
        assert!(neighbourhoods(&four, map, k, &stop).is_err());
    }
    assert!(neighbourhoods(&four, &four, 1, &stop).is_ok());
    assert!(label_agreement(&four, &[0, 1], 1, &stop).is_err());
    assert!(label_agreement(&four, &[0, 1, 1, 1], 0, &stop).is_err());
    assert!(MapPoints::in_plane(2, vec![0.0; 3]).is_err());
    assert!(MapPoints::in_plane(0, Vec::new()).is_err());
    assert!(MapPoints::in_plane(1, vec![f64::NAN]).is_err());
    assert!(MapPoints::on_torus(vec![f64::INFINITY], vec![0.0]).is_err());
    stop.request();
    assert!(matches!(neighbourhoods(&four, &four, 1, &stop), Err(EvaluationError::Stopped)));
    assert!(matches!(label_agreement(&four, &[0; 4], 1, &stop), Err(EvaluationError::Stopped)));
}

/// The documents of this program, which printed the numbers of the test (gensim 4.4.0):
///
/// ```python
/// from gensim.corpora import Dictionary
/// from gensim.models.coherencemodel import CoherenceModel
/// state = 1
/// def draw(n):
///     global state
///     state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
///     return (state >> 33) % n
/// texts = []
/// for d in range(60):
///     words = []
///     for _ in range(draw(160)):
///         words.append(str((d % 3) * 8 + draw(8) if draw(10) < 7 else draw(30)))
///     texts.append(words)
/// dictionary = Dictionary([[str(w) for w in range(30)]])
/// topics = [[0, 1, 2, 3, 4], [8, 9, 10, 11, 12, 13], [16, 0, 25, 9, 29], [29, 28, 27, 26, 25, 24]]
/// for measure in ["u_mass", "c_npmi", "c_v"]:
///     model = CoherenceModel(topics=[[str(w) for w in t] for t in topics], texts=texts, dictionary=dictionary,
///         corpus=[dictionary.doc2bow(t) for t in texts], coherence=measure, processes=1)
///     print(measure, model.get_coherence_per_topic())
/// ```
///
/// A symbol more than the 30 words is for those that are unknown, and stands for a document without words.
fn texts() -> SequencesBuf<u32> {
    let (mut draws, mut texts) = (Draws(1), SequencesBuf::new(31));
    for d in 0..60 {
        let tokens = draws.below(160);
        let mut words = Vec::new();
        for _ in 0..tokens {
            // Python draws from 10 first.
            let own = draws.below(10) < 7;
            words.push(if own { (d % 3) * 8 + draws.below(8) } else { draws.below(30) } as u32);
        }
        if words.is_empty() {
            words.push(30);
        }
        texts.push(words).unwrap();
    }
    texts
}

#[test]
fn coherence_is_that_of_gensim() {
    let texts = texts();
    let topics = [
        vec![0, 1, 2, 3, 4],
        vec![8, 9, 10, 11, 12, 13],
        vec![16, 0, 25, 9, 29],
        vec![29, 28, 27, 26, 25, 24],
    ];
    let table = [
        (
            Coherence::UMass,
            [-0.30411411360851925, -0.2885970753129289, -0.5174784390340161, -0.5040972261753678],
        ),
        (
            Coherence::Npmi,
            [0.17425448984278252, 0.17175906793653564, -0.05990723587894141, -0.03775107436310762],
        ),
        (Coherence::Cv, [0.45830882583830634, 0.44169456460691564, 0.5049424302222544, 0.5617411768457575]),
    ];
    for (measure, expected) in table {
        let found = coherence(measure, &topics, texts.as_view(), &Stop::new()).unwrap();
        for (found, expected) in found.iter().zip(expected) {
            // The same counts: what is left is the rounding of logarithms.
            assert!((found.value.unwrap() - expected).abs() < 1e-9, "{measure}: {found:?} {expected}");
            assert_eq!(found.unseen, 0);
        }
    }
}

#[test]
fn words_that_never_occur_are_left_out() {
    let texts = texts();
    for &measure in Coherence::ALL {
        let of = |topics: &[Vec<usize>]| coherence(measure, topics, texts.as_view(), &Stop::new()).unwrap();
        // The unknown word stands for a document without words: it is in windows only if there was one.
        let mut more = SequencesBuf::new(40);
        texts.as_view().iter().for_each(|text| more.push(text.entries().iter().copied()).unwrap());
        let found = coherence(
            measure,
            &[vec![35, 0, 1, 36, 2], vec![0, 37], vec![], vec![38, 39]],
            more.as_view(),
            &Stop::new(),
        )
        .unwrap();
        assert_eq!((found[0].value, found[0].unseen), (of(&[vec![0, 1, 2]])[0].value, 2));
        assert_eq!((found[1].value, found[1].unseen), (None, 1));
        assert_eq!((found[2].value, found[2].unseen), (None, 0));
        assert_eq!((found[3].value, found[3].unseen), (None, 2));
        assert!(found[0].value.unwrap().is_finite());
        for wrong in [vec![0, 0], vec![31]] {
            assert!(coherence(measure, &[wrong], texts.as_view(), &Stop::new()).is_err());
        }
        let stop = Stop::new();
        stop.request();
        let stopped = coherence(measure, &[vec![0, 1]], texts.as_view(), &stop);
        assert!(matches!(stopped, Err(EvaluationError::Stopped)));
    }
    // A word that is in every window.
    let mut same = SequencesBuf::new(3);
    (0..3).for_each(|_| same.push([0_u32, 1]).unwrap());
    for &measure in Coherence::ALL {
        let found = coherence(measure, &[vec![0, 1]], same.as_view(), &Stop::new()).unwrap();
        assert!(found[0].value.unwrap().is_finite(), "{measure}");
    }
}

/// Of the tokens that are left the distribution of LDA, given the others, is that of the proportions of topics.
#[test]
fn the_other_half_of_a_document_is_predicted() {
    let shape = Shape::new(2, 3).unwrap();
    // `beta` [word][topic], `alpha` [topic].
    let lda = Lda::new(shape, vec![0.7, 0.1, 0.2, 0.1, 0.1, 0.8, 0.5, 0.5]).unwrap();
    let words = ["a", "b", "c"].map(str::to_owned).to_vec();
    let fitted = FittedLda::from_lda(ModelInfo::for_vocabulary(words), &lda).unwrap();
    let of = |counts: &[f64]| {
        Blocks::from_bags(&Dense::new(3, counts).unwrap(), BlockLimits::in_memory()).unwrap()
    };
    // Documents of one word: which tokens are given makes no difference.
    let counts = [8.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let found = document_completion(&fitted, &of(&counts), 3, &Stop::new()).unwrap().unwrap();
    let theta = fitted.transform(&of(&[4.0, 0.0, 0.0, 0.0, 0.0, 3.0])).unwrap();
    let [a, b, c, d] = theta.values[..] else { panic!() };
    let expected = (4.0 * (0.7 * a + 0.1 * b).ln() + 2.0 * (0.1 * c + 0.8 * d).ln()) / 6.0;
    assert_eq!((found.tokens, found.documents), (6.0, 2)); // one token alone is not scored
    assert!((found.per_token.value - expected).abs() < 1e-14, "{found:?} {expected}");
    assert!((found.perplexity() * expected.exp() - 1.0).abs() < 1e-13);
    assert!(document_completion(&fitted, &of(&[1.0, 0.0, 0.0]), 3, &Stop::new()).unwrap().is_none());
    for wrong in [0.5, 1e10] {
        let refused = document_completion(&fitted, &of(&[2.0, 0.0, 0.0, 0.0, wrong, 0.0]), 3, &Stop::new());
        assert!(matches!(refused, Err(EvaluationError::TokenCount { document: 1, word: 1, .. })));
    }
}

#[test]
fn the_other_half_is_predicted_by_all_the_windows_that_a_document_draws_from() {
    let words = ["ant", "bee", "cat"].map(str::to_owned).to_vec();
    // Four cells in a circle, windows of two: h of window l is the mean of cells l and l + 1.
    let pi = [[0.7, 0.1, 0.4, 0.2], [0.1, 0.1, 0.3, 0.5], [0.2, 0.8, 0.3, 0.3]];
    let tables: Vec<f64> = pi.into_iter().flatten().chain([0.5; 4]).collect();
    let layout = GridLayout::new(vec![4], vec![2]).unwrap();
    let info = ModelInfo::for_vocabulary(words.clone());
    let model = FittedComponential::<f64>::new(info, layout, &tables, None).unwrap();
    let of = |counts: &[f64]| {
        Blocks::from_bags(&Dense::new(3, counts).unwrap(), BlockLimits::in_memory()).unwrap()
    };
    // Documents of one word: which tokens are given makes no difference.
    let counts = [8.0, 0.0, 0.0, 0.0, 0.0, 5.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let found = document_completion(&model, &of(&counts), 3, &Stop::new()).unwrap().unwrap();
    let theta = model.transform(&of(&[4.0, 0.0, 0.0, 0.0, 0.0, 3.0])).unwrap();
    let p = |document: usize, word: usize| -> f64 {
        let h = (0..4).map(|l| (pi[word][l] + pi[word][(l + 1) % 4]) / 2.0);
        h.zip(theta.row(document)).map(|(h, theta)| h * theta).sum()
    };
    let expected = (4.0 * p(0, 0).ln() + 2.0 * p(1, 2).ln()) / 6.0;
    assert_eq!((found.tokens, found.documents), (6.0, 2));
    assert!((found.per_token.value - expected).abs() < 1e-14, "{found:?} {expected}");

    let corpus = Corpus::from_bags(
        CsrBuf::from_dense(3, &[4.0, 2.0, 0.0, 0.0, 1.0, 5.0, 1.0, 1.0, 1.0]).unwrap(),
        words,
        BlockLimits::in_memory(),
    )
    .unwrap();
    let bound = held_out_bound(&model.score(&corpus.bags).unwrap(), &corpus.bags).unwrap().unwrap();
    let model = AnyModel::ComponentialF64(Box::new(model));
    let options = MeasureOptions { top_words: 2, neighbours: 1, ..MeasureOptions::default() };
    let measured = measure(&model, &corpus, None, &options, &Stop::new()).unwrap();
    assert_eq!(measured.get("bound_per_token").unwrap().value.unwrap(), bound.per_token);
    assert_eq!(measured.topics, 2); // windows that do not overlap
    assert!(measured.get("trustworthiness").unwrap().value.is_ok());
}

#[test]
fn a_bound_is_per_token_and_has_the_error_of_a_ratio() {
    let bags = Blocks::from_bags(
        &Dense::new(2, &[1.0_f64, 1.0, 0.0, 0.0, 3.0, 1.0]).unwrap(),
        BlockLimits::in_memory(),
    )
    .unwrap();
    let found = held_out_bound(&[3.0, f64::NAN, 9.0], &bags).unwrap().unwrap();
    assert_eq!((found.per_token.value, found.tokens, found.documents), (-2.0, 6.0, 2));
    // Residuals -3 + 2 · 2 and -9 + 2 · 4: sqrt((1 + 1) · 2 / 1) / 6.
    assert!((found.per_token.standard_error.unwrap() - 2.0 / 6.0).abs() < 1e-15);
    assert!(held_out_bound(&[1.0], &bags).is_err());
    let impossible = held_out_bound(&[3.0, 0.0, f64::INFINITY], &bags).unwrap().unwrap();
    assert_eq!((impossible.per_token.value, impossible.per_token.standard_error), (f64::NEG_INFINITY, None));
    let none = Blocks::from_bags(&Dense::new(1, &[0.0_f64]).unwrap(), BlockLimits::in_memory()).unwrap();
    assert_eq!(held_out_bound(&[0.0], &none).unwrap(), None);
}

/// A model of every kind that has no command: topics, and sequences.
#[test]
fn topics_are_measured_and_sequences_are_refused() {
    let words: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let lda = Lda::new(Shape::new(2, 3).unwrap(), vec![0.7, 0.1, 0.2, 0.1, 0.1, 0.8, 0.5, 0.5]).unwrap();
    let lda = FittedLda::from_lda(ModelInfo::for_vocabulary(words.clone()), &lda).unwrap();
    let counts = CsrBuf::from_dense(3, &[4.0_f64, 2.0, 0.0, 0.0, 1.0, 5.0, 1.0, 1.0, 1.0]).unwrap();
    let corpus = Corpus::from_bags(counts, words.clone(), BlockLimits::in_memory()).unwrap();
    let (stop, options) = (Stop::new(), MeasureOptions { top_words: 2, ..MeasureOptions::default() });
    let bound = held_out_bound(&lda.score(&corpus.bags).unwrap(), &corpus.bags).unwrap().unwrap();
    let completion = document_completion(&lda, &corpus.bags, 1, &stop).unwrap().unwrap();
    let model = AnyModel::Lda(Box::new(lda));
    let found = measure(&model, &corpus, None, &options, &stop).unwrap();
    let value = |name: &str| found.get(name).unwrap().value;
    assert_eq!(value("bound_per_token").unwrap(), bound.per_token);
    assert_eq!(value("completion_log_likelihood").unwrap(), completion.per_token);
    assert_eq!(value("diversity").unwrap().value, 0.5); // all three words of both topics
    // Words a, b of the one topic, c and a of the other: of b the topics have 2/3 and 1/3.
    let (one, other) = ((0.7 / 0.8 + 0.2 / 0.3) / 2.0, (0.8 / 0.9 + 0.1 / 0.8) / 2.0);
    assert!((value("exclusivity").unwrap().value - f64::midpoint(one, other)).abs() < 1e-15);
    assert_eq!(value("trustworthiness"), Err("topics are no map"));
    assert!(value("u_mass").is_ok() && value("c_v").is_err());
    let stability = found.stability(&found, 1, &stop).unwrap();
    assert!((stability.topics.unwrap().value - 1.0).abs() < 1e-15 && stability.neighbours.is_none());

    let other = Corpus::from_bags(
        CsrBuf::from_dense(2, &[1.0_f64, 0.0]).unwrap(),
        words[..2].to_vec(),
        BlockLimits::in_memory(),
    );
    let refused = measure(&model, &other.unwrap(), None, &options, &stop);
    assert!(matches!(refused, Err(EvaluationError::Words { expected: 3, found: 2 })));

    let mut sequences = SequencesBuf::new(3);
    sequences.push([0_u16, 1, 2, 0]).unwrap();
    let hmm = HmmOptions { states: 1, iterations: 1, ..HmmOptions::default() };
    let training = Training::new(hmm.check(&sequences).unwrap(), &sequences).unwrap();
    let mut fitted = training.finish().unwrap();
    fitted.info = ModelInfo::for_vocabulary(words);
    let refused = measure(&AnyModel::Hmm(Box::new(fitted)), &corpus, None, &options, &stop);
    assert!(matches!(refused, Err(EvaluationError::NoMeasures { .. })));
}

/// No more documents than asked for, of all models the same ones; others of another seed.
#[test]
fn neighbourhoods_are_those_of_as_many_documents_as_asked_for() {
    let words: Vec<String> = (0..12).map(|word| format!("word{word}")).collect();
    let mut draws = Draws(3);
    let counts: Vec<f64> = (0..50 * 12).map(|_| draws.below(4) as f64).collect();
    let counts = CsrBuf::from_dense(12, &counts).unwrap();
    let corpus = Corpus::from_bags(counts, words.clone(), BlockLimits::in_memory()).unwrap();
    let mut model = || {
        let shape = countgrid_grid::Shape::from_sides([4, 4], [2, 2], 12).unwrap();
        let mut tables: Vec<f64> = (0..12 * 16).map(|_| 1.0 + draws.below(9) as f64).collect();
        for cell in 0..16 {
            let sum: f64 = tables.iter().skip(cell).step_by(16).sum();
            tables.iter_mut().skip(cell).step_by(16).for_each(|x| *x /= sum);
        }
        tables.extend([1.0 / 16.0; 16]);
        let grid = countgrid_grid::Grid::new(shape, tables).unwrap();
        FittedGrid::from_grid(ModelInfo::for_vocabulary(words.clone()), &grid).unwrap()
    };
    let [one, other] = [model(), model()].map(|model| AnyModel::GridF64(Box::new(model)));
    let stop = Stop::new();
    let found = |model, documents, seed| {
        let options = MeasureOptions { documents, seed, neighbours: 3, ..MeasureOptions::default() };
        measure(model, &corpus, None, &options, &stop).unwrap()
    };
    for (most, expected) in [(7, 7), (20, 20), (49, 49), (50, 50), (51, 50)] {
        assert_eq!(found(&one, most, 1).documents, expected);
    }
    // Nine neighbours take more than 18 documents that both maps have.
    let kept = |seed| {
        let (one, other) = (found(&one, 20, 1), found(&other, 20, seed));
        one.stability(&other, 9, &stop).unwrap().neighbours
    };
    assert!(kept(1).is_some() && kept(2).is_none());
}
