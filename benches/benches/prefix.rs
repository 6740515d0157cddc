//! Prefix sums along every axis of a plane, and boxes read from them. Unit of work: an element, or a box.
//!
//! `copy` moves the same plane once and is the roof.

use std::hint::black_box;

use countgrid_prefix::{BoxSums, inclusive};
use countgrid_torus::Torus;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Sides of planes of 4-byte elements: in L1, in L2, in L3, beyond.
const SIDES: [usize; 4] = [64, 256, 1_448, 4_096];

fn prefix(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("prefix");
    for side in SIDES {
        let torus = Torus::new([side; 2]).expect("few enough cells");
        let table: Vec<u32> = (0..torus.cells() as u32).map(|i| i % 97).collect();
        let mut sums = table.clone();
        group.throughput(Throughput::Elements(table.len() as u64));
        group.bench_function(BenchmarkId::new("copy", table.len()), |bencher| {
            bencher.iter(|| black_box(&mut sums).copy_from_slice(black_box(&table)));
        });
        group.bench_function(BenchmarkId::new("inclusive", table.len()), |bencher| {
            bencher.iter(|| inclusive(&torus, black_box(&table), &mut sums));
        });
        let boxes = BoxSums::new(torus, &sums).expect("the lengths agree");
        group.throughput(Throughput::Elements(side as u64));
        group.bench_function(BenchmarkId::new("boxes", table.len()), |bencher| {
            let corner = |i: usize| i * 7919 % (side / 2);
            bencher.iter(|| {
                (0..side)
                    .map(|i| boxes.sum([corner(i), corner(i + 1)], [corner(i) + side / 2, corner(i + 1) + 9]))
                    .fold(0, u32::wrapping_add)
            });
        });
    }
}

criterion_group!(benches, prefix);
criterion_main!(benches);
