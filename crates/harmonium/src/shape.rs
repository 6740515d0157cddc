use countgrid_em::Table;
use countgrid_math::Real;

use crate::HarmoniumError;

/// Which distributions the two layers have.
///
/// Example: [`Shape`](crate::Shape).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Wings {
    /// Normal topics; binomial words (Bernoulli for size 1) and, in a dual wing, normal features.
    Normal,
    /// Binomial topics, Poisson words: the rate adapting Poisson model.
    RateAdapting,
}

/// Numbers of words `M`, topics `J` and features `C`, and the distributions of the wings.
///
/// ```
/// use countgrid_harmonium::{Shape, constant};
/// const SHAPE: Shape = constant!(Shape::words(500, 8));
/// static TABLES: [f32; SHAPE.model_len()] = [0.0; 500 + 500 * 8 + 500];
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::ShapeFields")
)]
pub struct Shape {
    wings: Wings,
    words: usize,    // at least 1
    topics: usize,   // at least 1
    features: usize, // 0 for a single wing
}

impl Shape {
    /// Binomial words (Bernoulli if their sizes are 1) under normal topics.
    ///
    /// # Errors
    /// [`HarmoniumError::Empty`], [`HarmoniumError::TooLarge`].
    pub const fn words(words: usize, topics: usize) -> Result<Self, HarmoniumError> {
        Self::checked(Wings::Normal, words, topics, 0)
    }

    /// Binomial words and normal features under the same normal topics.
    ///
    /// # Errors
    /// [`HarmoniumError::Empty`], [`HarmoniumError::TooLarge`].
    pub const fn dual_wing(words: usize, features: usize, topics: usize) -> Result<Self, HarmoniumError> {
        if features == 0 {
            return Err(HarmoniumError::Empty { what: "features" });
        }
        Self::checked(Wings::Normal, words, topics, features)
    }

    /// Poisson words under binomial topics.
    ///
    /// # Errors
    /// [`HarmoniumError::Empty`], [`HarmoniumError::TooLarge`].
    pub const fn rate_adapting(words: usize, topics: usize) -> Result<Self, HarmoniumError> {
        Self::checked(Wings::RateAdapting, words, topics, 0)
    }

    const fn checked(
        wings: Wings,
        words: usize,
        topics: usize,
        features: usize,
    ) -> Result<Self, HarmoniumError> {
        if words == 0 {
            return Err(HarmoniumError::Empty { what: "words" });
        }
        if topics == 0 {
            return Err(HarmoniumError::Empty { what: "topics" });
        }
        // Every length below is less than this product, eight bytes an element.
        let rows = words as u128 + features as u128 + topics as u128 + 64;
        let elements = match rows.checked_mul(topics as u128 + 64) {
            Some(elements) => elements,
            None => u128::MAX,
        };
        if elements > isize::MAX as u128 / 16 {
            return Err(HarmoniumError::TooLarge { words, topics, features });
        }
        Ok(Self { wings, words, topics, features })
    }

    /// The distributions of the wings.
    #[must_use]
    pub const fn wings(&self) -> Wings {
        self.wings
    }
    /// Number of words `M`.
    #[must_use]
    pub const fn word_count(&self) -> usize {
        self.words
    }
    /// Number of topics `J`.
    #[must_use]
    pub const fn topics(&self) -> usize {
        self.topics
    }
    /// Number of features `C`; 0 for a single wing.
    #[must_use]
    pub const fn features(&self) -> usize {
        self.features
    }
    /// Words and features: rows of couplings, `M + C`.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.words + self.features
    }

    const fn is_rate_adapting(&self) -> bool {
        matches!(self.wings, Wings::RateAdapting)
    }
    /// Binomial sizes belong to the words, or in the rate adapting model to the topics.
    pub(crate) const fn sizes_len(&self) -> usize {
        if self.is_rate_adapting() { self.topics } else { self.words }
    }
    /// `beta` is the bias of features, or in the rate adapting model of topics.
    pub(crate) const fn beta_len(&self) -> usize {
        if self.is_rate_adapting() { self.topics } else { self.features }
    }

    /// Elements of the buffer of a [`crate::Harmonium`].
    #[must_use]
    pub const fn model_len(&self) -> usize {
        self.gradient_len() + self.sizes_len() + self.features
    }
    /// Elements of the buffer of a [`crate::Gradient`]: the parameters that are learned.
    #[must_use]
    pub const fn gradient_len(&self) -> usize {
        self.words + self.rows() * self.topics + self.beta_len()
    }
    /// Elements of the couplings `W` and `U` together, `(M + C) J`.
    #[must_use]
    pub const fn couplings_len(&self) -> usize {
        self.rows() * self.topics
    }
    /// Elements that a check of `P = I - Uᵀ diag(s) U` needs: `J²` for a dual wing.
    #[must_use]
    pub const fn precision_len(&self) -> usize {
        if self.features == 0 { 0 } else { self.topics * self.topics }
    }
    /// Elements of scratch of everything that moves Gibbs chains.
    #[must_use]
    pub const fn gibbs_scratch_len<T: Real>(&self) -> usize {
        T::LANES * (3 * self.topics + self.rows())
    }
    /// Elements of scratch of a step of the parameters.
    #[must_use]
    pub const fn step_scratch_len(&self) -> usize {
        self.gradient_len() + self.precision_len()
    }
    /// Elements of the state of one chain: words, then features.
    #[must_use]
    pub const fn state_len(&self) -> usize {
        self.rows()
    }

    pub(crate) const fn model_layout(&self) -> [Table; 6] {
        let Self { words, topics, features, .. } = *self;
        [
            Table::new("alpha", 1, words),
            Table::new("w", words, topics),
            Table::new("sizes", 1, self.sizes_len()),
            Table::new("beta", 1, self.beta_len()),
            Table::new("variances", 1, features),
            Table::new("u", features, topics),
        ]
    }
    /// How many tables of [`Shape::model_layout`] are not empty.
    pub(crate) const fn model_tables(&self) -> usize {
        match (self.wings, self.features) {
            (Wings::RateAdapting, _) => 4,
            (Wings::Normal, 0) => 3,
            (Wings::Normal, _) => 6,
        }
    }
    pub(crate) const fn gradient_layout(&self) -> [Table; 4] {
        let Self { words, topics, features, .. } = *self;
        [
            Table::new("alpha", 1, words),
            Table::new("w", words, topics),
            Table::new("beta", 1, self.beta_len()),
            Table::new("u", features, topics),
        ]
    }
    pub(crate) const fn gradient_tables(&self) -> usize {
        match (self.wings, self.features) {
            (Wings::RateAdapting, _) => 3,
            (Wings::Normal, 0) => 2,
            (Wings::Normal, _) => 4,
        }
    }
}
