use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file of blocks was refused: the file, the block where there is one, what is wrong, and the remedy.
///
/// Example: [`BlockWriter`](crate::BlockWriter).
#[derive(Debug)]
pub struct BlockError {
    file: PathBuf,
    block: Option<usize>,
    problem: Box<BlockProblem>,
}

impl BlockError {
    pub(crate) fn new(file: &Path, block: Option<usize>, problem: BlockProblem) -> Self {
        Self { file: file.to_path_buf(), block, problem: Box::new(problem) }
    }
    /// The file, or for one without a name its folder.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }
    /// The block, counted from 0.
    #[must_use]
    pub fn block(&self) -> Option<usize> {
        self.block
    }
    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &BlockProblem {
        &self.problem
    }
}

/// What can be wrong with a file of blocks.
///
/// Example: [`BlockWriter`](crate::BlockWriter).
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "field names say what they hold")]
pub enum BlockProblem {
    /// The file system refused.
    Io(io::Error),
    /// The first bytes are not those of a file of blocks of this scalar.
    Header,
    /// A block beyond the last.
    NoSuchBlock { blocks: usize },
    /// A block of more bags or entries than there may be, or whose tables do not go together.
    Size { bags: u64, entries: u64 },
    /// The file ends inside the block.
    Truncated,
    /// The block is not what was written.
    Damaged,
}

impl From<io::Error> for BlockProblem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Truncated,
            _ => Self::Io(error),
        }
    }
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: temporary file of counts", self.file.display())?;
        if let Some(block) = self.block {
            write!(f, ", block {block}")?;
        }
        f.write_str(": ")?;
        match self.problem() {
            BlockProblem::Io(error) => error.fmt(f)?,
            BlockProblem::Header => f.write_str("it is no file of blocks of this kind")?,
            BlockProblem::NoSuchBlock { blocks } => write!(f, "there are {blocks}, numbered from 0")?,
            BlockProblem::Size { bags, entries } => {
                write!(f, "{bags} bags with {entries} entries are no block")?;
            }
            BlockProblem::Truncated => f.write_str("it ends too early")?,
            BlockProblem::Damaged => f.write_str("it is not as it was written")?,
        }
        f.write_str("\nremedy: ")?;
        f.write_str(match self.problem() {
            BlockProblem::Io(error) => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "make room, or set TMPDIR to a folder on another disk"
                }
                _ => "set TMPDIR to a folder that you may write to",
            },
            BlockProblem::NoSuchBlock { .. } | BlockProblem::Size { .. } => "this is a bug worth a report",
            _ => "run it again; if that does not help, set TMPDIR to a folder on another disk",
        })
    }
}

impl std::error::Error for BlockError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.problem() {
            BlockProblem::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn errors_say_where_what_and_the_remedy() {
        let file = Path::new("/tmp");
        let (again, report) = (
            "run it again; if that does not help, set TMPDIR to a folder on another disk",
            "this is a bug worth a report",
        );
        let io = |kind: io::ErrorKind| BlockProblem::Io(io::Error::new(kind, "it was refused"));
        let room = "make room, or set TMPDIR to a folder on another disk";
        for (problem, what, remedy) in [
            (io(io::ErrorKind::StorageFull), "it was refused", room),
            (io(io::ErrorKind::QuotaExceeded), "it was refused", room),
            (
                io(io::ErrorKind::PermissionDenied),
                "it was refused",
                "set TMPDIR to a folder that you may write to",
            ),
            (BlockProblem::Header, "it is no file of blocks of this kind", again),
            (BlockProblem::NoSuchBlock { blocks: 3 }, "there are 3, numbered from 0", report),
            (BlockProblem::Size { bags: 9, entries: 2 }, "9 bags with 2 entries are no block", report),
            (BlockProblem::Truncated, "it ends too early", again),
            (BlockProblem::Damaged, "it is not as it was written", again),
        ] {
            let is_io = matches!(problem, BlockProblem::Io(_));
            let error = BlockError::new(file, Some(7), problem);
            assert_eq!(
                error.to_string(),
                format!("/tmp: temporary file of counts, block 7: {what}\nremedy: {remedy}")
            );
            assert_eq!((error.file(), error.block(), error.source().is_some()), (file, Some(7), is_io));
        }
        let error = BlockError::new(file, None, BlockProblem::Header);
        assert!(error.to_string().starts_with("/tmp: temporary file of counts: it is no"), "{error}");
        assert!(matches!(
            BlockProblem::from(io::Error::from(io::ErrorKind::UnexpectedEof)),
            BlockProblem::Truncated
        ));
        assert!(matches!(BlockProblem::from(io::Error::from(io::ErrorKind::NotFound)), BlockProblem::Io(_)));
    }
}
