use countgrid_harmonium::{add_rotated, align, align_scratch_len};
use countgrid_math::Real;

use super::{HarmoniumKind, HarmoniumParameters, chain::couplings};
use crate::{EstimatorError, Stored, blocks::zeros};

/// The mean of samples, each rotated to lie closest to the first; `None` if there are none. The parameters for which a
/// harmonium with normal topics has a normaliser are a convex set, so the mean has one.
pub(super) fn mean<T: Stored>(
    samples: &[&HarmoniumParameters<T>],
    kind: HarmoniumKind,
) -> Result<Option<HarmoniumParameters<T>>, EstimatorError> {
    let Some(&first) = samples.first() else { return Ok(None) };
    let (shape, topics) = (*first.shape(), first.shape().topics());
    let (reference, weight) = (couplings(first), 1.0 / samples.len() as f64);
    let mut rows = zeros::<T>(reference.len())?;
    let (mut rotation, mut scratch) = (zeros(topics * topics)?, zeros(align_scratch_len(topics))?);
    let (mut alphas, mut betas) = (vec![0.0; shape.word_count()], vec![0.0; first.beta().len()]);
    for sample in samples {
        let own = couplings(sample);
        // Binomial topics have no rotations to align by.
        let turn = match kind {
            HarmoniumKind::RateAdapting => None,
            _ => {
                align(&own, &reference, topics, &mut rotation, &mut scratch)?;
                Some(rotation.as_slice())
            }
        };
        add_rotated(&own, turn, topics, weight, &mut rows)?;
        for (sums, own) in [(&mut alphas, sample.alpha()), (&mut betas, sample.beta())] {
            sums.iter_mut().zip(own).for_each(|(sum, &x)| *sum += weight * Real::to_f64(x));
        }
    }
    let (w_mean, u_mean) = rows.split_at(shape.word_count() * topics);
    let mean = first.clone().update(&mut zeros(shape.precision_len())?, |[alpha, w, beta, u]| {
        alpha.iter_mut().zip(&alphas).for_each(|(own, &x)| *own = T::from_f64(x));
        beta.iter_mut().zip(&betas).for_each(|(own, &x)| *own = T::from_f64(x));
        w.copy_from_slice(w_mean);
        u.copy_from_slice(u_mean);
    })?;
    Ok(Some(mean))
}
