use crate::LdaError;

/// How many topics there are, and how many features each distributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serialised::ShapeFields")
)]
pub struct Shape {
    topics: usize,   // at least 1
    features: usize, // at least 1; topics, rounded up to lanes, times (features + 64) take at most isize::MAX bytes
}

/// Rows of scratch begin at multiples of so many elements, a cache line of either float type.
const LANES: usize = 16;

impl Shape {
    /// A shape.
    ///
    /// ```
    /// use countgrid_lda::{Shape, constant};
    /// const SHAPE: Shape = constant!(Shape::new(64, 5000));
    /// assert_eq!(SHAPE.model_len(), 64 * 5001);
    /// ```
    ///
    /// # Errors
    /// [`LdaError::NoTopics`], [`LdaError::NoFeatures`], [`LdaError::TooLarge`].
    pub const fn new(topics: usize, features: usize) -> Result<Self, LdaError> {
        if topics == 0 {
            return Err(LdaError::NoTopics);
        }
        if features == 0 {
            return Err(LdaError::NoFeatures);
        }
        if (topics as u128 + 16) * (features as u128 + 64) * 8 > isize::MAX as u128 {
            return Err(LdaError::TooLarge { topics, features });
        }
        Ok(Self { topics, features })
    }

    /// Number of topics `K`.
    #[must_use]
    pub const fn topics(&self) -> usize {
        self.topics
    }

    /// Number of features `V`.
    #[must_use]
    pub const fn features(&self) -> usize {
        self.features
    }

    /// Elements of the buffer of [`crate::Lda`]: `K (V + 1)`.
    #[must_use]
    pub const fn model_len(&self) -> usize {
        self.beta_len() + self.topics
    }

    /// Elements of `beta`.
    pub(crate) const fn beta_len(&self) -> usize {
        self.topics * self.features
    }

    /// Elements of the sums of [`crate::Statistics`].
    #[must_use]
    pub const fn sums_len(&self) -> usize {
        self.beta_len() + crate::statistics::TOTALS
    }

    /// Elements of scratch in which one document is inferred.
    #[must_use]
    pub const fn posterior_scratch_len(&self) -> usize {
        4 * self.row_len() + LANES
    }

    /// Elements of the scratch of [`crate::Statistics`] that infer `chunk` documents together.
    #[must_use]
    pub const fn scratch_len(&self, chunk: usize) -> usize {
        (if chunk == 0 { 1 } else { chunk }).saturating_mul(self.posterior_scratch_len())
    }

    /// Elements from one row of a document's scratch to the next.
    pub(crate) const fn row_len(&self) -> usize {
        self.topics.next_multiple_of(LANES)
    }
}
