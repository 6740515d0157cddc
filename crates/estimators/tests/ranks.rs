//! Trainings on ranks: the bytes of one machine with any number of ranks, and errors on all of them.

use std::ops::{ControlFlow, Range};

use countgrid_corpus::{BlockLimits, Blocks};
use countgrid_em::BLOCK_BAGS;
use countgrid_estimators::{
    BagTotals, ComponentialOptions, DistributedError, Estimator, EstimatorError, FitLeaves, GridOptions,
    GridPlan, GridStart, Stored, Train, Training,
    distributed::{Communicator, RankTraining, ThreadRank, rows_of_ranks},
};
use countgrid_io::ModelFile;
use countgrid_math::Real;

use crate::data::{FEATURES, blocks, small_grid, three_topics};

/// Five leaves: a tree that is neither full nor the sum in order.
const BAGS: usize = 4 * BLOCK_BAGS + 700;

fn bags<T: Stored>(rows: Range<usize>) -> Blocks<T> {
    blocks(FEATURES, BlockLimits::in_memory(), rows, |t| three_topics(t, 0.3))
}

fn grid() -> GridOptions {
    GridOptions { extents: Some(vec![4, 4]), window: Some(vec![2, 2]), iterations: 2, ..small_grid() }
}

/// Runs the same on ranks that are threads.
fn on_ranks<X: Send>(ranks: usize, run: impl Fn(ThreadRank) -> X + Sync) -> Vec<X> {
    std::thread::scope(|scope| {
        let run = &run;
        let threads = ThreadRank::group(ranks).into_iter().map(|rank| scope.spawn(move || run(rank)));
        threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn own_bags<T: Stored>(communicator: &impl Communicator, rows: usize) -> Blocks<T> {
    bags(rows_of_ranks(rows, communicator.ranks()).swap_remove(communicator.rank()))
}

/// The bytes of a model by a training on one machine and on so many ranks.
fn compare<T, E>(
    rows: usize,
    ranks: &[usize],
    plan: impl Fn(BagTotals) -> Result<E, EstimatorError> + Sync,
    bytes: impl Fn(E::Fitted) -> Vec<u8> + Sync,
) where
    T: Stored,
    E: Estimator<Data = Blocks<T>, Scalar = T>,
    E::Learner: FitLeaves<Blocks<T>>,
{
    let all = bags::<T>(0..rows);
    let mut whole = Training::new(plan(BagTotals::from_blocks(&all).unwrap()).unwrap(), &all).unwrap();
    whole.run(|_| ControlFlow::Continue(())).unwrap();
    let expected = bytes(whole.finish().unwrap());
    for &ranks in ranks {
        let models = on_ranks(ranks, |communicator| {
            let own = own_bags::<T>(&communicator, rows);
            let mut training = RankTraining::new(communicator, own, &plan, None).unwrap();
            assert!(training.run(|_, _| Ok(ControlFlow::Continue(()))).unwrap().is_continue());
            bytes(training.finish().unwrap())
        });
        assert_eq!(models.len(), ranks);
        assert!(models.iter().all(|model| *model == expected), "{ranks} ranks");
    }
}

fn compare_grids<T: Stored + Real>(rows: usize, ranks: &[usize], options: &GridOptions) {
    let plan = |totals| options.check::<T>(totals);
    compare(rows, ranks, plan, |grid| grid.to_file().to_bytes().unwrap());
}

#[test]
fn models_have_the_bytes_of_one_machine() {
    compare_grids::<f32>(BAGS, &[1, 2, 3, 4, 5], &grid());
}

#[test]
fn ranks_without_rows_take_part() {
    compare_grids::<f32>(BLOCK_BAGS + 100, &[3, 7], &grid());
    compare_grids::<f32>(100, &[2], &grid());
}

#[test]
fn every_stage_restart_and_temperature_is_that_of_one_machine() {
    let annealed = Some(GridStart::Annealed { beta: 0.2, iterations: 2 });
    compare_grids::<f64>(
        2 * BLOCK_BAGS + 100,
        &[3],
        &GridOptions { start: annealed, learn_prior: true, extents: Some(vec![8, 8]), ..grid() },
    );
    compare_grids::<f32>(2 * BLOCK_BAGS + 100, &[2], &GridOptions { restarts: 3, inner_passes: 2, ..grid() });
    let options = ComponentialOptions { grid: grid(), iterations: 2, ..ComponentialOptions::default() };
    compare(
        2 * BLOCK_BAGS + 100,
        &[2],
        |totals| options.check::<f32>(totals),
        |grid| grid.to_file().to_bytes().unwrap(),
    );
}

#[test]
fn totals_are_those_of_all_rows_to_the_bit() {
    let expected = BagTotals::from_blocks(&bags::<f64>(0..BAGS)).unwrap();
    assert_ne!(expected.tokens.fract(), 0.0);
    for totals in on_ranks(4, |communicator| {
        let (own, mut found) = (own_bags::<f64>(&communicator, BAGS), None);
        let plan = |totals| {
            found = Some(totals);
            grid().check::<f64>(totals)
        };
        drop(RankTraining::new(communicator, own, plan, None).unwrap());
        found.unwrap()
    }) {
        assert_eq!(totals, expected);
    }
}

#[test]
fn another_number_of_ranks_goes_on_from_a_checkpoint() {
    let options = GridOptions { iterations: 4, ..grid() };
    let fit = |communicator: ThreadRank, checkpoint: Option<ModelFile>, stop: Option<usize>| {
        let (rank, own) = (communicator.rank(), own_bags::<f32>(&communicator, BAGS));
        let mut training =
            RankTraining::new(communicator, own, |totals| options.check::<f32>(totals), checkpoint).unwrap();
        let mut steps = 0;
        let flow = training.run(|_, _| {
            steps += 1;
            Ok(if (rank, Some(steps)) == (1, stop) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        });
        match flow.unwrap() {
            ControlFlow::Break(()) => (steps, training.checkpoint().unwrap()),
            ControlFlow::Continue(()) => (steps, training.finish().unwrap().to_file()),
        }
    };
    let whole = on_ranks(1, |rank| fit(rank, None, None)).swap_remove(0);
    let kept = on_ranks(2, |rank| fit(rank, None, Some(2)));
    assert!(
        kept.iter().all(|(steps, file)| *steps == 2 && *file == kept[0].1),
        "all end after the same step"
    );
    let continued = on_ranks(3, |rank| {
        let of_rank_0 = (rank.rank() == 0).then(|| kept[0].1.clone());
        fit(rank, of_rank_0, None)
    });
    for (steps, model) in continued {
        assert_eq!((steps + 2, model), whole.clone());
    }
}

/// The error of every rank.
fn errors(
    ranks: usize,
    run: impl Fn(ThreadRank) -> Result<(), EstimatorError> + Sync,
) -> Vec<DistributedError> {
    let errors = on_ranks(ranks, run).into_iter().map(|result| match result {
        Err(EstimatorError::Distributed(error)) => error,
        other => panic!("{other:?}"),
    });
    errors.collect()
}

fn begin(
    communicator: ThreadRank,
    bags: Blocks<f32>,
) -> Result<RankTraining<GridPlan<f32>, Blocks<f32>, ThreadRank>, EstimatorError> {
    RankTraining::new(
        communicator,
        bags,
        |totals| grid().check::<f32>(BagTotals { tokens: 1e5, ..totals }),
        None,
    )
}

#[test]
fn documents_that_do_not_go_together_are_refused_on_every_rank() {
    let rows = [0..BLOCK_BAGS, BLOCK_BAGS..BLOCK_BAGS + 5, 0..0, BLOCK_BAGS + 5..BLOCK_BAGS + 8];
    let found = errors(4, |communicator| {
        let rows = rows[communicator.rank()].clone();
        begin(communicator, bags(rows)).map(|_| ())
    });
    assert_eq!(found, vec![DistributedError::WithinLeaf { rank: 1, documents: 5 }; 4]);
    let found = errors(3, |communicator| {
        let features = FEATURES + communicator.rank() / 2;
        begin(communicator, blocks(features, BlockLimits::in_memory(), 0..0, |t| three_topics(t, 0.3)))
            .map(|_| ())
    });
    assert_eq!(found, vec![DistributedError::Features { rank: 2, expected: 6, found: 7 }; 3]);
    let found = errors(2, |communicator| begin(communicator, bags(0..0)).map(|_| ()));
    assert_eq!(found, vec![DistributedError::Rank { rank: 0, reason: "there are no leaves".to_owned() }; 2]);
}

#[test]
fn what_one_rank_fails_with_is_an_error_of_all() {
    // In the plan.
    let found = errors(3, |communicator| {
        let (rank, own) = (communicator.rank(), own_bags::<f32>(&communicator, BAGS));
        let tokens = if rank == 1 { f64::NAN } else { 1e5 };
        let plan = |totals| grid().check::<f32>(BagTotals { tokens, ..totals });
        RankTraining::new(communicator, own, plan, None).map(|_| ())
    });
    let reason = EstimatorError::Tokens { tokens: f64::NAN }.to_string();
    assert_eq!(found, vec![DistributedError::Rank { rank: 1, reason }; 3]);

    // In the E-step: counts beyond the range of the type.
    let found = errors(3, |communicator| {
        let rank = communicator.rank();
        let rows = rows_of_ranks(2 * BLOCK_BAGS + 10, 3).swap_remove(rank);
        let bags = blocks(FEATURES, BlockLimits::in_memory(), rows, |t| {
            let count = if t == BLOCK_BAGS + 3 { f32::MAX } else { 1.0 };
            [(t % FEATURES, count), ((t + 1) % FEATURES, count)]
        });
        let mut training = begin(communicator, bags)?;
        training.step()?;
        panic!("a bag of infinite length");
    });
    let Some(DistributedError::Rank { rank: 1, reason }) = found.first() else { panic!("{found:?}") };
    assert!(reason.contains(&(BLOCK_BAGS + 3).to_string()), "{reason}");
    assert!(found.iter().all(|error| *error == found[0]));

    // In an observer, such as of a disk that is full.
    let found = errors(2, |communicator| {
        let (rank, own) = (communicator.rank(), own_bags::<f32>(&communicator, BAGS));
        let mut training = begin(communicator, own)?;
        let observer = |_: &_, _: &_| {
            if rank == 0 { Err(EstimatorError::Failed) } else { Ok(ControlFlow::Continue(())) }
        };
        training.run(observer).map(|_| ())
    });
    let reason = EstimatorError::Failed.to_string();
    assert_eq!(found, vec![DistributedError::Rank { rank: 0, reason }; 2]);
}

#[test]
fn a_rank_that_is_gone_is_an_error_of_those_that_wait() {
    let results = on_ranks(3, |communicator| {
        if communicator.rank() == 2 {
            return None;
        }
        let own = own_bags::<f32>(&communicator, BAGS);
        Some(begin(communicator, own).map(|_| ()).unwrap_err())
    });
    for error in results.into_iter().flatten() {
        assert!(
            matches!(error, EstimatorError::Distributed(DistributedError::Communication { .. })),
            "{error}"
        );
    }
}
