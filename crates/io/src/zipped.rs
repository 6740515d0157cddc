//! What is said to a file of a ZIP file that cannot be read.

use zip::result::ZipError;

use crate::error::Problem;

/// The problem of a file: that it is `encrypted`, or else what `other` says.
pub(crate) fn refused(
    error: ZipError,
    encrypted: &'static str,
    other: impl FnOnce(ZipError) -> Problem,
) -> Problem {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => Problem::Unsupported { kind: encrypted },
        error => other(error),
    }
}
