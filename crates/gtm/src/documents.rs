//! Data of a map: bags, bags with exposures and covariates, rows of numbers.

use countgrid_counts::{Bags, Count};
use countgrid_math::Real;

use crate::{GtmError, error::same_length};

/// Bags with exposures, with inflation covariates, or with both. Bags alone serve where neither is needed.
///
/// ```
/// use countgrid_counts::Dense;
/// use countgrid_gtm::Documents;
/// let bags = Dense::new(2, &[1_u32, 0, 4, 2])?;
/// let documents = Documents::new(bags).with_exposure(&[0.5, 1.5])?.with_profiles(&[0, 1])?;
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Documents<'a, B, T> {
    bags: B,
    exposure: Option<&'a [T]>,     // as many as bags; finite, above zero
    profiles: Option<&'a [usize]>, // as many as bags
}

impl<'a, B: Bags, T: Real> Documents<'a, B, T> {
    /// Bags and nothing else.
    pub fn new(bags: B) -> Self {
        Self { bags, exposure: None, profiles: None }
    }
    /// With the exposure `e_n` of each document, the factor of its rates.
    ///
    /// # Errors
    /// [`GtmError::Length`], [`GtmError::Exposure`].
    pub fn with_exposure(self, exposure: &'a [T]) -> Result<Self, GtmError> {
        same_length("exposure", self.bags.len(), exposure.len())?;
        match exposure.iter().position(|&e| !(e > T::zero() && e.is_finite())) {
            Some(document) => Err(GtmError::Exposure { document }),
            None => Ok(Self { exposure: Some(exposure), ..self }),
        }
    }
    /// With the number of the row of covariates, a column of the table `profiles`, of each document.
    ///
    /// # Errors
    /// [`GtmError::Length`].
    pub fn with_profiles(self, profiles: &'a [usize]) -> Result<Self, GtmError> {
        same_length("profiles", self.bags.len(), profiles.len())?;
        Ok(Self { profiles: Some(profiles), ..self })
    }
    /// The bags.
    pub fn bags(&self) -> &B {
        &self.bags
    }
}

/// Rows of any finite numbers, `[row][feature]`, for a Gaussian map.
///
/// Example: [`Documents`](crate::Documents).
#[derive(Clone, Copy, Debug)]
pub struct Reals<'a, T> {
    features: usize, // at least 1
    values: &'a [T], // a multiple of it; finite
}

impl<'a, T: Real> Reals<'a, T> {
    /// Rows of `features` numbers, one after the other.
    ///
    /// # Errors
    /// [`GtmError::Empty`]; [`GtmError::Length`] unless `values` is a whole number of rows; [`GtmError::NotFinite`].
    pub fn new(features: usize, values: &'a [T]) -> Result<Self, GtmError> {
        let Some(rest) = values.len().checked_rem(features) else {
            return Err(GtmError::Empty { size: "features" });
        };
        same_length("values", values.len() - rest, values.len())?;
        match values.iter().position(|x| !x.is_finite()) {
            Some(at) => {
                Err(GtmError::NotFinite { table: "values", row: at / features, column: at % features })
            }
            None => Ok(Self { features, values }),
        }
    }
    /// Number of rows.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len() / self.features
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What a map can be fitted to: [`Bags`] (in [`Documents`]) or [`Reals`].
pub trait Source<T: Real>: sealed::Sealed + Sync {
    /// Whether values may be negative.
    const SIGNED: bool;

    /// Number of documents.
    fn documents(&self) -> usize;
    /// Number of features.
    fn width(&self) -> usize;
    /// The values of a document that are not zero, features ascending.
    fn values(&self, document: usize) -> impl Iterator<Item = (usize, T)> + Clone;
    /// The exposure that is known of a document.
    fn known_exposure(&self, document: usize) -> Option<T>;
    /// The row of its covariates that is known.
    fn known_profile(&self, document: usize) -> Option<usize>;
}

impl<B, T> sealed::Sealed for Documents<'_, B, T> {}
impl<B: Bags, T: Real> Source<T> for Documents<'_, B, T> {
    const SIGNED: bool = false;

    fn documents(&self) -> usize {
        self.bags.len()
    }
    fn width(&self) -> usize {
        self.bags.features()
    }
    fn values(&self, document: usize) -> impl Iterator<Item = (usize, T)> + Clone {
        self.bags.entries(document).map(|(feature, count)| (feature, count.to_real()))
    }
    fn known_exposure(&self, document: usize) -> Option<T> {
        self.exposure?.get(document).copied()
    }
    fn known_profile(&self, document: usize) -> Option<usize> {
        self.profiles?.get(document).copied()
    }
}

impl<T> sealed::Sealed for Reals<'_, T> {}
impl<T: Real> Source<T> for Reals<'_, T> {
    const SIGNED: bool = true;

    fn documents(&self) -> usize {
        self.len()
    }
    fn width(&self) -> usize {
        self.features
    }
    fn values(&self, document: usize) -> impl Iterator<Item = (usize, T)> + Clone {
        let row = self.values.chunks_exact(self.features).nth(document).unwrap_or_default();
        row.iter().copied().enumerate().filter(|&(_, x)| x != T::zero())
    }
    fn known_exposure(&self, _: usize) -> Option<T> {
        None
    }
    fn known_profile(&self, _: usize) -> Option<usize> {
        None
    }
}
