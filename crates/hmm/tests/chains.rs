//! Markov chains, in which nothing is hidden.

use crate::common::distribution;
use countgrid_counts::{Sequence, Sequences};
use countgrid_em::testing::{Tolerance, check_terms_sum};
use countgrid_em::{ExpectedCounts, Fit, FreeEnergy, Learn, TablesMut};
use countgrid_hmm::{Chain, ChainShape, HmmError, Learner};
use proptest::prelude::*;

/// Order, a chain of positive probabilities over three symbols, and a sequence.
fn chain() -> impl Strategy<Value = (usize, Chain<f64, Vec<f64>>, Vec<u8>)> {
    (0..3_usize).prop_flat_map(|order| {
        let shape = ChainShape::new(3, order).unwrap();
        let rows = prop::collection::vec(prop::collection::vec(0.05..1.0_f64, 3), shape.chain_len() / 3);
        (Just(shape), rows, prop::collection::vec(0..3_u8, 1..30)).prop_map(|(shape, rows, x)| {
            let rows: Vec<f64> = rows.into_iter().flat_map(distribution).collect();
            (shape.order(), Chain::new(shape, rows).unwrap(), x)
        })
    })
}

/// Where the probability of position `n` lies: after the rows of shorter contexts comes that of its own, a number in base
/// three.
fn place(x: &[u8], n: usize, order: usize) -> usize {
    let context = &x[n.saturating_sub(order)..n];
    let shorter: usize = (0..context.len()).map(|len| 3_usize.pow(len as u32)).sum();
    let number = context.iter().fold(0, |number, &symbol| 3 * number + usize::from(symbol));
    3 * (shorter + number) + usize::from(x[n])
}

proptest! {
    /// Terms are `-log p` of each symbol and sum to the free energy; expected counts are counts, and neither needs scratch.
    #[test]
    fn terms_and_counts_are_the_definition((order, chain, x) in chain()) {
        let sequence = Sequence::new(3, &x).unwrap();
        prop_assert_eq!((chain.term_count(&sequence), chain.scratch_len(&sequence)), (x.len(), 0));
        prop_assert_eq!(chain.counts_scratch_len(&sequence), 0);
        prop_assert!(check_terms_sum(&chain, &sequence, Tolerance::relative(1e-13)).is_ok());
        let mut counts = vec![f64::NAN; chain.shape().chain_len()];
        let log_p = chain.expected_counts(&sequence, &mut counts, &mut []).unwrap();
        let (mut expected, mut sum) = (vec![0.0; counts.len()], 0.0);
        for n in 0..x.len() {
            expected[place(&x, n, order)] += 1.0;
            sum += countgrid_em::Tables::buffer(&chain)[place(&x, n, order)].ln();
        }
        prop_assert_eq!(counts, expected);
        prop_assert!((log_p - sum).abs() <= 1e-13 * sum.abs());
    }

    /// An M-step finds the best of free energy and penalty, `-a Σ log θ`: no other chain has less.
    #[test]
    fn a_fit_is_the_maximum_a_posteriori((_, other, x) in chain(), a in 0.01..2.0_f64) {
        let (offsets, shape) = ([0, x.len()], *other.shape());
        let data = Sequences::new(3, &offsets, &x).unwrap();
        let objective = |chain: &Chain<f64, Vec<f64>>| {
            let learner = Learner::new(chain.clone(), a).unwrap();
            let mut counts = chain.statistics_in(vec![0.0; shape.chain_len()]).unwrap();
            let penalty = learner.penalty();
            let expected: f64 = -a * countgrid_em::Tables::buffer(chain).iter().map(|p| p.ln()).sum::<f64>();
            assert!((penalty - expected).abs() <= 1e-12 * expected);
            learner.expectation(&data, &mut counts).unwrap() + penalty
        };
        let fit = |pseudocount: f64| {
            let mut learner = Learner::new(other.clone(), pseudocount).unwrap();
            let mut counts = other.statistics_in(vec![0.0; shape.chain_len()]).unwrap();
            learner.expectation(&data, &mut counts).unwrap();
            learner.maximization(&mut counts).unwrap();
            learner.into_model()
        };
        let best = objective(&fit(a));
        for chain in [&other, &fit(0.5 * a), &fit(2.0 * a)] {
            let found = objective(chain);
            prop_assert!(best <= found + 1e-12 * found, "{best} {found}");
        }
    }
}

#[test]
fn a_chain_says_its_shape() {
    let shape = ChainShape::new(4, 2).unwrap();
    assert_eq!((shape.symbols(), shape.order(), shape.chain_len()), (4, 2, (1 + 4 + 16) * 4));
}

#[test]
fn sequences_over_another_alphabet_are_refused() {
    let chain = Chain::<f64, _>::uniform(ChainShape::new(3, 1).unwrap()).unwrap();
    let other = Sequence::new(2, &[0_u8, 1]).unwrap();
    let refused = HmmError::Symbols { expected: 3, found: 2 };
    assert_eq!(chain.log_likelihood(&other), Err(refused));
    assert_eq!(chain.free_energy_terms(&other, &mut [0.0; 2], &mut []), Err(refused));
    assert_eq!(chain.expected_counts(&other, &mut [0.0; 12], &mut []), Err(refused));
    let (mut counts, learner) = (chain.statistics().unwrap(), Learner::new(chain, 0.0).unwrap());
    let data = Sequences::new(2, &[0, 2], &[0_u8, 1]).unwrap();
    assert_eq!(learner.expectation(&data, &mut counts), Err(refused));
}

/// Entries of zero have no part in the log prior.
#[test]
fn the_penalty_is_of_entries_that_are_not_zero() {
    let chain = Chain::new(ChainShape::new(2, 1).unwrap(), [1.0, 0.0, 0.5, 0.5, 0.25, 0.75]).unwrap();
    let mut learner = Learner::new(chain, 2.0).unwrap();
    let expected = -2.0 * (0.25_f64 * 0.25 * 0.75).ln();
    assert!((learner.penalty() - expected).abs() <= 1e-14, "{}", learner.penalty());
    learner.model_mut().buffer_mut()[2..].copy_from_slice(&[1.0, 0.0, 0.0, 1.0]);
    assert_eq!(learner.penalty(), 0.0);
}
