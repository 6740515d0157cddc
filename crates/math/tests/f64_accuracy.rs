//! Every `f64` function against values that were computed with hundreds of digits.

/// Largest error over the vectors, in units in the last place of the true value, and where it is.
fn worst(vectors: &str, function: fn(f64) -> f64) -> (f64, f64, usize) {
    let mut worst = (0.0, f64::NAN, 0);
    for line in vectors.lines() {
        let [x, y, residue] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let [x, y] = [x, y].map(|bits| f64::from_bits(u64::from_str_radix(bits, 16).unwrap()));
        let residue: f64 = residue.parse().unwrap();
        let error = (ulps_above(function(x), y) - residue).abs();
        assert!(!error.is_nan(), "{x:e}");
        if error > worst.0 {
            (worst.0, worst.1) = (error, x);
        }
        worst.2 += 1;
    }
    worst
}

/// `(found - y)` in units in the last place of `y`.
fn ulps_above(found: f64, y: f64) -> f64 {
    (found - y) / (y.abs().next_up() - y.abs())
}

macro_rules! accuracy {
    ($($name:ident: $bound:expr;)*) => {
        $(#[test]
        fn $name() {
            let vectors = include_str!(concat!("vectors/", stringify!($name), ".txt"));
            let (error, at, count) = worst(vectors, countgrid_math::$name);
            println!("{}: {error:.3} ulp at {at:e}, {count} points", stringify!($name));
            assert!(count > 1500);
            assert!(error <= $bound, "{error} ulp at {at:e}");
        })*
    };
}
accuracy! {
    exp: 0.8;
    exp_m1: 0.85;
    ln: 0.8;
    ln_1p: 0.8;
    sigmoid: 2.0;
    softplus: 1.5;
    ln_gamma: 2.5;
    digamma: 2.5;
    trigamma: 2.5;
}
