//! `?` takes the error of every library into `countgrid::Error`, which has no allocator to box it with.

use core::{error::Error as _, fmt::Debug};

use countgrid::{
    Error,
    classify::ClassifyError,
    counts::{BagsError, EventError, SequencesError},
    em::{FitError, OptionError, TablesError},
    grid::{BlobError, GridError},
    gtm::GtmError,
    harmonium::HarmoniumError,
    hmm::HmmError,
    lda::LdaError,
    scores::{FeatureError, ScoreError},
    torus::ShapeError,
};

/// What `?` makes of an error, which says the same.
fn taken<E: Debug + core::error::Error>(error: E) -> Error
where
    Error: From<E>,
{
    let message = error.to_string();
    let taken = || -> Result<(), Error> { Err(error)? };
    let taken = taken().unwrap_err();
    assert_eq!(taken.to_string(), message);
    taken
}

#[test]
fn of_every_library() {
    assert_eq!(taken(ShapeError::TooManyCells), Error::Shape(ShapeError::TooManyCells));
    let lengths = countgrid::math::LengthError { expected: 1, found: 2 };
    assert_eq!(taken(lengths), Error::Slices(lengths));
    let sums = countgrid::prefix::LengthError::Sums { expected: 1, found: 2 };
    assert_eq!(taken(sums), Error::Sums(sums));
    assert_eq!(taken(BagsError::NoOffsets), Error::Bags(BagsError::NoOffsets));
    assert_eq!(taken(SequencesError::NoOffsets), Error::Sequences(SequencesError::NoOffsets));
    assert_eq!(taken(EventError::Total), Error::Event(EventError::Total));
    assert_eq!(taken(TablesError::TooLarge), Error::Tables(TablesError::TooLarge));
    assert_eq!(taken(OptionError::Delay), Error::Option(OptionError::Delay));
    assert_eq!(taken(GridError::NoFeatures), Error::Grid(GridError::NoFeatures));
    assert_eq!(taken(BlobError::Magic), Error::Blob(BlobError::Magic));
    assert_eq!(taken(GtmError::ShapeMismatch), Error::Gtm(GtmError::ShapeMismatch));
    assert_eq!(taken(HarmoniumError::ShapeMismatch), Error::Harmonium(HarmoniumError::ShapeMismatch));
    assert_eq!(taken(HmmError::NoStates), Error::Hmm(HmmError::NoStates));
    assert_eq!(taken(LdaError::NoTopics), Error::Lda(LdaError::NoTopics));
    assert_eq!(taken(ScoreError::Gamma), Error::Score(ScoreError::Gamma));
    let fold = ClassifyError::TooFew { what: "folds", found: 1 };
    assert_eq!(taken(fold), Error::Classify(fold));
}

#[test]
fn of_a_fit_and_of_features() {
    assert_eq!(taken(FitError::Model(HmmError::NoStates)), Error::Hmm(HmmError::NoStates));
    let pass = FitError::<LdaError>::NoBatch { pass: 3 };
    assert_eq!(taken(pass), Error::Fit(FitError::NoBatch { pass: 3 }));
    assert_eq!(taken(FeatureError::Model(GridError::Noise)), Error::Grid(GridError::Noise));
    let score = FeatureError::<GtmError>::Score(ScoreError::DatumLength);
    assert_eq!(taken(score), Error::Score(ScoreError::DatumLength));
    // A class is left out.
    let class = FeatureError::ClassModel { class: 2, error: HmmError::NoSymbols };
    assert_eq!(Error::from(class), Error::Hmm(HmmError::NoSymbols));
    assert!(Error::from(class).source().is_none() && class.source().is_none());
}

/// Errors cross threads, and are kept as `Box<dyn Error + Send + Sync>`.
#[test]
fn errors_cross_threads() {
    fn crosses<E: core::error::Error + Send + Sync + 'static>() {}
    crosses::<Error>();
    crosses::<countgrid_io::ReadError>();
    crosses::<countgrid_io::ModelError>();
    crosses::<countgrid_io::WriteError>();
    crosses::<countgrid_io::OutputError>();
    crosses::<countgrid_text::TextError>();
}
