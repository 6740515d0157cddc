//! The example is what it claims to be: its fits agree, it finds what the data were drawn from, its features are right.

use crate::poisson_mixture::{PoissonMixture, Refused, mornings, run};
use countgrid_counts::Bag;
use countgrid_em::{EmOptions, End, Tables, TablesMut};
use countgrid_scores::{FeatureError, Form, fess, fisher, nfess};
use std::ops::ControlFlow;

#[test]
fn fitted_annealed_restarted_stepwise_and_scored() {
    let results = run().unwrap();
    let [plain, best, annealed, stepwise, threads] = results.outcomes.map(|outcome| outcome.objective);
    // A mixture of two so different kinds has one good optimum: 1e-6 is a thousand times the tolerance of the fits. Threads add
    // up blocks of the data in another order.
    for objective in [best, annealed, threads] {
        assert!((objective - plain).abs() < 1e-6 * plain, "{objective} {plain}");
    }
    assert!(best <= plain, "the first restart is the plain fit's neighbour, others may only be better");
    // Mini-batches end near it, never below.
    assert!((best..1.01 * best).contains(&stepwise), "{stepwise} {best}");
    assert!(results.outcomes.iter().all(|outcome| outcome.coinciding == Some(0)));
    // Components that are alike stay so; the fit says that it has converged, and that one component is a copy.
    let merged = results.merged;
    assert!(merged.end == End::Converged && merged.coinciding == Some(1) && merged.objective > 1.1 * plain);
    // Sundays are two of seven; 210 of them have a standard deviation of 0.031.
    for model in &results.models {
        let weights = &model.buffer()[..2];
        assert!((weights[0].min(weights[1]) - 2.0 / 7.0).abs() < 3.0 * 0.031, "{weights:?}");
        assert!((weights[0] + weights[1] - 1.0).abs() < 1e-14);
    }
    assert!(results.accuracy > 0.95);
}

#[test]
fn the_objective_never_rises() {
    let (data, mut model) = (mornings(1, 60, 9).unwrap(), PoissonMixture::new(3, 5).unwrap());
    model.draw(4.0, 3);
    let (mut sums, mut last) = (model.statistics().unwrap(), f64::INFINITY);
    let plan = EmOptions { tolerance: 0.0, iterations: 40 }.check().unwrap();
    plan.fit(&mut model, &data.as_view(), &mut sums, |_, progress| {
        assert!(progress.objective <= last * (1.0 + 1e-14));
        last = progress.objective;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(last.is_finite());
}

/// `p(c)` by the definition.
fn likelihood(tables: &[f64], components: usize, counts: &[u32]) -> f64 {
    let (weights, rates) = tables.split_at(components);
    let of = |k: usize| {
        counts.iter().enumerate().fold(weights[k], |p, (z, &c)| {
            let rate = rates[z * components + k];
            (1..=c).fold(p * (-rate).exp(), |p, i| p * rate / f64::from(i))
        })
    };
    (0..components).map(of).sum()
}

#[test]
fn terms_and_gradients_are_those_of_the_definition() {
    let mut model = PoissonMixture::new(3, 4).unwrap();
    model.draw(2.0, 5);
    model.buffer_mut()[..3].copy_from_slice(&[0.5, 0.25, 0.25]);
    let counts = [2, 0, 5, 1];
    let bag = Bag::new(4, &[0, 2, 3], &[2_u32, 5, 1]).unwrap();
    let log_p = likelihood(model.buffer(), 3, &counts).ln();

    let (mut terms, mut normalised) = ([0.0; 9], [0.0; 9]);
    let free_energy = fess(&model, &bag, &mut terms, &mut [0.0; 3]).unwrap();
    assert!((free_energy + log_p).abs() < 1e-13 && (terms.iter().sum::<f64>() + log_p).abs() < 1e-13);
    let per_token = nfess(&model, &bag, &mut normalised, &mut [0.0; 3]).unwrap();
    assert_eq!((per_token, normalised), (free_energy / 8.0, terms.map(|x| x / 8.0)));

    let mut score = [0.0; 15];
    fisher(&model, &bag, Form::Raw, &mut score, &mut []).unwrap();
    for (at, &found) in score.iter().enumerate() {
        let nearby = |by: f64| {
            let mut tables = model.buffer().to_vec();
            tables[at] += by;
            likelihood(&tables, 3, &counts).ln()
        };
        // Central differences: h² / 6 of third derivatives of some hundreds, and rounding over h.
        let expected = (nearby(1e-5) - nearby(-1e-5)) / 2e-5;
        assert!((found - expected).abs() < 1e-7 * (1.0 + found.abs()), "{at}: {found} {expected}");
    }

    let wide = Bag::<u32>::empty(5);
    let refused = Refused::Features { expected: 4, found: 5 };
    assert_eq!(fess(&model, &wide, &mut terms, &mut [0.0; 3]), Err(FeatureError::Model(refused)));
}
