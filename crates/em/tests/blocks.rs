//! Statistics of blocks have one sum, wherever each block was computed.

use crate::models;

use core::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use countgrid_counts::{Bags, Dense};
use countgrid_em::{
    BlockError, BlockStatistics, ByBlocks, EmOptions, Fit, FitError, Iterations, Learn, PartialSum,
    Reduction, ReductionError, Stop, Table, TableBuffer, Tables, TablesMut, TablesMutExt,
    expectation_by_blocks, merge_parts, no_observer,
};
#[cfg(feature = "rayon")]
use countgrid_em::{ParallelByBlocks, ParallelStatistics};
use models::{Mixture, MixtureSums};
use proptest::prelude::*;

type Sums = TableBuffer<f64, [Table; 1], [f64; 2]>;

fn sums(x: [f64; 2]) -> Sums {
    TableBuffer::new([Table::new("sums", 1, 2)], x).unwrap()
}

/// Numbers whose sums depend on their order: of very different sizes.
fn leaf(block: usize) -> ([f64; 2], f64) {
    let x = ((block * 2_654_435_761) % 1009) as f64 / 7.0;
    let sign = if block.is_multiple_of(3) { -1.0 } else { 1.0 };
    ([sign * x * 1e12_f64.powi((block % 3) as i32), x], x / 3.0)
}

fn bits(total: &PartialSum<Sums>) -> [u64; 3] {
    let [a, b] = *total.statistics().buffer() else { unreachable!() };
    [a, b, total.free_energy()].map(f64::to_bits)
}

/// The definition: children are the blocks before and after the largest power of two below their number.
fn tree(first: usize, blocks: usize) -> ([f64; 2], f64) {
    if blocks == 1 {
        return leaf(first);
    }
    let middle = blocks.next_power_of_two() / 2;
    let ((a, f), (b, g)) = (tree(first, middle), tree(first + middle, blocks - middle));
    ([a[0] + b[0], a[1] + b[1]], f + g)
}

fn in_order(blocks: usize) -> Option<PartialSum<Sums>> {
    let mut reduction = Reduction::new();
    for block in 0..blocks {
        let (x, free_energy) = leaf(block);
        reduction.push(sums(x), free_energy).unwrap();
    }
    reduction.finish().unwrap()
}

proptest! {
    #[test]
    fn the_order_is_that_of_the_tree(blocks in 1..400_usize) {
        let (x, free_energy) = tree(0, blocks);
        let found = in_order(blocks).unwrap();
        prop_assert_eq!(bits(&found), [x[0], x[1], free_energy].map(f64::to_bits));
        prop_assert_eq!((found.first_block(), found.blocks()), (0, blocks));
    }

    // Workers take runs of blocks wherever these are cut; each gives what nodes of the tree its run has, and they
    // arrive in any order.
    #[test]
    fn whoever_computes_what(
        blocks in 1..200_usize,
        cuts in prop::collection::vec(0..200_usize, 0..8),
        order in prop::collection::vec(any::<u64>(), 200),
    ) {
        let mut cuts: Vec<_> = cuts.into_iter().filter(|&cut| cut < blocks).chain([0, blocks]).collect();
        cuts.sort_unstable();
        let mut parts = Vec::new();
        for run in cuts.windows(2) {
            let mut worker = Reduction::from_block(run[0]);
            for block in run[0]..run[1] {
                let (x, free_energy) = leaf(block);
                worker.push(sums(x), free_energy).unwrap();
            }
            // Over the wire and back.
            for part in worker.into_parts() {
                let (first, len, f) = (part.first_block(), part.blocks(), part.free_energy());
                parts.push(PartialSum::new(first, len, part.into_statistics(), f).unwrap());
            }
        }
        parts.sort_by_key(|part| order[part.first_block()]);
        let found = merge_parts(parts).unwrap().unwrap();
        prop_assert_eq!(bits(&found), bits(&in_order(blocks).unwrap()));
    }

    #[test]
    fn parts_that_are_no_siblings_are_refused(first in 0..64_usize, left in 1..32_usize, right in 1..32_usize, gap in 0..3_usize) {
        let part = |first, blocks| PartialSum::new(first, blocks, sums([1.0, 2.0]), 1.0);
        let node = |first: usize, blocks: usize| first.is_multiple_of(blocks.next_power_of_two());
        prop_assert_eq!(part(first, left).is_ok(), node(first, left));
        if let (Ok(mut a), Ok(b)) = (part(first, left), part(first + left + gap, right)) {
            let siblings = gap == 0 && left.is_power_of_two() && right <= left && node(first, left + right);
            let before = bits(&a);
            match a.merge(&b) {
                Ok(()) => prop_assert!(siblings),
                Err(error) => {
                    prop_assert!(!siblings, "{}", error);
                    prop_assert_eq!(bits(&a), before);
                }
            }
        }
    }
}

#[test]
fn the_tree_is_not_the_sum_in_order() {
    let total = (0..100).map(leaf).fold([0.0; 2], |sum, (x, _)| [sum[0] + x[0], sum[1] + x[1]]);
    assert_ne!(in_order(100).unwrap().statistics().buffer(), total);
}

#[test]
fn a_reduction_knows_what_comes_next_and_gives_back_what_it_no_longer_needs() {
    let mut reduction = Reduction::from_block(4);
    assert_eq!(reduction.next_block(), 4);
    assert!(reduction.take_spare().is_none());
    reduction.push(sums([1.0, 2.0]), 0.5).unwrap();
    assert_eq!(reduction.next_block(), 5);
    assert!(reduction.take_spare().is_none()); // there is a sum of it alone
    reduction.push(sums([3.0, 4.0]), 0.5).unwrap();
    assert_eq!(reduction.next_block(), 6);
    assert!(reduction.take_spare().is_some()); // two blocks, one sum
    assert!(reduction.take_spare().is_none());
    let parts = reduction.into_parts();
    assert_eq!((parts.len(), parts[0].statistics().buffer()), (1, &[4.0, 6.0][..]));
}

#[test]
fn blocks_that_are_missing_or_there_twice_are_refused() {
    let part = |first| PartialSum::of_block(first, sums([0.0; 2]), 0.0);
    let refused = |parts| merge_parts::<Sums>(parts).unwrap_err();
    assert_eq!(refused(vec![part(1)]), ReductionError::Order { expected: 0, found: 1 });
    assert_eq!(refused(vec![part(0), part(2)]), ReductionError::Order { expected: 1, found: 2 });
    assert_eq!(refused(vec![part(0), part(1), part(1)]), ReductionError::Order { expected: 2, found: 1 });
    let end = PartialSum::new(0, 3, sums([0.0; 2]), 0.0).unwrap();
    assert!(matches!(refused(vec![end, part(3)]), ReductionError::NotSiblings { left_blocks: 3, .. }));
    assert!(merge_parts::<Sums>(vec![]).unwrap().is_none());
    assert!(PartialSum::new(0, 0, sums([0.0; 2]), 0.0).is_err());
    assert!(PartialSum::new(0, usize::MAX, sums([0.0; 2]), 0.0).is_err());
    let told = |parts, expected: &str| assert_eq!(refused(parts).to_string(), expected);
    told(vec![part(0), part(2)], "block 2 where block 1 is the next");
    let node = PartialSum::new(1, 2, sums([0.0; 2]), 0.0).map(|_| ()).unwrap_err();
    assert_eq!(node.to_string(), "2 blocks from block 1 on are no subtree of the tree of blocks");
    let end = PartialSum::new(0, 3, sums([0.0; 2]), 0.0).unwrap();
    told(
        vec![end, part(3)],
        "3 blocks from block 0 on and 1 from block 3 on are not the two children of one node of the tree of blocks",
    );
    let mut other = Reduction::from_block(2);
    (2..5).for_each(|_| other.push(sums([0.0; 2]), 0.0).unwrap());
    assert!(matches!(other.finish(), Err(ReductionError::NotSiblings { left_first: 2, .. })));
}

const FEATURES: usize = 5;
const COMPONENTS: usize = 3;
const LEN: usize = COMPONENTS * (1 + FEATURES);
type MixtureStatistics = MixtureSums<f64, Vec<f64>>;

fn mixture() -> Mixture<f64, Vec<f64>> {
    let mut model = Mixture::new(COMPONENTS, FEATURES, vec![0.0; LEN]).unwrap();
    model.draw(5);
    model
}

fn empty() -> MixtureStatistics {
    MixtureSums::new(COMPONENTS, FEATURES, vec![0.0; LEN], vec![0.0; COMPONENTS]).unwrap()
}

fn counts(bags: usize) -> Vec<u8> {
    (0..bags * FEATURES).map(|i| (i * i % 11) as u8).collect()
}

fn blocks(counts: &[u8], bags: usize) -> Vec<Dense<'_, u8>> {
    counts.chunks(bags * FEATURES).map(|block| Dense::new(FEATURES, block).unwrap()).collect()
}

fn same(free_energy: f64, statistics: &impl Tables<Scalar = f64>) -> Vec<u64> {
    statistics.buffer().iter().chain([&free_energy]).map(|x| x.to_bits()).collect()
}

#[test]
fn one_block_is_a_plain_e_step() {
    let (model, counts) = (mixture(), counts(40));
    let bags = blocks(&counts, 40);
    let mut plain = empty();
    let free_energy = model.expectation(&bags[0], &mut plain).unwrap();
    let mut none = BlockStatistics::new(empty());
    let batches = bags.iter().map(|&bags| Ok::<_, Infallible>((0, bags)));
    let found = expectation_by_blocks(&model, batches, &mut none).unwrap();
    assert_eq!(same(found, &none), same(free_energy, &plain));
    assert_eq!(none.spare(), 0);
}

#[test]
fn blocks_are_added_up_in_the_tree_and_statistics_used_again() {
    let (model, counts) = (mixture(), counts(90));
    for bags in [1, 7, 13, 30, 89] {
        let blocks = blocks(&counts, bags);
        let mut reduction = Reduction::new();
        for block in &blocks {
            let mut statistics = empty();
            let free_energy = model.expectation(block, &mut statistics).unwrap();
            reduction.push(statistics, free_energy).unwrap();
        }
        let expected = reduction.finish().unwrap().unwrap();
        let expected = same(expected.free_energy(), expected.statistics());

        let mut statistics = BlockStatistics::new(empty());
        let wrapped = ByBlocks::new(mixture());
        for _ in 0..3 {
            statistics.clear();
            let free_energy = wrapped.expectation(&blocks[..], &mut statistics).unwrap();
            assert_eq!(same(free_energy, &statistics), expected, "blocks of {bags} bags");
        }
        // As many as a number below that of the blocks has binary digits that are 1, and no more for the third E-step.
        assert_eq!(statistics.spare(), blocks.len().ilog2() as usize, "{} blocks", blocks.len());

        #[cfg(feature = "rayon")]
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (mut statistics, mut spare) = (empty(), Vec::new());
                let expectation = countgrid_em::expectation_of_blocks_in_parallel;
                let free_energy = expectation(&model, &blocks, &mut statistics, &mut spare, || Ok(empty()));
                let found = same(free_energy.unwrap(), &statistics);
                assert_eq!(found, expected, "{threads} threads, {bags} bags");
            });
        }
    }
}

#[test]
fn a_block_may_come_in_batches() {
    let (model, counts) = (mixture(), counts(24));
    let (small, large) = (blocks(&counts, 4), blocks(&counts, 8));
    let tables = |blocks: &[Dense<'_, u8>], of: usize| {
        let mut statistics = BlockStatistics::new(empty());
        let batches = blocks.iter().enumerate().map(|(t, bags)| Ok::<_, Infallible>((t / of, *bags)));
        expectation_by_blocks(&model, batches, &mut statistics).unwrap();
        statistics.buffer().to_vec()
    };
    assert_eq!(tables(&small, 2), tables(&large, 1));
    assert_ne!(tables(&small, 2), tables(&small, 1)); // another tree
}

#[test]
fn fits_and_errors() {
    let counts = counts(50);
    let bags = blocks(&counts, 16);
    let mut statistics = BlockStatistics::new(empty());
    let mut wrapped = ByBlocks::new(mixture());
    let plan = EmOptions { iterations: 5, tolerance: 0.0 }.check().unwrap();
    let outcome = plan.fit(&mut wrapped, &bags[..], &mut statistics, no_observer).unwrap();
    let (mut plain, mut whole) = (mixture(), empty());
    let all = Dense::new(FEATURES, &counts).unwrap();
    let expected = plan.fit(&mut plain, &all, &mut whole, no_observer).unwrap();
    // Fifty terms in another order, through five updates of well-conditioned sums.
    assert!((outcome.objective - expected.objective).abs() <= 1e-11 * expected.objective.abs());

    let model = mixture();
    let mut order = |blocks: [usize; 2]| {
        statistics.buffer_mut().fill(0.0);
        let batches = blocks.map(|block| Ok::<_, &str>((block, bags[0])));
        expectation_by_blocks(&model, batches, &mut statistics)
    };
    let error = |expected, found| Err(BlockError::Reduction(ReductionError::Order { expected, found }));
    assert_eq!(order([0, 2]), error(0, 2));
    assert_eq!(order([1, 2]), error(0, 1));
    assert!(order([0, 1]).is_ok());
    let failing = [Ok((0, bags[0])), Err("a torn file")];
    let found = expectation_by_blocks(&model, failing, &mut statistics);
    assert_eq!(found, Err(BlockError::Read("a torn file")));
    let wrong = Dense::new(FEATURES + 1, &[1_u8; FEATURES + 1]).unwrap();
    assert_eq!(wrong.len(), 1);
    let found = expectation_by_blocks(&model, [Ok::<_, &str>((0, bags[0])), Ok((1, wrong))], &mut statistics);
    assert!(matches!(found, Err(BlockError::Expectation { block: 1, .. })));
    let nothing: [Result<(usize, Dense<'_, u8>), &str>; 0] = [];
    assert_eq!(expectation_by_blocks(&model, nothing, &mut statistics), Ok(0.0));
}

/// A mixture whose E-step requests a stop in its batch number `last`, from 0, and counts its batches.
struct Stopping {
    mixture: Mixture<f64, Vec<f64>>,
    stop: Stop,
    last: usize,
    batches: AtomicUsize,
}

impl Fit<Dense<'_, u8>> for Stopping {
    fn expectation(
        &self,
        bags: &Dense<'_, u8>,
        statistics: &mut MixtureStatistics,
    ) -> Result<f64, Self::Error> {
        if self.batches.fetch_add(1, SeqCst) == self.last {
            self.stop.request();
        }
        self.mixture.expectation(bags, statistics)
    }
}
impl Learn for Stopping {
    type Statistics = MixtureStatistics;
    type Error = <Mixture<f64, Vec<f64>> as Learn>::Error;
    fn maximization(&mut self, statistics: &mut MixtureStatistics) -> Result<(), Self::Error> {
        self.mixture.maximization(statistics)
    }
}

fn stopping(last: usize) -> Stopping {
    Stopping { mixture: mixture(), stop: Stop::new(), last, batches: AtomicUsize::new(0) }
}

#[test]
fn no_block_is_begun_after_a_stop() {
    let counts = counts(90);
    let blocks = blocks(&counts, 10);
    for last in 0..9 {
        let model = stopping(last);
        let mut statistics = BlockStatistics::new(empty());
        statistics.set_stop(&model.stop);
        let wrapped = ByBlocks::new(model);
        let found = wrapped.expectation(&blocks[..], &mut statistics);
        // After the last block there is nothing to be left out.
        match last {
            8 => assert!(found.is_ok()),
            _ => assert!(matches!(found, Err(BlockError::Stopped { block }) if block == last + 1)),
        }
        assert_eq!(wrapped.model().batches.load(SeqCst), last + 1);
    }
}

#[cfg(feature = "rayon")]
#[test]
fn there_is_a_part_of_the_work_for_every_thread() {
    use countgrid_em::parallel::{part_count, threads};
    for number in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(number).build().unwrap();
        let (threads, parts) = pool.install(|| (threads(), part_count()));
        assert_eq!(threads, number);
        assert!(parts >= number && (number > 1 || parts == 1), "{parts} parts for {number} threads");
    }
}

/// Work in the pool has its result, on a thread of the pool if there are several.
#[cfg(feature = "rayon")]
#[test]
fn work_enters_the_pool() {
    use countgrid_em::parallel::{in_pool, threads};
    let inside = || (rayon::current_thread_index().is_some(), 7);
    assert_eq!(in_pool(inside), (threads() > 1, 7));
    for number in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(number).build().unwrap();
        assert_eq!(pool.install(|| in_pool(inside)), (true, 7));
    }
}

/// Each thread finishes the block that it has begun.
#[cfg(feature = "rayon")]
#[test]
fn threads_begin_no_block_after_a_stop() {
    let counts = counts(640);
    let blocks = blocks(&counts, 10);
    for threads in [2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let model = stopping(5);
            let mut statistics = ParallelStatistics::new(empty());
            statistics.set_stop(&model.stop);
            let wrapped = ParallelByBlocks::new(model);
            let found = wrapped.expectation(&blocks[..], &mut statistics);
            assert!(matches!(found, Err(BlockError::Stopped { .. })), "{found:?}");
            let begun = wrapped.model().batches.load(SeqCst);
            assert!((6..6 + threads).contains(&begun), "{begun} blocks");
        });
    }
}

/// A mixture whose E-step waits for another one, for a while.
#[cfg(feature = "rayon")]
struct Meeting {
    mixture: Mixture<f64, Vec<f64>>,
    inside: std::sync::Mutex<(usize, usize)>, // now, and at most so far
    came: std::sync::Condvar,
}

#[cfg(feature = "rayon")]
impl Fit<Dense<'_, u8>> for Meeting {
    fn expectation(
        &self,
        bags: &Dense<'_, u8>,
        statistics: &mut MixtureStatistics,
    ) -> Result<f64, Self::Error> {
        let mut inside = self.inside.lock().unwrap();
        inside.0 += 1;
        inside.1 = inside.1.max(inside.0);
        self.came.notify_all();
        let wait = std::time::Duration::from_secs(5);
        let (mut inside, _) = self.came.wait_timeout_while(inside, wait, |(_, most)| *most < 2).unwrap();
        inside.0 -= 1;
        drop(inside);
        self.mixture.expectation(bags, statistics)
    }
}
#[cfg(feature = "rayon")]
impl Learn for Meeting {
    type Statistics = MixtureStatistics;
    type Error = <Mixture<f64, Vec<f64>> as Learn>::Error;
    fn maximization(&mut self, statistics: &mut MixtureStatistics) -> Result<(), Self::Error> {
        self.mixture.maximization(statistics)
    }
}

#[cfg(feature = "rayon")]
#[test]
fn two_threads_have_a_block_each() {
    let counts = counts(20);
    let blocks = blocks(&counts, 10);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (inside, came) = (std::sync::Mutex::new((0, 0)), std::sync::Condvar::new());
    let wrapped = ParallelByBlocks::new(Meeting { mixture: mixture(), inside, came });
    let mut statistics = ParallelStatistics::new(empty());
    pool.install(|| wrapped.expectation(&blocks[..], &mut statistics)).unwrap();
    assert_eq!(*wrapped.model().inside.lock().unwrap(), (0, 2));
}

#[test]
fn a_step_that_was_stopped_is_repeated_to_the_same_bits() {
    let counts = counts(90);
    let blocks = blocks(&counts, 10);
    let plan = EmOptions { iterations: 4, tolerance: 0.0 }.check().unwrap();
    let fit = |stop_at: usize, resumed: bool| {
        let mut model = ByBlocks::new(stopping(stop_at));
        let mut statistics = BlockStatistics::new(empty());
        statistics.set_stop(&model.model().stop);
        let (mut iterations, mut trace, mut stops) = (Iterations::new(plan), Vec::new(), 0);
        assert!(!iterations.is_updated() && !Iterations::resume(plan, None).is_updated());
        while iterations.last().is_none_or(|last| last.iteration < 4) {
            match iterations.step(&mut model, &blocks[..], &mut statistics) {
                Ok((progress, _)) => {
                    trace.push(progress.objective.to_bits());
                    assert!(!iterations.is_updated());
                    assert_eq!(iterations.updates(), progress.iteration);
                }
                Err(FitError::Model(BlockError::Stopped { .. })) => {
                    stops += 1;
                    assert!(iterations.is_updated());
                    assert_eq!(iterations.updates(), trace.len());
                    model.model_mut().stop = Stop::new();
                    statistics = BlockStatistics::new(empty()); // what they hold does not matter
                    if resumed {
                        iterations = Iterations::resume_updated(plan, iterations.last());
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(stops, usize::from(stop_at < 45));
        let buffer = model.model().mixture.buffer().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        (trace, buffer)
    };
    let whole = fit(usize::MAX, false);
    for stop_at in [0, 4, 9, 13, 31] {
        for resumed in [false, true] {
            assert!(fit(stop_at, resumed) == whole, "stopped in batch {stop_at}, resumed: {resumed}");
        }
    }
}
