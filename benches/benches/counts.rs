//! Bags of counts: building compressed rows, transposing them, and as a block of a temporary file. Unit of work: a nonzero count.

use std::hint::black_box;

use countgrid_benches::Corpus;
use countgrid_counts::{Bags, CsrBuf};
use countgrid_io::BlockWriter;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

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
        let floats = drawn.counts().iter().map(|&count| count as f32).collect();
        let (offsets, indices) = (drawn.offsets().to_vec(), drawn.indices().to_vec());
        let block = CsrBuf::from_parts(drawn.features(), offsets, indices, floats).expect("they are bags");
        let writer = || BlockWriter::<f32>::temporary(5_000).expect("a temporary file");
        group.bench_function(BenchmarkId::new("write_block", nonzeros), |bencher| {
            bencher.iter_batched(
                writer,
                |mut writer| writer.write(black_box(&block)).and_then(|()| writer.finish()),
                BatchSize::PerIteration,
            );
        });
        let mut writer = writer();
        writer.write(&block).expect("room for a block");
        let mut file = writer.finish().expect("room for a block");
        let mut read = CsrBuf::new(5_000).expect("features of 32 bits");
        group.bench_function(BenchmarkId::new("read_block", nonzeros), |bencher| {
            bencher.iter(|| file.read(0, &mut read));
        });
    }
}

criterion_group!(benches, counts);
criterion_main!(benches);
