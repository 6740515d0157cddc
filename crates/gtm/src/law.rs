//! Laws of one count, made from a natural parameter.

use countgrid_counts::{Bernoulli, Event, EventError, Gaussian, Line, Linear, Poisson, Zip};
use countgrid_math::{Real, ln, ln_gamma};

use crate::Law;

/// What a law tells of one feature at one latent point, given `f`, `η` and `β`.
pub(crate) fn with<T: Real, R>(
    law: Law,
    f: T,
    eta: T,
    precision: T,
    of: impl Fn(Line<T>, T) -> R,
) -> Result<R, EventError> {
    let tell = |line, information| of(line, information);
    let f = if law.is_zip() || law == Law::Poisson { f.min(highest_ln_rate()) } else { f };
    Ok(match law {
        Law::Zip(_) => {
            let law = Zip::from_ln_rate(eta, f)?;
            tell(law.line(), law.information())
        }
        Law::Poisson => {
            let law = Poisson::from_ln_rate(f)?;
            tell(law.line(), law.information())
        }
        Law::Bernoulli => {
            let law = Bernoulli::from_logit(f)?;
            tell(law.line(), law.information())
        }
        // The other features decide what is missing, see `Emissions`.
        Law::Multinomial => tell(Line { zero: T::zero(), step: T::zero(), slope: f }, T::one()),
        Law::Gaussian => {
            let law = Gaussian::new(f, precision)?;
            tell(law.line(), law.information())
        }
    })
}

/// What of a document's log-likelihood no latent point changes: `-Σ ln t!` and its like.
pub(crate) fn base<T: Real>(
    law: Law,
    features: usize,
    precision: T,
    exposure: T,
    values: impl Iterator<Item = (usize, T)> + Clone,
) -> f64 {
    let each = |term: &dyn Fn(T) -> f64| values.clone().map(|(_, t)| term(t)).fold(0.0, |sum, x| sum + x);
    match law {
        Law::Zip(_) | Law::Poisson => {
            let Ok(law) = Poisson::new(T::one()) else { return f64::NAN };
            let ln_exposure = if exposure == T::one() { 0.0 } else { ln(exposure.to_f64()) };
            // ln 0! = ln 1! = 0, and most counts are 1.
            let minus_ln_factorial = |t: T| if t == T::one() { 0.0 } else { law.ln_base(t).to_f64() };
            each(&|t| minus_ln_factorial(t) + t.to_f64() * ln_exposure)
        }
        Law::Bernoulli => 0.0,
        Law::Multinomial => {
            // That of `counts::Multinomial`, in f64 for either type.
            let ln_factorial = |t: f64| if t == 1.0 { 0.0 } else { ln_gamma(t + 1.0) };
            ln_factorial(each(&|t| t.to_f64())) - each(&|t| ln_factorial(t.to_f64()))
        }
        Law::Gaussian => {
            let Ok(law) = Gaussian::new(T::zero(), T::one()) else { return f64::NAN };
            features as f64 * law.ln_base(T::zero()).to_f64()
                - 0.5 * precision.to_f64() * each(&|x| x.to_f64() * x.to_f64())
        }
    }
}

/// Rates beyond `e` to this would leave the range of `T`: half way up in its exponent.
pub(crate) fn highest_ln_rate<T: Real>() -> T {
    T::from_f64(0.5 * ln(T::max_value().to_f64()))
}
