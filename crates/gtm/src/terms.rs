//! The variational free energy of a document, term by term.

use countgrid_counts::{Bag, Count};
use countgrid_em::FreeEnergy;
use countgrid_math::{Real, ln};

use crate::{
    Documents, Emissions, GtmError,
    error::{long_enough, same_length},
};

/// By latent point: `q_k ln q_k`, `-q_k ln α_k` and `-q_k ln p(t | k)`, `[3][point]`, with the exact posterior `q` and
/// `0 ln 0 = 0`. They sum to `-ln p(t)`.
impl<T: Real, S: AsRef<[T]>, C: Count> FreeEnergy<Bag<'_, C>> for Emissions<T, S> {
    type Scalar = T;
    type Error = GtmError;

    fn term_count(&self, _: &Bag<'_, C>) -> usize {
        3 * self.shape().points()
    }

    fn scratch_len(&self, _: &Bag<'_, C>) -> usize {
        self.shape().posterior_scratch_len()
    }

    fn free_energy_terms(&self, bag: &Bag<'_, C>, terms: &mut [T], scratch: &mut [T]) -> Result<T, GtmError> {
        let points = self.shape().points();
        same_length("terms", 3 * points, terms.len())?;
        long_enough("scratch", self.shape().posterior_scratch_len(), scratch.len())?;
        let (entropy, rest) = terms.split_at_mut(points);
        let (prior, counts) = rest.split_at_mut(points);
        let documents = Documents::<_, T>::new(bag);
        self.log_joint(&documents, 0, counts, scratch)?;
        entropy.copy_from_slice(counts);
        let log_evidence = countgrid_math::softmax(entropy);
        let rows = entropy.iter_mut().zip(prior).zip(counts).zip(self.part("log_mixing"));
        for (((entropy, prior), counts), &log_mixing) in rows {
            let q = *entropy;
            if q > T::zero() {
                (*entropy, *prior, *counts) = (q * ln(q), -q * log_mixing, -q * (*counts - log_mixing));
            } else {
                (*entropy, *prior, *counts) = (T::zero(), T::zero(), T::zero());
            }
        }
        Ok(-log_evidence)
    }
}
