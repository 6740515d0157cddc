//! Files that are whole or not there.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

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
    write_file(path.as_ref(), write)
}

/// Tells beforehand whether [`write_atomically`] could write there, for a result that takes long to compute.
///
/// Temporary files that were left in the folder by runs which were killed are removed: `.NAME.countgrid-PROCESS-RANDOM.tmp`, of
/// processes that are no more, and which nobody has locked.
///
/// # Errors
/// Those of [`write_atomically`], as far as they can be known.
pub fn check_writable(path: impl AsRef<Path>) -> Result<(), WriteError> {
    let path = path.as_ref();
    let check = match Destination::from_path(path) {
        Ok(Destination::Stream) => File::options().write(true).open(path).map(drop),
        Ok(Destination::File { target, .. }) => {
            remove_left_behind(folder(&target));
            temporary(&target).map(drop)
        }
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

/// Files that appear together: each is first written as a whole beside the place where it is to be, and flushed to disk; they
/// get their names one after the other once all are ([`StagedFiles::publish`]). Dropped before, nothing of them is left.
///
/// Names are given in the order of the files, by one rename each, while the folders are locked, so that of two runs that write the
/// same files at once those of one are left; where one fails, those after it are as they were. So files
/// that must fit each other should say what they belong to, as a page does with [`ModelFile::checksum`](crate::ModelFile::checksum).
///
/// ```
/// use countgrid_io::StagedFiles;
/// let folder = tempfile::tempdir()?;
/// let (page, table) = (folder.path().join("map.html"), folder.path().join("points.csv"));
/// let mut files = StagedFiles::new();
/// files.write(&page, |out| out.write_all(b"<!doctype html>"))?;
/// let failed = files.write(&table, |_| Err(std::io::Error::other("no points")));
/// assert!(failed.is_err() && !page.exists());
/// files.write(&table, |out| out.write_all(b"x,y\n"))?;
/// files.publish()?;
/// assert!(page.exists() && table.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
#[must_use = "files get their names by `publish`"]
pub struct StagedFiles {
    files: Vec<Staged>,
}

/// A file that waits for its name.
#[derive(Debug)]
struct Staged {
    path: PathBuf, // as it was given
    waiting: Waiting,
}

#[derive(Debug)]
enum Waiting {
    /// In the folder of `target`, removed when dropped.
    File { temporary: NamedTempFile, target: PathBuf },
    /// What goes to a device or a pipe.
    Stream(File),
}

impl StagedFiles {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a file that has no name yet. Links are followed, and permissions kept, as by [`write_atomically`].
    ///
    /// # Errors
    /// Those of [`write_atomically`]; the other files still wait.
    pub fn write(
        &mut self,
        path: impl AsRef<Path>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let path = path.as_ref();
        let mut write = Some(write); // called once, behind a pointer, so that the rest is compiled once
        let mut write = |out: &mut dyn Write| write.take().map_or(Ok(()), |write| write(out));
        let waiting = stage(path, &mut write).map_err(|error| WriteError::new(path, error))?;
        self.files.push(Staged { path: path.to_path_buf(), waiting });
        Ok(())
    }

    /// Gives all files their names, in their order, after what goes to devices and pipes was written to them.
    ///
    /// # Errors
    /// [`WriteError`] for the first that cannot have its name; those after it are then as they were.
    pub fn publish(self) -> Result<(), WriteError> {
        let mut named = Vec::new();
        for Staged { path, waiting } in self.files {
            match waiting {
                Waiting::File { temporary, target } => named.push((path, temporary, target)),
                Waiting::Stream(spooled) => {
                    copy_to_stream(spooled, &path).map_err(|error| WriteError::new(&path, error))?;
                }
            }
        }
        let folders: BTreeSet<_> = named.iter().map(|(_, _, target)| folder(target).to_path_buf()).collect();
        let folders: Vec<File> = folders.iter().filter_map(|folder| File::open(folder).ok()).collect();
        if named.len() > 1 {
            folders.iter().for_each(wait_for_lock);
        }
        for (path, temporary, target) in named {
            temporary.persist(&target).map_err(|error| WriteError::new(&path, error.error))?;
        }
        // The new names are on disk once their folder is; not every file system can be asked for that.
        for folder in folders {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Locks a folder until the file is closed, so that the sets of two runs are not mixed. A lock is a hint: where there are none,
/// or another program keeps one for long, the files get their names without.
fn wait_for_lock(folder: &File) {
    for _ in 0..LOCK_TRIES {
        match folder.try_lock().map_err(io::Error::from) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(LOCK_WAIT),
            _ => return,
        }
    }
}

fn copy_to_stream(mut spooled: File, path: &Path) -> io::Result<()> {
    spooled.seek(SeekFrom::Start(0))?;
    let mut out = File::options().write(true).open(path)?;
    io::copy(&mut spooled, &mut out)?;
    out.flush()
}

fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), WriteError> {
    let mut files = StagedFiles::new();
    files.write(path, write)?;
    files.publish()
}

fn stage(path: &Path, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<Waiting> {
    let (target, before) = match Destination::from_path(path)? {
        Destination::Stream => {
            let mut out = BufWriter::new(tempfile::tempfile()?);
            write(&mut out)?;
            return Ok(Waiting::Stream(out.into_inner().map_err(io::IntoInnerError::into_error)?));
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
    Ok(Waiting::File { temporary, target })
}

/// How often, and after which time again, a folder's lock is asked for: five seconds at most.
const LOCK_TRIES: usize = 1000;
const LOCK_WAIT: Duration = Duration::from_millis(5);
/// What follows the name of a file in those of its temporary ones, before the process, and what they end in.
const MARK: &str = ".countgrid-";
const SUFFIX: &str = ".tmp";
/// Letters and digits by which those of one process differ.
const RANDOM: usize = 6;
/// Bytes of the name of a file in those of its temporary ones: names have a limit.
const NAME: usize = 64;

/// A file in the folder of `target`, `.NAME.countgrid-PROCESS-RANDOM.tmp`, locked, and removed when dropped.
fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let end = (0..=NAME.min(name.len())).rfind(|&end| name.is_char_boundary(end)).unwrap_or(0);
    let name = name.get(..end).unwrap_or_default();
    // Opened here, for the permissions of any new file; the library's own would be for its owner alone.
    let open = |path: &Path| File::options().write(true).create_new(true).open(path);
    let prefix = format!(".{name}{MARK}{}-", std::process::id());
    let file = tempfile::Builder::new()
        .prefix(&prefix)
        .rand_bytes(RANDOM)
        .suffix(SUFFIX)
        .make_in(folder(target), open)?;
    // Another run tells by it that this one is alive; not every file system has locks.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Removes the temporary files of runs that were killed: those whose names have the form of [`temporary`], whose process is no
/// more, and which nobody has locked. What cannot be removed stays.
fn remove_left_behind(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(process_of) else { continue };
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || is_alive(process) {
            continue;
        }
        let path = entry.path();
        if let Ok(file) = File::options().write(true).open(&path)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// The process in the name of a temporary file.
fn process_of(name: &str) -> Option<u32> {
    let (name, rest) = name.strip_prefix('.')?.strip_suffix(SUFFIX)?.rsplit_once(MARK)?;
    let (process, random) = rest.split_once('-')?;
    let digits = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
    let drawn = random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (digits && drawn && !name.is_empty()).then(|| process.parse().ok()).flatten()
}

/// Whether there is such a process, where the system lists them; elsewhere the lock alone tells.
fn is_alive(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

fn folder(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::process_of;

    #[test]
    fn only_names_of_our_temporary_files_are_known() {
        assert_eq!(process_of(".map.html.countgrid-4711-aB3xY9.tmp"), Some(4711));
        assert_eq!(process_of(".a.countgrid-1-abcdef.tmp.countgrid-2-ABCDEF.tmp"), Some(2));
        for other in [
            "map.html.countgrid-4711-aB3xY9.tmp",
            ".map.html.countgrid-4711-aB3xY9",
            ".map.html.countgrid-4711-aB3xY.tmp",
            ".map.html.countgrid-4711-aB3xY99.tmp",
            ".map.html.countgrid-4711-aB3x/9.tmp",
            ".map.html.countgrid--aB3xY9.tmp",
            ".map.html.countgrid-+4-aB3xY9.tmp",
            ".map.html.countgrid-99999999999-aB3xY9.tmp",
            ".countgrid-4711-aB3xY9.tmp",
            ".map.html.aB3xY9.tmp",
            ".tmp",
            "",
        ] {
            assert_eq!(process_of(other), None, "{other}");
        }
    }
}
