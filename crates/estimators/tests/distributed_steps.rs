//! Trainings in parts, step by step: the progress of one machine, sums of leaves in any order, and what connects ranks.

use countgrid_corpus::{BlockLimits, Blocks};
use countgrid_em::{EmOptions, Iterations, Tables};
use countgrid_estimators::{
    BagTotals, DistributedError, DistributedTraining, Estimator, EstimatorError, FitLeaves, GridOptions,
    GridPlan, GridStart, LdaOptions, LeafSums, Phase, Progress, Stored, Train, Training,
    distributed::{Communicator, RankTraining, ThreadRank},
    leaf_digests,
};
use countgrid_io::{ModelFile, NamedTable};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::data::{FEATURES, blocks, small_grid, three_topics};

/// One leaf, in blocks of so many bags.
fn bags<T: Stored>(of_block: usize) -> Blocks<T> {
    blocks(FEATURES, BlockLimits { bags: of_block, ..BlockLimits::in_memory() }, 0..50, |t| {
        three_topics(t, 0.3)
    })
}

/// Of two stages and two starts, the second stage of each annealed.
fn options() -> GridOptions {
    GridOptions {
        extents: Some(vec![12, 12]),
        window: Some(vec![2, 2]),
        iterations: 2,
        restarts: 2,
        start: Some(GridStart::Annealed { beta: 0.2, iterations: 3 }),
        ..small_grid()
    }
}

fn plan(bags: &Blocks<f32>) -> GridPlan<f32> {
    options().check(BagTotals::from_blocks(bags).unwrap()).unwrap()
}

/// Steps to the end in parts.
fn steps<T, E>(training: &mut DistributedTraining<E, Blocks<T>>, bags: &Blocks<T>) -> Vec<Progress>
where
    T: Stored,
    E: Estimator<Data = Blocks<T>, Scalar = T>,
    E::Learner: FitLeaves<Blocks<T>>,
{
    let mut steps = Vec::new();
    while !training.is_done() {
        let sums = training.partial_sums(bags, 0, "").unwrap();
        assert!(sums.nodes().eq([(0, 1)]));
        steps.push(training.step(&sums).unwrap());
        assert_eq!(training.last(), steps.last());
    }
    steps
}

/// Steps to the end on one machine.
fn whole<T, E>(training: &mut Training<E, &Blocks<T>>) -> Vec<Progress>
where
    T: Stored,
    E: Estimator<Data = Blocks<T>>,
{
    let mut steps = Vec::new();
    while !training.is_done() {
        steps.push(training.step().unwrap());
    }
    steps
}

#[test]
fn every_step_is_that_of_one_machine() {
    for of_block in [9, 1000] {
        let bags = bags::<f32>(of_block);
        let mut own = Training::new(plan(&bags), &bags).unwrap();
        let expected = whole(&mut own);
        assert!(
            [Phase::Plain, Phase::Annealed].iter().all(|phase| expected.iter().any(|at| at.phase == *phase))
        );
        let mut parts =
            DistributedTraining::new(plan(&bags), FEATURES, &leaf_digests(&bags).unwrap()).unwrap();
        assert!(parts.last().is_none());
        assert_eq!(steps(&mut parts, &bags), expected);
        assert!(parts.finish().unwrap().to_file() == own.finish().unwrap().to_file());
    }
}

#[test]
fn every_checkpoint_leads_to_the_same_steps() {
    let bags = bags::<f32>(1000);
    let digests = leaf_digests(&bags).unwrap();
    let mut cut = DistributedTraining::new(plan(&bags), FEATURES, &digests).unwrap();
    let expected = whole(&mut Training::new(plan(&bags), &bags).unwrap());
    for done in 0..=expected.len() {
        let checkpoint = cut.checkpoint().unwrap();
        let mut resumed = DistributedTraining::resume(plan(&bags), FEATURES, &digests, checkpoint).unwrap();
        assert_eq!(resumed.last(), cut.last());
        assert_eq!(steps(&mut resumed, &bags), expected[done..], "after {done} steps");
        if done < expected.len() {
            let sums = cut.partial_sums(&bags, 0, "").unwrap();
            cut.step(&sums).unwrap();
        }
    }
    assert!(cut.is_done());
}

/// Topics have no annealing: their plan leaves iterations and their first halves to the defaults.
#[test]
fn the_first_half_of_an_iteration_is_its_update() {
    let bags = bags::<f64>(1000);
    let options = LdaOptions { topics: 3, ..LdaOptions::default() };
    let plan = options.check::<f64>(BagTotals::from_blocks(&bags).unwrap()).unwrap();
    let begin = || plan.start(&bags, 0, None, &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
    let (mut whole, mut sums) = begin();
    let first = whole.learner.lda().buffer().to_vec();
    let mut iterations = Iterations::new(EmOptions::default().check().unwrap());
    for _ in 0..2 {
        plan.iterate(&mut iterations, None, &bags, &mut whole, &mut sums).unwrap();
    }
    let (mut half, mut sums) = begin();
    let mut iterations = Iterations::new(EmOptions::default().check().unwrap());
    plan.iterate(&mut iterations, None, &bags, &mut half, &mut sums).unwrap();
    assert!(half.learner.lda().buffer() == first);
    plan.update(&mut iterations, None, &mut half, &mut sums).unwrap();
    assert!(half.learner.lda().buffer() == whole.learner.lda().buffer());
    assert!(half.learner.lda().buffer() != first);
}

#[test]
fn a_training_in_parts_shows_itself() {
    let bags = bags::<f32>(1000);
    let training = DistributedTraining::new(plan(&bags), FEATURES, &leaf_digests(&bags).unwrap()).unwrap();
    let text = format!("{training:?}");
    assert!(text.starts_with("DistributedTraining { training: Training { last: None"), "{text}");
    assert!(text.ends_with("leaves: 1 }"), "{text}");
}

/// The sums of some leaves, all in one node of so many elements.
fn node(first: usize, leaves: usize, elements: &[f32]) -> LeafSums<f32> {
    let name = format!("leaves.{first}.{leaves}");
    let free_energy = format!("free_energy.{first}.{leaves}");
    let texts = [("kind", "sums of leaves"), ("state", "0000abcd"), (free_energy.as_str(), "2.5")];
    let metadata = texts.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
    let table = NamedTable { name, shape: vec![elements.len()], data: f32::into_data(elements.to_vec()) };
    LeafSums::from_file(ModelFile { tables: vec![table], metadata }).unwrap()
}

/// Sums whose elements say which leaves they have.
fn leaf(leaf: usize) -> LeafSums<f32> {
    node(leaf, 1, &[10_f32.powi(leaf as i32), 1.0])
}

#[test]
fn siblings_are_added_up_in_whatever_order_they_come() {
    let whole = node(0, 4, &[1111.0, 4.0]);
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [2, 0, 3, 1], [1, 3, 0, 2], [0, 3, 1, 2]] {
        let mut sums = leaf(order[0]);
        for (before, &next) in order.iter().enumerate().skip(1) {
            assert_eq!(sums.leaves(), before);
            sums.merge(leaf(next)).unwrap();
        }
        assert_eq!(sums.leaves(), 4);
        assert!(sums.nodes().eq([(0, 4)]), "{order:?}");
        let (found, expected) = (sums.to_file(), whole.to_file());
        assert!(found.tables == expected.tables, "{order:?}");
        assert_eq!(found.metadata["free_energy.0.4"], "10.0");
    }
    // Neighbours that are no siblings stay apart.
    let mut sums = leaf(2);
    sums.merge(leaf(1)).unwrap();
    sums.merge(node(4, 2, &[0.0, 0.0])).unwrap();
    assert!(sums.nodes().eq([(1, 1), (2, 1), (4, 2)]));
    assert_eq!(sums.leaves(), 4);
}

fn refused<X>(found: Result<X, EstimatorError>) -> DistributedError {
    match found {
        Err(EstimatorError::Distributed(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn sums_of_another_length_are_not_added() {
    // Of leaves that are no siblings, and of some that are.
    for other in [1, 2, 3] {
        let mut sums = leaf(0);
        let error = refused(sums.merge(node(other, 1, &[1.0, 2.0, 3.0])));
        assert_eq!(error, DistributedError::Length { expected: 2, found: 3 });
        assert_eq!(sums, leaf(0));
    }
}

#[test]
fn leaves_beyond_the_last_are_refused_and_the_training_stays() {
    let bags = bags::<f32>(1000);
    let mut training =
        DistributedTraining::new(plan(&bags), FEATURES, &leaf_digests(&bags).unwrap()).unwrap();
    for leaves in [2, 4] {
        let error = refused(training.step(&node(0, leaves, &[1.0])));
        assert_eq!(error, DistributedError::NoLeaf { leaf: leaves - 1, leaves: 1 });
    }
    let error = refused(training.step(&node(0, 1, &[1.0])));
    assert!(matches!(error, DistributedError::Length { found: 1, .. }), "{error}");
    assert!(training.last().is_none());
    assert_eq!(steps(&mut training, &bags), whole(&mut Training::new(plan(&bags), &bags).unwrap()));
}

/// What a rank hears from the one before, from rank 1 and from all.
fn heard(communicator: impl Communicator) -> (usize, usize, Vec<u8>, Vec<u8>, u64) {
    let (rank, ranks) = (communicator.rank(), communicator.ranks());
    if rank > 0 {
        communicator.send(rank - 1, format!("from {rank}").as_bytes()).unwrap();
    }
    let received = if rank + 1 < ranks { communicator.receive(rank + 1).unwrap() } else { Vec::new() };
    let mut shared = format!("of {rank}").into_bytes();
    communicator.broadcast(1, &mut shared).unwrap();
    let largest = communicator.maximum(7 + rank as u64).unwrap();
    (rank, ranks, received, shared, largest)
}

#[test]
fn a_reference_connects_the_ranks_as_well() {
    let threads = ThreadRank::group(4).into_iter();
    let threads = threads.map(|communicator| std::thread::spawn(move || heard(&communicator)));
    for (rank, thread) in threads.collect::<Vec<_>>().into_iter().enumerate() {
        let next = if rank < 3 { format!("from {}", rank + 1) } else { String::new() };
        assert_eq!(thread.join().unwrap(), (rank, 4, next.into_bytes(), b"of 1".to_vec(), 10));
    }
}

#[test]
fn a_rank_says_where_its_training_is() {
    let bags = bags::<f32>(1000);
    let communicator = ThreadRank::group(1).remove(0);
    let mut training =
        RankTraining::new(&communicator, self::bags(1000), |totals| options().check::<f32>(totals), None)
            .unwrap();
    assert!(training.last().is_none());
    let text = format!("{training:?}");
    let begin = "RankTraining { rank: 0, leaves: 0..1, training: DistributedTraining { training: Training {";
    assert!(text.starts_with(begin), "{text}");
    let expected = whole(&mut Training::new(plan(&bags), &bags).unwrap());
    for step in &expected {
        assert_eq!(&training.step().unwrap(), step);
        assert_eq!(training.last(), Some(step));
    }
    assert!(training.is_done());
}
