//! A model of slices, written for one batch: in mini-batches, in chunks, on threads.

use crate::gaussian;

use core::num::NonZeroUsize;

use countgrid_em::{
    Annealing, BLOCK_BAGS, BlockSource, BlockStatistics, ByBlocks, Chunks, EmOptions, EmPlan, Fit, Learn,
    ParallelByBlocks, ParallelStatistics, Reduction, Restarts, StepSize, StepwiseOptions, Tables, TablesMut,
    TablesMutExt, no_observer,
};
use gaussian::{Gaussians, Point, three_clusters};
use proptest::prelude::*;

fn plan(iterations: usize) -> EmPlan {
    EmOptions { tolerance: 0.0, iterations }.check().unwrap()
}

fn chunks(points: &[Point], len: usize) -> Chunks<'_, Point> {
    Chunks::with_len(points, NonZeroUsize::new(len).unwrap())
}

fn bits(tables: &impl Tables<Scalar = f64>) -> Vec<u64> {
    tables.buffer().iter().map(|x| x.to_bits()).collect()
}

/// Calls `check` in pools of one to three threads; without threads, once.
fn in_pools(check: impl Fn() + Send + Sync) {
    #[cfg(feature = "rayon")]
    for threads in [1, 2, 3] {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&check);
    }
    #[cfg(not(feature = "rayon"))]
    check();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn chunks_are_added_up_in_the_tree_with_any_number_of_threads(points in 0..200_usize, len in 1..70_usize, seed: u64) {
        let points = three_clusters(points, seed);
        let model = Gaussians::draw(3, 5.0, seed);
        let mut reduction = Reduction::new();
        for chunk in points.chunks(len) {
            let mut statistics = model.statistics();
            let free_energy = model.expectation(chunk, &mut statistics).unwrap();
            reduction.push(statistics, free_energy).unwrap();
        }
        let (mut expected, mut free_energy) = (bits(&model.statistics()), 0.0_f64);
        if let Some(total) = reduction.finish().unwrap() {
            (expected, free_energy) = (bits(total.statistics()), total.free_energy());
        }
        let data = chunks(&points, len);
        prop_assert_eq!(data.block_count(), points.chunks(len).count());
        prop_assert!((0..).map_while(|n| data.block(n)).eq(points.chunks(len)));

        let mut statistics = BlockStatistics::new(model.statistics());
        let found = ByBlocks::new(model.clone()).expectation(&data, &mut statistics).unwrap();
        assert_eq!((bits(&statistics), found.to_bits()), (expected.clone(), free_energy.to_bits()));
        in_pools(|| {
            let mut statistics = ParallelStatistics::new(model.statistics());
            let model = ParallelByBlocks::new(model.clone());
            for _ in 0..3 { // what threads left in their statistics is cleared
                statistics.clear();
                let found = model.expectation(&data, &mut statistics).unwrap();
                assert_eq!((bits(&statistics), found.to_bits()), (expected.clone(), free_energy.to_bits()));
            }
            // What was there before belongs to the first block, and to no other.
            let [mut in_turn, mut on_threads] = [model.model().statistics(), model.model().statistics()];
            in_turn.buffer_mut().fill(1.5);
            on_threads.buffer_mut().fill(1.5);
            let (mut in_turn, mut on_threads) = (BlockStatistics::new(in_turn), ParallelStatistics::new(on_threads));
            model.expectation(&data, &mut on_threads).unwrap();
            ByBlocks::new(model.into_model()).expectation(&data, &mut in_turn).unwrap();
            assert_eq!(bits(&on_threads), bits(&in_turn));
        });
    }

    // Another order of at most 200 additions of numbers up to 100.
    #[test]
    fn chunks_have_the_sums_of_the_whole(points in 1..200_usize, len in 1..70_usize, seed: u64) {
        let points = three_clusters(points, seed);
        let model = Gaussians::draw(3, 5.0, seed);
        let mut whole = model.statistics();
        let free_energy = model.expectation(&points[..], &mut whole).unwrap();
        let mut statistics = BlockStatistics::new(model.statistics());
        let found = ByBlocks::new(model).expectation(&chunks(&points, len), &mut statistics).unwrap();
        prop_assert!((found - free_energy).abs() <= 1e-12 * free_energy.abs());
        for (sum, expected) in statistics.buffer().iter().zip(whole.buffer()) {
            prop_assert!((sum - expected).abs() <= 200.0 * f64::EPSILON * 200.0 * 100.0);
        }
    }

    // Mini-batches that are slices and those that own their points are the same.
    #[test]
    fn mini_batches_may_be_slices(seed: u64, size in 1..40_usize) {
        let points = three_clusters(60, seed);
        let plan = StepwiseOptions { passes: 2, ..StepwiseOptions::default() }.check().unwrap();
        let share = |batch: &[Point]| batch.len() as f64 / 60.0;
        let (mut a, mut b) = (Gaussians::draw(2, 5.0, seed), Gaussians::draw(2, 5.0, seed));
        let (mut sums, mut other) = (a.statistics(), b.statistics());
        let slices = |_| points.chunks(size).map(|batch| (batch, share(batch)));
        let outcome = plan.fit(&mut a, slices, &mut sums, no_observer).unwrap();
        let owned = |_| points.chunks(size).map(|batch| (batch.to_vec(), share(batch)));
        prop_assert_eq!(plan.fit(&mut b, owned, &mut other, no_observer).unwrap(), outcome);
        prop_assert_eq!((bits(&a), bits(&sums)), (bits(&b), bits(&other)));
        prop_assert_eq!(outcome.coinciding, a.coinciding_components());
    }
}

#[test]
fn a_slice_is_in_the_blocks_of_every_collection() {
    let data = vec![0_u8; 2 * BLOCK_BAGS + 1];
    let lengths: Vec<_> = (0..4).map(|n| Chunks::new(&data).block(n).map(<[u8]>::len)).collect();
    assert_eq!(lengths, [Some(BLOCK_BAGS), Some(BLOCK_BAGS), Some(1), None]);
    assert_eq!(Chunks::new(&data).block(usize::MAX), None);
    assert_eq!(Chunks::new(&data[..0]).block_count(), 0);
}

#[test]
fn every_loop_has_the_same_bits_on_threads() {
    let points = three_clusters(90, 7);
    let schedule = Annealing::geometric(0.3, 5).unwrap().with_perturbation(0.05, 3).unwrap();
    let data = chunks(&points, 11);
    let start = || Gaussians::draw(3, 5.0, 7);

    let mut in_turn = ByBlocks::new(start());
    let mut statistics = BlockStatistics::new(start().statistics());
    let fitted = plan(6).fit(&mut in_turn, &data, &mut statistics, no_observer).unwrap();
    let annealed =
        plan(6).fit_annealed(&mut in_turn, &data, &mut statistics, &schedule, no_observer).unwrap();
    let end = bits(&in_turn);
    assert_eq!(fitted.coinciding, Some(0));
    let mut room = vec![0.0; in_turn.buffer().len()];
    let best = Restarts::new(3, 1).unwrap().run(&mut in_turn, &mut room, |model, restart| {
        *model.model_mut() = Gaussians::draw(3, 5.0, restart.seed);
        plan(6).fit(model, &data, &mut statistics, no_observer)
    });
    let (best, of_restarts) = (best.unwrap(), bits(&in_turn));
    assert!(best.outcome.coinciding.is_some());

    let stepwise = StepwiseOptions { step_size: StepSize::Constant(0.5), passes: 2, tolerance: 0.0 };
    let stepwise = stepwise.check().unwrap();
    let halves = |_| [(chunks(&points[..45], 11), 0.5), (chunks(&points[45..], 11), 0.5)];
    let stepped = stepwise.fit(&mut in_turn, halves, &mut statistics, no_observer).unwrap();
    let of_steps = bits(&in_turn);

    in_pools(|| {
        let mut model = ParallelByBlocks::new(start());
        let mut statistics = ParallelStatistics::new(start().statistics());
        assert_eq!(plan(6).fit(&mut model, &data, &mut statistics, no_observer), Ok(fitted));
        let found = plan(6).fit_annealed(&mut model, &data, &mut statistics, &schedule, no_observer);
        assert_eq!((found, bits(&model)), (Ok(annealed), end.clone()));
        let mut room = vec![0.0; model.buffer().len()];
        let found = Restarts::new(3, 1).unwrap().run(&mut model, &mut room, |model, restart| {
            *model.model_mut() = Gaussians::draw(3, 5.0, restart.seed);
            plan(6).fit(model, &data, &mut statistics, no_observer)
        });
        assert_eq!((found, bits(&model)), (Ok(best), of_restarts.clone()));
        let found = stepwise.fit(&mut model, halves, &mut statistics, no_observer);
        assert_eq!((found, bits(&model)), (Ok(stepped), of_steps.clone()));
    });
}

#[test]
fn scratch_is_not_added_up() {
    let points = three_clusters(6, 1);
    let model = Gaussians::draw(3, 5.0, 1);
    let (mut a, mut b) = (model.statistics(), model.statistics());
    model.expectation(&points[..], &mut b).unwrap();
    a.scratch = vec![f64::NAN, 7.0]; // another length, too
    a.merge(&b).unwrap();
    a.scale(2.0);
    assert!(a.scratch[0].is_nan() && a.scratch[1] == 7.0);
    assert!(a.buffer().iter().zip(b.buffer()).all(|(a, b)| *a == 2.0 * b));
    a.clear();
    assert_eq!((a.buffer().iter().sum::<f64>(), a.scratch[1]), (0.0, 7.0));
}
