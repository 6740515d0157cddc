//! Distributions of one count, made from a natural parameter.

use countgrid_counts::{Bernoulli, Event, EventError, Gaussian, Linear, Poisson, Zip};
use countgrid_math::{Real, ln, ln_gamma};

use crate::EmissionModel;

/// Fisher information of a count about `f`, given `f`, `η` and `β`.
pub(crate) fn information<T: Real>(
    emission_model: EmissionModel,
    f: T,
    eta: T,
    precision: T,
) -> Result<T, EventError> {
    let ln_rate = f.min(highest_ln_rate());
    Ok(match emission_model {
        EmissionModel::Zip(_) => Zip::from_ln_rate(eta, ln_rate)?.information(),
        EmissionModel::Poisson => Poisson::from_ln_rate(ln_rate)?.information(),
        EmissionModel::Bernoulli => Bernoulli::from_logit(f)?.information(),
        EmissionModel::Multinomial => T::one(), // the other features decide
        EmissionModel::Gaussian => Gaussian::new(f, precision)?.information(),
    })
}

/// What of a document's log-likelihood no latent point changes: `-Σ ln t!` and its like.
pub(crate) fn base<T: Real>(
    emission_model: EmissionModel,
    features: usize,
    precision: T,
    exposure: T,
    values: impl Iterator<Item = (usize, T)> + Clone,
) -> f64 {
    let each = |term: &dyn Fn(T) -> f64| values.clone().map(|(_, t)| term(t)).fold(0.0, |sum, x| sum + x);
    match emission_model {
        EmissionModel::Zip(_) | EmissionModel::Poisson => {
            let Ok(emission_model) = Poisson::new(T::one()) else { return f64::NAN };
            let ln_exposure = if exposure == T::one() { 0.0 } else { ln(exposure.to_f64()) };
            // ln 0! = ln 1! = 0, and most counts are 1.
            let minus_ln_factorial =
                |t: T| if t == T::one() { 0.0 } else { emission_model.ln_base(t).to_f64() };
            each(&|t| minus_ln_factorial(t) + t.to_f64() * ln_exposure)
        }
        EmissionModel::Bernoulli => 0.0,
        EmissionModel::Multinomial => {
            // That of `counts::Multinomial`, in f64 for either type.
            let ln_factorial = |t: f64| if t == 1.0 { 0.0 } else { ln_gamma(t + 1.0) };
            ln_factorial(each(&|t| t.to_f64())) - each(&|t| ln_factorial(t.to_f64()))
        }
        EmissionModel::Gaussian => {
            let Ok(emission_model) = Gaussian::new(T::zero(), T::one()) else { return f64::NAN };
            let squares = values.map(|(_, x)| x.to_f64()).fold(0.0, |sum, x| sum + x * x);
            features as f64 * emission_model.ln_base(T::zero()).to_f64() - 0.5 * precision.to_f64() * squares
        }
    }
}

/// Rates beyond `e` to this would leave the range of `T`: half way up in its exponent.
pub(crate) fn highest_ln_rate<T: Real>() -> T {
    T::from_f64(0.5 * ln(T::max_value().to_f64()))
}
