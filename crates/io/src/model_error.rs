use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::excerpt;
use crate::write_error::WriteError;

/// Why a model file was not read or not written: the file, what is wrong, and the remedy.
///
/// Example: [`ModelFile`](crate::ModelFile).
#[derive(Debug)]
pub struct ModelError {
    file: PathBuf,
    problem: Box<ModelProblem>,
}

impl ModelError {
    pub(crate) fn new(file: &Path, problem: ModelProblem) -> Self {
        Self { file: file.to_path_buf(), problem: Box::new(problem) }
    }
    /// The model file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }
    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &ModelProblem {
        &self.problem
    }
}

/// What can be wrong with a model file.
///
/// Example: [`ModelFile::to_bytes`](crate::ModelFile::to_bytes).
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum ModelProblem {
    /// The file system refused to give it.
    Unreadable(io::Error),
    /// It cannot be written.
    Unwritable(WriteError),
    /// Too short for the length of a header.
    NoHeader { bytes: u64 },
    /// A header longer than the rest of the file, or than the format allows.
    HeaderLength { claimed: u64, rest: u64 },
    /// A header that is not that of a safetensors file.
    Header { what: String },
    /// More or fewer bytes after the header than its tables need.
    Length { expected: u64, found: u64 },
    /// A table with elements that no model of ours has.
    ElementType { name: String, found: String },
    /// A table whose elements do not fill its shape.
    Shape { name: String, shape: Vec<usize>, found: usize },
    /// A NaN.
    NotANumber { name: String, index: usize },
    /// A name that is reserved, or that two tables have.
    Name { name: String },
    /// A text under a key that the format keeps for itself.
    Key { key: &'static str },
    /// A version of the format that is not known.
    FormatVersion { found: String },
    /// A checksum without a version of the format.
    NoFormatVersion,
    /// A version of the format that has a checksum, and none.
    NoChecksum,
    /// Bytes that are not those that were written. None is `found` where the claim is no checksum.
    Checksum { claimed: String, found: Option<String> },
    /// Texts and names longer than the format allows, 100 MB.
    LongHeader { bytes: u64 },
    /// Memory for a table is not to be had.
    Memory { bytes: usize },
}

impl fmt::Display for ModelProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::Unwritable(error) => write!(f, "{error}"),
            Self::NoHeader { bytes } => write!(f, "no model file: {bytes} bytes are too few for a header"),
            Self::HeaderLength { claimed, rest } => write!(
                f,
                "no model file, or cut short: it claims a header of {claimed} bytes and goes on for {rest} (at most 100000000 are allowed)"
            ),
            Self::Header { what } => write!(f, "no model file: its header is not understood: {what}"),
            Self::Length { expected, found } if found < expected => {
                write!(f, "cut short: the tables need {expected} bytes, the file has {found}")
            }
            Self::Length { expected, found } => {
                write!(f, "the tables need {expected} bytes, the file has {found}")
            }
            Self::ElementType { name, found } => {
                write!(
                    f,
                    "table `{}` has elements of type {found}; F32, F64 and U32 are known",
                    excerpt(name)
                )
            }
            Self::Shape { name, shape, found } => {
                write!(f, "table `{}` has {found} elements for the shape {shape:?}", excerpt(name))
            }
            Self::NotANumber { name, index } => {
                write!(f, "table `{}` holds a NaN, its element {index}", excerpt(name))
            }
            Self::Name { name } => write!(f, "the table name `{}` is reserved or used twice", excerpt(name)),
            Self::Key { key } => write!(f, "the format keeps the text `{key}` for itself"),
            Self::FormatVersion { found } => {
                write!(f, "its `format_version` is `{}`; this program knows version 1", excerpt(found))
            }
            Self::NoFormatVersion => f.write_str("damaged: it has a `checksum` and no `format_version`"),
            Self::NoChecksum => f.write_str("damaged: it has a `format_version` and no `checksum`"),
            Self::Checksum { claimed, found: None } => {
                write!(f, "damaged: its `checksum` is `{}`, not eight hexadecimal digits", excerpt(claimed))
            }
            Self::Checksum { claimed, found: Some(found) } => {
                write!(f, "damaged: its `checksum` is {}, that of its bytes {found}", excerpt(claimed))
            }
            Self::LongHeader { bytes } => {
                write!(
                    f,
                    "vocabulary, titles and other texts take {bytes} bytes; the format allows 100000000"
                )
            }
            Self::Memory { bytes } => write!(f, "no memory for {bytes} bytes"),
        }
    }
}

impl std::error::Error for ModelProblem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable(error) => Some(error),
            Self::Unwritable(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedy = match self.problem() {
            ModelProblem::Unwritable(error) => return write!(f, "{error}"),
            ModelProblem::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => {
                "check the spelling of the path, or fit a model first"
            }
            ModelProblem::Unreadable(_) => "check that it is a readable file",
            ModelProblem::LongHeader { .. } => "leave out the titles, or fit fewer documents",
            ModelProblem::Memory { .. } => "use a larger machine",
            ModelProblem::Key { .. } => "put the text under another key",
            ModelProblem::FormatVersion { .. } => {
                "install the version of the program that wrote it, or a later one"
            }
            ModelProblem::Shape { .. } | ModelProblem::NotANumber { .. } | ModelProblem::Name { .. } => {
                "fit the model again; if that does not help, this is a bug worth a report"
            }
            _ => "fit the model again, or copy the file again from where it is whole",
        };
        write!(f, "{}: {}\nremedy: {remedy}", self.file.display(), self.problem)
    }
}

impl std::error::Error for ModelError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(self.problem())
    }
}

impl From<WriteError> for ModelError {
    fn from(error: WriteError) -> Self {
        Self { file: error.file().to_path_buf(), problem: Box::new(ModelProblem::Unwritable(error)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_are_of_the_problem() {
        let (again, report) = (
            "fit the model again, or copy the file again from where it is whole",
            "fit the model again; if that does not help, this is a bug worth a report",
        );
        let (name, text) = (|| "pi".to_owned(), || "x".to_owned());
        for (problem, remedy) in [
            (
                ModelProblem::Unreadable(io::Error::from(io::ErrorKind::NotFound)),
                "check the spelling of the path, or fit a model first",
            ),
            (
                ModelProblem::Unreadable(io::Error::from(io::ErrorKind::PermissionDenied)),
                "check that it is a readable file",
            ),
            (ModelProblem::NoHeader { bytes: 3 }, again),
            (ModelProblem::HeaderLength { claimed: 9, rest: 3 }, again),
            (ModelProblem::Header { what: text() }, again),
            (ModelProblem::Length { expected: 9, found: 3 }, again),
            (ModelProblem::ElementType { name: name(), found: text() }, again),
            (ModelProblem::Shape { name: name(), shape: vec![2], found: 3 }, report),
            (ModelProblem::NotANumber { name: name(), index: 3 }, report),
            (ModelProblem::Name { name: name() }, report),
            (ModelProblem::Key { key: "checksum" }, "put the text under another key"),
            (
                ModelProblem::FormatVersion { found: text() },
                "install the version of the program that wrote it, or a later one",
            ),
            (ModelProblem::NoFormatVersion, again),
            (ModelProblem::NoChecksum, again),
            (ModelProblem::Checksum { claimed: text(), found: None }, again),
            (ModelProblem::LongHeader { bytes: 9 }, "leave out the titles, or fit fewer documents"),
            (ModelProblem::Memory { bytes: 9 }, "use a larger machine"),
        ] {
            let what = problem.to_string();
            let error = ModelError::new(Path::new("a.safetensors"), problem);
            assert_eq!(error.to_string(), format!("a.safetensors: {what}\nremedy: {remedy}"));
            assert!(!what.contains('\n') && error.file() == Path::new("a.safetensors"));
        }
        // More bytes than the tables need are not fewer.
        let long = ModelProblem::Length { expected: 3, found: 9 };
        assert_eq!(long.to_string(), "the tables need 3 bytes, the file has 9");
        let exact = ModelProblem::Length { expected: 9, found: 9 };
        assert!(!exact.to_string().contains("cut short"));
    }
}
