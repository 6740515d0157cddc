//! Nanoseconds an element of the slice kernels, next to the standard library's functions in a loop.
//!
//! `cargo run --release -p countgrid-math --example timing`. Best of many runs over slices of 4096 elements,
//! which stay in the first or second level of the cache.

use std::hint::black_box;
use std::time::Instant;

use countgrid_math::*;

const LENGTH: usize = 4096;

/// The best of 300 runs of `f` on a copy of `x`, in nanoseconds an element.
fn best<T: Real, R>(x: &[T], mut f: impl FnMut(&mut [T]) -> R) -> f64 {
    let mut y = x.to_vec();
    let mut best = f64::INFINITY;
    for _ in 0..300 {
        y.copy_from_slice(x);
        let start = Instant::now();
        black_box(f(black_box(&mut y)));
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / LENGTH as f64
}

fn table<T: Real>(name: &str, std_exp: fn(T) -> T, std_ln: fn(T) -> T) {
    let values = |low: f64, high: f64| -> Vec<T> {
        (0..LENGTH)
            .map(|i| T::from_f64(low + (high - low) * (i * 1237 % LENGTH) as f64 / LENGTH as f64))
            .collect()
    };
    let (logs, positive) = (values(-20.0, 0.0), values(1e-6, 2.0));
    let other = positive.clone();
    let rows: [(&str, f64); 11] = [
        ("exp of std", best(&logs, |x| x.iter_mut().for_each(|x| *x = std_exp(*x)))),
        ("exp_slice", best(&logs, exp_slice)),
        ("ln of std", best(&positive, |x| x.iter_mut().for_each(|x| *x = std_ln(*x)))),
        ("ln_slice", best(&positive, ln_slice)),
        ("sum", best(&positive, |x| sum(x))),
        ("max", best(&positive, |x| max(x))),
        ("dot", best(&positive, |x| dot(x, &other))),
        ("axpy", best(&positive, |x| axpy(T::one(), &other, x))),
        ("log_sum_exp", best(&logs, |x| log_sum_exp(x))),
        ("softmax", best(&logs, softmax)),
        ("sum_xlogx", best(&positive, |x| sum_xlogx(x))),
    ];
    for (kernel, time) in rows {
        println!("{name} {:>8} {kernel:<12} {time:7.3} ns", level().name());
    }
}

fn main() {
    for asked in Level::ALL {
        if set_level(asked) == asked {
            table::<f32>("f32", f32::exp, f32::ln);
            table::<f64>("f64", f64::exp, f64::ln);
        }
    }
}
