//! Exact values by enumeration, in f64 for models of either type: the reference for all samplers.

use countgrid_counts::Bags;
use countgrid_math::{Real, exp, ln, log_sum_exp, softplus};

use crate::{
    Gradient, Harmonium, HarmoniumError, Prior, Shape,
    error::{same_length, take},
    linear::{cholesky, solve_lower, solve_upper},
    model::log_base,
    wide::Wide,
};

/// Most states that an enumeration visits.
const MOST_STATES: u64 = 1 << 26;

impl Shape {
    /// Elements of the f64 scratch of an enumeration.
    #[must_use]
    pub const fn exact_scratch_len(&self) -> usize {
        let (digits, width) = self.enumerated();
        (digits + 1) * (width + 1) + digits + width + self.topics() * self.topics()
    }

    /// What is enumerated, and what is summed along the way: words and topics, or topics and words if rate adapting.
    const fn enumerated(&self) -> (usize, usize) {
        match self.wings() {
            crate::Wings::Normal => (self.word_count(), self.topics()),
            crate::Wings::RateAdapting => (self.topics(), self.word_count()),
        }
    }
}

/// A state of the enumerated layer.
struct State<'a> {
    x: &'a [f64],
    log_p: f64,       // of the unnormalised probability
    means: &'a [f64], // of topics, P⁻¹ c; rate adapting, of words
}

impl<T: Real, S: AsRef<[T]>> Harmonium<T, S> {
    /// `log Z` of the visible layer, in nats: of `p*(x, z)` as [`Harmonium::log_unnormalised`] has it, with topics
    /// integrated out and features integrated over. Rate adapting, of the joint, which is the same.
    ///
    /// Enumerates words, or the topics of a rate adapting model: at most 2²⁶ states. `scratch`: at least
    /// [`Shape::exact_scratch_len`].
    ///
    /// # Errors
    /// [`HarmoniumError::TooManyStates`], [`HarmoniumError::Scratch`], [`HarmoniumError::NotPositiveDefinite`].
    /// # Source
    /// Eqs. 33 and 35 of the Bayesian exponential family harmonium paper (BEFH).
    pub fn log_partition(&self, scratch: &mut [f64]) -> Result<f64, HarmoniumError> {
        // Rescaled whenever a larger term comes.
        let (mut largest, mut sum) = (f64::NEG_INFINITY, 0.0);
        self.visit(scratch, |state| {
            if state.log_p > largest {
                (sum, largest) = (sum * exp(largest - state.log_p) + 1.0, state.log_p);
            } else {
                sum += exp(state.log_p - largest);
            }
        })?;
        Ok(largest + ln(sum))
    }

    /// `log Z` of words, features and topics together: with normal topics `(J/2) log 2π` more than
    /// [`Harmonium::log_partition`].
    pub fn joint_log_partition(&self, log_partition: f64) -> f64 {
        if self.is_rate_adapting() {
            return log_partition;
        }
        log_partition + 0.5 * self.shape().topics() as f64 * ln(2.0 * core::f64::consts::PI)
    }

    /// The model's expectations `E[x]`, `E[x hᵀ]`, `E[z]` or `E[h]`, `E[z hᵀ]`, by enumeration; returns `log Z` as
    /// [`Harmonium::log_partition`]. `N` times them, taken from the data's sums, is the gradient of a log-likelihood.
    ///
    /// # Errors
    /// As [`Harmonium::log_partition`], and [`HarmoniumError::ShapeMismatch`].
    /// # Source
    /// Eqs. 16 and 17 of the Bayesian exponential family harmonium paper (BEFH).
    pub fn expectations<G: AsRef<[f64]> + AsMut<[f64]>>(
        &self,
        expectations: &mut Gradient<f64, G>,
        scratch: &mut [f64],
    ) -> Result<f64, HarmoniumError> {
        self.same_shape(expectations.shape())?;
        let log_partition = self.log_partition(scratch)?;
        let (topics, parts, poisson) = (self.shape().topics(), self.parts(), self.is_rate_adapting());
        let [alpha, w, beta, u] = expectations.parts_mut();
        for table in [&mut *alpha, &mut *w, &mut *beta, &mut *u] {
            table.fill(0.0);
        }
        self.visit(scratch, |state| {
            let p = exp(state.log_p - log_partition);
            if poisson {
                for ((&rate, alpha), w) in state.means.iter().zip(&mut *alpha).zip(w.chunks_exact_mut(topics))
                {
                    *alpha += p * rate;
                    w.iter_mut().zip(state.x).for_each(|(w, &h)| *w += p * rate * h);
                }
                beta.iter_mut().zip(state.x).for_each(|(beta, &h)| *beta += p * h);
                return;
            }
            for ((&x, alpha), w) in state.x.iter().zip(&mut *alpha).zip(w.chunks_exact_mut(topics)) {
                *alpha += p * x;
                w.iter_mut().zip(state.means).for_each(|(w, &mean)| *w += p * x * mean);
            }
            // E[z | x] = s (β + U E[h | x])
            let features = parts.u.chunks_exact(topics).zip(parts.beta).zip(parts.variances);
            for (((own, b), s), (beta, u)) in features.zip(beta.iter_mut().zip(u.chunks_exact_mut(topics))) {
                let dot = own.iter().zip(state.means).fold(b.wide(), |sum, (u, &h)| sum + u.wide() * h);
                let z = s.wide() * dot;
                *beta += p * z;
                u.iter_mut().zip(state.means).for_each(|(u, &mean)| *u += p * z * mean);
            }
        })?;
        // What z and h share beyond their means, for any x: s U P⁻¹.
        if !u.is_empty() {
            let (factor, rest) = take(scratch, topics * topics)?;
            let (row, _) = take(rest, topics)?;
            row.fill(0.0);
            self.integrated_features(factor, row)?;
            for ((own, s), u) in
                parts.u.chunks_exact(topics).zip(parts.variances).zip(u.chunks_exact_mut(topics))
            {
                row.iter_mut().zip(own).for_each(|(x, u)| *x = u.wide());
                solve_lower(topics, factor, row);
                solve_upper(topics, factor, row);
                u.iter_mut().zip(&*row).for_each(|(u, &x)| *u += s.wide() * x);
            }
        }
        Ok(log_partition)
    }

    /// Calls `f` with every state of the words (rate adapting: of the topics) and the logarithm of its unnormalised
    /// probability, the other layers summed out. Probabilities are `exp(log_p - log_partition)`.
    ///
    /// # Errors
    /// As [`Harmonium::log_partition`].
    pub fn for_each_state(
        &self,
        scratch: &mut [f64],
        mut f: impl FnMut(&[f64], f64),
    ) -> Result<(), HarmoniumError> {
        self.visit(scratch, |state| f(state.x, state.log_p))
    }

    /// Depth first, so that a state costs what differs from the one before: level `i` of the stack holds bias and
    /// couplings of the first `i` units.
    fn visit(&self, scratch: &mut [f64], mut f: impl FnMut(State<'_>)) -> Result<(), HarmoniumError> {
        let (parts, shape) = (self.parts(), *self.shape());
        let ((digits, width), topics) = (shape.enumerated(), shape.topics());
        let states = parts.sizes.iter().try_fold(1_u64, |states, n| {
            states.checked_mul(n.wide() as u64 + 1).filter(|&states| states <= MOST_STATES)
        });
        states.ok_or(HarmoniumError::TooManyStates { limit: MOST_STATES })?;
        let (stack, rest) = take(scratch, (digits + 1) * (width + 1))?;
        let (x, rest) = take(rest, digits)?;
        let (sums, rest) = take(rest, width)?;
        let (p, _) = take(rest, topics * topics)?;
        let poisson = self.is_rate_adapting();
        let bias = if poisson { parts.beta } else { parts.alpha };
        let coupling = |digit: usize, k: usize| {
            parts.w[if poisson { k * topics + digit } else { digit * topics + k }].wide()
        };
        stack[..=width].fill(0.0);
        if poisson {
            stack[1..=width].iter_mut().zip(parts.alpha).for_each(|(sum, a)| *sum = a.wide());
        } else {
            stack[0] = self.integrated_features(p, &mut stack[1..=width])?;
        }
        x.fill(0.0);
        let mut from = 0;
        loop {
            for digit in from..digits {
                let (below, above) = stack[digit * (width + 1)..].split_at_mut(width + 1);
                let base = log_base(x[digit], Some(parts.sizes[digit].wide()));
                above[0] = below[0] + bias[digit].wide() * x[digit] + base;
                for k in 0..width {
                    above[k + 1] = below[k + 1] + coupling(digit, k) * x[digit];
                }
            }
            let [linear, top @ ..] = &stack[digits * (width + 1)..] else { return Ok(()) };
            sums.copy_from_slice(&top[..width]);
            let mut log_p = *linear;
            if poisson {
                for rate in &mut *sums {
                    *rate = exp(*rate);
                    log_p += *rate;
                }
            } else {
                solve_lower(topics, p, sums);
                log_p += 0.5 * sums.iter().fold(0.0, |sum, c| sum + c * c);
                solve_upper(topics, p, sums);
            }
            f(State { x, log_p, means: sums });
            let Some(digit) = (0..digits).rev().find(|&i| x[i] < parts.sizes[i].wide()) else {
                return Ok(());
            };
            x[digit] += 1.0;
            x[digit + 1..].fill(0.0);
            from = digit;
        }
    }

    /// The factor of `P`, `Uᵀ(s∘β)`, and what integrating features and topics adds to `log Z`.
    fn integrated_features(&self, p: &mut [f64], start: &mut [f64]) -> Result<f64, HarmoniumError> {
        let (parts, topics) = (self.parts(), self.shape().topics());
        p.fill(0.0);
        p.iter_mut().step_by(topics + 1).for_each(|x| *x = 1.0);
        let mut constant = 0.0;
        for ((row, s), beta) in parts.u.chunks_exact(topics).zip(parts.variances).zip(parts.beta) {
            let (s, beta) = (s.wide(), beta.wide());
            constant += 0.5 * (s * beta * beta + ln(2.0 * core::f64::consts::PI * s));
            for (j, a) in row.iter().enumerate() {
                start[j] += s * beta * a.wide();
                for (k, b) in row.iter().enumerate() {
                    p[j * topics + k] -= s * a.wide() * b.wide();
                }
            }
        }
        if !cholesky(topics, p) {
            return Err(HarmoniumError::NotPositiveDefinite);
        }
        Ok((0..topics).fold(constant, |sum, j| sum - ln(p[j * topics + j])))
    }

    /// `log p(X | W) + log p(W)`, by enumeration: the exact posterior of small models, up to a constant.
    ///
    /// `topics`: `J` elements; `scratch` as for [`Harmonium::log_partition`].
    ///
    /// # Errors
    /// As [`Harmonium::log_partition`], [`Harmonium::log_likelihood`] and [`Prior::log_density`].
    pub fn log_posterior<B: Bags, P: AsRef<[T]>>(
        &self,
        bags: &B,
        features: &[T],
        prior: &Prior<T, P>,
        topics: &mut [T],
        scratch: &mut [f64],
    ) -> Result<f64, HarmoniumError> {
        let log_partition = self.log_partition(scratch)?;
        Ok(self.log_likelihood(bags, features, log_partition, topics)? + prior.log_density(self)?)
    }

    /// `log` of the plain Monte Carlo estimate of `Z_x` from standard normal `h` `[sample][J]`, for a single wing of
    /// normal topics: `mean Π (1 + exp(α_i + W_i·h))^{n_i}`.
    ///
    /// Unbiased before the logarithm, and with a relative variance exponential in the size of `V`:
    /// [`Harmonium::annealed_log_partition`] is better. `logs`: one element a sample, written.
    ///
    /// # Errors
    /// [`HarmoniumError::Wings`], [`HarmoniumError::Length`], [`HarmoniumError::Nothing`].
    /// # Source
    /// Eq. 36 of the Bayesian exponential family harmonium paper (BEFH).
    pub fn naive_log_partition(&self, h: &[f64], logs: &mut [f64]) -> Result<f64, HarmoniumError> {
        self.single_normal_wing()?;
        let (parts, topics) = (self.parts(), self.shape().topics());
        same_length("h", logs.len().saturating_mul(topics), h.len())?;
        if logs.is_empty() {
            return Err(HarmoniumError::Nothing { what: "samples" });
        }
        for (log, h) in logs.iter_mut().zip(h.chunks_exact(topics)) {
            *log = 0.0;
            for ((row, alpha), n) in parts.w.chunks_exact(topics).zip(parts.alpha).zip(parts.sizes) {
                let field = row.iter().zip(h).fold(alpha.wide(), |sum, (w, h)| sum + w.wide() * h);
                *log += n.wide() * softplus(field);
            }
        }
        Ok(log_sum_exp(logs) - ln(logs.len() as f64))
    }

    pub(crate) fn single_normal_wing(&self) -> Result<(), HarmoniumError> {
        if self.is_rate_adapting() || self.shape().features() > 0 {
            return Err(HarmoniumError::Wings { needs: "a single wing of normal topics" });
        }
        Ok(())
    }
}
