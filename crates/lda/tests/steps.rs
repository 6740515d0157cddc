//! The two steps of a learner: where an E-step starts, what an M-step maximises.

use countgrid_em::{Fit, Learn, TablesMut, TablesMutExt};
use countgrid_lda::testing::*;
use countgrid_lda::{Concentration, Inference, Lda, Learner, Options, Shape, Statistics};
use countgrid_math::ln_gamma;
use proptest::prelude::*;

fn statistics(shape: &Shape) -> Statistics<f64, Vec<f64>> {
    Statistics::new(*shape, vec![0.0; shape.sums_len()], vec![0.0; shape.scratch_len(2)]).unwrap()
}

proptest! {
    /// From the even start an E-step is the same whoever holds `gamma`; it leaves there what it found.
    #[test]
    fn an_e_step_from_the_even_start(p in problem()) {
        let (bags, shape, inference) = (p.bags(), p.shape(), Inference { sweeps: 5, tolerance: 0.0 });
        let learner = Learner::new(p.lda::<f64>(), Options { inference, ..Options::default() }).unwrap();
        let (mut one, mut other) = (statistics(&shape), statistics(&shape));
        let expected = learner.expectation(&bags, &mut one).unwrap();
        let mut gammas: Vec<f64> = (0..p.counts.len()).flat_map(|d| p.infer(d, 0).0).collect();
        prop_assert_eq!(learner.expectation_from(&bags, &mut gammas, &mut other), Ok(expected));
        prop_assert_eq!(one.counts(), other.counts());
        let (mut room, mut places) = (vec![0.0; shape.posterior_scratch_len()], gammas.chunks_exact(p.topics()));
        for d in 0..p.counts.len() {
            let posterior = learner.lda().posterior(&bags, d, inference, &mut room).unwrap();
            prop_assert_eq!(Some(posterior.gamma()), places.next());
        }
    }

    /// `alpha`, where it is learned, is the one value from 1e-6 to 1e4 that maximises its part of the bound (Blei et al. 2003,
    /// appendix A.4.2); without a document, or if it is fixed, it stays.
    #[test]
    fn alpha_is_the_best(p in problem(), other in -6.0..4.0_f64) {
        let (bags, shape) = (p.bags(), p.shape());
        for concentration in [Concentration::Symmetric, Concentration::Fixed] {
            let mut learner = Learner::new(p.lda::<f64>(), Options { concentration, ..Options::default() }).unwrap();
            let mut statistics = statistics(&shape);
            learner.maximization(&mut statistics).unwrap();
            prop_assert_eq!(learner.lda().alpha(), &p.alpha[..]);
            learner.expectation(&bags, &mut statistics).unwrap();
            learner.maximization(&mut statistics).unwrap();
            let found = learner.lda().alpha();
            if concentration == Concentration::Fixed || p.topics() == 1 {
                prop_assert_eq!(found, &p.alpha[..]);
                continue;
            }
            prop_assert!(found.iter().all(|&alpha| alpha == found[0]));
            let (k, documents) = (p.topics() as f64, statistics.documents());
            let part = |alpha: f64| {
                documents * (ln_gamma(k * alpha) - k * ln_gamma(alpha)) + (alpha - 1.0) * statistics.log_theta()
            };
            for alpha in [0.9 * found[0], 1.1 * found[0], 10.0_f64.powf(other)] {
                // ln Γ(5e4) is 5e5, to 2.5 ulp, some ten times a document.
                let alpha = alpha.clamp(1e-6, 1e4);
                prop_assert!(part(alpha) <= part(found[0]) + 2e-9 * documents, "{} {alpha}", found[0]);
            }
        }
    }

    /// An M-step divides each topic's counts and pseudo-tokens by their sum, however many features there are.
    #[test]
    fn topics_are_normalised(topics in 1..6_usize, features in 1..300_usize, eta in 0.0..2.0_f64, seed in any::<u32>()) {
        let shape = Shape::new(topics, features).unwrap();
        let lda = Lda::<f64, _>::uniform(shape, 0.5).unwrap();
        let mut learner = Learner::new(lda, Options { smoothing: eta, ..Options::default() }).unwrap();
        let mut statistics = Statistics::allocate(shape, 1).unwrap();
        statistics.clear();
        let count = |place: usize| f64::from((place as u32 + 1).wrapping_mul(seed | 1) >> 24);
        let counts: Vec<f64> = (0..topics * features).map(count).collect();
        statistics.buffer_mut()[..topics * features].copy_from_slice(&counts);
        learner.maximization(&mut statistics).unwrap();
        for k in 0..topics {
            let total: f64 = (0..features).map(|w| counts[w * topics + k] + eta).sum();
            prop_assume!(total > 0.0);
            for w in 0..features {
                let expected = (counts[w * topics + k] + eta) / total;
                prop_assert!((learner.lda().row(w)[k] - expected).abs() <= 1e-13 * expected);
            }
        }
    }
}
