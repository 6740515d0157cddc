//! Bags of counts: building compressed rows, transposing them. Unit of work: a nonzero count.

use std::hint::black_box;

use countgrid_benches::Corpus;
use countgrid_counts::{Bags, CsrBuf};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// 67 KB, 670 KB and 6.7 MB of indices and counts.
const BAGS: [usize; 3] = [100, 1_000, 10_000];

fn counts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("counts");
    for bags in BAGS {
        let drawn = Corpus { bags, ..Corpus::standard() }.draw(1);
        let nonzeros = drawn.indices().len();
        group.throughput(Throughput::Elements(nonzeros as u64));
        group.bench_function(BenchmarkId::new("transpose", nonzeros), |bencher| {
            bencher.iter(|| black_box(&drawn).transpose());
        });
        group.bench_function(BenchmarkId::new("push_bag", nonzeros), |bencher| {
            bencher.iter(|| CsrBuf::from_bags(black_box(&drawn)));
        });
        group.bench_function(BenchmarkId::new("entries", nonzeros), |bencher| {
            bencher.iter(|| black_box(&drawn).tokens());
        });
    }
}

criterion_group!(benches, counts);
criterion_main!(benches);
