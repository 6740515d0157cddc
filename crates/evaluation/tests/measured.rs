//! Measures of every kind of model are those of its parts: positions, distributions over words, free energies.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, Corpus, LabelColumn};
use countgrid_counts::{Bags, CsrBuf, Dense, SequencesBuf};
use countgrid_estimators::{
    AnyModel, BagTotals, FittedGrid, FittedLda, HarmoniumData, HarmoniumOptions, LatentKind, ModelInfo,
    TopographicOptions, TopographicTraining, Train,
};
use countgrid_evaluation::{
    Coherence, CountMetric, EvaluationError, MapPoints, Mean, MeasureOptions, ModelMeasures, OptionError,
    Predictive, SparseRows, Stop, WordDistributions, coherence, document_completion, held_out_bound,
    label_agreement, measure, neighbourhoods, topic_diversity,
};
use countgrid_lda::{Lda, Shape};
use countgrid_math::index_below;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

const WORDS: usize = 6;

fn names(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn vocabulary() -> Vec<String> {
    names(&["ant", "bee", "cat", "dog", "elk", "fox"])
}

/// Counts of thirty documents, of which the eighth has none and each other has more of two words than of others.
fn counts() -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut counts = Vec::new();
    for n in 0..30 {
        for word in 0..WORDS {
            let own = if word / 2 == n % 3 { 4 } else { 0 };
            let count = own + index_below(rng.next_u64(), 3);
            counts.push(if n == 7 { 0.0 } else { count as f64 });
        }
    }
    counts
}

/// The documents, the first ones with these labels.
fn corpus(labels: &[Option<&str>]) -> Corpus<f64> {
    let bags = CsrBuf::from_dense(WORDS, &counts()).unwrap();
    let mut corpus = Corpus::from_bags(bags, vocabulary(), BlockLimits::in_memory()).unwrap();
    if !labels.is_empty() {
        corpus.labels = LabelColumn::from_labels(labels.iter().map(|label| label.map(str::to_owned)));
    }
    corpus
}

fn value(found: &ModelMeasures, name: &str) -> Result<f64, &'static str> {
    found.get(name).unwrap().value.map(|mean| mean.value)
}

/// The words of each document once, in ascending order.
fn once(bags: &Blocks<f64>) -> SequencesBuf<u32> {
    let mut all = SequencesBuf::new(WORDS + 1);
    let bags = bags.gather(|count| count).unwrap();
    for bag in 0..bags.len() {
        let words: Vec<u32> = bags.entries(bag).map(|(word, _)| word as u32).collect();
        all.push(if words.is_empty() { vec![WORDS as u32] } else { words }).unwrap();
    }
    all
}

#[test]
fn a_topographic_map_has_positions_shares_and_likelihoods() {
    let (corpus, stop) = (corpus(&[]), Stop::new());
    let bags = corpus.bags.gather(|count| count).unwrap();
    for latent in [LatentKind::Grid, LatentKind::Torus] {
        let own = TopographicOptions {
            latent,
            points: [5, 4],
            basis_functions: [3, 3],
            iterations: 5,
            ..TopographicOptions::default()
        };
        let plan = own.check::<f64>(BagTotals::from_blocks(&corpus.bags).unwrap()).unwrap();
        let mut training = TopographicTraining::new(plan, bags.clone()).unwrap();
        training.run(|_| ControlFlow::Continue(())).unwrap();
        let mut map = training.finish().unwrap();
        map.info = ModelInfo::for_vocabulary(vocabulary());

        let places = map.place(&corpus.bags).unwrap();
        let known = |document: usize| document != 7;
        let means: Vec<f64> =
            (0..30).filter(|&document| known(document)).flat_map(|document| places[document].mean).collect();
        let points = match latent {
            LatentKind::Torus => MapPoints::on_torus(vec![2.0; 2], means).unwrap(),
            _ => MapPoints::in_plane(2, means).unwrap(),
        };
        let rows = SparseRows::new(&corpus.bags, CountMetric::Cosine, known).unwrap();
        let expected = neighbourhoods(&rows, &points, 4, &stop).unwrap();
        let energies: Vec<f64> = places.iter().map(|place| -place.log_likelihood).collect();
        let bound = held_out_bound(&energies, &corpus.bags).unwrap().unwrap().per_token;
        let shares = map.feature_shares().unwrap(); // [word][cell]
        let topics = |cells: &[usize]| {
            let shares = cells.iter().flat_map(|cell| shares.iter().skip(*cell).step_by(20));
            WordDistributions::new(WORDS, shares.map(|&share| f64::from(share)).collect()).unwrap()
        };
        let model = AnyModel::TopographicF64(Box::new(map));
        for (most, cells) in
            [(3, vec![0, 6, 13]), (8, vec![0, 2, 5, 7, 10, 12, 15, 17]), (90, (0..20).collect())]
        {
            let options = MeasureOptions {
                neighbours: 4,
                top_words: 2,
                diversity_words: 1,
                topics: most,
                ..MeasureOptions::default()
            };
            let found = measure(&model, &corpus, None, &options, &stop).unwrap();
            assert_eq!((found.documents, found.topics), (29, cells.len()));
            assert_eq!(value(&found, "trustworthiness"), Ok(expected.trustworthiness), "{latent:?}");
            assert_eq!(value(&found, "continuity"), Ok(expected.continuity));
            assert_eq!(found.get("bound_per_token").unwrap().value, Ok(bound));
            let topics = topics(&cells);
            assert_eq!(found.get("exclusivity").unwrap().value, Ok(topics.exclusivity(2).unwrap()));
            assert_eq!(value(&found, "diversity"), Ok(topic_diversity(&topics.top_words(1)).unwrap()));
            assert_eq!(
                value(&found, "perplexity"),
                Err("a topographic map is not a distribution over tokens")
            );
        }
    }
}

#[test]
fn a_harmonium_has_the_words_with_the_largest_couplings() {
    let (corpus, stop) = (corpus(&[]), Stop::new());
    let own = HarmoniumOptions { topics: 3, epochs: 20, trials: 9, ..HarmoniumOptions::default() };
    let plan = own.check(BagTotals::from_blocks(&corpus.bags).unwrap()).unwrap();
    let data = HarmoniumData::<f64>::new(&plan, &corpus.bags, None).unwrap();
    let mut training = plan.train(&data, None).unwrap();
    training.run(|_| ControlFlow::Continue(())).unwrap();
    let mut fitted = training.finish().unwrap();
    fitted.info = ModelInfo::for_vocabulary(vocabulary());
    let w = fitted.model().w().to_vec(); // [word][topic]
    let top = |count: usize| -> Vec<Vec<usize>> {
        let of = |topic: usize| {
            let mut words: Vec<usize> = (0..WORDS).collect();
            words.sort_by(|&a, &b| w[b * 3 + topic].total_cmp(&w[a * 3 + topic]));
            words[..count].to_vec()
        };
        (0..3).map(of).collect()
    };
    let model = AnyModel::HarmoniumF64(Box::new(fitted));
    for (top_words, diversity_words) in [(2, 3), (4, 1)] {
        let options = MeasureOptions { top_words, diversity_words, ..MeasureOptions::default() };
        let found = measure(&model, &corpus, None, &options, &stop).unwrap();
        assert_eq!((found.topics, found.documents, found.unseen_words), (3, 0, 0));
        assert_eq!(value(&found, "diversity").unwrap(), topic_diversity(&top(diversity_words)).unwrap());
        let texts = once(&corpus.bags);
        let topics = coherence(Coherence::UMass, &top(top_words), texts.as_view(), &stop).unwrap();
        let values: Vec<f64> = topics.iter().map(|topic| topic.value.unwrap()).collect();
        assert_eq!(found.get("u_mass").unwrap().value, Ok(Mean::of(&values)));
        for (name, reason) in [
            ("c_v", "the data are counts, without an order of words"),
            ("exclusivity", "topics of a harmonium are no distributions over words"),
            ("completion_log_likelihood", "a harmonium is not a distribution over tokens"),
            ("bound_per_token", "a harmonium has no bound"),
            ("continuity", "topics are no map"),
        ] {
            assert_eq!(value(&found, name), Err(reason));
        }
        let stability = found.stability(&found, 1, &stop).unwrap();
        assert_eq!((stability.neighbours, stability.topics), (None, None));
    }
}

/// A grid of four cells in a circle, windows of two: `h` of window `l` is the mean of cells `l` and `l + 1`.
fn grid() -> (Vec<[f64; 4]>, FittedGrid<f64>) {
    let pi: Vec<[f64; 4]> = (0..WORDS)
        .map(|word| [0, 1, 2, 3].map(|cell| if (word + cell) % 3 == 0 { 0.35 } else { 0.075 }))
        .collect();
    let h = pi.iter().map(|row| [0, 1, 2, 3].map(|l| (row[l] + row[(l + 1) % 4]) / 2.0)).collect();
    let shape = countgrid_grid::Shape::from_sides([4], [2], WORDS).unwrap();
    let tables: Vec<f64> = pi.into_iter().flatten().chain([0.1, 0.2, 0.3, 0.4]).collect();
    let grid = countgrid_grid::Grid::new(shape, tables).unwrap();
    (h, FittedGrid::from_grid(ModelInfo::for_vocabulary(vocabulary()), &grid).unwrap())
}

#[test]
fn the_other_half_is_predicted_by_the_posterior_over_windows() {
    let (h, grid) = grid();
    let prior = [0.1_f64, 0.2, 0.3, 0.4];
    // Documents of one word: which tokens are given makes no difference.
    let counts = [[3.0, 0.0], [0.0, 4.0], [1.0, 0.0], [0.0, 0.0]];
    let table: Vec<f64> = counts.iter().flat_map(|&[a, b]| [a, 0.0, 0.0, b, 0.0, 0.0]).collect();
    let bags = Blocks::from_bags(&Dense::new(WORDS, &table).unwrap(), BlockLimits::in_memory()).unwrap();
    let found = document_completion(&grid, &bags, 3, &Stop::new()).unwrap().unwrap();
    let p = |word: usize, given: i32| -> f64 {
        let weights = [0, 1, 2, 3].map(|l| prior[l] * h[word][l].powi(given));
        let all: f64 = weights.iter().sum();
        weights.iter().zip(h[word]).map(|(weight, h)| weight / all * h).sum()
    };
    let logs = [p(0, 2).ln(), 2.0 * p(3, 2).ln()];
    let expected = (logs[0] + logs[1]) / 3.0;
    assert_eq!((found.tokens, found.documents), (3.0, 2));
    assert!((found.per_token.value - expected).abs() < 1e-14, "{found:?} {expected}");
    let residuals = [logs[0] - expected, logs[1] - 2.0 * expected];
    let error = (2.0 * (residuals[0].powi(2) + residuals[1].powi(2))).sqrt() / 3.0;
    assert!((found.per_token.standard_error.unwrap() - error).abs() < 1e-14);

    // Tokens of a word that the grid does not have.
    let of = |words: usize, counts: &[f64]| {
        Blocks::from_bags(&Dense::new(words, counts).unwrap(), BlockLimits::in_memory()).unwrap()
    };
    let mut more = [0.0; 9];
    more[7] = 1.0;
    let refused = grid.log_predictive(&of(WORDS, &[1.0; WORDS]), &of(9, &more)).unwrap_err();
    assert!(matches!(refused, EvaluationError::Words { expected: WORDS, found: 8 }), "{refused}");
    assert_eq!(grid.log_predictive(&of(WORDS, &[1.0; WORDS]), &of(9, &[0.0; 9])).unwrap(), [0.0]);
}

#[test]
fn a_grid_is_measured_by_windows_that_do_not_overlap() {
    let (h, grid) = grid();
    let stop = Stop::new();
    let labels: Vec<Option<&str>> =
        (0..30).map(|n| if n % 5 == 4 { None } else { Some(["even", "odd"][n % 3 % 2]) }).collect();
    let corpus = corpus(&labels);
    let completion = document_completion(&grid, &corpus.bags, 9, &stop).unwrap().unwrap();
    let bound = held_out_bound(&grid.score(&corpus.bags).unwrap(), &corpus.bags).unwrap().unwrap();
    let placements = grid.place(&corpus.bags).unwrap();
    let points = |keep: &dyn Fn(usize) -> bool| {
        let known = placements.iter().enumerate().filter(|&(n, one)| one.position.is_some() && keep(n));
        let points = known.map(|(_, one)| one.position.as_ref().unwrap().mean[0].unwrap()).collect();
        MapPoints::on_torus(vec![4.0], points).unwrap()
    };
    let model = AnyModel::GridF64(Box::new(grid));
    let options = MeasureOptions {
        neighbours: 3,
        top_words: 2,
        diversity_words: 2,
        seed: 9,
        metric: CountMetric::Hellinger,
        ..MeasureOptions::default()
    };
    let found = measure(&model, &corpus, None, &options, &stop).unwrap();
    let [a, b] = [0, 2].map(|l| h.iter().map(|row| row[l]).collect::<Vec<f64>>());
    let topics = WordDistributions::new(WORDS, [a, b].concat()).unwrap();
    assert_eq!((found.topics, found.documents), (2, 29));
    let exclusivity = topics.exclusivity(2).unwrap();
    assert!((value(&found, "exclusivity").unwrap() - exclusivity.value).abs() < 1e-15);
    assert_eq!(value(&found, "diversity").unwrap(), topic_diversity(&topics.top_words(2)).unwrap());
    assert_eq!(found.get("bound_per_token").unwrap().value, Ok(bound.per_token));
    assert_eq!(found.get("completion_log_likelihood").unwrap().value, Ok(completion.per_token));
    // To first order the error of exp(-x) is that of x, times its value.
    let perplexity = found.get("perplexity").unwrap();
    assert!(!perplexity.more_is_better);
    let found_perplexity = perplexity.value.unwrap();
    let expected = (-completion.per_token.value).exp();
    // Two exponentials of a number around 2, each with an error of an ulp at most.
    assert!((found_perplexity.value / expected - 1.0).abs() < 1e-15);
    let error = completion.per_token.standard_error.unwrap() * found_perplexity.value;
    assert_eq!(found_perplexity.standard_error, Some(error));

    let labelled: Vec<usize> = (0..30).filter(|n| n % 5 != 4 && *n != 7).map(|n| n % 3 % 2).collect();
    let agreement = label_agreement(&points(&|n| n % 5 != 4), &labelled, 3, &stop).unwrap();
    assert_eq!(found.get("neighbour_labels").unwrap().value, Ok(agreement.share));
    assert_eq!(found.get("neighbour_vote").unwrap().value, Ok(agreement.vote));
    let rows = SparseRows::new(&corpus.bags, CountMetric::Hellinger, |n| n != 7).unwrap();
    let neighbours = neighbourhoods(&rows, &points(&|_| true), 3, &stop).unwrap();
    assert_eq!(value(&found, "trustworthiness"), Ok(neighbours.trustworthiness));

    // One label, or none.
    for labels in [vec![Some("same"); 30], vec![None; 30], vec![]] {
        let found = measure(&model, &self::corpus(&labels), None, &options, &stop).unwrap();
        assert_eq!(value(&found, "neighbour_vote"), Err("the documents have fewer than two labels"));
        assert_eq!(value(&found, "trustworthiness"), Ok(neighbours.trustworthiness));
    }
    // Neighbours of 29 documents.
    for (neighbours, is_known) in [(14, true), (15, false)] {
        let found = measure(&model, &corpus, None, &MeasureOptions { neighbours, ..options.clone() }, &stop);
        let found = found.unwrap();
        assert_eq!(value(&found, "continuity").is_ok(), is_known);
        assert_eq!(found.stability(&found, neighbours, &stop).unwrap().neighbours.is_some(), is_known);
        assert!(value(&found, "neighbour_labels").is_ok());
    }
}

/// Texts are over the words of the model, and one more for those that it does not know.
#[test]
fn texts_and_options_of_another_shape_are_refused() {
    let (corpus, stop) = (corpus(&[]), Stop::new());
    let model = AnyModel::GridF64(Box::new(grid().1));
    let options = MeasureOptions { top_words: 2, diversity_words: 1, ..MeasureOptions::default() };
    for symbols in [WORDS - 1, WORDS, WORDS + 1, WORDS + 2] {
        let mut texts = SequencesBuf::new(symbols);
        (0..30).for_each(|n| texts.push([n % 3, n % 4, 4, n % 2]).unwrap());
        match measure(&model, &corpus, Some(&texts), &options, &stop) {
            Ok(found) => {
                assert_eq!(symbols, WORDS + 1);
                let top = [0, 2].map(|l| {
                    let h = grid().0;
                    let mut words: Vec<usize> = (0..WORDS).collect();
                    words.sort_by(|&a, &b| h[b][l].total_cmp(&h[a][l]));
                    words.truncate(2);
                    words
                });
                for kind in Coherence::ALL {
                    let topics = coherence(*kind, &top, texts.as_view(), &stop).unwrap();
                    let values: Vec<f64> = topics.iter().filter_map(|topic| topic.value).collect();
                    let unseen: usize = topics.iter().map(|topic| topic.unseen).sum();
                    assert_eq!(found.unseen_words, unseen);
                    let value = found.get(kind.name()).unwrap().value;
                    if values.is_empty() {
                        assert_eq!(value, Err("the data have too few of the top words"));
                    } else {
                        assert_eq!(value, Ok(Mean::of(&values)), "{kind}");
                    }
                }
            }
            Err(EvaluationError::Words { expected, found }) => {
                assert_eq!((expected, found), (WORDS + 1, symbols));
            }
            Err(error) => panic!("{error}"),
        }
    }
    for (options, expected) in [
        (MeasureOptions { neighbours: 0, ..options.clone() }, OptionError::NoNeighbours),
        (MeasureOptions { topics: 0, ..options.clone() }, OptionError::NoTopics),
        (MeasureOptions { top_words: 0, ..options.clone() }, OptionError::FewTopWords { words: 0 }),
        (MeasureOptions { top_words: 1, ..options.clone() }, OptionError::FewTopWords { words: 1 }),
        (MeasureOptions { diversity_words: 0, ..options.clone() }, OptionError::FewTopWords { words: 0 }),
    ] {
        assert_eq!(options.check(), Err(expected));
        match measure(&model, &corpus, None, &options, &stop) {
            Err(EvaluationError::Option(found)) => assert_eq!(found, expected),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(options.check(), Ok(()));
}

/// Topics are compared word by word, wherever a vocabulary has the word.
#[test]
fn two_fits_agree_by_the_words_that_they_share() {
    let stop = Stop::new();
    // `beta` [word][topic], `alpha` [topic].
    let of = |words: &[&str], beta: &[[f64; 2]]| {
        let shape = Shape::new(2, words.len()).unwrap();
        let tables = beta.iter().flatten().copied().chain([0.5, 0.5]).collect::<Vec<f64>>();
        let lda = Lda::new(shape, tables).unwrap();
        let info = ModelInfo::for_vocabulary(names(words));
        let counts =
            CsrBuf::from_dense(words.len(), &[vec![2.0; words.len()], vec![3.0; words.len()]].concat());
        let corpus = Corpus::from_bags(counts.unwrap(), names(words), BlockLimits::in_memory()).unwrap();
        let model = AnyModel::Lda(Box::new(FittedLda::from_lda(info, &lda).unwrap()));
        let options = MeasureOptions { top_words: 2, ..MeasureOptions::default() };
        measure(&model, &corpus, None, &options, &stop).unwrap()
    };
    let agreement =
        |a: &ModelMeasures, b: &ModelMeasures| a.stability(b, 1, &stop).unwrap().topics.unwrap().value;
    let first = of(&["ant", "bee", "cat"], &[[0.8, 0.0], [0.2, 0.4], [0.0, 0.6]]);
    // The same words and topics in another order.
    let other = of(&["cat", "ant", "bee"], &[[0.6, 0.0], [0.0, 0.8], [0.4, 0.2]]);
    assert!((agreement(&first, &other) - 1.0).abs() < 1e-15);
    // The first word is unknown to the one, the last to the other.
    let more = of(&["dog", "ant", "bee"], &[[0.0, 0.3], [0.8, 0.3], [0.2, 0.4]]);
    let second = 0.4 * 0.4 / ((0.16_f64 + 0.36).sqrt() * (0.09 + 0.09 + 0.16_f64).sqrt());
    for found in [agreement(&first, &more), agreement(&more, &first)] {
        assert!((found - f64::midpoint(1.0, second)).abs() < 1e-15, "{found} {second}");
    }
    assert!((agreement(&first, &first) - 1.0).abs() < 1e-15);
}

/// By the definition, with the ties of the last place shared out, and those of votes.
#[test]
fn labels_agree_as_they_are_defined() {
    let stop = Stop::new();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for items in 2..9 {
        let points: Vec<f64> = (0..items).map(|_| index_below(rng.next_u64(), 5) as f64).collect();
        let labels: Vec<usize> = (0..items).map(|_| index_below(rng.next_u64(), 3)).collect();
        for neighbours in 1..=items + 1 {
            let k = neighbours.min(items - 1);
            let (mut shares, mut votes) = (Vec::new(), Vec::new());
            for item in 0..items {
                let mut apart: Vec<(f64, usize)> = (0..items)
                    .filter(|&other| other != item)
                    .map(|other| ((points[item] - points[other]).abs(), labels[other]))
                    .collect();
                apart.sort_by(|a, b| a.0.total_cmp(&b.0));
                let last = apart[k - 1].0;
                let nearer = apart.iter().filter(|x| x.0 < last).count();
                let ties = apart.iter().filter(|x| x.0 == last).count();
                let votes_of = |label: usize| {
                    let count = |tied: bool| {
                        apart.iter().filter(|x| x.1 == label && x.0 <= last && (x.0 == last) == tied).count()
                    };
                    count(false) as f64 + (k - nearer) as f64 / ties as f64 * count(true) as f64
                };
                let all = [0, 1, 2].map(votes_of);
                let most = all.iter().copied().fold(0.0, f64::max);
                let winners = all.iter().filter(|&&votes| votes == most).count();
                shares.push(all[labels[item]] / k as f64);
                votes.push(if all[labels[item]] == most { 1.0 / winners as f64 } else { 0.0 });
            }
            let map = MapPoints::in_plane(1, points.clone()).unwrap();
            let found = label_agreement(&map, &labels, neighbours, &stop).unwrap();
            assert_eq!(
                (found.share, found.vote),
                (Mean::of(&shares), Mean::of(&votes)),
                "{items} {neighbours}"
            );
        }
    }
    for items in [0, 1] {
        let map = MapPoints::in_plane(1, vec![0.0; items]).unwrap();
        let refused = label_agreement(&map, &vec![0; items], 1, &stop).unwrap_err();
        let expected = format!("1 neighbours of {items} documents: at least 1, and fewer than half of them");
        assert_eq!(refused.to_string(), expected);
    }
}

#[test]
fn sides_of_a_torus_are_above_zero() {
    for side in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = MapPoints::on_torus(vec![1.0, side], vec![0.5, 0.5]).unwrap_err();
        assert_eq!(refused.to_string(), "a side is no finite number above 0 (element 1)");
    }
    assert!(MapPoints::on_torus(vec![1.0, f64::MIN_POSITIVE], vec![0.5, 0.5]).is_ok());
}

/// Shares of three documents, worked out by hand: two words that are together in one, and two that never are.
#[test]
fn coherence_of_words_that_never_meet_is_that_of_one_in_a_million_millions() {
    let mut texts = SequencesBuf::new(4);
    for text in [vec![0_u32, 1], vec![0, 2], vec![3]] {
        texts.push(text).unwrap();
    }
    let of = |measure, topic: &[usize]| {
        let found = coherence(measure, &[topic.to_vec()], texts.as_view(), &Stop::new()).unwrap();
        found[0].value.unwrap()
    };
    let [two, one] = [2.0_f64, 1.0].map(|documents| documents / 3.0);
    let apart = 1e-12_f64;
    // Of the pair the first has its share below the bar.
    for (topic, both, shares) in
        [([0, 1], one, [two, one]), ([1, 0], one, [one, two]), ([1, 2], 0.0, [one, one])]
    {
        let mass = ((both + apart) / shares[0]).ln();
        assert!((of(Coherence::UMass, &topic) - mass).abs() < 1e-9, "{topic:?}");
        let npmi = ((both + apart) / (shares[0] * shares[1])).ln() / -(both + apart).ln();
        assert!((of(Coherence::Npmi, &topic) - npmi).abs() < 1e-9, "{topic:?}");
    }
}

#[test]
fn distributions_know_their_sizes_and_words_that_no_topic_has() {
    let topics = WordDistributions::new(2, vec![1.0, 0.0, 0.5, 0.0, 0.5, 0.0]).unwrap();
    assert_eq!((topics.topics(), topics.words()), (3, 2));
    // Of the first word the topics have 1/2, 1/4, 1/4; of the other, which none has, a third each.
    let [a, b] = [(0.5 + 1.0 / 3.0) / 2.0, (0.25 + 1.0 / 3.0) / 2.0];
    let found = topics.exclusivity(2).unwrap();
    assert!((found.value - (a + b + b) / 3.0).abs() < 1e-15, "{found:?}");
    assert_eq!(topics.exclusivity(0), None);
    assert_eq!((topic_diversity(&[]), topic_diversity(&[vec![], vec![]])), (None, None));

    // Of three topics the best two, whichever set they are in.
    let two = WordDistributions::new(2, vec![0.0, 1.0, 3.0, 4.0]).unwrap();
    let three = WordDistributions::new(2, vec![1.0, 0.0, 4.0, 3.0, 0.0, 2.0]).unwrap();
    for (a, b) in [(&two, &three), (&three, &two)] {
        let found = countgrid_evaluation::best_match(a, b).unwrap().unwrap();
        assert!((found.value - (1.0 + 24.0 / 25.0) / 2.0).abs() < 1e-15, "{found:?}");
    }
    let none = WordDistributions::new(2, vec![]).unwrap();
    assert_eq!(countgrid_evaluation::best_match(&none, &two).unwrap(), None);
    assert_eq!(countgrid_evaluation::best_match(&two, &none).unwrap(), None);
}
