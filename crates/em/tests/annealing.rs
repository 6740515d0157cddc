//! Components that annealing merges: told of, and moved apart by perturbation.

use crate::gaussian;

use countgrid_em::{
    Annealing, Distributions, EmOptions, EmPlan, End, Fit, Iterations, Learn, OptionError, Outcome, Restarts,
    Table, TableBuffer, Tables, coinciding, no_observer, perturb_tables,
};
use gaussian::{Gaussians, Point, three_clusters};
use proptest::prelude::*;

fn plan() -> EmPlan {
    EmOptions { tolerance: 1e-7, iterations: 500 }.check().unwrap()
}

fn annealed(points: &[Point], start: f64, perturbation: f64, seed: u64) -> (Outcome, Gaussians) {
    let mut model = Gaussians::draw(3, 5.0, seed);
    let mut statistics = model.statistics();
    let schedule = Annealing::geometric(start, 20).unwrap().with_perturbation(perturbation, seed).unwrap();
    let outcome = plan().fit_annealed(&mut model, points, &mut statistics, &schedule, no_observer).unwrap();
    (outcome, model)
}

#[test]
fn annealing_from_too_low_says_that_components_coincide_and_with_perturbation_parts_them() {
    let points = three_clusters(1500, 1);
    let (good, _) = annealed(&points, 0.5, 0.0, 0);
    assert_eq!((good.end, good.coinciding), (End::Converged, Some(0)));
    let mut reached = 0;
    for seed in 0..6 {
        let (merged, model) = annealed(&points, 0.1, 0.0, seed);
        assert_eq!(
            (merged.end, merged.coinciding),
            (End::Converged, Some(2)),
            "a third of the clusters' likelihood"
        );
        assert!(merged.objective > 1.4 * good.objective);
        assert_eq!(model.coinciding_components(), Some(2));

        let (parted, _) = annealed(&points, 0.1, 0.05, seed);
        assert_eq!((parted.end, parted.coinciding), (End::Converged, Some(0)), "seed {seed}");
        assert!(parted.objective < 0.85 * merged.objective);
        // Ten times the tolerance of the fits.
        reached += usize::from((parted.objective - good.objective).abs() < 1e-6 * good.objective);
    }
    assert!(reached >= 3, "{reached} of 6 starts"); // the others have two components in one cluster, as other starts from 0.5 do

    // With restarts, each with noise of its own.
    let mut model = Gaussians::draw(3, 5.0, 0);
    let (mut statistics, mut room) = (model.statistics(), vec![0.0; model.buffer().len()]);
    let schedule = Annealing::geometric(0.1, 20).unwrap();
    let best = Restarts::new(6, 3).unwrap().run(&mut model, &mut room, |model, restart| {
        *model = Gaussians::draw(3, 5.0, restart.seed);
        let schedule = schedule.with_perturbation(0.05, restart.seed).unwrap();
        plan().fit_annealed(model, &points[..], &mut statistics, &schedule, no_observer)
    });
    let best = best.unwrap().outcome;
    assert!((best.objective - good.objective).abs() < 1e-6 * good.objective && best.coinciding == Some(0));
}

#[test]
fn a_perturbed_fit_is_its_steps_also_when_it_is_written_down_after_each() {
    let points = three_clusters(60, 2);
    let (outcome, model) = annealed(&points, 0.1, 0.1, 4);
    let (mut stepped, schedule) = (Gaussians::draw(3, 5.0, 4), Annealing::geometric(0.1, 20).unwrap());
    let schedule = schedule.with_perturbation(0.1, 4).unwrap();
    let (mut statistics, mut iterations) = (stepped.statistics(), Iterations::new(plan()));
    loop {
        iterations = Iterations::resume(plan(), iterations.last());
        if iterations
            .step_annealed(&mut stepped, &points[..], &mut statistics, &schedule)
            .unwrap()
            .1
            .is_some()
        {
            break;
        }
    }
    assert_eq!((iterations.updates(), stepped), (outcome.iterations, model));
}

/// Where and with which seeds a fit perturbs.
#[derive(Default)]
struct Recorder(Vec<(f64, u64, f64)>, f64);
impl Fit<()> for Recorder {
    fn expectation(&self, (): &(), _: &mut Self::Statistics) -> Result<f64, &'static str> {
        Ok(-(self.0.len() as f64) - self.1)
    }
}
impl Learn for Recorder {
    type Statistics = TableBuffer<f64, [Table; 0], [f64; 0]>;
    type Error = &'static str;
    fn maximization(&mut self, _: &mut Self::Statistics) -> Result<(), &'static str> {
        self.1 += 1.0;
        Ok(())
    }
}
impl countgrid_em::Anneal for Recorder {
    fn set_inverse_temperature(&mut self, beta: f64) {
        self.0.push((beta, 0, 0.0));
    }
    fn perturb(&mut self, _: &mut Self::Statistics, size: f64, seed: u64) {
        let last = self.0.last_mut().unwrap();
        *last = (last.0, seed, size);
    }
}

#[test]
fn every_temperature_is_met_by_noise_of_its_own_and_none_by_default() {
    let mut none = TableBuffer::new([], []).unwrap();
    let schedule = Annealing::linear(0.25, 3).unwrap();
    let short = EmOptions { tolerance: 0.0, iterations: 2 }.check().unwrap();
    let mut run = |schedule: &Annealing| {
        let mut recorder = Recorder::default();
        let outcome = short.fit_annealed(&mut recorder, &(), &mut none, schedule, no_observer).unwrap();
        assert_eq!((outcome.end, outcome.coinciding), (End::Limit, None));
        recorder.0
    };
    let sizes =
        |seen: &[(f64, u64, f64)]| seen.iter().map(|&(beta, _, size)| (beta, size)).collect::<Vec<_>>();
    // The last call gives the model back its exact posterior.
    let betas = [0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0];
    assert_eq!(sizes(&run(&schedule)), betas.map(|beta| (beta, 0.0)));
    assert!(run(&schedule).iter().all(|&(_, seed, _)| seed == 0)); // it is not even asked
    let seen = run(&schedule.with_perturbation(0.5, 8).unwrap());
    let expected: Vec<_> =
        betas.iter().zip([0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0]).map(|(&b, s)| (b, s)).collect();
    assert_eq!(sizes(&seen), expected);
    let mut seeds: Vec<_> = seen[..4].iter().map(|seen| seen.1).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 4);
    assert_eq!(seen, run(&schedule.with_perturbation(0.5, 8).unwrap()));
    assert_ne!(seen, run(&schedule.with_perturbation(0.5, 9).unwrap()));
    let at_once = Annealing::linear(0.25, 0).unwrap().with_perturbation(0.5, 8).unwrap();
    assert!(sizes(&run(&at_once)).iter().all(|&seen| seen == (1.0, 0.0)));
    for size in [1.0, -0.1, f64::NAN, f64::INFINITY] {
        assert_eq!(schedule.with_perturbation(size, 0), Err(OptionError::Perturbation));
    }
}

proptest! {
    // A sum of n numbers, scaled, has at most 2 n + 3 roundings more.
    #[test]
    fn perturbed_distributions_stay_distributions(
        [rows, columns] in [1..5_usize, 1..5_usize],
        entries in prop::collection::vec(prop_oneof![Just(0.0), 0.01..5.0_f64], 75),
        size in 0.0..0.99_f64,
        seed: u64,
    ) {
        let n = rows * columns;
        let layout = ["rows", "columns", "none"].map(|name| Table::new(name, rows, columns));
        let mut tables = TableBuffer::new(layout, entries[..3 * n].to_vec()).unwrap();
        use Distributions::{Columns, None, Rows};
        perturb_tables(&mut tables, &[Rows, Columns, None], size, seed);
        let (before, after) = (&entries[..3 * n], tables.buffer());
        let close = |a: f64, b: f64| (a - b).abs() <= 2.0 * 13.0 * f64::EPSILON * b;
        let sum = |x: &[f64], places: &mut dyn Iterator<Item = usize>| places.map(|at| x[at]).sum::<f64>();
        for row in 0..rows {
            let places = || row * columns..(row + 1) * columns;
            prop_assert!(close(sum(after, &mut places()), sum(before, &mut places())));
        }
        for column in 0..columns {
            let places = || (n + column..2 * n).step_by(columns);
            prop_assert!(close(sum(after, &mut places()), sum(before, &mut places())));
        }
        // No entry moves by more than its own noise and that of its sum.
        let most = (1.0 + size) / (1.0 - size) * (1.0 + 1e-12);
        for (a, b) in after.iter().zip(before) {
            prop_assert!(*a == *b || (a / b <= most && b / a <= most), "{a} {b}");
        }
        let mut again = TableBuffer::new(layout, before.to_vec()).unwrap();
        perturb_tables(&mut again, &[Rows, Columns, None], size, seed);
        prop_assert_eq!(again.buffer(), after);
        perturb_tables(&mut again, &[], size, seed);
        prop_assert_eq!(again.buffer(), after);
    }

    // The definition: each entry by the noise of its place in the buffer, and what is normalised back to its sum. Sums of up to
    // 25 numbers, of which one may be moved to a tenth.
    #[test]
    fn every_entry_is_moved_by_its_own_noise(
        [rows, columns] in [1..5_usize, 1..5_usize],
        entries in prop::collection::vec(prop_oneof![Just(0.0), 0.01..5.0_f64], 75),
        size in 0.0..0.9_f64,
        seed: u64,
    ) {
        let n = rows * columns;
        let layout = ["rows", "columns", "none", "beyond"].map(|name| Table::new(name, rows, columns));
        let before = [&entries[..3 * n], &entries[..n]].concat();
        let mut tables = TableBuffer::new(layout, before.clone()).unwrap();
        use Distributions::{Columns, None, Rows};
        perturb_tables(&mut tables, &[Rows, Columns, None], size, seed);
        let mut expected: Vec<f64> =
            before.iter().enumerate().map(|(at, x)| x * (1.0 + size * countgrid_em::noise(seed, at))).collect();
        let groups = (0..rows).map(|row| (row * columns..(row + 1) * columns).collect::<Vec<_>>());
        let groups = groups.chain((0..columns).map(|column| (n + column..2 * n).step_by(columns).collect()));
        for group in groups {
            let sum = |x: &[f64]| group.iter().map(|&at| x[at]).sum::<f64>();
            let factor = if sum(&expected) > 0.0 { sum(&before) / sum(&expected) } else { 1.0 };
            group.iter().for_each(|&at| expected[at] *= factor);
        }
        expected[3 * n..].copy_from_slice(&before[3 * n..]); // nothing is said of this one
        for (found, expected) in tables.buffer().iter().zip(expected) {
            prop_assert!((found - expected).abs() <= 1e-14 * expected, "{found} {expected}");
        }
    }

    // Uniform in [-1, 1): a mean within eight standard errors of 0, and both ends approached.
    #[test]
    fn noise_is_uniform(seed: u64) {
        let noise: Vec<f64> = (0..2000).map(|index| countgrid_em::noise(seed, index)).collect();
        prop_assert!(noise.iter().all(|x| (-1.0..1.0).contains(x)));
        prop_assert!((noise.iter().sum::<f64>() / 2000.0).abs() < 8.0 / (3.0 * 2000.0_f64).sqrt());
        prop_assert!(noise.iter().any(|&x| x < -0.97) && noise.iter().any(|&x| x > 0.97)); // all miss one with 1e-13
    }

    // The definition: one that is within the tolerance of any before it counts once.
    #[test]
    fn copies_are_counted(kinds in prop::collection::vec(0..4_usize, 0..9), scale in 1e-200..1e200_f64, seed: u64) {
        let kind = |kind: usize| [[1.0, 0.0, 3.0], [1.0, 0.01, 3.0], [0.0; 3], [3.0, 1.0, 0.0]][kind];
        let near = |k: usize| kind(kinds[k]).map(move |x| scale * x * (1.0 + 1e-6 * countgrid_em::noise(seed, k)));
        let far = |k: usize| [scale, scale * (1.0 + 0.001 * k as f64)];
        let mut distinct = kinds.clone();
        distinct.sort_unstable();
        distinct.dedup();
        prop_assert_eq!(coinciding(kinds.len(), near), kinds.len() - distinct.len());
        prop_assert_eq!(coinciding(kinds.len(), far), 0);
    }
}

#[test]
fn no_number_coincides_with_nothing() {
    assert_eq!(coinciding(3, |_| [f64::NAN, 1.0]), 0);
    assert_eq!(coinciding(3, |_| [f64::INFINITY, 1.0]), 2); // equal, whatever they are
    assert_eq!(coinciding(2, |k| [1.0, if k == 0 { f64::INFINITY } else { 1.0 }]), 0);
    assert_eq!(coinciding(3, |_| [0.0_f32; 2]), 2);
    assert_eq!(coinciding(2, |k| [1.0_f32 + 0.01 * k as f32]), 1); // single precision sees less
    assert_eq!(coinciding(2, |k| [1.0_f64 + 0.01 * k as f64]), 0);
    assert_eq!(coinciding::<f64, [f64; 0]>(0, |_| []), 0);
}
