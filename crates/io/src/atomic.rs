//! Files that are whole or not there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::write_error::WriteError;

/// Writes a file as a whole: into a temporary file of the same folder, flushed to disk, then renamed.
///
/// Whatever goes wrong, an error or a panic in `write` included, the previous file stays as it was and no other
/// is left behind. A link is followed; a device or a pipe, which cannot be replaced, is written to directly.
///
/// # Errors
/// [`WriteError`] if the folder is missing or not writable, the file is marked read-only or is a folder, the
/// disk is full, or `write` fails.
///
/// ```
/// use countgrid_io::write_atomically;
/// let folder = tempfile::tempdir()?;
/// let page = folder.path().join("map.html");
/// write_atomically(&page, |out| out.write_all(b"<!doctype html>"))?;
/// let failed = write_atomically(&page, |out| {
///     out.write_all(b"half of")?;
///     Err(std::io::Error::other("the rest is missing"))
/// });
/// assert!(failed.is_err());
/// assert_eq!(std::fs::read(&page)?, b"<!doctype html>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_atomically(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let path = path.as_ref();
    write_file(path, write).map_err(|error| WriteError::new(path, error))
}

/// Tells beforehand whether [`write_atomically`] could write there, for a result that takes long to compute.
///
/// # Errors
/// Those of [`write_atomically`], as far as they can be known.
pub fn check_writable(path: impl AsRef<Path>) -> Result<(), WriteError> {
    let path = path.as_ref();
    let check = match Destination::from_path(path) {
        Ok(Destination::Stream) => File::options().write(true).open(path).map(drop),
        Ok(Destination::File { target, .. }) => temporary(&target).map(drop),
        Err(error) => Err(error),
    };
    check.map_err(|error| WriteError::new(path, error))
}

/// What a path is to be replaced.
enum Destination {
    /// A device or a pipe.
    Stream,
    /// A file, there already or not, links resolved.
    File { target: PathBuf, before: Option<fs::Permissions> },
}

impl Destination {
    fn from_path(path: &Path) -> io::Result<Self> {
        let about = match fs::metadata(path) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::File { target: path.to_path_buf(), before: None });
            }
            Err(error) => return Err(error),
        };
        if about.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !about.is_file() {
            return Ok(Self::Stream);
        }
        // A rename would succeed on a file that its owner has protected.
        if about.permissions().readonly() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(Self::File { target: fs::canonicalize(path)?, before: Some(about.permissions()) })
    }
}

fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let (target, before) = match Destination::from_path(path)? {
        Destination::Stream => {
            let mut out = BufWriter::new(File::options().write(true).open(path)?);
            write(&mut out)?;
            return out.flush();
        }
        Destination::File { target, before } => (target, before),
    };
    let temporary = temporary(&target)?;
    let mut out = BufWriter::with_capacity(1 << 16, temporary.as_file());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    if let Some(permissions) = before {
        temporary.as_file().set_permissions(permissions)?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|error| error.error)?;
    // The new name is on disk once its folder is; not every file system can be asked for that.
    let _ = File::open(folder(&target)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// A file in the folder of `target`, removed when dropped.
fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    // Opened here, for the permissions of any new file; the library's own would be for its owner alone.
    let open = |path: &Path| File::options().write(true).create_new(true).open(path);
    tempfile::Builder::new().prefix(&format!(".{name}.")).suffix(".tmp").make_in(folder(target), open)
}

fn folder(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
