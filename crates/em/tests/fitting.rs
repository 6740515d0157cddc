//! The loop, annealing and restarts, with the two small models.

use crate::models;

use core::ops::ControlFlow;

use countgrid_counts::{Bags, Csr, Dense};
use countgrid_em::testing::{Tolerance, check_additivity, check_objective_falls, check_terms_sum};
use countgrid_em::{
    Anneal, Annealing, EmOptions, EmPlan, End, Fit, FitError, Iterations, Learn, OptionError, Outcome,
    Progress, Restarts, Table, TableBuffer, Tables, TablesError, TablesExt, TablesMutExt, no_observer,
    restart_seed,
};
use models::{Chain, Mixture, MixtureSums};
use proptest::prelude::*;

const FEATURES: usize = 5;
const COMPONENTS: usize = 3;
const LEN: usize = COMPONENTS * (1 + FEATURES);
type Vectors = (Mixture<f64, Vec<f64>>, MixtureSums<f64, Vec<f64>>);

fn plan(tolerance: f64, iterations: usize) -> EmPlan {
    EmOptions { tolerance, iterations }.check().unwrap()
}

fn mixture(seed: u64) -> Vectors {
    let mut model = Mixture::new(COMPONENTS, FEATURES, vec![0.0; LEN]).unwrap();
    model.draw(seed);
    (model, MixtureSums::new(COMPONENTS, FEATURES, vec![0.0; LEN], vec![0.0; COMPONENTS]).unwrap())
}

/// Three kinds of bags, mixed.
const COUNTS: [u8; 12 * FEATURES] = [
    9, 4, 0, 0, 1, 0, 8, 5, 0, 0, 0, 1, 0, 7, 7, 7, 6, 0, 1, 0, 0, 9, 9, 0, 0, 1, 0, 0, 4, 9, 5, 5, 1, 0, 0,
    0, 3, 6, 0, 1, 0, 0, 1, 9, 3, 8, 2, 0, 0, 0, 1, 7, 8, 0, 0, 0, 0, 0, 5, 5,
];

fn bags() -> Dense<'static, u8> {
    Dense::new(FEATURES, &COUNTS).unwrap()
}

fn rows() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec([0..4_u8, 0..9, 0..2, 0..5, 0..7], 1..9).prop_map(|rows| rows.concat())
}

proptest! {
    // A bag's log evidence is a sum of at most 30 terms below 1000, good to 1e-12 of its size; f32 to 1e-4. One of 0, that
    // of an empty bag, is the logarithm of weights that sum to 1 within a rounding each.
    #[test]
    fn the_objective_never_rises(counts in rows(), seed: u64, pseudocount in prop_oneof![Just(0.0), 0.01..2.0]) {
        let bags = Dense::new(FEATURES, &counts).unwrap();
        let (mut model, mut sums) = mixture(seed);
        model.pseudocount = pseudocount;
        let mut objectives = Vec::new();
        let outcome = plan(0.0, 40).fit(&mut model, &bags, &mut sums, |_, progress| {
            objectives.push(progress.objective);
            ControlFlow::Continue(())
        }).unwrap();
        prop_assert_eq!(Some(&outcome.objective), objectives.last());
        let (mut model, mut sums) = mixture(seed);
        model.pseudocount = pseudocount;
        let found = check_objective_falls(&mut model, &bags, &mut sums, outcome.iterations, Tolerance::mixed(1e-12));
        prop_assert_eq!(found, Ok(objectives)); // the loop is E-step and M-step in turn

        let mut single = Mixture::<f32, _>::new(COMPONENTS, FEATURES, vec![0.0; LEN]).unwrap();
        let scores = vec![0.0; COMPONENTS];
        let mut sums = MixtureSums::new(COMPONENTS, FEATURES, vec![0.0; LEN], scores).unwrap();
        single.draw(seed);
        prop_assert!(check_objective_falls(&mut single, &bags, &mut sums, 40, Tolerance::mixed(1e-4)).is_ok());
    }

    // The terms are the same bits however the batch is cut; only the order of at most 8 additions differs.
    #[test]
    fn statistics_add_up_over_any_split(counts in rows(), seed: u64, cut in 0..9_usize) {
        let bags = Dense::new(FEATURES, &counts).unwrap();
        let cut = cut.min(bags.len());
        let (model, mut whole) = mixture(seed);
        let free_energy = model.expectation(&bags, &mut whole).unwrap();
        let (mut first, mut second) = (mixture(seed).1, mixture(seed).1);
        let parts = [bags.slice(0..cut).unwrap(), bags.slice(cut..bags.len()).unwrap()];
        let tolerance = Tolerance::relative(16.0 * f64::EPSILON);
        prop_assert_eq!(check_additivity(&model, &bags, &parts, &mut first, tolerance), Ok(()));
        first.clear();
        let a = model.expectation(&parts[0], &mut first).unwrap();
        let b = model.expectation(&parts[1], &mut second).unwrap();
        first.merge(&second).unwrap();
        prop_assert!((a + b - free_energy).abs() <= 16.0 * f64::EPSILON * free_energy.abs());
        for (part, whole) in first.buffer().iter().zip(whole.buffer()) {
            prop_assert!((part - whole).abs() <= 16.0 * f64::EPSILON * whole);
        }
        let tokens: f64 = whole.table("beta").unwrap().iter().sum();
        prop_assert!((tokens - bags.tokens()).abs() <= 1e-13 * bags.tokens());
    }

    #[test]
    fn terms_add_up_to_the_negative_log_evidence(counts in rows(), seed: u64) {
        let bags = Dense::new(FEATURES, &counts).unwrap().slice(0..1).unwrap();
        let (model, mut sums) = mixture(seed);
        let free_energy = check_terms_sum(&model, &bags, Tolerance::mixed(1e-13)).unwrap();
        let evidence = model.expectation(&bags, &mut sums).unwrap();
        prop_assert!((free_energy - evidence).abs() <= 1e-13 * (1.0 + evidence.abs()));
    }
}

#[test]
fn storage_does_not_change_a_bit() {
    let (mut vectors, mut sums) = mixture(7);
    plan(0.0, 20).fit(&mut vectors, &bags(), &mut sums, no_observer).unwrap();

    let mut arrays = Mixture::new(COMPONENTS, FEATURES, [0.0; LEN]).unwrap();
    arrays.draw(7);
    let (mut buffer, mut scores) = ([0.0; LEN], [0.0; LEN]);
    let mut borrowed = [0.0; LEN];
    borrowed.copy_from_slice(arrays.buffer());
    let mut borrowed = Mixture::<f64, &mut [f64]>::new(COMPONENTS, FEATURES, &mut borrowed).unwrap();
    let mut sums =
        MixtureSums::<f64, &mut [f64]>::new(COMPONENTS, FEATURES, &mut buffer, &mut scores[..COMPONENTS])
            .unwrap();
    plan(0.0, 20).fit(&mut borrowed, &bags(), &mut sums, no_observer).unwrap();
    assert_eq!(vectors.buffer(), borrowed.buffer());

    // Sparse rows of floats hold the same bags.
    let entries: Vec<_> = (0..bags().len()).flat_map(|t| bags().entries(t).collect::<Vec<_>>()).collect();
    let (indices, counts): (Vec<_>, Vec<_>) = entries.iter().map(|&(z, n)| (z as u32, f32::from(n))).unzip();
    let mut offsets = vec![0];
    offsets.extend((0..bags().len()).map(|t| (0..=t).map(|t| bags().entries(t).count()).sum::<usize>()));
    let (mut again, mut sums) = mixture(7);
    let csr = Csr::new(FEATURES, &offsets, &indices, &counts).unwrap();
    plan(0.0, 20).fit(&mut again, &csr, &mut sums, no_observer).unwrap();
    assert_eq!(vectors.buffer(), again.buffer());
}

#[test]
fn a_chain_over_sequences_fits_in_one_update() {
    let sequences = [b"\0\x01\0\x01".as_slice(), b"\x01\0\x01\x01", b"\x01"];
    let mut chain = Chain::new(2, [0.0_f64; 6]).unwrap();
    let mut sums = TableBuffer::new(models::chain_layout(2), [0.0; 6]).unwrap();
    let outcome = plan(0.0, 10).fit(&mut chain, &sequences[..], &mut sums, no_observer).unwrap();
    assert_eq!((outcome.iterations, outcome.end), (2, End::Converged)); // the second changes nothing
    assert_eq!(chain.tables.table("initial"), Some(&[1.0 / 3.0, 2.0 / 3.0][..]));
    assert_eq!(chain.tables.row("transition", 0), Some(&[0.0, 1.0][..]));
    assert_eq!(chain.tables.row("transition", 1), Some(&[2.0 / 3.0, 1.0 / 3.0][..]));
}

#[test]
fn an_outcome_is_that_of_the_parameters_left() {
    for iterations in [0, 1, 5] {
        let (mut model, mut sums) = mixture(3);
        let start = model.buffer().to_vec();
        let mut calls = Vec::new();
        let observer = |_: &Mixture<_, _>, progress: &Progress| {
            calls.push(*progress);
            ControlFlow::Continue(())
        };
        let outcome = plan(0.0, iterations).fit(&mut model, &bags(), &mut sums, observer).unwrap();
        assert_eq!((outcome.iterations, outcome.end), (iterations, End::Limit));
        assert_eq!(
            calls.iter().map(|progress| progress.iteration).collect::<Vec<_>>(),
            (0..=iterations).collect::<Vec<_>>()
        );
        for pair in calls.windows(2) {
            assert_eq!(pair[1].change, Some(pair[1].objective - pair[0].objective));
        }
        assert_eq!((calls[0].change, iterations == 0), (None, model.buffer() == start));
        let (_, mut again) = mixture(3);
        assert_eq!(model.expectation(&bags(), &mut again).unwrap(), outcome.free_energy);
        assert_eq!(again.buffer(), sums.buffer());
    }
}

#[test]
fn one_step_at_a_time_is_the_same_fit() {
    for (plan, limit) in [(plan(1e-5, 1_000), false), (plan(0.0, 3), true), (plan(0.5, 0), true)] {
        let (mut model, mut sums) = mixture(3);
        let mut seen = Vec::new();
        let outcome = plan
            .fit(&mut model, &bags(), &mut sums, |_, progress| {
                seen.push(*progress);
                ControlFlow::Continue(())
            })
            .unwrap();

        let (mut stepped, mut sums) = mixture(3);
        let mut iterations = Iterations::new(plan);
        for expected in &seen {
            let (progress, end) = iterations.step(&mut stepped, &bags(), &mut sums).unwrap();
            assert_eq!((progress, iterations.updates()), (*expected, expected.iteration));
            assert_eq!(end.is_some(), expected.iteration == outcome.iterations);
            assert!(end.is_none_or(|end| end == outcome.end));
        }
        assert_eq!(outcome.end, if limit { End::Limit } else { End::Converged });
        assert_eq!(stepped.buffer(), model.buffer());
    }
}

#[test]
fn convergence_watches_free_energy_and_penalty() {
    let (mut model, mut sums) = mixture(3);
    model.pseudocount = 0.1;
    let mut progress = Vec::new();
    let outcome = plan(1e-3, 1000)
        .fit(&mut model, &bags(), &mut sums, |_, now| {
            progress.push(*now);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(outcome.end, End::Converged);
    let small = |now: &Progress| (now.change.unwrap() / now.objective).abs() <= 1e-3;
    let [before @ .., next, last] = &progress[1..] else { panic!("{progress:?}") };
    assert!(small(last) && small(next) && last.change.unwrap().abs() <= next.change.unwrap().abs());
    assert!(!before.windows(2).any(|pair| small(&pair[0]) && small(&pair[1])));
    assert_eq!(last.objective, last.free_energy + model.penalty());
    assert_ne!(last.objective, last.free_energy);
}

#[test]
fn the_tolerance_is_a_share_of_the_objective() {
    for (free_energies, iterations) in [
        ([1e3, 998.0, 997.5, 997.4, 997.3], 3),
        ([0.010, 0.009, 0.008, 0.007999, 0.0079985], 4),
        ([2.0, 1.0, 1.0, 0.9, 0.8], 2), // no change is convergence at once
    ] {
        let (mut script, mut none) = Script::new(&free_energies);
        let outcome = plan(1e-3, 4).fit(&mut script, &(), &mut none, no_observer).unwrap();
        assert_eq!((outcome.iterations, outcome.end), (iterations, End::Converged));
    }
}

/// Near a flat start an EM fit gains little, and more every time.
#[test]
fn gains_that_are_small_but_grow_are_no_convergence() {
    let gains = [30.0, 0.02, 0.04, 0.08, 0.16, 20.0, 0.09, 0.05];
    let falls = gains.iter().scan(1e3, |free_energy, gain| {
        *free_energy -= gain;
        Some(*free_energy)
    });
    let free_energies: Vec<f64> = [1e3].into_iter().chain(falls).collect();
    let (mut script, mut none) = Script::new(&free_energies);
    let outcome = plan(1e-3, 8).fit(&mut script, &(), &mut none, no_observer).unwrap();
    assert_eq!((outcome.iterations, outcome.end), (8, End::Converged));
}

#[test]
fn an_observer_can_stop_a_run() {
    let (mut model, mut sums) = mixture(3);
    let mut seen = Vec::new();
    let observer = |model: &Mixture<_, Vec<f64>>, progress: &Progress| {
        seen = model.buffer().to_vec();
        if progress.iteration == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let outcome = plan(0.0, 100).fit(&mut model, &bags(), &mut sums, observer).unwrap();
    assert_eq!((outcome.iterations, outcome.end), (4, End::Stopped));
    assert_eq!(model.buffer(), seen);
}

/// Free energies from a list; knows at which inverse temperatures it was asked.
struct Script {
    free_energies: Vec<f64>,
    asked: core::cell::RefCell<Vec<f64>>,
    beta: f64,
}
impl Script {
    fn new(free_energies: &[f64]) -> (Self, TableBuffer<f64, [Table; 0], [f64; 0]>) {
        let script = Self { free_energies: free_energies.to_vec(), asked: Default::default(), beta: 1.0 };
        (script, TableBuffer::new([], []).unwrap())
    }
}
impl Fit<()> for Script {
    fn expectation(&self, (): &(), _: &mut Self::Statistics) -> Result<f64, &'static str> {
        let mut asked = self.asked.borrow_mut();
        asked.push(self.beta);
        self.free_energies.get(asked.len() - 1).copied().ok_or("the script has ended")
    }
}
impl Learn for Script {
    type Statistics = TableBuffer<f64, [Table; 0], [f64; 0]>;
    type Error = &'static str;
    fn maximization(&mut self, _: &mut Self::Statistics) -> Result<(), &'static str> {
        Ok(())
    }
}
impl Anneal for Script {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.beta = beta;
    }
}

#[test]
fn an_objective_that_is_no_number_is_an_error() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let (mut script, mut none) = Script::new(&[3.0, bad]);
        match plan(1e-5, 9).fit(&mut script, &(), &mut none, no_observer) {
            Err(FitError::Objective { iteration: 1, free_energy, penalty: 0.0 }) => {
                assert_eq!(free_energy.to_bits(), bad.to_bits());
            }
            other => panic!("{other:?}"),
        }
    }
    let (mut script, mut none) = Script::new(&[3.0, 2.0]);
    let error = plan(1e-5, 9).fit(&mut script, &(), &mut none, no_observer).unwrap_err();
    assert_eq!(error, FitError::Model("the script has ended"));
}

#[test]
fn annealing_ends_at_the_exact_posterior_and_converges_only_there() {
    // Nothing changes at all, which would be convergence at once.
    let (mut script, mut none) = Script::new(&[5.0; 20]);
    let schedule = Annealing::linear(0.5, 4).unwrap();
    let mut changes = Vec::new();
    let outcome = plan(1e-5, 9)
        .fit_annealed(&mut script, &(), &mut none, &schedule, |_, progress| {
            changes.push(progress.change);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(*script.asked.borrow(), [0.5, 0.625, 0.75, 0.875, 1.0, 1.0]);
    assert_eq!(changes, [None, None, None, None, None, Some(0.0)]);
    assert_eq!((outcome.iterations, outcome.beta, outcome.end), (5, 1.0, End::Converged));

    // The limit counts from β = 1 on.
    let (mut script, mut none) = Script::new(&[9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0]);
    let outcome = plan(0.0, 2).fit_annealed(&mut script, &(), &mut none, &schedule, no_observer).unwrap();
    assert_eq!((outcome.iterations, outcome.beta, outcome.end), (6, 1.0, End::Limit));

    // However it ends, the model is back at β = 1.
    let (mut script, mut none) = Script::new(&[9.0, 8.0]);
    let stop = |_: &Script, _: &Progress| ControlFlow::Break(());
    let outcome = plan(0.0, 2).fit_annealed(&mut script, &(), &mut none, &schedule, stop).unwrap();
    assert_eq!((outcome.beta, outcome.end, script.beta), (0.5, End::Stopped, 1.0));
    plan(0.0, 2).fit_annealed(&mut script, &(), &mut none, &schedule, no_observer).unwrap_err();
    assert_eq!(script.beta, 1.0);
}

#[test]
fn an_annealed_fit_is_its_steps_also_when_it_is_written_down_after_each() {
    let (schedule, plan) = (Annealing::geometric(0.1, 6).unwrap(), plan(1e-4, 40));
    let (mut model, mut sums) = mixture(3);
    let mut seen = Vec::new();
    let outcome = plan.fit_annealed(&mut model, &bags(), &mut sums, &schedule, |_, progress| {
        seen.push(*progress);
        ControlFlow::Continue(())
    });
    let (mut stepped, mut stepped_sums) = mixture(3);
    let mut iterations = Iterations::new(plan);
    let mut steps = Vec::new();
    let end = loop {
        let last = iterations.last();
        assert_eq!(iterations.updates(), last.map_or(0, |last| last.iteration));
        iterations = Iterations::resume(plan, last);
        let step = iterations.step_annealed(&mut stepped, &bags(), &mut stepped_sums, &schedule);
        let (progress, end) = step.unwrap();
        steps.push(progress);
        if let Some(end) = end {
            break end;
        }
    };
    assert_eq!((end, steps), (outcome.unwrap().end, seen));
    assert_eq!(stepped.buffer(), model.buffer());
}

#[test]
fn the_two_halves_of_a_step_are_the_step() {
    let (schedule, plan) = (Annealing::geometric(0.1, 6).unwrap(), plan(1e-4, 40));
    for annealed in [false, true] {
        let ((mut whole, mut whole_sums), (mut halved, mut halved_sums)) = (mixture(3), mixture(3));
        let (mut steps, mut halves) = (Iterations::new(plan), Iterations::new(plan));
        loop {
            let step = if annealed {
                halves.update_annealed(&mut halved, &mut halved_sums, &schedule).unwrap();
                steps.step_annealed(&mut whole, &bags(), &mut whole_sums, &schedule)
            } else {
                halves.update(&mut halved, &mut halved_sums).unwrap();
                steps.step(&mut whole, &bags(), &mut whole_sums)
            };
            let free_energy = halved.expectation(&bags(), &mut halved_sums).unwrap();
            let found = halves.evaluate::<()>(free_energy, halved.penalty(), annealed.then_some(&schedule));
            let (progress, end) = step.unwrap();
            assert_eq!(found.unwrap(), (progress, end));
            assert_eq!(halved.buffer(), whole.buffer());
            if end.is_some() {
                assert!(progress.iteration > 1);
                break;
            }
        }
    }
}

/// A model's error with a cause of its own.
#[derive(Debug)]
struct Caused(TablesError);
impl core::fmt::Display for Caused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no update")
    }
}
impl core::error::Error for Caused {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn a_models_error_is_said_once_and_its_cause_after_it() {
    let error = FitError::Model(Caused(TablesError::TooLarge));
    assert_eq!(error.to_string(), "no update");
    let cause = core::error::Error::source(&error).unwrap();
    assert_eq!(cause.to_string(), TablesError::TooLarge.to_string());
    assert!(core::error::Error::source(&FitError::<Caused>::NoBatch { pass: 2 }).is_none());
}

#[test]
fn after_a_run_that_was_stopped_there_is_no_other() {
    for stopped in [false, true] {
        let mut restarts = Restarts::resume(5, 1, 2, None, stopped).unwrap();
        assert_eq!((restarts.started(), restarts.is_stopped()), (2, stopped));
        assert_eq!(restarts.next_restart().is_some(), !stopped);
    }
    let mut restarts = Restarts::new(5, 1).unwrap();
    for (end, best) in [(End::Converged, true), (End::Stopped, false)] {
        assert!(!restarts.is_stopped() && restarts.next_restart().is_some());
        assert_eq!(restarts.keep(&outcome(1.0, 1.0, end)), best);
    }
    assert!(restarts.is_stopped() && restarts.next_restart().is_none());
}

#[test]
fn restarts_go_on_where_they_were() {
    let outcome =
        |objective: f64| Outcome::new(&Progress::new(4, 1.0, objective, objective, None), End::Limit);
    let mut whole = Restarts::new(4, 9).unwrap();
    let mut parts = whole.clone();
    for objective in [3.0, 1.0, 2.0, 0.5] {
        parts = Restarts::resume(4, 9, parts.started(), parts.best(), parts.is_stopped()).unwrap();
        assert_eq!(parts.next_restart(), whole.next_restart());
        assert_eq!(parts.keep(&outcome(objective)), whole.keep(&outcome(objective)));
        assert_eq!(parts, whole);
    }
    assert_eq!((parts.next_restart(), parts.best().unwrap().restart.index), (None, 3));
    assert_eq!(Restarts::resume(0, 9, 0, None, false), Err(OptionError::Restarts));
    assert_eq!(Restarts::resume(4, 9, 2, None, true).unwrap().next_restart(), None);
}

#[test]
fn an_annealed_mixture_is_fitted_as_well() {
    let (mut model, mut sums) = mixture(5);
    let schedule = Annealing::geometric(0.1, 20).unwrap();
    let outcome =
        plan(1e-10, 500).fit_annealed(&mut model, &bags(), &mut sums, &schedule, no_observer).unwrap();
    assert_eq!((outcome.beta, outcome.end), (1.0, End::Converged));
    // Reported at β = 1: what the exact E-step says.
    assert_eq!(model.expectation(&bags(), &mut mixture(0).1).unwrap(), outcome.free_energy);
}

#[test]
fn the_best_restart_is_kept() {
    let fit = |model: &mut Mixture<_, _>, seed| {
        model.draw(seed);
        plan(1e-9, 3).fit(model, &bags(), &mut mixture(0).1, no_observer)
    };
    let (mut model, _) = mixture(0);
    let mut tried = Vec::new();
    let best = Restarts::new(12, 99)
        .unwrap()
        .run(&mut model, &mut [0.0; LEN], |model, restart| {
            assert_eq!(restart.seed, restart_seed(99, restart.index));
            let outcome = fit(model, restart.seed)?;
            tried.push((outcome.objective, model.buffer().to_vec()));
            Ok(outcome)
        })
        .unwrap();
    let lowest = tried.iter().map(|tried| tried.0).fold(f64::INFINITY, f64::min);
    let first = tried.iter().position(|tried| tried.0 == lowest).unwrap();
    assert!(tried.iter().any(|tried| tried.0 > lowest + 0.1), "the starts do not differ");
    assert_eq!((best.restart.index, best.outcome.objective), (first, lowest));
    assert_eq!(model.buffer(), tried[first].1);
}

/// What a run with this objective would report.
fn outcome(objective: f64, beta: f64, end: End) -> Outcome {
    let (mut script, mut none) = Script::new(&[objective; 9]);
    let schedule = Annealing::linear(beta, 1).unwrap();
    let observer = |_: &Script, progress: &Progress| {
        let stop = end == End::Stopped && progress.beta == beta;
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let outcome = plan(0.0, 3).fit_annealed(&mut script, &(), &mut none, &schedule, observer).unwrap();
    assert_eq!((outcome.end, outcome.objective), (end, objective));
    outcome
}

#[test]
fn a_run_that_fails_or_stops_loses_nothing() {
    let tables = || TableBuffer::<f64, _, _>::new([Table::new("x", 1, 1)], [0.0]).unwrap();
    let script = |outcomes: Vec<Result<Outcome, &'static str>>| {
        let mut model = tables();
        let best = Restarts::new(9, 0).unwrap().run(&mut model, &mut [0.0], |model, restart| {
            model.table_mut("x").unwrap()[0] = restart.index as f64 + 1.0;
            outcomes[restart.index].map_err(FitError::Model)
        });
        (best.map(|best| best.restart.index), model.buffer()[0])
    };
    let good = |objective| Ok(outcome(objective, 1.0, End::Converged));
    let fail = Err("failed");
    assert_eq!(script(vec![good(2.0), good(1.0), good(1.0), fail]), (Err(FitError::Model("failed")), 2.0));
    assert_eq!(script(vec![fail]), (Err(FitError::Model("failed")), 1.0));
    // A stopped run takes part, if it got to β = 1, and is the last.
    let stopped = |objective, beta| Ok(outcome(objective, beta, End::Stopped));
    assert_eq!(script(vec![good(2.0), stopped(1.0, 1.0)]), (Ok(1), 2.0));
    assert_eq!(script(vec![good(2.0), stopped(1.0, 0.5)]), (Ok(0), 1.0));
    assert_eq!(script(vec![stopped(1.0, 0.5)]), (Ok(0), 1.0));

    let run = |_: &mut _, _| Err(FitError::Model(""));
    let refused = Restarts::new(1, 0).unwrap().run(&mut tables(), &mut [], run).unwrap_err();
    assert_eq!(refused, FitError::Snapshot { expected: 1, found: 0 });
    assert_eq!(Restarts::new(0, 0), Err(OptionError::Restarts));
}

#[test]
fn seeds_are_portable() {
    // SplitMix64 seeded with 1234567: the reference implementation's first outputs.
    let seeds: Vec<_> = (1..=3).map(|index| restart_seed(1_234_567, index)).collect();
    assert_eq!(seeds, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    for tolerance in [-1.0, f64::NAN, f64::INFINITY] {
        let options = EmOptions { tolerance, iterations: 1 };
        assert_eq!(options.check(), Err(OptionError::Tolerance));
    }
    for start in [0.0, -1.0, 1.1, f64::NAN] {
        assert_eq!(Annealing::geometric(start, 3), Err(OptionError::Temperature));
        assert_eq!(Annealing::linear(start, 3), Err(OptionError::Temperature));
    }
    for schedule in [Annealing::geometric(1e-3, 7).unwrap(), Annealing::linear(1e-3, 7).unwrap()] {
        assert_eq!((schedule.beta(0), schedule.beta(7), schedule.beta(usize::MAX)), (1e-3, 1.0, 1.0));
        assert!((0..7).all(|n| schedule.beta(n) < schedule.beta(n + 1)));
    }
    assert_eq!(Annealing::linear(0.5, 0).unwrap().beta(0), 1.0);
}

#[test]
fn a_batch_of_another_shape_is_the_models_error() {
    let (mut model, mut sums) = mixture(0);
    let other = Dense::new(2, &[1_u8, 2]).unwrap();
    let error = plan(0.0, 1).fit(&mut model, &other, &mut sums, no_observer).unwrap_err();
    assert_eq!(error, FitError::Model(TablesError::Length { expected: LEN, found: 9 }));
    assert_eq!(error.to_string(), "the buffer has 9 elements, the tables need 18");
}
