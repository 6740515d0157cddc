//! What a run writes is none of what it reads.

use std::{
    fmt, fs, io,
    path::{Component, Path, PathBuf},
};

use crate::docword::vocabulary_beside;
use crate::matrix_market::cells_beside;
use crate::name::Name;

/// A file that a run would both read and write, or write twice.
///
/// Example: [`check_outputs`](crate::check_outputs).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum OutputError {
    /// The output is a file that is read.
    Input { output: PathBuf, input: PathBuf },
    /// Two outputs are one file.
    Twice { output: PathBuf, other: PathBuf },
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (output, other, what) = match self {
            Self::Input { output, input } => (output, input, "which is read"),
            Self::Twice { output, other } => (output, other, "which is written too"),
        };
        write!(f, "{}: would be written over {}, {what}", output.display(), other.display())
    }
}

impl std::error::Error for OutputError {}

/// Whether no output is an input, nor another output: by place, with links resolved, and by the file that is there (device
/// and inode), whichever names it goes by.
///
/// With a file of counts as input go the vocabularies and names that may lie beside it. A folder as input may hold outputs, which readers
/// leave out ([`ReadOptions::ignore`](crate::ReadOptions)). What is there and no file, such as a terminal or `/dev/null`,
/// cannot be overwritten and is no matter of this.
///
/// # Errors
/// [`OutputError`] for the first output that is.
///
/// ```
/// use countgrid_io::{OutputError, check_outputs};
/// let folder = tempfile::tempdir()?;
/// let (table, model) = (folder.path().join("table.csv"), folder.path().join("model.safetensors"));
/// std::fs::write(&table, "text\na document\n")?;
/// check_outputs([&table], [&model])?;
///
/// let roundabout = folder.path().join("./table.csv");
/// assert!(matches!(check_outputs([&table], [&model, &roundabout]), Err(OutputError::Input { .. })));
/// assert!(matches!(check_outputs([&table], [&model, &model]), Err(OutputError::Twice { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_outputs<I: AsRef<Path>, O: AsRef<Path>>(
    inputs: impl IntoIterator<Item = I>,
    outputs: impl IntoIterator<Item = O>,
) -> Result<(), OutputError> {
    let inputs = inputs.into_iter().flat_map(|input| with_files_beside(input.as_ref())).collect();
    check(inputs, outputs.into_iter().map(|output| output.as_ref().to_owned()).collect())
}

/// A path, and those that are read with it.
fn with_files_beside(input: &Path) -> Vec<PathBuf> {
    let beside = if Name::from_path(input).has_vocabulary() { vocabulary_beside(input) } else { Vec::new() };
    let cells = cells_beside(input).into_iter().flatten();
    std::iter::once(input.to_owned()).chain(beside).chain(cells).collect()
}

fn check(read: Vec<PathBuf>, outputs: Vec<PathBuf>) -> Result<(), OutputError> {
    let read: Vec<_> = read.into_iter().filter_map(|path| Identity::of(&path).map(|id| (path, id))).collect();
    let mut written: Vec<(PathBuf, Identity)> = Vec::new();
    for output in outputs {
        let Some(identity) = Identity::of(&output) else { continue };
        let same = |(_, other): &&(PathBuf, Identity)| identity.is_that_of(other);
        if let Some((input, _)) = read.iter().find(same) {
            return Err(OutputError::Input { output, input: input.clone() });
        }
        if let Some((other, _)) = written.iter().find(same) {
            return Err(OutputError::Twice { output, other: other.clone() });
        }
        written.push((output, identity));
    }
    Ok(())
}

/// What two names of one file have in common.
struct Identity {
    place: PathBuf,
    /// Device and inode of a file that is there.
    node: Option<(u64, u64)>,
}

impl Identity {
    /// None of what is there and no file.
    fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(about) if !about.is_file() => None,
            Ok(about) => Some(Self { place: place(path), node: node(&about) }),
            Err(_) => Some(Self { place: place(path), node: None }),
        }
    }

    fn is_that_of(&self, other: &Self) -> bool {
        self.place == other.place || (self.node.is_some() && self.node == other.node)
    }
}

#[cfg(unix)]
fn node(about: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((about.dev(), about.ino()))
}

#[cfg(not(unix))]
fn node(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// The place of a file that is there or not, links resolved as far as there are folders.
fn place(path: &Path) -> PathBuf {
    let resolved = |path: &Path| -> io::Result<PathBuf> { fs::canonicalize(path) };
    if let Ok(place) = resolved(path) {
        return place;
    }
    // What is missing is the end of the path: a file in a folder, or in one that is still to be made.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut missing = Vec::new();
    let mut rest = absolute.as_path();
    while let (Some(folder), Some(last)) = (rest.parent(), rest.components().next_back()) {
        missing.push(last);
        if let Ok(mut place) = resolved(folder) {
            for component in missing.into_iter().rev() {
                match component {
                    Component::ParentDir => _ = place.pop(),
                    component => place.push(component),
                }
            }
            return place;
        }
        rest = folder;
    }
    absolute
}
