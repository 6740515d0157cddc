//! What can be refused.

use core::fmt;

use countgrid_counts::{BagsError, SequencesError};
use countgrid_grid::{BlobError, GridError};
use countgrid_gtm::GtmError;
use countgrid_harmonium::HarmoniumError;
use countgrid_hmm::HmmError;
use countgrid_scores::FeatureError;

/// The errors of the crates, each under a name.
macro_rules! errors {
    ($($name:ident($of:ty)),*) => {
        #[derive(Debug)]
        pub(crate) enum Error {
            Differ,
            $($name($of),)*
        }

        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::Differ => f.write_str("module and blob place a document differently"),
                    $(Self::$name(error) => error.fmt(f),)*
                }
            }
        }

        $(impl From<$of> for Error {
            fn from(error: $of) -> Self {
                Self::$name(error)
            }
        })*
    };
}
errors!(
    Bags(BagsError),
    Blob(BlobError),
    Features(FeatureError<HmmError>),
    Grid(GridError),
    Gtm(GtmError),
    Harmonium(HarmoniumError),
    Hmm(HmmError),
    Sequences(SequencesError)
);
