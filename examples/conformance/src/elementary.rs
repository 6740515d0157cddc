//! `countgrid-math`: elementary functions and slice kernels.

use countgrid_math::{
    Real, axpy, digamma, dot, exp, exp_m1, exp_slice, ln, ln_1p, ln_gamma, ln_slice, log_sum_exp, max, scale,
    sigmoid, softmax, softmax_with_threshold, softplus, sqrt, sum, sum_xlogx, trigamma,
};

use crate::report::{Digest, Failure, Report, Values, name};

pub(crate) fn all(report: &mut Report<'_>) -> Result<(), Failure> {
    functions::<f32>(report);
    functions::<f64>(report);
    slices::<f32>(report)?;
    slices::<f64>(report)
}

fn functions<T: Real>(report: &mut Report<'_>) {
    type Case<T> = (&'static str, fn(T) -> T, f64, f64); // name, function, from, to
    let functions: [Case<T>; 12] = [
        ("exp", exp, -120.0, 120.0),
        ("exp of large numbers", exp, -1000.0, 1000.0),
        ("ln", ln, 0.0, 1e3),
        ("exp_m1", exp_m1, -5.0, 5.0),
        ("ln_1p", ln_1p, -0.99, 10.0),
        ("sigmoid", sigmoid, -40.0, 40.0),
        ("softplus", softplus, -40.0, 40.0),
        ("sqrt", sqrt, 0.0, 1e6),
        ("ln_gamma", ln_gamma, 1e-3, 200.0),
        ("digamma", digamma, 1e-3, 200.0),
        ("trigamma", trigamma, 1e-3, 200.0),
        ("subnormal exp", |x| exp(x) * T::min_positive_value(), -12.0, 0.0),
    ];
    // Where functions have their edges: zeros, subnormals, the largest, infinities, NaN.
    let (tiny, large) = (T::min_positive_value(), T::max_value());
    let edges = [T::zero(), tiny * T::from_f64(0.25), tiny, T::one(), large, T::infinity(), T::nan()];
    for (function_name, function, from, to) in functions {
        let (mut digest, mut values) = (Digest::new(), Values(7));
        for _ in 0..2000 {
            let u: f64 = values.next();
            digest.add(&[function(T::from_f64(from + (to - from) * u))]);
        }
        edges.iter().for_each(|&x| digest.add(&[function(x), function(-x)]));
        report.digest(format_args!("{function_name} {}", name::<T>()), digest);
    }
}

/// Lengths on both sides of every vector's.
fn slices<T: Real>(report: &mut Report<'_>) -> Result<(), Failure> {
    let (mut sums, mut kernels) = (Digest::new(), Digest::new());
    for length in (0..36).chain([63, 64, 65, 203, 300]) {
        let mut values = Values(11);
        let (mut x, mut y) = ([T::zero(); 301], [T::zero(); 301]);
        values.fill(&mut x);
        values.fill(&mut y);
        // From the second on, so that no alignment is given either.
        let (x, y) = (&mut x[1..=length], &mut y[1..=length]);
        sums.add(&[sum(x), max(x), dot(x, y)?, log_sum_exp(x), sum_xlogx(x)]);
        axpy(T::from_f64(1.0 / 3.0), x, y)?;
        kernels.add(y);
        scale(T::from_f64(7.0 / 3.0), y);
        kernels.add(y);
        ln_slice(x);
        kernels.add(x);
        kernels.add(&[softmax_with_threshold(y, T::from_f64(0.5))]);
        kernels.add(y);
        kernels.add(&[softmax(x)]);
        kernels.add(x);
        exp_slice(x);
        kernels.add(x);
    }
    report.digest(format_args!("sums of slices {}", name::<T>()), sums);
    report.digest(format_args!("slices {}", name::<T>()), kernels);
    Ok(())
}
