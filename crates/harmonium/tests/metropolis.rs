//! Steps of Metropolis and Hastings by value: the move, the ratio, and what is refused.

use crate::common;

use common::*;
use countgrid_counts::Dense;
use countgrid_harmonium::{Adjusted, Exchange, Gradient, HarmoniumError as E, IsingModel, Prior, Shape};
use rand_chacha::ChaCha8Rng;

const COUNTS: [u8; 12] = [1, 0, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0]; // four documents of three words

/// Whether the step was accepted, and the tables that were proposed.
fn exchange(
    model: &mut Model,
    prior: &Prior<f64, Vec<f64>>,
    spread: f64,
    noise: &mut Same,
) -> Result<(bool, Vec<f64>), E> {
    let bags = Dense::new(3, &COUNTS).unwrap();
    let mut proposal = vec![0.0; model.shape().model_len()];
    let memory = Exchange {
        spread,
        cap: 1 << 14,
        proposal: &mut proposal,
        couplings: &mut vec![0.0; IsingModel::<()>::len(3) + 9],
        words: &mut [0; 3],
        topics: &mut [0.0; 4],
    };
    let accepted = model.exchange::<ChaCha8Rng, _, _>(&bags, prior, 5, noise, memory)?;
    Ok((accepted, proposal))
}

#[test]
fn an_exchange_walks_by_its_spread() {
    let model = random(Shape::words(3, 2).unwrap(), 0.5, 0.5, 1, 1);
    let prior = Prior::new(vec![0.0; 3], vec![1.0; 3]).unwrap();
    let mut moved = model.clone();
    // The number 0 accepts all that has a probability.
    let (accepted, proposal) = exchange(&mut moved, &prior, 0.5, &mut Same::new(0.0, 0.75)).unwrap();
    let expected: Vec<f64> = model.w().iter().map(|w| w + 0.5 * 0.75).collect();
    assert!(accepted);
    assert_eq!((moved.w(), moved.alpha()), (&expected[..], model.alpha()));
    assert_eq!(proposal, [model.alpha(), &expected, model.sizes()].concat());
    for spread in [0.0, -0.5, f64::INFINITY, f64::NAN] {
        let found = exchange(&mut moved, &prior, spread, &mut Same::new(0.0, 0.75)).map(|_| ());
        assert_eq!(found, Err(E::Setting { name: "spread" }), "{spread}");
        assert_eq!(moved.w(), expected);
    }
}

/// Of the logarithm of the posterior, by sums over data, expectations and the prior.
fn slope(model: &Model, prior: &Prior<f64, Vec<f64>>) -> Vec<f64> {
    let (shape, bags) = (*model.shape(), Dense::new(3, &COUNTS).unwrap());
    let mut sums = Gradient::allocate(shape).unwrap();
    model.add_data(&bags, &[], 1.0, &mut sums, &mut scratch(&shape)).unwrap();
    let expected = expectations(model);
    let pairs = sums.parts()[1].iter().zip(expected.parts()[1]).zip(model.w());
    pairs
        .enumerate()
        .map(|(at, ((sum, mean), w))| {
            sum - 4.0 * mean - (w - prior.means()[at / 2]) / prior.variances()[at / 2]
        })
        .collect()
}

fn log_posterior(model: &Model, prior: &Prior<f64, Vec<f64>>) -> f64 {
    let bags = Dense::new(3, &COUNTS).unwrap();
    let mut exact = vec![0.0; model.shape().exact_scratch_len()];
    model.log_posterior(&bags, &[], prior, &mut [0.0; 2], &mut exact).unwrap()
}

fn adjusted(
    model: &mut Model,
    prior: &Prior<f64, Vec<f64>>,
    epsilon: f64,
    noise: &mut Same,
) -> Result<bool, E> {
    let shape = *model.shape();
    let memory = Adjusted {
        proposal: &mut vec![0.0; shape.model_len()],
        gradient: &mut vec![0.0; shape.gradient_len()],
        expectations: &mut vec![0.0; shape.gradient_len()],
        exact: &mut vec![0.0; shape.exact_scratch_len()],
        scratch: &mut scratch(&shape),
    };
    model.adjusted_langevin(&Dense::new(3, &COUNTS).unwrap(), prior, epsilon, noise, memory)
}

#[test]
fn an_adjusted_step_follows_the_slope_and_is_accepted_by_its_ratio() {
    const EPSILON: f64 = 0.5;
    let prior = Prior::new(vec![0.3, -0.2, 0.1], vec![0.5, 1.5, 0.3]).unwrap();
    let mut doubtful = 0;
    for seed in 0..20 {
        let model = random(Shape::words(3, 2).unwrap(), 0.5, 0.7, 1, seed);
        let normal = 0.1 * seed as f64 - 0.9;
        let mut moved = model.clone();
        assert_eq!(adjusted(&mut moved, &prior, EPSILON, &mut Same::new(0.0, normal)), Ok(true));
        let here = slope(&model, &prior);
        for ((new, w), slope) in moved.w().iter().zip(model.w()).zip(&here) {
            let expected = w + 0.5 * EPSILON * EPSILON * slope + EPSILON * normal;
            assert!((new - expected).abs() < 1e-12, "{new} {expected}");
        }
        // log q(W' → W) - log q(W → W'), of normal densities around what the slopes ask for.
        let there = slope(&moved, &prior);
        let squares = |to: &Model, from: &Model, slope: &[f64]| -> f64 {
            let d = to
                .w()
                .iter()
                .zip(from.w())
                .zip(slope)
                .map(|((to, from), s)| to - from - 0.5 * EPSILON * EPSILON * s);
            d.map(|d| d * d).sum()
        };
        let proposals =
            (squares(&moved, &model, &here) - squares(&model, &moved, &there)) / (2.0 * EPSILON * EPSILON);
        let ratio = (log_posterior(&moved, &prior) - log_posterior(&model, &prior) + proposals).exp();
        for (uniform, accepted) in [(ratio.min(1.0) * (1.0 - 1e-9), true), (ratio * (1.0 + 1e-9), false)] {
            if uniform >= 1.0 {
                continue;
            }
            let mut again = model.clone();
            assert_eq!(adjusted(&mut again, &prior, EPSILON, &mut Same::new(uniform, normal)), Ok(accepted));
            assert_eq!(again.w(), if accepted { moved.w() } else { model.w() });
            doubtful += usize::from(!accepted);
        }
    }
    assert!(doubtful > 5, "{doubtful} steps that could be refused");
}

/// Whatever the random number: 0 is one of them.
#[test]
fn a_proposal_of_no_probability_is_refused() {
    let model = random(Shape::words(3, 2).unwrap(), 0.5, 0.1, 1, 1);
    let narrow = Prior::new(vec![0.0; 3], vec![1e-6; 3]).unwrap();
    let mut moved = model.clone();
    assert!(!exchange(&mut moved, &narrow, 1.0, &mut Same::new(0.0, 2.0)).unwrap().0);
    let narrow = Prior::new(vec![0.0; 3], vec![1e-3; 3]).unwrap();
    assert_eq!(adjusted(&mut moved, &narrow, 1.0, &mut Same::new(0.0, 2.0)), Ok(false));
    assert_eq!(moved.w(), model.w());
}

#[test]
fn an_adjusted_step_is_of_a_single_wing_and_a_prior_of_its_rows() {
    let prior = |rows| Prior::new(vec![0.0; rows], vec![1.0; rows]).unwrap();
    let mut model = random(Shape::words(3, 2).unwrap(), 0.5, 0.1, 1, 1);
    let found = adjusted(&mut model, &prior(4), 0.5, &mut Same::new(0.0, 0.5));
    assert_eq!(found, Err(E::Length { table: "prior", expected: 3, found: 4 }));
    let mut dual = random(Shape::dual_wing(3, 2, 2).unwrap(), 0.5, 0.1, 1, 1);
    let found = adjusted(&mut dual, &prior(5), 0.5, &mut Same::new(0.0, 0.5));
    assert_eq!(found, Err(E::Wings { needs: "a single wing of normal topics" }));
}
