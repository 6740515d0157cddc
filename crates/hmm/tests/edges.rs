//! Bad input, scratch to the element, extreme numbers, long sequences.

use crate::common;

use common::doubles;
use countgrid_counts::{Sequence, Sequences};
use countgrid_em::{EmOptions, ExpectedCounts, Fit, FreeEnergy, Learn, Restarts, Tables, no_observer};
use countgrid_hmm::{
    Chain, ChainShape, Grouping, Hmm, HmmError, Learner, Posterior, Shape, Statistics, Terms,
};
use countgrid_math::Real;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

fn drawn<T: Real>(states: usize, symbols: usize) -> Hmm<T, Vec<T>> {
    let shape = Shape::new(states, symbols).unwrap();
    let mut hmm = Hmm::uniform_in(shape, vec![T::zero(); shape.hmm_len()]).unwrap();
    hmm.randomize(&mut ChaCha8Rng::seed_from_u64(7));
    hmm
}

fn symbols(n: usize, symbols: u64) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    (0..n).map(|_| (rng.next_u64() % symbols) as u8).collect()
}

#[test]
fn bad_tables_are_refused() {
    assert_eq!(Shape::new(0, 2), Err(HmmError::NoStates));
    assert_eq!(Shape::new(2, 0), Err(HmmError::NoSymbols));
    for (states, symbols) in [(usize::MAX, 1), (1, usize::MAX), (1 << 31, 1), (1 << 40, 1 << 40)] {
        assert_eq!(Shape::new(states, symbols), Err(HmmError::TooLarge));
    }
    let shape = Shape::new(2, 2).unwrap();
    let good = [0.5, 0.5, 0.9, 0.1, 0.1, 0.9, 0.8, 0.2, 0.2, 0.8];
    assert!(Hmm::new(shape, good).is_ok());
    let with = |at: usize, p: f64| {
        let mut tables = good;
        tables[at] = p;
        Hmm::new(shape, tables).unwrap_err()
    };
    assert_eq!(with(0, 0.6), HmmError::NotNormalised { table: "start", distribution: 0 });
    assert_eq!(with(4, 0.6), HmmError::NotNormalised { table: "trans", distribution: 1 });
    assert_eq!(with(9, 0.6), HmmError::NotNormalised { table: "emit", distribution: 1 });
    assert_eq!(with(3, f64::NAN), HmmError::Probability { table: "trans", row: 0, column: 1 });
    assert_eq!(with(8, f64::INFINITY), HmmError::Probability { table: "emit", row: 1, column: 0 });
    assert_eq!(with(1, -0.5), HmmError::Probability { table: "start", row: 0, column: 1 });
    let short = Hmm::new(shape, [0.5; 9]).unwrap_err();
    assert_eq!(short, HmmError::Length { table: "hmm", expected: 10, found: 9 });
    let nowhere = Hmm::with_structure_in(shape, [0.0; 10], |_| true, |from, _| from == 0).unwrap_err();
    assert_eq!(nowhere, HmmError::NotNormalised { table: "trans", distribution: 1 });
    for pseudocount in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Learner::new((), pseudocount).unwrap_err(), HmmError::Pseudocount);
    }
}

/// A shape that a constant is refused for is named in words that say what is wrong, those of the error where they can be.
#[test]
fn reasons_of_constants() {
    for error in [HmmError::NoStates, HmmError::NoSymbols] {
        assert_eq!(error.constant_reason(), error.to_string());
    }
    let reason = ChainShape::new(1, 65).unwrap_err().constant_reason();
    assert!(reason.contains("more than can be addressed"), "{reason}");
}

#[test]
fn sequences_and_statistics_of_another_shape_are_refused() {
    let hmm = drawn::<f64>(2, 3);
    let mut scratch = vec![0.0; hmm.shape().scratch_len::<f64>(4)];
    let other = Sequence::new(4, &[0u8, 1]).unwrap();
    let refused = HmmError::Symbols { expected: 3, found: 4 };
    assert_eq!(hmm.log_likelihood(&other, &mut scratch), Err(refused));
    assert_eq!(hmm.viterbi(&other, &mut [0; 2], &mut scratch), Err(refused));
    let shape = Shape::new(3, 3).unwrap();
    let mut statistics = Statistics::new(shape, vec![0.0; shape.hmm_len()], vec![0.0; 1000]).unwrap();
    let mut learner = Learner::new(hmm, 0.0).unwrap();
    let data = Sequences::new(3, &[0, 2], &[0u8, 1]).unwrap();
    assert_eq!(learner.expectation(&data, &mut statistics), Err(HmmError::ShapeMismatch));
    assert_eq!(learner.maximization(&mut statistics), Err(HmmError::ShapeMismatch));
}

#[test]
fn an_impossible_sequence_is_named_and_adds_nothing() {
    // State 0 emits 0 and is left for state 1, which emits 1.
    let tables = vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0];
    let hmm = Hmm::new(Shape::new(2, 2).unwrap(), tables).unwrap();
    let data = Sequences::new(2, &[0, 3, 6, 8], &[0u8, 1, 1, 0, 1, 0, 0, 1]).unwrap();
    let shape = *hmm.shape();
    let sums =
        || Statistics::<f64, _>::new(shape, vec![0.0; 10], vec![0.0; shape.scratch_len::<f64>(3)]).unwrap();
    let (mut all, mut first) = (sums(), sums());
    let learner = Learner::new(hmm, 0.0).unwrap();
    let refused = learner.expectation(&data, &mut all).unwrap_err();
    assert_eq!(refused, HmmError::Impossible { sequence: 1, position: 2 });
    assert_eq!(refused.to_string(), "sequence 1 is impossible under the model from position 2 on");
    assert_eq!(learner.expectation(&data.slice(0..1).unwrap(), &mut first), Ok(0.0)); // certain
    assert_eq!(all.buffer(), first.buffer());
}

/// One element less is refused, and exactly so many give what four times as many give.
fn minimal<R: PartialEq + std::fmt::Debug>(
    needed: usize,
    mut work: impl FnMut(usize) -> Result<R, HmmError>,
) {
    let short = HmmError::Length { table: "scratch", expected: needed, found: needed - 1 };
    assert_eq!(work(needed - 1).unwrap_err(), short);
    let (exactly, more) = (work(needed), work(4 * needed));
    assert!(exactly.is_ok() && exactly == more, "{needed}: {exactly:?} {more:?}");
}

#[test]
fn scratch_is_minimal() {
    fn check<T: Real>(states: usize, n: usize) {
        let (hmm, x) = (drawn::<T>(states, 3), symbols(n, 3));
        let (shape, sequence) = (*hmm.shape(), Sequence::new(3, &x).unwrap());
        let (needed, zeros) = (shape.scratch_len::<T>(n), |len| vec![T::zero(); len]);
        minimal(shape.likelihood_scratch_len::<T>(), |found| {
            hmm.log_likelihood(&sequence, &mut zeros(found))
        });
        minimal(needed, |found| {
            let mut gamma = zeros(n * states);
            hmm.posterior(&sequence, &mut gamma, &mut zeros(found))?;
            Ok(gamma)
        });
        minimal(needed, |found| {
            let mut path = vec![0; n];
            Ok((hmm.viterbi(&sequence, &mut path, &mut zeros(found))?, path))
        });
        minimal(shape.scratch_len::<T>(0), |found| {
            let mut q = zeros(n * states);
            hmm.mean_field(&sequence, 2, &mut q, &mut zeros(found))?;
            Ok(q)
        });
        minimal(hmm.counts_scratch_len(&sequence), |found| {
            let mut counts = zeros(shape.hmm_len());
            hmm.expected_counts(&sequence, &mut counts, &mut zeros(found))?;
            Ok(counts)
        });
        for posterior in [Posterior::Exact, Posterior::MeanField { sweeps: 2 }] {
            for grouping in [Grouping::Position, Grouping::Summed] {
                let of = Terms::new(&hmm, posterior, grouping);
                minimal(of.scratch_len(&sequence), |found| {
                    let mut terms = zeros(of.term_count(&sequence));
                    of.free_energy_terms(&sequence, &mut terms, &mut zeros(found))?;
                    Ok(terms)
                });
            }
        }
        // Together, each sequence has room of its own.
        let [alone, two, three, four] = [1, 2, 3, 4].map(|chunk| shape.chunk_scratch_len::<T>(n, chunk));
        assert_eq!((alone, four - three), (needed, three - two));
        let learner = Learner::new(hmm, 0.0).unwrap();
        minimal(needed, |found| {
            let mut sums = Statistics::new(shape, zeros(shape.hmm_len()), zeros(found))?;
            learner.expectation(&Sequences::new(3, &[0, n], &x).unwrap(), &mut sums)?;
            Ok(sums.buffer().to_vec())
        });
    }
    for (states, n) in [(1, 1), (3, 1), (4, 32), (7, 33), (8, 64), (17, 65)] {
        check::<f32>(states, n);
        check::<f64>(states, n);
    }
}

/// A chain of rare events: probabilities far below the smallest single-precision number, not one NaN.
#[test]
fn extreme_probabilities_stay_finite() {
    let tiny = 1e-30f32;
    // State 1 explains symbol 1 far better, but is all but unreachable; and state 2 explains nothing well.
    let start = [1.0, tiny, tiny];
    let trans = [1.0, tiny, tiny, tiny, 1.0, tiny, tiny, tiny, 1.0];
    let emit = [1.0, tiny, tiny, tiny, 1.0, tiny, 1e-38, 1e-38, 1.0];
    let tables: Vec<f32> = start.into_iter().chain(trans).chain(emit).collect();
    let hmm = Hmm::new(Shape::new(3, 3).unwrap(), tables).unwrap();
    for x in
        [&[0u8, 1, 0, 1, 2, 2, 2, 0, 1][..], &[1, 1, 1, 1, 0, 0, 0, 0], &[2, 0, 2, 1, 2], &[0, 2, 2, 2, 2, 2]]
    {
        let sequence = Sequence::new(3, x).unwrap();
        let mut scratch = vec![f32::NAN; hmm.shape().scratch_len::<f32>(x.len())];
        let mut gamma = vec![f32::NAN; 3 * x.len()];
        match hmm.posterior(&sequence, &mut gamma, &mut scratch) {
            Ok(log_p) => {
                assert!(log_p.is_finite() && log_p <= 0.0);
                for row in gamma.chunks(3) {
                    assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{gamma:?}");
                }
                let mut counts = [f32::NAN; 21];
                hmm.expected_counts(&sequence, &mut counts, &mut scratch).unwrap();
                assert!(counts.iter().all(|m| (0.0..=x.len() as f32).contains(m)), "{counts:?}");
                let mut terms = vec![f32::NAN; hmm.term_count(&sequence)];
                hmm.free_energy_terms(&sequence, &mut terms, &mut scratch).unwrap();
                assert!(terms.iter().all(|term| term.is_finite()), "{terms:?}");
            }
            Err(error) => assert!(matches!(error, HmmError::Impossible { .. }), "{error}"),
        }
    }
}

/// A state that is lost to underflow would explain what follows so much better that its `beta` overflows: it stays lost,
/// until it is reached on another way.
#[test]
fn what_is_lost_stays_lost() {
    let start = [1.0f32, 1e-30, 0.0];
    let trans = [0.5, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0];
    let emit = [1.0, 1e-10, 0.0, 1e-20, 0.9, 0.0, 1e-20, 0.1, 1.0];
    let tables = start.into_iter().chain(trans).chain(emit).collect::<Vec<f32>>();
    let hmm = Hmm::new(Shape::new(3, 3).unwrap(), tables).unwrap();
    let sequence = Sequence::new(3, &[0u8, 1, 1, 1, 1, 2, 1]).unwrap();
    let mut scratch = vec![f32::NAN; hmm.shape().scratch_len::<f32>(7)];
    let (mut gamma, mut counts) = ([f32::NAN; 21], [f32::NAN; 21]);
    hmm.posterior(&sequence, &mut gamma, &mut scratch).unwrap();
    hmm.expected_counts(&sequence, &mut counts, &mut scratch).unwrap();
    let mut expected = [0.0; 21];
    for (n, state) in [0, 0, 0, 0, 0, 2, 1].into_iter().enumerate() {
        expected[3 * n + state] = 1.0;
    }
    // Rescaled, each is one but for some roundings.
    let close = |x: &[f32], y: &[f32]| x.iter().zip(y).all(|(x, y)| (x - y).abs() <= 1e-5);
    assert!(close(&gamma, &expected), "{gamma:?}");
    let mut expected = [0.0; 21];
    for (entry, count) in
        [(0, 1.0), (3, 4.0), (5, 1.0), (10, 1.0), (12, 1.0), (15, 4.0), (16, 1.0), (20, 1.0)]
    {
        expected[entry] = count;
    }
    assert!(close(&counts, &expected), "{counts:?}");
}

/// Rescaled in every position, gammas of a long sequence sum to one in single precision, and the log-likelihood is that
/// of double precision.
#[test]
fn long_sequences_in_single_precision() {
    let n = 100_000;
    let (single, double, x) = (drawn::<f32>(5, 4), drawn::<f64>(5, 4), symbols(n, 4));
    let sequence = Sequence::new(4, &x).unwrap();
    let mut gamma = vec![0.0; 5 * n];
    let mut scratch = vec![0.0; single.shape().scratch_len::<f32>(n)];
    let log_p = single.posterior(&sequence, &mut gamma, &mut scratch).unwrap();
    // Sums of five numbers that sum to one: four additions, each at most u; one factor, u; a division, u.
    assert!(
        gamma.chunks(5).all(|row| (row.iter().sum::<f32>() - 1.0).abs() <= 6.0 * f32::EPSILON / 2.0 * 2.0)
    );
    let mut scratch = vec![0.0; double.shape().likelihood_scratch_len::<f64>()];
    let exact = double.log_likelihood(&sequence, &mut scratch).unwrap();
    // A scale is off by the roundings of one step, 20 of u = 6e-8, of either sign: per position at most 1.2e-6.
    assert!((log_p - exact).abs() <= 1.2e-6 * n as f64, "{log_p} {exact}");
    let sums: f64 = doubles(&gamma).iter().sum();
    assert!((sums - n as f64).abs() < 1.0);
}

#[test]
fn restarts_find_the_better_optimum() {
    // Blocks of 0 and of 1, each of 10.
    let x: Vec<u8> = (0..200).map(|n| (n / 10 % 2) as u8).collect();
    let (data, shape) = (Sequences::new(2, &[0, 200], &x).unwrap(), Shape::new(2, 2).unwrap());
    let mut learner = Learner::new(Hmm::<f64, _>::uniform(shape).unwrap(), 0.0).unwrap();
    let mut statistics = Statistics::allocate(shape, 200).unwrap();
    let plan = EmOptions { iterations: 200, tolerance: 1e-10 }.check().unwrap();
    let best = Restarts::new(4, 1).unwrap().run(&mut learner, &mut [0.0; 10], |learner, restart| {
        learner.model_mut().randomize(&mut ChaCha8Rng::seed_from_u64(restart.seed));
        plan.fit(learner, &data, &mut statistics, no_observer)
    });
    // The truth: 19 changes in 199 steps, no noise.
    let truth = -(19.0 * (19.0_f64 / 199.0).ln() + 180.0 * (180.0_f64 / 199.0).ln());
    let found = best.unwrap().outcome.free_energy;
    assert!(found <= truth + 1e-6, "{found} {truth}");
}

#[test]
fn chains_of_any_order() {
    for order in 0..4 {
        let shape = ChainShape::new(3, order).unwrap();
        let x = symbols(500, 3);
        let data = Sequences::new(3, &[0, 2, 100, 500], &x).unwrap();
        let mut learner = Learner::new(Chain::<f64, _>::uniform(shape).unwrap(), 0.25).unwrap();
        let mut counts = learner.model().statistics().unwrap();
        let uniform = learner.expectation(&data, &mut counts).unwrap();
        assert!((uniform - 500.0 * 3_f64.ln()).abs() < 1e-9);
        learner.maximization(&mut counts).unwrap();
        let chain = Chain::new(shape, learner.into_model().buffer().to_vec()).unwrap();
        // By the definition: counts of symbols after up to `order` symbols.
        for sequence in data.iter() {
            let own = sequence.entries();
            let mut log_p = 0.0;
            for (n, &symbol) in own.iter().enumerate() {
                let context = &own[n.saturating_sub(order)..n];
                let follows = |wanted: Option<u8>| {
                    let places = data.iter().flat_map(|other| {
                        let x = other.entries();
                        (0..x.len()).filter(move |&m| {
                            let same = &x[m.saturating_sub(order)..m] == context;
                            same && wanted.is_none_or(|wanted| x[m] == wanted)
                        })
                    });
                    places.count() as f64
                };
                log_p += ((follows(Some(symbol)) + 0.25) / (follows(None) + 0.75)).ln();
            }
            let found = chain.log_likelihood(&sequence).unwrap();
            assert!((found - log_p).abs() <= 1e-12 * own.len() as f64, "order {order}: {found} {log_p}");
            let mut terms = vec![0.0; own.len()];
            let free_energy = chain.free_energy_terms(&sequence, &mut terms, &mut []).unwrap();
            assert!((free_energy + found).abs() <= 1e-9 && (terms.iter().sum::<f64>() + found).abs() <= 1e-9);
        }
    }
    assert_eq!(ChainShape::new(0, 1), Err(HmmError::NoSymbols));
    assert_eq!(ChainShape::new(4, 40), Err(HmmError::TooLarge));
    assert_eq!(ChainShape::new(1, 64).map(|shape| shape.chain_len()), Ok(65));
    assert_eq!(ChainShape::new(1, 65), Err(HmmError::TooLarge));
}

#[test]
fn after_a_context_that_never_occurs_all_symbols_are_alike() {
    let data = Sequences::new(3, &[0, 5], &[0_u8, 1, 0, 0, 1]).unwrap();
    let chain = Chain::<f64, _>::uniform(ChainShape::new(3, 1).unwrap()).unwrap();
    let mut learner = Learner::new(chain, 0.0).unwrap();
    let mut counts = learner.model().statistics().unwrap();
    learner.expectation(&data, &mut counts).unwrap();
    learner.maximization(&mut counts).unwrap();
    let third = 1.0 / 3.0;
    let [begin, after_0, after_1] = [[1.0, 0.0, 0.0], [third, 2.0 * third, 0.0], [1.0, 0.0, 0.0]];
    assert_eq!(learner.model().buffer(), [begin, after_0, after_1, [third; 3]].concat());
}

#[test]
fn a_chain_says_where_a_sequence_becomes_impossible() {
    let shape = ChainShape::new(2, 1).unwrap();
    let chain = Chain::new(shape, [1.0, 0.0, 0.5, 0.5, 0.0, 1.0]).unwrap();
    let sequence = Sequence::new(2, &[0u8, 1, 1, 0]).unwrap();
    assert_eq!(chain.log_likelihood(&sequence), Ok(f64::NEG_INFINITY));
    let refused = chain.free_energy_terms(&sequence, &mut [0.0; 4], &mut []).unwrap_err();
    assert_eq!(refused, HmmError::Impossible { sequence: 0, position: 3 });
    assert_eq!(chain.expected_counts(&sequence, &mut [0.0; 6], &mut []), Err(refused));
}

#[test]
fn states_that_coincide_are_counted() {
    let shape = Shape::new(2, 2).unwrap();
    let count = |tables: [f64; 10]| {
        Learner::new(Hmm::new(shape, tables).unwrap(), 0.0).unwrap().coinciding_components()
    };
    let copies = [0.9, 0.1, 0.7, 0.3, 0.7, 0.3, 0.4, 0.4, 0.6, 0.6];
    assert_eq!(count(copies), Some(1), "whichever is begun with");
    // Another way on, or another emission, is another state.
    assert_eq!(count([0.9, 0.1, 0.7, 0.3, 0.6, 0.4, 0.4, 0.4, 0.6, 0.6]), Some(0));
    assert_eq!(count([0.9, 0.1, 0.7, 0.3, 0.7, 0.3, 0.4, 0.5, 0.6, 0.5]), Some(0));
}
