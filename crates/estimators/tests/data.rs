//! Bags and options that several files of tests are of.

use countgrid_corpus::{BlockLimits, Blocks, BlocksBuilder};
use countgrid_estimators::{GridOptions, GridSchedule, GridStart, Stored};

/// Features of [`three_topics`].
pub(crate) const FEATURES: usize = 6;

/// Bags with the entries of these numbers.
pub(crate) fn blocks<T: Stored, I: IntoIterator<Item = (usize, T)>>(
    features: usize,
    limits: BlockLimits,
    numbers: impl IntoIterator<Item = usize>,
    entries: impl Fn(usize) -> I,
) -> Blocks<T> {
    let mut builder = BlocksBuilder::new(features, limits).unwrap();
    numbers.into_iter().for_each(|number| builder.push(entries(number)).unwrap());
    builder.finish().unwrap()
}

/// So many bags of four topics over twenty features, every sixth of them empty, in blocks of so many.
pub(crate) fn four_topics<T: Stored>(count: usize, of_block: usize) -> Blocks<T> {
    let limits = BlockLimits { bags: of_block, ..BlockLimits::in_memory() };
    blocks(20, limits, 0..count, |t| {
        (0..t * 7 % 6).map(move |n| ((t % 4 * 5 + n * (t + 1)) % 20, T::from_f64((1 + (t + n) % 4) as f64)))
    })
}

/// Entries of a bag of one of three topics, up to three of them, of counts that are so much more than integers.
pub(crate) fn three_topics<T: Stored>(number: usize, more: f64) -> impl Iterator<Item = (usize, T)> {
    let count = move |n| T::from_f64((1 + (number + n) % 5) as f64 + more);
    (0..number * 7 % 4).map(move |n| ((number % 3 * 2 + n * (number % 7 + 1)) % FEATURES, count(n)))
}

/// Two stages, of 8 x 6 cells with ten updates and of 16 x 12 with three.
pub(crate) fn small_grid() -> GridOptions {
    GridOptions {
        extents: Some(vec![16, 12]),
        window: Some(vec![3, 3]),
        iterations: 3,
        tolerance: 0.0,
        seed: 7,
        memory: Some(1 << 30),
        start: Some(GridStart::Plain),
        ..GridOptions::default()
    }
}

/// Fits of [`small_grid`] that go through every phase.
pub(crate) fn phases() -> [GridOptions; 5] {
    let small = || GridOptions { iterations: 6, ..small_grid() };
    let from = |start| GridOptions { start: Some(start), ..small_grid() };
    [
        small(),
        from(GridStart::Annealed { beta: 0.2, iterations: 4 }),
        from(GridStart::MiniBatches { size: 25, passes: 2 }),
        GridOptions { restarts: 3, iterations: 2, learn_prior: true, ..small() },
        GridOptions { schedule: GridSchedule::Single, inner_passes: 2, ..small() },
    ]
}
