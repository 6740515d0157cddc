//! A symmetric Dirichlet parameter.

use crate::{digamma, exp, ln, trigamma};

/// The range in which it is looked for: beyond it the bound, a difference of `ln Γ`, would lose too many digits.
const LEAST: f64 = 1e-6;
const MOST: f64 = 1e4;
/// The logarithm is found when it changes by no more.
const CLOSE: f64 = 1e-12;
/// More than are ever needed.
const STEPS: usize = 200;

/// The symmetric Dirichlet parameter `alpha`, from 1e-6 to 1e4, that maximises
///
/// ```text
/// D (ln Γ(K alpha) - K ln Γ(alpha)) + (alpha - 1) Σ_dk E[ln theta_dk]
/// ```
///
/// over `D` draws of `K = components` proportions, for `mean` `= Σ_dk E[ln theta_dk] / (D K)`, by Newton's method in
/// `u = ln alpha` from `start`. The objective has one maximum, so the sign of its derivative shows on which side `u` lies;
/// a step that leaves what is left of the range halves it. With one component nothing depends on it and it is `start`.
///
/// ```
/// use countgrid_math::{digamma, symmetric_dirichlet};
/// let mean = digamma(0.3_f64) - digamma(5.0 * 0.3); // E[ln theta] of five components under alpha = 0.3
/// assert!((symmetric_dirichlet(5, mean, 1.0) - 0.3).abs() < 1e-10);
/// ```
///
/// # Source
/// Blei et al. 2003, appendix A.4.2, in the logarithm so that `alpha` stays positive.
#[must_use]
pub fn symmetric_dirichlet(components: usize, mean: f64, start: f64) -> f64 {
    if components == 1 {
        return start; // nothing depends on it
    }
    search(components as f64, mean, start).0
}

/// The parameter, and in how many steps it was found.
fn search(components: f64, mean: f64, start: f64) -> (f64, usize) {
    let (mut low, mut high) = (ln(LEAST), ln(MOST));
    let mut u = ln(start.clamp(LEAST, MOST));
    for step in 1..=STEPS {
        let alpha = exp(u);
        let slope = digamma(components * alpha) - digamma(alpha) + mean;
        let bend = components * trigamma(components * alpha) - trigamma(alpha);
        // d/du = alpha slope, d²/du² = alpha slope + alpha² bend
        (low, high) = if slope > 0.0 { (u, high) } else { (low, u) };
        let newton = u - slope / (slope + alpha * bend);
        if (newton - u).abs() <= CLOSE {
            return (exp(newton.clamp(ln(LEAST), ln(MOST))), step); // before rounding takes it out of what is left
        }
        let next = if newton > low && newton < high { newton } else { low + 0.5 * (high - low) };
        let change = (next - u).abs();
        u = next;
        if change <= CLOSE {
            return (exp(u), step);
        }
    }
    (exp(u), STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_vanishes_and_the_start_does_not_matter() {
        for topics in [2, 5, 64] {
            for alpha in [0.01, 0.3, 1.0, 20.0] {
                // E[ln theta] under the prior itself is met by that prior.
                let mean = digamma(alpha) - digamma(topics as f64 * alpha);
                for start in [1e-9, 0.1, 1.0, 1e9] {
                    let found = symmetric_dirichlet(topics, mean, start);
                    // The slope is off by some 8 ulp of ψ(alpha), |bend| is at least 1 / (2 alpha²) (1 - 1/K).
                    let allowed = 1e-15 * (mean.abs() + 10.0) * 4.0 * alpha.max(1.0) + 1e-11;
                    assert!((found / alpha - 1.0).abs() <= allowed, "{topics} {alpha} {start}: {found}");
                }
            }
        }
    }

    /// Newton's method, which doubles the digits near the maximum, also takes the last step: nothing is halved for want of what
    /// rounding leaves of the range.
    #[test]
    fn few_steps_are_needed() {
        for components in [2.0, 5.0, 64.0, 1e3, 1e5] {
            for power in -12..=8 {
                let alpha = exp(f64::from(power));
                let mean = digamma(alpha) - digamma(components * alpha);
                for off in [-9.0, -2.5, -1.0, -0.1, 0.1, 1.0, 2.5, 9.0] {
                    let (_, steps) = search(components, mean, alpha * exp(off));
                    assert!(steps <= 20, "{components} {alpha:e} {off}: {steps}");
                }
            }
        }
    }

    #[test]
    fn documents_of_even_proportions_end_at_the_range() {
        assert!(symmetric_dirichlet(4, -ln(4.0), 1.0) > 0.999 * MOST);
        assert!(symmetric_dirichlet(4, -1e30, 1.0) < 1.001 * LEAST);
    }
}
