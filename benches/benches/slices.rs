//! Slice kernels of `countgrid-math`. Unit of work: one element. Rivals: the same written as one would without the
//! crate, a loop over the slice, whose result depends on the compiler where it is a sum.

use std::hint::black_box;

use countgrid_math::{
    AlignedVec, Level, Real, axpy, dot, log_sum_exp, max, scale, set_level, softmax, softmax_with_threshold,
    sum, sum_xlogx,
};
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};

/// In L1, in L2, in L3, beyond, in elements of 4 bytes.
const LENGTHS: [usize; 4] = [4_096, 65_536, 2_097_152, 16_777_216];

/// Two tables, one to read and one to write.
struct Tables<T> {
    x: AlignedVec<T>,
    y: AlignedVec<T>,
}

type Work<T> = fn(&mut Tables<T>);

fn compare<T: Real>(
    criterion: &mut Criterion,
    name: &str,
    value: fn(f64) -> f64,
    ours: Work<T>,
    loops: Option<Work<T>>,
) {
    let mut group = criterion.benchmark_group(name);
    for length in LENGTHS {
        let mut x = AlignedVec::<T>::zeroed(length).expect("memory");
        x.iter_mut().enumerate().for_each(|(i, x)| *x = T::from_f64(value((i % 1009) as f64 / 1009.0)));
        let tables = &mut Tables { y: x.clone(), x };
        group.throughput(Throughput::Elements(length as u64));
        for level in Level::ALL {
            if set_level(level) == level {
                time(&mut group, BenchmarkId::new(format!("ours/{level}"), length), tables, ours);
            }
        }
        if let Some(loops) = loops {
            time(&mut group, BenchmarkId::new("loop", length), tables, loops);
        }
    }
}

fn time<T>(group: &mut BenchmarkGroup<'_, WallTime>, id: BenchmarkId, tables: &mut Tables<T>, work: Work<T>) {
    group.bench_function(id, |bencher| bencher.iter(|| work(black_box(tables))));
}

fn slices(criterion: &mut Criterion) {
    let (probabilities, scores) = (|u| 1e-6 + u, |u| -40.0 * u);
    compare::<f32>(
        criterion,
        "sum/f32",
        probabilities,
        |t| drop_value(sum(&t.x)),
        Some(|t| drop_value(t.x.iter().sum::<f32>())),
    );
    compare::<f32>(
        criterion,
        "dot/f32",
        probabilities,
        |t| drop_value(dot(&t.x, &t.y)),
        Some(|t| drop_value(t.x.iter().zip(t.y.iter()).map(|(x, y)| x * y).sum::<f32>())),
    );
    compare::<f32>(
        criterion,
        "max/f32",
        scores,
        |t| drop_value(max(&t.x)),
        Some(|t| drop_value(t.x.iter().copied().fold(f32::NEG_INFINITY, f32::max))),
    );
    // The second table comes to rest at 2 x: y <- y / 2 + x is scale and axpy in turns.
    compare::<f32>(
        criterion,
        "scale_axpy/f32",
        probabilities,
        |t| {
            scale(0.5, &mut t.y);
            axpy(1.0, &t.x, &mut t.y).expect("the lengths agree");
        },
        Some(|t| {
            t.y.iter_mut().for_each(|y| *y *= 0.5);
            t.y.iter_mut().zip(t.x.iter()).for_each(|(y, x)| *y += x);
        }),
    );
    compare::<f32>(criterion, "sum_xlogx/f32", probabilities, |t| drop_value(sum_xlogx(&t.x)), None);
    compare::<f32>(criterion, "log_sum_exp/f32", scores, |t| drop_value(log_sum_exp(&t.x)), None);
    compare::<f64>(criterion, "log_sum_exp/f64", scores, |t| drop_value(log_sum_exp(&t.x)), None);
    compare::<f32>(
        criterion,
        "softmax/f32",
        scores,
        |t| {
            t.y.copy_from_slice(&t.x);
            drop_value(softmax(&mut t.y));
        },
        Some(|t| {
            t.y.copy_from_slice(&t.x);
            let best = t.y.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            t.y.iter_mut().for_each(|y| *y = (*y - best).exp());
            let mass = t.y.iter().sum::<f32>();
            t.y.iter_mut().for_each(|y| *y /= mass);
        }),
    );
    compare::<f32>(
        criterion,
        "softmax_cut/f32",
        scores,
        |t| {
            t.y.copy_from_slice(&t.x);
            drop_value(softmax_with_threshold(&mut t.y, 24.0));
        },
        None,
    );
}

fn drop_value<R>(result: R) {
    black_box(result);
}

criterion_group!(benches, slices);
criterion_main!(benches);
