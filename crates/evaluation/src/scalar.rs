//! Float types, and what is compiled for them in this crate.

use std::ops::ControlFlow;

use countgrid_estimators::Stored;

use crate::{
    Candidate, CrossValidation, Estimate, EvaluationError, EvaluationEvent, EvaluationOptions, Fold,
    LabelledData, Protocol, Regression, Stop, classifier, cross_validation, regression,
};

/// A float type that bags and models can be of: `f32` or `f64`.
///
/// ```
/// use countgrid_evaluation::{EvaluationError, EvaluationOptions, Fold, Scalar, Stop, predict};
/// fn predict_all<T: Scalar>(folds: &[Fold<T>]) -> Result<Vec<Vec<usize>>, EvaluationError> {
///     folds.iter().map(|fold| predict(fold, &EvaluationOptions::default(), &Stop::new())).collect()
/// }
/// assert!(predict_all::<f64>(&[])?.is_empty());
/// # Ok::<(), EvaluationError>(())
/// ```
pub trait Scalar: Stored + Compiled {}

impl Scalar for f32 {}
impl Scalar for f64 {}

/// The functions of a scalar that are not generic, so that whoever calls them does not compile every model again.
pub trait Compiled: Sized {
    fn predict(
        fold: &Fold<Self>,
        options: &EvaluationOptions,
        stop: &Stop,
    ) -> Result<Vec<usize>, EvaluationError>;
    fn cross_validate(
        data: &LabelledData<Self>,
        candidates: &[Candidate],
        protocol: &Protocol,
        observer: &mut dyn FnMut(&EvaluationEvent<'_>) -> ControlFlow<()>,
        stop: &Stop,
    ) -> Result<CrossValidation, EvaluationError>;
    fn regress(
        data: &LabelledData<Self>,
        options: &EvaluationOptions,
        protocol: &Protocol,
        observer: &mut dyn FnMut(&Estimate) -> ControlFlow<()>,
        stop: &Stop,
    ) -> Result<Regression, EvaluationError>;
}

macro_rules! compiled {
    ($($scalar:ty)*) => {$(
        impl Compiled for $scalar {
            #[inline(never)]
            fn predict(
                fold: &Fold<Self>,
                options: &EvaluationOptions,
                stop: &Stop,
            ) -> Result<Vec<usize>, EvaluationError> {
                classifier::predict_labels(fold, options, stop)
            }

            #[inline(never)]
            fn cross_validate(
                data: &LabelledData<Self>,
                candidates: &[Candidate],
                protocol: &Protocol,
                observer: &mut dyn FnMut(&EvaluationEvent<'_>) -> ControlFlow<()>,
                stop: &Stop,
            ) -> Result<CrossValidation, EvaluationError> {
                cross_validation::hold_out_all(data, candidates, protocol, observer, stop)
            }

            #[inline(never)]
            fn regress(
                data: &LabelledData<Self>,
                options: &EvaluationOptions,
                protocol: &Protocol,
                observer: &mut dyn FnMut(&Estimate) -> ControlFlow<()>,
                stop: &Stop,
            ) -> Result<Regression, EvaluationError> {
                regression::hold_out_all(data, options, protocol, observer, stop)
            }
        }
    )*};
}

compiled!(f32 f64);
