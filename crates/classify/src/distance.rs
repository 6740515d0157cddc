use countgrid_math::{Real, ln, sqrt};

use crate::{ClassifyError, error::same_length};

/// The Kullback-Leibler divergence `Σ_i p_i log(p_i / q_i)` in nats, infinite where `q` excludes what `p` has.
///
/// ```
/// use countgrid_classify::kullback_leibler;
/// let (fair, loaded) = ([0.5f64, 0.5], [0.25, 0.75]);
/// assert!((kullback_leibler(&fair, &loaded)? - 0.143841).abs() < 1e-6);
/// assert_eq!(kullback_leibler(&fair, &[1.0, 0.0])?, f64::INFINITY);
/// # Ok::<(), countgrid_classify::ClassifyError>(())
/// ```
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
/// ```
/// use countgrid_classify::hellinger;
/// assert_eq!(hellinger(&[1.0f64, 0.0], &[0.0, 1.0])?, 1.0);
/// assert!((hellinger(&[0.5f64, 0.5], &[0.25, 0.75])? - 0.184592).abs() < 1e-6);
/// # Ok::<(), countgrid_classify::ClassifyError>(())
/// ```
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
