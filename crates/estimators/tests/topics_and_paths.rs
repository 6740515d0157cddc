//! Topics and hidden Markov models whose numbers are known: their features, their penalties, their descriptions, and the
//! options and the data by which their checkpoints are identified.

use std::ops::ControlFlow;

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_counts::SequencesBuf;
use countgrid_em::{Learn, Tables};
use countgrid_estimators::{
    BagTotals, CheckpointError, Estimator, EstimatorError, FeatureKind, FittedHmm, FittedLda, HmmOptions,
    HmmTraining, LdaOptions, LdaTraining, ModelInfo, TopWord, Train,
};
use countgrid_hmm::Hmm;
use countgrid_lda::Lda;
use countgrid_math::AlignedVec;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

fn words(count: usize) -> ModelInfo {
    ModelInfo::for_vocabulary((0..count).map(|n| format!("w{n}")).collect())
}

fn sequences(symbols: usize, rows: &[&[u16]]) -> SequencesBuf<u16> {
    let mut sequences = SequencesBuf::new(symbols);
    rows.iter().for_each(|row| sequences.push(row.iter().copied()).unwrap());
    sequences
}

fn blocks(features: usize, of_block: usize, rows: &[&[(usize, f32)]]) -> Blocks<f32> {
    let limits = BlockLimits { bags: of_block, ..BlockLimits::in_memory() };
    let mut builder = BlocksBuilder::new(features, limits).unwrap();
    rows.iter().for_each(|row| builder.push(row.iter().copied()).unwrap());
    builder.finish().unwrap()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    let far = found.iter().zip(expected).any(|(x, y)| !((x - y).abs() <= within));
    assert!(!far, "{found:?}, not {expected:?}");
}

/// One state, so that symbols are independent and each sequence is in it all along.
fn one_state(emit: [f64; 2]) -> FittedHmm {
    let shape = countgrid_hmm::Shape::new(1, 2).unwrap();
    FittedHmm::from_hmm(words(2), &Hmm::new(shape, [1.0, 1.0, emit[0], emit[1]]).unwrap()).unwrap()
}

#[test]
fn features_of_a_sequence_are_terms_by_position_or_their_mean() {
    let (model, quarter, rest) = (one_state([0.25, 0.75]), -0.25_f64.ln(), -0.75_f64.ln());
    // Start and transitions are certain, and have no terms but 0.
    let equal = sequences(2, &[&[0, 1], &[1, 1]]);
    let by_position = model.features(FeatureKind::Fess, &equal).unwrap();
    assert_eq!(by_position.columns, 6);
    assert_close(by_position.row(0), &[0.0, 0.0, 0.0, 0.0, quarter, rest], 1e-15);
    assert_close(by_position.row(1), &[0.0, 0.0, 0.0, 0.0, rest, rest], 1e-15);

    let unequal = sequences(2, &[&[0, 1, 1], &[1]]);
    let refused = model.features(FeatureKind::Fess, &unequal);
    assert!(
        matches!(refused, Err(EstimatorError::SequenceLength { sequence: 1, longest: 3 })),
        "{refused:?}"
    );
    let means = model.features(FeatureKind::Nfess, &unequal).unwrap();
    assert_eq!(means.columns, 5);
    assert_close(means.row(0), &[0.0, 0.0, 0.0, 0.0, (quarter + 2.0 * rest) / 3.0], 1e-15);
    assert_close(means.row(1), &[0.0, 0.0, 0.0, 0.0, rest], 1e-15);
    let refused = model.features(FeatureKind::Posterior, &unequal);
    assert!(matches!(refused, Err(EstimatorError::NoFeatures { kind: FeatureKind::Posterior })));
}

#[test]
fn gradients_of_a_sequence_are_counts_above_those_expected() {
    let (a, b) = (one_state([0.25, 0.75]), one_state([0.5, 0.5]));
    let sequences = sequences(2, &[&[0, 1, 1], &[1]]);
    let gradients = a.features(FeatureKind::Fisher, &sequences).unwrap();
    // Of start, transitions and emissions: of three symbols 0.75 and 2.25 are expected, of one 0.25 and 0.75.
    assert_close(gradients.row(0), &[0.0, 0.0, 0.25, -0.25], 1e-15);
    assert_close(gradients.row(1), &[0.0, 0.0, -0.25, 0.25], 1e-15);

    let tangents = FittedHmm::tangents([&a, &b], 0.5, &sequences).unwrap();
    // The log-odds, the gradients of the first, and those of the other with the other sign.
    let odds = [(0.25_f64 * 0.75 * 0.75 / 0.125).ln() + 0.5, (0.75_f64 / 0.5).ln() + 0.5];
    assert_close(tangents.row(0), &[odds[0], 0.0, 0.0, 0.25, -0.25, 0.0, 0.0, 0.5, -0.5], 2e-15);
    assert_close(tangents.row(1), &[odds[1], 0.0, 0.0, -0.25, 0.25, 0.0, 0.0, 0.5, -0.5], 2e-15);
}

/// One topic, so that tokens are independent and each document has that topic only.
fn one_topic(beta: [f64; 3]) -> FittedLda {
    let shape = countgrid_lda::Shape::new(1, 3).unwrap();
    let lda = Lda::new(shape, [beta[0], beta[1], beta[2], 1.5]).unwrap();
    FittedLda::from_lda(words(3), &lda).unwrap()
}

#[test]
fn tangents_of_topics_are_log_odds_and_gradients() {
    let (a, b) = (one_topic([0.25, 0.25, 0.5]), one_topic([0.5, 0.25, 0.25]));
    let bags = blocks(3, 1, &[&[(0, 1.0), (2, 3.0)], &[], &[(1, 2.0)]]);
    let gradients = a.features(FeatureKind::Fisher, &bags).unwrap();
    // Counts above those expected of so many tokens; nothing depends on the Dirichlet parameter of a single topic. The
    // bounds have digammas and log gammas of numbers up to 5.5, with errors of some 1e-15.
    assert_close(gradients.row(0), &[0.0, -1.0, 1.0, 0.0], 1e-14);
    assert_close(gradients.row(2), &[-0.5, 1.5, -1.0, 0.0], 1e-14);
    let tangents = FittedLda::tangents([&a, &b], 0.5, &bags).unwrap();
    let odds = 2.0 * 2_f64.ln() + 0.5;
    assert_close(tangents.row(0), &[odds, 0.0, -1.0, 1.0, 0.0, 1.0, 1.0, -2.0, 0.0], 3e-14);
    assert_close(tangents.row(1), &[0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1e-14);
    assert_close(tangents.row(2), &[0.5, -0.5, 1.5, -1.0, 0.0, 1.0, -1.5, 0.5, 0.0], 3e-14);
}

#[test]
fn top_words_are_the_most_probable() {
    let shape = countgrid_lda::Shape::new(2, 3).unwrap();
    let lda = Lda::new(shape, [0.25, 0.1, 0.5, 0.1, 0.25, 0.8, 1.0, 2.0]).unwrap();
    let topics = FittedLda::from_lda(words(3), &lda).unwrap();
    let of = |word, probability| TopWord { word, probability };
    assert_eq!(topics.top_words(0, 2), [of(1, 0.5), of(0, 0.25)]); // of equals the first
    assert_eq!(topics.top_words(1, 9), [of(2, 0.8), of(0, 0.1), of(1, 0.1)]);
    assert!(topics.top_words(2, 9).is_empty() && topics.top_words(0, 0).is_empty());
}

fn some_bags(of_block: usize) -> Blocks<f32> {
    let rows: Vec<Vec<(usize, f32)>> = (0..30)
        .map(|t| (0..t * 7 % 4 + 1).map(|n| ((t + n * n) % 12, (1 + (t + n) % 3) as f32)).collect())
        .collect();
    blocks(12, of_block, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn some_sequences() -> SequencesBuf<u16> {
    sequences(3, &[&[0, 1, 2, 2, 1], &[2, 2, 0], &[1, 0, 0, 1], &[2]])
}

fn lda_options() -> LdaOptions {
    LdaOptions {
        topics: 3,
        iterations: 2,
        restarts: 2,
        tolerance: 0.0,
        seed: 5,
        smoothing: 0.5,
        ..LdaOptions::default()
    }
}

fn hmm_options() -> HmmOptions {
    HmmOptions { states: 2, iterations: 2, restarts: 2, tolerance: 0.0, seed: 5, pseudocount: 0.5 }
}

fn lda_training<'a>(options: &LdaOptions, bags: &'a Blocks<f32>) -> LdaTraining<f32, &'a Blocks<f32>> {
    LdaTraining::new(options.check(BagTotals::from_blocks(bags).unwrap()).unwrap(), bags).unwrap()
}

/// Only the documents that a start draws are loaded from their blocks, and they are those that it would draw from all.
#[test]
fn topics_start_from_documents_of_any_block() {
    let all = some_bags(100).gather(f64::from).unwrap();
    for (of_block, seed) in [(4, 1), (7, 2), (1, 3), (29, 4)] {
        let blocks = some_bags(of_block);
        let plan = lda_options().check::<f32>(BagTotals::from_blocks(&blocks).unwrap()).unwrap();
        let (learner, _) = plan.start(&blocks, 0, None, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
        let shape = countgrid_lda::Shape::new(3, 12).unwrap();
        let mut expected = Lda::<f64, AlignedVec<f64>>::uniform(shape, 1.0 / 3.0).unwrap();
        expected.seed(&all, 3, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
        assert_eq!(plan.parameters(&learner).buffer(), expected.buffer(), "{of_block}");
    }
}

/// Minus the logarithm of the prior, up to a constant: a pseudocount for every parameter.
#[test]
fn the_penalty_of_a_hidden_markov_model_is_that_of_its_pseudocounts() {
    let sequences = some_sequences();
    for pseudocount in [0.0, 0.1, 2.0] {
        let plan = HmmOptions { pseudocount, ..hmm_options() }.check(&sequences).unwrap();
        let (learner, _) = plan.start(&sequences, 0, None, &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
        let parameters = plan.parameters(&learner).buffer();
        assert_eq!(parameters.len(), 2 + 4 + 6);
        let expected = -pseudocount * parameters.iter().map(|p| p.ln()).sum::<f64>();
        // Twelve logarithms of an ulp each, and their sum.
        assert!((learner.penalty() - expected).abs() <= 1e-14 * expected, "{pseudocount}");
    }
}

#[test]
fn fits_are_described() {
    let bags = some_bags(7);
    let tokens = BagTotals::from_blocks(&bags).unwrap().tokens;
    let mut training = lda_training(&lda_options(), &bags);
    training.run(|_| ControlFlow::Continue(())).unwrap();
    let topics = training.finish().unwrap();
    let (summary, fit) = (*topics.summary().unwrap(), &topics.info.fit);
    assert_eq!(summary.bound_per_token, Some(-summary.free_energy.unwrap() / tokens));
    let numbers = ["documents", "tokens", "topics", "iterations", "bound_per_token", "smoothing", "restarts"]
        .map(|name| fit[name].as_f64().unwrap());
    assert_eq!(numbers, [30.0, tokens, 3.0, 2.0, summary.bound_per_token.unwrap(), 0.5, 2.0]);
    assert_eq!(fit["end"].as_str(), Some("iterations used up"));

    let sequences = some_sequences();
    let plan = hmm_options().check(&sequences).unwrap();
    let mut training = HmmTraining::new(plan, &sequences).unwrap();
    training.run(|_| ControlFlow::Continue(())).unwrap();
    let paths = training.finish().unwrap();
    let (summary, fit) = (*paths.summary().unwrap(), &paths.info.fit);
    assert_eq!(summary.bound_per_token, Some(-summary.free_energy.unwrap() / 13.0));
    let numbers = ["sequences", "symbols", "states", "iterations", "bound_per_token", "pseudocount", "seed"]
        .map(|name| fit[name].as_f64().unwrap());
    assert_eq!(numbers, [4.0, 13.0, 2.0, 2.0, summary.bound_per_token.unwrap(), 0.5, 5.0]);
    assert_eq!(fit["end"].as_str(), Some("iterations used up"));
}

fn refused<E: std::fmt::Debug>(result: Result<E, EstimatorError>) -> &'static str {
    match result {
        Err(EstimatorError::Checkpoint(CheckpointError::Option { name, .. })) => name,
        other => panic!("{other:?}"),
    }
}

#[test]
fn checkpoints_are_of_their_options() {
    let bags = some_bags(7);
    let totals = BagTotals::from_blocks(&bags).unwrap();
    let mut training = lda_training(&lda_options(), &bags);
    training.step().unwrap();
    let file = training.checkpoint().unwrap();
    let own = lda_options;
    for (other, option) in [
        (LdaOptions { topics: 4, ..own() }, "topics"),
        (LdaOptions { iterations: 3, ..own() }, "iterations"),
        (LdaOptions { tolerance: 0.25, ..own() }, "tolerance"),
        (LdaOptions { seed: 6, ..own() }, "seed"),
        (LdaOptions { restarts: 3, ..own() }, "restarts"),
        (LdaOptions { smoothing: 0.25, ..own() }, "smoothing"),
    ] {
        let plan = other.check::<f32>(totals).unwrap();
        assert_eq!(refused(LdaTraining::resume(plan, &bags, file.clone()).map(|_| ())), option);
    }
    // Results do not depend on it.
    let ahead = LdaOptions { read_ahead: false, ..own() }.check::<f32>(totals).unwrap();
    assert!(LdaTraining::resume(ahead, &bags, file).is_ok());

    let sequences = some_sequences();
    let mut training = HmmTraining::new(hmm_options().check(&sequences).unwrap(), &sequences).unwrap();
    training.step().unwrap();
    let file = training.checkpoint().unwrap();
    let own = hmm_options;
    for (other, option) in [
        (HmmOptions { states: 3, ..own() }, "states"),
        (HmmOptions { iterations: 3, ..own() }, "iterations"),
        (HmmOptions { tolerance: 0.25, ..own() }, "tolerance"),
        (HmmOptions { seed: 6, ..own() }, "seed"),
        (HmmOptions { restarts: 3, ..own() }, "restarts"),
        (HmmOptions { pseudocount: 0.25, ..own() }, "pseudocount"),
    ] {
        let plan = other.check(&sequences).unwrap();
        assert_eq!(refused(HmmTraining::resume(plan, &sequences, file.clone()).map(|_| ())), option);
    }
}

/// The next number of SplitMix64 (Steele, Lea & Flood 2014) from this state.
fn split_mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Whatever program resumes a checkpoint finds the same digest of the data: each datum's number, from 1, and its words are
/// mixed into it, one after the other.
#[test]
fn checkpoints_identify_their_data() {
    // The first numbers of the seeds 0 and 1 as they are published.
    assert_eq!((split_mix(0), split_mix(1)), (0xE220_A839_7B1D_CDAF, 0x910A_2DEC_8902_5CC1));
    let rows: [&[u16]; 4] = [&[0, 1, 2, 2, 1], &[2, 2, 0], &[1, 0, 0, 1], &[2]];
    let sequences = sequences(3, &rows);
    let mut expected = 0;
    for (row, number) in rows.into_iter().zip(1_u64..) {
        expected = split_mix(expected ^ number);
        for &symbol in row {
            expected = split_mix(expected ^ u64::from(symbol));
        }
    }
    let training = HmmTraining::new(hmm_options().check(&sequences).unwrap(), &sequences).unwrap();
    let texts = training.checkpoint().unwrap().metadata;
    let text = |name: &str| texts[name].as_str();
    assert_eq!((text("data.number"), text("data.features")), ("4", "3"));
    assert_eq!(text("data.digest"), format!("{expected:016x}"));
}
