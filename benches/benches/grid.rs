//! The counting grid: E-step, M-step, whole iteration, on one thread. Unit of work: a pair of a nonzero count and
//! a cell, whatever part of the pairs a step has to visit; the full product takes two operations for each.
//!
//! `early` is the first iteration from a random start, where every bag is spread over the whole grid; `late`
//! follows 20 iterations, where a bag has settled on a few places. Most of a fit is late.

use std::hint::black_box;

use countgrid_benches::Corpus;
use countgrid_counts::CsrBuf;
use countgrid_em::{Fit, Learn};
use countgrid_grid::{Grid, Learner, Options, Shape, Statistics};
use countgrid_math::{AlignedVec, Real};
use countgrid_torus::{Torus, Windows};
use criterion::{
    BatchSize, BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Bags that share one reading of the packed table.
const CHUNK: usize = 256;
const LATE: usize = 20;

type Learning<T, const D: usize> = Learner<T, AlignedVec<T>, D>;
type Sums<T, const D: usize> = Statistics<T, AlignedVec<T>, D>;

fn start<T: Real, const D: usize>(shape: Shape<D>) -> (Learning<T, D>, Sums<T, D>) {
    let mut grid = Grid::uniform(shape).expect("memory");
    grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
    let options = Options { pseudocount: 0.01, ..Options::default() };
    (
        Learner::from_grid(grid, options).expect("the options are valid"),
        Statistics::allocate(shape, CHUNK).expect("memory"),
    )
}

fn iterate<T: Real, const D: usize>(learner: &mut Learning<T, D>, sums: &mut Sums<T, D>, bags: &CsrBuf<u32>) {
    sums.clear();
    learner.expectation(bags, sums).expect("the shapes agree");
    maximize(learner, sums);
}

fn maximize<T: Real, const D: usize>(learner: &mut Learning<T, D>, sums: &mut Sums<T, D>) {
    learner.maximization(sums).expect("the shapes agree");
}

fn steps<T: Real, const D: usize>(criterion: &mut Criterion, name: &str, corpus: &Corpus<D>) {
    let bags = &corpus.draw(1);
    let shape = Shape::new(corpus.windows, corpus.features).expect("fits in memory");
    let (mut learner, mut sums) = start::<T, D>(shape);
    let mut group = criterion.benchmark_group(format!("grid/{name}"));
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.throughput(Throughput::Elements((bags.indices().len() * shape.cells()) as u64));
    for (phase, iterations) in [("early", 0), ("late", LATE)] {
        for _ in 0..iterations {
            iterate(&mut learner, &mut sums, bags);
        }
        group.bench_function(BenchmarkId::new("e_step", phase), |bencher| {
            sums.clear(); // once: adding to sums costs the same whatever they hold
            bencher.iter(|| black_box(learner.expectation(bags, &mut sums)));
        });
        sums.clear();
        learner.expectation(bags, &mut sums).expect("the shapes agree");
        let copy = || learner.clone();
        group.bench_function(BenchmarkId::new("m_step", phase), |bencher| {
            let step = |learner: &mut Learning<T, D>| maximize(learner, &mut sums);
            bencher.iter_batched_ref(copy, step, BatchSize::PerIteration);
        });
        group.bench_function(BenchmarkId::new("iteration", phase), |bencher| {
            let step = |learner: &mut Learning<T, D>| iterate(learner, &mut sums, bags);
            bencher.iter_batched_ref(copy, step, BatchSize::PerIteration);
        });
    }
}

fn grid(criterion: &mut Criterion) {
    let standard = Corpus::standard();
    let small = Corpus { bags: 1_000, features: 500, ..standard };
    let cube = Torus::new([12; 3]).and_then(|torus| Windows::new(torus, [3; 3])).expect("windows fit");
    let cube = Corpus::<3> {
        bags: 1_000,
        features: 500,
        windows: cube,
        features_per_cell: standard.features_per_cell,
        tokens: standard.tokens,
        background: standard.background,
    };
    steps::<f32, 2>(criterion, "T=1k Z=500 40x40 f32", &small);
    steps::<f64, 2>(criterion, "T=1k Z=500 40x40 f64", &small);
    steps::<f32, 3>(criterion, "T=1k Z=500 12x12x12 f32", &cube);
    steps::<f32, 2>(criterion, "T=10k Z=5k 40x40 f32", &standard);
}

criterion_group!(benches, grid);
criterion_main!(benches);
