use core::marker::PhantomData;

use countgrid_counts::{Bags, Count};
use countgrid_em::{Table, Tables, TablesMut};
use countgrid_math::{Real, ln_gamma, sigmoid, softplus};

use crate::{
    HarmoniumError, Noise, Shape, Wings,
    draw::LARGEST,
    error::{same_length, take},
    linear::{cholesky, solve_lower, solve_upper},
    wide::Wide,
};

/// The parameters of a harmonium, one buffer of the tables
///
/// | table | rows × columns | |
/// |---|---|---|
/// | `alpha` | 1 × M | biases of words |
/// | `w` | M × J | couplings of words and topics |
/// | `sizes` | 1 × M | binomial sizes of words; 1 × J, of topics, if rate adapting |
/// | `beta` | 1 × C | biases of features; 1 × J, of topics, if rate adapting; else absent |
/// | `variances` | 1 × C | `s`, of features; absent for a single wing |
/// | `u` | C × J | couplings of features and topics; absent for a single wing |
///
/// With normal topics, `p(x, z, h) ∝ Π C(n_i, x_i) exp(αᵀx + βᵀz - ½ Σ z²/s + xᵀWh + zᵀUh - ½ hᵀh)`; rate adapting,
/// `p(x, h) ∝ Π 1/x_i! Π C(n_j, h_j) exp(αᵀx + βᵀh + xᵀWh)`.
///
/// The storage is the caller's: an array, a `&'static` table, a borrowed buffer, a `Vec`.
///
/// ```
/// use countgrid_counts::Bag;
/// use countgrid_harmonium::{Harmonium, Shape};
///
/// static TABLES: [f32; 9] = [-1.0, 0.5, 0.0, /* w */ 0.5, -0.25, 1.0, /* sizes */ 1.0, 1.0, 1.0];
/// let model = Harmonium::new(Shape::words(3, 1)?, TABLES.as_slice(), &mut [])?;
/// let mut topics = [0.0];
/// model.topics(&Bag::new(3, &[0, 2], &[1_u8, 1])?, 0, &[], &mut topics)?;
/// assert_eq!(topics, [1.5]); // E[h | x] = Wᵀx
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Source
/// Welling, Rosen-Zvi & Hinton 2004; Xing, Yan & Hauptmann 2005; Gehler, Holub & Welling 2006: see [the crate](crate).
#[derive(Clone, Copy, Debug)]
pub struct Harmonium<T, S> {
    shape: Shape,
    layout: [Table; 6],
    storage: S, // of length `shape.model_len()`
    scalar: PhantomData<T>,
}

/// The tables of a model.
pub(crate) struct Parts<'a, T> {
    pub(crate) alpha: &'a [T],
    pub(crate) w: &'a [T],
    pub(crate) sizes: &'a [T],
    pub(crate) beta: &'a [T],
    pub(crate) variances: &'a [T],
    pub(crate) u: &'a [T],
}

impl<T: Real, S: AsRef<[T]>> Harmonium<T, S> {
    /// A model from its tables. `scratch`: [`Shape::precision_len`] elements, none for a single wing.
    ///
    /// # Errors
    /// [`HarmoniumError::Length`], [`HarmoniumError::NotFinite`], [`HarmoniumError::Size`],
    /// [`HarmoniumError::Variance`], [`HarmoniumError::Scratch`]; [`HarmoniumError::NotPositiveDefinite`] for a dual
    /// wing that has no normaliser.
    pub fn new(shape: Shape, storage: S, scratch: &mut [T]) -> Result<Self, HarmoniumError> {
        let model = Self::unchecked(shape, storage)?;
        let parts = model.parts();
        let finite = [("alpha", parts.alpha), ("w", parts.w), ("beta", parts.beta), ("u", parts.u)];
        for (table, elements) in finite {
            if let Some(index) = elements.iter().position(|x| !x.is_finite()) {
                return Err(HarmoniumError::NotFinite { table, index });
            }
        }
        let is_size = |n: f64| (1.0..=LARGEST).contains(&n) && n % 1.0 == 0.0;
        if let Some(index) = parts.sizes.iter().position(|n| !is_size(n.wide())) {
            return Err(HarmoniumError::Size { index });
        }
        if let Some(index) = parts.variances.iter().position(|&s| !(s > T::zero() && s.is_finite())) {
            return Err(HarmoniumError::Variance { index });
        }
        model.precision(parts.u, scratch)?;
        Ok(model)
    }

    fn unchecked(shape: Shape, storage: S) -> Result<Self, HarmoniumError> {
        same_length("harmonium", shape.model_len(), storage.as_ref().len())?;
        Ok(Self { shape, layout: shape.model_layout(), storage, scalar: PhantomData })
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    /// Biases of words `[M]`.
    pub fn alpha(&self) -> &[T] {
        self.parts().alpha
    }
    /// Couplings of words and topics `[M][J]`.
    pub fn w(&self) -> &[T] {
        self.parts().w
    }
    /// Binomial sizes, of words `[M]` or of the topics `[J]` of a rate adapting model.
    pub fn sizes(&self) -> &[T] {
        self.parts().sizes
    }
    /// Biases of features `[C]`, or of the topics `[J]` of a rate adapting model.
    pub fn beta(&self) -> &[T] {
        self.parts().beta
    }
    /// Variances of features `[C]`.
    pub fn variances(&self) -> &[T] {
        self.parts().variances
    }
    /// Couplings of features and topics `[C][J]`.
    pub fn u(&self) -> &[T] {
        self.parts().u
    }

    pub(crate) fn parts(&self) -> Parts<'_, T> {
        let shape = &self.shape;
        let mut rest = self.storage.as_ref();
        let mut next = |len: usize| {
            let (table, after) = rest.split_at(len.min(rest.len()));
            rest = after;
            table
        };
        let (words, topics, features) = (shape.word_count(), shape.topics(), shape.features());
        Parts {
            alpha: next(words),
            w: next(words * topics),
            sizes: next(shape.sizes_len()),
            beta: next(shape.beta_len()),
            variances: next(features),
            u: next(features * topics),
        }
    }

    pub(crate) fn is_rate_adapting(&self) -> bool {
        self.shape.wings() == Wings::RateAdapting
    }

    /// The Cholesky factor of `P = I - Uᵀ diag(s) U` `[J][J]`, for couplings `u` and the model's own `s`.
    pub(crate) fn precision<'a>(&self, u: &[T], scratch: &'a mut [T]) -> Result<&'a mut [T], HarmoniumError> {
        let (p, _) = take(scratch, self.shape.precision_len())?;
        if p.is_empty() {
            return Ok(p);
        }
        let topics = self.shape.topics();
        p.fill(T::zero());
        p.iter_mut().step_by(topics + 1).for_each(|x| *x = T::one());
        for (row, &s) in u.chunks_exact(topics).zip(self.parts().variances) {
            for (p, &a) in p.chunks_exact_mut(topics).zip(row) {
                p.iter_mut().zip(row).for_each(|(p, &b)| *p -= s * a * b);
            }
        }
        if cholesky(topics, p) { Ok(p) } else { Err(HarmoniumError::NotPositiveDefinite) }
    }

    /// Whether a batch is what the model can produce; counts within sizes, features finite.
    pub(crate) fn check_batch<B: Bags>(&self, bags: &B, features: &[T]) -> Result<(), HarmoniumError> {
        self.check_words(bags)?;
        let expected = bags.len().saturating_mul(self.shape.features());
        same_length("features", expected, features.len())?;
        if let Some(index) = features.iter().position(|z| !z.is_finite()) {
            return Err(HarmoniumError::NotFinite { table: "features", index });
        }
        (0..bags.len()).try_for_each(|document| self.check_counts(bags, document))
    }

    pub(crate) fn check_words<B: Bags>(&self, bags: &B) -> Result<(), HarmoniumError> {
        let (expected, found) = (self.shape.word_count(), bags.features());
        if expected == found { Ok(()) } else { Err(HarmoniumError::Words { expected, found }) }
    }

    fn check_counts<B: Bags>(&self, bags: &B, document: usize) -> Result<(), HarmoniumError> {
        let can_be = self.possible_counts();
        for (word, count) in bags.entries(document) {
            if !can_be(word, count.to_real()) {
                return Err(HarmoniumError::Count { document, word });
            }
        }
        Ok(())
    }

    /// Whether the model can produce so many of a word.
    pub(crate) fn possible_counts(&self) -> impl Fn(usize, T) -> bool + '_ {
        let (sizes, poisson) = (self.parts().sizes, self.is_rate_adapting());
        move |word, count| {
            let within = poisson || sizes.get(word).is_some_and(|&n| count <= n);
            within && count.is_finite() && count >= T::zero() && count % T::one() == T::zero()
        }
    }

    fn check_document<B: Bags>(
        &self,
        bags: &B,
        document: usize,
        features: &[T],
    ) -> Result<(), HarmoniumError> {
        self.check_words(bags)?;
        if document >= bags.len() {
            return Err(HarmoniumError::NoSuchDocument { document, documents: bags.len() });
        }
        same_length("features", self.shape.features(), features.len())?;
        self.check_counts(bags, document)
    }

    /// `Wᵀx + Uᵀz` of a checked document, `[J]`.
    #[inline(always)]
    pub(crate) fn activation<B: Bags>(&self, bags: &B, document: usize, features: &[T], h: &mut [T]) {
        let (parts, topics) = (self.parts(), self.shape.topics());
        h.fill(T::zero());
        for (word, count) in bags.entries(document) {
            let x = count.to_real::<T>();
            let row = parts.w.get(word * topics..(word + 1) * topics).unwrap_or_default();
            h.iter_mut().zip(row).for_each(|(h, &w)| *h += x * w);
        }
        for (row, &z) in parts.u.chunks_exact(topics).zip(features) {
            h.iter_mut().zip(row).for_each(|(h, &u)| *h += z * u);
        }
    }

    /// Expected topics of a document and its features, `E[h | x, z]` `[J]`: `Wᵀx + Uᵀz`, or rate adapting
    /// `n σ(β + Wᵀx)`.
    ///
    /// `features` `[C]` of this document; empty for a single wing.
    ///
    /// # Errors
    /// [`HarmoniumError::Words`], [`HarmoniumError::NoSuchDocument`], [`HarmoniumError::Length`],
    /// [`HarmoniumError::Count`].
    /// # Source
    /// Eq. 5 of the Bayesian exponential family harmonium paper (BEFH).
    pub fn topics<B: Bags>(
        &self,
        bags: &B,
        document: usize,
        features: &[T],
        h: &mut [T],
    ) -> Result<(), HarmoniumError> {
        self.check_document(bags, document, features)?;
        same_length("h", self.shape.topics(), h.len())?;
        self.activation(bags, document, features, h);
        self.to_means(T::one(), h);
        Ok(())
    }

    /// Expected topics of the words of a document alone, `E[h | x] = P⁻¹ (Wᵀx + Uᵀ(s∘β))` `[J]`; without features the
    /// same as [`Harmonium::topics`]. `scratch`: [`Shape::precision_len`] elements.
    ///
    /// # Errors
    /// As [`Harmonium::topics`], and [`HarmoniumError::Scratch`].
    pub fn topics_of_words<B: Bags>(
        &self,
        bags: &B,
        document: usize,
        h: &mut [T],
        scratch: &mut [T],
    ) -> Result<(), HarmoniumError> {
        let (parts, topics) = (self.parts(), self.shape.topics());
        if parts.u.is_empty() {
            return self.topics(bags, document, &[], h);
        }
        self.check_words(bags)?;
        if document >= bags.len() {
            return Err(HarmoniumError::NoSuchDocument { document, documents: bags.len() });
        }
        self.check_counts(bags, document)?;
        same_length("h", topics, h.len())?;
        let p = self.precision(parts.u, scratch)?;
        self.activation(bags, document, &[], h);
        for ((row, &s), &beta) in parts.u.chunks_exact(topics).zip(parts.variances).zip(parts.beta) {
            h.iter_mut().zip(row).for_each(|(h, &u)| *h += s * beta * u);
        }
        solve_lower(topics, p, h);
        solve_upper(topics, p, h);
        Ok(())
    }

    /// Activations become means of topics; couplings scaled by `scale`.
    #[inline]
    pub(crate) fn to_means(&self, scale: T, h: &mut [T]) {
        let parts = self.parts();
        if self.is_rate_adapting() {
            for ((h, &beta), &n) in h.iter_mut().zip(parts.beta).zip(parts.sizes) {
                *h = n * sigmoid(beta + scale * *h);
            }
        } else {
            h.iter_mut().for_each(|h| *h *= scale);
        }
    }

    /// `log p*(x, z)` of a document, in nats, `h` integrated out: up to the constant that
    /// [`Harmonium::log_partition`] computes.
    ///
    /// `αᵀx + Σ log C(n, x) + βᵀz - ½ Σ z²/s + ½ |Wᵀx + Uᵀz|²`; rate adapting
    /// `αᵀx - Σ log x! + Σ n softplus(β + Wᵀx)`. Sums over documents are in f64. `scratch`: `J` elements.
    ///
    /// # Errors
    /// As [`Harmonium::topics`], and [`HarmoniumError::Scratch`].
    /// # Source
    /// Eq. 33 of the Bayesian exponential family harmonium paper (BEFH).
    pub fn log_unnormalised<B: Bags>(
        &self,
        bags: &B,
        document: usize,
        features: &[T],
        scratch: &mut [T],
    ) -> Result<f64, HarmoniumError> {
        self.check_document(bags, document, features)?;
        let (h, _) = take(scratch, self.shape.topics())?;
        self.activation(bags, document, features, h);
        Ok(self.bias_energy(bags, document, features) + self.topic_energy(h))
    }

    /// The part of `log p*` without couplings.
    pub(crate) fn bias_energy<B: Bags>(&self, bags: &B, document: usize, features: &[T]) -> f64 {
        let (parts, poisson) = (self.parts(), self.is_rate_adapting());
        let mut sum = 0.0;
        for (word, count) in bags.entries(document) {
            let x = count.to_real::<f64>();
            let size = if poisson { None } else { parts.sizes.get(word).map(|n| n.wide()) };
            sum += parts.alpha.get(word).map_or(0.0, |a| a.wide()) * x + log_base(x, size);
        }
        for ((&z, &beta), &s) in features.iter().zip(parts.beta).zip(parts.variances) {
            let (z, beta, s) = (z.wide(), beta.wide(), s.wide());
            sum += beta * z - 0.5 * z * z / s;
        }
        sum
    }

    /// What topics add to `log p*`, from activations.
    pub(crate) fn topic_energy(&self, h: &[T]) -> f64 {
        (0..h.len()).fold(0.0, |sum, topic| sum + self.energy_of_topic(topic, h))
    }

    pub(crate) fn energy_of_topic(&self, topic: usize, h: &[T]) -> f64 {
        let parts = self.parts();
        let at = |table: &[T]| table.get(topic).map_or(0.0, |x| x.wide());
        let h = at(h);
        if self.is_rate_adapting() { at(parts.sizes) * softplus(at(parts.beta) + h) } else { 0.5 * h * h }
    }

    /// `Σ_t log p(x_t, z_t)` of a batch with the given [`Harmonium::log_partition`], in nats. `scratch`: `J` elements.
    ///
    /// # Errors
    /// As [`Harmonium::log_unnormalised`].
    pub fn log_likelihood<B: Bags>(
        &self,
        bags: &B,
        features: &[T],
        log_partition: f64,
        scratch: &mut [T],
    ) -> Result<f64, HarmoniumError> {
        self.check_batch(bags, features)?;
        let (h, _) = take(scratch, self.shape.topics())?;
        let mut sum = 0.0;
        for document in 0..bags.len() {
            let features = self.features_of(features, document);
            self.activation(bags, document, features, h);
            sum += self.bias_energy(bags, document, features) + self.topic_energy(h) - log_partition;
        }
        Ok(sum)
    }

    /// The features of one document, of a batch that was checked.
    pub(crate) fn features_of<'a>(&self, features: &'a [T], document: usize) -> &'a [T] {
        let count = self.shape.features();
        features.get(document * count..(document + 1) * count).unwrap_or_default()
    }
}

/// `log C(n, x)`, or `-log x!` without a size.
pub(crate) fn log_base(x: f64, size: Option<f64>) -> f64 {
    match size {
        Some(1.0) => 0.0,
        Some(n) => ln_gamma(n + 1.0) - ln_gamma(x + 1.0) - ln_gamma(n - x + 1.0),
        None => -ln_gamma(x + 1.0),
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> Harmonium<T, S> {
    /// Initial parameters for learning, in storage that is overwritten: couplings drawn from `N(0, spread²)`, biases 0,
    /// variances 1, every binomial size `size`.
    ///
    /// Couplings of exactly zero are a stationary point for any data.
    ///
    /// # Errors
    /// [`HarmoniumError::Length`], [`HarmoniumError::Size`]; [`HarmoniumError::Setting`] for a spread that is not
    /// finite and above zero; [`HarmoniumError::Scratch`], [`HarmoniumError::NotPositiveDefinite`] as
    /// [`Harmonium::new`].
    pub fn start(
        shape: Shape,
        storage: S,
        size: u32,
        spread: T,
        noise: &mut impl Noise<T>,
        scratch: &mut [T],
    ) -> Result<Self, HarmoniumError> {
        if !(spread > T::zero() && spread.is_finite()) {
            return Err(HarmoniumError::Setting { name: "spread" });
        }
        let mut model = Self::unchecked(shape, storage)?;
        let mut rest = model.storage.as_mut();
        let size = T::from_f64(f64::from(size));
        // Values of the tables in their order; couplings are drawn.
        let tables = [
            (shape.word_count(), Some(T::zero())),
            (shape.word_count() * shape.topics(), None),
            (shape.sizes_len(), Some(size)),
            (shape.beta_len(), Some(T::zero())),
            (shape.features(), Some(T::one())),
            (shape.features() * shape.topics(), None),
        ];
        for (len, value) in tables {
            let (table, after) = rest.split_at_mut(len.min(rest.len()));
            table.iter_mut().for_each(|x| *x = value.unwrap_or_else(|| spread * noise.normal()));
            rest = after;
        }
        Self::new(shape, model.storage, scratch)
    }

    /// The learned tables, in the order of [`crate::Gradient`]: `alpha`, `w`, `beta`, `u`.
    pub(crate) fn learned_mut(&mut self) -> [&mut [T]; 4] {
        let shape = self.shape;
        let (words, topics) = (shape.word_count(), shape.topics());
        let mut rest = self.storage.as_mut();
        let mut next = |len: usize| {
            let table = core::mem::take(&mut rest);
            let (table, after) = table.split_at_mut(len.min(table.len()));
            rest = after;
            table
        };
        let (alpha, w) = (next(words), next(words * topics));
        next(shape.sizes_len());
        let beta = next(shape.beta_len());
        next(shape.features());
        [alpha, w, beta, next(shape.features() * topics)]
    }

    /// Changes parameters by hand. Invalid parameters are refused as by [`Harmonium::new`]; the model should then not
    /// be used before another `update` succeeds.
    ///
    /// # Errors
    /// As [`Harmonium::new`].
    pub fn update(
        self,
        scratch: &mut [T],
        change: impl FnOnce([&mut [T]; 4]),
    ) -> Result<Self, HarmoniumError> {
        let mut model = self;
        change(model.learned_mut());
        Self::new(model.shape, model.storage, scratch)
    }
}

#[cfg(feature = "alloc")]
impl<T: Real> Harmonium<T, alloc::vec::Vec<T>> {
    /// [`Harmonium::start`] in memory that it allocates.
    ///
    /// # Errors
    /// As [`Harmonium::start`].
    pub fn allocate(
        shape: Shape,
        size: u32,
        spread: T,
        noise: &mut impl Noise<T>,
    ) -> Result<Self, HarmoniumError> {
        let storage = crate::allocate(&shape, shape.model_len())?;
        let mut scratch = crate::allocate(&shape, shape.precision_len())?;
        Self::start(shape, storage, size, spread, noise, &mut scratch)
    }
}

impl<T: Real, S: AsRef<[T]>> Tables for Harmonium<T, S> {
    type Scalar = T;

    fn layout(&self) -> &[Table] {
        self.layout.get(..self.shape.model_tables()).unwrap_or_default()
    }
    fn buffer(&self) -> &[T] {
        self.storage.as_ref()
    }
}

impl<T: Real, S: AsRef<[T]> + AsMut<[T]>> TablesMut for Harmonium<T, S> {
    fn buffer_mut(&mut self) -> &mut [T] {
        self.storage.as_mut()
    }
}
