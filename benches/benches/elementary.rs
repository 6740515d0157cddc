//! `exp` and `ln` over slices. Unit of work: one element. Rivals: the standard library, which calls the
//! platform's libm, and the crate `libm`, which is portable as ours is.
//!
//! Every variant first copies the input over the output, so that it sees the same values in every round.

use std::hint::black_box;

use countgrid_math::{Level, Real, exp_slice, ln_slice, set_level};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// In L1, in L2, beyond both, in elements.
const LENGTHS: [usize; 3] = [2_048, 65_536, 2_097_152];

struct Function<T> {
    name: &'static str,
    input: fn(f64) -> f64, // from [0, 1) to where models call it
    ours: fn(&mut [T]),
    std: fn(T) -> T,
    libm: fn(T) -> T,
}

fn compare<T: Real>(criterion: &mut Criterion, function: &Function<T>) {
    let Function { name, input, ours, std, libm } = *function;
    let mut group = criterion.benchmark_group(name);
    for length in LENGTHS {
        let x: Vec<T> = (0..length).map(|i| T::from_f64(input(i as f64 / length as f64))).collect();
        let mut y = x.clone();
        group.throughput(Throughput::Elements(length as u64));
        for asked in Level::ALL {
            if set_level(asked) != asked {
                continue; // this machine has no such vectors
            }
            group.bench_function(BenchmarkId::new(format!("ours/{asked}"), length), |bencher| {
                bencher.iter(|| {
                    y.copy_from_slice(black_box(&x));
                    ours(black_box(&mut y));
                });
            });
        }
        for (rival, f) in [("std", std), ("libm", libm)] {
            group.bench_function(BenchmarkId::new(rival, length), |bencher| {
                bencher.iter(|| {
                    y.copy_from_slice(black_box(&x));
                    black_box(&mut y).iter_mut().for_each(|y| *y = f(*y));
                });
            });
        }
    }
}

fn elementary(criterion: &mut Criterion) {
    // Differences of log scores on the one hand, probabilities on the other.
    let (scores, probabilities) = (|u| -40.0 * u, |u| 1e-12 + u);
    compare::<f32>(
        criterion,
        &Function { name: "exp/f32", input: scores, ours: exp_slice, std: f32::exp, libm: libm::expf },
    );
    compare::<f64>(
        criterion,
        &Function { name: "exp/f64", input: scores, ours: exp_slice, std: f64::exp, libm: libm::exp },
    );
    compare::<f32>(
        criterion,
        &Function { name: "ln/f32", input: probabilities, ours: ln_slice, std: f32::ln, libm: libm::logf },
    );
    compare::<f64>(
        criterion,
        &Function { name: "ln/f64", input: probabilities, ours: ln_slice, std: f64::ln, libm: libm::log },
    );
}

criterion_group!(benches, elementary);
criterion_main!(benches);
