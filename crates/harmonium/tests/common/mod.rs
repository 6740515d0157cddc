//! Small models drawn from seeds, and yardsticks.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) use countgrid_harmonium::testing::{self, kinds};
use countgrid_harmonium::{Draws, Gradient, Harmonium, HarmoniumError, Noise, Shape};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

pub(crate) type Model = Harmonium<f64, Vec<f64>>;

pub(crate) fn draws(seed: u64) -> Draws<ChaCha8Rng> {
    Draws::new(ChaCha8Rng::seed_from_u64(seed))
}

pub(crate) fn normal(draws: &mut Draws<ChaCha8Rng>) -> f64 {
    draws.normal()
}

/// [`testing::model`] of a seed.
pub(crate) fn random(shape: Shape, biases: f64, couplings: f64, size: u32, seed: u64) -> Model {
    testing::model(shape, biases, couplings, size, &mut draws(seed))
}

pub(crate) fn is_rate(shape: &Shape) -> bool {
    shape.wings() == countgrid_harmonium::Wings::RateAdapting
}

pub(crate) fn log_partition(model: &Model) -> f64 {
    model.log_partition(&mut vec![0.0; model.shape().exact_scratch_len()]).expect("few states")
}

pub(crate) fn expectations(model: &Model) -> Gradient<f64, Vec<f64>> {
    let mut expected = Gradient::allocate(*model.shape()).expect("memory");
    let mut scratch = vec![0.0; model.shape().exact_scratch_len()];
    model.expectations(&mut expected, &mut scratch).expect("few states");
    expected
}

/// The model with one learned parameter changed: `table` of `alpha`, `w`, `beta`, `u`.
pub(crate) fn nudged(model: &Model, table: usize, index: usize, by: f64) -> Result<Model, HarmoniumError> {
    let mut scratch = vec![0.0; model.shape().precision_len()];
    model.clone().update(&mut scratch, |tables| tables[table][index] += by)
}

pub(crate) fn scratch(shape: &Shape) -> Vec<f64> {
    vec![0.0; shape.gibbs_scratch_len::<f64>().max(shape.step_scratch_len())]
}

/// Within `4.5` standard errors, which chance exceeds 7 times in a million.
#[track_caller]
pub(crate) fn close(what: &str, found: f64, expected: f64, standard_error: f64) {
    let deviation = (found - expected).abs() / standard_error;
    assert!(deviation < 4.5, "{what}: {found}, expected {expected}: {deviation:.1} standard errors off");
}

/// The same numbers again and again, so that their order does not matter, and how many were asked for.
pub(crate) struct Same {
    pub uniform: f64,
    pub normal: f64,
    pub asked: (usize, usize), // uniform, normal
}

impl Same {
    pub(crate) fn new(uniform: f64, normal: f64) -> Self {
        Self { uniform, normal, asked: (0, 0) }
    }
}

impl Noise<f64> for Same {
    fn uniform(&mut self) -> f64 {
        self.asked.0 += 1;
        self.uniform
    }
    fn normal(&mut self) -> f64 {
        self.asked.1 += 1;
        self.normal
    }
}

pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The smallest `k` with `P(X ≤ k) > u` of Poisson events.
pub(crate) fn poisson_quantile(rate: f64, u: f64) -> f64 {
    let (mut k, mut p) = (0.0, (-rate).exp());
    let mut below = p;
    while below <= u {
        k += 1.0;
        p *= rate / k;
        below += p;
    }
    k
}
