use countgrid_counts::Csr;
use countgrid_em::{Fit, Learn};
use countgrid_grid::{Grid, Learner, Options, Rule, Shape, Statistics};
use countgrid_math::{
    Real, digamma, dot, exp, exp_m1, exp_slice, ln, ln_1p, ln_gamma, ln_slice, log_sum_exp, sigmoid, softmax,
    softplus, sqrt, sum, trigamma,
};
use countgrid_prefix::{scratch_len, spread_sums, window_sums};
use countgrid_torus::{Torus, Windows};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Computes everything and reports a name and a digest for each group.
pub(crate) fn all(mut report: impl FnMut(&str, u64)) {
    elementary::<f32>(|name, digest| report(name, digest), "f32");
    elementary::<f64>(|name, digest| report(name, digest), "f64");
    report("slices f32", slices::<f32>());
    report("slices f64", slices::<f64>());
    report("windows 1 f32", windows::<f32, 1>([60], [13]));
    report("windows 2 f32", windows::<f32, 2>([9, 11], [3, 5]));
    report("windows 3 f64", windows::<f64, 3>([5, 4, 6], [2, 4, 3]));
    report("windows 5 f32", windows::<f32, 5>([3, 2, 3, 2, 4], [2, 1, 3, 2, 2]));
    report("fit f32", fit::<f32>().unwrap_or_default());
    report("fit f64", fit::<f64>().unwrap_or_default());
}

/// FNV-1a over the bits of values, exactly: both types are widened to `f64`, which loses nothing.
struct Digest(u64);

impl Digest {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
    fn add<T: Real>(&mut self, values: &[T]) {
        for &value in values {
            for byte in value.to_f64().to_bits().to_le_bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
}

/// Values in `[0, 1)` with 24 random bits, so that every type holds them exactly.
struct Values(u64);

impl Values {
    fn next<T: Real>(&mut self) -> T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        T::from_f64((self.0 >> 40) as f64 / 16_777_216.0)
    }
    fn fill<T: Real>(&mut self, values: &mut [T]) {
        values.iter_mut().for_each(|value| *value = self.next());
    }
}

fn elementary<T: Real>(mut report: impl FnMut(&str, u64), scalar: &str) {
    type Case<T> = (&'static str, fn(T) -> T, f64, f64); // name, function, from, to
    let functions: [Case<T>; 11] = [
        ("exp", exp, -120.0, 120.0),
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
    for (name, function, from, to) in functions {
        let (mut digest, mut values) = (Digest::new(), Values(7));
        for _ in 0..2000 {
            let u: f64 = values.next();
            digest.add(&[function(T::from_f64(from + (to - from) * u))]);
        }
        let mut line = [0; 32];
        report(join(&mut line, name, scalar), digest.0);
    }
}

/// `"a b"`, without an allocator.
fn join<'a>(line: &'a mut [u8; 32], a: &str, b: &str) -> &'a str {
    let bytes = a.bytes().chain([b' ']).chain(b.bytes());
    let length = line.iter_mut().zip(bytes).map(|(to, byte)| *to = byte).count();
    core::str::from_utf8(&line[..length]).unwrap_or_default()
}

/// A length that is no multiple of any vector.
fn slices<T: Real>() -> u64 {
    let (mut digest, mut values) = (Digest::new(), Values(11));
    let (mut x, mut y) = ([T::zero(); 203], [T::zero(); 203]);
    values.fill(&mut x);
    values.fill(&mut y);
    digest.add(&[sum(&x), dot(&x, &y).unwrap_or_default(), log_sum_exp(&x)]);
    ln_slice(&mut x);
    exp_slice(&mut y);
    digest.add(&x);
    digest.add(&y);
    digest.add(&[softmax(&mut x)]);
    digest.add(&x);
    digest.0
}

fn windows<T: Real, const D: usize>(extents: [usize; D], sides: [usize; D]) -> u64 {
    let Ok(windows) = Torus::new(extents).and_then(|torus| Windows::new(torus, sides)) else { return 0 };
    let (mut digest, mut values) = (Digest::new(), Values(13));
    let (mut table, mut sums, mut scratch) = ([T::zero(); 512], [T::zero(); 512], [T::zero(); 512]);
    let rows = windows.torus().cells() * (512 / windows.torus().cells());
    let (table, sums) = (&mut table[..rows], &mut sums[..rows]);
    values.fill(table);
    // Many decades, as in a fit.
    table.iter_mut().for_each(|value| *value = exp(*value * T::from_f64(-60.0)));
    let scratch = &mut scratch[..scratch_len(&windows)];
    for sum in [window_sums, spread_sums] {
        if sum(&windows, table, sums, scratch).is_err() {
            return 0;
        }
        digest.add(sums);
    }
    digest.0
}

/// A fit from a seeded start, by both rules, and the posteriors under its end.
fn fit<T: Real>() -> Option<u64> {
    const BAGS: usize = 5;
    let windows = Windows::new(Torus::new([4, 5]).ok()?, [2, 3]).ok()?;
    let shape = Shape::new(windows, 6).ok()?;
    let bags = Csr::new(
        6,
        &[0, 3, 6, 7, 9, 12],
        &[0, 1, 2, 1, 2, 3, 5, 0, 4, 2, 3, 4],
        &[9_u16, 4, 1, 2, 8, 3, 12, 5, 5, 1, 2, 7],
    )
    .ok()?;
    let mut digest = Digest::new();
    for rule in [Rule::Exact, Rule::Factored] {
        let (mut pi, mut logs, mut sums, mut scratch) =
            ([T::zero(); 512], [T::zero(); 512], [T::zero(); 512], [T::zero(); 1024]);
        let mut grid = Grid::uniform_in(shape, pi.get_mut(..shape.grid_len())?).ok()?;
        grid.randomize(&mut ChaCha8Rng::seed_from_u64(1));
        let options = Options { rule, learn_prior: true, pseudocount: 0.1, ..Options::default() };
        let logs = logs.get_mut(..shape.histograms_len::<T>())?;
        let mut learner = Learner::new(grid, logs, &mut scratch, options).ok()?;
        let sums = sums.get_mut(..shape.sums_len::<T>())?;
        let mut statistics = Statistics::new(shape, sums, &mut scratch).ok()?;
        for _ in 0..10 {
            statistics.clear();
            digest.add(&[learner.expectation(&bags, &mut statistics).ok()?]);
            learner.maximization(&mut statistics).ok()?;
        }
        let (pi, prior) = learner.grid().tables();
        digest.add(pi);
        digest.add(prior);
        let (mut q, mut scratch) = ([T::zero(); 20], [T::zero(); 1024]);
        for bag in 0..BAGS {
            let log_evidence = learner.histograms().posterior(&bags, bag, &mut q, &mut scratch).ok()?;
            digest.add(&[log_evidence]);
            digest.add(&q);
        }
    }
    Some(digest.0)
}
