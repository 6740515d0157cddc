//! Topics so unlikely that their shares leave the range of the float type, words that only they have, and counts near
//! the other end of it.

#![allow(clippy::needless_range_loop, reason = "indices are those of the mathematics")]

use countgrid_counts::Bag;
use countgrid_em::testing::{Tolerance, check_terms_sum};
use countgrid_em::{Fit, FreeEnergy, TablesMutExt};
use countgrid_lda::testing::Problem;
use countgrid_lda::{Grouping, Inference, Lda, LdaError, Learner, Options, Shape, Statistics, Terms};
use countgrid_math::{Real, digamma};
use proptest::prelude::*;

const ONE_SWEEP: Inference = Inference { sweeps: 1, tolerance: 0.0 };

/// A `gamma` at which all topics but the first have shares `exp(ψ(gamma_k))` about `exp(-560)` to `exp(-760)`, and words
/// that only those topics have, some with probabilities down to 1e-40.
fn unlikely_topics() -> impl Strategy<Value = (Problem, Vec<f64>)> {
    (2..=20_usize, 2..=4_usize).prop_flat_map(|(topics, features)| {
        let gamma = prop::collection::vec(560.0..760.0_f64, topics);
        let alpha = prop::collection::vec(0.001..0.1_f64, topics);
        let digits = prop::collection::vec(prop::collection::vec(0.6..40.0_f64, features - 1), topics);
        let counts = prop::collection::vec(0..8_u32, features);
        (gamma, alpha, digits, counts).prop_map(|(gamma, alpha, digits, counts)| {
            let mut gamma: Vec<f64> = gamma.iter().map(|x| 1.0 / x).collect();
            gamma[0] = 3.0;
            let beta = digits.iter().enumerate().map(|(k, digits)| {
                let mut topic: Vec<f64> =
                    digits.iter().map(|x| if k == 0 { 0.0 } else { 10.0_f64.powf(-x) / 3.0 }).collect();
                topic.insert(0, 1.0 - topic.iter().sum::<f64>()); // the first word all topics have
                topic
            });
            (Problem { alpha, beta: beta.collect(), counts: vec![counts] }, gamma)
        })
    })
}

/// `phi` `[feature][topic]` of a `gamma`, by Eq. 6 in logarithms.
fn phi_by_logarithms(p: &Problem, gamma: &[f64]) -> Vec<Vec<f64>> {
    (0..p.features())
        .map(|w| {
            let row: Vec<f64> = (0..p.topics()).map(|k| p.beta[k][w].ln() + digamma(gamma[k])).collect();
            let best = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = row.iter().map(|x| (x - best).exp()).sum();
            row.iter().map(|x| (x - best).exp() / sum).collect()
        })
        .collect()
}

/// A logarithm of a share is at most 900 in size and comes of some five roundings of 1.1e-16 of it, on both sides.
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-11 * b.abs().max(1.0)
}

proptest! {
    /// One sweep is the definition, whichever of the shares a float can hold: `phi`, `gamma`, bound, expected counts and
    /// derivatives; and so is an E-step.
    #[test]
    fn small_shares_are_not_lost((p, start) in unlikely_topics()) {
        let (shape, lda, bags) = (p.shape(), p.lda::<f64>(), p.bags());
        let phi = phi_by_logarithms(&p, &start);
        let gamma = p.gamma(0, &phi);
        let bound = p.elbo(0, &gamma, &phi);
        let mut room = vec![0.0; shape.posterior_scratch_len()];
        let posterior = lda.posterior_from(&bags, 0, ONE_SWEEP, Some(&start), &mut room).unwrap();
        prop_assert!(near(posterior.bound(), bound), "{} {bound}", posterior.bound());
        prop_assert!(posterior.gamma().iter().zip(&gamma).all(|(&a, &b)| near(a, b)));
        let (mut counts, mut gradient) = (vec![0.0; lda.beta().len()], vec![0.0; lda.beta().len()]);
        posterior.expected_counts(&mut counts).unwrap();
        posterior.beta_gradient(&mut gradient).unwrap();
        for w in 0..p.features() {
            let mut found = vec![0.0; p.topics()];
            posterior.phi(w, &mut found).unwrap();
            for k in 0..p.topics() {
                let (place, tokens) = (w * p.topics() + k, f64::from(p.counts[0][w]) * phi[w][k]);
                prop_assert!(near(found[k], phi[w][k]), "{w} {k}: {} {}", found[k], phi[w][k]);
                prop_assert!(near(counts[place], tokens));
                prop_assert!(p.beta[k][w] == 0.0 || near(gradient[place] * p.beta[k][w], tokens));
            }
        }

        let learner = Learner::new(p.lda::<f64>(), Options { inference: ONE_SWEEP, ..Options::default() }).unwrap();
        let (sums, scratch) = (vec![0.0; shape.sums_len()], vec![0.0; shape.scratch_len(1)]);
        let (mut statistics, mut gammas) = (Statistics::new(shape, sums, scratch).unwrap(), start);
        let free_energy = learner.expectation_from(&bags, &mut gammas, &mut statistics).unwrap();
        prop_assert!(near(-free_energy, bound));
        prop_assert!(gammas.iter().zip(&gamma).all(|(&a, &b)| near(a, b)));
        prop_assert!(statistics.counts().iter().zip(&counts).all(|(&a, &b)| near(a, b)));
    }
}

/// An entry of `beta` at the floor counts, one below it does not, and a feature that has only such entries is one that
/// every topic has alike.
#[test]
fn the_floor_itself_counts() {
    fn check<T: Real>() {
        let (zero, one, floor) = (T::zero(), T::one(), T::FLOOR);
        let below = floor * T::from_f64(0.5);
        let tables = [one, one, floor, zero, floor, below, below, zero, one, one];
        let lda = Lda::new(Shape::new(2, 4).unwrap(), tables).unwrap();
        let mut room = vec![zero; lda.shape().posterior_scratch_len()];
        let bag = Bag::new(4, &[1, 2, 3], &[2_u32, 2, 2]).unwrap();
        let posterior = lda.posterior(&bag, 0, ONE_SWEEP, &mut room).unwrap();
        let half = T::from_f64(0.5);
        for (feature, expected) in [(0, [half, half]), (1, [one, zero]), (2, [one, zero]), (3, [half, half])]
        {
            let mut phi = [zero; 2];
            posterior.phi(feature, &mut phi).unwrap();
            assert_eq!(phi, expected, "feature {feature}");
        }
        let terms = Terms::new(&lda, ONE_SWEEP, Grouping::Word);
        // The two types' roundings, of terms some 500 and 4,000 in size.
        check_terms_sum(&terms, &bag, Tolerance::mixed(100.0 * T::UNIT_ROUNDOFF.to_f64())).unwrap();
    }
    check::<f32>();
    check::<f64>();
}

/// A word that one topic has and another has not: every term is a number, in either grouping of the documented length.
#[test]
fn terms_of_entries_that_are_zero() {
    let lda = Lda::new(Shape::new(2, 3).unwrap(), [0.5, 0.0, 0.5, 0.25, 0.0, 0.75, 0.3, 0.4]).unwrap();
    let bag = Bag::new(3, &[0, 1, 2], &[3_u32, 1, 2]).unwrap();
    for (grouping, len) in [(Grouping::Topic, 5 * 2 + 2), (Grouping::Word, 4 * 2 + 2 * 3 + 2)] {
        let terms = Terms::new(&lda, Inference::default(), grouping);
        assert_eq!(terms.term_count(&bag), len);
        let free_energy = check_terms_sum(&terms, &bag, Tolerance::mixed(1e-13)).unwrap();
        assert!(free_energy.is_finite());
    }
}

/// Documents of almost as many tokens as the float type counts: topics that share no word have their words' tokens.
#[test]
fn large_counts() {
    fn check<T: Real>(huge: f64) {
        let shape = Shape::new(2, 2).unwrap();
        let lda = Lda::new(shape, [1.0, 0.0, 0.0, 1.0, 0.5, 0.5].map(T::from_f64)).unwrap();
        let mut room = vec![T::zero(); shape.posterior_scratch_len()];
        let counts = [huge, 3.0 * huge];
        let bag = Bag::new(2, &[0, 1], &counts).unwrap();
        let posterior = lda.posterior(&bag, 0, Inference::default(), &mut room).unwrap();
        let mut proportions = [T::zero(); 2];
        posterior.proportions(&mut proportions).unwrap();
        for (&p, expected) in proportions.iter().zip([0.25, 0.75]) {
            assert!(
                (p.to_f64() / expected - 1.0).abs() <= 8.0 * T::UNIT_ROUNDOFF.to_f64(),
                "{proportions:?}"
            );
        }
    }
    check::<f32>(1e33);
    check::<f64>(1e250);
}

/// Batch after batch of many tokens ends in an error before a sum leaves the float type, and so does a document whose
/// tokens fit but whose bound does not.
#[test]
fn sums_stay_finite() {
    let shape = Shape::new(2, 3).unwrap();
    let tables = [0.5_f32, 0.25, 0.5, 0.75, 0.0, 0.0, 0.3, 0.3].to_vec();
    let learner = Learner::new(Lda::new(shape, tables).unwrap(), Options::default()).unwrap();
    let mut statistics =
        Statistics::new(shape, vec![0.0; shape.sums_len()], vec![0.0; shape.scratch_len(1)]).unwrap();
    let batch = Bag::new(3, &[0, 1], &[1e37_f32, 1e37]).unwrap();
    let mut ended = false;
    for _ in 0..40 {
        ended |= learner.expectation(&batch, &mut statistics).is_err();
        assert!(statistics.counts().iter().all(|x| x.is_finite()) && statistics.tokens().is_finite());
    }
    assert!(ended);
    statistics.clear();
    let unknown = Bag::new(3, &[2], &[1e37_f32]).unwrap(); // 1e37 ln 1e-37 is beyond f32
    let error = learner.expectation(&unknown, &mut statistics).unwrap_err();
    assert_eq!(error, LdaError::Overflow { bag: 0 });
}
