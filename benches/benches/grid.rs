//! The counting grid: E-step, M-step, whole iteration, on one thread. Unit of work: a pair of a nonzero count and
//! a cell, whatever part of the pairs a step has to visit; the full product takes two operations for each.
//!
//! `early` is the first iteration from a random start, where every bag is spread over the whole grid; `late`
//! follows 20 iterations, where a bag has settled on a few places. Most of a fit is late. `e_step_full` scores every
//! window, `e_step` leaves out what provably carries no posterior.

use std::hint::black_box;

use countgrid_benches::{Corpus, Learning, Sums, iterate, options, start};
use countgrid_counts::Bags;
use countgrid_em::{Fit, Learn, Tables};
use countgrid_grid::{Learner, LogHistograms, Shape};
use countgrid_math::Real;
use countgrid_torus::{Torus, Windows};
use criterion::{
    BatchSize, BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};

const LATE: usize = 20;
/// Features with which 128 bytes of each make a table for L1, for L2, for L3.
const FEATURES: [usize; 3] = [200, 5_000, 50_000];

fn steps<T: Real, const D: usize>(criterion: &mut Criterion, name: &str, corpus: &Corpus<D>) {
    let bags = &corpus.draw(1);
    let shape = Shape::new(corpus.windows, corpus.features).expect("fits in memory");
    let tokens = bags.tokens();
    let (mut learner, mut sums) = start::<T, D>(shape, tokens, 1).expect("memory");
    let mut group = criterion.benchmark_group(format!("grid/{name}"));
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.throughput(Throughput::Elements((bags.indices().len() * shape.cells()) as u64));
    for (phase, iterations) in [("early", 0), ("late", LATE)] {
        for _ in 0..iterations {
            iterate(&mut learner, &mut sums, bags).expect("the shapes agree");
        }
        for (name, prunes) in [("e_step_full", false), ("e_step", true)] {
            let grid = learner.grid().clone();
            let learner = Learner::from_grid(grid, options(&shape, tokens, prunes)).expect("memory");
            group.bench_function(BenchmarkId::new(name, phase), |bencher| {
                sums.clear(); // once: adding to sums costs the same whatever they hold
                bencher.iter(|| black_box(learner.expectation(bags, &mut sums)));
            });
        }
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

fn maximize<T: Real, const D: usize>(learner: &mut Learning<T, D>, sums: &mut Sums<T, D>) {
    learner.maximization(sums).expect("the shapes agree");
}

/// The E-step on a small grid, with more and more features, and the table that it reads. Unit of work of `pack`: an
/// entry of that table.
fn sizes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("grid/features");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for features in FEATURES {
        let corpus = Corpus { bags: 1_000, features, ..Corpus::standard() };
        let bags = &corpus.draw(1);
        let windows = Torus::new([16; 2]).and_then(|torus| Windows::new(torus, [4; 2])).expect("windows fit");
        let shape = Shape::new(windows, features).expect("fits in memory");
        let (mut learner, mut sums) = start::<f32, 2>(shape, bags.tokens(), 1).expect("memory");
        iterate(&mut learner, &mut sums, bags).expect("the shapes agree");
        let (grid, packed) = learner.clone().into_parts();
        let learner =
            Learner::from_grid(grid.clone(), options(&shape, bags.tokens(), false)).expect("memory");
        group.throughput(Throughput::Elements((bags.indices().len() * shape.cells()) as u64));
        group.bench_function(BenchmarkId::new("e_step_full", features), |bencher| {
            bencher.iter(|| black_box(learner.expectation(bags, &mut sums)));
        });
        group.throughput(Throughput::Elements((features * shape.cells()) as u64));
        let mut scratch = vec![0.0; shape.plane_scratch_len()];
        let mut table = packed.buffer().to_vec();
        group.bench_function(BenchmarkId::new("pack", features), |bencher| {
            bencher.iter(|| black_box(LogHistograms::pack(&grid, &mut table[..], &mut scratch).is_ok()));
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

criterion_group!(benches, grid, sizes);
criterion_main!(benches);
