use countgrid_counts::{Bag, Bags, Count, Length};
use countgrid_em::FreeEnergy;
use countgrid_math::Real;

use crate::{
    Harmonium, HarmoniumError,
    error::{same_length, take},
    model::log_base,
    wide::Wide,
};

/// How the terms of a document's free energy are summed into groups; topics and the normaliser are the same in both.
/// The block of features is that of a dual wing; a single wing has none.
///
/// Example: [`Terms`](crate::Terms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Grouping {
    /// All words together `[1]`, all features together `[1]`, topics `[J]`, normaliser `[1]`.
    #[default]
    Topic,
    /// Words `[M]`, features `[C]`, topics `[J]`, normaliser `[1]`.
    Word,
}

/// A document of both wings: the counts of its words, and its features, which are numbers of any sign.
///
/// ```
/// use countgrid_counts::{Bag, Length};
/// use countgrid_harmonium::Document;
/// let document = Document::new(Bag::new(2, &[1], &[3_u8])?, &[0.5, -1.25])?;
/// assert_eq!(document.length(), 3.0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Document<'a, C, T> {
    words: Bag<'a, C>,
    features: &'a [T], // finite
}

impl<'a, C: Count, T: Real> Document<'a, C, T> {
    /// A document of these words `[M]` and features `[C]`.
    ///
    /// # Errors
    /// [`HarmoniumError::NotFinite`].
    pub fn new(words: Bag<'a, C>, features: &'a [T]) -> Result<Self, HarmoniumError> {
        if let Some(index) = features.iter().position(|z| !z.is_finite()) {
            return Err(HarmoniumError::NotFinite { table: "features", index });
        }
        Ok(Self { words, features })
    }
    /// The words.
    #[must_use]
    pub fn words(&self) -> &Bag<'a, C> {
        &self.words
    }
    /// The features.
    #[must_use]
    pub fn features(&self) -> &'a [T] {
        self.features
    }
}

/// Tokens of the words: features have no number of occurrences.
impl<C: Count, T: Real> Length for Document<'_, C, T> {
    fn length(&self) -> f64 {
        self.words.length()
    }
}

/// The free energy of a document in named terms, which sum to `-log p(x)`: of a word `-α_i x_i - log C(n_i, x_i)` (rate
/// adapting `-α_i x_i + log x_i!`), of a feature `-β_c z_c + ½ z_c² / s_c`, of a topic `-½ (W_j·x + U_j·z)²` (rate adapting
/// `-n_j softplus(β_j + W_j·x)`), and `log Z`.
///
/// The posterior of topics is exact, so the free energy is the negative log-likelihood. `log Z` is the same for every
/// document: 0 will do where features for a classifier are wanted.
///
/// The datum of a single wing is a [`Bag`]. That of a dual wing is a [`Document`], a bag and its features; of a single wing
/// it may be a document without features.
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_em::FreeEnergy;
/// use countgrid_harmonium::{Document, Grouping, Harmonium, Shape, Terms};
///
/// let shape = Shape::words(2, 1)?;
/// let model = Harmonium::new(shape, [0.0, 0.5, 0.8, -0.3, 1.0, 1.0], &mut [])?;
/// let log_z = model.log_partition(&mut vec![0.0; shape.exact_scratch_len()])?;
/// let terms = Terms::new(&model, Grouping::Topic, log_z)?;
/// let mut values = [0.0; 3];
/// let bag = Bag::new(2, &[1], &[1_u8])?;
/// let free_energy = terms.free_energy_terms(&bag, &mut values, &mut [0.0])?;
/// assert_eq!(values, [-0.5, -0.5 * 0.3 * 0.3, log_z]);
/// assert_eq!(free_energy, values.iter().sum());
///
/// // The same words, and a feature of bias 0.25, variance 1 and coupling 0.5.
/// let tables = [0.0, 0.5, 0.8, -0.3, 1.0, 1.0, 0.25, 1.0, 0.5];
/// let model = Harmonium::new(Shape::dual_wing(2, 1, 1)?, tables, &mut [0.0])?;
/// let terms = Terms::new(&model, Grouping::Topic, 0.0)?;
/// let mut values = [0.0; 4];
/// terms.free_energy_terms(&Document::new(bag, &[2.0])?, &mut values, &mut [0.0])?;
/// assert_eq!(values, [-0.5, -0.5 + 2.0, -0.5 * 0.7 * 0.7, 0.0]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a, T, S> {
    model: &'a Harmonium<T, S>,
    grouping: Grouping,
    log_partition: f64, // finite
}

impl<'a, T: Real, S: AsRef<[T]>> Terms<'a, T, S> {
    /// Terms in this grouping, with the `log Z` of [`Harmonium::log_partition`] or an estimate of it.
    ///
    /// # Errors
    /// [`HarmoniumError::Setting`] if `log Z` is not finite.
    pub fn new(
        model: &'a Harmonium<T, S>,
        grouping: Grouping,
        log_partition: f64,
    ) -> Result<Self, HarmoniumError> {
        if !log_partition.is_finite() {
            return Err(HarmoniumError::Setting { name: "log_partition" });
        }
        Ok(Self { model, grouping, log_partition })
    }

    /// Terms of the words, and of the features.
    fn blocks(&self) -> (usize, usize) {
        let shape = self.model.shape();
        match self.grouping {
            Grouping::Topic => (1, shape.features().min(1)),
            Grouping::Word => (shape.word_count(), shape.features()),
        }
    }

    fn count(&self) -> usize {
        let (words, features) = self.blocks();
        words + features + self.model.shape().topics() + 1
    }

    fn of_wings<C: Count>(
        &self,
        bag: &Bag<'_, C>,
        features: &[T],
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, HarmoniumError> {
        let (model, parts) = (self.model, self.model.parts());
        same_length("terms", self.count(), terms.len())?;
        // Checks the document and the scratch.
        model.log_unnormalised(bag, 0, features, scratch)?;
        let (h, _) = take(scratch, model.shape().topics())?;
        let (of_words, of_features) = self.blocks();
        let (words, rest) = take(terms, of_words)?;
        words.fill(T::zero());
        for (word, count) in bag.entries(0) {
            let x = count.to_real::<f64>();
            let size = if model.is_rate_adapting() { None } else { parts.sizes.get(word).map(|n| n.wide()) };
            let term = parts.alpha.get(word).map_or(0.0, |a| a.wide()) * x + log_base(x, size);
            let group = if self.grouping == Grouping::Word { word } else { 0 };
            if let Some(sum) = words.get_mut(group) {
                *sum -= T::from_f64(term);
            }
        }
        let (own, rest) = take(rest, of_features)?;
        own.fill(T::zero());
        for (feature, ((&z, &beta), &s)) in features.iter().zip(parts.beta).zip(parts.variances).enumerate() {
            let (z, beta, s) = (z.wide(), beta.wide(), s.wide());
            let group = if self.grouping == Grouping::Word { feature } else { 0 };
            if let Some(sum) = own.get_mut(group) {
                *sum -= T::from_f64(beta * z - 0.5 * z * z / s);
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

impl<T: Real, S: AsRef<[T]>, C: Count> FreeEnergy<Bag<'_, C>> for Terms<'_, T, S> {
    type Scalar = T;
    type Error = HarmoniumError;

    fn term_count(&self, _: &Bag<'_, C>) -> usize {
        self.count()
    }
    fn scratch_len(&self, _: &Bag<'_, C>) -> usize {
        self.model.shape().topics()
    }
    /// # Errors
    /// [`HarmoniumError::Wings`] under a dual wing; [`HarmoniumError::Length`], [`HarmoniumError::Scratch`], and as
    /// [`Harmonium::topics`].
    fn free_energy_terms(
        &self,
        bag: &Bag<'_, C>,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, HarmoniumError> {
        if self.model.shape().features() > 0 {
            return Err(HarmoniumError::Wings { needs: "a single wing" });
        }
        self.of_wings(bag, &[], terms, scratch)
    }
}

/// Of both wings.
impl<T: Real, S: AsRef<[T]>, C: Count> FreeEnergy<Document<'_, C, T>> for Terms<'_, T, S> {
    type Scalar = T;
    type Error = HarmoniumError;

    fn term_count(&self, _: &Document<'_, C, T>) -> usize {
        self.count()
    }
    fn scratch_len(&self, _: &Document<'_, C, T>) -> usize {
        self.model.shape().topics()
    }
    /// # Errors
    /// [`HarmoniumError::Length`], [`HarmoniumError::Scratch`], and as [`Harmonium::topics`].
    fn free_energy_terms(
        &self,
        document: &Document<'_, C, T>,
        terms: &mut [T],
        scratch: &mut [T],
    ) -> Result<T, HarmoniumError> {
        self.of_wings(&document.words, document.features, terms, scratch)
    }
}
