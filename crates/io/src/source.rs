//! Bytes from a file, decompressed, counted and cut into lines.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

use encoding_rs::{Encoding, UTF_8};
use flate2::bufread::MultiGzDecoder;

use crate::encoding::Transcoder;
#[cfg(feature = "files")]
use crate::encoding::decode;
use crate::error::{Problem, ReadError};

/// How much is read before giving up, so that a small file cannot fill the memory.
///
/// Example: [`open`](crate::open).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one line, record or text file. 64 MiB unless set.
    pub record_bytes: usize,
    /// Bytes of the whole data set, after decompression. 4 GiB unless set.
    pub total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { record_bytes: 64 << 20, total_bytes: 4 << 30 }
    }
}

/// The bytes that one data set may still have, shared by all its files.
#[derive(Clone)]
pub(crate) struct Budget {
    used: Rc<Cell<u64>>,
    limit: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { used: Rc::new(Cell::new(0)), limit }
    }
    /// Bytes read so far, after decompression.
    pub(crate) fn used(&self) -> u64 {
        self.used.get()
    }
    /// Counts bytes that have been read or made.
    pub(crate) fn add(&self, bytes: u64) -> Result<(), Problem> {
        self.used.set(self.used.get().saturating_add(bytes));
        if self.used.get() > self.limit { Err(Problem::TooMuch { limit: self.limit }) } else { Ok(()) }
    }
}

/// What the layers below tell the reader above through an [`io::Error`].
#[derive(Debug)]
pub(crate) enum Stop {
    Undecodable(&'static str),
    TooMuch(u64),
    Truncated,
    Damaged(String),
}
impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.problem(), f)
    }
}
impl std::error::Error for Stop {}

impl Stop {
    fn problem(&self) -> Problem {
        match self {
            Self::Undecodable(encoding) => Problem::Undecodable { encoding },
            Self::TooMuch(limit) => Problem::TooMuch { limit: *limit },
            Self::Truncated => Problem::TruncatedGzip,
            Self::Damaged(what) => Problem::DamagedGzip { what: what.clone() },
        }
    }
}

/// The problem behind an error of one of the readers of this module.
pub(crate) fn problem_of(error: io::Error) -> Problem {
    match error.downcast::<Stop>() {
        Ok(stop) => stop.problem(),
        Err(error) => Problem::Unreadable(error),
    }
}

/// Tells the failures of a gzip stream from those of the file it comes from.
struct Gunzip<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other(Stop::Truncated),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                io::Error::other(Stop::Damaged(error.to_string()))
            }
            _ => error,
        })
    }
}

/// Counts bytes and stops when the budget is used up.
struct Metered<R> {
    inner: R,
    budget: Budget,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        match self.budget.add(n as u64) {
            Ok(()) => Ok(n),
            Err(_) => Err(io::Error::other(Stop::TooMuch(self.budget.limit))),
        }
    }
}

/// Counts what is read against the budget.
#[cfg(any(feature = "npz", feature = "office"))]
pub(crate) fn metered<R: Read>(inner: R, budget: &Budget) -> impl Read + use<R> {
    Metered { inner, budget: budget.clone() }
}

/// A file open for reading, whatever its compression.
pub(crate) struct Source {
    /// The first bytes, at most [`HEAD`], by which to tell what it is. Still to be read.
    pub(crate) head: Vec<u8>,
    /// Whether it was compressed.
    pub(crate) gzip: bool,
    /// The encoding of its text, as far as that has been read; UTF-8 until found otherwise.
    pub(crate) encoding: Rc<Cell<&'static Encoding>>,
    /// Bytes that it takes where it is stored, as far as that is known.
    #[cfg_attr(
        not(feature = "archives"),
        allow(dead_code, reason = "what an archive may become depends on it")
    )]
    pub(crate) stored: u64,
    rest: Box<dyn BufRead>,
}

/// What a ZIP file begins with.
pub(crate) const ZIP: &[u8] = b"PK\x03\x04";

/// Bytes looked at to tell a format.
pub(crate) const HEAD: usize = 8192;

impl Source {
    /// Opens a file; gzip is told by its first two bytes, not by the name.
    pub(crate) fn open(path: &Path, budget: &Budget) -> Result<Self, ReadError> {
        let source = open_file(path).and_then(|file| {
            let stored = file.metadata().map_or(0, |about| about.len());
            Ok(Self { stored, ..Self::from_reader(BufReader::new(file), budget)? })
        });
        source.map_err(|problem| ReadError::new(path, None, problem))
    }

    /// A file in an archive.
    #[cfg(feature = "archives")]
    pub(crate) fn from_bytes(bytes: Vec<u8>, budget: &Budget) -> Result<Self, Problem> {
        let stored = bytes.len() as u64;
        Ok(Self { stored, ..Self::from_reader(Cursor::new(bytes), budget)? })
    }

    pub(crate) fn from_reader(mut raw: impl BufRead + 'static, budget: &Budget) -> Result<Self, Problem> {
        let gzip = raw.fill_buf().map_err(Problem::Unreadable)?.starts_with(&[0x1f, 0x8b]);
        let budget = budget.clone();
        let mut rest: Box<dyn BufRead> = if gzip {
            Box::new(BufReader::new(Metered { inner: Gunzip(MultiGzDecoder::new(raw)), budget }))
        } else {
            Box::new(BufReader::new(Metered { inner: raw, budget }))
        };
        let mut head = Vec::new();
        rest.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(problem_of)?;
        Ok(Self { head, gzip, encoding: Rc::new(Cell::new(UTF_8)), stored: 0, rest })
    }

    /// The same file as UTF-8, whatever its encoding.
    pub(crate) fn text(self) -> Result<Self, Problem> {
        let Self { head, gzip, encoding, stored, rest } = self;
        let whole = Cursor::new(head.clone()).chain(rest);
        let mut rest = Box::new(BufReader::new(Transcoder::new(whole, &head, Rc::clone(&encoding))));
        let mut head = Vec::new();
        rest.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(problem_of)?;
        Ok(Self { head, gzip, encoding, stored, rest })
    }

    /// Opens a file of text.
    pub(crate) fn open_text(path: &Path, budget: &Budget) -> Result<Self, ReadError> {
        Self::open(path, budget)?.text().map_err(|problem| ReadError::new(path, None, problem))
    }

    /// Everything, from the first byte.
    pub(crate) fn reader(self) -> impl BufRead {
        Cursor::new(self.head).chain(self.rest)
    }
}

/// Opens a regular file, or a pipe that this process was given open (`/dev/stdin`, `/dev/fd/N`). To open a named pipe may
/// wait for ever for somebody to write to it, and a device may have no end: these are refused, unopened.
pub(crate) fn open_file(path: &Path) -> Result<File, Problem> {
    let about = std::fs::metadata(path).map_err(Problem::Unreadable)?;
    if about.is_dir() {
        return Err(Problem::Unreadable(io::ErrorKind::IsADirectory.into()));
    }
    if !(about.is_file() || is_pipe(&about) && is_descriptor(path)) {
        return Err(Problem::NotAFile);
    }
    File::open(path).map_err(Problem::Unreadable)
}

#[cfg(unix)]
fn is_pipe(about: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &std::fs::Metadata) -> bool {
    false
}

/// Whether a path names an open file of this process.
fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.starts_with(folder))
}

/// Opens a file that is no data set, such as a table of features, under the rules of all that is read: gzip is
/// decompressed, reading ends in an error after [`Limits::total_bytes`], and neither a device nor a named pipe is opened.
///
/// # Errors
/// [`ReadError`] for a file that cannot be opened, or whose first bytes, which tell whether it is compressed, are too
/// many already; reading further fails with an [`io::Error`] that says why.
///
/// ```
/// use std::io::Read;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("sizes.csv");
/// std::fs::write(&path, "id,size\n1,2.5\n")?;
/// let mut read = String::new();
/// countgrid_io::open(&path, &Default::default())?.read_to_string(&mut read)?;
/// assert_eq!(read, "id,size\n1,2.5\n");
///
/// let limits = countgrid_io::Limits { total_bytes: 5, ..Default::default() };
/// let refused = countgrid_io::open(&path, &limits).err().ok_or("14 bytes are more than 5")?;
/// assert!(refused.to_string().contains("more than 5 bytes"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(path: &Path, limits: &Limits) -> Result<impl BufRead + use<>, ReadError> {
    Ok(Source::open(path, &Budget::new(limits.total_bytes))?.reader())
}

/// Reads a text file as a whole, of at most [`Limits::record_bytes`], decompressed, from whatever encoding it is in.
///
/// # Errors
/// [`ReadError`] for a file that cannot be opened, is too long or is no text.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("stop.txt");
/// std::fs::write(&path, "the\nof\n")?;
/// assert_eq!(countgrid_io::read_text_file(&path, &Default::default())?, "the\nof\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "files")]
pub fn read_text_file(path: &Path, limits: &Limits) -> Result<String, ReadError> {
    let bytes = read_bytes(open(path, limits)?, path, limits.record_bytes)?;
    let (text, _) = decode(bytes, None).map_err(|(problem, line)| ReadError::new(path, line, problem))?;
    Ok(text)
}

/// Lines of UTF-8 text, each at most so long, with their numbers.
pub(crate) struct Lines<'a, R> {
    reader: R,
    file: &'a Path,
    limit: usize,
    buffer: Vec<u8>,
    line: u64,
    bytes: u64,
}

impl<'a, R: BufRead> Lines<'a, R> {
    pub(crate) fn new(reader: R, file: &'a Path, limit: usize) -> Self {
        Self { reader, file, limit, buffer: Vec::new(), line: 0, bytes: 0 }
    }

    /// The number of the line last read, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Bytes read, line ends included.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// An error on the line last read.
    pub(crate) fn error(&self, problem: Problem) -> ReadError {
        ReadError::new(self.file, Some(self.line), problem)
    }

    /// An error of the file as a whole.
    pub(crate) fn error_of_file(&self, problem: Problem) -> ReadError {
        ReadError::new(self.file, None, problem)
    }

    /// The next line without its end (`\n` or `\r\n`) and, on the first line, without a byte order mark.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, ReadError> {
        self.buffer.clear();
        self.line += 1;
        let most = (self.limit as u64).saturating_add(2);
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|error| self.error(problem_of(error)))?;
        if read == 0 {
            self.line -= 1;
            return Ok(None);
        }
        let start = self.bytes;
        self.bytes += read as u64;
        let mut line = self.buffer.as_slice();
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.limit {
            return Err(self.error(Problem::TooLong { limit: self.limit }));
        }
        match std::str::from_utf8(line) {
            Ok(text) if start == 0 => Ok(Some(text.strip_prefix('\u{feff}').unwrap_or(text))),
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(self.error(Problem::NotUtf8 { byte: start + error.valid_up_to() as u64 })),
        }
    }
}

/// A whole file.
#[cfg(feature = "files")]
pub(crate) fn read_bytes(reader: impl BufRead, file: &Path, limit: usize) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    let read = reader.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| ReadError::new(file, None, problem_of(error)))?;
    if bytes.len() > limit {
        return Err(ReadError::new(file, None, Problem::TooLong { limit }));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x` for ever, and how many were taken.
    struct Endless(Rc<Cell<usize>>);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b'x');
            self.0.set(self.0.get() + buffer.len());
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_line_without_end_is_left_at_the_limit() {
        let taken = Rc::new(Cell::new(0));
        let reader = BufReader::with_capacity(16, Endless(Rc::clone(&taken)));
        let refused = Lines::new(reader, Path::new("a"), 1000).next().unwrap_err();
        assert!(matches!(refused.problem(), Problem::TooLong { limit: 1000 }));
        // The limit, two bytes that could have been a line end, and what the buffer holds beyond.
        assert!(taken.get() <= 1000 + 2 + 16, "{}", taken.get());
        let refused = read_bytes(BufReader::with_capacity(16, Endless(taken.clone())), Path::new("a"), 1000);
        assert!(matches!(refused.unwrap_err().problem(), Problem::TooLong { limit: 1000 }));
        assert!(taken.get() <= 2 * (1000 + 2 + 16), "{}", taken.get());
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit() {
        for end in ["", "\n", "\r\n"] {
            let text = format!("{}{end}", "x".repeat(10));
            let next =
                |limit| Lines::new(text.as_bytes(), Path::new("a"), limit).next().map(|line| line.is_some());
            assert!(next(10).is_ok_and(|found| found));
            assert!(next(9).is_err());
        }
    }
}
