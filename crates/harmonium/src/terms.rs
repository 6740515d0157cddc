use countgrid_counts::{Bags, Count};
use countgrid_em::FreeEnergy;
use countgrid_math::Real;

use crate::{
    Harmonium, HarmoniumError,
    error::{long_enough, same_length, take},
    model::log_base,
    wide::Wide,
};

/// How the terms of a document's free energy are summed into groups; topics and the normaliser are the same in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// All words together `[1]`, topics `[J]`, normaliser `[1]`.
    #[default]
    Topic,
    /// Words `[M]`, topics `[J]`, normaliser `[1]`.
    Word,
}

/// The free energy of a document in named terms, which sum to `-log p(x)`: of a word `-α_i x_i - log C(n_i, x_i)` (rate
/// adapting `-α_i x_i + log x_i!`), of a topic `-½ (W_j·x)²` (rate adapting `-n_j softplus(β_j + W_j·x)`), and `log Z`.
///
/// The posterior of topics is exact, so the free energy is the negative log-likelihood. `log Z` is the same for every
/// document: 0 will do where features for a classifier are wanted. For single wings.
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_em::FreeEnergy;
/// use countgrid_harmonium::{Grouping, Harmonium, Shape, Terms};
///
/// let shape = Shape::words(2, 1)?;
/// let model = Harmonium::new(shape, [0.0, 0.5, 0.8, -0.3, 1.0, 1.0], &mut [])?;
/// let log_z = model.log_partition(&mut vec![0.0; shape.exact_scratch_len()])?;
/// let terms = Terms::new(&model, Grouping::Topic, log_z)?;
/// let mut values = [0.0; 3];
/// let free_energy = terms.free_energy_terms(&Bag::new(2, &[1], &[1_u8])?, &mut values, &mut [0.0])?;
/// assert_eq!(values, [-0.5, -0.5 * 0.3 * 0.3, log_z]);
/// assert_eq!(free_energy, values.iter().sum());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a, T, S> {
    model: &'a Harmonium<T, S>, // a single wing
    grouping: Grouping,
    log_partition: f64,
}

impl<'a, T: Real, S: AsRef<[T]>> Terms<'a, T, S> {
    /// Terms in this grouping, with the `log Z` of [`Harmonium::log_partition`] or an estimate of it.
    ///
    /// # Errors
    /// [`HarmoniumError::Wings`] for a dual wing; [`HarmoniumError::Setting`] if `log Z` is not finite.
    pub fn new(
        model: &'a Harmonium<T, S>,
        grouping: Grouping,
        log_partition: f64,
    ) -> Result<Self, HarmoniumError> {
        if model.shape().features() > 0 {
            return Err(HarmoniumError::Wings { needs: "a single wing" });
        }
        if !log_partition.is_finite() {
            return Err(HarmoniumError::Setting { name: "log_partition" });
        }
        Ok(Self { model, grouping, log_partition })
    }

    /// Number of terms of a document, whatever is in it.
    pub fn terms(&self) -> usize {
        let words = if self.grouping == Grouping::Word { self.model.shape().word_count() } else { 1 };
        words + self.model.shape().topics() + 1
    }

    /// Writes the terms of a document and returns their sum, the free energy in nats. `scratch`: at least `J` elements.
    ///
    /// # Errors
    /// [`HarmoniumError::Length`], [`HarmoniumError::Scratch`], and as [`Harmonium::topics`].
    pub fn bag_terms<B: Bags>(
        &self,
        bags: &B,
        document: usize,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, HarmoniumError> {
        let (model, parts) = (self.model, self.model.parts());
        same_length("terms", self.terms(), terms.len())?;
        long_enough(model.shape().topics(), scratch.len())?;
        // Checks the document, too.
        model.log_unnormalised(bags, document, &[], scratch)?;
        let (h, _) = take(scratch, model.shape().topics())?;
        let (words, rest) = take(terms, self.terms() - h.len() - 1)?;
        words.fill(T::zero());
        for (word, count) in bags.entries(document) {
            let x = count.to_real::<f64>();
            let size = if model.is_rate_adapting() { None } else { parts.sizes.get(word).map(|n| n.wide()) };
            let term = parts.alpha.get(word).map_or(0.0, |a| a.wide()) * x + log_base(x, size);
            let group = if self.grouping == Grouping::Word { word } else { 0 };
            if let Some(sum) = words.get_mut(group) {
                *sum -= T::from_f64(term);
            }
        }
        let (topics, normaliser) = take(rest, h.len())?;
        for (topic, term) in topics.iter_mut().enumerate() {
            *term = T::from_f64(-model.energy_of_topic(topic, h));
        }
        normaliser.fill(T::from_f64(self.log_partition));
        Ok(terms.iter().fold(T::zero(), |sum, &term| sum + term))
    }
}

impl<T: Real, S: AsRef<[T]>, B: Bags> FreeEnergy<B> for Terms<'_, T, S> {
    type Scalar = T;
    type Error = HarmoniumError;

    fn term_count(&self, _: &B) -> usize {
        self.terms()
    }
    fn scratch_len(&self, _: &B) -> usize {
        self.model.shape().topics()
    }
    /// Of the first document of `bag`.
    fn free_energy_terms(&self, bag: &B, terms: &mut [T], scratch: &mut [T]) -> Result<T, HarmoniumError> {
        self.bag_terms(bag, 0, terms, scratch)
    }
}
