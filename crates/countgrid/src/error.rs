use core::{convert::Infallible, fmt};

use crate::{counts, em, math, prefix, torus};

// the variants in one list, from which the type and what holds for each of them are made
macro_rules! error {
    ($(#[$type:meta])* pub enum $Error:ident {
        $($(#[doc = $doc:literal])* $(#[cfg($($feature:tt)*)])? $variant:ident($error:ty),)*
    }) => {
        $(#[$type])*
        pub enum $Error {
            $($(#[doc = $doc])* $(#[cfg($($feature)*)])? $variant($error),)*
        }

        impl fmt::Display for $Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[cfg($($feature)*)])? Self::$variant(error) => error.fmt(f),)*
                }
            }
        }

        impl core::error::Error for $Error {
            fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
                match self {
                    // `Display` shows the error itself
                    $($(#[cfg($($feature)*)])? Self::$variant(error) => error.source(),)*
                }
            }
        }

        $($(#[cfg($($feature)*)])? error!(from $variant($error));)*
    };
    (from Fit($error:ty)) => {}; // for every model, below
    (from $variant:ident($error:ty)) => {
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        }
    };
}

error! {
    /// The error of any of the libraries, so that `?` takes each of them in one function, without an allocator.
    ///
    /// Generic errors, of a fit ([`em::FitError`]) or of features (`scores::FeatureError`), become that of the model where it is
    /// the model's. `Display` shows the error itself.
    ///
    /// ```
    /// use countgrid::{Error, counts::BagsError, counts::Csr, em::EmOptions, torus::Windows};
    ///
    /// fn cells(offsets: &[usize]) -> Result<usize, Error> {
    ///     let _bags = Csr::new(2, offsets, &[0, 1], &[3_u16, 1])?;
    ///     let _plan = EmOptions::default().check()?;
    ///     Ok(Windows::from_sides([4, 4], [2, 2])?.torus().cells())
    /// }
    /// assert_eq!(cells(&[0, 2]), Ok(16));
    /// assert_eq!(cells(&[1, 2]), Err(Error::Bags(BagsError::FirstOffset { found: 1 })));
    /// ```
    ///
    /// An error enum of one's own needs a variant for this one, or `From` for those of the libraries that are used; all of them
    /// are `Copy`, and `core::error::Error` without `std`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[non_exhaustive]
    pub enum Error {
        /// Extents of a torus, or sides of windows.
        Shape(torus::ShapeError),
        /// Slices of different lengths.
        Slices(math::LengthError),
        /// Tables of window sums or prefix sums.
        Sums(prefix::LengthError),
        /// Bags of counts.
        Bags(counts::BagsError),
        /// Sequences of symbols.
        Sequences(counts::SequencesError),
        /// An event model.
        Event(counts::EventError),
        /// Tables and their layout.
        Tables(em::TablesError),
        /// Settings of a fit.
        Option(em::OptionError),
        /// A fit that ended early, but for errors of its model.
        Fit(em::FitError<Infallible>),
        /// A counting grid.
        #[cfg(feature = "grid")]
        Grid(crate::grid::GridError),
        /// An exported counting grid.
        #[cfg(feature = "grid")]
        Blob(crate::grid::BlobError),
        /// A topographic map.
        #[cfg(feature = "gtm")]
        Gtm(crate::gtm::GtmError),
        /// A harmonium.
        #[cfg(feature = "harmonium")]
        Harmonium(crate::harmonium::HarmoniumError),
        /// A hidden Markov model.
        #[cfg(feature = "hmm")]
        Hmm(crate::hmm::HmmError),
        /// Latent Dirichlet allocation.
        #[cfg(feature = "lda")]
        Lda(crate::lda::LdaError),
        /// Features and similarities.
        #[cfg(feature = "scores")]
        Score(crate::scores::ScoreError),
        /// Classifiers, folds and metrics.
        #[cfg(feature = "classify")]
        Classify(crate::classify::ClassifyError),
    }
}

impl From<Infallible> for Error {
    fn from(error: Infallible) -> Self {
        match error {}
    }
}

impl<E: Into<Error>> From<em::FitError<E>> for Error {
    fn from(error: em::FitError<E>) -> Self {
        error.into_model().map_or_else(Self::Fit, Into::into)
    }
}

/// Which class a model belongs to is left out.
#[cfg(feature = "scores")]
impl<E: Into<Error>> From<crate::scores::FeatureError<E>> for Error {
    fn from(error: crate::scores::FeatureError<E>) -> Self {
        error.into_model().map_or_else(Self::Score, Into::into)
    }
}
