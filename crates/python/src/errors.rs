//! Errors of the libraries as Python's.

use std::fmt::Display;

use countgrid_corpus::CorpusError;
use countgrid_estimators::EstimatorError;
use pyo3::{
    PyErr,
    exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError},
};

pub(crate) fn value(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn runtime(error: impl Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

pub(crate) fn corpus(error: CorpusError) -> PyErr {
    value(error)
}

pub(crate) fn estimator(error: EstimatorError) -> PyErr {
    use EstimatorError as Error;
    let message = error.to_string();
    match error {
        Error::Memory { .. } | Error::GridMemory { .. } => PyMemoryError::new_err(message),
        Error::File(_) => PyOSError::new_err(message),
        Error::Failed | Error::Stopped => PyRuntimeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}
