//! Stepwise fits: what they share with the batch fit, and that they converge.

use crate::models;

use core::{cell::Cell, convert::Infallible, ops::ControlFlow};

use countgrid_counts::{Bags, Dense};
use countgrid_em::{
    EmOptions, End, Fit, FitError, Learn, OptionError, Progress, StepSize, Stepwise, StepwiseFit,
    StepwiseOptions, StepwisePlan, Table, TableBuffer, Tables, TablesMut, no_observer,
};
use models::{Chain, Mixture, MixtureSums};
use proptest::prelude::*;

const FEATURES: usize = 4;
const LEN: usize = 2 * (1 + FEATURES);

fn mixture(seed: u64) -> (Mixture<f64, Vec<f64>>, MixtureSums<f64, Vec<f64>>) {
    let mut model = Mixture::new(2, FEATURES, vec![0.0; LEN]).unwrap();
    model.draw(seed);
    (model, MixtureSums::new(2, FEATURES, vec![0.0; LEN], vec![0.0; 2]).unwrap())
}

/// Bags of two kinds.
fn rows(bags: usize) -> Vec<u8> {
    (0..bags)
        .flat_map(|t| if t % 3 == 0 { [6, 3, (t % 2) as u8, 0] } else { [0, 1, 5, (t % 5) as u8] })
        .collect()
}

fn plan(step_size: StepSize, passes: usize, tolerance: f64) -> StepwisePlan {
    StepwiseOptions { step_size, passes, tolerance }.check().unwrap()
}

#[test]
fn one_full_batch_and_whole_steps_are_batch_em() {
    let counts = rows(20);
    let bags = Dense::new(FEATURES, &counts).unwrap();
    let (mut batch, mut batch_sums) = mixture(4);
    let mut free_energies = Vec::new();
    let fit = EmOptions { tolerance: 0.0, iterations: 5 }.check().unwrap();
    fit.fit(&mut batch, &bags, &mut batch_sums, |_, progress| {
        free_energies.push(progress.free_energy);
        ControlFlow::Continue(())
    })
    .unwrap();

    let (mut stepwise, mut sums) = mixture(4);
    sums.buffer_mut().fill(f64::NAN); // what was there before does not matter
    let mut seen = Vec::new();
    let plan = plan(StepSize::Constant(1.0), 5, 0.0);
    let outcome = plan
        .fit(
            &mut stepwise,
            |_| [(bags, 1.0)],
            &mut sums,
            |_, progress| {
                seen.push(progress.free_energy);
                ControlFlow::Continue(())
            },
        )
        .unwrap();
    assert_eq!((outcome.iterations, outcome.end), (5, End::Limit));
    assert_eq!(stepwise.buffer(), batch.buffer()); // to the last bit
    assert_eq!(seen, free_energies[..5]);
}

proptest! {
    // Each step scales twice: 4 roundings on top of the sum's own.
    #[test]
    fn the_running_sums_are_the_average_of_the_formula(exponent in 0.55..1.0_f64, delay in 0.0..5.0_f64, cut in 1..19_usize) {
        let counts = rows(20);
        let bags = Dense::new(FEATURES, &counts).unwrap();
        let parts = [0..cut, cut..20, 0..20].map(|range| bags.slice(range).unwrap());
        let plan = plan(StepSize::Power { exponent, delay }, 1, 0.0);
        let (mut model, mut sums) = mixture(1);
        let mut stepwise = Stepwise::new(plan);
        let mut expected = [0.0; LEN];
        for (k, part) in parts.iter().enumerate() {
            let (_, mut alone) = mixture(1);
            let free_energy = model.expectation(part, &mut alone).unwrap();
            let share = part.len() as f64 / 20.0;
            let eta = if k == 0 { 1.0 } else { (k as f64 + delay).powf(-exponent) };
            for (sum, s) in expected.iter_mut().zip(alone.buffer()) {
                *sum = (1.0 - eta) * *sum + eta / share * s;
            }
            prop_assert_eq!(stepwise.step(&mut model, part, &mut sums, share).unwrap(), free_energy);
            for (sum, expected) in sums.buffer().iter().zip(expected) {
                prop_assert!((sum - expected).abs() <= 1e-13 * (1.0 + expected), "{sum} {expected}");
            }
        }
        prop_assert_eq!(stepwise.steps(), 3);
    }
}

#[test]
fn mini_batches_get_where_the_batch_gets() {
    let counts = rows(240);
    let bags = Dense::new(FEATURES, &counts).unwrap();
    let (mut batch, mut sums) = mixture(2);
    let fit = EmOptions { tolerance: 1e-12, iterations: 500 }.check().unwrap();
    let best = fit.fit(&mut batch, &bags, &mut sums, no_observer).unwrap();

    let (mut model, mut sums) = mixture(2);
    let plan = plan(StepSize::Power { exponent: 0.7, delay: 2.0 }, 40, 1e-7);
    let batches = |pass: usize| {
        (0..12).map(move |n| (n + pass) % 12 * 20).map(|at| (bags.slice(at..at + 20).unwrap(), 1.0 / 12.0))
    };
    let outcome = plan.fit(&mut model, batches, &mut sums, no_observer).unwrap();
    let reached = model.expectation(&bags, &mut mixture(0).1).unwrap();
    // The steps of the last pass, about 0.02 long, leave less than a thousandth.
    assert!(reached - best.free_energy < 1e-3 * best.free_energy, "{reached} {best:?} {outcome:?}");
    assert!((outcome.free_energy - reached).abs() < 1e-3 * reached);
}

#[test]
fn progress_speaks_of_the_whole_data_set_and_compares_passes() {
    let counts = rows(40);
    let bags = Dense::new(FEATURES, &counts).unwrap();
    let (mut model, mut sums) = mixture(2);
    let halves = |_| [(bags.slice(0..10).unwrap(), 0.25), (bags.slice(10..40).unwrap(), 0.75)];
    let mut seen: Vec<Progress> = Vec::new();
    let plan = plan(StepSize::Power { exponent: 1.0, delay: 0.0 }, 3, 0.0);
    let outcome = plan
        .fit(&mut model, halves, &mut sums, |_, progress| {
            seen.push(*progress);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!((outcome.iterations, outcome.end), (6, End::Limit));
    assert_eq!(seen.iter().map(|p| p.iteration).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    let changes: Vec<_> = seen.iter().map(|p| p.change).collect();
    let change = |a: usize, b: usize| Some(seen[b].objective - seen[a].objective);
    assert_eq!(changes, [None, None, None, change(1, 3), None, change(3, 5)]);
    let first = mixture(2).0.expectation(&bags.slice(0..10).unwrap(), &mut mixture(2).1).unwrap();
    assert_eq!(seen[0].free_energy, first / 0.25);

    let stop = |_: &_, progress: &Progress| {
        if progress.iteration == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let outcome = plan.fit(&mut model, halves, &mut sums, stop).unwrap();
    assert_eq!((outcome.iterations, outcome.end), (3, End::Stopped));
}

/// In the first pass and at the end of each the penalty is that of the parameters; between ends it is that of the end before.
#[test]
fn a_penalty_is_asked_for_at_ends_of_passes() {
    struct Counted(f64, Cell<usize>);
    impl Fit<f64> for Counted {
        fn expectation(&self, batch: &f64, _: &mut Self::Statistics) -> Result<f64, Infallible> {
            Ok(*batch)
        }
    }
    impl Learn for Counted {
        type Statistics = TableBuffer<f64, [Table; 0], [f64; 0]>;
        type Error = Infallible;
        fn maximization(&mut self, _: &mut Self::Statistics) -> Result<(), Infallible> {
            self.0 *= 2.0;
            Ok(())
        }
        fn penalty(&self) -> f64 {
            self.1.set(self.1.get() + 1);
            self.0
        }
    }
    let (mut model, mut none) = (Counted(1.0, Cell::new(0)), TableBuffer::new([], []).unwrap());
    let mut penalties = Vec::new();
    plan(StepSize::Constant(0.5), 3, 0.0)
        .fit(
            &mut model,
            |_| [(8.0, 0.25); 4],
            &mut none,
            |_, progress| {
                penalties.push(progress.objective - progress.free_energy);
                ControlFlow::Continue(())
            },
        )
        .unwrap();
    assert_eq!(penalties, [2.0, 4.0, 8.0, 16.0, 16.0, 16.0, 16.0, 256.0, 256.0, 256.0, 256.0, 4096.0]);
    assert_eq!(model.1.get(), 6);
}

#[test]
fn a_pass_that_changes_nothing_is_convergence() {
    // A chain sees everything: with whole steps the second pass meets the parameters of the first.
    let sequences = [*b"\0\x01\0", *b"\x01\x01\0"];
    let mut chain = Chain::new(2, [0.0_f32; 6]).unwrap();
    let mut sums = TableBuffer::new(models::chain_layout(2), [0.0; 6]).unwrap();
    let mut stepwise = Stepwise::new(plan(StepSize::Constant(1.0), 1, 0.0));
    let mut step = || stepwise.step(&mut chain, &sequences[..], &mut sums, 1.0).unwrap();
    let free_energies = [step(), step(), step()]; // an unsized batch
    assert!(free_energies[1] < free_energies[0] && free_energies[1] == free_energies[2]);

    let counts = rows(20);
    let bags = Dense::new(FEATURES, &counts).unwrap();
    let (mut model, mut sums) = mixture(3);
    let plan = plan(StepSize::Constant(1.0), 1000, 1e-9);
    let outcome = plan.fit(&mut model, |_| [(bags, 1.0)], &mut sums, no_observer).unwrap();
    assert_eq!(outcome.end, End::Converged);
    assert!(outcome.iterations < 1000);
}

#[test]
fn a_fit_goes_on_where_it_left_off() {
    let counts = rows(20);
    let bags = Dense::new(FEATURES, &counts).unwrap();
    let part = |n: usize| bags.slice(n * 5..n * 5 + 5).unwrap();
    let plan = StepwiseOptions::default().check().unwrap();
    let (mut whole, mut whole_sums) = mixture(3);
    let mut stepwise = Stepwise::new(plan);
    for n in 0..4 {
        stepwise.step(&mut whole, &part(n), &mut whole_sums, 0.25).unwrap();
    }
    let (mut model, mut sums) = mixture(3);
    let mut stepwise = Stepwise::new(plan);
    for n in 0..4 {
        stepwise = Stepwise::resume(plan, stepwise.steps());
        stepwise.step(&mut model, &part(n), &mut sums, 0.25).unwrap();
    }
    assert_eq!(model.buffer(), whole.buffer());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let check = |step_size| StepwiseOptions { step_size, ..StepwiseOptions::default() }.check().map(|_| ());
    for exponent in [0.5, 1.1, -1.0, f64::NAN] {
        assert_eq!(check(StepSize::Power { exponent, delay: 0.0 }), Err(OptionError::Exponent));
    }
    for delay in [-0.1, f64::NAN, f64::INFINITY, 1e16] {
        assert_eq!(check(StepSize::Power { exponent: 1.0, delay }), Err(OptionError::Delay));
    }
    for eta in [0.0, 1.1, f64::NAN] {
        assert_eq!(check(StepSize::Constant(eta)), Err(OptionError::StepSize));
    }
    assert_eq!(StepwiseOptions { passes: 0, ..Default::default() }.check(), Err(OptionError::Passes));
    assert_eq!(
        StepwiseOptions { tolerance: f64::NAN, ..Default::default() }.check(),
        Err(OptionError::Tolerance)
    );
    for exponent in [0.51, 0.7, 1.0] {
        for delay in [0.0, 2.0, 1e15] {
            let plan = plan(StepSize::Power { exponent, delay }, 1, 0.0);
            let steps = [0, 1, 2, 1000, usize::MAX].map(|k| plan.step_size(k));
            assert!(steps.iter().all(|&eta| eta > 0.0 && eta <= 1.0) && steps.is_sorted_by(|a, b| a >= b));
        }
    }

    let counts = rows(2);
    let bags = Dense::new(FEATURES, &counts).unwrap();
    let (mut model, mut sums) = mixture(3);
    let before = model.buffer().to_vec();
    let mut stepwise = Stepwise::new(plan(StepSize::Constant(0.5), 1, 0.0));
    for share in [0.0, -1.0, 1.5, 1e-310] {
        let error = stepwise.step(&mut model, &bags, &mut sums, share).unwrap_err();
        assert_eq!(error, FitError::Share { iteration: 0, share });
    }
    assert!(stepwise.step(&mut model, &bags, &mut sums, f64::NAN).is_err());
    let none =
        plan(StepSize::Constant(0.5), 2, 0.0).fit(&mut model, |_| [(bags, 1.0); 0], &mut sums, no_observer);
    assert_eq!(none, Err(FitError::NoBatch { pass: 0 }));
    assert_eq!((model.buffer(), stepwise.steps()), (before.as_slice(), 0));
}

/// A batch whose free energy is no number is an error, and the parameters stay.
#[test]
fn a_step_without_a_number_is_an_error() {
    struct Broken(f64, bool);
    impl Fit<f64> for Broken {
        fn expectation(&self, batch: &f64, _: &mut Self::Statistics) -> Result<f64, &'static str> {
            Ok(*batch)
        }
    }
    impl Learn for Broken {
        type Statistics = TableBuffer<f64, [Table; 0], [f64; 0]>;
        type Error = &'static str;
        fn maximization(&mut self, _: &mut Self::Statistics) -> Result<(), &'static str> {
            self.1 = true;
            Ok(())
        }
        fn penalty(&self) -> f64 {
            self.0
        }
    }
    let mut none = TableBuffer::new([], []).unwrap();
    for (free_energy, penalty, good) in [
        (f64::NAN, 0.0, false),
        (f64::INFINITY, 0.0, false),
        (f64::NEG_INFINITY, f64::INFINITY, false),
        (1.0, 0.0, true),
        (1.0, f64::NAN, true), // which is asked for in an error alone
    ] {
        let (mut model, mut stepwise) =
            (Broken(penalty, false), Stepwise::new(plan(StepSize::Constant(0.5), 1, 0.0)));
        let found = stepwise.step(&mut model, &free_energy, &mut none, 1.0);
        assert_eq!(
            (found.is_ok(), model.1, stepwise.steps()),
            (good, good, usize::from(good)),
            "{free_energy}"
        );
        if let Err(error) = found {
            assert!(matches!(error, FitError::Objective { .. }), "{error:?}");
        }
    }
}

#[test]
fn a_fit_is_its_steps_also_when_it_is_written_down_after_each() {
    let counts = rows(240);
    let bags = Dense::new(FEATURES, &counts).unwrap();
    let batches = |pass: usize| {
        (0..12).map(move |n| (n + pass) % 12 * 20).map(|at| (bags.slice(at..at + 20).unwrap(), 1.0 / 12.0))
    };
    for (passes, tolerance) in [(3, 0.0), (40, 1e-4)] {
        let plan = plan(StepSize::Power { exponent: 0.7, delay: 2.0 }, passes, tolerance);
        let (mut model, mut sums) = mixture(2);
        let mut seen = Vec::new();
        let outcome = plan.fit(&mut model, batches, &mut sums, |_, progress| {
            seen.push(*progress);
            ControlFlow::Continue(())
        });
        let outcome = outcome.unwrap();
        assert_eq!(outcome.end, if tolerance > 0.0 { End::Converged } else { End::Limit });

        let (mut stepped, mut stepped_sums) = mixture(2);
        let mut fit = StepwiseFit::new(plan);
        let mut steps = Vec::new();
        let end = 'passes: loop {
            for (n, (batch, share)) in batches(fit.state().pass).enumerate() {
                fit = StepwiseFit::resume(plan, *fit.state());
                let (progress, end) =
                    fit.step(&mut stepped, &batch, &mut stepped_sums, share, n == 11).unwrap();
                steps.push(progress);
                if let Some(end) = end {
                    break 'passes end;
                }
            }
        };
        assert_eq!((end, steps), (outcome.end, seen));
        assert_eq!((stepped.buffer(), stepped_sums.buffer()), (model.buffer(), sums.buffer()));
    }
}
