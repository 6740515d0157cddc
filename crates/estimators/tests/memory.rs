//! What a fit takes of memory is what its plan says. A process of its own, because it is the peak of the process that is told.

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder, memory};
use countgrid_em::BLOCK_BAGS;
use countgrid_estimators::{
    BagTotals, ComponentialOptions, ComponentialTraining, GridOptions, GridSchedule, GridStart, GridTraining,
    Train,
};

/// Two leaves, so that the sums of one wait for those of the other.
const BAGS: usize = BLOCK_BAGS + 1;
/// Tables of 37 MB.
const FEATURES: usize = 4000;
/// The system gets memory back that is freed in pieces of 32 MiB and more (glibc's `M_MMAP_THRESHOLD` is never above); of what is smaller,
/// here the scratch of posteriors and of the M-step, so much may be kept.
const KEPT: u128 = 32 << 20;

fn bags() -> Blocks<f32> {
    let mut builder = BlocksBuilder::new(FEATURES, BlockLimits::in_memory()).unwrap();
    (0..BAGS).for_each(|bag| builder.push([(bag * 31 % FEATURES, 1.0)]).unwrap());
    builder.finish().unwrap()
}

fn options(restarts: usize) -> GridOptions {
    GridOptions {
        extents: Some(vec![48, 48]),
        window: Some(vec![3, 3]),
        schedule: GridSchedule::Single,
        start: Some(GridStart::Plain),
        iterations: 1,
        restarts,
        ..GridOptions::default()
    }
}

/// Peaks only grow, so what takes the most comes last.
#[test]
fn a_fit_takes_what_its_plan_says() {
    let bags = bags();
    let totals = BagTotals::from_blocks(&bags).unwrap();
    let Some(before) = memory::peak() else {
        println!("skipped: this system does not tell the peak memory of a process");
        return;
    };
    let grid = |restarts| {
        let plan = options(restarts).check::<f32>(totals).unwrap();
        let memory = plan.memory().saturating_add(plan.checkpoint_memory());
        let after = run(GridTraining::new(plan, &bags).unwrap());
        (memory, after)
    };
    let componential = || {
        let options =
            ComponentialOptions { grid: options(2), iterations: 1, ..ComponentialOptions::default() };
        let plan = options.check::<f32>(totals).unwrap();
        let memory = plan.memory().saturating_add(plan.checkpoint_memory());
        let after = run(ComponentialTraining::new(plan, &bags).unwrap());
        (memory, after)
    };
    for (name, (planned, after)) in
        [("grid", grid(1)), ("two restarts", grid(2)), ("componential", componential())]
    {
        let taken = after - before;
        println!("{name}: {planned} bytes planned, {taken} taken");
        assert!(taken <= planned + KEPT, "{name}: {taken} bytes taken, {planned} planned");
        assert!(taken + KEPT >= planned, "{name}: {taken} bytes taken, {planned} planned");
    }
}

/// The peak once the model is fitted, with a checkpoint after every step.
fn run(mut training: impl Train) -> u128 {
    while !training.is_done() {
        training.step().unwrap();
        assert!(training.checkpoint().is_ok());
    }
    let fitted = training.finish();
    assert!(fitted.is_ok(), "{:?}", fitted.err());
    memory::peak().unwrap()
}
