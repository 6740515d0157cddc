use countgrid_math::{Real, ln, sqrt};

use crate::{ClassifyError, error::same_length};

/// The Kullback-Leibler divergence `Σ_i p_i log(p_i / q_i)` in nats, infinite where `q` excludes what `p` has.
///
/// # Errors
/// [`ClassifyError::Length`].
pub fn kullback_leibler<T: Real>(p: &[T], q: &[T]) -> Result<T, ClassifyError> {
    same_length("q", p.len(), q.len())?;
    let mut sum = T::zero();
    for (&p, &q) in p.iter().zip(q) {
        sum += if p > T::zero() { p * (ln(p) - ln(q)) } else { T::zero() };
    }
    Ok(sum)
}

/// The Hellinger distance `sqrt(½ Σ_i (√p_i - √q_i)²)`, in `[0, 1]` for distributions.
///
/// # Errors
/// [`ClassifyError::Length`].
pub fn hellinger<T: Real>(p: &[T], q: &[T]) -> Result<T, ClassifyError> {
    same_length("q", p.len(), q.len())?;
    let mut sum = T::zero();
    for (&p, &q) in p.iter().zip(q) {
        let apart = sqrt(p) - sqrt(q);
        sum += apart * apart;
    }
    Ok(sqrt(sum / T::from_f64(2.0)))
}
