//! What is refused, and what is taken at the limits.

use countgrid_counts::{Bag, CsrBuf, Dense};
use countgrid_em::{EmOptions, Fit, Learn, Restarts, TablesMut, TablesMutExt, no_observer};
use countgrid_lda::{Inference, Lda, LdaError, Learner, Options, Shape, Statistics};
use countgrid_math::Real;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

const TABLES: [f64; 8] = [0.5, 0.1, 0.25, 0.1, 0.25, 0.8, 0.3, 0.3];

fn shape() -> Shape {
    Shape::new(2, 3).unwrap()
}

#[test]
fn shapes_and_tables_are_checked() {
    assert_eq!(Shape::new(0, 3), Err(LdaError::NoTopics));
    assert_eq!(Shape::new(3, 0), Err(LdaError::NoFeatures));
    let (topics, features) = (usize::MAX, usize::MAX);
    assert_eq!(Shape::new(topics, features), Err(LdaError::TooLarge { topics, features }));
    let with = |place: usize, x: f64| {
        let mut tables = TABLES;
        tables[place] = x;
        Lda::new(shape(), tables).err()
    };
    assert_eq!(with(0, 0.5), None);
    assert_eq!(with(3, -0.1), Some(LdaError::Probability { feature: 1, topic: 1 }));
    assert_eq!(with(4, f64::NAN), Some(LdaError::Probability { feature: 2, topic: 0 }));
    assert_eq!(with(4, 0.26), Some(LdaError::NotNormalised { topic: 0 }));
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-301, 1e300] {
        assert_eq!(with(7, alpha), Some(LdaError::Alpha { topic: 1 }));
    }
    let error = LdaError::Length { table: "model", expected: 8, found: 7 };
    assert_eq!(Lda::new(shape(), [0.5; 7]).err(), Some(error));
    assert_eq!(error.to_string(), "`model` has 7 elements, needs 8");
    assert_eq!(Lda::<f32, _>::uniform(shape(), -1.0).err(), Some(LdaError::Alpha { topic: 0 }));
}

/// A shape that a constant is refused for is named in words that say what is wrong, those of the error where they can be.
#[test]
fn reasons_of_constants() {
    for error in [LdaError::NoTopics, LdaError::NoFeatures] {
        assert_eq!(error.constant_reason(), error.to_string());
    }
    let reason = Shape::new(usize::MAX, 2).unwrap_err().constant_reason();
    assert!(reason.contains("topics times features"), "{reason}");
}

#[test]
fn scratch_is_for_at_least_one_document() {
    let one = shape().posterior_scratch_len();
    assert_eq!([0, 1, 5].map(|chunk| shape().scratch_len(chunk)), [one, one, 5 * one]);
}

#[test]
fn alpha_is_set_or_nothing_is() {
    let mut lda = Lda::new(shape(), TABLES).unwrap();
    assert!(matches!(lda.set_alpha(&[1.0]), Err(LdaError::Length { table: "alpha", expected: 2, found: 1 })));
    assert_eq!(lda.set_alpha(&[1.0, f64::NAN]), Err(LdaError::Alpha { topic: 1 }));
    assert_eq!(lda.tables(), TABLES.split_at(6));
    lda.set_alpha(&[0.25, 2.0]).unwrap();
    assert_eq!(lda.tables(), (&TABLES[..6], &[0.25, 2.0][..]));
}

#[test]
fn inference_is_checked() {
    let lda = Lda::new(shape(), TABLES).unwrap();
    let mut scratch = vec![0.0; shape().posterior_scratch_len()];
    let counts = [1_u32, 2, 3];
    let bags = Dense::new(3, &counts).unwrap();
    let mut run = |bag, inference, start: Option<&[f64]>, short: usize| {
        let room = &mut scratch[short..];
        lda.posterior_from(&bags, bag, inference, start, room).err()
    };
    let defaults = Inference::default();
    assert_eq!(run(0, defaults, None, 0), None);
    assert!(matches!(run(0, defaults, None, 1), Some(LdaError::Length { table: "scratch", .. })));
    assert_eq!(run(1, defaults, None, 0), Some(LdaError::NoSuchBag { bag: 1, bags: 1 }));
    assert_eq!(run(0, Inference { sweeps: 0, ..defaults }, None, 0), Some(LdaError::NoSweeps));
    for tolerance in [-1e-3, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(run(0, Inference { tolerance, ..defaults }, None, 0), Some(LdaError::Tolerance));
    }
    assert_eq!(run(0, defaults, Some(&[1.0, 0.0]), 0), Some(LdaError::Gamma { topic: 1 }));
    assert!(matches!(run(0, defaults, Some(&[1.0]), 0), Some(LdaError::Length { table: "gamma", .. })));
    let other = Bag::new(4, &[3], &[1.0]).unwrap();
    let found = lda.posterior(&other, 0, defaults, &mut scratch).err();
    assert_eq!(found, Some(LdaError::Features { expected: 3, found: 4 }));
    assert!(lda.row(3).is_empty() && lda.row(usize::MAX / 2 + 1).is_empty());
    let posterior = lda.posterior(&bags, 0, defaults, &mut scratch).unwrap();
    assert_eq!(posterior.phi(3, &mut [0.0; 2]), Err(LdaError::Features { expected: 3, found: 3 }));
    assert!(posterior.phi(0, &mut [0.0; 3]).is_err() && posterior.proportions(&mut []).is_err());
    assert!(posterior.beta_gradient(&mut [0.0]).is_err() && posterior.alpha_gradient(&mut [0.0]).is_err());
    assert!(posterior.expected_counts(&mut [0.0]).is_err());
}

#[test]
fn options_are_checked() {
    let lda = || Lda::new(shape(), TABLES.to_vec()).unwrap();
    for smoothing in [-1.0, f64::NAN, f64::INFINITY, f64::MAX] {
        let options = Options { smoothing, ..Options::default() };
        assert_eq!(Learner::new(lda(), options).err(), Some(LdaError::Smoothing));
    }
}

/// Counts beyond the float type are an error that names the document, and nothing becomes NaN in silence.
#[test]
fn overflow_is_reported() {
    let tables = TABLES.map(|x| x as f32).to_vec();
    let learner = Learner::new(Lda::new(shape(), tables).unwrap(), Options::default()).unwrap();
    let mut statistics =
        Statistics::new(shape(), vec![0.0_f32; shape().sums_len()], vec![0.0; shape().scratch_len(1)])
            .unwrap();
    for huge in [f64::MAX, 1e38, 1e37] {
        let mut bags = CsrBuf::new(3).unwrap();
        bags.push_bag([(0, 1.0)]).unwrap();
        for _ in 0..6 {
            bags.push_bag([(0, huge), (2, 1.0)]).unwrap();
        }
        statistics.clear();
        let error = learner.expectation(&bags, &mut statistics).unwrap_err();
        assert!(matches!(error, LdaError::Overflow { bag: 1.. }), "{huge}: {error}");
        assert!(statistics.counts().iter().all(|x| x.is_finite()));
    }
    // The document that is named is the one in question, wherever its chunk begins.
    let mut bags = CsrBuf::new(3).unwrap();
    for huge in [1.0, 1.0, 1.0, f64::MAX, 1.0] {
        bags.push_bag([(0, huge)]).unwrap();
    }
    for chunk in 1..=5 {
        let mut statistics = Statistics::allocate(shape(), chunk).unwrap();
        let learner =
            Learner::new(Lda::<f32, _>::uniform(shape(), 0.5).unwrap(), Options::default()).unwrap();
        assert_eq!(learner.expectation(&bags, &mut statistics), Err(LdaError::Overflow { bag: 3 }));
    }
}

/// A seeded start is a model or an error, however many tokens there are and however many documents a topic is drawn from.
#[test]
fn seeds_of_many_tokens() {
    for (tokens, refused) in [(1.0, false), (1e30, false), (1e37, true), (f32::MAX, true)] {
        for each in [1, 4, 40] {
            let bags = Bag::new(3, &[0], std::slice::from_ref(&tokens)).unwrap();
            let mut lda = Lda::<f32, _>::uniform(shape(), 0.5).unwrap();
            let before = lda.beta().to_vec();
            match lda.seed(&bags, each, &mut ChaCha8Rng::seed_from_u64(1)) {
                Ok(()) => lda.check().unwrap(),
                Err(error) => {
                    assert_eq!((error, refused), (LdaError::Overflow { bag: 0 }, true), "{tokens} {each}");
                    assert_eq!(lda.beta(), before);
                }
            }
        }
    }
}

/// Each topic is the drawn documents' words and as many tokens again spread evenly.
#[test]
fn a_seed_of_one_document() {
    let mut lda = Lda::<f64, _>::uniform(shape(), 0.5).unwrap();
    let bag = Bag::new(3, &[0, 2], &[4_u32, 2]).unwrap();
    for each in [1, 3] {
        lda.seed(&bag, each, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        // Of twelve tokens, two a word are spread: 6, 2 and 4.
        for (w, expected) in [6.0 / 12.0, 2.0 / 12.0, 4.0 / 12.0].into_iter().enumerate() {
            assert!(lda.row(w).iter().all(|p| (p - expected).abs() < 1e-15), "{:?}", lda.row(w));
        }
    }
}

/// Tables written over by hand lead to an error or to a number.
#[test]
fn tables_written_over_do_not_panic() {
    let counts = [1_u32, 2, 3];
    let bags = Dense::new(3, &counts).unwrap();
    for x in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
        let mut learner =
            Learner::new(Lda::new(shape(), TABLES.to_vec()).unwrap(), Options::default()).unwrap();
        let (sums, scratch) = (vec![0.0; shape().sums_len()], vec![0.0; shape().scratch_len(2)]);
        let mut statistics = Statistics::new(shape(), sums, scratch).unwrap();
        learner.buffer_mut().fill(x);
        let _ = learner.expectation(&bags, &mut statistics);
        statistics.buffer_mut().fill(x);
        let _ = learner.maximization(&mut statistics);
        let _ = learner.penalty();
    }
}

#[test]
fn no_mass_keeps_topics_and_zeros_stay() {
    let tables = vec![0.5, 0.0, 0.5, 0.2, 0.0, 0.8, 0.3, 0.3];
    let mut learner = Learner::new(Lda::new(shape(), tables.clone()).unwrap(), Options::default()).unwrap();
    let mut statistics =
        Statistics::new(shape(), vec![0.0; shape().sums_len()], vec![0.0; shape().scratch_len(2)]).unwrap();
    learner.expectation(&Dense::new(3, &[0_u32; 3]).unwrap(), &mut statistics).unwrap();
    learner.maximization(&mut statistics).unwrap();
    assert_eq!(learner.lda().beta(), &tables[..6]);
    let counts = [3_u32, 2, 1, 0, 1, 4];
    for _ in 0..10 {
        statistics.clear();
        learner.expectation(&Dense::new(3, &counts).unwrap(), &mut statistics).unwrap();
        learner.maximization(&mut statistics).unwrap();
    }
    assert_eq!((learner.lda().row(0)[1], learner.lda().row(2)[0]), (0.0, 0.0));
}

/// Shares of a total of 1: the smallest whose logarithm a model takes stays, and what is below becomes zero.
#[test]
fn shares_below_the_floor_become_zero() {
    fn check<T: Real>() {
        let floor = T::FLOOR;
        let tables = TABLES.map(T::from_f64).to_vec();
        let options = Options { smoothing: 0.0, ..Options::default() };
        let mut learner = Learner::new(Lda::new(shape(), tables).unwrap(), options).unwrap();
        let (sums, scratch) = (vec![T::zero(); shape().sums_len()], vec![T::zero(); shape().scratch_len(2)]);
        let mut statistics = Statistics::new(shape(), sums, scratch).unwrap();
        let (one, half) = (T::one(), T::from_f64(0.5));
        let counts = [one, half, floor, half, floor * half, floor + floor];
        statistics.buffer_mut()[..6].copy_from_slice(&counts);
        learner.maximization(&mut statistics).unwrap();
        assert_eq!(learner.lda().beta(), [one, half, floor, half, T::zero(), floor + floor]);
    }
    check::<f32>();
    check::<f64>();
}

/// Draws are those of the seed, bounded away from zero; a seeded start has its documents' words; restarts keep the
/// best.
#[test]
fn starts() {
    let counts = [4_u32, 2, 0, 0, 1, 5, 3, 3, 0, 0, 0, 6];
    let bags = Dense::new(3, &counts).unwrap();
    let drawn = |seed: u64, from_documents: bool| {
        let mut lda = Lda::<f64, _>::uniform(shape(), 0.5).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        if from_documents {
            lda.seed(&bags, 1, &mut rng).unwrap()
        } else {
            lda.randomize(&mut rng)
        }
        lda.check().unwrap();
        lda
    };
    for from_documents in [false, true] {
        assert_eq!(drawn(1, from_documents).beta(), drawn(1, from_documents).beta());
        assert!((2..20).any(|seed| drawn(1, from_documents).beta() != drawn(seed, from_documents).beta()));
        assert!(drawn(1, from_documents).beta().iter().all(|&p| p >= 1.0 / 6.0 - 1e-15));
    }
    let mut empty = Lda::<f64, _>::uniform(shape(), 0.5).unwrap();
    let none = Dense::new(3, &[] as &[u32]).unwrap();
    assert!(empty.seed(&none, 1, &mut ChaCha8Rng::seed_from_u64(1)).is_err());
    empty.seed(&Dense::new(3, &[0_u32; 3]).unwrap(), 2, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    empty.check().unwrap();

    let mut learner = Learner::new(drawn(0, false), Options::default()).unwrap();
    let mut statistics = Statistics::allocate(shape(), 4).unwrap();
    let plan = EmOptions::default().check().unwrap();
    let mut objectives = Vec::new();
    let best = Restarts::new(5, 9).unwrap().run(&mut learner, &mut [0.0; 8], |learner, restart| {
        learner.lda_mut().randomize(&mut ChaCha8Rng::seed_from_u64(restart.seed));
        let outcome = plan.fit(learner, &bags, &mut statistics, no_observer)?;
        objectives.push(outcome.objective);
        Ok::<_, countgrid_em::FitError<LdaError>>(outcome)
    });
    let least = objectives.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(best.unwrap().outcome.objective, least);
    statistics.clear();
    assert_eq!(learner.expectation(&bags, &mut statistics).unwrap(), least);
}

/// Completion predicts held-out tokens by the mean of `theta` given the others, and the bound is that of each document.
#[test]
fn held_out() {
    let lda = Lda::new(shape(), TABLES).unwrap();
    let mut scratch = vec![0.0; shape().posterior_scratch_len()];
    let (observed, rest) = ([4_u32, 1, 0, 0, 0, 3], [2_u32, 0, 1, 0, 1, 1]);
    let (observed, rest) = (Dense::new(3, &observed).unwrap(), Dense::new(3, &rest).unwrap());
    let found = lda.completion(&observed, &rest, Inference::default(), &mut scratch).unwrap();
    let mut expected = 0.0;
    for (bag, words) in [(0, [2.0, 0.0, 1.0]), (1, [0.0, 1.0, 1.0])] {
        let mut theta = [0.0; 2];
        lda.posterior(&observed, bag, Inference::default(), &mut scratch)
            .unwrap()
            .proportions(&mut theta)
            .unwrap();
        for (w, c) in words.iter().enumerate() {
            expected += c * (theta[0] * lda.row(w)[0] + theta[1] * lda.row(w)[1]).ln();
        }
    }
    assert!((found.log_likelihood - expected).abs() < 1e-13 && found.tokens == 5.0);
    assert!((found.perplexity() - (-expected / 5.0).exp()).abs() < 1e-13);
    let bound = lda.held_out_bound(&observed, Inference::default(), &mut scratch).unwrap();
    let each: f64 = (0..2)
        .map(|bag| lda.posterior(&observed, bag, Inference::default(), &mut scratch).unwrap().bound())
        .sum();
    assert_eq!((bound.log_likelihood, bound.tokens), (each, 8.0));
    let fewer = Bag::new(3, &[0], &[1_u32]).unwrap();
    let error = lda.completion(&observed, &fewer, Inference::default(), &mut scratch).unwrap_err();
    assert_eq!(error, LdaError::Bags { expected: 2, found: 1 });
}

#[test]
fn topics_that_coincide_are_counted() {
    let learner =
        |tables: [f64; 8]| Learner::new(Lda::new(shape(), tables).unwrap(), Options::default()).unwrap();
    assert_eq!(learner(TABLES).coinciding_components(), Some(0));
    // `alpha` says how often a topic is drawn, not what it is.
    let copies = [0.5, 0.500_001, 0.25, 0.249_999, 0.25, 0.25, 0.3, 0.9];
    assert_eq!(learner(copies).coinciding_components(), Some(1));
    // Topics that start alike stay so, and the outcome says it.
    let (counts, plan) = ([4_u8, 0, 1, 0, 3, 3], EmOptions::default().check().unwrap());
    let bags = Dense::new(3, &counts).unwrap();
    let mut uniform =
        Learner::new(Lda::<f64, _>::uniform(shape(), 0.5).unwrap(), Options::default()).unwrap();
    let outcome = plan.fit(&mut uniform, &bags, &mut Statistics::allocate(shape(), 1).unwrap(), no_observer);
    assert_eq!(outcome.unwrap().coinciding, Some(1));
}
