//! Models fitted to real posts: the bound after every E-step and every M-step; documents that were held out.

use std::{io::Write, path::PathBuf};

use countgrid_counts::{Bags, CsrBuf};
use countgrid_em::{Fit, Learn, TablesMutExt};
use countgrid_grid::{Grid, Learner, Options, Shape, Statistics};
use countgrid_io::{DataSet, ReadOptions, read};
use countgrid_lda::{self as lda, Inference, Lda};
use countgrid_math::Real;
use countgrid_text::{TextOptions, WordBags, bags};
use countgrid_torus::{Torus, Windows};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Posts of three news groups, or `None`, said aloud, where the data are not to be had.
fn posts() -> Option<WordBags> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/news-20-same");
    if !path.is_dir() {
        let _ = writeln!(std::io::stderr(), "real data: SKIPPED, no folder ../shared/data/news-20-same");
        return None;
    }
    let (data, _) = read(&path, &ReadOptions::default()).expect("posts that can be read");
    let DataSet::Documents(documents) = data else { panic!("posts are documents") };
    let texts = documents.iter().map(|document| document.text.as_str());
    Some(bags(texts, &TextOptions::default()).expect("posts with words"))
}

/// `bound_e[0] <= bound_m[0] <= bound_e[1] <= ...`, up to rounding.
///
/// A bound is a sum over bags of sums over words. Roundings of either sign in a sum of `n` terms come to
/// about `√n` units; the longest here, over some 3,000 windows or bags, to less than 64, and relative to the
/// bound, to which all bags contribute with one sign, to less still.
fn chain_never_falls<T: Real>(bags: &WordBags) {
    let features = bags.vocabulary.len();
    let bags = bags.bags.as_view();
    let windows = Windows::new(Torus::new([16, 16]).unwrap(), [4, 4]).unwrap();
    let shape = Shape::new(windows, features).unwrap();
    for options in [
        Options { learn_prior: true, ..Options::default() },
        Options { pseudocount: 0.01, inner_passes: 3, ..Options::default() },
    ] {
        let mut grid = Grid::<T, _, 2>::uniform(shape).unwrap();
        grid.randomize(&mut ChaCha8Rng::seed_from_u64(3));
        let mut learner = Learner::from_grid(grid, options).unwrap();
        let mut statistics = Statistics::allocate(shape, 256).unwrap();
        let (mut chain, mut most) = (Vec::new(), f64::NEG_INFINITY);
        for _ in 0..12 {
            statistics.clear();
            let free_energy = learner.expectation(&bags, &mut statistics).unwrap();
            chain.push(-free_energy - learner.penalty());
            learner.maximization(&mut statistics).unwrap();
            chain.push(learner.bound(&statistics).unwrap() - learner.penalty());
        }
        let room = 64.0 * T::UNIT_ROUNDOFF.to_f64();
        for &bound in &chain {
            assert!(bound >= most - room * bound.abs(), "{chain:?}");
            most = most.max(bound);
        }
        assert!(chain[0] < chain[chain.len() - 1], "{chain:?}");
    }
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn bounds_never_fall_on_real_posts() {
    if let Some(bags) = posts() {
        chain_never_falls::<f64>(&bags);
        chain_never_falls::<f32>(&bags);
    }
}

/// Topics predict posts that they have not seen better than the words' frequencies do, by more than the words of a
/// model of one topic, and in f32 as in f64.
fn topics_predict<T: Real>(bags: &WordBags) -> [f64; 2] {
    let features = bags.vocabulary.len();
    let all = bags.bags.as_view();
    let [mut fitted, mut seen, mut rest] = [(); 3].map(|()| CsrBuf::<u32>::new(features).expect("bags"));
    for bag in 0..all.len() {
        let counts = || all.entries(bag);
        if bag % 5 < 4 {
            fitted.push_bag(counts()).expect("a bag");
        } else {
            // Every other word type is to be told from the others.
            seen.push_bag(counts().step_by(2)).expect("a bag");
            rest.push_bag(counts().skip(1).step_by(2)).expect("a bag");
        }
    }
    let predict = |topics: usize| {
        let shape = lda::Shape::new(topics, features).expect("a shape");
        let mut model = Lda::<T, _>::uniform(shape, 1.0 / topics as f64).expect("a model");
        model.randomize(&mut ChaCha8Rng::seed_from_u64(3));
        let options = lda::Options { smoothing: 0.1, ..lda::Options::default() };
        let mut learner = lda::Learner::new(model, options).expect("options");
        let mut statistics = lda::Statistics::allocate(shape, 64).expect("memory");
        for _ in 0..25 {
            statistics.clear();
            learner.expectation(&fitted, &mut statistics).expect("bags");
            learner.maximization(&mut statistics).expect("statistics");
        }
        let mut scratch = vec![T::zero(); shape.posterior_scratch_len()];
        learner.lda().completion(&seen, &rest, Inference::default(), &mut scratch).expect("bags").per_token()
    };
    [predict(1), predict(20)]
}

#[test]
#[ignore = "slow: `cargo test --workspace -- --include-ignored`"]
fn topics_predict_real_posts() {
    if let Some(bags) = posts() {
        let (single, double) = (topics_predict::<f32>(&bags), topics_predict::<f64>(&bags));
        let _ = writeln!(
            std::io::stderr(),
            "real data: nats per held-out token, 1 and 20 topics: {single:?} {double:?}"
        );
        assert!(double[1] > double[0] + 0.2);
        // One topic: counts that are summed up in f32, some 2,000 documents, with the roundings of a random walk.
        assert!((single[0] - double[0]).abs() < 1e-5);
        // 25 iterations amplify roundings; both are fits of the same problem from the same start.
        assert!((single[1] - double[1]).abs() < 0.01);
    }
}
