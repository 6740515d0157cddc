//! What people ask of a sampler: has it mixed, is its step stable, what has it done.

use core::fmt;

use countgrid_math::sqrt;

use crate::{HarmoniumError, error::same_length};

/// A table of what a chain has done, `[step][column]`, in the caller's storage. Displayed, it is CSV with a header.
///
/// ```
/// use countgrid_harmonium::Trace;
/// let mut trace = Trace::new(&["log posterior", "accepted"], [0.0; 4])?;
/// assert!(trace.push(&[-3.5, 1.0]) && trace.push(&[-3.25, 0.0]) && !trace.push(&[0.0, 0.0]));
/// assert_eq!(trace.to_string(), "log posterior,accepted\n-3.5,1\n-3.25,0\n");
/// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Trace<'a, S> {
    columns: &'a [&'a str], // at least one
    storage: S,
    steps: usize,
}

impl<'a, S: AsRef<[f64]> + AsMut<[f64]>> Trace<'a, S> {
    /// An empty trace with room for `storage.len() / columns.len()` steps.
    ///
    /// # Errors
    /// [`HarmoniumError::Nothing`] without columns.
    pub fn new(columns: &'a [&'a str], storage: S) -> Result<Self, HarmoniumError> {
        if columns.is_empty() {
            return Err(HarmoniumError::Nothing { what: "columns" });
        }
        Ok(Self { columns, storage, steps: 0 })
    }

    /// Takes note of a step, a value a column; whether there was room and the row fits.
    pub fn push(&mut self, row: &[f64]) -> bool {
        let width = self.columns.len();
        let start = self.steps.saturating_mul(width);
        match self.storage.as_mut().get_mut(start..start.saturating_add(width)) {
            Some(own) if row.len() == width => {
                own.copy_from_slice(row);
                self.steps += 1;
                true
            }
            _ => false,
        }
    }
}

impl<S: AsRef<[f64]>> Trace<'_, S> {
    /// Steps so far.
    pub fn steps(&self) -> usize {
        self.steps
    }
    /// The values of one column, step by step; none for a column that there is not.
    pub fn column(&self, column: usize) -> impl Iterator<Item = f64> + Clone + '_ {
        let width = self.columns.len();
        let values = if column < width { self.storage.as_ref() } else { &[] };
        values.iter().copied().take(self.steps * width).skip(column).step_by(width)
    }
}

impl<S: AsRef<[f64]>> fmt::Display for Trace<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.columns.len();
        for (at, column) in self.columns.iter().enumerate() {
            write!(f, "{column}{}", if at + 1 < width { ',' } else { '\n' })?;
        }
        for row in self.storage.as_ref().chunks_exact(width).take(self.steps) {
            for (at, value) in row.iter().enumerate() {
                write!(f, "{value}{}", if at + 1 < width { ',' } else { '\n' })?;
            }
        }
        Ok(())
    }
}

/// How many independent draws a trace of one chain is worth: `n / (1 + 2 Σ ρ_t)` with Geyer's initial positive sequence.
///
/// An estimate between 1 and `n`; `n` for a constant trace.
///
/// ```
/// use countgrid_harmonium::effective_sample_size;
/// let sticky: Vec<f64> = (0..1000).map(|t| ((t / 100) % 2) as f64).collect();
/// assert!(effective_sample_size(&sticky)? < 30.0);
/// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
/// ```
///
/// # Errors
/// [`HarmoniumError::Nothing`] for fewer than four values, [`HarmoniumError::NotFinite`].
/// # Source
/// Geyer, Practical Markov chain Monte Carlo, Statistical Science 1992.
pub fn effective_sample_size(trace: &[f64]) -> Result<f64, HarmoniumError> {
    let n = check_trace(trace)?;
    let mean = trace.iter().fold(0.0, |sum, x| sum + x) / n;
    let autocovariance = |lag: usize| {
        let pairs = trace.iter().zip(trace.iter().skip(lag));
        pairs.fold(0.0, |sum, (x, y)| sum + (x - mean) * (y - mean)) / n
    };
    let variance = autocovariance(0);
    if !(variance > 0.0) {
        return Ok(n);
    }
    let (mut sum, mut lag) = (-variance, 0);
    while lag + 1 < trace.len() {
        let pair = autocovariance(lag) + autocovariance(lag + 1);
        if !(pair > 0.0) {
            break;
        }
        sum += 2.0 * pair;
        lag += 2;
    }
    Ok((n * variance / sum.max(variance / n)).clamp(1.0, n))
}

fn check_trace(trace: &[f64]) -> Result<f64, HarmoniumError> {
    if trace.len() < 4 {
        return Err(HarmoniumError::Nothing { what: "four values of a trace" });
    }
    match trace.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(HarmoniumError::NotFinite { table: "trace", index }),
        None => Ok(trace.len() as f64),
    }
}

/// Split R-hat of chains of one length, `[chain][step]`: between-chain against within-chain variance, each chain cut in
/// half so that a trend shows in a single one. Near 1 when they agree; 1.01 is a usual limit.
///
/// ```
/// use countgrid_harmonium::r_hat;
/// assert!(r_hat(&[0.0, 1.0, 0.0, 1.0, 9.0, 8.0, 9.0, 8.0], 4)? > 5.0); // two chains, far apart
/// # Ok::<(), countgrid_harmonium::HarmoniumError>(())
/// ```
///
/// # Errors
/// [`HarmoniumError::Nothing`] for fewer than four values or steps, [`HarmoniumError::Length`] unless it is whole chains, one at
/// least, [`HarmoniumError::NotFinite`].
/// # Source
/// Gelman et al., Bayesian data analysis, third edition, section 11.4.
pub fn r_hat(traces: &[f64], steps: usize) -> Result<f64, HarmoniumError> {
    check_trace(traces)?;
    if steps < 4 {
        return Err(HarmoniumError::Nothing { what: "four values of a trace" });
    }
    same_length("traces", traces.len() / steps * steps, traces.len())?;
    let (half, chains) = (steps / 2, 2 * (traces.len() / steps));
    let (n, m) = (half as f64, chains as f64);
    let halves = || traces.chunks_exact(steps).flat_map(|chain| [&chain[..half], &chain[steps - half..]]);
    let mean = |x: &[f64]| x.iter().fold(0.0, |sum, x| sum + x) / n;
    let grand = halves().fold(0.0, |sum, x| sum + mean(x)) / m;
    let (mut between, mut within) = (0.0, 0.0);
    for x in halves() {
        let own = mean(x);
        between += (own - grand) * (own - grand);
        within += x.iter().fold(0.0, |sum, x| sum + (x - own) * (x - own)) / (n - 1.0);
    }
    let (between, within) = (between * n / (m - 1.0), within / m);
    if within == 0.0 {
        return Ok(if between == 0.0 { 1.0 } else { f64::INFINITY });
    }
    Ok(sqrt((n - 1.0) / n + between / (n * within)))
}

/// The Langevin step up to which the stiffest direction is stable in the linear sense, `2 / √(N M max n² + 1/σ²)` with the
/// smallest prior variance: a curvature of `1/v` asks for `ε² < 4v`, and that of the common mean is at most `N M` for
/// binary words. A safe start; in practice steps up to one and a half times as long have been stable.
///
/// Example: [the crate's](crate).
///
/// # Errors
/// [`HarmoniumError::Setting`] unless the variance is above zero and the size at least 1.
/// # Source
/// Section 5.1 of the Bayesian exponential family harmonium paper (BEFH), where `ε √(NM)` of 3 was stable and 7 was not.
pub fn step_bound(documents: usize, words: usize, size: f64, variance: f64) -> Result<f64, HarmoniumError> {
    if !(variance > 0.0) {
        return Err(HarmoniumError::Setting { name: "variance" });
    }
    if !(size >= 1.0 && size.is_finite()) {
        return Err(HarmoniumError::Setting { name: "size" });
    }
    Ok(2.0 / sqrt(documents as f64 * words as f64 * size * size + 1.0 / variance))
}
