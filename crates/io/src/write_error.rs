use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be written. What was there before is untouched.
///
/// Example: [`write_atomically`](crate::write_atomically).
#[derive(Debug)]
pub struct WriteError {
    file: PathBuf,
    error: io::Error,
}

impl WriteError {
    #[cfg(feature = "files")]
    pub(crate) fn new(file: &Path, error: io::Error) -> Self {
        Self { file: file.to_path_buf(), error }
    }
    /// The file that was to be written.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot be written: {}\nremedy: ", self.file.display(), self.error)?;
        f.write_str(match self.error.kind() {
            io::ErrorKind::NotFound => "create the folder first, or name another file",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "make room, or name a file on another disk"
            }
            io::ErrorKind::IsADirectory => "name a file, this is a folder",
            _ => "name a file in a folder that you may write to",
        })
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
