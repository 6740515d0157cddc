//! Random numbers with the same bits on every target.

use countgrid_math::{Real, exp, ln, ln_1p, sqrt};
use rand_core::Rng;

use crate::wide::Wide;

/// The largest binomial size, and the largest Poisson rate.
pub(crate) const LARGEST: f64 = (1 << 20) as f64;

/// Where a sampler's random numbers come from: [`Draws`] over a generator, or a table in a test.
pub trait Noise<T> {
    /// Uniform in `[0, 1)`.
    fn uniform(&mut self) -> T;
    /// Standard normal.
    fn normal(&mut self) -> T;
}

/// Uniform and normal numbers from any generator of `rand_core`.
///
/// Uniform numbers are the upper 24 bits of a 32-bit word in `f32`, the upper 53 of a 64-bit word in `f64`. Normal
/// ones come in pairs, by Marsaglia's polar method in `f64`, which needs but a logarithm and a root. A portable
/// generator, such as ChaCha, so gives the same numbers on every target.
///
/// ```
/// use countgrid_harmonium::{Draws, Noise};
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(1));
/// let (u, n): (f64, f64) = (draws.uniform(), draws.normal());
/// assert!((0.0..1.0).contains(&u) && n.is_finite());
/// ```
///
/// # Source
/// G. Marsaglia and T. Bray, A convenient method for generating normal variables, SIAM Review 1964.
#[derive(Clone, Debug)]
pub struct Draws<R> {
    rng: R,
    spare: Option<f64>,
}

impl<R: Rng> Draws<R> {
    /// From a generator, which is best seeded.
    pub fn new(rng: R) -> Self {
        Self { rng, spare: None }
    }

    /// Goes on where others were: with their generator and the normal number that they had left ([`Draws::spare`]).
    ///
    /// ```
    /// use countgrid_harmonium::{Draws, Noise};
    /// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
    /// let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(1));
    /// let _first: f64 = draws.normal();
    /// let mut resumed = Draws::resume(draws.generator().clone(), draws.spare());
    /// for _ in 0..3 {
    ///     let (own, other): (f64, f64) = (draws.normal(), resumed.normal());
    ///     assert_eq!(own, other);
    /// }
    /// ```
    pub fn resume(rng: R, spare: Option<f64>) -> Self {
        Self { rng, spare }
    }

    /// The generator.
    pub fn generator(&self) -> &R {
        &self.rng
    }

    /// The second normal number of a pair, if it was not drawn yet.
    pub fn spare(&self) -> Option<f64> {
        self.spare
    }

    fn unit(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

impl<T: Real, R: Rng> Noise<T> for Draws<R> {
    #[inline]
    fn uniform(&mut self) -> T {
        if size_of::<T>() == 4 {
            T::from_f64(f64::from(self.rng.next_u32() >> 8) * (1.0 / (1 << 24) as f64))
        } else {
            T::from_f64(self.unit())
        }
    }

    fn normal(&mut self) -> T {
        if let Some(spare) = self.spare.take() {
            return T::from_f64(spare);
        }
        // A pair is good with probability π/4: a generator that fails 200 times is broken, and must not hang.
        for _ in 0..200 {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = sqrt(-2.0 * ln(square) / square);
                self.spare = Some(y * factor);
                return T::from_f64(x * factor);
            }
        }
        T::zero()
    }
}

impl<T, N: Noise<T> + ?Sized> Noise<T> for &mut N {
    #[inline]
    fn uniform(&mut self) -> T {
        (**self).uniform()
    }
    #[inline]
    fn normal(&mut self) -> T {
        (**self).normal()
    }
}

/// Successes among `size` trials of probability `p`, by inversion: one uniform number for every 512 trials.
///
/// `u < p` is a success where there is one trial.
pub(crate) fn binomial<T: Real>(size: T, p: T, noise: &mut impl Noise<T>) -> T {
    let (mut left, p) = (size.wide().min(LARGEST) as u32, p.wide());
    let mut successes = 0;
    while left > 0 {
        let trials = left.min(512); // (1/2)^512 is far from underflow
        left -= trials;
        // A zero, not rare in `f32`, would ask for the very end of the tail.
        successes += inverse_binomial(trials, p, noise.uniform().wide().max(1.0 / (1 << 25) as f64));
    }
    T::from_f64(f64::from(successes))
}

/// The quantile of `1 - u`, so that for one trial a success is `u < p`.
fn inverse_binomial(trials: u32, p: f64, u: f64) -> u32 {
    if p > 0.5 {
        return trials - smallest(trials, 1.0 - p, u);
    }
    smallest(trials, p, 1.0 - u)
}

/// The smallest `k` with `P(X ≤ k) ≥ target`, for `p ≤ 1/2`.
fn smallest(trials: u32, p: f64, target: f64) -> u32 {
    if !(p > 0.0) {
        return 0;
    }
    let odds = p / (1.0 - p);
    let mut probability = exp(f64::from(trials) * ln_1p(-p));
    let (mut k, mut below) = (0, probability);
    while below < target && k < trials {
        probability *= odds * f64::from(trials - k) / f64::from(k + 1);
        below += probability;
        k += 1;
    }
    k
}

/// Events of a Poisson process of `rate`, by inversion, 64 units of rate at a time. `None` beyond 2²⁰.
pub(crate) fn poisson<T: Real>(rate: T, noise: &mut impl Noise<T>) -> Option<T> {
    let mut left = rate.wide();
    if !(left <= LARGEST) {
        return None;
    }
    let mut events = 0_u32;
    while left > 0.0 {
        let rate = left.min(64.0);
        left -= rate;
        let (mut k, mut probability) = (0_u32, exp(-rate));
        let (mut below, u) = (probability, noise.uniform().wide());
        // The tail beyond 64 + 40 √64 is below the smallest number.
        while below <= u && k < 400 {
            k += 1;
            probability *= rate / f64::from(k);
            below += probability;
        }
        events += k;
    }
    Some(T::from_f64(f64::from(events)))
}
