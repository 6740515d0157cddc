use core::{marker::PhantomData, ops::Range};

use countgrid_counts::{Bags, Count};
use countgrid_em::{Table, Tables, TablesMut};
use countgrid_math::{Real, ln_gamma};
use rand_core::Rng;

use crate::{LdaError, Shape, error::same_length};

/// The parameters of a model: tables `beta` `[feature][topic]` and `alpha` `[topic]`, one buffer.
///
/// Every column of `beta` (one topic, all features) is a distribution; `alpha` is the parameter of the Dirichlet prior
/// of a document's proportions, symmetric or not. An entry of `beta` below [`Real::FLOOR`] counts as zero, and a feature
/// that no topic has counts as one that every topic has with a probability of the floor.
///
/// The storage is the caller's: an array, a `&'static` table, a borrowed buffer, a `Vec`.
///
/// ```
/// use countgrid_lda::{Lda, Shape};
/// static TABLES: [f32; 8] = [0.5, 0.1, 0.25, 0.1, 0.25, 0.8, 0.3, 0.3]; // beta of three features, alpha
/// let model = Lda::new(Shape::new(2, 3)?, TABLES.as_slice())?;
/// assert_eq!((model.row(2), model.alpha()), (&[0.25, 0.8][..], &[0.3, 0.3][..]));
/// # Ok::<(), countgrid_lda::LdaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Lda<T, S> {
    shape: Shape,
    layout: [Table; 2],
    storage: S, // of length `shape.model_len()`
    scalar: PhantomData<T>,
}

impl<T: Real, S: AsRef<[T]>> Lda<T, S> {
    /// A model from its tables, `beta` and then `alpha`.
    ///
    /// # Errors
    /// [`LdaError::Length`]; [`LdaError::Probability`] for an entry of `beta` that is negative or not finite;
    /// [`LdaError::NotNormalised`] for a sum further from one than `V` roundings explain, but at least 1e-3, which
    /// allows for tables printed with few digits; [`LdaError::Alpha`] unless `FLOOR ≤ alpha ≤ 1 / FLOOR / K`.
    pub fn new(shape: Shape, storage: S) -> Result<Self, LdaError> {
        let model = Self::unchecked(shape, storage)?;
        model.check()?;
        Ok(model)
    }

    fn unchecked(shape: Shape, storage: S) -> Result<Self, LdaError> {
        same_length("model", shape.model_len(), storage.as_ref().len())?;
        let layout =
            [Table::new("beta", shape.features(), shape.topics()), Table::new("alpha", 1, shape.topics())];
        Ok(Self { shape, layout, storage, scalar: PhantomData })
    }

    /// Whether the tables are what [`Lda::new`] asks for; [`TablesMut::buffer_mut`] can make them anything.
    ///
    /// # Errors
    /// Those of [`Lda::new`].
    pub fn check(&self) -> Result<(), LdaError> {
        let topics = self.shape.topics();
        for (feature, row) in self.beta().chunks_exact(topics).enumerate() {
            if let Some(topic) = row.iter().position(|&p| !(p >= T::zero() && p.is_finite())) {
                return Err(LdaError::Probability { feature, topic });
            }
        }
        let allowed = (self.shape.features() as f64 * T::UNIT_ROUNDOFF.to_f64()).max(1e-3);
        for topic in 0..topics {
            let sum = self.beta().iter().skip(topic).step_by(topics).fold(0.0, |sum, &p| sum + p.to_f64());
            if !((sum - 1.0).abs() <= allowed) {
                return Err(LdaError::NotNormalised { topic });
            }
        }
        match parameters_out_of_range(self.alpha()) {
            Some(topic) => Err(LdaError::Alpha { topic }),
            None => Ok(()),
        }
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// `beta` as `[feature][topic]`, and `alpha`.
    pub fn tables(&self) -> (&[T], &[T]) {
        let tables = self.storage.as_ref();
        tables.split_at(tables.len().saturating_sub(self.shape.topics()))
    }

    /// `beta` `[feature][topic]`.
    pub fn beta(&self) -> &[T] {
        self.tables().0
    }

    /// `alpha` `[topic]`.
    pub fn alpha(&self) -> &[T] {
        self.tables().1
    }

    /// One feature's probability in every topic; empty for a feature that the model does not have.
    #[inline(always)]
    pub fn row(&self, feature: usize) -> &[T] {
        row(self.beta(), self.shape.topics(), feature)
    }

    /// `ln Γ(Σ alpha) - Σ ln Γ(alpha_k)`, which all documents share.
    pub(crate) fn ln_normaliser(&self) -> f64 {
        let (mut total, mut sum) = (0.0, 0.0);
        for &alpha in self.alpha() {
            let alpha = alpha.to_f64();
            (total, sum) = (total + alpha, sum + ln_gamma(alpha));
        }
        ln_gamma(total) - sum
    }

    pub(crate) fn same_features<B: Bags>(&self, bags: &B) -> Result<(), LdaError> {
        let (expected, found) = (self.shape.features(), bags.features());
        if expected == found { Ok(()) } else { Err(LdaError::Features { expected, found }) }
    }
}

/// One feature's row of a table `[feature][topic]`; empty out of range.
#[inline(always)]
pub(crate) fn row<T>(table: &[T], topics: usize, feature: usize) -> &[T] {
    table.get(span(topics, feature)).unwrap_or_default()
}

/// Where it lies; out of range, beyond the end of any table.
#[inline(always)]
pub(crate) fn span(topics: usize, feature: usize) -> Range<usize> {
    let start = feature.saturating_mul(topics);
    start..start.saturating_add(topics)
}

/// The first of some Dirichlet parameters whose gamma functions, or whose sum, would leave the range of the type.
pub(crate) fn parameters_out_of_range<T: Real>(parameters: &[T]) -> Option<usize> {
    let most = T::one() / T::FLOOR / T::from_f64(parameters.len() as f64);
    parameters.iter().position(|&x| !(x >= T::FLOOR && x <= most))
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Lda<T, S> {
    /// Equal topics and a symmetric `alpha` in the given storage, which is overwritten. A start for
    /// [`Lda::randomize`]: being symmetric, it is a fixed point of the fit.
    ///
    /// # Errors
    /// [`LdaError::Length`], [`LdaError::Alpha`].
    pub fn uniform_in(shape: Shape, storage: S, alpha: f64) -> Result<Self, LdaError> {
        let mut model = Self::unchecked(shape, storage)?;
        let (beta, parameters) = model.tables_mut();
        beta.fill(T::one() / T::from_f64(shape.features() as f64));
        parameters.fill(T::from_f64(alpha));
        model.check()?;
        Ok(model)
    }

    /// `beta` as `[feature][topic]`, and `alpha`.
    pub(crate) fn tables_mut(&mut self) -> (&mut [T], &mut [T]) {
        let (tables, beta) = (self.storage.as_mut(), self.shape.beta_len());
        tables.split_at_mut(beta.min(tables.len()))
    }

    /// Sets `alpha` `[topic]`.
    ///
    /// # Errors
    /// [`LdaError::Length`], [`LdaError::Alpha`], and nothing has changed.
    pub fn set_alpha(&mut self, alpha: &[T]) -> Result<(), LdaError> {
        same_length("alpha", self.shape.topics(), alpha.len())?;
        if let Some(topic) = parameters_out_of_range(alpha) {
            return Err(LdaError::Alpha { topic });
        }
        self.tables_mut().1.copy_from_slice(alpha);
        Ok(())
    }

    /// Draws every topic anew, bounded away from zero.
    ///
    /// Entries are `1 + uniform(0, 1)`, normalised over features: an entry of zero would stay zero. One 64-bit word an
    /// entry is drawn, feature by feature.
    pub fn randomize(&mut self, rng: &mut impl Rng) {
        let (beta, _) = self.tables_mut();
        beta.iter_mut().for_each(|p| *p = T::from_f64(1.0 + unit(rng)));
        self.normalise();
    }

    /// Makes every topic the counts of so many bags drawn at random, with repetition, plus as many tokens again spread
    /// evenly: topics that differ from the first iteration on. One 64-bit word a bag is drawn.
    ///
    /// # Errors
    /// [`LdaError::Features`]; [`LdaError::NoSuchBag`] if there is none; [`LdaError::Overflow`]; nothing has changed.
    /// # Source
    /// The seeded start of Blei's program, `lda-c`.
    pub fn seed<B: Bags>(&mut self, bags: &B, each: usize, rng: &mut impl Rng) -> Result<(), LdaError> {
        self.same_features(bags)?;
        if bags.is_empty() {
            return Err(LdaError::NoSuchBag { bag: 0, bags: 0 });
        }
        let most = T::max_value().to_f64() / 8.0 / (each as f64 + 1.0);
        if let Some(bag) = (0..bags.len()).find(|&bag| !(bags.total(bag) <= most)) {
            return Err(LdaError::Overflow { bag });
        }
        let (topics, features) = (self.shape.topics(), self.shape.features());
        let (beta, _) = self.tables_mut();
        beta.fill(T::zero());
        for topic in 0..topics {
            let mut tokens = 0.0;
            for _ in 0..each {
                let bag = (unit(rng) * bags.len() as f64) as usize;
                for (feature, count) in bags.entries(bag) {
                    if let Some(p) = beta.get_mut(span(topics, feature)).and_then(|row| row.get_mut(topic)) {
                        *p += count.to_real();
                    }
                }
                tokens += bags.total(bag);
            }
            let even = if tokens > 0.0 { tokens } else { 1.0 } / features as f64;
            beta.iter_mut().skip(topic).step_by(topics).for_each(|p| *p += T::from_f64(even));
        }
        self.normalise();
        Ok(())
    }

    /// Divides every topic by its sum, which is positive.
    fn normalise(&mut self) {
        let topics = self.shape.topics();
        let (beta, _) = self.tables_mut();
        for topic in 0..topics {
            let sum = beta.iter().skip(topic).step_by(topics).fold(0.0, |sum, &p| sum + p.to_f64());
            beta.iter_mut().skip(topic).step_by(topics).for_each(|p| *p = T::from_f64(p.to_f64() / sum));
        }
    }
}

/// Uniform in `[0, 1)`: the upper 53 bits of a word.
fn unit(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(feature = "alloc")]
impl<T: Real> Lda<T, countgrid_math::AlignedVec<T>> {
    /// Equal topics in memory that it allocates.
    ///
    /// # Errors
    /// [`LdaError::TooLarge`] if the allocator refuses; [`LdaError::Alpha`].
    pub fn uniform(shape: Shape, alpha: f64) -> Result<Self, LdaError> {
        Self::uniform_in(shape, crate::statistics::allocate(&shape, shape.model_len())?, alpha)
    }
}

impl<T: Real, S: AsRef<[T]>> Tables for Lda<T, S> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        &self.layout
    }

    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for Lda<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.storage.as_mut()
    }
}
