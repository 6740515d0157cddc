//! Window sums over `[row][cell]` tables. Unit of work: one element of the table, whatever the window.
//!
//! `copy` moves the same table once and is the roof: a window sum reads and writes every element at least once.
//! `definition` adds up each window by itself, as the formula is written.

use std::hint::black_box;

use countgrid_math::{Level, set_level};
use countgrid_prefix::{Direction, axes, scratch_len, sums_along};
use countgrid_torus::{Torus, Windows};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// In L1, in L2, in L3, beyond, in elements of 4 bytes, rounded to whole rows.
const ELEMENTS: [usize; 4] = [4_096, 65_536, 2_097_152, 8_388_608];

fn shape<const D: usize>(criterion: &mut Criterion, extents: [usize; D], sides: [usize; D]) {
    let windows = &Torus::new(extents).and_then(|torus| Windows::new(torus, sides)).expect("windows fit");
    let cells = windows.torus().cells();
    let mut group = criterion.benchmark_group(format!("windows/{}/{}", by(&extents), by(&sides)));
    for elements in ELEMENTS {
        let rows = (elements / cells).max(1);
        let table: Vec<f32> = (0..rows * cells).map(|i| (i % 97) as f32).collect();
        let (mut sums, mut scratch) = (table.clone(), vec![0.0; scratch_len(windows)]);
        group.throughput(Throughput::Elements(table.len() as u64));
        group.bench_function(BenchmarkId::new("copy", table.len()), |bencher| {
            bencher.iter(|| black_box(&mut sums).copy_from_slice(black_box(&table)));
        });
        for (level, direction) in [
            (Level::Baseline, Direction::Forward),
            (Level::Avx2, Direction::Forward),
            (Level::Baseline, Direction::Adjoint),
            (Level::Avx2, Direction::Adjoint),
        ] {
            if set_level(level) != level {
                continue; // this machine has no such vectors
            }
            let name = format!("{}/{level}", if direction == Direction::Adjoint { "spread" } else { "sums" });
            group.bench_function(BenchmarkId::new(name, table.len()), |bencher| {
                bencher.iter(|| {
                    let (table, sums, scratch) = (black_box(&*table), &mut *sums, &mut *scratch);
                    sums_along(&axes(windows), direction, table, sums, scratch).expect("the lengths fit");
                });
            });
        }
        if elements == ELEMENTS[1] {
            group.bench_function(BenchmarkId::new("definition", table.len()), |bencher| {
                bencher.iter(|| definition(windows, black_box(&table), &mut sums));
            });
        }
    }
}

fn definition<const D: usize>(windows: &Windows<D>, table: &[f32], sums: &mut [f32]) {
    let cells = windows.torus().cells();
    for (row, sums) in table.chunks_exact(cells).zip(sums.chunks_exact_mut(cells)) {
        for (start, sum) in sums.iter_mut().enumerate() {
            *sum = windows.cells_of(start).map(|cell| row[cell]).sum();
        }
    }
}

fn by(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

fn windows(criterion: &mut Criterion) {
    shape(criterion, [400], [25]);
    shape(criterion, [1024], [25]);
    shape(criterion, [4096], [25]);
    shape(criterion, [40, 40], [5, 5]);
    shape(criterion, [40, 40], [8, 8]);
    shape(criterion, [64, 64], [8, 8]);
    shape(criterion, [120, 120], [20, 20]);
    shape(criterion, [12, 12, 12], [3, 3, 3]);
    shape(criterion, [4, 4, 4, 4, 4], [2, 2, 2, 2, 2]);
}

criterion_group!(benches, windows);
criterion_main!(benches);
